"""Samples of every operation: one row each. The checks in ``tests/ops`` run over the whole table.

A new operation gets one row here (docs/adding-an-op.md); without it the suite fails.
"""
from __future__ import annotations

# One line a module; order does not matter.
from . import elementwise  # noqa: F401
from . import indexing  # noqa: F401
from . import linalg  # noqa: F401
from . import losses  # noqa: F401
from . import movement  # noqa: F401
from . import reduce  # noqa: F401
from . import variants  # noqa: F401
from .row import SAMPLES, Case, Row

__all__ = ["SAMPLES", "Case", "Row"]
