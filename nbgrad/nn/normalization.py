"""Functions that shift and scale to mean 0 and variance 1 over some dimensions: ``batch_norm``, ``group_norm`` and their like."""

from __future__ import annotations

import math
from collections.abc import Sequence

import nbgrad

from .. import Tensor
from ..base.dtypes import DType
from ..base.errors import DTypeError, RangeError, ShapeError
from ..base.grad_mode import special
from ..modes.autocast import operand
from ..ops.channels import channels_in_steps
from ..ops.expr import scalar
from ..ops.kinds import constant_number
from ..ops.standardise import scaled_in_steps
from ..tensors.memory_format import DIMENSIONS

__all__ = ["batch_norm", "group_norm", "instance_norm", "local_response_norm", "rms_norm"]


CHANNELS_LAST = {ndim: form for form, ndim in DIMENSIONS.items()}


def scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Sequence[int]) -> Tensor:
    """``x * weight + bias``, both seen in a shape that broadcasts."""
    if weight is not None:
        x = x * weight.reshape(tuple(shape))
    return x if bias is None else x + bias.reshape(tuple(shape))


def standardised(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """``x`` with mean 0 and variance 1 over dimensions; the mean and the biased variance, which keep theirs."""
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    variance = (centred * centred).mean(dims, keepdim=True)
    return centred * nbgrad.rsqrt(variance + eps), mean, variance


def widened(x: Tensor) -> Tensor:
    """A tensor of a half type in float32, where its squares neither overflow nor are rounded; any other itself."""
    return x.float() if x.dtype.is_floating_point and x.dtype.itemsize == 2 else x


def as_given(out: Tensor, x: Tensor) -> Tensor:
    """What was computed of a widened ``x``, in its half type."""
    return out.to(x.dtype) if x.dtype.is_floating_point and x.dtype.itemsize == 2 else out


def normal_rows(
    name: str,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    count: int,
    eps: float,
    groups: int | None = None,
    centred: bool = True,
) -> Tensor:
    """The last ``count`` dimensions, or each of their ``groups`` equal parts, with mean 0 and variance 1 (or mean square 1), times
    ``weight`` plus ``bias``: NOTE [Standardised rows] of ops/standardise.py.

    Raises:
        DTypeError: ``x`` is not floating. ShapeError: weight and bias have other shapes than what they are for.
    """
    dtype = x.layout.dtype
    if not dtype.is_floating_point:
        raise DTypeError(f"{name}: expected a floating tensor, got {dtype}. Hint: input.float().")
    if special and name != "instance_norm":
        x = operand(x, cpu="", cuda="single")
        dtype = x.layout.dtype
    if weight is None or not (goes_with(weight, dtype) and (bias is None or goes_with(bias, dtype))):
        return scaled_in_steps(x, weight, bias, count, eps, groups, centred)
    if bias is None:
        return scalar.standardise_weighted(x, weight, count, eps, groups, centred)
    return scalar.standardise_affine(x, weight, bias, count, eps, groups, centred)


def goes_with(weight: Tensor, dtype: DType) -> bool:
    """Whether a weight, or bias, is of the dtype of rows, or of that in which these are computed."""
    own = weight.layout.dtype
    return own is dtype or own is nbgrad.float32 and dtype.itemsize == 2


def channel_shape(x: Tensor) -> tuple[int, ...]:
    """The shape in which one number for each channel broadcasts."""
    return (1, x.shape[1], *(1,) * (x.ndim - 2))


def by_rows_or_channels(x: Tensor) -> Tensor:
    """``x`` in memory row by row, or with the channels innermost: the orders that a result may have, as torch's."""
    if x.layout.contiguous:
        return x
    innermost = CHANNELS_LAST.get(x.ndim)
    return x if innermost is not None and x.is_contiguous(memory_format=innermost) else x.contiguous()


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel shifted and scaled to mean 0 and variance 1 over the batch, or by running statistics.

    Args:
        input: shape ``(batch, channels, *)``.
        running_mean, running_var: shape ``(channels,)``; while training, moved towards the batch's by ``momentum``, in place.
        weight, bias: shape ``(channels,)``; None leaves the step out.
        training: whether the batch's own statistics are used.

    Raises:
        ShapeError: no channels, or a single value for each while training. RangeError: no running statistics while not training.

    Source: Ioffe, Szegedy, "Batch Normalization", 2015.

    >>> import nbgrad
    >>> batch_norm(nbgrad.tensor([[1.0], [3.0]]), None, None, training=True, eps=0.0).tolist()
    [[-1.0], [1.0]]
    """
    if input.ndim < 2:
        raise ShapeError(f"batch_norm: input is {list(input.shape)}, expected (batch, channels, ...).")
    input = by_rows_or_channels(input)
    channels = input.shape[1]
    count = input.numel() // max(channels, 1)
    if training and count == 1:
        raise ShapeError(f"batch_norm: expected more than 1 value per channel when training, got input {list(input.shape)}.")
    if not training and running_mean is not None and running_var is not None:
        shape = channel_shape(input)
        running = (widened(each).reshape(shape) for each in (running_mean, running_var))
        numbers = (start if each is None else each.reshape(shape) for each, start in ((weight, 1.0), (bias, 0.0)))
        return as_given(scalar.scaled_around(widened(input), *running, *numbers, eps), input)
    if not training:
        raise RangeError("batch_norm: no running_mean or running_var, which are needed where training is False.")
    out, moments = normal_channels(input, weight, bias, eps)
    if count:
        ratio = count / (count - 1)
        update(running_mean, moments[0], momentum)
        update(running_var, moments[1], momentum, ratio)
    return out


def normal_channels(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """Each channel with mean 0 and variance 1, times ``weight`` plus ``bias``; and the moments that it had: NOTE [Standardised
    channels] of ops/channels.py.
    """
    dtype, like = x.layout.dtype, widened(x).layout.dtype
    if weight is None:
        weight = nbgrad.ones(x.shape[1], dtype=like, device=x.device)
    if bias is None:
        bias = nbgrad.zeros(x.shape[1], dtype=like, device=x.device)
    if dtype.is_floating_point and goes_with(weight, dtype) and goes_with(bias, dtype):
        return scalar.standardise_channels(x, weight, bias, eps)
    return channels_in_steps(x, weight, bias, eps)


def update(running: Tensor | None, value: Tensor, momentum: float, ratio: float = 1.0) -> None:
    """Move a running statistic towards ``ratio`` times a value, in place."""
    if running is not None:
        momentum = constant_number("batch_norm", "momentum", momentum)
        with nbgrad.no_grad():
            # One write: an error (a batch that vmap hides) leaves the statistic as it was.
            value = value.detach().reshape(running.shape).to(running.dtype)
            running.lerp_(value if ratio == 1.0 else value * ratio, momentum)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample shifted and scaled to mean 0 and variance 1: see ``batch_norm``.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance Normalization", 2016.

    >>> import nbgrad
    >>> instance_norm(nbgrad.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    shape, count = channel_shape(input), math.prod(input.shape[2:])
    if running_mean is None and running_var is None and input.ndim > 2:
        if weight is None and bias is None:
            return normal_rows("instance_norm", input, None, None, input.ndim - 2, eps)
        return normal_rows("instance_norm", input, weight, bias, input.ndim - 1, eps, input.shape[1])
    out, mean, variance = standardised(widened(input), tuple(range(2, input.ndim)), eps)
    update(running_mean, mean.mean(0), momentum)
    update(running_var, variance.mean(0), momentum, count / max(count - 1, 1))
    return as_given(scaled(out, weight, bias, shape), input)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The channels of each sample in groups, each group shifted and scaled to mean 0 and variance 1.

    Args:
        input: shape ``(batch, channels, *)``.
        num_groups: divides the number of channels.
        weight, bias: shape ``(channels,)``; None leaves the step out.

    Raises:
        ShapeError: the channels cannot be divided into so many groups.

    Source: Wu, He, "Group Normalization", 2018.

    >>> import nbgrad
    >>> group_norm(nbgrad.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise ShapeError(f"group_norm: input is {list(input.shape)}, expected channels that {num_groups} groups divide.")
    return normal_rows("group_norm", input, weight, bias, input.ndim - 1, eps, num_groups)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """Divided by the root of the mean square over the trailing dimensions.

    Args:
        input: shape ``(*, *normalized_shape)``.
        weight: shape ``normalized_shape``; None leaves the step out.
        eps: added to the mean square; unless given the epsilon of the dtype, for half types that of float32, in which they are
            computed.

    Raises:
        ShapeError: the shape does not end in ``normalized_shape``.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.

    >>> import nbgrad
    >>> rms_norm(nbgrad.tensor([[3.0, 4.0]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    shape = tuple(normalized_shape)
    layout = input.layout
    if not shape or layout.shape[-len(shape) :] != shape:
        raise ShapeError(f"rms_norm: input is {list(input.shape)}, expected a shape that ends in {list(shape)}.")
    if eps is None:
        eps = nbgrad.finfo(widened(input).dtype).eps
    if layout.dtype.is_complex:
        out = input * nbgrad.rsqrt((input * input).mean(tuple(range(-len(shape), 0)), keepdim=True) + eps)
        return out if weight is None else out * weight
    return normal_rows("rms_norm", input, weight, None, len(shape), eps, None, False)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divided by ``(k + alpha * mean of the squares of size neighbouring channels) ** beta``.

    Args:
        input: shape ``(batch, channels, *)``.
        size: of the neighbourhood; outside of the channels are zeros.

    Raises:
        ShapeError: fewer than three dimensions. RangeError: ``size`` is not positive.

    Source: Krizhevsky et al., "ImageNet Classification with Deep Convolutional Neural Networks", 2012.

    >>> import nbgrad
    >>> local_response_norm(nbgrad.ones(1, 1, 1), 1, alpha=3.0, beta=0.5)
    tensor([[[0.5000]]])
    """
    if input.ndim < 3:
        raise ShapeError(f"local_response_norm: input is {list(input.shape)}, expected (batch, channels, *).")
    if size < 1:
        raise RangeError(f"local_response_norm: size is {size}, expected a positive number.")
    if not input.numel():
        return input
    sides = (0, 0) * (input.ndim - 2)
    squares = nbgrad.pad(input * input, (*sides, size // 2, (size - 1) // 2))
    return input / (squares.unfold(1, size, 1).mean(-1) * alpha + k) ** beta
