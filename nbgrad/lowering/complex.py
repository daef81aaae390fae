"""Complex numbers from their parts."""
from __future__ import annotations

from ..creation import empty_of
from ..errors import DTypeError
from ..layout import broadcast_shapes, layout_of
from ..rules import lowering
from .join import Part, place_plan

__all__: list[str] = []


@lowering("complex")
def _complex(op, layouts, attributes):
    real, imag = layouts
    dtype = real.dtype
    if imag.dtype is not dtype or not dtype.is_floating_point:
        raise DTypeError(f"complex: expected parts of one floating dtype, got {dtype} and {imag.dtype}.")
    shape = broadcast_shapes("complex", [real.shape, imag.shape])
    out = layout_of(dtype.to_complex(), shape, None, real.device)
    if not out.numel:
        return lambda op, tensors, attributes: empty_of(out)
    strides = tuple(2 * stride for stride in out.strides)
    parts = [Part(layout, shape, strides, k) for k, layout in enumerate(layouts)]
    plan = place_plan(layout_of(out.dtype.to_real(), (*shape, 2), None, real.device), parts, zero=False)
    plan.outs = (out.template,)
    return plan
