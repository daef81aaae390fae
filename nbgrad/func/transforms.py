"""What transforms share: where recording starts, what may leave, and which arguments are differentiated.

NOTE [Transforms]: reverse mode has one graph. A transform gives its function *starts*: aliases of the arguments, which are leaves
  unless an enclosing differentiation needs them recorded. Gradients are captured at the starts; a gradient is itself recorded
  only if what was computed depends on something differentiated outside: another transform that is running, or the user's
  tensors. So transforms nest in any order, and nothing that they record is seen outside. Forward mode opens a level of tangents
  each. Inside of ``vmap`` a start has the batch of every open level, so that gradients are those of single elements.
  Leaves that the function makes belong to its run. What it captures is sealed: see ``sealed``.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident
from typing import Any, Callable, Iterator, Sequence

from ..base.calls import CALLS
from ..base.errors import DTypeError, GradError, InplaceError, RangeError
from ..base.grad_mode import dual_levels, mode, transforming
from ..base.mode_contexts import inference_mode, set_grad_enabled
from ..base.nested import Tree, flatten, map_leaves
from ..batch.tensors import lifted, lowered, number_of
from ..graph.edges import edge_of, requires_grad
from ..graph.task import count_edges, target
from ..modes.batched import Batched
from ..modes.inference import is_inference
from ..tensors.batch_levels import state
from ..tensors.storage import GUARDED, Storage, guards
from ..tensors.tensor import Tensor, require_differentiable
from .captures import captured

__all__ = [
    "Argnums",
    "TransformRun",
    "chosen_arguments",
    "depends_outside",
    "ordinary",
    "outside_inference_mode",
    "pair_of",
    "real_tensors",
    "released",
    "running",
    "sealed",
    "start",
    "tensor_leaves",
    "graph_value",
    "with_arguments",
]

Argnums = int | tuple[int, ...]


# ---- starts ------------------------------------------------------------------------------------------------------------


class TransformRun:
    """One run of a transformed function. ``live`` while the function is running: its starts are then differentiated by it."""

    __slots__ = ("live",)

    def __init__(self) -> None:
        self.live = True


@contextmanager
def running(func: Callable, arguments: Any = ()) -> Iterator[TransformRun]:
    """A run of ``func``, with recording on, also in inference mode; what it captures cannot be written to."""
    run = TransformRun()
    try:
        with inference_mode(False), transforming(run), sealed(func, arguments):
            yield run
    finally:
        run.live = False


class sealed:
    """Inside, this thread cannot write to tensors that ``func`` captures: they outlive the transform, its derivatives do not.

    A class: a generator takes longer.

    Args:
        arguments: of ``func``, which it may write to, in tuples, lists and dicts.
    """

    __slots__ = ("func", "arguments", "closed", "seal")

    def __init__(self, func: Callable, arguments: Any):
        self.func, self.arguments = func, arguments

    def __enter__(self) -> None:
        found = {x._storage_ for x in captured(self.func) if x._storage_.writable is True}
        self.closed = found and found.difference([x._storage_ for x in captured(self.arguments)])
        self.seal = Seal()
        for storage in self.closed:
            storage.writable, guards[storage] = GUARDED, self.seal

    def __exit__(self, *error: object) -> None:
        self.seal.thread = None
        for storage in self.closed:
            if guards.get(storage) is self.seal:
                del guards[storage]
                storage.writable = True


class Seal:
    """The guard of the tensors that a transformed function captures.

    Attributes:
        thread: in which the function runs; None once it has ended.
    """

    __slots__ = ("thread",)

    def __init__(self) -> None:
        self.thread: int | None = get_ident()

    def __call__(self, written: Storage) -> None:
        """Before a write.

        Raises:
            InplaceError: it comes from the function.
        """
        if get_ident() == self.thread:
            raise InplaceError(
                "func: the function that a transform (grad, vjp, jvp, ...) runs writes to a tensor that it "
                "captures. Hint: pass the tensor as an argument and return its new value."
            )


@contextmanager
def outside_inference_mode() -> Iterator[None]:
    """Where tangents are computed: not in inference mode, in which nothing has any."""
    if not mode.inference:
        yield
        return
    with inference_mode(False), set_grad_enabled(False):
        yield


def ordinary(x: Tensor) -> Tensor:
    """The tensor itself; of an inference tensor a copy that may be differentiated."""
    return CALLS["clone"](x) if is_inference(x) else x


def start(x: Any, run: TransformRun) -> Tensor:
    """A differentiable alias of an argument.

    Raises:
        RangeError: no tensor. DTypeError: of a dtype that has no gradients.
    """
    if not isinstance(x, Tensor):
        raise RangeError(f"func: expected tensors to differentiate by, got {type(x).__name__}. Hint: argnums selects arguments.")
    require_differentiable("func", x.dtype)
    own = x._levels_ if type(x) is Batched else ()
    levels = tuple(sorted({*own, *(level for level in state.levels if not level.directions)}, key=number_of))
    alias = CALLS["alias"](ordinary(lowered(x, levels)))
    if not requires_grad(alias):
        alias._needs_grad_ = True
        alias.__dict__["_run_"] = run
    return lifted(alias, levels)


def graph_value(x: Tensor) -> Tensor:
    """The tensor that is in the graph."""
    return x._value_ if type(x) is Batched else x


def depends_outside(tensors: Sequence[Any], run: TransformRun) -> bool:
    """Whether tensors depend on something that is differentiated outside of the run."""
    roots = [target(value._edge_ or edge_of(value)) for value in map(graph_value, tensors) if requires_grad(value)]
    for place in count_edges(root for root in roots if root is not None):
        if isinstance(place, Tensor):
            owner = place.__dict__.get("_run_")
            if owner is None or (owner is not run and owner.live):
                return True
    return False


def released(values: Any, run: TransformRun, outside: bool) -> Any:
    """Results as they are seen outside of the run: with history only where it leads outside; ``outside`` says if it may."""

    def release(x: Any) -> Any:
        if not isinstance(x, Tensor) or not requires_grad(graph_value(x)):
            return x
        return x if outside and depends_outside([x], run) else as_constant(x)

    return map_leaves(release, values)


def as_constant(x: Tensor) -> Tensor:
    """``x`` as a constant of reverse mode; tangents of enclosing ``jvp`` remain."""
    if not dual_levels:
        return x.detach()
    with set_grad_enabled(False):
        return CALLS["alias"](x)


# ---- arguments and results ---------------------------------------------------------------------------------------------


def positions_of(op: str, argnums: Any, count: int) -> list[int]:
    """The positions that ``argnums`` names, from the front.

    Raises:
        GradError: no ints, none at all, or beyond the arguments.
    """
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers or not all(isinstance(k, int) for k in numbers):
        raise GradError(f"{op}: argnums must be an int or a tuple of some, got {argnums!r}.")
    for k in numbers:
        if not -count <= k < count:
            raise GradError(f"{op}: argnums names argument {k}, there are {count} positional ones.")
    places = [k % count for k in numbers]
    if len(set(places)) < len(places):
        raise GradError(f"{op}: argnums {argnums} names an argument twice.")
    return places


def chosen_arguments(op: str, args: tuple, argnums: Argnums) -> Any:
    """The argument that ``argnums`` names, or a tuple of them."""
    chosen = tuple(args[k] for k in positions_of(op, argnums, len(args)))
    return chosen if isinstance(argnums, tuple) else chosen[0]


def with_arguments(args: tuple, argnums: Argnums, values: Any) -> tuple:
    """The arguments with those that ``argnums`` names exchanged."""
    changed = list(args)
    for k, value in zip(positions_of("func", argnums, len(args)), values if isinstance(argnums, tuple) else (values,)):
        changed[k] = value
    return tuple(changed)


def pair_of(op: str, output: Any) -> tuple:
    """The result and the auxiliary value of a function with ``has_aux``.

    Raises:
        GradError: no pair, or something else than tensors in its second part.
    """
    if not isinstance(output, tuple) or len(output) != 2:
        raise GradError(f"{op}: with has_aux=True the function must return (output, aux), got {type(output).__name__}.")
    for x in flatten(output[1])[0]:
        if not isinstance(x, Tensor):
            raise GradError(f"{op}: aux must hold tensors only, got {type(x).__name__}.")
    return output


def tensor_leaves(op: str, output: Any) -> tuple[list[Tensor], Tree]:
    """The tensors that a function returned, and their structure.

    Raises:
        GradError: there is something else among them, or nothing.
    """
    leaves, tree = flatten(output)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise GradError(f"{op}: the function must return tensors only, got {type(x).__name__}.")
    if not leaves:
        raise GradError(f"{op}: the function returned no tensors.")
    return leaves, tree


def real_tensors(op: str, what: str, leaves: list) -> list[Tensor]:
    """The tensors that a Jacobian is about.

    Raises:
        RangeError: something else among them. DTypeError: complex ones, whose derivatives are no matrix of numbers.
    """
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RangeError(f"{op}: expected tensors as {what}, got {type(x).__name__}.")
        if x.is_complex():
            raise DTypeError(f"{op}: {what} must be real, got {x.dtype.name}. Hint: nbgrad.view_as_real.")
    return leaves
