"""Draws from distributions whose parameters are tensors: probabilities, means, weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DTypeLike, float32, float64
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode, traces
from ..creation.allocation import empty_of, into, layout_for, leaf
from ..creation.generators import Generator
from ..dispatch.device_requirements import require
from ..dispatch.out import write_out
from ..graph.edges import requires_grad as has_grad
from ..lowering.random import draw, drawn
from ..modes.batched import wrap_batched
from ..modes.inference import newly_made
from ..modes.traced import capture_of_thread
from ..tensors.arrays import tensor_of, values_of
from ..tensors.batch_levels import BatchingError, is_batched, open_levels, random_levels, whole
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.storage import Device
from ..tensors.tensor import Tensor
from .draws import draw_floating, normal_numbers


def uniform_below(op: str, p: Tensor, layout: Layout, generator) -> Tensor:
    """Truth values: whether uniform numbers of a shape are below the probabilities ``p``."""
    if open_levels:
        levels_to_draw(p)
    require_all(whole(p), lambda x: (x >= 0) & (x <= 1), f"{op}: probabilities must be from 0 to 1.")
    work = float64 if p.layout.dtype is float64 else float32
    return CALLS["lt"](
        draw("uniform", layout_of(work, layout.shape, layout.strides, layout.device), generator, 0.0, 1.0), p.detach()
    )


def require_all(x: Tensor, condition: Callable, text: str) -> None:
    """Refuse elements of which a condition, a function of arrays and tensors alike, is not true.

    Raises:
        RangeError: there is one; on a GPU when the program next waits for it.
    """
    if x.layout.memory is not None:
        require(condition(x.detach()).all(), RangeError, text)
    elif not (condition(x.detach()) if traces else condition(values_of(x))).all():
        raise RangeError(text)


def normal(
    mean: Any,
    std: Any = 1.0,
    size: int | Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Normal numbers: ``normal(mean, std, size)`` with numbers, or with tensors that broadcast for mean, std or both.

    The derivative by the parameters is 0: no gradient flows through the numbers that are drawn.

    Raises:
        RangeError: a negative std. ArgumentError: numbers without a size.

    >>> import nbgrad
    >>> nbgrad.normal(nbgrad.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    if out is not None:
        return into(out, normal, mean, std, size, generator=generator, dtype=dtype, device=device)
    if isinstance(std, Tensor):
        require_all(whole(std), lambda x: ~(x < 0), "normal: std must be >= 0, got a tensor with negative elements.")
    elif not std >= 0:
        raise RangeError(f"normal: std must be >= 0, got {std}.")
    tensors = [v.detach() for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        if size is None:
            raise ArgumentError("normal: missing size. Hint: normal(0.0, 1.0, (2, 3)).")
        layout = layout_for("normal", (), size, dtype, device)
        return leaf("normal", draw_floating("normal", "normal", layout, generator, mean, std), requires_grad, pin_memory)
    for x in tensors if open_levels else ():
        levels_to_draw(x)
    shape = broadcast_shapes("normal", [t.layout.shape for t in tensors])
    out = normal_numbers("normal", layout_of(tensors[0].layout.dtype, shape, None, tensors[0].layout.device), generator)
    parameters, (mean, std) = (mean, std), (v.detach() if isinstance(v, Tensor) else v for v in (mean, std))
    result = CALLS["add"](CALLS["mul"](out, std), mean)
    for parameter in parameters:
        result = of_parameter("drawn_around", result, parameter)
    return result


def of_parameter(op: str, result: Tensor, parameter) -> Tensor:
    """Numbers that were drawn with a parameter: where that requires grad they do, with zeros for a derivative."""
    if not (mode.enabled and isinstance(parameter, Tensor) and has_grad(parameter)):
        return result
    dtype = result.layout.dtype
    return CALLS[op](result, parameter if parameter.layout.dtype is dtype else CALLS["to_dtype"](parameter, dtype))


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Indices drawn from the weights in each row of ``input``: int64, ``num_samples`` a row.

    Without replacement the samples are the largest of weight / exponential number, which is a race that each index wins
    in proportion to its weight.

    Raises:
        DTypeError: ``input`` is not floating. ShapeError: not 1-D or 2-D. RangeError: no weights, or more samples than
            indices.

    >>> import nbgrad
    >>> nbgrad.multinomial(nbgrad.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if out is not None:
        return write_out("multinomial", lambda: multinomial(input, num_samples, replacement, generator=generator), out)
    if open_levels and (levels := levels_to_draw(input)):
        # One row each, for every element of the batch.
        alike = wrap_batched(empty_of(input.layout.like(None, tuple(level.size for level in levels))).zero_(), levels)
        value, shape = whole(CALLS["add"](input, alike)), input.layout.shape
        found = drawn_indices(CALLS["reshape"](value, (-1, shape[-1])) if shape else value, num_samples, replacement, generator)
        return wrap_batched(CALLS["reshape"](found, (*value.layout.shape[:-1], num_samples)), levels)
    return drawn_indices(input, num_samples, replacement, generator)


def levels_to_draw(x: Tensor) -> tuple:
    """The levels of a batch for which numbers that depend on ``x`` are drawn.

    Raises:
        BatchingError: ``x`` differs over a level for which the same numbers are wanted.
    """
    levels = random_levels()
    if is_batched(x) and not set(x._levels_) <= set(levels):
        raise BatchingError(
            "vmap: with randomness='same' what numbers are drawn by (probabilities, weights, means) must be the "
            "same for the whole batch too. Hint: randomness='different'."
        )
    return levels


def drawn_indices(x: Tensor, num_samples: int, replacement: bool, generator: Generator | None) -> Tensor:
    """``multinomial`` of ordinary weights."""
    layout = x.layout
    if not layout.dtype.is_floating_point:
        raise DTypeError(f"multinomial: weights must be floating, got {layout.dtype}.")
    if layout.ndim not in (1, 2) or not layout.shape[-1]:
        raise ShapeError(f"multinomial: expected weights (n,) or (rows, n) with n > 0, got {list(layout.shape)}.")
    if not hasattr(num_samples, "__index__"):
        raise ArgumentError(f"multinomial: num_samples must be an int, got {type(num_samples).__name__}.")
    if num_samples <= 0 or (not replacement and num_samples > layout.shape[-1]):
        raise RangeError(f"multinomial: cannot draw {num_samples} of {layout.shape[-1]} indices. Hint: replacement=True.")
    trace: Any = capture_of_thread() if traces else None
    weights: Any = None
    if layout.memory is not None:
        from ..lowering.cuda.random import chosen_on_gpu, weights_on_gpu

        weights = weights_on_gpu(x.detach())
    elif trace is None:
        weights = multinomial_weights(x)  # refuses what no numbers are drawn by
    rows = layout.numel // layout.shape[-1]
    if replacement:
        numbers = drawn("uniform", layout_of(float64, (rows, num_samples), None, layout.device), generator, 0.0, 1.0)
    else:
        numbers = drawn("exponential", layout_of(float64, (rows, layout.shape[-1]), None, layout.device), generator, 1.0, 0.0)
    if layout.memory is not None:
        found = chosen_on_gpu(weights, numbers, num_samples, replacement)
        return CALLS["reshape"](found, (*layout.shape[:-1], num_samples))
    if trace is None:
        return indices_by(weights, x, numbers, num_samples, replacement)
    found = trace.call_python(chosen_indices, (x.detach(), numbers), {"count": num_samples, "replacement": replacement})
    return found


def chosen_indices(x: Tensor, numbers: Tensor, count: int, replacement: bool) -> Tensor:
    """The indices that random numbers choose by weights."""
    return indices_by(multinomial_weights(x), x, numbers, count, replacement)


def searched(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How many elements of each sorted row are at most as great as each of its values: ``searchsorted`` of rows.

    Many rows of few values are halved all at once, as calls of NumPy for each row take longer than that.
    """
    if len(rows) <= values.shape[-1]:
        return np.stack([row.searchsorted(wanted, side="right") for row, wanted in zip(rows, values)])
    length = rows.shape[-1]
    begin, end = np.zeros(values.shape, np.intp), np.full(values.shape, length)
    for _ in range(length.bit_length()):
        middle = (begin + end) // 2
        after = np.take_along_axis(rows, np.minimum(middle, length - 1), -1) <= values
        begin, end = np.where(after, np.minimum(middle + 1, end), begin), np.where(after, end, middle)
    return begin


