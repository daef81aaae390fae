"""Names that modules of users' own take from torch's modules: sizes, bases, parts of states."""

from __future__ import annotations

import importlib

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.errors import NotSupportedError
from nbgrad.nn.modules.utils import _ntuple, _pair, _reverse_repeat_tuple, _triple, consume_prefix_in_state_dict_if_present


def test_tuples_of_sizes():
    """A number is as many equal ones; what is several stays; paddings are in the order of ``pad``."""
    assert (_pair(3), _triple((1, 2)), _ntuple(4)("ab")) == ((3, 3), (1, 2), ("a", "b"))
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)


def test_bases_of_modules():
    """``isinstance`` tells convolutions, norms, dropouts and weighted losses by torch's private names."""
    found = {
        nn.modules.conv._ConvTransposeNd: nn.ConvTranspose1d(1, 1, 1),
        nn.modules.batchnorm._NormBase: nn.InstanceNorm1d(1),
        nn.modules.dropout._DropoutNd: nn.Dropout2d(),
        nn.modules.loss._WeightedLoss: nn.CrossEntropyLoss(nbgrad.ones(2)),
    }
    assert all(isinstance(module, kind) for kind, module in found.items())
    assert not isinstance(nn.Conv1d(1, 1, 1), nn.modules.conv._ConvTransposeNd)


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (nn.InstanceNorm2d(1), nn.modules.batchnorm._BatchNorm),
        (nn.Dropout2d(), nn.Dropout),
        (nn.AlphaDropout(), nn.Dropout),
        (nn.ReflectionPad2d(1), nn.ReflectionPad1d),
        (nn.ReplicationPad3d(1), nn.ReplicationPad1d),
        (nn.CircularPad2d(1), nn.CircularPad1d),
        (nn.BCEWithLogitsLoss(), nn.modules.loss._WeightedLoss),
    ],
)
def test_what_modules_are_not(module, kind):
    """A program that looks for one kind finds no other that happens to be written alike."""
    assert not isinstance(module, kind)


@pytest.mark.parametrize(
    ("module", "kind"), [(nn.ReLU6(), nn.Hardtanh), (nn.ZeroPad1d(1), nn.ConstantPad1d), (nn.ZeroPad2d(1), nn.ConstantPad2d)]
)
def test_what_modules_are(module, kind):
    """Special cases are of the kind that they are cases of, with its settings."""
    settings = {"min_val": 0.0, "max_val": 6.0} if kind is nn.Hardtanh else {"value": 0.0}
    assert isinstance(module, kind) and {name: getattr(module, name) for name in settings} == settings


def test_modules_that_hold_each_other():
    """Each is visited once, under its first name, and the walk ends."""
    outer, inner = nn.Sequential(nn.Linear(1, 2)), nn.Module()
    outer.append(inner)
    inner.owner = outer
    assert [name for name, _ in outer.named_modules()] == ["", "0", "1"]
    assert [name for name, _ in outer.named_parameters()] == ["0.weight", "0.bias"] and outer.zero_grad() is None


def test_norms_of_single_samples_are_no_norms_of_batches():
    """They are not taken for batch norms where these are converted, or their statistics computed anew."""
    model = nn.Sequential(nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True))
    before = model[1].running_mean.fill_(3.0).clone()
    nbgrad.optim.swa_utils.update_bn([nbgrad.ones(4, 2, 3)], nn.Sequential(model[0]))
    assert [type(x) for x in nn.SyncBatchNorm.convert_sync_batchnorm(model)] == [nn.SyncBatchNorm, nn.InstanceNorm1d]
    assert nbgrad.equal(model[1].running_mean, before)


def test_a_weighted_loss_of_a_users_own():
    """It has the reduction, and the weight among its buffers."""

    class Weighted(nn.modules.loss._WeightedLoss):
        def forward(self, x):
            return (x * self.weight).sum()

    loss = Weighted(nbgrad.tensor([1.0, 2.0]), reduction="sum")
    assert loss(nbgrad.ones(2)).item() == 3.0 and [*loss.state_dict()] == ["weight"] and loss.reduction == "sum"


def test_prefixes_are_taken_off_states():
    """In place, of the names and of the versions; a part that only begins alike stays."""
    state = nn.DataParallel(nn.BatchNorm1d(1)).state_dict()
    state["modules"] = 1
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert nn.BatchNorm1d(1).load_state_dict(state, strict=False).missing_keys == []
    assert "modules" in state and "weight" in state and state._metadata[""] == {"version": 2}


def test_what_is_not_there_says_so():
    """Programs ask whether a model is spread over processes; to spread one is refused with the remedy."""
    assert not isinstance(nn.Tanh(), nn.parallel.DistributedDataParallel)
    with pytest.raises(NotSupportedError, match="is_available"):
        nn.parallel.DistributedDataParallel(nn.Tanh())
    with pytest.raises(NotSupportedError, match="over devices"):
        importlib.import_module("nbgrad.nn.parallel.scatter_gather").scatter(nbgrad.ones(2), [0, 1])
    assert not isinstance(nn.Tanh(), nbgrad.distributed.fsdp.FSDPModule)
    assert nbgrad.distributed.ReduceOp.SUM != nbgrad.distributed.ReduceOp.MAX
    with pytest.raises(NotSupportedError, match="no process groups"):
        nbgrad.distributed.all_reduce(nbgrad.ones(2))
    with pytest.raises(NotSupportedError, match="no process groups"):
        nbgrad.distributed.init_process_group("gloo")
