"""Samples of reductions and of what is normalised over dimensions."""
from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

DimError, ShapeError = nbgrad.DimError, nbgrad.ShapeError


def dims_of(dim):
    """NumPy's axis."""
    return tuple(dim) if isinstance(dim, (tuple, list)) else dim


def reduced(function):
    """A NumPy reduction with torch's names of its arguments."""
    return lambda x, dim=None, keepdim=False, **options: function(x, axis=dims_of(dim), keepdims=keepdim, **options)


def over_dims(name, function, *cases, **options):
    """The row of a reduction that takes any dimensions."""
    usual = (case((2, 3)), case((2, 3), dim=0), case((2, 3, 2), dim=(0, -1), keepdim=True), case((3,), dim=0, keepdim=True), case(()))
    row(name, reduced(function), REAL, *usual, *cases, errors=[fails(DimError, f"^{name}: ", (2, 3), dim=2),
                                                              fails(ShapeError, f"^{name}: .*twice", (2, 3), dim=(0, 0))], **options)


def exp_shifted(x, dim):
    """e**(x - max), and its sum."""
    e = np.exp(x - x.max(dim, keepdims=True))
    return e, e.sum(dim, keepdims=True)


def softmax(x, dim):
    """e**x, normalised."""
    e, total = exp_shifted(x, dim)
    return e / total


def log_softmax(x, dim):
    """The logarithm of softmax."""
    return np.log(softmax(x, dim))


def logsumexp(x, dim, keepdim=False):
    """The logarithm of the sum of e**x."""
    return np.log(np.exp(x).sum(dims_of(dim), keepdims=keepdim))


over_dims("sum", np.sum, case((0, 3)), case((0, 3), dim=0), saves="")
over_dims("mean", np.mean, saves="")
row("sum_over", lambda x, shape: x.sum(0).sum(1, keepdims=True), REAL, case((2, 2, 3), shape=(2, 1)))
row("sum_to", lambda x, shape: x.sum(0).sum(1, keepdims=True), REAL, case((2, 2, 3), shape=(2, 1)))
row("spread", lambda x, shape, dim: np.broadcast_to(np.expand_dims(x, dim), shape), REAL, case((3,), shape=(2, 3), dim=0))
row("softmax", softmax, REAL, case((2, 3), 1), case((2, 3), 0), case((2, 3, 2), -2), saves="out")
row("log_softmax", log_softmax, REAL, case((2, 3), 1), case((2, 3), 0), saves="out")
row("softmax_backward", lambda g, out, dim: out * (g - (g * out).sum(dim, keepdims=True)), REAL, case((2, 3), (2, 3), 1))
row("log_softmax_backward", lambda g, out, dim: g - np.exp(out) * g.sum(dim, keepdims=True), REAL, case((2, 3), (2, 3), 1))
row("logsumexp", logsumexp, REAL, case((2, 3), 1), case((2, 3), dim=(0, 1)), case((2, 3), dim=0, keepdim=True))
