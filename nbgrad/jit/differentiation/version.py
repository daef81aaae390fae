"""The gradient of a graph for arguments of certain kinds: one joint graph, cut in two."""

from __future__ import annotations

from typing import Any, Sequence

from ...base.errors import GraphError, ShapeError
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from ..ir.graph import Graph
from ..ir.ir import Control, Node, Value, values_in
from ..ir.replay import replay
from ..passes.eliminate_dead import eliminate_dead, needed_nodes
from ..passes.retrace import leaves, map_leaves, retrace
from .cut import recomputed, saved_values
from .joint import Joint
from .linear import group, part
from .obstacles import check, plain_reads, update_requires_grad

__all__ = ["Version", "kind_of"]


def unpacked(node: Node, values: dict[Value, Any], sequence: Any) -> tuple:
    """The members of nested sequences."""
    return tuple(leaves(sequence))


UNPACK = Control("unpack", unpacked)


def kind_of(x: Any) -> Any:
    """What a graph's work depends on of an argument."""
    if isinstance(x, Tensor):
        return x.layout.plain()
    if isinstance(x, (tuple, list)):
        return tuple(map(kind_of, x))
    return type(x), x.hex() if isinstance(x, float) else x


def fits(kind: Any, x: Any, strides: bool = False) -> bool:
    """Whether an argument is of a kind.

    Args:
        strides: whether these matter.
    """
    if isinstance(kind, Layout):
        if not isinstance(x, Tensor):
            return False
        layout = x.layout.plain()
        return layout is kind or not strides and layout.shape == kind.shape and layout.dtype is kind.dtype
    if isinstance(x, (tuple, list)):
        return len(kind) == len(x) and all(fits(inner, y, strides) for inner, y in zip(kind, x))
    return not isinstance(x, Tensor) and kind == kind_of(x)


