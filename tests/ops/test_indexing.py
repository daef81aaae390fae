"""``x[...]`` read and written, gather, scatter and their like, masks: NumPy is the oracle, index by index.

A read moves elements only, so its gradient is the cotangents added up (``np.add.at``) where the elements came from.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from tests.helpers import arange

F64 = nbgrad.float64
SHAPE = (4, 3, 5)
MASK = np.arange(4 * 3).reshape(4, 3) % 3 != 1
I, J = np.array([[0, -1], [3, 1]]), np.array([2, 0])
KEYS = {
    "int": 1,
    "negative_int": -1,
    "ints": (1, -2, 3),
    "slice": slice(1, 3),
    "step": (slice(None), slice(None, None, 2)),
    "ellipsis": (..., 1),
    "only_ellipsis": ...,
    "empty_tuple": (),
    "none": None,
    "nones": (None, 0, None, ..., None),
    "numpy_int": np.int64(2),
    "list": [0, 2, 2],
    "array": I,
    "range": range(3),
    "empty_list": [],
    "tuple_of_arrays": (I, J),
    "adjacent": (slice(None), I % 3, J),
    "apart": (I, slice(None), J),
    "slice_between": ([0, 1], slice(1, None), [3, -1]),
    "broadcast": (np.array([[0], [3]]), np.array([1, 2, 0])),
    "array_and_slice": (slice(1, 4), [0, 2], slice(None, None, 2)),
    "array_and_none": (I, None),
    "none_between": (J, None, J),
    "mask": MASK,
    "full_mask": np.arange(60).reshape(4, 3, 5) % 2 == 0,
    "mask_of_rows": [True, False, True, True],
    "mask_and_array": (MASK, np.array([0])),
    "mask_after_slice": (slice(None), np.array([True, False, True])),
    "true": True,
    "false": False,
    "ellipsis_and_array": (..., [1, -1]),
    "empty_mask": np.zeros((4, 3), bool),
}


def tensor(array, **options):
    """A tensor with a copy of an array."""
    return nbgrad.tensor(np.array(array, order="C"), **options)


def as_tensors(key):
    """A key with tensors in place of its arrays."""
    if isinstance(key, tuple):
        return tuple(map(as_tensors, key))
    return tensor(key) if isinstance(key, np.ndarray) else key


def random(*shape, seed=0):
    """Standard normal float64 numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


# ---- x[key] ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [as_tensors, lambda key: key], ids=["tensors", "arrays"])
@pytest.mark.parametrize("name", KEYS)
def test_reading_is_numpys(name, convert):
    """Elements and shape are those of NumPy."""
    a = arange(*SHAPE)
    np.testing.assert_array_equal(tensor(a)[convert(KEYS[name])].numpy(), a[KEYS[name]])


@pytest.mark.parametrize("key", [[[0, 1], [1, 0]], [0, slice(1, 3)], [None, 1], [..., 0]], ids=str)
def test_list_that_holds_more_than_numbers_is_a_tuple(key):
    """As in torch, and with a warning, since NumPy reads a list of lists as one array."""
    a = arange(*SHAPE)
    with pytest.warns(UserWarning, match="index: a list .* is read as a tuple.*Hint"):
        read = tensor(a)[key]
    np.testing.assert_array_equal(read.numpy(), a[tuple(key)])


@pytest.mark.parametrize("name", KEYS)
def test_reading_a_strided_tensor(name):
    """The same through a transposed operand."""
    a = arange(*SHAPE)
    x = tensor(a.transpose(2, 1, 0)).permute(2, 1, 0)
    np.testing.assert_array_equal(x[KEYS[name]].numpy(), a[KEYS[name]])


@pytest.mark.parametrize("name", KEYS)
def test_gradient_of_reading(name):
    """Cotangents add up where elements were read, repeated ones included; and the second derivative reads again."""
    key = KEYS[name]
    x = tensor(arange(*SHAPE), requires_grad=True)
    out = x[key]
    weights = random(*out.shape)
    w = tensor(weights, requires_grad=True)
    (g,) = nbgrad.grad((out * w).sum(), x, create_graph=True)
    expected = np.zeros(SHAPE)
    np.add.at(expected, key, weights)
    np.testing.assert_allclose(g.detach().numpy(), expected, rtol=1e-14, atol=1e-14)
    v = random(*SHAPE, seed=1)
    (again,) = nbgrad.grad((g * tensor(v)).sum(), w)
    np.testing.assert_array_equal(again.numpy(), v[key])


UNREPEATED = {name: key for name, key in KEYS.items() if name not in ("list", "array", "apart")}


@pytest.mark.parametrize("name", UNREPEATED)
def test_writing_a_tensor(name):
    """``x[key] = w`` writes w's elements; the overwritten past gets no gradient, w gets its part of it."""
    key = UNREPEATED[name]
    a = arange(*SHAPE)
    value = random(*a[key].shape)
    x, w = tensor(a, requires_grad=True), tensor(value, requires_grad=True)
    y = x * 1
    y[as_tensors(key)] = w
    expected = a.copy()
    expected[key] = value
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    c = random(*SHAPE, seed=1)
    (y * tensor(c)).sum().backward()
    kept = c.copy()
    kept[key] = 0
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    np.testing.assert_array_equal(w.grad.numpy(), c[key])


