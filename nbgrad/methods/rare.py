"""Rarely used methods of Tensor: what it says of its memory, Python functions of its elements; in-place methods as functions.

Nothing here has a derivative of its own: what is recorded is written in operations that have one.
"""
from __future__ import annotations

import inspect
import warnings
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DeviceError, GradError, ShapeError
from ..base.size import Size
from ..creation.factories import empty, empty_strided, tensor
from ..dispatch.inplace import inplace_view
from ..graph.edges import requires_grad
from ..modes.overrides import functions_of
from ..ops.core import OPS, Elementwise
from ..tensors.arrays import array_of
from ..tensors.memory_format import order_of, preserve_format
from ..tensors.storage import UntypedStorage
from ..tensors.tensor import Tensor
from .info import get_device, is_nonzero, is_same_size, is_signed
from .install import FUNCTIONS

__all__ = ["UntypedStorage", "inplace_functions", "install_forms"]


# ---- memory --------------------------------------------------------------------------------------------------------

def untyped_storage(x: Tensor) -> UntypedStorage:
    """The memory behind the tensor."""
    return UntypedStorage(x._storage_)


def is_set_to(x: Tensor, other: Tensor) -> bool:
    """Whether both are the same part of the same memory in the same shape."""
    return (x._storage_.array is other._storage_.array and x._offset_ == other._offset_
            and x.layout.shape == other.layout.shape and x.layout.strides == other.layout.strides)


def pin_memory(x: Tensor, device: Any = None) -> Tensor:
    """Memory that a GPU could fetch from without waiting.

    Raises:
        DeviceError: always: there is no GPU that tensors can be on.
    """
    raise DeviceError("pin_memory: there is no accelerator that memory could be pinned for. Hint: leave it out.")


def share_memory_(x: Tensor) -> Tensor:
    """Memory that other processes see.

    Raises:
        ArgumentError: always. Hint: a NumPy array on ``multiprocessing.shared_memory`` can be shared by ``nbgrad.from_numpy``.
    """
    raise ArgumentError("share_memory_: tensors do not share memory with other processes by themselves. "
                        "Hint: nbgrad.from_numpy(array) of an array on multiprocessing.shared_memory.")


def record_stream(x: Tensor, stream: Any) -> None:
    """Accepted for torch's sake: memory on the CPU waits for no stream."""


def dim_order(x: Tensor) -> tuple[int, ...]:
    """The dimensions from the one with the largest stride to that with the smallest."""
    return tuple(sorted(range(x.layout.ndim), key=lambda d: (-x.layout.strides[d], d)))


# ---- new tensors ---------------------------------------------------------------------------------------------------

def new(x: Tensor, *args: Any) -> Tensor:
    """A tensor of the dtype of this one: of sizes (without particular values), or of data.

    The old form of ``new_empty`` and ``new_tensor``. A ``Size``, as ``y.shape`` is, stands for sizes, a tuple for data.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, 3)
    >>> x.new(x.shape).shape, x.new((2, 3))
    (nbgrad.Size([2, 3]), tensor([2., 3.]))
    """
    if len(args) == 1 and isinstance(args[0], Size):
        return empty(args[0], dtype=x.layout.dtype)
    if all(isinstance(size, int) for size in args):
        return empty(*args, dtype=x.layout.dtype) if args else empty(0, dtype=x.layout.dtype)
    return tensor(args[0], dtype=x.layout.dtype)


