"""What decompositions by cuSOLVER share, Cholesky factors and triangular systems. Without the library the host does their work.

NOTE [By columns]: cuSOLVER takes matrices by columns. What lies by rows is, by columns, the transpose: of a Hermitian matrix the
conjugate; of a matrix to be inverted the one whose inverse lies by rows again; of a system one to be solved for the transpose.
Where that does not serve, the matrix is copied by columns (``by_columns``).

NOTE [Errors of matrices]: a library says in memory of the GPU what it found wrong. Operations that raise for it read that, and so
wait, as torch's do; those that give NaN or a number in its place do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.calls import CALLS
from ...base.dtypes import DType, int32, int64
from ...base.errors import LinAlgError
from ...creation import factories
from ...dispatch.device_lowerings import on_host
from ...dispatch.lowerings import lowering
from ...kernels.cuda.cusolver import Session, solvers
from ...tensors.gpu import storage_of, used_by_current
from ...tensors.heaps import heap_on
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor, new_tensor
from ..matrices.requirements import require_matrices
from ..matrices.systems import no_factor

__all__ = [
    "Matrices",
    "address_of",
    "adjoint_of",
    "by_columns",
    "copied",
    "identity_like",
    "numbers",
    "packed",
    "same_batch",
    "solver",
    "turned",
]


class Matrices:
    """Calls for the matrices of a batch, on the current stream.

    Args:
        op: whose errors are raised; ``x``: tells dtype, device and batch.
    """

    def __init__(self, op: Any, x: Tensor):
        layout = x.layout
        index = layout.device.index
        assert index is not None
        self.op, self.layout, self.batch = op, layout, layout.shape[:-2]
        self.found = heap_on(index)
        self.session = Session(index, self.found.current().handle, layout.dtype.name, self.space)
        self.info = self.zeros(int32)

    def new(self, shape: tuple[int, ...], dtype: DType | None = None) -> Tensor:
        """A tensor that nobody has written to."""
        layout = layout_of(dtype or self.layout.dtype, shape, None, self.layout.device)
        return new_tensor(storage_of(layout.device, layout.numel * layout.dtype.itemsize, self.op.public), layout)

    def zeros(self, dtype: DType) -> Tensor:
        """A number for each matrix: 0."""
        return CALLS["fill_"](self.new(self.batch, dtype), 0)

    def space(self, nbytes: int) -> tuple[Any, int]:
        """Memory to work in, and where it is."""
        storage = storage_of(self.layout.device, nbytes, self.op.public)
        return storage, storage.array.address

    def each(self, call: Callable[..., None], *tensors: Tensor) -> None:
        """``call(*addresses)`` for every matrix: of its parts of contiguous tensors, and of what is found wrong with it."""
        self.parts(1, lambda count, *places: call(*places), *tensors)

    def parts(self, most: int, call: Callable[..., None], *tensors: Tensor) -> None:
        """``each`` for at most so many matrices that lie side by side: ``call(count, *addresses)``, until all have been there."""
        places = []
        for x in (*tensors, self.info):
            used_by_current(self.found, x._storage_)
            places.append((address_of(x), x.layout.numel // max(self.count, 1) * x.layout.dtype.itemsize))
        for k in range(0, self.count, most):
            call(min(most, self.count - k), *(first + k * size for first, size in places))

    def places(self, x: Tensor) -> Tensor:
        """The addresses of the parts of a contiguous tensor, on the GPU, one for each matrix of the batch.

        Their memory is free when the tensor is: what is done on the stream later comes behind the call.
        """
        used_by_current(self.found, x._storage_)
        size = x.layout.numel // self.count * x.layout.dtype.itemsize
        first = address_of(x)
        return factories.arange(first, first + self.count * size, size, dtype=int64, device=self.layout.device)

    @property
    def count(self) -> int:
        """How many matrices there are."""
        return math.prod(self.batch)

    @property
    def real(self) -> DType:
        """The dtype of magnitudes."""
        dtype = self.layout.dtype
        return dtype.to_real() if dtype.is_complex else dtype


def address_of(x: Tensor) -> int:
    """Where a contiguous tensor lies."""
    address: int = x._storage_.array.address + x._offset_
    return address


def copied(x: Tensor) -> Tensor:
    """A contiguous tensor of the same elements, in memory of its own."""
    return CALLS["contiguous_copy"](x)


def turned(x: Tensor) -> Tensor:
    """The transposed matrices."""
    return CALLS["transpose"](x, -2, -1)


def adjoint_of(x: Tensor) -> Tensor:
    """The conjugates of the transposed matrices, contiguous."""
    return copied(turned(x).conj())


def by_columns(x: Tensor) -> Tensor:
    """A copy that lies by columns, as a contiguous tensor of the transposed matrices."""
    return copied(turned(x))


def numbers(x: Tensor) -> np.ndarray:
    """What a tensor has, on the host: the program waits."""
    return np.asarray(x.cpu().numpy())


def packed(*parts: Tensor) -> Tensor:
    """Parts in a row: ``parts_of`` of ops/matrices/parts.py. The first one has matrices."""
    batch = parts[0].layout.shape[:-2]
    flat = [copied(x).reshape((*batch, math.prod(x.layout.shape[len(batch) :]))) for x in parts]
    return CALLS["cat"](flat, -1)


def solver(*names: str, square: bool = True, fits: Callable[..., bool] | None = None) -> Callable:
    """Register a function as the lowering of operations: ``f(op, attributes, *tensors)``.

    Args:
        square: the first operand is a batch of square matrices.
        fits: ``fits(*layouts)``, whether they can be done there; where they cannot, the host does.
    """

    def register(function: Callable) -> Callable:
        def run(op: Any, tensors: tuple, attributes: dict) -> Any:
            for x in tensors:
                require_matrices(op.public, x.layout, square and x is tensors[0])
            layouts = [x.layout for x in tensors]
            if not all(x.numel for x in layouts):
                return of_nothing(op, layouts, attributes)
            if solvers() is None or not (fits is None or fits(*layouts)):
                return on_host(op, tensors, attributes)
            return function(op, attributes, *tensors)

        lowering(*names, style="run", device="cuda")(run)
        return function

    return register


def of_nothing(op: Any, layouts: list[Layout], attributes: dict[str, Any]) -> Tensor:
    """The result where an operand has no element: it depends on no value, so that the GPU is not asked for one."""
    ones = (factories.eye(*x.shape[-2:], dtype=x.dtype) for x in layouts)
    given = [CALLS["expand"](one, x.shape) for one, x in zip(ones, layouts)]
    out: Tensor = CALLS["to_device"].plain(CALLS[op.name].plain(*given, **attributes), layouts[0].device)
    return out


def same_batch(x: Layout, y: Layout) -> bool:
    """Whether two operands have matrices side by side."""
    return x.shape[:-2] == y.shape[:-2]


# ---- positive definite matrices ----------------------------------------------------------------------------------------


def factored(op: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The lower factors, and the order of the first part without one. By columns the matrix is its conjugate: of that U^H U."""
    here, low, n = Matrices(op, x), copied(x), x.layout.shape[-1]
    if here.count > 1:
        places = here.places(low)
        here.session.cholesky_of_many(n, address_of(places), address_of(here.info), here.count)
    else:
        here.each(lambda a, info: here.session.cholesky(n, a, info), low)
    diagonal = CALLS["diagonal"](low, 0, -2, -1)
    none = diagonal != diagonal  # of what is not a number
    found = CALLS["argmax"](none.to(int32), -1) + 1
    order = CALLS["where"]((here.info == 0) & none.any(-1), found.to(int32), here.info)
    return low.tril(), order


