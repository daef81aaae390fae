"""What torch has and nbgrad has not, as far as programs name it in passing: names, questions, and errors where it is used."""

from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArgumentError, DeviceError, DimError, LibraryError, NotSupportedError


@pytest.mark.parametrize(
    "use",
    [
        lambda: nbgrad.distributed.DeviceMesh("cpu", [0]),
        lambda: nbgrad.distributed.init_device_mesh("cpu", (1,)),
        lambda: nbgrad.onnx.export(None, None),
        lambda: nbgrad.PyTorchFileReader("file"),
        lambda: nbgrad.ops.aten._to_copy(nbgrad.ones(1)),
    ],
)
def test_what_is_used_says_that_it_is_not_there(use):
    """An error that tells what to do instead."""
    with pytest.raises(NotSupportedError, match="Hint: "):
        use()


@pytest.mark.parametrize(
    "use", [nbgrad.ops.load_library, nbgrad.utils.cpp_extension.load, nbgrad.utils.cpp_extension.BuildExtension]
)
def test_libraries_are_not_loaded(use):
    """The error is one of those that programs catch to go on without them."""
    with pytest.raises(OSError, match="Hint: nbgrad") as caught:
        use("fast.so")
    assert isinstance(caught.value, LibraryError)


def test_operations_by_their_names_in_aten():
    """Each overload is the function of the package, or a method; what neither has is no name."""
    aten, x = nbgrad.ops.aten, nbgrad.tensor([1.0, -2.0])
    assert aten.add.Tensor(x, x).tolist() == [2, -4] and aten.abs(x).tolist() == [1, 2]
    assert aten.mul_.Scalar(x.clone(), 2).tolist() == [2, -4]
    assert {aten._to_copy.default: 1}[aten._to_copy.default] == 1
    assert not hasattr(aten, "nothing_of_the_kind") and not hasattr(aten.add, "__len__")


def test_namespaces_of_operations_that_nobody_made():
    """They are there and empty, as in torch; operations that a program makes appear in theirs."""
    assert not hasattr(nbgrad.ops.of_nobody, "nms")
    with pytest.raises(AttributeError):
        nbgrad.ops.__of_python__

    @nbgrad.library.custom_op("of_absent::twice", mutates_args=())
    def twice(x: nbgrad.Tensor) -> nbgrad.Tensor:
        return x * 2

    assert nbgrad.ops.of_absent.twice(nbgrad.ones(1)).item() == 2


@pytest.mark.parametrize("name", ["mps", "xpu", "mps:0"])
def test_devices_that_are_names(name):
    """They are compared and written; no tensor is made or moved there."""
    device = nbgrad.device(name)
    assert str(device) == name and device != nbgrad.device("cpu") and device is nbgrad.device(name)
    for use in (
        lambda: nbgrad.ones(2, device=device),
        lambda: nbgrad.ones(2).to(device),
        lambda: nbgrad.nn.Linear(2, 2).to(name),
        lambda: nbgrad.set_default_device(name),
        lambda: device.__enter__(),
        lambda: nbgrad.Generator(device=name),
    ):
        with pytest.raises(DeviceError, match=f"no tensor can be on device {name}"):
            use()


def test_dtypes_that_are_names():
    """They are compared, written, pickled and asked for their limits; no tensor has one."""
    dtype = nbgrad.float8_e4m3fn
    limits = nbgrad.finfo(dtype)
    assert (limits.max, limits.eps, limits.bits, limits.resolution) == (448.0, 0.125, 8, 1.0)
    assert nbgrad.finfo(nbgrad.float8_e5m2).max == 57344.0
    assert nbgrad.ones(1).dtype != dtype and pickle.loads(pickle.dumps(dtype)) is dtype
    for use in (lambda: nbgrad.ones(1).to(dtype), lambda: nbgrad.zeros(1, dtype=dtype)):
        with pytest.raises(ArgumentError, match="float8_e4m3fn"):
            use()


def test_conditions_of_programs():
    """They raise errors of the type that is meant, with the text that is made where it is needed."""
    nbgrad._check(True, lambda: 1 / 0)
    nbgrad._check_is_size(2, max=2)
    nbgrad._check_tensor_all(nbgrad.tensor([True, True]))
    with pytest.raises(ZeroDivisionError, match="two"):
        nbgrad._check_with(ZeroDivisionError, False, lambda: "two")
    for use, error in (
        (lambda: nbgrad._check(False), nbgrad.NbgradError),
        (lambda: nbgrad._check_index(False), DimError),
        (lambda: nbgrad._check_value(False), ValueError),
        (lambda: nbgrad._check_is_size(3, max=2), nbgrad.NbgradError),
        (lambda: nbgrad._check_tensor_all(nbgrad.tensor([True, False])), nbgrad.NbgradError),
        (lambda: nbgrad._check(nbgrad.tensor(True)), ArgumentError),
        (lambda: nbgrad._check(False, "text"), ArgumentError),
        (lambda: nbgrad._check_tensor_all(nbgrad.ones(1)), ArgumentError),
    ):
        with pytest.raises(error):
            use()


def test_symbolic_numbers_are_numbers():
    """Their functions are Python's; the greater of an int and a float is a float."""
    assert not isinstance(nbgrad.ones(2).shape[0], nbgrad.SymInt)
    assert (nbgrad.sym_max(3, 2.0), nbgrad.sym_min(1, 2), nbgrad.sym_sum([1, 2]), nbgrad.sym_ite(False, 1, 2)) == (3.0, 1, 3, 2)
    assert type(nbgrad.sym_max(3, 2.0)) is float and nbgrad.sym_not(False)


def test_what_libraries_import_of_loaders_files_and_groups():
    """Names of torch's own modules by which libraries sort samples, pickle, and ask what they may set."""
    collate = importlib.import_module("nbgrad.utils.data._utils.collate")
    assert collate.collate_tensor_fn([nbgrad.zeros(2), nbgrad.ones(2)]).shape == (2, 2)
    assert collate.collate_str_fn(["a", "b"]) == ["a", "b"]
    texts = [dtype for dtype in ("f4", "i8", "U3", "S2", "O") if collate.np_str_obj_array_pattern.search(np.dtype(dtype).str)]
    assert texts == ["U3", "S2", "O"]
    assert nbgrad.serialization.DEFAULT_PROTOCOL == 2
    assert not nbgrad.backends.flags_frozen()
    assert nbgrad._C._get_default_device() == "cpu"
    with pytest.raises(NotSupportedError, match="no process groups"):
        importlib.import_module("nbgrad.distributed.nn").all_gather(nbgrad.ones(2))
    points = nbgrad._sample_dirichlet(nbgrad.ones(4, 3))
    assert points.shape == (4, 3) and nbgrad.allclose(points.sum(-1), nbgrad.ones(4)) and (points >= 0).all()
