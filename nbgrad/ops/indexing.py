"""Reading and writing through indices: gather, scatter and their like, masks, and what ``x[...]`` is made of.

An index is an int64 tensor and has no cotangent. Indices are attributes that hold tensors: a graph keeps them with
their versions (saved.Guarded), so that a change before the backward pass is an error.
"""

from __future__ import annotations

from ..base.dtypes import bool_
from ..base.errors import IndexShapeError
from ..base.grad_mode import special
from . import shapes
from .core import composite, elementwise, general
from .expr import scalar
from .kinds import explained

INTERNAL = {"function": False}

# ---- points: the elements of ``x`` where index tensors lead --------------------------------------------------------

general(
    "index",
    lambda x, indices: x,
    {"x": lambda g, indices, x_shape: g.index_backward(indices, x_shape)},
    **INTERNAL,
    doc="x at index tensors; None stands for a dimension that is taken whole.",
    aten=".Tensor",
)
general(
    "index_backward",
    lambda x, indices, shape: x,
    {"x": lambda g, indices: g.index(indices)},
    **INTERNAL,
    doc="The transpose of index: what meets at one element adds up.",
)
general(
    "index_write",
    lambda x, values, indices, accumulate=False: x,
    {
        "x": lambda g, indices, accumulate: g if accumulate else g.index_zeroed(indices),
        "values": lambda g, indices, values_shape: g.index(indices).sum_to(values_shape),
    },
    operands=("x", "values"),
    **INTERNAL,
    node="IndexPutBackward0",
    public="index_put",
    doc="x with values written (or added) at index tensors.",
)
general(
    "index_zeroed",
    lambda x, indices: x,
    {"x": lambda g, indices: g.index_zeroed(indices)},
    **INTERNAL,
    doc="x with zeros at index tensors.",
)

# ---- along one dimension -------------------------------------------------------------------------------------------

general(
    "gather",
    lambda x, dim, index, sparse_grad=False: x,
    {"x": lambda g, dim, index, x_shape: g.gather_backward(x_shape, dim, index)},
    doc="out[i][j][k] = x[index[i][j][k]][j][k] for dim 0, and so on for others.",
)
general(
    "gather_backward",
    lambda x, shape, dim, index: x,
    {"x": lambda g, dim, index: g.gather(dim, index)},
    **INTERNAL,
    doc="The transpose of gather.",
)
general(
    "scatter_src",
    lambda x, src, dim, index: x,
    {"x": lambda g, dim, index: g.scatter_value(dim, index, 0), "src": lambda g, dim, index: g.gather(dim, index)},
    operands=("x", "src"),
    **INTERNAL,
    node="ScatterBackward0",
    public="scatter",
    row_major=True,
    doc="x with the elements of src written along dim where index says.",
    aten=".src",
)
general(
    "scatter_value",
    lambda x, dim, index, value: x,
    {"x": lambda g, dim, index: g.scatter_value(dim, index, 0)},
    **INTERNAL,
    node="ScatterBackward1",
    constant=True,
    public="scatter",
    row_major=True,
    doc="x with one value written along dim where index says.",
    aten=".value",
)
general(
    "scatter_add_src",
    lambda x, src, dim, index: x,
    {"x": lambda g: g, "src": lambda g, dim, index: g.gather(dim, index)},
    operands=("x", "src"),
    **INTERNAL,
    node="ScatterAddBackward0",
    public="scatter_add",
    row_major=True,
    doc="x with the elements of src added along dim where index says.",
)
general(
    "index_select",
    lambda x, dim, index: x,
    {"x": lambda g, dim, index, x_shape: g.index_select_backward(x_shape, dim, index)},
    doc="The slices of dim that a one-dimensional index names.",
)
general(
    "index_select_backward",
    lambda x, shape, dim, index: x,
    {"x": lambda g, dim, index: g.index_select(dim, index)},
    **INTERNAL,
    doc="The transpose of index_select.",
)
general(
    "index_add_source",
    lambda x, source, dim, index: x,
    {"x": lambda g: g, "source": lambda g, dim, index: g.index_select(dim, index)},
    operands=("x", "source"),
    **INTERNAL,
    node="IndexAddBackward0",
    shows={"alpha": 1},
    public="index_add",
    row_major=True,
    doc="x with the slices of source added where index says.",
)
general(
    "index_copy_source",
    lambda x, source, dim, index: x,
    {"x": lambda g, dim, index: g.index_fill_value(dim, index, 0), "source": lambda g, dim, index: g.index_select(dim, index)},
    operands=("x", "source"),
    **INTERNAL,
    node="IndexCopyBackward0",
    public="index_copy",
    row_major=True,
    doc="x with the slices of source written where index says.",
)
general(
    "index_fill_value",
    lambda x, dim, index, value: x,
    {"x": lambda g, dim, index: g.index_fill_value(dim, index, 0)},
    **INTERNAL,
    node="IndexFillBackward0",
    constant=True,
    public="index_fill",
    doc="x with one value in the slices that index names.",
    aten=".int_Scalar",
)
general(
    "index_fill_tensor",
    lambda x, value, dim, index: x,
    {
        "x": lambda g, dim, index: g.index_fill_value(dim, index, 0),
        # Not index_select: an index that comes twice fills one slice once.
        "value": lambda g, dim, index: g.masked_fill(
            g.new_ones(g.shape, dtype=bool_).index_fill_value(dim, index, False), 0
        ).sum_to(()),
    },
    operands=("x", "value"),
    **INTERNAL,
    node="IndexFillBackward1",
    public="index_fill",
    doc="x with one element in the slices that index names.",
    aten=".int_Tensor",
)
general(
    "take",
    lambda x, index: x,
    {"x": lambda g, index, x_shape: g.take_backward(x_shape, index)},
    doc="The elements of x, seen as one row, that index names.",
)
general("take_backward", lambda x, shape, index: x, {"x": lambda g, index: g.take(index)}, **INTERNAL, doc="The transpose of take.")

