"""In-place and ``out=`` forms of elementwise operations: the same declaration, written over an operand.

NOTE [In-place order]: check; take the old edges; keep a copy of the old value if the rule needs it; record; write (the native
call bumps the version first); then give the tensor its new history. Operands are saved at their version *before* the write,
so an operand that shares the memory is found stale in backward; the result is saved at its version after it.
"""
from __future__ import annotations

import inspect
from typing import Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import bool_, can_cast, of_default_dtype
from ..base.errors import ArgumentError, DTypeError, GradError, InplaceError, ShapeError
from ..base.grad_mode import mode, special
from ..graph.edges import edge_of, needs_gradient, note_retained, requires_grad
from ..graph.saved import active_hooks, count_write
from ..modes.inference import write_in_mode
from ..modes.interpreters import Call, interpret, is_marked, quick_write
from ..native.plans import Plan
from ..ops.core import OPS, Elementwise
from ..ops.spellings import public_signature
from ..tensors.layout import broadcast_shapes
from ..tensors.tensor import ASK, Tensor, native, put_layout
from ..views import check_history, check_inplace, rebase
from . import elementwise as dispatch
from .elementwise import ElementwisePlan, finish_plan, forward_formula, gradient_mask, unwrap_number
from .plans import elementwise_plan

__all__ = ["inplace_call", "write_result", "overlapping", "partially_overlaps"]

def inplace_call(op: Elementwise) -> Callable:
    """The method ``op_``: ``x.op_(*others)`` writes the result into ``x`` and returns ``x``."""
    plans: dict = of_default_dtype({})
    names = op.operands
    defaults, empty = op.defaults, op.signature.empty
    into = native.into

    def call(input, *others, **named):
        if named or 1 + len(others) < len(names):
            others = dispatch.bind(op, (input, *others), named, defaults, empty)[1:]
        try:
            return run(input, *others)
        except OverflowError as error:
            raise dispatch.misfit(op, others, error) from None

    def slow(x, *others):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op.public}_: expected a Tensor, got {type(x).__name__}.")
        if special and not mode.inference:
            out = quick_write(op, (x, *others), beneath)
            if out is not None:
                return out
        operands = (x, *[y if type(y) in PLAIN else apart(op, x, unwrap_number(y)) for y in others])
        if op.policy == "first":
            operands = dispatch.stored_numbers(op, operands)
        if special:
            return beyond(operands)
        key = tuple([t.layout if isinstance(t, Tensor) else type(t) for t in operands])
        plan = plans.get(key)
        if plan is None:
            return beyond(operands)
        return write(plan, x, operands)

    def beyond(operands):
        if op.complex_form is not None and dispatch.any_complex(operands):
            return overwrite_complex(op, operands)
        if mode.inference:
            return write_in_mode(op, operands, plans, beneath, check_inplace)
        return interpret(Call(op, operands, {}, beneath, "_"))

    def beneath(*operands):
        if mode.enabled and active_hooks() is not None:     # they see what is saved after the write, and no version is compared
            operands = (operands[0], *[old_value(y) if shares_memory(operands[0], y) else y for y in operands[1:]])
        key = tuple([t.layout if isinstance(t, Tensor) else type(t) for t in operands])
        plan = plans.get(key)
        if plan is None:
            check_inplace(op.name + "_", operands[0], mode.enabled and bool(gradient_mask(op, operands)))
            plan = keep(plans, key, inplace_plan(op, operands))
        return write(plan, operands[0], operands)

    def write(plan, x, operands):
        mask = gradient_mask(op, operands) if mode.enabled else 0
        check_inplace(op.name + "_", x, bool(mask))
        if op.integer_divisor:
            dispatch.require_divisor(op, plan.compute, operands)
        passed = operands if len(plan.layouts) == len(operands) else operands[1:]
        if not mask:
            into(plan, x, *passed)
            return x
        finish = record_before(op, plan, mask, x, operands)
        into(plan, x, *passed)
        finish()
        return x

    def store(x, *others):
        slow(x, *others)
        if not special and not dispatch.looks_at_values((x, *others)):
            key = tuple([t.layout if isinstance(t, Tensor) else type(t) for t in (x, *others)])
            if key in plans:
                keep(quick, key, plans[key])
        return x

    # What numbers are divided by is looked at in every call, and what is stored where that may have to be converted.
    quick: dict = of_default_dtype({})
    if op.policy == "first":
        run = native.writer(quick, special, store, mode)
    else:
        run = slow if op.integer_divisor else native.writer(plans, special, slow, mode)
    call.__name__ = call.__qualname__ = op.name + "_"
    call.__signature__ = public_signature(op)
    CALLS[op.name + "_"] = call
    return call


