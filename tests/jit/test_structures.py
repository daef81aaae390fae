"""Objects of data classes, slices, members of enumerations and other values as arguments and results of compiled functions."""

import dataclasses
import enum
import warnings
from collections import deque, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import ArgumentError

FACTOR = 1.0


@dataclasses.dataclass
class Batch:
    """Tensors, and what they are."""

    x: object
    scale: float = 1.0
    more: dict = dataclasses.field(default_factory=dict)

    def scaled(self):
        return self.x * self.scale * FACTOR


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """The same, that never changes."""

    x: object
    name: str = "a"


class Mode(enum.Enum):
    """What is to be done."""

    DOUBLE = 2
    TRIPLE = 3

    def factor(self):
        return self.value


class Colour(enum.Flag):
    """Several at once."""

    RED = 1
    BLUE = 2


Point = namedtuple("Point", "x y")


def beside(fn, calls, variants=None):
    """See that a compiled function gives what the function gives; it must be compiled."""
    compiled = nbgrad.compile(fn, fullgraph=True)
    for _ in range(2):
        for call in calls:
            assert repr(compiled(*call())) == repr(fn(*call()))
    assert variants is None or len(compiled.variants) == variants


def ones(*shape):
    """A tensor."""
    return nbgrad.ones(shape or (3,))


def test_data_classes_are_arguments_and_results():
    """With their methods, frozen or with slots; numbers in them are words of the program."""
    beside(lambda batch: batch.scaled(), [lambda: (Batch(ones(), 2.0),), lambda: (Batch(ones(), 3.0),)], 1)
    beside(lambda each: each.x * (2 if each.name == "a" else 3), [lambda: (Frozen(ones()),), lambda: (Frozen(ones(), "b"),)], 2)
    beside(lambda x: Batch(x * 2, 1.0, {"a": [Frozen(x)]}), [lambda: (ones(),)], 1)
    beside(lambda batch: dataclasses.replace(batch, x=batch.x + batch.more["y"]), [lambda: (Batch(ones(), 1.0, {"y": ones()}),)], 1)
    beside(lambda p: Point(p.y, p.x * 2), [lambda: (Point(ones(), 5),)], 1)


def test_a_method_of_a_data_class_is_followed():
    """What it names is noticed, and gradients flow through what the object holds."""
    global FACTOR
    compiled = nbgrad.compile(lambda batch: batch.scaled(), fullgraph=True)
    x = nbgrad.ones(2, requires_grad=True)
    try:
        for FACTOR in (1.0, 4.0):
            assert compiled(Batch(x, 2.0)).tolist() == [2.0 * FACTOR] * 2
            assert nbgrad.grad(compiled(Batch(x)).sum(), x)[0].tolist() == [FACTOR] * 2
    finally:
        FACTOR = 1.0


def test_an_object_that_the_function_changes_is_changed():
    """Attributes of arguments, and objects that hold themselves: the function runs as it is."""

    @nbgrad.compile
    def change(batch):
        batch.scale = batch.scale + 1
        batch.x = batch.x * 2
        return batch.x

    with pytest.warns(UserWarning, match="changes a list, a dict or an object that it is given"):
        for _ in range(3):
            batch = Batch(ones())
            change(batch)
            assert batch.scale == 2 and batch.x.tolist() == [2.0] * 3
    batch = Batch(ones())
    batch.more["self"] = batch
    with pytest.warns(UserWarning, match=r"batch.more\['self'\] is of type Batch"):
        assert nbgrad.compile(lambda batch: batch.x + 1)(batch).tolist() == [2.0] * 3


def test_values_choose_a_program():
    """Members of enumerations, slices, ranges, numbers of NumPy, sizes, dtypes, devices and frozen sets."""
    beside(lambda x, mode: x * mode.factor(), [lambda: (ones(), Mode.DOUBLE), lambda: (ones(), Mode.TRIPLE)], 2)
    beside(
        lambda x, colour: x * (2 if Colour.RED in colour else 3),
        [lambda: (ones(), Colour.RED | Colour.BLUE), lambda: (ones(), Colour.BLUE)],
    )
    beside(lambda x, part: x[part], [lambda: (ones(5), slice(1)), lambda: (ones(5), slice(1, 4, 2))], 2)
    beside(lambda x, rows: sum(x[k] for k in rows), [lambda: (ones(5), range(2)), lambda: (ones(5), range(1, 5, 2))], 2)
    beside(lambda x, k: x * k, [lambda: (ones(), np.float32(2)), lambda: (ones(), np.int64(2)), lambda: (ones(), np.float32(3))], 3)
    beside(lambda x, size: x.expand(size), [lambda: (ones(), nbgrad.ones(2, 3).shape)], 1)
    beside(lambda x, dtype, device: x.to(device, dtype), [lambda: (ones(), nbgrad.float64, nbgrad.device("cpu"))], 1)
    beside(lambda x, names: x * len(names), [lambda: (ones(), frozenset("a")), lambda: (ones(), frozenset("ab"))], 2)


def test_values_are_results():
    """As they are."""
    values = Mode.DOUBLE, np.float32(2), range(3), frozenset("a"), slice(1, 2), nbgrad.float64
    beside(lambda x: (x * 2, values, Mode.TRIPLE), [lambda: (ones(),)], 1)


FOREIGN = {
    "array": np.ones(3),
    "set": {1},
    "deque": deque([1]),
    "object": object(),
    "proxy": MappingProxyType({"a": 1}),
    "generator": (k for k in range(3)),
    "class of lists": type("Own", (list,), {"__hash__": None})([1]),
}


