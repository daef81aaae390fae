"""``nbgrad.random``: functions and methods that draw random tensors, and the names of the default generator."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import BOOL, INTEGER, DType, DTypeLike, float32, float64, int64, require_floating, require_real_floating
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from ..base.grad_mode import mode, special, traces
from ..creation.allocation import empty_of, into, layout_for, layout_like, leaf
from ..creation.generators import (
    WORD,
    Generator,
    default_generator,
    fork_rng,
    generator_of,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    signed,
)
from ..dispatch.device_requirements import require
from ..dispatch.out import write_out
from ..graph.edges import requires_grad as has_grad
from ..lowering.random import draw, drawn, random_plan
from ..modes.batched import wrap_batched
from ..modes.inference import newly_made
from ..modes.traced import capture_of_thread, is_traced
from ..tensors.arrays import tensor_of, values_of
from ..tensors.batch_levels import BatchingError, is_batched, open_levels, random_levels, whole
from ..tensors.layout import Layout, broadcast_shapes, layout_of
from ..tensors.memory_format import MemoryFormat
from ..tensors.storage import Device, wrap_array
from ..tensors.tensor import Tensor, native, new_tensor
from ..views import check_inplace
from . import transformed_draws

__all__ = [
    "Generator",
    "bernoulli",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_rng_state",
]

# ---- drawing -------------------------------------------------------------------------------------------------------


def draw_floating(op: str, distribution: str, layout: Layout, generator, a: float, b: float) -> Tensor:
    """``draw`` for a floating layout; real and imaginary part apart for a complex one."""
    require_floating(op, layout.dtype)
    if not layout.dtype.is_complex:
        return draw(distribution, layout, generator, a, b)
    pairs = draw(distribution, layout_of(layout.dtype.to_real(), (*layout.shape, 2), None, layout.device), generator, a, b)
    if open_levels or is_traced(pairs):
        return CALLS["view_as_complex"](pairs)
    if layout.memory is not None:
        out = native.alias(CALLS["view_as_complex"](pairs))
    else:
        out = new_tensor(wrap_array(pairs._storage_.array.view(layout.descr)), layout.like())
    return out if layout.contiguous else CALLS["clone_like"](out, layout)


def uniform_numbers(op: str, layout: Layout, generator) -> Tensor:
    """Uniform on [0, 1)."""
    return draw_floating(op, "uniform", layout, generator, 0.0, 1.0)


def normal_numbers(op: str, layout: Layout, generator) -> Tensor:
    """Normal with mean 0 and variance 1, which real and imaginary part share."""
    return draw_floating(op, "normal", layout, generator, 0.0, 0.5**0.5 if layout.dtype.is_complex else 1.0)


def rand(
    *sizes: int | Sequence[int],
    size: int | Sequence[int] | None = None,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Uniform numbers from [0, 1).

    Raises:
        DTypeError: the dtype is not floating or complex. Otherwise as ``zeros``.

    >>> import nbgrad
    >>> x = nbgrad.rand(2, 3)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (nbgrad.Size([2, 3]), True)
    """
    if out is not None:
        return into(out, rand, *sizes, size=size, generator=generator, dtype=dtype, device=device)
    return leaf(
        "rand", uniform_numbers("rand", layout_for("rand", sizes, size, dtype, device), generator), requires_grad, pin_memory
    )


