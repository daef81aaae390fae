"""Inference mode: what is made inside of it is marked, and autograd keeps away from it.

NOTE [Inference tensors]: a tensor is one if its layout is marked ``INFERENCE``; its storage is then writable ``IN_INFERENCE_MODE``.
  1. inside of the mode results and new tensors are marked; a view, like an in-place result, is what its memory's owner is;
  2. a view of an ordinary tensor is an ordinary view that in-place operations cannot follow (``INFERENCE`` in views.py);
  3. outside, operations take a marked tensor as a plain one of the same memory, and their results are ordinary;
  4. outside, a write to it is refused (``Storage.require_writable``, which every write asks where ``writable`` is not True), and so
     is saving it for backward.
Neither costs an ordinary call anything: marked layouts have no plans among the ordinary ones, and the mode is in ``special``.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import of_default_dtype
from ..base.errors import GradError
from ..base.grad_mode import mode, special
from ..graph.edges import Edge, Node, accumulator_of, requires_grad
from ..graph.node import saved_values
from ..native.plans import Plan
from ..ops.core import Op
from ..tensors.layout import Layout, marked_layout
from ..tensors.storage import IN_INFERENCE_MODE
from ..tensors.tensor import ASK, INFERENCE, Tensor, native, put_layout
from .interpreters import Call, interpret, register

__all__ = ["is_inference", "refuse_saving", "mark", "made", "INFERENCE", "install_inference"]


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    >>> import nbgrad
    >>> with nbgrad.inference_mode():
    ...     y = nbgrad.ones(2) * 2
    >>> nbgrad.is_inference(y), nbgrad.is_inference(y * 2)
    (True, False)
    """
    return input.layout.special is INFERENCE


def mark(x: Tensor) -> Tensor:
    """Make a tensor an inference tensor: one that nobody else has seen."""
    if isinstance(x.layout.special, bool):
        put_layout(x, marked_layout(x.layout, INFERENCE))
    if x._storage_.writable:
        x._storage_.writable = IN_INFERENCE_MODE
    return x


def made(x: Tensor) -> Tensor:
    """A tensor that was just made from data: marked, inside of the mode."""
    return mark(x) if mode.inference else x


def refuse_saving(op: str) -> None:
    """Inference tensors have no version, so that a change would go unnoticed.

    Raises:
        GradError: always.
    """
    raise GradError(
        f"{op}: an inference tensor cannot be saved for backward. Hint: clone it outside of inference mode, or make it "
        "under no_grad() instead."
    )


def require_ordinary(op: str, x: Tensor) -> None:
    """Outside of the mode an inference tensor cannot begin to require grad.

    Raises:
        GradError: ``x`` is one.
    """
    if x.layout.special is INFERENCE and not mode.inference:
        raise GradError(f"{op}: an inference tensor cannot require grad outside of inference mode. Hint: clone it first.")


def plain(x: Tensor, recorded: bool) -> Tensor:
    """An ordinary tensor on the memory of an inference tensor; where calls are recorded, a leaf's gradient goes to the leaf."""
    out = native.tensor(x.layout.unmarked().template, x._storage_, x._offset_, False, None)
    if recorded and x._needs_grad_ is True:
        out._edge_, out._needs_grad_ = x._edge_ or accumulator_of(x), True
    return out


class StandIns:
    """``stand_ins(x)``: the plain tensor in the place of an inference tensor; any other itself.

    Attributes:
        tensors: the stand-ins, which live as long as the call.
        originals: ``{id of a stand-in: the inference tensor}``.
    """

    def __init__(self, recorded: bool):
        self.recorded = recorded
        self.tensors: list[Tensor] = []
        self.originals: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        if x.layout.special is not INFERENCE:
            return x
        stand_in = plain(x, self.recorded)
        self.tensors.append(stand_in)
        self.originals[id(stand_in)] = x
        return stand_in


