"""Layers on a GPU give what they give on the CPU: attention, resampling, bags, losses of sequences, parametrized weights."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional as F
from nbgrad.nn.utils import parametrizations

from .emulation import GPUS, in_a_child, launches, on_gpus


@pytest.mark.slow
@pytest.mark.skipif(GPUS > 0, reason="this process has GPUs")
def test_layers_in_a_child():
    """The tests of this file pass on emulated GPUs."""
    in_a_child(__file__, "-k", "as_on_the_cpu or launches")


MASK = (nbgrad.arange(15) % 4 != 1).reshape(3, 5)
TARGETS = nbgrad.tensor([[1, 2], [3, 3]])
NUMBERS, FIRSTS = nbgrad.tensor([0, 1, 4, 2]), nbgrad.tensor([0, 2])
CASES = {
    "attention": (lambda q, k: F.scaled_dot_product_attention(q, k, k, MASK.to(q.device)), (2, 3, 4), (2, 5, 4)),
    "causal attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 3, 4)),
    "bicubic": (lambda x: F.interpolate(x, size=(3, 8), mode="bicubic"), (1, 2, 5, 5)),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g.sin(), padding_mode="reflection", align_corners=False),
        (1, 2, 4, 3),
        (1, 2, 2, 2),
    ),
    "ctc_loss": (lambda x: F.ctc_loss(x.log_softmax(-1), TARGETS.to(x.device), [6, 5], [2, 2]), (6, 2, 4)),
    "embedding_bag": (lambda w: F.embedding_bag(NUMBERS.to(w.device), w, FIRSTS.to(w.device), mode="max"), (5, 3)),
    "embedding": (lambda w: F.embedding(NUMBERS.to(w.device) // 2, w, scale_grad_by_freq=True), (5, 3)),
    "pdist": (F.pdist, (4, 3)),
    "channel_shuffle": (lambda x: F.channel_shuffle(F.pixel_shuffle(x, 2), 2), (1, 8, 2, 3)),
}
LAYERS = {
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0), (3, 2, 8)),
    "spectral_norm": (lambda: parametrizations.spectral_norm(nn.Linear(3, 4)), (2, 3)),
    "orthogonal": (lambda: parametrizations.orthogonal(nn.Linear(3, 5)), (2, 3)),
    "batch_norm": (lambda: nn.BatchNorm2d(3), (2, 3, 2, 2)),
    "instance_norm": (lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True), (2, 3, 4)),
}


def numbers(*shape: int, seed: int = 0) -> nbgrad.Tensor:
    """Normal numbers, the same in every process."""
    return nbgrad.randn(shape, generator=nbgrad.Generator().manual_seed(seed))


def agree(found: list, expected: list) -> None:
    """Equal up to the rounding of single precision, each on its device."""
    for one, other in zip(found, expected):
        assert one.device.type == "cuda" and one.cpu().allclose(other, rtol=1e-4, atol=1e-5)


@on_gpus
@pytest.mark.parametrize("name", CASES)
def test_functions_as_on_the_cpu(name):
    """Results and gradients."""
    function, *shapes = CASES[name]

    def run(device):
        leaves = [numbers(*shape, seed=k).to(device).requires_grad_() for k, shape in enumerate(shapes)]
        out = function(*leaves)
        return [out, *nbgrad.grad((out * out).sum(), leaves)]

    agree(run("cuda"), run("cpu"))


@on_gpus
@pytest.mark.parametrize("name", LAYERS)
def test_layers_as_on_the_cpu(name):
    """Results and gradients of parameters, of a layer that moves to the GPU with its buffers."""
    make, shape = LAYERS[name]
    nbgrad.manual_seed(0)
    here = make()
    there = make().to("cuda")
    there.load_state_dict(here.state_dict())

    def run(layer, device):
        (layer(numbers(*shape).to(device)) ** 2).sum().backward()
        return [parameter.grad for parameter in layer.parameters()]

    agree(run(there, "cuda"), run(here, "cpu"))


@on_gpus
def test_a_batch_norm_is_a_few_launches():
    """Two folds of two launches each, the elements, the moments, and running statistics; back four launches of folds and two of
    elements; one where the statistics are known.
    """
    layer, x = nn.BatchNorm2d(8).to("cuda"), numbers(4, 8, 6, 6).to("cuda").requires_grad_()
    layer(x).backward(numbers(4, 8, 6, 6).to("cuda"))
    found, outs, parameters = [], [], [x, *layer.parameters()]
    found.append(launches(lambda: outs.append(layer(x))))
    found.append(launches(lambda: nbgrad.grad(outs[0], parameters, outs[0].detach())))
    layer.eval()(x)
    found.append(launches(lambda: layer(x)))
    assert found == [10, 6, 1]


@on_gpus
def test_sparse_gradients_and_a_graph_convolution_as_on_the_cpu():
    """Steps of SparseAdam by a sparse gradient; a sparse adjacency, in either layout, times features, and gradients of both."""

    def run(device):
        table = nn.Embedding(4, 2, sparse=True, _weight=numbers(4, 2)).to(device)
        optimizer = nbgrad.optim.SparseAdam(table.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            table(nbgrad.tensor([1, 2, 1], device=device)).square().sum().backward()
            optimizer.step()
        found = [table.weight, table.weight.grad.to_dense(), nn.utils.clip_grad_norm_(table.parameters(), 1.0)]
        places, features = nbgrad.tensor([[0, 1, 1, 3], [2, 0, 2, 1]], device=device), numbers(3, 2).to(device).requires_grad_()
        values = numbers(4).to(device).requires_grad_()
        adjacency = nbgrad.sparse_coo_tensor(places, values, (4, 3))
        out = adjacency @ features + adjacency.to_sparse_csr() @ features
        return [*found, out, *nbgrad.grad(out.square().sum(), (values, features))]

    agree(run("cuda"), run("cpu"))
