"""Custom differentiable functions: ``Function`` with ``forward`` and ``backward``.

The context ``ctx`` *is* the graph node, so what a user stores on it lives as long as the graph. Saved results are kept as
aliases without history: no cycle, before or after the pass.

NOTE [Functions and interpreters]: to the interpreters a call of a Function is a ``FunctionCall``, whose ``op`` is a
``CustomFunction``: its name, and the class. One that has more to do than to watch treats it by itself:
  batching   calls ``vmap_rule(cls)`` for what the class says of batches;
  tangents   lets ``below(call)`` run, then asks ``function_tangents(call.ctx, ...)`` for the results' tangents.
"""

from __future__ import annotations

import functools
import inspect
from copy import copy
from typing import Any, Callable

from ..base.errors import ArgumentError, GradError
from ..base.grad_mode import mode, special
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..modes.interpreters import Call, interpret, is_marked
from ..tensors.tensor import Tensor
from .function_context import BackwardCFunction, FunctionCtx, FunctionRule, new_context
from .returned_tensors import finish_results, mark_final

__all__ = [
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "BackwardCFunction",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
    "CustomFunction",
    "FunctionCall",
    "vmap_rule",
]


class CustomFunction:
    """Stands where an operation of the table stands in a Call: a Function class."""

    kind = batched = "function"
    product = tells_by_nan = False
    operands: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __init__(self, function: type[Function]):
        self.function, self.name = function, function.__name__

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class FunctionCall(Call):
    """A call of a Function: NOTE [Functions and interpreters].

    Attributes:
        runs: the contexts of the runs of ``forward`` so far, the last one last.
    """

    __slots__ = ("runs",)

    def __init__(self, function: type[Function], args: tuple):
        runs: list[BackwardCFunction] = []
        op: Any = function._op_
        super().__init__(op, args, {}, lambda *below: run(function, below, runs))
        self.runs = runs

    def with_operands(self, operands: tuple, attributes: dict | None = None) -> Call:
        """The same call of others, whose contexts are this one's."""
        made = copy(self)
        made.operands, made._marked = operands, None
        return made

    def map(self, change: Callable[[Tensor], Any]) -> tuple:
        """The operands with every tensor changed; what else a Function takes stays of its class, and the same without tensors."""
        return tuple([change(x) if isinstance(x, Tensor) else map_members(change, x) for x in self.operands])

    @property
    def ctx(self) -> BackwardCFunction:
        """The context of the run."""
        return self.runs[-1]


def map_members(change: Callable[[Tensor], Any], x: Any) -> Any:
    """A sequence with the tensors in it changed; anything else itself."""
    if not isinstance(x, (tuple, list)) or not any(isinstance(y, Tensor) for y in x):
        return x
    members = [change(y) if isinstance(y, Tensor) else y for y in x]
    return x._make(members) if hasattr(x, "_make") else type(x)(members)


