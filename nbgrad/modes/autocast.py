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
from ..base.locks import new_lock
from ..graph.edges import requires_grad
from ..graph.task import state as pass_state
from ..ops.precision import PRECISION
from ..tensors.tensor import Tensor
from .interpreters import Call, Presence, register

__all__ = ["Casts", "Region", "casting", "casts", "kept"]


class Region:
    """What a thread converts to.

    Attributes:
        dtypes: of each device, the region's; enabled: of each, whether it is converted to.
        caching: whether conversions of leaves are kept.
        task: the backward pass in which the region was entered; None outside of any.
    """

    __slots__ = ("dtypes", "enabled", "caching", "task")

    def __init__(self, dtypes: dict[str, DType], enabled: dict[str, bool], caching: bool = True, task: Any = None):
        self.dtypes, self.enabled, self.caching, self.task = dtypes, enabled, caching, task

    @property
    def is_on(self) -> bool:
        """Whether anything is converted."""
        return True in self.enabled.values()

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


class CastingPresence(Presence):
    """The one member of ``special`` for all threads in a region.

    Attributes:
        rank: of the interpreter that is asked because of it, if no other is.
    """

    rank = "casting"

    def __init__(self) -> None:
        self.count, self.lock = 0, new_lock()

    def enter(self) -> None:
        """A thread enters its outermost region."""
        with self.lock:
            self.count += 1
            if self.count == 1:
                special.append(self)

    def leave(self) -> None:
        """A thread leaves it."""
        with self.lock:
            self.count -= 1
            if self.count == 0:
                special.remove(self)

    def convert(self, op: str, tensors: tuple) -> tuple:
        """See ``converted_in_modes``."""
        word, device = word_of(PRECISION[op], [x for x in tensors if x is not None])
        if not word:
            return tensors
        eligible = [x for x in tensors if x is not None and is_eligible(x, device)]
        dtype = dtype_for(word, eligible, device)
        return tuple([converted(x, dtype) if any(x is each for each in eligible) else x for x in tensors])


presence = CastingPresence()
casting = Casting()
# What holds beneath a call that was converted: a product of half types is one of float32, for instance.
OUTSIDE = casting.region


def is_eligible(x: Tensor, device: str) -> bool:
    """Whether a tensor is converted at all."""
    dtype = x.layout.dtype
    return dtype.is_floating_point and dtype is not float64 and x.device.type == device


def converted(x: Tensor, dtype: DType) -> Tensor:
    """A tensor in that dtype: NOTE [Casts]."""
    if x.layout.dtype is dtype:
        return x
    alone = len(special) == 1 and not mode.transforms  # to another mode or transform a leaf may be another tensor in the next call
    if not (casting.region.caching and alone and x.layout.dtype is float32 and x.is_leaf and requires_grad(x)):
        return CALLS["to_dtype"](x, dtype)
    key, version = (id(x), dtype, mode.enabled), x._storage_.version
    found = casting.cache.get(key)
    if found is None or found[1] != version:
        found = casting.cache[key] = x, version, CALLS["to_dtype"](x, dtype)
    return found[2]


def dtype_for(word: str, tensors: list[Tensor], device: str) -> DType:
    """The dtype that eligible tensors are converted to."""
    if word == "single" or word == "widest" and any(x.layout.dtype is float32 for x in tensors):
        return float32
    return casting.region.dtypes[device]


class Casts:
    """The interpreter of NOTE [Casts]."""

    def concerns(self, call: Call) -> bool:
        """Calls of operations of the lists, out of place, in a region that was entered here."""
        region = casting.region
        return region.is_on and region.task is pass_state.task and not call.form and call.op.name in PRECISION

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Convert the operands."""
        tensors = list(call.tensors())
        device = tensors[0].device.type if tensors else "cpu"
        word = PRECISION[call.op.name][device] if casting.region.enabled.get(device) else ""
        if not word or call.attributes.get("dtype") is not None:
            return below(call)
        if word == "refused":
            raise NotSupportedError(
                "binary_cross_entropy: refused inside of autocast: probabilities of half types are too near 0 and 1. "
                "Hint: binary_cross_entropy_with_logits, or autocast(enabled=False) around it with float32."
            )
        dtype = dtype_for(word, [x for x in tensors if is_eligible(x, device)], device)
        call = call.with_operands(call.map(lambda x: converted(x, dtype) if is_eligible(x, device) else x))
        region, casting.region = casting.region, OUTSIDE
        try:
            return below(call)
        finally:
            casting.region = region


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
    return converted(x, dtype_for(word, [x], device)) if word and is_eligible(x, device) else x


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
    eligible = [] if word == "plain" else [x for x in tensors if is_eligible(x, device)]
    dtype = dtype_for(word, eligible, device)

    def cast(x: Any) -> Any:
        return converted(x, dtype) if any(x is each for each in eligible) else x

    args, kwargs = tuple(map(cast, args)), {name: cast(x) for name, x in kwargs.items()}
    region, casting.region = casting.region, OUTSIDE
    try:
        return function(*args, **kwargs)
    finally:
        casting.region = region


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
