"""What the results of a compiled function are beside their values: which tensors, views of which, leaves or not.

NOTE [Forms]: values say what a result holds, and where it lies. That an argument comes back, a new tensor on its memory, a view of
it, or a leaf that the function has made, and that two results are one tensor, is told by the tensors that the function returns when
it is captured, and made again behind every run. A view of what the function has computed, and does not return, is a tensor of its
own, and no view.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ...base.calls import CALLS
from ...base.errors import GraphError
from ...base.grad_mode import mode
from ...graph.edges import Node, edge_of, requires_grad
from ...graph.task import target
from ...tensors.layout import Layout
from ...tensors.tensor import MULTI_OUTPUT, NO_GRAD, Tensor, native
from ...views import is_grad_leaf
from ..ir.steps import Place, Window

__all__ = [
    "CONSTANT",
    "COPY",
    "INPUT",
    "NO_VIEW",
    "PLAIN",
    "RECORDED",
    "RESULT",
    "UNSEEN",
    "Form",
    "Returned",
    "forms_of",
    "seen_as",
    "shaped",
]

RESULT, INPUT, CONSTANT, COPY, PLAIN = range(5)
# Views: recorded, one of several that one operation gives, under ``no_grad``, the same of what has a history and is not returned.
NO_VIEW, RECORDED, SEVERAL, UNRECORDED, UNSEEN = range(5)


VIEWS = {NO_GRAD: UNRECORDED, MULTI_OUTPUT: SEVERAL}


class Form(NamedTuple):
    """What a result is.

    Attributes:
        same: the leaf of the result, before it, that is the same tensor; -1: none.
        given: whether it is what the function was given, or names, itself.
        view: whether it is a view, and of which kind.
        base: the leaf of the result of which it is a view; -1: none; less: a number for a tensor that is not returned.
        below: whether it is a view of something that the function was given.
        flag: whether gradients flow into it; ``leaf``: whether it is a leaf that the function has made.
    """

    same: int = -1
    given: bool = False
    view: int = NO_VIEW
    base: int = -1
    flag: bool = False
    leaf: bool = False
    below: bool = False


class Returned(NamedTuple):
    """What a leaf of the result is made of.

    Attributes:
        source: RESULT of the steps; INPUT, an argument itself; CONSTANT, a tensor of the program itself; COPY of a constant that
            was made while it ran; PLAIN, no tensor.
        which: number of a result, an input or a constant; the plain value.
        window: the part of it; None for all.
        cut: whether it is a tensor of its own, without history.
        view, leaf: as of ``Form``.
        base: the leaf of the result that it is made of instead, ``window`` being a part of that; -1: none; less: a number for a
            tensor that is not returned, and of which several are made.
        same: the leaf that it is; -1: none.
    """

    source: int
    which: Any
    window: Window | None = None
    cut: bool = False
    view: int = NO_VIEW
    leaf: bool = False
    base: int = -1
    same: int = -1

    def is_plain(self) -> bool:
        """Whether native code makes it: see ``Actor`` of native/actors.py."""
        return self.window is None and self.source != COPY and not self.leaf and self.base == -1 and self.same < 0


def shaped(found: Sequence[Returned], windows: Sequence[Any], forms: Sequence[Form | None]) -> list[Returned]:
    """The same leaves, as they were in the program.

    Args:
        found: of what they are made, by their values; ``windows``: where these are.
        forms: of the first of them; the others stay.
    """
    pairs = [(each, form) for each, form in zip(found, forms) if form is not None]
    takers = [each[:2] for each, form in pairs if form.same < 0]
    recorded = {each[:2] for each, form in pairs if form.flag and not form.leaf}
    taken, made = set[tuple](), list(found)
    for k, form in enumerate(forms):
        each, place = found[k], found[k][:2]
        if form is None:
            continue
        if form.same >= 0:
            first = made[form.same]
            made[k] = first if first.is_plain() and not first.cut else Returned(*place, same=form.same)
            continue
        if form.given:
            made[k] = Returned(*place)
            continue
        window, base = windows[k], max(form.base, -1)
        if base >= 0 and windows[base].place.value is not window.place.value:
            base = -1
        fresh, alone = each.source in (RESULT, COPY), takers.count(place) == 1
        if form.view == UNRECORDED and form.flag and base < 0 and not form.below:
            form = form._replace(view=UNSEEN)
        elif fresh and form.view and base < 0 and alone:  # of what nobody sees
            form = form._replace(view=RECORDED if form.flag and each.window is not None and not form.leaf else NO_VIEW)
        elif form.flag and not form.leaf and not form.view and (each.window is not None or place in taken or not fresh):
            form = form._replace(view=RECORDED)
        cut = base < 0 and not form.below and (form.leaf or not form.flag)
        if form.view or base >= 0:
            start = 0 if base < 0 else windows[base].place.offset
            window = Window(Place(window.place.value, window.place.offset - start), window.layout)
            hidden = form.base if cut and form.view and form.base < -1 and base < 0 else base
            made[k] = Returned(*place, window, cut or not form.view, form.view, form.leaf, hidden)
        elif form.leaf or each.window is not None:
            made[k] = Returned(*place, each.window, True, NO_VIEW, form.leaf)
        elif cut and place in recorded or place in taken or each.source in (INPUT, CONSTANT):
            made[k] = Returned(*place, cut=True)
        else:
            taken.add(place)
            made[k] = Returned(*place)
    return made


def forms_of(results: Sequence[Any], given: Mapping[int, Tensor], kept: Sequence[Any] = ()) -> list[Form | None]:
    """What the leaves of a result are; None for what is no tensor.

    Args:
        given: tensors that the function does not make, by identity.
        kept: what is put into names: further leaves, which are no views, but may be what results are views of.

    Raises:
        GraphError: one is a leaf of a class of its own.
    """
    first: dict[int, int] = {}
    for k, x in enumerate((*results, *kept)):
        if isinstance(x, Tensor):
            first.setdefault(id(x), k)
    below = {id(x if x._meta_ is None or x._meta_.base is None else x._meta_.base) for x in given.values()}.union(given)
    made: list[Form | None] = []
    for k, x in enumerate((*results, *kept)):
        if not isinstance(x, Tensor):
            made.append(None)
            continue
        same, own = first[id(x)], id(x) in given
        if not own and type(x) is not Tensor:
            raise GraphError(f"it returns a {type(x).__name__} that it has made: a graph cannot hold it. Hint: make it outside.")
        meta, view, base = x._meta_, NO_VIEW, -1
        if not own and k < len(results) and meta is not None and meta.base is not None:
            view, base = VIEWS.get(meta.creation, RECORDED), first.setdefault(id(meta.base), -2 - len(first))
            if id(meta.base) not in below and is_grad_leaf(meta.base):
                raise GraphError("it returns a view of a leaf that it has made: a graph cannot hold it. Hint: make it outside.")
            if view == UNRECORDED and meta.node is not None or view == SEVERAL and requires_grad(x) and begins_unrecorded(x):
                raise GraphError("it returns a view, of one made under no_grad: a graph cannot hold it. Hint: return that one.")
        leaf, under = not own and is_grad_leaf(x), view != NO_VIEW and id(meta.base) in below
        made.append(Form(same if same < k else -1, own, view, base, requires_grad(x), leaf, under))
    return made


def begins_unrecorded(x: Tensor) -> bool:
    """Whether the history of a view leads nowhere: it begins at a view that was made under ``no_grad``."""
    edge: Any = edge_of(x)
    while isinstance(node := None if edge is None else target(edge), Node):
        edge = node._edges_[0] if node._edges_ else None
    return node is None


def seen_as(x: Tensor, layout: Layout, offset: int, view: int) -> Tensor:
    """A part of a tensor as a view of it.

    Args:
        offset: bytes from the beginning of ``x``.
        view: of which kind.

    Raises:
        GraphError: it is of a dtype that no view with a history has.
    """
    enabled, mode.enabled = mode.enabled, view < UNRECORDED
    try:
        if layout.dtype is not x.layout.dtype:
            x = CALLS["conj_view"](x) if x.layout.conj else CALLS["neg_view"](x) if x.layout.neg else x
            if x.layout.dtype.is_complex and layout.dtype is x.layout.dtype.to_real():
                x = CALLS["view_as_real"](x)
            elif layout.dtype.is_complex and x.layout.dtype is layout.dtype.to_real():
                pairs = (*layout.shape, 2), (*[2 * stride for stride in layout.strides], 1)
                x, offset = CALLS["view_as_complex"](CALLS["as_strided_from"](x, *pairs, offset // x.layout.dtype.itemsize)), 0
            elif requires_grad(x):
                raise GraphError(f"a view of {x.layout.dtype.name} as {layout.dtype.name} has no history.")
            else:
                return native.tensor(layout.template, x._storage_, x._offset_ + offset, False, None)
        if layout.conj is not x.layout.conj:
            x = CALLS["conj_view"](x)
        if layout.neg is not x.layout.neg:
            x = CALLS["neg_view"](x)
        made: Tensor = CALLS["as_strided_from"](x, layout.shape, layout.strides, offset // layout.dtype.itemsize)
        if view == SEVERAL:
            made._meta_.creation = MULTI_OUTPUT
        return made
    finally:
        mode.enabled = enabled
