"""Functions and proxies: while a program is traced, every function of tensors asks its arguments' types before it looks at them.

Operations ask anyway, where they find what is no tensor; but a function of several operations looks at shapes first, and a proxy
has every attribute. In torch each function asks at its first line. Here that would take a tenth of the time of small calls, so they
do it only as long as there are proxies: the code of the functions is exchanged for one that asks, and then runs what was there. So
it does wherever a program has imported a function before.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from types import CodeType, FunctionType
from typing import Any

import nbgrad

from ..base.function_attributes import attach
from ..base.locks import new_rlock
from ..base.overriding import overrides_functions
from ..dispatch.generated import compile_now
from ..methods.install import FUNCTIONS
from ..modes.overrides import handle_function
from ..tensors.tensor import Tensor

__all__ = ["ask_while_alive", "functions_ask"]

SPACES = ("nn.functional", "nn.init", "nn.native_functions", "linalg", "fft", "special", "distributions.sampling")
_lock = new_rlock()
_askers = 0  # for how many tracers functions ask
_asked = _exchanging = False  # whether they do, and whether their code is being exchanged


@contextmanager
def functions_ask() -> Iterator[None]:
    """Inside, public functions of tensors that are written in Python ask types that are no tensors what they mean on them."""
    change_askers(1)
    try:
        yield
    finally:
        change_askers(-1)


def ask_while_alive(tracer: Any) -> None:
    """Have them ask as long as an object is alive: the tracer of proxies that a program makes itself."""
    change_askers(1)
    weakref.finalize(tracer, change_askers, -1).atexit = False


def change_askers(by: int) -> None:
    """Exchange the code of the functions for the first asker, and put it back behind the last one."""
    global _askers, _exchanging, _asked
    with _lock:
        _askers += by
        if _exchanging:  # a tracer was freed in the midst of the loop below, which sees it
            return
        _exchanging = True
        try:
            while _asked is not (_askers > 0):
                _asked = _askers > 0
                for function, codes in askable().items():
                    function.__code__ = codes[_asked]
        finally:
            _exchanging = False


@cache
def askable() -> dict[FunctionType, tuple[CodeType, CodeType]]:
    """Public functions that take tensors, with their own codes and those that ask."""
    found: dict[FunctionType, tuple[CodeType, CodeType]] = {}
    for function in (*public_functions(), *methods()):
        compile_now(function)
        found[function] = function.__code__, asking_code(len(function.__code__.co_freevars))
    for function in found:
        prepare(function)
    return found


def public_functions() -> Iterator[FunctionType]:
    """The functions of the package that take tensors, and ``_assert``."""
    members = {**FUNCTIONS, **vars(nbgrad)}  # what is imported at first use is found in its own module
    for path in SPACES:
        space = import_module(f"nbgrad.{path}")
        members |= {f"{path}.{name}": getattr(space, name) for name in space.__all__}
    for name, function in members.items():
        if isinstance(function, FunctionType) and (takes_tensors(function) or name == "_assert"):
            yield function


def methods() -> Iterator[FunctionType]:
    """The methods of Tensor, which may have proxies among their arguments: ``buffer[:x.size(0)]``."""
    for name, function in vars(Tensor).items():
        if isinstance(function, FunctionType) and (name[0] != "_" or name in ("__getitem__", "__setitem__")):
            yield function


def takes_tensors(function: FunctionType) -> bool:
    """Whether an annotation names Tensor, or the first argument has none, as in signatures of operations."""
    kinds = [each.annotation for each in signature(function).parameters.values()]
    return any("Tensor" in str(kind) for kind in kinds) or bool(kinds) and kinds[0] is Parameter.empty


def prepare(function: FunctionType) -> None:
    """Give a function, among its defaults, what it needs once it has the code of ``asking``; its own code passes these over."""
    shown = signature(function)
    inside = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    inside.__kwdefaults__, inside.__qualname__ = function.__kwdefaults__, function.__qualname__
    needed = {"_asking": ask_or_run, "_function": function, "_inside": inside}
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **needed}
    attach(function, __signature__=shown)


@cache
def asking_code(count: int) -> CodeType:
    """The code of functions that ask, with as many variables of a closure as the function has, which it has to name.

    Its globals are the function's, so all that it needs is among its defaults.
    """
    names = [f"closed_{number}" for number in range(count)]
    text = f"""def closing({", ".join(names)}):
    def asking(*args, _asking, _function, _inside, **named):
        return _asking(_function, _inside, args, named)
        {", ".join(names)}
    return asking
"""
    scope: dict[str, Any] = {}
    exec(compile(text, __file__, "exec", dont_inherit=True), scope)
    code: CodeType = scope["closing"](*names).__code__
    return code


def ask_or_run(function: Callable, inside: Callable, args: tuple, named: dict[str, Any]) -> Any:
    """What the type of an argument makes of the call; of tensors what the function does."""
    if function is nbgrad.einsum and len(args) == 2 and isinstance(args[1], (tuple, list)):
        args = (args[0], *args[1])  # as in torch, where types are asked about operands one by one
    found = overriding_in((*args, *named.values()))
    return inside(*args, **named) if found is None else handle_function(function, (found,), *args, **named)


def overriding_in(arguments: tuple | list) -> Any:
    """An argument, also in tuples, lists and slices, that is no tensor and says itself what functions mean on it; else None."""
    for x in arguments:
        if isinstance(x, slice):
            x = (x.start, x.stop, x.step)
        if isinstance(x, (tuple, list)):
            if (found := overriding_in(x)) is not None:
                return found
        elif not isinstance(x, Tensor) and overrides_functions(type(x)):
            return x
    return None
