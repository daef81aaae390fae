"""Kernels of the operations that users call: compiled and inspected, and run by the interpreter against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from nbgrad.base import dtypes
from nbgrad.base.errors import KernelError
from nbgrad.cubins import command, operations, table
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import gates, random, simt, templates

N = 1027  # more than a tile of any dtype but the narrowest, and a tail
RTOL = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1.6e-2, "complex64": 4e-6, "complex128": 2e-14}


class Case(NamedTuple):
    """An operation of the table, and what NumPy says that it is.

    Attributes:
        expected: of the scalar function's arguments, by their names, in float64 or complex128 (or integers).
        exact: one IEEE operation, or none: equal bits.
        low: the smallest operand, where the function has a domain.
    """

    name: str
    expected: Callable
    dtype: str = "float32"
    exact: bool = False
    low: float = -math.inf

    @property
    def operation(self):
        return named(self.name, self.dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5)))


def normal_density(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def adam(p, m, v, g, *, step_size, shrink, take1, keep2, take2, root, eps, weight_decay, sign):
    g = sign * g + weight_decay * p
    m, v = m + take1 * (g - m), keep2 * v + take2 * g * g
    return shrink * p - step_size * m / (np.sqrt(v) / root + eps), m, v


def clamp_both_cotangents(g, x, min, max):
    inside = (x >= min) & (x <= max)
    return np.where(inside, g, 0), np.where((x < min) & (min < max), g, 0), np.where((x > max) | (max < min), g, 0)


CASES = [
    Case("add", lambda x, y: x + y, exact=True),
    Case("sub", lambda x, y: x - y, exact=True),
    Case("div", lambda x, y: x / y, exact=True),
    Case("mul", lambda x, y: x * y, "float64", exact=True),
    Case("mul", lambda x, y: x * y, "bfloat16", exact=True),
    Case("mul_number", lambda x, y: x * y, exact=True),
    Case("add_", lambda x, y: x + y, "float16", exact=True),
    Case("add_scaled", lambda x, y, alpha: x + alpha * y),
    Case("fill_", lambda y: y, exact=True),
    Case("zero_", lambda: 0.0, exact=True),
    Case("reciprocal", lambda x: 1 / x, exact=True),
    Case("abs", lambda x: abs(x), exact=True),
    Case("sqrt", np.sqrt, exact=True, low=0),
    Case("maximum", lambda x, y: np.maximum(x, y), exact=True),
    Case("relu_", lambda x: np.maximum(x, 0), exact=True),
    Case("where", lambda condition, x, y: np.where(condition, x, y), exact=True),
    Case("lt", lambda x, y: x < y, exact=True),
    Case("logical_and", lambda x, y: (x != 0) & (y != 0), "uint8", exact=True),
    Case("isfinite", lambda x: np.isfinite(x), "bfloat16", exact=True),
    Case("add", lambda x, y: x + y, "int64", exact=True),
    Case("floor_divide", lambda x, y: x // y, "int32", exact=True),
    Case("bitwise_xor", lambda x, y: x ^ y, "int32", exact=True),
    Case("clamp_both", lambda x, min, max: np.minimum(np.maximum(x, min), max), exact=True),
    Case("exp", np.exp),
    Case("log", np.log, low=1e-3),
    Case("sin", np.sin),
    Case("tanh", np.tanh, "float16"),
    Case("silu", lambda x: x * sigmoid(x)),
    Case("remainder", np.mod),
    Case("mul_backward_x_y", lambda g, x, y: (g * y, g * x), exact=True),
    Case("div_backward_x_y", lambda g, x, y: (g / y, -g * x / y / y)),
    Case("pow_backward_x_y", lambda g, x, y, out: (g * y * x ** (y - 1), g * out * np.log(x)), low=0.05),
    Case("where_backward_x_y", lambda g, condition: (np.where(condition, g, 0), np.where(condition, 0, g)), exact=True),
    Case("clamp_both_backward_x_min_max", clamp_both_cotangents, exact=True),
    Case("tanh_backward_x", lambda g, out: g * (1 - out * out)),
    Case("exp_backward_x", lambda g, out: g * out, exact=True),
    Case("gelu_erf_backward_x", lambda g, x: g * (normal_cdf(x) + x * normal_density(x))),
    Case("gelu_erf_backward_x", lambda g, x: g * (normal_cdf(x) + x * normal_density(x)), "bfloat16"),
    Case("silu_backward_x", lambda g, x: g * (sigmoid(x) * (1 + x * (1 - sigmoid(x))))),
    Case("softplus_backward_x", lambda g, x, beta, threshold: g * np.where(x * beta > threshold, 1, sigmoid(x * beta))),
    Case("adam", adam, low=1e-2),
    Case("fmax", np.fmax, "int32", exact=True),
    Case("asinh", np.arcsinh),
    Case("acosh", np.arccosh, low=1),
    Case("modulus", np.hypot),
    Case("mul_jvp_x_y", lambda t_x, t_y, x, y: t_x * y + t_y * x),
    Case("div_jvp_x_y", lambda t_x, t_y, x, y: t_x / y - t_y * x / y / y),
    Case("maximum_jvp_x_y", lambda t_x, t_y, x, y: np.where(x > y, t_x, t_y), exact=True),
    Case("add", lambda x, y: x + y, "complex64", exact=True),
    Case("neg_", lambda x: -x, "complex128", exact=True),
    Case("conj_physical", np.conj, "complex64", exact=True),
    Case("where", lambda condition, x, y: np.where(condition, x, y), "complex128", exact=True),
    Case("eq", lambda x, y: x == y, "complex64", exact=True),
    Case("isfinite", np.isfinite, "complex128", exact=True),
    Case("fill_", lambda y: y, "complex64", exact=True),
    Case("pow_zero", lambda: 1.0, "complex64", exact=True),
    Case("mul", lambda x, y: x * y, "complex64"),
    Case("mul_number", lambda x, y: x * y, "complex128"),
    Case("add_scaled", lambda x, y, alpha: x + alpha * y, "complex64"),
    Case("div", lambda x, y: x / y, "complex64"),
    Case("sqrt", np.sqrt, "complex128"),
    Case("exp", np.exp, "complex64"),
    Case("log", np.log, "complex64"),
    Case("acosh", np.arccosh, "complex128"),
    Case("asin", np.arcsin, "complex64"),
    Case("mul_backward_x_y", lambda g, x, y: (g * np.conj(y), g * np.conj(x)), "complex64"),
    Case("exp_backward_x", lambda g, out: g * np.conj(out), "complex64"),
    Case("mul_jvp_x_y", lambda t_x, t_y, x, y: t_x * y + t_y * x, "complex64"),
    Case("sqrt_jvp_x", lambda t_x, out: t_x / (out + out), "complex64"),
]


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.dtype}")
def test_kernels_of_operations_compile(compiler, case):
    """Each passes the gates that the release holds it to, among them the vector accesses and the registers."""
    for label, recipe, held in table.operation_kernels(case.operation):
        if label.startswith("elementwise"):
            assert gates.check(recipe(), held) == []


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.dtype}")
def test_kernels_of_operations_compute(machine, case):
    """Run thread by thread: NumPy's float64 result, or the same bits where one operation gives it."""
    operation = case.operation
    arguments = list(inputs_of(case, operation))
    count = operation.scalar.__code__.co_argcount
    names = operation.scalar.__code__.co_varnames[:count]
    wide = [a if a.dtype.kind in "biu" else a.astype(np.result_type(a, np.float64)) for a in map(np.asarray, arguments)]
    with np.errstate(all="ignore"):
        expected = call(case.expected, names, wide)
    outputs = [arguments[k] for k in operation.into]
    outputs += [np.zeros(N, dtypes.dtype_of(name).numpy) for name in operation.outputs[len(operation.into) :]]
    inputs = list(zip(operation.inputs, arguments))
    machine.elementwise(operation.scalar, operation.dtype, inputs, outputs, operation.into, table.lanes_of(operation))
    for out, result in zip(outputs, expected, strict=True):
        compare(out, np.broadcast_to(result, N), case)


