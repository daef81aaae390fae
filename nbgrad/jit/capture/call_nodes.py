"""How a call that arrives at a capture becomes a node of its graph: NOTE [Capture] of capture.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from ...base.calls import CALLS
from ...base.dtypes import DType, dtype_of
from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...dispatch.launches import overwrite
from ...graph.edges import next_seq, requires_grad
from ...graph.saved import tensors_in
from ...modes.interpreters import Call
from ...modes.numbers import Number, plain
from ...modes.traced import TRACED, mark, unmark
from ...tensors.overlap import overlaps_itself
from ...tensors.tensor import Tensor
from ..ir.ir import Node
from ..ir.lines import user_line
from ..nodes.custom_functions import plain_alias, run_function
from ..nodes.updates import UPDATE, name_of_rule
from ..nodes.values import numbers_for

if TYPE_CHECKING:
    from .capture import Trace

__all__ = ["holds_tensors", "run_call", "write_update"]


def run_call(trace: Trace, call: Call, below: Callable[[Call], Any]) -> Any:
    """Run a call and write it down."""
    if call.op.kind != "function" and holds_numbers((*call.operands, *call.attributes.values())):
        call = call.with_operands(plain(call.operands), plain(call.attributes))
    if call.op.kind == "function":
        if hasattr(function_of(call), "_control_"):
            return run_control(trace, call, below)
        return run_function(trace, call, below)
    if call.form == "out":
        raise GraphError(f"{call.op.public}: a graph does not capture out=. Hint: use the result.")
    if call.op.kind == "method":
        return run_method(trace, call, below)
    if call.op.draws:
        return below(call.with_operands(call.map(plain_alias)))
    if call.op.kind == "movement" and call.marked:
        call = call.with_operands(call.operands, {name: numbers_for(x) for name, x in call.attributes.items()})
    ins, attributes = trace.value(call.operands), {name: trace.value(x) for name, x in call.attributes.items()}
    if call.form:
        return write(trace, call, ins, attributes, below)
    seq, out = next_seq(), trace.run_unmarked(call, below, True)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    if not all(isinstance(x, Tensor) for x in outs):
        raise GraphError(f"{call.op.public}: gives {type(out).__name__}, expected tensors: a graph cannot capture it.")
    trace.add(call.op, ins, attributes, outs)
    trace.follow(outs, seq)
    return out


def run_method(trace: Trace, call: Call, below: Callable[[Call], Any]) -> Any:
    """A method of tensors that is no operation: its results are windows on what it was called on; it reads no element."""
    out = trace.run_unmarked(call, below, True)
    if isinstance(out, Tensor):
        trace.follow((out,), next_seq())
        if call.op.name == "detach" and trace.variables.flows is not None:
            trace.variables.flows.mark(out)
    return out


def run_control(trace: Trace, call: Call, below: Callable[[Call], Any]) -> Any:
    """A Function that is a control node: NOTE [Controls]."""
    control, attributes, blocks, constants = function_of(call)._control_(*call.operands)
    trace.variables.know(constants)
    ins = tuple([trace.value(x) for x in call.operands if isinstance(x, Tensor)])
    seq, outs = next_seq(), trace.run_unmarked(call, below)
    trace.add(control, ins, attributes, outs, blocks)
    trace.follow(outs, seq)
    return outs


def write(trace: Trace, call: Call, ins: tuple, attributes: dict, below: Callable[[Call], Any]) -> Any:
    """Write the out-of-place call down, and give the storage that is written to a new value."""
    x, seq = call.operands[0], next_seq()
    admit_write(trace, x, f"{call.op.public}_", (*call.operands, *call.attributes.values()))
    begins = not requires_grad(x if x._meta_ is None or x._meta_.base is None else x._meta_.base)
    made = trace.run_unmarked(call, out_of_place, True)
    late = call.op.kind == "elementwise"
    if not late:
        overwrite((x,))
    out = trace.run_unmarked(call, below, late)
    node = Node(call.op, ins, attributes, [made.layout], line=user_line())
    trace.variables.append(node, mode.enabled)
    trace.variables.write(x, node.outs[0], begins)
    trace.follow((x,), seq)
    return out


def admit_write(trace: Trace, x: Tensor, name: str, operands: tuple) -> None:
    """A write, to what the function makes, or to what was there before.

    Raises:
        GraphError: to what was there before, where the write is recorded or no effects are captured.
    """
    if trace.variables.is_made(x):
        return
    what = f"{name}: writes to a tensor that the function does not make"
    if trace.effects is None:
        trace.refuse(what, "write to a clone, and return it")
    elif mode.enabled and any(requires_grad(y) for y in tensors_in(operands)):
        trace.refuse(f"{what}, and is recorded", "write to a clone, and return it, or write under no_grad")
    else:
        root = (trace.variables.of(x) or trace.variables.admit(x)).root[1]
        if not root.dense and overlaps_itself(root.shape, root.strides):
            trace.refuse(f"{what}, and has elements in one place", "write to a clone, and copy that back outside")
        trace.effects.keep(x)


def write_update(
    trace: Trace,
    rule: Callable,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    numbers: dict,
    run: Callable,
    singles: tuple[str, ...],
    compute: DType | None,
) -> None:
    """Write an update down: see ``fused_update`` of dispatch/updates.py.

    Args:
        run: does it.
    """
    tensors = (*outputs, *inputs)
    for x in outputs:
        admit_write(trace, x, "fused_update", ())
    layouts = [x.layout.plain() for x in outputs]
    number = dtype_of((compute or layouts[0].dtype).compute)
    values = trace.effects.values_of(numbers, number) if trace.effects else tuple(numbers.values())
    attributes: dict[str, Any] = {"rule": name_of_rule(rule), "outputs": len(outputs), "names": tuple(numbers), "numbers": values}
    attributes |= {"singles": singles} if singles else {}
    attributes |= {"compute": compute.name} if compute is not None else {}
    node = Node(UPDATE, trace.value(tensors), attributes, layouts, line=user_line(), flags=[False] * len(outputs))
    marked = [unmark(x) for x in tensors if x.layout.special is TRACED]
    trace.depth += 1
    trace.lazy = trace.late
    try:
        run()
    finally:
        trace.depth -= 1
        trace.lazy = False
        for x in marked:
            mark(x)
    trace.variables.append(node, False)
    for x, out in zip(outputs, node.outs):
        trace.variables.write(x, out)


def function_of(call: Call) -> Any:
    """The class of a call of a Function."""
    op: Any = call.op
    return op.function


def holds_tensors(x: tuple | list) -> bool:
    """Whether there is a tensor in nested sequences."""
    return any(isinstance(y, Tensor) or isinstance(y, (tuple, list)) and holds_tensors(y) for y in x)


def holds_numbers(x: Iterable[Any]) -> bool:
    """Whether there is a traced number in nested sequences, which an operation takes as it is."""
    return any(isinstance(y, Number) or type(y) in (tuple, list) and holds_numbers(y) for y in x)


def out_of_place(call: Call) -> Tensor:
    """The result of a call in place, as a new tensor."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS[call.op.name](*call.operands, **call.attributes)
    finally:
        mode.enabled = enabled
