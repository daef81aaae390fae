"""Factories whose result depends on their arguments alone: a repeated call is a look-up and one launch.

NOTE [Constants]: what ``zeros(2, 3)`` gives depends on its arguments alone. After the first call a launch is kept, whose record
holds the elements, where they are few, and which copies them into a new tensor. Where they are many, or on a GPU, it fills, if they
are one number. Uninitialised tensors need no elements, of any size. Arguments that equal others without being of their type (True,
1.0) never find what those have left. "cuda" is the current GPU, whose number is part of the key.
"""

from __future__ import annotations

import struct
from functools import cache, lru_cache, partial, wraps
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.bounded import MOST_PLANS, keep
from ..base.dtypes import BOOL, DType, as_word, bfloat16, bool_, float16, get_default_dtype, int16, uint8
from ..base.grad_mode import special
from ..dispatch.plans import Formula, elementwise_plan
from ..kernels.cpu.build import Program, address
from ..kernels.templates.join import constant
from ..native.plans import Plan, pack_record
from ..ops.expr import symbol
from ..tensors.choices import current
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import Device, elsewhere
from ..tensors.tensor import Tensor, native

__all__ = ["fill_launch", "filled_like", "like", "numbered", "sized", "sized_like"]

MOST_BYTES = 512  # of elements that a plan holds
LAZY_ZEROS = 1 << 24  # bytes from which the system's pages are zero without being written
HELD = object()  # of what a factory makes: its elements are in memory, for a plan to hold


def is_number(value: Any) -> bool:
    """Whether a value may be part of a key: -0.0 equals 0.0."""
    kind = type(value)
    return kind is int or kind is float and value != 0


@cache
def kernel() -> int:
    """Address of the kernel that copies elements out of its record."""
    return address(Program("constant", constant, None))


FILL = Formula("filled", (("x", False),), (symbol("x"),))


class Factory(NamedTuple):
    """Who makes tensors, for errors."""

    public: str


class FactoryPlan(Plan):
    """A launch without operands.

    Attributes:
        op: who makes it.
    """

    __slots__ = ("op",)
    op: Factory


# As what the CPU's memory is filled: kernels compute with these dtypes as with wider numbers.
BITS = {bool_: uint8, float16: int16, bfloat16: int16}


@lru_cache(maxsize=MOST_PLANS)
def fill_plan(op: str, layout: Layout) -> Plan:
    """The launch that fills a dense tensor with a number; on the CPU with its bits, where ``BITS`` says so."""
    seen = layout
    if layout.memory is None and layout.dtype in BITS:
        seen = layout_of(BITS[layout.dtype], layout.shape, layout.strides, layout.device)
    plan = elementwise_plan(FILL, seen.dtype, (None,), (seen,), plan_type=FactoryPlan)
    plan.op, plan.outs = Factory(op), (layout.template,)
    return plan


def fill_launch(op: str, layout: Layout, number: Any) -> Callable[[], Tensor]:
    """``f()``, a new dense tensor, full of a number; None: of whatever its memory held, on a GPU."""
    if number is None:
        from ..dispatch.device_plans import device_plan
        from ..kernels.cuda.steps import Steps

        nothing = device_plan((layout,), (), Steps(()))
        plan = FactoryPlan(nothing.record, nothing.outs, nothing.layouts)
        plan.op = Factory(op)
        return partial(native.fresh, plan)
    dtype = layout.dtype
    if layout.memory is None and dtype in BITS:
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            number = int(np.array(number).astype(layout.descr).view(BITS[dtype].numpy))
        return partial(native.fresh, fill_plan(op, layout), number)
    kind = complex if dtype.is_complex else float if dtype.is_floating_point else bool if dtype.category == BOOL else int
    value = kind(number)
    return partial(native.fresh, fill_plan(op, layout), as_word(int(value)) if isinstance(value, int) else value)


def launch_of(op: str, out: Tensor, number: Any) -> Callable[[], Tensor] | None:
    """``f()``, which makes tensors like ``out``, which a factory has just made; None where there is none.

    Args:
        number: all of its elements; None: they are of no interest; ``HELD``: who knows.
    """
    layout = out.layout
    if layout.special or not layout.dense:
        return None
    nbytes = layout.numel * layout.dtype.itemsize
    if layout.memory is not None or number is not None and nbytes > MOST_BYTES:
        is_lazy = layout.memory is None and number == 0 and nbytes >= LAZY_ZEROS
        return None if number is HELD or is_lazy else fill_launch(op, layout, number)
    elements = b"" if number is None else out._storage_.array.tobytes()
    record = pack_record(kernel(), 1, 1, 1, (), 0, struct.pack("q", len(elements)) + elements)
    return partial(native.fresh, Plan(record, (layout.template,), ()))


