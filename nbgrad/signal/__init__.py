"""``torch.signal``: windows under the names that torch gives them in ``signal.windows``."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
