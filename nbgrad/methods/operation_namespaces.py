"""``nbgrad.ops`` as ``torch.ops``: namespaces of operations that programs make, and ``aten``, that of the functions of the package.

>>> import nbgrad
>>> nbgrad.ops.aten.relu.default(nbgrad.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NoReturn

from .. import ops
from ..base.errors import LibraryError
from ..modes.overloads import packet_of
from ..ops.operators import calls_of
from ..tensors.tensor import Tensor

__all__ = ["Operations", "install_operation_namespaces", "namespace_of"]


class Operations(SimpleNamespace):
    """``nbgrad.ops.namespace``: the operations that were made under it."""

    def __init__(self, namespace: str):
        super().__init__(__name__=namespace)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"nbgrad.ops.{self.__name__} has no operation {name!r}. Hint: nbgrad.library.custom_op.")


class Aten(Operations):
    """``nbgrad.ops.aten``: the operators that functions of the package, methods of Tensor and operations beneath the gradients are.

    Operators that torch keeps for itself may be named whether or not an operation stands for them: programs compare with them.
    """

    def __getattr__(self, name: str) -> Any:
        function = getattr(sys.modules["nbgrad"], name, None) or getattr(Tensor, name, None)
        if name.startswith("__") or not (name.startswith("_") or callable(function) or is_operator(name)):
            raise AttributeError(f"nbgrad.ops.aten has no operation {name!r}.")
        setattr(self, name, packet_of("aten", name))
        return self.__dict__[name]


def is_operator(name: str) -> bool:
    """Whether an operation is, or is part of, what torch calls by that name."""
    return bool(calls_of("aten", name.removesuffix("_backward")))


def namespace_of(name: str) -> Any:
    """The namespace of that name, empty if nothing was made under it: programs look there whether something was."""
    if name.startswith("__"):
        raise AttributeError(f"module 'nbgrad.ops' has no attribute {name!r}.")
    return vars(ops).setdefault(name, (Aten if name == "aten" else Operations)(name))


def load_library(path: Any) -> NoReturn:
    """Not there: operations are made in Python.

    Raises:
        LibraryError: always; an ``OSError``, which torch raises of a library that cannot be loaded.
    """
    raise LibraryError(f"ops.load_library: {path} is not loaded, operations are made in Python. Hint: nbgrad.library.custom_op.")


def install_operation_namespaces() -> None:
    """Give the package of declarations what programs look for in ``torch.ops``."""
    vars(ops).update(__getattr__=namespace_of, load_library=load_library)
