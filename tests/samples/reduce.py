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
    usual = (
        case((2, 3)),
        case((2, 3), dim=0),
        case((2, 3, 2), dim=(0, -1), keepdim=True),
        case((3,), dim=0, keepdim=True),
        case(()),
    )
    row(
        name,
        reduced(function),
        REAL,
        *usual,
        *cases,
        errors=[fails(DimError, f"^{name}: ", (2, 3), dim=2), fails(ShapeError, f"^{name}: .*twice", (2, 3), dim=(0, 0))],
        **options,
    )


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


Z = np.array([[1.5 - 0.5j, -2.0 + 1.0j], [0.3 + 2.0j, -1.0 - 1.0j]])
over_dims("sum", np.sum, case((0, 3)), case((0, 3), dim=0), case(Z, dim=0), saves="")
over_dims("mean", np.mean, case(Z), saves="")
row("sum_over", lambda x, shape: x.sum(0).sum(1, keepdims=True), REAL, case((2, 2, 3), shape=(2, 1)))
row("sum_to", lambda x, shape: x.sum(0).sum(1, keepdims=True), REAL, case((2, 2, 3), shape=(2, 1)))
row("spread", lambda x, shape, dim: np.broadcast_to(np.expand_dims(x, dim), shape), REAL, case((3,), shape=(2, 3), dim=0))
row("softmax", softmax, REAL, case((2, 3), 1), case((2, 3), 0), case((2, 3, 2), -2), saves="out")
row("log_softmax", log_softmax, REAL, case((2, 3), 1), case((2, 3), 0), saves="out")
row("softmax_backward", lambda g, out, dim: out * (g - (g * out).sum(dim, keepdims=True)), REAL, case((2, 3), (2, 3), 1))
row("log_softmax_backward", lambda g, out, dim: g - np.exp(out) * g.sum(dim, keepdims=True), REAL, case((2, 3), (2, 3), 1))


row("logsumexp", logsumexp, REAL, case((2, 3), 1), case((2, 3), dim=(0, 1)), case((2, 3), dim=0, keepdim=True))

# ---- extrema, truth, counts ------------------------------------------------------------------------------------------


def of_dims(name, function, *cases, **options):
    """The row of a reduction whose dimensions must not be empty."""
    usual = (case((2, 3)), case((2, 3), dim=0), case((2, 3), dim=1, keepdim=True))
    row(name, reduced(function), REAL, *usual, *cases, errors=[fails(DimError, f"^{name}: ", (2, 3), dim=2)], **options)


def with_index(values, index):
    """torch's pair of an extremum and where it is."""

    def function(x, dim=None, keepdim=False):
        return values(x) if dim is None else (values(x, dim, keepdims=keepdim), index(x, dim, keepdims=keepdim))

    return function


TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, -1.0]])
INDEX = {"gradient": "an index or a count has none"}

of_dims("amax", np.max, case((2, 3, 2), dim=(0, 2)))
of_dims("amin", np.min, case((2, 3, 2), dim=(0, 2)))
of_dims("argmax", np.argmax, case(TIES, dim=1), unlike=INDEX)
of_dims("argmin", np.argmin, case(TIES, dim=1), unlike=INDEX)
row("max", with_index(np.max, np.argmax), REAL, case((2, 3)), case((2, 3), 1), case((2, 3), 0, True))
row("min", with_index(np.min, np.argmin), REAL, case((2, 3)), case((2, 3), 1), case((2, 3), 0, True))
row(
    "aminmax",
    lambda x, dim=None, keepdim=False: (x.min(dim, keepdims=keepdim), x.max(dim, keepdims=keepdim)),
    REAL,
    case((2, 3)),
    case((2, 3), dim=1),
    case((2, 3), dim=0, keepdim=True),
)
row("attains", np.equal)
row("exp_of_difference", lambda x, y: np.exp(x - y), REAL)
row("pick", lambda x, index, dim: np.take_along_axis(x, index, dim), REAL, case((3, 4), np.array([[0, 2, 1, 1]]), 0))
row("place", lambda x, index, dim, size: placed(x, index, dim, size), REAL, case((1, 4), np.array([[0, 2, 1, 1]]), dim=0, size=3))
SOME = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
of_dims("any", np.any, case(SOME, dim=0), unlike=INDEX)
of_dims("all", np.all, case(SOME, dim=0), unlike=INDEX)
of_dims("count_nonzero", np.count_nonzero, case(SOME, dim=0), unlike=INDEX)


def placed(x, index, dim, size):
    """Zeros with x at an index along dim."""
    out = np.zeros((*x.shape[:dim], size, *x.shape[dim + 1 :]))
    np.put_along_axis(out, index, x, dim)
    return out


# ---- variance and norms ----------------------------------------------------------------------------------------------


def spread_of(function):
    """NumPy's variance or deviation with torch's arguments."""
    return lambda x, dim=None, correction=1, keepdim=False: function(x, axis=dims_of(dim), ddof=correction, keepdims=keepdim)


def with_mean(function):
    """The same, and the mean."""
    return lambda x, dim=None, correction=1, keepdim=False: (
        spread_of(function)(x, dim, correction, keepdim),
        np.mean(x, axis=dims_of(dim), keepdims=keepdim),
    )


def p_norm(x, p, dim=None, keepdim=False):
    """The p-norm."""
    axis = dims_of(dim)
    if p == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdim)
    return np.sum(np.abs(x) ** p, axis=axis, keepdims=keepdim) ** (1 / p)


