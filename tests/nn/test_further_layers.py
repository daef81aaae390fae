"""Layers that many programs have: resampling, bags, losses of sequences, parametrized weights, and their relatives.

Numbers are those that torch 2.13 gave once for the same expressions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional as F
from nbgrad.nn.utils import parametrizations, parametrize, prune

DOUBLE, SLOW = nbgrad.float64, pytest.mark.slow
# ``{name: (expression, shape, the result's elements times those of a wave, summed, the same of all gradients of that)}``.
NUMBERS: dict = {
    "interpolate nearest": ("F.interpolate(x(2, 2, 5), size=7)", (2, 2, 7), -0.6017782535005733, 0.3344018277300975),
    "interpolate nearest of a factor": (
        "F.interpolate(x(1, 2, 3, 4), scale_factor=(2, 1.6))",
        (1, 2, 6, 6),
        0.24925696560126248,
        -0.2906680805862468,
    ),
    "interpolate nearest-exact": (
        "F.interpolate(x(1, 2, 5, 3), size=(3, 7), mode='nearest-exact')",
        (1, 2, 3, 7),
        0.40916758903393324,
        -0.38676509552926897,
    ),
    "interpolate area": (
        "F.interpolate(x(1, 2, 5, 3), size=(2, 4), mode='area')",
        (1, 2, 2, 4),
        -0.20031888169272477,
        0.15973629015063262,
    ),
    "interpolate linear": (
        "F.interpolate(x(1, 2, 5), scale_factor=1.7, mode='linear')",
        (1, 2, 8),
        -1.0647321831031382,
        0.9934415548296279,
    ),
    "interpolate bilinear": (
        "F.interpolate(x(1, 2, 5, 3), size=(3, 7), mode='bilinear', align_corners=True)",
        (1, 2, 3, 7),
        0.10561138821685567,
        -0.099480966436293,
    ),
    "interpolate bilinear smoothed": (
        "F.interpolate(x(1, 2, 9, 4), size=(4, 6), mode='bilinear', antialias=True)",
        (1, 2, 4, 6),
        -0.01709503868090173,
        0.03295675516467783,
    ),
    "interpolate bicubic": (
        "F.interpolate(x(1, 2, 5, 4), scale_factor=0.7, recompute_scale_factor=True, mode='bicubic')",
        (1, 2, 3, 2),
        -0.011042824771377246,
        -0.04168928794728982,
    ),
    "interpolate bicubic smoothed": (
        "F.interpolate(x(1, 1, 9, 4), size=(4, 6), mode='bicubic', antialias=True)",
        (1, 1, 4, 6),
        -1.3567008337551991,
        1.2648943283250622,
    ),
    "interpolate trilinear": (
        "F.interpolate(x(1, 1, 3, 2, 4), size=(4, 3, 3), mode='trilinear')",
        (1, 1, 4, 3, 3),
        0.5096112361912919,
        -0.5557657704209953,
    ),
    "grid_sample zeros": (
        "F.grid_sample(x(1, 2, 4, 3), 1.3 * y(1, 3, 2, 2), align_corners=False)",
        (1, 2, 3, 2),
        0.12928214591488468,
        2.5438823542302567,
    ),
    "grid_sample border": (
        "F.grid_sample(x(1, 2, 4, 3), 1.3 * y(1, 3, 2, 2), padding_mode='border', align_corners=True)",
        (1, 2, 3, 2),
        2.7125931410569333,
        2.883263393153497,
    ),
    "grid_sample reflection": (
        "F.grid_sample(x(1, 2, 4, 3), 2.3 * y(1, 3, 2, 2), padding_mode='reflection', align_corners=False)",
        (1, 2, 3, 2),
        1.104137362755085,
        -17.61071997583349,
    ),
    "grid_sample bicubic": (
        "F.grid_sample(x(1, 2, 4, 3), 1.3 * y(1, 3, 2, 2), 'bicubic', 'reflection', align_corners=True)",
        (1, 2, 3, 2),
        2.035820854344668,
        6.294067780775506,
    ),
    "grid_sample nearest": (
        "F.grid_sample(x(1, 2, 4, 3), 1.3 * y(1, 3, 2, 2).detach(), 'nearest', align_corners=False)",
        (1, 2, 3, 2),
        -0.14496066835125565,
        0.11647761493695896,
    ),
    "grid_sample of three directions": (
        "F.grid_sample(x(1, 1, 2, 3, 2), y(1, 2, 1, 2, 3), align_corners=True)",
        (1, 1, 2, 1, 2),
        -0.009344086352203351,
        -0.7990870892281695,
    ),
    "affine_grid": (
        "F.affine_grid(x(2, 2, 3), (2, 1, 3, 2), align_corners=False)",
        (2, 3, 2, 2),
        -2.3963278555666028,
        2.074679227563658,
    ),
    "affine_grid of three directions": (
        "F.affine_grid(x(1, 3, 4), (1, 1, 2, 1, 3), align_corners=True)",
        (1, 2, 1, 3, 3),
        -2.1595305196917236,
        2.5485771085238214,
    ),
    "pixel_shuffle": ("F.pixel_shuffle(x(2, 8, 2, 3), 2)", (2, 2, 4, 6), -7.3223899453665675, 9.298771841323518),
    "pixel_unshuffle": ("F.pixel_unshuffle(x(1, 2, 4, 6), 2)", (1, 8, 2, 3), -3.6850915679892027, 4.693458660281285),
    "channel_shuffle": ("F.channel_shuffle(x(1, 6, 2), 3)", (1, 6, 2), -0.7394942267068749, 0.910931818494003),
    "embedding_bag sum": (
        "F.embedding_bag(whole(3, 4, below=5), x(5, 3), mode='sum', per_sample_weights=y(3, 4))",
        (3, 3),
        1.2048674546716818,
        -0.9360071575145066,
    ),
    "embedding_bag mean": (
        "F.embedding_bag(whole(7, below=5), x(5, 3), offsets(0, 2, 2, 5), padding_idx=1)",
        (4, 3),
        1.7678263443733533,
        -1.6790614769981849,
    ),
    "embedding_bag max": (
        "F.embedding_bag(whole(7, below=5), x(5, 3), offsets(0, 2, 2, 7), mode='max', include_last_offset=True)",
        (3, 3),
        -0.4901151422675435,
        0.5702640711988602,
    ),
    "ctc_loss": (
        "F.ctc_loss(x(6, 2, 4).log_softmax(-1), whole(2, 3, below=3) + 1, (6, 5), (3, 2), reduction='sum')",
        (),
        -3.0303367861599906,
        0.4888053746109087,
    ),
    "ctc_loss in a row": (
        "F.ctc_loss(x(5, 2, 4).log_softmax(-1), whole(3, below=2), (5, 4), (0, 3), blank=3)",
        (),
        -2.177250412998993,
        0.7413378725610242,
    ),
    "multilabel_margin_loss": (
        "F.multilabel_margin_loss(x(2, 4), whole(2, 4, below=5) - 1, reduction='sum')",
        (),
        -0.3471906249049755,
        0.09859217728906128,
    ),
    "local_response_norm": (
        "F.local_response_norm(x(1, 5, 2, 2), 3, 0.5, 0.6, 1.5)",
        (1, 5, 2, 2),
        -2.9956341290366364,
        3.378858220488114,
    ),
    "bilinear": ("F.bilinear(x(4, 2), y(4, 3), x(2, 2, 3, phase=1.0), y(2))", (4, 2), -0.3666536256719775, 1.9252492870235338),
    "InstanceNorm": (
        "filled(nn.InstanceNorm2d(3, affine=True))(x(2, 3, 2, 2))",
        (2, 3, 2, 2),
        -4.59279247471196,
        1.4706502749658514,
    ),
    "InstanceNorm of one sample": ("nn.InstanceNorm1d(3)(x(3, 4))", (3, 4), -3.5370865570519223, 1.060752210037112),
    "InstanceNorm by running statistics": (
        "filled(nn.InstanceNorm1d(3, affine=True, track_running_stats=True)).eval()(x(2, 3, 4))",
        (2, 3, 4),
        -5.712756913463989,
        7.6173140915919095,
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        "filled(nn.AdaptiveLogSoftmaxWithLoss(4, 7, [2, 4], 2.0, True))(x(5, 4), whole(5, below=7))[0]",
        (5,),
        0.550492246576966,
        -0.41216913224592633,
    ),
    "Softmax2d": ("nn.Softmax2d()(x(1, 3, 2, 2))", (1, 3, 2, 2), -1.1330385733771773, 0.6770995835635201),
    "weight_norm": (
        "parametrizations.weight_norm(filled(nn.Linear(3, 4)))(x(2, 3))",
        (2, 4),
        -1.65108093914375,
        0.31760768391265864,
    ),
    "older weight_norm": (
        "nn.utils.weight_norm(filled(nn.Linear(3, 4)), dim=None)(x(2, 3))",
        (2, 4),
        -1.6510809391437498,
        0.3176076839126587,
    ),
    "orthogonal": (
        "parametrizations.orthogonal(filled(nn.Linear(3, 3)))(x(2, 3))",
        (2, 3),
        -2.7034201215016083,
        2.3939883023672652,
    ),
    "pads": (
        "nn.ReflectionPad2d((1, 2, 0, 1))(nn.CircularPad1d(1)(nn.ReplicationPad3d(1)("
        "nn.ConstantPad2d((0, -1, 1, 0), 2.0)(x(1, 2, 2, 3)))[0]))",
        (4, 6, 9),
        -1.6614483366610875,
        3.1882316173079857,
    ),
}


def wave(*shape: int, phase: float = 0.0) -> nbgrad.Tensor:
    """Numbers without symmetry, the same everywhere."""
    return (nbgrad.arange(math.prod(shape), dtype=DOUBLE) * 1.3 + phase).cos().reshape(shape)


def filled(module: nn.Module) -> nn.Module:
    """The module in double precision, with parameters and buffers that follow from their places."""
    module.double()
    with nbgrad.no_grad():
        for k, part in enumerate([*module.parameters(), *module.buffers()]):
            if part.is_floating_point():
                part.copy_((nbgrad.arange(part.numel(), dtype=DOUBLE) * 0.7 + k).sin().reshape(part.shape) * 0.3 + 0.5)
    return module


def names(leaf: Callable) -> dict:
    """What the expressions mention; ``leaf`` makes the operands with gradients."""
    return {
        "nn": nn,
        "F": F,
        "parametrizations": parametrizations,
        "x": leaf,
        "y": lambda *shape: leaf(*shape, phase=0.5),
        "filled": filled,
        "whole": lambda *shape, below: (nbgrad.arange(math.prod(shape)) * 7 % below).reshape(shape),
        "offsets": lambda *values: nbgrad.tensor(values),
    }


@pytest.mark.parametrize("name", NUMBERS)
def test_layers_have_torch_s_numbers(name):
    """Results, and gradients of all operands."""
    expression, shape, total, gradients = NUMBERS[name]
    leaves = []

    def leaf(*shape, phase=0.0):
        leaves.append(wave(*shape, phase=phase).requires_grad_())
        return leaves[-1]

    out = eval(expression, names(leaf))
    assert tuple(out.shape) == shape
    made = (out * wave(*shape, phase=2.0)).sum()
    assert made.item() == pytest.approx(total, rel=1e-6, abs=1e-9)
    found = nbgrad.grad(made, leaves, allow_unused=True)
    sums = sum((g * wave(*g.shape, phase=3.0)).sum() for g in found if g is not None)
    assert sums.item() == pytest.approx(gradients, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", ["interpolate bicubic", "grid_sample reflection", "embedding_bag mean", "ctc_loss", "bilinear"])
def test_derivatives_are_those_of_differences(name):
    """Of first and second order, and in forward mode, by the first operand; and in a batch the results one by one."""
    expression = NUMBERS[name][0]
    first = []

    def run(value):
        first[:] = [value]
        return eval(expression, names(lambda *shape, phase=0.0: first.pop() if first else wave(*shape, phase=phase)))

    def shown(*shape, phase=0.0):
        first.append(wave(*shape, phase=phase))
        return first[-1]

    eval(expression, names(shown))
    x = first[0].requires_grad_()
    assert nbgrad.autograd.gradcheck(run, (x,), check_forward_ad=True, fast_mode=True)
    assert nbgrad.autograd.gradgradcheck(run, (x,), fast_mode=True)
    x, moved = x.detach(), x.detach() * 0.7
    if name != "ctc_loss":  # it looks at its targets, which are the same
        batch = nbgrad.vmap(run)(nbgrad.stack([x, moved]))
        assert batch[0].allclose(run(x)) and batch[1].allclose(run(moved))


MADE = {
    "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)": (lambda: nn.Bilinear(2, 3, 4), "weight bias"),
    "Unflatten(dim=1, unflattened_size=(2, 3))": (lambda: nn.Unflatten(1, (2, 3)), ""),
    "PixelShuffle(upscale_factor=2)": (lambda: nn.PixelShuffle(2), ""),
    "ChannelShuffle(groups=2)": (lambda: nn.ChannelShuffle(2), ""),
    "ZeroPad2d((1, 1, 1, 1))": (lambda: nn.ZeroPad2d(1), ""),
    "ConstantPad1d(padding=(1, 2), value=3.5)": (lambda: nn.ConstantPad1d((1, 2), 3.5), ""),
    "Upsample(scale_factor=2.0, mode='nearest')": (lambda: nn.Upsample(scale_factor=2), ""),
    "UpsamplingBilinear2d(size=3, mode='bilinear')": (lambda: nn.UpsamplingBilinear2d(size=3), ""),
    "EmbeddingBag(3, 4, max_norm=1.0, mode='mean', padding_idx=0)": (lambda: nn.EmbeddingBag(3, 4, 1.0, padding_idx=0), "weight"),
    "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)": (
        lambda: nn.InstanceNorm2d(3),
        "",
    ),
    "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)": (lambda: nn.LocalResponseNorm(2), ""),
    "LazyLinear(in_features=0, out_features=3, bias=True)": (lambda: nn.LazyLinear(3), "weight bias"),
}


@pytest.mark.parametrize("text", MADE)
def test_printed_forms_and_keys_are_torch_s(text):
    """What is printed, and the keys of states."""
    make, keys = MADE[text]
    assert repr(make()) == text and list(make().state_dict()) == keys.split()


def test_rearranging_undoes_itself():
    """Pixels shuffled and back; a dimension split and joined; channels shuffled by a transposed number of groups."""
    x = wave(2, 8, 4, 6)
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).equal(x)
    assert nn.Unflatten(1, (2, -1))(x).flatten(1, 2).equal(x)
    assert F.channel_shuffle(F.channel_shuffle(x, 2), 4).equal(x)


def test_batches_of_nothing_give_nothing():
    """Of the shape that one sample would give."""
    nothing = wave(0, 4, 3, 3)
    assert F.interpolate(nothing, scale_factor=2, mode="bilinear").shape == (0, 4, 6, 6)
    assert F.grid_sample(nothing, wave(0, 2, 5, 2), align_corners=False).shape == (0, 4, 2, 5)
    assert F.pixel_shuffle(nothing, 2).shape == (0, 1, 6, 6) and F.channel_shuffle(nothing, 2).shape == nothing.shape
    assert F.local_response_norm(nothing, 2).shape == nothing.shape and nn.InstanceNorm2d(4)(nothing).shape == nothing.shape
    assert F.bilinear(wave(0, 2), wave(0, 3), wave(4, 2, 3)).shape == (0, 4)
    assert F.embedding_bag(nbgrad.zeros(0, 3, dtype=nbgrad.int64), wave(4, 2)).shape == (0, 2)


def test_a_batch_without_sequences_and_targets_that_do_not_fit():
    """The loss of a target that is too long is infinite, or 0 without a gradient; an empty target is all blanks."""
    x = wave(2, 1, 4).requires_grad_()
    target = nbgrad.tensor([[1, 1, 2]])
    assert F.ctc_loss(x.log_softmax(-1), target, [2], [3]).item() == math.inf
    loss = F.ctc_loss(x.log_softmax(-1), target, [2], [3], zero_infinity=True)
    assert loss.item() == 0 and nbgrad.grad(loss, x)[0].equal(nbgrad.zeros_like(x))
    empty = F.ctc_loss(x.log_softmax(-1), target, [2], [0], reduction="none")
    assert empty.allclose(-x.log_softmax(-1)[:, :, 0].sum(0))
    assert F.ctc_loss(wave(2, 0, 4), target[:0], [], [], reduction="none").shape == (0,)


def test_the_least_likely_paths_count_where_no_others_end():
    """Of a target whose classes have chances of e**-80 a step in float32, behind steps in which blanks are all but certain."""
    x = nbgrad.full((40, 1, 3), -80.0)
    x[:, :, 0] = 0.0
    loss = F.ctc_loss(x, nbgrad.tensor([[1, 2, 1, 2, 1]]), [40], [5], reduction="none")
    assert loss.item() == pytest.approx(400 - math.log(math.comb(40, 5)), rel=1e-6)


@pytest.mark.parametrize("padding_mode, expected", [("zeros", math.nan), ("border", 5.0), ("reflection", 5.0)])
def test_places_that_are_no_numbers(padding_mode, expected):
    """The padding takes NaN to the first element, as torch's does; without it there is no number."""
    x = nbgrad.tensor([[[[5.0, 1.0], [2.0, 3.0]]]])
    found = F.grid_sample(x, nbgrad.full((1, 1, 1, 2), math.nan), padding_mode=padding_mode, align_corners=False)
    assert found.item() == pytest.approx(expected, nan_ok=True)


