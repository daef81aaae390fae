"""Lists and dicts of a node's arguments, which cannot be written to: a node learns of its users when ``args`` is assigned."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn

from ..base.errors import ArgumentError
from ..methods.pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Not possible.

    Raises:
        ArgumentError: always.
    """
    raise ArgumentError(
        f"{type(self).__name__!r} object does not support mutation: it belongs to a node's arguments. "
        "Hint: assign a changed copy, node.args = new_args."
    )


class immutable_list(list):
    """A list that cannot be written to; of hashable members it is hashable.

    >>> from nbgrad.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2]) + [3]
    [1, 2, 3]
    """

    __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse
    append = clear = extend = insert = pop = remove = reverse = sort = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be written to; of hashable values it is hashable.

    >>> from nbgrad.fx.immutable_collections import immutable_dict
    >>> immutable_dict({"a": 1})["a"]
    1
    """

    __setitem__ = __delitem__ = __ior__ = refuse
    clear = pop = popitem = setdefault = update = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self.items()),)


def _members(values: list) -> tuple[list, None]:
    return list(values), None


def _values(values: dict) -> tuple[list, list[Hashable]]:
    return list(values.values()), list(values)


register_pytree_node(immutable_list, _members, lambda values, _: immutable_list(values))
register_pytree_node(immutable_dict, _values, lambda values, names: immutable_dict(zip(names, values)))
