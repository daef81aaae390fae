"""Ints among the arguments of compiled functions are words of their programs, where no int itself is needed."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.jit.compiled import variants
from nbgrad.testing import assert_close

WHOLES = (3, 0, -7, 12345, 2**31 - 1, 1 - 2**31)
X = nbgrad.tensor([1.5, -2.25, 1e3])
DTYPES = [nbgrad.float32, nbgrad.float64, nbgrad.int64, nbgrad.int32, nbgrad.bool, nbgrad.complex64]


def agree(fn, *others, wholes=WHOLES, variants=1):
    """A compiled function gives what the function gives, for every int, bit for bit, with so many variants."""
    compiled = nbgrad.compile(fn, fullgraph=True, limit=len(wholes))
    for whole in wholes:
        got, want = compiled(*others, whole), fn(*others, whole)
        assert repr(got) == repr(want)
        assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    assert len(compiled.variants) == variants, compiled.explain()
    return compiled


def test_another_int_captures_nothing():
    """An int is an input of the graph, and a word of the native call."""
    f = agree(lambda x, i: x * i, X)
    assert "i: int64[()]" in f.source()
    assert f.explain().variants[0].arguments == {"x": "float32[3]", "i": "int"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_ints_promote_as_ints_do(dtype):
    """An int widens no tensor, and leaves integers what they are."""
    x = nbgrad.tensor([0, 1, 1]).to(dtype)
    agree(lambda x, i: (x * i, i - x, x + i), x)
    agree(lambda x, i: (x / i, x == i), x, wholes=(3, 5, -2))


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.uint8])
def test_narrow_types_take_the_value(dtype):
    """Where an int may not fit the dtype, or is taken as float32, its value is known."""
    agree(lambda x, i: x * i, nbgrad.ones(3).to(dtype), wholes=(2, 3), variants=2)


def test_arithmetic_of_ints_is_recorded():
    """Python's operators on ints, and on ints and floats; powers of floats, too."""
    agree(lambda x, i: x * (2 * i - 5 + abs(-i)) + i // 3 + i % 7, X)
    agree(lambda x, i: x * (0.1 / (i + 2**32)) + i / 3, X)
    agree(lambda x, i: x / (1 - 0.9**i), X, wholes=(1, 2, 3, 100))


def test_ints_are_returned_as_ints():
    """The argument itself, and what was computed of it."""
    agree(lambda x, i: (i, i + 1, i / 2, x), X)


def test_operations_take_ints():
    """As operands, fill values and elements."""
    agree(lambda x, i: (x.clamp(min=i), nbgrad.where(x > 0, x, i), x.masked_fill(x > 0, i), x.clone().fill_(i)), X)
    agree(lambda x, i: (nbgrad.full((2,), i), nbgrad.full_like(x, i), nbgrad.tensor(i), nbgrad.tensor([i, 1])), X)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, i: x.sum(i),
        lambda x, i: x[i],
        lambda x, i: x.repeat(i + 1, 1),
        lambda x, i: sum(x for _ in range(i + 1)),
        lambda x, i: x * 2 if i > 0 else x,
        lambda x, i: x if i else -x,
        lambda x, i: x**i,
        lambda x, i: {i: x},
        lambda x, i: x * [2.0, 3.0][i],
        lambda x, i: x * float(i),
        lambda x, i: x * (2.0 if type(i) is int else 3.0),
        lambda x, i: nbgrad.arange(i),
    ],
)
def test_who_takes_the_int_has_the_value(fn):
    """Indices, sizes, counts, comparisons, exponents and keys hold for one value, which later calls are chosen by."""
    agree(fn, nbgrad.ones(2, 3), wholes=(0, 1, 0, 1), variants=2)


