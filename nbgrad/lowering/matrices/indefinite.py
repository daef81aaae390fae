"""L D L^T of indefinite matrices by LAPACK's ``?sytrf``, ``?hetrf`` and their solvers, matrix by matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import int32
from ...base.errors import DTypeError, NotSupportedError, ShapeError
from ...dispatch.lowerings import lowering, result_of
from ...kernels.cpu.blas import is_wide, lapack
from ...tensors.arrays import tensor_of, values_of
from ...tensors.layout import Layout
from .requirements import require_matrices

__all__: list[str] = []

LOWER = np.frombuffer(b"L", np.uint8)  # the triangle that is read, and written


def routine(work: str, x: np.ndarray, hermitian: bool, count: int) -> Callable:
    """A function of LAPACK for matrices of a dtype, of addresses.

    Raises:
        NotSupportedError: there is no LAPACK.
    """
    found = lapack(("he" if hermitian and x.dtype.kind == "c" else "sy") + work, x.dtype.name, count)
    if found is None:
        raise NotSupportedError(
            f"linalg.ldl_{'factor' if work == 'trf' else 'solve'}: the libraries of NumPy and SciPy lack LAPACK."
        )
    return found


def integers(count: int) -> np.ndarray:
    """As many as the library writes."""
    return np.zeros(count, np.int64 if is_wide() else np.int32)


def factored(x: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """What one matrix becomes."""
    n = len(x)
    columns, pivots, found = np.array(np.tril(x).T, order="C"), integers(n), integers(1)
    work, sizes = np.empty(max(64 * n, 1), x.dtype), np.array([n, max(n, 1), max(64 * n, 1)])
    word = sizes.ctypes.data  # of 64 bits: in a narrow library the low halves are read
    where = (LOWER.ctypes.data, word, columns.ctypes.data, word + 8, pivots.ctypes.data, work.ctypes.data, word + 16)
    routine("trf", x, hermitian, 8)(*where, found.ctypes.data)
    return np.tril(columns.T), pivots, int(found[0])


def solved(x: np.ndarray, pivots: np.ndarray, y: np.ndarray, hermitian: bool) -> np.ndarray:
    """The solution of one system."""
    n, count = y.shape
    columns, right, found = np.array(x.T, order="C"), np.array(y.T, order="C"), integers(1)
    steps, sizes = pivots.astype(found.dtype), np.array([n, count, max(n, 1)])
    word = sizes.ctypes.data
    where = (LOWER.ctypes.data, word, word + 8, columns.ctypes.data, word + 16, steps.ctypes.data, right.ctypes.data, word + 16)
    routine("trs", x, hermitian, 9)(*where, found.ctypes.data)
    return right.T


@lowering("ldl", style="run")
@lowering("ldl", style="run", device="cuda")
def _ldl(op, tensors, attributes):
    (x,) = tensors
    layout = x.layout
    require_matrices(op.public, layout, True)
    batch, n = layout.shape[:-2], layout.shape[-1]
    if x.is_meta:
        return tuple(
            [CALLS["new_full"](each, 0) for each in (layout.like(), layout.like(int32, (*batch, n)), layout.like(int32, batch))]
        )
    values = values_of(x)
    out, pivots, info = np.zeros(layout.shape, values.dtype), np.zeros((*batch, n), np.int32), np.zeros(batch, np.int32)
    for place in np.ndindex(*batch) if n else ():
        out[place], pivots[place], info[place] = factored(values[place], attributes["hermitian"])
    return tensor_of(out, x), tensor_of(pivots, x), tensor_of(info, x)


@result_of("ldl_solution")
def solution_layout(op, layouts, attributes) -> Layout:
    """The layout of the result.

    Raises:
        ShapeError, DTypeError: operands that do not go together.
    """
    x, pivots, y = layouts
    require_matrices(op.public, x, True)
    if pivots.dtype is not int32:
        raise DTypeError(f"{op.public}: pivots are {pivots.dtype}, expected int32, as ldl_factor gives them.")
    batch, n = x.shape[:-2], x.shape[-1]
    if x.dtype is not y.dtype or pivots.shape != (*batch, n) or y.ndim != x.ndim or y.shape[:-1] != (*batch, n):
        given = f"LD is {x.dtype}{list(x.shape)}, pivots {list(pivots.shape)}, B {y.dtype}{list(y.shape)}"
        raise ShapeError(f"{op.public}: {given}, expected (*, n, n), (*, n) and (*, n, k) of one dtype.")
    return y.like()


@lowering("ldl_solution", style="run")
def _ldl_solution(op, tensors, attributes):
    solution_layout(op, tuple([x.layout for x in tensors]), attributes)
    factors, steps, right = map(values_of, tensors)
    require_steps(op.public, steps, factors.shape[-1])
    out = np.zeros(right.shape, right.dtype)
    for place in np.ndindex(factors.shape[:-2]) if out.size else ():
        out[place] = solved(factors[place], steps[place], right[place], attributes["hermitian"])
    return tensor_of(out, tensors[2])


def require_steps(name: str, steps: np.ndarray, n: int) -> None:
    """Refuse rows that there are not, which LAPACK would read.

    Raises:
        ShapeError: a pivot is out of range, or is below 0 and has no neighbour that is.
    """
    inside = (np.abs(steps) >= 1) & (np.abs(steps) <= n)
    if steps.size and not (inside.all() and all(map(in_pairs, steps.reshape(-1, n)))):
        raise ShapeError(f"{name}: pivots are {steps.tolist()}, expected rows from 1 to {n}, or two by two minus those.")


def in_pairs(steps: np.ndarray) -> bool:
    """Whether all that is below 0 comes in twos, each of which is a block of two rows."""
    runs = "".join("-" if step < 0 else " " for step in steps).split()
    return all(len(run) % 2 == 0 for run in runs)
