"""The native launcher and its blocks, each loaded when it is first needed."""
from __future__ import annotations

import ctypes
from typing import Any, Callable

from ... import config
from . import LARGE

__all__ = ["from_blocks", "launcher", "release_blocks", "use_blocks"]

_natives: list[Any] = []        # launchers that do not ask for blocks yet
_uses_blocks = False


def launcher(tensor_type, storage_type, layout_type, node_type, meta_type, storage_template):
    """The native launcher, or its Python twin where the interpreter's objects are unknown or ``NBGRAD_NATIVE=0``."""
    from . import launch
    from .launch_python import Twin
    if not config.NATIVE or launch.check_layouts(tensor_type, storage_type) is not None:
        return Twin(tensor_type, storage_type, layout_type, node_type, meta_type, storage_template)
    from .store import loader
    made = launch.Native(loader(), tensor_type, storage_type, layout_type, node_type, meta_type, storage_template)
    _natives.append(made)
    if _uses_blocks:
        use_blocks()
    return made


def use_blocks() -> None:
    """Let launchers take large results from blocks. Called for the first large layout: programs without one load nothing, and their
    results are made by NumPy's function itself."""
    global _uses_blocks
    _uses_blocks = True
    if not _natives:
        return
    from .memory import blocks
    allocator = blocks()
    for native in tuple(_natives):
        if allocator is not None:
            ctypes.c_size_t.from_address(native.entries["new_large_array"]).value = allocator.new_array
    _natives.clear()


def from_blocks(make: Callable[..., Any], count: int, *args: Any, **keywords: Any) -> Any:
    """``make(count, ...)``, a function of NumPy that makes an array of so many elements; a large one in a block."""
    if count < LARGE:
        return make(count, *args, **keywords)
    from .memory import blocks
    allocator = blocks()
    return make(count, *args, **keywords) if allocator is None else allocator.make(make, count, *args, **keywords)


def release_blocks() -> int:
    """Give blocks that are kept back to the system; returns how many bytes that were."""
    from .memory import blocks
    allocator = blocks()
    return 0 if allocator is None else allocator.release()