@pytest.mark.parametrize("name", KEYS)
def test_writing_a_number(name):
    """``x[key] = 7`` writes a number, into a strided tensor as well."""
    a = arange(*SHAPE)
    for x in (tensor(a), tensor(a.transpose(2, 1, 0)).permute(2, 1, 0)):
        x[KEYS[name]] = 7
        expected = a.copy()
        expected[KEYS[name]] = 7
        np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("name", ["adjacent", "apart", "mask", "list", "array_and_slice", "slice"])
def test_writing_broadcasts(name):
    """A written value broadcasts, and its gradient is summed back."""
    a, key = arange(*SHAPE), KEYS[name]
    x, w = tensor(a), tensor(np.array([2.0]), requires_grad=True)
    x[key] = w
    expected = a.copy()
    expected[key] = 2.0
    np.testing.assert_array_equal(x.detach().numpy(), expected)
    x.sum().backward()
    assert w.grad.tolist() == [float(a[key].size)]


def test_last_of_repeated_writes_stays():
    """Of several values for one element the last one stays."""
    x = nbgrad.zeros(2)
    x[[0, 0, 0]] = tensor(np.float32([1, 2, 3]))
    assert x.tolist() == [3.0, 0.0]


def test_int_among_index_tensors_follows_torch():
    """An int is applied before index tensors are placed (NumPy would move them to the front)."""
    a = arange(2, 3, 4)
    out = tensor(a)[0, :, tensor(np.array([1, 3]))]
    np.testing.assert_array_equal(out.numpy(), a[0][:, [1, 3]])


def test_value_with_dimensions_of_size_one_in_front():
    """As in torch a value may have more dimensions than the place if they have size 1."""
    x = nbgrad.zeros(2, 3)
    x[0] = nbgrad.ones(1, 1, 3)
    assert x.tolist() == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_zero_dim_index_tensor_is_an_int():
    """A 0-d index makes a view, and a later change of it changes nothing."""
    x, i = tensor(arange(3, 2)), nbgrad.tensor(2)
    view = x[i]
    i.zero_()
    assert view._is_view() and view.tolist() == [4.0, 5.0] and x[i].tolist() == [0.0, 1.0]


def test_index_tensor_written_before_backward():
    """A graph notices that an index it needs was changed."""
    x, i = tensor(arange(3), requires_grad=True), nbgrad.tensor([0, 2])
    y = x[i].sum()
    i.add_(0)
    with pytest.raises(RuntimeError, match="index"):
        y.backward()


@pytest.mark.parametrize(
    "key",
    [
        4,
        -5,
        (0, 3),
        [0, 4],
        [-5],
        (slice(None), [0, 3]),
        ([0, 1], [0, 3]),
        (0, 0, 0, 0),
        (..., ...),
        [0.5],
        np.array([[True]]),
        (slice(None), MASK),
    ],
)
def test_index_errors_leave_the_tensor_alone(key):
    """Indices out of range, too many of them, and masks of another shape are IndexErrors, raised before anything is
    written."""
    a = arange(*SHAPE)
    x = tensor(a)
    with pytest.raises(IndexError):
        x[key]
    with pytest.raises(IndexError):
        x[key] = -1.0
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.parametrize("key", ["a", 1.5, {}])
def test_foreign_keys_are_type_errors(key):
    """What is no index is a TypeError that says what is."""
    with pytest.raises(TypeError, match="expected"):
        nbgrad.zeros(2)[key]


# ---- gather, scatter -------------------------------------------------------------------------------------------------

CASES = [
    ((3, 4), (2, 4), 0),
    ((3, 4), (3, 6), 1),
    ((2, 3, 4), (2, 2, 4), 1),
    ((2, 3, 4), (1, 3, 9), -1),
    ((5,), (7,), 0),
    ((3, 4), (0, 4), 0),
]


def index_for(shape, index_shape, dim):
    """A random index of that shape."""
    return np.random.default_rng(3).integers(0, shape[dim], index_shape)


def places(index, dim):
    """The NumPy key that says the same as an index along ``dim``."""
    key = list(np.indices(index.shape))
    key[dim] = index
    return tuple(key)


@pytest.mark.parametrize(("shape", "index_shape", "dim"), CASES)
def test_gather(shape, index_shape, dim):
    """``gather`` reads along a dimension; its gradient adds up."""
    a, index = random(*shape), index_for(shape, index_shape, dim)
    key, w = places(index, dim), random(*index_shape, seed=2)
    for make in (tensor, lambda b, **o: tensor(b.T, **o).T):
        x = make(a).detach().requires_grad_()
        out = x.gather(dim, tensor(index))
        np.testing.assert_array_equal(out.detach().numpy(), a[key])
        (out * tensor(w)).sum().backward()
        expected = np.zeros(shape)
        np.add.at(expected, key, w)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(("shape", "index_shape", "dim"), CASES)
def test_scatter_add(shape, index_shape, dim, inplace):
    """``scatter_add`` adds in row-major order; x gets the cotangent, src reads it."""
    a, b, index = random(*shape), random(*index_shape, seed=1), index_for(shape, index_shape, dim)
    x, src = tensor(a, requires_grad=True), tensor(b, requires_grad=True)
    out = (x * 1).scatter_add_(dim, tensor(index), src) if inplace else nbgrad.scatter_add(x, dim, tensor(index), src)
    expected = a.copy()
    np.add.at(expected, places(index, dim), b)
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    w = random(*shape, seed=2)
    (out * tensor(w)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), w)
    np.testing.assert_array_equal(src.grad.numpy(), w[places(index, dim)])


