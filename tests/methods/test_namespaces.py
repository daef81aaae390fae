"""Names that ported programs look for: module paths, constants, constructors, in-place functions, rarely used methods."""

from __future__ import annotations

import importlib
import math
import os
import pickle
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad.base.size import Size
from nbgrad.methods.namespaces import PLACES

# ---- module paths ----------------------------------------------------------------------------------------------------

NAMED = (
    ("autograd.anomaly_mode", "detect_anomaly"),
    ("autograd.forward_ad", "make_dual"),
    ("autograd.function", "Function"),
    ("autograd.functional", "jacobian"),
    ("autograd.grad_mode", "set_multithreading_enabled"),
    ("autograd.gradcheck", "get_numerical_jacobian"),
    ("autograd.graph", "Node"),
    ("autograd.profiler", "record_function"),
    ("autograd.profiler_util", "EventList"),
    ("autograd.variable", "Variable"),
    ("nn.parameter", "Parameter"),
    ("nn.modules", "Linear"),
    ("nn.modules.module", "Module"),
    ("nn.modules.activation", "ReLU"),
    ("nn.modules.linear", "Linear"),
    ("nn.modules.container", "Sequential"),
    ("nn.modules.loss", "_Loss"),
    ("nn.modules.batchnorm", "_BatchNorm"),
    ("onnx", "is_in_onnx_export"),
    ("nn.modules.normalization", "LayerNorm"),
    ("nn.modules.sparse", "Embedding"),
    ("nn.modules.dropout", "Dropout"),
    ("nn.utils.clip_grad", "clip_grad_norm_"),
    ("optim.adamw", "AdamW"),
    ("_vmap_internals", "_vmap"),
    ("utils._contextlib", "_DecoratorContextManager"),
    ("utils._pytree", "tree_map"),
    ("utils.checkpoint", "checkpoint"),
    ("utils.data", "DataLoader"),
    ("utils.data._utils.collate", "default_collate"),
    ("utils.data.dataloader", "default_collate"),
    ("utils.data.dataset", "Dataset"),
    ("utils.data.sampler", "Sampler"),
    ("utils.hooks", "RemovableHandle"),
    ("_dynamo", "config"),
    ("_dynamo.eval_frame", "OptimizedModule"),
    ("_higher_order_ops.associative_scan", "associative_scan"),
    ("_inductor", "config"),
    ("distributed.device_mesh", "DeviceMesh"),
    ("fx._symbolic_trace", "Tracer"),
    ("distributed.tensor", "DTensor"),
    ("fx.graph_module", "GraphModule"),
    ("fx.passes.utils.matcher_utils", "SubgraphMatcher"),
    ("jit.annotations", "BroadcastingList2"),
    ("jit.annotations", "List"),
    ("nn.parallel.distributed", "DistributedDataParallel"),
    ("utils.cpp_extension", "load"),
    ("utils.data.dataloader", "_BaseDataLoaderIter"),
    ("utils.flop_counter", "FlopCounterMode"),
)


@pytest.mark.parametrize("path, name", NAMED)
def test_module_paths_lead_to_the_names(path, name):
    """``from nbgrad.path import name`` gives the object of the module that has it, in a process of its own too."""
    module = importlib.import_module(f"nbgrad.{path}")
    assert getattr(module, name) is getattr(importlib.import_module(f"nbgrad.{PLACES.get(path, path)}"), name)
    assert name in dir(module)


def test_functional_is_two_modules():
    """torch's functions written in Python, beside the derivatives of ``torch.autograd.functional``."""
    assert nbgrad.functional.einsum is nbgrad.einsum and nbgrad.functional.jacobian is nbgrad.func.functional.jacobian
    assert not hasattr(nbgrad.functional, "relu")


@pytest.mark.parametrize(
    ("path", "name"), [("batchnorm", "SyncBatchNorm"), ("conv", "LazyConv2d"), ("pooling", "FractionalMaxPool2d")]
)
def test_layers_are_found_in_torchs_files(path, name):
    """Also those that lie in another file here; what is no layer is in none of them."""
    module = importlib.import_module(f"nbgrad.nn.modules.{path}")
    assert getattr(module, name) is getattr(nbgrad.nn, name)
    with pytest.raises(AttributeError, match=f"module 'nbgrad.nn.modules.{path}' has no attribute 'nothing'"):
        module.nothing


