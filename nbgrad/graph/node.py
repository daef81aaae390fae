"""Nodes of the recorded graph, with their edges.

A node is one recorded operation. Its edges lead to where the cotangents of its operands go; nothing leads back to the
tensors that it produced, so that graphs die by reference counting alone.

NOTE [Edges]: an entry of ``Node._edges_`` is None, a Node (its output 0), an Edge (another output), or, for a leaf, *the leaf*: the
graph owns the leaf. Its AccumulateGrad is made when somebody asks for it (``next_functions``, ``get_gradient_edge``), is held by
the edge that it was asked from and weakly by the leaf. Passes that nobody looks into, which is nearly all, never make one.
"""

from __future__ import annotations

from functools import cache
from gc import is_tracked
from typing import Any, Callable
from weakref import ref

from ..base.errors import ArgumentError
from ..base.grad_mode import mode, special
from ..base.locks import made_once, new_rlock
from ..native.handle import known
from ..tensors.tensor import Tensor, meta_of, native
from .cotangents import given_cotangent
from .hooks import NodeMeta, RemovableHandle, add_hook
from .rule import OF_THE_ENGINE, Rule, name_of

__all__ = [
    "AccumulateGrad",
    "Edge",
    "Node",
    "Resting",
    "accumulator_of",
    "blank_node",
    "by_operand",
    "node_meta",
    "saved_slots",
    "visible_node",
]


class Placed:
    """The slot for the place where a node was recorded, which native code sets in anomaly mode alone.

    It is a class of its own so that templates of nodes, which set and copy the slots of Node, leave it alone.
    """

    __slots__ = ("_place_",)
    _place_: Any


class Node(Placed):
    """One recorded operation.

    Attributes:
        seq: sequence number; later operations have higher ones.
        rule: what differentiates it: name, names of saved values (see dispatch/elementwise_rules.py).
        plan: the plan that computed it; ``plan.outs`` describes the results.
        edges: per differentiable operand a Node, an Edge, or None.
        _s0_.._s2_, _v0_.._v2_: saved values and their versions.
        attrs: other arguments, by position.
        backward: ``backward(node, g, create_graph)`` -> cotangents: one for one edge, else a sequence.
        outputs: number of results; with more than one ``g`` is a list.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> node = (x * 3).sum().grad_fn
    >>> node.name(), node.next_functions[0][0].name()
    ('SumBackward0', 'MulBackward0')
    """

    __slots__ = (
        "_seq_",
        "_rule_",
        "_plan_",
        "_edges_",
        "_s0_",
        "_s1_",
        "_s2_",
        "_v0_",
        "_v1_",
        "_v2_",
        "_attrs_",
        "_backward_",
        "_outputs_",
        "_meta_",
        "__weakref__",
    )
    _seq_: int
    _rule_: Any
    _plan_: Any
    _edges_: tuple
    _s0_: Any
    _s1_: Any
    _s2_: Any
    _v0_: Any
    _v1_: Any
    _v2_: Any
    _attrs_: Any
    _backward_: Callable
    _outputs_: int
    _meta_: Any  # NodeMeta or None
    compiled_args: Callable  # these two are written in collecting.py
    apply_with_saved: Callable

    def name(self) -> str:
        """The name by which tools know the node, as ``MulBackward0``; of what is no operation's, as torch's engine calls it."""
        name = name_of(self)
        return f"torch::autograd::{name}" if name in OF_THE_ENGINE else name

    @property
    def next_functions(self) -> tuple:
        """``(node, output number)`` for every operand; ``(None, 0)`` where no gradient is wanted."""
        if any(e is not None and not isinstance(e, (Node, Edge)) for e in self._edges_):
            self._edges_ = tuple(
                e if e is None or isinstance(e, (Node, Edge)) else accumulator_of(e, self._seq_) for e in self._edges_
            )
        pairs = tuple((visible_node(e.node), e.nr) if type(e) is Edge else (visible_node(e), 0) for e in self._edges_)
        places = self._rule_.places(self)
        if places is None:
            return pairs
        total, positions = places
        spread: list[tuple] = [(None, 0)] * total
        for position, pair in zip(positions, pairs):
            spread[position] = pair
        return tuple(spread)

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted of an operand."""
        return any(edge is not None for edge in self._edges_)

    def _sequence_nr(self) -> int:
        """The sequence number."""
        return self._seq_

    def _set_sequence_nr(self, number: int) -> None:
        """Change the sequence number, and with it the node's turn in passes."""
        self._seq_ = number

    def __call__(self, *grads):
        """Run the node alone: the cotangents of its operands for these of its results; None for operands that need none."""
        if len(grads) != self._outputs_:
            raise ArgumentError(f"{name_of(self)}: got {len(grads)} gradients, expected {self._outputs_}, one for each result.")
        grads = tuple(given_cotangent(name_of(self), g, layout) for g, layout in zip(grads, self._input_metadata))
        undefined = all(g is None for g in grads) and not self._rule_.takes_undefined
        results = (
            None
            if undefined
            else self._backward_(self, grads[0] if self._outputs_ == 1 else list(grads), mode.enabled or bool(special))
        )  # kernels know no special modes
        inputs = by_operand(self, results)
        return inputs[0] if len(inputs) == 1 else inputs

    @property
    def metadata(self) -> dict:
        """A dict for the user's own use; anomaly mode puts ``traceback_`` and ``parent_`` into it."""
        meta = node_meta(self)
        if meta.metadata is None:
            place = getattr(self, "_place_", None)
            meta.metadata = {} if place is None else place.metadata()
        return meta.metadata

    @property
    def _input_metadata(self) -> list:
        return [template.layout for template in self._plan_.outs]

    def register_hook(self, fn: Callable) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node ran; a tuple returned replaces the grad_inputs."""
        return add_hook(node_meta(self).post_hooks, fn)

    def register_prehook(self, fn: Callable) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; a tuple returned replaces them."""
        return add_hook(node_meta(self).pre_hooks, fn)

    def _register_hook_dict(self, tensor) -> None:
        """Call the hooks in the dict ``tensor._backward_hooks`` with the gradient of ``tensor``, a result of this node."""
        hooks = tensor._backward_hooks
        if hooks is not None:
            node_meta(self).tensor_hooks[tensor.output_nr] = hooks

    def __reduce_ex__(self, protocol):
        raise ArgumentError(f"{name_of(self)}: a node of the graph can be neither pickled nor copied.")

    def __getattr__(self, name: str):
        if name.startswith("_raw_saved_"):
            return self._rule_.raw_saved(self, name[len("_raw_saved_") :])
        if name.startswith("_saved_"):
            return self._rule_.saved(self, name[len("_saved_") :])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def __dir__(self):
        names = self._rule_.shown_names()
        raw = [name for name in names if self._rule_.slot(name) is not None]
        return [*super().__dir__(), *(f"_saved_{name}" for name in names), *(f"_raw_saved_{name}" for name in raw)]

    def __repr__(self) -> str:
        return f"<{name_of(self)} object at {id(self):#x}>"


