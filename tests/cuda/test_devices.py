"""Devices: where tensors are made, go and are kept, what is said of GPUs, and what is refused; emulated, in a child."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch.device_lowerings import fallbacks
from nbgrad.nn import init

from .emulation import on_gpus, two_gpus

GPU, OTHER, HOST = nbgrad.device("cuda:0"), nbgrad.device("cuda:1"), nbgrad.device("cpu")


# ---- without a GPU -------------------------------------------------------------------------------------------------


def run_without(script: str) -> str:
    """What a program prints where no driver is."""
    environment = {name: value for name, value in os.environ.items() if name != "NBGRAD_CUDA"}
    hidden = (
        "import ctypes\nload = ctypes.CDLL\ndef refuse(name, *rest, **more):\n    if name and 'cuda' in str(name): raise OSError\n"
    )
    hidden += "    return load(name, *rest, **more)\nctypes.CDLL = refuse\n"
    found = subprocess.run([sys.executable, "-c", hidden + script], env=environment, capture_output=True, text=True, check=True)
    return found.stdout


def test_no_driver_is_seen_without_loading_anything():
    """``is_available`` is False, and nothing of CUDA is imported to say so."""
    script = """
import sys, nbgrad
assert not nbgrad.cuda.is_available() and nbgrad.cuda.device_count() == 0 and not nbgrad.cuda.is_initialized()
print([name for name in sys.modules if name.startswith(("cuda", "nbgrad.kernels.cuda.driver"))])
"""
    assert run_without(script) == "[]\n"


def test_a_driver_without_the_extra_is_told_what_to_install():
    """Once, by a warning of ``is_available``; and by the error of ``device="cuda"``."""
    script = """
import sys, warnings, nbgrad
from nbgrad.kernels.cuda import presence
presence.has_driver = lambda: True
import nbgrad.kernels.cuda.host as host
host.has_driver = nbgrad.cuda.has_driver = lambda: True
sys.modules["cuda"] = sys.modules["cuda.core"] = None
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert not nbgrad.cuda.is_available() and not nbgrad.cuda.is_available()
print(len(said), "pip install 'nbgrad[cuda]'" in str(said[0].message))
try:
    nbgrad.ones(2, device="cuda")
except nbgrad.DeviceError as error:
    print("pip install 'nbgrad[cuda]'" in str(error))
