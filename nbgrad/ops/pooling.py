"""Pools: the greatest number, or the mean, of every window of the last dimensions.

NOTE [Windows]: pools work on the last dimensions, as many as ``size`` has numbers, which is how many windows there are along each.
``kernel``, ``stride``, ``padding`` and ``dilation`` say where these lie; without them (``()``) they are *adaptive*: the i-th of n
windows of a dimension reaches from ``floor(i size / n)`` to ``ceil((i + 1) size / n)``. What is padded belongs to no window.

``max_pool_spread`` gives each cotangent to the element that was the greatest of its window, and ``max_pool_pick`` reads another
tensor there: each is the other's transpose, and is constant in the tensor in which the greatest are looked for.
"""

from __future__ import annotations

from functools import lru_cache
from operator import index

from ..base.errors import ArgumentError, RangeError, ShapeError
from .convolution import extent, one_by_one, sizes_of
from .core import composite, general
from .expr import scalar

__all__ = ["pooled_size"]

HIDDEN: dict = {"method": False, "function": False, "out": False, "total": True}

general(
    "max_pool",
    lambda x, size, kernel, stride, padding, dilation: x,
    {
        "x": lambda g, x, size, kernel, stride, padding, dilation: scalar.max_pool_spread(
            g, x, size, kernel, stride, padding, dilation
        )
    },
    **HIDDEN,
    node=lambda facts: f"MaxPool{len(facts['size'])}DWithIndicesBackward0",
    doc="The greatest number of every window; NaN is greater than any.",
)
general(
    "max_pool_places",
    lambda x, size, kernel, stride, padding, dilation: x,
    **HIDDEN,
    public="max_pool",
    doc="Where the greatest number of every window is, counted along the last dimensions: the first of equal ones.",
)
general(
    "max_pool_spread",
    lambda x, y, size, kernel, stride, padding, dilation: x,
    {
        "x": lambda g, y, size, kernel, stride, padding, dilation: scalar.max_pool_pick(
            g, y, size, kernel, stride, padding, dilation
        )
    },
    operands=("x", "y"),
    **HIDDEN,
    batched="broadcasting",
    node=lambda facts: f"MaxPool{len(facts['size'])}DWithIndicesBackwardBackward0",
    public="max_pool",
    doc="Every number of x added where the greatest number of its window of y is, among zeros.",
)
general(
    "max_pool_pick",
    lambda x, y, size, kernel, stride, padding, dilation: x,
    {
        "x": lambda g, y, size, kernel, stride, padding, dilation: scalar.max_pool_spread(
            g, y, size, kernel, stride, padding, dilation
        )
    },
    operands=("x", "y"),
    **HIDDEN,
    batched="broadcasting",
    node=lambda facts: f"MaxPool{len(facts['size'])}DWithIndicesBackward0",
    public="max_pool",
    doc="The numbers of x that lie where the greatest of every window of y is.",
)
general(
    "avg_pool",
    lambda x, size, kernel, stride, padding, counted, divisor: x,
    {
        "x": lambda g, x_shape, size, kernel, stride, padding, counted, divisor: scalar.avg_pool_spread(
            g, x_shape[len(x_shape) - len(size) :], kernel, stride, padding, counted, divisor
        )
    },
    **HIDDEN,
    node=lambda facts: f"{'' if facts['kernel'] else 'Adaptive'}AvgPool{len(facts['size'])}DBackward0",
    doc="The sum of every window, divided by how many elements it has, or by a divisor other than 0; "
    "``counted``: what is padded counts.",
)
general(
    "avg_pool_spread",
    lambda x, long, kernel, stride, padding, counted, divisor: x,
    {
        "x": lambda g, x_shape, long, kernel, stride, padding, counted, divisor: scalar.avg_pool(
            g, x_shape[len(x_shape) - len(long) :], kernel, stride, padding, counted, divisor
        )
    },
    **HIDDEN,
    node=lambda facts: f"AvgPool{len(facts['long'])}DBackwardBackward0",
    public="avg_pool",
    doc="The transpose of avg_pool: every number divided and added to the elements of its window.",
)


