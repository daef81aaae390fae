"""Calls and rules of the operations whose derivatives are formulas of tensors: reductions, views, matmul, indexing, ...

A *planned* operation has a lowering ``plan(op, layouts, attributes) -> GeneralPlan``: plans are kept by (layouts, attributes),
and a call is one look-up and one native launch. A *run* operation has ``run(op, tensors, attributes) -> result``, for work of
several steps. Views are planned, without a launch. All of them record through ``GeneralRule``.
"""
from __future__ import annotations

import inspect
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import Any, Callable

from numpy import generic

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..graph.edges import Edge, Node, edge_of, next_seq, requires_grad
from ..graph.node import Rule, blank_node, saved_slots
from ..graph.saved import (
    Guarded,
    RawSaved,
    freed_backward,
    freed_error,
    raw_attributes,
    raw_of_several,
    require_history,
    tensors_in,
    unpack_alike,
)
from ..modes.inference import general_in_mode, is_inference, refuse_saving
from ..modes.interpreters import Call, interpret, is_marked, known_call, quick_call
from ..native.launch import Plan
from ..ops.core import OPS, General, Movement, Op
from ..ops.kinds import is_strange, odd_condition, odd_lines, odd_test, refuse_odd, refuse_wrong_kind, whole_names
from ..ops.spellings import RENAMED, foreign_names, own_arguments, public_signature
from ..ops.torch_names import CONSTANTS, NAMES, shown
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import STORAGE_TEMPLATE, unwatched
from ..tensors.tensor import ASK, DEFAULT, META_TEMPLATE, MULTI_OUTPUT, NO_GRAD, Meta, Tensor, native
from .elementwise import compile_text, history_steps, node_template, saved_output, saved_value

__all__ = ["GeneralPlan", "GeneralRule", "ViewPlan", "LOWERINGS", "lowering", "prepared", "general_call", "movement_call",
           "record_run"]

# ``{operation: lowering}``; filled by the modules of ``lowering``.
LOWERINGS: dict[str, tuple[str, Callable]] = {}


def lowering(*names: str, style: str = "plan") -> Callable:
    """Register the decorated function as the lowering of the operations ``names``.

    ``style="plan"``: ``f(op, layouts, attributes) -> GeneralPlan``, or a ``run`` function where these layouts need several steps;
    ``style="run"``: ``f(op, tensors, attributes)`` -> result.
    """
    def register(function):
        for name in names:
            LOWERINGS[name] = (style, function)
        return function
    return register


# ``{operation: (make, attributes that hold tensors)}``: see NOTE [Prepared runs].
PREPARED: dict[str, tuple[Callable, tuple[str, ...]]] = {}


def prepared(*names: str, tensors: tuple[str, ...] = ()) -> Callable:
    """Register the decorated function as what prepares quick runs of the operations ``names``.

    NOTE [Prepared runs]: an operation of several steps decides by layouts and attributes which steps. After a call that went well
    ``make(op, layouts, attributes)`` says it once, for all calls of its kind: ``quick(*values)``, a function of all arguments in
    their order that gives the result, or None for a call that must go the long way after all (an index out of range: its error is
    made there). It is None where there is nothing to prepare. In ``layouts`` a sequence of tensors is a tuple of layouts, and so
    are tensors (``tensors`` names the attributes that hold them) in ``attributes``. Marked layouts are never prepared.

    Composites may be prepared too; their first argument is the operand. What their ``quick`` computes it must record as well.
    """
    def register(make):
        for name in names:
            PREPARED[name] = make, tensors
        return make
    return register


class Facts:
    """What rules and tools may ask of a call, by name: attributes, ``x_shape``, ``x_dtype``, ``out_shape`` and so on.

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
        self.record, self.outs, self.layouts, self.sized = record, outs, layouts, sized


class GeneralPattern:
    """A plan of which copies serve other contiguous shapes: 0.7 instead of 4 us for a shape never seen before.

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
        self.build = native.builder(shared, ("record", "layouts", "given"))
        self.sized, self.attributes = plan.sized, plan.given[1]


class RunPlan(Facts):
    """What a node of an operation of several steps needs of a plan."""

    __slots__ = ("op", "given", "made", "outs")

    def __init__(self, out: Tensor):
        self.outs = (out.layout.template,)


def complete(plan, op: Op, layouts: tuple, attributes: dict):
    """Say of what call a plan is."""
    plan.op, plan.given, plan.made = op, (layouts, attributes), None
    return plan


@cache
def fact_names(op: Op) -> tuple[tuple[str, str, str], ...]:
    """For every operand the names of what is known of it."""
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


# ---- rules ---------------------------------------------------------------------------------------------------------

