"""The elementwise loop, as source text; CPU. Free names are bound by ``instantiate``: ``scalar`` and the pointers.

NOTE [In place]: an output that is an operand is *one* pointer. With two equal pointers LLVM's run-time overlap check
fails and the loop runs one element at a time.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import late_text

__all__ = ["elementwise_loop"]


@cache
def elementwise_loop(
    outs: tuple[str, ...],
    ins: tuple[tuple[str, bool], ...],
    inplace: int = 0,
    guarded: str = "",
    by_rows: bool = False,
    abreast: bool = False,
) -> Callable:
    """``kernel(start, stop, args)`` that applies ``scalar`` to contiguous operands.

    Args:
        outs: element types of the outputs; ``"bool"`` is stored as uint8.
        ins: element type and whether the operand has one element for all positions, or for those of a row.
        inplace: so many outputs are the first operands, and are passed once.
        guarded: ``"guard"`` or ``"common"``: the test that is or-reduced over blocks of 512 first; where it is true, or negative,
            ``precise`` computes the block.
        abreast: whether four vectors are computed at a time.
        by_rows: a unit is a row; the record: elements of a row, and for every pointer bytes from row to row.
    """
    pointers = [(f"out{k}", dtype) for k, dtype in enumerate(outs)]
    aliases = {f"x{k}": f"out{k}" for k in range(inplace)}
    pointers += [(f"x{k}", dtype) for k, (dtype, _) in enumerate(ins) if k >= inplace]
    first, last = ("0", "width") if by_rows else ("start", "stop")
    memory = "at_{}(pointer_word(args, {}), row * word(record, {}))" if by_rows else "p_{}(args, {})"
    lines = [f"{name} = {memory.format(stored(dtype), k, k)}" for k, (name, dtype) in enumerate(pointers, start=1)]
    values = []
    for k, (dtype, single) in enumerate(ins):
        name = aliases.get(f"x{k}", f"x{k}")
        test = " != 0" if dtype == "bool" else ""
        if single:
            lines.append(f"value{k} = {name}[0]{test}")
            values.append(f"value{k}")
        else:
            values.append(f"{name}[i]{test}")
    call = ", ".join(values)
    results = [f"r{k}" for k in range(len(outs))]
    body = [f"{', '.join(results)} = FUNCTION({call})"] if len(outs) > 1 else [f"r0 = FUNCTION({call})"]
    body += [f"out{k}[i] = {r}" for k, r in enumerate(results)]
    if guarded:
        lines += guarded_loop(guarded, call, body, first, last)
    else:
        lines.append(f"for i in range({first}, {last}):")
        lines += ["    " + line.replace("FUNCTION", "scalar") for line in body]
    if by_rows:
        head = ["record = pointer_word(args, 0)", "width = word(record, 0)", "for row in range(start, stop):"]
        lines = [*head, *("    " + line for line in lines)]
    if abreast:
        lines[-1 - len(body)] = lines[-1 - len(body)].replace("range(", "abreast(")
    text = "\n".join(["def kernel(start, stop, args):", *("    " + line for line in lines)]) + "\n"
    label = f"elementwise {outs} {ins} {inplace} {guarded}" + " by rows" * by_rows + " abreast" * abreast
    return late_text(text, label, {}, "kernel")[0]


# How a test is or-reduced: the first value, one step, and what sends the block to ``precise``. Words are as wide as the elements:
# 64-bit ones would halve the lanes of float32. LLVM vectorises no such reduction of truth values.
REDUCED = {
    "guard": ("0", "outside | guard({})", "outside != 0"),
    "common": ("iand(0, 0)", "ior(outside, common({}))", "outside < 0"),
}


def guarded_loop(test: str, call: str, body: list[str], start: str, stop: str) -> list[str]:
    """Blocks of 512: one vectorised look at the arguments, then the fast or the precise function."""
    fast = ["        " + line.replace("FUNCTION", "scalar") for line in body]
    slow = ["            " + line.replace("FUNCTION", "precise") for line in body]
    first, step, found = REDUCED[test]
    return [
        f"for low in range({start}, {stop}, 512):",
        "    high = low + 512",
        f"    if high > {stop}:",
        f"        high = {stop}",
        f"    outside = {first}",
        "    for i in range(low, high):",
        f"        outside = {step.format(call)}",
        f"    if {found}:",
        "        for i in range(low, high):",
        *slow,
        "        continue",
        "    for i in range(low, high):",
        *fast,
    ]


def stored(dtype: str) -> str:
    """The element type in memory."""
    return "uint8" if dtype == "bool" else dtype
