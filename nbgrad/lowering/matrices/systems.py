"""Systems, inverses, Cholesky factors, and cotangents of LU factors, by NumPy's arrays and BLAS."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Callable

import numpy as np

from ...kernels.cpu.blas import eliminated, triangular_solver
from .elimination import elimination, exchanges, order_of


def cholesky_array(x: np.ndarray, strict: bool) -> np.ndarray:
    """The lower factors; unless strict, NaN in the place of those that do not exist.

    Raises:
        LinAlgError: one does not exist, if strict.
    """
    out = factor_of(x)
    if out is not None:
        return out
    info = info_array(x)
    if strict:
        raise np.linalg.LinAlgError(no_factor(info))
    out = np.full_like(x, np.nan)
    for place in map(tuple, np.argwhere(info == 0)):
        out[place] = np.linalg.cholesky(x[place])
    return out


NUMPYS_SINGULAR = "Singular matrix"


def no_factor(info: np.ndarray) -> str:
    """What is said of the first matrix that is not positive definite, in torch's words for it, which programs look for."""
    place = tuple(np.argwhere(info)[0].tolist())
    which = f" of matrix {list(place)}" if place else ""
    return f"the input is not positive-definite: the leading part of order {info[place]}{which} is not"


def factor_of(x: np.ndarray) -> np.ndarray | None:
    """The lower factors, None if one does not exist; one that has a NaN does not, whatever LAPACK says."""
    try:
        out = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return None
    return None if np.isnan(out).any() else out


def info_array(x: np.ndarray, found: np.ndarray | None = None) -> np.ndarray:
    """For every matrix the order of the first leading part that is not positive definite."""
    info = np.zeros(x.shape[:-2], np.int32)
    if not is_found(found) and factor_of(x) is None:
        for place in np.ndindex(info.shape):
            info[place] = next((k for k in range(1, x.shape[-1] + 1) if factor_of(x[place][:k, :k]) is None), 0)
    return info


# Matrices of a batch that are solved one by one; of more that are small, NumPy's loop over the batch is quicker.
MOST_ALONE, LARGE_ENOUGH = 64, 16


def triangular_array(x: np.ndarray, y: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """Solve a triangular system: by BLAS; of one with a zero on the diagonal by substitution, which gives infinities."""
    solve = triangular_solver(x.dtype.name)
    count = math.prod(x.shape[:-2])
    if solve is not None and y.size and (count <= MOST_ALONE or x.shape[-1] >= LARGE_ENOUGH):
        x, out = np.ascontiguousarray(x), np.array(y, x.dtype, order="C")
        if x.ndim == 2:
            solve(x, out, upper, unit)
        else:
            for place in np.ndindex(x.shape[:-2]):
                solve(x[place], out[place], upper, unit)
        return out
    x = np.triu(x) if upper else np.tril(x)
    places = np.arange(x.shape[-1])
    if unit:
        x[..., places, places] = 1
    if (x[..., places, places] != 0).all():
        return np.linalg.solve(x, y)
    out = y.astype(np.result_type(x, y))
    with np.errstate(all="ignore"):
        for k in reversed(places) if upper else places:
            out[..., k, :] /= x[..., k, k, None]
            rest = slice(0, k) if upper else slice(k + 1, None)
            out[..., rest, :] -= x[..., rest, k, None] * out[..., k, None, :]
    return out


def factored_array(x: np.ndarray, y: np.ndarray, upper: bool) -> np.ndarray:
    """Solve a system of x @ x^H, or of x^H @ x of an upper triangle."""
    turned = np.swapaxes(x, -1, -2).conj()
    low, up = (turned, x) if upper else (x, turned)
    return triangular_array(up, triangular_array(low, y, False, False), True, False)


def pulled_array(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``pull_to_matrix``."""
    turned = np.swapaxes(x, -1, -2).conj()
    low = np.tril(g, -1)
    inner = np.tril(np.triu(turned, 1) @ low + low, -1) + np.triu(np.triu(g) @ np.tril(turned))
    left = triangular_array(turned, inner, True, True)
    right = triangular_array(x, np.swapaxes(left, -1, -2).conj(), True, False)
    return np.swapaxes(right, -1, -2).conj()


def shared_array(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``share_of_factors``."""
    turned = np.swapaxes(x, -1, -2).conj()
    return np.triu(np.triu(turned, 1) @ m) + np.tril(m @ np.tril(turned), -1)


def is_found(found: np.ndarray | None) -> bool:
    """Whether a factor, an inverse or a solution is known, and is one: no matrix of the batch had none."""
    return found is not None and bool(np.isfinite(found).all())


def of_regular(solve: Callable, strict: bool, x: np.ndarray, *right: np.ndarray) -> np.ndarray:
    """``solve(x, *right)`` of a batch; if not strict, NaN in the place of what singular matrices lack."""
    try:
        return np.asarray(solve(x, *right))
    except np.linalg.LinAlgError:
        if strict:
            raise
    out = np.full((right or (x,))[0].shape, np.nan, x.dtype)
    for place in np.ndindex(x.shape[:-2]):
        with suppress(np.linalg.LinAlgError):
            out[place] = solve(x[place], *(y[place] for y in right))
    return out


def solved_array(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve a system; of larger matrices by elimination and two triangular systems, which BLAS solves faster than gesv does.

    Raises:
        LinAlgError: a matrix is singular.
    """
    solve = triangular_solver(x.dtype.name)
    if solve is None or x.shape[-1] < LARGE_ENOUGH or not y.size:
        return np.linalg.solve(x, y)
    out = np.empty(y.shape, x.dtype)
    for place in np.ndindex(x.shape[:-2]):
        found = eliminated(x[place])
        if found is None:
            return np.linalg.solve(x, y)
        factors, exchanged = np.ascontiguousarray(found[0]), found[1]
        if not factors.diagonal().all():
            raise np.linalg.LinAlgError(NUMPYS_SINGULAR)
        part = out[place]
        part[...] = y[place][order_of(exchanged, len(exchanged))]
        solve(factors, part, False, True)
        solve(factors, part, True, False)
    return out


def inverse_array(x: np.ndarray) -> np.ndarray:
    """The inverse.

    Raises:
        LinAlgError: a matrix is singular.
    """
    if x.shape[-1] < LARGE_ENOUGH:
        return np.linalg.inv(x)
    return solved_array(x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))


def singular_array(x: np.ndarray, found: np.ndarray) -> np.ndarray:
    """For every matrix the order of the first leading part without a pivot; 0 if it has an inverse."""
    info = np.zeros(x.shape[:-2], np.int32)
    if is_found(found):
        return info
    for place in map(tuple, np.argwhere(np.linalg.slogdet(x)[0] == 0)):
        order = order_of(exchanges(x[place]), x.shape[-1])
        zero = np.diagonal(elimination(x[place][order])) == 0
        info[place] = zero.argmax() + 1 if zero.any() else len(zero)
    return info
