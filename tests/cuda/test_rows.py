"""Softmax, its family and losses by class on a GPU, on the emulated device: against the CPU and NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.base.errors import DimError
from nbgrad.kernels.cuda.rows import row_shape
from nbgrad.lowering.cuda.losses import valid_mean_steps
from tests.cuda.lowered import memory_of, on_cuda, run_all

SHAPES = [((7,), 0), ((3, 1), 1), ((5, 17), 1), ((3, 1024), 1), ((2, 1027), 1), ((2, 70, 3), 1), ((40, 33), 0)]
SLOW = pytest.mark.slow
LONG = [((1, 8192), 1), ((1, 8193), 1), ((1, 20_000), 1)]


def numbers(shape, dtype="float32", seed=0, scale=3.0):
    """Normal numbers."""
    made = np.random.default_rng(seed).standard_normal(shape) * scale
    return nbgrad.tensor(made.astype(np.float32)).to(getattr(nbgrad, dtype))


def shares(x, dim):
    """Softmax, in float64."""
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def close(found, expected, dtype="float32"):
    """Within a few roundings."""
    eps = {"float32": 2.0**-20, "float64": 2.0**-49, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=eps, atol=eps / 4)


@pytest.mark.parametrize("shape, dim", [*SHAPES, *(pytest.param(*case, marks=SLOW) for case in LONG[1:]), LONG[0]], ids=str)
def test_softmax_and_its_cotangents(shape, dim):
    """Rows of a thread, a warp, a block, more than a block holds; columns."""
    x, g = numbers(shape), numbers(shape, seed=1)
    wide, cotangent = x.double().numpy(), g.double().numpy()
    p = shares(wide, dim)
    close(on_cuda("softmax", x, dim=dim), p)
    y = CALLS["softmax"](x, dim)
    shown = y.double().numpy()
    close(on_cuda("softmax_backward", g, y, dim=dim), (cotangent - (cotangent * shown).sum(dim, keepdims=True)) * shown)


@pytest.mark.parametrize("shape, dim", [((5, 17), 1), ((2, 70, 3), 1)], ids=str)
def test_logarithms(shape, dim):
    """log_softmax, its cotangent, logsumexp."""
    x, g = numbers(shape, seed=2), numbers(shape, seed=3)
    wide, cotangent = x.double().numpy(), g.double().numpy()
    close(on_cuda("log_softmax", x, dim=dim), np.log(shares(wide, dim)))
    close(on_cuda("logsumexp", x, dim=dim), np.log(np.exp(wide).sum(dim)))
    y = CALLS["log_softmax"](x, dim)
    expected = cotangent - np.exp(y.double().numpy()) * cotangent.sum(dim, keepdims=True)
    close(on_cuda("log_softmax_backward", g, y, dim=dim), expected)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_floats(dtype):
    """Half types are computed in float32, and rounded once."""
    x = numbers((3, 40), dtype, seed=6)
    close(on_cuda("softmax", x, dim=1), shares(x.double().numpy(), 1), dtype)


def test_infinities_and_nan_are_the_cpus():
    """A row of -inf, of +inf, of one of them, and of NaN."""
    inf, nan = np.inf, np.nan
    x = nbgrad.tensor(
        np.array([[-inf, -inf, -inf], [0, -inf, 1], [0, inf, 1], [inf, inf, 0], [0, nan, 1], [-inf, nan, inf]], np.float32)
    )
    for name in ("softmax", "log_softmax", "logsumexp"):
        found, expected = on_cuda(name, x, dim=1).numpy(), CALLS[name](x, 1).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(on_cuda(name, x.t(), dim=0).numpy(), expected.T, rtol=1e-6, err_msg=name)
    target, ones = nbgrad.tensor([0, 2, 1, 0, 0, 1]), nbgrad.ones(6)
    for name, given in (("cross_entropy_rows", (x, target)), ("cross_entropy_rows_backward", (ones, x, target))):
        expected = CALLS[name](*given, -100).numpy()
        np.testing.assert_allclose(on_cuda(name, *given, ignore_index=-100).numpy(), expected, rtol=1e-6, err_msg=name)


def test_operands_with_gaps_are_copied_first():
    """Transposed, sliced and expanded operands."""
    x = numbers((6, 10), seed=7)
    for y in (x.t(), x[::2, 1:8], x[0].expand(3, 10)):
        close(on_cuda("softmax", y, dim=1), shares(y.double().numpy(), 1))
    g = nbgrad.ones(1, 1).expand(6, 10)
    close(on_cuda("softmax_backward", g, CALLS["softmax"](x, 1), dim=1), np.zeros((6, 10)))


def test_rows_are_read_once_up_to_8192_scores():
    """Scores, and cotangents beside their shares; of float64 scores alone, and half as many cotangents."""
    for dtype in ("float32", "bfloat16", "float16"):
        for operands in (1, 2):
            assert row_shape(8192, (dtype,) * operands, "float32").held and row_shape(8191, (dtype,) * operands, "float32").held
    assert row_shape(8192, ("float64",), "float64").held and row_shape(4096, ("float64",) * 2, "float64").held
    assert not row_shape(8193, ("float32",) * 2, "float32").held and not row_shape(8193, ("float64",), "float64").held


def test_threads_in_any_order_and_single_loads_give_the_same_bits():
    """Neither the order of threads nor where memory lies changes a bit."""
    x = numbers((3, 1028), seed=8)
    from tests.cuda.lowered import launches

    (outs, steps), operands = launches("softmax", x, dim=1)
    expected = memory_of(run_all(outs, steps, operands)[0]).tobytes()
    singly = steps._replace(steps=tuple(step.single for step in steps.steps))
    for given, seed in ((steps, 1), (steps, 2), (singly, 0)):
        assert memory_of(run_all(outs, given, operands, seed)[0]).tobytes() == expected


# ---- losses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows, classes", [(1, 1), (5, 7), (300, 10), (2, 1100)])
def test_losses_by_class(rows, classes):
    """Rows, their cotangents, with ignored targets; cotangents one a row, or one for all."""
    x, random = numbers((rows, classes), seed=9), np.random.default_rng(9)
    target = random.integers(0, classes, rows)
    target[1::3] = -100
    target = nbgrad.tensor(target)
    for name in ("cross_entropy_rows", "nll_rows"):
        close(on_cuda(name, x, target, ignore_index=-100), CALLS[name](x.double(), target, -100).numpy())
    for g in (numbers((rows,), seed=10), nbgrad.full((1,), 0.25).expand(rows)):
        expected = CALLS["cross_entropy_rows_backward"](g.double(), x.double(), target, -100).numpy()
        close(on_cuda("cross_entropy_rows_backward", g, x, target, ignore_index=-100), expected)
        expected = CALLS["nll_rows_backward"](g, target, classes, -100).numpy()
        np.testing.assert_array_equal(on_cuda("nll_rows_backward", g, target, classes=classes, ignore_index=-100).numpy(), expected)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_losses_of_other_floats(dtype):
    """Scores of another dtype."""
    x, target = numbers((4, 30), dtype, seed=11), nbgrad.tensor([0, 29, 3, 3])
    expected = CALLS["cross_entropy_rows"](x.double(), target, -100).numpy()
    close(on_cuda("cross_entropy_rows", x, target, ignore_index=-100), expected, dtype)


def mean_of(losses, target, classes, divide=True):
    """What ``valid_mean`` gives."""
    outs, steps = valid_mean_steps((losses.layout, target.layout), {"classes": classes, "ignore_index": 2, "divide": divide})
    return run_all(outs, steps, [losses, target])[0].item()


@pytest.mark.parametrize("n", [1, 5, 257, 3000])
def test_means_over_rows_that_count(n):
    """The mean and the sum leave out what is ignored; the share of each row is the transpose."""
    losses, target = numbers((n,), seed=12), nbgrad.tensor(np.arange(n) % 4)
    counts = np.arange(n) % 4 != 2
    kept = losses.double().numpy()[counts]
    assert mean_of(losses, target, 4) == pytest.approx(kept.mean(), rel=1e-6)
    assert mean_of(losses, target, 4, False) == pytest.approx(kept.sum(), rel=1e-6, abs=1e-6)
    g = nbgrad.tensor(3.0)
    for divide in (False, True):
        found = on_cuda("valid_share", g, target, ignore_index=2, divide=divide)
        close(found, counts * 3.0 / (counts.sum() if divide else 1))


def test_a_target_that_is_no_class_is_told_of():
    """With its value and what was expected; rows that are ignored may hold anything; rows of such targets are NaN."""
    losses = numbers((3,))
    with pytest.raises(DimError, match=r"cross_entropy: a target, 9, is out of range: expected 0 to 4, or ignore_index \(2\)"):
        mean_of(losses, nbgrad.tensor([0, 9, 1]), 5)
    with pytest.raises(DimError, match="a target, -1,"):
        mean_of(losses, nbgrad.tensor([0, 1, -1]), 5)
    assert mean_of(losses, nbgrad.tensor([0, 2, 1]), 2) == pytest.approx((losses[0].item() + losses[2].item()) / 2)
    x, target = numbers((3, 5)), nbgrad.tensor([0, 9, -1])
    for name in ("cross_entropy_rows", "nll_rows"):
        assert on_cuda(name, x, target, ignore_index=-1).isnan().tolist() == [False, True, False]
