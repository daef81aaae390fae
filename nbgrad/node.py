"""Nodes of the recorded graph, their edges and hooks: the objects alone, which know no tensor.

A node is one recorded operation. Its edges lead to where the cotangents of its operands go; nothing leads back to the
tensors that it produced, so that graphs die by reference counting alone.

NOTE [Edges]: an entry of ``Node.edges`` is None, a Node (its output 0), an Edge (another output), or, for a leaf, *the leaf*: the
graph owns the leaf. Its AccumulateGrad is made when somebody asks for it (``next_functions``, ``get_gradient_edge``), is held by
the edge that it was asked from and weakly by the leaf. Passes that nobody looks into, which is nearly all, never make one (0.5 us
a leaf and step).
"""
from __future__ import annotations

from itertools import count
from typing import Callable
from weakref import ref

from .errors import ArgumentError

# Makes a leaf's AccumulateGrad; set by graph.py, which knows tensors.
materialise_leaf: Callable = None           # type: ignore[assignment]

__all__ = ["Node", "Rule", "NodeMeta", "Edge", "Hooks", "RemovableHandle", "add_hook", "node_meta"]


_hook_ids = count()


class RemovableHandle:
    """Removes a hook: by ``remove()``, or at the end of a ``with`` block. Keeps nothing alive but itself."""

    __slots__ = ("hooks", "id", "__weakref__")

    def __init__(self, hooks, hook_id: int):
        self.hooks, self.id = ref(hooks), hook_id

    def remove(self) -> None:
        """Take the hook away; harmless if that has happened."""
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error) -> None:
        self.remove()


class Hooks(dict):
    """``{id: hook}`` in order of registration, weakly referable by handles."""

    __slots__ = ("__weakref__",)


def add_hook(hooks: Hooks, hook: Callable) -> RemovableHandle:
    """Add ``hook`` to ``hooks``."""
    if not callable(hook):
        raise ArgumentError(f"register_hook: expected a callable, got {type(hook).__name__}.")
    hook_id = next(_hook_ids)
    hooks[hook_id] = hook
    return RemovableHandle(hooks, hook_id)


class NodeMeta:
    """What few nodes have.

    Attributes:
        tensor_hooks: ``{output number: {id: hook}}``.
        pre_hooks, post_hooks: ``{id: hook}``.
        retains: ``{output number: weak reference to the tensor that keeps its gradient}``.
        metadata: the user's dict.
        traceback: where the operation was recorded (anomaly mode); ``parent`` the node being differentiated then.
    """

    __slots__ = ("tensor_hooks", "pre_hooks", "post_hooks", "retains", "metadata", "traceback", "parent")

    def __init__(self):
        self.tensor_hooks, self.pre_hooks, self.post_hooks, self.retains = {}, Hooks(), Hooks(), {}
        self.metadata, self.traceback, self.parent = None, None, None


class Rule:
    """What all rules have.

    Attributes:
        name, node_name: of the operation and of its nodes; ``node_name`` may be a function of the plan's facts.
        saved_names: names of the saved values, in the order of their slots.
        frees: whether a pass that keeps no graph frees the node.
        takes_undefined: whether ``backward`` is called although no result has a cotangent.
    """

    name: str = "node"
    node_name: str | Callable[[dict], str] = "node"
    saved_names: tuple[str, ...] = ()
    frees = takes_undefined = False

    def places(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """For tools: how many operands there are, and which of them the edges belong to; None if all have one."""
        return None

    def saved(self, node: Node, name: str):
        """The value saved under a name.

        Raises:
            AttributeError: nothing is saved under it.
        """
        raise AttributeError(f"{node.name()} has saved no {name!r}; it has {list(self.saved_names)}.")

    def raw_saved(self, node: Node, name: str):
        """The slot behind a saved value, to hang hooks on."""
        return self.saved(node, name)


class Node:
    """One recorded operation.

    Attributes:
        seq: sequence number; later operations have higher ones.
        rule: what differentiates it: name, names of saved values (see dispatch.py).
        plan: the plan that computed it; ``plan.outs`` describes the results.
        edges: per differentiable operand a Node, an Edge, or None.
        s0..s2, v0..v2: saved values and their versions.
        attrs: other arguments, by position.
        backward: ``backward(node, g, create_graph)`` -> cotangents: one for one edge, else a sequence.
        outputs: number of results; with more than one ``g`` is a list.
    """

    __slots__ = ("seq", "rule", "plan", "edges", "s0", "s1", "s2", "v0", "v1", "v2", "attrs", "backward", "outputs",
                 "meta", "__weakref__")
    edges: tuple

    def name(self) -> str:
        """The name by which tools know the node, as ``MulBackward0``."""
        name = self.rule.node_name
        return name if isinstance(name, str) else name(self.plan.facts)

    @property
    def next_functions(self) -> tuple:
        """``(node, output number)`` for every operand; ``(None, 0)`` where no gradient is wanted."""
        if any(e is not None and not isinstance(e, (Node, Edge)) for e in self.edges):
            self.edges = tuple(e if e is None or isinstance(e, (Node, Edge)) else materialise_leaf(e) for e in self.edges)
        pairs = tuple((e.node, e.nr) if type(e) is Edge else (e, 0) for e in self.edges)
        places = self.rule.places(self)
        if places is None:
            return pairs
        total, positions = places
        spread: list[tuple] = [(None, 0)] * total
        for position, pair in zip(positions, pairs):
            spread[position] = pair
        return tuple(spread)

    def _sequence_nr(self) -> int:
        """The sequence number."""
        return self.seq

    def __call__(self, *grads):
        """Run the node alone: the cotangents of its operands for these of its results."""
        from .grad_mode import mode
        results = self.backward(self, grads[0] if self.outputs == 1 else list(grads), mode.enabled)
        return results if len(self.edges) == 1 else tuple(results)

    @property
    def metadata(self) -> dict:
        """A dict for the user's own use."""
        meta = node_meta(self)
        if meta.metadata is None:
            meta.metadata = {}
        return meta.metadata

    @property
    def _input_metadata(self) -> list:
        return [template.layout for template in self.plan.outs]

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a tuple returned replaces the grad_inputs."""
        return add_hook(node_meta(self).post_hooks, hook)

    def register_prehook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the node runs; a tuple returned replaces them."""
        return add_hook(node_meta(self).pre_hooks, hook)

    def _register_hook_dict(self, tensor) -> None:
        """For tools: hooks of ``tensor`` already live on its node."""

    def __getattr__(self, name: str):
        if name.startswith("_raw_saved_"):
            return self.rule.raw_saved(self, name[len("_raw_saved_"):])
        if name.startswith("_saved_"):
            return self.rule.saved(self, name[len("_saved_"):])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def __dir__(self):
        return [*super().__dir__(), *(f"_saved_{n}" for n in self.rule.saved_names)]

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class Edge:
    """Where the cotangent of output ``nr`` > 0 of ``node`` goes; for output 0 the Node itself stands."""

    __slots__ = ("node", "nr")

    def __init__(self, node: Node, nr: int):
        self.node, self.nr = node, nr


def node_meta(node: Node) -> NodeMeta:
    """The node's NodeMeta, made on first use."""
    if node.meta is None:
        node.meta = NodeMeta()
    return node.meta
