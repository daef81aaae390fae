"""How files of compiled functions spell what is no graph: structures, plain values, what arguments are known by."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from operator import attrgetter
from typing import Any

from ...base.dtypes import DType
from ...base.errors import GraphError
from ...base.nested import Tree
from ...base.plain import PLAIN as VALUES
from ...tensors.layout import Layout
from ..ir.ir import Block
from ..ir.literals import literal, type_text
from ..text.expressions import type_of_text, value_of_text

__all__ = ["own_function", "read_kind", "read_tree", "read_value", "require_no_python", "spell_kind", "spell_tree", "spell_value"]

PLAIN = (*VALUES, DType)
CONTAINERS = {kind.__name__: kind for kind in (tuple, list, dict, OrderedDict)}
PACKAGE = __name__.partition(".")[0]


def own_name(x: Any) -> str:
    """``module:name`` of a class or function of this package; empty for others."""
    name = f"{x.__module__}:{x.__qualname__}"
    try:
        return name if own_function(name) is x else ""
    except GraphError:
        return ""


def own_function(name: str) -> Any:
    """A class or function of this package.

    Raises:
        GraphError: no such name, or something that the module only uses.
    """
    module, _, path = name.partition(":")
    found = None
    if module == PACKAGE or module.startswith(f"{PACKAGE}."):
        try:
            found = attrgetter(path)(import_module(module))
        except (ImportError, AttributeError):
            pass
    if found is None or getattr(found, "__module__", "") != module or getattr(found, "__qualname__", "") != path:
        raise GraphError(f"{name!r} is not a class or function of {PACKAGE}.")
    return found


def require_no_python(graph: Block) -> None:
    """Refuse steps that call functions of the program: a file has none.

    Raises:
        GraphError: there are some.
    """
    for node in graph.all_nodes():
        if node.effect != "python" and node.name not in ("update", "applied"):
            continue
        name = node.attributes.get("function", node.attributes.get("rule"))
        if node.name in ("call", "update") and isinstance(name, str) and own_name_of(name):
            continue
        what = name.partition(":")[2] if isinstance(name, str) else getattr(name, "__name__", "a function")
        raise GraphError(f"{what} is a step in Python ({node.name}), at {node.line or 'an unknown line'}")


def own_name_of(name: str) -> bool:
    """Whether a name is that of a function of this package."""
    try:
        return bool(own_function(name))
    except GraphError:
        return False


# ---- values ------------------------------------------------------------------------------------------------------------


def spell_value(x: Any) -> str:
    """A plain value.

    Raises:
        GraphError: of another type.
    """
    if type(x) not in PLAIN:
        raise GraphError(f"a value of type {type(x).__name__} has no spelling")
    return literal(x)


def read_value(text: str) -> Any:
    """The value of a spelling."""
    return value_of_text(text)


def spell_tree(tree: Tree) -> Any:
    """A structure.

    Raises:
        GraphError: a container of another kind than tuples, lists, dicts and named tuples of this package.
    """
    if tree.kind is None:
        return None
    kind = tree.kind.__name__ if tree.kind in CONTAINERS.values() else own_name(tree.kind) if hasattr(tree.kind, "_fields") else ""
    if not kind:
        what = f"a {tree.kind.__name__} among arguments or results"
        raise GraphError(f"{what}: a file does not know the class. Hint: tuples, lists and dicts.")
    keys = None if tree.keys is None else [spell_value(key) for key in tree.keys]
    return {"kind": kind, "keys": keys, "children": [spell_tree(child) for child in tree.children]}


def read_tree(spelled: Any) -> Tree:
    """The structure of a spelling."""
    if spelled is None:
        return Tree(None, None, ())
    kind = CONTAINERS.get(spelled["kind"]) or own_function(spelled["kind"])
    if not issubclass(kind, (tuple, list, dict)):
        raise GraphError(f"{spelled['kind']!r} is no container.")
    keys = None if spelled["keys"] is None else tuple([read_value(key) for key in spelled["keys"]])
    return Tree(kind, keys, tuple([read_tree(child) for child in spelled["children"]]))


def spell_kind(kind: Any) -> Any:
    """What a leaf of the arguments is known by: ``key_of`` of keys.py.

    Raises:
        GraphError: a function, a generator, or a class of the program.
    """
    if not isinstance(kind, tuple):
        what = f"a {type(kind).__name__} among the arguments is known by its identity, which no file has"
        raise GraphError(f"{what}. Hint: let the function name it.")
    if isinstance(kind[0], Layout):
        layout, flag, made_by = kind
        if not own_name(made_by):
            raise GraphError(
                f"a tensor of the class {made_by.__name__} among the arguments: a file does not know it. Hint: plain ones."
            )
        return {"type": type_text(layout, flag), "class": own_name(made_by)}
    if kind[0] not in PLAIN:
        raise GraphError(f"a value of type {kind[0].__name__} among the arguments has no spelling")
    return {"value": kind[1], "class": kind[0].__name__}


def read_kind(spelled: Any) -> Any:
    """What a leaf is known by."""
    if "value" in spelled:
        return next(kind for kind in PLAIN if kind.__name__ == spelled["class"]), spelled["value"]
    found = type_of_text(spelled["type"])
    return found.layout, found.flag, own_function(spelled["class"])
