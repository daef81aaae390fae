"""What compiled functions read of libraries' objects, arrays, buffers, iterators and of the order of dicts is looked at."""

import array
import collections
import configparser
import ctypes
import fractions
import itertools
import logging
import mmap
import multiprocessing
import statistics
import string
import types

import numpy as np
import pytest

import nbgrad

pytestmark = pytest.mark.filterwarnings("ignore:compile.*(was captured|runs as it is|values that the program)")


def config():
    held = configparser.ConfigParser()
    held["a"] = {"lr": "0"}
    return lambda x: x + held.getfloat("a", "lr"), lambda k: held.set("a", "lr", str(k))


def template():
    held = string.Template("0")
    return lambda x: x + float(held.template), lambda k: setattr(held, "template", str(k))


def distribution():
    held = statistics.NormalDist(0.0, 1.0)
    return lambda x: x + held.mean, lambda k: setattr(held, "_mu", float(k))


def polynomial():
    held = np.poly1d([1.0, 1.0])
    return lambda x: x + float(held.coeffs[0]), lambda k: held.__setitem__(1, float(k + 1))


def level():
    log = logging.getLogger("nbgrad.test.level")
    return lambda x: x + log.isEnabledFor(logging.INFO), lambda k: log.setLevel(logging.INFO if k % 2 else logging.ERROR)


def level_above():
    above, log = logging.getLogger("nbgrad.test.above"), logging.getLogger("nbgrad.test.above.below")
    return lambda x: x + log.isEnabledFor(logging.INFO), lambda k: above.setLevel(logging.INFO if k % 2 else logging.ERROR)


def shared_value():
    held = multiprocessing.Value("d", 0.0)
    return lambda x: x + held.value, lambda k: setattr(held, "value", float(k))


def elements(made, index, value):
    """An array of which an element is read, and set."""

    def make():
        held = made()
        return lambda x: x + float(held[index]), lambda k: held.__setitem__(index, value(k))

    return make


def texts():
    held = np.array(["", "b"])
    return lambda x: x + len(held[0]), lambda k: held.__setitem__(0, "a" * (k % 2))


def dates():
    held = np.array([0], dtype="datetime64[s]")
    return lambda x: x + int(held[0].astype(int)), lambda k: held.__setitem__(0, k)


def records():
    held = np.zeros(2, dtype=[("a", "f4"), ("b", object)])
    return lambda x: x + float(held["a"][0]), lambda k: held["a"].__setitem__(0, k)


def list_in_array():
    held = np.array([None], dtype=object)
    held[0] = [0.0]
    return lambda x: x + held[0][0], lambda k: held[0].__setitem__(0, float(k))


def masked():
    held = np.ma.array([1.0, 2.0], mask=[False, False])
    return lambda x: x + float(held.sum()), lambda k: held.mask.__setitem__(0, k % 2 == 1)


def read_only():
    held = np.zeros(4)
    seen = held[:2]
    seen.flags.writeable = False
    return lambda x: x + float(seen[0]), lambda k: held.__setitem__(0, k)


def backwards():
    held = np.zeros(4)
    seen = held[::-1]
    return lambda x: x + float(seen[0]), lambda k: held.__setitem__(3, k)


def view_of_many():
    held = np.zeros(1000)
    seen = memoryview(held)
    return lambda x: x + seen[900], lambda k: held.__setitem__(900, k)


def mapped():
    held = mmap.mmap(-1, 16)
    return lambda x: x + held[0], lambda k: held.__setitem__(0, k)


def number_of_c():
    held = ctypes.c_double(0.0)
    return lambda x: x + held.value, lambda k: setattr(held, "value", float(k))


def iterator(made):
    """What is taken from an iterator is taken once in every call."""

    def make():
        held = made()
        return lambda x: x + next(held), lambda k: None

    return make


def keys_in_order(made, change):
    """A dict whose members are exchanged."""

    def make():
        held = made()
        first = next(iter(held))

        def fn(x):
            for name, v in held.items():
                x = x * v if name == first else x + v
            return x

        return fn, lambda k: change(held, k)

    return make


