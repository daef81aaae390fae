"""Whether operations are recorded, per thread; and the one flag behind which all special modes stand."""
from __future__ import annotations

import functools
import inspect
import threading

from .errors import ArgumentError

__all__ = ["mode", "no_grad", "enable_grad", "set_grad_enabled", "is_grad_enabled", "inference_mode",
           "is_inference_mode_enabled", "special"]

# Special interpreters that are active anywhere in the process: profiling, anomaly mode, saved-tensor hooks, tracing, ...
# The fast path tests ``if special`` once; a list, because its truth value is the cheapest global test there is.
special: list = []


class GradMode(threading.local):
    """``enabled``: operations on tensors that require grad are recorded."""

    enabled = True
    inference = False


mode = GradMode()


def is_grad_enabled() -> bool:
    """Whether operations are being recorded in this thread."""
    return mode.enabled


class _ModeContext:
    """A context manager and decorator that sets the mode for its extent."""

    enabled: bool

    def __enter__(self):
        self.before = mode.enabled
        mode.enabled = self.enabled
        return self

    def __exit__(self, *error):
        mode.enabled = self.before

    def _again(self):
        """A fresh context of the same meaning: one instance may decorate a function that calls itself."""
        return type(self)()

    def __call__(self, function):
        return decorate(self._again, function)


def decorate(context, function):
    """Run ``function`` (plain, generator, coroutine function, or a class's constructor) inside ``context()``."""
    if inspect.isclass(function):
        function.__init__ = decorate(context, function.__init__)
        return function
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def generator(*args, **kwargs):
            # The mode holds while the generator runs, not while its consumer does.
            with context():
                inner = function(*args, **kwargs)
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
        return generator
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def coroutine(*args, **kwargs):
            with context():
                return await function(*args, **kwargs)
        return coroutine

    @functools.wraps(function)
    def plain(*args, **kwargs):
        with context():
            return function(*args, **kwargs)
    return plain


class no_grad(_ModeContext):
    """Nothing is recorded inside. A context manager and a decorator (``@no_grad`` and ``@no_grad()``).

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else decorate(cls, function)

    def __init__(self, function=None):
        pass


class enable_grad(no_grad):
    """Recording is on inside, also within ``no_grad``. A context manager and a decorator."""

    enabled = True


class set_grad_enabled(_ModeContext):
    """Set recording on or off: at once, and until the end of the ``with`` block if used as a context manager."""

    def __init__(self, enabled: bool):
        if not isinstance(enabled, bool):
            raise ArgumentError(f"set_grad_enabled: expected a bool, got {type(enabled).__name__}.")
        self.before, self.enabled = mode.enabled, enabled
        mode.enabled = enabled

    def __enter__(self):
        mode.enabled = self.enabled
        return self

    def __call__(self, function):
        mode.enabled = self.before      # used as a decorator, the call alone changes nothing
        return super().__call__(function)

    def _again(self):
        return set_grad_enabled(self.enabled)


class inference_mode(set_grad_enabled):     # torch's name
    """Like ``no_grad`` with ``wanted`` true, and known to ``is_inference_mode_enabled``.

    Tensors made inside are ordinary ones: they may be used in recorded computations later (docs/differences.md).
    """

    def __new__(cls, wanted: bool = True):
        self = super().__new__(cls)
        if callable(wanted):
            self.wanted = True
            return self(wanted)
        return self

    def __init__(self, wanted: bool = True):
        self.wanted = bool(wanted)

    def __enter__(self):
        self.before = mode.enabled, mode.inference
        mode.enabled, mode.inference = (False, True) if self.wanted else (True, False)
        return self

    def __exit__(self, *error):
        mode.enabled, mode.inference = self.before

    def __call__(self, function):
        return decorate(self._again, function)

    def _again(self):
        return inference_mode(self.wanted)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return mode.inference
