"""What is noted of every node that is recorded, beside what it computes: its place in anomaly mode, its streams on GPUs.

Both are one word to native code, which tests it where a node is made: NOTE [Places] of native/node_lines.py.
"""

from __future__ import annotations

from typing import Any

from ..tensors.choices import DEFAULT, Choice, current
from ..tensors.tensor import native
from .node import Node

__all__ = ["OnStreams", "choice_of", "note", "note_streams"]

NOTHING: tuple = (None, None, [], None, None)


class OnStreams:
    """The place of a node that was recorded on other streams than the default ones.

    Attributes:
        place: where in the program that was, if anomaly mode was on.
        choice: the streams of the thread.
    """

    __slots__ = ("place", "choice")

    def __init__(self, place: Any, choice: Choice):
        self.place, self.choice = place, choice

    def line(self) -> str:
        """The user's line."""
        return str(self.place.line()) if self.place is not None else "an unknown line"

    def metadata(self) -> dict[str, Any]:
        """What ``node.metadata`` shows of it."""
        return {} if self.place is None else self.place.metadata()


def on_streams(place: Any) -> Any:
    """What a new node keeps of its recording."""
    choice = current.choice
    if choice is DEFAULT:
        return place
    if place is not None:
        return OnStreams(place, choice)
    if choice.note is None:
        choice.note = OnStreams(None, choice)
    return choice.note


def choice_of(node: Node) -> Choice:
    """The streams on which a node was recorded."""
    place = getattr(node, "_place_", None)
    return place.choice if type(place) is OnStreams else DEFAULT


class Noted:
    """What is noted."""

    places: tuple | None = None
    streams = False


def note(places: tuple | None) -> None:
    """Note places, in anomaly mode; None: no longer. See NOTE [Places] of native/node_lines.py."""
    Noted.places = places
    renew()


def note_streams() -> None:
    """Note streams, from now on."""
    Noted.streams = True
    renew()


def renew() -> None:
    """Tell native code."""
    if Noted.streams:
        native.watch((*(Noted.places or NOTHING), on_streams))
    else:
        native.watch(None if Noted.places is None else (*Noted.places, None))
