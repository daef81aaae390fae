"""Lowerings of ``ops/decompositions.py``: LAPACK over batches, by kernels that call it or by NumPy's functions."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

from ..base.bounded import MOST_PLANS, Plans, keep
from ..base.calls import CALLS
from ..base.dtypes import DType, dtype_of, int32, int64
from ..base.errors import DTypeError, LinAlgError, RangeError, ShapeError
from ..dispatch.lowerings import lowering, prepared, result_of
from ..kernels.cpu.blas import eliminated, triangular_solver
from ..ops.expr import scalar
from ..tensors.arrays import array_of, tensor_of, values_of
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from .lapack import WELL_CONDITIONED, launch, went_well

__all__ = ["exponential_of", "no_factor", "not_finite", "require_matrices"]


def packed(*parts: np.ndarray) -> np.ndarray:
    """The parts of a result in a row (``parts_of``): matrices first; each with the batch's dimensions and one or two of its own."""
    batch = parts[0].shape[:-2]
    return np.concatenate([part.reshape(*batch, math.prod(part.shape[len(batch) :])) for part in parts], -1)


def eigh_array(x: np.ndarray, upper: bool) -> np.ndarray:
    """Eigenvectors and eigenvalues."""
    w, v = np.linalg.eigh(x, "U" if upper else "L")
    return packed(v, w.astype(v.dtype))


def eig_array(x: np.ndarray) -> np.ndarray:
    """Complex eigenvectors and eigenvalues."""
    w, v = np.linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return packed(v.astype(kind), w.astype(kind))


def svd_array(x: np.ndarray, full: bool) -> np.ndarray:
    """Singular vectors and values."""
    u, s, v = np.linalg.svd(x, full_matrices=full)
    return packed(u, s.astype(u.dtype), v)


def sign_array(x: np.ndarray) -> np.ndarray:
    """The determinant's sign, and the logarithm of its magnitude."""
    sign, size = np.linalg.slogdet(x)
    return np.stack([np.asarray(sign, x.dtype), np.asarray(size, x.dtype)], -1)


def products_of_others(s: np.ndarray) -> np.ndarray:
    """For every number of a row the product of the others: no division, so that zeros do no harm."""
    before, behind = np.ones_like(s), np.ones_like(s)
    np.cumprod(s[..., :-1], -1, out=before[..., 1:])
    behind[..., :-1] = np.cumprod(s[..., :0:-1], -1)[..., ::-1]
    return before * behind


