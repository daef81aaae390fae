"""Optimizers beside SGD and Adam against torch's numbers, and LBFGS."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base.errors import ArgumentError, DTypeError, NotSupportedError, RangeError, ShapeError
from nbgrad.optim import lbfgs

# What torch 2.13's optimizers with lr=0.05 make of 1, -2, 3 in 100 steps of ``steps``.
ENDS = [
    ("Adadelta", {}, [0.998434922304, -1.99706173228, 2.99558280895]),
    ("Adadelta", {"rho": 0.7, "weight_decay": 0.1, "maximize": True}, [1.00063271072, -2.00107580036, 3.00157298614]),
    ("Adafactor", {}, [-6.4407236228, -8.46837980388, -4.39419166738]),
    ("Adagrad", {}, [0.904963028589, -1.92885622436, 2.78151359511]),
    (
        "Adagrad",
        {"lr_decay": 0.1, "initial_accumulator_value": 0.3, "weight_decay": 0.1},
        [1.00185965873, -1.98176940625, 2.95214362502],
    ),
    ("Adamax", {}, [0.777751323362, -1.62518892959, 2.37964007754]),
    ("Adamax", {"betas": (0.7, 0.8), "weight_decay": 0.1}, [0.311031844254, -1.67545455748, 1.57874224485]),
    ("NAdam", {}, [0.0719918889203, -1.91404043524, 1.44284109031]),
    (
        "NAdam",
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "momentum_decay": 0.1},
        [-0.00276459608198, -1.25507979467, 0.674021651125],
    ),
    ("RAdam", {}, [1.21542401031, -2.41399768698, 3.0947897625]),
    ("RAdam", {"betas": (0.8, 0.95), "weight_decay": 0.1}, [0.582690665576, -1.59361100594, 1.89713494847]),
    ("RMSprop", {}, [-3.82701494929, -5.59365110495, -3.19879657776]),
    ("RMSprop", {"momentum": 0.9}, [-14.5158468189, -1.85008085657, -12.6168795723]),
    ("RMSprop", {"centered": True}, [-4.11984707898, -5.91506723806, -3.97347887728]),
    (
        "RMSprop",
        {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True},
        [-16.2541693468, -18.3483375416, -14.151029313],
    ),
    ("ASGD", {}, [-4.12214851214, -4.51678812241, -3.98528636181]),
    ("ASGD", {"t0": 5, "lambd": 0.1, "weight_decay": 0.1}, [-2.0403503271, -2.20912503761, -1.94613404339]),
    ("Rprop", {}, [-14.526760512, -14.4755203293, -12.505226864]),
    ("Rprop", {"etas": (0.3, 1.5)}, [-10.7563291893, -6.74433125918, -10.6722853913]),
]
# The same of the matrix 1, -2, 3; 0.5, -0.25, 2, with lr=0.02; of Muon, which computes in bfloat16, to what that leaves.
MATRICES = [
    (
        "Adafactor",
        {"lr": 0.05, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 2.0, "weight_decay": 0.1, "maximize": True},
        [-7.78828861684, -9.93136853054, -5.69613901104, -7.81742744435, -7.82406541691, -5.71567742419],
        1e-9,
    ),
    ("Muon", {}, [0.486941, -1.21264, 1.72513, 0.207674, -0.24521, 0.888922], 0.02),
    (
        "Muon",
        {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "momentum": 0.5},
        [0.82871, -1.59998, 2.35463, 0.39722, -0.15757, 1.58053],
        0.02,
    ),
]
# torch keeps some numbers of a step in float32.
ROUNDED = {"NAdam": 1e-6, "ASGD": 1e-5}
KINDS = [getattr(optim, name) for name in dict.fromkeys(name for name, *_ in ENDS)]
IDS = [f"{name} {' '.join(options)}" for name, options, _ in ENDS]


def steps(optimizer, p, first, last):
    """Steps along the gradients of a wavy bowl that moves."""
    for k in range(first, last):
        optimizer.zero_grad()
        (0.1 * (p**2).sum() + (3 * p + 0.5 * k).sin().sum()).backward()
        optimizer.step()


def parameter(*numbers, dtype=nbgrad.float64):
    """A leaf."""
    return nbgrad.tensor(numbers or (1.0, -2.0, 3.0), dtype=dtype, requires_grad=True)


@pytest.mark.parametrize(("name", "options", "end"), ENDS, ids=IDS)
def test_a_hundred_steps(name, options, end):
    """They end where torch's end."""
    p = parameter()
    steps(getattr(optim, name)([p], lr=0.05, **options), p, 0, 100)
    np.testing.assert_allclose(p.detach().numpy(), end, rtol=ROUNDED.get(name, 1e-9))


