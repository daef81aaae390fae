"""Special modes: interpreters of one call of one operation, asked in a fixed order.

The fast path tests two things that it looks at anyway: whether the list ``grad_mode.special`` is empty, and whether the operands'
layouts have a plan. A mode that concerns every call puts itself into ``special``; a kind of tensor that concerns every call it is
an operand of has layouts that are marked ``special``, for which no plan is ever made. Either way the call arrives here.

NOTE [Interpreters]: ``register(rank, interpreter)`` puts an interpreter into the order below; it has
  ``concerns(call) -> bool``     whether it has anything to do with this call;
  ``run(call, below) -> result`` the call as it sees it; ``below(call)`` is what the interpreters after it, and in the end the
                                 operation itself, make of a call.
An interpreter may call operations: those begin at the top again. It works on operands without whatever made it concerned, so that
it is not asked twice. The order is that of the list ``RANKS``, from the user's side inwards.

NOTE [Observers]: members of ``special`` that only look: ``seen(op, operands, result)`` after every call beneath all interpreters,
``recorded(node)`` for every node that was made. Those that say for which ``rank`` they are there do not look.

NOTE [Quick calls]: asking takes 3 us. Where all members of ``special`` say that they stand for one ``rank``, and no operand is
marked, no other interpreter is concerned. And a kind of mode or of tensor may have *quick calls* (``quick_calls``), which find at
once what its interpreter would do, or return None.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Protocol

from ..base.grad_mode import special
from ..graph.edges import Edge, Node, next_seq
from ..ops.core import Op
from ..tensors.tensor import ASK, Tensor

__all__ = [
    "Call",
    "Interpreter",
    "Presence",
    "register",
    "interpret",
    "is_marked",
    "announce",
    "has_tangent",
    "known_call",
    "known_calls",
    "quick_call",
    "quick_calls",
    "quick_write",
    "quick_writes",
    "bystanders",
    "is_bystander",
    "run_plainly",
    "tangent_tests",
    "RANKS",
]

# From the user's side inwards: what an overriding type says, what a batch means, who measures, tangents, what a checkpointed
# function keeps, inference tensors, lazy bits.
RANKS = ("overrides", "batching", "profiling", "tangents", "selection", "inference", "bits")


class Call:
    """One call as interpreters see it.

    Attributes:
        op: the declared operation.
        operands: its operands in the declared order: tensors; numbers too if it is elementwise; a sequence of tensors where the
            operation is variadic.
        attributes: its other arguments by name.
        form: ``""``; ``"_"``: the result is written over the first operand; ``"out"``: over ``out``.
        out: the tensor to write to, of that form.
        plain: ``plain(*operands, **attributes)``, the call beneath all interpreters.
    """

    __slots__ = ("op", "operands", "attributes", "plain", "form", "out", "_marked")

    def __init__(self, op: Op, operands: tuple, attributes: dict, plain: Callable, form: str = "", out: Tensor | None = None):
        self.op, self.operands, self.attributes, self.plain, self.form, self.out = op, operands, attributes, plain, form, out
        self._marked: bool | None = None

    @property
    def marked(self) -> bool:
        """Whether an argument is of a kind that needs an interpreter; looked for once, since nearly no call has any."""
        if self._marked is None:
            self._marked = (
                is_marked(self.operands)
                or bool(self.attributes)
                and is_marked(tuple(self.attributes.values()))
                or self.out is not None
                and bool(self.out.layout.special)
            )
        return self._marked

    def with_operands(self, operands: tuple, attributes: dict | None = None) -> Call:
        """The same call of others."""
        return Call(self.op, operands, self.attributes if attributes is None else attributes, self.plain, self.form, self.out)

    def tensors(self):
        """The tensors among the operands, those inside of sequences too, and ``out``."""
        for x in self.operands:
            if isinstance(x, Tensor):
                yield x
            elif isinstance(x, (tuple, list)):
                for member in x:
                    if isinstance(member, Tensor):
                        yield member
        if self.out is not None:
            yield self.out

    def map(self, change: Callable[[Tensor], Any]) -> tuple:
        """The operands with every tensor changed, inside of sequences too."""
        return tuple(
            change(x)
            if isinstance(x, Tensor)
            else tuple(change(y) if isinstance(y, Tensor) else y for y in x)
            if isinstance(x, (tuple, list))
            else x
            for x in self.operands
        )

    @property
    def name(self) -> str:
        """The key of this form among the calls by name."""
        return self.op.name + ("_" if self.form == "_" else "")


class Interpreter(Protocol):
    """See NOTE [Interpreters]."""

    def concerns(self, call: Call) -> bool:
        """Whether ``run`` is to be asked."""

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The result of the call."""


# ``call(op, operands, attributes) -> result, or None``, by the type of a member of ``special`` or of a tensor; ``attributes`` is
# None of an elementwise operation.
quick_calls: dict[type, Callable[[Any, tuple, dict | None], Any]] = {}


def quick_call(op: Op, operands: tuple, attributes: dict | None = None) -> Any:
    """What a quick call makes of a call: see NOTE [Quick calls]; None if there is none for it."""
    quick = quick_calls.get(type(operands[0])) or quick_calls.get(type(operands[-1]))
    if quick is None:
        try:
            quick = quick_calls.get(type(special[-1]))
        except IndexError:  # another thread may empty the list at any time
            return None
    return None if quick is None else quick(op, operands, attributes)


