"""Rows of docs/differences.md that a call can show: nbgrad does what its column says."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import nbgrad
from nbgrad import forward_ad

PAGE = (Path(__file__).parents[1] / "docs" / "differences.md").read_text(encoding="utf-8")
F, linalg = nbgrad.nn.functional, nbgrad.linalg
NAN, INF = math.nan, math.inf


def leaf(values: Any, dtype: str = "float64") -> nbgrad.Tensor:
    """A leaf that requires grad."""
    return nbgrad.tensor(values, dtype=dtype, requires_grad=True)


def slope(function: Callable, values: Any) -> list:
    """The gradient of the sum of a function's result."""
    x = leaf(values)
    return nbgrad.grad(function(x).sum(), x)[0].tolist()


def node(function: Callable, values: Any) -> str:
    """The name of the last node of a function of a leaf."""
    return function(leaf(values)).grad_fn.name()


def strides_of_transposed(function: Callable) -> tuple:
    """The strides of a function's result for a transposed operand."""
    return function(nbgrad.ones(3, 2).t()).stride()


def recorded(write: Callable) -> nbgrad.Tensor:
    """A result with a history, after a write to it."""
    x = leaf([1.0, 2.0, 3.0, 4.0]) * 1
    write(x)
    return x


def moved_down(x: Any) -> Any:
    """A vector whose second and third element are written over the first and second, by ``put_``."""
    return x.put_(nbgrad.tensor([0, 1]), x[1:])


def node_of_a_view_of_what_was_written() -> str:
    """The node of a view whose base was written to, by an operation that was recorded."""
    x = leaf([1.0, 2.0]) * 1
    y = x[1:]
    x.mul_(2)
    return y.grad_fn.name()


def product_with_itself() -> list:
    """The tangent of ``x *= x`` at 3."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(nbgrad.tensor([3.0]), nbgrad.tensor([1.0]))
        x *= x
        return forward_ad.unpack_dual(x).tangent.tolist()


def weight_under_other_memory() -> None:
    """A pass after the memory of a saved factor was exchanged."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x * w
    w.data = nbgrad.ones(2, dtype=nbgrad.float64)
    y.sum().backward()


