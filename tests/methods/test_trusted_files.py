"""What a program lets files name."""

from __future__ import annotations

import argparse
import enum
import io

import pytest

import nbgrad
from nbgrad import serialization
from nbgrad.errors import ArgumentError, FileError


class Settings:
    """With a state of its own form."""

    def __init__(self, rate):
        self.rate = rate

    def __getstate__(self):
        return (self.rate,)

    def __setstate__(self, state):
        (self.rate,) = state


class Slotted:
    """Without a namespace."""

    __slots__ = ("rate",)


class Colour(enum.Enum):
    RED = 1


def written(x):
    """A file with an object."""
    file = io.BytesIO()
    nbgrad.save({"x": x, "w": nbgrad.ones(2)}, file)
    return file


def read(file):
    """The object of a file, which is not trusted otherwise."""
    file.seek(0)
    return nbgrad.load(file)["x"]


def test_classes_are_allowed_one_by_one():
    """Inside of the block, or until all are taken back; the others stay refused."""
    slotted = Slotted()
    slotted.rate = 0.25
    for x in (argparse.Namespace(rate=0.25), Settings(0.25), slotted):
        file = written(x)
        with pytest.raises(FileError, match="add_safe_globals"):
            read(file)
        with serialization.safe_globals([type(x)]):
            assert read(file).rate == 0.25 and serialization.get_safe_globals() == [type(x)]
        with pytest.raises(FileError):
            read(file)
    serialization.add_safe_globals([Colour])
    try:
        assert read(written(Colour.RED)) is Colour.RED
        with pytest.raises(FileError):
            read(written(Settings(1)))
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_names_that_a_class_had():
    """A pair says under which name files have it; what is neither class nor function is refused."""

    class Before(Settings):
        pass

    Before.__qualname__ = "Earlier"
    file = written(Settings(0.5))
    with serialization.safe_globals([(Before, f"{__name__}.Settings")]):
        assert type(read(file)) is Before and serialization.get_safe_globals() == [(Before, f"{__name__}.Settings")]
    with pytest.raises(ArgumentError, match="expected classes and functions"):
        serialization.add_safe_globals([3])
