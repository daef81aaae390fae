"""The scalar functions: how far they are from the truth, what they do at the special values, and that they vectorise.

``python -m pytest tests/kernels/test_scalars.py -k accuracy -rP`` prints the table of errors. Oracles: NumPy in float64
for float32, mpmath for float64, Python's integers and fractions for what is exact.
"""

from __future__ import annotations

import ctypes
import math
import platform
import re
from fractions import Fraction
from functools import cache

import llvmlite.binding as llvm
import mpmath as mp
import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import DTypeError, KernelError
from nbgrad.kernels import prims, scalars
from nbgrad.kernels.cpu import build, emit
from nbgrad.kernels.instantiate import instantiate
from nbgrad.kernels.templates.elementwise import elementwise_loop
from tests.parts import alternating

LIMIT = 2.5  # ulp
REAL = ("float32", "float64")
PREDICATES = ("isnan", "isinf", "isfinite")
DENSE = {"float32": 200_000, "float64": 1_500}
SEED = 20_240

# name: (NumPy's function in float64, mpmath's, the interval that matters in each dtype)
ANGLE = {dtype: scalars.BY_DTYPE[dtype]["ANGLE_MAX"] for dtype in REAL}
TRANSCENDENTAL = {
    "exp": (np.exp, mp.exp, {"float32": (-104, 89), "float64": (-745.5, 710)}),
    "expm1": (np.expm1, mp.expm1, {"float32": (-20, 89), "float64": (-40, 710)}),
    "exp2": (np.exp2, lambda x: mp.mpf(2) ** x, {"float32": (-150, 128.5), "float64": (-1075.5, 1024.5)}),
    "log": (np.log, mp.log, {"float32": (1e-45, 10), "float64": (5e-324, 10)}),
    "log1p": (np.log1p, mp.log1p, {"float32": (-0.9999999, 10), "float64": (-0.9999999, 10)}),
    "log2": (np.log2, lambda x: mp.log(x, 2), {"float32": (1e-45, 10), "float64": (5e-324, 10)}),
    "log10": (np.log10, mp.log10, {"float32": (1e-45, 10), "float64": (5e-324, 10)}),
    "sin": (np.sin, mp.sin, {dtype: (-a, a) for dtype, a in ANGLE.items()}),
    "cos": (np.cos, mp.cos, {dtype: (-a, a) for dtype, a in ANGLE.items()}),
    "tan": (np.tan, mp.tan, {dtype: (-a, a) for dtype, a in ANGLE.items()}),
    "asin": (np.arcsin, mp.asin, {"float32": (-1, 1), "float64": (-1, 1)}),
    "acos": (np.arccos, mp.acos, {"float32": (-1, 1), "float64": (-1, 1)}),
    "atan": (np.arctan, mp.atan, {"float32": (-20, 20), "float64": (-20, 20)}),
    "sinh": (np.sinh, mp.sinh, {"float32": (-90, 90), "float64": (-711, 711)}),
    "cosh": (np.cosh, mp.cosh, {"float32": (-90, 90), "float64": (-711, 711)}),
    "tanh": (np.tanh, mp.tanh, {"float32": (-10, 10), "float64": (-20, 20)}),
    "asinh": (np.arcsinh, mp.asinh, {"float32": (-1e4, 1e4), "float64": (-1e4, 1e4)}),
    "acosh": (np.arccosh, mp.acosh, {"float32": (1, 1e4), "float64": (1, 1e4)}),
    "atanh": (np.arctanh, mp.atanh, {"float32": (-1, 1), "float64": (-1, 1)}),
    "erf": (lambda x: np.array([math.erf(v) for v in x]), mp.erf, {"float32": (-4.2, 4.2), "float64": (-6.2, 6.2)}),
    "sqrt": (np.sqrt, mp.sqrt, {"float32": (0, 10), "float64": (0, 10)}),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x: 1 / mp.sqrt(x), {"float32": (1e-40, 10), "float64": (1e-310, 10)}),
    "sigmoid": (
        lambda x: np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x))),
        lambda x: 1 / (1 + mp.exp(-x)),
        {"float32": (-104, 20), "float64": (-745, 40)},
    ),
    "softplus": (lambda x: np.logaddexp(0.0, x), lambda x: mp.log1p(mp.exp(x)), {"float32": (-104, 50), "float64": (-745, 100)}),
}
# Undefined outside their interval.
DOMAIN_ONLY = ("asin", "acos", "acosh", "atanh", "log", "log2", "log10", "log1p", "sqrt", "rsqrt")


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


