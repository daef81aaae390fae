"""NumPy and DLPack: memory shared both ways without a copy, and what is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import nbgrad
from tests.helpers import dtype

NUMPY_NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


# ---- tensor to array -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_numpy_keeps_the_dtype(name):
    """``t.numpy()`` has NumPy's dtype of the same name."""
    assert nbgrad.ones(3, dtype=dtype(name)).numpy().dtype == np.dtype(name)


def test_numpy_shares_memory():
    """Writes to the tensor are seen in the array and the other way round."""
    t = nbgrad.zeros(3)
    array = t.numpy()
    t[0] = 1.0
    array[1] = 2.0
    assert array.tolist() == t.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize(
    "view",
    [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[1], lambda t: t[0, 0], lambda t: t.expand(2, 2, 3), lambda t: t[:0]],
    ids=["transposed", "strided", "row", "element", "expanded", "empty"],
)
def test_numpy_of_a_view(view):
    """The array has the view's shape, strides and place in memory."""
    t = nbgrad.arange(6.0).view(2, 3)
    v = view(t)
    array = v.numpy()
    assert array.shape == tuple(v.shape) and array.tolist() == v.tolist()
    if array.size:
        assert array.strides == tuple(4 * s for s in v.stride()) and array.ctypes.data == v.data_ptr()


def test_numpy_array_outlives_the_tensor():
    """The array keeps the memory alive."""
    array = nbgrad.full((1000,), 7.0).numpy()
    gc.collect()
    assert array.sum() == 7000.0


@pytest.mark.parametrize("take", [lambda t: t.numpy(), np.asarray], ids=["numpy", "asarray"])
def test_numpy_refuses_a_tensor_that_requires_grad(take):
    """An array cannot carry a history."""
    with pytest.raises(RuntimeError):
        take(nbgrad.ones(2, requires_grad=True))


def test_detached_numpy_shares_memory_with_a_leaf():
    """``detach().numpy()`` is the way to a leaf's memory."""
    x = nbgrad.ones(2, requires_grad=True)
    x.detach().numpy()[0] = 5.0
    assert x.tolist() == [5.0, 1.0]


def test_numpy_force():
    """``numpy(force=True)`` detaches, and resolves lazy conjugation, by itself."""
    z = nbgrad.tensor([1 + 2j], requires_grad=True)
    assert z.conj().numpy(force=True).tolist() == [1 - 2j]


def test_numpy_refuses_a_lazy_conjugate():
    """NumPy has no conjugate bit, so the user resolves it first."""
    z = nbgrad.tensor([1 + 2j]).conj()
    with pytest.raises(RuntimeError):
        z.numpy()
    assert z.resolve_conj().numpy().tolist() == [1 - 2j]


def test_writes_through_the_array_are_not_counted():
    """Autograd cannot see what NumPy does: the version stays."""
    t = nbgrad.zeros(2)
    t.numpy()[0] = 1.0
    assert t._version == 0 and t.tolist() == [1.0, 0.0]


def test_asarray_of_a_tensor_shares_memory():
    """``np.asarray(t)`` goes through ``__array__`` without a copy."""
    t = nbgrad.zeros(2)
    np.asarray(t)[0] = 3.0
    assert t.tolist() == [3.0, 0.0]


def test_array_of_a_tensor_copies():
    """``np.array(t)`` copies, as NumPy promises."""
    t = nbgrad.zeros(2)
    np.array(t)[0] = 3.0
    assert t.tolist() == [0.0, 0.0]


def test_asarray_with_a_dtype():
    """``__array__`` converts where a dtype is asked for."""
    array = np.asarray(nbgrad.ones(2), dtype=np.float64)
    assert array.dtype == np.float64 and array.tolist() == [1.0, 1.0]


def test_numpy_functions_take_tensors():
    """NumPy functions read a tensor as an array."""
    assert np.sum(np.asarray(nbgrad.ones(3))) == 3.0
    np.testing.assert_array_equal(np.concatenate([np.asarray(nbgrad.ones(2)), np.zeros(1)]), [1.0, 1.0, 0.0])


