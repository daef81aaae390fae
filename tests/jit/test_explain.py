"""What compiled functions say of themselves: their graphs and steps as text, and an explanation with attributes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.jit import parse

SCALE = 2.0


def slope(w, x, batch):
    loss = ((x @ w + batch["y"]).tanh() ** 2).mean() * SCALE
    return loss.detach(), nbgrad.grad(loss, w)[0]


def called(fn=slope, **options):
    """A compiled function and arguments it was called with."""
    compiled = nbgrad.compile(fn, fullgraph=True, **options)
    args = nbgrad.ones(8, 1, requires_grad=True), nbgrad.ones(64, 8), {"y": nbgrad.ones(1)}
    compiled(*args)
    return compiled, args


def test_the_source_is_a_graph_that_computes_the_results():
    """Steps are comments, so that the text is still one of a graph; arguments have their names."""
    compiled, (w, x, batch) = called()
    text = compiled.source()
    assert "def slope(w: float32[8, 1].requires_grad, x: float32[64, 8], batch_y: float32[1])" in text
    found = parse(text)(w.detach(), x, batch["y"])
    for a, b in zip(found, compiled(w, x, batch)):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_the_source_says_which_calls_share_a_loop():
    """The loop lists its values in order, and what it writes."""
    text = nbgrad.compile(lambda x: ((x * 2).exp() + 1).sum())
    text(nbgrad.ones(2, 3))
    assert "#   loop     v0=mul, v1=exp, v2=add over float32[2, 3]; reads x; writes" in text.source()


def test_every_variant_has_its_source():
    """One behind the other."""
    compiled = nbgrad.compile(lambda x: x * 2)
    compiled(nbgrad.ones(2))
    compiled(nbgrad.ones(3))
    assert [line for line in compiled.source().splitlines() if line.startswith("# variant")] == ["# variant 0", "# variant 1"]
    assert "float32[2]" in compiled.source() and "float32[3]" in compiled.source()


def test_before_a_call_there_is_nothing_to_say():
    """Neither a source nor variants, nor after clear."""
    compiled = nbgrad.compile(lambda x: x * 2)
    assert compiled.source() == "# nothing was captured so far\n"
    assert str(compiled.explain()).endswith("0 variants of at most 8")
    compiled(nbgrad.ones(2))
    compiled.clear()
    assert compiled.explain().variants == ()


def test_the_backward_source_is_the_program_of_a_pass():
    """It is there when a pass has gone through."""
    compiled = nbgrad.compile(lambda w, x: ((x @ w).exp().tanh() ** 2).sum())
    w, x = nbgrad.ones(8, 1, requires_grad=True), nbgrad.ones(64, 8)
    out = compiled(w, x)
    assert "no pass went through" in compiled.backward_source()
    out.backward()
    assert len(parse(compiled.backward_source()).inputs) == 3
    assert nbgrad.compile(lambda x: x)(x) is x
    assert called()[0].backward_source() == "# no results with a history\n"


def test_what_is_saved_and_what_is_computed_again_is_told():
    """One value crosses, and tanh is cheaper to compute than to keep."""
    compiled = nbgrad.compile(lambda w, x: ((x @ w).exp().tanh() ** 2).sum())
    compiled(nbgrad.ones(8, 1, requires_grad=True), nbgrad.ones(64, 8)).backward()
    (variant,) = compiled.explain().variants
    assert variant.saved == ("v1: float32[64, 1]",) and variant.saved_bytes == 256
    (backward,) = variant.backward
    assert backward.recomputed == ("tanh",) and len(backward.loops) == 1
    assert not variant.no_backward
    assert "runs tanh once more" in str(variant)


def test_the_guards_of_a_variant_are_told():
    """Types and values of arguments, modes, names and their values, answers with their lines."""

    def fn(x, how, rest=()):
        y = x * SCALE + sum(rest)
        return y if y.sum() > 3 else -y

    compiled = nbgrad.compile(fn, fullgraph=True)
    compiled(nbgrad.ones(2), "plus", rest=[1, nbgrad.ones(2)])
    (variant,) = compiled.explain().variants
    assert variant.arguments == {"x": "float32[2]", "how": "'plus'", "rest[0]": "int", "rest[1]": "float32[2]"}
    assert variant.modes == ("grad mode on", "default dtype float32")
    assert variant.names == {"SCALE": "2.0"}
    (answer,) = variant.answers
    assert answer.startswith("True at ") and f"{__file__}:{fn.__code__.co_firstlineno + 2}" in answer


def test_names_in_lists_of_arrays_and_tensors_are_counted():
    """Only numbers and strings of names are spelled."""
    held = [nbgrad.ones(2), np.ones(3), 5]
    compiled = nbgrad.compile(lambda x: x * held[0] + held[2], fullgraph=True)
    compiled(nbgrad.ones(2))
    (variant,) = compiled.explain().variants
    assert variant.objects_held >= 4 and "names hold the same" in str(variant)


def test_steps_memory_and_traffic_are_counted():
    """A product, and a loop that reads 4 numbers, a bias and writes 4: 64 bytes, of them 16 in between."""
    compiled = nbgrad.compile(lambda x, y, b: (x @ y + b).tanh())
    compiled(nbgrad.ones(2, 3), nbgrad.ones(3, 2), nbgrad.ones(2))
    (variant,) = compiled.explain().variants
    assert [step.kind for step in variant.steps] == ["launch", "loop"]
    product, loop = variant.steps
    assert product.operations == ("matmul",) and product.bytes_moved == 4 * (6 + 6 + 4)
    assert loop.operations == ("add", "tanh") and loop.bytes_moved == 4 * (4 + 2 + 4) and loop.space == "float32[2, 2]"
    assert loop.reads == ("v0", "b") and loop.writes == ("v2",)
    assert variant.bytes_moved == product.bytes_moved + loop.bytes_moved
    assert 16 <= variant.arena_bytes == compiled.variants[0].program.assembled.bytes
    assert variant.nodes == 3


def test_of_long_programs_the_first_steps_are_printed():
    """The source lists all, and the attributes have them."""

    def fn(x):
        for _ in range(100):
            x = x @ x
        return x

    compiled = nbgrad.compile(fn, fullgraph=True)
    compiled(nbgrad.ones(2, 2))
    (variant,) = compiled.explain().variants
    assert len(variant.steps) == 100 and "... 40 more: source() lists them" in str(variant)
    assert compiled.source().count("#   launch   matmul") == 100


def test_the_time_of_a_capture_is_told():
    """By the clock, with the number of objects that were compiled for it: none, the second time."""
    compiled, args = called()
    compiled.clear()
    compiled(*args)
    (variant,) = compiled.explain().variants
    assert 0 < variant.seconds < 60 and variant.objects == 0
    assert "no objects compiled (warm)" in str(variant)


def test_what_a_training_step_changes_is_told():
    """Parameters, gradients, counters, and numbers of random generators."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout())
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @nbgrad.compile(fullgraph=True)
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(nbgrad.ones(4, 2))
    variant = step.explain().variants[-1]
    assert "2 tensors of the program" in variant.changes
    assert "gradients of 2 leaves of the program" in variant.changes
    assert variant.draws == 1
    written = nbgrad.compile(lambda x: x.mul_(2), fullgraph=True)
    written(nbgrad.ones(2))
    assert written.explain().variants[0].changes == ("x",)


