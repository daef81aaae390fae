"""``gradcheck`` and ``gradgradcheck``: derivatives compared with finite differences.

>>> import nbgrad
>>> nbgrad.gradcheck(nbgrad.sin, nbgrad.ones(3, dtype=nbgrad.float64, requires_grad=True))
True

NOTE [Real Jacobian]: everything is compared as one real matrix. A complex number counts as two reals, its real part before its
imaginary part; the cotangents 1 and i of a complex result ask for the rows of those two, and a gradient's real and imaginary parts
are the row's entries for the two coordinates of the input. That is the conjugate Wirtinger convention, with no formula for it.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import complex128, float64
from ..base.errors import ArgumentError, GradError, RangeError, require_callable
from ..base.grad_mode import no_grad
from ..batch.vmap import vmap
from ..graph.edges import requires_grad
from ..tensors.arrays import array_of, tensor_of, values_of
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor, is_sparse, new_tensor
from . import forward_ad
from .entry import grad
from .function import Function

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]


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


# Step, absolute and relative tolerance of central differences by the bytes of a real element. The difference of two values is off
# by about 1e-7 (single) or 1e-3 (half) of them, divided by the step; the step's own error grows with its square.
PRECISION = {8: (1e-6, 1e-5, 1e-3), 4: (1e-2, 1e-3, 1e-2), 2: (1e-1, 1e-1, 1e-1)}


def precision_of(arguments: tuple) -> tuple[float, float, float]:
    """Step and tolerances for the least precise argument that requires grad."""
    sizes = [x.layout.dtype.to_real().itemsize for x in arguments if isinstance(x, Tensor) and requires_grad(x)]
    return PRECISION[min(sizes, default=8)]


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of ``func`` with central differences.

    Args:
        func: takes the inputs, returns a tensor or a sequence of them; results that do not require grad are left out.
        inputs: a Tensor or a sequence of arguments. Those that require grad are varied; they should be float64 or complex128: with
            others there is a warning, and the check is coarse.
        eps: the step, in both directions and, for complex inputs, along both axes; by default that of the least precise input.
        atol, rtol: an entry passes if ``|numerical - analytical| <= atol + rtol * |numerical|``; by default those of the least
            precise input: 1e-5 and 1e-3 for double precision, see ``PRECISION``.
        raise_exception: raise on the first difference; else return False.
        nondet_tol: how far two equal passes may differ.
        check_undefined_grad: run with results that receive no gradient.
        check_grad_dtypes: a gradient must have its input's dtype.
        check_batched_grad, check_batched_forward_grad: compare batched passes with single ones.
        check_forward_ad: compare forward mode too. check_backward_ad: compare backward mode.
        fast_mode: compare one random projection of the Jacobian instead of all entries.
        masked: of sparse inputs what is stored is varied in either case, and gradients are compared there.

    Returns:
        True, or False with ``raise_exception=False``.

    Raises:
        GradcheckError: a difference; the message shows both Jacobians and the worst entry.
        RangeError: no input requires grad (a ValueError).

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.5, 2.0], dtype=nbgrad.float64, requires_grad=True)
    >>> nbgrad.gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("gradcheck: nothing to check. Hint: leave check_forward_ad or check_backward_ad on.")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad is a check of the backward mode. Hint: check_backward_ad=True.")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad needs check_forward_ad=True.")
    func, arguments = by_values(func, as_arguments(inputs))
    usual = precision_of(arguments)
    eps, atol, rtol = (given if given is not None else own for given, own in zip((eps, atol, rtol), usual))
    settings = CheckSettings(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
    )
    try:
        check(func, arguments, settings)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare second derivatives with central differences of first ones: ``gradcheck`` of ``func``'s backward pass.

    Args:
        grad_outputs: cotangents of the results; random ones by default.
        gen_non_contig_grad_outputs: make those not contiguous.
        check_fwd_over_rev: check forward mode over backward mode. check_rev_over_rev: backward over backward.
        Others as for ``gradcheck``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([0.5, 2.0], dtype=nbgrad.float64, requires_grad=True)
    >>> nbgrad.gradgradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("gradgradcheck: nothing to check. Hint: leave check_fwd_over_rev or check_rev_over_rev on.")
    if check_undefined_grad and not check_rev_over_rev:
        check_undefined_grad = False
    func, arguments = by_values(func, as_arguments(inputs))
    if grad_outputs is None:
        results = differentiable(results_of(func, arguments))
        cotangents = tuple(random_cotangent(y, gen_non_contig_grad_outputs) for y in results)
    else:
        cotangents = as_arguments(grad_outputs)
    count = len(cotangents)

    wanted = [isinstance(x, Tensor) and requires_grad(x) for x in arguments]

    def first_derivative(*extended: Any) -> tuple[Tensor, ...]:
        own = extended[: len(extended) - count]
        for x, of_interest in zip(own, wanted):
            if of_interest and not requires_grad(x):  # forward mode brings inputs without
                x.requires_grad_()
        varied = tuple(x for x in own if isinstance(x, Tensor) and requires_grad(x))
        found = grad(
            differentiable(results_of(func, own)), varied, extended[len(extended) - count :], create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivative,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


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
            warnings.warn(
                f"gradcheck: input {position} is {x.layout.dtype.name}, so the differences have few right digits and the "
                "check is coarse. Hint: x.double().",
                SinglePrecisionWarning,
                stacklevel=4,
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


# ---- comparing -----------------------------------------------------------------------------------------------------


def check(func: Callable, arguments: tuple, settings: CheckSettings) -> None:
    """All checks of ``gradcheck``."""
    varied = varied_arguments(arguments)
    results = results_of(func, arguments)
    chosen = [k for k, y in enumerate(results) if requires_grad(y)]
    if not chosen:
        check_constant(func, arguments, varied, results, settings)
        return
    numerical = Numerical(func, arguments, chosen, results, settings.eps)
    compare = compare_projections if settings.fast_mode else compare_jacobians
    compare(numerical, varied, [results[k] for k in chosen], settings)
    if settings.check_batched_forward_grad:
        check_batched_forward(numerical, varied)
    if not settings.check_backward_ad:
        return
    check_linear(func, arguments, varied)
    if settings.check_batched_grad:
        check_batched(func, arguments, varied)
    if settings.check_undefined_grad:
        check_undefined(func, arguments, varied)


def check_constant(func: Callable, arguments: tuple, varied: list[Varied], results: tuple, settings: CheckSettings) -> None:
    """A function none of whose results requires grad must not depend on its inputs.

    Raises:
        GradcheckError: it does.
    """
    chosen = [k for k, y in enumerate(results) if y.layout.dtype.differentiable]
    numerical = Numerical(func, arguments, chosen, results, settings.eps)
    for position, x in varied:
        for k, jacobian in zip(chosen, numerical.jacobians(x)):
            if not np.allclose(jacobian, 0.0, atol=settings.atol):
                raise GradcheckError(
                    f"gradcheck: output {k} does not require grad, but it depends on input {position}: numerical "
                    f"Jacobian\n{jacobian}\nHint: was it computed under no_grad(), or detached?"
                )


def compare_jacobians(numerical: Numerical, varied: list[Varied], results: list[Tensor], settings: CheckSettings) -> None:
    """Slow mode: every entry."""
    expected = [numerical.jacobians(x) for _, x in varied]
    if settings.check_forward_ad:
        for i, (position, x) in enumerate(varied):
            columns = [
                forward_along(numerical.func, numerical.arguments, numerical.chosen, position, unit(k, size_of(x)))
                for k in range(size_of(x))
            ]
            for j, number in enumerate(numerical.chosen):
                found = np.stack([column[j] for column in columns], 1) if columns else np.zeros((size_of(results[j]), 0))
                require_close(expected[i][j], found, number, position, "forward mode", settings, results[j], x)
    if settings.check_backward_ad:
        for j, (number, y) in enumerate(zip(numerical.chosen, results)):
            for i, ((position, x), found) in enumerate(zip(varied, backward_jacobians(y, varied, settings, number))):
                require_close(expected[i][j], found, number, position, "backward mode", settings, y, x)


def require_close(
    expected: np.ndarray,
    found: np.ndarray,
    number: int,
    position: int,
    mode_name: str,
    settings: CheckSettings,
    y: Tensor,
    x: Tensor,
) -> None:
    """Compare two Jacobians.

    Raises:
        GradcheckError: they differ; shows both and the worst entry.
    """
    off = np.abs(expected - found) - (settings.atol + settings.rtol * np.abs(expected))
    off = np.where(np.isnan(expected) & np.isnan(found), -1.0, np.where(np.isnan(off) & (expected != found), np.inf, off))
    if not off.size or not (off > 0).any():
        return
    row, column = map(int, np.unravel_index(int(np.argmax(off)), off.shape))
    a, b = expected[row, column], found[row, column]
    relative = abs(a - b) / max(abs(a), 1e-300)
    raise GradcheckError(
        f"gradcheck: Jacobian mismatch for output {number} with respect to input {position} "
        f"({mode_name}).\nnumerical:\n{expected}\nanalytical:\n{found}\nworst entry: output {element(row, y)}, input "
        f"{element(column, x)}: numerical {a:.9g}, analytical {b:.9g}, difference {abs(a - b):.3g} (relative {relative:.3g}); "
        f"allowed atol={settings.atol:g} + rtol={settings.rtol:g} x |numerical|.\nHint: if the function is not smooth there, "
        "move the input; if the numbers agree to a few digits, the tolerances are too strict for the dtype."
    )


def element(k: int, x: Tensor) -> str:
    """Which element of a tensor the k-th real belongs to."""
    if not x.layout.dtype.is_complex:
        return str(list(map(int, np.unravel_index(k, x.layout.shape))))
    return f"{list(map(int, np.unravel_index(k // 2, x.layout.shape)))}.{'imag' if k % 2 else 'real'}"


def compare_projections(numerical: Numerical, varied: list[Varied], results: list[Tensor], settings: CheckSettings) -> None:
    """Fast mode: ``v' J u`` for random unit vectors ``u`` and ``v``.

    Raises:
        GradcheckError: they differ.
    """
    rng = np.random.default_rng(11)

    def direction(size: int) -> np.ndarray:
        vector = rng.standard_normal(size)
        return vector / max(float(np.linalg.norm(vector)), 1e-300)

    inputs = [direction(size_of(x)) for _, x in varied]
    outputs = [direction(size_of(y)) for y in results]
    for i, (position, x) in enumerate(varied):
        expected = numerical.along(x, inputs[i])
        forward = (
            forward_along(numerical.func, numerical.arguments, numerical.chosen, position, inputs[i])
            if settings.check_forward_ad
            else None
        )
        for j, (number, y) in enumerate(zip(numerical.chosen, results)):
            found = {}
            if forward is not None:
                found["forward mode"] = float(outputs[j] @ forward[j])
            if settings.check_backward_ad:
                found["backward mode"] = float(backward_row(y, varied, outputs[j], settings, number)[i] @ inputs[i])
            value = float(outputs[j] @ expected[j])
            # What an error of atol in every entry could add up to.
            atol = settings.atol * max(1.0, math.sqrt(len(inputs[i]) * len(outputs[j])))
            for mode_name, other in found.items():
                if not abs(value - other) <= atol + settings.rtol * abs(value):
                    raise GradcheckError(
                        f"gradcheck: Jacobian mismatch for output {number} with respect to input {position} "
                        f"({mode_name}, one random projection): numerical {value:.9g}, analytical {other:.9g}. "
                        "Hint: fast_mode=False shows the entries."
                    )


# ---- further checks of the backward pass ---------------------------------------------------------------------------


def check_linear(func: Callable, arguments: tuple, varied: list[Varied]) -> None:
    """Gradients must be multiplied by the cotangent: those of zero are zero.

    Raises:
        GradcheckError: they are not.
    """
    results = differentiable(results_of(func, arguments))
    zeros = tuple(CALLS["zeros_like"](y.detach()) for y in results)
    for (position, _), g in zip(varied, pass_gradients(results, varied, zeros)):
        if g is not None and np.any(np.asarray(values_of(g)) != 0):
            raise GradcheckError(
                f"gradcheck: backward is not multiplied by grad_output: the gradient of input {position} for "
                "cotangents of zero is not zero. Hint: multiply by the cotangent in backward."
            )


class Undefined(Function):
    """Passes its argument on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """A copy."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> None:
        """No gradient: the operands get None."""
        return None


def check_undefined(func: Callable, arguments: tuple, varied: list[Varied]) -> None:
    """Results that receive no gradient, all of them and each alone, must give none or zeros.

    Raises:
        GradcheckError: backward fails on None, or makes something of nothing.
    """

    def attempt(missing: set[int]) -> None:
        results = differentiable(results_of(func, arguments))
        seen = tuple(Undefined.apply(y) if k in missing else y for k, y in enumerate(results))
        zeros = tuple(CALLS["zeros_like"](y.detach()) for y in results)
        try:
            found = pass_gradients(seen, varied, zeros)
        except Exception as error:
            raise GradcheckError(
                f"gradcheck: backward fails where outputs {sorted(missing)} receive no gradient: {error}. "
                "Hint: None stands for zeros in backward; or leave set_materialize_grads on."
            ) from error
        for (position, _), g in zip(varied, found):
            if g is not None and np.any(np.asarray(values_of(g)) != 0):
                raise GradcheckError(
                    f"gradcheck: outputs {sorted(missing)} receive no gradient, but input {position} gets one "
                    "that is not zero. Hint: None stands for zeros in backward."
                )

    count = len(differentiable(results_of(func, arguments)))
    attempt(set(range(count)))
    if count > 1:
        for k in range(count):
            attempt({k})


def check_batched(func: Callable, arguments: tuple, varied: list[Varied]) -> None:
    """A pass with a batch of cotangents against one pass for each.

    Raises:
        GradcheckError: they differ, or the batched pass fails.
    """
    results = differentiable(results_of(func, arguments))
    rng = np.random.default_rng(13)
    for number, y in enumerate(results):
        seeds = [tensor_from_reals(rng.standard_normal(size_of(y)), y) for _ in range(2)]
        single = [pass_gradients((y,), varied, (seed,)) for seed in seeds]
        try:
            together = grad(
                (y,),
                tuple(x for _, x in varied),
                (CALLS["stack"](tuple(seeds), 0),),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
        except Exception as error:
            raise GradcheckError(f"gradcheck: the batched pass from output {number} fails: {error}") from error
        for i, ((position, x), batch) in enumerate(zip(varied, together)):
            for k in range(2):
                expected = real_vector(single[k][i], x)
                found = real_vector(None if batch is None else batch[k], x)
                if not np.allclose(expected, found, rtol=1e-5, atol=1e-8, equal_nan=True):
                    raise GradcheckError(
                        f"gradcheck: the batched pass differs from output {number} to input {position}: "
                        f"cotangent {k}: single {expected}, batched {found}."
                    )


def check_batched_forward(numerical: Numerical, varied: list[Varied]) -> None:
    """Forward mode with a batch of tangents against one run for each.

    Raises:
        GradcheckError: they differ, or the batched run fails.
    """
    rng = np.random.default_rng(17)
    for position, x in varied:
        directions = [rng.standard_normal(size_of(x)) for _ in range(2)]
        single = [forward_along(numerical.func, numerical.arguments, numerical.chosen, position, d) for d in directions]

        def run(tangent: Tensor, position: int = position) -> tuple[Tensor, ...]:
            with forward_ad.dual_level():
                results = results_of(numerical.func, dual_arguments(numerical.arguments, position, tangent))
                tangents = [forward_ad.unpack_dual(results[k]) for k in numerical.chosen]
                return tuple(CALLS["zeros_like"](t.primal) if t.tangent is None else t.tangent for t in tangents)

        try:
            together = vmap(run)(CALLS["stack"](tuple(tensor_from_reals(d, x) for d in directions), 0))
        except Exception as error:
            raise GradcheckError(f"gradcheck: forward mode with a batch of tangents of input {position} fails: {error}") from error
        for j, number in enumerate(numerical.chosen):
            for k in range(2):
                with no_grad():
                    found = real_vector(together[j][k], together[j])
                if not np.allclose(single[k][j], found, rtol=1e-5, atol=1e-8, equal_nan=True):
                    raise GradcheckError(
                        f"gradcheck: forward mode with a batch of tangents differs at output {number}, input {position}."
                    )


# ---- Jacobians by themselves: entry points that torch has kept ---------------------------------------------------------


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
    warnings.warn(
        f"{op}: is kept for old programs. Hint: nbgrad.gradcheck, or nbgrad.functional.jacobian.", FutureWarning, stacklevel=3
    )
