"""Module: registration, traversal, state, conversion, modes, printing."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import ArgumentError, RangeError, ShapeError

pytestmark = pytest.mark.usefixtures("device")


class Affine(nn.Module):
    """Two parameters, a buffer of each kind, and a child."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(nbgrad.tensor([1.0, 2.0]))
        self.shift = nn.Parameter(nbgrad.tensor([0.5, 0.5]))
        self.register_buffer("count", nbgrad.tensor(3))
        self.register_buffer("scratch", nbgrad.zeros(2), persistent=False)
        self.inner = nn.Linear(2, 1)

    def forward(self, x):
        return self.inner(x * self.scale + self.shift)


class Forgetful(nn.Module):
    """Does not call ``super().__init__``."""

    def __init__(self):
        self.weight = nn.Parameter(nbgrad.ones(2))


def names(pairs):
    """The names of ``(name, value)`` pairs."""
    return [name for name, _ in pairs]


def test_assignment_registers_in_order_of_assignment():
    """Parameters and modules are found under the dotted names of the attributes they were assigned to."""
    model = Affine()
    assert names(model.named_parameters()) == ["scale", "shift", "inner.weight", "inner.bias"]
    assert names(model.named_buffers()) == ["count", "scratch"]
    assert names(model.named_modules()) == ["", "inner"]
    assert names(model.named_parameters(prefix="net", recurse=False)) == ["net.scale", "net.shift"]


def test_a_subclass_may_forget_the_constructor():
    """Registration needs no call of ``super().__init__``."""
    assert names(Forgetful().named_parameters()) == ["weight"]


def test_shared_parameters_and_modules_are_listed_once():
    """What stands under two names is yielded under the first, unless duplicates are asked for."""
    layer = nn.Linear(2, 2, bias=False)
    model = nn.Sequential(layer, nn.ReLU(), layer)
    assert names(model.named_parameters()) == ["0.weight"]
    assert len(list(model.children())) == 2
    assert names(model.named_modules(remove_duplicate=False)) == ["", "0", "1", "2"]


def test_none_declares_a_parameter_that_is_absent():
    """A parameter registered as None is not listed, and may be set later."""
    layer = nn.Linear(2, 3, bias=False)
    assert names(layer.named_parameters()) == ["weight"]
    layer.bias = nn.Parameter(nbgrad.zeros(3))
    assert names(layer.named_parameters()) == ["weight", "bias"]


def test_tables_of_own_attributes():
    """torch's tables, with what is None."""
    model = Affine()
    model.register_parameter("absent", None)
    assert list(model._parameters) == ["scale", "shift", "absent"] and model._parameters["scale"] is model.scale
    assert list(model._buffers) == ["count", "scratch"] and dict(model._modules) == {"inner": model.inner}


def test_deleting_an_attribute_unregisters_it():
    """After ``del`` the name is free for anything."""
    model = Affine()
    del model.shift
    model.shift = 1.0
    assert "shift" not in names(model.named_parameters())


@pytest.mark.parametrize(("name", "value"), [("scale", 1.0), ("inner", 1.0), ("count", 1.0)])
def test_a_registered_name_keeps_its_kind(name, value):
    """Assigning something else to the name of a parameter, module or buffer is an error that names all three facts."""
    with pytest.raises(ArgumentError, match=rf"Affine\.{name}: .*expected a \w+ or None, got float"):
        setattr(Affine(), name, value)


def test_assigning_a_tensor_to_a_buffer_keeps_it_a_buffer():
    """A buffer may be replaced by another tensor."""
    model = Affine()
    model.count = nbgrad.tensor(4)
    assert model.state_dict()["count"].item() == 4


def test_assigning_a_parameter_to_a_buffer_makes_it_a_parameter():
    """A parameter or a module takes over a name whatever it was before."""
    model = Affine()
    model.count = nn.Parameter(nbgrad.zeros(1))
    assert "count" in names(model.named_parameters()) and names(model.named_buffers()) == ["scratch"]


