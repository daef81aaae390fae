"""``rearrange``, against reshapes and permutations; einops' meaning."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.func import rearrange
from tests.helpers import leaf

X = nbgrad.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "pattern, sizes, expected",
    [
        ("a b c -> a b c", {}, lambda x: x),
        ("a b c -> c a b", {}, lambda x: x.permute(2, 0, 1)),
        ("a b c -> (a b) c", {}, lambda x: x.reshape(6, 4)),
        ("a b c -> c (b a)", {}, lambda x: x.permute(2, 1, 0).reshape(4, 6)),
        ("a b (c d) -> a b c d", {"d": 2}, lambda x: x.reshape(2, 3, 2, 2)),
        ("a b (c d) -> (a c) (d b)", {"c": 2}, lambda x: x.reshape(2, 3, 2, 2).permute(0, 2, 3, 1).reshape(4, 6)),
        ("a b (c d e) -> e d c b a", {"c": 2, "e": 1}, lambda x: x.reshape(2, 3, 2, 2, 1).permute(4, 3, 2, 1, 0)),
        ("... c -> c ...", {}, lambda x: x.permute(2, 0, 1)),
        ("a ... -> (...) a", {}, lambda x: x.reshape(2, 12).T),
        ("a ... c -> (a ... c)", {}, lambda x: x.flatten()),
        ("a b c -> a 1 b () c", {}, lambda x: x[:, None, :, None]),
        ("a b c -> (a b c)", {"a": 2}, lambda x: x.flatten()),
        (" a b_1 c->c  b_1 a ", {}, lambda x: x.permute(2, 1, 0)),
    ],
)
def test_patterns(pattern, sizes, expected):
    assert rearrange(X, pattern, **sizes).equal(expected(X))


def test_dimensions_of_size_one_and_none():
    assert rearrange(X[:1], "1 b c -> c b").equal(X[0].T)
    assert rearrange(nbgrad.tensor(3.0), "-> 1").tolist() == [3.0]
    assert rearrange(nbgrad.tensor(3.0), " -> ").tolist() == 3.0
    assert rearrange(nbgrad.zeros(0, 3), "a b -> b a").shape == (3, 0)


def test_sequences_are_stacked():
    assert rearrange([X, X + 1], "n a b c -> a n (b c)").equal(nbgrad.stack([X, X + 1], 1).reshape(2, 2, 12))


def test_views_and_gradients():
    """It is a view where strides can say it; gradients and maps go through."""
    assert rearrange(X, "a b c -> c b a").data_ptr() == X.data_ptr()
    x = leaf(X.tolist())
    rearrange(x, "a b (c d) -> (a d) (c b)", d=2)[0].sum().backward()
    assert x.grad.sum() == 6 and set(x.grad.flatten().tolist()) == {0.0, 1.0}
    assert nbgrad.vmap(lambda y: rearrange(y, "b c -> (c b)"))(X).equal(X.mT.reshape(2, 12))


@pytest.mark.parametrize(
    "pattern, sizes, error, message",
    [
        ("a b c", {}, nbgrad.ArgumentError, "'->'"),
        (3, {}, nbgrad.ArgumentError, "'->'"),
        ("a b -> b a", {}, nbgrad.ShapeError, "names 2 dimensions"),
        ("a b c d ... -> a b c d ...", {}, nbgrad.ShapeError, "names 5 dimensions"),
        ("a b c -> a b", {}, nbgrad.ArgumentError, "c on one side"),
        ("a a c -> a c", {}, nbgrad.ArgumentError, "twice"),
        ("a b c -> a b c c", {}, nbgrad.ArgumentError, "twice"),
        ("a b c -> a b c", {"z": 2}, nbgrad.ArgumentError, "z of axes_lengths"),
        ("a (b d) c -> a b c d", {}, nbgrad.ArgumentError, "all but one of b, d"),
        ("a (b d) c -> a b c d", {"d": 2}, nbgrad.ShapeError, "size 3"),
        ("a b c -> a b c", {"a": 3}, nbgrad.ShapeError, "size 2"),
        ("a () c -> a c", {}, nbgrad.ShapeError, "size 3"),
        ("a b (c d) -> a b c d", {"d": 0}, nbgrad.RangeError, "from 1"),
        ("(a b c -> a b c", {}, nbgrad.ArgumentError, "not closed"),
        ("a b) c -> a b c", {}, nbgrad.ArgumentError, "too many"),
        ("((a b) c) d -> a b c d", {}, nbgrad.ArgumentError, "in parentheses"),
        ("a b c -> a b c %", {}, nbgrad.ArgumentError, "'%'"),
        ("a b c -> a b c 2", {}, nbgrad.ArgumentError, "'2'"),
        ("(a ...) c -> a c ...", {}, nbgrad.ArgumentError, "on the left"),
        ("a b c -> (...) a b c", {}, nbgrad.ArgumentError, "on one side"),
    ],
)
def test_what_is_refused(pattern, sizes, error, message):
    with pytest.raises(error) as caught:
        rearrange(X, pattern, **sizes)
    assert message in str(caught.value)
