"""``torch.nn.parameter``: tensors that modules take for their own."""

from __future__ import annotations

from .. import Parameter
from .buffers import Buffer, UninitializedBuffer
from .lazy import UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
