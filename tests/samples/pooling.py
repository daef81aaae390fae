"""Rows of samples of pools: windows by their definition, one after the other."""

from __future__ import annotations

import itertools

import numpy as np

import nbgrad

from .row import REAL, case, fails, row

ShapeError, RangeError = nbgrad.ShapeError, nbgrad.RangeError


def windows(long, size, kernel, stride, padding, dilation):
    """For every window its position, and the elements of each dimension that it has."""
    lines = []
    for d, (n, count) in enumerate(zip(long, size)):
        if not kernel:
            lines.append([range(t * n // count, -(-(t + 1) * n // count)) for t in range(count)])
            continue
        starts = [t * stride[d] - padding[d] for t in range(count)]
        lines.append([[a for a in range(s, s + dilation[d] * (kernel[d] - 1) + 1, dilation[d]) if 0 <= a < n] for s in starts])
    for at in itertools.product(*map(range, size)):
        yield at, [line[t] for line, t in zip(lines, at)]


def best(x, own):
    """Where the greatest element of every row's window is."""
    part = x[(slice(None), *np.ix_(*own))].reshape(len(x), -1)
    places = np.stack(np.meshgrid(*own, indexing="ij")).reshape(len(own), -1)
    return tuple(places[:, part.argmax(1)])


def rows_of(x, count):
    """One row for everything before the last dimensions."""
    return x.reshape(-1, *x.shape[x.ndim - count :])


def max_places(x, size, kernel, stride, padding, dilation):
    """Where the greatest elements are."""
    flat = rows_of(x, len(size))
    out = np.zeros((len(flat), *size), np.int64)
    for at, own in windows(flat.shape[1:], size, kernel, stride, padding, dilation):
        out[(slice(None), *at)] = np.ravel_multi_index(best(flat, own), flat.shape[1:])
    return out.reshape(*x.shape[: x.ndim - len(size)], *size)


def picked(x, y, size, kernel, stride, padding, dilation):
    """The elements of x at these places of y."""
    places, n = max_places(y, size, kernel, stride, padding, dilation), len(size)
    flat = x.reshape(*x.shape[: x.ndim - n], -1)
    return np.take_along_axis(flat, places.reshape(*flat.shape[:-1], -1), -1).reshape(places.shape)


def spread(x, y, size, kernel, stride, padding, dilation):
    """The transpose of ``picked``."""
    places, n = max_places(y, size, kernel, stride, padding, dilation), len(size)
    out = np.zeros((int(np.prod(y.shape[: y.ndim - n])), int(np.prod(y.shape[y.ndim - n :]))), x.dtype)
    for r, (at, values) in enumerate(zip(places.reshape(len(out), -1), x.reshape(len(out), -1))):
        np.add.at(out[r], at, values)
    return out.reshape(y.shape)


def shares(long, size, kernel, stride, padding, counted, divisor):
    """For every window its position, elements, and what their sum is divided by."""
    for at, own in windows(long, size, kernel, stride, padding, (1,) * len(size)):
        ends = zip(at, kernel, stride, padding, long)
        room = [min(t * s - p + k, n + p) - (t * s - p) for t, k, s, p, n in ends] if counted and kernel else list(map(len, own))
        yield at, own, divisor or np.prod(room)


def avg(x, size, kernel, stride, padding, counted, divisor):
    """The means of windows."""
    flat = rows_of(x, len(size))
    out = np.zeros((len(flat), *size), x.dtype)
    for at, own, over in shares(flat.shape[1:], size, kernel, stride, padding, counted, divisor):
        out[(slice(None), *at)] = flat[(slice(None), *np.ix_(*own))].reshape(len(flat), -1).sum(1) / over
    return out.reshape(*x.shape[: x.ndim - len(size)], *size)


def avg_spread(x, long, kernel, stride, padding, counted, divisor):
    """The transpose of ``avg``."""
    n = len(long)
    flat, size = rows_of(x, n), x.shape[x.ndim - n :]
    out = np.zeros((len(flat), *long), x.dtype)
    for at, own, over in shares(long, size, kernel, stride, padding, counted, divisor):
        out[(slice(None), *np.ix_(*own))] += flat[(slice(None), *at)].reshape(-1, *(1,) * n) / over
    return out.reshape(*x.shape[: x.ndim - n], *long)


def sized(long, kernel, stride, padding, dilation):
    """How many windows there are."""
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(long, kernel, stride, padding, dilation))


def public(count, maximum):
    """``max_pool1d``, ``avg_pool1d`` and so on."""

    def reference(input, kernel_size, stride=None, padding=0, dilation=1):
        kernel, step, around, apart = ((n,) * count for n in (kernel_size, stride or kernel_size, padding, dilation))
        size = sized(input.shape[-count:], kernel, step, around, apart)
        if maximum:
            return picked(input, input, size, kernel, step, around, apart)
        return avg(input, size, kernel, step, around, True, 0)

    return reference


def adaptive(maximum):
    """So many windows of one dimension or more."""

    def reference(input, output_size):
        size = output_size if isinstance(output_size, tuple) else (output_size,)
        return picked(input, input, size, (), (), (), ()) if maximum else avg(input, size, (), (), (), False, 0)

    return reference


def settings(*values):
    """By their names."""
    return dict(zip(("size", "kernel", "stride", "padding", "dilation"), values))


def counted(*values):
    """By their names."""
    return dict(zip(("size", "kernel", "stride", "padding", "counted", "divisor"), values))


PLAIN, ADAPTIVE = settings((2, 3), (3, 2), (2, 1), (1, 0), (1, 2)), settings((2, 3), (), (), (), ())
MEAN = (
    counted((2, 3), (3, 2), (2, 2), (1, 1), True, 0),
    counted((2, 3), (), (), (), False, 0),
    counted((2,), (2,), (2,), (0,), False, 3),
)
row(
    "max_pool",
    lambda x, **given: picked(x, x, *given.values()),
    REAL,
    case((2, 4, 5), **PLAIN),
    case((4, 4), **ADAPTIVE),
    saves="x",
)
row("max_pool_places", max_places, REAL, case((2, 4, 5), **PLAIN), case((4, 4), **ADAPTIVE))
row("max_pool_spread", spread, REAL, case((2, 2, 3), (2, 4, 5), **PLAIN), case((2, 3), (4, 4), **ADAPTIVE), saves="y")
row("max_pool_pick", picked, REAL, case((2, 4, 5), (2, 4, 5), **PLAIN), saves="y")
row("avg_pool", avg, REAL, case((2, 4, 5), **MEAN[0]), case((4, 4), **MEAN[1]), case((1, 4), **MEAN[2]), saves="")
row(
    "avg_pool_spread",
    avg_spread,
    REAL,
    *(
        case((2, *given["size"]), **{"long": (4, 5)[: len(given["size"])], **{k: v for k, v in given.items() if k != "size"}})
        for given in MEAN
    ),
    saves="",
)
row(
    "max_pool1d",
    public(1, True),
    REAL,
    case((1, 5), 3, stride=2, padding=1),
    errors=[
        fails(ShapeError, r"max_pool1d: input is \[4\], expected 3 dimensions", (4,), 2),
        fails(ShapeError, "has no place for a kernel of 5", (1, 4), 5),
        fails(RangeError, "padding is 2, expected at most half of kernel_size 3", (1, 4), 3, padding=2),
        fails(RangeError, "kernel_size is 0, expected at least 1", (1, 4), 0),
        fails(nbgrad.ArgumentError, "stride is 'two', expected an int", (1, 4), 2, stride="two"),
        fails(ShapeError, "expected elements in all dimensions but the batch", (2, 0, 4), 2),
        fails(nbgrad.DTypeError, "max_pool: expected a floating tensor", (1, 4), 2, in_dtype="int64"),
    ],
)
row("avg_pool1d", public(1, False), REAL, case((1, 5), 3, stride=2, padding=1))
for _count in (2, 3):
    row(f"max_pool{_count}d", public(_count, True), REAL, case((1, *(3,) * _count), 2))
    row(
        f"avg_pool{_count}d",
        public(_count, False),
        REAL,
        case((1, *(3,) * _count), 2),
        errors=[
            fails(RangeError, "divisor_override is 0, expected an int other than 0", (1, *(3,) * _count), 2, divisor_override=0)
        ],
    )
for _count in (1, 2, 3):
    for _name in ("max", "avg"):
        row(
            f"adaptive_{_name}_pool{_count}d",
            adaptive(_name == "max"),
            REAL,
            case((1, *(4, 3, 2)[:_count]), output_size=(3, 1, 2)[:_count]),
            errors=[fails(RangeError, "output_size is -1, expected at least 0", (1, *(4, 3, 2)[:_count]), output_size=-1)],
        )
