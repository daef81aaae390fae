"""Hooks of tensors that are pickled: they are dropped, with a warning unless the hook is marked as one that may be."""

from __future__ import annotations

from typing import Callable

from ..base.function_attributes import attach
from ..base.user_stack import warn_user
from ..graph.hooks import RemovableHandle
from ..tensors.tensor import Parameter, Tensor

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable) -> Callable:
    """Decorator for a hook that need not survive in a pickled tensor: there is no warning about it.

    >>> import pickle
    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> handle = x.register_hook(unserializable_hook(lambda g: 2 * g))
    >>> pickle.loads(pickle.dumps(x))
    tensor([1., 1.], requires_grad=True)
    """
    attach(f, __nbgrad_unserializable__=True)
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn about the hooks of a leaf that is pickled; a Parameter's are its module's affair."""
    hooks = tensor._meta_.hooks if tensor._meta_ is not None and not isinstance(tensor, Parameter) else None
    for hook in (hooks or {}).values():
        if not hasattr(hook, "__nbgrad_unserializable__"):
            warn_user(
                f"pickle: the hook {getattr(hook, '__name__', hook)!r} stays behind. Hint: decorate it with "
                "@nbgrad.utils.hooks.unserializable_hook if that is intended."
            )
