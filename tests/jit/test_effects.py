"""What a compiled function changes that was there before it: memory, gradients, the state of optimizers."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base import config
from nbgrad.jit import compile, trace
from tests.helpers import wave

CALLS = 6


def seen(x):
    """What a program can see of a tensor, beside its version."""
    grad = x.grad if x.is_leaf else None
    return (
        x.dtype,
        tuple(x.shape),
        x.detach().resolve_conj().numpy().tobytes(),
        x.requires_grad,
        None if grad is None else seen(grad),
    )


def all_seen(tree):
    """The same of all tensors in sequences."""
    return seen(tree) if isinstance(tree, nbgrad.Tensor) else [*map(all_seen, tree)] if isinstance(tree, (tuple, list)) else tree


def history(program, run):
    """What calls return and leave behind; versions of what was there before."""
    nbgrad.manual_seed(0)
    fn, arguments, state = program()
    call, log = run(fn), []
    for k in range(CALLS):
        given = arguments(k)
        log.append((all_seen(call(*given)), all_seen(given), all_seen(state), [x._version for x in (*given, *state)]))
    return log, call


def whole(fn):
    """The function compiled, and never run as it is."""
    return compile(fn, fullgraph=True)


PROGRAMS = {}


def program(make):
    """Add a program: a function, its arguments by the number of the call, and tensors that it changes."""
    PROGRAMS[make.__name__] = make
    return make


@program
def a_counter():
    c = nbgrad.zeros(())

    def fn(x):
        c.add_(1)
        return x * c

    return fn, lambda k: (wave(3) + k,), [c]


@program
def an_argument():
    def fn(x, y):
        x.add_(y)
        return x * 2

    return fn, lambda k: (wave(3) + k, wave(3)), []


@program
def an_argument_that_is_returned():
    def fn(x):
        x.mul_(2)
        return x, x[1:]

    return fn, lambda k: (wave(3) + k,), []


@program
def an_exchange():
    a, b = wave(3), wave(3) + 1

    def fn():
        kept = a.clone()
        a.copy_(b)
        b.copy_(kept)
        return a + 2 * b

    return fn, lambda k: (), [a, b]


@program
def parts():
    a = wave(6)

    def fn(x):
        a[:3].copy_(x)
        a[3:].mul_(2)
        a[1] = x.sum()
        return a.sum()

    return fn, lambda k: (wave(3) + k,), [a]


@program
def transposed_memory():
    a = wave(2, 3).t()

    def fn(x):
        a.add_(x)
        return a * 1

    return fn, lambda k: (wave(3, 2) + k,), [a]


@program
def one_value_in_two_places():
    a, b = nbgrad.zeros(3), nbgrad.zeros(3)

    def fn(x):
        y = x * 2
        a.copy_(y)
        b.copy_(y)
        return y

    return fn, lambda k: (wave(3) + k,), [a, b]


@program
def an_argument_kept():
    a = nbgrad.zeros(3)

    def fn(x):
        a.copy_(x)

    return fn, lambda k: (wave(3) + k,), [a]


@program
def what_was_there_before():
    a = wave(3)

    def fn(x):
        before = a * 1
        a.add_(x)
        return before, a + before

    return fn, lambda k: (wave(3) + k,), [a]


@program
def half_types():
    a = nbgrad.zeros(5, dtype=nbgrad.float16)

    def fn(x):
        a.add_(x)
        return a * 2

    return fn, lambda k: (wave(5).to(nbgrad.float16) + k,), [a]


@program
def truth_values():
    a = nbgrad.zeros(5, dtype=nbgrad.bool)

    def fn(x):
        a.logical_or_(x > 3)
        return a

    return fn, lambda k: (wave(5) + k,), [a]


@program
def data_without_a_version():
    w = wave(2).requires_grad_()

    def fn(x):
        (slope,) = nbgrad.grad((w * x).square().sum(), [w])
        w.data.sub_(0.1 * slope)

    return fn, lambda k: (wave(2) + k,), [w]


@program
def gradients_of_a_parameter():
    w = wave(2).requires_grad_()

    def fn(x):
        (w * x).sum().backward()
        (w * w * x).sum().backward()
        return w.grad.clone()

    return fn, lambda k: (wave(2) + k,), [w]


@program
def gradients_of_an_argument():
    leaf = wave(2).requires_grad_()

    def fn(x):
        (x * x).sum().backward()
        return x.grad * 1

    return fn, lambda k: (leaf,), []


@program
def gradients_that_are_zeroed():
    w = wave(2).requires_grad_()

    def fn(x):
        (w * x).square().sum().backward()
        with nbgrad.no_grad():
            w.sub_(0.1 * w.grad)
            w.grad.zero_()

    return fn, lambda k: (wave(2) + k,), [w]


@program
def gradients_that_are_set():
    w = wave(2).requires_grad_()

    def fn(x):
        if w.grad is None:
            w.grad = x.clone()
        else:
            w.grad.add_(x)
        return w.grad * 1

    return fn, lambda k: (wave(2) + k,), [w]


@program
def running_statistics():
    model = nn.BatchNorm1d(3)

    def fn(x):
        model.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        return loss.detach()

    return fn, lambda k: (wave(5, 3).float() * (k + 1),), [*model.parameters(), *model.buffers()]


@program
def a_running_mean_of_parameters():
    model = nn.Linear(2, 2)
    means = [p.detach().clone() for p in model.parameters()]

    def fn(x):
        with nbgrad.no_grad():
            for mean, p in zip(means, model.parameters()):
                mean.lerp_(p, 0.1)
        return model(x).detach()

    return fn, lambda k: (wave(1, 2).float() + k,), means


@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_are_those_of_the_function(name):
    """Results, memory, gradients, versions."""
    want, _ = history(PROGRAMS[name], lambda fn: fn)
    got, call = history(PROGRAMS[name], whole)
    assert got == want
    assert 1 <= len(call.variants) <= 2


# ---- optimizers ------------------------------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01, weight_decay=0.01),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, maximize=True),
}


def training(make, order, run):
    """Losses, parameters, gradients, versions and steps of a training whose learning rate changes on the way."""
    nbgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = make(model.parameters())

    def step(x, y):
        if order == "before":
            optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        if order == "after":
            optimizer.zero_grad()
        return loss.detach()

    call, losses = run(step), []
    for k in range(8):
        if k == 4:
            optimizer.param_groups[0]["lr"] *= 0.5
        losses.append(seen(call(wave(5, 3).float() + k, wave(5, 1).float())))
    steps = [state.get("step") for state in optimizer.state.values()]
    return losses, [seen(p) for p in model.parameters()], [p._version for p in model.parameters()], steps, call


@pytest.mark.parametrize("order", ["before", "after", "never"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_training_step_is_one_program(name, order):
    """Bit for bit, with one variant for all learning rates; two where gradients add up."""
    *want, _ = training(OPTIMIZERS[name], order, lambda fn: fn)
    *got, call = training(OPTIMIZERS[name], order, whole)
    assert got == want
    assert len(call.variants) == (2 if order == "never" and name in ("sgd",) else 1)


FORMS = {
    "one": lambda loss, extra: loss,
    "several": lambda loss, extra: (loss, extra, None, 2),
    "list": lambda loss, extra: [loss, extra],
    "tree": lambda loss, extra: {"loss": loss, "more": (extra, "text")},
    "number": lambda loss, extra: (len(extra) * 1.5, extra),
    "part": lambda loss, extra: (loss, extra[1:]),
    "argument": lambda loss, extra: (extra.mul_(1.5), loss),
    "nothing": lambda loss, extra: None,
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_program_that_acts_returns(form):
    """By native code, or where a leaf is part of another one by Python."""
    w = nbgrad.ones(3, requires_grad=True)

    def step(x):
        w.grad = None
        loss = (w * x).square().sum()
        loss.backward()
        with nbgrad.no_grad():
            w.sub_(w.grad, alpha=0.01)
        return FORMS[form](loss.detach(), x * 2 if form != "argument" else x)

    def run(call):
        with nbgrad.no_grad():
            w.copy_(nbgrad.ones(3))
        found = []
        for k in range(5):
            x = nbgrad.arange(3.0) + k
            made = call(x)
            leaves = made.values() if isinstance(made, dict) else made if isinstance(made, (tuple, list)) else [made]
            found.append((type(made), [all_seen(leaf) for leaf in leaves], seen(w), x.tolist(), x._version))
        return found

    assert run(nbgrad.compile(step)) == run(step)


# What computes the numbers of Adam's next step.
NUMBERS = {"find", "_next_step", "<setcomp>", "scalars", "corrections", "sqrt", "counting", "rates", "constants", "means"}


@pytest.mark.skipif(config.NATIVE == 0, reason="native code is off")
def test_a_training_step_calls_python_for_its_numbers_alone(unchecked):
    """What a program does beside computing results is done natively: benchmarks/graph_programs.py, Adam."""
    call, found = training(OPTIMIZERS["adam"], "before", whole)[-1], []
    x, y = wave(5, 3).float(), wave(5, 1).float()
    sys.setprofile(lambda frame, event, given: found.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call(x, y)
    finally:
        sys.setprofile(None)
    assert {"find", "count_step"} <= set(found) <= {"__call__", "count_step", *NUMBERS}


def test_parameters_are_updated_in_place():
    """A step's kernels write over parameters and state: no copy comes after them."""
    call = training(OPTIMIZERS["adam"], "before", whole)[-1]
    (variant,) = call.variants
    assert len([step for step in variant.program.schedule.steps if step.nodes and step.nodes[0].name == "update"]) == 4
    assert not [step for step in variant.program.schedule.steps if not step.nodes]


