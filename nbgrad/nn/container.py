"""Modules that hold modules, or parameters, in order or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, DimError, NamingError, RangeError
from .module import MODULE, Module, runs

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Holder(Module):
    """A module whose parts are its members: modules, or None in the place of one."""

    held = "module"

    def _present(self) -> list[tuple[str, Any]]:
        """Names and members, in the order in which they came."""
        values = self.__dict__
        return [(name, values[name]) for name, kind in self._kinds_.items() if kind == MODULE]

    def _hold(self, name: str, member: Any) -> None:
        """Make ``member`` the member ``name``, which may be there."""
        self._register(name, member, MODULE)


class _Ordered(_Holder):
    """Members by position. One that stands at two positions is held twice."""

    def _names(self) -> list[str]:
        return [name for name, _ in self._present()]

    def _name_at(self, index: int) -> str:
        names = self._names()
        try:
            return names[operator.index(index)]
        except IndexError:
            raise DimError(f"{type(self).__name__}: index {index} is out of range for {len(names)} {self.held}s.") from None
        except TypeError:
            raise ArgumentError(f"{type(self).__name__}: an index is {index!r}, expected an int or a slice.") from None

    _get_abs_string_index = _name_at  # torch's name

    def _replace(self, members: Iterable[Any]) -> None:
        """Hold ``members`` instead, named by position."""
        for name in self._names():
            delattr(self, name)
        for position, member in enumerate(members):
            self._hold(str(position), member)

    def __len__(self) -> int:
        return len(self._present())

    def __iter__(self) -> Iterator[Any]:
        return iter([member for _, member in self._present()])

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(self._present()[index])
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
        return self._slice(self._present()).extend(others)


class _OrderedModules(_Ordered):
    """Modules by position."""

    def insert(self, index: int, module: Module) -> Any:
        """Add ``module`` before position ``index``; returns self.

        Raises:
            DimError: there is no such position.
        """
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise DimError(f"{type(self).__name__}.insert: index {index} is out of range for {len(modules)} modules.")
        modules.insert(index, module)
        self._replace(modules)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take the module at position ``key`` out, and return it.

        >>> from nbgrad import nn
        >>> nn.ModuleList([nn.Tanh(), nn.ReLU()]).pop(-1)
        ReLU()
        """
        member = self[key]
        del self[key]
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
        if not isinstance(other, Iterable):
            raise RangeError(f"Sequential: cannot add {type(other).__name__}, expected another Sequential.")
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


class _OfParameters(_Holder):
    """Members that are parameters; other tensors are made parameters, and what is no tensor is held as it is."""

    held = "parameter"

    def __init__(self) -> None:
        super().__init__()
        self._order: dict[str, None] = {}  # of all members; modules, and what is neither, are not among the parameters

    def _present(self) -> list[tuple[str, Any]]:
        return [(name, self.__dict__[name]) for name in self._order]

    def _hold(self, name: str, member: Any) -> None:
        if name not in self._order:
            self._require_name(name, self.held)
        setattr(self, name, Parameter(member) if isinstance(member, Tensor) and not isinstance(member, Parameter) else member)
        self._order[name] = None

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._order.pop(name, None)


class ParameterList(_OfParameters, _Ordered):
    """A list of parameters that belong to the module that holds the list; other tensors are made parameters.

    What is no tensor is held as it is; the parameters of modules, such as another list, belong to the list's owner too.

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

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def extra_repr(self) -> str:
        """A line for each member."""
        return summaries(self._present(), lambda tensor: str(tensor.dtype))


class _Named(_Holder):
    """Members by name, in the order in which they came. A name that is an attribute of the class cannot be one."""

    def _members(self) -> dict[str, Any]:
        return dict(self._present())

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

    def pop(self, key: str) -> Any:
        """Take the member ``key`` out, and return it.

        Raises:
            NamingError: it is not there; a KeyError too.
        """
        member = self[key]
        del self[key]
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
        given: Any = members
        for pair in self._pairs(given) if hasattr(given, "items") else given:
            if len(pair) != 2:
                raise RangeError(f"{type(self).__name__}: a name and its {self.held} are {len(pair)} objects, expected 2.")
            self._hold(*pair)

    def _pairs(self, members: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """The pairs of a mapping, in the order in which they are to be held."""
        return members.items()


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


class ParameterDict(_OfParameters, _Named):
    """Parameters by name that belong to the module that holds the dictionary; other tensors are made parameters.

    What is no tensor is held as it is; the parameters of modules, such as a ``ParameterList``, belong to the owner too.

    Raises:
        NamingError: a name that is empty, has a dot, or is an attribute of the class; a KeyError too.

    >>> import nbgrad
    >>> weights = nbgrad.nn.ParameterDict({"left": nbgrad.ones(2), "right": nbgrad.zeros(2)})
    >>> [name for name, _ in weights.named_parameters()], weights["left"].requires_grad
    (['left', 'right'], True)
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(() if parameters is None else parameters)

    def _pairs(self, members: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        """By name, as in torch, unless the mapping says that its order counts: optimizers number parameters in it."""
        pairs = members.items()
        return pairs if isinstance(members, OrderedDict | ParameterDict) else sorted(pairs, key=operator.itemgetter(0))

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
        return ParameterDict(self)  # type: ignore[arg-type]     # which has items()

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

    def extra_repr(self) -> str:
        """A line for each member."""
        return summaries(self._present(), Tensor.type)


def summaries(members: Iterable[tuple[str, Any]], kind: Callable[[Tensor], str]) -> str:
    """A line for each member: of tensors what ``kind`` says of them and the sizes, of others the type."""
    lines = []
    for name, member in members:
        shown = f"Object of type: {type(member).__name__}"
        if isinstance(member, Tensor):
            place = "" if member.device.type == "cpu" else f" ({member.device})"
            shown = f"Parameter containing: [{kind(member)} of size {'x'.join(map(str, member.shape))}{place}]"
        lines.append(f"  ({name}): {shown}")
    return "\n".join(lines)