def turned_svd(x: np.ndarray) -> tuple:
    """U, s and V of an SVD and conj(det(U V)); NaN for matrices that are not finite, with which LAPACK might never end."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, v = np.linalg.svd(np.where(finite, x, 0))
    phase = np.conj(np.linalg.det(u) * np.linalg.det(v))[..., None, None]
    return u, np.where(finite[..., 0], s, np.nan), v, phase


def cofactors_array(x: np.ndarray) -> np.ndarray:
    """conj(det(U V)) U diag(products of the other singular values) V: no division, so that singular matrices have them too."""
    by_inverse = regular_cofactors(x)
    if by_inverse is not None:
        return by_inverse
    u, s, v, phase = turned_svd(x)
    return (phase * ((u * products_of_others(s)[..., None, :].astype(u.dtype)) @ v)).astype(x.dtype)


def regular_cofactors(x: np.ndarray) -> np.ndarray | None:
    """The conjugated cofactors, conj(det(x) x^-1) transposed; None unless all matrices are well conditioned."""
    try:
        inverse = inverse_array(x)
    except np.linalg.LinAlgError:
        return None
    condition = np.abs(x).sum(-2).max(-1, initial=0) * np.abs(inverse).sum(-2).max(-1, initial=0)
    size = np.linalg.det(x.astype(np.result_type(x, np.float64)))  # whose range is that of products of many numbers
    if not (condition < WELL_CONDITIONED[x.dtype.name]).all() or not np.isfinite(size).all() or not size.all():
        return None
    return np.swapaxes(np.asarray(size)[..., None, None] * inverse, -1, -2).conj().astype(x.dtype)


def slope_array(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """conj(det(U V)) U conj(K) V: K is what the cofactors of diag(s) change by in the direction of Y = U^H y V^H.

    On the diagonal that is the sum over j of p_ij Y_jj, elsewhere -p_ij Y_ji; p_ij is the product of all singular values but the
    i-th and the j-th.
    """
    u, s, v, phase = turned_svd(x)
    n = s.shape[-1]
    pairs = np.zeros((*s.shape, n), s.dtype)
    for k in range(n):
        rest = s.copy()
        rest[..., k] = 1
        pairs[..., k, :] = products_of_others(rest)
        pairs[..., k, k] = 0
    inner = np.swapaxes(u, -1, -2).conj() @ y @ np.swapaxes(v, -1, -2).conj()
    places = np.arange(n)
    change = -pairs * np.swapaxes(inner, -1, -2)
    change[..., places, places] = (pairs @ inner[..., places, places, None])[..., 0]
    return (phase * (u @ change.conj() @ v)).astype(x.dtype)


def cholesky_array(x: np.ndarray, strict: bool) -> np.ndarray:
    """The lower factors; unless strict, NaN in the place of those that do not exist.

    Raises:
        LinAlgError: one does not exist, if strict.
    """
    out = factor_of(x)
    if out is not None:
        return out
    info = info_array(x)
    if strict:
        raise np.linalg.LinAlgError(no_factor(info))
    out = np.full_like(x, np.nan)
    for place in map(tuple, np.argwhere(info == 0)):
        out[place] = np.linalg.cholesky(x[place])
    return out


NUMPYS_SINGULAR = "Singular matrix"


def no_factor(info: np.ndarray) -> str:
    """What is said of the first matrix that is not positive definite, in torch's words for it, which programs look for."""
    place = tuple(np.argwhere(info)[0].tolist())
    which = f" of matrix {list(place)}" if place else ""
    return f"the input is not positive-definite: the leading part of order {info[place]}{which} is not"


def factor_of(x: np.ndarray) -> np.ndarray | None:
    """The lower factors, None if one does not exist; one that has a NaN does not, whatever LAPACK says."""
    try:
        out = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return None
    return None if np.isnan(out).any() else out


def info_array(x: np.ndarray, found: np.ndarray | None = None) -> np.ndarray:
    """For every matrix the order of the first leading part that is not positive definite."""
    info = np.zeros(x.shape[:-2], np.int32)
    if not is_found(found) and factor_of(x) is None:
        for place in np.ndindex(info.shape):
            info[place] = next((k for k in range(1, x.shape[-1] + 1) if factor_of(x[place][:k, :k]) is None), 0)
    return info


# Matrices of a batch that are solved one by one; of more that are small, NumPy's loop over the batch is quicker.
MOST_ALONE, LARGE_ENOUGH = 64, 16


