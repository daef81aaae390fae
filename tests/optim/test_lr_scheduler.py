"""Schedulers: torch's numbers, states, the order of steps, mistakes, and training with them."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import warnings
import weakref
from pathlib import Path

import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base.errors import ArgumentError, NamingError, RangeError, ShapeError
from nbgrad.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
    _LRScheduler,
)
from tests.optim.schedules import CASES, EPOCHS, JUMPING, PLATEAUS, Quotient, optimizer, options, recorded, run, watched

pytestmark = pytest.mark.usefixtures("device")

NUMBERS = json.loads((Path(__file__).parent / "schedules.json").read_text())


def close(found, expected):
    """Whether nested lists hold the same numbers; cosines are those of a library of C's."""
    return len(found) == len(expected) and all(a == pytest.approx(b, rel=1e-12, abs=1e-15) for a, b in zip(found, expected))


def double(x):
    """A learning rate that is a tensor."""
    return nbgrad.tensor(x, dtype=nbgrad.float64)


def one(lr=1.0):
    """An optimizer of one parameter."""
    return optim.SGD([nbgrad.ones(1, requires_grad=True)], lr=lr, momentum=0.9)


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_torch(name):
    """Learning rates and momenta of every group, epoch after epoch, and after jumps to others."""
    found = recorded(nbgrad, name)
    assert found.keys() == NUMBERS[name].keys()
    for kind, rows in found.items():
        assert close(rows, NUMBERS[name][kind]), kind


@pytest.mark.parametrize("name", CASES)
def test_learning_rates_that_are_tensors(name):
    """A tensor stays the one that it is, and holds the same numbers."""
    assert close(recorded(nbgrad, name, number=double)["steps"], NUMBERS[name]["steps"])
    o = optimizer(nbgrad, number=double)
    held = [group["lr"] for group in o.param_groups]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scheduler = CASES[name](nbgrad, o)
    o.step()
    scheduler.step()
    assert [group["lr"] for group in o.param_groups] == held
    assert all(group["lr"] is lr and last is not lr for group, lr, last in zip(o.param_groups, held, scheduler.get_last_lr()))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("CyclicLR", "OneCycleLR"))])
def test_the_first_beta_is_cycled(name):
    """Optimizers with betas have the first of them cycled, and keep the second."""
    found = recorded(nbgrad, name, kind="Adam")["steps"]
    assert close(found, NUMBERS[name]["steps"])
    assert optimizer(nbgrad, "Adam").param_groups[0]["betas"][1] == 0.999


@pytest.mark.parametrize("name", PLATEAUS)
@pytest.mark.parametrize("number", [float, double])
def test_plateaus_are_those_of_torch(name, number):
    """Thresholds, patience, cooldown, least learning rates, and changes that are too small."""
    assert close(watched(nbgrad, name, number=number), NUMBERS[name])


@pytest.mark.parametrize("name", JUMPING)
def test_the_last_epoch_is_counted(name):
    """``last_epoch`` is the number of steps, or the epoch that was named."""
    o = optimizer(nbgrad)
    scheduler = CASES[name](nbgrad, o)
    assert scheduler.last_epoch == 0 and len(scheduler.base_lrs) == 2
    run(o, scheduler, [()] * 3)
    assert scheduler.last_epoch == 3
    run(o, scheduler, [(7,)])
    assert scheduler.last_epoch == 7


def test_restarts_between_epochs():
    """Warm restarts take fractions of an epoch, without a warning."""
    o = one()
    scheduler = CosineAnnealingWarmRestarts(o, 2)
    o.step()
    scheduler.step(2.5)
    assert scheduler.last_epoch == 2
    assert scheduler.get_last_lr() == [pytest.approx((1 + math.cos(math.pi * 0.25)) / 2)]