def test_a_path_is_imported_before_anything_else():
    """A process may begin with the innermost path."""
    script = (
        "from nbgrad.utils.checkpoint import checkpoint; import nbgrad.autograd.functional as F; import nbgrad; "
        "print(checkpoint is nbgrad.checkpoint, F.jacobian is nbgrad.functional.jacobian, nbgrad.utils.checkpoint.checkpoint "
        "is checkpoint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(nbgrad.__file__).parents[1])},
    )
    assert done.stdout.split() == ["True"] * 3, done.stderr


def test_packages_of_paths():
    """Paths are attributes of their packages, also where those have a file; what is not there is an error of Python's own."""
    script = (
        "from nbgrad.nn.modules.module import Module; import nbgrad; import nbgrad.optim.adamw as w; "
        "from nbgrad.optim import optimizer; "
        "print(nbgrad.nn.modules.module.Module is Module is nbgrad.nn.Module, nbgrad.optim.adamw is w, "
        "nbgrad.nn.modules.Linear is nbgrad.nn.Linear, isinstance(optimizer.Optimizer, type))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(nbgrad.__file__).parents[1])},
    )
    assert done.stdout.split() == ["True"] * 4, done.stderr
    for path in ("utils.nothing", "nn.modules.nothing", "nn.nothing", "optim.nothing"):
        with pytest.raises(ModuleNotFoundError, match="nothing"):
            importlib.import_module(f"nbgrad.{path}")
    with pytest.raises(AttributeError, match="nothing"):
        nbgrad.optim.nothing


def test_results_that_are_none_in_a_private_vmap():
    """``_vmap`` leaves them where it is told to."""
    from nbgrad._vmap_internals import _vmap

    x = nbgrad.tensor([1.0, 2.0])
    found = _vmap(lambda x: (x * 2, None), allow_none_pass_through=True)(x)
    assert found[0].tolist() == [2.0, 4.0] and found[1] is None and _vmap(lambda x: x + 1)(x).tolist() == [2.0, 3.0]


def test_gradcheck_is_a_module_and_a_function():
    """Its path can be imported, and the attribute of ``nbgrad.autograd`` stays callable."""
    importlib.import_module("nbgrad.autograd.gradcheck")
    x = nbgrad.tensor([0.5], dtype=nbgrad.float64, requires_grad=True)
    assert nbgrad.autograd.gradcheck(nbgrad.sin, x) and nbgrad.gradcheck is nbgrad.autograd.gradcheck


def test_paths_that_lead_nowhere():
    """They are errors of Python's own kinds."""
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nbgrad.utils.nothing")
    with pytest.raises(AttributeError, match="nothing"):
        nbgrad.utils.nothing
    with pytest.raises(ImportError):
        exec("from nbgrad.autograd.graph import nothing")


# ---- sizes, devices, dtypes ------------------------------------------------------------------------------------------


def test_shapes_are_sizes():
    """Tuples that know how many elements they make; slices and sums are Sizes too."""
    shape = nbgrad.zeros(2, 3, 4).shape
    assert isinstance(shape, nbgrad.Size) and shape == (2, 3, 4) and hash(shape) == hash((2, 3, 4)) and shape.numel() == 24
    assert repr(shape[1:]) == "nbgrad.Size([3, 4])" and shape[0] == 2
    assert [type(s) for s in (shape + (1,), (1,) + shape, shape * 2, nbgrad.zeros(2).size())] == [Size] * 4
    assert pickle.loads(pickle.dumps(shape)) == shape and np.zeros(shape).shape == (2, 3, 4)
    assert nbgrad.ones(nbgrad.Size([2, 2])).shape == (2, 2) and nbgrad.Size() == ()
    for wrong in ([1.5], 3, ["a"]):
        with pytest.raises(TypeError, match="Size"):
            nbgrad.Size(wrong)


