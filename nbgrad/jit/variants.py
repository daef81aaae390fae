"""One captured program of a compiled function: when it holds, how it runs, what it returns."""

from __future__ import annotations

from contextlib import nullcontext
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from ..base.errors import GraphError
from ..base.grad_mode import enable_grad, mode
from ..base.nested import Tree
from ..base.plain import PLAIN
from ..engine import walks
from ..graph.edges import requires_grad
from ..native.actors import COUNTED, LISTED, SINGLE
from ..tensors.tensor import Tensor
from .acts import Acts
from .before import Before
from .capturing import Fixed, captured
from .costs import Cost
from .draws import words_of
from .effects import Effects, Postponed, Raised, has_hooks_behind, is_leaf, number_tensor
from .flags import flags_of, meets, needs_gradient
from .forms import Form
from .graph import Graph
from .guards import Guards
from .identities import identities, selves
from .ir import Value, values_in
from .leaves import paths_of_leaves
from .lines import line_of
from .passes import owners, recorded_owners, simplify
from .program import Program
from .rebound import State, States, states_of
from .recorded import Recorder
from .sequence import Expected
from .structures import kinds_in
from .tracing import beginning_again
from .values import GUARD

if TYPE_CHECKING:
    from .backward import Backward

__all__ = ["MISSED", "Parts", "Variant"]

MISSED = object()  # what native code returns where a call is not as expected
OUTSIDE = "call it outside, and give the function what it returns"
KEEPS = "it keeps state in names"
MOST_ATTEMPTS = 4  # captures that each find more state than the one before


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
        given: how many arguments are tensors, or ``numbers``, which of them are those: NOTE [Traced numbers] of modes/numbers.py.
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
    given: int
    expected: Expected
    numbers: frozenset[int] = frozenset()
    forms: Sequence[Form | None] = ()


