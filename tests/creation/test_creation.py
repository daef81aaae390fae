"""New tensors: shapes, dtypes, strides, numbers that do not fit, conversions."""

from __future__ import annotations

import array
import collections
import math

import numpy as np
import pytest

import nbgrad
from tests.helpers import dtype

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
ALL = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]


# ---- sizes -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make",
    [
        lambda: nbgrad.zeros(2, 3),
        lambda: nbgrad.zeros((2, 3)),
        lambda: nbgrad.zeros([2, 3]),
        lambda: nbgrad.zeros(size=(2, 3)),
        lambda: nbgrad.zeros(nbgrad.tensor(2), np.int64(3)),
    ],
    ids=["sizes", "tuple", "list", "keyword", "integers"],
)
def test_spellings_of_a_shape(make):
    """Sizes come one by one or as one sequence, as anything that is an integer."""
    assert make().shape == (2, 3)


@pytest.mark.parametrize(
    "sizes, error",
    [((-1,), RuntimeError), ((2.0,), TypeError), ((True,), TypeError), ((), TypeError), ((2, "a"), TypeError)],
    ids=str,
)
def test_sizes_that_are_none(sizes, error):
    """Negative sizes, and what is no integer, are refused."""
    with pytest.raises(error):
        nbgrad.zeros(*sizes)


@pytest.mark.parametrize("make", [nbgrad.zeros, nbgrad.empty, nbgrad.ones, nbgrad.rand])
@pytest.mark.parametrize("sizes", [(1 << 63,), (1 << 40, 1 << 40), (1 << 40, 1 << 40, 0), (1 << 50,)], ids=str)
def test_sizes_that_no_memory_holds(make, sizes):
    """Too large a tensor is an error before anything is allocated, also where a size of 0 leaves it without elements."""
    with pytest.raises((MemoryError, RuntimeError)):
        make(*sizes)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("make, value", [(nbgrad.zeros, 0), (nbgrad.ones, 1)], ids=["zeros", "ones"])
def test_filled_in_every_dtype(name, make, value):
    """Zeros and ones exist in every dtype."""
    t = make(2, 2, dtype=dtype(name))
    assert t.dtype is dtype(name) and t.tolist() == [[value] * 2] * 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: nbgrad.zeros(2, device="cuda"),
        lambda: nbgrad.tensor([1.0], device="cuda:0"),
        lambda: nbgrad.ones(1).cuda(),
        lambda: nbgrad.ones(1).to("cuda"),
        lambda: nbgrad.rand(1, device="cuda"),
        lambda: nbgrad.arange(2, device="cuda"),
    ],
)
def test_a_device_that_is_missing_is_named(make):
    """A tensor on a GPU is refused with what is missing, not with a failure deep inside."""
    with pytest.raises(nbgrad.DeviceError, match="device cuda.* is not available"):
        make()


# ---- from data -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "data, expected",
    [
        ([np.float32(1)], "float32"),
        ([np.float64(1)], "float64"),
        ([np.int16(1), np.int8(1)], "int16"),
        ([nbgrad.tensor(1, dtype=nbgrad.int8), 1.0], "float32"),
        ([nbgrad.tensor(1.0, dtype=nbgrad.float64), 1j], "complex128"),
        ([np.ones(2), np.ones(2)], "float64"),
        (range(3), "int64"),
        ([[], []], "float32"),
        ([True, 1.5], "float32"),
    ],
    ids=str,
)
def test_dtype_of_mixed_data(data, expected):
    """NumPy scalars, arrays and tensors bring their dtypes, Python numbers the default ones, and they promote."""
    assert nbgrad.tensor(data).dtype is dtype(expected)


@pytest.mark.parametrize(
    "value, name, expected",
    [
        (1.7, "int64", 1),
        (-1.7, "int8", -1),
        (-1, "uint8", 255),
        (1e300, "float32", math.inf),
        (2, "bool", True),
        (1, "complex64", 1 + 0j),
    ],
)
def test_numbers_converted_on_entry(value, name, expected):
    """Fractions are cut off, a negative number wraps in uint8, too large a float is infinite."""
    made = nbgrad.tensor(value, dtype=dtype(name)), nbgrad.full((), value, dtype=dtype(name))
    assert [t.item() for t in made] == [expected] * 2


