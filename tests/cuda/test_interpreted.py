"""Kernels' logic, run thread by thread on the emulated device, against NumPy; and what the interpreter refuses."""

# ruff: noqa: F821  (names bound by instantiate)
from __future__ import annotations

import doctest
import math

import numpy as np
import pytest

from nbgrad.base import dtypes
from nbgrad.base.errors import KernelError
from nbgrad.cubins import table
from nbgrad.cubins.operations import named
from nbgrad.kernels import codegen, scalars
from nbgrad.kernels.cuda import access, accumulators, reductions, simt, templates
from nbgrad.kernels.cuda.access import compute_dtype, vector_lanes
from nbgrad.kernels.cuda.accumulators import accumulator
from nbgrad.kernels.cuda.emulated.device import emulate
from nbgrad.kernels.cuda.emulated.names import Needs, emulated_names
from nbgrad.kernels.cuda.intrinsics import ptx_names
from nbgrad.kernels.cuda.templates import BLOCK, array, single, value
from nbgrad.kernels.instantiate import instantiate
from nbgrad.kernels.prims import numpy_prims
from nbgrad.ops import expr
from nbgrad.ops.core import OPS

NUMERIC = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
HALVES = ("float16", "bfloat16")


MUL, LT, WHERE, MUL_BACKWARD = (named(name, "float32").scalar for name in ("mul", "lt", "where", "mul_backward_x_y"))


def sample(dtype, n, seed=0):
    """Numbers of every magnitude that ``dtype`` has, small ones most often."""
    rng = np.random.default_rng(seed)
    numpy = dtypes.dtype_of(dtype).numpy
    if dtype == "bool":
        return rng.random(n) < 0.5
    if dtype.startswith("complex"):
        return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(numpy)
    if dtypes.dtype_of(dtype).is_floating_point:
        return (rng.standard_normal(n) * 2.0 ** rng.integers(-8, 4, n)).astype(numpy)
    return rng.integers(-100 if dtype != "uint8" else 0, 100, n).astype(numpy)


def as_gpu(x, dtype):
    """NumPy's conversion as torch does it: halves by way of float32, a complex's real part."""
    numpy = dtypes.dtype_of(dtype).numpy
    if dtype == "bool":
        return x != 0
    x = x.real if np.iscomplexobj(x) and not dtype.startswith("complex") else x
    if dtype in HALVES:
        with np.errstate(over="ignore"):  # of uint32 and larger integers
            return x.astype(np.float32).astype(numpy)
    return x.astype(np.int64).astype(numpy) if "int" in dtype else x.astype(numpy)


def wide(dtype):
    return dtypes.dtype_of(compute_dtype(dtype)).numpy


def assert_same_bits(actual, expected):
    """Equal, NaN to NaN, and zeros of the same sign."""
    np.testing.assert_array_equal(actual, expected, strict=True)
    if np.issubdtype(actual.dtype, np.inexact) and not np.iscomplexobj(actual):
        np.testing.assert_array_equal(np.signbit(actual)[actual == 0], np.signbit(expected)[actual == 0])


@pytest.mark.parametrize("dtype", NUMERIC)
def test_elementwise_is_exact_around_a_tile(machine, dtype):
    """Vector path, scalar tail and several blocks give NumPy's product, bit for bit."""
    tile = BLOCK * vector_lanes([dtype])
    for n in (1, tile - 1, tile, 2 * tile + 3):
        x, y = sample(dtype, n), sample(dtype, n, 1)
        out = np.zeros(n, x.dtype)
        machine.elementwise(MUL, compute_dtype(dtype), [(array(dtype), x), (array(dtype), y)], [out])
        assert_same_bits(out, as_gpu(x.astype(wide(dtype)) * y.astype(wide(dtype)), dtype))


@pytest.mark.parametrize("unroll", [2, 4])
def test_unrolled_tiles_cover_every_element_once(machine, unroll):
    """A thread's second and fourth vector lie where no other thread writes: in-place addition shows any overlap."""
    n = 2 * BLOCK * 4 * unroll + 5
    grad, g = sample("float32", n), sample("float32", n, 1)
    expected = grad + g
    machine.elementwise(table.add, "float32", [(array("float32"), grad), (array("float32"), g)], [grad], (0,), unroll=unroll)
    assert_same_bits(grad, expected)


