"""Loops over rows: what does not depend on where memory lies."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from nbgrad.lowering import losses, softmax

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def results(address, words, operands, after):
    """What a kernel writes for the same operands, with its result so many bytes and more behind operand ``after``."""
    x = operands[after]
    memory, found = np.zeros(4 * x.nbytes + 2048, np.uint8), set()
    record, scratch = np.array(words, np.int64), np.zeros(2, np.int64)
    given = [*operands]
    given[after] = memory[: x.nbytes].view(x.dtype).reshape(x.shape)
    given[after][...] = x
    for distance in range(x.nbytes, x.nbytes + 1024, x.itemsize):
        out = memory[distance : distance + x.nbytes]
        pointers = np.array([array.ctypes.data for array in (record, out, *given)], np.int64)
        KERNEL(address)(scratch.ctypes.data, scratch.ctypes.data + 8, 0, len(x), pointers.ctypes.data)
        found.add(out.tobytes())
    return found


@pytest.mark.parametrize("length", [3, 4, 7, 8, 16, 33, 63, 64, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_does_not_depend_on_where_memory_lies(dtype, length):
    """However near behind its operand the result lies, it is the same, bit for bit."""
    x = np.sin(1.3 * np.arange(2.0 * length)).reshape(2, length).astype(dtype)
    assert len(results(int(softmax.kernel("softmax", dtype, False)), [length, 1, 1], [x], 0)) == 1


@pytest.mark.parametrize("length", [3, 4, 7, 8, 16, 33, 63, 64, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cross_entropy_does_not_depend_on_where_memory_lies(dtype, length):
    """Nor does the cotangent of its scores."""
    x = np.sin(1.3 * np.arange(2.0 * length)).reshape(2, length).astype(dtype)
    operands = [np.array([0.3, 0.7], dtype), x, np.array([1, 2])]
    assert len(results(int(losses.kernel("cross_entropy_rows_backward", dtype)), [2, length, -100, 1, 0], operands, 1)) == 1
