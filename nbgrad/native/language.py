"""The language of native code: Python, with types.

A native function is an ordinary function of Python in a module of this folder, with a decorator that leaves it as it is. Called, it
runs in the interpreter: that is what happens where native code is off, and in a debugger. ``translator`` makes machine code of the
same text; ``link`` loads that and hands it to the package. There is no second version of anything.

    @native     a function that native code calls
    @entry      one that Python calls too
    @bound      a class whose methods are entries; its fields never change once an object is made; ``MOST_OPERANDS`` of them are
                taken by a method with ``*``
    @raw        a function of numbers alone, which cannot fail and runs without the interpreter
    @c_entry    the same, called from C, or by its address

What the language has: parameters and variables with the classes' own annotations as types; attributes, items, calls; ``if``,
``while``, ``for`` over ranges, tuples, lists and operands; ``is``, ``isinstance``, comparisons and arithmetic of ints; ``raise``
with a constant message, ``try`` with ``except BaseException``; tuples, lists, dicts, sets. Anything else is refused with its place
when it is translated. What Python has no word for is a *primitive*: see ``primitives``.

NOTE [Types]: ``int``, ``bool`` and ``float`` are machine numbers in parameters and variables, and objects in the fields of classes.
A class is an object of it, whose slots are read at their offsets; what has no annotation is any object, used through Python's
protocols. ``C | None`` must be tested before a field of it is read; ``isinstance``, ``type(x) is`` and ``is None`` tell the
translator what they tell the reader; an annotated assignment, and ``cast``, are promises, which the checked build looks at.

NOTE [Ints]: a machine number has 64 bits and wraps around; Python's do not. A function that counts on that is a primitive. ``//``,
``%``, ``<<`` and ``>>`` round, fail and shift as Python's do; raw code, which cannot fail, must not divide by 0. ``int(x)`` and
``float(x)`` are of numbers: of a text, and ``int`` of a float, they raise TypeError. An index counts from the beginning: a negative
one is an IndexError; words have no bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

__all__ = ["Primitive", "Row", "Static", "Words", "bound", "c_entry", "c_function", "entry", "native", "primitive", "raw"]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class Words:
    """A row of int64 in memory. In Python: an array of ctypes, a memoryview, or a tuple."""

    def __getitem__(self, k: int) -> int:
        raise NotImplementedError

    def __setitem__(self, k: int, value: int) -> None:
        raise NotImplementedError


class Static(list, Words):
    """Words that live as long as the module, with what they hold at first."""

    def __init__(self, *first: int):
        super().__init__(first)


if TYPE_CHECKING:
    Row = tuple
else:

    class Row(tuple):
        """Operands of a call: a pointer and a count. In Python: a tuple. All of it lives as long as the call."""


class Primitive(NamedTuple):
    """A primitive, as ``translator`` sees it.

    Attributes:
        body: its instructions; the parameters are theirs.
        new: the result is a reference of the caller's own.
        yields: Python code may run, the lock may change hands, or objects may die before it is done.
        late: but only when the arguments are no longer needed.
        raises: the result may be null (of an object) or true (of ``None``) with an error set.
    """

    body: str
    new: bool = False
    yields: bool = False
    late: bool = False
    raises: bool = False


def primitive(body: str, **flags: bool) -> Callable[[F], F]:
    """Give a Python function its meaning in machine code: see ``Primitive``."""

    def give(function: F) -> F:
        setattr(function, "primitive", Primitive(body, **flags))  # noqa: B010
        return function

    return give


def mark(function: F, style: str) -> F:
    """Say what kind of native function it is."""
    setattr(function, "native", style)  # noqa: B010
    return function


def native(
    function: F | None = None,
    *,
    inline: bool = False,
    cold: bool = False,
    borrows: bool = False,
    python: Callable[..., Any] | None = None,
) -> Any:
    """A function that native code calls.

    Args:
        inline: into whoever calls it.
        borrows: the same, and the result is no reference of the caller's own. Nothing may run in it.
        cold: seldom called, and kept out of the way of what is not.
        python: what Python runs in its place. For what relies on the lock: native code keeps it unless it gives it away, and
            between two lines of Python it may change hands.
    """
    if function is None:
        style = "borrows" if borrows else "inline" if inline else "cold" if cold else "plain"
        return lambda function: mark(python or function, style)
    return mark(function, "plain")


def entry(function: F | None = None, *, python: Callable[..., Any] | None = None) -> Any:
    """A function that Python calls too; ``python`` as for ``native``."""
    if function is None:
        return lambda function: mark(python or function, "entry")
    return mark(function, "entry")


def bound(cls: C) -> C:
    """A class whose methods are entries; its fields never change once an object is made."""
    return mark(cls, "bound")


def raw(function: F) -> F:
    """A function of numbers alone: it cannot fail, and runs without the interpreter."""
    return mark(function, "raw")


def c_entry(function: F) -> F:
    """A raw function that is called from C, or by its address."""
    return mark(function, "c")


def c_function(name: str, count: int, result: str = "i32") -> Callable[..., int]:
    """A function of the C library, of so many integers or pointers.

    Args:
        result: LLVM's type of what it returns, ``void`` for nothing; a pointer counts as ``i64``.
    """

    def call(*args: Any) -> int:
        import ctypes

        function = getattr(ctypes.CDLL(None), name)
        function.restype = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "void": None}[result]
        return function(*args)

    setattr(call, "c_function", (name, count, result))  # noqa: B010
    return call
