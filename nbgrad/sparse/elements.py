"""Sums and products of elements, and functions of them, where an operand is sparse."""

from __future__ import annotations

from typing import Any, Callable

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.errors import NotSupportedError, RangeError, ShapeError
from ..base.grad_mode import special, traces
from .conversions import coordinates, dense
from .coordinates import found_among, keys
from .layouts import sparse_coo
from .tensors import SparseTensor, handles, made, summed

__all__ = ["add", "mul"]


def require_like(name: str, x: Any, y: Any) -> None:
    """Refuse other shapes.

    Raises:
        ShapeError: they differ.
    """
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(f"{name}: x is {list(x.shape)}, y is {list(y.shape)}; sparse tensors do not broadcast.")


def is_number(x: Any) -> bool:
    """Whether it is a number, or a dense tensor of one."""
    return not isinstance(x, Tensor) or not isinstance(x, SparseTensor) and x.dim() == 0


# ---- sums ------------------------------------------------------------------------------------------------------------


@handles("add", "add_scaled")
def add(input: Any, other: Any, alpha: Any = 1) -> Any:
    """input + alpha other; dense, unless both are sparse.

    Two tensors of coordinates, one of which is not in order, are put side by side, and nothing is added up: ``coalesce`` does that.

    Raises:
        ShapeError: other shapes. NotSupportedError: a number, which would fill the zeros.
    """
    for x in (input, other):
        if not isinstance(x, Tensor):
            raise NotSupportedError(f"add: {x!r} would be added to every zero of a sparse tensor. Hint: x.to_dense().")
    if not (isinstance(input, SparseTensor) and isinstance(other, SparseTensor)):
        return nbgrad.add(dense(input), dense(other), alpha=alpha)
    require_like("add", input, other)
    x, y = coordinates(input), coordinates(other)
    if x.sparse_dim() != y.sparse_dim():
        raise ShapeError(f"add: places tell {x.sparse_dim()} dimensions of x and {y.sparse_dim()} of y. Hint: x.to_dense().")
    scaled = y._given_ if type(alpha) is int and alpha == 1 else y._given_ * alpha
    if have_same_places(x, y):
        return in_layout_of(input, made(sparse_coo, (x._at,), x._given_ + scaled, input.shape, x._settled_))
    at, values = nbgrad.cat((x._at, y._at), 1), nbgrad.cat((x._given_, scaled))
    if input.is_sparse and not (x._settled_ and y._settled_):
        return made(sparse_coo, (at,), values, input.shape, at.shape[1] < 2)
    return in_layout_of(input, summed(at, values, input.shape))


def have_same_places(x: SparseTensor, y: SparseTensor) -> bool:
    """Whether two tensors of coordinates have the same places in the same order; looked at only where that makes nobody wait."""
    if x._at is y._at:
        return True
    return x._at.shape == y._at.shape and x.device.type == "cpu" and not (traces or special) and nbgrad.equal(x._at, y._at)


@handles("sub", "subtract")
def sub(input: Any, other: Any, alpha: Any = 1) -> Any:
    """input - alpha other."""
    return add(input, other, alpha=-alpha)


@handles("rsub")
def rsub(input: Any, other: Any, alpha: Any = 1) -> Any:
    """other - alpha input."""
    return sub(other, input, alpha=alpha)


def in_layout_of(x: SparseTensor, found: SparseTensor) -> SparseTensor:
    """Coordinates in the layout of an operand."""
    return found.to_sparse(layout=x._format_, blocksize=tuple(x._given_.shape[1:]) if x._format_.blocked else None)


@handles("add_", "add_scaled_")
def add_(input: Any, other: Any, alpha: Any = 1) -> Any:
    """``add``, written over the first operand: a dense one in its memory, a sparse one by other places.

    Raises:
        NotSupportedError: a dense tensor would be added to a sparse one.
    """
    if not isinstance(other, SparseTensor):
        raise NotSupportedError("add_: a sparse tensor cannot become dense in place. Hint: x.to_dense() + y.")
    if isinstance(input, SparseTensor):
        return input._become(add(input, other, alpha=alpha))
    require_like("add_", input, other)
    return input.index_put_(tuple(other._at), other._elements * alpha, accumulate=True)


@handles("sub_", "subtract_")
def sub_(input: Any, other: Any, alpha: Any = 1) -> Any:
    """``sub``, written over the first operand."""
    return add_(input, other, alpha=-alpha)


# ---- products --------------------------------------------------------------------------------------------------------


@handles("mul", "multiply")
def mul(input: Any, other: Any) -> SparseTensor:
    """Element by element: of a sparse tensor and a number, a dense tensor that broadcasts to its shape, or another sparse one.

    Raises:
        ShapeError: other shapes.
    """
    x, y = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if is_number(y):
        return x._map(lambda values: values * y)
    if not isinstance(y, SparseTensor):
        try:
            y = y.expand(x.shape)
        except ShapeError:
            require_like("mul", x, y)
            raise
        factors = y[tuple(x._at)]
        return x._map(lambda values: values * factors.reshape(values.shape))
    require_like("mul", x, y)
    return in_layout_of(x, meeting(coordinates(x).coalesce(), coordinates(y).coalesce()))