# ---- as they are called ----------------------------------------------------------------------------------------------


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows a dimension has; with ``ceil_mode`` the last may reach beyond, but begins inside."""
    count = extent(size + (stride - 1) * ceil_mode, kernel, stride, padding, dilation)
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def pooled_shape(name: str, x, count: int) -> tuple[int, ...]:
    """The sizes of the last dimensions of an input with a batch or without.

    Raises:
        ArgumentError: no tensor. ShapeError: another number of dimensions, or one but the batch is empty.
    """
    shape = sizes_of(name, x, count)
    if 0 in shape[len(shape) - count - 1 :]:
        raise ShapeError(f"{name}: input is {list(shape)}, expected elements in all dimensions but the batch.")
    return shape[len(shape) - count :]


def windows(name: str, x, count: int, kernel_size, stride, padding, dilation, ceil_mode) -> tuple:
    """``(size, kernel, stride, padding, dilation)`` of checked arguments.

    Raises:
        RangeError: numbers that are too small, padding of more than half a kernel. ShapeError: no window fits.
    """
    shape, given = pooled_shape(name, x, count), (kernel_size, stride, padding, dilation)
    # Only of int itself: 2.0 and True would be taken for 2 and 1, which were known.
    find = windows_of_ints if PLAIN.issuperset(map(type, given)) else windows_in
    return find(name, shape, count, *given, bool(ceil_mode))


def windows_in(name: str, shape: tuple, count: int, kernel_size, stride, padding, dilation, ceil_mode: bool) -> tuple:
    """``windows`` of the last dimensions."""
    kernel = one_by_one(name, "kernel_size", kernel_size, count, 1)
    none = stride is None or (isinstance(stride, (tuple, list)) and not len(stride))
    step = kernel if none else one_by_one(name, "stride", stride, count, 1)
    around, apart = one_by_one(name, "padding", padding, count, 0), one_by_one(name, "dilation", dilation, count, 1)
    if any(2 * p > (k - 1) * d + 1 for k, p, d in zip(kernel, around, apart)):
        raise RangeError(f"{name}: padding is {padding!r}, expected at most half of kernel_size {kernel_size!r}.")
    size = tuple([pooled_size(*each, ceil_mode) for each in zip(shape, kernel, step, around, apart)])
    if min(size) < 1:
        raise ShapeError(f"{name}: input of {list(shape)} has no place for a kernel of {kernel_size!r}. Hint: a smaller one.")
    return size, kernel, step, around, apart


PLAIN = frozenset((int, type(None)))
windows_of_ints = lru_cache(maxsize=1024)(windows_in)  # a small pool takes as long as finding its windows


def adaptive_windows(name: str, x, count: int, output_size) -> tuple:
    """The same of so many windows.

    Raises:
        ArgumentError, RangeError: no sizes.
    """
    shape = pooled_shape(name, x, count)
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(given) != count:
        raise RangeError(f"{name}: output_size is {output_size!r}, expected an int or None, or {count} of them.")
    try:
        size = tuple([own if each is None else index(each) for own, each in zip(shape, given)])
    except TypeError:
        raise ArgumentError(f"{name}: output_size is {output_size!r}, expected an int or None, or {count} of them.") from None
    if min(size) < 0:
        raise RangeError(f"{name}: output_size is {output_size!r}, expected at least 0.")
    if 0 not in size and not any(own % each for own, each in zip(shape, size)):
        kernel = tuple([own // each for own, each in zip(shape, size)])
        return size, kernel, kernel, (0,) * count, (1,) * count
    return size, (), (), (), ()


def with_places(x, settings: tuple, return_indices: bool):
    """The greatest numbers, perhaps with their places."""
    values = scalar.max_pool(x, *settings)
    return (values, scalar.max_pool_places(x, *settings)) if return_indices else values


SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}
WHERE = """

    Args:
        input: ``(batch, channels, {sizes})``, or without the batch.
"""
PLACED = """        kernel_size: of a window: an int, or one for each dimension.
        stride: from window to window; None is ``kernel_size``.
        padding: on both sides, of what belongs to no window; at most half of ``kernel_size``.
