"""Factories: tensors filled with numbers, and like other tensors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DTypeLike, get_default_dtype
from ..base.errors import ArgumentError, ShapeError
from ..base.function_attributes import attach
from ..modes.batched import wrap_batched
from ..modes.created import made_by_class
from ..modes.dispatch_modes import wrapper_classes
from ..modes.overrides import handle_function
from ..modes.wrappers import is_wrapped
from ..tensors.batch_levels import is_batched, open_levels, whole
from ..tensors.layout import layout_of, sparse_marks
from ..tensors.memory_format import MemoryFormat, order_of, strides_of
from ..tensors.storage import CPU, Device
from ..tensors.tensor import Tensor, is_sparse, new_tensor
from ..tensors.untyped import UntypedStorage
from .allocation import empty_of, into, layout_for, layout_like, leaf, new_full, shape_of
from .constants import filled_like, like, numbered, sized, sized_like
from .fitted_numbers import dtype_of_fill, fit_number, is_followed, of_number
from .from_data import as_tensor, asarray, frombuffer, of_alike, tensor, there
from .mapped_files import from_file, storage_from_file
from .numpy_exchange import from_numpy
from .sequences import arange, linspace, logspace, python_number

__all__ = [
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "scalar_tensor",
    "zeros",
    "zeros_like",
    "install_creation",
]


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
    if wrapper_classes and is_wrapped(input):
        return made_by_class("zeros_like", input, dtype=dtype, device=device).requires_grad_(requires_grad)
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
    if wrapper_classes and is_wrapped(input):
        return made_by_class("ones_like", input, dtype=dtype, device=device).requires_grad_(requires_grad)
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
    if wrapper_classes and is_wrapped(input):
        return made_by_class("empty_like", input, dtype=dtype, device=device).requires_grad_(requires_grad)
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
    if wrapper_classes and is_wrapped(input):
        return made_by_class("full_like", input, fill_value=fill_value, dtype=dtype, device=device).requires_grad_(requires_grad)
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
full, eye = numbered(full, uniform=True), numbered(eye)
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
        from_file,
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
    UntypedStorage.from_file = staticmethod(storage_from_file)  # type: ignore[attr-defined]
    return FUNCTIONS


CALLS.update(new_full=new_full, zeros_like=zeros_like, ones_like=ones_like, asarray=asarray, tensor=tensor)
