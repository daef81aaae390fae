"""Samples of every operation: one row each. The checks in ``tests/ops`` run over the whole table.

A new operation gets one row here (docs/adding-an-op.md); without it the suite fails.
"""

from __future__ import annotations

# One line a module; order does not matter.
from . import (
    activations,  # noqa: F401
    attention,  # noqa: F401
    complex,  # noqa: F401
    convolution,  # noqa: F401
    decompositions,  # noqa: F401
    elementwise,  # noqa: F401
    fft,  # noqa: F401
    indexing,  # noqa: F401
    linalg,  # noqa: F401
    losses,  # noqa: F401
    movement,  # noqa: F401
    paths,  # noqa: F401
    pooling,  # noqa: F401
    recurrent,  # noqa: F401
    reduce,  # noqa: F401
    sampling,  # noqa: F401
    sparse,  # noqa: F401
    special,  # noqa: F401
    standardise,  # noqa: F401
    statistics,  # noqa: F401
    variants,  # noqa: F401
)
from .row import SAMPLES, Case, Row

__all__ = ["SAMPLES", "Case", "Row"]