class Version:
    """The gradient of a graph for arguments of certain kinds.

    Attributes:
        kinds: of the arguments.
        trees: the arguments with numbers of tensors in the place of these; None for what is plain.
        tensors: among the arguments.
        flat: the graph as calls of operations alone, of the tensors among the arguments.
        branches: plain arguments choose what it does: then what is saved must serve all choices, and arguments are saved freely.
        temporaries: its values that ``f`` returns besides the outputs.
        f, df: and the lists as of ``Gradient``.
        given: what ``df`` is called with: kinds, None where nothing is known.
        variants: of ``df``, by which cotangents are defined.
    """

    def __init__(self, graph: Graph, arguments: Sequence[Any], memory: float | None, first: Version | None = None):
        self.kinds = tuple(map(kind_of, arguments))
        self.name, self.names, self.memory = graph.name, [value.name for value in graph.inputs], memory
        numbers = iter(range(1 << 30))
        self.trees = [map_leaves(x, lambda y: next(numbers) if isinstance(y, Tensor) else None) for x in arguments]
        self.tensors = [x for x in leaves(list(arguments)) if isinstance(x, Tensor)]
        plain = {value for value, tree in zip(graph.inputs, self.trees) if not self.numbers(tree)}
        needs = check(graph, plain)
        read = plain_reads(graph, plain, needs)
        self.branches = bool(read) and any(node.blocks for node in graph.nodes)
        self.flat = retrace(graph, arguments, [value.requires_grad is not False for value in graph.inputs])
        eliminate_dead(self.flat)
        self.f_real_outputs = len(self.flat.outputs)
        self.temporaries: list[Value] = []
        joint = self.settled()
        self.lists(joint, read)
        if first is not None:
            self.follow(first)
        self.f = self.primal(joint)
        self.given = self.kinds_given(joint)
        self.df = self.reverse(joint)
        self.variants: dict[tuple[bool, ...], Graph] = {}

    @staticmethod
    def numbers(tree: Any) -> list[int]:
        """The tensors of an argument."""
        return [number for number in leaves(tree) if number is not None]

    # ---- what is saved ---------------------------------------------------------------------------------------------

    def settled(self) -> Joint:
        """The joint graph in which every temporary that is saved is a root, and so has a cotangent where gradients flow."""
        order = {value: k for k, value in enumerate(self.flat.defined())}
        while True:
            joint = Joint(self.flat, self.tensors, self.temporaries, derivable=True)
            self.wanted = any(g is not None for g in joint.grads)
            self.saved = self.saved_of(joint) if self.wanted else []
            known = {*joint.inputs, *values_in(tuple(joint.roots))}
            new = [joint.origin.get(value) for value in self.saved if value not in known]
            if not all(value in order for value in new):
                raise GraphError(f"{self.name}: the backward pass reads a value that the graph does not have.")
            if not new:
                return joint
            self.temporaries = sorted([*self.temporaries, *(v for v in new if v)], key=order.__getitem__)

    def saved_of(self, joint: Joint) -> list[Value]:
        """The values of a joint graph that go from one part to the other."""
        free = [*values_in(tuple(joint.roots[: self.f_real_outputs])), *(joint.inputs if self.branches else ())]
        saved = set(saved_values(joint.inputs, joint.primal, self.reads(joint), free, self.memory))
        saved.update(joint.roots[self.f_real_outputs :])
        defined = [*joint.inputs, *(value for node in joint.primal for value in node.outs)]
        return [value for value in defined if value in saved]

    def reads(self, joint: Joint) -> set[Value]:
        """What the reverse part reads of the primal one, and hands on of it."""
        own = {value for node in joint.reverse for value in node.outs}.union(joint.cotangents, joint.graph.constants)
        return {value for node in joint.reverse for value in node.values()}.union(values_in(tuple(joint.grads))) - own

    def lists(self, joint: Joint, plain: list[int]) -> None:
        """The five lists: an output is captured as an output, also where it is an input, and at its first place."""
        places: dict[Value, int] = {}
        for k, value in enumerate(joint.roots):
            if isinstance(value, Value):
                places.setdefault(value, k)
        own = [{joint.inputs[number] for number in self.numbers(tree)} for tree in self.trees]
        from_inputs = {value for value in self.saved if value not in places}
        self.df_input_captured_outputs = [places[value] for value in self.saved if value in places]
        self.df_output_vjps = [
            k for k, tree in enumerate(self.trees) if any(joint.grads[number] is not None for number in self.numbers(tree))
        ]
        self.df_input_captured_inputs = [
            k
            for k, mine in enumerate(own)
            if mine & from_inputs or self.wanted and (k in plain or self.branches and k in self.df_output_vjps)
        ]
        self.df_input_vjps = list(joint.live) if self.wanted else []
        self.extra = len(self.temporaries)

    def follow(self, first: Version) -> None:
        """Take the lists of the version that callers know: what it saves must be among what that one saves.

        Raises:
            GraphError: it is not.
        """
        if (
            self.df_input_vjps != first.df_input_vjps[: len(self.df_input_vjps)]
            or self.extra > first.extra
            or not set(self.df_output_vjps) <= set(first.df_output_vjps)
            or not set(self.df_input_captured_inputs) <= set(first.df_input_captured_inputs)
            or not set(self.df_input_captured_outputs) <= set(first.df_input_captured_outputs)
        ):
            raise GraphError(
                f"{self.name}: for these arguments other values are saved than for the first ones. Hint: "
                "differentiate(graph, *arguments) for these."
            )
        self.df_input_vjps, self.df_output_vjps, self.extra = first.df_input_vjps, first.df_output_vjps, first.extra
        self.df_input_captured_inputs, self.df_input_captured_outputs = (
            first.df_input_captured_inputs,
            first.df_input_captured_outputs,
        )

    # ---- graphs ----------------------------------------------------------------------------------------------------

    def formal(self, joint: Joint, k: int, nodes: list[Node]) -> Value:
        """The input of a graph for an argument; the members of sequences come of a node."""
        tree = self.trees[k]
        if isinstance(tree, int):
            return joint.inputs[tree]
        value = Value(None, False, name=self.names[k])
        if self.numbers(tree):
            node = Node(UNPACK, (value,), {}, [])
            for nr, number in enumerate(leaves(tree)):
                member = Value(None, False) if number is None else joint.inputs[number]
                member.node, member.nr = node, nr
                node.outs.append(member)
            nodes.append(node)
        return value

    def primal(self, joint: Joint) -> Graph:
        """``f``."""
        nodes: list[Node] = []
        inputs = [self.formal(joint, k, nodes) for k in range(len(self.trees))]
        outputs = [*joint.roots, *[None] * (self.extra - len(self.temporaries))]
        made = part(inputs, [*nodes, *joint.primal], outputs, joint.graph.constants, self.name)
        update_requires_grad(made, False)
        return made

    def kinds_given(self, joint: Joint) -> list[Any]:
        """The kinds of what ``df`` is called with."""
        live = dict(zip(joint.live, joint.cotangents))
        outputs = [*joint.roots, *[None] * self.extra]
        saved = [outputs[k] for k in self.df_input_captured_outputs]
        return [
            *(live[k].layout if k in live else None for k in self.df_input_vjps),
            *(self.kinds[k] for k in self.df_input_captured_inputs),
            *(value.layout if isinstance(value, Value) else None for value in saved),
        ]

    def reverse(self, joint: Joint, live: Sequence[int] | None = None) -> Graph:
        """``df``, or one of its variants."""
        cotangents = dict(zip(joint.live, joint.cotangents))
        nodes: list[Node] = []
        outputs = [*joint.roots, *[None] * self.extra]
        inputs = [cotangents.get(k) or Value(None, False) for k in self.df_input_vjps]
        inputs += [self.formal(joint, k, nodes) for k in self.df_input_captured_inputs]
        for k in self.df_input_captured_outputs:
            value = outputs[k]
            inputs.append(value if isinstance(value, Value) and value not in inputs else Value(None, False))
        have = {*inputs, *(value for node in nodes for value in node.outs)}
        again = recomputed(joint.primal, self.reads(joint), have)
        self.require_saved(joint, again, have)
        grads = [self.gradient_of(self.trees[k], joint) for k in self.df_output_vjps]
        nodes += interleaved(again, joint.reverse)
        made = Graph(inputs, needed_nodes(nodes, grads, set(nodes))[0], grads, joint.graph.constants)
        group(made, [cotangents[k] for k in joint.live], joint.turns)
        became: dict[Value, Value] = {}
        made = part(inputs, made.nodes, made.outputs, made.constants, f"{self.name}_df", became=became)
        update_requires_grad(made, None)
        for value in (value for node in again for value in node.outs):
            if value.requires_grad is False and value in became:  # of the program, in which nothing was recorded there
                became[value].requires_grad = False
        for value in made.inputs:
            value.requires_grad = value.layout is not None and value.layout.dtype.differentiable
        return made

    def gradient_of(self, tree: Any, joint: Joint) -> Any:
        """The cotangent of an argument: of a sequence a tuple."""
        if isinstance(tree, (tuple, list)):
            return tuple([self.gradient_of(each, joint) for each in tree])
        return None if tree is None else joint.grads[tree]

    def require_saved(self, joint: Joint, again: Sequence[Node], have: set[Value]) -> None:
        """Refuse to read what is neither saved nor computed again.

        Raises:
            GraphError: the reverse part does.
        """
        known = have.union(joint.graph.constants, *(node.outs for node in again))
        read = {value for node in again for value in node.values()} | self.reads(joint)
        if not read <= known:
            raise GraphError(f"{self.name}: its backward pass reads a value that is not saved.")

    # ---- calls -----------------------------------------------------------------------------------------------------

    def run_reverse(self, inputs: Sequence[Any]) -> list:
        """``df`` by calls."""
        count = len(self.df_input_vjps)
        pattern = tuple([x is not None for x in inputs[:count]])
        if not any(pattern):
            return [None] * len(self.df_output_vjps)
        graph = self.variant(pattern)
        return replay(graph, graph.constants, list(map(laid_out, self.given, inputs)), graph.name, flags=True)

    def variant(self, pattern: tuple[bool, ...]) -> Graph:
        """``df`` where some cotangents are undefined: of the same inputs."""
        if all(pattern):
            return self.df
        if pattern not in self.variants:
            self.variants[pattern] = self.reverse(Joint(self.flat, self.tensors, self.temporaries, pattern, derivable=True))
        return self.variants[pattern]


