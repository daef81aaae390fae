"""Native code for anomaly mode: it notes in which line of the program each node is made.

NOTE [Places]: a place is where in the program nbgrad was called: the instruction of every frame, innermost first. ``find_place``
walks the interpreter's own frames, which makes no frame object, and looks the walk up in a table: the same line, reached in the
same way, is one object. A place not seen before is made by Python, and so is every place where this Python's frames are not known:
their layout changes with its version, and ``FRAMES`` names the ones that were tried.

``watcher`` is empty while the mode is off and no stream of a GPU but default ones was used. Else it is a tuple of
  - a list of ``(walk as bytes, place)`` or None, by the hash of the walk; None where frames are not known;
  - ``capture_place(walk, index)``, which makes a place; None while the mode is off;
  - a list that is empty while no pass runs, and ``induced(place)``, asked while one does;
  - ``remember_writer(storage)``, told before a write, or None;
  - ``on_streams(place)``, which makes of a new node's place, or None, what also knows the streams of this thread; or None.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

from .language import Static, entry, native
from .primitives import bytes_of, forget, get_int64, keep, kept, same_words, thread_state, top_bits, words

if TYPE_CHECKING:
    from ..graph.node import Node
    from ..tensors.storage import Storage

__all__ = ["FRAMES", "MOST_FRAMES", "PLACES", "note_place", "note_write", "place", "watch"]

PLACE_BITS = 12
PLACES = 1 << PLACE_BITS  # entries of the table
MOST_FRAMES = 256  # the outermost frames of a deeper stack are left out

# Where things lie, by version of Python: the steps from the thread's state to its innermost frame; in a frame its caller and its
# instruction.
FRAMES: dict[tuple[int, int], tuple[tuple[int, ...], int, int]] = {
    (3, 11): ((56, 8), 48, 56),
    (3, 12): ((56, 0), 8, 56),
    (3, 13): ((72,), 8, 56),
    (3, 14): ((72,), 8, 56),
}
_steps, CALLER, INSTRUCTION = FRAMES.get(sys.version_info[:2], FRAMES[3, 11])  # of an unknown one any: nobody asks
FIRST_STEP, SECOND_STEP = (*_steps, -1)[:2]

Watcher = tuple[Any, Any, list, Any, Any, Any]
watcher = Static(0)


@entry
def watch(found) -> None:
    """Note the places of new nodes, and writes, with the help of such a tuple; None ends it."""
    if found is None:
        forget(watcher, 0)
    else:
        keep(watcher, 0, found)


@native(inline=True)
def note_place(node: Node) -> None:
    """Give a new node its place, if one is noted."""
    if watcher[0] != 0:
        give_place(node)


@native(cold=True)
def give_place(node: Node) -> None:
    """``note_place`` while places are noted. The node stays without a place where none can be made."""
    try:
        held = cast(Watcher, kept(watcher, 0))
        found = find_place(held)
        _, _, _, _, _, on_streams = held
        if on_streams is not None:
            found = on_streams(found)
        if found is not None:
            node._place_ = found
    except BaseException:
        pass


@native(inline=True)
def note_write(storage: Storage) -> None:
    """Tell that a storage is about to be written to, if the mode is on."""
    if watcher[0] != 0:
        tell_write(storage)


@native(cold=True)
def tell_write(storage: Storage) -> None:
    """``note_write`` while the mode is on."""
    try:
        _, _, _, _, written, _ = cast(Watcher, kept(watcher, 0))
        if written is not None:
            written(storage)
    except BaseException:
        pass


@entry
def place():
    """The place of the caller in anomaly mode, else None."""
    if watcher[0] == 0:
        return None
    try:
        return find_place(cast(Watcher, kept(watcher, 0)))
    except BaseException:
        return None


@native(cold=True)
def find_place(held: Watcher):
    """The place from which this was called: NOTE [Places]; None while the mode is off.

    Args:
        held: the watcher as it is: what Python does meanwhile may change it.
    """
    places, capture, running, induced, _, _ = held
    if capture is None:
        return None
    table: list | None = places
    found = capture(None, None) if table is None else known_place(table, capture)
    if running:
        return induced(found)
    return found


@native(cold=True, python=lambda places, capture: capture(None, None))
def known_place(places: list, capture):
    """A place from the table, or a new one."""
    walk = words(256)
    frame, count, mixed = get_int64(thread_state() + FIRST_STEP), 0, 0
    if SECOND_STEP >= 0:
        frame = get_int64(frame + SECOND_STEP)
    while frame != 0 and count < MOST_FRAMES:
        instruction = get_int64(frame + INSTRUCTION)
        walk[count] = instruction
        mixed = (mixed + instruction) * -7046029254386353131
        count += 1
        frame = get_int64(frame + CALLER)
    index = top_bits(mixed, PLACE_BITS)
    pair: tuple | None = places[index]
    if pair is not None:
        seen: bytes = pair[0]
        if same_words(seen, walk, count):
            return pair[1]
    return capture(bytes_of(walk, count), index)
