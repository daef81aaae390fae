"""What is told of a live graph's nodes, so that passes that do the same are spelled alike: NOTE [Live graphs] of live.py."""

from __future__ import annotations

from functools import cache
from types import CodeType, FunctionType
from typing import Any, Callable

from ...base.bounded import keep
from ...graph.collecting import Collector, spelled
from ...graph.edges import Edge
from ...graph.hooks import NodeMeta
from ...graph.node import AccumulateGrad, Node
from ...graph.saved import Guarded, freed_backward, tensors_in, with_tensors
from ...graph.task import target
from ...native.handle import native
from ...tensors.layout import Layout
from ...tensors.tensor import Tensor
from .pure_functions import key_of, keys_of

__all__ = ["collected", "fresh_layout", "operand_layouts", "speller"]


@cache
def speller() -> tuple[Callable, Callable]:
    """``spell`` and ``free``: see ``Speller`` of native/surveys.py."""
    made: tuple[Callable, Callable] = native.speller(
        AccumulateGrad, parts_of, freed_backward, spell_hooks, spell_other, spell_callback, spell_attributes, spelled, -1
    )
    return made


class LiveCollector(Collector):
    """Who knows which functions only compute."""

    __slots__ = ()

    def call(self, function: Callable) -> None:
        """Take the key of a function that only computes."""
        self.words.append(key_of(function, True))
        self.whole &= self.words[-1] is not None


def spell_other(node: Node, words: list, values: list) -> bool:
    """What a node of another class than Node itself says that it is."""
    collector, kind = LiveCollector(words, values), type(node)
    kind.compiled_args(node, collector)
    return collector.whole


def spell_callback(node: Node, words: list, values: list, said: int, kept: int, callbacks: list) -> bool:
    """The spelling of a node that Python runs: the layouts of what it gives."""
    del words[said:], values[kept:]
    words += ("callback", node._rule_.takes_undefined, operand_layouts(node))
    callbacks.append(node)
    return True


def parts_of(edge: Any) -> tuple[Any, Any]:
    """Node or leaf behind an edge that is no node itself, and a key for which of its results is meant."""
    return (edge.node, ("result", edge.nr)) if type(edge) is Edge else (target(edge), "leaf")


def spell_attributes(value: Any, words: list, values: list) -> bool:
    """The spelling of a node's other arguments, tensors among them; False where there is none."""
    if type(value) is not Guarded:
        words.append(spelled(value))
        return words[-1] is not None
    if value.versions is None or any(x._storage_.version is not version or x.layout.special for x, version in value.versions):
        return False
    words.append(spelled({name: with_tensors(x, lambda x: x.layout, Tensor) for name, x in value.attributes.items()}))
    values += tensors_in(value.attributes.values())
    return words[-1] is not None


def collected(node: Node) -> list[Tensor]:
    """The tensors that a node hands over."""
    collector = LiveCollector()
    type(node).compiled_args(node, collector)
    return collector.values


# ---- hooks, and layouts of what callbacks give ------------------------------------------------------------------------------

# The spellings of the only hook of a first result, of those that nothing but their code decides.
alone: dict[CodeType, tuple] = {}
MOST_ALONE = 1024


def spell_hooks(meta: NodeMeta) -> tuple:
    """The spelling of a node's hooks: keys of those of a result that only compute, else that there are some."""
    results = meta.tensor_hooks
    if len(results) != 1 or meta.retains or meta.pre_hooks or meta.post_hooks:
        found = tuple([(nr, keys_of(hooks)) for nr, hooks in results.items()])
        return "hooks", found, tuple(meta.retains), bool(meta.pre_hooks), bool(meta.post_hooks)
    ((nr, hooks),) = results.items()
    if nr == 0 and len(hooks) == 1:
        (hook,) = hooks.values()
        if type(hook) is FunctionType and hook.__defaults__ is None and hook.__kwdefaults__ is None:
            known = alone.get(hook.__code__)
            if known is not None:
                return known
            key = key_of(hook)
            if key is not None and len(key) == 1:
                return keep(alone, hook.__code__, (nr, (key,)), MOST_ALONE)
            return nr, None if key is None else (key,)
    return nr, keys_of(hooks)


def operand_layouts(node: Node) -> tuple[Layout | None, ...]:
    """The layouts that cotangents of a node's operands are expected to have; None where none is wanted."""
    return tuple([None if edge is None else layout_behind(edge) for edge in node._edges_])


def layout_behind(edge: Any) -> Layout | None:
    """The layout of what an edge leads to."""
    nr = edge.nr if type(edge) is Edge else 0
    node: Any = target(edge)
    if isinstance(node, Tensor):
        found: Layout | None = node.layout
    else:
        template = node._plan_.outs[nr] if node._plan_ is not None else None
        found = None if template is None else template.layout
    return None if found is None or found.special else fresh_layout(found)


def fresh_layout(layout: Layout) -> Layout:
    """The layout of a copy."""
    return layout.plain() if layout.dense else layout.like()
