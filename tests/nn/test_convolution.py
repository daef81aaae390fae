"""Convolutions and pools: kernels against products of windows, modules, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import ArgumentError, RangeError, ShapeError
from nbgrad.lowering.convolution import in_windows
from nbgrad.nn import functional as F
from nbgrad.ops.core import OPS

RNG = np.random.default_rng(0)
SETTINGS = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")


def leaf(x):
    """A copy that requires grad."""
    return x.detach().clone().requires_grad_()


def drawn(*shape, dtype=nbgrad.float64):
    """Normal numbers."""
    return nbgrad.tensor(RNG.standard_normal(shape)).to(dtype)


# Long runs in pieces, several images of a unit and several parts of an image, rows beside four, strides that no tap meets,
# dilations that jump over strides, padding wider than what it surrounds, three dimensions.
LARGE = [
    ((3, 2, 40, 60), (5, 2, 3, 3), ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)),
    ((1, 3, 9, 9), (37, 3, 3, 3), ((1, 1), (0, 0), (1, 1), False, (0, 0), 1)),
    ((20, 4, 5, 8), (8, 2, 2, 3), ((3, 2), (1, 0), (2, 3), False, (0, 0), 2)),
    ((2, 6, 7, 5), (6, 1, 1, 1), ((2, 4), (0, 2), (1, 1), False, (0, 0), 6)),
    ((1, 2, 1), (3, 2, 3), ((2,), (4,), (1,), False, (0,), 1)),
    ((2, 3, 3000), (2, 3, 7), ((1,), (3,), (2,), False, (0,), 1)),
    ((2, 2, 4, 5, 6), (4, 2, 2, 3, 2), ((2, 1, 2), (1, 1, 0), (1, 2, 1), False, (0, 0, 0), 1)),
    ((1, 4, 30, 50), (4, 9, 3, 2), ((1, 1), (1, 0), (1, 1), True, (0, 0), 1)),
    ((3, 4, 3, 4), (4, 3, 2, 3), ((4, 3), (1, 2), (1, 2), True, (3, 1), 2)),
    ((2, 2, 2, 3, 2), (2, 2, 2, 2, 3), ((2, 1, 3), (0, 1, 1), (1, 3, 2), True, (1, 2, 0), 1)),
    # By panels: of one and a half, in groups, several images in a row, in parts, channels in steps, strides, three dimensions.
    ((2, 18, 5, 19), (24, 18, 3, 3), ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)),
    ((3, 40, 4, 3), (48, 20, 3, 2), ((1, 1), (1, 0), (2, 1), False, (0, 0), 2)),
    ((9, 70, 2, 2), (45, 70, 3, 3), ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)),
    ((2, 20, 7, 9), (20, 47, 3, 3), ((2, 2), (1, 1), (1, 1), True, (1, 0), 1)),
    ((1, 33, 30, 40), (31, 33, 2, 3), ((3, 2), (2, 1), (1, 2), False, (0, 0), 1)),
    ((2, 16, 3, 4, 5), (32, 16, 2, 1, 3), ((1, 2, 1), (1, 0, 1), (1, 1, 2), False, (0, 0, 0), 1)),
    ((2, 96, 3, 7), (96, 96, 3, 3), ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)),
    # Channel by channel: rows shorter and longer than a vector, both strides, wide padding, one dimension.
    ((2, 3, 7, 7), (3, 1, 3, 3), ((1, 1), (1, 1), (1, 1), False, (0, 0), 3)),
    ((2, 3, 5, 40), (3, 1, 3, 3), ((2, 2), (0, 2), (1, 1), False, (0, 0), 3)),
    ((1, 4, 6, 21), (4, 1, 1, 5), ((2, 2), (3, 1), (1, 1), False, (0, 0), 4)),
    ((3, 2, 70), (2, 1, 5), ((1,), (4,), (1,), False, (0,), 2)),
    ((2, 3, 4, 18), (3, 1, 3, 3), ((2, 2), (1, 0), (1, 1), True, (1, 0), 3)),
    ((2, 3, 9, 11), (3, 1, 3, 3), ((1, 1), (2, 1), (1, 1), True, (0, 0), 3)),
]


@pytest.mark.parametrize("kernel", [(4, 2, 1, 1), (4, 2, 3, 3), (1, 2, 1, 1), (4, 1, 1, 1)])
def test_weights_whose_channels_lie_together(kernel):
    """Both ways through a convolution give what they give by a contiguous weight, of a kernel of one element, too."""
    weight, x, g = drawn(*kernel), drawn(2, kernel[1], 6, 5), drawn(2, kernel[0], 6, 5)
    found = []
    for memory_format in (nbgrad.contiguous_format, nbgrad.channels_last):
        w, image, back = leaf(weight).contiguous(memory_format=memory_format), leaf(x), g.contiguous()
        out = F.conv2d(image, w, padding=kernel[2] // 2)
        found.append((out.detach(), nbgrad.grad(out, image, g)[0], F.conv_transpose2d(back, w.detach())))
    assert all(map(nbgrad.equal, *found))


@pytest.mark.parametrize(("shape", "kernel", "values"), LARGE, ids=[f"{a} {b}" for a, b, _ in LARGE])
def test_kernels_are_products_of_windows(shape, kernel, values):
    """Values and both cotangents of the kernels are those of written-out windows, which share no code with them."""
    x, weight, settings = leaf(drawn(*shape)), leaf(drawn(*kernel)), dict(zip(SETTINGS, values))
    out = nbgrad.convolution(x, weight, None, *values)
    g = drawn(*out.shape)
    found = (out, *nbgrad.grad(out, (x, weight), g))
    x, weight = leaf(x.detach()), leaf(weight.detach())
    long, short = (g, x) if settings["transposed"] else (x, g)
    more = {name: settings[name] for name in ("stride", "padding", "dilation", "groups")}
    expected = in_windows(OPS["conv"], (x.detach(), weight.detach()), settings)
    by_weight = in_windows(OPS["conv_weight"], (long.detach(), short.detach()), {"kernel": kernel[2:], **more})
    nbgrad.testing.assert_close(found[0].detach(), expected, rtol=1e-12, atol=1e-12)
    nbgrad.testing.assert_close(found[2], by_weight, rtol=1e-12, atol=1e-11)
    # <g, conv(x)> = <conv^T(g), x>: the cotangent of the input is the transpose.
    assert math.isclose((g * expected).sum().item(), (found[1] * x.detach()).sum().item(), rel_tol=1e-9, abs_tol=1e-8)


@pytest.mark.parametrize("channels", [1, 36])
def test_infinite_numbers_reach_no_further_than_the_kernel(channels):
    """What the kernel does not meet stays as it was, however many places are computed side by side."""
    groups = 5 if channels == 1 else 1
    x, weight = drawn(1, channels * groups, 9, 20), drawn(channels * groups, channels, 3, 3)
    before = F.conv2d(x, weight, padding=1, groups=groups)
    x[:, :, 4, 17] = math.inf
    after = F.conv2d(x, weight, padding=1, groups=groups)
    met = nbgrad.zeros(9, 20, dtype=nbgrad.bool)
    met[3:6, 16:19] = True
    assert nbgrad.equal(before[:, :, ~met], after[:, :, ~met]) and not after[:, :, met].isfinite().any()


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("padding", [0, 1])
def test_every_second_element_of_rows_of_all_lengths(dtype, padding):
    """Rows are whole vectors, halves, quarters and single elements, of which the last may overlap the one before."""
    for width in range(3, 80):
        x, weight = drawn(1, 2, 3, width, dtype=dtype), drawn(2, 1, 3, 3, dtype=dtype)
        settings = dict(zip(SETTINGS, ((2, 2), (padding, padding), (1, 1), False, (0, 0), 2)))
        found = nbgrad.convolution(x, weight, None, *settings.values())
        nbgrad.testing.assert_close(found, in_windows(OPS["conv"], (x, weight), settings), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("channels", "kernel", "groups"), [(4, (6, 4), 1), (90, (80, 90), 1), (40, (40, 1), 40)])
def test_bits_do_not_depend_on_threads(channels, kernel, groups):
    """Units of work follow from the sizes alone."""
    x, weight = leaf(drawn(8, channels, 20, 20, dtype=nbgrad.float32)), leaf(drawn(*kernel, 3, 3, dtype=nbgrad.float32))
    found, before = [], nbgrad.get_num_threads()
    try:
        for threads in (1, 2):
            nbgrad.set_num_threads(threads)
            out = F.conv2d(x, weight, padding=1, groups=groups)
            found.append([each.tolist() for each in (out, *nbgrad.grad(out.sin().sum(), (x, weight)))])
    finally:
        nbgrad.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("groups", [1, 2])
def test_all_transforms_of_a_convolution(groups):
    """Double backward, forward over reverse and gradients of single samples are those of loops and finite differences."""
    x, weight, bias = leaf(drawn(2, 2, 4)), leaf(drawn(2, 2 // groups, 2)), leaf(drawn(2))

    def network(x, weight, bias):
        return F.max_pool1d(F.conv1d(x, weight, bias, 1, 1, 1, groups).tanh(), 2)

    assert nbgrad.autograd.gradcheck(network, (x, weight, bias), check_forward_ad=True, check_batched_grad=True)
    assert nbgrad.autograd.gradgradcheck(network, (x, weight, bias))

    def loss(weight, sample):
        return network(sample, weight, bias.detach()).square().sum()

    given = weight.detach()
    each = nbgrad.func.vmap(nbgrad.func.grad(loss), (None, 0))(given, x.detach())
    nbgrad.testing.assert_close(each, nbgrad.stack([nbgrad.func.grad(loss)(given, sample) for sample in x.detach()]))
    compiled = nbgrad.compile(lambda x, weight: network(x, weight, bias.detach()).sum())
    nbgrad.testing.assert_close(nbgrad.grad(compiled(x, weight), weight)[0], nbgrad.grad(network(x, weight, bias).sum(), weight)[0])


def test_no_images_and_no_channels():
    """An empty batch has an empty result and a weight that nothing reaches; without input channels only the bias is left."""
    x, weight = leaf(nbgrad.zeros(0, 2, 4)), leaf(nbgrad.ones(3, 2, 2))
    out = F.conv1d(x, weight)
    out.sum().backward()
    assert out.shape == (0, 3, 3) and x.grad.shape == (0, 2, 4) and weight.grad.abs().sum().item() == 0
    assert F.max_pool1d(x.detach(), 2).shape == (0, 2, 2) and F.avg_pool1d(x.detach(), 2).shape == (0, 2, 2)
    assert F.conv1d(nbgrad.zeros(1, 0, 4), nbgrad.zeros(2, 0, 3), nbgrad.ones(2)).tolist() == [[[1.0, 1.0], [1.0, 1.0]]]


def test_half_precision_is_computed_in_single():
    """bfloat16 operands give the rounded result of their values."""
    x, weight = drawn(1, 2, 6, dtype=nbgrad.bfloat16), drawn(3, 2, 3, dtype=nbgrad.bfloat16)
    out = F.conv1d(x, weight)
    assert out.dtype is nbgrad.bfloat16 and out.tolist() == F.conv1d(x.float(), weight.float()).bfloat16().tolist()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_modes_are_those_of_pad(mode):
    """A module that pads otherwise convolves what ``pad`` gives; even kernels with "same" have the longer side behind."""
    module, x = nn.Conv2d(1, 2, (3, 2), padding="same", padding_mode=mode, dtype=nbgrad.float64), drawn(1, 1, 4, 4)
    nbgrad.testing.assert_close(module(x), F.conv2d(F.pad(x, (0, 1, 1, 1), mode), module.weight, module.bias))


@pytest.mark.parametrize("mode", ["zeros", "reflect"])
def test_layers_derived_from_convolutions_choose_the_weight(mode):
    """``_conv_forward`` is ``forward`` of another weight, padded as the layer says."""

    class Standardised(nn.Conv2d):
        def forward(self, input):
            return self._conv_forward(input, self.weight * 2, None)

    module, x = Standardised(1, 2, (3, 2), padding=(1, 0), padding_mode=mode), drawn(1, 1, 4, 4).float()
    assert tuple(module._reversed_padding_repeated_twice) == (0, 0, 1, 1)
    padded = F.pad(x, module._reversed_padding_repeated_twice, "constant" if mode == "zeros" else mode)
    nbgrad.testing.assert_close(module(x), F.conv2d(padded, module.weight * 2))


SHOWN = [
    (nn.Conv1d(2, 4, 3), "Conv1d(2, 4, kernel_size=(3,), stride=(1,))"),
    (
        nn.Conv2d(2, 4, (3, 2), 2, 1, 2, 2, False, "circular"),
        "Conv2d(2, 4, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, bias=False, "
        "padding_mode=circular)",
    ),
    (
        nn.ConvTranspose2d(2, 4, 3, 2, 1, 1),
        "ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))",
    ),
    (nn.MaxPool2d(3, 2), "MaxPool2d(kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (nn.AvgPool1d(3), "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"),
    (nn.AvgPool2d(3), "AvgPool2d(kernel_size=3, stride=3, padding=0)"),
    (nn.AdaptiveAvgPool2d((1, None)), "AdaptiveAvgPool2d(output_size=(1, None))"),
    (nn.LPPool2d(2, 3), "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"),
    (nn.MaxUnpool2d(2), "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"),
    (nn.Unfold(2), "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)"),
    (nn.Fold(4, 2), "Fold(output_size=4, kernel_size=2, dilation=1, padding=0, stride=1)"),
]


@pytest.mark.parametrize(("module", "shown"), SHOWN, ids=[type(module).__name__ for module, _ in SHOWN])
def test_modules_are_shown_as_torch_shows_them(module, shown):
    """The printed form is torch's."""
    assert repr(module) == shown


