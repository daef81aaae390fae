"""The recorded graph: nodes, edges, saved tensors, hooks.

A node is one recorded operation. Its edges lead to where the cotangents of its operands go; nothing leads back to the
tensors that it produced, so that graphs die by reference counting alone.

NOTE [Saved]: what a rule mentions is kept in the slots ``s0..s2`` with the version it had in ``v0..v2``.
  1. an operand  -> the tensor itself, so that user attributes and identity survive;
  2. the result  -> an alias of its memory without history (the tensor itself would make a cycle tensor -> node -> tensor);
  3. a number    -> the number, with None for a version;
  4. under saved-tensor hooks -> a ``SavedTensor`` holding what ``pack`` returned.
"""
from __future__ import annotations

import threading
from itertools import count
from typing import Any, Callable, NamedTuple
from weakref import ref

from .errors import ArgumentError, GradError, VersionError
from .tensor import ASK, Tensor, new_meta

__all__ = ["Node", "Edge", "AccumulateGrad", "GradientEdge", "SavedTensor", "RemovableHandle", "edge_of", "next_seq",
           "get_gradient_edge", "requires_grad"]

next_seq = count().__next__        # one C call under the interpreter lock: atomic
LEAF_SEQ = (1 << 64) - 1           # an AccumulateGrad runs before everything else that is ready


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

    def name(self) -> str:
        """The name by which tools know the node, as ``MulBackward0``."""
        return self.rule.node_name

    @property
    def next_functions(self) -> tuple:
        """``(node, output number)`` for every operand; ``(None, 0)`` where no gradient is wanted."""
        return tuple((e.node, e.nr) if type(e) is Edge else (e, 0) for e in self.edges)

    @property
    def _sequence_nr(self) -> int:
        return self.seq

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

    def register_hook(self, hook: Callable) -> "RemovableHandle":
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a tuple returned replaces the grad_inputs."""
        return add_hook(node_meta(self).post_hooks, hook)

    def register_prehook(self, hook: Callable) -> "RemovableHandle":
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


class GradientEdge(NamedTuple):
    """A place in the graph, for ``grad`` and ``backward``: output ``output_nr`` of ``node``."""

    node: Any
    output_nr: int
    ownership_token: Any = None


class LeafRule:
    """The rule of every AccumulateGrad."""

    node_name = "AccumulateGrad"
    name = "accumulate"
    saved_names = ()
    frees = False


class LeafPlan:
    """What a leaf's node needs of a plan: its layout now."""

    __slots__ = ("outs",)

    def __init__(self, leaf: Tensor):
        self.outs = (leaf.layout.template,)


class AccumulateGrad(Node):
    """The sink of a leaf: owns the leaf, which holds it weakly. The contract is in accumulate.py."""

    __slots__ = ("variable", "lock")

    rule_of_leaves = LeafRule()

    @property
    def _input_metadata(self) -> list:
        return [self.variable.layout]


def new_accumulator(leaf: Tensor) -> AccumulateGrad:
    """Make the leaf's AccumulateGrad."""
    meta = leaf.meta
    if meta is None:
        meta = leaf.meta = new_meta()
    with _accumulators:
        found = meta.accumulator
        node = found() if found is not None else None
        if node is None:
            node = AccumulateGrad()
            node.seq, node.rule, node.plan, node.edges = LEAF_SEQ, AccumulateGrad.rule_of_leaves, LeafPlan(leaf), ()
            node.s0 = node.s1 = node.s2 = node.v0 = node.v1 = node.v2 = node.attrs = node.meta = None
            node.backward, node.outputs, node.variable, node.lock = None, 1, leaf, _leaf_locks[id(leaf) % len(_leaf_locks)]
            meta.accumulator = ref(node)
    return node


_accumulators = threading.Lock()    # two threads that first use one leaf must get one node
# Locks are shared by leaves that fall on the same one: a lock a leaf costs 100 ns at every step.
_leaf_locks = [threading.RLock() for _ in range(64)]


def edge_of(x: Tensor):
    """Where the cotangent of ``x`` goes, for a tensor whose ``needs_grad`` is true and whose ``edge`` is None."""
    edge = x.edge
    if edge is not None:
        return edge
    if x.needs_grad is ASK:
        from .views import view_edge
        return view_edge(x)
    if not x.needs_grad:
        return None
    meta = x.meta
    if meta is not None and meta.accumulator is not None:
        node = meta.accumulator()
        if node is not None:
            return node
    return new_accumulator(x)


def requires_grad(x: Tensor) -> bool:
    """Whether gradients flow into ``x``, views asked."""
    needs = x.needs_grad
    if needs is ASK:
        return x.meta.base.needs_grad is True and x.layout.dtype.differentiable
    return needs


