"""Distinct values, counts and repetitions on a GPU are the CPU's, and wait once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch.device_lowerings import fallbacks

from .emulation import on_gpus

SHAPES = [(0,), (1,), (700,), (5, 9), (), (6, 2, 3)]

OTHERS = ["uint8", "bool", "float16", "float64"]


def assert_same(found, expected):
    """Results on the GPU, with the CPU's values."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for x, y in zip(found, expected):
            assert_same(x, y)
        return
    assert found.device.type == "cuda" and (found.dtype, found.shape) == (expected.dtype, expected.shape), (found, expected)
    assert nbgrad.equal(found.cpu().nan_to_num(99), expected.nan_to_num(99)), (found, expected)


def sample(shape, dtype, nan=False):
    """Few different numbers; two NaN among them."""
    x = nbgrad.asarray(np.random.default_rng(len(shape)).integers(0, 5, shape)).to(getattr(nbgrad, dtype))
    if nan and x.numel() > 3:
        x.view(-1)[1] = x.view(-1)[3] = float("nan")
    return x


@on_gpus
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [*((shape, dtype) for shape in SHAPES for dtype in ("int64", "float32")), *(((5, 9), dtype) for dtype in OTHERS)],
)
def test_unique(shape, dtype):
    """Values, places and numbers, of elements and of slices, with NaN, each of which is one of its own."""
    x, floating = sample(shape, dtype), dtype.startswith("float")
    for function in (nbgrad.unique, nbgrad.unique_consecutive):
        for dim in (None, *range(-len(shape), len(shape))):
            for how in ({}, {"return_inverse": True, "return_counts": True}):
                assert_same(function(x.cuda(), dim=dim, **how), function(x, dim=dim, **how))
        x = sample(shape, dtype, floating)
        assert_same(function(x.cuda(), return_counts=True), function(x, return_counts=True))


@on_gpus
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_bincount(dtype):
    """Counts, sums of weights, lengths."""
    for shape in ((0,), (1,), (700,)):
        x, weights = sample(shape, dtype), nbgrad.arange(float(*shape), dtype=nbgrad.float64) / 4
        assert_same(nbgrad.bincount(x.cuda()), nbgrad.bincount(x))
        assert_same(nbgrad.bincount(x.cuda(), minlength=9), nbgrad.bincount(x, minlength=9))
        assert_same(nbgrad.bincount(x.cuda(), weights.cuda()), nbgrad.bincount(x, weights))
        if shape != (0,):
            one_hot = nbgrad.nn.functional.one_hot
            assert_same(one_hot(x.long().cuda()), one_hot(x.long()))


@on_gpus
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_repeat_interleave(rows):
    """By numbers on the GPU, one for each or one for all; gradients are sums of what was repeated."""
    x, repeats = nbgrad.arange(3.0 * rows).reshape(rows, 3), sample((rows,), "int64")
    for given, host in ((repeats.cuda(), repeats), (nbgrad.tensor(2, device="cuda"), 2), (nbgrad.tensor([0], device="cuda"), 0)):
        there, here = x.cuda().requires_grad_(), x.clone().requires_grad_()
        found, expected = nbgrad.repeat_interleave(there, given, 0), nbgrad.repeat_interleave(here, host, 0)
        assert_same(found.detach(), expected.detach())
        (found * found).sum().backward()
        (expected * expected).sum().backward()
        assert_same(there.grad, here.grad)
    assert_same(nbgrad.repeat_interleave(repeats.cuda()), nbgrad.repeat_interleave(repeats))
    total = int(repeats.sum())
    assert_same(nbgrad.repeat_interleave(x.cuda(), repeats.cuda(), 0, output_size=total), nbgrad.repeat_interleave(x, repeats, 0))


@on_gpus
def test_they_wait_once():
    """For the length of the result; a repetition whose length is given does not wait, and nothing runs on the host."""
    x, repeats, before = nbgrad.arange(9, device="cuda") // 2, nbgrad.full((9,), 2, device="cuda"), sum(fallbacks.values())
    calls = {
        "unique": (lambda: x.unique(return_inverse=True, return_counts=True), 1),
        "unique_consecutive": (lambda: nbgrad.unique_consecutive(x, return_counts=True), 1),
        "bincount": (lambda: x.bincount(), 1),
        "repeat_interleave": (lambda: x.repeat_interleave(repeats), 1),
        "with its length": (lambda: x.repeat_interleave(repeats, output_size=18), 0),
    }
    for name, (call, stops) in calls.items():
        call()
        nbgrad.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                call()
        finally:
            nbgrad.cuda.set_sync_debug_mode("default")
        assert len(seen) == stops, (name, [str(each.message) for each in seen])
    assert sum(fallbacks.values()) == before


@on_gpus
def test_wrong_numbers():
    """Errors are the CPU's; where the program does not wait, the next wait raises them."""
    wrong = {
        "negative counts": lambda device: nbgrad.bincount(nbgrad.tensor([1, -1], device=device)),
        "floats": lambda device: nbgrad.bincount(nbgrad.ones(2, device=device)),
        "negative repeats": lambda device: nbgrad.ones(2, device=device).repeat_interleave(nbgrad.tensor([1, -1], device=device)),
        "three for two": lambda device: nbgrad.ones(2, device=device).repeat_interleave(nbgrad.tensor([1, 2, 3], device=device)),
        "dimension": lambda device: nbgrad.unique(nbgrad.tensor([1], device=device), dim=4),
    }
    for name, call in wrong.items():
        told = []
        for device in ("cpu", "cuda"):
            with pytest.raises(nbgrad.errors.NbgradError) as caught:
                call(device)
            told.append((type(caught.value), str(caught.value).replace("movedim", "unique")))
        assert told[0] == told[1], name
    nbgrad.ones(2, device="cuda").repeat_interleave(nbgrad.tensor([1, 2], device="cuda"), output_size=4)
    with pytest.raises(nbgrad.errors.ShapeError, match="output_size is 4, the repeats give another number"):
        nbgrad.cuda.synchronize()


@on_gpus
def test_what_runs_on_the_host_is_counted():
    """Complex numbers, whose order no kernel knows, and slices of many elements."""
    before = fallbacks["unique"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (nbgrad.tensor([1j, 1j, 2.0]),):
            assert_same(nbgrad.unique(x.cuda()), nbgrad.unique(x))
        wide = sample((4, 100), "int64")
        assert_same(nbgrad.unique(wide.cuda(), dim=0), nbgrad.unique(wide, dim=0))
    assert fallbacks["unique"] == before + 2
