"""Samples of order statistics, differences, covariances and histograms; of copied views and of what is written over an operand."""

from __future__ import annotations

import numpy as np

import nbgrad

from .activations import by_index
from .movement import MEMORY, equal_pieces, pieces, strided, unfold
from .row import NONZERO, POSITIVE, REAL, case, fails, row

NONE = {"gradient": "it has none", "half": "whole numbers or bins"}
DimError, RangeError, ShapeError = nbgrad.DimError, nbgrad.RangeError, nbgrad.ShapeError

# ---- views, copied ---------------------------------------------------------------------------------------------------

row("alias_copy", np.copy, REAL, case((2, 3)))
row(
    "as_strided_copy",
    lambda x, size, stride, storage_offset: strided(x, size, stride, storage_offset),
    REAL,
    case((2, 3), size=(2, 2), stride=(1, 2), storage_offset=1),
    unlike=MEMORY,
)
row("detach_copy", np.copy, REAL, case((2, 3)), unlike={"gradient": "detached"})
row("diagonal_copy", np.diagonal, REAL, case((3, 4), 1))
row("expand_copy", lambda x, size: np.broadcast_to(x, size), REAL, case((1, 3), size=(2, 3)))
row("narrow_copy", lambda x, dim, start, length: np.take(x, range(start, start + length), dim), REAL, case((2, 5), 1, 1, 3))
row("permute_copy", lambda x, dims: x.transpose(dims), REAL, case((2, 3), dims=(1, 0)))
row("select_copy", lambda x, dim, index: np.take(x, index, dim), REAL, case((2, 3), 1, 2))
row("slice_copy", lambda x, dim, start, end, step: x[:, start:end:step], REAL, case((2, 5), 1, 1, 4, 2))
row("split_copy", equal_pieces, REAL, case((5, 2), 2))
row("split_with_sizes_copy", pieces, REAL, case((5, 2), split_sizes=(2, 3)))
row("squeeze_copy", np.squeeze, REAL, case((1, 3)))
row("t_copy", np.transpose, REAL, case((2, 3)))
row("transpose_copy", np.swapaxes, REAL, case((2, 3), 0, 1))
row("unbind_copy", lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)), REAL, case((2, 3), 1))
row("unfold_copy", unfold, REAL, case((7,), 0, 3, 2))
row("unsqueeze_copy", np.expand_dims, REAL, case((2, 3), 1))
row("view_copy", lambda x, size: x.reshape(size), REAL, case((2, 3), size=(3, 2)), unlike=MEMORY)
row(
    "view_as_complex_copy",
    lambda x: x[..., 0] + 1j * x[..., 1],
    REAL,
    case((3, 2)),
    unlike={**MEMORY, "half": "no complex of half types"},
)
row(
    "view_as_real_copy",
    lambda x: np.stack([x.real, x.imag], -1),
    REAL,
    case(np.array([1.5 - 0.5j, 2j])),
    unlike={"lazy": "it speaks of memory"},
)
row("unsafe_split_with_sizes", pieces, REAL, case((5, 2), split_sizes=(2, 3)))
for _name, _function, _shape in (("hsplit", np.hsplit, (3, 4)), ("vsplit", np.vsplit, (4, 3)), ("dsplit", np.dsplit, (2, 2, 4))):
    row(
        _name,
        lambda x, indices_or_sections, f=_function: tuple(f(x, indices_or_sections)),
        REAL,
        case(_shape, 2),
        case(_shape, indices_or_sections=[1, 3]),
        errors=[fails(ShapeError, "equal pieces", _shape, 3), fails(DimError, "at least", (), 1)],
    )

# ---- parts of a copy -------------------------------------------------------------------------------------------------


def written(x, src, place):
    """A copy of x, of which ``place`` gives the part that becomes src."""
    out = x.copy()
    place(out)[...] = src
    return out