@pytest.mark.parametrize("kind", [nn.Conv2d, nn.ConvTranspose2d])
def test_weights_begin_within_bounds(kind):
    """Uniform within 1 / sqrt(fan_in), of which the second dimension and the kernel count; keys are weight and bias."""
    module = kind(8, 16, 3, groups=2)
    shape, fan = ((16, 4, 3, 3), 36) if kind is nn.Conv2d else ((8, 8, 3, 3), 72)
    assert {name: tuple(each.shape) for name, each in module.state_dict().items()} == {"weight": shape, "bias": (16,)}
    values = module.weight.detach().numpy() * math.sqrt(fan)
    assert 0.98 < abs(values).max() <= 1 and abs(values.mean()) < 0.1 and abs(values.std() - 1 / math.sqrt(3)) < 0.05
    assert abs(module.bias.detach().numpy()).max() * math.sqrt(fan) <= 1


def test_output_size_chooses_the_padding_of_a_transpose():
    """A size between the least and less than a stride more; others are refused."""
    module = nn.ConvTranspose2d(1, 1, 3, 2, 1)
    assert module(nbgrad.ones(1, 1, 3, 3), output_size=(5, 6)).shape == (1, 1, 5, 6)
    with pytest.raises(ShapeError, match=r"ConvTranspose2d: output_size is \(5, 7\), expected \(5, 5\) to \(6, 6\)"):
        module(nbgrad.ones(1, 1, 3, 3), output_size=(5, 7))