def test_a_parameter_that_is_read_later_is_not_updated_in_place():
    """What a function has computed of a parameter before its update is of the old one, also where it is computed behind that."""

    def run(compile_it):
        w = nbgrad.ones(3, requires_grad=True)
        optimizer = optim.SGD([w], lr=0.5)

        def step(x):
            optimizer.zero_grad()
            (w * x[0]).sum().backward()
            late = x @ x @ x @ x @ w.detach()
            optimizer.step()
            return late

        call = compile_it(step)
        return [call(nbgrad.full((3, 3), 2.0)).tolist() for _ in range(3)], w.tolist(), call

    *found, call = run(whole)
    assert found == list(run(lambda fn: fn)[:2])
    steps = call.variants[0].program.schedule.steps
    names = [[node.name for node in step.nodes] for step in steps]
    assert names.index(["update"]) < len(names) - 2 and not names[-1]  # products, and a copy behind all of them


def test_a_closure_is_captured_too():
    """``optimizer.step(closure)``."""

    def run(compiled):
        nbgrad.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = optim.SGD(model.parameters(), lr=0.01)

        def step(x):
            def closure():
                optimizer.zero_grad()
                loss = model(x).square().sum()
                loss.backward()
                return loss

            return optimizer.step(closure).detach()

        call = whole(step) if compiled else step
        return [seen(call(wave(4, 3).float() + k)) for k in range(4)], all_seen(list(model.parameters()))

    assert run(True) == run(False)


