"""Tables of what was made for one kind of call: bounded, because calls may be of ever new kinds."""
from __future__ import annotations

from typing import Any

__all__ = ["MOST_PLANS", "keep"]

MOST_PLANS = 4096


def keep(table: dict, key: Any, value: Any, most: int = MOST_PLANS) -> Any:
    """Put a value into a table that never outgrows ``most`` entries; returns the value."""
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value
