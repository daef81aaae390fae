"""Inference mode: what is made inside of it is marked, and autograd keeps away from it.

NOTE [Inference tensors]: a tensor is one if its layout is marked ``INFERENCE``; its storage is then writable ``IN_INFERENCE_MODE``.
  1. inside of the mode results and new tensors are marked; a view, like an in-place result, is what its memory's owner is;
  2. a view of an ordinary tensor is an ordinary view that in-place operations cannot follow (``INFERENCE`` in views.py);
  3. outside, operations take a marked tensor as a plain one of the same memory, and their results are ordinary;
  4. outside, a write to it is refused (``Storage.require_writable``, which every write asks where ``writable`` is not True), and so
     is saving it for backward; what a transform (``func.grad`` and the like) records saves a copy, see ``saveable``.
Neither costs an ordinary call anything: marked layouts have no plans among the ordinary ones, and the mode is in ``special``.
"""

from __future__ import annotations

from typing import Any, Callable, Container

from ..base.calls import CALLS
from ..base.errors import GradError
from ..base.grad_mode import mode, traces
from ..graph.edges import Edge, Node, accumulator_of, requires_grad
from ..graph.node import saved_values
from ..tensors.batch_levels import leave_graph
from ..tensors.layout import marked_layout
from ..tensors.storage import IN_INFERENCE_MODE
from ..tensors.tensor import ASK, INFERENCE, Tensor, native, put_layout
from .interpreters import Call, register
from .traced import TRACED

__all__ = [
    "INFERENCE",
    "StandIns",
    "finish_inside",
    "install_inference",
    "is_inference",
    "mark_inference",
    "newly_made",
    "plainly",
    "refuse_saving",
    "replaced",
    "saveable",
]


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    >>> import nbgrad
    >>> with nbgrad.inference_mode():
    ...     y = nbgrad.ones(2) * 2
    >>> nbgrad.is_inference(y), nbgrad.is_inference(y * 2)
    (True, False)
    """
    return input.layout.special is INFERENCE


def mark_inference(x: Tensor) -> Tensor:
    """Make a tensor an inference tensor: one that nobody else has seen."""
    if isinstance(x.layout.special, bool) or x.layout.special is TRACED:
        put_layout(x, marked_layout(x.layout, INFERENCE))
    if x._storage_.writable:
        x._storage_.writable = IN_INFERENCE_MODE
    return x


def newly_made(x: Tensor) -> Tensor:
    """A tensor that was just made from data: marked, inside of the mode."""
    return mark_inference(x) if mode.inference else x


def refuse_saving(op: str) -> None:
    """Inference tensors have no version, so that a change would go unnoticed.

    Raises:
        GradError: always.
    """
    raise GradError(
        f"{op}: an inference tensor cannot be saved for backward. Hint: clone it outside of inference mode, or make it "
        "under no_grad() instead."
    )


def saveable(op: str, x: Tensor) -> Tensor:
    """What a node saves of a tensor: itself; of an inference tensor a copy, in a transform.

    A transform may be given any tensor, and takes derivatives whether its caller meant to or not.

    Raises:
        GradError: an inference tensor, outside of transforms.
    """
    if not is_inference(x):
        return x
    if not mode.transforms:
        refuse_saving(op)
    return copied(x)


def copied(x: Tensor) -> Tensor:
    """An ordinary tensor with the values of an inference tensor, on memory of its own."""
    enabled, mode.enabled = mode.enabled, False
    try:
        copy: Tensor = CALLS["clone"](plain(x, False))
        return copy
    finally:
        mode.enabled = enabled


def require_ordinary(op: str, x: Tensor) -> None:
    """Outside of the mode an inference tensor cannot begin to require grad.

    Raises:
        GradError: ``x`` is one.
    """
    if x.layout.special is INFERENCE and not mode.inference:
        raise GradError(f"{op}: an inference tensor cannot require grad outside of inference mode. Hint: clone it first.")


def plain(x: Tensor, recorded: bool) -> Tensor:
    """An ordinary tensor on the memory of an inference tensor; where calls are recorded, a leaf's gradient goes to the leaf."""
    out = native.tensor(x.layout.unmarked().template, x._storage_, x._offset_, False, None)
    if recorded and x._needs_grad_ is True:
        out._edge_, out._needs_grad_ = x._edge_ or accumulator_of(x), True
    return out


class StandIns:
    """``stand_ins(x)``: the plain tensor in the place of an inference tensor; any other itself.

    Attributes:
        tensors: the stand-ins, which live as long as the call.
        originals: ``{id of a stand-in: the inference tensor}``.
    """

    def __init__(self, recorded: bool):
        self.recorded = recorded
        self.tensors: list[Tensor] = []
        self.originals: dict[int, Tensor] = {}

    def __call__(self, x: Tensor) -> Tensor:
        if x.layout.special is not INFERENCE:
            return x
        stand_in = plain(x, self.recorded)
        self.tensors.append(stand_in)
        self.originals[id(stand_in)] = x
        return stand_in


