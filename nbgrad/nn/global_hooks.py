"""Hooks of all modules at once, and what else ``torch.nn.modules.module`` has: ``nbgrad.nn.modules.module``.

They are called before a module's own hooks of the same kind. For looking at a program, as profilers do: a hook of one module is
registered by that module's methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Parameter
from ..graph.edges import RemovableHandle
from ..graph.hooks import add_hook
from .buffers import Buffer
from .hooks import EVERYWHERE, ForwardHook
from .members import BUFFER, MODULE, PARAMETER, when_registered
from .module import Module
from .state import IncompatibleKeys

__all__ = [
    "Buffer",
    "IncompatibleKeys",
    "Module",
    "Parameter",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


_IncompatibleKeys = IncompatibleKeys  # torch's names


def _addindent(s_: str, numSpaces: int) -> str:
    return s_.replace("\n", "\n" + " " * numSpaces)


def everywhere(kind: str, hook: Any) -> RemovableHandle:
    """Add a hook of all modules, and let those that have none of their own come to it."""
    handle = EVERYWHERE.add(kind, hook, prepend=False)
    Module._hooks_ = EVERYWHERE
    return handle


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, args)`` before ``forward`` of every module; see ``Module.register_forward_pre_hook``.

    >>> from nbgrad import nn, ones
    >>> with register_module_forward_pre_hook(lambda module, args: print(type(module).__name__)):
    ...     y = nn.Sequential(nn.Tanh(), nn.ReLU())(ones(2))
    Sequential
    Tanh
    ReLU
    """
    return everywhere("before_forward", ForwardHook(hook, False))


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, result)`` after ``forward`` of every module; see ``Module.register_forward_hook``.

    >>> from nbgrad import nn, ones
    >>> with register_module_forward_hook(lambda module, args, result: result * 10):
    ...     nn.Identity()(ones(1))
    tensor([10.])
    """
    return everywhere("after_forward", ForwardHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` in a pass through any module; see ``Module.register_full_backward_pre_hook``.

    >>> from nbgrad import nn, ones
    >>> with register_module_full_backward_pre_hook(lambda module, grad_output: print(type(module).__name__, grad_output)):
    ...     nn.Tanh()(ones(1, requires_grad=True)).backward()
    Tanh (tensor([1.]),)
    """
    return everywhere("before_backward", hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in a pass through any module; see ``Module.register_full_backward_hook``.

    >>> from nbgrad import nn, ones
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output)):
    ...     nn.Tanh()(ones(1, requires_grad=True)).backward()
    (tensor([1.]),)
    """
    return everywhere("after_backward", hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when any module gets a parameter; what it returns, unless None, takes its place.

    >>> from nbgrad import nn
    >>> with register_module_parameter_registration_hook(lambda module, name, parameter: print(name)):
    ...     layer = nn.Linear(2, 3)
    weight
    bias
    """
    return add_hook(when_registered[PARAMETER], hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when any module gets a buffer; what it returns, unless None, takes its place.

    >>> from nbgrad import nn, ones
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: buffer * 2):
    ...     module = nn.Module()
    ...     module.register_buffer("scale", ones(1))
    >>> module.scale
    tensor([2.])
    """
    return add_hook(when_registered[BUFFER], hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when any module gets another; what it returns, unless None, takes its place.

    >>> from nbgrad import nn
    >>> with register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule)):
    ...     layers = nn.Sequential(nn.Tanh())
    0 Tanh()
    """
    return add_hook(when_registered[MODULE], hook)
