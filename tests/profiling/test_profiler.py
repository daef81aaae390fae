"""The profiler: what ran, how often, how long, and what came of what."""

from __future__ import annotations

import gzip
import json
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad import profile, record_function
from nbgrad.profiling.events import EventList, FunctionEvent, FunctionEventAvg
from nbgrad.profiling.tables import memory_text, time_text
from tests.functions import Double


def event_names(p):
    """The events' names, in the order in which they began."""
    return [event.name for event in p.function_events]


def named(p, name):
    """The one event of a name."""
    found = [event for event in p.function_events if event.name == name]
    assert len(found) == 1, event_names(p)
    return found[0]


@pytest.fixture
def x():
    """Four numbers that require grad."""
    return nbgrad.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


# ---- what is collected -----------------------------------------------------------------------------------------------


def test_one_event_a_call(x):
    """In order, of every kind of operation and form."""
    with nbgrad.no_grad(), profile() as p:
        y = x.sin() * 2
        y.add_(1)
        y.view(2, 2).t().sum(dim=0)
        nbgrad.exp(y, out=y)
        nbgrad.cat([y, y]).max()
    assert [e.name for e in p.function_events if e.cpu_parent is None] == [
        "aten::sin",
        "aten::mul",
        "aten::add_",
        "aten::view",
        "aten::t",
        "aten::sum",
        "aten::exp",
        "aten::cat",
        "aten::amax",
    ]
    assert all(e.count == 1 for e in p.key_averages() if e.key in ("aten::sin", "aten::mul"))


def test_nothing_is_collected_outside(x):
    """Before and after the block calls leave no events, and take the fast path."""
    from nbgrad.base.grad_mode import special
    from nbgrad.engine import watchers

    before = list(special)
    x.sin()
    with profile() as p:
        x.cos()
        assert len(special) == len(before) + 1 and watchers
    x.exp()
    assert event_names(p) == ["aten::cos"] and special == before and not watchers


def test_times_nest(x):
    """A region's time is at least its calls'; self times add up to the whole."""
    with profile() as p:
        with record_function("outer"):
            x.sin()
            with record_function("inner"):
                x.cos()
    outer, inner = named(p, "outer"), named(p, "inner")
    assert [c.name for c in outer.cpu_children] == ["aten::sin", "inner"] and inner.cpu_parent is outer
    assert [c.name for c in inner.cpu_children] == ["aten::cos"]
    assert outer.cpu_time_total >= sum(c.cpu_time_total for c in outer.cpu_children)
    inside = named(p, "aten::sin").cpu_time_total + inner.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inside)
    assert p.self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_backward_is_linked_to_forward(x):
    """Nodes run under their own names, with the sequence number and the thread of the call that recorded them."""
    with profile() as p:
        (x.sin() * 2).sum().backward()
    for call, node in (("aten::sin", "SinBackward0"), ("aten::mul", "MulBackward0"), ("aten::sum", "SumBackward0")):
        forward, backward = named(p, call), named(p, node)
        assert forward.sequence_nr == backward.sequence_nr >= 0
        assert (backward.flow_id, backward.fwd_thread, backward.scope) == (forward.id, forward.thread, 1)
    assert named(p, "AccumulateGrad").sequence_nr == -1
    order = [name for name in event_names(p) if name.endswith(("Backward0", "Grad"))]
    assert order == ["SumBackward0", "MulBackward0", "SinBackward0", "AccumulateGrad"]


def test_backward_of_an_earlier_graph(x):
    """What was recorded before the profile has no call to be linked to; the gradient is what it is without a profile."""
    y = x.sin().sum()
    with profile() as p:
        y.backward()
    assert named(p, "SinBackward0").flow_id is None and "aten::sin" not in event_names(p)
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1, 2, 3, 4]), rtol=1e-6)


def test_custom_functions_and_partial_passes(x):
    """A Function's node has its name; nodes that a pass does not run leave no event."""
    z = nbgrad.ones(4, requires_grad=True)
    with profile() as p:
        nbgrad.grad((Double.apply(x) + z.exp()).sum(), x)
    assert "DoubleBackward" in event_names(p) and "ExpBackward0" not in event_names(p)


