"""Exchange with NumPy and with Python numbers: memory is shared where both sides can describe it, and else copied.

An array that is handed out is a new view, never the array of a Storage itself; an array that comes in stays the user's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, dtype_of
from ..base.errors import ArgumentError, ArrayError, GradError, NbgradError, NumberError, RangeError, ShapeError
from ..base.grad_mode import capture_of_thread, mode, special, traces
from ..dispatch.device_requirements import is_required
from ..dispatch.operands import no_derivative_by
from ..graph.edges import requires_grad
from ..modes.created import made_by_class
from ..modes.dispatch_modes import wrapper_classes
from ..modes.inference import newly_made
from ..modes.interpreters import has_tangent
from ..modes.traced import refuse_in_graph
from ..modes.wrappers import is_wrapped
from ..tensors.arrays import array_of, values_of
from ..tensors.batch_levels import BATCHED, ask_values, leave_graph, require_values, whole
from ..tensors.layout import layout_of
from ..tensors.storage import CPU, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor

__all__ = ["from_numpy", "install_doors", "live_tensor"]


# ---- tensor to array -----------------------------------------------------------------------------------------------


def numpy(x: Tensor, *, force: bool = False) -> np.ndarray:
    """An array on the same memory: writes to one are seen in the other, and autograd does not notice them.

    Args:
        force: detach the tensor, and copy what an array cannot describe, instead of raising.

    Raises:
        GradError: the tensor requires grad, and recording is on. ShapeError: it is lazily conjugated or negated.

    >>> import nbgrad
    >>> nbgrad.ones(2).numpy()
    array([1., 1.], dtype=float32)
    """
    if traces:
        leave_graph("numpy", x)
    if force:
        return values_of(x)
    if x.layout.memory is not None:
        raise ArrayError(f"numpy: the tensor is on {x.layout.device}, and an array is in the CPU's memory. Hint: x.cpu().numpy().")
    if x._needs_grad_ and mode.enabled and requires_grad(x):
        raise GradError("numpy: the tensor requires grad, and an array has no history. Hint: x.detach().numpy().")
    if x.layout.conj or x.layout.neg:
        raise ShapeError(
            "numpy: the tensor is lazily conjugated or negated, and an array cannot be. "
            "Hint: x.resolve_conj().resolve_neg().numpy()."
        )
    return array_of(x)


def as_array(x: Tensor, dtype=None, copy: bool | None = None) -> np.ndarray:
    """NumPy's protocol: ``np.asarray(x)`` shares memory where the dtype allows, ``np.array(x)`` copies."""
    array = numpy(x)
    return np.array(array, dtype, copy=copy) if dtype is not None or copy is not None else array


# ---- array to tensor -----------------------------------------------------------------------------------------------


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor on the array's memory. A read-only array gives a tensor that refuses in-place writes.

    A tensor on the CPU is given back: here NumPy's functions of tensors, as ``np.exp(x)``, give tensors.

    Raises:
        ArgumentError: no array, or of a dtype that is no number. RangeError: negative strides, or strides that are no
            multiple of the element. A foreign byte order and misaligned elements are copied: no tensor describes them.

    >>> import nbgrad, numpy
    >>> nbgrad.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(array, np.ndarray):
        if isinstance(array, Tensor) and array.layout.device is CPU:
            return array
        raise ArgumentError(f"from_numpy: expected an ndarray, got {type(array).__name__}. Hint: nbgrad.tensor(data).")
    dtype = dtype_of(array.dtype)
    if not array.dtype.isnative or not array.flags.aligned:
        return flat_tensor(np.ascontiguousarray(array, dtype.numpy).reshape(-1), dtype, array.shape)
    if type(array) is np.ndarray and array.flags.c_contiguous:
        flat, strides = array.reshape(-1), None
    else:
        flat, strides = strided_memory(array, dtype.itemsize)
    out = new_tensor(wrap_array(flat, array.flags.writeable), layout_of(dtype, array.shape, strides, CPU))
    return newly_made(out) if special else out


