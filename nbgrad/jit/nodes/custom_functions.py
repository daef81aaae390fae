"""Custom Functions in graphs: as the operations that they consist of, or, where they read arrays, as steps in Python.

NOTE [Functions as steps]: what a Function does is captured like everything else. One that leaves the graph (NumPy, long lists) has
the capture begin again; then its ``forward`` and its ``backward`` are each one node, and run on plain tensors in every run. What a
``ctx`` tells ``backward`` becomes results of the first node and operands of the second: saved tensors, tensors and arrays among its
attributes. Its other attributes must be what they were; a run where ``forward`` sets others stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from ...autograd.function import FunctionCall, run
from ...autograd.function_context import SavedArgument, handed_over, new_context
from ...autograd.returned_tensors import mark_final
from ...base.calls import CALLS
from ...base.dtypes import DType
from ...base.errors import GraphError
from ...base.grad_mode import mode, special
from ...base.mode_contexts import enable_grad, no_grad
from ...creation.numpy_exchange import from_numpy
from ...dispatch.launches import need
from ...graph.edges import next_seq, requires_grad
from ...modes.interpreters import Call, interpret, is_marked
from ...modes.numbers import plain
from ...modes.traced import capture_of_thread, mark, unmark
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor, native
from ..ir.histories import APPLIED
from ..ir.ir import Control, Node
from ..ir.qualified_names import class_of, name_of
from .values import Changed, elements_of

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["FORWARD", "Hosted", "plain_alias", "run_backward", "run_function"]

PLAIN = (bool, int, float, complex, str, bytes, type(None), DType, Layout, slice)


class Hosted(GraphError):
    """A Function leaves the graph: the capture may begin again, with it as a step in Python.

    Attributes:
        function: the class.
    """

    function: Any

    @classmethod
    def by(cls, function: Any, error: GraphError) -> Hosted:
        """The error that a Function met."""
        made = cls(str(error))
        made.function = function
        return made


def is_plain(x: Any) -> bool:
    """Whether a value says all that it is when it is printed."""
    return isinstance(x, PLAIN) or isinstance(x, (tuple, list)) and all(map(is_plain, x))


def plain_alias(x: Tensor) -> Tensor:
    """The same elements without mark and history."""
    return native.tensor(x.layout.plain().template, x._storage_, x._offset_, False, None)


def tensor_of(array: np.ndarray) -> Tensor:
    """An array's elements as a tensor."""
    return from_numpy(np.ascontiguousarray(array).reshape(array.shape).copy())


# ---- forward ---------------------------------------------------------------------------------------------------------


def run_function(trace: Trace, call: Call, below: Callable[[Call], Any]) -> Any:
    """A call of a Function.

    Raises:
        Hosted: it leaves the graph.
    """
    operand: Any = call.op
    function = operand.function
    if function in trace.hosted:
        return run_forward(trace, call, below)
    tensors = [x for x in call.operands if isinstance(x, Tensor)]
    later = trace.derivable or trace.effects is None and mode.enabled and any(map(requires_grad, tensors))
    ins = tuple(map(trace.value, tensors)) if later else ()
    versions = [x._storage_.version for x in tensors]
    start = len(trace.graph.nodes)
    try:
        out = below(call)
    except Hosted:
        raise
    except GraphError as error:
        raise Hosted.by(function, error) from error
    if later:
        if versions != [x._storage_.version for x in tensors]:
            trace.refuse(f"{call.op.name}: writes to its arguments", "run it outside")
        if any(node.effect == "random" for node in trace.graph.nodes[start:]):
            trace.refuse(f"{call.op.name}: draws random numbers", "draw outside, and give it what is drawn")
        keep_history(trace, call, ins, out)
    return out


def keep_history(trace: Trace, call: Call, ins: tuple, out: Any) -> None:
    """Write down that results have the history of a Function, of these operands: NOTE [Histories of Functions] of histories.py."""
    outs = [x for x in (out if isinstance(out, tuple) else (out,)) if isinstance(x, Tensor)]
    if not trace.derivable and not any(map(requires_grad, outs)):
        return
    with no_grad():
        made = tuple([trace.value(x) for x in outs])
    trace.variables.forget(outs, made)
    operand: Any = call.op
    places = tuple([k for k, x in enumerate(call.operands) if isinstance(x, Tensor)])
    others = tuple([None if k in places else plain(x) for k, x in enumerate(call.operands)])
    attributes = {"function": name_of(operand.function), "args": others, "places": places}
    trace.add(APPLIED, (*ins, *made), attributes, outs)