def triangular_array(x: np.ndarray, y: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """Solve a triangular system: by BLAS; of one with a zero on the diagonal by substitution, which gives infinities."""
    solve = triangular_solver(x.dtype.name)
    count = math.prod(x.shape[:-2])
    if solve is not None and y.size and (count <= MOST_ALONE or x.shape[-1] >= LARGE_ENOUGH):
        x, out = np.ascontiguousarray(x), np.array(y, x.dtype, order="C")
        if x.ndim == 2:
            solve(x, out, upper, unit)
        else:
            for place in np.ndindex(x.shape[:-2]):
                solve(x[place], out[place], upper, unit)
        return out
    x = np.triu(x) if upper else np.tril(x)
    places = np.arange(x.shape[-1])
    if unit:
        x[..., places, places] = 1
    if (x[..., places, places] != 0).all():
        return np.linalg.solve(x, y)
    out = y.astype(np.result_type(x, y))
    with np.errstate(all="ignore"):
        for k in reversed(places) if upper else places:
            out[..., k, :] /= x[..., k, k, None]
            rest = slice(0, k) if upper else slice(k + 1, None)
            out[..., rest, :] -= x[..., rest, k, None] * out[..., k, None, :]
    return out


def factored_array(x: np.ndarray, y: np.ndarray, upper: bool) -> np.ndarray:
    """Solve a system of x @ x^H, or of x^H @ x of an upper triangle."""
    turned = np.swapaxes(x, -1, -2).conj()
    low, up = (turned, x) if upper else (x, turned)
    return triangular_array(up, triangular_array(low, y, False, False), True, False)


def lu_array(x: np.ndarray) -> np.ndarray:
    """L and U in one, and as numbers the pivots, from 1 on, and the first row without one."""
    pivots = exchanges(x)
    rows = np.take_along_axis(x, order_of(pivots, x.shape[-2])[..., None], -2)
    factors = elimination(rows)
    zero = np.diagonal(factors, axis1=-2, axis2=-1) == 0
    first = np.where(zero.any(-1), zero.argmax(-1) + 1 if zero.shape[-1] else 0, 0)[..., None]
    return packed(factors, (pivots + 1).astype(x.dtype), first.astype(x.dtype))


def pulled_array(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``pull_to_matrix``."""
    turned = np.swapaxes(x, -1, -2).conj()
    low = np.tril(g, -1)
    inner = np.tril(np.triu(turned, 1) @ low + low, -1) + np.triu(np.triu(g) @ np.tril(turned))
    left = triangular_array(turned, inner, True, True)
    right = triangular_array(x, np.swapaxes(left, -1, -2).conj(), True, False)
    return np.swapaxes(right, -1, -2).conj()


def shared_array(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """``share_of_factors``."""
    turned = np.swapaxes(x, -1, -2).conj()
    return np.triu(np.triu(turned, 1) @ m) + np.tril(m @ np.tril(turned), -1)


def is_found(found: np.ndarray | None) -> bool:
    """Whether a factor, an inverse or a solution is known, and is one: no matrix of the batch had none."""
    return found is not None and bool(np.isfinite(found).all())


def of_regular(solve: Callable, strict: bool, x: np.ndarray, *right: np.ndarray) -> np.ndarray:
    """``solve(x, *right)`` of a batch; if not strict, NaN in the place of what singular matrices lack."""
    try:
        return np.asarray(solve(x, *right))
    except np.linalg.LinAlgError:
        if strict:
            raise
    out = np.full((right or (x,))[0].shape, np.nan, x.dtype)
    for place in np.ndindex(x.shape[:-2]):
        with suppress(np.linalg.LinAlgError):
            out[place] = solve(x[place], *(y[place] for y in right))
    return out


def solved_array(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve a system; of larger matrices by elimination and two triangular systems, which BLAS solves faster than gesv does.

    Raises:
        LinAlgError: a matrix is singular.
    """
    solve = triangular_solver(x.dtype.name)
    if solve is None or x.shape[-1] < LARGE_ENOUGH or not y.size:
        return np.linalg.solve(x, y)
    out = np.empty(y.shape, x.dtype)
    for place in np.ndindex(x.shape[:-2]):
        found = eliminated(x[place])
        if found is None:
            return np.linalg.solve(x, y)
        factors, exchanged = np.ascontiguousarray(found[0]), found[1]
        if not factors.diagonal().all():
            raise np.linalg.LinAlgError(NUMPYS_SINGULAR)
        part = out[place]
        part[...] = y[place][order_of(exchanged, len(exchanged))]
        solve(factors, part, False, True)
        solve(factors, part, True, False)
    return out


def inverse_array(x: np.ndarray) -> np.ndarray:
    """The inverse.

    Raises:
        LinAlgError: a matrix is singular.
    """
    if x.shape[-1] < LARGE_ENOUGH:
        return np.linalg.inv(x)
    return solved_array(x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))


def by_lapack(x: np.ndarray) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """The place of every matrix of a batch, L and U in one, and the exchanges; nothing where there is no LAPACK, or no element."""
    for place in np.ndindex(x.shape[:-2]) if x.size else ():
        found = eliminated(x[place])
        if found is not None:
            yield (place, *found)


def elimination(x: np.ndarray) -> np.ndarray:
    """L and U in one matrix, without exchanging rows; a column without a pivot stays."""
    out, steps = np.empty_like(x), np.arange(min(x.shape[-2:]))
    done = 0
    for place, factors, exchanged in by_lapack(x):
        if (exchanged != steps).any():  # of columns whose pivots tie
            break
        out[place], done = factors, done + 1
    return out if done and done == math.prod(x.shape[:-2]) else elimination_in_order(x)


def elimination_in_order(x: np.ndarray) -> np.ndarray:
    """``elimination`` step by step."""
    x = x.copy()
    for k in range(min(x.shape[-2:])):
        pivot = x[..., k, k, None]
        nothing = pivot == 0
        x[..., k + 1 :, k] = np.where(nothing, x[..., k + 1 :, k], x[..., k + 1 :, k] / np.where(nothing, 1, pivot))
        x[..., k + 1 :, k + 1 :] -= x[..., k + 1 :, k, None] * x[..., k, None, k + 1 :]
    return x


def singular_array(x: np.ndarray, found: np.ndarray) -> np.ndarray:
    """For every matrix the order of the first leading part without a pivot; 0 if it has an inverse."""
    info = np.zeros(x.shape[:-2], np.int32)
    if is_found(found):
        return info
    for place in map(tuple, np.argwhere(np.linalg.slogdet(x)[0] == 0)):
        order = order_of(exchanges(x[place]), x.shape[-1])
        zero = np.diagonal(elimination(x[place][order])) == 0
        info[place] = zero.argmax() + 1 if zero.any() else len(zero)
    return info


def exchanges(x: np.ndarray) -> np.ndarray:
    """For every step of the elimination the row that is exchanged with it: the one with the greatest pivot."""
    found, done = np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int64), 0
    for place, _, exchanged in by_lapack(x):
        found[place], done = exchanged, done + 1
    return found if done else exchanges_in_order(x)


