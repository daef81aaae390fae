"""Arguments under NumPy's and torch's names, and results into ``out``."""
from __future__ import annotations

import numpy as np
import pytest

import nbgrad

ARRAY = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])


@pytest.fixture
def x():
    """A matrix."""
    return nbgrad.tensor(ARRAY)


REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "std", "var", "logsumexp", "norm")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("form", ["function", "method"])
def test_axis_and_keepdims_are_dim_and_keepdim(name, form, x):
    """A reduction by NumPy's names is the one by torch's."""
    call = getattr(nbgrad, name) if form == "function" else lambda x, **named: getattr(x, name)(**named)
    if name == "logsumexp" and form == "method":
        call = lambda x, **named: nbgrad.Tensor.logsumexp(x, **named)
    want = call(x, dim=1, keepdim=True)
    assert want.shape == (2, 1)
    np.testing.assert_array_equal(call(x, axis=1, keepdims=True).numpy(), want.numpy())
    np.testing.assert_array_equal(call(x, axis=1).numpy(), want.numpy()[:, 0])


@pytest.mark.parametrize("call", [
    lambda x, **d: x.max(**d).values, lambda x, **d: x.min(**d).indices, lambda x, **d: x.cumsum(**d),
    lambda x, **d: x.cumprod(**d),
    lambda x, **d: x.sort(**d).values, lambda x, **d: x.topk(1, **d).values, lambda x, **d: x.argsort(**d),
    lambda x, **d: x.softmax(**d), lambda x, **d: x[None].transpose(0, 1).squeeze(**d), lambda x, **d: nbgrad.cat([x, x], **d),
    lambda x, **d: nbgrad.stack([x, x], **d), lambda x, **d: nbgrad.unsqueeze(x, **d),
    lambda x, **d: nbgrad.select(x, index=0, **d)])
def test_axis_is_dim_elsewhere(call, x):
    """Scans, orders, joins and views take it too."""
    np.testing.assert_array_equal(call(x, axis=0).numpy(), call(x, dim=0).numpy())


@pytest.mark.parametrize("call", [
    lambda x: x.sum(0, axis=1), lambda x: x.sum(dim=0, axis=1), lambda x: nbgrad.sum(x, 0, axis=1),
    lambda x: x.var(0, axis=0), lambda x: x.cumsum(0, axis=1), lambda x: x.max(0, axis=1), lambda x: x.sum(0, True, keepdims=True),
    lambda x: x.squeeze(0, axis=0)])
def test_one_argument_under_two_names_is_refused(call, x):
    """Neither name wins."""
    with pytest.raises(nbgrad.ArgumentError, match="two names of one argument. Hint"):
        call(x)


def test_positions_do_not_reach_the_other_names(x):
    """``axis`` has no position: a third positional argument of ``sum`` is an error."""
    with pytest.raises(TypeError):
        x.sum(0, True, 1)


@pytest.mark.parametrize("call, want", [
    (lambda x, y: nbgrad.sum(input=x, dim=0), ARRAY.sum(0)),
    (lambda x, y: nbgrad.exp(input=x), np.exp(ARRAY)),
    (lambda x, y: nbgrad.exp(x=x), np.exp(ARRAY)),
    (lambda x, y: nbgrad.mul(input=x, other=y), ARRAY * ARRAY),
    (lambda x, y: nbgrad.mm(input=x, mat2=y.t()), ARRAY @ ARRAY.T),
    (lambda x, y: nbgrad.matmul(input=x, other=y.t()), ARRAY @ ARRAY.T),
    (lambda x, y: nbgrad.mv(input=x, vec=y[0]), ARRAY @ ARRAY[0]),
    (lambda x, y: nbgrad.dot(input=x[0], tensor=y[0]), ARRAY[0] @ ARRAY[0]),
    (lambda x, y: nbgrad.permute(input=x, dims=(1, 0)), ARRAY.T),
    (lambda x, y: nbgrad.reshape(input=x, shape=(3, 2)), ARRAY.reshape(3, 2)),
    (lambda x, y: nbgrad.flip(x, dims=(0,)), ARRAY[::-1]),
    (lambda x, y: x.flip(dims=(0, 1)), ARRAY[::-1, ::-1]),
    (lambda x, y: x.repeat(repeats=(2, 1)), np.tile(ARRAY, (2, 1))),
    (lambda x, y: nbgrad.swapaxes(input=x, axis0=0, axis1=1), ARRAY.T),
    (lambda x, y: nbgrad.gather(input=x, dim=1, index=nbgrad.tensor([[0], [2]])), [[1.0], [-6.0]]),
    (lambda x, y: nbgrad.tensor_split(input=x, sections=2)[1], ARRAY[1:]),
    (lambda x, y: nbgrad.sum(input=ARRAY), ARRAY.sum()),
])
def test_names_of_torch(call, want, x):
    """Functions take operands and sizes by torch's names; arrays, too."""
    np.testing.assert_allclose(call(x, x).numpy(), want)


