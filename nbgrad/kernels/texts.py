"""Functions of generated texts, which tracebacks, debuggers and compilers see."""

from __future__ import annotations

import linecache
import re
from textwrap import indent
from types import FunctionType
from typing import Any, Callable

from ..base.dtypes import WIDTHS

__all__ = ["fill_template", "in_dtype", "late_text", "ready", "register_source", "run_text", "with_lines"]


def in_dtype(text: str, dtype: str) -> str:
    """A kernel's text for numbers of a dtype, which is ``T(`` there and in names like ``at_T(``; ``SIZE`` is their bytes."""
    return text.replace("_T(", f"_{dtype}(").replace(" T(", f" {dtype}(").replace("SIZE", str(WIDTHS[dtype]))


def with_lines(text: str, parts: dict[str, str]) -> str:
    """The text with each word that stands alone in a line replaced by lines, as far to the right."""
    lines = []
    for line in text.splitlines():
        word = line.strip()
        lines.append(indent(parts[word], line[: len(line) - len(word)]) if word in parts else line)
    return "\n".join(lines) + "\n"


def register_source(text: str, label: str) -> str:
    """Show ``text`` to tracebacks, debuggers and compilers under the returned file name, which no other text has."""
    lines, filename, number = text.splitlines(True), f"<nbgrad {label}>", 1
    while filename in linecache.cache and linecache.getlines(filename) != lines:
        number += 1
        filename = f"<nbgrad {label} {number}>"
    linecache.cache[filename] = (len(text), None, lines, filename)
    return filename


def run_text(text: str, label: str, scope: dict[str, Any] | None = None) -> dict[str, Any]:
    """The names that a generated text defines, with those of ``scope``; tracebacks show it under ``label``."""
    scope = {} if scope is None else scope
    exec(compile(text, register_source(text, label), "exec"), scope)
    return scope


def fill_template(text: str, label: str, replacements: dict[str, Any]) -> Callable:
    """The function ``kernel`` of a template, its capitalised words replaced in one pass."""
    longest_first = map(re.escape, sorted(replacements, key=len, reverse=True))
    text = re.sub("|".join(longest_first), lambda found: str(replacements[found.group()]), text)
    return run_text(text, label)["kernel"]


def late_text(text: str, label: str, scope: dict[str, Any], *names: str) -> list[Any]:
    """The functions that a generated text defines, each with the text as ``source``. It is compiled when somebody needs their code.

    Kernels that are on the disk are found by their text, and never compiled.

    Args:
        scope: what else the text names.
        names: of the functions.
    """
    made, waiting = dict[str, Any](), [text]

    def compiled() -> dict[str, Any]:
        if waiting:
            run_text(text, label, scope)
            for name, function in made.items():
                function.__code__, scope[name] = scope[name].__code__, function
            waiting.clear()
        return made

    for name in names:
        made[name] = FunctionType(not_yet_compiled.__code__.replace(co_name=name), scope, name)
        made[name].source, made[name].compiled = text, compiled
    scope["compiled"] = compiled
    return list(made.values())


def not_yet_compiled(*args):
    """The code of a function of ``late_text`` before it is compiled; it runs in that function's scope."""
    return compiled()[__import__("sys")._getframe().f_code.co_name](*args)  # noqa: F821


def ready(value: Any) -> Any:
    """The value itself: a function of ``late_text`` has its code now."""
    if hasattr(value, "compiled"):
        value.compiled()
    return value