row(
    "slice_scatter",
    lambda x, src, dim, start, end, step: written(x, src, lambda out: out[:, start:end:step]),
    REAL,
    case((3, 5), (3, 2), dim=1, start=1, end=5, step=2),
    saves="",
    errors=[fails(ShapeError, "^slice_scatter: .*expected", (3, 5), (3, 1), 1, 0, 2)],
)
row(
    "select_scatter",
    lambda x, src, dim, index: written(x, src, lambda out: np.moveaxis(out, dim, 0)[index]),
    REAL,
    case((3, 4), (3,), 1, 2),
    saves="",
)


def diagonal_scatter(x, src, offset=0):
    """A copy of x with src on a diagonal."""
    out, places = x.copy(), np.arange(len(src))
    out[places, places + offset] = src
    return out


row("diagonal_scatter", diagonal_scatter, REAL, case((3, 3), (3,)), case((3, 4), (3,), 1), saves="")
row(
    "as_strided_scatter",
    lambda x, src, size, stride, storage_offset: written(
        x, src, lambda out: np.lib.stride_tricks.as_strided(out.reshape(-1)[storage_offset:], size, [8 * s for s in stride])
    ),
    REAL,
    case((2, 3), (2, 2), size=(2, 2), stride=(2, 1), storage_offset=1),
    unlike={**MEMORY, "half": "strides in bytes"},
)
AT = np.array([0, 4, -1])


def put(x, index, source, accumulate=False):
    """NumPy's put of a copy."""
    out = x.copy()
    np.add.at(out.reshape(-1), index, source) if accumulate else np.put(out, index, source)
    return out


for _name in ("put", "put_"):
    row(
        _name,
        put,
        REAL,
        case((2, 3), AT, (3,)),
        case((2, 3), AT, (3,), accumulate=True),
        errors=[fails(ShapeError, "put: 2 elements", (2, 3), AT, (2,))],
    )

# ---- orders ----------------------------------------------------------------------------------------------------------


def kthvalue(x, k, dim=-1, keepdim=False):
    """Values and indices."""
    found = np.take(np.argsort(x, dim, kind="stable"), [k - 1], dim)
    values = np.take_along_axis(x, found, dim)
    return (values, found) if keepdim else (values.squeeze(dim), found.squeeze(dim))


def quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    """NumPy's, with its name of the argument."""
    return np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


row(
    "kthvalue", kthvalue, REAL, case((3, 4), 2), case((3, 4), 3, 0, True), errors=[fails(RangeError, "^kthvalue: k = 5", (3, 4), 5)]
)
row("msort", lambda x: np.sort(x, 0), REAL, case((3, 4)))
for _name in ("quantile", "nanquantile"):
    row(
        _name,
        quantile,
        REAL,
        case((3, 4), 0.3),
        case((3, 4), 0.3, 1, True),
        case((3, 4), 0.7, 0, interpolation="midpoint"),
        case((3, 4), 0.7, 0, interpolation="higher"),
        unlike={"half": "of single and double precision"},
        errors=[
            fails(RangeError, "from 0 to 1", (3,), 1.5),
            fails(nbgrad.DTypeError, "expected float32", (3,), 0.5, in_dtype="int64"),
            fails(RangeError, "interpolation is", (3,), 0.5, interpolation="cubic"),
        ],
    )
row("running_logsumexp", lambda x, dim: np.logaddexp.accumulate(x, dim), REAL, case((2, 4), 1))
row("logcumsumexp", lambda x, dim: np.logaddexp.accumulate(x, dim), REAL, case((2, 4), 1), case((3, 2), 0))

# ---- differences, covariances ----------------------------------------------------------------------------------------

