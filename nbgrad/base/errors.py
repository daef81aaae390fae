"""The family of errors. Each is also an instance of the builtin errors that users of Python, NumPy and torch already catch.

torch raises ``RuntimeError`` in many places where Python raises ``TypeError`` or ``ValueError``: the family's errors are all
``RuntimeError``, and besides what Python's users expect.

A message names the operation, the argument, what came, what was expected and the remedy:

    mul: saved tensor 'x' (float32 [8]) was modified in place: it is at version 2, expected 1.
    Hint: clone it before the update.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "NbgradError",
    "NumberError",
    "ShapeError",
    "SettingError",
    "DTypeError",
    "DeviceError",
    "ArgumentError",
    "ArrayError",
    "OperatorError",
    "SubscriptError",
    "IndexShapeError",
    "ModeError",
    "DimError",
    "GradError",
    "VersionError",
    "DatasetError",
    "DivisionError",
    "InplaceError",
    "CacheError",
    "FileError",
    "GraphError",
    "KernelError",
    "NamingError",
    "NotSupportedError",
    "OutOfMemoryError",
    "RangeError",
    "RootError",
    "UsageError",
    "LeafError",
    "LibraryError",
    "LinAlgError",
]


class NbgradError(RuntimeError):
    """Base of all errors that nbgrad raises on purpose."""


class ShapeError(NbgradError, ValueError):
    """Shapes that do not fit together, or a size that cannot be."""


class DTypeError(NbgradError, NotImplementedError):
    """A dtype that the operation does not take, or a conversion that would lose the kind of number."""


class DeviceError(NbgradError):
    """Operands on different devices, or a device that is not there."""


class ArrayError(DeviceError, TypeError):
    """A tensor on a GPU, where an array in the CPU's memory is asked for."""


class ArgumentError(NbgradError, TypeError):
    """An argument of the wrong type."""


class RangeError(NbgradError, ValueError):
    """An argument of the right type and an impossible value."""


class ModeError(RangeError, NotImplementedError):
    """The name of a way of computing something, which there is not."""


class SettingError(RangeError, AssertionError):
    """Settings of a module that do not go together."""


class DatasetError(RangeError, AssertionError):
    """Datasets that do not fit together."""


class NamingError(RangeError, KeyError):
    """A name that is taken, cannot be, or is not there."""

    __str__ = BaseException.__str__  # KeyError's shows the text in quotes


class RootError(ArgumentError, AssertionError):
    """A root of a backward pass that is no tensor."""


class OperatorError(DTypeError, TypeError):
    """A Python operator on a dtype that it does not take."""


class SubscriptError(ArgumentError, IndexError):
    """A subscript that is no index."""


class DimError(NbgradError, IndexError):
    """A dimension or an index out of range."""


class IndexShapeError(ShapeError, IndexError):
    """Indices that do not fit together, or as many values as there are indices."""


class GradError(NbgradError):
    """A request for gradients that cannot be met."""


class UsageError(GradError, AssertionError):
    """A request for gradients at the wrong place, or of the wrong tensor."""


class LeafError(GradError, ValueError):
    """The result of an operation where a leaf is needed."""


class VersionError(GradError):
    """A saved tensor was modified after it was saved."""


class InplaceError(GradError):
    """An in-place write that autograd cannot allow."""


class DivisionError(NbgradError, ZeroDivisionError):
    """An integer divided by 0."""


class NumberError(NbgradError, OverflowError):
    """A number that does not fit a dtype."""


class CacheError(NbgradError):
    """A compiled kernel that cannot be loaded or stored."""


class FileError(NbgradError, ValueError):
    """A file that does not hold what it should."""


class GraphError(NbgradError):
    """A program that a graph cannot hold, or a graph that breaks its rules."""


class KernelError(NbgradError):
    """A kernel that cannot be built or launched."""


FINDER = "cuda"  # of what no operation is known to have asked for


class OutOfMemoryError(NbgradError, MemoryError):
    """A GPU has no memory left."""

    def of(self, name: str) -> OutOfMemoryError:
        """The error under the name of what was called; it was found by what gives memory, which knows no operation."""
        own, _, rest = str(self).partition(": ")
        return OutOfMemoryError(f"{name}: {rest}") if own == FINDER else self


class LinAlgError(NbgradError):
    """A matrix without the inverse or the decomposition that was asked for."""

    def of(self, name: str) -> LinAlgError:
        """The error under the name of the operation that was called; the one that it is made of found it."""
        own, colon, rest = str(self).partition(": ")
        return self if not colon or own == name else type(self)(f"{name}: {rest}")


class NotSupportedError(NbgradError, NotImplementedError):
    """Something that nbgrad does not have (yet); the message says what to use instead."""


class LibraryError(NotSupportedError, OSError):
    """A library of machine code, which is not loaded: operations are made in Python."""


def require_callable(op: str, function: object) -> None:
    """Refuse what cannot be called.

    Raises:
        ArgumentError: it cannot.
    """
    if not callable(function):
        raise ArgumentError(f"{op}: expected a function, got {type(function).__name__}.")


def require_path(op: str, path: Any) -> str:
    """The name of a file, as text or bytes.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{op}: expected a path, got {type(path).__name__}.")
    return os.fspath(path)  # type: ignore[return-value]