def program(name: str, dtype: str, table=scalars.FUNCTIONS) -> build.Program:
    """The kernel that computes a scalar function of contiguous operands; predicates fill a boolean array."""
    loop = elementwise_loop(("bool" if name in PREDICATES else dtype,), ((dtype, False),) * table[name].__code__.co_argcount)
    return build.Program(name, loop, dtype, (("scalar", table[name]),))


def call(name: str, dtype: str, *operands, precise: bool = False, integer: bool = False) -> np.ndarray:
    """``name`` of whole arrays, by its compiled kernel."""
    table = scalars.PRECISE if precise else scalars.INT_FUNCTIONS if integer else scalars.FUNCTIONS
    operands = [np.ascontiguousarray(x, dtype).ravel() for x in operands]
    out = np.empty(operands[0].size, np.bool_ if name in PREDICATES else dtype)
    pointers = (ctypes.c_void_p * (2 + len(operands)))(None, *[array.ctypes.data for array in (out, *operands)])
    KERNEL(build.address(program(name, dtype, table)))(None, None, 0, out.size, pointers)
    return out


def numpy_bound(name: str, dtype: str):
    """A scalar function with NumPy's primitives: runs on arrays, without a compiler."""
    return instantiate(scalars.FUNCTIONS[name], prims.numpy_prims(dtype), scalars.BY_DTYPE[dtype], dtype)


def ulps(got: np.ndarray, exact: list | np.ndarray) -> np.ndarray:
    """|got - exact| in ulp of the exact result; inf where one is NaN, or infinite, and the other not."""
    kind = got.dtype.type
    with np.errstate(all="ignore"):
        wanted = np.array([float(v) for v in exact]).astype(kind)
        spacing = np.spacing(np.minimum(np.abs(wanted), np.finfo(kind).max))
        if isinstance(exact, np.ndarray):
            error = np.abs(got.astype(np.float64) - exact) / spacing
        else:
            error = np.array(
                [
                    float(abs(mp.mpf(float(g)) - v) / mp.mpf(float(s))) if np.isfinite(g) and mp.isfinite(v) else np.inf
                    for g, v, s in zip(got, exact, spacing)
                ]
            )
        same = (got == wanted) & np.isinf(got) | np.isnan(got) & np.isnan(wanted)
        # Half an ulp above the largest number both answers are right.
        top = np.isinf(got) & (np.abs(wanted) == np.finfo(kind).max)
    return np.where(same, 0, np.where(top, 1, np.where(np.isnan(error), np.inf, error)))


