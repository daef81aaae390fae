"""Large blocks of memory that are used again: an allocator for NumPy's arrays, in machine code.

The C library hands large blocks back to the system, or cuts them out of a heap that it trims; each comes back as fresh pages of
4 KB, which cost more to map than a kernel takes to write them (2.0 ms against 0.15 for 4 MB), and lies where the last one lay.
NumPy asks the *handler* that is set when an array is made, and frees by the handler that the array was made with. Ours is set
only while nbgrad makes a large array; those of others are untouched.

NOTE [Blocks]: requests of ``LEAST`` bytes and more get a mapping of their own, in whole 64 KB; smaller ones go to ``malloc``.
A freed block is kept, and the one freed last, which is likely to be cached, is taken first by a request of its size. What is
kept is bounded (``NBGRAD_KEPT_MEMORY``), and what nobody took for ``PATIENCE`` requests goes back to the system, one at a time.
  - Blocks of about 2 MB and more begin where a huge page does, and the system is asked for such: a thousandth of the page faults,
    and no walks of page tables on the way (a million float32, many arrays alive: 7 to 10 %).
  - Blocks begin at five different places in a page. Where an operand and the result lie at the same place, loads wait for stores
    whose addresses end in the same 12 bits (exp of 100,000 float32 24 -> 35 us).
  - 64 bytes before the data is a header: mapped bytes (0: from ``malloc``), bytes asked for, start of the mapping,
    whether nobody has written to it yet.
All of it runs under the interpreter's lock, as NumPy allocates.
"""
from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, Callable

import numpy as np

from ..base import config
from ..base.locks import new_rlock
from .objects import NEW_FROM_DESCR, numpy_function

__all__ = ["LEAST", "Blocks", "blocks"]

LEAST = 1 << 18                 # bytes of the smallest block
PATIENCE = 4096                 # requests after which a block that is kept has been kept for nothing
MOST = 64                       # blocks kept
SET_HANDLER = 304               # index in NumPy's C API table (1.22 and later)

