"""Jacobians by themselves: functions of torch's that were never meant for users, and that old programs call."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..base.errors import RangeError
from ..base.mode_contexts import no_grad
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..tensors.arrays import tensor_of, values_of
from ..tensors.tensor import Tensor
from .measured_jacobians import (
    Numerical,
    Varied,
    as_arguments,
    pass_gradients,
    real_vector,
    results_of,
    size_of,
    tensor_from_reals,
    unit,
)

__all__ = ["get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input"]


def get_numerical_jacobian(fn: Callable, inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> tuple:
    """Jacobians of ``fn(inputs)`` by central differences.

    Args:
        fn: a function of one argument, the tuple ``inputs``, that returns real tensors.
        inputs: a Tensor or a tuple of arguments; the Jacobians are by those tensors that require grad.
        target: those of the inputs to differentiate by; None: all.
        eps: the step.
        grad_out: 1.

    Returns:
        For every input, one after the other for every output, a tensor (elements of the input, elements of the output).

    Raises:
        RangeError: a complex output, another ``grad_out``.
    """
    warn_of_age("get_numerical_jacobian")
    require_unit("get_numerical_jacobian", grad_out)
    wanted = as_arguments(inputs if target is None else target)
    arguments = as_arguments(inputs)
    chosen = [k for k, x in enumerate(arguments) if isinstance(x, Tensor) and requires_grad(x) and any(x is y for y in wanted)]

    def function(*values: Any) -> Any:
        return fn(values)

    return tuple(jacobian for k in chosen for jacobian in differences(function, arguments, k, eps))


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable, input_idx: int, inputs: Any, outputs: Any, eps: float, input: Tensor | None = None, is_forward_ad: bool = False
) -> tuple:
    """Jacobians of ``fn(*inputs)`` by one input, one for every output: see ``get_numerical_jacobian``.

    ``outputs`` and ``is_forward_ad`` are accepted for torch's sake.

    >>> import nbgrad
    >>> x = nbgrad.tensor([1.0, 3.0], dtype=nbgrad.float64, requires_grad=True)
    >>> jacobian, = get_numerical_jacobian_wrt_specific_input(lambda x: (x * x).sum(), 0, (x,), (), 1e-3)
    >>> jacobian.round(decimals=6)
    tensor([[2.],
            [6.]], dtype=nbgrad.float64)
    """
    arguments = list(as_arguments(inputs))
    if input is not None:
        arguments[input_idx] = input
    return differences(fn, tuple(arguments), input_idx, eps)


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> tuple:
    """Jacobians of a result by the backward mode.

    Returns:
        ``(jacobians, reentrant, sizes_ok, dtypes_ok)``: of every input that requires grad (its elements, the result's), whether two
        equal passes differ by at most ``nondet_tol``, and whether all gradients have their inputs' shapes and dtypes.

    Raises:
        RangeError: a complex output, another ``grad_out``.
    """
    warn_of_age("get_analytical_jacobian")
    require_unit("get_analytical_jacobian", grad_out)
    require_real(output)
    varied = [Varied(k, x) for k, x in enumerate(as_arguments(inputs)) if isinstance(x, Tensor) and requires_grad(x)]
    passes = [
        [pass_gradients((output,), varied, (tensor_from_reals(unit(k, size_of(output)), output),)) for k in range(size_of(output))]
        for _ in range(2)
    ]
    found, again = (
        tuple(as_columns(np.stack([real_vector(gs[i], x) for gs in rows]), x) for i, (_, x) in enumerate(varied)) for rows in passes
    )
    pairs = [(g, x) for gs in passes[0] for g, (_, x) in zip(gs, varied) if g is not None]
    reentrant = all(
        np.allclose(values_of(a), values_of(b), rtol=0.0, atol=nondet_tol, equal_nan=True) for a, b in zip(found, again)
    )
    return (
        found,
        reentrant,
        all(g.layout.shape == x.layout.shape for g, x in pairs),
        all(g.layout.dtype is x.layout.dtype for g, x in pairs),
    )


def differences(func: Callable, arguments: tuple, position: int, eps: float) -> tuple:
    """The Jacobians of all results by one argument."""
    with no_grad():
        results = results_of(func, arguments)
        for y in results:
            require_real(y)
        found = Numerical(func, arguments, range(len(results)), results, eps).jacobians(arguments[position])
    return tuple(as_columns(jacobian, arguments[position]) for jacobian in found)


def as_columns(jacobian: np.ndarray, x: Tensor) -> Tensor:
    """A Jacobian (results, reals of the input) as torch shows it: (elements of the input, results)."""
    wide = jacobian[:, ::2] + 1j * jacobian[:, 1::2] if x.layout.dtype.is_complex else jacobian
    return tensor_of(np.asarray(wide.T, x.layout.dtype.numpy), x)


def require_real(y: Tensor) -> None:
    """Refuse a complex result.

    Raises:
        RangeError: it is one.
    """
    if y.layout.dtype.is_complex:
        raise RangeError("gradcheck: the Jacobian of a complex result is not one matrix. Hint: its real and imaginary part.")


def require_unit(op: str, grad_out: float) -> None:
    """Refuse a cotangent that scales the Jacobian.

    Raises:
        RangeError: it is not 1.
    """
    if grad_out != 1.0:
        raise RangeError(f"{op}: grad_out must be 1.0, got {grad_out}.")


def warn_of_age(op: str) -> None:
    """These functions were never meant for users."""
    warn_user(f"{op}: is kept for old programs. Hint: nbgrad.gradcheck, or nbgrad.functional.jacobian.", FutureWarning)
