"""Tensor: a layout over a storage. Its methods hang on the operation table; this file is the object itself.

NOTE [Slots]: ``_storage_, _offset_, layout`` are the data; ``_needs_grad_, _edge_, _meta_`` the autograd state.
  ``_needs_grad_``  False, True, or ASK: a view, of which a write to the base may change the answer.
  ``_edge_``        None, or where the tensor's cotangent goes: a Node, or an Edge to one of a node's later outputs. Leaves
                    and views have None here: a leaf's AccumulateGrad is held weakly, a view's node may have to be rebuilt.
  ``_meta_``        None until something rare is needed: see ``Meta``.

NOTE [Names of users]: a program may set any attribute on a tensor and on the ``ctx`` of a Function, and may subclass both. Names
with one underscore on either side are ours, all others the program's: no slot that native code or the engine reads has another
name, and none of them calls a method through an object that a program may have put attributes on.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, get_default_dtype
from ..base.errors import ArgumentError, DimError, DTypeError, ShapeError
from ..base.grad_mode import capture_of_thread, traces
from ..base.locks import made_once
from ..base.overriding import TORCHS, adopt_torch_name
from ..base.size import Size
from ..kernels.cpu import LARGE
from ..native.handle import known, native, use_blocks
from ..native.primitives import array_data
from ..ops.expr import Operators
from . import layout as layouts
from .batch_levels import leave_graph
from .layout import Layout
from .memory_format import DIMENSIONS, order_of, strides_agree, strides_of
from .storage import CPU, Storage, wrap_array

if TYPE_CHECKING:
    from .members import Members  # a stub alone, of what is hung on Tensor: NOTE [Stubs] in tools/stubs.py
else:
    Members = Operators

__all__ = [
    "Tensor",
    "Parameter",
    "Meta",
    "META_TEMPLATE",
    "ASK",
    "is_sparse",
    "meta_of",
    "native",
    "new_meta",
    "new_tensor",
    "put_layout",
    "require_differentiable",
    "told_of_subclasses",
    "values_if_sparse",
    "wrap_dim",
]


# What is told of a new subclass that may override functions.
told_of_subclasses: list[Callable[[type], None]] = []


new_size = tuple.__new__  # of ints that are known to be ints


class _Ask:
    """``_needs_grad_`` of a view, which counts as true: whether it needs a gradient has to be looked up."""

    def __repr__(self) -> str:
        return "ASK"


ASK = _Ask()


# How a view came about: whether in-place writes to it can be recorded. See views.py.
DEFAULT, NO_GRAD, MULTI_OUTPUT, FUNCTION, INFERENCE = "default", "no_grad", "multi_output", "function", "inference"


class Meta:
    """Autograd state that most tensors never have.

    Attributes:
        grad: the gradient of a leaf, or of a tensor that retains it.
        hooks: a leaf's ``{id: hook}``; a non-leaf's hooks belong to its node.
        post_hooks: a leaf's post-accumulate hooks.
        accumulator: weak reference to the leaf's AccumulateGrad.
        retains: whether a non-leaf keeps its gradient.
        tangent: tangents by forward-mode level.
        base, chain, creation, version, node: of a view, see views.py. Of a tensor that ``detach_`` cut off its history the version
            is the sequence number of the node that it had.
    """

    __slots__ = (
        "grad",
        "hooks",
        "post_hooks",
        "accumulator",
        "retains",
        "tangent",
        "base",
        "chain",
        "creation",
        "version",
        "node",
        "__weakref__",
    )
    grad: Tensor | None
    hooks: Any
    post_hooks: Any
    accumulator: Any
    retains: bool
    tangent: Any
    base: Any
    chain: Any
    creation: Any
    version: int | None
    node: Any


META_TEMPLATE = Meta()
for _slot in Meta.__slots__[:-1]:
    setattr(META_TEMPLATE, _slot, None)
META_TEMPLATE.retains = False


def new_meta() -> Meta:
    """An empty Meta."""
    meta = Meta()
    meta.grad = meta.hooks = meta.post_hooks = meta.accumulator = meta.tangent = None
    meta.base = meta.chain = meta.creation = meta.version = meta.node = None
    meta.retains = False
    return meta


def is_sparse(x: Any) -> bool:
    """Whether it is a tensor in a sparse layout."""
    return isinstance(x, Tensor) and x.layout.special in layouts.sparse_marks


def values_if_sparse(x: Any) -> Any:
    """The values of a sparse tensor, which are in memory and have its place in the graph; anything else as it is."""
    return x._given_ if is_sparse(x) else x


def meta_of(x: Tensor) -> Meta:
    """The tensor's Meta, made on first use."""
    return made_once(x, "_meta_", new_meta)


