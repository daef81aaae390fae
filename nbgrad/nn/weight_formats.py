"""``torch.nn.utils.memory_format``: convolutions whose weights lie in memory in another order, and nothing else of a model."""

from __future__ import annotations

from typing import Any

from .convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from .module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Put the weights of all convolutions over two dimensions, transposed ones too, into a memory format; parameters stay the same.

    Args:
        module: a convolution, or a module that has some.
        memory_format: ``channels_last`` or ``contiguous_format``.

    Returns:
        ``module``.

    >>> import nbgrad
    >>> layer = nbgrad.nn.Conv2d(2, 3, 4)
    >>> convert_conv2d_weight_memory_format(layer, nbgrad.channels_last).weight.stride()
    (32, 1, 8, 2)
    """
    return converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """The same of convolutions over three dimensions: ``channels_last_3d`` or ``contiguous_format``.

    >>> import nbgrad
    >>> layer = nbgrad.nn.Conv3d(2, 3, 2)
    >>> convert_conv3d_weight_memory_format(layer, nbgrad.channels_last_3d).weight.stride()
    (16, 1, 8, 4, 2)
    """
    return converted(module, (Conv3d, ConvTranspose3d), memory_format)


def converted(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    """``module``, after the weights of its modules of some kinds were put into a memory format."""
    layers: list[Any] = [each for each in module.modules() if isinstance(each, kinds)]
    for layer in layers:
        layer.weight.data = layer.weight.data.contiguous(memory_format=memory_format)
    return module
