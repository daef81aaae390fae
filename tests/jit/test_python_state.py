"""What Python keeps in places of all kinds is noticed by compiled functions, and changed by them in every call."""

import argparse
import ctypes
import dataclasses
import enum
import functools
import operator
import queue
import sys
import threading
import types
import weakref
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict
from typing import NamedTuple

import pytest

import nbgrad
from nbgrad import nn

pytestmark = pytest.mark.filterwarnings("ignore:compile.*(was captured|runs as it is|values that the program)")
INPUTS = [nbgrad.tensor([float(k), 1.0]) for k in range(5)]


class Box:
    """An object that counts."""

    n = 0

    def double(self, x):
        return x * 2 * (1 + self.n)


class Other:
    """Another one, which may take its place."""

    def double(self, x):
        return x * 4


def counting(get, keep=None):
    """A function that counts in an object which it gets from somewhere, and a look at the count."""

    def fn(x):
        get().n += 1
        return x * get().n

    return fn, lambda: (get().n, keep and None)


def weak_reference():
    box = Box()
    return counting(weakref.ref(box), [box])


def weak_proxy():
    box = Box()
    proxy = weakref.proxy(box)
    return counting(lambda: proxy, [box])


def weak_dicts():
    box = Box()
    by_key, by_value = weakref.WeakKeyDictionary({box: 1.0}), weakref.WeakValueDictionary(box=box)

    def fn(x):
        by_value["box"].n += 1
        by_key[box] *= 2
        return x * box.n * by_key[box]

    return fn, lambda: (box.n, by_key[box])


def weak_set():
    box = Box()
    boxes = weakref.WeakSet([box])
    return counting(lambda: next(iter(boxes)), [box])


def weak_reference_that_dies():
    boxes = [Box()]
    boxes[0].n = 3
    reference, calls = weakref.ref(boxes[0]), []

    def fn(x):
        return x * 7 if reference() is None else x * reference().n

    def change():
        calls.append(1)
        if len(calls) == 2:
            boxes.clear()
        return reference() is None

    return fn, change


def keys_of_a_dict():
    held = {Box(): 1}
    return counting(lambda: next(iter(held)))


def containers_of_collections():
    chain, mapping, members = ChainMap({"n": 0}, {"m": 1.0}), UserDict(n=0), UserList([0.0])

    def fn(x):
        chain["n"] += 1
        chain["m"] *= 2
        mapping["n"] += 3
        members.append(x.sum().item())
        return x * chain["n"] * chain["m"] * mapping["n"] + members[-2]

    return fn, lambda: (chain.maps, mapping.data, members.data)


def queues():
    waiting, simple = queue.Queue(), queue.SimpleQueue()
    for k in range(9):
        waiting.put(float(k))
        simple.put(float(k))
    return (lambda x: x * waiting.get() + simple.get()), lambda: (waiting.qsize(), simple.qsize())


def options_of_a_command():
    options = argparse.Namespace(scale=1.0)

    def fn(x):
        return x * options.scale

    def change():
        options.scale += 1

    return fn, change


def events():
    event = threading.Event()
    return (lambda x: x * 2 if event.is_set() else x * 3), lambda: event.clear() if event.is_set() else event.set()


def views():
    held, data = {"a": 1.0}, bytearray(2)
    proxy, values, memory = types.MappingProxyType(held), held.values(), memoryview(data)

    def change():
        held["a"] += 1
        data[0] += 1

    return (lambda x: x * proxy["a"] + sum(values) + memory[0]), change


def numbers_of_ctypes():
    number = ctypes.c_double(1.0)

    def fn(x):
        number.value += 1
        return x * number.value

    return fn, lambda: number.value


def class_of_an_object():
    box = Box()

    def change():
        box.__class__ = Other if type(box) is Box else Box

    return (lambda x: box.double(x)), change


def class_that_the_function_sets():
    box = Box()

    def fn(x):
        y = box.double(x)
        box.__class__ = Other if type(box) is Box else Box
        return y

    return fn, lambda: type(box).__name__


