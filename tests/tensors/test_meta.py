"""The device meta: tensors that have a shape, a dtype, strides and a history, and no elements."""

from __future__ import annotations

import copy
import io
import pickle
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ArrayError, DeviceError, InplaceError, NotSupportedError, ShapeError

META = nbgrad.device("meta")


def empty(*shape: int, **options) -> nbgrad.Tensor:
    """A tensor on meta."""
    return nbgrad.empty(shape, device="meta", **options)


def told(x: nbgrad.Tensor) -> tuple:
    """What is known of a tensor."""
    return tuple(x.shape), x.dtype.name, x.stride(), x.device


# ---- making ------------------------------------------------------------------------------------------------------------

MAKERS = {
    "empty": lambda **at: nbgrad.empty(2, 3, **at),
    "zeros": lambda **at: nbgrad.zeros(2, 3, dtype=nbgrad.float16, **at),
    "ones": lambda **at: nbgrad.ones(2, 3, **at),
    "full": lambda **at: nbgrad.full((2,), 3, **at),
    "arange": lambda **at: nbgrad.arange(1, 8, 2, **at),
    "linspace": lambda **at: nbgrad.linspace(0, 1, 5, **at),
    "logspace": lambda **at: nbgrad.logspace(0, 1, 5, **at),
    "eye": lambda **at: nbgrad.eye(3, 2, **at),
    "tensor": lambda **at: nbgrad.tensor([[1, 2], [3, 4]], **at),
    "asarray": lambda **at: nbgrad.asarray([1.5, 2.0], **at),
    "rand": lambda **at: nbgrad.rand(3, dtype=nbgrad.float64, **at),
    "randn": lambda **at: nbgrad.randn(2, 2, dtype=nbgrad.complex64, **at),
    "randint": lambda **at: nbgrad.randint(5, (3,), **at),
    "randperm": lambda **at: nbgrad.randperm(5, **at),
    "normal": lambda **at: nbgrad.normal(0.0, 1.0, (3,), **at),
    "empty_strided": lambda **at: nbgrad.empty_strided((2, 3), (1, 2), **at),
    "empty_like": lambda **at: nbgrad.empty_like(nbgrad.ones(2, 3).t(), **at),
    "tril_indices": lambda **at: nbgrad.tril_indices(3, 3, **at),
    "hann_window": lambda **at: nbgrad.hann_window(4, **at),
}


@pytest.mark.parametrize("name", MAKERS)
def test_factories(name):
    """By the argument and by the default device they make what they make on the CPU, without elements."""
    want = told(MAKERS[name]())[:3]
    assert told(MAKERS[name](device="meta")) == (*want, META)
    assert told(MAKERS[name](device="meta")) == (*want, META), "from what the first call has left"
    if name != "empty_like":
        with META:
            assert told(MAKERS[name]()) == (*want, META)


def test_default_device():
    """It is a choice as any other; what says a device, or has one, keeps it."""
    nbgrad.set_default_device("meta")
    try:
        assert nbgrad.get_default_device() is META and nbgrad.ones(2).is_meta
        assert nbgrad.ones(2, device="cpu").tolist() == [1.0, 1.0]
        assert nbgrad.from_numpy(np.ones(2)).device.type == "cpu"
    finally:
        nbgrad.set_default_device(None)
    assert not nbgrad.ones(2).is_meta


def test_devices_have_names():
    """Numbers mean nothing there, and programs may still write them."""
    assert empty(2).device is META and nbgrad.empty(2, device="meta:1").device is META
    assert str(nbgrad.device("meta", 0)) == "meta:0" and pickle.loads(pickle.dumps(META)) is META
    x = empty(2)
    assert (x.is_meta, x.is_cpu, x.is_cuda, x.get_device(), x.type()) == (True, False, False, -1, "nbgrad.meta.FloatTensor")


def test_there_is_no_memory():
    """More bytes than any machine has; storages count them, and are nowhere."""
    x = empty(1 << 24, 1 << 24)
    y = (x @ x).exp_()
    assert y.shape == x.shape and y.untyped_storage().nbytes() == 1 << 50 and y.untyped_storage().data_ptr() == 0
    assert y.untyped_storage() == y[1:].untyped_storage() != x.untyped_storage()


def test_moves():
    """There from the CPU, in the order of the elements; to itself it is itself."""
    x = nbgrad.ones(2, 3).t()
    y = x.to("meta")
    assert told(y) == (*told(x)[:3], META) and y.to("meta") is y and y.to(nbgrad.float64).is_meta
    assert y.to(nbgrad.ones(1)[:0].to("meta")) is y
    assert nbgrad.zeros_like(y, device="cpu").tolist() == [[0.0, 0.0]] * 3


