"""What the declarations of matrix operations share: parts of flat results, conjugate transposes, diagonals, triangles."""

from __future__ import annotations

import math

from ..expr import scalar

INTERNAL = {"method": False, "function": False, "out": False}


def parts_of(flat, *shapes) -> list:
    """The parts that lie in a row along the last dimension, each of its own shape."""
    parts, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        parts.append(flat.slice(-1, start, start + size, 1).reshape((*flat.shape[:-1], *shape)))
        start += size
    return parts


def eigh_parts(flat, n: int) -> list:
    """Eigenvectors (n, n) and eigenvalues (n,)."""
    return parts_of(flat, (n, n), (n,))


def svd_parts(flat, m: int, n: int, full: bool) -> list:
    """Left singular vectors, singular values, right ones in rows."""
    k = min(m, n)
    return parts_of(flat, (m, m if full else k), (k,), (n if full else k, n))


def qr_parts(flat, m: int, n: int) -> list:
    """Q (m, n) and R (n, n)."""
    return parts_of(flat, (m, n), (n, n))


def lu_parts(flat, m: int, n: int) -> list:
    """L and U in one matrix (m, n), the row that each step exchanged with its own, and the first without a pivot, from 1 on."""
    return parts_of(flat, (m, n), (min(m, n),), (1,))


def h(x):
    """The conjugate transpose."""
    return x.adjoint().resolve_conj()


def on_diagonal(x):
    """Vectors as the diagonals of matrices."""
    return scalar.diagonal_backward(x, (*x.shape, x.shape[-1]), 0, -2, -1)


def real_part(x):
    """The real part, in the dtype of ``x``."""
    return x.real.to_dtype(x.dtype) if x.dtype.is_complex else x


def in_kind(g, dtype):
    """``g`` as a cotangent of a tensor of that dtype: of a real one its real part."""
    return g.real if g.dtype.is_complex and not dtype.is_complex else g


def without_diagonal(x):
    """The matrix with zeros on its diagonal."""
    return x.tril(-1) + x.triu(1)


def triangle(x, upper: bool, unit: bool):
    """The part of a matrix that a triangular solve reads."""
    return x.triu(int(unit)) if upper else x.tril(-int(unit))
