"""Tensors as objects: construction, dtypes and promotion, Python values, printing, copies, error types."""

from __future__ import annotations

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import nbgrad
from tests.helpers import dtype

INF, NAN = float("inf"), float("nan")
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]


def tensor_of(name, *values):
    """A tensor of ones, or of ``values``, of the dtype of that name."""
    return nbgrad.tensor(values or [1, 1], dtype=dtype(name))


# ---- construction ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "data, expected",
    [
        (1.5, "float32"),
        ([1.0, 2], "float32"),
        (3, "int64"),
        ([1, 2], "int64"),
        (True, "bool"),
        ([True, False], "bool"),
        (1j, "complex64"),
        ([1, 2.0, 3j], "complex64"),
        ([], "float32"),
        ([True, 2], "int64"),
        ([[]], "float32"),
    ],
    ids=str,
)
def test_inferred_dtype(data, expected):
    """Python numbers take the default floating dtype, int64, bool or its complex counterpart, the widest deciding."""
    assert nbgrad.tensor(data).dtype == dtype(expected)


def test_default_dtype_can_be_changed():
    """Floating data take the default dtype, and complex data that of the same precision."""
    nbgrad.set_default_dtype(nbgrad.float64)
    try:
        assert nbgrad.tensor(1.0).dtype == nbgrad.ones(2).dtype == nbgrad.float64
        assert nbgrad.tensor(1j).dtype == nbgrad.complex128
    finally:
        nbgrad.set_default_dtype(nbgrad.float32)
    assert nbgrad.get_default_dtype() == nbgrad.float32


@pytest.mark.parametrize(
    "data, shape", [(1.0, ()), ([], (0,)), ([[1, 2, 3], [4, 5, 6]], (2, 3)), ([[[]]], (1, 1, 0)), (((1, 2),), (1, 2))], ids=str
)
def test_shape_of_nested_sequences(data, shape):
    """The nesting of lists and tuples is the shape."""
    t = nbgrad.tensor(data)
    assert tuple(t.shape) == tuple(t.size()) == shape and t.ndim == t.dim() == len(shape)
    assert t.numel() == math.prod(shape)


def test_tensor_copies_its_data():
    """``tensor`` shares no memory with an array it is given."""
    array = np.zeros(2)
    t = nbgrad.tensor(array)
    array[0] = 7.0
    assert t.tolist() == [0.0, 0.0]


def test_ragged_data():
    """Rows of different lengths make no tensor, nor do numbers among rows."""
    with pytest.raises(ValueError):
        nbgrad.tensor([[1, 2], [3]])
    for data in ([[1, 2], 3], [1, [2]]):
        with pytest.raises(TypeError, match="stands where"):
            nbgrad.tensor(data)


@pytest.mark.parametrize("data", ["text", [1, "a"], object()], ids=["text", "mixed", "object"])
def test_data_that_are_no_numbers(data):
    """Strings and objects are not numbers."""
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        nbgrad.tensor(data)


