"""Kernels that follow indices: reads, and writes whose result the shape and the elements alone decide.

NOTE [Keys of a write]: an index says for each of its positions which place of the result is meant, but for the dimensions that it
leaves alone (*free* ones). That is the position's key: the place's offset in units that all such offsets are multiples of; what is
out of range has the key ``none``, behind all others. Of several positions with one key

    set       the last one counts: each claims its place by ``max``, and those that kept it write
    combine   positions are sorted by keys, stably; then chunks of neighbours are folded, and runs that cross chunks merged

so a result never depends on the order of threads, and what is combined is so in the order in which the CPU walks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from .access import VECTOR_BYTES, Access, itemsize, vector_lanes
from .accumulators import Accumulator
from .templates import BLOCK, Template, compile_template, indent, strided_parameters, unravel

__all__ = ["claim", "fold_segments", "gather", "index_keys", "merge_segments", "most_folded", "put"]


def index_lines(indices: Sequence[str]) -> list[str]:
    """Lines that load the indices at a position: ``bad`` says whether one is out of range, ``place`` where they lead."""
    lines = ["bad = False", "place = 0"]
    for k, dtype in enumerate(indices):
        lines += [
            f"j{k} = {Access('load', dtype, exact=True).name}(index{k}, index{k}_at)",
            f"if (j{k} < -bias{k}) | (j{k} >= limit{k}):",
            f"    note_error(errors, fault{k}, j{k})",
            "    bad = True",
            f"place = place + where_index(j{k} < 0, j{k} + bias{k}, j{k}) * step{k}",
        ]
    return lines


def index_parameters(indices: Sequence[str]) -> list[str]:
    """The counts behind ``index_lines``: what is added to negative ones (0: they are wrong), the limit, the step, the fault."""
    return [f"{part}{k}" for k in range(len(indices)) for part in ("bias", "limit", "step", "fault")]


@cache
def gather(dtype: str, indices: tuple[str, ...], ndim: int, lanes: int = 1, bits: int = 32) -> Template:
    """out[i] = x[... + where the indices lead], 0 where one is out of range, which is noted.

    Args:
        dtype: of the elements, of which the bits count; indices: dtypes of the indices. lanes: of a vector, in which the walk and
            the steps count.

    Pointers: result, operand, indices, ``ERRORS``. Integer parameters: ``n``, those of the indices, then the walk of operand and
    indices. Bind ``**index_source(bits)``.
    """
    pointers = ["x0", *(f"index{k}" for k in range(len(indices)))]
    load, store = Access("load", dtype, lanes), Access("store", dtype, lanes)
    name = f"gather{bits}_{dtype}_by_{'_'.join(indices)}_{ndim}d_x{lanes}"
    zero = f"({', '.join(['nothing'] * lanes)})" if lanes > 1 else "nothing"
    counts = ["n", *index_parameters(indices), *strided_parameters(pointers, ndim)]
    function = compile_template(
        name,
        f"""
