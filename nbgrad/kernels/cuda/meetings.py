"""Lines by which the threads of a row learn what all of them have found, each of them the same bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .templates import WARP, WARPS

__all__ = ["in_pairs", "meet", "meeting_places"]


def meet(names: Sequence[str], merged: Callable[[list[str]], str], width: int, place: str) -> list[str]:
    """Fold the numbers ``names`` of ``width`` neighbouring threads, so that each of these has the result.

    Threads of a warp exchange theirs, and wait for nobody; warps of a row meet in shared memory.

    Args:
        merged: the line that merges numbers of the names it is given, of other threads, into ``names``. Which ones are the later
            must not change a bit.
        place: what the names of ``meeting_places`` begin with.
    """
    later, inside, slots = [f"l{k}" for k in range(len(names))], min(width, WARP), width // WARP
    lines = list[str]()
    for d in [inside >> k for k in range(1, inside.bit_length())]:
        lines += [f"{other} = cuda.shfl_xor_sync(0xffffffff, {name}, {d})" for other, name in zip(later, names)]
        lines.append(merged(later))
    if slots < 2:
        return lines
    places = [f"{place}{k}" for k in range(len(names))]
    lines.append(f"if cuda.threadIdx.x % {WARP} == 0:")
    lines += [f"    {each}[cuda.threadIdx.x // {WARP}] = {name}" for each, name in zip(places, names)]
    lines.append("cuda.syncthreads()")
    lines += [f"{name} = {each}[which * {slots}]" for each, name in zip(places, names)]
    for w in range(1, slots):
        lines += [f"{other} = {each}[which * {slots} + {w}]" for each, other in zip(places, later)]
        lines.append(merged(later))
    return lines


def meeting_places(states: Sequence[int], width: int, place: str) -> list[str]:
    """The shared memory that ``meet`` takes for numbers of these of the template's states."""
    return [f"{place}{k} = cuda.shared.array({WARPS}, STATE{s})" for k, s in enumerate(states)] if width > WARP else []


def in_pairs(names: Sequence[str], made: str, form: str) -> list[str]:
    """Lines that fold names to ``{made}0``, neighbours first.

    >>> in_pairs(["x", "y", "z"], "t", "{} + {}")
    ['t0 = x + y', 't0 = t0 + z']
    """
    lines = [f"{made}0 = {names[0]}"] if len(names) == 1 else []
    while len(names) > 1:
        half = len(names) // 2
        lines += [f"{made}{k} = {form.format(names[2 * k], names[2 * k + 1])}" for k in range(half)]
        names = [*(f"{made}{k}" for k in range(half)), *names[2 * half :]]
    return lines
