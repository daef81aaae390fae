"""The entry points ``backward`` and ``grad``; and ``Variable``, which old programs call tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, overload

from ..base.bounded import Plans
from ..base.calls import CALLS
from ..base.errors import ArgumentError, DeviceError, DTypeError, GradError, RangeError, RootError, ShapeError
from ..base.function_attributes import attach
from ..base.grad_mode import mode, refuse_in_transform, special, unusual
from ..base.user_stack import warn_user
from ..batch.gradients import with_batched_cotangents, with_batched_tensors
from ..batch.tensors import has_batched
from ..engine import describe, run_backward
from ..graph.edges import AccumulateGrad, Edge, GradientEdge, edge_of, requires_grad, retain_grad
from ..graph.node import Node
from ..graph.rule import name_of
from ..graph.task import GradientCaptures, Target, current_graph_task, queue_callback, target
from ..modes.overrides import handle_function, has_function_of_passes
from ..tensors.choices import current
from ..tensors.layout import Layout, sparse_marks
from ..tensors.storage import LENT
from ..tensors.tensor import Tensor, is_sparse, native, require_differentiable, values_if_sparse

__all__ = ["backward", "grad", "Variable", "VariableMeta", "variable"]

Key = TypeVar("Key")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
    *,
    compiled: bool = False,
) -> None:
    """Add to ``.grad`` of the leaves the gradients of the sum of ``tensors`` weighted by ``grad_tensors``.

    Args:
        tensors: roots: a Tensor, a GradientEdge, or a sequence of those.
        grad_tensors: cotangents, of the roots' shapes; None where a root is a real number (shape of one element).
        retain_graph: keep what was saved for another pass; None means ``create_graph``.
        create_graph: record the pass, so that its results can be differentiated.
        grad_variables: the old name of ``grad_tensors``.
        inputs: accumulate into these only: a Tensor, a GradientEdge, a sequence of those, or a dict of tensors. A tensor that is no
            leaf keeps its gradient from now on, as after ``retain_grad``.
        compiled: run the pass as within ``nbgrad.jit.compiled_autograd()``: from the second of its kind on it is one native call.

    Raises:
        GradError: a root that does not require grad, a graph that was freed, ``inputs`` that require no grad.
        ShapeError, DTypeError, DeviceError: cotangents that do not fit.
        ArgumentError: roots or cotangents that are no tensors.

    >>> import nbgrad
    >>> x = nbgrad.tensor([2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([4., 6.])
    """
    if grad_variables is not None:
        grad_tensors = renamed_cotangents(grad_tensors, grad_variables)
    if unusual:
        roots = as_sequence("backward", "roots", tensors)
        tensors = tensors if isinstance(tensors, Tensor) else roots
        if has_function_of_passes(*roots):
            return handle_function(
                backward,
                roots,
                tensors,
                grad_tensors=grad_tensors,
                retain_graph=retain_graph,
                create_graph=create_graph,
                inputs=inputs,
                **({"compiled": True} if compiled else {}),
            )
        if has_batched((tensors,)):
            raise GradError(
                "backward: a leaf has one gradient, not one for each element of the batch that vmap maps over. "
                "Hint: nbgrad.func.grad, or nbgrad.grad."
            )
        refuse_in_transform("backward", "nbgrad.grad, or a transform inside of the transform")
    if inputs is not None:
        inputs = tuple(map(values_if_sparse, as_inputs("backward", inputs)))
    seeds = make_seeds("backward", tensors, grad_tensors, create_graph)
    if create_graph:
        create_graph = True  # what native code asks for
        warn_user(
            "backward(create_graph=True) makes a reference cycle between a leaf and its gradient. "
            "Hint: use nbgrad.grad, or set .grad = None afterwards."
        )
    keep = create_graph if retain_graph is None else retain_graph
    (run_compiled if compiled else run_backward)(seeds, keep, create_graph, None, None if inputs is None else sinks_of(inputs))


def run_compiled(*args: Any) -> None:
    """``run_backward`` as within ``nbgrad.jit.compiled_autograd()``."""
    with import_module("nbgrad.jit.live").compiled_autograd():
        run_backward(*args)


def renamed_cotangents(grad_tensors, grad_variables):
    """The cotangents, given under their old name.

    Raises:
        GradError: under both.
    """
    warn_user("backward: grad_variables is the old name of grad_tensors. Hint: use the new one.", FutureWarning)
    if grad_tensors is not None:
        raise GradError("backward: got both grad_tensors and grad_variables, its old name; expected one of them.")
    return grad_variables


def sinks_of(inputs: tuple) -> set[Target]:
    """The leaves and nodes behind ``inputs``; tensors that are no leaves will keep their gradients."""
    sinks = set()
    for position, x in enumerate(inputs):
        node, _ = place_of("backward", x, position)
        if isinstance(x, Tensor):
            retain_grad(x)
        sinks.add(node)
    return sinks


@overload
def grad(outputs: Any, inputs: dict[Key, Any], *args: Any, **named: Any) -> dict[Key, Tensor]: ...


@overload
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    compiled: bool = False,
) -> tuple[Tensor, ...]: ...


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    compiled: bool = False,
):
    """The gradients of the sum of ``outputs``, weighted by ``grad_outputs``, with respect to ``inputs``.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for ``backward``.
        inputs: a Tensor, a GradientEdge, a sequence of those, or a dict of tensors.
        only_inputs: has no meaning any more.
        allow_unused: give None for inputs that the outputs do not depend on, instead of an error.
        is_grads_batched: the first dimension of the cotangents is a batch, and so is that of the gradients: one pass for all.
        materialize_grads: give zeros for them.
        compiled: as for ``backward``.

    Returns:
        A tuple with one gradient an input; a dict if ``inputs`` is one.

    Raises:
        GradError: an input that is not used or requires no grad. RangeError: contradictory arguments.
        ArgumentError: outputs, inputs or cotangents of the wrong type.

    >>> import nbgrad
    >>> x = nbgrad.tensor(3.0, requires_grad=True)
    >>> nbgrad.grad(x ** 2, x)
    (tensor(6.),)
    """
    if materialize_grads:
        if allow_unused is False:
            raise RangeError("grad: materialize_grads=True needs allow_unused True or None.")
        allow_unused = True
    places = as_inputs("grad", inputs)
    if sparse_marks and any(map(is_sparse, places)):
        settings = retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched, materialize_grads
        found = grad_of_values(places, outputs, grad_outputs, settings, compiled)
        return dict(zip(inputs, found)) if type(inputs) is dict else found
    if not only_inputs:
        warn_user("grad: only_inputs is ignored; gradients are always of inputs only.", FutureWarning)
    if is_grads_batched or unusual:
        outputs = outputs if isinstance(outputs, Tensor) else as_sequence("grad", "roots", outputs)
        inputs = inputs if isinstance(inputs, (Tensor, dict)) else places
        instead = other_way(outputs, places, is_grads_batched)
        if instead is not None:
            return instead(
                outputs,
                inputs,
                grad_outputs,
                retain_graph=retain_graph,
                create_graph=create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize_grads,
            )
    seeds = make_seeds("grad", outputs, grad_outputs, create_graph)
    captures = captures_of(places)
    if not seeds and not allow_unused:
        raise GradError("grad: there are no outputs, so no input was used to compute them. Hint: allow_unused=True.")
    if create_graph:
        create_graph = True  # what native code asks for
    keep = create_graph if retain_graph is None else retain_graph
    (run_compiled if compiled else run_backward)(seeds, keep, create_graph, captures)
    results = captures.values
    for position, g in enumerate(results):
        if g is None or (g._needs_grad_ and not create_graph):
            results[position] = result_of(places[position], g, create_graph, allow_unused, materialize_grads, position)
    return dict(zip(inputs, results)) if type(inputs) is dict else tuple(results)


def grad_of_values(places: tuple, outputs: Any, grad_outputs: Any, settings: tuple, compiled: bool) -> tuple:
    """``grad`` by inputs some of which are sparse, whose gradients are those of their values, at their places."""
    found = grad(outputs, tuple(map(values_if_sparse, places)), grad_outputs, *settings, compiled=compiled)
    return tuple(x.with_values(g) if is_sparse(x) and g is not None else g for x, g in zip(places, found))


def cotangent_if_sparse(root: Any, g: Any) -> Any:
    """The cotangent of a sparse root's values; of another root as it is."""
    return g if g is None or not is_sparse(root) else g.sparse_mask(root)._given_


def other_way(outputs, places: tuple, is_grads_batched: bool) -> Callable | None:
    """The function that does the work of ``grad`` for an overriding type or mode, or a pass on batches; else None."""
    relevant = (*as_sequence("grad", "roots", outputs), *places)
    if unusual and has_function_of_passes(*relevant):
        return partial(handle_function, grad, relevant, is_grads_batched=is_grads_batched)
    if is_grads_batched:
        return partial(with_batched_cotangents, grad)
    return partial(with_batched_tensors, grad) if has_batched(relevant) else None


def result_of(x, g: Tensor | None, create_graph: bool, allow_unused, materialize: bool, position: int) -> Tensor | None:
    """One entry of ``grad``'s result.

    Raises:
        GradError: ``inputs[position]`` was not used, and that is not allowed.
    """
    if g is not None:
        return g.detach() if not create_graph and g._needs_grad_ and requires_grad(g) else g
    if not allow_unused:
        raise GradError(
            f"grad: inputs[{position}] was not used to compute the outputs. "
            "Hint: allow_unused=True gives None, materialize_grads=True zeros."
        )
    if not materialize:
        return None
    if not isinstance(x, Tensor):
        raise GradError(f"grad: materialize_grads with an unused GradientEdge at inputs[{position}]: it has no shape of its own.")
    zeros = CALLS["zeros_like"](x)
    zeros._needs_grad_ = bool(create_graph)
    return zeros


# ---- what comes in -------------------------------------------------------------------------------------------------


def as_sequence(op: str, what: str, value) -> tuple:
    """One tensor or edge, or an iterable of them, as a tuple.

    Raises:
        ArgumentError: neither.
    """
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        raise ArgumentError(f"{op}: {what} must be a Tensor, or a sequence of them, got {type(value).__name__}.") from None


def as_inputs(op: str, inputs) -> tuple:
    """The tensors and edges to differentiate with respect to.

    Raises:
        ArgumentError: a mapping that is no dict; no iterable. GradError: there are none.
    """
    if isinstance(inputs, Tensor):
        return (inputs,)
    kind = type(inputs)
    if kind is list or kind is tuple:
        found = tuple(inputs)
    elif kind is dict:
        found = tuple(inputs.values())
    elif isinstance(inputs, Mapping):  # the abstract class, asked last
        raise ArgumentError(f"{op}: inputs must be a dict if it is a mapping, got {type(inputs).__name__}.")
    else:
        found = as_sequence(op, "inputs", inputs)
    if not found:
        raise GradError(f"{op}: inputs is empty; expected at least one tensor.")
    return found


def place_of(op: str, x, position: int) -> tuple[Target, int]:
    """The node or leaf where the gradient of an input arrives, and at which of its outputs; None for a view without history.

    Raises:
        GradError: no tensor or edge; one that does not require grad.
    """
    if isinstance(x, GradientEdge):
        return target(checked_node(op, x)), x.output_nr
    if not isinstance(x, Tensor):
        raise GradError(f"{op}: inputs[{position}] must be a Tensor or a GradientEdge, got {type(x).__name__}.")
    if not x._needs_grad_ or not requires_grad(x):
        raise GradError(f"{op}: inputs[{position}] does not require grad.")
    edge = x._edge_ or edge_of(x)
    return (edge.node, edge.nr) if type(edge) is Edge else (target(edge), 0)


def captures_of(inputs: tuple) -> GradientCaptures:
    """Where the gradients of ``inputs`` are to be collected."""
    captures = GradientCaptures(len(inputs))
    wanted = captures.wanted
    for position, x in enumerate(inputs):
        if isinstance(x, Tensor) and x._needs_grad_ is True and x._edge_ is None:
            node, nr = x, 0  # a leaf
        else:
            node, nr = place_of("grad", x, position)
        if node in wanted:
            wanted[node] += ((nr, position),)
        elif node is not None:
            wanted[node] = ((nr, position),)
    return captures


def make_seeds(op: str, roots, cotangents, recorded: bool) -> list[tuple[Any, Tensor | None]]:
    """``(edge, cotangent)`` of every root; ``recorded``: of a pass that is."""
    if sparse_marks:
        if isinstance(roots, Tensor):
            roots, cotangents = values_if_sparse(roots), cotangent_if_sparse(roots, cotangents)
        elif cotangents is not None:
            roots, cotangents = as_sequence(op, "roots", roots), as_sequence(op, "the cotangents", cotangents)
            cotangents = (*map(cotangent_if_sparse, roots, cotangents), *cotangents[len(roots) :])
            roots = tuple(map(values_if_sparse, roots))
    if isinstance(roots, Tensor):
        if cotangents is None:
            return [(root_edge(op, roots), implicit_seed(op, roots.layout, recorded))]
        if isinstance(cotangents, Tensor):
            return [(root_edge(op, roots), explicit_seed(op, cotangents, roots.layout, 0))]
    roots = as_sequence(op, "roots", roots)
    cotangents = (None,) * len(roots) if cotangents is None else as_sequence(op, "the cotangents", cotangents)
    if len(cotangents) < len(roots):
        raise GradError(f"{op}: {len(roots)} roots but {len(cotangents)} cotangents.")
    seeds: list[tuple[Any, Tensor | None]] = []
    for position, (root, g) in enumerate(zip(roots, cotangents)):
        edge = root_edge(op, root)
        layout = root.layout if isinstance(root, Tensor) else edge_layout(op, root)
        seeds.append((edge, implicit_seed(op, layout, recorded) if g is None else explicit_seed(op, g, layout, position)))
    return seeds


def checked_node(op: str, edge: GradientEdge) -> Node:
    """The node of a GradientEdge, which anybody may have put together.

    Raises:
        GradError: it is none.
    """
    if not isinstance(edge.node, Node):
        raise GradError(f"{op}: a GradientEdge must hold a node of the graph, got {type(edge.node).__name__}.")
    return edge.node


def edge_layout(op: str, edge: GradientEdge) -> Layout:
    """The layout of the gradient that arrives at an edge."""
    layouts = edge.node._input_metadata
    if not 0 <= edge.output_nr < len(layouts):
        raise GradError(f"{op}: a GradientEdge of output {edge.output_nr} of {name_of(edge.node)}, which has {len(layouts)}.")
    return layouts[edge.output_nr]


def root_edge(op: str, root):
    """Where the cotangent of a root goes in."""
    if isinstance(root, GradientEdge):
        node = checked_node(op, root)
        if type(node) is AccumulateGrad:
            return node._variable_
        return node if root.output_nr == 0 and node._outputs_ == 1 else Edge(node, root.output_nr)
    if not isinstance(root, Tensor):
        raise RootError(f"{op}: roots must be tensors or GradientEdges, got {type(root).__name__}.")
    if not root._needs_grad_ or not requires_grad(root):
        raise GradError(
            f"{op}: the root does not require grad and has no grad_fn. "
            "Hint: was it computed under no_grad(), or from tensors that do not require grad?"
        )
    edge = root._edge_ or edge_of(root)
    if edge is None:
        raise GradError(f"{op}: the root is a view without history (made under no_grad()).")
    return edge


# NOTE [Lent cotangents]: the cotangent 1 is made once for each layout. Its storage says ``LENT``: nothing
# is ever written to it, no leaf takes it over, and where users would see it, or a view of it, they get memory of their own
# (``owned`` in engine.py): hooks, custom Functions, what ``grad`` returns. What a recorded pass, or an interpreter, may keep is
# made anew for each.
def lent_one(layout: Layout) -> Tensor:
    """The cotangent 1 that is lent. What is captured for a graph reads it like what was there before: it outlives the graph."""
    if layout.memory is None:
        one = new_one(layout)
    elif current.capture is None:
        one = settled_one(layout)
    else:
        one = current.capture.beside(lambda: settled_one(layout))
    one._storage_.writable = LENT
    return one


def settled_one(layout: Layout) -> Tensor:
    """A 1 on a GPU that is there for all streams."""
    from ..tensors.heaps import heap_at

    one, found = new_one(layout), heap_at(layout.device)
    found.card.settle(found.stream())
    return one


_lent = Plans(lent_one, 256)


def implicit_seed(op: str, layout: Layout, recorded: bool) -> Tensor:
    """The cotangent 1 of a real number: see NOTE [Lent cotangents]."""
    if layout.numel != 1:
        raise GradError(
            f"{op}: a cotangent can be left out for a root of one element only, this one is {describe(layout)}. "
            "Hint: x.sum().backward(), or pass gradient=."
        )
    if not layout.dtype.is_floating_point:
        raise GradError(f"{op}: a cotangent can be left out for real floating roots only, this one is {layout.dtype.name}.")
    layout = layout.unmarked() if layout.special else layout
    if special:
        return new_one(layout)
    return CALLS["clone"](_lent[layout]) if recorded else _lent[layout]


def new_one(layout: Layout) -> Tensor:
    """A 1 of that layout."""
    enabled, mode.enabled = mode.enabled, False
    try:
        return CALLS["new_full"](layout, 1.0)
    finally:
        mode.enabled = enabled


def explicit_seed(op: str, g, layout: Layout, position: int) -> Tensor:
    """A given cotangent, checked and cast to the root's dtype."""
    if isinstance(g, Tensor):
        if g.layout is layout:
            return g
    else:
        raise ArgumentError(f"{op}: the cotangent of root {position} must be a Tensor or None, got {type(g).__name__}.")
    if g.layout.shape != layout.shape:
        raise ShapeError(f"{op}: the cotangent of root {position} has shape {list(g.layout.shape)}, expected {list(layout.shape)}.")
    if g.layout.device is not layout.device:
        if g.layout.ndim:
            raise DeviceError(
                f"{op}: the cotangent of root {position} is on {g.layout.device}, the root on {layout.device}. "
                "Hint: g.to(root.device)."
            )
        g = CALLS["to_device"](g, layout.device)  # a number, as it is beside tensors of a GPU
    if g.layout.dtype.is_complex != layout.dtype.is_complex:
        raise DTypeError(
            f"{op}: the cotangent of root {position} is {g.layout.dtype.name}, the root {layout.dtype.name}: "
            "both must be real or both complex."
        )
    return g if g.layout.dtype is layout.dtype else CALLS["to_dtype"](g, layout.dtype)


# ---- names of old programs -----------------------------------------------------------------------------------------


class VariableMeta(type):
    """Tensors are Variables."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class ExecutionEngine:
    """The engine, as programs reach it that go through ``Variable._execution_engine``."""

    queue_callback = staticmethod(queue_callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether every leaf gets its gradient: not inside of ``grad`` and of passes with ``inputs``."""
        task = current_graph_task()
        return task is None or task.needed is None

    @staticmethod
    def run_backward(
        tensors,
        grad_tensors,
        keep_graph: bool,
        create_graph: bool,
        inputs=(),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ):
        """``backward`` or ``grad`` with all arguments given."""
        if accumulate_grad:
            return backward(tensors, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
        return grad(tensors, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable)


class Variable(metaclass=VariableMeta):
    """The old name of tensors with a gradient: ``Variable(x, requires_grad)`` is a leaf on the memory of ``x``.

    Raises:
        ArgumentError: ``x`` is no Tensor. DTypeError: ``requires_grad`` for a dtype without gradients.

    >>> import nbgrad
    >>> nbgrad.Variable(nbgrad.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False, **names: Any) -> Any:
        if data is None:
            data = import_module("nbgrad.creation.from_data").tensor([])
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Variable: expected a Tensor, got {type(data).__name__}. Hint: nbgrad.tensor(data).")
        if requires_grad:
            require_differentiable("Variable", data.layout.dtype)
        if volatile:
            warn_user("Variable: volatile has no effect. Hint: compute under nbgrad.no_grad().")
        x = native.alias(data)
        x._needs_grad_ = bool(requires_grad)
        return x


def variable(*args: Any, **kwargs: Any) -> None:
    """Was once ``nbgrad.tensor``.

    Raises:
        GradError: always.
    """
    raise GradError("variable: was replaced. Hint: nbgrad.tensor(data, requires_grad=True).")


attach(variable, Variable=Variable)  # `autograd.variable.Variable`: the function hides torch's module
