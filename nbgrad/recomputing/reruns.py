"""Running a function again to rebuild what it saved, for recomputing/checkpoint.py and recomputing/revolve.py.

NOTE [Recomputation]: a checkpointed call runs under saved-tensor hooks, whose ``pack`` keeps of every tensor only its place in the
order of saving: a ``Holder``. The first ``unpack`` of a pass runs the function again, on the same inputs and random numbers, under
hooks that put the k-th tensor saved into the k-th holder that is still alive, and stops as soon as the last one has come
(early stop). Each holder gives its tensor away once a pass, so that memory falls as the pass proceeds.
  1. inputs are saved like any node's: a write to one is found out, and hooks outside see them. So checkpoints nest.
  2. the graph of the second run is dropped with it: gradients flow through the nodes of the first.
  3. passes are told apart by their number: a graph that is kept is recomputed in each.
  4. what the function itself writes to after it was saved is found out by the second run's versions, as without a checkpoint.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from functools import partial
from typing import Any, Callable, ContextManager, Iterable, Iterator, Sequence

from ..base.errors import GradError, VersionError
from ..base.mode_contexts import enable_grad
from ..creation.generators import Generator, default_generators, restore
from ..graph.packing import pack_tensor
from ..graph.saved import SavedTensor, unpacked, version_error
from ..graph.saved_hooks import active_hooks, saved_tensors_hooks
from ..graph.task import current_graph_task_id, queue_callback
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor, native

__all__ = ["CheckpointError", "DETERMINISM_CHECKS", "Frame", "GraphExecGroup", "Streams", "saved", "streams_of"]


class CheckpointError(GradError):
    """The second run of a checkpointed function did not save what the first had saved."""


# ---- random numbers ------------------------------------------------------------------------------------------------


class Streams:
    """The states of the random generators that a call can draw from: the default one, and those among its arguments."""

    __slots__ = ("states",)

    def __init__(self, values: Iterable[Any] = ()):
        generators = [*default_generators(), *(x for x in values if isinstance(x, Generator))]
        self.states = [(generator, generator.get_state()) for generator in generators]

    def restore(self) -> None:
        """Return every generator to its state."""
        restore(self.states)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """After it, the generators are in these states again."""
        try:
            yield
        finally:
            self.restore()

    @contextlib.contextmanager
    def replayed(self) -> Iterator[None]:
        """Inside, the same numbers are drawn again; after it, the generators are as before."""
        with Streams(generator for generator, _ in self.states[1:]).kept():
            self.restore()
            yield


def streams_of(preserve_rng_state: bool, values: Iterable[Any] = ()) -> Callable[[], ContextManager]:
    """The contexts to enter around a second run."""
    return Streams(values).replayed if preserve_rng_state else contextlib.nullcontext


# ---- recomputation: see NOTE [Recomputation] -----------------------------------------------------------------------


class _Group(threading.local):
    current: GraphExecGroup | None = None


class GraphExecGroup:
    """Passes inside one ``with`` block share what checkpoints recompute: each function runs again once for all of them.

    The passes must not need the same saved tensor twice, even if the graph is retained.

    >>> calls = []
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> y = nbgrad.checkpoint(lambda x: (calls.append("run"), x.sin(), x.cos())[1:], x, use_reentrant=False)
    >>> with nbgrad.GraphExecGroup():
    ...     y[0].sum().backward()
    ...     y[1].sum().backward()
    >>> calls
    ['run', 'run']
    """

    _local = _Group()

    def __enter__(self) -> GraphExecGroup:
        if self._local.current is not None:
            raise GradError("GraphExecGroup: a group is active already in this thread; groups do not nest.")
        self._local.current = self
        return self

    def __exit__(self, *error: object) -> None:
        self._local.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return cls._local.current


class Holder(dict):
    """What stands for a saved tensor between forward and backward: ``{pass: (the tensor, its version)}``, once it is there until
    it is unpacked.

    A dict itself: one is made for every tensor that a checkpointed function saves.
    """

    __slots__ = ("__weakref__",)


class Rebuilt(BaseException):
    """Ends a second run whose last saved tensor has come; a BaseException, lest the function catch it."""

    def __init__(self, refill: Refill):
        self.refill = refill


class Frame:
    """One checkpointed call: the holders of all that it saved, in order, and how to run it again.

    Args:
        prepare: fetch the inputs of the first run, and return what runs the function on them again.
        early_stop: whether a second run may stop with its last saved tensor.
        describe: what of a saved tensor's layout must come out the same; None for nothing.
    """

    __slots__ = ("prepare", "early_stop", "describe", "holders", "layouts", "complete", "rebuilt", "__weakref__")

    def __init__(
        self, prepare: Callable[[], Callable[[], Any]], early_stop: bool = True, describe: Callable[[Layout], Any] | None = None
    ):
        self.prepare, self.early_stop, self.describe = prepare, early_stop, describe
        self.holders: list[weakref.ref[Holder]] = []
        self.layouts: list[Layout] = []
        self.complete = False
        self.rebuilt: set = set()  # passes

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """The first run happens inside."""
        with saved_tensors_hooks(self.pack, self.unpack):
            yield
        self.complete = True

    def pack(self, x: Tensor) -> Holder:
        """Keep the place of a saved tensor, and nothing of it."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        if self.describe is not None:
            self.layouts.append(x.layout)
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        """The tensor of a place, computed again if this is the first that the running pass asks for.

        Raises:
            CheckpointError: the second run saved something else, or the tensor was taken already.
            VersionError: the function wrote to the tensor after it had been saved.
        """
        run = GraphExecGroup._get_current_group() or current_graph_task_id()
        if run == OUTSIDE:
            return self.unpack_outside(holder)
        if run not in self.rebuilt:
            self.recompute(run)
            self.rebuilt.add(run)
            if isinstance(run, int):
                queue_callback(partial(forget, weakref.ref(self), run))
        if run not in holder:
            raise CheckpointError(
                "checkpoint: a saved tensor that was already unpacked once in this pass is asked for again. "
                "Hint: read ctx.saved_tensors once."
            )
        return unwritten(*holder.pop(run))

    def unpack_outside(self, holder: Holder) -> Tensor:
        """Somebody looks at a saved tensor outside of a pass: everything is computed for this one."""
        try:
            self.recompute(OUTSIDE)
            return unwritten(*holder[OUTSIDE])
        finally:
            self.forget(OUTSIDE)

    def recompute(self, run: Any) -> None:
        """Run the function again and fill the holders."""
        refill, replay = Refill(self, run), self.prepare()
        try:
            with saved_tensors_hooks(refill.pack, itself), enable_grad():
                replay()
        except Rebuilt as stop:
            if stop.refill is not refill:
                raise
        refill.check()

    def forget(self, run: Any) -> None:
        """Drop what a pass did not fetch."""
        self.rebuilt.discard(run)
        for reference in self.holders:
            holder = reference()
            if holder is not None:
                holder.pop(run, None)


