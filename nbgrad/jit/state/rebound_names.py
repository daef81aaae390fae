"""State that a program keeps in names: what it reads there it is given in every call, and what it leaves there it returns.

NOTE [State in names]: a function that rebinds a name (``self.h = ...``, ``self.total += loss.item()``) or appends to a list is
another one in every call, for names are compared. Where a first capture finds that it has done nothing else, what was there is put
back, and the function is captured again: such a name holds inputs of the graph meanwhile, a list what can only be appended
to. What they hold in the end are further results, and a call puts these there behind its run. Names are keys of dicts and lists,
attributes of classes, slots of objects, variables of closures, and all members of a deque that stays as long as it was. Not of
this kind are tensors with a history or with attributes, names that begin to hold a tensor, lists that are looked at or that
something holds which is no name (a tuple, defaults), and lists and dicts that go from name to name, since a call would put copies
there: such calls run as they are.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any, Iterator, NoReturn, Sequence

from ...base.nested import Tree, flatten
from ...base.plain import PLAIN
from ...graph.edges import requires_grad
from ...modes.numbers import ITEMS, Number, Whole
from ...modes.overrides import has_function
from ...tensors.tensor import Tensor, native
from ...views import is_grad_leaf
from ..guards.identities import CLASSES, compares_objects
from ..guards.members import MISSING
from ..ir.devices import copied
from .capture_lock import MOST_WAITED
from .effects import Filling, Postponed
from .hooks import has_hooks
from .implicit_inputs import number_tensor
from .slots import LEAF, NUMBER, Exchange, Slot, shown

if TYPE_CHECKING:
    from ..capture.capture import Trace
    from ..guards.guards import Guards
    from .snapshots import Snapshot

__all__ = ["Appending", "State", "StateOf", "States", "states_of"]

NUMBERS = (int, float)
MOST_MEMBERS = 64  # of a deque whose members are inputs of a graph


class StateOf:
    """An input of a graph that a name holds, or a member of what it holds.

    Attributes:
        kind: of a number, or Tensor; ``flag``: whether it needs gradients; ``place``: which leaf it is of what the name holds.
        tree: the structure of that, None of a leaf; ``plain``: what its other leaves are, and where.
    """

    def __init__(self, slot: Slot, x: Any, place: int, tree: Tree, plain: tuple[tuple[int, Any], ...]):
        self.slot, self.kind, self.place, self.plain = slot, type(x), place, plain
        self.flag = isinstance(x, Tensor) and requires_grad(x)
        self.tree = None if tree.kind is None else tree

    def find(self, inputs: Sequence) -> Tensor | None:
        """The tensor, for a call; None where something else is there."""
        x: Any = self.slot.content()
        if self.tree is not None:
            leaves, tree = flatten(x)
            if tree != self.tree or any(not is_plain(leaves[k], value) for k, value in self.plain):
                return None
            x = leaves[self.place]
        return self.tensor(x) if type(x) is self.kind else None

    def tensor(self, x: Any) -> Tensor | None:
        """What stands for a tensor or a number; None where it cannot."""
        if self.kind in NUMBERS:
            return number_tensor(x) if self.kind is float or -(1 << 63) <= x < 1 << 63 else None
        return x if is_state(x) and requires_grad(x) is self.flag else None


def is_plain(x: Any, value: Any) -> bool:
    """Whether a leaf is still that text, truth value or None."""
    return type(x) is type(value) and x == value


def is_state(x: Any) -> bool:
    """Whether a thing is a tensor that may be a program's state: without a history, a gradient, hooks, a tangent or attributes."""
    if type(x) is not Tensor or x.__dict__ or x._meta_ is not None and x._meta_.grad is not None:
        return False
    if requires_grad(x) and (not is_grad_leaf(x) or has_hooks(x)):
        return False
    return not x.layout.special or x.layout.is_traced()