def test_unfold_and_fold_are_transposes():
    """<unfold(x), y> = <x, fold(y)>, and unfolded columns times a weight are a convolution."""
    x, weight, settings = drawn(2, 3, 7, 6), drawn(4, 3, 2, 3), ((2, 3), (2, 1), (1, 2), (2, 1))
    columns = F.unfold(x, *settings)
    y = drawn(*columns.shape)
    back = F.fold(y, (7, 6), *settings)
    assert math.isclose((columns * y).sum().item(), (x * back).sum().item(), rel_tol=1e-9)
    kernel, dilation, padding, stride = settings
    out = F.conv2d(x, weight, None, stride, padding, dilation)
    nbgrad.testing.assert_close((weight.reshape(4, -1) @ columns).reshape(out.shape), out)


def test_maxima_go_back_where_they_were():
    """max_unpool of a pool has the maxima at their places; gradients pass there and nowhere else."""
    x = leaf(drawn(1, 2, 5, 4))
    out, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(out, places, 2, output_size=x.shape)
    assert places.dtype is nbgrad.int64 and back.shape == x.shape
    nbgrad.testing.assert_close(back.detach(), x.detach() * (back.detach() != 0))
    back.sum().backward()
    assert x.grad.tolist() == (back.detach() != 0).double().tolist()


