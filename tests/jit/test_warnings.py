"""Compiled functions warn in every call, as the functions do."""

from __future__ import annotations

import sys
import warnings

import pytest

import nbgrad


class Own(UserWarning):
    """A class of the program's."""


def here(x):
    warnings.warn("careful", Own, stacklevel=1)
    return x * 2


def above(x):
    warnings.warn("above", stacklevel=2)
    return x * 2


def further(x):
    def inner():
        warnings.warn("further", stacklevel=3)

    (lambda: inner())()
    return x + 1


def silent(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("never", stacklevel=1)
    return x * 3


def of_branch(x):
    if x.sum() > 0:
        warnings.warn("positive", stacklevel=1)
    return x * 2


def of_library(x):
    return nbgrad.tensor(x) * 2


def of_loop(x):
    return nbgrad.scan(lambda c, _: (warnings.warn("in a body", stacklevel=1), (c * 2, None))[1], x, length=3)[0]


def told(fn, action):
    """What four calls give, and where and what they warn of."""
    vars(sys.modules[__name__]).pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        given = [fn(nbgrad.full((2,), 1.0 if k % 2 else -1.0)).tolist() for k in range(4)]
    return given, [(str(each.message), each.category, each.filename, each.lineno) for each in found]


@pytest.mark.parametrize("action", ["always", "default", "once", "module", "ignore"])
@pytest.mark.parametrize("fn", [here, above, further, silent, of_branch, of_library])
def test_every_call_warns(fn, action):
    """As often as Python's filters say, at the line of the function, or of its caller."""
    compiled = nbgrad.compile(fn, fullgraph=True)
    assert told(compiled, action) == told(fn, action)
    assert len(compiled.variants) == 1 + (fn is of_branch)


def test_bodies_of_loops_warn_when_they_are_captured():
    """As they do eagerly, however often they run."""
    assert len(told(of_loop, "always")[1]) == len(told(nbgrad.compile(of_loop, fullgraph=True), "always")[1]) <= 1


def recorded(x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("kept", stacklevel=1)
    return x * len(found)


def caught(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("boom", stacklevel=1)
        except UserWarning:
            return x * 5
    return x * 4


own_name = warnings.warn


def by_a_name(x):
    own_name("careful")
    return x * 2


@pytest.mark.parametrize("fn", [recorded, caught, by_a_name])
def test_who_looks_at_warnings_runs_as_it_is(fn):
    """A program that records warnings, or makes errors of them, or has a name of its own for ``warn``."""
    compiled = nbgrad.compile(fn)
    given, warned = told(compiled, "always")
    assert [each for each in warned if "runs as it is" not in each[0]] == told(fn, "always")[1] and given == told(fn, "always")[0]
    assert not compiled.variants and len(warned) - len(told(fn, "always")[1]) == 1


def test_filters_that_become_errors_later():
    """The error comes behind what the call has computed."""
    compiled = nbgrad.compile(here, fullgraph=True)
    told(compiled, "ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Own, match="careful"):
            compiled(nbgrad.ones(2))
    assert not told(compiled, "ignore")[1]


def test_files_have_warnings(tmp_path):
    """A function that was saved warns as well."""
    compiled = nbgrad.compile(above)
    told(compiled, "ignore")
    nbgrad.jit.save(compiled, tmp_path / "f")
    assert len(told(nbgrad.jit.load(tmp_path / "f"), "always")[1]) == 4


def test_others_find_the_functions_of_python():
    """Behind a capture ``warnings.warn`` is what it was."""
    own = warnings.warn
    told(nbgrad.compile(here), "ignore")
    assert warnings.warn is own
