"""The language of native code: every construct does the same as machine code and as Python, to the last reference."""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
import pytest

from nbgrad.base import config
from nbgrad.kernels.cpu.store import loader
from nbgrad.native import link, objects
from tests.native import programs
from tests.native.programs import Adder, Sealed, Thing

pytestmark = pytest.mark.skipif(not config.NATIVE, reason="NBGRAD_NATIVE=0")
CLASSES = {"Thing": Thing, "Sealed": Sealed}


@pytest.fixture(scope="module", params=["plain", "checked", "faults"])
def machine(request):
    """The programs as machine code, in every build."""
    made = link.NativeModule(
        loader(), (programs,), CLASSES, ("Sealed",), checked=request.param == "checked", faults=request.param == "faults"
    )
    gc.collect()
    gc.freeze()  # each test collects, and what the process holds already is not looked at again
    yield made


class Mark:
    """Something that is counted, and called."""

    alive = 0

    def __init__(self, name="mark"):
        self.name = name
        Mark.alive += 1

    def __del__(self):
        Mark.alive -= 1

    def __repr__(self):
        return self.name

    def __call__(self, *args):
        return (self.name, *args)

    def doubled(self):
        """A method."""
        return self.name * 2


class Failing(Mark):
    """Fails when it is called with anything but a tuple."""

    def __call__(self, *args):
        if args and type(args[0]) is tuple:
            return args
        raise ArithmeticError(self.name)


class Emptying(Mark):
    """Empties what it is called with, so that nothing lives but what the caller holds."""

    def __call__(self, thing):
        thing.items, thing.parts, thing.name = [None], (), "emptied"
        gc.collect()


class Noting(Mark):
    """Notes with what it is called."""

    def __init__(self):
        super().__init__("noting")
        self.seen = []

    def __call__(self, *args):
        self.seen.append(args)
        return self.seen if args == ("object",) else len(self.seen)

    def __repr__(self):
        return f"noting {self.seen}"


def thing(**slots):
    """A Thing with some slots set."""
    made = Thing()
    for name, value in slots.items():
        setattr(made, name, value)
    return made


def full_thing(**slots):
    """A Thing with all slots set."""
    first = {"name": "thing", "below": None, "items": [Mark()], "parts": (Mark(), 2), "count": 3000, "flag": True, "known": {}}
    return thing(**first | slots)


def shown(x, deep=4):
    """What two runs on equal arguments have in common."""
    if isinstance(x, Thing):
        return ("Thing", {s: shown(getattr(x, s), deep - 1) for s in Thing.__slots__[:-1] if hasattr(x, s)} if deep else "")
    if isinstance(x, Sealed):
        return ("Sealed", shown(x.inner, deep - 1))
    if isinstance(x, (tuple, list)):
        return (type(x).__name__, [shown(each, deep - 1) for each in x] if deep else "")
    if isinstance(x, (dict, set)):
        return (type(x).__name__, sorted(repr(shown(each, deep - 1)) for each in (x.items() if isinstance(x, dict) else x)))
    return (type(x).__name__, repr(x) if isinstance(x, Mark) or not hasattr(x, "__dict__") else "")


def reached(x, found):
    """The objects that arguments hold, each once."""
    if isinstance(x, (Mark, Thing, tuple, list, dict, set)) and id(x) not in found:
        found[id(x)] = x
        for each in (
            [getattr(x, s) for s in Thing.__slots__[:-1] if hasattr(x, s)]
            if isinstance(x, Thing)
            else [*x, *x.values()]
            if isinstance(x, dict)
            else ()
            if isinstance(x, Mark)
            else x
        ):
            reached(each, found)
    return found


def counts_of(objects):
    """How many references there are to each."""
    return [sys.getrefcount(each) for each in objects]