def test_profile_keeps_gradients_and_ownership(x):
    """AccumulateGrad takes a gradient over under a profile too: no copy is made."""
    with profile() as p:
        (x * nbgrad.ones(4)).backward(nbgrad.ones(4))
    assert not named(p, "AccumulateGrad").cpu_children


def test_shapes_are_recorded_on_request(x):
    """For every operand; averages can be separated by them."""
    m = nbgrad.ones(4, 3)
    with profile(record_shapes=True) as p:
        x.sin()
        x[:2].sin()
        x @ m
        nbgrad.cat([x, x])
        x + 1
    assert named(p, "aten::matmul").input_shapes == [[4], [4, 3]]
    assert named(p, "aten::add").input_shapes == [[4], []]
    assert named(p, "aten::cat").input_shapes == [[[4], [4]]]
    rows = [e for e in p.key_averages(group_by_input_shape=True) if e.key == "aten::sin"]
    assert sorted(e.input_shapes for e in rows) == [[[2]], [[4]]]
    assert [e.count for e in p.key_averages() if e.key == "aten::sin"] == [2]
    with profile() as p:
        x.sin()
    assert named(p, "aten::sin").input_shapes is None


def test_stacks_are_recorded_on_request(x):
    """Innermost first, of the user's files only; averages can be separated by them."""

    def here():
        x.sin()

    with profile(with_stack=True) as p:
        here()
        x.sin()
    events = [e for e in p.function_events if e.name == "aten::sin"]
    assert events[0].stack[0].endswith("): here") and "test_profiler.py(" in events[0].stack[0]
    assert not any("/nbgrad/profiler" in entry for event in events for entry in event.stack)
    assert len([e for e in p.key_averages(group_by_stack_n=1) if e.key == "aten::sin"]) == 2
    assert len([e for e in p.key_averages() if e.key == "aten::sin"]) == 1


def test_memory_is_followed(x):
    """What calls return is counted; what is freed is counted where it happens, or as an event of its own."""
    with nbgrad.no_grad(), profile(profile_memory=True) as p:
        y = x.sin()
        view = y[1:]
        y.add_(1)
        with record_function("region"):
            z = y.exp()
            del z
        del y, view
    assert named(p, "aten::sin").cpu_memory_usage == 16 == named(p, "aten::exp").self_cpu_memory_usage
    assert named(p, "aten::add_").cpu_memory_usage == 0
    assert (named(p, "region").cpu_memory_usage, named(p, "region").self_cpu_memory_usage) == (0, -16)
    assert named(p, "[memory]").cpu_memory_usage == -16
    assert p.total_average().self_cpu_memory_usage == 0


def test_arithmetic_is_estimated():
    """Two operations for every product of a matrix product, one for every element."""
    a, b = nbgrad.ones(3, 4), nbgrad.ones(4, 5)
    with profile(with_flops=True) as p:
        (a @ b).sin()
    assert (named(p, "aten::matmul").flops, named(p, "aten::sin").flops) == (120, 15)
    assert "Total FLOPs" in p.table() and p.total_average().flops == 135


def test_threads(x):
    """A profile sees the thread that entered it; with all_threads, all, numbered from 1."""

    def work():
        with record_function("work"):
            x.tan()

    for all_threads, expected in ((False, {"aten::cos": 1}), (True, {"aten::cos": 1, "work": 2, "aten::tan": 2})):
        with profile(all_threads=all_threads) as p:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            x.cos()
        assert {event.name: event.thread for event in p.function_events} == expected


def test_profiles_of_several_threads_do_not_mix(x):
    """Each has its own thread's calls."""
    seen = {}

    def work(name):
        with profile() as p:
            for _ in range(20):
                getattr(x, name)()
        seen[name] = event_names(p)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("sin", "cos", "exp")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {name: [f"aten::{name}"] * 20 for name in ("sin", "cos", "exp")}


def test_profile_inside_of_a_profile(x):
    """Both see what runs in both."""
    with profile() as outer:
        x.sin()
        with profile(record_shapes=True) as inner:
            x.cos()
        x.exp()
    assert (event_names(outer), event_names(inner)) == (["aten::sin", "aten::cos", "aten::exp"], ["aten::cos"])
    assert named(inner, "aten::cos").input_shapes == [[4]] and named(outer, "aten::cos").input_shapes is None