def exchanges_in_order(x: np.ndarray) -> np.ndarray:
    """``exchanges`` step by step."""
    x = x.copy()
    steps = min(x.shape[-2:])
    found = np.zeros((*x.shape[:-2], steps), np.int64)
    for place in np.ndindex(x.shape[:-2]):
        a = x[place]
        for k in range(steps):
            best = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)))  # LAPACK's magnitude
            found[(*place, k)] = best
            a[[k, best]] = a[[best, k]]
            if a[k, k]:
                a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return found


# Of the diagonal Pade approximant of degree 13 (N. J. Higham, 2005), and the norm up to which it has all digits.
PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
PADE_RANGE = 5.37


def exponential_array(x: np.ndarray) -> np.ndarray:
    """Of a batch, in double precision."""
    kind = x.dtype
    x = x.astype(np.result_type(kind, np.float64))
    size = float(np.abs(x).sum(-2).max(initial=0.0))
    return exponential_of(x, np.broadcast_to(np.eye(x.shape[-1]), x.shape), size, np.linalg.solve).astype(kind)


def exponential_of(x: Any, one: Any, size: float, solve: Callable) -> Any:
    """Scaling and squaring; the whole batch in as many steps as its largest matrix needs.

    Args:
        x: arrays or tensors; ``one``: unit matrices; ``solve``: of a system.
        size: the greatest norm.
    """
    squarings = max(0, math.ceil(math.log2(size / PADE_RANGE))) if size > 0 and math.isfinite(size) else 0
    x = x / 2.0**squarings
    power, even, odd = one, 0 * x, 0 * x
    square = x @ x
    for k in range(0, 14, 2):
        even, odd = even + PADE[k] * power, odd + PADE[k + 1] * power
        power = power @ square
    odd = x @ odd
    out = solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out