def run(function, make):
    """What a call does: result or error, arguments behind it, change of every count, count of the result, what is alive then."""
    gc.collect()
    alive, args = Mark.alive, make()
    held = list(reached(args, {}).values())
    before = counts_of(held)
    result, error = None, None
    try:
        result = function(*args)
    except Exception as raised:
        error = type(raised), str(raised) if type(raised) in (ArithmeticError, KeyError) else ""
        del raised
    changed = [now - count for now, count in zip(counts_of(held), before)]
    own = sys.getrefcount(result) if isinstance(result, (tuple, list, Thing)) and result != () else 0
    parts = (
        [sys.getrefcount(each) for each in result if isinstance(each, (tuple, list, Thing, Mark)) and each != ()]
        if isinstance(result, (tuple, list))
        else []
    )
    behind = [shown(x) for x in args]
    seen = shown(result)
    del held, args, result, before
    gc.collect()
    return {
        "result": seen,
        "error": error,
        "arguments": behind,
        "counts": changed,
        "own": own,
        "parts": parts,
        "alive": Mark.alive - alive,
    }


def mark_pair():
    """Two marks."""
    return Mark("x"), Mark("y")


def aliased():
    """One mark twice."""
    x = Mark("x")
    return x, x


BIG = (1 << 63) - 1
NUMBERS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (BIG, 10), (-BIG - 1, 10), (1, BIG), (-1, BIG), (5, -1)]
SHIFTS = [(5, 0), (5, 1), (-5, 1), (1, 62), (-1, 70), (5, 64), (BIG, 63), (-BIG, 63), (3, -1)]
OF_NUMBERS = (
    [(name, lambda pair=pair: pair) for name in ("floor_division", "modulo") for pair in [*NUMBERS, (1, 0)]]
    + [("right_shift", lambda pair=pair: pair) for pair in SHIFTS]
    + [("left_shift", lambda pair=pair: pair) for pair in [(5, 0), (-5, 3), (1, 62), (3, -1)]]
    + [(name, lambda pair=pair: pair) for name in ("sums", "comparisons", "between") for pair in [(3, 4), (-3, 9), (4, 4), (1, 2)]]
    + [("by_constants", lambda n=n: (n,)) for n in (0, 1, -1, 7, -7, 8, -8, 1 << 40, -(1 << 40))]
    + [
        (name, lambda n=n: (n,))
        for name in (
            "augmented",
            "raw_calls",
            "c_calls",
            "while_loop",
            "loop_variable_stays",
            "bound_changes",
            "stores",
            "own_primitive",
            "raises",
            "elif_chain",
            "grows",
            "word_loops",
        )
        for n in (0, 1, 2, 3, 7, 27)
    ]
    + [("over_range", lambda pair=pair: pair) for pair in [(0, 5), (3, 6), (5, 2), (-2, 2)]]
)
CASES = [
    ("constants", lambda: ()),
    ("floats", lambda: (2.5,)),
    ("floats", lambda: (2,)),
    ("floats", lambda: (Mark(),)),
    ("of_bool", lambda: (True, 5)),
    ("of_bool", lambda: (False, True)),
    ("sums", lambda: (Mark(), 1)),
    ("top", lambda: (5,)),
    *(
        (name, make)
        for name in ("logic", "counted_either", "if_without_else", "nested_either")
        for make in (mark_pair, aliased, lambda: (None, Mark()), lambda: (Mark(), None), lambda: (None, None))
    ),
    ("either", lambda: (*mark_pair(), True)),
    ("either", lambda: (*mark_pair(), False)),
    *(("truths", lambda a=a: a) for a in (([], (), False, 0), ([1], (1,), False, 0), ([], (1,), True, 0), ([2], (), False, 2))),
    ("short_circuit", lambda: ([], Mark())),
    ("short_circuit", lambda: ([None], None)),
    ("endless", lambda: ([Mark(), None],)),
    ("endless", lambda: ([Mark()],)),
    ("endless_return", lambda: ([Mark(), None],)),
    ("either_in_a_condition", lambda: (full_thing(), 5)),
    ("over_tuple", lambda: (mark_pair(), None)),
    ("over_tuple", lambda: ((Mark(), None, Mark()), None)),
    ("over_tuple", lambda: ((), 1)),
    ("over_growing_list", lambda: ([*mark_pair()],)),
    ("over_operands", lambda: (None,)),
    ("over_operands", lambda: (None, *mark_pair(), None)),
    ("over_operands", lambda: (*aliased(), None, Mark())),
    ("over_pairs", lambda: ([mark_pair(), aliased()],)),
    ("over_pairs", lambda: ([mark_pair(), (1, 2, 3)],)),
    ("over_pairs", lambda: ([mark_pair(), (1,)],)),
    ("over_made", mark_pair),
    ("nested_loops", lambda: ([(1, 2), (3, None)], 2)),
    ("nested_loops", lambda: ([(1,), (2,), (2,), (3,)], 2)),
    ("set_in_a_loop", lambda: ([*mark_pair()],)),
    ("set_in_a_loop", lambda: ([*aliased()],)),
    ("set_in_a_loop", lambda: ([],)),
    ("narrowed_by_a_loop", lambda: (thing(flag=False, below=thing(flag=True)),)),
    ("narrowed_by_a_loop", lambda: (thing(flag=False, below=None),)),
    ("cleared_in_a_loop", lambda: ([*mark_pair(), None],)),
    ("cleared_in_a_loop", lambda: ([*mark_pair()],)),
    *(
        (name, lambda call=call, x=x: (call(), x()))
        for name in ("caught", "deleted_in_try", "caught_twice")
        for call in (Mark, Failing)
        for x in (Mark, lambda: None, lambda: (Mark(),))
    ),
    *(("caught_and_on", lambda call=call: (c := call(), [Mark(), None, (Mark(),), c, Mark()])) for call in (Mark, Failing)),
    *(
        ("returned_in_try", lambda call=call, x=x: (call(), x()))
        for call in (Mark, Failing)
        for x in (lambda: (Mark(), None), lambda: (Mark(),), lambda: ())
    ),
    *(("fails_late", lambda call=call: (call(), *mark_pair())) for call in (Mark, Failing)),
    *((name, make) for name in ("swapped", "set_again", "deletes", "makes", "native_calls") for make in (mark_pair, aliased)),
    ("unpacks_itself", lambda: (Mark(),)),
    ("unpacks_a_list", lambda: ([Mark("a"), mark_pair()],)),
    ("unpacks_a_list", lambda: ([Mark("a"), (1,)],)),
    ("unpacks_a_list", lambda: ([],)),
    *(("unpacks_three", lambda n=n: (tuple(Mark(str(k)) for k in range(n)),)) for n in (2, 3, 4)),
    ("unpacks_into_places", lambda: (full_thing(), (*mark_pair(), 5), {"a": Mark()})),
    ("chained", lambda: (full_thing(), Mark())),
    ("parameter_set_to_constant", lambda: (Mark(),)),
    ("parameter_set_in_a_branch", lambda: (*mark_pair(), True)),
    ("parameter_set_in_a_branch", lambda: (*mark_pair(), False)),
    ("number_set_again", lambda: (41,)),
    ("number_set_again", lambda: (Mark(),)),
    *((name, lambda: (full_thing(), Emptying())) for name in ("borrowed_and_used", "borrowed_in_a_loop", "borrowing_calls")),
    ("borrowed_then_set", lambda: (full_thing(), Mark())),
    ("annotated", mark_pair),
    ("annotated", lambda: (None, Mark())),
    *(("indexed", lambda k=k: ([*mark_pair()], mark_pair(), k)) for k in (0, 1, 2)),
    ("indexed", lambda: ([], (), 0)),
    ("dicts", lambda: ({"a": 1}, *mark_pair())),
    ("dicts", lambda: ({}, [], Mark())),
    ("missing_key", lambda: ({}, "a")),
    ("missing_key", lambda: ({"a": Mark()}, "a")),
    ("dict_counts", lambda: ({"a": 5}, "a")),
    ("dict_counts", lambda: ({}, Mark())),
    ("sets", lambda: (set(), "x", "y")),
    ("sets", lambda: (set(), [], "y")),
    ("list_methods", lambda: ([Mark("a")], Mark("b"))),
    ("comprehension", mark_pair),
    ("comprehension", lambda: ()),
    ("nested_comprehension", lambda: (4, Mark())),
    ("comprehension_that_calls", lambda: (Mark(), 3)),
    ("comprehension_that_calls", lambda: (Failing(), 3)),
    ("comprehension_that_calls", lambda: (5, 3)),
    ("negative_comprehension", lambda: (Mark(),)),
    ("reads", lambda: (full_thing(),)),
    ("writes", lambda: (full_thing(), Mark())),
    ("writes", lambda: (thing(count=1), None)),
    ("writes", lambda: (full_thing(count=[]), Mark())),
    ("chain_of_fields", lambda: (thing(below=thing(below=full_thing())),)),
    ("chain_of_fields", lambda: (thing(below=None),)),
    ("by_protocol", lambda: (Mark(),)),
    ("by_protocol", lambda: (5,)),
    ("protocol_of_a_class", lambda: (full_thing(),)),
    ("sealed_field", lambda: (Sealed(full_thing()), Emptying())),
    ("has_slots", lambda: (thing(name="a"),)),
    *(("classes", lambda a=a: (a(), Mark())) for a in (full_thing, lambda: 5, lambda: 2.5, Mark, lambda: [Mark()], lambda: True)),
    ("classes", lambda: (full_thing(), full_thing())),
    ("tuple_of_kinds", lambda: ((full_thing(), []),)),
    ("new_thing", mark_pair),
    *(("star_calls", lambda n=n: (Mark("call"), *(Mark(str(k)) for k in range(n)))) for n in (0, 1, 2, 5, 100)),
    ("star_of_a_tuple", lambda: (Mark(), mark_pair())),
    ("star_of_a_tuple", lambda: (Mark(), ())),
    *(("parts_of_rows", lambda n=n, m=m: (n, m, *range(5))) for n in (0, 2, 5, 9, -1, -9) for m in (0, 3, 5, 7, -2, -8)),
    ("python_calls", lambda: (Mark(), Mark())),
    ("python_calls", lambda: (None, Mark())),
    ("evaluated_once", lambda: (Noting(), full_thing())),
    ("order_of_arguments", lambda: (Noting(),)),
    ("calls_a_field", lambda: (full_thing(), Mark())),
    ("passes_flag", lambda: (None,)),
    ("passes_flag", lambda: (Mark(),)),
    ("nothing", lambda: (Mark(),)),
    ("falls_through", lambda: (None,)),
    ("falls_through", lambda: (Mark(),)),
    ("bytes_and_words", lambda: (bytes(range(16)),)),
    ("keeps", mark_pair),
    ("keeps", aliased),
    ("hides", lambda: (Mark(),)),
    ("memory", lambda: (np.ones(3),)),
    ("memory", lambda: (np.ones(3)[1:],)),
]


