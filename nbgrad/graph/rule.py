"""What differentiates the nodes of an operation: the base of all rules, which know the nodes' names and what they save."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable

from ..base.bounded import Plans

if TYPE_CHECKING:
    from .node import Node

__all__ = ["Rule", "name_of"]


class Rule:
    """The base of all rules.

    Attributes:
        name, node_name: of the operation and of its nodes; ``node_name`` may be a function of the plan's facts.
        saved_names: names of the saved values, in the order of their slots.
        frees: whether a pass that keeps no graph frees the node; or a function of the node that does.
        takes_undefined: whether ``backward`` is called although no result has a cotangent.
        only_reads: whether ``backward``, unless it is recorded, keeps nothing of a cotangent, and shows it to nobody.
    """

    name: str = "node"
    node_name: str | Callable[[dict], str] = "node"
    saved_names: tuple[str, ...] = ()
    frees: bool | Callable[[Node], None] = False
    takes_undefined = False
    only_reads = False

    def places(self, node: Node) -> tuple[int, tuple[int, ...]] | None:
        """For tools: how many operands there are, and which of them the edges belong to; None if all have one."""
        return None

    @cached_property
    def parts(self) -> Plans:
        """``backward`` for some of the edges alone, with None for the others, by ``chosen_edges``: NOTE [Parts] in engine.py."""

        def part_of(number: int) -> Callable:
            chosen = chosen_edges(number)
            return self.part(chosen) or masked(chosen)

        return Plans(part_of, 256)

    def part(self, chosen: tuple[bool, ...]) -> Callable | None:
        """The entry for ``parts``; None if all of ``backward`` has to run."""
        return None

    def slot(self, name: str) -> int | None:
        """The slot of the value saved under a name, if there is one."""
        return None

    def saved(self, node: Node, name: str):
        """The value saved under a name.

        Raises:
            AttributeError: nothing is saved under it.
        """
        raise AttributeError(f"{name_of(node)} has saved no {name!r}; it has {list(self.saved_names)}.")

    def keeper(self, node: Node) -> Node:
        """The node that holds what is saved for this one: itself, unless it stands for another."""
        return node

    def saved_results(self, node: Node, nr: int) -> list:
        """What the node keeps of its result ``nr``: aliases without history, or what hooks made of them."""
        return [getattr(node, f"_s{k}_") for k, name in enumerate(self.saved_names) if name == "out"]

    def shown_names(self) -> list[str]:
        """The names that ``dir`` lists of what nodes keep: torch's."""
        return []

    def raw_saved(self, node: Node, name: str):
        """The slot behind a saved value, to hang hooks on."""
        return self.saved(node, name)


def chosen_edges(number: int) -> tuple[bool, ...]:
    """The edges that a number chooses: one bit for each edge, and a 1 above them."""
    return tuple([bool(number >> k & 1) for k in range(number.bit_length() - 1)])


def masked(chosen: tuple[bool, ...]) -> Callable:
    """A ``backward`` that runs all of a node's and returns the chosen results alone."""

    def part(node: Node, g: Any, create_graph: bool) -> tuple | None:
        results = node._backward_(node, g, create_graph)
        return None if results is None else tuple([g if of_interest else None for g, of_interest in zip(results, chosen)])

    return part


# The nodes that are called after a class of torch's engine.
OF_THE_ENGINE = frozenset(("AccumulateGrad", "CopyBackwards", "CopySlices", "Error"))


def name_of(node: Node) -> str:
    """The node's name; by a function, because a program may call an attribute of its ``ctx`` ``name``: NOTE [Names of users]."""
    name = node._rule_.node_name
    return name if isinstance(name, str) else name(node._plan_.facts)
