"""``out=``: elementwise operations write there at once; of all others the result is computed, then copied."""

from __future__ import annotations

from typing import Any

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import bool_, can_cast, of_default_dtype
from ..base.errors import ArgumentError, DTypeError, GradError, InplaceError, ShapeError
from ..base.grad_mode import mode, special
from ..dispatch.operands import any_complex, check_operands, compute_dtype, require_divisor
from ..graph.edges import requires_grad
from ..modes.interpreters import Call, interpret, is_marked
from ..native.plans import Plan
from ..ops.core import Elementwise
from ..tensors.layout import broadcast_shapes
from ..tensors.overlap import partially_overlaps
from ..tensors.tensor import Tensor, native
from .elementwise_plans import forward_formula
from .operands import unwrap_number
from .plans import elementwise_plan

__all__ = ["require_no_grad", "store_complex_form", "store_results", "wants_gradient", "write_result"]


def require_no_grad(name: str, arguments: Any) -> None:
    """Refuse ``out=`` where a gradient would be lost.

    Raises:
        GradError: an argument requires grad and recording is on.
    """
    if mode.enabled and any(requires_grad(x) for x in tensors_in(arguments)):
        raise GradError(f"{name}: out= is not differentiable, and an argument requires grad. Hint: use no_grad().")


def tensors_in(arguments: Any):
    """Tensors among arguments and inside of sequences."""
    for x in arguments:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from tensors_in(x)


def store_results(name: str, results: Any, out: Any) -> Any:
    """Copy one result, or several, into ``out``, which is returned.

    Raises:
        ArgumentError: ``out`` is no tensor, or not as many as there are results.
        ShapeError, DTypeError: it does not fit.
    """
    if isinstance(results, Tensor):
        return store(name, results, out)
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        raise ArgumentError(f"{name}: out must be {len(results)} tensors, got {type(out).__name__}.")
    stored = [store(name, result, each) for result, each in zip(results, out)]
    return type(results)(*stored) if hasattr(results, "_fields") else tuple(stored)


def store(name: str, result: Tensor, out: Any) -> Tensor:
    """Copy a result into a tensor of its shape; an empty one is given it."""
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{name}: out must be a Tensor, got {type(out).__name__}.")
    empty = not out.layout.numel and not out.layout.special
    if out.shape != result.shape and not empty:
        raise ShapeError(f"{name}: out is {tuple(out.shape)}, the result {tuple(result.shape)}. Hint: nbgrad.empty(result.shape).")
    if not can_cast(result.dtype, out.dtype):
        raise DTypeError(f"{name}: out is {out.dtype.name}, the result {result.dtype.name}, which it cannot hold.")
    if empty and out.shape != result.shape:
        CALLS["resize_"](out, result.layout.shape)
    CALLS["copy_"](out, result)
    return out


# ---- elementwise operations: written at once ---------------------------------------------------------------------------


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
    if op.complex_form is not None and any_complex(operands):
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
        require_divisor(op, compute_dtype(op, operands), operands)
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
    check_operands(op, operands)
    dtype = compute_dtype(op, operands)
    layouts = tuple(t.layout if isinstance(t, Tensor) else None for t in operands)
    shape = broadcast_shapes(op.public, [layout.shape for layout in layouts if layout is not None])
    if out.layout.shape != shape:
        raise ShapeError(
            f"{op.public}: the result has shape {list(shape)}, out has {list(out.layout.shape)}. Hint: an empty out "
            "takes the shape of the result."
        )
    if not can_cast(bool_ if op.predicate else dtype, out.layout.dtype):
        raise DTypeError(f"{op.public}: the result is {dtype.name} and cannot be stored in out, {out.layout.dtype.name}.")
    if out.layout.expanded:
        raise InplaceError(f"{op.public}: several elements of out share one memory location. Hint: clone it first.")
    return elementwise_plan(forward_formula(op, dtype), dtype, layouts, (out.layout,), exact=op.exact)


def store_complex_form(op: Elementwise, operands: tuple, out: Tensor) -> Tensor:
    """Write what stands for an operation on complex operands into ``out``.

    Raises:
        DTypeError: the result has another dtype. ShapeError: another shape.
    """
    assert op.complex_form is not None
    result = op.complex_form(*operands)
    if result.layout.dtype is not out.layout.dtype:
        raise DTypeError(
            f"{op.public}: the result is {result.layout.dtype.name} and cannot be stored in a {out.layout.dtype.name} "
            "tensor. Hint: use the out-of-place form."
        )
    if result.layout.shape != out.layout.shape:
        raise ShapeError(f"{op.public}: the result has shape {list(result.layout.shape)}, out has {list(out.layout.shape)}.")
    return CALLS["copy_"](out, result)
