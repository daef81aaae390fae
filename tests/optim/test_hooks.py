"""Hooks of optimizers: around steps of one and of all, and around states."""

from __future__ import annotations

import copy

import pytest

import nbgrad
from nbgrad.errors import ArgumentError
from nbgrad.optim import SGD, Optimizer
from nbgrad.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook, required
from tests.helpers import float32_leaf


def descent(kind=SGD):
    """An optimizer of one parameter with a gradient of 1."""
    x = float32_leaf([1.0])
    x.grad = nbgrad.ones(1)
    return kind([x], lr=0.5)


class Own(Optimizer):
    """A class of a user's, with a step of its own, which calls that of the base class."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        super().step(closure)
        return "stepped"

    def update(self, params, group):
        for p in params:
            p.sub_(p.grad, alpha=group["lr"])


@pytest.mark.parametrize("kind", [SGD, Own])
def test_order_of_hooks_around_a_step(kind):
    """Those of all optimizers are outermost; a step that calls its superclass's is one; removed, they are gone."""
    optimizer, seen = descent(kind), []

    def note(word):
        return lambda optimizer, args, kwargs: seen.append((word, args[0] is optimizer, args[1:], kwargs))

    own = [optimizer.register_step_pre_hook(note("before")), optimizer.register_step_post_hook(note("after"))]
    with register_optimizer_step_pre_hook(note("first")), register_optimizer_step_post_hook(note("last")):
        result = optimizer.step(closure=None)
    assert [word for word, *_ in seen] == ["first", "before", "after", "last"]
    assert all(rest == [True, (), {"closure": None}] for _, *rest in seen)
    assert result == (None if kind is SGD else "stepped") and optimizer.param_groups[0]["params"][0].tolist() == [0.5]
    for handle in own:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4


def test_classes_that_are_made_later():
    """A class that is defined when there are hooks calls them, too."""
    seen = []
    with register_optimizer_step_post_hook(lambda optimizer, *rest: seen.append(type(optimizer).__name__)):

        class Later(Own):
            def step(self, closure=None):
                return super().step(closure)

        descent(Later).step()
    assert seen == ["Later"]


def test_a_hook_replaces_the_arguments():
    """It returns both, or None; anything else is refused."""
    optimizer, called = descent(), []
    handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: ((optimizer, lambda: called.append(1)), {}))
    optimizer.step()
    handle.remove()
    assert called == [1]
    optimizer.register_step_pre_hook(lambda *args: 3)
    with pytest.raises(ArgumentError, match=r"returned 3, expected None or \(args, kwargs\)"):
        optimizer.step()


def test_a_scheduler_sees_the_steps_of_an_optimizer_with_hooks():
    """It does not warn of an order that is right, whichever of the two came first."""
    for hook_first in (True, False):
        optimizer = descent()
        if hook_first:
            optimizer.register_step_post_hook(lambda *args: None)
        scheduler = nbgrad.optim.lr_scheduler.StepLR(optimizer, 1)
        if not hook_first:
            optimizer.register_step_post_hook(lambda *args: None)
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)


def test_hooks_of_compiled_steps():
    """A captured step is captured no more when there are hooks: it runs as it is, and they are called."""
    optimizer, seen = descent(), []

    @nbgrad.compile
    def step():
        optimizer.step()

    step()
    step()
    handle = optimizer.register_step_post_hook(lambda *args: seen.append(1))
    with pytest.warns(UserWarning, match="hooks are called around it"):
        step()
    step()
    assert seen == [1, 1] and optimizer.param_groups[0]["params"][0].tolist() == [-1.0]
    handle.remove()


def test_options_that_every_group_must_have():
    """A class says so by ``required``, as older programs do: a group without one is refused."""

    class Demanding(Own):
        def __init__(self, params, lr=required):
            super().__init__(params, lr)

    x = float32_leaf([1.0])
    assert Demanding([{"params": [x], "lr": 0.5}]).param_groups[0]["lr"] == 0.5
    with pytest.raises(ValueError, match="has no 'lr'"):
        Demanding([x])


def test_options_that_older_states_lack():
    """A class fills them in where states are taken: in copies, and in what is loaded."""

    class Newer(Own):
        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("decay", 0.25)

    optimizer = descent(Newer)
    assert "decay" not in optimizer.param_groups[0] and copy.deepcopy(optimizer).param_groups[0]["decay"] == 0.25
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["decay"] == 0.25


def test_hooks_around_states():
    """Before and after, in order, with what they change or return; the mapping that is loaded stays as it was."""
    optimizer, seen = descent(), []
    optimizer.register_state_dict_pre_hook(lambda optimizer: seen.append("saving"))
    optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "epoch": 3})
    optimizer.register_state_dict_post_hook(lambda optimizer, state: seen.append(list(state)), prepend=True)
    optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: seen.append(state.pop("epoch")))
    optimizer.register_load_state_dict_pre_hook(
        lambda optimizer, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 9.0}]}
    )
    optimizer.register_load_state_dict_post_hook(lambda optimizer: seen.append(optimizer.param_groups[0]["lr"]))
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    assert seen == ["saving", ["state", "param_groups"], 3, 9.0] and state["epoch"] == 3
