"""One captured program of a compiled function: how it is captured, and made of what is seen."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Callable

from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...base.nested import Tree
from ...base.plain import PLAIN
from ...engine import walks
from ...graph.edges import requires_grad
from ...modes.numbers import ITEMS
from ...tensors.storage import elsewhere
from ...tensors.tensor import Tensor
from ..arguments.gradient_flags import flags_of, needs_gradient, shares_variables
from ..arguments.leaves import NUMBERS, paths_of_leaves
from ..arguments.structures import kinds_in
from ..capture.tracing import beginning_again
from ..execution.costs import Cost
from ..execution.sequence import Expected
from ..guards.external_state import may_differ
from ..guards.guards import Guards
from ..guards.identities import CLASSES, identities, ones, selves
from ..ir.graph import Graph
from ..ir.ir import Value, values_in
from ..ir.lines import line_of
from ..nodes.draws import words_of
from ..passes import owners, recorded_owners, simplify
from ..state.effects import Effects, Postponed, Raised
from ..state.implicit_inputs import number_tensor
from ..state.rebound_names import State, States, states_of
from ..state.side_effects import SideEffects
from ..state.snapshots import Snapshot
from .capturing import Captured, Fixed, capture_call
from .runs import Parts, Run

if TYPE_CHECKING:
    from .backward import Backward

__all__ = ["Variant"]

KEEPS = "it keeps state in names"
MOST_ATTEMPTS = 4  # captures that each find more state than the one before


class Variant(Run):
    """A captured program."""

    def __init__(self, fn: Callable, leaves: list, tree: Tree, numbers: frozenset[int], follow: bool, kept: State):
        self.numbers, self.state = numbers, kept
        self.cost, self.given, self.paths = Cost(), tree, paths_of_leaves(fn, tree)
        others: tuple = tuple(x for x in leaves if not isinstance(x, (Tensor, *PLAIN)) and (callable(x) or isinstance(x, Enum)))
        known = kept.known(others := (*others, *kinds_in(tree)))
        self.guards = Guards(fn, *others) if known is None else known.again()
        self.guards.keep()
        if self.guards.outside:
            raise may_differ(self.guards.outside[0])
        self.require_values(numbers, follow)
        self.before = Snapshot(self.guards)
        try:
            self.capture(fn, leaves, tree, numbers, follow, kept)
        except BaseException as error:
            if isinstance(error, GraphError) or numbers or self.guards.exchanged:
                self.before.put_back()
            else:  # the function's own
                self.before.release()
            raise
        kept.guards = None if self.once else self.guards

    def require_values(self, numbers: frozenset[int], follow: bool) -> None:
        """Take numbers by their values where the program may ask for their exact class: NOTE [Classes of numbers] of identities.py.

        Raises:
            Fixed: it may.
        """
        words = self.guards.words
        if CLASSES in words and (numbers or follow and "item" in words):
            raise Fixed.by((*numbers, ITEMS))

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
        """One capture; the ``states`` of the function with which it is to be captured again, if there are such."""
        known = self.guards.tensors
        own = selves(self.guards, self.inputs(leaves))
        made = beginning_again(
            lambda hosted: capture_call(
                fn,
                leaves,
                tree,
                known=known,
                hosted=hosted,
                arrays=self.guards.arrays,
                numbers=numbers,
                follow=follow,
                states=states,
                before=self.before,
                selves=own,
                seen=self.guards.seen,
                naming=self.guards.naming,
            ),
            self.before.put_back,
        )
        trace = made.effects.trace
        try:
            if trace.fixed:
                raise Fixed.by(trace.fixed)
            found = states_of(self.before, self.guards, states)
            if found is None:
                self.before.refuse_kept(trace.variables.line_of)
                self.once = self.before.is_changed() or self.guards.is_late()
                self.prepare(leaves, known, made)
        finally:
            trace.settle()
        return found

    def prepare(self, leaves: list, known: list[Tensor], captured: Captured) -> None:
        """Make what runs of what was captured.

        Args:
            leaves: of the arguments; ``known``: tensors that the function names.
        """
        graph, results, self.floats, self.inferred, histories, forms, self.tree, effects = captured
        given, tensors = self.inputs(leaves), [x for x in results if isinstance(x, Tensor)]
        self.settle(given, effects)
        targets, there = {target for target, _, _ in effects.writes}, {id(x) for x in (*self.known, *known)}
        self.graph, self.originals, saved = graph, dict[Value, Value](), list[Value]()
        self.backward: Backward | None = None
        marks = [history for x, history in zip(results, histories) if isinstance(x, Tensor)]
        if "live" in marks:
            inputs = [number_tensor(x) if type(x) in NUMBERS else x for x in given]
            inputs += [source.find(tuple(given)) for source in effects.sources]
            ends = [value for value, mark in zip(graph.outputs, marks) if mark == "live"]
            saved = self.differentiate(graph, ends, inputs, targets, there)
        else:
            simplify(graph, targets, there)
        effects.rename(graph.outputs[len(tensors) :])
        writes = [(target, value) for target, value, _ in effects.writes]
        outputs = iter(graph.outputs)
        values = [next(outputs) if isinstance(x, Tensor) else x for x in results]
        live, freed = ([value for value, history in zip(values, histories) if history == what] for what in ("live", "freed"))
        self.note_variables(graph, given, known, effects)
        self.side_effects = SideEffects(graph, effects, len(results)) if effects.any() else None
        self.words = words_of(self.graph) if live else []
        words = words_of(graph) if live else []
        flags = flags_of([*given, *(value.data for value in graph.constants)], effects.passes)
        members = self.guards.members
        expected = Expected(self.guards.names, self.guards.cells, mode.enabled, flags, members.words, members.checked)
        kinds = tuple(map(type, given))
        self.assemble(
            Parts(
                graph=graph,
                values=values,
                gradients=effects.values(),
                writes=writes,
                live=live,
                freed=freed,
                words=words,
                saved=saved,
                known=there,
                kinds=kinds,
                expected=expected,
                forms=forms,
            )
        )

    def settle(self, given: list, effects: Effects) -> None:
        """Say what the program depends on, now that it is captured."""
        self.guards.names += effects.names
        self.guards.members.note_collection(walks)  # to which anomaly mode adds one
        if not elsewhere:
            self.guards.members.note_collection(elsewhere)  # to which a default device adds one
        self.guards.settle()
        variables = effects.trace.variables
        self.known, self.arrays = [*variables.known.values(), *variables.beside], set(variables.foreign)
        self.identities = (*identities(self.guards, given), *ones(self.guards, given))

    def note_variables(self, graph: Graph, given: list, known: list[Tensor], effects: Effects) -> None:
        """Note into which tensors gradients flow, beside the results: those where passes inside end, and those of the program.

        Args:
            given: arguments; ``known``: tensors that the function names.

        Raises:
            GraphError: a pass inside ends at a tensor that is both.
        """
        self.passes, self.leaves = effects.passes, effects.leaves
        if self.passes and any(needs_gradient(x) for x in given):  # to compare these with
            read = {id(value.data) for value in graph.constants}
            ends = [x for x in known if needs_gradient(x) and id(x) not in read]
            graph.constants += [Value(x.layout.plain(), True, data=x) for x in ends]
        if self.passes and shares_variables(given, graph.constants):
            raise GraphError(
                "an argument is a variable of the function, too, and a backward pass within it ends at both: a graph cannot "
                "hold it. Hint: make it one or the other."
            )
        constants = [value.data for value in self.graph.constants if isinstance(value.data, Tensor)]
        self.learned = list(filter(requires_grad, constants)) if self.backward is None else self.backward.captured

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
