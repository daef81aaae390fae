"""Factories of sequences of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import INTEGER, DTypeLike, dtype_of, float64, get_default_dtype, int64, promote_types
from ..base.errors import ArgumentError, ShapeError
from ..base.grad_mode import traces
from ..kernels.cpu.build import Program, address
from ..kernels.templates.sequence import COUNT, LINE, sequence_loop
from ..native.handle import from_blocks
from ..native.plans import NUMBER_CODES, Plan, pack_record
from ..tensors.batch_levels import is_batched
from ..tensors.layout import Layout
from ..tensors.storage import Device, note_made, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .allocation import allocated, host_layout, into, layout_for, leaf
from .casting import moved
from .constants import numbered
from .fitted_numbers import fit_number
from .from_data import there
from .numpy_exchange import from_numpy

__all__ = ["arange", "linspace", "logspace", "python_number"]


PIECE = 1 << 14  # elements of a sequence that are computed at once: they stay in the cache


def python_number(op: str, name: str, value):
    """A number from a number or a tensor of one element.

    Raises:
        ArgumentError: neither. NotSupportedError: a tensor that gradients flow into: what is made of it has no history.
    """
    if isinstance(value, Tensor):
        return value._number_(op, name)
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentError(f"{op}: expected a number, got {type(value).__name__}.")
    return value


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``start, start + step, ...`` up to and without ``end``; ``arange(n)`` counts from 0. int64 if all three are
    integers.

    Raises:
        RangeError: no such sequence: a step of 0 or away from ``end``, or infinite bounds.

    >>> import nbgrad
    >>> nbgrad.arange(1, 8, 3)
    tensor([1, 4, 7])
    """
    if out is not None:
        return into(out, arange, start, end, step, dtype=dtype, device=device)
    if end is None:
        start, end = None, start
    start = 0 if start is None else start
    start, end, step = (python_number("arange", *v) for v in (("start", start), ("end", end), ("step", step)))
    integers = all(isinstance(v, int) for v in (start, end, step))
    if dtype is None:
        dtype = int64 if integers else get_default_dtype()
    dtype = dtype_of(dtype)
    if any(isinstance(v, complex) or not math.isfinite(v) for v in (start, end)):
        raise ShapeError(f"arange: cannot count from {start} to {end}.")
    if isinstance(step, complex) or math.isnan(step):
        raise ShapeError(f"arange: step {step} leads nowhere, expected a real number.")
    if dtype.category == INTEGER and not integers:  # each of them is of the dtype; the elements are whole steps apart
        if 0 < abs(step) < 1:
            raise ShapeError(f"arange: step {step} is 0 as {dtype}. Hint: arange(start, end, step).to(nbgrad.{dtype.name}).")
        start, end, step, integers = int(start), int(end), int(step), True
    if step == 0 or (end - start) * step < 0:
        raise ShapeError(f"arange: step {step} does not lead from {start} to {end}.")
    count = -(-(end - start) // step) if integers else math.ceil((end - start) / step)
    layout = layout_for("arange", (), (count,), dtype, device)
    made = sequence("arange", COUNT, "int64" if integers else "float64", layout, start, step)
    if made is not None:
        return leaf("arange", made, requires_grad, pin_memory)
    out = allocated("arange", host_layout(layout), np.empty)
    # Each element has one rounding, of start + i * step in int64 or float64.
    kind, array = np.int64 if integers else np.float64, out._storage_.array
    for first in range(0, count, PIECE):
        places = np.arange(first, min(first + PIECE, count), dtype=kind)
        array[first : first + PIECE] = start + places * step
    return leaf("arange", there("arange", out, layout.device), requires_grad, pin_memory)


def sequence(op: str, name: str, kind: str, layout: Layout, *numbers: float) -> Tensor | None:
    """A long sequence by a kernel; None where NumPy makes it: a short one, other dtypes, numbers that ``kind`` does not hold.

    On a GPU a short one, too.
    """
    if layout.memory is not None:
        from .gpu_sequences import sequence_on_gpu

        return sequence_on_gpu(op, name, kind, layout, *numbers)
    if not PIECE <= layout.numel < 1 << 28 or layout.dtype.name not in ("int64" if kind == "int64" else "float32", kind):
        return None
    if kind == "int64" and max(map(abs, numbers)) >= 1 << 31:
        return None
    program = Program(name, sequence_loop(name, kind, layout.dtype.name), kind)
    record = pack_record(address(program), -1, 4096, 1, (NUMBER_CODES[kind],) * len(numbers), 0, shared_from=100_000)
    out: Tensor = native.fresh(Plan(record, (layout.template,), (None,) * len(numbers)), *numbers)
    if traces:
        note_made(out._storage_)
    return out


def line(op: str, start, end, steps, dtype, device) -> tuple[Any, Layout]:
    """``steps`` equidistant numbers in float64 or complex128, symmetric about the middle, and the layout of the result.

    They are an array; a tensor where a bound differs over a batch, or where a kernel made it.
    """
    given = ("start", start), ("end", end)
    bounds: tuple[Any, ...] = tuple(wide_bound(x) if is_batched(x) else python_number(op, name, x) for name, x in given)
    if not hasattr(steps, "__index__"):
        raise ArgumentError(f"{op}: steps must be an int, got {type(steps).__name__}.")
    if steps < 0:
        raise ShapeError(f"{op}: steps must be >= 0, got {steps}.")
    if dtype is None:
        dtype = get_default_dtype()
        dtype = dtype.to_complex() if any(is_complex_number(x) for x in bounds) else dtype
    layout = layout_for(op, (), (steps,), dtype, device)
    if layout.dtype.category == INTEGER:  # the ends are of the dtype, what lies between them is truncated
        bounds = tuple(CALLS["trunc"](x) if isinstance(x, Tensor) else fit_number(op, x, layout.dtype) for x in bounds)
    batched = any(map(is_batched, bounds))
    by_kernel = steps >= PIECE or layout.memory is not None
    if op == "linspace" and by_kernel and not batched and not any(map(is_complex_number, bounds)):
        (low, high), step = map(float, bounds), (bounds[1] - bounds[0]) / (steps - 1) if steps > 1 else 0.0
        made = sequence(op, LINE, "float64", layout, low, high, step, steps / 2, steps - 1.0)
        if made is not None:
            return made, layout
    return between(bounds, steps, batched), layout


def between(bounds: tuple[Any, ...], steps: int, as_tensor: bool) -> Any:
    """The numbers of ``line``: numbers, or tensors of them, make no difference to its arithmetic."""
    start, end = bounds
    step = (end - start) / (steps - 1) if steps > 1 else 0
    if as_tensor:
        i: Any = np.arange(steps, dtype=np.float64)
        to = next(x.layout.device for x in bounds if isinstance(x, Tensor))
        i, first = moved(from_numpy(i), to), moved(from_numpy(i < steps / 2), to)
        return CALLS["where"](first, start + step * i, end - step * (steps - 1 - i))
    line = from_blocks(np.empty, steps, np.result_type(np.float64, type(start), type(end)))
    for at in range(0, steps, PIECE):
        i = np.arange(at, min(at + PIECE, steps), dtype=np.float64)
        line[at : at + PIECE] = np.where(i < steps / 2, start + step * i, end - step * (steps - 1 - i))
    line[:1] = start  # which may be -0
    line[-1:] = end if steps > 1 else start
    return line


def wide_bound(x: Tensor) -> Tensor:
    """A bound that differs over a batch, in double precision."""
    return CALLS["to_dtype"](x.detach(), promote_types(x.layout.dtype, float64))


def is_complex_number(x: Any) -> bool:
    """Whether a bound is complex."""
    return x.layout.dtype.is_complex if isinstance(x, Tensor) else isinstance(x, complex)


def as_line(op: str, values: Any, layout: Layout) -> Tensor:
    """The numbers of ``line`` in the layout of the result."""
    if isinstance(values, Tensor):
        made = values if values.layout is layout else CALLS["to_dtype"](values, layout.dtype)
        return made if made.layout.device is layout.device else moved(made, layout.device)
    made = new_tensor(wrap_array(from_blocks(lambda count: values.astype(layout.descr), len(values))), host_layout(layout))
    return there(op, made, layout.device)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``steps`` equidistant numbers from ``start`` to ``end``, both included.

    >>> import nbgrad
    >>> nbgrad.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if out is not None:
        return into(out, linspace, start, end, steps, dtype=dtype, device=device)
    values, layout = line("linspace", start, end, steps, dtype, device)
    return leaf("linspace", as_line("linspace", values, layout), requires_grad, pin_memory)


def logspace(
    start: float | Tensor,
    end: float | Tensor,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """``base`` to the power of ``steps`` equidistant exponents from ``start`` to ``end``.

    >>> import nbgrad
    >>> nbgrad.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if out is not None:
        return into(out, logspace, start, end, steps, base, dtype=dtype, device=device)
    exponents, layout = line("logspace", start, end, steps, dtype, device)
    with np.errstate(all="ignore"):
        return leaf("logspace", as_line("logspace", base**exponents, layout), requires_grad, pin_memory)


arange, linspace = numbered(arange), numbered(linspace)  # see NOTE [Constants]