class Variant:
    """A captured program.

    Attributes:
        graph: what it computes; where results are ``live`` as it was captured, else simplified.
        originals: of every value that the steps return, and of which gradients may be asked for, the one in the graph.
        guards: what it depends on beside the arguments.
        tree: the structure of the result.
        live: results with a history that a backward pass can go through; ``backward`` the program of that, or None.
        acts: what it does beside computing its results; None if nothing.
        words: of the calls in which random numbers are drawn, for such a pass: the steps return them behind their results.
        numbers: leaves of the arguments that are floats, and words of the program; ``floats``: leaves of the result that are.
        asking: the first node that depends on values; None if the program asks for none.
        parts: what the program was made from.
        cost: what its capture took; ``given``: the structure of the arguments, ``paths``: where their leaves are.
        before: how what it depends on was before the capture, as long as that is of use.
        known: tensors of the program that were there before the capture; ``arrays``: identities of NumPy arrays on which some lie.
        once: whether its capture has changed something that its runs do not: it is of that call alone.
        passes: whether backward passes run inside; ``leaves``: arguments in which they leave gradients.
        state: of the function; ``lock``: that of it, None of a program that exchanges none.
        identities: arguments that must be, or must not be, variables of the function.
        learned: tensors of the program, beside the arguments, into which gradients flow, or which a backward pass reads.
    """

    def __init__(self, fn: Callable, leaves: list, tree: Tree, exact: bool, numbers: frozenset[int], follow: bool, kept: State):
        self.numbers, self.state = numbers, kept
        self.cost, self.given, self.paths = Cost(), tree, paths_of_leaves(fn, tree)
        others = [x for x in leaves if not isinstance(x, (Tensor, *PLAIN)) and (callable(x) or isinstance(x, Enum))]
        self.guards = Guards(fn, *others, *kinds_in(tree))
        if self.guards.outside:
            raise GraphError(f"{self.guards.outside[0]}: may be another one in every call. Hint: {OUTSIDE}.")
        self.before = Before(self.guards)
        try:
            self.capture(fn, leaves, tree, numbers, follow, kept)
        except BaseException as error:
            if isinstance(error, GraphError) or numbers or self.guards.exchanged:
                self.before.put_back()
            else:  # the function's own
                self.before.release()
            raise

    def capture(self, fn: Callable, leaves: list, tree: Tree, numbers: frozenset[int], follow: bool, kept: State) -> None:
        """Run the function, and make a program of what is seen.

        Raises:
            Fixed: it takes the values of numbers. Postponed: it has kept something that is of this capture alone.
        """
        states = kept.states(self.guards)
        for _ in range(MOST_ATTEMPTS):
            try:
                found = self.attempt(fn, leaves, tree, numbers, follow, states)
            except (Fixed, Postponed):
                raise
            except Exception as error:  # its own, or of what takes no numbers
                if states is None:
                    raise
                if isinstance(error, GraphError):
                    raise Postponed(f"{KEEPS}, and where that is followed: {error}") from error
                kind, line = type(error).__name__, line_of(error)
                raise Raised(f"{KEEPS}, and raises {kind} at {line} where what they hold are numbers of the program.") from error
            if found is None:
                break
            states = found
        else:
            raise Postponed(f"{KEEPS}, others in every capture. Hint: return it, and keep it outside.")
        if states is not None:
            kept.learn(states)

    def attempt(
        self, fn: Callable, leaves: list, tree: Tree, numbers: frozenset[int], follow: bool, states: States | None = None
    ) -> States | None:
        """The same; ``states`` of the function where it is to be captured again with these."""
        known = self.guards.tensors
        own = selves(self.guards, self.inputs(leaves))
        graph, results, self.floats, histories, forms, self.tree, effects = beginning_again(
            lambda hosted: captured(
                fn, leaves, tree, known, hosted, self.guards.arrays, numbers, follow, states, self.before, own, self.guards.seen
            ),
            self.before.put_back,
        )
        try:
            if effects.trace.fixed:
                raise Fixed.by(effects.trace.fixed)
            found = states_of(self.before, self.guards, states)
            if found is None:
                self.before.refuse_kept(effects.trace.variables.line_of)
                self.once = self.before.is_changed() or self.guards.is_late()
                self.prepare(leaves, known, graph, results, histories, forms, effects)
        finally:
            effects.trace.settle()
        return found

    def prepare(
        self,
        leaves: list,
        known: list[Tensor],
        graph: Graph,
        results: list,
        histories: list[str],
        forms: list[Form | None],
        effects: Effects,
    ) -> None:
        """Make what runs of what was captured.

        Args:
            known: tensors that the function names.
            results: leaves of the function's; some tensor in the place of each tensor.
        """
        self.guards.names += effects.names
        self.guards.members.note_collection(walks)  # to which anomaly mode adds one
        self.guards.settle()
        variables = effects.trace.variables
        self.known, self.arrays = list(variables.known.values()), set(variables.foreign)
        given = self.inputs(leaves)
        self.identities = identities(self.guards, given)
        targets = {target for target, _, _ in effects.writes}
        there = {id(x) for x in (*self.known, *known)}
        self.graph, self.originals, saved = graph, dict[Value, Value](), list[Value]()
        self.backward: Backward | None = None
        if "live" in histories:
            marks = [history for x, history in zip(results, histories) if isinstance(x, Tensor)]
            inputs = [
                *[number_tensor(x) if type(x) is float else x for x in given],
                *[source.find(tuple(given)) for source in effects.sources],
            ]
            live_outputs = [x for x, mark in zip(graph.outputs, marks) if mark == "live"]
            saved = self.differentiate(graph, live_outputs, inputs, targets, there)
        else:
            simplify(graph, targets, there)
        effects.rename(graph.outputs[sum(isinstance(x, Tensor) for x in results) :])
        outputs = iter(graph.outputs)
        values = [next(outputs) if isinstance(x, Tensor) else x for x in results]
        if effects.passes and any(needs_gradient(x) for x in given):  # to compare these with
            read = {id(value.data) for value in graph.constants}
            ends = [x for x in known if needs_gradient(x) and id(x) not in read]
            graph.constants += [Value(x.layout.plain(), True, data=x) for x in ends]
        tensors = [*given, *(value.data for value in self.graph.constants if isinstance(value.data, Tensor))]
        flags = flags_of([*given, *(value.data for value in graph.constants)], effects.passes)
        self.passes, self.leaves = effects.passes, effects.leaves
        if self.passes and meets(given, graph.constants):
            raise GraphError(
                "an argument is a variable of the function, too, and a backward pass within it ends at both: a graph cannot "
                "hold it. Hint: make it one or the other."
            )
        learned = [x for x in tensors[len(given) :] if requires_grad(x)]
        self.learned = learned if self.backward is None else self.backward.captured
        live = [value for value, history in zip(values, histories) if history == "live"]
        self.acts = Acts(graph, effects, len(results)) if effects.any() else None
        self.words = words_of(self.graph) if live else []
        self.assemble(
            Parts(
                graph,
                values,
                effects.values(),
                [(target, value) for target, value, _ in effects.writes],
                live,
                [value for value, history in zip(values, histories) if history == "freed"],
                words_of(graph) if live else [],
                saved,
                there,
                len(given),
                Expected(self.guards.names, self.guards.cells, mode.enabled, flags, self.guards.members.words),
                frozenset([k for k, x in enumerate(given) if type(x) is float]),
                forms,
            )
        )

    def assemble(self, parts: Parts) -> None:
        """Make the program."""
        self.parts = parts
        self.slow: Callable | None = None
        self.lock = self.state.lock if self.acts is not None and self.acts.keep is not None else None
        one = len(parts.values) == 1
        flat = not self.floats and (self.tree.kind is None if one else tree_of_several(self.tree))
        natively: list[Any] = [None]
        if self.acts is None:
            recorded = self.recorded if parts.live else None
        elif parts.live:
            recorded = self.acting
        elif flat and self.lock is None:
            recorded = self.acts.actor(natively, SINGLE if one else COUNTED, self.acted, self.missed)
        elif flat:
            recorded = self.acts.actor(natively, SINGLE if one else COUNTED, self.acted_alone, missed)
        else:
            recorded = self.acts.actor(natively, LISTED, self.acting, missed)
        if self.lock is not None and recorded is not None:
            recorded = self.locked(recorded, self.lock)
        self.program = Program(
            parts.graph,
            [*parts.values, *parts.gradients],
            parts.known,
            parts.expected,
            self.missed,
            recorded,
            set(parts.freed),
            parts.writes,
            parts.given,
            parts.words,
            parts.saved,
            parts.numbers,
            parts.forms,
        )
        window = self.program.schedule.window
        self.live = {window(value).place.value for value in parts.live}
        self.recorder = Recorder(self.graph, self.program, self.backward, self.originals, self.live, self.words, bool(self.numbers))
        if parts.live and not parts.expected.records:
            self.applied = self.applied_under_no_grad  # type: ignore[method-assign]
        self.direct = flat and (self.program.direct if self.acts is None else not parts.live)
        natively[:] = self.program.natively()
        self.asking = next((node for node in self.graph.nodes if node.op is GUARD or node.op.sized_by_values), None)

    def differentiate(
        self, graph: Graph, live: list[Value], inputs: list[Tensor], targets: set[Value], known: set[int]
    ) -> list[Value]:
        """Find the backward pass of a graph, which is simplified then; the values that are saved for it.

        NOTE [Live results]: gradients are those of the graph as the program made it, so that their sums have the program's order.

        Raises:
            GraphError: a graph cannot hold that pass, and what there was before the call will be overwritten.
        """
        from .backward import Backward  # benchmarks/test_startup.py

        self.graph, copies = graph.copy()
        results = {root: copies[own] for root, own in recorded_owners(graph, live).items()}
        try:
            overwritten = [copies[target] for target in targets]
            self.backward = Backward(self.graph, list(results.values()), words_of(self.graph), inputs, overwritten, known)
        except Exception as error:  # a Function's own among them, which is raised where a pass meets it
            if targets:
                what = "a function that overwrites what it was given returns results with a history"
                raise GraphError(f"{what}: {error}") from error
        roots, before = list(owners(graph, values_in(tuple(graph.outputs)))), {copy: value for value, copy in copies.items()}
        count, saved = len(graph.outputs), [] if self.backward is None else [before[value] for value in self.backward.saved]
        graph.outputs += [*roots, *saved]
        simplify(graph, targets, known)
        made = graph.outputs[count:]
        self.originals = dict(zip(made, [results.get(root, copies[root]) for root in roots]))
        del graph.outputs[count:]
        return made[len(roots) :]

    def inputs(self, leaves: Sequence[Any]) -> list:
        """The tensors, and the numbers that are words of the program, among the leaves of arguments."""
        return [x for k, x in enumerate(leaves) if isinstance(x, Tensor) or k in self.numbers]

    def finish(self, outs: Any, inputs: Any) -> Any:
        """The result, of what native code returned."""
        if self.acts is not None:
            return outs if outs is MISSED else self.tree.unflatten(self.with_floats(outs))
        return outs if self.direct else self.tree.unflatten(self.with_floats(self.program.leaves(outs, inputs)))

    def with_floats(self, leaves: list) -> list:
        """The leaves of the result, with numbers where the function returns such."""
        for k in self.floats:
            x = leaves[k]
            leaves[k] = x.item() if isinstance(x, Tensor) else x  # an argument as it came
        return leaves

    def fits(self, inputs: list[Tensor]) -> bool:
        """Whether the program's names hold what they held, and what else it reads is there."""
        constants = self.parts.graph.constants
        if any(isinstance(value.data, Tensor) and value.data.layout is not value.layout for value in constants):
            return False
        tensors = [*inputs, *(value.data for value in constants)]
        if flags_of(tensors, self.passes) != self.parts.expected.flags or not all(is_leaf(inputs[k]) for k in self.leaves):
            return False
        if self.passes and (any(isinstance(x, Tensor) and has_hooks_behind(x) for x in tensors) or meets(inputs, constants)):
            return False
        if not all(each.holds(inputs) for each in self.identities):
            return False
        return not self.once and self.guards.hold() and (self.acts is None or self.acts.operands(inputs) is not None)

    def acting(self, *inputs: Tensor) -> Any:
        """The leaves of the result; what the program does beside computing them is done."""
        assert self.acts is not None
        operands = self.acts.operands(inputs)
        if operands is None:
            return MISSED
        outs = self.applied(operands) if self.live else self.program.assembled.run(*operands)
        if outs is None:
            return MISSED
        self.acts.count_writes(operands)
        leaves = self.program.leaves(outs, operands)
        return self.acts.do(operands, leaves)

    def acted(self, *inputs: Tensor) -> Any:
        """The result of that."""
        made = self.acted_alone(*inputs)
        return self.missed(*inputs) if made is MISSED else made

    def acted_alone(self, *inputs: Tensor) -> Any:
        """The same; ``MISSED`` where the program does not hold."""
        return self.finish(self.acting(*inputs), inputs)

    def locked(self, call: Callable, lock: Any) -> Callable:
        """``call(*inputs)`` while no other thread is between reading and writing state."""

        def alone(*inputs: Any) -> Any:
            with lock:
                made = call(*inputs)
            return self.missed(*inputs) if made is MISSED else made

        return alone

    def asks(self) -> str:
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

    def __call__(self, inputs: list[Tensor]) -> Any:
        """Run it on tensors that are as expected; ``MISSED`` where values that the program asks for are others."""
        if self.acts is not None:
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
        """The same of a function that records, by ``enable_grad``, what its caller does not."""
        with enable_grad():
            return Variant.applied(self, inputs)


def missed(*inputs: Any) -> Any:
    """What a program returns where values that it asks for are others."""
    return MISSED


def tree_of_several(tree: Tree) -> bool:
    """Whether a structure is a plain tuple of leaves."""
    return tree.kind is tuple and all(child.kind is None for child in tree.children)