IR = """
target triple = "@TRIPLE"
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memmove(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare void @Py_DecRef(ptr)

@memory_new_array = global ptr null     ; NumPy's PyArray_NewFromDescr and PyDataMem_SetHandler, and our handler
@memory_set_handler = global ptr null
@memory_handler = global ptr null
@memory_limit = global i64 0
; Blocks kept, the one freed first in front: address of the data, mapped bytes, and the request after which it was freed.
@memory_kept = internal global [@MOST x [3 x i64]] zeroinitializer
@memory_counters = global [4 x i64] zeroinitializer     ; blocks kept, bytes kept, bytes mapped, requests
@memory_place = internal global i64 0

define internal ptr @memory_word(ptr %data, i64 %k) alwaysinline {
  %at = getelementptr i64, ptr %data, i64 %k
  ret ptr %at
}

define internal void @memory_count(i64 %k, i64 %by) alwaysinline {
  %at = getelementptr i64, ptr @memory_counters, i64 %k
  %old = load i64, ptr %at
  %new = add i64 %old, %by
  store i64 %new, ptr %at
  ret void
}

define internal void @memory_unmap(ptr %data, i64 %mapped) {
  %start_at = call ptr @memory_word(ptr %data, i64 -6)
  %start = load ptr, ptr %start_at
  call i32 @munmap(ptr %start, i64 %mapped)
  %less = sub i64 0, %mapped
  call void @memory_count(i64 2, i64 %less)
  ret void
}

; Take a kept block out of the list.
define internal void @memory_remove(i64 %k) {
  %at = getelementptr [3 x i64], ptr @memory_kept, i64 %k
  %size_at = call ptr @memory_word(ptr %at, i64 1)
  %size = load i64, ptr %size_at
  %less = sub i64 0, %size
  call void @memory_count(i64 1, i64 %less)
  call void @memory_count(i64 0, i64 -1)
  %count = load i64, ptr @memory_counters
  %after = sub i64 %count, %k
  %bytes = mul i64 %after, 24
  %next = getelementptr [3 x i64], ptr %at, i64 1
  call ptr @memmove(ptr %at, ptr %next, i64 %bytes)
  ret void
}

; Give the block that was freed first back to the system.
define internal void @memory_evict() {
  %data = load ptr, ptr @memory_kept
  %size_at = call ptr @memory_word(ptr @memory_kept, i64 1)
  %size = load i64, ptr %size_at
  call void @memory_remove(i64 0)
  call void @memory_unmap(ptr %data, i64 %size)
  ret void
}

; Give all that is kept back; returns how much it was.
define i64 @memory_release() {
entry:
  %kept_at = call ptr @memory_word(ptr @memory_counters, i64 1)
  %kept = load i64, ptr %kept_at
  br label %test
test:
  %count = load i64, ptr @memory_counters
  %more = icmp sgt i64 %count, 0
  br i1 %more, label %one, label %done
one:
  call void @memory_evict()
  br label %test
done:
  ret i64 %kept
}

; A kept block of so many mapped bytes, the one freed last; null if there is none.
define internal ptr @memory_take(i64 %mapped) {
entry:
  %count = load i64, ptr @memory_counters
  br label %test
test:
  %k = phi i64 [%count, %entry], [%i, %look]
  %i = sub i64 %k, 1
  %more = icmp sge i64 %i, 0
  br i1 %more, label %look, label %none
look:
  %at = getelementptr [3 x i64], ptr @memory_kept, i64 %i
  %size_at = call ptr @memory_word(ptr %at, i64 1)
  %size = load i64, ptr %size_at
  %fits = icmp eq i64 %size, %mapped
  br i1 %fits, label %found, label %test
found:
  %data = load ptr, ptr %at
  call void @memory_remove(i64 %i)
  ret ptr %data
none:
  ret ptr null
}

; Bytes to map for a request: whole 64 KB, and whole huge pages where at least three quarters of the last are wanted.
define internal i64 @memory_extent(i64 %size) {
  %with = add i64 %size, @ROOM
  %up = add i64 %with, 65535
  %extent = and i64 %up, -65536
  %rest = and i64 %extent, 2097151
  %most = icmp uge i64 %rest, 1572864
  %up2 = add i64 %extent, 2097151
  %whole = and i64 %up2, -2097152
  %mapped = select i1 %most, i64 %whole, i64 %extent
  ret i64 %mapped
}

; New pages; -1 as an address where there are none. PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, MADV_HUGEPAGE.
define internal ptr @memory_pages(i64 %mapped) {
entry:
  %huge = icmp uge i64 %mapped, 2097152
  %spare = select i1 %huge, i64 2097152, i64 0
  %total = add i64 %mapped, %spare
  %pages = call ptr @mmap(ptr null, i64 %total, i32 3, i32 34, i32 -1, i64 0)
  %start = ptrtoint ptr %pages to i64
  %bad = icmp eq i64 %start, -1
  %plain = xor i1 %huge, true
  %ready = or i1 %bad, %plain
  br i1 %ready, label %done, label %align
align:
  %up = add i64 %start, 2097151
  %first = and i64 %up, -2097152
  %head = sub i64 %first, %start
  %aligned = inttoptr i64 %first to ptr
  %no_head = icmp eq i64 %head, 0
  br i1 %no_head, label %tail, label %cut
cut:
  call i32 @munmap(ptr %pages, i64 %head)
  br label %tail
tail:
  %end = getelementptr i8, ptr %aligned, i64 %mapped
  %over = sub i64 %spare, %head
  %no_tail = icmp eq i64 %over, 0
  br i1 %no_tail, label %advise, label %cut_tail
cut_tail:
  call i32 @munmap(ptr %end, i64 %over)
  br label %advise
advise:
  %whole = and i64 %mapped, -2097152
  call i32 @madvise(ptr %aligned, i64 %whole, i32 14)
  ret ptr %aligned
done:
  ret ptr %pages
}

; NOTE [Blocks]; null where the system has no memory even when all that is kept went back.
define internal ptr @memory_block(i64 %size) {
entry:
  call void @memory_count(i64 3, i64 1)
  %mapped = call i64 @memory_extent(i64 %size)
  %kept = call ptr @memory_take(i64 %mapped)
  %new = icmp eq ptr %kept, null
  br i1 %new, label %map, label %again
again:
  %asked_at = call ptr @memory_word(ptr %kept, i64 -7)
  store i64 %size, ptr %asked_at
  %used_at = call ptr @memory_word(ptr %kept, i64 -5)
  store i64 0, ptr %used_at
  ret ptr %kept
map:
  %pages = call ptr @memory_pages(i64 %mapped)
  %address = ptrtoint ptr %pages to i64
  %bad = icmp eq i64 %address, -1
  br i1 %bad, label %retry, label %have
retry:
  call i64 @memory_release()
  %pages2 = call ptr @memory_pages(i64 %mapped)
  %address2 = ptrtoint ptr %pages2 to i64
  %bad2 = icmp eq i64 %address2, -1
  br i1 %bad2, label %fail, label %have
have:
  %start = phi ptr [%pages, %map], [%pages2, %retry]
  call void @memory_count(i64 2, i64 %mapped)
  %old_place = load i64, ptr @memory_place
  %next_place = add i64 %old_place, 1
  %place = urem i64 %next_place, 5
  store i64 %place, ptr @memory_place
  %shift = mul i64 %place, 832
  %offset = add i64 %shift, 64
  %data = getelementptr i8, ptr %start, i64 %offset
  %h0 = call ptr @memory_word(ptr %data, i64 -8)
  store i64 %mapped, ptr %h0
  %h1 = call ptr @memory_word(ptr %data, i64 -7)
  store i64 %size, ptr %h1
  %h2 = call ptr @memory_word(ptr %data, i64 -6)
  store ptr %start, ptr %h2
  %h3 = call ptr @memory_word(ptr %data, i64 -5)
  store i64 1, ptr %h3
  ret ptr %data
fail:
  ret ptr null
}

define ptr @memory_malloc(ptr %context, i64 %size) {
entry:
  %large = icmp uge i64 %size, @LEAST
  br i1 %large, label %block, label %plain
block:
  %data = call ptr @memory_block(i64 %size)
  ret ptr %data
plain:
  %with = add i64 %size, 64
  %start = call ptr @malloc(i64 %with)
  %none = icmp eq ptr %start, null
  br i1 %none, label %fail, label %mark
mark:
  store i64 0, ptr %start
  %h1 = call ptr @memory_word(ptr %start, i64 1)
  store i64 %size, ptr %h1
  %h3 = call ptr @memory_word(ptr %start, i64 3)
  store i64 0, ptr %h3
  %first = getelementptr i8, ptr %start, i64 64
  ret ptr %first
fail:
  ret ptr null
}

define ptr @memory_calloc(ptr %context, i64 %count, i64 %size) {
entry:
  %bytes = mul i64 %count, %size
  %data = call ptr @memory_malloc(ptr %context, i64 %bytes)
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %ask
ask:
  %fresh_at = call ptr @memory_word(ptr %data, i64 -5)
  %fresh = load i64, ptr %fresh_at
  %zero = icmp ne i64 %fresh, 0
  br i1 %zero, label %done, label %clear
clear:
  call ptr @memset(ptr %data, i32 0, i64 %bytes)
  br label %done
done:
  ret ptr %data
}

define void @memory_free(ptr %context, ptr %data, i64 %size) {
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %done, label %read
read:
  %h0 = call ptr @memory_word(ptr %data, i64 -8)
  %mapped = load i64, ptr %h0
  %plain = icmp eq i64 %mapped, 0
  br i1 %plain, label %small, label %block
small:
  call void @free(ptr %h0)
  br label %done
block:
  %limit = load i64, ptr @memory_limit
  %too_large = icmp sgt i64 %mapped, %limit
  br i1 %too_large, label %unmap, label %room
unmap:
  call void @memory_unmap(ptr %data, i64 %mapped)
  br label %done
room:
  %count = load i64, ptr @memory_counters
  %kept_at = call ptr @memory_word(ptr @memory_counters, i64 1)
  %kept = load i64, ptr %kept_at
  %sum = add i64 %kept, %mapped
  %over = icmp sgt i64 %sum, %limit
  %full = icmp sge i64 %count, @LAST
  %evict = or i1 %over, %full
  br i1 %evict, label %make_room, label %keep
make_room:
  call void @memory_evict()
  br label %room
keep:
  %at = getelementptr [3 x i64], ptr @memory_kept, i64 %count
  %size_at = call ptr @memory_word(ptr %at, i64 1)
  %time_at = call ptr @memory_word(ptr %at, i64 2)
  %now_at = call ptr @memory_word(ptr @memory_counters, i64 3)
  %now = load i64, ptr %now_at
  store ptr %data, ptr %at
  store i64 %mapped, ptr %size_at
  store i64 %now, ptr %time_at
  call void @memory_count(i64 0, i64 1)
  call void @memory_count(i64 1, i64 %mapped)
  %oldest_at = call ptr @memory_word(ptr @memory_kept, i64 2)
  %oldest = load i64, ptr %oldest_at
  %age = sub i64 %now, %oldest
  %stale = icmp sgt i64 %age, @PATIENCE
  br i1 %stale, label %drop, label %done
drop:
  call void @memory_evict()
  br label %done
done:
  ret void
}

define ptr @memory_realloc(ptr %context, ptr %data, i64 %size) {
entry:
  %new = call ptr @memory_malloc(ptr %context, i64 %size)
  %none = icmp eq ptr %new, null
  %first = icmp eq ptr %data, null
  %stop = or i1 %none, %first
  br i1 %stop, label %done, label %copy
copy:
  %asked_at = call ptr @memory_word(ptr %data, i64 -7)
  %asked = load i64, ptr %asked_at
  %less = icmp ult i64 %asked, %size
  %bytes = select i1 %less, i64 %asked, i64 %size
  call ptr @memcpy(ptr %new, ptr %data, i64 %bytes)
  call void @memory_free(ptr %context, ptr %data, i64 %asked)
  br label %done
done:
  ret ptr %new
}

; PyArray_NewFromDescr while our handler is set.
define ptr @memory_array(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr %strides, ptr %data, i32 %flags, ptr %object) {
entry:
  %new_array = load ptr, ptr @memory_new_array
  %set = load ptr, ptr @memory_set_handler
  %handler = load ptr, ptr @memory_handler
  %old = call ptr %set(ptr %handler)
  %refused = icmp eq ptr %old, null
  br i1 %refused, label %fail, label %make
make:
  %array = call ptr %new_array(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr %strides, ptr %data, i32 %flags, ptr %object)
  %mine = call ptr %set(ptr %old)
  call void @Py_DecRef(ptr %old)
  %lost = icmp eq ptr %mine, null
  br i1 %lost, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %mine)
  br label %done
done:
  ret ptr %array
fail:
  call void @Py_DecRef(ptr %descr)
  ret ptr null
}
"""
FUNCTIONS = ("memory_malloc", "memory_calloc", "memory_realloc", "memory_free", "memory_array", "memory_release")
GLOBALS = ("memory_new_array", "memory_set_handler", "memory_handler", "memory_limit", "memory_counters")


class Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                *[(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")]]


def ir_text() -> str:
    """The module."""
    import llvmlite.binding as llvm
    values = {"TRIPLE": llvm.get_process_triple(), "LEAST": LEAST, "PATIENCE": PATIENCE, "MOST": MOST,
              "LAST": MOST - 1, "ROOM": 64 + 4 * 832 + 64}
    text = IR
    for name in sorted(values, key=len, reverse=True):
        text = text.replace("@" + name, str(values[name]))
    return text


class Blocks:
    """The allocator, loaded. There is one, and it stays: it frees the arrays that were made with it, some when the process ends.

    Attributes:
        capsule: NumPy's handle of it.
        new_array: address of a function like NumPy's ``PyArray_NewFromDescr`` that puts arrays into blocks.
        entries: addresses of the module's functions and variables.
    """

    def __init__(self, entries: dict[str, int]):
        self.entries = entries
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._handler = Handler(b"nbgrad", 1, None, *[entries[name] for name in FUNCTIONS[:4]])
        self._name = b"mem_handler"             # a capsule keeps the pointer
        self.capsule = capsule(ctypes.addressof(self._handler), self._name, None)
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_function(SET_HANDLER))
        self._release = ctypes.PYFUNCTYPE(ctypes.c_int64)(entries["memory_release"])
        self._counters = (ctypes.c_int64 * 4).from_address(entries["memory_counters"])
        self.new_array = entries["memory_array"]
        values = (numpy_function(NEW_FROM_DESCR), numpy_function(SET_HANDLER), id(self.capsule), config.KEPT_MEMORY)
        for name, value in zip(GLOBALS, values):
            ctypes.c_size_t.from_address(entries[name]).value = value

    def make(self, make: Callable[..., np.ndarray], *args: Any, **keywords: Any) -> np.ndarray:
        """An array from a function of NumPy that allocates it."""
        old = self._set(self.capsule)
        try:
            return make(*args, **keywords)
        finally:
            self._set(old)

    def release(self) -> int:
        """Give the blocks that are kept back to the system; returns how many bytes that were."""
        return self._release()

    @property
    def kept(self) -> int:
        """Bytes of blocks that are kept for later."""
        return self._counters[1]

    @property
    def mapped(self) -> int:
        """Bytes of all blocks, in use or kept."""
        return self._counters[2]


_loading = new_rlock()


def blocks() -> Blocks | None:
    """The allocator; None where it is not sound (another system, interpreter or NumPy, no lock) or with ``NBGRAD_NATIVE=0``."""
    with _loading:              # threads that make their first large tensors at the same time: there is one allocator
        return load_blocks()


@cache
def load_blocks() -> Blocks | None:
    """The same, of which the first call makes it."""
    locked = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()
    if not (config.NATIVE and locked and sys.platform == "linux" and np.lib.NumpyVersion(np.__version__) >= "1.22.0"):
        return None
    from ..kernels.cpu.store import loader
    store = loader()
    made = Blocks(store.module(ir_text(), [*FUNCTIONS, *GLOBALS]))
    # Arrays may be freed after everything else: what frees them is never unloaded.
    for kept in (store, made):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    core: Any = np._core        # type: ignore[attr-defined]     # private: NumPy's stubs leave it out
    return made if core.multiarray.get_handler_name(made.make(np.empty, 1)) == "nbgrad" else None
