"""Where a program waits for a GPU, and where not: stops, divisions, NBGRAD_CHECK; what a pass leaves as it was."""

from __future__ import annotations

import io
import pickle
import warnings

import pytest

import nbgrad
from nbgrad import debug, engine
from nbgrad.base import grad_mode
from nbgrad.nn import functional as F

from .emulation import on_gpus


@pytest.fixture
def mode():
    """Sets the mode, and in the end the one from before."""
    before = nbgrad.cuda.get_sync_debug_mode()
    yield nbgrad.cuda.set_sync_debug_mode
    nbgrad.cuda.set_sync_debug_mode(before)


def test_modes(mode):
    """By name and number; anything else is refused, and changes nothing. No GPU is needed."""
    for number, name in enumerate(("default", "warn", "error")):
        for each in (name, number):
            mode(each)
            assert nbgrad.cuda.get_sync_debug_mode() == number
    for wrong, error in (("loud", nbgrad.errors.RangeError), (3, nbgrad.errors.RangeError), (True, nbgrad.errors.ArgumentError)):
        with pytest.raises(error, match="set_sync_debug_mode"):
            mode(wrong)
    assert nbgrad.cuda.get_sync_debug_mode() == 2


def square(x):
    """A matrix that is positive definite, of four numbers."""
    return x.reshape(2, 2) + 5 * nbgrad.eye(2, device="cuda")


# By what the program has called, as errors say it: calls of four numbers, 0 to 3.
LINEAR = {
    "linalg.eig": lambda x: nbgrad.linalg.eig(square(x)),
    "linalg.eigvals": lambda x: nbgrad.linalg.eigvals(square(x)),
    "linalg.eigh": lambda x: nbgrad.linalg.eigh(square(x)),
    "linalg.eigvalsh": lambda x: nbgrad.linalg.eigvalsh(square(x)),
    "linalg.svd": lambda x: nbgrad.linalg.svd(square(x)),
    "linalg.svdvals": lambda x: nbgrad.linalg.svdvals(square(x)),
    "linalg.pinv": lambda x: nbgrad.linalg.pinv(square(x)),
    "linalg.matrix_rank": lambda x: nbgrad.linalg.matrix_rank(square(x)),
    "linalg.cond": lambda x: nbgrad.linalg.cond(square(x)),
    "linalg.norm": lambda x: nbgrad.linalg.norm(square(x), "nuc"),
    "linalg.matrix_norm": lambda x: nbgrad.linalg.matrix_norm(square(x), 2),
    "linalg.inv": lambda x: nbgrad.linalg.inv(square(x)),
    "linalg.inv_ex": lambda x: nbgrad.linalg.inv_ex(square(x), check_errors=True),
    "linalg.tensorinv": lambda x: nbgrad.linalg.tensorinv(square(x), ind=1),
    "linalg.solve": lambda x: nbgrad.linalg.solve(square(x), x[:2]),
    "linalg.tensorsolve": lambda x: nbgrad.linalg.tensorsolve(square(x), x[:2]),
    "linalg.cholesky": lambda x: nbgrad.linalg.cholesky(square(x).mT @ square(x)),
    "linalg.lu_factor": lambda x: nbgrad.linalg.lu_factor(square(x)),
    "linalg.matrix_power": lambda x: nbgrad.linalg.matrix_power(square(x), -2),
    "matrix_exp": lambda x: square(x).matrix_exp(),  # runs on the host
    "inverse": lambda x: square(x).inverse(),
    "pinverse": lambda x: nbgrad.pinverse(square(x)),
    "cholesky": lambda x: (square(x).mT @ square(x)).cholesky(),
    "svd": lambda x: nbgrad.svd(square(x)),
}
STOPS = {
    "item": lambda x: x[0].item(),
    "tolist": lambda x: x.tolist(),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "bool": lambda x: bool(x[0]),
    "print": lambda x: repr(x),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "format": lambda x: f"{x[0]:.2f}",
    "contains": lambda x: 1.0 in x,
    "pickle": lambda x: pickle.dumps(x),
    "save": lambda x: nbgrad.save(x, io.BytesIO()),
    "equal": lambda x: nbgrad.equal(x, x),
    "allclose": lambda x: x.allclose(x),
    "cuda": lambda x: nbgrad.ones(20_000).cuda(),  # more than the driver takes at once
    "synchronize": lambda x: nbgrad.cuda.current_stream().synchronize(),
    "nonzero": lambda x: nbgrad.nonzero(x),
    "argwhere": lambda x: nbgrad.argwhere(x),
    "where": lambda x: nbgrad.where(x > 1),
    "getitem": lambda x: x[x > 1],
    "setitem": lambda x: x.clone().__setitem__(x > 2, x[3:]),
    "index_put": lambda x: x.index_put((x > 2,), x[3:]),
    "masked_select": lambda x: x.masked_select(x > 1),
    "unique": lambda x: x.unique(),
    "unique_consecutive": lambda x: nbgrad.unique_consecutive(x),
    "bincount": lambda x: x.long().bincount(),
    "histc": lambda x: x.histc(3),
    "histogram": lambda x: x.histogram(3),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "tensor_split": lambda x: x.tensor_split(x[1:3].long()),
    "one_hot": lambda x: F.one_hot(x.long()),
    "arange": lambda x: nbgrad.arange(x[3]),
    "linspace": lambda x: nbgrad.linspace(x[0], x[3], 4),
    "full": lambda x: nbgrad.full((2,), x[1]),
    "add": lambda x: nbgrad.add(x, x, alpha=x[1]),
    "cov": lambda x: x.reshape(2, 2).cov(fweights=x[1:3].long()),
    "poisson": lambda x: nbgrad.poisson(x),
    "Normal": lambda x: nbgrad.distributions.Normal(x, 1.0),
    "nextafter": lambda x: nbgrad.nextafter(x, x),  # runs on the host
    "nextafter_": lambda x: x.clone().nextafter_(x),
    "fft": lambda x: nbgrad.fft.fft(x),
    "to_sparse": lambda x: x.to_sparse(),
    "sparse_coo_tensor": lambda x: nbgrad.sparse_coo_tensor(x[None].long(), x),
    "cond": lambda x: nbgrad.cond(x[0] > 1, lambda y: y, lambda y: -y, (x,)),
    "pack_padded_sequence": lambda x: nbgrad.nn.utils.rnn.pack_padded_sequence(x.reshape(2, 2, 1), x[1:3].long().flip(0)),
    **LINEAR,
}


