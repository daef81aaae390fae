"""Sparse tensors as text, in torch's form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import Tensor
from ..graph.rule import name_of
from ..methods.printing import body_of, get_printoptions, implied

if TYPE_CHECKING:
    from .tensors import SparseTensor

__all__ = ["text_of_sparse"]

START = "tensor("


def part_of_text(name: str, x: Tensor) -> str:
    """Places or values, with their name."""
    start = f"{name}=tensor("
    size = "" if x.numel() else f", size={tuple(x.shape)}"
    return f"{start}{body_of(x.detach(), len(START) + len(start))}{size})"


def text_of_sparse(x: SparseTensor) -> str:
    """Places and values, and what these do not say."""
    indent, width = ",\n" + " " * len(START), get_printoptions()["linewidth"]
    parts = [*zip(x._format_.names, x._places_), ("values", x._given_)]
    text = START + indent.join(part_of_text(name, part) for name, part in parts)
    said = [f"device='{x.device}'"] if x.device.type != "cpu" else []
    said += [f"size={tuple(x.shape)}", f"nnz={x._nnz()}"]
    if not implied(x.dtype, 1):
        said.append(f"dtype={x.dtype}")
    said.append(f"layout={x._format_!r}")
    if x.requires_grad:
        node = x._given_.grad_fn
        said.append("requires_grad=True" if node is None else f"grad_fn=<{name_of(node)}>")
    for position, part in enumerate(said):
        length = len(text) - text.rfind("\n") + 1
        breaks = x.is_sparse and not position or length + len(part) + 2 > width
        text += (indent if breaks else ", ") + part
    return text + ")"