def sample(name: str, dtype: str) -> np.ndarray:
    """Random arguments over the interval, near 0, near 1 and of every magnitude, and some whole and half numbers."""
    rng, n = np.random.default_rng(SEED), DENSE[dtype]
    low, high = TRANSCENDENTAL[name][2][dtype]
    magnitudes = 2.0 ** rng.uniform(*{"float32": (-149, 127), "float64": (-1074, 1023)}[dtype], n // 2)
    if name in ("sin", "cos", "tan"):
        magnitudes = np.concatenate([magnitudes[magnitudes < ANGLE[dtype]], near_quadrants(dtype, n // 2)])
    parts = [
        rng.uniform(low, high, n),
        rng.uniform(max(low, -2), min(high, 2), n),
        1 - 2.0 ** rng.uniform(-24, -1, n // 4),
        magnitudes,
        -magnitudes,
        np.arange(-40, 41) / 2,
    ]
    with np.errstate(all="ignore"):
        x = np.concatenate(parts).astype(dtype)
    return x[(x >= low) & (x <= high)] if name in DOMAIN_ONLY else x


def near_quadrants(dtype: str, count: int) -> np.ndarray:
    """The floats next to random multiples of pi / 2, where the reduction cancels the most digits."""
    rng = np.random.default_rng(SEED)
    multiples = rng.integers(1, int(ANGLE[dtype] / 1.6), count)
    mp.mp.prec = 120
    return np.array([float(int(k) * mp.pi / 2) for k in multiples])


def exact_values(name: str, x: np.ndarray):
    """The true results: float64's for float32, mpmath's for float64."""
    numpy_function, mpmath_function, _ = TRANSCENDENTAL[name]
    if x.dtype == np.float32:
        with np.errstate(all="ignore"):
            return numpy_function(x.astype(np.float64))
    mp.mp.prec = 120
    return [mpmath_function(mp.mpf(float(v))) for v in x]


def worst(name: str, dtype: str, errors: np.ndarray, *operands: np.ndarray) -> float:
    """The largest error; prints its row of the table."""
    i = int(np.argmax(errors))
    at = ", ".join(repr(float(x[i])) for x in operands)
    print(f"{name:10s} {dtype}  {errors[i]:6.3f} ulp at {at}")
    return float(errors[i])


@pytest.mark.parametrize("dtype", alternating(*REAL))
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_accuracy(name, dtype):
    """Every function is within 2.5 ulp of the truth over its range, subnormal results included."""
    x = sample(name, dtype)
    assert worst(name, dtype, ulps(call(name, dtype, x), exact_values(name, x)), x) <= LIMIT


def pow_operands(dtype: str):
    """Bases and exponents whose powers fill the range of the dtype, and bases close to 1 with huge exponents."""
    rng, n = np.random.default_rng(SEED), DENSE[dtype]
    span = {"float32": 88, "float64": 709}[dtype]
    base = np.concatenate([rng.uniform(0, 10, n), np.exp(rng.uniform(-span, span, n)), 1 + rng.uniform(-0.01, 0.01, n)])
    with np.errstate(all="ignore"):
        x = base.astype(dtype)
        y = (rng.uniform(-1.1, 1.1, base.size) * span / np.maximum(np.abs(np.log(base)), 1e-9)).astype(dtype)
    return x, y


@pytest.mark.parametrize("dtype", REAL)
def test_accuracy_of_pow(dtype):
    """pow is within 2.5 ulp up to overflow and down to subnormal results."""
    x, y = pow_operands(dtype)
    if dtype == "float32":
        with np.errstate(all="ignore"):
            exact = np.power(x.astype(np.float64), y.astype(np.float64))
    else:
        mp.mp.prec = 160
        exact = [mp.power(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y)]
    assert worst("pow", dtype, ulps(call("pow", dtype, x, y), exact), x, y) <= LIMIT


@pytest.mark.parametrize("dtype", REAL)
def test_accuracy_of_atan2(dtype):
    """atan2 is within 2.5 ulp in all quadrants and for all ratios."""
    rng, n = np.random.default_rng(SEED), DENSE[dtype]
    parts = [[rng.uniform(-3, 3, n), rng.choice([-1, 1], n) * 10 ** rng.uniform(-30, 30, n)] for _ in range(2)]
    y, x = (np.concatenate(part).astype(dtype) for part in parts)
    if dtype == "float32":
        exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    else:
        mp.mp.prec = 160
        exact = [mp.atan2(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(y, x)]
    assert worst("atan2", dtype, ulps(call("atan2", dtype, y, x), exact), y, x) <= LIMIT


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_precise_version_is_right_at_huge_angles(name, dtype):
    """Beyond the guard the precise version takes over, up to the largest float and at the hardest argument known."""
    rng = np.random.default_rng(SEED)
    top = {"float32": 127.9, "float64": 1023.9}[dtype]
    x = 2.0 ** rng.uniform(math.log2(ANGLE[dtype]) - 4, top, 400) * rng.choice([-1, 1], 400)
    # 6381956970095103 * 2**797 comes closer to a multiple of pi / 2 than any other float64 (Muller et al.).
    hardest = [6381956970095103.0 * 2.0**797] if dtype == "float64" else [16367173.0 * 2.0**72]
    x = np.concatenate([x, hardest, near_quadrants(dtype, 100)]).astype(dtype)
    mp.mp.prec = 1400
    exact = [getattr(mp, name)(mp.mpf(float(v))) for v in x]
    errors = ulps(call(name, dtype, x, precise=True), exact)
    assert worst(f"{name} huge", dtype, errors, x) <= LIMIT


def special_numbers(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN, the ends of the normal and of the subnormal range, small whole numbers and halves."""
    info = np.finfo(dtype)
    positive = [0.0, info.smallest_subnormal, info.smallest_normal, 1e-20, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 1e5, info.max, np.inf]
    return np.array([*positive, *(-np.array(positive)), np.nan], dtype)


def assert_same_special(name: str, got: np.ndarray, wanted: np.ndarray, *operands) -> None:
    """NaN for NaN, infinity for infinity, zero for zero of the same sign, 1 for 1, and within 2.5 ulp elsewhere."""
    with np.errstate(all="ignore"):
        wanted = wanted.astype(got.dtype)
        exact = np.isnan(wanted) | np.isinf(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
        same = np.isnan(got) & np.isnan(wanted) | (got == wanted) & (np.signbit(got) == np.signbit(wanted))
        close = np.abs(got.astype(np.float64) - wanted) <= LIMIT * np.spacing(np.abs(wanted)).astype(np.float64)
    for i in np.flatnonzero(~np.where(exact, same, close)):
        pytest.fail(f"{name}({', '.join(repr(x[i]) for x in operands)}) = {got[i]!r}, expected {wanted[i]!r}")


@pytest.mark.parametrize("dtype", alternating(*reversed(REAL)))
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_special_values_of_one_operand(name, dtype):
    """Zeros keep their sign, infinities and NaN behave as in NumPy, subnormal numbers are not flushed."""
    x = special_numbers(dtype)
    if name in ("sin", "cos", "tan"):
        x = x[~(np.abs(x) > ANGLE[dtype]) | np.isinf(x)]
    with np.errstate(all="ignore"):
        wanted = TRANSCENDENTAL[name][0](x.astype(np.float64))
    if name == "sigmoid":
        wanted[np.isneginf(x)] = 0.0
    assert_same_special(name, call(name, dtype, x), wanted, x)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("name", "oracle"), [("pow", np.power), ("atan2", np.arctan2)])
def test_special_values_of_two_operands(name, oracle, dtype):
    """All pairs of special numbers, as C99 annex F and NumPy have them."""
    x, y = (a.ravel() for a in np.meshgrid(special_numbers(dtype), special_numbers(dtype)))
    with np.errstate(all="ignore"):
        wanted = oracle(x.astype(np.float64), y.astype(np.float64))
    assert_same_special(name, call(name, dtype, x, y), wanted, x, y)


@pytest.mark.parametrize("dtype", REAL)
def test_powers_of_two_and_ten_are_exact(dtype):
    """exp2 at whole numbers, log2 at powers of two and log10 at the powers of ten that a float holds have no error."""
    low, high, tens = {"float32": (-149, 127, 10), "float64": (-1074, 1023, 22)}[dtype]
    n = np.arange(low, high + 1)
    powers = np.ldexp(np.ones(n.size, dtype), n)
    np.testing.assert_array_equal(call("exp2", dtype, n), powers)
    np.testing.assert_array_equal(call("log2", dtype, powers), n)
    np.testing.assert_array_equal(call("log10", dtype, [10.0**k for k in range(tens + 1)]), np.arange(tens + 1))


@pytest.mark.parametrize("dtype", REAL)
def test_sin_and_cos_stay_in_the_unit_interval(dtype):
    """|sin| and |cos| never exceed 1, also next to the extrema."""
    dense = np.random.default_rng(SEED).uniform(-10, 10, 20_000)
    x = np.concatenate([near_quadrants(dtype, 2000), dense]).astype(dtype)
    for name in ("sin", "cos"):
        assert np.abs(call(name, dtype, x)).max() == 1.0


ROUNDING = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "fabs": np.abs,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "sign": lambda x: np.nan_to_num(np.sign(x), nan=0.0) + 0.0,
}


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_and_classification(name, dtype):
    """Exact functions agree with NumPy everywhere; the sign of NaN is 0, as in torch."""
    rng = np.random.default_rng(SEED)
    x = np.concatenate([special_numbers(dtype), rng.uniform(-5, 5, 500), np.arange(-9, 10) / 2]).astype(dtype)
    got, wanted = call(name, dtype, x), ROUNDING[name](x)
    np.testing.assert_array_equal(got, wanted)
    if got.dtype != np.bool_:
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("oracle", [np.maximum, np.minimum, np.copysign])
def test_selection(oracle, dtype):
    """maximum and minimum propagate NaN from either side; copysign takes the sign of anything."""
    x, y = (a.ravel() for a in np.meshgrid(special_numbers(dtype), special_numbers(dtype)))
    np.testing.assert_array_equal(call(oracle.__name__, dtype, x, y), oracle(x, y))


def division_operands(dtype: str, largest: float):
    """Pairs with quotients of either sign up to ``largest``, many of them whole, some next to whole."""
    rng = np.random.default_rng(SEED)
    y = (rng.choice([-1, 1], 4000) * 2.0 ** rng.uniform(-20, 20, 4000)).astype(dtype)
    quotient = np.trunc(2.0 ** rng.uniform(0, math.log2(largest), 4000)) * rng.choice([-1, 1], 4000)
    x = (quotient * y).astype(dtype)
    return np.concatenate([x, np.nextafter(x, np.inf, dtype=dtype), (x * 0.37).astype(dtype)]), np.tile(y, 3)


def floored_remainder(x: float, y: float) -> float:
    """Python's rule, but the zero keeps the sign of x, as in torch."""
    truncated = math.fmod(x, y)
    return truncated + y if truncated != 0 and (truncated < 0) != (y < 0) else truncated


@pytest.mark.parametrize("dtype", REAL)
def test_fmod_and_remainder_are_exact(dtype):
    """Where the guard is silent the fast versions equal C's fmod, and Python's rule on top of it, bit for bit."""
    x, y = division_operands(dtype, 2.0**20)
    np.testing.assert_array_equal(call("fmod", dtype, x, y), np.fmod(x, y))
    wanted = np.array([np.dtype(dtype).type(floored_remainder(float(a), float(b))) for a, b in zip(x, y)])
    np.testing.assert_array_equal(call("remainder", dtype, x, y), wanted)


@pytest.mark.parametrize("dtype", REAL)
def test_floor_divide_is_the_floor_of_the_exact_quotient(dtype):
    """x // y is floor(x / y) of the exact quotient, not of the rounded one."""
    x, y = division_operands(dtype, 2.0**18)
    wanted = [math.floor(Fraction(float(a)) / Fraction(float(b))) for a, b in zip(x, y)]
    np.testing.assert_array_equal(call("floor_divide", dtype, x, y), np.array(wanted, dtype))


@pytest.mark.parametrize("dtype", REAL)
def test_precise_remainders_take_any_quotient(dtype):
    """fmod of the largest by the smallest number is exact, and the guard asks for it."""
    info = np.finfo(dtype)
    x, y = (
        a.ravel()
        for a in np.meshgrid(
            [info.max, 1e30, 12345.678, -1e25, info.smallest_normal],
            [3.0, -7.1, 1e-30, info.smallest_subnormal, info.smallest_normal * 3],
        )
    )
    x, y = x.astype(dtype), y.astype(dtype)
    np.testing.assert_array_equal(call("fmod", dtype, x, y, precise=True), np.fmod(x, y))
    wanted = np.array([np.dtype(dtype).type(floored_remainder(float(a), float(b))) for a, b in zip(x, y)])
    np.testing.assert_array_equal(call("remainder", dtype, x, y, precise=True), wanted)
    guard = instantiate(scalars.GUARDS["fmod"][0], prims.numpy_prims(dtype), scalars.BY_DTYPE[dtype], dtype)
    assert guard(info.max, info.smallest_normal) and not guard(np.dtype(dtype).type(7), np.dtype(dtype).type(2))


@pytest.mark.parametrize("dtype", REAL)
def test_division_by_zero_and_infinity_follow_torch(dtype):
    """A zero divisor gives x / 0 or NaN; an infinite one leaves x, or moves it to the other side."""
    x = np.array([3, -3, 0, 5, -5, -5, np.inf, np.nan], dtype)
    y = np.array([0, 0, 0, np.inf, np.inf, -np.inf, 2, 1], dtype)
    np.testing.assert_array_equal(
        call("floor_divide", dtype, x, y), np.array([np.inf, -np.inf, np.nan, 0, -1, 0, np.nan, np.nan], dtype)
    )
    np.testing.assert_array_equal(
        call("remainder", dtype, x, y), np.array([np.nan, np.nan, np.nan, 5, np.inf, -5, np.nan, np.nan], dtype)
    )


BRANCH_FREE = [name for name, function in scalars.FUNCTIONS.items() if not function.__module__.endswith("polynomials")]


@pytest.mark.part(3, 0)
@pytest.mark.parametrize("dtype", alternating(*REAL))
@pytest.mark.parametrize("name", BRANCH_FREE)
def test_numpy_and_compiled_versions_agree_bit_for_bit(name, dtype):
    """One source, two targets: the oracle on arrays and the machine code give the same bits."""
    rng = np.random.default_rng(SEED)
    arity = scalars.FUNCTIONS[name].__code__.co_argcount
    scale = 0.9 if name in ("asin", "acos") else 9.0
    operands = [np.concatenate([rng.uniform(-scale, scale, 300), special_numbers(dtype)]).astype(dtype)]
    operands += [rng.permutation(operands[0]) for _ in range(arity - 1)]
    with np.errstate(all="ignore"):
        wanted = np.asarray(numpy_bound(name, dtype)(*operands))
    got = call(name, dtype, *operands)
    assert wanted.dtype == got.dtype
    number = ~np.isnan(wanted)  # which NaN comes out of a NaN is the hardware's choice
    np.testing.assert_array_equal(np.isnan(got), ~number)
    np.testing.assert_array_equal(got[number], wanted[number])
    if got.dtype != np.bool_:
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(wanted[number]))


@cache
def llvm_text(name: str, dtype: str) -> str:
    """The optimised LLVM text of the kernel that computes a scalar function, by the compiler of kernels."""
    found = list[str]()

    def optimise(module, passes) -> None:
        passes.getModulePassManager().run(module, passes)
        found.append(str(module))

    emit.Emitter().emit(build.text_of(program(name, dtype), "kernel"), optimise=optimise)
    return found[0]


@pytest.mark.part(3, 1)
@pytest.mark.parametrize("dtype", alternating(*REAL))
@pytest.mark.parametrize("name", BRANCH_FREE)
def test_loops_vectorise(name, dtype):
    """The loop works on vectors of numbers: a branch in a scalar function, or a loop that is not written out, would stop LLVM."""
    element = {"float32": "(float|i32)", "float64": "(double|i64)"}[dtype]  # or its bits
    assert re.search(rf"load <\d+ x {element}>", llvm_text(name, dtype))


@pytest.mark.parametrize("name", scalars.FUNCTIONS)
def test_float32_functions_never_touch_float64(name):
    """A constant that was not narrowed would make a float32 kernel compute in float64."""
    assert not re.search(r"\bdouble\b", llvm_text(name, "float32"))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "pow", "erf"])
def test_no_library_is_called(name, dtype):
    """The machine code is self-contained: no symbol of libm (with hardware fma)."""
    if platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):
        pytest.skip("assembly of this machine is not known")
    assembly = emit.host_machine().emit_assembly(llvm.parse_assembly(llvm_text(name, dtype)))
    assert not re.search(rf"\b_?(fma|{name})f?(@PLT)?$", assembly, re.MULTILINE)


INTEGERS = ("int8", "int32", "int64", "uint8")


def integer_pairs(dtype: str):
    """All pairs of small numbers and of the ends of the range."""
    info = np.iinfo(dtype)
    values = sorted({v for v in (*range(-9, 10), info.min, info.min + 1, info.max - 1, info.max, 100) if info.min <= v <= info.max})
    return (a.ravel() for a in np.meshgrid(np.array(values, dtype), np.array(values, dtype)))


def wrapped(values, dtype: str) -> np.ndarray:
    """Python integers modulo the width of ``dtype``."""
    info = np.iinfo(dtype)
    return np.array([(int(v) - info.min) % (1 << info.bits) + info.min for v in values], dtype)


INTEGER_ORACLES = {
    "floor_divide": lambda x, y: x // y if y else 0,
    "remainder": lambda x, y: x % y if y else 0,
    "fmod": lambda x, y: x - y * (abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) if y else 0,
    "maximum": max,
    "minimum": min,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_ORACLES)
def test_integer_division_never_traps(name, dtype):
    """Python's integers modulo the width; a zero divisor gives 0, and the smallest number by -1 wraps."""
    x, y = integer_pairs(dtype)
    wanted = wrapped([INTEGER_ORACLES[name](int(a), int(b)) for a, b in zip(x, y)], dtype)
    np.testing.assert_array_equal(call(name, dtype, x, y, integer=True), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap(dtype):
    """x**y modulo the width; a negative exponent leaves 1 / x truncated."""
    x, y = integer_pairs(dtype)
    keep = (y <= 100) & (y >= -9)
    x, y = x[keep], y[keep]

    def power(a, b):
        return a**b if b >= 0 else {1: 1, -1: (-1) ** b}.get(a, 0)

    wanted = wrapped([power(int(a), int(b)) for a, b in zip(x, y)], dtype)
    np.testing.assert_array_equal(call("ipow", dtype, x, y, integer=True), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_sign_and_magnitude(dtype):
    """sign is -1, 0 or 1; the magnitude of the smallest integer is itself."""
    x, _ = integer_pairs(dtype)
    np.testing.assert_array_equal(call("sign", dtype, x, integer=True), np.sign(x))
    np.testing.assert_array_equal(call("abs", dtype, x, integer=True), wrapped([abs(int(v)) for v in x], dtype))


def test_float32_fma_of_the_oracle_rounds_once():
    """NumPy's float32 fma equals the exact sum rounded once, where float64 arithmetic would round twice."""
    rng = np.random.default_rng(SEED)
    x, y = (rng.uniform(1, 2, 3000).astype(np.float32) for _ in range(2))
    # z just off a tie of the product: the case in which rounding to float64 first goes the wrong way.
    z = (rng.choice([-1, 1], 3000) * 2.0 ** rng.uniform(-60, 2, 3000)).astype(np.float32)
    got = prims.numpy_prims("float32")["fma"](x, y, z)
    wanted = [rounded(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))) for a, b, c in zip(x, y, z)]
    np.testing.assert_array_equal(got, np.array(wanted, np.float32))


def rounded(value: Fraction) -> float:
    """The float32 nearest to ``value``, ties to even, by integer arithmetic."""
    if value == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(value))) - 23
    while abs(value) / Fraction(2) ** exponent >= 1 << 24:
        exponent += 1
    while abs(value) / Fraction(2) ** exponent < 1 << 23:
        exponent -= 1
    return float(round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent)


def test_closures_are_refused():
    """instantiate names the function whose names would escape the binding."""
    captured = 1.0

    def closure(x):
        return x + captured

    with pytest.raises(KernelError, match="closure"):
        instantiate(closure, {})


def test_half_types_have_no_primitives():
    """float16 computes in float32; asking for its primitives says so."""
    with pytest.raises(DTypeError, match="float32"):
        prims.numpy_prims(np.float16)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_numbers_of_half_types_within_float32(half):
    """Rounding without a conversion gives what a half type would store, to the sign of zero: of all exponents, and ties."""
    rng = np.random.default_rng(SEED)
    x = rng.integers(-(2**31), 2**31, 20_000).astype(np.int32).view(np.float32)
    ties = rng.integers(-(2**15), 2**15, 5_000) * 2**16 + 2 ** rng.choice([12, 15], 5_000)
    x = np.concatenate(
        [
            x,
            ties.astype(np.int32).view(np.float32),
            np.float32([0.0, -0.0, 65519.9, 65520, -65520, 2**-24, 2**-25, 3 * 2**-26, 2**-14, np.inf]),
        ]
    )
    with np.errstate(all="ignore"):
        found = instantiate(scalars.NEAREST[f"nearest_{half}"], prims.numpy_prims("float32"), {}, "float32")(x)
        wanted = x.astype(np.float16).astype(np.float32) if half == "float16" else nbgrad.tensor(x).bfloat16().float().numpy()
    np.testing.assert_array_equal(found, wanted)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))


def test_functions_by_dtype():
    """Real dtypes name the functions plainly, integers with a prefix, complex ones have none."""
    assert scalars.functions("float32")["exp"] is scalars.FUNCTIONS["exp"]
    assert scalars.functions("float32").keys() - scalars.functions("float64").keys() == scalars.NEAREST.keys()
    assert scalars.functions("int8")["int_floor_divide"] is scalars.INT_FUNCTIONS["floor_divide"]
    assert scalars.functions("complex64") == {}


@pytest.mark.parametrize("dtype", REAL)
def test_atan2_beside_the_axes(dtype):
    """On both axes, and from both sides of zero, it is the angle of C99, rounded once."""
    y = np.array([1, 1, -1, -1, 0, -0.0, 0, -0.0, 0, -0.0], dtype)
    x = np.array([0, -0.0, 0, -0.0, 0, 0, -0.0, -0.0, -2, -2], dtype)
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(call("atan2", dtype, y, x), exact)
    np.testing.assert_array_equal(np.signbit(call("atan2", dtype, y, x)), np.signbit(exact))