"""
    assert run_without(script) == "1 True\nTrue\n"


@pytest.mark.parametrize("name", ["cuda:-1", "cuda:", "cuda:x", "gpu", "cpu:", "cuda:1:2", "cuda:²", ""])
def test_names_of_no_device(name):
    """They are refused wherever they are said."""
    with pytest.raises(nbgrad.DeviceError, match="is not a device"):
        nbgrad.device(name)


@pytest.mark.parametrize("index", [-1, 1.0, True, "1"])
def test_indices_of_no_device(index):
    """An index counts from 0, and stands beside a name without one."""
    with pytest.raises(nbgrad.DeviceError, match="names no device"):
        nbgrad.device("cuda", index)
    with pytest.raises(nbgrad.DeviceError, match="beside the name"):
        nbgrad.device("cuda:0", 1)


# ---- GPUs ----------------------------------------------------------------------------------------------------------


@two_gpus
def test_what_is_said_of_gpus():
    """How many, which is current, what they are."""
    assert nbgrad.cuda.is_available() and nbgrad.cuda.device_count() == 2
    assert nbgrad.cuda.get_device_name(1) == nbgrad.cuda.get_device_properties("cuda:1").name == "nbgrad emulated device"
    assert nbgrad.cuda.get_device_capability() == (9, 0) and nbgrad.cuda.is_bf16_supported()
    assert nbgrad.cuda.get_device_properties().total_memory == nbgrad.cuda.mem_get_info()[1]
    assert nbgrad.cuda.is_initialized()


@two_gpus
def test_the_current_gpu():
    """``"cuda"`` means it; contexts nest, and leave it as it was after an error; each thread has its own."""
    with nbgrad.cuda.device(1):
        assert nbgrad.ones(1, device="cuda").device is OTHER
        with nbgrad.cuda.device(-1), nbgrad.cuda.device(None), nbgrad.cuda.device_of(nbgrad.ones(1)):
            assert nbgrad.cuda.current_device() == 1
        with pytest.raises(ValueError, match="inside"), nbgrad.cuda.device_of(nbgrad.ones(1, device=GPU)):
            assert nbgrad.cuda.current_device() == 0
            raise ValueError("inside")
        assert nbgrad.cuda.current_device() == 1
        seen = []
        thread = threading.Thread(target=lambda: seen.append(nbgrad.cuda.current_device()))
        thread.start()
        thread.join()
        assert seen == [0]
    nbgrad.cuda.set_device(1)
    assert nbgrad.ones(1).cuda().device is OTHER
    nbgrad.cuda.set_device(0)
    assert nbgrad.cuda.current_device() == 0


FACTORIES = {
    "zeros": lambda **d: nbgrad.zeros(2, **d),
    "ones": lambda **d: nbgrad.ones(2, 3, **d),
    "empty": lambda **d: nbgrad.empty(2, **d),
    "full": lambda **d: nbgrad.full((2,), 3.0, **d),
    "tensor": lambda **d: nbgrad.tensor([1.0, 2.0], **d),
    "tensor of a number": lambda **d: nbgrad.tensor(1.5, **d),
    "as_tensor": lambda **d: nbgrad.as_tensor([1, 2], **d),
    "asarray": lambda **d: nbgrad.asarray(np.ones(2), **d),
    "scalar_tensor": lambda **d: nbgrad.scalar_tensor(2, **d),
    "empty_strided": lambda **d: nbgrad.empty_strided((2, 3), (1, 2), **d),
    "eye": lambda **d: nbgrad.eye(2, 3, **d),
    "arange": lambda **d: nbgrad.arange(5, **d),
    "linspace": lambda **d: nbgrad.linspace(0, 1, 3, **d),
    "logspace": lambda **d: nbgrad.logspace(0, 1, 3, **d),
    "tril_indices": lambda **d: nbgrad.tril_indices(2, 3, **d),
    "triu_indices": lambda **d: nbgrad.triu_indices(2, 3, **d),
    "rand": lambda **d: nbgrad.rand(2, **d),
    "randn": lambda **d: nbgrad.randn(2, dtype=nbgrad.complex64, **d),
    "randint": lambda **d: nbgrad.randint(5, (2,), **d),
    "randperm": lambda **d: nbgrad.randperm(5, **d),
    "normal": lambda **d: nbgrad.normal(0.0, 1.0, (2,), **d),
    "FloatTensor": lambda **d: nbgrad.FloatTensor([1.0], **d),
    "LongTensor of sizes": lambda **d: nbgrad.LongTensor(2, 3, **d),
    "Linear": lambda **d: nbgrad.nn.Linear(2, 3, **d).bias,
    "Embedding": lambda **d: nbgrad.nn.Embedding(2, 3, **d).weight,
    "BatchNorm1d": lambda **d: nbgrad.nn.BatchNorm1d(2, **d).running_mean,
    "PReLU": lambda **d: nbgrad.nn.PReLU(**d).weight,
}


@two_gpus
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name):
    """They honour ``device=``, a device as a context and the default device; and none of them else."""
    make = FACTORIES[name]
    assert make(device="cuda:1").device is OTHER and make(device=1).device is OTHER
    assert make().device is HOST
    with nbgrad.device("cuda:1"):
        assert make().device is OTHER and make(device="cpu").device is HOST
        with nbgrad.device("cpu"):
            assert make().device is HOST
        assert nbgrad.get_default_device() is OTHER
    nbgrad.set_default_device("cuda")
    try:
        assert make().device is GPU
    finally:
        nbgrad.set_default_device(None)
    assert make().device is nbgrad.get_default_device() is HOST


FILLED = {
    "zeros": lambda d, x: nbgrad.zeros(2, 3, device=d),
    "ones": lambda d, x: nbgrad.ones((2, 3), device=d, dtype=nbgrad.float64),
    "full": lambda d, x: nbgrad.full((2, 3), 2.5, device=d, dtype=nbgrad.bfloat16),
    "zeros_like": lambda d, x: nbgrad.zeros_like(x),
    "ones_like": lambda d, x: nbgrad.ones_like(x, dtype=nbgrad.complex64),
    "full_like": lambda d, x: nbgrad.full_like(x, 7),
    "new_zeros": lambda d, x: x.new_zeros(2, 3),
    "new_ones": lambda d, x: x.new_ones((2, 3), dtype=nbgrad.int32),
    "new_full": lambda d, x: x.new_full((2, 3), -1),
}


@on_gpus
@pytest.mark.parametrize("name", FILLED)
def test_filled_again(name):
    """A repeated call gives new memory of the same numbers, on whichever device is named, and where no device is."""
    make = FILLED[name]
    for device in ("cuda", "cpu", "cuda:0", nbgrad.device("cuda"), "cuda", "cpu"):
        x = nbgrad.empty(2, 3, device=device)
        first = make(device, x)
        want = first.cpu().clone()
        first += 1
        for _ in range(2):
            again = make(device, x)
            assert again.device == x.device and again.dtype == want.dtype and nbgrad.equal(again.cpu(), want)
            again += 1


@two_gpus
def test_filled_on_the_current_gpu():
    """ "cuda" is another GPU where another is chosen, for a repeated call, too."""
    for device in (GPU, OTHER, GPU):
        with nbgrad.cuda.device(device):
            for make in (nbgrad.zeros, nbgrad.empty):
                assert [make(5, device="cuda").device for _ in range(3)] == [device] * 3


@two_gpus
@pytest.mark.parametrize(
    "like",
    [
        nbgrad.zeros_like,
        nbgrad.ones_like,
        nbgrad.empty_like,
        nbgrad.rand_like,
        nbgrad.randn_like,
        lambda x, **d: nbgrad.full_like(x, 2.0, **d),
        lambda x, **d: nbgrad.randint_like(x, 5, **d),
        lambda x, **d: x.new_zeros(2, **d),
        lambda x, **d: x.new_ones((2,), **d),
        lambda x, **d: x.new_empty(2, **d),
        lambda x, **d: x.new_full((2,), 1.0, **d),
        lambda x, **d: x.new_tensor([1.0], **d),
        lambda x, **d: x.new_empty_strided((2,), (1,), **d),
    ],
)
def test_what_follows_a_tensor(like):
    """It is where that tensor is, unless told otherwise; the default device has no say."""
    x, y = nbgrad.ones(3, device="cuda:1"), nbgrad.ones(3)
    for _ in range(2):  # the second call may be a look-up
        assert like(x).device is OTHER and like(y).device is HOST
        assert like(x, device="cpu").device is HOST and like(y, device=0).device is GPU
    with nbgrad.device("cuda"):
        assert like(y).device is HOST and like(x).device is OTHER


@on_gpus
def test_sparse_tensors():
    """Without values and of diagonals: on the device that is asked for, or that of their numbers."""
    assert nbgrad.sparse_coo_tensor((2, 3), device=GPU).device == GPU
    made = nbgrad.sparse.spdiags(nbgrad.ones(1, 3, device=GPU), nbgrad.tensor([-1], device=GPU), (3, 3))
    assert made.device == GPU and made.indices().tolist() == [[1, 2], [0, 1]]


@on_gpus
def test_a_default_device_is_a_threads():
    """Another thread makes its tensors on the CPU meanwhile."""
    seen = []
    with nbgrad.device("cuda"):
        thread = threading.Thread(target=lambda: seen.append(nbgrad.ones(1).device))
        thread.start()
        thread.join()
        assert nbgrad.ones(1).device is GPU
    assert seen == [HOST]


@on_gpus
def test_a_number_of_the_cpu_as_cotangent():
    """A pass takes it to the root's GPU, as it is taken there beside other operands."""
    x = nbgrad.tensor(3.0, device="cuda", requires_grad=True)
    x.exp().log().backward(nbgrad.tensor(2.0))
    assert x.grad.device is GPU and abs(x.grad.item() - 2.0) < 1e-6