PLAIN = (float, int)            # numbers that are taken as they are


def overwrite_complex(op: Elementwise, operands: tuple) -> Tensor:
    """An in-place call on complex operands by what stands for the operation, which may save the old value: then a copy of it."""
    x, *others = operands
    recorded = mode.enabled and wants_gradient(operands)
    if not is_marked(operands):
        check_inplace(op.public + "_", x, recorded)
    return store_complex_form(op, (CALLS["clone"](x) if recorded else x, *others), x)


def store_complex_form(op: Elementwise, operands: tuple, out: Tensor) -> Tensor:
    """Write what stands for an operation on complex operands into ``out``.

    Raises:
        DTypeError: the result has another dtype. ShapeError: another shape.
    """
    assert op.complex_form is not None
    result = op.complex_form(*operands)
    if result.layout.dtype is not out.layout.dtype:
        raise DTypeError(f"{op.public}: the result is {result.layout.dtype.name} and cannot be stored in a {out.layout.dtype.name} "
                         "tensor. Hint: use the out-of-place form.")
    if result.layout.shape != out.layout.shape:
        raise ShapeError(f"{op.public}: the result has shape {list(result.layout.shape)}, out has {list(out.layout.shape)}.")
    return CALLS["copy_"](out, result)


def apart(op: Elementwise, x: Tensor, y):
    """An operand that the write to ``x`` does not change before it is read: itself, or a copy where memory is interleaved.

    Raises:
        InplaceError: both are dense and share part of their memory.
    """
    if not isinstance(y, Tensor) or not partially_overlaps(x, y):
        return y
    if x.layout.dense and y.layout.dense:
        raise InplaceError(f"{op.public}_: an operand overlaps the memory that is written, at another offset or with other "
                           "strides. Hint: clone it first.")
    return CALLS["clone"](y)


def record_before(op: Elementwise, plan: ElementwisePlan, mask: int, x: Tensor, operands: tuple) -> Callable[[], None]:
    """Make the node of an in-place call, before the write; the function returned completes it after the write."""
    is_view = x._needs_grad_ is ASK
    old_edge = None
    if is_view and x._meta_.base._needs_grad_:
        old_edge = edge_of(x._meta_.base)
    before = native.alias(x)
    if mask & 1:
        before._edge_, before._needs_grad_ = edge_of(x), True
    holder = native.alias(x)
    rule_saved = saved_names(op, plan, mask)
    if op.operands[0] in rule_saved:
        kept = CALLS["clone"](holder)      # an alias without history: nothing is recorded
        kept._edge_, kept._needs_grad_ = before._edge_, before._needs_grad_
        before = kept
    plan.records[mask](plan, holder, before, *operands[1:])
    node = holder._edge_

    def finish():
        for k, name in enumerate(node._rule_.saved_names):
            if name == "out":
                setattr(node, f"_v{k}_", x._storage_.version)
        rebase(x, node, 0 if mask & 1 else None, old_edge)
    return finish


def shares_memory(x: Tensor, y) -> bool:
    """Whether ``y`` is a tensor on the storage of ``x``."""
    return isinstance(y, Tensor) and y._storage_ is x._storage_


def old_value(y: Tensor) -> Tensor:
    """A copy of an operand in the memory that is about to be written, with the operand's place in the graph."""
    kept = CALLS["clone"](native.alias(y))
    if y._needs_grad_ and requires_grad(y):
        kept._edge_, kept._needs_grad_ = edge_of(y), True
    return kept


def saved_names(op: Elementwise, plan: ElementwisePlan, mask: int) -> tuple[str, ...]:
    """What the rule of this subset saves."""
    numbers = tuple(layout is None for layout in plan.operands)
    return dispatch.rule_of(op, mask, numbers, plan.compute.is_complex).saved_names


