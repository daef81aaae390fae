"""Samples of further elementwise functions and activations, and of what is composed of others."""

from __future__ import annotations

import itertools

import numpy as np

import nbgrad

from .reduce import softmax
from .row import NONZERO, POSITIVE, REAL, case, fails, row

# ---- elementwise -----------------------------------------------------------------------------------------------------

row("logaddexp2", np.logaddexp2)
row(
    "xlogy",
    lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))),
    POSITIVE,
    at={(0.0, 2.0): (np.log(2.0), 0.0), (0.0, -1.0): (0.0, 0.0)},
    edges={
        "second": (lambda x, y: x == 0 and y < 0, "the logarithm of a negative number"),
        "mixed": (lambda x, y: x == 0, "the derivative by x at x = 0, y < 0 is 0 by convention"),
    },
)
row("sinc", np.sinc, NONZERO, at={(0.0,): (0.0,)})
row(
    "sinc_slope",
    lambda x: np.where(x == 0, 0, (np.cos(np.pi * x) - np.sinc(x)) / np.where(x == 0, 1, x)),
    NONZERO,
    at={(0.0,): (-(np.pi**2) / 3,)},
)
row("round_fine", lambda x, power: np.round(x * power) / power, REAL, case((2, 3), 10.0))
row("round_coarse", lambda x, power: np.round(x / power) * power, REAL, case((2, 3), 10.0))
row("rad2deg", np.rad2deg, saves="")
row("deg2rad", np.deg2rad, saves="")
row("copysign", np.copysign, NONZERO, at={(0.0, -1.0): (0.0, 0.0)}, unlike={"bool": "NumPy's is of half floats"})
row("heaviside", np.heaviside)
row("nan_replaced", lambda x, nan, posinf, neginf: x, REAL, case((2, 3), 0.5, 9.0, -9.0))
row("fmax", np.fmax, at={(1.0, 1.0): (1.0, 0.0), (np.nan, 1.0): (0.0, 1.0)})
row("fmin", np.fmin, at={(1.0, 1.0): (1.0, 0.0), (1.0, np.nan): (1.0, 0.0)})

# ---- activations -----------------------------------------------------------------------------------------------------


def softplus(x):
    """log(1 + e**x)."""
    return np.logaddexp(0, x)


