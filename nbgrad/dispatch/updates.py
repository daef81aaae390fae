"""One kernel from a formula of several results, written over its operands: what an optimizer's step is.

A rule is a plain function ``rule(scalar, *outputs, *inputs, **scalars)`` that returns the outputs' new values; it is run once on
symbols, and the kernel is compiled like any operation's.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import Any, Callable, Sequence

from ..base.dtypes import DType
from ..base.errors import ArgumentError, DeviceError, DTypeError, NotSupportedError, ShapeError
from ..base.grad_mode import traces
from ..modes.numbers import value_of
from ..modes.traced import capture_of_thread
from ..ops.expr import Expr, constant, scalar, symbol
from ..tensors.layout import WRAPPER, DispatchMark, Layout, sparse_marks
from ..tensors.tensor import Tensor
from ..views import check_inplace
from .formulas import Formula
from .launches import into
from .plans import elementwise_plan

__all__ = [
    "changing",
    "followed",
    "fused_update",
    "fused_updates",
    "in_tables",
    "is_exchanged",
    "is_held",
    "step_at_end",
    "steps_ahead",
    "together_plan",
]

Row = tuple[Sequence[Tensor], Sequence[Tensor]]


@cache
def formula_of(rule: Callable, outputs: int, inputs: int, scalars: tuple[str, ...]) -> Formula:
    """The rule on symbols."""
    names = [*(f"o{k}" for k in range(outputs)), *(f"i{k}" for k in range(inputs)), *scalars]
    values = [symbol(name) for name in names]
    tensors = values[: outputs + inputs]
    results = rule(scalar, *tensors, **dict(zip(scalars, values[outputs + inputs :])))
    results = results if isinstance(results, tuple) else (results,)
    if len(results) != outputs:
        raise ArgumentError(f"fused_update: {rule.__name__} returned {len(results)} values for {outputs} outputs.")
    name = "".join(c if c.isalnum() else "_" for c in rule.__name__)
    return Formula(name, tuple((name, False) for name in names), tuple(r if isinstance(r, Expr) else constant(r) for r in results))


def fused_update(
    rule: Callable,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor] = (),
    scalars: dict[str, float] | None = None,
    singles: tuple[str, ...] = (),
    compute: DType | None = None,
) -> None:
    """Write ``rule(scalar, *outputs, *inputs, **scalars)`` over ``outputs``, in one pass over memory.

    Args:
        rule: formula of numbers; ``scalar`` holds functions (``scalar.sqrt``, ``scalar.where``, ...). Kernels are kept by it.
        outputs: tensors of one shape and dtype; read, then overwritten; their versions move.
        inputs: tensors of that shape.
        scalars: numbers that may change from call to call.
        singles, compute: as of ``fused_updates``.

    Raises:
        ShapeError, DTypeError: the tensors do not go together. InplaceError: an output cannot be written.

    >>> import nbgrad
    >>> p, g = nbgrad.ones(3), nbgrad.ones(3)
    >>> fused_update(lambda scalar, p, g, lr: p - lr * g, [p], [g], {"lr": 0.5})
    >>> p
    tensor([0.5000, 0.5000, 0.5000])
    """
    scalars = scalars or {}
    captured = capture_of_thread() if traces else None
    if captured is not None:
        captured.update(
            rule,
            outputs,
            inputs,
            scalars,
            lambda: run_update(rule, outputs, inputs, values_in(scalars), singles, compute),
            singles,
            compute,
        )
    else:
        run_update(rule, outputs, inputs, scalars, singles, compute)


def in_tables(x: Tensor) -> bool:
    """Whether many tensors like this one are updated, or folded, in few launches: on a GPU, where no graph is captured by calls."""
    mark = x.layout.special
    return x.layout.memory is not None and not traces and mark not in sparse_marks and mark is not WRAPPER


def fused_updates(
    rule: Callable,
    rows: Sequence[Row],
    scalars: dict[str, Any],
    together: bool | None = None,
    singles: tuple[str, ...] = (),
    compute: DType | None = None,
) -> None:
    """``fused_update`` of many outputs and inputs by the same scalars; on a GPU in few launches.

    Args:
        rows: outputs and inputs of each.
        together: False: one launch for each, in their order, on a GPU too.
        scalars: numbers; for outputs on a GPU also tensors of one element there, which are read by it alone.
        singles: names of scalars that differ from row to row: such tensors, the last of each row's inputs.
        compute: the dtype of computation; None: the outputs'.

    Raises:
        As ``fused_update``. DeviceError: the tensors of a row are on several devices.
    """
    captured = bool(traces) and capture_of_thread() is not None
    there = list[Row]()
    for outs, ins in rows:
        if outs[0].layout.memory is not None:
            there.append((outs, ins))
        elif captured:
            fused_update(rule, outs, ins, scalars)
        else:
            run_update(rule, outs, ins, scalars)
    if there:
        update_there(rule, there, scalars, together, singles, compute)


def update_there(
    rule: Callable, rows: list[Row], scalars: dict[str, Any], together: bool | None, singles: tuple[str, ...], compute: DType | None
) -> None:
    """``fused_updates`` of rows on GPUs; a captured program joins them itself (jit/execution/multi_tensor_updates.py)."""
    held = {name: x for name, x in scalars.items() if is_held(x)}
    if held:
        scalars, singles = {name: x for name, x in scalars.items() if name not in held}, (*singles, *held)
        rows = [(outs, (*ins, *held.values())) for outs, ins in rows]
    if together is not False and not (traces and capture_of_thread() is not None):
        run_together(rule, rows, scalars, singles, compute)
        return
    for outs, ins in rows:
        fused_update(rule, outs, ins, scalars, singles, compute)


def is_held(x: Any) -> bool:
    """Whether a number of an update is kept on a GPU."""
    return isinstance(x, Tensor) and x.layout.memory is not None


def run_together(
    rule: Callable, rows: list[Row], scalars: dict[str, float], singles: tuple[str, ...], compute: DType | None
) -> None:
    """The same on GPUs."""
    outputs, inputs = (len(part) for part in rows[0])
    tensors = [(*outs, *ins) for outs, ins in rows]
    layouts = tuple([tuple([x.layout for x in row]) for row in tensors])
    launches, alone = together_plan(rule, outputs, inputs, singles, tuple(scalars), compute, layouts)
    if launches and share_memory(rows):
        launches, alone = [], range(len(rows))
    numbers = scalars.values()
    for write, members, _ in launches:
        outs = [x for k in members for x in tensors[k][:outputs]]
        for x in outs:
            if not x._storage_.writable or x.layout.expanded:
                check_inplace("fused_update", x, False)
        write(*outs, *numbers, *[x for k in members for x in tensors[k][outputs:]])
    for k in alone:
        written, read = rows[k]
        run_update(rule, written, read, scalars, singles, compute)


def share_memory(rows: list[Row]) -> bool:
    """Whether one row may write what another one reads or writes."""
    written = [x._storage_.array for outs, _ in rows for x in outs]
    apart = set(written)
    return len(apart) < len(written) or not apart.isdisjoint([x._storage_.array for _, ins in rows for x in ins])


@lru_cache(maxsize=256)
def together_plan(
    rule: Callable,
    outputs: int,
    inputs: int,
    singles: tuple[str, ...],
    scalars: tuple[str, ...],
    compute: DType | None,
    layouts: tuple[tuple[Layout, ...], ...],
) -> tuple[Any, Any]:
    """The launches of many rows, and the rows that are alone."""
    from .device_multi_tensor import table_launches

    for row in layouts:
        check_layouts(row, outputs, len(singles))
    formula = formula_of(rule, outputs, inputs - len(singles), (*singles, *scalars))
    return table_launches(formula, outputs, inputs, len(singles), compute, layouts)


def values_in(scalars: dict[str, float]) -> dict[str, float]:
    """The numbers, those too that a capture follows."""
    return {name: value_of(x) for name, x in scalars.items()}


def changing(numbers: Callable[[], dict[str, float]], options: dict[str, Any] | None = None) -> dict[str, float]:
    """``numbers()``, the scalars of an update.

    NOTE [Numbers of updates]: a captured program computes them again in every run, before it begins, from what the ``options`` hold
    then. Where the function has set one of these itself, that one is of the program: a constant of it, or a number that it follows,
    and so is what is computed of it. The others are what the program depends on in that case, and where one is a tensor on a GPU,
    whose value a program reads as it reads others.
    """
    captured = capture_of_thread() if traces else None
    if captured is None or is_exchanged(options) or (options is not None and any(map(is_held, options.values()))):
        return numbers()
    return captured.changing(numbers)


def is_exchanged(options: dict[str, Any] | None) -> bool:
    """Whether a function that is captured has set one of the options of an optimizer before this step."""
    captured = capture_of_thread() if traces else None
    return captured is not None and options is not None and captured.is_exchanged(options)


def followed(number: Callable[[], float]) -> Any:
    """``number()``, which a program that is captured computes again before every run, as a number that it follows."""
    captured = capture_of_thread()
    return captured.followed(number)


def steps_ahead(state: dict[str, Any]) -> int:
    """How many steps a captured program has taken of a state which it counts at its end."""
    captured = capture_of_thread() if traces else None
    return 0 if captured is None else captured.ahead.get(id(state), 0)


def count_step(states: list[dict[str, Any]]) -> None:
    """A step was taken."""
    for state in states:
        state["step"] += 1


def step_at_end(states: list[dict[str, Any]], count: Callable[[list[dict[str, Any]]], None] = count_step) -> None:
    """A captured program has taken a step of these states, which it counts at its end by ``count(states)``."""
    captured = capture_of_thread()
    for state in states:
        captured.ahead[id(state)] = captured.ahead.get(id(state), 0) + 1
    captured.after_runs(partial(count, states))


def run_update(
    rule: Callable,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    scalars: dict[str, float],
    singles: tuple[str, ...] = (),
    compute: DType | None = None,
) -> None:
    """``fused_update`` where no graph is captured; ``singles``, ``compute``: as of ``fused_updates``."""
    tensors = (*outputs, *inputs)
    plan = update_plan(rule, len(outputs), tuple([x.layout for x in tensors]), tuple(scalars), True, singles, compute)
    for x in outputs:
        if not x._storage_.writable or x.layout.expanded:
            check_inplace("fused_update", x, False)
    count = len(outputs)
    rest = (*tensors[len(tensors) + len(scalars) - len(plan.layouts) :], *scalars.values())
    into(plan, *tensors[:count], *rest)


@lru_cache(maxsize=1024)
def update_plan(
    rule: Callable,
    outputs: int,
    layouts: tuple[Layout, ...],
    scalars: tuple[str, ...],
    inplace: bool = True,
    singles: tuple[str, ...] = (),
    compute: DType | None = None,
):
    """The plan of one update; if not ``inplace``, into new tensors of the layouts of the outputs."""
    first = layouts[0]
    check_layouts(layouts, outputs, len(singles))
    if first.memory is None and any(layout.dtype is not first.dtype for layout in layouts[:outputs]):
        raise DTypeError(f"fused_update: outputs of dtypes {[layout.dtype.name for layout in layouts[:outputs]]} differ.")
    formula = formula_of(rule, outputs, len(layouts) - outputs - len(singles), (*singles, *scalars))
    outs = layouts[:outputs]
    same = all(layout.strides == first.strides for layout in outs)
    operands = (*layouts, *(None for _ in scalars))
    return elementwise_plan(formula, compute or first.dtype, operands, outs, inplace=outputs if same and inplace else 0)


def check_layouts(layouts: tuple[Layout, ...], outputs: int, singles: int) -> None:
    """Refuse tensors of an update that do not go together.

    Raises:
        DeviceError: they are on several devices. ShapeError: they have several shapes. NotSupportedError: one is sparse.
    """
    first = layouts[0]
    for k, layout in enumerate(layouts):
        if isinstance(layout.special, DispatchMark):
            raise NotSupportedError(
                f"fused_update: {'output' if k < outputs else 'input'} is a tensor whose class has __torch_dispatch__, expected "
                "one with elements. Hint: an optimizer of update rules, such as SGD or Adam."
            )
        if layout.special in sparse_marks:
            what = f"output {k}" if k < outputs else f"input {k - outputs}"
            raise NotSupportedError(f"fused_update: {what} is a sparse tensor, expected a dense one. Hint: x.to_dense().")
        if layout.device is not first.device:
            what = f"output {k}" if k < outputs else f"input {k - outputs}"
            raise DeviceError(
                f"fused_update: output 0 is on {first.device}, {what} on {layout.device}; expected one device. "
                "Hint: move one with x.to(device)."
            )
    if any(layout.shape != first.shape for layout in layouts[: len(layouts) - singles]):
        raise ShapeError(f"fused_update: shapes {[list(layout.shape) for layout in layouts]} differ.")