@pytest.mark.parametrize(
    "value, name, error",
    [
        (300, "uint8", ValueError),
        (128, "int8", ValueError),
        (math.nan, "int64", ValueError),
        (1 << 63, "int64", ValueError),
        (1j, "float32", (TypeError, RuntimeError)),
    ],
)
def test_numbers_that_do_not_fit(value, name, error):
    """An integer dtype refuses what it cannot hold, a real one what is not real."""
    with pytest.raises(error):
        nbgrad.tensor(value, dtype=dtype(name))
    with pytest.raises(error):
        nbgrad.full((1,), value, dtype=dtype(name))


@pytest.mark.parametrize("data", [None, {1: 2}, object(), "1", b"1"], ids=lambda data: type(data).__name__)
def test_data_of_other_types(data):
    """What is neither number nor sequence is named in the error."""
    with pytest.raises(TypeError, match=type(data).__name__):
        nbgrad.tensor(data)


def test_tensor_of_a_tensor_has_no_history():
    """``tensor`` copies the values of tensors, not where they came from: with a warning, since a gradient may be missed."""
    x = nbgrad.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="tensor: .*without their history. Hint"):
        t = nbgrad.tensor([x[0] * 2, x[1:]])
    assert t.is_leaf and not t.requires_grad and t.tolist() == [2.0, 1.0]


def test_tensor_of_larger_tensors_is_an_error():
    """A tensor among the data counts as a number, as in torch; for more there is ``stack``."""
    with pytest.raises(ValueError, match="stack"):
        nbgrad.tensor([nbgrad.ones(2), nbgrad.ones(2)])


def test_asarray_copies_on_demand():
    """``copy=True`` always copies, ``copy=False`` never, and says so where it would have to."""
    array = np.zeros(2)
    address = array.ctypes.data
    assert nbgrad.asarray(array, copy=True).data_ptr() != address == nbgrad.asarray(array, copy=False).data_ptr()
    with pytest.raises(ValueError):
        nbgrad.asarray(array, dtype=nbgrad.float32, copy=False)
    with pytest.raises(ValueError):
        nbgrad.asarray([1.0], copy=False)


def test_asarray_keeps_or_drops_the_history():
    """A tensor stays in its graph unless ``requires_grad=False`` asks for the values alone."""
    y = nbgrad.ones(2, requires_grad=True) * 2
    assert nbgrad.asarray(y) is y and nbgrad.asarray(y, requires_grad=False).is_leaf


def test_frombuffer_shares_memory():
    """A buffer's bytes are the tensor's elements."""
    buffer = bytearray(8)
    t = nbgrad.frombuffer(buffer, dtype=nbgrad.int16, offset=2)
    buffer[2] = 5
    assert t.tolist() == [5, 0, 0]


def test_as_tensor_converts_within_the_graph():
    """``as_tensor`` of a tensor with another dtype is recorded."""
    x = nbgrad.ones(2, requires_grad=True)
    nbgrad.as_tensor(x, dtype=nbgrad.float64).backward(nbgrad.full((2,), 3.0, dtype=nbgrad.float64))
    assert x.grad.dtype is nbgrad.float32 and x.grad.tolist() == [3.0, 3.0]


# ---- sequences -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "args", [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0,), (3, 3), (0.0, 1.0, 0.1), (1, 2, 0.3), (-1.5, 1.5), (2.5,)], ids=str
)
def test_arange_against_numpy(args):
    """The numbers are NumPy's, rounded once to the default dtype."""
    expected = np.arange(*args)
    t = nbgrad.arange(*args)
    assert t.dtype is (nbgrad.int64 if expected.dtype.kind == "i" else nbgrad.float32)
    np.testing.assert_allclose(t.numpy(), expected, rtol=1e-7, atol=1e-7)


