"""Sums of cotangents: what a value that is used several times receives, and whose memory the sum may take."""

from __future__ import annotations

from contextlib import suppress
from weakref import ref

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from tests.functions import Returns
from tests.helpers import leaf


def middle_and_uses(x, makes):
    """``x * 1``, and the sum of one use of it for each of ``makes``, the last of which runs backward first."""
    h = x * 1.0
    total = Returns.apply(h, makes[0])
    for make in makes[1:]:
        total = total + Returns.apply(h, make)
    return h, total.sum()


def fresh(g):
    """A cotangent that nobody else holds."""
    return g * 2.0


# ---- values ----------------------------------------------------------------------------------------------------------
LAYOUTS = {
    "one number": lambda x: x.sum(),
    "contiguous": lambda x: x * 1.0,
    "transposed": lambda x: x.transpose(0, 1) * 1.0,
    "a view": lambda x: x[1:, ::2],
    "expanded": lambda x: x[:1].expand(6, 8),
    "empty": lambda x: x[:0] * 1.0,
}


@pytest.mark.parametrize("dtype", [nbgrad.float64, nbgrad.float32, nbgrad.float16, nbgrad.complex128])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_each_use_counts(layout, dtype):
    """The gradient of a value used with several factors is that of its product with their sum."""
    data = np.random.default_rng(0).integers(-3, 4, (6, 8)).astype(dtype.name)
    together, apart = (nbgrad.tensor(data, requires_grad=True) for _ in range(2))
    factors = (1.0, 2.0, -3.0, 5.0)
    h = layout(apart)
    sum([(h * factor).sum() for factor in factors[1:]], h.sum() * factors[0]).real.backward()
    (layout(together) * sum(factors)).sum().real.backward()
    assert apart.grad.tolist() == together.grad.tolist()


@pytest.mark.parametrize("uses", [2, 3, 40])
def test_sums_of_leaves(uses):
    """A leaf used many times, also twice by one operation, gets a cotangent from every use."""
    x = leaf([1.0, 2.0])
    sum([x * x for _ in range(uses)]).sum().backward()
    assert x.grad.tolist() == [2.0 * uses, 4.0 * uses]


def test_sums_are_the_same_in_any_memory():
    """Rounding does not depend on where a sum was kept: every cotangent is held by its maker, or none is."""
    rng, kept = np.random.default_rng(1), []
    parts = [nbgrad.tensor(rng.normal(size=7)) for _ in range(6)]

    def keep(made):
        kept.append(made)
        return made

    free, held = leaf(np.ones(7)), leaf(np.ones(7))
    middle_and_uses(free, [lambda g, part=part: g * part for part in parts])[1].backward()
    middle_and_uses(held, [lambda g, part=part: keep(g * part) for part in parts])[1].backward()
    assert free.grad.tolist() == held.grad.tolist()


def test_layouts_that_differ():
    """Cotangents of one value in different strides are added element by element."""
    x = leaf(np.arange(6.0).reshape(2, 3))
    weights = np.arange(6.0).reshape(2, 3) + 1
    makes = [
        lambda g: nbgrad.tensor(weights),
        lambda g: nbgrad.tensor(weights.T.copy()).transpose(0, 1),
        lambda g: nbgrad.ones(1, 1, dtype=nbgrad.float64).expand(2, 3),
        fresh,
    ]
    middle_and_uses(x, makes)[1].backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * weights + 1 + 2)


# ---- memory ----------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not config.NATIVE, reason="the Python launcher adds nothing in place")
def test_a_sum_takes_the_memory_of_a_cotangent():
    """Of cotangents that nobody else holds, the sum needs no memory of its own."""
    places = []

    def make(g):
        made = fresh(g)
        places.append(made.data_ptr())
        return made

    x, received = leaf([1.0, 2.0]), []
    h, total = middle_and_uses(x, [make, make, make])
    h.register_hook(lambda g: received.append(g.data_ptr()))
    total.backward()
    assert received[0] in places and x.grad.tolist() == [6.0, 6.0]


