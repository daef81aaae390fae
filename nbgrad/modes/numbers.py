"""Numbers that a capture follows: floats among the arguments of a captured function, and what it computes of them.

NOTE [Traced numbers]: a float argument of a captured function is an input of the graph, a float64 without dimensions. The function
sees a ``Number``, which says that it is a float. What Python's operators compute of it is written down, like calls of tensors.
Where it meets an operation it becomes a tensor of the dtype in which the operation takes a number, rounded once, as the number
would be; so another number is another word, and no other program. What is compared, or asked for its truth or its whole part, is a
value that the program asks for: NOTE [Values asked for] of jit/values.py. Whoever needs the number itself (``float``, ``math``,
NumPy, texts, keys, powers, whatever takes no tensor) fixes the arguments that it comes from: the capture begins again with these as
they are, and the program holds for these values alone. Behind its capture a number is a float, and nothing else.
"""

from __future__ import annotations

import operator
from functools import partialmethod
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import DType, float64
from ..base.grad_mode import capture_of_thread, traces
from ..tensors.tensor import Tensor

__all__ = ["Number", "plain", "plain_number", "value_of"]

EXACT = 1 << 53  # integers beyond are no floats
VALUELESS = (str, bytes, type(None), tuple, list, dict, set, type)  # what no number equals


class Number:
    """A float whose arithmetic is written down: NOTE [Traced numbers].

    Args:
        value: the float of this capture.
        tensor: what stands for it in the graph.
        capture: of the function whose arguments it comes from; ``sources``: which of its leaves these are.
    """

    __slots__ = ("value", "tensor", "capture", "sources")

    def __init__(self, value: float, tensor: Tensor, capture: Any, sources: frozenset[int]):
        self.value, self.tensor, self.capture, self.sources = value, tensor, capture, sources

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What ``isinstance`` is told."""
        return float

    def is_followed(self) -> bool:
        """Whether what is computed of it, now and in this thread, is written down."""
        current = capture_of_thread() if self.capture in traces else None
        return current is not None and not current.depth

    def is_asked(self) -> bool:
        """Whether an answer about it may be a guard: bodies of loops and branches have none."""
        return self.is_followed() and capture_of_thread() is self.capture

    def cast(self, dtype: DType) -> Tensor:
        """It as a tensor of a floating dtype."""
        made: Tensor = self.tensor if dtype is float64 else CALLS["to_dtype"](self.tensor, dtype)
        return made

    def __float__(self) -> float:
        if self.capture in traces:
            self.capture.fixed |= self.sources
        return self.value

    # ---- arithmetic ------------------------------------------------------------------------------------------------

    def combined(self, name: str, compute: Callable, other: Any, reflected: bool = False) -> Any:
        """``self name other``, or the other way round."""
        if isinstance(other, Tensor):
            return NotImplemented
        kind = type(other)
        if kind not in (Number, float, int, bool) or not self.is_followed():
            one, two = float(self), plain_number(other)
            return compute(two, one) if reflected else compute(one, two)
        x, y = (other, self) if reflected else (self, other)
        if name == "div" and type(y) is Number:
            _ = y == 0  # which raises an error in Python
        value = compute(value_of(x), value_of(y))
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
        return Number(compute(self.value), CALLS[name](self.tensor), self.capture, self.sources)

    __neg__, __abs__ = partialmethod(signed, "neg", operator.neg), partialmethod(signed, "abs", abs)

    def __pos__(self) -> Any:
        return self

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
        if not hasattr(float, name):
            raise AttributeError(f"'float' object has no attribute {name!r}")
        return getattr(float(self), name)

    def of_value(self, name: str, *others: Any) -> Any:
        """What a method of floats gives."""
        if others and isinstance(others[0], Tensor):
            return NotImplemented
        return getattr(float, name)(float(self), *map(plain_number, others))

    __hash__, __repr__ = partialmethod(of_value, "__hash__"), partialmethod(of_value, "__repr__")
    __str__, __format__ = partialmethod(of_value, "__str__"), partialmethod(of_value, "__format__")
    __pow__, __rpow__ = partialmethod(of_value, "__pow__"), partialmethod(of_value, "__rpow__")
    __floordiv__, __rfloordiv__ = partialmethod(of_value, "__floordiv__"), partialmethod(of_value, "__rfloordiv__")
    __mod__, __rmod__ = partialmethod(of_value, "__mod__"), partialmethod(of_value, "__rmod__")
    __divmod__, __rdivmod__ = partialmethod(of_value, "__divmod__"), partialmethod(of_value, "__rdivmod__")
    __round__ = partialmethod(of_value, "__round__")
    __floor__, __ceil__ = partialmethod(of_value, "__floor__"), partialmethod(of_value, "__ceil__")

    def __reduce__(self) -> tuple:
        return float, (float(self),)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return self.__reduce__()

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(float(self), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return getattr(ufunc, method)(*map(plain_number, inputs), **named)


def value_of(x: Any) -> Any:
    """The number, of which nothing is fixed."""
    return x.value if type(x) is Number else x


def operand_of(x: Any) -> Any:
    """What stands for a number in the graph."""
    return x.tensor if type(x) is Number else x


def plain_number(x: Any) -> Any:
    """A traced number as a float, which fixes it; everything else itself."""
    return float(x) if type(x) is Number else x


def plain(x: Any) -> Any:
    """The same of what tuples, lists and dicts hold."""
    if type(x) in (tuple, list):
        return type(x)([plain(y) for y in x])
    return {key: plain(y) for key, y in x.items()} if type(x) is dict else plain_number(x)
