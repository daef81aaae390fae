"""What keeps a GPU idle: operations that run on the CPU in its place, and calls that let the program wait for it."""

from __future__ import annotations

__all__ = ["get_sync_debug_mode", "host_fallbacks", "set_sync_debug_mode"]


def host_fallbacks() -> dict[str, int]:
    """How often each operation ran on the CPU because it has no kernel for a GPU.

    >>> import nbgrad
    >>> x = nbgrad.ones(2).sum()
    >>> nbgrad.cuda.host_fallbacks().get("sum", 0)
    0
    """
    from ..dispatch.device_lowerings import fallbacks

    return dict(fallbacks)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens where the program waits for a GPU: ``item``, ``nonzero``, copies that are not between pinned memory and a GPU,
    operations without a kernel for it.

    Args:
        debug_mode: ``"default"`` or 0: nothing; ``"warn"`` or 1: a warning that names the call; ``"error"`` or 2: a DeviceError in
            its place, before anything is done.

    ``synchronize``, waits for events, and waits for memory that is short are none of these stops. The mode is the process's.

    Raises:
        RangeError: another mode. ArgumentError: neither a number nor a name.

    >>> import nbgrad
    >>> nbgrad.cuda.set_sync_debug_mode("error")
    >>> if nbgrad.cuda.is_available():
    ...     try:
    ...         nbgrad.ones(1, device="cuda").item()
    ...     except nbgrad.DeviceError:
    ...         pass
    >>> nbgrad.cuda.set_sync_debug_mode("default")
    """
    from ..tensors.stops import set_mode

    set_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The number of the mode that ``set_sync_debug_mode`` has set.

    >>> import nbgrad
    >>> nbgrad.cuda.get_sync_debug_mode()
    0
    """
    from ..tensors.stops import get_mode

    return get_mode()
