"""A call of a compiled function as a graph: what it computes, returns and changes."""

from __future__ import annotations

from dataclasses import is_dataclass
from itertools import count
from types import CodeType
from typing import AbstractSet as Set, Any, Callable, Container, Iterable, Mapping, NamedTuple

from ...autograd.function_context import FunctionRule
from ...base.errors import GraphError, InplaceError
from ...base.grad_mode import mode
from ...base.mode_contexts import enable_grad
from ...base.nested import Tree
from ...graph.edges import Node, edge_of
from ...graph.saved import freed_backward
from ...graph.task import target
from ...modes.inference import is_inference
from ...modes.numbers import ITEMS, Number
from ...modes.overrides import has_function
from ...tensors.tensor import Tensor
from ..arguments.forms import Form, forms_of
from ..arguments.leaves import names_of_leaves
from ..arguments.structures import Foreign, flatten, flatten_result, is_value, kinds_in, shared_with
from ..capture.capture import Trace
from ..capture.tracing import tracing
from ..guards.external_state import calls_watched, watching
from ..guards.mathematics import followed_functions
from ..ir.graph import Graph
from ..ir.qualified_names import class_of
from ..nodes.custom_functions import FORWARD, Hosted
from ..passes import owners
from ..state.effects import Effects, Postponed
from ..state.hooks import refuse_hooks_of
from ..state.rebound_names import States
from ..state.slots import Exchange
from ..state.snapshots import Snapshot
from .handles import find_global

__all__ = ["Captured", "Fixed", "capture_call"]


class Fixed(GraphError):
    """The function takes the values of numbers among its arguments: the capture may begin again, for these values alone.

    Attributes:
        leaves: which of the leaves.
    """

    leaves: frozenset[int]

    @classmethod
    def by(cls, leaves: Iterable[int]) -> Fixed:
        """The error."""
        made = cls("the values of numbers among the arguments are taken.")
        made.leaves = frozenset(leaves)
        return made


class Captured(NamedTuple):
    """A call as a graph.

    Attributes:
        graph: what it computes; its outputs are the tensors among ``results``, and behind them what it changes.
        results: leaves of what the function returned; some tensor of the layout in the place of each tensor.
        floats: which of them are numbers; ``inferred``: which are tensors of an inference mode inside.
        histories: of each: "live" if a backward pass can go through it, "freed" if one has, else "".
        forms: of each: see forms.py.
        tree: their structure.
        effects: what the call does beside computing.
    """

    graph: Graph
    results: list[Any]
    floats: list[int]
    inferred: list[int]
    histories: list[str]
    forms: list[Form | None]
    tree: Tree
    effects: Effects


def capture_call(
    fn: Callable,
    leaves: list,
    tree: Tree,
    *,
    known: list[Tensor],
    hosted: set,
    arrays: list,
    numbers: frozenset[int],
    follow: bool,
    states: States | None = None,
    before: Snapshot | None = None,
    selves: Set[int] = frozenset(),
    seen: Container[int] = (),
    naming: Mapping[int, tuple[CodeType, str]],
) -> Captured:
    """A call, captured.

    Args:
        leaves, tree: the arguments.
        known: tensors that the function names; ``arrays``: NumPy arrays that it does.
        hosted: Functions that run as they are: see ``beginning_again``.
        numbers: leaves that are floats or ints, and inputs of the graph.
        follow: whether what ``item`` reads is followed.
        states: what the function keeps in names; ``before``: how those were.
        selves: NOTE [Identities] of identities.py. seen: identities of objects that were there before.
        naming: see ``calls_watched``.

    Raises:
        Foreign: the function returns what is no tensor, number, string, None or another value that never changes.
        Fixed: an error came where numbers were followed that ``item`` had read, perhaps of what takes floats alone.
    """
    if any(isinstance(x, Tensor) and x.__dict__ for x in leaves):
        raise GraphError(
            "a tensor that it is given has attributes of its own: a graph cannot hold them. Hint: give them as arguments."
        )
    bare = [x for x in known if not x.__dict__]
    with tracing(known, effects=True, hosted=hosted, late=True) as active, watching(active):
        effects = active.effects
        assert effects is not None
        name = getattr(fn, "__name__", "graph")
        active.graph.name = name if name.isidentifier() else "graph"
        traced = traced_arguments(active, effects, leaves, names_of_leaves(fn, tree), numbers, selves)
        for x in known:
            effects.stand_in(x, x, x)
            active.given.setdefault(id(x), x)
        active.note_arrays(arrays)
        arguments = tree.unflatten(traced)
        active.follows, active.before, modes = follow, before, modes_now()
        with calls_watched(naming):
            results, structure = run(active, effects, fn, arguments, leaves, states, seen)
        refuse_attributes(bare)
        if active.refused is not None:  # which the function has caught
            raise active.refused
        refuse_changes(traced, tree, arguments, modes)
        floats = [k for k, x in enumerate(results) if isinstance(x, Number)]
        results = [x.tensor if isinstance(x, Number) else x for x in results]
        refuse_results(results, structure)
        inferred = [] if mode.inference else [k for k, x in enumerate(results) if isinstance(x, Tensor) and is_inference(x)]
        forms = forms_of(results, active.given, effects.kept())
        write_outputs(active, effects, results, forms)
        histories = histories_of(results, forms[: len(results)], hosted, effects)
        results = [x.layout.plain().template if isinstance(x, Tensor) else x for x in results]  # which holds no elements
    return Captured(active.graph, results, floats, inferred, histories, forms, structure, effects)


