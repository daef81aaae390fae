"""What a capture is told of that is no call: of gradients, histories and shapes that the function looks at or changes itself."""

from __future__ import annotations

from threading import get_ident
from typing import Callable

from ...base.errors import GraphError
from ...modes.interpreters import Presence
from ...tensors.tensor import Tensor
from ...views import is_view
from ..ir.lines import user_line
from ..state.effects import Effects
from .variables import Variables

__all__ = ["Observations"]


class Observations(Presence):
    """A capture as accessors of tensors and passes see it.

    Attributes:
        thread: that captures.
        variables: what is known of memory; ``effects``: what the function changes that was there before; None where it may
            change nothing.
        refused: why no graph holds the function, which may have caught it.
    """

    thread: int
    variables: Variables
    effects: Effects | None
    refused: GraphError | None

    def note_pass(self) -> None:
        """A pass begins."""
        if get_ident() == self.thread and self.effects is not None:
            self.effects.refuse_hooks()

    def note_gradient(self, leaf: Tensor) -> None:
        """A pass accumulates the gradient of a leaf.

        Raises:
            GraphError: of one that the captured function does not make itself.
        """
        if get_ident() == self.thread and not self.variables.is_made(leaf):
            if self.effects is None:
                self.refuse("backward: accumulates into .grad", "nbgrad.grad returns gradients, and a graph holds them")
            else:
                self.effects.note_leaf(leaf)
                self.effects.note_read(leaf)

    def note_gradient_read(self, x: Tensor) -> None:
        """The function looks at the gradient of a tensor."""
        if self.effects is not None:
            self.effects.note_read(x)

    def note_history_asked(self, x: Tensor) -> None:
        """The function asks whether a tensor was computed, and by what."""
        if self.effects is not None:
            self.effects.note_history_asked(x)

    def note_moved(self, x: Tensor, name: str) -> None:
        """The function gives a tensor another shape, in place, which must be one that it has made, on memory of its own."""
        if not self.variables.is_made(x):
            self.refuse(f"{name}: gives a tensor another shape that the function does not make", f"use what {name[:-1]} returns")

    def note_detached(self, x: Tensor) -> None:
        """The function cuts a tensor off its history."""
        self.note_alias(x)
        if self.effects is not None:
            self.effects.note_detached(x)

    def note_alias(self, x: Tensor) -> None:
        """The function has made a tensor without a history, on the memory of another one."""
        if self.variables.flows is not None:
            self.variables.flows.mark(x)

    def note_data(self, x: Tensor, value: Tensor) -> None:
        """The function puts a tensor on the memory of another one: as it will be put on that of a result, behind every run.

        Raises:
            GraphError: it is no tensor that the function names, or what it shows would be another layout's.
        """
        effects, variables, layout = self.effects, self.variables, value.layout.plain()
        alike = x.layout.plain() is layout and layout.dense and not is_view(x)
        named = variables.known.get(id(x._storage_.array)) is x or (effects is not None and id(x) in effects.moved)
        if effects is None or variables.flows is not None or not named or not alike:
            self.refuse("data: puts a tensor on other memory", "copy_, under no_grad, writes to the memory that it has")
        else:
            variables.exchange(x, value)
            effects.note_moved(x)

    def note_flag_set(self, x: Tensor) -> None:
        """The function says anew whether a tensor needs a gradient."""
        if self.effects is not None and id(x) in self.effects.standins:
            self.effects.flagged = True

    def note_gradient_set(self, x: Tensor) -> None:
        """The function exchanges the gradient of a tensor."""
        if self.effects is not None:
            self.effects.note_set(x)
        elif not self.variables.is_made(x):
            self.refuse("grad: sets the gradient of a tensor that the function does not make", "return the gradient")

    def refuse(self, what: str, hint: str) -> None:
        """What no graph holds.

        Raises:
            GraphError: in the thread that captures.
        """
        if get_ident() == self.thread:
            self.refused = GraphError(f"{what}, at {user_line()}: a graph cannot hold it. Hint: {hint}.")
            raise self.refused

    def after_runs(self, action: Callable[[], None]) -> None:
        """What every call does in the end, and this capture does not."""
        if self.effects is not None:
            self.effects.after.append(action)
