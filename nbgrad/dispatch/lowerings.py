"""The registries of lowerings and of prepared runs, and the plans that lowerings make.

A *lowering* says how a general operation is computed for operands of given layouts; it is a function in lowering/ under the
decorator ``@lowering("name")``. There are two styles: ``plan(op, layouts, attributes) -> GeneralPlan`` for one launch, and
``run(op, tensors, attributes) -> result`` for work of several steps. planned.py and prepared.py make the calls of both.
"""

from __future__ import annotations

from functools import cache, update_wrapper
from typing import Any, Callable

from ..base import bounded
from ..base.errors import KernelError
from ..native.plans import Plan, is_on_device
from ..ops.core import General, Op
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native
from .patterns import Patterns

__all__ = [
    "FOLD",
    "LATER",
    "load_on_gpu",
    "LOWERINGS",
    "ON_GPU",
    "lowering",
    "lowering_of",
    "PREPARED",
    "prepared",
    "RESULTS",
    "result_of",
    "GeneralPlan",
    "GeneralPattern",
    "RunPlan",
    "complete",
    "copies_of",
    "for_sizes",
    "facts_of",
    "PreparedPlan",
]

# ``{operation: lowering}``; filled by the modules of ``lowering``.
LOWERINGS: dict[str, tuple[str, Callable]] = {}
# Under this name the lowering of all that is declared with a monoid.
FOLD = "(fold)"


# What fills the next table, called for the first tensor on a GPU.
LATER: list[Callable[[], None]] = []
# The same for tensors on GPUs; what has none there runs on the CPU (device_lowerings.py).
ON_GPU: dict[str, tuple[str, Callable]] = {}
REGISTRIES: dict[str | None, tuple[dict, ...]] = {"cpu": (LOWERINGS,), "cuda": (ON_GPU,), None: (LOWERINGS, ON_GPU)}


def load_on_gpu() -> None:
    """Fill what is filled for the first tensor on a GPU."""
    while LATER:
        LATER[-1]()
        LATER.pop()


def lowering_of(op: General) -> tuple[str, Callable] | None:
    """``(style, lowering)`` of an operation: its own, or that of folds; None if it has neither."""
    return LOWERINGS.get(op.name) or (LOWERINGS[FOLD] if op.monoid else None)


def lowering(*names: str, style: str = "plan", device: str | None = "cpu") -> Callable:
    """Register the decorated function as the lowering of the operations ``names``.

    Args:
        device: where: "cpu", "cuda", or None for both, as where it is written in calls.

    ``style="plan"``: ``f(op, layouts, attributes) -> GeneralPlan``, or a ``run`` function where these layouts need several steps;
    ``style="run"``: ``f(op, tensors, attributes)`` -> result. On a GPU ``plan`` gives ``(layouts of the results, Steps)`` in the
    place of a plan.
    """

    def register(function):
        for name in names:
            for table in REGISTRIES[device]:
                table[name] = (style, function)
        return function

    return register


# ``{operation: f(op, layouts, attributes)}``: see ``result_of``.
RESULTS: dict[str, Callable] = {}


def result_of(*names: str) -> Callable:
    """Register ``f(op, layouts, attributes)``, the layout of the result of operations whose steps look at elements.

    On meta, where there are none, it is called in place of the steps: NOTE [Meta] of tensors/meta.py. Of other operations the plan
    or the steps themselves say what the result is.
    """

    def register(function):
        RESULTS.update(dict.fromkeys(names, function))
        return function

    return register


# ``{operation: (make, attributes that hold tensors, whether on a GPU, too)}``: see NOTE [Prepared runs].
PREPARED: dict[str, tuple[Callable, tuple[str, ...], bool]] = {}


def prepared(*names: str, tensors: tuple[str, ...] = (), on_gpu: bool = False) -> Callable:
    """Register the decorated function as what prepares quick runs of the operations ``names``.

    NOTE [Prepared runs]: an operation of several steps decides by layouts and attributes which steps. After a call that went well
    ``make(op, layouts, attributes)`` says it once, for all calls of its kind: ``quick(*values)``, a function of all arguments in
    their order that gives the result, or None for a call that must go the long way after all (an index out of range: its error is
    made there). It is None where there is nothing to prepare. In ``layouts`` a sequence of tensors is a tuple of layouts, and so
    are tensors (``tensors`` names the attributes that hold them) in ``attributes``. Marked layouts are never prepared.

    ``on_gpu``: calls on a GPU are prepared as well; without it their layouts never come here.

    Composites may be prepared too; their first argument is the operand. What their ``quick`` computes it must record as well.
    """

    def register(make):
        for name in names:
            PREPARED[name] = make, tensors, on_gpu
        return make

    return register


class Facts:
    """What rules and tools may ask of a call: its attributes, and ``x_shape``, ``x_dtype``, ``out_shape`` and so on.

    Made when first asked for: a call of a shape never seen before, and never differentiated, pays nothing for it.
    """

    __slots__ = ()
    op: Op
    given: tuple[tuple, dict]
    made: Any
    outs: tuple

    @property
    def facts(self) -> dict:
        """The facts by name."""
        made = self.made
        if made is None:
            layouts, attributes = self.given
            made = self.made = facts_of(self.op, layouts, attributes, self.outs)
            bounded.conceal(made)
        return made


