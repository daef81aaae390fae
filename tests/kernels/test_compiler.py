"""The compiler of kernels beside Numba: the same bits for everything that both know, and what is left to Numba."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

import nbgrad
from nbgrad import kernels
from nbgrad.base import config
from nbgrad.kernels import scalars, templates
from nbgrad.kernels.codegen import guard_functions, scalar_function
from nbgrad.kernels.cpu import build
from nbgrad.kernels.cpu.emit import lanes
from nbgrad.kernels.cpu.store import Loader, Store
from nbgrad.kernels.templates.elementwise import elementwise_loop
from nbgrad.kernels.templates.iterate import iterate
from nbgrad.kernels.templates.tiles import ADD_TERMS, in_lanes
from nbgrad.kernels.texts import run_text
from nbgrad.ops.expr import scalar, symbol
from tests.parts import alternating

KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
LOADER = Loader(Store(None))  # nothing from the disk: what is tested is compiled now
X, Y, C = symbol("x"), symbol("y"), symbol("c", True)
FORMULAS = {
    "exp": ((("x", False),), (scalar.exp(X),)),
    "tanh": ((("x", False),), (scalar.tanh(X),)),
    "sin": ((("x", False),), (scalar.sin(X),)),  # which has a loop for huge arguments, and a table
    "several": ((("x", False), ("y", False)), (scalar.log(X) * Y, -X / (Y + 1.0))),
    "chosen": ((("c", True), ("x", False)), (scalar.where(C, scalar.sigmoid(X), X * 0.5),)),
    "predicate": ((("x", False), ("y", False)), (X < Y,)),
    "pow": ((("x", False), ("y", False)), (scalar.pow(X, Y),)),  # which compares truth values and integers
    "lgamma": ((("x", False),), (scalar.lgamma(X),)),
}


def both_ways(program: build.Program, arrays: list[np.ndarray], outs: int, units: int, monkeypatch) -> list[list[bytes]]:
    """The bytes that a kernel writes into its first ``outs`` arrays: compiled by our compiler, which must know it, and by Numba."""
    build.text_of(program, "known")
    found = []
    for numba in (False, True):
        monkeypatch.setattr(config, "NUMBA", numba)
        (address,) = LOADER.load(f"test-{numba}-{program.name}-{program.dtype}", lambda: build.compile_program(program)).values()
        copies = [array.copy() for array in arrays]
        pointers = (ctypes.c_void_p * (1 + len(copies)))(None, *[array.ctypes.data for array in copies])
        scratch = (ctypes.c_void_p * 2)()
        KERNEL(address)(ctypes.byref(scratch), None, 0, units, pointers)
        found.append([np.where(np.isnan(array), 7, array).astype(array.dtype).tobytes() for array in copies[:outs]])
    monkeypatch.setattr(config, "NUMBA", False)
    return found


@pytest.mark.parametrize("dtype", alternating("float32", "float64"))
@pytest.mark.parametrize("name", FORMULAS)
def test_elementwise_kernels_have_numbas_bits(name, dtype, monkeypatch):
    """Of ordinary, huge and special numbers both compilers' kernels make the same."""
    params, results = FORMULAS[name]
    guards = guard_functions(name, params, results, dtype)
    outs = tuple("bool" if result.boolean else dtype for result in results)
    ins = tuple(("bool" if boolean else dtype, False) for _, boolean in params)
    functions = {"scalar": scalar_function(name, params, results, dtype), **guards}
    made = build.Program(name, elementwise_loop(outs, ins, 0, next(iter(guards), "")), dtype, tuple(functions.items()))
    x = np.concatenate([np.random.default_rng(0).normal(size=1500) * 40, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30]])
    arrays = [np.empty(x.size, out) for out in outs]
    arrays += [(x > 0) if boolean else np.roll(x, k).astype(dtype) for k, (_, boolean) in enumerate(params)]
    ours, numbas = both_ways(made, arrays, len(outs), x.size, monkeypatch)
    assert ours == numbas


TILED = """
def kernel(start, stop, args):
    for count in range(start, stop):
        moved = (stop - 1 - count) * LANES * SIZE
        add_terms(4, count, pointer_word(args, 1) + moved, DOWN, pointer_word(args, 2), LEAD, pointer_word(args, 3), ACROSS, 7)
        add_terms(1, count, pointer_word(args, 1) + 4 * DOWN, DOWN, pointer_word(args, 2), LEAD, pointer_word(args, 3), ACROSS, 7)
"""


