"""Layer, group and root-mean-square norms on a GPU: kernels on the emulated device against the CPU in float64; whole calls, in a
child or on hardware, against the CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.kernels.cuda.standardise import held_row
from nbgrad.kernels.templates.standardise import Rows
from nbgrad.nn import functional as F
from tests.cuda.lowered import launches, memory_of, on_cuda, run_all

from .emulation import on_gpus

SLOW = pytest.mark.slow
LENGTHS = [1, 2, 7, 33, 64, 768, pytest.param(1031, marks=SLOW), pytest.param(4096, marks=SLOW), pytest.param(5001, marks=SLOW)]
ROUNDING = {"float32": 2.0**-21, "float64": 2.0**-49, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def numbers(shape, dtype="float32", seed=0, offset=0.0):
    """Normal numbers."""
    made = np.random.default_rng(seed).standard_normal(shape) + offset
    return nbgrad.tensor(made.astype(np.float32)).to(getattr(nbgrad, dtype))


def close(found, expected, dtype="float32"):
    """Within a few roundings of the largest."""
    want = expected.double().numpy()
    most = np.abs(want).max(initial=0.0)
    np.testing.assert_allclose(found.double().numpy(), want, rtol=0, atol=4 * ROUNDING[dtype] * max(most, 1.0))


def compare(name, *operands, dtype="float32", **attributes):
    """The kernel's results, sums of parts added up, against the CPU's of float64."""
    found = on_cuda(name, *operands, **attributes)
    wide = CALLS[name](*(x.double() for x in operands), *attributes.values())
    if not isinstance(found, tuple):
        return close(found, wide, dtype)
    close(found[0], wide[0], dtype)
    for one, other in zip(found[1:], wide[1:]):
        assert one.dtype is nbgrad.float64 if dtype == "float64" else one.dtype is nbgrad.float32
        close(one.sum(0), other.sum(0), "float32" if dtype != "float64" else dtype)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_and_all_their_cotangents(n, centred):
    """Rows of a thread, of a warp, of a block; centred ones far from zero, whose mean has more digits than a float."""
    x, g = numbers((3, n), seed=1, offset=100.0 if centred else 0.0), numbers((3, n), seed=2)
    weight, bias = numbers((n,), seed=3), numbers((n,), seed=4)
    how = {"count": 1, "eps": 1e-3, "groups": None, "centred": centred}
    compare("standardise", x, **how)
    compare("standardise_backward", g, x, **how)
    compare("standardise_weighted", x, weight, **how)
    compare("standardise_affine", x, weight, bias, **how)
    for biased in (True, False):
        compare("standardise_cotangents", g, x, weight, **how, biased=biased)


@pytest.mark.parametrize("dtype, weights", [("float64", "float64"), ("float16", "float16"), ("bfloat16", "float32")])
def test_other_floats_are_rounded_once(dtype, weights):
    """Half types are computed in float32, as are their sums; a weight may be wider than the rows."""
    x, g = numbers((5, 40), dtype, seed=5), numbers((5, 40), dtype, seed=6)
    weight, bias = numbers((40,), weights, seed=7), numbers((40,), weights, seed=8)
    how = {"count": 1, "eps": 1e-5, "groups": None, "centred": True}
    compare("standardise_affine", x, weight, bias, dtype=dtype, **how)
    compare("standardise_cotangents", g, x, weight, dtype=dtype, **how, biased=True)


@pytest.mark.parametrize("samples", [1, 17, 700])
def test_sums_of_weights_are_added_in_parts(samples):
    """Of one sample, and of more than all blocks have at once; also those of groups without a channel of several elements."""
    x, g, weight = numbers((samples, 24), seed=9), numbers((samples, 24), seed=10), numbers((24,), seed=11)
    for groups in (None, 3):
        how = {"count": 1, "eps": 1e-3, "groups": groups, "centred": True, "biased": True}
        (outs, _), _ = launches("standardise_cotangents", g, x, weight, **how)
        assert outs[1].shape[0] <= 1 + samples // 2 or samples == 1
        compare("standardise_cotangents", g, x, weight, **how)


@pytest.mark.parametrize("shape, groups", [((3, 8, 5), 2), ((3, 8, 4), 4), ((2, 6, 1, 7), 6), ((5, 8), 2), ((2, 4, 3, 3), 1)])
def test_weights_of_channels(shape, groups):
    """Vectors within a channel, vectors across channels, channels of one element."""
    x, weight, bias = numbers(shape, seed=12), numbers(shape[1:2], seed=13), numbers(shape[1:2], seed=14)
    how = {"count": len(shape) - 1, "eps": 1e-3, "groups": groups, "centred": True}
    compare("standardise_affine", x, weight, bias, **how)
    compare("standardise_weighted", x, weight, **how)


def test_neither_threads_nor_addresses_change_a_bit():
    """The order of threads, and single loads where memory is not aligned."""
    given = numbers((40, 68), seed=15), numbers((40, 68), seed=16), numbers((68,), seed=17)
    how = {"count": 1, "eps": 1e-3, "groups": None, "centred": True, "biased": True}
    (outs, steps), operands = launches("standardise_cotangents", *given, **how)
    expected = [memory_of(x).tobytes() for x in run_all(outs, steps, operands)]
    singly = steps._replace(steps=tuple(step.single for step in steps.steps))
    for each, seed in ((steps, 1), (steps, 2), (singly, 0)):
        assert [memory_of(x).tobytes() for x in run_all(outs, each, operands, seed)] == expected


def test_rows_that_hold_nan_or_infinity_are_nan_alone():
    """As on the CPU; other rows are untouched, equal elements are 0 without an epsilon to help."""
    x = numbers((4, 12), seed=18)
    x[1, 3], x[2, 5] = nbgrad.nan, nbgrad.inf
    x[3] = 7.3
    for centred in (True, False):
        found = on_cuda("standardise", x, count=1, eps=1e-12, groups=None, centred=centred)
        assert found.isnan().any(1).tolist() == [False, True, True, False]
    assert on_cuda("standardise", x, count=1, eps=1e-12, groups=None, centred=True)[3].abs().max().item() == 0.0


def test_rows_are_held_up_to_8192_elements():
    """Where sums of weight and bias are held as well, up to 6144; of float64 half as many."""
    forward, back, sums = Rows(False, True, "elements", True), Rows(True, True), Rows(True, True, "elements", True)
    for dtype in ("float32", "bfloat16"):
        for rows, most in ((forward, 8192), (back, 8192), (sums, 6144)):
            assert held_row(most, 1, (dtype, dtype), rows) and not held_row(most + 1024, 1, (dtype, dtype), rows)
    assert held_row(4096, 1, ("float64",), forward) and not held_row(8192, 1, ("float64",), forward)


# ---- whole calls -------------------------------------------------------------------------------------------------------


def results(function, *tensors):
    """The result, its gradients, and those of their squares."""
    leaves = [x.detach().requires_grad_() for x in tensors]
    out = function(*leaves)
    seed = nbgrad.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(np.float32)).to(out.dtype).to(out.device)
    plain = nbgrad.grad(out, leaves, seed, retain_graph=True)
    again = nbgrad.grad(out, leaves, seed, create_graph=True)
    return out, *plain, *again, *nbgrad.grad(sum((g * g).sum() for g in again), leaves, allow_unused=True, materialize_grads=True)


CALLED = {
    "layer": (lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), lambda shape: shape[1:]),
    "layer without bias": (lambda x, w: F.layer_norm(x, x.shape[1:], w), lambda shape: shape[1:]),
    "root mean square": (lambda x, w: F.rms_norm(x, x.shape[1:], w, 1e-5), lambda shape: shape[1:]),
    "root mean square without weight": (lambda x: F.rms_norm(x, x.shape[1:], eps=1e-5), None),
    "group": (lambda x, w, b: F.group_norm(x, 2, w, b), lambda shape: shape[1:2]),
    "instance": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), lambda shape: shape[1:2]),
}


@on_gpus
@pytest.mark.parametrize("shape", [(3, 6), (2, 4, 5), (3, 4, 1), (0, 4, 3), (1, 2, 4100)], ids=str)
@pytest.mark.parametrize("name", CALLED)
def test_a_call_gives_what_the_cpu_gives(name, shape):
    """Values and derivatives of both orders; short, single, absent and long rows."""
    if name == "instance" and (len(shape) < 3 or shape[2] < 2):
        pytest.skip("channels of one value")
    function, weights = CALLED[name]
    count = function.__code__.co_argcount - 1
    tensors = [numbers(shape, "float64", seed=20), *(numbers(weights(shape), "float64", seed=21 + k) for k in range(count))]
    for found, expected in zip(results(function, *(x.cuda() for x in tensors)), results(function, *tensors)):
        assert found.shape == expected.shape and found.dtype is expected.dtype
        np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-10)


@on_gpus
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_call_with_gaps(dtype):
    """Transposed and sliced rows, a cotangent that is one number for all, a weight with gaps."""
    x, w, b = numbers((12, 9), dtype, seed=30), numbers((24,), dtype, seed=31), numbers((12,), dtype, seed=32)

    def gradients(x, w, b):
        x, w, b = (each.requires_grad_() for each in (x, w, b))
        return nbgrad.grad(F.layer_norm(x.t()[::2], (12,), w[::2], b).sum(), (x, w, b))

    tolerance = 1e-5 if dtype == "float32" else 3e-2
    for found, expected in zip(gradients(x.cuda(), w.cuda(), b.cuda()), gradients(x, w, b)):
        np.testing.assert_allclose(found.float().cpu().numpy(), expected.float().numpy(), rtol=tolerance, atol=tolerance)


@on_gpus
def test_a_call_is_one_launch_each_way():
    """Forward one, backward one and the sums of its parts; nothing runs on the host."""
    x, w, b = (numbers(shape, seed=33).cuda().requires_grad_() for shape in ((600, 96), (96,), (96,)))
    before = sum(nbgrad.cuda.host_fallbacks().values())
    with nbgrad.profiler.profile() as profile:
        F.layer_norm(x, (96,), w, b).backward(nbgrad.ones_like(x).detach())
    names = {event.key: event.count for event in profile.key_averages()}
    assert names.get("aten::layer_norm") == names.get("aten::sum") == 2, names
    assert sum(nbgrad.cuda.host_fallbacks().values()) == before


@on_gpus
@pytest.mark.parametrize("shape, other", [((0, 4, 3), (4, 1)), ((4, 0, 3), (4, 1, 1)), ((4, 3, 0), (3, 1)), ((0, 0), (0, 1))])
def test_a_call_that_broadcasts_to_no_element_launches_nothing(shape, other):
    """Products with what is spread along, or beside, the dimension that is empty."""
    x, y = nbgrad.ones(shape, device="cuda"), nbgrad.ones(other, device="cuda")
    assert (x * y).shape == (y + x).shape == nbgrad.where(x > y, x, y).shape == shape