def test_why_a_function_runs_as_it_is_is_told_with_the_line():
    """The break and its line, once."""

    def fn(x):
        return nbgrad.tensor(x.numpy() * 2)

    compiled = nbgrad.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(nbgrad.ones(2))
        compiled(nbgrad.ones(3))
    (why,) = compiled.explain().broken
    assert "numpy" in why and f"{__file__}:{fn.__code__.co_firstlineno + 1}" in why
    assert f"runs as it is: {why}" in str(compiled.explain())


def test_what_changed_at_the_limit_is_told():
    """Values of arguments, here."""
    compiled = nbgrad.compile(lambda x, k: x[k], limit=1)
    with pytest.warns(UserWarning, match="was captured 1 times"):
        for k in range(2):
            compiled(nbgrad.ones(2), k)
    assert compiled.explain().full == "layouts, flags or values of arguments"
    assert len(compiled.explain().variants) == 1


def test_loops_branches_and_calls_in_python_are_steps():
    """A scan repeats, a decomposition is a call."""

    def fn(x):
        last, _ = nbgrad.scan(lambda c, _: ((c @ x).tanh(), None), x, length=5)
        return nbgrad.linalg.cholesky(last @ last.t() + nbgrad.eye(3))

    compiled = nbgrad.compile(fn, fullgraph=True)
    compiled(nbgrad.ones(3, 3))
    kinds = [step.kind for step in compiled.explain().variants[0].steps]
    assert "repeat" in kinds and kinds[-1] == "call"


def test_each_reason_is_said_once():
    """Whatever kinds of arguments it is met with; and the limit has one, too."""

    @nbgrad.compile(limit=2)
    def f(x, y):
        x.add_(1)
        return x * y

    pairs = [
        lambda z: (z, z.clone()),
        lambda z: (z, z),
        lambda z: (z[:2], z[2:]),
        lambda z: (z[:1], z[1:2]),
        lambda z: (z[:3], z[1:]),
        lambda z: (z[1:], z[:3]),
        lambda z: (z[::2], z[1::2]),
        lambda z: (z.view(2, 2), z.view(2, 2).t()),
        lambda z: (z.view(2, 2).t(), z.view(2, 2)),
        lambda z: (z.view(1, 4), z.view(4, 1)),
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            for pair in pairs:
                f(*pair(nbgrad.ones(4)))
    texts = [str(each.message) for each in said]
    assert len(set(texts)) == len(texts) and not any(": ." in text for text in texts)
    assert sum("was captured 2 times" in text for text in texts) == 1
