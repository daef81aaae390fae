"""Values that a captured function asks for: its variants hold while the answers are the same, and are never stale."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.errors import DimError, GraphError, RangeError
from nbgrad.jit import compile, parse, trace
from tests.helpers import leaf

pytestmark = pytest.mark.filterwarnings("ignore:.*were others 3 times")

F = nbgrad.nn.functional
RNG = np.random.default_rng(0)
ARGUMENTS = [nbgrad.tensor(RNG.normal(size=(3, 4)) * s + m).requires_grad_() for s, m in ((1, 0), (1, 1), (1, -1), (2, 0))]
FACTOR = nbgrad.tensor(2.0, dtype=nbgrad.float64)
CHOSEN = nbgrad.tensor([True, False, True, False])


def masked_write(x):
    y = x.clone()
    y[y > 0] = nbgrad.arange(12, dtype=x.dtype)[: int((y > 0).sum())]
    return y


def halved(x):
    y, n = x.abs().sum(), 0
    while y > 1:
        y, n = y / 2, n + 1
    return y, n


PROGRAMS = {
    "branch": lambda x: x * 2 if x.sum() > 0 else x.exp(),
    "number as a truth": lambda x: x * 2 if x[0, 0].relu() else x,
    "not any": lambda x: x if not (x > 2).any() else -x,
    "loop": halved,
    "item": lambda x: x * x[0, 0].item(),
    "float": lambda x: x * float(x[0, 0]),
    "int": lambda x: x[: int(x[0, 0].abs())],
    "int of an integer": lambda x: x[: int((x[:, 0] > 0).sum())],
    "index": lambda x: [1, 2, 3, 4, 5][(x[0] > 0).sum()] * x,
    "slice by a tensor": lambda x: x[: (x[:, 0] > 0).sum()],
    "tolist": lambda x: x * sum(x[0].tolist()),
    "tolist of a window": lambda x: x * x.t()[1].tolist()[0],
    "half": lambda x: x * x.half()[0, 0].item(),
    "bfloat16": lambda x: x * float(x.bfloat16()[0, 0]),
    "complex": lambda x: x * nbgrad.complex(x, x)[0, 0].item(),
    "conj": lambda x: x * nbgrad.complex(x, x).conj()[0, 0].item(),
    "nan": lambda x: x if (x[0, 0] * float("nan")).item() != 1 else -x,
    "in": lambda x: x * 2 if 0.0 in x else x,
    "equal": lambda x: x * 2 if nbgrad.equal(x, x.abs()) else x,
    "allclose": lambda x: x * 2 if nbgrad.allclose(x, x.abs()) else x,
    "mask": lambda x: x[x > 0],
    "mask of rows": lambda x: x[x[:, 0] > 0],
    "mask of a name": lambda x: x[:, CHOSEN],
    "masked_select": lambda x: nbgrad.masked_select(x, x > 0).sum(),
    "masked write": masked_write,
    "gradient through a mask": lambda x: nbgrad.grad((x[x > 0] ** 2).sum(), x),
    "nonzero": lambda x: (nbgrad.nonzero(x > 0), nbgrad.nonzero(x > 0, as_tuple=True), nbgrad.nonzero(x[0, 0] > 0)),
    "argwhere": lambda x: (nbgrad.argwhere(x > 0), nbgrad.where(x > 0)),
    "unique": lambda x: nbgrad.unique((x > 0).int()),
    "repeat_interleave": lambda x: x.repeat_interleave((x[:, 0] > 0).int() + 1, 0),
    "one_hot": lambda x: F.one_hot((x[0] > 0).long()),
    "inverse": lambda x: nbgrad.linalg.inv(x[:, :3] + 4 * nbgrad.eye(3, dtype=x.dtype)),
    "alpha": lambda x: nbgrad.add(x, x, alpha=x.detach()[0, 0].round()),
    "a name": lambda x: x * 3 if FACTOR > 1 else x,
    "a name's number": lambda x: x * FACTOR.item(),
    "draws on both sides": lambda x: nbgrad.rand(2) if (x.sum() + nbgrad.rand(1)) > 0 else (nbgrad.rand(3), nbgrad.rand(1)),
    "bernoulli": lambda x: nbgrad.bernoulli(x.sigmoid()),
    "multinomial": lambda x: (nbgrad.multinomial(x.abs() + 0.1, 2), nbgrad.multinomial(x.exp()[0], 5, replacement=True)),
    "normal": lambda x: nbgrad.normal(x.detach(), x.detach().abs()),
    "clip_grad_norm_": lambda x: (y := (x * 1).detach().requires_grad_(), nbgrad.nn.utils.clip_grad_norm_([y], 1.0))[1],
    "in a vmap of more": lambda x: nbgrad.vmap(lambda row: row * FACTOR.item())(x),
    "under grad": lambda x: nbgrad.func.grad(lambda y: (y * y).sum() if FACTOR > 1 else y.sum())(x),
}


def leaves(fn, x) -> list:
    return [y.detach().numpy() if isinstance(y, nbgrad.Tensor) else y for y in nbgrad.utils._pytree.tree_flatten(fn(x))[0]]


def called(fn, times=3) -> list:
    """All results of calls that change from argument to argument, and the state of the generator."""
    nbgrad.manual_seed(1)
    return [y for _ in range(times) for x in ARGUMENTS for y in leaves(fn, x)] + [nbgrad.get_rng_state().numpy()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_function(name):
    """Whatever the answers are, to the bit; a function is captured once for each of them."""
    fn = PROGRAMS[name]
    compiled = compile(fn, fullgraph=True, limit=len(ARGUMENTS))
    found, want = called(compiled), called(fn)
    assert len(found) == len(want)
    for a, b in zip(found, want):
        np.testing.assert_array_equal(a, b)
    count = len(compiled.variants)
    called(compiled)
    assert len(compiled.variants) == count


@pytest.mark.parametrize("name", ["branch", "loop", "mask", "int", "tolist", "nan"])
def test_a_graph_replayed_by_calls_says_so(name):
    """A traced graph has one answer: with another one it raises, with the line that asked; its text reads back."""
    graph = trace(PROGRAMS[name], ARGUMENTS[0])
    assert str(parse(str(graph))) == str(graph)
    want = [y for y in leaves(PROGRAMS[name], ARGUMENTS[0]) if isinstance(y, np.ndarray)]
    for a, b in zip(leaves(lambda x: graph(x), ARGUMENTS[0]), want):
        np.testing.assert_array_equal(a, b)
    if name != "nan":
        with pytest.raises(GraphError, match="test_values.py"):
            [graph(x) for x in ARGUMENTS]


def test_a_bool_is_one_bit():
    """Of a comparison the truth is guarded, and not the numbers; of int() the whole part."""
    compiled = compile(lambda x: x * 2 if x.sum() > 0 else x, fullgraph=True)
    for n in (1.0, 2.0, 3.0):
        assert compiled(nbgrad.tensor([n])).item() == 2 * n
    assert len(compiled.variants) == 1
    whole = compile(lambda x: x + int(x.sum()), fullgraph=True)
    assert [whole(nbgrad.tensor([n])).item() for n in (1.25, 1.5, -1.5, 2.0)] == [2.25, 2.5, -2.5, 4.0]
    assert len(whole.variants) == 3


def test_checks_of_labels_are_one_bit():
    """Losses and encodings refuse labels that are no classes; which they are does not matter."""

    def fn(x, labels):
        return F.cross_entropy(x, labels) + F.one_hot(labels, 5).sum() + x[labels].sum() + F.embedding(labels, x).sum()

    compiled = compile(fn, fullgraph=True)
    x = nbgrad.tensor(RNG.normal(size=(5, 5)))
    for _ in range(4):
        labels = nbgrad.tensor(RNG.integers(0, 5, 5))
        np.testing.assert_allclose(compiled(x, labels).item(), fn(x, labels).item(), rtol=1e-13)
    assert len(compiled.variants) == 1
    with pytest.raises(DimError, match="expected 0 to 4"):
        compile(lambda labels: F.one_hot(labels, 5))(labels + 5)


def test_tensors_that_are_named_are_read_in_every_call():
    """A write to a global tensor that was asked for is noticed."""
    flag = nbgrad.tensor(True)
    compiled = compile(lambda x: x * 2 if flag else x, fullgraph=True)
    x = nbgrad.ones(2)
    for value in (True, False, True):
        flag.fill_(value)
        assert compiled(x).tolist() == ([2.0, 2.0] if value else [1.0, 1.0])
    assert len(compiled.variants) == 2


def test_a_written_value_is_asked_for():
    """Arguments and names that the function writes to: the answer is that of the moment, and a stopped run writes nothing."""
    count = nbgrad.zeros(())

    def step(x):
        count.add_(1)
        x.mul_(2)
        return x + 1 if count > 2 else x - 1

    compiled, found = compile(step, fullgraph=True), []
    for fn in (step, compiled):
        count.zero_()
        x = nbgrad.ones(2)
        found.append([(fn(x).tolist(), x.tolist(), x._version, count.item()) for _ in range(5)])
    assert found[0] == found[1] and len(compiled.variants) == 2


def test_training_goes_on_where_steps_are_left_out():
    """An optimizer's step behind a condition: weights of a stopped run are as they were."""
    losses = []
    for wrap in (lambda f: f, lambda f: compile(f, fullgraph=True)):
        nbgrad.manual_seed(3)
        net = nbgrad.nn.Linear(4, 2)
        optimizer = nbgrad.optim.Adam(net.parameters(), lr=0.1)

        def step(x, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            if loss > 0.5:
                optimizer.step()
            return loss.detach()

        step = wrap(step)
        losses.append([step(ARGUMENTS[k % 4].detach().float()).item() for k in range(12)])
    assert losses[0] == losses[1]


def test_live_results():
    """Outer passes go through the variant that ran."""
    w = leaf([2.0, 3.0])

    def fn(x):
        y = x * w
        return (y * y).sum() if y.sum() > 0 else y.exp().sum()

    compiled, found = compile(fn, fullgraph=True), []
    for each in (fn, compiled):
        for sign in (1.0, -1.0, 1.0, -1.0):
            x = leaf([sign, 0.5])
            found.append([g.tolist() for g in nbgrad.grad(each(x), [x, w])])
    assert found[:4] == found[4:] and len(compiled.variants) == 2


def test_behind_the_limit_the_line_that_asks_is_named():
    """A number that is always another one."""
    compiled = compile(lambda x: x * x[0].tolist(), limit=3)
    with pytest.warns(UserWarning, match="values that are asked for, at .*test_values.py"):
        for n in range(6):
            assert compiled(nbgrad.tensor([float(n)])).item() == n * n


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.detach().numpy().sum(),
        lambda x: np.asarray(x.detach()),
        lambda x: x.data_ptr(),
        lambda x: np.from_dlpack(x.detach()),
        lambda x: FACTOR.numpy(),
        lambda x: FACTOR.data_ptr(),
        lambda x: x.repeat(10, 10).tolist(),
    ],
)
def test_memory_that_python_holds_leaves_the_graph(fn):
    """Arrays, addresses, long lists."""
    with pytest.raises(GraphError, match="Hint"):
        trace(fn, ARGUMENTS[0])