def names_of(cases):
    """A name for each case."""
    return [f"{name}-{k}" for k, (name, _) in enumerate(cases)]


@pytest.mark.parametrize("name, make", OF_NUMBERS + CASES, ids=names_of(OF_NUMBERS + CASES))
def test_the_same_as_python(machine, name, make):
    """Result, error, what arguments hold behind the call, and all counts; nothing that the call made lives on."""
    native, python = run(machine.function(name), make), run(getattr(programs, name), make)
    assert native == python
    assert native["alive"] == 0


def test_every_program_is_run():
    """No construct of ``programs`` is forgotten here."""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    entries = [name for name, each in vars(programs).items() if getattr(each, "native", "") == "entry"]
    assert not [name for name in entries if f'"{name}"' not in text]


def test_statics(machine):
    """Static words keep what they hold between calls."""
    statics = machine.function("statics")
    first = statics(2)
    assert (statics(3), first[2]) == ((3, first[1] + 3, True), True)


def test_other_references(machine):
    """``others`` counts what there is besides the variable."""
    assert machine.function("other_references")(full_thing()) == 2


def test_wrapping(machine):
    """A machine number has 64 bits: what Python's would exceed wraps around; a larger object is an OverflowError."""
    assert machine.function("left_shift")(3, 63) == -1 << 63
    assert machine.function("left_shift")(1, 64) == 0
    assert machine.function("floor_division")(-1 << 63, -1) == -1 << 63
    with pytest.raises(OverflowError):
        machine.function("sums")(1 << 63, 0)


