"""Native code: the functions that allocate and free large blocks of memory for arrays. blocks.py says why there are any.

NOTE [Blocks]: requests of ``LEAST`` bytes and more get a mapping of their own, in whole 64 KB; smaller ones go to ``malloc``.
A freed block is kept, and the one freed last, which is likely to be cached, is taken first by a request of its size. What is
kept is bounded (``NBGRAD_KEPT_MEMORY``), and what nobody took for ``PATIENCE`` requests goes back to the system, one at a time.
  - Blocks of about 2 MB and more begin where a huge page does, and the system is asked for such: far fewer page faults, and
    no walks of page tables on the way.
  - Blocks begin at five different places in a page. Where an operand and the result lie at the same place, loads wait for stores
    whose addresses end in the same 12 bits.
  - 64 bytes before the data is a header: mapped bytes (0: from ``malloc``), bytes asked for, start of the mapping,
    whether nobody has written to it yet.
All of it runs under the interpreter's lock, as NumPy allocates.

NOTE [C's int]: of an argument that is an ``int`` to C only 32 bits mean anything; they are passed on unchanged.
"""

from __future__ import annotations

from .language import Static, c_entry, c_function, raw
from .primitives import call_eight, call_one, get_int64, put_int64

__all__ = ["LEAST", "MOST", "PATIENCE"]

LEAST = 1 << 18  # bytes of the smallest block
PATIENCE = 4096  # requests after which a block that is kept has been kept for nothing
MOST = 64  # blocks kept
HEADER, STEP, PLACES = 64, 832, 5
ROOM = HEADER + (PLACES - 1) * STEP + HEADER
UNIT, HUGE = 1 << 16, 1 << 21
MAPPED, ASKED, START, FRESH = -64, -56, -48, -40  # a header's words, before the data
ENTRY = 3  # words of an entry of the list

malloc, free = c_function("malloc", 1, "i64"), c_function("free", 1, "void")
mmap, munmap, madvise = c_function("mmap", 6, "i64"), c_function("munmap", 2), c_function("madvise", 3)
memcpy, memset = c_function("memcpy", 3, "i64"), c_function("memset", 3, "i64")
Py_DecRef = c_function("Py_DecRef", 1, "void")

functions = Static(0, 0, 0)  # NumPy's PyArray_NewFromDescr and PyDataMem_SetHandler, and our handler
limit = Static(0)  # bytes that may be kept
# Blocks kept, the one freed first in front: address of the data, mapped bytes, and the request after which it was freed.
kept = Static(*[0] * 192)
counters = Static(0, 0, 0, 0)  # blocks kept, bytes kept, bytes mapped, requests
place = Static(0)


@c_entry
def memory_set(new_array: int, set_handler: int, handler: int) -> None:
    """Say where NumPy's functions and our handler are."""
    functions[0], functions[1], functions[2] = new_array, set_handler, handler


@c_entry
def memory_limit(most: int) -> int:
    """Bytes that may be kept; a negative number asks, another sets."""
    if most >= 0:
        limit[0] = most
    return limit[0]


@c_entry
def memory_counter(k: int) -> int:
    """Blocks kept, bytes kept, bytes mapped, requests."""
    return counters[k]


@raw
def unmap(data: int, mapped: int) -> None:
    """Give a block back to the system."""
    munmap(get_int64(data + START), mapped)
    counters[2] = counters[2] - mapped


@raw
def remove(k: int) -> None:
    """Take a kept block out of the list."""
    counters[1] = counters[1] - kept[ENTRY * k + 1]
    counters[0] = counters[0] - 1
    for at in range(ENTRY * k, ENTRY * counters[0]):
        kept[at] = kept[at + ENTRY]


@raw
def evict() -> None:
    """Give the block that was freed first back to the system."""
    data, mapped = kept[0], kept[1]
    remove(0)
    unmap(data, mapped)


@c_entry
def memory_release() -> int:
    """Give all that is kept back; how much it was."""
    bytes_kept = counters[1]
    while counters[0] > 0:
        evict()
    return bytes_kept


