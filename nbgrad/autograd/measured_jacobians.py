"""Jacobians of functions as real matrices: by central differences, by passes, by tangents. ``gradcheck`` compares them.

NOTE [Real Jacobian]: everything is compared as one real matrix. A complex number counts as two reals, its real part before its
imaginary part; the cotangents 1 and i of a complex result ask for the rows of those two, and a gradient's real and imaginary parts
are the row's entries for the two coordinates of the input. That is the conjugate Wirtinger convention, with no formula for it.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import complex128, float64
from ..base.errors import ArgumentError, GradError, RangeError, require_callable
from ..base.user_stack import warn_user
from ..graph.edges import requires_grad
from ..tensors.arrays import array_of, tensor_of, values_of
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor, is_sparse, new_tensor
from . import forward_ad
from .entry import grad

__all__: list[str] = []


class GradcheckError(GradError):
    """A derivative is wrong, or a function cannot be checked; a RuntimeError."""


class ChangedResultError(GradError, AssertionError):
    """The error of ``gradcheck`` for a function whose results change their form with the values of its inputs."""


class SinglePrecisionWarning(UserWarning):
    """Finite differences in single precision have few right digits."""


class CheckSettings(NamedTuple):
    """How closely to look."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool


# ---- arguments and results -----------------------------------------------------------------------------------------


def as_arguments(inputs: Any) -> tuple:
    """One tensor (or whatever is no sequence), or a sequence of arguments, as a tuple."""
    return tuple(inputs) if isinstance(inputs, Iterable) and not isinstance(inputs, Tensor) else (inputs,)


def by_values(func: Callable, arguments: tuple) -> tuple[Callable, tuple]:
    """The function and its arguments with values in the place of sparse tensors that require grad, and dense results."""
    if not any(is_sparse(x) and x.requires_grad for x in arguments):
        return func, arguments
    varied = {k: x for k, x in enumerate(arguments) if is_sparse(x) and x.requires_grad}

    def of_values(*values: Any) -> Any:
        found = func(*(varied[k].with_values(x) if k in varied else x for k, x in enumerate(values)))
        return found.to_dense() if isinstance(found, Tensor) else tuple(y.to_dense() for y in found)

    own = tuple(x._given_.detach().clone().requires_grad_() if k in varied else x for k, x in enumerate(arguments))
    return of_values, own


def results_of(func: Callable, arguments: tuple) -> tuple[Tensor, ...]:
    """What ``func`` returns, as a tuple.

    Raises:
        ArgumentError: something that holds no tensor; ``func`` is no function.
    """
    require_callable("gradcheck", func)
    results = func(*arguments)
    results = (results,) if isinstance(results, Tensor) else tuple(results) if isinstance(results, Iterable) else (results,)
    if not all(isinstance(y, Tensor) for y in results):
        raise ArgumentError(f"gradcheck: the function must return tensors, got {[type(y).__name__ for y in results]}.")
    return results


