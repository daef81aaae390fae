"""Optimizers against the update formulas in NumPy float64, step by step."""

from __future__ import annotations

import inspect
import math
import operator

import numpy as np
import pytest

import nbgrad
from nbgrad import optim
from nbgrad.base.errors import ArgumentError, LeafError, RangeError, ShapeError
from nbgrad.ops import expr
from nbgrad.optim import rules

RNG = np.random.default_rng(0)
START = RNG.normal(size=(3, 4))
GRADS = RNG.normal(size=(6, 3, 4))


def sgd(p, grads, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False):
    """Gradient descent in NumPy."""
    buf = None
    for g in grads:
        g = (-g if maximize else g) + weight_decay * p
        buf = g if buf is None else momentum * buf + (1 - dampening) * g
        direction = g + momentum * buf if nesterov else buf if momentum else g
        p = p - lr * direction
    return p


def adam(p, grads, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False, decoupled=False):
    """Adam and AdamW in NumPy, as in Algorithm 1 of the papers."""
    m = v = top = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        g = -g if maximize else g
        p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
        top = np.maximum(top, v)
        unbiased = (top if amsgrad else v) / (1 - betas[1] ** t)
        p = p - lr * m / (1 - betas[0] ** t) / (np.sqrt(unbiased) + eps)
    return p


def adamw(p, grads, weight_decay=1e-2, **options):
    """AdamW in NumPy."""
    return adam(p, grads, weight_decay=weight_decay, decoupled=True, **options)


CASES = [
    (optim.SGD, sgd, {}),
    (optim.SGD, sgd, {"weight_decay": 0.2}),
    (optim.SGD, sgd, {"momentum": 0.9}),
    (optim.SGD, sgd, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2}),
    (optim.SGD, sgd, {"momentum": 0.8, "nesterov": True, "weight_decay": 0.2}),
    (optim.SGD, sgd, {"momentum": 0.8, "maximize": True, "weight_decay": 0.2}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"betas": (0.7, 0.9), "eps": 0.1, "weight_decay": 0.3}),
    (optim.Adam, adam, {"amsgrad": True, "betas": (0.7, 0.5)}),
    (optim.Adam, adam, {"maximize": True, "weight_decay": 0.3}),
    (optim.AdamW, adamw, {}),
    (optim.AdamW, adamw, {"weight_decay": 0.3, "amsgrad": True, "maximize": True}),
]
IDS = [" ".join([kind.__name__, *map(str, options.items())]) for kind, _, options in CASES]


class NumPyScalar:
    """The functions that a rule may use, for numbers."""

    where = staticmethod(lambda condition, x, y: x if condition else y)
    ne = staticmethod(operator.ne)
    sqrt = staticmethod(np.sqrt)
    maximum = staticmethod(max)


def apply(name, operands):
    """The operation that an expression names, on numbers."""
    arithmetic = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
    return (arithmetic.get(name) or getattr(NumPyScalar, name))(*operands)


