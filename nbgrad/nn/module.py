"""Module: a function with parameters, made of other modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from itertools import groupby
from typing import Any, NamedTuple, Self

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, NamingError, ShapeError
from ..graph.edges import RemovableHandle
from ..tensors.memory_format import DIMENSIONS
from .buffers import Buffer
from .hooks import ForwardHook, ModuleHooks
from .utils import zero_grads

__all__ = ["IncompatibleKeys", "Module"]

# The kinds of registered attribute. A transient buffer moves with the module but is not in its state_dict.
PARAMETER, BUFFER, TRANSIENT, MODULE = "parameter", "buffer", "transient buffer", "module"
BUFFERS = (BUFFER, TRANSIENT)


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found on one side only; both lists are empty after a strict load."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Module:
    """A function with parameters. Subclass it, assign parameters and modules as attributes, and define ``forward``.

    NOTE [Registration]: the value of a registered attribute lives in the instance's ``__dict__`` like any other, and
    only its kind is kept aside, in ``_kinds_``. So reading ``self.weight`` in ``forward`` is a plain attribute load, and
    there is no second table of values to keep in step. ``_kinds_`` is made by ``__new__``: a subclass that forgets
    ``super().__init__()`` works.

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
    _hooks_: ModuleHooks | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__["_kinds_"] = {}
        return self

    def __init__(self) -> None:
        pass

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the module, which a subclass defines."""
        raise NotImplementedError(f"{type(self).__name__}: forward is not defined. Hint: define it in the subclass.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks_ is not None:
            return self._hooks_.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

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
        if self._hooks_ is None:
            self.__dict__["_hooks_"] = ModuleHooks()
        return self._hooks_  # type: ignore[return-value]

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        part = isinstance(value, Module) and value.__dict__ is not self.__dict__  # a module is no part of itself, compiled
        kind = PARAMETER if isinstance(value, Parameter) else MODULE if part else None
        if kind is None and isinstance(value, Buffer):
            kind = BUFFER if vars(value)["persistent"] else TRANSIENT
        if kind:
            self._kinds_[name] = kind
        elif name in self._kinds_:
            _check_kind(f"{type(self).__name__}.{name}", self._kinds_[name], value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._kinds_.pop(name, None)

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        """Make ``parameter`` the attribute ``name``; None declares a parameter that the module does without.

        Raises:
            ArgumentError: not a Parameter. NamingError: ``name`` is taken or is no name; a KeyError too.
        """
        self._register(name, parameter, PARAMETER)

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
        _check_kind(f"{owner}.{name}", kind, value)
        self._kinds_[name] = kind
        object.__setattr__(self, name, value)

    # Traversal

    def _own(self, *kinds: str) -> list[tuple[str, Any]]:
        """Names and values of the module's own attributes of ``kinds``, without those that are None."""
        values = self.__dict__
        return [(name, values[name]) for name, kind in self._kinds_.items() if kind in kinds and values[name] is not None]

    @property
    def _parameters(self) -> Members:  # torch's names
        return Members(self, PARAMETER)

    @property
    def _buffers(self) -> Members:
        return Members(self, *BUFFERS)

    @property
    def _modules(self) -> Members:
        return Members(self, MODULE)

    def _get_name(self) -> str:
        return type(self).__name__

    def named_modules(self, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module itself and all below it, with dotted names; a shared module once unless told otherwise."""
        return _first_seen(self._walk(prefix), remove_duplicate)

    def _walk(self, prefix: str) -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, module in self._own(MODULE):
            yield from module._walk(_join(prefix, name))

    def _named(self, prefix: str, recurse: bool, remove_duplicate: bool, *kinds: str) -> Iterator[tuple[str, Any]]:
        modules = self.named_modules(prefix) if recurse else [(prefix, self)]
        members = ((_join(path, name), value) for path, module in modules for name, value in module._own(*kinds))
        return _first_seen(members, remove_duplicate)

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
        return _first_seen(self._own(MODULE), True)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter once: what an optimizer takes."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def children(self) -> Iterator[Module]:
        """The modules directly below, each once."""
        return (module for _, module in self.named_children())

    def modules(self) -> Iterator[Module]:
        """The module itself and all below it, each once."""
        return (module for _, module in self.named_modules())

    def get_submodule(self, target: str) -> Module:
        """The module below with the dotted name ``target``; the module itself for "".

        Raises:
            AttributeError: there is none.

        >>> from nbgrad import nn
        >>> nn.Sequential(nn.Sequential(nn.Tanh())).get_submodule("0.0")
        Tanh()
        """
        module = self
        for name in target.split(".") if target else []:
            module = module._member(name, target, MODULE)
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name ``target``.

        Raises:
            AttributeError: there is none.

        >>> import nbgrad
        >>> nbgrad.nn.Sequential(nbgrad.nn.Linear(2, 3)).get_parameter("0.weight").shape
        nbgrad.Size([3, 2])
        """
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member(name, target, PARAMETER)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name ``target``.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._member(name, target, *BUFFERS)

    def _member(self, name: str, target: str, *kinds: str) -> Any:
        value = self.__dict__.get(name) if self._kinds_.get(name) in kinds else None
        if value is None:
            there = ", ".join(name for name, _ in self._own(*kinds)) or "none"
            raise AttributeError(f"{type(self).__name__}: {name!r} of {target!r} is no {kinds[0]} here. There are: {there}.")
        return value

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Call ``fn`` on every module, children first; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # State

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Parameters and persistent buffers by dotted name.

        Args:
            destination: a dictionary to put them into, and to return.
            prefix: stands before every name as it is: "net." with its dot.

        Returns:
            Detached tensors that share memory with the module's; the tensors themselves if ``keep_vars``.
        """
        state = {} if destination is None else destination
        state.update({prefix + name: tensor if keep_vars else tensor.detach() for name, tensor in self._named_state()})
        return state

    def _named_state(self) -> Iterator[tuple[str, Tensor]]:
        """Module by module, parameters before buffers; every name of a shared tensor."""
        for path, module in self._walk(""):
            for kind in (PARAMETER, BUFFER):
                for name, tensor in module._own(kind):
                    yield _join(path, name), tensor

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy ``state_dict`` into the parameters and persistent buffers, in place. An error leaves all as it was.

        Args:
            state_dict: by dotted name, tensors or NumPy arrays of the same shapes; dtypes are converted.
            strict: refuse missing and unexpected names. Shapes must fit in either case.
            assign: let the tensors of ``state_dict`` take the place of the module's, with dtypes of their own, rather than be
                copied. What they replace is no longer trained: make optimizers afterwards.

        Returns:
            The names that are missing from ``state_dict``, and those that this module does not have.

        Raises:
            ShapeError: a name or a shape does not fit; the message lists all that do not.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(f"load_state_dict: expected a mapping, got {type(state_dict).__name__}.")
        own = dict(self._named_state())
        given = {name: nbgrad.asarray(state_dict[name]) for name in own if name in state_dict}
        keys = IncompatibleKeys([name for name in own if name not in given], [name for name in state_dict if name not in own])
        problems = list(_misfits(own, given))
        if strict:
            problems = [
                *(f"missing: {name} {tuple(own[name].shape)}" for name in keys.missing_keys),
                *(f"unexpected: {name}" for name in keys.unexpected_keys),
                *problems,
            ]
        if problems:
            raise ShapeError(
                f"load_state_dict: the state does not fit {type(self).__name__}:\n    "
                + "\n    ".join(problems)
                + "\nHint: strict=False permits missing and unexpected names, never another shape."
            )
        with nbgrad.no_grad():
            for name, value in given.items():
                if assign:
                    self._assign(name, own[name], value)
                else:
                    own[name].copy_(value)
        return keys

    def _assign(self, name: str, old: Tensor, new: Tensor) -> None:
        """Put ``new`` in the place of ``old``, the attribute with the dotted name ``name``."""
        if isinstance(old, Parameter):
            new = new if isinstance(new, Parameter) else Parameter(new)
            new.requires_grad_(old.requires_grad)
        path, _, own_name = name.rpartition(".")
        setattr(self.get_submodule(path), own_name, new)

    def to(
        self, *targets: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Any:
        """Convert parameters, their gradients and buffers, in place: the Parameter objects stay the same.

        Args:
            targets: a dtype, a device, both, or a tensor that has them.
            non_blocking: accepted.
            dtype: a floating or complex dtype; what is integer or boolean keeps its own.
            device: where the tensors shall be.
            memory_format: in which parameters and buffers of four dimensions, or five for ``channels_last_3d``, shall lie.

        Returns:
            self.

        Raises:
            ArgumentError: ``dtype`` is neither floating nor complex.
        """
        for target in targets:
            if isinstance(target, type(nbgrad.float32)):
                dtype = target
            elif isinstance(target, Tensor):
                dtype, device = target.dtype, target.device
            elif target is not None and not isinstance(target, bool):
                device = target
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise ArgumentError(f"to: expected a floating or complex dtype, got {dtype}.")
        return self._convert(lambda tensor: _converted(tensor, dtype, device, memory_format))

    def float(self) -> Any:
        """``to(float32)``."""
        return self.to(nbgrad.float32)

    def double(self) -> Any:
        """``to(float64)``."""
        return self.to(nbgrad.float64)

    def half(self) -> Any:
        """``to(float16)``."""
        return self.to(nbgrad.float16)

    def bfloat16(self) -> Any:
        """``to(bfloat16)``."""
        return self.to(nbgrad.bfloat16)

    def type(self, dst_type: Any) -> Any:
        """``to(dst_type)``, a dtype."""
        return self.to(dtype=dst_type)

    def cpu(self) -> Any:
        """``to("cpu")``."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None) -> Any:
        """``to("cuda")``, or to the GPU with that number."""
        return self.to(device="cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def _convert(self, fn: Callable[[Tensor], Tensor]) -> Any:
        for parameter in self.parameters():
            data, grad = fn(parameter.data), parameter.grad
            grad = None if grad is None else fn(grad.detach())
            # The gradient must fit its parameter at every moment, so there is none in between.
            parameter.grad = None
            parameter.data, parameter.grad = data, grad
        for module in self.modules():
            for name, buffer in module._own(*BUFFERS):
                module.__dict__[name] = fn(buffer)
        return self

    # Modes

    def train(self, mode: bool = True) -> Any:
        """Set ``training`` here and below; returns self.

        Raises:
            ArgumentError: ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ArgumentError(f"train: expected a bool, got {type(mode).__name__}.")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Any:
        """``train(False)``: dropout is off."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set ``requires_grad`` of every parameter; returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def share_memory(self) -> Any:
        """Move parameters and buffers to memory that other processes can see (``Tensor.share_memory_``); returns self."""
        for x in (*self.parameters(), *self.buffers()):
            x.share_memory_()
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with ``set_to_none=False``, detach them and fill them with zeros."""
        zero_grads(self.parameters(), set_to_none)

    # Printing

    def extra_repr(self) -> str:
        """The part of ``repr`` on the module itself; subclasses override it."""
        return ""

    def _repr_children(self) -> Iterator[str]:
        """A text for every child."""
        return (f"({name}): {module!r}" for name, module in self._own(MODULE))

    def __repr__(self) -> str:
        extra, children = self.extra_repr(), list(self._repr_children())
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = "\n".join([*filter(None, [extra]), *children]).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {lines}\n)"


def runs(texts: list[str]) -> Iterator[str]:
    """Children's texts by position, a run of equal ones as one line: ``(0-2): 3 x ReLU()``."""
    start = 0
    for text, group in groupby(texts):
        count = len(list(group))
        yield f"({start}-{start + count - 1}): {count} x {text}" if count > 1 else f"({start}): {text}"
        start += count


class Members(MutableMapping):
    """The attributes of a module that are of some kinds, by name, also those that are None; writing to it writes to the module."""

    def __init__(self, owner: Module, *kinds: str) -> None:
        self.owner, self.kinds = owner, kinds

    def __getitem__(self, name: str) -> Any:
        if self.owner._kinds_.get(name) not in self.kinds:
            raise KeyError(name)
        return self.owner.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        present = self.owner._kinds_.get(name)
        if present in self.kinds:
            _check_kind(f"{type(self.owner).__name__}.{name}", present, value)
            object.__setattr__(self.owner, name, value)
        else:
            self.owner._register(name, value, self.kinds[0])

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self.owner, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, kind in self.owner._kinds_.items() if kind in self.kinds])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def _check_kind(target: str, kind: str, value: Any) -> None:
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


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _first_seen(members: Any, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
    """``(name, object)`` pairs, without those whose object came before."""
    seen: set[int] = set()
    for name, member in members:
        if not (remove_duplicate and id(member) in seen):
            seen.add(id(member))
            yield name, member


def _misfits(own: dict[str, Tensor], given: dict[str, Tensor]) -> Iterator[str]:
    """One line for every name whose shapes differ."""
    for name, value in given.items():
        if value.shape != own[name].shape:
            yield f"shape: {name} is {tuple(own[name].shape)} here and {tuple(value.shape)} in the state"


def _converted(tensor: Tensor, dtype: Any, device: Any, memory_format: Any = None) -> Tensor:
    """``tensor`` with another device and, if it holds floating or complex numbers, another dtype; in a memory format, if it can."""
    options = {} if device is None else {"device": device}
    if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
        options["dtype"] = dtype
    if memory_format is not None and tensor.ndim == DIMENSIONS.get(memory_format, tensor.ndim):
        options["memory_format"] = memory_format
    return tensor.to(**options) if options else tensor
