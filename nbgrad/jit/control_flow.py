"""Loops and branches as operations: ``scan``, ``map``, ``while_loop``, ``cond``.

NOTE [Control flow]: what the program writes as a function becomes a body (bodies.py), and the loop or the branch one Function of it
(loops.py, branches.py), which is one node of a graph (``Control`` of ir.py) where one is captured. Everything that is derived from
it is such a Function again.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, Callable, Iterator

import numpy as np

from ..base.bounded import keep
from ..base.calls import CALLS
from ..base.errors import ArgumentError, GraphError, RangeError, require_callable
from ..func.captures import captured
from ..modes.batched import Batched
from ..modes.traced import capture_of_thread
from ..tensors.tensor import Tensor
from .arguments.structures import flatten_again as flatten
from .loops import liveness as _liveness, rewind_steps as _rewind_steps, unwinding as _unwinding  # noqa: F401  (they register themselves)
from .loops.bodies import example_of, joined
from .loops.branches import Choice, chosen
from .loops.checkpoints import checked_policy, policy_of
from .loops.derived_bodies import meant_in
from .loops.iterations import owned
from .loops.loop_draws import rest_of, traced_branches, traced_step, traced_while
from .loops.loop_steps import Loop, Step, example_slice
from .loops.loops import looped
from .loops.traced_functions import traced_function
from .loops.trees import Leaves, check_carry, check_same, length_of, shown

__all__ = ["cond", "map", "scan", "while_loop"]


def scan(
    step: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, checkpoint: Any = "auto"
) -> tuple[Any, Any]:
    """A loop whose every trip takes what the last one has carried on, and a slice of ``xs``.

    What ``for x in xs: carry, y = step(carry, x); ys.append(y)`` computes, with the ``ys`` stacked. The step runs once, on copies
    of what the first trip takes, to see what it computes; the trips then run that. Gradients of any order, forward mode and
    ``vmap`` are loops too; what ``step`` captures gets gradients like any other argument.

    Args:
        step: ``step(carry, x) -> (carry, y)`` of tensors, or nested tuples, lists, dicts and objects of data classes of them; None
            for no slice.
        init: the first carry. Numbers in it are 0-d tensors.
        xs: tensors whose first dimension is the trips; None: no slices, ``length`` says how many trips.
        length: how many trips.
        reverse: from the last slice to the first; ``ys`` lie as ``xs`` do.
        checkpoint: which carries reverse mode keeps; it computes the others again. ``"all"``; a number k for every k-th, ``"sqrt"``
            for the k that keeps the fewest, ``("binomial", slots)`` for never more than so many, ``"binomial"`` for about log2
            of the trips; ``"auto"``: all if they take less than 256 MiB, else ``"sqrt"``.

    Returns:
        The last carry, and the stacked ``ys``. Without trips: ``init``, and empty ``ys``.

    Raises:
        ArgumentError: what is no tensor; a carry that changes its structure. ShapeError, DTypeError: its shape, its dtype.
        RangeError: ``xs`` of different lengths, a ``length`` that contradicts them, neither of both; ``checkpoint`` less than 1.
        GraphError: the step does what a graph cannot hold.

    >>> import nbgrad
    >>> total, sums = nbgrad.jit.scan(lambda c, x: (c + x, c + x), nbgrad.tensor(0.0), nbgrad.arange(1.0, 5.0))
    >>> total, sums
    (tensor(10.), tensor([ 1.,  3.,  6., 10.]))
    """
    require_callable("scan", step)
    carry, slices = Leaves("scan", "init", init), Leaves("scan", "xs", xs)
    trips = length_of("scan", slices, length)
    checked_policy("scan", checkpoint)
    n = len(carry.tensors)

    def run(*inputs: Tensor) -> tuple[Any, Any]:
        result = step(carry.rebuilt(inputs[:n]), slices.rebuilt(inputs[n:]))
        if not isinstance(result, tuple) or len(result) != 2:
            kind = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
            raise ArgumentError(f"scan: step returned {kind}, expected a pair: the next carry, and a slice or None.")
        check_carry("scan", "step", carry, Leaves("scan", "the carry that step returned", result[0]))
        Leaves("scan", "the slice that step returned", result[1])
        return result

    def examples() -> list[Tensor]:
        return [*(example_of(x) for x in carry.tensors), *(example_slice(x) for x in slices.tensors)]

    traced = traced_step(step, ("scan", *carry.key(), *slices.key(1)), run, examples, n, trips, reverse)
    carries, stacks, body = [*carry.tensors, *traced.carried], [*slices.tensors, *traced.sliced], traced.found.body
    policy = policy_of(checkpoint, trips, body.layouts()[: len(carries)])
    loop = Loop(Step(body, len(carries), len(stacks)), trips, reverse, policy=policy)
    return traced.results(looped(loop, [*carries, *stacks, *traced.found.used]))


def map(fn: Callable, xs: Any) -> Any:
    """A function of every slice, one after the other: ``vmap`` in little memory.

    Args:
        fn: of a slice, of tensors or such structures of them as ``scan`` takes; returns such.
        xs: tensors whose first dimension is the slices.

    Returns:
        The stacked results.

    Raises:
        As ``scan``.

    >>> import nbgrad
    >>> nbgrad.jit.map(lambda x: x * x, nbgrad.arange(4.0))
    tensor([0., 1., 4., 9.])
    """
    require_callable("map", fn)
    slices = Leaves("map", "xs", xs)
    trips = length_of("map", slices, None)

    def run(*inputs: Tensor) -> tuple[Any, Any]:
        result = fn(slices.rebuilt(inputs))
        Leaves("map", "the result of fn", result)
        return None, result

    def examples() -> list[Tensor]:
        return [example_slice(x) for x in slices.tensors]

    traced = traced_step(fn, ("map", *slices.key(1)), run, examples, 0, trips)
    step = Step(traced.found.body, len(traced.carried), len(slices.tensors) + len(traced.sliced))
    outs = looped(Loop(step, trips), [*traced.carried, *slices.tensors, *traced.sliced, *traced.found.used])
    return traced.results(outs)[1]


# ---- while_loop --------------------------------------------------------------------------------------------------------


def while_loop(cond: Callable, body: Callable, init: Any, *, memory: int | None = 1 << 30) -> Any:
    """A loop that goes on while a predicate of what it carries is true.

    What ``while cond(carry): carry = body(carry)`` computes, or ``cond(*carry)`` and ``body(*carry)``: see ``init``. Both functions
    run once, on copies of ``init``, to see what they compute; the trips then run that. Reverse mode keeps the carries of all trips;
    within a graph or a compiled function, whose results have one size, it runs them once more for that. Forward mode and ``vmap``
    are loops too, where the elements of a batch that have ended keep their carries.

    Args:
        cond: ``cond(carry) ->`` a 0-d tensor of bools.
        body: ``body(carry) -> carry``.
        init: tensors, or such structures of them as ``scan`` takes. Numbers are 0-d tensors. The members of a tuple are passed one
            by one to a function that takes so many arguments, and could not be called with one; so is the only member of one.
        memory: how many bytes the carries may take that reverse mode keeps; None: any number.

    Returns:
        The last carry. Without trips: ``init``.

    Raises:
        ArgumentError: what is no tensor; a carry that changes its structure; a predicate that is no 0-d bool.
        ShapeError, DTypeError: its shape, its dtype. GradError: more memory in reverse mode. GraphError: the functions do what
            a graph cannot hold.

    >>> import nbgrad
    >>> nbgrad.jit.while_loop(lambda x: x < 100, lambda x: 2 * x, nbgrad.tensor(3.0))
    tensor(192.)
    """
    require_callable("while_loop", cond)
    require_callable("while_loop", body)
    carry, test_of, next_of = Leaves("while_loop", "init", init), spread_over(cond, init), spread_over(body, init)
    if not carry.tensors:
        raise ArgumentError("while_loop: init holds no tensor, expected what the predicate depends on.")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 0):
        raise RangeError(f"while_loop: memory is {memory!r}, expected a number of bytes, or None.")

    def run(*inputs: Tensor) -> tuple[Any, Any]:
        after = next_of(carry.rebuilt(inputs))
        check_carry("while_loop", "body", carry, Leaves("while_loop", "the carry that body returned", after))
        return after, None

    def goes_on(*inputs: Tensor) -> tuple[Any, Any]:
        return None, checked_predicate("while_loop", "cond returned", test_of(carry.rebuilt(inputs)))

    def examples() -> list[Tensor]:
        return [example_of(x) for x in carry.tensors]

    traced, test = traced_while(cond, body, carry.key(), goes_on, run, examples, len(carry.tensors))
    carries, found = [*carry.tensors, *traced.carried], traced.found
    both = found.body.derive(("joined", test.body), lambda: joined(found.body, test.body, len(carries)))
    loop = Loop(Step(both[0], len(carries), 0), None, test=both[1], memory=memory)
    return traced.results(looped(loop, [*carries, *found.operands, *test.operands]))[0]


def spread_over(fn: Callable, x: Any) -> Callable[[Any], Any]:
    """A function of a value like ``x``, which passes the members of a tuple one by one: see ``takes_several``."""
    return (lambda members: fn(*members)) if takes_several(fn, x) else fn


def takes_several(fn: Callable, x: Any) -> bool:
    """Whether a function takes the members of a tuple as its arguments: it must, or there is one, which torch passes so."""
    return type(x) is tuple and takes(fn, len(x)) and (len(x) == 1 or not takes(fn, 1))


def takes(fn: Callable, count: int) -> bool:
    """Whether a function says that it can be called with so many arguments."""
    try:
        signature(fn).bind(*[None] * count)
    except (TypeError, ValueError):  # it cannot, or does not say
        return False
    return True


def checked_predicate(op: str, what: str, x: Any) -> Any:
    """A bool, or a 0-d tensor of bools; NumPy's bool as Python's.

    Raises:
        ArgumentError: neither.
    """
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op}: {what} {type(x).__name__}, expected a 0-d tensor of bools.")
    if x.layout.shape or x.layout.dtype.name != "bool":
        raise ArgumentError(
            f"{op}: {what} {shown(x)}, expected a 0-d tensor of bools. Hint: a comparison; .all() or .any() of many."
        )
    return x


# ---- cond --------------------------------------------------------------------------------------------------------------

MOST_AGREEMENTS = 1024
agreed: dict[Any, Any] = {}  # what branches return, by their codes and the layouts of their operands


def cond(pred: Any, true_fn: Callable, false_fn: Callable, *operands: Any) -> Any:
    """One of two functions, by a predicate: one node of a graph, which holds for either value.

    In eager mode the function that is meant is called, and the other one traced, when the two meet for the first time, to see that
    it returns the same structure. Under ``vmap`` with a predicate of the batch both are called, and ``where`` chooses.

    Args:
        pred: a 0-d tensor of bools, or a bool.
        true_fn, false_fn: of the operands; return tensors, or such structures of them as ``scan`` takes, of the same structure,
            shapes and dtypes.
        operands: tensors, or such structures; a tuple alone may be all of them, as for ``while_loop``: ``(x,)`` is ``x``.

    Returns:
        What the function that is meant returns, on memory of its own, as from a loop: a copy of what it took. (torch refuses to
        return that.) Of a bool, which chooses nothing that a graph could hold, the very objects.

    Raises:
        ArgumentError: a predicate that is no 0-d bool; what is no tensor; results of different structure. ShapeError, DTypeError:
            of different shapes, of different dtypes.

    >>> import nbgrad
    >>> x = nbgrad.tensor(-2.0)
    >>> nbgrad.jit.cond(x > 0, lambda x: x, lambda x: x * x, x)
    tensor(4.)
    """
    require_callable("cond", true_fn)
    require_callable("cond", false_fn)
    pred = checked_predicate("cond", "pred is", pred)
    if len(operands) == 1 and type(operands[0]) is tuple and all(takes_several(fn, operands[0]) for fn in (true_fn, false_fn)):
        operands = operands[0]
    if type(pred) is Batched:
        return batched_cond(pred, true_fn, false_fn, operands)
    if isinstance(pred, Tensor) and capture_of_thread() is not None:
        return captured_cond(pred, true_fn, false_fn, operands)
    fn = true_fn if pred else false_fn
    result = results_of(fn, operands)
    check_agreement(true_fn, false_fn, operands, fn, result)
    if not isinstance(pred, Tensor):
        return result.rebuilt(result.tensors)
    others = [x for x in flatten(operands)[0] if isinstance(x, Tensor)]
    return result.rebuilt(owned(result.tensors, [*others, *captured(fn)]))


def batched_cond(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: tuple) -> Any:
    """A choice for every element of a batch, whose derivatives are of the function that is meant."""
    try:
        return captured_cond(pred, true_fn, false_fn, operands)
    except GraphError:  # what no graph can hold is called for all elements
        leaves, tree = flatten(operands)
        meant = pred, CALLS["logical_not"](pred)
        first, second = (
            results_of(fn, tree.unflatten([meant_in(p, x) if isinstance(x, Tensor) else x for x in leaves]))
            for p, fn in zip(meant, (true_fn, false_fn))
        )
        check_branches(first, second)
        return first.rebuilt([CALLS["where"](pred, x, y) for x, y in zip(first.tensors, second.tensors)])


def results_of(fn: Callable, operands: tuple) -> Leaves:
    """What a branch returns."""
    return Leaves("cond", "the result", fn(*operands))


def check_branches(first: Leaves, second: Leaves) -> None:
    """Refuse branches of different results.

    Raises:
        ArgumentError: structure. ShapeError: a shape. DTypeError: a dtype.
    """
    check_same("cond", "true_fn returned", first, "false_fn", second, "the result", "from both functions")


class Operands:
    """What branches take.

    Attributes:
        tensors: among it; ``key``: what branches are traced for.
    """

    def __init__(self, operands: tuple):
        self.leaves, self.tree = flatten(operands)
        self.tensors = [x for x in self.leaves if isinstance(x, Tensor)]
        others = [None if isinstance(x, Tensor) else x for x in self.leaves]
        parts = tuple([(x.layout.dtype, x.layout.shape, x.layout.device) for x in self.tensors])
        self.key = "cond", self.tree, parts, repr(others)

    def called(self, fn: Callable) -> Callable[..., Leaves]:
        """A branch as a function of the tensors."""
        return lambda *inputs: results_of(fn, self.tree.unflatten(self.filled(iter(inputs))))

    def filled(self, tensors: Iterator[Tensor]) -> list:
        """The leaves with other tensors."""
        return [next(tensors) if isinstance(x, Tensor) else x for x in self.leaves]

    def examples(self) -> list[Tensor]:
        """What branches are traced with."""
        return [example_of(x) for x in self.tensors]


def captured_cond(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: tuple) -> Any:
    """A choice that a graph holds."""
    given, fns = Operands(operands), (true_fn, false_fn)
    drawing, second = traced_branches(fns, given.key, [given.called(fn) for fn in fns], given.examples)
    first, tensors = drawing.found, [*given.tensors, *drawing.carried]
    check_branches(*[rest_of("cond", "the result", found.result) for found in (first, second)])
    both = first.body.derive(("joined", second.body), lambda: Choice(*joined(first.body, second.body, len(tensors))))
    return drawing.results(chosen(both, pred, [*tensors, *first.operands, *second.operands]))[1]


def check_agreement(true_fn: Callable, false_fn: Callable, operands: tuple, fn: Callable, result: Leaves) -> None:
    """See that the function that was not called returns what the other one has returned: once for every pair of codes.

    Raises:
        As ``check_branches``.
    """
    codes = getattr(true_fn, "__code__", true_fn), getattr(false_fn, "__code__", false_fn)
    layouts = [(x.layout.dtype, x.layout.shape, x.layout.device) for x in flatten(operands)[0] if isinstance(x, Tensor)]
    key, kind = (*codes, *layouts), result.key()
    if agreed.get(key) == kind:
        return
    try:
        other_fn, given = false_fn if fn is true_fn else true_fn, Operands(operands)
        other = traced_function(other_fn, given.key, given.called(other_fn), given.examples).result
    except GraphError:
        pass  # what no graph can hold is seen when it is called
    else:
        check_branches(*((result, other) if fn is true_fn else (other, result)))
    keep(agreed, key, kind, MOST_AGREEMENTS)
