"""Shapes of nodes in verbose texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbgrad

if TYPE_CHECKING:
    from .node import Node

__all__ = ["shape_text"]

LETTERS = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def shape_text(node: Node, include_stride: bool = False, include_device: bool = False, **others: Any) -> str:
    """dtype and shape of a node's value, ``f32[2, 3]``; empty where ``meta`` has neither ``val`` nor ``tensor_meta``."""
    known: Any = node.meta.get("val", node.meta.get("tensor_meta"))
    if not hasattr(known, "shape") or not hasattr(known, "dtype"):
        return ""
    text = f"{dtype_text(known.dtype)}{list(known.shape)}"
    if include_stride:
        stride = known.stride() if isinstance(known, nbgrad.Tensor) else known.stride
        text += str(list(stride))
    return f"{text}{known.device}" if include_device and isinstance(known, nbgrad.Tensor) else text


def dtype_text(dtype: Any) -> str:
    """``f32`` for float32, ``b8`` for bool.

    >>> import nbgrad
    >>> dtype_text(nbgrad.bfloat16)
    'bf16'
    """
    name = str(dtype).rpartition(".")[2]
    kind = name.rstrip("0123456789")
    return "b8" if name == "bool" else LETTERS.get(kind, kind) + name[len(kind) :]
