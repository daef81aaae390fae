"""Questions that compute nothing: what an object is, and which dtype or shape a result would have."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import DType, result_dtype
from ..base.errors import ArgumentError, RangeError
from ..base.size import Size, size_of
from ..tensors.layout import broadcast_shapes as common_shape
from ..tensors.tensor import Tensor
from ..tensors.untyped import UntypedStorage

__all__ = [
    "broadcast_shapes",
    "get_device",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "result_type",
    "typename",
]


def require_tensor(op: str, x: Any) -> Tensor:
    """The tensor.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{op}: expected a Tensor, got {type(x).__name__}. Hint: nbgrad.tensor(data).")
    return x


# ---- what things are -----------------------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor.

    >>> import nbgrad
    >>> nbgrad.is_tensor(nbgrad.ones(2)), nbgrad.is_tensor(2.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any) -> bool:
    """Whether it is the memory behind a tensor: what ``untyped_storage()`` returns.

    >>> x = nbgrad.ones(2)
    >>> nbgrad.is_storage(x.untyped_storage()), nbgrad.is_storage(x)
    (True, False)
    """
    return isinstance(obj, UntypedStorage)


def numel(input: Tensor) -> int:
    """The number of elements.

    Raises:
        ArgumentError: no tensor.

    >>> import nbgrad
    >>> nbgrad.numel(nbgrad.ones(2, 3))
    6
    """
    return require_tensor("numel", input).layout.numel


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0.

    Raises:
        ArgumentError: no tensor. ShapeError: not exactly one element.

    >>> nbgrad.is_nonzero(nbgrad.tensor([0.5]))
    True
    """
    return bool(require_tensor("is_nonzero", input))


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    >>> nbgrad.is_signed(nbgrad.ones(2)), nbgrad.is_signed(nbgrad.ones(2, dtype=nbgrad.uint8))
    (True, False)
    """
    return require_tensor("is_signed", input).layout.dtype.is_signed


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape.

    >>> nbgrad.is_same_size(nbgrad.ones(2, 3), nbgrad.zeros(2, 3))
    True
    """
    return require_tensor("is_same_size", input).layout.shape == require_tensor("is_same_size", other).layout.shape


def get_device(input: Tensor) -> int:
    """The number of the GPU that the elements are on; -1 for the CPU.

    >>> nbgrad.get_device(nbgrad.ones(2))
    -1
    """
    index = require_tensor("get_device", input).layout.device.index
    return -1 if index is None else index


def typename(obj: Any) -> str:
    """The full name of a thing's type; of a tensor that of its old constructor.

    >>> import nbgrad
    >>> nbgrad.typename(nbgrad.ones(2)), nbgrad.typename(3)
    ('nbgrad.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


# ---- what a result would be ----------------------------------------------------------------------------------------


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an operation on two tensors or Python numbers.

    >>> import nbgrad
    >>> nbgrad.result_type(nbgrad.ones(2, dtype=nbgrad.int32), 1.5)
    nbgrad.float32
    """
    operands = (tensor1, tensor2)
    return result_dtype(
        [(x.layout.dtype, x.layout.ndim) for x in operands if isinstance(x, Tensor)],
        [x for x in operands if not isinstance(x, Tensor)],
    )


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes (tuples of sizes, or ints) broadcast to.

    Raises:
        ShapeError: they do not broadcast. RangeError: a negative size.

    >>> import nbgrad
    >>> nbgrad.broadcast_shapes((2, 1), (3,), 1)
    nbgrad.Size([2, 3])
    """
    sizes = [Size((shape,) if isinstance(shape, int) else shape) for shape in shapes]
    if any(size < 0 for shape in sizes for size in shape):
        raise RangeError(f"broadcast_shapes: got {', '.join(str(list(shape)) for shape in sizes)}; expected sizes >= 0.")
    return size_of(common_shape("broadcast_shapes", sizes))