@pytest.mark.parametrize("inplace", [False, True])
def test_scatter(inplace):
    """``scatter`` writes; what it overwrote gets no gradient."""
    a, b, index = random(3, 4), random(3, 4, seed=1), np.array([[2, 1, 0, 0], [0, 0, 2, 1], [1, 2, 1, 2]])
    x, src = tensor(a, requires_grad=True), tensor(b, requires_grad=True)
    out = (x * 1).scatter_(0, tensor(index[:2]), src) if inplace else nbgrad.scatter(x, 0, tensor(index[:2]), src)
    key = places(index[:2], 0)
    expected = a.copy()
    expected[key] = b[:2]
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    w = random(3, 4, seed=2)
    (out * tensor(w)).sum().backward()
    kept, given = w.copy(), np.zeros((3, 4))
    kept[key], given[:2] = 0, w[key]
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    np.testing.assert_array_equal(src.grad.numpy(), given)


def test_scatter_of_a_number():
    """``scatter`` takes a number."""
    out = nbgrad.zeros(2, 3).scatter(1, nbgrad.tensor([[2], [0]]), 5)
    assert out.tolist() == [[0.0, 0.0, 5.0], [5.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x.gather(0, i),
        lambda x, i: x.scatter_(0, i, 1.0),
        lambda x, i: x.scatter_add_(0, i, nbgrad.ones(1, 4, dtype=F64)),
        lambda x, i: x.index_select(0, i[0]),
        lambda x, i: x.index_add_(0, i[0], nbgrad.ones(4, 4, dtype=F64)),
        lambda x, i: x.index_copy_(0, i[0], nbgrad.ones(4, 4, dtype=F64)),
        lambda x, i: x.index_fill_(0, i[0], 9.0),
        lambda x, i: x.take(i * 20),
    ],
)
@pytest.mark.parametrize("bad", [3, -1000])
def test_range_is_checked_before_any_write(f, bad):
    """An index out of range is an IndexError, and no element was written, not even those before it."""
    a = random(3, 4)
    x = tensor(a)
    with pytest.raises(IndexError, match="out of range"):
        f(x, nbgrad.tensor([[0, 1, 2, bad]]))
    np.testing.assert_array_equal(x.numpy(), a)


def test_bad_index_in_a_late_block():
    """Large indices are checked to the end."""
    index = np.zeros(100_000, np.int64)
    index[-1] = 10
    for f in (
        lambda i: nbgrad.zeros(10).gather(0, i),
        lambda i: nbgrad.zeros(10).scatter_(0, i, 1.0),
        lambda i: nbgrad.zeros(10)[i],
    ):
        with pytest.raises(IndexError):
            f(tensor(index))


@pytest.mark.parametrize(
    ("error", "f"),
    [
        (RuntimeError, lambda x, i: x.gather(0, i.to(nbgrad.float32))),
        (RuntimeError, lambda x, i: x.gather(0, i[0])),
        (RuntimeError, lambda x, i: x.gather(0, i.expand(2, 9))),
        (RuntimeError, lambda x, i: x.scatter_add(0, i, nbgrad.ones(2, 4))),
        (RuntimeError, lambda x, i: x.index_add(0, i[0], nbgrad.ones(2, 4, dtype=F64))),
        (IndexError, lambda x, i: x.gather(2, i)),
        (TypeError, lambda x, i: x.gather(0, [[0]])),
        (RuntimeError, lambda x, i: x.index_select(0, i)),
    ],
)
def test_unfit_arguments(error, f):
    """Wrong ranks, sizes, dtypes and types are refused."""
    with pytest.raises(error):
        f(tensor(random(3, 4)), nbgrad.tensor([[0], [1]]))


def test_large_gather_is_the_same_on_any_number_of_threads():
    """Blocks that threads claim give NumPy's bits."""
    a, index = random(1000, 300), np.random.default_rng(1).integers(0, 1000, (1000, 300))
    np.testing.assert_array_equal(tensor(a).gather(0, tensor(index)).numpy(), np.take_along_axis(a, index, 0))
    np.testing.assert_array_equal(tensor(a).T.gather(1, tensor(index.T)).numpy(), np.take_along_axis(a, index, 0).T)


# ---- index_*, take ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_select(dim):
    """``index_select`` takes slices; int32 indices too."""
    a, index = random(3, 4), np.array([2, 0, 2])
    x = tensor(a, requires_grad=True)
    out = x.index_select(dim, nbgrad.tensor(index.astype(np.int32)))
    np.testing.assert_array_equal(out.detach().numpy(), np.take(a, index, dim))
    w = random(*out.shape, seed=1)
    (out * tensor(w)).sum().backward()
    expected = np.zeros((3, 4))
    np.add.at(expected, (index,) if dim == 0 else (slice(None), index), w)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("inplace", [False, True])
def test_index_add(inplace):
    """``index_add`` adds alpha times the source's slices."""
    a, b, index = random(3, 4), random(3, 5, seed=1), np.array([3, 0, 3, 1, 0])
    x, source = tensor(a, requires_grad=True), tensor(b, requires_grad=True)
    f = (x * 1).index_add_ if inplace else x.index_add
    out = f(1, tensor(index), source, alpha=2)
    expected = a.copy()
    np.add.at(expected, (slice(None), index), 2 * b)
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    w = random(3, 4, seed=2)
    (out * tensor(w)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), w)
    np.testing.assert_array_equal(source.grad.numpy(), 2 * w[:, index])


