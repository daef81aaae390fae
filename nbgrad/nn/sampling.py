"""``grid_sample`` and ``affine_grid``: a tensor looked up at places that are computed."""

from __future__ import annotations

from collections.abc import Sequence

import nbgrad

from .. import Tensor
from ..base.calls import CALLS
from ..base.errors import DTypeError, ShapeError
from ..modes.autocast import casts

__all__ = ["affine_grid", "grid_sample"]

# How often each dimension is differentiated by, by how many an input has: never. Of no input that is taken none.
NEVER = {4: (0, 0), 5: (0, 0, 0)}


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that an affine map takes those of a grid to, between -1 and 1 in each direction.

    Args:
        theta: shape ``(n, 2, 3)`` or ``(n, 3, 4)``, floating.
        size: of what will be sampled, ``(n, c, h, w)`` or ``(n, c, d, h, w)``.
        align_corners: whether -1 and 1 are the centres of the corners' elements rather than their edges (False).

    Returns:
        Tensor of shape ``(n, h, w, 2)`` or ``(n, d, h, w, 3)``, x first: what ``grid_sample`` takes.

    Raises:
        ShapeError: sizes do not go together. DTypeError: theta is not floating.

    Source: Jaderberg et al., "Spatial Transformer Networks", 2015.

    >>> import nbgrad
    >>> affine_grid(nbgrad.tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    size = tuple(size)
    spatial = len(size) - 2
    if not theta.dtype.is_floating_point:
        raise DTypeError(f"affine_grid: theta is {theta.dtype}, expected a floating dtype.")
    if spatial not in (2, 3) or tuple(theta.shape) != (size[0], spatial, spatial + 1) or min(size) <= 0:
        raise ShapeError(
            f"affine_grid: theta is {list(theta.shape)}, size {list(size)}, expected (n, 2, 3) and (n, c, h, w), "
            "or (n, 3, 4) and (n, c, d, h, w)."
        )
    axes = []
    for n in size[2:]:
        ends = 1.0 if align_corners else (n - 1) / n
        axes.append(nbgrad.linspace(-ends, ends, n, dtype=theta.dtype, device=theta.device) if n > 1 else theta.new_zeros((1,)))
    places = [*reversed(nbgrad.meshgrid(*axes, indexing="ij"))]
    base = nbgrad.stack([*places, nbgrad.ones_like(places[0])], -1).reshape((-1, spatial + 1))
    return (base @ theta.mT).reshape((size[0], *size[2:], spatial))


@casts(cpu="single", cuda="widest")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """``input`` at the places that ``grid`` says, between -1 and 1 in each direction.

    Args:
        input: shape ``(n, c, h, w)`` or ``(n, c, d, h, w)``, floating.
        grid: shape ``(n, *out, 2)`` or ``(n, *out, 3)``, x first, of the same dtype.
        mode: "bilinear" (of three directions, too), "nearest", or of two directions "bicubic".
        padding_mode: what is outside: "zeros", "border" (the nearest element) or "reflection".
        align_corners: whether -1 and 1 are the centres of the corners' elements rather than their edges (False).

    Returns:
        Tensor of shape ``(n, c, *out)``; differentiable by ``input`` and, but for "nearest", by ``grid``.

    Raises:
        ShapeError: sizes do not go together. RangeError: an unknown mode. DTypeError: dtypes differ.

    Source: Jaderberg et al., "Spatial Transformer Networks", 2015.

    >>> import nbgrad
    >>> x = nbgrad.tensor([[[[0.0, 2.0]]]])
    >>> grid_sample(x, nbgrad.tensor([[[[0.0, 0.0], [0.5, 0.0]]]]), align_corners=True).tolist()
    [[[[1.0, 1.5]]]]
    """
    return CALLS["grid_sample"](input, grid, mode, padding_mode, bool(align_corners), NEVER.get(input.ndim, ()))
