"""What the memory of GPUs is used for: ``torch.cuda.memory``."""

from __future__ import annotations

from typing import Any

from ..base.errors import ArgumentError, RangeError
from .devices import device_count, heap_of, index_of

__all__ = [
    "empty_cache",
    "get_per_process_memory_fraction",
    "ipc_collect",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]


def counted(op: str, device: Any) -> dict[str, int]:
    """The counters of a GPU's memory; all 0 of one that is not in use, and where there is none."""
    from ..tensors.choices import opened

    if not device_count():
        return {}
    index = index_of(op, device)
    for heap in opened:
        if heap.index == index:
            from ..tensors.memory_stats import memory_stats as stats_of

            return stats_of(heap)
    return {}


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of a GPU's memory, by torch's names; an empty dict for a GPU that is not in use, and where there is none.

    ``allocated_bytes`` are those that tensors have asked for, ``active_bytes`` those of the blocks in which they lie,
    ``reserved_bytes`` all that the driver has given. Each has ``.all.current`` and ``.all.peak``.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x = nbgrad.ones(1024, device="cuda")
    ...     told = nbgrad.cuda.memory_stats()
    ...     assert 4096 <= told["allocated_bytes.all.current"] <= told["reserved_bytes.all.current"]
    """
    return counted("memory_stats", device)


def memory_allocated(device: Any = None) -> int:
    """How many bytes the tensors on a GPU have asked for.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     before, x = nbgrad.cuda.memory_allocated(), nbgrad.ones(1024, device="cuda")
    ...     assert nbgrad.cuda.memory_allocated() - before == 4096
    """
    return counted("memory_allocated", device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors had at one time, since the process began or ``reset_peak_memory_stats`` was called.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x = nbgrad.ones(1024, device="cuda")
    ...     nbgrad.cuda.reset_peak_memory_stats()
    ...     y = x * 2
    ...     del y
    ...     assert nbgrad.cuda.max_memory_allocated() - nbgrad.cuda.memory_allocated() == 4096
    """
    return counted("max_memory_allocated", device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """How many bytes the driver has given for tensors: those in use, and those that are kept for new ones.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> nbgrad.cuda.memory_reserved() >= nbgrad.cuda.memory_allocated()
    True
    """
    return counted("memory_reserved", device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the driver had given at one time, since the process began or ``reset_peak_memory_stats`` was called.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> nbgrad.cuda.max_memory_reserved() >= nbgrad.cuda.memory_reserved()
    True
    """
    return counted("max_memory_reserved", device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the greatest numbers (``max_memory_allocated`` and the like) begin again with those of now.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.reset_peak_memory_stats()
    ...     assert nbgrad.cuda.max_memory_allocated() == nbgrad.cuda.memory_allocated()
    """
    from ..tensors.memory_stats import reset_peaks

    reset_peaks(heap_of("reset_peak_memory_stats", device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # torch's older names


def ipc_collect() -> None:
    """Do nothing: other processes keep no memory of this one's GPU. It is there for programs that were written for torch.

    >>> import nbgrad
    >>> nbgrad.cuda.ipc_collect()
    """


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters of ``memory_stats`` as a table to be printed.

    Args:
        device: the name or number of a GPU; by default the current one.
        abbreviated: give the bytes alone; leave out how many blocks and requests there were.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert "in tensors" in nbgrad.cuda.memory_summary()
    """
    from ..tensors.memory_stats import memory_summary as summary_of

    return summary_of(heap_of("memory_summary", device), abbreviated)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of a GPU are free, as the driver says, and how many it has.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     free, total = nbgrad.cuda.mem_get_info()
    ...     assert 0 <= free <= total
    """
    free, total = heap_of("mem_get_info", device).card.room()
    return int(free), int(total)


def empty_cache() -> None:
    """Give the memory that no tensor uses back to the driver: of all GPUs, and pinned memory too.

    >>> import nbgrad
    >>> nbgrad.cuda.empty_cache()
    """
    from ..tensors.choices import opened

    for heap in tuple(opened):
        heap.release()
    if opened:
        from ..tensors.pinned import release

        release()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Bound how much of a GPU's memory the process may have: what asks for more is an ``OutOfMemoryError``.

    Tensors that are there stay, even if they are more than that.

    Args:
        fraction: of all that the GPU has, from 0 to 1.
        device: the name or number of a GPU; by default the current one.

    Raises:
        ArgumentError, RangeError: no such number. DeviceError: the GPU is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.set_per_process_memory_fraction(0.5)
    ...     assert abs(nbgrad.cuda.get_per_process_memory_fraction() - 0.5) < 1e-6
    ...     nbgrad.cuda.set_per_process_memory_fraction(1.0)
    """
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
        raise ArgumentError(f"set_per_process_memory_fraction: fraction must be a number, got {type(fraction).__name__}.")
    if not 0 <= fraction <= 1:
        raise RangeError(f"set_per_process_memory_fraction: fraction is {fraction}, expected a number from 0 to 1.")
    heap = heap_of("set_per_process_memory_fraction", device)
    heap.limit = None if fraction == 1 else int(heap.card.room()[1] * fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The bound that ``set_per_process_memory_fraction`` has set, as a part of the GPU's memory; 1.0 if there is none.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.get_per_process_memory_fraction() == 1.0
    """
    heap = heap_of("get_per_process_memory_fraction", device)
    return 1.0 if heap.limit is None else heap.limit / heap.card.room()[1]