def test_steps_of_parameters_that_differ_are_told_apart():
    """One variant for alike numbers of steps, another where they differ."""

    def run(compile_it):
        nbgrad.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()

        call = compile_it(step)
        for k in range(6):
            if k == 3:
                optimizer.state[model.weight]["step"] = 50
            call(wave(1, 2).float() + k)
        return all_seen(list(model.parameters())), [state["step"] for state in optimizer.state.values()]

    assert run(whole) == run(lambda fn: fn)


def test_a_state_that_was_loaded_is_noticed():
    """``load_state_dict`` exchanges the tensors of the state."""

    def run(compile_it):
        nbgrad.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = optim.Adam(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            optimizer.step()

        call, kept = compile_it(step), {}
        for k in range(6):
            if k == 1:
                kept.update(optimizer.state_dict())
                kept["state"] = {0: dict(kept["state"][0])}
            if k == 3:
                optimizer.load_state_dict(kept)
            call(wave(1, 2).float() + k)
        return all_seen(list(model.parameters()))

    assert run(whole) == run(lambda fn: fn)


def test_an_optimizer_that_does_not_say_its_numbers_runs_as_it_is():
    """What ``update`` does to attributes would be done once."""

    class Slower(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})
            self.count = 0

        def update(self, params, group):
            self.count += 1
            for p in params:
                p.sub_(p.grad / self.count)

    w = wave(2).requires_grad_()
    optimizer = Slower([w])

    def step(x):
        (w * x).sum().backward()
        optimizer.step()

    call = compile(step)
    with pytest.warns(UserWarning, match="Slower.step: its class has no varying"):
        call(wave(2))
    call(wave(2))
    assert optimizer.count == 2


# ---- what stays as it was --------------------------------------------------------------------------------------------


def test_an_error_leaves_everything_as_it_was():
    """Memory, versions and gradients."""
    w, c = wave(2).requires_grad_(), nbgrad.zeros(2)

    def fn(x):
        c.add_(1)
        (w * x).sum().backward()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        compile(fn)(wave(2))
    assert c.tolist() == [0, 0] and c._version == 0 and w.grad is None


