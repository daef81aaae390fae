"""``SparseTensor``: places and values."""

from __future__ import annotations

from typing import Any, Callable

import nbgrad

from .. import Parameter, Tensor
from ..base.calls import CALLS
from ..base.errors import GradError, NotSupportedError, ShapeError
from ..base.grad_mode import special, traces
from ..graph.edges import RemovableHandle
from ..methods.pytree import register_pytree_node
from ..tensors.tensor import native, put_layout
from .coordinates import in_order, spread, summed_at
from .layouts import HANDLERS, SparseLayout, layout_of_sparse, no_elements, sparse_coo
from .printing import text_of_sparse

__all__ = ["SparseTensor", "handles", "made", "require_matrix", "require_sparse", "sparse_coo", "summed"]


def handles(*names: str) -> Callable:
    """Register what functions of these names, and methods, mean on sparse tensors."""

    def register(function: Callable) -> Callable:
        HANDLERS.update(dict.fromkeys(names, function))
        for name in names:
            if name not in CALLS:  # no operation, of which interpreters are asked
                setattr(SparseTensor, name, function)
        return function

    return register


def of_values(name: str) -> Any:
    """A slot of the values."""
    return property(lambda x: getattr(x._given_, name), lambda x, value: setattr(x._given_, name, value))


class SparseTensor(Tensor):
    """Values at places, and zeros everywhere else; made by ``sparse_coo_tensor`` and its like, by ``x.to_sparse()`` and its like.

    Attributes:
        layout: how it is stored; equals ``nbgrad.sparse_coo``, ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        is_sparse: whether it is stored as coordinates, as torch has it; ``is_sparse_csr``: as compressed rows.

    Its place in the graph is that of its values: what is computed is made of operations on these, so gradients of every order reach
    them, in both modes, on every device. ``x.grad`` is a sparse tensor at the places of ``x``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
    >>> x.indices().tolist(), x.values(), x.is_sparse
    ([[0], [1]], tensor([2.]), True)
    """

    __slots__ = ()
    _mark_ = None  # that of its layout
    # The places: indices, or where each row begins and the columns (of a layout of columns, the other way round).
    _places_: tuple[Tensor, ...]
    _given_: Tensor  # the values
    _settled_: bool | None  # whether places are in order, none twice; None where nobody has looked
    _found_: dict[Any, Any]  # what was derived of the places; shared by tensors that have the same

    # What the graph asks of a tensor, answered by the values.
    _needs_grad_, _edge_, _meta_ = map(of_values, ("_needs_grad_", "_edge_", "_meta_"))
    _version = of_values("_version")

    # ---- what it is ----

    is_sparse = property(lambda x: x.layout.special is sparse_coo, doc="Whether it is stored as coordinates.")
    is_sparse_csr = property(lambda x: x.layout == nbgrad.sparse_csr, doc="Whether it is stored as compressed rows.")
    requires_grad = property(
        lambda x: x._given_.requires_grad, lambda x, value: setattr(x._given_, "requires_grad", value), doc="Of its values."
    )
    T = mT = property(lambda x: HANDLERS["t"](x), doc="The transpose of a matrix.")
    data = property(lambda x: x.detach(), doc="The same places and values without history.")

    @property
    def _format_(self) -> SparseLayout:
        return self.layout.special

    @property
    def grad(self) -> Any:
        """The gradient at the places of this tensor; None where there is none."""
        grad = self._given_.grad
        if grad is None or isinstance(grad, SparseTensor) or grad.shape != self._given_.shape:  # a Function's may be like x itself
            return grad
        return self.with_values(grad)

    @grad.setter
    def grad(self, grad: Any) -> None:
        if grad is not None and (not isinstance(grad, SparseTensor) or grad._given_.shape != self._given_.shape):
            raise GradError("grad: the gradient of a sparse tensor is a sparse one at its places, or None.")
        self._given_.grad = None if grad is None else grad._given_

    @grad.deleter
    def grad(self) -> None:
        self._given_.grad = None

    def sparse_dim(self) -> int:
        """How many dimensions places tell; the others are those of a value."""
        return int(self._places_[0].shape[0]) if self.is_sparse else 2

    def dense_dim(self) -> int:
        """How many dimensions a value has."""
        return len(self.shape) - self.sparse_dim()

    def _nnz(self) -> int:
        """How many values, or blocks of them, are stored."""
        return int(self._given_.shape[0])

    def is_coalesced(self) -> bool:
        """Whether places are known to be in the order of the layout, none of them twice."""
        if self._settled_ is None:
            self._settled_ = not self.is_sparse and in_order(*self._places_)
        return self._settled_

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """False."""
        return False

    # ---- what it is made of ----

    @property
    def _at(self) -> Tensor:
        """The places of the elements, one a column: in the order of ``_elements``."""
        if self.is_sparse:
            return self._places_[0]
        begins, others = self._places_
        return self.remembered("at", lambda: spread(self._format_, begins, others, tuple(self._given_.shape[1:])))

    def remembered(self, name: str, make: Callable[[], Any]) -> Any:
        """What follows from the places, made once: but where modes or captures would put their marks on it."""
        if traces or special:
            return make()
        if name not in self._found_:
            self._found_[name] = make()
        return self._found_[name]

    @property
    def _elements(self) -> Tensor:
        """The values; of blocks one after the other."""
        return self._given_.reshape(-1) if self._format_.blocked else self._given_

    def _indices(self) -> Tensor:
        """The places, which may come twice; without history."""
        self._require("_indices", "indices")
        return self._places_[0]

    def _values(self) -> Tensor:
        """The values at ``_indices()``, without history: see ``values``."""
        self._require("_values", "indices")
        return self._given_.detach()

    def indices(self) -> Tensor:
        """The places, one a column.

        Raises:
            NotSupportedError: places may come twice; or the layout is another one.
        """
        self._require("indices", "indices")
        self._require_coalesced("indices")
        return self._places_[0]

    def values(self) -> Tensor:
        """The values, with their history.

        Raises:
            NotSupportedError: places may come twice.
        """
        if self.is_sparse:
            self._require_coalesced("values")
        return self._given_

    def crow_indices(self) -> Tensor:
        """Where in ``values()`` each row begins, and where the last ends; of ``sparse_csr`` and ``sparse_bsr``."""
        return self._place("crow_indices")

    def col_indices(self) -> Tensor:
        """The columns of ``values()``; of ``sparse_csr`` and ``sparse_bsr``."""
        return self._place("col_indices")

    def ccol_indices(self) -> Tensor:
        """Where in ``values()`` each column begins, and where the last ends; of ``sparse_csc`` and ``sparse_bsc``."""
        return self._place("ccol_indices")

    def row_indices(self) -> Tensor:
        """The rows of ``values()``; of ``sparse_csc`` and ``sparse_bsc``."""
        return self._place("row_indices")

    def _place(self, name: str) -> Tensor:
        self._require(name, name)
        return self._places_[self._format_.names.index(name)]

    def _require(self, method: str, name: str) -> None:
        """Refuse what another layout has.

        Raises:
            NotSupportedError: it has no places of that name.
        """
        if name not in self._format_.names:
            other = {"indices": "coo", "crow_indices": "csr", "col_indices": "csr"}.get(name, "csc")
            raise NotSupportedError(f"{method}: the tensor's layout is {self._format_!r}. Hint: x.to_sparse_{other}().")

    def _require_coalesced(self, name: str) -> None:
        if not self._settled_:
            raise NotSupportedError(f"{name}: places may come twice. Hint: x.coalesce(), or x._{name}() for what is stored.")

    # ---- others like it ----

    def with_values(self, values: Tensor) -> SparseTensor:
        """Other values at the same places."""
        if values.ndim != self._given_.ndim:
            return made(sparse_coo, (self._at,), values, (*self.shape[: self.sparse_dim()], *values.shape[1:]), self._settled_)
        shape = tuple(self.shape) if self._format_.blocked else (*self.shape[: self.sparse_dim()], *values.shape[1:])
        return made(self._format_, self._places_, values, shape, self._settled_, self._found_)

    def _map(self, function: Callable) -> SparseTensor:
        return self.with_values(function(self._given_))

    def coalesce(self) -> SparseTensor:
        """The same tensor, in its layout, with places in order, values of one place added up.

        >>> import nbgrad
        >>> nbgrad.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce().values()
        tensor([2., 4.])
        """
        if self.is_coalesced():
            return self
        return HANDLERS["to_sparse"](summed(self._at, self._elements, self.shape), layout=self._format_)

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        """Promise that places are in order, none twice; or take that back."""
        self._settled_ = bool(coalesced)
        return self

    def detach(self) -> SparseTensor:
        """On the same memory, without history."""
        return self._map(Tensor.detach)

    def detach_(self) -> SparseTensor:
        """Cut off its history."""
        self._given_ = self._given_.detach()
        return self

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Have gradients of the values collected in ``x.grad``."""
        self._given_.requires_grad_(requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep ``x.grad`` of a tensor that was computed."""
        self._given_.retain_grad()

    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(g)`` with the gradient, a sparse tensor at the places of this one."""
        return self._given_.register_hook(lambda g: _hooked(hook(self.with_values(g))))

    def register_post_accumulate_grad_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(x)`` when ``x.grad`` has changed."""
        return self._given_.register_post_accumulate_grad_hook(lambda _: hook(self))

    def as_parameter(self, requires_grad: bool = True) -> SparseTensor:
        """A parameter of a module, on the same memory: what ``Parameter(x)`` gives."""
        own: Any = self.detach()
        own.__class__ = SparseParameter
        return own.requires_grad_(requires_grad)

    def _become(self, other: SparseTensor) -> SparseTensor:
        """Take the places and values of another tensor of this layout: what functions in place do."""
        values = other._given_
        if self.requires_grad and not values.requires_grad:  # a leaf that is changed under no_grad()
            values, grad = values.detach().requires_grad_(), self._given_.grad
            values.grad = grad if grad is not None and grad.shape == values.shape else None
        self._places_, self._given_, self._settled_, self._found_ = other._places_, values, other._settled_, other._found_
        put_layout(self, other.layout)
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the tensor's type; with a dtype or such a name, the tensor converted."""
        found = super().type(dtype, non_blocking)
        return found.replace("nbgrad.", "nbgrad.sparse.") if isinstance(found, str) else found

    def __len__(self) -> int:
        if not self.layout.shape:
            raise ShapeError("len: a 0-d tensor has no length.")
        return self.layout.shape[0]

    __repr__ = __str__ = text_of_sparse

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        needs = self.requires_grad
        return rebuilt, (self._format_, self._places_, self._given_.detach(), tuple(self.shape), self._settled_, needs)

    def __copy__(self) -> SparseTensor:
        return self._map(lambda values: values)

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        found = memo.get(id(self))
        if found is None:
            if not self._given_.is_leaf:
                raise GradError("deepcopy: only leaves can be copied, this tensor was computed. Hint: x.detach(), or x.clone().")
            places = tuple(place.clone() for place in self._places_)
            values = self._given_.detach().clone().requires_grad_(self.requires_grad)
            found = memo[id(self)] = made(self._format_, places, values, tuple(self.shape), self._settled_)
        return found