def test_norms_of_windows():
    """lp_pool of powers is the root of the sum of powers of every window."""
    x = nbgrad.tensor([[[1.0, 2.0, 2.0], [4.0, 0.0, 1.0]]])
    assert F.lp_pool2d(x, 2, (2, 1)).squeeze().tolist() == pytest.approx([math.sqrt(17), 2, math.sqrt(5)])
    assert nn.LPPool1d(1, 3)(x).squeeze().tolist() == pytest.approx([5.0, 5.0])


def test_nan_is_the_greatest():
    """A window with NaN has NaN, of the element that it is at."""
    x = leaf(nbgrad.tensor([[1.0, math.nan, 3.0, 2.0]]))
    out, places = F.max_pool1d(x, 2, return_indices=True)
    F.max_pool1d(x, 2).sum().backward()
    assert math.isnan(out[0, 0].item()) and places.tolist() == [[1, 2]] and x.grad.tolist() == [[0.0, 1.0, 1.0, 0.0]]


@pytest.mark.parametrize("return_indices", [False, True])
def test_a_window_of_padding_alone_has_nothing(return_indices):
    """Minus infinity, whether places are asked for or not, and no gradient."""
    x = leaf(nbgrad.tensor([[2.0]]))
    out = F.max_pool1d(x, 2, padding=1, dilation=2, return_indices=return_indices)
    values = out[0] if return_indices else out
    values.sum().backward()
    assert values.tolist() == [[-math.inf]] and x.grad.tolist() == [[0.0]]