def names_told(mode, call, x):
    """The names in the warnings of a call, all of which are where the program is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(x)
    mode("warn")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(x)
    mode("default")
    told = [each for each in seen if "the program waits for cuda:0" in str(each.message)]
    assert all(each.filename == __file__ for each in told), [str(each.message) for each in seen]
    return {str(each.message).partition(":")[0] for each in told}


@on_gpus
@pytest.mark.parametrize("name", STOPS)
def test_stops_are_found(mode, name):
    """Each is named by a warning where the program is, or refused before anything was done."""
    x = nbgrad.arange(4.0, device="cuda")
    assert names_told(mode, STOPS[name], x) == {name}
    mode("error")
    with pytest.raises(nbgrad.DeviceError, match="would wait for cuda:0, which set_sync_debug_mode"):
        STOPS[name](x)
    mode("default")
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


@on_gpus
def test_what_is_no_stop(mode):
    """Computation, gradients, factories, pinned copies that need not be waited for, and waits that the program asks for by name."""
    pinned, single = nbgrad.ones(3, pin_memory=True), nbgrad.tensor(2.0)
    x, index = nbgrad.ones(3, device="cuda", requires_grad=True), nbgrad.arange(2, device="cuda")
    mode("error")
    y = (x.tanh() * x)[index].sum() + pinned.to("cuda", non_blocking=True).cumsum(0).sort().values[0]
    y.backward()
    counts = nbgrad.arange(6, device="cuda") // nbgrad.full((6,), 4, device="cuda")
    counts %= nbgrad.full((6,), 2, device="cuda")
    with nbgrad.no_grad():
        x -= 0.1 * x.grad + single - nbgrad.tensor([1.0, 2.0, 3.0], device="cuda")
    nbgrad.nn.utils.clip_grad_norm_([x], 1.0)
    classes, middle = nbgrad.nn.functional.one_hot(counts, 3), x.detach().quantile(0.5)
    ends = x.detach().quantile(nbgrad.tensor([0.0, 1.0], device="cuda"))
    losses = F.binary_cross_entropy(middle, middle) + F.gaussian_nll_loss(ends, ends, ends.abs())
    host = (y.detach() + 0 * losses).to("cpu", non_blocking=True)
    event = nbgrad.cuda.Event()
    event.record()
    event.synchronize()
    nbgrad.cuda.synchronize()
    assert host.item() > 0
    mode("default")
    assert counts.tolist() == [0, 0, 0, 0, 1, 1] and classes.sum(0).tolist() == [4, 2, 0]
    assert [ends[0].item(), middle.item(), ends[1].item()] == sorted(x.tolist())


@on_gpus
def test_values_that_do_not_fit_are_told_later():
    """Classes, levels, probabilities and variances out of range: calls that do not wait, and the errors of the next wait."""
    later = nbgrad.nn.functional.one_hot(nbgrad.tensor([0, 3], device="cuda"), 3)
    with pytest.raises(nbgrad.DimError, match="a class is not from 0 to 2"):
        later.tolist()
    later = nbgrad.ones(3, device="cuda").quantile(nbgrad.tensor([1.5], device="cuda"))
    with pytest.raises(nbgrad.RangeError, match="q is not from 0 to 1"):
        later.tolist()
    half = nbgrad.full((3,), 0.5, device="cuda")
    for input, target in ((half + 1, half), (half, half - 1)):
        later = F.binary_cross_entropy(input, target)
        with pytest.raises(nbgrad.RangeError, match="an element of input or target is not from 0 to 1"):
            later.item()
    later = F.gaussian_nll_loss(half, half, -half)
    with pytest.raises(nbgrad.RangeError, match="var has negative numbers"):
        later.item()


# ---- divisions -------------------------------------------------------------------------------------------------------

DIVISIONS = {
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "fmod": lambda x, y: nbgrad.fmod(x, y),
    "div": lambda x, y: nbgrad.div(x, y, rounding_mode="trunc"),
}


@on_gpus
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_by_zero_are_told_later(mode, name):
    """The call does not wait; the next wait raises the CPU's error, once; then everything goes on."""
    x, y, divide = nbgrad.tensor([7, 8, 9]), nbgrad.tensor([2, 0, 4]), DIVISIONS[name]
    with pytest.raises(ZeroDivisionError) as expected:
        divide(x, y)
    x, y = x.cuda(), y.cuda()
    mode("error")
    found = divide(x, y)
    mode("default")
    with pytest.raises(ZeroDivisionError) as caught:
        nbgrad.cuda.synchronize()
    assert str(caught.value) == str(expected.value)
    assert found[1].item() == 0 and divide(x, y + 1).tolist() == divide(x.cpu(), y.cpu() + 1).tolist()


