"""Averages of weights against sums in NumPy, statistics of batch norms, and the learning rates that go with them."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base.errors import ArgumentError, RangeError, RootError, ShapeError
from nbgrad.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)

pytestmark = pytest.mark.usefixtures("device")


def network():
    """Parameters of several shapes, and buffers, one of them an integer."""
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2)).double()


def trained(averaged, model, steps=6):
    """Train ``model`` and average it; the values of all parameters and buffers after every step."""
    o = optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(steps):
        o.zero_grad()
        (model(nbgrad.randn(8, 3, dtype=nbgrad.float64)) ** 2).mean().backward()
        o.step()
        averaged.update_parameters(model)
        history.append([x.detach().cpu().numpy().copy() for x in (*model.parameters(), *model.buffers())])
    return history


def mean(values):
    """Of all models."""
    return np.mean(values, axis=0)


def moving(values):
    """0.75 of what there is remains."""
    found = values[0]
    for x in values[1:]:
        found = 0.75 * found + 0.25 * x
    return found


WAYS = [
    ({}, mean),
    ({"avg_fn": get_swa_avg_fn()}, mean),
    ({"multi_avg_fn": get_swa_multi_avg_fn()}, mean),
    ({"avg_fn": get_ema_avg_fn(0.75)}, moving),
    ({"multi_avg_fn": get_ema_multi_avg_fn(0.75)}, moving),
    ({"avg_fn": lambda averaged, current, count: current}, lambda values: values[-1]),
]


@pytest.mark.parametrize("how, expected", WAYS)
def test_parameters_are_averaged_and_buffers_copied(how, expected):
    """After every update of a model in training; the model itself is left alone."""
    nbgrad.manual_seed(0)
    model = network()
    averaged = AveragedModel(model, **how)
    history = trained(averaged, model)
    count = len(list(model.parameters()))
    for number, x in enumerate((*averaged.module.parameters(), *averaged.module.buffers())):
        values = [each[number] for each in history]
        np.testing.assert_allclose(
            x.detach().cpu().numpy(), expected(values) if number < count else values[-1], rtol=1e-12, atol=1e-14
        )
    assert averaged.n_averaged.item() == len(history)
    assert all(np.array_equal(p.detach().cpu().numpy(), last) for p, last in zip(model.parameters(), history[-1]))
    assert all(p.is_leaf and p.requires_grad and p.grad is None for p in averaged.parameters())


@pytest.mark.parametrize("how, expected", WAYS)
def test_buffers_are_averaged_if_wanted(how, expected):
    """Floating ones as parameters; counts stay integers, cut off at every update."""
    nbgrad.manual_seed(0)
    model = network()
    averaged = AveragedModel(model, use_buffers=True, **how)
    history = trained(averaged, model)
    first = len(list(model.parameters()))
    for number, x in enumerate(averaged.module.buffers(), first):
        if x.is_floating_point():
            np.testing.assert_allclose(x.cpu().numpy(), expected([each[number] for each in history]), rtol=1e-12)
        else:
            assert x.dtype is nbgrad.int64 and 1 <= x.item() <= 6


def test_lists_have_one_dtype():
    """``multi_avg_fn`` is called for every dtype, with the number of models as a tensor."""
    calls = []

    def average(averaged, current, count):
        calls.append((len(averaged), len(current), {x.dtype for x in (*averaged, *current)}, count.item()))

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2, bias=False).double())
    averaged = AveragedModel(model, multi_avg_fn=average)
    averaged.update_parameters(model)
    assert calls == []
    averaged.update_parameters(model)
    assert calls == [(2, 2, {nbgrad.float32}, 1), (1, 1, {nbgrad.float64}, 1)]


def test_an_averaged_model_is_a_module():
    """It computes as the copy does; its state has the names of torch's, and loads; it can be copied."""
    nbgrad.manual_seed(0)
    model = network()
    averaged = AveragedModel(model)
    trained(averaged, model, 3)
    averaged.eval()
    x = nbgrad.randn(5, 3, dtype=nbgrad.float64)
    assert averaged(x).tolist() == averaged.module(x).tolist()
    state = averaged.state_dict()
    assert list(state)[0] == "n_averaged" and {name.partition(".")[0] for name in state} == {"n_averaged", "module"}
    other = AveragedModel(network()).eval()
    other.load_state_dict(state)
    assert other(x).tolist() == averaged(x).tolist() == copy.deepcopy(averaged)(x).tolist()
    assert other.n_averaged.item() == 3


def test_complex_parameters_are_averaged():
    """As real ones are."""
    model = nn.Module()
    model.weight = nn.Parameter(nbgrad.tensor([1.0 + 2.0j]))
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    for value in (1.0 + 2.0j, 3.0 - 2.0j):
        model.weight.data.fill_(value)
        averaged.update_parameters(model)
    assert averaged.module.weight.tolist() == [2.0 + 0.0j]


