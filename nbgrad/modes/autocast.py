"""Mixed precision: the interpreter that converts the operands of calls inside of ``autocast``.

NOTE [Casts]: what a call is converted to is said by the operation's name and the device (ops/precision.py), and by nothing else.
  1. floating tensors of the region's device are converted, of float64 none, of other forms than ``f(x)`` (in place, ``out=``) none;
  2. a leaf of float32 that requires grad is converted once in the outermost region, unless it was written to meanwhile: all uses
     share that conversion, so that its gradient is summed in the low precision, as in torch;
  3. a region holds where it was entered: a backward pass inside of it computes in the dtypes that the forward had, and what it runs
     again (checkpoints) enters the region anew.
The conversions are calls: recorded, mapped, captured like those that a program writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..base.calls import CALLS
from ..base.dtypes import DType, bfloat16, float16, float32, float64
from ..base.errors import NotSupportedError
from ..base.grad_mode import mode, special
from ..base.mode_contexts import Inferring
from ..graph.edges import requires_grad
from ..graph.task import state as pass_state
from ..ops.precision import PRECISION
from ..tensors.tensor import Tensor
from .interpreters import Call, register

__all__ = ["Casts", "Region", "casting", "casts", "kept"]


class Region:
    """What a thread converts to.

    Attributes:
        dtypes: of each device, the region's; enabled: of each, whether it is converted to.
        is_on: whether anything is converted; caching: whether conversions of leaves are kept.
        task: the backward pass in which the region was entered; None outside of any.
    """

    __slots__ = ("dtypes", "enabled", "caching", "task", "is_on")

    def __init__(self, dtypes: dict[str, DType], enabled: dict[str, bool], caching: bool = True, task: Any = None):
        self.dtypes, self.enabled, self.caching, self.task = dtypes, enabled, caching, task
        self.is_on = True in enabled.values()

    def key(self) -> tuple:
        """What conversions depend on."""
        return (*self.dtypes.values(), *self.enabled.values(), self.caching)

    def with_device(self, device: str, dtype: DType, enabled: bool, caching: bool) -> Region:
        """The same but for one device, entered now."""
        return Region({**self.dtypes, device: dtype}, {**self.enabled, device: enabled}, caching, pass_state.task)


class Casting(threading.local):
    """The region of a thread.

    Attributes:
        region: the innermost one; depth: how many are entered.
        cache: conversions of leaves, by their identity, dtype and whether they are recorded: the leaf, its version, the result.
    """

    def __init__(self) -> None:
        self.region = Region({"cpu": bfloat16, "cuda": float16}, {"cpu": False, "cuda": False})
        self.depth = 0
        self.cache: dict[Any, tuple[Tensor, int, Tensor]] = {}

    def enter(self, region: Region) -> Region:
        """Let another region hold; returns the one before."""
        before, self.region = self.region, region
        if region.is_on is not before.is_on:
            (presence.enter if region.is_on else presence.leave)()
        return before


class CastingPresence(Inferring):
    """The one member of ``special`` for all threads in a region, as that of inference mode is for threads in the mode."""

    rank = "casting"

    def convert(self, op: str, tensors: tuple) -> tuple:
        """See ``converted_in_modes``."""
        given = [x for x in tensors if x is not None]
        word, device = word_of(PRECISION[op], given)
        return tuple(map(conversion(word, device, given), tensors)) if word else tensors


presence = CastingPresence()
casting = Casting()
# What holds beneath a call that was converted: a product of half types is one of float32, for instance.
OUTSIDE = casting.region


def is_eligible(x: Any, device: str) -> bool:
    """Whether an operand is a tensor that is converted at all."""
    if not isinstance(x, Tensor):
        return False
    dtype = x.layout.dtype
    return dtype.is_floating_point and dtype is not float64 and x.device.type == device


def converted(x: Tensor, dtype: DType, region: Region) -> Tensor:
    """A tensor in that dtype: NOTE [Casts]."""
    if x.layout.dtype is dtype:
        return x
    # To another mode or transform a leaf may be another tensor in the next call.
    alone = not mode.transforms and all(active is presence or getattr(active, "looks_on", False) for active in special[:])
    if not (region.caching and alone and x.layout.dtype is float32 and x.is_leaf and requires_grad(x)):
        return CALLS["to_dtype"](x, dtype)
    key, version = (id(x), dtype, mode.enabled), x._storage_.version
    found = casting.cache.get(key)
    if found is None or found[1] != version:
        found = casting.cache[key] = x, version, CALLS["to_dtype"](x, dtype)
    return found[2]


def conversion(word: str, device: str, tensors: list[Tensor]) -> Callable[[Any], Any]:
    """What becomes of each operand of a call with these tensors: of eligible ones, a tensor of the dtype that ``word`` says."""
    region = casting.region
    single = word == "single" or word == "widest" and any(x.layout.dtype is float32 for x in tensors if is_eligible(x, device))
    dtype = float32 if single else region.dtypes[device]
    return lambda x: converted(x, dtype, region) if is_eligible(x, device) else x


def may_convert(name: str) -> bool:
    """Whether an operation is of the lists, and this thread in a region that was entered here."""
    region = casting.region
    return region.is_on and region.task is pass_state.task and name in PRECISION


def conversion_for(name: str, tensors: list[Tensor], attributes: dict | None) -> Callable[[Any], Any] | None:
    """What becomes of each operand of a call that may be converted; None where nothing does.

    Raises:
        NotSupportedError: the call is refused in such a region.
    """
    word, device = word_of(PRECISION[name], tensors)
    if not word or attributes and attributes.get("dtype") is not None:
        return None
    if word == "refused":
        raise NotSupportedError(
            "binary_cross_entropy: refused inside of autocast: probabilities of half types are too near 0 and 1. "
            "Hint: binary_cross_entropy_with_logits, or autocast(enabled=False) around it with float32."
        )
    return conversion(word, device, tensors)


class Casts:
    """The interpreter of NOTE [Casts]."""

    def concerns(self, call: Call) -> bool:
        """Calls of operations of the lists, out of place, in a region that was entered here."""
        return not call.form and may_convert(call.op.name)

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Convert the operands."""
        cast = conversion_for(call.op.name, list(call.tensors()), call.attributes)
        if cast is None:
            return below(call)
        region = casting.enter(OUTSIDE)  # where no other thread is in one, calls go their quick way again
        try:
            operands = call.map(cast)
            usual = CALLS[call.op.name]
            if not special and not call.marked and call.plain == getattr(usual, "plain", None):
                return usual(*operands, **call.attributes)
            return below(call.with_operands(operands))
        finally:
            casting.enter(region)