def test_exceptions_close_what_they_leave(x):
    """A call or a region that raises is an event, and later events do not lie inside of it."""
    with profile() as p:
        with pytest.raises(RuntimeError), record_function("failing"):
            x @ nbgrad.ones(3, 3)
        x.sin()
    assert event_names(p) == ["failing", "aten::matmul", "aten::sin"] and named(p, "aten::sin").cpu_parent is None


def test_profile_works_with_checkpoints(x):
    """Calls of the second run lie inside of the node that asked for it."""
    with profile() as p:
        nbgrad.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum().backward()
    parents = [e.cpu_parent for e in p.function_events if e.name == "aten::sin"]
    assert parents[0] is None and parents[1].name == "ExpBackward0" and len(parents) == 2


# ---- regions ---------------------------------------------------------------------------------------------------------


def test_record_function_decorates(x):
    """Every call is a region, also of a function that calls itself; without a profile it is the function alone."""

    @record_function("recursive", "depth")
    def function(depth):
        """Doc."""
        return x.sin() if depth == 0 else function(depth - 1)

    assert function.__doc__ == "Doc." and function(1).shape == (4,)
    with profile() as p:
        function(2)
    events = [e for e in p.function_events if e.name == "recursive"]
    assert [len(e.cpu_children) for e in events] == [1, 1, 1] and events[1].cpu_parent is events[0]
    assert (events[0].args, events[0].is_user_annotation, events[0].scope) == ("depth", True, 7)


def test_region_left_under_another_profile(x):
    """A region that began before the profile is not its event."""
    region = record_function("early")
    with region:
        p = profile()
        p.__enter__()
        x.sin()
    p.__exit__(None, None, None)
    assert event_names(p) == ["aten::sin"]


def test_region_that_is_never_left(x):
    """It is no event, and does not disturb the next profile."""
    with profile() as p:
        record_function("lost").__enter__()
        x.sin()
    assert event_names(p) == ["aten::sin"]
    with nbgrad.no_grad(), profile(profile_memory=True) as p:
        x.sin()
    assert event_names(p) == ["aten::sin", "[memory]"]


def test_annotations_for_absent_tools_do_nothing(x):
    """emit_nvtx and emit_itt are contexts without effect."""
    from nbgrad.profiling.profiler import emit_itt, emit_nvtx

    for context in (emit_nvtx, emit_itt):
        with context() as inside:
            x.sin()
        assert inside is not None
        with context(enabled=False) as inside:
            assert inside is None


# ---- how profiles are used -------------------------------------------------------------------------------------------


def test_profile_is_entered_once(x):
    """Neither while it is active, nor again."""
    p = profile()
    assert (str(p), p.table(), list(p.function_events), p.self_cpu_time_total) == ("", "", [], 0)
    with p, pytest.raises(RuntimeError, match="reentrant"):
        p.__enter__()
    with pytest.raises(RuntimeError, match="reentrant"):
        p.__enter__()


def test_disabled_profile_collects_nothing(x):
    """Its target is None."""
    p = profile(enabled=False)
    with p as target:
        x.sin()
    assert target is None and list(p.function_events) == []


def test_devices_are_refused_with_a_word():
    """Only the CPU is profiled."""
    with pytest.warns(UserWarning, match="only the CPU"):
        profile(use_device="cuda")
    with pytest.raises(AssertionError, match="use_cpu"):
        profile(use_cpu=False)


# ---- tables, averages, files -----------------------------------------------------------------------------------------


def made(*spans):
    """Events of one thread, by name and time, put into a tree."""
    events = EventList([FunctionEvent(k, name, 1, start, end) for k, (name, start, end) in enumerate(spans, 1)])
    events._build_tree()
    return events


def test_tree_of_intervals():
    """By time alone: what begins and ends inside of another lies in it; what touches does not."""
    events = made(("a", 0, 20), ("b", 1, 19), ("c", 2, 18), ("d", 20, 30), ("e", 20, 25))
    assert [e.cpu_parent.name if e.cpu_parent else None for e in events] == [None, "a", "b", None, "d"]
    assert [e.self_cpu_time_total for e in events] == [2, 2, 16, 5, 5]
    assert events.self_cpu_time_total == 30


