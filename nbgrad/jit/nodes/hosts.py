"""What a graph leaves to Python: printing, and functions of arrays.

NOTE [Host steps]: ``call`` is a pure function of a module, by name, whose results are tensors: it runs where the program calls it.
``show`` prints; it runs at the end of every run, behind all that could stop it, in the order of the program, and is not repeated by
derivatives.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Callable

from ...base.mode_contexts import no_grad
from ...dispatch.launches import need
from ...graph.edges import next_seq
from ...modes.traced import capture_of_thread, unmark
from ...tensors.tensor import Tensor, native
from ..ir.ir import Control, Node
from ..ir.qualified_names import function_named
from .rehearsals import rehearsing

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["CALL", "SHOW", "call_python", "print"]


# ---- printing --------------------------------------------------------------------------------------------------------


def print(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Print values; of a function that is compiled, in every call, and not when it is captured.

    Args:
        values: tensors are printed as they are when the function runs, everything else as it was when it was captured.
        sep, end: what stands between values, and behind the last.

    >>> import nbgrad
    >>> @nbgrad.compile
    ... def doubled(x):
    ...     nbgrad.jit.print("x is", x)
    ...     return x * 2
    >>> y = doubled(nbgrad.ones(2))
    x is tensor([1., 1.])
    """
    trace = capture_of_thread()
    if trace is None:
        if not rehearsing():
            builtins.print(*values, sep=sep, end=end)
        return
    ins = tuple([trace.value(x) for x in values if isinstance(x, Tensor)])
    parts = tuple([None if isinstance(x, Tensor) else str(x) for x in values])
    trace.add(SHOW, ins, {"parts": parts, "sep": sep, "end": end}, ())


def shown(node: Node, values: dict, *tensors: Tensor, parts: tuple, sep: str, end: str) -> tuple:
    """Print, or have a capture print."""
    rest = iter(tensors)
    print(*[next(rest) if part is None else part for part in parts], sep=sep, end=end)
    return ()


SHOW = Control("show", shown, effect="host")
SHOW.last = True


# ---- functions of arrays -----------------------------------------------------------------------------------------------


def called(node: Node, values: dict, *tensors: Tensor, function: str, **attributes: Any) -> tuple:
    """The results of a function."""
    trace = capture_of_thread()
    if trace is not None:
        return call_python(trace, function_named(function), tensors, attributes)
    with no_grad():
        return results_of(function_named(function), tensors, attributes)


def called_plainly(node: Node, tensors: list) -> tuple:
    """The results of a function of Python for plain tensors, where nothing is recorded."""
    attributes = dict(node.attributes)
    return results_of(function_named(attributes.pop("function")), tuple(tensors), attributes)


CALL = Control("call", called, effect="python")
CALL.plain = called_plainly


def results_of(function: Callable, tensors: tuple, attributes: dict[str, Any]) -> tuple:
    """What a function returns, as a tuple."""
    out = function(*tensors, **attributes)
    return out if isinstance(out, tuple) else (out,)


def call_python(trace: Trace, function: Callable, tensors: tuple, attributes: dict[str, Any]) -> tuple:
    """The results of a function of a module that reads arrays, as one node.

    Args:
        tensors: what it reads, without history.
        attributes: its other arguments, plain ones.
    """
    ins = tuple([trace.value(x) for x in tensors])
    need(tensors)
    trace.depth += 1
    try:
        outs = results_of(function, tuple([unmark(native.alias(x)) for x in tensors]), attributes)
    finally:
        trace.depth -= 1
    trace.add(CALL, ins, {"function": f"{function.__module__}:{function.__qualname__}", **attributes}, outs)
    trace.follow(outs, next_seq())
    return outs