class GeneralRule(Rule):
    """Backward of an operation for one subset of its operands.

    Attributes:
        wanted: names of the operands that need a gradient.
        formulas: their cotangents, functions of tensors.
        saved_names: operands (and ``out``) that the formulas mention.
        frees: whether a pass without retain_graph frees the node.
    """

    def __init__(self, op: Op, wanted: tuple[str, ...], keeps: bool = False):
        self.op, self.wanted, self.name, self.node_name = op, wanted, op.name, op.node_name
        self.formulas = tuple(vjp_formula(op, name) for name in wanted)
        self.params = tuple(tuple(inspect.signature(f).parameters) for f in self.formulas)
        mentioned = {name for names in self.params for name in names}
        self.saved_names = tuple(name for name in (*op.operands, "out") if name in mentioned)
        self.frees = keeps or bool(self.saved_names)
        self.single = len(wanted) == 1
        self.spread = op.operands[0] in wanted and getattr(op, "variadic", False)

    def places(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """Edges belong to the operands that need a gradient, among those that can have one."""
        if self.spread:
            return None
        if isinstance(self.op, Movement):
            return None
        able = [name for name in self.op.edges if name in self.op.vjps]
        return (len(able), tuple(able.index(name) for name in self.wanted)) if len(able) != len(self.wanted) else None

    def slot(self, name: str) -> int | None:
        """The slot of a saved value, by torch's name of it or by ours."""
        name = NAMES.get(self.name, {}).get(name, name)
        return next((k for k, own in enumerate(self.saved_names) if name in (own, *_ALIASES.get(own, ()))), None)

    def shown_names(self) -> list[str]:
        """The names of saved values and of attributes, torch's first."""
        theirs = {own: name for name, own in NAMES.get(self.name, {}).items()}
        saved = [theirs.get(own) or _ALIASES.get(own, (own,))[0] for own in self.saved_names]
        attributes = [theirs.get(name, name) for name in self.op.signature.parameters if name not in self.op.operands]
        return [*saved, *attributes, *CONSTANTS.get(self.name, ())]

    def saved(self, node: Node, name: str):
        """The saved value, or attribute, of that name."""
        slot = self.slot(name)
        if slot is not None:
            return saved_value(node, slot, self.saved_names[slot] == "out")
        if node._backward_ is freed_backward:
            raise freed_error(node)
        facts = node._plan_.facts if type(node._attrs_) is not Guarded else {**node._plan_.facts, **node._attrs_.values()}
        renamed, constants = NAMES.get(self.name, {}), CONSTANTS.get(self.name, {})
        if (own := renamed.get(name, name)) in facts:
            return shown(self.name, name, facts[own])
        if name in constants:
            return constants[name]
        operand, _, aspect = name.partition("_sym_")        # as torch names sizes: self_sym_sizes
        operand = renamed.get(operand, operand)
        own = next((own for own, names in _ALIASES.items() if operand in names), operand)
        layout = facts.get(f"{own}_layout")
        known = {} if layout is None else {"sizes": layout.shape, "strides": layout.strides, "numel": layout.numel}
        return known[aspect] if aspect in known else super().saved(node, name)

    def raw_saved(self, node: Node, name: str):
        """The slot behind a saved value; of an attribute that holds several tensors a tuple."""
        slot = self.slot(name)
        if slot is not None:
            return RawSaved(node, slot)
        found = raw_attributes(node, name)
        if not found:
            return super().saved(node, name)
        return raw_of_several(node, name) if isinstance(node._attrs_.attributes[name], (tuple, list)) else found[0]

    def backward(self, node: Node, g, create_graph: bool):
        """Evaluate the formulas: text made when first used, kept for all nodes."""
        made = self.compiled = self.generate()
        return made(node, g, create_graph)

    def part(self, chosen: tuple[bool, ...]) -> Callable | None:
        """``backward`` of some of the operands; of a sequence of them all."""
        return None if self.spread or len(chosen) != len(self.wanted) else part_of(self, chosen)

    def generate(self, chosen: tuple[bool, ...] | None = None) -> Callable:
        """``backward(node, g, create_graph)``: check versions, call the formulas with what they name.

        Args:
            chosen: which of the operands are of interest; None: all.
        """
        lines = ["def backward(node, g, create_graph):"]
        params = [names if chosen is None or chosen[k] else () for k, names in enumerate(self.params)]
        used = {name for names in params for name in names}
        for i, name in enumerate(self.saved_names):
            if name not in used:
                continue
            lines += [f"    {name} = node._s{i}_",
                      f"    if {name} is None or {name}._storage_.version != node._v{i}_: {name} = unpack_alike(node, {i})"]
        lines += self.histories(used)
        known = {"g", *self.saved_names}
        if used - known:
            lines += ["    facts = node._plan_.facts",
                      "    given = facts if node._attrs_ is None else node._attrs_.values()"]
        attributes = attribute_names(self.op)
        source = {p: f"{'given' if p in attributes else 'facts'}[{p!r}]" for names in params for p in names}
        calls = [f"f{k}({', '.join(p if p in known else source[p] for p in names)})" if chosen is None or chosen[k] else "None"
                 for k, names in enumerate(params)]
        scope: dict[str, Any] = {"unpack_alike": unpack_alike, "saved_output": saved_output, "require_history": require_history,
                                 **{f"f{k}": f for k, f in enumerate(self.formulas)}}
        for k, (name, names) in enumerate(zip(self.wanted, params)):
            other, rest = getattr(self.op, "after", {}).get(name, (None, None))
            if names and other in self.wanted and params[place := self.wanted.index(other)]:
                last = tuple(inspect.signature(rest).parameters)[1:]
                lines.append(f"    r{place} = {calls[place]}")
                calls[place] = f"r{place}"
                calls[k] = f"a{k}({', '.join([f'r{place}', *(p if p in known else source[p] for p in last)])})"
                scope[f"a{k}"] = rest
        if self.spread:
            lines += [f"    results = (*{calls[0]}, {', '.join(calls[1:])})",
                      "    return results[0] if len(node._edges_) == 1 else results"]
        else:
            lines.append(f"    return {', '.join(calls)}")
        wanted = [name for k, name in enumerate(self.wanted) if chosen is None or chosen[k]]
        exec(compile_text("\n".join(lines) + "\n", f"{self.name} backward {'_'.join(wanted)}"), scope)
        return scope["backward"]

    def histories(self, used: set[str]) -> list[str]:
        """For a derivative to be differentiated: the saved result gets its history back, and operands must still have theirs."""
        used = used & {*self.saved_names}
        steps = [] if self.spread else history_steps(self.wanted, used)
        steps += ["        out = saved_output(node, out)"] * ("out" in used)
        return ["    if create_graph:", *steps] if steps else []


@cache
def part_of(rule: GeneralRule, chosen: tuple[bool, ...]) -> Callable:
    """The ``backward`` of some of a rule's operands, made once."""
    return rule.generate(chosen)


_ALIASES = {"x": ("self", "input"), "y": ("other", "mat2"), "out": ("result",)}


def vjp_formula(op: Op, name: str) -> Callable:
    """The formula of an operand's cotangent."""
    if isinstance(op, Movement):
        return op.inverse
    return op.vjps[name]


def guarded_attributes(op: Op, attributes: dict) -> Guarded | None:
    """The attributes of a call as its node keeps them, if some hold tensors.

    Raises:
        GradError: inference tensors, which have no version.
    """
    tensors = tensors_in(attributes.values())
    for x in tensors:
        if is_inference(x):
            refuse_saving(op.public)
    return Guarded(op.public, attributes, tensors) if tensors else None


@cache
def node_builder(op: Op, wanted: tuple[str, ...], outputs: int = 1, keeps: bool = False) -> tuple[GeneralRule, Callable]:
    """The rule and ``new_node(seq, plan, edges, attrs, *(saved, version))``; ``keeps``: attributes hold tensors."""
    rule = GeneralRule(op, wanted, keeps)
    slots = ("_seq_", "_plan_", "_edges_", "_attrs_", *saved_slots(len(rule.saved_names)))
    template = blank_node(Node, slots)
    template._rule_, template._backward_, template._outputs_ = rule, rule.generate(), outputs
    return rule, native.builder(template, slots, True)


@cache
def recorder(op: General, mask: int, keeps: bool = False) -> Callable:
    """``record(plan, out, *operands)``, for a subset of the operands as bits; ``keeps``: attributes hold tensors."""
    wanted = tuple(name for name in op.edges if mask >> op.operands.index(name) & 1)
    rule = GeneralRule(op, wanted, keeps)
    template = node_template(rule, rule.generate(), len(rule.saved_names))
    saved = tuple((-1 if name == "out" else op.operands.index(name), False) for name in rule.saved_names)
    return native.recorder(template, tuple(op.operands.index(name) for name in wanted), saved, edge_of)


def make_node(op: Op, plan, wanted: tuple[str, ...], edges: tuple, tensors: dict, out: Tensor | None, guarded=None,
              outputs: int = 1) -> Node:
    """A node of ``op``; ``tensors`` by operand name."""
    rule, build = node_builder(op, wanted, outputs, guarded is not None)
    saved: list = []
    for name in rule.saved_names:
        value = native.alias(out) if name == "out" else tensors[name]
        saved += [value, value._storage_.version]
    return build(next_seq(), plan, edges, guarded, *saved)


def needs_gradient(x) -> bool:
    """Whether ``x`` is a tensor into which gradients flow."""
    if not isinstance(x, Tensor):
        return False
    needs = x._needs_grad_
    return requires_grad(x) if needs is ASK else needs


def record_result(op: General, plan, tensors: tuple, out: Tensor, guarded: Guarded | None = None) -> None:
    """Give the first result of an operation its node, if an operand needs a gradient."""
    bits, recorders = recorders_of(op)
    mask = 0
    for bit, x in zip(bits, tensors):
        needs = x._needs_grad_
        if needs and bit and (needs is not ASK or requires_grad(x)):
            mask |= bit
    if mask and out.layout.dtype.differentiable:
        if guarded is None:
            (recorders.get(mask) or recorders.setdefault(mask, recorder(op, mask)))(plan, out, *tensors)
        else:
            recorder(op, mask, True)(plan, out, *tensors)
            out._edge_._attrs_ = guarded


@cache
def recorders_of(op: General) -> tuple[tuple[int, ...], dict[int, Callable]]:
    """For every operand its bit, 0 if there is no gradient by it; and what records, by the bits of those that need one."""
    return tuple(1 << k if name in op.vjps else 0 for k, name in enumerate(op.operands)), {}


# ---- calls ---------------------------------------------------------------------------------------------------------

def bound_arguments(op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Operands and attributes of a call.

    Raises:
        ArgumentError: they do not fit the signature.
    """
    if len(args) == len(op.operands) and tuple(kwargs) == attribute_names(op):
        return args, kwargs     # as interpreters pass them on: 0.4 us instead of 8
    if kwargs and foreign_names(op, kwargs):
        args, kwargs = own_arguments(op, args, kwargs)
    try:
        bound = op.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{op.public}: {error}; expected {op.name}{op.signature}.") from None
    bound.apply_defaults()
    values = bound.arguments
    count = len(op.operands)
    names = list(values)
    return tuple(values[n] for n in names[:count]), {n: values[n] for n in names[count:]}


# What a call does with its arguments in the declaration's own names; all else is bound_arguments' to say (8 us).
BOUND_TEXT = """def call({parameters}):
{before}    if {strange}: tensors, attributes = respelled(({names},), more, named)
    else: tensors, attributes = ({operands},), {{{attributes}}}
    return {result}
"""
ABSENT: Any = object()


def bound_text(op: Op, result: str, before: str = "") -> str:
    """The source of ``call(arguments)``, which evaluates ``result`` where ``tensors`` and ``attributes`` are the call's.

    ``before`` is done first, when arguments may still be missing."""
    parameters = op.signature.parameters
    values = {n: "ABSENT" if p.default is p.empty else f"_defaults[{n!r}]" for n, p in parameters.items()}
    free = [f"{n}={values[n]}" for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    named = [f"{n}={values[n]}" for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    return BOUND_TEXT.format(
        parameters=", ".join([*free, "*more", *named, "**named"]), result=result, before=before, names=", ".join(parameters),
        strange=" or ".join(["more or named", *(f"{n} is ABSENT" for n, value in values.items() if value == "ABSENT")]),
        operands=", ".join(op.operands), attributes=", ".join(f"{n!r}: {n}" for n in attribute_names(op)))


def bound_function(op: Op, label: str, result: str, scope: dict[str, Any], before: str = "") -> Any:
    """The function of ``bound_text``; ``scope`` has the names of ``result`` and ``before``."""
    def respelled(values, more, named):
        given = dict(zip(op.signature.parameters, values))
        if more:
            args = tuple(given[n] for n, p in op.signature.parameters.items() if p.kind is not p.KEYWORD_ONLY)
            return bound_arguments(op, (*args, *more), named)
        absent = default_values(op)         # what is not given: another name of it may be
        return bound_arguments(op, (), {**{n: v for n, v in given.items() if v is not absent.get(n, ABSENT)}, **named})

    return late_function(f"{op.name} {label}", {**scope, "ABSENT": ABSENT, "respelled": respelled},
                         lambda: bound_text(op, result, before), lambda: {"_defaults": default_values(op)})


@cache
def binder(op: Op) -> Callable:
    """``bind(arguments) -> (tensors, attributes)``, what ``bound_arguments`` says, for the spelling of the declaration at once."""
    return bound_function(op, "arguments", "tensors, attributes", {})


@cache
def attribute_names(op: Op) -> tuple[str, ...]:
    """The parameters behind the operands."""
    return tuple(op.signature.parameters)[len(op.operands):]


def check_tensor(op: Op, name: str, x) -> None:
    """Refuse anything but a tensor."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op.public}: {name} must be a Tensor, got {type(x).__name__}. Hint: nbgrad.asarray(x).")


def general_call(op: General) -> Callable:
    """The function of an operation with a lowering of its own."""
    style, function = LOWERINGS[op.name]
    call = planned_call(op, function) if style == "plan" else run_call(op, function)
    call.__name__ = call.__qualname__ = op.name
    call.__signature__ = public_signature(op)
    CALLS[op.name] = call
    return call


def hashable(value):
    """An attribute as part of a plan's key: lists as tuples, NumPy's numbers as Python's."""
    if isinstance(value, (list, tuple)):
        return tuple(map(hashable, value))
    return value.item() if isinstance(value, generic) else value


class Plans(dict):
    """Plans by layouts and attributes; ``plans[key]`` makes the plan that is missing.

    A subscript of this class takes 10 ns more than one of a dict, a KeyError and what catches it 300 (a new shape: see
    benchmarks/test_overhead.py).

    Args:
        make: ``make(key)`` -> plan; None where the call must look closer, which then sees a KeyError.
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Any], Plan | None]):
        self.make = make

    def __missing__(self, key):
        plan = self.make(key)
        if plan is None:
            raise KeyError(key)
        return keep(self, key, plan)


# What equals an int and is none: its plan must not be found.
ODD_DIMS = {bool, float, complex}


def planned_call(op: General, plan_for: Callable) -> Callable:
    """One look-up, one launch; the text is specialised by the signature."""
    count = len(op.operands)

    def ordinary(key):
        if key in several:
            return None
        first = key[0]
        pattern = patterns.get((first.kind, first.ndim, *key[1:])) if count == 1 and type(first) is Layout else None
        if pattern is not None:
            record = pattern.sized(first.numel)
            if record is not None:
                layouts = (first,)
                return pattern.build(record, layouts, (layouts, pattern.attributes))
        layouts = key[:count]
        for layout in layouts:
            if type(layout) is not Layout or layout.special:
                return None
        made = new(key, layouts)
        if not isinstance(made, Plan):
            return None
        if count == 1 and first.kind is not None and made.sized is not None:
            keep(patterns, (first.kind, first.ndim, *key[1:]), GeneralPattern(made))
        return made

    def new(key, layouts):
        if keepdim and type(key[keepdim]) is not bool:
            raise ArgumentError(f"{op.public}: keepdim must be a bool, got {key[keepdim]!r}. "
                                "Hint: several dims are a tuple, dim=(0, 1).")
        attributes = dict(zip(attribute_names, map(hashable, key[count:])))
        try:
            made = plan_for(op, layouts, attributes)
        except Exception as error:
            refuse_wrong_kind(op, attributes.items(), error)
            raise
        if isinstance(made, Plan):
            return complete(made, op, layouts, attributes)
        return keep(several, key, made)

    plans = Plans(ordinary)
    several: dict = {}              # functions of several steps, which the call does not look for
    patterns: dict = {}             # by kind, dimensions and attributes a plan to be copied for other shapes

    def plain(*args, **kwargs):
        tensors, attributes = bound_arguments(op, args, kwargs)
        for name, x in zip(op.operands, tensors):
            check_tensor(op, name, x)
        return beneath(*tensors, *attributes.values())

    def respelled(values, *given):
        named = {n: v for n, v in zip(names, values) if v is not op.signature.parameters[n].default}
        named |= {n: v for n, v in zip(aliases, given) if v is not None}
        return scope["call"](**{renamed.get(n, n): v for n, v in own_arguments(op, (), named)[1].items()})

    def miss(*values):
        tensors = values[:count]
        if special:
            return intercept_odd(op, tensors, dict(zip(names[count:], values[count:])))
        try:        # several steps: 8 -> 4 us for the sum of a diagonal
            run = several.get((*[x.layout for x in tensors], *values[count:])) if same_types(values[count:]) else None
        except (AttributeError, TypeError):
            run = None
        if run is not None:
            return record_run(op, run, tensors, dict(zip(names[count:], values[count:])))
        if is_marked(tensors):
            return intercept_odd(op, tensors, dict(zip(names[count:], values[count:])))
        for name, x in zip(op.operands, tensors):
            check_tensor(op, name, x)
        return beneath(*values)

    def beneath(*values):
        tensors = values[:count]
        key = (*(x.layout for x in tensors), *map(hashable, values[count:]))
        if keepdim and type(key[keepdim]) is not bool:
            new(key, key[:count])           # which refuses it, in its own words
        if dim and type(key[dim]) in ODD_DIMS:
            new(key, key[:count])
            raise ArgumentError(f"{op.public}: dim must be an int, got {key[dim]!r}.")
        refuse_odd(op, zip(attribute_names, key[count:]))
        try:
            plan = plans.get(key)
        except TypeError as error:          # an attribute without a hash
            refuse_wrong_kind(op, zip(attribute_names, key[count:]), error)
            raise
        if plan is None:
            plan = several.get(key) or new(key, key[:count])
            if not isinstance(plan, Plan):      # several steps
                return record_run(op, plan, tensors, dict(zip(names[count:], key[count:])))
            keep(plans, key, plan)
        return finish(plan, *tensors)

    def finish(plan, *tensors):
        out = native.fresh(plan, *tensors)
        if mode.enabled:
            record_result(op, plan, tensors, out[0] if type(out) is tuple else out)
        return out

    def same_types(given):      # True and 1.0 equal 1
        for is_flag, value in zip(flags, given):
            kind = type(value)
            if is_flag:
                if kind is not bool:
                    return False
            elif kind is not int and is_strange(value):
                return False
        return True

    names = list(op.signature.parameters)
    keepdim = names.index("keepdim") if "keepdim" in names else 0
    dim = names.index("dim") if "dim" in names else 0
    attribute_names = tuple(names[count:])
    flags = [type(op.signature.parameters[name].default) is bool for name in attribute_names]
    aliases = [other for other, own in (("axis", "dim"), ("keepdims", "keepdim")) if own in names and op.function]
    scope = {"plans": plans, "miss": miss, "fresh": native.fresh, "mode": mode, "special": special, "op": op,
             "intercept": intercept_general, "record": record_result, "recorder": recorder, "requires_grad": requires_grad,
             "respelled": respelled}
    renamed = RENAMED.get(op.name, {})
    call = late_function(f"{op.name} call", scope, lambda: planned_text(op, aliases), lambda: {"_defaults": default_values(op)},
                         renamed)
    call.plans, call.renamed = plans, renamed
    call.plain = plain
    return call


def planned_text(op: General, aliases: list[str]) -> str:
    """The source of a planned operation's call; ``aliases`` are NumPy's names of arguments."""
    count, names = len(op.operands), list(op.signature.parameters)
    operands, attributes = names[:count], names[count:]
    parameters = argument_text(op, "_defaults", tuple(aliases))
    key = ", ".join([f"{n}.layout" for n in operands] + attributes)
    passed = ", ".join(names)
    needs = " or ".join(f"{n}._needs_grad_" for n in operands)
    lines = [f"def call({parameters}):",
             *([f"    if {' or '.join(f'{n} is not None' for n in aliases)}: return respelled(({passed},), {', '.join(aliases)})"]
               if aliases else []),
             *odd_lines(op, f"return miss({passed})"),
             f"    if special: return intercept(op, ({', '.join(operands)},), {{{', '.join(f'{n!r}: {n}' for n in attributes)}}})",
             f"    try: plan = plans[{key + (',' if ',' not in key else '')}]",
             f"    except (AttributeError, KeyError, TypeError): return miss({passed})",
             f"    out = fresh(plan, {', '.join(operands)})",
             f"    if ({needs}) and mode.enabled:"]
    if count == 1 and op.operands[0] in op.vjps:
        # The recorder at once: a sum with grad 1.2 -> 0.8 us (benchmarks/test_overhead.py).
        x = operands[0]
        lines += ["        first = out[0] if type(out) is tuple else out",
                  f"        if ({x}._needs_grad_ is True or requires_grad({x})) and first.layout.dtype.differentiable:",
                  f"            recorder(op, 1)(plan, first, {x})"]
    else:
        lines.append(f"        record(op, plan, ({', '.join(operands)},), out[0] if type(out) is tuple else out)")
    lines.append("    return out")
    return "\n".join(lines) + "\n"


def late_function(label: str, scope: dict[str, Any], text: Callable[[], str], names: Callable[[], dict],
                  renamed: dict[str, str] | None = None) -> Any:
    """The function ``call`` of generated text, compiled when it is first called: 80 of them took 30 ms of the package's import.

    Until then its code is another one's. Who holds the function sees no difference: later calls run the compiled code directly.

    Args:
        scope: the text's global names; ``names()`` gives those that are dear to make.
        renamed: names of variables by which callers know them, by those of the text.
    """
    def compiled():
        scope.update(names())
        exec(compile_text(text(), label), scope)
        made, scope["call"] = scope["call"], call
        code = made.__code__
        if renamed:
            code = code.replace(co_varnames=tuple([renamed.get(name, name) for name in code.co_varnames]))
        call.__defaults__, call.__kwdefaults__, call.__code__ = made.__defaults__, made.__kwdefaults__, code
        return call

    scope["compiled"] = compiled
    call = scope["call"] = FunctionType(not_yet_compiled.__code__, scope, "call")
    return call


def not_yet_compiled(*args, **kwargs):
    """The first call of a ``late_function``, in whose scope this runs."""
    return compiled()(*args, **kwargs)  # noqa: F821  (in that scope)


def default_values(op: Op) -> dict:
    """``{parameter: default}``."""
    return {n: p.default for n, p in op.signature.parameters.items() if p.default is not p.empty}


def argument_text(op: Op, defaults: str, aliases: tuple[str, ...] = ()) -> str:
    """The parameters of a signature as source; defaults are looked up in a dict named ``defaults``.

    Other names of arguments are None where they are not given. They have positions, since what has none costs a call 13 ns; they
    stand before attributes that are given by name alone, so that no position of those leads anywhere.
    """
    required: list[str] = []
    optional: list[str] = []
    named: list[str] = []
    for name, p in op.signature.parameters.items():
        if p.default is p.empty and not (aliases and name == "dim"):
            required.append(name)
        else:
            default = "None" if p.default is p.empty else f"{defaults}[{name!r}]"
            (named if p.kind is p.KEYWORD_ONLY else optional).append(f"{name}={default}")
    others = [f"{name}=None" for name in aliases]
    separator = ["*"] if named and not aliases else []
    return ", ".join([*required, *optional, *others, *separator, *named])


def run_call(op: General, run: Callable) -> Callable:
    """An operation of several steps: ``run`` computes with recording off, then the result gets its node.

    The call has two more forms beneath the interpreters: ``plain`` takes arguments in any spelling; ``straight(tensors,
    attributes)`` takes all of them, checked, and goes by prepared runs. ``prepared_for(values)`` is the prepared run after a call
    of such arguments that went well.
    """

    checked = [(k, name) for k, name in enumerate(op.operands) if k or not getattr(op, "variadic", False)]
    preparing = PREPARED.get(op.name)
    kinds = () if preparing is None else prepared_kinds(op, preparing[1])

    def plain(*args, **kwargs):
        tensors, attributes = bound_arguments(op, args, kwargs)
        for k, name in checked:
            check_tensor(op, name, tensors[k])
        return record_run(op, run, tensors, attributes)

    def began(tensors, attributes):
        if special or is_marked((*tensors, *attributes.values())):
            return intercept_odd(op, tensors, attributes)
        for k, name in checked:
            if not isinstance(tensors[k], Tensor):
                check_tensor(op, name, tensors[k])
        out = record_run(op, run, tensors, attributes)
        if preparing is not None:
            prepare(tensors, attributes)
        return out

    def straight(tensors, attributes):
        if preparing is None:
            return record_run(op, run, tensors, attributes)
        values = (*tensors, *attributes.values())
        try:
            function, plan = quick.get(prepared_key(kinds, values), NEW)
        except TypeError:               # a list
            function = None
        if function is not None:
            out = function(*values)
            if out is not None:
                if mode.enabled and any(map(requires_grad, tensors_in(tensors))):
                    record_prepared(op, plan, tensors, out, attributes)
                return out
        out = record_run(op, run, tensors, attributes)
        prepare(tensors, attributes)
        return out

    def prepare(tensors, attributes):
        values = (*tensors, *attributes.values())
        key = prepared_key(kinds, values)
        try:
            if key in quick or not all(map(is_plain, key)):
                return
        except TypeError:               # a list
            return
        parts = [value if kind is None else layouts_of(value) for kind, value in zip(kinds, values)]
        layouts, given = tuple(parts[:len(tensors)]), dict(zip(attributes, parts[len(tensors):]))
        function = preparing[0](op, layouts, given)
        holds = not set(preparing[1]).isdisjoint(attributes)
        plan = None if function is None else complete(PreparedPlan(), op, layouts, {} if holds else given)
        keep(quick, key, (function, plan))

    def prepared_for(values):
        if preparing is None:
            return None
        count = len(op.operands)
        prepare(values[:count], dict(zip(attribute_names(op), values[count:])))
        try:
            return quick.get(prepared_key(kinds, values), NEW)[0]
        except TypeError:               # a list
            return None

    quick: dict = {}
    call = bound_function(op, "call", "began(tensors, attributes)",
                          {"began": began, "special": special, "found": quick.get, "mode": mode, "NOTHING": NEW,
                           "SEQUENCES": (list, tuple), "record": partial(record_prepared, op)},
                          "" if preparing is None else prepared_text(op, kinds))
    call.plain, call.quick, call.straight, call.prepared_for = plain, quick, straight, prepared_for
    return call


NEW: tuple = (None, None)


def prepared_key(kinds: tuple, values: tuple) -> tuple:
    """By which a prepared run is found: layouts, and values with their types."""
    return tuple([part for kind, value in zip(kinds, values)
                  for part in ((value, type(value)) if kind is None else (layouts_of(value),))])


# Until something is strange: then the long way follows, which says what.
PREPARED_TEXT = """    if not (special or more or named{strange}):
        try: quick, plan = found(({key}), NOTHING)
        except (AttributeError, TypeError): quick = None
        if quick is not None:
            out = quick({names})
            if out is not None:
                if mode.enabled and ({needs}): record(plan, ({operands},), out, {attributes})
                return out
"""


def prepared_text(op: General, kinds: tuple) -> str:
    """What the call of an operation with prepared runs does first."""
    names, count = list(op.signature.parameters), len(op.operands)
    parts = {None: "{0}, type({0})", "one": "{0}.layout", "several": "tuple([None if _ is None else _.layout for _ in {0}])"}
    sequences = [f" or type({n}) not in SEQUENCES" for n, kind in zip(names, kinds) if kind == "several"]
    needs = [f"{n}._needs_grad_" if kind == "one" else f"True in [_._needs_grad_ is not False for _ in {n}]"
             for n, kind in zip(names[:count], kinds) if kind is not None]
    return PREPARED_TEXT.format(
        strange="".join(sequences), key=", ".join([parts[kind].format(n) for n, kind in zip(names, kinds)] + [""]),
        names=", ".join(names), operands=", ".join(names[:count]), needs=" or ".join(needs) or "True",
        attributes="{" + ", ".join(f"{n!r}: {n}" for n in names[count:]) + "}")


def prepared_kinds(op: General, holders: tuple[str, ...]) -> tuple:
    """What every argument of an operation is to a prepared run: one tensor, several, or (None) a value."""
    several = {op.operands[0]} if getattr(op, "variadic", False) else set()
    return tuple("several" if n in several or n == "indices" else "one" if n in op.operands or n in holders else None
                 for n in op.signature.parameters)


def layouts_of(value):
    """The layout of a tensor, those of a sequence; anything else has none."""
    if isinstance(value, (list, tuple)):
        return tuple([getattr(x, "layout", None) for x in value])
    return getattr(value, "layout", ...)


PLAIN = (int, bool, float, str, type(None))        # not a tensor, which may change


# Argument by argument, as the formula takes them. Of an optional tensor the layout is None where it is not given.
COMPOSITE_TEXT = """def call({parameters}):
    if not (special{given}):
        try: quick = found(({key}), began)
        except (AttributeError, TypeError): quick = None
        if quick is began: return began({passed})
        if quick is not None:
            out = quick({names})
            if out is not None: return out
{pure}    return formula({passed})
"""
# Of a composite whose formula looks at no element.
PURE_TEXT = """    elif not (False{given}):
        out = known_call(op, ({names},))
        if out is not None: return out
"""


def composite_call(op: Op, formula: Callable) -> Callable:
    """The call of a composite with prepared runs, which are for calls without its rare arguments.

    Rare are those that are given by name alone and are None otherwise.
    """
    make, holders = PREPARED[op.name]
    parameters = op.signature.parameters
    names = list(parameters)
    tensors = {names[0], *holders}
    rare = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY and p.default is None and n not in tensors}
    kinds = tuple("one" if name in tensors else None for name in names if name not in rare)

    def began(*args, **named):
        out = formula(*args, **named)
        given = {name: value for name, value in zip(names, (*args, *named.values())) if name not in rare}
        if all(isinstance(value, Tensor) == (name in tensors) or value is None for name, value in given.items()):
            prepare(given)
        return out

    def prepare(given):
        key = prepared_key(kinds, tuple(given.values()))
        try:
            if key in quick or not all(map(is_prepared, key)):
                return
        except TypeError:               # a list
            return
        first, *rest = [value if kind is None or value is None else value.layout for kind, value in zip(kinds, given.values())]
        keep(quick, key, make(op, (first,), dict(zip(list(given)[1:], rest))))

    quick: dict = {}
    call = late_function(f"{op.name} composite", {"special": special, "found": quick.get, "began": began, "op": op,
                                                             "formula": formula, "known_call": known_call},
                         lambda: composite_text(op, tensors, rare), lambda: {"_defaults": default_values(op)})
    call.__name__, call.__qualname__, call.__module__ = formula.__name__, formula.__qualname__, formula.__module__
    call.__signature__, call.quick = inspect.signature(formula), quick
    return call


def run_beneath(name: str, *values) -> Callable | None:
    """``run(*arguments)``, which records too: what is prepared of another operation; None where nothing is.

    Args:
        values: of a call of it that went well, a layout for each tensor.
    """
    op: Any = OPS[name]
    kinds = prepared_kinds(op, PREPARED[name][1])
    key = tuple([part for kind, value in zip(kinds, values) for part in ((value, type(value)) if kind is None else (value,))])
    function, plan = CALLS[name].quick.get(key, NEW)
    if function is None:
        return None
    count, names = len(op.operands), attribute_names(op)

    def run(*given):
        out = function(*given)
        if out is not None and mode.enabled:
            for x in given[:count]:
                if x._needs_grad_ and needs_gradient(x):
                    record_prepared(op, plan, given[:count], out, dict(zip(names, given[count:])))
                    break
        return out
    return run


def composite_text(op: Op, tensors: set[str], rare: set[str]) -> str:
    """The source of a prepared composite's call."""
    parameters, parts = op.signature.parameters, []
    for name, p in parameters.items():
        if name in tensors:
            parts.append(f"{name}.layout" if p.default is p.empty else f"... if {name} is None else {name}.layout")
        elif name not in rare:
            parts.append(f"{name}, type({name})")
    given = "".join(f" or {n} is not None" for n in parameters if n in rare)
    names = ", ".join(n for n in parameters if n not in rare)
    return COMPOSITE_TEXT.format(
        parameters=argument_text(op, "_defaults"), given=given, key=", ".join([*parts, ""]), names=names,
        pure=PURE_TEXT.format(given=given, names=names) if getattr(op, "pure", False) else "",
        passed=", ".join(f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n for n, p in parameters.items()))


def is_prepared(part) -> bool:
    """Whether a part of a key may be one of a prepared composite: no sequence, whose elements may equal those of another one."""
    return part is ... or type(part) is not tuple and (type(part) is DType or is_plain(part))


def is_plain(part) -> bool:
    """Whether a part of a key may be one of a prepared run: unmarked layouts, and values that equal only their like."""
    if type(part) is Layout:
        return not part.special
    if type(part) is tuple:
        return all(map(is_plain, part))
    return type(part) in PLAIN or isinstance(part, type)


class PreparedPlan(Facts):
    """What a node of a prepared run needs of a plan."""

    __slots__ = ("op", "given", "made", "outs")


def record_prepared(op: General, plan: PreparedPlan, tensors: tuple, out: Tensor, attributes: dict) -> None:
    """Give the result of a prepared run its node, if an operand needs a gradient."""
    plan.outs = (out.layout.template,)
    holders = PREPARED[op.name][1]
    guarded = Guarded(op.public, attributes, tensors_in([attributes[n] for n in holders if n in attributes])) if holders else None
    if getattr(op, "variadic", False):
        record_variadic(op, tensors, attributes, out, plan, guarded)
    else:
        record_result(op, plan, tensors, out, guarded)


def record_run(op: General, run: Callable, tensors: tuple, attributes: dict):
    """Compute with recording off, then record."""
    odd = odd_test(op)
    if odd is not None and odd(attributes):
        refuse_odd(op, attributes.items())
    enabled = mode.enabled
    mode.enabled = False
    try:
        result = run(op, tensors, attributes)
    except Exception as error:
        refuse_wrong_kind(op, attributes.items(), error)
        raise
    finally:
        mode.enabled = enabled
    if type(result) is tuple:
        result = tuple([x if x._meta_ is None else native.alias(x) for x in result])
        out = result[0]
    else:       # the last step may be a view of what the run made, which nobody else has
        out = result = result if result._meta_ is None else native.alias(result)
    if not enabled:
        return result
    if getattr(op, "variadic", False):
        record_variadic(op, tensors, attributes, out)
    else:
        for x in tensors:
            if isinstance(x, Tensor) and x._needs_grad_:
                plan, guarded = run_plan(op, tensors, attributes, out)
                record_result(op, plan, tensors, out, guarded)
                break
    return result


_run_plans: dict[tuple, RunPlan] = {}


def run_plan(op: General, tensors: tuple, attributes: dict, out: Tensor):
    """The facts of one call, and its guarded attributes if some are tensors."""
    layouts = tuple([x.layout if isinstance(x, Tensor) else tuple([t.layout for t in x]) for x in tensors])
    guarded, given = None, attributes
    for value in attributes.values():
        if type(value) is not int and value is not None:
            guarded = guarded_attributes(op, attributes)
            given = {} if guarded else attributes
            break
    for value in given.values():
        if type(value) not in KEYS:         # no part of a key: 1.0 would find what 1 has left
            return complete(RunPlan(out), op, layouts, given), guarded
    key = (op, layouts, out.layout, *given.values())
    try:
        plan = _run_plans.get(key)
    except TypeError:                       # a list in a tuple
        return complete(RunPlan(out), op, layouts, given), guarded
    return plan or keep(_run_plans, key, complete(RunPlan(out), op, layouts, given)), guarded


def record_variadic(op: General, tensors: tuple, attributes: dict, out: Tensor, plan=None, guarded=None) -> None:
    """Record an operation whose first operand is a sequence of tensors: an edge each."""
    edges, wanted = [], False
    for x in tensors[0]:
        needs = x._needs_grad_ if isinstance(x, Tensor) else False
        if needs and (needs is not ASK or requires_grad(x)):
            wanted = True
            edges.append(x._edge_ or edge_of(x))
        else:
            edges.append(None)
    if wanted and out.layout.dtype.differentiable:
        if plan is None:
            plan, guarded = run_plan(op, tensors, attributes, out)
        out._edge_ = make_node(op, plan, (op.operands[0],), tuple(edges), {}, out, guarded)
        out._needs_grad_ = True


def intercept_odd(op: Op, tensors: tuple, attributes: dict):
    """The same of a call whose attributes may be odd: NOTE [Whole numbers]."""
    odd = odd_test(op)
    if odd is not None and odd(attributes):
        attributes = {name: hashable(value) for name, value in attributes.items()}
        refuse_odd(op, attributes.items())
    return intercept_general(op, tensors, attributes)


def intercept_general(op: Op, tensors: tuple, attributes: dict):
    """A call while some special mode is active, or of an operand that needs an interpreter."""
    if mode.inference:
        return general_in_mode(op, tensors, attributes)
    out = quick_call(op, tensors, attributes)
    return interpret(Call(op, tensors, attributes, CALLS[op.name].plain)) if out is None else out


# ---- views ---------------------------------------------------------------------------------------------------------

META_OF_VIEW = Meta()
for _slot in Meta.__slots__:
    if _slot not in ("base", "chain", "creation", "version", "node", "__weakref__"):
        setattr(META_OF_VIEW, _slot, getattr(META_TEMPLATE, _slot))


class ViewPlan(Plan):
    """The layout and place of a view; nothing is launched.

    Attributes:
        op, args: the movement and its attributes by position, for replaying it.
        layout: the operand's.
        offset: in bytes from the operand's first element; a tuple for several results.
        rest: what the inverse formula takes after ``g``; None until a backward pass asks.
        pieces: of several results, what each is made of; None until a call asks.
    """

    __slots__ = ("op", "args", "layout", "offset", "rest", "pieces")
    offset: Any
    pieces: tuple | None

    def __init__(self, op: Movement, layout: Layout, args: tuple):
        made = op.formula(layout, *args)
        self.op, self.args, self.layout, self.record, self.layouts, self.rest, self.pieces = op, args, layout, b"", (), None, None
        if op.plain:            # as nearly all: 2.2 -> 1.9 us for a shape never seen before
            shape, strides, offset = made
            dtype = layout.dtype
            self.outs = (layout_of(dtype, shape, strides, layout.device, layout.conj, layout.neg).template,)
            self.offset = offset * dtype.itemsize
            return
        size = layout.dtype.itemsize if op.retype is None else op.retype(layout.dtype, *args).itemsize
        if op.multiple:
            self.outs = tuple([view_layout(op, layout, shape, strides, args).template for shape, strides, _ in made])
            self.offset = tuple([offset * size for _, _, offset in made])
        else:
            shape, strides, offset = made
            self.outs, self.offset = (view_layout(op, layout, shape, strides, args).template,), offset * size

    @property
    def facts(self) -> dict:
        """What rules and tools may ask for, by name."""
        layout = self.layout
        names = list(self.op.signature.parameters)[1:]
        return {**dict(zip(names, self.args)), "x_shape": layout.shape, "x_dtype": layout.dtype, "x_layout": layout,
                "out_shape": self.outs[0].layout.shape if self.outs else (), "outs": len(self.outs),
                "out_shapes": tuple(template.layout.shape for template in self.outs)}


class ViewRule(GeneralRule):
    """Backward of a movement: its inverse, with facts that the plan keeps ready."""

    def __init__(self, op: Movement):
        super().__init__(op, ("x",))
        self.inverse, self.rest = op.inverse, self.params[0][1:]
        names = list(op.signature.parameters)[1:]
        # Where the plan has them, if it is only of arguments and the operand's shape: a shape never seen before makes no dict.
        self.positions = tuple(-1 if name == "x_shape" else names.index(name) for name in self.rest if name in ("x_shape", *names))

    def backward(self, node: Node, g, create_graph: bool):
        """The inverse movement of the cotangent; of several, which the inverse joins."""
        plan = node._plan_
        if self.op.multiple:
            g = Cotangents.filled(g if node._outputs_ > 1 else [g], plan)
        rest = plan.rest
        if rest is None:
            if len(self.positions) == len(self.rest):
                rest = plan.rest = tuple([plan.layout.shape if k < 0 else plan.args[k] for k in self.positions])
            else:
                facts = plan.facts
                rest = plan.rest = tuple([facts[name] for name in self.rest])
        return self.inverse(g, *rest)


class Cotangents(tuple):
    """The cotangents of several results, all defined, as what an inverse formula joins."""

    __slots__ = ()

    @classmethod
    def filled(cls, gs, plan: ViewPlan) -> Cotangents:
        """``gs`` with zeros where a result has no cotangent; results of one shape share them."""
        zeros: dict = {}

        def zero(template):
            if template.layout not in zeros:
                zeros[template.layout] = CALLS["new_full"](template.layout.like(), 0)
            return zeros[template.layout]
        return cls(zero(template) if g is None else g for g, template in zip(gs, plan.outs))

    def cat(self, dim: int) -> Tensor:
        """Joined along a dimension."""
        return CALLS["cat"](self, dim)

    def stack(self, dim: int) -> Tensor:
        """Joined along a new dimension."""
        return CALLS["stack"](self, dim)


@lru_cache(maxsize=256)
def view_node_template(op: Movement, outputs: int = 1) -> Node:
    """What the nodes of a movement share."""
    rule, template = ViewRule(op), blank_node(Node, ("_seq_", "_plan_", "_edges_"))
    template._rule_, template._backward_, template._outputs_ = rule, rule.backward, outputs
    return template


@lru_cache(maxsize=256)
def view_node_builder(op: Movement, outputs: int = 1) -> Callable:
    """``new_node(seq, plan, edges)`` of a movement."""
    return native.builder(view_node_template(op, outputs), ("_seq_", "_plan_", "_edges_"), True)


def viewer(op: Movement) -> Callable:
    """``view(plan, x, enabled, *values)``: native unless ``x`` is a view with its own history, or out of date.

    A slice 0.83 -> 0.66 us.
    """
    return native.viewer(view_node_template(op), META_OF_VIEW, ViewPlan, ASK, (DEFAULT, NO_GRAD),
                         lambda plan, x, enabled, *values: slow_view(op, x, plan, values))


def slow_view(op: Movement, x: Tensor, plan: ViewPlan, values: tuple) -> Tensor:
    """A view that the native call does not make, by a plan that was found by ``values``."""
    refuse_odd(op, zip(whole_names(op), values))
    return one_view(op, x, plan)


# A view is made by text specialised to the signature: a transpose with grad takes 0.6 us; by binding the signature, 8.9.
VIEW_TEXT = """def call({parameters}):
    if special: {special}return intercept(op, (x,), {named})
    {odd}try: plan = plans[{key}]
    except (AttributeError, KeyError, TypeError):
        if is_marked((x,)): return intercept_odd(op, (x,), {named})
        plan = find({passed})
"""
ODD_TEXT = """if {odd}: return strange({passed})
    """
ONE_VIEW = """    return view({whole})
"""
SEVERAL_VIEWS = """    return several(x, plan)
"""


KEYS = (int, type(None), tuple)
SIZED = {"shape", "size", "sizes", "stride", "dims", "split_sizes"}     # attributes of movements that may be tuples


def as_key(value):
    """An attribute as part of a plan's key; a tensor is none, its value may change."""
    if isinstance(value, (list, tuple)):
        return tuple(map(as_key, value))
    return value.__index__() if isinstance(value, Tensor) else hashable(value)


def movement_call(op: Movement) -> Callable:
    """The function of a view operation: look up where it lies, make the tensor, record."""
    def ordinary(key):
        layout, args = (key[0], key[1:]) if names else (key, ())
        if type(layout) is not Layout or layout.special:
            return None
        for a in args:
            if type(a) not in KEYS or sized and type(a) is tuple and Tensor in map(type, a):
                return None
        try:
            return ViewPlan(op, layout, args)
        except Exception as error:
            refuse_wrong_kind(op, zip(names, args), error)
            raise

    def find(x, *args):
        check_tensor(op, "x", x)
        args = tuple(map(as_key, args))
        refuse_odd(op, zip(names, args))
        key = (x.layout, *args) if args else x.layout
        try:
            plan = plans.get(key)
            return keep(plans, key, ViewPlan(op, x.layout, args)) if plan is None else plan
        except Exception as error:
            refuse_wrong_kind(op, zip(names, args), error)
            raise

    def strange(x, *args):
        if is_marked((x,)):
            return intercept_odd(op, (x,), dict(zip(names, args)))
        return several_views(op, x, find(x, *args))

    plans = Plans(ordinary)
    names = list(op.signature.parameters)[1:]
    sized = not SIZED.isdisjoint(names)
    scope: dict[str, Any] = {
        "special": special, "is_marked": is_marked, "intercept": intercept_general, "intercept_odd": intercept_odd, "op": op,
        "plans": plans, "find": find, "mode": mode, "is_strange": is_strange, "strange": strange}
    call = late_function(f"{op.name} view", scope, lambda: view_text(op),
                         lambda: {"several" if op.multiple else "view": maker_of_several(op) if op.multiple else viewer(op),
                                  "_defaults": default_values(op)})
    call.__name__ = call.__qualname__ = op.name
    call.__signature__ = public_signature(op)
    call.plans, call.find, call.plain = plans, find, plain_view(op, find)
    call.view = lambda x, plan: one_view(op, x, plan)
    CALLS[op.name] = call
    return call


def view_text(op: Movement) -> str:
    """The source of a movement's call."""
    names = list(op.signature.parameters)[1:]
    passed, odd = ", ".join(["x", *names]), odd_condition(op)
    named = "{" + ", ".join(f"{n!r}: {n}" for n in names) + "}"
    return (VIEW_TEXT + (SEVERAL_VIEWS if op.multiple else ONE_VIEW)).format(
        parameters=argument_text(op, "_defaults"), named=named,
        key=", ".join(["x.layout", *names]), passed=passed,
        odd=ODD_TEXT.format(odd=odd, passed=passed) if odd and op.multiple else "",
        special=f"\n        if {odd}: return intercept_odd(op, (x,), {named})\n        " if odd else "",
        whole=", ".join(["plan", "x", "mode.enabled", *whole_names(op)]))


@lru_cache(maxsize=1)
def view_meta_builder() -> Callable:
    """``new_meta(base, chain, creation, version, node)`` of a view."""
    return native.builder(META_OF_VIEW, ("base", "chain", "creation", "version", "node"))


def nested_meta(x: Tensor, meta: Meta, plan: ViewPlan, which: int | None, creation: str, node) -> Meta:
    """The Meta of a view of the view ``x``: of the same base, by a longer chain.

    A view that was made a leaf of its own is a base to its views: their cotangents go to it.
    """
    version = x._storage_.version
    if meta.base is None or x._needs_grad_ is True:
        return view_meta_builder()(x, (None, plan, which), creation, version, node)
    if creation is DEFAULT:
        creation = meta.creation
    return view_meta_builder()(meta.base, (meta.chain, plan, which), creation, version, node)


def plain_view(op: Movement, find: Callable) -> Callable:
    """The call beneath the interpreters, for arguments in any spelling."""
    def plain(x, *args, **kwargs):
        (x,), attributes = bound_arguments(op, (x, *args), kwargs)
        plan = find(x, *attributes.values())
        return several_views(op, x, plan) if op.multiple else one_view(op, x, plan)
    return plain


def record_view(op: Movement, x: Tensor, plan: ViewPlan) -> Node | None:
    """The node of a view, if it is recorded."""
    if mode.enabled and needs_gradient(x):
        return view_node_builder(op, len(plan.outs))(next_seq(), plan, (x._edge_ or edge_of(x),))
    return None


def one_view(op: Movement, x: Tensor, plan: ViewPlan) -> Tensor:
    """What the native call does, for views of views too."""
    meta = nested_meta(x, x._meta_ or META_TEMPLATE, plan, None, DEFAULT if mode.enabled else NO_GRAD, record_view(op, x, plan))
    return native.tensor(plan.outs[0], x._storage_, x._offset_ + plan.offset, ASK, meta)


def several_views(op: Movement, x: Tensor, plan: ViewPlan) -> tuple[Tensor, ...]:
    """The results of a movement that returns several; ``op.untracked`` ones share memory without being views to autograd."""
    return maker_of_several(op)(x, plan)


@cache
def maker_of_several(op: Movement) -> Callable:
    """``make(x, plan)`` of a movement that returns several: two pieces 2.7 -> 1.1 us by what a plan knows of its pieces."""
    wrap, new_meta, new_storage = native.tensor, view_meta_builder(), native.builder(STORAGE_TEMPLATE, ("array",))

    def untracked(x: Tensor, plan: ViewPlan) -> tuple:
        pieces, storage, first = plan.pieces or pieces_of(plan), x._storage_, x._offset_
        if x._needs_grad_ is False and storage.writable is True:
            array = storage.array
            return tuple([wrap(template, new_storage(array), first + offset, False, None) for template, offset, _ in pieces])
        node = record_view(op, x, plan) if x._needs_grad_ else None
        return tuple([untracked_view(wrap(template, unwatched(storage), first + offset, False, None), edge)
                      for (template, offset, _), edge in zip(pieces, edges_of(node, len(pieces)))])

    def views(x: Tensor, plan: ViewPlan) -> tuple:
        pieces, storage, first, needs, meta = plan.pieces or pieces_of(plan), x._storage_, x._offset_, x._needs_grad_, x._meta_
        creation = MULTI_OUTPUT if mode.enabled else NO_GRAD
        node = record_view(op, x, plan) if needs else None
        if meta is not None and meta.base is not None and needs is not True:
            edges = edges_of(node, len(pieces))
            return tuple([wrap(template, storage, first + offset, ASK, nested_meta(x, meta, plan, k, creation, edges[k]))
                          for k, (template, offset, _) in enumerate(pieces)])
        version = storage.version           # what nested_meta says of views of a base
        if node is None:
            return tuple([wrap(template, storage, first + offset, ASK, new_meta(x, chain, creation, version, None))
                          for template, offset, chain in pieces])
        return tuple([wrap(template, storage, first + offset, ASK, new_meta(x, chain, creation, version, edge))
                      for (template, offset, chain), edge in zip(pieces, edges_of(node, len(pieces)))])
    return untracked if getattr(op, "untracked", False) else views


def edges_of(node: Node | None, count: int) -> list:
    """What leads to each of the outputs of a node."""
    return [node] * count if node is None or count == 1 else [Edge(node, k) for k in range(count)]


def pieces_of(plan: ViewPlan) -> tuple:
    """For every result of a movement that returns several: template, offset, and the chain of a view of a base."""
    pieces = tuple([(template, offset, (None, plan, k)) for k, (template, offset) in enumerate(zip(plan.outs, plan.offset))])
    plan.pieces = pieces
    return pieces


def untracked_view(x: Tensor, edge) -> Tensor:
    """Give an alias its edge."""
    x._edge_, x._needs_grad_ = edge, edge is not None
    return x


def view_layout(op: Movement, layout: Layout, shape: tuple, strides: tuple, args: tuple = ()) -> Layout:
    """The layout of a view: dtype and lazy bits are the operand's, unless the movement reads the memory in another way."""
    dtype = layout.dtype if op.retype is None else op.retype(layout.dtype, *args)
    conj, neg = (layout.conj, layout.neg) if op.bits is None else op.bits(layout.conj, layout.neg)
    return layout_of(dtype, shape, strides, layout.device, conj, neg)
