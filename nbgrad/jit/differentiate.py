"""Graphs differentiated: the graph, what its gradients are of its cotangents, and which values go from one to the other.

The contract, for ``gradient = differentiate(graph)``:

    outs = gradient.f(*args)                                       # outs[:f_real_outputs] are the graph's
    given = [cotangent of outs[k] for k in df_input_vjps]          # None: known to be zero
    given += [args[k] for k in df_input_captured_inputs] + [outs[k] for k in df_input_captured_outputs]
    grads = gradient.df(*given)                                    # grads[k] is the cotangent of args[df_output_vjps[k]]

NOTE [Differentiation of graphs]: no derivative is written here. The graph is run once more under a capture, with its flags, then
the engine takes the gradients of its outputs; what is written down is cut in two (cut.py). Saved temporaries are outputs of ``f``
like others, and have cotangents: they are roots of a second capture. Which cotangents are undefined makes a variant of ``df``,
captured with fewer roots. What a graph does depends on the layouts of its arguments and on the plain values among them: for others
it is differentiated again, and ``f`` and ``df`` find the version that they are called for.
"""

from __future__ import annotations

from typing import Any, Sequence

from ..base.errors import ArgumentError, GraphError
from ..tensors.tensor import Tensor
from .differentiation.differentiability import is_differentiable, update_requires_grad
from .differentiation.gradient_versions import GradientVersion, fits, kind_of
from .ir.checker import require_sound
from .ir.graph import Graph, require_graph
from .ir.ir import Block, Value
from .ir.replay import replay
from .passes.eliminate_dead import eliminate_dead
from .passes.retrace import examples_of, leaves

__all__ = ["Gradient", "differentiate", "is_differentiable", "update_requires_grad"]


def differentiate(graph: Graph, *examples: Any, memory: float | None = None) -> Gradient:
    """The gradients of a graph, as graphs.

    Args:
        graph: as captured, or written by hand; it is left as it is. Gradients flow where its values' flags say so, or say nothing.
        examples: arguments of the kind that it is for. By default the layouts of its inputs; where nothing is known of an input,
            the first run of ``f`` is for the arguments that it gets.
        memory: the bytes that may be saved beside arguments and outputs; as long as they suffice nothing is computed twice. By
            default least is saved.

    Raises:
        GraphError: an operation on the way from an input to an output has no derivative, or writes in place; the graph breaks an
            invariant; ``memory`` does not suffice.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> x = nbgrad.tensor([2.0], requires_grad=True)
    >>> gradient = differentiate(trace(lambda x: (x * x).exp(), x))
    >>> gradient.f_real_outputs, gradient.df_input_vjps, gradient.df_output_vjps
    (1, [0], [0])
    """
    require_graph("differentiate", graph)
    require_sound("differentiate", graph)
    if not isinstance(memory, (int, float, type(None))):
        raise ArgumentError(f"differentiate: memory must be a number of bytes or None, got {type(memory).__name__}.")
    return Gradient(graph, examples, memory)


class Primal(Graph):
    """``f`` of a gradient: called with other arguments than those that its nodes are for, it runs another version."""

    __slots__ = ("gradient",)
    gradient: Gradient

    def __call__(self, *inputs: Any) -> list:
        """The outputs, then what is saved."""
        return self.gradient.run(inputs)


class Reverse(Graph):
    """``df`` of a gradient. Its nodes are those for cotangents that are all defined; it is called with None for known zeros."""

    __slots__ = ("gradient",)
    gradient: Gradient

    def __call__(self, *inputs: Any) -> list:
        """The cotangents of the inputs, None where they are known to be zero."""
        return self.gradient.run_reverse(inputs)


