"""Operations of several steps: how their arguments are read, and what a second call of the same layouts may take from the first."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad as nb

RNG = np.random.default_rng(7)
TABLE = RNG.normal(size=(4, 5))


def test_spellings_of_one_call_agree():
    """Positions, names in any order and other libraries' names of the arguments are one call."""
    x, index = nb.tensor(TABLE), nb.tensor([2, 0])
    expected = TABLE[:, [2, 0]]
    for out in (
        nb.index_select(x, 1, index), x.index_select(1, index=index), x.index_select(index=index, dim=1),
        nb.index_select(input=x, dim=1, index=index), nb.index_select(x, index=index, axis=1), x.index_select(-1, index),
    ):
        assert np.array_equal(out.numpy(), expected)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, index: x.index_select(1),
        lambda x, index: x.index_select(1, index, 3),
        lambda x, index: x.index_select(1, index, colour=3),
        lambda x, index: x.index_select(1, index, dim=1),
        lambda x, index: x.gather(),
        lambda x, index: x.gather([0], index),
    ],
)
def test_arguments_that_do_not_fit_are_refused(use):
    """Too few, too many, unknown ones, and a dimension that is none: the second time as the first."""
    x, index = nb.tensor(TABLE), nb.tensor([2, 0])
    for _ in range(2):
        with pytest.raises(TypeError):
            use(x, index)


def test_second_call_checks_its_own_index():
    """A plan is kept by layouts; the values of an index are looked at in every call, and a refused write changes nothing."""
    x, good, bad = nb.tensor(TABLE), nb.tensor([0, 3]), nb.tensor([0, 4])
    for read in (lambda i: x[i], lambda i: x[i, i], lambda i: x.index_select(0, i)):
        read(good)
        with pytest.raises(IndexError):
            read(bad)
        read(good)
    y = nb.tensor(TABLE)
    y[good] = 1.0
    with pytest.raises(IndexError):
        y[bad] = 2.0
    expected = TABLE.copy()
    expected[[0, 3]] = 1.0
    assert np.array_equal(y.numpy(), expected)


def test_dimension_that_is_a_tensor_is_read_every_time():
    """A dimension given by a tensor is its value now, not the one that a plan was made for."""
    x, index, dim = nb.tensor(TABLE), nb.tensor([1]), nb.tensor(0)
    assert x.index_select(dim, index).shape == (1, 5)
    dim.fill_(1)
    assert x.index_select(dim, index).shape == (4, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_points_in_a_transposed_matrix(dtype):
    """Writes at several index tensors find their elements whatever the strides, also where half floats are added in float32."""
    base = np.zeros((3, 4), dtype)
    rows, columns = np.array([0, 2, 2]), np.array([1, 0, 0])
    x = nb.tensor(base).t()
    x.index_put_((nb.tensor(columns), nb.tensor(rows)), nb.ones(3, dtype=x.dtype), accumulate=True)
    np.add.at(base.T, (columns, rows), 1)
    assert np.array_equal(x.numpy(), base.T)


def test_points_of_a_lazily_conjugated_matrix():
    """Index tensors lead through a conjugated transposed matrix as through its values, in reads and in writes."""
    values = TABLE + 1j * RNG.normal(size=TABLE.shape)
    rows, columns = np.array([0, 3]), np.array([4, 1])
    x = nb.tensor(values).mH
    at = (nb.tensor(columns), nb.tensor(rows))
    assert np.array_equal(x[at].resolve_conj().numpy(), values.conj().T[columns, rows])
    x[at] = 2j
    expected = values.conj().T.copy()
    expected[columns, rows] = 2j
    assert np.array_equal(x.resolve_conj().numpy(), expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stack_of_unlike_layouts(dim):
    """Operands of one shape but of other strides and dtypes stack as NumPy's do, and each gets its own gradient."""
    first, second = RNG.normal(size=(3, 2)), np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x, y = nb.tensor(first, requires_grad=True), nb.tensor(second, requires_grad=True)
    weight = RNG.normal(size=np.stack([first, second.T], dim).shape)
    for _ in range(2):
        x.grad = y.grad = None
        out = nb.stack([x, y.t()], dim)
        assert np.array_equal(out.detach().numpy(), np.stack([first, second.T], dim))
        (out * nb.tensor(weight)).sum().backward()
    assert np.allclose(x.grad.numpy(), np.take(weight, 0, dim))
    assert np.allclose(y.grad.numpy(), np.take(weight, 1, dim).T, atol=1e-6)


def test_gradients_of_equal_calls_are_their_own():
    """Nodes share what is known of a call's layouts, never its index: each backward pass goes where its own index led."""
    x = nb.tensor(TABLE, requires_grad=True)
    outs = [x[nb.tensor(rows)] for rows in ([0, 1], [3, 3], [2, 0])]
    for out, rows in zip(outs, ([0, 1], [3, 3], [2, 0])):
        grad, = nb.grad(out.sum(), x)
        expected = np.zeros_like(TABLE)
        np.add.at(expected, rows, 1)
        assert np.array_equal(grad.numpy(), expected)


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: x.t(), lambda x: x[1], lambda x: x[1, 2], lambda x: x[:0], lambda x: x[:, 1]]
)
def test_lists_of_views(make):
    """``tolist`` of views, matrices, single elements and nothing."""
    assert make(nb.tensor(TABLE)).tolist() == make(nb.tensor(TABLE)).numpy().tolist()


@pytest.mark.parametrize("dim", [0, 1, 2, -2])
def test_sort_along_any_dimension(dim):
    """The order stands in the dimension that was sorted, the last or another one."""
    values = RNG.normal(size=(2, 3, 4))
    found, order = nb.tensor(values).sort(dim)
    assert np.array_equal(found.numpy(), np.sort(values, dim)) and np.array_equal(order.numpy(), np.argsort(values, dim))
