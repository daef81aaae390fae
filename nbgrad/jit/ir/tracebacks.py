"""Errors inside of graphs: their tracebacks show the statement of the graph's text that failed, and the program's line.

A graph is no Python while it runs, so the statement is put into the traceback as a frame of its own.
"""

from __future__ import annotations

import linecache
from typing import Any, NoReturn, Sequence

from ...kernels.cpu.digest import sha256
from .ir import Block, Node, Value

__all__ = ["failed_node", "raise_at"]


def failed_node(error: Exception, block: Block) -> Node | None:
    """The node of a block that raised an error; None if it was none of them."""
    nodes = set(block.nodes)
    return next((node for node in reversed(getattr(error, "_nodes_", ())) if node in nodes), None)


def raise_at(error: Exception, node: Node, block: Block, constants: Sequence[Value], name: str) -> NoReturn:
    """Raise an error of a node again, from its statement.

    Raises:
        Exception: ``error``.
    """
    import ast  # here, for nearly no process comes by

    from ..text.text import rows_of

    text, rows = rows_of(block, constants, name)
    path, lines = f"<graph {name} {sha256(text.encode()).hexdigest()[:8]}>", text.splitlines(keepends=True)
    linecache.cache[path] = (len(text), None, lines, path)
    if node.line:
        error.add_note(f"captured at {node.line}")
    statement = lines[rows[node] - 1]
    place: dict[str, Any] = {
        "lineno": rows[node],
        "end_lineno": rows[node],
        "col_offset": len(statement) - len(statement.lstrip()),
        "end_col_offset": len(statement.rstrip()),
    }
    tree = ast.Module([ast.Raise(ast.Name("error", ast.Load(), **place), None, **place)], [])
    code = compile(tree, path, "exec").replace(co_name=name, co_qualname=name)
    exec(code, {"error": error})
    raise error