def call(function, names, values):
    """``function``'s results as a tuple; an update's formula takes its scalars by their names."""
    if names and names[0] == "o0":
        by_name = [name for name in names if not name[1:].isdigit()]
        split = len(names) - len(by_name)
        return function(*values[:split], **dict(zip(by_name, values[split:])))
    results = function(*values)
    return results if isinstance(results, tuple) else (results,)


def inputs_of(case, operation):
    """Arrays and numbers for the operands: of both signs unless there is a domain, never 0 and never far from 1."""
    rng = np.random.default_rng(7)
    for operand in operation.inputs:
        numpy = dtypes.dtype_of(operand.dtype).numpy
        if operand.kind == "value":
            yield numpy.type(0.75)
        elif operand.dtype == "bool":
            yield rng.random(N) < 0.5
        elif operand.kind == "pair":
            yield numpy.type(0.75 + 0.5j)
        elif operand.dtype in operations.COMPLEXES:
            yield (rng.standard_normal(N) + 1j * rng.standard_normal(N)).astype(numpy)
        elif operand.dtype in operations.INTEGERS:
            magnitude = rng.integers(1, 50, N).astype(numpy)
            yield magnitude if operand.dtype == "uint8" else magnitude * rng.choice([-1, 1], N).astype(numpy)
        else:
            magnitude = np.exp(rng.standard_normal(N))
            signed = magnitude * rng.choice([-1, 1], N)
            yield (np.maximum(magnitude, case.low) if case.low > -math.inf else signed).astype(numpy)


