"""Scalar functions in the place of the CPU's whose quotient or root a GPU finds without a branch.

A division of floats is a reciprocal, two steps that make it exact, and a branch for operands that are so large or small that these
steps fail; a square root is the same of another reciprocal. Where no operand can be, the branch costs more than what it guards: it
keeps a thread's elements apart.
"""

# ruff: noqa: F821  (fma, near_reciprocal, near_reciprocal_root are bound by instantiate)
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


def root_of_normal(x):
    """The square root of 2**-100 <= x < 2**100, rounded as a square root is."""
    r = near_reciprocal_root(x)
    s = x * r
    return fma(fma(-s, s, x), 0.5 * r, s)


QUOTIENTS: dict[str, dict[str, Function]] = {"float32": {"tanh_quotient": tanh_quotient_of_normal, "normal_root": root_of_normal}}