def meeting(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Products at the places that both have."""
    place, there = found_among(keys(y._at, y.shape), keys(x._at, x.shape))
    both = there.nonzero().squeeze(1)
    return made(sparse_coo, (x._at.index_select(1, both),), x._given_[both] * y._given_[place[both]], x.shape, True)


def require_quotient(name: str, input: Any, other: Any) -> None:
    """Refuse all but a sparse tensor divided by a number: the zeros would be 0 / 0.

    Raises:
        NotSupportedError: it is another division.
    """
    if not isinstance(input, SparseTensor) or not is_number(other):
        raise NotSupportedError(f"{name}: a sparse tensor can be divided by a number alone. Hint: x * (1 / y), or x.to_dense().")


def divided(name: str, input: Any, other: Any, rounding_mode: Any) -> SparseTensor:
    """Values divided by a number; before they are rounded, those of one place are added up."""
    require_quotient(name, input, other)
    x = input if rounding_mode is None else input.coalesce()
    return x._map(lambda values: nbgrad.div(values, other, rounding_mode=rounding_mode))


@handles("div", "divide", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: Any = None) -> SparseTensor:
    """A sparse tensor divided by a number."""
    return divided("div", input, other, rounding_mode)


@handles("floor_divide")
def floor_divide(input: Any, other: Any) -> SparseTensor:
    """A sparse tensor divided by a number, rounded down."""
    return divided("floor_divide", input, other, "floor")


@handles("mul_", "multiply_")
def mul_(input: Any, other: Any) -> Any:
    """``mul``, written over the first operand: its values, where the other is a number."""
    if not isinstance(input, SparseTensor):
        raise NotSupportedError("mul_: a dense tensor cannot become sparse in place. Hint: x * y.")
    if not is_number(other):
        return input._become(mul(input, other))
    input._given_.mul_(other)
    return input


@handles("div_", "divide_", "true_divide_")
def div_(input: Any, other: Any) -> SparseTensor:
    """``div``, written over the values."""
    require_quotient("div_", input, other)
    input._given_.div_(other)
    return input


# ---- functions of elements -------------------------------------------------------------------------------------------


def of_values(name: str) -> None:
    """A function that is 0 at 0, of every value; values of one place are added up before."""

    @handles(name)
    def function(input: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        values: Callable = CALLS[name]
        return input.coalesce()._map(lambda given: values(given, *args, **options))

    @handles(f"{name}_")
    def in_place(input: SparseTensor, *args: Any, **options: Any) -> SparseTensor:
        return input._become(function(input, *args, **options))

    function.__doc__ = f"``nbgrad.{name}`` of the values; of the zeros it is 0."
    in_place.__doc__ = f"{name}, written over the operand."


for (
    _name
) in """abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p nan_replaced neg
positive rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc conj_physical""".split():
    of_values(_name)


@handles("pow", "pow_zero")
def pow(input: Any, exponent: Any = 0) -> SparseTensor:
    """A positive power of every value.

    Raises:
        RangeError: another power, which of 0 is none.
    """
    if not isinstance(input, SparseTensor) or not is_number(exponent) or not float(exponent) > 0:
        raise RangeError(f"pow: of a sparse tensor the exponent must be a positive number, got {exponent!r}. Hint: x.to_dense().")
    return input.coalesce()._map(lambda values: values**exponent)


# ---- copies and conversions ------------------------------------------------------------------------------------------


@handles("clone", "contiguous", "contiguous_copy")
def clone(input: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    """A tensor with places and values of its own, recorded."""
    values = input._given_.clone()
    return made(input._format_, tuple(place.clone() for place in input._places_), values, input.shape, input._settled_)


@handles("clone_like")
def clone_like(input: SparseTensor, layout: Any) -> SparseTensor:
    """A copy whose values have the dtype of a layout: of a gradient that becomes a leaf's."""
    values = input._given_
    return input.with_values(values.clone() if values.dtype is layout.dtype else values.to(layout.dtype))


@handles("alias", "detach")
def alias(input: SparseTensor) -> SparseTensor:
    """Another tensor on the same memory."""
    return input._map(nbgrad.detach)


@handles("to_dtype")
def to_dtype(input: SparseTensor, dtype: Any) -> SparseTensor:
    """With values of another dtype."""
    return input._map(lambda values: values.to(dtype))


@handles("to_device")
def to_device(input: SparseTensor, device: Any, non_blocking: bool = False) -> SparseTensor:
    """On another device: places go with values."""
    places = tuple(place.to(device, non_blocking=non_blocking) for place in input._places_)
    return made(input._format_, places, input._given_.to(device, non_blocking=non_blocking), input.shape, input._settled_)


@handles("copy_")
def copy_(input: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take over the elements of another tensor of this shape: a sparse one of a sparse one.

    Raises:
        NotSupportedError: one of them is dense.
    """
    if not (isinstance(input, SparseTensor) and isinstance(src, SparseTensor)):
        raise NotSupportedError("copy_: between a sparse and a dense tensor. Hint: x.to_dense(), or y.to_sparse().")
    require_like("copy_", input, src)
    return input._become(in_layout_of(input, clone(src.to(input.dtype))))


@handles("zeros_like", "empty_like")
def zeros_like(
    input: SparseTensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
) -> SparseTensor:
    """A tensor of the same shape and layout that stores nothing."""
    x = input.detach()
    values = nbgrad.empty((0, *x._given_.shape[1:]), dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)
    if x.is_sparse:
        return made(sparse_coo, (x._at.new_empty(x.sparse_dim(), 0, device=values.device),), values, x.shape, True)
    begins, others = x._places_
    places = nbgrad.zeros_like(begins, device=values.device), others.new_empty(0, device=values.device)
    return made(x._format_, places, values, x.shape, True)


@handles("zero_")
def zero_(input: SparseTensor) -> SparseTensor:
    """Store nothing any more."""
    return input._become(zeros_like(input))


@handles("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    """Whether two tensors have one shape."""
    return tuple(input.shape) == tuple(other.shape)