def test_averages_sum_by_name():
    """Counts, totals, self times, averages; and the sum of all."""
    averages = made(("f", 0, 10), ("g", 1, 4), ("f", 20, 26)).key_averages()
    f, g = averages
    assert (f.key, f.count, f.cpu_time_total, f.self_cpu_time_total, f.cpu_time) == ("f", 2, 16, 13, 8)
    assert (g.count, g.cpu_time_str, g.device_time_total) == (1, "3.000us", 0)
    total = averages.total_average()
    assert (total.key, total.count, total.self_cpu_time_total) == ("Total", 3, 16)
    both = FunctionEventAvg()
    both += f
    assert (both.key, both.count) == ("f", 2)


def test_table_text():
    """Titles, shares, the total; sorted and cut as asked."""
    averages = made(("long", 0, 3000), ("short", 3000, 3001), ("short", 4000, 4001)).key_averages()
    lines = averages.table(sort_by="count", header="HEAD").splitlines()
    titles = "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls"
    assert lines[1] == "HEAD" and lines[3].split() == titles.split()
    assert lines[5].split() == ["short", "0.07%", "2.000us", "0.07%", "2.000us", "1.000us", "2"]
    assert lines[6].split() == ["long", "99.93%", "3.000ms", "99.93%", "3.000ms", "3.000ms", "1"]
    assert lines[-1] == "Self CPU time total: 3.002ms"
    assert len(averages.table(row_limit=1).splitlines()) == len(averages.table().splitlines()) - 1
    assert "0.003s" in averages.table(time_unit="s") and "lo..." not in averages.table()
    assert "s..." in made(("shortened", 0, 1)).table(max_name_column_width=4)
    assert "inner" not in made(("outer", 0, 9), ("inner", 1, 2)).table(top_level_events_only=True)
    with pytest.raises(AttributeError, match="sort_by='speed'"):
        averages.table(sort_by="speed")
    with pytest.raises(ValueError, match="time_unit"):
        averages.table(time_unit="h")


@pytest.mark.parametrize(
    "key",
    [
        "cpu_time",
        "cpu_time_total",
        "self_cpu_time_total",
        "cpu_memory_usage",
        "self_cpu_memory_usage",
        "count",
        "key",
        "input_shapes",
        "cuda_time_total",
        "device_time_total",
    ],
)
def test_tables_sort_by_any_attribute(x, key):
    """Those of devices that are not there too."""
    with profile(record_shapes=True, profile_memory=True) as p:
        x.sin().cos()
    assert {"aten::sin", "aten::cos"} <= set(p.key_averages().table(sort_by=key).split())


def test_numbers_as_text():
    """The unit follows the size."""
    assert [time_text(t) for t in (0.5, 999, 1e3, 2.5e6)] == ["0.500us", "999.000us", "1.000ms", "2.500s"]
    assert [memory_text(n) for n in (-4, 2048, -3 << 20, 5 << 30)] == ["-4 B", "2.00 KB", "-3.00 MB", "5.00 GB"]


def test_trace_names_events_and_links_backward(x, tmp_path):
    """Spans with thread, time and arguments; an arrow from a call to its node."""
    with profile(record_shapes=True, with_stack=True) as p:
        with record_function("region", "note"):
            x.sin().sum().backward()
    path = tmp_path / "trace.json"
    p.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    spans = {e["name"]: e for e in events if e["ph"] == "X"}
    assert spans["region"]["args"]["Args"] == "note" and spans["aten::sin"]["args"]["Input Dims"] == [[4]]
    assert spans["aten::sin"]["args"]["Sequence number"] == spans["SinBackward0"]["args"]["Sequence number"]
    starts, ends = ({e["id"]: e["ts"] for e in events if e["ph"] == phase} for phase in "sf")
    number = spans["SinBackward0"]["args"]["External id"]
    assert starts[number] == spans["aten::sin"]["ts"] and ends[number] == spans["SinBackward0"]["ts"]
    assert set(starts) == set(ends)


def test_stacks_for_flame_graphs(x, tmp_path):
    """Outermost first, with whole microseconds; refused without stacks or for another metric."""
    with profile(with_stack=True) as p:
        nbgrad.ones(300, 300) @ nbgrad.ones(300, 300)
    path = tmp_path / "stacks.txt"
    p.export_stacks(path)
    frames, value = path.read_text().splitlines()[0].rsplit(" ", 1)
    assert frames.split(";")[-1].endswith("test_stacks_for_flame_graphs") and int(value) > 0
    with pytest.raises(ValueError, match="metric"):
        p.export_stacks(path, "speed")
    with profile() as p:
        x.sin()
    with pytest.raises(AssertionError, match="with_stack"):
        p.export_stacks(path)