class Inference:
    """The interpreter of rank "inference"."""

    def concerns(self, call: Call) -> bool:
        """All calls inside of the mode; outside those of inference tensors. Functions see the tensors themselves."""
        if call.op.kind == "function":
            return False
        return (
            mode.inference
            or call.marked
            and any(x.layout.special is INFERENCE for x in tensors_in((call.operands, call.attributes, call.out)))
        )

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The call on plain tensors; its results marked, or checked."""
        # A call of inference tensors alone is not recorded outside either, though one of them may require grad.
        recorded = not (mode.inference or all(isinstance(x, Tensor) and is_inference(x) for x in call.operands))
        stand_ins = StandIns(recorded)
        changed = call.with_operands(replaced(call.operands, stand_ins), replaced(call.attributes, stand_ins))
        changed.out = replaced(call.out, stand_ins)
        if mode.inference:
            return finish_inside(plainly(below, changed), call, stand_ins)
        if stand_ins.tensors and call.form == "_" and mode.enabled and any(map(requires_grad, changed.tensors())):
            # The write would be done before the node shows what it saved: the same call without it tells.
            check_saved(CALLS[call.op.name](*changed.operands, **changed.attributes), call.op.name, stand_ins)
        result = below(changed)
        check_saved(result, call.op.name, stand_ins)
        return finish_outside(result, stand_ins)


INTERPRETER = Inference()


def tensors_in(value: Any):
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)


def replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """``value`` with every tensor in nested tuples, lists and dicts changed; itself where nothing is."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([replaced(x, change) for x in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[replaced(x, change) for x in value])
    if type(value) is dict:
        return {name: replaced(x, change) for name, x in value.items()}
    return value


def plainly(below: Callable[[Call], Any], call: Call) -> Any:
    """The operation alone: nothing is recorded, whatever the engine or ``create_graph`` set; between steps tensors are plain."""
    enabled = mode.enabled
    mode.enabled, mode.inference, mode.inferring = False, False, True
    try:
        return below(call)
    finally:
        mode.enabled, mode.inference, mode.inferring = enabled, True, False


def finish_inside(result: Any, call: Call, stand_ins: StandIns) -> Any:
    """Results inside of the mode: NOTE [Inference tensors], 1 and 2."""
    operands = list(tensors_in((call.operands, call.out)))
    owners = {id(x._storage_): x for x in operands}
    known = {id(x): x for x in operands} | stand_ins.originals

    def finish(x: Tensor) -> Tensor:
        if id(x) in known:
            return known[id(x)]
        owner = owners.get(id(x._storage_))
        if owner is None:  # new memory; a view of what was made on the way is nobody's view
            x._meta_, x._needs_grad_ = None, False
            return mark(x)
        if owner.layout.special is INFERENCE:
            x._meta_, x._needs_grad_ = None, False
            return mark(x)
        if x._needs_grad_ is ASK:
            x._meta_.creation = INFERENCE
        return x

    return replaced(result, finish)


def finish_outside(result: Any, stand_ins: StandIns) -> Any:
    """Results outside of the mode: NOTE [Inference tensors], 3; views are inference tensors too."""
    known, storages = stand_ins.originals, {id(x._storage_) for x in stand_ins.tensors}

    def finish(x: Tensor) -> Tensor:
        if id(x) in known:
            return known[id(x)]
        if id(x._storage_) in storages:
            x._meta_, x._edge_, x._needs_grad_ = None, None, False
            return mark(x)
        return x

    return replaced(result, finish)


def check_saved(result: Any, op: str, stand_ins: StandIns) -> None:
    """Refuse a node that saved an inference tensor.

    Raises:
        GradError: it did.
    """
    first = next(tensors_in(result), None)
    edge = first._edge_ if first is not None else None
    node = edge.node if type(edge) is Edge else edge
    if isinstance(node, Node):
        saved = (*saved_values(node), getattr(node._attrs_, "attributes", None))
        if any(id(x) in stand_ins.originals for x in tensors_in(saved)):
            refuse_saving(op)


# ---- known calls inside of the mode ---------------------------------------------------------------------------------