@raw
def taken(mapped: int) -> int:
    """A kept block of so many mapped bytes, the one freed last; 0 if there is none."""
    k = counters[0] - 1
    while k >= 0:
        if kept[ENTRY * k + 1] == mapped:
            data = kept[ENTRY * k]
            remove(k)
            return data
        k -= 1
    return 0


@raw
def extent(size: int) -> int:
    """Bytes to map for a request: whole 64 KB, and whole huge pages where at least three quarters of the last are wanted."""
    mapped = size + ROOM + UNIT - 1 & -UNIT
    if mapped & HUGE - 1 >= HUGE - HUGE // 4:
        mapped = mapped + HUGE - 1 & -HUGE
    return mapped


@raw
def pages(mapped: int) -> int:
    """New pages; -1 as an address where there are none."""
    spare = HUGE if mapped >= HUGE else 0
    start = mmap(0, mapped + spare, 3, 34, -1, 0)  # PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS
    if start == -1 or spare == 0:
        return start
    first = start + HUGE - 1 & -HUGE
    if first > start:
        munmap(start, first - start)
    if first - start < spare:
        munmap(first + mapped, spare - (first - start))
    madvise(first, mapped & -HUGE, 14)  # MADV_HUGEPAGE
    return first


@raw
def block(size: int) -> int:
    """A block: NOTE [Blocks]. 0 where the system has no memory even when all that is kept went back."""
    counters[3] = counters[3] + 1
    mapped = extent(size)
    data = taken(mapped)
    if data != 0:
        put_int64(data + ASKED, size)
        put_int64(data + FRESH, 0)
        return data
    start = pages(mapped)
    if start == -1:
        memory_release()
        start = pages(mapped)
        if start == -1:
            return 0
    counters[2] = counters[2] + mapped
    place[0] = (place[0] + 1) % PLACES
    data = start + HEADER + STEP * place[0]
    put_int64(data + MAPPED, mapped)
    put_int64(data + ASKED, size)
    put_int64(data + START, start)
    put_int64(data + FRESH, 1)
    return data


@c_entry
def memory_malloc(context: int, size: int) -> int:
    """Memory for an array."""
    if size >= LEAST or size < 0:  # C's sizes have no sign
        return block(size)
    start = malloc(size + HEADER)
    if start == 0:
        return 0
    data = start + HEADER
    put_int64(data + MAPPED, 0)
    put_int64(data + ASKED, size)
    put_int64(data + FRESH, 0)
    return data


@c_entry
def memory_calloc(context: int, count: int, size: int) -> int:
    """Memory for an array, filled with zeros."""
    data = memory_malloc(context, count * size)
    if data != 0 and get_int64(data + FRESH) == 0:
        memset(data, 0, count * size)
    return data


@c_entry
def memory_free(context: int, data: int, size: int) -> None:
    """Keep a block, or give it back."""
    if data == 0:
        return
    mapped = get_int64(data + MAPPED)
    if mapped == 0:
        free(data - HEADER)
    elif mapped > limit[0]:
        unmap(data, mapped)
    else:
        while counters[1] + mapped > limit[0] or counters[0] >= MOST - 1:
            evict()
        at = ENTRY * counters[0]
        kept[at], kept[at + 1], kept[at + 2] = data, mapped, counters[3]
        counters[0] = counters[0] + 1
        counters[1] = counters[1] + mapped
        if counters[3] - kept[2] > PATIENCE:
            evict()


@c_entry
def memory_realloc(context: int, data: int, size: int) -> int:
    """Memory of another size, with what was in the old one."""
    made = memory_malloc(context, size)
    if made != 0 and data != 0:
        asked = get_int64(data + ASKED)
        memcpy(made, data, asked if asked < size else size)
        memory_free(context, data, asked)
    return made


@c_entry
def memory_array(kind: int, descr: int, ndim: int, dims: int, strides: int, data: int, flags: int, given: int) -> int:
    """PyArray_NewFromDescr while our handler is set: NOTE [C's int]."""
    old = call_one(functions[1], functions[2])
    if old == 0:
        Py_DecRef(descr)
        return 0
    array = call_eight(functions[0], kind, descr, ndim, dims, strides, data, flags, given)
    mine = call_one(functions[1], old)
    Py_DecRef(old)
    if mine != 0:
        Py_DecRef(mine)
    return array
