"""Kernels on a real GPU give the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest

from nbgrad.cubins import table
from nbgrad.cubins.operations import named
from nbgrad.kernels import scalars
from nbgrad.kernels.cuda.accumulators import accumulator
from nbgrad.kernels.cuda.templates import array
from nbgrad.ops.core import OPS

pytestmark = pytest.mark.cuda

N = 5003
MUL = named("mul", "float32").scalar


def normal_numbers(dtype, n=N, seed=0):
    return (np.random.default_rng(seed).standard_normal(n) * 5).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin", "erf"])
def test_scalar_functions(machine, gpu, dtype, name):
    """One source, two machines, the same bits."""
    x, outs = normal_numbers(dtype), [np.zeros(N, dtype) for _ in range(2)]
    for runner, out in zip((machine, gpu), outs):
        runner.elementwise(scalars.FUNCTIONS[name], dtype, [(array(dtype), x)], [out])
    np.testing.assert_array_equal(*outs)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["mul", "div", "pow"])
def test_complex_operations(machine, gpu, dtype, name):
    """Composed of the same real functions in the same order: the same bits."""
    operation = named(name, dtype)
    x, y = (normal_numbers(dtype, seed=seed) + 1j * normal_numbers(dtype, seed=seed + 2) for seed in range(2))
    outs = [np.zeros(N, dtype) for _ in range(2)]
    for runner, out in zip((machine, gpu), outs):
        operands = [(array(dtype), a.astype(dtype)) for a in (x, y)]
        runner.elementwise(operation.scalar, dtype, operands, [out], lanes=table.lanes_of(operation))
    np.testing.assert_array_equal(*outs)


@pytest.mark.parametrize("bits", [32, 64])
def test_strided(machine, gpu, bits):
    """Transposed and broadcast operands."""
    x, y = normal_numbers("float32", 17 * 41 * 13).reshape(13, 41, 17), normal_numbers("float32", 13).reshape(1, 1, 13)
    expected = x.T * y
    np.testing.assert_array_equal(machine.strided(MUL, "float32", [x.T, y], bits), expected)
    np.testing.assert_array_equal(gpu.strided(MUL, "float32", [x.T, y], bits), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "argmax", "prod"])
def test_reductions(machine, gpu, name):
    """The order of a reduction is fixed by its shape alone, so interpreter and GPU agree to the bit."""
    x = normal_numbers("float32", 3 * 9000).reshape(3, 9000) / 8
    of = accumulator(OPS[name], "float32")
    output, values = "int64" if name == "argmax" else "float32", (9000,) * of.values
    rows = [runner.rows(of, x, output, *values, lanes=4) for runner in (machine, gpu)]
    np.testing.assert_array_equal(*rows)
    columns = [runner.columns(of, x.reshape(3, 300, 30), output, *(300,) * of.values) for runner in (machine, gpu)]
    np.testing.assert_array_equal(*columns)
