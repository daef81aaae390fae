"""The cache of compiled kernels: where it is, what is in it, and how to fill or empty it.

The folder is ``NBGRAD_CACHE_DIR``, by default ``nbgrad`` in the user's cache directory (``XDG_CACHE_HOME``, else
``~/.cache``). It may be removed at any time, and is bounded in size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

__all__ = ["CacheInfo", "info", "clear", "warm", "WARMERS"]

# Each compiles, or loads, the kernels of the named ops, or of all that it knows for None. Filled by the modules that
# own the kernels, so that nothing is imported before somebody asks for it.
WARMERS: list[Callable[[Iterable[str] | None], None]] = []


class CacheInfo(NamedTuple):
    """The cache as it is now.

    Attributes:
        directory: the folder; None if kernels are kept in memory only (no home, or a folder that is unsafe or
            cannot be made).
        kernels: files in it, from all processes.
        bytes: their size.
        hits: kernels that this process loaded from the folder.
        misses: kernels that this process looked for there and did not find sound.
        compiled: kernels that this process compiled.
    """

    directory: str | None
    kernels: int
    bytes: int
    hits: int
    misses: int
    compiled: int


def info() -> CacheInfo:
    """Describe the cache.

    >>> import nbgrad.cache
    >>> sorted(nbgrad.cache.info()._asdict())
    ['bytes', 'compiled', 'directory', 'hits', 'kernels', 'misses']
    """
    from .kernels.cpu.store import loader

    used = loader()
    return CacheInfo(*used.store.info(), used.hits, used.misses, used.compiled)


def clear() -> int:
    """Remove all kernels from the folder and return how many there were. What this process has loaded stays usable.

    >>> import nbgrad.cache
    >>> nbgrad.cache.clear()  # doctest: +SKIP
    118
    """
    from .kernels.cpu.store import loader

    return loader().store.clear()


def warm(ops: Iterable[str] | None = None) -> int:
    """Have kernels ready before they are needed, in the folder for later processes too.

    Args:
        ops: names of ops, such as ``["mul", "sum"]``; None for all.

    Returns:
        How many kernels had to be compiled; 0 if everything was there.

    >>> import nbgrad.cache
    >>> nbgrad.cache.warm([])
    0
    """
    from .kernels.cpu.store import loader

    names = None if ops is None else list(ops)
    before = loader().compiled
    for warmer in WARMERS:
        warmer(names)
    return loader().compiled - before
