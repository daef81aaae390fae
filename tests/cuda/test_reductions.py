"""Reductions on a GPU, from their lowerings to their kernels, on the emulated device: against the CPU and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.base.dtypes import dtype_of
from nbgrad.dispatch.lowerings import FOLD
from nbgrad.kernels.cuda.reductions import MAX_PARTIALS
from nbgrad.lowering.cuda.registry import CUDA_LOWERINGS
from nbgrad.ops.core import OPS
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU
from tests.cuda.lowered import launches, memory_of, on_cuda as lowered, run_all

SUMS = ("sum", "mean", "norm1", "norm2", "sum_of_numbers", "variance", "deviation")
EXACT = ("amax", "amin", "any", "all", "count_nonzero")
RULES = {
    "variance": lambda x, dims: x.var(dims, ddof=1),
    "deviation": lambda x, dims: x.std(dims, ddof=1),
    "sum": np.sum,
    "mean": np.mean,
    "sum_of_numbers": np.nansum,
    "norm1": lambda x, dims: np.abs(x).sum(dims),
    "norm2": lambda x, dims: np.sqrt((x * x).sum(dims)),
}


SLOW = pytest.mark.slow


def steps_of(name, *tensors, **attributes):
    """``(results' layouts, Steps)`` of a call."""
    return launches(name, *tensors, **attributes)[0]


def bits(x):
    """A tensor's dtype, shape and elements, bit for bit."""
    return x.dtype, x.shape, memory_of(x.contiguous()).tobytes()


def numbers(shape, dtype="float32", seed=0):
    """Normal numbers; small integers, of which many are 0."""
    rng = np.random.default_rng(seed)
    if dtype_of(dtype).is_complex:
        return nbgrad.tensor((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))
    if not dtype_of(dtype).is_floating_point:
        return nbgrad.tensor(rng.integers(0, 5, shape).astype(np.int64)).to(getattr(nbgrad, dtype))
    return nbgrad.tensor(rng.standard_normal(shape).astype(np.float32)).to(getattr(nbgrad, dtype))


def extra(name):
    return {"correction": 1} if name in ("variance", "deviation") else {}  # (the others have defaults)


def close(found, expected, x):
    """Within a rounding or two of the result's dtype, of numbers as large as those that were added."""
    eps = {"float32": 2.0**-22, "float64": 2.0**-50, "float16": 2.0**-10, "bfloat16": 2.0**-7}[found.dtype.name]
    size = np.abs(x.double().numpy()).mean() if x.numel() else 0.0
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=eps, atol=eps * size / 8)


# Rows of a lane less and more than a vector, a warp, a block; columns; segments; one result; what must be copied.
CASES = [
    ((7,), (0,)), ((1,), (0,)), ((), ()), ((3, 1), (1,)), ((3, 17), (1,)), ((2, 1023), (1,)), ((2, 1025), (1,)), ((4097,), (0,)),
    ((3, 8192), (1,)), ((9, 33), (0,)), ((600, 31), (0,)), ((2, 70, 5), (1,)), ((3, 4, 9), (0, 2)), ((2, 3, 1030), (0, 2)),
    ((2, 3, 4, 5), (0, 2)),
]  # fmt: skip


@pytest.mark.parametrize("shape, dims", CASES, ids=str)
def test_sums(shape, dims):
    """Sums along any dimensions are those of NumPy in float64, to a rounding."""
    x = numbers(shape)
    for name in ("sum", "variance") if np.prod([shape[d] for d in dims]) > 1 else ("sum",):
        expected = RULES[name](x.double().numpy(), dims)
        close(lowered(name, x, dim=dims, **extra(name)), expected, x)


@pytest.mark.parametrize("shape, dim", [((2, 40), 1), ((2, 1031), 1), ((1, 9001), 1), ((300, 5), 0)], ids=str)
def test_variances_far_from_zero(shape, dim):
    """Rows that are held, longer ones, and columns, around a mean of few digits; of equal elements it is 0."""
    x = numbers(shape, seed=14) + 1000.0
    expected = x.double().numpy().var(dim, ddof=1)
    found = lowered("variance", x, dim=(dim,), correction=1).double().numpy()
    np.testing.assert_allclose(found, expected, rtol=2.0**-21)
    for value in (7.3, 3e38):
        equal = nbgrad.full(shape, value)
        assert lowered("variance", equal, dim=(dim,), correction=1).abs().max().item() == 0.0


