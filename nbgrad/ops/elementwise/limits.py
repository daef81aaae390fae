"""Pieces of formulas that keep what happens far out exact: no infinity meets a 0 that would make NaN of it."""

from __future__ import annotations

from ..expr import scalar

where = scalar.where


def bounded(x, far):
    """x moved into [-far, far], beyond which what it belongs to has come to its limit: no inf meets a 0."""
    return at_least(where(x > far, far, x), -far)


def at_least(x, least):
    """The greater one: one instruction, where scalar.maximum says of either operand that it is NaN."""
    return where(x < least, least, x)
