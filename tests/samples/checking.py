"""From samples to tensors and back; finite differences."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

import nbgrad
from nbgrad.base.calls import CALLS

from .row import Case, Row

__all__ = [
    "agree",
    "call_of",
    "close",
    "expected",
    "first_order",
    "flatten",
    "gradients",
    "holds_numbers",
    "numeric_gradients",
    "results",
    "run",
    "tensors",
    "to_tensor",
    "waves",
    "weights_of",
    "with_one",
]


def holds_numbers(x: Any) -> bool:
    """Whether ``x`` is an array into which gradients flow."""
    return isinstance(x, np.ndarray) and x.dtype.kind in "fcV"


def to_tensor(x: Any, requires_grad: bool = False) -> Any:
    """Arrays as tensors (of their own memory), also inside sequences; anything else as it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(to_tensor(each, requires_grad) for each in x)
    if isinstance(x, (np.ndarray, np.generic)):
        made = nbgrad.tensor(x)
        return made.requires_grad_() if requires_grad and made.dtype.differentiable else made
    return x


def with_one(arrays: list, which: int, make: Callable) -> list:
    """The operands as tensors, of those that hold numbers one made by ``make``."""
    places = iter(range(len(flatten(arrays))))

    def made(x):
        if isinstance(x, list):
            return [made(each) for each in x]
        return make(to_tensor(x)) if holds_numbers(x) and next(places) == which else to_tensor(x)

    return [made(x) for x in arrays]


def tensors(row: Row, call: Case, dtype: str = "float64", requires_grad: bool = False) -> list:
    """The operands of a case as tensors."""
    return [to_tensor(x, requires_grad) for x in row.arrays(call, dtype)]


def attributes_of(call: Case) -> dict:
    """The attributes, arrays among them as tensors."""
    return {name: to_tensor(x) for name, x in call.attributes.items()}


def call_of(row: Row, call: Case, there: Callable[[Any], Any] | None = None) -> Callable[[list], tuple]:
    """The case as a function of its operands: the results, as a tuple; what writes into its operand gets a clone, the result.

    It names neither the row nor the tables: what is compiled compares all that it can reach. ``there`` moves the tensors among the
    attributes to the device of the operands.
    """
    operation, attributes = CALLS[row.name], call.attributes
    writes = row.name.endswith("_") or row.name == "setitem"

    def called(operands: list) -> tuple:
        options = {name: to_tensor(x) for name, x in attributes.items()}
        if there is not None:
            options = {name: there(x) for name, x in options.items()}
        if not writes:
            return as_tuple(operation(*operands, **options))
        operands = [operands[0].clone(), *operands[1:]]
        operation(*operands, **options)
        return (operands[0],)

    return called


def run(row: Row, operands: list, call: Case, there: Callable[[Any], Any] | None = None) -> tuple:
    """The results of the operation: see ``call_of``."""
    return call_of(row, call, there)(operands)


def as_tuple(result: Any) -> tuple:
    """One result or several, those of sequences one by one, as a tuple."""
    if isinstance(result, (tuple, list)) or hasattr(result, "__next__"):
        return tuple(part for each in result for part in as_tuple(each))
    return (result,)


def results(out: tuple) -> list[np.ndarray]:
    """Results as arrays."""
    return [np.asarray(x.numpy(force=True) if isinstance(x, nbgrad.Tensor) else x) for x in out]


def expected(row: Row, arrays: list, call: Case) -> list[np.ndarray]:
    """What the reference gives for these arrays."""
    return [np.asarray(x) for x in as_tuple(row.reference(*arrays, **call.attributes))]


def weights_of(outs: list[np.ndarray]) -> list[np.ndarray]:
    """A cotangent for every result: fixed numbers of no symmetry; complex for complex results."""
    made = []
    for k, out in enumerate(outs):
        steps = np.arange(out.size).reshape(out.shape)
        w = np.cos(1.7 * steps + k)
        made.append(w + 1j * np.sin(steps + k) if np.iscomplexobj(out) else w)
    return made


def flatten(operands: list) -> list:
    """Operands, those of sequences one by one."""
    return [each for x in operands for each in (x if isinstance(x, list) else [x])]


