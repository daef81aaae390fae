"""Sizes that stay open while a plan is made: the plan of one shape then tells the plans of others.

NOTE [Open sizes]: what makes a plan is a function of layouts that computes numbers of sizes and compares them. Run on
``OpenSize``s it does the same, and a ``Derivation`` writes down what was computed and what was asked, with the answers. The result
is a function of sizes (dispatch/patterns.py): it asks the same questions, and where all answers are the same the maker would have
gone the same way, to the same expressions. So nothing is guessed. Whoever needs the number itself (an index, a key of a table, a
text, ``struct``) asks whether it is this number, and from then on it is that. Behind the derivation an open size is its number and
nothing else: tables in which it was left as a part of a key stay right.
"""

from __future__ import annotations

import operator
from functools import partialmethod
from typing import Any, Callable, Iterable

__all__ = ["OPEN", "Derivation", "OpenSize", "derivation_of", "is_open", "number_of", "spelled"]

# The derivations that are going on, of all threads; nearly always none.
OPEN: list[Derivation] = []
NUMBERS = (int, float, bool)


class Derivation:
    """What was computed and asked of open sizes, in its order.

    Attributes:
        steps: ``(name, text, names in it)`` of a number; of a question the name is "", and the text is true for this answer.
        made: numbers by their texts, products by their factors; ``asked``: answers by their texts.
        sources: what the numbers of a tuple are called, by where the tuple is found.
        layouts: see ``open_layout`` of tensors/layout.py.
        closed: nothing is written down any more.
    """

    __slots__ = ("steps", "made", "asked", "sources", "layouts", "closed")

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, tuple[str, ...]]] = []
        self.made: dict[Any, OpenSize] = {}
        self.asked: dict[str, bool] = {}
        self.sources: dict[str, tuple[OpenSize, ...]] = {}
        self.layouts: dict[Any, Any] = {}
        self.closed = False

    def __enter__(self) -> Derivation:
        OPEN.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        self.closed = True
        OPEN.remove(self)

    def opened(self, source: str, numbers: tuple[int, ...], least: int | None) -> tuple[Any, ...]:
        """The numbers of a tuple, open; of one that was opened before the same objects.

        Args:
            source: the tuple in the text of the function.
            least: see ``OpenSize``.
        """
        if source not in self.sources:
            first = sum(map(len, self.sources.values()))
            self.sources[source] = tuple([self.named(x, f"s{k}", least) for k, x in enumerate(numbers, first)])
        return self.sources[source]

    def named(self, value: Any, name: str, least: int | None, factors: tuple = ()) -> OpenSize:
        """A new number, which is its own only factor if it is no product."""
        number = OpenSize(value, name, self, least, factors or (1, name))
        return self.made.setdefault(number.factors, number)

    def number(self, sign: str, x: Any, y: Any, value: Any) -> Any:
        """The number ``x sign y``: one object for the same text, and for products of the same integers."""
        text, factors = f"{spelled(x)} {sign} {spelled(y)}", product_of(x, y) if sign == "*" and type(value) is int else ()
        if factors and len(factors) == 1:
            return factors[0]
        made = self.made.get(factors or text)
        if made is None:
            made = self.made[factors or text] = self.named(value, f"t{len(self.steps)}", lowest(sign, x, y), factors)
            self.steps.append((made.name, text, names_of(x, y)))
        return made

    def answer(self, sign: str, x: Any, y: Any, truth: bool) -> bool:
        """The answer to ``x sign y``, written down unless it is known."""
        if sign in OPPOSITES:
            return not self.answer(OPPOSITES[sign], x, y, not truth)
        if not is_open(x) or sign == ">" and is_open(y):
            return self.answer(MIRRORED[sign], y, x, truth)
        if sign == ">" and type(x.value) is int and isinstance(number_of(y), int):
            return not self.answer("<", x, number_of(y) + 1, not truth)
        known = settled(sign, x, y)
        if known is not None:
            return known
        text = f"{spelled(x)} {sign} {spelled(y)}"
        if text not in self.asked:
            self.asked[text] = truth
            self.steps.append(("", text if truth else f"not {text}", names_of(x, y)))
            learn(sign, x, y, truth)
        return truth


# Questions about integers are written down by ``<`` and ``==`` alone, so that each is asked once.
OPPOSITES = {"!=": "==", ">=": "<", "<=": ">"}
MIRRORED = {">": "<", "<": ">", "==": "=="}


