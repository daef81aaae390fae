"""Functions of nbgrad's tensors in programs of torch's, and the other way round, with gradients across; memory is shared."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import nbgrad

from .. import Tensor
from ..autograd.function import Function, once_differentiable
from ..base.errors import ArgumentError

__all__ = ["from_torch", "nbgrad_function", "to_torch", "torch_function"]


def library() -> Any:
    """torch.

    Raises:
        ImportError: it is not installed.
    """
    return import_module("torch")


def to_torch(x: Tensor) -> Any:
    """A torch tensor on the same memory, without history.

    Raises:
        ArgumentError: no Tensor.
    """
    if not isinstance(x, Tensor):
        raise ArgumentError(f"to_torch: x must be a Tensor, got {type(x).__name__}.")
    return library().from_dlpack(x.detach().resolve_conj().resolve_neg())


def from_torch(x: Any) -> Tensor:
    """A Tensor on a torch tensor's memory, without history.

    Raises:
        ArgumentError: no tensor of torch's.
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

    ```python
    f = nbgrad.interop.torch.torch_function(lambda x: (x * x).sum())
    f(torch.ones(3, requires_grad=True)).backward()
    ```
    """
    torch = library()

    class Wrapped(torch.autograd.Function):  # type: ignore[name-defined]
        """The call as a node of torch's graph."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            """Run ``fn`` on leaves that share the arguments' memory."""
            own = [from_torch(x) if isinstance(x, torch.Tensor) else x for x in args]
            ctx.leaves = [
                x.requires_grad_() if needs and isinstance(x, Tensor) else None for x, needs in zip(own, ctx.needs_input_grad)
            ]
            with nbgrad.enable_grad():
                found = fn(*own)
            ctx.results = found if isinstance(found, tuple) else (found,)
            require_tensors("torch_function", ctx.results)
            given = tuple(to_torch(x.clone()) for x in ctx.results)
            ctx.mark_non_differentiable(*(y for x, y in zip(ctx.results, given) if not x.requires_grad))
            return given if isinstance(found, tuple) else given[0]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            """nbgrad's backward pass, through what was recorded."""
            pairs = [(x, from_torch(g.contiguous())) for x, g in zip(ctx.results, grads) if x.requires_grad and g is not None]
            nbgrad.autograd.backward([x for x, _ in pairs], [g for _, g in pairs], retain_graph=True)
            found = tuple(None if x is None or x.grad is None else to_torch(x.grad) for x in ctx.leaves)
            for x in ctx.leaves:
                if x is not None:
                    x.grad = None
            return found

    def function(*args: Any) -> Any:
        return Wrapped.apply(*args)

    function.__name__, function.__doc__ = getattr(fn, "__name__", "function"), fn.__doc__
    return function


def nbgrad_function(fn: Callable) -> Callable:
    """A function of torch's tensors, a ``torch.nn.Module`` for instance, as one of nbgrad's.

    Args:
        fn: ``fn(*args)`` of tensors and other values, gives a tensor or a tuple of them. Parameters that it captures get their
            gradients in ``.grad`` in nbgrad's backward pass.

    Returns:
        A function that takes nbgrad's tensors in the place of torch's, and gives such; differentiable once.

    Raises:
        ArgumentError: ``fn`` gives what is no tensor.
    """
    torch = library()

    class Wrapped(Function):
        """The call as a node of nbgrad's graph."""

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            """Run ``fn`` on leaves that share the arguments' memory."""
            own = [to_torch(x) if isinstance(x, Tensor) else x for x in args]
            ctx.leaves = [
                x.requires_grad_() if needs and isinstance(x, torch.Tensor) else None for x, needs in zip(own, ctx.needs_input_grad)
            ]
            with torch.enable_grad():
                found = fn(*own)
            ctx.results = found if isinstance(found, tuple) else (found,)
            given = tuple(from_torch(x.clone()) for x in ctx.results)
            ctx.mark_non_differentiable(*(y for x, y in zip(ctx.results, given) if not x.requires_grad))
            return given if isinstance(found, tuple) else given[0]

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *grads: Any) -> Any:
            """torch's backward pass, through what was recorded."""
            pairs = [(x, to_torch(g.contiguous())) for x, g in zip(ctx.results, grads) if x.requires_grad and g is not None]
            torch.autograd.backward([x for x, _ in pairs], [g for _, g in pairs], retain_graph=True)
            found = tuple(None if x is None or x.grad is None else from_torch(x.grad) for x in ctx.leaves)
            for x in ctx.leaves:
                if x is not None:
                    x.grad = None
            return found

    def function(*args: Any) -> Any:
        return Wrapped.apply(*args)

    function.__name__, function.__doc__ = getattr(fn, "__name__", type(fn).__name__), fn.__doc__
    return function


def require_tensors(name: str, results: tuple) -> None:
    """Refuse results that are no tensors.

    Raises:
        ArgumentError: there is one.
    """
    for x in results:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{name}: fn gave {type(x).__name__}, expected a Tensor, or a tuple of them.")