class GeneralPlan(Facts, Plan):
    """A launch, with the facts that the rules may ask for.

    Attributes:
        op: the operation.
        given: layouts of the operands, and attributes by name.
        made: the facts, once asked for.
        sized: ``sized(numel)``, the record for a contiguous operand of so many elements where nothing else depends on the shape, or
            None if it does there; None for a plan of one shape.
    """

    __slots__ = ("op", "given", "made", "sized")
    sized: Callable[[int], bytes | None] | None

    def __init__(self, record: bytes, outs: tuple, layouts: tuple, sized: Callable[[int], bytes | None] | None = None):
        first = layouts[0] if layouts and layouts[0] is not None else outs[0].layout if outs else None
        if first is not None and first.memory is not None and not is_on_device(record):
            raise KernelError(f"launch: a kernel of the CPU was planned for memory of {first.device}.")
        self.record, self.outs, self.layouts, self.sized = record, outs, layouts, sized


class GeneralPattern:
    """A plan that is copied for other contiguous shapes.

    Attributes:
        build: ``build(record, layouts, given)``, the copy.
        sized: as the plan's; what it returns is the copy's record.
        attributes: of the call.
    """

    __slots__ = ("build", "sized", "attributes")

    def __init__(self, plan: GeneralPlan):
        assert plan.sized is not None
        shared = object.__new__(GeneralPlan)
        shared.outs, shared.op, shared.made, shared.sized = plan.outs, plan.op, None, plan.sized
        self.build = native.builder(shared, ("record", "layouts", "given"), True)
        self.sized, self.attributes = plan.sized, plan.given[1]


def copies_of(plan: GeneralPlan) -> Callable[[tuple, bytes, tuple, tuple], GeneralPlan]:
    """What builds plans that differ from one in their sizes alone: see ``Patterns`` in patterns.py."""
    shared, (layouts, attributes) = object.__new__(GeneralPlan), plan.given
    shared.op, shared.made, shared.sized = plan.op, None, None
    build, count, names = native.builder(shared, ("record", "outs", "layouts", "given"), True), len(layouts), tuple(attributes)

    def copy(inputs: tuple, record: bytes, outs: tuple, layouts: tuple) -> GeneralPlan:
        bounded.conceal(operands := inputs[:count])
        return build(record, outs, layouts, (operands, dict(zip(names, inputs[count:]))))

    return copy


def for_sizes(*sizes: int) -> Callable[[Callable[..., GeneralPlan]], Callable[..., GeneralPlan]]:
    """A decorator of functions of layouts that give a step's plan, for sizes that come again and again: see ``Patterns``.

    Args:
        sizes: places of arguments that are sizes, too.
    """

    def copies(plan: GeneralPlan) -> Callable[[tuple, bytes, tuple, tuple], GeneralPlan]:
        shared = object.__new__(GeneralPlan)
        shared.sized = None
        build = native.builder(shared, ("record", "outs", "layouts"), True)
        return lambda inputs, *parts: build(*parts)

    def decorated(make: Callable[..., GeneralPlan]) -> Callable[..., GeneralPlan]:
        patterns = Patterns(make, copies, make.__name__, sizes)
        return update_wrapper(lambda *inputs: patterns.plan_of(inputs), make)

    return decorated


class RunPlan(Facts):
    """What a node of an operation of several steps needs of a plan."""

    __slots__ = ("op", "given", "made", "outs")

    def __init__(self, out: Tensor):
        self.outs = (out.layout.template,)


def complete(plan, op: Op, layouts: tuple, attributes: dict):
    """Tell a plan the call that it belongs to; returns the plan."""
    plan.op, plan.given, plan.made = op, (layouts, attributes), None
    return plan


@cache
def fact_names(op: Op) -> tuple[tuple[str, str, str], ...]:
    """For every operand the names of the facts about it."""
    return tuple((f"{name}_shape", f"{name}_dtype", f"{name}_layout") for name in op.operands)


def facts_of(op: Op, layouts: tuple, attributes: dict, outs: tuple) -> dict:
    """The facts of a call."""
    facts = dict(attributes)
    for (shape, dtype, whole), layout in zip(fact_names(op), layouts):
        if type(layout) is Layout:
            facts[shape], facts[dtype], facts[whole] = layout.shape, layout.dtype, layout
        elif isinstance(layout, tuple):
            facts[shape + "s"] = tuple(each.shape for each in layout)
            facts[dtype + "s"] = tuple(each.dtype for each in layout)
    facts["out_shape"] = outs[0].layout.shape if outs else ()
    facts["outs"] = len(outs)
    return facts


class PreparedPlan(Facts):
    """A prepared run, with what its nodes need of a plan.

    Attributes:
        run: ``run(*arguments)``; None from it: the call must go the long way.
    """

    __slots__ = ("op", "given", "made", "outs", "run")
    run: Callable