@pytest.mark.parametrize("checked", [False, True])
def test_allocated(checked):
    """A copy of a template, slot by slot."""
    machine, slots = link.NativeModule(loader(), (programs,), CLASSES, ("Sealed",), checked=checked), ("name", "items", "parts")
    offset = objects.slot_offset

    def arguments(python):
        def make():
            copies = (3, *slots) if python else objects.pack_words(3, *(offset(Thing, s) for s in slots))
            where = ("name",) if python else objects.pack_words(offset(Thing, "name"))
            return full_thing(), copies, where, Mark("new")

        return make

    native, python = run(machine.function("allocated"), arguments(False)), run(programs.allocated, arguments(True))
    for each in native, python:
        del each["arguments"]
        each["counts"] = [count for count in each["counts"] if count]
    assert native == python


@pytest.mark.parametrize("operands", [(), (None,), (1, None, 2)])
def test_bound_classes(machine, operands):
    """Entries bound to an object are its methods."""
    owner = Adder(5, Mark(), objects.pack_words(7))
    assert machine.function("Adder.__call__", owner)(3, *operands) == owner(3, *operands)
    assert machine.function("Adder.one", owner)(3) == owner.one(3) == 1


def test_number_of_arguments(machine):
    """An entry takes what it says, and not more operands than a row has room for."""
    call = Mark()
    for name, args in ("swapped", (1,)), ("swapped", (1, 2, 3)), ("over_operands", ()), ("star_calls", (call, *range(129))):
        with pytest.raises(TypeError, match=f"launch: {name} got a number of arguments that it does not take: {len(args)}"):
            machine.function(name)(*args)


