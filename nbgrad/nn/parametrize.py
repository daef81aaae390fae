"""Parametrizations: parameters of a module that are computed from others, whenever they are read.

NOTE [Parametrized]: the module gets another class, a subclass of the one that it had, in which the names of what is computed are
properties. Such a class is never changed, since copies of the module have it, too: other names are another class. What they are
computed from is kept by a ``ParametrizationList`` in ``module.parametrizations``, under torch's keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, DTypeError, RangeError, ShapeError
from .container import ModuleDict, ModuleList
from .module import Module

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

# What is kept while ``cached()`` is open: ``{(module, name): value}``; and how many of these are.
_kept: dict[tuple[int, str], Any] = {}
_open = [0]


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrized tensor is computed when it is first read, and only then.

    >>> import nbgrad
    >>> layer = register_parametrization(nbgrad.nn.Linear(2, 2), "weight", nbgrad.nn.Tanh())
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    _open[0] += 1
    try:
        yield
    finally:
        _open[0] -= 1
        if not _open[0]:
            _kept.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other to ``original``, or to ``original0``, ``original1``, ...

    Args:
        modules: the parametrizations.
        original: the tensor that they begin with: what their ``right_inverse`` makes of it, where they have one, is kept.
        unsafe: whether shape and dtype may change.

    Raises:
        ArgumentError: no parametrizations; one that gives no tensor. ShapeError, DTypeError: another shape or dtype.

    >>> import nbgrad
    >>> made = ParametrizationList([nbgrad.nn.Tanh()], nbgrad.nn.Parameter(nbgrad.zeros(2)))
    >>> made(), list(made.state_dict())
    (tensor([0., 0.], grad_fn=<TanhBackward0>), ['original'])
    """

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ArgumentError("ParametrizationList: expected parametrizations, got none.")
        super().__init__(modules)
        self.unsafe = unsafe
        value: Any = original
        with nbgrad.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(value, Tensor)
        parts = [value] if self.is_tensor else list(value)
        self.ntensors = len(parts)
        for name, part in zip(self._names(), parts):
            if self.is_tensor:
                kept: Any = original  # the object itself, which an optimizer may hold
                if part is not original:
                    kept.data = part.detach()
            else:
                detached = part.detach()
                kept = Parameter(detached, original.requires_grad) if isinstance(original, Parameter) else detached
            if isinstance(kept, Parameter):
                self.register_parameter(name, kept)
            else:
                self.register_buffer(name, kept)
        if not unsafe:
            check_like(original, self)

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{k}" for k in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Write what ``forward`` makes ``value`` of into the tensors that are kept.

        Raises:
            ArgumentError: a parametrization has no ``right_inverse``.
        """
        with nbgrad.no_grad():
            made: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise ArgumentError(f"parametrize: {type(module).__name__} has no right_inverse, so nothing can be assigned.")
                made = module.right_inverse(made)
            for name, part in zip(self._names(), [made] if self.is_tensor else made):
                getattr(self, name).copy_(part)

    def forward(self) -> Tensor:
        """The tensor, computed now."""
        first, *rest = self
        value = first(*(getattr(self, name) for name in self._names()))
        for module in rest:
            value = module(value)
        return value


def check_like(original: Tensor, made: Any) -> None:
    """Refuse parametrizations that change what the tensor is."""
    value = made()
    if not isinstance(value, Tensor):
        raise ArgumentError(f"parametrize: a parametrization gave {type(value).__name__}, expected a Tensor.")
    shape = tuple(made.original.shape) if made.is_tensor else tuple(original.shape)
    if tuple(value.shape) != shape:
        raise ShapeError(f"parametrize: the shape would change from {list(shape)} to {list(value.shape)}. Hint: unsafe=True.")
    if value.dtype is not original.dtype:
        raise DTypeError(f"parametrize: the dtype would change from {original.dtype} to {value.dtype}. Hint: unsafe=True.")


def property_of(name: str) -> property:
    """The attribute of a parametrized module: computed, or what is kept meanwhile."""

    def get(self: Any) -> Tensor:
        made = self.parametrizations[name]
        if not _open[0]:
            return made()
        key = id(made), name
        if key not in _kept:
            _kept[key] = made()
        return _kept[key]

    return property(get, lambda self, value: self.parametrizations[name].right_inverse(value))


def assign(self: Any, name: str, value: Any) -> None:
    """``__setattr__`` of parametrized modules: a tensor that is computed is not registered."""
    if name in type(self)._computed_:
        object.__setattr__(self, name, value)
    else:
        type(self)._plain_.__setattr__(self, name, value)


def compute(module: Any, names: frozenset[str]) -> None:
    """Give a module the class in which these names, and no others, are computed: of none, the one that it had at first."""
    plain = type_before_parametrizations(module)
    members = {"_plain_": plain, "_computed_": names, "__setattr__": assign, **{name: property_of(name) for name in names}}
    module.__class__ = type(f"Parametrized{plain.__name__}", (plain,), members) if names else plain


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Have a parameter or buffer of ``module`` computed by ``parametrization`` whenever it is read.

    Args:
        parametrization: a module of one tensor, or of several if its ``right_inverse`` gives several. That is what an assignment
            to the tensor, and its value now, go through.
        unsafe: whether shape and dtype may change.

    Returns:
        ``module``, whose class is now a subclass of what it was.

    Raises:
        RangeError: no such parameter or buffer. ArgumentError: ``parametrization`` is no module.
        ShapeError, DTypeError: another shape or dtype, unless ``unsafe``.

    >>> import nbgrad
    >>> class Symmetric(nbgrad.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = register_parametrization(nbgrad.nn.Linear(3, 3), "weight", Symmetric())
    >>> layer.weight.equal(layer.weight.mT), list(layer.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    if not isinstance(parametrization, Module):
        raise ArgumentError(
            f"parametrize: the parametrization of {tensor_name!r} is {type(parametrization).__name__}, expected a Module. "
            "Hint: a subclass of nn.Module whose forward computes it."
        )
    if is_parametrized(module, tensor_name):
        there: Any = module.parametrizations[tensor_name]
        if not unsafe:
            with nbgrad.no_grad():
                before = getattr(module, tensor_name)
                after = parametrization(before)
            if not isinstance(after, Tensor) or after.shape != before.shape or after.dtype is not before.dtype:
                raise ShapeError("parametrize: the parametrization changes shape or dtype. Hint: unsafe=True.")
        if hasattr(parametrization, "right_inverse"):
            value = parametrization.right_inverse(getattr(module, tensor_name))
            parametrization.train(module.training)
            if isinstance(value, Tensor):
                there.right_inverse(value)
        there.append(parametrization)
        there.unsafe |= unsafe
        return module
    if module._kinds_.get(tensor_name) not in ("parameter", "buffer", "transient buffer"):
        raise RangeError(f"parametrize: {type(module).__name__} has no parameter or buffer {tensor_name!r}.")
    parametrization.train(module.training)
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    compute(module, frozenset([*module.parametrizations, tensor_name]))
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of ``module``, or any, is computed.

    >>> import nbgrad
    >>> is_parametrized(nbgrad.nn.Linear(2, 2))
    False
    """
    found = module.__dict__.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a computed tensor an ordinary one again.

    Args:
        leave_parametrized: whether it stays what is computed now, rather than the original.

    Raises:
        RangeError: the tensor is not computed. ArgumentError: of several others and not ``leave_parametrized``.

    >>> import nbgrad
    >>> layer = register_parametrization(nbgrad.nn.Linear(2, 2), "weight", nbgrad.nn.Tanh())
    >>> remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise RangeError(f"parametrize: {tensor_name!r} of {type(module).__name__} is not parametrized.")
    made: Any = module.parametrizations[tensor_name]
    if not made.is_tensor and not leave_parametrized:
        raise ArgumentError("parametrize: a tensor made of several has no original. Hint: leave_parametrized=True.")
    with nbgrad.no_grad():
        value = getattr(module, tensor_name).detach().clone() if leave_parametrized else None
    if made.is_tensor:
        kept = made.original
        if value is not None:
            kept.data = value
    else:
        kept = Parameter(value) if isinstance(made.original0, Parameter) else value
    compute(module, frozenset(module.parametrizations) - {tensor_name})
    del module.parametrizations[tensor_name]
    if isinstance(kept, Parameter):
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, kept)
    if not is_parametrized(module):
        del module.parametrizations
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without that which parametrizations gave it.

    >>> import nbgrad
    >>> layer = register_parametrization(nbgrad.nn.Linear(2, 2), "weight", nbgrad.nn.Tanh())
    >>> type_before_parametrizations(layer).__name__
    'Linear'
    """
    own: Any = type(module)
    return own._plain_ if is_parametrized(module) else own
