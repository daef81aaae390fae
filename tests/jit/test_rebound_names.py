"""State in names: what a compiled function rebinds, or appends to a list, is part of its program."""

import copy
import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.testing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore:compile.*(was captured|runs as it is|values that the program)")
INPUTS = [nbgrad.tensor([float(k), 1.0]) for k in range(7)]
Pair = namedtuple("Pair", "h c")


def hidden_state():
    box = SimpleNamespace(h=nbgrad.zeros(2))

    def fn(x):
        box.h = nbgrad.tanh(box.h * 0.5 + x)
        return box.h

    return fn, lambda: box.h


def moving_average():
    state = {"m": nbgrad.zeros(2), "n": 0}

    def fn(x):
        state["n"] += 1
        state["m"] = 0.9 * state["m"] + 0.1 * x
        return state["m"] / (1 - state["n"] * 0.01)

    return fn, lambda: state


def running_total():
    box = SimpleNamespace(total=0.0, seen=0)

    def fn(x):
        box.total += x.sum().item() * len(x)
        box.seen += (x > 1).sum().item()
        return x * 2

    return fn, lambda: (box.total, box.seen)


def variables_of_a_closure():
    n, t = 0, nbgrad.zeros(2)

    def fn(x):
        nonlocal n, t
        n += 1
        t = t + x
        return t * n

    return fn, lambda: (n, t)


def members_of_a_list():
    held = [nbgrad.zeros(2), 0, 1.5]

    def fn(x):
        held[0] = held[0] + x
        held[1] += 2
        held[2] *= 0.5
        return held[0] * held[2]

    return fn, lambda: held


def appends():
    box = SimpleNamespace(log=["start"], found=[])

    def fn(x):
        box.log.append((x.sum(), {"max": x.max().item(), "n": len(x)}))
        box.log += [1, x * 2]
        box.found.extend([x[0].item()])
        return x * 2

    return fn, lambda: (box.log, box.found)


def counters():
    found, counts = defaultdict(list), Counter(n=0)
    found["loss"].append(0.0)

    def fn(x):
        found["loss"].append(x.sum().item())
        counts["n"] += 1
        return x * 2

    return fn, lambda: (dict(found), dict(counts))


def exchanged():
    box = SimpleNamespace(a=nbgrad.zeros(2), b=nbgrad.ones(2))

    def fn(x):
        box.a, box.b = box.b, box.a + x
        return box.a * box.b

    return fn, lambda: (box.a, box.b)


def the_argument_itself():
    box = SimpleNamespace(last=nbgrad.zeros(2))

    def fn(x):
        step = x - box.last
        box.last = x
        return step

    return fn, lambda: (box.last, any(box.last is x for x in INPUTS))


def written_and_rebound():
    box = SimpleNamespace(h=nbgrad.zeros(2))

    def fn(x):
        box.h.add_(x)
        y = box.h * 2
        box.h = box.h + 1
        return y

    return fn, lambda: (box.h, box.h._version)


def view_of_the_result():
    box = SimpleNamespace(h=nbgrad.zeros(1))

    def fn(x):
        y = x * 2 + box.h
        box.h = y[1:]
        return y

    return fn, lambda: box.h


def made_in_the_first_call():
    box = SimpleNamespace(h=None, first=True)

    def fn(x):
        if box.first:
            box.h, box.first = x, False
        box.h = 0.5 * box.h + x
        return box.h

    return fn, lambda: (box.h, box.first)


def tuples_and_lists():
    box = SimpleNamespace(pair=Pair(nbgrad.zeros(2), nbgrad.zeros(2)), averages=[nbgrad.zeros(2), "name", 0.5])

    def fn(x):
        c = box.pair.c * 0.5 + x
        box.pair = Pair(c.tanh(), c)
        box.averages = [box.averages[0] + x, "name", box.averages[2] * 0.5]
        return box.pair.h

    return fn, lambda: (box.pair, box.averages)


