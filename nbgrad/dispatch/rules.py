"""Backward of general operations, whose derivatives are formulas of tensors, and how their nodes are recorded.

A declaration has such a formula for each operand, for example ``{"x": lambda g, y: g.matmul(y.t())}``. The names of its parameters
tell what a node must save: here ``y``. A rule turns the formulas of its operands into one generated function, ``backward``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable, Collection, Iterable

from ..base.bounded import keep
from ..base.functions import parameter_names
from ..base.grad_mode import dual_levels, mode, traces
from ..graph.edges import Node, edge_of, next_seq, requires_grad
from ..graph.saved import Guarded, freed_backward, freed_error, require_history, tensors_in, unpack_alike
from ..modes.inference import is_inference, refuse_saving
from ..ops.core import General, Movement, Op
from ..ops.kinds import refuse_wrong_kind
from ..tensors.tensor import ASK, Tensor, native
from .arguments import KEY_TYPES, attribute_names, settled_attributes
from .generated import compile_text
from .launches import truly
from .lowerings import RunPlan, complete
from .nodes import UNKNOWN, SavingRule, node_builder, node_template, saved_output

__all__ = ["GeneralRule", "recorder", "record_result", "record_run", "run_plan", "record_variadic"]


class GeneralRule(SavingRule):
    """The rule of an operation whose cotangents are formulas of tensors.

    Attributes:
        formulas: their cotangents, functions of tensors.
        saved_names: operands (and ``out``) that the formulas mention.
        frees: whether a pass without retain_graph frees the node.
    """

    def __init__(self, op: General | Movement, wanted: tuple[str, ...], keeps: bool = False):
        able = op.operands if isinstance(op, Movement) else tuple(name for name in op.edges if name in op.vjps)
        super().__init__(op, wanted, able)
        self.formulas = tuple(vjp_formula(op, name) for name in wanted)
        self.params = tuple(parameter_names(f) for f in self.formulas)
        self.together = [
            (names, formula, parameter_names(formula)) for names, formula in op.together.items() if len({*names} & {*wanted}) > 1
        ]
        mentioned = {name for names in (*self.params, *(params for _, _, params in self.together)) for name in names}
        self.saved_names = tuple(name for name in (*op.operands, op.second, "out") if name in mentioned)
        self.frees = keeps or bool(self.saved_names)
        self.spread = op.operands[0] in wanted and op.variadic

    def beside(self, node: Node, name: str) -> Any:
        """The attributes of the call, and what is known of its operands."""
        if node._backward_ is freed_backward:
            raise freed_error(node)
        facts = node._plan_.facts if type(node._attrs_) is not Guarded else {**node._plan_.facts, **node._attrs_.values()}
        if (own := self.op.own_name(name)) in facts:
            form = self.op.forms.get(own)
            return facts[own] if form is None else form(facts[own])
        operand, _, aspect = name.partition("_sym_")  # as torch names sizes: self_sym_sizes
        layout = facts.get(f"{self.op.own_name(operand)}_layout")
        known = {} if layout is None else {"sizes": layout.shape, "strides": layout.strides, "numel": layout.numel}
        return known.get(aspect, UNKNOWN)

    def node_backward(self) -> Callable:
        return self.generate()

    def part_of(self, chosen: tuple[bool, ...]) -> Callable:
        return self.generate(chosen)

    def generate(self, chosen: tuple[bool, ...] | None = None) -> Callable:
        """``backward(node, g, create_graph)``: check versions, call the formulas with what they name.

        Args:
            chosen: which of the operands are of interest; None: all.
        """
        lines = ["def backward(node, g, create_graph):"]
        params = [names if chosen is None or chosen[k] else () for k, names in enumerate(self.params)]
        together = [found for found in self.together if self.joined(found[0], params)]
        used = {name for names in params for name in names}
        own, used = used, used | {name for _, _, names in together for name in names}
        for i, name in enumerate(self.saved_names):
            if name not in used:
                continue
            lines += [
                f"    {name} = node._s{i}_",
                f"    if {name} is None or {name}._storage_.version != node._v{i}_: {name} = unpack_alike(node, {i})",
            ]
        lines += self.histories(own)
        known = {"g", *self.saved_names}
        if used - known:
            lines += ["    facts = node._plan_.facts", "    given = facts if node._attrs_ is None else node._attrs_.values()"]
        attributes = attribute_names(self.op)
        source = {p: p if p in known else f"{'given' if p in attributes else 'facts'}[{p!r}]" for p in used}
        calls = [
            f"f{k}({', '.join(map(source.__getitem__, names))})" if chosen is None or chosen[k] else "None"
            for k, names in enumerate(params)
        ]
        scope: dict[str, Any] = {
            "unpack_alike": unpack_alike,
            "saved_output": saved_output,
            "require_history": require_history,
            "mode": mode,
            "dual_levels": dual_levels,
            **{f"f{k}": f for k, f in enumerate(self.formulas)},
        }
        for k, (name, names) in enumerate(zip(self.wanted, params)):
            other, rest = self.op.after.get(name, ("", None))
            if rest and names and other in self.wanted and params[place := self.wanted.index(other)]:
                last = parameter_names(rest)[1:]
                lines.append(f"    r{place} = {calls[place]}")
                calls[place] = f"r{place}"
                calls[k] = f"a{k}({', '.join([f'r{place}', *map(source.__getitem__, last)])})"
                scope[f"a{k}"] = rest
        for t, (operands, formula, names) in enumerate(together):
            places = self.joined(operands, params)
            results = ", ".join(f"r{self.wanted.index(x)}" if x in places else "_" for x in operands)
            alone = "; ".join(f"r{k} = {calls[k]}" for k in map(self.wanted.index, places))
            lines += [f"    if mode.enabled or dual_levels: {alone}"]
            lines += [f"    else: {results} = t{t}({', '.join(map(source.__getitem__, names))})"]
            scope[f"t{t}"] = formula
            for k in map(self.wanted.index, places):
                calls[k] = f"r{k}"
        if self.spread:
            lines += [
                f"    results = (*{calls[0]}, {', '.join(calls[1:])})",
                "    return results[0] if len(node._edges_) == 1 else results",
            ]
        else:
            lines.append(f"    return {', '.join(calls)}")
        wanted = [name for k, name in enumerate(self.wanted) if chosen is None or chosen[k]]
        exec(compile_text("\n".join(lines) + "\n", f"{self.name} backward {'_'.join(wanted)}"), scope)
        return scope["backward"]

    def joined(self, operands: tuple[str, ...], params: list[tuple[str, ...]]) -> list[str]:
        """Those of the operands whose cotangents are asked for, by the parameters of the formulas that are."""
        return [name for name, names in zip(self.wanted, params) if name in operands and names]

    def histories(self, used: set[str]) -> list[str]:
        """Source that gives saved values their histories back, where the derivative is to be differentiated."""
        used = used & {*self.saved_names}
        steps = [] if self.spread else history_steps(self.wanted, used)
        steps += ["        out = saved_output(node, out)"] * ("out" in used)
        return ["    if create_graph:", *steps] if steps else []


def history_steps(operands: Iterable[str], used: Collection[str]) -> list[str]:
    """Source, for a derivative to be differentiated: what it is made of must still have its history.

    Args:
        operands: those that the node has edges for, in their order; also those of which the derivative is not asked for.
        used: the saved values that the derivative is made of.
    """
    return [
        f"        if not {name}._needs_grad_: require_history(node, {place}, {name})"
        for place, name in enumerate(operands)
        if name in used
    ]


def vjp_formula(op: General | Movement, name: str) -> Callable:
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
def recorder(op: General, mask: int, keeps: bool = False) -> Callable:
    """``record(plan, out, *operands)``, for a subset of the operands as bits; ``keeps``: attributes hold tensors."""
    return GeneralRule(op, tuple(name for name in op.edges if mask >> op.operands.index(name) & 1), keeps).recorder()


@cache
def joining_builder(op: General, keeps: bool) -> tuple[GeneralRule, Callable]:
    """The rule of an operation of a sequence, and what builds its nodes, with attributes."""
    rule = GeneralRule(op, (op.operands[0],), keeps)
    saved = len(rule.saved_names)
    return rule, node_builder(node_template(rule, rule.generate(), saved, attrs=True), saved, attrs=True)


def record_result(op: General, plan, tensors: tuple, out: Any, guarded: Guarded | None = None) -> None:
    """Give the result of an operation, or the first of its results, its node, if an operand needs a gradient."""
    bits, recorders = recorders_of(op)
    mask = 0
    for bit, x in zip(bits, tensors):
        needs = x._needs_grad_
        if needs and bit and (needs is not ASK or requires_grad(x)):
            mask |= bit
    if type(out) is tuple:
        tensors, out = (*tensors, out[1]) if op.second else tensors, out[0]
    if mask and out.layout.dtype.differentiable:
        if guarded is None:
            (recorders.get(mask) or recorders.setdefault(mask, recorder(op, mask)))(plan, out, *tensors)
        else:
            recorder(op, mask, True)(plan, out, *tensors)
            out._edge_._attrs_ = guarded


@cache
def recorders_of(op: General) -> tuple[tuple[int, ...], dict[int, Callable]]:
    """The bit of each operand (0 without a gradient by it), and a table of what records, by the bits that are set."""
    return tuple(1 << k if name in op.vjps else 0 for k, name in enumerate(op.operands)), {}


def record_run(op: General, run: Callable, tensors: tuple, attributes: dict):
    """The result of an operation of several steps: they run with recording off, then the result gets its node."""
    attributes = settled_attributes(op, attributes)
    enabled = mode.enabled
    mode.enabled = False
    try:
        result = truly(run, op, tensors, attributes) if traces else run(op, tensors, attributes)
    except Exception as error:
        refuse_wrong_kind(op, attributes.items(), error)
        raise
    finally:
        mode.enabled = enabled
    if type(result) is tuple:
        result = tuple([x if x._meta_ is None else native.alias(x) for x in result])
        out = result[0]
    else:  # the last step may be a view of what the run made, which nobody else has
        out = result = result if result._meta_ is None else native.alias(result)
    if not enabled:
        return result
    if op.variadic:
        record_variadic(op, tensors, attributes, out)
    else:
        for x in tensors:
            needs = x._needs_grad_ if isinstance(x, Tensor) else False
            if needs and (needs is not ASK or requires_grad(x)):
                plan, guarded = run_plan(op, tensors, attributes, out)
                record_result(op, plan, tensors, result, guarded)
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
        if type(value) not in KEY_TYPES:  # no part of a key: 1.0 would find what 1 has left
            return complete(RunPlan(out), op, layouts, given), guarded
    key = (op, layouts, out.layout, *given.values())
    try:
        plan = _run_plans.get(key)
    except TypeError:  # a list in a tuple
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
        rule, build = joining_builder(op, guarded is not None)
        kept: list = []
        for _ in rule.saved_names:  # nothing but the result
            kept += [native.alias(out), out._storage_.version]
        out._edge_ = build(next_seq(), plan, tuple(edges), guarded, *kept)
        out._needs_grad_ = True