for _name, _function in (("variance", np.var), ("deviation", np.std)):
    row(
        _name,
        spread_of(_function),
        REAL,
        case((2, 3), dim=None, correction=1, keepdim=False),
        case((2, 3, 2), dim=(0, 2), correction=0, keepdim=True),
    )
for _name, _function in (("var", np.var), ("std", np.std)):
    row(_name, spread_of(_function), REAL, case((2, 3)), case((2, 3), dim=1), case((2, 3), dim=0, correction=0, keepdim=True))
    row(f"{_name}_mean", with_mean(_function), REAL, case((2, 3)), case((2, 3), dim=1, correction=0))
row("norm1", lambda x, dim, keepdim: p_norm(x, 1, dim, keepdim), REAL, case((2, 3), 1, False))
row("norm2", lambda x, dim, keepdim: p_norm(x, 2, dim, keepdim), REAL, case((2, 3), 1, False), case((2, 3), None, True))
row("power_norm", p_norm, REAL, case((2, 3), 3.0, 1, False))
row(
    "norm",
    lambda x, p=2, dim=None, keepdim=False: p_norm(x, p, dim, keepdim),
    REAL,
    case((2, 3)),
    case((2, 3), 1, 1),
    case((2, 3), 3.0, 0, True),
    case((2, 3), np.inf, 1),
    case((2, 3), dim=(0, 1)),
    errors=[fails(nbgrad.RangeError, "^norm: ", (2, 3), "nuclear")],
)

# ---- scans, products, orders -----------------------------------------------------------------------------------------

ZEROS = np.array([[2.0, 0.0, -1.5], [0.5, 3.0, 0.0]])


def along_reversed(function, x, dim, reverse):
    """A scan, from the end if ``reverse``."""
    return np.flip(function(np.flip(x, dim), dim), dim) if reverse else function(x, dim)


def shifted(x, dim, by):
    """Elements moved along dim; zeros come in."""
    out = np.roll(x, by, dim)
    edge = slice(0, by) if by > 0 else slice(by, None)
    out[(slice(None),) * dim + (edge,)] = 0
    return out


def scan_product(x, dim, dtype, exclusive, reverse):
    """Products of the elements up to each, or before each."""
    if not exclusive:
        return along_reversed(np.cumprod, x, dim, reverse)
    line = np.moveaxis(np.flip(x, dim) if reverse else x, dim, -1)
    done = np.concatenate([np.ones_like(line[..., :1]), np.cumprod(line, -1)[..., :-1]], -1)
    done = np.moveaxis(done, -1, dim)
    return np.flip(done, dim) if reverse else done


def recurrence(x, y, dim, lagged, reverse):
    """out_k = y_k + x_k out_(k-1), or x_(k-1) out_(k-1)."""
    x, y = (np.moveaxis(np.flip(a, dim) if reverse else a, dim, 0) for a in (x, y))
    out = [y[0]]
    for k in range(1, len(y)):
        out.append(y[k] + x[k - 1 if lagged else k] * out[-1])
    done = np.moveaxis(np.stack(out), 0, dim)
    return np.flip(done, dim) if reverse else done


row(
    "scan_sum",
    lambda x, dim, dtype, reverse: along_reversed(np.cumsum, x, dim, reverse),
    REAL,
    case((2, 3), 1, None, False),
    case((2, 3), 0, None, True),
)
row(
    "scan_product",
    scan_product,
    REAL,
    *(case(ZEROS, 1, None, exclusive, reverse) for exclusive in (False, True) for reverse in (False, True)),
)
row(
    "recurrence",
    recurrence,
    REAL,
    *(case((2, 4), (2, 4), 1, lagged, reverse) for lagged in (False, True) for reverse in (False, True)),
)
row("shift_along", shifted, REAL, case((2, 4), 1, 1), case((3, 2), 0, -2))
row("cumsum", np.cumsum, REAL, case((2, 3), 1), case((2, 3), 0), errors=[fails(DimError, "dim 2 is out of range", (2, 3), 2)])
row("cumprod", np.cumprod, REAL, case((2, 3), 1), case(ZEROS, 0), case(ZEROS, 1))
row(
    "prod",
    lambda x, dim=None, keepdim=False: np.prod(x, axis=dim, keepdims=keepdim),
    REAL,
    case((2, 3)),
    case(ZEROS),
    case(ZEROS, 1),
    case((2, 3), 0, True),
)
row(
    "argsort",
    lambda x, dim=-1, descending=False: np.argsort(-x if descending else x, dim, kind="stable"),
    REAL,
    case((2, 4)),
    case(TIES),
    case(TIES, descending=True),
    case((3, 2), 0),
    unlike=INDEX,
)
row(
    "top_indices",
    lambda x, k, dim, largest: np.take(np.argsort(-x if largest else x, dim), range(k), dim),
    REAL,
    case((2, 4), 2, 1, True),
    case((4, 2), 3, 0, False),
    unlike=INDEX,
)
row(
    "sort",
    lambda x, dim=-1, descending=False: with_order(x, np.argsort(-x if descending else x, dim, kind="stable"), dim),
    REAL,
    case((2, 4)),
    case((3, 2), 0, True),
)
row(
    "topk",
    lambda x, k, dim=-1, largest=True: with_order(x, np.take(np.argsort(-x if largest else x, dim), range(k), dim), dim),
    REAL,
    case((2, 4), 2),
    case((4, 2), 3, 0, False),
    errors=[fails(nbgrad.NbgradError, "top", (2, 4), 5)],
)


def with_order(x, indices, dim):
    """Values and indices."""
    return np.take_along_axis(x, indices, dim), indices