def call(rule, values):
    """Pass ``values`` by position or by name, as the rule's signature has it."""
    parameters = inspect.signature(rule).parameters.values()
    by_name = {p.name: values[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
    return rule(*(values[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY), **by_name)


def parameter(value=START, dtype=None):
    """A leaf that requires grad."""
    return nbgrad.tensor(value, dtype=dtype or nbgrad.float64, requires_grad=True)


def stepped(optimizer, p, grads):
    """The parameter after steps along given gradients."""
    for g in grads:
        p.grad = nbgrad.tensor(g, dtype=p.dtype)
        optimizer.step()
    return p.detach().numpy()


@pytest.mark.parametrize(("kind", "reference", "options"), CASES, ids=IDS)
def test_steps(kind, reference, options):
    """Six steps along random gradients end where the formulas say."""
    p = parameter()
    result = stepped(kind([p], lr=0.1, **options), p, GRADS)
    np.testing.assert_allclose(result, reference(START, GRADS, lr=0.1, **options), rtol=1e-12)


@pytest.mark.parametrize(("kind", "reference"), [(optim.SGD, sgd), (optim.Adam, adam)])
def test_float32(kind, reference):
    """In single precision the steps stay within its rounding; the parameter keeps its dtype."""
    p = parameter(dtype=nbgrad.float32)
    result = stepped(kind([p], lr=0.1), p, GRADS)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, reference(START, GRADS, lr=0.1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "rule", [rules.sgd, rules.sgd_momentum, rules.nesterov, rules.adam, rules.amsgrad], ids=lambda rule: rule.__name__
)
@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_rules_run_on_expressions(rule, weight_decay):
    """A rule run on symbols, from which kernels are made, is the formula that it is on numbers."""
    values = dict(zip(inspect.signature(rule).parameters, [None, *np.linspace(0.3, 2.1, 14)]))
    values |= {"scalar": NumPyScalar, "weight_decay": weight_decay}
    symbols = {name: expr.symbol(name) for name in values} | {"scalar": expr.scalar}
    roots = call(rule, symbols)
    assert expr.evaluate(roots, values, apply) == list(call(rule, values))


def test_strided_parameter():
    """A parameter that is transposed in memory is updated where it lies."""
    base = nbgrad.tensor(START)
    p = base.t().requires_grad_()
    result = stepped(optim.Adam([p], lr=0.1), p, GRADS.transpose(0, 2, 1))
    np.testing.assert_allclose(result, adam(START, GRADS, lr=0.1).T, rtol=1e-12)
    np.testing.assert_allclose(base.numpy(), result.T)


def test_an_infinite_parameter_without_decay_stays():
    """Weight decay 0 does not turn infinity into NaN."""
    p = parameter([math.inf, -math.inf])
    assert stepped(optim.SGD([p], lr=0.1), p, np.ones((1, 2))).tolist() == [math.inf, -math.inf]


def test_a_step_is_seen_by_the_version_counter():
    """A graph recorded before the step refuses to use the parameter after it."""
    p = parameter()
    loss = (p * p).sum()
    stepped(optim.SGD([p], lr=0.1), p, GRADS[:1])
    with pytest.raises(RuntimeError, match="modified"):
        loss.backward()


def test_parameters_without_gradient_are_skipped():
    """No gradient, no step, no state."""
    p, q = parameter(), parameter()
    adam_ = optim.Adam([p, q])
    stepped(adam_, p, GRADS[:1])
    assert q.tolist() == START.tolist() and len(adam_.state_dict()["state"]) == 1


def test_the_closure_records():
    """``step`` calls the closure with recording on, also inside no_grad, and returns its loss."""
    p = parameter()
    descent = optim.SGD([p], lr=0.1)

    def closure():
        descent.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with nbgrad.no_grad():
        loss = descent.step(closure)
    assert loss.item() == pytest.approx((START**2).sum())
    np.testing.assert_allclose(p.detach().numpy(), START - 0.1 * 2 * START)


def test_groups_override_defaults():
    """Each group has its own options, and a change between steps takes effect."""
    p, q = parameter(), parameter()
    descent = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.5}], lr=0.1)
    p.grad = q.grad = nbgrad.tensor(GRADS[0])
    descent.step()
    descent.param_groups[1]["lr"] = 0.0
    descent.step()
    np.testing.assert_allclose(p.detach().numpy(), START - 0.2 * GRADS[0])
    np.testing.assert_allclose(q.detach().numpy(), START - 0.5 * GRADS[0])


def test_named_parameters():
    """Pairs of names and parameters are parameters; the group has their names, and a state_dict too."""
    layer = nbgrad.nn.Linear(1, 1)
    optimizer = optim.SGD(layer.named_parameters(), lr=1.0)
    optimizer.add_param_group({"params": [("other", parameter())]})
    assert [group["param_names"] for group in optimizer.state_dict()["param_groups"]] == [["weight", "bias"], ["other"]]
    layer.bias.grad = nbgrad.ones(1)
    before = layer.bias.item()
    optimizer.step()
    assert optimizer.param_groups[0]["params"][1] is layer.bias and layer.bias.item() == pytest.approx(before - 1)


def test_zero_grad():
    """Gradients become None, or zeros in the same memory."""
    p = parameter()
    descent = optim.SGD([p])
    (p * p).sum().backward()
    memory = p.grad.detach()
    descent.zero_grad(set_to_none=False)
    assert memory.abs().max().item() == 0 and p.grad is not None
    descent.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize(("kind", "reference", "options"), CASES, ids=IDS)
def test_resuming_from_a_state_dict(kind, reference, options):
    """Three steps, saving, loading into another optimizer and three more are six steps."""
    p = parameter()
    first = kind([p], lr=0.1, **options)
    stepped(first, p, GRADS[:3])
    q = parameter(p.detach().numpy())
    second = kind([q])
    second.load_state_dict(first.state_dict())
    stepped(first, p, GRADS[3:])
    np.testing.assert_allclose(stepped(second, q, GRADS[3:]), reference(START, GRADS, lr=0.1, **options), rtol=1e-12)


