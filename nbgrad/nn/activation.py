"""Activation functions as modules, for use in ``Sequential``: the functions of ``functional`` with their settings."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter as Argument, Signature, signature
from operator import attrgetter
from typing import Any, ClassVar

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, SettingError, ShapeError
from . import functional as F
from .module import Module

__all__ = [
    "Activation",
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "RReLU",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def nothing(module: Module) -> tuple[()]:
    """The values of no settings."""
    return ()


class Activation(Module):
    """A function of one tensor. What the function takes behind the tensor are the module's settings, by position or by name.

    A subclass says which function; names, order and defaults of the settings are the function's.

    Raises:
        ArgumentError: other settings than the function has.

    >>> import nbgrad
    >>> class Cube(nbgrad.nn.activation.Activation):
    ...     function = staticmethod(lambda input, scale=1.0: scale * input ** 3)
    >>> Cube(2.0), Cube(scale=2.0)(nbgrad.tensor([1.0, 2.0]))
    (Cube(scale=2.0), tensor([ 2., 16.]))
    """

    function: ClassVar[Callable[..., Tensor]]
    settings: ClassVar[tuple[str, ...]] = ()
    values: ClassVar[Callable[[Any], Any]] = nothing
    __signature__: ClassVar[Signature]
    inplace: bool

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "function" not in vars(cls):
            return
        behind = list(signature(cls.function).parameters.values())[1:]
        given = [p for p in behind if not p.name.startswith("_") and p.name != "dtype"]
        cls.settings = tuple(p.name for p in given)
        cls.__signature__ = Signature([p.replace(kind=Argument.POSITIONAL_OR_KEYWORD) for p in given])
        if cls.settings:
            cls.values = attrgetter(*cls.settings)
            cls.forward = with_one_setting if len(cls.settings) == 1 else with_settings  # type: ignore[method-assign]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__()
        try:
            bound = self.__signature__.bind(*args, **named)
        except TypeError as error:
            name = type(self).__name__
            raise ArgumentError(f"{name}: {error}; expected {name}{self.__signature__}.") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        """Shape and dtype of ``input``, unless the function says otherwise."""
        return type(self).function(input)

    def extra_repr(self) -> str:
        """The settings; ``inplace`` where it is on."""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.settings if name != "inplace" or self.inplace)


def with_one_setting(self: Activation, input: Tensor) -> Tensor:
    """``forward`` of a function with one setting."""
    return type(self).function(input, type(self).values(self))


def with_settings(self: Activation, input: Tensor) -> Tensor:
    """``forward`` of a function with several settings."""
    return type(self).function(input, *type(self).values(self))


class ReLU(Activation):
    """``max(input, 0)``; at 0 the derivative is 0.

    >>> import nbgrad
    >>> nbgrad.nn.ReLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    function = staticmethod(F.relu)