# ---- array to tensor -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("door", ["from_numpy", "as_tensor", "asarray"])
def test_array_is_shared(door):
    """A tensor made of an array by these doors shares its memory, both ways."""
    array = np.zeros(3, np.float32)
    t = getattr(nbgrad, door)(array)
    array[0] = 1.0
    t[1] = 2.0
    assert t.tolist() == array.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_from_numpy_keeps_the_dtype(name):
    """The dtype of the array is that of the tensor."""
    assert nbgrad.from_numpy(np.ones(2, name)).dtype == dtype(name)


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[1], lambda a: a[:0]], ids=["transposed", "strided", "row", "empty"]
)
def test_from_numpy_keeps_the_layout(view):
    """Strided arrays are taken as they lie."""
    array = view(np.arange(6.0).reshape(2, 3))
    t = nbgrad.from_numpy(array)
    assert t.tolist() == array.tolist()
    if array.size:
        assert t.stride() == tuple(s // 8 for s in array.strides) and t.data_ptr() == array.ctypes.data


def test_from_numpy_keeps_the_array_alive():
    """The tensor keeps the array's memory."""
    t = nbgrad.from_numpy(np.full(1000, 7.0))
    gc.collect()
    assert t.sum().item() == 7000.0


@pytest.mark.parametrize(
    "array",
    [np.ones((1, 2)).view(np.recarray), np.arange(6.0).reshape(2, 3).T, np.array(3.0), np.ones((0, 3)), np.arange(8.0)[::2]],
    ids=["subclass", "columns", "number", "none", "strided"],
)
@pytest.mark.parametrize("writable", [True, False])
def test_from_numpy_of_arrays_of_all_kinds(array, writable):
    """The memory is shared, and what may not be written to in one may not in the other."""
    array = array.view()
    array.flags.writeable = writable
    x = nbgrad.from_numpy(array)
    assert tuple(x.shape) == array.shape and x.tolist() == array.tolist()
    if array.size and writable:
        x += 1
        assert x.tolist() == array.tolist()
    elif array.size:
        with pytest.raises(RuntimeError):
            x += 1


def test_from_numpy_takes_only_arrays():
    """A list is no array."""
    with pytest.raises(TypeError):
        nbgrad.from_numpy([1.0, 2.0])


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.array([object()]), np.zeros(1, "datetime64[s]")], ids=["text", "object", "datetime"]
)
def test_from_numpy_of_a_dtype_that_is_no_number(array):
    """Arrays of other things than numbers are a TypeError."""
    with pytest.raises(TypeError):
        nbgrad.from_numpy(array)


def test_from_numpy_with_negative_strides():
    """A reversed array has no counterpart that shares its memory."""
    with pytest.raises(ValueError):
        nbgrad.from_numpy(np.arange(3.0)[::-1])


def test_tensor_copies_an_array_with_negative_strides():
    """``tensor`` copies, in the order of the elements."""
    assert nbgrad.tensor(np.arange(3.0)[::-1].copy()).tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize("scalar, expected", [(np.float64(1.5), "float64"), (np.int32(3), "int32"), (np.bool_(True), "bool")])
def test_tensor_of_a_numpy_scalar(scalar, expected):
    """A NumPy scalar keeps its dtype."""
    t = nbgrad.tensor(scalar)
    assert t.dtype == dtype(expected) and t.item() == scalar.item() and tuple(t.shape) == ()


def test_as_tensor_of_a_tensor_is_the_object():
    """Nothing is copied where nothing has to change."""
    t = nbgrad.ones(2)
    assert nbgrad.as_tensor(t) is t


def test_as_tensor_with_another_dtype_copies():
    """A conversion needs memory of its own."""
    array = np.zeros(2)
    t = nbgrad.as_tensor(array, dtype=nbgrad.float32)
    array[0] = 1.0
    assert t.dtype == nbgrad.float32 and t.tolist() == [0.0, 0.0]


def test_numpy_scalar_as_operand():
    """A NumPy scalar beside a tensor counts like a Python number."""
    t = nbgrad.ones(2)
    result = t * np.float64(2.5)
    assert result.dtype == nbgrad.float32 and result.tolist() == [2.5, 2.5]


# ---- DLPack ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_dlpack_to_numpy_shares_memory(name):
    """``np.from_dlpack(t)`` gives an array on the tensor's memory, of the same dtype."""
    t = nbgrad.zeros(2, 3, dtype=dtype(name))
    array = np.from_dlpack(t)
    t.fill_(1)
    assert array.dtype == np.dtype(name) and array.all() and array.shape == (2, 3)


