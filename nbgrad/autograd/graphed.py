"""Functions and modules whose forward and backward are a graph of a GPU each: ``nbgrad.cuda.make_graphed_callables``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GraphError
from ..base.grad_mode import mode
from ..base.nested import Tree, flatten
from ..tensors.cuda_graphs import CUDAGraph, graph, graph_pool_handle
from ..tensors.streams import Stream, current_stream, stream, synchronize
from ..tensors.tensor import Tensor, native
from .entry import grad
from .function import Function

__all__ = ["make_graphed_callables"]


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False, pool: Any = None
) -> Any:
    """Functions or modules whose forward is one launch of a graph, and whose backward is another.

    Args:
        callables: one, or a tuple of those that are called in this order.
        sample_args: a tuple of tensors on a GPU; of several callables a tuple of tuples. Calls have arguments of the same shapes.
        num_warmup_iters: how often each runs before it is captured.
        allow_unused_input: whether an argument or parameter that needs a gradient need not be used.
        pool: whose memory the graphs use; None: their own.

    Returns:
        What is called in their place. A module stays itself, and runs as it did where its ``training`` is another than now.

    Raises:
        ArgumentError: arguments that are no tensors. GraphError: hooks of a module, or work that no graph can hold.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x = nbgrad.ones(2, device="cuda", requires_grad=True)
    ...     f = nbgrad.cuda.make_graphed_callables(lambda x: x * x * 3, (x,))
    ...     f(x).sum().backward()
    ...     assert x.grad.tolist() == [6.0, 6.0]
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    memory = graph_pool_handle() if pool is None else pool
    made = [Graphed(f, args, allow_unused_input, memory) for f, args in zip(functions, samples)]
    aside = Stream()
    aside.wait_stream(current_stream())
    with stream(aside):
        for each in made:
            for _ in range(num_warmup_iters):
                each.warm_up()
    current_stream().wait_stream(aside)
    synchronize()
    for each in made:
        each.capture_forward()
    for each in reversed(made):
        each.capture_backward()
    results = [each.in_place_of(f) for each, f in zip(made, functions)]
    return results[0] if single else tuple(results)


class Graphed:
    """One callable as two graphs.

    Attributes:
        inputs: the tensors that its arguments are copied to; ``parameters``: what it needs beside them.
        outputs, structure: what it gives, and how that is built.
        seeds: where the cotangents of the outputs are copied to, of those that need none None.
        gradients: of inputs and parameters, or None.
    """

    def __init__(self, function: Callable, args: Any, unused: bool, memory: Any):
        self.function, self.unused, self.memory = function, unused, memory
        self.inputs, self.given = flatten(tuple(args))
        if not all(isinstance(x, Tensor) for x in self.inputs):
            raise ArgumentError(
                "make_graphed_callables: expected tensors as arguments. Hint: what is no tensor belongs to the function."
            )
        self.parameters: list[Tensor] = []
        if hasattr(function, "parameters"):
            self.parameters = [x for x in function.parameters() if x.requires_grad]
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        self.outputs: list[Tensor] = []
        self.structure: Tree | None = None
        self.seeds: list[Tensor | None] = []
        self.gradients: list[Tensor | None] = []

    def run(self) -> None:
        """Call the function on the inputs, recorded."""
        enabled, mode.enabled = mode.enabled, True
        try:
            self.outputs, self.structure = flatten(self.function(*self.given.unflatten(self.inputs)))
        finally:
            mode.enabled = enabled
        if not all(isinstance(x, Tensor) for x in self.outputs):
            raise ArgumentError("make_graphed_callables: expected tensors as results. Hint: compute what is no tensor outside.")

    def wanted(self) -> list[Tensor]:
        """What needs a gradient."""
        return [x for x in (*self.inputs, *self.parameters) if x.requires_grad]

    def differentiate(self) -> None:
        """The gradients, for the seeds."""
        pairs = [(out, seed) for out, seed in zip(self.outputs, self.seeds) if seed is not None]
        found: Iterator[Tensor] = iter(())
        if pairs and self.wanted():
            outs, seeds = zip(*pairs)
            found = iter(grad(outs, self.wanted(), seeds, allow_unused=self.unused))
        self.gradients = [next(found, None) if x.requires_grad else None for x in (*self.inputs, *self.parameters)]

    def make_seeds(self) -> None:
        """Room for the cotangents."""
        self.seeds = [CALLS["ones_like"](x.detach()) if x.requires_grad else None for x in self.outputs]

    def warm_up(self) -> None:
        """Run it once, so that all kernels are loaded."""
        self.run()
        self.make_seeds()
        self.differentiate()
        for x in self.inputs:
            CALLS["copy_"](x.detach(), x.detach())
        for seed in self.seeds:
            if seed is not None:
                CALLS["copy_"](seed, seed)
        self.outputs, self.gradients = [], []

    def capture_forward(self) -> None:
        """The first graph."""
        with graph(self.forward, self.memory):
            self.run()

    def capture_backward(self) -> None:
        """The second one."""
        self.make_seeds()
        synchronize()
        with graph(self.backward, self.memory):
            self.differentiate()
        self.outputs = [native.alias(x) for x in self.outputs]

    # ---- calls ---------------------------------------------------------------------------------------------------------

    def in_place_of(self, function: Any) -> Any:
        """What is called in the place of a function or module."""
        if not hasattr(function, "parameters"):
            return self
        usual, training = function.forward, function.training

        def forward(*args: Any) -> Any:
            return self(*args) if function.training == training else usual(*args)

        function.forward = forward
        return function

    def __call__(self, *args: Any) -> Any:
        """Replay, on other arguments."""
        given, structure = flatten(args)
        if structure != self.given or any(x.layout is not y.layout for x, y in zip(given, self.inputs)):
            raise GraphError(
                f"make_graphed_callables: got arguments {[list(x.shape) for x in given]}, expected the sample's shapes, dtypes and "
                f"devices, {[list(x.shape) for x in self.inputs]}. Hint: pad, or graph it for these."
            )
        results = Replayed.apply(self, len(given), *given, *self.parameters)
        assert self.structure is not None
        return self.structure.unflatten(list(results) if isinstance(results, tuple) else [results])


class Replayed(Function):
    """The call of a ``Graphed``."""

    @staticmethod
    def forward(ctx: Any, graphed: Graphed, count: int, *inputs: Tensor) -> Any:
        """Replay the first graph."""
        ctx.graphed = graphed
        for x, place in zip(inputs[:count], graphed.inputs):
            if x is not place:
                CALLS["copy_"](place.detach(), x.detach())
        graphed.forward.replay()
        ctx.mark_non_differentiable(*[x for x, seed in zip(graphed.outputs, graphed.seeds) if seed is None])
        return tuple(native.alias(x) for x in graphed.outputs)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> Any:
        """Replay the second one."""
        graphed = ctx.graphed
        for g, seed in zip(cotangents, graphed.seeds):
            if seed is not None and g is not None:
                CALLS["copy_"](seed, g)
            elif seed is not None:
                CALLS["zero_"](seed)
        graphed.backward.replay()
        return None, None, *[None if g is None else native.alias(g) for g in graphed.gradients]