def randn(
    *sizes: int | Sequence[int],
    size: int | Sequence[int] | None = None,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1.

    Raises:
        DTypeError: the dtype is not floating or complex. Otherwise as ``zeros``.

    >>> import nbgrad
    >>> nbgrad.randn(2, 3, dtype=nbgrad.float64).dtype
    nbgrad.float64
    """
    if out is not None:
        return into(out, randn, *sizes, size=size, generator=generator, dtype=dtype, device=device)
    return leaf(
        "randn", normal_numbers("randn", layout_for("randn", sizes, size, dtype, device), generator), requires_grad, pin_memory
    )


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """``rand`` in the shape, dtype and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.rand_like(nbgrad.ones(2, 3)).shape
    nbgrad.Size([2, 3])
    """
    return leaf(
        "rand_like",
        uniform_numbers("rand_like", layout_like("rand_like", input, dtype, device, memory_format), generator),
        requires_grad,
        pin_memory,
    )


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """``randn`` in the shape, dtype and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.randn_like(nbgrad.ones(2, 3)).shape
    nbgrad.Size([2, 3])
    """
    layout = layout_like("randn_like", input, dtype, device, memory_format)
    return leaf("randn_like", normal_numbers("randn_like", layout, generator), requires_grad, pin_memory)


def randint(
    low: int | None = None,
    high: int | None = None,
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
    """Integers from ``low`` to ``high - 1``: ``randint(high, size)`` or ``randint(low, high, size)``; int64 by default.

    Raises:
        RangeError: there is no such integer, or the dtype cannot hold them all. ArgumentError: no integers, no size.

    >>> import nbgrad
    >>> x = nbgrad.randint(2, 5, (10,))
    >>> bool(((x >= 2) & (x < 5)).all())
    True
    """
    if out is not None:
        return into(out, randint, low, high, size, generator=generator, dtype=dtype, device=device)
    if size is None and high is not None:
        low, high, size = 0, low, high
    elif low is None or high is None:
        low, high = 0, high if low is None else low
    if size is None or isinstance(size, int):
        raise ArgumentError(f"randint: size must be a sequence of integers, got {size!r}. Hint: randint(10, (3,)).")
    layout = layout_for("randint", (), size, int64 if dtype is None else dtype, device)
    return leaf("randint", integers("randint", layout, generator, low, high), requires_grad, pin_memory)


def randint_like(
    input: Tensor,
    low: int | None = None,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """``randint`` in the shape, dtype and memory order of ``input``.

    >>> import nbgrad
    >>> nbgrad.randint_like(nbgrad.ones(2), 1)
    tensor([0., 0.])
    """
    low, high = (0, high if low is None else low) if low is None or high is None else (low, high)
    layout = layout_like("randint_like", input, dtype, device, memory_format)
    return leaf("randint_like", integers("randint_like", layout, generator, low, high), requires_grad, pin_memory)


def integers(op: str, layout: Layout, generator, low, high) -> Tensor:
    """Integers from ``low`` to ``high - 1``."""
    return draw("integers", layout, generator, *integer_range(op, layout.dtype, low, high))


def integer_range(op: str, dtype: DType, low, high) -> tuple[int, int]:
    """``low`` and the number of integers up to ``high``, as the int64 words of a kernel.

    Raises:
        ArgumentError: no integers. RangeError: an empty range, or one that the dtype does not hold.
    """
    try:
        low, high = operator.index(low), operator.index(high)
    except TypeError:
        raise ArgumentError(f"{op}: the bounds must be integers, got {low!r} and {high!r}.") from None
    if low >= high:
        raise RangeError(f"{op}: there is no integer from {low} to {high} - 1.")
    least, most = whole_numbers(dtype)
    if low < least or high - 1 > most:
        raise RangeError(f"{op}: integers from {low} to {high} - 1 do not fit {dtype}, which holds {least} to {most}.")
    return low, signed((high - low) % WORD)


@cache
def whole_numbers(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a dtype that ``draw`` can give; of a floating one, finite."""
    if dtype.category == BOOL:
        return 0, 1
    limits = np.iinfo(dtype.numpy if dtype.category == INTEGER else np.int64)
    return int(limits.min), int(limits.max)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = int64,
    device: Device | str | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The integers 0 to n - 1 in random order.

    Raises:
        ShapeError: n is negative. RangeError: the dtype cannot hold n - 1.

    >>> import nbgrad
    >>> nbgrad.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    if out is not None:
        return into(out, randperm, n, generator=generator, dtype=dtype, device=device)
    layout = layout_for("randperm", (), (n,), dtype, device)
    if layout.dtype.category == INTEGER and n - 1 > whole_numbers(layout.dtype)[1]:
        raise RangeError(f"randperm: {n - 1} does not fit {layout.dtype}.")
    # The order of random keys of 64 bits; equal ones (1 in 10**7 for a million) keep theirs.
    keys = draw("integers", layout_of(int64, layout.shape, None, layout.device), generator, 0, 0)
    order = CALLS["to_dtype"](CALLS["argsort"](keys, 0, False, True), layout.dtype)
    return order if open_levels or is_traced(keys) else leaf("randperm", order, requires_grad, pin_memory)


# ---- from parameters -----------------------------------------------------------------------------------------------


def bernoulli(
    input: Tensor, p: float | Tensor | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that ``input`` (or the number or tensor ``p``) says, else 0; in the shape and dtype of ``input``.

    Raises:
        RangeError: no probability. DTypeError: ``input`` is not floating, and there is no ``p``.

    >>> import nbgrad
    >>> nbgrad.bernoulli(nbgrad.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    if out is not None:
        return write_out("bernoulli", lambda: bernoulli(input, p, generator=generator), out)
    if p is not None:
        result = bernoulli_(empty_of(layout_like("bernoulli", input)), p, generator=generator)
        return of_parameter("drawn_with_probability", result, p)
    layout = layout_like("bernoulli", input)
    if not layout.dtype.is_floating_point:
        raise DTypeError(f"bernoulli: probabilities must be floating, got {layout.dtype}.")
    result = CALLS["to_dtype"](uniform_below("bernoulli", input, layout, generator), layout.dtype)
    return of_parameter("drawn_with_probability", result, input)


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


def indices_by(weights: np.ndarray, x: Tensor, numbers: Tensor, count: int, replacement: bool) -> Tensor:
    """The indices that random numbers choose by checked weights, those of ``x``."""
    if replacement:
        totals, uniform = weights.cumsum(-1), values_of(numbers)
        found = np.stack([row.searchsorted(u * row[-1], side="right") for row, u in zip(totals, uniform)])
        # The product may round up to the total, beyond the last index that has a weight.
        found = np.minimum(found, [np.flatnonzero(row)[-1:] for row in weights])
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


# ---- in place ------------------------------------------------------------------------------------------------------


def fill(op: str, x: Tensor, distribution: str, generator, a, b) -> Tensor:
    """Write random numbers into ``x``. What ``x`` was before has no influence, so its gradient is 0.

    Raises:
        InplaceError: ``x`` cannot be written to.
    """
    recorded = mode.enabled and has_grad(x)
    check_inplace(op, x, recorded)
    layout = x.layout
    if (
        recorded
        or special
        or open_levels
        or not layout.contiguous
        or layout.conj
        or layout.neg
        or layout.dtype not in DIRECT[distribution]
    ):
        target = layout if layout.dense else layout.like()
        if layout.dtype.is_complex:
            return CALLS["copy_"](x, draw_floating(op, distribution, target.like(), generator, a, b))
        return CALLS["copy_"](x, draw(distribution, target, generator, a, b))
    numbers = generator_of(generator, layout.device).next_call()
    native.into(random_plan(distribution, layout), x, *numbers, a, b)
    return x


_FLOATS = (float32, float64)
DIRECT = {"uniform": _FLOATS, "normal": _FLOATS, "bernoulli": _FLOATS, "exponential": _FLOATS, "integers": (int64,)}


def uniform_(x: Tensor, low: float = 0.0, high: float = 1.0, *, generator: Generator | None = None, **bounds: Any) -> Tensor:
    """In place: uniform numbers from [low, high); the bounds are also taken as ``to=`` and ``from=``, by torch's names.

    Raises:
        DTypeError: ``x`` is not floating. RangeError: ``low > high``.
    """
    low, high = bounds.pop("from", low), bounds.pop("to", high)
    refuse_named("uniform_", bounds)
    require_floating("uniform_", x.layout.dtype)
    if not low <= high:
        raise RangeError(f"uniform_: expected low <= high, got {low} and {high}.")
    return fill("uniform_", x, "uniform", generator, low, high)


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: normal numbers.

    Raises:
        DTypeError: ``x`` is not floating. RangeError: a negative std.
    """
    require_floating("normal_", x.layout.dtype)
    if not std >= 0:
        raise RangeError(f"normal_: std must be >= 0, got {std}.")
    return fill("normal_", x, "normal", generator, mean, std * 0.5**0.5 if x.layout.dtype.is_complex else std)


def exponential_(x: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: exponential numbers of rate ``lambd``.

    Raises:
        DTypeError: ``x`` is not floating. RangeError: ``lambd <= 0``.
    """
    require_real_floating("exponential_", x.layout.dtype)
    if not lambd > 0:
        raise RangeError(f"exponential_: lambd must be > 0, got {lambd}.")
    return fill("exponential_", x, "exponential", generator, lambd, 0.0)


def bernoulli_(x: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """In place: 1 with probability ``p``, a number or a tensor that broadcasts, else 0.

    Raises:
        RangeError: ``p`` is no probability.
    """
    if isinstance(p, Tensor):
        check_inplace("bernoulli_", x, mode.enabled and has_grad(x))
        return CALLS["copy_"](x, uniform_below("bernoulli_", p, x.layout.like(), generator))
    if not 0 <= p <= 1:
        raise RangeError(f"bernoulli_: p must be from 0 to 1, got {p}.")
    return fill("bernoulli_", x, "bernoulli", generator, p, 1.0)


def random_(
    x: Tensor, low: int | None = None, high: int | None = None, *, generator: Generator | None = None, **bounds: Any
) -> Tensor:
    """In place: integers from ``low`` to ``high - 1``; ``random_(high)`` starts at 0, ``random_()`` takes all the
    non-negative ones that the dtype counts without gaps.

    Raises:
        RangeError: there is no such integer, or the dtype cannot hold them all.
    """
    if "to" in bounds or "from" in bounds:
        low, high = bounds.pop("from", low or 0), bounds.pop("to", None)
    elif high is None and low is not None:
        low, high = 0, low
    refuse_named("random_", bounds)
    dtype = x.layout.dtype
    if high is None:
        high = whole_numbers(dtype)[1] + 1 if not dtype.differentiable else 2 ** MANTISSA[dtype.to_real().name] + 1
    return fill("random_", x, "integers", generator, *integer_range("random_", dtype, low or 0, high))


MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def refuse_named(op: str, named: dict) -> None:
    """Refuse keyword arguments that nobody took."""
    if named:
        raise ArgumentError(f"{op}: unexpected arguments {', '.join(named)}.")


OWN_METHODS = (bernoulli, bernoulli_, exponential_, multinomial, normal_, random_, uniform_)
METHODS: dict[str, Callable] = {f.__name__: f for f in OWN_METHODS} | transformed_draws.METHODS
FUNCTIONS = {name: globals()[name] for name in __all__}


def install_random() -> dict:
    """Hang the methods on Tensor; return the public names."""
    for name, method in METHODS.items():
        setattr(Tensor, name, method)
    return FUNCTIONS
