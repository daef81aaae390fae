"""In-place forms of views: the layout changes, not the elements."""

from __future__ import annotations

import inspect
from typing import Callable

from ..base.calls import CALLS
from ..base.function_attributes import attach
from ..base.grad_mode import mode, traces
from ..graph.edges import edge_of, note_retained, requires_grad
from ..graph.writes import count_write
from ..modes.traced import note_moved
from ..ops.core import OPS
from ..tensors.tensor import ASK, Tensor, put_layout
from ..views import check_history

__all__ = ["inplace_view", "inplace_views"]


def inplace_views() -> list[str]:
    """The views whose in-place form gives the tensor itself the new layout."""
    return [name for op in OPS.values() if op.inplace == "view" for name in (op.name, *op.aliases)]


def inplace_view(name: str) -> Callable:
    """The method ``name_``: the tensor takes the layout of the view, and its history. No element moves."""

    def call(x, *args, **kwargs):
        if traces:
            note_moved(x, name + "_")
        x._storage_.require_writable(name + "_")
        if mode.enabled and requires_grad(x):  # no element moves, so several positions may share one
            check_history(name + "_", x)
        view = getattr(x, name)(*args, **kwargs)
        if not mode.enabled and x._edge_ is not None and view.layout.shape != x.layout.shape:
            # Recorded all the same: a history of the old shape would take gradients of the new one for its own.
            mode.enabled = True
            try:
                view = getattr(x, name)(*args, **kwargs)
            finally:
                mode.enabled = False
        own, meta = x._meta_, view._meta_
        before = None if own is None or not own.retains else x._edge_ if own.base is None else own.node
        put_layout(x, view.layout)
        x._offset_ = view._offset_
        count_write(x._storage_)
        if own is not None and own.base is not None and x._needs_grad_ is ASK:
            own.chain = meta.chain
            if mode.enabled:  # elsewhere the version stays behind, and the node is made when it is asked for
                own.node, own.version = meta.node, x._storage_.version
        elif meta is not None and meta.node is not None:
            x._edge_, x._needs_grad_ = meta.node, True
        if before is not None and (edge := edge_of(x)) is not before:
            note_retained(x, edge, before)  # of the shape that it has now
        if own is not None and own.tangent:
            for tangent in own.tangent.values():  # its layout follows
                getattr(tangent, name + "_")(*args, **kwargs)  # of a batched tangent its own
        return x

    call.__name__ = call.__qualname__ = name + "_"
    attach(call, __signature__=inspect.signature(getattr(Tensor, name)))
    call.__doc__ = f"In place: {name}. The elements stay where they are; shape and strides change."
    CALLS[name + "_"] = call
    return call
