"""The profiler's tables: columns, and numbers as text."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple

from ..base.errors import NbgradError, RangeError

__all__ = [
    "CALLS_COLUMN",
    "Column",
    "ColumnError",
    "DEVICE_MEMORY_COLUMNS",
    "FLOPS_COLUMN",
    "MEMORY_COLUMNS",
    "cut",
    "device_columns",
    "memory_text",
    "sort_key",
    "table_text",
    "time_columns",
    "time_format",
    "time_text",
]


class ColumnError(NbgradError, AttributeError):
    """A table was to be sorted by something that is no column."""


# ---- numbers as text -----------------------------------------------------------------------------------------------


def time_text(us: float) -> str:
    """A time in microseconds, in the unit that suits it."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def share_text(part: float, whole: float) -> str:
    """A part in percent; NaN of nothing."""
    return "NaN" if whole == 0 else f"{100 * part / whole:.2f}%"


def memory_text(size: int) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit, bits in (("GB", 30), ("MB", 20), ("KB", 10)):
        if abs(size) >= 1 << bits:
            return f"{size / (1 << bits):.2f} {unit}"
    return f"{size} B"


# ---- columns -------------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of a table: its title, what it shows of an event, and its least width."""

    title: str
    show: Callable[[Any], str]
    width: int = 12


MEMORY_COLUMNS = (
    Column("CPU Mem", lambda e: memory_text(e.cpu_memory_usage)),
    Column("Self CPU Mem", lambda e: memory_text(e.self_cpu_memory_usage)),
)
DEVICE_MEMORY_COLUMNS = (
    Column("CUDA Mem", lambda e: memory_text(e.device_memory_usage)),
    Column("Self CUDA Mem", lambda e: memory_text(e.self_device_memory_usage)),
)
CALLS_COLUMN = Column("# of Calls", lambda e: str(e.count))
FLOPS_COLUMN = Column("Total FLOPs", lambda e: str(e.flops) if e.flops else "--")


def time_columns(total: float, time: Callable[[float], str], name_width: int) -> tuple[Column, ...]:
    """The name, and the times, with their shares of ``total`` microseconds."""
    return (
        Column("Name", lambda e: cut(e.key, name_width), 0),
        Column("Self CPU %", lambda e: share_text(e.self_cpu_time_total, total)),
        Column("Self CPU", lambda e: time(e.self_cpu_time_total)),
        Column("CPU total %", lambda e: share_text(e.cpu_time_total, total)),
        Column("CPU total", lambda e: time(e.cpu_time_total)),
        Column("CPU time avg", lambda e: time(e.cpu_time)),
    )


def device_columns(total: float, time: Callable[[float], str]) -> tuple[Column, ...]:
    """The times of GPUs, with their shares of ``total`` microseconds, and the numbers of launches and copies."""
    return (
        Column("Self CUDA", lambda e: time(e.self_device_time_total)),
        Column("Self CUDA %", lambda e: share_text(e.self_device_time_total, total)),
        Column("CUDA total", lambda e: time(e.device_time_total)),
        Column("CUDA time avg", lambda e: time(e.device_time)),
        Column("Launches", lambda e: str(e.launches)),
        Column("Copies", lambda e: str(e.copies)),
    )


def table_text(columns: list[Column], events: list, header: str | None) -> str:
    """Titles between rules, then a row for each event, all aligned to the right."""
    rows = [[column.show(event) for column in columns] for event in events]
    widths = [max([len(column.title), column.width, *(len(row[k]) for row in rows)]) for k, column in enumerate(columns)]
    rule = "  ".join("-" * width for width in widths)

    def line(texts: Iterable[str]) -> str:
        return "  ".join(text.rjust(width) for text, width in zip(texts, widths))

    lines = [rule, line(column.title for column in columns), rule, *map(line, rows), rule]
    if header is not None:
        lines[:0] = ["=" * len(rule), header]
    return "\n".join(lines) + "\n"


def sort_key(name: str) -> Callable[[Any], Any]:
    """The attribute to sort by; lists are compared as text."""

    def key(event: Any) -> Any:
        try:
            value = getattr(event, name)
        except AttributeError:
            raise ColumnError(
                f"table: sort_by={name!r} is no attribute of {type(event).__name__}. Hint: 'cpu_time_total', "
                "'self_cpu_time_total', 'count', 'cpu_memory_usage', ..."
            ) from None
        return value if isinstance(value, (int, float)) else str(value)

    return key


def time_format(unit: str | None) -> Callable[[float], str]:
    """How times are shown."""
    if unit is None:
        return time_text
    sizes = {"us": 1.0, "ms": 1e3, "s": 1e6}
    if unit not in sizes:
        raise RangeError(f"table: time_unit should be one of {list(sizes)}, got {unit!r}.")
    return lambda us: f"{us / sizes[unit]:.3f}{unit}"


def cut(text: str, width: int) -> str:
    """A text of at most ``width`` characters."""
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."
