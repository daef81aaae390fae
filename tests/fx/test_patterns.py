"""Parts of graphs exchanged for others."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import fx, nn
from nbgrad.errors import ArgumentError
from nbgrad.fx.subgraph_rewriter import replace_pattern_with_filters


def test_every_place():
    """Each is found, also where constants are given, and the rest is left."""

    def program(x, a, b):
        return x + nbgrad.cat([a, b]).sum() + nbgrad.cat([a, b]).sum() + nbgrad.cat([a, a])

    traced = fx.symbolic_trace(program)
    matches = fx.replace_pattern(traced, lambda u, v: nbgrad.cat([u, v]).sum(), lambda u, v: nbgrad.stack([u, v]).max())
    assert [match.anchor.name for match in matches] == ["sum_1", "sum_1"]
    assert traced.code.count("nbgrad.stack") == 2 and traced.code.count("nbgrad.cat") == 1
    traced.graph.lint()
    assert traced(0.0, nbgrad.ones(1), nbgrad.full((1,), 3.0)).tolist() == [7, 7]


def test_places_do_not_overlap():
    """Of a chain every second link, and a replacement is not searched again."""

    def program(x):
        return nbgrad.sigmoid(nbgrad.sigmoid(nbgrad.sigmoid(x)))

    traced = fx.symbolic_trace(program)
    assert len(fx.replace_pattern(traced, lambda x: nbgrad.sigmoid(nbgrad.sigmoid(x)), lambda x: nbgrad.exp(x))) == 1
    again = fx.symbolic_trace(program)
    assert len(fx.replace_pattern(again, lambda x: nbgrad.sigmoid(x), lambda x: nbgrad.sigmoid(x).exp())) == 3
    x = nbgrad.zeros(1)
    assert nbgrad.equal(traced(x), x.exp().sigmoid())
    assert nbgrad.equal(again(x), x.sigmoid().exp().sigmoid().exp().sigmoid().exp())


def test_values_that_are_used_elsewhere():
    """What is inside of a match and is used outside stays, so there is no match."""

    def program(x):
        y = x.exp()
        return y.sin() + y

    assert fx.replace_pattern(fx.symbolic_trace(program), lambda x: x.exp().sin(), lambda x: x) == []


@pytest.mark.parametrize(("ignored", "count"), [(False, 1), (True, 2)])
def test_constants(ignored, count):
    """They have to be equal, unless told otherwise."""
    traced = fx.symbolic_trace(lambda x: (x * 2) + (x * 3))
    found = replace_pattern_with_filters(traced, lambda x: x * 2, lambda x: x.exp(), ignore_literals=ignored)
    assert len(found) == count and all(each.replacements for each in found)


def test_filters():
    """Only what they let pass is exchanged."""
    traced = fx.symbolic_trace(lambda x, y: x.exp() + y.exp())
    kept = [lambda match, graph, pattern: match.placeholder_nodes[0].name == "y"]
    assert len(replace_pattern_with_filters(traced, lambda x: x.exp(), lambda x: x.sin(), kept)) == 1
    assert "exp = x.exp()" in traced.code and "sin" in traced.code


class Joined(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layer = nn.Sequential(*layers)

    def forward(self, x):
        return self.layer(x)


class Replaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.other = nn.Linear(2, 2)

    def forward(self, x):
        return self.other(x)


def test_modules():
    """Modules match those of their class; the replacement's own are brought along, unused ones go."""
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
    new = Replaced()
    assert len(fx.replace_pattern(traced, Joined(nn.Linear(2, 2), nn.Tanh()), new)) == 1
    assert traced.other is new.other and list(traced.state_dict()) == ["other.weight", "other.bias"]


def test_other_arguments():
    """The replacement takes as many as the pattern."""
    traced = fx.symbolic_trace(lambda x: x.exp())
    with pytest.raises(ArgumentError, match="takes 2 arguments, expected 1"):
        fx.replace_pattern(traced, lambda x: x.exp(), lambda x, y: x + y)
    with pytest.raises(ArgumentError, match="expected a replacement"):
        replace_pattern_with_filters(traced, lambda x: x.exp())
