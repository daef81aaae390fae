"""Decompositions, inverses and systems on a GPU by cuSOLVER, where it is installed; else, and for those not here, on the host.

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
from ...base.dtypes import DType, complex128, float64, int32, int64
from ...base.errors import LinAlgError
from ...creation import factories
from ...dispatch.device_lowerings import on_host
from ...dispatch.lowerings import lowering
from ...kernels.cuda.cusolver import Session, solvers
from ...tensors.gpu import storage_of, used_by_current
from ...tensors.heaps import heap_on
from ...tensors.layout import Layout, layout_of
from ...tensors.tensor import Tensor, new_tensor
from ..decompositions import WELL_CONDITIONED, exponential_of, no_factor, require_matrices

__all__: list[str] = []


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
        count, places = self.count, []
        for x in (*tensors, self.info):
            used_by_current(self.found, x._storage_)
            places.append((address_of(x), x.layout.numel // max(count, 1) * x.layout.dtype.itemsize))
        for k in range(count):
            call(*(first + k * size for first, size in places))

    def places(self, x: Tensor) -> Tensor:
        """The addresses of a contiguous tensor's matrices, on the GPU."""
        used_by_current(self.found, x._storage_)
        size = math.prod(x.layout.shape[-2:]) * x.layout.dtype.itemsize
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


def by_columns(x: Tensor) -> Tensor:
    """A copy that lies by columns, as a contiguous tensor of the transposed matrices."""
    return copied(CALLS["transpose"](x, -2, -1))


def turned(x: Tensor) -> Tensor:
    """The transposed matrices."""
    return CALLS["transpose"](x, -2, -1)


def numbers(x: Tensor) -> np.ndarray:
    """What a tensor has, on the host: the program waits."""
    return np.asarray(x.cpu().numpy())


def packed(*parts: Tensor) -> Tensor:
    """Parts in a row: ``parts_of`` of ops/decompositions.py. The first one has matrices."""
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
                require_matrices(op.public, x, square and x is tensors[0])
            layouts = [x.layout for x in tensors]
            if not all(x.numel for x in layouts) or solvers() is None or not (fits is None or fits(*layouts)):
                return on_host(op, tensors, attributes)
            return function(op, attributes, *tensors)

        lowering(*names, style="run", device="cuda")(run)
        return function

    return register


def same_batch(x: Layout, y: Layout) -> bool:
    """Whether two operands have matrices side by side."""
    return x.shape[:-2] == y.shape[:-2]


# ---- positive definite matrices ----------------------------------------------------------------------------------------