def test_comparisons_of_what_is_computed_are_guards_on_the_answer():
    """Every tenth step is another program, and no step is one of its own."""
    agree(lambda x, i: x * 2 if (i + 1) % 3 == 0 else x, X, wholes=tuple(range(12)), variants=2)
    agree(lambda x, i: x * 2 if i % 3 else x, X, wholes=tuple(range(12)), variants=2)
    agree(lambda x, i: x * 2 if i // 4 < 1 else x, X, wholes=tuple(range(12)), variants=2)


def test_powers_of_integers_keep_their_error():
    """A negative exponent of integers is refused as it is eagerly."""
    f = nbgrad.compile(lambda x, i: x**i)
    assert f(nbgrad.tensor([2, 3]), 2).tolist() == [4, 9]
    with pytest.raises(nbgrad.errors.DTypeError, match="negative power -1 is no integer"):
        f(nbgrad.tensor([2, 3]), -1)


def test_ints_beyond_31_bits_are_known_by_value():
    """Products of words are integers of 64 bits; larger ints are no words."""
    f = nbgrad.compile(lambda x, i: (x + i, i * i))
    for whole in (5, 2**31, 5, 2**62, -(2**31), 6):
        got, square = f(nbgrad.tensor([1]), whole)
        assert got.item() == 1 + whole and square == whole * whole and type(square) is int
    assert len(f.variants) == 4
    with pytest.raises(nbgrad.errors.NumberError, match="does not fit int64"):
        f(nbgrad.tensor([1]), 2**70)


def test_what_one_shape_has_taken_is_known_for_others(monkeypatch):
    """Calls with other layouts do not try once more to go on without the value."""
    runs, own = [], variants.capture_call
    monkeypatch.setattr(variants, "capture_call", lambda fn, *rest, **named: (runs.append(fn), own(fn, *rest, **named))[1])
    f = nbgrad.compile(lambda x, i: x[i])
    f(nbgrad.ones(3), 1)
    assert len(runs) == 2
    f(nbgrad.ones(4), 1)
    assert len(runs) == 3 and len(f.variants) == 2


def test_a_break_for_one_int_is_none_for_others():
    """Where the function has looked at an int before a graph could not hold it, other ints are captured."""
    f = nbgrad.compile(lambda x, i: nbgrad.tensor(x.numpy() * 2) if i == 0 else x * i)
    with pytest.warns(UserWarning, match="numpy: gives the memory"):
        for i in (0, 1, 0, 2, 0):
            assert_close(f(nbgrad.ones(2), i), nbgrad.ones(2) * (i or 2), check_dtype=False)
    assert len(f.variants) == 2


def test_gradients_of_ints_of_this_call():
    """A pass through the results has the int of its call."""
    f = nbgrad.compile(lambda x, i: (x * x * i).sum())
    for i in (2, 5, -3):
        x = X.clone().requires_grad_()
        f(x, i).backward()
        assert_close(x.grad, 2 * X * i)
    assert len(f.variants) == 1


FACTORS, KIND, ONE = {float: 2.0, int: 3.0}, float, 1.0


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, a: x * (2.0 if type(a) is float else 3.0),
        lambda x, a: x * (2.0 if type(a) is KIND else 3.0),
        lambda x, a: x * (2.0 if type(a) in (KIND,) else 3.0),
        lambda x, a: x * FACTORS[type(a)],
        lambda x, a: x * len(type(a).__name__) * 0.5 + x * (type(a) is type(ONE)) * -0.5,
        lambda x, a: x * next(FACTORS[kind] for kind in map(type, [a])),
    ],
)
def test_exact_classes_are_asked_for_values(fn):
    """``type`` of an argument is answered as it is eagerly, whatever it is compared with."""
    f = nbgrad.compile(fn)
    assert [f(X, a)[0].item() for a in (1.0, 1, 2.0, 2)] == [fn(X, a)[0].item() for a in (1.0, 1, 2.0, 2)]


def test_exact_classes_of_items_and_state():
    """Those of numbers that ``item`` has read, and that names hold, are what they are; of ``self`` it may be asked."""

    class Counting:
        n = 0

        def step(self, x, a):
            self.n += 1
            return x * (2.0 if type(x.sum().item()) is KIND and type(self.n) is not KIND else 3.0)

        def scaled(self, x, a):
            return x * a * len(type(self).__name__)

    counting, scaled = nbgrad.compile(Counting().step), nbgrad.compile(Counting().scaled)
    assert [counting(X, 0.5)[0].item() for _ in range(3)] == [2 * X[0].item()] * 3
    assert [scaled(X, a)[0].item() for a in (0.5, 0.25)] == [4 * X[0].item(), 2 * X[0].item()] and len(scaled.variants) == 1
