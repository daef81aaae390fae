"""Where captures begin: for what is called inside, and of a function."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Sequence

from ...base import config
from ...base.errors import ArgumentError, require_callable
from ...base.grad_mode import Kept, special, traces
from ...base.plain import PLAIN
from ...func.captures import captured
from ...modes.numbers import Number
from ...tensors.tensor import Tensor
from ..ir.graph import Graph
from ..nodes.custom_functions import Hosted
from ..state.hooks import refuse_hooks
from . import fast_path  # noqa: F401
from .capture import Trace

__all__ = ["beginning_again", "trace", "tracing"]


@contextmanager
def tracing(known: Sequence[Tensor] = (), effects: bool = False, hosted: set | None = None, late: bool = False) -> Iterator[Trace]:
    """A capture of what this thread calls inside.

    Args:
        known: tensors that may be used without being made inside.
        effects: whether it may change what was there before, which is taken back at the end: NOTE [Effects] of effects.py.
        hosted: Functions that are steps in Python.
        late: whether elements are computed only where they are needed. ``settle`` of ``Trace`` computes what the program has kept.
    """
    active = Trace(known, effects, hosted)
    active.late, active.pending.outer = late, next((x.pending for x in traces[::-1] if x.thread == active.thread), None)
    kept, ended = Kept(), False
    try:
        traces.append(active)
        special.append(active)
        yield active
        active.draws.finish()
        ended = True
    except Exception:
        active.pending.run_all()  # what the program has kept may be looked at
        raise
    finally:
        actions = [lambda: leave(special, active), lambda: leave(traces, active), active.take_back]
        surely(*actions, *([] if ended else [kept.put_back]))


def leave(active: list, trace: Trace) -> None:
    """Take a capture out of a list, if it is there."""
    if trace in active:
        active.remove(trace)


def surely(*actions: Callable[[], None]) -> None:
    """Do things that may be begun again, one behind the other; Ctrl-C is heard when all are done."""
    waiting, stopped = list(actions), None
    while waiting:
        try:
            while waiting:
                waiting[0]()
                del waiting[0]
        except KeyboardInterrupt as error:
            stopped = error
    if stopped is not None:
        raise stopped


def trace(fn: Callable, *examples: Any, example_inputs: Any = None) -> Graph:
    """The graph of a function.

    Args:
        fn: takes tensors, returns a tensor or a tuple of tensors.
        examples: arguments: the graph is that of what the function does with tensors of these layouts and flags. They are copied.
            One tuple of tensors is all of them, as torch spells it.
        example_inputs: the same by torch's name: a tensor, or a tuple of them.

    Returns:
        The graph. Called with tensors of the same layouts it computes what the function computes.

    Raises:
        ArgumentError: no function; examples or results that are no tensors. GraphError: the function does what a graph cannot hold.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> graph = trace(lambda x: 2 * x + 1, nbgrad.ones(2))
    >>> graph(nbgrad.tensor([3.0, 4.0]))
    [tensor([7., 9.])]
    """
    require_callable("trace", fn)
    if example_inputs is not None:
        examples = (*examples, example_inputs)
    if len(examples) == 1 and isinstance(examples[0], (tuple, list)) and all(isinstance(x, Tensor) for x in examples[0]):
        examples = tuple(examples[0])
    for x, name in zip(examples, names_of(fn, len(examples))):
        if not isinstance(x, Tensor):
            hint = "Hint: keep it in a variable that the function names."
            raise ArgumentError(f"trace: {name or 'an example'} is of type {type(x).__name__}, expected a Tensor. {hint}")
    return beginning_again(lambda hosted: traced(fn, examples, hosted))


def beginning_again(capture: Callable[[set], Any], put_back: Callable[[], None] = lambda: None) -> Any:
    """What ``capture(hosted)`` returns, which begins again, after ``put_back()``, where a Function has left the graph."""
    hosted: set[Any] = set()
    while True:
        try:
            return capture(hosted)
        except Hosted as left:
            if left.function in hosted:
                raise
            hosted.add(left.function)
            put_back()


def traced(fn: Callable, examples: tuple, hosted: set) -> Graph:
    """The graph of a function."""
    with tracing(captured(fn, modules=True), hosted=hosted, late=True) as active:
        active.graph.name = getattr(fn, "__name__", "graph")
        if not active.graph.name.isidentifier():
            active.graph.name = "graph"
        active.derivable = True
        inputs = [active.input(x, name) for x, name in zip(examples, names_of(fn, len(examples)))]
        result = fn(*inputs)
        require_results(result)
        outs = result if isinstance(result, (tuple, list)) else (result,)
        active.graph.outputs = list(active.value(tuple(outs)))
        refuse_hooks(outs, inputs)
        del result, outs, inputs
    active.settle()
    if config.CHECK:
        from ..ir.checker import check

        check(active.graph, "trace")
    return active.graph


def require_results(x: Any, place: str = "the result") -> None:
    """Refuse what cannot be an output of a graph.

    Raises:
        ArgumentError: it is, or holds, what is neither a tensor nor a plain value.
    """
    if isinstance(x, (tuple, list)):
        for k, each in enumerate(x):
            require_results(each, f"{place}[{k}]")
    elif not isinstance(x, (Tensor, Number, *PLAIN)):
        what = f"trace: {place} is of type {type(x).__name__}"
        raise ArgumentError(f"{what}, expected tensors, numbers, strings and None, in tuples and lists.")


def names_of(fn: Callable, count: int) -> list[str]:
    """The names of a function's parameters, where they are plain."""
    code = getattr(fn, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    return (names + [""] * count)[:count]
