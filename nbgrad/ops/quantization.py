"""Fake quantisation: numbers are rounded to what a quantised type would hold, and stay floats; gradients pass as if they were not.

There are no quantised types. These functions train models that are to be quantised elsewhere.
"""

from __future__ import annotations

from ..base.errors import DTypeError, RangeError, ShapeError
from .core import composite, elementwise
from .expr import scalar
from .shapes import wrap

__all__: list[str] = []

where = scalar.where


def inside(x, scale, low, high):
    """1 where the multiple is one that there is, else 0: the factor of a cotangent, which is meant to ignore the rounding."""
    multiple = scalar.round(x * (1 / scale))
    return where((multiple >= low) & (multiple <= high), 1, 0)


elementwise(
    "fake_quantize",
    lambda x, scale, low, high: scalar.minimum(scalar.maximum(scalar.round(x * (1 / scale)), low), high) * scale,
    {"x": inside},
    policy="floating",
    method=False,
    function=False,
    inplace=False,
    out=False,
    node="FakeQuantizePerTensorAffineCachemaskBackward0",
    public="fake_quantize_per_tensor_affine",
    doc="x rounded to the next multiple of a scale, from the lowest to the highest.",
)


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``, with the gradient of a clamp.

    Args:
        input: of a floating dtype.
        scale, zero_point: numbers, or tensors of one element, by which there is no derivative.
        quant_min, quant_max: the first and the last level, as -128 and 127.

    Returns:
        Tensor of the shape and dtype of ``input``; NaN stays NaN.

    Raises:
        RangeError: no levels, or a zero point beside them. DTypeError: of another dtype.
    """
    check_levels("fake_quantize_per_tensor_affine", input, zero_point, quant_min, quant_max)
    return rounded(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each element along a dimension, as vectors.

    Raises:
        ShapeError: vectors of another length. RangeError, DTypeError, DimError: as there; no such dimension.
    """
    name = "fake_quantize_per_channel_affine"
    check_levels(name, input, None, quant_min, quant_max)
    axis = wrap(name, axis, input.ndim)
    size = input.shape[axis]
    if tuple(scale.shape) != (size,) or tuple(zero_point.shape) != (size,):
        raise ShapeError(
            f"{name}: scale is {list(scale.shape)}, zero_point {list(zero_point.shape)}, expected [{size}]: "
            f"input is {list(input.shape)}, axis {axis}."
        )
    shape = [size if d == axis else 1 for d in range(input.ndim)]
    return rounded(input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def check_levels(name: str, input, zero_point, quant_min, quant_max) -> None:
    """Refuse what has no levels.

    Raises:
        RangeError, DTypeError: see ``fake_quantize_per_tensor_affine``.
    """
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{name}: input is {input.dtype}, expected a floating dtype. Hint: input.float().")
    if quant_min > quant_max:
        raise RangeError(f"{name}: quant_min is {quant_min}, quant_max {quant_max}; expected at least one level.")
    if isinstance(zero_point, (int, float)) and not quant_min <= zero_point <= quant_max:
        raise RangeError(f"{name}: zero_point is {zero_point}, expected a level from {quant_min} to {quant_max}.")


def rounded(input, scale, zero_point, quant_min, quant_max):
    """The operation, by multiples of the scale; half types are computed in single precision, in which torch has scales."""
    x = input.float() if input.dtype.itemsize < 4 else input
    scale, zero_point = (each.to(x.dtype) if hasattr(each, "layout") else each for each in (scale, zero_point))
    out = scalar.fake_quantize(x, scale, quant_min - zero_point, quant_max - zero_point)
    return out if out.dtype is input.dtype else out.to(input.dtype)


for _function in (fake_quantize_per_tensor_affine, fake_quantize_per_channel_affine):
    composite(_function.__name__, _function, method=False, doc=str(_function.__doc__))
