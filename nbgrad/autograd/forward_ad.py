"""Forward mode: derivatives along a direction, computed with the values.

A *dual* tensor is a tensor with a tangent. What is computed from it is dual too: its tangent is the derivative along the direction.

>>> import nbgrad
>>> x, direction = nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([1.0, 0.0])
>>> with nbgrad.forward_ad.dual_level():
...     dual = nbgrad.forward_ad.make_dual(x, direction)
...     nbgrad.forward_ad.unpack_dual(dual * dual).tangent
tensor([2., 0.])
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..base.calls import CALLS
from ..base.errors import ArgumentError, DeviceError, GradError, RangeError, ShapeError
from ..base.grad_mode import dual_levels, mode
from ..base.locks import new_lock
from ..base.mode_contexts import ModeContext
from ..batch.tensors import has_batched, on_values
from ..dispatch.out import write_out
from ..forward import fast_path as _dual_calls  # noqa: F401  (registers its quick call)
from ..forward.rules import Tangents, all_tangents, needed_values, tangents_of_call
from ..forward.tangents import (
    are_tangents_seen,
    below_level,
    fitted,
    give,
    hold,
    node_of,
    pop_level,
    push_level,
    set_tangents_seen,
    share_memory,
    share_with_overwritten,
    sight,
    tangent_of,
    visible_levels,
    write_tangent,
)
from ..graph.edges import requires_grad
from ..graph.saved import tensors_in
from ..modes.interpreters import Call, register
from ..tensors.batch_levels import open_levels
from ..tensors.overlap import overlapping
from ..tensors.tensor import Tensor
from .function_context import function_tangents

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns.

    Attributes:
        primal: the value, a view of the tensor without the tangent.
        tangent: the tangent itself, or None.

    >>> with nbgrad.forward_ad.dual_level():
    ...     primal, tangent = nbgrad.forward_ad.unpack_dual(nbgrad.ones(2))
    >>> primal, tangent
    (tensor([1., 1.]), None)
    """

    primal: Tensor
    tangent: Tensor | None


# ---- levels --------------------------------------------------------------------------------------------------------

_current_level = -1  # the level that the functions below use, -1: none; torch's name
_entering = new_lock()


def enter_dual_level() -> int:
    """Open the level in which tensors can be dual; returns its number, 0 unless another thread's ``func.jvp`` has taken that.
    There is one for the whole process.

    Raises:
        GradError: it is open, or this is called inside of ``func.jvp`` and its like.

    >>> level = nbgrad.forward_ad.enter_dual_level()
    >>> nbgrad.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    with _entering:
        if _current_level >= 0 or any(type(transform) is int for transform in mode.transforms):
            raise GradError(
                "enter_dual_level: a level is open already, and levels do not nest. Hint: nbgrad.func.jvp can be nested."
            )
        _current_level = push_level()
        return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level: its tangents are gone.

    Raises:
        GradError: none is open, or ``level`` is another.

    >>> level = nbgrad.forward_ad.enter_dual_level()
    >>> nbgrad.forward_ad.exit_dual_level(level=level)
    """
    global _current_level
    level = _current_level if level is None else level
    if level < 0 or level != _current_level:
        raise GradError(f"exit_dual_level: level {level} is not the one entered last, which is {_current_level} (-1: none).")
    _current_level = -1
    pop_level(level)