def test_devices_are_made_by_name():
    """Equal devices are one object; other names and kinds are refused."""
    assert nbgrad.device("cuda", 1) is nbgrad.device("cuda:1") and isinstance(nbgrad.ones(1).device, nbgrad.device)
    with nbgrad.device("cpu") as device:
        assert nbgrad.ones(1).device is device is nbgrad.get_default_device()
    nbgrad.set_default_device("cpu")
    for wrong, error in ((("gpu",), RuntimeError), ((1.5,), TypeError), (("cuda", -1), RuntimeError)):
        with pytest.raises(error, match="device"):
            nbgrad.device(*wrong)
    with pytest.raises(RuntimeError, match="not available"):
        nbgrad.set_default_device("cuda")


def test_types_of_results():
    """Dtypes and shapes that an operation would have, without running it."""
    assert isinstance(nbgrad.float32, nbgrad.dtype)
    assert nbgrad.result_type(nbgrad.ones(2, dtype=nbgrad.int8), 1.5) is nbgrad.float32
    assert nbgrad.result_type(1, 2) is nbgrad.int64
    assert nbgrad.broadcast_shapes((2, 1), (3,), 1) == np.broadcast_shapes((2, 1), (3,), 1)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        nbgrad.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="sizes >= 0"):
        nbgrad.broadcast_shapes((-1,), (3,))


def test_constants():
    """Python's own."""
    assert (nbgrad.inf, nbgrad.pi, nbgrad.e, nbgrad.newaxis) == (math.inf, math.pi, math.e, None) and math.isnan(nbgrad.nan)


# ---- functions -------------------------------------------------------------------------------------------------------


def test_broadcast_tensors_are_views_with_gradients():
    """Every one of the common shape; the gradient is summed over what was added."""
    x, y = nbgrad.tensor([1.0, 2.0], requires_grad=True), nbgrad.tensor([[3.0], [4.0], [5.0]])
    a, b = nbgrad.broadcast_tensors(x, y)
    (a * b).sum().backward()
    assert a.shape == b.shape == (3, 2) and a._base is x
    assert x.grad.tolist() == [12.0, 12.0]
    with pytest.raises(TypeError):
        nbgrad.broadcast_tensors(x, 1.0)


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 1), (1, 2, 3, 1)])
def test_atleast_is_numpys(name, shape):
    """Shapes as NumPy's; one tensor gives one, several a tuple."""
    x = nbgrad.ones(shape, requires_grad=True)
    expected = getattr(np, name)(np.ones(shape)).shape
    found = getattr(nbgrad, name)
    assert found(x).shape == expected and found([x, x])[1].shape == expected and found(x).requires_grad


def test_questions_about_tensors():
    """What is one, how many elements it has, of which kind."""
    x = nbgrad.ones(2, 3)
    assert nbgrad.is_tensor(x) and not nbgrad.is_tensor(1) and nbgrad.numel(x) == 6
    assert nbgrad.is_nonzero(nbgrad.ones(1)) and nbgrad.is_signed(x) and not nbgrad.is_signed(x.to(nbgrad.uint8))
    assert nbgrad.typename(x) == "nbgrad.FloatTensor" and nbgrad.typename(nbgrad.nn.Linear) == "nbgrad.nn.layers.Linear"
    assert nbgrad.get_device(x) == -1 == x.get_device() and nbgrad.is_same_size(x, x + 1) and nbgrad.is_storage(x.untyped_storage())
    for function in (nbgrad.numel, nbgrad.is_nonzero, nbgrad.is_signed, nbgrad.get_device):
        with pytest.raises(TypeError, match="Tensor"):
            function(3)


def test_old_constructors():
    """Of data, of sizes; and as types in ``isinstance``."""
    with pytest.raises(TypeError, match="LongTensor: the tensor is of nbgrad.float32, expected nbgrad.int64"):
        nbgrad.LongTensor(nbgrad.ones(1))
    assert nbgrad.FloatTensor([1, 2]).tolist() == [1.0, 2.0] and nbgrad.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(nbgrad.ones(1), nbgrad.FloatTensor) and not isinstance(nbgrad.ones(1), nbgrad.DoubleTensor)
    assert nbgrad.BoolTensor([True]).dtype is nbgrad.bool_ and nbgrad.DoubleTensor().shape == (0,)
    with pytest.raises(TypeError, match="FloatTensor"):
        nbgrad.FloatTensor([1], [2])


