"""Where a general operation runs: on the CPU, on the GPU that its operands are on, or on the CPU in place of a GPU.

NOTE [Host fallbacks]: what has no lowering for a GPU takes its operands to the CPU, runs there, and takes the result back. That
waits for the GPU, so it warns once an operation, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Callable

from ..base.calls import CALLS
from ..base.errors import DeviceError, KernelError
from ..base.user_stack import warn_user
from ..ops.core import General
from ..tensors.layout import Layout, layout_of
from ..tensors.storage import CPU, META, Device
from ..tensors.tensor import Tensor, native
from .lowerings import FOLD, ON_GPU, RESULTS, GeneralPlan, load_on_gpu, lowering_of

__all__ = ["are_on_gpu", "fallbacks", "lowered_on_gpu", "note_fallback", "run_anywhere"]

# How often each operation ran on the CPU in place of a GPU.
fallbacks: Counter[str] = Counter()


def are_on_gpu(values: Iterable[Any]) -> bool:
    """Whether a layout among these, of a tensor too, also in sequences, is a GPU's."""
    for x in values:  # every call of several steps asks
        kind = type(x)
        if kind is Layout:
            if x.memory is not None:
                return True
        elif kind is tuple or kind is list:
            if are_on_gpu(x):
                return True
        elif kind is not int and x is not None and any(layout.memory is not None for layout in layouts_within((x,))):
            return True
    return False


def layouts_within(values: Iterable[Any]) -> Iterator[Layout]:
    """The layouts among values, of tensors too, also in sequences."""
    for x in values:
        if type(x) is Layout:
            yield x
        elif isinstance(x, Tensor):
            yield x.layout
        elif isinstance(x, (tuple, list)):
            yield from layouts_within(x)


def only_device(op: General, values: Iterable[Any]) -> Device:
    """The device of all tensors of a call; single numbers of the CPU may be beside a GPU's.

    Raises:
        DeviceError: there are several.
    """
    found: Device | None = None
    for layout in layouts_within(values):
        if layout.memory is None and not layout.ndim:
            continue
        if found is not None and layout.device is not found:
            raise DeviceError(
                f"{op.public}: one operand is on {found}, another on {layout.device}; expected one device. "
                "Hint: move one with x.to(device)."
            )
        found = layout.device
    return CPU if found is None else found


def lowering_on(device: Device, op: General) -> tuple[str, Callable] | None:
    """``(style, lowering)`` of an operation on a GPU; None if it has none. Of meta the same, unless it would look at elements."""
    if device is META and op.name in RESULTS:
        return "run", on_meta
    load_on_gpu()
    return ON_GPU.get(op.name) or (ON_GPU.get(FOLD) if op.monoid else None)


def lowered_on_gpu(op: General, layouts: tuple, attributes: dict[str, Any]) -> Any:
    """What a lowering gives for operands on a GPU: a plan, or a function of several steps."""
    device = only_device(op, (*layouts, *attributes.values()))
    found = lowering_on(device, op)
    if found is None:
        return on_host
    style, lower = found
    if style == "run":
        return lower
    try:
        made = lower(op, layouts, attributes)
    except KernelError:  # a GPU lacks what the CPU may have
        if device is not META:
            raise
        return on_meta
    if callable(made) or not isinstance(made, tuple):
        return made
    from .device_plans import device_plan

    return device_plan(made[0], layouts, made[1])


def run_anywhere(op: General, run: Callable) -> Callable:
    """``run(op, tensors, attributes)`` of an operation of several steps, wherever its operands are.

    Args:
        run: on the CPU.
    """
    same = ON_GPU.get(op.name)
    if same is not None and same[1] is run:  # it is written in calls
        return run

    def anywhere(op: General, tensors: tuple, attributes: dict) -> Any:
        there = are_on_gpu(tensors) or are_on_gpu(attributes.values())
        return (run_on_gpu if there else run)(op, tensors, attributes)

    return anywhere