def differentiable(results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The results that have gradients."""
    return tuple(y for y in results if requires_grad(y))


def random_cotangent(y: Tensor, strided: bool) -> Tensor:
    """A cotangent like ``y`` that can be varied."""
    values = np.random.default_rng(7).standard_normal((*y.layout.shape, 2))
    values = np.tanh(values) + 0.1
    wide = y.layout.dtype.is_complex
    array = (values[..., 0] + 1j * values[..., 1] if wide else values[..., 0]).astype(y.layout.dtype.numpy)
    if strided and array.ndim:
        array = np.repeat(array, 2, axis=-1)
        wide_array: Any = tensor_of(array, y)
        return wide_array[..., ::2].requires_grad_()
    return tensor_of(array.reshape(y.layout.shape), y).requires_grad_()


class Varied(NamedTuple):
    """An argument that requires grad, and where it stands."""

    position: int
    tensor: Tensor


def varied_arguments(arguments: tuple) -> list[Varied]:
    """The arguments to differentiate by.

    Raises:
        RangeError: there are none. GradError: elements that share memory cannot be varied one by one.
    """
    varied = [Varied(k, x) for k, x in enumerate(arguments) if isinstance(x, Tensor) and requires_grad(x)]
    if not varied:
        raise RangeError(
            "gradcheck: no input requires grad, so there is nothing to check. "
            "Hint: nbgrad.tensor(..., dtype=nbgrad.float64, requires_grad=True)."
        )
    for position, x in varied:
        if x.layout.dtype not in (float64, complex128):
            warn_user(
                f"gradcheck: input {position} is {x.layout.dtype.name}, so the differences have few right digits and the "
                "check is coarse. Hint: x.double().",
                SinglePrecisionWarning,
            )
        if x.layout.expanded:
            raise GradError(
                f"gradcheck: several elements of input {position} (strides {list(x.layout.strides)}) share one "
                "memory location, so they cannot be varied one by one. Hint: x.contiguous()."
            )
    return varied


# ---- real vectors --------------------------------------------------------------------------------------------------


def real_vector(x: Tensor | None, like: Tensor) -> np.ndarray:
    """The elements as float64, a complex one as two; zeros for no tensor."""
    if x is None:
        return np.zeros(size_of(like))
    values = np.asarray(values_of(x))
    if like.layout.dtype.is_complex:
        values = np.asarray(values, np.complex128).reshape(-1)
        return np.stack([values.real, values.imag], -1).reshape(-1)
    return np.asarray(values.real if np.iscomplexobj(values) else values, np.float64).reshape(-1)


def size_of(x: Tensor) -> int:
    """How many reals a tensor is."""
    return x.layout.numel * (2 if x.layout.dtype.is_complex else 1)


def tensor_from_reals(vector: np.ndarray, like: Tensor) -> Tensor:
    """A tensor of the shape and dtype of ``like`` whose elements are these reals."""
    values = vector.reshape(-1, 2) @ np.array([1, 1j]) if like.layout.dtype.is_complex else vector
    return tensor_of(np.asarray(values, like.layout.dtype.numpy).reshape(like.layout.shape), like)


def elements_of(x: Tensor) -> tuple[np.ndarray, Callable[[np.ndarray], None]]:
    """A copy of the elements as they lie in memory, and what writes others there, unseen by versions; conjugation is not seen."""
    if x.layout.memory is None:
        array = array_of(x)
        return array.copy(), lambda values: array.__setitem__(..., values)
    of, unseen = x.layout, x.data
    lying = new_tensor(unseen._storage_, layout_of(of.dtype, of.shape, of.strides, of.device), x._offset_)
    return np.array(values_of(lying)), lambda values: CALLS["copy_"](lying, tensor_of(values.astype(of.dtype.numpy), x))


def form_of(y: Tensor) -> str:
    """dtype and shape of a result."""
    return f"{y.layout.dtype.name} {list(y.layout.shape)}"


def unit(k: int, size: int) -> np.ndarray:
    """The k-th unit vector."""
    vector = np.zeros(size)
    vector[k] = 1.0
    return vector


# ---- numerical -----------------------------------------------------------------------------------------------------


class Numerical:
    """Central differences of a function at the given arguments.

    Args:
        chosen: the numbers of the results of interest, of all ``results``.
    """

    def __init__(self, func: Callable, arguments: tuple, chosen: Sequence[int], results: Sequence[Tensor], eps: float):
        self.func, self.arguments, self.chosen, self.eps = func, arguments, chosen, eps
        self.forms = [form_of(y) for y in results]

    def values(self) -> list[np.ndarray]:
        """The chosen results as real vectors.

        Raises:
            ChangedResultError: they have changed their number, shapes or dtypes.
        """
        results = results_of(self.func, self.arguments)
        forms = [form_of(y) for y in results]
        if forms != self.forms:
            raise ChangedResultError(
                f"gradcheck: the function returned {', '.join(forms)} for inputs moved by eps = {self.eps}, "
                f"and {', '.join(self.forms)} before; expected results of the same shapes and dtypes."
            )
        return [real_vector(results[k], results[k]).copy() for k in self.chosen]

    def along(self, x: Tensor, direction: np.ndarray) -> list[np.ndarray]:
        """The derivative of every chosen result by ``x`` in a direction."""
        kept, write = elements_of(x)
        layout = x.layout
        step = direction.reshape(-1, 2) @ np.array([1, 1j]) if layout.dtype.is_complex else direction
        step = step.reshape(layout.shape) * self.eps
        step = step.conj() if layout.conj else step
        step = -step if layout.neg else step
        try:
            write(kept + step)
            above = self.values()
            write(kept - step)
            below = self.values()
        finally:
            write(kept)
        return [(a - b) / (2 * self.eps) for a, b in zip(above, below)]

    def jacobians(self, x: Tensor) -> list[np.ndarray]:
        """The Jacobian of every chosen result by ``x``: results' reals by the input's reals."""
        size = size_of(x)
        if not size:
            return [np.zeros((len(v), 0)) for v in self.values()]
        columns = [self.along(x, unit(k, size)) for k in range(size)]
        return [np.stack([column[j] for column in columns], 1) for j in range(len(self.chosen))]


# ---- analytical ----------------------------------------------------------------------------------------------------


def pass_gradients(results: Sequence[Tensor], varied: list[Varied], cotangents: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """One backward pass."""
    return grad(tuple(results), tuple(x for _, x in varied), tuple(cotangents), retain_graph=True, allow_unused=True)


def backward_row(y: Tensor, varied: list[Varied], cotangent: np.ndarray, settings: CheckSettings, number: int) -> list[np.ndarray]:
    """A row (or a combination of rows) of the Jacobians of ``y`` by every varied input.

    Raises:
        GradcheckError: a gradient is not of its input's shape or dtype, or two equal passes differ.
    """
    seed = tensor_from_reals(cotangent, y)
    once, twice = (pass_gradients((y,), varied, (seed,)) for _ in range(2))
    rows = []
    for (position, x), g, again in zip(varied, once, twice):
        if g is not None:
            if g.layout.shape != x.layout.shape:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {position} has shape {list(g.layout.shape)}, the input "
                    f"{list(x.layout.shape)}."
                )
            if settings.check_grad_dtypes and g.layout.dtype is not x.layout.dtype:
                raise GradcheckError(
                    f"gradcheck: the gradient of input {position} is {g.layout.dtype.name}, the input {x.layout.dtype.name}."
                )
        row, other = real_vector(g, x), real_vector(again, x)
        if not np.allclose(row, other, rtol=0.0, atol=settings.nondet_tol, equal_nan=True):
            raise GradcheckError(
                f"gradcheck: backward is not deterministic: two passes from output {number} to input {position} "
                f"differ by {np.max(np.abs(row - other)):.3g}, more than nondet_tol={settings.nondet_tol}. "
                "Hint: raise nondet_tol if that is expected."
            )
        rows.append(row)
    return rows


def backward_jacobians(y: Tensor, varied: list[Varied], settings: CheckSettings, number: int) -> list[np.ndarray]:
    """The Jacobians of ``y`` by every varied input, row by row."""
    rows = [backward_row(y, varied, unit(k, size_of(y)), settings, number) for k in range(size_of(y))]
    return [np.stack([row[i] for row in rows], 0) if rows else np.zeros((0, size_of(x))) for i, (_, x) in enumerate(varied)]


def dual_arguments(arguments: tuple, position: int, tangent: Tensor) -> tuple:
    """The arguments, without history; those to differentiate by dual: with zeros for a tangent but for one."""
    return tuple(
        forward_ad.make_dual(x.detach(), tangent if k == position else CALLS["zeros_like"](x.detach()))
        if isinstance(x, Tensor) and requires_grad(x)
        else x
        for k, x in enumerate(arguments)
    )


def forward_along(
    func: Callable, arguments: tuple, chosen: Sequence[int], position: int, direction: np.ndarray
) -> list[np.ndarray]:
    """The tangents of the chosen results for a tangent of one argument."""
    with forward_ad.dual_level():
        results = results_of(func, dual_arguments(arguments, position, tensor_from_reals(direction, arguments[position])))
        return [real_vector(forward_ad.unpack_dual(results[k]).tangent, results[k]) for k in chosen]
