"""``checkpoint``: what a function saves for backward is dropped, and computed again when a pass needs it.

``use_reentrant=False`` is the design of recomputing/reruns.py. ``use_reentrant=True`` is the older one, a ``Function`` whose
backward records the call anew and starts a pass inside of the running one; it cannot serve ``grad`` or ``backward(inputs=...)``.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any, Callable, ContextManager, Iterable, Iterator

from ..autograd.entry import backward
from ..autograd.function import Function
from ..base.errors import ArgumentError, GradError, RangeError, require_callable
from ..base.grad_mode import mode, special
from ..base.mode_contexts import enable_grad, no_grad
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..graph.task import current_graph_task
from ..tensors.tensor import Tensor
from .log import ExplainedFrame
from .reruns import DETERMINISM_CHECKS, CheckpointError, Frame, GraphExecGroup, saved, streams_of
from .selective import SAC_IGNORED_OPS, CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SAC_IGNORED_OPS",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = Callable[[], "tuple[ContextManager, ContextManager]"]


# ---- settings ------------------------------------------------------------------------------------------------------


class CheckpointSettings:
    """What the contexts below set for the whole process; None leaves it to each call."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextlib.contextmanager
def setting(name: str, value: bool | None) -> Iterator[None]:
    """One of the settings for the extent of a ``with`` block."""
    before = getattr(CheckpointSettings, name)
    setattr(CheckpointSettings, name, value)
    try:
        yield
    finally:
        setattr(CheckpointSettings, name, before)


def set_checkpoint_early_stop(enable: bool) -> ContextManager[None]:
    """Inside, calls of ``checkpoint`` recompute to the function's end (False), or stop early (True), whatever they say.

    >>> import nbgrad
    >>> with nbgrad.set_checkpoint_early_stop(False):
    ...     y = nbgrad.checkpoint(nbgrad.exp, nbgrad.ones(2, requires_grad=True), use_reentrant=False)
    """
    return setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> ContextManager[None]:
    """Inside, calls of ``checkpoint`` explain a CheckpointError (True) or do not (False), whatever they say; None: as they say.

    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with nbgrad.set_checkpoint_debug_enabled(True):
    ...     y = nbgrad.checkpoint(nbgrad.sin, x, use_reentrant=False)
    >>> nbgrad.grad(y.sum(), x)
    (tensor([0.5403, 0.5403]),)
    """
    return setting("debug", enabled)


