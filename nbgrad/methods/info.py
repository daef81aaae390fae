"""Functions of the package that compute little: what things are, which dtype or shape a result would have, settings that torch
has, old constructors.
"""
from __future__ import annotations

import math
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, result_dtype, uint8
from ..base.errors import ArgumentError, RangeError
from ..base.grad_mode import special
from ..base.size import Size, size_of
from ..creation.casting import on_device
from ..creation.factories import empty, empty_like, tensor
from ..dispatch.out import require_no_grad, store_results
from ..tensors import memory_format
from ..tensors.layout import broadcast_shapes as common_shape
from ..tensors.storage import CPU, Device, UntypedStorage
from ..tensors.tensor import Tensor

__all__ = ["are_deterministic_algorithms_enabled", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes",
           "broadcast_tensors", "column_stack", "detach", "fill", "get_default_device", "get_device",
           "get_float32_matmul_precision", "is_nonzero", "is_same_size", "is_signed", "is_storage", "is_tensor", "numel",
           "public_names", "result_type", "set_default_device", "set_float32_matmul_precision", "typename",
           "use_deterministic_algorithms"]


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
        return f"nbgrad.{CONSTRUCTOR_NAMES.get(obj.layout.dtype, 'Tensor')}"
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
    return result_dtype([(x.layout.dtype, x.layout.ndim) for x in operands if isinstance(x, Tensor)],
                        [x for x in operands if not isinstance(x, Tensor)])


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


def several(tensors: tuple) -> tuple:
    """Tensors given one by one, or as one sequence."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape: views.

    Raises:
        ShapeError: they do not broadcast. ArgumentError: one is no tensor.

    >>> import nbgrad
    >>> x, y = nbgrad.broadcast_tensors(nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([[3.0], [4.0]]))
    >>> y
    tensor([[3., 3.],
            [4., 4.]])
    """
    xs = [require_tensor("broadcast_tensors", x) for x in several(tensors)]
    shape = common_shape("broadcast_tensors", [x.layout.shape for x in xs])
    return tuple(CALLS["expand_shape"](x, shape) for x in xs)