class Tensor(Members):
    """A multi-dimensional array that records what is computed from it.

    Made by ``nbgrad.tensor``, ``nbgrad.zeros`` and their like. ``Tensor(data)`` is of the default dtype whatever the data are,
    ``Tensor(2, 3)`` has these sizes and no values yet, ``Tensor(x)`` shares the memory and the history of a tensor. Its
    operations are documented with the functions of the same name.

    Raises:
        ArgumentError: of the constructor, a number where a sequence is expected, or data beside sizes.

    >>> x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> isinstance(x, nbgrad.Tensor), x.is_leaf, (x * 2).is_leaf
    (True, True, False)
    >>> nbgrad.Tensor([1, 2])
    tensor([1., 2.])
    """

    __slots__ = ("_storage_", "_offset_", "layout", "_edge_", "_needs_grad_", "_meta_", "__weakref__", "__dict__")
    __array_priority__ = 1000
    _storage_: Storage
    _offset_: int
    layout: Layout
    _edge_: Any
    _needs_grad_: Any  # True, False or ASK
    _meta_: Any  # Meta or None
    __hash__ = object.__hash__

    # Marks the layouts of a subclass's tensors, so that calls of them are interpreted: the class itself, or None
    # (modes/overrides.py).
    _mark_: type | None = None

    def __new__(cls, *args: Any, device: Any = None, **kwargs: Any):
        return CALLS["tensor_of_class"](cls, args, device, kwargs)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if TORCHS in vars(cls):
            adopt_torch_name(cls)
        if "_mark_" not in vars(cls):
            cls._mark_ = cls if says_what_functions_mean(cls) else None
            if cls._mark_ is not None:
                for tell in told_of_subclasses:
                    tell(cls)

    # ---- what it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return new_size(Size, self.layout.shape)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.layout.dtype

    @property
    def device(self):
        """Where the elements are."""
        return self.layout.device

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.layout.ndim

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self.layout.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.layout.numel * self.layout.dtype.itemsize

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU."""
        return self.layout.device.type == "cuda"

    @property
    def _version(self) -> int:
        return +self._storage_.version  # an int, also of an Exchanged

    def size(self, dim: int | None = None):
        """The shape, or the size of one dimension."""
        return new_size(Size, self.layout.shape) if dim is None else self.layout.shape[wrap_dim("size", dim, self.layout.ndim)]

    def stride(self, dim: int | None = None):
        """Strides in elements, or the stride of one dimension."""
        return self.layout.strides if dim is None else self.layout.strides[wrap_dim("stride", dim, self.layout.ndim)]

    def dim(self) -> int:
        """Number of dimensions."""
        return self.layout.ndim

    ndimension = dim

    def numel(self) -> int:
        """Number of elements."""
        return self.layout.numel

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element."""
        return self.layout.dtype.itemsize

    def storage_offset(self) -> int:
        """Elements between the start of the storage and the tensor's first element."""
        return self._offset_ // self.layout.dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the first element."""
        if traces or self.layout.special and self.layout.is_traced():
            leave_graph("data_ptr", self)
        return array_data(self._storage_.array) + self._offset_

    def is_contiguous(self, memory_format=None) -> bool:
        """Whether the elements lie in row-major order without gaps; or in that of a memory format for as many dimensions."""
        layout = self.layout
        if memory_format is None:
            return layout.contiguous
        if DIMENSIONS.get(memory_format, layout.ndim) != layout.ndim:
            return False
        order = order_of("is_contiguous", memory_format, layout.ndim)
        return layout.contiguous if order is None else strides_agree(layout, strides_of(layout.shape, order))

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.layout.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is a complex one."""
        return self.layout.dtype.is_complex

    def __len__(self) -> int:
        if not self.layout.shape:
            raise ArgumentError("len: a 0-d tensor has no length.")
        return self.layout.shape[0]

    def __delitem__(self, index: Any) -> None:
        raise ArgumentError("del: elements of a tensor cannot be deleted. Hint: nbgrad.cat the parts that remain.")

    def __bool__(self) -> bool:
        if self.layout.numel != 1:
            raise ShapeError(f"bool: the truth value of {self.layout.numel} elements is ambiguous. Hint: use any() or all().")
        if traces and (trace := capture_of_thread()) is not None:
            return bool(trace.truth(self).item())
        return bool(self.item())

    def _apply(self, name: str, operands: tuple) -> Any:
        return CALLS[name](*operands)


def says_what_functions_mean(cls: type) -> bool:
    """Whether a subclass of Tensor is to be asked about calls, which cost more then; of others the results are plain tensors.

    The first class in its order that says anything decides: by ``__nbgrad_function__``, which may say that it is not to be asked
    (``gives_plain``, modes/overrides.py), or by being one of nbgrad's own that are not, like Parameter.
    """
    for kind in cls.__mro__:
        if kind is Tensor:
            return True
        if "__nbgrad_function__" in vars(kind):
            return not getattr(kind.__nbgrad_function__, "gives_plain", False)  # type: ignore[attr-defined]
        if vars(kind).get("_mark_", kind) is None:
            return False
    return False


class Parameter(Tensor):
    """A tensor that a Module owns and an optimizer updates: a leaf that requires grad.

    Args:
        data: the initial values, shared without a copy; None, which is the default, for no elements.
        requires_grad: whether gradients are accumulated.

    >>> import nbgrad
    >>> nbgrad.Parameter(nbgrad.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()
    _mark_ = None  # results computed from parameters are plain tensors

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True):
        if data is None:
            data = new_tensor(
                wrap_array(np.empty(0, get_default_dtype().numpy)), layouts.layout_of(get_default_dtype(), (0,), None, CPU)
            )
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Parameter: expected a Tensor, got {type(data).__name__}. Hint: nbgrad.tensor(data).")
        if isinstance(data.layout.special, layouts.DispatchMark):
            return CALLS["parameter_of_class"](data, requires_grad)
        if is_sparse(data):
            return data.as_parameter(requires_grad)  # type: ignore[attr-defined]
        self = object.__new__(cls)
        self._storage_, self._offset_ = data._storage_, data._offset_
        # A class of parameters that says what functions mean on it is asked about them, as any subclass is.
        put_layout(self, data.layout if cls._mark_ is None else layouts.marked_layout(data.layout, cls))
        self._edge_, self._meta_, self._needs_grad_ = None, None, False
        if requires_grad:
            require_differentiable("Parameter", data.layout.dtype)
            self.requires_grad = True  # by the property, which refuses inference tensors outside of their mode
        return self


