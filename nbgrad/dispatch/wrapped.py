"""Results of operations on wrappers, recorded: NOTE [Wrappers] of modes/wrappers.py.

The node is that of the operation on plain tensors of the same layouts, its *stand-ins*; what it saves are the wrappers themselves,
and of a result what the class makes of ``detach``. So the formulas of its backward run on wrappers, and give
wrappers.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from ..base.calls import CALLS
from ..base.errors import NotSupportedError
from ..graph.edges import Edge, Node
from ..graph.saved import Guarded
from ..modes.interpreters import Call
from ..modes.wrappers import is_wrapped, unmarked_twin
from ..native.plans import ElementwisePlan
from ..ops.core import Movement
from ..tensors.tensor import Tensor
from .elementwise_rules import Subsets
from .movements import ViewPlan, record_view
from .records import recorded

__all__ = ["record_wrapped"]


def record_wrapped(call: Call, result: Any) -> Any:
    """Give the result of a call, or its results, the node of the operation.

    Raises:
        NotSupportedError: a write to a wrapper, which is no operation of which a node could be made.
    """
    if call.form:
        raise NotSupportedError(
            f"{call.name}: a write to a {type(call.operands[0]).__name__} that gradients flow into is not recorded. Hint: the "
            "out-of-place form, or no_grad()."
        )
    if call.op.kind == "method":
        return result
    several = isinstance(result, (tuple, list))
    results = tuple([own_result(x, call) for x in (result if several else (result,))])
    stand_ins = [unmarked_twin(x) if isinstance(x, Tensor) else x for x in results]
    operands = call.map(lambda x: unmarked_twin(x) if is_wrapped(x) else x)
    if isinstance(call.op, Movement):
        record_movement(call.op, operands[0], call.attributes, stand_ins)
    else:
        recorded(call.op, operands, call.attributes, tuple(stand_ins) if several else stand_ins[0])
    for x, plain in zip(results, stand_ins):
        if isinstance(x, Tensor) and plain._edge_ is not None:
            x._edge_, x._needs_grad_ = plain._edge_, True
    edge = stand_ins[0]._edge_
    node = edge.node if isinstance(edge, Edge) else edge
    if isinstance(node, Node):
        save_wrappers(node, call, results[0])
    return results if several else results[0]


def own_result(x: Any, call: Call) -> Any:
    """A result that may get a history: what a handler returns of its operands is another tensor of that class."""
    if isinstance(x, Tensor) and (x._edge_ is not None or x._needs_grad_ is not False or any(x is y for y in call.tensors())):
        return CALLS["detach"](x)
    return x


def record_movement(op: Movement, x: Tensor, attributes: dict, outs: list[Tensor]) -> None:
    """The node of a movement, whose results are no views of memory here."""
    node = record_view(op, x, ViewPlan(op, x.layout, tuple(attributes.values())))
    if node is not None:
        for nr, out in enumerate(outs):
            out._edge_ = Edge(node, nr) if node._outputs_ > 1 else node


def save_wrappers(node: Node, call: Call, out: Any) -> None:
    """Let a node save wrappers in the places of their stand-ins."""
    names = node._rule_.saved_names
    places = dict(zip(call.op.operands, call.operands))
    for slot, name in enumerate(names):
        value = detached(out) if name == "out" else places.get(name)
        if is_wrapped(value):
            setattr(node, f"_s{slot}_", value)
            setattr(node, f"_v{slot}_", value._storage_.version)  # type: ignore[union-attr]
    if isinstance(node._plan_, ElementwisePlan):
        node._plan_ = without_kernels(node._plan_)
    if type(node._attrs_) is Guarded:
        node._attrs_ = Guarded(node._attrs_.op, call.attributes, [x for x, _ in node._attrs_.versions or ()])


def without_kernels(plan: ElementwisePlan) -> ElementwisePlan:
    """The plan, for a node whose formulas run by calls: none of the backward kernels of other calls is found."""
    own = copy(plan)
    own.reduced = True  # so nothing is done at once: see ``Differentiator`` of native/calls.py
    own.backs = Subsets() if isinstance(plan.backs, Subsets) else [None] * len(plan.backs)
    return own


def detached(x: Any) -> Any:
    """What the class makes of a result without its history, so that a node does not hold itself."""
    return CALLS["detach"](x) if is_wrapped(x) else x
