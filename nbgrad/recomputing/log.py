"""A log of what a checkpointed function did in its first and in its second run, for the error that says how they differ."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator

from ..base.grad_mode import special
from ..base.user_stack import user_stack
from ..debug import describe
from ..modes.interpreters import Presence
from .reruns import CheckpointError, Frame

__all__ = ["ExplainedFrame"]


class CallLog(Presence):
    """An observer that notes this thread's calls and where they were made."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []
        self.thread = threading.get_ident()

    def seen(self, op: Any, operands: tuple, out: Any) -> None:
        """Note one call."""
        if threading.get_ident() == self.thread:
            text = f"{op.name}({', '.join(map(describe, operands))}) -> {describe(out)}"
            self.entries.append((text, "".join(f"  {entry}\n" for entry in user_stack())))

    def __enter__(self) -> CallLog:
        special.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        special.remove(self)


class ExplainedFrame(Frame):
    """A frame that shows the operations of both runs where they differ."""

    __slots__ = ("first", "second")

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.first, self.second = CallLog(), CallLog()

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """The first run happens inside."""
        with self.first, super().saving():
            yield

    def recompute(self, run: Any) -> None:
        """Run the function again.

        Raises:
            CheckpointError: with the operations of both runs.
        """
        self.second = CallLog()
        try:
            with self.second:
                super().recompute(run)
        except CheckpointError as error:
            raise CheckpointError(f"{error}\n{explanation(self.first, self.second)}") from error


def explanation(first: CallLog, second: CallLog) -> str:
    """Both runs: where every operation was called, then their operations in order."""
    parts = []
    for title, log in (("original forward", first), ("recomputation", second)):
        parts.append(f"\nStack traces of the operations of the {title}:\n")
        parts += [f"{text}   ({k} of {len(log.entries)} in {title})\n{stack}" for k, (text, stack) in enumerate(log.entries, 1)]
    for title, log in (("original forward", first), ("recomputation", second)):
        parts.append(f"\nOperations executed during the {title}:\n" + "".join(f"  {text}\n" for text, _ in log.entries))
    return "".join(parts)
