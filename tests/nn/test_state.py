"""What has a say in a module's state: versions, hooks, classes' own ways; and that a load that fails leaves all as it was."""

from __future__ import annotations

import copy
import io

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.errors import ArgumentError, NotSupportedError, ShapeError


class Counting(nn.Linear):
    """A layer with further state, a version, and a form of its state in which the weight had another name."""

    _version = 3

    def __init__(self):
        super().__init__(2, 1)
        self.count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        if local_metadata.get("version", 1) < 3:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def test_states_say_the_versions_of_all_modules():
    """Beside the names, as torch has it; a file keeps them, and so does a copy."""
    model = nn.Sequential(Counting(), nn.Sequential(nn.BatchNorm1d(1)))
    state = model.state_dict()
    versions = {name: each["version"] for name, each in state._metadata.items()}
    assert versions == {"": 1, "0": 3, "1": 1, "1.0": 2}
    file = io.BytesIO()
    nbgrad.save(state, file)
    file.seek(0)
    assert nbgrad.load(file)._metadata == state._metadata == copy.deepcopy(state)._metadata


def test_further_state():
    """It stands under ``_extra_state``, is given back, and its absence is noticed; where no class wants it, it is unexpected."""
    layer, other = Counting(), Counting()
    layer.count = 7
    other.load_state_dict(layer.state_dict())
    assert other.count == 7 and list(layer.state_dict()) == ["weight", "bias", "_extra_state"]
    state = nn.Linear(2, 1).state_dict()
    state._metadata[""]["version"] = 3
    with pytest.raises(ShapeError, match='Missing.*: "_extra_state"\n'):
        other.load_state_dict(state)
    with pytest.raises(ShapeError, match='Unexpected.*: "_extra_state"\n'):
        nn.Linear(2, 1).load_state_dict(layer.state_dict())
    with pytest.raises(NotSupportedError, match="get_extra_state is not defined"):
        nn.Tanh().get_extra_state()


def test_a_class_reads_older_forms_of_its_state():
    """It sees the version that the state was written by, 1 where that is not said, and may rename entries of a copy."""
    model = nn.Sequential(nn.Tanh(), Counting())
    old = {"1.w": nbgrad.ones(1, 2), "1.bias": nbgrad.zeros(1), "1._extra_state": {"count": 1}}
    assert model.load_state_dict(old) == ([], [])
    assert model[1].weight.tolist() == [[1.0, 1.0]] and "1.w" in old


@pytest.mark.parametrize("assign", [False, True])
def test_a_load_that_fails_behind_a_class_of_its_own_way_changes_nothing(assign):
    """Entries were written at once, since what is loaded later may look at them; they are put back."""
    model = nn.Sequential(nn.Linear(2, 2), Counting())
    before, weight = copy.deepcopy(model.state_dict()), model[0].weight
    state = {name: x * 0 if isinstance(x, nbgrad.Tensor) else x for name, x in model.state_dict().items()}
    state["1.w"] = nbgrad.zeros(5, 5)
    with pytest.raises(ShapeError, match=r"size mismatch for 1.weight: \(1, 2\) here and \(5, 5\) in the state"):
        model.load_state_dict(state, assign=assign)
    assert model[0].weight is weight
    assert all((model.state_dict()[name] == x).all() for name, x in before.items() if isinstance(x, nbgrad.Tensor))


def test_order_and_arguments_of_all_hooks_of_states():
    """Before and after saving, before and after loading, each with the prefix of its module or the keys found so far."""
    inner, seen = nn.Linear(1, 1, bias=False), []
    inner.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("saving", m is inner, prefix, keep)))
    inner.register_state_dict_post_hook(lambda m, state, prefix, meta: seen.append(("saved", list(state), prefix, meta)))
    inner.register_load_state_dict_pre_hook(lambda m, state, *rest: seen.append(("loading", m is inner, list(state), rest[0])))
    inner._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(("also", prefix)))
    inner.register_load_state_dict_post_hook(lambda m, keys: seen.append(("loaded", tuple(keys))))
    model = nn.Sequential(inner)
    model.load_state_dict(model.state_dict())
    assert seen == [
        ("saving", True, "0.", False),
        ("saved", ["0.weight"], "0.", {"version": 1}),
        ("loading", True, ["0.weight"], "0."),
        ("also", "0."),
        ("loaded", ([], [])),
    ]


