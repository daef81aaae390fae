"""Modules whose sizes follow from the first input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, ShapeError
from ..modes.overrides import note_overriding
from ..tensors.tensor import put_layout
from .instance_layers import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .layers import Linear
from .members import PARAMETER
from .module import Module
from .normal_layers import BatchNorm1d, BatchNorm2d, BatchNorm3d

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
    "UninitializedParameter",
]


# What is done to parameters before their shape is known: conversions, and what a state's copy asks.
WITHOUT_A_SHAPE = """bfloat16 copy_ cpu cuda detach double float half is_complex is_floating_point requires_grad_ share_memory_
to to_device to_dtype type""".split()


class UninitializedParameter(Parameter):
    """A parameter of which only dtype and device are known, until ``materialize`` says its shape.

    >>> weight = UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, tuple(weight.shape)
    ('Parameter', (2, 3))
    """

    __slots__ = ()
    _told_by_instances_ = True

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        note_overriding()
        return super().__new__(cls, nbgrad.empty((0,), device=device, dtype=dtype), requires_grad)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter of a shape, with undefined elements.

        Args:
            device, dtype: those that it was made with, unless given.
        """
        made = nbgrad.empty(tuple(shape), device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = Parameter  # type: ignore[assignment]  # the object stays, so that optimizers that hold it hold the parameter
        put_layout(self, self.layout.unmarked())  # nobody is asked about a parameter
        self.data = made

    @classmethod
    def __nbgrad_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Conversions, as of all of a module's parameters; what needs elements is refused."""
        if func.__name__ not in WITHOUT_A_SHAPE:
            raise ShapeError(
                f"{func.__name__}: an UninitializedParameter has no elements yet. Hint: call the module once, with an input."
            )
        return super().__nbgrad_function__(func, types, args, kwargs)  # type: ignore[misc]

    @property
    def shape(self) -> Any:  # of tensors an attribute
        """Not known yet.

        Raises:
            ShapeError: always.
        """
        raise ShapeError("UninitializedParameter: the shape is not known yet. Hint: call the module once, with an input.")

    def numel(self) -> Any:
        """Not known yet: raises ``ShapeError``."""
        return self.shape

    nelement = numel

    def size(self, dim: int | None = None) -> Any:
        """Not known yet: raises ``ShapeError``."""
        return self.shape

    def __repr__(self, **options: Any) -> str:
        return "<UninitializedParameter>"

    __str__ = __repr__


class LazyModuleMixin(Module):
    """What modules share whose sizes follow from the first input; a subclass says how, in ``initialize_parameters``.

    Attributes:
        cls_to_become: the class that a module has from the first call on.

    >>> import nbgrad
    >>> layer = LazyLinear(2)
    >>> layer(nbgrad.ones(5, 3)).shape, layer
    (nbgrad.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: Any = None

    def _wait(self, *names: str, device: Any = None, dtype: Any = None) -> None:
        """Make attributes parameters that wait for a shape, and the first call say it."""
        for name in names:
            self.register_parameter(name, UninitializedParameter(device=device, dtype=dtype))
        handle = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        self.__dict__["_initialize_hook"] = handle

    def _waiting(self) -> list[tuple[str, UninitializedParameter]]:
        """Names and parameters whose shape is still to be known."""
        return [(name, each) for name, each in self._own(PARAMETER) if isinstance(each, UninitializedParameter)]

    def _know(self: Any, **shapes: tuple[int, ...]) -> None:
        """Give the parameters that wait these shapes, and all their first values; none waits after a state was loaded."""
        if not self.has_uninitialized_params():
            return
        for name, shape in shapes.items():
            parameter = getattr(self, name)
            if isinstance(parameter, UninitializedParameter):
                parameter.materialize(shape)
        self.reset_parameters()

    def _prepare_for(self, state: Any, prefix: str, version: int | None) -> None:
        """Parameters that wait for a shape take that of the state."""
        super()._prepare_for(state, prefix, version)
        for name, parameter in self._waiting():
            if prefix + name in state:
                parameter.materialize(nbgrad.asarray(state[prefix + name]).shape)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Parameters that wait for a shape are in the state as they are."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, parameter in self._waiting():
            destination[prefix + name] = parameter

    def has_uninitialized_params(self) -> bool:
        """Whether the shape of a parameter is still to be known.

        >>> LazyLinear(2).has_uninitialized_params()
        True
        """
        return bool(self._waiting())

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give parameters their shapes and first values, by the arguments of the first call. A subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__}: initialize_parameters is not defined. Hint: define it in the subclass.")

    @staticmethod
    def _infer_parameters(module: Any, args: tuple, kwargs: dict | None = None) -> None:
        """What is called before the first ``forward``."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise ArgumentError(f"{type(module).__name__}: initialize_parameters left a parameter without a shape.")
        module.__dict__.pop("_initialize_hook").remove()
        if not any(vars(module._hooks_).values()):
            del module.__dict__["_hooks_"]  # calls go their short way
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` whose ``in_features`` is the last size of the first input.

    >>> import nbgrad
    >>> LazyLinear(2)(nbgrad.ones(5, 3)).shape
    nbgrad.Size([5, 2])
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self._wait("weight", *(["bias"] if bias else []), device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """By the last size of the input."""
        self.in_features = input.shape[-1]
        self._know(weight=(self.out_features, self.in_features), bias=(self.out_features,))


class _LazyNorm(LazyModuleMixin):
    """A norm of channels whose number is that of the first input's."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        made: Any = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, affine, track_running_stats, **made, bias=bias)  # type: ignore[call-arg]
        self._wait(*(["weight"] if affine else []), *(["bias"] if affine and bias else []), **made)

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, once they have shapes."""
        if not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """By the channels of the input."""
        module: Any = self
        if module.num_features:
            return
        self._have_channels(input.shape[0 if input.ndim < min(module.ranks) else 1])
        if self.has_uninitialized_params():
            self._know(weight=(module.num_features,), bias=(module.num_features,))
        else:
            module.reset_running_stats()

    def _have_channels(self, count: int) -> None:
        """Say how many channels there are, and have room for their statistics."""
        module: Any = self
        module.num_features = count
        for name in ("running_mean", "running_var"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name).new_zeros((count,)))

    def _prepare_for(self, state: Any, prefix: str, version: int | None) -> None:
        """The state says how many channels there are."""
        module: Any = self
        given = [nbgrad.asarray(state[prefix + name]) for name in ("weight", "running_mean") if prefix + name in state]
        if given and not module.num_features:
            self._have_channels(len(given[0]))
        super()._prepare_for(state, prefix, version)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """``BatchNorm1d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyBatchNorm1d()(nbgrad.ones(4, 3)).shape
    nbgrad.Size([4, 3])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """``BatchNorm2d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyBatchNorm2d()(nbgrad.ones(4, 3, 2, 2)).shape
    nbgrad.Size([4, 3, 2, 2])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """``BatchNorm3d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyBatchNorm3d()(nbgrad.ones(4, 3, 2, 2, 2)).shape
    nbgrad.Size([4, 3, 2, 2, 2])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """``InstanceNorm1d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyInstanceNorm1d()(nbgrad.ones(4, 3, 2)).shape
    nbgrad.Size([4, 3, 2])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """``InstanceNorm2d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyInstanceNorm2d()(nbgrad.ones(4, 3, 2, 2)).shape
    nbgrad.Size([4, 3, 2, 2])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """``InstanceNorm3d`` whose ``num_features`` is the number of channels of the first input.

    >>> import nbgrad
    >>> LazyInstanceNorm3d()(nbgrad.ones(4, 3, 2, 2, 2)).shape
    nbgrad.Size([4, 3, 2, 2, 2])
    """

    cls_to_become = InstanceNorm3d
