"""Numbers that a capture follows: those among the arguments of a captured function, and what it computes of them.

NOTE [Traced numbers]: a float argument of a captured function is an input of the graph, a float64 without dimensions; an int of 31
bits is an int64. The function sees a ``Number`` or a ``Whole``, which says that it is a float or an int. What Python's operators
compute of it is written down, like calls of tensors. Where it meets an operation it becomes a tensor of the dtype in which the
operation takes a number, rounded once, as the number would be; so another number is another word, and no other program. Powers, and
functions of ``math``, are steps in Python. Where a float is compared, or its truth or whole part is taken, the program asks for
that value: NOTE [Values asked for] of jit/nodes/values.py. Whoever needs the number itself (``float``, NumPy, texts, keys,
whatever takes no tensor; of an int indices, exponents and counts, and comparisons of itself) fixes the arguments it comes from: the
capture begins again with these as they are, and the program holds for these values alone. Behind its capture a number is a float or
an int, and nothing else.

NOTE [Items]: what ``item`` reads of a floating tensor in a compiled function is such a number, too: a step that ends with
``return loss.item()`` is one program. It comes from no argument, so where the number itself is needed the program asks for it.
Its value is computed in the capture only where somebody looks. What it reads of an integer one is a ``Whole``. Python's integers
have no bounds: what is computed of one is written down as long as the numbers are small, which the program asks for, too, where it
does not follow from what is computed of an argument.
"""

from __future__ import annotations

import operator
from functools import partialmethod
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, float32, float64, int32, int64
from ..base.grad_mode import capture_of_thread, traces
from ..tensors.tensor import Tensor
from .number_functions import function, written

__all__ = ["FOLLOWED", "ITEMS", "SMALL", "Number", "Whole", "function_of", "plain", "plain_number", "value_of"]

ITEMS = -1  # among the sources of a number: it comes from an element of a tensor, not from an argument alone
EXACT = 1 << 53  # integers beyond are no floats
SMALL = 1 << 31  # products of integers up to it are integers of 64 bits
MOST = 1 << 62  # of which an operation gives integers of 64 bits
BOUNDS: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.add, "mul": operator.mul}
VALUELESS = (str, bytes, type(None), tuple, list, dict, set, type)  # what no number equals