def names_that_are_made():
    class Named:
        """Looked into by names that no code has."""

        scale = 1.0

        def act_double(self, x):
            return x * 2 * box.n

    box, named, prefix = Box(), Named(), "act_"

    def fn(x):
        return getattr(named, prefix + "double")(x) * getattr(Named, "sc" + "ale") * getattr(Named, "la" + "te", 1.0)

    def change():
        box.n += 1
        Named.scale += 1
        Named.late = 5.0 if box.n > 2 else 1.0

    return fn, change


def names_in_modules():
    module = types.ModuleType("made_by_hand")
    module.n, module.held = 0, {"scale": 1.0}
    module.__getattr__ = lambda name: module.held[name]

    def fn(x):
        module.n += 1
        return x * module.n * module.scale

    def change():
        module.held["scale"] += 1
        return module.n

    return fn, change


def modules_imported_inside():
    sys.modules["made_by_hand"] = module = types.ModuleType("made_by_hand")
    module.scale = 1.0

    def fn(x):
        import made_by_hand
        from made_by_hand import scale

        return x * scale + made_by_hand.scale

    def change():
        module.scale += 1

    return fn, change


TEXT = """
class Model:
    calls = 0
    def __init__(self):
        self.n = 0
    def step(self, x):
        self.n += 1
        Model.calls += 2
        return x * self.n * Model.calls * scale
scale, model = 1.0, Model()
"""


def classes_made_of_text(names):
    exec(TEXT, names)

    def change():
        names["scale"] += 1
        return names["model"].n, names["Model"].calls

    return (lambda x: names["model"].step(x)), change


def globals_by_name():
    names = {"scale": 1.0, "n": 0}
    exec("def fn(x):\n    globals()['n'] += 1\n    return x * eval('scale') * globals()['n']", names)

    def change():
        names["scale"] += 1
        return names["n"]

    return names["fn"], change


def functions_of_functools():
    box = Box()

    class Model:
        """Methods that functools makes."""

        def scaled(self, k, x):
            return x * k * box.n

        scaled_by_three = functools.partialmethod(scaled, 3)

        @functools.singledispatchmethod
        def typed(self, x):
            return x * box.n

    @functools.singledispatch
    def counted(x):
        box.n += 1
        return x * box.n

    @counted.register
    def _(x: int):
        box.n += 10
        return x

    model = Model()
    part = functools.partial(operator.mul, 2)
    part.calls = 0

    def fn(x):
        part.calls += 1
        return counted(x) + counted(1) + model.scaled_by_three(x) + model.typed(x) + part(x) * part.calls

    return fn, lambda: (box.n, part.calls)


def values_with_methods():
    box = Box()

    class Point(NamedTuple):
        k: float

        def times(self, x):
            return x * self.k * box.n

    class Length(float):
        def times(self, x):
            return x * float(self) * box.n * self.unit

    class Kind(enum.IntEnum):
        DOUBLE = 2

        def times(self, x):
            return x * int(self) * box.n

    point, length, kind, pair = Point(2.0), Length(3.0), Kind.DOUBLE, type("Pair", (tuple,), {})((1, 2))
    length.unit, pair.n = 1.0, 0

    def fn(x):
        pair.n += 1
        return point.times(x) + length.times(x) + kind.times(x) + pair[1] * pair.n

    def change():
        box.n += 1
        length.unit *= 2
        return pair.n

    return fn, change


def cache_that_is_emptied():
    box = Box()

    @functools.lru_cache
    def scale():
        return box.n

    def change():
        box.n += 1
        scale.cache_clear()

    return (lambda x: x * scale()), change


def cache_of_tensors():
    @functools.lru_cache
    def table(n):
        return (nbgrad.arange(float(n)) + 1).exp()

    return (lambda x: x * table(2)), lambda: table(2).tolist()


