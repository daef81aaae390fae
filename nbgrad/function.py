"""Custom differentiable functions: ``Function`` with ``forward`` and ``backward``.

The context ``ctx`` *is* the graph node, so what a user stores on it lives as long as the graph. Saved results are kept as
aliases without history: no cycle, before or after the pass.
"""
from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any, Callable

from .engine import state, validate_gradient
from .errors import ArgumentError, GradError, InplaceError, VersionError
from .grad_mode import mode, special
from .graph import Edge, SavedTensor, active_hooks, edge_of, freed_error, next_seq, pack_tensor, requires_grad, unpacked
from .node import Node, Rule
from .rules import FUNCTION
from .tensor import ASK, Tensor, native
from .views import check_inplace, is_view, rebase

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx(Node):
    """The context of one call, which is its node in the graph.

    Attributes:
        needs_input_grad: for every argument of ``apply`` whether its gradient is wanted.
        saved_tensors: what ``save_for_backward`` kept.
    """

    __slots__ = ("__dict__", "needs_input_grad", "_to_save", "_dirty", "_non_differentiable", "_materialize", "_layouts",
                 "_function", "_input_layouts", "_freed")

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, results or other tensors for ``backward``; once a call, at most. Read them as ``saved_tensors``."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise ArgumentError(f"save_for_backward: expected tensors or None, got {type(x).__name__}. "
                                    "Hint: store other values as attributes of ctx.")
        self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place; they must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for results that received no gradient."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple:
        """What was saved, checked for changes since.

        Raises:
            VersionError: one was modified in place. GradError: the graph was freed.
        """
        if self._freed:
            raise freed_error(self)
        return tuple(entry if entry is None else self._unpack(k, *entry) for k, entry in enumerate(self.s0 or ()))

    def _unpack(self, position: int, value: Tensor | SavedTensor, version: int, output: int | None) -> Tensor:
        if isinstance(value, SavedTensor):
            value = unpacked(value)
        elif value.storage.version != version:
            raise VersionError(
                f"{self.rule.name}: saved tensor {position} ({value.layout.dtype.name} {list(value.layout.shape)}) was modified in "
                f"place: it is at version {value.storage.version}, expected {version}.\nHint: clone it before the update.")
        if output is None:
            return value
        again = native.alias(value)
        again.edge, again.needs_grad = (self if self.outputs == 1 else Edge(self, output)), True
        return again

    @property
    def _input_metadata(self) -> list:
        return list(self._layouts)

    def __getattr__(self, name: str):
        raise AttributeError(f"{self.name()}: ctx has no attribute {name!r}.")


class FunctionRule(Rule):
    """The rule of a Function class's nodes; ``function_backward`` itself frees what was saved, and only that."""

    takes_undefined = True

    def __init__(self, function: type):
        self.function, self.name, self.node_name = function, function.__name__, function.__name__ + "Backward"


class FunctionPlan:
    """Where introspection finds the layouts of a node's results."""

    __slots__ = ("outs",)