def run_forward(trace: Trace, call: Any, below: Callable[[Call], Any]) -> Any:
    """A call of a Function as one node."""
    function, args = call.op.function, tuple(map(plain, call.operands))
    call.operands = args
    places = tuple([k for k, x in enumerate(args) if isinstance(x, Tensor)])
    others = tuple([None if k in places else x for k, x in enumerate(args)])
    if not hasattr(call, "runs") or not all(is_plain(x) or callable(x) for x in others):
        trace.refuse(f"{call.op.name}: takes other arguments than tensors, numbers and functions", "run it outside")
    tensors = [args[k] for k in places]
    ins, seq = tuple(map(trace.value, tensors)), next_seq()
    versions = [x._storage_.version for x in tensors]
    out = trace.run_unmarked(call, below)
    outs = out if isinstance(out, tuple) else (out,)
    before = {id(x._storage_.array) for x in tensors}
    if versions != [x._storage_.version for x in tensors] or not all(isinstance(x, Tensor) for x in outs):
        trace.refuse(f"{call.op.name}: writes to its arguments, or returns what is no tensor", "run it outside")
    ctx = call.ctx
    known = before | {id(x._storage_.array) for x in outs}
    extras, tensors_of_ctx = places_of(trace, ctx, known)
    attributes = {"function": name_of(function), "args": others, "places": places, "needs": ctx.needs_input_grad}
    attributes |= {"extras": extras, "facts": facts_of(trace, ctx)}
    made = tuple([from_ctx(ctx, kind, key) for kind, key in extras])
    trace.add(FORWARD, ins, attributes, (*outs, *made))
    for (kind, key), x in zip(extras, made):
        if kind == "array":
            trace.arrays[id(ctx), key] = ctx, x
    trace.follow((*outs, *made), seq)
    for x in tensors_of_ctx:
        if trace.variables.is_own(x):
            mark(x)
    return out


def places_of(trace: Trace, ctx: Any, known: set[int]) -> tuple[tuple[tuple[str, Any], ...], list[Tensor]]:
    """Where a ctx has tensors and arrays that are neither arguments nor results; and all of its tensors."""
    found: list[tuple[str, Any]] = []
    tensors: list[Tensor] = []
    for k, saved in enumerate(ctx._s0_ or ()):
        if saved.value is None:
            continue
        if not isinstance(saved, SavedArgument) or not isinstance(saved.value, Tensor):
            trace.refuse(f"{ctx._rule_.name}: saved tensors are behind hooks", "run it outside")
        tensors.append(saved.value)
        if id(saved.value._storage_.array) not in known:
            found.append(("saved", k))
    for name, x in vars(ctx).items():
        if isinstance(x, Tensor):
            tensors.append(x)
            if id(x._storage_.array) not in known:
                found.append(("name", name))
        elif isinstance(x, np.ndarray):
            found.append(("array", name))
    return tuple(found), tensors


def facts_of(trace: Trace, ctx: Any) -> tuple[tuple[str, str], ...]:
    """What a ctx holds beside tensors and arrays."""
    facts = []
    for name, x in vars(ctx).items():
        if not isinstance(x, (Tensor, np.ndarray)):
            if not is_plain(x):
                trace.refuse(f"{ctx._rule_.name}: ctx.{name} is of type {type(x).__name__}", "keep tensors, arrays, numbers")
            facts.append((name, repr(x)))
    return tuple(facts)


def from_ctx(ctx: Any, kind: str, key: Any) -> Tensor:
    """A tensor, or an array as a tensor, that a ctx holds."""
    found = ctx._s0_[key].value if kind == "saved" else vars(ctx)[key]
    made: Tensor = tensor_of(found) if kind == "array" else found
    return made


def forward_again(node: Node, values: dict, *tensors: Tensor, **attributes: Any) -> tuple:
    """The results of ``forward``, and what its ctx holds.

    Raises:
        Changed: the ctx holds other things than in the capture.
    """
    function, args = class_of(attributes["function"]), list(attributes["args"])
    trace = capture_of_thread()
    if trace is not None:
        trace.hosted.add(function)
    records = trace is not None or mode.enabled and any(map(requires_grad, tensors))
    for k, x in zip(attributes["places"], tensors):
        wanted = attributes["needs"][k]
        args[k] = x if records else native.tensor(x.layout.template, x._storage_, x._offset_, wanted, None)
    with enable_grad() if not records else no_change():
        call = FunctionCall(function, tuple(args))
        if special or is_marked(args):
            out = interpret(call)
        else:
            out = run(function, tuple(args), call.runs)
    outs, ctx = out if isinstance(out, tuple) else (out,), call.ctx
    if not records:  # a step's results have memory of their own
        given = {id(x._storage_.array) for x in tensors}
        outs = tuple([CALLS["clone"](plain_alias(x)) if id(x._storage_.array) in given else x for x in outs])
    held = [k for k, saved in enumerate(ctx._s0_ or ()) if saved.value is not None]
    facts = tuple([(name, repr(x)) for name, x in vars(ctx).items() if not isinstance(x, (Tensor, np.ndarray))])
    if facts != attributes["facts"] or any(
        key not in (held if kind == "saved" else vars(ctx)) for kind, key in attributes["extras"]
    ):
        raise Changed(f"{function.__name__}: forward told backward other things than when it was captured. Hint: trace it again.")
    made = [
        trace.arrays[id(ctx), key][1] if kind == "array" and trace is not None else from_ctx(ctx, kind, key)
        for kind, key in attributes["extras"]
    ]
    return (*outs, *made) if records else tuple(map(plain_alias, (*outs, *made)))


