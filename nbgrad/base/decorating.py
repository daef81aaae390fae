"""Functions every call of which runs inside of a context of its own; of generators and coroutines every step does."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Self, TypeVar, overload

from .user_stack import warn_user

__all__ = ["decorate"]

F = TypeVar("F", bound=Callable[..., Any])


class _DecoratorContextManager:  # torch's name
    """A context manager that decorates functions, too: what is derived from it defines ``__enter__`` and ``__exit__``.

    A function runs inside of a fresh ``clone()`` in each call, and the body of a generator in each of its steps.
    """

    def clone(self):
        """A fresh context of the same meaning: one instance may decorate a function that calls itself."""
        return type(self)()

    def __call__(self, function: F) -> F:
        return decorate(self.clone, function)


class _NoParamDecoratorContextManager(_DecoratorContextManager):  # torch's name
    """A context without arguments: the class decorates without parentheses too."""

    @overload
    def __new__(cls, function: None = None) -> Self: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]     # without parentheses: the function itself, decorated

    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)

    def __init__(self, function: Callable | None = None):
        pass


def decorate(context: Callable[[], Any], function: Any) -> Any:
    """``function``, every call of which runs inside a ``context()`` of its own.

    The body of a generator, a coroutine function or an asynchronous generator runs in the mode, and whoever resumes it does not.
    """
    if inspect.isclass(function):
        return decorate_class(context, function)
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args, **kwargs):
            with context():
                inner = function(*args, **kwargs)
            return (yield from stepped(context, inner))

        return generator
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args, **kwargs):
            return await Stepped(context, function(*args, **kwargs))

        return coroutine
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def asynchronous(*args, **kwargs):
            return stepped_asynchronously(context, function(*args, **kwargs))

        return asynchronous

    @functools.wraps(function)
    def plain(*args, **kwargs):
        with context():
            return function(*args, **kwargs)

    return plain


def decorate_class(context: Callable[[], Any], cls: type) -> Callable:
    """A function that makes instances inside ``context()``."""
    warn_user(
        f"{cls.__name__}: decorating a class is deprecated; its constructor alone runs in the mode. "
        "Hint: decorate functions and methods.",
        FutureWarning,
    )

    @functools.wraps(cls, updated=())
    def construct(*args, **kwargs):
        with context():
            return cls(*args, **kwargs)

    return construct


def stepped(context: Callable[[], Any], inner: Any):
    """A generator that runs ``inner`` between its own suspensions, each time inside ``context()``."""
    step, value = inner.send, None
    try:
        while True:
            with context():
                item = step(value)
            try:
                value = yield item
                step = inner.send
            except GeneratorExit:
                raise
            except BaseException as error:
                step, value = inner.throw, error
    except StopIteration as stop:
        return stop.value
    finally:
        with context():
            inner.close()


class Stepped:
    """An awaitable that is ``stepped``: other tasks of the thread do not see the mode while it waits."""

    def __init__(self, context: Callable[[], Any], awaitable: Any):
        self.context, self.awaitable = context, awaitable

    def __await__(self):
        return stepped(self.context, AwaitedSteps(self.awaitable.__await__()))


class AwaitedSteps:
    """An iterator of an awaitable with the methods of a generator, which it may lack."""

    def __init__(self, inner: Any):
        self.inner = inner

    def send(self, value: Any) -> Any:
        """Resume it."""
        return next(self.inner) if value is None else self.inner.send(value)

    def throw(self, error: BaseException) -> Any:
        """Raise in it; here if it cannot be told."""
        if hasattr(self.inner, "throw"):
            return self.inner.throw(error)
        raise error

    def close(self) -> None:
        """End it."""
        if hasattr(self.inner, "close"):
            self.inner.close()


async def stepped_asynchronously(context: Callable[[], Any], inner: Any):
    """An asynchronous generator that runs ``inner`` inside ``context()``."""
    step = inner.__anext__()
    try:
        while True:
            try:
                item = await Stepped(context, step)
            except StopAsyncIteration:
                return
            try:
                value = yield item
                step = inner.asend(value)
            except GeneratorExit:
                raise
            except BaseException as error:
                step = inner.athrow(error)
    finally:
        await Stepped(context, inner.aclose())
