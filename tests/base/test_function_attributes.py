"""What is read of functions: base/function_attributes.py."""

import functools
import inspect

import pytest

from nbgrad.base.function_attributes import parameter_names


def several(g, x, /, y=1, *rest, dim=None, keepdim, **more):
    """Parameters of all kinds."""


def shown(g):
    """A function that shows another signature than it has."""


shown.__signature__ = inspect.signature(several)


@functools.wraps(several)
def wrapped(*args):
    """A function that stands for another one."""


@pytest.mark.parametrize(
    "function",
    [
        several,
        shown,
        wrapped,
        lambda: 0,
        lambda g, x: g,
        lambda *, k: k,
        lambda *a: a,
        lambda **k: k,
        functools.partial(several, 1, 2),
    ],
)
def test_names_are_those_of_the_signature(function):
    """Plain functions are read by their code, others as ``inspect`` reads them."""
    assert parameter_names(function) == tuple(inspect.signature(function).parameters)
