"""How a program of a compiled function runs: when it holds, what is done beside computing, what the call returns."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from ...base.mode_contexts import enable_grad
from ...base.nested import Tree
from ...modes.inference import mark_inference
from ...native.actors import COUNTED, LISTED, SINGLE
from ...tensors.tensor import Tensor
from ...views import is_grad_leaf
from ..arguments.forms import Form
from ..arguments.gradient_flags import flags_of, shares_variables
from ..execution.costs import Cost
from ..execution.program import Program
from ..execution.sequence import Expected
from ..guards.guards import Guards
from ..guards.identities import Identity, Ones
from ..ir.graph import Graph
from ..ir.ir import Value
from ..nodes.values import GUARD
from ..state.hooks import has_hooks_behind
from ..state.rebound_names import State
from ..state.side_effects import SideEffects
from ..state.snapshots import Snapshot
from .program_node import Recorder

if TYPE_CHECKING:
    from .backward import Backward

__all__ = ["MISSED", "Parts", "Run"]

MISSED = object()  # what native code returns where a call is not as expected


class Parts(NamedTuple):
    """What the program of a variant is made from.

    Attributes:
        graph: what the steps compute.
        values: the leaves of the result: values of the graph, and plain ones.
        gradients: values that become gradients of leaves, behind the results; ``writes``: inputs and constants, with what they
            hold in the end.
        live, freed: values with a history: that a pass can go through, that a pass has used up.
        words: of calls of generators; ``saved``: for the backward pass. Both are returned behind everything else.
        known: identities of tensors that were there before the capture.
        kinds: classes of the arguments that are tensors, or numbers: NOTE [Traced numbers] of modes/numbers.py.
        expected: as of ``assemble`` of sequence.py.
        forms: of the leaves of the result: see forms.py.
    """

    graph: Graph
    values: list[Any]
    gradients: list[Value]
    writes: list[tuple[Value, Value]]
    live: list[Value]
    freed: list[Value]
    words: list[Value]
    saved: list[Value]
    known: set[int]
    kinds: tuple[type, ...]
    expected: Expected
    forms: Sequence[Form | None] = ()


class Run:
    """A program that runs.

    Attributes:
        graph: what it computes; where results are ``live`` as it was captured, else simplified.
        originals: of every value that the steps return, and of which gradients may be asked for, the one in the graph.
        guards: what it depends on beside the arguments.
        tree: the structure of the result.
        live: results with a history that a backward pass can go through; ``backward`` the program of that, or None.
        side_effects: what it does beside computing its results; None if nothing.
        words: of the calls in which random numbers are drawn, for such a pass: the steps return them behind their results.
        numbers: leaves of the arguments that are numbers, and words of the program; ``floats``: leaves of the result that are.
        inferred: leaves of the result that the function makes in an inference mode of its own.
        asking: the first node that depends on values; None if the program asks for none.
        parts: what the program was made from.
        cost: what its capture took; ``given``: the structure of the arguments, ``paths``: where their leaves are.
        before: how what it depends on was before the capture, as long as that is of use.
        known: tensors of the program that were there before the capture; ``arrays``: identities of NumPy arrays on which some lie.
        once: whether its capture has changed something that its runs do not: it is of that call alone.
        passes: whether backward passes run inside; ``leaves``: arguments in which they leave gradients.
        state: of the function; ``lock``: that of it, None of a program that exchanges none.
        identities: arguments that must be, or must not be, variables of the function, or one tensor.
        seen: when Python has last chosen it: see ``Fallback._make_room_``.
        learned: tensors of the program, beside the arguments, into which gradients flow, or which a backward pass reads.
    """

    cost: Cost
    given: Tree
    paths: list[str]
    before: Snapshot
    known: list[Tensor]
    arrays: set[int]
    graph: Graph
    originals: dict[Value, Value]
    guards: Guards
    tree: Tree
    side_effects: SideEffects | None
    backward: Backward | None
    words: list[Value]
    numbers: frozenset[int]
    floats: list[int]
    inferred: list[int]
    once: bool
    passes: bool
    leaves: dict[int, None]
    state: State
    identities: Sequence[Identity | Ones]
    learned: list[Tensor]
    seen = 0

    def assemble(self, parts: Parts) -> None:
        """Make the program."""
        self.parts = parts
        self.slow: Callable | None = None
        self.alone: Callable | None = None  # see ``tried``
        self.lock = self.state.lock if self.side_effects is not None and self.side_effects.keep is not None else None
        one = len(parts.values) == 1
        flat = not (self.floats or self.inferred) and (self.tree.kind is None if one else tree_of_several(self.tree))
        self.form = (SINGLE if one else COUNTED) if flat else LISTED
        self.natively: list[Any] = [None]
        recorded = self.in_place_of_steps(self.recorded, self.acted, self.missed)
        self.program = Program(
            parts.graph,
            [*parts.values, *parts.gradients],
            known=parts.known,
            expected=parts.expected,
            slow=self.missed,
            recorded=recorded,
            freed=set(parts.freed),
            commits=parts.writes,
            given=len(parts.kinds),
            kept=parts.words,
            saved=parts.saved,
            kinds=parts.kinds,
            forms=parts.forms,
        )
        window = self.program.schedule.window
        self.live = {window(value).place.value for value in parts.live}
        if parts.live:
            further = self.backward, self.originals, self.live, self.words, bool(self.numbers)
            self.recorder = Recorder(self.graph, self.program, *further)
            if not parts.expected.records:
                self.applied = self.applied_under_no_grad  # type: ignore[method-assign]
        self.direct = flat and (self.program.direct if self.side_effects is None else not parts.live)
        self.natively[:] = self.program.natively()
        self.asking = next((node for node in self.graph.nodes if node.op is GUARD or node.op.sized_by_values), None)

    def in_place_of_steps(self, recorded: Callable, acted: Callable, slow: Callable) -> Callable | None:
        """What is called in the place of the steps, if these are not all that the program does.

        Args:
            recorded: of results with a history; ``acted``: of effects beside results.
            slow: ``slow(*inputs)`` where the program does not hold.
        """
        effects, lock = self.side_effects, self.lock
        if effects is None:
            return recorded if self.parts.live else None
        if self.parts.live:
            made: Callable = self.acting
        elif self.form == LISTED:
            made = effects.actor(self.natively, LISTED, self.acting, missed)
        elif lock is None:
            made = effects.actor(self.natively, self.form, acted, slow)
        else:
            made = effects.actor(self.natively, self.form, self.acted_alone, missed)
        return made if lock is None else self.locked(made, lock, slow)

    def inputs(self, leaves: Sequence[Any]) -> list:
        """The tensors, and the numbers that are words of the program, among the leaves of arguments."""
        return [x for k, x in enumerate(leaves) if isinstance(x, Tensor) or k in self.numbers]

    def finish(self, outs: Any, inputs: Any) -> Any:
        """The result, of what native code returned."""
        if self.side_effects is not None:
            return outs if outs is MISSED else self.tree.unflatten(self.as_returned(outs))
        return outs if self.direct else self.tree.unflatten(self.as_returned(self.program.leaves(outs, inputs)))

    def as_returned(self, leaves: list) -> list:
        """The leaves of the result, with numbers and inference tensors where the function returns such."""
        for k in self.floats:
            x = leaves[k]
            leaves[k] = x.item() if isinstance(x, Tensor) else x  # an argument as it came
        for k in self.inferred:
            mark_inference(leaves[k])
        return leaves

    def reads_as_captured(self) -> bool:
        """Whether tensors that the program reads beside its inputs have the layouts that they had."""
        constants = self.parts.graph.constants
        return not any(isinstance(value.data, Tensor) and value.data.layout is not value.layout for value in constants)

    def fits(self, inputs: list[Tensor]) -> bool:
        """Whether the program's names hold what they held, and what else it reads is there."""
        constants = self.parts.graph.constants
        if not self.reads_as_captured():
            return False
        tensors = [*inputs, *(value.data for value in constants)]
        if flags_of(tensors, self.passes) != self.parts.expected.flags or not all(is_grad_leaf(inputs[k]) for k in self.leaves):
            return False
        if self.passes and (
            any(isinstance(x, Tensor) and has_hooks_behind(x) for x in tensors) or shares_variables(inputs, constants)
        ):
            return False
        if not all(each.holds(inputs) for each in self.identities):
            return False
        return (
            not self.once and self.guards.hold() and (self.side_effects is None or self.side_effects.operands(inputs) is not None)
        )

    def acting(self, *inputs: Tensor) -> Any:
        """The leaves of the result, when all that the program does beside computing them is done."""
        assert self.side_effects is not None
        operands = self.side_effects.operands(inputs)
        if operands is None:
            return MISSED
        outs = self.applied(operands) if self.live else self.program.assembled.run(*operands)
        if outs is None:
            return MISSED
        self.side_effects.count_writes(operands)
        leaves = self.program.leaves(outs, operands)
        return self.side_effects.apply(operands, leaves)

    def acted(self, *inputs: Tensor) -> Any:
        """The result, when all that the program does beside computing is done."""
        made = self.acted_alone(*inputs)
        return self.missed(*inputs) if made is MISSED else made

    def acted_alone(self, *inputs: Tensor) -> Any:
        """``acted``, but ``MISSED`` where the program does not hold."""
        return self.finish(self.acting(*inputs), inputs)

    def locked(self, call: Callable, lock: Any, slow: Callable) -> Callable:
        """``call(*inputs)`` while no other thread is between reading and writing state."""

        def alone(*inputs: Any) -> Any:
            with lock:
                made = call(*inputs)
            return slow(*inputs) if made is MISSED else made

        return alone

    def first_guard(self) -> str:
        """The first place where the program asks for values, for people."""
        return f"values that are asked for, at {self.asking.line}" if self.asking else ""

    def missed(self, *inputs: Any) -> Any:
        """Native code found something else than expected."""
        return MISSED if self.slow is None else self.slow(*inputs)

    def entry(self, slow: Callable) -> Callable:
        """``call(*inputs)`` that finds out itself whether the variant is meant, and asks ``slow`` if it is not."""
        call, finish = self.program.assembled.call, self.finish
        if self.direct and not self.identities:
            self.slow = slow
            return call

        def entry(*inputs: Any) -> Any:
            made = call(*inputs)
            return slow(*inputs) if made is MISSED else finish(made, inputs)

        def among(*inputs: Any) -> Any:
            made = call(*inputs) if all(each.holds(inputs) for each in asked) else MISSED
            return slow(*inputs) if made is MISSED else made if direct else finish(made, inputs)

        asked, direct = self.identities, self.direct
        return among if asked else entry

    def tried(self, inputs: list[Tensor]) -> Any:
        """The result, if native code finds that all is as expected; else ``MISSED``, and who asks looks in Python."""
        if self.once or self.guards.members.moved() or not all(each.holds(inputs) for each in self.identities):
            return MISSED
        if self.alone is None:
            if not self.reads_as_captured():  # native code would take the layouts of now for those that are expected
                return MISSED
            instead = self.in_place_of_steps(self.recorded_alone, self.acted_alone, missed)
            self.alone = self.program.assembled.again(missed, instead)
        made = self.alone(*inputs)
        return made if made is MISSED or self.direct else self.finish(made, inputs)

    def recorded_alone(self, *inputs: Tensor) -> Any:
        """``recorded``, but ``MISSED`` where the program does not hold."""
        outs = self.applied(inputs)
        return MISSED if outs is None else outs

    def __call__(self, inputs: list[Tensor]) -> Any:
        """Run it on tensors that are as expected; ``MISSED`` where values that the program asks for are others."""
        if self.side_effects is not None:
            with self.lock or nullcontext():
                return self.finish(self.acting(*inputs), inputs)
        outs = self.applied(inputs) if self.live else self.program.assembled.run(*inputs)
        return MISSED if outs is None else self.finish(outs, inputs)

    def recorded(self, *inputs: Tensor) -> Any:
        """The results of the steps as those of one node, or what ``missed`` says."""
        outs = self.applied(inputs)
        return self.missed(*inputs) if outs is None else outs

    def applied(self, inputs: Sequence[Tensor]) -> Any:
        """The results of the steps as those of one node; None where values that the program asks for are others."""
        outs = self.recorder(inputs, self.learned)
        return outs if outs is None or len(outs) != 1 else outs[0]

    def applied_under_no_grad(self, inputs: Sequence[Tensor]) -> Any:
        """``applied`` of a function that records, by ``enable_grad``, what its caller does not."""
        with enable_grad():
            return Run.applied(self, inputs)


def missed(*inputs: Any) -> Any:
    """What a program returns where values that it asks for are others."""
    return MISSED


def tree_of_several(tree: Tree) -> bool:
    """Whether a structure is a plain tuple of leaves."""
    return tree.kind is tuple and all(child.kind is None for child in tree.children)
