"""The interpreter of rank "batching": by which rule a call with batched operands runs."""

from __future__ import annotations

from typing import Any, Callable, Iterable

from ..base.calls import CALLS
from ..base.errors import InplaceError
from ..base.grad_mode import dual_levels
from ..dispatch.operands import check_kinds, dtype_of_kinds, kinds_of
from ..dispatch.out import write_out
from ..dispatch.writes import require_fit
from ..modes.batched import Batched, wrap_batched
from ..modes.interpreters import Call, register
from ..ops.core import Elementwise
from ..tensors.tensor import Tensor
from .tensors import Batch, exposed, has_batched, levels_of

__all__ = ["RULES", "batch_kind", "batch_rule", "batching_rule", "looped"]


BatchRule = Callable[[Call, Batch], Any]

# The rules of single operations; of the others those of kinds, by ``Op.batched``.
RULES: dict[str, BatchRule] = {}
RULE_OF_KIND: dict[str, BatchRule] = {}


def batch_rule(*names: str) -> Callable[[BatchRule], BatchRule]:
    """Register the decorated ``rule(call, batch)`` of operations: the result, batched over ``batch.levels``."""

    def register_rule(rule: BatchRule) -> BatchRule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register_rule


def batch_kind(*kinds: str) -> Callable[[BatchRule], BatchRule]:
    """Register the decorated rule for operations of such kinds."""

    def register_rule(rule: BatchRule) -> BatchRule:
        RULE_OF_KIND.update(dict.fromkeys(kinds, rule))
        return rule

    return register_rule


def batching_rule(op: Any) -> BatchRule:
    """The batching rule of an operation."""
    return RULES.get(op.name) or RULE_OF_KIND[op.batched]


class Batching:
    """The interpreter of calls with batched operands."""

    def concerns(self, call: Call) -> bool:
        """Whether an operand is batched, or an attribute (an index)."""
        return call.marked and (has_batched(call.operands) or has_batched(call.attributes.values()) or type(call.out) is Batched)

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The rule of the operation or of its kind."""
        if call.form == "out":
            return write_out(call.op.public, lambda: CALLS[call.op.name](*call.operands), call.out)
        batch = Batch(levels_of((*call.operands, *call.attributes.values())))
        if dual_levels:
            call = call.with_operands(call.map(lambda x: exposed(x, batch.levels)))
        if call.form and not isinstance(call.op, Elementwise):
            return write_batched(call, batch)
        return batching_rule(call.op)(call, batch)


register("batching", Batching())


@batch_kind("elementwise")
def elementwise(call: Call, batch: Batch) -> Any:
    """Broadcast: the batch is in front of everything."""
    operands, ndim = call.operands, 0
    for x in operands:
        if isinstance(x, Tensor):
            ndim = max(ndim, x.layout.ndim)
        elif isinstance(x, (tuple, list)):
            check_kinds(call.op, kinds_of(operands))  # type: ignore[arg-type]
    given = operands if len(operands) == 1 else promoted(call.op, operands)
    aligned = [batch.loose(x, ndim) for x in given]
    if not call.form:
        return wrap_batched(CALLS[call.op.name](*aligned), batch.levels)
    require_target(call, batch)
    if given[0] is operands[0]:
        CALLS[call.op.name + "_"](*aligned)
    else:  # computed in a wider dtype than what it is written to
        out, own = CALLS[call.op.name](*aligned), operands[0].layout
        require_fit(call.op.public + "_", own, own.shape, out.layout.dtype)
        CALLS["copy_"](batch.loose(operands[0], ndim), out)
    return operands[0]


def promoted(op: Any, operands: tuple) -> tuple:
    """The operands, 0-d ones converted where the batch would give them more weight in promotion than they show."""
    layouts = [x.layout for x in operands if isinstance(x, Tensor)]
    if len({layout.dtype for layout in layouts}) == 1 or all(layout.ndim for layout in layouts):
        return operands
    dtype = dtype_of_kinds(op, kinds_of(operands))
    if dtype_of_kinds(op, kinds_of(tuple([x._value_ if type(x) is Batched else x for x in operands]))) is dtype:
        return operands
    return tuple(
        CALLS["to_dtype"](x, dtype) if type(x) is Batched and not x.layout.ndim and name not in op.boolean else x
        for name, x in zip(op.operands, operands)
    )


def require_target(call: Call, batch: Batch) -> None:
    """Refuse to write what differs over the batch into a tensor that does not.

    Raises:
        InplaceError: the tensor that is written to does not depend on all levels of the other operands.
    """
    target = call.operands[0]
    if type(target) is not Batched or target._levels_ != batch.levels:
        raise InplaceError(
            f"{call.op.name}_: vmap: a tensor that is the same for all elements of the batch would become different "
            "ones, because another operand is mapped over and it is not. Hint: use the out-of-place form, or make "
            "the tensor with zeros_like or new_zeros of a mapped one."
        )


def write_batched(call: Call, batch: Batch) -> Any:
    """An in-place form of an operation with a lowering of its own: the result, copied over the first operand."""
    require_target(call, batch)
    plain = Call(call.op, call.operands, call.attributes, call.plain)
    result = batching_rule(call.op)(plain, batch)
    CALLS["copy_"](call.operands[0]._value_, batch.full(result))
    return call.operands[0]


@batch_kind("method")
def method(call: Call, batch: Batch) -> Any:
    """A method of Tensor that the table does not declare."""
    result = call.plain(call.operands[0]._value_)
    return wrap_batched(result, batch.levels) if isinstance(result, Tensor) else result


# ---- a loop over the batch -----------------------------------------------------------------------------------------


@batch_kind("looped")
def looped(call: Call, batch: Batch) -> Any:
    """For operations without a rule: one call for every element of the batch."""
    positions: list[tuple[int, ...] | None] = [*all_positions(batch.sizes)]
    results = [element_result(call, batch, at) for at in positions or [None]]
    if isinstance(results[0], tuple):
        return tuple(stacked(list(each), batch, bool(positions)) for each in zip(*results))
    return stacked(results, batch, bool(positions))


def all_positions(sizes: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """All positions of a batch in row-major order."""
    if not sizes:
        yield ()
        return
    for first in range(sizes[0]):
        for rest in all_positions(sizes[1:]):
            yield (first, *rest)


def element_result(call: Call, batch: Batch, at: tuple[int, ...] | None) -> Any:
    """The call at one position of the batch; without one, on zeros."""

    def element(x: Any) -> Any:
        if type(x) is Batched:
            if at is None:
                return CALLS["new_full"](x.layout.unmarked().like(), 0)
            value = x._value_
            for level in x._levels_:
                value = CALLS["select"](value, 0, at[batch.levels.index(level)])
            return value
        return tuple(map(element, x)) if isinstance(x, (tuple, list)) else x

    return CALLS[call.op.name](*map(element, call.operands), **{name: element(x) for name, x in call.attributes.items()})


def stacked(results: list[Tensor], batch: Batch, any_element: bool) -> Batched:
    """The results of all positions, one behind the other."""
    shape = (*batch.sizes, *results[0].layout.shape)
    if not any_element:
        return wrap_batched(CALLS["new_full"](results[0].layout.like(shape=shape), 0), batch.levels)
    return wrap_batched(CALLS["reshape"](CALLS["stack"](tuple(results), 0), shape), batch.levels)
