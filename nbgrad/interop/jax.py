"""Functions of nbgrad's tensors in programs of JAX's, under ``jit``, ``grad`` and ``vmap``, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..autograd.function import Function, once_differentiable
from ..base.errors import ArgumentError
from .nodes import called

__all__ = ["jax_function", "nbgrad_function"]


def jax_function(fn: Callable) -> Callable:
    """A function of nbgrad's tensors as one of JAX's arrays, with a derivative of its own (``jax.custom_vjp``).

    JAX calls it back on the host (``jax.pure_callback``), so ``fn`` must be pure; its gradient computes it again. ``vmap`` calls it
    for each element.

    Args:
        fn: ``fn(*args)`` of tensors, gives a tensor or a tuple of them. It is run once on zeros for the shapes of its results.

    Returns:
        A function of arrays; differentiable once, in reverse mode.

    Raises:
        ArgumentError: ``fn`` gives what is no tensor. ImportError: JAX is not installed.

    >>> import jax
    >>> square = jax_function(lambda x: (x * x).sum())
    >>> jax.grad(square)(jax.numpy.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    jax = import_module("jax")

    def results_of(tensors: list[Tensor]) -> tuple[tuple[Tensor, ...], bool]:
        found = fn(*tensors)
        results = found if isinstance(found, tuple) else (found,)
        for x in results:
            if not isinstance(x, Tensor):
                raise ArgumentError(f"jax_function: fn gave {type(x).__name__}, expected a Tensor, or a tuple of them.")
        return results, isinstance(found, tuple)

    def described(x: Any) -> Any:
        return jax.ShapeDtypeStruct(tuple(x.shape), np.dtype(x.dtype))

    def tensors_of(arrays: tuple, requires_grad: bool = False) -> list[Tensor]:
        tensors = [nbgrad.tensor(np.asarray(x)) for x in arrays]
        return [x.requires_grad_() if requires_grad and x.is_floating_point() else x for x in tensors]

    def forward(*arrays: Any) -> Any:
        results, several = results_of(tensors_of(arrays))
        return tuple(x.detach().numpy() for x in results) if several else results[0].detach().numpy()

    def backward(arrays: tuple, cotangents: Any) -> tuple:
        tensors = tensors_of(arrays, requires_grad=True)
        results, several = results_of(tensors)
        given = [nbgrad.tensor(np.asarray(g)) for g in (cotangents if several else (cotangents,))]
        pairs = [(x, g) for x, g in zip(results, given) if x.requires_grad]
        wanted = [x for x in tensors if x.requires_grad]
        found = iter(
            nbgrad.grad([x for x, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True) if pairs else [None] * len(wanted)
        )
        grads = [next(found) if x.requires_grad else None for x in tensors]
        return tuple(np.zeros(x.shape, x.detach().numpy().dtype) if g is None else g.numpy() for x, g in zip(tensors, grads))

    def called(*arrays: Any) -> Any:
        examples = [nbgrad.tensor(np.zeros(x.shape, x.dtype)) for x in arrays]
        results, several = results_of(examples)
        shapes = [described(x.detach().numpy()) for x in results]
        return jax.pure_callback(forward, tuple(shapes) if several else shapes[0], *arrays, vmap_method="sequential")

    def transposed(arrays: tuple, cotangents: Any) -> tuple:
        return tuple(jax.pure_callback(backward, tuple(described(x) for x in arrays), arrays, cotangents, vmap_method="sequential"))

    function: Callable = jax.custom_vjp(called)
    function.defvjp(lambda *arrays: (called(*arrays), arrays), transposed)  # type: ignore[attr-defined]
    return function


def nbgrad_function(fn: Callable) -> Callable:
    """A function of JAX's arrays as one of nbgrad's tensors, by ``jax.vjp``.

    Args:
        fn: ``fn(*args)`` of arrays, gives an array or a tuple of them.

    Returns:
        A function of tensors; differentiable once.

    Raises:
        ImportError: JAX is not installed.

    >>> import jax
    >>> sine = nbgrad_function(jax.numpy.sin)
    >>> x = nbgrad.zeros(2, requires_grad=True)
    >>> sine(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    jax = import_module("jax")

    class Wrapped(Function):
        """The call as a node of nbgrad's graph."""

        @staticmethod
        def forward(ctx: Any, *args: Tensor) -> Any:
            """Run ``fn``, and keep its pull-back."""
            found, ctx.pullback = jax.vjp(fn, *(jax.numpy.asarray(x.detach().numpy()) for x in args))
            ctx.several = isinstance(found, tuple)
            given = tuple(nbgrad.tensor(np.asarray(x)) for x in (found if ctx.several else (found,)))
            return given if ctx.several else given[0]

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            """Pull cotangents back."""
            arrays = tuple(jax.numpy.asarray(g.numpy()) for g in grads)
            found = ctx.pullback(arrays if ctx.several else arrays[0])
            return tuple(nbgrad.tensor(np.asarray(g)) if np.asarray(g).dtype.kind in "fc" else None for g in found)

    return called(Wrapped, fn)
