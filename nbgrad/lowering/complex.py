"""Lowerings that put complex numbers together from their parts."""

from __future__ import annotations

from ..base.errors import DTypeError
from ..creation.allocation import empty_of
from ..dispatch.lowerings import GeneralPlan, lowering
from ..dispatch.plans import thread_shares
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..kernels.templates.elementwise import elementwise_loop
from ..native.plans import pack_record
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from .placing import Part, place_plan

__all__: list[str] = []


def of_parts(x, y):
    """A complex number."""
    return complex(x, y)


@late
def parts_kernel(part: str, whole: str) -> int:
    """Address of the loop that joins contiguous parts."""
    loop = elementwise_loop((whole,), ((part, False), (part, False)), 0, "")
    return address(Program("complex_of_parts", loop, whole, (("scalar", of_parts),)))


@lowering("complex")
def _complex(op, layouts, attributes):
    real, imag = layouts
    out, parts, seen = parts_of(real, imag)
    if not out.numel:
        return lambda op, tensors, attributes: empty_of(out)
    if real is imag and real.contiguous and real.dtype.itemsize > 2 and not real.neg:
        grain, shared_from = thread_shares(0.08 * out.dtype.itemsize)
        record = pack_record(parts_kernel(real.dtype.name, out.dtype.name), -1, grain, 1, (0, 0), 0, shared_from=shared_from)
        return GeneralPlan(record, (out.template,), layouts)
    plan = place_plan(seen, parts, zero=False)
    plan.outs = (out.template,)
    return plan


def parts_of(real: Layout, imag: Layout) -> tuple[Layout, list[Part], Layout]:
    """The layout of complex numbers, where their parts go, and that layout as one of parts.

    Raises:
        DTypeError: parts of two dtypes, or of one that is not floating.
    """
    dtype = real.dtype
    if imag.dtype is not dtype or not dtype.is_floating_point:
        raise DTypeError(f"complex: expected parts of one floating dtype, got {dtype} and {imag.dtype}.")
    shape = broadcast_shapes("complex", [real.shape, imag.shape])
    out = layout_of(dtype.to_complex(), shape, None, real.device)
    strides = tuple(2 * stride for stride in out.strides)
    parts = [Part(layout, shape, strides, k) for k, layout in enumerate((real, imag))]
    return out, parts, layout_of(out.dtype.to_real(), (*shape, 2), None, real.device)
