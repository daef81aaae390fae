"""Native code: elementwise calls, in place too, and their backward.

``Caller`` is what runs when a program computes ``x * y``: it finds a plan by the layouts of ``x`` and ``y``, launches it, and
records the node where a gradient is needed. ``Writer`` does the same for ``x *= y``, ``Differentiator`` runs the fused kernel of a
backward. Each has a Python function ``slow`` for what is unusual: special modes, operands that are no tensors, layouts that were
never seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from .language import Words, bound, entry, native
from .launches import NO_TENSOR, fresh, into, of_thread
from .plans import ElementwisePlan, Plan
from .primitives import as_tuple, get, owns_memory, words_of
from .recording import flows

if TYPE_CHECKING:
    from ..base.dtypes import DType
    from ..graph.node import Node
    from ..tensors.layout import Layout
    from ..tensors.tensor import Tensor

__all__ = ["Caller", "Differentiator", "Writer", "apart"]


@native(borrows=True)
def key_of(x):
    """The kind of an operand: a tensor's layout, the type of a Python number; None for anything else."""
    if isinstance(x, Tensor):
        if hasattr(x, "layout"):
            return x.layout
        return None  # object.__new__(Tensor)
    kind = type(x)
    if kind is float or kind is int or kind is bool:
        return kind
    return None


@native(inline=True)
def recording(mode) -> bool:
    """Whether this thread records."""
    return of_thread(mode).get("enabled") is True


@bound
class Caller:
    """``call(*operands)``: one look-up, one launch, a node where one is needed.

    Attributes:
        plans: by the layouts of tensors and the types of Python numbers, in a tuple; by one alone where there is one operand, or
            two that share it.
        plan_of: ``plan_of(key)``, a plan that the table lacks; None where the call must be looked at.
        special: while it is not empty, everything goes to ``slow``.
        slow: ``slow(*operands)`` for whatever has no plan.
        record: ``record(plan, out, *operands)``, called where it is to refuse an operand that needs a gradient; else the plan's own
            function is, if this thread records.
        mode: the thread's modes.
        bits: how many operands there may be; for each its bit in the mask of those that need a gradient, 0 where there is no
            derivative by it, or -1 where ``record`` is to refuse it.
    """

    __slots__ = ("plans", "plan_of", "special", "slow", "record", "mode", "bits")
    plans: dict
    plan_of: Callable
    special: list
    slow: Callable
    record: Callable
    mode: Any
    bits: bytes

    def __init__(self, plans, plan_of, special, slow, record, mode, bits):
        self.plans, self.plan_of, self.special, self.slow = plans, plan_of, special, slow
        self.record, self.mode, self.bits = record, mode, bits

    def __call__(self, *operands):
        count, bits = len(operands), words_of(self.bits)
        most = bits[0]
        if self.special or not 1 <= count <= most:
            return self.slow(*operands)
        one, other = key_of(operands[0]), key_of(operands[count - 1])
        if one is None or other is None:
            return self.slow(*operands)
        if count > 2:
            key: object = tuple([key_of(operands[k]) for k in range(count)])
        elif one is other:
            key = one
        else:
            key = (one, other)
        plan = cast(Plan | None, self.plans.get(key))
        if plan is None:
            plan = cast(Plan | None, self.plan_of(key))
            if plan is None:
                return self.slow(*operands)
        out = fresh(plan, *operands)
        mask = 0
        for k in range(count):
            mask = mask | flows(operands[k]) * bits[1 + k]
        if mask != 0 and recording(self.mode):
            records: list = cast(ElementwisePlan, plan).records
            recorder = self.record if mask < 0 else records[mask]
            recorder(plan, out, *operands)
        return out


