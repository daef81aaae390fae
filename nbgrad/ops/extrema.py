"""Extrema and orders along dimensions: values, and where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..base.errors import ArgumentError
from ..base.results import result_type
from .core import composite, elementwise, general, reduction
from .expr import scalar
from .reduce import kept_shape, numpy_spelling
from .shapes import wrap
from .spellings import as_list

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__: list[str] = []


# ---- extrema ---------------------------------------------------------------------------------------------------------


class Extremum(NamedTuple):
    """Values along a dimension, and where they were: what ``max`` and its relatives return."""

    values: Tensor
    indices: Tensor


# The class of each; of the operations of one node, by its name.
EXTREMUM_OF: dict[str, type[Extremum]] = {
    name: result_type(name)(Extremum)
    for name in ("max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin")
}


def extremum_type(node: str) -> type[Extremum]:
    """The class of results whose node is ``MaxBackward0``, ``MedianBackward1``, ..."""
    return EXTREMUM_OF[node.partition("Backward")[0].lower()]


@result_type("aminmax")
class Extrema(NamedTuple):
    """What ``aminmax`` returns."""

    min: Tensor
    max: Tensor


elementwise(
    "attains",
    lambda x, y: (x == y) | (scalar.isnan(x) & scalar.isnan(y)),
    predicate=True,
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="max",
    doc="Whether two are one number, or both NaN.",
)


def even_cotangent(g, x, out, x_shape, x_dtype, dim):
    """The cotangent of an extremum, shared evenly among the elements that attain it; 0 for the others, whatever it is."""
    attained = scalar.attains(x, scalar.spread(out, x_shape, dim))
    count = attained.to_dtype(x_dtype).sum(dim, g.ndim == len(x_shape))
    return scalar.where(attained, scalar.spread(g / count, x_shape, dim), 0.0)


def named_by_dim(whole: str, along_dims: str):
    """The node's name: ``max`` and ``min`` of all elements are amax and amin without a dim."""
    return lambda facts: whole if facts["dim"] is None else along_dims


for _name, _which, _ufunc in (("amax", "Greatest", "maximum"), ("amin", "Smallest", "minimum")):
    reduction(
        _name,
        lambda x, dim=(), keepdim=False: x,
        {"x": even_cotangent},
        monoid=_which.lower(),
        node=named_by_dim(f"{_name[1:].capitalize()}Backward1", f"{_name.capitalize()}Backward0"),
        forms={"dim": as_list},
        numpy=(f"{_ufunc}.reduce",),
        doc=f"{_which} element over dimensions; NaN wins. Elements that tie share the gradient.",
    )
for _name, _which in (("argmax", "greatest"), ("argmin", "smallest")):
    general(
        _name,
        lambda x, dim=None, keepdim=False: x,
        monoid=f"first {_which}",
        gives="count",
        batched="row",
        doc=f"Index of the first {_which} element, or of the first NaN; of the flattened tensor without dim.",
    )

# Elements at an index along a dimension, one for every position of ``index``; and back, where no index comes twice. Orders and
# extrema are this, each with a name for its node; without ``keepdim`` the index has one element along the dimension, which goes.
general(
    "pick",
    lambda x, index, dim, keepdim=True, node="GatherBackward0": x,
    {
        "x": lambda g, index, x_shape, dim, keepdim: scalar.place(
            g if keepdim else scalar.unsqueeze(g, dim), index, dim, size_at(x_shape, dim)
        )
    },
    operands=("x", "index"),
    method=False,
    function=False,
    node=lambda facts: facts["node"],
    saved_as={"indices": "index"},
    doc="Elements at an index along dim.",
)
general(
    "shared_pick",
    lambda x, index, dim, node: x,
    {"x": even_cotangent},
    operands=("x", "index"),
    method=False,
    function=False,
    node=lambda facts: facts["node"],
    public="median",
    doc="Elements at an index along dim, their gradients shared by all that tie.",
)
general(
    "place",
    lambda x, index, dim, size: x,
    {"x": lambda g, index, dim: scalar.pick(g, index, dim)},
    operands=("x", "index"),
    method=False,
    function=False,
    node="ScatterBackward0",
    doc="Zeros with x at an index along dim.",
    aten=".src",
)


