"""Tools on the graph: a hook on several tensors, saved tensors kept on the CPU, writes to saved tensors that are allowed.

Public as names of ``nbgrad.graph``. They are not written in that folder because they need the engine, which lies above it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, WeakSet, ref

from ..base.calls import CALLS
from ..base.compat import (
    region_activation_memory_budget,
    set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from ..base.errors import GradError, RangeError, UsageError
from ..graph.edges import GradientEdge, edge_of, get_gradient_edge, requires_grad
from ..graph.hooks import RemovableHandle
from ..graph.saved_hooks import saved_tensors_hooks
from ..graph.task import GraphTask, Target, log_nodes, running_task, target
from ..tensors import storage
from ..tensors.tensor import Tensor, native
from .offload import Offloaded

__all__ = [
    "save_on_cpu",
    "register_multi_grad_hook",
    "allow_mutation_on_saved_tensors",
    "region_activation_memory_budget",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "set_override_stale_capture_stream",
]


class save_on_cpu(saved_tensors_hooks):  # torch's name
    """Inside, what is saved for backward is moved to the CPU, and back when it is needed; on the CPU it stays where it is.

    Args:
        pin_memory: keep copies of their own, which a GPU fetches without waiting: copies both ways are done beside the program's
            work, and what was saved before a tensor is fetched with it (NOTE [Offloading] of offload.py).
        device_type: the kind of device that fetches them.

    >>> import nbgrad
    >>> x = nbgrad.tensor([2.0, 3.0], requires_grad=True)
    >>> with nbgrad.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([4., 6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        self.pin_memory, self.device_type = pin_memory, device_type
        self.last: ReferenceType[Offloaded] | None = None
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor: Tensor) -> tuple[Any, Tensor | Offloaded]:
        """The tensor's device, and the tensor on the CPU."""
        if self.pin_memory and tensor.layout.memory is not None and not tensor.layout.special and not tensor.is_meta:
            made = Offloaded(tensor, None if self.last is None else self.last())
            self.last = ref(made)
            return tensor.device, made
        return tensor.device, CALLS["clone"](tensor.detach()) if self.pin_memory else tensor.to("cpu")

    def unpack(self, packed: tuple[Any, Tensor | Offloaded]) -> Tensor:
        """The tensor on its device."""
        device, tensor = packed
        return tensor.get() if isinstance(tensor, Offloaded) else tensor.to(device)


# ---- hooks on several tensors --------------------------------------------------------------------------------------


class _MultiHandle(RemovableHandle):
    """Removes several hooks at once."""

    __slots__ = ("handles",)

    def __init__(self, handles: tuple[RemovableHandle, ...]):
        self.handles = handles

    def remove(self) -> None:
        """Take all of them away."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once a pass, when the gradients of several tensors are there.

    Args:
        tensors: tensors that require grad.
        fn: with ``mode="all"`` it is called with a list of all gradients, when the last that this pass computes has arrived; None
            stands for those that it does not. With ``mode="any"`` it is called with the first one that arrives.

    Returns:
        A handle; ``handle.remove()`` takes the hooks away.

    Raises:
        RangeError: another mode. UsageError: a tensor does not require grad.

    >>> import nbgrad
    >>> x, y = nbgrad.ones(2, requires_grad=True), nbgrad.ones(2, requires_grad=True)
    >>> handle = nbgrad.graph.register_multi_grad_hook((x, y), lambda grads: print([g is not None for g in grads]))
    >>> (x * y).sum().backward()
    [True, True]
    >>> x.sum().backward()
    [True, False]
    """
    if mode not in ("all", "any"):
        raise RangeError(f"register_multi_grad_hook: mode must be 'all' or 'any', got {mode!r}.")
    if mode == "any":
        first = FirstGradient(fn)
        return _MultiHandle(tuple(x.register_hook(first) for x in tensors if x.requires_grad))
    rendezvous = Rendezvous(tensors, fn)
    return _MultiHandle(tuple(x.register_hook(rendezvous.hook(k)) for k, x in enumerate(tensors)))


class FirstGradient:
    """A hook that lets only the first gradient of each pass through."""

    def __init__(self, fn: Callable):
        self.fn, self.lock = fn, threading.Lock()
        self.done: WeakSet[GraphTask] = WeakSet()

    def __call__(self, g: Tensor | None) -> None:
        task = running_task("register_multi_grad_hook")
        with self.lock:
            if task in self.done:
                return
            self.done.add(task)
        self.fn(g)


class Rendezvous:
    """Hooks that wait for one another within a pass.

    Attributes:
        places: weak references to where the tensors' gradients arrive. Their hooks lead here: strong ones would make cycles.
        arrived: ``{pass: [how many are still to come, gradients]}``.
    """

    def __init__(self, tensors: Sequence[Tensor], fn: Callable):
        self.fn, self.lock = fn, threading.Lock()
        self.places = tuple(ref(place_of(x)) for x in tensors)
        self.arrived: WeakKeyDictionary[GraphTask, list] = WeakKeyDictionary()

    def hook(self, position: int) -> Callable[[Tensor | None], None]:
        """The hook of one tensor."""

        def arrive(g: Tensor | None) -> None:
            task = running_task("register_multi_grad_hook")
            with self.lock:
                entry = self.arrived.setdefault(task, [])
                if not entry:
                    entry += [self.expected(task), [None] * len(self.places)]
                entry[0] -= 1
                entry[1][position] = g
                complete = entry[0] == 0
            if complete:
                self.fn(self.arrived.pop(task)[1])

        return arrive

    def expected(self, task: GraphTask) -> int:
        """How many of the gradients a pass computes."""
        places = (reference() for reference in self.places)
        return sum(place is not None and place in task.seen and task.runs(place) for place in places)


def place_of(x: Tensor | GradientEdge) -> Target:
    """The node or leaf where a gradient arrives.

    Raises:
        UsageError: the tensor does not require grad.
    """
    edge = x.node if isinstance(x, GradientEdge) else edge_of(x) if requires_grad(x) else None
    if edge is None:
        raise UsageError("register_multi_grad_hook: a tensor does not require grad, so no gradient will ever reach it.")
    return target(edge)


# ---- writes to saved tensors ---------------------------------------------------------------------------------------

# NOTE [Copy before write]: inside ``allow_mutation_on_saved_tensors`` the storage of every saved tensor is guarded: it does not say
# that it is writable, so that every write asks ``Storage.require_writable``, which calls the guard before it allows the write; the
# guard clones what is saved of this storage. Writes to other storages pay nothing.

_active: SavedCopies | None = None


class SavedHandle:
    """A handle that a node holds instead of a saved tensor."""

    __slots__ = ("__weakref__",)


class SavedCopies:
    """The saved tensors of one ``allow_mutation_on_saved_tensors`` block.

    Attributes:
        original: the saved tensors, by what the nodes hold.
        cloned: copies of those that were written to since.
        handles: what nodes hold, by the storage that they saved.
        guarded: the storages that are guarded, with who guarded them before.
    """

    def __init__(self) -> None:
        self.handles: WeakKeyDictionary[storage.Storage, WeakSet[SavedHandle]] = WeakKeyDictionary()
        self.guarded: WeakKeyDictionary[storage.Storage, Callable] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[SavedHandle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[SavedHandle, Tensor] = WeakKeyDictionary()

    def pack(self, tensor: Tensor) -> SavedHandle:
        """Guard the tensor's storage."""
        handle = SavedHandle()
        self.original[handle] = tensor
        if tensor._storage_ not in self.handles:
            self.guard(tensor._storage_)
        self.handles.setdefault(tensor._storage_, WeakSet()).add(handle)
        return handle

    def guard(self, saved: storage.Storage) -> None:
        """Have writes to a storage told to ``before_write``, and to who guards it already."""
        if saved.writable is True or saved.writable is storage.GUARDED:
            other = storage.guards.get(saved, storage.ignored)

            def both(written: storage.Storage) -> None:
                self.before_write(written)
                other(written)

            saved.writable, storage.guards[saved] = storage.GUARDED, both
            self.guarded[saved] = other

    def unpack(self, handle: SavedHandle) -> Tensor:
        """The tensor with the values that it was saved with.

        Raises:
            UsageError: the block has ended.
        """
        value = self.cloned.get(handle)
        if value is None:
            value = self.original.get(handle)
        if value is None or _active is not self:
            raise UsageError(
                "allow_mutation_on_saved_tensors: backward was called outside of the block in which the graph was "
                "recorded. Hint: call it inside."
            )
        return value

    def before_write(self, written: storage.Storage) -> None:
        """Keep copies of the saved tensors of a storage."""
        copies: dict[tuple, Tensor] = {}  # what several nodes saved of it is copied once
        for handle in self.handles.pop(written, ()):
            x = self.original.pop(handle)
            place = x.layout, x._offset_
            if place not in copies:
                copies[place] = CALLS["clone"](native.alias(x))
            self.cloned[handle] = copies[place]

    def clear(self) -> None:
        """Forget everything."""
        for guarded, other in self.guarded.items():
            if guarded.writable is storage.GUARDED and other is not storage.ignored:
                storage.guards[guarded] = other
            elif guarded.writable is storage.GUARDED:
                guarded.writable = True
                storage.guards.pop(guarded, None)
        self.guarded.clear()
        self.handles.clear()
        self.original.clear()
        self.cloned.clear()


@contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors that were saved for backward may be changed in place: backward uses what they were when they were saved.

    Only what is changed is copied. Forward and backward belong into one block; blocks do not nest.

    Yields:
        An object with the saved tensors (``original``) and the copies made so far (``cloned``).

    Raises:
        GradError: inside of another such block. UsageError: from backward, after the block.

    >>> import nbgrad
    >>> x = nbgrad.tensor([2.0], requires_grad=True)
    >>> with nbgrad.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y ** 2).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([4.])
    """
    global _active
    if _active is not None:
        raise GradError("allow_mutation_on_saved_tensors: blocks cannot be nested.")
    _active = copies = SavedCopies()
    try:
        with saved_tensors_hooks(copies.pack, copies.unpack):
            yield copies
    finally:
        copies.clear()
        _active = None


# ---- logging -------------------------------------------------------------------------------------------------------


def _register_logging_hooks_on_whole_graph(roots: Iterable[Tensor | GradientEdge]) -> Callable[[], None]:
    """Have every node below ``roots`` log when it runs (logger ``nbgrad.graph``, level DEBUG); returns what ends that."""
    return log_nodes([target((x if isinstance(x, GradientEdge) else get_gradient_edge(x)).node) for x in roots])
