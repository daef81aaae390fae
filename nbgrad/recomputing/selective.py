"""Selective checkpointing: a policy says, by operation, which results of a checkpointed function are kept after all.

NOTE [Kept results]: of the first run the results that the policy names are kept, in the order of each operation's calls. In the
second run such a call launches nothing: it is recorded with the kept result, so that the tensors it saves come in the same order.
Calls made by other calls belong to those, and are not asked about. Views are always made anew: they cost nothing.
"""

from __future__ import annotations

import threading
from enum import Enum
from typing import Any, Callable, ContextManager, Iterable

from ..base.errors import ArgumentError, GradError, RangeError
from ..base.grad_mode import special
from ..dispatch.records import recorded
from ..modes.interpreters import Call, Presence, register
from ..ops.core import OPS, Movement
from ..tensors.tensor import Tensor, native

__all__ = ["CheckpointPolicy", "SAC_IGNORED_OPS", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(Enum):
    """Whether an operation's result is kept for the second run or computed again.

    ``MUST_`` and ``PREFER_`` mean the same here; so do ``SAVE`` and ``CPU_OFFLOAD``, since all memory is the CPU's.

    >>> from nbgrad import CheckpointPolicy
    >>> def keep_products(ctx, operation, *args, **kwargs):
    ...     return CheckpointPolicy.MUST_SAVE if operation is nbgrad.matmul else CheckpointPolicy.PREFER_RECOMPUTE
    >>> x = nbgrad.ones(2, 2, requires_grad=True)
    >>> y = nbgrad.checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False,
    ...     context_fn=lambda: nbgrad.create_selective_checkpoint_contexts(keep_products))
    >>> nbgrad.grad(y.sum(), x)[0].shape
    nbgrad.Size([2, 2])
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


KEPT = (
    CheckpointPolicy.MUST_SAVE,
    CheckpointPolicy.PREFER_SAVE,
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
)

# Operations whose results are never kept: see NOTE [Kept results].
SAC_IGNORED_OPS = frozenset(name for name, op in OPS.items() if isinstance(op, Movement))


class SelectiveCheckpointContext:
    """What a policy gets to know beside the call.

    Attributes:
        is_recompute: False: policies are asked in the first run only.
        op_output: the call's result.

    >>> def policy(ctx, operation, *args, **kwargs):
    ...     large = ctx.op_output.numel() > 1000
    ...     return nbgrad.CheckpointPolicy.PREFER_RECOMPUTE if large else nbgrad.CheckpointPolicy.MUST_SAVE
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> y = nbgrad.checkpoint(nbgrad.exp, x, use_reentrant=False,
    ...     context_fn=lambda: nbgrad.create_selective_checkpoint_contexts(policy))
    >>> nbgrad.grad(y.sum(), x)
    (tensor([2.7183, 2.7183]),)
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output


class KeptResult:
    """The kept result of one call, with the versions that its tensors had."""

    __slots__ = ("results", "many", "versions")

    def __init__(self, out: Any):
        self.many = isinstance(out, tuple)
        self.results: list | None = [native.alias(x) if isinstance(x, Tensor) else x for x in (out if self.many else (out,))]
        self.versions = [x._storage_.version if isinstance(x, Tensor) else None for x in self.results]

    def take(self, name: str, allow_mutation: bool) -> Any:
        """The result; it is not kept longer.

        Raises:
            GradError: it has been taken, or written to.
        """
        results, self.results = self.results, None
        if results is None:
            raise GradError(
                f"checkpoint: backward an extra time: the kept result of {name} was used by an earlier pass. Hint: a "
                "region under selective checkpointing can be walked once."
            )
        if not allow_mutation and any(
            isinstance(x, Tensor) and x._storage_.version != version for x, version in zip(results, self.versions)
        ):
            raise GradError(
                f"checkpoint: the kept result of {name} has been mutated in place. Hint: clone it in the function, or "
                "pass allow_cache_entry_mutation=True."
            )
        return tuple(results) if self.many else results[0]


class SelectiveRun(Presence):
    """One run of the function: a context that sees this thread's calls while it is active.

    Args:
        kept: ``{operation: its calls' results in order, None where not kept}``; filled by the first run, read by the second.
    """

    def __init__(self, kept: dict[str, list[KeptResult | None]]):
        self.kept = kept

    def __enter__(self) -> SelectiveRun:
        self.outer, active.run = active.run, self
        special.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        special.remove(self)
        active.run = self.outer

    def call(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """One call of the function."""
        raise NotImplementedError


class FirstRun(SelectiveRun):
    """Asks the policy, and keeps."""

    def __init__(self, kept: dict[str, list[KeptResult | None]], policy: Callable):
        super().__init__(kept)
        self.policy = policy

    def call(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Compute, and keep what the policy says."""
        out = below(call)
        wanted = self.policy(
            SelectiveCheckpointContext(is_recompute=False, op_output=out), call.name, *call.operands, **call.attributes
        )
        keeps = keeps_result(wanted) and not call.form and call.op.name not in SAC_IGNORED_OPS
        self.kept.setdefault(call.name, []).append(KeptResult(out) if keeps else None)
        return out


class SecondRun(SelectiveRun):
    """Puts kept results in the place of calls."""

    def __init__(self, kept: dict[str, list[KeptResult | None]], allow_mutation: bool):
        super().__init__(kept)
        self.allow_mutation = allow_mutation

    def __enter__(self) -> SelectiveRun:
        self.calls: dict[str, int] = {}
        return super().__enter__()

    def call(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """The kept result, recorded as the call's; else the call."""
        place = self.calls.get(call.name, 0)
        self.calls[call.name] = place + 1
        entries = self.kept.get(call.name, ())
        entry = entries[place] if place < len(entries) else None
        if entry is None:
            return below(call)
        out = entry.take(call.name, self.allow_mutation)
        op = call.op
        return below(Call(op, call.operands, call.attributes, lambda *operands, **given: recorded(op, operands, given, out)))


def keeps_result(policy: Any) -> bool:
    """Whether what a policy returned means to keep.

    Raises:
        ArgumentError: neither a CheckpointPolicy nor a bool.
    """
    if not isinstance(policy, (CheckpointPolicy, bool)):
        raise ArgumentError(f"selective checkpoint: the policy returned {policy!r}, expected a CheckpointPolicy or a bool.")
    return policy is True or policy in KEPT


class _Active(threading.local):
    run: SelectiveRun | None = None


active = _Active()


class Selection:
    """The interpreter of NOTE [Kept results]."""

    def concerns(self, call: Call) -> bool:
        """Calls of a function that is run selectively; of custom Functions, the calls inside."""
        return active.run is not None and call.op.kind != "function"

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Ask the run; calls inside of this one are not seen."""
        run, active.run = active.run, None
        try:
            return run.call(call, below)  # type: ignore[union-attr]
        finally:
            active.run = run


register("selection", Selection())


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable | Iterable, allow_cache_entry_mutation: bool = False
) -> tuple[ContextManager, ContextManager]:
    """The two contexts with which ``checkpoint`` keeps some results of the function: for its ``context_fn``.

    Args:
        policy_fn_or_list: a policy ``f(ctx, op, *operands, **attributes) -> CheckpointPolicy`` that is asked after each call, with
            the operation's name (``"matmul"``; ``"add_"`` for a write in place); or names, or functions, of the operations to keep.
        allow_cache_entry_mutation: do not refuse kept results that were written to.

    Returns:
        Two contexts for one checkpointed call; make a pair for each, as by ``functools.partial``.

    Raises:
        ArgumentError: neither a policy nor a list. RangeError: the list names no operation.

    >>> import nbgrad, functools
    >>> keep = functools.partial(nbgrad.create_selective_checkpoint_contexts, ["matmul"])
    >>> x = nbgrad.ones(2, 2, requires_grad=True)
    >>> y = nbgrad.checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep)
    >>> y.sum().backward()      # runs exp again, not the product
    """
    policy = policy_of(policy_fn_or_list)
    kept: dict[str, list[KeptResult | None]] = {}
    return FirstRun(kept, policy), SecondRun(kept, allow_cache_entry_mutation)


def policy_of(given: Callable | Iterable) -> Callable:
    """A policy, or the one that keeps the results of the operations of a list."""
    if isinstance(given, (list, tuple, set, frozenset)):
        names = {operation_name(entry) for entry in given}
        return lambda ctx, op, *operands, **attributes: op in names
    if not callable(given):
        raise ArgumentError(
            f"create_selective_checkpoint_contexts: expected a policy function or a list of operations, got {type(given).__name__}."
        )
    return given


def operation_name(entry: Any) -> str:
    """An operation by its name, or by its function."""
    name = entry if isinstance(entry, str) else getattr(entry, "__name__", None)
    if name not in OPS:
        raise RangeError(
            f"create_selective_checkpoint_contexts: {entry!r} is no operation. Hint: names as 'matmul', or functions "
            "as nbgrad.matmul."
        )
    return name