HOLDERS = {
    "itself": lambda g: g,
    "an alias": lambda g: g.detach(),
    "a view": lambda g: g[:1],
    "an array": lambda g: g.numpy(),
    "data": lambda g: g.data,
    "a capsule": lambda g: nbgrad.from_dlpack(g),
    "a buffer": lambda g: memoryview(g.numpy()),
}


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_whoever_holds_a_cotangent_does_not_see_the_sum(hold, position):
    """A cotangent of which somebody kept anything is not written to, whenever it arrives."""
    kept = []

    def make(g):
        made = fresh(g)
        kept.append(hold(made))
        return made

    makes = [fresh, fresh, fresh]
    makes[position] = make
    x = leaf([1.0, 2.0])
    middle_and_uses(x, makes)[1].backward()
    assert np.asarray(kept[0]).tolist() in ([2.0, 2.0], [2.0])
    assert x.grad.tolist() == [6.0, 6.0]


def test_gradients_kept_by_a_hook_of_a_node():
    """A hook that keeps the tuple of gradients that it was shown does not see them grow."""
    kept = []

    def make(g):
        kept.append(fresh(g))
        return kept[-1]

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    h = x * 1.0
    product = h * y
    product.grad_fn.register_hook(lambda inputs, outputs: kept.append(inputs))
    (product + Returns.apply(h, make)).sum().backward()
    assert kept[0].tolist() == [2.0, 2.0] and [g.tolist() for g in kept[1]] == [[3.0, 4.0], [1.0, 2.0]]
    assert x.grad.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("position", [0, 1])
def test_memory_of_others_is_not_written_to(position):
    """A cotangent on a user's array leaves that array as it is."""
    array = np.array([2.0, 2.0])
    makes = [fresh, fresh]
    makes[position] = lambda g: nbgrad.from_numpy(array)
    x = leaf([1.0, 2.0])
    middle_and_uses(x, makes)[1].backward()
    assert array.tolist() == [2.0, 2.0] and x.grad.tolist() == [4.0, 4.0]


def test_one_tensor_for_several_operands():
    """A backward that returns one tensor twice, or the cotangent that it was given, gives every operand its own sum."""

    class Both(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    h, k = x * 1.0, y * 1.0
    (Both.apply(h, k) + Both.apply(k, h) + Both.apply(h, h) + h * k).sum().backward()
    assert x.grad.tolist() == [7.0, 8.0] and y.grad.tolist() == [3.0, 4.0]


def test_a_seed_is_not_written_to():
    """A root that also gets a cotangent from another root leaves the caller's seeds as they are."""
    x, seeds = leaf([1.0, 2.0]), [nbgrad.ones(2, dtype=nbgrad.float64) for _ in range(2)]
    h = x * 1.0
    nbgrad.backward([h, h * 2.0], seeds)
    assert [seed.tolist() for seed in seeds] == [[1.0, 1.0]] * 2 and x.grad.tolist() == [3.0, 3.0]


def test_saved_values_are_not_written_to():
    """A backward that returns what it saved can run again."""

    class Save(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x * 3.0)
            return x * 3.0 * x / 2.0

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0]

    x = leaf([1.0, 2.0])
    h = x * 1.0
    total = (Save.apply(h) + Save.apply(h) + h).sum()
    for _ in range(2):
        x.grad = None
        total.backward(retain_graph=True)
        assert x.grad.tolist() == [7.0, 13.0]


def test_recorded_sums_keep_their_terms():
    """With create_graph a sum is a recorded operation; its terms stay what they were."""
    terms = []

    def make(g):
        terms.append(g * 2.0)
        return terms[-1]

    x = leaf([1.0, 2.0])
    _, total = middle_and_uses(x, [make, make])
    (g,) = nbgrad.grad(total, x, create_graph=True)
    assert g.tolist() == [4.0, 4.0] and [term.tolist() for term in terms] == [[2.0, 2.0]] * 2


# ---- steps -----------------------------------------------------------------------------------------------------------
def test_edges_changed_during_a_pass():
    """A hook that gives a node other edges is refused where the new ones lead to nodes that the pass did not count."""
    x, y = leaf([1.0]), leaf([1.0])
    h, other = x * 2.0, (y * 3.0) * 4.0
    total = (h * 5.0).sum()
    node = h.grad_fn

    def rewire(g):
        node._edges_ = (other.grad_fn,)

    h.register_hook(rewire)
    with pytest.raises((RuntimeError, KeyError)):
        total.backward()


def test_an_error_in_a_node_leaves_nothing_behind():
    """A pass that failed drops what it had gathered."""

    def fail(g):
        raise ValueError("no")

    gathered = []

    def make(g):
        made = fresh(g)
        gathered.append(ref(made))
        return made

    total = middle_and_uses(leaf([1.0, 2.0]), [fail, make])[1]
    with suppress(ValueError):
        total.backward()
    assert len(gathered) == 1 and gathered[0]() is None
