"""The three kinds of transforms, along dimensions of given sizes: what the functions of ``nbgrad.fft`` have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import Tensor, asarray, get_default_dtype
from ..base.errors import ArgumentError, DimError, DTypeError, RangeError, ShapeError
from ..creation.sampled import whole_number
from ..dispatch.out import write_out
from ..ops.expr import scalar
from ..ops.fft import EXACT, SWAPPED
from ..ops.shapes import wrap

__all__ = ["Dims", "Sizes", "as_tensor", "at_least_one", "described", "numbers", "points", "to_complex", "to_half", "to_real"]

Sizes = Sequence[int] | None
Dims = int | Sequence[int] | None


# ---- arguments ---------------------------------------------------------------------------------------------------------


def as_tensor(name: str, x: Any) -> Tensor:
    """The operand; an array as a tensor on its memory.

    Raises:
        ArgumentError: it is neither.
    """
    if isinstance(x, np.ndarray):
        x = asarray(x)
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{name}: input must be a Tensor, got {type(x).__name__}. Hint: nbgrad.tensor(data).")
    return x


def operand(name: str, x: Any, real: bool = False) -> Tensor:
    """The numbers to transform; integers as the default float.

    Raises:
        ArgumentError: no tensor. DTypeError: complex numbers, of ``real`` ones; or half types.
    """
    x = as_tensor(name, x)
    if real and x.dtype.is_complex:
        raise DTypeError(
            f"{name}: input is {x.dtype.name}, expected real numbers. "
            f"Hint: {name.replace('.r', '.').replace('.ih', '.i')} takes complex ones."
        )
    if not (x.dtype.is_complex or x.dtype.is_floating_point):
        x = x.to(get_default_dtype())
    if x.dtype.name not in EXACT:
        raise DTypeError(f"{name}: input is {x.dtype.name}, expected single or double precision. Hint: x.float().")
    return x


def norm_of(name: str, norm: str | None) -> str:
    """The norm, "backward" unless one is given.

    Raises:
        RangeError: there is no such norm.
    """
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise RangeError(f'{name}: norm is {norm!r}, expected "backward", "ortho" or "forward".')
    return norm


def numbers(name: str, what: str, values: Any) -> tuple[int, ...]:
    """Integers, of one integer or of several."""
    several = values if isinstance(values, Sequence) else (values,)
    return tuple([whole_number(name, what, value) for value in several])


def axes(name: str, x: Tensor, s: Any, dim: Dims) -> tuple[tuple[int, ...], list[int | None]]:
    """Dimensions counted from 0, and for each the size that is asked for, or None.

    Raises:
        ShapeError: other numbers of sizes and dimensions, or a dimension twice. DimError: there is no such dimension.
        RangeError: a size below 1.
    """
    if s is None and type(dim) is int and x.ndim:  # as most are
        return (wrap(name, dim, x.ndim),), [None]
    sizes = None if s is None else numbers(name, "s", s)
    if dim is not None:
        if not x.ndim:
            raise DimError(f"{name}: input has no dimensions, expected at least one. Hint: x.reshape(1).")
        dims = tuple([wrap(name, d, x.ndim) for d in numbers(name, "dim", dim)])
    elif sizes is not None and len(sizes) > x.ndim:
        raise ShapeError(f"{name}: s has {len(sizes)} sizes, input has {x.ndim} dimensions.")
    else:
        dims = tuple(range(x.ndim - len(sizes) if sizes is not None else 0, x.ndim))
    if len(set(dims)) != len(dims):
        raise ShapeError(f"{name}: dim {list(dims)} names a dimension twice.")
    if sizes is None:
        return dims, [None] * len(dims)
    if len(sizes) != len(dims):
        raise ShapeError(f"{name}: s has {len(sizes)} sizes for {len(dims)} dimensions, expected as many.")
    return dims, [None if n == -1 else at_least_one(name, n) for n in sizes]


def points(name: str, n: Any) -> tuple[int, ...] | None:
    """How many points a transform along one dimension has, if that is said.

    Raises:
        RangeError: less than 1. ArgumentError: no integer.
    """
    return None if n is None else (at_least_one(f"fft.{name}", whole_number(f"fft.{name}", "n", n)),)


def at_least_one(name: str, n: int) -> int:
    """How many points a transform has.

    Raises:
        RangeError: none.
    """
    if n < 1:
        raise RangeError(f"{name}: a transform of {n} points, expected at least 1.")
    return n


def resized(name: str, x: Tensor, dims: tuple[int, ...], sizes: Sequence[int | None]) -> Tensor:
    """``x`` cut, or with zeros behind it, to these sizes."""
    for dim, n in zip(dims, sizes):
        own = x.shape[dim]
        if n is not None and n < own:
            x = x.narrow(dim, 0, n)
        elif n is not None and n > own:
            x = scalar.zero_pad(x, (*(0, 0) * (x.ndim - 1 - dim), 0, n - own))
        else:
            at_least_one(name, own)
    return x


# ---- the three kinds of transforms -------------------------------------------------------------------------------------


def of_real(x: Tensor, dims: tuple[int, ...], norm: str, inverse: bool, onesided: bool) -> Any:
    """The transform of real numbers, or the inverse one: its conjugate, divided by as much."""
    return scalar.fft_r2c(x, dims, SWAPPED[norm], onesided).conj() if inverse else scalar.fft_r2c(x, dims, norm, onesided)


def to_complex(name: str, x: Any, s: Any, dim: Dims, norm: str | None, inverse: bool, out: Tensor | None) -> Tensor:
    """Of real or complex numbers, to complex ones."""
    name = f"fft.{name}"
    norm = norm_of(name, norm)
    x = operand(name, x)
    dims, sizes = axes(name, x, s, dim)
    x = resized(name, x, dims, sizes)

    def compute() -> Any:
        if not dims:
            return x.to(x.dtype.to_complex())
        if x.dtype.is_complex:
            return scalar.fft_c2c(x, dims, norm, inverse)
        return of_real(x, dims, norm, inverse, False)

    return ready(name, compute, out)


def to_half(name: str, x: Any, s: Any, dim: Dims, norm: str | None, inverse: bool, out: Tensor | None) -> Tensor:
    """Of real numbers, to half of the complex ones."""
    name = f"fft.{name}"
    norm = norm_of(name, norm)
    x = operand(name, x, real=True)
    dims, sizes = axes(name, x, s, dim)
    require_dims(name, dims)
    x = resized(name, x, dims, sizes)
    return ready(name, lambda: of_real(x, dims, norm, inverse, True), out)


def to_real(name: str, x: Any, s: Any, dim: Dims, norm: str | None, inverse: bool, out: Tensor | None) -> Tensor:
    """Of half of the complex numbers, to real ones."""
    name = f"fft.{name}"
    norm = norm_of(name, norm)
    x = operand(name, x)
    dims, sizes = axes(name, x, s, dim)
    require_dims(name, dims)
    n = at_least_one(name, 2 * (x.shape[dims[-1]] - 1)) if sizes[-1] is None else sizes[-1]
    x = resized(name, x, dims, [*sizes[:-1], n // 2 + 1])
    x = x if x.dtype.is_complex else x.to(x.dtype.to_complex())
    if inverse:
        return ready(name, lambda: scalar.fft_c2r(x, dims, norm, n), out)
    return ready(name, lambda: scalar.fft_c2r(x.conj(), dims, SWAPPED[norm], n), out)


def require_dims(name: str, dims: tuple[int, ...]) -> None:
    """Refuse a transform along no dimension.

    Raises:
        ShapeError: there is none.
    """
    if not dims:
        raise ShapeError(f"{name}: no dimension to transform, expected at least one.")


def ready(name: str, compute: Callable[[], Any], out: Tensor | None) -> Tensor:
    """The result, in ``out`` if there is one."""
    found: Tensor = compute() if out is None else write_out(name, compute, out)
    return found


ONE = """

    Args:
        input: of any shape; {kind}.
        n: points to transform: ``input`` is cut, or followed by zeros, to that size. Unless it is given, {size}.
        dim: the dimension.
        norm: what is divided by n: "backward" the inverse transforms, "forward" the others, "ortho" both by its root.
        out: a tensor for the result.

    Raises:
        RangeError: less than 1 point, or there is no such norm. DTypeError: half types{more}. DimError: there is no such dimension.