@on_gpus
def test_meta_beside_a_gpu():
    """Elements go from a GPU to meta and are gone; operands of both do not mix; streams and captures have nothing to do with it."""
    x = nbgrad.ones(2, 3, device=GPU).t()
    y = x.to("meta")
    assert y.is_meta and y.stride() == x.stride() and (y @ x.to("meta").t()).shape == (3, 3)
    for move in (lambda: y.to(GPU), lambda: x.copy_(y), lambda: nbgrad.nn.Linear(2, 2, device="meta").cuda()):
        with pytest.raises(nbgrad.NotSupportedError, match="Cannot copy out of meta tensor; no data!"):
            move()
    with pytest.raises(nbgrad.DeviceError, match="another on (cuda:0|meta)|another operand on (cuda:0|meta)"):
        x + y
    y.copy_(x)
    pinned = nbgrad.ones(4).pin_memory()
    assert pinned.to("meta", non_blocking=True).is_meta
    w = nbgrad.empty(3, device="meta", requires_grad=True)
    with nbgrad.cuda.stream(nbgrad.cuda.Stream()):
        z = (w * w).sum()
    z.backward()
    assert w.grad.is_meta and nbgrad.nn.Linear(2, 2, device=GPU).to("meta").weight.is_meta


@two_gpus
def test_moves():
    """``to`` by device, number, name, tensor and dtype, ``cuda`` and ``cpu``: itself where nothing changes; gradients come back."""
    x = nbgrad.arange(6.0).reshape(2, 3).t().requires_grad_()
    there = x.to("cuda")
    assert there.device is GPU and there.is_cuda and there.get_device() == 0 and not x.is_cuda and x.get_device() == -1
    assert there.stride() == x.stride() and there.cpu().tolist() == x.tolist()
    assert nbgrad.device(1) is OTHER and x.type_as(nbgrad.ones(1, device=OTHER)).device is OTHER and there.type_as(x).device is HOST
    assert there.to(GPU) is there and there.cuda() is there and x.cpu() is x and there.to("cuda:0", copy=True) is not there
    both = there.to("cuda:1", nbgrad.float64)
    assert both.device is OTHER and both.dtype is nbgrad.float64 and there.to(both).device is OTHER and x.to(1).device is OTHER
    (both * both).sum().backward()
    assert x.grad.device is HOST and nbgrad.equal(x.grad, 2 * x.detach())