def test_arange_with_names():
    """``end`` alone counts from 0."""
    assert nbgrad.arange(end=3).tolist() == [0, 1, 2] and nbgrad.arange(start=1, end=3).tolist() == [1, 2]


@pytest.mark.parametrize("args", [(0, 1, 0), (3, 1), (1, 3, -1), (0, math.inf), (0, math.nan)], ids=str)
def test_arange_that_never_ends(args):
    """A step that does not lead to the end is an error."""
    with pytest.raises(RuntimeError):
        nbgrad.arange(*args)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("args", [(0, 1, 5), (-3, 7, 12), (1, 0, 4), (2, 5, 1), (0, 1, 0)], ids=str)
def test_linspace_against_numpy(name, args):
    """Equidistant numbers are NumPy's in float64, rounded."""
    t = nbgrad.linspace(*args, dtype=dtype(name))
    expected = np.linspace(*args).astype(t.dtype.numpy).astype(np.float64)
    np.testing.assert_allclose(t.double().numpy(), expected, rtol=2 * nbgrad.finfo(nbgrad.float64).eps)


def test_linspace_is_symmetric():
    """Both halves of an odd interval have the same magnitudes, and the ends are exact."""
    t = nbgrad.linspace(-0.1, 0.1, 1001).numpy()
    assert (t == -t[::-1]).all() and t[-1] == np.float32(0.1)


@pytest.mark.parametrize("args, base", [((0, 2, 5), 10.0), ((-3, 3, 4), 2.0), ((0, 1, 1), 10.0)], ids=str)
def test_logspace_against_numpy(args, base):
    """Powers of the base, as NumPy's."""
    t = nbgrad.logspace(*args, base=base, dtype=nbgrad.float64)
    np.testing.assert_allclose(t.numpy(), np.logspace(*args, base=base), rtol=1e-14)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (4, 2), (0,)], ids=str)
@pytest.mark.parametrize("name", ["bool", "int64", "float32", "bfloat16"])
def test_eye_against_numpy(shape, name):
    """Ones on the diagonal alone."""
    assert nbgrad.eye(*shape, dtype=dtype(name)).tolist() == np.eye(*shape).tolist()


# ---- like others -----------------------------------------------------------------------------------------------------
LIKE = {
    "zeros": nbgrad.zeros_like,
    "ones": nbgrad.ones_like,
    "empty": nbgrad.empty_like,
    "rand": nbgrad.rand_like,
    "randn": nbgrad.randn_like,
    "full": lambda x: nbgrad.full_like(x, 2.0),
}


@pytest.mark.parametrize("like", LIKE.values(), ids=LIKE)
@pytest.mark.parametrize(
    "make, strides",
    [
        (lambda: nbgrad.ones(2, 3, 4), (12, 4, 1)),
        (lambda: nbgrad.ones(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
        (lambda: nbgrad.empty_strided((2, 3), (1, 4)), (1, 2)),
        (lambda: nbgrad.ones(3, 1).expand(3, 4), (4, 1)),
    ],
    ids=["row-major", "permuted", "gaps", "expanded"],
)
def test_like_keeps_the_memory_order(like, make, strides):
    """A dense tensor's strides are kept; of others only the order of the dimensions, without gaps."""
    assert like(make()).stride() == strides


@pytest.mark.parametrize(
    "method, args, expected",
    [
        ("new_zeros", (2,), [0, 0]),
        ("new_ones", ((2,),), [1, 1]),
        ("new_full", ((2,), 3.7), [3, 3]),
        ("new_tensor", ([1.5, 2.5],), [1, 2]),
    ],
)
def test_new_methods_take_the_dtype(method, args, expected):
    """The ``new_*`` methods make tensors of this tensor's dtype."""
    t = getattr(nbgrad.ones(1, dtype=nbgrad.int16), method)(*args)
    assert t.dtype is nbgrad.int16 and t.tolist() == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: nbgrad.zeros(2, **k),
        lambda **k: nbgrad.full((2,), 1, **k),
        lambda **k: nbgrad.arange(2, **k),
        lambda **k: nbgrad.eye(2, **k),
    ],
)
def test_integers_require_no_grad(make):
    """Only floating and complex tensors may require grad."""
    with pytest.raises(RuntimeError):
        make(dtype=nbgrad.int64, requires_grad=True)
    assert make(dtype=nbgrad.float64, requires_grad=True).requires_grad