@pytest.mark.parametrize("inplace", [False, True])
def test_index_copy_and_index_fill(inplace):
    """Slices are overwritten by slices, by a number, or by one element, which gets the sum of their cotangents."""
    a, b, index, w = random(3, 4), random(2, 4, seed=1), np.array([2, 0]), random(3, 4, seed=2)
    kept = w.copy()
    kept[index] = 0
    x, source, value = (tensor(a, requires_grad=True), tensor(b, requires_grad=True), tensor(np.array(5.0), requires_grad=True))
    for written, f in (
        (b, lambda y, name: getattr(y, name.format("copy"))(0, tensor(index), source)),
        (3.0, lambda y, name: getattr(y, name.format("fill"))(0, tensor(index), 3.0)),
        (5.0, lambda y, name: getattr(y, name.format("fill"))(0, tensor(index), value)),
    ):
        x.grad = None
        out = f(x * 1, "index_{}_" if inplace else "index_{}")
        expected = a.copy()
        expected[index] = written
        np.testing.assert_array_equal(out.detach().numpy(), expected)
        (out * tensor(w)).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), kept)
    np.testing.assert_array_equal(source.grad.numpy(), w[index])
    np.testing.assert_allclose(value.grad.item(), w[index].sum(), rtol=1e-14)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(inplace, accumulate):
    """``index_put`` writes or adds at points."""
    a, b, i, j = random(3, 4), random(3, seed=1), np.array([0, 2, -1]), np.array([1, 1, 3])
    x, values = tensor(a, requires_grad=True), tensor(b, requires_grad=True)
    f = (x * 1).index_put_ if inplace else x.index_put
    out = f((tensor(i), tensor(j)), values, accumulate=accumulate)
    expected, w = a.copy(), random(3, 4, seed=2)
    expected[i, j] = b + (a[i, j] if accumulate else 0)
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    (out * tensor(w)).sum().backward()
    kept = w.copy()
    kept[i, j] = w[i, j] if accumulate else 0
    np.testing.assert_array_equal(x.grad.numpy(), kept)
    np.testing.assert_array_equal(values.grad.numpy(), w[i, j])


def test_index_put_at_a_mask():
    """A mask of several dimensions names its points, and the result keeps x's shape."""
    a, mask = arange(2, 3), np.array([[True, False, True], [False, True, False]])
    out = tensor(a).index_put((tensor(mask),), tensor([7.0, 8.0, 9.0], dtype=F64))
    expected = a.copy()
    expected[mask] = [7, 8, 9]
    np.testing.assert_array_equal(out.numpy(), expected)


def test_write_through_a_view_at_points():
    """Points written through a view reach the base and its history."""
    x, w = tensor(arange(3, 4), requires_grad=True), tensor([10.0, 20.0], requires_grad=True)
    base = x * 1
    base.T[1:][[0, 2]] = 0.0
    base.T[1:].index_put_((nbgrad.tensor([0, 2]), nbgrad.tensor([1, 2])), w)
    expected = arange(3, 4)
    expected[1, 1], expected[2, 3] = 10, 20
    expected.T[1:][[0, 2]] = 0
    expected[1, 1], expected[2, 3] = 10, 20
    np.testing.assert_array_equal(base.detach().numpy(), expected)
    base.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0] and x.grad.sum().item() == 12 - 6


WRITES_OF_A_PART = {
    "index_copy_": lambda x, part: x.index_copy_(0, nbgrad.tensor([1, 2, 3]), part),
    "index_add_": lambda x, part: x.index_add_(0, nbgrad.tensor([1, 2, 3]), part),
    "scatter_": lambda x, part: x.scatter_(0, nbgrad.tensor([1, 2, 3]), part),
    "scatter_add_": lambda x, part: x.scatter_add_(0, nbgrad.tensor([1, 2, 3]), part),
    "index_put_": lambda x, part: x.index_put_((nbgrad.tensor([1, 2, 3]),), part),
    "setitem": lambda x, part: x.__setitem__(nbgrad.tensor([1, 2, 3]), part),
    "index of scatter_": lambda x, part: x.scatter_(0, part, 2),
    "index of index_fill_": lambda x, part: x.index_fill_(0, part, 2),
    "index of scatter_add_": lambda x, part: x.scatter_add_(0, part, nbgrad.tensor([10**9, 1, 1])),
    "index of setitem": lambda x, part: x.__setitem__(part, 2),
}


@pytest.mark.parametrize("write", WRITES_OF_A_PART.values(), ids=WRITES_OF_A_PART)
def test_writing_a_part_of_itself(write):
    """A source, or an index, that shares memory with a dense target is refused, as by elementwise writes."""
    x = nbgrad.tensor([1, 2, 0, 3])
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        write(x, x[:3])
    assert x.tolist() == [1, 2, 0, 3]


def test_writing_between_interleaved_parts():
    """Where the memory of a target and of what is read is interleaved, all of it is read before anything is written."""
    x = nbgrad.tensor([[0, 1, 2], [0, 1, 2], [2, 0, 1]])
    x[:, :2].scatter_(0, x[:, 1:], 7)
    expected = np.array([[0, 1, 2], [0, 1, 2], [2, 0, 1]])
    np.put_along_axis(expected[:, :2], expected[:, 1:].copy(), 7, 0)
    np.testing.assert_array_equal(x.numpy(), expected)


def test_writing_one_of_its_own_elements():
    """An element of the target that stands for a number is read first."""
    mask = nbgrad.tensor([True, False, True, True])
    for write in (
        lambda x: x.masked_fill_(mask, x[3]),
        lambda x: x.index_fill_(0, nbgrad.tensor([0, 2, 3]), x[3]),
        lambda x: x.__setitem__(mask, x[3]),
        lambda x: x.__setitem__(nbgrad.tensor([0, 3, 2]), x[3]),
    ):
        y = tensor(arange(4))
        write(y)
        assert y.tolist() == [3.0, 1.0, 3.0, 3.0]


