"""Saved-tensor hooks: which are active in a thread, and the contexts that enter and refuse them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from ..base.errors import GradError, require_callable
from ..base.grad_mode import special
from .node import Node
from .packing import pack_node

__all__ = ["disable_saved_tensors_hooks", "saved_tensors_hooks"]


class EnteredHooks:
    """Saved-tensor hooks that a context entered: one each time. The context itself has no names but its users'.

    Attributes:
        context: the ``saved_tensors_hooks``.
        pair: its hooks.
    """

    __slots__ = ("context", "pair")

    def __init__(self, context: saved_tensors_hooks):
        self.context, self.pair = context, (context.pack_hook, context.unpack_hook)

    def seen(self, op, operands: tuple, out: Any) -> None:
        """Calls that record nothing do not matter."""

    def recorded(self, node: Node) -> None:
        """Pack what a new node saved, if these are the innermost hooks of this thread."""
        entered = _hook_stack.entered
        if entered and entered[-1] is self:
            pack_node(node._rule_.keeper(node), *self.pair)


class HookStack(threading.local):
    """The saved-tensor hooks of a thread, innermost last; the reason why they are disabled, if they are."""

    def __init__(self) -> None:
        self.entered: list[EnteredHooks] = []
        self.disabled: str | None = None


_hook_stack = HookStack()


def hooks_entered() -> int:
    """How many entries this thread has, for what has to leave no more behind."""
    return len(_hook_stack.entered) if special else 0


def leave_hooks(count: int) -> None:
    """End the innermost entries of this thread, but for the first ``count``."""
    entered = _hook_stack.entered
    while len(entered) > count:
        special.remove(entered.pop())


def saved_tensors_hooks_enabled() -> bool:
    """Whether this thread may enter ``saved_tensors_hooks``."""
    return _hook_stack.disabled is None


def active_hooks() -> tuple[Callable, Callable] | None:
    """The innermost saved-tensor hooks of this thread."""
    entered = _hook_stack.entered
    return entered[-1].pair if entered else None


class Nobody:
    """An entry on the stack of hooks that calls none, so that those below it are not called either."""

    __slots__ = ()
    context = pair = None


NOBODY: Any = Nobody()


def without_hooks(function: Callable, *args: Any) -> Any:
    """``function(*args)``, with the hooks of this thread off: it differentiates something of its own."""
    entered = _hook_stack.entered
    if not entered:
        return function(*args)
    entered.append(NOBODY)
    try:
        return function(*args)
    finally:
        entered.pop()


def drop(entries: list, entry: EnteredHooks) -> None:
    """Take ``entry`` out, if it is there."""
    if entry in entries:
        entries.remove(entry)


class saved_tensors_hooks:  # torch's name
    """Inside, ``pack(tensor)`` decides what is kept for backward, and ``unpack(packed)`` gives the tensor back.

    ``pack`` sees all tensors that a node keeps: operands, results, indices and masks.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.graph.saved_tensors_hooks(lambda t: t.numpy().copy() if not t.requires_grad else t, nbgrad.asarray):
    ...     y = x.exp()
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        require_callable("saved_tensors_hooks: pack_hook", pack_hook)
        require_callable("saved_tensors_hooks: unpack_hook", unpack_hook)
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _hook_stack.disabled is not None:
            raise GradError(_hook_stack.disabled)
        entry, entered = EnteredHooks(self), _hook_stack.entered
        try:
            special.append(entry)
            entered.append(entry)
        except BaseException:  # an interrupt between the steps: the block is not entered, and nobody will leave it
            drop(entered, entry)
            drop(special, entry)
            raise

    def __exit__(self, *error: object) -> None:
        entered = _hook_stack.entered
        if entered and entered[-1].context is self:  # at once: an interrupt on a longer way would leave the hooks behind
            special.remove(entered.pop())
            return
        place = next((k for k in reversed(range(len(entered))) if entered[k].context is self), None)
        if place is None:
            raise GradError(
                "saved_tensors_hooks: the context is not active in this thread, so it cannot be left. "
                "Hint: a with statement enters and leaves it."
            )
        special.remove(entered.pop(place))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, entering ``saved_tensors_hooks`` raises with ``error_message``. Also a decorator.

    Raises:
        GradError: hooks are active already.

    >>> with nbgrad.graph.disable_saved_tensors_hooks("not here"):
    ...     with nbgrad.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    ...         pass
    Traceback (most recent call last):
        ...
    nbgrad.base.errors.GradError: not here
    """
    if _hook_stack.entered:
        raise GradError(error_message)
    before, _hook_stack.disabled = _hook_stack.disabled, error_message
    try:
        yield
    finally:
        _hook_stack.disabled = before