# ---- conversions -----------------------------------------------------------------------------------------------------
def test_conversion_that_changes_nothing_is_the_tensor():
    """No copy is made where none is asked for."""
    x = nbgrad.ones(2)
    same = (x.to(nbgrad.float32), x.to("cpu"), x.to(x), x.float(), x.cpu(), x.type_as(x), x.to("cpu", nbgrad.float32), x.to())
    assert all(y is x for y in same) and x.to(nbgrad.float32, copy=True) is not x


@pytest.mark.parametrize(
    "method, name",
    [
        ("half", "float16"),
        ("bfloat16", "bfloat16"),
        ("float", "float32"),
        ("double", "float64"),
        ("byte", "uint8"),
        ("char", "int8"),
        ("short", "int16"),
        ("int", "int32"),
        ("long", "int64"),
        ("bool", "bool"),
        ("cfloat", "complex64"),
        ("cdouble", "complex128"),
    ],
)
def test_conversion_methods(method, name):
    """Each method converts to the dtype that torch names so."""
    t = getattr(nbgrad.tensor([0.0, 1.0]), method)()
    assert t.dtype is dtype(name) and t.tolist() == [0, 1]


def test_truth_of_numbers_is_not_their_low_byte():
    """What is not 0 is True: fractions, NaN, and multiples of 256."""
    assert nbgrad.tensor([0.5, -0.0, math.nan]).bool().tolist() == [True, False, True]
    assert nbgrad.tensor([256, 0, -512]).bool().numpy().view(np.uint8).tolist() == [1, 0, 1]
    truth = nbgrad.zeros(2, dtype=nbgrad.bool).copy_(nbgrad.tensor([7, 0], dtype=nbgrad.uint8))
    assert truth.numpy().view(np.uint8).tolist() == [1, 0]


