"""``vmap``: a function of single elements, run once on a whole batch of them."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator

from ..base.calls import CALLS
from ..base.errors import GradError, RangeError, require_callable
from ..base.nested import Tree, flatten, spread
from ..modes.batched import Batched
from ..tensors.batch_levels import Level, opened
from ..tensors.tensor import Tensor
from . import convolutions, fast_path, members, movements, rules  # noqa: F401  (they register themselves)
from .tensors import lifted, lowered

__all__ = ["vmap"]

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """A function that maps ``func`` over a dimension of its arguments, without a loop.

    Args:
        func: takes and returns tensors, or nested tuples, lists and dicts of them. It sees one element of the batch.
        in_dims: the dimension to map over: an int for all positional arguments, or a structure of ints and Nones that is that of
            the arguments or ends before; None: not mapped. Keyword arguments are never mapped.
        out_dims: where the batch goes in the results, in the same way; None: a result that is the same for all elements.
        randomness: what random operations in ``func`` do: "error", "different" for every element, "same" for all.
        chunk_size: map over so many elements at a time; None: all at once.

    Returns:
        The function. It may be mapped and differentiated again.

    Raises:
        ArgumentError: ``func`` is no function.
        RangeError: ``in_dims`` or ``out_dims`` does not fit; nothing to map over; sizes that differ; a result that is no tensor.
        BatchingError: ``func`` asks for a number, or does what depends on the values' truth.

    >>> import nbgrad
    >>> x, y = nbgrad.ones(3, 5), nbgrad.arange(5.0)
    >>> nbgrad.vmap(nbgrad.dot, in_dims=(0, None))(x, y)
    tensor([10., 10., 10.])
    """
    require_callable("vmap", func)
    if randomness not in RANDOMNESS:
        raise RandomnessError(f"vmap: randomness is {randomness!r}, expected 'error', 'different' or 'same'.")
    if not (chunk_size is None or chunk_size > 0):
        raise RangeError(f"vmap: chunk_size is {chunk_size}, expected None or a number > 0.")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, tree = mapped_arguments(func, in_dims, args)
        size = batch_size(leaves, dims)
        run = functools.partial(func, **kwargs) if kwargs else func
        if chunk_size is None or size <= chunk_size:
            return run_mapped(run, leaves, dims, tree, size, out_dims, randomness)
        return run_chunks(run, leaves, dims, tree, size, out_dims, randomness, chunk_size)

    return mapped


def _vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """``vmap`` under the private name that programs for torch import; None among the results stays None if that is asked for."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    @functools.wraps(func)
    def mapped(*args: Any) -> Any:
        absent: list[bool] = []

        def present(*inner: Any) -> Any:
            results = func(*inner)
            several = results if isinstance(results, tuple) else (results,)
            absent[:] = [x is None for x in several]
            return tuple(x for x in several if x is not None)

        found = iter(vmap(present, in_dims, out_dims)(*args))
        every = tuple(None if gone else next(found) for gone in absent)
        return every if len(every) > 1 else every[0]

    return mapped


class RandomnessError(RangeError, GradError):
    """An unknown word for what random operations do."""


# ---- what goes in --------------------------------------------------------------------------------------------------


def mapped_arguments(func: Callable, in_dims: Any, args: tuple) -> tuple[list, list, Tree]:
    """The leaves of the arguments, the dimension of each (from the front, or None), and their structure.

    Raises:
        RangeError: ``in_dims`` does not fit the arguments.
    """
    if not args:
        raise RangeError(f"{title(func)}: called without positional arguments, so there is nothing to map over.")
    if not isinstance(in_dims, (int, tuple)):
        raise RangeError(
            f"{title(func)}: in_dims must be an int or a tuple with the structure of the arguments, got {type(in_dims).__name__}."
        )
    leaves, tree = flatten(args)
    dims = spread(in_dims, tree)
    if dims is None:
        raise RangeError(f"{title(func)}: in_dims {in_dims} does not have the structure of the arguments, {tree!r}.")
    return leaves, [checked_dim(func, x, dim) for x, dim in zip(leaves, dims)], tree


def title(func: Callable) -> str:
    """What messages begin with: the call, by the function's name."""
    func = func.func if isinstance(func, functools.partial) else func
    return f"vmap({getattr(func, '__name__', type(func).__name__)})"