def noop_context_fn() -> tuple[ContextManager, ContextManager]:
    """The ``context_fn`` that does nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# ---- the calls -----------------------------------------------------------------------------------------------------


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which only the inputs are kept for backward: it runs again when a pass needs the rest.

    Args:
        function: what it computes must depend on its arguments, on what it closes over and on random numbers alone.
        args, kwargs: its arguments; keyword arguments with ``use_reentrant=False`` only.
        use_reentrant: which design, see this module. False is the better one: it works with ``grad``, ``backward(inputs=...)``,
            higher orders, and parameters that the function closes over.
        preserve_rng_state: draw the same random numbers again, from the default generator and from those among the arguments.
        context_fn: returns two contexts, entered around the first run and around each recomputation.
        determinism_check: ``"default"``: shapes, dtypes and devices of what both runs save are compared; ``"none"``: only numbers.
        debug: explain a CheckpointError by the operations of both runs.
        early_stop: stop a recomputation as soon as it has saved what is needed.

    Returns:
        What ``function`` returns; values that are no tensors pass through.

    Raises:
        ArgumentError: ``function`` is none.
        RangeError: ``context_fn``, ``debug`` or keyword arguments in the reentrant design; another ``determinism_check``;
            ``debug`` with a ``context_fn``.
        CheckpointError: in backward, if the second run saves other tensors than the first.

    Source: torch.utils.checkpoint; T. Chen et al., Training deep nets with sublinear memory cost, 2016.

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.0, 1.0], requires_grad=True)
    >>> y = nbgrad.checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.0000, 5.4366])
    """
    require_callable("checkpoint", function)
    if use_reentrant is None:
        use_reentrant = unspecified("checkpoint")
    if special:
        from ..modes.autocast import kept

        function = kept(function)
    if use_reentrant:
        if kwargs:
            raise RangeError(
                f"checkpoint: unexpected keyword arguments {sorted(kwargs)}: the reentrant design takes none. "
                "Hint: use_reentrant=False."
            )
        if context_fn is not noop_context_fn or debug:
            raise RangeError("checkpoint: context_fn and debug are supported with use_reentrant=False only.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    require_callable("checkpoint: context_fn", context_fn)
    if determinism_check not in DETERMINISM_CHECKS:
        raise RangeError(f"checkpoint: determinism_check should be one of {list(DETERMINISM_CHECKS)}, got {determinism_check!r}.")
    if not mode.enabled:
        return function(*args, **kwargs)
    debug = debug if CheckpointSettings.debug is None else CheckpointSettings.debug
    if debug and context_fn is not noop_context_fn:
        raise RangeError("checkpoint: debug=True brings a context_fn of its own. Hint: leave one of them out.")
    early_stop = early_stop if CheckpointSettings.early_stop is None else CheckpointSettings.early_stop
    make_frame = partial(ExplainedFrame if debug else Frame, early_stop=early_stop, describe=DETERMINISM_CHECKS[determinism_check])
    return recorded_call(function, args, kwargs, preserve_rng_state, context_fn, make_frame)


def recorded_call(
    function: Callable, args: tuple, kwargs: dict, preserve_rng_state: bool, context_fn: Contexts, make_frame: Callable[..., Frame]
) -> Any:
    """The first run, in the design of saved-tensor hooks."""
    around, around_again = context_fn()
    values = (*args, *kwargs.values())
    streams = streams_of(preserve_rng_state, values)
    given_back, count, names = saved(values), len(args), tuple(kwargs)

    def again(inputs: list) -> None:
        with streams(), around_again:
            function(*inputs[:count], **dict(zip(names, inputs[count:])))

    with make_frame(lambda: partial(again, given_back())).saving(), around:
        return function(*args, **kwargs)


def unspecified(who: str) -> bool:
    """The design where the caller has named none, with a warning."""
    warn_user(
        f"{who}: pass use_reentrant explicitly; without it, it is True. use_reentrant=False is the better choice: it "
        "works with grad(), keyword arguments and nested calls."
    )
    return True


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **unexpected: Any
) -> Any:
    """``functions`` one after the other, checkpointed in ``segments`` parts; the last part is kept as usual.

    Args:
        functions: a sequence of functions of one argument, or a ``nn.Sequential``.
        segments: the number of parts, from 1 to the number of functions.
        input: what the first function gets.
        use_reentrant, preserve_rng_state: as in ``checkpoint``.

    Raises:
        RangeError: ``segments`` is out of range; any other keyword argument. ArgumentError: no sequence; no int.

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.0], requires_grad=True)
    >>> nbgrad.checkpoint_sequential([nbgrad.sin, nbgrad.cos, nbgrad.exp], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([-0.])
    """
    if use_reentrant is None:
        use_reentrant = unspecified("checkpoint_sequential")
    if unexpected:
        raise RangeError(
            f"checkpoint_sequential: unexpected keyword arguments {sorted(unexpected)}; expected use_reentrant and "
            "preserve_rng_state."
        )
    if not isinstance(functions, Iterable):
        raise ArgumentError(f"checkpoint_sequential: expected a sequence of functions, got {type(functions).__name__}.")
    functions = list(functions)
    if not isinstance(segments, int):
        raise ArgumentError(f"checkpoint_sequential: segments must be an int, got {type(segments).__name__}.")
    if not 1 <= segments <= len(functions):
        raise RangeError(f"checkpoint_sequential: expected 1 to {len(functions)} segments for as many functions, got {segments}.")
    size = len(functions) // segments
    split = size * (segments - 1)
    for start in range(0, split, size):
        input = checkpoint(
            partial(composed, functions[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return composed(functions[split:], input)


def composed(functions: list[Callable], x: Any) -> Any:
    """One function after the other."""
    for function in functions:
        x = function(x)
    return x


# ---- the reentrant design ------------------------------------------------------------------------------------------


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad: the reentrant design would give none to what the function closes over either."""
    if not any(isinstance(x, Tensor) and requires_grad(x) for x in inputs):
        warn_user("checkpoint: none of the inputs require grad, so the gradients will be None. Hint: use_reentrant=False.")


def detach_variable(inputs: tuple) -> tuple:
    """The tensors of a tuple without history, each requiring grad as before; other values as they are.

    Raises:
        GradError: no tuple.

    >>> from nbgrad.utils.checkpoint import detach_variable
    >>> x = nbgrad.ones(2, requires_grad=True) * 2
    >>> detach_variable((x, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise GradError(f"detach_variable: expected a tuple, got {type(inputs).__name__}.")
    return tuple(x.detach().requires_grad_(requires_grad(x)) if isinstance(x, Tensor) else x for x in inputs)


class DefaultDeviceType:
    """The kind of device whose generators torch's checkpoints keep: here it is the CPU's always, whatever is set."""

    kind = "cpu"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set what ``get_device_type`` returns."""
        DefaultDeviceType.kind = device

    @staticmethod
    def get_device_type() -> str:
        """The kind of device."""
        return DefaultDeviceType.kind


def get_device_states(*args: Any) -> tuple[list, list]:
    """The GPUs among the arguments' devices and the states of their generators: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set the states of GPUs' generators: there are none to set."""


class CheckpointFunction(Function):
    """The reentrant design: one node, whose backward records the call and starts a pass of its own."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        """Run the function without recording."""
        check_backward_validity(args)
        ctx.function, ctx.streams = function, streams_of(preserve_rng_state, args)
        ctx.places = [k for k, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.others = [None if isinstance(x, Tensor) else x for x in args]
        ctx.save_for_backward(*(args[k] for k in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        """Run it with recording, and send the cotangents through that.

        Raises:
            GradError: the pass is one of ``grad`` or ``backward(inputs=...)``; or no result requires grad.
        """
        task = current_graph_task()
        if task is not None and task.needed is not None:
            raise GradError(
                "checkpoint: with use_reentrant=True it is incompatible with grad() and with passing inputs to "
                "backward(). Hint: use_reentrant=False."
            )
        inputs = list(ctx.others)
        for k, x in zip(ctx.places, ctx.saved_tensors):
            inputs[k] = x
        detached = detach_variable(tuple(inputs))
        with ctx.streams(), enable_grad():
            out = ctx.function(*detached)
        results = (out,) if isinstance(out, Tensor) else tuple(out)
        pairs = [(x, g) for x, g in zip(results, grads) if isinstance(x, Tensor) and requires_grad(x)]
        if not pairs:
            raise GradError("checkpoint: none of the outputs requires grad; checkpointing it is not necessary.")
        backward([x for x, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in detached))


# `nbgrad.checkpoint` is the function (nbgrad/__init__.py), and this module in sys.modules: what the module offers hangs on the
# function too, so that both spellings reach it.
for _name in __all__:
    setattr(checkpoint, _name, globals()[_name])
