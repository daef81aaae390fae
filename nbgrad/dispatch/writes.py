"""Writes to tensors that exist: one order of steps, whoever writes.

NOTE [In-place order]: check; take the old edges; keep a copy of the old value if the rule needs it; record; write (the launch
moves the version first); then give the tensor its new history. Operands are saved at their version *before* the write, so an
operand that shares the memory is found stale in backward; the result is saved at its version after it.

``write`` is those steps. In-place forms of elementwise operations (inplace.py), writes where an index leads
(composites/index_writes.py) and results that are written over an operand (composites/overwriting.py) say how to record and how to
write; what is written under ``out=`` (out.py) and by an optimizer's step (updates.py) is not recorded.
"""

from __future__ import annotations

from typing import Callable

from ..base.calls import CALLS
from ..base.dtypes import DType, can_cast
from ..base.errors import DTypeError, ShapeError
from ..base.grad_mode import mode, special
from ..graph.edges import edge_of, requires_grad
from ..graph.writes import count_write
from ..modes.interpreters import is_marked
from ..tensors.layout import Layout
from ..tensors.tensor import ASK, Tensor, native
from ..views import check_inplace, rebase

__all__ = ["overwrite", "require_fit", "write"]


def write(
    name: str,
    x: Tensor,
    recorded: bool,
    record: Callable[[Tensor, Tensor], tuple[int, ...]],
    launch: Callable[[], object],
    keeps: bool = False,
) -> Tensor:
    """Write to ``x``, which is returned: NOTE [In-place order].

    Args:
        name: of the form, for errors.
        recorded: recording is on, and ``x`` or what is written needs a gradient.
        record: ``record(before, out)``: gives ``out``, the tensor without a history, that of the write, whose first edge is that of
            ``before``; the slots of its node that hold the result are returned. ``out`` may be left without.
        launch: writes the elements; nothing of it is recorded.
        keeps: whether the rule saves the old value: ``before`` is then a copy, else the tensor itself.

    Raises:
        InplaceError: see ``check_inplace``.
    """
    check_inplace(name, x, recorded)
    if not recorded:
        change(x, launch)
        return x
    base = x._meta_.base if x._needs_grad_ is ASK else None
    old_edge = edge_of(base) if base is not None and base._needs_grad_ else None
    own = requires_grad(x)
    before, out = native.alias(x), native.alias(x)
    if keeps:
        before = CALLS["clone"](before)  # an alias without history: nothing is recorded
    if own:
        before._edge_, before._needs_grad_ = edge_of(x), True
    slots = record(before, out)
    change_unrecorded(x, launch)
    node = out._edge_
    if node is not None:
        for k in slots:
            setattr(node, f"_v{k}_", x._storage_.version)
        rebase(x, node, 0 if own else None, old_edge)
    return x


def change(x: Tensor, launch: Callable[[], object]) -> None:
    """Write the elements, and count it."""
    storage = x._storage_
    version = storage.version
    launch()
    if storage.version is version:  # of no element
        count_write(storage)


def change_unrecorded(x: Tensor, launch: Callable[[], object]) -> None:
    """The same while this thread records."""
    mode.enabled = False
    try:
        change(x, launch)
    finally:
        mode.enabled = True


def overwrite(name: str, x: Tensor, recorded: bool, result: Tensor) -> Tensor:
    """Write a result of the old value, or of its copy, over ``x``, which is returned.

    Raises:
        ShapeError, DTypeError: it does not fit.
    """
    require_fit(name, x.layout, result.layout.shape, result.layout.dtype)
    own = x._meta_ is None and result._needs_grad_ is True and result.layout is x.layout  # no view on either side
    if not (recorded and own) or special or is_marked((x, result)):
        return CALLS["copy_"](x, result)
    change_unrecorded(x, lambda: CALLS["copy_"](x, result))
    rebase(x, result._edge_, None, None)  # it has been recorded: its last node is that of the write
    return x


def require_fit(name: str, own: Layout, shape: tuple[int, ...], dtype: DType) -> None:
    """Refuse to write a result of another shape or kind of number over a tensor of that layout.

    Raises:
        ShapeError, DTypeError: it does not fit.
    """
    if not can_cast(dtype, own.dtype):
        raise DTypeError(
            f"{name}: the result is {dtype.name} and cannot be stored in a {own.dtype.name} tensor. "
            "Hint: use the out-of-place form."
        )
    if shape != own.shape:
        raise ShapeError(
            f"{name}: the result has shape {list(shape)}, the tensor {list(own.shape)}; in-place operations cannot change a shape. "
            "Hint: use the out-of-place form."
        )