# NOTE [Quick inference]: a call that has been interpreted once inside of the mode leaves a plan behind: the ordinary one with
# marked layouts in its operands' and results' places. The next one of its layouts costs 0.5 us instead of 10, if no other special
# mode is active anywhere (``special`` has one member, see grad_mode.Inferring).

NEVER: list = []  # what native calls test instead of ``special``
Quick = Any  # a Plan; a QuickView; the ordinary ViewPlan of an ordinary tensor's view


def elementwise_caller(plans: dict, general: Callable[[tuple], Any]) -> Callable:
    """``call(*operands)`` of an elementwise operation inside of the mode.

    Args:
        plans: the operation's ordinary plans.
        general: the call that makes one.
    """
    quick = of_default_dtype({})
    made: list[Callable] = []

    def miss(*operands):
        out = general(operands)
        learn(quick, plans, operands, out)
        return out

    def call(*operands):
        if len(special) != 1:
            return general(operands)
        if not made:
            made.append(native.caller(quick, NEVER, miss, record_nothing, mode, (0, 0)))
        out = made[0](*operands)
        # A type that overrides operations may have returned anything.
        if type(out) is Tensor and out.layout.special is INFERENCE and out._storage_.writable:
            out._storage_.writable = IN_INFERENCE_MODE
        return out

    return call


def record_nothing(plan: Any, out: Tensor, *operands: Any) -> None:
    """What becomes of a call that would be recorded outside."""


def key_of(layouts: tuple) -> Any:
    """The key under which native calls look for a plan: layouts, and types of numbers."""
    return layouts[0] if len(layouts) == 1 or len(layouts) == 2 and layouts[0] is layouts[1] else layouts


def learn(quick: dict, plans: dict, operands: tuple, out: Any) -> None:
    """Keep a plan for calls of the same layouts, if the ordinary plan of their plain layouts was used."""
    layouts = tuple(x.layout if isinstance(x, Tensor) else type(x) for x in operands)
    plan = plans.get(key_of(tuple(map(unmarked, layouts)))) if all(map(is_simple, layouts)) else None
    if plan is None or len(plan.layouts) != len(layouts) or not isinstance(out, Tensor):
        return
    if out.layout is marked_layout(plan.outs[0].layout, INFERENCE):
        keep(quick, key_of(layouts), plan_like(plan, layouts, (out,)))


def is_simple(layout: Layout | type) -> bool:
    """Whether no other interpreter is concerned with tensors of this layout."""
    if not isinstance(layout, Layout) or layout.special is False:
        return True
    return layout.special is INFERENCE and not (layout.conj or layout.neg)


def unmarked(layout: Layout | type) -> Layout | type:
    """The layout without the mark; a number's type itself."""
    return layout.unmarked() if isinstance(layout, Layout) and layout.special else layout


def plan_like(plan: Plan, layouts: tuple, results: tuple) -> Plan:
    """A plan of the same launch for operands and results of other layouts."""
    return Plan(
        plan.record,
        tuple(x.layout.template for x in results),
        tuple(layout if isinstance(layout, Layout) else None for layout in layouts),
    )


class QuickView:
    """A view of an inference tensor: the layout, and the distance in bytes."""

    __slots__ = ("template", "offset")

    def __init__(self, template: Tensor, offset: int):
        self.template, self.offset = template, offset


general_plans: dict[tuple, Quick] = of_default_dtype({})


def general_in_mode(op: Op, tensors: tuple, attributes: dict) -> Any:
    """A call of any other operation inside of the mode."""
    key: tuple = ()
    if len(special) == 1:
        try:
            if len(tensors) == 1:  # 0.1 us less than the general form
                key = (op.name, tensors[0].layout, *attributes.values())
            else:
                key = (op.name, *[x.layout for x in tensors], *attributes.values())
            plan = general_plans.get(key)
        except (AttributeError, TypeError):  # a number or a sequence for a tensor, a list among the attributes
            return direct(Call(op, tensors, attributes, CALLS[op.name].plain))
        if plan is not None:
            return run_quickly(op, plan, tensors)
    return learn_general(key, Call(op, tensors, attributes, CALLS[op.name].plain), CALLS[op.name])