class SparseParameter(SparseTensor, Parameter):
    """A sparse tensor that a Module owns."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Parameter containing:\n" + text_of_sparse(self)

    __str__ = __repr__


def _hooked(g: Any) -> Any:
    """What a hook returned, as the gradient of the values."""
    return g._given_ if isinstance(g, SparseTensor) else g


def made(
    kind: SparseLayout, places: tuple, values: Tensor, shape: Any, settled: bool | None = None, found: dict | None = None
) -> SparseTensor:
    """A sparse tensor of places and values that go together."""
    layout = layout_of_sparse(kind, values.dtype, tuple(shape), values.device)
    x: Any = native.tensor(layout.template, no_elements(values.dtype, values.device), 0, False, None)
    x.__class__ = SparseTensor
    x._places_, x._given_, x._settled_, x._found_ = places, values, settled, {} if found is None else found
    return x


def rebuilt(
    kind: SparseLayout, places: tuple, values: Tensor, shape: tuple, settled: bool | None, needs_grad: bool
) -> SparseTensor:
    """A leaf, from a pickle."""
    return made(kind, places, values.requires_grad_(needs_grad), shape, settled)


register_pytree_node(
    SparseTensor,
    lambda x: ((*x._places_, x._given_), (x._format_, tuple(x.shape), x._settled_)),
    lambda parts, known: made(known[0], tuple(parts)[:-1], tuple(parts)[-1], *known[1:]),
)


# What reads a tensor's memory, of which a sparse one has none.
MEMORY = """__array__ __dlpack__ as_strided data_ptr const_data_ptr item nbytes numpy resize_ resize_as_ set_ share_memory_
storage storage_offset tolist untyped_storage""".split()


def refusing(name: str) -> Callable:
    """A method that sparse tensors have not."""

    def method(x: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        raise NotSupportedError(f"{name}: a sparse tensor's elements do not lie one after the other. Hint: x.to_dense().{name}.")

    method.__name__ = name
    method.__doc__ = "Refused: see ``to_dense``."
    return method


for _method in MEMORY:
    setattr(SparseTensor, _method, property(refusing(_method)) if _method == "nbytes" else refusing(_method))


def summed(at: Tensor, values: Tensor, shape: Any) -> SparseTensor:
    """Coordinates in order, values of one place added up."""
    places, sums = summed_at(at, values, shape)
    return made(sparse_coo, (places,), sums, shape, True)


def require_sparse(name: str, what: str, x: Any) -> None:
    """Refuse dense tensors.

    Raises:
        NotSupportedError: it is one.
    """
    if not isinstance(x, SparseTensor):
        raise NotSupportedError(f"{name}: {what} is dense, expected a sparse tensor. Hint: {what}.to_sparse().")


def require_matrix(name: str, x: Any) -> None:
    """Refuse all but matrices of numbers.

    Raises:
        ShapeError: other dimensions, or values that are no numbers.
    """
    if x.dim() != 2 or isinstance(x, SparseTensor) and x.dense_dim():
        raise ShapeError(f"{name}: expected a matrix, got shape {list(x.shape)}.")
