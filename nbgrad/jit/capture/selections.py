"""What ``x[i]`` is in the body of a loop where ``i`` is a tensor: NOTE [Places that are followed] of composites/subscript.py."""

from __future__ import annotations

from typing import Any

from ...base.errors import GraphError
from ...tensors.tensor import Tensor
from ..ir.lines import user_line

__all__ = ["Selections"]

WHAT = "x[i], where i is a tensor, is a copy in the body of a loop"


class Selection:
    """A copy that stands for a view.

    Attributes:
        array, base: its memory, and that of what it is a part of. writes: how often that had been written to.
        written: where the copy was written to, unless that was put back.
    """

    __slots__ = ("array", "base", "writes", "written")

    def __init__(self, array: Any, base: Any, writes: int):
        self.array, self.base, self.writes, self.written = array, base, writes, ""


class Selections:
    """The copies of a capture that stand for views.

    Attributes:
        table: its variables, by identity of their memory.
        made: the copies, by identity of theirs.
    """

    def __init__(self, table: dict[int, Any]):
        self.table, self.made = table, dict[int, Selection]()

    def note(self, base: Tensor, x: Tensor) -> None:
        """``x`` is a copy of a part of ``base``."""
        array = base._storage_.array
        self.made[id(x._storage_.array)] = Selection(x._storage_.array, array, self.writes_to(array))

    def note_written(self, x: Tensor) -> None:
        """The program writes to ``x``."""
        selection = self.made.get(id(x._storage_.array))
        if selection is not None:
            selection.written = user_line() or "an unknown line"

    def note_put_back(self, base: Tensor, x: Tensor) -> None:
        """``x`` is written to ``base``."""
        selection = self.made.get(id(x._storage_.array))
        if selection is not None and selection.base is base._storage_.array:
            self.require_current(x)
            selection.written = ""

    def writes_to(self, array: Any) -> int:
        """How often memory was written to."""
        variable = self.table.get(id(array))
        return 0 if variable is None else variable.writes

    def require_current(self, x: Tensor) -> None:
        """Refuse a copy of what has changed since.

        Raises:
            GraphError: it is one.
        """
        selection = self.made.get(id(x._storage_.array))
        if selection is not None and self.writes_to(selection.base) != selection.writes:
            raise GraphError(f"{WHAT}: at {user_line()} it is read behind a write to x. Hint: x[i] again, behind the write.")

    def require_put_back(self) -> None:
        """Refuse a write to a copy that did not reach what the view is of.

        Raises:
            GraphError: there was one.
        """
        for selection in self.made.values():
            if selection.written:
                raise GraphError(f"{WHAT}: what is written to it at {selection.written} would not reach x. Hint: x[i] = value.")
