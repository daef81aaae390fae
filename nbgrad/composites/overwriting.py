"""In-place forms of operations that have no loop for it: they copy the result over the operand."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import ArgumentError
from ..base.function_attributes import attach
from ..base.grad_mode import mode
from ..dispatch.writes import overwrite
from ..graph.edges import requires_grad
from ..ops.core import OPS, composite
from ..tensors.tensor import Tensor
from ..views import check_inplace
from . import gamma, numbers, scatter, statistics  # noqa: F401  (what they declare is written here)

__all__: list[str] = []


def overwriting(source: str) -> Callable:
    """The method of that name with ``_``: the result of the operation, copied over its operand."""
    name = source + "_"

    @wraps(OPS[source].formula)
    def function(x, *args, **named):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: expected a Tensor, got {type(x).__name__}.")
        recorded = mode.enabled and any(map(needs_gradient, (x, *args, *named.values())))
        check_inplace(name, x, recorded)
        # What the operation saves of its operand is the copy, which nobody writes to.
        result = CALLS[source](CALLS["clone"](x) if recorded else x, *args, **named)
        return overwrite(name, x, recorded, result)

    function.__name__ = function.__qualname__ = name
    attach(function, __signature__=OPS[source].signature)
    return function


def needs_gradient(x: Any) -> bool:
    """Whether gradients flow into an operand; a batched tensor says so itself."""
    return isinstance(x, Tensor) and (x._needs_grad_ is True or requires_grad(x))


for _op in [op for op in OPS.values() if op.inplace == "result"]:
    composite(
        _op.name + "_",
        overwriting(_op.name),
        function=False,
        aliases=tuple(f"{name}_" for name in _op.aliases),
        doc=f"In place: {_op.name}.",
    )
