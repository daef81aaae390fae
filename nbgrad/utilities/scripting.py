"""What programs name of ``torch.jit``'s language: there is none here, functions are Python, which ``script`` compiles.

What tells that language's compiler what to do with parts of a program gives these parts back.

>>> import nbgrad
>>> @nbgrad.jit.script
... def positive(x: nbgrad.Tensor) -> nbgrad.Tensor:
...     return x * x + 1
>>> positive(nbgrad.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Final, Iterator

import nbgrad

from ..base.errors import UsageError
from ..nn.module import Module

__all__ = [
    "Attribute",
    "Final",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "unused",
    "wait",
]


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """``nbgrad.compile`` of a function or a module; a class as it is.

    What a graph cannot hold runs as it is, with one warning. The other arguments are torch's, without effect.
    """
    return obj if builtins.isinstance(obj, type) else nbgrad.compile(obj)


def as_it_is(fn: Any) -> Any:
    """The function, or class, itself."""
    return fn


export = interface = script_method = script_if_tracing = as_it_is


def ignore(drop: Any = False, **options: Any) -> Any:
    """A decorator that changes nothing, with an argument or without."""
    return drop if callable(drop) else as_it_is


def unused(fn: Any) -> Any:
    """The function, which is called nevertheless."""
    return fn


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False: what a captured program asks is what it is told when it runs as it is."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def Attribute(value: Any, type: Any = None) -> Any:  # torch's name
    """The value."""
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's."""
    return builtins.isinstance(obj, target_type)


class TracerWarning(Warning):
    """Never given."""


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Nothing to say inside of it."""
    yield


class ScriptModule(Module):
    """A Module, whose ``script_method`` are its methods."""


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module as it is, which must be in ``eval()``; the other arguments are torch's, without effect.

    Raises:
        UsageError: it is in training.
    """
    if mod.training:
        raise UsageError("freeze: the module is in training, expected one for inference. Hint: module.eval().")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module as it is; the other argument is torch's, without effect."""
    return mod


def fork(func: Callable, *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """Call a function now; ``wait`` gives its result.

    >>> wait(fork(max, 2, 3))
    3
    """
    result = func(*args, **kwargs)
    return lambda: result


def wait(future: Callable[[], Any]) -> Any:
    """The result of what ``fork`` called."""
    return future()


def set_fusion_strategy(strategy: Any) -> list:
    """Accepted, without effect: what can be fused is."""
    return []


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Nothing to say inside of it."""
    yield
