"""Factories: tensors from data, from numbers, and like other tensors."""

from __future__ import annotations

import inspect
import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any, Iterator

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import (
    BOOL,
    INTEGER,
    DType,
    DTypeLike,
    dtype_of,
    float64,
    get_default_dtype,
    int64,
    promote_types,
    result_dtype,
    uint64,
)
from ..base.errors import ArgumentError, DTypeError, OutOfMemoryError, RangeError, ShapeError
from ..base.function_attributes import attach
from ..base.grad_mode import call_tracers, capture_of_thread, note_leaf, special, traces, unusual
from ..dispatch.out import write_out
from ..graph.edges import requires_grad as has_grad
from ..kernels.cpu.build import Program, address
from ..kernels.templates.sequence import COUNT, LINE, sequence_loop
from ..modes.batched import wrap_batched
from ..modes.inference import newly_made
from ..modes.interpreters import has_tangent
from ..modes.numbers import FOLLOWED, Number, plain
from ..modes.overrides import handle_function
from ..modes.traced import is_watched
from ..native.handle import from_blocks
from ..native.plans import NUMBER_CODES, Plan, pack_record
from ..tensors.arrays import values_of
from ..tensors.batch_levels import is_batched, open_levels, whole
from ..tensors.layout import MOST_ELEMENTS, Layout, layout_of, like_strides, sparse_marks
from ..tensors.memory_format import MemoryFormat, contiguous_format, order_of, strides_of
from ..tensors.storage import CPU, Device, default_device, note_made, wrap_array
from ..tensors.tensor import Tensor, is_sparse, native, new_tensor, require_differentiable
from .casting import convert, moved, on_device
from .constants import fill_launch, filled_like, like, numbered, sized, sized_like
from .dlpack import from_dlpack
from .numpy_exchange import from_numpy, live_tensor
from .pinning import pinned, pinned_empty

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_of",
    "empty_permuted",
    "empty_strided",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "new_full",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tensor",
    "zeros",
    "zeros_like",
    "leaf",
    "layout_for",
    "layout_like",
    "install_creation",
]

MOST_BYTES = 1 << 47  # more than any address space holds: refused before the allocator is asked
SEQUENCES = (list, tuple, range)
NUMBERS = frozenset((bool, int, float, complex))  # whose type says all of a list of them
INTERFACE = "__cuda_array_interface__"  # by which libraries describe memory of GPUs
PIECE = 1 << 14  # elements of a sequence that are computed at once: they stay in the cache


# ---- memory --------------------------------------------------------------------------------------------------------


def allocated(op: str, layout: Layout, make, *args) -> Tensor:
    """A tensor of a dense layout on memory from ``make`` (a function like ``np.empty``).

    Raises:
        MemoryError: there is not so much memory.
    """
    size = layout.numel * layout.descr.itemsize
    if layout.memory is not None:
        return allocated_there(op, layout, make, *args)
    try:
        if size > MOST_BYTES:
            raise MemoryError
        array = from_blocks(make, layout.numel, *args, dtype=layout.descr)
    except MemoryError:
        raise MemoryError(f"{op}: cannot allocate {size} bytes for {layout.dtype.name} {list(layout.shape)}.") from None
    return new_tensor(wrap_array(array), layout)


def allocated_there(op: str, layout: Layout, make: Any, *args) -> Tensor:
    """The same on a GPU."""
    from ..tensors import gpu

    try:
        if make is np.empty:
            made = new_tensor(gpu.storage_of(layout.device, layout.numel * layout.descr.itemsize, op), layout)
        else:
            made = fill_launch(op, layout, make(1, *args, dtype=layout.descr)[0])()
    except OutOfMemoryError as error:
        raise OutOfMemoryError(f"{op}: {str(error).partition(': ')[2]}") from None
    if traces:
        note_made(made._storage_)
    return made


def empty_of(layout: Layout, pin_memory: bool = False) -> Tensor:
    """An uninitialised tensor of a dense layout."""
    return pinned_empty("empty", layout) if pin_memory else allocated("empty", layout, np.empty)


def new_full(layout: Layout, value) -> Tensor:
    """A tensor of a layout's dtype, shape and (if dense) strides, filled with a number."""
    out = filled(layout.like() if not layout.dense or layout.conj or layout.neg else layout, value)
    if call_tracers:
        for tracer in tuple(call_tracers):
            tracer.note_filled(out)
    return out


