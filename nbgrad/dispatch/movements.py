"""Calls of movements, the operations that return views: ``transpose``, ``select``, ``expand`` and their like.

A view is planned like any call, by the layout of the operand and the attributes. Its plan holds the layout of the view and where it
begins in memory; there is nothing to launch. Its backward is the inverse movement, which the declaration names.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import Any, Callable

from ..base import bounded
from ..base.bounded import Plans, keep_plan
from ..base.calls import CALLS
from ..base.grad_mode import mode
from ..graph.edges import Edge, Node, edge_of, next_seq, requires_grad
from ..native.plans import MovementPlan
from ..ops.core import Movement
from ..ops.kinds import odd_condition, refuse_odd, refuse_wrong_kind, whole_names
from ..ops.spellings import public_signature
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import STORAGE_TEMPLATE, unwatched
from ..tensors.tensor import ASK, DEFAULT, META_TEMPLATE, MULTI_OUTPUT, NO_GRAD, Meta, Tensor, native
from .arguments import argument_text, called_again, check_tensor, hashable, other_names, other_names_lines, settled_attributes
from .calls import OperationCall
from .nodes import node_builder, node_template
from .patterns import Patterns
from .rules import GeneralRule

__all__ = ["Cotangents", "viewer", "movement_call", "several_views", "maker_of_several", "view_layout"]

META_OF_VIEW = Meta()
for _slot in Meta.__slots__:
    if _slot not in ("base", "chain", "creation", "version", "node", "__weakref__"):
        setattr(META_OF_VIEW, _slot, getattr(META_TEMPLATE, _slot))


class ViewPlan(MovementPlan):
    """The layout and place of a view; nothing is launched.

    Attributes:
        op, args: the movement and its attributes by position, for replaying it.
        rest: what the inverse formula takes after ``g``; None until a backward pass asks.
        pieces: of several results, what each is made of; None until a call asks.
    """

    __slots__ = ("op", "args", "rest", "pieces")
    pieces: tuple | None

    def __init__(self, op: Movement, layout: Layout, args: tuple):
        made = op.formula(layout, *args)
        self.op, self.args, self.layout, self.record, self.layouts, self.rest, self.pieces = op, args, layout, b"", (), None, None
        if op.plain:  # as nearly all
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
        """The facts that rules and tools may ask for, by name."""
        layout = self.layout
        names = list(self.op.signature.parameters)[1:]
        return {
            **dict(zip(names, self.args)),
            "x_shape": layout.shape,
            "x_dtype": layout.dtype,
            "x_layout": layout,
            "out_shape": self.outs[0].layout.shape if self.outs else (),
            "outs": len(self.outs),
            "out_shapes": tuple(template.layout.shape for template in self.outs),
        }


@cache
def builder_of(op: Movement) -> Callable[..., ViewPlan]:
    """``build(offset, outs, layout, args)``: a plan of an operation."""
    shared = object.__new__(ViewPlan)
    shared.op, shared.record, shared.layouts, shared.rest, shared.pieces = op, b"", (), None, None
    return native.builder(shared, ("offset", "outs", "layout", "args"), True)


def copies_of(plan: ViewPlan) -> Callable[[tuple, Any, tuple, tuple], ViewPlan]:
    """What builds plans that differ from one in their sizes alone: see ``Patterns`` in patterns.py."""
    build = builder_of(plan.op)
    return lambda inputs, offset, outs, layouts: build(offset, outs, inputs[0], inputs[1:])


def plain_plan(op: Movement, layout: Layout, args: tuple) -> ViewPlan:
    """The plan of a plain view, built natively (benchmarks/test_overhead.py: a shape never seen before)."""
    (shape, strides, offset), dtype = op.formula(layout, *args), layout.dtype
    out = layout_of(dtype, shape, strides, layout.device, layout.conj, layout.neg)
    return builder_of(op)(offset * dtype.itemsize, (out.template,), layout, args)


class ViewRule(GeneralRule):
    """Backward of a movement: its inverse, with facts that the plan keeps ready."""

    op: Movement

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
            bounded.conceal(rest)
        return self.inverse(g, *rest)


class Cotangents(tuple):
    """The cotangents of several results, all defined. Inverse formulas join them by ``cat`` or ``stack``."""

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
    rule = ViewRule(op)
    return node_template(rule, rule.backward, outputs=outputs)


@lru_cache(maxsize=256)
def view_node_builder(op: Movement, outputs: int = 1) -> Callable:
    """``new_node(seq, plan, edges)`` of a movement."""
    return node_builder(view_node_template(op, outputs))


@cache
def viewers(op: Movement) -> tuple[Callable, Callable]:
    """``view(plan, x, enabled, *values)``, ``meta_of(x, plan, which, creation, node)``: see ``Viewer`` of native/recording.py."""
    return native.viewer(view_node_template(op), META_OF_VIEW, (DEFAULT, NO_GRAD), partial(refuse_values, op))


def viewer(op: Movement) -> Callable:
    """``view`` alone."""
    return viewers(op)[0]


def refuse_values(op: Movement, *values: Any) -> None:
    """Refuse attributes that only equal what they should be, as 1.0 equals 1, and so have found a plan."""
    refuse_odd(op, zip(whole_names(op), values))


PLACES = {"shape", "size", "start", "end", "index", "length", "offset", "sizes"}  # attributes that are sizes or places, or several
SIZED = {"shape", "size", "sizes", "stride", "dims", "split_sizes"}  # attributes of movements that may be tuples


class MovementCall(OperationCall):
    """The call of a view operation: look up where it lies, make the tensor, record.

    Attributes:
        takes_sizes: some attributes may be tuples.
        plans: by the operand's layout and the attributes; by the layout alone where there are none.
        derived: what makes them.
    """

    __slots__ = ("takes_sizes", "derived")
    op: Movement
    offers = ("plain", "plans", "find_plan", "view")

    def __init__(self, op: Movement):
        super().__init__(op)
        self.takes_sizes, self.plans = not SIZED.isdisjoint(self.attributes), Plans(self.plan_of)
        sizes = [k for k, name in enumerate(self.attributes, 1) if name in PLACES]
        self.derived = Patterns(lambda layout, *args: ViewPlan(op, layout, args), copies_of, op.name, sizes)

    def plan_of(self, key) -> ViewPlan | None:
        """A plan that the table lacks; None where ``find_plan`` must look at the arguments first."""
        layout, args = (key[0], key[1:]) if self.attributes else (key, ())
        if type(layout) is not Layout or layout.special:
            return None
        for a in args:
            kind = type(a)
            if kind is not int and a is not None and (kind is not tuple or self.takes_sizes and Tensor in map(type, a)):
                return None
        try:
            # Of one dimension it is made sooner than its kind is found (benchmarks/test_overhead.py: a shape never seen before).
            if layout.ndim < 2:
                return (plain_plan if self.op.plain else ViewPlan)(self.op, layout, args)
            return self.derived.plan_of((layout, *args))
        except Exception as error:
            refuse_wrong_kind(self.op, zip(self.attributes, args), error)
            raise

    def find_plan(self, x, *args) -> ViewPlan:
        """The plan for arguments of any kind, made if there is none.

        Raises:
            ArgumentError: no tensor, or an argument of another kind than its name promises.
        """
        op, plans = self.op, self.plans
        check_tensor(op, "x", x)
        args = tuple(map(hashable, settled_attributes(op, dict(zip(self.attributes, args))).values()))
        key = (x.layout, *args) if args else x.layout
        try:
            plan = plans.get(key)
            return keep_plan(plans, key, ViewPlan(op, x.layout, args)) if plan is None else plan
        except Exception as error:
            refuse_wrong_kind(op, zip(self.attributes, args), error)
            raise

    def execute(self, tensors: tuple, attributes: dict) -> Any:
        """The view, or the views, by a plan that is found or made."""
        (x,) = tensors
        plan = self.find_plan(x, *attributes.values())
        return several_views(self.op, x, plan) if self.op.multiple else self.view(x, plan)

    def view(self, x: Tensor, plan: ViewPlan) -> Tensor:
        """The view by a plan that was found elsewhere."""
        return viewer(self.op)(plan, x, mode.enabled)

    def scope(self) -> dict[str, Any]:
        return {"plans": self.plans, "mode": mode, "called_again": partial(called_again, self.op)}

    def late_scope(self) -> dict[str, Any]:
        return super().late_scope() | {"make": maker_of_several(self.op) if self.op.multiple else viewer(self.op)}

    def parts(self) -> dict[str, str]:
        """A view that is odd is refused by the native call that makes it, several views by the text."""
        op, passed, odd = self.op, ", ".join(self.names), odd_condition(self.op)
        made = "make(x, plan)" if op.multiple else f"make({', '.join(['plan', 'x', 'mode.enabled', *whole_names(op)])})"
        return {
            "parameters": argument_text(op, "_defaults", other_names(op)),
            "spelling": "".join(line + "\n" for line in other_names_lines(op, self.names))
            + (f"    if {odd}: return check({passed})\n" if odd and op.multiple else ""),
            "plan": f"plans[{', '.join(['x.layout', *self.attributes])}]",
            "launch": f"    return {made}\n",
        }


def movement_call(op: Movement) -> Callable:
    """The function of a view operation."""
    CALLS[op.name] = call = MovementCall(op).function()
    call.__signature__ = public_signature(op)
    return call


@lru_cache(maxsize=1)
def view_meta_builder() -> Callable:
    """``new_meta(base, chain, creation, version, node)`` of a view."""
    return native.builder(META_OF_VIEW, ("base", "chain", "creation", "version", "node"))


def record_view(op: Movement, x: Tensor, plan: ViewPlan) -> Node | None:
    """The node of a view, if it is recorded."""
    if mode.enabled and requires_grad(x):
        return view_node_builder(op, len(plan.outs))(next_seq(), plan, (edge_of(x),))
    return None


def several_views(op: Movement, x: Tensor, plan: ViewPlan) -> tuple[Tensor, ...]:
    """The results of a movement that returns several; ``op.untracked`` ones share memory without being views to autograd."""
    return maker_of_several(op)(x, plan)


@cache
def maker_of_several(op: Movement) -> Callable:
    """``make(x, plan)`` of a movement that returns several, by what a plan knows of its pieces."""
    wrap, new_meta, new_storage = native.tensor, view_meta_builder(), native.builder(STORAGE_TEMPLATE, ("array",))
    meta_of = viewers(op)[1]

    def untracked(x: Tensor, plan: ViewPlan) -> tuple:
        pieces, storage, first = plan.pieces or pieces_of(plan), x._storage_, x._offset_
        if x._needs_grad_ is False and storage.writable is True:
            array = storage.array
            return tuple([wrap(template, new_storage(array), first + offset, False, None) for template, offset, _ in pieces])
        node = record_view(op, x, plan) if x._needs_grad_ else None
        return tuple(
            [
                untracked_view(wrap(template, unwatched(storage), first + offset, False, None), edge)
                for (template, offset, _), edge in zip(pieces, output_edges(node, len(pieces)))
            ]
        )

    def views(x: Tensor, plan: ViewPlan) -> tuple:
        pieces, storage, first, needs, meta = plan.pieces or pieces_of(plan), x._storage_, x._offset_, x._needs_grad_, x._meta_
        creation = MULTI_OUTPUT if mode.enabled else NO_GRAD
        node = record_view(op, x, plan) if needs else None
        if meta is not None and meta.base is not None and needs is not True:
            edges = output_edges(node, len(pieces))
            return tuple(
                [
                    wrap(template, storage, first + offset, ASK, meta_of(x, plan, k, creation, edges[k]))
                    for k, (template, offset, _) in enumerate(pieces)
                ]
            )
        version = storage.version  # what meta_of says of views of a base
        if node is None:
            return tuple(
                [
                    wrap(template, storage, first + offset, ASK, new_meta(x, chain, creation, version, None))
                    for template, offset, chain in pieces
                ]
            )
        return tuple(
            [
                wrap(template, storage, first + offset, ASK, new_meta(x, chain, creation, version, edge))
                for (template, offset, chain), edge in zip(pieces, output_edges(node, len(pieces)))
            ]
        )

    return untracked if op.untracked else views


def output_edges(node: Node | None, count: int) -> list:
    """The edges to the outputs of a node."""
    return [node] * count if node is None or count == 1 else [Edge(node, k) for k in range(count)]


def pieces_of(plan: ViewPlan) -> tuple:
    """For every result of a movement that returns several: template, offset, and the chain of a view of a base."""
    pieces = tuple([(template, offset, (None, plan, k)) for k, (template, offset) in enumerate(zip(plan.outs, plan.offset))])
    plan.pieces = pieces
    return pieces


def untracked_view(x: Tensor, edge) -> Tensor:
    """Give an alias its edge; returns it."""
    x._edge_, x._needs_grad_ = edge, edge is not None
    return x


def view_layout(op: Movement, layout: Layout, shape: tuple, strides: tuple, args: tuple = ()) -> Layout:
    """The layout of a view: dtype and lazy bits are the operand's, unless the movement reads the memory in another way."""
    dtype = layout.dtype if op.retype is None else op.retype(layout.dtype, *args)
    conj, neg = (layout.conj, layout.neg) if op.bits is None else op.bits(layout.conj, layout.neg)
    return layout_of(dtype, shape, strides, layout.device, conj, neg)