# ---- states ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_training_goes_on_from_states(name):
    """A scheduler and an optimizer that loaded the states of others, by pickle, go on as these."""
    pair = optimizer(nbgrad), optimizer(nbgrad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        first, second = (CASES[name](nbgrad, o) for o in pair)
    run(pair[0], first, [()] * 6)
    states = pickle.loads(pickle.dumps((pair[0].state_dict(), first.state_dict())))
    second.load_state_dict(states[1])
    pair[1].load_state_dict(states[0])
    assert run(pair[1], second, [()] * 8) == run(pair[0], first, [()] * 8)
    assert second.get_last_lr() == first.get_last_lr()


@pytest.mark.parametrize("name", PLATEAUS)
def test_a_plateau_goes_on_from_a_state(name):
    """As many bad epochs, the same best, the same way of comparing."""
    first, second = (ReduceLROnPlateau(optimizer(nbgrad), patience=1, **PLATEAUS[name]) for _ in range(2))
    for metric in (0.5, 0.6, 0.7):
        first.step(metric)
    second.load_state_dict(first.state_dict())
    assert second.state_dict() == first.state_dict()
    assert (second.best, second.last_epoch) == (first.best, 3)


def test_a_state_has_the_names_of_torch():
    """So states go from one library to the other; the optimizer is not among them."""
    common = {"base_lrs", "last_epoch", "_step_count", "_is_initial", "_get_lr_called_within_step", "_last_lr"}
    assert StepLR(one(), 2).state_dict().keys() == common | {"step_size", "gamma"}
    assert optim.swa_utils.SWALR(one(), 0.1).state_dict().keys() == common | {"anneal_epochs", "_anneal_strategy"}
    assert OneCycleLR(one(), 0.1, 9).state_dict().keys() == common | {
        "total_steps", "_schedule_phases", "_anneal_func_type", "cycle_momentum", "use_beta1"
    }  # fmt: skip


def test_functions_are_not_saved_and_objects_are():
    """A state has None for a function, and the attributes of an object, which a loaded state gives to the object there."""
    scheduler = LambdaLR(optimizer(nbgrad), [lambda epoch: 1.0, Quotient(5.0)])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [None, {"shift": 5.0}]
    other = MultiplicativeLR(optimizer(nbgrad), [lambda epoch: 1.0, Quotient(1.0)])
    other.load_state_dict(state)
    assert other.lr_lambdas[1].shift == 5.0 and state["lr_lambdas"] == [None, {"shift": 5.0}]
    cyclic = CyclicLR(one(), 0.1, 0.2, scale_fn=Quotient(4.0))
    assert cyclic.state_dict()["_scale_fn_custom"] == {"shift": 4.0}
    assert LambdaLR(one(), math.exp).state_dict()["lr_lambdas"] == [None]


@pytest.mark.parametrize(
    "make",
    [lambda o, k: StepLR(o, 2, 0.5, k), lambda o, k: CosineAnnealingLR(o, 9, 0.0, k), lambda o, k: LinearLR(o, last_epoch=k)],
)
def test_resuming_by_the_last_epoch(make):
    """A scheduler that is made with ``last_epoch`` goes on where the optimizer's groups are."""
    first, second = one(), one()
    scheduler = make(first, -1)
    run(first, scheduler, [()] * 3)
    second.load_state_dict(first.state_dict())
    resumed = make(second, scheduler.last_epoch - 1)
    run(first, scheduler, [()] * 2)
    run(second, resumed, [()] * 2)
    assert resumed.last_epoch == scheduler.last_epoch and resumed.base_lrs == [1.0]


# ---- the order of steps ----------------------------------------------------------------------------------------------


def warned(act):
    """The texts of warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    assert all(warning.filename == __file__ and warning.category is UserWarning for warning in found)
    return [str(warning.message) for warning in found]


def test_a_step_before_the_optimizers_is_warned_of_once():
    """Its second step, not those after it."""
    scheduler = StepLR(one(), 1)
    assert [text.partition(",")[0] for text in warned(lambda: scheduler.step())] == [
        "StepLR.step comes before the first step of SGD"
    ]
    assert warned(lambda: scheduler.step()) == []


def test_the_first_step_is_noted_and_costs_nothing_later():
    """The optimizer's step is watched until it is called, whether or not it has gradients, and then is its class's again."""
    o = one()
    scheduler = StepLR(o, 1)
    assert "step" in vars(o)
    o.step()
    assert "step" not in vars(o) and o.step.__func__ is optim.SGD.step
    assert warned(lambda: scheduler.step()) == []
    ExponentialLR(o, 0.5)
    assert "step" not in vars(o)


def test_steps_that_were_replaced():
    """One around the watched step is seen; one instead of it cannot be, which is said; one of before is there again."""
    o = one()
    scheduler, step = StepLR(o, 1), o.step
    o.step = lambda: step()
    o.step()
    assert warned(lambda: scheduler.step()) == []
    o = one()
    scheduler = StepLR(o, 1)
    o.step = lambda: None
    o.step()
    assert "cannot tell" in warned(lambda: scheduler.step())[0]
    o, calls = one(), []
    o.step = own = lambda: calls.append(1)
    scheduler = StepLR(o, 1)
    o.step()
    assert o.step is own and calls == [1] and warned(lambda: scheduler.step()) == []


def test_closures_reach_the_step():
    """The first step returns what the closure does."""
    o = one()
    StepLR(o, 1)
    assert o.step(lambda: 3.0) == 3.0


def test_a_compiled_step_counts():
    """Also one that was captured before there was a scheduler; learning rates change without another capture."""
    x = nbgrad.tensor([1.0], requires_grad=True, device="cpu")  # where graphs run
    o = optim.SGD([x], lr=0.5)

    @nbgrad.compile(fullgraph=True)
    def step():
        o.zero_grad()
        (x * x).sum().backward()
        o.step()

    step()
    step()
    scheduler = StepLR(o, 1, 0.5)
    x.data.fill_(1.0)
    step()
    assert x.item() == 0.0
    assert warned(lambda: scheduler.step()) == []
    x.data.fill_(1.0)
    step()
    assert x.item() == 0.5


def test_a_scheduler_inside_of_a_compiled_function_counts_every_call():
    """A graph does not hold it: the function runs as it is, and says why."""

    def training(compiled):
        x = nbgrad.tensor([1.0], requires_grad=True)
        o = optim.SGD([x], lr=0.25)
        scheduler = SequentialLR(o, [ExponentialLR(o, 0.5), CosineAnnealingLR(o, 5)], [3])

        def step():
            o.zero_grad()
            (x * x).sum().backward()
            o.step()
            scheduler.step()

        step = nbgrad.compile(step) if compiled else step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(6):
                step()
        return x.item(), scheduler.get_last_lr(), scheduler.last_epoch

    assert training(True) == training(False)


def test_copies_of_a_watched_optimizer():
    """Copies watch their own first step."""
    o = one()
    StepLR(o, 1)
    for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
        other.step()
        assert "step" not in vars(other) and "step" in vars(o)


@pytest.mark.parametrize("name", CASES)
def test_nothing_goes_in_a_circle(name):
    """An optimizer and its scheduler are freed when they are let go, before and after a step."""
    gc.disable()
    try:
        for steps in ([], [()]):
            o = optimizer(nbgrad)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                scheduler = CASES[name](nbgrad, o)
            run(o, scheduler, steps)
            held = weakref.ref(o), weakref.ref(scheduler)
            del o, scheduler
            assert [each() for each in held] == [None, None]
    finally:
        gc.enable()


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_old_forms_are_warned_of():
    """``step(epoch)``, and ``get_lr`` by a program."""
    o = one()
    scheduler = ExponentialLR(o, 0.5)
    o.step()
    assert "epoch is deprecated" in warned(lambda: scheduler.step(3))[0]
    assert scheduler.get_last_lr() == [0.125]
    assert "get_last_lr()" in warned(lambda: scheduler.get_lr())[0]
    assert "epoch is deprecated" in warned(lambda: ReduceLROnPlateau(o).step(1.0, 2))[0]


def test_a_scheduler_of_the_users():
    """A subclass defines ``get_lr`` and uses what its base has; the old name is a base, too."""

    class Warm(_LRScheduler):
        def __init__(self, optimizer, epochs, last_epoch=-1):
            self.epochs = epochs
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            return [lr * min(1.0, (self.last_epoch + 1) / self.epochs) for lr in self.base_lrs]

    o = optimizer(nbgrad)
    scheduler = Warm(o, 2)
    assert scheduler.get_last_lr() == [0.05, 0.25]
    run(o, scheduler, [()])
    assert scheduler.get_last_lr() == [0.1, 0.5]
    assert ChainedScheduler([scheduler]).get_last_lr() == [0.1, 0.5]
    with pytest.raises(NotImplementedError, match="LRScheduler: get_lr is not defined"):
        LRScheduler(one())


def test_groups_that_are_added_later():
    """Refused where the scheduler has no learning rate for them; a plateau takes them, unless it was given least rates."""
    more = {"params": [nbgrad.ones(1, requires_grad=True)]}
    for make in (
        lambda o: LambdaLR(o, lambda epoch: 1.0),
        lambda o: CyclicLR(o, 0.1, 0.2),
        lambda o: CosineAnnealingWarmRestarts(o, 3),
    ):
        o = one()
        scheduler = make(o)
        o.add_param_group(dict(more))
        o.step()
        with pytest.raises(RangeError, match="1 learning rates, expected one for each of the 2 groups"):
            scheduler.step()
    o = one()
    given, scheduler = ReduceLROnPlateau(o, min_lr=[0.1], patience=0), ReduceLROnPlateau(o, factor=0.5, patience=0)
    o.add_param_group(dict(more))
    scheduler.step(1.0)
    scheduler.step(2.0)
    assert scheduler.get_last_lr() == [0.5, 0.5]
    given.step(1.0)
    with pytest.raises(RangeError, match="2 groups and 1 least"):
        given.step(2.0)


def test_metrics_may_be_tensors():
    """A loss as it is."""
    scheduler = ReduceLROnPlateau(one(), patience=0)
    scheduler.step(nbgrad.tensor(1.0, requires_grad=True))
    scheduler.step(nbgrad.tensor([2.0]))
    assert scheduler.get_last_lr() == [pytest.approx(0.1)]
    assert not scheduler.in_cooldown


@pytest.mark.parametrize(
    "make, error, builtin, text",
    [
        (lambda: StepLR(3, 2), ArgumentError, TypeError, "StepLR: optimizer is a int"),
        (lambda: LambdaLR(3, 2), ArgumentError, TypeError, "LambdaLR: optimizer is a int"),
        (lambda: CyclicLR(None, 0.1, 0.2), ArgumentError, TypeError, "CyclicLR: optimizer is a NoneType"),
        (lambda: OneCycleLR("o", 0.1, 2), ArgumentError, TypeError, "OneCycleLR: optimizer is a str"),
        (lambda: ReduceLROnPlateau([]), ArgumentError, TypeError, "ReduceLROnPlateau: optimizer is a list"),
        (lambda: StepLR(one(), 2, last_epoch=3), NamingError, KeyError, r"last_epoch is 3, and param_groups\[0\] has no"),
        (lambda: StepLR(one(), 0), RangeError, ValueError, "StepLR: step_size is 0"),
        (lambda: LambdaLR(one(), [abs, abs]), RangeError, ValueError, "lr_lambda has 2 functions, expected one for"),
        (lambda: MultiplicativeLR(one(), 0.5), ArgumentError, TypeError, "lr_lambda: expected a function, got float"),
        (lambda: ConstantLR(one(), 1.5), RangeError, ValueError, "ConstantLR: factor is 1.5"),
        (lambda: LinearLR(one(), 0.0), RangeError, ValueError, "LinearLR: start_factor is 0.0"),
        (lambda: LinearLR(one(), 0.5, -1.0), RangeError, ValueError, "LinearLR: end_factor is -1.0"),
        (lambda: CosineAnnealingLR(one(), 0), RangeError, ValueError, "T_max is 0"),
        (lambda: CosineAnnealingWarmRestarts(one(), 0), RangeError, ValueError, "T_0 is 0, expected a positive integer"),
        (lambda: CosineAnnealingWarmRestarts(one(), 1, 1.5), RangeError, ValueError, "T_mult is 1.5"),
        (lambda: CosineAnnealingWarmRestarts(one(), 1, 1, "0"), RangeError, ValueError, "eta_min is 0"),
        (lambda: CosineAnnealingWarmRestarts(one(), 1).step(-1), RangeError, ValueError, "epoch is -1"),
        (lambda: CyclicLR(one(), [0.1, 0.2], 0.3), RangeError, ValueError, "base_lr has 2 values, expected one for each of the 1"),
        (lambda: CyclicLR(one(), 0.1, 0.3, mode="up"), RangeError, ValueError, "CyclicLR: mode is up"),
        (lambda: CyclicLR(one(), 0.1, 0.3, 0), RangeError, ValueError, "step_size_up is 0"),
        (lambda: OneCycleLR(one(), 0.1), RangeError, ValueError, "the number of steps is missing"),
        (lambda: OneCycleLR(one(), 0.1, epochs=3), RangeError, ValueError, "the number of steps is missing"),
        (lambda: OneCycleLR(one(), 0.1, 0), RangeError, ValueError, "total_steps is 0"),
        (lambda: OneCycleLR(one(), 0.1, epochs=2, steps_per_epoch=1.5), RangeError, ValueError, "steps_per_epoch is 1.5"),
        (lambda: OneCycleLR(one(), 0.1, 9, pct_start=1), RangeError, ValueError, "pct_start is 1, expected a float"),
        (lambda: OneCycleLR(one(), 0.1, 9, anneal_strategy="exp"), RangeError, ValueError, "anneal_strategy is exp"),
        (lambda: OneCycleLR(one(), 0.1, 10, pct_start=0.1), RangeError, ValueError, "from initial_lr to max_lr has no steps"),
        (lambda: OneCycleLR(one(), [0.1, 0.2], 9), RangeError, ValueError, "max_lr has 2 values"),
        (lambda: OneCycleLR(one(), 0.1, 9, max_momentum=[]), RangeError, ValueError, "max_momentum has 0 values"),
        (lambda: ReduceLROnPlateau(one(), factor=1.0), RangeError, ValueError, "factor is 1.0"),
        (lambda: ReduceLROnPlateau(one(), "least"), RangeError, ValueError, "mode is least"),
        (lambda: ReduceLROnPlateau(one(), threshold_mode="r"), RangeError, ValueError, "threshold_mode is r"),
        (lambda: ReduceLROnPlateau(one(), min_lr=[]), RangeError, ValueError, "min_lr has 0 values"),
        (lambda: ReduceLROnPlateau(one()).step("good"), ArgumentError, TypeError, "metrics must be a number, got 'good'"),
        (lambda: ChainedScheduler([]), RangeError, ValueError, "ChainedScheduler: schedulers is empty"),
        (lambda: ChainedScheduler([3]), ArgumentError, TypeError, r"schedulers\[0\] is a int, expected a scheduler"),
        (lambda: ChainedScheduler([ReduceLROnPlateau(one())]), RangeError, ValueError, "whose step needs a metric"),
        (lambda: ChainedScheduler([StepLR(one(), 2), StepLR(one(), 2)]), RangeError, ValueError, r"\[1\] is a StepLR of another"),
        (lambda: SequentialLR(one(), [StepLR(one(), 2)], []), RangeError, ValueError, r"\[0\] is a StepLR of another optimizer"),
        (lambda: SequentialLR(o := one(), [StepLR(o, 2)], [3]), RangeError, ValueError, "milestones has 1 epochs, expected 0"),
        (lambda: StepLR(one(), 2).load_state_dict(3), ArgumentError, TypeError, "expected a mapping, got int"),
        (lambda: StepLR(one(), 2).load_state_dict({"base_lrs": []}), ShapeError, ValueError, "state is of 0 groups"),
        (lambda: LambdaLR(one(), abs).load_state_dict({}), NamingError, KeyError, "the state has no 'lr_lambdas'"),
        (lambda: LambdaLR(one(), abs).load_state_dict({"lr_lambdas": []}), ShapeError, ValueError, "of 0 functions, expected 1"),
        (lambda: CyclicLR(one(), 0.1, 0.2).load_state_dict({}), NamingError, KeyError, "the state has no '_scale_fn_custom'"),
        (lambda: ChainedScheduler([StepLR(one(), 2)]).load_state_dict({"_schedulers": []}), ShapeError, ValueError, "0 schedulers"),
    ],
)  # fmt: skip
def test_mistakes(make, error, builtin, text):
    """Each is told in the house form, by an error that programs for torch catch."""
    with pytest.raises(error, match=text) as found:
        make()
    assert isinstance(found.value, builtin) and isinstance(found.value, RuntimeError)


def test_a_mistake_changes_no_group():
    """What is refused has not touched the optimizer."""
    o = optimizer(nbgrad)
    before = [dict(group) for group in o.param_groups]
    for make in (
        lambda: CyclicLR(o, 0.7, 0.9, mode="up"),
        lambda: CyclicLR(o, 0.7, 0.9, base_momentum=[0.1]),
        lambda: OneCycleLR(o, 0.7, 10, pct_start=0.1),
        lambda: OneCycleLR(o, 0.7, 10, max_momentum=[0.1]),
        lambda: optim.swa_utils.SWALR(o, 0.7, -1),
    ):
        with pytest.raises(RangeError):
            make()
    assert [dict(group) for group in o.param_groups] == before


def test_momentum_that_is_not_there():
    """An optimizer without momentum is refused, or left alone if asked to be."""

    class Plain(optim.Optimizer):
        def update(self, params, group):
            """Nothing."""

    o = Plain([nbgrad.ones(1, requires_grad=True)], {"lr": 1.0})
    for make in (lambda **k: CyclicLR(o, 0.1, 0.2, **k), lambda **k: OneCycleLR(o, 0.1, 9, **k)):
        with pytest.raises(RangeError, match="Plain has neither momentum nor betas to cycle. Hint: cycle_momentum=False"):
            make()
        make(cycle_momentum=False)
    assert "momentum" not in o.param_groups[0]


def test_one_cycle_ends():
    """A step after the last one is an error, as in torch the last but one is not."""
    o = one()
    scheduler = OneCycleLR(o, 0.1, 3)
    run(o, scheduler, [()] * 3)
    with pytest.raises(RangeError, match="OneCycleLR: step 4 of 3"):
        scheduler.step()


# ---- training --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in CASES if "chain" not in name])
def test_a_program_with_a_scheduler_learns(name):
    """A model that is trained with every scheduler has a lower loss, and the parameters' last group has its own rates."""
    nbgrad.manual_seed(0)
    model = nn.Linear(3, 1)
    o = optim.SGD([{"params": [model.weight]}, {"params": [model.bias], "lr": 0.05}], lr=0.02, momentum=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        scheduler = CASES[name](nbgrad, o)
    x = nbgrad.randn(32, 3)
    y = x.sum(1, keepdim=True) + 1.0
    losses = []
    for _ in range(EPOCHS):
        o.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        o.step()
        scheduler.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.9
    assert [group["lr"] for group in o.param_groups] == scheduler.get_last_lr()
    assert len(options(o)) >= 2
