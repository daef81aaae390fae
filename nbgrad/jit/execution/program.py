"""A graph that runs as one native call, and what its results are made of."""

from __future__ import annotations

from typing import Any, Callable, Container, Iterable, Sequence as Row

from ...base.calls import CALLS
from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...graph.edges import Node, requires_grad
from ...graph.node import blank_node
from ...graph.rule import Rule
from ...graph.saved import freed_backward
from ...native.actors import OBJECT
from ...native.objects import pack_words
from ...tensors import layout as layouts
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor, native
from ..arguments.forms import CONSTANT, COPY, INPUT, NO_VIEW, PLAIN, RECORDED, RESULT, UNSEEN, Form, Returned, seen_as, shaped
from ..ir.graph import Graph
from ..ir.ir import Value
from ..ir.replay import tensor_of
from ..ir.steps import Place, Window
from ..ir.tracebacks import raise_at
from .commits import add_commits
from .costs import Cost
from .schedule import schedule
from .sequence import Assembled, Expected, assemble

__all__ = ["Program", "Returned"]


def no_other_way(*inputs: Any) -> Any:
    """What is called in the place of a program's steps where something is not as expected."""
    raise GraphError("a compiled graph was called with other inputs than it was made for.")


class Program:
    """A graph, assembled.

    Args:
        graph: its outputs are not looked at.
        values: the leaves of the result: values of the graph, and plain ones.
        known: identities of the tensors that were there before the graph was captured.
        expected, slow, recorded: as of ``assemble``.
        freed: values whose history was used up while the graph was captured.
        commits: inputs and constants that are overwritten in the end, with what.
        given: how many of the inputs a call has; the others are found by whoever calls ``run``.
        saved: values of which the steps return what is needed to tell them, behind that.
        kept: values that the steps return behind those.
        kinds: classes of the first of the inputs, as a call has them: of tensors or numbers. Others are plain tensors.
        forms: of the first leaves: see forms.py. Those of the others follow from the values.

    Attributes:
        results: the values that the steps return.
        returned: what each leaf is.
        direct: whether the leaves are the results, in their order; of these there are ``count``.
        copied: constants of which a call returns a copy, one for all leaves on it.
        cost: what it took to make it; ``again``: of a backward pass, nodes of the function that it runs once more.
    """

    def __init__(
        self,
        graph: Graph,
        values: Row[Any],
        *,
        known: Container[int] = (),
        expected: Expected | None = None,
        slow: Callable = no_other_way,
        recorded: Callable | None = None,
        freed: Iterable[Value] = (),
        commits: Row[tuple[Value, Value]] = (),
        given: int | None = None,
        kept: Iterable[Value] = (),
        saved: Iterable[Value] = (),
        kinds: Row[type] = (),
        forms: Row[Form | None] = (),
    ):
        self.cost, self.again = Cost(), list[Any]()
        saved = tuple(saved)
        self.graph, self.schedule = graph, schedule(graph, saved)
        self.results: list[Value] = []
        self.returned = [self.place(value, known) for value in values]
        if forms:
            windows = [self.schedule.window(value) if isinstance(value, Value) else None for value in values]
            self.returned = shaped(self.returned, windows, forms)
        self.linked = any(each.base != -1 or each.same >= 0 for each in self.returned)
        own = [Returned(RESULT, k) for k in range(len(self.results))]
        self.direct, self.count = self.returned == own, len(own)
        self.copied = {each.which for each in self.returned if each.source == COPY}
        self.saved = [self.place(value, known) for value in saved]
        self.results += kept
        add_commits(self.schedule, commits, self.results)
        self.constants = [tensor_of(value) for value in graph.constants]
        if expected is None:
            expected = Expected([], [], False, (False,) * (len(graph.inputs) + len(graph.constants)))
        used_up = {self.schedule.window(value).place.value for value in freed}
        templates = [template_of(value, value in used_up) for value in self.results]
        self.assembled: Assembled = assemble(
            graph,
            data=self.constants,
            outs=self.results,
            templates=templates,
            schedule=self.schedule,
            expected=expected,
            slow=slow,
            recorded=recorded,
            given=given,
            failed=self.failed,
            kinds=kinds,
        )

    def place(self, value: Any, known: Container[int]) -> Returned:
        """Where a leaf comes from."""
        if not isinstance(value, Value):
            return Returned(PLAIN, value)
        window, graph = self.schedule.window(value), self.graph
        owner = window.place.value
        assert owner.layout is not None
        part = None if window == Window(Place(owner), owner.layout) and owner.layout.dense else window
        cut = value.requires_grad is False and owner.requires_grad is not False
        if owner in graph.inputs:
            return Returned(INPUT, graph.inputs.index(owner), None if owner is value else part, cut)
        if owner in graph.constants:
            own = id(owner.data) in known
            return Returned(CONSTANT if own else COPY, graph.constants.index(owner), None if owner is value else part, cut)
        if owner not in self.results:
            self.results.append(owner)
        return Returned(RESULT, self.results.index(owner), part, cut)

    def failed(self, error: Exception, node: Any) -> None:
        """A step in Python has failed: see tracebacks.py."""
        raise_at(error, node, self.graph, self.graph.constants, self.graph.name)

    def leaves(self, outs: Any, inputs: Row[Any]) -> list:
        """The leaves of the result, of what the steps returned."""
        outs = outs if type(outs) is tuple else (outs,)
        if self.direct:
            return list(outs)
        copies = {k: CALLS["clone"](self.constants[k]) for k in self.copied} if self.copied else {}
        if not self.linked:
            return [self.leaf(each, outs, inputs, copies) for each in self.returned]
        made: dict[int, Any] = {}
        for k, each in enumerate(self.returned):
            for needed in (each.base, k):  # a base may stand behind its view
                if needed >= 0 and needed not in made:
                    made[needed] = self.leaf(self.returned[needed], outs, inputs, copies, made)
        return [made[k] for k in range(len(self.returned))]

    def leaf(self, each: Returned, outs: tuple, inputs: Row[Any], copies: dict | None = None, made: Any = None) -> Any:
        """One of them.

        Args:
            copies: of constants, else it is on a copy of its own.
            made: other leaves.
        """
        source, which, window, cut, view, own_leaf, base, same = each
        if source == PLAIN:
            return which
        if same >= 0:
            return made[same]
        x: Any = made.get(base) if base != -1 else None
        if x is None:
            x = (outs, inputs, self.constants, self.constants)[source][which]
            if source == COPY:
                x = copies[which] if copies else CALLS["clone"](x)
            if base != -1:
                x = made[base] = native.alias(x)
        if window is None:
            x = native.alias(x) if cut else x
        elif view != NO_VIEW:
            if view == UNSEEN:
                x = native.alias(x).requires_grad_()  # it stands for what has the history
            x = seen_as(native.alias(x) if cut and base == -1 else x, window.layout, window.place.offset, view)
        elif not cut and mode.enabled and requires_grad(x):
            x = seen_as(x, window.layout, window.place.offset, RECORDED)
        else:
            x = native.tensor(window.layout.template, x._storage_, x._offset_ + window.place.offset, False, None)
        return x.requires_grad_() if own_leaf else x

    def natively(self) -> list:
        """What ``Actor`` of native/actors.py must know of the program; None alone where a leaf is made in Python."""
        if not all(each.is_plain() for each in self.returned):
            return [None]
        objects = [each.which for each in self.returned if each.source == PLAIN]
        words, place = [len(self.returned)], iter(range(len(objects)))
        for source, which, _, cut, *_ in self.returned:
            words += [OBJECT, next(place), 0] if source == PLAIN else [source, which, int(cut)]
        return [self.assembled.run, tuple(self.constants), pack_words(*words), tuple(objects)]

    def run(self, inputs: Row[Tensor]) -> list:
        """The leaves for inputs of the layouts of the graph's, without histories."""
        outs = self.assembled.run(*inputs)
        if outs is None:
            raise GraphError(
                "a compiled graph stopped, for a value that the program asked for is another one. Hint: capture it again."
            )
        return self.leaves(outs, inputs)


def memory_of(layout: Layout) -> Layout:
    """The layout itself if it fills its memory, else that of all the memory that it reaches."""
    if layout.dense:
        return layout
    extent = 1 + sum((n - 1) * t for n, t in zip(layout.shape, layout.strides)) if layout.numel else 0
    return layout.like(None, (extent,))


class FreedRule(Rule):
    """Of results whose graph was used up within the function."""

    name, node_name = "compiled", "CompiledBackward"


def template_of(value: Value, freed: bool) -> Tensor:
    """What a result is a copy of; one whose graph was used up within the function says so."""
    assert value.layout is not None
    layout = memory_of(value.layout)
    if not freed:
        return layout.template
    node = blank_node(Node)
    node._rule_, node._backward_, node._edges_, node._outputs_, node._seq_ = FreedRule(), freed_backward, (), 1, 0
    template = layouts.new_template(layout)
    template._needs_grad_, template._edge_ = True, node
    return template