POINTS = np.array([0.0, 1.0, 2.5, 4.0])
row(
    "diff",
    lambda x, n=1, dim=-1: np.diff(x, n, dim),
    REAL,
    case((3, 4)),
    case((3, 4), 2, 0),
    errors=[fails(DimError, "no dimensions", ()), fails(RangeError, "n is -1", (3,), -1)],
)
TRAPEZOID = getattr(np, "trapezoid", None) or np.trapz
row("halved_ends_sum", lambda x, dim: TRAPEZOID(x, None, 1.0, dim), REAL, case((3, 4), 1), case((3, 2), 0), case((2, 3, 2), 1))
row(
    "trapezoid",
    lambda y, x=None, dx=1.0, dim=-1: TRAPEZOID(y, x, dx, dim),
    REAL,
    case((3, 4)),
    case((3, 4), POINTS),
    case((4, 3), dx=0.5, dim=0),
    errors=[fails(ShapeError, "4 points", (2, 3), POINTS)],
)


def cumulative(y, x=None, dx=1.0, dim=-1):
    """Running sums of the trapezoids' areas."""
    steps = dx if x is None else np.diff(x)
    return np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * steps, -1)


row("cumulative_trapezoid", cumulative, REAL, case((3, 4)), case((3, 4), POINTS))


def as_tuple(x):
    """One or several."""
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


row(
    "gradient",
    lambda x, spacing=1, dim=None, edge_order=1: as_tuple(
        np.gradient(x, *(spacing if isinstance(spacing, list) else [spacing]), axis=dim, edge_order=edge_order)
    ),
    REAL,
    case((3, 4)),
    case((3, 4), spacing=0.5, dim=1, edge_order=2),
    case((3, 4), spacing=[POINTS], dim=1, edge_order=2),
    unlike={"half": "rounded in between"},
    errors=[fails(RangeError, "edge_order is 3", (3,), edge_order=3)],
)
row(
    "cov",
    lambda x, correction=1, aweights=None: np.cov(x, ddof=correction, aweights=aweights),
    REAL,
    case((3, 4)),
    case((3, 4), correction=0),
    case((4,)),
    case((3, 4), aweights=np.array([1.0, 2.0, 0.5, 1.5])),
    unlike={"half": "rounded in between"},
    errors=[fails(ShapeError, "at most 2", (2, 2, 2))],
)
row("corrcoef", np.corrcoef, REAL, case((3, 4)), unlike={"half": "rounded in between"})


def renorm(x, p, dim, maxnorm):
    """Slices that are too long, scaled."""
    axes = tuple(d for d in range(x.ndim) if d != dim)
    size = (np.abs(x) ** p).sum(axes, keepdims=True) ** (1 / p)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1)


row(
    "renorm",
    renorm,
    NONZERO,
    case((3, 4), 2, 0, 1.0),
    case((3, 4), 3, 1, 2.0),
    errors=[fails(RangeError, "p is 0", (2, 3), 0, 0, 1.0), fails(ShapeError, "at least 2", (3,), 2, 0, 1.0)],
)

# ---- counts ----------------------------------------------------------------------------------------------------------

row("bin_counts", lambda x, bins, low, high: np.histogram(x, bins, (low, high))[0], REAL, case((2, 3), 3, -2.0, 2.5), unlike=NONE)
row(
    "histc",
    lambda x, bins, min=0, max=0: np.histogram(x, bins, (min, max) if min != max else None)[0],
    REAL,
    case((3, 4), 5),
    case((3, 4), 4, -1, 1),
    unlike=NONE,
    errors=[fails(RangeError, "bins is 0", (3,), 0)],
)
row(
    "histogram",
    lambda x, bins, density=False: np.histogram(x, bins, density=density),
    REAL,
    case((3, 4), 4),
    case((3, 4), np.array([-2.0, 0.0, 1.0]), density=True),
    unlike=NONE,
)
row(
    "histogramdd",
    lambda x, bins, density=False: (lambda hist, edges: (hist, *edges))(*np.histogramdd(x, bins, density=density)),
    REAL,
    case((5, 2), 3),
    case((5, 2), [2, 4], density=True),
    unlike=NONE,
    errors=[fails(ShapeError, "expected points", (3,), 2), fails(RangeError, "2 dimensions", (3, 2), [2])],
)
row("unique_consecutive", lambda x: x[np.append(True, x[1:] != x[:-1])], REAL, case(np.array([1, 1, 2, 2, 3, 1])), unlike=NONE)