def compare(out, expected, case):
    """The same bits as the float64 result once rounded, or close to it."""
    if case.exact:
        half = out.dtype.itemsize == 2 and out.dtype.kind != "i"
        expected = expected.astype(np.float32) if half else expected
        np.testing.assert_array_equal(out, expected.astype(out.dtype), strict=True)
    else:
        rtol = RTOL[case.dtype]
        wide = out.astype(np.result_type(out, np.float64))
        np.testing.assert_allclose(wide, expected, rtol=rtol, atol=rtol * np.abs(expected).max() / 4)


def refuse(x):
    raise KernelError("the precise path was taken")


def test_precise_path_is_taken_by_the_threads_that_need_it(machine):
    """A usual angle never reaches the long multiplication by 2 / pi; a huge one does."""
    pytest.importorskip("greenlet", reason="the interpreter needs greenlet: pip install 'nbgrad[dev]'")
    template, out = templates.elementwise((templates.array("float32"),), ("float32",)), np.zeros(4, np.float32)

    def run(*x):
        scalar = named("sin", "float32").scalar
        simt.interpret(template, scalar, "float32", (1,), out, np.float32(x), 4, reduce_huge_angle=refuse)

    run(0.5, -3, 40, np.inf)
    np.testing.assert_allclose(out[:3], np.sin([0.5, -3, 40]), rtol=1e-6)
    with pytest.raises(KernelError, match="precise path"):
        run(0.5, -3, 40, 1e20)


def test_precise_path_of_a_complex_function(machine):
    """A huge imaginary part is a huge angle: the thread that has one takes the long way, and is right."""
    pytest.importorskip("greenlet", reason="the interpreter needs greenlet: pip install 'nbgrad[dev]'")
    operation, out = named("exp", "complex64"), np.zeros(3, np.complex64)
    z = np.complex64([0.5 + 3j, 1 - 1e20j, -2 + 7e5j])
    machine.elementwise(operation.scalar, "complex64", [(templates.array("complex64"), z)], [out], lanes=1)
    np.testing.assert_allclose(out, np.exp(z.astype(np.complex128)), rtol=2e-6)
    template = templates.elementwise((templates.array("complex64"),), ("complex64",))
    with pytest.raises(KernelError, match="precise path"):
        simt.interpret(template, operation.scalar, "complex64", (1,), out, z, 3, reduce_huge_angle=refuse)


# ---- random numbers --------------------------------------------------------------------------------------------------