class dual_level(ModeContext):  # torch's name
    """The block in which tensors can be dual; at its end tangents are gone. A context manager and a decorator.

    Raises:
        GradError: on entering, if a level is open.

    >>> from nbgrad import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(nbgrad.tensor(3.0), nbgrad.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


_is_fwd_grad_enabled = are_tangents_seen  # torch's name


class _set_fwd_grad_enabled(ModeContext):  # torch's name
    """Whether this thread sees tangents: at once, and until the end of the block if used as a context manager."""

    def __init__(self, mode: bool):
        self.mode = mode
        self.before = sight.below
        set_tangents_seen(mode)

    def __enter__(self):
        return self

    def __exit__(self, *error: object) -> None:
        sight.below = self.before

    def clone(self):
        """A fresh context of the same meaning."""
        return type(self)(self.mode)


# ---- dual tensors --------------------------------------------------------------------------------------------------


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A dual tensor: a view of ``tensor`` with a tangent.

    Args:
        tensor: the value, floating or complex.
        tangent: of the same shape. It is taken as it is where it lies in memory as the value does, otherwise copied, as one that
            shares memory with the value is; it may require grad, as the value may.
        level: the level to use; None: the one that is open.

    Raises:
        GradError: no level is open, or one of the two is dual already. ShapeError, DeviceError: of different shapes or devices.
        ArgumentError: no tensors. RangeError: of integers or bools.

    >>> with nbgrad.forward_ad.dual_level():
    ...     x = nbgrad.forward_ad.make_dual(nbgrad.tensor([0.0, 1.0]), nbgrad.tensor([1.0, 1.0]))
    ...     nbgrad.forward_ad.unpack_dual(x.exp()).tangent
    tensor([1.0000, 2.7183])
    """
    level = _current_level if level is None else level
    if level < 0:
        raise GradError("make_dual: no level is open. Hint: with nbgrad.forward_ad.dual_level(): ...")
    check_dual("primal", tensor, level)
    check_dual("tangent", tangent, level)
    if tensor.shape != tangent.shape:
        raise ShapeError(f"make_dual: the tangent has shape {list(tangent.shape)}, expected the primal's, {list(tensor.shape)}.")
    if tensor.device is not tangent.device:
        raise DeviceError(f"make_dual: the primal is on {tensor.device}, the tangent on {tangent.device}. Hint: x.to(device).")
    if open_levels and has_batched((tensor,)):
        return on_values(make_dual, tensor, tangent, level=level)
    dual = below_level(level, CALLS["primal"], tensor)
    if share_memory(tangent, tensor):
        tangent = below_level(level, CALLS["clone"], tangent)
    hold(dual, level, below_level(level, fitted, tangent, dual))
    return dual


def check_dual(what: str, x: Any, level: int) -> None:
    """Refuse what cannot be part of a dual tensor."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"make_dual: the {what} must be a Tensor, got {type(x).__name__}. Hint: nbgrad.tensor(x).")
    if not x.dtype.differentiable:
        raise RangeError(f"make_dual: expected a floating or complex {what}, got {x.dtype.name}. Hint: x.to(nbgrad.float32).")
    if tangent_of(x, level) is not None:
        raise GradError(f"make_dual: the {what} has a tangent at level {level} already. Hint: unpack_dual(x).primal has none.")


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; the tangent is None if it has none.

    Args:
        tensor: dual or not.
        level: the level to look at; None: the one that is open. Outside of levels no tensor is dual.

    Raises:
        ArgumentError: no tensor. GradError: the level is not open.

    >>> with nbgrad.forward_ad.dual_level():
    ...     nbgrad.forward_ad.unpack_dual(nbgrad.ones(2)).tangent is None
    True
    """
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"unpack_dual: expected a Tensor, got {type(tensor).__name__}.")
    if open_levels and has_batched((tensor,)):
        return UnpackedDualTensor(*on_values(unpack_dual, tensor, level=level))
    seen = level in visible_levels()
    return UnpackedDualTensor(below_level(level, CALLS["primal"], tensor), tangent_of(tensor, level) if seen else None)


# ---- the interpreter -----------------------------------------------------------------------------------------------


