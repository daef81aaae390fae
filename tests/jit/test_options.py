"""Options that a compiled step sets in its optimizer count from the next update on, as they do without it."""

import math

import pytest

import nbgrad
from nbgrad import optim

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.01),
    "momentum": lambda p: optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.1),
    "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
}


def train(make, change, compiled, steps=6, **arguments):
    """The parameter behind every step of which ``change(group, t, x)`` is a part, with what the group holds then."""
    w = nbgrad.tensor([1.0, -2.0], requires_grad=True)
    optimizer = make([w])
    total = nbgrad.zeros(())

    def step(x, t):
        change(optimizer.param_groups[0], t, x)
        optimizer.zero_grad()
        (w * x).square().sum().backward()
        optimizer.step()
        total.add_(1)

    run, seen = nbgrad.compile(step, fullgraph=True, limit=16) if compiled else step, []
    for t in range(steps):
        run(nbgrad.tensor([1.0, 0.5]) * (t + 1), arguments.get("number", int)(t))
        options = {name: value for name, value in optimizer.param_groups[0].items() if name != "params"}
        seen.append((w.tolist(), repr(options), [state.get("step") for state in optimizer.state.values()]))
    assert total.item() == steps
    return seen, run


def set_lr(value):
    """A change of the learning rate alone."""
    return lambda group, t, x: group.__setitem__("lr", value(t, x))


def each(names):
    """A change of several options."""
    return lambda group, t, x: group.update(names(t, x))


CHANGES = {
    "constant": set_lr(lambda t, x: 0.5),
    "of an integer": set_lr(lambda t, x: 0.1 / (1 + t)),
    "from a list": set_lr(lambda t, x: [0.1, 0.2, 0.3][t % 3]),
    "measured": set_lr(lambda t, x: 0.01 * x.sum().item()),
    "computed": set_lr(lambda t, x: math.exp(-t)),
    "decay": lambda group, t, x: group.__setitem__("weight_decay", 0.1 * t),
    "maximize": lambda group, t, x: group.__setitem__("maximize", t % 2 == 0),
    "one of another": lambda group, t, x: group.__setitem__("lr", group["lr"] * 0.9),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", OPTIMIZERS)
def test_an_option_that_the_function_sets_counts_at_once(make, change):
    """Each update takes the numbers that the program has at that point, not those that there were before the call."""
    got, _ = train(OPTIMIZERS[make], CHANGES[change], True)
    want, _ = train(OPTIMIZERS[make], CHANGES[change], False)
    assert got == want


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_a_schedule_of_a_float_is_one_program(make):
    """What is computed of a number among the arguments is a number of the program, its corrections of Adam too."""
    change = set_lr(lambda t, x: 0.1 * t * 0.5)
    got, run = train(OPTIMIZERS[make], change, True, number=lambda t: 1.0 / (t + 1))
    want, _ = train(OPTIMIZERS[make], change, False, number=lambda t: 1.0 / (t + 1))
    assert got == want
    assert len(run.variants) == 1, run.explain()


def test_betas_that_the_function_sets():
    """Options of several numbers are followed, too."""
    change = each(lambda t, x: {"betas": (0.5, 0.9 + 0.01 * t), "eps": 1e-3})
    assert train(OPTIMIZERS["adam"], change, True)[0] == train(OPTIMIZERS["adam"], change, False)[0]


def test_nesterov_that_the_function_sets():
    """An option that chooses another rule is taken as it is at that point."""
    change = each(lambda t, x: {"nesterov": t % 2 == 0, "weight_decay": 0.0})
    assert train(OPTIMIZERS["momentum"], change, True)[0] == train(OPTIMIZERS["momentum"], change, False)[0]


def test_an_option_that_is_set_between_two_updates():
    """The first update takes what there was before the call, the second what the function has set."""

    def trained(compiled):
        w = nbgrad.tensor([1.0], requires_grad=True)
        optimizer = optim.Adam([w], lr=0.01)

        def step(x):
            for lr in (0.2, 0.3):
                optimizer.zero_grad()
                (w * x).sum().backward()
                optimizer.step()
                optimizer.param_groups[0]["lr"] = lr

        run = nbgrad.compile(step, fullgraph=True) if compiled else step
        seen = []
        for k in range(5):
            run(nbgrad.ones(1) * (k - 2.5))
            seen.append(w.tolist())
            optimizer.param_groups[0]["lr"] += 0.01 * k
        return seen

    assert trained(True) == trained(False)


def train_with_momenta(momenta, compiled):
    """The parameter and its running sum behind steps of which each has another momentum, and how many programs there are."""
    w, seen = nbgrad.tensor([1.0, -2.0], requires_grad=True), []
    optimizer = optim.SGD([w], lr=0.01, momentum=0.5)

    def step(x):
        optimizer.zero_grad()
        (w * x).square().sum().backward()
        optimizer.step()

    run = nbgrad.compile(step, fullgraph=True) if compiled else step
    for momentum in momenta:
        optimizer.param_groups[0]["momentum"] = momentum
        run(nbgrad.tensor([1.0, 0.5]))
        seen.append((w.tolist(), optimizer.state[w]["momentum_buffer"].tolist()))
    return seen, len(run.variants) if compiled else 0


def test_a_momentum_that_a_scheduler_changes_is_a_number_of_the_program():
    """``OneCycleLR`` sets another momentum for every step; none at all is another program, which keeps no running sum."""
    momenta = (0.5, 0.6, 0.7, 0.0, 0.0, 0.8, 0.9)
    (seen, programs), (expected, _) = train_with_momenta(momenta, True), train_with_momenta(momenta, False)
    assert seen == expected and programs == 2