def inplace_plan(op: Elementwise, operands: tuple) -> ElementwisePlan:
    """Plan a call over its first operand.

    Raises:
        ShapeError: the result would be larger than the tensor. DTypeError: of a higher category.
    """
    x = operands[0]
    dispatch.check_operands(op, operands)
    dtype = dispatch.compute_dtype(op, operands)
    result = bool_ if op.predicate else dtype
    own = x.layout
    if not can_cast(result, own.dtype):
        raise DTypeError(f"{op.public}_: the result is {result.name} and cannot be stored in a {own.dtype.name} tensor. "
                         "Hint: use the out-of-place form.")
    layouts = tuple(t.layout if isinstance(t, Tensor) else None for t in operands)
    shape = broadcast_shapes(op.name + "_", [layout.shape for layout in layouts if layout is not None])
    if shape != own.shape:
        raise ShapeError(f"{op.public}_: the operands broadcast to {list(shape)}, the tensor has {list(own.shape)}; in-place "
                         "operations cannot change a shape. Hint: use the out-of-place form.")
    plan = elementwise_plan(forward_formula(op, dtype), dtype, layouts, (own,), inplace=1, plan_type=ElementwisePlan,
                            exact=op.exact)
    return finish_plan(plan, op, operands, layouts, dtype, own)


def write_result(op: Elementwise, operands: tuple, out: Tensor) -> Tensor:
    """``out=``: write the result into an existing tensor of its shape; an empty one is given it.

    Raises:
        GradError: the result or an operand requires grad and recording is on.
        ShapeError, DTypeError: ``out`` does not fit.
    """
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{op.public}: out must be a Tensor, got {type(out).__name__}.")
    if mode.enabled and wants_gradient((*operands, out)):
        raise GradError(f"{op.public}: out= is not differentiable, and an argument requires grad. Hint: use no_grad().")
    operands = tuple(map(unwrap_number, operands))
    if op.complex_form is not None and dispatch.any_complex(operands):
        return store_complex_form(op, operands, out)
    if special or is_marked((*operands, out)):
        return interpret(Call(op, operands, {}, lambda *below: write_out(op, below, out), "out", out))
    return write_out(op, operands, out)


def wants_gradient(operands: tuple) -> bool:
    """Whether gradients flow into one of the tensors among the operands."""
    for x in operands:
        if isinstance(x, Tensor) and x._needs_grad_ and requires_grad(x):
            return True
    return False


def write_out(op: Elementwise, operands: tuple, out: Tensor) -> Tensor:
    """``out=`` beneath all interpreters."""
    out._storage_.require_writable(op.name)
    key = (op.name, out.layout, *[t.layout if isinstance(t, Tensor) else type(t) for t in operands])
    plan = _out_plans.get(key)
    if plan is None:
        if not out.layout.numel and not out.layout.special:
            shapes = [x.layout.shape for x in operands if isinstance(x, Tensor)]
            if resized(out, broadcast_shapes(op.public, shapes)):
                return write_out(op, operands, out)
        plan = keep(_out_plans, key, out_plan(op, operands, out))
    for x in operands:
        if isinstance(x, Tensor) and partially_overlaps(out, x):
            raise InplaceError(f"{op.public}: out overlaps an operand in memory. Hint: clone it first.")
    if op.integer_divisor:
        dispatch.require_divisor(op, dispatch.compute_dtype(op, operands), operands)
    native.into(plan, out, *operands)
    return out


_out_plans: dict[tuple, Plan] = of_default_dtype({})


def resized(out: Tensor, shape: tuple[int, ...]) -> bool:
    """Give an empty ``out`` the shape of the result; whether it was another one."""
    if out.layout.numel or out.layout.shape == shape:
        return False
    CALLS["resize_"](out, shape)
    return True