@on_gpus
@pytest.mark.parametrize("source, target", [("cpu", "cuda:0"), ("cuda:0", "cpu"), pytest.param("cuda:0", "cuda:1", marks=two_gpus)])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_into(source, target, non_blocking):
    """``copy_`` between devices converts, broadcasts, follows strides, and is recorded."""
    src = nbgrad.arange(3, dtype=nbgrad.int32, device=source)
    out = nbgrad.zeros(3, 2, device=target).t()
    assert out.copy_(src, non_blocking=non_blocking) is out and out.tolist() == [[0.0, 1.0, 2.0]] * 2
    leaf = nbgrad.ones(3, device=source, requires_grad=True)
    written = nbgrad.zeros(3, device=target).copy_(leaf, non_blocking=non_blocking)
    (3 * written).sum().backward()
    assert leaf.grad.device is leaf.device and leaf.grad.tolist() == [3.0] * 3


@on_gpus
def test_single_numbers_beside_gpus():
    """A 0-d tensor of the CPU is a number, in place and under ``out=`` too; its gradient comes back to the CPU."""
    x, s = nbgrad.ones(3, device="cuda"), nbgrad.tensor(2.0, requires_grad=True)
    (x * s).sum().backward()
    assert s.grad.device is HOST and s.grad.item() == 3.0
    assert x.clone().add_(s.detach()).tolist() == [3.0] * 3
    assert nbgrad.where(x > 0, s.detach(), x).tolist() == [2.0] * 3
    out = nbgrad.empty(3, device="cuda")
    assert nbgrad.mul(x, s.detach(), out=out).tolist() == [2.0] * 3


def unpacked(x, y):
    """A pass that is given ``y`` by a hook where ``x`` was saved."""
    with nbgrad.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: y):
        out = x.clone().requires_grad_().exp()
    out.backward(nbgrad.ones_like(x))


def tangent(x, y):
    """A tangent elsewhere."""
    with nbgrad.forward_ad.dual_level():
        nbgrad.forward_ad.make_dual(x, y)


MIXED = {
    "cotangent of a leaf": lambda x, y: x.clone().requires_grad_().backward(y),
    "cotangent of a root": lambda x, y: x.clone().requires_grad_().exp().backward(y),
    "unpacked": unpacked,
    "tangent": tangent,
    "layer": lambda x, y: nbgrad.nn.functional.linear(x[None], y[None], y[:1]),
    "add": lambda x, y: x + y,
    "in place": lambda x, y: x.clone().mul_(y),
    "matmul": lambda x, y: x @ y,
    "cat": lambda x, y: nbgrad.cat([x, y]),
    "where": lambda x, y: nbgrad.where(x > 0, x, y),
    "out": lambda x, y: nbgrad.exp(x, out=y.clone()),
    "out of sum": lambda x, y: nbgrad.sum(x, 0, out=y.sum(0).clone()),
    "gather": lambda x, y: x.gather(0, y.long()),
    "set_": lambda x, y: x.clone().set_(y),
    "fused": lambda x, y: nbgrad.addcmul(x, x, y),
}