def test_too_many_operands(machine):
    """What is handed on has a row of its own: a tuple longer than that is an error, and costs nobody a count."""
    call, few, many = Mark(), tuple(range(128)), tuple(Mark() for _ in range(129))
    before = counts_of(many)
    assert machine.function("star_of_a_tuple")(call, few)[0] == ("mark", *few)
    with pytest.raises(TypeError, match="too many operands"):
        machine.function("star_of_a_tuple")(call, many)
    after = counts_of(many)
    assert after == before


def test_unset_slots_and_wrong_classes_in_the_checked_build():
    """What the plain build takes on trust raises in the checked one: slots, classes, and that a flag is True or False."""
    machine = link.NativeModule(loader(), (programs,), CLASSES, ("Sealed",), checked=True)
    with pytest.raises(AttributeError, match=r"Thing\.name is not set"):
        machine.function("reads")(thing())
    with pytest.raises(TypeError, match="expected Thing in reads"):
        machine.function("reads")(Mark())
    with pytest.raises(TypeError, match="expected list in reads"):
        machine.function("reads")(full_thing(items=()))
    with pytest.raises(TypeError, match="expected tuple in over_tuple"):
        machine.function("over_tuple")([], 1)
    for flag in (1, 0, None, "yes"):
        with pytest.raises(TypeError, match="of_bool: argument 0 must be a bool"):
            machine.function("of_bool")(flag, 1)


@pytest.fixture(scope="module")
def failing():
    """The programs in the build that fails."""
    made = link.NativeModule(loader(), (programs,), CLASSES, ("Sealed",), faults=True)
    gc.collect()
    gc.freeze()
    yield made


FAILING = [(name, make) for name, make in CASES if name not in ("keeps", "hides")]


@pytest.mark.parametrize("name, make", FAILING, ids=names_of(FAILING))
def test_each_statement_fails(failing, name, make):
    """The k-th statement fails, for all k: no count has changed that the arguments do not account for, and nothing lives on."""
    call, k, countdown = failing.function(name), 0, ctypes.c_int64.from_address(failing.entries["fault_countdown"])
    while True:
        k += 1
        alive = Mark.alive
        args = make()
        held = list(reached(args, {}).values())
        before = counts_of(held)
        countdown.value = k
        try:
            call(*args)
        except Exception as error:
            del error
        reached_end, countdown.value = countdown.value > 0, 0
        changed = [now - count for now, count in zip(counts_of(held), before)]
        # Arguments that the call has changed hold each other otherwise than before; all others are as they were.
        if name not in CHANGING:
            assert not any(changed), (k, changed)
        del held, args, before
        gc.collect()
        assert Mark.alive == alive, k
        if reached_end:
            break


CHANGING = {
    "unpacks_into_places",
    "chained",
    "borrowed_and_used",
    "borrowed_in_a_loop",
    "borrowing_calls",
    "borrowed_then_set",
    "writes",
    "dicts",
    "sets",
    "list_methods",
    "missing_key",
    "dict_counts",
    "evaluated_once",
    "order_of_arguments",
    "sealed_field",
    "over_growing_list",
    "tuple_of_kinds",
}