FACTORIES = {
    "zeros": (lambda: nbgrad.zeros(2, 3), [[0.0] * 3] * 2),
    "ones": (lambda: nbgrad.ones((2, 2)), [[1.0] * 2] * 2),
    "full": (lambda: nbgrad.full((2,), 7.0), [7.0, 7.0]),
    "full_int": (lambda: nbgrad.full((2,), 7), [7, 7]),
    "eye": (lambda: nbgrad.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
    "arange": (lambda: nbgrad.arange(4), [0, 1, 2, 3]),
    "arange_step": (lambda: nbgrad.arange(1, 8, 3), [1, 4, 7]),
    "arange_float": (lambda: nbgrad.arange(0, 1, 0.25), [0.0, 0.25, 0.5, 0.75]),
    "linspace": (lambda: nbgrad.linspace(0, 1, 5), [0.0, 0.25, 0.5, 0.75, 1.0]),
    "zeros_like": (lambda: nbgrad.zeros_like(nbgrad.tensor([1, 2])), [0, 0]),
    "ones_like": (lambda: nbgrad.ones_like(nbgrad.tensor([[2.0]])), [[1.0]]),
    "full_like": (lambda: nbgrad.full_like(nbgrad.tensor([1.0, 2.0]), 5.0), [5.0, 5.0]),
    "new_zeros": (lambda: nbgrad.tensor([1, 2]).new_zeros(3), [0, 0, 0]),
    "new_tensor": (lambda: nbgrad.tensor([1.0]).new_tensor([1, 2]), [1.0, 2.0]),
}


@pytest.mark.parametrize("make, expected", FACTORIES.values(), ids=FACTORIES)
def test_factories(make, expected):
    """The factories give the values they are named after, integers where their arguments are."""
    values = make().tolist()
    assert values == expected and repr(values) == repr(expected)


def test_empty_has_the_shape_asked_for():
    """``empty`` promises a shape and dtype, not values."""
    t = nbgrad.empty(2, 3, dtype=nbgrad.int16)
    assert tuple(t.shape) == (2, 3) and t.dtype == nbgrad.int16


@pytest.mark.parametrize("make", [nbgrad.randn, nbgrad.rand], ids=["randn", "rand"])
def test_random_numbers_follow_the_seed(make):
    """The same seed gives the same numbers, and a running generator different ones."""
    nbgrad.manual_seed(3)
    first, second = make(5), make(5)
    nbgrad.manual_seed(3)
    assert make(5).tolist() == first.tolist() != second.tolist()


def test_uniform_numbers_lie_in_the_unit_interval():
    """``rand`` draws from [0, 1) with mean 1/2 within five standard errors."""
    t = nbgrad.rand(10_000, dtype=nbgrad.float64).numpy()
    assert 0 <= t.min() and t.max() < 1 and abs(t.mean() - 0.5) < 5 * math.sqrt(1 / 12 / 10_000)


def test_normal_numbers_have_unit_variance():
    """``randn`` has mean 0 and variance 1 within five standard errors."""
    t = nbgrad.randn(10_000, dtype=nbgrad.float64).numpy()
    assert abs(t.mean()) < 0.05 and abs(t.var() - 1) < 5 * math.sqrt(2 / 10_000)


def test_requires_grad_at_construction():
    """A factory makes a leaf that requires grad when asked to."""
    for t in (nbgrad.tensor(1.0, requires_grad=True), nbgrad.zeros(2, requires_grad=True)):
        assert t.requires_grad and t.is_leaf and t.grad is None


# ---- dtypes ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
def test_dtype_survives_a_round_trip(name):
    """Small integers are exact in every dtype."""
    t = tensor_of(name, 0, 1, 1)
    assert t.dtype == dtype(name) and [complex(v) for v in t.tolist()] == [0, 1, 1]


@pytest.mark.parametrize(
    "name, size",
    [
        ("bool", 1),
        ("uint8", 1),
        ("int16", 2),
        ("int64", 8),
        ("float16", 2),
        ("bfloat16", 2),
        ("float32", 4),
        ("complex64", 8),
        ("complex128", 16),
    ],
)
def test_element_size(name, size):
    """An element has the size of its format."""
    assert tensor_of(name).element_size() == tensor_of(name).itemsize == size


@pytest.mark.parametrize("name", ALL)
def test_kind_of_dtype(name):
    """``is_floating_point`` and ``is_complex`` tell the categories apart."""
    d = dtype(name)
    assert (d.is_floating_point, d.is_complex) == (name in FLOATS, name in COMPLEX)


def promoted(x, y):
    """The name of the dtype that two dtypes promote to: rules, not a table.

    The higher of the categories bool < integer < floating < complex decides; within a category the larger type, except
    uint8 with a signed type of its size, and the two half types, which need the next larger one. A complex result has
    the precision that holds both operands.
    """
    if x == y:
        return x
    rank = {**dict.fromkeys(["bool"], 0), **dict.fromkeys(INTEGERS, 1), **dict.fromkeys(FLOATS, 2), **dict.fromkeys(COMPLEX, 3)}
    low, high = sorted((x, y), key=lambda name: rank[name])
    if rank[high] == 3:
        return "complex128" if "complex128" in (x, y) or low == "float64" else "complex64"
    if rank[low] != rank[high]:
        return high
    if {x, y} == {"uint8", "int8"}:
        return "int16"
    if {x, y} == {"float16", "bfloat16"}:
        return "float32"
    return max(x, y, key=lambda name: dtype(name).itemsize)


@pytest.mark.parametrize("x, y", list(itertools.product(ALL, ALL)))
def test_promotion_of_two_tensors(x, y):
    """The sum of two tensors, and ``promote_types``, follow the promotion rules."""
    expected = dtype(promoted(x, y))
    assert nbgrad.promote_types(dtype(x), dtype(y)) == expected
    assert (tensor_of(x) + tensor_of(y)).dtype == expected


@pytest.mark.parametrize(
    "name, number, expected",
    [
        ("float32", 2, "float32"),
        ("float32", 2.5, "float32"),
        ("float16", 1e6, "float16"),
        ("float32", 1j, "complex64"),
        ("float64", 1j, "complex128"),
        ("int32", 2, "int32"),
        ("int32", 2.5, "float32"),
        ("uint8", True, "uint8"),
        ("bool", 2, "int64"),
        ("bool", 2.5, "float32"),
        ("int64", 1j, "complex64"),
        ("bool", True, "bool"),
    ],
)
def test_promotion_with_a_python_number(name, number, expected):
    """A number raises the category at most, never the precision."""
    assert (tensor_of(name) * number).dtype == dtype(expected)


@pytest.mark.parametrize(
    "name, zero, expected",
    [
        ("float32", "float64", "float32"),
        ("int32", "int64", "int32"),
        ("int32", "float64", "float64"),
        ("float16", "float32", "float16"),
        ("bool", "int8", "int8"),
        ("float32", "complex128", "complex64"),
        ("uint8", "int64", "uint8"),
        ("float64", "complex64", "complex128"),
    ],
)
def test_promotion_with_a_zero_dim_tensor(name, zero, expected):
    """A zero-dim tensor counts like a number, except that it brings a dtype of its own where it raises the category."""
    assert (tensor_of(name) + nbgrad.tensor(1, dtype=dtype(zero))).dtype == dtype(expected)


@pytest.mark.parametrize(
    "op, name, expected",
    [
        (lambda t: t / 2, "int64", "float32"),
        (lambda t: t / t, "int32", "float32"),
        (lambda t: t // 2, "int64", "int64"),
        (lambda t: t**2, "int32", "int32"),
        (lambda t: t.sum(), "int32", "int64"),
        (lambda t: t.sum(), "bool", "int64"),
        (lambda t: t.sum(), "float16", "float16"),
        (lambda t: t.exp(), "int64", "float32"),
        (lambda t: t > 0, "float64", "bool"),
        (lambda t: t.mean(), "float64", "float64"),
        (lambda t: t.abs(), "complex64", "float32"),
        (lambda t: t.argmax(), "float32", "int64"),
        (lambda t: -t, "int8", "int8"),
        (lambda t: t.cumsum(0), "int32", "int64"),
        (lambda t: t.real, "complex128", "float64"),
        (lambda t: t.sqrt(), "bool", "float32"),
        (lambda t: t.prod(), "uint8", "int64"),
        (lambda t: t.max(), "int16", "int16"),
    ],
)
def test_dtype_of_results(op, name, expected):
    """True division and transcendental functions leave the integers, sums of integers are int64, comparisons bool."""
    assert op(tensor_of(name)).dtype == dtype(expected)


@pytest.mark.parametrize("source, target", [(s, t) for s in ("bool", "int64", "float64") for t in ALL])
def test_cast(source, target):
    """``to`` converts values exactly where they fit."""
    assert [complex(v) for v in tensor_of(source, 1, 0).to(dtype(target)).tolist()] == [1, 0]


def test_cast_truncates_toward_zero():
    """A floating value loses its fraction on the way to integers, and any nonzero value is True."""
    t = nbgrad.tensor([-1.7, -0.5, 0.5, 1.7])
    assert t.to(nbgrad.int64).tolist() == [-1, 0, 0, 1] and t.to(nbgrad.bool_).tolist() == [True] * 4


def test_integer_arithmetic_wraps():
    """Integers wrap around at the bounds of their type."""
    assert (tensor_of("uint8", 255) + 1).tolist() == [0] and (tensor_of("int8", 127) + 1).tolist() == [-128]


# ---- Python values ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data, kind", [(1.5, float), (3, int), (True, bool), (1j, complex)], ids=str)
def test_item_gives_a_python_number(data, kind):
    """``item`` gives the Python number of the tensor's category."""
    value = nbgrad.tensor([[data]]).item()
    assert value == data and type(value) is kind


@pytest.mark.parametrize("n", [0, 2])
def test_item_needs_one_element(n):
    """Only a tensor of one element is a number."""
    with pytest.raises(RuntimeError):
        nbgrad.ones(n).item()


def test_tolist_nests_like_the_shape():
    """``tolist`` gives Python numbers, nested; that of a zero-dim tensor is the number."""
    assert nbgrad.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert nbgrad.tensor(2.5).tolist() == 2.5 and nbgrad.zeros(2, 0).tolist() == [[], []]


def test_tolist_of_a_view():
    """Strides and offsets are followed."""
    t = nbgrad.arange(6).view(2, 3)
    assert t.t()[1:].tolist() == [[1, 4], [2, 5]]


def test_conversions_to_python_numbers():
    """``float``, ``int``, ``bool``, ``complex`` and ``index`` read a tensor of one element."""
    assert (float(nbgrad.tensor(2.5)), int(nbgrad.tensor(2.5)), bool(nbgrad.tensor(0))) == (2.5, 2, False)
    assert complex(nbgrad.tensor(1j)) == 1j and [10, 20, 30][nbgrad.tensor(1)] == 20


def test_floating_tensor_is_no_index():
    """Only integers index."""
    with pytest.raises(TypeError):
        [10, 20][nbgrad.tensor(1.0)]


def test_format_of_one_element():
    """A zero-dim tensor formats as its number."""
    assert f"{nbgrad.tensor(2.0):.3f}" == "2.000"


def test_len_and_iteration():
    """A tensor is a sequence of the slices along its first dimension."""
    t = nbgrad.tensor([[1, 2], [3, 4], [5, 6]])
    assert len(t) == 3 and [row.tolist() for row in t] == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("use", [len, iter, list])
def test_zero_dim_tensor_is_no_sequence(use):
    """A zero-dim tensor has neither length nor iteration."""
    with pytest.raises(TypeError):
        use(nbgrad.tensor(1.0))


def test_unpacking():
    """A tensor is a sequence of its rows."""
    a, b = nbgrad.tensor([1.0, 2.0])
    assert (a.item(), b.item()) == (1.0, 2.0)


def test_contains():
    """``in`` looks for an equal element."""
    t = nbgrad.tensor([[1, 2], [3, 4]])
    assert 3 in t and 7 not in t


def test_tensors_hash_by_identity():
    """Equal tensors are different keys."""
    a, b = nbgrad.ones(2), nbgrad.ones(2)
    assert len({a, b, a}) == 2


def test_comparison_is_elementwise():
    """``==`` compares elements and broadcasts; with None it is False."""
    t = nbgrad.tensor([1.0, 2.0])
    assert (t == 2).tolist() == [False, True] and (t == None) is False  # noqa: E711


def test_equal_and_allclose():
    """``equal`` wants every element the same, ``allclose`` within tolerance."""
    x, y = nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([1.0, 2.0 + 1e-6])
    assert nbgrad.equal(x, x.clone()) and not nbgrad.equal(x, y) and nbgrad.allclose(x, y)


# ---- operators -------------------------------------------------------------------------------------------------------
OPERATORS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "ne": lambda a, b: a != b,
}


@pytest.mark.parametrize("f", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.parametrize("other", [np.array([2.0, 0.5, 3.0]), 2.0], ids=["array", "number"])
@pytest.mark.parametrize("swap", [False, True])
def test_operators_against_numpy(f, other, swap):
    """Each operator, straight and reflected, gives NumPy's float64 values, signs of ``%`` and ``//`` included."""
    array = np.array([1.5, -2.0, 0.25])
    x, y = nbgrad.tensor(array), nbgrad.tensor(other) if isinstance(other, np.ndarray) else other
    with np.errstate(invalid="ignore"):
        expected = f(other, array) if swap else f(array, other)
    got = f(y, x) if swap else f(x, y)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-14)


@pytest.mark.parametrize(
    "f", [lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: ~a], ids=["and", "or", "xor", "invert"]
)
@pytest.mark.parametrize("name", ["bool", "uint8", "int64"])
def test_bitwise_operators_against_numpy(f, name):
    """The bitwise operators work on integers by bits and on booleans by truth."""
    a, b = np.array([0, 1, 5, 1], name), np.array([0, 0, 3, 1], name)
    assert f(nbgrad.tensor(a), nbgrad.tensor(b)).tolist() == f(a, b).tolist()


@pytest.mark.parametrize(
    "a, b, expected",
    [((3,), (2, 3), (2, 3)), ((2, 1), (1, 3), (2, 3)), ((), (2,), (2,)), ((0, 1), (1, 3), (0, 3)), ((4, 1, 2), (3, 1), (4, 3, 2))],
)
def test_broadcasting(a, b, expected):
    """Shapes align at the right, and a size of one stretches."""
    assert tuple((nbgrad.ones(a) + nbgrad.ones(b)).shape) == expected


# ---- shape and memory ------------------------------------------------------------------------------------------------
def test_strides_and_offset():
    """Strides count elements, row-major; views carry an offset."""
    t = nbgrad.zeros(2, 3, 4)
    assert t.stride() == (12, 4, 1) and t.stride(0) == 12 and t.storage_offset() == 0
    assert t[1, :, 2].stride() == (4,) and t[1, :, 2].storage_offset() == 14


@pytest.mark.parametrize(
    "view, contiguous",
    [
        (lambda t: t, True),
        (lambda t: t.t(), False),
        (lambda t: t[:1], True),
        (lambda t: t[:, :1], False),
        (lambda t: t[:, :0], True),
    ],
    ids=["whole", "transposed", "row", "column", "empty"],
)
def test_is_contiguous(view, contiguous):
    """A tensor is contiguous where its elements lie in row-major order without gaps."""
    assert view(nbgrad.zeros(2, 3)).is_contiguous() is contiguous


def test_device_is_the_cpu():
    """A tensor lives on the CPU unless it was put elsewhere."""
    t = nbgrad.zeros(2)
    assert str(t.device) == "cpu" and not t.is_cuda


INDICES = {
    "int": 1,
    "negative": -1,
    "slice": slice(1, None),
    "step": (slice(None), slice(None, None, 2)),
    "ellipsis": (..., 0),
    "none": (None, 1),
    "pair": (0, 2),
    "list": [1, 0],
    "lists": ([0, 1], [2, 0]),
    "mixed": (slice(None), [2, 0, 0]),
    "empty": slice(2, 1),
    "mask": np.array([[True, False, True], [False, True, False]]),
    "row_mask": np.array([True, False]),
    "outer": (np.array([[0], [1]]), np.array([1, 2])),
}


@pytest.mark.parametrize("key", INDICES.values(), ids=INDICES)
def test_indexing_against_numpy(key):
    """Basic and advanced indexing select what NumPy selects."""
    array = np.arange(6.0).reshape(2, 3)
    given = (
        tuple(nbgrad.tensor(k) if isinstance(k, np.ndarray) else k for k in key)
        if isinstance(key, tuple)
        else (nbgrad.tensor(key) if isinstance(key, np.ndarray) else key)
    )
    assert nbgrad.tensor(array)[given].tolist() == array[key].tolist()


# ---- errors ----------------------------------------------------------------------------------------------------------
ERRORS = {
    "shapes": (lambda t: t + nbgrad.ones(4), RuntimeError),
    "matmul": (lambda t: t @ nbgrad.ones(2, 2), RuntimeError),
    "index": (lambda t: t[5], IndexError),
    "many_indices": (lambda t: t[0, 0, 0], IndexError),
    "dim": (lambda t: t.sum(2), IndexError),
    "transpose": (lambda t: t.transpose(0, 5), IndexError),
    "view": (lambda t: t.view(5), RuntimeError),
    "reshape": (lambda t: t.reshape(4, -1), RuntimeError),
    "operand": (lambda t: t + "text", TypeError),
    "cat": (lambda t: nbgrad.cat([t, nbgrad.ones(2, 2)], 0), RuntimeError),
    "truth": (lambda t: bool(t), RuntimeError),
    "item": (lambda t: t.item(), RuntimeError),
    "squeeze": (lambda t: t.squeeze(4), IndexError),
    "expand": (lambda t: t.expand(5, 3), RuntimeError),
    "float_index": (lambda t: t[1.0], (IndexError, TypeError)),
    "attribute": (lambda t: t.nothing, AttributeError),
    "zeros": (lambda t: nbgrad.zeros(-1), RuntimeError),
    "bitwise": (lambda t: t & t, RuntimeError),
    "imag": (lambda t: t.imag, RuntimeError),
    "order": (lambda t: t.to(nbgrad.complex64) < 1, RuntimeError),
    "empty_max": (lambda t: t[:0].max(), (RuntimeError, IndexError)),
    "repeat": (lambda t: t.repeat(2), RuntimeError),
    "setitem": (lambda t: t.__setitem__(0, nbgrad.ones(7)), RuntimeError),
    "shape": (lambda t: setattr(t, "shape", 1), (AttributeError, TypeError)),
}


@pytest.mark.parametrize("call, error", ERRORS.values(), ids=ERRORS)
def test_type_of_errors(call, error):
    """A mistake raises the builtin that users already catch for it."""
    with pytest.raises(error):
        call(nbgrad.ones(2, 3))


# ---- printing --------------------------------------------------------------------------------------------------------
REPRS = {
    "scalar": (lambda: nbgrad.tensor(1.5), "tensor(1.5000)"),
    "integer": (lambda: nbgrad.tensor(3), "tensor(3)"),
    "boolean": (lambda: nbgrad.tensor(True), "tensor(True)"),
    "whole": (lambda: nbgrad.tensor([1.0, 2.0, 3.0]), "tensor([1., 2., 3.])"),
    "fractions": (lambda: nbgrad.tensor([1.5, -2.25]), "tensor([ 1.5000, -2.2500])"),
    "integers": (lambda: nbgrad.tensor([1, 20, -3]), "tensor([ 1, 20, -3])"),
    "booleans": (lambda: nbgrad.tensor([True, False]), "tensor([ True, False])"),
    "empty": (lambda: nbgrad.tensor([]), "tensor([])"),
    "empty_matrix": (lambda: nbgrad.zeros(0, 3), "tensor([], size=(0, 3))"),
    "matrix": (lambda: nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
    "cube": (
        lambda: nbgrad.arange(8.0).view(2, 2, 2),
        "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])",
    ),
    "small": (lambda: nbgrad.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
    "tiny_scalar": (lambda: nbgrad.tensor(1e-10), "tensor(1.0000e-10)"),
    "wide_whole": (lambda: nbgrad.tensor([1e10, 1.0]), "tensor([1.0000e+10, 1.0000e+00])"),
    "wide": (lambda: nbgrad.tensor([0.5, 1000.25]), "tensor([5.0000e-01, 1.0002e+03])"),
    "large_whole": (lambda: nbgrad.tensor([100000000.0]), "tensor([100000000.])"),
    "special": (lambda: nbgrad.tensor([1.0, INF, NAN]), "tensor([1., inf, nan])"),
    "aligned_nan": (lambda: nbgrad.tensor([1.5, NAN]), "tensor([1.5000,    nan])"),
    "nan": (lambda: nbgrad.tensor(NAN), "tensor(nan)"),
    "negative_zero": (lambda: nbgrad.tensor([-0.0]), "tensor([-0.])"),
    "complex": (lambda: nbgrad.tensor([1 + 2j, 3 - 0.5j]), "tensor([1.+2.0000j, 3.-0.5000j])"),
    "wrapped": (
        lambda: nbgrad.arange(30.0),
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n        28., 29.])",
    ),
    "summary": (lambda: nbgrad.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    "float_summary": (
        lambda: nbgrad.arange(2000.0),
        "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])",
    ),
    "requires_grad": (lambda: nbgrad.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
    "grad_fn": (lambda: nbgrad.tensor([1.0], requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
    "parameter": (lambda: nbgrad.Parameter(nbgrad.ones(2)), "Parameter containing:\ntensor([1., 1.], requires_grad=True)"),
}


@pytest.mark.parametrize("make, expected", REPRS.values(), ids=REPRS)
def test_repr(make, expected):
    """Tensors print in four digits, aligned, whole numbers with a bare point, large tensors summarised."""
    assert repr(make()) == str(make()) == expected


@pytest.mark.parametrize("name", ["float64", "float16", "uint8", "int32", "complex128", "bfloat16"])
def test_repr_names_an_unusual_dtype(name):
    """A dtype that the printed values do not imply is written out."""
    body = "0.+0.j" if name == "complex128" else "0" if "int" in name else "0."
    assert repr(nbgrad.zeros(1, dtype=dtype(name))) == f"tensor([{body}], dtype={dtype(name)})"


def test_repr_names_the_dtype_of_nothing():
    """An empty tensor implies no dtype but the default one."""
    assert repr(nbgrad.tensor([], dtype=nbgrad.int64)) == f"tensor([], dtype={nbgrad.int64})"


def test_repr_of_a_large_matrix_is_summarised():
    """Above a thousand elements three are shown at each end of each dimension."""
    lines = repr(nbgrad.ones(60, 40)).splitlines()
    assert len(lines) == 7 and lines[0] == "tensor([[1., 1., 1.,  ..., 1., 1., 1.],"
    assert lines[3] == "        ...,"


# ---- copies ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickle_keeps_values_and_dtype(name, protocol):
    """A pickled tensor comes back with its values, shape and dtype."""
    t = tensor_of(name, 0, 1, 1).view(3, 1)
    back = pickle.loads(pickle.dumps(t, protocol))
    assert back.dtype == t.dtype and back.tolist() == t.tolist()


def test_pickle_keeps_requires_grad():
    """A leaf that requires grad comes back as one."""
    back = pickle.loads(pickle.dumps(nbgrad.ones(2, requires_grad=True)))
    assert back.requires_grad and back.is_leaf


def test_pickle_keeps_strides():
    """A view comes back with its strides, on memory of its own."""
    t = nbgrad.arange(6.0).view(2, 3)
    back = pickle.loads(pickle.dumps(t.t()))
    t.zero_()
    assert back.stride() == (1, 3) and back.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_pickle_keeps_the_type_of_a_parameter():
    """A Parameter comes back as a Parameter."""
    p = nbgrad.Parameter(nbgrad.ones(2))
    back = pickle.loads(pickle.dumps(p))
    assert type(back) is type(p) and back.requires_grad and back.tolist() == [1.0, 1.0]


def test_dtypes_pickle_as_themselves():
    """A dtype is the same object after a round trip, pickled or copied."""
    for name in ALL:
        d = dtype(name)
        assert pickle.loads(pickle.dumps(d)) is d and copy.deepcopy(d) is d


def test_deepcopy_shares_no_memory():
    """A deep copy has the layout and none of the memory."""
    t = nbgrad.arange(6.0).view(2, 3).t()
    c = copy.deepcopy(t)
    t.zero_()
    assert c.stride() == (1, 3) and c.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_deepcopy_keeps_sharing():
    """Aliases copied together remain aliases, and one tensor copied twice one tensor."""
    t = nbgrad.zeros(3)
    a, v, b = copy.deepcopy([t, t[:1], t])
    a.fill_(7.0)
    assert v.tolist() == [7.0] and a is b


def test_deepcopy_keeps_attributes():
    """Python attributes set on a tensor are copied with it."""
    t = nbgrad.zeros(1)
    t.tag = ["mine"]
    c = copy.deepcopy(t)
    assert c.tag == ["mine"] and c.tag is not t.tag


def test_shallow_copy_shares_memory():
    """``copy.copy`` gives another tensor on the same memory."""
    t = nbgrad.zeros(2)
    c = copy.copy(t)
    t.fill_(3.0)
    assert c is not t and c.tolist() == [3.0, 3.0]


def test_reversed_is_a_flip():
    """``reversed`` gives a tensor with its first dimension reversed, in the graph; a 0-d tensor is its own reverse."""
    x = nbgrad.arange(4.0).view(2, 2).requires_grad_()
    y = reversed(x)
    assert y.tolist() == [[2.0, 3.0], [0.0, 1.0]]
    y[0].sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert reversed(nbgrad.tensor(1.0)).item() == 1.0
