"""Tensors that hide dimensions of a batch: what ``vmap`` maps a function over. What operations mean on them: batch/."""

from __future__ import annotations

from typing import Any

from ..base.bounded import keep
from ..graph.edges import edge_of, requires_grad
from ..tensors.batch_levels import BATCHED, BatchingError, Level
from ..tensors.layout import Layout, layout_of, marked_layout
from ..tensors.tensor import ASK, Tensor, native

__all__ = ["Batched", "element_layout", "shown_layout", "wrap_batched"]


class Batched(Tensor):
    """A tensor that hides its batch dimensions: see NOTE [Batched].

    Attributes:
        _value_: the tensor that holds the batch.
        _levels_: of its leading dimensions, outermost first.
    """

    __slots__ = ()
    _mark_ = None
    _value_: Tensor
    _levels_: tuple[Level, ...]

    # What the graph asks of a tensor, answered by the value; a view's ASK is settled at once, and with it where its cotangent goes.
    _needs_grad_ = property(lambda x: requires_grad(x._value_))
    _edge_ = property(lambda x: edge_of(x._value_) if x._value_._needs_grad_ is ASK else x._value_._edge_)
    _meta_ = property(lambda x: x._value_._meta_)

    def __repr__(self) -> str:
        dims = ", ".join(str(level.number) for level in self._levels_)
        return f"Batched(shape={list(self.shape)}, levels=({dims}), value=\n    {str(self._value_)}\n)"

    __str__ = __format__ = lambda self, *spec: repr(self)  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise BatchingError(
            "bool: the truth value differs from element to element of the batch, and a program takes one way. "
            "Hint: choose with nbgrad.where."
        )

    def __reduce_ex__(self, *protocol: Any) -> Any:
        raise BatchingError("a batched tensor can be neither pickled nor copied by module copy. Hint: clone it.")

    __copy__ = __deepcopy__ = __reduce_ex__


def wrap_batched(value: Tensor, levels: tuple[Level, ...]) -> Batched:
    """The tensor that shows the dimensions of ``value`` behind those of ``levels``."""
    layout = shown_layout(value.layout, len(levels))
    x: Any = native.tensor(layout.template, value._storage_, value._offset_, False, None)
    x.__class__ = Batched
    x._value_, x._levels_ = value, levels
    return x


_shown: dict[tuple[Layout, int], Layout] = {}


def shown_layout(layout: Layout, depth: int) -> Layout:
    """The layout without its first dimensions, marked."""
    found = _shown.get((layout, depth))
    if found is None:
        found = keep(_shown, (layout, depth), marked_layout(element_layout(layout, depth), BATCHED))
    return found


def element_layout(layout: Layout, depth: int) -> Layout:
    """The layout without its first dimensions."""
    return layout_of(layout.dtype, layout.shape[depth:], layout.strides[depth:], layout.device, layout.conj, layout.neg)
