"""Texts of what kernels of linear algebra share: matrices brought into LAPACK's order and back, and what LAPACK lacks."""

from __future__ import annotations

__all__ = ["BRING", "HELPERS"]

BRING = '''
def bring(source, down, across, rows, columns, target):
    """A copy of a matrix, one column behind the other: in pieces of eight rows, so that few lines of memory are in use."""
    x, y = at_T(source, 0), at_T(target, 0)
    if down == 1:
        for j in range(columns):
            for i in range(rows):
                y[j * rows + i] = x[j * across + i]
    else:
        low = 0
        while low + 8 <= rows:
            for j in range(columns):
                for i in range(8):
                    y[j * rows + low + i] = x[(low + i) * down + j * across]
            low += 8
        for i in range(low, rows):
            for j in range(columns):
                y[j * rows + i] = x[i * down + j * across]
'''
HELPERS = '''
def result(record, args, which, unit):
    """Where a result of a matrix goes."""
    at = 20 + 3 * which
    return pointer_word(args, word(record, at)) + word(record, at + 1) + unit * word(record, at + 2)


def operand(record, args, which, unit):
    """Where an operand's matrix begins."""
    return pointer_word(args, word(record, 33) + which) + move_to(record + 272, unit, which)


def has_strange(source, down, across, rows, columns):
    """Whether a matrix has NaN or infinities."""
    x, found = at_T(source, 0), 0
    for i in range(rows):
        if across == 1:
            for j in range(columns):
                found |= int64(x[i * down + j] * FLOAT(0.0) != FLOAT(0.0))
        else:
            for j in range(columns):
                found |= int64(x[i * down + j * across] * FLOAT(0.0) != FLOAT(0.0))
    return found


def greatest_sum(matrix, n):
    """The greatest sum of magnitudes in a row of memory."""
    x, found = at_T(matrix, 0), float64(0.0)
    for i in range(n):
        total = FLOAT(0.0)
        for j in range(n):
            value = x[i * n + j]
            total += max(value, -value)
        found = max(found, float64(total))
        if total != total:
            return float64(total)
    return found


def pivot_at(pivots, k, wide):
    """The row that step k exchanged with its own, from 0 on."""
    if wide != 0:
        return word(pivots, k) - 1
    return int64(at_int32(pivots, 0)[k]) - 1


def subtract_multiple(to, source, factor, k):
    """A row less a multiple of another one."""
    y, x = at_T(to, 0), at_T(source, 0)
    for l in range(k):
        y[l] -= factor * x[l]


def substitute(gemm, a, lead, lower, turned, unit, n, k, b):
    """Solve a triangular system in place, whose right sides are the columns of a matrix by rows.

    By blocks of 16 rows, which are taken off the others by products as large as can be: of 1, 2, 1, 4, 1, 2, 1, 8, ... blocks.
    """
    x, y = at_T(a, 0), at_T(b, 0)
    down, across, blocks = lead, 1, (n + 15) // 16
    if turned != 0:
        down, across = 1, lead
    ahead = lower ^ turned
    for step in range(blocks):
        low = 16 * step
        if ahead == 0:
            low = 16 * (blocks - 1 - step)
        count = min(16, n - low)
        for s in range(count):
            i = low + s
            if ahead == 0:
                i = low + count - 1 - s
            for r in range(s):
                j = low + r
                if ahead == 0:
                    j = low + count - 1 - r
                subtract_multiple(b + i * k * SIZE, b + j * k * SIZE, x[i * down + j * across], k)
            if unit == 0:
                pivot = x[i * (lead + 1)]
                for l in range(k):
                    y[i * k + l] = y[i * k + l] / pivot
        done = step + 1
        size = done & -done
        if done < blocks:
            first, last, row, end = 16 * (done - size), 16 * done, 16 * done, min(n, 16 * (done + size))
            if ahead == 0:
                first, last = 16 * (blocks - done), min(n, 16 * (blocks - done + size))
                row, end = 16 * max(0, blocks - done - size), 16 * (blocks - done)
            call_c(gemm, (101, 111 + turned, 111, end - row, k, last - first, FLOAT(-1.0), a + (row * down + first * across) * SIZE,
                          lead, b + first * k * SIZE, k, FLOAT(1.0), b + row * k * SIZE, k))


def solve_eliminated(gemm, factors, pivots, wide, n, k, b):
    """Solve systems in place by what elimination found, by columns."""
    y = at_T(b, 0)
    for i in range(n):
        other = pivot_at(pivots, i, wide)
        if other != i:
            for j in range(k):
                held = y[i * k + j]
                y[i * k + j] = y[other * k + j]
                y[other * k + j] = held
    substitute(gemm, factors, n, 0, 1, 1, n, k, b)
    substitute(gemm, factors, n, 1, 1, 0, n, k, b)


def report(record, args, unit, value):
    """Say how it went."""
    at_int32(result(record, args, 3, unit), 0)[0] = value


def said(info):
    """What LAPACK said: an integer, whose low half is in use either way."""
    return at_int32(info, 0)[0]
'''
