"""Conversions of a Module: other dtypes, devices and orders of elements for its parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError
from ..creation.casting import targets_of
from ..modes.wrappers import is_wrapped
from .members import BUFFERS, PARAMETER

__all__ = ["Convertible", "converted"]


class Convertible:
    """What a Module is as far as its tensors can be converted."""

    # What Module defines.
    _own: Any
    children: Any

    def to(
        self, *targets: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Any:
        """Convert parameters, their gradients and buffers, in place: the Parameter objects stay the same.

        Those that go to the device meta are others: they have no elements, and whoever holds the old ones still has theirs.

        Args:
            targets: a dtype, a device, both, or a tensor that has them.
            non_blocking: accepted.
            dtype: a floating or complex dtype; what is integer or boolean keeps its own.
            device: where the tensors shall be.
            memory_format: the order of the elements of parameters and buffers with four or five dimensions, as ``channels_last``.

        Returns:
            self.

        Raises:
            ArgumentError: ``dtype`` is neither floating nor complex. NotSupportedError: from meta to another device, where
            ``to_empty`` is meant.

        >>> import nbgrad
        >>> nbgrad.nn.Linear(2, 3).to(nbgrad.float64).weight.dtype
        nbgrad.float64
        """
        device, dtype, _, memory_format = targets_of(*targets, dtype=dtype, device=device, memory_format=memory_format)
        return self._converted(dtype, device, memory_format)

    def _converted(self, dtype: Any = None, device: Any = None, memory_format: Any = None) -> Any:
        """``to``, for the methods beside it: a subclass whose ``to`` calls one of these must not come back to itself."""
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise ArgumentError(f"to: expected a floating or complex dtype, got {dtype}.")
        return self._apply(lambda tensor: converted(tensor, dtype, device, memory_format))

    def float(self) -> Any:
        """``to(float32)``."""
        return self._converted(nbgrad.float32)

    def double(self) -> Any:
        """``to(float64)``."""
        return self._converted(nbgrad.float64)

    def half(self) -> Any:
        """``to(float16)``."""
        return self._converted(nbgrad.float16)

    def bfloat16(self) -> Any:
        """``to(bfloat16)``."""
        return self._converted(nbgrad.bfloat16)

    def type(self, dst_type: Any) -> Any:
        """``to(dst_type)``, a dtype."""
        return self._converted(dst_type)

    def cpu(self) -> Any:
        """``to("cpu")``."""
        return self._converted(device="cpu")

    def cuda(self, device: Any = None) -> Any:
        """``to("cuda")``, or to the GPU with that number."""
        return self._converted(device="cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Give parameters and buffers memory of undefined elements on ``device``; returns self.

        Args:
            recurse: those of the modules below, too.

        >>> import nbgrad
        >>> nbgrad.nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        nbgrad.Size([3, 2])
        """
        return self._apply(lambda tensor: nbgrad.empty_like(tensor, device=device), recurse)

    def share_memory(self) -> Any:
        """Move parameters and buffers to memory that other processes can see (``Tensor.share_memory_``); returns self."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Let ``fn`` make the values of parameters, their gradients and buffers anew, and of the modules below first.

        A subclass extends it to convert what is neither.
        """
        for module in self.children() if recurse else ():
            module._apply(fn)
        for name, parameter in self._own(PARAMETER):
            data, grad = fn(parameter.data), parameter.grad
            grad = None if grad is None else fn(grad.detach())
            moved = data.is_meta is not parameter.is_meta and not hasattr(parameter, "materialize")
            if moved or is_wrapped(data) or is_wrapped(parameter):
                # Whoever else holds the parameter keeps its elements; a wrapper, or one that waits for a shape, has none.
                self.__dict__[name] = new = nbgrad.nn.Parameter(data, parameter.requires_grad)
                new.grad = grad
                continue
            # The gradient must fit its parameter at every moment, so there is none in between.
            parameter.grad = None
            parameter.data, parameter.grad = data, grad
        for name, buffer in self._own(*BUFFERS):
            self.__dict__[name] = fn(buffer)
        return self


def converted(tensor: Tensor, dtype: Any, device: Any, memory_format: Any) -> Tensor:
    """``tensor`` with another device, another order of the dimensions that the format is for, and, if it holds floating or complex
    numbers, another dtype."""
    options = {} if device is None else {"device": device}
    if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
        options["dtype"] = dtype
    if memory_format is not None and tensor.ndim in (4, 5):
        options["memory_format"] = memory_format
    return tensor.to(**options) if options else tensor
