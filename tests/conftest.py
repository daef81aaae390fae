"""What all tests share: marks, the Hypothesis profile, and the fixture that catches leaked global state."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

import nbgrad
from nbgrad import anomaly, grad_mode
from nbgrad.base import dtypes
from nbgrad.forward import tangents
from nbgrad.graph import task as graph_task
from nbgrad.kernels.cpu.pool import available_threads
from nbgrad.methods import printing
from nbgrad.tensors import batch_levels
from tests import samples  # noqa: F401  (what rows say is known before cases are taken)
from tests.parts import take_part, whole_tests_are_asked_for

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
    """``--slow`` and ``--device``."""
    parser.addoption("--slow", action="store_true", help="also run what takes minutes, and all cases of tests of which a part runs")
    parser.addoption("--device", default="cpu", help="where tests with the fixture ``device`` make their tensors: cpu or cuda")


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where tensors are that are made without a device: the CPU, or, with ``--device cuda``, a GPU.

    A module all of whose tests may run on either says ``pytestmark = pytest.mark.usefixtures("device")``.
    tests/cuda/test_on_devices.py runs them on an emulated GPU.
    """
    name = request.config.getoption("--device")
    with nbgrad.device(name):
        yield name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A process for each processor that there is, or that a container grants; each comes to 1.3 GB, so four at most."""
    return min(available_threads(), 4)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Where several processes share the tests, send one report of a case that passes, of six: they took longer than most tests.

    What is left out are its beginning and end and the passing of its fixtures; ``--durations`` tells of these too.
    """
    if not hasattr(item.config, "workerinput") or item.config.getoption("durations") is not None:
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            report.keywords = {}  # a fifth of what is sent; nobody asks for them
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Make no cases of other parts: NOTE [Parts of a run]. Pytest has no public name for the list of a test's cases."""
    yield
    if whole_tests_are_asked_for(metafunc.config):
        metafunc._calls[:] = take_part(metafunc.definition, metafunc._calls)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what forks, then what is long; skip what cannot be done."""
    items.sort(key=lambda item: 0 if item.get_closest_marker("forks") else 1 if item.get_closest_marker("early") else 2)
    reasons = {}
    if not config.getoption("--slow"):
        reasons["slow"] = "slow: runs with --slow"
    if any(item.get_closest_marker("cuda") for item in items) and not has_gpu():
        reasons["cuda"] = "no CUDA device"
    for item in items:
        for mark, reason in reasons.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection(session: pytest.Session) -> None:
    """Each process imports other files first, so that each is compiled by one of them where no process has yet done so."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, root = int(worker["workerid"].removeprefix("gw")), session.config.rootpath
    for path in sorted(root.glob("tests/**/test_*.py"))[number :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # what is wrong with it is told when the tests are collected
            import_module(".".join(path.relative_to(root).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Spare the collector the hundred thousands of objects that the collected tests are: some tests collect, and count."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def spared_collector() -> None:
    """The same for what earlier modules left in this process: kernels, plans, reports."""
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
    from nbgrad.methods.functions import FUNCTIONS
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
