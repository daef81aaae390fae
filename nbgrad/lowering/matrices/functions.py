"""Functions of matrices by NumPy's arrays: cofactors, what they change by, exponentials, pseudo-inverses."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from .routines import WELL_CONDITIONED
from .systems import inverse_array


def sign_array(x: np.ndarray) -> np.ndarray:
    """The determinant's sign, and the logarithm of its magnitude."""
    sign, size = np.linalg.slogdet(x)
    return np.stack([np.asarray(sign, x.dtype), np.asarray(size, x.dtype)], -1)


def products_of_others(s: np.ndarray) -> np.ndarray:
    """For every number of a row the product of the others: no division, so that zeros do no harm."""
    before, behind = np.ones_like(s), np.ones_like(s)
    np.cumprod(s[..., :-1], -1, out=before[..., 1:])
    behind[..., :-1] = np.cumprod(s[..., :0:-1], -1)[..., ::-1]
    return before * behind


def turned_svd(x: np.ndarray) -> tuple:
    """U, s and V of an SVD and conj(det(U V)); NaN for matrices that are not finite, with which LAPACK might never end."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(finite, x, 0))
    phase = np.conj(np.linalg.det(u) * np.linalg.det(v))[..., None, None]
    return u, np.where(finite[..., 0], s, np.nan), v, phase


def cofactors_array(x: np.ndarray) -> np.ndarray:
    """conj(det(U V)) U diag(products of the other singular values) V: no division, so that singular matrices have them too."""
    by_inverse = regular_cofactors(x)
    if by_inverse is not None:
        return by_inverse
    u, s, v, phase = turned_svd(x)
    return (phase * ((u * products_of_others(s)[..., None, :].astype(u.dtype)) @ v)).astype(x.dtype)


def regular_cofactors(x: np.ndarray) -> np.ndarray | None:
    """The conjugated cofactors, conj(det(x) x^-1) transposed; None unless all matrices are well conditioned."""
    try:
        inverse = inverse_array(x)
    except np.linalg.LinAlgError:
        return None
    condition = np.abs(x).sum(-2).max(-1, initial=0) * np.abs(inverse).sum(-2).max(-1, initial=0)
    size = np.linalg.det(x.astype(np.result_type(x, np.float64)))  # whose range is that of products of many numbers
    if not (condition < WELL_CONDITIONED[x.dtype.name]).all() or not np.isfinite(size).all() or not size.all():
        return None
    return np.swapaxes(np.asarray(size)[..., None, None] * inverse, -1, -2).conj().astype(x.dtype)


def slope_array(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """conj(det(U V)) U conj(K) V: K is what the cofactors of diag(s) change by in the direction of Y = U^H y V^H.

    On the diagonal that is the sum over j of p_ij Y_jj, elsewhere -p_ij Y_ji; p_ij is the product of all singular values but the
    i-th and the j-th.
    """
    u, s, v, phase = turned_svd(x)
    n = s.shape[-1]
    pairs = np.zeros((*s.shape, n), s.dtype)
    for k in range(n):
        rest = s.copy()
        rest[..., k] = 1
        pairs[..., k, :] = products_of_others(rest)
        pairs[..., k, k] = 0
    inner = np.swapaxes(u, -1, -2).conj() @ y @ np.swapaxes(v, -1, -2).conj()
    places = np.arange(n)
    change = -pairs * np.swapaxes(inner, -1, -2)
    change[..., places, places] = (pairs @ inner[..., places, places, None])[..., 0]
    return (phase * (u @ change.conj() @ v)).astype(x.dtype)


# Of the diagonal Pade approximant of degree 13 (N. J. Higham, 2005), and the norm up to which it has all digits.
PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
PADE_RANGE = 5.37


def exponential_array(x: np.ndarray) -> np.ndarray:
    """Of a batch, in double precision."""
    kind = x.dtype
    x = x.astype(np.result_type(kind, np.float64))
    size = float(np.abs(x).sum(-2).max(initial=0.0))
    return exponential_of(x, np.broadcast_to(np.eye(x.shape[-1]), x.shape), size, np.linalg.solve).astype(kind)


def exponential_of(x: Any, one: Any, size: float, solve: Callable) -> Any:
    """Scaling and squaring; the whole batch in as many steps as its largest matrix needs.

    Args:
        x: arrays or tensors; ``one``: unit matrices; ``solve``: of a system.
        size: the greatest norm.
    """
    squarings = max(0, math.ceil(math.log2(size / PADE_RANGE))) if size > 0 and math.isfinite(size) else 0
    x = x / 2.0**squarings
    power, even, odd = one, 0 * x, 0 * x
    square = x @ x
    for k in range(0, 14, 2):
        even, odd = even + PADE[k] * power, odd + PADE[k + 1] * power
        power = power @ square
    odd = x @ odd
    out = solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out


def pseudo_array(x: np.ndarray, rtol: Any, atol: Any, hermitian: bool) -> np.ndarray:
    """By singular values; those that are not greater than both tolerances allow count as 0."""
    u, s, v = np.linalg.svd(x, full_matrices=False, hermitian=hermitian)
    least = np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * s.max(-1, keepdims=True, initial=0.0))
    inverse = np.divide(1, s, where=s > least, out=np.zeros_like(s))
    return (np.swapaxes(v, -1, -2).conj() * inverse[..., None, :].astype(u.dtype)) @ np.swapaxes(u, -1, -2).conj()
