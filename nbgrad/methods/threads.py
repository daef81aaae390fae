"""Threads of the kernel pool."""

from __future__ import annotations

from ..base.errors import RangeError
from ..tensors.tensor import native

__all__ = ["get_num_interop_threads", "get_num_threads", "set_num_interop_threads", "set_num_threads"]


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


_between = [1]


def set_num_interop_threads(threads: int) -> None:
    """Remember it: calls run one after the other, each with the threads of ``set_num_threads``.

    Raises:
        RangeError: no positive whole number.
    """
    if type(threads) is not int or threads < 1:
        raise RangeError(f"set_num_interop_threads: got {threads!r}, expected a whole number from 1 on.")
    _between[0] = threads


def get_num_interop_threads() -> int:
    """What ``set_num_interop_threads`` was last given; 1 before."""
    return _between[0]
