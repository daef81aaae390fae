"""Functions of sizes give the plans that their makers give, for sizes that they were not derived from; or none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import nbgrad
import nbgrad.nn.functional as F
from nbgrad.base.open_sizes import Derivation
from nbgrad.dispatch import patterns
from nbgrad.dispatch.patterns import Patterns
from nbgrad.native.plans import MovementPlan, complete
from nbgrad.ops.core import OPS
from nbgrad.tensors.layout import Layout, contiguous_strides, form_of, layout_of, like_strides
from tests.samples import SAMPLES
from tests.samples.checking import gradients, results, run, to_tensor, weights_of

ROWS = sorted(n for n, row in SAMPLES.items() if row.reference is not None and getattr(OPS[n], "policy", "") != "integer")
# Calls of ``x`` [3, 4, 8], ``y`` [3, 4, 8], ``row`` [8], ``weight`` [8, 5] and integers ``k`` [3, 4] below 3.
CALLS = {
    "a row for all": lambda x, y, row, weight, k: x + row,
    "a transposed operand": lambda x, y, row, weight, k: x.transpose(0, 1) * y.transpose(0, 1)[:, :1],
    "slices with gaps": lambda x, y, row, weight, k: x[:, 1:] - x[:, :-1],
    "three operands": lambda x, y, row, weight, k: nbgrad.where(x > 0, x, y),
    "another dtype": lambda x, y, row, weight, k: x.double() * k.unsqueeze(-1),
    "sums of rows and columns": lambda x, y, row, weight, k: x.sum(-1).mean(1, keepdim=True) + y.amax(1),
    "a product of matrices": lambda x, y, row, weight, k: x @ weight + (x @ y.transpose(1, 2)).sum(-1, keepdim=True),
    "softmax": lambda x, y, row, weight, k: x.softmax(-1) + y.log_softmax(1),
    "running sums": lambda x, y, row, weight, k: x.cumsum(1),
    "a layer norm": lambda x, y, row, weight, k: F.layer_norm(x, x.shape[-1:], row),
    "copies and padding": lambda x, y, row, weight, k: F.pad(x.transpose(0, 2).contiguous(), (1, 2)),
    "views of views": lambda x, y, row, weight, k: x.reshape(-1, x.shape[-1])[1:].unsqueeze(0).expand(2, -1, -1) * 2,
    "joins": lambda x, y, row, weight, k: nbgrad.cat((x, y[:, :1]), 1).sum() + nbgrad.stack((x, y)).sum(),
    "reads by indices": lambda x, y, row, weight, k: x[k] + x.gather(2, k.unsqueeze(-1)).sum(),
    "a write": lambda x, y, row, weight, k: x.clone().mul_(row).add_(y),
}


@pytest.fixture
def planned(monkeypatch):
    """``[(patterns, inputs), ...]`` of the plans that calls ask for meanwhile; functions are derived at the first of a kind."""
    asked = dict[tuple, None]()
    plan_of = Patterns.plan_of

    def noted(self, inputs, make=None):
        asked[self, inputs] = None
        return plan_of(self, inputs, make)

    monkeypatch.setattr(patterns, "AFTER", 1)
    monkeypatch.setattr(Patterns, "plan_of", noted)
    return asked


def other_size(size: int, sizes: dict[int, int], draws: np.random.Generator) -> int:
    """Another size in the place of one, the same in the place of the same. What is not positive stays, and 1 mostly."""
    if size not in sizes:
        few, many = draws.integers(1, 40), draws.integers(1, 400)
        sizes[size] = int(
            size if size < 1 or draws.random() < 0.2 else 1 if size == 1 and draws.random() < 0.8 else draws.choice([few, many])
        )
    return sizes[size]


def other_layout(layout: Layout, sizes: dict[int, int], draws: np.random.Generator) -> Layout:
    """A layout of other sizes, in the same order of memory; where elements had gaps there are some."""
    shape = tuple(other_size(size, sizes, draws) for size in layout.shape)
    strides = contiguous_strides(shape)
    if not form_of(layout).row_major:
        gap = 1 if layout.dense or layout.expanded else int(draws.integers(1, 4))
        strides = tuple(gap * step if old else 0 for step, old in zip(like_strides(shape, layout.strides), layout.strides))
    return layout_of(layout.dtype, shape, strides, layout.device, layout.conj, layout.neg)


def other_inputs(made: Patterns, inputs: tuple, draws: np.random.Generator) -> tuple:
    """The inputs of a plan with other sizes."""
    sizes = dict[int, int]()

    def other(k, x):
        if type(x) is Layout:
            return other_layout(x, sizes, draws)
        if type(x) is tuple and (k in made.sizes or Layout in map(type, x)):
            return tuple([other(k, each) for each in x])
        return other_size(x, sizes, draws) if k in made.sizes and type(x) is int else x

    return tuple([other(k, x) for k, x in enumerate(inputs)])


def facts(plan) -> tuple:
    """All of a plan that sizes may decide."""
    words = plan.offset if isinstance(plan, MovementPlan) else bytes(complete(plan.record))
    others = [getattr(plan, name, None) for name in ("compute", "operands", "reduced", "args", "layout")]
    return words, [out.layout for out in plan.outs], plan.layouts, *others


def checked(planned, times: int) -> int:
    """Compare what functions give with what makers give, for other sizes, and that they give nothing for other kinds.

    Returns:
        How many plans were compared.
    """
    draws, compared = np.random.default_rng(5), 0
    for made, inputs in list(planned):
        functions = made.kinds[made.kind_of(inputs)][0]
        assert all(function(*inputs[:-1]) is None and function(*inputs, None) is None for function, _ in functions)
        for others in [other_inputs(made, inputs, draws) for _ in range(times)]:
            same_kind = made.kind_of(others) == made.kind_of(inputs)
            for function, build in functions:
                if (parts := function(*others)) is not None:
                    assert same_kind, f"{made.label}: a function takes {others} for inputs of the kind of {inputs}"
                    compared += 1
                    assert facts(build(others, *parts)) == facts(made.make(*others)), f"{made.label} of {others}"
    return compared


@pytest.mark.parametrize("name", CALLS)
def test_plans_of_other_sizes(name, planned):
    """The plans of a call and of its gradient, with all sizes exchanged."""
    draws = np.random.default_rng(3)
    x, y, row, weight = (nbgrad.tensor(draws.normal(size=shape), requires_grad=True) for shape in ((3, 4, 8), (3, 4, 8), 8, (8, 5)))
    out = CALLS[name](x, y, row, weight, nbgrad.tensor(draws.integers(0, 3, (3, 4))))
    (out * out.detach()).sum().backward()
    assert checked(planned, 12) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_plans_of_other_sizes_of_every_operation(name, planned):
    """Samples of every operation, called with other sizes: derived plans give what made ones do."""
    row = SAMPLES[name]
    for call in row.calls:
        operands = [to_tensor(x, True) for x in row.arrays(call)]
        weights = weights_of(results(run(row, operands, call)))
        with contextlib.suppress(nbgrad.NbgradError, AttributeError):  # where there is none
            gradients(row, operands, call, weights)
    checked(planned, 12)


@pytest.mark.parametrize("form", ["fewer than 1000", "multiples of 3", "an index", "a part of a key", "a quotient"])
def test_what_a_function_asks(form):
    """Where the answers are the same, so is the result; for the numbers at hand they are."""
    table = {7: "seven"}
    makers = {
        "fewer than 1000": lambda a, b: a * b < 1000,
        "multiples of 3": lambda a, b: (a + b) % 3 == 0,
        "an index": lambda a, b: "abcdefgh"[a],
        "a part of a key": lambda a, b: table.get(a),
        "a quotient": lambda a, b: -(-a // b) > 2,
    }
    make = makers[form]
    with Derivation() as derivation:
        a, b = derivation.opened("(a, b)", (7, 5), 0)
        answer = make(a, b)
    for one in range(8):
        for two in range(1, 300, 7):
            if answers_are_the_same(derivation, {"s0": one, "s1": two}):
                assert make(one, two) == answer
    assert answers_are_the_same(derivation, {"s0": 7, "s1": 5})
    assert int(a) == 7 and type(a + 1) is int  # behind the derivation it is its number


def answers_are_the_same(derivation: Derivation, numbers: dict[str, int]) -> bool:
    """Whether all questions have the answers that they had; ``numbers`` by their names, completed by what is computed."""
    for name, text, _ in derivation.steps:
        found = eval(text, {}, numbers)
        if not name and not found:
            return False
        numbers[name] = found
    return True


def test_makers_are_asked_seldom():
    """After ``AFTER`` shapes of a kind a function plans them; one without elements has another answer: the maker is asked."""
    made = []

    def make(layout):
        made.append(layout.shape)
        return nbgrad.dispatch.movements.ViewPlan(OPS["transpose"], layout, (0, 1))

    table = Patterns(make, nbgrad.dispatch.movements.copies_of, "example")
    layouts = [layout_of(nbgrad.float32, (n, n + 1), None, nbgrad.device("cpu")) for n in range(2, 40)]
    plans = [table.plan_of((layout,)) for layout in layouts]
    assert len(made) == patterns.AFTER + 1  # once with open sizes
    assert [plan.outs[0].layout.shape for plan in plans] == [(n + 1, n) for n in range(2, 40)]
    before = len(made)
    table.plan_of((layout_of(nbgrad.float32, (0, 3), None, nbgrad.device("cpu")),))
    assert len(made) == before + 1


def test_a_function_that_is_wrong_is_thrown_away():
    """Where a maker gives another shape for open sizes, its own plans are all that is used."""

    def make(layout):
        dims = (0, 1) if type(layout.shape[0]) is int else (0, 0)
        return nbgrad.dispatch.movements.ViewPlan(OPS["transpose"], layout, dims)

    table = Patterns(make, nbgrad.dispatch.movements.copies_of, "example")
    layouts = [layout_of(nbgrad.float32, (n, n + 1), None, nbgrad.device("cpu")) for n in range(2, 40)]
    assert [table.plan_of((x,)).outs[0].layout.shape for x in layouts] == [(x.shape[1], x.shape[0]) for x in layouts]


def test_lazy_bits_are_of_a_kind():
    """A function that was derived from conjugated operands does not plan negated ones, nor those that are both."""
    movements = nbgrad.dispatch.movements
    table = Patterns(lambda x: movements.ViewPlan(OPS["transpose"], x, (0, 1)), movements.copies_of, "example")
    for bits in [(True, False), (False, True), (True, True)]:
        for n in range(2, 40):
            layout = layout_of(nbgrad.complex64, (n, n + 1), None, nbgrad.device("cpu"), *bits)
            out = table.plan_of((layout,)).outs[0].layout
            assert (out.conj, out.neg) == bits


def test_sizes_that_are_numbers_of_numpy():
    """Sizes which a maker converts are no part of a derived plan as they are: native code reads them as ints."""
    for n in range(2, 60):
        view = nbgrad.zeros(2, 2 * n).view(2, np.int64(2), -1)
        assert {*map(type, view.layout.shape), *map(type, view.layout.strides)} == {int}
        assert view.diagonal(0, 0, 1).shape == (n, 2)


@pytest.mark.parametrize("kind", [float, bool])
def test_sizes_that_are_no_numbers(kind):
    """What a maker refuses is refused after functions were derived, too."""
    for n in range(2, 60):
        nbgrad.zeros(1, n).view(1, n, 1)
    with pytest.raises(nbgrad.errors.ArgumentError, match="view: shape must be an int or a tuple of ints"):
        nbgrad.zeros(1, 77).view(kind(1), 77, 1)
