"""Containers of modules and of parameters."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import ArgumentError, DimError, RangeError

pytestmark = pytest.mark.usefixtures("device")


class Add(nn.Module):
    """Adds a number: shows which modules ran, and in which order."""

    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return 10 * x + self.amount


def amounts(modules):
    """The numbers of a container of ``Add``."""
    return [module.amount for module in modules]


def test_sequential_composes_in_order():
    """The first module is applied first."""
    assert nn.Sequential(Add(1), Add(2), Add(3))(0) == 123


def test_sequential_applies_a_repeated_module_each_time():
    """A module at two positions runs twice although it is listed once among the children."""
    repeated = Add(1)
    assert nn.Sequential(repeated, Add(2), repeated)(0) == 121


def test_sequential_with_names():
    """A mapping names the modules, which are then attributes."""
    model = nn.Sequential({"first": Add(1), "second": Add(2)})
    assert model(0) == 12 and model.second.amount == 2


@pytest.mark.parametrize(
    "make", [lambda *modules: nn.Sequential(*modules), lambda *modules: nn.ModuleList(modules)], ids=["Sequential", "ModuleList"]
)
class TestLikeAList:
    """What both containers share with a list."""

    def test_indexing(self, make):
        """Positive and negative positions, and slices that are containers of the same type."""
        modules = make(Add(1), Add(2), Add(3))
        assert len(modules) == 3 and modules[0].amount == 1 and modules[-1].amount == 3
        assert type(modules[1:]) is type(modules) and amounts(modules[1:]) == [2, 3]

    def test_changing(self, make):
        """Append, extend, insert, assign and delete keep the order and the numbering."""
        modules = make(Add(1)).append(Add(3)).extend([Add(4)]).insert(1, Add(2))
        modules[-1] = Add(5)
        del modules[0]
        assert amounts(modules) == [2, 3, 5]
        assert [name for name, _ in modules.named_children()] == ["0", "1", "2"]

    def test_joining(self, make):
        """``+`` makes a new container, ``+=`` extends the old one; ``pop`` takes out."""
        modules = make(Add(1), Add(2))
        joined = modules + make(Add(3))
        assert type(joined) is type(modules) and amounts(joined) == [1, 2, 3] and len(modules) == 2
        same = modules
        modules += [Add(4)]
        assert modules is same and amounts(modules) == [1, 2, 4]
        assert modules.pop(0).amount == 1 and amounts(modules.pop(slice(0, 1))) == [2] and amounts(modules) == [4]

    @pytest.mark.parametrize(
        "look",
        [
            lambda modules: modules[2],
            lambda modules: modules.pop(2),
            lambda modules: modules.__delitem__(2),
            lambda modules: modules.__setitem__(2, Add(1)),
        ],
        ids=["get", "pop", "del", "set"],
    )
    def test_index_out_of_range(self, make, look):
        """The error gives the index and the number of modules."""
        with pytest.raises(DimError, match="index 2 is out of range for 2 modules"):
            look(make(Add(1), Add(2)))

    def test_only_modules_are_held(self, make):
        """Anything else is refused by name, and is not held."""
        modules = make(Add(1))
        with pytest.raises(ArgumentError, match="it is a module, so expected a Module or None, got int"):
            modules.append(3)
        with pytest.raises(ArgumentError, match="expected an iterable of modules, got int"):
            modules.extend(3)
        assert len(modules) == 1


def test_module_list_registers_parameters():
    """The parameters of a list belong to the module that holds it."""

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    assert [name for name, _ in Stack().named_parameters()][0] == "layers.0.weight"
    assert sum(p.numel() for p in Stack().parameters()) == 12


def test_sequential_repeated():
    """A number of times the same modules, which share their parameters."""
    once = nn.Sequential(Add(1), Add(2))
    assert (once * 2)(0) == (2 * once)(0) == 1212 and len(once) == 2
    once *= 2
    assert once(0) == 1212 and len(list(once.children())) == 2


def test_parameter_list():
    """Indexing and changing as in a list; other tensors become parameters, and all are found by position."""
    values = nn.ParameterList([nbgrad.ones(1), nn.Parameter(nbgrad.zeros(2))])
    values.append(nbgrad.ones(3))
    values += [nbgrad.ones(4)]
    values[0] = nbgrad.zeros(5)
    assert [len(p) for p in values] == [5, 2, 3, 4] and all(isinstance(p, nn.Parameter) for p in values)
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "2", "3"]
    assert type(values[1:]) is nn.ParameterList and values[1:][0] is values[1] and values[-1].shape == (4,)
    with pytest.raises(DimError, match="index 4 is out of range for 4 parameters"):
        values[4]
    values += ["x", nn.ParameterList([nbgrad.ones(1)])]
    assert list(values)[4] == "x" and len(values) == 6 and "(4): Object of type: str" in repr(values)
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "2", "3", "5.0"]
    del values[4]
    assert [name for name, _ in copy.deepcopy(values).named_parameters()][-1] == "4.0"


def test_places_of_modules_can_be_empty():
    """None in a container is held and printed; a composition with such a place cannot be called."""
    for container in (nn.ModuleList([nn.Tanh(), None]), nn.Sequential(nn.Tanh(), None)):
        assert len(container) == 2 and list(container)[1] is None and "(1): None" in repr(container)
    with pytest.raises(TypeError, match="not callable"):
        nn.Sequential(nn.Tanh(), None)(nbgrad.ones(1))
    assert dict(nn.ModuleDict({"a": None})) == {"a": None}


def test_dictionaries_of_parameters_are_sorted():
    """Parameters of a plain dictionary come by name, those of an ordered one and of pairs as they are, as in torch."""
    made = {"b": nbgrad.ones(1, device="cpu"), "a": nbgrad.ones(2, device="cpu")}
    assert list(nn.ParameterDict(made)) == ["a", "b"] and list(nn.ParameterDict(OrderedDict(made))) == ["b", "a"]
    assert repr(nn.ParameterDict(made)).splitlines()[1] == "    (a): Parameter containing: [nbgrad.FloatTensor of size 2]"


@pytest.mark.parametrize(
    ("make", "value"),
    [(nn.ModuleDict, nn.Tanh), (nn.ParameterDict, lambda: nn.Parameter(nbgrad.ones(1)))],
    ids=["ModuleDict", "ParameterDict"],
)
class TestLikeADictionary:
    """What containers by name share with a dictionary."""

    def test_members(self, make, value):
        """Names in the order in which they came, with their members."""
        first, second = value(), value()
        members = make([("b", first)])
        members.update([("a", second)])
        assert list(members) == list(members.keys()) == ["b", "a"] and len(members) == 2
        assert members["b"] is members.b is first and list(members.values()) == [first, second]
        assert dict(members.items()) == {"b": first, "a": second} and "a" in members and "c" not in members

    def test_changing(self, make, value):
        """Assignment replaces in place; deleted names are free."""
        members, new = make([("a", value()), ("b", value()), ("c", value())]), value()
        members["a"] = new
        del members["b"]
        assert list(members) == ["a", "c"] and members.pop("a") is new and list(members) == ["c"]
        members.clear()
        assert not len(members) and not list(members.named_parameters())

    @pytest.mark.parametrize(
        "clone", [copy.deepcopy, lambda members: pickle.loads(pickle.dumps(members))], ids=["deepcopy", "pickle"]
    )
    def test_copies(self, make, value, clone):
        """A copy has the same names and members of its own."""
        members = make({"a": value()})
        other = clone(members)
        assert list(other) == ["a"] and other["a"] is not members["a"] and repr(other) == repr(members)

    def test_names(self, make, value):
        """A missing name is a KeyError that lists what there is; names of methods, and dotted ones, cannot be taken."""
        members = make({"a": value()})
        for look in (lambda: members["x"], lambda: members.pop("x"), lambda: members.__delitem__("x")):
            with pytest.raises(KeyError, match="'x' is not there. There are: a"):
                look()
        for name in ("keys", "forward", "a.b", ""):
            with pytest.raises(RangeError):
                members[name] = value()
        with pytest.raises(ArgumentError, match="name of a (module|parameter) as a str"):
            members[3] = value()
        with pytest.raises(RangeError, match="are 1 objects, expected 2"):
            members.update([("n",)])
        with pytest.raises(ArgumentError, match="expected a mapping or pairs, got int"):
            members.update(3)
        assert list(members) == ["a"]


def test_containers_by_name_belong_to_their_module():
    """Parameters have dotted names through both kinds, and gradients arrive in them."""

    class Switch(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({"up": nn.Linear(1, 1, bias=False), "same": nn.Identity()})
            self.scales = nn.ParameterDict({"up": nbgrad.tensor(2.0)})

        def forward(self, x, name):
            return self.layers[name](x) * self.scales[name]

    model = Switch()
    assert [name for name, _ in model.named_parameters()] == ["layers.up.weight", "scales.up"]
    model(nbgrad.ones(1, 1), "up").sum().backward()
    assert model.layers["up"].weight.grad.tolist() == [[2.0]] and model.scales["up"].grad == model.layers["up"].weight.sum()


def test_dictionaries_of_parameters_are_dictionaries():
    """What they lack has a default; they can be joined, copied with the same parameters, taken from at the end, and reversed."""
    weights = nn.ParameterDict({"a": nbgrad.ones(1)})
    assert weights.get("b") is None and weights.get("b", 3) == 3 and weights.get("a") is weights["a"]
    assert weights.setdefault("a", nbgrad.zeros(1)) is weights["a"] and isinstance(
        weights.setdefault("b", nbgrad.ones(2)), nn.Parameter
    )
    assert weights.copy()["a"] is weights["a"] and [*reversed(weights)] == ["b", "a"]
    both = weights | nn.ParameterDict({"a": nbgrad.zeros(1), "c": nbgrad.ones(3)})
    assert [*both] == ["a", "b", "c"] and both["a"].item() == 0.0 and [*weights] == ["a", "b"]
    weights |= both
    name, last = weights.popitem()
    assert name == "c" and last is both["c"] and [*weights] == ["a", "b"]
    made = weights.fromkeys("xy", nbgrad.ones(1))
    assert [*made] == ["x", "y"] and made["x"] is not made["y"]
    with pytest.raises(KeyError, match="no parameters"):
        nn.ParameterDict().popitem()
