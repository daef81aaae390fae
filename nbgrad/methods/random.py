"""``nbgrad.random``: functions and methods that draw random tensors, and the names of the default generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import INTEGER, DTypeLike, int64
from ..base.errors import ArgumentError, DTypeError, RangeError
from ..creation.allocation import empty_of, into, layout_for, layout_like, leaf
from ..creation.generators import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from ..dispatch.out import write_out
from ..lowering.random import draw
from ..modes.traced import is_traced
from ..tensors.batch_levels import open_levels
from ..tensors.layout import layout_of
from ..tensors.memory_format import MemoryFormat
from ..tensors.storage import Device
from ..tensors.tensor import Tensor
from . import transformed_draws
from .draws import integers, normal_numbers, uniform_numbers, whole_numbers
from .inplace_draws import bernoulli_, exponential_, normal_, random_, uniform_
from .parameter_draws import multinomial, normal, of_parameter, uniform_below

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


OWN_METHODS = (bernoulli, bernoulli_, exponential_, multinomial, normal_, random_, uniform_)
METHODS: dict[str, Callable] = {f.__name__: f for f in OWN_METHODS} | transformed_draws.METHODS
FUNCTIONS = {name: globals()[name] for name in __all__}


def install_random() -> dict:
    """Hang the methods on Tensor; return the public names."""
    for name, method in METHODS.items():
        setattr(Tensor, name, method)
    return FUNCTIONS
