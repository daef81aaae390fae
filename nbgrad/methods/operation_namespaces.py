"""``nbgrad.ops`` as ``torch.ops``: namespaces of operations that programs make, and ``aten``, that of the functions of the package.

>>> import nbgrad
>>> nbgrad.ops.aten.relu.default(nbgrad.tensor([-1.0, 1.0]))
tensor([0., 1.])
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, Callable, NoReturn

from .. import ops
from ..base.errors import LibraryError, NotSupportedError
from ..tensors.tensor import Tensor

__all__ = ["Operations", "install_operation_namespaces", "namespace_of"]


class Operations(SimpleNamespace):
    """``nbgrad.ops.namespace``: the operations that were made under it."""

    def __init__(self, namespace: str):
        super().__init__(__name__=namespace)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"nbgrad.ops.{self.__name__} has no operation {name!r}. Hint: nbgrad.library.custom_op.")


class Aten(Operations):
    """``nbgrad.ops.aten``: functions of the package, and else methods of Tensor, by their names.

    Operations that torch keeps for itself (``_to_copy``) are names alone, which programs compare: a call of one is an error.
    """

    def __getattr__(self, name: str) -> Any:
        function = getattr(sys.modules["nbgrad"], name, None) or getattr(Tensor, name, None)
        if name.startswith("__") or not (name.startswith("_") or callable(function)):
            raise AttributeError(f"nbgrad.ops.aten has no operation {name!r}.")
        setattr(self, name, Overloads(name, function))
        return self.__dict__[name]


class Overloads:
    """An operation of ``aten``; its overloads (``default``, ``Tensor``, ``Scalar``, ...) are this one function.

    >>> nbgrad.ops.aten.add.Tensor is nbgrad.ops.aten.add.Tensor, nbgrad.ops.aten.add
    (True, nbgrad.ops.aten.add)
    """

    def __init__(self, name: str, function: Callable | None):
        self.name, self.function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise NotSupportedError(
                f"nbgrad.ops.aten.{self.name}: there is no such operation. Hint: the public function it belongs to."
            )
        return self.function(*args, **kwargs)

    def __getattr__(self, overload: str) -> Overloads:
        if overload.startswith("_"):
            raise AttributeError(f"nbgrad.ops.aten.{self.name} has no overload {overload!r}.")
        setattr(self, overload, Overloads(f"{self.name}.{overload}", self.function))
        return self.__dict__[overload]

    def __repr__(self) -> str:
        return f"nbgrad.ops.aten.{self.name}"


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
