"""Elements reduced into the places that an index names: extrema and products. Sums are in ``indexing.py``.

``index`` has a place for every element of ``src``; or, of a tensor of more dimensions, is a vector with one for each slice.
"""

from __future__ import annotations

from ..base.dtypes import int64
from .core import general
from .expr import scalar
from .reduce import conjugate

__all__: list[str] = []


def read_at(x, dim, index):
    """The elements or slices at an index."""
    return x.gather(dim, index) if index.ndim == x.ndim or x.ndim < 2 else x.index_select(dim, index)


def added_at(x, src, dim, index):
    """Elements or slices added at an index."""
    return x.scatter_add_src(src, dim, index) if index.ndim == x.ndim or x.ndim < 2 else x.index_add_source(src, dim, index)


def zeroed_at(x, dim, index):
    """Zeros at an index."""
    return x.scatter_value(dim, index, 0) if index.ndim == x.ndim or x.ndim < 2 else x.index_fill_value(dim, index, 0)


def shares(x, src, out, dim, index, include_self):
    """Which elements of x and of src attain the extremum that they went into, and how many do so together."""
    chosen = scalar.eq(src, read_at(out, dim, index)).to_dtype(out.dtype)
    own = scalar.eq(x, out).to_dtype(out.dtype)
    if not include_self:
        own = zeroed_at(own, dim, index)
    return own, chosen, added_at(own, chosen, dim, index)


def own_share(g, x, src, out, dim, index, include_self):
    """g shared evenly among the elements that attain the extremum: the part of x."""
    own, _, count = shares(x, src, out, dim, index, include_self)
    part = g / count * own
    return part if include_self else zeroed_at(part, dim, index)  # a NaN is 0 / 0


def source_share(g, x, src, out, dim, index, include_self):
    """g shared evenly among the elements that attain the extremum: the part of src."""
    _, chosen, count = shares(x, src, out, dim, index, include_self)
    return read_at(g / count, dim, index) * chosen


general(
    "scatter_extremum",
    lambda x, src, dim, index, largest, include_self: x,
    {"x": own_share, "src": source_share},
    operands=("x", "src"),
    method=False,
    function=False,
    node="ScatterReduceBackward0",
    public="scatter_reduce",
    batched="looped",
    row_major=True,
    doc="The extremum of x and of the elements of src that index sends there along dim.",
    aten=".two",
)


def others(factor, product, zeros, nought):
    """The product of all other factors: of those that are not zero, times the only zero among the others; 0 if there are more.

    That zero stays a factor for the sake of second derivatives, which are products of the factors besides it.
    """
    nothing = scalar.eq(factor, 0)
    rest, more = product / scalar.where(nothing, 1, factor), zeros - nothing.to_dtype(int64)
    only = nought - scalar.where(nothing, factor, 0)
    return scalar.where(scalar.eq(more, 0), rest, scalar.where(scalar.eq(more, 1), only * rest, 0))


def factors(x, src, dim, index, include_self):
    """The products of the factors that are not zero, the numbers of zeros and their sums, through which they have gradients."""
    own, sent = scalar.eq(x, 0), scalar.eq(src, 0)
    product = scalar.scatter_product(scalar.where(own, 1, x), scalar.where(sent, 1, src), dim, index, include_self)
    count, nought = own.to_dtype(int64), scalar.where(own, x, 0)
    if not include_self:
        count, nought = count.scatter_value(dim, index, 0), nought.scatter_value(dim, index, 0)
    return (
        product,
        count.scatter_add_src(sent.to_dtype(int64), dim, index),
        nought.scatter_add_src(scalar.where(sent, src, 0), dim, index),
    )


def own_factor(g, x, src, dim, index, include_self):
    """g times the product of what went to the same place: the part of x."""
    part = g * conjugate(others(x, *factors(x, src, dim, index, include_self)))
    return part if include_self else part.scatter_value(dim, index, 0)


def source_factor(g, x, src, dim, index, include_self):
    """g times the product of what else went to the same place: the part of src."""
    parts = factors(x, src, dim, index, include_self)
    return g.gather(dim, index) * conjugate(others(src, *(part.gather(dim, index) for part in parts)))


# The product of those of its factors that are not zero, how many are and their sum: what the derivative by each factor is made of.
general(
    "scatter_product",
    lambda x, src, dim, index, include_self: x,
    {
        "x": lambda g, x, src, dim, index, include_self: own_factor(g, x, src, dim, index, include_self),
        "src": lambda g, x, src, dim, index, include_self: source_factor(g, x, src, dim, index, include_self),
    },
    operands=("x", "src"),
    method=False,
    function=False,
    node="ScatterReduceBackward0",
    public="scatter_reduce",
    batched="looped",
    row_major=True,
    doc="The product of x and of the elements of src that index sends there along dim.",
    aten=".two",
)
