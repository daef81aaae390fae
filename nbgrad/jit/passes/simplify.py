"""All passes, in their order, until none of them finds anything."""

from __future__ import annotations

from functools import partial
from typing import Callable, Container

from ..ir.graph import Graph
from ..ir.ir import Block, Control, Node, Value, copy_block
from .drop_nested_sums import drop_nested_sums
from .eliminate_dead import eliminate_dead
from .fold_constants import fold_constants
from .forward_identities import forward_identities
from .hoist_invariants import hoist_invariants
from .join_losses import join_losses
from .merge_calls import merge_calls
from .move_signs import move_signs
from .move_transposes import move_transposes
from .rewriting import places_in

__all__ = ["simplify"]

MOST_ROUNDS = 12  # one finds nearly everything, the next one the rest


def simplify(graph: Graph, kept: Container[Value] = (), known: Container[int] | None = None) -> Graph:
    """Let a graph compute its results with less: NOTE [Same numbers].

    Args:
        graph: is changed itself. Its inputs stay, and its outputs are as many.
        kept: constants that stay though nothing may read them.
        known: identities of tensors that were there before, whose elements may be others in the next run; None: all may be.

    >>> import nbgrad
    >>> from nbgrad.jit import trace
    >>> from nbgrad.jit.passes import simplify
    >>> graph = simplify(trace(lambda x: (x.exp(), x.exp().log())[1], nbgrad.ones(2)))
    >>> [node.name for node in graph.nodes]
    ['exp', 'log']
    """
    fold = partial(fold_constants, known=known)
    passes: list[Callable[[Graph], bool]] = [
        fold,
        forward_identities,
        move_signs,
        move_transposes,
        drop_nested_sums,
        merge_calls,
        hoist_invariants,
        join_losses,
    ]
    eliminate_dead(graph, kept)
    graph.places = places_in(graph)  # passes keep it up to date
    waiting = set(passes)  # those that have not seen the graph as it is
    complete = {fold, forward_identities, merge_calls}  # a walk from first to last leaves nothing for a second one of the same
    for _ in range(MOST_ROUNDS):
        changed = False
        for each in passes:
            if each in waiting:
                waiting.remove(each)
                if each(graph):
                    waiting, changed = set(passes) - ({each} & complete), True
        if changed and eliminate_dead(graph, kept):
            waiting |= {move_signs, drop_nested_sums}  # which count readers
        if not waiting:
            break
    graph.places = None
    for node in graph.nodes:
        simplify_trips(node)
    return graph


def simplify_trips(node: Node) -> None:
    """Simplify what a loop does in every trip, unless it reads what it does not take."""
    if isinstance(node.op, Control) and node.op.changing is not None and not any(block.free() for block in node.blocks):
        node.blocks = tuple(map(simplified_block, node.blocks))


def simplified_block(block: Block) -> Block:
    """A block of its own."""
    made = simplify(copy_block(block, Graph(), {}))
    return Block(made.inputs, [*made.nodes], made.outputs)
