"""``out=``: all functions that take it ask the same of it, and say the same."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.autograd import forward_ad

X = nbgrad.arange(1.0, 17.0).view(4, 4) / 20
INDEX = nbgrad.tensor([1, 0, 3, 2])
LAUNCHED = {
    "exp": lambda x, **out: nbgrad.exp(x, **out),
    "add": lambda x, **out: nbgrad.add(x, x, alpha=2, **out),
    "div": lambda x, **out: nbgrad.div(x, x + 1, rounding_mode="trunc", **out),
    "where": lambda x, **out: nbgrad.where(x > 0.3, x, x + 1, **out),
    "clamp": lambda x, **out: nbgrad.clamp(x, 0.2, 0.5, **out),
}
FLOATS = {
    **LAUNCHED,
    "abs": lambda x, **out: nbgrad.abs(nbgrad.complex(x, x), **out),
    "sum": lambda x, **out: nbgrad.sum(x, 0, **out),
    "softmax": lambda x, **out: nbgrad.softmax(x, 0, **out),
    "cumsum": lambda x, **out: nbgrad.cumsum(x, 0, **out),
    "nextafter": lambda x, **out: nbgrad.nextafter(x, x + 1, **out),
    "mm": lambda x, **out: nbgrad.mm(x, x, **out),
    "cat": lambda x, **out: nbgrad.cat([x, x], **out),
    "column_stack": lambda x, **out: nbgrad.column_stack([x, x], **out),
    "gather": lambda x, **out: nbgrad.gather(x, 0, INDEX.view(1, 4), **out),
    "index_add": lambda x, **out: nbgrad.index_add(x, 0, INDEX, x, **out),
    "tril": lambda x, **out: nbgrad.tril(x, **out),
    "linalg.inv": lambda x, **out: nbgrad.linalg.inv(x + nbgrad.eye(4), **out),
}
WITHOUT_DERIVATIVE = {
    "eq": lambda x, **out: nbgrad.eq(x, x, **out),
    "logical_not": lambda x, **out: nbgrad.logical_not(x, **out),
    "argmax": lambda x, **out: nbgrad.argmax(x, 0, **out),
    "any": lambda x, **out: nbgrad.any(x, 0, **out),
    "nonzero": lambda x, **out: nbgrad.nonzero(x, **out),
}
SEVERAL = {
    "max": lambda x, **out: nbgrad.max(x, 0, **out),
    "sort": lambda x, **out: nbgrad.sort(x, **out),
    "linalg.slogdet": lambda x, **out: nbgrad.linalg.slogdet(x + nbgrad.eye(4), **out),
}
ONE = {**FLOATS, **WITHOUT_DERIVATIVE}
CREATING = {"ones": lambda x, **out: nbgrad.ones(4, 4, **out), "arange": lambda x, **out: nbgrad.arange(4.0, **out)}
EVERY = {**ONE, **SEVERAL, **CREATING}


def refused(error: type[Exception], name: str, match: str, out, x=X) -> None:
    """The call raises that error, which begins with the function's name."""
    with pytest.raises(error, match=f"^{name}: .*{match}"):
        EVERY[name](x, out=out)


@pytest.mark.parametrize("name", [*ONE, *CREATING])
def test_out_of_every_kind_holds_the_result(name):
    """One of the shape, one with gaps, an empty one of any rank: it is returned, counts a write, and holds the result."""
    want = EVERY[name](X)
    gaps = nbgrad.zeros(*want.shape, 2, dtype=want.dtype)[..., 1]
    for out in (nbgrad.zeros_like(want), gaps, nbgrad.empty(0, dtype=want.dtype), nbgrad.empty(0, 3, dtype=want.dtype)):
        version = out._version
        assert EVERY[name](X, out=out) is out and out._version > version
        assert out.shape == want.shape and out.tolist() == want.tolist()


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results(name):
    """As many tensors, in a tuple or a list; the same kind of result comes back."""
    want = SEVERAL[name](X)
    for kind in (tuple, list):
        out = kind(nbgrad.empty(0, dtype=x.dtype) for x in want)
        result = SEVERAL[name](X, out=out)
        assert type(result) is type(want) and all(a is b for a, b in zip(result, out))
        assert [x.tolist() for x in result] == [x.tolist() for x in want]
    for wrong in (want[0], want[:1], (*want, want[0])):
        refused(nbgrad.ArgumentError, name, "out must be 2 tensors", wrong)
    refused(nbgrad.ArgumentError, name, "out must be a Tensor", (want[0].clone(), 3))


@pytest.mark.parametrize("name", [*ONE, *CREATING])
def test_what_does_not_fit_is_refused(name):
    """No tensor; another shape; a dtype of a lower category; elements that share a place; memory that is read-only."""
    want = EVERY[name](X)
    refused(nbgrad.ArgumentError, name, "out must be a Tensor, got int", 3)
    refused(nbgrad.ShapeError, name, r"out has \[7, 5\]\. Hint", nbgrad.zeros(7, 5, dtype=want.dtype))
    if name in FLOATS:
        refused(nbgrad.DTypeError, name, "cannot be stored in out, int32", nbgrad.zeros(want.shape, dtype=nbgrad.int32))
    refused(nbgrad.InplaceError, name, "share one memory location", nbgrad.zeros((), dtype=want.dtype).expand(want.shape))
    array = want.numpy().copy()
    array.flags.writeable = False
    refused(nbgrad.InplaceError, name, "read-only", nbgrad.asarray(array))
    with nbgrad.inference_mode():
        marked = nbgrad.zeros_like(want)
    refused(nbgrad.InplaceError, name, "an inference tensor", marked)


