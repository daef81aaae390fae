"""What several test files need: tensors to start from, modes, threads and processes."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import nbgrad
from nbgrad.base.grad_mode import special
from nbgrad.modes.interpreters import Presence


# ---- tensors and arrays ----------------------------------------------------------------------------------------------
def leaf(data: Any = (1.0, 2.0), dtype: nbgrad.dtype = nbgrad.float64) -> nbgrad.Tensor:
    """A leaf that requires grad, of float64 unless told otherwise."""
    return nbgrad.tensor(data, dtype=dtype, requires_grad=True)


def float32_leaf(data: Any = (1.0, 2.0)) -> nbgrad.Tensor:
    """A leaf of float32 that requires grad."""
    return leaf(data, nbgrad.float32)


def const(data: Any, dtype: nbgrad.dtype = nbgrad.float64) -> nbgrad.Tensor:
    """A tensor that does not require grad, of float64 unless told otherwise."""
    return nbgrad.tensor(data, dtype=dtype)


def wave(*shape: int, dtype: nbgrad.dtype = nbgrad.float64) -> nbgrad.Tensor:
    """Numbers of no symmetry."""
    return nbgrad.tensor(np.sin(1.3 * np.arange(int(np.prod(shape))).reshape(shape) + 0.5), dtype=dtype)


def arange(*shape: int) -> np.ndarray:
    """Float64 0, 1, 2, ... of a shape, as an array."""
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


def dtype(name: str) -> nbgrad.dtype:
    """The dtype of that name."""
    return getattr(nbgrad, name)


# ---- hooks and modes -------------------------------------------------------------------------------------------------
def same(t: Any) -> Any:
    """A hook that changes nothing."""
    return t


@contextmanager
def asking() -> Iterator[None]:
    """A mode that does nothing: while it is active no call is quick, and every interpreter is asked."""
    mode = Presence()
    special.append(mode)
    try:
        yield
    finally:
        special.remove(mode)


# ---- threads and processes -------------------------------------------------------------------------------------------
def in_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work()``, run to its end in a thread of its own."""
    box: list = []
    thread = threading.Thread(target=lambda: box.append(work()))
    thread.start()
    thread.join()
    return box[0]


def fork(child: Callable[[], Any]) -> int:
    """Run ``child()`` in a forked process; its exit status, or -1 after 20 seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns: this process has threads, on purpose
        pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if child() else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1
