"""Derivatives of every operation against finite differences of the reference."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.symbolic import apply
from nbgrad.ops.core import OPS, Elementwise
from nbgrad.ops.expr import evaluate
from tests.parts import alternating
from tests.samples import SAMPLES
from tests.samples.checking import (
    close,
    expected,
    first_order,
    flatten,
    gradients,
    holds_numbers,
    numeric_gradients,
    results,
    run,
    tensors,
    waves,
    weights_of,
)

DIFFERENTIABLE = sorted(
    name for name, row in SAMPLES.items() if row.reference is not None and row.differentiable and "gradient" not in row.unlike
)
SMOOTH = [name for name in DIFFERENTIABLE if "second order" not in SAMPLES[name].unlike]
COMPLEX = [name for name in DIFFERENTIABLE if getattr(OPS[name], "complex", False) or getattr(OPS[name], "complex_form", None)]
CONVENTIONS = [(name, point) for name, row in SAMPLES.items() for point in row.at]
ELEMENTWISE = [name for name in DIFFERENTIABLE if isinstance(OPS[name], Elementwise)]


def check_gradients(name: str, dtype: str) -> None:
    """Compare the gradients of all cases with finite differences of the reference."""
    row = SAMPLES[name]
    for call in row.calls:
        operands = tensors(row, call, dtype, requires_grad=True)
        found = gradients(row, operands, call, weights_of(expected(row, row.arrays(call, dtype), call)))
        wanted = numeric_gradients(row, call, dtype)
        assert len(found) == len(wanted)
        for k, (got, want) in enumerate(zip(found, wanted)):
            close(got.numpy(), want, 1e-7, f"{name}{call}: gradient of operand {k}")


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name):
    """Backward agrees with central differences in float64."""
    check_gradients(name, "float64")


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradient(name):
    """Of a complex operand: the derivative by the real part plus i times that by the imaginary part."""
    check_gradients(name, "complex128")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_order_gradient(name):
    """Double backward agrees with central differences of the gradient along one direction, cotangents included."""
    row = SAMPLES[name]
    for call in row.calls:
        found, slope = along_one_direction(row, call)
        wanted = (slope(1e-6) - slope(-1e-6)) / 2e-6
        close(found, wanted, 1e-6, f"{name}{call}: second order along one direction")


def along_one_direction(row, call, dtype: str = "float64") -> tuple:
    """``<probe, d gradient / d direction>`` by double backward, and ``<probe, gradient>`` as a function of the step."""
    arrays = row.arrays(call, dtype)
    weights = weights_of(expected(row, arrays, call))
    inputs = [x for x in flatten(arrays) if holds_numbers(x)]
    along = [waves(x, 1 + k) for k, x in enumerate([*inputs, *weights])]
    probes = [nbgrad.tensor(waves(x, 3 + k)) for k, x in enumerate(inputs)]

    first, leaves, cotangents = first_order(row, call, arrays, inputs, weights, create_graph=True)
    recorded = [(g, p) for g, p in zip(first, probes) if g is not None and g.requires_grad]
    second = (
        nbgrad.grad([g for g, _ in recorded], [*leaves, *cotangents], [p for _, p in recorded], allow_unused=True)
        if recorded
        else ()
    )
    found = sum(np.vdot(d, g.numpy()).real for d, g in zip(along, second) if g is not None)

    def slope(step: float) -> float:
        moved = [x + step * d for x, d in zip([*inputs, *weights], along)]
        grads, _, _ = first_order(row, call, arrays, moved[: len(inputs)], moved[len(inputs) :])
        return sum(np.vdot(p.numpy(), g.numpy()).real for g, p in zip(grads, probes) if g is not None)

    return found, slope


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_tangent_and_cotangent_are_adjoint(name):
    """``<w, J t> == <J^T w, t>``: the forward rule and the backward rule are two readings of one declaration."""
    row, op = SAMPLES[name], OPS[name]
    for call in row.calls:
        operands = tensors(row, call, requires_grad=True)
        (out,) = run(row, operands, call)
        weights = weights_of(results((out,)))
        inputs = [(n, x) for n, x in zip(op.operands, operands) if isinstance(x, nbgrad.Tensor) and n in op.partial_formulas]
        tangents = {n: nbgrad.tensor(np.sin(k + np.arange(x.numel())).reshape(x.shape)) for k, (n, x) in enumerate(inputs)}
        values = dict(zip(op.operands, operands)) | {
            n: d for n, d in zip(op.operands, op.defaults) if n not in op.operands[: len(operands)]
        }
        values |= {f"t_{n}": t for n, t in tangents.items()} | {"out": out}
        with nbgrad.no_grad():
            (tangent,) = evaluate((op.jvp(tuple(tangents)),), values, apply)
        forward = np.sum(weights[0] * (tangent.numpy() if isinstance(tangent, nbgrad.Tensor) else tangent))
        found = gradients(row, operands, call, weights)
        grads = dict(zip((n for n, x in zip(op.operands, operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad), found))
        backward = sum(np.vdot(tangents[n].numpy(), grads[n].numpy()) for n in tangents)
        close(forward, backward, 1e-12, f"{name}{call}: <w, J t> against <J^T w, t>")


@pytest.mark.parametrize("name, point", CONVENTIONS, ids=lambda x: str(x).replace(" ", ""))
def test_convention_where_it_is_not_smooth(name, point):
    """At a kink the derivative is the one that the row states."""
    operands = [nbgrad.tensor(x, dtype=nbgrad.float64, requires_grad=True) for x in point]
    CALLS[name](*operands).backward()
    assert tuple(x.grad.item() for x in operands) == SAMPLES[name].at[point]


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if getattr(op, "refuses_gradient", False)))
def test_an_operation_without_derivative_says_so(name):
    """Backward through it raises and names it; it is never silently zero."""
    row = SAMPLES[name]
    operands = tensors(row, row.calls[0], requires_grad=True)
    (out,) = run(row, operands, row.calls[0])
    with pytest.raises(nbgrad.NotSupportedError, match=f"^{name}: .*Hint"):
        out.sum().backward()


@pytest.mark.parametrize("recorded", alternating(False, True))
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_an_operand_alone_gets_what_it_gets_beside_others(name, recorded):
    """A pass about one operand computes its cotangent alone: the same, bit for bit, as in a pass about all of them."""
    row = SAMPLES[name]
    for call in row.calls:
        operands = tensors(row, call, requires_grad=True)
        leaves = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor) and x.requires_grad]
        if len(leaves) < 2:
            continue
        outs = [x for x in run(row, operands, call) if x.requires_grad]
        seeds = [nbgrad.tensor(w).to(x.dtype) for x, w in zip(outs, weights_of([x.detach().numpy() for x in outs]))]
        options = {"retain_graph": True, "create_graph": recorded, "allow_unused": True}
        together = nbgrad.grad(outs, leaves, seeds, **options)
        for x, want in zip(leaves, together):
            (got,) = nbgrad.grad(outs, x, seeds, **options)
            assert (got is None) == (want is None)
            if got is not None:
                assert np.array_equal(got.detach().numpy(), want.detach().numpy(), equal_nan=True), f"{name}{call}"
