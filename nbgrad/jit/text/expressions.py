"""Expressions in texts of graphs: values, numbers, types, and what else stands in the place of an operand."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from ...base.errors import GraphError
from ...creation.generators import Generator
from ..ir.ir import Value
from ..ir.literals import KINDS, MEANINGS, Kind, Type

__all__ = ["Expressions", "type_of_text", "value_of_text"]

FACTS = ("conj", "neg", "requires_grad", "may_require_grad", "dtype", "layout")
CONSTANTS = {"full": "filled_value", "of": "value_of", "bits": "value_of_bits"}


class Expressions:
    """Reads expressions.

    Attributes:
        values: of the names that were defined; ``generators`` by name.
    """

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.generators: dict[str, Generator] = {}

    def refuse(self, where: Any, came: str, expected: str) -> NoReturn:
        """Raise the error for a place."""
        place = f"line {where.lineno}, column {where.col_offset + 1}: " if where is not None else ""
        raise GraphError(f"parse: {place}got {came}, expected {expected}.")

    def require(self, x: ast.expr, kind: Any, expected: str) -> Any:
        """What must be of a form."""
        if not isinstance(x, kind):
            self.refuse(x, f"{ast.unparse(x)[:60]!r}", expected)
        return x

    def constant(self, x: ast.expr) -> Value:
        """The constant that ``float32[2].of(1.0, 2.0)`` makes."""
        call = self.require(x, ast.Call, "a constant, 'float32[2].of(1.0, 2.0)'")
        method = self.require(call.func, ast.Attribute, "a constant, 'float32[2].of(1.0, 2.0)'")
        kind, numbers = self.type(method.value), [self.argument(each) for each in call.args]
        if method.attr not in CONSTANTS:
            self.refuse(call, f"'{method.attr}'", f"one of {', '.join(CONSTANTS)}")
        make = getattr(kind, CONSTANTS[method.attr])
        return self.meaning(call, lambda: make(numbers) if method.attr == "of" else make(*numbers))

    def type(self, x: ast.expr) -> Type:
        """What an annotation says."""
        found = self.expression(x)
        if not isinstance(found, Type):
            self.refuse(x, f"{ast.unparse(x)[:60]!r}", "a type, as 'float32[2, 3]'")
        return found

    def argument(self, x: ast.expr) -> Any:
        """An operand, an attribute, or an output."""
        found = self.expression(x)
        if isinstance(found, (Type, Kind)):
            self.refuse(x, f"{ast.unparse(x)[:60]!r}", "a value or a number")
        return found

    def expression(self, x: ast.expr) -> Any:
        """What an expression means."""
        if isinstance(x, ast.Constant):
            return x.value
        if isinstance(x, ast.Tuple):
            return tuple([self.expression(each) for each in x.elts])
        if isinstance(x, ast.List):
            return [self.expression(each) for each in x.elts]
        if isinstance(x, ast.Name):
            return self.named(x)
        if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
            number = self.expression(x.operand)
            return self.meaning(x, lambda: -number)
        if isinstance(x, ast.Subscript):
            kind, shape = self.expression(x.value), self.expression(x.slice)
            return self.meaning(x, lambda: kind[shape])
        if isinstance(x, ast.Attribute) and x.attr in FACTS:
            owner = self.expression(x.value)
            return self.meaning(x, lambda: getattr(owner, x.attr))
        if isinstance(x, ast.Call) and not x.keywords:
            return self.made(x)
        self.refuse(x, f"{ast.unparse(x)[:60]!r}", "a value, a number or a type")

    def named(self, x: ast.Name) -> Any:
        """The meaning of a name."""
        if x.id in self.values:
            return self.values[x.id]
        if x.id in self.generators:
            return self.generators[x.id]
        if x.id in KINDS or x.id in ("Tensor", "nan", "inf"):
            return MEANINGS[x.id]
        self.refuse(x, f"'{x.id}'", "a name that is defined above")

    def made(self, x: ast.Call) -> Any:
        """What a call in an expression makes: a number, a device, a slice, a type of other strides or on another device."""
        arguments = [self.expression(each) for each in x.args]
        if isinstance(x.func, ast.Attribute) and x.func.attr in ("strides", "on"):
            owner, name = self.expression(x.func.value), x.func.attr
            return self.meaning(x, lambda: getattr(owner, name)(*arguments))
        if isinstance(x.func, ast.Name) and x.func.id in ("complex_number", "device", "generator", "slice_of", "unspoken"):
            make = MEANINGS[x.func.id]
            return self.meaning(x, lambda: make(*arguments))
        self.refuse(x, f"{ast.unparse(x)[:60]!r}", "an operand: calls of operations are statements of their own")

    def meaning(self, x: ast.expr, make: Any) -> Any:
        """What ``make`` gives.

        Raises:
            GraphError: it fails, because the text is wrong there.
        """
        try:
            return make()
        except (TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
            self.refuse(x, f"{ast.unparse(x)[:60]!r} ({error})", "what graphs are written in")


def alone(text: str) -> ast.expr:
    """An expression that stands alone.

    Raises:
        GraphError: it is none.
    """
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise GraphError(f"parse: {text[:60]!r}: {error.msg}.") from None


def value_of_text(text: str) -> Any:
    """The number, string or the like that ``literal`` spelled.

    Raises:
        GraphError: it is spelled otherwise.
    """
    return Expressions().argument(alone(text))


def type_of_text(text: str) -> Type:
    """The type that ``type_text`` spelled.

    Raises:
        GraphError: it is spelled otherwise.
    """
    return Expressions().type(alone(text))
