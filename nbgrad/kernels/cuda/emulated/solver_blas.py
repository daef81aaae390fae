"""What decompositions use of cuBLAS, played: triangular systems, and elimination and reflections of many matrices.

It refuses numbers and leading dimensions that the documentation does not allow.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..cusolver import BLAS_FUNCTIONS, SMALL
from .guard import opened
from .handles import KINDS_OF, LETTERS, Handles, eliminated, substituted

__all__ = ["PlayedBlas"]

FAILED = ctypes.create_string_buffer(b"CUBLAS_STATUS_INVALID_VALUE")


class PlayedBlas(Handles):
    """What is used of cuBLAS."""

    def __init__(self) -> None:
        entries = {name: (kinds, partial(call_of, name)) for name, kinds in BLAS_FUNCTIONS.items()}
        super().__init__("cublas", entries, "cublasGetStatusName")

    def get_status_name(self, number: int) -> int:
        return ctypes.addressof(FAILED)

    def get_property(self, which: int, out: int) -> None:
        self.require(which == 0, "what is not played")
        ctypes.c_int.from_address(out).value = 13

    def solve(self, kind, handle, side, fill, turn, unit, m, n, alpha, a, lead, b, lead_b) -> None:
        """Z A = alpha B of a triangle of A (n, n)."""
        self.queue(handle, "trsm", self.solution(kind, side, fill, turn, unit, m, n, alpha, lead, lead_b, lambda device: [(a, b)]))

    def solve_many(self, kind, handle, side, fill, turn, unit, m, n, alpha, a, lead, b, lead_b, count) -> None:
        """``solve`` of many matrices, whose addresses are at ``a`` and ``b``."""
        self.require(count > 0 and a and b, "trsmBatched: no matrices")

        def places(device: int) -> list[tuple[int, int]]:
            return list(zip(self.addresses(a, count, device), self.addresses(b, count, device)))

        self.queue(handle, "trsmBatched", self.solution(kind, side, fill, turn, unit, m, n, alpha, lead, lead_b, places))

    def solution(self, kind, side, fill, turn, unit, m, n, alpha, lead, lead_b, places: Callable) -> Callable[[int], None]:
        """What solves systems, ``places(device)`` of A and B."""
        self.require(side == 1 and turn == 0 and fill in (0, 1) and lead >= n and lead_b >= m, "trsm: what is not played")
        factor = np.frombuffer(ctypes.string_at(alpha, np.dtype(KINDS_OF[kind]).itemsize), KINDS_OF[kind])[0]

        def solve(device: int, a: int, b: int) -> None:
            x, y = self.read(a, kind, n, n, lead, device), self.read(b, kind, m, n, lead_b, device)
            x, out = (np.triu(x) if fill == 1 else np.tril(x)), factor * y
            with np.errstate(all="ignore"):
                for k in range(n) if fill == 1 else reversed(range(n)):
                    rest = slice(0, k) if fill == 1 else slice(k + 1, n)
                    out[:, k] -= out[:, rest] @ x[rest, k]
                    if not unit:
                        out[:, k] /= x[k, k]
            self.write(b, KINDS_OF[kind], out, lead_b, device)

        def work(device: int) -> None:
            for a, b in places(device):
                solve(device, a, b)

        return work

    # ---- of many matrices --------------------------------------------------------------------------------------------------

    def matrices(
        self, places: int, count: int, kind: int, layout: tuple[int, int, int], device: int
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Where matrices are, and they; ``layout``: rows, columns, and elements from one column to the next."""
        for a in self.addresses(places, count, device):
            yield a, self.read(a, kind, *layout, device)

    def exchanges(self, pivots: int, count: int, n: int, device: int) -> np.ndarray:
        """The exchanges of rows by elimination, (count, n)."""
        with opened():
            return self.memory(pivots, "int32", (n, count, n, 0), 1, device)[0].T.copy()

    def eliminate(self, kind, handle, n, places, lead, pivots, info, count) -> None:
        self.require(lead >= max(n, 1) and count > 0 and places and info, "getrfBatched: what is not allowed")

        def work(device: int) -> None:
            found = []
            for a, x in self.matrices(places, count, kind, (n, n, lead), device):
                found.append(eliminated(x, bool(pivots)))
                self.write(a, KINDS_OF[kind], found[-1][0], lead, device)
            if pivots:
                self.write(pivots, "int32", np.stack([each[1] for each in found], -1), n, device)
            self.write(info, "int32", np.array([each[2] for each in found], np.int32), count, device)

        self.queue(handle, "getrfBatched", work)

    def substitute(self, kind, handle, turn, n, columns, places, lead, pivots, right, lead_b, said, count) -> None:
        self.require(
            turn in (0, 1, 2) and min(lead, lead_b) >= max(n, 1) and count > 0 and said, "getrsBatched: what is not allowed"
        )
        ctypes.c_int.from_address(said).value = 0

        def work(device: int) -> None:
            order = self.exchanges(pivots, count, n, device).tolist()
            systems = zip(
                self.matrices(places, count, kind, (n, n, lead), device),
                self.matrices(right, count, kind, (n, columns, lead_b), device),
            )
            for k, ((_, x), (b, y)) in enumerate(systems):
                self.write(b, KINDS_OF[kind], substituted(x, order[k], turn, y), lead_b, device)

        self.queue(handle, "getrsBatched", work)

    def invert(self, kind, handle, n, places, lead, inverses, lead_inverse, info, count) -> None:
        self.require(0 < n <= SMALL and min(lead, lead_inverse) >= n and count > 0 and info, "matinvBatched: what is not allowed")

        def work(device: int) -> None:
            orders = []
            for (a, x), b in zip(self.matrices(places, count, kind, (n, n, lead), device), self.addresses(inverses, count, device)):
                self.require(a != b, "matinvBatched: in place")
                both, exchanged, order = eliminated(x)
                orders.append(order)
                one = np.eye(n, dtype=both.dtype)
                self.write(b, KINDS_OF[kind], substituted(both, exchanged.tolist(), 0, one), lead_inverse, device)
            self.write(info, "int32", np.array(orders, np.int32), count, device)

        self.queue(handle, "matinvBatched", work)

    def reflect(self, kind, handle, m, n, places, lead, tau, said, count) -> None:
        self.require(lead >= max(m, 1) and count > 0 and said, "geqrfBatched: what is not allowed")
        ctypes.c_int.from_address(said).value = 0

        def work(device: int) -> None:
            for (a, x), t in zip(self.matrices(places, count, kind, (m, n, lead), device), self.addresses(tau, count, device)):
                reflectors, factors = np.linalg.qr(x, "raw")
                self.write(a, KINDS_OF[kind], reflectors.T, lead, device)
                self.write(t, KINDS_OF[kind], factors, max(len(factors), 1), device)

        self.queue(handle, "geqrfBatched", work)


COLD: dict[str, Callable[..., Any]] = {
    "cublasCreate_v2": PlayedBlas.create,
    "cublasSetStream_v2": PlayedBlas.set_stream,
    "cublasGetProperty": PlayedBlas.get_property,
    "cublasGetStatusName": PlayedBlas.get_status_name,
}
LETTERED: dict[str, Callable[..., None]] = {
    "trsm_v2_64": PlayedBlas.solve,
    "trsmBatched": PlayedBlas.solve_many,
    "getrfBatched": PlayedBlas.eliminate,
    "getrsBatched": PlayedBlas.substitute,
    "matinvBatched": PlayedBlas.invert,
    "geqrfBatched": PlayedBlas.reflect,
}


def call_of(name: str, self: PlayedBlas, *arguments: Any) -> Any:
    """A function of cuBLAS, by its name."""
    found = COLD.get(name)
    if found is not None:
        return found(self, *arguments)
    letter, short = name.removeprefix("cublas")[:1], name.removeprefix("cublas")[1:]
    return LETTERED[short](self, LETTERS[letter], *arguments)
