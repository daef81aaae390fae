"""Lowerings of ``ops/matrices``: which operation is which routine of LAPACK, and which function of NumPy's arrays."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Callable, NamedTuple

import numpy as np

from ...base.bounded import MOST_PLANS, Plans
from ...base.dtypes import DType, dtype_of, int32
from ...base.errors import LinAlgError
from ...dispatch.lowerings import lowering, prepared, result_of
from ...tensors.arrays import array_of, tensor_of, values_of
from ...tensors.layout import layout_of
from ...tensors.storage import wrap_array
from ...tensors.tensor import Tensor, native, new_tensor
from .elimination import elimination, lu_array
from .functions import cofactors_array, exponential_array, pseudo_array, sign_array, slope_array
from .launches import launch, went_well
from .parts import packed
from .requirements import require_finite, require_matrices
from .spectra import eig_array, eigh_array, svd_array
from .systems import (
    NUMPYS_SINGULAR,
    cholesky_array,
    factored_array,
    info_array,
    inverse_array,
    of_regular,
    pulled_array,
    shared_array,
    singular_array,
    solved_array,
    triangular_array,
)


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


# ---- shapes of results -----------------------------------------------------------------------------------------------


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
