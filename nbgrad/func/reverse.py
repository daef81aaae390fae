"""Reverse mode: ``grad``, ``grad_and_value``, ``vjp``."""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..autograd.entry import grad as gradients_of
from ..base.calls import CALLS
from ..base.errors import ArgumentError, DTypeError, GradError, ShapeError, require_callable
from ..base.grad_mode import mode
from ..base.mode_contexts import inference_mode
from ..base.nested import Tree, flatten
from ..graph.edges import edge_of, requires_grad
from ..tensors.tensor import Tensor
from .transforms import (
    Argnums,
    chosen_arguments,
    depends_outside,
    graph_value,
    pair_of,
    released,
    running,
    start,
    tensor_leaves,
    with_arguments,
)

__all__ = ["grad", "grad_and_value", "value_and_grad", "vjp"]


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of ``func``, which returns one number.

    Args:
        func: returns a 0-d tensor; with ``has_aux`` a pair of that and other tensors.
        argnums: the position, or a tuple of positions, of the arguments to differentiate by: tensors, or nested tuples, lists and
            dicts of them.

    Returns:
        A function of the same arguments: the gradient, of the structure of the argument; a tuple for several; a pair with what else
        ``func`` returned if ``has_aux``.

    Raises:
        ArgumentError: func is no function. GradError: it returns no number, ``argnums`` does not fit. RangeError: an argument that
            is no tensor.

    >>> import nbgrad
    >>> nbgrad.func.grad(lambda x: x ** 3)(nbgrad.tensor(2.0))
    tensor(12.)
    """
    require_callable("grad", func)
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that computes the gradient of ``func`` and its value: ``(gradient, value)``, or ``(gradient, (value, aux))``.

    Arguments and errors are those of ``grad``.

    >>> from nbgrad.func import grad_and_value
    >>> grad_and_value(lambda x: (x * x).sum())(nbgrad.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    require_callable("grad_and_value", func)

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        recorded = mode.enabled
        with running(func, (args, kwargs)) as run:
            chosen = chosen_arguments("grad", args, argnums)
            leaves, tree = flatten(chosen)
            starts = [start(x, run) for x in leaves]
            output = func(*with_arguments(args, argnums, tree.unflatten(starts)), **kwargs)
            value, aux = pair_of("grad", output) if has_aux else (output, None)
            check_number(value)
            outside = recorded and depends_outside([value], run)
            found = pulled_back([value], starts, [None], outside)
        result = released(value, run, recorded)
        return tree.unflatten(found), (result, released(aux, run, recorded)) if has_aux else result

    return both


value_and_grad = grad_and_value


def check_number(value: Any) -> None:
    """Refuse anything but a 0-d tensor as the value of a function to take the gradient of."""
    if not isinstance(value, Tensor):
        raise GradError(f"grad: the function must return a Tensor, got {type(value).__name__}.")
    if value.ndim:
        raise GradError(
            f"grad: the function must return a 0-d tensor, got shape {list(value.shape)}. Hint: vjp, jacrev, or x.sum()."
        )


def pulled_back(outputs: list[Tensor], starts: list[Tensor], cotangents: list, create_graph: bool) -> list[Tensor]:
    """The cotangents of the starts; zeros where no output depends on one."""
    used = [k for k, x in enumerate(map(graph_value, outputs)) if requires_grad(x) and edge_of(x) is not None]
    found: Any = (None,) * len(starts)
    if used and starts:
        found = gradients_of(
            [outputs[k] for k in used],
            starts,
            [cotangents[k] for k in used],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    return [CALLS["zeros_like"](x.detach()) if g is None else g for g, x in zip(found, starts)]


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """``func(*primals)``, and a function that multiplies vectors with its Jacobian, from the left.

    Args:
        func: of tensors, or nested tuples, lists and dicts of them; returns such. With ``has_aux`` a pair of that and others.

    Returns:
        ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)``, of the output's structure, gives a tuple with
        cotangents for every primal; for several outputs in a tuple it may also be called with one argument each.

    Raises:
        GradError: func returns something else than tensors; cotangents of another structure. ShapeError: of other shapes.
        DTypeError: func returns tensors of integers or bools.

    >>> import nbgrad
    >>> output, pull_back = nbgrad.func.vjp(lambda x: x ** 2, nbgrad.tensor([1.0, 2.0]))
    >>> pull_back(nbgrad.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    recorded = mode.enabled
    require_callable("vjp", func)
    with running(func, primals) as run:
        leaves, tree = flatten(primals)
        starts = [start(x, run) for x in leaves]
        output = func(*tree.unflatten(starts))
        output, aux = pair_of("vjp", output) if has_aux else (output, None)
        outputs, out_tree = tensor_leaves("vjp", output)
        for x in outputs:
            if not x.dtype.differentiable:
                raise DTypeError(
                    f"vjp: the function returned a tensor of {x.dtype.name}, expected floating or complex ones. "
                    "Hint: return others by has_aux=True."
                )

    def pull_back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        vectors = matching_cotangents(cotangents, outputs, out_tree)
        record = mode.enabled if create_graph is None else create_graph
        outside = record and (depends_outside(outputs, run) or any(requires_grad(graph_value(v)) for v in vectors))
        with inference_mode(False):
            return tree.unflatten(pulled_back(outputs, starts, vectors, outside))

    shown = released(output, run, recorded)
    return (shown, pull_back, released(aux, run, recorded)) if has_aux else (shown, pull_back)


def matching_cotangents(given: tuple, outputs: list[Tensor], tree: Tree) -> list[Tensor]:
    """The cotangents of outputs.

    Raises:
        GradError: they have another structure. ShapeError: other shapes. ArgumentError: none is given, or one is no tensor.
    """
    if not given:
        raise ArgumentError("vjp: no cotangent was given, expected one of the structure of the output.")
    vectors, structure = flatten(given[0] if len(given) == 1 else given)
    if structure != tree:
        raise GradError(f"vjp: the cotangents have the structure {structure!r}, expected that of the output, {tree!r}.")
    for position, (v, x) in enumerate(zip(vectors, outputs)):
        if not isinstance(v, Tensor):
            raise ArgumentError(f"vjp: cotangent {position} must be a Tensor, got {type(v).__name__}.")
        if v.shape != x.shape:
            raise ShapeError(f"vjp: cotangent {position} has shape {list(v.shape)}, its output {list(x.shape)}.")
    return vectors
