"""Activation functions as modules, for use in ``Sequential``: the functions of ``functional`` with their settings."""
from __future__ import annotations

from nbgrad import Tensor

from . import functional as F
from .module import Module

__all__ = ["ELU", "GELU", "LeakyReLU", "LogSigmoid", "LogSoftmax", "ReLU", "SiLU", "Sigmoid", "Softmax", "Softplus",
           "Tanh"]


class ReLU(Module):
    """``max(input, 0)``; at 0 the derivative is 0.

    >>> import nbgrad
    >>> nbgrad.nn.ReLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.relu(input)


class Tanh(Module):
    """Hyperbolic tangent.

    >>> import nbgrad
    >>> nbgrad.nn.Tanh()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.tanh(input)


class Sigmoid(Module):
    """``1 / (1 + exp(-input))``.

    >>> import nbgrad
    >>> nbgrad.nn.Sigmoid()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(input))``, without overflow.

    >>> import nbgrad
    >>> nbgrad.nn.LogSigmoid()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.logsigmoid(input)


class SiLU(Module):
    """``input * sigmoid(input)``.

    >>> import nbgrad
    >>> nbgrad.nn.SiLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.silu(input)


class GELU(Module):
    """``input`` times the normal distribution function at ``input``.

    Args:
        approximate: "none" for the error function, "tanh" for the approximation by a hyperbolic tangent.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.

    >>> import nbgrad
    >>> nbgrad.nn.GELU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The setting."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input > threshold``.

    >>> import nbgrad
    >>> nbgrad.nn.Softplus()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.softplus(input, beta=self.beta, threshold=self.threshold)

    def extra_repr(self) -> str:
        """The settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class LeakyReLU(Module):
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.LeakyReLU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.0100,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.leaky_relu(input, negative_slope=self.negative_slope)

    def extra_repr(self) -> str:
        """The setting."""
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere.

    >>> import nbgrad
    >>> nbgrad.nn.ELU()(nbgrad.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        """Elementwise: shape and dtype of ``input``."""
        return F.elu(input, alpha=self.alpha)

    def extra_repr(self) -> str:
        """The setting."""
        return f"alpha={self.alpha}"


class Softmax(Module):
    """``exp(input)`` divided by its sum over ``dim``.

    >>> import nbgrad
    >>> nbgrad.nn.Softmax(dim=0)(nbgrad.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Shape and dtype of ``input``."""
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The setting."""
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """``log(softmax(input))`` over ``dim``, without overflow.

    >>> import nbgrad
    >>> nbgrad.nn.LogSoftmax(dim=0)(nbgrad.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Shape and dtype of ``input``."""
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        """The setting."""
        return f"dim={self.dim}"