def size_at(shape, dim) -> int:
    """The size of a dimension; of the 0-d tensor's one, 1."""
    return shape[dim] if shape else 1


def along(x, dim, keepdim, indices, node: str) -> Extremum:
    """Values and indices of an extremum, from its indices with ``keepdim``."""
    kind = extremum_type(node)
    if keepdim or not x.shape:
        return kind(scalar.pick(x, indices, dim, True, node), indices)
    shape = kept_shape(x.shape, (wrap("max", dim, len(x.shape)),), False)
    return kind(scalar.pick(x, indices, dim, False, node), scalar.view_shape(indices, shape))


def extremum_of(name: str, whole: str, index: str, pairwise: str):
    """``max`` or ``min``: of all elements, along a dimension, or of two tensors."""
    node = name.capitalize() + "Backward0"

    def function(x, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None):
        if axis is not None or keepdims is not None:
            dim, keepdim = numpy_spelling(name, dim, axis, keepdim, keepdims)
        if other is not None:
            if dim is not None or keepdim:
                raise ArgumentError(f"{name}: got dim or keepdim beside other, expected one of them. Hint: {pairwise}(x, other).")
            return getattr(scalar, pairwise)(x, other)
        if dim is None:
            return getattr(scalar, whole)(x, None)
        return along(x, dim, keepdim, getattr(scalar, index)(x, dim, True), node)

    function.__name__ = function.__qualname__ = name
    return function


composite(
    "max",
    extremum_of("max", "amax", "argmax", "maximum"),
    pure=True,
    either="other",
    out=True,
    doc="Greatest element; along dim (values, indices), the gradient to that index; of two tensors, maximum.",
)
composite(
    "min",
    extremum_of("min", "amin", "argmin", "minimum"),
    pure=True,
    either="other",
    out=True,
    doc="Smallest element; along dim (values, indices), the gradient to that index; of two tensors, minimum.",
)


def aminmax(x, *, dim=None, keepdim=False):
    """Smallest and greatest element, over all dimensions or one."""
    dims = () if dim is None else dim
    return Extrema(x.amin(dims, keepdim), x.amax(dims, keepdim))


composite("aminmax", aminmax, out=True, doc=aminmax.__doc__, joint=True)


# ---- orders ----------------------------------------------------------------------------------------------------------

general(
    "argsort",
    lambda x, dim=-1, descending=False, stable=False: x,
    doc="Indices that sort along dim; equal elements keep their order; NaN counts as the greatest number.",
    total=True,
)
general(
    "top_indices",
    lambda x, k, dim, largest: x,
    method=False,
    function=False,
    public="topk",
    doc="Indices of the k greatest elements.",
    total=True,
)


def sort(x, dim=-1, descending=False, stable=False, *, axis=None):
    """``(values, indices)`` sorted along dim; equal elements keep their order; NaN counts as the greatest number."""
    dim = dim if axis is None else axis
    indices = x.argsort(dim, descending, stable)
    return EXTREMUM_OF["sort"](scalar.pick(x, indices, dim, True, "SortBackward0"), indices)


def topk(x, k, dim=-1, largest=True, sorted=True, *, axis=None):
    """``(values, indices)`` of the k greatest (or smallest) elements along dim, in order."""
    dim = dim if axis is None else axis
    indices = scalar.top_indices(x, k, dim, largest)
    return EXTREMUM_OF["topk"](scalar.pick(x, indices, dim, True, "TopkBackward0"), indices)


composite("sort", sort, pure=True, out=True, doc=sort.__doc__)
composite("topk", topk, pure=True, out=True, doc=topk.__doc__)