"""
MANY = """

    Args:
        input: of any shape; {kind}.
        s: points along each dimension: ``input`` is cut, or followed by zeros, to these sizes; -1 keeps one. Unless they are given,
            {size}.
        dim: the dimensions{dims}.
        norm: what is divided by the number of points: "backward" the inverse transforms, "forward" the others, "ortho" both by its
            root.
        out: a tensor for the result.

    Raises:
        RangeError: less than 1 point, or there is no such norm. DTypeError: half types{more}. DimError: there is no such dimension.
        ShapeError: a dimension twice, or as many sizes as there are not dimensions.
"""


def described(function: Callable) -> Callable:
    """The function with its arguments described behind the first paragraph of its docstring."""
    name, text = function.__name__, str(function.__doc__)
    to_numbers, of_numbers = "irfft" in name or name.startswith("hfft"), name.startswith(("rfft", "ihfft"))
    facts = {
        "kind": "real" if of_numbers else "half of the coefficients, complex or real" if to_numbers else "real or complex",
        "size": "twice the size less 1" if to_numbers else "all of it",
        "more": ", or complex numbers" if of_numbers else "",
        "dims": "" if name.endswith("2") else "; unless they are given the last ones that ``s`` is for, or all",
    }
    first, _, example = text.partition("\n\n")
    function.__doc__ = first + (MANY if name[-1] in "2n" else ONE).format(**facts) + "\n" + example
    return function