@on_gpus
@pytest.mark.parametrize("devices", [("cuda:0", "cpu"), ("cpu", "cuda:0"), pytest.param(("cuda:0", "cuda:1"), marks=two_gpus)])
@pytest.mark.parametrize("name", MIXED)
def test_mixtures(name, devices):
    """Tensors of two devices are refused by an error that names both."""
    x, y = (nbgrad.ones(3, device=device) for device in devices)
    with pytest.raises(nbgrad.DeviceError) as caught:
        MIXED[name](x, y)
    assert all(device in str(caught.value) for device in devices) and "Hint:" in str(caught.value)


@on_gpus
def test_a_single_number_of_a_gpu_beside_the_cpu():
    """It is refused."""
    with pytest.raises(nbgrad.DeviceError, match="cuda:0.*cpu|cpu.*cuda:0"):
        nbgrad.ones(3) + nbgrad.tensor(1.0, device="cuda")


@on_gpus
@pytest.mark.parametrize(
    "ask",
    [
        lambda: nbgrad.ones(2, device="cuda:2"),
        lambda: nbgrad.ones(2).cuda(7),
        lambda: nbgrad.ones(2).to(2),
        lambda: nbgrad.cuda.set_device(5),
        lambda: nbgrad.cuda.memory_allocated(2),
        lambda: nbgrad.set_default_device("cuda:9"),
        lambda: nbgrad.device("cuda:9").__enter__(),
        lambda: nbgrad.Generator("cuda:2"),
        lambda: nbgrad.cuda.get_device_name("cuda:2"),
    ],
)
def test_a_gpu_that_is_not_there(ask):
    """It is named with those that are, and nothing is changed."""
    with pytest.raises(nbgrad.DeviceError, match=r"cuda:\d is not available: there is no GPU \d; expected 0 to \d. Hint:"):
        ask()
    assert nbgrad.get_default_device() is HOST and nbgrad.cuda.current_device() == 0


@on_gpus
def test_no_array_of_a_gpu():
    """``numpy`` refuses with the remedy; what Python reads comes over."""
    x = nbgrad.arange(3.0, device="cuda")
    for ask in (x.numpy, lambda: np.asarray(x)):
        with pytest.raises(nbgrad.DeviceError, match=r"numpy: the tensor is on cuda:0.*Hint: x.cpu") as caught:
            ask()
        assert isinstance(caught.value, TypeError)  # torch's
    assert x.tolist() == [0.0, 1.0, 2.0] and x[1].item() == 1.0 and float(x[2]) == 2.0 and 2.0 in x and bool(x[1])
    assert x.numpy(force=True).tolist() == x.tolist() and list(map(float, x)) == x.tolist()
    assert repr(x) == "tensor([0., 1., 2.], device='cuda:0')"


@on_gpus
@pytest.mark.parametrize(("place", "default"), [(GPU, HOST), (HOST, GPU)], ids=["on a GPU", "on the CPU"])
def test_functions_of_functions(place, default):
    """What Jacobians and mapped indices make on their way is where their tensors are, not on the default device."""
    x, rows = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], device=place), nbgrad.tensor([1, 0], device=place)
    with default:
        found = [
            nbgrad.func.hessian(lambda w: (x @ w).square().sum())(x[0]) / 2,
            nbgrad.func.jacrev(lambda w: x @ w)(x[0]).mT @ x,
            nbgrad.functional.jacobian(lambda w: x @ w, x[0], vectorize=True, strategy="forward-mode").mT @ x,
            nbgrad.vmap(lambda row, k: row[k])(x, rows),
        ]
    assert [y.device for y in found] == [place] * 4
    assert [y.tolist() for y in found] == [[[10, 14], [14, 20]]] * 3 + [[2, 3]]


@on_gpus
def test_indices_of_the_cpu():
    """Lists, arrays, masks and tensors of the CPU index a GPU's; those of a GPU do not index the CPU's."""
    x, y = nbgrad.arange(4.0, device="cuda"), nbgrad.arange(4.0)
    mask = nbgrad.tensor([True, False, True, False])
    for key in ([0, 2], np.array([0, 2]), nbgrad.tensor([0, 2]), mask, (mask,), nbgrad.tensor([0, 2], device="cuda")):
        assert x[key].device is GPU and x[key].tolist() == [0.0, 2.0]
        z = x.clone()
        z[key] = 9.0
        assert z.tolist() == [9.0, 1.0, 9.0, 3.0]
        z[key] = [5.0, 6.0]
        assert z.tolist() == [5.0, 1.0, 6.0, 3.0]
    for indices in ((nbgrad.tensor([0, 2]),), (mask,)):
        assert x.index_put(indices, nbgrad.ones(2, device="cuda")).tolist() == [1.0, 1.0, 1.0, 3.0]
    for key in (nbgrad.tensor([0, 2], device="cuda"), mask.cuda()):
        with pytest.raises(nbgrad.DeviceError, match="cuda:0"):
            y[key]
    assert nbgrad.nonzero(x).device is GPU and nbgrad.nonzero(x).tolist() == [[1], [2], [3]]