@pytest.mark.parametrize("name", FLOATS)
def test_no_gradient_is_lost(name):
    """Where an argument or ``out`` requires grad it is an error, but under ``no_grad()``."""
    x, out = X.clone().requires_grad_(), nbgrad.zeros_like(FLOATS[name](X))
    refused(nbgrad.GradError, name, "out= is not differentiable", out, x)
    refused(nbgrad.GradError, name, "out= is not differentiable", out.requires_grad_())
    with nbgrad.no_grad():
        assert FLOATS[name](x, out=out) is out and out.is_leaf
    assert out.tolist() == FLOATS[name](X).tolist()
    refused(nbgrad.GradError, name, "out= is not differentiable", out.detach(), x)  # of a kind that is known by now
    refused(nbgrad.GradError, name, "out= is not differentiable", out)


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVE)
def test_no_gradient_is_asked_of_what_has_none(name):
    """Truth values and indices of a tensor that requires grad go into ``out``."""
    want = WITHOUT_DERIVATIVE[name](X)
    assert WITHOUT_DERIVATIVE[name](X.clone().requires_grad_(), out=nbgrad.zeros_like(want)).tolist() == want.tolist()


@pytest.mark.parametrize("name", FLOATS)
def test_no_tangent_is_lost(name):
    """A dual argument, or a dual ``out``, is an error."""
    with forward_ad.dual_level():
        out = nbgrad.zeros_like(FLOATS[name](X))
        refused(nbgrad.NotSupportedError, name, "out= is not differentiable", out, forward_ad.make_dual(X, X))
        refused(nbgrad.NotSupportedError, name, "out= is not differentiable", forward_ad.make_dual(out, out + 1))
        assert FLOATS[name](X, out=out) is out


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVE)
def test_no_tangent_is_asked_of_what_has_none(name):
    """Truth values and indices of a dual tensor go into ``out``."""
    want = WITHOUT_DERIVATIVE[name](X)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, X)
        assert WITHOUT_DERIVATIVE[name](x, out=nbgrad.zeros_like(want)).tolist() == want.tolist()


@pytest.mark.parametrize("name", [name for name in ONE if name != "nonzero"])
def test_batches(name):
    """Each element of a batch is written into the batched ``out``; one that is the same for all of them is refused."""
    xs = nbgrad.stack([X, X / 2])
    want = nbgrad.stack([ONE[name](x) for x in xs])
    out = nbgrad.zeros_like(want)
    nbgrad.func.vmap(lambda x, out: ONE[name](x, out=out))(xs, out)
    assert out.allclose(want, rtol=1e-4) if name in FLOATS else out.tolist() == want.tolist()
    with pytest.raises(nbgrad.InplaceError, match="vmap"):
        nbgrad.func.vmap(lambda x: ONE[name](x, out=nbgrad.zeros_like(want[0])).clone())(xs)


@pytest.mark.parametrize("name", FLOATS)
def test_inside_of_inference_mode(name):
    """Both kinds of ``out`` take the result there."""
    want = FLOATS[name](X)
    ordinary = nbgrad.zeros_like(want)
    with nbgrad.inference_mode():
        for out in (ordinary, nbgrad.zeros_like(want)):
            assert FLOATS[name](X, out=out) is out and out.tolist() == want.tolist()


@pytest.mark.parametrize("name", [name for name in FLOATS if FLOATS[name](X).shape == X.shape])
def test_out_in_the_memory_of_an_operand(name):
    """The operand itself is taken, and memory interleaved with it; a part at another place where the result is computed before."""
    want = FLOATS[name](X)
    x, lattice, memory = X.clone(), nbgrad.stack([X, X], 1), nbgrad.cat([X, X])
    assert FLOATS[name](x, out=x).allclose(want)
    assert FLOATS[name](lattice[:, 0], out=lattice[:, 1]).allclose(want)
    assert FLOATS[name](memory[:4], out=memory[4:]).allclose(want)
    if name in LAUNCHED:
        refused(nbgrad.InplaceError, name, "overlaps the memory that is written", memory[2:6], memory[:4])
    else:
        assert FLOATS[name](memory[:4], out=memory[2:6]).allclose(want)


def test_an_empty_out_that_grows_over_an_operand():
    """It begins in the middle of what is read: refused; at its beginning each element is read before it is written."""
    memory = nbgrad.arange(6.0)
    with pytest.raises(nbgrad.InplaceError, match="^exp: an operand overlaps"):
        nbgrad.exp(memory[:4], out=memory[2:2])
    want = memory[:4].exp()
    assert nbgrad.exp(memory[:4], out=memory[:0]).tolist() == want.tolist()