def test_a_loaded_state_decides_how_weights_decay():
    """Adam goes on with the decay of the state, decoupled or not; AdamW's is always decoupled."""
    found = []
    for make in (
        lambda p: optim.Adam([p], weight_decay=0.5, decoupled_weight_decay=True),
        lambda p: optim.AdamW([p], weight_decay=0.5),
    ):
        for other in (optim.Adam, optim.AdamW):
            p = parameter()
            optimizer = other([p])
            optimizer.load_state_dict(make(p).state_dict())
            found.append(stepped(optimizer, p, GRADS[:3]).tolist())
    assert found[0] == found[1] == found[2] == found[3]


def test_options_that_a_state_does_not_name_stay():
    """A state that was written before an option existed leaves it as it is."""
    optimizer = optim.SGD([parameter()], lr=0.5, momentum=0.5)
    optimizer.load_state_dict({"state": {}, "param_groups": [{"lr": 0.25, "params": [0]}]})
    assert (optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]) == (0.25, 0.5)


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (3, ArgumentError, "load_state_dict: expected a mapping, got int"),
        ({"state": {}}, KeyError, r"the state has no 'param_groups', it has \['state'\]"),
        ({"state": {0: {"step": 1}, 7: {}}, "param_groups": [{"params": [0]}]}, KeyError, r"parameters \[7\], which no group has"),
    ],
)
def test_states_that_are_none(state, error, message):
    """The error says what is missing, and nothing is changed."""
    p = parameter()
    optimizer = optim.Adam([p])
    stepped(optimizer, p, GRADS[:2])
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert optimizer.state[p]["step"] == 2


def test_a_step_that_fails_is_not_counted():
    """State of another shape is an error that changes neither parameter nor state."""
    p = parameter()
    optimizer = optim.Adam([p])
    stepped(optimizer, p, GRADS[:1])
    before = p.tolist()
    optimizer.state[p]["exp_avg"] = nbgrad.zeros(1, dtype=p.dtype)
    with pytest.raises(ShapeError):
        optimizer.step()
    assert p.tolist() == before and optimizer.state[p]["step"] == 1


def test_state_dict_of_other_groups():
    """A state whose groups have other sizes is refused, with both sizes."""
    state = optim.SGD([parameter(), parameter()]).state_dict()
    with pytest.raises(ShapeError, match=r"groups of \[2\] parameters, expected \[1\]"):
        optim.SGD([parameter()]).load_state_dict(state)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([]), RangeError, "params is empty"),
        (lambda: optim.SGD(parameter()), ArgumentError, "params is a tensor"),
        (lambda: optim.SGD({parameter()}), ArgumentError, "params is a set"),
        (lambda: optim.SGD([1.0]), ArgumentError, r"params\[0\] is a float"),
        (lambda: optim.SGD([parameter() * 2]), LeafError, r"params\[0\] is the result of an operation"),
        (lambda: optim.SGD([parameter()] * 2), RangeError, r"params\[1\] is there twice"),
        (lambda: optim.SGD([{"lr": 1.0}]), nbgrad.NamingError, "a parameter group has"),
        (lambda: optim.SGD(nbgrad.nn.Linear(1, 1)), ArgumentError, r"got Linear. Hint: call model.parameters\(\)"),
        (lambda: optim.SGD(nbgrad.nn.Linear(1, 1).parameters), ArgumentError, r"got method. Hint: call model.parameters\(\)"),
        (lambda: optim.SGD([("w", parameter()), parameter()]), nbgrad.RangeError, r"params\[1\] has no name"),
        (lambda: optim.SGD([parameter()]).step(3), ArgumentError, "SGD.step: expected a function, got int"),
        (lambda: optim.SGD([parameter()], lr=-1.0), RangeError, "SGD: lr is -1.0"),
        (lambda: optim.SGD([parameter()], nesterov=True), RangeError, "SGD: momentum is 0, .* with nesterov"),
        (lambda: optim.AdamW([parameter()], betas=(0.9, 1.0)), RangeError, r"AdamW: betas\[1\] is 1.0"),
    ],
)
def test_errors(make, error, message):
    """What cannot be optimised, or options out of range, are refused with the reason."""
    with pytest.raises(error, match=message):
        make()


def test_repr_lists_the_options_of_every_group():
    """One block for each group, options in alphabetical order, an empty line between blocks."""
    block = (
        "Parameter Group {}\n    dampening: 0\n    differentiable: False\n    foreach: None\n    fused: None\n    lr: {}\n"
        "    maximize: False\n    momentum: 0\n"
        "    nesterov: False\n    weight_decay: 0\n"
    )
    groups = [{"params": [parameter()]}, {"params": [parameter()], "lr": 0.1}]
    assert repr(optim.SGD(groups, lr=0.5)) == f"SGD (\n{block.format(0, 0.5)}\n{block.format(1, 0.1)})"