@pytest.mark.parametrize("dtype, n", [("float32", 15), ("float16", 23)])
def test_rows_that_leave_more_elements_than_they_have_threads(dtype, n):
    """A short row has two threads, and behind its last vector three elements, or seven: none is left out, wherever it stands."""
    x = nbgrad.eye(n).to(getattr(nbgrad, dtype))
    assert memory_of(lowered("sum", x, dim=(1,))).tolist() == [1.0] * n
    assert memory_of(lowered("argmax", x, dim=1)).tolist() == list(range(n))


@pytest.mark.parametrize("shape, dims", CASES, ids=str)
def test_extrema_are_the_cpus(shape, dims):
    """An extremum of the same elements has the CPU's bits."""
    x = numbers(shape, seed=1)
    assert bits(lowered("amax", x, dim=dims)) == bits(CALLS["amax"](x, dims))
    if len(dims) == 1:
        assert bits(lowered("argmin", x, dim=dims[0])) == bits(CALLS["argmin"](x, dims[0]))


@pytest.mark.parametrize("name", SUMS)
def test_every_sum(name):
    """All operations that fold sums, over rows, columns and all elements."""
    x = numbers((5, 40), seed=2)
    for dims in ((0,), (1,), (0, 1)):
        close(lowered(name, x, dim=dims, keepdim=True, **extra(name)), RULES[name](x.double().numpy(), dims).reshape(
            [1 if d in dims else n for d, n in enumerate(x.shape)]), x)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_sums_of_other_floats(dtype):
    """Half types are added in float32, and rounded once."""
    x = numbers((3, 300), dtype, seed=3)
    for name in ("sum", "variance"):
        close(lowered(name, x, dim=1, **extra(name)), RULES[name](x.double().numpy(), 1), x)


@pytest.mark.parametrize("dtype", ["bool", "int8", *[pytest.param(d, marks=SLOW) for d in ("uint8", "int16", "int32", "int64")]])
def test_integers_are_the_cpus(dtype):
    """Integers and truth values: sums in int64, extrema, counts and places as on the CPU."""
    x = numbers((4, 70), dtype, seed=4)
    for name in ("sum", "prod", "amax", *EXACT):
        dims = 1 if name == "prod" else (0,)
        assert bits(lowered(name, x, dim=dims)) == bits(CALLS[name](x, dims)), name
    assert bits(lowered("argmax", x, dim=1)) == bits(CALLS["argmax"](x, 1))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    """Sums and products by parts; truth of complex numbers."""
    x = numbers((3, 50), dtype, seed=5)
    wide = x.numpy().astype(np.complex128)
    for name, expected in (("sum", wide.sum(1)), ("mean", wide.mean(1)), ("prod", wide[:, :9].prod(1))):
        given = x[:, :9] if name == "prod" else x
        np.testing.assert_allclose(lowered(name, given, dim=1).numpy(), expected, rtol=2e-6 if dtype == "complex64" else 1e-14)
    assert bits(lowered("any", x, dim=1)) == bits(CALLS["any"](x, 1))


def odd_layouts():
    """Tensors that are not contiguous, and dimensions to reduce."""
    x = numbers((6, 10, 14), seed=6)
    return {
        "transposed": (x.transpose(0, 2), (0,)),
        "inner of a transposed": (x.transpose(0, 2), (2,)),
        "sliced": (x[::2, 1:, 3:], (1,)),
        "sliced rows": (x[:, :, ::2], (2,)),
        "expanded": (x[0].expand(4, 10, 14), (0, 1)),
        "expanded columns": (x[0, 0].expand(5, 14), (0,)),
        "one number": (x[0, 0, :1].expand(30, 20), (0,)),
        "diagonal": (x[0].diagonal(), (0,)),
        "between": (x.permute(1, 0, 2), (0, 2)),
        "flipped segments": (x[:, 1:5].permute(1, 2, 0), (1,)),
    }


@pytest.mark.parametrize("which", sorted(odd_layouts()))
def test_layouts(which):
    """Whatever the strides, the elements are those that the shape says, and so are their places."""
    x, dims = odd_layouts()[which]
    close(lowered("sum", x, dim=dims), x.double().numpy().sum(dims), x)
    assert bits(lowered("amin", x, dim=dims)) == bits(CALLS["amin"](x, dims))
    assert bits(lowered("argmax", x)) == bits(CALLS["argmax"](x))
    assert bits(lowered("argmax", x, dim=dims[0])) == bits(CALLS["argmax"](x, dims[0]))