def pseudo_array(x: np.ndarray, rtol: Any, atol: Any, hermitian: bool) -> np.ndarray:
    """By singular values; those that are not greater than both tolerances allow count as 0."""
    u, s, v = np.linalg.svd(x, full_matrices=False, hermitian=hermitian)
    least = np.maximum(np.asarray(atol)[..., None], np.asarray(rtol)[..., None] * s.max(-1, keepdims=True, initial=0.0))
    inverse = np.divide(1, s, where=s > least, out=np.zeros_like(s))
    return (np.swapaxes(v, -1, -2).conj() * inverse[..., None, :].astype(u.dtype)) @ np.swapaxes(u, -1, -2).conj()


class LapackWork(NamedTuple):
    """How LAPACK does an operation's work.

    Attributes:
        array: the same by NumPy's arrays, for what is not launched, or where the launch reports something: NumPy says what.
        native: the name of the launch's kernel in kernels/templates/lapack.py; empty where there is none.
        square: the first operand is a batch of square matrices.
        iterates: LAPACK iterates: of infinities and NaNs it might never come back.
    """

    array: Callable
    native: str = ""
    square: bool = False
    iterates: bool = False


# ---- shapes of results ---------------------------------------------------------------------------------------------------


def of_first(x: tuple, *others: tuple, **attributes: Any) -> tuple:
    """The shape of the first operand."""
    return x


def of_last(*operands: tuple, **attributes: Any) -> tuple:
    """The shape of the last operand."""
    return operands[-1]


def of_batch(x: tuple, *others: tuple, **attributes: Any) -> tuple:
    """One element for each matrix."""
    return x[:-2]


def row_of(count: Callable[[int, int], int]) -> Callable[..., tuple]:
    """A row for each matrix, of ``count(rows, columns)`` elements."""
    return lambda x, *others, **attributes: (*x[:-2], count(*x[-2:]))


def of_svd(x: tuple, full: bool) -> tuple:
    """U, s and V of each matrix in a row."""
    *batch, m, n = x
    k = min(m, n)
    return *batch, m * (m if full else k) + k + n * (n if full else k)


def of_reports(dtype: DType) -> DType:
    """The dtype of what is found wrong with matrices."""
    return int32


def lapack(
    name: str,
    array: Callable,
    native: str = "",
    square: bool = False,
    iterates: bool = False,
    shape: Callable[..., tuple] = of_first,
    dtype: Callable[[DType], DType] = lambda dtype: dtype,
) -> None:
    """Register the lowering of an operation.

    Args:
        shape: ``shape(*shapes, **attributes)`` of operands: that of the result; ``dtype``: its dtype, of the first one's.
    """
    routine = LapackWork(array, native, square, iterates)
    lowering(name, style="run")(partial(run_routine, routine))
    prepared(name)(partial(prepare_routine, routine))

    @result_of(name)
    def result(op, layouts, attributes):
        for k, x in enumerate(layouts):
            require_matrices(op.public, x, square and not k)
        return layouts[0].like(dtype(layouts[0].dtype), shape(*[x.shape for x in layouts], **attributes))


def run_routine(routine: LapackWork, op, tensors, attributes):
    """An operation by LAPACK: launched, or by NumPy."""
    for x in tensors:
        require_matrices(op.public, x.layout, routine.square and x is tensors[0])
    plan = launch_of(routine, tuple([x.layout for x in tensors]), attributes)
    if plan is not None:
        out = native.fresh(plan, *tensors)
        if went_well(out):
            return out[0]
    arrays = [*map(values_of, tensors)]
    if routine.iterates:
        require_finite(op.public, arrays[0], attributes.get("upper"))
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(routine.array(*arrays, **attributes))
    except np.linalg.LinAlgError as error:
        told = "the input matrix is singular" if str(error) == NUMPYS_SINGULAR else error  # torch's words, as above
        raise LinAlgError(f"{op.public}: {told}.") from None
    return tensor_of(found, tensors[0])