REFUSED = [
    (RangeError, "Conv2d: groups is 2, expected a divisor", lambda: nn.Conv2d(3, 4, 3, groups=2)),
    (RangeError, "Conv1d: padding_mode is 'mirror'", lambda: nn.Conv1d(1, 1, 3, padding_mode="mirror")),
    (RangeError, "ConvTranspose1d: padding_mode is 'reflect'", lambda: nn.ConvTranspose1d(1, 1, 3, padding_mode="reflect")),
    (RangeError, "Conv2d: kernel_size is .1, 2, 3., expected an int, or 2 of them", lambda: nn.Conv2d(1, 1, (1, 2, 3))),
    (RangeError, "Conv2d: padding 'same' with stride", lambda: nn.Conv2d(1, 1, 3, 2, "same")),
    (ArgumentError, "conv2d: weight is list, expected a Tensor", lambda: F.conv2d(nbgrad.ones(1, 1, 2, 2), [1.0])),
    (nbgrad.DTypeError, "conv1d: input is float32, weight is float64", lambda: F.conv1d(nbgrad.ones(1, 1, 2), drawn(1, 1, 1))),
    (ShapeError, "fold: input is .1, 5, 2., expected rows that 4 divides", lambda: F.fold(nbgrad.ones(1, 5, 2), (2, 3), 2)),
    (ShapeError, "unfold: input .1, 1, 2, 2. has no place", lambda: F.unfold(nbgrad.ones(1, 1, 2, 2), 3)),
    (
        RangeError,
        "max_unpool1d: output_size is .9,.",
        lambda: F.max_unpool1d(nbgrad.ones(1, 1, 1), nbgrad.zeros(1, 1, 1).long(), 2, output_size=(9,)),
    ),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=[message for _, message, _ in REFUSED])
def test_what_is_refused(error, message, call):
    """Errors name the operation, what came and what was expected."""
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("padding_mode", ["zeros", "circular"])
def test_forward_by_a_weight_that_a_subclass_computes(padding_mode):
    """``_conv_forward`` is the layer with other weights, and what ``forward`` calls."""

    class Standardized(nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight - weight.mean(), bias)

    layer = Standardized(1, 1, 3, padding=(1, 2), padding_mode=padding_mode)
    plain = nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode=padding_mode)
    plain.load_state_dict({"weight": layer.weight - layer.weight.mean(), "bias": layer.bias})
    x = nbgrad.linspace(0, 1, 16).view(1, 1, 4, 4)
    assert nbgrad.equal(layer(x), plain(x)) and layer._reversed_padding_repeated_twice == (2, 2, 1, 1)