@pytest.mark.parametrize("make", [nbgrad.FloatTensor, nbgrad.Tensor, nbgrad.ones(1).new])
def test_old_constructors_share_an_array_of_their_dtype(make):
    """A write to either shows in the other, as with as_tensor; an array of another dtype is converted."""
    same, wider = np.zeros(4, np.float32)[::2], np.zeros(2)
    x, y = make(same), make(wider)
    same[0] = wider[0] = 5.0
    x[1] = 7.0
    assert same.tolist() == [5.0, 7.0] and x.tolist() == [5.0, 7.0] and x.stride() == (2,)
    assert y.dtype is nbgrad.float32 and y.tolist() == [0.0, 0.0]


class Labelled(nbgrad.Tensor):
    """A subclass, made as programs make it."""


@pytest.mark.parametrize("cls", [nbgrad.Tensor, Labelled])
def test_tensor_as_a_constructor(cls):
    """Of the default dtype for data and sizes; of a tensor, its memory, dtype and history; numbers and other names are refused."""
    x = nbgrad.ones(2, dtype=nbgrad.float64, requires_grad=True)
    data = [cls([[1, 2], [3, 4]]), cls(np.arange(4)), cls(data=[True]), cls(range(2))]
    assert {each.dtype for each in data} == {nbgrad.float32} and {type(each) for each in data} == {cls}
    assert data[0].tolist() == [[1.0, 2.0], [3.0, 4.0]] and cls((2, 3)).tolist() == [2.0, 3.0]
    sizes = [cls(), cls(2, 3), cls(np.int64(3)), cls(nbgrad.Size([2, 3])), cls(size=(4,))]
    assert [tuple(each.shape) for each in sizes] == [(0,), (2, 3), (3,), (2, 3), (4,)]
    shared = cls(x)
    assert shared.data_ptr() == x.data_ptr() and shared.dtype is x.dtype and not shared.is_leaf
    (shared * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and cls(nbgrad.ones(2).untyped_storage()).tolist() == [1.0, 1.0]
    for wrong in (3.0, None, np.float32(2)):
        with pytest.raises(nbgrad.ArgumentError, match=f"{cls.__name__}: expected sizes"):
            cls(wrong)
    for named in ({"dtype": nbgrad.float64}, {"requires_grad": True}):
        with pytest.raises(nbgrad.ArgumentError, match=f"{cls.__name__}: got the argument '{next(iter(named))}'"):
            cls([1.0], **named)
    with pytest.raises(nbgrad.ArgumentError, match="got 2 arguments"):
        cls([1.0], [2.0])


@pytest.mark.parametrize("name", ["relu_", "exp_", "abs_", "neg_", "sqrt_", "sigmoid_", "tanh_", "round_"])
def test_inplace_functions(name):
    """The method as a function: it returns its operand, changed, with a gradient."""
    x = nbgrad.tensor([0.25, 2.0], requires_grad=True)
    y = x.clone()
    assert getattr(nbgrad, name)(y) is y
    np.testing.assert_allclose(y.detach().numpy(), getattr(x.detach(), name[:-1])().numpy())
    y.sum().backward()
    z = x.detach().requires_grad_()
    getattr(z, name[:-1])().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy())
    assert nbgrad.fill_(nbgrad.zeros(2), 3).tolist() == [3.0, 3.0] and nbgrad.zero_(nbgrad.ones(1)).item() == 0


# ---- methods ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, args", [("cumsum", (0,)), ("cumprod", (0,)), ("tril", ()), ("triu", (1,)), ("nan_to_num", (1.0,))])
def test_overwriting_forms(name, args):
    """``x.name_()`` is ``x.name()`` written over ``x``: the same values and gradients."""
    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=nbgrad.float64, requires_grad=True)
    y = x.clone()
    assert getattr(y, name + "_")(*args) is y
    expected = getattr(x, name)(*args)
    np.testing.assert_array_equal(y.detach().numpy(), expected.detach().numpy())
    g = nbgrad.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=nbgrad.float64)
    found, due = nbgrad.grad(y, x, g)[0], nbgrad.grad(expected, x, g)[0]
    np.testing.assert_array_equal(found.numpy(), due.numpy())


