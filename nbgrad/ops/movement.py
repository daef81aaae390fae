"""Views: the same memory under another layout, each with the movement that undoes it.

A formula gets the operand's Layout and returns ``(shape, strides, offset)`` in elements. Public functions that take sizes or
dimensions in several spellings are composites that call these with tuples.
"""
from __future__ import annotations

from . import shapes
from .core import movement

movement("view_shape", lambda x, shape: shapes.viewed(x, shape), lambda g, x_shape: g.reshape(x_shape), method=False,
         function=False, node="ViewBackward0", doc="The same elements in the same order under another shape.")
movement("permute_dims", lambda x, dims: shapes.permuted(x, dims),
         lambda g, dims: g.permute(shapes.inverse_permutation(dims)), method=False, function=False, node="PermuteBackward0",
         doc="Dimensions in another order.")
movement("transpose", lambda x, dim0, dim1: shapes.transposed(x, dim0, dim1), lambda g, dim0, dim1: g.transpose(dim0, dim1),
         aliases=("swapaxes", "swapdims"), doc="Two dimensions exchanged.")
movement("expand_shape", lambda x, shape: shapes.expanded(x, shape), lambda g, x_shape: g.sum_to(x_shape), method=False,
         function=False, node="ExpandBackward0", doc="Dimensions of size 1 repeated, without memory.")
movement("slice", lambda x, dim=0, start=None, end=None, step=1: shapes.sliced(x, dim, start, end, step),
         lambda g, x_shape, dim, start, end, step: g.slice_backward(x_shape, dim, start, end, step), method=False,
         function=False, doc="Every step-th element of a range of one dimension.")
movement("select", lambda x, dim, index: shapes.selected(x, dim, index),
         lambda g, x_shape, dim, index: g.select_backward(x_shape, dim, index), doc="One element of one dimension, which goes.")
movement("as_strided", lambda x, size, stride, storage_offset=None: (tuple(size), tuple(stride), storage_offset or 0),
         lambda g, x_layout, size, stride, storage_offset: g.as_strided_backward(x_layout, size, stride, storage_offset),
         doc="Any shape and strides over the memory.")
