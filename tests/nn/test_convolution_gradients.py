"""``nn.grad``: the gradients of convolutions as functions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import nbgrad
from nbgrad.nn import functional as F, grad

RNG = np.random.default_rng(7)
SIZES = (7, 6, 5)
KERNEL = (3, 2, 2)
OPTIONS = [(1, 0, 1, 1), (2, 1, 1, 2), (3, 2, 2, 1)]


def drawn(*shape, dtype="float64"):
    """Normal numbers; complex ones, if asked for."""
    x = RNG.standard_normal(shape)
    return nbgrad.tensor(x + 1j * RNG.standard_normal(shape) if dtype == "complex128" else x).requires_grad_()


@pytest.mark.parametrize(("count", "options", "dtype"), list(product((1, 2, 3), OPTIONS, ("float64", "complex128"))))
def test_gradients_are_those_of_the_convolution(count, options, dtype):
    """Both functions give what a pass through the convolution gives, of strides, dilations and groups, bit for bit."""
    groups = options[-1]
    x = drawn(2, 4, *SIZES[:count], dtype=dtype)
    weight = drawn(6, 4 // groups, *KERNEL[:count], dtype=dtype)
    stride, padding, dilation, _ = options
    out = getattr(F, f"conv{count}d")(x, weight, None, stride, padding, dilation, groups)
    g = drawn(*out.shape, dtype=dtype).detach()
    by_input, by_weight = nbgrad.grad(out, (x, weight), g)
    assert nbgrad.equal(getattr(grad, f"conv{count}d_input")(x.shape, weight.detach(), g, *options), by_input)
    assert nbgrad.equal(getattr(grad, f"conv{count}d_weight")(x.detach(), weight.shape, g, *options), by_weight)


def test_gradients_can_be_differentiated():
    """They are operations like others: a backward pass that is written with them has second derivatives."""
    x, weight, g = drawn(1, 2, 5), drawn(2, 2, 3), drawn(1, 2, 5)
    assert nbgrad.autograd.gradcheck(lambda w, g: grad.conv1d_input((1, 2, 5), w, g, padding=1), (weight, g))
    assert nbgrad.autograd.gradcheck(lambda x, g: grad.conv1d_weight(x, [2, 2, 3], g, padding=(1,)), (x, g))


@pytest.mark.parametrize(
    ("function", "arguments", "match"),
    [
        (grad.conv1d_input, ((1, 2, 5), (2, 2, 3), (1, 2, 4)), r"expected a grad_output of \[1, 2, 3\]"),
        (grad.conv1d_input, ((2, 5), (2, 2, 3), (1, 2, 3)), "expected 3 dimensions"),
        (grad.conv2d_weight, ((1, 3, 4, 4), (2, 2, 3, 3), (1, 2, 2, 2)), "2 channels of the input"),
    ],
)
def test_shapes_of_no_convolution_are_refused(function, arguments, match):
    """Shapes are said by the caller, and are looked at."""
    shapes = [shape if name.endswith("_size") else nbgrad.ones(shape) for shape, name in zip(arguments, names_of(function))]
    with pytest.raises(nbgrad.ShapeError, match=match):
        function(*shapes)


def names_of(function):
    """The names of the first three arguments."""
    return function.__code__.co_varnames[:3]


def test_words_for_padding_are_refused():
    """A word says nothing here about the sizes that it stands for."""
    with pytest.raises(nbgrad.ArgumentError, match="padding is 'same'"):
        grad.conv1d_input((1, 1, 4), nbgrad.ones(1, 1, 3), nbgrad.ones(1, 1, 4), padding="same")


def test_where_torch_has_them():
    """``nn.grad`` is found in nn and in nn.functional."""
    assert nbgrad.nn.grad is grad and F.grad is grad