@pytest.mark.parametrize("name", ["", "a.b", "forward", "scale", "inner"])
def test_names_that_cannot_be_registered(name):
    """An empty name, a dotted name, and the names of methods, parameters and modules are refused; the module is as before."""
    model = Affine()
    for error in (RangeError, KeyError):
        with pytest.raises(error, match="^Affine: "):
            model.register_buffer(name, nbgrad.zeros(1))
    assert names(model.named_parameters()) == ["scale", "shift", "inner.weight", "inner.bias"]


def test_names_may_be_registered_again():
    """A registered name takes another value of its kind; a buffer may become transient."""
    model = Affine()
    model.register_parameter("scale", None)
    model.register_buffer("count", nbgrad.tensor(4), persistent=False)
    model.add_module("inner", nn.Identity())
    assert list(model.state_dict()) == ["shift"]


def test_members_by_dotted_names():
    """Modules, parameters and buffers; the error lists what there is."""
    model = nn.Sequential(Affine())
    assert model.get_submodule("0.inner") is model[0].inner and model.get_submodule("") is model
    assert model.get_parameter("0.inner.bias") is model[0].inner.bias and model.get_buffer("0.count") is model[0].count
    for look, message in (
        (lambda: model.get_parameter("0.count"), "'count' of '0.count' is no parameter here. There are: scale, shift"),
        (lambda: model.get_submodule("0.outer"), "'outer' of '0.outer' is no module here. There are: inner"),
        (lambda: model.get_buffer("count"), "'count' of 'count' is no buffer here. There are: none"),
    ):
        with pytest.raises(AttributeError, match=message):
            look()


def test_forward_must_be_defined():
    """Calling a module without ``forward`` says which class lacks it."""
    with pytest.raises(NotImplementedError, match="Forgetful: forward is not defined"):
        Forgetful()(1)


def test_apply_visits_children_first():
    """``apply`` calls its function on the whole tree, the root last."""
    seen = []
    model = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.ReLU()))
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["Linear", "ReLU", "Sequential", "Sequential"]


def test_state_dict_holds_parameters_and_persistent_buffers():
    """The names are in torch's order; the tensors are detached and share memory."""
    model = Affine()
    state = model.state_dict()
    assert list(state) == ["scale", "shift", "count", "inner.weight", "inner.bias"]
    assert not state["scale"].requires_grad
    with nbgrad.no_grad():
        model.scale.fill_(7.0)
    assert state["scale"].tolist() == [7.0, 7.0]


def test_the_prefix_of_a_state_stands_before_every_name():
    """As it is given, dot and all; a destination is filled and returned."""
    destination = {"step": 1}
    assert nn.Linear(2, 1).state_dict(prefix="net.", destination=destination) is destination
    assert list(destination) == ["step", "net.weight", "net.bias"]


def test_state_dict_round_trip():
    """Loading one module's state into another makes them compute the same."""
    source, target, x = Affine(), Affine(), nbgrad.randn(4, 2)
    assert target.load_state_dict(source.state_dict()) == ([], [])
    assert target(x).tolist() == source(x).tolist()


def test_state_may_be_numpy_arrays():
    """Arrays, such as those of an ``.npz`` file, are copied in, converted to the parameter's dtype."""
    layer = nn.Linear(2, 1)
    weight = np.array([[1.0, 2.0]])
    layer.load_state_dict({"weight": weight, "bias": np.zeros(1)})
    weight[:] = 9.0
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.weight.dtype == nbgrad.float32


def test_strict_loading_reports_everything_and_changes_nothing():
    """One error lists what is missing, unexpected and misshapen; the entries that fit are not loaded either."""
    layer = nn.Linear(2, 1)
    before = layer.weight.tolist()
    state = {"weight": nbgrad.ones(1, 2), "offset": nbgrad.ones(1)}
    with pytest.raises(
        ShapeError, match=r'(?s)Missing key\(s\) in state_dict: "bias" \(1,\)\n.*Unexpected key\(s\) in state_dict: "offset"\n'
    ):
        layer.load_state_dict(state)
    with pytest.raises(ShapeError, match=r"size mismatch for weight: \(1, 2\) here and \(2, 1\) in the state"):
        layer.load_state_dict({"weight": nbgrad.ones(2, 1)}, strict=False)
    assert layer.weight.tolist() == before


