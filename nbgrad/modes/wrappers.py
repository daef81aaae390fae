"""Tensors whose class says what operations beneath the gradients mean: wrappers, and subclasses on memory of their own.

NOTE [Wrappers]: a wrapper is a tensor to autograd (shape, dtype, device, a place in the graph) and has no elements: what it stands
for is in attributes of its class. Its layout is marked, so that each call of it comes to the interpreters; its memory is that
of meta, a number of bytes at no address, so that whatever asks for elements is refused, and nothing is read that is not there.
"""

from __future__ import annotations

from typing import Any, Callable

from ..base.errors import NotSupportedError
from ..graph.edges import accumulator_of
from ..tensors.layout import WRAPPER, DispatchMark
from ..tensors.tensor import ASK, Tensor, put_layout
from .inference import replaced

__all__ = ["default_dispatch", "is_wrapped", "says_what_operations_mean", "unmarked_twin"]


def default_dispatch(cls: type, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Do the operation on plain tensors in the place of those of subclasses: Tensor's own ``__torch_dispatch__``.

    Raises:
        NotSupportedError: one of them has no elements.
    """

    def plain(x: Tensor) -> Tensor:
        if x.layout.special is WRAPPER:
            raise NotSupportedError(
                f"{func}: a {type(x).__name__} has no elements, and its class does not say what the operation means. Hint: handle "
                "it in __torch_dispatch__, on the tensors that it wraps."
            )
        return unmarked_twin(x) if is_wrapped(x) else x

    return func(*replaced(args, plain), **replaced(kwargs or {}, plain))


def says_what_operations_mean(cls: type) -> bool:
    """Whether a class has a ``__torch_dispatch__`` of its own."""
    return getattr(cls.__torch_dispatch__, "__func__", None) is not default_dispatch  # type: ignore[attr-defined]


def is_wrapped(x: Any) -> bool:
    """Whether the class of a tensor is asked about operations beneath the gradients."""
    return isinstance(x, Tensor) and isinstance(x.layout.special, DispatchMark)


def unmarked_twin(x: Tensor) -> Tensor:
    """A plain tensor of the same memory, version and place in the graph: what stands for a wrapper where calls are recorded."""
    plain: Tensor = object.__new__(Tensor)
    plain._storage_, plain._offset_ = x._storage_, x._offset_
    put_layout(plain, x.layout.unmarked())
    plain._needs_grad_, plain._edge_, plain._meta_ = x._needs_grad_, x._edge_, x._meta_ if x._needs_grad_ is ASK else None
    if x._edge_ is None and x._needs_grad_ is True:
        plain._edge_ = accumulator_of(x)
    return plain