def test_what_lies_outside_of_a_sampled_tensor_is_not_read():
    """Neither beside an infinite element, nor behind it, where a tap of weight 0 would make it NaN."""
    x = nbgrad.tensor([[[[1.0, math.inf]]]])
    assert F.grid_sample(x, nbgrad.tensor([[[[3.0, 0.0]]]]), align_corners=True).item() == 0.0
    border = F.grid_sample(x, nbgrad.tensor([[[[3.0, 0.0]]]]), padding_mode="border", align_corners=True)
    assert border.item() == math.inf


def test_nearest_elements_have_slopes_of_zero():
    """By the places at which they are looked up; a gradient of zeros."""
    grid = wave(1, 2, 2, 2).requires_grad_()
    F.grid_sample(wave(1, 3, 4, 4), grid, "nearest", align_corners=False).sum().backward()
    assert grid.grad.equal(nbgrad.zeros(1, 2, 2, 2, dtype=grid.dtype))


def test_gumbel_softmax_draws_by_the_probabilities():
    """One class each, as often as its probability says, with the gradients of the soft result."""
    nbgrad.manual_seed(0)
    logits = nbgrad.tensor([0.0, math.log(3.0)]).expand(4000, 2).clone().requires_grad_()
    drawn = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert set(drawn.unique().tolist()) == {0.0, 1.0} and 0.7 < drawn[:, 1].mean() < 0.8
    assert nbgrad.grad(drawn[:, 1].sum(), logits)[0].abs().sum() > 0
    assert F.gumbel_softmax(logits).sum(-1).allclose(nbgrad.ones(4000))