def test_a_profile_prints_its_table(x):
    """``str`` of a finished profile names the events; the table can be sorted and cut."""
    with profile() as p:
        x.sin().cos()
    table = p.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert "aten::sin" in str(p) and "aten::cos" in str(p) and isinstance(table, str)
    assert ("aten::sin" in table) is not ("aten::cos" in table)


# ---- schedules and handlers ------------------------------------------------------------------------------------------


def test_names_are_torchs(x):
    """Parts of an operation and forms of it go by its name; Functions by theirs, nodes and regions by their own."""
    with nbgrad.no_grad(), profile() as p:
        x.view(2, 2).T.expand(3, 2, 2).squeeze(0)
        x**3
        (x * 1).clamp_(min=2)
        nbgrad.nn.functional.linear(x, nbgrad.ones(1, 4))
        Double.apply(x)
    assert [name for name in event_names(p) if name != "aten::mul"] == [
        "aten::view",
        "aten::permute",
        "aten::expand",
        "aten::squeeze",
        "aten::pow",
        "aten::clamp_min_",
        "aten::mm",
        "Double",
    ]


def test_schedule_of_steps():
    """Waiting, getting ready, collecting, handing over; again or not; after some steps at the beginning."""
    from nbgrad.profiling.profiler import schedule

    def plan(steps, **lengths):
        return [schedule(**lengths)(step).value for step in range(steps)]

    assert plan(9, wait=1, warmup=1, active=2) == [0, 1, 2, 3, 0, 1, 2, 3, 0]
    assert plan(9, wait=1, warmup=1, active=2, repeat=1) == [0, 1, 2, 3, 0, 0, 0, 0, 0]
    assert plan(7, wait=0, warmup=1, active=1, skip_first=3) == [0, 0, 0, 1, 3, 1, 3]
    assert plan(7, wait=2, warmup=0, active=1, skip_first=1, skip_first_wait=1) == [0, 3, 0, 0, 3, 0, 0]
    for wrong in ({"active": 0}, {"active": 1, "repeat": -1}):
        with pytest.raises(AssertionError, match="active > 0"):
            schedule(wait=1, warmup=1, **wrong)


def test_scheduled_profile_collects_cycles(x):
    """Only the active steps' calls, each in the region of its step; the handler gets the profile at the end of every cycle."""
    seen = []
    plan = nbgrad.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: seen.append([event_names(p), p.step_num])) as p:
        for k in range(9):
            (x.sin if k % 2 else x.cos)()
            p.step()
    cycle = ["aten::cos", "aten::sin"]
    steps = [[f"ProfilerStep#{k}" for k in (2, 3)], [f"ProfilerStep#{k}" for k in (6, 7)]]
    assert seen == [[[step for pair in zip(steps[c], cycle) for step in pair], 4 * c + 4] for c in range(2)]
    assert p.current_action is nbgrad.profiler.ProfilerAction.NONE and len(p.events()) == 4


def test_start_and_stop(x, tmp_path):
    """As a ``with`` block does; the handler is called once, and writes what can be read again."""
    handler = nbgrad.profiler.tensorboard_trace_handler(tmp_path / "traces", "me", use_gzip=True)
    p = profile(activities=[nbgrad.profiler.ProfilerActivity.CPU], on_trace_ready=handler)
    p.add_metadata("note", "text")
    p.add_metadata_json("list", "[1, 2]")
    p.start()
    x.sin()
    p.stop()
    (file,) = (tmp_path / "traces").iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json.gz")
    with gzip.open(file, "rt") as text:
        trace = json.load(text)
    assert (trace["note"], trace["list"]) == ("text", [1, 2])
    assert [e["name"] for e in trace["traceEvents"]] == ["process_name", "thread_name", "aten::sin"]
    assert nbgrad.profiler.supported_activities() == {nbgrad.profiler.ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="only the CPU"):
        profile(activities=[nbgrad.profiler.ProfilerActivity.CUDA])
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="cannot be made"):
        nbgrad.profiler.tensorboard_trace_handler(tmp_path / "file" / "below")(p)
