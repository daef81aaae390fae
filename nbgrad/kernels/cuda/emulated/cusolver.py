"""cuSOLVER, and the triangular systems of cuBLAS, played: by NumPy, as LAPACK says, on matrices that lie by columns.

It refuses numbers, dtypes and leading dimensions that the documentation does not allow, workspaces that are too small, and memory
that is freed, foreign, not written to, or that nothing orders behind who wrote it. Tests play it by ``play()``.

Source: cuSOLVER Library and cuBLAS Library User Guide; LAPACK Users' Guide.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..libraries import PLAYED
from .driver import install
from .driver.entries import Refused
from .guard import opened
from .played import Played

__all__ = ["PlayedSolver", "PlayedTriangles", "play"]

INVALID = {"cusolver": 3, "cublas": 7}
KINDS_OF = {0: "float32", 1: "float64", 4: "complex64", 5: "complex128"}
REALS = {0: 0, 1: 1, 4: 0, 5: 1}
WORK, HERE = 512, 64  # bytes that functions ask for
HANDLE, PARAMETERS = 0x5000, 0x6000


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
        """Those of matrices, in memory of the device."""
        with opened():
            return self.memory(place, "int64", (count, 1, count, 0), 1, device)[0][:, 0].tolist()

    def write(self, address: int, name: Any, x: np.ndarray, lead: int, device: int) -> None:
        """Write a matrix; a vector is a column."""
        x = x.reshape(len(x), -1)
        if x.size:
            with opened():
                self.memory(address, name, (*x.shape, lead, 0), 1, device, True)[0][...] = x


class PlayedSolver(Handles):
    """cuSOLVER.

    Attributes:
        failing: the status with which functions fail, or 0.
        triangles: cuBLAS.
    """

    def __init__(self, version: int = 12004):
        self.version, self.failing, self.triangles = version, 0, PlayedTriangles()
        entries = {name: (kinds, partial(call_of, name)) for name, kinds in SIGNATURES.items()}
        from ..cusolver import STATUS

        super().__init__("cusolver", entries, STATUS)

    def get_version(self, out: int) -> None:
        ctypes.c_int.from_address(out).value = self.version

    def create_parameters(self, out: int) -> None:
        ctypes.c_uint64.from_address(out).value = PARAMETERS

    # ---- the 64-bit functions ----------------------------------------------------------------------------------------------

    def answer(self, name: str, arguments: tuple) -> None:
        """How many bytes a function needs."""
        self.checked(name, arguments[:-2])
        ctypes.c_size_t.from_address(arguments[-2]).value = WORK
        ctypes.c_size_t.from_address(arguments[-1]).value = HERE

    def checked(self, name: str, arguments: tuple) -> tuple:
        """The arguments of a function, without handle and parameters."""
        handle, parameters, *rest = arguments
        self.require(handle in self.streams and parameters == PARAMETERS, "no handle, or no parameters")
        at = {"potrf": 2, "getrf": 2, "geqrf": 2, "syevd": 3, "gesvd": 4}[name]
        kind, a, lead = rest[at : at + 3]
        rows = rest[1] if name == "potrf" else rest[2] if name in ("syevd", "gesvd") else rest[0]
        self.require(kind in KINDS_OF and a and lead >= max(rows, 1), f"{name}: elements {kind} at {a}, columns {lead} apart")
        self.require(rest[-1] == kind, f"{name} of {kind} computed in {rest[-1]}")
        return tuple(rest)

    def x(self, name: str, arguments: tuple) -> None:
        """One of them."""
        if self.failing:
            raise Refused(self.failing, "on demand")
        *given, there, there_bytes, here, here_bytes, info = arguments
        rest = self.checked(name, tuple(given))
        self.require(there and there_bytes >= WORK and here and here_bytes >= HERE and info, f"{name}: too little to work in")

        def work(device: int) -> None:
            self.write(there, "uint8", np.full(WORK, 0xFB, np.uint8), WORK, device)
            found = getattr(self, f"do_{name}")(device, *rest)
            self.write(info, "int32", np.array([found], np.int32), 1, device)

        self.queue(arguments[0], name, work)

    def do_potrf(self, device, fill, n, kind, a, lead, compute) -> int:
        x = self.read(a, kind, n, n, lead, device)
        whole = np.triu(x) + np.triu(x, 1).conj().T if fill == 1 else np.tril(x) + np.tril(x, -1).conj().T
        factor, order = np.zeros_like(x), 0
        for k in range(n):  # the lower factor, row by row
            row = factor[k, :k] = np.linalg.solve(factor[:k, :k], whole[:k, k]).conj() if k else 0
            pivot = whole[k, k].real - (np.abs(row) ** 2).sum() if k else whole[k, k].real
            if not pivot > 0:
                order = k + 1
                break
            factor[k, k] = np.sqrt(pivot)
        inside = np.triu(factor.conj().T) + np.tril(x, -1) if fill == 1 else np.tril(factor) + np.triu(x, 1)
        self.write(a, KINDS_OF[kind], inside, lead, device)
        return order

    def potrf_of_many(self, kind, handle, fill, n, places, lead, info, count) -> None:
        """Factors of many matrices; what is on the other side of the diagonals is work space."""
        self.require(fill in (0, 1) and lead >= max(n, 1) and count > 0 and places and info, "potrfBatched: what is not allowed")

        def work(device: int) -> None:
            orders = []
            for a in self.addresses(places, count, device):
                orders.append(self.do_potrf(device, fill, n, kind, a, lead, kind))
                x = self.read(a, kind, n, n, lead, device)
                junk = np.tril(np.full_like(x, 7), -1) if fill == 1 else np.triu(np.full_like(x, 7), 1)
                self.write(a, KINDS_OF[kind], (np.triu(x) if fill == 1 else np.tril(x)) + junk, lead, device)
            self.write(info, "int32", np.array(orders, np.int32), count, device)

        self.queue(handle, "potrfBatched", work)

    def do_getrf(self, device, m, n, kind, a, lead, pivots, compute) -> int:
        x, order, exchanged = self.read(a, kind, m, n, lead, device), 0, []
        for k in range(min(m, n)):
            best = k + int(np.argmax(np.abs(x[k:, k].real) + np.abs(x[k:, k].imag)))
            exchanged.append(best + 1)
            x[[k, best]] = x[[best, k]]
            if x[k, k] == 0:
                order = order or k + 1
                continue
            x[k + 1 :, k] /= x[k, k]
            x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
        self.write(a, KINDS_OF[kind], x, lead, device)
        self.write(pivots, "int64", np.array(exchanged, np.int64), max(len(exchanged), 1), device)
        return order

    def getrs(self, handle, parameters, turn, n, count, kind, a, lead, pivots, of_b, b, lead_b, info) -> None:
        self.require(parameters == PARAMETERS and kind == of_b and kind in KINDS_OF and turn in (0, 1, 2), "getrs: dtypes or turn")
        self.require(lead >= n and lead_b >= n, "getrs: columns that overlap")

        def work(device: int) -> None:
            x, y = self.read(a, kind, n, n, lead, device), self.read(b, kind, n, count, lead_b, device)
            with opened():
                steps = self.memory(pivots, "int64", (n, 1, n, 0), 1, device)[0, :, 0].tolist()
            order = list(range(n))
            for k, other in enumerate(steps):
                order[k], order[other - 1] = order[other - 1], order[k]
            whole = np.empty_like(x)
            whole[order] = (np.tril(x, -1) + np.eye(n)).astype(x.dtype) @ np.triu(x)
            whole = whole if turn == 0 else whole.T if turn == 1 else whole.conj().T
            self.write(b, KINDS_OF[kind], np.linalg.solve(whole, y), lead_b, device)
            self.write(info, "int32", np.zeros(1, np.int32), 1, device)

        self.queue(handle, "getrs", work)

    def do_geqrf(self, device, m, n, kind, a, lead, of_tau, tau, compute) -> int:
        reflectors, factors = np.linalg.qr(self.read(a, kind, m, n, lead, device), "raw")
        self.write(a, KINDS_OF[kind], reflectors.T, lead, device)
        self.write(tau, KINDS_OF[of_tau], factors, max(len(factors), 1), device)
        return 0

    def do_syevd(self, device, job, fill, n, kind, a, lead, of_w, w, compute) -> int:
        self.require(of_w == REALS[kind] and fill in (0, 1), "syevd: eigenvalues are real")
        x = self.read(a, kind, n, n, lead, device)
        values, vectors = np.linalg.eigh(x, "U" if fill == 1 else "L")
        self.write(a, KINDS_OF[kind], vectors if job else np.full_like(x, np.nan), lead, device)
        self.write(w, KINDS_OF[of_w], values, n, device)
        return 0

    def do_gesvd(self, device, job_u, job_v, m, n, kind, a, lead, of_s, s, of_u, u, lead_u, of_v, v, lead_v, compute) -> int:
        self.require(m >= n and of_s == REALS[kind] and of_u == of_v == kind and job_u == job_v, "gesvd: a wide matrix, or dtypes")
        self.require(lead_u >= m and lead_v >= n, "gesvd: columns that overlap")
        left, values, right = np.linalg.svd(self.read(a, kind, m, n, lead, device), full_matrices=chr(job_u) == "A")
        self.write(a, KINDS_OF[kind], np.full((m, n), np.nan, left.dtype), lead, device)
        self.write(s, KINDS_OF[of_s], values, n, device)
        if chr(job_u) != "N":
            self.write(u, KINDS_OF[kind], left, lead_u, device)
            self.write(v, KINDS_OF[kind], right, lead_v, device)
        return 0

    # ---- reflectors ----------------------------------------------------------------------------------------------------------

    def orthogonal_bytes(self, kind, handle, m, n, k, a, lead, tau, out) -> None:
        self.require(handle in self.streams and m >= n >= k and lead >= m, "orgqr: sizes")
        ctypes.c_int.from_address(out).value = WORK // 4

    def orthogonal(self, kind, handle, m, n, k, a, lead, tau, there, count, info) -> None:
        self.require(m >= n >= k and lead >= m and count >= WORK // 4, "orgqr: sizes")

        def work(device: int) -> None:
            reflectors, factors = self.read(a, kind, m, k, lead, device), self.read(tau, kind, k, 1, k, device)[:, 0]
            self.write(there, KINDS_OF[kind], np.zeros(WORK // 4), WORK // 4, device)
            q = np.eye(m, n, dtype=reflectors.dtype)
            for j in reversed(range(k)):
                along = np.concatenate([np.zeros(j), [1], reflectors[j + 1 :, j]])
                q = q - factors[j] * np.outer(along, along.conj() @ q)
            self.write(a, KINDS_OF[kind], q, lead, device)
            self.write(info, "int32", np.zeros(1, np.int32), 1, device)

        self.queue(handle, "orgqr", work)


class PlayedTriangles(Handles):
    """What is used of cuBLAS."""

    def __init__(self) -> None:
        entries = {
            "cublasCreate_v2": ("p", PlayedTriangles.create),
            "cublasSetStream_v2": ("pp", PlayedTriangles.set_stream),
            "cublasGetProperty": ("ip", PlayedTriangles.get_property),
            "cublasGetStatusName": ("i>s", lambda self, number: ctypes.addressof(FAILED)),
            **{f"cublas{letter}trsm_v2_64": ("piiiiqqppqpq", partial(solve, kind)) for letter, kind in LETTERS.items()},
            **{f"cublas{letter}trsmBatched": ("piiiiiippipii", partial(solve_many, kind)) for letter, kind in LETTERS.items()},
        }
        super().__init__("cublas", entries, "cublasGetStatusName")

    def get_property(self, which: int, out: int) -> None:
        self.require(which == 0, "what is not played")
        ctypes.c_int.from_address(out).value = 13

    def solve(self, kind, handle, side, fill, turn, unit, m, n, alpha, a, lead, b, lead_b) -> None:
        """Z A = alpha B of a triangle of A (n, n)."""
        self.queue(handle, "trsm", self.solution(kind, side, fill, turn, unit, m, n, alpha, lead, lead_b, lambda device: [(a, b)]))

    def solve_many(self, kind, handle, side, fill, turn, unit, m, n, alpha, a, lead, b, lead_b, count) -> None:
        """The same of many, whose addresses are there."""
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


LETTERS = {"S": 0, "D": 1, "C": 4, "Z": 5}
FAILED = ctypes.create_string_buffer(b"CUBLAS_STATUS_INVALID_VALUE")
SIGNATURES = {
    "cusolverGetVersion": "p",
    "cusolverDnCreate": "p",
    "cusolverDnSetStream": "pp",
    "cusolverDnCreateParams": "p",
    "cusolverDnXpotrf_bufferSize": "ppiqipqipp",
    "cusolverDnXpotrf": "ppiqipqipnpnp",
    "cusolverDnXgetrf_bufferSize": "ppqqipqipp",
    "cusolverDnXgetrf": "ppqqipqpipnpnp",
    "cusolverDnXgetrs": "ppiqqipqpipqp",
    "cusolverDnXgeqrf_bufferSize": "ppqqipqipipp",
    "cusolverDnXgeqrf": "ppqqipqipipnpnp",
    "cusolverDnXsyevd_bufferSize": "ppiiqipqipipp",
    "cusolverDnXsyevd": "ppiiqipqipipnpnp",
    "cusolverDnXgesvd_bufferSize": "ppbbqqipqipipqipqipp",
    "cusolverDnXgesvd": "ppbbqqipqipipqipqipnpnp",
    **{f"cusolverDn{x}_bufferSize": "piiipipp" for x in ("Sorgqr", "Dorgqr", "Cungqr", "Zungqr")},
    **{f"cusolverDn{x}": "piiipippip" for x in ("Sorgqr", "Dorgqr", "Cungqr", "Zungqr")},
    **{f"cusolverDn{letter}potrfBatched": "piipipi" for letter in LETTERS},
}
COLD: dict[str, Callable[..., None]] = {
    "cusolverGetVersion": PlayedSolver.get_version,
    "cusolverDnCreate": PlayedSolver.create,
    "cusolverDnSetStream": PlayedSolver.set_stream,
    "cusolverDnCreateParams": PlayedSolver.create_parameters,
    "cusolverDnXgetrs": PlayedSolver.getrs,
}


def call_of(name: str, self: PlayedSolver, *arguments: Any) -> None:
    """A function of cuSOLVER, by its name."""
    found = COLD.get(name)
    if found is not None:
        return found(self, *arguments)
    short, _, asks = name.removeprefix("cusolverDn").partition("_")
    if short.startswith("X"):
        return self.answer(short[1:], arguments) if asks else self.x(short[1:], arguments)
    kind = LETTERS[short[0]]
    if short.endswith("Batched"):
        return self.potrf_of_many(kind, *arguments)
    return self.orthogonal_bytes(kind, *arguments) if asks else self.orthogonal(kind, *arguments)


def solve(kind: int, self: PlayedTriangles, *arguments: Any) -> None:
    """A triangular system of elements of a kind."""
    self.solve(kind, *arguments)


def solve_many(kind: int, self: PlayedTriangles, *arguments: Any) -> None:
    """Triangular systems of many matrices."""
    self.solve_many(kind, *arguments)


def play(version: int = 12004) -> PlayedSolver:
    """Have decompositions on emulated GPUs go through played libraries from now on."""
    from .. import cusolver

    played = PlayedSolver(version)
    PLAYED["cusolver"], PLAYED["cublas"] = played.library, played.triangles.library
    cusolver.solvers.cache_clear()
    cusolver.handles_of.cache_clear()
    return played
