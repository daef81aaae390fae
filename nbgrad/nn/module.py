"""Module: a function with parameters, made of other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, NamingError, NotSupportedError, RangeError
from ..graph.edges import RemovableHandle
from .buffers import Buffer
from .conversions import Convertible
from .hooks import ForwardHook, HookTable, ModuleHooks
from .members import (
    BUFFER,
    BUFFERS,
    MODULE,
    PARAMETER,
    TRANSIENT,
    MemberError,
    MemberTable,
    first_seen,
    registered,
    when_registered,
)
from .state import IncompatibleKeys, Stateful
from .utils import zero_grads

__all__ = ["IncompatibleKeys", "Module"]


def registered_by_getattr(module: Any, name: str) -> Any:
    """The ``__getattribute__`` of modules whose class has a ``__getattr__``, which is asked for registered attributes."""
    load = object.__getattribute__
    if name in load(module, "__dict__").get("_kinds_", ()):
        return type(module).__getattr__(module, name)
    return load(module, name)


class Module(Stateful, Convertible):
    """A function with parameters. Subclass it, assign parameters and modules as attributes, and define ``forward``.

    NOTE [Registration]: the value of a registered attribute lives in the instance's ``__dict__`` like any other, and
    only its kind is kept aside, in ``_kinds_``. So reading ``self.weight`` in ``forward`` is a plain attribute load, and
    there is no second table of values to keep in step. ``_kinds_`` is made by ``__new__``: a subclass that forgets
    ``super().__init__()`` works. A subclass with a ``__getattr__`` of its own is asked for registered attributes, which in torch
    are not there: its attributes go through ``registered_by_getattr``, those of no other class do.

    Attributes:
        training: True after construction and ``train()``, False after ``eval()``.

    >>> import nbgrad
    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nbgrad.nn.Parameter(nbgrad.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> [name for name, parameter in Scale().named_parameters()]
    ['factor']
    """

    training = True
    _kinds_: dict[str, str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__getattr__" in vars(cls) and cls.__getattribute__ is object.__getattribute__:
            cls.__getattribute__ = registered_by_getattr  # type: ignore[method-assign]

    _hooks_: ModuleHooks | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__["_kinds_"] = {}
        return self

    def __init__(self) -> None:
        pass

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the module, which a subclass defines."""
        raise NotSupportedError(f"{type(self).__name__}: forward is not defined. Hint: define it in the subclass.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks_ is not None:
            return self._hooks_.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    _call_impl = __call__  # torch's name

    def compile(self, **options: Any) -> None:
        """Compile ``forward`` where it is, so that every call of this module is compiled; hooks are called around it.

        Args:
            options: those of ``nbgrad.compile``, which gives a compiled module beside this one.

        >>> import nbgrad
        >>> layer = nbgrad.nn.Linear(2, 1, bias=False)
        >>> layer.compile()
        >>> layer(nbgrad.zeros(3, 2)).tolist()
        [[0.0], [0.0], [0.0]]
        """
        self.__dict__["forward"] = nbgrad.compile(self.forward, **options)

    # Hooks

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns, unless None, takes the place of the arguments.

        Args:
            prepend: before the hooks that are there, rather than after them.
            with_kwargs: call ``hook(module, args, kwargs)``, which returns None or ``(args, kwargs)``.

        >>> import nbgrad
        >>> double = nbgrad.nn.Identity()
        >>> handle = double.register_forward_pre_hook(lambda module, args: args[0] * 2)
        >>> double(nbgrad.ones(2))
        tensor([2., 2.])
        """
        return self._own_hooks().add("before_forward", ForwardHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, result)`` after ``forward``; what it returns, unless None, takes the place of the result.

        Args:
            prepend: before the hooks that are there, rather than after them.
            with_kwargs: call ``hook(module, args, kwargs, result)``.
            always_call: also when ``forward`` raised; the result is None then.
        """
        return self._own_hooks().add("after_forward", ForwardHook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known, a tuple with None for what has none.

        A tuple that it returns takes their place. Outputs and inputs of the module cannot be changed in place.
        """
        return self._own_hooks().add("before_backward", hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the positional arguments are known.

        A tuple that it returns takes the place of ``grad_input``. Where no argument requires grad, ``grad_input`` holds None, and
        the hook is called before the module's backward.
        """
        return self._own_hooks().add("after_backward", hook, prepend)

    def _own_hooks(self) -> ModuleHooks:
        """The module's hooks, made on first use."""
        if self.__dict__.get("_hooks_") is None:  # the class has those of all modules
            self.__dict__["_hooks_"] = ModuleHooks()
        return self._hooks_  # type: ignore[return-value]

    register_backward_hook = register_full_backward_hook
    _forward_pre_hooks, _forward_hooks = HookTable("before_forward"), HookTable("after_forward")  # torch's names
    _backward_pre_hooks, _backward_hooks = HookTable("before_backward"), HookTable("after_backward")
    _state_dict_pre_hooks = HookTable("before_saving", "_own_state_hooks")
    _state_dict_hooks = HookTable("after_saving", "_own_state_hooks")
    _load_state_dict_post_hooks = HookTable("after_loading", "_own_state_hooks")

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        part = isinstance(value, Module) and value.__dict__ is not self.__dict__  # a module is no part of itself, compiled
        kind = PARAMETER if isinstance(value, Parameter) else MODULE if part else None
        if kind is None and isinstance(value, Buffer):
            kind = BUFFER if vars(value)["persistent"] else TRANSIENT
        if kind == PARAMETER:
            self._set_parameter(name, value)
        elif kind:
            self._keep(name, value, kind)
        elif name in self._kinds_:
            self._replace_own(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_parameter(self, name: str, value: Any) -> None:
        """Let a Parameter be the attribute ``name``; where a program has a ``register_parameter`` of its own, by that."""
        if type(self).register_parameter is not REGISTRATION:
            if self._kinds_.get(name) != PARAMETER:  # what had the name before makes room
                self.__dict__.pop(name, None)
                self._kinds_.pop(name, None)
            self.register_parameter(name, value)
            return
        if isinstance(getattr(type(self), name, None), property):
            self._require_name(name, PARAMETER)
        self._keep(name, value, PARAMETER)

    def _keep(self, name: str, value: Any, kind: str) -> None:
        """Let ``value`` be registered as ``name``, in ``__dict__`` also where the class has a property of that name."""
        self.__dict__[name] = registered(self, name, value, kind) if when_registered[kind] else value
        self._kinds_[name] = kind

    def _replace_own(self, name: str, value: Any) -> None:
        """Let ``value``, or None, be the attribute ``name``, which is registered and stays of its kind."""
        kind = self._kinds_[name]
        check_kind(f"{type(self).__name__}.{name}", kind, value)
        self._keep(name, value, kind)

    if not TYPE_CHECKING:  # a checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Called for names that are not there; by subclasses that look elsewhere then, and by programs for registered ones."""
            if name in vars(self).get("_kinds_", ()):
                return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy or a pickle. Here, so that no ``__getattr__`` is asked for it, and for ``super()``."""
        self.__dict__.update(state)

    def __delattr__(self, name: str) -> None:
        if self._kinds_.pop(name, None):
            del self.__dict__[name]
        else:
            object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make ``param`` the attribute ``name``; None declares a parameter that the module does without.

        Raises:
            ArgumentError: not a Parameter. NamingError: ``name`` is taken or is no name; a KeyError too.
        """
        self._register(name, param, PARAMETER)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make ``tensor`` the attribute ``name``: state that is no parameter, converted by ``to`` and, if
        ``persistent``, saved by ``state_dict``.

        Raises:
            ArgumentError: not a tensor. NamingError: ``name`` is taken or is no name; a KeyError too.
        """
        self._register(name, tensor, BUFFER if persistent else TRANSIENT)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make ``module`` the attribute ``name``.

        Raises:
            ArgumentError: not a Module. NamingError: ``name`` is taken or is no name; a KeyError too.
        """
        self._register(name, module, MODULE)

    register_module = add_module

    def _register(self, name: str, value: Any, kind: str) -> None:
        self._require_name(name, kind)
        check_kind(f"{type(self).__name__}.{name}", kind, value)
        self._keep(name, value, kind)

    def _require_name(self, name: Any, kind: str) -> None:
        """Refuse what cannot be the name of an attribute of ``kind``, or is that of something else.

        Raises:
            ArgumentError: no str. NamingError: ``name`` is taken or is no name.
        """
        owner = type(self).__name__
        if not isinstance(name, str):
            raise ArgumentError(f"{owner}: expected the name of a {kind} as a str, got {type(name).__name__}.")
        if not name or "." in name:
            raise NamingError(f"{owner}: {name!r} cannot name a {kind}: it is empty or contains a dot.")
        present = self._kinds_.get(name)
        if hasattr(self, name) and present != kind and not (kind in BUFFERS and present in BUFFERS):
            raise NamingError(
                f"{owner}: the attribute {name!r} exists and is {'a ' + present if present else f'no {kind}'}. "
                f"Hint: choose another name, or delete the attribute before registering a {kind}."
            )

    # Traversal

    def _own(self, *kinds: str) -> list[tuple[str, Any]]:
        """Names and values of the module's own attributes of ``kinds``, without those that are None."""
        values = self.__dict__
        return [(name, values[name]) for name, kind in values["_kinds_"].items() if kind in kinds and values[name] is not None]

    def _registered_values_(self) -> list[Any]:
        """What is registered, of all kinds: ``func/captures.py`` asks for it."""
        values = self.__dict__
        return [values[name] for name in values["_kinds_"]]

    _parameters, _buffers, _modules = MemberTable(PARAMETER), MemberTable(*BUFFERS), MemberTable(MODULE)  # torch's names

    @property
    def _non_persistent_buffers_set(self) -> set[str]:
        return {name for name, kind in self._kinds_.items() if kind == TRANSIENT}

    def _get_name(self) -> str:
        return type(self).__name__

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself and all below it, with dotted names; a shared module once unless told otherwise.

        Args:
            memo: modules that are passed over; those that were given out are added.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        values, within = self.__dict__, f"{prefix}." if prefix else ""
        for name, kind in tuple(values["_kinds_"].items()):  # as ``_own``, whose list takes as long as all of the rest
            if kind == MODULE and (module := values[name]) is not None:
                yield from module.named_modules(memo, within + name, remove_duplicate)

    def _named(self, prefix: str, recurse: bool, remove_duplicate: bool, *kinds: str) -> Iterator[tuple[str, Any]]:
        return self._named_members(lambda module: module._own(*kinds), prefix, recurse, remove_duplicate)

    def _named_members(
        self, get_members_fn: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """What ``get_members_fn(module)`` gives, pairs of names and objects, of each module, with dotted names; no None."""
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        seen: set[int] = set()
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names; a shared parameter once, under its first name, unless told otherwise."""
        return self._named(prefix, recurse, remove_duplicate, PARAMETER)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names."""
        return self._named(prefix, recurse, remove_duplicate, *BUFFERS)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below, with their names."""
        return first_seen(self._own(MODULE), True)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def children(self) -> Iterator[Module]:
        """The modules directly below, each once."""
        return (module for _, module in self.named_children())

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all below it, each once unless told otherwise."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def get_submodule(self, target: str) -> Module:
        """The module below with the dotted name ``target``; the module itself for "".

        Raises:
            MemberError: there is none; an AttributeError too.

        >>> from nbgrad import nn
        >>> nn.Sequential(nn.Sequential(nn.Tanh())).get_submodule("0.0")
        Tanh()
        """
        module = self
        for name in target.split(".") if target else []:
            module = module._member(name, target, MODULE)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` in the place of the module below with the dotted name ``target``, which need not be there.

        Args:
            strict: it must be there.

        Raises:
            RangeError: an empty name. MemberError: the module that it is to be a part of is not there, or itself if ``strict``.

        >>> from nbgrad import nn
        >>> model = nn.Sequential(nn.Sequential(nn.Tanh()))
        >>> model.set_submodule("0.0", nn.ReLU())
        >>> model[0][0]
        ReLU()
        """
        if not target:
            raise RangeError("set_submodule: target is empty, expected the dotted name of a module below.")
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if strict:
            owner._member(name, target, MODULE)
        check_kind(f"{type(owner).__name__}.{name}", MODULE, module)
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name ``target``.

        Raises:
            MemberError: there is none; an AttributeError too.

        >>> import nbgrad
        >>> nbgrad.nn.Sequential(nbgrad.nn.Linear(2, 3)).get_parameter("0.weight").shape
        nbgrad.Size([3, 2])
        """
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member(name, target, PARAMETER)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name ``target``.

        Raises:
            MemberError: there is none; an AttributeError too.
        """
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member(name, target, *BUFFERS)

    def _member(self, name: str, target: str, *kinds: str) -> Any:
        value = self.__dict__.get(name) if self._kinds_.get(name) in kinds else None
        if value is None:
            there = ", ".join(name for name, _ in self._own(*kinds)) or "none"
            raise MemberError(f"{type(self).__name__}: {name!r} of {target!r} is no {kinds[0]} here. There are: {there}.")
        return value

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Call ``fn`` on every module, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Modes

    def train(self, mode: bool = True) -> Any:
        """Set ``training`` here and below; returns self.

        Raises:
            RangeError: ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise RangeError(f"train: expected a bool, got {type(mode).__name__}.")
        self.training = mode
        for module in self.children():
            module.train(mode)  # which a class may define otherwise, to keep what is frozen as it is
        return self

    def eval(self) -> Any:
        """``train(False)``: dropout is off."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad`` of every parameter; returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with ``set_to_none=False``, detach them and fill them with zeros."""
        zero_grads(self.parameters(), set_to_none)

    # Printing

    def extra_repr(self) -> str:
        """The part of ``repr`` on the module itself; subclasses override it."""
        return ""

    def _repr_children(self) -> Iterator[str]:
        """A text for every child; None where a module may be."""
        return (f"({name}): {module!r}" for name, module in self._modules.items())

    def __repr__(self) -> str:
        extra, children = self.extra_repr(), list(self._repr_children())
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = "\n".join([*filter(None, [extra]), *children]).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {lines}\n)"


def runs(texts: list[str]) -> Iterator[str]:
    """Children's texts by position, a run of equal ones as one line: ``(0-2): 3 x ReLU()``."""
    start = 0
    for text, group in groupby(texts):
        count = len(list(group))
        yield f"({start}-{start + count - 1}): {count} x {text}" if count > 1 else f"({start}): {text}"
        start += count


REGISTRATION = Module.register_parameter


def check_kind(target: str, kind: str, value: Any) -> None:
    """Refuse a value that an attribute registered as ``kind`` cannot take; None is always permitted.

    Raises:
        ArgumentError: the value's type does not belong to the kind.
    """
    expected = {PARAMETER: Parameter, MODULE: Module}.get(kind, Tensor)
    if value is not None and not isinstance(value, expected):
        raise ArgumentError(
            f"{target}: it is a {kind}, so expected a {expected.__name__} or None, got "
            f"{type(value).__name__}. Hint: delete the attribute before using its name otherwise."
        )


def unusual(module: Module, **usual: Any) -> list[str]:
    """``name=value`` of the settings that the module has and that are not the usual ones, for ``extra_repr``."""
    found = {name: getattr(module, name, value) for name, value in usual.items()}
    return [f"{name}={value}" for name, value in found.items() if value != usual[name]]
