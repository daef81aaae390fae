"""LAPACK's own form of a QR decomposition: Householder's reflections, made (``geqrf``) and applied (``ormqr``)."""

from __future__ import annotations

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ...creation import factories
from ...dispatch.arguments import require_tensors
from ...dispatch.device_lowerings import note_fallback
from ...tensors.arrays import tensor_of, values_of
from ..refusals import refused
from .operands import checked, h
from .results import Reflections

__all__: list[str] = []


def geqrf(input):
    """A QR decomposition as LAPACK has it: (a, tau). Differentiating it is refused: ``linalg.qr`` has derivatives.

    Returns:
        a: of the input's shape ``(*, m, n)``: R in its upper triangle, below it the vectors of the reflections, without their first
            element, 1. tau: ``(*, min(m, n))``, the factors of the reflections ``1 - tau v v^H``.

    Raises:
        ShapeError: no matrices. DTypeError: neither single nor double precision.
    """
    checked("geqrf", input)
    if input.dtype.itemsize < 4 or not input.dtype.differentiable:
        raise DTypeError(f"geqrf: input is {input.dtype}, expected single or double precision.")
    if input.layout.memory is not None:
        note_fallback("geqrf", "geqrf", input.layout.device)
    turned, tau = np.linalg.qr(values_of(input.detach()), mode="raw")
    made = (tensor_of(np.ascontiguousarray(x), input).to(input.dtype) for x in (turned.swapaxes(-1, -2), tau))
    return Reflections(*(refused("geqrf", "GeqrfBackward0", x, input) for x in made))


def ormqr(input, tau, other, left=True, transpose=False):
    """``Q @ other``, where Q is the whole product of the reflections of ``geqrf``: it is never formed.

    Args:
        input: ``(*, m, k)``, with the vectors of the reflections below its diagonal.
        tau: ``(*, k)``.
        other: ``(*, m, n)``, or ``(*, n, m)`` with ``left=False``.
        left: False gives ``other @ Q``.
        transpose: the conjugate transpose of Q in its place.

    Raises:
        ShapeError: no matrices, or they do not go together.
    """
    for x in (input, other):
        checked("ormqr", x)
    require_tensors("ormqr", tau)
    m, k, own = input.shape[-2], tau.shape[-1] if tau.ndim else 0, other.shape[-2 if left else -1]
    if tau.ndim != input.ndim - 1 or k > min(input.shape[-2:]) or m != own:
        raise ShapeError(
            f"ormqr: input is {list(input.shape)}, tau {list(tau.shape)}, other {list(other.shape)} with left={left}; "
            f"expected a tau of at most {min(input.shape[-2:])} factors, and {m} {'rows' if left else 'columns'} of other."
        )
    vectors = input.tril(-1) + factories.eye(m, input.shape[-1], dtype=input.dtype, device=input.device)
    factors = tau.conj() if transpose else tau
    for j in reversed(range(k)) if left != transpose else range(k):  # the factor beside other comes first
        v, factor = vectors.slice(-1, j, j + 1, 1), factors.slice(-1, j, j + 1, 1).unsqueeze(-1)
        other = other - factor * (v @ (h(v) @ other) if left else (other @ v) @ h(v))
    return other if k else other.clone()