def test_steps_do_not_run_before_the_answer():
    """What raises behind another answer is not tried."""

    def fn(x):
        return nbgrad.linalg.cholesky(x) if (x.diagonal() > 0).all() else x * 2

    compiled = compile(fn, fullgraph=True)
    good, bad = nbgrad.eye(2), -nbgrad.eye(2)
    for x in (good, bad, good, bad):
        assert compiled(x).tolist() == fn(x).tolist()


def test_errors_of_values_are_those_of_the_function():
    """A check that fails in a later call."""
    compiled = compile(lambda p: nbgrad.bernoulli(p), fullgraph=True)
    assert compiled(nbgrad.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(RangeError, match="probabilities"):
        compiled(nbgrad.full((2,), 1.5))
    assert compiled(nbgrad.zeros(2)).tolist() == [0.0, 0.0]


def test_reading_outside_of_the_thread_that_captures():
    """Another thread reads its own tensors as ever."""
    found = []

    def fn(x):
        other = threading.Thread(target=lambda: found.append((FACTOR.item(), FACTOR.numpy().item(), bool(FACTOR))))
        other.start()
        other.join()
        return x * 2

    trace(fn, ARGUMENTS[0])
    assert found == [(2.0, 2.0, True)]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "float16", "float32", "float64", "complex64", "complex128"])