def test_diagonals_are_filled_as_numpys():
    """Also of tall matrices that wrap, and of views; the diagonal has no gradient."""
    for shape, wrap in (((3, 3), False), ((2, 4), True), ((7, 2), True), ((7, 2), False), ((3, 3, 3), False)):
        expected = np.zeros(shape)
        np.fill_diagonal(expected, 5, wrap)
        np.testing.assert_array_equal(nbgrad.zeros(*shape).fill_diagonal_(5, wrap).numpy(), expected)
    x = nbgrad.ones(2, 3, requires_grad=True)
    x.clone().t().fill_diagonal_(0).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
    for wrong in ((3,), (2, 2, 3)):
        with pytest.raises(RuntimeError, match="fill_diagonal_"):
            nbgrad.zeros(*wrong).fill_diagonal_(1)


def test_python_functions_of_elements():
    """Slow and without a derivative, so that a tensor that requires grad is refused."""
    x = nbgrad.tensor([[1.0, 4.0], [9.0, 16.0]])
    assert x.apply_(math.sqrt).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.map_(nbgrad.tensor([10.0, 20.0]), lambda a, b: a + b).tolist() == [[11.0, 22.0], [13.0, 24.0]]
    assert x.map2_(x, x, lambda a, b, c: a - b + c).tolist() == [[11.0, 22.0], [13.0, 24.0]]
    with pytest.raises(RuntimeError, match="no derivative"):
        x.requires_grad_().apply_(math.sqrt)


@pytest.mark.parametrize("dtype", [nbgrad.bool, nbgrad.uint8, nbgrad.int32])
def test_sum_to_size_of_integers(dtype):
    """Sums of integers are int64, as of ``sum``."""
    y = nbgrad.ones(200, 3, dtype=dtype).sum_to_size(3)
    assert y.dtype is nbgrad.int64 and y.tolist() == [200, 200, 200]