# ---- copies of tensors, files ----------------------------------------------------------------------------------------


@two_gpus
def test_copies_and_pickles():
    """Memory that is shared is shared afterwards, on the same device; writes do not reach the original."""
    x = nbgrad.arange(6.0, device="cuda:1")
    for duplicate in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
        base, view = duplicate([x, x[2:].reshape(2, 2)])
        assert base.device is view.device is OTHER and view.tolist() == [[2.0, 3.0], [4.0, 5.0]]
        view.zero_()
        assert base.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0] and x.sum().item() == 15.0
    assert copy.copy(x).data_ptr() == x.data_ptr()


@on_gpus
def test_memory_that_is_exchanged():
    """``resize_`` keeps elements, ``set_`` and ``data`` take memory of the device, storages tell their bytes."""
    x = nbgrad.arange(3.0, device="cuda")
    assert x.clone().resize_(2).tolist() == [0.0, 1.0] and x.clone().resize_(40)[:3].tolist() == [0.0, 1.0, 2.0]
    z = x.clone()
    assert z.set_(nbgrad.ones(4, device="cuda")).tolist() == [1.0] * 4 and z.set_().device is GPU
    z.data = nbgrad.zeros(2)
    assert z.device is HOST
    storage = x.untyped_storage()
    assert storage.device is GPU and storage.nbytes() == 12 and storage.data_ptr() == x.data_ptr() == x[1:].data_ptr() - 4
    assert bytes(storage.tolist()) == x.cpu().numpy().tobytes() and "on cuda:0" in repr(storage)
    there = storage.cpu()
    assert there.device is HOST and not there.is_cuda and there.tolist() == storage.tolist() and there.cuda().is_cuda
    assert storage.cuda() is storage and storage.to("cuda:0") is storage
    assert x.new(2).device is GPU and x.new([1.0]).device is GPU


def saved(value) -> io.BytesIO:
    """A file with it."""
    file = io.BytesIO()
    nbgrad.save(value, file)
    file.seek(0)
    return file


@two_gpus
def test_files():
    """Tensors come back where they were, or where ``map_location`` says; shared memory stays shared."""
    x = nbgrad.arange(4.0, device="cuda:1")
    value = {"x": x, "view": x[1:], "host": nbgrad.ones(1), "numbers": [1, 2.5, "text"]}
    places = {
        None: OTHER,
        "cpu": HOST,
        0: GPU,
        GPU: GPU,
        lambda storage, name: storage: HOST,
        lambda storage, name: storage.cuda(0): GPU,
        lambda storage, name: "cuda:0" if name == "cuda:1" else None: GPU,
        lambda storage, name: storage.cuda(0): GPU,  # torch's documentation
    }
    for where, device in places.items():
        found = nbgrad.load(saved(value), map_location=where)
        assert found["x"].device is found["view"].device is device and found["numbers"] == [1, 2.5, "text"]
        found["view"].zero_()
        assert found["x"].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert nbgrad.load(saved(value), map_location={"cuda:1": "cpu"})["x"].device is HOST
    assert nbgrad.load(saved(nbgrad.Generator("cuda:1"))).device is OTHER
    with pytest.raises(nbgrad.errors.ArgumentError, match="load: map_location raises KeyError: 'cuda:1'"):
        nbgrad.load(saved(x), map_location=lambda storage, name: {}[name])


@on_gpus
def test_storages_move():
    """There and back the bytes are the same; where they are already it is the same storage."""
    here = nbgrad.arange(3, dtype=nbgrad.uint8).untyped_storage()
    there = here.cuda()
    assert there.device is GPU and there.tolist() == [0, 1, 2] == there.cpu().tolist()
    assert there.cuda() is there and here.cpu() is here


