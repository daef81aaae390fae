"""Objects that are called through a slot: native/doors.py."""

import functools
import gc
import itertools
import weakref

import pytest

from nbgrad.native.doors import Door
from nbgrad.tensors.tensor import native


@pytest.fixture(params=[native.door, Door], ids=["native", "python"])
def made(request):
    """A class with a door, and an instance that says how it was called."""

    class Said(request.param):
        def __init__(self):
            self._quick_ = lambda *args: ("quick", args)

        def _dispatch_(self, args, named):
            return "named", args, named

    return Said


def test_calls_go_to_the_slot_by_position_and_to_the_method_by_name(made):
    """Named arguments alone take the slower way; an empty dict of them does not."""
    said, named = made(), {}
    assert said(1, 2) == ("quick", (1, 2)) and said() == ("quick", ()) and said(3, **named) == ("quick", (3,))
    assert said(1, k=2) == ("named", (1,), {"k": 2})


def test_what_is_called_may_exchange_itself(made):
    """The function in the slot lives until it is done."""
    said = made()

    def once(x):
        said._quick_ = lambda x: -x
        gc.collect()
        return x + kept

    kept = 10
    said._quick_ = once
    del once
    assert (said(1), said(1)) == (11, -1)


def test_errors_and_empty_slots(made):
    """An error comes out as it is; an instance that was never initialised has an error of Python's."""
    said = made()
    said._quick_ = lambda x: 1 // x
    with pytest.raises(ZeroDivisionError):
        said(0)
    with pytest.raises(TypeError):
        said(0, 0)
    blank = made.__new__(made)
    with pytest.raises(AttributeError, match="_quick_"):
        blank(1)


def test_instances_die(made):
    """Nothing but the program holds them, also where they are called in a circle."""
    said = made()
    said._quick_ = functools.partial(next, itertools.repeat(said))
    gone = weakref.ref(said)
    assert said() is gone()
    del said
    gc.collect()
    assert gone() is None