@pytest.mark.parametrize(("dtype", "tile"), [("float32", "listed_tile"), ("float64", "tile")])
def test_tiles_add_products_and_have_numbas_bits(dtype, tile, monkeypatch):
    """Of every count of vectors that a tile may have, for four rows and for one, the sums are the product of matrices."""
    most, terms = 9, 7
    wide, size = most * lanes(np.dtype(dtype).itemsize), np.dtype(dtype).itemsize
    words = {"DOWN": wide * size, "LEAD": "pointer_word(args, 4)" if tile == "listed_tile" else wide * size, "ACROSS": terms * size}
    text = ADD_TERMS.replace("TILE", tile) + TILED
    for word, meaning in words.items():
        text = text.replace(word, str(meaning))
    scope = run_text(in_lanes(text, dtype), f"tiles {dtype}")
    rng = np.random.default_rng(0)
    out, base, weights = (rng.normal(size=shape).astype(dtype) for shape in ((5, wide), (terms, wide), (4, terms)))
    order = rng.permutation(terms)
    listed = np.stack([order * wide * size, order], 1).astype(np.int64)
    made = build.Program("tiles", scope["kernel"], dtype, (("add_terms", scope["add_terms"]),))
    (ours,), (numbas,) = both_ways(made, [out, base, weights, listed], 1, most + 1, monkeypatch)
    assert ours == numbas
    expected = out.astype(np.float64)
    for count in range(1, most + 1):
        width = count * (wide // most)
        expected[:4, wide - width :] += weights.astype(np.float64) @ base[:, :width]
        expected[4, :width] += weights[0].astype(np.float64) @ base[:, :width]
    np.testing.assert_allclose(np.frombuffer(ours, dtype).reshape(5, wide), expected, rtol=1e-5, atol=1e-5)


# ---- the language ------------------------------------------------------------------------------------------------------

# Bodies of ``for i in range(start, stop)``: integers m and n, floats x and y of dtype float32, results r (int64) and s (float64).
# Each says what it is about.
BODIES = {
    "loops of few trips": "for k in few(m & 15):\n    r[i] += k * n\nfor k in one_by_one(2, 5):\n    s[i] += k * x",
    "arithmetic of integers": "r[i] = m * 3 + n - (m ^ n) * 2 + (m & n) - (m | 5) + -n + ~m",
    "quotients round down": "r[i] = m // n + m % n * 1000",
    "quotients by a constant": "r[i] = m // 7 + m % 7 * 100 + n // -3 + n % -3 * 10",
    "by zero is zero": "r[i] = m // (n - n) + m % (n - n)",
    "shifts": "r[i] = (m << 3) + (m >> 2) + (n << (m & 7))",
    "an integer beside a float is float64": "s[i] = x * n + x / 3 + m / n",
    "floats of two widths": "s[i] = x * float64(y) + float64(x * y)",
    "a float is never -0 - x": "s[i] = -x * 0.0",
    "conversions": "s[i] = int64(x * 100.0) + float(m) + int(y) + int8(m * 50) + uint8(n * 70)",
    "truth values in sums": "r[i] = (x < y) + (m == n) * 2",
    "comparisons of more than two": "r[i] = 1 if -1.0 < x < 1.0 else 0",
    "NaN is unequal to itself": "r[i] = (x != x) + 2 * (x == x) + 4 * (x < y) + 8 * (not x >= y)",
    "the first of equal extrema": "s[i] = min(x, y) + 2.0 * max(x, y) + min(m, n, 3) + max(m, n)",
    "and, or, not": "r[i] = (m > 0 and n > 0) + 2 * (m > 2 or n > 2) + 4 * (not m > 1)",
    "what and guards is not computed": "r[i] = 1 if n > 0 and table[n & 3] > 2 else 0",
    "either of two kinds": "s[i] = m if x < y else x",
    "branches": "if m > 3:\n    r[i] = 1\nelif n > 3:\n    r[i] = 2\nelse:\n    r[i] = 3",
    "a variable that becomes a float": "t = 0\nfor k in range(4):\n    t = t + x * k\ns[i] = t",
    "a variable of a loop, read behind it": "for k in range(m & 7):\n    last = k + n\nr[i] = last if (m & 7) > 0 else 0",
    "while, break, continue": (
        "c = 0\nk = m\nwhile k < 40:\n    k += 3\n    if k % 2 == 0:\n        continue\n"
        "    if c > 6:\n        break\n    c += k\nr[i] = c"
    ),
    "ranges": (
        "c = 0\nfor k in range(m, -5, -2):\n    c += k\nfor k in range(n, 30, 4):\n    c += k * 2\n"
        "for k in range(3, m):\n    c ^= k\nr[i] = c"
    ),
    "a range whose step is not known": "c = 0\nfor k in range(m, n, 2 if m < n else -3):\n    c += k\nr[i] = c",
    "tuples": "a, b = m, x\na, c = n + a, a\nr[i] = a + c\ns[i] = b",
    "several results": "lo, hi = ordered(m, n)\nr[i] = lo * 100 + hi",
    "a function with two returns": "s[i] = clipped(x) + clipped(y * 3.0)",
    "a function that changes its operands": "r[i] = collatz(m & 63)",
    "a table": "r[i] = table[m & 3] + TABLE[n & 3]",
    "primitives": "s[i] = fma(x, y, x) + copysign(x, y) + where(x < y, x, y) + fabs(x) + floor(y) + rint(x * 3.0) + sqrt(fabs(y))",
    "bits": "r[i] = widen(iand(ibits(x), 255)) + widen(iadd(ishr(ibits(y), 23), 1)) + widen(to_int(trunc(x)))",
    "constants of the dtype": "s[i] = x * 0.1 + 2.0**-3 + 1.0 / 3.0 + INF * 0.0",
    "memory of its own": "w = at_int64(stack(64), 0)\nfor k in range(8):\n    w[k] = m * k\nw[2] += n\nr[i] = w[2] + w[7]",
}
HELPERS = """
TABLE = (2, 3, 5, 7)

def ordered(a, b):
    return (a, b) if a < b else (b, a)

def clipped(v):
    if v > 1.0:
        return v * 0.5
    if v < -1.0:
        return v
    return v + v

def collatz(k):
    steps = 0
    while k > 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps += 1
    return steps
"""
HEAD = """
def kernel(start, stop, args):
    r, s = p_int64(args, 1), p_float64(args, 2)
    ms, ns, xs, ys = p_int32(args, 3), p_int8(args, 4), p_float32(args, 5), p_float32(args, 6)
    table = p_int64(args, 7)
    for i in range(start, stop):
        m, n, x, y = ms[i], ns[i], xs[i], ys[i]
"""


def written(body: str, name: str) -> build.Program:
    """A kernel with a body of BODIES."""
    text = HELPERS + HEAD + "".join(f"        {line}\n" for line in body.split("\n"))
    scope = run_text(text, f"test of the compiler: {name}")
    return build.Program("".join(c if c.isalnum() else "_" for c in name), scope["kernel"], "float32", (("INF", float("inf")),))


@pytest.mark.parametrize("name", BODIES)
def test_the_language_means_what_numba_makes_of_it(name, monkeypatch):
    """Each construct gives Numba's bits, for numbers of both signs, zeros, infinities and NaN."""
    rng, count = np.random.default_rng(1), 400
    x, y = (rng.normal(size=count).astype("float32") * 3 for _ in range(2))
    for k, odd in enumerate((0.0, -0.0, 1.0, -1.0)):
        x[k::40], y[k + 3 :: 31] = odd, odd
    if name not in ("conversions", "bits"):  # what a NaN is as an integer nobody says
        x[5::57], y[7::43], y[9::91] = np.nan, np.inf, np.nan
    m, n = rng.integers(-9, 60, count).astype("int32"), rng.integers(-9, 9, count).astype("int8")
    n[n == 0] = 3
    arrays = [np.zeros(count, "int64"), np.zeros(count), m, n, x, y, np.array([4, 1, 3, 2])]
    ours, numbas = both_ways(written(BODIES[name], name), arrays, 2, count, monkeypatch)
    assert ours == numbas


@pytest.mark.parametrize(
    "body, what",
    [
        ("for k in (1, 2):\n    r[i] = k", "for over"),
        ("r[i] = [m, n][0]", "List"),
        ("r[i] = ordered(b=m, a=n)[0]", "names or stars"),
        ("r[i] = x[0]", "an element of"),
        ("r[i] = m ** n", "[*][*] of"),
        ("r[i] = unheard_of(m)", "the name unheard_of"),
    ],
)
def test_what_the_compiler_does_not_know_is_left_to_numba(body, what):
    """It is refused in words, before anything is compiled."""
    with pytest.raises(build.Refused, match=what):
        build.text_of(written(body, f"refused {body}"), "refused")


def test_numba_compiles_what_is_refused():
    """A kernel that the compiler refuses runs all the same."""
    made = written("for k in (m + 0, n + 0):\n    r[i] += k", "by Numba")
    with pytest.raises(build.Refused):
        build.text_of(made, "refused")
    (address,) = LOADER.load("test-left-to-numba", lambda: build.compile_program(made)).values()
    r, m, n = np.zeros(3, "int64"), np.arange(3, dtype="int32"), np.full(3, 5, "int8")
    pointers = (ctypes.c_void_p * 5)(None, r.ctypes.data, None, m.ctypes.data, n.ctypes.data)
    KERNEL(address)(ctypes.byref((ctypes.c_void_p * 2)()), None, 0, 3, pointers)
    assert r.tolist() == [5, 6, 7]


def test_llvm_is_told_of_loops():
    """Of few trips as kernels say it, and of loops around others; of plain loops nothing."""
    body = "for k in few(m):\n    r[i] += k\nfor k in one_by_one(m):\n    r[i] += k\nfor k in range(m):\n    r[i] += k"
    text = build.text_of(written(body, "told"), "told")
    ways_back = [line for line in text.splitlines() if "!llvm.loop" in line]
    assert len(ways_back) == len(set(ways_back)) == 3  # the loop around them, and two of three
    assert text.count('"llvm.loop.interleave.count", i32 1') == text.count('"llvm.loop.vectorize.enable", i1 0') == 1
    assert text.count('"llvm.loop.unroll.runtime.disable"') == 1


@pytest.mark.parametrize(
    "body, written_out",
    [
        ("for _ in range(6):\n    total = total * 3 + m", True),
        ("for _ in range(64):\n    total = total * 3 + m", True),
        ("for _ in range(65):\n    total = total * 3 + m", False),  # too many
        ("for _ in range(n):\n    total = total * 3 + m", False),  # nobody knows how many
        ("for k in range(6):\n    total = total * 3 + r[k]", False),  # of what is in memory vectors are made
        ("for k in range(6):\n    r[k] += total", False),
        ("for _ in few(6):\n    total = total * 3 + m", False),  # as the kernel wishes
        ("for _ in range(6):\n    if total > 5:\n        break\n    total = total * 3 + m", False),
        ("for _ in range(6):\n    for _ in range(n):\n        total = total * 3 + m", False),
    ],
)
def test_series_are_written_out(body, written_out):
    """Loops of a few trips, whose number is known, over no memory: NOTE [Series]."""
    text = build.text_of(written(f"total = 0\n{body}\nr[i] = total", f"series {body}"), "series")
    assert text.count('"llvm.loop.unroll.full"') == written_out


def test_what_is_inlined_into_the_iterator_stands_in_one_place():
    """Each loop of it takes LLVM long, and the first operation with strides waits for it."""
    text = build.text_of(build.Program("iteration", iterate, None), "iteration")
    assert text.count("store i8 ") == 1


@pytest.mark.parametrize("package", [kernels, templates], ids=lambda package: package.__name__)
def test_no_constant_of_a_dtype_hides_a_name_of_a_kernels_module(package):
    """Free names are looked for among a dtype's constants (``TINY``) first: in a kernel a number of that name would be another."""
    constants = {name for names in scalars.BY_DTYPE.values() for name in names}
    modules = [import_module(f"{package.__name__}.{each.name}") for each in iter_modules(package.__path__)]
    hidden = {module.__name__: sorted(constants & set(vars(module))) for module in modules if not holds_scalars(module)}
    assert {name: names for name, names in hidden.items() if names} == {}


def holds_scalars(module):
    """Whether a module's functions are of numbers: the constants are theirs."""
    return module.__name__.startswith(build.SHARED)


def test_two_texts_under_one_name_are_two_functions():
    """A kernel is compiled from its own text, whatever another one of that name and label said."""
    made = [written(body, "twice the same name") for body in ("r[i] = m + 1234567", "r[i] = m - 7654321")]
    texts = [build.text_of(program, "same") for program in made]
    assert "1234567" in texts[0] and "7654321" in texts[1]


# ---- kernels of the package --------------------------------------------------------------------------------------------

PROGRAM = """
import hashlib, sys, numpy as np, nbgrad as T
numbers = np.random.default_rng(0).normal(size=1000).astype("float32")
x, v, i = T.from_numpy(numbers[:437].reshape(19, 23)), T.from_numpy(numbers), T.from_numpy(np.arange(1000) % 13)
z = T.from_numpy((numbers[:100] + 1j * numbers[100:200]).reshape(10, 10))
seen = hashlib.sha256()
for y in [CALLS]:
    y = T.view_as_real(y.resolve_conj()) if y.is_complex() else y
    seen.update(y.contiguous().reshape(-1).view(T.uint8).numpy().tobytes())
print(seen.hexdigest(), T.cache.info().compiled, "numba" in sys.modules)
"""
CALLS = {
    "sums": "x.sum(1), x.sum(0), x.mean(), x.std(0), (x > 0).sum(), i.prod(), v.norm(), v.nansum(), v.var()",
    "extrema": "x.amax(1), x.argmax(0), x.all(1), x.any(0)",
    "scans": "v.cumsum(0), x.cumprod(1), v.cummax(0)[1]",
    "orders": "v.sort()[1], v.topk(5)[0], v.median(), v.kthvalue(7)[0], i.bincount(), i.unique(), T.isin(i, i[:3])",
    "rows": "x.softmax(1), x.softmax(0), x.log_softmax(1), x.logsumexp(0), T.cdist(x, x), T.nn.functional.cross_entropy(x, i[:19])",
    "indices": "x.gather(1, i[:38].view(19, 2)), x.index_select(0, i[:5]), T.zeros(13).scatter_add(0, i, v)",
    "copies": "T.zeros(13).index_add(0, i, v), T.cat([x, x]), x.t() + x.t(), x.triu(), x.repeat(2, 2)",
    "dtypes": "x.to(T.bfloat16) + 1, x.to(T.float16).exp(), i // 7 + i % 5",
    "complex numbers": "z * z / (z + 1), z.exp(), z.sqrt(), z.sum(0)",
    "decompositions": "T.linalg.lu(x[:9, :9])[1], T.linalg.qr(x[:9, :9])[1], T.linalg.det(x[:5, :5])",
    "draws": "T.rand(50), T.randn(50), T.randperm(20), T.nn.functional.layer_norm(x, (23,))",
}


@pytest.mark.early
@pytest.mark.part(11, 10)
@pytest.mark.parametrize("name", CALLS)
def test_kernels_of_all_templates_have_numbas_bits_and_need_no_numba(name, tmp_path):
    """Reductions, scans, sorts, indices, decompositions, draws and half types, with nothing on the disk: the same by both."""
    found = []
    for numba in ("0", "1"):
        environment = {**os.environ, "NBGRAD_CACHE_DIR": str(tmp_path / numba), "NBGRAD_NUMBA": numba}
        environment["PYTHONPATH"] = str(Path(nbgrad.__file__).parent.parent)
        program = PROGRAM.replace("CALLS", CALLS[name])
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, env=environment)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    ours, numbas = found
    assert ours[0] == numbas[0]
    assert int(ours[1]) >= 3 and ours[2] == "False" and numbas[2] == "True"


@pytest.mark.parametrize("apart", [False, True])
def test_pointers_that_share_no_memory(apart):
    """LLVM is told so of each access, and then compares no addresses."""
    loop = elementwise_loop(("float32",), (("float32", False), ("float32", True)), by_rows=True)
    function = scalar_function("sum", (("x", False), ("y", False)), (X + Y,), "float32")
    program = build.Program("sum", loop, "float32", (("scalar", function),), False, apart)
    assert ("!noalias" in build.text_of(program, "kernel")) is apart