def test_sum_to_size():
    """The transpose of broadcasting, with its gradient."""
    x = nbgrad.ones(2, 3, requires_grad=True)
    y = x.sum_to_size(3)
    assert y.tolist() == [2.0] * 3 and x.sum_to_size(2, 3) is x
    y.backward(nbgrad.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(RuntimeError, match="sum_to_size"):
        x.sum_to_size(2)


def test_memory_behind_tensors():
    """Views share it; it is read as bytes."""
    x = nbgrad.tensor([1, 2], dtype=nbgrad.int16)
    storage = x.untyped_storage()
    assert storage == x[1:].untyped_storage() and hash(storage) == hash(x[1:].untyped_storage())
    assert storage != x.clone().untyped_storage() and storage.data_ptr() == x.data_ptr()
    assert storage.tolist() == [1, 0, 2, 0] == list(storage) and storage[2] == 2 and len(storage) == 4
    assert x.is_set_to(x.view(2)) and not x.is_set_to(x[1:]) and x.is_cpu and not x.is_sparse and not x.is_shared()
    assert nbgrad.zeros(2, 3).t().dim_order() == (1, 0)


CONTIGUOUS, CHANNELS_LAST = nbgrad.contiguous_format, nbgrad.channels_last


@pytest.mark.parametrize(
    ("shape", "dims", "order", "allowed"),
    [
        ((2, 3, 4), (1, 0, 2), (1, 0, 2), True),
        ((1, 3), (1, 0), (0, 1), [CONTIGUOUS]),
        ((2, 1, 4), (1, 2, 0), (2, 0, 1), False),
        ((2, 3, 4, 5), (0, 3, 1, 2), (0, 2, 3, 1), True),
        ((2, 3, 1, 1), (0, 2, 1, 3), (0, 2, 1, 3), False),
        ((1, 2, 3, 4), (0, 1, 2, 3), (0, 1, 2, 3), [CONTIGUOUS, CHANNELS_LAST]),
    ],
)
def test_order_of_dimensions(shape, dims, order, allowed):
    """Strides say it, contiguous tensors have theirs; where dimensions of size 1 leave a choice, ``ambiguity_check`` refuses it."""
    x = nbgrad.empty(shape).permute(dims)
    assert x.dim_order() == order
    if allowed is True:
        assert x.dim_order(ambiguity_check=True) == order
        return
    with pytest.raises(RuntimeError, match="more than one order"):
        x.dim_order(ambiguity_check=True)
    if allowed:
        assert x.dim_order(ambiguity_check=allowed) == order
    with pytest.raises(nbgrad.ArgumentError, match="expected a bool or a list"):
        x.dim_order(ambiguity_check=["contiguous"])


def test_memory_for_other_libraries_without_synchronisation():
    """-1 asks a GPU not to wait; the CPU has nothing to wait for."""
    assert np.from_dlpack(nbgrad.arange(3)).tolist() == [0, 1, 2] and nbgrad.arange(3).__dlpack__(stream=-1) is not None
    with pytest.raises(BufferError, match="no stream"):
        nbgrad.arange(3).__dlpack__(stream=1)


def test_new_tensors_of_a_dtype():
    """``x.new`` of sizes and of data, ``new_empty_strided``, the old ``resize``."""
    x = nbgrad.ones(4, dtype=nbgrad.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).dtype is nbgrad.int32 and x.new().shape == (0,)
    assert x.new_empty_strided((2, 2), (1, 2)).stride() == (1, 2)
    with pytest.warns(UserWarning, match="reshape"):
        assert x.resize(2, 2).shape == (2, 2)
    y = nbgrad.arange(6.0)
    assert y.as_strided_((2, 2), (1, 2)) is y and y.tolist() == [[0.0, 2.0], [1.0, 3.0]]


# ---- functions and settings that compute little ----------------------------------------------------------------------


def test_columns_and_copies():
    """``column_stack`` as NumPy's, with gradients; ``fill`` and ``detach`` as functions."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = nbgrad.column_stack([x, nbgrad.zeros(2, 2)])
    np.testing.assert_array_equal(y.detach().numpy(), np.column_stack([[1.0, 2.0], np.zeros((2, 2))]))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert nbgrad.fill(x, 3.0).tolist() == [3.0, 3.0] and x.tolist() == [1.0, 2.0] and not nbgrad.detach(x).requires_grad


@pytest.mark.parametrize("shape", [(2, 3, 2), 12, (3, 4)], ids=str)
def test_unravel_index(shape):
    """Positions are NumPy's, of negative indices too; an index beyond them, a size below 0 and floats are refused."""
    indices = nbgrad.tensor([[0, 7], [11, -1]])
    for found, expected in zip(nbgrad.unravel_index(indices, shape), np.unravel_index(indices.numpy() % 12, shape), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    for wrong in (indices + 1, indices.double()):
        with pytest.raises((nbgrad.RangeError, nbgrad.DTypeError), match="unravel_index: "):
            nbgrad.unravel_index(wrong, shape)
    assert [p.shape for p in nbgrad.unravel_index(nbgrad.zeros(0, dtype=nbgrad.int64), (0, 2))] == [(0,), (0,)]
    with pytest.raises(nbgrad.ShapeError, match="unravel_index: sizes"):
        nbgrad.unravel_index(indices, (-1, 2))


def test_settings_are_remembered():
    """What a program sets it can read again; nothing depends on it."""
    before = nbgrad.are_deterministic_algorithms_enabled(), nbgrad.get_float32_matmul_precision()
    try:
        nbgrad.use_deterministic_algorithms(True)
        nbgrad.set_float32_matmul_precision("high")
        assert (nbgrad.are_deterministic_algorithms_enabled(), nbgrad.get_float32_matmul_precision()) == (True, "high")
        with pytest.raises(ValueError, match="highest"):
            nbgrad.set_float32_matmul_precision("low")
    finally:
        nbgrad.use_deterministic_algorithms(before[0])
        nbgrad.set_float32_matmul_precision(before[1])


def test_there_is_no_gpu():
    """Questions are answered; what would need one is refused."""
    assert not nbgrad.cuda.is_available() and nbgrad.cuda.device_count() == 0 and not nbgrad.cuda.is_initialized()
    nbgrad.cuda.manual_seed_all(3)
    nbgrad.cuda.manual_seed(3)
    nbgrad.cuda.empty_cache()
    for function in (nbgrad.cuda.synchronize, nbgrad.cuda.current_device):
        with pytest.raises(RuntimeError, match="cuda"):
            function()


def test_names_of_devices_in_checkpoints_and_graphs():
    """They are accepted, and say that there is nothing to keep or to warn of."""
    from nbgrad.autograd import graph
    from nbgrad.autograd.function import FunctionMeta
    from nbgrad.utils import checkpoint

    assert checkpoint.get_device_states(nbgrad.ones(1)) == ([], []) and checkpoint.DefaultDeviceType.get_device_type() == "cpu"
    checkpoint.set_device_states([], [])
    assert isinstance(nbgrad.Function, FunctionMeta)
    graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    graph.set_override_stale_capture_stream(True)
    for switch in (graph.set_warn_on_accumulate_grad_stream_mismatch, graph.set_override_stale_capture_stream):
        with pytest.raises(TypeError, match="expected a bool, got str"):
            switch("no")
    with graph.region_activation_memory_budget(0.5):
        assert nbgrad.ones(1).item() == 1
    with pytest.raises(ValueError, match="from 0 to 1"), graph.region_activation_memory_budget(2):
        """Not entered."""


# ---- memory formats --------------------------------------------------------------------------------------------------

MADE = {
    "clone": lambda x, **options: x.clone(**options),
    "function": lambda x, **options: nbgrad.clone(x, **options),
    "contiguous": lambda x, **options: x.contiguous(**options),
    "to": lambda x, **options: x.to(nbgrad.float64, **options),
    "double": lambda x, **options: x.double(**options),
    "zeros_like": lambda x, **options: nbgrad.zeros_like(x, **options),
    "randn_like": lambda x, **options: nbgrad.randn_like(x, **options),
    "empty": lambda x, **options: nbgrad.empty(x.shape, **options),
}


@pytest.mark.parametrize("make", MADE.values(), ids=list(MADE))
def test_memory_formats(make):
    """Elements lie row by row, or with the channels innermost, as NumPy's copies in those orders."""
    x = nbgrad.arange(120.0).reshape(2, 3, 4, 5).permute(0, 2, 1, 3)
    last = make(x, memory_format=nbgrad.channels_last)
    assert last.stride() == (60, 1, 20, 4) and last.is_contiguous(memory_format=nbgrad.channels_last) and not last.is_contiguous()
    rows = make(x, memory_format=nbgrad.contiguous_format)
    assert rows.stride() == (60, 15, 5, 1) and rows.is_contiguous(memory_format=nbgrad.contiguous_format)
    assert make(x, memory_format=None).shape == x.shape == make(x, memory_format=nbgrad.preserve_format).shape
    with pytest.raises(RuntimeError, match="channels_last is for 4 dimensions"):
        make(x[0], memory_format=nbgrad.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        make(x, memory_format="rows")


def test_a_memory_format_of_another_number_of_dimensions():
    """Asked of any tensor, it is an answer: one of two dimensions does not lie in it."""
    formats = nbgrad.channels_last, nbgrad.channels_last_3d, nbgrad.contiguous_format
    assert [nbgrad.ones(2, 2).is_contiguous(memory_format=each) for each in formats] == [False, False, True]
    assert [nbgrad.ones(1, 1, 2, 2).is_contiguous(memory_format=each) for each in formats] == [True, False, True]
    with pytest.raises(TypeError, match="memory_format"):
        nbgrad.ones(2).is_contiguous(memory_format="rows")


def test_memory_formats_keep_values_and_gradients():
    """A copy in another order is the same tensor to whoever does not look at strides."""
    x = nbgrad.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    y = x.clone(memory_format=nbgrad.channels_last)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy())
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    assert x.clone(memory_format=nbgrad.preserve_format).grad_fn.name() == "CloneBackward0"
    formats = [nbgrad.channels_last, nbgrad.strided]
    assert pickle.loads(pickle.dumps(formats)) == formats and repr(formats) == "[nbgrad.channels_last, nbgrad.strided]"


@pytest.mark.parametrize("make", [nbgrad.zeros, nbgrad.ones, nbgrad.empty, nbgrad.rand, nbgrad.randn], ids=lambda f: f.__name__)
def test_factories_take_what_there_is_one_of(make):
    """``layout=`` and ``pin_memory=`` change nothing."""
    assert make(2, 3, layout=nbgrad.strided, pin_memory=False, device=nbgrad.device("cpu")).shape == (2, 3)


def test_results_by_their_operations():
    """Results of several parts are of a class for each operation, which prints its name and pickles; aliases find the class."""
    x = nbgrad.tensor([[1.0, 5.0], [4.0, 3.0]])
    greatest = x.max(0)
    assert repr(greatest) == "nbgrad.return_types.max(\nvalues=tensor([4., 5.]),\nindices=tensor([1, 0]))"
    assert isinstance(greatest, nbgrad.return_types.max) and not isinstance(x.min(0), nbgrad.return_types.max)
    assert type(pickle.loads(pickle.dumps(x.sort()))) is nbgrad.return_types.sort and greatest.n_fields == 2
    names = ("topk", "median", "mode", "cummax", "aminmax", "linalg_svd", "linalg_eigh", "linalg_eig", "slogdet", "histogram")
    results = (
        *(x.topk(1), x.median(1), x.mode(), x.cummax(0), x.aminmax(dim=0)),
        *(nbgrad.linalg.svd(x), nbgrad.linalg.eigh(x), nbgrad.linalg.eig(x), x.slogdet(), nbgrad.histogram(x, 2)),
    )
    for name, result in zip(names, results, strict=True):
        assert type(result) is getattr(nbgrad.return_types, name), name
    assert type(nbgrad.vmap(lambda row: row.max(0))(x)) is type(nbgrad.compile(lambda x: x.max(0))(x)) is nbgrad.return_types.max
    with pytest.raises(AttributeError, match="has no attribute 'sum'"):
        nbgrad.return_types.sum


def test_range_includes_its_end():
    """The old form of ``arange``: with the end, of the default dtype; integers are cut off after they were counted."""
    assert nbgrad.range(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1] and nbgrad.range(3, 0, -2).tolist() == [3, 1]
    assert nbgrad.range(0.5, 3.5, dtype=nbgrad.int64).tolist() == [0, 1, 2, 3] and nbgrad.range(1, 1).dtype is nbgrad.float32
    for bounds, said in (((0,), "end is missing"), ((0, 3, 0), "step 0"), ((3, 0), "step 1"), ((0, float("inf")), "cannot count")):
        with pytest.raises(nbgrad.NbgradError, match=f"range: .*{said}|range: {said}"):
            nbgrad.range(*bounds)


# ---- functions by their names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["", ".nn.functional", ".nn.init", ".linalg", ".special", ".fft", ".signal.windows", ".func"])
def test_functions_are_found_by_their_names(module):
    """``pickle`` brings every function back, so that modules which hold one can be saved, and workers can be given one."""
    found = vars(importlib.import_module(f"nbgrad{module}"))
    functions = {name: x for name, x in found.items() if type(x) is types.FunctionType and not name.startswith("_")}
    assert functions and [name for name, x in functions.items() if pickle.loads(pickle.dumps(x)) is not x] == []


DECLARED = """
import pickle, nbgrad
cube = nbgrad.declare("cubed", lambda x: x * x * x, {"x": lambda x: 3 * (x * x)}, aliases=("to_the_third",))
for function in (cube, nbgrad.to_the_third):
    assert pickle.loads(pickle.dumps(function)) is function
"""


def test_a_declared_function_is_found_by_its_name():
    """By its own and by its aliases, which are functions of their own; in a process that may forget it."""
    done = subprocess.run([sys.executable, "-c", DECLARED], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_a_layer_with_a_function_may_be_pickled():
    """Its activation is the function that it was."""
    layer = nbgrad.nn.TransformerEncoderLayer(4, 2, 8, activation="gelu")
    assert pickle.loads(pickle.dumps(layer)).activation is layer.activation


def test_names_of_a_path_as_a_dict():
    """``vars`` of a path has the names of the module behind it, for programs that look for layers there."""
    found = vars(importlib.import_module("nbgrad.nn.modules.activation"))
    assert found["ReLU"] is nbgrad.nn.ReLU and found["__name__"] == "nbgrad.nn.modules.activation"