class Appending:
    """What stands for a list or a deque to which a captured function only appends."""

    __slots__ = ("items", "kind", "room")

    def __init__(self, place: Any) -> None:
        self.items: list[Any] = []
        self.kind = type(place)
        self.room: int | None = None if self.kind is list or place.maxlen is None else place.maxlen - len(place)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What ``isinstance`` is told."""
        return self.kind

    def __getitem__(self, k: Any) -> Any:
        if type(k) is int and -len(self.items) <= k < 0 and self.room is None:
            return self.items[k]
        return self.refuse()

    def append(self, x: Any) -> None:
        """Append to it."""
        self.items.append(x)

    def extend(self, xs: Any) -> None:
        """Append several to it."""
        self.items.extend(xs)

    def __iadd__(self, xs: Any) -> Any:  # type: ignore[misc]
        self.items.extend(xs)
        return self

    def refuse(self, *args: Any) -> NoReturn:
        """Refuse what looks at it."""
        kind = Filling if self.room is not None and 0 < self.room <= MOST_MEMBERS else Postponed
        raise kind("it reads a list to which it appends. Hint: return what it appends, and append it outside.")

    __getattr__ = __bool__ = __len__ = __iter__ = __setitem__ = __delitem__ = __contains__ = __eq__ = refuse
    __repr__ = __reduce_ex__ = __add__ = __mul__ = __imul__ = __lt__ = __le__ = __gt__ = __ge__ = __reversed__ = refuse
    __hash__ = None  # type: ignore[assignment]


class States:
    """The state of a function in names: slots whose contents it exchanges, and lists to which it appends.

    Attributes:
        settings: names that are compared, and then hold something else: truth values, texts, what was None; with what they held.
        twins: what a capture has put into the slots, with their ``leaves``, of which ``flags`` say which tensors need gradients.
        lists: lists and deques, each with what stands for it, and the slots that hold it.
    """

    def __init__(self, slots: list[Slot], lists: list[Any], settings: list[Slot], guards: Guards):
        self.slots, self.before = slots, [slot.content() for slot in slots]
        self.twins: list[Any] = []
        self.leaves: list[list] = []
        self.flags: list[bool] = []
        self.settings = [(slot, slot.content()) for slot in settings]
        self.lists = [(each, Appending(each), slots_with(each, guards)) for each in lists]
        guards.exchange(slots, lists)

    def install(self, trace: Trace) -> None:
        """Put inputs of a graph into the slots."""
        self.twins.clear()
        self.leaves.clear()
        for slot, held in zip(self.slots, self.before):
            leaves, tree = flatten(held)
            plain = tuple([(k, x) for k, x in enumerate(leaves) if not is_followed(x)])
            name = slot.key if isinstance(slot.key, str) and slot.key.isidentifier() else ""
            places = enumerate(leaves)
            twins = [twin_of(trace, x, name, StateOf(slot, x, k, tree, plain)) if is_followed(x) else x for k, x in places]
            self.twins.append(tree.unflatten(twins))
            self.leaves.append(twins)
            slot.put(self.twins[-1])
        self.flags = [requires_grad(x) for leaves in self.leaves for x in leaves if isinstance(x, Tensor)]
        for _, standin, slots in self.lists:
            standin.items.clear()
            for slot in slots:
                slot.put(standin)

    def take(self, trace: Trace) -> list[Exchange]:
        """What the function has left there; the names hold what they held."""
        left = [slot.content() for slot in self.slots]
        found = [exchange(trace, slot, slot.content()) for slot, old in self.settings if slot.content() is not old]
        changed = [any(slot.content() is not standin for slot in slots) for _, standin, slots in self.lists]
        self.put_back()
        twins = [x for leaves in self.leaves for x in leaves if isinstance(x, Tensor)]
        if any(not is_state(x) for x in twins) or list(map(requires_grad, twins)) != self.flags:
            raise Postponed("it takes gradients of what a name holds. Hint: nbgrad.grad of a copy.")
        if any(x is twin and is_altered(x, leaves) for x, twin, leaves in zip(left, self.twins, self.leaves)):
            raise Postponed("it changes a list or a dict that it exchanges in other calls. Hint: do one of both.")
        if any(changed):
            raise Postponed("it exchanges a list to which it appends. Hint: return what it appends, and append it outside.")
        found += [exchange(trace, slot, x) for slot, x, twin in zip(self.slots, left, self.twins) if x is not twin]
        return found + [exchange(trace, each, standin.items) for each, standin, _ in self.lists if standin.items]

    def put_back(self) -> None:
        """Let the names hold what they held."""
        for slot, x in (*zip(self.slots, self.before), *self.settings):
            slot.put(x)
        for each, _, slots in self.lists:
            for slot in slots:
                slot.put(each)


def is_altered(x: Any, leaves: list) -> bool:
    """Whether something has other leaves than these."""
    now = flatten(x)[0]
    return len(now) != len(leaves) or any(each is not leaf for each, leaf in zip(now, leaves))


def is_followed(x: Any) -> bool:
    """Whether a leaf of what a name holds becomes an input."""
    return type(x) in (Tensor, float, int)


def twin_of(trace: Trace, x: Any, name: str, source: StateOf) -> Any:
    """What a capture sees in the place of a leaf, on memory of its own: it may be another one's in the next call."""
    assert trace.effects is not None
    trace.effects.sources.append(source)
    if type(x) is not Tensor:
        twin = trace.input(number_tensor(x), name)
        return (Number if type(x) is float else Whole)(x, twin, trace, frozenset((ITEMS,)))
    storage = copied(x._storage_)
    return trace.input(native.tensor(x.layout.template, storage, x._offset_, source.flag, None), name)


