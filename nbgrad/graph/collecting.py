"""What nodes say of themselves to passes that run as programs.

NOTE [Nodes in programs]: a pass through a live graph may be one program for all graphs that are alike (jit/live.py). A node takes
part by two methods, which are looked up in its class:
  ``compiled_args(collector)``       tells whatever decides what the node computes, and hands over the tensors that it keeps;
  ``apply_with_saved(values, g)``    gives what its ``backward`` gives, with other tensors in the place of those, in their order.
Of two nodes that tell the same, one must compute with the other's tensors what the other does. A node that cannot say that
(``collector.refuse()``) has its turn in Python in every pass. A custom Function may have both as static methods, with its ctx in
the place of ``self``: it then tells of what is in ctx beside saved tensors, and that its ``backward`` does nothing but compute.
Leaves are settled by the engine itself; their AccumulateGrad tells of leaf and gradient those who run graphs by other means.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence

from ..base.dtypes import DType
from ..base.grad_mode import mode, special
from ..tensors.layout import Layout
from ..tensors.storage import Device
from ..tensors.tensor import Tensor
from .node import Node, saved_values
from .saved import Guarded, freed_backward, tensors_in, with_tensors

__all__ = ["Collector"]

PLAIN = (int, bool, str, type(None))
UNCHECKED = object()


class Collector:
    """Who a node tells what it computes: NOTE [Nodes in programs].

    Attributes:
        words: what two nodes must have told alike; layouts of tensors among it.
        values: the tensors.
        whole: whether that is all; False once something came that no two nodes could have alike.

    >>> import nbgrad
    >>> from nbgrad.graph import Collector
    >>> y = nbgrad.ones(2, requires_grad=True).exp()
    >>> collector = Collector()
    >>> y.grad_fn.compiled_args(collector)
    >>> collector.whole, collector.values
    (True, [tensor([2.7183, 2.7183])])
    """

    __slots__ = ("words", "values", "whole")

    def __init__(self, words: list | None = None, values: list | None = None):
        self.words: list[Any] = [] if words is None else words
        self.values: list[Tensor] = [] if values is None else values
        self.whole = True

    def collect(self, x: Any, version: Any = UNCHECKED) -> None:
        """Take a tensor, of which the layout decides and the elements do not; or a plain value, which decides.

        Args:
            x: a Tensor; a number, a string, a dtype, a layout, a device, None; tuples, lists and dicts of all these.
            version: of the tensor's memory when it was saved: what was written to since is refused.
        """
        if x is None:
            self.words.append(None)
            return
        if isinstance(x, Tensor):
            if x.layout.special or (version is not UNCHECKED and x._storage_.version is not version):
                self.whole = False
            self.words.append(x.layout)
            self.values.append(x)
            return
        inner = tensors_in((tuple(x.values()) if type(x) is dict else x,))
        if inner:
            self.values += inner
            self.whole &= not any(each.layout.special for each in inner)
            x = (
                {k: with_tensors(v, layout_of, Tensor) for k, v in x.items()}
                if type(x) is dict
                else with_tensors(x, layout_of, Tensor)
            )
        self.words.append(spelled(x))
        self.whole &= self.words[-1] is not None

    def cond(self, flag: Any) -> bool:
        """Take a truth value that decides; returns it."""
        self.words.append(bool(flag))
        return bool(flag)

    def call(self, function: Callable) -> None:
        """Take a function of Python that the node will call; refused here, where nobody knows whether it only computes."""
        self.refuse()

    def refuse(self) -> None:
        """There is no other node like this one."""
        self.whole = False


def layout_of(x: Tensor) -> Layout:
    """The layout of a tensor."""
    return x.layout


def spelled(value: Any) -> Any:
    """A key that equal values share, of numbers, strings and sequences of them; None of others."""
    kind = type(value)
    if kind is float or kind is complex:
        return kind, repr(value)
    if kind in PLAIN:
        return kind, value
    if isinstance(value, (tuple, list)):
        parts = tuple([spelled(each) for each in value])
        return None if any(part is None for part in parts) else (kind, parts)
    if kind is dict:
        return spelled(tuple(value.items()))
    if kind is slice:
        return spelled((slice.__name__, value.start, value.stop, value.step))
    return value if isinstance(value, (DType, Layout, Device)) else None


# ---- operations --------------------------------------------------------------------------------------------------------


def node_args(node: Node, collector: Collector) -> None:
    """Tell a collector all that decides what the node computes, and hand over the tensors that it keeps: ``graph.Collector``.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> collector = nbgrad.graph.Collector()
    >>> (x * x).grad_fn.compiled_args(collector)
    >>> len(collector.values)
    2
    """
    if node._backward_ is freed_backward:
        collector.refuse()
    collector.words += (node._rule_, node._plan_, node._backward_)
    if node._attrs_ is not None:
        collect_attributes(node._attrs_, collector)
    for k, value in enumerate(saved_values(node)):
        if isinstance(value, Tensor):
            collector.collect(value, getattr(node, f"_v{k}_"))
        else:
            collector.collect(value)


def collect_attributes(value: Any, collector: Collector) -> None:
    """Take a node's other arguments."""
    if type(value) is not Guarded:
        collector.collect(value)
    elif value.versions is None or any(x._storage_.version is not version for x, version in value.versions):
        collector.refuse()
    else:
        collector.collect(value.attributes)


def node_with_saved(node: Node, values: Sequence[Tensor], g: Any) -> Any:
    """What the node's ``backward`` gives for ``g``, with ``values`` in the place of the tensors that it collects.

    Args:
        values: in the order in which ``compiled_args`` collects.
        g: the cotangent; a list of them where the node has several results.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> node = x.exp().grad_fn
    >>> with nbgrad.no_grad():
    ...     node.apply_with_saved([nbgrad.tensor([2.0, 3.0])], nbgrad.ones(2))
    tensor([2., 3.])
    """
    kept: list[tuple[str, Any]] = []
    try:
        exchange(node, iter(values), kept)
        return node._backward_(node, g, mode.enabled or bool(special))
    finally:
        for slot, value in kept:
            setattr(node, slot, value)


def exchange(node: Node, values: Iterator[Tensor], kept: list[tuple[str, Any]]) -> None:
    """Give a node other tensors in the place of those that it keeps.

    Args:
        kept: where what was there is added, by slot.
    """

    def put(slot: str, value: Any) -> None:
        kept.append((slot, getattr(node, slot)))
        setattr(node, slot, value)

    attributes = node._attrs_
    if type(attributes) is Guarded:
        made = {name: with_tensors(x, lambda _: next(values), Tensor) for name, x in attributes.attributes.items()}
        put("_attrs_", Guarded(attributes.op, made, tensors_in(made.values())))
    for k, value in enumerate(saved_values(node)):
        if isinstance(value, Tensor):
            x = next(values)
            put(f"_s{k}_", x)
            put(f"_v{k}_", x._storage_.version)


Node.compiled_args, Node.apply_with_saved = node_args, node_with_saved
