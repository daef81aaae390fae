"""Functions whose source is generated: compiled at their first call, once, and shown in tracebacks.

The calls of operations, for example, are written as text for each operation (calls.py), so that they need no loop over arguments.
Nothing here knows what the text says.

>>> double = late_function("example", {}, lambda: "def call(x):\\n    return factor * x\\n", lambda: {"factor": 2})
>>> double(21)
42
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any, Callable

from ..kernels.texts import register_source

__all__ = ["compile_now", "compile_text", "late_function"]


@cache
def compile_text(text: str, label: str):
    """The code of a generated source, which tracebacks and debuggers show under the name ``label``."""
    return compile(text, register_source(text, label), "exec")


def late_function(
    label: str, scope: dict[str, Any], text: Callable[[], str], names: Callable[[], dict], renamed: dict[str, str] | None = None
) -> Any:
    """The function ``call`` that a generated source defines. The source is made and compiled at the first call.

    The function object stays the same: its first call exchanges its code, and later calls run the new code directly.

    Args:
        label: name of the source in tracebacks.
        scope: global names of the source.
        text: ``text()``, the source.
        names: ``names()``, further global names, which are made at the first call too.
        renamed: ``{name in the source: name of the argument}``, where callers know an argument by another name.
    """

    def compiled():
        scope.update(names())
        exec(compile_text(text(), label), scope)
        made, scope["call"] = scope["call"], call
        code = made.__code__
        if renamed:
            code = code.replace(co_varnames=tuple([renamed.get(name, name) for name in code.co_varnames]))
        call.__defaults__, call.__kwdefaults__, call.__code__ = made.__defaults__, made.__kwdefaults__, code
        return call

    scope["compiled"] = compiled
    call = scope["call"] = FunctionType(not_yet_compiled.__code__, scope, "call")
    return call


def not_yet_compiled(*args, **kwargs):
    """The code of a ``late_function`` before its first call. It runs in that function's scope, where ``compiled`` is defined."""
    return compiled()(*args, **kwargs)  # noqa: F821


def compile_now(function: FunctionType) -> None:
    """Compile a ``late_function`` before its first call; other functions stay as they are."""
    if function.__code__ is not_yet_compiled.__code__:
        function.__globals__["compiled"]()