class Function:
    """A differentiable function of your own.

    Subclass it with static methods ``forward(ctx, *args)``, or ``forward(*args)`` and ``setup_context(ctx, inputs, output)``,
    and ``backward(ctx, *grad_outputs)``, which returns one gradient (or None) for every argument of ``forward``; call
    ``apply``.

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

    _rule: FunctionRule

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self).__name__}: Functions need no instances. Hint: call {type(self).__name__}.apply(...).",
                      DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise GradError(f"{type(self).__name__}: instances of Functions are not called. Hint: {type(self).__name__}.apply(...).")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._rule = FunctionRule(cls)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; recording is off."""
        raise NotImplementedError("Function: a subclass must define the static method forward.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output: Any) -> None:
        """Save what backward needs, if ``forward`` takes no ctx."""
        raise NotImplementedError("Function: setup_context is not defined.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """The cotangents of the arguments."""
        raise NotImplementedError("Function: a subclass must define the static method backward (or vjp) to be differentiated.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it; keyword arguments are put where ``forward`` has them."""
        if kwargs:
            args = positional(cls, args, kwargs)
        ctx = new_context(cls, args)
        record = mode.enabled and any(ctx.needs_input_grad)
        enabled, mode.enabled = mode.enabled, False
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
        finally:
            mode.enabled = enabled
        results = output if isinstance(output, tuple) else (output,)
        wrapped = tuple(finish_results(cls, ctx, args, results, record))
        return wrapped if isinstance(output, tuple) else wrapped[0]


def positional(cls, args: tuple, kwargs: dict) -> tuple:
    """All arguments in the order of ``forward``'s parameters."""
    takes_ctx = cls.setup_context is Function.setup_context
    bound = inspect.signature(cls.forward).bind(*((None,) if takes_ctx else ()), *args, **kwargs)
    bound.apply_defaults()
    return bound.args[1:] if takes_ctx else bound.args


def new_context(cls, args: tuple) -> FunctionCtx:
    """The node of a call: its edges are fixed before ``forward`` runs, its number drawn after them."""
    ctx = object.__new__(FunctionCtx)
    needs = tuple(isinstance(x, Tensor) and bool(x.needs_grad) and requires_grad(x) for x in args)
    ctx.edges = tuple((x.edge or edge_of(x)) if n and mode.enabled else None for x, n in zip(args, needs))
    ctx.needs_input_grad = needs
    ctx.seq = next_seq()
    ctx.rule, ctx.backward, ctx.outputs = cls._rule, function_backward, 1
    ctx.s0 = ctx.s1 = ctx.s2 = ctx.v0 = ctx.v1 = ctx.v2 = ctx.attrs = ctx.meta = ctx.plan = None
    ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
    ctx._materialize, ctx._freed, ctx._function = True, False, cls
    ctx._input_layouts = tuple(x.layout if isinstance(x, Tensor) else None for x in args)
    ctx._layouts = ()
    return ctx


def packed_entry(ctx: FunctionCtx, entry: tuple | None) -> tuple | None:
    """A saved entry behind this thread's saved-tensor hooks, if there are any."""
    hooks = active_hooks()
    if entry is None or hooks is None:
        return entry
    value, version, output = entry
    return pack_tensor(value, *hooks), version, output


def contains(tensors: tuple, x: Any) -> bool:
    """Membership by identity."""
    return any(t is x for t in tensors)


def finish_results(cls, ctx: FunctionCtx, args: tuple, results: tuple, record: bool):
    """Give the results their history, and save what was asked for."""
    for dirty in ctx._dirty:
        if not contains(results, dirty):
            raise GradError(f"{cls.__name__}: an input marked dirty was not returned by forward.")
    ctx.outputs = max(len(results), 1)
    ctx._layouts = tuple(x.layout if isinstance(x, Tensor) else None for x in results)
    ctx.plan = FunctionPlan()
    ctx.plan.outs = tuple(layout.template if layout is not None else None for layout in ctx._layouts)
    wrapped = [finish_result(cls, ctx, args, k, x, record) if isinstance(x, Tensor) else x for k, x in enumerate(results)]
    if record:
        saved: list[tuple | None] = []
        for x in ctx._to_save:
            output = next((k for k, r in enumerate(results) if r is x), None) if x is not None else None
            if output is not None and contains(ctx._non_differentiable, x):
                output = None
            if x is None:
                saved.append(None)
            elif output is not None and not contains(args, x):
                saved.append((native.alias(x), x.storage.version, output))
            elif output is not None and contains(ctx._dirty, x):
                saved.append((native.alias(x), x.storage.version, output))
            else:
                saved.append((x, x.storage.version, None))
        ctx.s0 = tuple(packed_entry(ctx, entry) for entry in saved) if special else tuple(saved)
    ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
    return wrapped


def finish_result(cls, ctx: FunctionCtx, args: tuple, k: int, x: Tensor, record: bool) -> Tensor:
    """One result with its edge."""
    differentiable = record and x.layout.dtype.differentiable and not contains(ctx._non_differentiable, x)
    edge = ctx if ctx.outputs == 1 else Edge(ctx, k)
    is_input = contains(args, x)
    if contains(ctx._dirty, x):
        if not is_input:
            raise GradError(f"{cls.__name__}: a tensor marked dirty is no input.")
        if mode.enabled:
            check_inplace(cls.__name__, x, record)
        if differentiable:
            if is_view(x) and x.needs_grad is ASK:
                rebase_function_view(ctx, args, x)
            else:
                rebase(x, edge, None, None)
        return x
    if is_input:
        x = alias_view(x)
    if not differentiable:
        if x.needs_grad and not is_view(x):
            x.needs_grad, x.edge = False, None
        elif is_view(x) and record and contains(ctx._non_differentiable, x):
            x = native.alias(x)
        return x
    if is_view(x):
        # A view of an input: its history is this node; in-place writes to it cannot be followed.
        meta = x.meta
        meta.node, meta.version, meta.creation = edge, x.storage.version, FUNCTION
        if not meta.base.needs_grad:
            x = native.alias(x)
            x.edge, x.needs_grad = edge, True
        return x
    x.edge, x.needs_grad = edge, True
    return x


def alias_view(x: Tensor) -> Tensor:
    """An input returned as it is: a view of it, so that the input keeps its own history."""
    from .dispatch import CALLS
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS["view_shape"](x, x.layout.shape)
    finally:
        mode.enabled = enabled


def rebase_function_view(ctx: FunctionCtx, args: tuple, x: Tensor) -> None:
    """A view that ``forward`` changed in place: its base gets the history."""
    slot = next(k for k, a in enumerate(args) if a is x)
    if ctx.outputs != 1:
        raise InplaceError(f"{ctx.rule.name}: a view was changed in place by a Function of several results. Hint: clone the view.")
    base = x.meta.base
    old_edge = edge_of(base) if base.needs_grad else None
    rebase(x, ctx, slot, old_edge)


def function_backward(ctx: FunctionCtx, g, create_graph: bool):
    """Run a Function's ``backward`` and check what it returns."""
    grads = (g,) if ctx.outputs == 1 else tuple(g) if g is not None else (None,) * ctx.outputs
    if ctx._materialize:
        grads = tuple(zeros_of(layout) if x is None and layout is not None and layout.dtype.differentiable else x
                      for x, layout in zip(grads, ctx._layouts))
    cls = ctx._function
    method, vjp = cls.backward, getattr(cls, "vjp", None)
    if vjp is not None:
        if method is not Function.backward:
            raise GradError(f"{ctx.rule.name}: defines both backward and vjp; they are two names of one method.")
        method = vjp
    results = method(ctx, *grads)
    if not state.keep_graph:
        ctx.s0, ctx._freed = None, True
    results = results if isinstance(results, tuple) else (results,)
    count = len(ctx.edges)
    if len(results) > count and all(r is None for r in results[count:]):
        results = results[:count]
    if len(results) != count:
        raise GradError(f"{ctx.rule.name}: backward returned {len(results)} gradients, expected {count}, one for every argument of "
                        "forward.")
    checked: list[Tensor | None] = []
    for k, (value, needed, layout) in enumerate(zip(results, ctx.needs_input_grad, ctx._input_layouts)):
        if value is None:
            checked.append(None)
        elif not isinstance(value, Tensor):
            raise GradError(f"{ctx.rule.name}: backward returned {type(value).__name__} for argument {k}, "
                            "expected a Tensor or None.")
        elif layout is None:
            raise GradError(f"{ctx.rule.name}: backward returned a gradient for argument {k}, which is not a Tensor; "
                            "expected None.")
        else:
            checked.append(None if not needed else validate_gradient(f"{ctx.rule.name}.backward, argument {k}", value, layout))
    return checked[0] if count == 1 else tuple(checked)


def zeros_of(layout) -> Tensor:
    """Zeros for a result that received no gradient."""
    from .creation import new_full
    return new_full(layout, 0)


class TwiceRule(Rule):
    """The rule of what must not be differentiated again."""

    name, node_name, takes_undefined = "once_differentiable", "DelayedErrorBackward", True


def twice_backward(node: Node, g, create_graph: bool):
    """Refuse."""
    raise GradError("once_differentiable: this gradient cannot be differentiated again: the Function's backward was marked "
                    "@once_differentiable. Hint: write backward in differentiable operations.")


def once_differentiable(backward: Callable) -> Callable:
    """Decorator for ``backward``: its results cannot be differentiated; trying to is an error, not a wrong answer."""
    @functools.wraps(backward)
    def wrapper(ctx, *grads):
        enabled, mode.enabled = mode.enabled, False
        try:
            results = backward(ctx, *grads)
        finally:
            mode.enabled = enabled
        if not enabled or not any(isinstance(g, Tensor) and g.needs_grad and requires_grad(g) for g in grads):
            return results
        many = results if isinstance(results, tuple) else (results,)
        marked = tuple(mark_final(x, grads) if isinstance(x, Tensor) else x for x in many)
        return marked if isinstance(results, tuple) else marked[0]
    return wrapper


def mark_final(x: Tensor, grads: tuple) -> Tensor:
    """An alias of ``x`` whose node refuses to run."""
    node = Node()
    for slot in ("s0", "s1", "s2", "v0", "v1", "v2", "attrs", "meta"):
        setattr(node, slot, None)
    node.edges = tuple(edge_of(g) for g in grads if isinstance(g, Tensor) and g.needs_grad and requires_grad(g))
    node.rule, node.backward, node.outputs, node.plan = TwiceRule(), twice_backward, 1, FunctionPlan()
    node.plan.outs = (x.layout.template,)
    node.seq = next_seq()
    out = native.alias(x)
    out.edge, out.needs_grad = node, True
    return out
