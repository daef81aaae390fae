"""What lies beneath the gradients: modes, and classes of tensors, that are asked about each operation there.

NOTE [Beneath the gradients]: ``__torch_function__`` is asked about what a program writes (overrides.py). ``__torch_dispatch__`` is
asked about what is computed: the operations of the forward, and those that the rules of derivatives call in a backward pass, of
whatever composites, mixed precision, batches and tangents have made of the program. Recording is off in a handler; what it returns
is then recorded as the result of the operation (dispatch/beneath.py, the interpreter). A mode is off inside of its handler, and the
one outside of it is asked next.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator

from ..base.errors import ArgumentError, UsageError
from ..base.grad_mode import dispatch_modes, special
from ..base.locks import new_rlock
from ..base.overriding import asked_in_order
from ..tensors.tensor import Tensor
from .interpreters import Presence
from .wrappers import is_wrapped

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "ask",
    "current_dispatch_mode",
    "dispatch_state",
    "dispatch_types",
    "disabled_dispatch_modes",
    "are_asked",
    "wrapper_classes",
    "is_dispatching",
    "may_ask",
    "note_wrappers",
    "pop_mode_temporarily",
    "seen_methods",
]


class DispatchState(threading.local):
    """The modes of a thread, outermost first, and the call that is being handled: NOTE [Handled writes] of dispatch/beneath.py."""

    def __init__(self) -> None:
        self.modes: list[TorchDispatchMode] = []
        self.handled: Any = None


dispatch_state = DispatchState()


# Methods of Tensor that are no operations: as they usually are, and as they go through the interpreters. The latter are in their
# place while there is a mode anywhere in the process, so that without one their calls ask nothing.
seen_methods: dict[str, tuple[Callable, Callable]] = {}
_methods_lock = new_rlock()


def put_methods(which: int) -> None:
    """Have Tensor's methods be the usual ones (0), or those that modes see (1)."""
    for name, forms in seen_methods.items():
        setattr(Tensor, name, forms[which])


class TorchDispatchMode(Presence):
    """``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` of a subclass is asked about each operation inside.

    ``func`` is an overload (``nbgrad.ops.aten.add.Tensor``); called, it does the operation. The mode is off in the method.

    >>> import nbgrad
    >>> from nbgrad.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with Log():
    ...     y = (x * x).sum()
    aten.mul.Tensor
    aten.sum.default
    """

    rank = "dispatch"

    def __init__(self, _dispatch_key: Any = None):
        pass

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """What an operation means."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        dispatch_state.modes.append(self)
        special.append(self)
        with _methods_lock:
            dispatch_modes.append(self)
            may_ask.append(self)
            if len(dispatch_modes) == 1:
                put_methods(1)
        return self

    def __exit__(self, *error: object) -> None:
        with _methods_lock:
            dispatch_modes.remove(self)
            may_ask.remove(self)
            if not dispatch_modes:
                put_methods(0)
        special.remove(self)
        dispatch_state.modes.remove(self)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """A new mode, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is one of a framework's own: no."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that does each operation as it is."""

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_dispatching() -> bool:
    """Whether a mode of this thread is asked about operations."""
    return bool(dispatch_modes) and bool(dispatch_state.modes)


# All modes, and those classes: what is to cost nothing without them tests it first.
may_ask: list = []

# Classes of which there is a tensor without elements; it grows only.
wrapper_classes: set[type] = set()


def note_wrappers(cls: type) -> None:
    """There is a tensor without elements of this class."""
    if cls not in wrapper_classes:
        wrapper_classes.add(cls)
        may_ask.append(cls)


def are_asked(rows: Iterable[tuple[Iterable[Any], ...]]) -> bool:
    """Whether a mode of this thread, or a class among the tensors of an update, is asked about operations: no kernel stands for
    several of them then."""
    return is_dispatching() or bool(wrapper_classes) and any(dispatch_types(part) for row in rows for part in row)


def current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode of this thread.

    >>> from nbgrad.utils._python_dispatch import _get_current_dispatch_mode
    >>> _get_current_dispatch_mode() is None
    True
    """
    return dispatch_state.modes[-1] if dispatch_state.modes else None


@contextmanager
def pop_mode_temporarily() -> Iterator[TorchDispatchMode]:
    """Inside, the innermost mode is off.

    Raises:
        UsageError: there is none.
    """
    if not dispatch_state.modes:
        raise UsageError("_pop_mode_temporarily: no dispatch mode is active. Hint: `with mode:`.")
    popped = dispatch_state.modes.pop()
    try:
        yield popped
    finally:
        dispatch_state.modes.append(popped)


@contextmanager
def disabled_dispatch_modes() -> Iterator[list[TorchDispatchMode]]:
    """Inside, no mode of this thread is asked."""
    kept, dispatch_state.modes = dispatch_state.modes, []
    try:
        yield kept
    finally:
        dispatch_state.modes = kept


def ask(func: Any, types: tuple[type, ...], args: tuple, kwargs: dict) -> Any:
    """What the innermost mode, else the classes in turn, make of an operation.

    Raises:
        ArgumentError: all of them returned NotImplemented.
    """
    if dispatch_state.modes:
        with pop_mode_temporarily() as mode:
            result = mode.__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for kind in types:
        result = kind.__torch_dispatch__(func, types, args, kwargs)  # type: ignore[attr-defined]
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in types) or "the active mode"
    raise ArgumentError(
        f"{func}: Multiple dispatch failed: __torch_dispatch__ of {names} returned NotImplemented. Hint: handle the operation "
        "there, or return func(*args, **kwargs)."
    )


def dispatch_types(operands: Any) -> tuple[type, ...]:
    """The classes among arguments that are asked, in order."""
    return asked_in_order(getattr(x, "_class_of_parameter_", type(x)) for x in operands if is_wrapped(x))
