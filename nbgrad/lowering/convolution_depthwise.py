"""Convolutions of which every channel has a kernel of its own, a small one: ``templates/convolve_depthwise``; CPU."""

from __future__ import annotations

import math

from ..dispatch.lowerings import GeneralPlan
from ..kernels.cpu.build import Program, address
from ..kernels.late import late
from ..native.plans import PARALLEL, pack_record
from ..tensors.layout import Layout
from .convolution_sizes import LARGE, Geometry, in_three

__all__ = ["depthwise_plan", "is_depthwise"]

# Rows and columns that a kernel may have: its numbers, and the sums of them, are in registers.
KERNELS, MOST_TAPS = (1, 3, 5), 9


@late
def kernel(which: str, dtype: str, *literals: int) -> int:
    """The address of one of the kernels."""
    from ..kernels.templates.convolve_depthwise import depthwise_kernel  # not by an import

    return address(Program(f"{which}_by_channels", depthwise_kernel(which, dtype, *literals), dtype, apart=True))


def is_depthwise(geometry: Geometry) -> bool:
    """Whether there is a kernel for it: of at most two dimensions, without dilation, with a stride of 1 or 2."""
    from ..kernels.cpu.emit import widest_vectors  # not by an import

    return (
        geometry.channels == geometry.heads == 1
        and len(geometry.long) < 3
        and all(each in KERNELS for each in geometry.kernel)
        and math.prod(geometry.kernel) <= MOST_TAPS
        and set(geometry.dilation) == {1}
        and geometry.stride in ((1,), (2,), (1, 1), (2, 2))
        and widest_vectors() != "DEFAULT"
    )


def depthwise_plan(which: str, geometry: Geometry, layouts: tuple[Layout, ...], shape: tuple[int, ...]) -> GeneralPlan:
    """The launch."""
    long, short = in_three(geometry.long, 1)[1:], in_three(geometry.short, 1)[1:]
    rows, columns = in_three(geometry.kernel, 1)[1:]
    padding, stride = in_three(geometry.padding, 0)[1:], geometry.stride[-1]
    words = [geometry.groups, geometry.batch, *long, *short, *padding, int(len(layouts) > 2)]
    units = geometry.groups if which == "convolve_weight" else geometry.groups * geometry.batch
    code = kernel(which, layouts[0].dtype.name, rows, columns, stride, padding[1] % stride)
    record = pack_record(code, units, 1, 1, (0,) * len(layouts), PARALLEL if geometry.work >= LARGE else 0, words)
    return GeneralPlan(record, (layouts[0].like(shape=shape).template,), layouts)
