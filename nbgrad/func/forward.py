"""Forward mode: ``jvp``; and ``linearize``, which records once and pushes forward often."""

from __future__ import annotations

from typing import Any, Callable

from ..autograd.forward_ad import make_dual, unpack_dual
from ..base.calls import CALLS
from ..base.errors import GradError, ShapeError, require_callable
from ..base.grad_mode import mode, special, transforming
from ..base.nested import Tree, flatten, map_leaves
from ..forward.tangents import pop_level, push_level, share_memory
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor
from .reverse import vjp
from .transforms import ordinary, outside_inference_mode, pair_of, sealed, tensor_leaves

__all__ = ["jvp", "linearize"]


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """``func(*primals)``, and the product of its Jacobian with ``tangents``, from the right.

    Args:
        func: of tensors, or nested tuples, lists and dicts of them; returns such. With ``has_aux`` a pair of that and others.
        primals, tangents: tuples of one structure; tensors of the same shapes.
        strict: refuse outputs that do not depend on the primals, instead of giving zeros.

    Returns:
        ``(output, tangents of the output)``, or ``(output, tangents, aux)``.

    Raises:
        GradError: primals that are no tuple, another structure, outputs that are no tensors. ShapeError: other shapes.

    >>> import nbgrad
    >>> nbgrad.func.jvp(lambda x: x ** 2, (nbgrad.tensor([1.0, 2.0]),), (nbgrad.tensor([1.0, 0.0]),))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    require_callable("jvp", func)
    leaves, directions, tree = checked_directions(primals, tangents)
    with outside_inference_mode():
        return pushed_forward(func, leaves, directions, tree, strict, has_aux)


def pushed_forward(
    func: Callable, leaves: list[Tensor], directions: list[Tensor], tree: Tree, strict: bool, has_aux: bool
) -> tuple:
    """``jvp`` at a level of its own."""
    level = push_level()
    try:
        with transforming(level), sealed(func, leaves):
            output = func(*tree.unflatten([dual_of(x, t, level) for x, t in zip(leaves, separate(directions))]))
        output, aux = pair_of("jvp", output) if has_aux else (output, None)
        results, out_tree = tensor_leaves("jvp", output)
        pairs = [primal_and_tangent(x, level, strict) for x in results]
        aux = map_leaves(lambda x: primal_and_tangent(x, level, False)[0] if isinstance(x, Tensor) else x, aux)
    finally:
        pop_level(level)
    values, products = (out_tree.unflatten(each) for each in zip(*pairs))
    return (values, products, aux) if has_aux else (values, products)


def checked_directions(primals: Any, tangents: Any) -> tuple[list[Tensor], list[Tensor], Tree]:
    """Primals and tangents as lists, and their structure.

    Raises:
        GradError: see ``jvp``.
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise GradError(
            "jvp: primals and tangents must be tuples, func is called with their members; got "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    leaves, tree = flatten(primals)
    directions, structure = flatten(tangents)
    if tree != structure:
        raise GradError(f"jvp: primals have the structure {tree!r}, tangents {structure!r}; expected one structure.")
    if not leaves:
        raise GradError("jvp: primals must hold at least one tensor.")
    for x in (*leaves, *directions):
        if not isinstance(x, Tensor):
            raise GradError(f"jvp: primals and tangents must hold tensors only, got {type(x).__name__}.")
    return leaves, directions, tree


def separate(tangents: list[Tensor]) -> list[Tensor]:
    """The tangents, but copies of those that share memory with one before: a write to an argument changes its own tangent alone."""
    return [CALLS["clone"](t) if any(share_memory(t, other) for other in tangents[:k]) else t for k, t in enumerate(tangents)]


def dual_of(x: Tensor, tangent: Tensor, level: int) -> Tensor:
    """An argument with its tangent."""
    if x.shape != tangent.shape:
        raise ShapeError(f"jvp: a tangent has shape {list(tangent.shape)}, its primal {list(x.shape)}.")
    x = CALLS["contiguous_copy"](x) if x.layout.expanded else x  # a tangent needs memory of its own at every position
    return make_dual(ordinary(x), ordinary(tangent), level=level)


def primal_and_tangent(x: Tensor, level: int, strict: bool) -> tuple[Tensor, Tensor]:
    """An output without its tangent, and that.

    Raises:
        GradError: it has none, and ``strict`` refuses that.
    """
    primal, tangent = unpack_dual(x, level=level)
    if tangent is None:
        if strict:
            raise GradError("jvp: an output does not depend on the primals, which strict=True refuses.")
        tangent = CALLS["zeros_like"](primal)
    return primal, tangent


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """``func(*primals)``, and the function that multiplies its Jacobian there with tangents.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn(*tangents)`` has the output's structure. ``func`` runs once: what the products need is
        recorded then, and each is the transpose of a pull-back, which is linear.

    Raises:
        GradError, ShapeError: as ``jvp``.

    >>> import nbgrad
    >>> output, push_forward = nbgrad.func.linearize(nbgrad.sin, nbgrad.tensor(0.0))
    >>> push_forward(nbgrad.tensor(2.0))
    tensor(2.)
    """
    output, pull_back = vjp(func, *primals)
    outputs, out_tree = tensor_leaves("linearize", output)

    def push_forward(*tangents: Any) -> Any:
        leaves, directions, _ = checked_directions(primals, tangents)
        for x, t in zip(leaves, directions):
            if x.shape != t.shape:
                raise ShapeError(f"linearize: a tangent has shape {list(t.shape)}, its primal {list(x.shape)}.")
            if x.dtype is not t.dtype:
                raise GradError(f"linearize: a tangent is {t.dtype.name}, its primal {x.dtype.name}. Hint: t.to(primal.dtype).")
        alone = not (nested or mode.transforms or special or any(map(requires_grad, leaves)))
        if alone and kept:
            return kept[0](tangents)[0]
        dummies = out_tree.unflatten([CALLS["zeros_like"](x.detach()) for x in outputs])
        _, transpose = vjp(lambda g: pull_back(g, create_graph=True), dummies)
        if alone:
            kept.append(transpose)
        return transpose(tangents)[0]

    # The transpose does not depend on the tangents: one serves all, where nobody else differentiates or records.
    kept: list[Callable] = []
    nested = bool(mode.transforms)
    return output, push_forward
