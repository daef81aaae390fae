"""Jacobians and Hessians, as batches of cotangents or of tangents."""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import RangeError, require_callable
from ..base.nested import Tree, flatten, map_leaves
from ..batch.tensors import lifted, lowered
from ..batch.vmap import vmap
from ..creation.factories import eye
from ..modes.batched import Batched
from ..tensors.batch_levels import Level, opened
from ..tensors.tensor import Tensor
from .forward import jvp
from .reverse import vjp
from .transforms import Argnums, chosen_arguments, real_tensors, tensor_leaves, with_arguments

__all__ = ["forward_columns", "hessian", "jacfwd", "jacrev"]


def jacrev(func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Callable:
    """A function that computes the Jacobian of ``func`` in reverse mode: one batch of pull-backs, for all elements of the output.

    Args:
        func: returns tensors; with ``has_aux`` a pair of those and other tensors.
        argnums: the argument or arguments to differentiate by.
        chunk_size: so many pull-backs at a time; None: all at once.

    Returns:
        A function of the same arguments: for every output, of the output's structure, for every argument, of its structure, a
        tensor of shape ``output.shape + argument.shape``; a pair with what else ``func`` returned if ``has_aux``.

    Raises:
        GradError, RangeError: as ``grad``; a ``chunk_size`` below 1.

    >>> import nbgrad
    >>> nbgrad.func.jacrev(nbgrad.sin)(nbgrad.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    require_callable("jacrev", func)
    if not (chunk_size is None or chunk_size > 0):
        raise RangeError(f"jacrev: chunk_size is {chunk_size}, expected None or a number > 0.")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments("jacrev", args, argnums)
        output, pull_back, *aux = vjp(lambda x: func(*with_arguments(args, argnums, x), **kwargs), chosen, has_aux=has_aux)
        outputs, out_tree = tensor_leaves("jacrev", output)
        inputs, in_tree = flatten(chosen)
        real_tensors("jacrev", "arguments", inputs)
        real_tensors("jacrev", "results", outputs)
        bases = unit_batches(outputs)
        rows = vmap(lambda *g: flatten(pull_back(out_tree.unflatten(g))[0])[0], chunk_size=chunk_size)(*bases)
        made = out_tree.unflatten(
            [in_tree.unflatten(blocks) for blocks in zip(*(row_blocks(row, x, outputs) for row, x in zip(rows, inputs)))]
        )
        return (made, aux[0]) if has_aux else made

    return jacobian


def unit_batches(tensors: list[Tensor]) -> list[Tensor]:
    """For every tensor a batch: all unit vectors of the tensors together, as many as they have elements, one behind the other."""
    total, first, batches = sum(x.numel() for x in tensors), 0, []
    for x in tensors:
        count = x.numel()
        part = CALLS["narrow"](eye(total, dtype=x.dtype, device=x.device), 1, first, count)
        batches.append(part.reshape((total, *x.shape)))
        first += count
    return batches


def row_blocks(rows: Tensor, x: Tensor, outputs: list[Tensor]) -> list[Tensor]:
    """The rows of a Jacobian, cut into those of single outputs."""
    parts = rows.split([each.numel() for each in outputs], 0)
    return [part.reshape((*each.shape, *x.shape)) for part, each in zip(parts, outputs)]


def jacfwd(func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable:
    """A function that computes the Jacobian of ``func`` in forward mode: one batch of tangents, for all elements of the argument.

    Args:
        func, argnums, has_aux: as of ``jacrev``, whose result this has.
        randomness: what random operations in ``func`` do: see ``vmap``.

    >>> import nbgrad
    >>> nbgrad.func.jacfwd(nbgrad.sin)(nbgrad.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    require_callable("jacfwd", func)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = chosen_arguments("jacfwd", args, argnums)
        inputs, in_tree = flatten(chosen)

        def of_leaves(*leaves: Tensor) -> Any:
            return func(*with_arguments(args, argnums, in_tree.unflatten(leaves)), **kwargs)

        blocks, out_tree, aux = columns_of(of_leaves, tuple(inputs), has_aux, randomness)
        made = out_tree.unflatten([in_tree.unflatten(row) for row in blocks])
        return (made, aux) if has_aux else made

    return jacobian


def columns_of(func: Callable, inputs: tuple, has_aux: bool = False, randomness: str = "error") -> tuple[list, Tree, Any]:
    """The blocks of a Jacobian, for every output by every input; the outputs' structure; what else ``func`` returned.

    The function runs once, on the inputs; only their tangents are batches, one element for every column.
    """
    batches = unit_batches(real_tensors("jacfwd", "arguments", list(inputs)))
    with opened(batches[0].shape[0], randomness, directions=True) as level:
        _, tangents, *aux = jvp(func, inputs, tuple(lifted(x, (level,)) for x in batches), has_aux=has_aux)
        found, tree = flatten(tangents)
        columns = [lowered(x, (level,)) for x in real_tensors("jacfwd", "results", found)]
        first = map_leaves(lambda x: lowered(x, (level,)).select(0, 0) if depends_on(x, level) else x, aux)
    blocks = []
    for column in columns:
        parts = column.movedim(0, -1).split([x.numel() for x in inputs], -1)
        blocks.append([part.reshape((*column.shape[1:], *x.shape)) for part, x in zip(parts, inputs)])
    return blocks, tree, first[0] if has_aux else None


def depends_on(x: Any, level: Level) -> bool:
    """Whether a tensor differs over a level."""
    return type(x) is Batched and level in x._levels_


def forward_columns(func: Callable, inputs: tuple) -> tuple:
    """For every output of ``func`` a tuple of its Jacobians by every input."""
    blocks, _, _ = columns_of(func, inputs)
    return tuple(map(tuple, blocks))


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """A function that computes the Hessian of ``func``: the Jacobian, in forward mode, of the one in reverse mode.

    >>> import nbgrad
    >>> nbgrad.func.hessian(lambda x: (x ** 3).sum())(nbgrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    require_callable("hessian", func)
    return jacfwd(jacrev(func, argnums), argnums)