def test_loading_what_fits():
    """``strict=False`` loads the common names and returns the others."""
    layer = nn.Linear(2, 1)
    keys = layer.load_state_dict({"weight": nbgrad.ones(1, 2), "offset": nbgrad.ones(1)}, strict=False)
    assert keys.missing_keys == ["bias"] and keys.unexpected_keys == ["offset"]
    assert layer.weight.tolist() == [[1.0, 1.0]]


def test_a_load_says_what_did_not_fit():
    """Nothing to report, or both lists."""
    layer = nn.Linear(2, 1, bias=False)
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    assert repr(layer.load_state_dict({}, strict=False)) == "_IncompatibleKeys(missing_keys=['weight'], unexpected_keys=[])"


def test_loading_by_assignment():
    """The tensors of the state, with their dtypes, take the places of the module's; what was frozen stays so."""
    model = Affine()
    model.shift.requires_grad_(False)
    old, state = model.scale, {name: tensor.double() for name, tensor in Affine().state_dict().items()}
    model.load_state_dict(state, assign=True)
    assert model.scale is not old and model.scale.data_ptr() == state["scale"].data_ptr()
    assert model.inner.weight.dtype == model.count.dtype == nbgrad.float64
    assert names(model.named_parameters()) == ["scale", "shift", "inner.weight", "inner.bias"]
    assert model.scale.requires_grad and not model.shift.requires_grad


def test_conversion_keeps_the_parameter_objects():
    """``to`` changes dtypes of parameters, gradients and floating buffers; the objects stay those an optimizer has."""
    model = Affine()
    scale = model.scale
    model(nbgrad.ones(1, 2)).sum().backward()
    grad = scale.grad.tolist()
    model.to(nbgrad.float64)
    assert model.scale is scale and scale.dtype == scale.grad.dtype == model.scratch.dtype == nbgrad.float64
    assert model.count.dtype == nbgrad.int64 and scale.grad.tolist() == grad
    assert model.float().scale.dtype == nbgrad.float32
    assert model.half().scale.dtype == nbgrad.float16 and model.bfloat16().scale.dtype == nbgrad.bfloat16


def test_ways_of_naming_the_target_of_a_conversion():
    """A dtype, a device, both in either order, a tensor that has them; ``type`` and ``cpu``."""
    for convert in (
        lambda m: m.to("cpu", nbgrad.float64),
        lambda m: m.to(nbgrad.float64, True),
        lambda m: m.type(nbgrad.float64),
        lambda m: m.to(nbgrad.ones(1, dtype=nbgrad.float64)),
        lambda m: m.double().cpu(),
        lambda m: m.to(nbgrad.device("cpu"), dtype=nbgrad.float64),
    ):
        model = nn.Linear(1, 1)
        assert convert(model) is model and model.weight.dtype == nbgrad.float64


def test_a_failed_conversion_keeps_the_gradients():
    """A device that is not there changes nothing."""
    layer = nn.Linear(2, 1)
    layer(nbgrad.ones(1, 2)).sum().backward()
    for device in ("cuda:77", nbgrad.nn):
        with pytest.raises(nbgrad.NbgradError):
            layer.to(device)
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_conversion_to_integers_is_refused():
    """Parameters are floating or complex."""
    with pytest.raises(ArgumentError, match="to: expected a floating or complex dtype, got .*int64"):
        nn.Linear(1, 1).to(nbgrad.int64)


def test_train_and_eval_reach_every_module():
    """The mode is set in the whole tree, and must be a bool."""
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
    assert all(module.training for module in model.modules())
    assert not any(module.training for module in model.eval().modules())
    with pytest.raises(RangeError, match="train: expected a bool, got int"):
        model.train(1)


def test_zero_grad():
    """Gradients become None, or zeros in the same memory."""
    layer = nn.Linear(2, 1)
    layer(nbgrad.ones(1, 2)).sum().backward()
    memory = layer.weight.grad.detach()
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0.0, 0.0]] == memory.tolist()
    layer.zero_grad()
    assert layer.weight.grad is None and layer.bias.grad is None