def test_lazy_negation_is_seen():
    """An operand that is lazily conjugated is copied first."""
    x = numbers((3, 8), "complex64", seed=7)
    np.testing.assert_allclose(lowered("sum", x.conj(), dim=1).numpy(), x.numpy().conj().sum(1), rtol=1e-5)


def test_special_values():
    """NaN wins, ties are the first one's, infinities stay, and what has none of them stays exact."""
    rows = [[1, np.nan, np.nan, 7], [2, 5, 5, 2], [np.inf, -np.inf, 0, 0], [-np.inf] * 4, [-0.0, 0.0, -0.0, 0.0]]
    x = nbgrad.tensor(np.array(rows, np.float32))
    for name in ("amax", "amin"):
        found, expected = lowered(name, x, dim=1), CALLS[name](x, 1)
        assert bits(found[1:]) == bits(expected[1:]) and found[0].isnan(), name
    for name in ("argmax", "argmin"):
        assert bits(lowered(name, x, dim=1)) == bits(CALLS[name](x, 1)), name
    np.testing.assert_array_equal(lowered("sum", x, dim=1).numpy(), CALLS["sum"](x, 1).numpy())
    constant = nbgrad.full((3, 700), 0.1)
    assert not lowered("variance", constant, dim=1, correction=0).any()


def test_nothing_to_reduce():
    """Of no elements the sum is 0, the mean and the variance are NaN; no results are no launches."""
    x = nbgrad.zeros(3, 0)
    np.testing.assert_array_equal(lowered("sum", x, dim=1).numpy(), np.zeros(3, np.float32))
    assert lowered("mean", x, dim=1).isnan().all() and lowered("variance", x, dim=1, correction=1).isnan().all()
    assert lowered("sum", x, dim=0).shape == (0,) and steps_of("sum", x, dim=0)[1].steps == ()
    with pytest.raises(nbgrad.DimError, match="no extremum"):
        steps_of("amax", x, dim=1)


def test_a_sum_does_not_depend_on_alignment_or_on_the_order_of_threads():
    """Memory that begins anywhere, and any order of threads, give the same bits: NOTE [Single loads]."""
    x = numbers((5001,), seed=8)
    outs, steps = steps_of("sum", x)
    expected = bits(lowered("sum", x))
    assert all(step.single is not None for step in steps.steps[:1])
    assert {bits(lowered("sum", x, seed=seed)) for seed in (1, 2)} == {expected}
    singly = steps._replace(steps=tuple(step.single or step for step in steps.steps))
    assert bits(run_all(outs, singly, [x])[0]) == expected


def test_trace_and_sums_over_broadcast_dimensions():
    """What is declared without a monoid but folds one."""
    x = numbers((20, 30), seed=9)
    close(lowered("trace", x), np.trace(x.double().numpy()), x)
    close(lowered("sum_over", x, shape=(30,)), x.double().numpy().sum(0), x)
    close(lowered("sum_over", x, shape=(20, 1)), x.double().numpy().sum(1, keepdims=True), x)
    assert bits(lowered("sum_over", x, shape=(20, 30))) == bits(x)


@pytest.mark.parametrize("name", ["sum", "argmax", "variance"])
@pytest.mark.parametrize("shape, dims", [((2**31 + 1,), (0,)), ((2**21, 2**11), (1,)), ((70_000, 3, 70), (1,)), ((3, 2**31), (0,))])
def test_grids_of_large_operands_stay_within_limits(name, shape, dims):
    """More than 2**31 elements, or more planes than a grid may have, are launched all the same."""
    layout, op = layout_of(nbgrad.float32, shape, None, CPU), OPS[name]
    attributes = {"dim": dims[0] if name == "argmax" else dims, "keepdim": False, "dtype": None, **extra(name)}
    function, _ = CUDA_LOWERINGS.get(name) or CUDA_LOWERINGS[FOLD]
    _, steps = function(op, (layout,), attributes)
    for step in steps.steps:
        x, y, z = (*step.grid, 1, 1)[:3]
        assert 0 < x < 2**31 and 0 < y <= 65535 and 0 < z <= 65535
    assert steps.workspace < 2**31 * 5 and len(steps.steps) <= 4 and MAX_PARTIALS <= 65535
