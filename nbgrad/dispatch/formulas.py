"""Formulas: what elementwise plans compute, wherever it runs."""

from __future__ import annotations

from ..ops.expr import Expr
from ..tensors.layout import Layout

__all__ = ["Formula", "is_single"]


class Formula:
    """Expressions to be computed together: interned, so that plans and kernels can be kept by it.

    Attributes:
        name: for symbols and people.
        params: ``(name, boolean)`` of every operand.
        results: expressions over them.
    """

    __slots__ = ("name", "params", "results", "predicates")
    name: str
    params: tuple[tuple[str, bool], ...]
    results: tuple[Expr, ...]
    predicates: tuple[bool, ...]
    _known: dict[tuple, Formula] = {}

    def __new__(cls, name: str, params: tuple[tuple[str, bool], ...], results: tuple[Expr, ...]):
        key = (name, params, results)
        found = cls._known.get(key)
        if found is None:
            found = super().__new__(cls)
            found.name, found.params, found.results = key
            found.predicates = tuple(r.boolean for r in results)
            found = cls._known.setdefault(key, found)
        return found


def is_single(layout: Layout) -> bool:
    """Whether every position shows the same element: one element, or expanded from one."""
    return layout.numel == 1 or (layout.expanded and not any(t for s, t in zip(layout.shape, layout.strides) if s > 1))
