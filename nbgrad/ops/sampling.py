"""A tensor looked up at places that are computed, which lie between its elements.

NOTE [Sampled grids]: ``grid`` says, for each place of the result, where it is in the last two or three dimensions of ``x``,
between -1 and 1, that of the last dimension first. There a *place* is its coordinate in elements, moved inside by the padding, and
``part`` how far it lies behind the element before it. The result is the sum of the elements around it, those of every choice of one
*tap* in each dimension, times a weight for each dimension: a polynomial of ``part`` (``TAPS``). So the derivative by a dimension of
``grid`` is the same sum with the derivative of that dimension's polynomials, times how many elements a step in ``grid`` is:
``orders`` says how often each dimension is differentiated by, and three operations are closed under differentiation.

"bicubic" moves its taps inside, the others the place. What lies outside is 0, and has no derivative by ``grid``.

Source: Jaderberg et al., "Spatial Transformer Networks", 2015; Keys, "Cubic convolution interpolation", 1981.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import add

from ..base.calls import CALLS
from .core import general
from .expr import scalar

__all__ = ["MODES", "PADDINGS", "TAPS", "derivative", "first_tap", "raised"]

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")  # in torch's order, whose numbers they are

SHARP = -0.75  # Keys' parameter: the derivative of his kernel at 1

# By mode, for every tap, the coefficients of its weight as a polynomial of ``part``, from the constant on.
TAPS: dict[str, tuple[tuple[float, ...], ...]] = {
    "nearest": ((1.0,),),
    "bilinear": ((1.0, -1.0), (0.0, 1.0)),
    "bicubic": (
        (0.0, SHARP, -2 * SHARP, SHARP),
        (1.0, 0.0, -(SHARP + 3), SHARP + 2),
        (0.0, -SHARP, 2 * SHARP + 3, -(SHARP + 2)),
        (0.0, 0.0, SHARP, -SHARP),
    ),
}


def first_tap(mode: str) -> int:
    """Where the first tap is, in elements from the one before a place."""
    return -1 if mode == "bicubic" else 0


@cache
def derivative(mode: str, tap: int, order: int) -> tuple[float, ...]:
    """The coefficients of the weight of a tap, differentiated so often; none of 0."""
    if not order:
        return TAPS[mode][tap]
    return tuple([k * c for k, c in enumerate(derivative(mode, tap, order - 1))][1:])


def raised(mode: str, orders: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Each dimension, with the orders of the derivative by it; without those by which it is 0."""
    degree = len(TAPS[mode][0]) - 1
    return [(d, (*orders[:d], n + 1, *orders[d + 1 :])) for d, n in enumerate(orders) if n < degree]


def over(t, dim: int):
    """What ``t`` has of a dimension of the grid, beside all channels."""
    return CALLS["unsqueeze"](CALLS["select"](t, -1, dim), 1)


def total(terms: list, like):
    """The sum of some tensors, or zeros."""
    return reduce(add, terms) if terms else scalar.fill(like, 0.0)


def slopes_by_given(g, x, grid, g_shape, interpolation, outside, align, orders):
    """The cotangent of the values of ``grid_slopes``."""
    terms = [
        over(g, d) * scalar.grid_sample(x, grid, interpolation, outside, align, more) for d, more in raised(interpolation, orders)
    ]
    return total(terms, scalar.expand_shape(over(g, 0), g_shape))


def slopes_by_x(g, values, grid, x, interpolation, outside, align, orders):
    """The cotangent of its ``x``."""
    sizes = x.layout.shape[2:]
    terms = [
        scalar.grid_spread(values * over(g, d), grid, sizes, interpolation, outside, align, more)
        for d, more in raised(interpolation, orders)
    ]
    return total(terms, x)


def slopes_by_grid(g, values, x, grid, interpolation, outside, align, orders):
    """The cotangent of its ``grid``."""
    terms = [
        scalar.grid_slopes(values * over(g, d), x, grid, interpolation, outside, align, more)
        for d, more in raised(interpolation, orders)
    ]
    return total(terms, grid)


HIDDEN: dict = {"method": False, "function": False, "out": False, "total": True}
HIDDEN |= {"public": "grid_sample", "batched": "more samples"}

general(
    "grid_sample",
    lambda x, grid, interpolation, outside, align, orders: x,
    {
        "x": lambda g, grid, x_shape, interpolation, outside, align, orders: scalar.grid_spread(
            g, grid, x_shape[2:], interpolation, outside, align, orders
        ),
        "grid": lambda g, x, grid, interpolation, outside, align, orders: scalar.grid_slopes(
            g, x, grid, interpolation, outside, align, orders
        ),
    },
    operands=("x", "grid"),
    node=lambda facts: f"GridSampler{len(facts['orders'])}DBackward0",
    saved_as={"input": "x", "interpolation_mode": "interpolation", "padding_mode": "outside", "align_corners": "align"},
    forms={"interpolation": MODES.index, "outside": PADDINGS.index},
    doc="x at the places of grid: NOTE [Sampled grids] of ops/sampling.py.",
    **HIDDEN,
)
general(
    "grid_spread",
    lambda values, grid, sizes, interpolation, outside, align, orders: values,
    {
        "values": lambda g, grid, interpolation, outside, align, orders: scalar.grid_sample(
            g, grid, interpolation, outside, align, orders
        ),
        "grid": lambda g, values, grid, interpolation, outside, align, orders: scalar.grid_slopes(
            values, g, grid, interpolation, outside, align, orders
        ),
    },
    operands=("values", "grid"),
    node=lambda facts: f"GridSampler{len(facts['orders'])}DBackwardBackward0",
    doc="The transpose of grid_sample: what is given at each place added to the elements around it, times their weights.",
    **HIDDEN,
)
general(
    "grid_slopes",
    lambda values, x, grid, interpolation, outside, align, orders: values,
    {
        "values": lambda g, x, grid, values_shape, interpolation, outside, align, orders: slopes_by_given(
            g, x, grid, values_shape, interpolation, outside, align, orders
        ),
        "x": slopes_by_x,
        "grid": slopes_by_grid,
    },
    operands=("values", "x", "grid"),
    node=lambda facts: f"GridSampler{len(facts['orders'])}DBackwardBackward0",
    doc="The products of the values of each place and the derivatives there by each dimension of grid, summed over channels.",
    **HIDDEN,
)