def move(held, k):
    key = next(iter(held))
    held[key] = held.pop(key)


def refill(held, k):
    members = list(held.items())
    held.clear()
    held.update(members[::-1])


def churn(held, k):
    for j in range(20 * (k % 2)):
        held[j + 100] = 0.0
    for j in range(20 * (k % 2)):
        del held[j + 100]
    if k > 4:
        move(held, k)


CASES = {
    "config": config,
    "template": template,
    "slots": distribution,
    "polynomial": polynomial,
    "level": level,
    "level above": level_above,
    "shared value": shared_value,
    "objects": elements(lambda: np.array([0.0, None], dtype=object), 0, float),
    "list in array": list_in_array,
    "records": records,
    "texts": texts,
    "dates": dates,
    "other bytes": elements(lambda: np.zeros(3, ">f4"), 1, float),
    "masked": masked,
    "read only": read_only,
    "backwards": backwards,
    "memoryview": elements(lambda: memoryview(bytearray(2)), 0, int),
    "memoryview of many": view_of_many,
    "map": mapped,
    "number of C": number_of_c,
    "array": elements(lambda: array.array("d", [0.0]), 0, float),
    "deque's": iterator(lambda: iter(collections.deque(range(99)))),
    "dict's": iterator(lambda: iter(dict.fromkeys(range(99)))),
    "set's": iterator(lambda: iter(set(range(99)))),
    "callable's": iterator(lambda: iter(itertools.count().__next__, None)),
    "generator": iterator(lambda: (float(k) for k in range(99))),
    "cycle": iterator(lambda: itertools.cycle([1.0, 2.0, 3.0])),
    "range's": iterator(lambda: iter(range(99))),
}
for name, made in {
    "texts": lambda: {"double": 2.0, "shift": 1.0},
    "numbers": lambda: {1: 2.0, 2: 1.0},
    "tuples": lambda: {(1, "a"): 2.0, (2, "b"): 1.0},
    "defaultdict": lambda: collections.defaultdict(float, {"double": 2.0, "shift": 1.0}),
    "OrderedDict": lambda: collections.OrderedDict(double=2.0, shift=1.0),
    "namespace": lambda: vars(types.SimpleNamespace(double=2.0, shift=1.0)),
    "fractions": lambda: {fractions.Fraction(1, 2): 2.0, fractions.Fraction(1, 3): 1.0},
}.items():
    for change in (move, refill, churn):
        CASES[f"{change.__name__} {name}"] = keys_in_order(made, change)


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_what_is_read_is_what_is_there(make):
    """Calls give what the function gives, whatever has changed in between."""
    found = []
    for transform in (lambda f: f, nbgrad.compile):
        fn, change = make()
        f = transform(fn)
        values = []
        for k in range(8):
            change(k)
            values.append(f(nbgrad.ones(1)).item())
        found.append(values)
    assert found[0] == found[1]


def test_a_generator_is_whole_when_the_function_runs_as_it_is():
    """The first call takes the first member of a user's generator, whose code would be captured else."""

    def pieces(x):
        for k in range(len(x)):
            yield x[k]

    batches = pieces(nbgrad.arange(5.0))
    f = nbgrad.compile(lambda x: x + next(batches))
    assert [f(nbgrad.zeros(1)).item() for _ in range(5)] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_table_that_grows_and_shrinks_is_no_other_order():
    """Members that come and go between calls have nothing captured again."""
    held = {"a": 2.0, "b": 3.0}
    f = nbgrad.compile(lambda x: sum(held.values()) * x)
    for k in range(30):
        held[str(k)] = 0.0
        del held[str(k)]
        assert f(nbgrad.ones(1)).item() == 5.0
    assert len(f.variants) == 1


def test_tuples_that_refuse_their_length():
    """What a function names is looked at member by member."""

    class Pair(tuple):
        def __len__(self):
            raise NotImplementedError

    pair = Pair((2.0, 3.0))
    compiled = nbgrad.compile(lambda x: x * pair[1], fullgraph=True)
    assert compiled(nbgrad.ones(1)).item() == 3
