"""Modules that hold modules, or parameters, in order or by name."""

from __future__ import annotations

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, DimError, NamingError
from .module import MODULE, PARAMETER, Module, runs

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Ordered(Module):
    """Members by position. One that stands at two positions is held twice."""

    held = MODULE

    def _names(self) -> list[str]:
        return [name for name, _ in self._own(self.held)]

    def _name_at(self, index: int) -> str:
        names = self._names()
        try:
            return names[operator.index(index)]
        except IndexError:
            raise DimError(f"{type(self).__name__}: index {index} is out of range for {len(names)} {self.held}s.") from None

    def _hold(self, name: str, member: Any) -> None:
        """Make ``member`` the member ``name``, which may be there."""
        self._register(name, member, self.held)

    def _replace(self, members: Iterable[Any]) -> None:
        """Hold ``members`` instead, named by position."""
        for name in self._names():
            delattr(self, name)
        for position, member in enumerate(members):
            self._hold(str(position), member)

    def __len__(self) -> int:
        return len(self._own(self.held))

    def __iter__(self) -> Iterator[Any]:
        return iter([member for _, member in self._own(self.held)])

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(self._own(self.held)[index])
        return getattr(self, self._name_at(index))

    def __setitem__(self, index: int, member: Any) -> None:
        self._hold(self._name_at(index), member)

    def __delitem__(self, index: int | slice) -> None:
        members = list(self)
        try:
            del members[index]
        except IndexError:
            self._name_at(index)  # type: ignore[arg-type]     # says what is wrong
            raise
        self._replace(members)

    def _slice(self, members: list[tuple[str, Any]]) -> Any:
        return type(self)().extend(member for _, member in members)

    def append(self, member: Any) -> Any:
        """Add ``member`` at the end; returns self."""
        self._hold(str(len(self)), member)
        return self

    def extend(self, members: Iterable[Any]) -> Any:
        """Add ``members`` at the end; returns self.

        Raises:
            ArgumentError: nothing that can be iterated over.
        """
        if not isinstance(members, Iterable):
            raise ArgumentError(f"{type(self).__name__}: expected an iterable of {self.held}s, got {type(members).__name__}.")
        for member in list(members):
            self.append(member)
        return self

    __iadd__ = extend

    def __add__(self, others: Iterable[Any]) -> Any:
        return self._slice(self._own(self.held)).extend(others)


class _OrderedModules(_Ordered):
    """Modules by position."""

    def insert(self, index: int, module: Module) -> Any:
        """Add ``module`` before position ``index``; returns self."""
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)
        return self

    def pop(self, index: int | slice) -> Any:
        """Take the module at ``index`` out, and return it.

        >>> from nbgrad import nn
        >>> nn.ModuleList([nn.Tanh(), nn.ReLU()]).pop(-1)
        ReLU()
        """
        member = self[index]
        del self[index]
        return member