class Forward:
    """The interpreter of rank "tangents": see NOTE [Levels] in forward/tangents.py."""

    def concerns(self, call: Call) -> bool:
        """Calls with an operand that may be dual; ``run`` looks closer."""
        return bool(dual_levels) and any(x._meta_ is not None for x in call.tensors())

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The call on the values; then the tangents of its results, level by level."""
        levels = dual_levels_of(call)
        if not levels:
            return below(call)
        if call.form == "out":
            return write_out(call.op.public, lambda: CALLS[call.op.name](*call.operands), call.out)
        if call.op.kind == "function":
            return run_dual(call, below, levels)
        return (in_place if call.form == "_" else out_of_place)(call, below, levels)


def dual_levels_of(call: Call) -> list[int]:
    """The visible levels at which an operand is dual, outermost first."""
    found = []
    for level in visible_levels():
        for x in call.tensors():
            if x._meta_ is not None and tangent_of(x, level) is not None:
                found.append(level)
                break
    return found


def operand_tangents(call: Call, level: int) -> Tangents:
    """The tangents of the operands that have one, by name."""
    found: Tangents = {}
    for name, x in zip(call.op.operands, call.operands):
        if isinstance(x, Tensor):
            t: Any = tangent_of(x, level)
        elif isinstance(x, (tuple, list)):
            t = tuple(tangent_of(each, level) if isinstance(each, Tensor) else None for each in x)
            t = None if all(each is None for each in t) else t
        else:
            t = None
        if t is not None:
            found[name] = t
    return found


def out_of_place(call: Call, below: Callable[[Call], Any], levels: list[int]) -> Any:
    """A call that returns new tensors."""
    result = below_level(0, below, call)
    results = result if isinstance(result, (tuple, list)) else (result,)
    for level in levels:
        tangents = operand_tangents(call, level)
        made = below_level(level, tangents_of_call, call, tangents, result)
        for x, t in zip(results, made):
            if t is None:
                continue
            if call.op.kind == "movement":
                hold(x, level, t)
            else:
                below_level(level, give, x, level, t, all_tangents(tangents))
    return result


def in_place(call: Call, below: Callable[[Call], Any], levels: list[int]) -> Any:
    """A call that writes to its first operand."""
    x, own, node = call.operands[0], call.op.operands[0], node_of(call.operands[0])[0]
    tangents = {level: operand_tangents(call, level) for level in levels}
    names = {name: None for found in tangents.values() for name in found}
    values = below_level(max(tangents), values_before, call, needed_values(call.op, tuple(names)))
    if mode.enabled and any(map(requires_grad, tensors_in((call.operands, *map(all_tangents, tangents.values()))))):
        tangents = {level: below_level(level, tangents_before, found, found.get(own)) for level, found in tangents.items()}
    result = below_level(0, below, call)
    if node_of(x)[0] is not node:
        share_with_overwritten(x, own, {level: found[own] for level, found in tangents.items() if own in found})
    if x.layout.dtype.differentiable:
        for level, found in tangents.items():
            made = below_level(level, tangents_of_call, values, found, x)
            below_level(level, write_tangent, x, level, made[0])
    return result


def values_before(call: Call, needed: set[str]) -> Call:
    """The call with copies of the operands that it overwrites and whose values are needed later."""
    written = call.operands[0]
    kept = tuple(
        CALLS["clone"](x) if name in needed and isinstance(x, Tensor) and overlapping(written, x) else x
        for name, x in zip(call.op.operands, call.operands)
    )
    return call.with_operands(kept)


def tangents_before(tangents: Tangents, written: Tensor | None) -> Tangents:
    """The tangents with copies of those that will be overwritten: a graph may save them."""

    def is_overwritten(t: Any) -> bool:
        return written is not None and isinstance(t, Tensor) and share_memory(t, written)

    return {name: CALLS["clone"](t) if is_overwritten(t) else t for name, t in tangents.items()}


def run_dual(call: Any, below: Callable[[Call], Any], levels: list[int]) -> Any:
    """A call of a custom Function: ``forward`` sees no tangents, ``jvp`` computes those of the results.

    Raises:
        GradError: ``jvp`` returned what cannot be the tangent of a result: see ``shares``.
    """
    result = below_level(0, below, call)
    results = result if isinstance(result, tuple) else (result,)
    for level in levels:
        tangents = tuple(tangent_of(x, level) if isinstance(x, Tensor) else None for x in call.operands)
        versions = tuple(None if t is None else t._storage_.version for t in tangents)
        made = below_level(level, function_tangents, call.ctx, call.operands, results, tangents)
        for k, (x, t) in enumerate(zip(results, made)):
            if isinstance(x, Tensor) and x.layout.dtype.differentiable and k not in call.ctx.non_differentiable:
                shared = shares(call, x, t, tangents, versions)
                if t is not None:
                    below_level(level, give, x, level, t, () if shared else tangents)
    return result


def shares(call: Call, x: Tensor, tangent: Tensor | None, tangents: tuple, versions: tuple) -> bool:
    """Whether a result shares memory with an argument; its tangent must then share that of the argument's tangent.

    Args:
        tangents, versions: of the arguments, and of those tangents before ``jvp`` ran.

    Raises:
        GradError: it does not; or an argument that ``forward`` wrote to has a tangent that ``jvp`` did not write to.
    """
    for operand, own, version in zip(call.operands, tangents, versions):
        if not isinstance(operand, Tensor) or own is None or not share_memory(operand, x):
            continue
        if operand is x and (tangent is None or tangent is not own or own._storage_.version == version):
            came = "None" if tangent is None else "it unchanged" if tangent is own else "another tensor"
            raise GradError(
                f"{call.op.name}: forward changed an argument in place, so jvp must change its tangent in place and "
                f"return it; it returned {came}. Hint: tangent.mul_(factor)."
            )
        if operand is not x and (tangent is None or (tangent is own and own._base is None) or not share_memory(tangent, own)):
            came = "None" if tangent is None else "the tangent itself" if tangent is own else "another tensor"
            raise GradError(
                f"{call.op.name}: forward returned a view of an argument, or the argument itself, so jvp must return "
                f"the same view of its tangent; it returned {came}. Hint: tangent.view_as(tangent)."
            )
        return True
    return False


register("tangents", Forward())
