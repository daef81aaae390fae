"""Expressions to source: a scalar function in Python text, the same for CPU, CUDA and the SIMT interpreter.

The text uses Python arithmetic and the names of ``scalars.FUNCTIONS`` and ``prims.PRIMS``; ``instantiate`` binds those to a
target and a dtype. Nothing here knows a target.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import Any, Callable, NamedTuple

from ..ops.core import OPS
from ..ops.expr import Expr, postorder
from .texts import late_text

__all__ = ["Scalar", "guard_functions", "runs_abreast", "scalar_function"]

REAL = ("float32", "float64")


class Scalar(NamedTuple):
    """What determines a scalar function.

    Attributes:
        name: for tracebacks and symbols.
        params: ``(name, boolean)`` of every parameter.
        results: the expressions returned; one is returned bare, several as a tuple.
        dtype: the dtype of computation (``float32``, ``int64``, ...).
    """

    name: str
    params: tuple[tuple[str, bool], ...]
    results: tuple[Expr, ...]
    dtype: str


def literal(value, dtype: str) -> str:
    """A number as source text; float literals are narrowed when the function is instantiated."""
    if isinstance(value, bool):
        return repr(value)
    if dtype.startswith(("int", "uint")):
        return repr(int(value))
    if isinstance(value, complex):
        return repr(value)
    value = float(value)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INF" if value > 0 else "(-INF)"
    return repr(value) if value >= 0 and not math.copysign(1.0, value) < 0 else f"({value!r})"


def arithmetic_of(dtype: str) -> str:
    """The kind of a dtype of computation, in ``Op.text``."""
    return "complex" if dtype.startswith("complex") else "integer" if is_integer(dtype) else "real"


def texts_of(op: str) -> dict[str, str]:
    """How kernels spell an operation, by kinds of dtype: what its declaration says."""
    return OPS[op].text if op in OPS else {}


def render(node: Expr, names: dict[Expr, str], dtype: str) -> str:
    """One operation as source text; its operands are names already."""
    op, kind, texts = node.op, arithmetic_of(dtype), texts_of(node.op)
    args = [names[a] for a in node.args]
    if op.startswith("logical_"):
        args = [a if e.boolean else f"({a} != {literal(0, dtype)})" for a, e in zip(args, node.args)]
    if "bool" in texts and all(e.boolean for e in node.args):
        kind = "bool"
    if kind in texts:
        return texts[kind].format(*args, one=literal(1, dtype))
    if kind == "complex" and "real" in texts and len(args) > 1:  # Numba would take a constant for a real number
        args = [f"complex({a})" if e.op == "constant" else a for a, e in zip(args, node.args)]
    return f"{function_name(op, dtype)}({', '.join(args)})"


def is_integer(dtype: str) -> bool:
    """Whether a dtype of computation is an integer one."""
    return dtype.startswith(("int", "uint"))


def function_name(op: str, dtype: str) -> str:
    """The scalar function behind an operation at a dtype."""
    if dtype in REAL:
        return op
    if dtype.startswith("complex"):
        return f"complex_{op}"
    return op if op == "where" else f"int_{op}"


def computable(op: str, dtype: str) -> bool:
    """Whether kernels of a real dtype can compute an operation: it is Python's arithmetic or has a scalar function."""
    return arithmetic_of(dtype) in texts_of(op) or op == "where" or function_name(op, dtype) in scalar_names(dtype)


def source(spec: Scalar, rename: dict[str, str] | None = None) -> str:
    """The text of a scalar function: one local for every node, shared nodes once."""
    names: dict[Expr, str] = {}
    # The prefix keeps a function apart from what it calls: tanh is written with `tanh`.
    lines = [f"def scalar_{spec.name}({', '.join(name for name, _ in spec.params)}):"]
    lines += statements(spec.results, names, spec.dtype, rename or {})
    lines.append(f"    return {', '.join(names[r] for r in spec.results)}")
    return "\n".join(lines) + "\n"


def statements(roots, names: dict[Expr, str], dtype: str, rename: dict[str, str]) -> list[str]:
    """The assignments that compute ``roots``; ``names`` gets what each node is called."""
    lines = []
    for node in postorder(roots):
        if node.op == "symbol":
            names[node] = node.args[0]
        elif node.op == "constant":
            names[node] = literal(node.args[0], dtype)
        else:
            names[node] = f"t{len(names)}"
            text = render(node, names, dtype)
            if node.op in rename:
                text = text.replace(function_name(node.op, dtype), rename[node.op], 1)
            lines.append(f"    {names[node]} = {text}")
    return lines


class Guard(NamedTuple):
    """How blocks compute an operation: see NOTE [Guards] and NOTE [Common range] in scalars.

    Attributes:
        test: of the arguments; sends the block to the version that is right everywhere.
        fast: the version for the other blocks.
        precise: the one that is right everywhere.
        common: of the second kind: the test gives a negative number, and pays only where the arguments are operands.
    """

    test: Callable
    fast: Callable
    precise: Callable
    common: bool = False