class Sequential(_OrderedModules):
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

    def __add__(self, other: Iterable[Module]) -> Sequential:
        return Sequential(*self).extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        self._replace(list(self) * times)
        return self

    def forward(self, input: Any) -> Any:
        """Each module on what the one before it returned."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_OrderedModules):
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

    def _repr_children(self) -> Iterator[str]:
        return runs([repr(module) for module in self])


class ParameterList(_Ordered):
    """A list of parameters that belong to the module that holds the list; other tensors are made parameters.

    Raises:
        ArgumentError: something that is no tensor.

    >>> import nbgrad
    >>> weights = nbgrad.nn.ParameterList(nbgrad.ones(2, k) for k in (1, 2))
    >>> weights
    ParameterList(
      (0): Parameter containing: [nbgrad.float32 of size 2x1]
      (1): Parameter containing: [nbgrad.float32 of size 2x2]
    )
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1']
    """

    held = PARAMETER

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def _hold(self, name: str, member: Any) -> None:
        super()._hold(name, as_parameter(member))

    def _repr_children(self) -> Iterator[str]:
        return summaries(self._own(PARAMETER))


class _Named(Module):
    """Members by name, in the order in which they came. A name that is an attribute of the class cannot be one."""

    held = MODULE

    def _hold(self, name: str, member: Any) -> None:
        """Make ``member`` the member ``name``, which may be there."""
        self._register(name, member, self.held)

    def _members(self) -> dict[str, Any]:
        return dict(self._own(self.held))

    def _require(self, name: str) -> None:
        if name not in self:
            raise NamingError(f"{type(self).__name__}: {name!r} is not there. There are: {', '.join(self._members()) or 'none'}.")

    def __len__(self) -> int:
        return len(self._members())

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __contains__(self, name: object) -> bool:
        return name in self._members()

    def __getitem__(self, name: str) -> Any:
        self._require(name)
        return getattr(self, name)

    def __setitem__(self, name: str, member: Any) -> None:
        self._hold(name, member)

    def __delitem__(self, name: str) -> None:
        self._require(name)
        delattr(self, name)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._members().keys()

    def values(self) -> ValuesView[Any]:
        """The members."""
        return self._members().values()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of names and members."""
        return self._members().items()

    def pop(self, name: str) -> Any:
        """Take the member ``name`` out, and return it.

        Raises:
            NamingError: it is not there; a KeyError too.
        """
        member = self[name]
        del self[name]
        return member

    def clear(self) -> None:
        """Take all members out."""
        for name in self:
            del self[name]

    def update(self, members: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add or replace members, given as a mapping or as pairs.

        Raises:
            ArgumentError: neither.
        """
        if not isinstance(members, Iterable):
            raise ArgumentError(f"{type(self).__name__}: expected a mapping or pairs, got {type(members).__name__}.")
        for name, member in members.items() if hasattr(members, "items") else members:
            self._hold(name, member)


class ModuleDict(_Named):
    """Modules by name, whose parameters belong to the module that holds the dictionary. It has no ``forward``.

    Raises:
        NamingError: a name that is empty, has a dot, or is an attribute of the class; a KeyError too.

    >>> from nbgrad import nn
    >>> activations = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
    >>> activations["tanh"], "selu" in activations, list(activations)
    (Tanh(), False, ['relu', 'tanh'])
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(() if modules is None else modules)


class ParameterDict(_Named):
    """Parameters by name that belong to the module that holds the dictionary; other tensors are made parameters.

    Raises:
        ArgumentError: something that is no tensor.
        NamingError: a name that is empty, has a dot, or is an attribute of the class; a KeyError too.

    >>> import nbgrad
    >>> weights = nbgrad.nn.ParameterDict({"left": nbgrad.ones(2), "right": nbgrad.zeros(2)})
    >>> [name for name, _ in weights.named_parameters()], weights["left"].requires_grad
    (['left', 'right'], True)
    """

    held = PARAMETER

    def __init__(self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None) -> None:
        super().__init__()
        self.update(() if parameters is None else parameters)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter ``key``; ``default`` if it is not there."""
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter ``key``; if it is not there, ``default`` becomes it.

        >>> import nbgrad
        >>> parameters = nbgrad.nn.ParameterDict()
        >>> parameters.setdefault("a", nbgrad.ones(1)) is parameters["a"]
        True
        """
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter out; return its name and it.

        Raises:
            NamingError: there is none; a KeyError too.

        >>> import nbgrad
        >>> nbgrad.nn.ParameterDict({"a": nbgrad.ones(1), "b": nbgrad.zeros(1)}).popitem()[0]
        'b'
        """
        if not len(self):
            raise NamingError("ParameterDict.popitem: there are no parameters.")
        name = next(reversed(self))
        return name, self.pop(name)

    def copy(self) -> ParameterDict:
        """A dictionary of the same parameters."""
        return ParameterDict(self._members())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dictionary in which all ``keys`` have the same tensor, each as a parameter of its own.

        >>> import nbgrad
        >>> [*nbgrad.nn.ParameterDict().fromkeys(["a", "b"], nbgrad.ones(1))]
        ['a', 'b']
        """
        return ParameterDict((key, default) for key in keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._members())

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return self.copy().__ior__(other)

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other._members())
        return self

    def _hold(self, name: str, member: Any) -> None:
        super()._hold(name, as_parameter(member))

    def _repr_children(self) -> Iterator[str]:
        return summaries(self._own(PARAMETER))


def as_parameter(value: Any) -> Any:
    """``value``, as a parameter if it is another tensor."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def summaries(members: Iterable[tuple[str, Parameter]]) -> Iterator[str]:
    """A line for each parameter: what ``repr`` shows of it."""
    for name, parameter in members:
        size = "x".join(map(str, parameter.shape))
        yield f"({name}): Parameter containing: [{parameter.dtype} of size {size}]"
