"""Losses of paths through the classes of a target, and their cotangents, as text for a dtype; CPU.

NOTE [Paths] of ops/paths.py. A unit of work is a sequence. Sums stay logarithms from step to step: what has the least chance now
may be all that comes to the end. A row of states has two that are NEVER in front, or behind, so that no state is another case.
Before the first step all states but the first are NEVER, as is the logarithm of 0.

Record words: 0 steps, 1 sequences, 2 classes, 3 states, 4 the class that stands for nothing; 5 elements between losses' cotangents.
Operands behind the memory: cotangents of losses, scores, paths, steps and states of each sequence, losses; forward the middle ones.
"""

from __future__ import annotations

from functools import cache
from typing import Callable

from ...ops.paths import IMPOSSIBLE, NEVER
from ..texts import in_dtype, late_text, with_lines
from .softmax import score_bindings

__all__ = ["memory_rows", "paths_kernel"]

# The scores of all states at a step.
SCORES = """
for s in range(own):
    found = x[path[s]]
    score[s] = NEVER if found < NEVER else found
"""
# The logarithm of the sum of three powers, for all states.
SUMS = """
for s in range(own):
    a, b, c = FIRST_OF_THREE, SECOND, THIRD
    top = a if a > b else b
    top = c if c > top else top
    new[PLACE] = top + log(exp(a - top) + exp(b - top) + exp(c - top))
"""
HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    steps, samples, classes = word(record, 0), word(record, 1), word(record, 2)
    states, blank = word(record, 3), word(record, 4)
    wide = states + 4
    for n in range(start, stop):
        memory = pointer_word(args, 2) + n * wide * ROWS * SIZE
        path = at_int64(pointer_word(args, OPERAND + 1), n * states * 8)
        lengths = p_int64(args, OPERAND + 2)
        length, own = min(max(lengths[n], 0), steps), min(max(lengths[samples + n], 1), states)
        score, barrier = at_T(memory, 0), at_T(memory, wide * SIZE)
        for s in range(wide):
            barrier[s] = NEVER
        for s in range(2, states):
            if (path[s] != blank) & (path[s] != path[s - 2]):
                barrier[s] = 0.0
        new = at_T(memory, ALPHA * wide * SIZE)
        for s in range(wide):
            new[s] = NEVER
        new[2] = 0.0
        for t in range(length):
            x = at_T(pointer_word(args, OPERAND), (t * samples + n) * classes * SIZE)
            old = at_T(memory, (ALPHA + AFTER(t)) * wide * SIZE)
            new = at_T(memory, (ALPHA + AFTER(t + 1)) * wide * SIZE)
            SCORES
            THERE
            for s in range(own):
                new[s + 2] += score[s]
            new[0], new[1] = T(NEVER), T(NEVER)
"""
LOSS = """
        last, before = new[own + 1], T(NEVER)
        if (own > 1) & (length > 0):
            before = new[own]
        top = last if last > before else before
        loss = -(top + log(exp(last - top) + exp(before - top)))
        p_T(args, 1)[n] = INF if loss >= IMPOSSIBLE else loss
"""
BACK = """
        g, loss = p_T(args, 3)[n * word(record, 5)], p_T(args, 7)[n]
        for t in range(steps):
            out = at_T(pointer_word(args, 1), (t * samples + n) * classes * SIZE)
            for k in range(classes):
                out[k] = 0.0
        shares = at_T(memory, 2 * wide * SIZE)
        for back in range(0 if loss >= IMPOSSIBLE else length):
            t = length - 1 - back
            x = at_T(pointer_word(args, OPERAND), (t * samples + n) * classes * SIZE)
            out = at_T(pointer_word(args, 1), (t * samples + n) * classes * SIZE)
            alpha = at_T(memory, (ALPHA + t + 1) * wide * SIZE)
            old = at_T(memory, (3 + (t + 1) % 2) * wide * SIZE)
            new = at_T(memory, (3 + t % 2) * wide * SIZE)
            SCORES
            if back == 0:
                for s in range(own):
                    new[s] = 0.0 if s >= own - 2 else NEVER
            else:
                FROM_BEHIND
            for s in range(own):
                shares[s] = g * exp(alpha[s + 2] + new[s] + loss)
            for s in range(own):
                out[path[s]] -= shares[s]
            for s in range(own):
                new[s] += score[s]
            new[own], new[own + 1] = T(NEVER), T(NEVER)
"""
TEXTS = {
    "path_losses": HEAD.replace("AFTER(t + 1)", "(t + 1) % 2").replace("AFTER(t)", "t % 2") + LOSS,
    "path_cotangents": HEAD.replace("AFTER(t + 1)", "t + 1").replace("AFTER(t)", "t") + BACK,
}
# Of a sequence: scores, barriers, and of the way back shares and two rows of it; then those of the way there.
FIRST_ROWS = {"path_losses": 2, "path_cotangents": 5}


def memory_rows(name: str, steps: int) -> int:
    """How many rows of states a sequence needs in memory."""
    return FIRST_ROWS[name] + (2 if name == "path_losses" else steps + 1)


def sums(place: str, *three: str) -> str:
    """Lines for all states, where a state's sum is, and what is added up."""
    text = SUMS.strip().replace("PLACE", place)
    for word, each in zip(("FIRST_OF_THREE", "SECOND", "THIRD"), three):
        text = text.replace(word, each)
    return text


@cache
def paths_kernel(name: str, dtype: str) -> tuple[Callable, tuple]:
    """The kernel of an operation for a real dtype, and what its Program binds."""
    parts = {
        "SCORES": SCORES.strip(),
        "THERE": sums("s + 2", "old[s + 2]", "old[s + 1]", "old[s] + barrier[s]"),
        "FROM_BEHIND": sums("s", "old[s]", "old[s + 1]", "old[s + 2] + barrier[s + 2]"),
    }
    text = with_lines(TEXTS[name], parts)
    words = {
        "ROWS": f"({memory_rows(name, 0)} + steps)" if name == "path_cotangents" else str(memory_rows(name, 0)),
        "OPERAND": 3 if name == "path_losses" else 4,
        "ALPHA": FIRST_ROWS[name],
        "IMPOSSIBLE": IMPOSSIBLE,
        "NEVER": NEVER,
    }
    for word, value in words.items():
        text = text.replace(word, str(value))
    return late_text(in_dtype(text, dtype), f"{name} {dtype}", {}, "kernel")[0], score_bindings(dtype)
