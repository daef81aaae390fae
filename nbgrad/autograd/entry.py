"""The entry points ``backward`` and ``grad``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, overload

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError, RangeError
from ..base.grad_mode import refuse_in_transform, unusual
from ..base.user_stack import warn_user
from ..batch.gradients import with_batched_cotangents, with_batched_tensors
from ..batch.tensors import has_batched
from ..engine import run_backward
from ..graph.edges import Edge, GradientEdge, edge_of, requires_grad, retain_grad
from ..graph.task import GradientCaptures, Target, target
from ..modes.overrides import handle_function, has_function_of_passes
from ..tensors.layout import sparse_marks
from ..tensors.tensor import Tensor, is_sparse, values_if_sparse
from .seeds import as_sequence, checked_node, make_seeds

__all__ = ["backward", "grad"]

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
