"""Cubins on disk, by content, in the folder of all compiled kernels: a JSON line, then the cubin.

A cubin is written after it has passed its gates, so one that is found needs no check again. What a file must be before
it is loaded is NOTE [Trust in the store] of ``cpu/disk.py``; its limit and ``nbgrad.cache`` count these files too. Whatever is no
whole cubin of the kernel and the architecture that were asked for is compiled anew, and replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache

from ...base.errors import KernelError
from ..cpu.disk import SUFFIX, default_directory, own_content, private_directory, replace_file
from .build import ARCH, Kernel, Recipe
from .gates import Gate, check

__all__ = ["CubinStore", "default_store", "load_or_build"]


class CubinStore:
    """Cubins of one user; any number of processes may share a folder.

    Args:
        directory: the folder; made with mode 0700 if it is missing. None: nothing is kept.

    Attributes:
        directory: the folder, or None if it is not used.
    """

    def __init__(self, directory: str | None):
        self.directory = private_directory(directory) if directory else None

    def read(self, key: str) -> Kernel | None:
        """The kernel kept under ``key``; None if there is none that is whole."""
        if self.directory is None:
            return None
        data = own_content(self._path(key))
        return None if data is None else decode(data, key)

    def write(self, key: str, kernel: Kernel) -> None:
        """Keep a kernel: a reader sees all of it or nothing. Where that is impossible, quietly do nothing."""
        if self.directory is None:
            return
        try:
            replace_file(self._path(key), encode(kernel, key))
        except OSError:
            pass  # a full or read-only disk

    def _path(self, key):
        return os.path.join(self.directory, key + SUFFIX)


def encode(kernel: Kernel, key: str) -> bytes:
    """A file's content; ``decode`` is its inverse."""
    digest = hashlib.sha256(kernel.cubin).hexdigest()
    header = {"name": kernel.name, "key": key, "sha256": digest, "registers": kernel.registers}
    return json.dumps(header).encode() + b"\n" + kernel.cubin


def decode(data: bytes, key: str) -> Kernel | None:
    """The kernel in a file, or None for a file that ``encode`` did not make, or made of another kernel, or that was damaged."""
    head, _, cubin = data.partition(b"\n")
    try:
        header = json.loads(head)
        kernel = Kernel(header["name"], cubin, registers=header["registers"])
        whole = header["key"] == key and header["sha256"] == hashlib.sha256(cubin).hexdigest()
        return kernel if whole and cubin.startswith(b"\x7fELF") else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


@cache
def default_store() -> CubinStore:
    """The store in the folder that ``nbgrad.cache`` describes."""
    return CubinStore(default_directory())


def load_or_build(
    recipe: Recipe, gates: Iterable[Gate] = (), arch: str = ARCH, store: CubinStore | None = None
) -> tuple[Kernel, bool]:
    """The kernel of ``recipe``, and whether it came from the store.

    Raises:
        KernelError: it cannot be compiled, or fails a gate; nothing is stored then.
    """
    store = default_store() if store is None else store
    key = f"{arch}-{recipe.key(arch)}"
    found = store.read(key)
    if found is not None and found.name == recipe.name:
        return found, True
    kernel = recipe(arch)
    if reasons := check(kernel, gates):
        raise KernelError("\n".join(reasons))
    store.write(key, kernel)
    return kernel, False
