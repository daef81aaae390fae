"""``grid_sample`` and ``affine_grid``: a tensor looked up at places that are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import nbgrad

from .. import Tensor
from ..base.errors import DTypeError, RangeError, ShapeError
from ..modes.autocast import casts
from .resampling import SHARP, keys_kernel

__all__ = ["affine_grid", "grid_sample"]


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
    spatial = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and spatial != 2):
        raise RangeError(f"grid_sample: mode is {mode!r}, expected 'bilinear', 'nearest' or, of two directions, 'bicubic'.")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise RangeError(f"grid_sample: padding_mode is {padding_mode!r}, expected 'zeros', 'border' or 'reflection'.")
    if spatial not in (2, 3) or grid.ndim != input.ndim or grid.shape[0] != input.shape[0] or grid.shape[-1] != spatial:
        raise ShapeError(
            f"grid_sample: input is {list(input.shape)}, grid {list(grid.shape)}, expected (n, c, h, w) and (n, ..., 2)."
        )
    if grid.dtype is not input.dtype or not input.dtype.is_floating_point:
        raise DTypeError(f"grid_sample: input is {input.dtype}, grid {grid.dtype}, expected one floating dtype.")
    sizes = tuple(input.shape[2:])
    if min(sizes) <= 0:
        raise ShapeError(f"grid_sample: input is {list(input.shape)}, expected elements.")
    half = input.dtype.itemsize == 2
    x, places = (input.float(), grid.float()) if half else (input, grid)
    align, cubed, taps = bool(align_corners), mode == "bicubic", []
    for size, at in zip(sizes, reversed(places.flatten(1, -2).unbind(-1))):
        at = (at + 1) * ((size - 1) / 2) if align else (at + 1) * (size / 2) - 0.5
        found, weights = taps_at(at if cubed else inside(at, size, padding_mode, align), mode)
        taps.append((inside(found, size, padding_mode, align) if cubed else found, weights))
    elements = picked(x.flatten(2), [found for found, _ in taps], sizes)
    weight = combined([weights for _, weights in taps if weights is not None], lambda above, own: above * own)
    total = (elements if weight is None else elements * weight.transpose(0, 1).unsqueeze(1)).sum(2)
    total = total.reshape((*x.shape[:2], *grid.shape[1:-1]))
    return total.to(input.dtype) if half else total


def inside(at: Tensor, size: int, padding_mode: str, align: bool) -> Tensor:
    """Coordinates as the padding moves them into the range of elements."""
    if padding_mode == "reflection":
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        if span <= 0:
            return at * 0
        away = (at - low).abs()
        flips = (away / span).floor().detach()
        rest = away - flips * span
        at = nbgrad.where(flips % 2 == 0, rest + low, span - rest + low)
    return at if padding_mode == "zeros" else at.clamp(0, size - 1)


def taps_at(at: Tensor, mode: str) -> tuple[Tensor, Tensor | None]:
    """Where a coordinate takes elements from, whole numbers of its dtype, and the weights: shape ``(taps, n, places)``."""
    if mode == "nearest":
        return at.detach().round().unsqueeze(0), None
    low = at.detach().floor()
    part = at - low
    if mode == "bilinear":
        return nbgrad.stack([low, low + 1]), nbgrad.stack([1 - part, part])
    return nbgrad.stack([low - 1, low, low + 1, low + 2]), cubic(nbgrad.stack([part + 1, part, 1 - part, 2 - part]))


def cubic(distance: Tensor) -> Tensor:
    """Keys' kernel at distances below 2."""
    near, far = keys_kernel(distance, SHARP)
    return nbgrad.where(distance <= 1, near, far)


def combined(directions: list[Tensor], combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor | None:
    """What the taps of each direction say, ``(taps, n, places)``, for every choice of one in each; the last changes first."""
    total = None
    for own in directions:
        total = own if total is None else combine(total.unsqueeze(1), own).flatten(0, 1)
    return total


def picked(table: Tensor, taps: list[Tensor], sizes: tuple[int, ...]) -> Tensor:
    """Elements of ``(n, c, elements)`` at all choices of taps, ``(n, c, taps, places)``; 0 where one is outside.

    All are looked up by one call, so that backward is one, too.
    """
    wholes, within = [], []
    for at, size in zip(taps, sizes):
        within.append(at.clamp(0, size - 1) == at)
        wholes.append(nbgrad.where(within[-1], at, 0.0).to(nbgrad.int64))
    beyond = iter(sizes[1:])
    index = combined(wholes, lambda above, own: above * next(beyond) + own)
    known = combined(within, lambda above, own: above & own)
    assert index is not None and known is not None
    count, samples, places = index.shape
    flat = index.transpose(0, 1).reshape((samples, 1, count * places))
    found = table.gather(2, flat.expand(samples, table.shape[1], count * places))
    return nbgrad.where(known.transpose(0, 1).unsqueeze(1), found.reshape((*table.shape[:2], count, places)), 0.0)
