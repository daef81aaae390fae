"""In-place and ``out=`` forms, methods and functions are the operation itself."""
from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch import CALLS
from nbgrad.ops.core import OPS, Elementwise
from tests.samples import SAMPLES
from tests.samples.checking import close, gradients, results, run, tensors, to_tensor, weights_of

ELEMENTWISE = sorted(name for name, row in SAMPLES.items() if row.reference is not None and isinstance(OPS[name],
    Elementwise))
INPLACE = [name for name in ELEMENTWISE if OPS[name].inplace]
WITH_OUT = [name for name in ELEMENTWISE if OPS[name].out and OPS[name].function]


def usual_operands(name: str, requires_grad: bool = False) -> tuple:
    """Row, case and operands of one shape."""
    row = SAMPLES[name]
    call = row.calls[0]
    dtype = "int64" if row.op.policy == "integer" else "float64"
    return row, call, tensors(row, call, dtype, requires_grad)


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_value_and_version(name):
    """``x.op_(...)`` returns x itself, holds what the operation gives in x's dtype, and counts one write."""
    row, call, operands = usual_operands(name)
    want, = results(run(row, operands, call))
    x, version = operands[0], operands[0]._version
    assert getattr(nbgrad.Tensor, name + "_", CALLS[name + "_"])(*operands) is x
    assert x._version == version + 1
    close(x.numpy(), want.astype(x.numpy().dtype), 0.0, f"{name}_")


@pytest.mark.parametrize("name", [n for n in INPLACE if SAMPLES[n].differentiable])
def test_inplace_gradient(name):
    """The gradients through ``x.op_(...)`` are those through the operation."""
    row, call, operands = usual_operands(name, requires_grad=True)
    weights = weights_of(results(run(row, operands, call)))
    want = gradients(row, operands, call, weights)
    inputs = [x for x in operands if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    written = operands[0].clone()
    CALLS[name + "_"](written, *operands[1:])
    got = nbgrad.grad(written, inputs, nbgrad.tensor(weights[0]), allow_unused=True)
    for k, (g, w) in enumerate(zip(got, want)):
        close(np.zeros(w.shape) if g is None else g.numpy(), w.numpy(), 1e-14, f"{name}_: gradient of operand {k}")


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name):
    """``op(..., out=t)`` writes the same numbers into t, counts a write and returns t."""
    row, call, operands = usual_operands(name)
    want, = run(row, operands, call)
    out = nbgrad.zeros_like(want)
    version = out._version
    assert getattr(nbgrad, name)(*operands, out=out) is out
    assert out._version == version + 1
    close(out.numpy(), want.numpy(), 0.0, f"{name}(out=)")


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_refuses_what_requires_grad(name):
    """``out=`` would lose the derivative: it is an error while recording."""
    if OPS[name].policy == "integer":
        row, call, operands = usual_operands(name)
        out = nbgrad.zeros(2, 3, requires_grad=True)
    else:
        row, call, operands = usual_operands(name, requires_grad=True)
        out = nbgrad.zeros(2, 3, dtype=nbgrad.float64)
    with pytest.raises(nbgrad.GradError, match=f"^{name}: .*Hint"):
        getattr(nbgrad, name)(*operands, out=out)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_function_and_method_are_one(name):
    """``nbgrad.op(x, ...)`` and ``x.op(...)``, under every name, give the same."""
    row, call, operands = usual_operands(name)
    want, = results(run(row, operands, call))
    op = OPS[name]
    for public in (name, *op.aliases):
        for namespace, exists in ((nbgrad, op.function), (nbgrad.Tensor, op.method)):
            if exists:
                close(getattr(namespace, public)(*operands).numpy(), want, 0.0, f"{namespace.__name__}.{public}")


@pytest.mark.parametrize("name", [n for n in INPLACE if any(isinstance(x, tuple) for x in SAMPLES[n].calls[0].operands[1:])])
def test_inplace_cannot_change_the_shape(name):
    """Operands that broadcast x to a larger shape are refused, and x keeps its elements and version."""
    row, call, operands = usual_operands(name)
    x = to_tensor(operands[0].numpy()[0].copy())
    before, version = x.numpy().copy(), x._version
    with pytest.raises(nbgrad.ShapeError, match=f"^{OPS[name].public}_: .*Hint"):
        CALLS[name + "_"](x, *(y.expand(2, 3) if isinstance(y, nbgrad.Tensor) else y for y in operands[1:]))
    np.testing.assert_array_equal(x.numpy(), before)
    assert x._version == version
