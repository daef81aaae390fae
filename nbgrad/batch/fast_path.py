"""Fast path of batched operands, while no mode is active but forward mode: the batch's rule at once, without asking interpreters.

They do what ``interpreter.py`` does (NOTE [Batched]) where it is plain to see that no other interpreter is concerned, and return
None elsewhere (benchmarks/test_vmap.py).
"""

from __future__ import annotations

from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType
from ..base.grad_mode import dual_levels, special
from ..modes.batched import Batched, wrap_batched
from ..modes.interpreters import Call, FastPath, fast_paths
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .interpreter import batching_rule
from .movements import behind_batch, is_behind
from .tensors import Batch, exposed, levels_of

__all__ = ["fast_batched", "known_batched"]

PLAIN = frozenset((int, float, bool, complex, type(None), str, DType, Layout))


def known_batched(op: Any, operands: tuple) -> Any:
    """The result of an elementwise call before it is looked at; None where it must be, or interpreters must be asked.

    What a call makes of its operands first, as numbers that are stored in integers, the call of the values does.
    """
    if special != dual_levels or op.kind != "elementwise":
        return None
    return batched_elementwise(op, operands)


def fast_batched(op: Any, operands: tuple, attributes: dict | None) -> Any:
    """The result of a call with a batched operand; None where the interpreters must look."""
    if special != dual_levels:
        return None
    if attributes is None:
        return batched_elementwise(op, operands)
    return batched_movement(op, operands, attributes) if op.kind == "movement" else batched_general(op, operands, attributes)


def batched_elementwise(op: Any, operands: tuple) -> Any:
    """Operands of the same levels, dimensions, device and dtype, beside numbers and tensors of fewer dimensions: they broadcast."""
    levels, shown, most, dtype, device, values = None, -1, 0, None, None, []
    for name, x in zip(op.operands, operands):
        if not isinstance(x, Tensor):
            if type(x) not in PLAIN:
                return None
            values.append(x)
            continue
        layout = x.layout
        if device is None:
            device = layout.device
        elif layout.device is not device:
            return None
        if type(x) is Batched:
            if levels is None:
                levels, shown = x._levels_, layout.ndim
            elif (x._levels_ is not levels and x._levels_ != levels) or layout.ndim != shown:
                return None
            values.append(x._value_)
        elif layout.special:
            return None
        else:
            values.append(x)
        if layout.ndim > most:
            most = layout.ndim
        if name not in op.boolean:
            if dtype is None:
                dtype = layout.dtype
            elif layout.dtype is not dtype:
                return None
    if levels is None or most != shown or not are_open(levels):
        return None
    if dual_levels and any(isinstance(x, Tensor) and x._meta_ is not None and exposed(x, levels) is not x for x in operands):
        return None
    return wrap_batched(CALLS[op.name](*values), levels)


def are_open(levels: tuple) -> bool:
    """Whether tensors that depend on them may be used."""
    for level in levels:
        if not level.open:
            return False
    return True


def batched_movement(op: Any, operands: tuple, attributes: dict) -> Any:
    """The same movement behind the batch."""
    (x,) = operands
    values = tuple(attributes.values())
    if type(x) is not Batched or is_behind(op) or not are_open(x._levels_) or not all(map(is_ordinary, values)):
        return None
    if dual_levels and x._meta_ is not None and exposed(x, x._levels_) is not x:
        return None
    made = behind_batch(op)(x._value_, len(x._levels_), *values)
    return tuple([wrap_batched(each, x._levels_) for each in made]) if type(made) is tuple else wrap_batched(made, x._levels_)


def batched_general(op: Any, operands: tuple, attributes: dict) -> Any:
    """The rule of the operation or of its kind."""
    values = (*operands, *attributes.values())
    for x in values:
        if type(x) is not Batched and not is_ordinary(x):
            return None
    batch = Batch(levels_of(values))
    call = Call(op, operands, attributes, CALLS[op.name].plain)
    if dual_levels:
        call = call.with_operands(call.map(lambda x: exposed(x, batch.levels)))
    return batching_rule(op)(call, batch)


def is_ordinary(x: Any) -> bool:
    """Whether an argument is of no concern to any interpreter."""
    kind = type(x)
    if kind in PLAIN:
        return True
    if kind is tuple or kind is list:
        return {*map(type, x)} <= PLAIN
    return isinstance(x, Tensor) and not x.layout.special


fast_paths[Batched] = FastPath(known_batched, fast_batched)