def test_every_bit_of_an_element_counts(dtype):
    """Elements of all sizes, each next to others, at any place in memory."""
    x = nbgrad.tensor([0, 1, 1, 0, 1], dtype=getattr(nbgrad, dtype))
    compiled = compile(lambda x: x[1:4].tolist(), fullgraph=True)
    for _ in range(2):
        for k in range(5):
            y = x.clone()
            y[k] = 1 - y[k].item() if dtype != "bool" else not y[k]
            assert compiled(y) == y[1:4].tolist()
    assert len(compiled.variants) == 4


MASKS = {
    "a mask": lambda x: x[nbgrad.tensor([True, False, True])],
    "a list": lambda x: x[[True, False, True]],
    "positions": lambda x: x[nbgrad.nonzero(nbgrad.tensor([1, 0, 1])).squeeze(1)],
    "a part and a mask": lambda x: x.expand(2, 3)[:, nbgrad.tensor([True, False, True])],
    "an array": lambda x: x[nbgrad.from_numpy(np.array([True, False, True]))],
}


@pytest.mark.parametrize("choose", MASKS.values(), ids=MASKS)
def test_masks_that_the_function_makes_are_constants(choose):
    """Nothing is asked for: what a mask of given truth values chooses is known."""
    compiled = compile(choose, fullgraph=True)
    for x in (nbgrad.arange(3.0), nbgrad.ones(3)):
        assert compiled(x).equal(choose(x))
    assert len(compiled.variants) == 1