def by_operand(node: Node, results: Any) -> tuple:
    """What a node's ``backward`` returned, as one cotangent for each operand."""
    count = len(node._edges_)
    inputs = (None,) * count if results is None else (results,) if count == 1 else tuple(results)
    places = node._rule_.places(node)
    if places is None:
        return inputs
    total, positions = places
    spread: list = [None] * total
    for position, value in zip(positions, inputs):
        spread[position] = value
    return tuple(spread)


known["Node"] = Node


def blank_node(kind: type[Node], unset: tuple[str, ...] = ()) -> Node:
    """A node whose slots are None, but for those that somebody else fills in: they stay unset."""
    node = kind()
    for slot in Node.__slots__:
        if slot not in unset and not slot.startswith("__"):
            setattr(node, slot, None)
    return node


def saved_slots(count: int) -> tuple[str, ...]:
    """The slots of the first ``count`` saved values, each with that of its version."""
    return tuple(f"_{kind}{k}_" for k in range(count) for kind in "sv")


NODE_SAVES, MOST_SAVED = 3, 41  # values that a Node keeps, and a WideNode


class WideNode(Node):
    """A node of an operation of many operands, with more slots for saved values."""

    __slots__ = tuple(f"_{kind}{k}_" for k in range(NODE_SAVES, MOST_SAVED) for kind in "sv")


def saved_values(node: Node) -> list:
    """The values in the slots for saved values."""
    more = range(NODE_SAVES, len(node._rule_.saved_names))
    return [node._s0_, node._s1_, node._s2_, *(getattr(node, f"_s{k}_") for k in more)]


class Edge:
    """Where the cotangent of output ``nr`` > 0 of ``node`` goes; for output 0 the Node itself stands."""

    __slots__ = ("node", "nr")

    def __init__(self, node: Node, nr: int):
        self.node, self.nr = node, nr