# (words of the row's first column, call, what it gives: a value, or the error's class)
CLAIMS: tuple[tuple[str, Callable, Any], ...] = (
    ("gradient of `fmod` by the divisor", lambda: slope(lambda y: nbgrad.fmod(1.0, y), [0.1]), [-9.0]),
    ("of a window with several NaN", lambda: F.max_pool2d(nbgrad.full((1, 1, 2, 2), NAN), 2, return_indices=True)[1].item(), 0),
    ("complex zero to the power", lambda: (nbgrad.tensor(0j) ** nbgrad.tensor(0j)).item(), 1),
    ("a shallow copy of a result", lambda: copy.copy(leaf([1.0]) * 2).is_leaf, False),
    ("`x.count_nonzero(0, 1)`", lambda: nbgrad.ones(2, 2).count_nonzero(0, 1), nbgrad.ArgumentError),
    ("`DataLoader(timeout=1)` without workers", lambda: nbgrad.utils.data.DataLoader([1], timeout=1), nbgrad.RangeError),
    (
        "of a class that is out of range, inside of `vmap`",
        lambda: nbgrad.vmap(lambda i: F.one_hot(i, 2))(nbgrad.tensor([3])),
        IndexError,
    ),
    ("`out=` of another shape", lambda: nbgrad.add(nbgrad.ones(3), 1, out=nbgrad.empty(2)), nbgrad.ShapeError),
    ("of an expanded tensor", lambda: nbgrad.ones(1).expand(3).fill_(2), nbgrad.InplaceError),
    ("at other places: `cumsum", lambda: moved_down(nbgrad.arange(3.0)).tolist(), [1.0, 2.0, 2.0]),
    (
        "`out=` of batched tensors in `vmap`",
        lambda: nbgrad.vmap(lambda x, o: nbgrad.add(x, 1, out=o))(*nbgrad.ones(2, 2, 1)).tolist(),
        [[2.0]] * 2,
    ),
    ("`out=` of a wider dtype", lambda: nbgrad.mm(*nbgrad.ones(2, 1, 1), out=nbgrad.empty(1, 1, dtype="float64")).item(), 1.0),
    ("the node of a view after a recorded write", node_of_a_view_of_what_was_written, "SliceBackward0"),
    (
        "by factors that lie between the elements written",
        lambda: recorded(lambda x: x[::2].mul_(x[1::2])).tolist(),
        [2.0, 2.0, 12.0, 4.0],
    ),
    (
        "`jacfwd` with a negative `argnums`",
        lambda: nbgrad.func.jacfwd(lambda a, b: a * b, argnums=-1)(nbgrad.ones(1), nbgrad.ones(1)).item(),
        1.0,
    ),
    ("numbers too large for a floating dtype", lambda: nbgrad.ones(1).fill_(1e300).item(), INF),
    (
        "numbers in the place of a tensor of integers",
        lambda: nbgrad.addmm(*nbgrad.ones(3, 1, 1, dtype="int64"), alpha=0.6),
        nbgrad.DTypeError,
    ),
    ("a bool tensor less a number", lambda: (nbgrad.tensor([True]) - 1).tolist(), [0]),
    (
        "products of floats added to integers",
        lambda: nbgrad.addmm(nbgrad.ones(1, 1, dtype="int64"), *nbgrad.ones(2, 1, 1)).item(),
        2.0,
    ),
    ("with fractional bounds", lambda: nbgrad.arange(0.5, 4.5, 1.5, dtype="int32").tolist(), [0, 1, 2, 3]),
    ("with `dtype=bool`", lambda: nbgrad.cumsum(nbgrad.tensor([1, 0]), 0, dtype=nbgrad.bool).tolist(), [True, True]),
    ("index tensors of int8 and int16", lambda: nbgrad.arange(3)[nbgrad.tensor([1], dtype="int8")].tolist(), [1]),
    (
        "a value with dimensions in `masked_fill`",
        lambda: nbgrad.zeros(2).masked_fill(nbgrad.tensor([True, False]), nbgrad.ones(2)).tolist(),
        [1.0, 0.0],
    ),
    ("begin at an odd place of their storage", lambda: nbgrad.view_as_complex(nbgrad.arange(3.0)[1:]).item(), 1 + 2j),
    ("between tensors that require grad", lambda: nbgrad.linspace(leaf(0.0), 1, 3), nbgrad.NotSupportedError),
    ("a bool, or a whole float, for an integer", lambda: F.one_hot(nbgrad.tensor([1]), 2.0).tolist(), [[0, 1]]),
    (
        "along an expanded dimension",
        lambda: nbgrad.arange(4.0).view(1, 2, 2).expand(2, 2, 2).median(0).values.tolist(),
        [[0.0, 1.0], [2.0, 3.0]],
    ),
    ("which of several equal elements", lambda: nbgrad.ones(3).topk(2).indices.tolist(), [0, 1]),
    ("of no integers", lambda: nbgrad.softmax(nbgrad.zeros(0, dtype="int64"), 0), nbgrad.DTypeError),
    (
        "where the element left out ties",
        lambda: slope(
            lambda s: nbgrad.scatter_reduce(
                nbgrad.full((1,), 3.0, dtype="float64"), 0, nbgrad.tensor([0, 0]), s, "amax", include_self=False
            ),
            [3.0, 3.0],
        ),
        [0.5, 0.5],
    ),
    ("strides of results", lambda: strides_of_transposed(lambda x: x.sort().values), (3, 1)),
    ("its `2 ** x`, `bernoulli`", lambda: strides_of_transposed(lambda x: x.bernoulli()), (1, 2)),
    ("node of `rms_norm`", lambda: node(lambda x: F.rms_norm(x, (2,)), [1.0, 2.0]), "FusedRmsNormBackward0"),
    ("nodes of functions that are composed here", lambda: node(lambda x: F.mse_loss(x, x.detach()), [1.0]), "MeanBackward0"),
    ("second derivatives of `elu`", lambda: slope(lambda x: nbgrad.grad(F.elu(x).sum(), x, create_graph=True)[0], [0.0]), [1.0]),
    ("at poles, or where squares overflow", lambda: slope(F.silu, [-INF, INF]), [-0.0, 1.0]),
    ("gradient of `hypot` where both are 0", lambda: slope(lambda x: nbgrad.hypot(x, 0 * x), [0.0]), [0.0]),
    ("an infinite or undefined cotangent of `amax`", lambda: slope(lambda x: x.amax(0) * INF, [1.0, 2.0]), [0.0, INF]),
    ("forward mode through a write of a tensor to itself", product_with_itself, [6.0]),
    ("gradient of `logaddexp` of two equal infinities", lambda: slope(lambda x: nbgrad.logaddexp(x, x.detach()), [INF]), [0.5]),
    ('`linalg.qr` with `mode="r"`', lambda: slope(lambda x: linalg.qr(x, mode="r")[1], [[-2.0]]), [[1.0]]),
    ("`kron`", lambda: node(lambda x: nbgrad.kron(x, x.detach()), [1.0]), "KronBackward0"),
    ("`inv_ex`, `solve_ex` of singular matrices", lambda: bool(linalg.inv_ex(nbgrad.zeros(2, 2)).inverse.isnan().all()), True),
    ("`cholesky_ex` of what is not positive definite", lambda: bool(linalg.cholesky_ex(-nbgrad.eye(2)).L.isnan().any()), True),
    ("`w.data = y` after `w` was saved", weight_under_other_memory, nbgrad.VersionError),
    ("a word in the place of `size_average`", lambda: F.mse_loss(nbgrad.ones(1), nbgrad.ones(1), "sum"), nbgrad.ArgumentError),
    ("a parameter that is listed twice", lambda: nbgrad.optim.SGD([leaf([1.0])] * 2, lr=0.1), nbgrad.RangeError),
    ('`padding_mode="circular"`', lambda: F.pad(nbgrad.ones(1, 1, 2), (3, 0), mode="circular").shape, (1, 1, 5)),
    ("convolutions of no channels", lambda: F.conv2d(nbgrad.ones(1, 0, 3, 3), nbgrad.ones(2, 0, 2, 2)).shape, (1, 2, 2, 2)),
    ("beside tensors on `meta`", lambda: nbgrad.ones(2).add_(nbgrad.ones(2, device="meta")), nbgrad.DeviceError),
    (
        "on `meta`: `x[mask] = values` of a tensor",
        lambda: nbgrad.ones(2, device="meta").__setitem__(
            nbgrad.ones(2, dtype="bool", device="meta"), nbgrad.ones(1, device="meta")
        ),
        nbgrad.NotSupportedError,
    ),
    ('`LazyLinear(3).to("meta")`', lambda: nbgrad.nn.LazyLinear(3).to("meta").has_uninitialized_params(), True),
    ("integer division by zero", lambda: nbgrad.tensor([1]) // 0, ZeroDivisionError),
)


@pytest.mark.parametrize("words, call, expected", CLAIMS, ids=[words for words, _, _ in CLAIMS])
def test_row_is_true(words, call, expected):
    """The page has the row, and the call gives what nbgrad's column says."""
    assert any(words in line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| "))
    if isinstance(expected, type):
        with pytest.raises(expected):
            call()
    else:
        np.testing.assert_equal(call(), expected)
