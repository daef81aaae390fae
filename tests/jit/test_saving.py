"""Compiled functions in files: saved, loaded without their programs, and what a file cannot hold."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.base.nested import flatten
from nbgrad.errors import ArgumentError, GraphError
from nbgrad.jit import load, save

SCALE = 2.0
HELD = nbgrad.tensor(np.random.default_rng(1).standard_normal((6, 4)))


def numbers(seed: int, *shape: int) -> nbgrad.Tensor:
    return nbgrad.tensor(np.random.default_rng(seed).standard_normal(shape))


def operands(seed: int) -> tuple:
    return numbers(seed, 4, 1).requires_grad_(), numbers(seed + 100, 6, 4)


def slope(w, x):
    loss = ((x @ w).tanh() ** 2).mean() * SCALE
    return {"loss": loss.detach(), "rest": [nbgrad.grad(loss, w)[0], None, 3, "a", 0.5]}


def recorded(w, x):
    return ((x @ w).exp().tanh() ** 2).sum(), (w * w).sum()


def held(w, x):
    return (x * HELD).sum(0), HELD, x


def drawn(w, x):
    return ((x @ w) * nbgrad.rand(6, 1)).sum() + nbgrad.randn(3)


def asked(w, x):
    return x * 2 if x.sum() > 0 else x - 1


def stepped(w, x):
    return nbgrad.linalg.cholesky(x.t() @ x + nbgrad.eye(4, dtype=nbgrad.float64)), x.sort(0)


def written(w, x):
    x.mul_(2).add_(1)
    return x.sum()


def looped(w, x):
    last, sums = nbgrad.scan(lambda c, row: ((c * w[0]).tanh() + row, c.sum()), x[0], x)
    return nbgrad.grad(last.sum() + sums.sum(), w)


def accumulated(w, x):
    (x @ w).sum().backward()


def viewed(w, x):
    return x.t(), x[1:], x


PROGRAMS = [slope, recorded, held, drawn, asked, stepped, written, looped, accumulated, viewed]


def outcome(fn, seed: int) -> list:
    """Results, arguments and gradients after a call, and a pass through the results."""
    nbgrad.manual_seed(3)
    args = operands(seed)
    leaves = [*flatten(fn(*args))[0], *args]
    live = [x for x in leaves[:-2] if isinstance(x, nbgrad.Tensor) and x.requires_grad]
    if live:
        sum((x * 1.5).sum() for x in live).backward()
    grads = [x.grad for x in args]
    return [x.detach().numpy().copy() if isinstance(x, nbgrad.Tensor) else x for x in (*leaves, *grads)]


def agree(one: list, other: list) -> None:
    assert len(one) == len(other)
    for x, y in zip(one, other):
        assert type(x) is type(y)
        np.testing.assert_array_equal(x, y)


def compiled(fn=slope, **options):
    made = nbgrad.compile(fn, fullgraph=True, **options)
    made(*operands(0))
    return made


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_a_loaded_function_does_what_the_function_does(fn, tmp_path):
    """Values, structures, histories, gradients, writes and draws, to the bit, for other numbers too."""
    made = nbgrad.compile(fn, fullgraph=True)
    for seed in range(4):
        outcome(made, seed)
    save(made, tmp_path / "f", objects=False)
    loaded = load(tmp_path / "f")
    for seed in range(6):
        agree(outcome(loaded, seed), outcome(fn, seed))
    assert len(loaded.variants) == len(made.variants)


def test_a_loaded_function_is_saved_again(tmp_path):
    """What is read is what was written."""
    save(compiled(recorded), tmp_path / "f", objects=False)
    save(load(tmp_path / "f"), tmp_path / "g", objects=False)
    assert (tmp_path / "f").read_bytes() == (tmp_path / "g").read_bytes()
    agree(outcome(load(tmp_path / "g"), 1), outcome(recorded, 1))


def test_second_derivatives_go_by_calls(tmp_path):
    """A recorded pass through a loaded function runs its graph."""
    save(compiled(recorded), tmp_path / "f", objects=False)
    found = []
    for fn in (load(tmp_path / "f"), recorded):
        w, x = operands(5)
        (g,) = nbgrad.grad(fn(w, x)[0], w, create_graph=True)
        (h,) = nbgrad.grad(g.sum(), w)
        found += [g.detach().numpy(), h.numpy()]
    np.testing.assert_allclose(found[0], found[2], rtol=1e-14)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-12)


def test_several_variants_are_saved(tmp_path):
    """For other layouts, numbers and keywords."""

    def fn(x, *, k, how="plus"):
        return x + k if how == "plus" else x - k

    made = nbgrad.compile(fn, fullgraph=True)
    calls = [((nbgrad.ones(n),), {"k": k, "how": how}) for n in (2, 3) for k in (1, 2.5) for how in ("plus", "minus")]
    for args, kwargs in calls:
        made(*args, **kwargs)
    save(made, tmp_path / "f", objects=False)
    loaded = load(tmp_path / "f")
    for args, kwargs in calls:
        assert loaded(*args, **kwargs).tolist() == fn(*args, **kwargs).tolist()
    with pytest.raises(ArgumentError, match=r"was saved for other arguments: k: expected (int|float), got True \(7 other kinds"):
        loaded(nbgrad.ones(2), k=True, how="plus")
    assert loaded(nbgrad.ones(2), k=3, how="plus").tolist() == [4, 4]


def test_weights_that_the_function_holds_are_part_of_the_file(tmp_path):
    """A model without gradients, as it was when it was saved."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    x = nbgrad.randn(5, 4)
    made = nbgrad.compile(model, fullgraph=True)
    with nbgrad.no_grad():
        wanted = made(x).tolist()
        save(made, tmp_path / "f", objects=False)
        model[0].weight.zero_()
        assert load(tmp_path / "f")(x).tolist() == wanted