def remember(launches: dict, key: tuple, op: str, out: Tensor, number: Any) -> Tensor:
    """Keep the launch of a result, and return that."""
    if not special and type(out) is Tensor:
        launch = launch_of(op, out, number)
        if launch is not None:
            keep(launches, key, launch)
    return out


def only_dtype(named: dict) -> Any:
    """The dtype that is all that is named; False where there is more, or something else."""
    if not named:
        return None
    dtype = named.get("dtype")
    return dtype if len(named) == 1 and type(dtype) is DType else False


def kind_named(named: dict) -> Any:
    """The same, and where a device is named, too, dtype and device and what the latter depends on."""
    device = named.get("device")
    if device is None:
        return only_dtype(named)
    dtype = named.get("dtype")
    if len(named) > (1 if dtype is None else 2) or dtype is not None and type(dtype) is not DType:
        return False
    return (dtype or get_default_dtype(), device, current.index) if type(device) in (str, Device) else False


def sized(factory: Callable, number: float | None) -> Callable:
    """``factory(*sizes, ...)``, whose result depends on the sizes and on what is named.

    Args:
        number: which all elements are; None: whatever memory held.
    """
    launches: dict = {}

    @wraps(factory)
    def quick(*sizes, **named):
        kind = kind_named(named) if named else get_default_dtype()
        if special or elsewhere or kind is False or not sizes:
            return factory(*sizes, **named)
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple) else sizes
        for size in shape:
            if type(size) is not int:
                return factory(*sizes, **named)
        key = (kind, shape)
        launch = launches.get(key)
        return launch() if launch is not None else remember(launches, key, factory.__name__, factory(*sizes, **named), number)

    return quick


def sized_like(factory: Callable, number: float | None) -> Callable:
    """The method ``x.new_zeros(*sizes, ...)`` of such a factory."""
    launches: dict = {}

    @wraps(factory)
    def quick(self, *sizes, **named):
        dtype = only_dtype(named)
        if special or dtype is False or not sizes or self.layout.special:
            return factory(self, *sizes, **named)
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple) else sizes
        for size in shape:
            if type(size) is not int:
                return factory(self, *sizes, **named)
        key = (dtype or self.layout.dtype, shape, self.layout.device)
        launch = launches.get(key)
        return launch() if launch is not None else remember(launches, key, factory.__name__, factory(self, *sizes, **named), number)

    return quick


def like(factory: Callable, number: float | None = None, *, given: bool = False) -> Callable:
    """``factory(x, ...)``, whose result depends on the layout of ``x``, on numbers and on what is named.

    Args:
        given: all elements are the number that comes behind ``x``.
    """
    launches: dict = {}

    @wraps(factory)
    def quick(input, *args, **named):
        dtype = only_dtype(named)
        if special or dtype is False or type(input) is not Tensor or given and len(args) != 1:
            return factory(input, *args, **named)
        key: tuple = (input.layout, dtype)
        for value in args:
            if not is_number(value):
                return factory(input, *args, **named)
            key = (*key, type(value), value)
        launch = launches.get(key)
        if launch is not None:
            return launch()
        out = factory(input, *args, **named)
        return out if input.layout.special else remember(launches, key, factory.__name__, out, args[0] if given else number)

    return quick


def filled_like(factory: Callable) -> Callable:
    """The method ``x.new_full(size, number, ...)``."""
    launches: dict = {}

    @wraps(factory)
    def quick(self, *args, **named):
        if special or named or len(args) != 2 or not isinstance(args[0], tuple) or self.layout.special:
            return factory(self, *args, **named)
        size, value = args
        if not is_number(value):
            return factory(self, *args)
        for each in size:
            if type(each) is not int:
                return factory(self, *args)
        key = (self.layout.dtype, size, type(value), value, self.layout.device)
        launch = launches.get(key)
        return launch() if launch is not None else remember(launches, key, factory.__name__, factory(self, *args), value)

    return quick


def numbered(factory: Callable, *, uniform: bool = False) -> Callable:
    """``factory(*numbers, ...)``, a sequence that depends on numbers, and on sizes.

    Args:
        uniform: all elements are the second number, and what is named may matter besides.
    """
    launches: dict = {}

    @wraps(factory)
    def quick(*args, **named):
        kind = (kind_named(named) if uniform else False) if named else get_default_dtype()
        if special or elsewhere or kind is False or uniform and len(args) != 2:
            return factory(*args, **named)
        key: tuple = (kind, named.get("dtype"))  # a number has a dtype of its own, which is not the default one
        for value in args:
            what = type(value)
            if isinstance(value, tuple):
                for size in value:
                    if type(size) is not int:
                        return factory(*args, **named)
            elif what is not int and (what is not float or not value):
                return factory(*args, **named)
            key = (*key, what, value)
        launch = launches.get(key)
        return (
            launch()
            if launch is not None
            else remember(launches, key, factory.__name__, factory(*args, **named), args[1] if uniform else HELD)
        )

    return quick
