"""Choices between operands: where, extrema of two, clamps, steps."""

from __future__ import annotations

from ..core import elementwise, undifferentiable
from ..expr import scalar

where = scalar.where


elementwise(
    "where",
    lambda condition, x, y: where(condition, x, y),
    {"x": lambda condition: where(condition, 1, 0), "y": lambda condition: where(condition, 0, 1)},
    boolean=("condition",),
    old_masks=True,
    complex=True,
    method=False,
    inplace=False,
    cheap=True,
    rounds=False,
    of_numbers=lambda condition, x, y: x if condition else y,
    doc="x where condition is true, else y.",
    aten=".self",
)
elementwise(
    "maximum",
    lambda x, y: scalar.maximum(x, y),
    {"x": lambda x, y: where(x == y, 0.5, where(x < y, 0, 1)), "y": lambda x, y: where(x == y, 0.5, where(x > y, 0, 1))},
    inplace=False,
    cheap=True,
    rounds=False,
    doc="The larger one; NaN if one is. Ties share the gradient.",
)
elementwise(
    "minimum",
    lambda x, y: scalar.minimum(x, y),
    {"x": lambda x, y: where(x == y, 0.5, where(x > y, 0, 1)), "y": lambda x, y: where(x == y, 0.5, where(x < y, 0, 1))},
    inplace=False,
    cheap=True,
    rounds=False,
    doc="The smaller one; NaN if one is. Ties share the gradient.",
)
elementwise(
    "fmax",
    lambda x, y: where(scalar.isnan(y), x, where(scalar.isnan(x), y, scalar.maximum(x, y))),
    {"x": lambda x, y: where((x >= y) | scalar.isnan(y), 1, 0), "y": lambda x, y: where((x >= y) | scalar.isnan(y), 0, 1)},
    inplace=False,
    doc="The larger one; the number if the other is NaN. Ties go to x.",
)
elementwise(
    "fmin",
    lambda x, y: where(scalar.isnan(y), x, where(scalar.isnan(x), y, scalar.minimum(x, y))),
    {"x": lambda x, y: where((x <= y) | scalar.isnan(y), 1, 0), "y": lambda x, y: where((x <= y) | scalar.isnan(y), 0, 1)},
    inplace=False,
    doc="The smaller one; the number if the other is NaN. Ties go to x.",
)
elementwise(
    "clamp_both",
    lambda x, min, max: scalar.minimum(scalar.maximum(x, min), max),
    {
        "x": lambda x, min, max: where((x >= min) & (x <= max), 1, 0),
        "min": lambda x, min, max: where((min < max) & (x < min), 1, 0),
        "max": lambda x, min, max: where((x > max) | (max < min), 1, 0),
    },
    method=False,
    function=False,
    node="ClampBackward1",
    public="clamp",
    bounds=("min", "max"),
    nodes={(False, False, False): "ClampBackward0"},
    doc="x moved into [min, max].",
)
elementwise(
    "clamp_min",
    lambda x, min: scalar.maximum(x, min),
    {"x": lambda x, min: where(x >= min, 1, 0), "min": lambda x, min: where(x < min, 1, 0)},
    node="ClampBackward1",
    shows={"max": None},
    doc="x, but at least min.",
)
elementwise(
    "clamp_max",
    lambda x, max: scalar.minimum(x, max),
    {"x": lambda x, max: where(x <= max, 1, 0), "max": lambda x, max: where(x > max, 1, 0)},
    node="ClampBackward1",
    shows={"min": None},
    doc="x, but at most max.",
)
elementwise(
    "heaviside",
    lambda x, values: where(x == 0, values, where(scalar.isnan(x), x, where(x > 0, 1, 0))),
    {"x": undifferentiable, "values": undifferentiable},
    doc="0 below 0, 1 above, values at 0. It has no derivative.",
)
# 1e-7 as torch: it keeps the new norm from being rounded above the greatest.
elementwise(
    "renorm_factor",
    lambda x, maxnorm: where(x > maxnorm, maxnorm / (x + 1e-7), 1.0),
    {"x": lambda x, maxnorm: where(x > maxnorm, -maxnorm / (x + 1e-7) / (x + 1e-7), 0)},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    public="renorm",
    doc="By what a length is scaled to maxnorm; 1 below it.",
)
