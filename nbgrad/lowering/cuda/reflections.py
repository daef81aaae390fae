"""QR by reflections on a GPU. See the notes of solvers.py."""

from __future__ import annotations

from typing import Any

from ...base.calls import CALLS
from ...creation import factories
from ...tensors.tensor import Tensor
from .solvers import Matrices, address_of, adjoint_of, by_columns, copied, packed, solver, turned

__all__: list[str] = []

# The greatest number of columns of matrices that are reflected together: see ``TOGETHER`` of elimination.py.
TOGETHER = 256


@solver("qr_row", square=False, fits=lambda x: x.shape[-2] >= x.shape[-1])
def _qr_row(op, attributes, x):
    return reflected(op, x, x.layout.shape[-1])


@solver("complete_qr_row", square=False)
def _complete_qr_row(op, attributes, x):
    return reflected(op, x, x.layout.shape[-2])


def reflected(op: Any, x: Tensor, columns: int) -> Tensor:
    """Q with so many columns, and R with as many rows."""
    here, found, (m, n) = Matrices(op, x), by_columns(x), x.layout.shape[-2:]
    tau = here.new((*here.batch, min(m, n)))
    if here.count > 1 and min(m, n) <= TOGETHER:
        a, t = here.places(found), here.places(tau)
        here.session.reflect_many(m, n, address_of(a), address_of(t), here.count)
        q = accumulated(turned(found), tau, columns)
    else:
        here.each(lambda a, t, info: here.session.reflect(m, n, a, t, info), found, tau)
        q = turned(orthogonal(here, found, tau, columns))
    return packed(q, turned(found)[..., :columns, :].triu())


def orthogonal(here: Matrices, found: Tensor, tau: Tensor, columns: int) -> Tensor:
    """The first columns of the product of reflections, by columns, one matrix after the other."""
    (n, m), k = found.layout.shape[-2:], tau.layout.shape[-1]
    q = copied(found)
    if columns != n:
        q = CALLS["fill_"](here.new((*here.batch, columns, m)), 0)
        q[..., :k, :] = found[..., :k, :]
    here.each(lambda a, t, info: here.session.orthogonal(m, columns, k, a, t, info), q, tau)
    return q


def accumulated(found: Tensor, tau: Tensor, columns: int) -> Tensor:
    """The same of all matrices by products and one triangular system, since cuSOLVER has no function for many: I - V T V^H, where
    T^-1 is V^H V above its diagonal, and 1 / tau on it.

    Source: T. Joffrain et al., "Accumulating Householder transformations, revisited", 2006.
    """
    m, k, device = found.layout.shape[-2], tau.layout.shape[-1], found.layout.device
    one, where = factories.eye(m, columns, dtype=found.layout.dtype, device=device), CALLS["where"]
    moves = tau != 0  # the others are no reflections: vectors of zeros with any factor
    v = where(moves[..., None, :], found[..., :k].tril(-1) + one[:, :k], 0.0)
    adjoint = adjoint_of(v)
    factors = 1 / where(moves, tau, 1.0)
    inner = (adjoint @ v).triu(1) + CALLS["diagonal_backward"](factors, (*factors.layout.shape, k), 0, -2, -1)
    return one - v @ CALLS["solve_triangle"](inner, copied(adjoint[..., :columns]), True, False)
