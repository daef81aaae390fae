"""What may be decomposed: matrices, square ones, finite ones."""

from __future__ import annotations

import numpy as np

from ...base.bounded import keep
from ...base.errors import DTypeError, LinAlgError, ShapeError
from ...tensors.layout import Layout

PASSED: dict[tuple, bool] = {}  # what require_matrices has found to be right


def require_matrices(name: str, layout: Layout, square: bool) -> None:
    """Refuse what has no such decomposition.

    Raises:
        ShapeError: no matrices, or none that are square. DTypeError: another dtype than single or double precision.
    """
    if (layout, square) in PASSED:
        return
    if layout.ndim < 2:
        raise ShapeError(f"{name}: expected a matrix or a batch of them, got {layout.ndim} dimensions.")
    if square and layout.shape[-1] != layout.shape[-2]:
        raise ShapeError(f"{name}: expected square matrices, got {layout.shape[-2]} by {layout.shape[-1]}.")
    if layout.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise DTypeError(
            f"{name}: expected a floating or complex tensor of single or double precision, got {layout.dtype.name}. "
            "Hint: x.to(nbgrad.float32)."
        )
    keep(PASSED, (layout, square), True)


def require_finite(name: str, x: np.ndarray, upper: bool | None) -> None:
    """Refuse infinities and NaN where LAPACK iterates; of Hermitian matrices in the triangle that it looks at.

    Raises:
        LinAlgError: there is one.
    """
    seen = x if upper is None else np.triu(x) if upper else np.tril(x)
    finite = np.isfinite(seen).all((-2, -1))
    if not finite.all():
        raise not_finite(name, finite)


def not_finite(name: str, finite: np.ndarray) -> LinAlgError:
    """The error of a batch in which some matrices are not finite."""
    place = np.argwhere(~finite)[0].tolist()
    return LinAlgError(
        f"{name}: {f'matrix {place}' if place else 'the matrix'} has infinite elements or NaN, and no such "
        "decomposition. Hint: x.isfinite() shows where."
    )