def launch_of(routine: LapackWork, layouts: tuple, attributes: dict):
    """The launch of an operation; None where NumPy does its work."""
    if not routine.native or not {bool, int, float}.issuperset(map(type, attributes.values())):
        return None
    given = tuple([(key, value) for key, value in attributes.items() if key != "strict"])  # which what is launched does not know
    return known_launch(routine.native, layouts, given)


@lru_cache(maxsize=MOST_PLANS)
def known_launch(routine: str, layouts: tuple, attributes: tuple):
    """See ``launch``, of attributes as pairs."""
    return launch(routine, layouts, dict(attributes), True)


def read(x: Tensor) -> np.ndarray:
    """The elements, to be read at once."""
    layout, array = x.layout, x._storage_.array
    if not layout.contiguous or array.dtype != layout.descr:
        return array_of(x)
    first = x._offset_ // layout.dtype.itemsize
    return array[first : first + layout.numel].reshape(layout.shape)


def launched(plan, count: int) -> Callable:
    """``quick(*values)`` of a launch whose first result is the operation's."""
    fresh = native.fresh

    def quick(*values):
        out = fresh(plan, *values[:count])
        return out[0] if went_well(out) else None

    return quick


def prepare_routine(routine: LapackWork, op, layouts, attributes):
    """The quick call of an operation by LAPACK."""
    if any(layout.conj or layout.neg for layout in layouts):
        return None
    plan = launch_of(routine, layouts, attributes)
    if plan is not None:
        return launched(plan, len(layouts))
    function, iterates = routine.array, routine.iterates
    count, device = len(layouts), layouts[0].device
    kinds = Plans(lambda key: layout_of(dtype_of(key[1]), key[0], None, device))  # of results

    def quick(*values):
        arrays = [read(x) for x in values[:count]]
        try:
            with np.errstate(all="ignore"):
                if iterates and not np.isfinite(arrays[0]).all():
                    return None
                found = np.asarray(function(*arrays, *values[count:]), order="C")
        except np.linalg.LinAlgError:
            return None
        return new_tensor(wrap_array(found.reshape(-1)), kinds[found.shape, found.dtype])

    return quick


lapack("inverse_matrix", lambda x, strict: of_regular(inverse_array, strict, x), "inverse", square=True)
lapack("singular_order", singular_array, square=True, shape=of_batch, dtype=of_reports)
lapack("solve_system", lambda x, y, strict: of_regular(solved_array, strict, x, y), "solve", square=True, shape=of_last)
lapack("solve_triangle", triangular_array, "triangle", square=True, shape=of_last)
lapack("determinant", np.linalg.det, "determinant", square=True, shape=of_batch)
lapack("cofactors", cofactors_array, "cofactors")
lapack("cofactor_slope", slope_array)
lapack("sign_and_size", sign_array, "slogdet", square=True, shape=row_of(lambda m, n: 2))
lapack("pseudo_inverse", pseudo_array, "pinv", iterates=True, shape=lambda x, **how: (*x[:-2], x[-1], x[-2]))
lapack("matrix_exponential", exponential_array, square=True)
lapack("cholesky_factor", cholesky_array, "cholesky", square=True)
lapack("cholesky_info", info_array, shape=of_batch, dtype=of_reports)
lapack("lu_factors", elimination)
lapack("lu_row", lu_array, "lu_row", shape=row_of(lambda m, n: m * n + min(m, n) + 1))
lapack("pull_to_matrix", pulled_array, "pull_to_matrix")
lapack("share_of_factors", shared_array, "share_of_factors")
lapack("qr_row", lambda x: packed(*np.linalg.qr(x)), "qr", shape=row_of(lambda m, n: (m + n) * min(m, n)))
lapack("complete_qr_row", lambda x: packed(*np.linalg.qr(x, "complete")), shape=row_of(lambda m, n: m * m + m * n))
lapack("eigh_row", eigh_array, "eigh", square=True, iterates=True, shape=row_of(lambda m, n: n * n + n))
lapack("eig_row", eig_array, "eig", square=True, iterates=True, shape=row_of(lambda m, n: n * n + n), dtype=DType.to_complex)
lapack("svd_row", svd_array, "svd", iterates=True, shape=of_svd)
lapack(
    "inverse_of_factored",
    lambda x, upper: factored_array(x, np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), upper),
    "cholesky_inverse",
    square=True,
)
lapack("solve_factored", factored_array, "cholesky_solve", square=True, shape=of_last)
lapack(
    "hermitian_eigenvalues",
    lambda x, upper: np.linalg.eigvalsh(x, "U" if upper else "L"),
    "eigvalsh",
    square=True,
    iterates=True,
    shape=row_of(lambda m, n: n),
    dtype=DType.to_real,
)
lapack(
    "eigenvalues",
    lambda x: np.linalg.eigvals(x).astype(np.result_type(x.dtype, np.complex64)),
    "eigvals",
    square=True,
    iterates=True,
    shape=row_of(lambda m, n: n),
    dtype=DType.to_complex,
)
lapack(
    "singular_values",
    lambda x: np.linalg.svd(x, compute_uv=False),
    "svdvals",
    iterates=True,
    shape=row_of(min),
    dtype=DType.to_real,
)


