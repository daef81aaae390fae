"""Modules that hold modules in order."""
from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import DimError
from .module import MODULE, Module, runs

__all__ = ["ModuleList", "Sequential"]


class _Ordered(Module):
    """Modules by position. A module that stands at two positions is held twice."""

    def _names(self) -> list[str]:
        return [name for name, _ in self._own(MODULE)]

    def _name_at(self, index: int) -> str:
        names = self._names()
        try:
            return names[operator.index(index)]
        except IndexError:
            raise DimError(f"{type(self).__name__}: index {index} is out of range for {len(names)} modules.") from None

    def _replace(self, modules: Iterable[Module]) -> None:
        """Hold ``modules`` instead, named by position."""
        for name in self._names():
            delattr(self, name)
        for position, module in enumerate(modules):
            self.add_module(str(position), module)

    def __len__(self) -> int:
        return len(self._own(MODULE))

    def __iter__(self) -> Iterator[Module]:
        return iter([module for _, module in self._own(MODULE)])

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(self._own(MODULE)[index])
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._replace(modules)

    def _slice(self, members: list[tuple[str, Module]]) -> Any:
        raise NotImplementedError

    def append(self, module: Module) -> Any:
        """Add ``module`` at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add ``modules`` at the end; returns self."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add ``module`` before position ``index``; returns self."""
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)
        return self


class Sequential(_Ordered):
    """The composition of modules: the first is applied first.

    Args:
        modules: modules in order, or one mapping from names to modules.

    >>> from nbgrad import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else enumerate(modules)
        for name, module in named:
            self.add_module(str(name), module)

    def _slice(self, members: list[tuple[str, Module]]) -> Sequential:
        return Sequential(dict(members))

    def forward(self, input: Any) -> Any:
        """Each module on what the one before it returned."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Ordered):
    """A list of modules whose parameters belong to the module that holds the list. It has no ``forward``.

    >>> from nbgrad import nn
    >>> nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def _slice(self, members: list[tuple[str, Module]]) -> ModuleList:
        return ModuleList(module for _, module in members)

    def _repr_children(self) -> Iterator[str]:
        return runs([repr(module) for module in self])
