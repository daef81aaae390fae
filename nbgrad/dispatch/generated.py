"""Functions of generated text: compiled once, named in tracebacks, and not before they are called."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any, Callable

from ..kernels.codegen import register_source

__all__ = ["compile_text", "late_function"]


@cache
def compile_text(text: str, label: str):
    """Compile generated text, and register it for tracebacks under ``label``."""
    return compile(text, register_source(text, label), "exec")


def late_function(
    label: str, scope: dict[str, Any], text: Callable[[], str], names: Callable[[], dict], renamed: dict[str, str] | None = None
) -> Any:
    """The function ``call`` of generated text, compiled when it is first called, as an import calls none of them.

    Until then its code is another one's. Who holds the function sees no difference: later calls run the compiled code directly.

    Args:
        scope: the text's global names; ``names()`` gives those that are dear to make.
        renamed: names of variables by which callers know them, by those of the text.
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
    """The first call of a ``late_function``, in whose scope this runs."""
    return compiled()(*args, **kwargs)  # noqa: F821  (in that scope)