def indices_by(weights: np.ndarray, x: Tensor, numbers: Tensor, count: int, replacement: bool) -> Tensor:
    """The indices that random numbers choose by checked weights, those of ``x``."""
    if replacement:
        totals = weights.cumsum(-1)
        found = searched(totals, values_of(numbers) * totals[:, -1:])
        # The product may round up to the total, beyond the last index that has a weight.
        found = np.minimum(found, totals.shape[-1] - 1 - (weights > 0)[:, ::-1].argmax(-1, keepdims=True))
    else:
        # A race that an index of weight 0 never leads, whatever its number.
        race = np.divide(weights, values_of(numbers), out=np.zeros_like(weights), where=weights > 0)
        found = race.argmax(-1) if count == 1 else np.argsort(-race, -1, kind="stable")[:, :count]
    shape = (*x.layout.shape[:-1], count)
    return newly_made(tensor_of(np.ascontiguousarray(found, np.int64).reshape(shape), x))


def multinomial_weights(x: Tensor) -> np.ndarray:
    """The weights in float64, a row each, checked."""
    weights = values_of(x).astype(np.float64).reshape(-1, x.layout.shape[-1])
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights.sum(-1) > 0).all():
        raise RangeError("multinomial: weights must be finite and >= 0, and one in each row > 0.")
    return weights