def unwritten(value: Tensor, version: int) -> Tensor:
    """A tensor that a second run saved.

    Raises:
        VersionError: the function wrote to it afterwards.
    """
    if value._storage_.version != version:
        raise version_error("checkpoint", "a tensor that the function saves for backward", value, version)
    return value


OUTSIDE = -1  # current_graph_task_id() where no pass is running


def itself(x: Tensor) -> Tensor:
    """The unpack hook of a second run: a pass inside of the function finds its tensors."""
    return x


def forget(reference: weakref.ref[Frame], run: int) -> None:
    """At the end of a pass; the frame, and with it the inputs, may be gone by then."""
    frame = reference()
    if frame is not None:
        frame.forget(run)


class Refill:
    """One second run: counts the tensors saved, and fills the holders of one pass."""

    __slots__ = ("frame", "run", "count", "differences")

    def __init__(self, frame: Frame, run: Any):
        self.frame, self.run, self.count = frame, run, 0
        self.differences: list[str] = []

    def pack(self, x: Tensor) -> Tensor:
        """Put a saved tensor into its holder.

        Raises:
            CheckpointError: the first run saved fewer.
        """
        frame, place = self.frame, self.count
        value = native.alias(x)
        self.count += 1
        if place < len(frame.holders):
            self.fill(place, value)
            if frame.early_stop and self.count == len(frame.holders):
                raise Rebuilt(self)
        elif frame.complete:
            raise CheckpointError(
                f"checkpoint: the recomputation saves more tensors than the first run did, {len(frame.holders)}.{ADVICE}"
            )
        return value

    def fill(self, place: int, value: Tensor) -> None:
        """Give a value to the holder at a place, if anybody still wants it."""
        frame = self.frame
        holder = frame.holders[place]()
        if holder is None:
            return
        holder[self.run] = value, value._storage_.version
        if frame.describe is None or value.layout is frame.layouts[place]:
            return
        first, second = frame.describe(frame.layouts[place]), frame.describe(value.layout)
        if first != second:
            self.differences.append(f"tensor at position {place}:\n  saved:      {first}\n  recomputed: {second}\n")

    def check(self) -> None:
        """Refuse a second run that was another one than the first.

        Raises:
            CheckpointError: numbers, shapes, dtypes or devices differ.
        """
        expected = len(self.frame.holders)
        if self.frame.complete and self.count != expected:
            raise CheckpointError(
                "checkpoint: a different number of tensors was saved during the original forward and the "
                f"recomputation: {expected} during forward, {self.count} during recomputation.{ADVICE}"
            )
        if self.differences:
            raise CheckpointError(
                "checkpoint: recomputed values for the following tensors have different metadata than during "
                f"the forward pass:\n{''.join(self.differences)}{ADVICE}"
            )


ADVICE = (
    "\nHint: the function must do the same each time it is called; debug=True, or set_checkpoint_debug_enabled(True), "
    "shows the operations of both runs."
)


def description(layout: Layout) -> dict[str, Any]:
    """The facts that the default determinism check compares."""
    return {"shape": layout.shape, "dtype": layout.dtype, "device": layout.device}


DETERMINISM_CHECKS: dict[str, Callable[[Layout], Any] | None] = {"default": description, "none": None}


def saved(values: Sequence[Any]) -> Callable[[], list]:
    """Values whose tensors are saved as a node saves them: a function that gives them back.

    Saved-tensor hooks that are active see them. The function raises VersionError where a tensor has been written to since.
    """
    hooks = active_hooks()
    entries = [saved_entry(x, hooks) if isinstance(x, Tensor) else (x, None) for x in values]
    return lambda: [restored(value, version) for value, version in entries]


def saved_entry(x: Tensor, hooks: tuple[Callable, Callable] | None) -> tuple[Tensor | SavedTensor, int]:
    """A tensor, or what hooks made of it, and its version."""
    return (x if hooks is None else pack_tensor(x, *hooks)), x._storage_.version


def restored(value: Any, version: int | None) -> Any:
    """A saved value.

    Raises:
        VersionError: the tensor was modified after it was saved.
    """
    if isinstance(value, SavedTensor):
        return unpacked(value)
    if version is not None and value._storage_.version != version:
        raise VersionError(
            f"checkpoint: an input ({value.layout.dtype.name} {list(value.layout.shape)}) was modified in place: it is at version "
            f"{value._storage_.version}, expected {version}.\nHint: clone it before the update."
        )
    return value
