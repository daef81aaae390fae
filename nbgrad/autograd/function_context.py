"""The ``ctx`` of a custom Function, which is the graph node of the call: what it saved, its ``backward``, its ``jvp``."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError, VersionError
from ..base.grad_mode import capture_of_thread, mode, traces
from ..base.user_stack import warn_user
from ..engine import owned, validate_gradient
from ..graph.collecting import Collector
from ..graph.edges import Edge, edge_of, number_node, requires_grad
from ..graph.node import Node
from ..graph.packing import RawSaved, pack_tensor, tangents_of
from ..graph.rule import Rule, name_of
from ..graph.saved import SavedTensor, alias_with, freed_error, unpacked, with_tensors
from ..graph.task import state
from ..graph.writes import writer_of
from ..tensors.choices import chosen, opened, put_back
from ..tensors.layout import Layout
from ..tensors.tensor import ASK, Tensor

__all__ = [
    "FunctionCtx",
    "BackwardCFunction",
    "FunctionPlan",
    "FunctionRule",
    "SavedArgument",
    "new_context",
    "result_edge",
    "function_tangents",
]


class FunctionCtx:
    """What ``forward``, ``setup_context``, ``backward`` and ``jvp`` see of a call: a place for what they tell each other.

    Any attribute may be set on it. What must not outlive the graph's first pass, and must be checked for changes, goes through
    ``save_for_backward``.

    >>> class Scale(nbgrad.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return (g * ctx.factor, None) if ctx.needs_input_grad[0] else (None, None)
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> nbgrad.grad(Scale.apply(x, 3.0).sum(), x)
    (tensor([3., 3.]),)
    """

    to_save: tuple
    saved_for_forward: tuple | None
    dirty_tensors: tuple
    non_differentiable: tuple
    materialize_grads: bool

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, results or other tensors for ``backward``; once a call, at most. Read them as ``saved_tensors``.

        What is neither tensor nor None is refused by ``apply`` (ArgumentError); other values are kept as attributes.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, which reads them as ``saved_tensors``.

        Raises:
            ArgumentError: neither tensor nor None.
        """
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise SaveError(
                    f"save_for_forward: expected tensors or None, got {type(x).__name__}. "
                    "Hint: store other values as attributes of ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` changed in place; they must be returned too."""
        self.dirty_tensors = tensors

    def mark_shared_storage(self, *pairs: tuple) -> None:
        """Retired: which results share memory with inputs is found out without it."""
        warn_user(
            "mark_shared_storage: has no effect. Results that share memory with inputs are recognised as views.", FutureWarning
        )

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient; ``backward`` still has an argument for each, zeros."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for results that received no gradient; ``jvp`` likewise.

        Raises:
            ArgumentError: no bool.
        """
        if not isinstance(value, bool):
            raise ArgumentError(f"set_materialize_grads: expected a bool, got {type(value).__name__}.")
        self.materialize_grads = value


class SaveError(ArgumentError, AssertionError):
    """A value that ``save_for_forward`` cannot keep."""


class SavedArgument:
    """One thing that a Function saved.

    Attributes:
        value: the tensor; of a result an alias without history; or what saved-tensor hooks made of it; or None.
        version: of the tensor's memory when it was saved.
        output: which result it is, or None.
    """

    __slots__ = ("value", "version", "output")

    def __init__(self, value: Tensor | None, output: int | None):
        self.value: Tensor | SavedTensor | None = value
        self.version, self.output = value._storage_.version if value is not None else None, output

    def with_history(self, ctx: BackwardCFunction) -> Tensor | None:
        """The tensor with its history: a result's is the node itself."""
        value: Any = self.value
        if self.output is None:
            return value
        again = alias_with(value, tangents_of(value))
        again._edge_, again._needs_grad_ = result_edge(ctx, self.output), True
        return again

    def pack(self, ctx: BackwardCFunction, pack: Callable, unpack: Callable) -> None:
        """Put the tensor behind hooks."""
        shown = self.with_history(ctx)
        if shown is None:
            return
        packed = pack_tensor(shown, pack, unpack)
        if shown is not self.value:
            packed.edge = None  # it would make a cycle: node -> saved -> node
            if packed.packed is shown:
                packed.packed = self.value
        self.value = packed

    def unpack(self, ctx: BackwardCFunction, position: int) -> Tensor | None:
        """The tensor as it was saved.

        Raises:
            VersionError: it was modified since.
        """
        value: Any = self.value
        if isinstance(value, SavedTensor):
            again = unpacked(value)
            if self.output is not None:
                again = alias_with(again, tangents_of(again))
                again._edge_, again._needs_grad_ = result_edge(ctx, self.output), True
            return again
        if value is not None and value._storage_.version != self.version:
            raise VersionError(
                f"{ctx._rule_.name}: saved tensor {position} ({value.layout.dtype.name} {list(value.layout.shape)}) was modified "
                f"in place: it is at version {value._storage_.version}, expected {self.version}"
                f"{writer_of(value._storage_, self.version)}.\nHint: clone it before the update, or find the update with "
                "nbgrad.detect_anomaly()."
            )
        return self.with_history(ctx)


def result_edge(ctx: BackwardCFunction, k: int) -> Node | Edge:
    """Where the cotangent of a result goes."""
    return ctx if ctx._outputs_ == 1 else Edge(ctx, k)


class RawFunctionSaved(RawSaved):
    """One saved tensor of a Function's node, for ``register_hooks(pack, unpack)``."""

    __slots__ = ("ctx", "saved", "position")

    def __init__(self, ctx: BackwardCFunction, saved: SavedArgument, position: int):
        self.ctx, self.saved, self.position = ctx, saved, position

    @property
    def value(self) -> Any:
        return self.saved.value

    @value.setter
    def value(self, value: Any) -> None:
        self.saved.value = value

    def unpack(self) -> Tensor | None:
        """The saved tensor, as ``backward`` sees it."""
        if self.ctx._freed_:
            raise freed_error(self.ctx)
        return self.saved.unpack(self.ctx, self.position)

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the saved tensor now; once only.

        Raises:
            GradError: it is behind hooks already, freed, or None was saved.
        """
        if isinstance(self.saved.value, SavedTensor):
            raise GradError("register_hooks: the saved tensor has hooks already.")
        if self.ctx._freed_:
            raise freed_error(self.ctx)
        if self.saved.value is None:
            raise GradError("register_hooks: None was saved, which needs no hooks.")
        self.saved.pack(self.ctx, pack_hook, unpack_hook)


ACCESSED = "accessed"  # of ``_freed_``: by the one access to ``saved_tensors`` that the Function allows


def accessed_error(ctx: BackwardCFunction) -> GradError:
    """The error of the next one."""
    return GradError(
        f"{ctx._rule_.name}: saved_tensors were accessed before, and clear_saved_tensors_on_access = True frees them "
        "at the first access. Hint: keep what it returns in variables, or leave the flag False."
    )


class BackwardCFunction(Node, FunctionCtx):
    """The node of a call, which is its ctx. Every Function class has a subclass of its own, named after it.

    Attributes:
        needs_input_grad: for every argument of ``apply`` whether its gradient is wanted; ``_needs_`` is what the engine goes by.
        _constants_: the positions of results that were marked as not differentiable.
        _input_layouts_: the layout of every argument, None for one that is no tensor.
        _s0_: what was saved, ``SavedArgument`` objects.
    """

    __slots__ = (
        "_needs_",
        "_constants_",
        "needs_input_grad",
        "to_save",
        "saved_for_forward",
        "dirty_tensors",
        "non_differentiable",
        "materialize_grads",
        "_input_layouts_",
        "_freed_",
    )
    _forward_cls: Any
    _s0_: Any
    _needs_: tuple[bool, ...]
    _constants_: tuple[int, ...]
    _input_layouts_: tuple
    _freed_: bool | str
    needs_input_grad: tuple[bool, ...]

    @property
    def saved_tensors(self) -> tuple:
        """What was saved, checked for changes since; in ``jvp`` what was saved for it.

        Raises:
            VersionError: one was modified in place. GradError: the graph was freed; a second access where the Function's
            ``clear_saved_tensors_on_access`` is True.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._freed_:
            raise accessed_error(self) if self._freed_ is ACCESSED else freed_error(self)
        tensors = tuple(saved.unpack(self, k) for k, saved in enumerate(self._s0_ or ()))
        if type(self)._forward_cls.clear_saved_tensors_on_access:
            self._s0_, self._freed_ = None, ACCESSED
        return tensors

    @property
    def saved_variables(self) -> tuple:
        """The old name of ``saved_tensors``."""
        warn_user("saved_variables: the name is saved_tensors.", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple:
        if self._freed_ and self._freed_ is not ACCESSED:
            raise freed_error(self)
        return tuple(RawFunctionSaved(self, saved, k) for k, saved in enumerate(self._s0_ or ()))

    @property
    def _input_metadata(self) -> list:
        return [None if template is None else template.layout for template in self._plan_.outs]

    def apply(self, *grads: Any) -> Any:
        """Call the Function's ``backward`` by hand."""
        return call_backward(self, grads)

    def apply_jvp(self, *tangents: Any) -> Any:
        """Call the Function's ``jvp`` by hand."""
        return call_jvp(self, tangents)

    def maybe_clear_saved_tensors(self) -> None:
        """Free what was saved, unless the running pass keeps its graph."""
        free_saved(self)

    def compiled_args(self, collector: Collector) -> None:
        """What the Function's ``compiled_args(ctx, collector)`` tells; if it has none, ``backward`` and all that ctx holds."""
        collect_function(self, collector)

    def apply_with_saved(self, values: Sequence[Tensor], g: Any) -> Any:
        """The gradients of the Function, with other tensors in the place of those that it holds."""
        return function_with_saved(self, values, g)

    def __getattr__(self, name: str):
        raise AttributeError(f"{name_of(self)}: ctx has no attribute {name!r}.")


class FunctionRule(Rule):
    """The rule of a Function class's nodes; what was saved is freed, and only that."""

    takes_undefined = True

    def __init__(self, name: str):
        self.name, self.node_name, self.frees = name, name + "Backward", forget_saved

    def saved_results(self, node: Node, nr: int) -> list:
        """What ``save_for_backward`` kept of a result."""
        return [saved.value for saved in node._s0_ or () if saved.output == nr]


class FunctionPlan:
    """Where introspection finds the layouts of a node's results."""

    __slots__ = ("outs",)

    def __init__(self, results: tuple):
        self.outs = tuple(x.layout.template if isinstance(x, Tensor) else None for x in results)


# ---- before forward ------------------------------------------------------------------------------------------------


def new_context(node_class: type[BackwardCFunction], rule: FunctionRule, args: tuple) -> BackwardCFunction:
    """The node of a call: its edges are fixed before ``forward`` runs, its number drawn after them."""
    ctx = object.__new__(node_class)
    record = mode.enabled
    edges: list = []
    needs: list = []
    layouts: list = []
    for x in args:
        if isinstance(x, Tensor):
            wanted = x._needs_grad_
            if wanted is ASK:
                wanted = requires_grad(x)
            edges.append((x._edge_ or edge_of(x)) if wanted and record else None)
            layouts.append(x.layout)
        else:
            wanted = False
            layouts.append(None)
        needs.append(wanted)
    ctx._edges_, ctx._input_layouts_ = tuple(edges), tuple(layouts)
    ctx._needs_ = ctx.needs_input_grad = tuple(needs)
    number_node(ctx)
    ctx._rule_, ctx._backward_, ctx._outputs_ = rule, function_backward, 1
    ctx._s0_ = ctx._s1_ = ctx._s2_ = ctx._v0_ = ctx._v1_ = ctx._v2_ = None
    ctx._attrs_ = ctx._meta_ = ctx._plan_ = ctx.saved_for_forward = None
    ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx._constants_ = ()
    ctx.materialize_grads, ctx._freed_ = True, False
    return ctx


# ---- backward ------------------------------------------------------------------------------------------------------

# A program may put attributes of any name on a ctx, ``apply`` and ``_forward_cls`` too: what the engine needs of a ctx is asked of
# its class, by functions. See NOTE [Names of users].


def call_backward(ctx: BackwardCFunction, grads: tuple) -> Any:
    """What the Function's ``backward`` returns."""
    return handed_over(type(ctx)._forward_cls, ctx, grads)


def handed_over(cls: Any, ctx: Any, grads: tuple) -> Any:
    """What the ``backward`` of a Function class returns for cotangents, one by one or in one list, as the class wants them."""
    if traces and (trace := capture_of_thread()) is not None and trace.turns.get(id(ctx)) is not ctx:
        trace.turns[id(ctx)] = ctx
        try:
            return trace.run_backward(cls, ctx, grads)
        finally:
            del trace.turns[id(ctx)]
    backward = cls._backward_method()
    if cls.boxed_grads_call:
        return backward(ctx, list(grads))
    # A call with `*` is one of C: passes nested in passes would fill the thread's stack.
    return backward(ctx, grads[0]) if len(grads) == 1 else backward(ctx, *grads)


def call_jvp(ctx: BackwardCFunction, tangents: tuple) -> Any:
    """What the Function's ``jvp`` returns."""
    return type(ctx)._forward_cls.jvp(ctx, *tangents)


def free_saved(ctx: BackwardCFunction) -> None:
    """Free what was saved, unless the running pass keeps its graph."""
    if not state.keep_graph:
        forget_saved(ctx)


def forget_saved(ctx: Any) -> None:
    """Free what was saved: passes do so when the node has run."""
    ctx._s0_, ctx._freed_ = None, True


def function_backward(ctx: BackwardCFunction, g, create_graph: bool):
    """Run a Function's ``backward`` and check what it returns."""
    grads: tuple[Tensor | None, ...]
    if ctx._outputs_ == 1:
        grads = (owned(g),)
    else:
        grads = tuple(map(owned, g)) if g is not None else (None,) * ctx._outputs_
    if (g is None or ctx._outputs_ != 1) and ctx.materialize_grads:
        grads = tuple(zeros_of(t.layout) if x is None and t is not None else x for x, t in zip(grads, ctx._plan_.outs))
    enabled, before = mode.enabled, chosen() if opened else None
    results = handed_over(type(ctx)._forward_cls, ctx, grads)
    mode.enabled = enabled  # NOTE [Grad mode of a pass]
    if before is not None:
        put_back(before)
    layouts = ctx._input_layouts_
    if (
        isinstance(results, Tensor)
        and len(layouts) == 1
        and results.layout is layouts[0]
        and not layouts[0].special
        and ctx._needs_[0]
    ):
        return results
    checked = checked_gradients(ctx, results if isinstance(results, tuple) else (results,))
    return checked[0] if len(checked) == 1 else tuple(checked)


def checked_gradients(ctx: BackwardCFunction, results: tuple) -> list:
    """A gradient or None for every tensor among the arguments.

    Raises:
        GradError: their number is wrong, or one is no tensor or belongs to no tensor. ShapeError, DTypeError: of a wrong form.
    """
    name, count = ctx._rule_.name, len(ctx._input_layouts_)
    if len(results) > count and all(r is None for r in results[count:]):
        results = results[:count]
    if len(results) != count:
        raise GradError(f"{name}: backward returned {len(results)} gradients, expected {count}, one for every argument of forward.")
    checked: list[Tensor | None] = []
    for k, (value, needed, layout) in enumerate(zip(results, ctx._needs_, ctx._input_layouts_)):
        if value is not None and not isinstance(value, Tensor):
            raise GradError(f"{name}: backward returned {type(value).__name__} for argument {k}, expected a Tensor or None.")
        if layout is not None:
            checked.append(
                None
                if value is None or not needed
                else value
                if value.layout is layout and not layout.special
                else validate_gradient(f"{name}.backward, argument {k}", value, layout)
            )
        elif value is not None:
            raise GradError(f"{name}: backward returned a gradient for argument {k}, which is not a Tensor; expected None.")
    return checked


def zeros_of(layout: Layout) -> Tensor:
    """Zeros for a result that received no gradient."""
    return CALLS["new_full"](layout.like(), 0)


# ---- in programs: NOTE [Nodes in programs] of collecting.py ------------------------------------------------------------


def collect_function(ctx: BackwardCFunction, collector: Collector) -> None:
    """Tell a collector what the Function's ``backward`` depends on."""
    cls = type(ctx)._forward_cls
    collector.words += (cls, ctx._needs_, ctx._input_layouts_, [None if x is None else x.layout for x in ctx._plan_.outs])
    collector.collect((ctx.needs_input_grad, ctx.materialize_grads, ctx._constants_))
    if ctx._freed_ or cls.clear_saved_tensors_on_access:
        collector.refuse()
    own = getattr(cls, "compiled_args", None)
    if own is None:
        collector.call(cls._backward_method())
    for saved in ctx._s0_ or ():
        collector.collect(saved.output)
        if saved.value is None:
            collector.collect(None)
        elif isinstance(saved.value, SavedTensor):
            collector.refuse()
        else:
            collector.collect(saved.value, saved.version)
    if own is None:
        collector.collect(vars(ctx))
    else:
        own(ctx, collector)


def function_with_saved(ctx: BackwardCFunction, values: Sequence[Tensor], g: Any) -> Any:
    """What ``backward`` gives for a ctx that holds other tensors."""
    rest, saved, held = iter(values), ctx._s0_, dict(vars(ctx))
    try:
        if saved is not None:
            ctx._s0_ = tuple([each if each.value is None else SavedArgument(next(rest), each.output) for each in saved])
        own = getattr(type(ctx)._forward_cls, "apply_with_saved", None)
        if own is not None:
            results = own(ctx, list(rest), g)
            checked = checked_gradients(ctx, results if isinstance(results, tuple) else (results,))
            return checked[0] if len(checked) == 1 else tuple(checked)
        vars(ctx).update({name: with_tensors(x, lambda _: next(rest), Tensor) for name, x in held.items()})
        return function_backward(ctx, g, mode.enabled)
    finally:
        ctx._s0_ = saved
        vars(ctx).clear()
        vars(ctx).update(held)


# ---- forward mode --------------------------------------------------------------------------------------------------


def function_tangents(ctx: BackwardCFunction, args: tuple, results: tuple, tangents: tuple) -> tuple:
    """The tangents of a call's results, by the Function's ``jvp``.

    Args:
        ctx: of the call, whose ``forward`` has run.
        args: its arguments.
        results: what ``forward`` returned.
        tangents: for every argument its tangent, or None.

    Returns:
        For every result a tangent of its shape and dtype, or None.

    Raises:
        GradError: another number of tangents, or something that is no tangent of its result.
    """
    if ctx.materialize_grads:
        tangents = tuple(
            zeros_of(x.layout) if t is None and isinstance(x, Tensor) and x.layout.dtype.differentiable else t
            for x, t in zip(args, tangents)
        )
    made = call_jvp(ctx, tangents)
    made = made if isinstance(made, tuple) else (made,)
    if len(made) != len(results):
        raise GradError(f"{ctx._rule_.name}: jvp returned {len(made)} tangents, expected {len(results)}, one for every result.")
    for k, (t, x) in enumerate(zip(made, results)):
        check_tangent(f"{ctx._rule_.name}: jvp", k, t, x)
        if t is not None and k in ctx._constants_:
            raise GradError(
                f"{ctx._rule_.name}: jvp returned a tangent for result {k}, which forward marked as not "
                "differentiable; expected None."
            )
    return made


def check_tangent(who: str, k: int, t: Any, x: Any) -> None:
    """Refuse what is no tangent of a result."""
    if t is None:
        return
    if not isinstance(t, Tensor) or not isinstance(x, Tensor):
        raise GradError(
            f"{who} returned {type(t).__name__} for result {k}, which is a {type(x).__name__}; "
            "expected a Tensor for a Tensor, else None."
        )
    if t.layout.shape != x.layout.shape or t.layout.dtype is not x.layout.dtype:
        raise GradError(
            f"{who} returned {t.layout.dtype.name} {list(t.layout.shape)} for result {k}, "
            f"expected {x.layout.dtype.name} {list(x.layout.shape)}."
        )