def factored(op: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The lower factors, and the order of the first part without one. By columns the matrix is its conjugate: of that U^H U."""
    here, low, n = Matrices(op, x), copied(x), x.layout.shape[-1]
    if here.count > 1:
        places = here.places(low)  # which keep their memory until the call is on the stream
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
def _cholesky_info(op, attributes, x):
    return factored(op, x)[1]


@solver("solve_factored", fits=same_batch)
def _solve_factored(op, attributes, x, y):
    upper, solve = attributes["upper"], CALLS["solve_triangle"]
    adjoint = copied(turned(x).conj())
    low, up = (adjoint, x) if upper else (x, adjoint)
    return solve(up, solve(low, y, False, False), True, False)


@solver("inverse_of_factored")
def _inverse_of_factored(op, attributes, x):
    return CALLS["solve_factored"](x, identity_like(x), attributes["upper"])


def identity_like(x: Tensor) -> Tensor:
    """Unit matrices, one for each."""
    one = factories.eye(x.layout.shape[-1], dtype=x.layout.dtype, device=x.layout.device)
    return copied(CALLS["expand"](one, x.layout.shape))


# ---- elimination -------------------------------------------------------------------------------------------------------


class Elimination(Matrices):
    """L and U of matrices that are given by columns, there.

    Attributes:
        factors: of both, by columns.
        pivots: the row, from 1 on, that each step exchanged with its own.
        info: the first step without a pivot, or 0.
    """

    def __init__(self, op: Any, by_column: Tensor):
        super().__init__(op, by_column)
        n, m = by_column.layout.shape[-2:]
        self.factors, self.pivots = by_column, self.new((*self.batch, min(m, n)), int64)
        self.each(lambda a, pivots, info: self.session.eliminate(m, n, a, pivots, info), self.factors, self.pivots)

    def require_regular(self) -> None:
        """Refuse singular matrices.

        Raises:
            LinAlgError: there is one.
        """
        if numbers(self.info).any():
            raise LinAlgError(f"{self.op.public}: Singular matrix.")

    def substitute(self, turn: str, right: Tensor) -> Tensor:
        """Solve systems, in the place of their right sides, which are given by columns."""
        count, n = right.layout.shape[-2:]
        said, self.info = self.info, self.zeros(int32)
        self.each(
            lambda a, pivots, b, info: self.session.substitute(turn, n, count, a, pivots, b, info), self.factors, self.pivots, right
        )
        self.info = said
        return right

    def parity(self) -> Tensor:
        """The determinants of the exchanges."""
        steps = factories.arange(1, self.pivots.layout.shape[-1] + 1, device=self.layout.device)
        odd = (self.pivots != steps).to(int64).sum(-1) % 2
        return (1 - 2 * odd).to(self.layout.dtype)

    def diagonal(self) -> Tensor:
        """That of U."""
        return CALLS["diagonal"](self.factors, 0, -2, -1)


@solver("inverse_matrix")
def _inverse_matrix(op, attributes, x):
    found = Elimination(op, copied(x))
    found.require_regular()
    return found.substitute("N", identity_like(x))


@solver("singular_order")
def _singular_order(op, attributes, x):
    return Elimination(op, by_columns(x)).info


@solver("solve_system", fits=same_batch)
def _solve_system(op, attributes, x, y):
    found = Elimination(op, copied(x))
    found.require_regular()
    return copied(turned(found.substitute("T", by_columns(y))))


@solver("determinant")
def _determinant(op, attributes, x):
    found = Elimination(op, copied(x))
    return found.diagonal().prod(-1) * found.parity()


@solver("sign_and_size")
def _sign_and_size(op, attributes, x):
    found = Elimination(op, copied(x))
    diagonal = found.diagonal()
    sign = CALLS["sgn"](diagonal).prod(-1) * found.parity()
    size = CALLS["abs"](diagonal).log().sum(-1).to(x.layout.dtype)
    return CALLS["stack"]([sign, size], -1)


@solver("cofactors")
def _cofactors(op, attributes, x):
    """The conjugated cofactors of well conditioned matrices are conj(det(x) x^-1), transposed; others go to the host."""
    found = Elimination(op, copied(x))
    if x.layout.shape[-1] and not numbers(found.info).any():
        inverse = found.substitute("N", identity_like(x))
        size = (found.diagonal().prod(-1) * found.parity())[..., None, None]
        one, other = (CALLS["abs"](each).sum(-2).amax(-1) for each in (x, inverse))
        regular = (one * other < WELL_CONDITIONED[x.layout.dtype.name]) & (CALLS["abs"](size)[..., 0, 0] > 0)
        if numbers(regular & CALLS["isfinite"](size)[..., 0, 0]).all():
            return copied(turned(size * inverse).conj())
    return on_host(op, (x,), attributes)


@solver("matrix_exponential")
def _matrix_exponential(op, attributes, x):
    dtype = x.layout.dtype
    x = x.to(complex128 if dtype.is_complex else float64)
    size = float(numbers(CALLS["abs"](x).sum(-2).max()))
    return exponential_of(x, identity_like(x), size, CALLS["solve_system"]).to(dtype)


@solver("lu_row", square=False)
def _lu_row(op, attributes, x):
    found, dtype = Elimination(op, by_columns(x)), x.layout.dtype
    return packed(turned(found.factors), found.pivots.to(dtype), found.info[..., None].to(dtype))


def _solve_by_factors(op, tensors, attributes):
    """Systems by factors in one matrix, and pivots from 1 on."""
    x, y = tensors
    pivots, adjoint = attributes["pivots"], attributes["adjoint"]
    fits = same_batch(x.layout, y.layout) and pivots.layout.shape == x.layout.shape[:-1] and x.layout.numel and y.layout.numel
    if solvers() is None or not fits:
        return on_host(op, tensors, attributes)
    found = object.__new__(Elimination)
    Matrices.__init__(found, op, x)
    found.factors, found.pivots = by_columns(x), copied(pivots.to(int64))
    return copied(turned(found.substitute("C" if adjoint else "N", by_columns(y))))


lowering("solve_by_factors", style="run", device="cuda")(_solve_by_factors)


@solver("pull_to_matrix", square=False)
def _pull_to_matrix(op, attributes, g, x):
    adjoint, solve = copied(turned(x).conj()), CALLS["solve_triangle"]
    low = g.tril(-1)
    inner = (adjoint.triu(1) @ low + low).tril(-1) + (g.triu() @ adjoint.tril()).triu()
    left = solve(adjoint, inner, True, True)
    return copied(turned(solve(x, copied(turned(left).conj()), True, False)).conj())


@solver("share_of_factors", square=False)
def _share_of_factors(op, attributes, m, x):
    adjoint = copied(turned(x).conj())
    return (adjoint.triu(1) @ m).triu() + (m @ adjoint.tril()).tril(-1)


# ---- triangles, reflections --------------------------------------------------------------------------------------------


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


@solver("qr_row", square=False, fits=lambda x: x.shape[-2] >= x.shape[-1])
def _qr_row(op, attributes, x):
    return reflected(op, x, x.layout.shape[-1])


@solver("complete_qr_row", square=False)
def _complete_qr_row(op, attributes, x):
    return reflected(op, x, x.layout.shape[-2])


def reflected(op: Any, x: Tensor, columns: int) -> Tensor:
    """Q with so many columns, and R with as many rows."""
    here, found, (m, n) = Matrices(op, x), by_columns(x), x.layout.shape[-2:]
    k = min(m, n)
    tau = here.new((*here.batch, k))
    here.each(lambda a, t, info: here.session.reflect(m, n, a, t, info), found, tau)
    r = turned(found)[..., :columns, :].triu()
    q = found
    if columns != n:
        q = CALLS["fill_"](here.new((*here.batch, columns, m)), 0)
        q[..., :k, :] = found[..., :k, :]
    here.each(lambda a, t, info: here.session.orthogonal(m, columns, k, a, t, info), q, tau)
    return packed(turned(q), r)