general(
    "put_source",
    lambda x, source, index, accumulate: x,
    {
        "x": lambda g, index, accumulate: g if accumulate else zeroed_in_row(g, index),
        "source": lambda g, index, source_shape: g.take(index).reshape(source_shape),
    },
    operands=("x", "source"),
    method=False,
    **INTERNAL,
    node="PutBackward0",
    public="put",
    batched="looped",
    doc="x, seen as one row, with the elements of source written (or added) where index says.",
)


def zeroed_in_row(g, index):
    """``g``, seen as one row, with zeros where ``index`` says."""
    return g.reshape((-1,)).index_zeroed((index.reshape((-1,)),)).reshape(g.shape)


# ---- masks ---------------------------------------------------------------------------------------------------------

elementwise(
    "masked_fill",
    lambda x, mask, value: scalar.where(mask, value, x),
    {"x": lambda mask: scalar.where(mask, 0, 1), "value": lambda mask: scalar.where(mask, 1, 0)},
    policy="first",
    boolean=("mask",),
    complex=True,
    out=False,
    row_major=True,
    doc="value where mask is true, else x; the dtype is that of x.",
    aten={(): ".Tensor", (False, False, True): ".Scalar"},
)
general(
    "masked_select",
    lambda x, mask: x,
    {"x": lambda g, mask, x_shape: g.masked_select_backward(x_shape, mask)},
    sized_by_values=True,
    doc="The elements of x where mask is true, in one row; both broadcast.",
)
general(
    "masked_select_backward",
    lambda x, shape, mask: x,
    {"x": lambda g, mask: g.masked_select(mask)},
    **INTERNAL,
    batched="looped",
    doc="The transpose of masked_select.",
)
general(
    "masked_scatter",
    lambda x, mask, source: x,
    {
        "x": lambda g, mask, x_shape: g.masked_fill(mask, 0).sum_to(x_shape),
        "source": lambda g, mask, source_shape: g.masked_scatter_backward(mask, source_shape),
    },
    operands=("x", "mask", "source"),
    batched="looped",
    row_major=True,
    doc="x with consecutive elements of source where mask is true; x and mask broadcast.",
)
general(
    "masked_scatter_backward",
    lambda x, mask, shape: x,
    operands=("x", "mask"),
    **INTERNAL,
    vjps={"x": lambda g, mask, x_shape: g.new_zeros(x_shape).masked_scatter(mask, g)},
    batched="looped",
    doc="The cotangent of masked_scatter's source.",
)