def NAME(out0, {", ".join(pointers)}, errors, {", ".join(counts)}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        at = i
        {indent(8, unravel(pointers, ndim))}
        {indent(8, index_lines(indices))}
        nothing = scalar(0)
        if bad:
            {store.name}(out0, at, {zero})
        else:
            {store.name}(out0, at, {load.name}(x0, x0_at + place))
""",
    )
    accesses = {load, store, *(Access("load", each, exact=True) for each in indices)}
    return Template(name, function, (dtype, dtype, *indices, "int64"), 0, frozenset(accesses), Counter([load, store]), bits)


@cache
def index_keys(key: str, indices: tuple[str, ...], ndim: int, guarded: bool, bits: int = 32) -> Template:
    """keys[i] = the place that the indices mean at a position, without free dimensions: NOTE [Keys of a write].

    Args:
        guarded: a pointer more, to an int64 that is 0: 1 is left there if an index is out of range.

    Integer parameters: ``n``, ``none``, those of the indices, then the walk of ``base`` (the result's offset in the dimensions that
    an index has, but does not replace) and the indices. Bind ``**index_source(bits)``.
    """
    pointers = ["base", *(f"index{k}" for k in range(len(indices)))]
    store, mark = Access("store", key, exact=True), Access("max", "int64")
    name = f"index_keys{bits}_{key}_by_{'_'.join(indices)}_{ndim}d{'_guarded' * guarded}"
    counts = ["n", "none", *index_parameters(indices), *strided_parameters(pointers, ndim)]
    told = ["if bad:", f"    {mark.name}(flag, 0, 1)"] if guarded else []
    function = compile_template(
        name,
        f"""
def NAME(keys, {", ".join(pointers[1:])}, errors, {"flag, " * guarded}{", ".join(counts)}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n:
        at = i
        {indent(8, unravel(pointers, ndim))}
        {indent(8, index_lines(indices))}
        {indent(8, told) or "pass"}
        {store.name}(keys, at, where_index(bad, none, place + base_at))
""",
    )
    accesses = {store, mark, *(Access("load", each, exact=True) for each in indices)}
    pointed = (key, *indices, "int64", *("int64",) * guarded)
    return Template(name, function, pointed, 0, frozenset(accesses), Counter([store]), bits)


@cache
def claim(key: str, owner: str) -> Template:
    """owners[keys[i]] = max(.., i): the last position that means a place. Integer parameters: ``n``, ``none``."""
    load, change = Access("load", key, exact=True), Access("max", owner)
    name = f"claim_{key}_{owner}"
    function = compile_template(
        name,
        f"""
def NAME(owners, keys, n, none):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n:
        key = {load.name}(keys, i)
        if key != none:
            {change.name}(owners, key, i)
""",
    )
    return Template(name, function, (owner, key), 0, frozenset((load, change)), Counter([load]))


@cache
def put(dtype: str, key: str, owner: str, ndim: int, guarded: bool, lanes: int = 1, bits: int = 32) -> Template:
    """out[... + key] = x[...], where a position owns its place.

    Args:
        owner: dtype of the owners; "" where all positions write the same element. guarded: as ``index_keys``; nothing is written
            where the flag is 1.

    Pointers: result, operand, keys, owners, flag. Integer parameters: ``n``, ``none``, ``unit`` (of keys, in vectors), then the
    walk of result, operand and position. Bind ``**index_source(bits)``.
    """
    pointers = ["out0", "x0", "position"]
    load, store = Access("load", dtype, lanes), Access("store" if owner else "put", dtype, lanes)
    keys, owners, flags = (
        Access("load", key, exact=True),
        Access("load", owner or "int32", exact=True),
        Access("load", "int64", 1, True),
    )
    name = f"put{bits}_{dtype}_{key}_{owner or 'same'}_{ndim}d_x{lanes}{'_guarded' * guarded}"
    given = ["out0", "x0", "keys", *["owners"] * bool(owner), *["flag"] * guarded]
    counts = ["n", "none", "unit", *strided_parameters(pointers, ndim)]
    owned = f"key != none and {owners.name}(owners, key) == position_at" if owner else "key != none"
    free = f"{flags.name}(flag, 0) == 0" if guarded else "True"
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*given, *counts])}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    if i < n and {free}:
        {indent(8, unravel(pointers, ndim))}
        key = {keys.name}(keys, position_at)
        if {owned}:
            {store.name}(out0, out0_at + key * unit, {load.name}(x0, x0_at))
""",
    )
    accesses = {load, store, keys, *([owners] if owner else []), *([flags] if guarded else [])}
    pointed = (dtype, dtype, key, *([owner] if owner else []), *["int64"] * guarded)
    return Template(name, function, pointed, 0, frozenset(accesses), Counter([load, Access("store", dtype, lanes)]), bits)


# ---- combined ----------------------------------------------------------------------------------------------------------

AHEAD = 1  # elements that a thread has on their way from memory while it folds one; with 4, 1.09 of the time on an H100


def most_folded(of: Accumulator, dtype: str) -> int:
    """Elements of a vector, at most, whose accumulators a thread holds."""
    return min(vector_lanes([dtype]), VECTOR_BYTES // itemsize(of.state[0]))


class Segments:
    """What both stages of a combining write have in common.

    Attributes:
        lanes: elements of a vector, in which columns, the walk and its steps count.
        over: whether what the result has counts, too; otherwise it is overwritten.
        states: by lane, names of the accumulators.
    """

    def __init__(self, of: Accumulator, dtype: str, key: str, order: str, ndim: int, guarded: bool, over: bool, lanes: int):
        self.of, self.dtype, self.key, self.order, self.ndim, self.guarded = of, dtype, key, order, ndim, guarded
        self.over, self.lanes, self.width = over, lanes, range(len(of.state))
        self.states = [[f"a{lane}_{s}" for s in self.width] for lane in range(lanes)]
        self.load, self.store = Access("load", dtype, lanes), Access("store", dtype, lanes)
        self.keys, self.orders = Access("load", key, exact=True), Access("load", order, exact=True)
        self.flag = Access("load", "int64", exact=True)
        self.walk = ["out0", "x0", "column", "chunk"]

    def start(self) -> list[str]:
        """A fold of nothing."""
        return [f"{name} = IDENTITY{s}" for names in self.states for s, name in enumerate(names)]

    def loaded(self, names: Sequence[str], pointer: str, at: str) -> str:
        """Load a vector into variables."""
        return f"{', '.join(names)} = {self.load.name}({pointer}, {at})"

    def absorb(self, values: Sequence[str]) -> list[str]:
        """Fold an element of each lane."""
        return [f"{', '.join(a)} = absorb({', '.join(a)}, scalar({value}))" for a, value in zip(self.states, values)]

    def keep(self, where: str) -> list[str]:
        """Store the accumulators of a chunk and column."""
        names = [Access("store", each, exact=True).name for each in self.of.state]
        return [
            f"{name}({where}{s}, row * {self.lanes} + {lane}, {self.states[lane][s]})"
            for s, name in enumerate(names)
            for lane in range(self.lanes)
        ]

    def get(self, where: str, lane: int) -> str:
        """Load those of a lane."""
        names = [Access("load", each, exact=True).name for each in self.of.state]
        return ", ".join(f"{name}({where}{s}, row * {self.lanes} + {lane})" for s, name in enumerate(names))

    def merge(self, where: str) -> list[str]:
        """Fold in those of a chunk and column."""
        return [f"{', '.join(a)} = merge({', '.join(a)}, {self.get(where, lane)})" for lane, a in enumerate(self.states)]

    def finish(self) -> list[str]:
        """Write the result, combined with what it has if that counts."""
        lines, found = ["place = out0_at + key * unit"], [f"f{lane}" for lane in range(self.lanes)]
        if self.over:
            lines.append(self.loaded(found, "out0", "place"))
        for lane, a in enumerate(self.states):
            state = ", ".join(a)
            if self.over:
                begun = ", ".join(f"b_{s}" for s in self.width)
                nothing = ", ".join(f"IDENTITY{s}" for s in self.width)
                lines.append(f"{begun} = absorb({nothing}, scalar(f{lane}))")
                lines.append(f"{begun} = merge({begun}, {state})")
                state = begun
            lines.append(f"f{lane} = finish({state})")
        made = found[0] if self.lanes == 1 else f"({', '.join(found)})"
        return [*lines, f"{self.store.name}(out0, place, {made})"]

    def template(self, stage: str, pointers: list[str], pointed: tuple[str, ...], lines: list[str]) -> Template:
        """The finished template."""
        how = "_guarded" * self.guarded + "_over" * self.over
        name = f"{stage}_{self.of.name}_{self.dtype}_{self.key}_{self.order}_{self.ndim}d_x{self.lanes}{how}"
        counts = ["n", "total", "none", "unit", "x_step", "columns", "size", *strided_parameters(self.walk, self.ndim)]
        free = f"{self.flag.name}(flag, 0) == 0" if self.guarded else "True"
        function = compile_template(
            name,
            f"""
def NAME({", ".join([*pointers, *["flag"] * self.guarded, *counts])}):
    i = cuda.blockIdx.x * {BLOCK} + cuda.threadIdx.x
    if i < n and {free}:
        {indent(8, unravel(self.walk, self.ndim))}
        row = chunk_at * columns + column_at
        {indent(8, lines)}
""",
        )
        states = {Access(how, each, exact=True) for each in self.of.state for how in ("load", "store")}
        accesses = {self.load, self.store, self.keys, self.orders, self.flag} | states
        pointed += ("int64",) * self.guarded
        return Template(name, function, pointed, 0, frozenset(accesses), index_bits=64, state=self.of.state)


@cache
def fold_segments(
    of: Accumulator, dtype: str, key: str, order: str, ndim: int, guarded: bool, over: bool, lanes: int = 1
) -> Template:
    """The first stage of a combining write: a thread folds a chunk of sorted positions, in one column of the free dimensions.

    A run of equal keys that lies in its chunk becomes the result at once. Of one that came from the chunk before, the
    accumulators are stored in ``head``, of one that goes on behind the chunk in ``tail``. Elements are loaded some positions
    before they are folded.

    Pointers: result, operand, keys, order, heads, tails, flag. Integer parameters: ``n`` (chunks x columns), ``total`` positions,
    ``none``, ``unit`` of keys, the operand's stride from position to position, ``columns``, ``size`` of a chunk, then the walk of
    result, operand, column and chunk. Bind ``**index_source(64)`` and the accumulator's source.
    """
    make = Segments(of, dtype, key, order, ndim, guarded, over, lanes)
    heads, tails = ([f"{where}{s}" for s in make.width] for where in ("head", "tail"))
    ahead = [[f"v{u}_{lane}" for lane in range(lanes)] for u in range(AHEAD)]

    def loaded(names: list[str], u: int) -> str:
        """Load the element ``u`` positions on; behind the chunk, its last one again."""
        at = f"{make.orders.name}(order, min(at + {u}, last))" if u else f"{make.orders.name}(order, at)"
        return make.loaded(names, "x0", f"x0_at + {at} * x_step")

    moved = [f"{', '.join(now)} = {', '.join(later)}" for now, later in zip(ahead, ahead[1:])]
    lines = [
        "at = chunk_at * size",
        "stop = min(at + size, total)",
        "last = stop - 1",
        *(loaded(names, u) for u, names in enumerate(ahead)),
        *make.start(),
        f"key = {make.keys.name}(keys, at)",
        "fresh = True",
        "if at > 0:",
        f"    fresh = {make.keys.name}(keys, at - 1) != key",
        "while at < stop:",
        *("    " + line for line in make.absorb(ahead[0])),
        *("    " + line for line in moved),
        "    " + loaded(ahead[-1], len(ahead)),
        "    at = at + 1",
        "    following = -1",
        "    if at < total:",
        f"        following = {make.keys.name}(keys, at)",
        "    if following != key:",
        "        if not fresh:",
        *("            " + line for line in make.keep("head")),
        "        elif key != none:",
        *("            " + line for line in make.finish()),
        *("        " + line for line in make.start()),
        "        key = following",
        "        fresh = True",
        "    elif at == stop:",
        "        if fresh:",
        *("            " + line for line in make.keep("tail")),
        "        else:",
        *("            " + line for line in make.keep("head")),
    ]
    pointed = (dtype, dtype, key, order, *of.state, *of.state)
    return make.template("fold_segments", ["out0", "x0", "keys", "order", *heads, *tails], pointed, lines)


@cache
def merge_segments(of: Accumulator, dtype: str, key: str, ndim: int, guarded: bool, over: bool, lanes: int = 1) -> Template:
    """The second stage: the thread of the chunk in which a run begins that goes on behind it merges what all its chunks have.

    Pointers: result, keys, heads, tails, flag. Integer parameters: those of ``fold_segments``.
    """
    make = Segments(of, dtype, key, "int32", ndim, guarded, over, lanes)
    heads, tails = ([f"{where}{s}" for s in make.width] for where in ("head", "tail"))
    lines = [
        "first = chunk_at * size",
        "end = first + size",
        "if end < total:",
        f"    key = {make.keys.name}(keys, end)",
        f"    goes_on = key == {make.keys.name}(keys, end - 1) and key != none",
        "    if goes_on and first > 0:",
        f"        goes_on = {make.keys.name}(keys, first - 1) != key",
        "    if goes_on:",
        *(f"        {', '.join(a)} = {make.get('tail', lane)}" for lane, a in enumerate(make.states)),
        "        while goes_on:",
        "            row = row + columns",
        *("            " + line for line in make.merge("head")),
        "            end = end + size",
        "            goes_on = False",
        "            if end < total:",
        f"                goes_on = {make.keys.name}(keys, end) == key",
        *("        " + line for line in make.finish()),
    ]
    return make.template("merge_segments", ["out0", "keys", *heads, *tails], (dtype, key, *of.state, *of.state), lines)
