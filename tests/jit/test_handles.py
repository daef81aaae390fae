"""Compiled modules are modules, compiled methods live as long as their objects, and copies and threads have what they should."""

import copy
import gc
import inspect
import pickle
import threading
import weakref

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.jit.compile import MOST_BOUND

pytestmark = pytest.mark.filterwarnings("ignore:compile.*(was captured|runs as it is|values that the program)")


class Net(nn.Module):
    """A module, one of whose attributes is compiled."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.go = nbgrad.compile(self.fn)

    def fn(self, x):
        return self.layer(x) * 3

    def forward(self, x):
        return self.go(x)


class Model:
    """An object with compiled methods."""

    def __init__(self, w=2.0):
        self.w = nbgrad.full((3,), w, requires_grad=True)

    @nbgrad.compile
    def loss(self, x):
        return (self.w * x).sum()

    @nbgrad.compile
    def both(self, x):
        return self.loss(x) * 2


class Registered(nn.Module):
    """A class whose subclasses must say what they are called."""

    names: list = []

    def __init_subclass__(cls, name, **options):
        Registered.names.append(name)

    def __getattr__(self, name):
        if name == "further":
            return 5
        raise AttributeError(name)

    def forward(self, x):
        return x * 2


@nbgrad.compile
def doubled(x):
    """A function that is found by its name."""
    return x * 2


def test_a_compiled_module_is_the_module():
    """Its parameters, modes, state, hooks and attributes are those of the module."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1))
    compiled, x = nbgrad.compile(model), nbgrad.ones(4, 2)
    assert isinstance(compiled, nn.Sequential) and compiled[0] is model[0] and len(compiled) == 3
    assert all(a is b for a, b in zip(compiled.parameters(), model.parameters()))
    assert compiled.state_dict().keys() == model.state_dict().keys()
    compiled.eval()
    assert not model.training and not model[1].training
    assert compiled(x).tolist() == model(x).tolist() and len(compiled.variants) == 1
    compiled.load_state_dict({name: nbgrad.zeros_like(value) for name, value in model.state_dict().items()})
    assert compiled(x).abs().sum().item() == 0 == model(x).abs().sum().item()
    compiled[2].bias.data.fill_(1.0)
    assert compiled(x).tolist() == [[1.0]] * 4 and len(compiled.variants) == 1
    compiled.extra = 5
    assert model.extra == 5 and "1 variant" in str(compiled.explain()) and "def " in compiled.source()


def test_the_module_has_torchs_name():
    net = Net()
    assert nbgrad.compile(net)._orig_mod is net


def test_a_compiled_module_within_others():
    """It may be a part of modules, compiled and not, and be trained there."""
    inner = nn.Linear(2, 2)
    for outer in (nn.Sequential(nbgrad.compile(inner), nn.Tanh()), nbgrad.compile(nn.Sequential(nbgrad.compile(inner), nn.Tanh()))):
        assert [name for name, _ in outer.named_parameters()] == ["0.weight", "0.bias"]
        optimizer = nbgrad.optim.SGD(outer.parameters(), lr=0.5)
        x, expected = nbgrad.ones(3, 2), (inner(nbgrad.ones(3, 2))).tanh()
        assert outer(x).allclose(expected)
        before = outer(x).sum().item()
        outer(x).sum().backward()
        optimizer.step()
        assert outer(x).sum().item() < before
        inner.zero_grad()


def test_classes_that_are_no_usual_ones():
    """What a class does for its subclasses is not done for handles; attributes that it makes are found."""
    made = nbgrad.compile(type("One", (Registered,), {}, name="one")())
    assert Registered.names == ["one"] and made.further == 5 and made(nbgrad.ones(1)).item() == 2
    with pytest.raises(AttributeError, match="missing"):
        _ = made.missing


