"""What the Functions of loops and branches keep for their derivatives: all that they were given."""

from __future__ import annotations

from typing import Any

from ...autograd.function import Function

__all__ = ["KeepsInputs"]


class KeepsInputs(Function):
    """``apply(what, *tensors)`` whose derivatives are made of ``ctx.what`` and of the tensors, by loops and branches again.

    Cotangents that are not there stay None, so that nothing is computed for them.
    """

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Keep the inputs."""
        ctx.what, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_forward(*tensors)
        ctx.save_for_backward(*tensors)
