"""Static types. They say what the machine holds, and what is known of an object; values and functions have them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..language import Row, Words
from ..primitives import Slot


class Refused(SyntaxError):
    """Native code cannot say this."""


class Kind(NamedTuple):
    """A static type: what the machine holds; of an object its class, and whether it may be None instead."""

    what: str
    cls: Any = object
    optional: bool = False

    @property
    def ir(self) -> str:
        return {"int": "i64", "bool": "i1", "float": "double"}.get(self.what, "ptr")


INT, BOOL, FLOAT, NOTHING, WORDS, ROW, ANY = map(Kind, ("int", "bool", "float", "none", "words", "row", "object"))


NONE = Kind("object", type(None), True)


RAW = {int: INT, bool: BOOL, float: FLOAT, type(None): NOTHING, Words: WORDS, Row: ROW}


NAMES = {t.__name__: t for t in (int, bool, float, bytes, dict, list, set, tuple, type, Words)} | {
    "None": type(None),
    "Any": object,
    "Callable": object,
    "Row": Row,
    "Slot": Slot,
    "BaseException": BaseException,
}


class Value(NamedTuple):
    """The result of an expression.

    Attributes:
        ir: LLVM's name of it; of a row a pair: pointer, count.
        root: what keeps an object alive: "always" something outside of the function, "here" this statement or a variable, ""
        nothing.
        slot: where the reference is that this statement owns, or the variable that does.
        lender: the variable that borrows it.
    """

    ir: Any
    kind: Kind
    root: str = "always"
    slot: str = ""
    lender: str = ""


class Made(NamedTuple):
    """A translated function or a primitive, with the flags of ``language.Primitive``; it may be given ``star`` operands more."""

    symbol: str
    kinds: tuple[Kind, ...]
    result: Kind
    star: int = 0
    new: bool = True
    raises: bool = True
    yields: bool = True
    late: bool = False

    @property
    def out(self) -> str:
        """LLVM's type of the result."""
        if self.result is NOTHING:
            return "i1" if self.raises else "void"
        return f"{{ {self.result.ir}, i1 }}" if self.raises and self.result.ir != "ptr" else self.result.ir


def fits(given: Kind, kind: Kind) -> bool:
    """Whether a value of one kind may stand where another kind is wanted."""
    if kind.cls is object:
        return True
    if given.cls is type(None):
        return kind.optional or kind.cls is type(None)
    if given.optional and not kind.optional:
        return False
    return given.cls == kind.cls or isinstance(given.cls, type) and isinstance(kind.cls, type) and issubclass(given.cls, kind.cls)


def joined(*kinds: Kind) -> Kind:
    """The kind of a value that has one of several kinds, for all that is known."""
    if len(set(kinds)) == 1:
        return kinds[0]
    classes = {k.cls for k in kinds} - {type(None)}
    cls = classes.pop() if len(classes) == 1 else object
    return Kind(kinds[0].what, cls, cls is not object and any(k.optional for k in kinds))