def test_in_place_on_a_leaf_is_refused():
    """A leaf that requires grad takes no recorded write, and a tensor over read-only memory none at all."""
    x = nbgrad.ones(3, requires_grad=True)
    i = nbgrad.tensor([0])
    for write in (
        lambda: x.index_fill_(0, i, 2.0),
        lambda: x.scatter_(0, i, 2.0),
        lambda: x.__setitem__([0], 2.0),
        lambda: x.__setitem__(0, 2.0),
    ):
        with pytest.raises(RuntimeError):
            write()
    with nbgrad.no_grad():
        x[[0]] = 2.0
    assert x.tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: x.take(nbgrad.tensor([[0, -1], [5, 5]])), lambda a: a.ravel()[[[0, -1], [5, 5]]]),
        (lambda x: x.T.take(nbgrad.tensor([1])), lambda a: a.T.ravel()[[1]]),
        (lambda x: x.take_along_dim(nbgrad.tensor([[1], [0]]), 0), lambda a: np.take_along_axis(a, np.array([[1], [0]]), 0)),
        (lambda x: nbgrad.take_along_dim(x, nbgrad.tensor([0, 7])), lambda a: a.ravel()[[0, 7]]),
        (lambda x: x.masked_select(nbgrad.tensor([True, False, True, False])), lambda a: a[:, [0, 2]].ravel()),
    ],
)
def test_take_and_masked_select(f, expected):
    """Values are NumPy's; gradients collect weights at the positions that the operation reports."""
    a = arange(3, 4)
    x = tensor(a, requires_grad=True)
    out = f(x)
    np.testing.assert_array_equal(out.detach().numpy(), expected(a))
    w = random(*out.shape)
    (out * tensor(w)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy().ravel(), np.bincount(expected(a).astype(int).ravel(), w.ravel(), 12), rtol=1e-14)


# ---- masks, positions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inplace", [False, True])
def test_masked_fill(inplace):
    """``masked_fill`` passes no gradient where it wrote, even past an infinite derivative; a tensor value gets the
    rest."""
    x, value = tensor([0.0, 4.0], requires_grad=True), tensor(np.array(1.0), requires_grad=True)
    y = x * 1
    mask = x.detach() == 0
    out = y.masked_fill_(mask, value) if inplace else nbgrad.masked_fill(y, mask, value)
    out.sqrt().sum().backward()
    assert out.tolist() == [1.0, 4.0] and x.grad.tolist() == [0.0, 0.25] and value.grad.item() == 0.5


def test_masked_fill_keeps_the_dtype():
    """The value does not promote."""
    assert nbgrad.ones(2, dtype=nbgrad.int32).masked_fill(nbgrad.tensor([True, False]), 2).dtype is nbgrad.int32


@pytest.mark.parametrize("inplace", [False, True])
def test_masked_scatter(inplace):
    """``masked_scatter`` takes consecutive elements of the source."""
    a, mask = arange(2, 3), np.array([[True, False, True], [False, True, False]])
    x, source = tensor(a, requires_grad=True), tensor(10 + arange(5), requires_grad=True)
    f = (x * 1).masked_scatter_ if inplace else x.masked_scatter
    out = f(tensor(mask), source)
    expected, w = a.copy(), random(2, 3)
    expected[mask] = [10, 11, 12]
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    (out * tensor(w)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.where(mask, 0, w))
    np.testing.assert_array_equal(source.grad.numpy(), [*w[mask], 0, 0])


def test_nonzero():
    """Positions are NumPy's, as rows or as a tuple; 0-d tensors count as in torch."""
    a = np.array([[0, 2], [3, 0], [0, 1]])
    x = tensor(a)
    np.testing.assert_array_equal(nbgrad.nonzero(x).numpy(), np.argwhere(a))
    np.testing.assert_array_equal(x.argwhere().numpy(), np.argwhere(a))
    for got, expected in zip(x.T.nonzero(as_tuple=True), np.nonzero(a.T), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    for got, expected in zip(nbgrad.where(x == 0), np.nonzero(a == 0), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    assert nbgrad.where(x == 0, 1, x).tolist() == np.where(a == 0, 1, a).tolist()
    assert nbgrad.tensor(3).nonzero().shape == (1, 0) and nbgrad.tensor(0).nonzero(as_tuple=True)[0].shape == (0,)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "complex64", "complex128"]
)
def test_every_dtype(dtype):
    """Reads copy bits and additions are made in the dtype, half types included, also into a strided target."""
    dtype = getattr(nbgrad, dtype)
    a = np.arange(12).reshape(3, 4) % 2
    x, index = nbgrad.tensor(a).to(dtype), nbgrad.tensor([2, 0, 0])
    assert x[index].tolist() == a[[2, 0, 0]].tolist()
    target = nbgrad.zeros(4, 6).to(dtype)[:, 1:5]
    target.index_add_(0, index, x)
    expected = np.zeros((4, 4), np.int64)
    np.add.at(expected, [2, 0, 0], a)
    if dtype is nbgrad.bool:
        expected = np.minimum(expected, 1)
    assert target.tolist() == expected.tolist()


# ---- sizes, signs and dtypes at the edge -----------------------------------------------------------------------------


