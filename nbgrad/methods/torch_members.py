"""Methods and properties of torch's tensors that are no operations: questions about memory, and answers that never change.

Nothing here has a derivative of its own: what can be recorded is written in operations.
"""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.dtypes import int64
from ..base.errors import ArgumentError, ShapeError
from ..base.grad_mode import traces
from ..base.user_stack import warn_user
from ..creation.casting import moved, on_device
from ..creation.factories import empty_strided
from ..creation.pinning import is_pinned, pinned
from ..dispatch.inplace_views import inplace_view
from ..modes.overrides import functions_of
from ..ops.shapes import sizes
from ..ops.spellings import as_several
from ..tensors.batch_levels import leave_graph
from ..tensors.storage import META
from ..tensors.streams import record_stream
from ..tensors.tensor import Tensor
from ..tensors.untyped import UntypedStorage
from .elements import apply_, fill_diagonal_, map2_, map_
from .functions import FUNCTIONS
from .inplace_functions import inplace_functions
from .memory_formats import clone_function, clone_method, contiguous, dim_order
from .tensor_info import get_device, is_nonzero, is_same_size, is_signed
from .typed_constructors import constructed
from .typed_storage import storage

__all__ = ["UntypedStorage", "install_forms"]


# ---- memory --------------------------------------------------------------------------------------------------------


def untyped_storage(x: Tensor) -> UntypedStorage:
    """The memory behind the tensor."""
    if traces:
        leave_graph("untyped_storage", x)
    return UntypedStorage(x._storage_)


def is_set_to(x: Tensor, other: Tensor) -> bool:
    """Whether both are the same part of the same memory in the same shape."""
    return (
        x._storage_.array is other._storage_.array
        and x._offset_ == other._offset_
        and x.layout.shape == other.layout.shape
        and x.layout.strides == other.layout.strides
    )


def pin_memory(x: Tensor, device: Any = None) -> Tensor:
    """The tensor in pinned memory, from which a GPU fetches while the program goes on; itself where it is there.

    Args:
        device: which GPU it is for: any of them reaches it.

    Raises:
        DeviceError: there is no GPU, or the tensor is on one. OutOfMemoryError: the system gives no such memory.
    """
    return pinned("pin_memory", x, device)


def share_memory_(x: Tensor) -> Tensor:
    """Move the tensor, with all that shares its storage, to memory that other processes can see: forks of this one, and those to
    which ``nbgrad.multiprocessing`` sends it. Arrays of NumPy and tensors of ``x.data`` that were there before stay behind.

    Returns:
        The tensor.

    Raises:
        NotSupportedError: it is on a GPU. InplaceError: its memory is read-only.

    >>> import nbgrad
    >>> nbgrad.ones(2).share_memory_().is_shared()
    True
    """
    from ..tensors.shared import share  # which few programs need

    share("share_memory_", x._storage_)
    return x


def is_shared(x: Tensor) -> bool:
    """Whether other processes can see its memory: see ``share_memory_``."""
    from ..tensors.shared import shared_owner

    return shared_owner(x._storage_.array) is not None


def to_dense(x: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, which is dense; in another dtype if one is given."""
    return x if dtype is None else x.to(dtype)


def sparse_dim(x: Tensor) -> int:
    """0: the tensor is dense."""
    return 0


def late_method(name: str) -> Callable:
    """A method that is imported from ``nbgrad.sparse`` when it is called."""

    def method(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(import_module("nbgrad.sparse"), name)(x, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See ``nbgrad.sparse.{name}``."
    return method


# ---- new tensors ---------------------------------------------------------------------------------------------------


def new(x: Tensor, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
    """A tensor of the dtype of this one: of sizes (without particular values), or of data.

    The old form of ``new_empty`` and ``new_tensor``. A ``Size``, as ``y.shape`` is, stands for sizes, a tuple for data.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, 3)
    >>> x.new(x.shape).shape, x.new((2, 3))
    (nbgrad.Size([2, 3]), tensor([2., 3.]))
    """
    return constructed("new", x.layout.dtype, args, device or x.layout.device, kwargs)


def new_empty_strided(
    x: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """``nbgrad.empty_strided`` with the dtype of this tensor, and on its device, unless others are given."""
    own = x.layout
    dtype, device = own.dtype if dtype is None else dtype, own.device if device is None else device
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def resize(x: Tensor, *sizes: Any) -> Tensor:
    """The old form of ``reshape``: the number of elements stays.

    Raises:
        ShapeError: it would not.
    """
    warn_user("resize: is the old form of reshape and resize_. Hint: x.reshape(sizes).")
    return x.reshape(*sizes)


def sum_to_size(x: Tensor, *each: Any, size: Any = None) -> Tensor:
    """Sum over the dimensions that broadcasting ``size`` to the shape of ``x`` would add or stretch; of integers in int64.

    Raises:
        ShapeError: ``size`` does not broadcast to that shape.

    >>> import nbgrad
    >>> nbgrad.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = sizes(each if size is None else as_several(size))
    own = x.layout.shape
    if len(shape) > len(own) or any(s not in (1, n) for s, n in zip(reversed(shape), reversed(own))):
        raise ShapeError(f"sum_to_size: {list(shape)} does not broadcast to {list(own)}.")
    if shape == own:
        return x
    return CALLS["sum_to"](x if x.layout.dtype.differentiable else CALLS["to_dtype"](x, int64), shape)