class Inference:
    """The interpreter of rank "inference"."""

    def concerns(self, call: Call) -> bool:
        """All calls inside of the mode; outside those of inference tensors. Functions see the tensors themselves."""
        if call.op.kind == "function":
            return False
        return (
            mode.inference
            or call.marked
            and any(x.layout.special is INFERENCE for x in nested_tensors((call.operands, call.attributes, call.out)))
        )

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The call on plain tensors; its results marked, or checked."""
        # A call of inference tensors alone is not recorded outside either, though one of them may require grad.
        recorded = not (mode.inference or all(isinstance(x, Tensor) and is_inference(x) for x in call.operands))
        stand_ins = StandIns(recorded)
        if recorded and mode.transforms and mode.enabled and any(map(requires_grad, nested_tensors(call.operands))):
            call = with_copies(call)
        changed = call.with_operands(replaced(call.operands, stand_ins), replaced(call.attributes, stand_ins))
        changed.out = replaced(call.out, stand_ins)
        if mode.inference:
            return finish_inside(plainly(below, changed), (call.operands, call.out), stand_ins)
        if stand_ins.tensors and call.form == "_" and mode.enabled and any(map(requires_grad, changed.tensors())):
            # The write would be done before the node shows what it saved: the same call without it tells.
            check_saved(CALLS[call.op.name](*changed.operands, **changed.attributes), call.op.name, stand_ins)
        result = below(changed)
        check_saved(result, call.op.name, stand_ins)
        return finish_outside(result, stand_ins)


INTERPRETER = Inference()


def with_copies(call: Call) -> Call:
    """A call that is recorded with copies in the place of inference tensors, but for what it writes to."""
    written = call.operands[:1] if call.form == "_" else ()

    def change(x: Tensor) -> Tensor:
        return copied(x) if is_inference(x) else x

    operands = (*written, *replaced(call.operands[len(written) :], change))
    return call.with_operands(operands, replaced(call.attributes, change))


def nested_tensors(value: Any):
    """All tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from nested_tensors(each)


def replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """``value`` with every tensor in nested tuples, lists and dicts changed; itself where nothing is."""
    if isinstance(value, Tensor):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([replaced(x, change) for x in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[replaced(x, change) for x in value])
    if type(value) is dict:
        return {name: replaced(x, change) for name, x in value.items()}
    return value


def plainly(below: Callable, *args: Any, **kwargs: Any) -> Any:
    """The operation alone: nothing is recorded, whatever the engine or ``create_graph`` set; between steps tensors are plain."""
    enabled = mode.enabled
    mode.enabled, mode.inference, mode.inferring = False, False, True
    try:
        return below(*args, **kwargs)
    finally:
        mode.enabled, mode.inference, mode.inferring = enabled, True, False


def finish_inside(result: Any, given: Any, stand_ins: StandIns, known_outside: Container[int] = ()) -> Any:
    """Results inside of the mode: NOTE [Inference tensors], 1 and 2.

    Args:
        given: nested operands, for which ``stand_ins`` stood.
        known_outside: identities of storages of further tensors that were there before, none of them an inference tensor.
    """
    operands = list(nested_tensors(given))
    owners = {id(x._storage_): x for x in operands}
    known = {id(x): x for x in operands} | stand_ins.originals

    def finish(x: Tensor) -> Tensor:
        if id(x) in known:
            return known[id(x)]
        owner = owners.get(id(x._storage_))
        new = owner is None and id(x._storage_) not in known_outside
        if new or owner is not None and is_inference(owner):  # a view of what was made on the way is nobody's view
            x._meta_, x._needs_grad_ = None, False
            return mark_inference(x)
        if x._needs_grad_ is ASK:
            x._meta_.creation = INFERENCE
        return x

    return replaced(result, finish)


def finish_outside(result: Any, stand_ins: StandIns) -> Any:
    """Results outside of the mode: NOTE [Inference tensors], 3; views are inference tensors too."""
    known, storages = stand_ins.originals, {id(x._storage_) for x in stand_ins.tensors}

    def finish(x: Tensor) -> Tensor:
        if id(x) in known:
            return known[id(x)]
        if id(x._storage_) in storages:
            x._meta_, x._edge_, x._needs_grad_ = None, None, False
            return mark_inference(x)
        return x

    return replaced(result, finish)


def check_saved(result: Any, op: str, stand_ins: StandIns) -> None:
    """Refuse a node that saved an inference tensor.

    Raises:
        GradError: it did.
    """
    first = next(nested_tensors(result), None)
    edge = first._edge_ if first is not None else None
    node = edge.node if type(edge) is Edge else edge
    if isinstance(node, Node):
        saved = (*saved_values(node), getattr(node._attrs_, "attributes", None))
        if any(id(x) in stand_ins.originals for x in nested_tensors(saved)):
            refuse_saving(op)


# ---- on Tensor -----------------------------------------------------------------------------------------------------


def version(x: Tensor) -> int:
    """Number of in-place writes to the memory.

    Raises:
        GradError: an inference tensor, which counts none.
    """
    if x.layout.special is INFERENCE:
        raise GradError("_version: inference tensors have no version counter. Hint: clone it outside of inference mode.")
    if traces:
        leave_graph("_version", x)
    return +x._storage_.version  # an int, also of an Exchanged


def install_inference() -> None:
    """Hang on Tensor what inference tensors have of their own, and take the rank among the interpreters."""
    members: dict[str, Any] = {"is_inference": is_inference, "_version": property(version, doc=version.__doc__)}
    for name, member in members.items():
        setattr(Tensor, name, member)
    register("inference", INTERPRETER)