def test_masked_scatter_of_what_is_smaller_than_the_mask():
    """The tensor broadcasts to the mask; its gradient has its own shape."""
    x, source = nbgrad.ones(3, requires_grad=True), nbgrad.arange(4.0).requires_grad_()
    mask = nbgrad.tensor([[True, False, True], [False, True, True]])
    out = x.masked_scatter(mask, source)
    assert out.tolist() == [[0, 1, 1], [1, 2, 3]]
    gradients = nbgrad.grad(out.sum(), (x, source))
    assert [g.tolist() for g in gradients] == [[1, 1, 0], [1, 1, 1, 1]]


def test_second_derivative_of_masked_scatter_at_a_mask_that_broadcasts():
    """The cotangent of the source's cotangent is written at every place of the broadcast mask."""
    x, source = nbgrad.zeros(2, 3, dtype=nbgrad.float64, requires_grad=True), nbgrad.arange(4.0, dtype=nbgrad.float64)
    mask = nbgrad.tensor([True, False, True])
    assert nbgrad.gradgradcheck(lambda x, source: x.masked_scatter(mask, source), (x, source.requires_grad_()))
    second = nbgrad.func.jacrev(nbgrad.func.jacrev(lambda source: x.detach().masked_scatter(mask, source) ** 2))(source.detach())
    assert second.shape == (2, 3, 4, 4) and second[1, 2, 3].tolist() == [0, 0, 0, 2]


def test_negative_indices_count_from_the_end():
    """Where torch says so: take_along_dim with a dimension, and index_fill of numbers and tensors, in place too."""
    x = nbgrad.arange(6.0).reshape(2, 3)
    assert nbgrad.take_along_dim(x, nbgrad.tensor([[-1, 0]]), 1).tolist() == [[2, 0], [5, 3]]
    last = nbgrad.tensor([-1])
    for value in (9.0, nbgrad.tensor(9.0)):
        assert x.index_fill(1, last, value).tolist() == x.clone().index_fill_(1, last, value).tolist() == [[0, 1, 9], [3, 4, 9]]
        with pytest.raises(nbgrad.DimError, match="expected -3 to 2"):
            x.index_fill(1, nbgrad.tensor([-4]), value)
    leaf = x.clone().requires_grad_()
    assert nbgrad.grad(leaf.index_fill(1, last, 0.0).sum(), leaf)[0].tolist() == [[1, 1, 0], [1, 1, 0]]
    mapped = nbgrad.vmap(lambda i: x.index_fill(1, i, 0.0))(nbgrad.tensor([[-1], [0]]))
    assert mapped.tolist() == [[[0, 1, 0], [3, 4, 0]], [[0, 1, 2], [0, 4, 5]]]


@pytest.mark.parametrize("accumulate", [False, True])
def test_put_in_place_is_recorded(accumulate):
    """The result is a view of what was computed, and the tensor that it is written to is none."""
    x, source = nbgrad.ones(2, 2, requires_grad=True), nbgrad.tensor([3.0, 4.0], requires_grad=True)
    y = x.clone().put_(nbgrad.tensor([0, 3]), source, accumulate)
    assert y.requires_grad and not y._is_view()
    gradients = nbgrad.grad((y * y).sum(), (x, source))
    assert [g.tolist() for g in gradients] == ([[[8, 2], [2, 10]], [8, 10]] if accumulate else [[[0, 2], [2, 0]], [6, 8]])


NUMBERS = ["bfloat16", "float16", "float32", "float64", "uint8", "int8", "int64"]


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extrema_by_index_of_every_dtype(dtype, include_self, reduce):
    """The greatest or least that went to a place; without ``include_self`` only what was sent there counts."""
    dtype = getattr(nbgrad, dtype)
    x, src = nbgrad.tensor([1, 0, 1]).to(dtype), nbgrad.tensor([0, 1, 1]).to(dtype)
    index, pick = nbgrad.tensor([0, 1, 1]), max if reduce == "amax" else min
    want = [pick(0, 1) if include_self else 0, pick(0, 1) if include_self else 1, 1]
    for out in (
        x.scatter_reduce(0, index, src, reduce, include_self=include_self),
        x.index_reduce(0, index, src, reduce, include_self=include_self),
    ):
        assert out.dtype is dtype and out.tolist() == want


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_extrema_of_many_elements_by_index(reduce, dim):
    """Those of ``np.maximum.at``, NaN among them, of elements and of slices; a repeated call is another way."""
    rng = np.random.default_rng(0)
    x, src = (rng.integers(-9, 9, (40, 50)).astype(np.float32) for _ in range(2))
    src[3, 7] = x[20, 20] = np.nan
    index = rng.integers(0, 40, (40, 50))
    rows = (
        np.broadcast_to(np.expand_dims(index[dim], 1 - dim)[: 50 if dim else 40], src.shape)
        if dim
        else (np.broadcast_to(index[:, :1], src.shape))
    )
    for include_self in (True, False):
        for chosen in (index, rows):
            want = x.copy()
            places = tuple(chosen if d == dim else each for d, each in enumerate(np.indices(src.shape)))
            if not include_self:
                want[places] = -np.inf if reduce == "amax" else np.inf
            with np.errstate(invalid="ignore"):
                (np.maximum if reduce == "amax" else np.minimum).at(want, places, src)
            for _ in range(2):
                t, s = nbgrad.tensor(x), nbgrad.tensor(src)
                out = t.scatter_reduce(dim, nbgrad.tensor(chosen.copy()), s, reduce, include_self=include_self)
                np.testing.assert_array_equal(out.numpy(), want)
                if chosen is rows:
                    vector = nbgrad.tensor(rows[0].copy() if dim else rows[:, 0].copy())
                    out = t.index_reduce(dim, vector, s, reduce, include_self=include_self)
                    np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_gradients_of_extrema_of_slices(reduce, include_self):
    """Of both orders and both modes; elements that tie share the gradient."""
    x = nbgrad.tensor([[1.0, 5.0], [2.0, 2.0], [3.0, 0.5]], dtype=nbgrad.float64, requires_grad=True)
    src = nbgrad.tensor([[4.0, 1.0], [0.0, 7.0], [2.5, 6.0]], dtype=nbgrad.float64, requires_grad=True)
    index = nbgrad.tensor([0, 2, 0])

    def extremum(x, src):
        return x.index_reduce(0, index, src, reduce, include_self=include_self) ** 2

    assert nbgrad.gradcheck(extremum, (x, src), check_forward_ad=True) and nbgrad.gradgradcheck(extremum, (x, src))
    tied = nbgrad.tensor([[2.0, 9.0]], requires_grad=True), nbgrad.tensor([[2.0, 1.0], [2.0, 1.0]], requires_grad=True)
    gradients = nbgrad.grad(tied[0].index_reduce(0, nbgrad.tensor([0, 0]), tied[1], "amax").sum(), tied)
    assert [g[:, 0].tolist() for g in gradients] == [[pytest.approx(1 / 3)], [pytest.approx(1 / 3)] * 2]


