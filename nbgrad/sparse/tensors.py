"""``SparseTensor``: places and values."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Callable

import nbgrad

from .. import Size, Tensor
from ..base.errors import NotSupportedError, ShapeError
from ..methods.pytree import register_pytree_node

__all__ = ["HANDLERS", "SparseLayout", "SparseTensor", "handles", "sparse_coo", "sparse_csr"]

# What functions of dense tensors mean on sparse ones, by the function's name.
HANDLERS: dict[str, Callable] = {}


class SparseLayout:
    """How a tensor lies in memory: ``nbgrad.sparse_coo`` or ``nbgrad.sparse_csr``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        """What only layouts of dense tensors have: asked for by an operation that was given a sparse operand.

        Raises:
            NotSupportedError: always, but for Python's own names.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSupportedError(f"layout: {self!r} has no {name}: a sparse tensor came, expected a dense one. Hint: x.to_dense().")

    def __repr__(self) -> str:
        return f"nbgrad.{self.name}"


sparse_coo, sparse_csr = SparseLayout("sparse_coo"), SparseLayout("sparse_csr")


def handles(*names: str) -> Callable:
    """Register what functions of these names, and methods, mean on sparse tensors."""

    def register(function: Callable) -> Callable:
        for name in names:
            HANDLERS[name] = function
            if not hasattr(SparseTensor, name):
                setattr(SparseTensor, name, function)
        return function

    return register


class SparseTensor:
    """Values at places, and zeros everywhere else; made by ``sparse_coo_tensor``, ``sparse_csr_tensor`` and ``x.to_sparse()``.

    Attributes:
        shape, dtype, device: as of a tensor.
        layout: ``nbgrad.sparse_coo`` or ``nbgrad.sparse_csr``.
        is_sparse: whether it is stored as coordinates, as torch has it; ``is_sparse_csr``: as compressed rows.

    It is no Tensor: gradients are those of its values, ``x.grad`` a sparse tensor of ``x.values().grad``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    >>> x.indices().tolist(), x.values(), x.is_sparse
    ([[0], [1]], tensor([2.]), True)
    """

    if TYPE_CHECKING:  # and all others of HANDLERS
        t: Any

    __slots__ = ("_at", "_given", "_crow", "shape", "layout", "_settled", "__weakref__")

    def __init__(self, at: Tensor, given: Tensor, shape: Any, settled: bool = False, crow: Tensor | None = None) -> None:
        self._at, self._given, self.shape = at, given, Size(shape)
        self._settled, self._crow = settled, crow
        self.layout = sparse_coo if crow is None else sparse_csr

    # ---- what it is ----

    dtype = property(lambda self: self._given.dtype, doc="The dtype of the values.")
    device = property(lambda self: self._given.device, doc="The device of the values.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    is_sparse = property(lambda self: self._crow is None, doc="Whether it is stored as coordinates.")
    is_sparse_csr = property(lambda self: self._crow is not None, doc="Whether it is stored as compressed rows.")
    requires_grad = property(lambda self: self._given.requires_grad, doc="Whether its values require grad.")
    is_cuda = property(lambda self: self._given.is_cuda, doc="Whether it is on a GPU.")
    T = property(lambda self: HANDLERS["t"](self), doc="The transpose of a matrix.")

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at their places; None where there is none."""
        grad = self._given.grad
        return None if grad is None else self.with_values(grad)

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of a dimension."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """How many elements the tensor has, zeros included."""
        return prod(self.shape)

    def sparse_dim(self) -> int:
        """How many dimensions places tell; the others are those of a value."""
        return int(self._at.shape[0])

    def dense_dim(self) -> int:
        """How many dimensions a value has."""
        return len(self.shape) - self.sparse_dim()

    def _nnz(self) -> int:
        """How many values are stored."""
        return int(self._given.shape[0])

    def is_coalesced(self) -> bool:
        """Whether places are in order, none of them twice."""
        return self._settled

    # ---- what it is made of ----

    def _indices(self) -> Tensor:
        """The places, which may come twice."""
        return self._at

    def _values(self) -> Tensor:
        """The values at ``_indices()``."""
        return self._given

    def indices(self) -> Tensor:
        """The places, one a column.

        Raises:
            NotSupportedError: places may come twice; or rows are compressed.
        """
        self._require("indices", coordinates=True)
        return self._at

    def values(self) -> Tensor:
        """The values, with their history.

        Raises:
            NotSupportedError: places may come twice.
        """
        if self._crow is None:
            self._require("values", coordinates=True)
        return self._given

    def crow_indices(self) -> Tensor:
        """Where in ``values()`` each row begins, and where the last ends.

        Raises:
            NotSupportedError: the tensor is stored as coordinates.
        """
        self._require("crow_indices", coordinates=False)
        assert self._crow is not None
        return self._crow

    def col_indices(self) -> Tensor:
        """The columns of ``values()``.

        Raises:
            NotSupportedError: the tensor is stored as coordinates.
        """
        self._require("col_indices", coordinates=False)
        return self._at[1]

    def _require(self, name: str, coordinates: bool) -> None:
        if coordinates != (self._crow is None):
            other = "to_sparse_coo" if coordinates else "to_sparse_csr"
            raise NotSupportedError(f"{name}: the tensor's layout is {self.layout!r}. Hint: x.{other}().")
        if coordinates and not self._settled:
            raise NotSupportedError(f"{name}: places may come twice. Hint: x.coalesce(), or x._{name}() for what is stored.")

    # ---- others like it ----

    def with_values(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        return SparseTensor(self._at, values, self.shape, self._settled, self._crow)

    def coalesce(self) -> SparseTensor:
        """The same tensor, in its layout, with places in order, values of one place added up.

        >>> import nbgrad
        >>> nbgrad.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce().values()
        tensor([2., 4.])
        """
        return self if self._settled else summed(self._at, self._given, self.shape).to_sparse(layout=self.layout)

    def to_dense(self) -> Tensor:
        """The tensor with its zeros.

        >>> import nbgrad
        >>> nbgrad.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).to_dense()
        tensor([2., 4.])
        """
        dense = self.shape[self.sparse_dim() :]
        flat = self._given.new_zeros(prod(self.shape[: self.sparse_dim()]), *dense)
        return flat.index_add(0, keys(self._at, self.shape), self._given).reshape(self.shape)

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
        """The same tensor as coordinates, or in the layout given."""
        return self.to_sparse_csr() if layout is sparse_csr else self.to_sparse_coo()

    def to_sparse_coo(self) -> SparseTensor:
        """The same tensor as coordinates."""
        if self._crow is None:
            return self
        x = self.coalesce()
        return SparseTensor(x._at, x._given, x.shape, True)

    def to_sparse_csr(self) -> SparseTensor:
        """The same matrix as compressed rows.

        Raises:
            ShapeError: it is no matrix of numbers.
        """
        if self._crow is not None:
            return self
        require_matrix("to_sparse_csr", self)
        x = self.coalesce()
        return SparseTensor(x._at, x._given, x.shape, True, compressed(x._at[0], x.shape[0]))

    def _map(self, function: Callable) -> SparseTensor:
        return self.with_values(function(self._given))

    def to(self, *args: Any, **options: Any) -> SparseTensor:
        """With values of another dtype, or on another device; places go with them."""
        values = self._given.to(*args, **options)
        at, crow = self._at.to(values.device), self._crow
        return SparseTensor(at, values, self.shape, self._settled, None if crow is None else crow.to(values.device))

    def float(self) -> SparseTensor:
        """With values of single precision."""
        return self.to(nbgrad.float32)

    def double(self) -> SparseTensor:
        """With values of double precision."""
        return self.to(nbgrad.float64)

    def cuda(self, device: Any = "cuda") -> SparseTensor:
        """On a GPU."""
        return self.to(device)

    def cpu(self) -> SparseTensor:
        """In the CPU's memory."""
        return self.to("cpu")

    def detach(self) -> SparseTensor:
        """On the same memory, without history."""
        return self._map(Tensor.detach)

    def clone(self) -> SparseTensor:
        """With values of its own."""
        return self._map(Tensor.clone)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Have gradients of the values collected in ``x.grad``."""
        self._given.requires_grad_(requires_grad)
        return self

    # ---- operators ----

    def __add__(self, other: Any) -> Any:
        return HANDLERS["add"](self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return HANDLERS["sub"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return HANDLERS["add"](-self, other)

    def __mul__(self, other: Any) -> Any:
        return HANDLERS["mul"](self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return HANDLERS["div"](self, other)

    def __matmul__(self, other: Any) -> Any:
        return HANDLERS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return HANDLERS["matmul"](other, self)

    def __neg__(self) -> SparseTensor:
        return self._map(Tensor.neg)

    def __getitem__(self, index: Any) -> Any:
        """Refused.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("index: a sparse tensor has no elements by index. Hint: x.to_dense()[index].")

    __iter__ = None

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        if self._crow is None:
            places = f"indices={self._at!r}"
        else:
            places = f"crow_indices={self._crow!r},\n       col_indices={self._at[1]!r}"
        values = f"values={self._given!r}"
        size = f"size={tuple(self.shape)}, nnz={self._nnz()}, layout={self.layout!r}"
        return f"tensor({places},\n       {values},\n       {size})"

    @classmethod
    def __nbgrad_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """What an operation means on sparse tensors.

        Raises:
            NotSupportedError: nothing.
        """
        name = getattr(func, "__name__", str(func))
        if name not in HANDLERS:
            raise NotSupportedError(f"{name}: not defined for sparse tensors. Hint: x.to_dense(), or nbgrad.sparse has what is.")
        return HANDLERS[name](*args, **kwargs or {})


