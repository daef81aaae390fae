"""Methods that write random numbers into a tensor."""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import float32, float64, int64, require_floating, require_real_floating
from ..base.errors import ArgumentError, RangeError
from ..base.grad_mode import mode, special
from ..creation.generators import Generator, generator_of
from ..graph.edges import requires_grad as has_grad
from ..lowering.random import draw, random_plan
from ..tensors.batch_levels import open_levels
from ..tensors.tensor import Tensor, native
from ..views import check_inplace
from .draws import draw_floating, integer_range, whole_numbers
from .parameter_draws import uniform_below


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