def test_conversion_passes_gradients():
    """The gradient comes back in the dtype of the operand."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    (x.double() * nbgrad.tensor([3.0, 4.0], dtype=nbgrad.float64)).sum().backward()
    assert x.grad.dtype is nbgrad.float32 and x.grad.tolist() == [3.0, 4.0]


def test_complex_to_real_warns():
    """An imaginary part is not dropped in silence."""
    with pytest.warns(UserWarning, match="imaginary"):
        assert nbgrad.tensor([1 + 2j]).float().tolist() == [1.0]


def test_type_names():
    """``type()`` names the kind of tensor, and converts to a kind named so."""
    x = nbgrad.ones(1, dtype=nbgrad.bfloat16)
    assert x.type() == "nbgrad.BFloat16Tensor" and x.type("nbgrad.DoubleTensor").dtype is nbgrad.float64
    assert x.type(nbgrad.LongTensor).dtype is nbgrad.int64 and x.type(nbgrad.float16).dtype is nbgrad.float16
    with pytest.raises(TypeError):
        x.type("nbgrad.NoTensor")


@pytest.mark.parametrize("args", [(3,), ("nowhere",), (nbgrad.float32, nbgrad.float32), ([],)], ids=str)
def test_to_refuses_what_it_does_not_know(args):
    """An argument that is neither dtype, device nor tensor is an error."""
    with pytest.raises((TypeError, RuntimeError)):
        nbgrad.ones(1).to(*args)


@pytest.mark.parametrize(
    "args, expected",
    [
        ((0.5, 5.7, 1.5), [0, 1, 2, 3, 4]),
        ((3.1,), [0, 1, 2]),
        ((-2.7, 2.7), [-2, -1, 0, 1]),
        ((3, 0, -1.5), [3, 2, 1]),
        ((1e18, 1e18 + 300, 100), [10**18, 10**18 + 100, 10**18 + 200]),
    ],
)
def test_arange_of_an_integer_dtype_counts_in_integers(args, expected):
    """Bounds and step become integers first: the elements are whole steps apart."""
    assert nbgrad.arange(*args, dtype=nbgrad.int64).tolist() == expected


def test_arange_refuses_a_step_that_is_no_integer():
    """A step of 0.5 would be 0."""
    with pytest.raises(nbgrad.ShapeError, match=r"step 0\.5 is 0 as nbgrad\.int64"):
        nbgrad.arange(0, 3, 0.5, dtype=nbgrad.int64)
    with pytest.raises(nbgrad.ShapeError, match="cannot count"):
        nbgrad.arange(3j)


def test_linspace_and_logspace_of_an_integer_dtype():
    """The ends become integers first; what lies between them is truncated."""
    assert nbgrad.linspace(4.3, -3, 10, dtype=nbgrad.int8).tolist() == [4, 3, 2, 1, 0, 0, 0, -1, -2, -3]
    assert nbgrad.linspace(-4.9, 5.9, 7, dtype=nbgrad.int64).tolist() == [-4, -2, -1, 0, 2, 3, 5]
    assert nbgrad.logspace(0.5, 2.9, 5, dtype=nbgrad.int64).tolist() == [1, 3, 10, 31, 100]
    with pytest.raises(nbgrad.RangeError, match="300 does not fit"):
        nbgrad.linspace(0, 300, 4, dtype=nbgrad.uint8)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nbgrad.full((1,), -0.0),
        lambda: nbgrad.full_like(nbgrad.ones(1), -0.0),
        lambda: nbgrad.ones(1).new_full((1,), -0.0),
        lambda: nbgrad.scalar_tensor(-0.0),
        lambda: nbgrad.full((1,), -0.0, dtype=nbgrad.float16),
        lambda: nbgrad.linspace(-0.0, 1, 1),
        lambda: nbgrad.linspace(1, -0.0, 2)[1:],
        lambda: nbgrad.ones(1).index_fill(0, nbgrad.tensor([0]), -0.0),
        lambda: nbgrad.ones(1).scatter(0, nbgrad.tensor([0]), -0.0),
        lambda: nbgrad.nn.functional.pad(nbgrad.ones(1), (1, 0), value=-0.0)[:1],
        lambda: nbgrad.full((1,), complex(-0.0, 0)).real,
        lambda: nbgrad.full((1,), complex(0, -0.0)).imag,
    ],
)
def test_the_sign_of_zero_is_kept(make):
    """-0.0 is not the zero of fresh memory."""
    assert nbgrad.signbit(make()).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_long_sequences_are_made_of_the_numbers_of_short_ones(name):
    """Each element of a long arange or linspace has the one rounding that a short one's has, and the ends are as given."""
    count = 40_001
    i = np.arange(count)
    for start, end in ((-0.1, 0.1), (3.0, -7.5), (1e300, -1e300), (2.0, 2.0)):
        step = (end - start) / (count - 1)
        with np.errstate(all="ignore"):
            expected = np.where(i < count / 2, start + step * i, end - step * (count - 1 - i)).astype(name)
        t = nbgrad.linspace(start, end, count, dtype=dtype(name)).numpy()
        np.testing.assert_array_equal(t[1:-1], expected[1:-1])
        with np.errstate(all="ignore"):
            assert t[0] == np.array(start).astype(name) and t[-1] == np.array(end).astype(name)
    np.testing.assert_array_equal(
        nbgrad.arange(1.5, 1.5 + count * 0.375, 0.375, dtype=dtype(name)).numpy(), (1.5 + i * 0.375).astype(name)
    )
    np.testing.assert_array_equal(nbgrad.arange(count, -count, -2).numpy(), np.arange(count, -count, -2))
    assert nbgrad.arange(count).dtype is nbgrad.int64 and nbgrad.arange(count)._version == 0


