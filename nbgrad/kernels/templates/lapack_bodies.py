"""Texts of what kernels of linear algebra do for one matrix, by the routines' names.

f0, f1, f2 are functions of LAPACK or BLAS, capitals addresses of sizes: ``KERNEL`` of lapack.py, in whose loop a text goes.
"""

from __future__ import annotations

__all__ = ["BODIES"]

BODIES = {
    # Both triangles, rows exchanged; pivots from 1 on.
    "lu": """
        pivots = work + area
        bring(x, down, across, m, n, work)
        call_c(f0, (M, N, work, M, pivots, info))
        bring(work, m, 1, n, m, out)
        found, numbers = at_int32(result(record, args, 1, unit), 0), at_T(result(record, args, 1, unit), 0)
        for i in range(least):
            if flag != 0:
                numbers[i] = pivot_at(pivots, i, wide) + 1
            else:
                found[i] = pivot_at(pivots, i, wide) + 1
        if flag != 0:
            at_T(result(record, args, 2, unit), 0)[0] = said(info)
            set_word(info, 0, 0)
""",
    # Rows exchanged as pivots from 0 on say, or taken back (``flag``); ``other_flag``: integers of 64 bits.
    "exchange": """
        y, pivots = at_T(out, 0), operand(record, args, 1, unit)
        bring(x, across, down, n, m, out)
        for step in range(k):
            i = step
            if flag != 0:
                i = k - 1 - step
            other = int64(at_int32(pivots, 0)[i])
            if other_flag != 0:
                other = word(pivots, i)
            if (other < 0) | (other >= m):
                set_word(info, 0, 1)
            elif other != i:
                for j in range(n):
                    held = y[i * n + j]
                    y[i * n + j] = y[other * n + j]
                    y[other * n + j] = held
""",
    # Vector products along the rows, or along the columns (``flag``): no LAPACK, the same kind of launch.
    "cross": """
        count, own, beside, own_y, beside_y, own_out, beside_out = n, down, across, down_y, across_y, n, 1
        if flag != 0:
            count, own, beside, own_y, beside_y, own_out, beside_out = m, across, down, across_y, down_y, 1, 3
        a, b, z = at_T(x, 0), at_T(operand(record, args, 1, unit), 0), at_T(out, 0)
        for j in range(count):
            i, l = j * beside, j * beside_y
            a0, a1, a2 = a[i], a[i + own], a[i + 2 * own]
            b0, b1, b2 = b[l], b[l + own_y], b[l + 2 * own_y]
            z[j * beside_out] = a1 * b2 - a2 * b1
            z[j * beside_out + own_out] = a2 * b0 - a0 * b2
            z[j * beside_out + 2 * own_out] = a0 * b1 - a1 * b0
""",
    # P, L and U.
    "plu": """
        pivots = work + area
        order = pivots + least * 8
        bring(x, down, across, m, n, work)
        call_c(f0, (M, N, work, M, pivots, info))
        set_word(info, 0, 0)
        apart(work, 1, m, m, n, least, at_T(result(record, args, 1, unit), 0), at_T(result(record, args, 2, unit), 0))
        for i in range(least):
            at_int32(order, 0)[i] = pivot_at(pivots, i, wide) + 1
        permutation(order, least, m, order + least * 8, at_T(out, 0))
""",
    # P, L and U of what lu found.
    "unpack": """
        apart(x, down, across, m, n, least, at_T(result(record, args, 1, unit), 0), at_T(result(record, args, 2, unit), 0))
        set_word(info, 0, permutation(operand(record, args, 1, unit), least, m, work, at_T(out, 0)))
""",
    # Of rows, the lower triangle is the upper one to LAPACK.
    "cholesky": """
        y = at_T(out, 0)
        if flag != 0:
            bring(x, down, across, n, n, out)
        else:
            bring(x, across, down, n, n, out)
        call_c(f0, (A, N, out, N, info, 1))
        strange = 0
        for i in range(n):
            strange |= int64(y[i * n + i] != y[i * n + i])
            for j in range(i + 1, n):
                y[i * n + j] = 0.0
        if strange != 0:
            set_word(info, 0, n)
        if flag != 0:
            for i in range(n):
                for j in range(i):
                    y[j * n + i] = y[i * n + j]
                    y[i * n + j] = 0.0
""",
    # Systems whose right sides are the columns of the unit matrix.
    "inverse": """
        z, pivots = at_T(out, 0), work + area
        bring(x, down, across, n, n, work)
        call_c(f0, (N, N, work, N, pivots, info))
        if said(info) == 0:
            for i in range(n):
                for j in range(n):
                    z[i * n + j] = 0.0
                z[i * n + i] = 1.0
            solve_eliminated(f1, work, pivots, wide, n, n, out)
""",
    "solve": """
        pivots = work + area
        bring(x, down, across, n, n, work)
        call_c(f0, (N, N, work, N, pivots, info))
        if said(info) == 0:
            bring(operand(record, args, 1, unit), across_y, down_y, k, n, out)
            solve_eliminated(f1, work, pivots, wide, n, k, out)
""",
    "triangle": """
        bring(operand(record, args, 1, unit), across_y, down_y, k, n, out)
        substitute(f0, x, other_flag, word(record, 6) - 121, word(record, 7) - 111, flag - 131, n, k, out)
""",
    "determinant": """
        pivots = work + area
        bring(x, across, down, n, n, work)
        call_c(f0, (N, N, work, N, pivots, info))
        set_word(info, 0, 0)
        a, total, zeros, strange = at_T(work, 0), float64(1.0), 0, 0
        for i in range(n):
            value = a[i * n + i]
            zeros |= int64(value == 0.0)
            total *= float64(value)
            if pivot_at(pivots, i, wide) != i:
                total = -total
        at_T(out, 0)[0] = total
        size = fabs(total)
        if zeros == 0:
            if not ((size > 1e-290) & (size < 1e290)):
                set_word(info, 0, 1)
""",
    # The determinant times the turned inverse, of matrices whose condition is less than ``flag``.
    "cofactors": """
        pivots = work + word(record, 4) * SIZE
        bring(x, down, across, n, n, out)
        size = greatest_sum(out, n)
        call_c(f0, (N, N, out, N, pivots, info))
        y, total = at_T(out, 0), float64(1.0)
        for i in range(n):
            total *= float64(y[i * n + i])
            if pivot_at(pivots, i, wide) != i:
                total = -total
        if said(info) == 0:
            call_c(f1, (N, out, N, pivots, work, LWORK, info))
        magnitude = fabs(total)
        if not ((size * greatest_sum(out, n) < flag) & (magnitude > 1e-290) & (magnitude < 1e290)):
            set_word(info, 0, 1)
        for i in range(n * n):
            y[i] = total * float64(y[i])
""",
    # Sign and logarithm: of numbers between 1/2 and 1, whose powers of two are counted.
    "slogdet": """
        pivots = work + area
        bring(x, across, down, n, n, work)
        call_c(f0, (N, N, work, N, pivots, info))
        set_word(info, 0, 0)
        a, sign, total, part, strange = at_T(work, 0), 1.0, float64(0.0), float64(1.0), 0
        for i in range(n):
            value = float64(a[i * n + i])
            size = fabs(value)
            if not ((size > 1e-140) & (size < 1e140)):
                strange = 1
            if value < 0.0:
                sign = -sign
            if pivot_at(pivots, i, wide) != i:
                sign = -sign
            part *= size
            if not ((part > 1e-140) & (part < 1e140)):
                total += log(part)
                part = float64(1.0)
        total += log(part)
        at_T(out, 0)[0] = sign
        at_T(result(record, args, 1, unit), 0)[0] = total
        set_word(info, 0, strange)
""",
    "eigh": """
        values = result(record, args, 1, unit)
        if has_strange(x, down, across, n, n) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, n, n, work)
            call_c(f0, (A, B, N, work, N, values, work + area, LWORK, work + (n * n + word(record, 4)) * SIZE, LIWORK, info,
                        1, 1))
            bring(work, n, 1, n, n, out)
""",
    "eigvalsh": """
        if has_strange(x, down, across, n, n) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, n, n, work)
            call_c(f0, (A, B, N, work, N, out, work + area, LWORK, work + (n * n + word(record, 4)) * SIZE, LIWORK, info,
                        1, 1))
""",
    "svd": """
        if has_strange(x, down, across, m, n) != 0:
            set_word(info, 0, -1)
        else:
            left, right = least, least
            if flag != 0:
                left, right = m, n
            columns = work + area
            rows = columns + (m * left * SIZE + 63) // 64 * 64
            rest = rows + (n * right * SIZE + 63) // 64 * 64
            set_word(info, 1, right)
            bring(x, down, across, m, n, work)
            call_c(f0, (A, M, N, work, M, result(record, args, 1, unit), columns, M, rows, info + 8, rest, LWORK,
                        rest + word(record, 4) * SIZE, info, 1))
            bring(columns, m, 1, left, m, out)
            bring(rows, right, 1, n, right, result(record, args, 2, unit))
""",
    # By singular values; the flags are the bits of rtol and atol. What is written by columns is the transpose by rows.
    "pinv": """
        if has_strange(x, down, across, m, n) != 0:
            set_word(info, 0, -1)
        else:
            columns = work + area
            rows = columns + (m * least * SIZE + 63) // 64 * 64
            values = rows + (n * least * SIZE + 63) // 64 * 64
            rest = values + (least * SIZE + 63) // 64 * 64
            bring(x, down, across, m, n, work)
            call_c(f0, (A, M, N, work, M, values, columns, M, rows, LEAST, rest, LWORK, rest + word(record, 4) * SIZE, info, 1))
            s, v = at_T(values, 0), at_T(rows, 0)
            smallest = max(at_float64(record + 120, 0)[0], at_float64(record + 112, 0)[0] * float64(s[0]))
            for i in range(least):
                value = FLOAT(0.0)
                if float64(s[i]) > smallest:
                    value = FLOAT(1.0) / s[i]
                s[i] = value
            for j in range(n):
                for i in range(least):
                    v[j * least + i] *= s[i]
            call_c(f1, (102, 111, 111, m, n, least, FLOAT(1.0), columns, m, rows, least, FLOAT(0.0), out, m))
""",
    "svdvals": """
        if has_strange(x, down, across, m, n) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, m, n, work)
            call_c(f0, (A, M, N, work, M, out, work, M, work, LEAST, work + area, LWORK,
                        work + (m * n + word(record, 4)) * SIZE, info, 1))
""",
    "eig": """
        if has_strange(x, down, across, n, n) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, n, n, work)
            vectors = work + area
            values = vectors + area
            call_c(f0, (A, B, N, work, N, values, values + n * SIZE, work, N, vectors, N, values + 2 * n * SIZE, LWORK, info, 1, 1))
            re, im, v = at_T(values, 0), at_T(values, n * SIZE), at_T(vectors, 0)
            to, w = at_T(out, 0), at_T(result(record, args, 1, unit), 0)
            j = 0
            while j < n:
                w[2 * j] = re[j]
                w[2 * j + 1] = im[j]
                if im[j] == 0.0:
                    for i in range(n):
                        to[2 * (i * n + j)] = v[j * n + i]
                        to[2 * (i * n + j) + 1] = 0.0
                    j += 1
                else:
                    w[2 * j + 2] = re[j + 1]
                    w[2 * j + 3] = im[j + 1]
                    for i in range(n):
                        to[2 * (i * n + j)] = v[j * n + i]
                        to[2 * (i * n + j) + 1] = v[(j + 1) * n + i]
                        to[2 * (i * n + j) + 2] = v[j * n + i]
                        to[2 * (i * n + j) + 3] = -v[(j + 1) * n + i]
                    j += 2
""",
    "eigvals": """
        if has_strange(x, down, across, n, n) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, n, n, work)
            values = work + area
            call_c(f0, (A, B, N, work, N, values, values + n * SIZE, work, N, work, N, values + 2 * n * SIZE, LWORK, info, 1, 1))
            re, im, w = at_T(values, 0), at_T(values, n * SIZE), at_T(out, 0)
            for j in range(n):
                w[2 * j] = re[j]
                w[2 * j + 1] = im[j]
""",
    # Of matrices at least as tall as wide.
    "qr": """
        tau = work + area
        bring(x, down, across, m, n, work)
        call_c(f0, (M, N, work, M, tau, tau + n * SIZE, LWORK, info))
        a, r = at_T(work, 0), at_T(result(record, args, 1, unit), 0)
        for i in range(n):
            for j in range(i):
                r[i * n + j] = 0.0
            for j in range(i, n):
                r[i * n + j] = a[j * m + i]
        call_c(f1, (M, N, N, work, M, tau, tau + n * SIZE, LWORK, info))
        bring(work, m, 1, n, m, out)
""",
    "reflections": """
        tau = work + area
        bring(x, down, across, m, n, work)
        bring(operand(record, args, 1, unit), down_y, 1, k, 1, tau)
        call_c(f0, (M, N, K, work, M, tau, tau + k * SIZE, LWORK, info))
        bring(work, m, 1, n, m, out)
""",
    # Of a lower triangle by rows, which is an upper one to LAPACK.
    # By a decomposition with exchanged columns, whose rank is what the tolerance leaves. ``flag``: the bits of that.
    "gelsy": """
        tall = max(m, n)
        columns = work + area
        order = columns + (tall * k * SIZE + 63) // 64 * 64
        y = operand(record, args, 1, unit)
        if has_strange(x, down, across, m, n) + has_strange(y, down_y, across_y, m, k) != 0:
            set_word(info, 0, -1)
        else:
            bring(x, down, across, m, n, work)
            z, source = at_T(columns, 0), at_T(y, 0)
            for j in range(k):
                for i in range(m):
                    z[j * tall + i] = source[i * down_y + j * across_y]
                for i in range(m, tall):
                    z[j * tall + i] = 0.0
            for j in range(n):
                set_word(order, j, 0)
            rank = stack(8)
            set_word(rank, 0, 0)
            call_c(f0, (M, N, K, work, M, columns, record + 120, order, record + 112, rank, order + n * 8, LWORK, info))
            at_int64(result(record, args, 1, unit), 0)[0] = said(rank)
            bring(columns, tall, 1, k, n, out)
""",
    "cholesky_inverse": """
        y = at_T(out, 0)
        if flag != 0:
            bring(x, down, across, n, n, out)
        else:
            bring(x, across, down, n, n, out)
        call_c(f0, (A, N, out, N, info, 1))
        for i in range(n):
            for j in range(i):
                y[j * n + i] = y[i * n + j]
""",
    # x is the factor, of which ``flag`` says on which side it lies; y the right sides.
    "cholesky_solve": """
        bring(operand(record, args, 1, unit), across_y, down_y, k, n, out)
        substitute(f0, x, other_flag, word(record, 6) - 121, word(record, 7) - 111, 0, n, k, out)
        substitute(f0, x, other_flag, word(record, 6) - 121, 112 - word(record, 7), 0, n, k, out)
""",
    # L^H g below the diagonal, and on it and above g U^H, of the same parts of g; then L^-H of that U^-H.
    "pull_to_matrix": """
        both = work
        low = work + area
        y, below, z = at_T(x, 0), at_T(low, 0), at_T(out, 0)
        bring(operand(record, args, 1, unit), across_y, down_y, n, n, both)
        for i in range(n):
            for j in range(n):
                value = y[i * down + j * across]
                below[i * n + j] = value if j < i else FLOAT(0.0)
                z[i * n + j] = value if j >= i else FLOAT(0.0)
        call_c(f0, (101, 141, 122, 112, 132, n, n, FLOAT(1.0), both, n, low, n))
        call_c(f0, (101, 142, 121, 112, 131, n, n, FLOAT(1.0), both, n, out, n))
        for i in range(n):
            for j in range(i):
                z[i * n + j] = below[i * n + j]
        substitute(f1, both, n, 1, 1, 1, n, n, out)
        bring(out, n, 1, n, n, low)
        substitute(f1, both, n, 0, 0, 0, n, n, low)
        bring(low, n, 1, n, n, out)
""",
    # (L - 1)^H x, and below the diagonal x U^H.
    "share_of_factors": """
        both = work
        low = work + area
        y, below, z = at_T(both, 0), at_T(low, 0), at_T(out, 0)
        bring(operand(record, args, 1, unit), across_y, down_y, n, n, both)
        bring(x, across, down, n, n, low)
        bring(x, across, down, n, n, out)
        call_c(f0, (101, 142, 121, 112, 131, n, n, FLOAT(1.0), both, n, low, n))
        for i in range(n):
            y[i * n + i] = 0.0
        call_c(f0, (101, 141, 122, 112, 131, n, n, FLOAT(1.0), both, n, out, n))
        for i in range(n):
            for j in range(i):
                z[i * n + j] = below[i * n + j]
""",
    "lu_solve": """
        exchanged, z = at_int32(operand(record, args, 2, unit), 0), at_T(out, 0)
        bring(operand(record, args, 1, unit), across_y, down_y, k, n, out)
        if flag != 0:
            substitute(f0, x, other_flag, 0, 1, 0, n, k, out)
            substitute(f0, x, other_flag, 1, 1, 1, n, k, out)
        for step in range(n):
            i = step
            if flag != 0:
                i = n - 1 - step
            other = int64(exchanged[i]) - 1
            if (other < i) | (other >= n):
                set_word(info, 0, 1)
            elif other != i:
                for j in range(k):
                    held = z[i * k + j]
                    z[i * k + j] = z[other * k + j]
                    z[other * k + j] = held
        if flag == 0:
            substitute(f0, x, other_flag, 1, 0, 1, n, k, out)
            substitute(f0, x, other_flag, 0, 0, 0, n, k, out)
""",
}