@entry
def apart(x, y) -> bool:
    """Whether a write to x surely leaves alone what is still to be read of y: as in tensors/overlap.py, for usual cases."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor) or not hasattr(x, "layout") or not hasattr(y, "layout"):
        raise TypeError(NO_TENSOR)
    return lie_apart(x, y)


@native(inline=True)
def lie_apart(x: Tensor, y: Tensor) -> bool:
    """They are one tensor, the same part of one array, parts without gaps that do not meet, or arrays that own their memory."""
    if x is y:
        return True
    one, other = x._storage_.array, y._storage_.array
    if one is not other:
        return owns_memory(one) and owns_memory(other)
    if x.layout is y.layout and int(x._offset_) == int(y._offset_):
        return True
    if x.layout.dense is not True or y.layout.dense is not True:
        return False
    return end_of(x) <= int(y._offset_) or end_of(y) <= int(x._offset_)


@native(inline=True)
def end_of(x: Tensor) -> int:
    """The first byte of its array behind a tensor without gaps."""
    layout: Layout = x.layout
    dtype: DType = layout.dtype
    return int(x._offset_) + int(layout.numel) * int(dtype.itemsize)


@bound
class Writer:
    """``write(x, *others)``: x, overwritten.

    Attributes:
        plans: by a tuple of layouts and types of Python numbers.
        slow: ``slow(x, *others)`` for whatever has no plan, or may share memory at another place.
        recorded: ``recorded(plan, mask, x, *others)``, the write where operands need a gradient and this thread records.
        mode: the thread's modes.
        bits: as those of a ``Caller``; an operand whose bit is -1 goes to ``slow``.
    """

    __slots__ = ("plans", "special", "slow", "recorded", "mode", "bits")
    plans: dict
    special: list
    slow: Callable
    recorded: Callable
    mode: Any
    bits: bytes

    def __init__(self, plans, special, slow, recorded, mode, bits):
        self.plans, self.special, self.slow, self.recorded = plans, special, slow, recorded
        self.mode, self.bits = mode, bits

    def __call__(self, *operands):
        count, bits = len(operands), words_of(self.bits)
        most = bits[0]
        if self.special or not 1 <= count <= most:
            return self.slow(*operands)
        x = operands[0]
        if not isinstance(x, Tensor) or not hasattr(x, "layout"):
            return self.slow(*operands)
        if x._storage_.writable is not True or x.layout.expanded is not False:
            return self.slow(*operands)
        mask = flows(x) * bits[1]
        for k in range(1, count):
            y = operands[k]
            if isinstance(y, Tensor):
                if not hasattr(y, "layout") or not lie_apart(x, y):
                    return self.slow(*operands)
                mask = mask | flows(y) * bits[1 + k]
        plan: Plan | None = self.plans.get(tuple([key_of(operands[k]) for k in range(count)]))
        if plan is None:
            return self.slow(*operands)
        if mask != 0 and of_thread(self.mode).get("enabled") is not False:
            if mask < 0:
                return self.slow(*operands)
            return self.recorded(plan, mask, *operands)
        # A kernel reads all operands, or, if it has one pointer for result and first operand, the others.
        into(plan, x, *operands[count - len(plan.layouts) :])
        return x


@bound
class Differentiator:
    """``backward(node, g, create_graph)`` of an elementwise rule, or of a part of it.

    Attributes:
        words: number of saved values, index of the subset, number of results, or 0 where they are what the kernel returns, number
            of those that the kernel computes, whether steps by calls would be rounded in half types; for each saved value its slot
            and its version's, whether it is a number, and what it is: -1: the result, else 1 + its edge, 0: it has none; for each
            result which of the kernel's it is (-1: the cotangent itself; -2: None).
        unpack: ``unpack(node, k)``, the k-th saved value where it is not at the version that was noted.
        require_history: ``require_history(node, edge, x)``, asked about operands without one where derivatives are recorded.
        output: ``output(node, saved)``: the result with its history.
        symbolic: ``symbolic(g, *saved)``, the formulas by calls.
        by_calls: ``by_calls(node, g, *saved)``: the same where operands were broadcast or converted, in half types, and for
            marked cotangents, of which kernels know nothing.
        plan: ``plan(node, g, saved)`` of the kernel for such a cotangent and saved values.
        reduce: ``reduce(plan, results)``, where operands were broadcast or converted.
    """

    __slots__ = ("words", "unpack", "require_history", "output", "symbolic", "by_calls", "plan", "reduce")
    words: bytes
    unpack: Callable
    require_history: Callable
    output: Callable
    symbolic: Callable
    by_calls: Callable
    plan: Callable
    reduce: Callable

    def __init__(self, words, unpack, require_history, output, symbolic, by_calls, plan, reduce):
        self.words, self.unpack, self.require_history, self.output = words, unpack, require_history, output
        self.symbolic, self.by_calls, self.plan, self.reduce = symbolic, by_calls, plan, reduce

    def __call__(self, node: Node, g, create):
        """What is usual, at once; anything else, ``in_full``."""
        plan: ElementwisePlan = node._plan_
        if create is not False or plan.reduced is not False or not isinstance(g, Tensor):
            return self.in_full(node, g, create)
        facts = words_of(self.words)
        saved = facts[0]
        out = None
        if facts[3] != 0:
            subsets: list = plan.backs
            backs: dict | None = subsets[facts[1]]
            if backs is None:
                return self.in_full(node, g, create)
            back: Plan | None = backs.get(g.layout)
            if back is None:
                return self.in_full(node, g, create)
            if saved == 0:
                out = fresh(back, g)
            elif saved == 1:
                first = kept_value(node, facts, 0)
                if first is None:
                    return self.in_full(node, g, create)
                out = fresh(back, g, first)
            elif saved == 2:
                second = kept_value(node, facts, 0)
                third = kept_value(node, facts, 1)
                if second is None or third is None:
                    return self.in_full(node, g, create)
                out = fresh(back, g, second, third)
            else:
                values = tuple([kept_value(node, facts, k) for k in range(saved)])
                for value in values:
                    if value is None:
                        return self.in_full(node, g, create)
                out = fresh(back, g, *values)
            if facts[2] == 0:
                return out
        return placed(facts, g, out)

    @native(cold=True)
    def in_full(self, node: Node, g, create):
        """The cotangents of operands, whoever looks and whatever was saved."""
        plan: ElementwisePlan = node._plan_
        facts, values, noted = words_of(self.words), [], True
        for k in range(facts[0]):
            value = kept_value(node, facts, k)
            if value is None:
                value = self.unpack(node, k)
                noted = False
            values.append(value)
        saved = as_tuple(values)
        if create is not False:
            return self.by_formulas(node, g, saved)
        if not isinstance(g, Tensor):
            raise TypeError(NO_TENSOR)
        out = None
        if facts[3] != 0:
            back: Plan | None = None
            subsets = plan.backs
            if noted and isinstance(subsets, list):
                backs: dict | None = subsets[facts[1]]
                if backs is not None:
                    back = backs.get(g.layout)
            if back is None:
                if g.layout.special is not False or any_marked(saved):
                    return self.by_calls(node, g, *saved)
                back = self.plan(node, g, saved)
            out = fresh(cast(Plan, back), g, *saved)
        results = placed(facts, g, out)
        if plan.reduced is False:
            return results
        return self.reduce(plan, results)

    @native(cold=True)
    def by_formulas(self, node: Node, g, saved: tuple):
        """The cotangents of operands by operations, which are recorded in turn."""
        facts, values = words_of(self.words), []
        plan: ElementwisePlan = node._plan_
        compute: DType = plan.compute
        simple = plan.reduced is False and (facts[4] == 0 or compute.compute is compute.name)
        if isinstance(g, Tensor) and g.layout.special is not False:
            simple = False  # of a graph that is captured, whose results lie as kernels would leave them
        for k in range(facts[0]):
            value, what = saved[k], facts[8 + 4 * k]
            if what > 0:
                if cast(Tensor, value)._needs_grad_ is False:
                    self.require_history(node, what - 1, value)
            elif what < 0 and simple:
                value = self.output(node, value)
            values.append(value)
        if simple:
            return self.symbolic(g, *as_tuple(values))
        return self.by_calls(node, g, *saved)


@native(cold=True)
def any_marked(saved: tuple) -> bool:
    """Whether a saved value is a tensor that needs an interpreter: kernels read none."""
    for value in saved:
        if isinstance(value, Tensor) and value.layout.special is not False:
            return True
    return False


@native
def placed(facts: Words, g, out):
    """The results, some of which a kernel computed."""
    results = facts[2]
    if results == 0:
        return out
    if results == 1:
        return g  # the one result is the cotangent
    parts = 5 + 4 * facts[0]
    return tuple([chosen(facts[parts + k], g, out, facts[3]) for k in range(results)])


@native(borrows=True)
def kept_value(node: Node, facts: Words, k: int):
    """A saved value; None where it was freed, or has another version than the one noted."""
    value = get(node, facts[5 + 4 * k])
    if facts[7 + 4 * k] != 0:
        return value
    if not isinstance(value, Tensor) or value._storage_.version is not get(node, facts[6 + 4 * k]):
        return None
    return value


@native(borrows=True)
def chosen(part: int, g, out, computed: int):
    """A result: the cotangent, what a kernel computed, or none."""
    if part == -1:
        return g
    if part < 0:
        return None
    if computed == 1:
        return out
    return cast(tuple, out)[part]