def to_device(x: Tensor, device: Any, non_blocking: bool = False, *, stream: Any = None) -> Tensor:
    """The tensor on a device; itself where it is there.

    Args:
        non_blocking: a copy between pinned memory and a GPU need not be done when this returns.
        stream: a ``cuda.Stream`` to copy on, instead of the current one.

    Source: the Array API standard; torch has ``to``.

    >>> import nbgrad
    >>> nbgrad.ones(2).to_device("cpu")
    tensor([1., 1.])
    """
    with import_module("nbgrad.cuda").stream(stream) if stream is not None else nullcontext():
        return moved(x, on_device("to_device", device), non_blocking)


def __array_namespace__(x: Tensor, *, api_version: str | None = None) -> Any:
    """The functions of the Array API standard: ``nbgrad.array_api``.

    Raises:
        ArgumentError: another version than 2021.12 to 2024.12.
    """
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ArgumentError(f"__array_namespace__: api_version is {api_version!r}, expected '2024.12' or an earlier one.")
    return import_module("nbgrad.array_api")


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


ABSENT = (
    "is_sparse",
    "is_sparse_csr",
    "is_nested",
    "is_quantized",
    "is_mkldnn",
    "is_mps",
    "is_xpu",
    "is_xla",
    "is_ipu",
    "is_maia",
    "is_mtia",
    "is_vulkan",
)
PROPERTIES = {name: constant(False, "False: a kind of tensor that this one is not.") for name in ABSENT}
PROPERTIES |= {"is_cpu": property(lambda x: x.layout.device.type == "cpu", doc="Whether the elements are in the CPU's memory.")}
PROPERTIES |= {"is_meta": property(lambda x: x.layout.device is META, doc="Whether there are no elements: the device is meta.")}
PROPERTIES |= {"_cdata": property(lambda x: id(x), doc="A number that no other tensor has while this one lives.")}
METHODS: dict[str, Callable] = {
    "untyped_storage": untyped_storage,
    "storage": storage,
    "is_set_to": is_set_to,
    "is_same_size": is_same_size,
    "pin_memory": pin_memory,
    "share_memory_": share_memory_,
    "record_stream": record_stream,
    "get_device": get_device,
    "dim_order": dim_order,
    "new": new,
    "new_empty_strided": new_empty_strided,
    "resize": resize,
    "sum_to_size": sum_to_size,
    "apply_": apply_,
    "map_": map_,
    "map2_": map2_,
    "fill_diagonal_": fill_diagonal_,
    "const_data_ptr": Tensor.data_ptr,
    "is_signed": is_signed,
    "is_nonzero": is_nonzero,
    "is_pinned": is_pinned,
    "is_shared": is_shared,
    "is_distributed": answer(False, "False, as of all tensors."),
    "to_dense": to_dense,
    "dense_dim": Tensor.dim,
    "sparse_dim": sparse_dim,
    "__array_namespace__": __array_namespace__,
    "to_device": to_device,
    **{name: late_method(name) for name in ("sparse_mask", "to_sparse", "to_sparse_coo")},
    **{name: late_method(name) for name in ("to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr")},
}


def install_forms() -> dict[str, Callable]:
    """Hang the methods on Tensor; return the in-place functions by name."""
    as_strided_ = inplace_view("as_strided")
    as_strided_.__doc__ = "In place: the tensor takes the layout of ``x.as_strided(...)``."
    over = {"clone": clone_method(CALLS["clone"]), "contiguous": contiguous, "as_strided_": as_strided_}
    for name, member in {**PROPERTIES, **METHODS, **over}.items():
        setattr(Tensor, name, member)
    clone = FUNCTIONS["clone"] = functions_of["clone"] = clone_function(FUNCTIONS["clone"])
    return {"clone": clone, **inplace_functions()}
