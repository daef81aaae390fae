"""Entry points: ``backward`` and ``grad``."""
from __future__ import annotations

import warnings
from typing import Any, Sequence

from .engine import Captures, describe, run_backward
from .errors import ArgumentError, DTypeError, GradError, RangeError, ShapeError
from .grad_mode import mode
from .graph import AccumulateGrad, Edge, GradientEdge, edge_of, requires_grad
from .layout import Layout
from .tensor import Tensor, native, new_meta

__all__ = ["backward", "grad"]

_ones: dict[Layout, Tensor] = {}


def backward(tensors, grad_tensors=None, retain_graph: bool | None = None, create_graph: bool = False, inputs=None) -> None:
    """Add to ``.grad`` of the leaves the gradients of the sum of ``tensors`` weighted by ``grad_tensors``.

    Args:
        tensors: roots: a Tensor, a GradientEdge, or a sequence of those.
        grad_tensors: cotangents, of the roots' shapes; None where a root is a real number (shape of one element).
        retain_graph: keep what was saved for another pass; None means ``create_graph``.
        create_graph: record the pass, so that its results can be differentiated.
        inputs: accumulate into these tensors only.

    Raises:
        GradError: a root that does not require grad, a graph that was freed, ``inputs`` that require no grad.
        ShapeError, DTypeError: cotangents that do not fit.

    >>> import nbgrad
    >>> x = nbgrad.tensor([2.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([4., 6.])
    """
    if inputs is not None:
        inputs = tuple(inputs.values()) if isinstance(inputs, dict) else as_sequence(inputs)
        if not inputs:
            raise GradError("backward: inputs is empty; expected at least one tensor, or None for all leaves.")
    seeds = make_seeds("backward", tensors, grad_tensors)
    if create_graph:
        warnings.warn("backward(create_graph=True) makes a reference cycle between a leaf and its gradient. "
                      "Hint: use nbgrad.grad, or set .grad = None afterwards.", UserWarning, stacklevel=2)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run_backward(seeds, keep, create_graph)
        return
    captures = make_captures("backward", inputs)
    run_backward(seeds, keep, create_graph, captures)
    deposit(inputs, captures, create_graph)


def deposit(inputs, captures: Captures, create_graph: bool) -> None:
    """Add captured gradients to the inputs' ``.grad``."""
    from . import accumulate as accumulation
    for position, x in enumerate(inputs):
        g = captures.values[position]
        captures.values[position] = None
        if isinstance(x, (GradientEdge, tuple)) and not isinstance(x, Tensor):
            x = x[0].variable
        if g is None:
            continue
        meta = x.meta = x.meta or new_meta()
        enabled, mode.enabled = mode.enabled, create_graph
        try:
            edge = edge_of(x)
            if edge is x:
                accumulation.accumulate(x, g)
            else:
                meta.grad = accumulation.CLONE(g) if meta.grad is None else accumulation.ADD(meta.grad, g)
        finally:
            mode.enabled = enabled


def grad(outputs, inputs, grad_outputs=None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False):
    """The gradients of the sum of ``outputs``, weighted by ``grad_outputs``, with respect to ``inputs``.

    Args:
        outputs, grad_outputs, retain_graph, create_graph: as for ``backward``.
        inputs: a Tensor, a GradientEdge, a sequence of those, or a dict of tensors.
        allow_unused: give None for inputs that the outputs do not depend on, instead of an error.
        materialize_grads: give zeros for them.

    Returns:
        A tuple with one gradient an input; a dict if ``inputs`` is one.

    Raises:
        GradError: an input that is not used or requires no grad. RangeError: contradictory arguments.

    >>> import nbgrad
    >>> x = nbgrad.tensor(3.0, requires_grad=True)
    >>> nbgrad.grad(x ** 2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warnings.warn("grad: only_inputs is ignored; gradients are always of inputs only.", FutureWarning, stacklevel=2)
    if materialize_grads:
        if allow_unused is False:
            raise RangeError("grad: materialize_grads=True needs allow_unused True or None.")
        allow_unused = True
    if is_grads_batched:
        from .errors import NotSupportedError
        raise NotSupportedError("grad: is_grads_batched is not available yet. Hint: loop over the cotangents with "
                                "retain_graph=True.")
    if isinstance(inputs, dict):
        values = grad(outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, True, allow_unused, False,
                      materialize_grads)
        return dict(zip(inputs, values))
    inputs = as_sequence(inputs)
    if not inputs:
        raise GradError("grad: inputs is empty; expected at least one tensor.")
    seeds = make_seeds("grad", outputs, grad_outputs)
    captures = make_captures("grad", inputs)
    run_backward(seeds, create_graph if retain_graph is None else retain_graph, create_graph, captures)
    return tuple(result_of("grad", x, g, create_graph, allow_unused, materialize_grads, position)
                 for position, (x, g) in enumerate(zip(inputs, captures.values)))


def result_of(op: str, x, g, create_graph: bool, allow_unused, materialize: bool, position: int):
    """One entry of ``grad``'s result."""
    if g is not None:
        if not create_graph and g.needs_grad and requires_grad(g):
            g = native.alias(g)
        return g
    if not allow_unused:
        raise GradError(f"{op}: inputs[{position}] was not used to compute the outputs. "
                        "Hint: allow_unused=True gives None, materialize_grads=True zeros.")
    if not materialize:
        return None
    if not isinstance(x, Tensor):
        raise GradError(f"{op}: materialize_grads with an unused GradientEdge at inputs[{position}]: it has no shape of its own.")
    from .dispatch import CALLS
    zeros = CALLS["zeros_like"](x)
    zeros.needs_grad = bool(create_graph)
    return zeros


