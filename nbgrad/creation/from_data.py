"""Tensors of data: of numbers in lists, of arrays, of buffers."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import BOOL, INTEGER, DType, DTypeLike, dtype_of, get_default_dtype, int64, promote_types, result_dtype, uint64
from ..base.errors import ArgumentError, RangeError, ShapeError
from ..base.grad_mode import capture_of_thread, traces
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad as has_grad
from ..modes.interpreters import has_tangent
from ..modes.numbers import Number, plain
from ..modes.traced import is_watched
from ..native.handle import from_blocks
from ..tensors.arrays import values_of
from ..tensors.layout import layout_of
from ..tensors.memory_format import contiguous_format
from ..tensors.storage import CPU, Device, default_device, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from ..tensors.untyped import UntypedStorage
from .allocation import leaf
from .casting import convert, moved, on_device
from .dlpack import from_dlpack
from .fitted_numbers import dtype_of_number, fit_number, is_followed, of_number
from .numpy_exchange import from_numpy, live_tensor

__all__ = ["as_tensor", "asarray", "frombuffer", "tensor"]


SEQUENCES = (list, tuple, range)
NUMBERS = frozenset((bool, int, float, complex))  # whose type says all of a list of them
INTERFACE = "__cuda_array_interface__"  # by which libraries describe memory of GPUs


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
        warn_user("tensor: a tensor is copied and detached. Hint: x.detach().clone() says so.")
        if traces and is_watched(data):
            made = data.detach().clone(memory_format=contiguous_format)
            return leaf("tensor", made if dtype is None else CALLS["to_dtype"](made, dtype_of(dtype)), requires_grad, pin_memory)
    elif hasattr(data, INTERFACE):
        return leaf("tensor", asarray(data, dtype=dtype, device=device, copy=True).detach(), requires_grad, pin_memory)
    known = data if isinstance(data, Tensor) else without_tensors(data)
    array = plain_array(known)
    dtype = infer_dtype(known, array) if dtype is None else dtype_of(dtype)
    if dtype is uint64 and array.dtype.kind == "f":
        array = whole_numbers(known, array)
    if not isinstance(data, (np.ndarray, Tensor)):
        check_range(array, dtype)
    with np.errstate(all="ignore"):  # what is too large for a floating dtype becomes infinite
        # Owns its memory, so that it may grow.
        flat = from_blocks(lambda count: np.array(array.reshape(-1), dtype.numpy), array.size)
    return leaf("tensor", new_tensor(wrap_array(flat), layout_of(dtype, array.shape, None, CPU)), requires_grad, pin_memory)


def there(op: str, x: Tensor, device: Device) -> Tensor:
    """A new tensor without history on a device."""
    return x if x.layout.device is device else moved(native.alias(x), device)


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
    """What ``without_tensors`` gives, or a tensor, as an array of numbers, in the widest dtype of its kind.

    Raises:
        ArgumentError, RangeError: see ``tensor``.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        dtype_of(data.dtype)
        return np.asarray(data)
    if isinstance(data, Tensor):
        return values_of(data)
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
    """Nested lists, tuples and ranges of numbers and arrays.

    Arrays stand for tensors and for what has ``__array__``, lists for other sequences.

    Raises:
        ArgumentError: something that is neither number, sequence, array nor tensor.
    """
    if isinstance(data, SEQUENCES):
        return data if NUMBERS.issuperset(map(type, data)) else [without_tensors(each) for each in data]
    if isinstance(data, Tensor):
        if has_grad(data) or data._meta_ is not None and has_tangent(data):
            warn_user(
                "tensor: tensors that require grad, or are dual, are copied without their history. Hint: stack them, or "
                "detach() them."
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
    if isinstance(data, (np.ndarray, np.generic, Tensor)):
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
        elif isinstance(each, np.ndarray):
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
        return moved(data if dtype is None else convert(data, dtype_of(dtype)), to)
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
    out = moved(convert(shared, wanted or shared.layout.dtype, bool(copy)), to)
    if requires_grad is False and out._needs_grad_ and has_grad(out):
        return native.alias(out)
    return leaf("asarray", out, True) if requires_grad and not has_grad(out) else out


def shared_tensor(obj, dtype) -> Tensor | None:
    """A tensor on the memory of ``obj``, or None if it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    if isinstance(obj, UntypedStorage):
        return from_numpy(np.asarray(obj))
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
