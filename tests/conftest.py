"""What all tests share: marks, the Hypothesis profile, and the fixture that catches leaked global state."""

from __future__ import annotations

import ctypes
import gc
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from nbgrad import anomaly, grad_mode
from nbgrad.base import dtypes
from nbgrad.forward import tangents
from nbgrad.graph import task as graph_task
from nbgrad.kernels.cpu.pool import available_threads
from nbgrad.methods import printing
from nbgrad.tensors import batch_levels

# Deterministic, and without a deadline: the first use of an operation compiles its kernel.
settings.register_profile("nbgrad", deadline=None, derandomize=True, database=None)
settings.load_profile("nbgrad")


class State(NamedTuple):
    """Something that a test may change and must restore."""

    read: Callable[[], Any]
    write: Callable[[Any], Any]


# Whoever adds state to a process or a thread of nbgrad adds a line here.
GLOBAL_STATE: dict[str, State] = {
    "grad mode": State(grad_mode.is_grad_enabled, lambda enabled: setattr(grad_mode.mode, "enabled", enabled)),
    "default dtype": State(dtypes.get_default_dtype, dtypes.set_default_dtype),
    "print options": State(printing.get_printoptions, lambda options: printing.set_printoptions(**options)),
    "anomaly mode": State(
        lambda: (anomaly.is_anomaly_enabled(), anomaly.is_anomaly_check_nan_enabled()),
        lambda flags: anomaly.set_anomaly_enabled(*flags),
    ),
    "multithreading": State(
        graph_task.is_multithreading_enabled, lambda enabled: setattr(graph_task.state, "multithreading", enabled)
    ),
    "running pass": State(graph_task.current_graph_task_id, lambda _: setattr(graph_task.state, "task", None)),
    "batch levels": State(lambda: batch_levels.state.levels, lambda found: setattr(batch_levels.state, "levels", found)),
    "dual levels": State(tangents.dual_levels.copy, lambda levels: tangents.dual_levels.__setitem__(slice(None), levels)),
    "special modes": State(grad_mode.special.copy, lambda modes: grad_mode.special.__setitem__(slice(None), modes)),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--slow``."""
    parser.addoption("--slow", action="store_true", help="also run what takes minutes, and all cases of tests of which a part runs")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A process for each processor that there is, or that a container grants; each comes to 1.3 GB, so four at most."""
    return min(available_threads(), 4)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of other parts; begin with what takes long; skip what this run or this machine cannot do, with the reason."""
    if whole_tests_are_asked_for(config):
        taken, left_out = [], []
        for item in items:
            (taken if in_part(item) else left_out).append(item)
        empty = {function_of(item) for item in left_out} - {function_of(item) for item in taken}
        if empty:
            raise pytest.UsageError(f"part: no case of {', '.join(sorted(empty))} is left. Hint: fewer parts, or another one.")
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = taken
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
    reasons = {}
    if not config.getoption("--slow"):
        reasons["slow"] = "slow: runs with --slow"
    if any(item.get_closest_marker("cuda") for item in items) and not has_gpu():
        reasons["cuda"] = "no CUDA device"
    for item in items:
        for mark, reason in reasons.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


# NOTE [Parts]: tests over the whole table of operations, in each of many modes, would take longer than anybody waits.
#   1. ``@pytest.mark.part(of, *which)``: a run takes those cases whose hash modulo ``of`` is among ``which``. With ``--slow`` all.
#   2. the hash is of the operation (the parameter ``name``), else of the case's id: equal in every run, on every machine, and
#      what is added to the table moves nothing else
#   3. tests, or values of a parameter (``helpers.alternating``), marked with every ``which`` share the operations: each is seen in
#      one of the modes
#   4. who names cases, by an id or ``-k``, gets them all: ``pytest tests -k softsign`` is every test of that operation


def whole_tests_are_asked_for(config: pytest.Config) -> bool:
    """Whether nobody named cases, nor asked for all."""
    return not (config.getoption("--slow") or config.getoption("keyword") or any("[" in argument for argument in config.args))


def function_of(item: pytest.Item) -> str:
    """The id of a test without that of the case."""
    return item.nodeid.partition("[")[0]


def in_part(item: pytest.Item) -> bool:
    """Whether a run takes this case: see NOTE [Parts]."""
    marks = [mark.args for mark in item.iter_markers("part")]
    if not marks:
        return True
    call = item.callspec
    seen = zlib.crc32(str(call.params.get("name", call.id)).encode())
    return all(seen % of in which for of, *which in marks)


def pytest_collection_finish() -> None:
    """Spare the collector the hundred thousands of objects that the collected tests are: some tests collect, and count."""
    gc.collect()
    gc.freeze()


def has_gpu() -> bool:
    """Whether the driver finds a device, or one is played. Asked of the driver itself: it needs none of the cuda extra."""
    if os.environ.get("NBGRAD_CUDA") == "emulated":
        return True
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


@pytest.fixture(autouse=True)
def no_leaked_state() -> Iterator[None]:
    """Fail a test that leaves global state other than it found it; restore it, so that no other test fails for that."""
    before = {name: state.read() for name, state in GLOBAL_STATE.items()}
    yield
    leaks = []
    for name, state in GLOBAL_STATE.items():
        if state.read() != before[name]:
            leaks.append(f"{name}: {before[name]} before, {state.read()} after")
            state.write(before[name])
    assert not leaks, f"the test leaked global state: {'; '.join(leaks)}"


@pytest.fixture
def same_table():
    """Take back what a test declares."""
    from nbgrad.base.calls import CALLS
    from nbgrad.dispatch.elementwise_plans import PLANS
    from nbgrad.methods.install import FUNCTIONS
    from nbgrad.ops.core import OPS
    from nbgrad.tensors.tensor import Tensor

    tables = [OPS, CALLS, PLANS, FUNCTIONS]
    before, members = [dict(table) for table in tables], set(vars(Tensor))
    yield
    for table, kept in zip(tables, before):
        table.clear()
        table.update(kept)
    for name in set(vars(Tensor)) - members:
        delattr(Tensor, name)
