"""What functions of linear algebra ask of their operands: matrices, tolerances, and whether a call is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.grad_mode import mode, special
from ...dispatch.arguments import require_tensors
from ...graph.edges import requires_grad
from ...lowering.matrices.requirements import require_matrices
from ...tensors.tensor import Tensor

__all__: list[str] = []


def is_recorded(x: Tensor) -> bool:
    """Whether a call is recorded and no more than that: its backward pass may use what the call found on the way."""
    return mode.enabled and not special and not x.layout.special and requires_grad(x)


def has_slope(x: Tensor) -> bool:
    """Whether a call may be differentiated. Then eigenvalues and singular values beside their vectors are results of operations of
    their own, too: the derivative of a row of both goes through the gaps between values, and is NaN where two of them are equal."""
    return bool(special) or x.layout.special or mode.enabled and requires_grad(x)


def checked(name: str, x: Any, square: bool = False) -> Tensor:
    """The operand, if it is one."""
    require_tensors(name, x)
    require_matrices(name, x.layout, square)
    return x


def h(x):
    """The conjugate transpose."""
    return x.adjoint()


def own_real(x):
    """The real part, in memory of its own."""
    return (x.real if x.dtype.is_complex else x).clone()


def tolerances(A, atol, rtol) -> tuple:
    """(rtol, atol), one of them given or both by default."""
    if rtol is None:
        eps = float(np.finfo(A.dtype.to_real().numpy).eps)  # of Python, by which launches are found
        rtol = max(A.shape[-2:]) * eps if atol is None else 0.0
    return rtol, 0.0 if atol is None else atol