# ---- spellings -----------------------------------------------------------------------------------------------------


def fitted(src, index):
    """The part of ``src`` that an index of a smaller shape reads."""
    for dim, size in enumerate(index.shape):
        if dim < src.ndim and src.shape[dim] > size:
            src = src.slice(dim, 0, size, 1)
    return src


def scatter_add(x, dim, index, src):
    """``x`` with ``src`` added along ``dim`` where ``index`` says; repeated indices add up in row-major order."""
    return x.scatter_add_src(fitted(src, index), dim, index)


def index_add(x, dim, index, source, *, alpha=1):
    """``x`` with ``alpha`` times the slices of ``source`` added where ``index`` says."""
    return x.index_add_source(times(source, alpha), dim, index)


def times(source, alpha):
    """``alpha`` times ``source``, of truth values these or none."""
    if alpha == 1:
        return source
    return source & bool(alpha) if source.layout.dtype is bool_ else source * alpha


def index_copy(x, dim, index, source):
    """``x`` with the slices of ``source`` written where ``index`` says."""
    return x.index_copy_source(source, dim, index)


def index_fill(x, dim, index, value):
    """``x`` with ``value``, a number or a tensor of one element, in the slices that ``index`` names, from the end if negative."""
    return x.index_fill_tensor(value, dim, index) if hasattr(value, "layout") else x.index_fill_value(dim, index, value)


def put(x, index, source, accumulate=False):
    """``x``, seen as one row, with the elements of ``source`` written (or added) where ``index`` says.

    Raises:
        IndexShapeError: not as many elements as indices.
    """
    if index.numel() != source.numel():
        raise IndexShapeError(f"put: {source.numel()} elements for {index.numel()} indices, expected as many of each.")
    return scalar.put_source(x, source, index, accumulate)


def take_along_dim(x, indices, dim=None):
    """``gather`` whose operands broadcast in the other dimensions; without ``dim`` both are seen as one row.

    With ``dim`` negative indices count from the end.
    """
    if dim is None:
        return x.reshape((-1,)).gather(0, indices.reshape((-1,)))
    dim = shapes.wrap("take_along_dim", dim, x.ndim)
    if x.ndim != indices.ndim:
        raise shapes.ShapeError(f"take_along_dim: x has {x.ndim} dimensions, indices {indices.ndim}; expected as many of each.")
    common = []
    for d, (a, b) in enumerate(zip(x.shape, indices.shape)):
        if d != dim and a != b and 1 not in (a, b):
            raise shapes.ShapeError(
                f"take_along_dim: shapes {list(x.shape)} and {list(indices.shape)} do not broadcast at dimension {d}."
            )
        common.append(b if a == 1 else a)
    own, other = list(common), list(common)
    own[dim], other[dim] = x.shape[dim], indices.shape[dim]
    # In a special mode there may be no values to look at, or values of a batch; on a device the program would wait, or has none.
    if special or indices.layout.special or not indices.is_cpu or bool((indices < 0).any()):
        indices = scalar.where(indices < 0, indices + x.shape[dim], indices)
    return x.expand_shape(tuple(own)).gather(dim, indices.expand_shape(tuple(other)))


for function in (scatter_add, index_add, index_copy, index_fill, take_along_dim):
    composite(function.__name__, function, out=True, doc=function.__doc__)
composite("put", explained(put), inplace="result", doc=put.__doc__)