class LeakyReLU(Activation):
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.LeakyReLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.0100,  0.0000,  2.0000])
    """

    function = staticmethod(F.leaky_relu)


class RReLU(Module):
    """``input`` where positive, a random slope times it elsewhere; after ``eval()`` the mean slope: see ``functional.rrelu``.

    Args:
        lower, upper: of the slopes.
        inplace: overwrite ``input``.

    >>> import nbgrad
    >>> nbgrad.nn.RReLU(0.25, 0.75).eval()(nbgrad.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """``input`` where positive, a learnt weight times it elsewhere.

    Args:
        num_parameters: 1, or the number of channels, which are the second dimension.
        init: of the weights.
        dtype: of the weights; the default dtype unless given.

    Attributes:
        weight: shape ``(num_parameters,)``.

    >>> import nbgrad
    >>> nbgrad.nn.PReLU()(nbgrad.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(nbgrad.full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the weights to what they were at first."""
        with nbgrad.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many weights there are."""
        return f"num_parameters={self.num_parameters}"


class ELU(Activation):
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.ELU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    function = staticmethod(F.elu)


def by_position(self: Activation) -> str:
    """The settings without their names, as torch prints some modules."""
    return ", ".join(str(getattr(self, name)) for name in self.settings)


class CELU(Activation):
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.CELU()(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.6321,  0.5000,  2.0000])
    """

    function = staticmethod(F.celu)


class SELU(Activation):
    """``ELU`` scaled so that mean 0 and variance 1 are a fixed point.

    Source: Klambauer, Unterthiner, Mayr, Hochreiter, "Self-Normalizing Neural Networks", 2017.

    >>> import nbgrad
    >>> nbgrad.nn.SELU()(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([-1.1113,  0.5254,  2.1014])
    """

    function = staticmethod(F.selu)


class GELU(Activation):
    """``input`` times the normal distribution function at ``input``.

    Args:
        approximate: "none" for the error function, "tanh" for the approximation by a hyperbolic tangent.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.

    >>> import nbgrad
    >>> nbgrad.nn.GELU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """

    function = staticmethod(F.gelu)


class SiLU(Activation):
    """``input * sigmoid(input)``.

    >>> import nbgrad
    >>> nbgrad.nn.SiLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    function = staticmethod(F.silu)


class Mish(Activation):
    """``input * tanh(log(1 + exp(input)))``.

    >>> import nbgrad
    >>> nbgrad.nn.Mish()(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.3034,  0.3752,  1.9440])
    """

    function = staticmethod(F.mish)


class Sigmoid(Activation):
    """``1 / (1 + exp(-input))``.

    >>> import nbgrad
    >>> nbgrad.nn.Sigmoid()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """

    function = staticmethod(F.sigmoid)


class LogSigmoid(Activation):
    """``log(sigmoid(input))``, without overflow.

    >>> import nbgrad
    >>> nbgrad.nn.LogSigmoid()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """

    function = staticmethod(F.logsigmoid)


class Hardsigmoid(Activation):
    """``input / 6 + 1 / 2``, moved into [0, 1].

    >>> import nbgrad
    >>> nbgrad.nn.Hardsigmoid()(nbgrad.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    function = staticmethod(F.hardsigmoid)


class Hardswish(Activation):
    """``input`` times its ``Hardsigmoid``.

    >>> import nbgrad
    >>> nbgrad.nn.Hardswish()(nbgrad.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.0000, 1.1250])
    """

    function = staticmethod(F.hardswish)


class Tanh(Activation):
    """Hyperbolic tangent.

    >>> import nbgrad
    >>> nbgrad.nn.Tanh()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """

    function = staticmethod(F.tanh)


class Tanhshrink(Activation):
    """``input - tanh(input)``.

    >>> import nbgrad
    >>> nbgrad.nn.Tanhshrink()(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.2384,  0.0379,  1.0360])
    """

    function = staticmethod(F.tanhshrink)


class Hardtanh(Activation):
    """``input`` moved into [min_val, max_val].

    Raises:
        SettingError: ``max_val`` is not more than ``min_val``.

    >>> import nbgrad
    >>> nbgrad.nn.Hardtanh(-2.0, 2.0)(nbgrad.tensor([-3.0, 0.5])).tolist()
    [-2.0, 0.5]
    """

    function: ClassVar[Callable[..., Tensor]] = staticmethod(F.hardtanh)
    min_val: float
    max_val: float

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if self.max_val <= self.min_val:
            raise SettingError(f"Hardtanh: max_val is {self.max_val}, expected more than min_val, {self.min_val}.")


class ReLU6(Hardtanh):
    """``input`` moved into [0, 6].

    >>> import nbgrad
    >>> nbgrad.nn.ReLU6()(nbgrad.tensor([-1.0, 3.0, 7.0]))
    tensor([0., 3., 6.])
    """

    function = staticmethod(F.relu6)
    min_val, max_val = 0.0, 6.0


class Threshold(Activation):
    """``input`` where it is above ``threshold``, ``value`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.Threshold(0.5, 20.0)(nbgrad.tensor([0.0, 1.0])).tolist()
    [20.0, 1.0]
    """

    function = staticmethod(F.threshold)


class Hardshrink(Activation):
    """``input`` where its magnitude is above ``lambd``, 0 elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.Hardshrink()(nbgrad.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])
    """

    function = staticmethod(F.hardshrink)
    extra_repr = by_position


class Softshrink(Activation):
    """``input`` moved towards 0 by ``lambd``, as far as 0.

    >>> import nbgrad
    >>> nbgrad.nn.Softshrink()(nbgrad.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    function = staticmethod(F.softshrink)
    extra_repr = by_position


class Softsign(Activation):
    """``input / (1 + |input|)``.

    >>> import nbgrad
    >>> nbgrad.nn.Softsign()(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([-0.5000,  0.3333,  0.6667])
    """

    function = staticmethod(F.softsign)


class Softplus(Activation):
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input > threshold``.

    >>> import nbgrad
    >>> nbgrad.nn.Softplus()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """

    function = staticmethod(F.softplus)


class GLU(Activation):
    """The first half of ``input`` along ``dim`` times the sigmoid of the second: half the size along ``dim``.

    >>> import nbgrad
    >>> nbgrad.nn.GLU()(nbgrad.tensor([[1.0, 2.0, 0.0, 100.0]]))
    tensor([[0.5000, 2.0000]])
    """

    function = staticmethod(F.glu)


class Softmax(Activation):
    """``exp(input)`` divided by its sum over ``dim``.

    >>> import nbgrad
    >>> nbgrad.nn.Softmax(dim=0)(nbgrad.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    function = staticmethod(F.softmax)


class Softmin(Activation):
    """``Softmax`` of ``-input``.

    >>> import nbgrad
    >>> nbgrad.nn.Softmin(dim=0)(nbgrad.tensor([-1.0, 0.5, 2.0]))
    tensor([0.7856, 0.1753, 0.0391])
    """

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """``Softmax`` over the channels of ``(batch, channels, height, width)``, or ``(channels, height, width)``.

    Raises:
        ShapeError: another number of dimensions.

    >>> import nbgrad
    >>> Softmax2d()(nbgrad.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Of the shape of ``input``."""
        if input.ndim not in (3, 4):
            raise ShapeError(f"Softmax2d: input is {list(input.shape)}, expected three or four dimensions.")
        return F.softmax(input, -3)


class LogSoftmax(Activation):
    """``log(softmax(input))`` over ``dim``, without overflow.

    >>> import nbgrad
    >>> nbgrad.nn.LogSoftmax(dim=0)(nbgrad.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    function = staticmethod(F.log_softmax)