@pytest.mark.parametrize("reduce, want", [("prod", 6.0), ("mean", 2.5), ("amax", 3.0), ("amin", 2.0)])
def test_a_number_is_reduced_by_index(reduce, want):
    """A 0-d tensor has one place, and an index may be 0-d or of one element."""
    for index in (nbgrad.tensor([0]), nbgrad.tensor(0)):
        assert nbgrad.tensor(2.0).index_reduce(0, index, nbgrad.tensor(3.0), reduce).item() == want


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_by_index_of_two_dtypes_are_refused(reduce):
    """A conversion would lose parts of numbers without a word."""
    with pytest.raises(nbgrad.DTypeError, match="scatter_reduce: src is"):
        nbgrad.zeros(2).scatter_reduce(0, nbgrad.tensor([0]), nbgrad.tensor([1j]), reduce)


@pytest.mark.parametrize("include_self", [True, False])
def test_gradient_of_complex_products_by_index(include_self):
    """That of each factor is the conjugated product of the others, also where factors are 0."""
    x = nbgrad.tensor([1 + 2j, 0, 3j], dtype=nbgrad.complex128, requires_grad=True)
    src = nbgrad.tensor([2 - 1j, 0, 1j, 1 + 1j], dtype=nbgrad.complex128, requires_grad=True)
    index = nbgrad.tensor([0, 0, 1, 2])

    def product(x, src):
        return x.scatter_reduce(0, index, src, "prod", include_self=include_self)

    assert nbgrad.gradcheck(product, (x, src), check_forward_ad=True) and nbgrad.gradgradcheck(product, (x, src))


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_elements_that_are_left_out_of_extrema_have_no_gradient_beside_nan(reduce):
    """A NaN that is sent to a place is nothing to the element that it replaces."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = x.scatter_reduce(0, nbgrad.tensor([0]), nbgrad.tensor([float("nan")]), reduce, include_self=False)
    assert nbgrad.grad(y.sum(), x)[0].tolist() == [0.0, 1.0]


def test_reductions_by_index_that_have_no_meaning():
    """Complex numbers have no order and do have a mean; bools have an order and no mean."""
    z, index = nbgrad.tensor([1 + 1j, 2j]), nbgrad.tensor([0, 0])
    np.testing.assert_allclose(z.scatter_reduce(0, index, z, "mean").numpy(), [(2 + 4j) / 3, 2j], rtol=1e-6)
    with pytest.raises(nbgrad.DTypeError, match="no order"):
        z.scatter_reduce(0, index, z, "amax")
    with pytest.raises(nbgrad.DTypeError, match="mean of bools"):
        nbgrad.tensor([True, False]).scatter_reduce(0, index, nbgrad.tensor([True, True]), "mean")


@pytest.mark.parametrize("chosen", [0, 1, 3])
def test_a_number_of_uint8_is_a_truth_value(chosen):
    """As masks of that dtype are: reads add a dimension, writes reach all elements or none."""
    x, index = nbgrad.arange(3.0), nbgrad.tensor(chosen, dtype=nbgrad.uint8)
    expected = np.arange(3.0)[np.bool_(chosen)]
    assert x[index].shape == expected.shape and x[index].tolist() == expected.tolist()
    x[index] = 7.0
    assert x.tolist() == ([7.0] * 3 if chosen else [0.0, 1.0, 2.0])


# ---- kernels of masks ------------------------------------------------------------------------------------------------

SHAPES = [(1,), (0,), (16,), (1500,), (3, 0), (4, 4), (7, 1100), (2, 3, 5), (70, 80)]


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool", "complex64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_positions_of_what_is_not_zero(dtype, shape):
    """As in NumPy: NaN is not zero and -0.0 is, in every layout; the next tensor of the layout has its own number of them."""
    rng = np.random.default_rng(0)
    for density in (0.5, 0.0, 1.0, 0.01):
        array = np.where(rng.random(shape) < density, rng.integers(1, 100, shape), 0)
        x = nbgrad.tensor(array).to(getattr(nbgrad, dtype))
        if x.is_floating_point() and array.size > 8:
            array = array.astype(float)
            array.reshape(-1)[:2] = np.nan, -0.0
            x = nbgrad.tensor(array).to(x.dtype)
        for t, want in ((x, array), (x.transpose(0, -1), array.swapaxes(0, -1))):
            np.testing.assert_array_equal(nbgrad.nonzero(t).numpy(), np.argwhere(want))
            np.testing.assert_array_equal(nbgrad.argwhere(t).numpy(), np.argwhere(want))
            places, other = nbgrad.where(t), t.nonzero(as_tuple=True)
            assert len(places) == len(other) == len(shape)
            for place, again, expected in zip(places, other, np.nonzero(want)):
                np.testing.assert_array_equal(place.numpy(), expected)
                np.testing.assert_array_equal(again.numpy(), expected)


MOVES = {
    "masked_scatter": lambda x, mask, source: x.masked_scatter(mask, source),
    "masked_select": lambda x, mask, source: x.masked_select(mask) * source.reshape(-1)[: int(mask.sum())],
    "a mask as an index": lambda x, mask, source: x[mask] * 2,
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("shape", [(5,), (3, 4)])
def test_moves_through_masks_repeat(name, shape):
    """By kernels as by NumPy: values and gradients of both orders of the second call are the first one's."""
    rng, found = np.random.default_rng(0), []
    arrays, mask = [rng.normal(size=shape) for _ in range(2)], nbgrad.tensor(rng.random(shape) < 0.6)
    for _ in range(3):
        x, source = (nbgrad.tensor(a, requires_grad=True) for a in arrays)
        out = MOVES[name](x, mask, source)
        gradients = nbgrad.grad((out**3).sum(), (x, source), create_graph=True, allow_unused=True)
        seconds = nbgrad.grad(gradients[0].sum(), x, allow_unused=True)
        found.append([out.tolist(), *(None if g is None else g.tolist() for g in (*gradients, *seconds))])
        assert nbgrad.gradcheck(lambda x, y: MOVES[name](x, mask, y), (x, source), check_forward_ad=True)
    assert found[0] == found[1] == found[2]


