"""Rows of samples of standardised rows and their cotangents."""

from __future__ import annotations

import numpy as np

import nbgrad

from .row import REAL, case, fails, row, through


def split(x, count, groups):
    """The parts that are standardised, each as the last dimension."""
    return x.reshape(*x.shape[: x.ndim - count], groups or 1, -1)


def moments(x, eps, centred):
    """Mean and 1 over the deviation of the last dimension."""
    mean = x.mean(-1, keepdims=True) if centred else 0.0
    return mean, 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps)


def standardised(x, count, eps, groups=None, centred=True):
    """Mean 0 and variance 1, or mean square 1, over the last dimensions."""
    parts = split(x, count, groups)
    mean, r = moments(parts, eps, centred)
    return ((parts - mean) * r).reshape(x.shape)


def back(g, x, count, eps, groups=None, centred=True):
    """Its transpose."""
    given, parts = split(g, count, groups), split(x, count, groups)
    mean, r = moments(parts, eps, centred)
    h = (parts - mean) * r
    shift = given.mean(-1, keepdims=True) if centred else 0.0
    return (r * (given - shift - h * (given * h).mean(-1, keepdims=True))).reshape(x.shape)


def seen(weight, count):
    """A weight as it broadcasts to the last dimensions."""
    return weight.reshape(weight.shape + (1,) * (count - weight.ndim))


def affine(x, weight, bias, count, *more):
    """Times a weight, plus a bias."""
    return standardised(x, count, *more) * seen(weight, count) + seen(bias, count)


def cotangents(g, x, weight, count, eps, groups, centred, biased):
    """Of rows, weight and bias; the sums are one part."""
    samples = tuple(range(x.ndim - count))
    rest = tuple(range(len(samples) + weight.ndim, x.ndim))
    products = g * standardised(x, count, eps, groups, centred)
    sums = [each.sum((*samples, *rest))[None] for each in (products, g)]
    return (back(g * seen(weight, count), x, count, eps, groups, centred), *sums[: 1 + biased])


ATTRIBUTES = (1, 0.1, None, True), (1, 0.1, None, False)
LAYER = [((2, 3), (3,), ATTRIBUTES[0]), ((2, 2, 3), (2, 3), (2, 0.1, None, True)), ((2, 3), (3,), ATTRIBUTES[1])]
GROUP = [((2, 4, 3), (4,), (2, 0.1, 2, True)), ((3, 4), (4,), (1, 0.1, 2, True))]

row("standardise", standardised, REAL, *(case(x, *more) for x, _, more in (*LAYER, GROUP[0])), saves="x")
row("standardise_backward", back, REAL, *(case(x, x, *more) for x, _, more in (*LAYER, GROUP[0])))
row(
    "standardise_weighted",
    lambda x, weight, count, *more: standardised(x, count, *more) * seen(weight, count),
    REAL,
    *(case(x, weight, *more) for x, weight, more in (LAYER[2], GROUP[0])),
    saves="x weight",
)
row("standardise_affine", affine, REAL, *(case(x, weight, weight, *more) for x, weight, more in (*LAYER, *GROUP)), saves="x weight")
row(
    "standardise_cotangents",
    cotangents,
    REAL,
    *(case(x, x, weight, *more, k % 2 == 0) for k, (x, weight, more) in enumerate((*LAYER, *GROUP))),
    unlike={"half": "sums stay in single precision"},
)


def channels(x, weight, bias, eps):
    """Each channel over all samples."""
    dims = (0, *range(2, x.ndim))
    h = (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)
    return h * seen(weight, x.ndim - 1) + seen(bias, x.ndim - 1)


row(
    "standardised_channels",
    channels,
    REAL,
    case((3, 2), (2,), (2,), 0.1),
    case((2, 3, 2), (3,), (3,), 0.1),
    errors=[fails(nbgrad.ShapeError, "weight and bias", (3, 2), (3,), (2,), 0.1)],
)
for helper in ("standardise_channels", "scaled_around", "pulled_around"):
    through(helper, "standardised_channels")


def channel_cotangents(g, x, weight, moments, eps):
    """Of elements, weight and bias, by given moments."""
    dims, count = (0, *range(2, x.ndim)), x.ndim - 1
    r = 1 / np.sqrt(seen(moments[1], count) + eps)
    h = (x - seen(moments[0], count)) * r
    joint, total = (g * h).sum(dims), g.sum(dims)
    slope = (seen(total, count) + h * seen(joint, count)) / (x.size / x.shape[1])
    return r * seen(weight, count) * (g - slope), joint, total


row(
    "channel_cotangents",
    channel_cotangents,
    REAL,
    case((3, 2), (3, 2), (2,), (2, 2), 9.0),
    case((2, 3, 2), (2, 3, 2), (3,), (2, 3), 9.0),
    unlike={"half": "sums stay in single precision"},
)
