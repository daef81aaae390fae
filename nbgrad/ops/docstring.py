"""Docstrings that are derived from declarations when somebody reads them.

NOTE [Docstrings]: what users read of an operation follows from its declaration, but at an import nobody reads, and to derive it for
all takes a fifth of an import. Python's functions keep in ``__doc__`` whatever object they are given; to be shown it must be a str.
So it is one that knows whose text it is, and derives that (``describe.py``) when it is asked: by ``help``, ``inspect.getdoc``,
``print``, ``in``, any method of str.

>>> import nbgrad
>>> nbgrad.tanh.__doc__.splitlines()[0]
'The hyperbolic tangent.'
"""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["Docstring"]


class Docstring(str):
    """The docstring of an operation or a variant, by its name: a str that is derived when it is read.

    Functions in C that look at a str's characters without asking it (``re``, ``"".join``) see the declaration's sentences alone;
    ``str(doc)`` is the whole as an ordinary str.

    Attributes:
        name: of the operation in the table, or the first of a variant (NOTE [Variants]).
        public: the name of the function below the package, where it is another.
        variant: whether it is one.
    """

    __slots__ = ("name", "public", "variant")
    name: str
    public: str
    variant: bool

    def __new__(cls, name: str, sentence: str, public: str = "", variant: bool = False):
        self = super().__new__(cls, sentence)
        self.name, self.public, self.variant = name, public, variant
        return self

    def __str__(self) -> str:
        from .describe import docstring_of, docstring_of_variant

        return docstring_of_variant(self.name) if self.variant else docstring_of(self.name, self.public)

    def __radd__(self, other: str) -> str:
        return other + str(self)

    def __reduce__(self) -> tuple:
        return str, (str(self),)


def of_text(ask: Callable) -> Callable:
    """A method of str, asked of the derived text."""

    def method(self, *args: Any, **named: Any) -> Any:
        return ask(str(self), *(str(x) if isinstance(x, Docstring) else x for x in args), **named)

    return method


for _name in vars(str).keys() - {*vars(Docstring), "__getattribute__", "__sizeof__", "__getnewargs__", "maketrans"}:
    setattr(Docstring, _name, of_text(getattr(str, _name)))