class Function:
    """A differentiable function of your own.

    Subclass it with static methods ``forward(ctx, *args)``, or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``,
    and ``backward(ctx, *grad_outputs)``, which returns one gradient (or None) for every argument of ``forward``; call
    ``apply``. For forward mode define ``jvp``, for ``vmap`` either ``vmap`` or ``generate_vmap_rule = True``.
    ``clear_saved_tensors_on_access = True`` frees what was saved when ``backward`` reads it, which it may do once;
    ``boxed_grads_call = True`` has it called as ``backward(ctx, grads)``, with a list that it may empty.

    >>> import nbgrad
    >>> class Cube(nbgrad.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x * x * g
    >>> x = nbgrad.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    # Whether ``vmap`` may run forward and backward on batches, which then must consist of nbgrad's operations.
    generate_vmap_rule = False
    # Whether ``ctx.saved_tensors`` can be read once only, which frees what was saved; ``backward`` may then let go of it early.
    clear_saved_tensors_on_access = False
    # Whether ``backward(ctx, grads)`` gets the cotangents in one list, which it may empty.
    boxed_grads_call = False
    _backward_cls: type[BackwardCFunction]
    _rule_: FunctionRule
    _op_: CustomFunction

    def __init__(self, *args, **kwargs):
        warn_user(
            f"{type(self).__name__}: Functions need no instances. Hint: call {type(self).__name__}.apply(...).", DeprecationWarning
        )

    def __call__(self, *args, **kwargs):
        raise GradError(f"{type(self).__name__}: instances of Functions are not called. Hint: {type(self).__name__}.apply(...).")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        prepare(cls)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; recording is off."""
        raise NotImplementedError("Function: a subclass must define the static method forward.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Save what backward needs, if ``forward`` takes no ctx."""
        raise NotImplementedError("Function: setup_context is not defined.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The cotangents of the arguments, from those of the results."""
        raise NotImplementedError("Function: a subclass must define the static method backward (or vjp) to be differentiated.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError("Function: a subclass must define the static method jvp to be used in forward mode.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """``(output, out_dims)`` for batches along ``in_dims``; ``info`` has ``batch_size`` and ``randomness``."""
        raise NotImplementedError(
            "Function: a subclass must define the static method vmap, or set generate_vmap_rule = True, to be used under vmap."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it; keyword arguments are put where ``forward`` has them."""
        if kwargs or has_defaults(cls):
            args = positional(cls, args, kwargs)
        if special or is_marked(args):
            return interpreted(cls, args)
        return run(cls, args)

    @classmethod
    def _backward_method(cls) -> Callable:
        """``backward``, or ``vjp``, which is another name for it.

        Raises:
            GradError: both are defined.
        """
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise GradError(f"{cls.__name__}: defines both backward and vjp; they are two names of one method.")
        return cls.vjp


def prepare(cls: type[Function]) -> None:
    """Give a Function class the class of its nodes, their rule, and its name among the operations."""
    cls._rule_, cls._op_ = FunctionRule(cls.__name__), CustomFunction(cls)
    cls._backward_cls = type(
        cls.__name__ + "Backward", (BackwardCFunction,), {"__slots__": (), "__module__": cls.__module__, "_forward_cls": cls}
    )


prepare(Function)


# ---- calls ---------------------------------------------------------------------------------------------------------


def interpreted(cls: type[Function], args: tuple) -> Any:
    """A call that interpreters are asked about."""
    call = FunctionCall(cls, args)
    try:
        return interpret(call)
    finally:
        for ctx in call.runs:
            ctx.saved_for_forward = None  # from now on ``saved_tensors`` are those for backward


def run(cls: type[Function], args: tuple, runs: list | None = None) -> Any:
    """The call without interpreters: ``forward`` with recording off, then the results get their histories."""
    if cls.clear_saved_tensors_on_access is not False or cls.boxed_grads_call is not False:
        check_flags(cls)
    ctx = new_context(cls._backward_cls, cls._rule_, args)
    enabled = mode.enabled
    record = enabled and any(ctx._needs_)
    mode.enabled = False
    try:
        if cls.setup_context is Function.setup_context:
            output = cls.forward(ctx, *args)
        else:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
    finally:
        mode.enabled = enabled
    many = isinstance(output, tuple)
    wrapped = finish_results(ctx, args, output if many else (output,), record)
    if runs is None:
        ctx.saved_for_forward = None
    else:
        runs.append(ctx)
    return tuple(wrapped) if many else wrapped[0]


def check_flags(cls: type[Function]) -> None:
    """Refuse flags of a Function that are no bools.

    Raises:
        ArgumentError: one is none.
    """
    for name in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        if not isinstance(value := getattr(cls, name), bool):
            raise ArgumentError(f"{cls.__name__}: {name} must be a bool, got {type(value).__name__}.")


@functools.lru_cache(maxsize=4096)
def signature_of(function: Callable) -> inspect.Signature:
    """The signature of a ``forward``, looked up once."""
    return inspect.signature(function)


def has_defaults(cls: type[Function]) -> bool:
    """Whether ``setup_context`` must be shown arguments that the caller may leave out."""
    return cls.setup_context is not Function.setup_context and any(
        p.default is not p.empty for p in signature_of(cls.forward).parameters.values()
    )


def positional(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """All arguments in the order of ``forward``'s parameters.

    Raises:
        ArgumentError: they do not fit, or one can be given by name only: it would have no place among the gradients.
    """
    takes_ctx = cls.setup_context is Function.setup_context
    try:
        bound = signature_of(cls.forward).bind(*((None,) if takes_ctx else ()), *args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"{cls.__name__}.apply: {error}; expected forward{signature_of(cls.forward)}.") from None
    bound.apply_defaults()
    if bound.kwargs and kwargs:
        raise ArgumentError(
            f"{cls.__name__}.apply: forward takes {list(bound.kwargs)} by name only, and gradients belong to "
            "positions. Hint: make them positional parameters."
        )
    return bound.args[1:] if takes_ctx else bound.args


def vmap_rule(cls: type[Function]) -> Callable | None:
    """The ``vmap`` method of a Function; None if its rule is to be generated.

    Raises:
        GradError: it defines both, or neither; or ``forward`` takes ctx, which is made before ``vmap`` could take part.
    """
    name, own = cls.__name__, cls.vmap is not Function.vmap
    if cls.setup_context is Function.setup_context:
        raise GradError(f"{name}: vmap needs forward without ctx. Hint: move what uses ctx to setup_context(ctx, inputs, output).")
    if cls.generate_vmap_rule and own:
        raise GradError(f"{name}: defines vmap and generate_vmap_rule = True. Hint: keep one of them.")
    if not cls.generate_vmap_rule and not own:
        raise GradError(
            f"{name}: has no rule for vmap. Hint: define the static method vmap, or set generate_vmap_rule = True if "
            "forward, setup_context and backward consist of nbgrad's operations."
        )
    return cls.vmap if own else None


# ---- variants ------------------------------------------------------------------------------------------------------


def once_differentiable(backward: Callable) -> Callable:
    """Decorator for ``backward``: its results cannot be differentiated; trying to is an error, not a wrong answer.

    >>> class Square(nbgrad.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @nbgrad.once_differentiable
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return nbgrad.from_numpy(2 * x.detach().numpy() * g.numpy())       # no operations: nothing is recorded
    >>> x = nbgrad.tensor([3.0], requires_grad=True)
    >>> nbgrad.grad(Square.apply(x).sum(), x)
    (tensor([6.]),)
    """

    @functools.wraps(backward)
    def wrapper(ctx, *grads):
        enabled, mode.enabled = mode.enabled, False
        try:
            results = backward(ctx, *grads)
        finally:
            mode.enabled = enabled
        if not enabled or not any(isinstance(g, Tensor) and g._needs_grad_ and requires_grad(g) for g in grads):
            return results
        many = results if isinstance(results, tuple) else (results,)
        marked = tuple(mark_final(x, grads) if isinstance(x, Tensor) else x for x in many)
        return marked if isinstance(results, tuple) else marked[0]

    return wrapper


# torch's name of the class that Function classes are of: here an ordinary one.
FunctionMeta = type(Function)


class InplaceFunction(Function):
    """A Function whose instances know whether they work in place: kept for programs that subclass it.

    Args:
        inplace: what ``self.inplace`` says.
    """

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Retired: a Function of nested arguments, by methods of instances, which are no longer called.

    ``apply`` fails. Flatten the arguments in a function that wraps an ordinary Function.
    """

    def forward(self, *args: Any) -> Any:  # type: ignore[override]
        """The function that ``apply`` runs: ctx has no ``forward_extended``."""
        return self.forward_extended(*args)

    def backward(self, *gradients: Any) -> Any:  # type: ignore[override]
        """The counterpart of ``forward``."""
        return self.backward_extended(*gradients)

    def forward_extended(self, *args: Any) -> None:
        """Was to be overridden."""
        raise NotImplementedError("NestedIOFunction: forward_extended is not defined.")

    def backward_extended(self, *grad_output: Any) -> None:
        """Was to be overridden."""
        raise NotImplementedError("NestedIOFunction: backward_extended is not defined.")
