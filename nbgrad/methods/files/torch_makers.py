"""torch's names in its files, and what is made of them: tensors on storages, parameters, dtypes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from ...base.dtypes import DTYPES, DType, uint8
from ...base.errors import NotSupportedError
from ...tensors import memory_format
from ...tensors.storage import META, Storage
from ...tensors.tensor import Parameter, Tensor, is_sparse
from .archive import damaged
from .makers import MAKERS, Maker, checked_layout, kind_of, leaf_of, maker, tensor_on
from .names import STORAGES
from .storage_bytes import blank_storage

__all__ = ["StorageKind", "TypedStorage"]


class StorageKind(NamedTuple):
    """torch's type of a storage; untyped ones, whose elements are bytes, have None."""

    dtype: DType | None


class TypedStorage(NamedTuple):
    """A storage as a pickle knows it."""

    storage: Storage
    dtype: DType


for dtype, storage_name in STORAGES.items():
    MAKERS["torch", storage_name] = StorageKind(dtype)
MAKERS["torch.storage", "UntypedStorage"] = MAKERS["torch", "UntypedStorage"] = StorageKind(None)
for dtype in DTYPES:
    MAKERS["torch", dtype.name] = dtype


SPARSE_LAYOUTS = [f"torch.sparse_{name}" for name in ("coo", "csr", "csc", "bsr", "bsc")]


class Lacking(NamedTuple):
    """A dtype that nbgrad lacks."""

    name: str


OTHERS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
for other in (*OTHERS, "complex32", "qint8", "quint8", "qint32"):
    MAKERS["torch", other] = Lacking(other)


@maker("torch._utils._rebuild_tensor")
def rebuild_tensor(storage: Any, offset: int, size: Any, stride: Any) -> Tensor:
    """The oldest form."""
    return rebuild_tensor_v2(storage, offset, size, stride)


@maker("torch._utils._rebuild_tensor_v2")
def rebuild_tensor_v2(
    storage: Any, offset: int, size: Any, stride: Any, needs_grad: Any = False, hooks: Any = None, metadata: Any = None
) -> Tensor:
    """A tensor of the storage's dtype."""
    return rebuild_tensor_v3(storage, offset, size, stride, needs_grad, hooks, None, metadata)


@maker("torch._utils._rebuild_tensor_v3")
def rebuild_tensor_v3(
    storage: Any, offset: int, size: Any, stride: Any, needs_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Tensor:
    """A tensor of any dtype on a storage; ``metadata`` says which lazy bits it has."""
    if isinstance(dtype, Lacking):
        raise NotSupportedError(f"load: the file has a tensor of {dtype.name}, which nbgrad lacks. Hint: convert it before saving.")
    if type(storage) is not TypedStorage or type(offset) is not int:
        raise TypeError("no storage")
    lazy = metadata if isinstance(metadata, dict) else {}
    dtype = storage.dtype if dtype is None else dtype
    with_bits = checked_layout(dtype, size, stride, storage.storage.device, bool(lazy.get("conj")), bool(lazy.get("neg")))
    return tensor_on(Tensor, storage.storage, with_bits, offset * dtype.itemsize, bool(needs_grad))


@maker("torch._utils._rebuild_meta_tensor_no_storage")
def rebuild_meta_tensor(dtype: Any, size: Any, stride: Any, needs_grad: Any) -> Tensor:
    """A tensor of which there are no elements, wherever others go."""
    if type(dtype) is not DType:
        raise TypeError("no dtype")
    from ...tensors.gpu import extent

    layout = checked_layout(dtype, size, stride, META)
    nbytes = extent(layout) * dtype.itemsize
    return tensor_on(Tensor, blank_storage(nbytes, dtype, META), layout, 0, bool(needs_grad))


@maker("torch._utils._rebuild_parameter")
def rebuild_parameter(data: Tensor, needs_grad: Any, hooks: Any, state: Any = None) -> Parameter:
    """A parameter on a tensor's memory."""
    return as_kind(Parameter, data, bool(needs_grad), state)


maker("torch._utils._rebuild_parameter_with_state")(rebuild_parameter)


@maker("torch._tensor._rebuild_from_type_v2")
def rebuild_from_type(function: Any, kind: Any, args: Any, state: Any) -> Tensor:
    """A tensor with attributes, or of a type."""
    if type(function) is not Maker:
        raise TypeError("no function")
    found = function(*args)
    return as_kind(kind_of(kind), found, found.requires_grad, state)


def as_kind(kind: type, x: Any, needs_grad: bool, state: Any) -> Any:
    """A tensor as one of a type, with attributes; torch writes them beside slots that have none."""
    if not isinstance(x, Tensor) or not issubclass(kind, Tensor):
        raise TypeError("no tensor")
    if is_sparse(x):
        if kind is not Parameter:
            raise TypeError("no parameter")
        return Parameter(x, needs_grad)
    state = state[0] if isinstance(state, tuple) and len(state) == 2 else state
    return leaf_of(kind, x._storage_, x.layout, x._offset_, needs_grad, state)


@maker("torch.serialization._get_layout")
def memory_layout(name: str) -> Any:
    """``torch.strided``, ``torch.sparse_coo`` and its like."""
    if name == "torch.strided":
        return memory_format.strided
    if name not in SPARSE_LAYOUTS:
        raise NotSupportedError(
            f"load: the file has a tensor of layout {name}, expected a strided or sparse one. Hint: x.to_dense() before saving."
        )
    return getattr(import_module("nbgrad.sparse"), name.removeprefix("torch."))


@maker("torch._utils._rebuild_sparse_tensor")
def rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor of places, which are looked at, values and a shape."""
    sparse = import_module("nbgrad.sparse")
    if layout is sparse.sparse_coo:
        places, values, size, *told = data
        return sparse.sparse_coo_tensor(places, values, tuple(size), is_coalesced=bool(told and told[0]))
    begins, others, values, size = data
    return sparse.sparse_compressed_tensor(begins, others, values, tuple(size), layout=layout)


def storage_id(pid: Any, parts: int) -> tuple:
    """What a pickle says of a storage, after the word for it: its type, a key, where it was, a count, and what else there is.

    Raises:
        LoadError: it is something else.
    """
    if type(pid) is not tuple or len(pid) != parts or pid[0] != "storage" or type(pid[2]) is not str:
        raise damaged("the pickle names something that is no storage")
    return pid[1:]


def no_storage(pid: Any) -> TypedStorage:
    """The storage that a pickle by itself names: there is none.

    Raises:
        LoadError: always.
    """
    raise damaged("the pickle names storages, of which the file has none")


def dtype_of_kind(kind: Any) -> DType:
    """Of what the elements of a storage are."""
    if type(kind) is not StorageKind:
        raise damaged(f"the pickle has a {type(kind).__name__} for the type of a storage")
    return kind.dtype or uint8
