"""The recorded graph: nodes, edges, what nodes keep, and a pass's task; as ``nbgrad.graph`` the public names of the graph API.

The names are found when they are asked for: some are written in modules that need this folder.

>>> import nbgrad
>>> x = nbgrad.ones(2, requires_grad=True)
>>> nbgrad.graph.get_gradient_edge(x * 2).node.name()
'MulBackward0'
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

HOMES = ("graph.edges", "graph.saved", "graph.saved_hooks", "graph.writes", "graph.collecting", "autograd.graph_tools")
PRIVATE = {"_MultiHandle": HOMES[-1], "_register_logging_hooks_on_whole_graph": HOMES[-1]}


@cache
def homes() -> dict[str, str]:
    """The public names, each with the module where it is written."""
    return {name: home for home in HOMES for name in import_module(f"nbgrad.{home}").__all__}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(homes())
    if name.startswith("__") or (home := PRIVATE.get(name) or homes().get(name)) is None:
        raise AttributeError(f"module 'nbgrad.graph' has no attribute {name!r}.")
    value = globals()[name] = getattr(import_module(f"nbgrad.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *homes()})
