# Written by `make docs` (tools/stubs.py) from the operations and the running package: change those, not this file.

import numpy as np
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, type as _type
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias, overload
from ..base.dtypes import DType, DTypeLike
from ..base.errors import NbgradError
from ..composites.linalg.results import QRResult, Reflections, SVDTurned, SlogdetResult, TriangularSolution
from ..composites.numbers import Frexp
from ..creation.generators import Generator
from ..graph.hooks import RemovableHandle
from ..graph.node import Node
from ..lowering.counts import Histogram
from ..methods.typed_storage import TypedStorage
from ..ops.expr import Operators
from ..ops.extrema import Extrema, Extremum
from .memory_format import MemoryFormat
from .storage import Device
from .tensor import Tensor
from .untyped import UntypedStorage

Number: TypeAlias = _int | _float | _complex
Array: TypeAlias = Tensor | np.ndarray[Any, Any]
Operand: TypeAlias = Array | Number
Ints: TypeAlias = _int | Sequence[_int]

class Members(Operators):
    """The methods and attributes of Tensor that are made at run time."""

    @property
    def H(self) -> Tensor: """The transpose of a matrix, conjugated: a view."""
    @property
    def T(self) -> Tensor: """All dimensions in reverse order."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __array__(self, dtype: DType | None = None, copy: _bool | None = None) -> np.ndarray: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, value: Operand) -> _bool: ...
    def __dlpack__(self, *, stream: Any = None, max_version: tuple[_int, _int] | None = None, dl_device: tuple[_int,
                   _int] | None = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Self: ...
    def __iand__(self, other: Operand) -> Self: ...
    def __ifloordiv__(self, other: Operand) -> Self: ...
    def __ilshift__(self, other: Operand) -> Self: ...
    def __imod__(self, other: Operand) -> Self: ...
    def __imul__(self, other: Operand) -> Self: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Operand) -> Self: ...
    def __ipow__(self, exponent: Operand) -> Self: ...
    def __irshift__(self, other: Operand) -> Self: ...
    def __isub__(self, other: Operand) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Operand) -> Self: ...
    def __ixor__(self, other: Operand) -> Self: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __ne__(self, other: Operand) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, exponent: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __setitem__(self, key: Any, value: Operand) -> None: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    _backward_hooks: Any
    """The tensor's hooks, ``{id: hook}``, or None."""
    @property
    def _base(self) -> Tensor | None: """The tensor that ``x`` is a view of, or None."""
    @property
    def _cdata(self) -> _int: """A number that no other tensor has while this one lives."""
    def _conj(self) -> Tensor: """The complex conjugate, as a view: see is_conj; a real tensor itself."""
    def _constant_(self, op: str, name: str) -> Tensor:
        """A tensor whose values an operation takes for constants: ``x`` without history."""
    def _everywhere_(self, error: _type[NbgradError], text: str) -> _bool:
        """Whether all elements of a tensor of truth values are true, of a batch those of all its elements; see ``is_required``."""
    _grad: Tensor | None
    """The gradient accumulated so far, without a word where there can be none."""
    @property
    def _grad_fn(self) -> Node | None:
        """The node that computed the tensor, of a class named after the operation; None for a leaf."""
    def _is_view(self) -> _bool: """Whether ``x`` is a differentiable view of another tensor."""
    @staticmethod
    def _make_subclass(cls: _type, data: Tensor, require_grad: _bool = False) -> Tensor:
        """A leaf of a subclass on the memory of ``data``: ``Tensor._make_subclass``."""
    @staticmethod
    def _make_wrapper_subclass(cls: _type, size: Sequence[_int], strides: Sequence[_int] | None = None,
                           storage_offset: _int | None = None, memory_format: MemoryFormat | None = None,
                           dtype: DTypeLike | None = None, layout: MemoryFormat | None = None, device: Device | str | None = None,
                           pin_memory: _bool = False, requires_grad: _bool = False,
                           dispatch_sizes_strides_policy: str | None = None, dispatch_device: _bool = False,
                           dispatch_layout: _bool = False) -> Tensor:
        """A tensor of a class that has ``__torch_dispatch__``, without elements: NOTE [Wrappers]."""
    def _neg_view(self) -> Tensor: """The negative, as a view: see is_neg."""
    def _number_(self, op: str, name: str) -> Any: """The one element of such a tensor. Errors as of ``constant_operand``."""
    _put_layout_: Any
    def abs(self) -> Tensor: """|x|; the derivative at 0 is 0."""
    def abs_(self) -> Self: """In place: |x|; the derivative at 0 is 0. See ``abs``."""
    def absolute(self) -> Tensor: """|x|; the derivative at 0 is 0."""
    def absolute_(self) -> Self: """In place: |x|; the derivative at 0 is 0. See ``abs``."""
    def acos(self) -> Tensor: """The angle in [0, pi] whose cosine is x."""
    def acos_(self) -> Self: """In place: The angle in [0, pi] whose cosine is x. See ``acos``."""
    def acosh(self) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
    def acosh_(self) -> Self: """In place: The inverse hyperbolic cosine; NaN below 1. See ``acosh``."""
    def add(self, other: Operand, *, alpha: Number = 1) -> Tensor: """input + alpha * other."""
    def add_(self, other: Operand, *, alpha: Number = 1) -> Self: """In place: input + alpha * other. See ``add``."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2).sum(0)."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """In place: addbmm."""
    def addcdiv(self, tensor1: Operand, tensor2: Operand, *, value: Operand = 1) -> Tensor:
        """input + value * tensor1 / tensor2; floating operands only."""
    def addcdiv_(self, tensor1: Operand, tensor2: Operand, *, value: Operand = 1) -> Self:
        """In place: input + value * tensor1 / tensor2; floating operands only. See ``addcdiv``."""
    def addcmul(self, tensor1: Operand, tensor2: Operand, *, value: Operand = 1) -> Tensor: """input + value * tensor1 * tensor2."""
    def addcmul_(self, tensor1: Operand, tensor2: Operand, *, value: Operand = 1) -> Self:
        """In place: input + value * tensor1 * tensor2. See ``addcmul``."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2): (n, k) by (k, m), and an input that broadcasts to (n, m)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """In place: addmm."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """In place: addmv."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """In place: addr."""
    def adjoint(self) -> Tensor: """The last two dimensions exchanged, and the elements conjugated."""
    def all(self, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
            keepdims: _bool | None = None) -> Tensor:
        """Whether no element is zero."""
    def allclose(self, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether ``isclose`` holds everywhere: a Python bool."""
    def amax(self, dim: Ints = (), keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None) -> Tensor:
        """Greatest element over dimensions; NaN wins. Elements that tie share the gradient."""
    def amin(self, dim: Ints = (), keepdim: _bool = False, *, axis: Ints | None = None, keepdims: _bool | None = None) -> Tensor:
        """Smallest element over dimensions; NaN wins. Elements that tie share the gradient."""
    def aminmax(self, *, dim: Ints | None = None, keepdim: _bool = False) -> Extrema:
        """Smallest and greatest element, over all dimensions or one."""
    def angle(self) -> Tensor: """The angle of complex numbers, in radians; of real ones 0 or pi."""
    def any(self, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
            keepdims: _bool | None = None) -> Tensor:
        """Whether an element is not zero."""
    def apply_(self, callable: Callable) -> Self:
        """Replace every element by ``callable(element)``, a Python function of Python numbers: slow."""
    def arccos(self) -> Tensor: """The angle in [0, pi] whose cosine is x."""
    def arccos_(self) -> Self: """In place: The angle in [0, pi] whose cosine is x. See ``acos``."""
    def arccosh(self) -> Tensor: """The inverse hyperbolic cosine; NaN below 1."""
    def arccosh_(self) -> Self: """In place: The inverse hyperbolic cosine; NaN below 1. See ``acosh``."""
    def arcsin(self) -> Tensor: """The angle in [-pi/2, pi/2] whose sine is x."""
    def arcsin_(self) -> Self: """In place: The angle in [-pi/2, pi/2] whose sine is x. See ``asin``."""
    def arcsinh(self) -> Tensor: """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Self: """In place: The inverse hyperbolic sine. See ``asinh``."""
    def arctan(self) -> Tensor: """The angle in [-pi/2, pi/2] whose tangent is x."""
    def arctan2(self, other: Operand) -> Tensor:
        """The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0."""
    def arctan2_(self, other: Operand) -> Self:
        """In place: The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0. See ``atan2``."""
    def arctan_(self) -> Self: """In place: The angle in [-pi/2, pi/2] whose tangent is x. See ``atan``."""
    def arctanh(self) -> Tensor: """The inverse hyperbolic tangent; NaN beyond 1."""
    def arctanh_(self) -> Self: """In place: The inverse hyperbolic tangent; NaN beyond 1. See ``atanh``."""
    def argmax(self, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
               keepdims: _bool | None = None) -> Tensor:
        """Index of the first greatest element, or of the first NaN; of the flattened tensor without dim."""
    def argmin(self, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
               keepdims: _bool | None = None) -> Tensor:
        """Index of the first smallest element, or of the first NaN; of the flattened tensor without dim."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """Indices that sort along dim; equal elements keep their order; NaN counts as the greatest number."""
    def argwhere(self) -> Tensor: """The indices of the elements that are not zero, a row each."""
    def as_strided(self, size: Ints, stride: Ints, storage_offset: _int | None = None) -> Tensor:
        """Any shape and strides over the memory; ``storage_offset`` from the storage's start, None for the tensor's own."""
    def as_strided_(self, size: Ints, stride: Ints, storage_offset: _int | None = None) -> Self:
        """In place: the tensor takes the layout of ``x.as_strided(...)``."""
    def as_strided_scatter(self, src: Tensor, size: Ints, stride: Ints, storage_offset: _int | None = None) -> Tensor:
        """A row-major copy of x with src written to what as_strided shows of it."""
    def as_subclass(self, cls: _type) -> Tensor: """The same memory and history as a tensor of a subclass."""
    def asin(self) -> Tensor: """The angle in [-pi/2, pi/2] whose sine is x."""
    def asin_(self) -> Self: """In place: The angle in [-pi/2, pi/2] whose sine is x. See ``asin``."""
    def asinh(self) -> Tensor: """The inverse hyperbolic sine."""
    def asinh_(self) -> Self: """In place: The inverse hyperbolic sine. See ``asinh``."""
    def atan(self) -> Tensor: """The angle in [-pi/2, pi/2] whose tangent is x."""
    def atan2(self, other: Operand) -> Tensor:
        """The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0."""
    def atan2_(self, other: Operand) -> Self:
        """In place: The angle of the point with ordinate x and abscissa y; the derivative at 0 is 0. See ``atan2``."""
    def atan_(self) -> Self: """In place: The angle in [-pi/2, pi/2] whose tangent is x. See ``atan``."""
    def atanh(self) -> Tensor: """The inverse hyperbolic tangent; NaN beyond 1."""
    def atanh_(self) -> Self: """In place: The inverse hyperbolic tangent; NaN beyond 1. See ``atanh``."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False,
                 inputs: Any = None, *, compiled: _bool = False) -> None:
        """Add to ``.grad`` of the leaves the gradient of this tensor, weighted by ``gradient``: see ``nbgrad.backward``."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2), for batches of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Self: """In place: baddbmm."""
    def bernoulli(self, p: _float | Tensor | None = None, *, generator: Generator | None = None,
                  out: Tensor | None = None) -> Tensor:
        """1 with the probability that ``input`` (or the number or tensor ``p``) says, else 0; in the shape and dtype of
        ``input``."""
    def bernoulli_(self, p: _float | Tensor = 0.5, *, generator: Generator | None = None) -> Self:
        """In place: 1 with probability ``p``, a number or a tensor that broadcasts, else 0."""
    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as bfloat16; itself if it is."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each whole number from 0 on occurs, or the sum of its weights, by which differentiating it is refused."""
    def bitwise_and(self, other: Operand) -> Tensor: """The bits that both have."""
    def bitwise_and_(self, other: Operand) -> Self: """In place: The bits that both have. See ``bitwise_and``."""
    def bitwise_left_shift(self, other: Operand) -> Tensor: """x * 2**y; 0 where y is negative or leaves no bit."""
    def bitwise_left_shift_(self, other: Operand) -> Self:
        """In place: x * 2**y; 0 where y is negative or leaves no bit. See ``bitwise_left_shift``."""
    def bitwise_not(self) -> Tensor: """The bits inverted; of a bool the negation."""
    def bitwise_not_(self) -> Self: """In place: The bits inverted; of a bool the negation. See ``bitwise_not``."""
    def bitwise_or(self, other: Operand) -> Tensor: """The bits that at least one has."""
    def bitwise_or_(self, other: Operand) -> Self: """In place: The bits that at least one has. See ``bitwise_or``."""
    def bitwise_right_shift(self, other: Operand) -> Tensor: """x // 2**y; 0 or -1 where y is negative or leaves no bit."""
    def bitwise_right_shift_(self, other: Operand) -> Self:
        """In place: x // 2**y; 0 or -1 where y is negative or leaves no bit. See ``bitwise_right_shift``."""
    def bitwise_xor(self, other: Operand) -> Tensor: """The bits that exactly one has."""
    def bitwise_xor_(self, other: Operand) -> Self: """In place: The bits that exactly one has. See ``bitwise_xor``."""
    def bmm(self, mat2: Tensor) -> Tensor: """The products of two batches of matrices, (b, m, k) by (b, k, n)."""
    def bool(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as bool; itself if it is."""
    def broadcast_to(self, shape: Ints) -> Tensor: """``x.expand(shape)``."""
    def byte(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as uint8; itself if it is."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """In place: numbers of the Cauchy distribution around ``median``, half of them within ``sigma`` of it."""
    def cdouble(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as complex128; itself if it is."""
    def ceil(self) -> Tensor: """The smallest integer >= x."""
    def ceil_(self) -> Self: """In place: The smallest integer >= x. See ``ceil``."""
    def celu_(self, alpha: Number = 1.0) -> Self: """In place: x where x > 0, else alpha * (e**(x / alpha) - 1). See ``celu``."""
    def cfloat(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as complex64; itself if it is."""
    def char(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as int8; itself if it is."""
    def cholesky(self, upper: _bool = False) -> Tensor: """See ``linalg.cholesky``."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor: """The inverse of L @ L^H."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor: """The X with L @ L^H @ X = B."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` pieces of one size along a dimension; the last may be smaller."""
    def clamp(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """input moved into [min, max]; each may be a number, a tensor or None."""
    def clamp_(self, min: Operand | None = None, max: Operand | None = None) -> Self:
        """In place: input moved into [min, max]; each may be a number, a tensor or None. See ``clamp``."""
    def clamp_max(self, max: Operand) -> Tensor: """x, but at most max."""
    def clamp_max_(self, max: Operand) -> Self: """In place: x, but at most max. See ``clamp_max``."""
    def clamp_min(self, min: Operand) -> Tensor: """x, but at least min."""
    def clamp_min_(self, min: Operand) -> Self: """In place: x, but at least min. See ``clamp_min``."""
    def clip(self, min: Operand | None = None, max: Operand | None = None) -> Tensor:
        """input moved into [min, max]; each may be a number, a tensor or None."""
    def clip_(self, min: Operand | None = None, max: Operand | None = None) -> Self:
        """In place: input moved into [min, max]; each may be a number, a tensor or None. See ``clamp``."""
    def clone(self, memory_format: MemoryFormat | None = None) -> Tensor: """A copy."""
    def conj(self) -> Tensor: """The complex conjugate, as a view: see is_conj; a real tensor itself."""
    def conj_physical(self) -> Tensor: """The complex conjugate, computed. Of real numbers the tensor itself."""
    def conj_physical_(self) -> Self: """In place: The complex conjugate, computed. See ``conj_physical``."""
    def const_data_ptr(self) -> _int: """Address of the first element."""
    def contiguous(self, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor itself if its elements lie in the order of the memory format, row by row by default, else a copy that has
        it."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Self:
        """In place: Write src into input, converted and broadcast; copies between devices need not be done then, if non_blocking.
        See ``copy``."""
    def copysign(self, other: Operand) -> Tensor: """The magnitude of x with the sign of y."""
    def copysign_(self, other: Operand) -> Self: """In place: The magnitude of x with the sign of y. See ``copysign``."""
    def corrcoef(self) -> Tensor: """Correlation coefficients of variables in rows and observations in columns."""
    def cos(self) -> Tensor: """The cosine of x in radians."""
    def cos_(self) -> Self: """In place: The cosine of x in radians. See ``cos``."""
    def cosh(self) -> Tensor: """The hyperbolic cosine."""
    def cosh_(self) -> Self: """In place: The hyperbolic cosine. See ``cosh``."""
    def count_nonzero(self, dim: Ints | None = None, keepdim: _bool = False, *, axis: Ints | None = None,
                      keepdims: _bool | None = None) -> Tensor:
        """Number of elements that are not zero."""
    def cov(self, *, correction: Number = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables in rows and observations in columns."""
    def cpu(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor on the CPU; itself if it is there."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product along a dimension of size 3, by default the first such."""
    def cuda(self, device: Device | str | None = None, non_blocking: _bool = False) -> Tensor: """The tensor on a GPU."""
    def cummax(self, dim: _int) -> Extremum:
        """(values, indices) of the greatest element up to each along dim; of equal ones the last."""
    def cummin(self, dim: _int) -> Extremum:
        """(values, indices) of the smallest element up to each along dim; of equal ones the last."""
    def cumprod(self, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None) -> Tensor:
        """Products of the elements up to each along dim; integers and bools in int64."""
    def cumprod_(self, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None) -> Self:
        """In place: cumprod."""
    def cumsum(self, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None) -> Tensor:
        """Sums of the elements up to each along dim; integers and bools in int64."""
    def cumsum_(self, dim: Ints | None = None, *, dtype: DType | None = None, axis: Ints | None = None) -> Self:
        """In place: cumsum."""
    data: Tensor
    """The same memory without history, with a version of its own: autograd does not notice writes to it."""
    def deg2rad(self) -> Tensor: """Degrees as radians."""
    def deg2rad_(self) -> Self: """In place: Degrees as radians. See ``deg2rad``."""
    def dense_dim(self) -> _int: """Number of dimensions."""
    def det(self) -> Tensor: """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """The same memory and version without history: nothing that is computed from it reaches ``x``'s graph."""
    def detach_(self) -> Self: """Cut the tensor off its history: it becomes a leaf that does not require grad."""
    def diag(self, diagonal: _int = 0) -> Tensor: """The diagonal of a matrix; of a vector the matrix with that diagonal."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last dimension as a diagonal of two new ones, zeros elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor: """The matrix whose diagonal has all elements."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonals of two dimensions, as a last one."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of x with src written to a diagonal of it."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The n-th differences of neighbours along dim, of input with ``prepend`` before it and ``append`` behind; for n = 0 the
        input."""
    def digamma(self) -> Tensor: """The derivative of lgamma."""
    def digamma_(self) -> Self: """In place: The derivative of lgamma. See ``digamma``."""
    def dim_order(self, *, ambiguity_check: _bool | list[MemoryFormat] = False) -> tuple[_int, ...]:
        """The dimensions from the one with the largest stride to that with the smallest."""
    def dist(self, other: Tensor, p: Number = 2) -> Tensor: """The p-norm of the difference."""
    def div(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
    def div_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """In place: input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers. See ``div``."""
    def divide(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
    def divide_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """In place: input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers. See ``div``."""
    def dot(self, tensor: Tensor) -> Tensor: """The sum of the products of two vectors' elements."""
    def double(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as float64; itself if it is."""
    def dsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]:
        """Pieces behind one another: along the third dimension; equal ones, or those between the given indices."""
    def elu(self, alpha: Number = 1.0) -> Tensor: """x where x > 0, else alpha * (e**x - 1)."""
    def elu_(self, alpha: Number = 1.0) -> Self: """In place: x where x > 0, else alpha * (e**x - 1). See ``elu``."""
    def eq(self, other: Operand) -> Tensor: """x == y."""
    def eq_(self, other: Operand) -> Self: """In place: x == y. See ``eq``."""
    def equal(self, other: Tensor) -> _bool: """Whether two tensors have one shape and equal elements: a Python bool."""
    def erf(self) -> Tensor: """The error function."""
    def erf_(self) -> Self: """In place: The error function. See ``erf``."""
    def erfc(self) -> Tensor: """1 - erf(x), to full precision for large x."""
    def erfc_(self) -> Self: """In place: 1 - erf(x), to full precision for large x. See ``erfc``."""
    def erfinv(self) -> Tensor: """The number whose error function is x; NaN beyond -1 and 1."""
    def erfinv_(self) -> Self: """In place: The number whose error function is x; NaN beyond -1 and 1. See ``erfinv``."""
    def exp(self) -> Tensor: """e**x."""
    def exp2(self) -> Tensor: """2**x."""
    def exp2_(self) -> Self: """In place: 2**x. See ``exp2``."""
    def exp_(self) -> Self: """In place: e**x. See ``exp``."""
    def expand(self, *each: Ints, size: Ints | None = None) -> Tensor:
        """Dimensions of size 1 repeated without memory; -1 keeps a size."""
    def expand_as(self, other: Tensor) -> Tensor: """``x.expand(other.shape)``."""
    def expm1(self) -> Tensor: """e**x - 1, exact near 0."""
    def expm1_(self) -> Self: """In place: e**x - 1, exact near 0. See ``expm1``."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """In place: exponential numbers of rate ``lambd``."""
    def fill_(self, value: Operand) -> Self: """In place: Write one value into every element. See ``fill``."""
    def fill_diagonal_(self, fill_value: _float, wrap: _bool = False) -> Self:
        """Write a number to the elements with equal indices."""
    def fix(self) -> Tensor: """x without its fraction."""
    def fix_(self) -> Self: """In place: x without its fraction. See ``trunc``."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """A range of dimensions as one; the tensor itself if that changes nothing."""
    def flip(self, *each: Ints, dims: Ints | None = None) -> Tensor: """Dimensions in reverse order of their elements; copied."""
    def fliplr(self) -> Tensor: """The second dimension in reverse."""
    def flipud(self) -> Tensor: """The first dimension in reverse."""
    def float(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as float32; itself if it is."""
    def float_power(self, exponent: Number) -> Tensor: """input to the power exponent, computed in double precision."""
    def float_power_(self, exponent: Number) -> Self: """In place: float_power."""
    def floor(self) -> Tensor: """The largest integer <= x."""
    def floor_(self) -> Self: """In place: The largest integer <= x. See ``floor``."""
    def floor_divide(self, other: Operand) -> Tensor: """The floor of x / y. It has no derivative: div(rounding_mode=) has."""
    def floor_divide_(self, other: Operand) -> Self:
        """In place: The floor of x / y. It has no derivative: div(rounding_mode=) has. See ``floor_divide``."""
    def fmax(self, other: Operand) -> Tensor: """The larger one; the number if the other is NaN. Ties go to x."""
    def fmin(self, other: Operand) -> Tensor: """The smaller one; the number if the other is NaN. Ties go to x."""
    def fmod(self, other: Operand) -> Tensor: """x - trunc(x / y) * y: the sign of x."""
    def fmod_(self, other: Operand) -> Self: """In place: x - trunc(x / y) * y: the sign of x. See ``fmod``."""
    def frac(self) -> Tensor: """The fraction of x, with its sign."""
    def frac_(self) -> Self: """In place: The fraction of x, with its sign. See ``frac``."""
    def frexp(self) -> Frexp:
        """(mantissa, exponent) with input = mantissa * 2**exponent and 1/2 <= |mantissa| < 1; the exponent is int32."""
    def gather(self, dim: _int, index: Tensor, sparse_grad: _bool = False) -> Tensor:
        """out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on for others."""
    def gcd(self, other: Operand) -> Tensor: """The greatest common divisor."""
    def gcd_(self, other: Operand) -> Self: """In place: The greatest common divisor. See ``gcd``."""
    def ge(self, other: Operand) -> Tensor: """x >= y."""
    def ge_(self, other: Operand) -> Self: """In place: x >= y. See ``ge``."""
    def gelu(self, approximate: str = 'none') -> Tensor:
        """input times its normal distribution function; approximate="tanh" uses Hendrycks and Gimpel's formula."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """In place: how many tries of success probability ``p`` the first success takes: 1, 2, 3, ..."""
    def geqrf(self) -> Reflections:
        """A QR decomposition as LAPACK has it: (a, tau). Differentiating it is refused: ``linalg.qr`` has derivatives."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Every element of one vector times every element of another, (n,) and (m,) -> (n, m)."""
    def get_device(self) -> _int: """The number of the GPU that the elements are on; -1 for the CPU."""
    def getitem(self, key: Any) -> Tensor:
        """``x[key]``: a view for ints, slices, None and ``...``; a copy for index tensors, lists and masks."""
    grad: Tensor | None
    """The gradient accumulated so far; of leaves, and of tensors that retain it."""
    grad_dtype: DType | None
    """The dtype that a leaf's gradients are cast to before hooks see them; None: they come as they are."""
    @property
    def grad_fn(self) -> Node | None:
        """The node that computed the tensor, of a class named after the operation; None for a leaf."""
    def greater(self, other: Operand) -> Tensor: """x > y."""
    def greater_(self, other: Operand) -> Self: """In place: x > y. See ``gt``."""
    def greater_equal(self, other: Operand) -> Tensor: """x >= y."""
    def greater_equal_(self, other: Operand) -> Self: """In place: x >= y. See ``ge``."""
    def gt(self, other: Operand) -> Tensor: """x > y."""
    def gt_(self, other: Operand) -> Self: """In place: x > y. See ``gt``."""
    def half(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as float16; itself if it is."""
    def hardshrink(self, lambd: Operand = 0.5) -> Tensor: """x where |x| > lambd, else 0."""
    def hardsigmoid_(self) -> Self: """In place: x / 6 + 1/2, moved into [0, 1]. See ``hardsigmoid``."""
    def hardswish_(self) -> Self: """In place: x * hardsigmoid(x). See ``hardswish``."""
    def hardtanh_(self, min_val: _float = -1.0, max_val: _float = 1.0) -> Self:
        """In place: x moved into [min_val, max_val]; the derivative at the ends is 0. See ``hardtanh``."""
    def heaviside(self, values: Operand) -> Tensor: """0 below 0, 1 above, values at 0. It has no derivative."""
    def heaviside_(self, values: Operand) -> Self:
        """In place: 0 below 0, 1 above, values at 0. It has no derivative. See ``heaviside``."""
    def histc(self, bins: _int = 100, min: Number = 0, max: Number = 0) -> Tensor:
        """How many elements lie in each of ``bins`` equal intervals from min to max (of the elements if both are 0)."""
    def histogram(self, bins: _int = 100, *, range: Sequence[_float] | None = None, weight: Tensor | None = None,
                  density: _bool = False) -> Histogram:
        """(hist, bin_edges): the numbers or weights of the elements between edges, given or equally spaced."""
    def hsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]:
        """Pieces side by side: along the second dimension, of vectors the first; equal ones, or those between the given indices."""
    def hypot(self, other: Operand) -> Tensor: """sqrt(x**2 + y**2); the derivative at 0 is 0."""
    def hypot_(self, other: Operand) -> Self: """In place: sqrt(x**2 + y**2); the derivative at 0 is 0. See ``hypot``."""
    def i0(self) -> Tensor: """The modified Bessel function of the first kind of order 0."""
    def i0_(self) -> Self: """In place: The modified Bessel function of the first kind of order 0. See ``i0``."""
    def igamma(self, other: Tensor) -> Tensor:
        """The regularised lower incomplete gamma function of order ``input`` at ``other``; differentiable by the second operand."""
    def igamma_(self, other: Tensor) -> Self: """In place: igamma."""
    def igammac(self, other: Tensor) -> Tensor:
        """The regularised upper incomplete gamma function: 1 - igamma, to full precision where that is small."""
    def igammac_(self, other: Tensor) -> Self: """In place: igammac."""
    imag: Tensor
    """The imaginary parts of a complex tensor, as a view."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """``x`` with ``alpha`` times the slices of ``source`` added where ``index`` says."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Self: """In place: index_add."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``x`` with the slices of ``source`` written where ``index`` says."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self: """In place: index_copy."""
    def index_fill(self, dim: _int, index: Tensor, value: Operand) -> Tensor:
        """``x`` with ``value``, a number or a tensor of one element, in the slices that ``index`` names, from the end if
        negative."""
    def index_fill_(self, dim: _int, index: Tensor, value: Number) -> Self: """In place: index_fill."""
    def index_put(self, indices: Tensor, values: Tensor, accumulate: _bool = False) -> Tensor:
        """``x`` with ``values`` written (or added) at a tuple of index tensors or masks."""
    def index_put_(self, indices: Tensor, values: Tensor, accumulate: _bool = False) -> Self: """In place: index_put."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """``input`` and the slices of ``source`` that a vector ``index`` sends to each along dim, reduced: prod, mean, amax or
        amin."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In place: index_reduce."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor: """The slices of dim that a one-dimensional index names."""
    def inner(self, other: Tensor) -> Tensor: """Sums of products over the last dimensions of both; a 0-d operand multiplies."""
    def int(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as int32; itself if it is."""
    def inverse(self) -> Tensor: """The inverse of square matrices."""
    def is_conj(self) -> _bool: """Whether the tensor is a lazy conjugate: a Python bool."""
    @property
    def is_cpu(self) -> _bool: """Whether the elements are in the CPU's memory."""
    def is_distributed(self) -> _bool: """False, as of all tensors."""
    def is_inference(self) -> _bool: """Whether the tensor was made in inference mode."""
    @property
    def is_ipu(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_leaf(self) -> _bool: """Whether the tensor was not computed from tensors that require grad."""
    @property
    def is_maia(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_meta(self) -> _bool: """Whether there are no elements: the device is meta."""
    @property
    def is_mkldnn(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_mps(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_mtia(self) -> _bool: """False: a kind of tensor that this one is not."""
    def is_neg(self) -> _bool:
        """Whether the tensor is a lazy negative, as the imaginary part of a lazy conjugate is: a Python bool."""
    @property
    def is_nested(self) -> _bool: """False: a kind of tensor that this one is not."""
    def is_nonzero(self) -> _bool: """Whether the one element is not 0."""
    def is_pinned(self) -> _bool: """Whether a tensor is in pinned memory, from which and to which copies need not be waited for."""
    @property
    def is_quantized(self) -> _bool: """False: a kind of tensor that this one is not."""
    def is_same_size(self, other: Tensor) -> _bool: """Whether both have the same shape."""
    def is_set_to(self, other: Tensor) -> _bool: """Whether both are the same part of the same memory in the same shape."""
    def is_shared(self) -> _bool: """Whether other processes can see its memory: see ``share_memory_``."""
    def is_signed(self) -> _bool: """Whether the dtype has negative numbers."""
    @property
    def is_sparse(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_sparse_csr(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_vulkan(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_xla(self) -> _bool: """False: a kind of tensor that this one is not."""
    @property
    def is_xpu(self) -> _bool: """False: a kind of tensor that this one is not."""
    def isclose(self, other: Tensor, rtol: Number = 1e-05, atol: Number = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Where |input - other| <= atol + rtol * |other|; infinities equal themselves, NaN with ``equal_nan``."""
    def isfinite(self) -> Tensor: """x is neither infinite nor NaN."""
    def isinf(self) -> Tensor: """x is infinite."""
    def isnan(self) -> Tensor: """x is not a number."""
    def isneginf(self) -> Tensor: """x is negative infinity."""
    def isposinf(self) -> Tensor: """x is positive infinity."""
    def isreal(self) -> Tensor: """Where the imaginary part is 0; True everywhere for real tensors."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None,
              center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None,
              return_complex: _bool = False) -> Tensor:
        """The signal of which ``stft`` gives this: of spectra that no signal has, the one whose spectra are nearest."""
    def item(self) -> Any: """The one element as a Python number."""
    def iterate(self) -> Iterator[Tensor]: """Iterate over the first dimension, as ``unbind`` does."""
    def kron(self, other: Tensor) -> Tensor: """The Kronecker product: every element of ``input`` times the whole of ``other``."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> Extremum:
        """(values, indices) of the k-th smallest element along dim, counted from 1; NaN counts as the greatest number."""
    def lcm(self, other: Operand) -> Tensor: """The least common multiple."""
    def lcm_(self, other: Operand) -> Self: """In place: The least common multiple. See ``lcm``."""
    def ldexp(self, other: Tensor) -> Tensor: """input * 2**other."""
    def ldexp_(self, other: Tensor) -> Self: """In place: ldexp."""
    def le(self, other: Operand) -> Tensor: """x <= y."""
    def le_(self, other: Operand) -> Self: """In place: x <= y. See ``le``."""
    def leaky_relu(self, negative_slope: _float = 0.01) -> Tensor: """x where x > 0, else negative_slope * x."""
    def leaky_relu_(self, negative_slope: _float = 0.01) -> Self:
        """In place: x where x > 0, else negative_slope * x. See ``leaky_relu``."""
    def lerp(self, end: Operand | None, weight: Operand) -> Tensor: """x + weight * (end - x)."""
    def lerp_(self, end: Operand | None, weight: Operand) -> Self: """In place: x + weight * (end - x). See ``lerp``."""
    def less(self, other: Operand) -> Tensor: """x < y."""
    def less_(self, other: Operand) -> Self: """In place: x < y. See ``lt``."""
    def less_equal(self, other: Operand) -> Tensor: """x <= y."""
    def less_equal_(self, other: Operand) -> Self: """In place: x <= y. See ``le``."""
    def lgamma(self) -> Tensor: """The logarithm of the magnitude of the gamma function."""
    def lgamma_(self) -> Self: """In place: The logarithm of the magnitude of the gamma function. See ``lgamma``."""
    def log(self) -> Tensor: """The natural logarithm."""
    def log10(self) -> Tensor: """The logarithm to base 10."""
    def log10_(self) -> Self: """In place: The logarithm to base 10. See ``log10``."""
    def log1p(self) -> Tensor: """log(1 + x), exact near 0."""
    def log1p_(self) -> Self: """In place: log(1 + x), exact near 0. See ``log1p``."""
    def log2(self) -> Tensor: """The logarithm to base 2."""
    def log2_(self) -> Self: """In place: The logarithm to base 2. See ``log2``."""
    def log_(self) -> Self: """In place: The natural logarithm. See ``log``."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Self:
        """In place: numbers whose logarithm is normal, with that mean and standard deviation."""
    def log_softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """Logarithm of softmax along dim, without its overflow."""
    def logaddexp(self, other: Operand) -> Tensor: """log(e**x + e**y), without overflow."""
    def logaddexp2(self, other: Operand) -> Tensor: """log2(2**x + 2**y), without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor: """log(sum(exp(x))) of the elements up to each along dim, without overflow."""
    def logdet(self) -> Tensor: """The logarithm of the determinant; NaN if that is negative."""
    def logical_and(self, other: Operand) -> Tensor: """Both are not zero."""
    def logical_and_(self, other: Operand) -> Self: """In place: Both are not zero. See ``logical_and``."""
    def logical_not(self) -> Tensor: """x is zero."""
    def logical_not_(self) -> Self: """In place: x is zero. See ``logical_not``."""
    def logical_or(self, other: Operand) -> Tensor: """At least one is not zero."""
    def logical_or_(self, other: Operand) -> Self: """In place: At least one is not zero. See ``logical_or``."""
    def logical_xor(self, other: Operand) -> Tensor: """Exactly one is not zero."""
    def logical_xor_(self, other: Operand) -> Self: """In place: Exactly one is not zero. See ``logical_xor``."""
    def logit(self, eps: Number | None = None) -> Tensor:
        """log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given."""
    def logit_(self, eps: Number | None = None) -> Self:
        """In place: log(input / (1 - input)), of input moved into [eps, 1 - eps] if eps is given. See ``logit``."""
    def logsigmoid(self) -> Tensor: """log(sigmoid(x))."""
    def logsigmoid_(self) -> Self: """In place: log(sigmoid(x)). See ``logsigmoid``."""
    def logsumexp(self, dim: Ints, keepdim: _bool = False, *, keepdims: _bool | None = None) -> Tensor:
        """log(sum(exp(x))) over dimensions, without overflow."""
    def long(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as int64; itself if it is."""
    def lt(self, other: Operand) -> Tensor: """x < y."""
    def lt_(self, other: Operand) -> Self: """In place: x < y. See ``lt``."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> tuple[Tensor, ...]:
        """(LU, pivots) of ``linalg.lu_factor``, also where U has a zero on its diagonal; with ``get_infos`` (LU, pivots, info)."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: """See ``linalg.lu_solve``."""
    @property
    def mH(self) -> Tensor: """The last two dimensions exchanged, and the elements conjugated."""
    @property
    def mT(self) -> Tensor: """The last two dimensions exchanged; of no dimensions the tensor itself."""
    def map2_(self, x2: Tensor, x3: Tensor, callable: Callable) -> Self:
        """Replace every element by ``callable(element, element of x2, element of x3)``; errors as of ``map_``."""
    def map_(self, tensor: Tensor, callable: Callable) -> Self:
        """Replace every element by ``callable(element, element of tensor)``."""
    def masked_fill(self, mask: Operand, value: Operand) -> Tensor: """value where mask is true, else x; the dtype is that of x."""
    def masked_fill_(self, mask: Operand, value: Operand) -> Self:
        """In place: value where mask is true, else x; the dtype is that of x. See ``masked_fill``."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """x with consecutive elements of source where mask is true; x and mask broadcast."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self: """In place: masked_scatter."""
    def masked_select(self, mask: Tensor) -> Tensor: """The elements of x where mask is true, in one row; both broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product of the last two dimensions; batches broadcast, vectors take part as a row on the left or a column on
        the right."""
    def matrix_exp(self) -> Tensor: """The exponential of square matrices."""
    def matrix_power(self, n: _int) -> Tensor:
        """The n-th power of square matrices, by squaring, of any dtype that has products; of a negative n that of the inverse."""
    @overload
    def max(self) -> Tensor: ...
    @overload
    def max(self, dim: Tensor) -> Tensor: ...
    @overload
    def max(self, *, other: Tensor) -> Tensor: ...  # type: ignore[overload-overlap]
    @overload
    def max(self, dim: Ints | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Ints | None = None,
            keepdims: _bool | None = None) -> Extremum:
        """Greatest element; along dim (values, indices), the gradient to that index; of two tensors, maximum."""
    def maximum(self, other: Operand) -> Tensor: """The larger one; NaN if one is. Ties share the gradient."""
    def mean(self, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
             keepdims: _bool | None = None) -> Tensor:
        """Arithmetic mean over dimensions; of floating and complex tensors."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: Ints | None = None, keepdim: _bool = False) -> Extremum:
        """The lower median of all elements, its gradient shared by those that tie; along dim (values, indices). NaN if there is
        one."""
    @overload
    def min(self) -> Tensor: ...
    @overload
    def min(self, dim: Tensor) -> Tensor: ...
    @overload
    def min(self, *, other: Tensor) -> Tensor: ...  # type: ignore[overload-overlap]
    @overload
    def min(self, dim: Ints | None = None, keepdim: _bool = False, *, other: Tensor | None = None, axis: Ints | None = None,
            keepdims: _bool | None = None) -> Extremum:
        """Smallest element; along dim (values, indices), the gradient to that index; of two tensors, minimum."""
    def minimum(self, other: Operand) -> Tensor: """The smaller one; NaN if one is. Ties share the gradient."""
    def mish_(self) -> Self: """In place: x * tanh(log(1 + e**x)). See ``mish``."""
    def mm(self, mat2: Tensor) -> Tensor: """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> Extremum:
        """(values, indices) of the most frequent value along dim, the smallest of several; the index is its last. No NaN equals
        another: where no number comes twice the first NaN is returned."""
    def moveaxis(self, source: Ints, destination: Ints) -> Tensor:
        """Dimensions moved to other places; the rest keep their order."""
    def movedim(self, source: Ints, destination: Ints) -> Tensor: """Dimensions moved to other places; the rest keep their order."""
    def msort(self) -> Tensor: """Sorted along the first dimension."""
    def mul(self, other: Operand) -> Tensor: """x * y."""
    def mul_(self, other: Operand) -> Self: """In place: x * y. See ``mul``."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None,
                    out: Tensor | None = None) -> Tensor:
        """Indices drawn from the weights in each row of ``input``: int64, ``num_samples`` a row."""
    def multiply(self, other: Operand) -> Tensor: """x * y."""
    def multiply_(self, other: Operand) -> Self: """In place: x * y. See ``mul``."""
    def mv(self, vec: Tensor) -> Tensor: """The product of a matrix and a vector."""
    def mvlgamma(self, p: Number) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension p, a whole number >= 1."""
    def mvlgamma_(self, p: Number) -> Self: """In place: mvlgamma."""
    def nan_to_num(self, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None) -> Tensor:
        """Numbers in the place of NaN (0) and the infinities (the dtype's greatest and least), in both parts of complex numbers."""
    def nan_to_num_(self, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None) -> Self:
        """In place: nan_to_num."""
    def nanmean(self, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Mean over dimensions of what is not NaN."""
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: Ints | None = None, keepdim: _bool = False) -> Extremum:
        """The lower median of what is not NaN; along dim (values, indices)."""
    def nanquantile(self, q: Tensor | Number | Sequence[_float], dim: Ints | None = None, keepdim: _bool = False, *,
                    interpolation: str = 'linear') -> Tensor:
        """The q-quantiles of what is not NaN, of all elements or along dim."""
    def nansum(self, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Sum over dimensions of what is not NaN."""
    def narrow(self, dim: _int, start: _int | None, length: _int) -> Tensor:
        """``length`` elements of a dimension from ``start`` on."""
    def narrow_copy(self, dim: _int, start: _int | None, length: _int) -> Tensor: """What ``narrow`` shows, copied."""
    def ne(self, other: Operand) -> Tensor: """x != y."""
    def ne_(self, other: Operand) -> Self: """In place: x != y. See ``ne``."""
    def neg(self) -> Tensor: """-x."""
    def neg_(self) -> Self: """In place: -x. See ``neg``."""
    def negative(self) -> Tensor: """-x."""
    def negative_(self) -> Self: """In place: -x. See ``neg``."""
    def new(self, *args: Any, device: Device | str | None = None, **kwargs: Any) -> Tensor:
        """A tensor of the dtype of this one: of sizes (without particular values), or of data."""
    def new_empty(self, *sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
                  device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
                  pin_memory: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
        """``nbgrad.empty`` with the dtype of this tensor, and on its device, unless others are given."""
    def new_empty_strided(self, size: Ints, stride: Ints, *, dtype: DType | None = None, device: Device | str | None = None,
                          requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False) -> Tensor:
        """``nbgrad.empty_strided`` with the dtype of this tensor, and on its device, unless others are given."""
    def new_full(self, size: _int | Sequence[_int], fill_value: Operand, *, dtype: DTypeLike | None = None,
                 device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
                 pin_memory: _bool = False) -> Tensor:
        """``nbgrad.full`` with the dtype of this tensor, and on its device, unless others are given."""
    def new_ones(self, *sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
                 device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
                 pin_memory: _bool = False) -> Tensor:
        """``nbgrad.ones`` with the dtype of this tensor, and on its device, unless others are given."""
    def new_tensor(self, data: Any, *, dtype: DTypeLike | None = None, device: Device | str | None = None,
                   requires_grad: _bool = False, layout: MemoryFormat | None = None, pin_memory: _bool = False) -> Tensor:
        """``nbgrad.tensor`` with the dtype of this tensor, and on its device, unless others are given."""
    def new_zeros(self, *sizes: _int | Sequence[_int], size: _int | Sequence[_int] | None = None, dtype: DTypeLike | None = None,
                  device: Device | str | None = None, requires_grad: _bool = False, layout: MemoryFormat | None = None,
                  pin_memory: _bool = False) -> Tensor:
        """``nbgrad.zeros`` with the dtype of this tensor, and on its device, unless others are given."""
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number after input in the direction of other: its derivative by input is 1, 0 where both are equal, by other
        0."""
    def nextafter_(self, other: Tensor) -> Self: """In place: nextafter."""
    def nonzero(self, *, as_tuple: _bool = False) -> Tensor | Any:
        """The indices of the elements that are not zero: a row each, or with ``as_tuple`` a tensor a dimension."""
    def nonzero_static(self, *, size: _int, fill_value: Operand = -1) -> Tensor:
        """The indices of the first ``size`` elements that are not zero, a row each; ``fill_value`` in the rows that are left
        over."""
    def norm(self, p: Number | str = 'fro', dim: Ints | None = None, keepdim: _bool = False, dtype: DType | None = None, *,
             axis: Ints | None = None, keepdims: _bool | None = None) -> Tensor:
        """The p-norm over dimensions: p any number, inf, -inf, or "fro" (2); "nuc" of matrices, the sum of their singular
        values."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """In place: normal numbers."""
    def not_equal(self, other: Operand) -> Tensor: """x != y."""
    def not_equal_(self, other: Operand) -> Self: """In place: x != y. See ``ne``."""
    def numpy(self, *, force: _bool = False) -> np.ndarray:
        """An array on the same memory: writes to one are seen in the other, and autograd does not notice them."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """The first columns of the product of Householder's reflections, whose vectors are below the diagonal of A."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """``Q @ other``, where Q is the whole product of the reflections of ``geqrf``: it is never formed."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Every element of one vector times every element of another, (n,) and (m,) -> (n, m)."""
    @property
    def output_nr(self) -> _int: """Which result of its ``grad_fn`` the tensor is."""
    def permute(self, *each: Ints, dims: Ints | None = None) -> Tensor:
        """Dimensions in another order; ``x.permute(1, 0)`` or ``x.permute((1, 0))``."""
    def pin_memory(self, device: Device | str | None = None) -> Tensor:
        """The tensor in pinned memory, from which a GPU fetches while the program goes on; itself where it is there."""
    def pinverse(self, rcond: Number = 1e-15) -> Tensor: """See ``linalg.pinverse``."""
    def polygamma(self, n: _int) -> Tensor: """The n-th derivative of digamma."""
    def polygamma_(self, n: _int) -> Self: """In place: polygamma_of."""
    def polygamma_of(self, n: _int) -> Tensor: """The n-th derivative of digamma."""
    def polygamma_of_(self, n: _int) -> Self: """In place: polygamma_of."""
    def positive(self) -> Tensor: """x. Of numbers the tensor itself."""
    def pow(self, exponent: Operand) -> Tensor: """input to the power exponent; either may be a number."""
    def pow_(self, exponent: Operand) -> Self: """In place: input to the power exponent; either may be a number. See ``pow``."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where it is > 0, else weight times it; one weight for all, or for each of the second dimension."""
    def prod(self, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
             keepdims: _bool | None = None) -> Tensor:
        """Product of all elements or along one dimension; integers and bools in int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``x``, seen as one row, with the elements of ``source`` written (or added) where ``index`` says."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self: """In place: put."""
    def qr(self, some: _bool = True) -> QRResult: """(Q, R): see ``linalg.qr``."""
    def quantile(self, q: Tensor | Number | Sequence[_float], dim: Ints | None = None, keepdim: _bool = False, *,
                 interpolation: str = 'linear') -> Tensor:
        """The q-quantiles of all elements or along dim, q a number or a vector of numbers from 0 to 1; NaN if there is one."""
    def rad2deg(self) -> Tensor: """Radians as degrees."""
    def rad2deg_(self) -> Self: """In place: Radians as degrees. See ``rad2deg``."""
    def random_(self, low: _int | None = None, high: _int | None = None, *, generator: Generator | None = None,
                **bounds: Any) -> Self:
        """In place: integers from ``low`` to ``high - 1``; ``random_(high)`` starts at 0, ``random_()`` takes all the non-negative
        ones that the dtype counts without gaps."""
    def ravel(self) -> Tensor: """One dimension of neighbours in memory, copied only where it must be."""
    real: Tensor
    """The real parts: a view of a complex tensor, a real tensor itself."""
    def reciprocal(self) -> Tensor: """1 / x."""
    def reciprocal_(self) -> Self: """In place: 1 / x. See ``reciprocal``."""
    def record_stream(self, stream: Any) -> None:
        """Note that a stream uses a tensor's memory: it is not given to another one before that stream has done what it has now."""
    def register_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(g)`` with the gradient of the tensor in every pass; a tensor returned replaces it."""
    def register_post_accumulate_grad_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(x)`` after a pass has added to ``x.grad``; for leaves that require grad."""
    def relu(self) -> Tensor: """max(x, 0)."""
    def relu_(self) -> Self: """In place: max(x, 0). See ``relu``."""
    def remainder(self, other: Operand) -> Tensor: """x - floor(x / y) * y: the sign of y."""
    def remainder_(self, other: Operand) -> Self: """In place: x - floor(x / y) * y: the sign of y. See ``remainder``."""
    def renorm(self, p: Number, dim: _int, maxnorm: Number) -> Tensor:
        """Slices of dim whose p-norm is greater than ``maxnorm`` scaled down to it."""
    def renorm_(self, p: Number, dim: _int, maxnorm: Number) -> Self: """In place: renorm."""
    def repeat(self, *each: Ints, repeats: Ints | None = None) -> Tensor:
        """``x`` copied so many times along every dimension; more repeats than dimensions add dimensions in front."""
    def repeat_interleave(self, repeats: Ints | None = None, dim: Ints | None = None, *, output_size: _int | None = None) -> Tensor:
        """Every element of a dimension repeated so many times in a row; without ``dim`` input is seen as one row."""
    requires_grad: _bool
    """Whether gradients flow into the tensor; of leaves assignable."""
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Make a leaf require grad, or not; True is granted to a non-leaf too, which does already."""
    def reshape(self, *each: Ints, shape: Ints | None = None) -> Tensor:
        """The same elements under another shape: a view where strides allow, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor: """``x.reshape(other.shape)``."""
    def resize(self, *sizes: Ints) -> Tensor: """The old form of ``reshape``: the number of elements stays."""
    def resize_(self, *sizes: Ints, size: Ints | None = None, memory_format: MemoryFormat | None = None) -> Self:
        """Give ``x`` another shape, row by row from its first element on; counts as a write. One of that shape stays as it is."""
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Self:
        """Give ``x`` the shape of ``the_template``: see ``resize_``. With ``memory_format=preserve_format`` its order of elements
        too."""
    def resolve_conj(self) -> Tensor: """The tensor itself, or a copy if it is lazily conjugated."""
    def resolve_neg(self) -> Tensor: """The tensor itself, or a copy if it is lazily negated."""
    def retain_grad(self) -> None: """Keep the gradient of a non-leaf in ``x.grad`` (no effect on a leaf)."""
    @property
    def retains_grad(self) -> _bool: """Whether a non-leaf keeps its gradient."""
    def roll(self, shifts: Ints, dims: Ints | None = None) -> Tensor:
        """Elements moved along dimensions; what leaves at one end comes back at the other."""
    def rot90(self, k: _int = 1, dims: Ints = (0, 1)) -> Tensor:
        """Turned ``k`` times by 90 degrees, from the first dimension towards the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest multiple of 10**-decimals, ties to even; integers take no decimals."""
    def round_(self, *, decimals: _int = 0) -> Self:
        """In place: The nearest multiple of 10**-decimals, ties to even; integers take no decimals. See ``round``."""
    def rsqrt(self) -> Tensor: """1 / sqrt(x)."""
    def rsqrt_(self) -> Self: """In place: 1 / sqrt(x). See ``rsqrt``."""
    def rsub(self, other: Operand, *, alpha: Number = 1) -> Tensor: """other - alpha * input."""
    def scatter(self, dim: _int, index: Tensor, src: Tensor | None = None, *, value: Operand | None = None,
                reduce: str | None = None) -> Tensor:
        """``x`` with ``src`` (a tensor or a number) written along ``dim`` where ``index`` says; ``reduce="add"`` adds it,
        ``"multiply"`` multiplies by it."""
    def scatter_(self, dim: _int, index: Tensor, src: Tensor | None = None, *, value: Number | None = None,
                 reduce: str | None = None) -> Self:
        """In place: scatter."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``x`` with ``src`` added along ``dim`` where ``index`` says; repeated indices add up in row-major order."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self: """In place: scatter_add."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """``input`` and the elements of ``src`` that ``index`` sends to each place along dim, reduced: sum, prod, mean, amax or
        amin."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In place: scatter_reduce."""
    def select(self, dim: _int, index: _int) -> Tensor: """One element of one dimension, which goes."""
    def select_scatter(self, src: Tensor, dim: _int, index: Tensor) -> Tensor:
        """A copy of x with src written to one element of a dimension."""
    def selu_(self) -> Self:
        """In place: elu scaled so that mean 0 and variance 1 are a fixed point (Klambauer et al., 2017). See ``selu``."""
    def set_(self, source: Ints | None = None, storage_offset: _int = 0, size: Ints | None = None,
             stride: Ints | None = None) -> Self:
        """Let ``x`` stand on other memory; counts as a write to ``x``."""
    def setitem(self, key: Any, value: Operand) -> None:
        """``x[key] = value``: a recorded in-place write of a number or of a tensor that broadcasts."""
    def sgn(self) -> Tensor: """x / |x|, 0 at 0; of real numbers the sign."""
    def sgn_(self) -> Self: """In place: x / |x|, 0 at 0; of real numbers the sign. See ``sgn``."""
    def share_memory_(self) -> Self:
        """Move the tensor, with all that shares its storage, to memory that other processes can see: forks of this one, and those
        to which ``nbgrad.multiprocessing`` sends it. Arrays of NumPy and tensors of ``x.data`` that were there before stay
        behind."""
    def short(self, memory_format: MemoryFormat | None = None) -> Tensor: """The tensor as int16; itself if it is."""
    def sigmoid(self) -> Tensor: """1 / (1 + e**-x)."""
    def sigmoid_(self) -> Self: """In place: 1 / (1 + e**-x). See ``sigmoid``."""
    def sign(self) -> Tensor: """-1, 0 or 1."""
    def sign_(self) -> Self: """In place: -1, 0 or 1. See ``sign``."""
    def signbit(self) -> Tensor: """Whether the sign is negative, that of -0.0 too."""
    def silu(self) -> Tensor: """x * sigmoid(x)."""
    def silu_(self) -> Self: """In place: x * sigmoid(x). See ``silu``."""
    def sin(self) -> Tensor: """The sine of x in radians."""
    def sin_(self) -> Self: """In place: The sine of x in radians. See ``sin``."""
    def sinc(self) -> Tensor: """sin(pi x) / (pi x); 1 at 0."""
    def sinc_(self) -> Self: """In place: sin(pi x) / (pi x); 1 at 0. See ``sinc``."""
    def sinh(self) -> Tensor: """The hyperbolic sine."""
    def sinh_(self) -> Self: """In place: The hyperbolic sine. See ``sinh``."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None,
                      step: _int = 1) -> Tensor:
        """A copy of x with src written to a slice of it."""
    def slogdet(self) -> SlogdetResult: """(sign, logabsdet): the determinant's sign, and the logarithm of its magnitude."""
    def softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """exp(x) over its sum along dim; the maximum is subtracted first."""
    def softplus(self, beta: Operand = 1.0, threshold: Operand = 20.0) -> Tensor:
        """log(1 + e**(beta x)) / beta; x itself where beta x > threshold."""
    def softshrink_(self, lambd: _float = 0.5) -> Self: """In place: x moved towards 0 by lambd, as far as 0. See ``softshrink``."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: Ints | None = None) -> Extremum:
        """``(values, indices)`` sorted along dim; equal elements keep their order; NaN counts as the greatest number."""
    def sparse_dim(self) -> _int: """0: the tensor is dense."""
    def sparse_mask(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.sparse_mask``."""
    def split(self, split_size_or_sections: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces along a dimension: of one size (the last may be smaller), or of the given sizes."""
    def split_with_sizes(self, split_sizes: Ints, dim: _int = 0) -> tuple[Tensor, ...]: """Pieces of the given sizes."""
    def sqrt(self) -> Tensor: """The square root."""
    def sqrt_(self) -> Self: """In place: The square root. See ``sqrt``."""
    def square(self) -> Tensor: """x * x."""
    def square_(self) -> Self: """In place: x * x. See ``square``."""
    def squeeze(self, dim: Ints | None = None, axis: Ints | None = None) -> Tensor:
        """Without dimensions of size 1: all, one, or some of them."""
    def squeeze_(self, dim: Ints | None = None, axis: Ints | None = None) -> Self:
        """In place: squeeze. The elements stay where they are; shape and strides change."""
    def std(self, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
            correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None) -> Tensor:
        """Standard deviation over dimensions: the root of ``var``; its gradient is 0 where it is 0."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None,
             center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None,
             return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The Fourier transforms of overlapping frames of a signal."""
    def storage(self) -> TypedStorage:
        """The memory behind the tensor as numbers of its dtype, with a warning: ``untyped_storage`` is what will stay."""
    def sub(self, other: Operand, *, alpha: Number = 1) -> Tensor: """input - alpha * other."""
    def sub_(self, other: Operand, *, alpha: Number = 1) -> Self: """In place: input - alpha * other. See ``sub``."""
    def subtract(self, other: Operand, *, alpha: Number = 1) -> Tensor: """input - alpha * other."""
    def subtract_(self, other: Operand, *, alpha: Number = 1) -> Self: """In place: input - alpha * other. See ``sub``."""
    def sum(self, dim: Ints | None = None, keepdim: _bool = False, *, dtype: DType | None = None, axis: Ints | None = None,
            keepdims: _bool | None = None) -> Tensor:
        """Sum over dimensions; integers and bools in int64."""
    def sum_to(self, shape: Ints) -> Tensor:
        """Sum over the dimensions that broadcasting to ``x.shape`` added or stretched; ``x`` itself if there are none."""
    def sum_to_size(self, *each: Ints, size: Ints | None = None) -> Tensor:
        """Sum over the dimensions that broadcasting ``size`` to the shape of ``x`` would add or stretch; of integers in int64."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> SVDTurned:
        """(U, S, V) with input = U @ diag(S) @ V^H: see ``linalg.svd``, which returns V^H."""
    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Self:
        """In place: swapaxes. The elements stay where they are; shape and strides change."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In place: swapdims. The elements stay where they are; shape and strides change."""
    def t(self) -> Tensor: """The transpose of a matrix; fewer dimensions stay as they are."""
    def t_(self) -> Self: """In place: t. The elements stay where they are; shape and strides change."""
    def take(self, index: Tensor) -> Tensor: """The elements of x, seen as one row, that index names."""
    def take_along_dim(self, indices: Tensor, dim: Ints | None = None) -> Tensor:
        """``gather`` whose operands broadcast in the other dimensions; without ``dim`` both are seen as one row."""
    def tan(self) -> Tensor: """The tangent of x in radians."""
    def tan_(self) -> Self: """In place: The tangent of x in radians. See ``tan``."""
    def tanh(self) -> Tensor: """The hyperbolic tangent."""
    def tanh_(self) -> Self: """In place: The hyperbolic tangent. See ``tanh``."""
    def tanhshrink_(self) -> Self: """In place: x - tanh(x). See ``tanhshrink``."""
    def tensor_split(self, indices_or_sections: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """So many pieces of nearly equal size, or the pieces between the given indices."""
    def threshold_(self, threshold: Number, value: Operand) -> Self:
        """In place: x where x > threshold, else value. See ``threshold``."""
    def tile(self, *each: Ints, dims: Ints | None = None) -> Tensor: """``repeat`` with missing repeats in front taken as 1."""
    def to(self, *args: Any, dtype: DType | None = None, device: Device | str | None = None, other: Tensor | None = None,
           non_blocking: _bool = False, copy: _bool = False, memory_format: MemoryFormat | None = None) -> Tensor:
        """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``."""
    def to_dense(self, dtype: DType | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """The tensor itself, which is dense; in another dtype if one is given."""
    def to_sparse(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse``."""
    def to_sparse_bsc(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse_bsc``."""
    def to_sparse_bsr(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse_bsr``."""
    def to_sparse_coo(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse_coo``."""
    def to_sparse_csc(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse_csc``."""
    def to_sparse_csr(self, *args: Any, **kwargs: Any) -> Any: """See ``nbgrad.sparse.to_sparse_csr``."""
    def tolist(self) -> Any: """The elements as nested lists of Python numbers; one number for a 0-d tensor."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: Ints | None = None) -> Extremum:
        """``(values, indices)`` of the k greatest (or smallest) elements along dim, in order."""
    def trace(self) -> Tensor: """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor: """Two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In place: transpose. The elements stay where they are; shape and strides change."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False,
                         unitriangular: _bool = False) -> TriangularSolution:
        """(solution, A) of ``linalg.solve_triangular``, with A transposed if asked for."""
    def tril(self, diagonal: _int = 0) -> Tensor: """The lower triangle of matrices, zero above the diagonal."""
    def tril_(self, diagonal: _int = 0) -> Self: """In place: tril."""
    def triu(self, diagonal: _int = 0) -> Tensor: """The upper triangle of matrices, zero below the diagonal."""
    def triu_(self, diagonal: _int = 0) -> Self: """In place: triu."""
    def true_divide(self, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
        """input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers."""
    def true_divide_(self, other: Operand, *, rounding_mode: str | None = None) -> Self:
        """In place: input / other; rounding_mode "floor" or "trunc" rounds, and keeps integers integers. See ``div``."""
    def trunc(self) -> Tensor: """x without its fraction."""
    def trunc_(self) -> Self: """In place: x without its fraction. See ``trunc``."""
    def type(self, dtype: DType | None = None, non_blocking: _bool = False) -> Any:
        """The name of the tensor's type, as ``"nbgrad.FloatTensor"``, ``"nbgrad.cuda.FloatTensor"``; or the tensor converted."""
    def type_as(self, other: Tensor) -> Tensor: """The tensor in the dtype, and on the device, of ``other``."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]: """All elements of one dimension, as a tuple."""
    def unflatten(self, dim: _int, sizes: Ints) -> Tensor: """One dimension as several; one of their sizes may be -1."""
    def unfold(self, dimension: _int, size: Ints, step: _int) -> Tensor:
        """All windows of ``size`` elements, ``step`` apart, as a last dimension."""
    def uniform_(self, low: _float = 0.0, high: _float = 1.0, *, generator: Generator | None = None, **bounds: Any) -> Self:
        """In place: uniform numbers from [low, high); the bounds are also taken as ``to=`` and ``from=``, by torch's names."""
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False,
               dim: Ints | None = None) -> Tensor | Any:
        """The different values in order, every NaN one of its own; with ``dim`` the different slices. Differentiating it is
        refused."""
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False,
                           dim: Ints | None = None) -> Tensor | Any:
        """Elements (with ``dim``, slices) without those that repeat their neighbour before them; refuses to be differentiated."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """``chunk`` whose pieces autograd takes for tensors of their own."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces that autograd takes for tensors of their own, each with its own count of writes: only for use where the input,
        which learns of none of them, is not used again."""
    def unsafe_split_with_sizes(self, split_sizes: Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes that autograd takes for tensors of their own: see unsafe_split."""
    def unsqueeze(self, dim: _int) -> Tensor: """With a dimension of size 1 at ``dim``."""
    def unsqueeze_(self, dim: _int) -> Self: """In place: unsqueeze. The elements stay where they are; shape and strides change."""
    def untyped_storage(self) -> UntypedStorage: """The memory behind the tensor."""
    def var(self, dim: Ints | None = None, unbiased: _bool | None = None, keepdim: _bool = False, *,
            correction: Number | None = None, axis: Ints | None = None, keepdims: _bool | None = None) -> Tensor:
        """Variance over dimensions, divided by n - correction (1 unless given); of complex numbers that of both parts, added."""
    def vdot(self, other: Tensor) -> Tensor: """``dot`` with the first vector conjugated."""
    def view(self, *shape: Ints, size: Ints | None = None, dtype: DType | None = None) -> Tensor:
        """The same memory under another shape, ``x.view(2, -1)`` or ``x.view((2, -1))``, or as another dtype. Never copies."""
    def view_as(self, other: Tensor) -> Tensor: """``x.view(other.shape)``."""
    def vsplit(self, indices_or_sections: Ints) -> tuple[Tensor, ...]:
        """Pieces below one another: along the first dimension; equal ones, or those between the given indices."""
    def where(self, condition: Tensor, other: Operand) -> Tensor: """input where condition is true, else other."""
    def xlogy(self, other: Operand) -> Tensor: """x * log(y); 0 where x is 0, unless y is NaN."""
    def xlogy_(self, other: Operand) -> Self: """In place: x * log(y); 0 where x is 0, unless y is NaN. See ``xlogy``."""
    def zero_(self) -> Self: """In place: Write 0 into every element. See ``zero``."""