@on_gpus
def test_initial_values():
    """They are drawn where the tensor is, by its generator, which is the program's or the default one: the CPU's numbers."""
    for fill in (init.kaiming_uniform_, init.normal_):
        own = nbgrad.Generator("cuda").manual_seed(3)
        x, expected = nbgrad.empty(4, 3, device="cuda"), nbgrad.empty(4, 3)
        fill(x, generator=own)
        fill(expected, generator=nbgrad.Generator().manual_seed(3))
        assert x.tolist() == expected.tolist()
        nbgrad.manual_seed(3)
        host = nbgrad.get_rng_state()
        assert fill(x.zero_()).tolist() == expected.tolist() and nbgrad.get_rng_state().equal(host)


@two_gpus
def test_a_file_from_a_machine_with_more_gpus():
    """Unpickling says what to do; ``map_location`` does it."""
    data = pickle.dumps(nbgrad.ones(2, device="cuda:1")).replace(b"cuda:1", b"cuda:7")
    for read in (pickle.loads, lambda data: nbgrad.load(io.BytesIO(data))):
        with pytest.raises(nbgrad.DeviceError, match=r"cuda:7 is not available.*Hint: nbgrad.load\(file, map_location='cpu'\)"):
            read(data)
    assert nbgrad.load(io.BytesIO(data), map_location="cpu").tolist() == [1.0, 1.0]


@two_gpus
def test_files_of_torch():
    """Its older format, too, goes to the GPUs that it names; several tensors are on one storage there."""
    data = (Path(__file__).parents[1] / "methods" / "files" / "torch_before_1_6.pt").read_bytes()
    for file in (io.BytesIO(data), io.BytesIO(data.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:1"))):
        found = nbgrad.load(file, map_location={"cpu": "cuda:1"})
        whole, turned = found["views"][:2]
        assert whole.device is OTHER and whole.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert turned.zero_().device is OTHER and not whole.any() and found["dtypes"][-1].tolist() == [0, 1, 2, 3]


# ---- modules, optimizers, generators -------------------------------------------------------------------------------


@two_gpus
def test_modules_and_optimizers():
    """Modules move with their gradients and buffers; state is made, and loaded, where the parameter is."""
    model = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 2), nbgrad.nn.BatchNorm1d(2))
    assert model.cuda(1) is model and {x.device for x in (*model.parameters(), *model.buffers())} == {OTHER}
    optimizer = nbgrad.optim.Adam(model.parameters())
    model(nbgrad.randn(4, 3, device=1)).sum().backward()
    optimizer.step()
    assert {x.device for state in optimizer.state.values() for x in state.values() if isinstance(x, nbgrad.Tensor)} == {OTHER}
    assert copy.deepcopy(model)[0].weight.device is OTHER
    host = nbgrad.nn.Sequential(nbgrad.nn.Linear(3, 2), nbgrad.nn.BatchNorm1d(2))
    host.load_state_dict(model.state_dict())
    resumed = nbgrad.optim.Adam(host.parameters())
    resumed.load_state_dict(optimizer.state_dict())
    assert {x.device for state in resumed.state.values() for x in state.values() if isinstance(x, nbgrad.Tensor)} == {HOST}
    model.to("cuda:0")
    assert model[0].weight.grad.device is GPU and model[0].weight.is_leaf
    with pytest.raises(nbgrad.DeviceError, match="cuda:0.*cuda:1|cuda:1.*cuda:0"):
        optimizer.step()  # whose state stayed


@two_gpus
def test_generators():
    """A seed gives the CPU's numbers on a GPU; each device has a default generator; a generator of another device is refused."""
    for draw in (
        lambda **d: nbgrad.rand(7, **d),
        lambda **d: nbgrad.randn(5, dtype=nbgrad.float64, **d),
        lambda **d: nbgrad.rand(6, dtype=nbgrad.bfloat16, **d),
        lambda **d: nbgrad.randint(-5, 99, (9,), **d),
        lambda **d: nbgrad.randperm(11, **d),
        lambda **d: nbgrad.randn(3, dtype=nbgrad.complex64, **d),
        lambda generator, **d: nbgrad.empty(6, **d).exponential_(generator=generator),
        lambda generator, **d: nbgrad.empty(6, **d).bernoulli_(0.3, generator=generator),
        lambda generator, **d: nbgrad.bernoulli(nbgrad.full((9,), 0.5, **d), generator=generator),
        lambda generator, **d: nbgrad.multinomial(nbgrad.arange(1.0, 6.0, **d), 3, generator=generator),
    ):
        here, there = nbgrad.Generator().manual_seed(5), nbgrad.Generator("cuda:1").manual_seed(5)
        for _ in range(2):
            assert draw(generator=there, device="cuda:1").tolist() == draw(generator=here, device="cpu").tolist()
        with pytest.raises(nbgrad.DeviceError, match="generator: it is of cpu"):
            draw(generator=here, device="cuda:1")
        with pytest.raises(nbgrad.DeviceError, match="generator: it is of cuda:1"):
            draw(generator=there, device="cpu")
    nbgrad.manual_seed(3)
    first = nbgrad.rand(2, device="cuda")
    state = nbgrad.cuda.get_rng_state()
    second = nbgrad.rand(2, device="cuda")
    nbgrad.cuda.set_rng_state(state)
    assert nbgrad.equal(nbgrad.rand(2, device="cuda"), second) and nbgrad.cuda.initial_seed() == 3
    with nbgrad.fork_rng():
        third = nbgrad.rand(2, device="cuda")
    assert nbgrad.equal(nbgrad.rand(2, device="cuda"), third) and not nbgrad.equal(first, second)
    nbgrad.cuda.manual_seed_all(3)
    assert nbgrad.equal(nbgrad.rand(2, device="cuda"), first)


