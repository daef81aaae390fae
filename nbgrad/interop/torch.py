"""Functions of nbgrad's tensors in programs of torch's, and the other way round, with gradients across; memory is shared."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import nbgrad

from .. import Tensor
from ..autograd.function import Function, once_differentiable
from ..base.errors import ArgumentError
from .nodes import Library, called, pulled_back, run_forward

__all__ = ["from_torch", "nbgrad_function", "to_torch", "torch_function"]


def library() -> Any:
    """torch.

    Raises:
        ImportError: it is not installed.
    """
    return import_module("torch")


def libraries() -> tuple[Library, Library]:
    """nbgrad and torch, for a node between them."""
    torch = library()
    own = Library(Tensor, from_torch, nbgrad.enable_grad, nbgrad.autograd.backward)
    return own, Library(torch.Tensor, to_torch, torch.enable_grad, torch.autograd.backward)


def to_torch(x: Tensor) -> Any:
    """A torch tensor on the same memory, without history.

    Raises:
        ArgumentError: no Tensor.

    >>> x = nbgrad.zeros(2)
    >>> y = to_torch(x)
    >>> _ = y.fill_(3.0)
    >>> x
    tensor([3., 3.])
    """
    if not isinstance(x, Tensor):
        raise ArgumentError(f"to_torch: x must be a Tensor, got {type(x).__name__}.")
    return library().from_dlpack(x.detach().resolve_conj().resolve_neg())


def from_torch(x: Any) -> Tensor:
    """A Tensor on a torch tensor's memory, without history.

    Raises:
        ArgumentError: no tensor of torch's.

    >>> import torch
    >>> from_torch(torch.ones(2, dtype=torch.float64))
    tensor([1., 1.], dtype=nbgrad.float64)
    """
    if not isinstance(x, library().Tensor):
        raise ArgumentError(f"from_torch: x must be a tensor of torch's, got {type(x).__name__}.")
    return nbgrad.from_dlpack(x.detach().resolve_conj().resolve_neg())


def torch_function(fn: Callable) -> Callable:
    """A function of nbgrad's tensors as one of torch's.

    Args:
        fn: ``fn(*args)`` of tensors and other values, gives a tensor or a tuple of them. What it captures that requires grad gets
            its gradient in ``.grad`` in torch's backward pass.

    Returns:
        A function that takes torch's tensors in the place of nbgrad's, and gives such; differentiable once.

    Raises:
        ArgumentError: ``fn`` gives what is no tensor.

    >>> import torch
    >>> f = torch_function(lambda x: (x * x).sum())
    >>> x = torch.ones(3, requires_grad=True)
    >>> f(x).backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """
    torch = library()
    inner, outer = libraries()

    class Wrapped(torch.autograd.Function):  # type: ignore[name-defined]
        """The call as a node of torch's graph."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            """Run ``fn`` with nbgrad's record."""
            return run_forward(ctx, "torch_function", fn, inner, outer, args)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            """nbgrad's backward pass."""
            return pulled_back(ctx, inner, outer, grads)

    return called(Wrapped, fn)


def nbgrad_function(fn: Callable) -> Callable:
    """A function of torch's tensors, a ``torch.nn.Module`` for instance, as one of nbgrad's.

    Args:
        fn: ``fn(*args)`` of tensors and other values, gives a tensor or a tuple of them. Parameters that it captures get their
            gradients in ``.grad`` in nbgrad's backward pass.

    Returns:
        A function that takes nbgrad's tensors in the place of torch's, and gives such; differentiable once.

    Raises:
        ArgumentError: ``fn`` gives what is no tensor.

    >>> import torch
    >>> layer = nbgrad_function(torch.nn.Linear(2, 1, bias=False).requires_grad_(False))
    >>> x = nbgrad.ones(1, 2, requires_grad=True)
    >>> layer(x * 0).backward()
    >>> x.grad
    tensor([[0., 0.]])
    """
    outer, inner = libraries()

    class Wrapped(Function):
        """The call as a node of nbgrad's graph."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            """Run ``fn`` with torch's record."""
            return run_forward(ctx, "nbgrad_function", fn, inner, outer, args)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            """torch's backward pass."""
            return pulled_back(ctx, inner, outer, grads)

    return called(Wrapped, fn)