def filled(layout: Layout, value) -> Tensor:
    """The same, of a dense layout."""
    if value == 0 and not is_negative_zero(value):
        return allocated("zeros", layout, np.zeros)
    if isinstance(value, complex) and not layout.dtype.is_complex:  # NumPy would drop the imaginary part
        value = fit_number("full", value, layout.dtype)
    with np.errstate(over="ignore"):  # what is too large for a floating dtype becomes infinite
        try:
            return allocated("full", layout, np.full, value)
        except OverflowError:  # -1 as uint8, or an error
            return allocated("full", layout, np.full, fit_number("full", value, layout.dtype))


def is_negative_zero(value) -> bool:
    """Whether a zero, or a part of it, has the sign that zeroed memory has not."""
    return type(value) is not int and (math.copysign(1.0, value.real) < 0 or math.copysign(1.0, value.imag) < 0)


def leaf(op: str, x: Tensor, requires_grad: bool, pin_memory: bool = False) -> Tensor:
    """``x``, new and without history, in pinned memory and requiring grad if asked to.

    Raises:
        DTypeError: the dtype has no gradients. DeviceError: pinned memory on a GPU, or without one.
    """
    if pin_memory:
        x = pinned(op, x)
    if requires_grad:
        require_differentiable(op, x.layout.dtype)
        x._needs_grad_ = True
        if unusual:
            note_leaf(x)
    return newly_made(x) if special else x


def into(out: Tensor, make, *args, dtype=None, **named) -> Tensor:
    """The result of a factory, written into a tensor of that shape and dtype.

    Raises:
        ArgumentError: ``out`` is no tensor. ShapeError, DTypeError: it does not fit. GradError: it requires grad.
    """
    if isinstance(out, Tensor):
        if dtype is not None and dtype_of(dtype) is not out.layout.dtype:
            raise DTypeError(f"{make.__name__}: dtype is {dtype_of(dtype)}, out has {out.layout.dtype}. Hint: leave dtype out.")
        dtype = out.layout.dtype
    return write_out(make.__name__, lambda: make(*args, dtype=dtype, **named), out)


# ---- sizes and layouts ---------------------------------------------------------------------------------------------


def shape_of(op: str, sizes: tuple) -> tuple[int, ...]:
    """A shape from ``f(2, 3)``, ``f((2, 3))`` or ``f([2, 3])``.

    Raises:
        ArgumentError: a size is no integer. ShapeError: it is negative.
    """
    if len(sizes) == 1 and not isinstance(sizes[0], (int, np.integer, Tensor)):
        try:
            sizes = tuple(sizes[0])
        except TypeError:
            raise ArgumentError(f"{op}: expected sizes, integers or one sequence of them, got {type(sizes[0]).__name__}.") from None
    for size in sizes:
        if type(size) is not int or size < 0:
            break
    else:
        if math.prod(sizes) < MOST_ELEMENTS and 0 not in sizes:
            return sizes
    shape = []
    for size in sizes:
        try:
            if isinstance(size, (bool, np.bool_)):
                raise TypeError
            shape.append(operator.index(size))
        except TypeError:
            raise ArgumentError(f"{op}: sizes must be integers, got {size!r}.") from None
        if shape[-1] < 0:
            raise ShapeError(f"{op}: sizes must be >= 0, got {list(sizes)}.")
    # Strides must be int64 even where a size is 0.
    if math.prod(size or 1 for size in shape) >= MOST_ELEMENTS:
        raise ShapeError(f"{op}: sizes {shape} give 2**62 elements or more.")
    return tuple(shape)


def layout_for(op: str, sizes: tuple, size, dtype, device) -> Layout:
    """The row-major layout that the arguments of a factory describe.

    Raises:
        ArgumentError, ShapeError: of the sizes. DeviceError, NotSupportedError: of the device.
    """
    if size is not None:
        sizes = (size,)
    elif not sizes:
        raise ArgumentError(f"{op}: missing sizes. Hint: {op}(2, 3), or {op}(()) for a 0-d tensor.")
    device = on_device(op, device)
    dtype = get_default_dtype() if dtype is None else dtype_of(dtype)
    return layout_of(dtype, shape_of(op, sizes), None, device)


