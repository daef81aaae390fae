"""Pools of windows without a number that is greater than others, on each device: padding alone, minus infinities, NaN."""

from __future__ import annotations

import math

import pytest

import nbgrad
from nbgrad import forward_ad
from nbgrad.nn import functional as F

pytestmark = pytest.mark.usefixtures("device")
LOW = -math.inf


def derivatives(pool, x):
    """Of a pool of a tensor: the gradient for cotangents 1, 2, ..., how it moves with these, and the tangent for 1, 2, ..."""
    x.requires_grad_()
    out = pool(x)
    g = nbgrad.arange(1.0, 1.0 + out.numel()).reshape(out.shape).requires_grad_()
    t = nbgrad.arange(1.0, 1.0 + x.numel()).reshape(x.shape)
    (gradient,) = nbgrad.grad(out, x, g, create_graph=True)
    (by_g,) = nbgrad.grad((gradient * t).sum(), g)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(pool(forward_ad.make_dual(x.detach(), t))).tangent
    return [found.flatten().tolist() for found in (gradient, by_g, tangent)]


@pytest.mark.parametrize(
    "row, settings, gradient, chosen",
    [
        ([5.0], (2, 1, 1, 2), [0], [0]),  # the window is padding on both sides, a dilation of 2 apart
        ([LOW] * 4, (3, 1, 1, 2), [2, 1, 0, 0], [2, 1]),  # the first element inside, not the padding before it
        ([LOW, LOW, LOW, 1.0], (2, 2, 1), [1, 2, 0, 3], [1, 2, 4]),
        ([1.0, math.nan, 2.0, math.nan], (3, 1, 1), [0, 6, 0, 4], [2, 2, 2, 4]),
    ],
)
def test_max_pools_give_cotangents_to_the_first_of_the_greatest(row, settings, gradient, chosen):
    """An element of the window, whatever padding counts as; a window of padding alone gives its cotangent to nothing."""
    found = derivatives(lambda x: F.max_pool1d(x, *settings), nbgrad.tensor([[row]]))
    assert found == [gradient, chosen, chosen]


def test_means_of_adaptive_windows_of_different_sizes_may_be_infinite():
    """A window with fewer elements than others has none of them twice."""
    assert F.adaptive_avg_pool1d(nbgrad.tensor([[[LOW, LOW, 1.0, 3.0, 5.0]]]), 3).tolist() == [[[LOW, LOW, 4.0]]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 2, count_include_pad=False),
        lambda x: F.conv2d(x, nbgrad.arange(32.0).reshape(2, 4, 2, 2).transpose(2, 3)),
    ],
    ids=["greatest", "means", "convolution"],
)
def test_images_with_gaps_are_those_without(function):
    """In the first call and in those whose plans are known, and so are the gradients."""
    x = nbgrad.arange(2 * 4 * 8 * 8.0).reshape(2, 4, 8, 8).cos()[:, :, ::2, 1:7].requires_grad_()
    copy = x.detach().contiguous().requires_grad_()
    expected = function(copy)
    (g,) = nbgrad.grad(expected.square().sum(), copy)
    for _ in range(3):
        out = function(x)
        assert out.tolist() == expected.tolist()
        assert nbgrad.grad(out.square().sum(), x)[0].tolist() == g.tolist()


@pytest.mark.parametrize("wide, settings", [(17, (3, 2)), (33, (5, 2, 2)), (32, (3, 2, 1, 2)), (4101, (4, 2, 1))])
def test_cotangents_of_windows_that_overlap(wide, settings):
    """They are added where the places of the greatest are, of lines of any length, the first of equal ones."""
    x = (nbgrad.arange(2.0 * wide) * 0.7).sin().round(decimals=1).reshape(1, 2, wide).requires_grad_()
    out, places = F.max_pool1d(x, *settings, return_indices=True)
    g = nbgrad.arange(1.0, 1.0 + out.numel()).reshape(out.shape)
    expected = nbgrad.zeros(1, 2, wide).scatter_add(2, places, g)
    assert nbgrad.equal(nbgrad.grad(F.max_pool1d(x, *settings), x, g)[0], expected)


def test_windows_that_are_known_are_those_of_ints():
    """A kernel of 2.0 is refused after one of 2, whose windows are kept, and True is no padding of 1."""
    x = nbgrad.arange(8.0).reshape(1, 1, 8)
    for pool in (F.max_pool1d, F.avg_pool1d):
        pool(x, 2, 2, 1)
        for settings in ((2.0, 2, 1), (2, 2.0, 1), (2, 2, 1.0)):
            with pytest.raises(nbgrad.ArgumentError):
                pool(x, *settings)


@pytest.mark.parametrize("size", [7, 8, 4100])
@pytest.mark.parametrize("settings", [(2, 2), (3, 2, 1), (4, 2, 2), (1, 2), (5, 2, 1)])
def test_windows_of_every_second_element(size, settings):
    """They fold their own elements, of lines of even and odd lengths and of more elements than are folded together."""
    x = (nbgrad.arange(2.0 * size) * 0.7).sin().reshape(1, 2, size)
    kernel, stride, padding = (*settings, 0)[:3]
    padded = F.pad(x, (padding, padding), value=-math.inf).unfold(-1, kernel, stride)
    assert nbgrad.equal(F.max_pool1d(x, *settings), padded.amax(-1))
    means = F.pad(x, (padding, padding)).unfold(-1, kernel, stride).mean(-1)
    assert nbgrad.allclose(F.avg_pool1d(x, *settings), means, atol=1e-6)
