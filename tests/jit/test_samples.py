"""Every sample of the table that has a gradient, captured on one draw and run on another: the bits of the function as it is.

Value and gradient, gradients of gradients, forward over reverse, batches. A run takes each operation in one of these orders, or in
test_live.py or test_differentiate.py; with ``--slow`` in all.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest

import nbgrad
from nbgrad import Tensor
from nbgrad.jit import compile
from tests.jit.programs import program, split
from tests.samples import SAMPLES

ROWS = {name: row for name, row in sorted(SAMPLES.items()) if row.reference is not None and row.differentiable}
OTHER = 0.96875  # what the other draw is of the first: it keeps domains, signs, orders and symmetries
LAST_DIGITS = {  # of LAPACK's, which depend on where memory lies
    "linalg_cond",
    "linalg_matrix_norm",
    "linalg_svdvals",
    "nuclear_norm",
}


def draws(row: Any, call: Any) -> tuple[list, list[np.ndarray]] | None:
    """A template of the arguments, and its floating arrays; None where there are none, or no gradient."""
    arrays: list[np.ndarray] = []
    template = [split(x, arrays) for x in row.arrays(call, "float64")]
    return None if not arrays or "gradient" in row.unlike else (template, arrays)


def leaves(arrays: list[np.ndarray], factor: float = 1.0) -> list[Tensor]:
    """Operands that need a gradient."""
    return [nbgrad.tensor(x * factor).requires_grad_() for x in arrays]


def assert_compiled_agrees(name: str, make: Callable[[Callable], Callable]) -> None:
    """What ``make(program)`` gives compiled, on the draw that was captured and on another, is what it gives as it is."""
    row, seen = ROWS[name], 0
    for call in row.calls:
        found = draws(row, call)
        if found is None:
            continue
        template, arrays = found
        function = make(program(row, call, template))
        compiled = compile(function, fullgraph=True)
        for factor in (1.0, OTHER):
            xs = leaves(arrays, factor)
            nbgrad.manual_seed(1)
            expected = function(*xs)
            nbgrad.manual_seed(1)
            for one, other in zip(compiled(*xs), expected, strict=True):
                one, other = one.detach().numpy(), other.detach().numpy()
                if name in LAST_DIGITS:
                    np.testing.assert_allclose(one, other, rtol=1e-12)
                else:
                    np.testing.assert_array_equal(one, other, err_msg=f"times {factor}")
        assert compiled.variants
        seen += 1
    if not seen:
        pytest.skip("no floating operands, or no gradient that is unique")


def once(function: Callable) -> Callable:
    """Value and gradients."""
    return function


def twice(function: Callable) -> Callable:
    """Gradients of the values and gradients."""

    def gradients(*xs):
        total = sum((x * 0.7).square().sum() for x in function(*xs, create_graph=True))
        return (total, *nbgrad.grad(total, xs, allow_unused=True, materialize_grads=True))

    return gradients


def forward(function: Callable) -> Callable:
    """Tangents of value and gradients."""
    return lambda *xs: nbgrad.func.jvp(function, xs, tuple([x.detach() * 0.3 + 0.1 for x in xs]))[1]


def batched(function: Callable) -> Callable:
    """Value and gradients of two examples at once."""
    return lambda *xs: nbgrad.func.vmap(function, randomness="different")(*[nbgrad.stack([x, x * OTHER]) for x in xs])


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", ROWS)
def test_value_and_gradient(name):
    """Of every sample."""
    assert_compiled_agrees(name, once)


@pytest.mark.part(16, 3)
@pytest.mark.parametrize("name", ROWS)
def test_second_order(name):
    """Gradients of gradients."""
    assert_compiled_agrees(name, twice)


@pytest.mark.part(16, 7)
@pytest.mark.parametrize("name", ROWS)
def test_forward_over_reverse(name):
    """Tangents of gradients."""
    assert_compiled_agrees(name, forward)


@pytest.mark.part(16, 11, 15)
@pytest.mark.parametrize("name", ROWS)
def test_batches(name):
    """Gradients of several examples."""
    assert_compiled_agrees(name, batched)