# ---- another process ---------------------------------------------------------------------------------------------------

CHILD = """
import sys, numpy, nbgrad
from nbgrad.kernels.cpu.store import loader
f = nbgrad.jit.load(sys.argv[1])
w, x = nbgrad.from_numpy(numpy.ones((4, 1))).requires_grad_(), nbgrad.from_numpy(numpy.ones((6, 4)))
before = loader().compiled
out, _ = f(w, x)
out.backward(nbgrad.from_numpy(numpy.ones(())))
print(f.objects, "|", loader().compiled - before, "numba" in sys.modules, w.grad.tolist())
"""


def test_a_process_that_has_nothing_compiles_nothing_for_a_loaded_function(tmp_path):
    """Neither machine code nor Numba is needed for it: the file has the objects, of passes that there were too."""
    made = compiled(recorded)
    made(*operands(0))[0].backward()
    save(made, tmp_path / "f")
    environment = {**os.environ, "NBGRAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.getcwd(), "NBGRAD_CHECK": "0"}
    command = [sys.executable, "-c", CHILD, str(tmp_path / "f")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    said, _, rest = done.stdout.strip().partition(" | ")
    w, x = nbgrad.ones(4, 1, dtype=nbgrad.float64, requires_grad=True), nbgrad.ones(6, 4, dtype=nbgrad.float64)
    (g,) = nbgrad.grad(recorded(w, x)[0], w)
    assert said.endswith("from the file") and rest == f"0 False {g.tolist()}"


# ---- what a file cannot hold ------------------------------------------------------------------------------------------


def refused(made, match: str, tmp_path) -> None:
    with pytest.raises(GraphError, match=match):
        save(made, tmp_path / "f", objects=False)
    assert not (tmp_path / "f").exists()


class Twice(nbgrad.Function):
    @staticmethod
    def forward(ctx, x):
        return nbgrad.from_numpy(x.numpy() * 2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_function_that_was_never_called_is_refused(tmp_path):
    """There is nothing to save."""
    refused(nbgrad.compile(slope), "nothing of slope was captured. Hint: call it once", tmp_path)


def test_steps_in_python_are_refused(tmp_path):
    """A custom Function that reads arrays."""
    made = nbgrad.compile(lambda x: Twice.apply(x), fullgraph=True)
    made(nbgrad.ones(2))
    refused(made, "variant 0: Twice is a step in Python", tmp_path)


def test_changes_to_tensors_that_the_program_holds_are_refused(tmp_path):
    """Buffers, parameters of a training step, gradients."""
    total = nbgrad.zeros(2)
    made = nbgrad.compile(lambda x: total.add_(x).sum(), fullgraph=True)
    made(nbgrad.ones(2))
    refused(made, "writes to a tensor that the program holds", tmp_path)
    w = nbgrad.ones(2, requires_grad=True)
    made = nbgrad.compile(lambda x: (w * x).sum().backward(), fullgraph=True)
    made(nbgrad.ones(2))
    refused(made, "gradients of tensors that the program holds", tmp_path)
    optimizer = optim.Adam([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()

    made = nbgrad.compile(step, fullgraph=True)
    for _ in range(3):
        made(nbgrad.ones(2))
    refused(made, "numbers that an optimizer computes anew", tmp_path)


def test_gradients_into_tensors_that_the_program_holds_are_refused(tmp_path):
    """Who loads it could not reach them."""
    w = nbgrad.ones(2, requires_grad=True)
    made = nbgrad.compile(lambda x: (w * x).sum(), fullgraph=True)
    made(nbgrad.ones(2))
    refused(made, "a history that leads to tensors that the program holds", tmp_path)


def test_generators_and_functions_among_arguments_are_refused(tmp_path):
    """They live on beside the file."""
    generator = nbgrad.Generator()
    made = nbgrad.compile(lambda x: x + nbgrad.randn(2, generator=generator), fullgraph=True)
    made(nbgrad.ones(2))
    refused(made, "a random generator of the program", tmp_path)
    made = nbgrad.compile(lambda x, f: f(x), fullgraph=True)
    made(nbgrad.ones(2), nbgrad.exp)
    refused(made, "known by its identity", tmp_path)


def test_what_is_no_compiled_function_is_refused(tmp_path):
    """A function, or a graph."""
    with pytest.raises(ArgumentError, match="fn is of type function, expected a function that compile has made"):
        save(slope, tmp_path / "f")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """What was there before stays, and nothing else is left behind."""
    save(compiled(), tmp_path / "f", objects=False)
    before = (tmp_path / "f").read_bytes()

    def full(handle):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(compiled(viewed), tmp_path / "f", objects=False)
    assert (tmp_path / "f").read_bytes() == before and os.listdir(tmp_path) == ["f"]


def test_methods_and_partial_functions_have_a_name(tmp_path):
    """That of their class, if they have none themselves."""
    made = nbgrad.compile(functools.partial(slope, operands(0)[0].detach().requires_grad_()), fullgraph=True)
    made(operands(0)[1])
    save(made, tmp_path / "f", objects=False)
    assert repr(load(tmp_path / "f")) == "<loaded partial: 1 variants>"
