"""What cuSOLVER and cuBLAS, played, share: handles that have a stream, and matrices that lie by columns.

They refuse memory that is freed, foreign, not written to, or that nothing orders behind who wrote it.

Source: cuSOLVER Library and cuBLAS Library User Guide; LAPACK Users' Guide.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .driver import install
from .driver.entries import Refused
from .guard import opened
from .played import Played

__all__ = ["KINDS_OF", "LETTERS", "Handles", "eliminated", "substituted"]

INVALID = {"cusolver": 3, "cublas": 7}
KINDS_OF = {0: "float32", 1: "float64", 4: "complex64", 5: "complex128"}
LETTERS = {"S": 0, "D": 1, "C": 4, "Z": 5}
HANDLE = 0x5000


class Handles(Played):
    """What both libraries share: a handle for each device, which has a stream."""

    def __init__(self, name: str, entries: dict, status: Any):
        super().__init__(name, entries, status)
        self.streams: dict[int, int | None] = {}
        self.called: list[str] = []

    def create(self, out: int) -> None:
        handle = HANDLE + install().driver.current()
        self.streams[handle] = None
        ctypes.c_uint64.from_address(out).value = handle

    def set_stream(self, handle: int, stream: int | None) -> None:
        self.require(handle in self.streams, f"{handle} is no handle")
        self.streams[handle] = stream

    def require(self, right: bool, reason: str) -> None:
        if not right:
            raise Refused(INVALID[self.library.name], reason)

    def queue(self, handle: int, name: str, work: Callable[[int], None]) -> None:
        """Queue ``work(device)`` on the handle's stream."""
        driver = install().driver
        self.require(handle in self.streams, f"{handle} is no handle")
        queued = driver.stream(self.streams[handle])
        self.require(driver.current() == queued.device == handle - HANDLE, "a stream or a context of another device")
        self.called.append(name)
        driver.enqueue(queued, partial(work, queued.device))

    def read(self, address: int, kind: int, rows: int, columns: int, lead: int, device: int) -> np.ndarray:
        """A matrix, as an array of its own."""
        with opened():
            return self.memory(address, KINDS_OF[kind], (rows, columns, lead, 0), 1, device)[0].copy()

    def addresses(self, place: int, count: int, device: int) -> list[int]:
        """The addresses of matrices, which lie in memory of the device."""
        with opened():
            return self.memory(place, "int64", (count, 1, count, 0), 1, device)[0][:, 0].tolist()

    def write(self, address: int, name: Any, x: np.ndarray, lead: int, device: int) -> None:
        """Write a matrix; a vector is a column."""
        x = x.reshape(len(x), -1)
        if x.size:
            with opened():
                self.memory(address, name, (*x.shape, lead, 0), 1, device, True)[0][...] = x


# ---- LAPACK's work -----------------------------------------------------------------------------------------------------


def eliminated(x: np.ndarray, exchange: bool = True) -> tuple[np.ndarray, np.ndarray, int]:
    """L and U in one matrix, the row, from 1 on, that each step exchanged with its own, and the first step without a pivot."""
    (m, n), order, exchanged = x.shape, 0, []
    for k in range(min(m, n)):
        best = k + int(np.argmax(np.abs(x[k:, k].real) + np.abs(x[k:, k].imag))) if exchange else k
        exchanged.append(best + 1)
        x[[k, best]] = x[[best, k]]
        if x[k, k] == 0:
            order = order or k + 1
            continue
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, np.array(exchanged), order


def substituted(x: np.ndarray, exchanged: list[int], turn: int, y: np.ndarray) -> np.ndarray:
    """The solution of a system by L, U and the exchanges: of the matrix, its transpose, or its conjugate transpose."""
    n, order = len(x), [*range(len(x))]
    for k, other in enumerate(exchanged):
        order[k], order[other - 1] = order[other - 1], order[k]
    low, up = (np.tril(x, -1) + np.eye(n)).astype(x.dtype), np.triu(x)
    if turn == 0:
        return by_triangle(up, by_triangle(low, y[order], False), True)
    low, up = (each.T if turn == 1 else each.conj().T for each in (low, up))
    out = np.empty_like(y)
    out[order] = by_triangle(low, by_triangle(up, y, False), True)
    return out


def by_triangle(x: np.ndarray, y: np.ndarray, upper: bool) -> np.ndarray:
    """The solution of a triangular system; infinities where there is a zero on the diagonal."""
    out = y.copy()
    with np.errstate(all="ignore"):
        for k in reversed(range(len(x))) if upper else range(len(x)):
            rest = slice(k + 1, None) if upper else slice(0, k)
            out[k] = (out[k] - x[k, rest] @ out[rest]) / x[k, k]
    return out