def layout_like(op: str, x, dtype=None, device=None, memory_format=None) -> Layout:
    """The layout of a tensor like ``x``: its strides if it is dense, else dense strides in the same order.

    An expanded tensor has no such order; its copies are row-major.
    """
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op}: expected a Tensor, got {type(x).__name__}.")
    layout = x.layout
    device = layout.device if device is None else on_device(op, device)
    dtype = layout.dtype if dtype is None else dtype_of(dtype)
    if memory_format is not None and (order := order_of(op, memory_format, layout.ndim)) is not None:
        return layout_of(dtype, layout.shape, strides_of(layout.shape, order), device)
    if layout.dense:
        return layout_of(dtype, layout.shape, layout.strides, device)
    return layout_of(dtype, layout.shape, None if layout.expanded else like_strides(layout.shape, layout.strides), device)


def host_layout(layout: Layout) -> Layout:
    """The contiguous layout in which the CPU computes what goes to a device then."""
    return layout if layout.memory is None else layout_of(layout.dtype, layout.shape, None, CPU)


# ---- filled with a number ------------------------------------------------------------------------------------------


def zeros(
    *sizes: int | Sequence[int],
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of zeros, of the default dtype unless another is given.

    >>> import nbgrad
    >>> nbgrad.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if out is not None:
        return into(out, zeros, *sizes, size=size, dtype=dtype, device=device)
    return leaf("zeros", new_full(layout_for("zeros", sizes, size, dtype, device), 0), requires_grad, pin_memory)


def ones(
    *sizes: int | Sequence[int],
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of ones, of the default dtype unless another is given.

    >>> import nbgrad
    >>> nbgrad.ones(2, dtype=nbgrad.int64)
    tensor([1, 1])
    """
    if out is not None:
        return into(out, ones, *sizes, size=size, dtype=dtype, device=device)
    return leaf("ones", new_full(layout_for("ones", sizes, size, dtype, device), 1), requires_grad, pin_memory)


def empty(
    *sizes: int | Sequence[int],
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor whose elements are whatever its memory held.

    >>> import nbgrad
    >>> nbgrad.empty(2, 3).shape
    nbgrad.Size([2, 3])
    """
    if out is not None:
        return into(out, empty, *sizes, size=size, dtype=dtype, device=device)
    described = layout_for("empty", sizes, size, dtype, device)
    if memory_format is not None and (order := order_of("empty", memory_format, described.ndim)) is not None:
        described = layout_of(described.dtype, described.shape, strides_of(described.shape, order), described.device)
    return leaf("empty", empty_of(described, pin_memory), requires_grad)


def empty_permuted(
    size: int | Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor without gaps whose dimensions lie in memory in a given order.

    Args:
        physical_layout: the dimensions, from the one with the largest stride to that with the smallest.

    Raises:
        ShapeError: not every dimension once.

    >>> import nbgrad
    >>> nbgrad.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    shape, order = shape_of("empty_permuted", (size,)), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise ShapeError(f"empty_permuted: physical_layout is {list(order)}, expected each of {len(shape)} dimensions once.")
    strides = strides_of(shape, order)
    return empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def empty_strided(
    size: int | Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialised tensor of given strides (in elements), on just the memory that they reach.

    Raises:
        ShapeError: sizes and strides do not go together.

    >>> import nbgrad
    >>> nbgrad.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape, strides = shape_of("empty_strided", (size,)), shape_of("empty_strided", (stride,))
    if len(shape) != len(strides):
        raise ShapeError(f"empty_strided: {len(shape)} sizes and {len(strides)} strides.")
    layout = layout_for("empty_strided", (), shape, dtype, device)
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if layout.numel else 0
    memory = empty_of(layout_of(layout.dtype, (span,), None, layout.device), pin_memory)
    layout = layout_of(layout.dtype, shape, strides, layout.device)
    return leaf("empty_strided", new_tensor(memory._storage_, layout), requires_grad)


def full(
    size: int | Sequence[int],
    fill_value: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of one number, whose kind gives the dtype unless it is given: bool, int64, default float or complex.

    Raises:
        RangeError: an integer dtype cannot hold the number.

    >>> import nbgrad
    >>> nbgrad.full((2,), 0.5)
    tensor([0.5000, 0.5000])
    """
    if out is not None:
        return into(out, full, size, fill_value, dtype=dtype, device=device)
    if isinstance(size, int):
        raise ArgumentError(f"full: size must be a sequence of integers, got {size}. Hint: full(({size},), value).")
    if isinstance(fill_value, Tensor):
        fill_value = fill_value._number_("full", "fill_value")
    if is_followed(fill_value, requires_grad):
        return of_number(full(size, fill_value.PYTHON(0), dtype=dtype, device=device), fill_value)
    layout = layout_for("full", (), size, dtype_of_fill(fill_value) if dtype is None else dtype, device)
    return leaf("full", new_full(layout, fit_number("full", fill_value, layout.dtype)), requires_grad, pin_memory)


def is_followed(value: Any, requires_grad: bool) -> bool:
    """Whether a number is one whose way into a tensor a capture writes down."""
    return type(value) in FOLLOWED and not requires_grad and value.is_followed()


def of_number(x: Tensor, number: Number) -> Tensor:
    """A tensor that was just made, filled with a number that a capture follows."""
    made: Tensor = CALLS["fill_"](x, number)
    return made


def dtype_of_fill(value) -> DType:
    """The dtype of a tensor filled with a number; one of NumPy's counts as Python's: ``full((2,), np.float64(0.5))`` is float32."""
    return dtype_of_number(value.item() if isinstance(value, np.generic) else value)


def dtype_of_number(value) -> DType:
    """The dtype of a tensor made from a Python number alone."""
    if isinstance(value, np.generic):
        return dtype_of(value.dtype)
    return result_dtype((), (value,))


def fit_number(op: str, value: Any, dtype: DType):
    """A number as ``dtype`` can hold it: floats are truncated for integers.

    Raises:
        RangeError: it is out of range, or not real. ArgumentError: it is no number.
    """
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise ArgumentError(f"{op}: expected a number, got {type(value).__name__}.")
    if isinstance(value, complex) and not value.imag and not dtype.is_complex:
        value = value.real
    if isinstance(value, complex) and not dtype.is_complex and dtype.category != BOOL:
        raise DTypeError(f"{op}: {value} is complex and does not fit {dtype}.")
    if dtype.category != INTEGER:
        return value
    limits = np.iinfo(dtype.numpy)
    number: Any = value  # real, as of here
    whole = int(number) if math.isfinite(number) else None
    # A negative number wraps in an unsigned dtype, as in torch.
    low = limits.min if limits.min else -limits.max
    if whole is None or not low <= whole <= limits.max:
        raise RangeError(f"{op}: {value} does not fit {dtype}, which holds {limits.min} to {limits.max}.")
    return whole if whole >= limits.min else whole + limits.max + 1


def scalar_tensor(
    s: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A 0-d tensor of one number, of the default dtype unless another is given.

    >>> import nbgrad
    >>> nbgrad.scalar_tensor(2)
    tensor(2.)
    """
    dtype = get_default_dtype() if dtype is None else dtype
    return full((), s, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Ones on the diagonal of an n x m matrix (n x n without ``m``), zeros elsewhere.

    >>> import nbgrad
    >>> nbgrad.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if out is not None:
        return into(out, eye, n, m, dtype=dtype, device=device)
    layout = layout_for("eye", (), (n, n if m is None else m), dtype, device)
    if layout.memory is not None:
        from .gpu_sequences import eye_on_gpu

        return leaf("eye", eye_on_gpu(layout), requires_grad, pin_memory)
    out = zeros(size=layout.shape, dtype=layout.dtype, device=CPU)
    np.fill_diagonal(out._storage_.array.reshape(layout.shape), 1)
    return leaf("eye", out, requires_grad, pin_memory)


# ---- sequences of numbers ------------------------------------------------------------------------------------------


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
        i, first = moved("linspace", from_numpy(i), to), moved("linspace", from_numpy(i < steps / 2), to)
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
        return made if made.layout.device is layout.device else moved(op, made, layout.device)
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


# ---- from data -----------------------------------------------------------------------------------------------------


def tensor(
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with a copy of ``data``: a number, nested sequences, an array, a tensor.

    Python floats get the default dtype (float32), ints int64, bools bool; arrays, tensors and NumPy scalars keep their
    dtype.

    Raises:
        ArgumentError: something that is no number. RangeError: rows of different lengths, or a number out of range.

    >>> import nbgrad
    >>> nbgrad.tensor([[1, 2], [3, 4]]).dtype
    nbgrad.int64
    """
    if dtype is None and device is None and (out := of_alike(data)) is not None:
        return leaf("tensor", out if default_device() is CPU else there("tensor", out, default_device()), requires_grad, pin_memory)
    if is_followed(data, requires_grad):
        return of_number(tensor(data.PYTHON(0), dtype=dtype, device=device), data)
    to = data.layout.device if device is None and isinstance(data, Tensor) else on_device("tensor", device)
    if to is not CPU:
        return leaf("tensor", there("tensor", tensor(data, dtype=dtype, device=CPU), to), requires_grad, pin_memory)
    if traces and isinstance(data, SEQUENCES):
        places = list(numbers_in(data))
        if places and not requires_grad and all(x.is_followed() and (dtype is None or type(x) is Number) for _, x in places):
            out = tensor(without_numbers(data), dtype=dtype, device=device)
            for index, number in places:
                CALLS["copy_"](out[index], number.tensor)
            return out
        data = plain(data) if places else data
    if traces and isinstance(data, np.ndarray) and (trace := capture_of_thread()) is not None and trace.is_named(data):
        live = CALLS["to_dtype"](live_tensor(data), dtype_of(dtype or data.dtype))
        copied = live.clone(memory_format=contiguous_format)
        return leaf("tensor", copied, requires_grad, pin_memory)
    if isinstance(data, Tensor):
        warnings.warn("tensor: a tensor is copied and detached. Hint: x.detach().clone() says so.", UserWarning, stacklevel=2)
        if traces and is_watched(data):
            made = data.detach().clone(memory_format=contiguous_format)
            return leaf("tensor", made if dtype is None else CALLS["to_dtype"](made, dtype_of(dtype)), requires_grad, pin_memory)
    elif hasattr(data, INTERFACE):
        return leaf("tensor", asarray(data, dtype=dtype, device=device, copy=True).detach(), requires_grad, pin_memory)
    array = plain_array(data)
    dtype = infer_dtype(data, array) if dtype is None else dtype_of(dtype)
    if dtype is uint64 and array.dtype.kind == "f":
        array = whole_numbers(data, array)
    if not isinstance(data, (np.ndarray, Tensor)):
        check_range(array, dtype)
    with np.errstate(all="ignore"):  # what is too large for a floating dtype becomes infinite
        # Owns its memory, so that it may grow.
        flat = from_blocks(lambda count: np.array(array.reshape(-1), dtype.numpy), array.size)
    return leaf("tensor", new_tensor(wrap_array(flat), layout_of(dtype, array.shape, None, CPU)), requires_grad, pin_memory)


def there(op: str, x: Tensor, device: Device) -> Tensor:
    """A new tensor without history on a device."""
    return x if x.layout.device is device else moved(op, native.alias(x), device)


def numbers_in(data: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Number]]:
    """The places in nested sequences of numbers that a capture may follow."""
    for k, each in enumerate(data):
        if isinstance(each, Number):
            yield (*index, k), each
        elif isinstance(each, SEQUENCES):
            yield from numbers_in(each, (*index, k))


def without_numbers(data: Any) -> list:
    """Nested sequences with a float in the place of each of those."""
    return [x.PYTHON(0) if isinstance(x, Number) else without_numbers(x) if isinstance(x, SEQUENCES) else x for x in data]


def of_alike(data) -> Tensor | None:
    """A tensor of a float, or of a short list of floats or of ints; None for anything else, and for what does not fit.

    No more than ``tensor`` does, for the commonest data.
    """
    shape: tuple[int, ...] = ()
    kind = type(data)
    if kind is list or kind is tuple:
        if not 0 < len(data) <= 64:
            return None
        kinds = set(map(type, data))
        kind, shape = kinds.pop(), (len(data),)
        low, high = (min(data), max(data)) if not kinds and (kind is int or kind is float) else (0, 0)
    else:
        kinds, low, high = None, data, data
    if kinds:
        return None
    if kind is float and -1e38 < low <= high < 1e38 and (dtype := get_default_dtype()).itemsize >= 4:
        return new_tensor(wrap_array(np.array(data if shape else (data,), dtype.numpy)), layout_of(dtype, shape, None, CPU))
    if kind is int and -1e18 < low <= high < 1e18:
        return new_tensor(wrap_array(np.array(data if shape else (data,), np.int64)), layout_of(int64, shape, None, CPU))
    return None


def plain_array(data) -> np.ndarray:
    """``data`` as an array of numbers, in the widest dtype of its kind.

    Raises:
        ArgumentError, RangeError: see ``tensor``.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        dtype_of(data.dtype)
        return np.asarray(data)
    if isinstance(data, Tensor):
        return values_of(data)
    if not isinstance(data, (bool, int, float, complex)):
        data = without_tensors(data)
    try:
        array = np.array(data)
    except ValueError:
        refuse_ragged(data, shape_of_first(data))
        raise RangeError("tensor: the rows of the data have different lengths.") from None
    if array.dtype.kind == "O":
        raise RangeError("tensor: an integer does not fit int64, or the data are no numbers.")
    return array


def shape_of_first(data) -> tuple[int, ...]:
    """The shape of nested sequences, by their first members."""
    return (len(data), *(shape_of_first(data[0]) if len(data) else ())) if isinstance(data, SEQUENCES) else ()


def refuse_ragged(data, shape: tuple[int, ...]) -> None:
    """Refuse nested sequences of another shape than their first members have.

    Raises:
        ArgumentError: a number stands in the place of a row, or a row in that of a number. RangeError: rows of another length.
    """
    if not shape:
        if isinstance(data, SEQUENCES):
            raise ArgumentError(f"tensor: {type(data).__name__} stands where a number is expected.")
        return
    if not isinstance(data, SEQUENCES):
        raise ArgumentError(f"tensor: {type(data).__name__} stands where a row of {shape[0]} is expected.")
    if len(data) != shape[0]:
        raise RangeError(f"tensor: the rows of the data have different lengths, {shape[0]} and {len(data)}.")
    for row in data:
        refuse_ragged(row, shape[1:])


def whole_numbers(data: Any, array: np.ndarray) -> np.ndarray:
    """The array of some data, or of their ints, of which NumPy makes floats where one is above int64 and another is not."""
    if isinstance(data, (np.ndarray, Tensor)):
        return array
    exact = np.array(data, object)
    fit = all(type(x) is int and 0 <= x < 1 << 64 for x in exact.flat)
    return exact.astype(np.uint64) if fit else array


def without_tensors(data):
    """Nested sequences with arrays in the place of tensors.

    Raises:
        ArgumentError: something that is neither number, sequence, array nor tensor.
    """
    if isinstance(data, SEQUENCES):
        return data if NUMBERS.issuperset(map(type, data)) else [without_tensors(each) for each in data]
    if isinstance(data, Tensor):
        if has_grad(data) or data._meta_ is not None and has_tangent(data):
            warnings.warn(
                "tensor: tensors that require grad, or are dual, are copied without their history. Hint: stack them, or "
                "detach() them.",
                stacklevel=4,
            )
        if data.layout.numel != 1:
            raise ShapeError(
                f"tensor: a tensor of shape {list(data.layout.shape)} stands where a number is expected. Hint: "
                "nbgrad.stack(tensors)."
            )
        return values_of(data).reshape(())
    if isinstance(data, (bool, int, float, complex, np.ndarray, np.generic)):
        return data
    if hasattr(data, "__array__"):
        return np.asarray(data)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        return [without_tensors(each) for each in data]
    raise ArgumentError(f"tensor: expected numbers, got {type(data).__name__}.")


def infer_dtype(data, array: np.ndarray) -> DType:
    """The dtype of data that names none: that of its arrays, and the default ones of Python's numbers, promoted."""
    if isinstance(data, (np.ndarray, np.generic, Tensor)) or hasattr(data, "__array__"):
        return dtype_of(array.dtype)
    found, kinds = set[DType](), set[type]()
    collect_dtypes(data, found, kinds)
    found.update(result_dtype((), (kind,)) for kind in kinds)
    result = None
    for dtype in found:
        result = dtype if result is None else promote_types(result, dtype)
    return result or get_default_dtype()


def collect_dtypes(data, found: set[DType], kinds: set[type]) -> None:
    """Add to ``found`` the dtypes of elements of nested sequences, and to ``kinds`` the types of Python's numbers among them."""
    members = data if isinstance(data, SEQUENCES) else (data,)
    if NUMBERS.issuperset(own := set(map(type, members))):
        kinds.update(own)
        return
    for each in members:
        if isinstance(each, SEQUENCES):
            collect_dtypes(each, found, kinds)
        elif isinstance(each, (Tensor, np.ndarray)):
            found.add(dtype_of(each.dtype))
        else:
            found.add(dtype_of_number(each))


def check_range(array: np.ndarray, dtype: DType) -> None:
    """Refuse numbers that an integer dtype cannot hold, and complex ones for a real dtype."""
    if array.size == 0:
        return
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.category != BOOL:
        raise ArgumentError(f"tensor: complex data do not fit {dtype}.")
    if dtype.category == INTEGER and array.dtype.kind in "iuf":
        fit_number("tensor", array.min().item(), dtype)
        fit_number("tensor", array.max().item(), dtype)


def as_tensor(data: Any, dtype: DTypeLike | None = None, device: Device | str | None = None) -> Tensor:
    """``data`` as a tensor, without a copy where that is possible: a tensor is itself, an array shares its memory.

    Raises:
        as ``tensor`` and ``from_numpy``.

    >>> import nbgrad
    >>> nbgrad.as_tensor([1, 2], dtype=nbgrad.float32)
    tensor([1., 2.])
    """
    to = data.layout.device if device is None and isinstance(data, Tensor) else on_device("as_tensor", device)
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    elif not isinstance(data, Tensor) and hasattr(data, INTERFACE):  # of a tensor that requires grad it is refused
        data = shared_tensor(data, None)
        to = data.layout.device if device is None else to
    if isinstance(data, Tensor):
        return moved("as_tensor", data if dtype is None else convert(data, dtype_of(dtype)), to)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """``obj`` as a tensor: a tensor, an array, a DLPack exporter, a buffer, a number or nested sequences.

    Args:
        copy: True always copies; False never does, and raises where it would have to; None copies where it must.
        requires_grad: False detaches a tensor; None leaves it as it is.

    Raises:
        RangeError: ``copy=False`` and a copy is needed. Otherwise as ``tensor`` and ``from_numpy``.

    >>> import nbgrad
    >>> import numpy as np
    >>> array = np.ones(2)
    >>> x = nbgrad.asarray(array)
    >>> array[0] = 5.0
    >>> x
    tensor([5., 1.], dtype=nbgrad.float64)
    """
    shared = shared_tensor(obj, dtype)
    stays = device is None and shared is not None and (isinstance(obj, Tensor) or shared.layout.device is not CPU)
    to = shared.layout.device if stays and shared is not None else on_device("asarray", device)
    wanted = None if dtype is None else dtype_of(dtype)
    if copy is False and (shared is None or wanted not in (None, shared.layout.dtype) or to is not shared.layout.device):
        raise RangeError(
            f"asarray: copy=False, but {type(obj).__name__} cannot become a tensor of "
            f"{wanted or 'its dtype'} on {to} without "
            "a copy. Hint: copy=None copies where it must."
        )
    if shared is None:
        return leaf("asarray", tensor(obj, dtype=dtype, device=device), bool(requires_grad))
    out = moved("asarray", convert(shared, wanted or shared.layout.dtype, bool(copy)), to)
    if requires_grad is False and out._needs_grad_ and has_grad(out):
        return native.alias(out)
    return leaf("asarray", out, True) if requires_grad and not has_grad(out) else out


def shared_tensor(obj, dtype) -> Tensor | None:
    """A tensor on the memory of ``obj``, or None if it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj)
    if hasattr(obj, INTERFACE):
        from .gpu_exchange import from_array_interface

        return from_array_interface(obj)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return from_numpy(np.frombuffer(obj, dtype_of(dtype).numpy if dtype is not None else get_default_dtype().numpy))
    return None


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-D tensor on the memory of an object with the buffer protocol; ``offset`` in bytes.

    Raises:
        RangeError: the buffer has not so many elements.

    >>> import nbgrad
    >>> nbgrad.frombuffer(bytearray(b'\\x01\\x02'), dtype=nbgrad.uint8)
    tensor([1, 2], dtype=nbgrad.uint8)
    """
    try:
        array = np.frombuffer(buffer, dtype_of(dtype).numpy, count, offset)
    except ValueError as error:
        raise RangeError(f"frombuffer: {error}.") from None
    return leaf("frombuffer", from_numpy(array), requires_grad)


# ---- like others ---------------------------------------------------------------------------------------------------


def of_batch(factory, x: Any, *args, **kwargs) -> Tensor:
    """What a factory makes like the tensor that holds a batch, batched in turn."""
    return wrap_batched(factory(whole(x), *args, **kwargs), x._levels_)


def zeros_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Zeros in the shape and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.zeros_like(nbgrad.tensor([1, 2]))
    tensor([0, 0])
    """
    if open_levels and is_batched(input):
        return of_batch(zeros_like, input, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
    if sparse_marks and is_sparse(input):
        return handle_function(zeros_like, (input,), input, dtype=dtype, device=device, requires_grad=requires_grad)
    return leaf(
        "zeros_like", new_full(layout_like("zeros_like", input, dtype, device, memory_format), 0), requires_grad, pin_memory
    )


def ones_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Ones in the shape and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.ones_like(nbgrad.tensor([1, 2]))
    tensor([1, 1])
    """
    if open_levels and is_batched(input):
        return of_batch(ones_like, input, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
    return leaf("ones_like", new_full(layout_like("ones_like", input, dtype, device, memory_format), 1), requires_grad, pin_memory)


def empty_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Uninitialised memory in the shape and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.empty_like(nbgrad.ones(2, dtype=nbgrad.int64)).dtype
    nbgrad.int64
    """
    if open_levels and is_batched(input):
        return of_batch(empty_like, input, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
    if sparse_marks and is_sparse(input):
        return handle_function(empty_like, (input,), input, dtype=dtype, device=device, requires_grad=requires_grad)
    return leaf("empty_like", empty_of(layout_like("empty_like", input, dtype, device, memory_format), pin_memory), requires_grad)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """One number in the shape, memory order and dtype of ``input``.

    >>> import nbgrad
    >>> nbgrad.full_like(nbgrad.ones(2), 3)
    tensor([3., 3.])
    """
    if open_levels and is_batched(input):
        return of_batch(
            full_like, input, fill_value, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory
        )
    if is_followed(fill_value, requires_grad):
        return of_number(
            full_like(input, fill_value.PYTHON(0), dtype=dtype, device=device, memory_format=memory_format), fill_value
        )
    layout = layout_like("full_like", input, dtype, device, memory_format)
    value = fit_number("full_like", python_number("full_like", "fill_value", fill_value), layout.dtype)
    return leaf("full_like", new_full(layout, value), requires_grad, pin_memory)


def new_method(name: str, factory):
    """The method ``x.new_zeros(*size)`` of a factory: its dtype is that of ``x`` unless given."""

    def method(self, *args, dtype=None, device=None, requires_grad: bool = False, **named):
        own = self.layout
        dtype, device = own.dtype if dtype is None else dtype, own.device if device is None else device
        return factory(*args, dtype=dtype, device=device, requires_grad=requires_grad, **named)

    method.__name__ = method.__qualname__ = name
    parameters = [p for p in inspect.signature(factory).parameters.values() if p.name != "out"]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    attach(method, __signature__=inspect.Signature([own, *parameters], return_annotation="Tensor"))
    method.__doc__ = f"``nbgrad.{factory.__name__}`` with the dtype of this tensor, and on its device, unless others are given."
    return method


def new_tensor_method(
    self,
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``nbgrad.tensor`` with the dtype of this tensor, and on its device, unless others are given."""
    own = self.layout
    if dtype is None and device is None and (out := of_alike(data)) is not None and out.layout.dtype is own.dtype:
        return leaf("new_tensor", there("new_tensor", out, own.device), requires_grad, pin_memory)
    dtype, device = own.dtype if dtype is None else dtype, own.device if device is None else device
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


METHODS = {
    "new_zeros": sized_like(new_method("new_zeros", zeros), 0),
    "new_ones": sized_like(new_method("new_ones", ones), 1),
    "new_empty": sized_like(new_method("new_empty", empty), None),
    "new_full": filled_like(new_method("new_full", full)),
    "new_tensor": new_tensor_method,
}
# Here they were functions of all arguments; from here on repeated calls are quick: see NOTE [Constants].
zeros, ones, empty = sized(zeros, 0), sized(ones, 1), sized(empty, None)
zeros_like, ones_like, empty_like, full_like = (
    like(zeros_like, 0),
    like(ones_like, 1),
    like(empty_like),
    like(full_like, given=True),
)
full, arange, linspace, eye = numbered(full, uniform=True), numbered(arange), numbered(linspace), numbered(eye)
FUNCTIONS = {
    function.__name__: function
    for function in (
        arange,
        as_tensor,
        asarray,
        empty,
        empty_like,
        empty_permuted,
        empty_strided,
        eye,
        from_numpy,
        frombuffer,
        full,
        full_like,
        linspace,
        logspace,
        ones,
        ones_like,
        scalar_tensor,
        tensor,
        zeros,
        zeros_like,
    )
}


def install_creation() -> dict:
    """Hang the ``new_*`` methods on Tensor; return the public functions by name."""
    for name, method in METHODS.items():
        setattr(Tensor, name, method)
    return FUNCTIONS


CALLS.update(new_full=new_full, zeros_like=zeros_like, ones_like=ones_like, asarray=asarray, tensor=tensor)
