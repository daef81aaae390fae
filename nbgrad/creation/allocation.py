"""Memory, sizes and layouts of tensors that are made."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..base.dtypes import dtype_of, get_default_dtype
from ..base.errors import ArgumentError, DTypeError, OutOfMemoryError, ShapeError
from ..base.grad_mode import call_tracers, dispatch_modes, note_leaf, special, traces, unusual
from ..dispatch.out import write_out
from ..modes.created import shown
from ..modes.inference import newly_made
from ..native.handle import from_blocks
from ..tensors.layout import MOST_ELEMENTS, Layout, layout_of, like_strides
from ..tensors.memory_format import order_of, strides_of
from ..tensors.storage import CPU, note_made, wrap_array
from ..tensors.tensor import Tensor, new_tensor, require_differentiable
from .casting import on_device
from .constants import fill_launch
from .fitted_numbers import fit_number
from .pinning import pinned, pinned_empty

__all__ = ["empty_of", "filled", "layout_for", "layout_like", "leaf", "new_full"]


MOST_BYTES = 1 << 47  # more than any address space holds: refused before the allocator is asked


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
    if special:
        x = newly_made(shown(op, x) if dispatch_modes else x)
    if requires_grad:
        require_differentiable(op, x.layout.dtype)
        x._needs_grad_ = True
        if unusual:
            note_leaf(x)
    return x


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
