"""The walks of reductions: which layouts have one, and the keys by which floats are ordered as integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad import float32
from nbgrad.dispatch.lowerings import lowering_of
from nbgrad.dispatch.planned import planned_call
from nbgrad.kernels.cuda.accumulators import folds
from nbgrad.kernels.instantiate import instantiate
from nbgrad.kernels.monoids import MONOIDS, Monoid, add_carried, carried_total, merge_carried
from nbgrad.kernels.prims import numpy_prims
from nbgrad.kernels.templates import keys
from nbgrad.lowering.fold_walks import MANY, SHORT, FoldWalk, short_length, walk_of
from nbgrad.ops.core import OPS, reduction
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU


@pytest.mark.parametrize(
    "shape, strides, dims, expected",
    [
        ((3, 4), None, (1,), FoldWalk(False, 3, 4, 4)),
        ((3, 4), None, (0,), FoldWalk(True, 1, 0, 3, 4, 4)),
        ((3, 4), None, (0, 1), FoldWalk(False, 1, 0, 12)),
        ((4, 3), (1, 4), (0, 1), FoldWalk(False, 1, 0, 12)),
        ((4, 3), (1, 4), (0,), FoldWalk(False, 3, 4, 4)),
        ((4, 3), (1, 4), (1,), FoldWalk(True, 1, 0, 3, 4, 4)),
        ((2, 3, 4), None, (1,), FoldWalk(True, 2, 12, 3, 4, 4)),
        ((2, 3, 4), None, (0, 2), FoldWalk(False, 3, 4, 4, segments=2, segment_step=12)),
        ((2, 3, 4), None, (1, 2), FoldWalk(False, 2, 12, 12)),
        ((2, 3, 4, 5), None, (1, 3), None),
        ((3, 4), (8, 2), (1,), FoldWalk(True, 3, 8, 4, 2)),
        ((4,), (5,), (0,), FoldWalk(True, 1, 0, 4, 5)),
        ((300, 400), (800, 2), (1,), None),
    ],
)
def test_walk_of_a_layout(shape, strides, dims, expected):
    """Neighbouring dimensions merge, and what is left is rows, columns, a few elements with gaps, or needs a copy."""
    assert walk_of(layout_of(float32, shape, strides, CPU), dims) == expected


def test_expanded_dimension_is_a_factor():
    """A reduced dimension of stride 0 disappears from the walk where the reduction allows it."""
    layout = layout_of(float32, (7, 3), (0, 1), CPU)
    assert walk_of(layout, (0,), multiplies=True) == FoldWalk(False, 3, 1, 1, times=7)
    assert walk_of(layout, (0,), multiplies=False).times == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [True, False])
def test_keys_sort_as_floats_do(dtype, largest):
    """Integer keys are monotone, NaN of either sign has the greatest, and every number comes back."""
    constants = dict(keys.KEY_CONSTANTS[np.dtype(dtype).name])
    key, back = (
        instantiate(function, numpy_prims(dtype), constants)
        for function in ((keys.key_max, keys.float_of_max) if largest else (keys.key_min, keys.float_of_min))
    )
    info = np.finfo(dtype)
    numbers = np.array([-math.inf, info.min, -1, -info.tiny, -0.0, 0.0, info.smallest_subnormal, 2, info.max, math.inf], dtype)
    bits = numbers.view({4: np.int32, 8: np.int64}[info.dtype.itemsize])
    made = [int(key(b)) for b in bits]
    assert made == sorted(made, reverse=not largest) and len(set(made)) == len(made)
    np.testing.assert_array_equal([back(key(b)) for b in bits], numbers)
    nan = np.array([math.nan, -math.nan], dtype).view(bits.dtype)
    assert all(int(key(b)) > max(made) for b in nan)
    assert math.isnan(back(key(nan[0])))


def test_carried_sums_keep_what_addition_loses():
    """``total + carry`` is the exact sum of 1 and 2**-60, of an element or of another such sum; an infinite one is itself."""
    assert add_carried(1.0, 0.0, 2.0**-60) == merge_carried(1.0, 0.0, 2.0**-60, 0.0) == (1.0, 2.0**-60)
    assert carried_total(math.inf, math.nan) == math.inf


@pytest.mark.parametrize("name", [name for name, monoid in MONOIDS.items() if not monoid.indexed])
def test_monoids_are_monoids(name):
    """The identity changes nothing, and the order of the parentheses does not matter."""
    monoid, numbers = MONOIDS[name], (0, 1) if name in ("any", "all") else (-3, 0, 2)
    combine = instantiate(monoid.combine, numpy_prims("float64"))
    for x in numbers:
        assert combine(monoid.start("int64"), x) == combine(x, monoid.start("int64")) == x
        for y in numbers:
            for z in numbers:
                assert combine(combine(x, y), z) == combine(x, combine(y, z))


def farther(x, y):
    """The one farther from 0, of two as far the greater; NaN stays. No operator of Python's."""
    a, b = where(x < 0, -x, x), where(y < 0, -y, y)  # noqa: F821  (bound by instantiate)
    return where((b > a) | ((b == a) & (y > x)) | (y != y), y, x)  # noqa: F821


