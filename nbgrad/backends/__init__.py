"""``torch.backends``: what programs say about the libraries that compute."""

from __future__ import annotations

from . import cuda

__all__ = ["cuda"]