def test_hooks_change_what_is_saved_and_loaded():
    """An older hook's result becomes the state; a hook before the load renames, one after it forgives what is missing."""
    layer = nn.Linear(1, 1)
    handle = layer._register_state_dict_hook(lambda m, state, prefix, meta: {prefix + "w": state[prefix + "weight"]})
    assert list(layer.state_dict()) == ["w"]
    handle.remove()
    assert list(layer.state_dict()) == ["weight", "bias"]
    layer.register_load_state_dict_pre_hook(lambda m, state, *rest: state.update(weight=state.pop("w")))
    with pytest.raises(ShapeError, match=r'Missing.*: "bias" \(1,\)\n'):
        layer.load_state_dict({"w": nbgrad.ones(1, 1)})
    layer.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.remove("bias"))
    assert layer.load_state_dict({"w": nbgrad.ones(1, 1)}) == ([], []) and layer.weight.item() == 1.0


@pytest.mark.parametrize("kind", ["register_state_dict_post_hook", "register_load_state_dict_post_hook"])
def test_hooks_that_return_what_nobody_takes(kind):
    """Hooks after the act return None."""
    layer = nn.Linear(1, 1)
    getattr(layer, kind)(lambda *args: 1)
    with pytest.raises(ArgumentError, match=f"{kind}: the hook returned something"):
        layer.load_state_dict(layer.state_dict())


def test_hooks_of_states_travel_with_copies():
    """A copy has them, and its own weights."""
    layer = nn.Linear(1, 1)
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(one=1))
    assert list(copy.deepcopy(layer).state_dict()) == ["weight", "bias", "one"]


def test_a_part_that_saves_itself():
    """A class below may define ``state_dict`` and what of its own is saved: the model's state has what it gives."""

    class Halved(nn.Linear):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "weight"] = destination[prefix + "weight"].half()

    class Hidden(nn.Linear):
        def state_dict(self, *args, **kwargs):
            return kwargs["destination"]

    state = nn.Sequential(Halved(1, 1), Hidden(1, 1)).state_dict()
    assert list(state) == ["0.weight", "0.bias"] and state["0.weight"].dtype == nbgrad.float16


def test_the_order_of_arguments_that_was():
    """``state_dict(destination, prefix, keep_vars)`` goes on, with a warning."""
    destination = {}
    with pytest.warns(FutureWarning, match="by name"):
        nn.Linear(1, 1, bias=False).state_dict(destination, "net.")
    assert list(destination) == ["net.weight"]


def test_batches_that_an_older_state_did_not_count():
    """A state that does not say its version, or the first, may lack the count; one of the second may not."""
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    with pytest.raises(ShapeError, match='Missing.*"num_batches_tracked"'):
        layer.load_state_dict(state)
    state._metadata[""]["version"] = 1
    assert layer.load_state_dict(state) == layer.load_state_dict(dict(state)) == ([], [])


@pytest.mark.parametrize(
    ("lazy", "plain"),
    [
        (lambda: nn.LazyLinear(2), lambda: nn.Linear(3, 2)),
        (lambda: nn.LazyBatchNorm1d(), lambda: nn.BatchNorm1d(3)),
        (lambda: nn.LazyBatchNorm1d(affine=False), lambda: nn.BatchNorm1d(3, affine=False)),
        (lambda: nn.LazyConv1d(2, 1), lambda: nn.Conv1d(3, 2, 1)),
    ],
)
def test_a_module_that_waits_takes_shapes_from_a_state(lazy, plain):
    """It computes what the module computes that the state is of; its own state before says what it waits for."""
    module, other = lazy().eval(), plain().eval()
    parameters = dict(module.named_parameters())
    assert all(module.state_dict()[name] is each for name, each in parameters.items())
    x = nbgrad.randn(4, 3, 1) if isinstance(other, nn.Conv1d) else nbgrad.randn(4, 3)
    assert module.load_state_dict(other.state_dict()) == ([], [])
    assert module(x).tolist() == other(x).tolist() and type(module) is type(other) and repr(module) == repr(other)


def test_parameters_that_wait_for_a_shape_in_layers_of_a_program():
    """What is missing is said without their shape; a layer that waits takes the state of one that waits."""

    class Waiting(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

    layer = Waiting()
    assert str(layer.load_state_dict({"weight": nn.UninitializedParameter()})) == "<All keys matched successfully>"
    with pytest.raises(ShapeError, match='Missing.*: "weight"\n'):
        layer.load_state_dict({})
    assert isinstance(layer.weight, nn.UninitializedParameter)


def test_a_number_loads_from_a_vector_of_one():
    """torch's oldest files hold numbers so; a longer vector is refused, and an entry that is None is named."""
    module = nn.Module()
    module.register_buffer("steps", nbgrad.tensor(0))
    module.load_state_dict({"steps": nbgrad.tensor([7])})
    assert module.steps.shape == () and module.steps.item() == 7
    with pytest.raises(ShapeError, match=r"size mismatch for steps: \(\) here and \(2,\) in the state"):
        module.load_state_dict({"steps": nbgrad.tensor([7, 8])})
    with pytest.raises(ShapeError, match="steps is None in the state, expected a tensor"):
        module.load_state_dict({"steps": None})