class no_change:
    """A context in which nothing is different."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


FORWARD = Control("function_forward", forward_again, effect="python")


# ---- backward --------------------------------------------------------------------------------------------------------


def run_backward(trace: Trace, function: Any, ctx: Any, grads: tuple) -> Any:
    """What the ``backward`` of a Function returns.

    Raises:
        Hosted: it leaves the graph.
    """
    if function in trace.hosted:
        return backward_as_node(trace, function, ctx, grads)
    try:
        return handed_over(function, ctx, grads)
    except Hosted:
        raise
    except GraphError as error:
        raise Hosted.by(function, error) from error


def backward_as_node(trace: Trace, function: Any, ctx: Any, grads: tuple) -> Any:
    """What the ``backward`` of a Function returns, written down as one node."""
    saved = ctx.saved_tensors
    names = tuple([(name, isinstance(x, np.ndarray)) for name, x in vars(ctx).items() if isinstance(x, (Tensor, np.ndarray))])
    named = [trace.arrays[id(ctx), name][1] if array else vars(ctx)[name] for name, array in names]
    tensors = [x for x in (*saved, *named, *grads) if x is not None]
    spec = {
        "function": name_of(function),
        "needs": ctx.needs_input_grad,
        "saved": tuple([x is not None for x in saved]),
        "names": names,
        "facts": tuple([(name, x) for name, x in vars(ctx).items() if not isinstance(x, (Tensor, np.ndarray))]),
        "grads": tuple([g is not None for g in grads]),
    }
    return add_backward(trace, spec, tensors)


def add_backward(trace: Trace, spec: dict[str, Any], tensors: Sequence[Tensor]) -> Any:
    """Write a call of ``backward`` down; what it returns."""
    recorded = mode.enabled and any(map(requires_grad, tensors))
    if recorded and not trace.of_body:
        trace.refuse(f"{class_of(spec['function']).__name__}: backward reads arrays, and is recorded", "run it outside")
    ins = tuple(map(trace.value, tensors))
    need(tensors)
    trace.depth += 1
    try:
        out = call_backward(spec, [unmark(native.alias(x)) for x in tensors])
    finally:
        trace.depth -= 1
    many = out if isinstance(out, tuple) else (out,)
    if recorded:  # whether anybody differentiates it once more or not: who does is told
        many = tuple([mark_final(x, tuple(tensors)) if isinstance(x, Tensor) else x for x in many])
    given = tuple([isinstance(x, Tensor) for x in many])
    made = tuple([x for x in many if isinstance(x, Tensor)])
    trace.add(BACKWARD, ins, {**spec, "results": given}, made)
    trace.follow(made, next_seq())
    return many if isinstance(out, tuple) else many[0]


def call_backward(spec: dict[str, Any], tensors: Sequence[Tensor]) -> Any:
    """What ``backward`` returns for a ctx that holds these tensors, and cotangents."""
    function, rest = class_of(spec["function"]), iter(tensors)
    ctx: Any = new_context(function._backward_cls, function._rule_, ())
    ctx.saved_for_forward = tuple([next(rest) if held else None for held in spec["saved"]])
    ctx.needs_input_grad = spec["needs"]
    for name, array in spec["names"]:
        x = next(rest)
        vars(ctx)[name] = elements_of(x) if array else x
    vars(ctx).update(spec["facts"])
    return handed_over(function, ctx, tuple([next(rest) if held else None for held in spec["grads"]]))


def backward_again(node: Node, values: dict, *tensors: Tensor, results: tuple, **spec: Any) -> tuple:
    """The cotangents that ``backward`` gives.

    Raises:
        Changed: of other arguments than in the capture.
    """
    trace = capture_of_thread()
    if trace is not None:
        out = add_backward(trace, spec, tensors)
    else:
        with no_grad():
            out = call_backward(spec, tensors)
    many = out if isinstance(out, tuple) else (out,)
    if tuple([isinstance(x, Tensor) for x in many]) != results:
        name = class_of(spec["function"]).__name__
        raise Changed(f"{name}: backward gave gradients of other arguments than when it was captured. Hint: trace it again.")
    return tuple([x for x in many if isinstance(x, Tensor)])


BACKWARD = Control("function_backward", backward_again, effect="python")
