"""Threads of the kernel pool."""

from __future__ import annotations

from ..tensors.tensor import native

__all__ = ["set_num_threads", "get_num_threads"]


def set_num_threads(threads: int) -> None:
    """Use so many threads for large kernels, the caller's included. Results do not depend on it.

    There is one thread, whatever is asked for, on systems other than 64-bit Linux and with ``NBGRAD_NATIVE=0``.

    Raises:
        RangeError: ``threads`` is not a whole number from 1 to 256.

    >>> import nbgrad
    >>> nbgrad.set_num_threads(2)
    >>> nbgrad.get_num_threads() in (1, 2)
    True
    """
    native.pool.set_num_threads(threads)


def get_num_threads() -> int:
    """How many threads large kernels use; by default what the machine (or its container) grants this process.

    >>> nbgrad.get_num_threads() >= 1
    True
    """
    return native.pool.get_num_threads()