# ---- parts of numbers ------------------------------------------------------------------------------------------------

row("gcd", np.gcd)
row("lcm", np.lcm)
row("isposinf", lambda x: np.isposinf(np.asarray(x, float)))
row("isneginf", lambda x: np.isneginf(np.asarray(x, float)))
row("sign_bit", np.signbit, NONZERO)
row("signbit", np.signbit, NONZERO, case((2, 3)), case(np.array([0.0, -0.0])), unlike={"gradient": "a truth value has none"})
for _name in ("adjacent", "nextafter"):
    row(_name, lambda x, y: np.nextafter(x, y), REAL, case((2, 3), (2, 3)), unlike={"half": "neighbours are further apart"})
row("binary_exponent", lambda x: np.frexp(x)[1], NONZERO, case((2, 3)))
row("frexp", lambda x: tuple(np.frexp(x)), NONZERO, case((2, 3)), unlike={"gradient": "the exponent jumps"})
for _name in ("ldexp", "ldexp_"):
    row(_name, lambda x, other: x * 2.0**other, REAL, case((2, 3), (3,)), case((2, 3), np.array([1, -2, 3])))
row("load_exponent", lambda x, other: x * 2.0**other, REAL, case((2, 3), 3), case((2, 3), np.array([1, -2, 3])))
row("mantissa_of", lambda x, exponent: x / 2.0**exponent, REAL, case((2, 3), 3), case((2, 3), np.array([1, -2, 3])))
row("broadcast_tensors", lambda *xs: tuple(np.broadcast_arrays(*xs)), REAL, case((2, 1), (3,)))

# ---- reductions by index, in place -----------------------------------------------------------------------------------

TO, SLICES = np.array([[0, 1, 0], [2, 0, 0]]), np.array([0, 2, 0])
ZEROS = np.array([[2.0, 0.0, -1.5], [0.0, 3.0, 0.0], [1.0, -1.0, 0.5]])


def by_slice(x, dim, index, source, reduce, include_self=True):
    """The same index for every element of a slice."""
    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    return by_index(x, dim, np.broadcast_to(index.reshape(shape), source.shape), source, reduce, include_self)


def by_segment(x, reduce, lengths, axis=0, initial=None):
    """Segments along a dimension, reduced one by one."""
    if axis:
        return np.stack([by_segment(row, reduce, length, axis - 1, initial) for row, length in zip(x, lengths)])
    fold = {"sum": np.sum, "mean": np.sum, "max": np.max, "min": np.min, "prod": np.prod}[reduce]
    parts = np.split(x, np.cumsum(lengths)[:-1])
    out = np.stack([fold(part, 0, **({} if initial is None else {"initial": initial})) for part in parts])
    return out / lengths.reshape(-1, *(1,) * (x.ndim - 1)) if reduce == "mean" else out


LENGTHS = np.array([[1, 2], [2, 1]])
row(
    "segment_reduce",
    by_segment,
    NONZERO,
    *(case((4, 2), way, lengths=np.array([1, 3])) for way in ("sum", "mean", "max", "min", "prod")),
    case((4, 2), "sum", lengths=np.array([3, 0, 1])),
    *(case((2, 3), way, lengths=LENGTHS, axis=1, initial=1.5) for way in ("sum", "mean", "max", "prod")),
    unlike={"integer": "of floating dtypes alone"},
    errors=[
        fails(RangeError, "a sum of 4", (4, 2), "sum", lengths=np.array([1, 2])),
        fails(RangeError, "reduce is 'std'", (4,), "std", lengths=np.array([4])),
        fails(ShapeError, r"expected \[2, '\*'\]", (2, 3), "sum", lengths=np.array([3]), axis=1),
    ],
)
row(
    "scatter_product",
    lambda x, src, dim, index, include_self: by_index(x, dim, index, src, "prod", include_self),
    NONZERO,
    *(case((3, 3), (2, 3), dim=0, index=TO, include_self=own) for own in (True, False)),
    case(ZEROS, (2, 3), 0, TO, True),
)
for _name in ("index_reduce", "index_reduce_"):
    row(
        _name,
        by_slice,
        NONZERO,
        case((3, 3), 0, SLICES, (3, 3), "prod"),
        case((3, 3), 1, SLICES, (3, 3), "amax", include_self=False),
        case((3, 4), 0, SLICES, (3, 4), "mean"),
        errors=[fails(RangeError, "reduce is 'sum'", (3, 3), 0, SLICES, (3, 3), "sum")],
    )
