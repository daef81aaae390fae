"""``associative_scan``: sums of all first slices, in a logarithm of steps."""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import require_callable
from ..batch.vmap import vmap
from ..tensors.tensor import Tensor
from .loops.trees import Leaves, check_same, length_of

__all__ = ["associative_scan"]


def associative_scan(fn: Callable, xs: Any, dim: int = 0, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """All sums of the first slices, of any associative ``fn`` in the place of a sum, in about 2 log(n) calls for n slices.

    Args:
        fn: ``fn(x, y) -> `` the same structure, of two slices; called under ``vmap``. Associative: else the result is some
            bracketing of it.
        xs: tensors of slices, or nested tuples, lists, dicts and data classes of them.
        dim: the dimension that counts the slices; ``fn`` takes them without it.
        reverse: sums of the last slices.
        combine_mode: a choice among torch's kernels; here there is one.

    Returns:
        Tensors like ``xs``: slice k is ``fn(fn(xs[0], xs[1]), ...)`` up to ``xs[k]``.

    Raises:
        ArgumentError: what is no tensor; another structure than that of ``xs``. ShapeError, DTypeError: other shapes, other
            dtypes. RangeError: different lengths.

    >>> import nbgrad
    >>> nbgrad.jit.associative_scan(lambda x, y: x * y, nbgrad.arange(1.0, 6.0))
    tensor([  1.,   2.,   6.,  24., 120.])
    """
    require_callable("associative_scan", fn)
    slices = Leaves("associative_scan", "xs", xs)
    slices.tensors = [CALLS["movedim"](x, dim, 0) for x in slices.tensors] if dim else slices.tensors
    n = length_of("associative_scan", slices, None)

    def combine(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
        def element(*inputs: Tensor) -> tuple:
            count = len(slices.tensors)
            before, after = slices.rebuilt(inputs[:count]), slices.rebuilt(inputs[count:])
            result = Leaves("associative_scan", "the result of fn", fn(before, after))
            check_same("associative_scan", "a slice is", Leaves("", "xs", before), "fn", result, "xs", "of what fn returns")
            return tuple(result.tensors)

        return list(vmap(element)(*first, *second))

    def flipped(tensors: list[Tensor]) -> list[Tensor]:
        return [CALLS["flip"](x, (0,)) for x in tensors] if reverse else tensors

    sums = flipped(sums_of(combine, flipped(slices.tensors), n))
    return slices.rebuilt([CALLS["movedim"](x, 0, dim) for x in sums] if dim else sums)


def sums_of(combine: Callable, xs: list[Tensor], n: int) -> list[Tensor]:
    """``associative_scan``: pairs first, their sums, then those that lie between."""
    if n < 2:
        return xs
    pairs = combine([x[0 : n - 1 : 2] for x in xs], [x[1:n:2] for x in xs])
    odd = sums_of(combine, pairs, n // 2)
    count = (n - 1) // 2
    even = [x[:1] for x in xs]
    if count:
        between = combine([x[:count] for x in odd], [x[2:n:2] for x in xs])
        even = [CALLS["cat"]([x, y]) for x, y in zip(even, between)]
    return [interleaved(x, y, n) for x, y in zip(even, odd)]


def interleaved(even: Tensor, odd: Tensor, n: int) -> Tensor:
    """Slices of two tensors in turn."""
    half = n // 2
    made = CALLS["stack"]([even[:half], odd], 1)
    made = made.reshape(2 * half, *made.shape[2:])
    return CALLS["cat"]([made, even[half:]]) if n % 2 else made