def values_in(name: str, shape: tuple) -> slice:
    """Where the values are in a decomposition with all parts in a row."""
    m, n = shape[-2:]
    k = min(m, n)
    start = m * k if name == "known_singular_values" else n * n
    return slice(start, start + k)


def known_values(name: str, layout) -> Callable:
    """``take(known)``: the values of a decomposition, in memory of their own; without an imaginary part where that is 0."""
    part = values_in(name, layout.shape)
    cut, copy = CALLS["slice"], CALLS["contiguous_copy"]
    if layout.dtype.is_complex and name != "known_eigenvalues":
        return lambda known: copy(cut(known, -1, part.start, part.stop, 1).real)
    return lambda known: copy(cut(known, -1, part.start, part.stop, 1))


@lowering("known_hermitian_eigenvalues", "known_eigenvalues", "known_singular_values", style="run", device=None)
def _known_values(op, tensors, attributes):
    return known_values(op.name, tensors[0].layout)(attributes["known"])


@prepared("known_hermitian_eigenvalues", "known_eigenvalues", "known_singular_values", tensors=("known",))
def _quick_known_values(op, layouts, attributes):
    take = known_values(op.name, layouts[0])
    return lambda x, known, *rest: take(known)


# ---- what may be decomposed -------------------------------------------------------------------------------------------

PASSED: dict[tuple, bool] = {}  # what require_matrices has found to be right


def require_matrices(name: str, layout: Layout, square: bool) -> None:
    """Refuse what has no such decomposition.

    Raises:
        ShapeError: no matrices, or none that are square. DTypeError: another dtype than single or double precision.
    """
    if (layout, square) in PASSED:
        return
    if layout.ndim < 2:
        raise ShapeError(f"{name}: expected a matrix or a batch of them, got {layout.ndim} dimensions.")
    if square and layout.shape[-1] != layout.shape[-2]:
        raise ShapeError(f"{name}: expected square matrices, got {layout.shape[-2]} by {layout.shape[-1]}.")
    if layout.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise DTypeError(
            f"{name}: expected a floating or complex tensor of single or double precision, got {layout.dtype.name}. "
            "Hint: x.to(nbgrad.float32)."
        )
    keep(PASSED, (layout, square), True)


def require_finite(name: str, x: np.ndarray, upper: bool | None) -> None:
    """Refuse infinities and NaN where LAPACK iterates; of Hermitian matrices in the triangle that it looks at.

    Raises:
        LinAlgError: there is one.
    """
    seen = x if upper is None else np.triu(x) if upper else np.tril(x)
    finite = np.isfinite(seen).all((-2, -1))
    if not finite.all():
        raise not_finite(name, finite)


