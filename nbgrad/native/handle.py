"""The door to native code for the rest of the package: its functions and the allocator of blocks, loaded when first used.

``native.fresh(plan, x)``, for example, launches a plan. Higher layers enter here the classes that native code works on.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable

from ..base import bounded, config
from ..kernels.cpu import LARGE

__all__ = ["from_blocks", "known", "native", "release_blocks", "use_blocks"]

_natives: list[Any] = []  # launchers that do not ask for blocks yet
_uses_blocks = False


# What native functions read and make, entered by the modules that say what it is: the classes ``Tensor Storage Layout Node Meta``,
# the objects ``CPU`` and ``ASK``, and functions that are written in calls (``view_edge``).
known: dict[str, Any] = {}


KEPT_BY_C = 1 << 23


def keep_freed_pages() -> None:
    """Let the C library keep what is freed of arrays that are too small for blocks, 16 MB of it, for the next ones.

    glibc gives what is free at the end of its heap back to the system once that is more than twice the largest mapping that was
    ever freed, at first 256 KB: less than the temporaries of a call or two, and the next call's pages were fresh ones, which took
    longer than its kernels (benchmarks/decisions.md). To free one mapping of ``KEPT_BY_C`` bytes, which nobody touched, is all
    that it takes. Other C libraries do nothing of the kind.
    """
    if sys.platform == "linux" and config.KEPT_MEMORY:
        allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", ctypes.pythonapi))
        free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.pythonapi))
        free(allocate(KEPT_BY_C))


def launcher() -> Any:
    """The native functions: see ``link.launcher``."""
    from .link import launcher

    keep_freed_pages()
    made = launcher(known)
    if made.entries is not None:
        _natives.append(made)
        if _uses_blocks:
            use_blocks()
    return made


class _Lazy:
    """The native functions, loaded when first used: ``import nbgrad`` compiles and maps nothing."""

    def __getattr__(self, name: str):
        # Called for every missing name, also by tools that look for ``__wrapped__``. A second launcher would replace the
        # first, whose code is then unmapped while closures still call it.
        if name.startswith("__") or "fresh" in vars(self):
            raise AttributeError(f"native has no {name!r}.")
        made = launcher()
        for function in (
            "fresh",
            "into",
            "tensor",
            "alias",
            "conceal",
            "next_seq",
            "seq_to_come",
            "number_node",
            "requires_grad",
            "edge_of",
            "builder",
            "viewer",
            "recorder",
            "caller",
            "differentiator",
            "steps",
            "surveyor",
            "leader",
            "speller",
            "writer",
            "is_unseen",
            "place",
            "watch",
            "nan_finder",
            "sequence",
            "actor",
            "pool",
            "door",
            "apart",
            "are_bare",
            "count_writes",
            "may_write",
            "repeat",
            "take",
            "adopt",
            "drop_block",
            "choose_stream",
            "note_use",
            "take_waiting",
            "free_block",
            "requester",
            "table_writer",
            "entries",
        ):
            setattr(self, function, getattr(made, function))
        bounded.conceal = made.conceal
        return getattr(made, name)


native = _Lazy()


def use_blocks() -> None:
    """Let launchers take large results from blocks. Called for the first large layout: programs without one load nothing, and their
    results are made by NumPy's function itself."""
    global _uses_blocks
    _uses_blocks = True
    if not _natives:
        return
    from .blocks import blocks

    allocator = blocks()
    for native in tuple(_natives):
        if allocator is not None:
            ctypes.c_size_t.from_address(native.entries["new_large_array"]).value = allocator.new_array
    _natives.clear()


def from_blocks(make: Callable[..., Any], count: int, *args: Any, **keywords: Any) -> Any:
    """``make(count, ...)``, a function of NumPy that makes an array of so many elements; a large one in a block."""
    if count < LARGE:
        return make(count, *args, **keywords)
    from .blocks import blocks

    allocator = blocks()
    return make(count, *args, **keywords) if allocator is None else allocator.make(make, count, *args, **keywords)


def release_blocks() -> int:
    """Give blocks that are kept back to the system; returns how many bytes that were."""
    from .blocks import blocks

    allocator = blocks()
    return 0 if allocator is None else allocator.release()
