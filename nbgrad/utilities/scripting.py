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
import typing
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Final, Iterator

import nbgrad

from ..base.errors import NbgradError as Error, UsageError  # Error: what a compiled function raises
from ..nn.module import Module

__all__ = [
    "Error",
    "Attribute",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "_overload",
    "_overload_method",
    "_script_if_tracing",
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

    >>> script(lambda x: x + 1)(nbgrad.ones(1))
    tensor([2.])
    """
    return obj if builtins.isinstance(obj, type) else nbgrad.compile(obj)


def as_it_is(fn: Any) -> Any:
    """The function, or class, itself.

    >>> @nbgrad.jit.export
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """
    return fn


# An ``unused`` function is called nevertheless; of ``_overload`` (torch's names) the last definition is.
export = interface = script_method = script_if_tracing = unused = as_it_is
_copy_to_script_wrapper = as_it_is  # torch._jit_internal's
Dict, List, Optional, Tuple = typing.Dict, typing.List, typing.Optional, typing.Tuple  # noqa: UP006  as jit.annotations
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list  # of annotations: a number, or as many
_overload = _overload_method = _script_if_tracing = as_it_is


def ignore(drop: Any = False, **options: Any) -> Any:
    """A decorator that changes nothing, with an argument or without.

    >>> ignore(max)(2, 3), ignore(drop=True)(max)(2, 3)
    (3, 3)
    """
    return drop if callable(drop) else as_it_is


def is_scripting() -> bool:
    """False.

    >>> is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False: what a captured program asks is what it is told when it runs as it is.

    >>> is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value.

    >>> annotate(list[int], [])
    []
    """
    return the_value


def Attribute(value: Any, type: Any = None) -> Any:  # torch's name
    """The value.

    >>> Attribute(0.5, float)
    0.5
    """
    return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's.

    >>> nbgrad.jit.isinstance([1], list)
    True
    """
    return builtins.isinstance(obj, target_type)


class TracerWarning(Warning):
    """Never given."""


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Nothing to say inside of it.

    >>> with optimized_execution(False):
    ...     nbgrad.ones(1) + 1
    tensor([2.])
    """
    yield


class ScriptModule(Module):
    """A Module, whose ``script_method`` are its methods.

    >>> class Twice(nbgrad.jit.ScriptModule):
    ...     @nbgrad.jit.script_method
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(nbgrad.ones(1))
    tensor([2.])
    """


class ScriptFunction:
    """What torch makes of a function in that language. No function is one here: ``script`` gives a compiled function.

    >>> builtins.isinstance(nbgrad.jit.script(lambda x: x + 1), ScriptFunction)
    False
    """


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module as it is, which must be in ``eval()``; the other arguments are torch's, without effect.

    Raises:
        UsageError: it is in training.

    >>> freeze(nbgrad.nn.Tanh().eval())
    Tanh()
    """
    if mod.training:
        raise UsageError("freeze: the module is in training, expected one for inference. Hint: module.eval().")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module as it is; the other argument is torch's, without effect.

    >>> optimize_for_inference(nbgrad.nn.Tanh())
    Tanh()
    """
    return mod


def fork(func: Callable, *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """Call a function now; ``wait`` gives its result.

    >>> wait(fork(max, 2, 3))
    3
    """
    result = func(*args, **kwargs)
    return lambda: result


def wait(future: Callable[[], Any]) -> Any:
    """The result of what ``fork`` called.

    >>> wait(fork(min, 2, 3))
    2
    """
    return future()


def set_fusion_strategy(strategy: Any) -> list:
    """Accepted, without effect: what can be fused is.

    >>> set_fusion_strategy([("STATIC", 2)])
    []
    """
    return []


@contextmanager
def strict_fusion() -> Iterator[None]:
    """Nothing to say inside of it.

    >>> with strict_fusion():
    ...     nbgrad.ones(1) * 3
    tensor([3.])
    """
    yield