@on_gpus
def test_checkpoints_draw_the_same_numbers():
    """Dropout on a GPU inside a checkpoint drops the same elements again."""
    x = nbgrad.ones(64, device="cuda", requires_grad=True)
    out = nbgrad.checkpoint(lambda x: nbgrad.nn.functional.dropout(x, 0.5) * 3, x, use_reentrant=False)
    out.sum().backward()
    assert nbgrad.equal(x.grad, out.detach())


@on_gpus
def test_host_fallbacks_are_counted():
    """What has no kernel for a GPU warns once, and is counted."""
    x = nbgrad.eye(3, device="cuda") + 1
    fallbacks.clear()  # other tests may have called it
    with pytest.warns(UserWarning, match="it runs on the CPU.*host_fallbacks"):
        nbgrad.igamma(x, x)
    assert list(nbgrad.cuda.host_fallbacks().values()) == [1]


@on_gpus
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process():
    """GPUs cannot be used there, says an error; the CPU can, and the parent goes on."""
    x = nbgrad.ones(3, device="cuda")
    child = os.fork()
    if child == 0:
        status = 0
        for use in (lambda: x * 2, lambda: x.tolist(), lambda: nbgrad.ones(2, device="cuda"), nbgrad.cuda.synchronize):
            try:
                use()
                status |= 1
            except nbgrad.DeviceError as error:
                status |= 2 * ("forked" not in str(error) or "spawn" not in str(error))
        status |= 4 * ((nbgrad.ones(3) * 2).tolist() != [2.0] * 3)
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (x * 2).tolist() == [2.0] * 3


@pytest.mark.slow
def test_distributions():
    """Samples are on the GPU, and those of the CPU of the same seed, but for rounding; gradients reach parameters there."""
    distributions = nbgrad.distributions
    found = []
    for device in ("cpu", "cuda"):
        nbgrad.manual_seed(3)
        c = nbgrad.tensor([0.5, 2.0], device=device, requires_grad=True)
        for d in (distributions.Normal(c, c), distributions.Gamma(c, c), distributions.Bernoulli(c / 4)):
            x = d.rsample((3,)) if d.has_rsample else d.sample((3,))
            (gradient,) = nbgrad.grad(d.log_prob(x.detach()).sum() + x.sum(), c)
            assert x.device.type == gradient.device.type == device
            found.append((x.detach().cpu().numpy(), gradient.cpu().numpy()))
    for here, there in zip(found[:3], found[3:]):
        for a, b in zip(here, there):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@on_gpus
def test_gradients_of_tensors_on_a_gpu_are_checked_there():
    """Elements are varied where they are, as they are seen; a wrong formula is found, and nothing is left changed."""
    x = nbgrad.arange(1.0, 7.0, dtype=nbgrad.float64, device="cuda").reshape(2, 3).t().requires_grad_()
    z = nbgrad.tensor([1 + 2j, 3 - 1j], dtype=nbgrad.complex128, device="cuda").conj().requires_grad_()
    assert nbgrad.gradcheck(lambda x, z: (x * x, z * z), (x, z), check_forward_ad=True)
    assert nbgrad.gradgradcheck(lambda x: x * x, (x,), fast_mode=True)

    class Wrong(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    assert not nbgrad.gradcheck(Wrong.apply, (x,), raise_exception=False)
    assert x.flatten().tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0] and z.tolist() == [1 - 2j, 3 + 1j] and x._version == 0
