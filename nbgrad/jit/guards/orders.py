"""In which order a dict has its members: words of its table that native code compares.

NOTE [Words of orders]: a dict's table has its entries in the order in which they came. As long as it is the same table, and so many
of its entries as the dict has members have the keys that they had, the order is what it was: entries that were taken out lie
elsewhere. Where the table is another one, or an entry has another key, Python compares the orders. The words of entries come
behind that of the table, which is alive if that has held.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ...base.plain import PLAIN

__all__ = ["is_in_order", "is_known", "words_of_order"]

TABLE = 32  # bytes from a dict to the address of its table
SIZES = 8, 9, 10  # bytes in a table: logarithms of its indices' number and bytes, what its entries are
COUNT, INDICES = 24, 32
SHARED = 2  # of entries: other dicts have them, too


def words_of_order(held: dict, keys: tuple) -> list[tuple[int, int]]:
    """Addresses, and what is expected there for these keys; as many words for every dict of a length."""
    if not is_in_order(held, keys):
        return [(id(held) + TABLE, 0)] * (1 + len(keys))
    table = ctypes.c_size_t.from_address(id(held) + TABLE).value
    kind = ctypes.c_uint8.from_address(table + SIZES[2]).value
    start = table + INDICES + (1 << ctypes.c_uint8.from_address(table + SIZES[1]).value)
    step, before = (16, 0) if kind else (24, 8)
    places = [start + step * k + before for k in range(ctypes.c_ssize_t.from_address(table + COUNT).value)]
    pairs = [(place, ctypes.c_size_t.from_address(place).value) for place in places]
    live = {id(key) for key in dict.keys(held)}
    return [(id(held) + TABLE, table), *[pair for pair in pairs if pair[1] in live][: len(held)]]


def kind_of_table(held: dict) -> int:
    """What a dict's entries are."""
    return ctypes.c_uint8.from_address(ctypes.c_size_t.from_address(id(held) + TABLE).value + SIZES[2]).value


def is_known(held: dict) -> bool:
    """Whether the order of a dict is told by its table alone."""
    return KNOWN and kind_of_table(held) != SHARED


def is_as_expected() -> bool:
    """Whether tables of dicts are laid out as this module has it."""
    texts, numbers = {"one": 1, "two": 2, "three": 3}, {1000.5: 1, (1, 2): 2, "three": 3}
    del texts["two"], numbers[(1, 2)]
    for held in (texts, numbers):
        for key in range(20):
            if [word for _, word in words_of_order(held, tuple(held))[1:]] != list(map(id, held)):
                return False
            held[str(key) * 3] = key
    return True


def is_in_order(held: dict, keys: tuple) -> bool:
    """Whether a dict's keys are these, in this order."""
    return len(held) == len(keys) and all(map(same_key, dict.keys(held), keys))


def same_key(x: Any, y: Any) -> bool:
    """Whether two keys are one object, or equal texts, numbers and tuples of such."""
    if x is y or type(x) is not type(y):
        return x is y
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same_key, x, y))
    return isinstance(x, PLAIN) and repr(x) == repr(y)


KNOWN = is_as_expected()
