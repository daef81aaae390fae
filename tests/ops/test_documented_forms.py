"""Forms of calls that torch documents and that nothing else here makes: dtypes of results, names of arguments, odd operands."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn


@pytest.mark.parametrize("dtype", [nbgrad.int32, nbgrad.int64])
def test_numbers_that_are_repeated_have_the_dtype_of_the_repeats(dtype):
    """``repeat_interleave`` of repeats alone counts in their dtype, if torch has indices of it."""
    found = nbgrad.repeat_interleave(nbgrad.tensor([2, 0, 1], dtype=dtype))
    assert found.tolist() == [0, 0, 2] and found.dtype is dtype


def test_truth_values_are_added_at_indices():
    """A factor says whether they are added at all."""
    x, index, source = nbgrad.tensor([True, False]), nbgrad.tensor([0, 1]), nbgrad.tensor([False, True])
    for alpha in (1, -1, 2):
        assert x.index_add(0, index, source, alpha=alpha).tolist() == [True, True]
    assert x.clone().index_add_(0, index, source, alpha=0).tolist() == [True, False]


def test_members_are_written_to_out():
    """``isin`` takes ``out``."""
    out = nbgrad.empty(2, dtype=nbgrad.bool)
    assert nbgrad.isin(nbgrad.tensor([4, 5]), nbgrad.tensor([5]), out=out) is out and out.tolist() == [False, True]


def test_memory_in_an_order_of_dimensions():
    """``empty_permuted`` gives strides, on memory without gaps, and no view."""
    x = nbgrad.empty_permuted((2, 3, 5), (1, 2, 0), dtype=nbgrad.float16, requires_grad=True)
    assert x.shape == (2, 3, 5) and x.stride() == (1, 10, 2) and x.dtype is nbgrad.float16
    assert x.is_leaf and x.requires_grad and x._base is None and x.untyped_storage().nbytes() == 60
    with pytest.raises(nbgrad.ShapeError, match="each of 2 dimensions once"):
        nbgrad.empty_permuted((2, 3), (0, 0))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_segments_without_slices(name):
    """An empty segment is what its reduction starts with; gradients of its neighbours are finite."""
    x = nbgrad.tensor([3.0, -2.0], requires_grad=True)
    out = nbgrad.segment_reduce(x, name, lengths=nbgrad.tensor([1, 0, 1]))
    empty = {"sum": "0.0", "mean": "nan", "max": "-inf", "min": "inf", "prod": "1.0"}[name]
    assert out[::2].tolist() == [3.0, -2.0] and str(out[1].item()) == empty
    out[::2].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_segments_between_offsets():
    """Offsets say where segments begin; what lies behind the last is left out if that is not looked at."""
    x = nbgrad.arange(5.0)
    assert nbgrad.segment_reduce(x, "sum", offsets=nbgrad.tensor([0, 1, 5])).tolist() == [0.0, 10.0]
    assert nbgrad._segment_reduce(x, "amax", offsets=nbgrad.tensor([0, 1, 5])).tolist() == [0.0, 4.0]
    assert nbgrad.segment_reduce(x, "amin", offsets=nbgrad.tensor([0, 1, 5])).tolist() == [0.0, 1.0]
    assert nbgrad.segment_reduce(x, "sum", offsets=nbgrad.tensor([0, 1, 3]), unsafe=True).tolist() == [0.0, 3.0]
    with pytest.raises(nbgrad.RangeError, match="a sum of 5"):
        nbgrad.segment_reduce(x, "sum", offsets=nbgrad.tensor([0, 1, 3]))
    with pytest.raises(nbgrad.ArgumentError, match="lengths or offsets"):
        nbgrad.segment_reduce(x, "sum")


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.complex128])
def test_reflections_make_the_decomposition(dtype):
    """``ormqr`` of ``geqrf`` takes a matrix to R, and R back, from both sides."""
    x = nbgrad.tensor([[1.0, 2.0], [-0.5, 1.5], [2.0, 0.25]]).to(dtype)
    x = x * 1j + 1 if dtype.is_complex else x
    a, tau = nbgrad.geqrf(x)
    r = a.triu()
    assert nbgrad.ormqr(a, tau, x, transpose=True).allclose(r, atol=1e-5) and a.ormqr(tau, r).allclose(x, atol=1e-5)
    assert nbgrad.ormqr(a, tau, x.mH, left=False).allclose(r.mH, atol=1e-5)
    assert nbgrad.linalg.householder_product(a, tau).matmul(r[:2]).allclose(x, atol=1e-5)
    with pytest.raises(nbgrad.NotSupportedError):
        nbgrad.geqrf(x.requires_grad_()).a.abs().sum().backward()


def test_points_in_a_grid():
    """``histogramdd`` counts points, or their weights, in cells between given ends or edges."""
    x = nbgrad.tensor([[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]])
    hist, edges = nbgrad.histogramdd(x, 2, range=[0.0, 1.0, 0.0, 2.0], weight=nbgrad.tensor([1.0, 2.0, 4.0]))
    assert hist.tolist() == [[1.0, 0.0], [0.0, 6.0]] and [e.tolist() for e in edges] == [[0.0, 0.5, 1.0], [0.0, 1.0, 2.0]]
    given = [nbgrad.tensor([0.0, 0.75]), nbgrad.tensor([0.0, 1.5])]
    assert nbgrad.histogramdd(x, given).hist.tolist() == [[2.0]]


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.float32, nbgrad.float64])
def test_gradients_pass_through_fake_quantisation(dtype):
    """They are those of a clamp: 1 where there is a level, 0 beside them; NaN stays NaN."""
    x = nbgrad.tensor([-2.0, -0.4, 0.3, 1.2, 9.0, float("nan")], dtype=dtype, requires_grad=True)
    out = nbgrad.fake_quantize_per_tensor_affine(x, 0.5, 1, -1, 3)
    assert str(out.tolist()) == "[-1.0, -0.5, 0.5, 1.0, 1.0, nan]" and out.dtype is dtype
    out[:5].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_channels_have_scales_of_their_own():
    """Scales and zero points are vectors along a dimension, without derivatives by them."""
    x = nbgrad.tensor([[0.3, 0.3], [1.3, 1.3]], requires_grad=True)
    scale, zero = nbgrad.tensor([0.5, 0.25]), nbgrad.tensor([0, 2], dtype=nbgrad.int32)
    out = nbgrad.fake_quantize_per_channel_affine(x, scale, zero, 1, -2, 4)
    assert out.tolist() == [[0.5, 0.25], [1.5, 0.5]]
    assert nbgrad.grad(out.sum(), x)[0].tolist() == [[1.0, 1.0], [1.0, 0.0]]
    with pytest.raises(nbgrad.NotSupportedError, match="scale requires grad"):
        nbgrad.fake_quantize_per_tensor_affine(x, scale[0].requires_grad_(), 0, -2, 4)
    for options in ((9, -2, 4), (0, 4, -2)):
        with pytest.raises(nbgrad.RangeError):
            nbgrad.fake_quantize_per_tensor_affine(x, 0.5, *options)


def test_members_are_taken_out_by_key():
    """``pop`` of containers names its argument as torch does."""
    layers = nn.ModuleList([nn.Tanh(), nn.ReLU()])
    assert isinstance(layers.pop(key=0), nn.Tanh) and len(layers) == 1
    assert isinstance(nn.ModuleDict({"a": nn.Tanh()}).pop(key="a"), nn.Tanh)


def test_distributions_name_what_they_are_given():
    """``icdf`` of the half families takes a probability, and mixtures of one family a value ``x``."""
    families = nbgrad.distributions
    assert families.HalfCauchy(1.0).icdf(prob=nbgrad.tensor(0.5)).item() == pytest.approx(1.0)
    mixture = families.MixtureSameFamily(families.Categorical(nbgrad.ones(2)), families.Normal(nbgrad.tensor([-1.0, 1.0]), 1.0))
    assert mixture.cdf(x=nbgrad.tensor(0.0)).item() == pytest.approx(0.5)
    assert mixture.log_prob(x=nbgrad.tensor(0.0)).item() == pytest.approx(-1.4189385)


def test_hooks_of_nodes_are_given_by_name():
    """``fn`` is the hook."""
    x, seen = nbgrad.ones(2, requires_grad=True), []
    y = x * 2
    y.grad_fn.register_hook(fn=lambda gi, go: seen.append("after"))
    y.grad_fn.register_prehook(fn=lambda go: seen.append("before"))
    y.sum().backward()
    assert seen == ["before", "after"]


def test_weights_of_convolutions_in_another_order():
    """Those of two dimensions change their layout and nothing else; the parameters stay the same objects."""
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv3d(2, 3, 2), nn.Linear(2, 2))
    weights = [layer.weight for layer in model]
    values = [weight.tolist() for weight in weights]
    assert nn.utils.convert_conv2d_weight_memory_format(model, nbgrad.channels_last) is model
    assert [layer.weight.stride() for layer in model] == [(8, 1, 4, 2), (12, 1, 6, 3), (16, 8, 4, 2, 1), (2, 1)]
    nn.utils.convert_conv3d_weight_memory_format(model, nbgrad.channels_last_3d)
    assert model[2].weight.stride() == (16, 1, 8, 4, 2)
    assert all(layer.weight is weight and weight.tolist() == x for layer, weight, x in zip(model, weights, values))


@pytest.mark.parametrize(
    ("x", "y", "floor", "trunc"), [(7, 2, 3, 3), (-7, 2, -4, -3), (7.5, 2, 3.0, 3.0), (True, 2, 0, 0)], ids=str
)
def test_rounded_quotients_of_numbers_alone(x, y, floor, trunc):
    """They are tensors without dimensions, of the numbers' kind; there is no quotient by the integer 0."""
    for found, expected in (
        (nbgrad.div(x, y, rounding_mode="floor"), floor),
        (nbgrad.floor_divide(x, y), floor),
        (nbgrad.div(x, y, rounding_mode="trunc"), trunc),
    ):
        assert (found.item(), type(found.item())) == (expected, type(expected))
    with pytest.raises(nbgrad.DivisionError):
        nbgrad.floor_divide(7, 0)
