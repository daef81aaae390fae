"""Signatures of declarations: read from their formulas, and shown under public names to those who ask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

__all__ = ["LateSignature", "signature_of"]

Kind = inspect._ParameterKind
VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def signature_of(formula: Callable) -> inspect.Signature:
    """``inspect.signature``; that of a plain function is made at once: an import makes some 700 of them."""
    code = getattr(formula, "__code__", None)
    if type(formula) is not FunctionType or code is None or code.co_flags & VARIADIC or vars(formula):
        return inspect.signature(formula)
    count, first_named, empty, annotations = code.co_argcount, code.co_posonlyargcount, inspect.Parameter.empty, notes(formula)
    names, defaults, by_name = code.co_varnames, formula.__defaults__ or (), formula.__kwdefaults__ or {}
    required = count - len(defaults)
    parameters = [
        parameter(
            names[k],
            Kind.POSITIONAL_ONLY if k < first_named else Kind.POSITIONAL_OR_KEYWORD,
            empty if k < required else defaults[k - required],
            annotations.get(names[k], empty),
        )
        for k in range(count)
    ]
    for name in names[count : count + code.co_kwonlyargcount]:
        parameters.append(parameter(name, Kind.KEYWORD_ONLY, by_name.get(name, empty), annotations.get(name, empty)))
    returned = annotations.get("return", inspect.Signature.empty)
    return inspect.Signature(parameters, return_annotation=returned, __validate_parameters__=False)


def parameter(name: str, kind: Any, default: Any, annotation: Any) -> inspect.Parameter:
    """A parameter; those that have but a name, as most, are one for all signatures: they never change."""
    if default is inspect.Parameter.empty and annotation is inspect.Parameter.empty:
        return bare_parameter(name, kind)
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


@cache
def bare_parameter(name: str, kind: Any) -> inspect.Parameter:
    """A parameter without a default."""
    return inspect.Parameter(name, kind)


def notes(formula: FunctionType) -> dict[str, Any]:
    """The annotations of a function, none of a lambda."""
    return {} if formula.__name__ == "<lambda>" else formula.__annotations__


class LateSignature(inspect.Signature):
    """A signature that is made when somebody reads it, as nobody does of most of the functions that an import makes.

    >>> signature = LateSignature.by(lambda: inspect.signature(lambda x, *, y=2: x))
    >>> signature, list(signature.parameters)
    (<Signature (x, *, y=2)>, ['x', 'y'])
    """

    __slots__ = ("_made_by_",)
    _made_by_: Callable[[], inspect.Signature]

    @classmethod
    def by(cls, make: Callable[[], inspect.Signature]) -> LateSignature:
        """The signature that ``make()`` gives."""
        signature = object.__new__(cls)
        signature._made_by_ = make
        return signature

    def __getattr__(self, name: str) -> Any:
        """Of what is not there yet: the slots of the class in ``inspect``."""
        if name not in inspect.Signature.__slots__:
            raise AttributeError(name)
        made = self._made_by_()
        for slot in inspect.Signature.__slots__:
            setattr(self, slot, getattr(made, slot))
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"<Signature {self}>"

    def __reduce__(self) -> Any:
        return inspect.Signature, (tuple(self.parameters.values()),), {"_return_annotation": self.return_annotation}