def test_freezing():
    """``requires_grad_(False)`` takes a module out of the graph."""
    layer = nn.Linear(2, 1).requires_grad_(False)
    assert not layer(nbgrad.ones(1, 2)).requires_grad


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["deepcopy", "pickle"])
def test_a_copy_is_independent_and_registered(clone):
    """A copied module lists its own parameters, of equal value."""
    model = Affine()
    other = clone(model)
    assert names(other.named_parameters()) == names(model.named_parameters())
    with nbgrad.no_grad():
        other.scale.fill_(9.0)
    assert model.scale.tolist() == [1.0, 2.0]


def test_repr_shows_the_tree():
    """One line for each module, indented, with its settings; a run of equal ones in a list is one line."""
    model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Dropout(0.1)]))
    assert repr(model) == (
        "Sequential(\n"
        "  (0): Linear(in_features=4, out_features=8, bias=False)\n"
        "  (1): ModuleList(\n"
        "    (0-1): 2 x ReLU()\n"
        "    (2): Dropout(p=0.1, inplace=False)\n"
        "  )\n"
        ")"
    )


def test_tables_of_members_can_be_written_to():
    """As recipes that reparametrise layers do; what is registered, and of what kind, stays as they say."""
    layer = nn.Linear(2, 3)
    weight = layer._parameters["weight"]
    del layer._parameters["weight"]
    assert not hasattr(layer, "weight") and [*layer._parameters] == ["bias"]
    layer.register_parameter("direction", nn.Parameter(weight.detach()))
    layer.weight = layer.direction * 2
    assert layer(nbgrad.ones(1, 2)).shape == (1, 3)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "direction"]
    layer._parameters["bias"] = None
    layer._buffers["count"] = nbgrad.zeros(())
    layer._modules["inner"] = nn.Identity()
    assert [*layer.state_dict()] == ["direction", "count"] and isinstance(layer.inner, nn.Identity)
    assert layer._parameters.pop("bias") is None and len(layer._parameters) == 1
    assert layer._get_name() == "Linear"
    with pytest.raises(KeyError):
        layer._parameters["count"]


def test_tables_of_members_take_what_setattr_refuses():
    """A step of meta-learning puts computed tensors in the places of parameters."""
    layer = nn.Linear(2, 1, bias=False)
    weight = layer.weight
    layer._parameters["weight"] = weight * 2
    layer(nbgrad.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0]] and next(layer.parameters()) is layer.weight is not weight
    with pytest.raises(ArgumentError, match="expected a Parameter or None, got Tensor"):
        layer.weight = weight * 3
    layer._modules["part"] = None
    assert repr(layer) == "Linear(\n  in_features=2, out_features=1, bias=False\n  (part): None\n)"


@pytest.mark.parametrize("kind", ["parameters", "buffers", "modules"])
def test_tables_of_members_can_be_set(kind):
    """What is not in the new table is gone; members of other kinds stay."""
    module = nn.BatchNorm1d(2)
    module.inner, table = nn.Identity(), f"_{kind}"
    others = [name for name in module._kinds_ if name not in getattr(module, table)]
    setattr(module, table, {"made": None})
    assert list(getattr(module, table)) == ["made"] and module.made is None
    assert [name for name in module._kinds_ if name != "made"] == others
    assert not hasattr(module, {"parameters": "weight", "buffers": "running_mean", "modules": "inner"}[kind])


def test_tables_of_members_are_read_like_dicts():
    module = nn.Sequential(nn.ReLU(), nn.Tanh())
    first, second = module
    table = module._modules
    assert [*reversed(table)] == [*reversed(table.keys())] == ["1", "0"]
    assert [*reversed(table.items())] == [("1", second), ("0", first)]
    assert [*table.values()] == [first, second] and table.copy() == {"0": first, "1": second} and table == table.copy()


