"""What ``gradcheck`` looks at: Jacobians beside differences, and passes of cotangents that are zero, undefined or a batch."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ..base.calls import CALLS
from ..base.mode_contexts import no_grad
from ..batch.vmap import vmap
from ..graph.edges import requires_grad
from ..tensors.arrays import values_of
from ..tensors.tensor import Tensor
from . import forward_ad
from .entry import grad
from .function import Function
from .measured_jacobians import (
    CheckSettings,
    GradcheckError,
    Numerical,
    Varied,
    backward_jacobians,
    backward_row,
    differentiable,
    dual_arguments,
    forward_along,
    pass_gradients,
    real_vector,
    results_of,
    size_of,
    tensor_from_reals,
    unit,
    varied_arguments,
)

__all__: list[str] = []


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
