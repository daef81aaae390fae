"""What a run takes of the tests over the whole table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.jit import test_differentiate, test_live, test_samples
from tests.parts import SELDOM, alternating, in_part, take_part, whole_tests_are_asked_for
from tests.samples import SAMPLES


def marks_of(test):
    """The marks of a test function."""
    return [mark.args for mark in test.pytestmark if mark.name == "part"]


def marked(*marks):
    """A test, as far as parts look at it."""
    return SimpleNamespace(nodeid="test_a", iter_markers=lambda name: (mark.mark for mark in marks if mark.name == name))


def case(name, *marks):
    """A case, as far as parts look at it."""
    return SimpleNamespace(params={"name": name}, id=name, marks=[mark.mark for mark in marks])


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


def test_what_a_run_takes_keeps_its_order():
    """Marks of the test and of its cases count alike; what is seldom taken is not among them."""
    names = [name for name in SAMPLES if name not in SELDOM]
    cases = [case(name) for name in SAMPLES]
    of_test = take_part(marked(pytest.mark.part(2, 0)), cases)
    assert [each.id for each in of_test] == [name for name in names if in_part([(2, 0)], name)]
    of_cases = take_part(marked(), [case(name, pytest.mark.part(2, 0)) for name in SAMPLES])
    assert [each.id for each in of_cases] == [each.id for each in of_test]


def test_slow_cases_are_not_made():
    """Those that are left decide; where all would be skipped, one says so."""
    quick, slow, other = case("add"), case("exp", pytest.mark.slow), case("mul", pytest.mark.slow)
    assert take_part(marked(), [slow, quick, other]) == [quick]
    assert take_part(marked(), [slow, other]) == [slow]
    assert take_part(marked(pytest.mark.slow), [quick, slow]) == [quick]
    assert take_part(marked(pytest.mark.skipif(True, reason="never")), [quick, other]) == [quick]
    assert take_part(marked(pytest.mark.skipif(False, reason="always")), [quick, case("mul")]) == [quick, case("mul")]


def test_a_test_of_which_nothing_is_left_is_an_error():
    """It would pass for ever."""
    (name,) = [name for name in ("add", "exp") if not in_part([(2, 0)], name)][:1]
    with pytest.raises(pytest.UsageError, match="no case of test_a is left"):
        take_part(marked(pytest.mark.part(2, 0)), [case(name)])
    assert take_part(marked(), []) == []


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