@pytest.mark.parametrize(
    "kind",
    [
        *(optim.SGD, optim.Adam, optim.AdamW, optim.Adadelta, optim.Adagrad, optim.Adamax, optim.NAdam, optim.RAdam),
        *(optim.RMSprop, optim.ASGD, optim.Rprop),
    ],
    ids=lambda kind: kind.__name__,
)
def test_complex_parameters_move_as_pairs_of_real_ones(kind):
    """A step of a complex parameter is the step of its parts, with as many degrees of freedom."""
    z = nbgrad.tensor([1 + 2j, 3 - 1j], dtype=nbgrad.complex128, requires_grad=True)
    pairs = nbgrad.tensor([[1, 2], [3, -1]], dtype=nbgrad.float64, requires_grad=True)
    for p, parts in ((z, nbgrad.view_as_real), (pairs, lambda x: x)):
        optimizer = kind([p], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            (parts(p) ** 2 * nbgrad.tensor([1.0, 3.0], dtype=nbgrad.float64)).sum().backward()
            optimizer.step()
    np.testing.assert_allclose(nbgrad.view_as_real(z.detach()).numpy(), pairs.detach().numpy(), rtol=1e-14)


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW], ids=lambda make: make.__name__)
def test_ways_of_computing_change_nothing(make):
    """``foreach`` and ``fused`` are accepted; for a step that is recorded they are refused, and so are leaves that require grad."""
    found = []
    for options in ({}, {"foreach": True}, {"fused": True, "foreach": False}):
        x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        make([x], lr=0.1, **options).step()
        found.append(x.tolist())
    assert found[0] == found[1] == found[2]
    with pytest.raises(nbgrad.RangeError, match="neither foreach nor fused"):
        make([x], differentiable=True, fused=True)
    with pytest.raises(nbgrad.InplaceError, match="leaf"):
        make([x], differentiable=True).step()


RECORDED = {
    optim.SGD: {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    optim.Adam: {"amsgrad": True, "weight_decay": 0.1},
    optim.AdamW: {"maximize": True},
    optim.NAdam: {},
    optim.RAdam: {},
    optim.Adamax: {},
    optim.Adagrad: {},
    optim.Adadelta: {"weight_decay": 0.1},
    optim.RMSprop: {"centered": True, "momentum": 0.9},
    optim.Rprop: {},
    optim.ASGD: {},
}


@pytest.mark.parametrize("make", RECORDED, ids=lambda make: make.__name__)
def test_recorded_steps(make):
    """With ``differentiable`` steps go where others go, and the derivative through two of them is that of finite differences."""

    def after_two_steps(w, **options):
        p = w.clone() if options else w.detach().clone().requires_grad_()
        optimizer = make([p], lr=0.1, **RECORDED[make], **options)
        for _ in range(2):
            g = (p.clone() * w).sin() + w  # of a copy: the step writes over what backward would need
            p.grad = g if options else g.detach()
            optimizer.step()
        return p

    w = nbgrad.tensor([0.5, -1.2, 2.0], dtype=nbgrad.float64, requires_grad=True)
    assert after_two_steps(w, differentiable=True).allclose(after_two_steps(w), atol=1e-14)
    assert nbgrad.autograd.gradcheck(lambda w: after_two_steps(w, differentiable=True), w)


def test_adam_with_decoupled_decay_is_adamw():
    """``decoupled_weight_decay=True``."""
    found = []
    for make in (
        lambda x: optim.Adam([x], lr=0.1, weight_decay=0.5, decoupled_weight_decay=True),
        lambda x: optim.AdamW([x], lr=0.1, weight_decay=0.5),
        lambda x: optim.Adam([x], lr=0.1, weight_decay=0.5),
    ):
        x = nbgrad.tensor([1.0, -2.0], requires_grad=True)
        optimizer = make(x)
        for _ in range(3):
            optimizer.zero_grad()
            (x**3).sum().backward()
            optimizer.step()
        found.append(x.tolist())
    assert found[0] == found[1] != found[2]


def test_a_parameter_in_several_groups_has_its_first_position():
    """Positions are counted over all groups; one parameter has one of them in all."""
    p, q = nbgrad.ones(1, requires_grad=True), nbgrad.ones(1, requires_grad=True)
    optimizer = optim.SGD([{"params": [p]}, {"params": [q]}], lr=0.1)
    optimizer.param_groups.extend(optimizer.param_groups)
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0], [1], [0], [1]]
