"""Determinants on a GPU and their derivatives, also of singular matrices: by elimination, and by singular values."""

from __future__ import annotations

import math

from ...base.calls import CALLS
from ...base.dtypes import complex128, float64
from ...creation import factories
from ...tensors.tensor import Tensor
from .elimination import Elimination
from .solvers import adjoint_of, copied, identity_like, solver, turned
from .spectra import is_finite, singular

__all__: list[str] = []


@solver("determinant")
def _determinant(op, attributes, x):
    found = Elimination.of(op, copied(x))
    return found.diagonal().prod(-1) * found.parity()


@solver("sign_and_size")
def _sign_and_size(op, attributes, x):
    found = Elimination.of(op, copied(x))
    diagonal = found.diagonal()
    sign = CALLS["sgn"](diagonal).prod(-1) * found.parity()
    size = CALLS["abs"](diagonal).log().sum(-1).to(x.layout.dtype)
    return CALLS["stack"]([sign, size], -1)


EPSILON, LEAST = 2.0**-52, 1e-30  # what stands for a pivot that is 0, beside the greatest one; where all are 0


@solver("cofactors")
def _cofactors(op, attributes, x):
    """The conjugated cofactors, conj(det(x) x^-1) transposed: in double precision, and with small pivots in the place of those
    that are 0, so that singular matrices have them too.

    Both factors are of the same L and U, so a pivot that is nothing but rounding errors cancels in their product. What is left is
    off by as much as the elements of x are rounded: no more than the singular values of x would give. The matrix is not looked at
    by the host.
    """
    dtype = x.layout.dtype
    found = Elimination.of(op, copied(x.to(complex128 if dtype.is_complex else float64)))
    diagonal = found.diagonal()
    sizes = CALLS["abs"](diagonal)
    most = sizes.amax(-1, True)
    least = CALLS["where"](most == 0, LEAST, most * EPSILON)
    CALLS["copy_"](diagonal, diagonal + CALLS["where"](sizes == 0, least, 0.0))
    size = (diagonal.prod(-1) * found.parity())[..., None, None]
    return copied(turned(size * found.substitute("N", identity_like(found.factors))).conj().to(dtype))


@solver("cofactor_slope")
def _cofactor_slope(op, attributes, x, y):
    """conj(det(U V)) U conj(K) V: K is what the cofactors of diag(s) change by in the direction of Y = U^H y V^H.

    On the diagonal that is the sum over j of p_ij Y_jj, elsewhere -p_ij Y_ji; p_ij is the product of all singular values but the
    i-th and the j-th.
    """
    where, finite = CALLS["where"], is_finite(x)[..., None]
    u, s, v = (copied(each) for each in singular(op, where(finite[..., None], x, 0.0), "S"))
    s = where(finite, s, math.nan)
    one = factories.eye(s.layout.shape[-1], device=x.layout.device) > 0
    pairs = where(one, 0.0, products_of_others(where(one, 1.0, s[..., None, :]))).to(x.layout.dtype)
    inner = adjoint_of(u) @ y @ adjoint_of(v)
    along = pairs @ CALLS["diagonal"](inner, 0, -2, -1)[..., None]
    change = where(one, along, -pairs * turned(inner))
    phase = (CALLS["determinant"](u) * CALLS["determinant"](v)).conj()[..., None, None]
    return copied(phase * (u @ copied(change.conj()) @ v))


def products_of_others(s: Tensor) -> Tensor:
    """For every number of a row the product of the others: no division, so that zeros do no harm."""
    flip, first = CALLS["flip"], s[..., :1] * 0 + 1
    before = CALLS["cat"]([first, s[..., :-1]], -1).cumprod(-1)
    behind = flip(CALLS["cat"]([first, flip(s, (-1,))[..., :-1]], -1).cumprod(-1), (-1,))
    return before * behind
