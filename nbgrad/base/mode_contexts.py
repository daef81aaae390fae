"""Contexts that set the modes of a thread: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``."""

from __future__ import annotations

from typing import Any, Callable, Self, TypeVar, overload

from .decorating import _DecoratorContextManager, _NoParamDecoratorContextManager
from .errors import ArgumentError
from .grad_mode import mode, set_recording, special
from .locks import new_lock

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


F = TypeVar("F", bound=Callable[..., Any])


class ModeContext(_DecoratorContextManager):
    """A context manager and decorator that sets what ``is_grad_enabled`` says for its extent.

    NOTE [Interrupts]: Python looks for Ctrl-C where a function begins, after calls, and where a loop goes back. So the mode is set
    by the last steps, without a call: ``__enter__`` is interrupted before it has set anything, and no mode stays open. An
    interrupt at the very beginning of ``__exit__`` cannot be helped: the mode then stays as it was inside.
    """

    enabled: bool
    before: Any

    def __enter__(self) -> Any:
        if mode.inference:
            self.before, mode.claimed = mode.claimed, self.enabled
        else:
            self.before, mode.enabled = mode.enabled, self.enabled

    def __exit__(self, *error: object) -> None:
        if mode.inference:
            mode.claimed = self.before
        else:
            mode.enabled = self.before


class PlainContext(_NoParamDecoratorContextManager, ModeContext):
    """A mode without arguments."""


class no_grad(PlainContext):  # torch's name
    """Nothing is recorded inside. A context manager and a decorator (``@no_grad`` and ``@no_grad()``).

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False


class enable_grad(PlainContext):  # torch's name
    """Recording is on inside, also within ``no_grad`` (not in inference mode). A context manager and a decorator.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.no_grad(), nbgrad.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    enabled = True


class set_grad_enabled(ModeContext):  # torch's name
    """Set recording on or off: at once, and until the end of the ``with`` block if used as a context manager.

    Args:
        mode: whether operations are recorded.

    Raises:
        ArgumentError: no bool.

    >>> training = False
    >>> with nbgrad.set_grad_enabled(training):
    ...     (nbgrad.ones(2, requires_grad=True) * 2).requires_grad
    False
    """

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise ArgumentError(f"set_grad_enabled: expected a bool, got {type(mode).__name__}.")
        self.mode = self.enabled = mode
        self.before = set_recording(mode)

    def __enter__(self) -> None:
        set_recording(self.enabled)

    def __call__(self, function: F) -> F:
        set_recording(self.before)  # used as a decorator, the call alone changes nothing
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"

    def clone(self):
        """A fresh context of the same meaning."""
        return type(self)(self.mode)


class Inferring:
    """The one member of ``special`` for all threads in inference mode: it sends calls to the interpreters and observes nothing.

    Only one, so that a thread in the mode knows by one comparison of ``special`` that no other mode is active anywhere.

    Attributes:
        rank: of the interpreter that is asked because of it, if no other is.
    """

    rank = "inference"

    def __init__(self) -> None:
        self.count, self.lock = 0, new_lock()

    def enter(self) -> None:
        """A thread enters the mode."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                special.append(self)

    def leave(self) -> None:
        """A thread leaves the mode."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                special.remove(self)

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Nothing to look at."""

    def recorded(self, node) -> None:
        """Nothing to look at."""


inferring = Inferring()
ALONE = [inferring]  # what ``special`` is while there is no other mode


class inference_mode(ModeContext):  # torch's name
    """Like ``no_grad``, for work that never meets autograd: what is made inside are inference tensors.

    These have no version, may be written to inside of the mode only, and cannot be saved for backward; a clone made outside is an
    ordinary tensor. A context manager and a decorator (``@inference_mode`` and ``@inference_mode()``).

    Args:
        mode: whether the mode is on inside; False gives ordinary recording back within inference mode.

    Raises:
        ArgumentError: neither bool nor function.

    >>> import nbgrad
    >>> with nbgrad.inference_mode():
    ...     x = nbgrad.ones(2)
    >>> x.is_inference(), x.clone().is_inference()
    (True, False)
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]     # without parentheses: the function itself, decorated

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        if not callable(mode):
            raise ArgumentError(f"inference_mode: expected a bool or a function, got {type(mode).__name__}.")
        self.mode = True
        return self(mode)

    def __init__(self, mode: bool = True):
        self.mode = mode

    def __enter__(self) -> None:
        modes = mode.__dict__  # this thread's; one look-up instead of one an access
        self.before = modes.copy()
        if self.mode and not modes["inference"]:
            inferring.enter()
        modes["enabled"], modes["inference"], modes["claimed"] = not self.mode, self.mode, False

    def __exit__(self, *error: object) -> None:
        modes = mode.__dict__
        modes.update(self.before)
        if self.mode and not modes["inference"]:
            inferring.leave()

    def clone(self):
        """A fresh context of the same meaning."""
        return type(self)(self.mode)


class _unsafe_preserve_version_counter(ModeContext):  # torch's name
    """Inside, writes to a tensor, or to several, are not counted: a graph that saved them is differentiated with the new values.

    Use it for writes on which backward is known not to depend.

    Args:
        tensors: a tensor, or a tuple of them.

    >>> import nbgrad
    >>> x = nbgrad.ones(2)
    >>> with nbgrad._unsafe_preserve_version_counter(x):
    ...     _ = x.mul_(3)
    >>> x._version
    0
    """

    def __init__(self, tensors: Any):
        self.tensors = tensors if isinstance(tensors, tuple) else (tensors,)
        self.storages = [x._storage_ for x in self.tensors]
        self.versions = [written.version for written in self.storages]

    def __enter__(self) -> None:
        """The versions were noted when the context was made."""

    def __exit__(self, *error: object) -> None:
        for written, version in zip(self.storages, self.versions):
            written.version = version

    def clone(self):
        """A fresh context for the same tensors."""
        return type(self)(self.tensors)
