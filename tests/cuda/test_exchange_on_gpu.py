"""Memory of GPUs shared with other libraries, on the emulated device."""

from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.creation import gpu_exchange
from nbgrad.creation.capsules import PLAIN, VERSIONED, is_valid, pointer_of
from nbgrad.creation.gpu_exchange import READ_ONLY

from .emulation import on_gpus, two_gpus

pytestmark = on_gpus
capsule_renamed = ctypes.pythonapi.PyCapsule_SetName
capsule_renamed.restype, capsule_renamed.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64")


class Exporter:
    """Another library's array: what a tensor offers, and nothing else."""

    def __init__(self, x, **changes):
        self.x, self.changes = x, changes

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.x.__dlpack__(**asked | self.changes)


class OldExporter(Exporter):
    """One from before version 1, which knows a stream only."""

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__(stream=stream)


class Described:
    """An array with the CUDA Array Interface alone."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


def in_use():
    """Bytes of tensors, when what lies in cycles is gone."""
    gc.collect()
    return nbgrad.cuda.memory_allocated()


def numbers(dtype="float32"):
    return (nbgrad.arange(6).reshape(2, 3) % 2).to(getattr(nbgrad, dtype)).cuda()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exporter", [Exporter, OldExporter])
def test_capsules_share_memory(dtype, exporter):
    """Every dtype, views too, of both versions of the protocol: the same memory, shape, strides and device."""
    for x in (numbers(dtype), numbers(dtype).t(), numbers(dtype)[:, 1:], numbers(dtype)[0, 0], numbers(dtype)[:0]):
        y = nbgrad.from_dlpack(exporter(x))
        assert y.dtype is x.dtype and y.shape == x.shape and y.device == x.device
        assert y.cpu().tolist() == x.cpu().tolist()
        if x.numel():
            assert y.data_ptr() == x.data_ptr() and y.stride() == x.stride()


def test_writes_are_seen_by_both():
    """There is one memory."""
    x = numbers()
    nbgrad.from_dlpack(Exporter(x)).mul_(3)
    assert x.cpu().tolist() == [[0, 3, 0], [3, 0, 3]]


def test_memory_lives_as_long_as_it_is_taken():
    """A consumer's tensor outlives the producer's; with the last one everything goes."""
    before = in_use()
    x = numbers()
    y = nbgrad.from_dlpack(Exporter(x))
    del x
    assert y.cpu().tolist() == [[0, 1, 0], [1, 0, 1]] and in_use() > before
    view = y[1]
    del y
    assert view.cpu().tolist() == [1, 0, 1]
    del view
    assert in_use() == before


def test_a_capsule_that_nobody_takes_is_given_back():
    """It holds the memory until it dies."""
    before = in_use()
    for version in (None, (1, 0)):
        capsule = numbers().__dlpack__(max_version=version)
        assert in_use() > before
        del capsule
        assert in_use() == before


@pytest.mark.skipif(config.NATIVE == 0, reason="what ends a capsule is native")
def test_errors_of_consumers_stay():
    """NumPy takes the capsule, sees a GPU and raises: that error arrives, the memory goes back, nothing is printed."""
    before = in_use()
    x = numbers()
    for _ in range(3):
        with pytest.raises((RuntimeError, BufferError), match="device|memory"):
            np.from_dlpack(x)
    del x
    assert in_use() == before


def test_capsules_end_in_threads():
    """Who takes a capsule may let go of it elsewhere, without the interpreter's lock."""
    before = in_use()
    capsule = numbers().__dlpack__(max_version=(1, 0))
    managed = gpu_exchange.Versioned.from_address(pointer_of(capsule, VERSIONED))
    assert capsule_renamed(capsule, b"used_dltensor_versioned") == 0
    let_go = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)  # ctypes gives the lock away
    thread = threading.Thread(target=let_go, args=[ctypes.addressof(managed)])
    thread.start()
    thread.join()
    assert in_use() == before
    del capsule
    assert in_use() == before


def test_a_capsule_is_used_once():
    """The second consumer is refused."""
    x = numbers()
    capsule = x.__dlpack__(max_version=(1, 0))

    class Once(Exporter):
        def __dlpack__(self, **asked):
            return capsule

    first = nbgrad.from_dlpack(Once(x))
    with pytest.raises(TypeError, match="used before"):
        nbgrad.from_dlpack(Once(x))
    assert first.shape == (2, 3)


def test_read_only_memory_is_said():
    """A consumer of version 1 is told, and its writes are refused; an older one gets nothing."""
    x = numbers()
    x._storage_.writable = False
    y = nbgrad.from_dlpack(Exporter(x))
    with pytest.raises(RuntimeError, match="read-only"):
        y.mul_(2)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    assert gpu_exchange.interface_of(x)["data"][1] is True
    x._storage_.writable = True