def visible_node(node: Any) -> Any:
    """A node as users see it: of a class named after the operation, as ``type(y.grad_fn).__name__`` tells it to drawing tools.

    Passes take the shortest way with nodes of the class Node itself, which all are that nobody has looked at.
    """
    if type(node) is Node or type(node) is WideNode:
        node.__class__ = class_named(name_of(node), type(node) is WideNode)
    return node


@cache
def class_named(name: str, wide: bool) -> type[Node]:
    """The class of the nodes of that name."""
    kind = WideNode if wide else Node
    return type(name, (kind,), {"__slots__": (), "__module__": __name__, "__doc__": f"A node of {name}: see Node."})


_tracking = new_rlock()


def node_meta(node: Node) -> NodeMeta:
    """The node's NodeMeta, made on first use. The collector then sees the node, since hooks may lead back to it."""
    meta = node._meta_
    if meta is None:
        meta = made_once(node, "_meta_", NodeMeta)
        with _tracking:
            if not is_tracked(node):  # see NOTE [Collector] in native/launches.py; twice is fatal
                show_collector()(node)
    return meta


@cache
def show_collector() -> Callable[[Any], None]:
    """``track(object)``, which shows an object to the cyclic collector."""
    from ctypes import py_object, pythonapi

    track = pythonapi.PyObject_GC_Track
    track.argtypes, track.restype = (py_object,), None
    return track


# ---- leaves ----------------------------------------------------------------------------------------------------------

LEAF_SEQ = (1 << 64) - 1  # an AccumulateGrad runs before everything else that is ready


class LeafRule(Rule):
    """The rule of every AccumulateGrad."""

    node_name = "AccumulateGrad"
    name = "accumulate"


class Resting:
    """What a leaf remembers of an AccumulateGrad with hooks that nobody held any more: called, None, as a dead weak reference.

    NOTE [Hooks at rest]: a graph holds the leaf in the place of its AccumulateGrad, which would have kept the node alive. So the
    hooks of one that died still run in passes through nodes that were recorded before; those who look from there get them back.

    Attributes:
        hooks: the node's.
        seq: what the sequence number of the next node was at its death.
    """

    __slots__ = ("hooks", "seq")

    def __init__(self, hooks: NodeMeta, seq: int):
        self.hooks, self.seq = hooks, seq

    def __call__(self) -> None:
        return None


class AccumulateGrad(Node):
    """The sink of a leaf: owns the leaf, which holds it weakly. The contract is in accumulate.py."""

    __slots__ = ("_variable_",)
    requires_grad = True

    def __del__(self) -> None:
        rare = getattr(self, "_meta_", None)  # not of one whose making failed
        if rare is not None and (rare.pre_hooks or rare.post_hooks) and self._variable_._meta_ is not None:
            self._variable_._meta_.accumulator = Resting(rare, native.seq_to_come())

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        return self._variable_

    @property
    def _input_metadata(self) -> list:
        return [self._variable_.layout]


_new_accumulator: Callable | None = None
_making_accumulators = new_rlock()

# What an AccumulateGrad that is called by hand does with a gradient, as a node's ``backward``; set by accumulate.py.
leaf_backward: Callable = None  # type: ignore[assignment]


def accumulator_builder() -> Callable:
    """``build(leaf)`` -> AccumulateGrad; made when first used."""
    global _new_accumulator
    template = blank_node(AccumulateGrad)
    template._seq_, template._rule_, template._edges_, template._outputs_ = LEAF_SEQ, LeafRule(), (), 1
    template._backward_ = leaf_backward
    _new_accumulator = native.builder(template, ("_variable_",))
    return _new_accumulator


def new_accumulator(leaf: Tensor) -> AccumulateGrad:
    """Make the leaf's AccumulateGrad; of two threads that meet here the second one gets the first one's."""
    with _making_accumulators:
        meta = meta_of(leaf)
        node = meta.accumulator() if meta.accumulator is not None else None
        if node is None:
            node = (_new_accumulator or accumulator_builder())(leaf)
            meta.accumulator = ref(node)
    return node


def accumulator_of(leaf: Tensor, seq: int = -1) -> AccumulateGrad:
    """The leaf's AccumulateGrad: the living one, else a new one.

    Args:
        seq: of the node whose edge leads there; one recorded after the death of an AccumulateGrad with hooks gets one without.
    """
    holder = None if leaf._meta_ is None else leaf._meta_.accumulator
    node = None if holder is None else holder()
    if node is None:
        node = new_accumulator(leaf)
        if type(holder) is Resting and seq < holder.seq:
            node._meta_ = holder.hooks
    return node
