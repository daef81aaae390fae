"""cuSOLVER, played: by NumPy, as LAPACK says, on matrices that lie by columns. Tests play it, and cuBLAS, by ``play()``.

It refuses numbers, dtypes and leading dimensions that the documentation does not allow, and workspaces that are too small.

Source: cuSOLVER Library User Guide; LAPACK Users' Guide.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..cusolver import FUNCTIONS, SMALL, STATUS
from ..libraries import PLAYED
from .driver.entries import Refused
from .guard import opened
from .handles import KINDS_OF, LETTERS, Handles, eliminated, substituted
from .solver_blas import PlayedBlas

__all__ = ["PlayedSolver", "play"]

REALS = {0: 0, 1: 1, 4: 0, 5: 1}
WORK, HERE = 512, 64  # bytes that functions ask for
PARAMETERS, ROTATIONS = 0x6000, 0x7000
MOST = 32_767  # of matrices side by side: of more syevBatched has been seen to refuse


class PlayedSolver(Handles):
    """cuSOLVER.

    Attributes:
        failing: the status with which functions fail, or 0.
        unfinished: what gesvdjBatched says of its matrices.
        blas: cuBLAS.
    """

    def __init__(self, version: int = 12004):
        self.version, self.failing, self.unfinished, self.blas = version, 0, 0, PlayedBlas()
        entries = {name: (kinds, partial(call_of, name)) for name, kinds in FUNCTIONS.items()}
        super().__init__("cusolver", entries, STATUS)

    def get_version(self, out: int) -> None:
        ctypes.c_int.from_address(out).value = self.version

    def create_parameters(self, out: int) -> None:
        ctypes.c_uint64.from_address(out).value = PARAMETERS

    def create_rotations(self, out: int) -> None:
        ctypes.c_uint64.from_address(out).value = ROTATIONS

    # ---- the 64-bit functions ----------------------------------------------------------------------------------------------

    def answer(self, name: str, arguments: tuple) -> None:
        """How many bytes a function needs."""
        *given, there, here = arguments[:-1] if name in COUNTED else arguments
        self.checked(name, tuple(given))
        ctypes.c_size_t.from_address(there).value = WORK
        ctypes.c_size_t.from_address(here).value = HERE

    def checked(self, name: str, arguments: tuple) -> tuple:
        """The arguments of a function, without handle and parameters."""
        handle, parameters, *rest = arguments
        self.require(handle in self.streams and parameters == PARAMETERS, "no handle, or no parameters")
        rows, at = SIZES[name]
        kind, a, lead = rest[at : at + 3]
        self.require(kind in KINDS_OF and a and lead >= max(rest[rows], 1), f"{name}: elements {kind} at {a}, columns {lead} apart")
        self.require(rest[-1] == kind, f"{name} of {kind} computed in {rest[-1]}")
        return tuple(rest)

    def x(self, name: str, arguments: tuple) -> None:
        """One of them."""
        if self.failing:
            raise Refused(self.failing, "on demand")
        count = arguments[-1:] if name in COUNTED else ()
        *given, there, there_bytes, here, here_bytes, info = arguments[: len(arguments) - len(count)]
        rest = (*self.checked(name, tuple(given)), *count)
        self.require(there and there_bytes >= WORK and here and here_bytes >= HERE and info, f"{name}: too little to work in")

        def work(device: int) -> None:
            self.write(there, "uint8", np.full(WORK, 0xFB, np.uint8), WORK, device)
            found = np.atleast_1d(getattr(self, f"do_{name}")(device, *rest)).astype(np.int32)
            self.write(info, "int32", found, len(found), device)

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
        x, exchanged, order = eliminated(self.read(a, kind, m, n, lead, device), bool(pivots))
        self.write(a, KINDS_OF[kind], x, lead, device)
        if pivots:
            self.write(pivots, "int64", exchanged, max(len(exchanged), 1), device)
        return order

    def getrs(self, handle, parameters, turn, n, count, kind, a, lead, pivots, of_b, b, lead_b, info) -> None:
        self.require(parameters == PARAMETERS and kind == of_b and kind in KINDS_OF and turn in (0, 1, 2), "getrs: dtypes or turn")
        self.require(lead >= n and lead_b >= n, "getrs: columns that overlap")

        def work(device: int) -> None:
            x, y = self.read(a, kind, n, n, lead, device), self.read(b, kind, n, count, lead_b, device)
            with opened():
                steps = self.memory(pivots, "int64", (n, 1, n, 0), 1, device)[0, :, 0].tolist()
            self.write(b, KINDS_OF[kind], substituted(x, steps, turn, y), lead_b, device)
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
        if not np.isfinite(np.triu(x) if fill == 1 else np.tril(x)).all():
            return 1
        values, vectors = np.linalg.eigh(x, "U" if fill == 1 else "L")
        self.write(a, KINDS_OF[kind], vectors if job else np.full_like(x, np.nan), lead, device)
        self.write(w, KINDS_OF[of_w], values, n, device)
        return 0

    def do_syevBatched(self, device, job, fill, n, kind, a, lead, of_w, w, compute, count) -> list[int]:
        self.require(0 < count <= MOST, "syevBatched: too many matrices")
        apart, apart_w = lead * n * np.dtype(KINDS_OF[kind]).itemsize, n * np.dtype(KINDS_OF[of_w]).itemsize
        return [
            self.do_syevd(device, job, fill, n, kind, a + k * apart, lead, of_w, w + k * apart_w, compute) for k in range(count)
        ]

    def do_geev(self, device, job_u, job, n, kind, a, lead, of_w, w, of_u, u, lead_u, of_v, v, lead_v, compute) -> int:
        self.require(job_u == 0 and of_w == of_v == kind and lead_v >= n, "geev: left vectors, or dtypes")
        values, vectors = np.linalg.eig(self.read(a, kind, n, n, lead, device))
        if REALS[kind] == kind:  # pairs: real parts in the first column, imaginary ones in the second
            first = np.flatnonzero(values.imag > 0)
            values, parts = np.concatenate([values.real, values.imag]), vectors.real.copy()
            parts[:, first + 1] = vectors.imag[:, first]
            vectors = parts
        self.write(w, KINDS_OF[kind], values, len(values), device)
        if job:
            self.write(v, KINDS_OF[kind], vectors, lead_v, device)
        return 0

    def do_gesvd(self, device, job_u, job_v, m, n, kind, a, lead, of_s, s, of_u, u, lead_u, of_v, v, lead_v, compute) -> int:
        self.require(m >= n and of_s == REALS[kind] and of_u == of_v == kind and job_u == job_v, "gesvd: a wide matrix, or dtypes")
        self.require(lead_u >= m and lead_v >= n, "gesvd: columns that overlap")
        x = self.read(a, kind, m, n, lead, device)
        if not np.isfinite(x).all():
            return 1
        left, values, right = np.linalg.svd(x, full_matrices=chr(job_u) == "A")
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

    # ---- singular values by rotations ------------------------------------------------------------------------------------------

    def rotated_bytes(self, kind, handle, job, m, n, a, lead, s, u, lead_u, v, lead_v, out, rotations, count) -> None:
        self.require(handle in self.streams and rotations == ROTATIONS, "no handle, or no parameters")
        self.require(0 < max(m, n) <= SMALL and min(lead, lead_u) >= m and lead_v >= n and count > 0, "gesvdjBatched: sizes")
        ctypes.c_int.from_address(out).value = WORK // 4

    def rotated(self, kind, handle, job, m, n, a, lead, s, u, lead_u, v, lead_v, there, size, info, rotations, count) -> None:
        self.require(0 < max(m, n) <= SMALL and min(lead, lead_u) >= m and lead_v >= n and count > 0, "gesvdjBatched: sizes")
        self.require(size >= WORK // 4 and info and rotations == ROTATIONS and s and u and v, "gesvdjBatched: what it works in")
        one = np.dtype(KINDS_OF[kind]).itemsize

        def work(device: int) -> None:
            self.write(there, KINDS_OF[kind], np.zeros(WORK // 4), WORK // 4, device)
            for k in range(count):
                x = self.read(a + k * lead * n * one, kind, m, n, lead, device)
                left, values, right = np.linalg.svd(x if np.isfinite(x).all() else np.zeros_like(x))
                self.write(s + k * len(values) * values.itemsize, KINDS_OF[REALS[kind]], values, len(values), device)
                if job:
                    self.write(u + k * lead_u * m * one, KINDS_OF[kind], left, lead_u, device)
                    self.write(v + k * lead_v * n * one, KINDS_OF[kind], right.conj().T, lead_v, device)
            self.write(info, "int32", np.full(count, self.unfinished, np.int32), count, device)

        self.queue(handle, "gesvdjBatched", work)


COUNTED = ("syevBatched",)
# Where the rows, and the dtype of a matrix, stand among the arguments of a function.
SIZES = {"potrf": (1, 2), "getrf": (0, 2), "geqrf": (0, 2), "syevd": (2, 3), "syevBatched": (2, 3), "gesvd": (2, 4), "geev": (2, 3)}
COLD: dict[str, Callable[..., None]] = {
    "cusolverGetVersion": PlayedSolver.get_version,
    "cusolverDnCreate": PlayedSolver.create,
    "cusolverDnSetStream": PlayedSolver.set_stream,
    "cusolverDnCreateParams": PlayedSolver.create_parameters,
    "cusolverDnCreateGesvdjInfo": PlayedSolver.create_rotations,
    "cusolverDnXgetrs": PlayedSolver.getrs,
}
LETTERED: dict[str, Callable[..., None]] = {
    "potrfBatched": PlayedSolver.potrf_of_many,
    "gesvdjBatched": PlayedSolver.rotated,
    "gesvdjBatched_bufferSize": PlayedSolver.rotated_bytes,
    **dict.fromkeys(("orgqr", "ungqr"), PlayedSolver.orthogonal),
    **dict.fromkeys(("orgqr_bufferSize", "ungqr_bufferSize"), PlayedSolver.orthogonal_bytes),
}


def call_of(name: str, self: PlayedSolver, *arguments: Any) -> None:
    """A function of cuSOLVER, by its name."""
    found = COLD.get(name)
    if found is not None:
        return found(self, *arguments)
    letter, short = name.removeprefix("cusolverDn")[:1], name.removeprefix("cusolverDn")[1:]
    if letter in LETTERS:
        return LETTERED[short](self, LETTERS[letter], *arguments)
    short, _, asks = short.partition("_")
    return self.answer(short, arguments) if asks else self.x(short, arguments)


def play(version: int = 12004) -> PlayedSolver:
    """Have decompositions on emulated GPUs go through played libraries from now on."""
    from .. import cusolver

    played = PlayedSolver(version)
    PLAYED["cusolver"], PLAYED["cublas"] = played.library, played.blas.library
    cusolver.solvers.cache_clear()
    cusolver.handles_of.cache_clear()
    return played