def test_copies_when_asked():
    """``copy=True`` leaves the first memory alone, and the capsule says so."""
    x = numbers()
    y = nbgrad.from_dlpack(x, copy=True)
    y.add_(1)
    assert x.cpu().sum().item() == 3 and y.data_ptr() != x.data_ptr()
    capsule = x.__dlpack__(max_version=(1, 0), copy=True)
    address = pointer_of(capsule, VERSIONED)
    assert gpu_exchange.Versioned.from_address(address).flags == gpu_exchange.COPIED
    assert READ_ONLY != gpu_exchange.COPIED and not is_valid(capsule, PLAIN)


@two_gpus
def test_other_devices():
    """Memory of the second GPU stays there; a device that is asked for takes a copy, unless that is forbidden."""
    x = numbers().to("cuda:1")
    y = nbgrad.from_dlpack(Exporter(x))
    assert y.device == nbgrad.device("cuda:1") and y.data_ptr() == x.data_ptr()
    assert nbgrad.from_dlpack(x, device="cpu").tolist() == x.cpu().tolist()
    with pytest.raises(BufferError, match="copy=False"):
        nbgrad.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match="Hint: x.cpu"):
        x.__dlpack__(dl_device=(1, 0))


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "bfloat16"])
def test_array_interface(dtype):
    """``as_tensor`` and ``asarray`` take it; strides are in bytes, and None of contiguous memory."""
    x = numbers(dtype).t()
    said = x.__cuda_array_interface__
    assert said["version"] == 3 and said["shape"] == (3, 2) and np.dtype(said["typestr"]) == x.dtype.numpy
    assert said["strides"] == (x.itemsize, 3 * x.itemsize) and x.contiguous().__cuda_array_interface__["strides"] is None
    for y in (nbgrad.as_tensor(Described(said)), nbgrad.asarray(Described(said))):
        assert y.data_ptr() == x.data_ptr() and y.stride() == x.stride() and y.cpu().tolist() == x.cpu().tolist()
    assert nbgrad.as_tensor(Described(said), device="cpu").device.type == "cpu"
    copied = nbgrad.tensor(Described(said))
    assert copied.device is x.device and copied.data_ptr() != x.data_ptr() and copied.cpu().tolist() == x.cpu().tolist()


def test_what_the_interface_cannot_say():
    """Masks, foreign byte orders, negative and odd strides, gradients, lazy bits and bfloat16 are refused with a remedy."""
    x = numbers()
    said = x.__cuda_array_interface__
    for change, error in (
        ({"mask": x}, "mask"),
        ({"typestr": ">f4"}, "byte order"),
        ({"strides": (-12, 4)}, "negative strides"),
        ({"strides": (13, 4)}, "no multiples"),
    ):
        with pytest.raises(RuntimeError, match=error):
            nbgrad.as_tensor(Described({**said, **change}))
    with pytest.raises(RuntimeError, match=r"Hint: x.detach\(\)"):
        x.requires_grad_().__cuda_array_interface__
    with pytest.raises(RuntimeError, match=r"Hint: x.detach\(\)"):
        x.__dlpack__()
    with pytest.raises(BufferError, match="no bfloat16"):
        numbers("bfloat16").__cuda_array_interface__
    z = numbers("complex64").conj()
    with pytest.raises(BufferError, match="resolve_conj"):
        z.__cuda_array_interface__
    with pytest.raises(BufferError, match="resolve_conj"):
        z.__dlpack__()


def test_a_tensor_of_the_cpu_has_no_interface():
    """``hasattr`` is how others ask."""
    assert not hasattr(nbgrad.ones(2), "__cuda_array_interface__") and hasattr(numbers(), "__cuda_array_interface__")


@pytest.mark.parametrize("stream", [0, -2, "x", 1.0])
def test_streams_that_are_none(stream):
    """0 could mean two streams, and is refused by the protocol."""
    with pytest.raises(BufferError, match="stream must be"):
        numbers().__dlpack__(stream=stream)


def test_work_is_ordered_between_streams():
    """What a consumer does on its stream comes behind what the producer had to do; what it does not wait for is found."""
    import cuda.core

    device = cuda.core.Device(0)
    other = device.create_stream(options=cuda.core.StreamOptions(nonblocking=True))
    x = numbers()
    for _ in range(20):
        x = x * 1.5
    capsule = x.__dlpack__(stream=int(other.handle), max_version=(1, 0))
    assert capsule is not None
    host = np.zeros(6, np.float32)
    from cuda.bindings import driver

    assert int(driver.cuMemcpyDtoHAsync(host.ctypes.data, x.data_ptr(), 24, int(other.handle))[0]) == 0
    assert int(driver.cuStreamSynchronize(int(other.handle))[0]) == 0
    np.testing.assert_array_equal(host, np.float32([0, 1, 0, 1, 0, 1]) * np.float32(1.5) ** 20)


def test_cuda_core_reads_tensors():
    """NVIDIA's own library takes both protocols."""
    from cuda.core.utils import StridedMemoryView

    x = numbers().t()
    view = StridedMemoryView.from_any_interface(x, stream_ptr=-1)
    assert view.ptr == x.data_ptr() and tuple(view.shape) == (3, 2) and tuple(view.strides) == (1, 3)
    assert view.device_id == 0 and view.is_device_accessible and ctypes.sizeof(ctypes.c_void_p) == 8