@pytest.fixture
def farthest(monkeypatch):
    """A reduction by a monoid that the library has not."""
    monkeypatch.setitem(MONOIDS, "farthest", Monoid("farthest", 0.0, farther))
    yield reduction("farthest", lambda x, dim=None, keepdim=False: x, monoid="farthest", doc="The number farthest from 0.")
    del OPS["farthest"]


def call_of(op):
    """The call of an operation that is not installed."""
    return planned_call(op, lowering_of(op)[1])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint8", "bool"])
def test_a_monoid_is_two_lines(farthest, dtype):
    """A function of two numbers and what changes nothing: rows, short rows and columns follow, in every dtype."""
    call, rng = call_of(farthest), np.random.default_rng(0)
    for shape in ((), (5,), (5000,), (3000, 3), (3, 3000), (2, 3, 4), (0, 3)):
        array = (40 * rng.normal(size=shape)).astype(dtype)
        for dim in (None, *range(len(shape))):
            line = np.concatenate([np.zeros((1, 1)), array.astype(float).reshape(1, -1)], 1) if dim is None else array.astype(float)
            low, high = (np.min(line, dim, initial=0.0), np.max(line, dim, initial=0.0))
            found = call(nbgrad.tensor(array), dim).numpy()
            np.testing.assert_array_equal(found.astype(float), np.where(-low > high, low, high))
            assert found.dtype == array.dtype


def test_a_monoid_of_real_numbers_refuses_complex_ones(farthest):
    """What is no operator may compare: complex numbers are refused on the CPU and on CUDA, NaN stays NaN."""
    with pytest.raises(nbgrad.DTypeError, match="^farthest: x is nbgrad.complex64, expected real numbers.*Hint"):
        call_of(farthest)(nbgrad.tensor([1j]))
    assert not folds(farthest, "complex64") and folds(farthest, "float32")
    assert math.isnan(call_of(farthest)(nbgrad.tensor([1.0, math.nan, -3.0])).item())


@pytest.mark.parametrize(
    "length, dtype",
    [
        *[(3, dtype) for dtype in ("float64", "int64", "bool", "float16", "complex64")],
        *[(length, "float32") for length in (2, 3, SHORT, SHORT + 1)],
    ],
)
def test_many_short_rows_are_what_each_of_them_is(length, dtype):
    """Rows that are taken side by side have the results of a few of them, whatever stands in one row, and at their end."""
    rng = np.random.default_rng(length)
    array = rng.integers(-3, 4, (MANY // length + 5, length)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        array += rng.normal(size=array.shape).astype(dtype)
        array[3, 1], array[7, 0], array[-1, -1], array[11] = np.nan, np.inf, -np.inf, -0.0
    names = ["sum", "prod", "any", "all"] + ["mean"] * (dtype not in ("int64", "bool")) + ["amax", "amin"] * (dtype != "complex64")
    for name in names:
        x = nbgrad.tensor(array)
        found = getattr(x, name)(1).numpy()
        parts = [getattr(nbgrad.tensor(array[low : low + 100]), name)(1).numpy() for low in range(0, len(array), 100)]
        np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-6 if dtype != "float16" else 1e-3)
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(np.concatenate(parts).real))


@pytest.mark.parametrize(
    "walk, expected",
    [
        (FoldWalk(False, MANY, 4, 4), 4),
        (FoldWalk(False, MANY, 5, 4), 0),
        (FoldWalk(False, 3, 4, 4), 0),
        (FoldWalk(True, 1, 0, 4, MANY, MANY), 0),
        (FoldWalk(False, MANY, SHORT + 1, SHORT + 1), 0),
        (FoldWalk(False, MANY, 4, 4, segments=2, segment_step=4 * MANY), 0),
    ],
)
def test_which_rows_are_short(walk, expected):
    """Those that are many, of few elements, and one behind the other."""
    assert short_length(walk) == expected