@pytest.mark.parametrize(("name", "options", "end", "tolerance"), MATRICES)
def test_a_hundred_steps_of_a_matrix(name, options, end, tolerance):
    """They end where torch's end, from a state with torch's names that is loaded on the way, too."""
    p = parameter([1.0, -2.0, 3.0], [0.5, -0.25, 2.0])
    first = getattr(optim, name)([p], **{"lr": 0.02, **options})
    steps(first, p, 0, 40)
    second = getattr(optim, name)([p])
    second.load_state_dict(first.state_dict())
    steps(second, p, 40, 100)
    np.testing.assert_allclose(p.detach().numpy().ravel(), end, rtol=tolerance, atol=tolerance)
    assert {*second.state[p]} == {"Adafactor": {"step", "row_var", "col_var"}, "Muon": {"momentum_buffer"}}[name]


def test_sparse_adam_leaves_rows_alone():
    """They end where torch's end, of which one was never looked up; a scalar that has a gradient moves as with Adam."""
    table = nn.Embedding(4, 2, sparse=True, dtype=nbgrad.float64, _weight=nbgrad.arange(8.0, dtype=nbgrad.float64).reshape(4, 2))
    optimizer = optim.SparseAdam(table.parameters(), lr=0.05)
    for k in range(100):
        optimizer.zero_grad()
        rows = table(nbgrad.tensor([k % 3, 1, k % 2]))
        (rows**2 + (3 * rows).sin()).sum().backward()
        optimizer.step()
    expected = [-0.423653337273, 1.24614021985, 1.24113728214, 1.26207613441, 2.20258750424, 2.91420923422, 6.0, 7.0]
    np.testing.assert_allclose(table.weight.detach().numpy().ravel(), expected, rtol=1e-9)
    p, q = nbgrad.tensor(2.0, requires_grad=True), nbgrad.tensor(2.0, requires_grad=True)
    for x, method in ((p, optim.SparseAdam([p], maximize=True)), (q, optim.Adam([q], maximize=True))):
        (x * x).backward()
        method.step()
    assert p.item() == q.item() > 2


def test_muon_moves_along_singular_vectors():
    """Singular values of the gradient go through the polynomial; a tall matrix is like a wide one, and one of zeros stays."""
    for shape in ((5, 3), (3, 5)):
        p = nbgrad.zeros(*shape, requires_grad=True)
        p.grad = g = nbgrad.randn(shape, generator=nbgrad.Generator().manual_seed(1))
        optim.Muon([p], lr=1.0, weight_decay=0.0, momentum=0.0, nesterov=False, ns_steps=2).step()
        u, values, v = np.linalg.svd(g.numpy(), full_matrices=False)
        values /= np.linalg.norm(values)
        for _ in range(2):
            values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
        np.testing.assert_allclose(p.detach().numpy(), -(max(1, shape[0] / shape[1]) ** 0.5) * (u * values) @ v, atol=0.03)
    p.grad = nbgrad.zeros(3, 5)
    before = p.tolist()
    optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    assert p.tolist() == before


@pytest.mark.parametrize(("name", "options", "end"), ENDS, ids=IDS)
def test_resuming(name, options, end):
    """A state that was saved on the way, with numbers as tensors as torch writes them, goes on the same way."""
    p = parameter()
    first = getattr(optim, name)([p], lr=0.05, **options)
    steps(first, p, 0, 40)
    q = parameter(*p.tolist())
    second = getattr(optim, name)([q])
    saved = first.state_dict()
    for state in saved["state"].values():
        for key, value in state.items():
            state[key] = nbgrad.tensor(float(value), dtype=nbgrad.float64) if isinstance(value, (int, float)) else value
    second.load_state_dict(saved)
    steps(second, q, 40, 100)
    steps(first, p, 40, 100)
    assert q.tolist() == p.tolist()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_several_parameters_are_each_as_if_alone(kind):
    """Also one that joins later, and one without a gradient."""
    alone = [parameter(), parameter(0.5)]
    for p, first in zip(alone, (0, 3)):
        steps(kind([p], lr=0.05), p, first, 6)
    p, q, r = parameter(), parameter(0.5), parameter()
    optimizer = kind([p, q, r], lr=0.05)
    for k in range(6):
        optimizer.zero_grad()
        for x in (p, q)[: 1 + (k > 2)]:
            (0.1 * (x**2).sum() + (3 * x + 0.5 * k).sin().sum()).backward()
        optimizer.step()
    assert [p.tolist(), q.tolist()] == [x.tolist() for x in alone] and r.tolist() == [1.0, -2.0, 3.0]


