"""``nbgrad.types``, as ``torch.types``: what annotations of programs name."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any

import nbgrad

from ..tensors.untyped import UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]

Tensor, Size = nbgrad.Tensor, nbgrad.Size
Storage = UntypedStorage
Number = builtins.int | builtins.float | builtins.bool
Device = nbgrad.device | str | builtins.int | None
FileLike = str | os.PathLike | IO[bytes]

# torch's own names for what it takes.
_dtype, _device, _layout = nbgrad.dtype, nbgrad.device, type(nbgrad.strided)
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_size = nbgrad.Size | list[builtins.int] | tuple[builtins.int, ...]
_TensorOrTensors = nbgrad.Tensor | Sequence[nbgrad.Tensor]
_symint: Any = builtins.int
