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

NOTE [Observers]: members of ``special`` that only look. ``seen(op, operands, result)`` is called after every call that got past all
interpreters, ``recorded(node)`` for every node that was made. Members that say which ``rank`` they stand for do not look.

NOTE [Fast path]: asking takes its time. Where all members of ``special`` say that they stand for one ``rank``, and no operand
is marked, but by them, no other interpreter is concerned. And a kind of mode or of tensor may have a ``FastPath``, which finds
at once what its interpreter would do. They have no way of their own to plan a call: their plans are made from the operation's
ordinary ones, or of its declaration (dispatch/inference.py, forward/fast_path.py, batch/fast_path.py).
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Protocol

from ..base.calls import CALLS
from ..base.grad_mode import special
from ..base.overriding import overrides_functions
from ..graph.edges import Edge, Node, next_seq
from ..ops.core import Op
from ..tensors.tensor import ASK, Tensor

__all__ = [
    "Call",
    "Interpreter",
    "Presence",
    "FastPath",
    "register",
    "interpret",
    "is_marked",
    "announce",
    "has_tangent",
    "known_call",
    "intercept",
    "fast_paths",
    "fast_write",
    "run_plainly",
    "RANKS",
]

# From the user's side inwards: what an overriding type says, mixed precision, what a batch means, who measures, tangents, what a
# checkpointed function keeps, inference tensors, lazy bits, modes beneath the gradients, graphs that are captured.
RANKS = ("overrides", "casting", "batching", "profiling", "tangents", "selection", "inference", "bits", "dispatch", "capture")


class Call:
    """One call as interpreters see it.

    Attributes:
        op: the declared operation.
        operands: its operands in the declared order: tensors; numbers too if it is elementwise; a sequence of tensors where the
            operation is variadic.
        attributes: its other arguments by name.
        form: ``""``; ``"_"``: the result is written over the first operand; ``"out"``: over ``out``.
        out: the tensor to write to, of that form.
        plain: ``plain(*operands, **attributes)``, the call without interpreters.
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


class FastPath:
    """What a kind of mode, or of tensor, knows of calls: functions that return None where interpreters must be asked.

    Attributes:
        known: ``known(op, operands)``, an elementwise call before anything of it is looked at, or a composite: where its plan is
            known or follows from the kinds of operands, or where the mode does not concern it.
        call: ``call(op, operands, attributes)``, a call that was looked at; ``attributes`` is None of an elementwise operation.
        write: ``write(op, operands, plain)``, an elementwise call in place; ``plain(*operands)`` is that without interpreters.
        has_tangent: ``has_tangent(x)``, whether this thread sees a tangent of the tensor in such a mode.
    """

    __slots__ = ("known", "call", "write", "has_tangent")

    def __init__(
        self,
        known: Callable[[Any, tuple], Any] = lambda op, operands: None,
        call: Callable[[Any, tuple, dict | None], Any] = lambda op, operands, attributes: None,
        write: Callable[[Any, tuple, Callable], Any] = lambda op, operands, plain: None,
        has_tangent: Callable[[Tensor], bool] = lambda x: False,
    ):
        self.known, self.call, self.write, self.has_tangent = known, call, write, has_tangent


# By the type of a member of ``special``, or of a tensor.
fast_paths: dict[type, FastPath] = {}


def known_call(op: Op, operands: tuple) -> Any:
    """What the innermost mode knows of a call before it is looked at, or without one the kind of the first or last operand: see
    NOTE [Fast path]; None where it must be looked at."""
    try:
        quick = fast_paths.get(type(special[-1]))
    except IndexError:  # there is none; another thread may empty the list at any time
        quick = fast_paths.get(type(operands[0])) or fast_paths.get(type(operands[-1])) if operands else None
    return None if quick is None else quick.known(op, operands)


def intercept(op: Op, operands: tuple, attributes: dict | None, plain: Callable | None = None) -> Any:
    """A call while some special mode is active, or of an operand that needs an interpreter: what the innermost mode knows of it, or
    the kind of its first or last operand; if that is nothing, what interpreters make of it.

    Args:
        attributes: None of an elementwise operation.
        plain: the call without interpreters; by default the ``plain`` of the operation's.
    """
    if special:
        try:
            quick = fast_paths.get(type(special[-1]))
        except IndexError:
            quick = None
        if quick is not None:
            out = quick.call(op, operands, attributes)
            if out is not None:
                return out
    quick = fast_paths.get(type(operands[0])) or fast_paths.get(type(operands[-1]))
    if quick is not None:
        out = quick.call(op, operands, attributes)
        if out is not None:
            return out
    return interpret(Call(op, operands, attributes or {}, plain or CALLS[op.name].plain))


def fast_write(op: Op, operands: tuple, plain: Callable) -> Any:
    """The same of an elementwise call in place."""
    try:
        quick = fast_paths.get(type(special[-1]))
    except IndexError:
        return None
    return None if quick is None else quick.write(op, operands, plain)


def has_tangent(x: Tensor) -> bool:
    """Whether this thread sees a tangent of ``x``."""
    return any(quick.has_tangent(x) for kind in {*map(type, special[:])} if (quick := fast_paths.get(kind)) is not None)


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
        elif overrides_functions(type(x)):
            return True
    return False


def interpret(call: Call, place: int = 0) -> Any:
    """Ask every interpreter from ``place`` on, then observe the call itself."""
    if not place and special and (not call.marked or bears_own_marks(call)):
        sole = sole_interpreter()
        if sole is not None:
            return sole.run(call, run_plainly) if sole.concerns(call) else run_plainly(call)
    for at in range(place, len(RANKS)):
        interpreter = _interpreters[at]
        if interpreter is not None and interpreter.concerns(call):
            return interpreter.run(call, partial(interpret, place=at + 1))
    return observed(call)


def bears_own_marks(call: Call) -> bool:
    """Whether what is marked in a call has the mark of the innermost mode, and no other one."""
    try:
        mark = getattr(special[-1], "mark", None)
    except IndexError:
        return False
    return mark is not None and call.out is None and bear(call.operands, mark) and bear(tuple(call.attributes.values()), mark)


def bear(operands: tuple | list, mark: Any) -> bool:
    """Whether all operands have no mark but this."""
    for x in operands:
        if isinstance(x, Tensor):
            layout = x.layout
            if layout.special and (layout.special is not mark or layout.unmarked().special):
                return False
        elif isinstance(x, (tuple, list)):
            if not bear(x, mark):
                return False
        elif overrides_functions(type(x)):
            return False
    return True


def sole_interpreter() -> Interpreter | None:
    """The one for which all members of ``special`` stand, if there is one: see NOTE [Fast path]."""
    rank = None
    for active in special[:]:
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
    observers = [active for active in special[:] if getattr(active, "rank", None) is None]
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
        mark: of the layouts of tensors of which that one alone is asked; None without.
    """

    rank: str | None = None
    mark: Any = None

    def seen(self, op: Op, operands: tuple, out: Any) -> None:
        """Nothing to look at."""

    def recorded(self, node: Node) -> None:
        """Nothing to look at."""