# ``call(op, operands) -> result, or None`` by the type of a member of ``special``: elementwise calls of a kind that is known,
# before anything of theirs is looked at.
known_calls: dict[type, Callable[[Any, tuple], Any]] = {}


def known_call(op: Op, operands: tuple) -> Any:
    """The result of a call of a kind that is known; None where it must be looked at."""
    try:
        call = known_calls.get(type(special[-1]))
    except IndexError:  # another thread may empty the list at any time
        return None
    return None if call is None else call(op, operands)


# ``write(op, operands, plain) -> result, or None`` by the type of a member of ``special``: the same of elementwise calls in place.
# ``plain(*operands)`` is such a call beneath all interpreters.
quick_writes: dict[type, Callable[[Any, tuple, Callable], Any]] = {}


def quick_write(op: Op, operands: tuple, plain: Callable) -> Any:
    """What a quick call makes of a call in place; None if there is none for it."""
    try:
        write = quick_writes.get(type(special[-1]))
    except IndexError:  # another thread may empty the list at any time
        return None
    return None if write is None else write(op, operands, plain)


# ``test(x) -> bool`` by the type of a member of ``special``: whether this thread sees a tangent of the tensor in such a mode.
tangent_tests: dict[type, Callable[[Tensor], bool]] = {}


def has_tangent(x: Tensor) -> bool:
    """Whether this thread sees a tangent of ``x``."""
    for member in special[:]:
        if (test := tangent_tests.get(type(member))) is not None:
            return test(x)
    return False


# ``test(operands) -> bool`` by the type of a member of ``special``: whether no interpreter is concerned, markings apart.
bystanders: dict[type, Callable[[tuple], bool]] = {}


def is_bystander(operands: tuple) -> bool:
    """Whether a call of these may go the ordinary way although modes are active: they are there for others."""
    for active in special[-1:]:
        test = bystanders.get(type(active))
        return test is not None and test(operands)
    return True


_interpreters: list[Interpreter | None] = [None] * len(RANKS)


def register(rank: str, interpreter: Interpreter) -> None:
    """Give a rank its interpreter."""
    _interpreters[RANKS.index(rank)] = interpreter


def is_marked(operands: tuple | list) -> bool:
    """Whether an operand is of a kind that needs an interpreter: its layout is marked, or its type overrides functions."""
    for x in operands:
        if isinstance(x, Tensor):
            if x.layout.special:
                return True
        elif isinstance(x, (tuple, list)):
            if is_marked(x):
                return True
        elif hasattr(type(x), "__nbgrad_function__"):
            return True
    return False


def interpret(call: Call, place: int = 0) -> Any:
    """Ask every interpreter from ``place`` on, then observe the call itself."""
    if not place and special and not call.marked:
        sole = sole_interpreter()
        if sole is not None:
            return sole.run(call, run_plainly) if sole.concerns(call) else run_plainly(call)
    for at in range(place, len(RANKS)):
        interpreter = _interpreters[at]
        if interpreter is not None and interpreter.concerns(call):
            return interpreter.run(call, partial(interpret, place=at + 1))
    return observed(call)


def sole_interpreter() -> Interpreter | None:
    """The one for which all members of ``special`` stand, if there is one: see NOTE [Quick calls]."""
    rank = None
    for active in special:  # another thread may empty the list at any time
        own = getattr(active, "rank", None)
        if own is None or (rank is not None and own is not rank):
            return None
        rank = own
    return None if rank is None else _interpreters[RANKS.index(rank)]


def run_plainly(call: Call) -> Any:
    """The call itself, which nobody looks at."""
    return call.plain(*call.operands, **call.attributes)


def observed(call: Call) -> Any:
    """Run a call, and show it, with operands and attributes, and the node that it recorded to every observer."""
    observers = [active for active in special if getattr(active, "rank", None) is None]
    if not observers:
        return run_plainly(call)
    mark = next_seq()
    out = run_plainly(call)
    for active in observers:
        active.seen(call.op, (*call.operands, *call.attributes.values()), out)
    announce(out, mark)
    return out


def announce(out: Any, mark: int) -> None:
    """Show the node of a result to the observers if it is younger than ``mark``."""
    first = out[0] if type(out) is tuple and out else out
    if not isinstance(first, Tensor):
        return
    # A write through a view gives its base a new node; the view's own is made when somebody asks for it.
    edges = (first._edge_,) if first._needs_grad_ is not ASK else (first._meta_.base._edge_, first._meta_.node)
    for edge in edges:
        node = edge.node if type(edge) is Edge else edge
        if isinstance(node, Node) and node._seq_ > mark:
            for active in tuple(special):
                active.recorded(node)
            return


class Presence:
    """A member of ``special`` whose presence sends every call through the interpreters, and which observes nothing.

    Attributes:
        rank: of the interpreter that is asked because of it, if no other is and ``seen`` does nothing; else None.
    """

    rank: str | None = None

    def seen(self, op: Op, operands: tuple, out: Any) -> None:
        """Nothing to look at."""

    def recorded(self, node: Node) -> None:
        """Nothing to look at."""