# ---- calls -------------------------------------------------------------------------------------------------------------


def test_views_and_writes():
    """Views know their bases and places, writes count versions, of all aliases."""
    x = empty(4, 6)
    v = x[1:, ::2]
    v.add_(1)
    assert (told(v), v.storage_offset(), v._base is x, x._version) == (((3, 3), "float32", (6, 2), META), 6, True, 1)
    assert told(x.t().reshape(-1))[0] == (24,) and told(x.t().reshape(-1)[::2]) == ((12,), "float32", (2,), META)
    x.copy_(nbgrad.ones(4, 6))
    x[0] = 5.0
    x[x > 0] = 1.0
    assert x._version == 4
    with pytest.raises(InplaceError, match="overlaps"):
        x[1:].add_(x[:-1])


def test_out():
    """Results are written where they are told, if that is there too."""
    out = empty(3)
    assert nbgrad.add(out, 1, out=out) is out
    with pytest.raises(DeviceError, match="out is on meta"):
        nbgrad.add(nbgrad.ones(3), 1, out=out)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: y + x,
        lambda x, y: x @ y,
        lambda x, y: y.add_(x),
        lambda x, y: y.add_(x[0, 0]),
        lambda x, y: nbgrad.cat([x, y]),
        lambda x, y: nbgrad.where(x > 0, x, y),
        lambda x, y: y[x[0].long()],
        lambda x, y: nbgrad.nn.functional.linear(y, x),
    ],
)
def test_devices_do_not_mix(call):
    """Other operands of the CPU are refused; its single numbers are not."""
    x, y = empty(2, 2), nbgrad.ones(2, 2)
    with pytest.raises(DeviceError, match="meta"):
        call(x, y)
    assert y.tolist() == [[1.0, 1.0]] * 2
    assert (x + nbgrad.tensor(1.0)).is_meta and (nbgrad.tensor(1.0) * x).is_meta and x[nbgrad.tensor([0])].is_meta


def test_gradients():
    """Passes of both orders, hooks and Functions see tensors on meta."""
    x, seen = empty(3, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: seen.append(told(g)))
    (y * y).sum().backward()
    assert told(x.grad) == told(x) and seen == [told(x)]
    (g,) = nbgrad.grad((x**3).sum(), x, create_graph=True)
    assert nbgrad.grad(g.sum(), x)[0].is_meta and g.requires_grad
    with pytest.raises(DeviceError, match="the cotangent of root 0 is on cpu"):
        (x * 2).backward(nbgrad.ones(3))
    a = nbgrad.ones(3, requires_grad=True)
    with pytest.raises(NotSupportedError, match="^backward: .*no data!"):
        a.to("meta").sum().backward()
    assert a.grad is None


def test_other_modes():
    """Tangents, batches, graphs, checkpoints, mixed precision, NaN that is looked for."""
    x = empty(3, 4, requires_grad=True)
    assert nbgrad.func.jvp(nbgrad.sin, (x.detach(),), (x.detach(),))[1].is_meta
    assert told(nbgrad.func.vmap(lambda row: (row * row).sum())(x.detach()))[0] == (3,)
    compiled = nbgrad.compile(lambda x: (x.sin() * 2).sum(0))
    assert told(compiled(x)) == told(compiled(x)) == ((4,), "float32", (1,), META)
    with pytest.warns(UserWarning, match="anomaly"), nbgrad.detect_anomaly():
        nbgrad.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).sum().backward()
    assert x.grad.is_meta
    with nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
        assert (x @ x.t()).dtype is nbgrad.float32
    with nbgrad.inference_mode():
        assert (x * 2).is_inference()


def test_draws_leave_generators_alone():
    """No number is drawn, of the default generator or another one."""
    generator, before = nbgrad.Generator().manual_seed(3), nbgrad.get_rng_state()
    own, x = generator.get_state(), empty(3, 4)
    x.normal_(generator=generator)
    for draw in (x.uniform_, x.bernoulli_, x.exponential_, x.random_):
        draw()
    nbgrad.nn.functional.dropout(x)
    nbgrad.poisson(x), nbgrad.bernoulli(x), nbgrad.rand_like(x), nbgrad.randperm(4, device="meta", generator=generator)
    assert told(nbgrad.multinomial(x, 2)) == ((3, 2), "int64", (2, 1), META)
    assert nbgrad.equal(generator.get_state(), own) and nbgrad.equal(nbgrad.get_rng_state(), before)
    with pytest.raises(DeviceError, match="Generator: no numbers are drawn on meta"):
        nbgrad.Generator("meta")