def out_plan(op: Elementwise, operands: tuple, out: Tensor) -> Plan:
    """The plan of a call with ``out=``.

    Raises:
        ShapeError, DTypeError: ``out`` does not fit. InplaceError: its elements share memory.
    """
    dispatch.check_operands(op, operands)
    dtype = dispatch.compute_dtype(op, operands)
    layouts = tuple(t.layout if isinstance(t, Tensor) else None for t in operands)
    shape = broadcast_shapes(op.public, [layout.shape for layout in layouts if layout is not None])
    if out.layout.shape != shape:
        raise ShapeError(f"{op.public}: the result has shape {list(shape)}, out has {list(out.layout.shape)}. Hint: an empty out "
                         "takes the shape of the result.")
    if not can_cast(bool_ if op.predicate else dtype, out.layout.dtype):
        raise DTypeError(f"{op.public}: the result is {dtype.name} and cannot be stored in out, {out.layout.dtype.name}.")
    if out.layout.expanded:
        raise InplaceError(f"{op.public}: several elements of out share one memory location. Hint: clone it first.")
    return elementwise_plan(forward_formula(op, dtype), dtype, layouts, (out.layout,), exact=op.exact)


def span(x: Tensor) -> tuple[int, int]:
    """First and past-the-last byte that a tensor touches."""
    layout, size = x.layout, x.layout.dtype.itemsize
    if not layout.numel:
        return x._offset_, x._offset_
    low = sum((s - 1) * t for s, t in zip(layout.shape, layout.strides) if t < 0) * size
    high = sum((s - 1) * t for s, t in zip(layout.shape, layout.strides) if t > 0) * size
    return x._offset_ + low, x._offset_ + high + size


def distance(x: Tensor, y: Tensor) -> int | None:
    """Bytes from the start of x's memory to that of y's, or None where they cannot share any."""
    a, b = x._storage_.array, y._storage_.array
    if a is b:
        return 0
    if a.flags.owndata or b.flags.owndata:      # memory of our own is one array's alone
        return None
    return b.__array_interface__["data"][0] - a.__array_interface__["data"][0]


def overlapping(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors may share bytes; one without elements shares none, wherever it lies."""
    apart = distance(x, y)
    if apart is None:
        return False
    (a, b), (c, d) = span(x), span(y)
    return a < d + apart and c + apart < b and a < b and c < d


def steps_of(layout) -> list[tuple[int, int]]:
    """Sizes and strides of the dimensions along which a layout goes anywhere.

    Where two operands that broadcast agree in them and in their start, each position of the one has its own place in the other.
    """
    return [(size, stride) for size, stride in zip(layout.shape, layout.strides) if size != 1]


def partially_overlaps(x: Tensor, y: Tensor) -> bool:
    """Whether ``y`` may share bytes with ``x`` at other positions than its own."""
    same = x.layout is y.layout or steps_of(x.layout) == steps_of(y.layout)
    return not (same and distance(x, y) == x._offset_ - y._offset_) and overlapping(x, y)


# ---- the layout, not the elements ---------------------------------------------------------------------------------

def inplace_views() -> list[str]:
    """The views whose in-place form gives the tensor itself the new layout."""
    return [name for op in OPS.values() if op.inplace == "view" for name in (op.name, *op.aliases)]


def inplace_view(name: str) -> Callable:
    """The method ``name_``: the tensor takes the layout of the view, and its history. No element moves."""
    def call(x, *args, **kwargs):
        x._storage_.require_writable(name + "_")
        if mode.enabled and needs_gradient(x):      # no element moves, so several positions may share one
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
            if mode.enabled:            # elsewhere the version stays behind, and the node is made when it is asked for
                own.node, own.version = meta.node, x._storage_.version
        elif meta is not None and meta.node is not None:
            x._edge_, x._needs_grad_ = meta.node, True
        if before is not None and (edge := edge_of(x)) is not before:
            note_retained(x, edge, before)      # of the shape that it has now
        if own is not None and own.tangent:
            for tangent in own.tangent.values():        # its layout follows
                getattr(tangent, name + "_")(*args, **kwargs)       # of a batched tangent its own
        return x
    call.__name__ = call.__qualname__ = name + "_"
    call.__signature__ = inspect.signature(getattr(Tensor, name))
    call.__doc__ = f"In place: {name}. The elements stay where they are; shape and strides change."
    CALLS[name + "_"] = call
    return call