def test_buffers_of_a_table_that_is_set_stay_as_persistent_as_they_were():
    module = nn.Module()
    module.register_buffer("kept", nbgrad.zeros(1))
    module.register_buffer("scratch", nbgrad.zeros(1), persistent=False)
    module._buffers = {name: value + 1 for name, value in module._buffers.items()}
    assert [*module.state_dict()] == ["kept"] and module.scratch.tolist() == [1.0]


def test_a_module_of_copied_attributes_is_independent_once_its_tables_are_set():
    """As meta-learning clones a module: attributes first, then the tables."""
    module = nn.Linear(2, 1)
    clone = nn.Linear.__new__(nn.Linear)
    clone.__dict__ = module.__dict__.copy()
    clone._parameters = clone._parameters.copy()
    clone._parameters["weight"] = module.weight * 3
    del clone._parameters["bias"]
    assert [*module._parameters] == ["weight", "bias"] and isinstance(module.weight, nn.Parameter)
    assert [*clone._parameters] == ["weight"] and not hasattr(clone, "bias")


def test_parts_are_asked_in_their_own_way():
    """``train`` and conversions call the methods of the modules below, which a class may define: what is frozen stays so."""

    class Frozen(nn.Linear):
        def train(self, mode=True):
            return super().train(False)

        def _apply(self, fn, recurse=True):
            self.scale = fn(self.scale)
            return super()._apply(fn, recurse)

    part = Frozen(2, 1)
    part.scale = nbgrad.ones(1)
    model = nn.Sequential(part, nn.Tanh()).train().double()
    assert model.training and model[1].training and not part.training
    assert part.scale.dtype == part.weight.dtype == nbgrad.float64


def test_formats_and_empty_memory():
    """``to(memory_format=)`` is for what has four or five dimensions; ``to_empty`` keeps shapes, dtypes and objects."""
    layer = nn.Conv2d(2, 3, 3)
    weight = layer.weight
    layer.to(memory_format=nbgrad.channels_last)
    assert layer.weight is weight and weight.is_contiguous(memory_format=nbgrad.channels_last) and layer.bias.is_contiguous()
    model = nn.Sequential(layer)
    assert model.to_empty(device="cpu") is model and layer.weight is weight and tuple(weight.shape) == (3, 2, 3, 3)
    layer.bias.data.fill_(4.0)
    assert model.to_empty(device="cpu", recurse=False)[0].bias.tolist() == [4.0] * 3


def test_another_module_in_a_place_below():
    """By the dotted name, which need not be there unless that is asked for; its owner must be."""
    model = nn.Sequential(nn.Sequential(nn.Tanh()))
    model.set_submodule("0.0", nn.ReLU(), strict=True)
    model.set_submodule("0.last", nn.Tanh())
    assert [name for name, _ in model[0].named_children()] == ["0", "last"] and isinstance(model[0][0], nn.ReLU)
    for target, strict in (("0.other", True), ("7.0", False)):
        with pytest.raises(AttributeError):
            model.set_submodule(target, nn.Tanh(), strict)
    with pytest.raises(ValueError, match="target is empty"):
        model.set_submodule("", nn.Tanh())
    with pytest.raises(ArgumentError, match="expected a Module"):
        model.set_submodule("0.0", nbgrad.ones(1))


def test_modules_that_were_given_out():
    """``named_modules`` passes over those in ``memo``, and adds what it gives."""
    model = nn.Sequential(nn.Tanh(), nn.ReLU())
    memo = {model[0]}
    assert [name for name, _ in model.named_modules(memo, "net")] == ["net", "net.1"] and memo == {*model.modules()}
    shared = nn.Sequential(model[0], model[0])
    assert len([*shared.modules()]) == 2 and len([*shared.modules(remove_duplicate=False)]) == 3


