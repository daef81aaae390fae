"""What ``item`` reads in a compiled function is followed, where nobody needs the number itself."""

import json
import math

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base.errors import GraphError
from nbgrad.testing import assert_close

pytestmark = pytest.mark.filterwarnings("ignore:compile.*values that the program asks for")
FLOATS = [nbgrad.tensor([1.5, k]) for k in (2.0, -1.0, 3.25, 7.0)]
WHOLES = [nbgrad.tensor(k) for k in ([1, 2, 3], [4, -5, 6], [0, 7, 7], [10, 11, 12])]


def agree(fn, arguments, variants=1):
    """A compiled function gives what the function gives, bit for bit and of the same types, with so many variants."""
    compiled = nbgrad.compile(fn, fullgraph=True)
    for x in (*arguments, *arguments):
        got, want = compiled(x), fn(x)
        assert repr(got) == repr(want)
        assert type(got) is type(want)
    assert len(compiled.variants) == variants, compiled.explain()


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.sum().item(),
        lambda x: (x.sum().item() * 2 + 1, x * x.sum().item()),
        lambda x: x.max().item() / (x[0].item() - 0.25),
        lambda x: -abs(x[1].item()) + 1,
        lambda x: x.double().sum().item(),
        lambda x: x.half().sum().item(),
        lambda x: x.reshape(2, 1)[0:1].item(),
        lambda x: x[0:0].sum().item() + x.max().item(),
        lambda x: {"loss": x.sum().item(), "n": [3, x[1].item()]},
        lambda x: sum(v.item() for v in x),
        lambda x: nbgrad.full((2,), x.sum().item()),
        lambda x: nbgrad.tensor([[x.sum().item(), 1], [2.0, x[0].item()]]),
        lambda x: nbgrad.tensor([x.sum().item()], dtype=nbgrad.float64),
        lambda x: nbgrad.where(x > 0, x.sum().item(), x),
        lambda x: x ** x[0].item(),
        lambda x: nbgrad.add(x, x, alpha=x[1].item()),
        lambda x: x.sum().item() == "text" or x.sum().item() is None,
        lambda x: isinstance(x.sum().item(), float),
    ],
)
def test_floats_are_followed(fn, any_values):
    """One program for all values."""
    agree(fn, FLOATS)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.sum().item(),
        lambda x: (x > 2).sum().item() / x.numel(),
        lambda x: -x.sum().item() * 3 - x[0].item() + abs(x[1].item()),
        lambda x: x.sum().item() + 1.5,
        lambda x: (x * x.sum().item(), x.float() - x[0].item(), x[1].item() / x.double()),
        lambda x: 2 * x.float().mean().item() * x.sum().item(),
        lambda x: 1 / (x.max().item() + 1),
        lambda x: x.to(nbgrad.int8).sum().item(),
        lambda x: x.to(nbgrad.uint8)[2].item() + 1,
        lambda x: nbgrad.tensor([x.sum().item(), 1]),
        lambda x: nbgrad.tensor([x.sum().item(), 1.5]),
        lambda x: x.sum().item() > -100,
        lambda x: x.sum().item() > -100.5,
        lambda x: x.sum().item() == None,  # noqa: E711
        lambda x: isinstance(x.sum().item(), int),
    ],
)
def test_integers_are_followed(fn):
    """Their arithmetic is that of Python as long as they are small."""
    agree(fn, WHOLES)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: f"{x.sum().item():.2f}",
        lambda x: math.sqrt(abs(x.sum().item())),
        lambda x: json.dumps(x.sum().item()),
        lambda x: round(x.sum().item(), 1),
        lambda x: {x.sum().item(): 1}[x.sum().item()],
        lambda x: np.float32(x.sum().item()),
        lambda x: x.sum().item() ** 2,
        lambda x: x.bfloat16() * x.bfloat16().sum().item(),
        lambda x: nbgrad.vmap(lambda row: row * x.sum().item())(x),
    ],
)
def test_what_needs_the_number_asks_for_it(fn):
    """Each value has a program of its own, as before."""
    agree(lambda x: (repr(fn(x)), x * 2), FLOATS, 4)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: list(range(abs(x[0].item()))),
        lambda x: x[: x[0].item()],
        lambda x: nbgrad.zeros(abs(x[0].item())),
        lambda x: x.sum().item() // 4 + (x.sum().item() | 3),
        lambda x: x.roll(x[0].item()).clamp(max=x[1].item()),
        lambda x: (hash(x.sum().item()), ~x.sum().item(), x.sum().item().bit_length(), f"{x[0].item()}"),
    ],
)
def test_what_needs_the_integer_asks_for_it(fn):
    """The same of integers."""
    agree(fn, WHOLES, 4)


