"""Plans of elementwise expressions on operands of any layouts: which kernel, and the numbers that it is called with.

NOTE [Two levels]: calls find plans by the exact layouts of their operands (dispatch/elementwise.py). Plans find kernels by *kind*:
expressions, dtypes, which operands are single elements. So a shape that is new takes a new plan, which is a few integers, and no
new kernel.
"""

from __future__ import annotations

import math
import sys
from functools import cache
from typing import TypeVar

from ..base import config
from ..base.dtypes import WIDTHS, DType, bool_
from ..base.errors import DeviceError, KernelError
from ..kernels.codegen import guard_functions, runs_abreast, scalar_function
from ..kernels.convert import conversion, rounding
from ..kernels.cpu.build import Program, address
from ..kernels.late import Code, late
from ..kernels.templates.elementwise import elementwise_loop
from ..kernels.templates.iterate import DIRECT, LONG_ROW, ROW, ROW_SINGLE, SINGLE, STRIDED, collapse, iterate, iteration_words
from ..kernels.templates.turned import LEAST, MOST_OPERANDS, turned_words
from ..native.plans import NUMBER_CODES, PARALLEL, LateRecord, Plan, pack_record
from ..ops.core import OPS
from ..ops.expr import postorder
from ..tensors.layout import Layout, common_strides, layout_of
from .formulas import Formula, is_single

__all__ = ["elementwise_plan", "result_layout", "Formula"]

P = TypeVar("P", bound=Plan)

# Serial time, in ns, from which waking the pool pays (benchmarks/test_kernels.py), and of the share claimed at once.
PARALLEL_FROM = 60_000.0
GRAIN = 15_000.0


@cache
def elementwise_program(
    formula: Formula, dtype: str, singles: tuple[bool, ...], inplace: int = 0, by_rows: bool = False
) -> Program:
    """The kernel of ``formula`` for contiguous operands, at a dtype of computation.

    Args:
        singles: for every operand whether it is one element for all positions, or for those of a row.
        inplace: so many outputs are the first operands, passed once.
        by_rows: a unit is a row (templates/elementwise.py), and results share no memory with operands.
    """
    function = scalar_function(formula.name, formula.params, formula.results, dtype)
    outs = tuple("bool" if predicate else dtype for predicate in formula.predicates)
    ins = tuple(("bool" if boolean else dtype, single) for (_, boolean), single in zip(formula.params, singles))
    guards = guard_functions(formula.name, formula.params, formula.results, dtype)
    abreast = not by_rows and runs_abreast(formula.results, dtype)
    loop = elementwise_loop(outs, ins, inplace, next(iter(guards), ""), by_rows, abreast)
    return Program(formula.name, loop, dtype, tuple({"scalar": function, **guards}.items()), False, by_rows)


@cache
def elementwise_kernel(formula: Formula, dtype: str, singles: tuple[bool, ...], inplace: int = 0, by_rows: bool = False) -> int:
    """Address of the kernel: see ``elementwise_program``."""
    return address(elementwise_program(formula, dtype, singles, inplace, by_rows))


elementwise_code = late(elementwise_kernel)


@cache
def cost(formula: Formula, dtype: str) -> float:
    """Rough serial time of one element, in ns: memory traffic, and 0.3 ns for a float32 function that is not arithmetic."""
    wide = WIDTHS[dtype] / 4
    calls = sum(
        node.op not in ("symbol", "constant") and not (node.op in OPS and OPS[node.op].cheap) for node in postorder(formula.results)
    )
    return wide * (0.08 * (len(formula.params) + len(formula.results)) + 0.3 * calls)


