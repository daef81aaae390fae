"""``torch.autograd.functional``: Jacobians, Hessians, and their products with vectors.

Functions take tensors and return a tensor or a tuple of them; the structure of a result follows that of arguments and results. The
caller's tensors are left alone: the function gets views or detached aliases of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable

from ..autograd.entry import grad
from ..base.calls import CALLS
from ..base.errors import GradError, NotSupportedError, RangeError, require_callable
from ..base.grad_mode import mode
from ..base.mode_contexts import set_grad_enabled
from ..creation.factories import eye
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor
from .jacobians import forward_columns
from .tensor_tuples import (  # noqa: F401  with torch's private names
    Tensors,
    _as_tuple,
    _construct_standard_basis_for,
    _grad_postprocess,
    _grad_preprocess,
    _tuple_postprocess,
    as_given,
    as_tensors,
    finished,
    fresh_inputs,
    require_dependence,
    vectors_like,
)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

# ``torch.functional``, which has this path too: the functions that torch writes in Python.
PLAIN = """atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum
istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index""".split()


def __getattr__(name: str) -> Any:
    if name in PLAIN:
        return getattr(import_module(__name__.partition(".")[0]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")


STRATEGIES = ("reverse-mode", "forward-mode")


class StrategyError(RangeError, AssertionError):
    """A word that names no strategy."""


def gradients(outputs: Tensors, inputs: Tensors, vectors: Tensors | None = None, create_graph: bool = False) -> tuple:
    """``grad`` of those outputs that require it; None for an input that none depends on."""
    chosen = [k for k, x in enumerate(outputs) if requires_grad(x)]
    if not chosen:
        return (None,) * len(inputs)
    cotangents = None if vectors is None else [vectors[k] for k in chosen]
    return grad(
        [outputs[k] for k in chosen],
        inputs,
        cotangents,
        create_graph=create_graph,
        retain_graph=create_graph or None,
        allow_unused=True,
    )


def with_zeros(op: str, grads: tuple, like: Tensors, strict: bool, create_graph: bool, what: str = "input") -> Tensors:
    """Gradients, with zeros for what has none.

    Raises:
        GradError: with ``strict``, for an input that has none, or one whose gradient is a constant where its graph is wanted.
    """
    made = []
    for position, (g, x) in enumerate(zip(grads, like)):
        if strict and (g is None or (create_graph and not requires_grad(g))):
            raise GradError(
                f"{op}: the result does not depend on {what} {position}, which strict=True refuses. Hint: strict=False gives zeros."
            )
        made.append(CALLS["zeros_like"](x) if g is None else g)
    return tuple(made)


# ---- products with vectors -----------------------------------------------------------------------------------------


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of ``v`` with its Jacobian, from the left.

    Args:
        func: of tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: of the structure and shapes of the results; not needed for one number.
        create_graph: results can be differentiated.
        strict: refuse inputs that the results do not depend on, instead of giving zeros.

    Returns:
        ``(func(*inputs), vjp)``; the product has the structure and shapes of the inputs.

    Raises:
        ArgumentError: arguments or results that are no tensors. GradError, ShapeError: see ``v`` and ``strict``.

    >>> import nbgrad
    >>> nbgrad.functional.vjp(lambda x: x ** 2, nbgrad.tensor([1.0, 2.0]), nbgrad.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with set_grad_enabled(True):
        require_callable("vjp", func)
        is_inputs_tuple, given = as_tensors("vjp", "inputs", inputs)
        given = fresh_inputs(given, create_graph, True)
        is_outputs_tuple, outputs = as_tensors("vjp", "the result of func", func(*given))
        require_dependence("vjp", outputs, "result", strict)
        vectors = vectors_like("vjp", v, outputs, is_outputs_tuple, "the result", create_graph)
    with set_grad_enabled(create_graph or mode.enabled):
        product = with_zeros("vjp", gradients(outputs, given, vectors, create_graph), given, strict, create_graph)
    return (as_given(finished(outputs, create_graph), is_outputs_tuple), as_given(finished(product, create_graph), is_inputs_tuple))


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """``func(*inputs)`` and the product of its Jacobian with ``v``, from the right: by differentiating ``vjp`` in its vector.

    Arguments and errors are those of ``vjp``, but ``v`` has the structure and shapes of the inputs, and the product of the results.

    >>> import nbgrad
    >>> nbgrad.functional.jvp(lambda x: x ** 2, nbgrad.tensor([1.0, 2.0]), nbgrad.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with set_grad_enabled(True):
        require_callable("jvp", func)
        is_inputs_tuple, given = as_tensors("jvp", "inputs", inputs)
        given = fresh_inputs(given, create_graph, True)
        vectors = vectors_like("jvp", v, given, is_inputs_tuple, "the input", create_graph)
        is_outputs_tuple, outputs = as_tensors("jvp", "the result of func", func(*given))
        require_dependence("jvp", outputs, "result", strict)
        dummies = tuple(CALLS["zeros_like"](x, requires_grad=True) for x in outputs)
        back = with_zeros("jvp", gradients(outputs, given, dummies, True), given, strict, False)
        require_dependence("jvp", back, "the gradient of input", strict)
    if vectors is None:
        vectors = tuple(CALLS["ones_like"](x) for x in given)
    with set_grad_enabled(create_graph or mode.enabled):
        products = gradients(back, dummies, vectors, create_graph)
        product = with_zeros("jvp", products, outputs, strict, create_graph, "the input: result")
    return (
        as_given(finished(outputs, create_graph), is_outputs_tuple),
        as_given(finished(product, create_graph), is_outputs_tuple),
    )


def number_from(op: str, func: Callable, given: Tensors, strict: bool) -> Tensor:
    """The one number that the function returns.

    Raises:
        GradError: it returns several tensors, or one of several elements.
    """
    is_tuple, outputs = as_tensors(op, "the result of func", func(*given))
    require_dependence(op, outputs, "result", strict)
    if is_tuple or outputs[0].numel() != 1:
        raise GradError(
            f"{op}: func must return one tensor of one element, got "
            f"{f'{len(outputs)} tensors' if is_tuple else list(outputs[0].shape)}."
        )
    return outputs[0]


def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """``func(*inputs)``, one number, and the product of ``v`` with its Hessian, from the left.

    Arguments and errors are those of ``vjp``, but ``v`` has the structure and shapes of the inputs, as the product has.

    >>> import nbgrad
    >>> nbgrad.functional.vhp(lambda x: (x ** 3).sum(), nbgrad.tensor([1.0, 2.0]), nbgrad.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with set_grad_enabled(True):
        require_callable("vhp", func)
        is_inputs_tuple, given = as_tensors("vhp", "inputs", inputs)
        given = fresh_inputs(given, create_graph, True)
        vectors = vectors_like("vhp", v, given, is_inputs_tuple, "the input", create_graph)
        output = number_from("vhp", func, given, strict)
        slopes = with_zeros("vhp", gradients((output,), given, None, True), given, strict, False)
        require_dependence("vhp", slopes, "the gradient of input", strict)
    if vectors is None:
        vectors = tuple(CALLS["ones_like"](x) for x in given)
    with set_grad_enabled(create_graph or mode.enabled):
        product = with_zeros("vhp", gradients(slopes, given, vectors, create_graph), given, strict, create_graph)
    return finished(output, create_graph), as_given(finished(product, create_graph), is_inputs_tuple)


def hvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """``func(*inputs)``, one number, and the product of its Hessian with ``v``, from the right.

    Arguments and errors are those of ``vhp``, which costs less and gives the same where second derivatives are continuous.

    >>> import nbgrad
    >>> nbgrad.functional.hvp(lambda x: (x ** 3).sum(), nbgrad.tensor([1.0, 2.0]), nbgrad.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with set_grad_enabled(True):
        require_callable("hvp", func)
        is_inputs_tuple, given = as_tensors("hvp", "inputs", inputs)
        given = fresh_inputs(given, create_graph, True)
        vectors = vectors_like("hvp", v, given, is_inputs_tuple, "the input", create_graph)
        output = number_from("hvp", func, given, strict)
        slopes = with_zeros("hvp", gradients((output,), given, None, True), given, strict, False)
        require_dependence("hvp", slopes, "the gradient of input", strict)
        dummies = tuple(CALLS["zeros_like"](x, requires_grad=True) for x in given)
        back = with_zeros("hvp", gradients(slopes, given, dummies, True), given, strict, False)
        require_dependence("hvp", back, "the Hessian of input", strict)
    if vectors is None:
        vectors = tuple(CALLS["ones_like"](x) for x in given)
    with set_grad_enabled(create_graph or mode.enabled):
        product = with_zeros("hvp", gradients(back, dummies, vectors, create_graph), given, strict, create_graph)
    return finished(output, create_graph), as_given(finished(product, create_graph), is_inputs_tuple)


# ---- Jacobians -----------------------------------------------------------------------------------------------------


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function.

    Args:
        func: of tensors, returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        create_graph: the Jacobian can be differentiated.
        strict: refuse inputs that a result does not depend on, instead of giving zeros.
        vectorize: all rows (columns) in one pass, by batched gradients, instead of a pass for each.
        strategy: ``"reverse-mode"``, a row for each element of the results; or ``"forward-mode"``, a column for each of the inputs,
            with ``vectorize`` only.

    Returns:
        ``jacobian[i][j]`` of result i and input j, of shape ``result.shape + input.shape``; without ``[i]`` or ``[j]`` where func
        returns no tuple or inputs is none.

    Raises:
        ArgumentError: arguments or results that are no tensors. GradError: see ``strict``; ``strict`` with ``vectorize``.
        NotSupportedError: forward mode without ``vectorize``. StrategyError: another strategy.

    >>> import nbgrad
    >>> nbgrad.functional.jacobian(lambda x: x * x.sum(), nbgrad.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    require_callable("jacobian", func)
    require_strategy("jacobian", "strategy", strategy)
    if strict and (vectorize or strategy == "forward-mode"):
        raise GradError("jacobian: strict=True goes with neither vectorize=True nor strategy='forward-mode'.")
    if strategy == "forward-mode":
        if not vectorize:
            raise NotSupportedError("jacobian: strategy='forward-mode' needs vectorize=True.")
        return forward_jacobian(func, inputs)
    with set_grad_enabled(True):
        is_inputs_tuple, given = as_tensors("jacobian", "inputs", inputs)
        given = fresh_inputs(given, create_graph, True)
        is_outputs_tuple, outputs = as_tensors("jacobian", "the result of func", func(*given))
        require_dependence("jacobian", outputs, "result", strict)
        rows = batched_rows if vectorize else looped_rows
        found = tuple(rows(output, given, create_graph, strict) for output in outputs)
    made = tuple(as_given(finished(each, create_graph), is_inputs_tuple) for each in found)
    return as_given(made, is_outputs_tuple)


def require_strategy(op: str, what: str, strategy: str) -> None:
    """Refuse other words than the two.

    Raises:
        StrategyError: it is another.
    """
    if strategy not in STRATEGIES:
        raise StrategyError(f"{op}: {what} is {strategy!r}, expected 'reverse-mode' or 'forward-mode'.")


def looped_rows(output: Tensor, given: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobians of one result by every input: a pass for each of its elements."""
    rows: list[Tensors] = []
    flat = output.reshape(-1)
    for k in range(flat.numel() if requires_grad(output) else 0):  # select by select: the transpose of unbind fills all rows
        grads = grad(flat[k], given, create_graph=create_graph, retain_graph=True, allow_unused=True)
        rows.append(with_zeros("jacobian", grads, given, strict, create_graph))
    if not rows:
        return tuple(CALLS["zeros_like"](x).new_zeros((*output.shape, *x.shape)) for x in given)
    return tuple(CALLS["stack"](column).reshape((*output.shape, *x.shape)) for column, x in zip(zip(*rows), given))


def batched_rows(output: Tensor, given: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The same in one pass of batched cotangents."""
    if not requires_grad(output) or not output.numel():
        return tuple(x.detach().new_zeros((*output.shape, *x.shape)) for x in given)
    rows = unit_vectors(output)
    grads = grad(output, given, rows, create_graph=create_graph, retain_graph=True, allow_unused=True, is_grads_batched=True)
    return tuple(
        x.detach().new_zeros((*output.shape, *x.shape)) if g is None else g.reshape((*output.shape, *x.shape))
        for g, x in zip(grads, given)
    )


def unit_vectors(x: Tensor) -> Tensor:
    """For every element of ``x`` a tensor of its shape and dtype that is 1 there and 0 elsewhere, one behind the other."""
    count = x.numel()
    return eye(count, dtype=x.dtype, device=x.device).view((count, *x.shape))


def forward_jacobian(func: Callable, inputs: Any) -> Any:
    """The Jacobian, a column for every element of the inputs, in one pass of batched tangents each."""
    is_inputs_tuple, given = as_tensors("jacobian", "inputs", inputs)
    seen: list[bool] = []

    def checked(*args: Tensor) -> Tensors:
        is_tuple, outputs = as_tensors("jacobian", "the result of func", func(*args))
        seen.append(is_tuple)
        return outputs

    columns = forward_columns(checked, given)
    return as_given(tuple(as_given(row, is_inputs_tuple) for row in columns), seen[0])


# ---- Hessians ------------------------------------------------------------------------------------------------------


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that returns one number: the Jacobian of its gradient.

    Args:
        func: of tensors, returns a tensor of one element.
        inputs, create_graph, strict: as of ``jacobian``.
        vectorize, outer_jacobian_strategy: how the Jacobian of the gradient is computed.

    Returns:
        ``hessian[i][j]`` of shape ``inputs[i].shape + inputs[j].shape``; for a single input that alone.

    Raises:
        GradError: func returns something else. Otherwise as ``jacobian``.

    >>> import nbgrad
    >>> nbgrad.functional.hessian(lambda x: (x ** 3).sum(), nbgrad.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    require_callable("hessian", func)
    is_inputs_tuple, given = as_tensors("hessian", "inputs", inputs)
    require_strategy("hessian", "outer_jacobian_strategy", outer_jacobian_strategy)

    def slopes(*args: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            for x in args:
                if not requires_grad(x):
                    x.requires_grad = True
        output = number_from("hessian", func, args, False)
        if strict:
            require_dependence("hessian", (output,), "result", True)
        grads = with_zeros("hessian", gradients((output,), args, (CALLS["ones_like"](output),), True), args, strict, False)
        require_dependence("hessian", grads, "the gradient of input", strict)
        return grads

    made = jacobian(slopes, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return made if is_inputs_tuple else made[0][0]
