"""Another size of what a compiled function takes makes no object of machine code."""

import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.kernels.cpu.store import loader
from nbgrad.nn import functional
from nbgrad.testing import assert_close

MODELS = {
    "64x8-16-1": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)),
        lambda n: (nbgrad.randn(n, 8), nbgrad.randn(n, 1)),
        lambda out, y: ((out - y) ** 2).mean(),
        64,
    ),
    "128x64-128-128-10": (
        lambda: nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10)),
        lambda n: (nbgrad.randn(n, 64), nbgrad.randint(0, 10, (n,))),
        functional.cross_entropy,
        128,
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", [optim.SGD, optim.Adam])
def test_another_batch_size_makes_no_object(name, method, unchecked):
    """Kernels and loops are those of the first size; what they compute is what the step computes as it is."""
    make, batch, loss_of, first = MODELS[name]
    nbgrad.manual_seed(0)
    models = [make(), make()]
    models[1].load_state_dict(models[0].state_dict())
    optimizers = [method(model.parameters(), lr=0.01) for model in models]

    def stepping(model, optimizer):
        def step(x, y):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    plain, step = map(stepping, models, optimizers)
    compiled = nbgrad.compile(step, fullgraph=True, limit=20)
    sizes = (first, first, 65, 77, first - 1, 300, 1000, 31, 2)
    for k, n in enumerate(sizes):
        x, y = batch(n)
        want, before = plain(x, y), set(loader().keys())
        got = compiled(x, y)
        assert_close(got, want, rtol=1e-5, atol=1e-6)
        if k > 1:
            assert set(loader().keys()) == before, n
    for p, q in zip(models[0].parameters(), models[1].parameters()):
        assert_close(q, p, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: (nbgrad.tanh(2 * x + 1) * nbgrad.exp(-x * x)).sum(),
        lambda x: x.softmax(1),
        lambda x: (x - x.mean(1, keepdim=True)) / x.var(1, keepdim=True).sqrt(),
        lambda x: x.sum(0) * x.amax(0),
        lambda x: nbgrad.grad((x.log_softmax(1) * x).sum(), x)[0],
        lambda x: (x @ x.mT).tanh().mean(),
    ],
)
def test_loops_and_reductions_have_sizes_as_words(fn, unchecked):
    """Strips, rows and columns: no size is a constant of their code."""
    f = nbgrad.compile(fn, fullgraph=True, limit=20)
    first, *others = [
        nbgrad.randn(*shape, requires_grad=True) for shape in ((80, 100), (96, 70), (65, 129), (300, 200), (1000, 81))
    ]
    f(first)
    fn(others[-1])
    for x in others:
        want, before = fn(x), set(loader().keys())
        got = f(x)
        assert set(loader().keys()) == before, x.shape
        assert_close(got, want, rtol=1e-5, atol=1e-6)
