"""The incomplete gamma functions, of operands of one dtype and shape."""

from __future__ import annotations

from ..base.dtypes import result_dtype
from ..base.errors import DTypeError
from ..dispatch.arguments import require_tensors
from ..ops.core import composite
from ..ops.expr import scalar
from .shapes import broadcast_tensors

__all__: list[str] = []


def pair(name: str, input, other) -> tuple:
    """Both operands in one floating dtype and shape.

    Raises:
        DTypeError: they are not floating.
    """
    require_tensors(name, input, other)
    if input.layout is other.layout and input.layout.dtype.is_floating_point:
        return input, other
    dtype = input.dtype if input.dtype is other.dtype else result_dtype([(x.dtype, x.ndim) for x in (input, other)])
    if not dtype.is_floating_point:
        raise DTypeError(f"{name}: not defined for {dtype}, expected a floating dtype.")
    if input.dtype is not other.dtype:
        input, other = (x if x.dtype is dtype else x.to(dtype) for x in (input, other))
    return (input, other) if input.layout.shape == other.layout.shape else broadcast_tensors(input, other)


def igamma(input, other):
    """The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second operand.

    Raises:
        DTypeError: not floating. NotSupportedError: from backward by the first operand.
    """
    return scalar.igamma_pair(*pair("igamma", input, other))


def igammac(input, other):
    """The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small.

    Raises:
        DTypeError: not floating. NotSupportedError: from backward by the first operand.
    """
    return scalar.igammac_pair(*pair("igammac", input, other))


composite("igamma", igamma, out=True, special=("gammainc",), inplace="result", doc=str(igamma.__doc__))
composite("igammac", igammac, out=True, special=("gammaincc",), inplace="result", doc=str(igammac.__doc__))