class Number:
    """A float whose arithmetic is written down: NOTE [Traced numbers].

    Args:
        known: the float of this capture; None if that is in the tensor alone.
        tensor: what stands for it in the graph.
        capture: of the function whose arguments it comes from; ``sources``: which of its leaves these are, or ``ITEMS``.
    """

    __slots__ = ("known", "tensor", "capture", "sources")
    PYTHON: type = float

    def __init__(self, known: float | None, tensor: Tensor, capture: Any, sources: frozenset[int]):
        self.known, self.tensor, self.capture, self.sources = known, tensor, capture, sources

    @property
    def value(self) -> float:
        """The float of this capture."""
        if self.known is None:
            self.known = self.capture.read(self.tensor)
        return self.known

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What ``isinstance`` is told."""
        return self.PYTHON

    def is_followed(self) -> bool:
        """Whether what is computed of it, now and in this thread, is written down."""
        current = capture_of_thread() if self.capture in traces else None
        return current is not None and not current.depth

    def is_asked(self) -> bool:
        """Whether an answer about it may be a guard: bodies of loops and branches have none."""
        return self.is_followed() and capture_of_thread() is self.capture

    def fits(self, dtype: DType) -> bool:
        """Whether it may be a tensor of a dtype in the place of a number of it."""
        return dtype in (float32, float64)

    def cast(self, dtype: DType) -> Any:
        """It as a tensor of a dtype; as a number where that would not be the same."""
        made: Tensor = self.tensor if dtype is float64 else CALLS["to_dtype"](self.tensor, dtype)
        return made

    def __float__(self) -> float:
        if self.capture in traces:
            self.capture.fixed |= self.sources - {ITEMS}
            if ITEMS in self.sources:
                self.capture.ask("item", self.tensor)
        return self.value

    # ---- arithmetic ------------------------------------------------------------------------------------------------

    def combined(self, name: str, compute: Callable, other: Any, reflected: bool = False) -> Any:
        """``self name other``, or the other way round."""
        if isinstance(other, Tensor):
            return NotImplemented
        kind = type(other)
        if kind is Whole:
            other = other.as_float()
            kind = type(other)
        if kind not in (Number, float, int, bool) or not self.is_followed():
            one, two = float(self), plain_number(other)
            return compute(two, one) if reflected else compute(one, two)
        x, y = (other, self) if reflected else (self, other)
        if name == "div" and type(y) is Number and y == 0:
            compute(1.0, 0.0)  # which raises an error
        asked = type(x) is Number and x.known is None or type(y) is Number and y.known is None
        value = None if asked else compute(value_of(x), value_of(y))
        sources = self.sources | other.sources if kind is Number else self.sources
        return Number(value, CALLS[name](operand_of(x), operand_of(y)), self.capture, sources)

    __add__, __radd__ = partialmethod(combined, "add", operator.add), partialmethod(combined, "add", operator.add, reflected=True)
    __sub__, __rsub__ = partialmethod(combined, "sub", operator.sub), partialmethod(combined, "sub", operator.sub, reflected=True)
    __mul__, __rmul__ = partialmethod(combined, "mul", operator.mul), partialmethod(combined, "mul", operator.mul, reflected=True)
    __truediv__ = partialmethod(combined, "div", operator.truediv)
    __rtruediv__ = partialmethod(combined, "div", operator.truediv, reflected=True)

    def signed(self, name: str, compute: Callable[[float], float]) -> Any:
        """A change of its sign."""
        if not self.is_followed():
            return compute(float(self))
        return Number(None if self.known is None else compute(self.known), CALLS[name](self.tensor), self.capture, self.sources)

    __neg__, __abs__ = partialmethod(signed, "neg", operator.neg), partialmethod(signed, "abs", abs)

    def __pos__(self) -> Any:
        return self

    def powered(self, other: Any, *modulus: Any, reflected: bool = False) -> Any:
        """``self ** other``, or the other way round: one of floats, of which the base is not negative."""
        if isinstance(other, Tensor):
            return NotImplemented
        known = type(other) not in (Number, Whole, float, int, bool) or modulus
        if known or not self.is_asked():
            return self.of_value("__rpow__" if reflected else "__pow__", other, *modulus)
        x, y = (other, self) if reflected else (self, other)
        if type(y) is int and y in (1, 2) and type(x) is Whole:
            return x if y == 1 else x * x
        one, two = float_of(x), float_of(y)
        if (
            type(one) is int
            or type(two) is int
            or type(x) in (int, bool, Whole)
            and type(y) in (int, bool, Whole)
            and not y < 0
            or not (one >= 0 or type(two) is float and two.is_integer())
        ):
            return pow(plain_number(x), plain_number(y))
        return function_of("power", one, two)

    __pow__, __rpow__ = powered, partialmethod(powered, reflected=True)

    # ---- answers ---------------------------------------------------------------------------------------------------

    def compared(self, name: str, compute: Callable, other: Any) -> Any:
        """The answer to ``self name other``."""
        if isinstance(other, Tensor):
            return NotImplemented
        kind = type(other)
        if isinstance(other, VALUELESS):
            return compute(self.value, other)
        small = kind in (Number, float, bool) or kind is int and abs(other) <= EXACT
        if not small or not self.is_asked():
            return compute(float(self), plain_number(other))
        return bool(CALLS[name](self.tensor, operand_of(other)))

    __lt__, __le__ = partialmethod(compared, "lt", operator.lt), partialmethod(compared, "le", operator.le)
    __gt__, __ge__ = partialmethod(compared, "gt", operator.gt), partialmethod(compared, "ge", operator.ge)
    __eq__, __ne__ = partialmethod(compared, "eq", operator.eq), partialmethod(compared, "ne", operator.ne)

    def __bool__(self) -> bool:
        return bool(self.compared("ne", operator.ne, 0))

    def __int__(self) -> int:
        return int(self.tensor) if self.is_asked() and abs(self.value) < EXACT else int(float(self))

    __trunc__ = __int__

    # ---- what takes the float itself -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.PYTHON, name):
            raise AttributeError(f"{self.PYTHON.__name__!r} object has no attribute {name!r}")
        return getattr(plain_number(self), name)

    def of_value(self, name: str, *others: Any) -> Any:
        """What a method of floats, or of ints, gives."""
        if others and isinstance(others[0], Tensor):
            return NotImplemented
        return getattr(self.PYTHON, name)(plain_number(self), *map(plain_number, others))

    __hash__, __repr__ = partialmethod(of_value, "__hash__"), partialmethod(of_value, "__repr__")
    __str__, __format__ = partialmethod(of_value, "__str__"), partialmethod(of_value, "__format__")
    __floordiv__, __rfloordiv__ = partialmethod(of_value, "__floordiv__"), partialmethod(of_value, "__rfloordiv__")
    __mod__, __rmod__ = partialmethod(of_value, "__mod__"), partialmethod(of_value, "__rmod__")
    __divmod__, __rdivmod__ = partialmethod(of_value, "__divmod__"), partialmethod(of_value, "__rdivmod__")
    __round__ = partialmethod(of_value, "__round__")
    __floor__, __ceil__ = partialmethod(of_value, "__floor__"), partialmethod(of_value, "__ceil__")

    def __reduce__(self) -> tuple:
        return self.PYTHON, (plain_number(self),)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return self.__reduce__()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(plain_number(self), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return getattr(ufunc, method)(*map(plain_number, inputs), **named)


class Whole(Number):
    """An int among the arguments, or that ``item`` has read: NOTE [Items]. Its tensor is one of int64.

    Args:
        bound: what its absolute value does not exceed in any run of the program; None if nobody knows.
    """

    __slots__ = ("bound",)
    PYTHON = int

    def __init__(self, known: int | None, tensor: Tensor, capture: Any, sources: frozenset[int], bound: int | None = None):
        super().__init__(known, tensor, capture, sources)
        self.bound = bound

    def __float__(self) -> float:
        return float(int(self))

    def __int__(self) -> int:
        return int(super().__float__())

    __index__ = __trunc__ = __int__

    def is_argument(self) -> bool:
        """Whether it is an argument itself, of which programs make modes and counts."""
        return ITEMS not in self.sources and id(self.tensor) in self.capture.inputs

    def is_within(self, bound: int) -> bool:
        """Whether it is so small, now and in every run of the program."""
        if self.bound is not None and self.bound <= bound:
            return self.is_followed()
        small = self.is_asked() and -bound <= self.value <= bound
        return small and bool(CALLS["logical_and"](CALLS["ge"](self.tensor, -bound), CALLS["le"](self.tensor, bound)))

    def is_word(self) -> bool:
        """Whether what is computed of it is no larger than integers of 64 bits, now and in every run of the program."""
        return self.is_followed() if self.bound is not None else self.is_within(SMALL)

    def fits(self, dtype: DType) -> bool:
        """Whether it may be a tensor of a dtype in the place of a number of it."""
        return dtype in (float32, float64, int64) or dtype is int32 and self.bound is not None and self.bound < SMALL

    def as_float(self) -> Any:
        """It as a number that is a float, if it is exactly one; else the int."""
        if not self.is_within(EXACT):
            return int(self)
        return Number(float(self.value), CALLS["to_dtype"](self.tensor, float64), self.capture, self.sources)

    def cast(self, dtype: DType) -> Any:
        """It as a tensor of a dtype; as a number where that would not be the same."""
        exact = self.as_float() if dtype.is_floating_point else self
        return (
            exact if type(exact) is int else exact.tensor if dtype in (float64, int64) else CALLS["to_dtype"](exact.tensor, dtype)
        )

    def combined(self, name: str, compute: Callable, other: Any, reflected: bool = False) -> Any:
        """``self name other``, or the other way round."""
        kind = type(other)
        if isinstance(other, Tensor):
            return NotImplemented
        if kind in (Number, float) or name == "div" and kind in (int, bool, Whole):
            one, two = self.as_float(), other.as_float() if kind is Whole else other
            if type(one) is int or type(two) is int and abs(two) > EXACT:  # integers are divided exactly
                one, two = int(self), plain_number(other)
            return compute(two, one) if reflected else compute(one, two)
        bound = self.bound_with(name, other)
        small = kind is Whole and other.is_within(SMALL) or kind in (int, bool) and abs(other) <= SMALL
        if bound is None and (not small or not self.is_within(SMALL)) or not self.is_followed():
            one, two = int(self), plain_number(other)
            return compute(two, one) if reflected else compute(one, two)
        x, y = (other, self) if reflected else (self, other)
        sources = self.sources | other.sources if kind is Whole else self.sources
        made = CALLS[name](operand_of(x), operand_of(y))
        return Whole(compute(value_of(x), value_of(y)), made, self.capture, sources, bound)

    def bound_with(self, name: str, other: Any) -> int | None:
        """The bound of ``self name other``; None if it is not known, or not of 64 bits."""
        one, two = self.bound, other.bound if type(other) is Whole else abs(other) if type(other) in (int, bool) else None
        found = None if one is None or two is None else BOUNDS[name](one, two)
        return found if found is not None and found <= MOST else None

    __add__, __radd__ = partialmethod(combined, "add", operator.add), partialmethod(combined, "add", operator.add, reflected=True)
    __sub__, __rsub__ = partialmethod(combined, "sub", operator.sub), partialmethod(combined, "sub", operator.sub, reflected=True)
    __mul__, __rmul__ = partialmethod(combined, "mul", operator.mul), partialmethod(combined, "mul", operator.mul, reflected=True)
    __truediv__ = partialmethod(combined, "div", operator.truediv)
    __rtruediv__ = partialmethod(combined, "div", operator.truediv, reflected=True)

    def signed(self, name: str, compute: Callable) -> Any:
        """A change of its sign."""
        if not self.is_word():
            return compute(int(self))
        return Whole(compute(self.value), CALLS[name](self.tensor), self.capture, self.sources, self.bound)

    __neg__, __abs__ = partialmethod(signed, "neg", operator.neg), partialmethod(signed, "abs", abs)

    def divided(self, name: str, compute: Callable, other: Any) -> Any:
        """The whole part of a quotient, or what remains, where the divisor is a positive number that is known."""
        if type(other) is int and 0 < other <= SMALL and self.is_word():
            value = None if self.known is None else compute(self.known, other)
            return Whole(value, CALLS[name](self.tensor, other), self.capture, self.sources, self.bound and max(self.bound, other))
        return NotImplemented if isinstance(other, Tensor) else compute(int(self), plain_number(other))

    __floordiv__ = partialmethod(divided, "floor_divide", operator.floordiv)
    __mod__ = partialmethod(divided, "remainder", operator.mod)

    def compared(self, name: str, compute: Callable, other: Any) -> Any:
        """The answer to ``self name other``."""
        kind = type(other)
        if isinstance(other, VALUELESS):
            return compute(self.value, other)
        if self.is_argument() and not isinstance(other, Tensor):
            return compute(int(self), plain_number(other))
        if kind in (Number, float):
            return compute(self.as_float(), other)
        if kind not in (Whole, int, bool) or kind is int and abs(other) >= 1 << 63 or not self.is_asked():
            return NotImplemented if isinstance(other, Tensor) else compute(int(self), plain_number(other))
        return bool(CALLS[name](self.tensor, operand_of(other)))

    __lt__, __le__ = partialmethod(compared, "lt", operator.lt), partialmethod(compared, "le", operator.le)
    __gt__, __ge__ = partialmethod(compared, "gt", operator.gt), partialmethod(compared, "ge", operator.ge)
    __eq__, __ne__ = partialmethod(compared, "eq", operator.eq), partialmethod(compared, "ne", operator.ne)
    __hash__ = Number.__hash__
    __and__, __rand__ = partialmethod(Number.of_value, "__and__"), partialmethod(Number.of_value, "__rand__")
    __or__, __ror__ = partialmethod(Number.of_value, "__or__"), partialmethod(Number.of_value, "__ror__")
    __xor__, __rxor__ = partialmethod(Number.of_value, "__xor__"), partialmethod(Number.of_value, "__rxor__")
    __lshift__, __rlshift__ = partialmethod(Number.of_value, "__lshift__"), partialmethod(Number.of_value, "__rlshift__")
    __rshift__, __rrshift__ = partialmethod(Number.of_value, "__rshift__"), partialmethod(Number.of_value, "__rrshift__")
    __invert__ = partialmethod(Number.of_value, "__invert__")


def value_of(x: Any) -> Any:
    """The number, of which nothing is fixed."""
    return x.value if type(x) in FOLLOWED else x


def operand_of(x: Any) -> Any:
    """What stands for a number in the graph."""
    return x.tensor if type(x) in FOLLOWED else x


def plain_number(x: Any) -> Any:
    """A traced number as one of Python's, which fixes it; everything else itself."""
    return x if type(x) not in FOLLOWED else float(x) if type(x) is Number else int(x)


FOLLOWED = (Number, Whole)


def float_of(x: Any) -> Any:
    """A number as a float, or as one that is followed; an int that is exactly none as it is."""
    if type(x) is Whole:
        return x.as_float()
    return float(x) if type(x) in (int, bool) and abs(x) <= EXACT else x


def function_of(name: str, *numbers: Any) -> Any:
    """A function of floats: of those that are followed as part of the program, else its value."""
    numbers = tuple(map(float_of, numbers))
    followed = [x for x in numbers if type(x) is Number]
    if not followed or not all(type(x) in (Number, float) for x in numbers) or not all(x.is_asked() for x in followed):
        return function(name)(*map(plain_number, numbers))
    value = None if any(x.known is None for x in followed) else function(name)(*map(value_of, numbers))
    made = written(followed[0].capture, name, list(map(operand_of, numbers)))
    return Number(value, made, followed[0].capture, frozenset().union(*(x.sources for x in followed)))


def plain(x: Any) -> Any:
    """The same of what tuples, lists and dicts hold."""
    if type(x) in (tuple, list):
        return type(x)([plain(y) for y in x])
    return {key: plain(y) for key, y in x.items()} if type(x) is dict else plain_number(x)