class MemberDef(ctypes.Structure):
    """CPython's PyMemberDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def make_read_only(owner: type, slot: str) -> Callable[[Any, Any], None]:
    """Make a slot read-only for programs; returns the function that writes it.

    A property would cost time at every read. Where the interpreter is not CPython the slot stays as it is.
    """
    member = vars(owner)[slot]
    if sys.implementation.name == "cpython":
        at = ctypes.c_size_t.from_address(id(member) + 40).value  # PyMemberDescrObject.d_member
        copied = MemberDef.from_buffer_copy(ctypes.string_at(at, ctypes.sizeof(MemberDef)))
        copied.flags |= 1  # Py_READONLY
        _members.append(copied)
        new = ctypes.pythonapi.PyDescr_NewMember
        new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
        setattr(owner, slot, new(owner, ctypes.addressof(copied)))
    return member.__set__


_members: list[MemberDef] = []  # descriptors point to them
put_layout = make_read_only(Tensor, "layout")  # torch has the name too, and nobody can set it there
Tensor._put_layout_ = staticmethod(put_layout)  # for `new` of native/primitives.py


def wrap_dim(op: str, dim: int, ndim: int) -> int:
    """``dim`` counted from the front; a 0-d tensor has the one dim that -1 and 0 name.

    Raises:
        DimError: out of range.
    """
    limit = ndim or 1
    try:
        if -limit <= dim < limit:
            return dim + limit if dim < 0 else dim
    except TypeError:
        raise ArgumentError(f"{op}: dim must be an int, got {type(dim).__name__}.") from None
    raise DimError(f"{op}: dim {dim} is out of range for {ndim} dimensions; expected {-limit} to {limit - 1}.")


def require_differentiable(op: str, dtype: DType) -> None:
    """Only floating and complex tensors can require grad."""
    if not dtype.differentiable:
        raise DTypeError(f"{op}: only floating and complex tensors can require gradients, got {dtype}.")


def _new_template(layout: Layout) -> Tensor:
    if layout.numel >= LARGE:
        use_blocks()
    template = object.__new__(Tensor)
    put_layout(template, layout)
    template._offset_, template._edge_, template._needs_grad_, template._meta_ = 0, None, False, None
    return template


layouts.new_template = _new_template


known.update(Tensor=Tensor, Storage=Storage, Layout=Layout, Meta=Meta, CPU=CPU, ASK=ASK)


def new_tensor(storage: Storage, layout: Layout, offset: int = 0) -> Tensor:
    """A tensor without history on memory that exists; ``offset`` in bytes."""
    return native.tensor(layout.template, storage, offset, False, None)
