"""In-place and ``out=`` forms, methods and functions are the operation itself."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, Elementwise, General
from tests.samples import SAMPLES
from tests.samples.checking import close, gradients, results, run, tensors, to_tensor, weights_of
from tests.samples.row import leaves

ELEMENTWISE = sorted(name for name, row in SAMPLES.items() if row.reference is not None and isinstance(OPS[name], Elementwise))
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
    (want,) = results(run(row, operands, call))
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
    (want,) = run(row, operands, call)
    out = nbgrad.zeros_like(want)
    version = out._version
    assert getattr(nbgrad, name)(*operands, out=out) is out
    assert out._version == version + 1
    close(out.numpy(), want.numpy(), 0.0, f"{name}(out=)")


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_refuses_what_requires_grad(name):
    """``out=`` would lose the derivative: it is an error while recording, where there is one."""
    if OPS[name].policy == "integer" or not OPS[name].partial_formulas:
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
    (want,) = results(run(row, operands, call))
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


# ---- calls that are known --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if len(OPS[n].operands) > 2 or any(OPS[n].fixed)])
def test_known_calls_are_recorded_as_the_first(name):
    """The second call of a kind, which is one look-up, has the bits and the gradients of the first."""
    row, call, operands = usual_operands(name, requires_grad=row_is_differentiable(name))
    first, second = (run(row, operands, call)[0] for _ in range(2))
    np.testing.assert_array_equal(second.detach().numpy(), first.detach().numpy())
    assert (second.grad_fn is None) == (first.grad_fn is None)
    if first.grad_fn is not None:
        leaves = [x for x in operands if isinstance(x, nbgrad.Tensor) and x.requires_grad]
        for g, w in zip(*(nbgrad.grad(out, leaves, nbgrad.ones_like(out), allow_unused=True) for out in (second, first))):
            assert g is w is None or (g.numpy() == w.numpy()).all()


def row_is_differentiable(name):
    """Whether gradients flow through the operation."""
    return SAMPLES[name].differentiable and OPS[name].policy != "integer"


def test_known_calls_refuse_gradients_by_numbers():
    """An operand by which there is no derivative is refused in every call, though a number or a constant was taken before."""
    x, slope = nbgrad.ones(3), nbgrad.tensor(0.5)
    for _ in range(2):
        assert nbgrad.celu(x, slope).tolist() == [1.0, 1.0, 1.0]
    slope.requires_grad_()
    for _ in range(2):
        with pytest.raises(nbgrad.NotSupportedError, match="alpha requires grad"):
            nbgrad.celu(x, slope)


@pytest.mark.parametrize("write", [lambda x, value: x.fill_(value), lambda x, value: nbgrad.fill(x, value)], ids=["fill_", "fill"])
def test_what_is_stored_is_looked_at_in_every_call(write):
    """A number that the dtype does not hold is refused after one that it does; floats are truncated for integers each time."""
    x = nbgrad.zeros(3, dtype=nbgrad.uint8)
    for value, want in ((7, 7), (2.9, 2), (8, 8), (3.9, 3)):
        assert write(x, value).tolist() == [want] * 3
        with pytest.raises(nbgrad.NumberError, match="300"):
            write(x, 300)


@pytest.mark.filterwarnings("always::UserWarning")
def test_imaginary_parts_are_never_lost_in_silence():
    """Each copy of complex numbers into real ones warns."""
    x, y = nbgrad.zeros(2), nbgrad.tensor([1 + 1j, 2.0])
    for _ in range(3):
        with pytest.warns(UserWarning, match="imaginary"):
            assert x.copy_(y).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.addcmul_(y, y, value=0.5),
        lambda x, y: x.copy_(y),
        lambda x, y: x.fill_(2),
        lambda x, y: x.clamp_(-1, 0.5),
        lambda x, y: x.zero_(),
        lambda x, y: x.lerp_(y, 0.25),
    ],
)
def test_known_writes_count_and_are_seen_by_the_graph(write):
    """A write that is one look-up counts as one, and a saved value that it changes is found; an expanded operand is refused."""
    x, y, w = nbgrad.full((3,), 0.75), nbgrad.full((3,), 2.0), nbgrad.ones(3, requires_grad=True)
    for version in (1, 2, 3):
        assert write(x, y) is x
        assert x._version == version
    out = w * x
    write(x, y)
    with pytest.raises(nbgrad.GradError, match="modified in place"):
        out.sum().backward()
    with pytest.raises(RuntimeError):
        write(nbgrad.ones(1).expand(3), y)
    with nbgrad.no_grad():
        assert write(w, y) is w
    with pytest.raises(RuntimeError, match="leaf"):
        write(w, y)


@pytest.mark.parametrize("write", [lambda x, y: x.addcmul_(x, y), lambda x, y: x.copy_(y), lambda x, y: x.lerp_(y, 0.25)])
def test_known_writes_look_at_the_memory_of_every_call(write):
    """Operands that share part of the memory are refused after ones that do not."""
    buffer, other = nbgrad.arange(5.0), nbgrad.ones(4)
    for _ in range(2):
        write(buffer[:4].clone(), other)
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        write(buffer[1:], buffer[:4])


OWN = sorted(
    name
    for name, row in SAMPLES.items()
    if row.reference is not None and row.differentiable and isinstance(OPS[name], General) and not name.endswith("_")
)


@pytest.mark.parametrize("name", OWN)
def test_results_with_memory_of_their_own_are_no_views(name):
    """What is made in several steps can be written to, though the last step be a view: nobody has the tensor that it shows."""
    row = SAMPLES[name]
    for call in row.calls:
        for requires_grad in (True, False):
            for _ in range(2):  # the second call may be a prepared one
                operands = tensors(row, call, requires_grad=requires_grad)
                given = {id(x._storage_) for x in leaves(operands) if isinstance(x, nbgrad.Tensor)}
                for out in run(row, operands, call):
                    if isinstance(out, nbgrad.Tensor) and id(out._storage_) not in given:
                        assert not out._is_view() and out._base is None, f"{name}{call}"
