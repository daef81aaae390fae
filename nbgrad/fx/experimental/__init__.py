"""torch.fx.experimental: what is built on graphs, or named in passing."""

from __future__ import annotations

from . import proxy_tensor, symbolic_shapes

__all__ = ["proxy_tensor", "symbolic_shapes"]