register_pytree_node(
    SparseTensor,
    lambda x: ((x._at, x._given, x._crow), (tuple(x.shape), x._settled)),
    lambda parts, known: SparseTensor(parts[0], parts[1], *known, crow=parts[2]),  # type: ignore[index, misc]
)

# ---- places ----------------------------------------------------------------------------------------------------------


def keys(at: Tensor, shape: Any) -> Tensor:
    """Places as numbers that sort as they do."""
    key = nbgrad.zeros_like(at[0]) if at.shape[0] else at.new_zeros(at.shape[1])
    for row, size in zip(at, shape):
        key = key * size + row
    return key


def places(key: Tensor, shape: Any) -> Tensor:
    """The places that numbers stand for."""
    rows = []
    for size in reversed(tuple(shape)):
        rows.append(key % max(size, 1))
        key = key // max(size, 1)
    return nbgrad.stack(rows[::-1]) if rows else key.new_empty(0, key.shape[0])


def summed(at: Tensor, given: Tensor, shape: Any) -> SparseTensor:
    """A tensor with places in order, values of one place added up."""
    key, group = keys(at, shape).unique(return_inverse=True)
    values = given.new_zeros(key.shape[0], *given.shape[1:]).index_add(0, group, given)
    return SparseTensor(places(key, shape[: at.shape[0]]), values, shape, True)


def compressed(rows: Tensor, count: int) -> Tensor:
    """Where each row begins, of sorted numbers of rows."""
    return nbgrad.searchsorted(rows.contiguous(), nbgrad.arange(count + 1, device=rows.device))


def require_matrix(name: str, x: Any) -> None:
    """Refuse all but matrices of numbers.

    Raises:
        ShapeError: other dimensions, or values that are no numbers.
    """
    if x.dim() != 2 or isinstance(x, SparseTensor) and x.dense_dim():
        raise ShapeError(f"{name}: expected a matrix, got shape {list(x.shape)}.")
