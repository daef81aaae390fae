"""Modules and functions that drop elements or whole channels while they train."""

from __future__ import annotations

from collections.abc import Callable

from .. import Tensor, alpha_dropout, dropout, feature_alpha_dropout, feature_dropout
from ..base.errors import RangeError, ShapeError
from ..base.user_stack import warn_user
from .module import Module
from .utils import number

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
]


def of_channels(name: str, spatial: int, input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """``feature_dropout`` of samples, or of one sample, of so many dimensions behind the channels."""
    samples = input.ndim == spatial + 2
    if input.ndim == 3 and spatial == 2:
        warn_user(
            "dropout2d: input has 3 dimensions, (N, C, L) is assumed as in dropout1d. Hint: call dropout1d, or "
            "unsqueeze(0) what is one sample."
        )
    elif not samples and input.ndim != spatial + 1:
        told = (
            f"{name}: input has shape {list(input.shape)}, expected {spatial + 2} dimensions, "
            f"or {spatial + 1} of one sample. Hint: dropout takes any shape."
        )
        if spatial == 1 or input.ndim < 2:
            raise ShapeError(told)
        warn_user(told)
    elif not samples:
        out = feature_dropout(input.unsqueeze(0), p, training, inplace)
        return input if inplace or not (training and p) else out.squeeze(0)
    return feature_dropout(input, p, training, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``input``, (N, C, L) or (C, L), with each channel zeroed with probability ``p`` and the others divided by 1 - p.

    Raises:
        ShapeError: another number of dimensions. RangeError: ``p`` is no probability.

    >>> import nbgrad
    >>> sorted(set(dropout1d(nbgrad.ones(8, 3)).sum(1).tolist())) in ([0.0], [6.0], [0.0, 6.0])
    True
    """
    return of_channels("dropout1d", 1, input, p, training, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``input``, (N, C, H, W), with each channel zeroed with probability ``p`` and the others divided by 1 - p.

    Three dimensions are (N, C, L), and of another number from 2 on the first two are (N, C), with a warning, as in torch.

    Raises:
        ShapeError: fewer than 2 dimensions. RangeError: ``p`` is no probability.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, 3, 4, 4)
    >>> dropout2d(x, training=False) is x
    True
    """
    return of_channels("dropout2d", 2, input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``input``, (N, C, D, H, W) or (C, D, H, W), with each channel zeroed with probability ``p``, the others divided by 1 - p.

    Of another number of dimensions, from 2 on, the first two are (N, C), with a warning, as in torch.

    Raises:
        ShapeError: fewer than 2 dimensions. RangeError: ``p`` is no probability.

    >>> import nbgrad
    >>> dropout3d(nbgrad.ones(1, 2, 2, 2, 2), 1.0).sum()
    tensor(0.)
    """
    return of_channels("dropout3d", 3, input, p, training, inplace)


class _DropoutNd(Module):
    """What all modules of dropout are: a function that is applied while training."""

    function: Callable[..., Tensor]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= number(type(self).__name__, "p", p) <= 1:
            raise RangeError(f"{type(self).__name__}: p is {p}, expected a probability between 0 and 1.")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Of the shape of ``input``; after ``eval()``, ``input`` itself."""
        return self.function(input, self.p, True, self.inplace) if self.training else input

    def extra_repr(self) -> str:
        """The settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """While training, zero each element with probability ``p`` and scale the others by ``1 / (1 - p)``.

    ``inplace`` overwrites ``input``.

    Raises:
        RangeError: ``p`` is no probability.

    >>> import nbgrad
    >>> nbgrad.nn.Dropout(0.5).eval()(nbgrad.ones(2))
    tensor([1., 1.])
    """

    function = staticmethod(dropout)


class Dropout1d(_DropoutNd):
    """While training, zero each channel of (N, C, L) or (C, L) with probability ``p`` and scale the others by ``1 / (1 - p)``.

    >>> import nbgrad
    >>> nbgrad.nn.Dropout1d().eval()(nbgrad.ones(1, 2))
    tensor([[1., 1.]])
    """

    function = staticmethod(dropout1d)


class Dropout2d(_DropoutNd):
    """``Dropout1d`` of (N, C, H, W).

    >>> import nbgrad
    >>> nbgrad.nn.Dropout2d(1.0)(nbgrad.ones(1, 1, 1, 2))
    tensor([[[[0., 0.]]]])
    """

    function = staticmethod(dropout2d)


class Dropout3d(_DropoutNd):
    """``Dropout1d`` of (N, C, D, H, W) or (C, D, H, W).

    >>> import nbgrad
    >>> nbgrad.nn.Dropout3d(1.0)(nbgrad.ones(1, 1, 1, 2))
    tensor([[[[0., 0.]]]])
    """

    function = staticmethod(dropout3d)


class AlphaDropout(_DropoutNd):
    """While training, put the value to which ``selu`` tends in the place of each element with probability ``p``.

    Everything is then scaled and moved so that inputs of mean 0 and variance 1 keep both.

    Source: Klambauer, Unterthiner, Mayr, Hochreiter, "Self-Normalizing Neural Networks", 2017.

    >>> import nbgrad
    >>> nbgrad.nn.AlphaDropout(0.2).eval()(nbgrad.ones(2))
    tensor([1., 1.])
    """

    function = staticmethod(alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` of whole channels: of (N, C, *).

    >>> import nbgrad
    >>> nbgrad.nn.FeatureAlphaDropout(0.2).eval()(nbgrad.ones(1, 2))
    tensor([[1., 1.]])
    """

    function = staticmethod(feature_alpha_dropout)