def test_another_model_is_refused():
    """Before anything is changed."""
    averaged = AveragedModel(nn.Linear(2, 2))
    before = averaged.module.weight.tolist()
    for other in (nn.Linear(2, 3), nn.Linear(2, 2, bias=False)):
        with pytest.raises(ShapeError, match="update_parameters: the model has tensors of shapes"):
            averaged.update_parameters(other)
    assert averaged.module.weight.tolist() == before and averaged.n_averaged.item() == 0
    model = nn.BatchNorm1d(2)
    averaged = AveragedModel(model)
    model.weight.data.fill_(3.0)
    model.register_buffer("further", nbgrad.ones(1))
    with pytest.raises(ShapeError):
        averaged.update_parameters(model)
    assert averaged.module.weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "make, error, builtin, text",
    [
        (lambda: AveragedModel(network(), None, abs, abs), RootError, AssertionError, "both given, expected one"),
        (lambda: AveragedModel(network(), avg_fn=0.9), ArgumentError, TypeError, "expected a function, got float"),
        (lambda: get_ema_avg_fn(1.5), RangeError, ValueError, "get_ema_avg_fn: decay is 1.5"),
        (lambda: get_ema_multi_avg_fn(-0.1), RangeError, ValueError, "get_ema_multi_avg_fn: decay is -0.1"),
        (lambda: SWALR(sgd(), 0.1, anneal_strategy="exp"), RangeError, ValueError, "SWALR: anneal_strategy is exp"),
        (lambda: SWALR(sgd(), 0.1, 1.5), RangeError, ValueError, "anneal_epochs is 1.5"),
        (lambda: SWALR(sgd(), [0.1, 0.2]), RangeError, ValueError, "swa_lr has 2 values, expected one for each of the 1"),
        (lambda: SWALR(None, 0.1), ArgumentError, TypeError, "SWALR: optimizer is a NoneType"),
        (lambda: SWALR(sgd(), 0.1).load_state_dict({"_anneal_strategy": "exp"}), RangeError, ValueError, "is 'exp'"),
    ],
)
def test_mistakes(make, error, builtin, text):
    """Each is told in the house form, by an error that programs for torch catch."""
    with pytest.raises(error, match=text) as found:
        make()
    assert isinstance(found.value, builtin)


def sgd():
    """An optimizer of one parameter."""
    return optim.SGD([nbgrad.ones(1, requires_grad=True)], lr=1.0)


# ---- batch norms -----------------------------------------------------------------------------------------------------


def test_statistics_are_those_of_the_data():
    """The mean over batches of their means and variances; mode and momenta are as before, and no gradient is recorded."""
    nbgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=0.3)).double().eval()
    batches = [nbgrad.randn(8, 3, dtype=nbgrad.float64) for _ in range(3)]
    update_bn([(x, "label") for x in batches], model)
    norm = model[1]
    hidden = [model[0](x).detach().cpu().numpy() for x in batches]
    np.testing.assert_allclose(norm.running_mean.cpu().numpy(), np.mean([x.mean(0) for x in hidden], 0), rtol=1e-12)
    np.testing.assert_allclose(norm.running_var.cpu().numpy(), np.mean([x.var(0, ddof=1) for x in hidden], 0), rtol=1e-12)
    assert (norm.momentum, norm.num_batches_tracked.item(), model.training) == (0.3, 3, False)
    before = norm.running_mean.tolist()
    update_bn((x for x in batches), model)
    assert norm.running_mean.tolist() == before


def test_a_pass_that_fails_leaves_the_mode():
    """Momenta and mode are put back."""
    model = nn.Sequential(nn.BatchNorm1d(4, momentum=0.3)).eval()
    with pytest.raises(ShapeError):
        update_bn([nbgrad.ones(2, 5)], model)
    assert (model[0].momentum, model.training) == (0.3, False)


def test_a_model_without_batch_norms_is_not_called():
    """Nor is its data read."""

    def data():
        raise AssertionError("read")
        yield

    update_bn(data(), nn.Linear(2, 2))


# ---- all of it -------------------------------------------------------------------------------------------------------


def test_a_program_that_averages():
    """The program that people have: a schedule, then SWALR and averages, then statistics; the average is as good as the last."""
    nbgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
    o = optim.SGD(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(o, T_max=20)
    averaged, swa_scheduler = AveragedModel(model), SWALR(o, swa_lr=0.05, anneal_epochs=3)
    data = [nbgrad.randn(16, 3) for _ in range(4)]
    first = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epoch in range(20):
            for x in data:
                o.zero_grad()
                loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
                loss.backward()
                o.step()
                first = loss.item() if first is None else first
            if epoch > 10:
                averaged.update_parameters(model)
                swa_scheduler.step()
            else:
                scheduler.step()
    assert o.param_groups[0]["lr"] == pytest.approx(0.05)
    update_bn(data, averaged)
    averaged.eval()
    final = sum(((averaged(x) - x.sum(1, keepdim=True)) ** 2).mean().item() for x in data) / len(data)
    assert averaged.n_averaged.item() == 9 and final < first / 4