@pytest.mark.filterwarnings("ignore:.*its class has no varying:UserWarning")
@pytest.mark.parametrize("kind", [*KINDS, optim.Muon], ids=lambda kind: kind.__name__)
def test_compiled_steps(kind):
    """A whole training step as one program has the bits of calls; where it cannot be one, it says so and does the same."""

    def trained(run):
        nbgrad.manual_seed(0)
        model = nn.Linear(3, 1, bias=kind is not optim.Muon)
        optimizer = kind(model.parameters(), lr=0.05)

        def step(x):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        call = run(step)
        for k in range(5):
            call(nbgrad.arange(6.0).reshape(2, 3) + k)
            optimizer.param_groups[0]["lr"] *= 0.9
        return [p.tolist() for p in model.parameters()]

    assert trained(nbgrad.compile) == trained(lambda fn: fn)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: optim.Adadelta(p, rho=1.5), RangeError, "Adadelta: rho is 1.5, expected a number from 0 to 1"),
        (lambda p: optim.Adagrad(p, lr_decay=-1), RangeError, "Adagrad: lr_decay is -1"),
        (lambda p: optim.Adagrad(p, foreach=True, fused=True), NotSupportedError, "fused and foreach"),
        (lambda p: optim.RMSprop(p, alpha=-0.1), RangeError, "RMSprop: alpha is -0.1"),
        (lambda p: optim.RMSprop(p, lr="fast"), ArgumentError, "RMSprop: lr must be a number, got 'fast'"),
        (lambda p: optim.Adafactor(p, beta2_decay=0.1), RangeError, "Adafactor: beta2_decay is 0.1, expected a number that is not"),
        (lambda p: optim.Adafactor(p, eps=1e-3), ArgumentError, "Adafactor: eps is 0.001, expected two numbers"),
        (lambda p: optim.Adafactor(p, d=0.5), RangeError, "Adafactor: d is 0.5"),
        (lambda p: optim.Adafactor([nbgrad.ones(2, dtype=nbgrad.complex64)]), DTypeError, r"Adafactor: params\[0\] is complex64"),
        (lambda p: optim.Muon(p), ShapeError, r"Muon: params\[0\] has shape \(3,\), expected a matrix"),
        (lambda p: optim.Muon(p, adjust_lr_fn="best"), RangeError, "Muon: adjust_lr_fn is 'best'"),
        (lambda p: optim.Muon(p, ns_coefficients=(1, 2)), ArgumentError, "Muon: ns_coefficients is"),
        (lambda p: optim.SparseAdam(p, lr=0), RangeError, "SparseAdam: lr is 0, expected a positive number"),
        (lambda p: optim.Adamax(p, betas=(0.9, 1.0)), RangeError, r"Adamax: betas\[1\] is 1.0"),
        (lambda p: optim.NAdam(p, betas=0.9), ArgumentError, "NAdam: betas is 0.9, expected two numbers"),
        (lambda p: optim.NAdam(p, momentum_decay=-1), RangeError, "NAdam: momentum_decay is -1"),
        (lambda p: optim.ASGD(p, weight_decay=-1), RangeError, "ASGD: weight_decay is -1"),
        (lambda p: optim.Rprop(p, etas=(1.5, 1.2)), RangeError, r"Rprop: etas is \(1.5, 1.2\)"),
        (lambda p: optim.Adadelta(p, differentiable=True, foreach=True), RangeError, "expected neither foreach nor fused"),
        (lambda p: optim.LBFGS(p, line_search_fn="armijo"), RangeError, "line_search_fn is 'armijo', expected None or"),
        (lambda p: optim.LBFGS([{"params": p}, {"params": [parameter()]}]), RangeError, "2 groups of parameters, expected one"),
        (lambda p: optim.LBFGS(p).step(), ArgumentError, "LBFGS.step: there is no closure"),
        (lambda p: optim.LBFGS(p).step(3), ArgumentError, "LBFGS.step: expected a function, got int"),
    ],
)
def test_errors(make, error, message):
    """Options out of range, and what is not supported, are refused with the reason."""
    with pytest.raises(error, match=message):
        make([parameter()])


# ---- LBFGS -----------------------------------------------------------------------------------------------------------


