"""Names and kinds of the leaves of arguments, for people."""

from __future__ import annotations

import re
from types import FunctionType, MethodType
from typing import Any, Iterator

from ...base.nested import Tree
from ...modes.numbers import SMALL
from ...tensors.layout import Layout
from ..ir.literals import type_text
from .structures import Fields

__all__ = ["NUMBERS", "is_word", "kind_text", "names_of_leaves", "paths_of_leaves"]

# The kinds of numbers that are words of programs: NOTE [Traced numbers] of modes/numbers.py.
NUMBERS: dict[type, tuple[type, None]] = {float: (float, None), int: (int, None)}
HAS_MORE = 0x04  # of a code's flags: it takes *args


def is_word(x: float) -> bool:
    """Whether a number is a word of a program: a float, or an int of 31 bits."""
    return type(x) is float or abs(x) < SMALL


def paths_of_leaves(fn: Any, tree: Tree) -> list[str]:
    """Where each leaf of ``(args, kwargs)`` is: ``x``, ``pair[0]``, ``batch['y']``."""
    args, kwargs = tree.children
    parameters, more = parameters_of(fn)
    names = [parameters[k] if k < len(parameters) else f"{more}[{k - len(parameters)}]" for k in range(len(args.children))]
    pairs = [*zip(names, args.children), *zip(kwargs.keys, kwargs.children)]
    return [path for name, child in pairs for path in paths(child, name)]


def parameters_of(fn: Any) -> tuple[list[str], str]:
    """The names of a function's parameters by position, and of that for further ones."""
    skipped = 0
    if isinstance(fn, type) or not isinstance(fn, (FunctionType, MethodType)):
        fn = getattr(fn, "forward", None) or vars(type(fn)).get("__call__")
        skipped = isinstance(fn, FunctionType)
    if isinstance(fn, MethodType):
        fn, skipped = fn.__func__, 1
    while hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__
    code = getattr(fn, "__code__", None)
    if code is None:
        return [], "args"
    count = code.co_argcount
    more = code.co_varnames[count + code.co_kwonlyargcount] if code.co_flags & HAS_MORE else "args"
    return list(code.co_varnames[skipped:count]), more


def paths(tree: Tree, name: str) -> Iterator[str]:
    """The paths below a name."""
    if tree.kind is None:
        yield name
        return
    keys = tree.keys if isinstance(tree.keys, tuple) and len(tree.keys) == len(tree.children) else range(len(tree.children))
    for key, child in zip(keys, tree.children):
        yield from paths(child, f"{name}.{key}" if isinstance(tree, Fields) else f"{name}[{key!r}]")


def names_of_leaves(fn: Any, tree: Tree) -> list[str]:
    """Names of values that are made of the leaves' paths; nothing where a path makes none."""
    names = [re.sub(r"\W+", "_", path).strip("_") for path in paths_of_leaves(fn, tree)]
    return [name if name.isidentifier() else "" for name in names]


def kind_text(kind: Any, other: str = "a") -> str:
    """What a leaf is, or must be.

    Args:
        other: what stands before the type of one that is known by identity.
    """
    if isinstance(kind, tuple) and isinstance(kind[0], Layout):
        layout, flag, made_by = kind
        text = type_text(layout.plain(), flag)
        return text if made_by.__name__ == "Tensor" else f"{text} ({made_by.__name__})"
    if kind in NUMBERS.values():
        return str(kind[0].__name__)
    return str(kind[1]) if isinstance(kind, tuple) else f"{other} {type(kind).__name__}"