def test_fused_backward_stores_every_result(machine):
    """One pass gives both partials of a product."""
    n = 1100
    g, x, y = (sample("float32", n, seed) for seed in range(3))
    outs = [np.zeros(n, np.float32) for _ in range(2)]
    machine.elementwise(MUL_BACKWARD, "float32", [(array("float32"), a) for a in (g, x, y)], outs)
    assert_same_bits(outs[0], g * y)
    assert_same_bits(outs[1], g * x)


def momentum(p, buffer, g, rate):
    buffer = buffer * 0.9 + g
    return p - rate * buffer, buffer


def test_update_in_place_with_a_value(machine):
    """Two operands are overwritten, a third is read, a number comes by value; its literal is narrowed to float32."""
    n = 1029
    p, buffer, g = (sample("float32", n, seed) for seed in range(3))
    new_buffer = buffer * np.float32(0.9) + g
    new_p = p - np.float32(0.1) * new_buffer
    operands = [(array("float32"), p), (array("float32"), buffer), (array("float32"), g), (value("float32"), 0.1)]
    machine.elementwise(momentum, "float32", operands, [p, buffer], (0, 1))
    assert_same_bits(p, new_p)
    assert_same_bits(buffer, new_buffer)


def test_single_operand_is_read_once_for_all(machine):
    """An expanded scalar in memory, in the vector path and in the tail."""
    x, y, out = sample("float32", 1030), np.float32([2.5]), np.zeros(1030, np.float32)
    machine.elementwise(MUL, "float32", [(array("float32"), x), (single("float32"), y)], [out])
    assert_same_bits(out, x * y)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_comparison_and_selection(machine, dtype):
    """A comparison writes bytes of truth, a selection reads them."""
    x, y = sample(dtype, 2100), sample(dtype, 2100, 1)
    mask, out = np.zeros(2100, bool), np.zeros(2100, x.dtype)
    operands = [(array(dtype), x), (array(dtype), y)]
    machine.elementwise(LT, compute_dtype(dtype), operands, [mask])
    machine.elementwise(WHERE, compute_dtype(dtype), [(array("bool"), mask), *operands], [out])
    np.testing.assert_array_equal(mask, x < y, strict=True)
    assert_same_bits(out, np.where(x < y, x, y))


@pytest.mark.parametrize("target", [d.name for d in dtypes.DTYPES])
def test_every_conversion(machine, target):
    """A copy from each dtype to each other, wrapping integers and rounding halves as torch does."""
    for source in dtypes.DTYPES:
        x = sample(source.name, 37)
        out = np.zeros(37, dtypes.dtype_of(target).numpy)
        compute = table.conversion_dtype(source.name, target)
        machine.elementwise(table.identity, compute, [(array(source.name), x)], [out])
        np.testing.assert_array_equal(out, as_gpu(x, target), strict=True, err_msg=f"{source.name} to {target}")


def test_fill(machine):
    """No array among the operands: the number by value is written everywhere."""
    out = np.zeros(1500, np.int16)
    machine.elementwise(table.identity, "int64", [(value("int16"), -7)], [out])
    np.testing.assert_array_equal(out, np.full(1500, -7, np.int16))


def test_generated_scalar_function(machine):
    """A formula turned into source runs in a template as a hand-written function does; literals are narrowed."""
    x, y = sample("float32", 700), sample("float32", 700, 1)
    a, b = expr.symbol("a"), expr.symbol("b")
    results = expr.scalar.where(a < b, a * 0.1, b), a * b - 3.0
    generated = codegen.scalar_function("formula", ["a", "b"], results, "float32")
    outs = [np.zeros(700, np.float32) for _ in range(2)]
    machine.elementwise(generated, "float32", [(array("float32"), x), (array("float32"), y)], outs)
    assert_same_bits(outs[0], np.where(x < y, x * np.float32(0.1), y))
    assert_same_bits(outs[1], x * y - np.float32(3))


