"""What no graph holds, for it is outside of the process or changes by itself: clocks, files, printed text, logs.

NOTE [Outside]: a function that prints or logs while it is captured would do so once. ``watching`` sees that, and the function runs
as it is. Clocks and files are seen by their names: whoever names them is taken to use them once it is called, which
``calls_watched`` sees; a method that keeps a file may stand beside one that is captured. In steps in Python that a program will run
itself nothing is printed while it is captured.
"""

from __future__ import annotations

import datetime
import io
import logging
import sys
from contextlib import contextmanager
from enum import Enum
from queue import SimpleQueue
from threading import Lock, get_ident
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from ...base.errors import GraphError
from ...base.grad_mode import traces
from ..nodes.rehearsals import rehearsing
from ..nodes.warnings import put_back_warner, put_warner

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["BUILTINS", "TODAY", "calls_watched", "is_calendar", "may_differ", "outside", "watching"]

CLOCKS = "time perf_counter monotonic process_time thread_time localtime gmtime ctime sleep".split()
FUNCTIONS = {
    "time": [*CLOCKS, *(f"{name}_ns" for name in CLOCKS[:5])],
    "os": ["urandom", "getrandom"],
    "uuid": ["uuid1", "uuid4"],
    "secrets": ["token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "choice"],
}
RESOURCES = frozenset({"mmap", "sqlite3", "_socket", "socket"})  # modules whose objects are outside of the process, too
BUILTINS = frozenset({"open", "input", "globals", "eval", "exec"})
TODAY = frozenset({"now", "utcnow", "today"})  # methods of calendars
OUTSIDE = "call it outside, and give the function what it returns"
HINT = "nbgrad.jit.print prints in every call, and leaves the graph whole"


def outside(value: Any) -> str:
    """What a value is that a program names, if no graph holds what is done with it; else ""."""
    if isinstance(value, io.IOBase) and value not in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        return "an open file"
    if type(value) is SimpleQueue:
        return "a queue"
    if type(value).__module__ in RESOURCES and not isinstance(value, Enum):
        return f"a {type(value).__name__} of {type(value).__module__.strip('_')}"
    if not isinstance(value, (BuiltinFunctionType, FunctionType, MethodType)):
        return ""
    name = value.__name__
    return next((f"{module}.{name}" for module, names in FUNCTIONS.items() if name in names and is_of(module, name, value)), "")


def is_of(module: str, name: str, value: Any) -> bool:
    """Whether a module has the value by that name."""
    return getattr(sys.modules.get(module), name, None) is value


def is_calendar(value: Any) -> bool:
    """Whether a class tells what day it is, by methods ``TODAY``."""
    return isinstance(value, type) and issubclass(value, datetime.date)


def capturing() -> Trace | None:
    """The innermost capture of this thread, if a compiled function is captured."""
    mine = [trace for trace in traces[:] if trace.thread == get_ident()]
    return mine[-1] if mine and mine[0].effects is not None else None


def may_differ(name: str) -> GraphError:
    """Why a function that names something outside is not captured."""
    return GraphError(f"{name}: may be another one in every call. Hint: {OUTSIDE}.")


@contextmanager
def calls_watched(naming: Mapping[int, tuple[CodeType, str]]) -> Iterator[None]:
    """While a function is captured which may call such that name what no graph holds: a capture ends before one of these runs.

    Args:
        naming: their codes and the names, by the codes' identities.

    Raises:
        GraphError: one is called; or a profiler is there, which would be told of nothing.
    """
    if not naming:
        yield
        return
    if sys.getprofile() is not None:
        raise may_differ(next(iter(naming.values()))[1])

    def see(frame: FrameType, event: str, argument: Any) -> None:
        found = naming.get(id(frame.f_code)) if event == "call" else None
        trace = None if found is None else capturing()
        if found is not None and trace is not None and not trace.depth:
            trace.refused = may_differ(found[1])
            raise trace.refused

    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)


class Watched:
    """A stream that text is printed to, while functions are captured."""

    def __init__(self, stream: Any, warned: bool = False):
        self.__dict__.update(_stream=stream, _warned=warned)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._stream, name, value)

    def write(self, text: Any) -> Any:
        """Write it, if it is no compiled function's that is captured, and no rehearsal's.

        Raises:
            GraphError: it is.
        """
        trace = capturing()
        if trace is None and rehearsing():
            return len(text)
        if trace is None or self._warned and is_warning():
            return self._stream.write(text)
        if not trace.depth:
            trace.refuse("print: writes text", HINT)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for text in lines:
            self.write(text)


def is_warning() -> bool:
    """Whether it is a warning that is being written."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") == "warnings":
            return True
        frame = frame.f_back
    return False


class Records:
    """What makes the records of logs, while functions are captured."""

    def __init__(self, factory: Any):
        self.factory = factory

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = capturing()
        if trace is not None and not trace.depth:
            trace.refuse("logging: writes a record", HINT)
        return self.factory(*args, **kwargs)


lock = Lock()


@contextmanager
def watching(trace: Trace | None = None) -> Iterator[None]:
    """While a compiled function is captured, in whatever thread, or rehearsed."""
    try:
        with lock:
            if sys.stdout is not None and type(sys.stdout) is not Watched:
                sys.stdout = Watched(sys.stdout)
            if sys.stderr is not None and type(sys.stderr) is not Watched:
                sys.stderr = Watched(sys.stderr, warned=True)
            if type(logging.getLogRecordFactory()) is not Records:
                logging.setLogRecordFactory(Records(logging.getLogRecordFactory()))
            put_warner()
        yield
    finally:
        with lock:
            if all(other is trace or other.effects is None for other in tuple(traces)):
                leave()


def leave() -> None:
    """Put streams back, but for those that somebody else has put there meanwhile."""
    if type(sys.stdout) is Watched:
        sys.stdout = sys.stdout._stream
    if type(sys.stderr) is Watched:
        sys.stderr = sys.stderr._stream
    factory: Any = logging.getLogRecordFactory()
    if type(factory) is Records:
        logging.setLogRecordFactory(factory.factory)
    put_back_warner()
