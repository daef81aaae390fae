"""Functions of the program that are bodies: traced once for every kind of arguments, as long as what they name is the same."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

from ...base.bounded import keep
from ...base.dtypes import get_default_dtype
from ...base.grad_mode import traces
from ...func.captures import captured
from ...modes.traced import capture_of_thread
from ...tensors.layout import layout_of
from ...tensors.storage import default_device
from ...tensors.tensor import Tensor
from ..guards.guards import Guards
from ..nodes.values import MOST as MOST_READ
from .bodies import Body, traced_body
from .closures import Closure
from .mixed_precision import in_region, region_of_thread
from .trees import Leaves

__all__ = ["Found", "traced_function"]

MOST = 256
known: dict[Any, TracedFunction] = {}


class TracedFunction:
    """A function that was traced: NOTE [Traced functions].

    NOTE [Traced functions]: another function of the same text that captures the like (closures.py) has the same body, of its own
    tensors: functions are often made anew for every call. Names beyond that, globals and attributes, must hold what they held.

    Attributes:
        body: what it does; its inputs are the tensors of the arguments, then the captured tensors that it uses.
        used: those tensors, or which of ``Closure.tensors`` they are.
        same: of tensors of the closure that have names beyond it, which they are and which object.
        result: what it returned while it was traced, with tensors of no memory.
        guards: what it depends on beside its arguments and its closure.
        arrays: NumPy's of few elements among that, with what they held; tensors on larger ones are read whenever a trip runs.
    """

    __slots__ = ("body", "used", "same", "result", "guards", "arrays")

    def __init__(self, fn: Callable, closure: Closure, run: Callable[..., Leaves], examples: Sequence[Tensor]):
        guards = self.guards = Guards(fn)
        found = list({id(x): x for x in (*captured(fn), *guards.tensors)}.values())
        guards.leave_out(closure.covered)
        self.arrays = [(x, x.tobytes()) for x in guards.arrays if x.size <= MOST_READ and not x.dtype.hasobject]

        def outs(*inputs: Tensor) -> list[Tensor]:
            self.result = run(*inputs)
            made = self.result.tensors
            self.result.tensors = [layout_of(x.layout.dtype, x.layout.shape, None, x.layout.device).template for x in made]
            return made

        self.body, used = traced_body(outs, examples, found, guards.arrays)
        guards.settle()
        places: dict[int, int] = {}
        for k, x in enumerate(closure.tensors):
            places.setdefault(id(x), k)
        self.used: list[int | Tensor] = [places.get(id(x), x) for x in used]
        named = {id(x) for x in guards.held() if isinstance(x, Tensor)}
        self.same = [(k, x) for k, x in enumerate(closure.tensors) if id(x) in named]

    def fits(self, closure: Closure) -> bool:
        """Whether a function of the same pattern is meant."""
        if any(closure.tensors[k] is not x for k, x in self.same) or not self.guards.hold():
            return False
        return all(x.tobytes() == held for x, held in self.arrays)

    def operands(self, closure: Closure) -> list[Tensor]:
        """The captured tensors that a function of the same pattern uses."""
        return [closure.tensors[x] if isinstance(x, int) else x for x in self.used]


class Found(NamedTuple):
    """What a function is.

    Attributes:
        traced: the same for all functions alike.
        used: the captured tensors that it uses.
    """

    traced: TracedFunction
    used: list[Tensor]

    @property
    def body(self) -> Body:
        """What it does."""
        return self.traced.body

    @property
    def result(self) -> Leaves:
        """The structure of what it returns."""
        return self.traced.result

    @property
    def operands(self) -> list[Tensor]:
        """What the body takes behind the arguments."""
        return [*self.used, *self.traced.body.bound]


def traced_function(fn: Callable, key: tuple, run: Callable[..., Leaves], examples: Callable[[], Sequence[Tensor]]) -> Found:
    """The body that a function is.

    Args:
        key: what it is traced for.
        run: calls it with tensors like the examples.

    Raises:
        GraphError: it does what a graph cannot hold.
    """
    closure = Closure(fn)
    region = region_of_thread()
    whole = (*key, get_default_dtype(), default_device(), region.key() if region else None, closure.pattern)
    found = known.get(whole)
    if found is None or not found.fits(closure):
        within = run if region is None else in_region(run, region)
        found = keep(known, whole, TracedFunction(fn, closure, within, examples()), MOST)
    if traces and (around := capture_of_thread()) is not None:
        around.variables.know(found.body.bound)
    return Found(found, found.operands(closure))
