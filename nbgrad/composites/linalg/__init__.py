"""The functions of ``nbgrad.linalg``, declared: written in the operations of ``ops/matrices/`` and ``ops/linalg.py``."""

from __future__ import annotations

from typing import Callable

from ...ops.core import composite
from .decompositions import (
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    cholesky_solve,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    qr_some,
    svd,
    svd_turned,
    svdvals,
)
from .elimination import lu, lu_factor, lu_factor_ex, lu_in_main, lu_solve, lu_unpack
from .indefinite import ldl_factor, ldl_factor_ex, ldl_solve
from .least_squares import lstsq, pinv
from .norms import cond, matrix_norm, matrix_rank, norm_of, vector_norm
from .products import (
    cross_along,
    diagonal_of,
    householder_product,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    nuclear_norm,
    tensorinv,
    tensorsolve,
    vander_of,
    vecdot,
)
from .reflections import geqrf, ormqr
from .systems import det, inv, inv_ex, logdet, slogdet, solve, solve_ex, solve_triangular, triangular_solve

__all__: list[str] = []


def in_linalg(name: str, formula: Callable, arguments: dict[str, str] | None = None, **options) -> None:
    """Declare a function of ``nbgrad.linalg``, where torch calls the first operand x or A."""
    composite(
        f"linalg_{name}",
        formula,
        method=False,
        function=False,
        out=True,
        doc=str(formula.__doc__),
        public=f"linalg.{name}",
        arguments={"x": "x", **(arguments or {})},
        **options,
    )


for _formula in (
    cholesky,
    cholesky_ex,
    cond,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    householder_product,
    inv,
    inv_ex,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    matmul,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    svd,
    svdvals,
    tensorinv,
    vecdot,
    vector_norm,
):
    in_linalg(_formula.__name__, _formula)
in_linalg("cross", cross_along)
in_linalg("diagonal", diagonal_of)
in_linalg("lstsq", lstsq, arguments={"b": "B"})
in_linalg("multi_dot", multi_dot, spelling="steps")
in_linalg("norm", norm_of)
in_linalg("tensorsolve", tensorsolve, arguments={"other": "B"})
in_linalg("vander", vander_of)


def in_main(name: str, formula: Callable, out: bool = True, **options) -> None:
    """Declare what torch has in its main namespace, and as a method, under this name."""
    composite(name, formula, matrices=True, out=out, doc=str(formula.__doc__ or f"See ``linalg.{name}``."), **options)


for _formula in (det, slogdet, matrix_power, cholesky_inverse, triangular_solve):
    in_main(_formula.__name__, _formula)
in_main("logdet", logdet, out=False)
in_main("matrix_exp", matrix_exp, out=False)
in_main("inverse", inv)
in_main("pinverse", lambda A, rcond=1e-15: pinv(A, rcond))
in_main("cholesky", lambda input, upper=False: cholesky(input, upper=upper))
in_main("cholesky_solve", cholesky_solve, arguments={"input2": "L"})
in_main("qr", qr_some)
in_main("svd", svd_turned)
in_main("lu", lu_in_main)
in_main("lu_solve", lambda b, LU_data, LU_pivots: lu_solve(LU_data, LU_pivots, b))
in_main("orgqr", householder_product, arguments={"input2": "tau"})
in_main("geqrf", geqrf)
in_main("ormqr", ormqr, arguments={"input2": "tau", "input3": "other"})
for _formula in (nuclear_norm, lu_unpack):
    composite(_formula.__name__, _formula, method=False, out=True, doc=str(_formula.__doc__))