def test_a_module_that_holds_itself_compiled():
    """``self.fast = nbgrad.compile(self)`` ends."""
    net = nn.Linear(2, 2)
    net.fast = nbgrad.compile(net)
    assert len(list(net.parameters())) == 2
    assert net.fast(nbgrad.ones(2)).tolist() == net(nbgrad.ones(2)).tolist()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_compiled_functions_of_copies(again):
    """A copy has none of the variants, and another object."""
    net, x = Net(), nbgrad.ones(1, 2)
    net(x)
    other = again(net)
    assert other.go.variants == [] and other.go.fn.__self__ is other
    other.layer.weight.data.zero_()
    other.layer.bias.data.zero_()
    assert other(x).tolist() == [[0.0, 0.0]] != net(x).tolist()
    module = nbgrad.compile(nn.Linear(2, 2))
    module(x)
    other = again(module)
    assert isinstance(other, nn.Linear) and other(x).tolist() == module(x).tolist() and len(other.variants) == 1
    assert other.weight is not module.weight
    model = Model()
    model.both(nbgrad.ones(3))
    other = again(model)
    other.w.data.fill_(1.0)
    assert other.both(nbgrad.ones(3)).item() == 6 and model.both(nbgrad.ones(3)).item() == 12
    assert (
        again(model.loss).__self__ is not model if hasattr(model.loss, "__self__") else again(model.loss).fn.__self__ is not model
    )
    assert again(doubled) is doubled


def test_a_shallow_copy_has_methods_of_its_own():
    """A copied namespace does not make the methods of the one object those of the other."""
    model = Model()
    model.loss(nbgrad.ones(3))
    other = copy.copy(model)
    other.w = nbgrad.zeros(3)
    assert other.loss(nbgrad.ones(3)).item() == 0 and model.loss(nbgrad.ones(3)).item() == 6
    assert copy.copy(nbgrad.compile(lambda x: x + 1))(nbgrad.ones(1)).item() == 2


def test_objects_with_compiled_methods_are_let_go():
    """What was captured for an object goes with it."""
    alive = []
    for _ in range(4):
        model = Model()
        for k in range(3):
            model.both(nbgrad.ones(3) * k).backward()
            model.loss(nbgrad.ones(3) * k)
        alive.append(weakref.ref(model))
    del model
    gc.collect()
    assert [each() for each in alive] == [None] * 4


def test_a_further_compiled_method_has_nothing_captured_again():
    """What an object keeps for its methods is no attribute that programs depend on."""

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(nbgrad.ones(2))

        @nbgrad.compile
        def one(self, x):
            return x * self.w

        @nbgrad.compile
        def two(self, x):
            return x + self.w

    layer, x = Layer(), nbgrad.ones(2)
    for _ in range(3):
        layer.one(x)
        layer.two(x)
    assert len(layer.one.variants) == len(layer.two.variants) == 1
    assert list(layer.state_dict()) == ["w"]


def in_threads(work, count=3):
    """Do something in threads."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


@pytest.mark.parametrize("round_", range(5))
@pytest.mark.usefixtures("unchecked")  # which compares what other threads change meanwhile
def test_first_calls_in_threads_lose_nothing(round_):
    """While one thread captures, the others wait."""
    held = {"n": 0}

    @nbgrad.compile
    def count(x):
        held["n"] += 1
        return x * 2

    in_threads(lambda: [count(nbgrad.ones(1)) for _ in range(50)])
    assert held["n"] == 150 and len(count.variants) == 1


def test_threads_may_wait_for_each_other():
    """A function whose calls meet in several threads is called to the end."""
    barrier, found = threading.Barrier(2), []

    @nbgrad.compile
    def meeting(x):
        with open("/dev/null"):
            barrier.wait(timeout=30)
        return x * 2

    in_threads(lambda: found.append(meeting(nbgrad.ones(1)).item()), 2)
    assert found == [2.0, 2.0]


def test_few_objects_with_slots_alone_are_kept():
    """They have no room for their compiled methods, which hold them."""

    class Scaled:
        __slots__ = ("w", "__weakref__")

        def __init__(self, w):
            self.w = w

        @nbgrad.compile
        def scaled(self, x):
            return x * self.w

    made = []
    for k in range(MOST_BOUND + 6):
        each = Scaled(float(k))
        assert each.scaled(nbgrad.ones(2)).tolist() == [k, k]
        made.append(weakref.ref(each))
    del each
    gc.collect()
    assert [x() is None for x in made] == [True] * 6 + [False] * MOST_BOUND


def test_signatures_are_those_of_what_is_compiled():
    """``inspect`` sees the function, or the module, and a call by name is captured as one by position is."""

    class Scaled(nn.Module):
        def forward(self, x, by=2.0):
            return x * by

    module, function = Scaled(), lambda x, by=2.0: x * by
    for plain, compiled in ((module, nbgrad.compile(module)), (function, nbgrad.compile(function))):
        assert inspect.signature(compiled) == inspect.signature(plain)
        x = nbgrad.ones(2)
        assert compiled(x).tolist() == compiled(x=x).tolist() == compiled(x, by=2.0).tolist() == [2, 2]