def test_memory_that_arguments_share_with_what_is_written():
    """Is noticed in every call: the same tensor, a view, an array of NumPy's."""

    def run(compile_it):
        a, memory = nbgrad.zeros(3), np.zeros(4)

        def fn(x, y):
            x.add_(1)
            a.add_(1)
            return y * 2

        call, log = compile_it(fn), []
        apart = nbgrad.from_numpy(memory[:3]), nbgrad.from_numpy(memory[1:])
        u = wave(3)
        for x, y in ((wave(3), wave(3)), (a, wave(3)), (wave(3), a), (a[:], a), (u, u), (u, u[:]), apart):
            log.append((seen(call(x, y)), seen(x), seen(a)))
        return log, memory.tolist()

    assert run(compile) == run(lambda fn: fn)


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_hooks_of_accumulators_are_called_every_time(register, count):
    """Those of a leaf's AccumulateGrad, registered before the capture, or behind some calls."""
    w, log = wave(2).requires_grad_(), []

    def fn(x):
        (w * x).sum().backward()

    call = compile(fn)
    for _ in range(count):
        call(wave(2))
    node = w.expand_as(w).grad_fn.next_functions[0][0]
    handle = getattr(node, register)(lambda *given: log.append(given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(3):
            call(wave(2))
        handle.remove()
        call(wave(2))
    assert len(log) == 3


def test_hooks_from_outside_are_called_every_time():
    """A function whose pass meets them runs as it is."""
    w, log = wave(2).requires_grad_(), []
    w.register_post_accumulate_grad_hook(lambda p: log.append(p))

    def fn(x):
        (w * x).sum().backward()

    call = compile(fn)
    with pytest.warns(UserWarning, match="a leaf has hooks"):
        call(wave(2))
    call(wave(2))
    assert len(log) == 2


@pytest.mark.parametrize(
    ("fn", "why"), [(lambda x, w: x.add_(w), "is recorded"), (lambda x, w: x[:, ::2].add_(1) and x.t()[::2].add_(1), "")]
)
def test_what_no_program_does_is_refused(fn, why):
    """Loudly, with what was there before as it was."""
    x, w = wave(4, 4), wave(4, 4).requires_grad_()
    want = seen(x), seen(w)
    if why:
        with pytest.raises(nbgrad.GraphError, match=why):
            compile(fn, fullgraph=True)(x, w)
        assert (seen(x), seen(w)) == want


def test_a_graph_alone_changes_nothing():
    """``trace`` gives a graph, which has no effects."""
    c = nbgrad.zeros(2)
    with pytest.raises(nbgrad.GraphError, match="writes to a tensor that the function does not make"):
        trace(lambda x: c.add_(x), wave(2))
    assert c.tolist() == [0, 0]


def test_a_guard_behind_an_update_stops_before_it():
    """Where a run stops because an answer differs, nothing has been written yet."""

    def run(compile_it):
        nbgrad.manual_seed(0)
        model = nn.Linear(3, 1)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return 2 * loss.detach() if model.weight.sum() > 0 else loss.detach()

        call, found = compile_it(step), []
        for k in range(12):
            found.append(seen(call(wave(4, 3).float() * (-1) ** k + k / 10)))
        return found, all_seen(list(model.parameters())), [p._version for p in model.parameters()]

    assert run(whole) == run(lambda fn: fn)


KEEPERS = {
    "nobody": lambda kept: lambda g: None,
    "the gradient": lambda kept: kept.append,
    "an alias": lambda kept: lambda g: kept.append(g.detach()),
    "its data": lambda kept: lambda g: kept.append(g.data),
    "a part": lambda kept: lambda g: kept.append(g.unbind()[0]),
}


@pytest.mark.parametrize("keeper", KEEPERS.values(), ids=KEEPERS)
def test_gradients_of_leaves_have_memory_of_their_own(keeper):
    """What a capture takes over for a leaf, the function neither returns nor gives to another leaf."""
    x, y = (nbgrad.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

    def step():
        x.grad = y.grad = None
        kept = []
        total = (x + y).exp()
        total.register_hook(lambda g: None)
        z = 2 * x
        z.register_hook(keeper(kept))
        (total.sum() + z.sum()).backward()
        return tuple(kept)

    want = step()
    gradients = x.grad.tolist(), y.grad.tolist()
    got = compile(step)()
    assert (x.grad.tolist(), y.grad.tolist()) == gradients
    assert [each.tolist() for each in got] == [each.tolist() for each in want]
    x.grad.zero_()
    assert y.grad.tolist() == gradients[1] and [each.tolist() for each in got] == [each.tolist() for each in want]


def test_a_capture_writes_no_copies_of_gradients_down():
    """A leaf takes over a gradient that only the capture holds beside it."""

    def gradient(x):
        w = (2 * x).detach().requires_grad_()
        (w * x).exp().sum().backward()
        return w.grad

    assert "clone_like" not in [node.name for node in trace(gradient, nbgrad.ones(3)).nodes]
