"""Signatures of declarations: read from their formulas, and shown under public names to those who ask."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
        inspect.Parameter(
            names[k],
            Kind.POSITIONAL_ONLY if k < first_named else Kind.POSITIONAL_OR_KEYWORD,
            default=empty if k < required else defaults[k - required],
            annotation=annotations.get(names[k], empty),
        )
        for k in range(count)
    ]
    for name in names[count : count + code.co_kwonlyargcount]:
        default, annotation = by_name.get(name, empty), annotations.get(name, empty)
        parameters.append(inspect.Parameter(name, Kind.KEYWORD_ONLY, default=default, annotation=annotation))
    returned = annotations.get("return", inspect.Signature.empty)
    return inspect.Signature(parameters, return_annotation=returned, __validate_parameters__=False)


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
