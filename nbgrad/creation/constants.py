"""Factories whose result depends on their arguments alone: a repeated call is a look-up and one launch.

NOTE [Constants]: what ``zeros(2, 3)`` gives depends on its arguments alone. After the first call a plan is kept whose record holds
the elements, where they are few; the launch copies them into a new tensor. Uninitialised tensors need no elements, of any size.
Arguments that equal others without being of their type (True, 1.0) never find what those have left.
"""

from __future__ import annotations

import struct
from functools import cache, wraps
from typing import Any, Callable

from ..base.bounded import keep
from ..base.dtypes import DType, get_default_dtype
from ..base.grad_mode import special
from ..kernels.cpu.build import Program, address
from ..kernels.templates.join import constant
from ..native.plans import Plan, pack_record
from ..tensors.storage import elsewhere
from ..tensors.tensor import Tensor, native

__all__ = ["filled_like", "like", "numbered", "sized", "sized_like"]

MOST_BYTES = 512  # of elements that a plan holds


def is_number(value: Any) -> bool:
    """Whether a value may be part of a key: -0.0 equals 0.0."""
    kind = type(value)
    return kind is int or kind is float and value != 0


@cache
def kernel() -> int:
    """Address of the kernel that copies elements out of its record."""
    return address(Program("constant", constant, None))


def constant_plan(out: Tensor, filled: bool) -> Plan | None:
    """The plan of tensors like ``out``, which a factory has just made; None where there is none."""
    layout = out.layout
    if layout.memory is not None:
        return None
    size = layout.numel * layout.dtype.itemsize
    if layout.special or not layout.dense or filled and size > MOST_BYTES:
        return None
    elements = out._storage_.array.tobytes() if filled else b""
    return Plan(pack_record(kernel(), 1, 1, 1, (), 0, struct.pack("q", len(elements)) + elements), (layout.template,), ())


def remember(plans: dict, key: tuple, out: Tensor, filled: bool) -> Tensor:
    """Keep the plan of a result, and return that."""
    if not special and type(out) is Tensor:
        plan = constant_plan(out, filled)
        if plan is not None:
            keep(plans, key, plan)
    return out


def only_dtype(named: dict) -> Any:
    """The dtype that is all that is named; False where there is more, or something else."""
    if not named:
        return None
    dtype = named.get("dtype")
    return dtype if len(named) == 1 and type(dtype) is DType else False


def sized(factory: Callable, filled: bool = True) -> Callable:
    """``factory(*sizes, ...)``, whose result depends on the sizes and on what is named."""
    plans: dict = {}

    @wraps(factory)
    def quick(*sizes, **named):
        dtype = only_dtype(named)
        if special or elsewhere or dtype is False or not sizes:
            return factory(*sizes, **named)
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple) else sizes
        for size in shape:
            if type(size) is not int:
                return factory(*sizes, **named)
        key = (dtype or get_default_dtype(), shape)
        plan = plans.get(key)
        return native.fresh(plan) if plan is not None else remember(plans, key, factory(*sizes, **named), filled)

    return quick


def sized_like(factory: Callable, filled: bool = True) -> Callable:
    """The method ``x.new_zeros(*sizes, ...)`` of such a factory."""
    plans: dict = {}

    @wraps(factory)
    def quick(self, *sizes, **named):
        dtype = only_dtype(named)
        if special or dtype is False or not sizes or self.layout.special or self.layout.memory is not None:
            return factory(self, *sizes, **named)
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], tuple) else sizes
        for size in shape:
            if type(size) is not int:
                return factory(self, *sizes, **named)
        key = (dtype or self.layout.dtype, shape)
        plan = plans.get(key)
        return native.fresh(plan) if plan is not None else remember(plans, key, factory(self, *sizes, **named), filled)

    return quick


def like(factory: Callable, filled: bool = True) -> Callable:
    """``factory(x, ...)``, whose result depends on the layout of ``x``, on numbers and on what is named."""
    plans: dict = {}

    @wraps(factory)
    def quick(input, *args, **named):
        dtype = only_dtype(named)
        if special or dtype is False or type(input) is not Tensor:
            return factory(input, *args, **named)
        key: tuple = (input.layout, dtype)
        for value in args:
            if not is_number(value):
                return factory(input, *args, **named)
            key = (*key, type(value), value)
        plan = plans.get(key)
        if plan is not None:
            return native.fresh(plan)
        out = factory(input, *args, **named)
        return out if input.layout.special else remember(plans, key, out, filled)

    return quick


def filled_like(factory: Callable) -> Callable:
    """The method ``x.new_full(size, number, ...)``."""
    plans: dict = {}

    @wraps(factory)
    def quick(self, *args, **named):
        if special or named or len(args) != 2 or not isinstance(args[0], tuple) or self.layout.special:
            return factory(self, *args, **named)
        if self.layout.memory is not None:
            return factory(self, *args)
        size, value = args
        if not is_number(value):
            return factory(self, *args)
        for each in size:
            if type(each) is not int:
                return factory(self, *args)
        key = (self.layout.dtype, size, type(value), value)
        plan = plans.get(key)
        return native.fresh(plan) if plan is not None else remember(plans, key, factory(self, *args), True)

    return quick


def numbered(factory: Callable) -> Callable:
    """``factory(*numbers, ...)``, a sequence that depends on numbers, and on sizes."""
    plans: dict = {}

    @wraps(factory)
    def quick(*args, **named):
        if special or elsewhere or named:
            return factory(*args, **named)
        key: tuple = (get_default_dtype(),)
        for value in args:
            kind = type(value)
            if isinstance(value, tuple):
                for size in value:
                    if type(size) is not int:
                        return factory(*args)
            elif kind is not int and (kind is not float or not value):
                return factory(*args)
            key = (*key, kind, value)
        plan = plans.get(key)
        return native.fresh(plan) if plan is not None else remember(plans, key, factory(*args), True)

    return quick