def thread_shares(nanoseconds: float) -> tuple[int, int]:
    """How many elements a thread claims at once, and from how many on threads share a launch; each takes ``nanoseconds``."""
    return max(4096, int(GRAIN / nanoseconds) // 512 * 512), math.ceil(PARALLEL_FROM / nanoseconds)


@late
def iterator() -> int:
    """Address of the strided iterator."""
    from ..kernels.templates.iterate import convert, locate, move, walk

    return address(Program("iteration", iterate, None, (("move", move), ("walk", walk), ("convert", convert), ("locate", locate))))


@late
def turner() -> int:
    """Address of the iterator by tiles."""
    from ..kernels.templates.iterate import convert, locate, move
    from ..kernels.templates.turned import copy_tile, squares, turned

    bindings = (("move", move), ("convert", convert), ("locate", locate), ("copy_tile", copy_tile), ("squares", squares))
    return address(Program("turned iteration", turned, None, bindings))


def result_layout(dtype: DType, shape: tuple[int, ...], operands: list[Layout]) -> Layout:
    """Row-major, or the order in which the operands go through memory, as torch's elementwise operations."""
    first = operands[0]
    if first.contiguous and first.shape == shape or all(layout.contiguous for layout in operands):
        return layout_of(dtype, shape, None, first.device)
    return layout_of(dtype, shape, common_strides(shape, operands), first.device)


def elementwise_plan(
    formula: Formula,
    compute: DType,
    operands: tuple[Layout | None, ...],
    outs: tuple[Layout, ...],
    inplace: int = 0,
    plan_type: type[P] = Plan,  # type: ignore[assignment]
    exact: tuple[str, ...] | None = None,
) -> P:
    """The launch of ``formula`` on operands of these layouts (None for a Python number) into ``outs``.

    Args:
        compute: dtype of computation; operands and results of other dtypes are converted.
        outs: layouts of the results, all of one shape, to which the operands broadcast.
        inplace: so many results are written over the first operands.
        exact: where kernels compute in a wider type than ``compute``, a half type, numbers and operands of other dtypes are
            rounded to ``compute`` before, and results after; but numbers and zero-dim tensors not for these operands. None:
            nothing is.
    """
    dtype, first = compute.compute, outs[0]
    if first.memory is not None:
        from .device_plans import elementwise_on_device

        return elementwise_on_device(formula, compute, operands, outs, inplace, plan_type, exact)
    for x in operands:
        if x is not None and x.memory is not None:
            raise DeviceError(f"{formula.name}: one operand is on cpu, another on {x.device}. Hint: move one with x.to(device).")
    results, wanted = element_types(formula, compute)
    many = first.numel != 1
    singles = tuple([x is None or (many and is_single(x)) for x in operands])
    # A sum of truth values is one; as a number it may be 2.
    widened = compute is bool_ and first.dtype is not bool_ and results[0] == dtype
    direct = (
        not widened
        and False not in [_writes_directly(out, name, first) for out, name in zip(outs, results)]
        and False
        not in [x is None or _reads_directly(x, single, name, first) for x, single, name in zip(operands, singles, wanted)]
    )
    templates = tuple([out.template for out in outs])
    if config.DEBUG >= 2:
        how = "direct" if direct else "iterated"
        print(f"nbgrad:   plan {formula.name} in {dtype}: {how}, {first.numel} elements", file=sys.stderr)
    numbers = tuple([x is None for x in operands])
    if direct:
        return plan_type(direct_record(formula, dtype, numbers, singles, inplace), templates, operands[inplace:])
    grain, shared_from = thread_shares(cost(formula, dtype) + 0.5)
    half = compute.name if exact is not None and compute.compute != compute.name else ""
    whole = {k for k, (name, _) in enumerate(formula.params) if name in exact} if half and exact else set()
    walk, tiles, params = _iteration(formula, dtype, operands, outs, singles, wanted, half, whole)
    units, flags = -1, 0
    if tiles is not None:
        units, elements = tiles
        grain, flags = max(1, grain // elements), PARALLEL if units * elements >= shared_from else 0
    record = pack_record(walk, units, grain, len(outs), number_codes(formula, numbers, dtype), flags, params, shared_from)
    return plan_type(record, templates, operands)


@cache
def element_types(formula: Formula, compute: DType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the kernel writes and reads: the dtype of computation, bool for truth values.

    Conversion to bool asks whether a number is not 0; it does not keep the low byte.
    """
    dtype = compute.compute
    return (
        tuple("bool" if predicate else dtype for predicate in formula.predicates),
        tuple("bool" if boolean or compute is bool_ else dtype for _, boolean in formula.params),
    )


def number_codes(formula: Formula, numbers: tuple[bool, ...], dtype: str) -> tuple[int, ...]:
    """How the operands are passed: a Python number as the dtype of computation, a truth value as an integer (its low byte)."""
    kinds = ("int64" if boolean else dtype for _, boolean in formula.params)
    return tuple(NUMBER_CODES[kind] if number else 0 for number, kind in zip(numbers, kinds))


def direct_record(formula: Formula, dtype: str, numbers: tuple[bool, ...], singles: tuple[bool, ...], inplace: int) -> bytes:
    """The record of a launch on memory as it lies: the same for every shape."""
    record = first_record(formula, dtype, numbers, singles, inplace)
    return record.packed or record if type(record) is LateRecord else record


@cache
def first_record(formula: Formula, dtype: str, numbers: tuple[bool, ...], singles: tuple[bool, ...], inplace: int) -> bytes:
    """The same, as it was at the first time."""
    grain, shared_from = thread_shares(cost(formula, dtype))
    codes = number_codes(formula, numbers, dtype)[inplace:]
    return pack_record(
        elementwise_code(formula, dtype, singles, inplace), -1, grain, len(formula.results), codes, 0, b"", shared_from
    )


def _writes_directly(out: Layout, name: str, first: Layout) -> bool:
    """Whether a kernel may write elements of type ``name`` to a result's memory in the order of the first result's."""
    return out.dense and out.strides == first.strides and out.dtype.name == name and not (out.conj or out.neg)


def _reads_directly(layout: Layout, single: bool, name: str, out: Layout) -> bool:
    """Whether a kernel for elements of type ``name`` may read the operand's memory in the order of ``out``'s."""
    if layout.conj or layout.neg or not _same_bits(layout.dtype.name, name):
        return False
    return single or (layout.shape == out.shape and (layout.strides == out.strides or (layout.contiguous and out.contiguous)))


def lazy_bits(layout: Layout) -> str:
    """The lazy bits of a layout by name: a conversion on the way in and out, like that between dtypes; "" for none."""
    return ("conj" if layout.conj else "") + ("neg" if layout.neg else "")


def _same_bits(memory: str, name: str) -> bool:
    """Whether a kernel reads ``memory`` as ``name`` without conversion: truth values are the integers 0 and 1."""
    return memory == name or (memory == "bool" and name == "uint8")


def _iteration(
    formula, dtype, operands, outs, singles, wanted, half: str, whole: set[int]
) -> tuple[int | Code, tuple[int, int] | None, list[int | Code]]:
    """The iterator; where it goes by tiles, how many there are, of how many elements; and its words: how it reaches every operand.

    Args:
        half: the half type that numbers become before they are computed with; "" for none.
        whole: the operands of which single numbers do not.
    """
    shape = outs[0].shape
    ndim = len(shape)
    layouts = [*outs, *operands]
    names = [("bool" if p else dtype) for p in formula.predicates] + list(wanted)
    itemsizes = [layout.dtype.itemsize if layout is not None else 0 for layout in layouts]
    strides = [_byte_strides(layout, ndim) if layout is not None else (0,) * ndim for layout in layouts]
    if not outs[0].contiguous:  # walk in the memory order of the first result
        order = sorted(range(ndim), key=lambda d: (-abs(strides[0][d]), d))
        shape, strides = tuple([shape[d] for d in order]), [tuple([s[d] for d in order]) for s in strides]
    sizes, steps = collapse(shape, strides)
    if len(sizes) > 60:
        raise KernelError(f"{formula.name}: {len(sizes)} dimensions; at most 60 can be walked.")
    by_rows = len(sizes) > 1 and sizes[-1] >= LONG_ROW
    entries = []
    for k, layout in enumerate(layouts):
        width = 1 if names[k] == "bool" else WIDTHS[names[k]]
        rounded = half and names[k] == dtype and (half != "bool" or k < len(outs))
        if rounded and k - len(outs) in whole and (layout is None or not layout.ndim):
            rounded = False
        if layout is None:
            entries.append((width, width, rounding(dtype, half, dtype) if rounded else 0, SINGLE))
            continue
        memory = layout.dtype.name
        is_out = k < len(outs)
        cast: Code | int = 0
        if is_out:
            cast = rounding(dtype, half, memory, lazy_bits(layout)) if rounded else conversion(names[k], memory, lazy_bits(layout))
        elif rounded:
            cast = rounding(memory, half, dtype, lazy_bits(layout))
        elif lazy_bits(layout) or not _same_bits(memory, names[k]):
            cast = conversion(memory, names[k], lazy_bits(layout))
        inner = steps[k][-1]
        if not is_out and singles[k - len(outs)]:
            how = SINGLE
        elif by_rows and not cast and (inner == itemsizes[k] or (inner == 0 and not is_out)):
            how = ROW if inner else ROW_SINGLE
        else:
            row_major, step = True, itemsizes[k]
            for size, stride in zip(reversed(sizes), reversed(steps[k])):
                row_major, step = row_major and stride == step, step * size
            how = DIRECT if row_major else STRIDED
        entries.append((itemsizes[k], width, cast, how))
    rows = turned_rows(len(outs), [(size, how == SINGLE) for size, _, _, how in entries], sizes, steps)
    if rows is not None:
        code = elementwise_code(formula, dtype, singles)
        taken = [(size, width, cast, how == SINGLE) for size, width, cast, how in entries]
        units, elements, words = turned_words(code, len(outs), taken, sizes, steps, rows)
        return turner(), (units, elements), words
    code = elementwise_code(formula, dtype, tuple([how in (SINGLE, ROW_SINGLE) for _, _, _, how in entries[len(outs) :]]))
    return iterator(), None, iteration_words(code, len(outs), entries, sizes, steps)


def turned_rows(outs: int, operands: list[tuple[int, bool]], sizes: tuple[int, ...], steps: list[tuple[int, ...]]) -> int | None:
    """The dimension along which an operand is contiguous that is not so along the last one; None where no operand is turned.

    Args:
        operands: bytes of an element, and whether it is a single one; results first.
    """
    last = len(sizes) - 1
    if last < 1 or sizes[last] < LEAST or len(operands) > MOST_OPERANDS:
        return None
    for (size, single), own in list(zip(operands, steps))[outs:]:
        if not single and abs(own[last]) > size:
            for d in range(last):
                if own[d] == size and sizes[d] >= LEAST:
                    return d
    return None


def _byte_strides(layout: Layout, ndim: int) -> tuple[int, ...]:
    """Strides in bytes of an operand that broadcasts to ``ndim`` dimensions."""
    width = layout.dtype.itemsize
    own = [0 if size == 1 else step * width for size, step in zip(layout.shape, layout.strides)]
    return (*(0,) * (ndim - layout.ndim), *own)