def test_parametrized_tensors_are_computed_and_assigned():
    """The object stays, gradients reach it; an assignment goes through the inverse; several follow one another; and back again."""

    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    layer = nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Double())
    assert layer.parametrizations.weight.original is weight and layer.weight.equal(before)
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    layer(nbgrad.ones(1, 2)).sum().backward()
    assert weight.grad.equal(nbgrad.full((2, 2), 2.0))
    layer.weight = nbgrad.ones(2, 2)
    assert weight.equal(nbgrad.full((2, 2), 0.5)) and layer.weight.equal(nbgrad.ones(2, 2))
    parametrize.register_parametrization(layer, "weight", nn.Tanh())
    assert layer.weight.allclose(nbgrad.ones(2, 2).tanh()) and list(dict(layer.named_parameters())) == [
        "bias",
        "parametrizations.weight.original",
    ]
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    assert nbgrad.compile(layer)(nbgrad.ones(1, 2)).allclose(layer(nbgrad.ones(1, 2)))
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is weight and weight.allclose(nbgrad.ones(2, 2).tanh())
    with pytest.raises(nbgrad.ShapeError, match="unsafe"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))
    with pytest.raises(nbgrad.RangeError, match="no parameter"):
        parametrize.register_parametrization(layer, "weights", nn.Tanh())


