"""Warnings of captured functions, which every run gives again.

NOTE [Warnings]: a function that warns while it is captured would warn once. ``warnings.warn`` is exchanged meanwhile: what it is
told becomes a node ``warn``, which runs at the end of every run, behind all that could stop it. Python decides there, by its
filters and by what it has noted of the place, as it does of the function's own warning. Where the program has set filters of its
own inside of the function, what these ignore is no node. A program that records the warning, or makes an error of it, runs as it
is, and so does one that calls ``warn`` by a name of its own. Bodies of loops warn when they are captured, as they do eagerly.
"""

from __future__ import annotations

import sys
import warnings
from threading import get_ident
from types import BuiltinFunctionType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from ...base.grad_mode import traces
from ..ir.ir import Control, Node
from ..ir.lines import is_own
from ..ir.qualified_names import function_named

if TYPE_CHECKING:
    from ..capture.capture import Trace

__all__ = ["WARN", "Warner", "is_warner", "put_back_warner", "put_warner"]

HINT = "warn outside"
BY_NAME = "warn", "warn_explicit"


class Warner:
    """What stands in the place of ``warnings.warn`` while functions are captured.

    Attributes:
        own: the function; ``filters``: those of the process when it was exchanged.
    """

    def __init__(self, own: Any):
        self.own, self.filters = own, warnings.filters

    def __call__(self, message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **kwargs: Any) -> None:
        frame, trace = sys._getframe(1), compiling()
        if trace is None or is_machinery(frame):
            self.own(message, category, stacklevel + 1, *args, **kwargs)
            return
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        place = place_of(frame, max(stacklevel, 1))
        action = action_of(str(message), kind, place)
        if args or kwargs or action == "error" or warnings.filters is not self.filters and action != "ignore":
            trace.refuse("warnings.warn: is an error, or recorded", HINT)
        if warnings.filters is self.filters:
            trace.add(WARN, (), {"message": str(message), "category": name_of(kind, trace), "place": place}, ())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def compiling() -> Trace | None:
    """The capture of this thread's compiled function; None while there is none, in bodies of loops, and where it does not look."""
    mine = [trace for trace in tuple(traces) if trace.thread == get_ident()]
    return mine[0] if len(mine) == 1 and mine[0].effects is not None and not mine[0].depth else None


def is_machinery(frame: FrameType) -> bool:
    """Whether it is a compiled function that warns of something itself."""
    return str(frame.f_globals.get("__name__", "")).startswith("nbgrad.jit.")


def place_of(frame: FrameType | None, level: int) -> tuple[str, int, str, int]:
    """The file, the line and the module that a warning is of; beyond the captured function how many frames above its call."""
    while frame is not None and level > 1:
        frame, level = frame.f_back, level - 1
        if frame is not None and is_machinery(frame):
            return "", 0, "", level
    if frame is None:
        return "sys", 1, "sys", 0
    return frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__") or "<string>", 0


def action_of(message: str, category: type, place: tuple[str, int, str, int]) -> str:
    """What the filters say of a warning, but for how often it was given."""
    _, line, module, _ = place
    for action, text, kind, where, number in warnings.filters:
        if (
            (text is None or (text.match(message) if hasattr(text, "match") else text == message))
            and issubclass(category, kind)
            and (where is None or not module or (where.match(module) if hasattr(where, "match") else where == module))
            and number in (0, line)
        ):
            return action
    return "default"


def name_of(kind: type, trace: Trace) -> str:
    """A class by ``module:name``.

    Raises:
        GraphError: it has none.
    """
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        known = function_named(name) is kind
    except (ImportError, AttributeError):
        known = False
    if not known:
        trace.refuse(f"warnings.warn: no module has the class {kind.__name__}", HINT)
    return name


def warned(node: Node, values: dict, *, message: str, category: str, place: tuple[str, int, str, int]) -> tuple:
    """Warn, or have a capture warn."""
    trace, kind = compiling(), cast("type[Warning]", function_named(category))
    file, line, module, above = place
    if above:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and is_own(frame.f_code.co_filename):
            frame = frame.f_back
        file, line, module, above = place_of(frame, above)
    if trace is not None:
        trace.add(WARN, (), {"message": message, "category": category, "place": (file, line, module, above)}, ())
        return ()
    names = vars(sys.modules[module]) if module in sys.modules else {}
    warnings.warn_explicit(message, kind, file, line, module, names.setdefault("__warningregistry__", {}))
    return ()


WARN = Control("warn", warned, effect="host")
WARN.last = True


def is_warner(value: Any) -> bool:
    """Whether something that a program names is ``warnings.warn`` itself, which nobody exchanges."""
    if not isinstance(value, (BuiltinFunctionType, FunctionType)):
        return False
    return value.__module__ in ("_warnings", "warnings") and value.__name__ in BY_NAME


def put_warner() -> None:
    """Exchange ``warnings.warn``, for all threads."""
    if type(warnings.warn) is not Warner:
        warnings.warn = Warner(warnings.warn)


def put_back_warner() -> None:
    """Let it be what it was, but where somebody else has exchanged it meanwhile."""
    found: Any = warnings.warn
    if type(found) is Warner:
        warnings.warn = found.own
