"""Functions of the program that are bodies: traced once for every kind of arguments, as long as what they name is the same."""

from __future__ import annotations

from typing import Any, Callable, Sequence
from weakref import WeakKeyDictionary

from ..base.dtypes import get_default_dtype
from ..func.captures import captured
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor
from .bodies import traced_body
from .guards import Guards
from .trees import Leaves

__all__ = ["TracedFunction", "traced_function"]

MOST_VARIANTS = 16
known: WeakKeyDictionary[Any, list[TracedFunction]] = WeakKeyDictionary()


class TracedFunction:
    """A function that was traced.

    Attributes:
        body: what it does; its inputs are the tensors of the arguments, then the captured tensors that it uses, ``used``.
        result: what it returned while it was traced, with tensors of no memory.
        guards: what it depends on beside its arguments.
    """

    __slots__ = ("key", "body", "used", "result", "guards")

    def __init__(self, fn: Callable, key: Any, run: Callable[..., Leaves], examples: Sequence[Tensor]):
        self.key, self.guards = key, Guards(fn)
        found = list({id(x): x for x in (*captured(fn), *self.guards.tensors)}.values())
        self.guards.seen.clear()  # or the function, which is among them, would never be forgotten

        def outs(*inputs: Tensor) -> list[Tensor]:
            self.result = run(*inputs)
            made = self.result.tensors
            self.result.tensors = [layout_of(x.layout.dtype, x.layout.shape).template for x in made]
            return made

        self.body, self.used = traced_body(outs, examples, found)

    @property
    def operands(self) -> list[Tensor]:
        """What it takes behind its arguments."""
        return [*self.used, *self.body.bound]


def traced_function(
    fn: Callable, key: tuple, run: Callable[..., Leaves], examples: Callable[[], Sequence[Tensor]]
) -> TracedFunction:
    """The body that a function is.

    Args:
        key: what it is traced for: hashable or at least comparable.
        run: calls it with tensors like the examples.

    Raises:
        GraphError: it does what a graph cannot hold.
    """
    key = (*key, get_default_dtype())
    try:
        variants = known.setdefault(fn, [])
    except TypeError:  # a callable that is not hashable, or not to be referred to weakly
        variants = []
    for each in variants:
        if each.key == key and each.guards.hold():
            return each
    made = TracedFunction(fn, key, run, examples())
    variants.append(made)
    del variants[:-MOST_VARIANTS]
    return made
