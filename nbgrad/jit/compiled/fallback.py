"""Calls of a compiled function that run as it is: for what reasons, what is said of these, how often they are looked at.

NOTE [As it is]: what no graph holds is known by what a call is chosen by (``_broken_``), so that the next such call is not captured
again; it is said once. Where most calls are of that kind, looking at them costs more than it finds: behind ``MOST_IDLE`` of them
in a row only one of ``REST`` is looked at.

NOTE [Room]: behind the limit, calls that come again and again take the place of the variant that was not used for the longest time,
if it was not used since they came first: a program that goes on to other sizes is compiled for these. They must have taken
``PATIENCE`` times as long as a capture takes, so whatever comes, captures take a fraction of the time. Of a function that is called
with more sizes in turn than it may have variants, all are in use, and none gives way.
"""

from __future__ import annotations

import warnings
from math import inf
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Any, Callable

from ...base.bounded import keep
from ...base.errors import GraphError
from ..arguments.structures import Foreign
from ..ir.lines import user_level
from ..state.capture_lock import CaptureLock

if TYPE_CHECKING:
    from .runs import Run

__all__ = ["PREFIX", "Fallback"]

MOST_IDLE, REST = 32, 256  # calls that run as they are, until so many are not looked at
PATIENCE = 8  # captures, of which the time is spent on calls of a kind behind the limit before they may have a variant
MOST_NEW = 64  # kinds of such calls that are remembered
MEMORY = "which tensors need gradients, have some, share memory or are variables of the function"
PREFIX = "compile: "  # of messages that stand in others


class Fallback:
    """A function that runs as it is where it has no program.

    Attributes:
        fn: the function; ``fullgraph``, ``limit``: see ``compile``.
        _broken_: why no graph holds such calls, by what they are chosen by; ``_failures_``: how many captures came to nothing.
        _full_: what was new behind the limit of variants; ``_count_``: how many there are.
        _idle_: calls in a row that ran as they are; ``_rest_``: how many more are not looked at.
        _variants_: what was captured, by what calls are chosen by; ``_recent_``: what calls begin with.
        _looks_: calls that were looked at; ``_new_``: by kinds of calls behind the limit, how many had been when
            the first came, and the seconds that they took.
        _doubts_: of errors that the function may raise as it is, too.
    """

    fn: Callable
    fullgraph: bool
    limit: int
    _variants_: dict[Any, list[Run]]
    _recent_: list[Run]
    _count_: int
    _room_: CaptureLock
    _quick_: Callable
    _positional_: Callable

    def _begin_(self) -> None:
        """Nothing is known of any call."""
        self._broken_: dict[Any, str] = {}
        self._doubts_: dict[Any, str] = {}
        self._full_, self._failures_, self._idle_, self._rest_ = "", 0, 0, 0
        self._new_: dict[Any, tuple[int, float]] = {}
        self._looks_ = 0

    def _as_it_is_(self, error: Foreign, args: tuple, kwargs: dict) -> Any:
        """A call with arguments that no program takes."""
        if self.fullgraph:
            raise error
        text = str(error)
        if text not in self._broken_:
            self._broken_[text] = text
            self._say_(f"runs as it is: {text.removeprefix(PREFIX)}")
        return self._plainly_(args, kwargs)

    def _break_(self, key: Any, why: str) -> None:
        """No graph holds such calls."""
        said = why in self._broken_.values()
        self._broken_[key] = why
        self._failures_ += 1
        if not (self.fullgraph or said):
            self._say_(f"runs as it is: {why.removeprefix(PREFIX)}")

    def _say_(self, what: str) -> None:
        """Warn of something."""
        warnings.warn(f"{PREFIX}{self._called_()} {what}", stacklevel=user_level())

    def _called_(self) -> str:
        """What the function is called, for people."""
        return str(getattr(self.fn, "__name__", "the function"))

    def _told_(self, why: str) -> str:
        """Why no graph holds the function, as the message of an error, which names it."""
        return why if why.startswith(PREFIX) else f"{PREFIX}{self._called_()}: {why}"

    def _public_(self, error: Exception) -> Exception:
        """An error of a capture as programs know it."""
        if not isinstance(error, GraphError) or isinstance(error, Foreign):
            return error
        if type(error).__module__ != GraphError.__module__:
            return GraphError(self._told_(str(error)))
        error.args = (self._told_(str(error)),)  # with its traceback, which shows the line
        return error

    def _uncaptured_(self, key: Any, args: tuple, kwargs: dict) -> Any:
        """A call that has no program, now."""
        doubt = self._doubts_.pop(key, "")
        made = self._room_.run(self.fn, args, kwargs)
        if doubt:  # it has not raised
            self._break_(key, doubt)
        return made

    def _plainly_(self, args: tuple, kwargs: dict, fn: Callable | None = None) -> Any:
        """A call of which it is known that it runs as it is. Behind many of them, only some are looked at.

        Args:
            fn: what runs in the place of the function.
        """
        self._idle_ += 1
        if self._idle_ >= MOST_IDLE:
            self._rest_, self._quick_ = REST, self._resting_
        elif self._idle_ >= MOST_IDLE // 2:  # so that all calls come here
            self._quick_ = self._positional_
        return self._room_.run(fn or self.fn, args, kwargs)

    def _resting_(self, *args: Any) -> Any:
        """A call that is not looked at."""
        self._rest_ -= 1
        if self._rest_ <= 0:
            self._rest_, self._quick_ = 0, self._positional_
        return self.fn(*args)

    def _make_room_(self, group: list[Run], key: Any) -> bool:
        """Whether a variant has given way to a kind of calls of which there is none: NOTE [Room].

        What native code tries is in use, for all that is known here. Where the names of a variant of this kind hold other things, a
        further one may be of no use to the next call.
        """
        first, seconds = self._new_.get(key, (0, 0.0))
        captured = [variant for variants in self._variants_.values() for variant in variants]
        if group or seconds < PATIENCE * min([variant.cost.seconds for variant in captured], default=inf):
            return False
        self._new_.pop(key, None)
        idle = [variant for variant in captured if variant.seen < first and variant not in self._recent_]
        if not idle:
            return False
        gone = min(idle, key=attrgetter("seen"))
        kept = {key: [x for x in variants if x is not gone] for key, variants in self._variants_.items()}
        self._variants_ = {key: variants for key, variants in kept.items() if variants}
        self._count_ = sum(map(len, self._variants_.values()))
        return self._count_ < self.limit

    def _eagerly_(self, group: list[Run], key: Any, args: tuple, kwargs: dict) -> Any:
        """A call behind the limit of variants, or of those that have come to nothing."""
        if not self._full_ and self._count_ >= self.limit:
            found = (
                (group[-1].guards.changed() or group[-1].first_guard() or MEMORY)
                if group
                else "layouts, flags or values of arguments"
            )
            self._full_ = why = found
            warnings.warn(
                f"{PREFIX}{self._called_()} was captured {self.limit} times, and runs as it is for "
                f"what is new: {why}. Hint: a higher limit, or fewer things that change from call to call; cond, while_loop and "
                "scan hold branches and loops that depend on values.",
                stacklevel=user_level(),
            )
        calls = REST if self._idle_ >= MOST_IDLE else 1  # the others were not looked at

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            made = self.fn(*args, **kwargs)
            first, seconds = self._new_.get(key, (self._looks_, 0.0))
            keep(self._new_, key, (first, seconds + calls * (perf_counter() - start)), MOST_NEW)
            return made

        return self._plainly_(args, kwargs, timed)
