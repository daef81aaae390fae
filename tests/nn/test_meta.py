"""Modules and optimizers on the device meta, and how weights come to models that were made there."""

from __future__ import annotations

import copy
import io
from contextlib import contextmanager

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.errors import NotSupportedError, ShapeError

META = nbgrad.device("meta")


class Model(nn.Module):
    """Layers of several kinds, a buffer that is not saved, and a weight that two layers share."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.layer = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("places", nbgrad.arange(5), persistent=False)

    def forward(self, indices):
        return self.head(self.norm(self.layer(self.embedding(indices))))


def on_meta(module: nn.Module) -> set[bool]:
    """Whether parameters and buffers are there."""
    return {x.is_meta for x in (*module.parameters(), *module.buffers())}


LAYERS = {
    "linear": (lambda: nn.Linear(3, 4), (2, 3)),
    "bilinear": (lambda: nn.Bilinear(3, 3, 2), (2, 3)),
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.ConvTranspose2d(8, 2, 2, 2)), (2, 3, 6, 6)),
    "pools": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 3, 6, 6)),
    "norms": (lambda: nn.Sequential(nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.LayerNorm(6)), (2, 4, 6, 6)),
    "dropout": (lambda: nn.Sequential(nn.Dropout(), nn.AlphaDropout()), (2, 3)),
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    """Results and gradients have the shapes, dtypes and strides that they have on the CPU."""
    make, shape = LAYERS[name]

    def told(device):
        with nbgrad.device(device):
            module, x = make(), nbgrad.zeros(shape, requires_grad=True)
            inputs = (x, x) if name == "bilinear" else (x,)
            out = module(*inputs)
            first = out[0] if isinstance(out, tuple) else out
            first.sum().backward()
        tensors = [first, x.grad, *(p.grad for p in module.parameters()), *module.buffers()]
        assert {t.device.type for t in tensors} == {device}
        return [(t.shape, t.dtype, t.stride()) for t in tensors]

    assert told("meta") == told("cpu")


def places(*shape):
    """Indices on meta."""
    return nbgrad.zeros(shape, dtype=nbgrad.int64, device="meta")


def numbers(*shape):
    """Floats on meta."""
    return nbgrad.empty(shape, device="meta")


CHECKED = {
    "ctc_loss": (lambda: nn.functional.ctc_loss(numbers(5, 2, 4), places(2, 3), (5, 5), (3, 3)), ()),
    "cross_entropy": (lambda: nn.functional.cross_entropy(numbers(3, 4), places(3), weight=numbers(4)), ()),
    "cross_entropy of a batch": (lambda: nbgrad.vmap(nn.functional.cross_entropy)(numbers(2, 3, 4), places(2, 3)), (2,)),
    "gaussian_nll_loss": (lambda: nn.functional.gaussian_nll_loss(numbers(3), numbers(3), numbers(3)), ()),
    "embedding": (lambda: nn.functional.embedding(places(3), numbers(4, 2), max_norm=1.0), (3, 2)),
    "padded": (lambda: nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(numbers(4, 2, 3), [4, 3]))[0], (4, 2, 3)),
    "unravel_index": (lambda: nbgrad.unravel_index(places(3), (2, 3))[0], (3,)),
    "segment_reduce": (lambda: nbgrad.segment_reduce(numbers(4, 2), "sum", lengths=places(3)), (3, 2)),
    "lu_factor": (lambda: nbgrad.linalg.lu_factor(numbers(3, 3))[0], (3, 3)),
    "svd of complex": (lambda: nbgrad.linalg.svd(numbers(2, 3).to(nbgrad.complex64))[2], (3, 3)),
    "poisson": (lambda: nbgrad.poisson(numbers(3)), (3,)),
    "normal": (lambda: nbgrad.distributions.Normal(numbers(3), numbers(3)).rsample((2,)), (2, 3)),
    "orthogonal": (lambda: nn.utils.parametrizations.orthogonal(nn.Linear(3, 3, device="meta")).weight, (3, 3)),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2, device="meta")).weight, (2, 3)),
    "prune": (lambda: nn.utils.prune.l1_unstructured(nn.Linear(3, 2, device="meta"), "weight", 2).weight, (2, 3)),
}


@pytest.mark.parametrize("name", CHECKED)
def test_what_looks_at_elements_to_refuse_them(name):
    """Functions that check values go on where there are none."""
    call, shape = CHECKED[name]
    out = call()
    assert out.is_meta and out.shape == shape


def test_large_models_take_no_memory():
    """A layer of 10**12 weights, and a pass through it."""
    layer = nn.Linear(10**6, 10**6, device="meta")
    layer(nbgrad.empty(10, 10**6, device="meta")).sum().backward()
    assert layer.weight.grad.numel() == 10**12


@pytest.mark.parametrize("name", "SGD Adam AdamW RMSprop Adagrad Adadelta NAdam RAdam Adamax ASGD Rprop Adafactor Muon".split())
@pytest.mark.parametrize("foreach", [None, True])
def test_optimizers(name, foreach):
    """They step, and keep state, on meta; files and copies have it, too."""
    weight = nn.Parameter(nbgrad.empty(4, 3, device="meta"))
    options = {} if foreach is None or name in ("Muon",) else {"foreach": foreach}
    optimizer = getattr(nbgrad.optim, name)([weight], lr=0.1, **options)
    for _ in range(2):
        optimizer.zero_grad()
        (weight * weight).sum().backward()
        optimizer.step()
    state = [x for x in optimizer.state[weight].values() if isinstance(x, nbgrad.Tensor) and x.ndim]
    assert all(x.is_meta for x in state) and weight._version == 2
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))


def test_clipping():
    """The norm is not known, and nobody asks for it; where an error depends on it somebody does."""
    weight = nn.Parameter(nbgrad.empty(4, device="meta"))
    weight.sum().backward()
    assert nn.utils.clip_grad_norm_(weight, 1.0).is_meta
    with pytest.raises(NotSupportedError, match="^clip_grad_norm_: .*no data!"):
        nn.utils.clip_grad_norm_(weight, 1.0, error_if_nonfinite=True)


def test_initialisers_keep_their_tensor():
    """They return it, another version of it."""
    weight = nbgrad.empty(3, 4, device="meta")
    names = "uniform_ normal_ trunc_normal_ ones_ zeros_ eye_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_"
    for name in (*names.split(), "orthogonal_"):
        assert getattr(nn.init, name)(weight) is weight
    assert nn.init.sparse_(weight, 0.5) is nn.init.constant_(weight, 2.0) is weight and weight.is_meta


# ---- to meta, and from there -------------------------------------------------------------------------------------------


def test_to_meta_leaves_elements_to_others():
    """Parameters are exchanged for others, so that who holds the old ones still has their elements."""
    layer = nn.Linear(2, 3)
    weight, value = layer.weight, layer.weight.tolist()
    layer.weight.requires_grad_(False)
    (layer.bias * 2).sum().backward()
    layer.to("meta")
    assert on_meta(layer) == {True} and weight.tolist() == value and layer.weight is not weight
    assert not layer.weight.requires_grad and layer.bias.grad.is_meta
    kept = layer.weight
    assert layer.to(nbgrad.float64).weight is kept, "within meta they stay the same"


def test_from_meta():
    """What moves elements finds none; ``to_empty`` makes memory for them."""
    model = nn.Sequential(nn.Linear(2, 3, device="meta"), nn.BatchNorm1d(3, device="meta"))
    for move in (lambda: model.to("cpu"), model.cpu, lambda: model.to(device="cpu", dtype=nbgrad.float64)):
        with pytest.raises(NotSupportedError, match=r"Cannot copy out of meta tensor; no data!.*module\.to_empty"):
            move()
        assert on_meta(model) == {True}
    assert on_meta(model.to_empty(device="cpu")) == {False}
    model.load_state_dict(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict())


def test_skip_init():
    """The layer is made on meta and gets memory that nobody has written to."""
    layer = nn.utils.skip_init(nn.Linear, 2, 3, dtype=nbgrad.float64)
    assert on_meta(layer) == {False} and layer.weight.dtype is nbgrad.float64


def test_copies_and_files_of_modules():
    """Copies are other modules on meta; states in files have no elements."""
    with META:
        model = Model()
    other = copy.deepcopy(model)
    assert on_meta(other) == {True} and other.head.weight is other.embedding.weight is not model.head.weight
    file = io.BytesIO()
    nbgrad.save(model.state_dict(), file)
    file.seek(0)
    assert all(x.is_meta for x in nbgrad.load(file, map_location="cpu").values())


# ---- states ------------------------------------------------------------------------------------------------------------


def test_assigned_states():
    """``assign=True`` puts the state's tensors into the place of the module's."""
    with META:
        model = Model()
    state = Model().state_dict()
    assert not any(model.load_state_dict(state, assign=True))
    assert isinstance(model.layer.weight, nn.Parameter) and model.layer.weight.requires_grad
    assert model.layer.weight.data_ptr() == state["layer.weight"].data_ptr()
    assert [name for name, x in (*model.named_parameters(), *model.named_buffers()) if x.is_meta] == ["places"]


def test_assigned_states_without_counts():
    """What a state of the first version lacks is no tensor without elements."""
    layer = nn.BatchNorm1d(3, device="meta")
    assert on_meta(layer) == {True}
    state = {name: x for name, x in nn.BatchNorm1d(3).state_dict().items() if name != "num_batches_tracked"}
    layer.load_state_dict(state, assign=True)
    assert layer.num_batches_tracked.item() == 0


def test_copied_states():
    """A copy to meta keeps nothing, of which it warns; one from there is refused before anything is written."""
    layer, state = nn.Linear(2, 3, device="meta"), nn.Linear(2, 3).state_dict()
    with pytest.warns(UserWarning, match="load_state_dict: (weight|bias) is on meta in the module.*assign=True") as warned:
        layer.load_state_dict(state)
    assert len(warned) == 2 and on_meta(layer) == {True}
    layer.load_state_dict(nn.Linear(2, 3, device="meta").state_dict())
    model, half = nn.Linear(2, 3), {"weight": state["weight"], "bias": state["bias"].to("meta")}
    before = model.weight.tolist()
    with pytest.raises(ShapeError, match=r"bias is on meta in the state\. Cannot copy out of meta tensor; no data!"):
        model.load_state_dict(half)
    assert model.weight.tolist() == before
    model.load_state_dict(half, assign=True)
    assert model.weight.tolist() == state["weight"].tolist() and model.bias.is_meta


def test_weights_one_by_one():
    """Loading with little memory: a model on meta, tensors of a file put into it where they belong, what is not saved made anew."""
    reference, file = Model().eval(), io.BytesIO()
    nbgrad.save(reference.state_dict(), file)
    file.seek(0)
    with META:
        model = Model().eval()
    for path, value in nbgrad.load(file).items():
        place, _, name = path.rpartition(".")
        module = model.get_submodule(place)
        old = getattr(module, name)
        if name in module._parameters:
            module._parameters[name] = nn.Parameter(value.to(old.dtype), requires_grad=old.requires_grad)
        else:
            module._buffers[name] = value
    model.head.weight = model.embedding.weight
    model.places = nbgrad.arange(5)
    assert on_meta(model) == {False}
    assert nbgrad.equal(model(nbgrad.tensor([1, 2])), reference(nbgrad.tensor([1, 2])))


@contextmanager
def empty_weights():
    """What programs put into the place of ``register_parameter``, so that parameters go to meta as soon as they are made."""
    own = nn.Module.register_parameter

    def register(module, name, param):
        own(module, name, param)
        if param is not None:
            made = module._parameters[name]
            options = {**made.__dict__, "requires_grad": param.requires_grad}
            module._parameters[name] = type(made)(made.to(META), **options)

    nn.Module.register_parameter = register
    try:
        yield
    finally:
        nn.Module.register_parameter = own


def test_weights_that_go_at_once():
    """Each parameter that becomes an attribute goes the program's way, however it becomes one; buffers stay."""
    with empty_weights():
        model = Model()
        model.later = 3
        model.later = nn.Parameter(nbgrad.ones(2))
    assert {x.is_meta for x in model.parameters()} == {True} and {x.is_meta for x in model.buffers()} == {False}
    assert model.later.is_meta and "later" in dict(model.named_parameters()) and on_meta(Model()) == {False}


@pytest.mark.parametrize("make", [lambda: nn.LazyLinear(3, device="meta"), lambda: nn.LazyLinear(3).to("meta")])
def test_lazy_layers(make):
    """Shapes that come with the first input are those of an input on meta, too."""
    layer = make()
    assert layer(nbgrad.empty(2, 5, device="meta")).shape == (2, 3) and on_meta(layer) == {True}
