"""What all tests share: marks, the Hypothesis profile, and the fixture that catches leaked global state."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

from nbgrad import dtypes, grad_mode

# Deterministic, and without a deadline: the first use of an operation compiles its kernel.
settings.register_profile("nbgrad", deadline=None, derandomize=True, database=None)
settings.load_profile("nbgrad")

# State of the process or thread that a test may change and must restore: a name for the message, and how to read it.
# Whoever adds global state to nbgrad adds a line here.
GLOBAL_STATE: dict[str, Callable[[], Any]] = {
    "grad mode": grad_mode.is_grad_enabled,
    "default dtype": dtypes.get_default_dtype,
    "special modes": lambda: list(grad_mode.special),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--slow``."""
    parser.addoption("--slow", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this run or this machine cannot do, with the reason."""
    reasons = {}
    if not config.getoption("--slow"):
        reasons["slow"] = "slow: runs with --slow"
    if any(item.get_closest_marker("cuda") for item in items) and not has_gpu():
        reasons["cuda"] = "no CUDA device"
    for item in items:
        for mark, reason in reasons.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


def has_gpu() -> bool:
    """Whether the driver finds a device. Asked of the driver itself: it needs none of the cuda extra."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def global_state() -> dict[str, Any]:
    """The present value of everything in ``GLOBAL_STATE``."""
    return {name: read() for name, read in GLOBAL_STATE.items()}


@pytest.fixture(autouse=True)
def no_leaked_state() -> Iterator[None]:
    """Fail a test that leaves global state other than it found it."""
    before = global_state()
    yield
    after = global_state()
    leaked = [f"{name}: {before[name]} before, {after[name]} after" for name in before if before[name] != after[name]]
    assert not leaked, "the test leaked global state: " + "; ".join(leaked)
