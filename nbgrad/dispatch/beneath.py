"""The interpreter of what lies beneath the gradients: NOTE [Beneath the gradients] of modes/dispatch_modes.py.

NOTE [Handled results]: a handler runs with recording off. What it returns gets the operation's node, which saves operands
and results as ever: so a handler may return other elements, and the derivative is still the operation's.

NOTE [Handled writes]: a write and a view change, or read, the history of a tensor in the middle of what they do. There the
handler's call of the overload, on the tensor that is written to or looked at, is the call itself, with recording as it was.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import GradError
from ..base.grad_mode import mode
from ..graph.edges import requires_grad
from ..modes.dispatch_modes import ask, dispatch_state, dispatch_types
from ..modes.inference import nested_tensors
from ..modes.interpreters import Call, register
from ..modes.overloads import called_as, overload_named
from ..modes.overrides import functions_of, given
from ..ops.core import Op
from ..ops.operators import Operator, operator_of
from ..tensors.tensor import Tensor, native
from .records import recorded
from .wrapped import record_wrapped

__all__ = ["handled"]

NEVER_SEEN = ("composite", "function")  # what is called inside of them is seen


class Beneath:
    """The interpreter of rank "dispatch"."""

    def concerns(self, call: Call) -> bool:
        """Operations, of a thread that has a mode or is doing a handled write, or of tensors whose class is asked."""
        if call.op.kind in NEVER_SEEN:
            return False
        if dispatch_state.modes or dispatch_state.handled is not None:
            return True
        return call.marked and bool(types_of(call))

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Ask the handler, and record what it returns."""
        types = types_of(call)
        if call.form or call.op.kind in ("movement", "method"):
            return handled_in_place(call, types, below)
        if not dispatch_state.modes and not types:
            return below(call)
        enabled, mode.enabled = mode.enabled, False
        outer, dispatch_state.handled = dispatch_state.handled, None
        try:
            result = handled(call, types)
        finally:
            mode.enabled, dispatch_state.handled = enabled, outer
        if not enabled or not any(map(requires_grad, nested_tensors(call.operands))):
            return result
        check_result(call, result)
        return below(recording(call, result, types))


class HandledCall:
    """A write or a view whose handler runs, and whether calls were recorded before."""

    __slots__ = ("call", "enabled")

    def __init__(self, call: Call, enabled: bool):
        self.call, self.enabled = call, enabled

    def is_done_by(self, call: Call) -> bool:
        """Whether a call of the handler is the one that it was asked about."""
        own = self.call
        return own.name == call.name and own.form == call.form and own.operands[0] is call.operands[0] and own.out is call.out


def handled_in_place(call: Call, types: tuple, below: Callable[[Call], Any]) -> Any:
    """NOTE [Handled writes]."""
    outer, before = dispatch_state.handled, mode.enabled
    enabled = outer.enabled if outer is not None and outer.is_done_by(call) else before
    asked = bool(dispatch_state.modes or types)
    dispatch_state.handled = HandledCall(call, enabled) if asked else None
    mode.enabled = enabled and not asked
    try:
        result = handled(call, types) if asked else below(call)
    finally:
        dispatch_state.handled, mode.enabled = outer, before
    if types and enabled and any(map(requires_grad, call.tensors())):
        return below(recording(call, result, types))
    return result


def recording(call: Call, result: Any, types: tuple) -> Call:
    """The call that gives a result its node, and does nothing else: observers see that, as saved-tensor hooks must."""

    def record(*operands: Any, **attributes: Any) -> Any:
        return record_wrapped(call, result) if types else recorded(call.op, operands, attributes, fresh(result, call))

    return Call(call.op, call.operands, call.attributes, record)


def handled(call: Call, types: tuple) -> Any:
    """What the handler makes of a call, whose operands it is given in the order of torch's arguments, sequences as lists."""
    overload = overload_named(operator_of_call(call))
    kwargs = given(call) if call.out is None else {**given(call), "out": call.out}
    operation = CALLS[call.name] if call.out is None else functions_of[call.name]  # which alone take ``out``
    args = [list(x) if isinstance(x, tuple) else x for x in call.operands]
    order = torchs_order(call)
    if order is not None:
        args = [args[k] for k in order]
        operation = reordered(operation, order)
    with called_as(overload, operation):
        return ask(overload, types, tuple(args), kwargs)


def torchs_order(call: Call) -> list[int] | None:
    """The places of the operands in the order of torch's arguments, which is that of the nodes' edges; None where it is ours."""
    names = getattr(call.op, "edges", call.op.operands)
    if names == call.op.operands or len(names) != len(call.operands):
        return None
    return [call.op.operands.index(name) for name in names]


def reordered(operation: Callable, order: list[int]) -> Callable:
    """The operation, for operands in another order."""

    def call(*args: Any, **kwargs: Any) -> Any:
        own = list(args)
        for place, x in zip(order, args):
            own[place] = x
        return operation(*own, **kwargs)

    return call


def operator_of_call(call: Call) -> Operator:
    """The name of a call; methods that are no operations have their own."""
    if isinstance(call.op, Op):
        return operator_of(call.op, call.operands, call.attributes, call.form)
    return Operator("aten", call.name, "default")


def types_of(call: Call) -> tuple[type, ...]:
    """The classes among the arguments that are asked."""
    return dispatch_types(nested_tensors((call.operands, call.attributes, call.out))) if call.marked else ()


def check_result(call: Call, result: Any) -> None:
    """Refuse what cannot be recorded as the result of the call.

    Raises:
        GradError: no tensor at all.
    """
    first = result[0] if isinstance(result, (tuple, list)) and result else result
    if not isinstance(first, Tensor):
        raise GradError(
            f"{operator_of_call(call).name}: __torch_dispatch__ returned {type(first).__name__}, expected a Tensor, since "
            "gradients flow into an operand. Hint: return what func(*args, **kwargs) returns, or call it under no_grad()."
        )


def fresh(result: Any, call: Call) -> Any:
    """A result without a history that nobody else gives one: a handler may return an operand, or what has a history."""
    operands = [id(x) for x in nested_tensors(call.operands)]

    def own(x: Any) -> Any:
        taken = isinstance(x, Tensor) and (id(x) in operands or x._edge_ is not None or x._needs_grad_ is not False)
        return native.alias(x) if taken else x

    return tuple(map(own, result)) if isinstance(result, (tuple, list)) else own(result)


register("dispatch", Beneath())