def exchange(trace: Trace, place: Any, x: Any) -> Exchange:
    """What is left there.

    Raises:
        Postponed: it is nothing that a program returns.
    """
    leaves, tree = flatten(x)
    for each in leaves:
        if not (isinstance(each, (Number, *PLAIN)) or is_state(each)) or has_function(each):
            what = f"a {type(each).__name__}"
            if isinstance(each, Tensor):
                line = trace.variables.line_of(each)
                what = f"a tensor with a history, a gradient or hooks{f', computed at {line},' if line else ''}"
            where = shown(place) if isinstance(place, Slot) else "a list that grows"
            raise Postponed(f"it keeps {what} in {where} beyond the call. Hint: return it.")
    kinds = [NUMBER if isinstance(x, Number) else LEAF if isinstance(x, Tensor) and requires_grad(x) else "" for x in leaves]
    tensors = [each.tensor if isinstance(each, Number) else each for each in leaves]
    values = [trace.returned(each) if isinstance(each, Tensor) else each for each in tensors]
    contents = [each for each, x in zip(leaves, tensors) if isinstance(x, Tensor)]
    return Exchange(place, tree, values, kinds, contents)


def slots_with(x: Any, guards: Guards) -> list[Slot]:
    """The names that hold a list or a deque; none where something else holds it, too."""
    if any(True for _ in guards.holders(x)):
        return []
    names, cells = guards.names, guards.cells
    found = [Slot(names[k], names[k + 1]) for k in range(0, len(names), 3) if names[k + 2] is x]
    found = [Slot(owner, slot.key) if (owner := guards.owner_of(slot.holder)) is not None else slot for slot in found]
    found += [Slot(value, member) for value, member, held in guards.members.slots if held is x]
    return found + [Slot(cells[k]) for k in range(0, len(cells), 2) if cells[k + 1] is x]


class State:
    """The names that programs of one function exchange, and the lists to which they append: state for all of its programs.

    Attributes:
        lock: held from where a call reads state to where it has written it.
        guards: of the last program.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.slots: list[Slot] = []
        self.lists: list[Any] = []
        self.guards: Guards | None = None

    def known(self, others: tuple) -> Guards | None:
        """Guards that the next program may have again: of a function without state, with the same ``others``, and all hold."""
        known = None if self.slots or self.lists else self.guards
        return known if known is not None and known.serve_again(others) else None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other thread's call has read what it will write."""
        held = self.lock.acquire(timeout=MOST_WAITED)
        try:
            yield
        finally:
            if held:
                self.lock.release()

    def learn(self, states: States) -> None:
        """A program has some."""
        self.slots += [slot for slot in states.slots if not any(is_same(slot, other) for other in self.slots)]
        self.lists += [each for each, _, _ in states.lists if not any(each is other for other in self.lists)]

    def states(self, guards: Guards) -> States | None:
        """Those that are names of another program, too."""
        names = {(id(guards.names[k]), guards.names[k + 1]) for k in range(0, len(guards.names), 3)}
        names |= {(id(each), None) for each in (*guards.cells[::2], *guards.collections)}
        names |= {(id(value), member) for value, member, _ in guards.members.slots}
        slots = [slot for slot in self.slots if slot.identity() in names and may_be_state(slot.content())]
        lists = [each for each in self.lists if any(each is other for other in guards.collections) and slots_with(each, guards)]
        if not are_apart([slot.content() for slot in slots], guards, known=True):
            return None
        return States(slots, lists, [], guards) if slots or lists else None