class Gradient:
    """A graph and the gradients of its outputs, as graphs: what ``differentiate`` returns.

    Attributes:
        graph: what was differentiated.
        f: the graph, which returns besides its outputs the temporaries that ``df`` needs.
        df: cotangents and saved values in, cotangents out.
        f_real_outputs: how many outputs of ``f`` are the graph's.
        df_input_vjps: for which outputs of ``f`` ``df`` takes a cotangent.
        df_input_captured_inputs, df_input_captured_outputs: which inputs and outputs of ``f`` it takes, behind them.
        df_output_vjps: the inputs of which it returns the cotangents.
    """

    def __init__(self, graph: Graph, examples: Sequence[Any], memory: float | None):
        self.graph, _ = graph.copy()
        eliminate_dead(self.graph)
        self.memory = memory
        self.versions: dict[Any, GradientVersion] = {}
        if examples or all(value.layout is not None for value in graph.inputs):
            self.at(*examples_of(self.graph, examples))

    def at(self, *arguments: Any) -> GradientVersion:
        """The gradient for arguments of these kinds: an object with the attributes of this one."""
        key = tuple(map(kind_of, arguments))
        found = self.versions.get(key)
        if found is None:
            if len(arguments) != len(self.graph.inputs):
                raise GraphError(f"{self.graph.name}: expected {len(self.graph.inputs)} arguments, got {len(arguments)}.")
            first = next(iter(self.versions.values()), None)
            found = self.versions[key] = GradientVersion(self.graph, arguments, self.memory, first)
            if first is None:
                self.publish(found)
        return found

    def publish(self, first: GradientVersion) -> None:
        """The attributes are those of the first version."""
        self.f = adopt(Primal(name=first.f.name), first.f, self)
        self.df = adopt(Reverse(name=first.df.name), first.df, self)
        self.f_real_outputs, self.df_input_vjps = first.f_real_outputs, first.df_input_vjps
        self.df_input_captured_inputs = first.df_input_captured_inputs
        self.df_input_captured_outputs = first.df_input_captured_outputs
        self.df_output_vjps = first.df_output_vjps

    def __getattr__(self, name: str) -> Any:
        if name in PUBLISHED:
            raise GraphError(
                f"{self.graph.name}: nothing is known of its inputs, and so not {name}. Hint: give examples of the arguments, "
                "or run it once: gradient.run(arguments)."
            )
        raise AttributeError(name)

    def run(self, inputs: Sequence[Any]) -> list:
        """``f`` by calls."""
        graph = self.at(*inputs).f
        return replay(graph, graph.constants, inputs, graph.name)

    def run_reverse(self, inputs: Sequence[Any]) -> list:
        """``df`` by calls.

        Raises:
            GraphError: ``f`` was called for no arguments to which these belong, or for different ones to which they could.
        """
        if len(inputs) != len(self.df.inputs):
            raise GraphError(f"{self.df.name}: expected {len(self.df.inputs)} inputs, got {len(inputs)}.")
        for strides in (True, False):
            found = [version for version in self.versions.values() if self.belong(version, inputs, strides)]
            if found:
                break
        if not found:
            tensors = [x.layout for x in leaves(tuple(inputs)) if isinstance(x, Tensor)]
            came = ", ".join(f"{layout.dtype.name} {list(layout.shape)}" for layout in tensors)
            raise GraphError(f"{self.df.name}: f was not called for arguments to which these values belong: {came}.")
        if len(found) > 1 and any(not same_calls(found[0].df, other.df) for other in found[1:]):
            raise GraphError(
                f"{self.df.name}: f was called for several arguments to which these values could belong. Hint: "
                "gradient.at(*arguments).run_reverse(values)."
            )
        return found[-1].run_reverse(inputs)

    def belong(self, version: GradientVersion, inputs: Sequence[Any], strides: bool) -> bool:
        """Whether ``df`` of a version could have been meant."""
        return all(kind is None or x is None or fits(kind, x, strides) for kind, x in zip(version.given, inputs))


PUBLISHED = (
    "f",
    "df",
    "f_real_outputs",
    "df_input_vjps",
    "df_input_captured_inputs",
    "df_input_captured_outputs",
    "df_output_vjps",
)


def adopt(made: Any, graph: Graph, gradient: Gradient) -> Any:
    """A graph of the same nodes, as a part of a gradient."""
    made.inputs, made.nodes, made.outputs, made.constants = graph.inputs, graph.nodes, graph.outputs, graph.constants
    made.gradient = gradient
    return made


def same_calls(one: Block, other: Block) -> bool:
    """Whether two graphs make the same calls."""
    return described(one) == described(other)


def described(block: Block, names: dict[Any, int] | None = None) -> tuple:
    """The calls of a block, with numbers for its values."""
    names = {} if names is None else names

    def name(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return tuple(map(name, x))
        return ("value", names.setdefault(x, len(names))) if isinstance(x, Value) else repr(x)

    inputs = name(tuple(block.inputs))
    calls = []
    for node in block.nodes:
        attributes = tuple((key, name(x)) for key, x in node.attributes.items())
        inner = tuple(described(each, names) for each in node.blocks)
        calls.append((node.op, name(node.ins), attributes, inner, name(tuple(node.outs))))
    return inputs, tuple(calls), name(tuple(block.outputs))