def test_what_is_computed_of_a_copy_does_not_change_the_other_one():
    """A copy has more that is computed, or less, while the module it is of stays as it was."""
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Tanh())
    more, less = deepcopy(layer), deepcopy(layer)
    parametrize.register_parametrization(more, "bias", nn.Tanh())
    parametrize.remove_parametrizations(less, "weight")
    for module, names in ((layer, {"weight"}), (more, {"weight", "bias"}), (less, set())):
        assert {name for name in ("weight", "bias") if parametrize.is_parametrized(module, name)} == names
        assert module.weight.equal(layer.parametrizations.weight.original.tanh())
        assert module.bias.equal(layer.bias.tanh() if "bias" in names else layer.bias)


@pytest.mark.parametrize("norm", [nn.utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm_finds_the_largest_singular_value(norm):
    """After some calls the weight has norm 1; in evaluation nothing moves; without it the weight stays."""
    layer = norm(filled(nn.Linear(4, 3)))
    for _ in range(30):
        layer(wave(1, 4))
    assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1.0, rel=1e-6)
    state = [each.clone() for each in layer.eval().buffers()]
    layer(wave(1, 4)).sum().backward()
    assert all(a.equal(b) for a, b in zip(state, layer.buffers())) and all(p.grad is not None for p in layer.parameters())


@pytest.mark.parametrize(("rows", "columns"), [(5, 3), pytest.param(3, 3, marks=SLOW), pytest.param(2, 4, marks=SLOW)])
@pytest.mark.parametrize("way", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_stay_orthogonal(rows, columns, way):
    """Whatever their parameters become, by a step along the gradient too."""
    layer = parametrizations.orthogonal(filled(nn.Linear(columns, rows)), orthogonal_map=way)
    optimizer = nbgrad.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(2):
        (layer(wave(2, columns)) ** 3).sum().backward()
        optimizer.step()
        weight = layer.weight.detach().numpy()
        product = weight @ weight.T if rows < columns else weight.T @ weight
        np.testing.assert_allclose(product, np.eye(min(rows, columns)), atol=1e-10)


def test_weight_norm_splits_length_and_direction():
    """Nothing changes at first; the lengths are those of rows; and it can be taken back, of what the lengths are now."""
    layer = filled(nn.Linear(3, 2))
    before = layer(wave(1, 3)).detach()
    rows = layer.weight.detach().norm(dim=1, keepdim=True)
    assert nn.utils.weight_norm(layer)(wave(1, 3)).allclose(before) and layer.weight_g.allclose(rows)
    with nbgrad.no_grad():
        layer.weight_g.mul_(2)
    assert (layer(wave(1, 3)) - layer.bias).allclose(2 * (before - layer.bias))
    with nbgrad.no_grad():
        layer.weight_g.div_(2)
    nn.utils.remove_weight_norm(layer)
    assert layer(wave(1, 3)).allclose(before) and isinstance(layer.weight, nn.Parameter)
    with pytest.raises(nbgrad.RangeError, match="not computed"):
        nn.utils.remove_weight_norm(layer)


def test_lazy_modules_become_others():
    """At the first call, with the same parameters, which an optimizer may hold already."""
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2, bias=False))
    parameters = list(model.parameters())
    optimizer = nbgrad.optim.SGD(parameters, lr=0.1)
    model(nbgrad.ones(3, 5)).sum().backward()
    optimizer.step()
    assert [type(each) for each in model] == [nn.Linear, nn.BatchNorm1d, nn.Linear]
    assert all(a is b for a, b in zip(parameters, model.parameters()))
    assert [tuple(p.shape) for p in parameters] == [(4, 5), (4,), (4,), (4,), (2, 4)] and type(parameters[0]) is nn.Parameter
    assert tuple(model[1].running_var.shape) == (4,) and model(nbgrad.ones(3, 5)).shape == (3, 2)


