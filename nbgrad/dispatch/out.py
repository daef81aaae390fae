"""Calls with ``out=``: the result is written into a tensor that exists, as in ``nbgrad.add(x, y, out=z)``.

Elementwise operations are launched into ``out`` directly (``write_result``), which must not change what they still read. All other
operations compute their results first and then copy them (``write_out``), so their operands may share memory with ``out``. Nothing
is
recorded: a call in which a gradient or a tangent would be lost is refused.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Callable

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.dtypes import DType, bool_, can_cast, of_default_dtype
from ..base.errors import ArgumentError, DeviceError, DTypeError, GradError, NotSupportedError, ShapeError
from ..base.grad_mode import mode, special
from ..graph.edges import requires_grad
from ..modes.interpreters import Call, has_tangent, interpret, is_marked
from ..native.plans import Plan
from ..ops.core import Elementwise
from ..tensors.layout import Layout, broadcast_shapes
from ..tensors.overlap import apart, unchanged
from ..tensors.storage import Device
from ..tensors.tensor import Tensor, native
from ..views import check_inplace
from .elementwise_plans import forward_formula
from .operands import (
    any_complex,
    check_kinds,
    dtype_of_kinds,
    gradient_bits,
    gradient_mask,
    kinds_of,
    layouts_in,
    on_several_devices,
    refitted,
    require_divisor,
    unwrap_number,
    with_host_numbers,
)
from .plans import elementwise_plan

__all__ = ["store", "write_out", "write_result"]


def write_out(name: str, compute: Callable[[], Any], out: Any) -> Any:
    """The result of a call, or its results, written into ``out``, which is returned.

    Args:
        name: of the function, for errors.
        compute: gives the results: a tensor, or a tuple of them.
        out: a tensor of the shape of the result and of a dtype that holds it; an empty one is given the shape. As many as there are
            results.

    Raises:
        ArgumentError: ``out`` is no tensor, or not as many as there are results.
        GradError, NotSupportedError: a gradient or a tangent would be lost.
        ShapeError, DTypeError, InplaceError: it does not fit, or cannot be written to.
    """
    results = compute()
    if isinstance(results, Tensor):
        return store(name, results, out)
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        raise ArgumentError(f"{name}: out must be {len(results)} tensors, got {type(out).__name__}.")
    stored = [store(name, result, each) for result, each in zip(results, out)]
    return type(results)(*stored) if hasattr(results, "_fields") else tuple(stored)


def require_constant(name: str, x: Tensor) -> None:
    """Refuse a result, or an ``out``, whose derivative would be lost.

    Raises:
        GradError: it requires grad, and recording is on. NotSupportedError: it is dual.
    """
    if mode.enabled and requires_grad(x):
        raise lost_gradient(name)
    if special and has_tangent(x):
        raise NotSupportedError(f"{name}: out= is not differentiable, and an argument is dual. Hint: use unpack_dual(x).primal.")


def lost_gradient(name: str) -> GradError:
    """What is said where an argument requires grad."""
    return GradError(f"{name}: out= is not differentiable, and an argument requires grad. Hint: use no_grad().")


def require_out(name: str, out: Any) -> None:
    """Refuse an ``out`` that is no tensor."""
    if not isinstance(out, Tensor):
        raise ArgumentError(f"{name}: out must be a Tensor, got {type(out).__name__}.")


def fit_out(name: str, shape: tuple[int, ...], dtype: DType, out: Tensor) -> None:
    """Give an empty ``out`` the shape of the result.

    Raises:
        ShapeError, DTypeError: it does not fit.
    """
    own = out.layout
    if not can_cast(dtype, own.dtype):
        raise DTypeError(f"{name}: the result is {dtype.name} and cannot be stored in out, {own.dtype.name}.")
    if own.shape == shape:
        return
    if own.numel or own.special:
        raise ShapeError(
            f"{name}: the result has shape {list(shape)}, out has {list(own.shape)}. "
            "Hint: an empty out takes the shape of the result."
        )
    CALLS["resize_"](out, shape)


def require_device(name: str, device: Device, out: Tensor) -> None:
    """Refuse an ``out`` on another device than the result.

    Raises:
        DeviceError: it is.
    """
    if out.layout.device is not device:
        raise DeviceError(
            f"{name}: out is on {out.layout.device}, the result on {device}; expected one device. Hint: out.copy_(result)."
        )


def store(name: str, result: Tensor, out: Any) -> Tensor:
    """Copy a result into ``out``; see ``write_out``."""
    require_out(name, out)
    require_device(name, result.layout.device, out)
    require_constant(name, result)
    require_constant(name, out)
    fit_out(name, result.layout.shape, result.layout.dtype, out)
    check_inplace(name, out, False)
    CALLS["copy_"](out, result if apart(out, result) else CALLS["clone"](result))
    return out


# ---- elementwise operations: written at once ---------------------------------------------------------------------------


def write_result(op: Elementwise, operands: tuple, out: Any) -> Tensor:
    """The same of an elementwise operation, see ``write_out``.

    Raises:
        InplaceError: ``out`` and an operand are dense and share memory at different places.
    """
    try:
        return result_writer(op)(out, *operands)
    except OverflowError as error:
        return refitted(op, operands, error, lambda *fitted: result_writer(op)(out, *fitted))


@cache
def result_writer(op: Elementwise) -> Callable:
    """``write(out, *operands)``: the native write, of a result instead of an operand."""
    into = ResultWriter(op)
    if op.integer_divisor or op.policy == "first":  # values are looked at in every call
        return into.check
    bits = (1, *gradient_bits(op))
    return native.writer(into.plans, special, into.check, into.refuse, mode, bits)


class ResultWriter:
    """What ``out=`` of an elementwise operation does where the native write finds no plan.

    Attributes:
        plans: by kinds of ``out`` and of the operands.
    """

    __slots__ = ("op", "plans")

    def __init__(self, op: Elementwise):
        self.op, self.plans = op, of_default_dtype(Plans(partial(out_plan, op)))

    def refuse(self, plan: Plan, mask: int, *operands: Any) -> None:
        """A call in which a gradient would be lost."""
        raise lost_gradient(self.op.public)

    def check(self, out: Any, *operands: Any) -> Tensor:
        """A call that the native write leaves."""
        op, name, operands = self.op, self.op.public, tuple(map(unwrap_number, operands))
        if (form := op.complex_form) is not None and any_complex(operands):
            return write_out(name, lambda: form(*operands), out)
        require_out(name, out)
        require_constant(name, out)
        if mode.enabled and gradient_mask(op, operands):
            raise lost_gradient(name)
        if on_several_devices((out, *operands)):
            operands = with_host_numbers(op, operands)
            require_device(name, next(x.layout.device for x in operands if isinstance(x, Tensor)), out)
        if special or is_marked((*operands, out)):
            return interpret(Call(op, operands, {}, lambda *below: self.launch(out, below), "out", out))
        return self.launch(out, operands)

    def launch(self, out: Tensor, operands: tuple) -> Tensor:
        """The call without interpreters."""
        op, name = self.op, self.op.public
        operands = tuple([unchanged(name, out, x) for x in operands])
        key = kinds_of((out, *operands))
        if key not in self.plans:
            kinds = key[1:]
            check_kinds(op, kinds)
            shape = broadcast_shapes(name, [x.shape for x in kinds if type(x) is Layout])
            fit_out(name, shape, bool_ if op.predicate else dtype_of_kinds(op, kinds), out)
            if out.layout is not key[0]:  # it was empty
                return self.launch(out, operands)
        check_inplace(name, out, False)
        if op.integer_divisor:
            require_divisor(op, dtype_of_kinds(op, key[1:]), operands)
        native.into(self.plans[key], out, *operands)
        return out


def out_plan(op: Elementwise, key: tuple) -> Plan:
    """The plan of a call with ``out=``, by kinds of ``out`` and of the operands."""
    out, *kinds = key
    dtype = dtype_of_kinds(op, tuple(kinds))
    return elementwise_plan(forward_formula(op, dtype), dtype, layouts_in(tuple(kinds)), (out,), exact=op.exact)
