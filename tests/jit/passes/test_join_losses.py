"""Cross-entropies and their gradients are one launch where nothing lies between them, and give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import parse, trace
from nbgrad.jit.passes import simplify
from nbgrad.jit.passes.join_losses import join_losses
from nbgrad.jit.text.text import constants_of
from nbgrad.nn.functional import cross_entropy
from tests.jit.passes.before_after import after, names, passed

BOTH, ROWS, BACKWARD = "cross_entropy_both", "cross_entropy_rows", "cross_entropy_rows_backward"


def scores(rows, classes, dtype=np.float32):
    """Scores, with all elements equal in the last row, and targets of which one is ignored."""
    draws = np.random.default_rng(rows + classes)
    x, target = draws.standard_normal((rows, classes)) * 3, draws.integers(0, classes, rows)
    x[-1], target[0] = 0.5, -100
    return nbgrad.tensor(x.astype(dtype), requires_grad=True), nbgrad.tensor(target)


def with_gradient(loss):
    """A function of scores and targets that gives the loss and its gradient."""

    def value_and_gradient(x, target):
        value = loss(x, target)
        return (value, *nbgrad.grad(value, [x]))

    return value_and_gradient


@pytest.mark.parametrize("classes", [1, 3, 63, 64, 257, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_and_gradients_are_one_node(classes, dtype):
    """Sums of exponentials are the same for every length of rows, whichever kernel adds them up."""
    x, target = scores(4, classes, dtype)
    found = passed(join_losses, with_gradient(cross_entropy), x, target)
    assert BOTH in found and ROWS not in found and BACKWARD not in found
    assert found.index("valid_share") < found.index(BOTH) < found.index("valid_mean") < found.index("guard")


@pytest.mark.parametrize(
    ("loss", "joined"),
    [
        (lambda x, t: cross_entropy(x, t, reduction="sum"), True),
        (lambda x, t: (cross_entropy(x, t, reduction="none") * 0.5).sum(), True),
        (lambda x, t: cross_entropy(x * 2, t), True),
        (lambda x, t: cross_entropy(x, t) ** 2, False),  # the gradient is scaled by the loss
        (lambda x, t: cross_entropy(x.half(), t), False),  # in several steps
        (lambda x, t: cross_entropy(x, t) + cross_entropy(x * 2, t), True),
    ],
)
def test_what_stands_between_them(loss, joined):
    """They are two where the gradient waits for the losses, or has no kernel of its own."""
    x, target = scores(5, 7)
    found = passed(join_losses, with_gradient(loss), x, target)
    assert (BOTH in found) is joined and (BACKWARD in found) is not joined


def test_the_joined_node_is_text_and_has_derivatives():
    """The graph is read back from its text, and gradients flow through its calls."""
    x, target = scores(3, 4, np.float64)
    graph = simplify(trace(with_gradient(cross_entropy), x, target))
    assert BOTH in names(graph) and str(parse(str(graph), constants_of(graph.constants))) == str(graph)
    assert names(after(simplify, graph, x, target)) == names(graph)
    value, slope = graph(x, target)
    assert nbgrad.equal(nbgrad.grad(value, [x])[0], slope)
