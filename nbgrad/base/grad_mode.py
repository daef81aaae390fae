"""Grad mode: whether a thread records operations; and ``special``, the one list that calls test for all special modes."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any, Callable, Self, TypeVar, overload

from .errors import ArgumentError, GradError
from .locks import new_lock
from .user_stack import warn_user

__all__ = [
    "Kept",
    "mode",
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "is_grad_enabled",
    "inference_mode",
    "is_inference_mode_enabled",
    "decorate",
    "converted_in_modes",
    "special",
]

F = TypeVar("F", bound=Callable[..., Any])

# Special interpreters that are active anywhere in the process: profiling, anomaly mode, saved-tensor hooks, tracing, ...
# The fast path tests ``if special`` once; a list, because its truth value is the cheapest global test there is.
# Other threads add and remove members at any time: whoever looks for one of this thread walks over a copy, and compares with
# other lists by ``==``, which a member of this thread that is in one only always makes unequal. Two lengths may be of two moments.
special: list = []


def converted_in_modes(op: str, *tensors: Any) -> tuple:
    """Operands as the call of an operation would take them in a mode of mixed precision (modes/autocast.py): for functions that
    compare dtypes, or go by them, before they call it. None is nothing."""
    for active in special[:]:
        convert = getattr(active, "convert", None)
        if convert is not None:
            tensors = convert(op, tensors)
    return tensors


# The levels of forward mode that are open anywhere in the process, outermost first (forward/tangents.py). Other threads open and
# close levels at any time: look at a copy, once, where a level of this thread must not be missed.
dual_levels: list = []

# The captures of graphs that run anywhere in the process, outermost first (jit/capture/capture.py). While there is one, passes
# evaluate formulas by calls, and creation functions tell of what they make.
traces: list = []


def capture_of_thread() -> Any:
    """The innermost capture of this thread; None if it captures nothing, or is beneath a call that is being captured."""
    this = threading.get_ident()
    for trace in traces[::-1]:
        if trace.thread == this:
            return None if trace.depth else trace
    return None


# The tracers of calls that run anywhere in the process (forward/programs.py). ``new_full`` tells them of what it has filled.
call_tracers: list = []

# Not empty while a call that is no operation may mean something else than usual: a transform of functions runs in some thread, a
# batch is open, a function mode is active, types that override functions exist. Entry points test it before they look closer.
unusual: list = []


class GradMode(threading.local):
    """The modes of a thread.

    Attributes:
        enabled: operations on tensors that require grad are recorded; never in inference mode.
        inference: the thread is in inference mode; what it makes is marked (modes/inference.py).
        inferring: the thread is beneath an operation of inference mode: its steps are plain, and its results are marked at the end.
        claimed: what ``is_grad_enabled`` says in inference mode.
        transforms: the transforms whose functions run, outermost first: runs of reverse mode (func/transforms.py) and levels.
    """

    def __init__(self) -> None:
        self.enabled, self.inference, self.inferring, self.claimed = True, False, False, False
        self.transforms: list[Any] = []


mode = GradMode()


class Kept:
    """The modes of a thread as they are now, for where Ctrl-C may leave them as they were in the middle of something."""

    __slots__ = ("enabled", "inference", "inferring", "claimed", "transforms")

    def __init__(self) -> None:
        self.enabled, self.inference, self.inferring, self.claimed = mode.enabled, mode.inference, mode.inferring, mode.claimed
        self.transforms = mode.transforms.copy()

    def put_back(self) -> None:
        """Let them be so again."""
        mode.enabled, mode.inference, mode.inferring, mode.claimed = self.enabled, self.inference, self.inferring, self.claimed
        for transform in mode.transforms[len(self.transforms) :]:
            while transform in unusual:
                unusual.remove(transform)
        mode.transforms[:] = self.transforms


class transforming:
    """While a transform of functions (``func.grad``, ``vmap``, ...) runs the user's. A class: a generator takes longer."""

    __slots__ = ("transform",)

    def __init__(self, transform: Any):
        self.transform = transform

    def __enter__(self) -> Any:
        mode.transforms.append(self.transform)
        unusual.append(self.transform)
        return self.transform

    def __exit__(self, *error: object) -> None:
        unusual.remove(self.transform)
        mode.transforms.remove(self.transform)


def refuse_in_transform(op: str, hint: str) -> None:
    """Refuse what belongs to graphs of the user's own inside of a transformed function, whose graphs are the transform's.

    Raises:
        GradError: a transform runs in this thread.
    """
    if mode.transforms:
        raise GradError(f"{op}: called inside of a function that a transform (func.grad, vjp, jvp, vmap, ...) runs. Hint: {hint}.")


def note_leaf(x: Any) -> None:
    """Let a leaf that a transformed function makes belong to the innermost run of reverse mode: NOTE [Transforms]."""
    for transform in reversed(mode.transforms):
        if hasattr(transform, "live"):
            x.__dict__["_run_"] = transform
            return


def is_grad_enabled() -> bool:
    """Whether operations are being recorded in this thread; in inference mode what was last asked for, though nothing is.

    >>> with nbgrad.no_grad():
    ...     nbgrad.is_grad_enabled()
    False
    """
    return mode.claimed if mode.inference else mode.enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``.

    >>> with nbgrad.inference_mode():
    ...     nbgrad.is_inference_mode_enabled()
    True
    """
    return mode.inference


def set_recording(enabled: bool) -> bool:
    """Set what ``is_grad_enabled`` says; returns what it said."""
    if mode.inference:
        before, mode.claimed = mode.claimed, enabled
    else:
        before, mode.enabled = mode.enabled, enabled
    return before


# ---- decorators ----------------------------------------------------------------------------------------------------


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


# ---- contexts ------------------------------------------------------------------------------------------------------


class _DecoratorContextManager:  # torch's name
    """A context manager that decorates functions, too: what is derived from it defines ``__enter__`` and ``__exit__``.

    A function runs inside of a fresh ``clone()`` in each call, and the body of a generator in each of its steps.
    """

    def clone(self):
        """A fresh context of the same meaning: one instance may decorate a function that calls itself."""
        return type(self)()

    def __call__(self, function: F) -> F:
        return decorate(self.clone, function)


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