def new_empty_strided(x: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
                      requires_grad: bool = False, layout: Any = None, pin_memory: bool = False) -> Tensor:
    """``nbgrad.empty_strided`` with the dtype of this tensor unless another is given."""
    return empty_strided(size, stride, dtype=x.layout.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


def resize(x: Tensor, *sizes: Any) -> Tensor:
    """The old form of ``reshape``: the number of elements stays.

    Raises:
        ShapeError: it would not.
    """
    warnings.warn("resize: is the old form of reshape and resize_. Hint: x.reshape(sizes).", UserWarning, stacklevel=2)
    return x.reshape(*sizes)


def sum_to_size(x: Tensor, *size: Any) -> Tensor:
    """Sum over the dimensions that broadcasting ``size`` to the shape of ``x`` would add or stretch.

    Raises:
        ShapeError: ``size`` does not broadcast to that shape.

    >>> import nbgrad
    >>> nbgrad.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    own = x.layout.shape
    if len(shape) > len(own) or any(s not in (1, n) for s, n in zip(reversed(shape), reversed(own))):
        raise ShapeError(f"sum_to_size: {list(shape)} does not broadcast to {list(own)}.")
    return CALLS["sum_to"](x, shape) if shape != own else x


# ---- memory formats ------------------------------------------------------------------------------------------------

def ordered_copy(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy with the dimensions in that order in memory, recorded."""
    if order == tuple(range(len(order))):
        return CALLS["contiguous_copy"](x)
    back = tuple(order.index(d) for d in range(len(order)))
    return CALLS["permute_dims"](CALLS["contiguous_copy"](CALLS["permute_dims"](x, order)), back)


def clone_method(plain: Callable) -> Callable:
    """The method ``clone`` with ``memory_format=``."""
    run: Callable = plain.run

    def clone(input: Tensor, memory_format: Any = None) -> Tensor:      # by position too: keywords alone cost 25 ns a call
        if memory_format is None:
            return run(input)
        order = order_of("clone", memory_format, input.layout.ndim)
        return run(input) if order is None else ordered_copy(input, order)
    clone.__doc__ = plain.__doc__
    return clone


def clone_function(plain: Callable) -> Callable:
    """The function ``clone`` with ``memory_format=``."""
    def clone(*operands: Any, memory_format: Any = None, **named: Any) -> Tensor:
        return plain(*operands, **named) if memory_format is None else operands[0].clone(memory_format=memory_format)
    clone.__doc__ = plain.__doc__
    option = inspect.Parameter("memory_format", inspect.Parameter.KEYWORD_ONLY, default=None)
    clone.__signature__ = inspect.Signature([*inspect.signature(plain).parameters.values(), option])
    return clone


def contiguous(x: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in the order of the memory format, row by row by default, else a copy that has it."""
    order = None if memory_format is None else order_of("contiguous", memory_format, x.layout.ndim)
    if order is None:
        return x if x.layout.contiguous or memory_format is preserve_format else CALLS["contiguous_copy"](x)
    return x if x.is_contiguous(memory_format) else ordered_copy(x, order)


# ---- Python functions of elements ----------------------------------------------------------------------------------

def require_plain(op: str, *tensors: Tensor) -> None:
    """Refuse tensors that require grad: a Python function has no derivative.

    Raises:
        GradError: one does. ArgumentError: one is none.
    """
    for x in tensors:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{op}: expected a Tensor, got {type(x).__name__}.")
        if requires_grad(x):
            raise GradError(f"{op}: a Python function has no derivative, and a tensor requires grad. Hint: x.detach().{op}(...).")


def mapped(op: str, x: Tensor, others: tuple[Tensor, ...], function: Callable) -> Tensor:
    """Write ``function`` of the elements of ``x`` and of others over ``x``."""
    require_plain(op, x, *others)
    arrays = np.broadcast_arrays(array_of(x), *(array_of(other) for other in others))
    if arrays[0].shape != x.layout.shape:
        raise ShapeError(f"{op}: the other tensors broadcast to {list(arrays[0].shape)}, expected {list(x.layout.shape)}.")
    values = [function(*elements) for elements in zip(*(array.ravel().tolist() for array in arrays))]
    return x.copy_(tensor(values, dtype=x.layout.dtype).reshape(x.layout.shape))


def apply_(x: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element)``, a Python function of Python numbers: slow.

    Raises:
        GradError: ``x`` requires grad.

    >>> import nbgrad
    >>> nbgrad.tensor([1.0, 4.0]).apply_(lambda element: element ** 0.5)
    tensor([1., 2.])
    """
    return mapped("apply_", x, (), callable)


def map_(x: Tensor, tensor: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element, element of tensor)``.

    Raises:
        GradError: a tensor requires grad. ShapeError: ``tensor`` does not broadcast to the shape of ``x``.
    """
    return mapped("map_", x, (tensor,), callable)


def map2_(x: Tensor, x2: Tensor, x3: Tensor, callable: Callable) -> Tensor:
    """Replace every element by ``callable(element, element of x2, element of x3)``; errors as of ``map_``."""
    return mapped("map2_", x, (x2, x3), callable)


# ---- in place ------------------------------------------------------------------------------------------------------

def fill_diagonal_(x: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the elements with equal indices.

    Args:
        fill_value: the number.
        wrap: in a tall matrix, begin again below the square, after a row that is left out.

    Raises:
        ShapeError: fewer than two dimensions, or more of different sizes.

    >>> import nbgrad
    >>> nbgrad.zeros(2, 3).fill_diagonal_(1)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    shape = x.layout.shape
    if len(shape) < 2 or len(shape) > 2 and len(set(shape)) > 1:
        raise ShapeError(f"fill_diagonal_: expected a matrix, or more dimensions of one size, got {list(shape)}.")
    step, rows = sum(x.layout.strides), min(shape)
    x.as_strided((rows,), (step,)).fill_(fill_value)
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        fill_diagonal_(x.narrow(0, shape[1] + 1, shape[0] - shape[1] - 1), fill_value, wrap)
    return x


# ---- installation --------------------------------------------------------------------------------------------------

def constant(value: Any, doc: str) -> property:
    """A property that is the same for all tensors."""
    return property(lambda x: value, doc=doc)


def answer(value: bool, doc: str) -> Callable:
    """A method that says the same of all tensors."""
    def method(x: Tensor) -> bool:
        return value
    method.__doc__ = doc
    return method


ABSENT = ("is_sparse", "is_sparse_csr", "is_nested", "is_quantized", "is_mkldnn", "is_meta", "is_mps", "is_xpu", "is_xla", "is_ipu",
          "is_maia", "is_mtia", "is_vulkan")
PROPERTIES = {name: constant(False, "False: a kind of tensor that torch has and nbgrad has not.") for name in ABSENT}
PROPERTIES |= {
    "is_cpu": property(lambda x: x.layout.device.type == "cpu", doc="Whether the elements are in the CPU's memory."),
}
METHODS: dict[str, Callable] = {
    "untyped_storage": untyped_storage, "is_set_to": is_set_to, "is_same_size": is_same_size, "pin_memory": pin_memory,
    "share_memory_": share_memory_, "record_stream": record_stream, "get_device": get_device, "dim_order": dim_order, "new": new,
    "new_empty_strided": new_empty_strided, "resize": resize, "sum_to_size": sum_to_size, "apply_": apply_, "map_": map_,
    "map2_": map2_, "fill_diagonal_": fill_diagonal_, "const_data_ptr": Tensor.data_ptr,
    "is_signed": is_signed, "is_nonzero": is_nonzero,
    "is_pinned": answer(False, "False: memory is never pinned."), "is_shared": answer(False, "False: see ``share_memory_``."),
    "is_distributed": answer(False, "False, as of all tensors."),
    "to_dense": lambda x, *args, **kwargs: x, "dense_dim": Tensor.dim, "sparse_dim": lambda x: 0,
}
DOCS = {"to_dense": "The tensor itself: there are no sparse ones.", "sparse_dim": "0: there are no sparse tensors."}

# In-place methods of several operands, or of no operation of the table, that torch has as functions.
ALSO_FUNCTIONS = ("addmv_", "alpha_dropout_", "as_strided_", "celu_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "detach_",
                  "dropout_", "feature_alpha_dropout_", "feature_dropout_", "fill_", "gcd_", "index_put_", "lcm_", "ldexp_",
                  "logit_", "nan_to_num_", "relu_", "resize_as_", "round_", "rrelu_", "selu_", "threshold_", "xlogy_", "zero_")


def install_forms() -> dict[str, Callable]:
    """Hang the methods on Tensor; return the in-place functions by name."""
    for name, doc in DOCS.items():
        METHODS[name].__doc__ = doc
    for name, member in {**PROPERTIES, **METHODS}.items():
        setattr(Tensor, name, member)
    Tensor.clone = clone_method(CALLS["clone"])
    clone = FUNCTIONS["clone"] = functions_of["clone"] = clone_function(FUNCTIONS["clone"])
    Tensor.contiguous = contiguous
    as_strided_ = inplace_view("as_strided")
    as_strided_.__doc__ = "In place: the tensor takes the layout of ``x.as_strided(...)``."
    Tensor.as_strided_ = as_strided_
    return {"clone": clone, **inplace_functions()}


def inplace_functions() -> dict[str, Callable]:
    """``nbgrad.relu_(x)``: in-place methods of one operand as functions, and what else torch has of that kind."""
    names = {name for op in OPS.values() if isinstance(op, Elementwise) and op.inplace and op.function and len(op.operands) == 1
             for name in (op.name, *op.aliases)}
    wanted = {*(name + "_" for name in names), *ALSO_FUNCTIONS}
    return {name: by_input(getattr(Tensor, name)) for name in sorted(wanted) if hasattr(Tensor, name)}


def by_input(method: Callable) -> Callable:
    """The function of a method: its first argument may be given by name."""
    first, *others = inspect.signature(method).parameters.values()
    if method.__code__.co_varnames[:1] == ("input",):
        return method

    def function(input: Tensor, *args: Any, **named: Any) -> Any:
        return method(input, *args, **named)
    function.__name__ = function.__qualname__ = method.__name__
    function.__doc__ = method.__doc__
    function.__signature__ = inspect.Signature([first.replace(name="input"), *others])
    return function