def test_a_mask_of_the_same_layout_may_be_too_large():
    """A source of too few elements is refused in every call, and x stays as it was."""
    x, source = nbgrad.zeros(4), nbgrad.tensor([1.0, 2.0])
    few, many = nbgrad.tensor([True, False, True, False]), nbgrad.tensor([True, False, True, True])
    for _ in range(2):
        assert x.masked_scatter(few, source).tolist() == [1, 0, 2, 0]
        with pytest.raises(nbgrad.ShapeError, match="selects 3 elements, source has 2"):
            x.masked_scatter(many, source)
    assert x.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("item", [np.array(1), np.array(-1, np.int8), np.array(True), np.array(False)], ids=repr)
@pytest.mark.parametrize(
    "key", [lambda i: i, lambda i: (i, 1), lambda i: (slice(None), i), lambda i: (..., i), lambda i: (None, i)]
)
def test_arrays_without_dimensions_are_numbers(item, key):
    """As NumPy has it: they take a dimension away, or add one if they are truth values; in reads and in writes."""
    array = np.arange(12.0).reshape(3, 4)
    x = nbgrad.tensor(array)
    assert np.array_equal(x[key(item)].numpy(), array[key(item)])
    x[key(item)] = 7
    array[key(item)] = 7
    assert np.array_equal(x.numpy(), array)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, i: x.__setitem__(i, 1j),
        lambda x, i: x.index_fill(0, i, 1j),
        lambda x, i: x.scatter(0, i, 1j),
        lambda x, i: x.scatter(0, i, 1j, reduce="add"),
        lambda x, i: nbgrad.zeros(2, 2)[i].new_full((2,), 1j),
    ],
)
def test_complex_numbers_are_not_written_into_real_tensors(write):
    """A complex number at indices is refused, where it would lose its imaginary part; one without it is real."""
    with pytest.raises(nbgrad.DTypeError, match="complex"):
        write(nbgrad.zeros(3), nbgrad.tensor([0, 1]))
    x = nbgrad.zeros(3)
    x[nbgrad.tensor([0, 1])] = 2 + 0j
    assert x.tolist() == [2.0, 2.0, 0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x[nbgrad.tensor([0, 1]), i],
        lambda x, i: x.index_put((nbgrad.tensor([0, 1]), i), nbgrad.ones(3)),
        lambda x, i: x.put(i, nbgrad.ones(2)),
        lambda x, i: x.index_copy(0, i, x[:2]),
    ],
)
def test_indices_that_do_not_fit_are_index_errors(call):
    """Indices that do not broadcast, and values that are not as many: whoever catches IndexError or ValueError catches them."""
    for kind in (IndexError, ValueError):
        with pytest.raises(kind):
            call(nbgrad.ones(3, 3), nbgrad.tensor([0, 1, 2]))


def test_scatter_multiplies():
    """By numbers and by tensors, in place too; the gradient is that of the product."""
    x, index = nbgrad.tensor([2.0, 3.0], requires_grad=True), nbgrad.tensor([1, 1])
    y = x.scatter(0, index, 5, reduce="multiply")
    assert y.tolist() == [2.0, 75.0] and nbgrad.grad(y.sum(), x)[0].tolist() == [1.0, 25.0]
    assert x.detach().clone().scatter_(0, index, nbgrad.tensor([2.0, 3.0]), reduce="multiply").tolist() == [2.0, 18.0]


def test_an_index_without_elements_gathers_nothing():
    """Whatever its rank is, as an empty list it comes with one."""
    assert nbgrad.ones(2, 3).gather(0, nbgrad.tensor([], dtype=nbgrad.int64)).shape == (0,)
