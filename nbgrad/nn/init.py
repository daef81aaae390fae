"""Initial values. Each function fills its tensor in place, records nothing, and returns the tensor.

Every random one takes ``generator``; without it the default generator is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, ShapeError
from ..base.function_attributes import attach
from ..base.user_stack import warn_user

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

# Of layers without an activation 1.
LAYERS = [f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)]
GAINS = {**dict.fromkeys(("linear", "identity", *LAYERS, "sigmoid"), 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def constant_(tensor: Tensor, val: float) -> Tensor:
    """``val`` everywhere.

    >>> import nbgrad
    >>> constant_(nbgrad.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with nbgrad.no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere.

    >>> import nbgrad
    >>> zeros_(nbgrad.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere.

    >>> import nbgrad
    >>> ones_(nbgrad.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform between ``a`` and ``b``.

    Raises:
        RangeError: ``a`` is greater than ``b``.

    >>> import nbgrad
    >>> x = uniform_(nbgrad.empty(100), 2.0, 3.0)
    >>> bool(((2 <= x) & (x < 3)).all())
    True
    """
    if a > b:
        raise RangeError(f"uniform_: a is {a}, b {b}, expected a <= b.")
    with nbgrad.no_grad():
        unit = nbgrad.rand(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device, generator=generator)
        return tensor.copy_(unit.mul_(b - a).add_(a))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with ``mean`` and standard deviation ``std``.

    Raises:
        RangeError: a negative ``std``.

    >>> import nbgrad
    >>> abs(normal_(nbgrad.empty(10_000), 5.0, 0.1).mean().item() - 5.0) < 0.01
    True
    """
    if std < 0:
        raise RangeError(f"normal_: std is {std}, expected a number that is not negative.")
    with nbgrad.no_grad():
        unit = nbgrad.randn(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device, generator=generator)
        return tensor.copy_(unit.mul_(std).add_(mean))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal with ``mean`` and standard deviation ``std``, restricted to values between ``a`` and ``b``.

    >>> import nbgrad
    >>> trunc_normal_(nbgrad.empty(100)).abs().max().item() <= 2.0
    True
    """
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2))) for bound in (a, b))
    with nbgrad.no_grad():
        unit = nbgrad.rand(tuple(tensor.shape), dtype=nbgrad.float64, device=tensor.device, generator=generator)
        return tensor.copy_((low + (high - low) * unit).erfinv().mul(std * math.sqrt(2)).add(mean).clamp(a, b))


def eye_(tensor: Tensor) -> Tensor:
    """The identity, of as many rows and columns as there are.

    Raises:
        ShapeError: not two dimensions.

    >>> import nbgrad
    >>> eye_(nbgrad.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ShapeError(f"eye_: expected two dimensions, got shape {tuple(tensor.shape)}.")
    with nbgrad.no_grad():
        return tensor.copy_(nbgrad.eye(*tensor.shape, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A kernel of a convolution that gives its input, as far as there are channels: 1 at the centre of a channel's own place.

    Args:
        tensor: shape ``(out, in, *kernel)``, with one to three kernel dimensions.
        groups: of output channels, each of which is such a kernel; they divide them.

    Raises:
        ShapeError: another number of dimensions, or groups that do not divide.

    >>> import nbgrad
    >>> dirac_(nbgrad.empty(2, 2, 3))[0].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if tensor.dim() not in (3, 4, 5):
        raise ShapeError(f"dirac_: expected three to five dimensions, got shape {tuple(tensor.shape)}.")
    if tensor.shape[0] % groups:
        raise ShapeError(f"dirac_: expected groups that divide {tensor.shape[0]} channels, got {groups}.")
    own, centre = tensor.shape[0] // groups, tuple(size // 2 for size in tensor.shape[2:])
    with nbgrad.no_grad():
        tensor.zero_()
        for group in range(groups):
            for k in range(min(own, tensor.shape[1])):
                tensor[(group * own + k, k, *centre)] = 1
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal with standard deviation ``std``, but in each column so large a part of zeros.

    Args:
        tensor: a matrix.
        sparsity: the part of each column, rounded up to elements, that is zero.

    Raises:
        ShapeError: not two dimensions.

    Source: Martens, "Deep learning via Hessian-free optimization", 2010.

    >>> import nbgrad
    >>> (sparse_(nbgrad.empty(4, 3), 0.5) == 0).sum(0).tolist()
    [2, 2, 2]
    """
    if tensor.dim() != 2:
        raise ShapeError(f"sparse_: expected two dimensions, got shape {tuple(tensor.shape)}.")
    rows = tensor.shape[0]
    with nbgrad.no_grad():
        normal_(tensor, 0.0, std, generator)
        ranks = nbgrad.rand(tuple(tensor.shape), device=tensor.device, generator=generator).argsort(0)
        return tensor.copy_(nbgrad.where(ranks < math.ceil(sparsity * rows), 0.0, tensor))


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """``gain`` times a matrix whose rows, or columns if they are fewer, are orthonormal; uniform among those.

    Dimensions after the second count as columns.

    Raises:
        ShapeError: fewer than two dimensions.

    Source: Mezzadri, "How to generate random matrices from the classical compact groups", 2007; Saxe et al., "Exact solutions to
    the nonlinear dynamics of learning in deep linear neural networks", 2013.

    >>> import nbgrad
    >>> q = orthogonal_(nbgrad.empty(3, 3))
    >>> nbgrad.allclose(q @ q.T, nbgrad.eye(3), atol=1e-5)
    True
    """
    fans(tensor)
    if not tensor.numel():
        return tensor
    with nbgrad.no_grad():
        rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
        shape = max(rows, columns), min(rows, columns)
        unit = nbgrad.randn(shape, dtype=nbgrad.float64, device=tensor.device, generator=generator)
        q, r = nbgrad.linalg.qr(unit)
        q = q * r.diagonal().sign()  # without the signs of r, q depends on conventions of QR
        return tensor.copy_((q.mT if rows < columns else q).reshape(tensor.shape) * gain)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a layer's weights must grow for its activation to keep the variance.

    Args:
        nonlinearity: "linear", "identity", "conv1d" and its relatives, "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: the negative slope of "leaky_relu", 0.01 unless given.

    Raises:
        RangeError: no such nonlinearity, or a slope that is no number.

    Source: He et al., "Delving Deep into Rectifiers", 2015; LeCun et al., "Efficient BackProp", 1998.

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise RangeError(f"calculate_gain: param is {param!r}, expected a number.")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        known = ", ".join([*GAINS, "leaky_relu"])
        raise RangeError(f"calculate_gain: nonlinearity is {nonlinearity!r}, expected one of {known}.")
    return GAINS[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs reach an output of a weight ``(out, in, *kernel)``, and how many outputs an input reaches.

    Raises:
        ShapeError: fewer than two dimensions.
    """
    if tensor.dim() < 2:
        raise ShapeError(f"init: expected a weight of two or more dimensions, got shape {tuple(tensor.shape)}.")
    out_features, in_features, *kernel = tensor.shape
    field = math.prod(kernel)
    return in_features * field, out_features * field


_calculate_fan_in_and_fan_out = fans  # torch's names, here and below


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise RangeError(f'init: mode is {mode!r}, expected "fan_in" or "fan_out".')
    return fans(tensor)[mode == "fan_out"]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = fans(tensor)
    return gain * math.sqrt(2 / (fan_in + fan_out)) if fan_in + fan_out else 0.0


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def _uniform_of_std(tensor: Tensor, std: float, generator: Any) -> Tensor:
    """A uniform distribution on ``[-b, b]`` has standard deviation ``b / sqrt(3)``."""
    bound = math.sqrt(3) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform with standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.

    >>> import nbgrad
    >>> xavier_uniform_(nbgrad.empty(8, 16)).abs().max().item() <= (6 / (8 + 16)) ** 0.5
    True
    """
    return _uniform_of_std(tensor, _xavier_std(tensor, gain), generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with the standard deviation of ``xavier_uniform_``.

    >>> import nbgrad
    >>> round(xavier_normal_(nbgrad.empty(200, 200)).std().item(), 2) == round((2 / (200 + 200)) ** 0.5, 2)
    True
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform with standard deviation ``gain / sqrt(fan)``.

    Args:
        tensor: a weight ``(out, in, *kernel)``.
        a: negative slope of the leaky_relu that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: as in ``calculate_gain``.
        generator: where the numbers come from.

    Source: He et al., "Delving Deep into Rectifiers", 2015.

    >>> import nbgrad
    >>> kaiming_uniform_(nbgrad.empty(8, 16)).abs().max().item() <= (6 / 16) ** 0.5
    True
    """
    return _uniform_of_std(tensor, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal with the standard deviation of ``kaiming_uniform_``, whose arguments it takes.

    >>> import nbgrad
    >>> round(kaiming_normal_(nbgrad.empty(200, 200)).std().item(), 1) == round((2 / 200) ** 0.5, 1)
    True
    """
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def by_fan_in(fan_in: int, *parameters: Tensor | None) -> None:
    """Draw parameters as layers begin with them: uniform within ``±1 / sqrt(fan_in)``; None is left out."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    for parameter in parameters:
        if parameter is not None:
            uniform_(parameter, -bound, bound)


def renamed(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under torch's first name for it, without the underscore, with a warning."""
    name = function.__name__[:-1]

    def old(*args: Any, **named: Any) -> Tensor:
        warn_user(f"nn.init.{name} is the old name of nn.init.{name}_.", FutureWarning)
        return function(*args, **named)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"``{name}_`` under its old name, with a warning."
    attach(old, __signature__=signature(function))
    return old


constant = renamed(constant_)
dirac = renamed(dirac_)
eye = renamed(eye_)
kaiming_normal = renamed(kaiming_normal_)
kaiming_uniform = renamed(kaiming_uniform_)
normal = renamed(normal_)
orthogonal = renamed(orthogonal_)
sparse = renamed(sparse_)
uniform = renamed(uniform_)
xavier_normal = renamed(xavier_normal_)
xavier_uniform = renamed(xavier_uniform_)
