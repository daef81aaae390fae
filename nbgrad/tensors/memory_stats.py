"""What is known of a GPU's memory, under torch's names.

All of it is counted where memory is given and freed (NOTE [Heap words] of native/heaps.py): nothing is sampled or estimated.
"""

from __future__ import annotations

from ..native import heaps
from .heaps import HeapOfCard

__all__ = ["memory_stats", "memory_summary", "reset_peaks"]


def memory_stats(heap: HeapOfCard) -> dict[str, int]:
    """The counters.

    ``allocated_bytes`` are those that tensors have asked for, ``active_bytes`` those of the blocks in which they lie,
    ``reserved_bytes`` all that the driver has given.
    """
    words = heap.words
    blocks, used, asked = words[heaps.BLOCKS], words[heaps.USED], words[heaps.ASKED]
    ever, given = words[heaps.ASKED_EVER], words[heaps.REQUESTS] - heap.failures
    return {
        "allocated_bytes.all.current": asked,
        "allocated_bytes.all.peak": words[heaps.PEAK_ASKED],
        "allocated_bytes.all.allocated": ever,
        "allocated_bytes.all.freed": ever - asked,
        "active_bytes.all.current": used,
        "active_bytes.all.peak": words[heaps.PEAK],
        "reserved_bytes.all.current": heap.reserved,
        "reserved_bytes.all.peak": heap.most_reserved,
        "inactive_bytes.all.current": heap.reserved - used,
        "allocation.all.current": blocks,
        "allocation.all.allocated": given,
        "allocation.all.freed": given - blocks,
        "segment.all.current": heap.segments,
        "num_device_alloc": heap.given,
        "num_device_free": heap.given - heap.segments,
        "num_alloc_retries": heap.retries,
        "num_ooms": heap.failures,
    }


def reset_peaks(heap: HeapOfCard) -> None:
    """Let the greatest numbers begin again with those of now."""
    words = heap.words
    words[heaps.PEAK_ASKED], words[heaps.PEAK] = words[heaps.ASKED], words[heaps.USED]
    heap.most_reserved = heap.reserved


def memory_summary(heap: HeapOfCard, abbreviated: bool = False) -> str:
    """The counters as a table, bytes in readable units unless ``abbreviated`` leaves the rest out."""
    stats = memory_stats(heap)
    title = f"memory of cuda:{heap.index}"
    lines = [f"{title:<32}{'now':>14}{'at most':>14}", "-" * 60]
    for name, kind in (("in tensors", "allocated"), ("in their blocks", "active"), ("from the driver", "reserved")):
        now, most = (readable(stats[f"{kind}_bytes.all.{which}"]) for which in ("current", "peak"))
        lines.append(f"{name:<32}{now:>14}{most:>14}")
    lines.append(f"{'kept for new tensors':<32}{readable(stats['inactive_bytes.all.current']):>14}")
    if not abbreviated:
        for name, key in (
            ("blocks in use", "allocation.all.current"),
            ("requests so far", "allocation.all.allocated"),
            ("of them met by the driver", "num_device_alloc"),
            ("after all was given back", "num_alloc_retries"),
            ("refused", "num_ooms"),
        ):
            lines.append(f"{name:<32}{stats[key]:>14}")
    return "\n".join(lines)


def readable(nbytes: int) -> str:
    """Bytes with a unit.

    >>> readable(512), readable(3 << 20)
    ('512 B', '3.0 MiB')
    """
    if nbytes < 1024:
        return f"{nbytes} B"
    power = min(4, (nbytes.bit_length() - 1) // 10)
    return f"{nbytes / 1024**power:.1f} {('KiB', 'MiB', 'GiB', 'TiB')[power - 1]}"
