"""A loop over numbers that are carried from trip to trip, as source text; CPU.

Record words: trips, and whether slices are taken from the last to the first. What is carried stays in registers.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ..texts import run_text

__all__ = ["recurrence_loop"]

# How a function that is computed in one of two ways says that it must be the precise one: see ``REDUCED`` of elementwise.py.
OUTSIDE = {"guard": "guard({})", "common": "common({}) < 0"}


@cache
def recurrence_loop(dtype: str, carries: int, slices: int, whole: int, results: int, history: bool, guarded: str) -> Callable:
    """``kernel(start, stop, args)``: ``scalar`` of carries, slices and whole numbers gives carries and results.

    Args:
        results: how many it gives beside the carries, of every trip.
        history: whether the carries that trips take are written, too.
        guarded: ``"guard"``, ``"common"`` or nothing: where that is true, or negative, ``precise`` computes the trip.
    """
    outs = [f"last{k}" for k in range(carries)] + [f"y{k}" for k in range(results)]
    outs += [f"h{k}" for k in range(carries)] if history else []
    ins = [f"first{k}" for k in range(carries)] + [f"x{k}" for k in range(slices)] + [f"w{k}" for k in range(whole)]
    lines = ["def kernel(start, stop, args):", "    record = pointer_word(args, 0)"]
    lines.append("    trips, reverse = word(record, 0), word(record, 1)")
    lines += [f"    {name} = p_{dtype}(args, {k})" for k, name in enumerate([*outs, *ins], start=1)]
    lines += [f"    c{k} = first{k}[0]" for k in range(carries)]
    lines += [f"    v{k} = w{k}[0]" for k in range(whole)]
    lines += ["    for trip in range(trips):", "        i = trips - 1 - trip if reverse != 0 else trip"]
    lines += [f"        h{k}[i] = c{k}" for k in range(carries)] if history else []
    call = ", ".join([*(f"c{k}" for k in range(carries)), *(f"x{k}[i]" for k in range(slices)), *(f"v{k}" for k in range(whole))])
    made = ", ".join(f"r{k}" for k in range(carries + results))
    if guarded:
        lines += [f"        if {OUTSIDE[guarded].format(call)}:", f"            {made} = precise({call})", "        else:"]
        lines.append(f"            {made} = scalar({call})")
    else:
        lines.append(f"        {made} = scalar({call})")
    lines += [f"        y{k}[i] = r{carries + k}" for k in range(results)]
    lines += [f"        c{k} = r{k}" for k in range(carries)]
    lines += [f"    last{k}[0] = c{k}" for k in range(carries)]
    text = "\n".join(lines) + "\n"
    scope = run_text(text, f"recurrence {dtype} {carries} {slices} {whole} {results} {history} {guarded}")
    kernel: Callable = scope["kernel"]
    kernel.source = text  # type: ignore[attr-defined]
    return kernel
