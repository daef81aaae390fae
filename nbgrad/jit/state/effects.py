"""What a captured function changes that was there before it: memory, gradients of leaves, numbers that go on from call to call.

NOTE [Effects]: a graph has no writes. What a program writes to memory that it was given, or that its names hold, is an output, and
the program that runs it copies it there at the very end; gradients of leaves and counters are set behind that. While the function
is captured the writes are done truly, so that it sees them, and are taken back at the end of the capture: the call that captured
runs the program like any other.
  memory    what an argument, or a tensor that the function knows, holds; its version moves as in eager mode.
  gradients while a function is captured, a leaf has a gradient of its own, an input of the graph, in place of the one that it has.
  numbers   an optimizer's learning rate and its corrections are computed again in every call, and are elements of an input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Sequence

from ...base.errors import GraphError
from ...base.mode_contexts import no_grad
from ...base.nested import flatten
from ...graph.edges import is_leaf_edge, requires_grad
from ...modes.numbers import FOLLOWED, Number, plain_number
from ...modes.traced import unseen
from ...tensors.layout import Layout, layout_of
from ...tensors.storage import CPU, Storage
from ...tensors.tensor import Tensor, meta_of, native, put_layout
from ...views import is_grad_leaf, is_view
from ..ir.devices import copied, put_back
from ..ir.ir import Value
from .hooks import has_hooks, has_hooks_behind
from .implicit_inputs import GradientOf, Numbers, NumbersOf
from .slots import DataOf, Exchange

if TYPE_CHECKING:
    from ...base.dtypes import DType
    from ..capture.capture import Trace
    from ..capture.memory import Variable

__all__ = ["Effects", "Kept", "Postponed", "Raised"]


class Postponed(GraphError):
    """What is captured makes its state in the first call, which runs as it is: the next one may be captured."""


class Filling(Postponed):
    """The function fills a deque: the call that finds it full may be captured, however many are before it."""


class Raised(GraphError):
    """The function raises where its state is followed: an error of its own, if it raises as it is, too."""


class Kept(GraphError):
    """The program would keep a number among its arguments beyond the call."""


def count_hooks(leaf: Tensor) -> int:
    """How many hooks a leaf has."""
    meta = leaf._meta_
    return 0 if meta is None else len(meta.hooks or ()) + len(meta.post_hooks or ()) + has_hooks(leaf)


class Standin(NamedTuple):
    """A leaf in the capture.

    Attributes:
        original: the leaf; ``leaf``: what the function sees; ``owner``: the number of the argument, or the leaf itself.
        hooks: how many it had. flag: whether it needed a gradient.
        history: its edge, and what it says of gradients.
        before: its gradient; ``made``: what it was given in the place of that; ``value``: an input of the graph.
    """

    original: Tensor
    leaf: Tensor
    owner: Any
    hooks: int
    flag: bool
    history: tuple[Any, Any]
    before: Tensor | None
    made: Tensor | None
    value: Value | None


class Moved(NamedTuple):
    """A tensor that is on other memory, and where it was, of which version."""

    original: Tensor
    storage: Storage
    offset: int
    layout: Layout
    version: int


class Effects:
    """The effects of a function that is being captured.

    Attributes:
        sources: for every input behind the arguments, where a call has it from.
        after: what is called behind every run.
        names: further names that the program depends on, as ``Guards.names`` has them.
        needed: leaves, by identity, of which it matters whether they have a gradient.
        gradients: leaves whose gradient is exchanged: an owner (see ``Standin``), and a value of the graph or None.
        passes: whether backward passes run inside; ``leaves``: arguments in which they leave gradients;
            ``learned``: other tensors in which they do.
        flags: tensors (see ``Standin.owner``), whether they are cut off their history, whether they need gradients from then on.
        flagged: whether the function has said anew of one that was there before whether it needs a gradient.
        cut: those that are cut off, by identity.
        exchanges: what names are to hold, and what lists are to be given, behind every run.
        moved: tensors that are on other memory, by identity, with where they were.
        writes: an input or constant whose memory is overwritten, with what, and how many writes its version counts.
    """

    def __init__(self, trace: Trace):
        self.trace = trace
        self.sources: list[Any] = []
        self.after: list[Callable[[], None]] = []
        self.names: list[Any] = []
        self.exchanges: list[Exchange] = []
        self.flags: list[tuple[Any, bool, bool]] = []
        self.flagged, self.cut = False, set[int]()
        self.gradients: list[tuple[Any, Value | None]] = []
        self.writes: list[tuple[Value, Value, int]] = []
        self.standins: dict[int, Standin] = {}
        self.passes, self.leaves, self.learned = False, dict[int, None](), dict[Tensor, None]()
        self.exchanged: set[int] = set()
        self.needed: dict[int, Standin] = {}
        self.saved: dict[int, tuple[Any, Any, Any]] = {}
        self.moved: dict[int, Moved] = {}
        self.numbers: dict[tuple[int, str], tuple[Numbers, list[Value]]] = {}

    # ---- gradients -------------------------------------------------------------------------------------------------

    def stand_in(self, original: Tensor, leaf: Tensor, owner: Any) -> None:
        """Give a leaf of the capture a gradient of its own, like the original's."""
        made, value = None, None
        grad = None if original._meta_ is None else original._meta_.grad
        if grad is not None:
            if grad.layout.special or requires_grad(grad):
                raise GraphError("the gradient of a leaf has a history, or is a batch: a graph cannot hold it. Hint: detach it.")
            made = self.trace.input(grad, "")
            value = self.trace.graph.inputs[-1]
            self.sources.append(GradientOf(owner))
        before = grad if leaf is original else None
        flag, history = requires_grad(leaf), (leaf._edge_, leaf._needs_grad_)
        self.standins[id(leaf)] = Standin(original, leaf, owner, count_hooks(leaf), flag, history, before, made, value)
        if made is not None:
            (leaf._meta_ or meta_of(leaf)).grad = made

    def refuse_hooks(self) -> None:
        """Refuse passes while a leaf has hooks from outside: what these do beside computing would be done once.

        Raises:
            GraphError: one has.
        """
        self.passes = True
        for standin in self.standins.values():
            if has_hooks_behind(standin.original):
                what = "backward: a leaf has hooks, which may do more than compute"
                self.trace.refuse(what, "register them within the function, or use it as it is")

    def note_leaf(self, leaf: Tensor) -> None:
        """A pass leaves a gradient in a tensor, which must be no leaf of the capture alone."""
        standin = self.standins.get(id(leaf))
        if standin is not None and not standin.flag:
            return  # since the function has set it
        if standin is not None and not is_grad_leaf(standin.original):
            self.trace.refuse("backward: goes through an argument that was computed outside", "nbgrad.grad, or detach the argument")
        if standin is not None:
            (self.leaves if isinstance(standin.owner, int) else self.learned)[standin.owner] = None

    def note_history_asked(self, x: Tensor) -> None:
        """The program goes on as it does for a leaf, which an argument must be."""
        standin = self.standins.get(id(x))
        if standin is not None and isinstance(standin.owner, int) and requires_grad(x):
            if not is_grad_leaf(standin.original):
                self.trace.refuse("grad_fn: asks for the history of an argument", "ask outside")
            self.passes, self.leaves[standin.owner] = True, None

    def note_read(self, leaf: Tensor) -> None:
        """What the program does depends on the gradient that a leaf has."""
        standin = self.standins.get(id(leaf))
        if standin is not None and id(leaf) not in self.exchanged:
            self.needed[id(leaf)] = standin
        elif standin is None and leaf._meta_ is not None and leaf._meta_.grad is not None and not self.is_made(leaf):
            self.trace.refuse("grad: is read of a tensor that no argument and no name holds", "name the tensor")

    def is_leaf_since(self, x: Tensor) -> bool:
        """Whether the function has made a leaf of a tensor that was there before."""
        standin = self.standins.get(id(x))
        return standin is not None and (not standin.flag or id(x) in self.cut)

    def holds_computed(self) -> bool:
        """Whether what is a leaf for the function was computed outside."""
        return any(standin.flag and not is_grad_leaf(standin.original) for standin in self.standins.values())

    def is_made(self, x: Tensor) -> bool:
        """Whether the function has made a tensor that stands in for none, if perhaps on memory that was there before."""
        return x.layout.is_traced() or self.trace.variables.is_made(x)

    def note_set(self, leaf: Tensor) -> None:
        """From here on nothing depends on the gradient that it had."""
        if id(leaf) in self.standins:
            self.exchanged.add(id(leaf))
        elif not self.is_made(leaf):
            self.trace.refuse("grad: is set of a tensor that no argument and no name holds", "name the tensor")

    def note_flags(self) -> None:
        """See which tensors need a gradient from now on, or none any more."""
        for standin in self.standins.values():
            cut, now = id(standin.leaf) in self.cut, requires_grad(standin.leaf)
            if cut or now is not standin.flag:
                self.flags.append((standin.owner, cut, now))

    def note_detached(self, x: Tensor) -> None:
        """A tensor that was there before is cut off its history, as it will be behind every call."""
        standin = self.standins.get(id(x))
        if standin is not None:
            if is_view(standin.original):
                self.trace.refuse("detach_: of a view, which raises an error", "y = x.detach()")
            self.cut.add(id(x))

    def note_gradients(self) -> None:
        """See which gradients the function has left."""
        for standin in self.standins.values():
            leaf = standin.leaf
            now = None if leaf._meta_ is None else leaf._meta_.grad
            if count_hooks(leaf) != standin.hooks:
                raise GraphError("register_hook: hangs a hook on what the function does not make: a graph cannot hold it.")
            if now is standin.made:
                continue
            if now is None:
                self.gradients.append((standin.owner, None))
                continue
            if requires_grad(now):
                raise GraphError(
                    "backward: create_graph leaves a gradient with a history: a graph cannot hold it. Hint: nbgrad.grad."
                )
            self.gradients.append((standin.owner, self.trace.variables.value(now)))

    # ---- memory ----------------------------------------------------------------------------------------------------

    def keep(self, x: Tensor) -> None:
        """Remember what the memory of a tensor holds that was there before."""
        storage = x._storage_
        if id(storage.array) not in self.saved:
            with unseen():
                self.saved[id(storage.array)] = storage, copied(storage), storage.version

    def note_moved(self, x: Tensor) -> None:
        """A tensor that was there before is about to be put on other memory."""
        self.moved.setdefault(id(x), Moved(x, x._storage_, x._offset_, x.layout, int(x._storage_.version)))

    def exchanges_of_moved(self) -> list[Exchange]:
        """What such tensors are to show, behind every run."""
        found = []
        for x, storage, *_, version in self.moved.values():
            if x._storage_.array is storage.array:
                continue  # it is back
            shown: Tensor = native.tensor(x.layout.plain().template, x._storage_, x._offset_, False, None)
            with no_grad():
                value = self.trace.returned(shown)
            writes = int(x._storage_.version) - version
            found.append(Exchange(DataOf(x, writes), flatten(shown)[1], [value], [""], [shown]))
        return found

    def note_writes(self, variables: Iterable[Variable]) -> None:
        """See what the function has left in memory that was there before."""
        for variable in variables:
            if variable.target is not None and variable.writes:
                assert variable.storage is not None
                self.writes.append((variable.target, variable.value, variable.storage.version - variable.version))

    # ---- numbers ---------------------------------------------------------------------------------------------------

    def values_of(self, numbers: dict[str, Any], dtype: DType) -> tuple[Any, ...]:
        """Numbers as operands: those that change from call to call as values of the graph.

        Raises:
            GraphError: an optimizer's are numbers of this call, which its options would keep.
        """
        if not isinstance(numbers, Numbers):
            followed = [x.cast(dtype) if type(x) in FOLLOWED and x.is_followed() else plain_number(x) for x in numbers.values()]
            return tuple(map(self.trace.value, followed))
        if any(isinstance(x, Number) for x in numbers.values()):
            raise Kept(
                "step: an option of the optimizer is set to an argument of the function, which it would keep. Hint: set it outside."
            )
        found = self.numbers.get((id(numbers), dtype.name))
        if found is None:
            source = NumbersOf(numbers, dtype)
            self.sources.append(source)
            self.trace.input(source.tensor, "")
            whole, number = self.trace.graph.inputs[-1], layout_of(dtype, (), None, CPU)
            add = self.trace.variables.add
            places = [{"size": (), "stride": (), "offset": k} for k in range(len(numbers))]
            found = numbers, [add("as_strided_from", (whole,), place, number) for place in places]
            self.numbers[id(numbers), dtype.name] = found
        return tuple(found[1])

    def any(self) -> bool:
        """Whether the function changes anything."""
        return bool(self.writes or self.gradients or self.after or self.sources or self.needed or self.exchanges or self.flags)

    def values(self) -> list[Value]:
        """What names are to hold, and the gradients that leaves are given."""
        states = [x for each in self.exchanges for x in each.leaves if isinstance(x, Value)]
        return states + [value for _, value in self.gradients if value is not None]

    def kept(self) -> list[Any]:
        """What the capture had in the place of the first of these, which names are to hold: tensors and numbers."""
        return [x for each in self.exchanges for x in each.contents]

    def rename(self, outputs: Sequence[Value]) -> None:
        """These outputs of the graph stand for what names are to hold, the gradients that leaves are given, and what is written."""
        rest = iter(outputs)
        for each in self.exchanges:
            each.leaves = [next(rest) if isinstance(x, Value) else x for x in each.leaves]
        self.gradients = [(owner, None if value is None else next(rest)) for owner, value in self.gradients]
        self.writes = [(target, next(rest), count) for target, _, count in self.writes]

    # ---- the end ---------------------------------------------------------------------------------------------------

    def note(self) -> None:
        """See what the function has changed."""
        self.note_flags()
        self.note_gradients()
        self.note_writes(self.trace.variables.table.values())
        self.drop_inputs()

    def drop_inputs(self) -> None:
        """Take out the inputs behind the arguments that nothing reads."""
        if not self.sources:
            return
        graph = self.trace.graph
        read = {value for node in graph.nodes for value in node.values()}
        read |= {target for target, _, _ in self.writes} | {value for _, value, _ in self.writes}
        read |= {*self.values(), *(x for x in graph.outputs if isinstance(x, Value))}
        count = len(graph.inputs) - len(self.sources)
        kept = [(value, source) for value, source in zip(graph.inputs[count:], self.sources) if value in read]
        graph.inputs[count:] = [value for value, _ in kept]
        self.sources = [source for _, source in kept]

    def take_back(self) -> None:
        """Put back what was there before the capture."""
        for standin in self.standins.values():
            if standin.leaf._meta_ is not None:
                standin.leaf._meta_.grad = standin.before
            x = standin.leaf
            if x is standin.original and (id(x) in self.cut or x._needs_grad_ is not standin.flag and is_leaf_edge(x._edge_)):
                x._edge_, x._needs_grad_ = standin.history
        for x, storage, offset, layout, _ in self.moved.values():
            x._storage_, x._offset_ = storage, offset
            put_layout(x, layout)
        for storage, copy, version in self.saved.values():
            put_back(storage, copy)
            storage.version = version