def test_guarded_functions_are_right_everywhere(machine):
    """Huge angles, where the fast sine is wrong: a thread takes the precise path by itself, also in generated code."""
    x, out = np.float32([0.5, 1e5, -3e7, 1e30, np.inf]), np.zeros(5, np.float32)
    generated = codegen.scalar_function("negated", ["a"], (-expr.scalar.sin(expr.symbol("a")),), "float32")
    with np.errstate(invalid="ignore"):
        expected = np.sin(x.astype(np.float64))  # glibc's reduction is exact
    for scalar, sign in ((scalars.FUNCTIONS["sin"], 1), (generated, -1)):
        machine.elementwise(scalar, "float32", [(array("float32"), x)], [out])
        np.testing.assert_allclose(out, sign * expected, rtol=3e-7)


@pytest.mark.parametrize("bits", [32, 64])
def test_strided_transposed_and_broadcast(machine, bits):
    """Three collapsed dimensions that divide neither the block nor a power of two."""
    x, y = sample("float32", 105).reshape(5, 7, 3), sample("float32", 15, 1).reshape(3, 1, 5)
    assert_same_bits(machine.strided(MUL, "float32", [x.T, y], bits), x.T * y)


def test_collapse_merges_what_all_operands_walk_as_one():
    """Dimensions of size 1 vanish, neighbours merge unless one operand is broadcast there."""
    assert templates.collapse((2, 3, 4), [(12, 4, 1), (12, 4, 1)]) == ((24,), [(1,), (1,)])
    assert templates.collapse((2, 1, 3, 4), [(12, 9, 4, 1), (0, 9, 4, 1)]) == ((2, 12), [(12, 1), (0, 1)])
    assert templates.collapse((1, 1), [(5, 5)]) == ((1,), [(0,)])


def test_magic_division_is_exact():
    """Hardest numerators: multiples of the divisor, their neighbours, the largest int32."""
    random = map(int, np.random.default_rng(0).integers(2, 2**31, 300))
    for d in (2, 3, 5, 7, 255, 256, 641, 2**16 + 1, 2**31 - 1, *random):
        _, magic, shift = templates.strided_args((1, d), [])
        for q in (0, 1, (2**31 - 1) // d):
            for i in (max(q * d - 1, 0), q * d, min(q * d + 1, 2**31 - 1), 2**31 - 1):
                assert simt.divide_by_magic(i, magic, shift) == i // d, (i, d)


REDUCED = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "any": np.any,
    "all": np.all,
    "count_nonzero": np.count_nonzero,
    "sum_of_numbers": np.nansum,
    "norm1": lambda x, axis: np.abs(x).sum(axis),
    "norm2": lambda x, axis: np.sqrt((x * x).sum(axis)),
}


def reduced(machine, name, x):
    """``(actual by rows, by short rows, by columns)`` on a machine, beside NumPy's answer in double precision."""
    of = accumulator(OPS[name], compute_dtype(x.dtype.name))
    output = {"truth": "bool", "count": "int64"}.get(OPS[name].gives, x.dtype.name)
    values = (x.shape[1],) * of.values
    widest = vector_lanes([x.dtype.name])
    lanes = widest if x.shape[1] % widest == 0 and x.dtype.kind in "fc" else 1
    columns = np.ascontiguousarray(x.T)[None]
    with np.errstate(all="ignore"):
        expected = REDUCED[name](x if x.dtype == bool else x.astype(np.result_type(x, np.float64)), axis=1)
    return (
        (
            machine.rows(of, x, output, *values, lanes=lanes),
            machine.short_rows(of, x, output, *values),
            machine.columns(of, columns, output, *values)[0],
        ),
        expected,
    )


@pytest.mark.part(2, 1)
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("shape", [(3, 1), (9, 301), (1, 4100)])
def test_reductions_by_rows_and_columns(machine, name, shape):
    """Every reduction in every form, one stage and two: one rounding from the exact result, or equal to it."""
    x = sample("float32", shape) / 8 if name not in ("any", "all") else sample("bool", shape)
    if name == "prod":
        x = 1 + x / 64
    actual, expected = reduced(machine, name, x)
    for result in actual:
        if name == "prod":
            np.testing.assert_allclose(result, expected, rtol=2e-5)
        elif name in ("sum", "mean", "sum_of_numbers", "norm1", "norm2"):
            ulp = np.spacing(np.abs(expected).astype(np.float32))
            np.testing.assert_array_less(np.abs(result - expected), 1.01 * ulp)
        else:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.part(2, 0)
