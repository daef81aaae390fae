"""What a capture has not computed: launches that are run where somebody asks for the numbers, or never.

NOTE [Results without values]: a captured program wants the layouts of its results; their elements are computed by the program that
the capture makes. So launches of operations' plans are noted, and their results are memory that nobody has written to. Where
elements are needed after all (Python reads them, an operation of several steps runs truly) the launches that they depend on are
run, in the order of the program, and no others.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence
from weakref import ref

from ...graph.writes import count_write
from ...kernels.cpu.build import prepare
from ...native.plans import LateRecord, Plan
from ...tensors.storage import Storage
from ...tensors.tensor import Tensor, native
from ..ir.devices import copied, fresh_memory, storage_on

__all__ = ["Pending"]

LARGE = 1 << 63


class Place(NamedTuple):
    """Where a tensor is."""

    array: Any
    offset: int


class Launch(NamedTuple):
    """A launch to come: its plan; where its results and operands are, numbers as they are."""

    plan: Plan
    places: list

    def arrays(self, outs: bool = False) -> set[int]:
        """The identities of the arrays that it reads or writes, or of those that it writes alone."""
        return {id(x.array) for x in (self.places[: len(self.plan.outs)] if outs else self.places) if type(x) is Place}


class Pending:
    """The launches that a capture has put off.

    Attributes:
        launches: in the order of the program; they hold the arrays.
        unknown: identities of the arrays that these write.
        made: the storages of what they write, and the identities of the arrays.
        changed: identities of arrays that were written to after all.
        copies: by identity of an array, what launches use in its place.
        outer: those of the capture within which this one runs, of which elements may be needed, too.
    """

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.unknown: set[int] = set()
        self.made: list[tuple[Callable[[], Storage | None], int]] = []
        self.changed: set[int] = set()
        self.copies: dict[int, Any] = {}
        self.outer: Pending | None = None

    def fresh(self, plan: Plan, operands: Sequence[Any]) -> Any:
        """The new result of a launch, or a tuple of several."""
        outs = tuple([blank(template) for template in plan.outs])
        self.add(plan, outs, operands)
        return outs[0] if len(outs) == 1 else outs

    def into(self, plan: Plan, tensors: Sequence[Any]) -> None:
        """A launch with outputs that exist; their versions move."""
        count = len(plan.outs)
        for x in tensors[:count]:
            count_write(x._storage_)
        self.add(plan, tensors[:count], tensors[count:])

    def add(self, plan: Plan, outs: Sequence[Tensor], operands: Sequence[Any]) -> None:
        """Note a launch.

        Raises:
            OverflowError: of a number that native code would refuse.
        """
        for x in operands:
            if type(x) is int and not -LARGE <= x < LARGE:
                refuse_large(outs, operands)
        places = [Place(x._storage_.array, x._offset_) if isinstance(x, Tensor) else x for x in (*outs, *operands)]
        self.launches.append(Launch(plan, places))
        for x in outs:
            array = id(x._storage_.array)
            self.unknown.add(array)
            self.made.append((ref(x._storage_), array))

    def count_places(self, array: Any) -> int:
        """In how many places of launches an array is, back to the one that makes it."""
        count = 0
        for launch in reversed(self.launches):
            places = [x.array is array for x in launch.places if type(x) is Place]
            count += sum(places)
            if any(places[: len(launch.plan.outs)]):
                break
        return count

    def need(self, tensors: Iterable[Any]) -> None:
        """The elements of these are needed."""
        self.run({id(x._storage_.array) for x in tensors if isinstance(x, Tensor)} & self.unknown)

    def overwrite(self, x: Tensor) -> None:
        """Something else writes to the memory of a tensor: what reads it, or writes to it, comes first."""
        array = id(x._storage_.array)
        self.changed.add(array)
        self.run({array}, {array})

    def run_all(self) -> None:
        """Compute everything."""
        self.run(set(self.unknown))

    def run(self, needed: set[int], overwritten: Iterable[int] = ()) -> None:
        """Run the launches on which the elements of arrays depend.

        Args:
            overwritten: arrays that are about to be written to.
        """
        wanted, gone = set(needed), set(overwritten)
        if not wanted and not gone or not self.launches:
            return
        chosen, left = list[Launch](), list[Launch]()
        for launch in reversed(self.launches):
            writes, touches = launch.arrays(True), launch.arrays()
            if wanted.isdisjoint(writes) and gone.isdisjoint(touches):
                left.append(launch)
            else:
                chosen.append(launch)
                wanted |= touches
                gone |= writes
        self.launches = left[::-1]
        self.unknown = {array for launch in left for array in launch.arrays(True)}
        if self.outer is not None:
            self.outer.run(wanted & self.outer.unknown)
        records = [launch.plan.record for launch in chosen]
        prepare(record.complete for record in records if type(record) is LateRecord and record.packed is None)
        for launch in reversed(chosen):
            self.changed |= launch.arrays(True)
            layouts = (*[template.layout for template in launch.plan.outs], *launch.plan.layouts)
            native.into(launch.plan, *[self.tensor(x, layout) for x, layout in zip(launch.places, layouts)])

    def tensor(self, x: Any, layout: Any) -> Any:
        """A tensor at a place, on a storage of its own; a number as it is."""
        if type(x) is not Place:
            return x
        storage = storage_on(self.copies.get(id(x.array), x.array), layout.device)
        return native.tensor(layout.template, storage, x.offset, False, None)

    def part(self, storages: Iterable[Storage]) -> None:
        """Memory becomes what it was before the capture: launches to come use copies of what has changed."""
        for storage in storages:
            if id(storage.array) in self.changed and self.launches:
                self.copies[id(storage.array)] = copied(storage).array

    def settle(self, saved: Sequence[Storage]) -> None:
        """The capture is over: compute what somebody still has.

        Args:
            saved: what is as it was before the capture, and what launches may write to.
        """
        own = {id(storage.array) for storage in saved}
        alive = {array for storage, array in self.made if array in self.unknown and array not in own and storage() is not None}
        if alive:
            for storage in saved:
                self.copies.setdefault(id(storage.array), copied(storage).array)
            self.run(alive)
        self.launches, self.unknown = [], set()


def refuse_large(outs: Sequence[Tensor], operands: Sequence[Any]) -> None:
    """Refuse an int that is no number of the results.

    Raises:
        OverflowError: nothing among these is of floating numbers.
    """
    if not any(x.layout.dtype.differentiable for x in (*outs, *operands) if isinstance(x, Tensor)):
        raise OverflowError("an int is larger than words of 64 bits.")


def blank(template: Tensor) -> Tensor:
    """A result with memory that nobody has written to."""
    layout = template.layout
    storage = storage_on(fresh_memory(layout), layout.device)
    return native.tensor(template, storage, template._offset_, template._needs_grad_, template._meta_)