def run_on_gpu(op: General, tensors: tuple, attributes: dict) -> Any:
    """The steps of a call with operands on a GPU."""
    device = only_device(op, (*tensors, *attributes.values()))
    if device is CPU:  # all are single numbers, of both
        tensors = tuple([to_host(x) for x in tensors])
        attributes = {name: to_host(value) for name, value in attributes.items()}
        return CALLS[op.name].plain(*tensors, **attributes)
    found = lowering_on(device, op)  # of several steps, as on the CPU
    return (on_host if found is None else found[1])(op, tensors, attributes)


def on_host(op: General, tensors: tuple, attributes: dict) -> Any:
    """The call on the CPU: NOTE [Host fallbacks]; on meta its results without elements."""
    device = only_device(op, (*tensors, *attributes.values()))
    if device is META:
        return on_meta(op, tensors, attributes)
    note_fallback(op.name, op.public, device)
    moved: dict[int, tuple[Tensor, Tensor]] = {}
    host = tuple([to_host(x, moved) for x in tensors])
    named = {name: to_host(value, moved) for name, value in attributes.items()}
    return from_host(CALLS[op.name].plain(*host, **named), device, moved)


def on_meta(op: General, tensors: tuple, attributes: dict) -> Any:
    """The results of a call on meta, as the CPU would lay them out.

    Raises:
        NotSupportedError: only elements could say what they are.
    """
    layouts = tuple([x.layout for x in tensors])
    outs = [layout_of(x.dtype, x.shape, x.strides, META) for x in results_on_cpu(op, layouts, attributes)]
    made = [CALLS["new_full"](out, 0) for out in outs]
    return made[0] if len(made) == 1 else tuple(made)


def results_on_cpu(op: General, layouts: tuple, attributes: dict) -> list[Layout]:
    """The layouts of the results that the CPU would have for operands of these layouts. Errors are those of ``on_meta``."""
    if op.name in RESULTS:
        return [RESULTS[op.name](op, layouts, attributes)]
    style, lower = lowering_of(op) or ("", None)
    plan = lower(op, to_host(layouts), attributes) if lower is not None and style == "plan" else None
    if isinstance(plan, GeneralPlan):
        return [out.layout for out in plan.outs]
    from ..tensors.meta import no_elements  # not by an import: it knows drivers

    raise no_elements(op.public)


def note_fallback(name: str, public: str, device: Device) -> None:
    """Count a call that runs on the CPU in place of a GPU, and warn of the first."""
    if not fallbacks[name]:
        warn_user(
            f"{public}: on {device} it runs on the CPU, for which the program waits. "
            "Hint: nbgrad.cuda.host_fallbacks() counts such calls."
        )
    fallbacks[name] += 1


def to_host(x: Any, moved: dict[int, tuple[Tensor, Tensor]] | None = None) -> Any:
    """A value with the tensors in it on the CPU, without history.

    Args:
        moved: by the storage of each copy the tensor and the copy, to be filled in.
    """
    if isinstance(x, Tensor):
        if x.layout.memory is None:
            return x
        copy = CALLS["to_device"].plain(native.alias(x), CPU)
        if moved is not None:
            moved[id(copy._storage_)] = x, copy
        return copy
    if type(x) is Layout:
        return layout_of(x.dtype, x.shape, x.strides, CPU, x.conj, x.neg)
    return tuple([to_host(each, moved) for each in x]) if isinstance(x, (tuple, list)) else x


def from_host(x: Any, device: Device, moved: dict[int, tuple[Tensor, Tensor]]) -> Any:
    """Results on the device; one that is an operand, overwritten, is that operand."""
    if isinstance(x, Tensor):
        known = moved.get(id(x._storage_))
        if known is not None and known[1].layout is x.layout and known[1]._offset_ == x._offset_:
            CALLS["copy_"](native.alias(known[0]), x)
            return known[0]
        return CALLS["to_device"].plain(x, device)
    return type(x)([from_host(each, device, moved) for each in x]) if type(x) in (tuple, list) else x