def traced_arguments(
    active: Trace, effects: Effects, leaves: list, names: list[str], numbers: frozenset[int], selves: Set[int]
) -> list:
    """What the function is given in the place of its arguments: tensors and numbers of the graph; others as they are."""
    twins = dict[int, Tensor]()  # of a tensor that is several arguments there is one
    traced = [
        active.argument(x, name, twins, selves) if isinstance(x, Tensor) else active.number(x, name, k) if k in numbers else x
        for k, (x, name) in enumerate(zip(leaves, names))
    ]
    inputs = count()
    for k, (x, made) in enumerate(zip(leaves, traced)):
        owner = next(inputs) if isinstance(x, Tensor) or k in numbers else None
        if isinstance(x, Tensor) and isinstance(made, Tensor) and twins.pop(id(x), None) is not None:
            effects.stand_in(x, made, owner)
    return traced


def run(
    active: Trace, effects: Effects, fn: Callable, arguments: tuple, leaves: list, states: States | None, seen: Container[int]
) -> tuple[list, Tree]:
    """Call the function; the leaves and the structure of its result. What it keeps in names is put back."""
    args, kwargs = arguments
    try:
        if states is not None:
            states.install(active)
        with followed_functions([] if active.before is None else active.before.functions):
            result = fn(*args, **kwargs)
        found = flatten_result(result, lambda x: bool(x.layout.special))
        if shared_with(result, lambda x: id(x) in seen):
            raise GraphError(
                "it returns a list, a dict or an object that was there before: a graph cannot hold it. Hint: return a copy."
            )
        with enable_grad():  # where what it keeps has a history, it has been recorded
            effects.exchanges = [] if states is None else states.take(active)
            effects.exchanges += effects.exchanges_of_moved()
    except InplaceError as error:
        if effects.holds_computed():
            what = "it changes an argument in place that was computed outside"
            raise GraphError(f"{what}: a graph cannot hold it. Hint: change a clone.") from error
        raise
    except Exception as error:
        if active.items and not isinstance(error, (Postponed, Hosted)):
            raise Fixed.by((ITEMS,)) from error
        taken = [k for k in active.fixed if type(leaves[k]) is int]  # which may be why
        if taken:
            raise Fixed.by(taken) from error
        raise
    finally:
        if states is not None:
            states.put_back()
    return found


def refuse_attributes(bare: list[Tensor]) -> None:
    """Refuse a program that sets attributes of tensors that had none, which are taken away again."""
    if any(x.__dict__ for x in bare):
        for x in bare:
            x.__dict__.clear()
        raise GraphError("it sets an attribute of a tensor that a name holds: a graph cannot hold it. Hint: keep it elsewhere.")


def refuse_results(results: list, structure: Tree) -> None:
    """Refuse what a compiled call cannot return."""
    for k, x in enumerate(results):
        if not (isinstance(x, Tensor) or is_value(x) or isinstance(x, type) and find_global(x) is x):
            place = structure.places("the result")[k]
            raise Foreign(
                f"compile: {place} is of type {type(x).__name__}, expected tensors, numbers, strings, None and members of "
                "enumerations, in tuples, lists, dicts and objects that it makes of these. Hint: make it outside, of what the "
                "function returns."
            )
        if has_function(x):
            place = structure.places("the result")[k]
            raise GraphError(f"compile: {place} is of type {type(x).__name__}, which overrides functions: a graph cannot hold it.")


def write_outputs(active: Trace, effects: Effects, results: list, forms: list[Form | None]) -> None:
    """End the graph: with the results that are tensors, and with what is to be written when it has run."""
    with enable_grad():  # where a result has a history, it has been recorded
        active.graph.outputs = [active.returned(x) for x in results if isinstance(x, Tensor)]
        effects.note()
    if (effects.flags or effects.flagged) and any(form is not None and form.below for form in forms):
        raise GraphError("it sets requires_grad, and returns a view: a graph cannot hold it. Hint: requires_grad_() outside.")
    if active.hosted:
        refuse_parts_of_arguments(active, [x for x in (*results, *effects.kept()) if isinstance(x, (Tensor, Number))], effects)
    active.graph.outputs += effects.values()
    active.graph.outputs += [value for _, value, _ in effects.writes]


