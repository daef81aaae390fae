"""Profiles of programs on a GPU: device times, launches, copies, memory; ranges for NVIDIA's tools."""

from __future__ import annotations

import json
import sys
import types

import pytest

import nbgrad
from nbgrad.methods import nvtx
from nbgrad.profiler import ProfilerActivity

from .emulation import on_gpus


def program(x):
    """Two launches and what backward needs, a copy to the host."""
    y = x.exp().sum()
    y.backward()
    return y.cpu()


@on_gpus
def test_profiles_see_gpus():
    """Launches, copies and times of calls and nodes; those of a call are its parent's, too."""
    x = nbgrad.ones(1000, device="cuda", requires_grad=True)
    program(x)
    assert ProfilerActivity.CUDA in nbgrad.profiler.supported_activities()
    with nbgrad.profile() as p:
        with nbgrad.record_function("step"):
            program(x)
    events = {event.name: event for event in p.events()}
    exp, copied, step = events["aten::exp"], events["aten::to_copy"], events["step"]
    assert (exp.launches, exp.copies) == (1, 0) and exp.device_time_total > 0
    assert (copied.launches, copied.copies) == (0, 1)
    assert step.launches >= sum(event.launches for event in step.cpu_children) >= 4 and step.copies == 1
    assert step.device_time_total >= exp.device_time_total == exp.self_device_time_total == exp.cuda_time_total
    assert step.self_device_time_total < step.device_time_total
    assert events["ExpBackward0"].launches == 1 and events["ExpBackward0"].device_time_total > 0


@on_gpus
def test_tables_traces_and_averages():
    """They show what a GPU did, where it did something and was asked for."""
    x = nbgrad.ones(1000, device="cuda")
    with nbgrad.profile(use_cuda=True, profile_memory=True) as p:
        y = x.exp().exp()
    average = next(each for each in p.key_averages() if each.key == "aten::exp")
    assert (average.count, average.launches) == (2, 2) and average.device_time == average.device_time_total / 2
    assert "Self CUDA" in p.table() and "Launches" in p.table() and "CUDA Mem" in p.table(sort_by="device_time_total")
    first = next(event for event in p.events() if event.name == "aten::exp")
    assert first.device_memory_usage == y.numel() * 4 and first.cpu_memory_usage == 0
    with nbgrad.profile(activities=[ProfilerActivity.CPU]) as plain:
        x.exp()
    assert "CUDA" not in plain.table() and plain.events()[0].launches == 0


@on_gpus
def test_traces(tmp_path):
    """A span says how long the GPU took, and how many launches there were."""
    x = nbgrad.ones(1000, device="cuda")
    with nbgrad.profile() as p:
        x.exp()
    p.export_chrome_trace(tmp_path / "trace.json")
    spans = [each for each in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if each.get("name") == "aten::exp"]
    assert spans[0]["args"]["Launches"] == 1 and spans[0]["args"]["Device time (us)"] > 0


@on_gpus
def test_profiles_of_captures():
    """What is captured is not done, so nothing is measured of it; a replay is."""
    x, total = nbgrad.ones(3, device="cuda"), nbgrad.zeros(3, device="cuda")
    total.add_(x)
    g = nbgrad.cuda.CUDAGraph()
    with nbgrad.profile() as p:
        with nbgrad.cuda.graph(g):
            total.add_(x)
    assert [event.device_time_total for event in p.events() if event.name == "aten::add_"] == [0]
    g.replay()
    assert total.tolist() == [2.0] * 3


@pytest.fixture
def package(monkeypatch):
    """A package ``nvtx`` that notes what it is told."""
    told = []
    fake = types.ModuleType("nvtx")
    fake.push_range = lambda message: told.append(("push", message))
    fake.pop_range = lambda: told.append(("pop",))
    fake.start_range = lambda message: told.append(("start", message)) or 7
    fake.end_range = lambda found: told.append(("end", found))
    fake.mark = lambda message: told.append(("mark", message))
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    nvtx.package.cache_clear()
    yield told
    nvtx.package.cache_clear()


def test_ranges_go_to_the_package(package):
    """Pushed and popped, begun and ended, as blocks and decorators, after errors too."""
    found = nbgrad.cuda.nvtx
    assert (found.range_push("a"), found.range_push("b"), found.range_pop(), found.range_pop()) == (0, 1, 1, 0)
    found.range_end(found.range_start("c"))
    found.mark("d")

    @found.range("call {}", 1)
    def function():
        raise ValueError

    with pytest.raises(ValueError):
        function()
    assert package == [
        *(("push", "a"), ("push", "b"), ("pop",), ("pop",)),
        *(("start", "c"), ("end", 7), ("mark", "d"), ("push", "call 1"), ("pop",)),
    ]


def test_ranges_without_the_package(monkeypatch):
    """Nothing is done, but the depth is counted; a pop without a push is -1."""
    monkeypatch.setitem(sys.modules, "nvtx", None)
    nvtx.package.cache_clear()
    found = nbgrad.cuda.nvtx
    assert (found.range_push("a"), found.range_pop(), found.range_pop()) == (0, 0, -1)
    found.range_end(found.range_start("c"))
    found.mark("d")
    with found.range("{}"):  # no format without arguments
        pass
    nvtx.package.cache_clear()