@on_gpus
def test_what_is_divided_by():
    """Other dtypes, strides, numbers, broadcast and empty divisors; what is 0 in the dtype of the division alone."""
    x = nbgrad.arange(1, 7, device="cuda")
    narrow = nbgrad.tensor([2, 0], dtype=nbgrad.uint8, device="cuda")
    for wrong in (narrow[1:], nbgrad.tensor([[1, 0]] * 6, device="cuda").t()[1], nbgrad.tensor(0, device="cuda"), narrow.bool()[1]):
        x // wrong
        with pytest.raises(ZeroDivisionError):
            nbgrad.cuda.synchronize()
    for right in (narrow[:1], nbgrad.tensor([[1, 0]] * 6, device="cuda").t()[0], nbgrad.tensor(3), 3, x[:1]):
        expected = x.cpu() // (right.cpu() if isinstance(right, nbgrad.Tensor) else right)
        assert (x // right).tolist() == expected.tolist()
    assert (x[:0] // x[:0]).tolist() == []
    with pytest.raises(ZeroDivisionError):
        x // 0  # a number, which the host has
    assert (x.float() // 0).isinf().all()


@on_gpus
@pytest.mark.parametrize("name", ["floor_divide_", "remainder_", "fmod_"])
def test_divisions_in_place_change_nothing(name):
    """Where one divisor is 0 the operand stays as it was, and its version counts one write; otherwise it is the CPU's."""
    for dtype in (nbgrad.int64, nbgrad.int32, nbgrad.uint8):
        host = nbgrad.tensor([7, 9, 11, 13], dtype=dtype)
        for steps in (slice(None), slice(None, None, 2)):
            x, y = host.cuda(), nbgrad.tensor([2, 4, 3, 5], device="cuda")[steps]
            version = x._version
            assert getattr(x[steps], name)(y) is not None
            assert (
                x.tolist()
                == host.clone().index_put_((nbgrad.arange(4)[steps],), getattr(host[steps].clone(), name)(y.cpu())).tolist()
            )
            assert x._version == version + 1
        x = host.cuda()
        getattr(x, name)(nbgrad.tensor([1, 2, 0, 3], device="cuda"))
        with pytest.raises(ZeroDivisionError):
            x.tolist()
        assert x.tolist() == host.tolist()


# ---- NBGRAD_CHECK ----------------------------------------------------------------------------------------------------


@pytest.fixture
def checking(monkeypatch):
    """NBGRAD_CHECK=1."""
    checker = debug.Checker()
    grad_mode.special.append(checker)
    engine.watchers.append(checker)
    yield
    grad_mode.special.remove(checker)
    engine.watchers.remove(checker)


@on_gpus
def test_checks_wait_after_every_call(checking):
    """The call itself raises what its kernel has found."""
    x, index = nbgrad.arange(5.0, device="cuda"), nbgrad.tensor([1, 7], device="cuda")
    with pytest.raises(IndexError, match="index 7 is out of range"):
        x[index]
    with pytest.raises(ZeroDivisionError):
        index // (index - 1)
    assert x[index[:1]].tolist() == [1.0]


@on_gpus
def test_checks_let_nan_come_from_a_gpu(checking):
    """It is made there, perhaps long ago: a copy makes none."""
    x = nbgrad.tensor([float("nan"), 1.0], device="cuda")
    assert x.cpu().isnan().tolist() == [True, False] and "nan" in repr(x)
    with pytest.raises(nbgrad.errors.KernelError, match="made a NaN"):
        nbgrad.zeros(2) / 0


@on_gpus
def test_checks_wait_after_every_node(checking, monkeypatch):
    """A failure of the driver is told with the operation, or the node, behind which it was found."""
    from nbgrad.kernels.cuda.driver import Card

    x = nbgrad.ones(3, device="cuda", requires_grad=True)
    y = x.exp().sum()
    told = []
    finish = Card.finish
    monkeypatch.setattr(Card, "finish", lambda card: (told.append(card.index), finish(card)))
    y.backward()
    assert len(told) >= 2 and x.grad is not None

    def fail(card):
        raise nbgrad.errors.KernelError("synchronize: the driver refuses it")

    monkeypatch.setattr(Card, "finish", fail)
    with pytest.raises(nbgrad.errors.KernelError, match="^exp: synchronize: the driver refuses it"):
        x.exp()


# ---- passes ----------------------------------------------------------------------------------------------------------


class Wanders(nbgrad.Function):
    """Its backward goes to another stream and stays there."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        wander()
        return g


def wander():
    """Choose another GPU, where there is one, and another stream, and leave it at that."""
    nbgrad.cuda.set_device(nbgrad.cuda.device_count() - 1)
    nbgrad.cuda.set_stream(nbgrad.cuda.Stream())


@on_gpus
@pytest.mark.parametrize("where", ["function", "hook", "pre-hook", "post-hook", "leaf", "callback"])
def test_passes_leave_device_and_stream(where):
    """What hooks, Functions and callbacks choose ends with them: the next ones do not see it, and the caller does not."""
    before = nbgrad.cuda.current_device(), nbgrad.cuda.current_stream()
    seen = []
    look = lambda *grads: seen.append((nbgrad.cuda.current_device(), nbgrad.cuda.current_stream()))
    x = nbgrad.ones(3, device="cuda", requires_grad=True)
    y = x * 2
    y.register_hook(look)
    z = Wanders.apply(y) if where == "function" else y * 3
    if where == "hook":
        z.register_hook(lambda g: wander())
    elif where == "pre-hook":
        z.grad_fn.register_prehook(lambda grads: wander())
    elif where == "post-hook":
        z.grad_fn.register_hook(lambda grads, outs: wander())
    elif where == "leaf":
        x.register_hook(lambda g: wander())
    elif where == "callback":
        z.register_hook(lambda g: nbgrad.autograd.Variable._execution_engine.queue_callback(wander))
    z.sum().backward()
    assert (nbgrad.cuda.current_device(), nbgrad.cuda.current_stream()) == before
    assert seen == [before] and x.grad.tolist() == [2.0 if where == "function" else 6.0] * 3


@on_gpus
def test_passes_that_fail_leave_device_and_stream():
    """So does a pass that an error ends."""
    before = nbgrad.cuda.current_device(), nbgrad.cuda.current_stream()
    x = nbgrad.ones(3, device="cuda", requires_grad=True)
    y = x.exp()

    def fail(g):
        wander()
        raise ValueError("no")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="no"):
        y.sum().backward()
    assert (nbgrad.cuda.current_device(), nbgrad.cuda.current_stream()) == before
