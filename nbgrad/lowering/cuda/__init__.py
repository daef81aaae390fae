"""From general operations on tensors of a GPU to its kernels: a module for each of the CPU's."""

from __future__ import annotations

from . import copy as _copy, reduce as _reduce

__all__: list[str] = []
_modules = (_copy, _reduce)
