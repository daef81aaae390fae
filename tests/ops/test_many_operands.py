"""Declared operations of 1 to 40 operands: more than nodes have slots, iterators large buffers, and lists entries for subsets."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import nbgrad

F64 = nbgrad.float64
SHAPE = (5, 7)
# On both sides of what changes the way: 3 saved values, 8 operands whose subsets are in a list, 12 large buffers (6 with tangents).
COUNTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 20, 25, 39, 40]

pytestmark = pytest.mark.usefixtures("same_table")


def formula(names: list[str], text: str):
    """A formula of these operands."""
    return eval(f"lambda {', '.join(names)}: {text}")


def ring(count: int):
    """Declare the sum of ``(k + 1) a_k a_(k+1)``, in a ring: every derivative mentions two neighbours."""
    names = [f"a{k}" for k in range(count)]
    partials = {}
    for k, name in enumerate(names):
        before, after = names[k - 1], names[(k + 1) % count]
        text = f"{(k - 1) % count + 1}.0 * {before} + {k + 1}.0 * {after}"
        partials[name] = formula(sorted({before, after}), text)
    value = " + ".join(f"{k + 1}.0 * {name} * {names[(k + 1) % count]}" for k, name in enumerate(names))
    return nbgrad.declare(f"ring_of_{count}", formula(names, value), partials)


def ring_value(arrays: list) -> np.ndarray:
    """The same of arrays."""
    return sum((k + 1.0) * array * arrays[(k + 1) % len(arrays)] for k, array in enumerate(arrays))


def ring_gradients(arrays: list) -> list:
    """Its derivatives by every array."""
    n = len(arrays)
    return [((k - 1) % n + 1.0) * arrays[k - 1] + (k + 1.0) * arrays[(k + 1) % n] for k in range(n)]


FORMS = {
    "contiguous": lambda a, k: nbgrad.tensor(a),
    "strided": lambda a, k: nbgrad.tensor(a.T.copy()).t() if k % 2 == 0 else nbgrad.tensor(a),
    "dtypes": lambda a, k: nbgrad.tensor(a, dtype=[F64, nbgrad.float32, nbgrad.float64][k % 3]),
    "broadcast": lambda a, k: nbgrad.tensor(a[:, :1].copy()) if k % 3 == 1 else nbgrad.tensor(a),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", COUNTS)
def test_values_and_derivatives(count, form):
    """Value, gradients, directional derivative and, with one dtype, the gradients' own gradients are the formula's, by NumPy."""
    f, rng = ring(count), np.random.default_rng(count)
    xs = [FORMS[form](rng.standard_normal(SHAPE), k).requires_grad_() for k in range(count)]
    full = [np.broadcast_to(x.detach().numpy(), SHAPE).astype(float) for x in xs]

    def as_operand(array, x):
        return array if tuple(x.shape) == SHAPE else array.sum(1, keepdims=True)

    tolerance = 1e-4 if form == "dtypes" else 1e-10
    out, expected = f(*xs), ring_gradients(full)
    np.testing.assert_allclose(out.detach().numpy(), ring_value(full), tolerance, tolerance)
    gradients = nbgrad.grad(out.sum(), xs, create_graph=True)
    for x, g, want in zip(xs, gradients, expected):
        np.testing.assert_allclose(g.detach().numpy(), as_operand(want, x), tolerance, tolerance)

    tangents = [nbgrad.tensor(rng.standard_normal(tuple(x.shape)), dtype=x.dtype) for x in xs]
    _, t = nbgrad.func.jvp(lambda *operands: f(*operands), tuple(x.detach() for x in xs), tuple(tangents))
    np.testing.assert_allclose(t.numpy(), sum(g * tangent.numpy() for g, tangent in zip(expected, tangents)), tolerance, tolerance)

    if form in ("contiguous", "strided"):
        weights = [rng.standard_normal(SHAPE) for _ in xs]
        scalar = sum((g * nbgrad.tensor(w)).sum() for g, w in zip(gradients, weights))
        # The second derivatives of a sum of products, times weights, are the first ones at the weights.
        for h, want in zip(nbgrad.grad(scalar, xs), ring_gradients(weights)):
            np.testing.assert_allclose(h.numpy(), want, 1e-10, 1e-10)


def product(count: int):
    """Declare the product of all operands: every derivative mentions all others."""
    names = [f"a{k}" for k in range(count)]
    partials = {name: formula(others := [n for n in names if n != name], " * ".join(others)) for name in names}
    return nbgrad.declare(f"product_of_{count}", formula(names, " * ".join(names)), partials)


@pytest.fixture(params=[4, 9, 20])
def made(request):
    """A product, and operands for it."""
    f = product(request.param)
    return f, [nbgrad.full((3,), 1 + k / 10, dtype=F64, requires_grad=True) for k in range(request.param)]


def test_nodes_show_what_they_saved(made):
    """Whatever the slot, a saved value is found by its name."""
    f, xs = made
    node = f(*xs).grad_fn
    assert all(getattr(node, f"_saved_a{k}").tolist() == x.tolist() for k, x in enumerate(xs))
    assert type(node).__name__ == node.name() == f"ProductOf{len(xs)}Backward0"


def test_a_pass_frees_what_was_saved(made):
    """Every saved value dies with the pass, and the next pass is refused."""
    f, xs = made
    steps = [x * 1 for x in xs]
    references = [weakref.ref(step) for step in steps]
    y = f(*steps).sum()
    del steps
    y.backward(retain_graph=True)
    assert all(reference() is not None for reference in references)
    y.backward()
    assert [reference() for reference in references] == [None] * len(xs)
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_writes_to_any_saved_value_are_seen(made):
    """The version of every saved value is noted."""
    f, xs = made
    for k in range(len(xs)):
        steps = [x * 1 for x in xs]
        y = f(*steps)
        steps[k].add_(1)
        with pytest.raises(nbgrad.VersionError, match=f"'a{k}'"):
            y.sum().backward()


def test_saved_tensor_hooks_see_every_value(made):
    """Each is packed once and unpacked once."""
    f, xs = made
    packed, unpacked = [], []
    with nbgrad.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: unpacked.append(t) or t):
        y = f(*xs)
    gradients = nbgrad.grad(y.sum(), xs)
    assert len(packed) == len(unpacked) == len(xs)
    for x, g in zip(xs, gradients):
        np.testing.assert_allclose(g.numpy(), y.detach().numpy() / x.detach().numpy())


def test_other_forms(made):
    """In place, ``out=``, of a Python number, checkpointed, mapped, in anomaly mode."""
    f, xs = made
    plain = [x.detach() for x in xs]
    want = np.full(3, np.prod([x[0].item() for x in plain]))
    kept = [x * 1 for x in xs]
    getattr(kept[0], f"{f.__name__}_")(*kept[1:])
    np.testing.assert_allclose(nbgrad.grad(kept[0].sum(), xs)[0].numpy(), want / 1.0)
    np.testing.assert_allclose(f(*plain, out=nbgrad.zeros(3, dtype=F64)).numpy(), want)
    np.testing.assert_allclose(nbgrad.grad(f(*xs[:-1], 2.0).sum(), xs[0])[0].numpy(), 2 * want / plain[-1].numpy())
    np.testing.assert_allclose(nbgrad.vmap(f)(*plain).numpy(), want)
    for _ in range(2):
        with nbgrad.set_detect_anomaly(True):
            y = nbgrad.checkpoint(lambda *operands: f(*operands), *xs, use_reentrant=False)
            np.testing.assert_allclose(nbgrad.grad(y.sum(), xs[1])[0].numpy(), want / plain[1].numpy())


def test_more_operands_than_forty_are_refused():
    """What no launch has pointers for is an error at the declaration, not at a call."""
    names = [f"a{k}" for k in range(41)]
    with pytest.raises(nbgrad.ArgumentError, match="41 operands, expected at most 40.*Hint"):
        nbgrad.declare("sum_of_41", formula(names, " + ".join(names)))
    assert not hasattr(nbgrad.Tensor, "sum_of_41")