def test_threads():
    """A thread that was not there before gets memory, too."""
    found = []
    thread = threading.Thread(target=lambda: found.append((empty(2) * 2).is_meta))
    thread.start()
    thread.join()
    assert found == [True]


# ---- elements that are not there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("item", lambda x: x[0, 0].item()),
        ("tolist", lambda x: x.tolist()),
        ("cpu", lambda x: x.cpu()),
        ("to", lambda x: x.to("cpu")),
        ("bool", lambda x: bool(x[0, 0])),
        ("float", lambda x: float(x[0, 0])),
        ("int", lambda x: int(x[0, 0])),
        ("nonzero", lambda x: x.nonzero()),
        ("getitem", lambda x: x[x > 0]),
        ("masked_select", lambda x: x.masked_select(x > 0)),
        ("unique", lambda x: x.unique()),
        ("equal", lambda x: nbgrad.equal(x, x)),
        ("allclose", lambda x: nbgrad.allclose(x, x)),
        ("copy", lambda x: nbgrad.ones(2, 2).copy_(x)),
        ("tolist", lambda x: x.untyped_storage().tolist()),
    ],
)
def test_what_asks_for_elements(name, read):
    """It is told what it asked, with torch's words, and as torch's error."""
    x = empty(2, 2)
    if name == "nonzero":
        x.sum()
    with pytest.raises(NotSupportedError, match=rf"^{name}: Cannot copy out of meta tensor; no data!") as caught:
        read(x)
    assert isinstance(caught.value, NotImplementedError)


def test_other_libraries():
    """Arrays and capsules are refused as those of a GPU; lists of one element are too long for ``item``."""
    x = empty(2)
    with pytest.raises(ArrayError, match="numpy: the tensor is on meta"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    with pytest.raises(BufferError, match="meta"):
        x.__dlpack__()
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(ShapeError, match="2 elements, expected 1"):
        x.item()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: empty(2, 3), "tensor(..., device='meta', size=(2, 3))"),
        (lambda: empty(0, dtype=nbgrad.int64), "tensor(..., device='meta', size=(0,), dtype=nbgrad.int64)"),
        (lambda: empty(2, requires_grad=True), "tensor(..., device='meta', size=(2,), requires_grad=True)"),
        (lambda: empty(2, requires_grad=True) * 2, "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"),
        (lambda: nbgrad.nn.Parameter(empty(2)), "Parameter containing:\ntensor(..., device='meta', size=(2,), requires_grad=True)"),
    ],
)
def test_text(make, text):
    """Shapes in the place of values."""
    assert repr(make()) == text


def test_formats():
    """A tensor of one element has no number to be formatted."""
    assert f"{empty()}" == "tensor(..., device='meta', size=())"
    with pytest.raises(TypeError):
        f"{empty():.2f}"


# ---- copies and files --------------------------------------------------------------------------------------------------


def test_copies_share_what_was_shared():
    """Deep copies and pickles; nothing is stored."""
    x = empty(1 << 30)
    for make in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
        y, v = make([x, x[1:]])
        assert told(y) == told(x) and v.storage_offset() == 1 and v.untyped_storage() == y.untyped_storage()
    assert len(pickle.dumps(x)) < 1000


def test_files():
    """They say shapes and strides in torch's form, and whoever reads them gets meta again."""
    file = io.BytesIO()
    nbgrad.save({"w": nbgrad.nn.Parameter(empty(2, 3)), "x": empty(3, 1 << 30).t()}, file)
    assert len(file.getvalue()) < 3000 and b"_rebuild_meta_tensor_no_storage" in file.getvalue()
    for options in ({}, {"map_location": "cpu"}, {"weights_only": False}):
        file.seek(0)
        found = nbgrad.load(file, **options)
        assert isinstance(found["w"], nbgrad.nn.Parameter) and told(found["x"]) == ((1 << 30, 3), "float32", (1, 1 << 30), META)


def test_files_that_are_looked_at():
    """``map_location="meta"`` keeps shapes, strides and what is shared."""
    file, x = io.BytesIO(), nbgrad.ones(3, 2)
    nbgrad.save({"x": x.t(), "y": x[1:]}, file)
    file.seek(0)
    found = nbgrad.load(file, map_location="meta")
    assert told(found["x"]) == ((2, 3), "float32", (1, 2), META) and found["y"].storage_offset() == 2
    assert found["x"].untyped_storage() == found["y"].untyped_storage()
