"""What a run takes of the tests over the whole table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.jit import test_differentiate, test_live, test_samples
from tests.parts import alternating, in_part, take_part, whole_tests_are_asked_for
from tests.samples import SAMPLES


def marks_of(test):
    """The marks of a test function."""
    return [mark.args for mark in test.pytestmark if mark.name == "part"]


def case(function, name, *marks):
    """A collected case, as far as parts look at it."""
    found = [pytest.mark.part(*args).mark for args in marks]
    spec = SimpleNamespace(params={"name": name}, id=name)
    return SimpleNamespace(nodeid=f"{function}[{name}]", callspec=spec, iter_markers=lambda _: found)


@pytest.mark.parametrize("of", [2, 3, 4, 16])
def test_every_operation_is_in_one_part(of):
    """Of tests that are shared out."""
    for name in SAMPLES:
        assert sum(in_part([(of, which)], name) for which in range(of)) == 1


def test_the_parts_are_of_one_size():
    """Nearly: an operation's name says nothing of its part."""
    sizes = [sum(in_part([(4, which)], name) for name in SAMPLES) for which in range(4)]
    assert min(sizes) > len(SAMPLES) / 5


def test_a_part_is_the_same_in_every_run():
    """On every machine and in every version of Python."""
    assert [name for name in ("add", "exp", "mul", "sum", "tanh", "where") if in_part([(2, 0)], name)] == ["where"]


def test_values_alternate():
    """An operation is tested with one of two values."""
    first, second = ([mark.args for mark in value.marks] for value in alternating("x", "y"))
    assert (first, second) == ([(2, 0)], [(2, 1)])


def test_every_operation_is_compiled_in_one_order():
    """As value and gradient, of second order, in forward mode, on a batch, as a pass, or as a graph that is differentiated."""
    tests = [
        test_samples.test_value_and_gradient,
        test_samples.test_second_order,
        test_samples.test_forward_over_reverse,
        test_samples.test_batches,
        test_live.test_passes_of_all_operations,
        test_differentiate.test_samples,
    ]
    for name in SAMPLES:
        assert sum(in_part(marks_of(test), name) for test in tests) == 1


def test_what_is_left_out_is_returned():
    """The other cases stay, in their order."""
    items = [case("test_a", name, (2, 0)) for name in SAMPLES] + [case("test_b", "tanh")]
    before = list(items)
    left_out = take_part(items)
    assert items and left_out and sorted(items + left_out, key=before.index) == before
    assert items == [item for item in before if item not in left_out]


def test_a_test_of_which_nothing_is_left_is_an_error():
    """It would pass for ever."""
    (name,) = [name for name in ("add", "exp") if not in_part([(2, 0)], name)][:1]
    with pytest.raises(pytest.UsageError, match="no case of test_a is left"):
        take_part([case("test_a", name, (2, 0)), case("test_b", name)])


@pytest.mark.parametrize(
    ("slow", "keyword", "args", "whole"),
    [
        (False, "", ["tests/ops"], True),
        (False, "", ["tests/ops/test_jvp.py::test_tangent"], True),
        (True, "", ["tests/ops"], False),
        (False, "softsign", ["tests"], False),
        (False, "", ["tests/ops/test_jvp.py::test_tangent[tanh]"], False),
    ],
)
def test_who_names_cases_gets_them_all(slow, keyword, args, whole):
    """By an id, by ``-k``, or by ``--slow``."""
    options = {"--slow": slow, "keyword": keyword}
    assert whole_tests_are_asked_for(SimpleNamespace(getoption=options.get, args=args)) is whole
