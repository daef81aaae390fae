"""Scalar functions: the mathematics, written once, with no mention of a target, an array or a dtype.

A function is plain Python over the primitives of ``prims.py``; ``instantiate`` binds it to a target and, through
``BY_DTYPE``, to a dtype. A float literal takes the kernel's dtype. All are branch-free, so that loops of them
vectorise, and within 2.5 ulp (tests/kernels/test_scalars.py measures and prints how far).

NOTE [Guards]: a few functions are right only in a range. ``GUARDS[name]`` is a test of the function's arguments, True
where the fast version is out of its range, and a version that is right everywhere, branches, and is slow (``PRECISE``). A
loop asks the guard for a block of elements, and computes the block with the precise version if any element says so; a CUDA
thread asks for its own element.

NOTE [Common range]: ``COMMON`` turns that round: the function is right everywhere and vectorises, and a cheaper one gives
the same bits in a range that most arguments are in. The test is an integer of the dtype's width, negative outside of the
range. Only loops of the CPU know of it, and only where the arguments are operands, so that asking costs less than it saves.
"""

from __future__ import annotations

from typing import Callable

from . import bessel, exponential, gamma, integers, logarithm, polynomials, rounding, special, trigonometric
from .exponential import cosh, erf, exp, exp2, expm1, sigmoid, sinh, softplus, tanh
from .inverse_hyperbolic import acosh, asinh, atanh
from .logarithm import log, log1p, log2, log10
from .power import pow_
from .tables import BY_DTYPE

__all__ = ["FUNCTIONS", "INT_FUNCTIONS", "BY_DTYPE", "GUARDS", "PRECISE", "COMMON", "ABREAST", "NEAREST", "functions"]

# Each has a guard of its angle, and a version for any angle.
OSCILLATING = {
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"), trigonometric.angle_is_huge),
    **dict.fromkeys(("airy_ai", "airy_ai_slope"), bessel.airy_is_far),
}

FUNCTIONS: dict[str, Callable] = {
    "exp": exp,
    "expm1": expm1,
    "exp2": exp2,
    "log": log,
    "log1p": log1p,
    "log2": log2,
    "log10": log10,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "sigmoid": sigmoid,
    "softplus": softplus,
    "erf": erf,
    "pow": pow_,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": trigonometric.asin,
    "acos": trigonometric.acos,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
    "sqrt": rounding.sqrt_,
    "rsqrt": rounding.rsqrt,
    "hypot": rounding.hypot,
    "over_square": rounding.over_square,
    "fabs": rounding.fabs_,
    "copysign": rounding.copysign_,
    "floor": rounding.floor_,
    "ceil": rounding.ceil_,
    "round": rounding.round_,
    "trunc": rounding.trunc_,
    "fmod": rounding.fmod,
    "remainder": rounding.remainder,
    "floor_divide": rounding.floor_divide,
    "trunc_divide": rounding.trunc_divide,
    "isnan": rounding.isnan,
    "isinf": rounding.isinf,
    "isfinite": rounding.isfinite,
    "sign": rounding.sign,
    "maximum": rounding.maximum,
    "minimum": rounding.minimum,
    "nextafter": rounding.nextafter,
    "binary_exponent": rounding.binary_exponent,
    "ldexp": rounding.ldexp,
    **{
        name: getattr(special, name)
        for name in (
            "erfc",
            "erfcx",
            "erfinv",
            "ndtri",
            "lgamma",
            "digamma",
            "trigamma",
            "zeta",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "sinc",
            "sinc_slope",
        )
    },
    **{name: getattr(bessel, name) for name in OSCILLATING},
    **{
        f"{scaled}modified_bessel_k{n}": getattr(bessel, f"{scaled}modified_bessel_k{n}")
        for scaled in ("", "scaled_")
        for n in (0, 1)
    },
    **{name: getattr(polynomials, name) for name in ("chebyshev", "gegenbauer", "hermite", "laguerre")},
    "lower_gamma": gamma.lower_gamma,
    "upper_gamma": gamma.upper_gamma,
}

# Of float32 alone: what a value becomes where it is stored in a half type, for loops that keep it.
NEAREST: dict[str, Callable] = {"nearest_float16": rounding.nearest_float16, "nearest_bfloat16": rounding.nearest_bfloat16}

INT_FUNCTIONS: dict[str, Callable] = {
    "floor_divide": integers.floor_divide,
    "trunc_divide": integers.trunc_divide,
    "remainder": integers.remainder,
    "fmod": integers.fmod,
    "ipow": integers.ipow,
    "pow": integers.ipow,
    "sign": integers.sign,
    "abs": integers.abs_,
    "maximum": integers.maximum,
    "minimum": integers.minimum,
    "gcd": integers.gcd,
    "lcm": integers.lcm,
    "bitwise_left_shift": integers.shift_left,
    "bitwise_right_shift": integers.shift_right,
}

# ``{function: (guard, precise version)}``
GUARDS: dict[str, tuple[Callable, Callable]] = {
    **{name: (trigonometric.angle_is_huge, getattr(trigonometric, f"{name}_precise")) for name in ("sin", "cos", "tan")},
    **{name: (rounding.quotient_is_huge, getattr(rounding, f"{name}_precise")) for name in ("fmod", "remainder", "floor_divide")},
    **{name: (guard, getattr(bessel, f"{name}_precise")) for name, guard in OSCILLATING.items()},
    "zeta": (special.zeta_is_far, special.zeta_precise),
    **{name: (gamma.gamma_is_far, getattr(gamma, f"{name}_precise")) for name in ("lower_gamma", "upper_gamma")},
}
PRECISE = {name: precise for name, (_, precise) in GUARDS.items()}

COMMON: dict[str, tuple[Callable, Callable]] = {
    "exp": (exponential.exp_leaves_range, exponential.exp_in_range),
    "log": (logarithm.is_not_normal, logarithm.log_in_range),
    "log2": (logarithm.is_not_normal, logarithm.log2_in_range),
    "log10": (logarithm.is_not_normal, logarithm.log10_in_range),
    "erfc": (special.erfc_leaves_range, special.erfc_in_range),
    "erfinv": (special.erfinv_leaves_range, special.erfinv_in_range),
}

# Functions that are one chain of 25 to 40 instructions, each of which waits for the one before: loops of them compute four vectors
# at a time, of which LLVM by itself takes one (benchmarks/test_operations.py: 0.7 to 0.9 of the time). Longer ones would gain as
# much, and take two or three times as long to compile.
ABREAST = frozenset({"exp", "expm1", "exp2", "log", "log2", "log10", "log1p", "sinh", "tanh", "sigmoid", "softplus", "erf"})


def functions(dtype: str) -> dict[str, Callable]:
    """The names that generated source may use at ``dtype``, besides the primitives.

    Real dtypes have ``FUNCTIONS``, float32 ``NEAREST`` too, integers (and bool) ``INT_FUNCTIONS`` with the prefix ``int_``, complex
    dtypes none.
    """
    if dtype in BY_DTYPE:
        return {**FUNCTIONS, **NEAREST} if dtype == "float32" else FUNCTIONS
    if dtype.startswith("complex"):
        return {}
    return {f"int_{name}": function for name, function in INT_FUNCTIONS.items()}
