"""Rows of samples of convolutions, their transposes, and what their weights are multiplied by."""

from __future__ import annotations

import itertools

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

ShapeError, RangeError = nbgrad.ShapeError, nbgrad.RangeError


def places(shape, stride, padding, dilation, kernel, size):
    """For every tap ``(tap, slices of the padded long side)`` that it meets at the places of the short side."""
    for tap in itertools.product(*map(range, kernel)):
        starts = [d * k for d, k in zip(dilation, tap)]
        yield tap, tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, size, stride))


def padded(x, padding, more):
    """Zeros around spatial dimensions, enough behind for every tap."""
    return np.pad(x, [(0, 0), (0, 0), *((p, p + m) for p, m in zip(padding, more))])


def sizes_of(long, kernel, stride, padding, dilation):
    """The places of a kernel."""
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(long, kernel, stride, padding, dilation)]


def conv(x, weight, stride, padding, dilation, transposed, output_padding, groups):
    """The sum over groups, channels and taps, a tap at a time."""
    kernel, per_group = weight.shape[2:], weight.shape[1]
    kind = np.result_type(x, weight)
    if transposed:
        size, own = x.shape[2:], weight.shape[0] // groups
        full = [(n - 1) * s + d * (k - 1) + 1 + m for n, s, d, k, m in zip(size, stride, dilation, kernel, output_padding)]
        out = np.zeros((x.shape[0], groups * per_group, *full), kind)
        for g in range(groups):
            part, w = x[:, g * own : (g + 1) * own], weight[g * own : (g + 1) * own]
            for tap, at in places(full, stride, padding, dilation, kernel, size):
                made = np.einsum("no...,oc->nc...", part, w[(slice(None), slice(None), *tap)])
                out[(slice(None), slice(g * per_group, (g + 1) * per_group), *at)] += made
        return out[(slice(None), slice(None), *(slice(p, n - p) for p, n in zip(padding, full)))]
    size, heads = sizes_of(x.shape[2:], kernel, stride, padding, dilation), weight.shape[0] // groups
    x, out = padded(x, padding, (0,) * len(size)), np.zeros((x.shape[0], weight.shape[0], *size), kind)
    for g in range(groups):
        part, w = x[:, g * per_group : (g + 1) * per_group], weight[g * heads : (g + 1) * heads]
        for tap, at in places(x.shape, stride, padding, dilation, kernel, size):
            seen = part[(slice(None), slice(None), *at)]
            out[:, g * heads : (g + 1) * heads] += np.einsum("nc...,oc->no...", seen, w[(slice(None), slice(None), *tap)])
    return out


def conv_bias(x, weight, bias, **settings):
    """The same, and a bias."""
    out = conv(x, weight, **settings)
    return out + bias.reshape(-1, *(1,) * (out.ndim - 2))


def conv_weight(x, y, kernel, stride, padding, dilation, groups):
    """Products of both sides at every tap."""
    x, size = padded(x, padding, dilation), y.shape[2:]
    channels, heads = x.shape[1] // groups, y.shape[1] // groups
    out = np.zeros((y.shape[1], channels, *kernel), np.result_type(x, y))
    for g, (tap, at) in itertools.product(range(groups), places(x.shape, stride, padding, dilation, kernel, size)):
        seen = x[(slice(None), slice(g * channels, (g + 1) * channels), *at)]
        given = y[:, g * heads : (g + 1) * heads]
        made = np.einsum("nct,not->oc", seen.reshape(*seen.shape[:2], -1), given.reshape(*given.shape[:2], -1))
        out[(slice(g * heads, (g + 1) * heads), slice(None), *tap)] = made
    return out


def public(count, transposed=False):
    """``conv1d`` and so on."""

    def reference(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, output_padding=0):
        settings = [
            value if isinstance(value, tuple) else (value,) * count for value in (stride, padding, dilation, output_padding)
        ]
        x = input if input.ndim > count + 1 else input[None]
        out = conv(x, weight, *settings[:3], transposed, settings[3], groups)
        out = out if bias is None else out + bias.reshape(-1, *(1,) * count)
        return out if input.ndim > count + 1 else out[0]

    return reference