row(
    "hardtanh",
    lambda x, a=-1.0, b=1.0: np.clip(x, a, b),
    REAL,
    case((2, 3)),
    case((2, 3), -2.0, 0.5),
    at={(1.0,): (0.0,), (-1.0,): (0.0,)},
)
row("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1), at={(3.0,): (0.0,), (-3.0,): (0.0,)})
row("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), at={(3.0,): (1.0,), (-3.0,): (0.0,)})
row("celu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)), REAL, case((2, 3)), case((2, 3), 1.5))
row(
    "selu",
    lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    at={(0.0,): (1.0507009873554805 * 1.6732632423543772,)},
)
row("mish", lambda x: x * np.tanh(softplus(x)))
row("threshold", lambda x, threshold, value: np.where(x <= threshold, value, x), REAL, case((2, 3), 0.1, 20.0))
row("tanhshrink", lambda x: x - np.tanh(x))
row(
    "hardshrink",
    lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x),
    REAL,
    case((2, 3)),
    case((2, 3), 1.0),
    at={(0.5,): (0.0,)},
)
row(
    "softshrink",
    lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0),
    REAL,
    case((2, 3)),
    case((2, 3), 1.0),
    at={(0.5,): (0.0,), (-0.5,): (0.0,)},
)


def glu(x, dim=-1):
    """A half times the sigmoid of the other."""
    a, b = np.split(x, 2, dim)
    return a / (1 + np.exp(-b))


row(
    "prelu",
    lambda x, w: np.where(x > 0, x, (w if x.ndim < 2 or w.size == 1 else w.reshape(-1, *(1,) * (x.ndim - 2))) * x),
    REAL,
    case((2, 3), (1,)),
    case((2, 3), (3,)),
    case((2, 3, 2), (3,)),
)
row("prelu_by", lambda x, w: np.where(x > 0, x, w * x), NONZERO)
row("gated", lambda x, y: x / (1 + np.exp(-y)), REAL)
row("glu", glu, REAL, case((2, 4)), case((4, 3), 0), errors=[fails(nbgrad.ShapeError, "expected an even one", (2, 3))])
row("relu6", lambda x: np.clip(x, 0, 6), REAL, case((2, 3)))
row("softmin", lambda x, dim: softmax(-x, dim), REAL, case((2, 3), 1))

# ---- orders ----------------------------------------------------------------------------------------------------------


def with_indices(found, x, dim, keepdim=False):
    """Values and indices."""
    values = np.take_along_axis(x, found, dim)
    return (values, found) if keepdim else (values.squeeze(dim), found.squeeze(dim))


def median(x, dim=None, keepdim=False):
    """The lower median."""
    if dim is None:
        return np.sort(x, axis=None)[(x.size - 1) // 2]
    return with_indices(np.take(np.argsort(x, dim, kind="stable"), [(x.shape[dim] - 1) // 2], dim), x, dim, keepdim)


def running(best):
    """Values and indices of an extremum up to each element."""

    def function(x, dim):
        values = best.accumulate(x, dim)
        places = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
        return values, np.maximum.accumulate(np.where(x == values, places, 0), dim)

    return function


def mode(x, dim=-1, keepdim=False):
    """Of different values the smallest."""
    return with_indices(np.expand_dims(x.argmin(dim), dim), x, dim, keepdim)


INDEX = {"gradient": "an index has none"}
row(
    "median_indices",
    lambda x, dim, ignore: np.take(np.argsort(x, dim, kind="stable"), [(x.shape[dim] - 1) // 2], dim),
    REAL,
    case((2, 4), 1, False),
    case((3, 2), 0, True),
    unlike=INDEX,
)
row("mode_indices", lambda x, dim: np.expand_dims(x.argmin(dim), dim), REAL, case((2, 4), 1), unlike={**INDEX, "half": "ties"})
row(
    "running_indices",
    lambda x, dim, largest: running(np.maximum if largest else np.minimum)(x, dim)[1],
    REAL,
    case((2, 4), 1, True),
    case((3, 2), 0, False),
    unlike=INDEX,
)
row(
    "median",
    median,
    REAL,
    case((2, 3)),
    case((2, 4), 1),
    case((3, 2), 0, True),
    errors=[fails(nbgrad.DimError, "median: dim 4 is out of range", (2, 3), 4)],
)
row("nanmedian", median, REAL, case((2, 3)), case((2, 4), 1))
row(
    "shared_pick",
    lambda x, index, dim, node: np.take_along_axis(x, index, dim).squeeze(dim),
    REAL,
    case((3, 4), np.array([[0, 2, 1, 1]]), 0, "MedianBackward0"),
)
row("mode", mode, REAL, case((2, 4)), case((3, 2), 0, True))
row("cummax", running(np.maximum), REAL, case((2, 4), 1), case((3, 2), 0), errors=[fails(nbgrad.DimError, "cummax", (2, 3), 4)])
row("cummin", running(np.minimum), REAL, case((2, 4), 1), case((3, 2), 0))
row("renorm_factor", lambda x, maxnorm: np.where(x > maxnorm, maxnorm / (x + 1e-7), 1.0), POSITIVE, case((2, 3), 1.2))
row(
    "sum_of_numbers",
    lambda x, dim=None, keepdim=False: np.nansum(x, dim, keepdims=keepdim),
    REAL,
    case((2, 3), 1, False),
    case((2, 3)),
)
row("nansum", lambda x, dim=None, keepdim=False: np.nansum(x, dim, keepdims=keepdim), REAL, case((2, 3)), case((2, 3), 1, True))
row("nanmean", lambda x, dim=None, keepdim=False: np.nanmean(x, dim, keepdims=keepdim), REAL, case((2, 3)), case((2, 3), 1, True))
row("nan_to_num", lambda x, nan=0.0: x, REAL, case((2, 3)))

# ---- diagonals, rotations, blocks ------------------------------------------------------------------------------------


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """The last dimension on a diagonal."""
    size = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], size, size), x.dtype)
    places = np.arange(x.shape[-1])
    out[..., places + max(-offset, 0), places + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def block_diag(*xs):
    """Matrices on the diagonal."""
    out = np.zeros((sum(x.shape[0] for x in xs), sum(x.shape[1] for x in xs)))
    i = j = 0
    for x in xs:
        out[i : i + x.shape[0], j : j + x.shape[1]] = x
        i, j = i + x.shape[0], j + x.shape[1]
    return out


def padded(x, pad, mode="constant", value=0.0):
    """NumPy's pad, from the last dimension."""
    x = x[
        tuple(
            [
                slice(max(-a, 0), n - max(-b, 0))
                for n, (a, b) in zip(
                    x.shape, [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
                )
            ]
        )
    ]
    pad = [max(width, 0) for width in pad]
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    names = {"replicate": "edge", "circular": "wrap"}
    return np.pad(x, widths, **({"constant_values": value} if mode == "constant" else {}), mode=names.get(mode, mode))


row(
    "diag",
    np.diag,
    REAL,
    case((3,)),
    case((2, 3), 1),
    case((3,), -1),
    errors=[fails(nbgrad.ShapeError, "a vector or a matrix", (2, 2, 2))],
)
row("diag_embed", diag_embed, REAL, case((2, 3)), case((2, 3), 1), case((2, 3), -1, 0, 2))
row("diagflat", np.diagflat, REAL, case((2, 2)), case((3,), 1))
row(
    "rot90",
    lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
    REAL,
    case((2, 3)),
    case((2, 3), 2),
    case((2, 2, 3), k=-1, dims=(1, 2)),
    errors=[fails(nbgrad.RangeError, "two different ones", (2, 3), k=1, dims=(0, 0))],
)
row(
    "pad",
    padded,
    REAL,
    case((2, 3), pad=(1, 2)),
    case((2, 3), pad=(1, 0, 0, 2), value=2.0),
    case((2, 3), pad=(2, 1), mode="reflect"),
    case((2, 3), pad=(2, 1), mode="replicate"),
    case((2, 3), pad=(2, 1, 1, 0), mode="circular"),
    errors=[
        fails(nbgrad.RangeError, "in pairs", (2, 3), pad=(1,)),
        fails(nbgrad.RangeError, "mode is", (2, 3), pad=(1, 1), mode="mirror"),
    ],
)
row("block_diag", block_diag, REAL, case((2, 3), (1, 2)))
row("zero_pad", padded, REAL, case((2, 3), pad=(1, 2)), case((2, 3), pad=(-1, 1, 0, 2)), case((3, 4), pad=(1, -2)))
row("blocks", lambda tensors: block_diag(*tensors), REAL, case([(2, 3), (1, 2)]), case([(1, 2), (2, 2), (1, 1)]))

# ---- products and distances ------------------------------------------------------------------------------------------


def length(x, p=2.0, axis=-1):
    """The p-norm."""
    return (np.abs(x) ** p).sum(axis) ** (1 / p)


row("cross", np.cross, REAL, case((2, 3), (2, 3)), errors=[fails(nbgrad.ShapeError, "dimension of size 3", (2, 2), (2, 2))])
row("dist", lambda x, y, p=2: length((x - y).ravel(), p), REAL, case((2, 3), (2, 3)), case((2, 3), (2, 3), 3))
row("pairwise_distance", lambda x, y, p=2.0: length(x - y + 1e-6, p), REAL, case((2, 3), (2, 3)), case((2, 3), (2, 3), 1.0))
row(
    "distances",
    lambda x, y: length(x[..., :, None, :] - y[..., None, :, :], 2),
    REAL,
    case((2, 3), (4, 3)),
    case((3, 2, 6), (3, 3, 6)),
    unlike={"half": "of single and double precision"},
)
row(
    "distances_pull",
    lambda w, x, y: (w[..., None] * (x[..., :, None, :] - y[..., None, :, :])).sum(-2),
    REAL,
    case((2, 4), (2, 3), (4, 3)),
    case((3, 2, 4), (3, 2, 5), (3, 4, 5)),
    unlike={"half": "of single and double precision"},
)
row(
    "cdist",
    lambda x, y, p=2.0: length(x[..., :, None, :] - y[..., None, :, :], p),
    REAL,
    case((2, 3), (4, 3)),
    case((2, 2, 3), (2, 1, 3), 1.0),
)
row(
    "cosine_similarity",
    lambda x, y, dim=1: (x * y).sum(dim) / length(x, axis=dim) / length(y, axis=dim),
    REAL,
    case((2, 3), (2, 3)),
    case((3, 2), (3, 2), 0),
)
row("normalize", lambda x, p=2.0, dim=1: x / np.expand_dims(length(x, p, dim), dim), REAL, case((2, 3)), case((2, 3), 3.0, 0))
row("chain_matmul", lambda *xs: np.linalg.multi_dot(xs), REAL, case((2, 3), (3, 2), (2, 4)), unlike={"half": "rounded in between"})

# ---- reductions by index ---------------------------------------------------------------------------------------------

TO = np.array([[0, 1, 0], [2, 0, 0]])


def by_index(x, dim, index, src, reduce, include_self=True):
    """One element after the other."""
    groups = {}
    for place in np.ndindex(index.shape):
        groups.setdefault(tuple(index[place] if d == dim else i for d, i in enumerate(place)), []).append(src[place])
    out = np.array(x)
    for place, members in groups.items():
        members = [x[place], *members] if include_self else members
        out[place] = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min}[reduce](members)
    return out


row(
    "scatter_extremum",
    lambda x, src, dim, index, largest, include_self: by_index(x, dim, index, src, "amax" if largest else "amin", include_self),
    REAL,
    *(
        case((3, 3), (2, 3), dim=0, index=TO, largest=largest, include_self=own)
        for largest in (True, False)
        for own in (True, False)
    ),
)
row(
    "scatter_reduce",
    by_index,
    REAL,
    *(
        case((3, 3), 0, TO, (2, 3), reduce, include_self=own)
        for own in (True, False)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
    ),
    errors=[
        fails(nbgrad.RangeError, "expected 'sum'", (3, 3), 0, TO, (2, 3), "median"),
        fails(nbgrad.DimError, "index 4", (3, 3), 0, TO * 9 // 2, (2, 3), "amax"),
    ],
)

# ---- joins and indices -----------------------------------------------------------------------------------------------

NONE = {"gradient": "whole numbers"}
LABELS = np.array([2, 0, 1, 2])
row(
    "meshgrid",
    lambda *xs, indexing="ij": np.meshgrid(*xs, indexing=indexing),
    REAL,
    case((2,), (3,)),
    case((2,), (3,), indexing="xy"),
)
row("cartesian_prod", lambda x, y: np.stack([np.repeat(x, len(y)), np.tile(y, len(x))], 1), REAL, case((2,), (3,)))
row("combinations", lambda x, r=2: np.array(list(itertools.combinations(x, r))), REAL, case((4,)), case((4,), 3))
row("vander", lambda x, N=None, increasing=False: np.vander(x, N, increasing), REAL, case((3,)), case((3,), 4, True))
row(
    "one_hot",
    lambda x, n=-1: np.eye(x.max() + 1 if n == -1 else n, dtype=int)[x],
    REAL,
    case(LABELS),
    case(LABELS, 5),
    unlike=NONE,
    errors=[fails(nbgrad.DimError, "expected 0 to 1", LABELS, 2)],
)
row("unique", lambda x, **named: np.unique(x), REAL, case(LABELS), unlike=NONE)
row("bincount", np.bincount, REAL, case(LABELS), unlike=NONE)
row(
    "searchsorted",
    lambda s, x, right=False: np.searchsorted(s, x, "right" if right else "left"),
    REAL,
    case(np.array([-1.0, 0.0, 2.0]), np.array([[0.0, 3.0], [-2.0, 1.0]])),
    unlike=NONE,
)
row(
    "insertion_places",
    lambda s, x, right: np.searchsorted(s, x, "right" if right else "left"),
    REAL,
    case(np.array([-1.0, 0.0, 2.0]), np.array([[0.0, 3.0], [-2.0, 1.0]]), True),
    unlike=NONE,
)
row("are_members", lambda x, y, invert: np.isin(x, y, invert=invert), REAL, case(LABELS, np.array([2, 5]), True), unlike=NONE)
row(
    "bucketize",
    lambda x, b, right=False: np.digitize(x, b, not right),
    REAL,
    case(np.array([[0.0, 3.0], [-2.0, 1.0]]), np.array([-1.0, 0.0, 2.0])),
    unlike=NONE,
)
row("isin", lambda x, y: np.isin(x, y), REAL, case(LABELS, np.array([2, 5])), unlike=NONE)
row(
    "tril_indices",
    lambda n, m, offset=0: np.stack(np.tril_indices(n, offset, m)),
    REAL,
    case(3, 2),
    unlike={**NONE, "type": "numbers"},
)
row(
    "triu_indices",
    lambda n, m, offset=0: np.stack(np.triu_indices(n, offset, m)),
    REAL,
    case(3, 2, 1),
    unlike={**NONE, "type": "numbers"},
)