def refuse_parts_of_arguments(active: Trace, leaves: list, effects: Effects) -> None:
    """Refuse what a step in Python makes of an argument, and gives back as a part of that: a run gives copies.

    Args:
        leaves: the tensors of the result and what names are to hold, which the outputs of the graph are so far.

    Raises:
        GraphError: the function returns, or keeps, such a part.
    """
    values = (*active.graph.outputs, *effects.values())
    for x, value in zip(leaves, values):
        if isinstance(x, Tensor) and not active.variables.is_made(x):
            for owner in owners(active.graph, [value]):
                if owner.node is not None and owner.node.op is FORWARD:
                    name = class_of(owner.node.attributes["function"]).__name__
                    raise GraphError(f"{name}: returns an argument or a part of one: a graph cannot hold it. Hint: return a clone.")


def histories_of(results: list, forms: list[Form | None], hosted: set, effects: Effects) -> list[str]:
    """Of each result what ``history_of`` says; of those into which no gradient flows "".

    Raises:
        Postponed: a result has a history, and the function keeps a leaf.
    """
    fresh = {id(x) for x, form in zip(results, forms) if form is not None and form.leaf}
    histories = [
        history_of(x, hosted, fresh, effects) if form is not None and form.flag and not form.given and not form.leaf else ""
        for x, form in zip(results, forms)
    ]
    new = "live" in histories or any(form is not None and form.leaf for form in forms)
    if new and any(map(Exchange.has_leaves, effects.exchanges)):
        raise Postponed("it returns what has a history, and keeps a new tensor that needs gradients. Hint: detach one of both.")
    return histories


def modes_now() -> tuple:
    """The modes of this thread that functions may set."""
    return mode.enabled, mode.inference, mode.claimed


def refuse_changes(leaves: list, tree: Tree, arguments: tuple, modes: tuple) -> None:
    """Refuse what a program would not do again: changes of containers among the arguments, attributes of tensors, modes.

    Args:
        leaves, tree: what the function was given; ``arguments``: the same, as it has left them.
        modes: that there were.

    Raises:
        GraphError: there is one.
    """
    now, structure = flatten(arguments)
    if structure != tree or any(x is not y for x, y in zip(now, leaves)):
        kinds = "a list, a dict or an object" if any(map(is_dataclass, kinds_in(tree))) else "a list or a dict"
        what, hint = f"it changes {kinds} that it is given", "return what is in it"
    elif any(isinstance(x, Tensor) and x.__dict__ for x in leaves):
        what, hint = "it sets an attribute of a tensor that it is given", "keep it somewhere else"
    elif modes_now() != modes:
        what, hint = "it leaves another grad mode behind", "with nbgrad.set_grad_enabled(...) ends"
    else:
        return
    raise GraphError(f"{what}: a graph cannot hold it. Hint: {hint}.")


def is_control(node: Any) -> bool:
    """Whether the node of a Function is that of a control node, which replays record again."""
    return hasattr(forward_of(node), "_control_")


def forward_of(node: Any) -> Any:
    """The class of a Function's node."""
    return type(node)._forward_cls


def history_of(x: Tensor, hosted: set, fresh: set[int], effects: Effects) -> str:
    """Of a result into which gradients flow: "" without a history, "freed" with one that a pass within has used up, "live".

    Args:
        hosted: Functions that are steps in Python, whose derivatives are.
        fresh: results that are leaves, by identity.

    Raises:
        Hosted: another Function is in the history: its ``backward`` is no derivative of what was captured.
        GraphError: a leaf is in the history that every call makes anew, and somebody sees.
    """
    edge = edge_of(x)
    if edge is None:
        return ""
    waiting, seen = [edge], set[Node]()
    while waiting:
        edge = waiting.pop()
        node = None if edge is None else target(edge)
        if isinstance(node, Tensor) and (id(node) in fresh or effects.is_leaf_since(node)):
            raise GraphError(
                "it returns what it computes of a leaf that it has made, and this leaf, or has made a leaf of what was there "
                "(requires_grad_): a graph cannot hold that. Hint: requires_grad_() outside of it, or return what has no history."
            )
        if isinstance(node, Node) and node not in seen:
            if node._backward_ is freed_backward or isinstance(node._rule_, FunctionRule) and is_control(node) and node._freed_:
                return "freed"
            keeper = node._rule_.keeper(node)  # that of a write through a view is within the node of its base
            if isinstance(keeper._rule_, FunctionRule) and not is_control(keeper) and forward_of(keeper) not in hosted:
                error = GraphError(f"{node.name()}: a graph cannot hold the derivative of a Function that is taken outside of it.")
                raise Hosted.by(forward_of(keeper), error)
            refuse_hooks_of(node)
            seen.add(node)
            waiting += node._edges_
    return "live"
