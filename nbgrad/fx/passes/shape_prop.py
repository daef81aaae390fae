"""torch.fx.passes.shape_prop: shapes and dtypes of a graph's values, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import nbgrad

from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def metadata_of(x: nbgrad.Tensor) -> TensorMetadata:
    """What is known of a tensor without its elements."""
    formats = (nbgrad.contiguous_format, nbgrad.channels_last, nbgrad.channels_last_3d)
    ranks = {nbgrad.channels_last: 4, nbgrad.channels_last_3d: 5}
    kept = (each for each in formats if ranks.get(each, x.ndim) == x.ndim and x.is_contiguous(memory_format=each))
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), next(kept, None), False, {})


class ShapeProp(Interpreter):
    """Runs a module's graph on tensors, and notes in ``node.meta`` the ``tensor_meta`` of each value, and its ``type``.

    >>> import nbgrad
    >>> traced = nbgrad.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(nbgrad.ones(2, 3))
    >>> [(node.name, node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [('x', nbgrad.Size([2, 3])), ('sum_1', nbgrad.Size([3])), ('output', nbgrad.Size([3]))]
    """

    def run_node(self, n: Node) -> Any:
        """The value of a node, of which ``n.meta`` knows afterwards."""
        result = super().run_node(n)
        found = []

        def noted(x: Any) -> Any:
            if isinstance(x, nbgrad.Tensor):
                found.append(x)
                return metadata_of(x)
            return x

        known = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = known
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on arguments; its result."""
        return self.run(*args)