row("scatter_reduce_", by_index, NONZERO, case((3, 3), 0, TO, (2, 3), "sum"), case((3, 3), 0, TO, (2, 3), "prod"))
for _name in ("addmm_", "addmv_", "addr_", "baddbmm_", "addbmm_"):
    _shapes = {
        "addmm_": ((2, 4), (2, 3), (3, 4)),
        "addmv_": ((2,), (2, 3), (3,)),
        "addr_": ((2, 3), (2,), (3,)),
        "baddbmm_": ((2, 2, 4), (2, 2, 3), (2, 3, 4)),
        "addbmm_": ((2, 4), (2, 2, 3), (2, 3, 4)),
    }[_name]
    _product = {"addr_": np.outer, "addbmm_": lambda x, y: (x @ y).sum(0)}.get(_name, np.matmul)
    row(
        _name,
        lambda x, a, b, beta=1, alpha=1, f=_product: beta * x + alpha * f(a, b),
        REAL,
        case(*_shapes),
        case(*_shapes, beta=0.5, alpha=2),
    )
row("cumsum_", np.cumsum, REAL, case((2, 3), 1), errors=[fails(DimError, "dim 2", (2, 3), 2)])
row("cumprod_", np.cumprod, REAL, case((2, 3), 1))
row("tril_", np.tril, REAL, case((3, 4), 1))
row("triu_", np.triu, REAL, case((3, 4), -1))
row("renorm_", renorm, NONZERO, case((3, 4), 2, 0, 1.0))
row("nan_to_num_", lambda x: x, REAL, case((2, 3)))
row("float_power_", lambda x, exponent: x**exponent, POSITIVE, case(np.array([[0.5, 2.0, 3.0]]), 2.5))
row("nextafter_", np.nextafter, REAL, case((2, 3), (2, 3)), unlike={"half": "neighbours are further apart"})

# ---- fake quantisation -----------------------------------------------------------------------------------------------


def snapped(x, scale, zero_point, quant_min, quant_max):
    """Numbers rounded to levels."""
    return (np.clip(np.round(x * (1 / scale)) + zero_point, quant_min, quant_max) - zero_point) * scale


THROUGH = {"gradient": "it is meant to ignore the rounding", "half": "levels are next to others there"}
row(
    "fake_quantize",
    lambda x, scale, low, high: snapped(x, scale, 0, low, high),
    REAL,
    case((2, 3), 0.5, -2, 4),
    case((2, 3), 0.25, -8, 7),
    unlike=THROUGH,
)
row("fake_quantize_per_tensor_affine", snapped, REAL, case((2, 3), 0.5, 1, -2, 4), case((2, 3), 0.25, 0, -8, 7), unlike=THROUGH)
row(
    "fake_quantize_per_channel_affine",
    lambda x, scale, zero_point, axis, quant_min, quant_max: snapped(x, scale, zero_point, quant_min, quant_max),
    REAL,
    case((2, 3), scale=np.array([0.5, 1.0, 0.25]), zero_point=np.array([0, 1, -2]), axis=1, quant_min=-4, quant_max=4),
    unlike=THROUGH,
    errors=[fails(ShapeError, r"expected \[2\]", (2, 3), np.ones(3), np.zeros(3, int), 0, 0, 1)],
)