register("casting", Casts())


# ---- whole functions ---------------------------------------------------------------------------------------------------


def word_of(words: dict[str, str], tensors: list[Tensor]) -> tuple[str, str]:
    """What is done in the region of this thread, if anything, with tensors; and their device."""
    device = tensors[0].device.type if tensors else "cpu"
    region = casting.region
    return (words[device] if region.task is pass_state.task and region.enabled.get(device) else ""), device


def operand(x: Tensor, cpu: str, cuda: str) -> Tensor:
    """The operand of a function that is composed of operations, as it is to be in the region of this thread; see ``casts``."""
    word, device = word_of({"cpu": cpu, "cuda": cuda}, [x])
    return conversion(word, device, [x])(x) if word else x


def casts(cpu: str, cuda: str) -> Callable[[Callable], Callable]:
    """Decorator of a function that is composed of operations: inside of a region its tensors are converted, and nothing within.

    Args:
        cpu, cuda: the words of ops/precision.py; or "plain": nothing is converted, not within either.
    """
    words = {"cpu": cpu, "cuda": cuda}

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return cast_call(function, words, args, kwargs) if special else function(*args, **kwargs)

        return call

    return decorate


def cast_call(function: Callable, words: dict[str, str], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call of such a function where there may be a region."""
    tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
    word, device = word_of(words, tensors)
    if not word:
        return function(*args, **kwargs)
    if word != "plain":
        cast = conversion(word, device, tensors)
        args, kwargs = tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()}
    region = casting.enter(OUTSIDE)
    try:
        return function(*args, **kwargs)
    finally:
        casting.enter(region)


# ---- what runs again later ---------------------------------------------------------------------------------------------


def kept(function: Callable) -> Callable:
    """A function that always runs in the region of now, also where it runs in a backward pass."""
    region = casting.region
    if not region.is_on:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        before = casting.enter(Region(region.dtypes, region.enabled, region.caching, pass_state.task))
        try:
            return function(*args, **kwargs)
        finally:
            casting.enter(before)

    return call