@pytest.mark.parametrize("call", [
    lambda x: nbgrad.sum(x, axes=0), lambda x: nbgrad.mm(x, third=x), lambda x: nbgrad.cat([x], dims=0)])
def test_names_of_nobody_are_refused(call, x):
    """The error says what was expected."""
    with pytest.raises(nbgrad.ArgumentError, match="unexpected argument .*expected"):
        call(x)


@pytest.mark.parametrize("call, shape", [
    (lambda x, **o: nbgrad.sum(x, 0, **o), (3,)), (lambda x, **o: nbgrad.mean(x, 1, **o), (2,)),
    (lambda x, **o: nbgrad.amax(x, 1, **o), (2,)), (lambda x, **o: nbgrad.var(x, 0, **o), (3,)),
    (lambda x, **o: nbgrad.cumsum(x, 1, **o), (2, 3)), (lambda x, **o: nbgrad.matmul(x, x.t(), **o), (2, 2)),
    (lambda x, **o: nbgrad.cat([x, x], **o), (4, 3)), (lambda x, **o: nbgrad.stack([x, x], **o), (2, 2, 3)),
    (lambda x, **o: nbgrad.outer(x[0], x[1], **o), (3, 3)), (lambda x, **o: nbgrad.logsumexp(x, 1, **o), (2,))])
def test_result_goes_into_out(call, shape, x):
    """``out`` is written and returned."""
    out = nbgrad.full(shape, -1.0, dtype=nbgrad.float64)
    version = out._version
    assert call(x, out=out) is out
    assert out._version > version
    np.testing.assert_array_equal(out.numpy(), call(x).numpy())


def test_several_results_go_into_a_tuple(x):
    """``sort`` writes values and indices, and gives both by name."""
    out = nbgrad.empty(2, 3, dtype=nbgrad.float64), nbgrad.empty(2, 3, dtype=nbgrad.int64)
    found = nbgrad.sort(x, out=out)
    assert found.values is out[0] and found.indices is out[1]
    np.testing.assert_array_equal(out[1].numpy(), np.argsort(ARRAY))


@pytest.mark.parametrize("out, error, match", [
    (lambda: nbgrad.empty(2, dtype=nbgrad.float64), nbgrad.ShapeError, r"sum: out is \(2,\), the result \(3,\). Hint"),
    (lambda: nbgrad.empty(3, dtype=nbgrad.int64), nbgrad.DTypeError, "sum: out is int64, the result float64"),
    (lambda: np.empty(3), nbgrad.ArgumentError, "sum: out must be a Tensor"),
    (lambda: nbgrad.empty(3, dtype=nbgrad.float64, requires_grad=True), nbgrad.GradError, "sum: out= is not differentiable.*Hint")])
def test_out_that_does_not_fit_is_refused(out, error, match, x):
    """It is never resized, converted to another kind of number, or written behind autograd's back."""
    with pytest.raises(error, match=match):
        nbgrad.sum(x, 0, out=out())


def test_operand_that_requires_grad_is_refused_with_out(x):
    """Unless recording is off."""
    x.requires_grad_()
    out = nbgrad.empty(3, dtype=nbgrad.float64)
    with pytest.raises(nbgrad.GradError, match="sum: out="):
        nbgrad.sum(x, 0, out=out)
    with nbgrad.no_grad():
        nbgrad.sum(x, 0, out=out)
    np.testing.assert_array_equal(out.numpy(), ARRAY.sum(0))
