"""Views: the same memory under another layout, each with the movement that undoes it; and the transposes of views.

A formula gets the operand's Layout and returns ``(shape, strides, offset)`` in elements, or a list of those.
"""

from __future__ import annotations

from . import shapes
from .core import general, movement
from .spellings import or_one

# ---- the movements -------------------------------------------------------------------------------------------------

INTERNAL = {"function": False}

movement("alias", lambda x: (x.shape, x.strides, 0), lambda g: g, **INTERNAL, doc="The tensor itself, as a view.")
movement(
    "primal",
    lambda x: (x.shape, x.strides, 0),
    lambda g: g,
    **INTERNAL,
    method=False,
    node="ViewBackward0",
    doc="The tensor itself, as a view that gets none of the tangents that it has later.",
    severs=True,
)
movement(
    "view_shape",
    shapes.viewed,
    lambda g, x_shape: g.reshape(x_shape),
    **INTERNAL,
    public="view",
    node="ViewBackward0",
    doc="The same elements in the same order under another shape.",
)
movement(
    "reshape_alias",
    shapes.viewed,
    lambda g, x_shape: g.reshape(x_shape),
    **INTERNAL,
    doc="What reshape gives where the operand is not row-major and yet needs no copy.",
    aten="_reshape_alias",
)
movement(
    "permute_dims",
    shapes.permuted,
    lambda g, dims: g.permute_dims(shapes.inverse_permutation(dims)),
    **INTERNAL,
    public="permute",
    node="PermuteBackward0",
    doc="Dimensions in another order.",
)
movement(
    "transpose",
    shapes.transposed,
    lambda g, dim0, dim1: g.transpose(dim0, dim1),
    aliases=("swapaxes", "swapdims"),
    numpy=("swapaxes",),
    inplace="view",
    doc="Two dimensions exchanged.",
    aten=".int",
)
movement(
    "t",
    shapes.matrix_transposed,
    lambda g: g.t(),
    node="TBackward0",
    inplace="view",
    doc="The transpose of a matrix; fewer dimensions stay as they are.",
)
movement(
    "T",
    lambda x: (x.shape[::-1], x.strides[::-1], 0),
    lambda g: g.T,
    function=False,
    node="PermuteBackward0",
    doc="All dimensions in reverse order.",
    is_property=True,
)
movement(
    "expand_shape",
    shapes.expanded,
    lambda g, x_shape: g.sum_to(x_shape),
    **INTERNAL,
    public="expand",
    node="ExpandBackward0",
    doc="Dimensions of size 1 repeated, without memory.",
)
movement(
    "squeeze_all",
    lambda x: shapes.squeezed(x, None),
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward0",
    doc="Without dimensions of size 1.",
)
movement(
    "squeeze_dim",
    lambda x, dim: shapes.squeezed(x, (dim,)),
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward1",
    doc="Without one dimension, if its size is 1.",
    aten=".dim",
)
movement(
    "squeeze_dims",
    shapes.squeezed,
    lambda g, x_shape: g.view_shape(x_shape),
    **INTERNAL,
    node="SqueezeBackward2",
    doc="Without those of some dimensions whose size is 1.",
    aten=".dims",
)
movement(
    "unsqueeze", shapes.unsqueezed, lambda g, dim: g.squeeze_dim(dim), inplace="view", doc="With a dimension of size 1 at ``dim``."
)
movement(
    "slice",
    lambda x, dim=0, start=None, end=None, step=1: shapes.sliced(x, dim, start, end, step),
    lambda g, x_shape, dim, start, end, step: g.slice_backward(x_shape, dim, start, end, step),
    **INTERNAL,
    forms={"step": or_one},
    doc="Every step-th element of a range of one dimension.",
    aten=".Tensor",
)
movement(
    "select",
    shapes.selected,
    lambda g, x_shape, dim, index: g.select_backward(x_shape, dim, index),
    doc="One element of one dimension, which goes.",
    aten=".int",
)
movement(
    "diagonal",
    lambda x, offset=0, dim1=0, dim2=1: shapes.diagonal_of(x, offset, dim1, dim2),
    lambda g, x_shape, offset, dim1, dim2: g.diagonal_backward(x_shape, offset, dim1, dim2),
    doc="The diagonals of two dimensions, as a last one.",
)
movement(
    "unfold",
    shapes.unfolded,
    lambda g, x_shape, dimension, size, step: g.unfold_backward(x_shape, dimension, size, step),
    doc="All windows of ``size`` elements, ``step`` apart, as a last dimension.",
)
movement(
    "as_strided_from",
    lambda x, size, stride, offset: (tuple(size), tuple(stride), offset),
    lambda g, x_layout, size, stride, offset: g.as_strided_backward(x_layout, size, stride, offset),
    **INTERNAL,
    node="AsStridedBackward0",
    saved_as={"storage_offset": "offset"},
    unbounded=True,
    doc="Any shape and strides, from so many elements after the tensor's first one.",
)
movement(
    "split_size",
    lambda x, size, dim=0: shapes.split_of("split", x, shapes.chunk_sizes("split", x, size, dim), dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    **INTERNAL,
    public="split",
    node="SplitBackward0",
    saved_as={"split_size": "size"},
    doc="Pieces of one size.",
    aten=".Tensor",
)
movement(
    "split_with_sizes",
    lambda x, split_sizes, dim=0: shapes.split_of("split_with_sizes", x, split_sizes, dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces of the given sizes.",
)
movement(
    "unsafe_split",
    lambda x, split_size, dim=0: shapes.split_of("unsafe_split", x, shapes.chunk_sizes("unsafe_split", x, split_size, dim), dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces that autograd takes for tensors of their own, each with its own count of writes: only for use where the input, "
    "which learns of none of them, is not used again.",
    untracked=True,
    aten=".Tensor",
)
movement(
    "unsafe_split_with_sizes",
    lambda x, split_sizes, dim=0: shapes.split_of("unsafe_split_with_sizes", x, split_sizes, dim),
    lambda g, dim: g.cat(dim),
    multiple=True,
    doc="Pieces of the given sizes that autograd takes for tensors of their own: see unsafe_split.",
    untracked=True,
)
movement(
    "unbind",
    lambda x, dim=0: shapes.unbound(x, dim),
    lambda g, dim: g.stack(dim),
    multiple=True,
    doc="All elements of one dimension, as a tuple.",
    aten=".int",
)

# ---- their transposes: a cotangent placed among zeros --------------------------------------------------------------

general(
    "slice_backward",
    lambda x, shape, dim, start, end, step: x,
    {"x": lambda g, dim, start, end, step: g.slice(dim, start, end, step)},
    **INTERNAL,
    part=shapes.sliced,
    doc="The transpose of slice.",
)
general(
    "select_backward",
    lambda x, shape, dim, index: x,
    {"x": lambda g, dim, index: g.select(dim, index)},
    **INTERNAL,
    part=shapes.selected,
    doc="The transpose of select.",
)
general(
    "diagonal_backward",
    lambda x, shape, offset, dim1, dim2: x,
    {"x": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2)},
    **INTERNAL,
    part=shapes.diagonal_of,
    doc="The transpose of diagonal.",
)
general(
    "unfold_backward",
    lambda x, shape, dimension, size, step: x,
    {"x": lambda g, dimension, size, step: g.unfold(dimension, size, step)},
    **INTERNAL,
    part=shapes.unfolded,
    doc="The transpose of unfold: overlapping windows add up.",
    total=True,
)
general(
    "as_strided_backward",
    lambda x, layout, size, stride, offset: x,
    {"x": lambda g, layout, size, stride, offset: g.as_strided_within(layout, size, stride, offset)},
    **INTERNAL,
    batched="looped",
    doc="The transpose of as_strided: what overlaps adds up, in the geometry of the operand's memory.",
    total=True,
)
general(
    "as_strided_within",
    lambda x, layout, size, stride, offset: x,
    {"x": lambda g, layout, size, stride, offset: g.as_strided_backward(layout, size, stride, offset)},
    **INTERNAL,
    batched="looped",
    doc="What as_strided would show of a tensor with that layout, copied: zeros where the tensor has no element.",
    total=True,
)
general(
    "reshape_copy",
    lambda x, shape: x,
    {"x": lambda g, x_shape: g.reshape(x_shape)},
    **INTERNAL,
    node="UnsafeViewBackward0",
    doc="A row-major copy under another shape.",
    aten="_unsafe_view",
)
