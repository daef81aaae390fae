"""Losses by class index, row by row: loops as source text; CPU. Scores are ``[rows, classes]``, contiguous.

The cross-entropy of a row is its logsumexp less the score of the target; nothing is kept for backward but the scores,
since a second exponential is cheaper than writing and reading log-probabilities. A row whose target is ``ignore``
counts for nothing; one whose target is no class is NaN, and ``valid_mean`` reports it.

Exponentials are added in runs of 256, which the compiler spreads over its lanes; the runs are added in float64. That is quicker
than adding all in float64 (benchmarks/test_kernels.py), and the error stays below one rounding of the result. They are written also
where nobody reads them: by one loop in all kernels, so that the sum is the same to the last bit, and one kernel may compute losses
and cotangents of it (jit/execution/losses.py). See NOTE [Short rows] in softmax.py, too.

Record words: 0 rows, 1 classes, 2 the ignored target, 3 elements between the row cotangents (0: one for all), 4
whether to divide.
"""

# mypy: disable-error-code="name-defined"
from __future__ import annotations

from functools import cache
from typing import Callable

from ...base.dtypes import WIDTHS
from ..texts import fill_template
from .keys import KEY_TYPES
from .softmax import SHORT

__all__ = ["loss_loop"]

ROW_HEAD = """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    classes, ignore, step = word(record, 1), word(record, 2), word(record, 3)
    for row in range(start, stop):
"""
# Each branch ends its row: `continue` keeps the loops below it plain, so that they vectorise.
SKIPPED = """
        target = p_int64(args, TARGET)[row]
        if (target == ignore) | (target < 0) | (target >= classes):
            EMPTY
            continue
"""
SKIPPED_LOSS = SKIPPED.replace("EMPTY", "p_T(args, 1)[row] = where(target == ignore, 0.0, NAN)")
# See NOTE [Infinite maxima] in softmax.py.
TOP = """
        x = at_T(pointer_word(args, SCORES), row * classes * SIZE)
        keys = at_KEY(pointer_word(args, SCORES), row * classes * SIZE)
        top = least_key()
        for i in range(classes):
            key = key_max(keys[i])
            top = where(key > top, key, top)
        m = finite_or_zero(float_of_max(top))
"""
# The exponentials of a row, which are kept, and their sum.
EXPONENTIALS = """
        total = float64(0.0)
        for low in range(0, classes, 256):
            kept = KEPT
            s = 0.0
            if classes < SHORT:
                for i in range(classes):
                    kept[i] = exp(x[i] - m)
                for i in range(classes):
                    s += kept[i]
            else:
                for i in abreast(low, min(low + 256, classes)):
                    e = exp(x[i] - m)
                    kept[i - BEGIN] = e
                    s += e
            total += float64(s)
"""
IN_PLACE = EXPONENTIALS.replace("KEPT", "out").replace(" - BEGIN", "")
LOSS = """
        p_T(args, 1)[row] = (m - x[target]) + log(T(total))
"""
COTANGENTS = """
        g = p_T(args, SCORES - 1)[row * step]
        scale = T(float64(g) / total)
        for i in range(classes):
            out[i] = out[i] * scale
        out[target] -= g
"""
OUT = """
        out = at_T(pointer_word(args, GRADIENT), row * classes * SIZE)
"""
ZEROS = """for i in range(classes):
                out[i] = 0.0"""
LOOPS = {
    "cross_entropy_rows": ROW_HEAD.replace("    for row", "    buffer = stack(256 * SIZE)\n    for row")
    + SKIPPED_LOSS
    + TOP
    + EXPONENTIALS.replace("KEPT", "at_T(buffer, 0)").replace("BEGIN", "low")
    + LOSS,
    "cross_entropy_rows_backward": ROW_HEAD + OUT + SKIPPED.replace("EMPTY", ZEROS) + TOP + IN_PLACE + COTANGENTS,
    "cross_entropy_rows_both": ROW_HEAD
    + OUT
    + SKIPPED_LOSS.replace("continue", ZEROS + "\n            continue")
    + TOP
    + IN_PLACE
    + LOSS
    + COTANGENTS,
    "nll_rows": ROW_HEAD
    + SKIPPED_LOSS
    + """
        p_T(args, 1)[row] = -p_T(args, SCORES)[row * classes + target]
""",
    "nll_rows_backward": ROW_HEAD
    + """
        out = at_T(pointer_word(args, 1), row * classes * SIZE)
        for i in range(classes):
            out[i] = 0.0
"""
    + SKIPPED.replace("EMPTY", "pass")
    + """
        out[target] = -p_T(args, 2)[row * step]
""",
    "valid_mean": """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    rows, classes, ignore = word(record, 0), word(record, 1), word(record, 2)
    losses, targets = p_T(args, 3), p_int64(args, 4)
    total, count, wrong = float64(0.0), 0, 0
    for row in range(rows):
        target = targets[row]
        if target != ignore:
            total += float64(losses[row])
            count += 1
            if (target < 0) | (target >= classes):
                wrong = 1
    if word(record, 4) != 0:
        total = total / float64(count)
    p_T(args, 1)[0] = total
    p_uint8(args, 2)[0] = wrong
""",
    "valid_share": """
def kernel(start, stop, args):
    record = pointer_word(args, 0)
    rows, ignore = word(record, 0), word(record, 2)
    out, targets = p_T(args, 1), p_int64(args, 3)
    share = float64(p_T(args, 2)[0])
    if word(record, 4) != 0:
        count = 0
        for row in range(rows):
            if targets[row] != ignore:
                count += 1
        share = share / float64(count)
    for row in range(rows):
        if targets[row] != ignore:
            out[row] = share
        else:
            out[row] = 0.0
""",
}


@cache
def loss_loop(name: str, dtype: str) -> Callable:
    """``kernel(start, stop, args)``; operands: row cotangents or losses, scores, targets, as far as there are any."""
    scores = {"cross_entropy_rows_backward": 3, "cross_entropy_rows_both": 4}.get(name, 2)
    return fill_template(
        LOOPS[name],
        f"{name} {dtype}",
        {
            "at_T": f"at_{dtype}",
            "p_T": f"p_{dtype}",
            "at_KEY": f"at_{KEY_TYPES[dtype]}",
            "(T(": f"({dtype}(",
            " T(": f" {dtype}(",
            "SIZE": WIDTHS[dtype],
            "SCORES - 1": scores - 1,
            "SCORES": scores,
            "GRADIENT": scores - 2,
            "SHORT": SHORT,
            "TARGET": scores + 1,
        },
    )
