"""Complex numbers from their parts."""
from __future__ import annotations

from ..creation import empty_of
from ..dispatch import CALLS
from ..errors import DTypeError
from ..layout import broadcast_shapes, layout_of
from ..rules import lowering

__all__: list[str] = []


@lowering("complex", style="run")
def _complex(op, tensors, attributes):
    real, imag = tensors
    dtype = real.layout.dtype
    if imag.layout.dtype is not dtype or not dtype.is_floating_point:
        raise DTypeError(f"complex: expected parts of one floating dtype, got {dtype} and {imag.layout.dtype}.")
    shape = broadcast_shapes("complex", [real.layout.shape, imag.layout.shape])
    out = empty_of(layout_of(dtype.to_complex(), shape, None, real.layout.device))
    CALLS["copy_"](CALLS["real_view"](out), real)
    CALLS["copy_"](CALLS["imag_view"](out), imag)
    return out