def states_of(before: Snapshot, guards: Guards, known: States | None) -> States | None:
    """The state of a function that was just captured, by what it has left behind; None where that is more, or nothing new.

    The guards forget it: it may be another one in every call.
    """
    slots, lists, settings, olds, news = list[Slot](), list[Any](), list[Slot](), list[Any](), list[Any]()
    for place, old, new in before.rebound():
        if type(place) in (list, deque) and old is MISSING:
            lists.append(place)
        elif type(place) is tuple and is_exchange(old, new) and not (isinstance(place[0], deque) and len(old) > MOST_MEMBERS):
            slots.append(Slot(*place))
            olds.append(old)
            news.append(new)
        elif type(place) is tuple and isinstance(old, PLAIN) and may_keep(new):
            settings.append(Slot(*place))
        else:
            return None
    if not slots and not lists and not settings:
        return None
    if not all(slots_with(each, guards) for each in lists):  # by no name that could hold something else
        return None
    if not all(may_keep(x) for each in lists for x in flatten(before.appended(each))[0]):
        return None
    if known is not None:
        slots, lists, olds = known.slots + slots, [each for each, _, _ in known.lists] + lists, known.before + olds
        settings += [slot for slot, _ in known.settings]
    held = [x for each in olds for x in flatten(each)[0]]
    if compares_objects(guards) and any(isinstance(x, Tensor) for x in held):
        return None
    if CLASSES in guards.words and any(type(x) in NUMBERS for x in held):
        return None
    if not (are_apart(news, guards) and are_apart(olds, guards, known=True)):
        return None
    if any(old is other.holder for old in olds for other in slots):
        return None
    before.put_back()
    return States(slots, lists, settings, guards)


def are_apart(contents: list, guards: Guards, known: bool = False) -> bool:
    """Whether names hold lists and dicts of their own alone, none of them twice; ``known``: they may have been there before."""
    found = [id(each) for x in contents for each in containers_in(x)]
    return len(set(found)) == len(found) and (known or set(found).isdisjoint(map(id, guards.collections)))


def containers_in(x: Any) -> Iterator[Any]:
    """The lists and dicts in something."""
    if isinstance(x, (list, dict)):
        yield x
    if isinstance(x, (list, tuple, dict)):
        for each in x.values() if isinstance(x, dict) else x:
            yield from containers_in(each)


def is_same(slot: Slot, other: Slot) -> bool:
    """Whether two slots are one name."""
    return slot.holder is other.holder and (slot.key is other.key or not isinstance(slot.key, Tensor) and slot.key == other.key)


def may_be_state(x: Any) -> bool:
    """Whether what a name holds may be state of a program."""
    leaves = flatten(x)[0]
    return any(map(is_followed, leaves)) and all(
        is_state(each) if isinstance(each, Tensor) else isinstance(each, PLAIN) for each in leaves
    )


def is_exchange(old: Any, new: Any) -> bool:
    """Whether a name that held one thing and holds another one is state of a program."""
    (olds, tree), (news, now) = flatten(old), flatten(new)
    return tree == now and all(map(is_exchanged, olds, news)) and any(map(is_followed, olds))


def is_exchanged(old: Any, new: Any) -> bool:
    """Whether a leaf of what a name held, which is another one now, is state of a program."""
    if type(old) is Tensor:
        return is_state(old) and is_state(new)
    if type(old) in NUMBERS:
        return isinstance(new, type(old)) and not isinstance(new, bool)
    return isinstance(old, PLAIN) and is_plain(new, old)


def may_keep(x: Any) -> bool:
    """Whether a program may append it."""
    return isinstance(x, (Number, *PLAIN)) or is_state(x)
