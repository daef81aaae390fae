"""Convolutions over any number of dimensions: an operation, its transpose, and the product that both have in common.

NOTE [Convolutions]: all is one sum with three factors, ``x[n, c, s t + d k - p] w[o, c, k] y[n, o, t]``. Each operation has two of
them as operands and gives what the third is multiplied by: ``conv`` takes x and w and gives what y has (``transposed``: y and w,
and gives what x has), ``conv_weight`` takes x and y. So the cotangents of each are the other two, and every order, forward mode and
batches follow. x has its channels in ``groups``, w and y theirs; sizes of strides say how many dimensions there are.
"""

from __future__ import annotations

from operator import index, sub
from typing import Callable

from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import converted_in_modes, special
from .core import composite, general
from .expr import scalar
from .reduce import conjugate

__all__ = ["check_word", "extent", "in_pairs", "one_by_one", "reached", "sizes_of"]


def extent(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a kernel has along a dimension."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def reached(count: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """The least size of a dimension in which a kernel has so many places."""
    return (count - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1


def left_over(long, short, kernel, stride, padding, dilation):
    """How much longer each dimension is than the places of the kernel need: what a transposed convolution has to add."""
    return tuple(map(sub, long, map(reached, short, kernel, stride, padding, dilation)))


def shortened(g, shape):
    """The leading part of spatial dimensions that a cotangent belongs to; the rest meets nothing."""
    for dim in range(2, len(shape)):
        if g.layout.shape[dim] != shape[dim]:
            g = g.slice(dim, 0, shape[dim], 1)
    return g


def of_input(g, weight, x_shape, weight_shape, stride, padding, dilation, transposed, groups):
    """The cotangent of what is convolved: the transpose of the same convolution."""
    weight, none = conjugate(weight), (0,) * len(stride)
    if transposed:
        return shortened(scalar.conv(g, weight, stride, padding, dilation, False, none, groups), x_shape)
    rest = left_over(x_shape[2:], g.layout.shape[2:], weight_shape[2:], stride, padding, dilation)
    return scalar.conv(g, weight, stride, padding, dilation, True, rest, groups)


def of_weight(g, x, weight_shape, stride, padding, dilation, transposed, groups):
    """The cotangent of the weight."""
    x = conjugate(x)
    long, short = (g, x) if transposed else (x, g)
    return scalar.conv_weight(long, short, weight_shape[2:], stride, padding, dilation, groups)


def of_bias(g):
    """The cotangent of a bias: the sum over all but the channels."""
    return g.sum((0, *range(2, len(g.layout.shape))))


def of_long(g, y, x_shape, y_shape, kernel, stride, padding, dilation, groups):
    """The cotangent of the first operand of ``conv_weight``."""
    rest = left_over(x_shape[2:], y_shape[2:], kernel, stride, padding, dilation)
    return scalar.conv(conjugate(y), g, stride, padding, dilation, True, rest, groups)


def of_short(g, x, y_shape, stride, padding, dilation, groups):
    """The cotangent of the second operand of ``conv_weight``."""
    none = (0,) * len(stride)
    return shortened(scalar.conv(conjugate(x), g, stride, padding, dilation, False, none, groups), y_shape)


COTANGENTS: dict[str, Callable] = {"x": of_input, "weight": of_weight}
COMMON: dict = {
    "method": False,
    "function": False,
    "out": False,
    "node": "ConvolutionBackward0",
    "public": "convolution",
    "batched": "convolution",
    "total": True,
}
general(
    "conv",
    lambda x, weight, stride, padding, dilation, transposed, output_padding, groups: x,
    COTANGENTS,
    operands=("x", "weight"),
    **COMMON,
    doc="A convolution of ``(batch, channels, *)``, or its transpose.",
)
general(
    "conv_bias",
    lambda x, weight, bias, stride, padding, dilation, transposed, output_padding, groups: x,
    {**COTANGENTS, "bias": of_bias},
    operands=("x", "weight", "bias"),
    **COMMON,
    doc="A convolution, or its transpose, and a bias for every channel.",
)
general(
    "conv_weight",
    lambda x, y, kernel, stride, padding, dilation, groups: x,
    {"x": of_long, "y": of_short},
    operands=("x", "y"),
    **COMMON,
    doc="What a weight is multiplied by: products of ``x`` and ``y`` at every distance that a kernel of that size has.",
    aten="convolution_backward",
)


# ---- as they are called ----------------------------------------------------------------------------------------------


def one_by_one(name: str, argument: str, value, count: int, least: int) -> tuple[int, ...]:
    """An int, or one for each dimension.

    Raises:
        ArgumentError: neither. RangeError: not so many, or one is below ``least``.
    """
    if type(value) is int and value >= least:
        return (value,) * count
    try:
        given = tuple(map(index, value)) if isinstance(value, (tuple, list)) else (index(value),)
    except TypeError:
        raise ArgumentError(f"{name}: {argument} is {value!r}, expected an int, or {count} of them.") from None
    if len(given) == 1:
        given *= count
    if len(given) != count:
        raise RangeError(f"{name}: {argument} is {value!r}, expected an int, or {count} of them.")
    if min(given) < least:
        raise RangeError(f"{name}: {argument} is {value!r}, expected at least {least}.")
    return given


def shape_of(name: str, what: str, x) -> tuple[int, ...]:
    """The shape of an operand.

    Raises:
        ArgumentError: no tensor.
    """
    try:
        return tuple(x.layout.shape)
    except AttributeError:
        raise ArgumentError(f"{name}: {what} is {type(x).__name__}, expected a Tensor.") from None


def sizes_of(name: str, x, count: int) -> tuple[int, ...]:
    """The shape of an input of so many dimensions behind its channels, with a batch or without.

    Raises:
        ArgumentError: no tensor. ShapeError: another number of dimensions.
    """
    shape = shape_of(name, "input", x)
    if len(shape) not in (count + 1, count + 2):
        raise ShapeError(
            f"{name}: input is {list(shape)}, expected {count + 2} dimensions (batch, channels, ...), "
            f"or {count + 1} without a batch."
        )
    return shape


def check_weight(name: str, x, weight, bias, count: int, groups: int, transposed: bool) -> None:
    """The operands go together.

    Raises:
        ShapeError, RangeError, DTypeError: they do not.
    """
    shape, own = shape_of(name, "weight", weight), x.layout.shape
    if len(shape) != count + 2:
        raise ShapeError(f"{name}: weight is {list(shape)}, expected {count + 2} dimensions.")
    if type(groups) is not int or groups < 1:
        raise RangeError(f"{name}: groups is {groups!r}, expected an int of at least 1.")
    if shape[0] % groups or own[1] % groups:
        which, channels = ("input", own[1]) if own[1] % groups else ("weight", shape[0])
        raise ShapeError(f"{name}: groups = {groups} does not divide the {channels} channels of {which}.")
    expected = shape[0] if transposed else shape[1] * groups
    if own[1] != expected:
        raise ShapeError(
            f"{name}: input is {list(own)} and weight {list(shape)} with groups = {groups}: "
            f"expected {expected} channels, got {own[1]}."
        )
    if 0 in shape[2:]:
        raise ShapeError(f"{name}: weight is {list(shape)}, expected a kernel with elements.")
    channels = shape[1] * groups if transposed else shape[0]
    for what, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.layout.dtype is not x.layout.dtype:
            raise DTypeError(
                f"{name}: input is {x.layout.dtype.name}, {what} is {each.layout.dtype.name}, expected one dtype. "
                f"Hint: {what}.to(input.dtype)."
            )
    if bias is not None and shape_of(name, "bias", bias) != (channels,):
        raise ShapeError(f"{name}: bias is {list(bias.shape)}, expected [{channels}].")


def convolved(name: str, count: int, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution of so many dimensions, or its transpose, of checked arguments."""
    batched = len(sizes_of(name, x, count)) == count + 2
    x = x if batched else x.unsqueeze(0)
    if special:
        x, weight, bias = converted_in_modes("conv", x, weight, bias)
    check_weight(name, x, weight, bias, count, groups, transposed)
    stride, dilation = (one_by_one(name, what, value, count, 1) for what, value in (("stride", stride), ("dilation", dilation)))
    own, kernel = x.layout.shape[2:], weight.layout.shape[2:]
    if isinstance(padding, str) and not transposed:  # numbers are asked for below
        x, padding = by_word(name, padding, x, kernel, stride, dilation)
        own = x.layout.shape[2:]
    padding = one_by_one(name, "padding", padding, count, 0)
    more = one_by_one(name, "output_padding", output_padding, count, 0)
    if transposed:
        check_transposed(name, own, kernel, stride, padding, dilation, more)
    else:
        for dim, (size, k, p, d) in enumerate(zip(own, kernel, padding, dilation)):
            if size + 2 * p < d * (k - 1) + 1:
                raise ShapeError(
                    f"{name}: dimension {dim + 2} of the input has {size} elements and padding {p} on both sides, the kernel "
                    f"needs {d * (k - 1) + 1}. Hint: a larger padding, or a smaller kernel."
                )
    settings = stride, padding, dilation, transposed, more, groups
    out = scalar.conv(x, weight, *settings) if bias is None else scalar.conv_bias(x, weight, bias, *settings)
    return out if batched else out.squeeze_dim(0)


def check_word(name: str, padding: str, stride: tuple[int, ...]) -> None:
    """A padding that is a word.

    Raises:
        RangeError: another word than "same" and "valid"; "same" with a stride.
    """
    if padding not in ("same", "valid"):
        raise RangeError(f"{name}: padding is {padding!r}, expected numbers, 'valid' or 'same'.")
    if padding == "same" and max(stride) > 1:
        raise RangeError(f"{name}: padding 'same' with stride {stride}, expected a stride of 1.")


def in_pairs(padding: tuple[int, ...]) -> tuple[int, ...]:
    """What ``pad`` takes, of the same padding on both sides."""
    return tuple([p for each in reversed(padding) for p in (each, each)])


def by_word(name: str, padding: str, x, kernel, stride, dilation):
    """The input, padded where two sides differ, and the padding that ``"same"`` or ``"valid"`` is.

    Raises:
        RangeError: another word; "same" with a stride.
    """
    check_word(name, padding, stride)
    if padding == "valid":
        return x, 0
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(each % 2 for each in total):
        x = x.zero_pad(tuple(side for each in reversed(total) for side in (0, each % 2)))
    return x, tuple(each // 2 for each in total)


def check_transposed(name: str, own, kernel, stride, padding, dilation, more) -> None:
    """The size of a transposed convolution.

    Raises:
        RangeError: more is added than a stride or a dilation. ShapeError: nothing would be left.
    """
    for size, k, s, p, d, rest in zip(own, kernel, stride, padding, dilation, more):
        if rest >= max(s, d):
            raise RangeError(f"{name}: output_padding is {more}, expected less than stride {stride} or dilation {dilation}.")
        length = reached(size, k, s, p, d) + rest
        if length < 1:
            raise ShapeError(f"{name}: input {list(own)} with padding {padding} would give a size of {length}.")


ARGUMENTS = """

    Args:
        input: ``(batch, in_channels, {sizes})``, or without the batch.
        weight: ``({weight}, {kernel})``.
        bias: ``(out_channels,)``, or None.
        stride{more}, dilation: an int, or one for each of the {count} dimensions.
        padding: likewise: zeros on both sides{words}.
        groups: input and output channels are divided into so many, which see one another only.

    Returns:
        ``(batch, out_channels, {result})``, of the dtype of ``input``; each size is ``{formula}``.

    Raises:
        ShapeError: channels, groups and sizes that do not go together. RangeError: numbers that are too small, or another word.
        DTypeError: operands of different dtypes.

    Source: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016.
    """
LETTERS = {1: ("L",), 2: ("H", "W"), 3: ("D", "H", "W")}


def documented(function, count: int, transposed: bool):
    """The function with what its arguments are, in its docstring."""
    letters = LETTERS[count]
    function.__doc__ = (function.__doc__ or "") + ARGUMENTS.format(
        sizes=", ".join(letters),
        kernel=", ".join("k" + letter for letter in letters),
        result=", ".join(letter + "'" for letter in letters),
        weight="in_channels, out_channels / groups" if transposed else "out_channels, in_channels / groups",
        more=", output_padding" if transposed else "",
        words="" if transposed else '; or "valid" (none), "same" (a stride of 1 keeps the sizes)',
        count=count,
        formula="(L - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1"
        if transposed
        else "(L + 2 padding - dilation (k - 1) - 1) // stride + 1",
    )
    return function


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A convolution along one dimension: products of the kernel with what lies beside it, at every place."""
    return convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, False, 0, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A convolution over two dimensions."""
    return convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, False, 0, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A convolution over three dimensions."""
    return convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, False, 0, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of ``conv1d``: the kernel, times each element, added up where it would have read them."""
    return convolved("conv_transpose1d", 1, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of ``conv2d``."""
    return convolved("conv_transpose2d", 2, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of ``conv3d``."""
    return convolved("conv_transpose3d", 3, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """``conv1d``, ``conv2d`` or ``conv3d``, or the transpose of one, by the number of dimensions; all arguments are given.

    Args:
        input, weight, bias, stride, padding, dilation, groups: as of these.
        transposed: whether it is the transpose, which alone has an ``output_padding``.
        output_padding: as of that.

    Returns:
        What they return, of the dtype of ``input``.

    Raises:
        ShapeError, RangeError, DTypeError: as they do.
    """
    count = max(len(shape_of("convolution", "weight", weight)) - 2, 1)
    transposed = bool(transposed)
    return convolved("convolution", count, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


for _count, _pair in enumerate(((conv1d, conv_transpose1d), (conv2d, conv_transpose2d), (conv3d, conv_transpose3d)), 1):
    for _function in _pair:
        documented(_function, _count, _function is _pair[1])
        composite(_function.__name__, _function, method=False, doc=str(_function.__doc__))
composite("convolution", convolution, method=False, doc=convolution.__doc__)
