"""Elimination on a GPU, and what is made of it: systems, inverses, factors. See the notes of solvers.py.

Square matrices of a batch are eliminated by one call of cuBLAS, others one after the other by cuSOLVER.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ...base.calls import CALLS
from ...base.dtypes import complex128, float64, int32, int64
from ...base.errors import LinAlgError
from ...creation import factories
from ...dispatch.device_lowerings import on_host
from ...dispatch.lowerings import lowering
from ...kernels.cuda.cusolver import SMALL, solvers
from ...tensors.tensor import Tensor
from ..matrices.functions import exponential_of
from .solvers import (
    Matrices,
    address_of,
    adjoint_of,
    by_columns,
    copied,
    identity_like,
    numbers,
    packed,
    same_batch,
    solver,
    turned,
)

__all__ = ["Elimination"]

# The greatest order of matrices that are eliminated together: of larger ones each has work for the whole GPU.
TOGETHER = 512


class Elimination(Matrices):
    """L and U of matrices that are given by columns.

    Args:
        factors: the matrices, whose place L and U take.

    Attributes:
        pivots: the row, from 1 on, that each step exchanged with its own.
        info: the first step without a pivot, or 0.
    """

    def __init__(self, op: Any, factors: Tensor):
        super().__init__(op, factors)
        n, m = factors.layout.shape[-2:]
        self.factors, self.together = factors, self.count > 1 and m == n <= TOGETHER
        self.kind = int32 if self.together else int64  # of pivots, as the libraries want them
        self.pivots = self.new((*self.batch, min(m, n)), self.kind)

    @classmethod
    def of(cls, op: Any, by_column: Tensor, exchange: bool = True) -> Elimination:
        """That of matrices, in their place; without ``exchange`` each step takes the pivot that stands there."""
        self = cls(op, by_column)
        n, m = by_column.layout.shape[-2:]
        if self.together:
            places, pivots = self.places(by_column), address_of(self.pivots) if exchange else 0
            self.session.eliminate_many(n, address_of(places), pivots, address_of(self.info), self.count)
            return self
        self.each(
            lambda a, pivots, info: self.session.eliminate(m, n, a, pivots if exchange else 0, info), self.factors, self.pivots
        )
        return self

    @classmethod
    def known(cls, op: Any, by_column: Tensor, pivots: Tensor) -> Elimination:
        """That of which the factors are known."""
        self = cls(op, by_column)
        self.pivots = copied(pivots.to(self.kind))
        return self

    def substitute(self, turn: str, right: Tensor) -> Tensor:
        """Solve systems, in the place of their right sides, which are given by columns."""
        columns, n = right.layout.shape[-2:]
        if self.together:
            a, b = self.places(self.factors), self.places(right)
            self.session.substitute_many(turn, n, columns, address_of(a), address_of(self.pivots), address_of(b), self.count)
            return right
        said, self.info = self.info, self.zeros(int32)
        self.each(
            lambda a, pivots, b, info: self.session.substitute(turn, n, columns, a, pivots, b, info),
            self.factors,
            self.pivots,
            right,
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


def inverted(op: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Inverses, and for each matrix the first step without a pivot: by rows, since that of the transpose is the transposed one."""
    n, count = x.layout.shape[-1], x.layout.numel // max(x.layout.shape[-1] ** 2, 1)
    if count == 1 or n > SMALL:
        found = Elimination.of(op, copied(x))
        return found.substitute("N", identity_like(x)), found.info
    here, given = Matrices(op, x), copied(x)
    out = here.new(x.layout.shape)
    a, b = here.places(given), here.places(out)
    here.session.invert_many(n, address_of(a), address_of(b), address_of(here.info), count)
    return out, here.info


def with_report(op: Any, out: Tensor, info: Tensor, strict: bool) -> Tensor:
    """What was found, with NaN of singular matrices.

    Raises:
        LinAlgError: there is one, if strict: only then the program waits.
    """
    if not strict:
        return CALLS["where"]((info != 0)[..., None, None], math.nan, out)
    if numbers(info).any():
        raise LinAlgError(f"{op.public}: the input matrix is singular.")
    return out


@solver("inverse_matrix")
def _inverse_matrix(op, attributes, x):
    return with_report(op, *inverted(op, x), attributes["strict"])


@solver("singular_order")
def _singular_order(op, attributes, x, found):
    return Elimination.of(op, by_columns(x)).info


@solver("solve_system", fits=same_batch)
def _solve_system(op, attributes, x, y):
    found = Elimination.of(op, copied(x))
    return with_report(op, copied(turned(found.substitute("T", by_columns(y)))), found.info, attributes["strict"])


@solver("matrix_exponential")
def _matrix_exponential(op, attributes, x):
    dtype = x.layout.dtype
    x = x.to(complex128 if dtype.is_complex else float64)
    size = float(numbers(CALLS["abs"](x).sum(-2).max()))
    return exponential_of(x, identity_like(x), size, partial(CALLS["solve_system"], strict=False)).to(dtype)


# ---- factors -----------------------------------------------------------------------------------------------------------


@solver("lu_row", square=False)
def _lu_row(op, attributes, x):
    found, dtype = Elimination.of(op, by_columns(x)), x.layout.dtype
    return packed(turned(found.factors), found.pivots.to(dtype), found.info[..., None].to(dtype))


@solver("lu_factors", square=False)
def _lu_factors(op, attributes, x):
    return copied(turned(Elimination.of(op, by_columns(x), exchange=False).factors))


def _solve_by_factors(op, tensors, attributes):
    """Systems by factors in one matrix, and pivots from 1 on."""
    x, y = tensors
    pivots, adjoint = attributes["pivots"], attributes["adjoint"]
    fits = same_batch(x.layout, y.layout) and pivots.layout.shape == x.layout.shape[:-1] and x.layout.numel and y.layout.numel
    if solvers() is None or not fits:
        return on_host(op, tensors, attributes)
    found = Elimination.known(op, by_columns(x), pivots)
    return copied(turned(found.substitute("C" if adjoint else "N", by_columns(y))))


lowering("solve_by_factors", style="run", device="cuda")(_solve_by_factors)


@solver("pull_to_matrix", square=False)
def _pull_to_matrix(op, attributes, g, x):
    adjoint, solve = adjoint_of(x), CALLS["solve_triangle"]
    low = g.tril(-1)
    inner = (adjoint.triu(1) @ low + low).tril(-1) + (g.triu() @ adjoint.tril()).triu()
    left = solve(adjoint, inner, True, True)
    return adjoint_of(solve(x, adjoint_of(left), True, False))


@solver("share_of_factors", square=False)
def _share_of_factors(op, attributes, m, x):
    adjoint = adjoint_of(x)
    return (adjoint.triu(1) @ m).triu() + (m @ adjoint.tril()).tril(-1)