class OpenSize:
    """A number that is computed of sizes which may be others: NOTE [Open sizes].

    Attributes:
        value: the number for the sizes at hand.
        name: in the derivation.
        least: what it is at least, for all sizes that give the answers so far; None if nobody knows.
        factors: it as a product: a number that is known, and the names of others.
        fixed: whether it was asked to be this number.
    """

    __slots__ = ("value", "name", "derivation", "least", "factors", "fixed")

    def __init__(self, value: Any, name: str, derivation: Derivation, least: int | None, factors: tuple):
        self.value, self.name, self.derivation, self.least = value, name, derivation, least
        self.factors, self.fixed = factors, False

    def combined(self, sign: str, compute: Callable, other: Any, reflected: bool = False) -> Any:
        """``self sign other``, or the other way round."""
        if type(other) is not OpenSize and type(other) not in NUMBERS:
            return NotImplemented
        x, y = (other, self) if reflected else (self, other)
        value = compute(number_of(x), number_of(y))
        return self.derivation.number(sign, x, y, value) if is_open(x) or is_open(y) else value

    __add__, __radd__ = partialmethod(combined, "+", operator.add), partialmethod(combined, "+", operator.add, reflected=True)
    __sub__, __rsub__ = partialmethod(combined, "-", operator.sub), partialmethod(combined, "-", operator.sub, reflected=True)
    __mul__, __rmul__ = partialmethod(combined, "*", operator.mul), partialmethod(combined, "*", operator.mul, reflected=True)
    __mod__, __rmod__ = partialmethod(combined, "%", operator.mod), partialmethod(combined, "%", operator.mod, reflected=True)
    __floordiv__ = partialmethod(combined, "//", operator.floordiv)
    __rfloordiv__ = partialmethod(combined, "//", operator.floordiv, reflected=True)
    __truediv__ = partialmethod(combined, "/", operator.truediv)
    __rtruediv__ = partialmethod(combined, "/", operator.truediv, reflected=True)
    __neg__ = partialmethod(combined, "*", operator.mul, -1)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def compared(self, sign: str, compute: Callable, other: Any) -> Any:
        """The answer to ``self sign other``."""
        if type(other) is not OpenSize and type(other) not in NUMBERS:
            return NotImplemented
        truth = compute(self.value, number_of(other))
        return self.derivation.answer(sign, self, other, truth) if is_open(self) or is_open(other) else truth

    __lt__, __le__ = partialmethod(compared, "<", operator.lt), partialmethod(compared, "<=", operator.le)
    __gt__, __ge__ = partialmethod(compared, ">", operator.gt), partialmethod(compared, ">=", operator.ge)
    __eq__, __ne__ = partialmethod(compared, "==", operator.eq), partialmethod(compared, "!=", operator.ne)

    def __bool__(self) -> bool:
        return bool(self != 0)

    # ---- what takes the number itself ----------------------------------------------------------------------------------

    def fix(self) -> Any:
        """The number: from now on it is no other."""
        if is_open(self):
            self.derivation.answer("==", self, self.value, True)
            self.fixed = True  # also where it followed from what is known
        return self.value

    __index__ = __int__ = __trunc__ = fix

    def __float__(self) -> float:
        return float(self.fix())

    def __hash__(self) -> int:
        return hash(self.fix())

    def __repr__(self) -> str:
        return repr(self.fix())

    def __format__(self, form: str) -> str:
        return format(self.fix(), form)


def is_open(x: Any) -> bool:
    """Whether what is computed of it is written down."""
    return type(x) is OpenSize and not (x.fixed or x.derivation.closed)


def derivation_of(numbers: Iterable[Any]) -> Derivation:
    """The derivation of numbers, of which one is open."""
    found: Derivation = next(x for x in numbers if is_open(x)).derivation
    return found


def number_of(x: Any) -> Any:
    """A number that may be open as one of Python's, of which nothing is asked."""
    return x.value if type(x) is OpenSize else x


def spelled(x: Any) -> str:
    """A number in the text of a derivation."""
    return x.name if is_open(x) else repr(number_of(x))


def names_of(*numbers: Any) -> tuple[str, ...]:
    """The names of those that are open."""
    return tuple([x.name for x in numbers if is_open(x)])


def least_of(x: Any) -> int | None:
    """What a number is at least; None if nobody knows."""
    return x.least if type(x) is OpenSize and is_open(x) else number_of(x)


def lowest(sign: str, x: Any, y: Any) -> int | None:
    """What a sum, or a product of numbers that are not negative, is at least."""
    one, two = least_of(x), least_of(y)
    if one is None or two is None or type(one) is float or type(two) is float:
        return None
    return one + two if sign == "+" else one * two if sign == "*" and one >= 0 and two >= 0 else None


def factors_of(x: Any) -> tuple[Any, ...]:
    """A number as a product: the factor that is known, and the names of those that are open."""
    return x.factors if is_open(x) else (number_of(x),)


def product_of(x: Any, y: Any) -> tuple[Any, ...]:
    """The factors of a product of integers; one that is known, alone, where that is 0."""
    (one, *names), (two, *more) = factors_of(x), factors_of(y)
    return (one * two, *sorted((*names, *more))) if one and two else (0,)


def settled(sign: str, x: OpenSize, y: Any) -> bool | None:
    """The answer to a question about an open number, where it is so for all sizes; else None."""
    if x is y:
        return sign == "=="
    below = not is_open(y) and x.least is not None and number_of(y) <= x.least
    return False if below and (sign == "<" or number_of(y) < (x.least or 0)) else None


def learn(sign: str, x: OpenSize, y: Any, truth: bool) -> None:
    """An answer tells what an open number is, or what it is at least."""
    if is_open(y) or type(number_of(y)) is not int:
        return
    bound = number_of(y)
    if sign == "==" and truth:
        x.fixed = True
    elif sign == "<" and not truth:
        x.least = bound if x.least is None else max(bound, x.least)
    elif sign == "==" and x.least == bound and type(x.value) is int:
        x.least = bound + 1