def gradients(row: Row, operands: list, call: Case, weights: list[np.ndarray], create_graph: bool = False) -> list:
    """The cotangents of the operands that require grad, for these cotangents of the results; of no influence: zeros."""
    outs = [(x, w) for x, w in zip(run(row, operands, call), weights) if x.requires_grad]
    inputs = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    found = nbgrad.grad(
        [x for x, _ in outs], inputs, [nbgrad.tensor(w).to(x.dtype) for x, w in outs], create_graph=create_graph, allow_unused=True
    )
    return [nbgrad.zeros_like(x) if g is None else g for x, g in zip(inputs, found)]


def waves(x: np.ndarray, phase: float) -> np.ndarray:
    """Numbers of no symmetry in the shape of ``x``; complex if it is."""
    steps = 0.7 * np.arange(x.size).reshape(x.shape) + phase
    return np.sin(steps) + 1j * np.cos(2 * steps) if np.iscomplexobj(x) else np.sin(steps)


def first_order(row: Row, call: Case, arrays: list, inputs: list, weights: list, create_graph: bool = False) -> tuple:
    """Gradients at ``inputs`` in place of the arrays that hold numbers; the leaves; the cotangents."""
    inputs = iter(inputs)
    placed = [
        [next(inputs) if holds_numbers(each) else each for each in x]
        if isinstance(x, list)
        else next(inputs)
        if holds_numbers(x)
        else x
        for x in arrays
    ]
    operands = [to_tensor(x, True) for x in placed]
    leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    cotangents = [nbgrad.tensor(w, requires_grad=create_graph) for w in weights]
    outs = [(x, w) for x, w in zip(run(row, operands, call), cotangents) if x.requires_grad]
    grads = nbgrad.grad([x for x, _ in outs], leaves, [w for _, w in outs], create_graph=create_graph, allow_unused=True)
    return grads, leaves, cotangents


def numeric(function: Callable[[], list[np.ndarray]], x: np.ndarray, weights: list[np.ndarray], step: float) -> np.ndarray:
    """Central finite differences of ``Re <weights, function()>`` by the elements of ``x``, changed in place.

    For complex ``x`` the derivative by the real part plus i times that by the imaginary part: torch's convention.
    """
    grad = np.zeros(x.shape, complex if np.iscomplexobj(x) else float)
    directions = (1.0, 1j) if np.iscomplexobj(x) else (1.0,)
    for index in np.ndindex(x.shape):
        kept = x[index]
        for direction in directions:
            values = []
            for sign in (1, -1):
                x[index] = kept + sign * step * direction
                values.append(sum(np.sum((np.conj(w) * out).real) for w, out in zip(weights, function())))
            x[index] = kept
            grad[index] += (values[0] - values[1]) / (2 * step) * direction
    return grad


def numeric_gradients(row: Row, call: Case, dtype: str = "float64") -> list[np.ndarray]:
    """The gradients that ``gradients`` must find, by finite differences of the reference."""
    arrays = row.arrays(call, dtype)
    weights = weights_of(expected(row, arrays, call))
    return [numeric(lambda: expected(row, arrays, call), x, weights, 1e-6) for x in flatten(arrays) if holds_numbers(x)]


def close(got: np.ndarray, want: np.ndarray, tolerance: float, what: str) -> None:
    """Assert that shapes are equal and values within ``tolerance``, relative to the largest expected one or 1.

    A failure prints both values, the tolerance and the position.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if got.dtype.kind == "V" or got.dtype.name == "bfloat16":
        got = got.astype(np.float32)
    wide = np.complex128 if np.iscomplexobj(got) or np.iscomplexobj(want) else np.float64
    got, want = got.astype(wide), want.astype(wide)
    finite = np.isfinite(want)
    scale = np.maximum(np.abs(np.where(finite, want, 0)), 1.0)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        bad = ~same & ~(np.abs(got - want) <= tolerance * scale)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            f"{what}: {bad.sum()} of {bad.size} values differ by more than {tolerance:g}; "
            f"first at {index}: got {got[index]!r}, expected {want[index]!r}\n"
            f"got:\n{got}\nexpected:\n{want}"
        )


def agree(got: Any, want: Any, tolerance: float = 1e-9, what: str = "result") -> None:
    """Assert that two tensors are ``close``."""
    close(results((got,))[0], results((want,))[0], tolerance, what)