@pytest.mark.parametrize("fn", [lambda n: n + n, lambda n: n * 3, lambda n: n / 3, lambda n: -n, lambda n: n > 2.0**53])
def test_large_integers_are_exact(fn):
    """Python's integers do not wrap around, and are divided and compared exactly."""
    for first in (5, 2**62):
        compiled = nbgrad.compile(lambda x: fn(x.item()), fullgraph=True)
        for n in (first, 2**62, 2**53 + 1, -(2**63), 5, -7, 2**31, 2**31 + 1):
            assert compiled(nbgrad.tensor(n)) == fn(n)


def test_branches_by_items_ask_for_the_answer_alone():
    """Two branches, two programs."""
    agree(lambda x: "big" if x.sum().item() > 3 else "small", FLOATS, 2)
    agree(lambda x: max(x.sum().item(), 2.0), FLOATS, 2)
    agree(lambda x: x * 2 if x.sum().item() else x, [*WHOLES, nbgrad.tensor([1, -1, 0])], 2)
    agree(lambda x: x[0] if x.sum().item() >= 6 else x[1], WHOLES, 2)


def test_an_item_is_what_was_there_when_it_was_read():
    """Writes behind it do not change it."""

    def fn(x):
        x = x.double().clone()
        before = x[0].item()
        x.add_(1)
        return before, x[0].item()

    agree(fn, FLOATS)


def test_division_by_an_item_that_is_zero():
    """Raises as Python does, whatever came first."""
    compiled = nbgrad.compile(lambda x: 1 / x.sum().item(), fullgraph=True)
    for value in (2.0, 0.0, 4.0):
        x = nbgrad.tensor([value])
        if value:
            assert compiled(x) == 1 / value
        else:
            with pytest.raises(ZeroDivisionError):
                compiled(x)


def test_items_have_no_history():
    """What is computed with an item treats it as a number, in gradients too."""
    fn = lambda x: (x * x.sum().item()).sum()
    compiled = nbgrad.compile(lambda x: (fn(x), nbgrad.grad(fn(x), x)[0], x.sum().item()), fullgraph=True)
    for value in (2.0, 3.0, -1.0):
        x = nbgrad.tensor([1.5, value], requires_grad=True)
        y, inside, item = compiled(x)
        assert_close(inside, nbgrad.full((2,), x.sum().item()))
        assert_close(nbgrad.grad(y, x)[0], inside)
        assert item == 1.5 + value
    assert len(compiled.variants) == 1


def stepper(compiled):
    """A training step that returns what people look at."""
    nbgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    def step(x, y):
        optimizer.zero_grad()
        out = model(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return loss.item() * len(x), (out.argmax(1) == y).sum().item()

    return nbgrad.compile(step, fullgraph=True) if compiled else step


def test_a_training_step_returns_its_loss_and_what_was_right():
    """One program."""
    compiled, eager = stepper(True), stepper(False)
    for _ in range(12):
        x, y = nbgrad.randn(16, 4), nbgrad.randint(0, 3, (16,))
        (loss, right), (expected, count) = compiled(x, y), eager(x, y)
        assert type(loss) is float
        assert type(right) is int
        assert loss == pytest.approx(expected, rel=1e-5)
        assert right == count
    assert len(compiled.variants) == 1


def test_items_that_are_kept_are_floats():
    """What a function keeps is no number of a capture."""
    kept, holder = [], {}

    def fn(x):
        kept.append(x.sum().item())
        holder["last"] = x[0].item()
        return x * 2

    compiled = nbgrad.compile(fn, fullgraph=True)
    for x in FLOATS:
        assert_close(compiled(x), x * 2)
    assert kept == [x.sum().item() for x in FLOATS]
    assert [type(x) for x in (*kept, holder["last"])] == [float] * 5
    assert len(compiled.variants) == 1


def test_errors_of_the_function_come_once_and_as_they_are():
    """An error behind an item is the function's own, and what it did before happens once."""
    seen = []

    def fn(x):
        seen.append(1)
        if not x.sum().item() > 0:
            raise ValueError("the loss is negative")
        return json.dumps(x.sum().item())

    compiled = nbgrad.compile(fn)
    with pytest.raises(ValueError, match="the loss is negative"):
        compiled(nbgrad.tensor([-1.0]))
    assert len(seen) == 1
    assert compiled(nbgrad.tensor([2.0])) == "2.0"


def test_bodies_of_loops_ask():
    """A body runs for many values: an item in it is refused as ever."""
    with pytest.raises(GraphError, match="Python reads values in the body"):
        nbgrad.scan(lambda c, y: (c + y.item(), c), nbgrad.tensor(0.0), FLOATS[0])


def test_norms_are_looked_at_for_being_finite():
    """Clipping with ``error_if_nonfinite`` asks for a truth value alone."""
    w = nbgrad.ones(2, requires_grad=True)

    def step(x):
        w.grad = None
        (w * x).sum().backward()
        nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
        return w.grad.clone()

    compiled = nbgrad.compile(step, fullgraph=True)
    for x in FLOATS:
        assert_close(compiled(x), x / x.norm(), rtol=1e-5, atol=1e-6)
    assert len(compiled.variants) == 1