def laid_out(kind: Any, x: Any) -> Any:
    """A tensor in the strides in which a graph was captured.

    Raises:
        ShapeError: it has another shape or dtype.
    """
    if not isinstance(kind, Layout) or not isinstance(x, Tensor) or x.layout.plain() is kind:
        return x
    if x.layout.shape != kind.shape or x.layout.dtype is not kind.dtype:
        raise ShapeError(f"df: got {x.layout.dtype.name} {list(x.layout.shape)}, expected {kind.dtype.name} {list(kind.shape)}.")
    return x.clone() if kind.dense and x.layout.plain().like() is not kind else x.contiguous() if kind is kind.like() else x


def interleaved(again: Sequence[Node], reverse: Sequence[Node]) -> list[Node]:
    """The nodes of a reverse pass, each after those that compute again what it reads."""
    order = {node: k for k, node in enumerate(again)}
    makers = {value: node for node in again for value in node.outs}
    done: set[Node] = set()
    made: list[Node] = []
    for node in (*reverse, *again):
        waiting, needed = [node], set[Node]()
        for each in waiting:
            for value in each.values():
                maker = makers.get(value)
                if maker is not None and maker not in done and maker not in needed:
                    needed.add(maker)
                    waiting.append(maker)
        made += sorted(needed, key=order.__getitem__)
        done |= needed
        if node not in order:
            made.append(node)
        elif node not in done:
            made.append(node)
            done.add(node)
    return made