def as_sequence(value) -> tuple:
    """One tensor or edge, or a sequence of them, as a tuple."""
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    return tuple(value)


def make_seeds(op: str, roots, cotangents) -> list[tuple[Any, Tensor | None]]:
    """``(edge, cotangent)`` of every root."""
    if isinstance(roots, Tensor) and cotangents is None:
        return [(root_edge(op, roots), implicit_seed(op, roots.layout))]
    roots = as_sequence(roots)
    if cotangents is None:
        cotangents = (None,) * len(roots)
    else:
        cotangents = (cotangents,) if isinstance(cotangents, Tensor) else tuple(cotangents)
    if len(cotangents) < len(roots):
        raise GradError(f"{op}: {len(roots)} roots but {len(cotangents)} cotangents.")
    seeds: list[tuple[Any, Tensor | None]] = []
    for position, (root, g) in enumerate(zip(roots, cotangents)):
        edge = root_edge(op, root)
        layout = root.layout if isinstance(root, Tensor) else edge_layout(root)
        seeds.append((edge, implicit_seed(op, layout) if g is None else explicit_seed(op, g, layout, position)))
    return seeds


def edge_layout(edge: GradientEdge) -> Layout:
    """The layout of the gradient that arrives at an edge."""
    node, nr = edge.node, edge.output_nr
    return node._input_metadata[nr]


def root_edge(op: str, root):
    """Where the cotangent of a root goes in."""
    if isinstance(root, GradientEdge):
        if type(root.node) is AccumulateGrad:
            return root.node.variable
        return root.node if root.output_nr == 0 and root.node.outputs == 1 else Edge(root.node, root.output_nr)
    if not isinstance(root, Tensor):
        raise ArgumentError(f"{op}: roots must be tensors or GradientEdges, got {type(root).__name__}.")
    if not root.needs_grad or not requires_grad(root):
        raise GradError(f"{op}: the root does not require grad and has no grad_fn. "
                        "Hint: was it computed under no_grad(), or from tensors that do not require grad?")
    edge = root.edge or edge_of(root)
    if edge is None:
        raise GradError(f"{op}: the root is a view without history (made under no_grad()).")
    return edge


def implicit_seed(op: str, layout: Layout) -> Tensor:
    """The cotangent 1 of a real number."""
    if layout.numel != 1:
        raise GradError(f"{op}: a cotangent can be left out for a root of one element only, this one is {describe(layout)}. "
                        "Hint: x.sum().backward(), or pass gradient=.")
    if not layout.dtype.is_floating_point:
        raise GradError(f"{op}: a cotangent can be left out for real floating roots only, this one is {layout.dtype.name}.")
    # Shared by all calls, and safe: the dict's reference keeps `accumulate` from taking it over.
    one = _ones.get(layout)
    if one is None:
        from .dispatch import CALLS
        enabled, mode.enabled = mode.enabled, False
        try:
            one = CALLS["new_full"](layout, 1.0)
        finally:
            mode.enabled = enabled
        if len(_ones) > 256:
            _ones.clear()
        _ones[layout] = one
    return one


def explicit_seed(op: str, g, layout: Layout, position: int) -> Tensor:
    """A given cotangent, checked and cast to the root's dtype."""
    if not isinstance(g, Tensor):
        raise ArgumentError(f"{op}: the cotangent of root {position} must be a Tensor or None, got {type(g).__name__}.")
    if g.layout.shape != layout.shape:
        raise ShapeError(f"{op}: the cotangent of root {position} has shape {list(g.layout.shape)}, expected {list(layout.shape)}.")
    if g.layout.dtype.is_complex != layout.dtype.is_complex:
        raise DTypeError(f"{op}: the cotangent of root {position} is {g.layout.dtype.name}, the root {layout.dtype.name}: "
                         "both must be real or both complex.")
    if g.layout.dtype is not layout.dtype:
        from .dispatch import CALLS
        g = CALLS["to_dtype"](g, layout.dtype)
    return g


def make_captures(op: str, inputs: Sequence) -> Captures:
    """Where the gradients of ``inputs`` are to be collected."""
    captures = Captures(len(inputs))
    for position, x in enumerate(inputs):
        if isinstance(x, GradientEdge):
            node, nr = x.node, x.output_nr
            if type(node) is AccumulateGrad:
                node = node.variable
        elif not isinstance(x, Tensor):
            raise GradError(f"{op}: inputs[{position}] must be a Tensor or a GradientEdge, got {type(x).__name__}.")
        else:
            if not x.needs_grad or not requires_grad(x):
                raise GradError(f"{op}: inputs[{position}] does not require grad.")
            edge = x.edge or edge_of(x)
            if edge is None:
                continue
            node, nr = (edge.node, edge.nr) if type(edge) is Edge else (edge, 0)
        captures.wanted.setdefault(node, {}).setdefault(nr, []).append(position)
    return captures