# A stride, a dilation, groups, more channels than are computed side by side, a transpose that leaves elements out.
def settings(*values):
    """By their names."""
    return dict(zip(("stride", "padding", "dilation", "transposed", "output_padding", "groups"), values))


PLAIN, ODD = settings((1, 1), (1, 0), (1, 1), False, (0, 0), 1), settings((2, 1), (1, 1), (1, 2), False, (0, 0), 2)
BACK, LINE = settings((2, 3), (1, 0), (2, 1), True, (1, 2), 2), settings((1,), (1,), (1,), False, (0,), 1)
row(
    "conv",
    conv,
    REAL,
    case((2, 2, 3, 4), (5, 2, 2, 2), **PLAIN),
    case((1, 4, 5, 4), (2, 2, 2, 2), **ODD),
    case((2, 4, 2, 2), (4, 1, 2, 2), **BACK),
    saves="x weight",
)
row("conv_bias", conv_bias, REAL, case((1, 2, 4), (3, 2, 2), (3,), **LINE), saves="x weight")
row(
    "conv_weight",
    conv_weight,
    REAL,
    case((2, 4, 5, 4), (2, 2, 3, 4), kernel=(2, 2), stride=(2, 1), padding=(1, 1), dilation=(1, 2), groups=2),
    saves="x y",
)
row(
    "conv1d",
    public(1),
    REAL,
    case((1, 2, 4), (1, 2, 3), padding=1),
    errors=[
        fails(ShapeError, "conv1d: groups = 2 does not divide the 3 channels of input", (1, 3, 4), (2, 1, 3), groups=2),
        fails(ShapeError, "expected 2 channels, got 3", (1, 3, 4), (2, 2, 3)),
        fails(
            ShapeError,
            "dimension 2 of the input has 4 elements and padding 0 on both sides, the kernel needs 5",
            (1, 2, 4),
            (1, 2, 5),
        ),
        fails(ShapeError, r"conv1d: input is \[4\], expected 3 dimensions", (4,), (1, 2, 3)),
        fails(ShapeError, r"weight is \[2, 3\], expected 3 dimensions", (1, 2, 4), (2, 3)),
        fails(ShapeError, r"bias is \[2\], expected \[1\]", (1, 2, 4), (1, 2, 3), (2,)),
        fails(RangeError, "padding is -1, expected at least 0", (1, 2, 4), (1, 2, 3), padding=-1),
        fails(RangeError, "stride is 0, expected at least 1", (1, 2, 4), (1, 2, 3), stride=0),
        fails(RangeError, "padding 'same' with stride", (1, 2, 4), (1, 2, 3), padding="same", stride=2),
        fails(RangeError, "padding is 'full'", (1, 2, 4), (1, 2, 3), padding="full"),
        fails(nbgrad.ArgumentError, "stride is 1.5, expected an int", (1, 2, 4), (1, 2, 3), stride=1.5),
    ],
)
row("conv2d", public(2), REAL, case((2, 3, 3), (2, 2, 2, 2), (2,), padding=(1, 0)))
row("conv3d", public(3), REAL, case((1, 1, 2, 3, 2), (2, 1, 2, 1, 2), padding=1))
row(
    "conv_transpose1d",
    public(1, True),
    REAL,
    case((1, 2, 3), (2, 1, 2), stride=2),
    errors=[
        fails(RangeError, "output_padding is .1,., expected less than stride", (1, 2, 3), (2, 1, 2), output_padding=1),
        fails(ShapeError, "would give a size of -1", (1, 2, 1), (2, 1, 1), padding=1),
    ],
)
row("conv_transpose2d", public(2, True), REAL, case((1, 2, 2, 2), (2, 1, 2, 2), (1,), stride=2, output_padding=1))
row("conv_transpose3d", public(3, True), REAL, case((1, 1, 2, 1, 2), (1, 2, 2, 1, 2)))
row("convolution", conv_bias, REAL, case((1, 2, 4), (1, 2, 3), (1,), **LINE))