@pytest.mark.parametrize("value", FOREIGN.values(), ids=FOREIGN)
def test_others_have_the_function_run_as_it_is(value):
    """As arguments and as results, with one warning; ``fullgraph=True`` refuses them."""
    given, returned = nbgrad.compile(lambda x, v: (x + 1, v)[0]), nbgrad.compile(lambda x: (x + 1, value))
    for call, message in (
        (lambda: given(ones(), value), "v is of type"),
        (lambda: returned(ones())[0], r"the result\[1\] is of type"),
    ):
        with pytest.warns(UserWarning, match=message) as said:
            for _ in range(3):
                assert call().tolist() == [2.0] * 3
        assert len(said) == 1 and str(said[0].message).count("compile: ") == 1
    assert returned(ones())[1] is value
    assert any("v is of type" in line for line in str(given.explain()).splitlines())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert given(ones(), 2).tolist() == [2.0] * 3 and len(given.variants) == 1
    with pytest.raises(ArgumentError, match="v is of type"):
        nbgrad.compile(lambda x, v: x, fullgraph=True)(ones(), value)
    with pytest.raises(ArgumentError, match="the result is of type"):
        nbgrad.compile(lambda x: value, fullgraph=True)(ones())


def test_what_happens_before_such_a_result_happens_once():
    """What the capture has done is put back before the function runs as it is."""
    log = []

    @nbgrad.compile
    def f(x):
        log.append(1)
        return {x.shape[0]}

    with pytest.warns(UserWarning, match="the result is of type set"):
        assert [f(ones()) for _ in range(3)] == [{3}] * 3
    assert log == [1, 1, 1]


@pytest.mark.filterwarnings("ignore:compile.*runs as it is")
@pytest.mark.parametrize("held", [[1], {"a": 1}, Batch(1)], ids=["list", "dict", "data class"])
def test_a_result_that_was_there_before_is_that(held):
    """What a name holds is returned itself, and not a copy."""
    f = nbgrad.compile(lambda x: (x, {"held": held}))
    for _ in range(3):
        assert f(ones())[1]["held"] is held


def test_a_file_has_no_data_classes():
    """``save`` says so."""
    f = nbgrad.compile(lambda batch: batch.x * 2)
    f(Batch(ones()))
    with pytest.raises(nbgrad.errors.GraphError, match="Batch"):
        nbgrad.jit.save(f, "/dev/null")


class Row:
    """What a layer keeps for the next call: a class of a program's own."""

    def __init__(self, keys, kind=None):
        self.keys, self.kind = keys, kind

    def __repr__(self):
        return f"Row({self.keys!r}, {self.kind!r})"


class Keeper:
    """Rows, in slots."""

    __slots__ = ("rows", "__weakref__")

    def __init__(self, rows):
        self.rows = rows

    def __repr__(self):
        return f"Keeper({self.rows!r})"

    def __setattr__(self, name, value):
        if hasattr(self, name):
            raise AttributeError("it never changes")
        object.__setattr__(self, name, value)


class Missing:
    """An object that is compared by which it is."""


MISSING = Missing()


def test_objects_that_a_function_makes_are_results():
    """Of any class, within each other, with slots and a way of their own to be set; each call makes its own."""
    beside(lambda x: Row(x * 2), [lambda: (ones(),)], 1)
    beside(lambda x: (x, {"kept": Keeper([Row(x + 1, Row), Row(x + 2, nbgrad.float64)])}), [lambda: (ones(),)], 1)
    compiled = nbgrad.compile(lambda x: Keeper([Row(x * 2)]), fullgraph=True)
    x = nbgrad.ones(2, requires_grad=True)
    first, second = compiled(x), compiled(x)
    assert first is not second and first.rows is not second.rows and type(first.rows[0]) is Row
    first.rows[0].keys.sum().backward()
    assert x.grad.tolist() == [2, 2]
    normal = nbgrad.compile(lambda m: nbgrad.distributions.Normal(m, 2.0 * m), fullgraph=True)(ones(2))
    assert normal.log_prob(ones(2)).equal(nbgrad.distributions.Normal(ones(2), 2 * ones(2)).log_prob(ones(2)))


ROW = Row(nbgrad.ones(2))


@pytest.mark.parametrize(
    "returned, message",
    [
        (lambda x: (x + 1, MISSING), "was there before"),
        (lambda x: (x + 1, Row(3)), r"the result\[1\] is of type Row"),
        (lambda x: (x + 1, Row(x, MISSING)), "was there before"),
        (lambda x: (x + 1, ROW), "was there before"),
        (lambda x: (lambda row: (x + 1, row, row))(Row(x)), "is in several places"),
        (lambda x: (lambda row: setattr(row, "kind", row) or (x + 1, row))(Row(x)), r"the result\[1\].kind is of type Row"),
    ],
    ids=["of no tensors", "of a number", "with one within", "there before", "twice", "of itself"],
)
def test_objects_that_may_be_there_already_are_not_made_anew(returned, message):
    """The function runs as it is."""
    compiled = nbgrad.compile(returned)
    with pytest.warns(UserWarning, match=message):
        for _ in range(3):
            found, wanted = compiled(ones()), returned(ones())
            assert found[0].equal(wanted[0]) and type(found[1]) is type(wanted[1])
    assert not compiled.variants
    assert (compiled(ones())[1] is MISSING) == (returned(ones())[1] is MISSING)