# ---- repeated calls ----------------------------------------------------------------------------------------------------
NAMED = [{}, {"dtype": nbgrad.float32}, {"device": "cpu"}, {"dtype": nbgrad.float32, "device": "cpu"}, {"dtype": nbgrad.int32}]


@pytest.mark.parametrize("number", [3, 2.5])
@pytest.mark.parametrize("order", [1, -1])
def test_repeated_calls_do_not_depend_on_what_came_before(number, order):
    """The dtype that is named, or else that of the number or the default one, whichever call was the first."""
    size = (2, 3, 4 + order)  # which no other test asks for
    for _ in range(2):
        for named in NAMED[::order]:
            wanted = named.get("dtype", nbgrad.int64 if type(number) is int else nbgrad.float32)
            x = nbgrad.full(size, number, **named)
            assert x.dtype is wanted and (x == int(number) if wanted is nbgrad.int32 else x == number).all()
            for make, filled in ((nbgrad.zeros, 0), (nbgrad.ones, 1)):
                y = make(size, **named)
                assert y.dtype is named.get("dtype", nbgrad.float32) and (y == filled).all()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("number", [0, 1, -1, 2.75, 1e-50])
@pytest.mark.parametrize("size", [(1000,), (20, 31), (0, 3)], ids=str)
def test_later_calls_fill_as_the_first_one_did(name, number, size):
    """Also where a plan does not hold the elements: a launch that fills takes the number as the first call did."""
    like = nbgrad.zeros(size, dtype=dtype(name)).t().contiguous().t() if len(size) == 2 else nbgrad.zeros(size, dtype=dtype(name))
    made = {
        "full": lambda: nbgrad.full(size, number, dtype=dtype(name)),
        "full_like": lambda: nbgrad.full_like(like, number),
        "new_full": lambda: like.new_full(size, number),
        "new_ones": lambda: like.new_ones(size),
        "zeros": lambda: nbgrad.zeros(size, dtype=dtype(name)),
    }
    for how, make in made.items():
        first, second, third = (make() for _ in range(3))
        assert first.dtype is second.dtype is third.dtype and second.stride() == third.stride() == first.stride(), how
        assert first.tolist() == second.tolist() == third.tolist(), how


def test_a_large_number_of_zeros_is_not_written():
    """The system's pages are zero already."""
    for _ in range(3):
        x = nbgrad.zeros(1 << 23)
        assert not x.any() and x.numel() == 1 << 23


@pytest.mark.parametrize(
    "data, expected, kind",
    [
        (array.array("d", [1, 2]), [1.0, 2.0], nbgrad.float32),
        (array.array("i", [1, 2]), [1, 2], nbgrad.int64),
        (bytearray(b"ab"), [97, 98], nbgrad.int64),
        (memoryview(array.array("d", [1, 2])), [1.0, 2.0], nbgrad.float32),
        (collections.deque([True, False]), [True, False], nbgrad.bool),
        ([array.array("f", [1, 2]), (3, 4)], [[1.0, 2.0], [3.0, 4.0]], nbgrad.float32),
        ([collections.UserList([1]), range(1)], [[1], [0]], nbgrad.int64),
        (collections.UserList([np.float64(1)]), [1.0], nbgrad.float64),
    ],
)
def test_other_sequences(data, expected, kind):
    """Any sequence counts as a list of its elements does."""
    x = nbgrad.tensor(data)
    assert x.dtype is kind and x.tolist() == expected
    assert nbgrad.as_tensor(data).dtype is kind


class Column:
    """What describes itself as an array, as columns of tables do."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])


def test_arrays_among_rows():
    assert nbgrad.tensor([Column(), [3, 4]]).dtype is nbgrad.float64
    assert nbgrad.tensor([Column()]).tolist() == [[1.0, 2.0]]
