"""What the scalar functions take from their dtype: constants, split constants and polynomials.

``BY_DTYPE[dtype]`` is the ``source`` of ``instantiate``: a scalar function names ``LN2_HI`` or calls ``exp_tail`` and
gets the version of the kernel's dtype. Coefficients come from ``tools/fit.py``; constants of many digits are kept as
integers and cut here, so that a head, a middle and a tail are what their names say.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Callable

import numpy as np

from ..prims import fma, where
from ..texts import late_text
from .bessel_tables import BESSEL_COEFFICIENTS
from .special_tables import SPECIAL_COEFFICIENTS

__all__ = ["BY_DTYPE", "COEFFICIENTS", "TWO_OVER_PI_BITS"]

# Minimax coefficients, lowest power first; tools/fit.py prints them and their errors.
#   exp_tail, expm1_tail                        (e**r - 1 - r) / r**2
#   log_direct                                  (log(1 + f) - f) / f**2
#   log_ratio, pow_tail                         what the first terms leave of log((1 + s) / (1 - s)) / s, in s**2
#   sin_tail, tan_tail, asin_tail, atan_tail    (f(x) - x) / x**3, in x**2
#   cos_tail                                    (cos x - 1 + x**2 / 2) / x**4, in x**2
#   erf_near, erf_far                           erf(x) / x - 1, in x**2;  -log(1 - erf(x))
#   erf_log                                     -log(1 - erf(x)) / x - 1, which in float32 does from 0 on
COEFFICIENTS: dict[str, dict[str, list[float]]] = {
    "float32": {
        "exp_tail": [0.5, 0.16666576266288757, 0.04166637361049652, 0.008363235741853714, 0.0013941219076514244],
        "expm1_tail": [0.5000000596046448, 0.16666720807552338, 0.0416589118540287, 0.008322450332343578, 0.0015396352391690016],
        "log_direct": [
            -0.4999999403953552,
            0.3333331048488617,
            -0.2500114440917969,
            0.20002806186676025,
            -0.16618937253952026,
            0.14169716835021973,
            -0.13155506551265717,
            0.12955358624458313,
            -0.07891065627336502,
        ],
        "pow_tail": [0.4000000059604645, 0.2857153117656708, 0.22204697132110596, 0.19121919572353363],
        "sin_tail": [-0.1666666716337204, 0.008333331905305386, -0.00019840044842567295, 2.7244477678323165e-06],
        "cos_tail": [0.0416666641831398, -0.00138882827013731, 2.4543482140870765e-05],
        "tan_tail": [
            0.3333333432674408,
            0.1333320289850235,
            0.05400014668703079,
            0.02157939039170742,
            0.010100094601511955,
            0.0009760468383319676,
            0.0039617689326405525,
        ],
        "asin_tail": [0.16666685044765472, 0.07497130334377289, 0.045368824154138565, 0.024098718538880348, 0.04314107447862625],
        "atan_tail": [-0.3333333134651184, 0.19999557733535767, -0.1426445096731186, 0.10748239606618881, -0.06464764475822449],
        "erf_log": [
            0.1283792108297348,
            0.6366164684295654,
            0.10281440615653992,
            -0.019321711733937263,
            0.0002057101228274405,
            0.0012517513241618872,
            -0.0003810022899415344,
            4.07081279263366e-05,
        ],
    },
    "float64": {
        "exp_tail": [
            0.5000000000000001,
            0.16666666666666674,
            0.04166666666662381,
            0.008333333333322127,
            0.0013888888917370768,
            0.00019841269886836392,
            2.4801521052948772e-05,
            2.7557242059340425e-06,
            2.7620203638894305e-07,
            2.5110154340462048e-08,
        ],
        "expm1_tail": [
            0.49999999999999994,
            0.1666666666666636,
            0.04166666666670027,
            0.008333333333785371,
            0.0013888888854722435,
            0.00019841268466891748,
            2.4801709480135406e-05,
            2.7557121256331427e-06,
            2.7424717290301486e-07,
            2.8187665425454994e-08,
        ],
        "log_ratio": [
            0.666666666666667,
            0.3999999999989851,
            0.2857142862637019,
            0.2222221107751543,
            0.18182892881223728,
            0.15331608113624687,
            0.14617735358744183,
        ],
        "pow_tail": [
            0.4,
            0.28571428571428564,
            0.2222222222222848,
            0.18181818179643644,
            0.1538461576292783,
            0.13333296408169223,
            0.11766818144728387,
            0.1045622320692839,
            0.10763300008254365,
        ],
        "sin_tail": [
            -0.16666666666666666,
            0.008333333333330728,
            -0.00019841269836426588,
            2.7557315931717235e-06,
            -2.505109653105434e-08,
            1.5915606193827802e-10,
        ],
        "cos_tail": [
            0.041666666666666664,
            -0.0013888888888887259,
            2.4801587298557817e-05,
            -2.7557317164774906e-07,
            2.08761241612303e-09,
            -1.1381053024015306e-11,
        ],
        "tan_tail": [
            0.3333333333333333,
            0.13333333333332822,
            0.05396825396884922,
            0.02186948850875599,
            0.008863236189484265,
            0.0035921184938073267,
            0.001455924241372187,
            0.0005894496110066713,
            0.00024174006126877266,
            8.851186373141792e-05,
            5.854903628176601e-05,
            -1.5095799467737998e-05,
            4.0192309397971684e-05,
            -2.026277020115858e-05,
            8.943512304568717e-06,
        ],
        "asin_tail": [
            0.16666666666666685,
            0.0749999999997879,
            0.044642857181803684,
            0.030381941638110095,
            0.0223722639305272,
            0.01735044112672304,
            0.013997733036268731,
            0.011242007452779678,
            0.011737800156437328,
            -0.00012023915506990853,
            0.031351993210395425,
            -0.0349128998071113,
            0.0413903421490637,
        ],
        "atan_tail": [
            -0.3333333333333333,
            0.19999999999995738,
            -0.14285714284707482,
            0.11111111018246786,
            -0.09090904689070888,
            0.07692185555073804,
            -0.0666454211553032,
            0.05858395084681542,
            -0.05086643589619784,
            0.039263704391759996,
            -0.01921343500708847,
        ],
        "erf_near": [
            0.12837916709551256,
            -0.3761263890318355,
            0.11283791670945253,
            -0.02686617064327617,
            0.0052239776074231425,
            -0.0008548325989684064,
            0.00012055295320198352,
            -1.4924744659133548e-05,
            1.6447517642377853e-06,
            -1.62091757495891e-07,
            1.372297597471211e-08,
            -7.801188987413148e-10,
        ],
        "erf_far": [
            1.6451916029413147e-07,
            1.1283774635818562,
            0.6366279449579243,
            0.1027485723134968,
            -0.01908027217000394,
            -0.0002781818885628001,
            0.001767363960928619,
            -0.0006406147160907615,
            4.506997390240966e-05,
            6.986574490085956e-05,
            -4.465026107648197e-05,
            1.6317820479109265e-05,
            -4.255468577172639e-06,
            8.31298410742727e-07,
            -1.218894252729754e-07,
            1.3085581458363304e-08,
            -9.73596578956337e-10,
            4.490793287234613e-11,
            -9.674997028435572e-13,
        ],
    },
}

LN2 = Fraction(0xB17217F7D1CF79ABC9E3B39803F2F6AF40F343267298B62D8A0D175B8BAA, 1 << 240)
LOG2_E = Fraction(0x171547652B82FE1777D0FFDA0D23A7D11D6AEF551BAD2B4B1164A2CD9A342, 1 << 240)
LOG10_E = Fraction(0x6F2DEC549B9438CA9AADD557D699EE191F71A30122E4D1011D1F96A27BC7, 1 << 240)
LOG10_2 = Fraction(0x4D104D427DE7FBCC47C4ACD605BE48BC13569862A1E8F9A4C52F37935BE6, 1 << 240)
HALF_PI = Fraction(0x1921FB54442D18469898CC51701B839A252049C1114CF98E804177D4C7627, 1 << 240)
# 2 / pi to 1200 bits: enough for the argument reduction of the largest float64.
TWO_OVER_PI_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee882"
    "35f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f66"
    "9e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b",
    16,
)
LIMB_BITS = 24  # of the digits in which the reduction of huge angles counts: exact in float32
LIMBS = 50


def split(value: Fraction, kind, parts: int) -> list[float]:
    """``value`` as a sum of ``parts`` floats of type ``kind``, each the nearest to what the former left over."""
    pieces = []
    for _ in range(parts):
        pieces.append(float(kind(float(value))))
        value -= Fraction(pieces[-1])
    return pieces


def rounded_head(value: Fraction, bits: int) -> float:
    """``value`` cut to ``bits`` bits after the binary point."""
    return math.floor(value * (1 << bits)) / (1 << bits)


def horner(variable: str, coefficients: list[float]) -> str:
    """The source of Horner's rule in fused multiply-adds."""
    text = repr(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        text = f"fma({variable}, {text}, {c!r})"
    return text


def polynomial(name: str, coefficients: list[float], dtype: str) -> Callable:
    """A function ``name(t)``, unrolled; its source is shown to debuggers and to ``inspect``.

    Long ones have even and odd powers apart, because the two chains run side by side; for 8
    coefficients and fewer the squaring costs more than the latency.
    """
    if len(coefficients) > 8:
        even, odd = horner("z", coefficients[::2]), horner("z", coefficients[1::2])
        body = f"    z = t * t\n    return fma(t, {odd}, {even})\n"
    else:
        body = f"    return {horner('t', coefficients)}\n"
    made: Callable = late_text(f"def {name}(t):\n{body}", f"{name} {dtype}", {"fma": fma}, name)[0]
    return made


def log_tail_direct(f):
    """log(1 + f) - f for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, without a division: cheaper in float32."""
    return f * f * log_direct(f)


def log_tail_ratio(f):
    """log(1 + f) - f = s (z Q(z) - f), s = f / (2 + f), z = s**2: 7 coefficients where the direct series needs 20."""
    s = f / (f + 2.0)
    z = s * s
    return s * fma(z, log_ratio(z), -f)


def tanh_quotient_plain(m):
    """m / (m + 2). Over all of float32 tanh is within 2.485 ulp with it; the corrected one is a quarter slower."""
    return m / (m + 2.0)


def tanh_quotient_corrected(m):
    """m / (m + 2) = q, with what m + 2 loses put back to first order: 1 / (m + 2) = (1 - q) / 2. 2.5 -> 2.1 ulp."""
    d = m + 2.0
    q = m / d
    lost = where(m < 4.0, m - (d - 2.0), 0.0)  # exact up to 4; beyond, 1 - q is too small for it to matter
    return fma(-q * lost, fma(-0.5, q, 0.5), q)


# The ranges of the functions.
#   EXP_MAX       e**x / 2 overflows beyond, and 2**(n - 2) is a normal number up to here
#   EXP_MIN       e**x is 0 below
#   EXP_NORMAL    e**x and e**-x are normal numbers up to here
#   EXPM1_MAX     e**x overflows beyond, and 2**(n - 1) does not up to here
#   ERF_ONE       erf(x) = 1 from here on
#   ERFC_ZERO     erfc(x) = 0 from here on
#   ANGLE_MAX     up to here 2 x / pi is rounded to the right whole number, or nearly, and three parts of pi / 2 suffice
#   DIGITS        after the point in x 2 / pi: two significands, and how close floats come to multiples of pi / 2
RANGES = {
    "float32": {
        "EXP_MAX": 89.5,
        "EXP_MIN": -104.5,
        "EXP_NORMAL": 87.0,
        "EXPM1_MAX": 88.9,
        "ERF_ONE": 3.93,
        "ERFC_ZERO": 10.1,
        "ANGLE_MAX": 2.0**18,
        "DIGITS": 5,
    },
    "float64": {
        "EXP_MAX": 710.6,
        "EXP_MIN": -746.0,
        "EXP_NORMAL": 708.0,
        "EXPM1_MAX": 709.9,
        "ERF_ONE": 5.93,
        "ERFC_ZERO": 27.3,
        "ANGLE_MAX": 2.0**31,
        "DIGITS": 7,
    },
}


def format_constants(kind) -> dict[str, Any]:
    """What follows from the number of bits of significand and exponent."""
    info = np.finfo(kind)
    mantissa, bias = int(info.nmant), int(info.maxexp) - 1

    def bits(value: float) -> int:
        return int(np.asarray(value, kind).view(f"i{info.bits // 8}"))

    # x + ROUND leaves rint(x) in the low bits of the sum, |x| < 2**mantissa / 4: rounds and converts in one addition.
    magic = 1.5 * 2.0**mantissa
    return {
        "MANTISSA_BITS": mantissa,
        "EXPONENT_BIAS": bias,
        "SIGN_SHIFT": int(info.bits) - 1,
        "ROUND": magic,
        "ROUND_BITS": bits(magic),
        "SQRT_HALF_BITS": bits(math.sqrt(0.5)),
        "SMALLEST_BITS": bits(info.smallest_normal),
        "LARGEST_BITS": bits(info.max),
        "MAGNITUDE_BITS": int(np.iinfo(f"i{info.bits // 8}").max),
        "EXP_NORMAL_BITS": bits(RANGES[np.dtype(kind).name]["EXP_NORMAL"]),
        # A subnormal number times GROW is normal; ROUND_AND_GROW also takes off the exponent that this added.
        "SMALLEST_NORMAL": float(info.smallest_normal),
        "GROW": 2.0 ** (mantissa + 2),
        "ROUND_AND_GROW": magic + mantissa + 2,
        "TINY": 2.0 ** -(mantissa + 4),  # f(x) = x + O(x**2) is x below
        "BIG": 2.0 ** (mantissa + 4),  # 1 + x is x from here on
        "EXP2_MAX": bias + 2.0,
        "EXP2_MIN": -(bias + mantissa + 2.0),
        "EXPM1_MIN": -(mantissa + 3) * math.log(2),
        "TANH_ONE": (mantissa + 6) * math.log(2) / 2,
        "HUGE": 2.0 ** (bias - 3),
        "QUOTIENT_MAX": 2.0 ** (mantissa - 1),
    }


def split_constants(kind) -> dict[str, float]:
    """Constants of more digits than a float has, in two or three words."""
    table = {}
    for name, value in {
        "LN2": LN2,
        "LOG2E": LOG2_E,
        "LOG10E": LOG10_E,
        "PI": 2 * HALF_PI,
        "QUARTER_PI": HALF_PI / 2,
        "THIRD2": Fraction(2, 3),
    }.items():
        table[f"{name}_HI"], table[f"{name}_LO"] = split(value, kind, 2)
    table["HALF_PI_HI"], table["HALF_PI_MID"], table["HALF_PI_LO"] = split(HALF_PI, kind, 3)
    # The head has 11 spare bits, so that an exponent times it is exact.
    table["LOG10_2_HEAD"] = rounded_head(LOG10_2, int(np.finfo(kind).nmant) - 11)
    table["LOG10_2_TAIL"] = split(LOG10_2 - Fraction(table["LOG10_2_HEAD"]), kind, 1)[0]
    return table


def constants(kind) -> dict[str, Any]:
    """The constants of one float type, by the names that the scalar functions use."""
    ranges = RANGES[np.dtype(kind).name]
    mask = (1 << LIMB_BITS) - 1
    limbs = tuple((TWO_OVER_PI_BITS >> LIMB_BITS * (LIMBS - 1 - i)) & mask for i in range(LIMBS))
    return {
        **ranges,
        **format_constants(kind),
        **split_constants(kind),
        "LOG2_E": float(LOG2_E),
        "TWO_OVER_PI": float(1 / HALF_PI),
        "INF": math.inf,
        "NAN": math.nan,
        "SQRT2": math.sqrt(2),
        "LOG_PI": math.log(math.pi),
        "HALF_LOG_2PI_LESS_HALF": (math.log(2 * math.pi) - 1) / 2,
        "ASIN_NEAR": 0.545,
        "TAN_EIGHTH_PI": math.sqrt(2) - 1,
        "TAN_3_EIGHTH_PI": math.sqrt(2) + 1,
        "LIMB_BITS": LIMB_BITS,
        "LIMB_MASK": mask,
        "LIMB_BASE": 2.0**LIMB_BITS,
        "LOWEST_WEIGHT": 2.0 ** (-LIMB_BITS * ranges["DIGITS"]),
        "TWO_OVER_PI_LIMBS": (0, 0, *limbs),
    }


def erf_exponent_whole(a):
    """-log(1 - erf(a)), to relative precision at 0."""
    return fma(a, erf_log(a), a)


def erf_exponent_far(a):
    """The same, of 1 and more."""
    return erf_far(a)


def erf_joined_whole(a, value):
    """erf(a), as it came of its exponent."""
    return value


def erf_joined_near(a, value):
    """The same, but for numbers below 1."""
    return where(a < 1.0, fma(a, erf_near(a * a), a), value)


def by_dtype(kind) -> dict[str, Any]:
    """``BY_DTYPE`` of one float type."""
    dtype = np.dtype(kind).name
    tables = {**COEFFICIENTS[dtype], **SPECIAL_COEFFICIENTS[dtype], **BESSEL_COEFFICIENTS[dtype]}
    functions = {name: polynomial(name, c, dtype) for name, c in tables.items()}
    if kind is np.float32:
        functions.update(
            log_tail=log_tail_direct,
            tanh_quotient=tanh_quotient_plain,
            erf_exponent=erf_exponent_whole,
            erf_joined=erf_joined_whole,
        )
    else:
        functions.update(
            log_tail=log_tail_ratio,
            tanh_quotient=tanh_quotient_corrected,
            erf_exponent=erf_exponent_far,
            erf_joined=erf_joined_near,
        )
    return {**constants(kind), **functions}


BY_DTYPE: dict[str | None, dict[str, Any]] = {np.dtype(kind).name: by_dtype(kind) for kind in (np.float32, np.float64)}
log_direct, erf_log = BY_DTYPE["float32"]["log_direct"], BY_DTYPE["float32"]["erf_log"]
log_ratio, erf_near, erf_far = (BY_DTYPE["float64"][_name] for _name in ("log_ratio", "erf_near", "erf_far"))
