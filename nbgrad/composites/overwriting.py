"""In-place forms of operations that have no loop of their own for them: the result, copied over the operand."""

from __future__ import annotations

from functools import wraps
from typing import Callable

from ..base.calls import CALLS
from ..base.dtypes import can_cast
from ..base.errors import ArgumentError, DTypeError, ShapeError
from ..base.functions import attach
from ..base.grad_mode import mode, special
from ..dispatch.writes import write
from ..graph.edges import requires_grad
from ..modes.interpreters import is_marked
from ..ops.core import OPS, composite
from ..tensors.tensor import Tensor
from ..views import check_inplace
from . import gamma, numbers, scatter, statistics  # noqa: F401  (what they declare is written here)

__all__: list[str] = []


def overwriting(name: str) -> Callable:
    """The method ``name_``: the result of the operation, copied over its operand."""

    @wraps(OPS[name].formula)
    def function(x, *args, **named):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}_: expected a Tensor, got {type(x).__name__}.")
        recorded = mode.enabled and (x._needs_grad_ is True or requires_grad(x))  # a batched tensor says True itself
        check_inplace(name + "_", x, recorded)
        # What the operation saves of its operand is the copy, which nobody writes to.
        result = CALLS[name](CALLS["clone"](x) if recorded else x, *args, **named)
        require_fit(name, x, result)
        own = x._meta_ is None and result._needs_grad_ is True and result.layout is x.layout  # no view on either side
        if not (recorded and own) or special or is_marked((x, result)):
            return CALLS["copy_"](x, result)

        def record(before, out):  # the last node of the result is that of the write
            out._edge_ = result._edge_
            return ()

        return write(name + "_", x, True, record, lambda: CALLS["copy_"](x, result))

    function.__name__ = function.__qualname__ = name + "_"
    attach(function, __signature__=OPS[name].signature)
    return function


def require_fit(name: str, x: Tensor, result: Tensor) -> None:
    """Refuse to write a result of another shape or kind of number.

    Raises:
        ShapeError, DTypeError: it does not fit.
    """
    if result.shape != x.shape:
        raise ShapeError(
            f"{name}_: the result has shape {list(result.shape)}, the tensor {list(x.shape)}. Hint: use the out-of-place form."
        )
    if not can_cast(result.dtype, x.dtype):
        raise DTypeError(
            f"{name}_: the result is {result.dtype.name} and cannot be stored in a {x.dtype.name} tensor. "
            "Hint: use the out-of-place form."
        )


for _op in [op for op in OPS.values() if op.inplace == "result"]:
    composite(
        _op.name + "_",
        overwriting(_op.name),
        function=False,
        aliases=tuple(f"{name}_" for name in _op.aliases),
        doc=f"In place: {_op.name}.",
    )