@solver("cholesky_factor")
def _cholesky_factor(op, attributes, x):
    low, order = factored(op, x)
    if attributes["strict"]:
        orders = numbers(order)
        if orders.any():
            raise LinAlgError(f"{op.public}: {no_factor(orders)}.")
        return low
    return CALLS["where"]((order != 0)[..., None, None], math.nan, low)


@solver("cholesky_info")
def _cholesky_info(op, attributes, x, found):
    return factored(op, x)[1]


@solver("solve_factored", fits=same_batch)
def _solve_factored(op, attributes, x, y):
    upper, solve = attributes["upper"], CALLS["solve_triangle"]
    adjoint = adjoint_of(x)
    low, up = (adjoint, x) if upper else (x, adjoint)
    return solve(up, solve(low, y, False, False), True, False)


@solver("inverse_of_factored")
def _inverse_of_factored(op, attributes, x):
    return CALLS["solve_factored"](x, identity_like(x), attributes["upper"])


def identity_like(x: Tensor) -> Tensor:
    """Unit matrices, one for each."""
    one = factories.eye(x.layout.shape[-1], dtype=x.layout.dtype, device=x.layout.device)
    return copied(CALLS["expand"](one, x.layout.shape))


# ---- triangles ---------------------------------------------------------------------------------------------------------


@solver("solve_triangle", fits=same_batch)
def _solve_triangle(op, attributes, x, y):
    """By rows, x @ z = y is z^T x^T = y^T of what lies there by columns, and the other triangle."""
    here, out, (n, count) = Matrices(op, x), copied(y), y.layout.shape[-2:]
    upper, unit, triangles = not attributes["upper"], attributes["unit"], copied(x)
    if here.count > 1:
        a, b = here.places(triangles), here.places(out)
        here.session.triangular(upper, unit, count, n, address_of(a), address_of(b), here.count)
    else:
        here.each(lambda a, b, info: here.session.triangular(upper, unit, count, n, a, b), triangles, out)
    return out