def guarded_nodes(results: tuple[Expr, ...], dtype: str) -> list[Expr]:
    """The operations that blocks compute in one of two ways, all of one kind."""
    guards = guard_table(dtype)
    nodes = [node for node in postorder(results) if node.op in guards] if guards else []
    needed = [node for node in nodes if not guards[node.op].common]
    others = {node.op for node in nodes if any(arg.op != "symbol" for arg in node.args)}
    return needed or [node for node in nodes if node.op not in others]


@cache
def guard_table(dtype: str) -> dict[str, Guard]:
    """The guards at a dtype, by operation."""
    if dtype in REAL:
        from .scalars import COMMON, FUNCTIONS, GUARDS

        return {
            **{op: Guard(test, FUNCTIONS[op], precise) for op, (test, precise) in GUARDS.items()},
            **{op: Guard(test, fast, FUNCTIONS[op], True) for op, (test, fast) in COMMON.items()},
        }
    if dtype.startswith("complex"):
        from .complex_scalars import COMPLEX_FUNCTIONS, COMPLEX_GUARDS

        return {op: Guard(test, COMPLEX_FUNCTIONS[op], precise) for op, (test, precise) in COMPLEX_GUARDS.items()}
    return {}


def runs_abreast(results: tuple[Expr, ...], dtype: str) -> bool:
    """Whether a loop computes four vectors at a time: ``ABREAST`` of scalars."""
    from .scalars import ABREAST, FUNCTIONS

    called = [node.op for node in postorder(results) if node.op in FUNCTIONS and not (node.op in OPS and OPS[node.op].cheap)]
    return dtype in REAL and 0 < len(called) <= 2 and ABREAST.issuperset(called)


def guard_functions(name: str, params, results: tuple[Expr, ...], dtype: str) -> dict[str, Callable]:
    """``{test: ..., "scalar": ..., "precise": ...}`` for a function that blocks compute in one of two ways, else {}.

    The first says where ``scalar`` is out of its range and ``precise`` must do: ``"guard"`` by True, ``"common"`` by a
    negative number.
    """
    guarded = guarded_nodes(results, dtype)
    if not guarded:
        return {}
    guards = guard_table(dtype)
    params = tuple((p, False) if isinstance(p, str) else p for p in params)
    scope: dict[str, Any] = {**scalar_names(dtype), "INF": math.inf, "NAN": math.nan}
    fast, precise = {}, {}
    for op in {node.op for node in guarded}:
        scope[f"guard_{op}"], scope[f"fast_{op}"], scope[f"precise_{op}"] = guards[op][:3]
        fast[op], precise[op] = f"fast_{op}", f"precise_{op}"
    names: dict[Expr, str] = {}
    roots = [arg for node in guarded for arg in node.args]
    test = "common" if guards[guarded[0].op].common else "guard"
    lines = [f"def {test}({', '.join(p for p, _ in params)}):", *statements(roots, names, dtype, {})]
    tests = [f"guard_{node.op}({', '.join(names[a] for a in node.args)})" for node in guarded]
    outside = " | ".join(tests) if test == "guard" else reduce(lambda x, y: f"ior({x}, {y})", tests)
    text = "\n".join([*lines, f"    return {outside}"]) + "\n"
    text += source(Scalar(name, params, tuple(results), dtype), fast)
    text += source(Scalar("precise", params, tuple(results), dtype), precise)
    functions = late_text(text, f"guard of {name} {dtype}", scope, test, f"scalar_{name}", "scalar_precise")
    found = dict(zip((test, "scalar", "precise"), functions))
    for function in found.values():
        function.booleans = tuple(boolean for _, boolean in params)
    return found


def scalar_function(name: str, params, results: tuple[Expr, ...], dtype: str) -> Any:
    """A plain Python function of primitives and scalar functions, to be passed through ``instantiate``.

    Args:
        name: the function's name.
        params: parameter names, or ``(name, boolean)`` pairs.
        results: expressions over them.
        dtype: the dtype of computation.
    """
    params = tuple((p, False) if isinstance(p, str) else p for p in params)
    text = source(Scalar(name, params, tuple(results), dtype))
    scope: dict[str, Any] = {**scalar_names(dtype), "INF": math.inf, "NAN": math.nan}
    (function,) = late_text(text, f"scalar {name} {dtype}", scope, f"scalar_{name}")
    function.booleans = tuple(boolean for _, boolean in params)
    return function


@cache
def scalar_names(dtype: str) -> dict[str, Callable]:
    """The scalar functions that source text at a dtype may call, by the names that ``function_name`` gives."""
    from . import scalars

    if dtype.startswith("complex"):
        from .complex_scalars import COMPLEX_FUNCTIONS

        return {f"complex_{name}": function for name, function in COMPLEX_FUNCTIONS.items()}
    return scalars.functions(dtype)