def test_first_values_of_kernels_and_sparse_columns():
    """A Dirac kernel has a one at its centre for each channel, in each group; sparse columns have as many zeros as they must."""
    made = nn.init.dirac_(nbgrad.empty(4, 2, 3, 3), groups=2)
    assert made.sum() == 4 and all(made[k, k % 2, 1, 1] == 1 for k in range(4))
    made = nn.init.sparse_(nbgrad.empty(10, 3), 0.25, std=2.0)
    assert (made == 0).sum(0).tolist() == [3, 3, 3] and 0.5 < made[made != 0].std() < 4
    assert nn.init.calculate_gain("conv2d") == 1


# What torch asserts, and refuses with ``ValueError``, ``RuntimeError`` or ``TypeError``.
ASSERTED = [
    (AssertionError, "max_val is 2, expected more", lambda: nn.Hardtanh(3, 2)),
    (AssertionError, "expected a row of 5", lambda: nn.Embedding(5, 3, padding_idx=5)),
    (AssertionError, "num_heads 3", lambda: nn.MultiheadAttention(4, 3)),
    (AssertionError, "query has 5 features", lambda: nn.MultiheadAttention(4, 2)(*[wave(3, 2, 5)] * 3)),
]
REFUSED = [
    (RuntimeError, "alpha is 0", lambda: F.celu(wave(2), 0)),
    (RuntimeError, "lambd is -1", lambda: F.softshrink(wave(2), -1)),
    (ValueError, "min_val is 2, max_val is 1", lambda: F.hardtanh(wave(2), 2, 1)),
    (ZeroDivisionError, "norm_type is 0", lambda: F.lp_pool1d(wave(1, 2), 0, 2)),
    (ZeroDivisionError, "0 groups", lambda: nn.GroupNorm(0, 4)),
    (ValueError, "more than one element in a channel", lambda: nn.InstanceNorm1d(3)(wave(2, 3, 1))),
    (ValueError, "expected 4 dimensions", lambda: nn.CrossMapLRN2d(2)(wave(2, 3, 4))),
    (ValueError, "margin is 0", lambda: nn.TripletMarginLoss(margin=0)),
    (RuntimeError, "as many dimensions", lambda: F.triplet_margin_loss(wave(2, 3), wave(3), wave(2, 3))),
    (RuntimeError, "as many dimensions", lambda: F.margin_ranking_loss(wave(2), wave(1, 2), wave(2))),
    (ValueError, "expected its sizes, or 1", lambda: F.gaussian_nll_loss(wave(3), wave(2, 3), wave(2, 3).abs())),
    (RuntimeError, "one for each class", lambda: F.multi_margin_loss(wave(3), nbgrad.tensor(0), weight=wave(2))),
    (TypeError, "expected numbers", lambda: nn.ConvTranspose1d(1, 1, 2, padding="same")),
    (TypeError, "padding is 'same'", lambda: F.conv_transpose1d(wave(1, 1, 3), wave(1, 1, 2), padding="same")),
    (NotImplementedError, "expects 4 dimensions", lambda: F.interpolate(wave(1, 1, 2), 3, mode="bilinear")),
    (TypeError, "a tuple of ints", lambda: nn.Unflatten(1, 4)),
    (ValueError, "input_size is 0", lambda: nn.GRU(0, 4)),
    (TypeError, "hidden_size is 4.0", lambda: nn.GRU(3, 4.0)),
    (
        ValueError,
        "at least the end",
        lambda: F.embedding_bag(bag := nbgrad.tensor([1]), wave(2, 2), bag[1:], include_last_offset=True),
    ),
    (RuntimeError, "expected int64 or uint8", lambda: F.nll_loss(wave(1, 2), nbgrad.tensor([0], dtype=nbgrad.int32))),
    (RuntimeError, "at least one class", lambda: F.cross_entropy(wave(2, 0), wave(2, 0))),
    (RuntimeError, "0-d", lambda: F.glu(wave(1)[0])),
    (AttributeError, "has no parameter 'foo'", lambda: nn.utils.prune.l1_unstructured(nn.Linear(2, 2), "foo", 1)),
    (ValueError, "is not pruned", lambda: nn.utils.prune.remove(nn.Linear(2, 2), "weight")),
    (AttributeError, "no module here", lambda: nn.Sequential().get_submodule("0")),
    (NotImplementedError, "forward is not defined", lambda: nn.Module()(1)),
    (RuntimeError, "value is 1.0, which mode 'reflect'", lambda: F.pad(wave(1, 3), (1, 1), "reflect", 1.0)),
    (ValueError, "mode is 'wrap', expected", lambda: F.pad(wave(1, 3), (0, 0), "wrap")),
    (TypeError, "numbers in pairs", lambda: F.pad(wave(1, 3), 1)),
    (RuntimeError, "p is -1", lambda: nbgrad.cdist(wave(2, 2), wave(2, 2), -1)),
    (RuntimeError, "p is -1", lambda: F.pdist(wave(2, 2), -1)),
    (RuntimeError, "no classes to count", lambda: F.one_hot(nbgrad.tensor([], dtype=nbgrad.int64))),
    (RuntimeError, "no running_mean", lambda: F.batch_norm(wave(2, 2), None, None)),
    (RuntimeError, "no running_mean", lambda: F.instance_norm(wave(2, 2, 2), use_input_stats=False)),
    (AssertionError, "expected two dimensions", lambda: nn.Embedding.from_pretrained(wave(3))),
    (RuntimeError, "bilinear: got", lambda: F.bilinear(wave(1)[0], wave(1), wave(1, 1, 1))),
]


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (nbgrad.RangeError, "expected one of both", lambda: F.interpolate(wave(1, 1, 2))),
        (nbgrad.RangeError, "align_corners", lambda: F.interpolate(wave(1, 1, 2), 3, align_corners=True)),
        (nbgrad.RangeError, "mode is", lambda: F.interpolate(wave(1, 1, 2), 3, mode="quintic")),
        (nbgrad.ShapeError, "expects 4 dimensions", lambda: F.interpolate(wave(1, 1, 2), 3, mode="bicubic")),
        (nbgrad.ShapeError, "positive", lambda: F.interpolate(wave(1, 1, 2), 0)),
        (nbgrad.ShapeError, "grid", lambda: F.grid_sample(wave(1, 1, 2, 2), wave(2, 1, 1, 2))),
        (nbgrad.RangeError, "padding_mode", lambda: F.grid_sample(wave(1, 1, 2, 2), wave(1, 1, 1, 2), padding_mode="none")),
        (nbgrad.ShapeError, "multiple of 4", lambda: F.pixel_shuffle(wave(6, 2, 2), 2)),
        (nbgrad.ShapeError, "2 divides", lambda: F.pixel_unshuffle(wave(6, 3, 2), 2)),
        (nbgrad.RangeError, "positive", lambda: F.channel_shuffle(wave(1, 6, 2), 0)),
        (nbgrad.RangeError, "a number or 4", lambda: nn.ZeroPad2d((1, 2))),
        (nbgrad.ShapeError, "dimensions", lambda: nn.ReflectionPad1d(1)(wave(3))),
        (nbgrad.ArgumentError, "expected a Module", lambda: parametrize.register_parametrization(nn.ReLU(), "weight", abs)),
        (nbgrad.RangeError, "no offsets", lambda: F.embedding_bag(nbgrad.tensor([1]), wave(2, 2))),
        (nbgrad.NotSupportedError, "per_", lambda: F.embedding_bag(wave(1, 1).long(), wave(2, 2), per_sample_weights=wave(1, 1))),
        (nbgrad.ShapeError, "one shape", lambda: F.embedding_bag(wave(1, 1).long(), wave(2, 2), per_sample_weights=wave(1))),
        *ASSERTED,
        *REFUSED,
        (nbgrad.RangeError, "classes", lambda: F.ctc_loss(wave(2, 1, 3), nbgrad.tensor([[5]]), [2], [1])),
        (nbgrad.RangeError, "from 0 to 2", lambda: F.ctc_loss(wave(2, 1, 3), nbgrad.tensor([[1]]), [3], [1])),
        (nbgrad.RangeError, "cutoffs", lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2])),
        (nbgrad.ShapeError, "expected \\(\\*, in1\\)", lambda: F.bilinear(wave(1, 2), wave(1, 2), wave(1, 2, 3))),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(error, match, call):
    """Sizes, options and numbers, named in the message."""
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("begins", [[1], [0, 2, 1], [0, 3]])
def test_offsets_that_begin_no_bags_are_refused(begins):
    """They rise from 0, and none lies behind the input: otherwise rows would be counted to no bag, or to a wrong one."""
    with pytest.raises(nbgrad.RangeError, match=rf"offsets are \[{begins[0]}.*expected to rise from 0 to at most 2"):
        F.embedding_bag(nbgrad.tensor([0, 1]), wave(2, 2), nbgrad.tensor(begins))