def checked_dim(func: Callable, x: Any, dim: Any) -> int | None:
    """A dimension counted from the front.

    Raises:
        RangeError: it is none of ``x``.
    """
    if dim is None:
        return None
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise RangeError(f"{title(func)}: in_dims may hold ints and None, got {type(dim).__name__}.")
    if not isinstance(x, Tensor):
        raise RangeError(
            f"{title(func)}: in_dim {dim} is for an argument of type {type(x).__name__}, and only tensors can be "
            "mapped over. Hint: in_dims=None for it."
        )
    ndim = x.layout.ndim
    if not -ndim <= dim < ndim:
        raise RangeError(f"{title(func)}: in_dim {dim} is out of range for a tensor of {ndim} dimensions.")
    return dim % ndim


def batch_size(leaves: list, dims: list) -> int:
    """The size of the mapped dimension.

    Raises:
        RangeError: nothing is mapped over, or sizes differ.
    """
    sizes = [x.layout.shape[dim] for x, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise RangeError("vmap: no argument is mapped over. Hint: in_dims must name a dimension of at least one tensor.")
    if any(size != sizes[0] for size in sizes):
        raise RangeError(f"vmap: the mapped dimensions have sizes {sizes}, expected one size.")
    return sizes[0]


def hidden(x: Tensor, dim: int, level: Level) -> Tensor:
    """``x`` with a dimension hidden as a level."""
    front = CALLS["movedim"](x, dim, 0) if dim else CALLS["alias"](x)
    return lifted(front, (level,))


# ---- what comes out ------------------------------------------------------------------------------------------------


def run_mapped(func: Callable, leaves: list, dims: list, tree: Tree, size: int, out_dims: Any, randomness: str) -> Any:
    """Run the function on batched arguments, and show the batch in its results."""
    with opened(size, randomness) as level:
        args = tree.unflatten(x if dim is None else hidden(x, dim, level) for x, dim in zip(leaves, dims))
        results, out_tree = flatten(func(*args))
        places = out_places(func, out_dims, out_tree)
        return out_tree.unflatten([with_out_dim(func, x, place, level) for x, place in zip(results, places)])


def out_places(func: Callable, out_dims: Any, tree: Tree) -> list:
    """The place of the batch in every result.

    Raises:
        RangeError: ``out_dims`` does not fit the results.
    """
    if type(out_dims) is tuple and len(out_dims) == 1 and tree.kind is None:
        out_dims = out_dims[0]
    places = spread(out_dims, tree)
    if not all(place is None or isinstance(place, int) for place in flatten(out_dims)[0]):
        raise RangeError(f"{title(func)}: out_dims must be an int, None, or a structure of those, got {out_dims!r}.")
    if places is None:
        raise RangeError(f"{title(func)}: out_dims {out_dims} does not have the structure of the results, {tree!r}.")
    return places


def with_out_dim(func: Callable, x: Any, place: int | None, level: Level) -> Any:
    """A result with the batch at its place.

    Raises:
        RangeError: no tensor, or one that differs over the batch and has no place for it.
    """
    if place is None:
        if type(x) is Batched and level in x._levels_:
            raise RangeError(f"{title(func)}: a result differs over the batch, so its out_dim cannot be None.")
        return x
    if not isinstance(x, Tensor):
        raise RangeError(
            f"{title(func)}: expected tensors to be returned, got {type(x).__name__}. "
            "Hint: out_dims=None for what is the same for all elements."
        )
    front = lowered(x, (level,))
    return CALLS["movedim"](front, 0, place) if place else front


# ---- in parts ------------------------------------------------------------------------------------------------------


def run_chunks(
    func: Callable, leaves: list, dims: list, tree: Tree, size: int, out_dims: Any, randomness: str, chunk_size: int
) -> Any:
    """Run the function on parts of the batch, and join the results."""
    parts = [
        flatten(run_mapped(func, part, dims, tree, count, out_dims, randomness))
        for part, count in chunks(leaves, dims, size, chunk_size)
    ]
    out_tree = parts[0][1]
    places = out_places(func, out_dims, out_tree)
    return out_tree.unflatten(joined(list(values), place) for values, place in zip(zip(*(found for found, _ in parts)), places))


def chunks(leaves: list, dims: list, size: int, chunk_size: int) -> Iterator[tuple[list, int]]:
    """The arguments of every part, and how many elements it has."""
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        yield [x if dim is None else CALLS["narrow"](x, dim, start, count) for x, dim in zip(leaves, dims)], count


def joined(values: list, place: int | None) -> Any:
    """The results of all parts as one."""
    return values[0] if place is None else CALLS["cat"](tuple(values), place)
