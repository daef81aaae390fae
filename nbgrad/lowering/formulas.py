"""Operations of one formula that compute in another dtype than their operands': ``nextafter``, incomplete gamma functions."""

from __future__ import annotations

import numpy as np

from ..base.dtypes import float64, int32
from ..dispatch.formulas import Formula
from ..dispatch.lowerings import GeneralPlan, lowering, result_of
from ..dispatch.plans import elementwise_plan
from ..ops.expr import operation, symbol
from ..tensors.arrays import tensor_of, values_of
from ..tensors.layout import broadcast_shapes, layout_of

__all__: list[str] = []


ADJACENT = Formula("adjacent", (("x", False), ("y", False)), (operation("nextafter", symbol("x"), symbol("y")),))
BINARY_EXPONENT = Formula("binary_exponent", (("x", False),), (operation("binary_exponent", symbol("x")),))


@result_of("adjacent")
def adjacent_layout(op, layouts, attributes):
    """The layout of the result."""
    return layouts[0].like(shape=broadcast_shapes("nextafter", [x.shape for x in layouts]))


@lowering("adjacent")
def _adjacent(op, layouts, attributes):
    x, y = layouts
    if x.dtype.itemsize == 2:  # what kernels compute half types in has other neighbours
        return lambda op, tensors, attributes: tensor_of(np.nextafter(*map(values_of, tensors)), tensors[0], x.dtype)
    out = adjacent_layout(op, layouts, attributes)
    return elementwise_plan(ADJACENT, x.dtype, layouts, (out,), plan_type=GeneralPlan)


@lowering("binary_exponent")
def _binary_exponent(op, layouts, attributes):
    (x,) = layouts
    return elementwise_plan(BINARY_EXPONENT, x.dtype, layouts, (layout_of(int32, x.shape, None, x.device),), plan_type=GeneralPlan)


def incomplete_gamma(name: str, function: str) -> None:
    """Register the lowering of ``name`` by a scalar function: in double precision, whatever the operands are."""
    formula = Formula(name, (("x", False), ("y", False)), (operation(function, symbol("x"), symbol("y")),))

    @lowering(f"{name}_pair")
    def _incomplete_gamma(op, layouts, attributes):
        out = layout_of(layouts[0].dtype, broadcast_shapes(name, [layout.shape for layout in layouts]), None, layouts[0].device)
        return elementwise_plan(formula, float64, layouts, (out,), plan_type=GeneralPlan)


incomplete_gamma("igamma", "lower_gamma")
incomplete_gamma("igammac", "upper_gamma")