def test_attributes_that_are_looked_for_elsewhere():
    """A class may ask for what it has not in a module that it wraps, as ``super().__getattr__`` fails."""

    class Wrapped(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapped = copy.deepcopy(Wrapped(nn.Linear(2, 3)))
    assert wrapped.out_features == 3 and wrapped.weight is wrapped.module.weight
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'depth'"):
        wrapped.depth


class Asked(nn.Module):
    """A module that notes which of its registered attributes are asked for."""

    def __init__(self):
        super().__init__()
        self.names = []
        self.scale = nn.Parameter(nbgrad.tensor(2.0))
        self.layer = nn.Linear(2, 1)

    def __getattr__(self, name):
        found = super().__getattr__(name)
        self.names.append(name)
        return found

    def forward(self, x):
        return self.layer(x) * self.scale


@pytest.mark.parametrize("kind", [Asked, type("Derived", (Asked,), {})])
def test_a_class_with_getattr_is_asked_for_what_is_registered(kind):
    """Parameters and modules are asked for, and nothing else is; tables, copies and conversions are as of other modules."""
    module = copy.deepcopy(kind())
    module.names.clear()
    module(nbgrad.ones(1, 2))
    assert module.names == ["layer", "scale"]
    assert list(module.state_dict()) == ["scale", "layer.weight", "layer.bias"] and list(module._modules) == ["layer"]
    assert module.double().scale.dtype is nbgrad.float64
    with pytest.raises(AttributeError, match="has no attribute 'depth'"):
        module.depth
    with nbgrad.func.modules.replaced(module, {"scale": nbgrad.zeros(())}):
        assert module(nbgrad.ones(1, 2, dtype=nbgrad.float64)).item() == 0
    assert module.scale.item() == 2


def test_getattr_called_by_name():
    """``module.__getattr__(name)`` finds what is registered, and nothing else."""
    layer = nn.Linear(2, 1)
    assert layer.__getattr__("weight") is layer.weight
    with pytest.raises(AttributeError):
        layer.__getattr__("in_features")


def test_a_class_whose_deletion_goes_by_the_tables():
    """``del self._parameters[name]`` in a class's own ``__delattr__`` does not come back to it."""

    class Own(nn.Module):
        def __delattr__(self, name):
            del self._parameters[name]

    module = Own()
    module.weight = nn.Parameter(nbgrad.ones(1))
    del module.weight
    assert not list(module.parameters()) and not hasattr(module, "weight")


@pytest.mark.parametrize("convert", ["cpu", "float", "double", "half", "bfloat16"])
def test_conversions_do_not_go_through_to(convert):
    """A class whose ``to`` calls another conversion."""

    class Own(nn.Linear):
        def to(self, *targets, **options):
            return getattr(self, convert)()

    assert Own(2, 1).to("anything").weight.dtype.is_floating_point


def test_compiled_where_it_is():
    """``compile`` makes every call of the module a compiled one, hooks around it; a copy computes with its own weights."""
    model, x = nn.Sequential(nn.Linear(2, 1)), nbgrad.ones(1, 2)
    expected = model(x).item()
    model.compile(fullgraph=True)
    model.register_forward_hook(lambda m, args, out: out * 2)
    clone = copy.deepcopy(model)
    with nbgrad.no_grad():
        clone[0].weight.zero_()
        clone[0].bias.fill_(3.0)
    assert (model(x).item(), clone(x).item()) == (2 * expected, 6.0)
    assert model(x).grad_fn.name() != "AddmmBackward0" and list(model.state_dict()) == ["0.weight", "0.bias"]


def test_members_under_the_name_of_a_property():
    """A member is registered though the class has a property of its name; no parameter takes the name of one that has a value."""

    class Curved(nn.Module):
        curvature = property(lambda self: self.exponent.exp())
        scale = property(lambda self: 3.0, lambda self, value: vars(self).update(given=value))

    module, parameter = Curved(), nn.Parameter(nbgrad.zeros(1))
    module.curvature = parameter
    assert module._parameters["curvature"] is parameter and list(module.state_dict()) == ["curvature"]
    module.exponent = module._parameters.pop("curvature")
    assert module.curvature.item() == 1.0 and list(module.state_dict()) == ["exponent"]
    with pytest.raises(nbgrad.NamingError, match="'scale' exists"):
        module.scale = nn.Parameter(nbgrad.zeros(1))
    module.scale = 5.0
    assert module.given == 5.0
