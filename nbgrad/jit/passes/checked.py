"""Passes behind which graphs are checked, under ``NBGRAD_CHECK=1``."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from ...base import config
from ...base.errors import GraphError
from ..ir.graph import Graph

__all__ = ["checked"]


def checked(run_pass: Callable) -> Callable:
    """A pass, ``run_pass(graph, ...)``, behind which the graph that it returns or has changed is checked, under ``NBGRAD_CHECK=1``.

    Raises:
        GraphError: as ``check``, with what the pass has changed.
    """

    @wraps(run_pass)
    def call(graph: Graph, *args: Any, **kwargs: Any) -> Any:
        if not config.CHECK:
            return run_pass(graph, *args, **kwargs)
        from ..ir.checker import check
        from ..ir.equality import text_difference

        before = str(graph)
        result = run_pass(graph, *args, **kwargs)
        left = result if isinstance(result, Graph) else graph
        try:
            check(left, run_pass.__name__)
        except GraphError as error:
            raise GraphError(f"{error}What it changed:\n{text_difference(before, str(left))}") from None
        return result

    return call