def not_finite(name: str, finite: np.ndarray) -> LinAlgError:
    """The error of a batch in which some matrices are not finite."""
    place = np.argwhere(~finite)[0].tolist()
    return LinAlgError(
        f"{name}: {f'matrix {place}' if place else 'the matrix'} has infinite elements or NaN, and no such "
        "decomposition. Hint: x.isfinite() shows where."
    )


# ---- rows in another order, systems by factors ------------------------------------------------------------------------


def order_of(exchanged: np.ndarray, count: int) -> np.ndarray:
    """The order of rows after exchanging them step by step."""
    order = np.empty((*exchanged.shape[:-1], count), np.int64)
    for place in np.ndindex(exchanged.shape[:-1]):
        row = list(range(count))
        for k, other in enumerate(exchanged[place].tolist()):
            row[k], row[other] = row[other], row[k]
        order[place] = row
    return order


@lru_cache(maxsize=MOST_PLANS)
def exchange_plan(x, pivots, back: bool):
    """The launch of an exchange of rows; None where NumPy does it."""
    fits = x.ndim > 1 and pivots.ndim == x.ndim - 1
    return launch("exchange", (x, pivots), {"back": back}) if fits else None


@prepared("exchange_rows", tensors=("pivots",))
def _quick_exchange_rows(op, layouts, attributes):
    plan = exchange_plan(layouts[0], attributes["pivots"], attributes["back"])
    return None if plan is None else launched(plan, 2)


@lowering("exchange_rows", style="run")
def _exchange_rows(op, tensors, attributes):
    (x,) = tensors
    plan = exchange_plan(x.layout, attributes["pivots"].layout, attributes["back"])
    if plan is not None:
        out = native.fresh(plan, x, attributes["pivots"])
        if went_well(out):
            return out[0]
    array, exchanged = values_of(x), values_of(attributes["pivots"])
    wrong = exchanged[(exchanged < 0) | (exchanged >= array.shape[-2])]
    if wrong.size:
        raise RangeError(f"{op.public}: a pivot names row {wrong[0] + 1}, expected one from 1 to {array.shape[-2]}.")
    batch = np.broadcast_shapes(array.shape[:-2], exchanged.shape[:-1])
    order = order_of(exchanged, array.shape[-2])
    order = np.broadcast_to(np.argsort(order, -1) if attributes["back"] else order, (*batch, array.shape[-2]))
    array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    return tensor_of(np.take_along_axis(array, order[..., None], -2), x)


@lru_cache(maxsize=MOST_PLANS)
def factors_plan(x, y, pivots, adjoint: bool):
    """The launch of a solution by factors; None where it takes steps."""
    fits = x.ndim == y.ndim and pivots.ndim == x.ndim - 1
    return launch("lu_solve", (x, y, pivots), {"adjoint": adjoint}) if fits else None


@prepared("solve_by_factors", tensors=("pivots",))
def _quick_solve_by_factors(op, layouts, attributes):
    plan = factors_plan(*layouts[:2], attributes["pivots"], attributes["adjoint"])
    return None if plan is None else launched(plan, 3)


@result_of("solve_by_factors")
def _solution_layout(op, layouts, attributes):
    return layouts[1].like()


@lowering("solve_by_factors", style="run")
def _solve_by_factors(op, tensors, attributes):
    (LU, B), pivots, adjoint = tensors, attributes["pivots"], attributes["adjoint"]
    plan = factors_plan(LU.layout, B.layout, pivots.layout, adjoint)
    if plan is not None:
        out = native.fresh(plan, LU, B, pivots)
        if went_well(out):
            return out[0]
    pivots, solve = pivots.to(int64) - 1, CALLS["linalg_solve_triangular"]
    if adjoint:
        turned = LU.adjoint().resolve_conj()
        y = solve(turned, B, upper=False)
        return scalar.exchange_rows(solve(turned, y, upper=True, unitriangular=True), pivots, True)
    y = solve(LU, scalar.exchange_rows(B, pivots, False), upper=False, unitriangular=True)
    return solve(LU, y, upper=True)