"""
RAISES = """
    Returns:
        ``(batch, channels, *)``, of the dtype of ``input``; each size is ``(L + 2 padding - {kernel}) // stride + 1``.

    Raises:
        ShapeError: another number of dimensions, or no window fits. RangeError: numbers that are too small, or too much padding.
    """
ADAPTED = """        output_size: how many windows: an int, or one for each dimension; None keeps a size.
{more}
    Returns:
        ``(batch, channels, *output_size)``, of the dtype of ``input``.

    Raises:
        ShapeError: another number of dimensions. RangeError: sizes that cannot be.
    """
INDICES = "        return_indices: whether to return where the greatest are too, counted along the pooled dimensions; int64.\n"


def max_pool(count: int):
    """``max_pool1d`` and its like."""
    name = f"max_pool{count}d"

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        settings = windows(name, input, count, kernel_size, stride, padding, dilation, ceil_mode)
        return with_places(input, settings, return_indices)

    pool.__doc__ = (
        f"The greatest number of every window of {count} dimension{'s' * (count > 1)}; NaN is greater than any."
        + WHERE.format(sizes=SIZES[count])
        + PLACED
        + "        dilation: from element to element of a window.\n"
        + "        ceil_mode: whether a last window may reach beyond the padding.\n"
        + INDICES
        + RAISES.format(kernel="dilation (k - 1) - 1")
    )
    return name, pool


def avg_pool(count: int):
    """``avg_pool1d`` and its like."""
    name = f"avg_pool{count}d"

    def checked(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
        size, kernel, step, around, _ = windows(name, input, count, kernel_size, stride, padding, 1, ceil_mode)
        if divisor is not None and (type(divisor) is not int or divisor == 0):
            raise RangeError(f"{name}: divisor_override is {divisor!r}, expected an int other than 0, or None.")
        return scalar.avg_pool(input, size, kernel, step, around, bool(count_include_pad), divisor or 0)

    def pool_line(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        return checked(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return checked(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    function = pool_line if count == 1 else pool
    function.__doc__ = (
        f"The mean of every window of {count} dimension{'s' * (count > 1)}."
        + WHERE.format(sizes=SIZES[count])
        + PLACED
        + "        ceil_mode: whether a last window may reach beyond the padding.\n"
        + "        count_include_pad: whether padded places count as zeros, or not at all.\n"
        + "        divisor_override: what sums are divided by, in place of how many elements there are.\n" * (count > 1)
        + RAISES.format(kernel="k")
    )
    return name, function


def adaptive_max_pool(count: int):
    """``adaptive_max_pool1d`` and its like."""
    name = f"adaptive_max_pool{count}d"

    def pool(input, output_size, return_indices=False):
        return with_places(input, adaptive_windows(name, input, count, output_size), return_indices)

    pool.__doc__ = (
        f"The greatest number of every one of so many windows of {count} dimension{'s' * (count > 1)}."
        + WHERE.format(sizes=SIZES[count])
        + ADAPTED.format(more=INDICES)
    )
    return name, pool


def adaptive_avg_pool(count: int):
    """``adaptive_avg_pool1d`` and its like."""
    name = f"adaptive_avg_pool{count}d"

    def pool(input, output_size):
        size, kernel, step, around, _ = adaptive_windows(name, input, count, output_size)
        if max(size) == 1 == min(size):
            return input.mean(tuple(range(-count, 0)), True)
        return scalar.avg_pool(input, size, kernel, step, around, False, 0)

    pool.__doc__ = (
        f"The mean of every one of so many windows of {count} dimension{'s' * (count > 1)}."
        + WHERE.format(sizes=SIZES[count])
        + ADAPTED.format(more="")
    )
    return name, pool


for _count in (1, 2, 3):
    for _make in (max_pool, avg_pool, adaptive_max_pool, adaptive_avg_pool):
        _name, _function = _make(_count)
        _function.__name__ = _function.__qualname__ = _name
        composite(_name, _function, method=False, doc=str(_function.__doc__))