def test_pruned_parameters_are_masked_and_can_be_made_plain():
    """Masks multiply one another; a second pruning looks at what is left; several parameters can be pruned as one."""
    layer = filled(nn.Linear(4, 3))
    before = layer.weight.detach().clone()
    prune.l1_unstructured(layer, "weight", 5)
    least = before.abs().flatten().sort().values[4]
    assert layer.weight.equal(before * (before.abs() > least)) and list(layer.state_dict()) == [
        "bias",
        "weight_orig",
        "weight_mask",
    ]
    prune.l1_unstructured(layer, "weight", 0.5)  # of the seven that are left, rounded to the even number
    assert int((layer.weight == 0).sum()) == 5 + 4
    prune.ln_structured(layer, "weight", 1, 2, 0)
    assert bool((layer.weight == 0).all(1).any())
    layer(wave(2, 4)).sum().backward()
    assert ((layer.weight_orig.grad == 0) == (layer.weight_mask == 0)).all()
    kept = layer.weight.detach().clone()
    assert prune.is_pruned(layer) and prune.remove(layer, "weight").weight.equal(kept) and not prune.is_pruned(layer)
    model = nn.Sequential(filled(nn.Linear(4, 2)), filled(nn.Linear(2, 3)))
    whole = nbgrad.cat([each.weight.detach().flatten() for each in model])
    prune.global_unstructured([(each, "weight") for each in model], prune.L1Unstructured, amount=4)
    assert nbgrad.cat([each.weight.flatten() for each in model]).equal(whole * (whole.abs() > whole.abs().sort().values[3]))
    with pytest.raises(nbgrad.RangeError, match="at most 12"):
        prune.random_unstructured(nn.Linear(4, 3), "weight", 13)


@pytest.mark.parametrize(
    ("lazy", "plain", "shape"),
    [(nn.LazyConv2d, nn.Conv2d, (1, 4, 6, 5)), pytest.param(nn.LazyConvTranspose1d, nn.ConvTranspose1d, (4, 6), marks=SLOW)],
)
def test_lazy_convolutions_and_norms_that_are_fused(lazy, plain, shape):
    """The channels are those of a batch's or a sample's; a norm in evaluation becomes part of the layer before it."""
    layer = lazy(6, 3, groups=2)
    layer(nbgrad.ones(shape))
    assert type(layer) is plain and layer.in_channels == 4 and layer.weight.shape == plain(4, 6, 3, groups=2).weight.shape
    layer = filled(plain(4, 6, 3))
    norm, x = filled(nn.SyncBatchNorm(6)).eval(), wave(*((1,) * (len(shape) == 2)), *shape)
    one = nn.utils.fuse_conv_bn_eval(layer.eval(), norm, transpose=plain is nn.ConvTranspose1d)
    assert one(x).allclose(norm(layer(x)))