def run_quickly(op: Op, plan: Quick, tensors: tuple) -> Any:
    """A known call."""
    if type(plan) is Plan:
        out = native.fresh(plan, *tensors)
        if type(out) is not tuple:
            out._storage_.writable = IN_INFERENCE_MODE
            return out
        for x in out:
            x._storage_.writable = IN_INFERENCE_MODE
        return out
    x = tensors[0]
    if type(plan) is QuickView:
        return native.tensor(plan.template, x._storage_, x._offset_ + plan.offset, False, None)
    function: Any = CALLS[op.name]
    out = function.view(x, plan)
    out._meta_.creation = INFERENCE
    return out


def write_in_mode(op: Any, operands: tuple, plans: dict, beneath: Callable, check: Callable) -> Tensor:
    """An in-place call of an elementwise operation inside of the mode.

    Args:
        plans: the ordinary plans of the in-place form.
        beneath: the call that makes one.
        check: what refuses a write, ``check(name, x, recorded)``.
    """
    layouts = tuple([x.layout if isinstance(x, Tensor) else type(x) for x in operands])
    key = (op.name, "_", *layouts)
    plan = general_plans.get(key) if len(special) == 1 else None
    x = operands[0]
    if plan is not None:
        check(op.name + "_", x, False)
        native.into(plan, x, *(operands if len(plan.layouts) == len(operands) else operands[1:]))
        return x
    if len(special) != 1 or not all(map(is_simple, layouts)):
        return interpret(Call(op, operands, {}, beneath, "_"))
    direct(Call(op, operands, {}, beneath, "_"))
    plan = plans.get(tuple(map(unmarked, layouts)))
    if plan is not None and not op.integer_divisor:
        keep(general_plans, key, plan_like(plan, layouts[len(layouts) - len(plan.layouts) :], (x,)))
    return x


def direct(call: Call) -> Any:
    """A call that concerns no other interpreter, at once; any other by way of all of them."""
    if all(is_simple(x.layout) for x in tensors_in((call.operands, call.attributes, call.out))):
        return INTERPRETER.run(call, lambda changed: changed.plain(*changed.operands, **changed.attributes))
    return interpret(call)


def learn_general(key: tuple, call: Call, function: Any) -> Any:
    """Run a call, and keep a plan for others of the same layouts and attributes, if the ordinary one was used.

    Args:
        key: of the plan; empty where none can be kept.
        function: the operation's: ``function.plans`` are its ordinary plans, ``function.view`` makes a view from one.
    """
    if not key:
        return interpret(call)
    out = direct(call)
    layouts, values = tuple(x.layout for x in call.operands), tuple(call.attributes.values())
    if not all(map(is_simple, layouts)) or getattr(call.op, "multiple", False):
        return out
    plain_layouts = tuple(map(unmarked, layouts))
    plans = getattr(function, "plans", {})
    plan: Any = plans.get((*plain_layouts, *values)) or (plans.get(plain_layouts[0]) if not values and len(layouts) == 1 else None)
    if hasattr(plan, "offset"):
        keep(general_plans, key, QuickView(out.layout.template, plan.offset) if layouts[0].special else plan)
    elif plan is not None and len(plan.layouts) == len(layouts):
        keep(general_plans, key, plan_like(plan, layouts, out if type(out) is tuple else (out,)))
    return out


# ---- on Tensor -----------------------------------------------------------------------------------------------------


def version(x: Tensor) -> int:
    """Number of in-place writes to the memory.

    Raises:
        GradError: an inference tensor, which counts none.
    """
    if x.layout.special is INFERENCE:
        raise GradError("_version: inference tensors have no version counter. Hint: clone it outside of inference mode.")
    return +x._storage_.version  # an int, also of an Exchanged


def install_inference() -> None:
    """Hang on Tensor what inference tensors have of their own, and take the rank among the interpreters."""
    members: dict[str, Any] = {"is_inference": is_inference, "_version": property(version, doc=version.__doc__)}
    for name, member in members.items():
        setattr(Tensor, name, member)
    register("inference", INTERPRETER)
