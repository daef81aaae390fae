"""Cubins on disk, by content, in the folder of all compiled kernels.

A cubin is written after it has passed its gates, so one that is found needs no check again. It is kept compressed, to a
fifth of its size; that also tells it from the objects for this machine's CPU, which the store examines as such.
"""
from __future__ import annotations

import zlib
from functools import cache
from typing import Iterable

from ...errors import KernelError
from ..cpu.disk import Store, default_directory
from .build import ARCH, Kernel, Recipe
from .gates import Gate, check

__all__ = ["default_store", "load_or_build"]


@cache
def default_store() -> Store:
    """The store that CPU and CUDA kernels share; see ``nbgrad.cache``."""
    return Store(default_directory())


def load_or_build(recipe: Recipe, gates: Iterable[Gate] = (), arch: str = ARCH,
                  store: Store | None = None) -> tuple[Kernel, bool]:
    """The kernel of ``recipe``, and whether it came from the store.

    Raises:
        KernelError: it cannot be compiled, or fails a gate; nothing is stored then.
    """
    store = default_store() if store is None else store
    key = f"{arch}-{recipe.key(arch)}"
    if (found := store.read(key)) is not None:
        packed, (name, *_) = found
        return Kernel(name, zlib.decompress(packed)), True
    kernel = recipe(arch)
    if reasons := check(kernel, gates):
        raise KernelError("\n".join(reasons))
    store.write(key, zlib.compress(kernel.cubin), [kernel.name])
    return kernel, False
