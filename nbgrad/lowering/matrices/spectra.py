"""Eigenvalues and singular values by NumPy's arrays, and those of a decomposition that is known."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ...base.calls import CALLS
from ...dispatch.lowerings import lowering, prepared
from .parts import packed


def eigh_array(x: np.ndarray, upper: bool) -> np.ndarray:
    """Eigenvectors and eigenvalues."""
    w, v = np.linalg.eigh(x, "U" if upper else "L")
    return packed(v, w.astype(v.dtype))


def eig_array(x: np.ndarray) -> np.ndarray:
    """Complex eigenvectors and eigenvalues."""
    w, v = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return packed(v.astype(kind), w.astype(kind))


def svd_array(x: np.ndarray, full: bool) -> np.ndarray:
    """Singular vectors and values."""
    u, s, v = np.linalg.svd(x, full_matrices=full)
    return packed(u, s.astype(u.dtype), v)


def values_in(name: str, shape: tuple) -> slice:
    """Where the values are in a decomposition with all parts in a row."""
    m, n = shape[-2:]
    k = min(m, n)
    start = m * k if name == "known_singular_values" else n * n
    return slice(start, start + k)


def known_values(name: str, layout) -> Callable:
    """``take(known)``: the values of a decomposition, in memory of their own; without an imaginary part where that is 0."""
    part = values_in(name, layout.shape)
    cut, copy = CALLS["slice"], CALLS["contiguous_copy"]
    if layout.dtype.is_complex and name != "known_eigenvalues":
        return lambda known: copy(cut(known, -1, part.start, part.stop, 1).real)
    return lambda known: copy(cut(known, -1, part.start, part.stop, 1))


@lowering("known_hermitian_eigenvalues", "known_eigenvalues", "known_singular_values", style="run", device=None)
def _known_values(op, tensors, attributes):
    return known_values(op.name, tensors[0].layout)(attributes["known"])


@prepared("known_hermitian_eigenvalues", "known_eigenvalues", "known_singular_values", tensors=("known",))
def _quick_known_values(op, layouts, attributes):
    take = known_values(op.name, layouts[0])
    return lambda x, known, *rest: take(known)