def test_tensors_that_are_marked_become_buffers():
    """Where they are assigned, persistent or not; they are plain tensors to everything else."""
    module = nn.Linear(2, 2)
    module.mean, module.passing = nn.Buffer(nbgrad.zeros(2)), nn.Buffer(nbgrad.ones(2), persistent=False)
    assert list(module.state_dict()) == ["weight", "bias", "mean"] and len(list(module.buffers())) == 2
    assert isinstance(module.mean, nn.Buffer) and not isinstance(module.mean + 1, nn.Buffer) and not isinstance(1, nn.Buffer)
    module.mean = nbgrad.ones(3)
    assert module.double().state_dict()["mean"].tolist() == [1, 1, 1] and module.mean.dtype is DOUBLE


def test_names_of_programs_for_many_devices_and_old_ones():
    """``DataParallel`` calls its module; batch norms become synchronised ones with their parameters; old names warn."""
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    x, weight = nbgrad.ones(4, 2), model[1].weight
    assert nn.DataParallel(model)(x).equal(model(x)) and next(iter(nn.DataParallel(model).state_dict())) == "module.0.weight"
    made = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(made[1]) is nn.SyncBatchNorm and made[1].weight is weight and made(x).shape == (4, 3)
    with pytest.warns(FutureWarning, match="constant"):
        assert nn.init.constant(nbgrad.empty(2), 3).tolist() == [3, 3]