@pytest.mark.parametrize("name", [name for name in NUMPY_NAMES if name != "bool"])
def test_dlpack_from_numpy_shares_memory(name):
    """``from_dlpack(array)`` gives a tensor on the array's memory, of the same dtype."""
    array = np.zeros((2, 3), name)
    t = nbgrad.from_dlpack(array)
    array[:] = 1
    assert t.dtype == dtype(name) and t.tolist() == array.tolist()


def test_dlpack_keeps_strides_and_offset():
    """A strided view crosses as it lies."""
    t = nbgrad.arange(12.0).view(3, 4)[1:, ::2]
    array = np.from_dlpack(t)
    assert array.tolist() == t.tolist() and array.ctypes.data == t.data_ptr()
    assert nbgrad.from_dlpack(np.arange(6.0).reshape(2, 3).T).stride() == (1, 3)


def test_dlpack_between_tensors():
    """A tensor imports a tensor's capsule."""
    t = nbgrad.zeros(3)
    other = nbgrad.from_dlpack(t)
    other[0] = 5.0
    assert t.tolist() == [5.0, 0.0, 0.0]


def test_dlpack_keeps_the_memory_alive():
    """Either side may die first."""
    array = np.from_dlpack(nbgrad.full((1000,), 7.0))
    t = nbgrad.from_dlpack(np.full(1000, 7.0))
    gc.collect()
    assert array.sum() == t.sum().item() == 7000.0


def test_dlpack_device_is_the_cpu():
    """The device pair of a CPU tensor is (1, 0)."""
    kind, number = nbgrad.zeros(1).__dlpack_device__()
    assert (int(kind), number) == (1, 0)


def test_dlpack_refuses_a_tensor_that_requires_grad():
    """A capsule cannot carry a history."""
    with pytest.raises((BufferError, RuntimeError)):
        nbgrad.ones(2, requires_grad=True).__dlpack__()


def test_unused_capsule_is_freed():
    """A capsule that nobody imports gives its memory back."""
    t = nbgrad.zeros(3)
    for _ in range(100):
        t.__dlpack__()
    t.fill_(1.0)
    assert t.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("mode", [nbgrad.no_grad, nbgrad.inference_mode])
def test_tensors_that_require_grad_are_arrays_where_nothing_is_recorded(mode):
    """The array shares the memory; elsewhere it is refused as before."""
    x = nbgrad.ones(2, requires_grad=True)
    with mode():
        for array in (x.numpy(), np.asarray(x)):
            array[0] += 1
        assert x.tolist() == [3.0, 1.0] == np.array(x).tolist() and np.float32(x[0]) == 3
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(x)


def test_capsules_are_taken_once():
    """A capsule shares memory, which may be written to, also of bfloat16; it is used up."""
    for kind in (nbgrad.float32, nbgrad.bfloat16):
        x = nbgrad.ones(2, 3, dtype=kind).t()
        capsule = nbgrad.utils.dlpack.to_dlpack(x)
        y = nbgrad.from_dlpack(capsule)
        y[0] = 0
        assert y.shape == (3, 2) and x.dtype is y.dtype and not x[0].any()
        with pytest.raises(nbgrad.ArgumentError, match="used before"):
            nbgrad.from_dlpack(capsule)


def test_from_numpy_of_what_is_a_tensor_already():
    """NumPy's functions of tensors give tensors here, which programs for torch make tensors of."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    assert nbgrad.from_numpy(x) is x
    assert nbgrad.from_numpy(np.isin(nbgrad.arange(3), np.array([1]))).tolist() == [False, True, False]


def test_to_no_device():
    """``to(None)`` is where the tensor is; a dtype may follow."""
    x = nbgrad.ones(2)
    assert x.to(None) is x and x.to(None, nbgrad.float64).dtype is nbgrad.float64 and x.to(device=None) is x


def test_what_a_module_is_moved_to():
    """``_C._nn._parse_to`` takes what ``to`` of a module takes."""
    parse, x = nbgrad._C._nn._parse_to, nbgrad.ones(1, dtype=nbgrad.float64)
    cpu = nbgrad.device("cpu")
    assert parse("cpu", nbgrad.float16, True) == (cpu, nbgrad.float16, True, None)
    assert parse(x) == (cpu, nbgrad.float64, False, None) and parse(None) == (None, None, False, None)
    assert parse(memory_format=nbgrad.channels_last)[3] is nbgrad.channels_last