def strided_memory(array: np.ndarray, itemsize: int) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """The memory of an array of any strides, as a vector, and these in elements; None: it is in one piece.

    Raises:
        RangeError: strides that are negative, or no multiples of the element.
    """
    if any(s < 0 for s in array.strides):
        raise RangeError(f"from_numpy: the array has negative strides {array.strides}, tensors have none. Hint: array.copy().")
    if any(s % itemsize for s in array.strides):
        raise RangeError(
            f"from_numpy: strides {array.strides} are no multiples of the {itemsize} bytes of an element. Hint: array.copy()."
        )
    strides = None if array.flags.c_contiguous else tuple(s // itemsize for s in array.strides)
    span = 1 + sum((n - 1) * s for n, s in zip(array.shape, array.strides)) // itemsize if array.size else 0
    return np.lib.stride_tricks.as_strided(array, (span,), (itemsize,), writeable=array.flags.writeable), strides


def live_tensor(array: np.ndarray) -> Tensor:
    """What a graph reads of an array whenever it runs: a tensor on its memory, which may lie backwards.

    Raises:
        GraphError: the array is a field of records.
    """
    if any(s % array.itemsize for s in array.strides):
        refuse_in_graph("tensor: reads an array whose strides are no multiples of an element", "array.copy(), outside")
    backwards = tuple([d for d, s in enumerate(array.strides) if s < 0])
    forwards = array[tuple([slice(None, None, -1) if s < 0 else slice(None) for s in array.strides])]
    live = from_numpy(forwards)
    return CALLS["flip"](live, backwards) if backwards else live


def flat_tensor(array: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """A row-major tensor over a 1-D array that nobody else has."""
    return new_tensor(wrap_array(array), layout_of(dtype, shape, None, CPU))


# ---- Python numbers ------------------------------------------------------------------------------------------------


def item(x: Tensor) -> Any:
    """The one element as a Python number.

    Raises:
        ShapeError: there is not one element. BatchingError: it is another one for each element of a batch.
    """
    layout = x.layout
    if layout.numel != 1:
        raise ShapeError(f"item: the tensor has {layout.numel} elements, expected 1. Hint: x.tolist().")
    if traces:
        trace = capture_of_thread()
        followed = None if trace is None else trace.item(x)
        if followed is not None:
            return followed
    elif not layout.special and layout.memory is None:  # as ``element``, without its calls and questions: test_operations.py, item
        array = x._storage_.array
        if array.dtype is layout.descr:
            return array.item(x._offset_ // layout.descr.itemsize)
    return element(x)


def element(x: Tensor) -> Any:
    """The first element, of which Python will know.

    Raises:
        BatchingError: it is another one for each element of a batch.
    """
    layout = x.layout
    if layout.special or traces:
        if wrapper_classes and is_wrapped(x):
            return made_by_class("_local_scalar_dense", x)
        ask_values("item", x)
    array = x._storage_.array
    if layout.memory is None and array.dtype is layout.descr and not (layout.conj or layout.neg):
        return array.item(x._offset_ // layout.descr.itemsize)  # without a view of the array
    return values_of(x).item()


def tolist(x: Tensor) -> Any:
    """The elements as nested lists of Python numbers; one number for a 0-d tensor."""
    layout, array = x.layout, x._storage_.array
    if layout.memory is not None or layout.conj or layout.neg or layout.special or traces:
        return values_of(x).tolist()
    if layout.contiguous and array.dtype is layout.descr:
        first = x._offset_ // layout.descr.itemsize
        return array[first : first + layout.numel].reshape(layout.shape).tolist()  # the same of all
    return values_of(x).tolist()


def only_number(x: Tensor, op: str):
    """The one element, for a conversion.

    Raises:
        RangeError: there is not one element.
    """
    if x.layout.numel != 1:
        raise RangeError(f"{op}: only a tensor of one element is a number, this one has {x.layout.numel}.")
    return element(x)


def to_real(x: Tensor, op: str):
    """The one element.

    Raises:
        RangeError: there is not one element. NumberError: it has an imaginary part.
    """
    value = only_number(x, op)
    if isinstance(value, complex):
        if value.imag:
            raise NumberError(f"{op}: {value} is not real. Hint: x.real.")
        return value.real
    return value


# ---- tensors where numbers belong ----------------------------------------------------------------------------------


def constant_operand(x: Tensor, op: str, name: str) -> Tensor:
    """A tensor whose values an operation takes for constants: ``x`` without history.

    Raises:
        NotSupportedError: gradients flow into it, or it has a tangent: there is no derivative by the argument ``name`` of ``op``.
        BatchingError: it is a batch.
    """
    if x.layout.special is BATCHED:
        require_values(op, x.layout)
    if x._needs_grad_ and mode.enabled and requires_grad(x) or x._meta_ is not None and has_tangent(x):
        raise no_derivative_by(op, name)
    return native.alias(x)


def constant_number(x: Tensor, op: str, name: str) -> Any:
    """The one element of such a tensor. Errors as of ``constant_operand``."""
    return item(constant_operand(x, op, name))


def everywhere(x: Tensor, error: type[NbgradError], text: str) -> bool:
    """Whether all elements of a tensor of truth values are true, of a batch those of all its elements; see ``is_required``."""
    return is_required(CALLS["all"](whole(x)), error, text)


def to_index(x: Tensor) -> int:
    """The one element of an integer or bool tensor, for indexing Python sequences.

    Raises:
        ArgumentError: anything else.
    """
    if x.layout.numel != 1 or x.layout.dtype.differentiable:
        raise ArgumentError(f"index: expected one element of an integer dtype, got {x.layout.dtype.name} {list(x.layout.shape)}.")
    return int(item(x))


def to_float(x: Tensor) -> float:
    """``float(x)``."""
    return float(to_real(x, "float"))


def to_int(x: Tensor) -> int:
    """``int(x)``."""
    if traces and (trace := capture_of_thread()) is not None:
        x = trace.whole_number(x)
    return int(to_real(x, "int"))


def to_complex(x: Tensor) -> complex:
    """``complex(x)``."""
    return complex(only_number(x, "complex"))


def contains(x: Tensor, value: Any) -> bool:
    """Whether any element equals ``value``, a number or a tensor that broadcasts.

    Raises:
        ArgumentError: neither number nor tensor.
    """
    if not isinstance(value, (Tensor, bool, int, float, complex, np.generic)):
        raise ArgumentError(f"in: expected a Tensor or a number, got {type(value).__name__}.")
    return bool(values_of(CALLS["eq"](native.alias(x), value)).any())


def length(x: Tensor) -> int:
    """The size of the first dimension."""
    if not x.layout.shape:
        raise ArgumentError("len: a 0-d tensor has no length.")
    return x.layout.shape[0]


DOORS = {
    "numpy": numpy,
    "__array__": as_array,
    "item": item,
    "tolist": tolist,
    "__len__": length,
    "__contains__": contains,
    "__float__": to_float,
    "__int__": to_int,
    "__complex__": to_complex,
    "__index__": to_index,
    "_constant_": constant_operand,
    "_number_": constant_number,
    "_everywhere_": everywhere,
}


def install_doors() -> None:
    """Hang the doors on Tensor."""
    for name, function in DOORS.items():
        setattr(Tensor, name, function)