@pytest.mark.parametrize("name", ["any", "all", "count_nonzero"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "complex64"])
def test_truths_of_numbers(machine, name, dtype):
    """What is not zero counts, in any dtype; so does NaN."""
    x = sample(dtype, (4, 70))
    x[:2] = [[0], [1]]
    x[3, 5:9] = 0
    actual, _ = reduced(machine, name, x)
    for result in actual:
        np.testing.assert_array_equal(result, REDUCED[name](x != 0, axis=1))


def test_squares_are_added_in_double(machine):
    """Squares of float32 neither overflow nor vanish."""
    x = np.float32([[3e30, 4e30], [3e-30, 4e-30]])
    for result in reduced(machine, "norm2", x)[0]:
        np.testing.assert_array_equal(result, np.float32([5e30, 5e-30]))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@pytest.mark.parametrize("dtype, shape", [("complex64", (3, 301)), ("complex64", (1, 2052)), ("complex128", (2, 66))])
def test_complex_reductions(machine, name, dtype, shape):
    """Both parts in every form, one stage and two, to a few roundings of the modulus."""
    x = sample(dtype, shape) if name != "prod" else 1 + sample(dtype, shape) / 64
    actual, expected = reduced(machine, name, x)
    rtol = np.finfo(dtype).eps * (8 if name != "prod" else 2 * math.sqrt(shape[1]))
    for result in actual:
        np.testing.assert_allclose(result, expected, rtol=rtol)


def test_an_infinite_part_leaves_the_other_alone(machine):
    """The carry of an infinite real part is dropped; that of the imaginary part is kept."""
    x = np.ones((1, 601), np.complex64)
    x.real[0, 5], x.imag[0, 0], x.imag[0, 600] = np.inf, 1e8, -1e8
    x.imag[0, 1:600] = 1
    for result in reduced(machine, "sum", x)[0]:
        assert (result.real, result.imag) == (np.inf, 599)


def test_wide_sum_survives_cancellation(machine):
    """1e8 - 1e8 + ones: a plain float32 sum loses the ones beside 1e8; the carried errors keep them."""
    x = np.ones((1, 601), np.float32)
    x[0, 0], x[0, 600] = 1e8, -1e8
    for result in reduced(machine, "sum", x)[0]:
        np.testing.assert_array_equal(result, np.float32([599]))


def test_infinite_sums(machine):
    """An infinity wins although its rounding error is NaN; infinities of both signs give NaN."""
    x = np.ones((2, 40), np.float32)
    x[:, 3] = np.inf
    x[1, 30] = -np.inf
    for result in reduced(machine, "sum", x)[0]:
        np.testing.assert_array_equal(result, np.float32([np.inf, np.nan]))


def test_nan_wins_extremes_and_the_first_index_of_equals(machine):
    """torch's rules: NaN is both the largest and the smallest, and of equals the first counts."""
    x = np.zeros((3, 300), np.float32)
    x[0, 250], x[0, 280] = np.nan, np.nan
    x[1, 7], x[1, 290] = 5, 5
    x[2] = -np.inf
    for name, expected in (("amax", [np.nan, 5, -np.inf]), ("argmax", [250, 7, 0]), ("argmin", [250, 0, 0])):
        for result in reduced(machine, name, x)[0]:
            np.testing.assert_array_equal(result, expected, err_msg=name)


@pytest.mark.parametrize("dtype", ["bfloat16", "int64", "uint8"])
def test_sum_of_other_dtypes(machine, dtype):
    """Halves are summed in float32 and rounded once; integers exactly, modulo the width of the result."""
    x = sample(dtype, (3, 333))
    expected = as_gpu(x.astype(np.float64 if dtype == "bfloat16" else np.int64).sum(1), dtype)
    for result in reduced(machine, "sum", x)[0]:
        np.testing.assert_array_equal(result, expected, strict=True)


