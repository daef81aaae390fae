"""Scalar functions in the place of those of ``scalars`` whose quotient a GPU finds without a branch.

A division of floats is a reciprocal, two steps that make it exact, and a branch for operands that are so large or small that these
steps fail. Where no operand can be, the branch costs more than what it guards: it keeps a thread's elements apart.
"""

# ruff: noqa: F821  (fma and near_reciprocal are bound by instantiate)
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from .access import Function

__all__ = ["QUOTIENTS"]


def tanh_quotient_of_normal(m):
    """m / (m + 2) of 0 <= m < 2**30, rounded as a division is."""
    d = m + 2.0
    r = near_reciprocal(d)
    r = fma(r, fma(-d, r, 1.0), r)
    q = m * r
    return fma(r, fma(-d, q, m), q)


QUOTIENTS: dict[str, dict[str, Function]] = {"float32": {"tanh_quotient": tanh_quotient_of_normal}}