def drawn(machine, distribution, dtype, n, a, b, seed=0, call=0):
    template, out = random.random_fill(distribution, dtype), np.zeros(n, dtype)
    source, grid = random.random_source(distribution, dtype), random.random_grid(n, dtype)
    machine.run(template, table.identity, dtype, grid, out, a, b, n, seed, call, 0, **source)
    return out


def test_random_words_are_philox(machine):
    """Block 0 under key 0 has the words that the authors of Philox publish; a float32 takes their upper bits."""
    words = np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
    np.testing.assert_array_equal(drawn(machine, "uniform", "float32", 4, 0, 1), (words >> 8) / 2**24)


@pytest.mark.parametrize("distribution, dtype", [("normal", "float32"), ("exponential", "float64")])
def test_random_numbers_do_not_depend_on_how_many(machine, distribution, dtype):
    """A shorter tensor has the first of a longer one's numbers, up to the last, which fills no vector."""
    long = drawn(machine, distribution, dtype, 1100, 2, 3, seed=3)
    np.testing.assert_array_equal(drawn(machine, distribution, dtype, 1031, 2, 3, seed=3), long[:1031])
    mean = {"normal": 2, "exponential": 0.5}[distribution]
    assert abs(long.mean() - mean) < 5 * long.std() / math.sqrt(1100)


@pytest.mark.parametrize("entry", list(table.random_numbers()), ids=lambda entry: entry.label)
def test_random_kernels_compile(compiler, entry):
    """They store vectors, without float64 arithmetic for float32."""
    assert gates.check(entry.recipe(), entry.gates) == []


# ---- the table -------------------------------------------------------------------------------------------------------


def test_every_elementwise_operation_has_kernels_or_a_reason():
    """Forward, and a fused backward wherever a cotangent is more than g itself."""
    names = {operation.scalar.__name__ for operation in operations.operations()}
    skipped = {skip.label.split()[0] for skip in table.skipped()}
    for op in operations.elementwise_ops():
        assert op.name in names | skipped, op
        computed = [
            operand
            for operand, differentiable in zip(op.operands, op.differentiable)
            if differentiable and not op.refuses_gradient and op.vjp(operand).op != "symbol"
        ]
        together = len({op.vjp(operand) for operand in computed}) == len(computed)  # equal cotangents share a kernel
        for operands in (computed[:1], computed if together else computed[:1]):
            assert not operands or f"{op.name}_backward_{'_'.join(operands)}" in names | skipped, op


def test_a_tangent_with_a_cotangents_formula_has_its_kernel():
    """exp: t * out is g * out; of complex numbers the cotangent has a conjugate. Several tangents give a sum."""
    names = {(operation.scalar.__name__, operation.dtype) for operation in operations.operations()}
    assert ("exp_jvp_x", "float32") not in names and ("exp_jvp_x", "complex64") in names
    assert ("mul_jvp_x", "float64") not in names and ("mul_jvp_x_y", "float64") in names


def test_every_complex_operation_has_complex_kernels():
    """In both precisions; no operation of the table is left out."""
    names = {(operation.scalar.__name__, operation.dtype) for operation in operations.operations()}
    wanted = {(op.name, dtype) for op in operations.elementwise_ops() if op.complex for dtype in operations.COMPLEXES}
    assert wanted and wanted <= names


def test_unknown_operation_is_refused():
    """The message names the remedy."""
    with pytest.raises(KernelError, match="no operation tanhh in float32.*--list"):
        named("tanhh", "float32")


def test_listing_names_kernels_and_reasons(capsys):
    """Building nothing."""
    assert command.main(["--list", "--match", "isnan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "elementwise_float32_to_bool_x4u1_isnan_float32" in lines
    assert "isnan int32: skipped: of integers it is a constant: a fill" in lines


@pytest.mark.slow
def test_processes_build_what_one_builds(compiler):
    """Entries are found again by label in a process of the pool; results come back in some order."""
    chosen = [entry for entry in table.kernels() if "_to_float32_x4u1_add" in entry.label][: command.CHUNK + 1]
    results = list(command.build_all(chosen, command.Options(fresh=True), jobs=2))
    assert sorted(r.label for r in results) == sorted(entry.label for entry in chosen)
    assert all(r.registers and not r.reason for r in results)