def test_fractional_pools_take_the_windows_of_torch():
    """For given samples, of images with and without a batch and of volumes; the gradient goes to the greatest numbers."""
    x, samples = (nbgrad.arange(20.0) * 2).sin().reshape(1, 1, 4, 5), nbgrad.tensor([[[0.3, 0.8]]])
    values, places = F.fractional_max_pool2d(x, 2, (2, 3), return_indices=True, _random_samples=samples)
    assert places.flatten().tolist() == [1, 7, 4, 10, 16, 13] and values.equal(x.flatten()[places])
    volume = x.reshape(1, 4, 1, 5).expand(1, 4, 4, 5)
    found, where = nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5, 0.6), return_indices=True)(volume)
    assert found.shape == (1, 2, 2, 3) and found.equal(volume.flatten()[where])
    pool = nn.FractionalMaxPool2d(2, 2, _random_samples=samples)
    assert nbgrad.gradcheck(pool, (x.double().requires_grad_(),)) and list(pool.state_dict()) == ["_random_samples"]
    assert nbgrad.compile(pool)(x).equal(pool(x))
    for call, message in (
        (lambda: nn.FractionalMaxPool2d(2), "expected one of them"),
        (lambda: F.fractional_max_pool2d(x, 2, 3, 0.5), "expected one of them"),
        (lambda: F.fractional_max_pool2d(x, 2, output_ratio=1.5), "numbers between 0 and 1"),
        (lambda: F.fractional_max_pool2d(x, (2, 2, 2), 2), "kernel_size is"),
        (lambda: F.fractional_max_pool2d(x, 2, output_ratio=(0.5,) * 3), "one or 2"),
        (lambda: F.fractional_max_pool2d(x, 4, 2), "2 windows of 4 in the 4 elements of dimension 2"),
        (lambda: F.fractional_max_pool2d(x[0, 0], 2, 2), "input is"),
        (lambda: F.fractional_max_pool2d(x, 2, 2, _random_samples=samples[0]), "_random_samples is"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_cross_entropy_of_linear_scores():
    """That of the layer's scores, for further dimensions, too, with its options; a mask is no class."""
    loss = filled(nn.LinearCrossEntropyLoss(3, 4, out_features=(2,), bias=True, label_smoothing=0.1))
    x, target = wave(5, 3), nbgrad.tensor([[0, 3], [1, -100], [2, 2], [0, 1], [3, 3]])
    scores = loss.linear(x).reshape(5, 4, 2)
    assert loss(x, target).allclose(F.cross_entropy(scores, target, label_smoothing=0.1))
    assert F.linear_cross_entropy(x[0], loss.linear.weight, nbgrad.tensor(1)).shape == ()
    with pytest.raises(ValueError, match="linear_cross_entropy: input is"):
        F.linear_cross_entropy(x[0], nbgrad.ones(2, 2, 3), nbgrad.tensor(1))
    with pytest.raises(ValueError, match="LinearCrossEntropyLoss: weight is"):
        nn.LinearCrossEntropyLoss(3, 4, weight=nbgrad.ones(3))


def test_buffers_that_wait_for_a_shape():
    """They are buffers of their module, and stay the same object."""
    module = nn.Module()
    module.mean = waiting = nn.parameter.UninitializedBuffer(dtype=DOUBLE)
    assert isinstance(module.mean, nn.UninitializedBuffer) and list(module.buffers()) == [waiting]
    waiting.materialize((2, 3))
    assert module.mean is waiting and not isinstance(waiting, nn.UninitializedBuffer)
    assert module.state_dict()["mean"].shape == (2, 3) and waiting.dtype is DOUBLE


def test_a_summary_of_a_module():
    """Layers in the order of their calls, shared parameters once; mode, hooks and random numbers are as before."""
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, nn.Dropout(), nn.ModuleDict({"own": layer})["own"], nn.LSTM(4, 2)).train()
    model[1].eval()
    model[3].requires_grad_(False)
    state = nbgrad.get_rng_state()
    found = nbgrad.summary(model, input_size=(3, 4))
    assert [(each.name, each.kind, each.depth, each.parameters) for each in found.layers] == [
        ("", "Sequential", 0, 0),
        ("0", "Linear", 1, 20),
        ("1", "Dropout", 1, 0),
        ("0", "Linear", 1, 20),
        ("3", "LSTM", 1, 64),
    ]
    assert found.layers[-1].output == ((3, 2), (1, 2), (1, 2)) and (found.parameters, found.trainable) == (84, 20)
    assert "84 parameters in 336 bytes, 64 of them fixed" in str(found)
    with pytest.raises(nbgrad.ShapeError):
        nbgrad.summary(model, nbgrad.ones(3, 5))
    assert model.training and not model[1].training and state.equal(nbgrad.get_rng_state())
    assert not any(vars(layer._hooks_).values())
    for given in ((), (nbgrad.ones(3, 4), (3, 4))):
        with pytest.raises(TypeError, match="summary: expected inputs"):
            nbgrad.summary(model, *given[:1], **({"input_size": given[1]} if given else {}))


def test_ends_of_bags_are_ends():
    """With ``include_last_offset`` what lies behind the last offset belongs to no bag."""
    table, numbers, ends = nbgrad.arange(10.0).reshape(5, 2), nbgrad.tensor([1, 1, 2, 1, 3]), nbgrad.tensor([0, 2, 2, 4])
    for mode, last in (("sum", [6.0, 8.0]), ("mean", [3.0, 4.0]), ("max", [4.0, 5.0])):
        bags = F.embedding_bag(numbers, table, ends, mode=mode, include_last_offset=True)
        assert bags.tolist()[1:] == [[0.0, 0.0], last]


def test_norms_of_windows_of_infinite_order():
    """The greatest magnitude of each window, and of order minus infinity the least."""
    x = nbgrad.tensor([[3.0, -4.0, 1.0, 2.0]])
    assert F.lp_pool1d(x, nbgrad.inf, 2).tolist() == [[4.0, 2.0]] and F.lp_pool1d(x, -nbgrad.inf, 2).tolist() == [[3.0, 1.0]]


def test_labels_of_bytes():
    """Classes as uint8, which files of images have, are those of int64."""
    scores, labels = wave(3, 4), nbgrad.tensor([3, 0, 1])
    for loss in (F.cross_entropy, F.nll_loss):
        assert loss(scores, labels.to(nbgrad.uint8)) == loss(scores, labels)


def test_parameters_without_a_shape():
    """What a lazy module waits for has no shape and cannot be counted, and says so."""
    weight = nn.LazyLinear(3).weight
    assert str(weight) == "<UninitializedParameter>"
    assert nn.parameter.is_lazy(weight) and not nn.parameter.is_lazy(nn.Parameter(nbgrad.ones(2)))
    assert isinstance(weight, nn.parameter.UninitializedTensorMixin)
    for asked in (lambda: weight.shape, weight.numel, weight.size):
        with pytest.raises(nbgrad.ShapeError, match="not known yet"):
            asked()


@pytest.mark.parametrize("compute", [lambda w: w.sum(), lambda w: w + 1, nbgrad.exp, nn.init.ones_, lambda w: w.clone()])
def test_parameters_without_a_shape_compute_nothing(compute):
    """The sum of no elements would be 0; what a module does to all of its parameters is done to them."""
    layer = nn.LazyLinear(3)
    with pytest.raises(nbgrad.ShapeError, match=r"no elements yet\. Hint: call the module once"):
        compute(layer.weight)
    weight = copy.deepcopy(layer).double().requires_grad_(False).weight
    assert weight.dtype is nbgrad.float64 and not weight.requires_grad
    weight.materialize((3, 2))
    assert compute(weight).dtype is nbgrad.float64 and type(weight + 1) is nbgrad.Tensor


def test_printed_as_in_torch():
    """Modules whose settings torch prints without their names, and those with a name of their own."""
    named = type("Named", (nn.Module,), {"_get_name": lambda self: "Net", "extra_repr": lambda self: "a=1,\nb=2"})()
    assert [repr(m) for m in (nn.Hardshrink(), nn.Softshrink(0.2))] == ["Hardshrink(0.5)", "Softshrink(0.2)"]
    assert repr(named) == "Net(\n  a=1,\n  b=2\n)"


def test_one_element_between_aligned_corners_is_the_first():
    """A result of size 1 with ``align_corners`` is the first corner, with ``antialias`` too."""
    x = wave(1, 1, 3, 4)
    for antialias in (False, True):
        assert F.interpolate(x, (1, 1), mode="bilinear", align_corners=True, antialias=antialias).item() == x[0, 0, 0, 0].item()


@pytest.mark.parametrize(
    ("mode", "antialias", "wide", "high"),
    [
        ("bilinear", False, [[9, 100, 194], [163, 102, 41]], [[25, 228], [19, 107], [57, 70], [128, 128]]),
        ("bilinear", True, [[14, 88, 163], [117, 89, 61]], [[50, 202], [29, 96], [65, 62], [146, 109]]),
        ("bicubic", False, [[0, 99, 202], [168, 101, 33]], [[11, 255], [3, 98], [47, 55], [110, 159]]),
        ("bicubic", True, [[0, 86, 174], [120, 88, 55]], [[38, 224], [15, 96], [64, 49], [155, 111]]),
    ],
)
def test_interpolation_of_bytes(mode, antialias, wide, high):
    """Pictures of uint8 are resized by whole numbers: to the last bit what torch gives; other integers are refused."""
    x = nbgrad.tensor([[[[0, 50, 200, 255], [10, 20, 30, 40], [255, 0, 255, 0]]]], dtype=nbgrad.uint8)
    found = F.interpolate(x, (2, 3), mode=mode, antialias=antialias)
    assert found.dtype is nbgrad.uint8 and found.tolist() == [[wide]]
    assert F.interpolate(x, (4, 2), mode=mode, antialias=antialias).tolist() == [[high]]
    with pytest.raises(nbgrad.DTypeError, match="floating"):
        F.interpolate(x.int(), (2, 3), mode=mode)