def rosenbrock(x):
    """A narrow, curved valley, whose lowest place is 1."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


# Options; torch 2.13's losses before each of six steps from -1.2, 1, 0.3, 2, the last to the digits that rounding leaves; how often
# the closure was called, and directions.
VALLEYS = [
    ({}, [438.5, 3.77333927789, 3.70142861059, 3.70142861059, 3.70142861059, 3.70142861059], 44, 44),
    (
        {"line_search_fn": "strong_wolfe"},
        [438.5, 3.73765432989, 3.70142861047, 3.70142861047, 3.70142861047, 3.70142861047],
        46,
        39,
    ),
    (
        {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
        [438.5, 4.08464536464, 3.99376090718, 3.80807495758, 3.71969827502, 3.70182914215],
        48,
        36,
    ),
    ({"lr": 0.01, "history_size": 2}, [438.5, 51.8598541415, 15.2098989305, 9.84936228181, 8.45242070506, 7.89718305668], 120, 120),
    (
        {"line_search_fn": "strong_wolfe", "lr": 5.0, "max_eval": 6},
        [438.5, 4.70337692741, 4.0056782339, 3.88382135016, 3.82997034167, 3.75110589775],
        40,
        17,
    ),
]


@pytest.mark.parametrize(("options", "losses", "calls", "directions"), VALLEYS, ids=[str(row[0]) for row in VALLEYS])
def test_lbfgs_goes_the_way_of_torch(options, losses, calls, directions):
    """As many calls of the closure, and the same losses."""
    x = parameter(-1.2, 1.0, 0.3, 2.0)
    optimizer, count, found = optim.LBFGS([x], **options), 0, []

    def closure():
        nonlocal count
        count += 1
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    for _ in losses:
        found.append(optimizer.step(closure).item())
    np.testing.assert_allclose(found, losses, rtol=1e-6, atol=1e-12)
    state = optimizer.state[x]
    assert (state["func_evals"], state["n_iter"]) == (calls, directions) and count == calls


def test_lbfgs_of_several_parameters_is_that_of_one_vector():
    """Of any shapes, with complex ones as pairs, and one without a gradient, which stays."""
    whole = parameter(*(-1.2, 1.0, 0.3, 2.0))
    a, b, z = parameter(-1.2), nbgrad.tensor([[1.0], [0.3]], dtype=nbgrad.float64, requires_grad=True), parameter(5.0)
    c = nbgrad.tensor([2.0 + 0j], dtype=nbgrad.complex128, requires_grad=True)

    def joined():
        return nbgrad.cat([a, b.reshape(-1), nbgrad.view_as_real(c)[:, 0]])

    ends = []
    for params, values in (([whole], lambda: whole), ([a, b, c, z], joined)):
        optimizer = optim.LBFGS(params, line_search_fn="strong_wolfe", max_iter=30)

        def closure(optimizer=optimizer, values=values):
            optimizer.zero_grad()
            loss = rosenbrock(values())
            loss.backward()
            return loss

        optimizer.step(closure)
        ends.append(values().detach().numpy())
    np.testing.assert_allclose(*ends, rtol=1e-6)
    assert z.item() == 5.0


def test_lbfgs_stops_where_the_gradient_is_zero_and_where_the_loss_is_none():
    """The closure is called once at a minimum; NaN ends the search."""
    x = parameter(1.0, 1.0)
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")

    def closure(value=1.0):
        optimizer.zero_grad()
        loss = rosenbrock(x) * value
        loss.backward()
        return loss

    optimizer.step(closure)
    assert optimizer.state[x]["func_evals"] == 1 and x.tolist() == [1.0, 1.0]
    with nbgrad.no_grad():
        x.fill_(3.0)
    assert math.isnan(optimizer.step(lambda: closure(math.nan)).item())


def test_line_search_by_torchs_private_name():
    """Optimizers elsewhere call ``_strong_wolfe``, of any function of place, step and direction; numbers are torch's."""
    weights = nbgrad.tensor([1.0, 4.0], dtype=nbgrad.float64)
    gradient = nbgrad.zeros(2, dtype=nbgrad.float64)

    def loss_and_gradient(x, t, d):
        difference = x + t * d - 3
        gradient.copy_(4 * weights * difference**3)  # one tensor for all calls, as in torch's optimizers
        return (weights * difference**4).sum().item(), gradient

    x = nbgrad.tensor([0.0, 1.0], dtype=nbgrad.float64)
    loss, start = loss_and_gradient(x, 0.0, x)
    direction, start = -start, start.clone()
    found = lbfgs._strong_wolfe(loss_and_gradient, x, 1.0, direction, loss, start, start.dot(direction))
    assert found[0] == pytest.approx(7.505761242363462) and found[3] == 5
    assert found[1].tolist() == pytest.approx([-0.1378, 25.6233], abs=1e-4)
    early = lbfgs._strong_wolfe(loss_and_gradient, x, 1e-4, direction, loss, start, start.dot(direction), max_ls=3)
    assert early[0] == pytest.approx(78.05208509064738) and early[2:] == (pytest.approx(0.0030300024999999997), 3)
    assert lbfgs._cubic_interpolate(0.0, 1.0, -1.0, 2.0, 0.0, 3.0, bounds=(0.5, 0.7)) == 0.7
