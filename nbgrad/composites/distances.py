"""Cross products, distances, cosines, and tensors normalised by their length."""

from __future__ import annotations

from typing import Callable

from ..base.dtypes import promote_types
from ..base.errors import DTypeError, RangeError, ShapeError
from ..dispatch.arguments import require_tensors
from ..lowering.distances import serves
from ..lowering.matrices.at_once import at_once
from ..ops.core import composite
from ..ops.expr import scalar
from ..ops.kinds import explained
from ..ops.shapes import wrap
from ..tensors.layout import broadcast_shapes
from .shapes import broadcast_tensors

__all__: list[str] = []


def cross(input, other, dim=None):
    """The vector product along a dimension of size 3, by default the first such."""
    if dim is None:
        dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
    require_tensors("cross", input, other)
    if dim is None or not (input.ndim and other.ndim) or any(x.shape[wrap("cross", dim, x.ndim)] != 3 for x in (input, other)):
        raise ShapeError(f"cross: {list(input.shape)} and {list(other.shape)} need a dimension of size 3.")
    a, b = (x.roll(-1, dim) for x in (input, other))
    return a * other.roll(-2, dim) - input.roll(-2, dim) * b


def dist(input, other, p=2):
    """The p-norm of the difference."""
    return (input - other).norm(p)


def pairwise_distance(x1, x2, p=2.0, eps=1e-06, keepdim=False):
    """The p-norm of x1 - x2 + eps over the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


MODES = tuple(f"{words}_mm_for_euclid_dist{end}" for words, end in (("use", "_if_necessary"), ("use", ""), ("donot_use", "")))


def cdist(x1, x2, p=2.0, compute_mode=MODES[0]):
    """The p-norm of the difference of every row of x1 and every row of x2. Every ``compute_mode`` of torch's gives the same.

    Raises:
        RangeError: another mode, or a negative p. ShapeError: no matrices of one width.
    """
    if isinstance(p, (int, float)) and p < 0:
        raise RangeError(f"cdist: p is {p}, expected a number >= 0.")
    if compute_mode not in MODES:
        raise RangeError(f"cdist: compute_mode is {compute_mode!r}, expected one of {', '.join(MODES)}.")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"cdist: x1 {list(x1.shape)} and x2 {list(x2.shape)} must be matrices of one width.")
    if isinstance(p, (int, float)) and p == 2 and serves(x1.layout, x2.layout):
        batch = x1.shape[:-2]
        if x2.shape[:-2] != batch:
            batch = broadcast_shapes("cdist", [tuple(batch), tuple(x2.shape[:-2])])
            x1, x2 = (x.expand_shape((*batch, *x.shape[-2:])) for x in (x1, x2))
        return scalar.distances(x1, x2)
    if not x1.shape[-1]:
        p = 1  # rows of no elements are no distance apart, where a maximum of nothing is an error
    return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


def cosine_similarity(x1, x2, dim=1, eps=1e-08):
    """The cosine of the angle between x1 and x2 along dim; lengths are taken to be at least eps."""
    require_tensors("cosine_similarity", x1, x2)
    if x1.dtype is not x2.dtype:
        x1, x2 = (x.to(promote_types(x1.dtype, x2.dtype)) for x in (x1, x2))
    if not x1.dtype.is_floating_point:
        raise DTypeError(f"cosine_similarity: x1 and x2 are {x1.dtype} in common; expected a floating dtype.")
    if x1.shape != x2.shape:
        x1, x2 = broadcast_tensors(x1, x2)
    lengths = (x.norm(2, dim, True).clamp_min(eps) for x in (x1, x2))
    return ((x1 / next(lengths)) * (x2 / next(lengths))).sum(dim)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Divided by its p-norm along dim, which is taken to be at least eps."""
    return input / input.norm(p, dim, True).clamp_min(eps).expand_as(input)


def chain_matmul(*matrices):
    """The product of several matrices, from left to right."""
    product = matrices[0]
    for x in matrices[1:]:
        product = product.matmul(x)
    return product


def cross_launch(input, other, dim=None) -> tuple | None:
    """What ``at_once`` is told of ``cross``: vectors along one of the last two dimensions."""
    if input.ndim < 2 or input.shape != other.shape or input.dtype is not other.dtype:
        return None
    dim = next(d for d, size in enumerate(input.shape) if size == 3) if dim is None else wrap("cross", dim, input.ndim)
    if dim < input.ndim - 2:
        return None
    return "cross", (input, other), {"turned": dim == input.ndim - 1}, lambda out: out[0]


composite("cross", at_once(cross_launch)(explained(cross)), out=True, doc=cross.__doc__)
composite("dist", dist, doc=dist.__doc__)
_function: Callable
for _function in (pairwise_distance, cdist, cosine_similarity, normalize, chain_matmul):
    composite(
        _function.__name__,
        _function,
        method=False,
        out=_function in (normalize, chain_matmul),
        spelling="steps" if _function is chain_matmul else False,
        doc=str(_function.__doc__),
    )