def test_unknown_reduction_is_explained():
    """Of what is no fold, and where a dtype has none."""
    with pytest.raises(KernelError, match="no median_indices in float32"):
        accumulator(OPS["median_indices"], "float32")
    with pytest.raises(KernelError, match="no amax in complex64.*moduli"):
        accumulator(OPS["amax"], "complex64")


@pytest.mark.parametrize("dtype, remedy", [("bool", "as int64"), ("complex64", "as a pair")])
def test_what_cannot_be_passed_by_value_is_refused(dtype, remedy):
    """When the operand is made, before any kernel is."""
    with pytest.raises(KernelError, match=f"cannot be passed .*value. Hint: pass it {remedy}"):
        value(dtype)


@pytest.mark.parametrize("module", [access, accumulators, templates, reductions], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    """They run, and there are some."""
    failed, attempted = doctest.testmod(module)
    assert attempted and not failed


def divergent_barrier(x):
    if cuda.threadIdx.x < 16:
        cuda.syncthreads()


def divergent_shuffle(x):
    if cuda.threadIdx.x < 16:
        cuda.shfl_down_sync(0xFFFFFFFF, 1.0, 1)


def beyond_the_end(x):
    store_float32(x, cuda.threadIdx.x, load_float32(x, 0))


def misaligned(x):
    load_float32x4(x, 0)


def widened(x):
    store_float32(x, 0, load_float32(x, 0) * HALF)


def without_barrier(x):
    shared = cuda.shared.array(32, STATE0)
    shared[cuda.threadIdx.x] = load_float32(x, 0)
    store_float32(x, 0, shared[31 - cuda.threadIdx.x])


HALF = np.float64(0.5)
ACCESSES = [simt.Access("load", "float32"), simt.Access("store", "float32"), simt.Access("load", "float32", 4)]


@pytest.mark.parametrize(
    "kernel, message",
    [
        (divergent_barrier, "deadlock"),
        (divergent_shuffle, "deadlock"),
        (beyond_the_end, "element 8 of 8"),
        (misaligned, "misaligned"),
        (widened, "not narrowed"),
        (without_barrier, "barrier is missing"),
    ],
)
def test_interpreter_refuses(interpreter, kernel, message):
    """Each kernel is wrong in one way that a GPU would not report."""
    names = simt.simt_names("float32", ACCESSES, ("float32",))
    pointer = simt.Pointer(np.zeros(8, np.float32), 1)
    with pytest.raises(KernelError, match=message):
        simt.launch(instantiate(kernel, names, {}, "float32"), (1,), 32, pointer)


def test_arguments_are_checked(interpreter):
    """A pointer to another dtype, or one argument too few, is named."""
    template = templates.elementwise((array("float32"),), ("float32",))
    x = np.zeros(4, np.float64)
    with pytest.raises(KernelError, match="pointer 1 is to float64, expected float32"):
        simt.interpret(template, table.identity, "float32", (1,), np.zeros(4, np.float32), x, 4)
    with pytest.raises(KernelError, match="2 arguments, expected 2 pointers"):
        simt.interpret(template, table.identity, "float32", (1,), x, x)


# Mutations: the source of a template is changed in one place, as by a slip of the pen; a claim above must fail.


def mutated(template, old, new):
    """``template`` with ``old`` replaced in its source."""
    source = template.function.source
    assert old in source, f"{old!r} is not in {template.name}"
    name = f"{template.name}_mutant"
    function = templates.compile_template(name, source.replace(template.name, name).replace(old, new))
    return templates.Template(
        name, function, template.pointers, template.values, template.accesses, template.traffic, template.index_bits, template.state
    )


def elementwise_fails(old, new):
    template = mutated(templates.elementwise((array("float32"), array("float32")), ("float32",), unroll=2), old, new)
    n = 2 * BLOCK * 8 + 5
    x, y, out = sample("float32", n), sample("float32", n, 1), np.zeros(n, np.float32)
    return fails(template, (3,), out, x * y, out, x, y, n, scalar=MUL)


def rows_fail(old, new):
    of = accumulator(OPS["sum"], "float32")
    template = mutated(reductions.reduce_rows(of, ("float32",), "float32", "whole"), old, new)
    x, out = sample("float32", (2, 2400)), np.zeros(2, np.float32)
    expected = x.astype(np.float64).sum(1).astype(np.float32)
    args = out, x, 2400, 2400, 768
    return fails(template, (2, 1), out, expected, *args, **of.source())


def columns_fail(old, new):
    of = accumulator(OPS["sum"], "float32")
    template = mutated(reductions.reduce_columns(of, ("float32",), "float32"), old, new)
    x, out = sample("float32", (2, 40, 35)), np.zeros((2, 35), np.float32)
    expected = x.astype(np.float64).sum(1).astype(np.float32)
    args = out, x, 0, 2, 40, 35, 40, 1400, 35, 1
    return fails(template, (2, 1, 2), out, expected, *args, **of.source())


def strided_fails(old, new):
    template = mutated(templates.strided((array("float32"),), ("float32",), 2), old, new)
    x = sample("float32", 300).reshape(20, 15)
    out = np.zeros((15, 20), np.float32)
    counts = 300, *templates.strided_args((15, 20), [(20, 1), (1, 15)])
    return fails(template, (2,), out, x.T, out, x, *counts, **templates.index_source(32))


def fails(template, grid, out, expected, *args, scalar=table.identity, **source):
    try:
        emulate(template, scalar, "float32", grid, *args, **source)
    except KernelError:
        return True
    return not np.array_equal(out, expected)


@pytest.mark.parametrize(
    "check, old, new",
    [
        (elementwise_fails, "* 4 <= n", "* 2 <= n"),  # the last tile takes the vector path
        (elementwise_fails, "i + 256", "i + 255"),  # tiles overlap
        (elementwise_fails, "x0_0[1]", "x0_0[0]"),  # a lane is taken twice
        (elementwise_fails, ", n), 256)", ", n - 1), 256)"),  # the tail stops early
        (elementwise_fails, "tile * 4 + cuda", "tile * 8 + cuda"),  # vectors and elements confused
        (rows_fail, "cuda.syncthreads()", "pass"),  # a missing barrier
        (rows_fail, "if thread < 8:", "if thread < 7:"),  # a warp's sum is lost
        (rows_fail, "a0_1, 16", "a0_1, 17"),  # a shuffle of another distance than its partner's
        (rows_fail, "(row >> 2) + i)", "i)"),  # the row is forgotten
        (rows_fail, "% 32 == 0", "% 32 == 1"),  # the wrong thread publishes
        (columns_fail, "cuda.syncthreads()", "pass"),
        (columns_fail, "lane + 224", "lane + 192"),  # one warp counts twice, the last not at all
        (columns_fail, "outer * outer_step", "outer"),
        (columns_fail, "warp == 0", "warp == 1"),
        (strided_fails, "-size1", "size1"),
        (strided_fails, "i = q", "i = r"),
        (strided_fails, "x0_stride0, x0_at", "x0_stride1, x0_at"),
    ],
)
def test_planted_mutations_are_caught(check, old, new):
    """The unchanged template passes the claim, the mutant does not."""
    assert not check(old, old), "the claim fails without the mutation"
    assert check(old, new)


def test_names_mean_something_to_every_target():
    """What a template may say of ``cuda`` and of indices is the same on a GPU, on the emulated device and to the interpreter."""
    uses = [access.Access("load", "float32"), access.Access("store", "int64", 2)]
    uses += [access.Access(direction, "int64") for direction in ("add", "max", "put")]
    ptx, emulated = ptx_names("float32", uses, ("int64",)), emulated_names("float32", uses, ("int64",), Needs(), True)
    interpreted = simt.simt_names("float32", uses, ("int64",))
    assert set(ptx) == set(emulated) == set(interpreted) - set(numpy_prims("float32")) - {"complex"}
    machines = [{name for name in dir(each["cuda"]) if not name.startswith("_")} for each in (ptx, emulated, interpreted)]
    assert machines[0] == machines[1] == machines[2]
