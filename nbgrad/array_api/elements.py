"""The standard's functions of single elements, their order and which of them differ."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import nbgrad

from .. import Tensor
from ..base.function_attributes import attach
from .dtypes import together

__all__ = [
    "argsort",
    "ceil",
    "clip",
    "floor",
    "nextafter",
    "round",
    "sign",
    "sort",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

# ---- promotion -------------------------------------------------------------------------------------------------------


def promoting(name: str, own_name: str = "") -> Callable[..., Tensor]:
    """A function of several operands, in which those without dimensions count as any other for the dtype.

    Args:
        own_name: of the package's function, where it is another.
    """
    own: Callable[..., Tensor] = getattr(nbgrad, own_name or name)

    def function(*operands: Any) -> Tensor:
        values = operands[-2:]
        if all(isinstance(x, Tensor) for x in values):
            one, other = values
            if one.dtype is not other.dtype and (one.ndim == 0) is not (other.ndim == 0):
                return own(*operands[:-2], *together(one, other))
        return own(*operands)

    names = ("condition", "x1", "x2") if name == "where" else ("x1", "x2")
    parameters = [Parameter(each, Parameter.POSITIONAL_ONLY) for each in names]
    function.__name__ = function.__qualname__ = name
    attach(function, __signature__=Signature(parameters))
    function.__doc__ = f"""``nbgrad.{own_name or name}``; of operands without dimensions the dtypes count, too.

    >>> from nbgrad import array_api as xp
    >>> x, y = xp.asarray([1, 0], dtype=xp.uint8), xp.asarray(1, dtype=xp.int16)
    >>> xp.result_type(x, y)
    nbgrad.int16
    """
    return function


# ---- limits and roundings --------------------------------------------------------------------------------------------


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements moved into limits, in the dtype of ``x``.

    >>> clip(nbgrad.tensor([1, 5]), max=3)
    tensor([1, 3])
    """
    if min is None and max is None:
        return x.clone()
    return nbgrad.clamp(x, min, max).to(x.dtype)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers the direction; NaN of NaN, where torch has 0.

    >>> sign(nbgrad.tensor([-2.0, nbgrad.nan]))
    tensor([-1., nan])
    """
    found = nbgrad.sgn(x)
    return nbgrad.where(x != x, x, found) if x.is_floating_point() else found


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The next number of the dtype, from ``x1`` towards ``x2``; one of the two may be a number.

    >>> nextafter(nbgrad.tensor([0.0]), 1.0) > 0
    tensor([True])
    """
    like = x1 if isinstance(x1, Tensor) else x2
    return nbgrad.nextafter(
        *(x if isinstance(x, Tensor) else nbgrad.asarray(x, dtype=like.dtype, device=like.device) for x in (x1, x2))
    )


def of_integers(name: str) -> Callable[[Tensor], Tensor]:
    """A rounding function, which leaves integers alone."""

    own: Callable[[Tensor], Tensor] = getattr(nbgrad, name)

    def function(x: Tensor, /) -> Tensor:
        if x.is_complex():  # as the standard has ``round``: part by part
            return nbgrad.complex(own(x.real), own(x.imag))
        return own(x) if x.is_floating_point() else x.clone()

    function.__name__ = name
    function.__doc__ = f"""``nbgrad.{name}``; integers as they are.

    >>> from nbgrad import array_api as xp
    >>> xp.{name}(xp.asarray([3, -4]))
    tensor([ 3, -4])
    """
    return function


ceil, floor, round, trunc = (of_integers(name) for name in ("ceil", "floor", "round", "trunc"))

# ---- orders ----------------------------------------------------------------------------------------------------------


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Elements in order along an axis.

    >>> from nbgrad import array_api as xp
    >>> xp.sort(xp.asarray([2, 3, 1]), descending=True)
    tensor([3, 2, 1])
    """
    return nbgrad.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Where elements in order are.

    >>> from nbgrad import array_api as xp
    >>> xp.argsort(xp.asarray([2, 3, 1]))
    tensor([2, 0, 1])
    """
    return nbgrad.sort(x, dim=axis, descending=descending, stable=stable).indices


class UniqueAll(NamedTuple):
    """Different elements, where each is first, which of them every element is, and how often each comes."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Different elements, and how often each comes."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Different elements, and which of them every element is."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Different elements, with all that is known of them.

    >>> unique_all(nbgrad.tensor([3, 1, 3]))
    UniqueAll(values=tensor([1, 3]), indices=tensor([1, 0]), inverse_indices=tensor([1, 0, 1]), counts=tensor([1, 2]))
    """
    values, inverse, counts = nbgrad.unique(x, return_inverse=True, return_counts=True)
    places = nbgrad.arange(x.numel() - 1, -1, -1, device=x.device)
    flat = inverse.reshape((-1,)).flip(0)
    return UniqueAll(values, nbgrad.zeros_like(counts).index_copy(0, flat, places), inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Different elements, and how often each comes.

    >>> from nbgrad import array_api as xp
    >>> xp.unique_counts(xp.asarray([5, 4, 5])).counts
    tensor([1, 2])
    """
    return UniqueCounts(*nbgrad.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Different elements, and which of them every element is.

    >>> from nbgrad import array_api as xp
    >>> xp.unique_inverse(xp.asarray([5, 4, 5])).inverse_indices
    tensor([1, 0, 1])
    """
    values, inverse = nbgrad.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Different elements.

    >>> from nbgrad import array_api as xp
    >>> xp.unique_values(xp.asarray([5, 4, 5]))
    tensor([4, 5])
    """
    return nbgrad.unique(x)
