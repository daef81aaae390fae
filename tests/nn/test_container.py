"""Sequential and ModuleList."""
from __future__ import annotations

import pytest

from nbgrad import nn
from nbgrad.errors import DimError


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


@pytest.mark.parametrize("make", [lambda *modules: nn.Sequential(*modules), lambda *modules: nn.ModuleList(modules)],
                         ids=["Sequential", "ModuleList"])
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

    def test_index_out_of_range(self, make):
        """The error gives the index and the number of modules."""
        with pytest.raises(DimError, match="index 2 is out of range for 2 modules"):
            make(Add(1), Add(2))[2]


def test_module_list_registers_parameters():
    """The parameters of a list belong to the module that holds it."""
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))

    assert [name for name, _ in Stack().named_parameters()][0] == "layers.0.weight"
    assert sum(p.numel() for p in Stack().parameters()) == 12