def reshaped(op: str, tensors: tuple, shape: Any) -> Any:
    """``shape(sizes)`` for one tensor, or for each of several."""
    made = tuple(CALLS["view_shape"](x, shape(x.layout.shape)) if shape(x.layout.shape) != x.layout.shape else x
                 for x in (require_tensor(op, x) for x in several(tensors)))
    return made[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else made


def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or a tuple of several, with at least one dimension: a view of a 0-d tensor, else the tensor itself.

    >>> import nbgrad
    >>> nbgrad.atleast_1d(nbgrad.tensor(2.0))
    tensor([2.])
    """
    return reshaped("atleast_1d", tensors, lambda shape: shape or (1,))


def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or a tuple of several, with at least two dimensions: new ones of size 1 come in front.

    >>> import nbgrad
    >>> nbgrad.atleast_2d(nbgrad.ones(3)).shape
    nbgrad.Size([1, 3])
    """
    return reshaped("atleast_2d", tensors, lambda shape: (1,) * (2 - len(shape)) + shape)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or a tuple of several, with at least three dimensions: a vector becomes ``(1, n, 1)``, a matrix ``(m, n, 1)``.

    >>> import nbgrad
    >>> nbgrad.atleast_3d(nbgrad.ones(3), nbgrad.ones(2, 3))[1].shape
    nbgrad.Size([2, 3, 1])
    """
    return reshaped("atleast_3d", tensors, lambda shape: (1, *shape, 1) if len(shape) == 1 else (*shape, *(1,) * (3 - len(shape))))


def column_stack(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """The tensors beside each other as columns; a vector is one column.

    >>> import nbgrad
    >>> nbgrad.column_stack([nbgrad.tensor([1, 2]), nbgrad.tensor([[3, 4], [5, 6]])])
    tensor([[1, 3, 4],
            [2, 5, 6]])
    """
    columns = [x.reshape(-1, 1) if require_tensor("column_stack", x).layout.ndim <= 1 else x for x in tensors]
    joined = CALLS["cat"](columns, 1)
    if out is None:
        return joined
    require_no_grad("column_stack", (joined, out))
    return store_results("column_stack", joined, out)


def detach(input: Tensor) -> Tensor:
    """The same memory and version without history: ``input.detach()``.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> nbgrad.detach(x)
    tensor([1., 1.])
    """
    return require_tensor("detach", input).detach()


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like ``input`` with one value everywhere; no gradient flows into ``input``.

    >>> import nbgrad
    >>> nbgrad.fill(nbgrad.ones(2), 3)
    tensor([3., 3.])
    """
    x = require_tensor("fill", input)
    if x.layout.numel < 4096 or special or type(x) is not Tensor or x.layout.special or x._needs_grad_:
        return x.clone().fill_(value)           # of few elements the quicker way
    return empty_like(x).fill_(value)           # no history, so nothing of it is copied


# ---- settings ------------------------------------------------------------------------------------------------------

class Settings:
    """What programs set for torch and may read again; nothing here depends on it."""

    deterministic = False
    matmul_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same in every run: they are anyway, whatever the number of threads.

    >>> nbgrad.use_deterministic_algorithms(True)
    >>> nbgrad.are_deterministic_algorithms_enabled()
    True
    >>> nbgrad.use_deterministic_algorithms(False)
    """
    Settings.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was last given."""
    return Settings.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precise products of matrices: they stay as precise as they are.

    Raises:
        RangeError: another word than "highest", "high" or "medium".
    """
    if precision not in ("highest", "high", "medium"):
        raise RangeError(f"set_float32_matmul_precision: got {precision!r}, expected 'highest', 'high' or 'medium'.")
    Settings.matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was last given."""
    return Settings.matmul_precision


# ---- devices -------------------------------------------------------------------------------------------------------

def get_default_device() -> Device:
    """Where new tensors are.

    >>> import nbgrad
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    return CPU


def set_default_device(device: Any) -> None:
    """Say where new tensors are to be.

    Raises:
        DeviceError, NotSupportedError: elsewhere than on the CPU.

    >>> nbgrad.set_default_device("cpu")
    >>> nbgrad.get_default_device()
    device(type='cpu')
    """
    on_device("set_default_device", device)


# ---- old constructors ----------------------------------------------------------------------------------------------

class TensorType(type):
    """Of the old constructors: a tensor of its dtype is an instance."""

    dtype: DType

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        on_device(cls.__name__, device)
        if all(isinstance(size, int) for size in args):
            return empty(*(args or (0,)), dtype=cls.dtype)
        if len(args) != 1:
            raise ArgumentError(f"{cls.__name__}: expected sizes, or data; got {len(args)} arguments.")
        data, = args
        return empty(*data, dtype=cls.dtype) if isinstance(data, Size) else tensor(data, dtype=cls.dtype)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.layout.dtype is cls.dtype


CONSTRUCTOR_NAMES = {bool_: "BoolTensor", uint8: "ByteTensor", int8: "CharTensor", int16: "ShortTensor", int32: "IntTensor",
                     int64: "LongTensor", float16: "HalfTensor", bfloat16: "BFloat16Tensor", float32: "FloatTensor",
                     float64: "DoubleTensor"}


def constructor(name: str, dtype: DType) -> type:
    """The class ``FloatTensor`` and its like."""
    doc = f"The old form of ``tensor(data, dtype=nbgrad.{dtype.name})`` and of ``empty(*sizes, dtype=nbgrad.{dtype.name})``."
    return TensorType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "nbgrad"})


def public_names() -> dict[str, Any]:
    """What the package's namespace gets: the functions above, constants, constructors, types."""
    names: dict[str, Any] = {name: globals()[name] for name in __all__ if name != "public_names"}
    names |= {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "newaxis": None}
    names |= {"Size": Size, "device": Device, "dtype": DType, "memory_format": memory_format.MemoryFormat}
    names |= {name: getattr(memory_format, name) for name in ("contiguous_format", "preserve_format", "channels_last",
                                                              "channels_last_3d", "strided")}
    return names | {name: constructor(name, dtype) for dtype, name in CONSTRUCTOR_NAMES.items()}