def cache_for_one():
    box = Box()

    @functools.lru_cache(maxsize=1)
    def scale(k):
        box.n += 1
        return k

    return (lambda x: x * scale(1) * scale(2)), lambda: box.n


def attributes_of_tensors():
    module = nn.Linear(2, 2)
    with nbgrad.no_grad():
        module.weight.fill_(1.0), module.bias.fill_(0.0)
    module.weight.scale = 1.0

    def fn(x):
        return module(x).detach() * module.weight.scale * getattr(module.bias, "scale", 1.0)

    def change():
        module.weight.scale += 1
        module.bias.scale = module.weight.scale

    return fn, change


def order_of_an_ordered_dict():
    held = OrderedDict(a=1.0, b=2.0)
    return (lambda x: x * next(iter(held.values()))), lambda: held.move_to_end(next(iter(held)))


def default_that_is_not_asked_for():
    held, calls = defaultdict(int, n=1), []

    def change():
        calls.append(1)
        if len(calls) == 2:
            del held["n"]
        return dict(held)

    return (lambda x: x * 2 if "n" in held else x * 3), change


CASES = [
    weak_reference,
    weak_proxy,
    weak_dicts,
    weak_set,
    weak_reference_that_dies,
    keys_of_a_dict,
    containers_of_collections,
    queues,
    options_of_a_command,
    events,
    views,
    numbers_of_ctypes,
    class_of_an_object,
    class_that_the_function_sets,
    names_that_are_made,
    names_in_modules,
    modules_imported_inside,
    lambda: classes_made_of_text({}),
    lambda: classes_made_of_text({"__name__": "of_no_module"}),
    globals_by_name,
    functions_of_functools,
    values_with_methods,
    cache_that_is_emptied,
    cache_of_tensors,
    cache_for_one,
    attributes_of_tensors,
    order_of_an_ordered_dict,
    default_that_is_not_asked_for,
]


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_programs_of_all_kinds(make):
    """Results, and what is seen outside, are those of the function, call by call."""
    found = []
    for wrap in (lambda fn: fn, lambda fn: nbgrad.compile(fn)):
        fn, look = make()
        call = wrap(fn)
        found.append([(call(x).tolist(), look()) for x in INPUTS])
    assert found[0] == found[1]


def test_weak_references_keep_nothing_alive():
    """A compiled function holds an object no longer than the function."""
    box = Box()
    reference = weakref.ref(box)
    compiled = nbgrad.compile(lambda x: x * (reference().n if reference() else 9))
    assert compiled(INPUTS[1]).tolist() == [0.0, 0.0]
    del box
    assert reference() is None
    assert compiled(INPUTS[1]).tolist() == [9.0, 9.0]


def test_caches_that_others_fill():
    """Do not matter."""

    @functools.lru_cache
    def scale(k):
        return k * 2.0

    compiled = nbgrad.compile(lambda x: x * scale(1), fullgraph=True)
    for k in range(5):
        compiled(INPUTS[1])
        scale(k)
    assert len(compiled.variants) <= 2


@dataclasses.dataclass
class Equal:
    """Objects that are equal, and cannot be looked up."""

    scale: float
    calls: int = dataclasses.field(default=0, compare=False)

    def __eq__(self, other):
        return True

    @nbgrad.compile
    def times(self, x):
        self.calls += 1
        return x * self.scale * self.calls


@dataclasses.dataclass(slots=True)
class Slotted(Equal):
    """With slots."""

    more: int = 0


@pytest.mark.parametrize("kind", [Equal, Slotted])
def test_methods_of_equal_objects(kind):
    """Each object has a compiled method of its own, whatever its class says of equality."""
    one, other = kind(2.0), kind(3.0)
    for k in (1, 2, 3):
        assert one.times(INPUTS[1]).tolist() == [2.0 * k, 2.0 * k]
        assert other.times(INPUTS[1]).tolist() == [3.0 * k, 3.0 * k]
    assert one.calls == other.calls == 3