def every_second_call():
    box = SimpleNamespace(n=0, even=0.0)

    def fn(x):
        box.n += 1
        if box.n % 2 == 0:
            box.even += x.sum().item() / (box.n // 2)
        return x * 2

    return fn, lambda: (box.n, box.even)


def looks_at_what_it_has_appended():
    log = {"loss": []}

    def fn(x):
        log["loss"].append(x.sum().item())
        log["loss"].append(2 * log["loss"][-1])
        return x * log["loss"][-2]

    return fn, lambda: log


def in_a_function_that_is_called_twice():
    state = {"a": {"b": [nbgrad.zeros(2)]}}

    def advance(x):
        state["a"]["b"][0] = state["a"]["b"][0] * 0.5 + x

    def fn(x):
        advance(x), advance(2 * x)
        return state["a"]["b"][0]

    return fn, lambda: state


def two_names_of_one_tensor():
    t = nbgrad.zeros(2)
    box = SimpleNamespace(g=t, h=t)

    def fn(x):
        box.h = box.h + x
        box.g = box.g - x
        t.add_(1)
        return box.h * box.g + t

    return fn, lambda: (box.h, box.g, t)


def another_dtype_from_the_second_call_on():
    box = SimpleNamespace(h=nbgrad.zeros(2))

    def fn(x):
        box.h = box.h + x.double()
        return box.h

    return fn, lambda: box.h


def branches_by_state():
    box = SimpleNamespace(n=0, best=float("inf"))

    def fn(x):
        box.n += 1
        if x.sum().item() < box.best:
            box.best = x.sum().item()
        return x * 2 if box.n < 4 else x * 3

    return fn, lambda: (box.n, box.best)


class Slotted:
    __slots__ = ("h", "__n")

    def __init__(self):
        self.h, self.__n = nbgrad.zeros(2), 0

    def step(self, x):
        self.__n += 1
        self.h = self.h * 0.5 + x
        return self.h * self.__n


class MoreSlots(Slotted):
    __slots__ = ("late", "more")


def slots():
    each = MoreSlots()

    def fn(x):
        each.late = each.h
        return each.step(x) + each.late

    return fn, lambda: (each.h, each._Slotted__n, each.late, hasattr(each, "more"))


def slots_of_a_dataclass():
    @dataclasses.dataclass(frozen=True, slots=True)
    class State:
        total: float = 0.0
        log: list = dataclasses.field(default_factory=list)

    state = State()

    def fn(x):
        object.__setattr__(state, "total", state.total + x.sum().item())
        state.log.append(x[0].item())
        return x * state.total

    return fn, lambda: state


def attributes_of_a_class():
    class Model:
        count, h, log = 0, nbgrad.zeros(2), []

        def step(self, x):
            Model.count += 1
            type(self).h = self.h + x
            self.log.append(x.sum().item())
            return self.h * Model.count

    class Special(Model):
        h = nbgrad.ones(2)

    special = Special()
    return (lambda x: special.step(x)), lambda: (Model.count, Model.h, Special.h, Model.log, vars(special))


def attributes_of_a_metaclass():
    class Meta(type):
        made = 0

        def step(cls, x):
            Meta.made += 1
            cls.total = cls.total + x
            return cls.total * Meta.made

    class Model(metaclass=Meta):
        total = nbgrad.zeros(2)

    return (lambda x: Model.step(x)), lambda: (Meta.made, Model.total)


def a_deque_that_grows():
    box = SimpleNamespace(found=deque(), last=deque([1.0, 2.0], maxlen=9))

    def fn(x):
        box.found.append((x.sum(), x[0].item()))
        box.last += [x[1].item()]
        return x * 2

    return fn, lambda: (box.found, box.last)


def a_full_window():
    last = deque([nbgrad.zeros(2), nbgrad.zeros(2)], maxlen=2)

    def fn(x):
        last.append(x * 2)
        return sum(last) / len(last)

    return fn, lambda: last


def a_window_that_is_filled():
    last = deque(maxlen=4)

    def fn(x):
        last.append(x.sum().item())
        return x * (sum(last) / len(last))

    return fn, lambda: last


def what_was_pushed_last():
    found = deque()

    def fn(x):
        found.append(x.sum().item())
        return x * found[-1]

    return fn, lambda: found


def a_list_with_methods_of_its_own():
    class Doubling(list):
        def __getitem__(self, k):
            return super().__getitem__(k) * 2

    held = Doubling([1.0, nbgrad.zeros(2)])

    def fn(x):
        held[1] = held[1] + x
        held[0] = held[0] - 1.5
        return held[1] * held[0]

    return fn, lambda: list(held)


def attributes_set_by_a_metaclass():
    class Meta(type):
        def __setattr__(cls, name, x):
            super().__setattr__(name, x * 2)

    class Model(metaclass=Meta):
        h = nbgrad.zeros(2)

    def fn(x):
        Model.h = Model.h + x
        return Model.h

    return fn, lambda: Model.h


def a_queue():
    waiting = deque([nbgrad.zeros(2), 1.0, nbgrad.ones(2)])

    def fn(x):
        old = waiting.popleft()
        waiting.append(x)
        waiting.rotate(-1)
        waiting.rotate(1)
        return old + waiting[0]

    return fn, lambda: waiting


def an_ordered_dict():
    held = OrderedDict(h=nbgrad.zeros(2), n=0)

    def fn(x):
        held["n"] += 1
        held["h"] = held["h"] + x
        return held["h"] * held["n"]

    return fn, lambda: held


def a_dict_with_methods_of_its_own():
    class Doubling(dict):
        def __setitem__(self, key, x):
            super().__setitem__(key, x * 2)

    held = Doubling(h=nbgrad.ones(2))

    def fn(x):
        held["h"] = held["h"] + x
        return held["h"]

    return fn, lambda: held


def attributes_of_a_tensor():
    t = nbgrad.ones(2)
    t.seen, t.last = 0, nbgrad.zeros(2)

    def fn(x):
        t.seen += 1
        t.last = t.last + x
        return t * t.seen + t.last

    return fn, lambda: (t.seen, t.last)


CASES = {
    slots: 2,
    slots_of_a_dataclass: 1,
    attributes_of_a_class: 1,
    attributes_of_a_metaclass: 1,
    a_deque_that_grows: 1,
    a_full_window: 1,
    a_queue: 3,
    a_window_that_is_filled: 1,
    what_was_pushed_last: 1,
    a_list_with_methods_of_its_own: 1,
    attributes_set_by_a_metaclass: 1,
    an_ordered_dict: 1,
    a_dict_with_methods_of_its_own: 1,
    attributes_of_a_tensor: 1,
    hidden_state: 1,
    moving_average: 1,
    running_total: 1,
    variables_of_a_closure: 1,
    members_of_a_list: 1,
    appends: 1,
    counters: 1,
    exchanged: 1,
    the_argument_itself: 1,
    written_and_rebound: 1,
    view_of_the_result: 1,
    made_in_the_first_call: 2,
    tuples_and_lists: 1,
    in_a_function_that_is_called_twice: 1,
    two_names_of_one_tensor: 1,
    another_dtype_from_the_second_call_on: 2,
    branches_by_state: 4,
    every_second_call: 3,
    looks_at_what_it_has_appended: 1,
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_state_in_names(make):
    """Results and state are those of the function, call by call, with so many programs."""
    (eager, wanted), (fn, found) = make(), make()
    compiled = nbgrad.compile(fn)
    for x in INPUTS:
        want, got = eager(x), compiled(x)
        assert repr((got, found())) == repr((want, wanted()))
    assert len(compiled.variants) <= CASES[make], compiled.explain()
    assert compiled.variants
    assert not compiled.explain().broken


def reading():
    log = []

    def fn(x):
        log.append(x.sum().item())
        return x * len(log)

    return fn, lambda: log


def with_a_history():
    w = nbgrad.ones(2, requires_grad=True)
    box = SimpleNamespace(h=nbgrad.zeros(2))

    def fn(x):
        box.h = box.h * w + x
        return box.h.sum()

    return fn, lambda: box.h


def keeping_the_list():
    box = SimpleNamespace(log=[], other=None)

    def fn(x):
        box.other = box.log
        box.log.append(x.sum().item())
        return x

    return fn, lambda: (box.log, box.other is box.log)


def telling():
    box = SimpleNamespace(log=[])

    def fn(x):
        box.log.append(x.sum().item())
        return x, f"{box.log}", bool(box.log), 1.0 in box.log, sum(box.log)

    return fn, lambda: box.log


def popped():
    waiting = deque([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    return (lambda x: x * waiting.popleft() + len(waiting)), lambda: waiting


def pushed_in_front():
    found = deque(maxlen=3)

    def fn(x):
        found.appendleft(x.sum().item())
        return x * found[0] + len(found)

    return fn, lambda: found


def moved_to_the_end():
    held = OrderedDict(a=1.0, b=2.0)

    def fn(x):
        held.move_to_end(next(iter(held)))
        return x * held[next(iter(held))]

    return fn, lambda: held


def exchanged_dicts():
    box = SimpleNamespace(a={"n": 0}, b={"n": 10})

    def fn(x):
        box.a, box.b = box.b, box.a
        box.a["n"] += 1
        return x * box.a["n"]

    return fn, lambda: (box.a, box.b)


def rebound_and_changed():
    box = SimpleNamespace(a=[0.0], n=0)

    def fn(x):
        box.n += 1
        if box.n % 2:
            box.a = [box.a[0] + 1]
        else:
            box.a[0] += 10.0
        return x * box.a[0]

    return fn, lambda: box


def one_list_by_two_names():
    box = SimpleNamespace(a=[0.0], b=[0.0])

    def fn(x):
        box.a = box.b = [box.a[0] + 1]
        return x * box.a[0]

    return fn, lambda: (box.a.append(1.0), box.b)


def a_list_in_a_tuple():
    log = []
    box = SimpleNamespace(log=log, both=(log, 1))

    def fn(x):
        box.log.append(x.sum().item())
        return x * len(box.both[0])

    return fn, lambda: box.log


def a_list_among_defaults():
    log = []

    def count(log=log):
        return len(log)

    def fn(x):
        log.append(x.sum().item())
        return x * count()

    return fn, lambda: log


def a_tensor_with_attributes():
    box = SimpleNamespace(h=nbgrad.zeros(2))
    box.h.scale = 3.0

    def fn(x):
        box.h = box.h + x * getattr(box.h, "scale", 1.0)
        return box.h

    return fn, lambda: box.h


def an_attribute_of_a_tensor_that_had_none():
    t = nbgrad.ones(2)

    def fn(x):
        t.last = x * 2
        return t * x

    return fn, lambda: t.last


MORE = [
    reading,
    keeping_the_list,
    telling,
    with_a_history,
    popped,
    pushed_in_front,
    moved_to_the_end,
    exchanged_dicts,
    rebound_and_changed,
    one_list_by_two_names,
    a_list_in_a_tuple,
    a_list_among_defaults,
    a_tensor_with_attributes,
    an_attribute_of_a_tensor_that_had_none,
]


@pytest.mark.parametrize("make", MORE, ids=lambda make: make.__name__)
def test_what_is_more_than_state_runs_as_it_is(make):
    """Lists that are looked at, tensors with a history, containers that are exchanged, tensors with attributes."""
    (eager, wanted), (fn, found) = make(), make()
    compiled = nbgrad.compile(fn)
    for x in INPUTS:
        want, got = eager(x), compiled(x)
        assert repr((got, found())) == repr((want, wanted()))
        assert type(found()) is type(wanted())


HOLDERS = {
    "attribute": lambda: SimpleNamespace(h=nbgrad.zeros(2)),
    "slot": lambda: Holding(),
    "class": lambda: type("Holding", (), {"h": nbgrad.zeros(2)}),
    "nothing before": lambda: SimpleNamespace(h=None),
}


class Holding:
    __slots__ = ("h",)

    def __init__(self):
        self.h = nbgrad.zeros(2)


@pytest.mark.parametrize("kind", HOLDERS)
@pytest.mark.parametrize("keep", [True, False])
def test_histories_that_go_on_from_call_to_call(kind, keep):
    """Backward through several calls, after each, and where every second call cuts the history off."""

    def make():
        w, held = nbgrad.tensor([0.5, 2.0], requires_grad=True), HOLDERS[kind]()

        def fn(x, cut):
            h = x * 0 if held.h is None else held.h.detach() if cut else held.h
            held.h = (h * w + x).tanh()
            return held.h.sum() if keep else held.h.sum().detach()

        return fn, w, held

    (eager, w, want), (fn, v, got) = make(), make()
    compiled = nbgrad.compile(fn)
    for k, x in enumerate(INPUTS):
        results = eager(x, k % 2 == 0), compiled(x, k % 2 == 0)
        assert_close(*results, rtol=0, atol=0)
        assert_close(got.h, want.h, rtol=0, atol=0)
        if keep:
            assert_close(*[nbgrad.grad(y, p, retain_graph=True)[0] for y, p in zip(results, (w, v))], rtol=0, atol=0)
        want.h.sum().backward(retain_graph=True)
        got.h.sum().backward(retain_graph=True)
        assert_close(v.grad, w.grad, rtol=0, atol=0)


@pytest.mark.parametrize("kind", [list, deque, lambda: deque(maxlen=3)])
def test_losses_with_a_history(kind):
    """What is collected is differentiated in the end."""
    found = []
    for wrap in (lambda fn: fn, nbgrad.compile):
        w, losses = nbgrad.tensor([0.5, 2.0], requires_grad=True), kind()

        def fn(x):
            losses.append(((x * w) ** 2).sum())  # noqa: B023
            return losses[-1].detach()  # noqa: B023

        call = wrap(fn)
        results = [call(x).item() for x in INPUTS]
        sum(losses).backward()
        found.append((results, [x.item() for x in losses], w.grad.tolist()))
    assert found[0] == found[1]


def test_what_only_the_capture_changes_is_of_that_call_alone():
    """Where names are as they were before an earlier capture again, its program is not taken: it would not change them."""

    def make():
        held = {"log": [], "kind": [1], "values": np.zeros(100), "mode": "a"}

        def fn(x, k):
            held["kind"] = [k]  # another list in every call
            held["values"][k] += 1
            held["mode"] = "ab"[k % 2]
            return x * k

        return fn, held

    (eager, want), (fn, got) = make(), make()
    compiled = nbgrad.compile(fn)
    for k in (1, 2, 1, 1, 2, 2, 1, 2, 1, 1, 2):
        assert_close(compiled(INPUTS[3], k), eager(INPUTS[3], k))
        for held in (want, got):
            held["kind"], kept = [1], held["kind"]
            assert kept == [k]
        assert want["values"].tolist() == got["values"].tolist()
        assert want["mode"] == got["mode"]


def test_modes_that_go_to_and_fro():
    """``train(flag)`` within a compiled function is done in every call."""

    def make():
        nbgrad.manual_seed(0)
        module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))

        def fn(x, flag):
            module.train(flag)
            return module(x).detach()

        return fn, module

    (eager, want), (fn, got) = make(), make()
    compiled = nbgrad.compile(fn)
    for k, flag in enumerate((True, True, False, True, False, False, True, True, False)):
        x = nbgrad.stack(INPUTS[:4]) * k
        assert_close(compiled(x, flag), eager(x, flag))
        assert got[1].training == want[1].training == flag
        assert_close(got[1].running_mean, want[1].running_mean)


def test_options_of_an_optimizer_that_the_function_changes():
    """A schedule by hand."""

    def make():
        w = nn.Parameter(nbgrad.ones(2))
        optimizer = optim.SGD([w], lr=0.1)

        def fn(x):
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return optimizer.param_groups[0]["lr"], w.detach().clone()

        return fn

    eager, compiled = make(), nbgrad.compile(make())
    for x in INPUTS:
        (rate, w), (want, expected) = compiled(x), eager(x)
        assert rate == want
        assert_close(w, expected)


def test_an_error_leaves_state_as_the_function_does():
    """What the function did before it raised is done, once."""

    def make():
        box = SimpleNamespace(h=nbgrad.zeros(2), log=[])

        def fn(x):
            box.h = box.h + x
            box.log.append(x.sum().item())
            if x[0] > 2.5:
                raise ValueError("too large")
            return box.h

        return fn, box

    (eager, want), (fn, got) = make(), make()
    compiled = nbgrad.compile(fn)
    for k in (0.0, 1.0, 3.0, 2.0, 4.0, 1.0):
        x = nbgrad.tensor([k, 1.0])
        for each in (eager, compiled):
            if k > 2.5:
                with pytest.raises(ValueError, match="too large"):
                    each(x)
            else:
                each(x)
        assert repr(got) == repr(want)


def test_state_may_be_exchanged_from_outside():
    """What a name holds is looked up in every call: other values, shapes, dtypes, nothing at all."""
    box, wanted = SimpleNamespace(h=nbgrad.zeros(2)), None

    def fn(x):
        if box.h is None:
            box.h = nbgrad.zeros(2)
        box.h = box.h + x
        return box.h

    compiled = nbgrad.compile(fn)
    for start in (nbgrad.zeros(2), nbgrad.ones(2), nbgrad.ones(3, 2), nbgrad.zeros(2), None, nbgrad.ones(2).double(), 1.5, 2.5):
        box.h = start
        wanted = (nbgrad.zeros(2) if start is None else start) + INPUTS[3]
        assert_close(compiled(INPUTS[3]), wanted)
        assert_close(box.h, wanted)


def test_what_a_result_and_a_name_hold_is_one_tensor():
    """Writes to one are seen by the other."""
    fn, state = hidden_state()
    compiled = nbgrad.compile(fn)
    for x in INPUTS:
        out = compiled(x)
        assert out is state()


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", nbgrad.zeros(2))
        self.linear = nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x):
        y = self.linear(x)
        self.mean = 0.9 * self.mean + 0.1 * y.detach()
        self.calls += 1
        return (y - self.mean).sum()


def test_a_module_with_a_buffer():
    """Results with a history, whose passes run behind."""
    eager = Normed()
    module = copy.deepcopy(eager)
    compiled = nbgrad.compile(module, fullgraph=True)
    for x in INPUTS:
        for each in (eager, compiled):
            each(x).backward()
        assert_close(module.mean, eager.mean)
        assert_close(module.linear.weight.grad, eager.linear.weight.grad)
        assert module.calls == eager.calls
    assert len(compiled.variants) == 1


def test_a_training_step_that_keeps_its_books():
    """Losses in a list, an average, the best so far, a counter."""

    def make():
        nbgrad.manual_seed(0)
        model = nn.Linear(2, 2)
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        box = SimpleNamespace(losses=[], average=None, n=0)

        def step(x):
            optimizer.zero_grad()
            loss = ((model(x) - x) ** 2).mean()
            loss.backward()
            optimizer.step()
            box.losses.append(loss.item())
            box.average = loss.detach() if box.average is None else 0.9 * box.average + 0.1 * loss.detach()
            box.n += 1
            return loss.item()

        return step, box

    (eager, want), (step, got) = make(), make()
    compiled = nbgrad.compile(step, fullgraph=True)
    for x in INPUTS * 3:
        assert compiled(x) == eager(x)
        assert got.losses == want.losses
        assert got.n == want.n
        assert_close(got.average, want.average, rtol=0, atol=0)
    assert len(compiled.variants) == 1


def test_what_is_kept_is_said():
    """By name."""
    fn, _ = moving_average()
    compiled = nbgrad.compile(fn)
    compiled(INPUTS[0])
    assert set(compiled.explain().variants[0].changes) == {"'n'", "'m'"}
    fn, _ = appends()
    compiled = nbgrad.compile(fn)
    compiled(INPUTS[0])
    assert set(compiled.explain().variants[0].changes) == {"a list that grows"}


def test_state_cannot_be_saved(tmp_path):
    """Names are this process's."""
    fn, _ = hidden_state()
    compiled = nbgrad.compile(fn)
    compiled(INPUTS[0])
    with pytest.raises(nbgrad.base.errors.GraphError, match="state in names, .*: a file cannot hold that"):
        nbgrad.jit.save(compiled, tmp_path / "state")


@pytest.mark.parametrize("make", [lambda p: optim.Adam(p, 0.1), lambda p: optim.AdamW(p, 0.1), lambda p: optim.SGD(p, 0.1, 0.9)])
def test_several_steps_of_an_optimizer_in_one_call(make):
    """Each has the numbers of its own step."""
    found = []
    for wrap in (lambda fn: fn, nbgrad.compile):
        w = nn.Parameter(nbgrad.ones(2))
        optimizer = make([w])

        def step(x):
            for _ in range(3):
                optimizer.zero_grad()  # noqa: B023
                ((w - x) ** 2).sum().backward()  # noqa: B023
                optimizer.step()  # noqa: B023
            return w.detach().clone()  # noqa: B023

        call = wrap(step)
        found.append([call(x).tolist() for x in INPUTS])
    assert found[0] == found[1]
