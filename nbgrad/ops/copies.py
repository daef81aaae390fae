"""Operations that copy: plain copies, whose cotangents pass through; copies of views; and writes into a view of a copy."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from . import shapes
from .core import composite, general

general(
    "contiguous_copy",
    lambda x: x,
    {"x": lambda g: g},
    function=False,
    node="CloneBackward0",
    resolves=True,
    doc="A row-major copy.",
)
general(
    "to_dtype",
    lambda x, dtype: x,
    {"x": lambda g, x_dtype: g.to_dtype(x_dtype)},
    function=False,
    node="ToCopyBackward0",
    resolves=True,
    doc="A copy of another dtype.",
    aten="_to_copy",
)
general(
    "to_device",
    lambda x, device, non_blocking=False: x,
    {"x": lambda g, x_layout: g.to_device(x_layout.device)},  # waited for on the CPU, where sums would read it too early
    function=False,
    node="ToCopyBackward0",
    resolves=True,
    doc="A copy on another device.",
    aten="_to_copy",
)
general(
    "clone_like",
    lambda x, layout: x,
    {"x": lambda g: g},
    function=False,
    node="CloneBackward0",
    resolves=True,
    doc="A copy in a given layout.",
)

# ---- views, copied ---------------------------------------------------------------------------------------------------

COPIED_VIEWS: dict[str, Callable] = {
    "alias": lambda x: x.alias(),
    "as_strided": lambda x, size, stride, storage_offset=None: x.as_strided(size, stride, storage_offset),
    "detach": lambda x: x.detach(),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: x.diagonal(offset, dim1, dim2),
    "expand": lambda x, size, *, implicit=False: x.expand(size),
    "narrow": lambda x, dim, start, length: x.narrow(dim, start, length),
    "permute": lambda x, dims: x.permute(dims),
    "select": lambda x, dim, index: x.select(dim, index),
    "slice": lambda x, dim=0, start=None, end=None, step=1: x.slice(dim, start, end, step),
    "split": lambda x, split_size, dim=0: x.split(split_size, dim),
    "split_with_sizes": lambda x, split_sizes, dim=0: x.split_with_sizes(tuple(split_sizes), dim),
    "squeeze": lambda x, dim=None: x.squeeze(dim),
    "t": lambda x: x.t(),
    "transpose": lambda x, dim0, dim1: x.transpose(dim0, dim1),
    "unbind": lambda x, dim=0: x.unbind(dim),
    "unfold": lambda x, dimension, size, step: x.unfold(dimension, size, step),
    "unsqueeze": lambda x, dim: x.unsqueeze(dim),
    "view": lambda x, size=None, dtype=None: x.view(size if dtype is None else dtype),
    "view_as_complex": lambda x: x._apply("view_as_complex", (x,)),
    "view_as_real": lambda x: x._apply("view_as_real", (x,)),
}


def copied(result: Any) -> Any:
    """Views as row-major tensors of their own."""
    return tuple(map(copied, result)) if isinstance(result, (tuple, list)) else result.contiguous_copy()


def copying(view: Callable) -> Callable:
    """A view's function with the copy of what it shows for a result."""

    @wraps(view)
    def function(*args, **named):
        return copied(view(*args, **named))

    return function


for _name, _view in COPIED_VIEWS.items():
    composite(
        f"{_name}_copy",
        copying(_view),
        method=_name == "narrow",
        out=True,
        spelling="memory" if _name == "as_strided" else True,
        doc=f"What ``{_name}`` shows, copied.",
    )

# ---- a part of a copy, overwritten -----------------------------------------------------------------------------------
# Linear in both operands: the cotangent of ``x`` is zero where ``src`` was written, that of ``src`` the part that was.

general(
    "slice_scatter",
    lambda x, src, dim=0, start=None, end=None, step=1: x,
    {
        "x": lambda g, src_shape, dim, start, end, step: g.slice_scatter(g.new_zeros(src_shape), dim, start, end, step),
        "src": lambda g, dim, start, end, step: g.slice(dim, start, end, step),
    },
    operands=("x", "src"),
    part=shapes.sliced,
    doc="A copy of x with src written to a slice of it.",
    total=True,
)
general(
    "select_scatter",
    lambda x, src, dim, index: x,
    {
        "x": lambda g, src_shape, dim, index: g.select_scatter(g.new_zeros(src_shape), dim, index),
        "src": lambda g, dim, index: g.select(dim, index),
    },
    operands=("x", "src"),
    part=shapes.selected,
    doc="A copy of x with src written to one element of a dimension.",
    total=True,
)
general(
    "diagonal_scatter",
    lambda x, src, offset=0, dim1=0, dim2=1: x,
    {
        "x": lambda g, src_shape, offset, dim1, dim2: g.diagonal_scatter(g.new_zeros(src_shape), offset, dim1, dim2),
        "src": lambda g, offset, dim1, dim2: g.diagonal(offset, dim1, dim2),
    },
    operands=("x", "src"),
    part=shapes.diagonal_of,
    doc="A copy of x with src written to a diagonal of it.",
    total=True,
)
general(
    "as_strided_scatter",
    lambda x, src, size, stride, storage_offset=None: x,
    {
        "x": lambda g, src_shape, size, stride, storage_offset: g.as_strided_scatter(
            g.new_zeros(src_shape), size, stride, storage_offset
        ),
        "src": lambda g, size, stride, storage_offset: g.contiguous().as_strided_from(size, stride, storage_offset or 0),
    },
    operands=("x", "src"),
    batched="looped",
    part=lambda x, size, stride, offset: (tuple(size), tuple(stride), offset or 0),
    doc="A row-major copy of x with src written to what as_strided shows of it.",
    total=True,
)
