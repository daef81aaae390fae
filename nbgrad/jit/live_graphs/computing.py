"""Which functions of a program only compute, told by their instructions: hooks, and ``backward`` of custom Functions.

NOTE [Functions that only compute]: they consist of expressions: of arguments, numbers, operations of the package, other such
functions; tuples, lists, branches and loops over them. They write to nothing that was there before: no attributes, no elements, no
names outside, no operation in place. What they look up is part of their key. Whoever is not sure says None.
"""

from __future__ import annotations

from dis import get_instructions
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ...autograd.function import once_differentiable
from ...autograd.function_context import BackwardCFunction
from ...base.calls import CALLS
from ...base.dtypes import DType
from ..ir.lines import GENERATED, PACKAGE

__all__ = ["key_of", "keys_of"]

UNKNOWN = object()
PLAIN = (int, float, complex, bool, str, type(None), DType)
BUILTINS = frozenset({len, range, tuple, list, zip, enumerate, reversed, min, max, abs, sum, int, float, bool, isinstance, slice})
HARMLESS = frozenset(
    "shape dtype device ndim T mT H mH real imag requires_grad size dim numel stride is_complex is_floating_point saved_tensors "
    "needs_input_grad".split()
)

# The instructions that such a function consists of; what they name is looked at besides.
PURE = frozenset(
    "RESUME NOP CACHE NOT_TAKEN COPY_FREE_VARS LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST "
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_CONST LOAD_SMALL_INT LOAD_DEREF LOAD_GLOBAL LOAD_ATTR LOAD_METHOD STORE_FAST "
    "STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST BINARY_OP BINARY_SUBSCR BINARY_SLICE BUILD_SLICE UNARY_NEGATIVE UNARY_NOT "
    "PRECALL PUSH_NULL CALL CALL_KW KW_NAMES RETURN_VALUE RETURN_CONST UNPACK_SEQUENCE BUILD_TUPLE BUILD_LIST LIST_APPEND "
    "LIST_EXTEND POP_TOP COPY SWAP IS_OP COMPARE_OP TO_BOOL POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE "
    "POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE "
    "POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE JUMP_IF_TRUE_OR_POP "
    "JUMP_IF_FALSE_OR_POP JUMP_FORWARD JUMP_BACKWARD GET_ITER FOR_ITER END_FOR POP_ITER".split()
)
LOADS = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")


class Reads(NamedTuple):
    """What a function looks up.

    Attributes:
        paths: names of globals, with the attributes that are looked up in modules.
        cells: numbers of variables of its closure.
    """

    paths: tuple[tuple[str, ...], ...]
    cells: tuple[int, ...]


@lru_cache(maxsize=1024)
def reads(code: CodeType, context: bool) -> Reads | None:
    """What a function of this code looks up, if nothing in it does more than compute.

    Args:
        context: whether its first argument is a ctx, of which any attribute may be read.
    """
    paths: list[tuple[str, ...]] = []
    cells: list[int] = []
    path: tuple[str, ...] | None = None  # of what was loaded last
    of_context = False
    first = code.co_varnames[0] if context and code.co_argcount else None
    for each in get_instructions(code):
        name, value = each.opname, each.argval
        if name not in PURE or (name == "BINARY_OP" and each.argrepr.endswith("=")):
            return None
        if name.startswith("STORE_FAST") and first in (value if isinstance(value, tuple) else (value,)):
            return None
        if name == "CACHE":
            continue
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            if path is not None:
                path = (*path, value)
                paths[-1] = path
            elif not (is_told(value) if of_context else is_harmless(value)):
                return None
            of_context = False
            continue
        path = None
        if name == "LOAD_GLOBAL":
            path = (value,)
            paths.append(path)
        elif name == "LOAD_DEREF":
            if value not in code.co_freevars:
                return None
            cells.append(code.co_freevars.index(value))
        last = value[-1] if isinstance(value, tuple) else value
        of_context = name in LOADS and first is not None and last == first
    return Reads(tuple(paths), tuple(cells))


def is_harmless(name: str) -> bool:
    """Whether an attribute of a tensor, or of a plain value, is an operation or tells something."""
    return not name.endswith("_") and (name in CALLS or name in HARMLESS)


def is_told(name: str) -> bool:
    """Whether an attribute of a ctx is its Function's own, or one of those that only tell something."""
    return name in ("saved_tensors", "needs_input_grad") or not (name.startswith("_") or hasattr(BackwardCFunction, name))


def looked_up(path: tuple[str, ...], names: dict[str, Any]) -> Any:
    """What a path leads to, as far as modules go; ``UNKNOWN`` where it leads to what may do more than compute."""
    found = names.get(path[0], UNKNOWN)
    if found is UNKNOWN:
        builtins = names.get("__builtins__", {})
        found = (builtins if type(builtins) is dict else vars(builtins)).get(path[0], UNKNOWN)
    for name in path[1:]:
        if type(found) is ModuleType:
            found = getattr(found, name, UNKNOWN)
        elif type(found) in PLAIN and is_harmless(name):
            break
        else:
            return UNKNOWN
    return found


def is_operation(x: Any) -> bool:
    """Whether something is an operation of the package that only computes."""
    name, code = getattr(x, "__name__", "_"), getattr(x, "__code__", None)
    if name.endswith("_") or name not in CALLS:
        return False
    return f"{x.__module__}.".startswith("nbgrad.") if code is None else code.co_filename.startswith((PACKAGE, GENERATED))


def key_of(function: Any, context: bool = False, depth: int = 8) -> tuple | None:
    """A key that functions share which compute the same and do nothing else; None of others.

    Args:
        context: whether it is called with a ctx.
        depth: how far the functions that it calls are looked at.
    """
    if type(function) is not FunctionType or not depth:
        return None
    code = function.__code__
    if code is ONCE:
        return key_of(function.__wrapped__, context, depth)  # type: ignore[attr-defined]
    found = reads(code, context)
    if found is None:
        return None
    if not found.paths and function.__closure__ is function.__defaults__ is function.__kwdefaults__ is None:
        return (code,)
    keys: list[tuple | None] = []
    for path in found.paths:
        key = key_of_value(looked_up(path, function.__globals__), depth)
        if key is None:
            return None
        keys.append(key)
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        try:
            held = [function.__closure__[k].cell_contents for k in found.cells]  # type: ignore[index]
        except ValueError:  # an empty cell
            return None
        held += function.__defaults__ or ()
        held += (function.__kwdefaults__ or {}).values()
        keys += [key_of_value(x, depth) for x in held]
    return None if None in keys else (code, tuple(keys))


def key_of_value(x: Any, depth: int) -> tuple | None:
    """The key of what a function looks up."""
    if type(x) in PLAIN:
        return type(x), repr(x)
    try:
        if x in BUILTINS or is_operation(x):
            return (x,)
    except TypeError:  # it has no hash
        return None
    return key_of(x, False, depth - 1)


def keys_of(hooks: Any) -> tuple | None:
    """The keys of all hooks of a dict; None if one has none."""
    keys = tuple(map(key_of, hooks.values()))
    return None if None in keys else keys


ONCE = once_differentiable(lambda ctx, *grads: None).__code__