def node_meta(node: Node) -> NodeMeta:
    """The node's NodeMeta, made on first use."""
    if node.meta is None:
        node.meta = NodeMeta()
    return node.meta


# ---- hooks ---------------------------------------------------------------------------------------------------------

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

    def __enter__(self) -> "RemovableHandle":
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


def register_tensor_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(g)`` with the cotangent of ``x`` before it is used; a tensor returned replaces it.

    Raises:
        GradError: ``x`` does not require grad.
    """
    if not requires_grad(x):
        raise GradError("register_hook: the tensor does not require grad, so no gradient will ever reach it.")
    edge = edge_of(x)
    if edge is None or type(edge) is AccumulateGrad:
        meta = x.meta = x.meta or new_meta()
        if meta.hooks is None:
            meta.hooks = Hooks()
        return add_hook(meta.hooks, hook)
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    hooks = node_meta(node).tensor_hooks
    if nr not in hooks:
        hooks[nr] = Hooks()
    return add_hook(hooks[nr], hook)


def register_post_accumulate_grad_hook(x: Tensor, hook: Callable) -> RemovableHandle:
    """Call ``hook(x)`` after a pass has added to ``x.grad``; for leaves that require grad."""
    if not requires_grad(x) or x.grad_fn is not None:
        raise GradError("register_post_accumulate_grad_hook: expected a leaf that requires grad. "
                        "Hint: register_hook works on other tensors.")
    meta = x.meta = x.meta or new_meta()
    if meta.post_hooks is None:
        meta.post_hooks = Hooks()
    return add_hook(meta.post_hooks, hook)


def retain_grad(x: Tensor) -> None:
    """Keep the gradient of a non-leaf in ``x.grad`` (no effect on a leaf).

    Raises:
        GradError: ``x`` does not require grad.
    """
    if not requires_grad(x):
        raise GradError("retain_grad: the tensor does not require grad.")
    edge = edge_of(x)
    if edge is None or type(edge) is AccumulateGrad:
        return
    meta = x.meta = x.meta or new_meta()
    meta.retains = True
    note_retained(x, edge)


def note_retained(x: Tensor, edge) -> None:
    """Tell the node behind ``edge`` that ``x`` keeps its gradient; the newest value's node alone does."""
    node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
    node_meta(node).retains[nr] = ref(x)


def get_gradient_edge(x: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of ``x`` arrives.

    Raises:
        GradError: ``x`` does not require grad.
    """
    edge = edge_of(x) if requires_grad(x) else None
    if edge is None:
        raise GradError("get_gradient_edge: the tensor does not require grad.")
    return GradientEdge(edge.node, edge.nr) if type(edge) is Edge else GradientEdge(edge, 0)


# ---- saved tensors -------------------------------------------------------------------------------------------------

class SavedTensor:
    """A saved value behind hooks. ``storage`` makes every version check fail, which leads to ``unpack``."""

    __slots__ = ("packed", "unpack", "is_output")

    class storage:          # noqa: N801  (looked at as `saved.storage.version` by generated code)
        """Never at the version that a node noted."""

        version = None


def unpack(node: Node, slot: int):
    """The value of a saved slot whose version check failed: behind hooks, freed, or written to.

    Raises:
        VersionError: the tensor was modified after it was saved.
        GradError: the graph was freed.
    """
    value, expected = ((node.s0, node.v0), (node.s1, node.v1), (node.s2, node.v2))[slot]
    if isinstance(value, SavedTensor):
        return value.unpack(value.packed)
    if value is None and expected is not None:
        raise freed_error(node)
    name = node.rule.saved_names[slot]
    # An in-place result was written by this very node; whatever came later is the user's.
    raise VersionError(
        f"{node.rule.name}: saved tensor '{name}' ({value.layout.dtype.name} {list(value.layout.shape)}) was modified in place: "
        f"it is at version {value.storage.version}, expected {expected}.\n"
        "Hint: clone it before the update, or find the operation with nbgrad.detect_anomaly().")


def freed_error(node: Node) -> GradError:
    """The error of a second pass through freed saved tensors."""
    return GradError(f"{node.name()}: backward through the graph a second time: its saved tensors were freed by the first "
                     "pass. Hint: pass retain_graph=True to the first one.")


def freed_backward(node: Node, g, create_graph: bool):
    """The ``backward`` of a node whose saved tensors are gone."""
    raise freed_error(node)


def release(node: Node) -> None:
    """Free what the node saved; it cannot run again."""
    node.s0 = node.s1 = node.s2 = node.attrs = None
    node.backward = freed_backward
