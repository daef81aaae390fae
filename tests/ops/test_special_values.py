"""Values and derivatives at 0, -0, 1, tiny and huge numbers, infinities, NaN and ties: finite limits, or stated conventions.

Nothing here says what a derivative is somewhere: the function itself does, beside the point, in double precision. Where a limit
does not exist, or is not attained, its row of samples names the points and says why (``edges``).
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Callable

import numpy as np
import pytest

import nbgrad
from nbgrad import forward_ad, grad
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.symbolic import apply
from nbgrad.kernels.scalars import GUARDS
from nbgrad.kernels.scalars.trigonometric import angle_is_huge
from nbgrad.ops.core import OPS, Elementwise
from nbgrad.ops.expr import SMOOTH_AT, evaluate, is_affine, postorder
from tests.samples import SAMPLES

F, linalg = nbgrad.nn.functional, nbgrad.linalg
nan, inf = float("nan"), float("inf")
DTYPES = ("float64", "float32")
DTYPES_IN_PARTS = [pytest.param(dtype, marks=pytest.mark.part(*part)) for dtype, *part in (("float64", 2, 1), ("float32", 4, 0))]
POINTS = (0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e30, -1e30, inf, -inf, nan)
PAIRS = tuple(itertools.product((0.0, -0.0, 1.0, -1.0, 2.0, inf, -inf, nan), repeat=2))
# Operations on the memory of their first operand, and those of which an operand is a truth value.
NO_FUNCTIONS = {"copy", "fill", "zero", "where", "masked_fill", "kept_scaled"}


def differentiable(required: int) -> list[str]:
    """The elementwise operations of so many operands without a default, which have derivatives."""
    return [
        name
        for name, op in OPS.items()
        if isinstance(op, Elementwise)
        and op.partial_formulas
        and not op.refuses_gradient
        and name not in NO_FUNCTIONS
        and sum(d is op.signature.empty for d in op.defaults) == required
    ]


def array(x: Any, like: Any) -> np.ndarray:
    """A derivative as an array; zeros where there is none."""
    return np.zeros(like.shape) if x is None else np.asarray(x.detach().numpy(), np.float64)


def tangent(f: Callable, operands: list, k: int) -> Any:
    """The tangent of ``f`` in the direction of the k-th operand."""
    with forward_ad.dual_level():
        own = [forward_ad.make_dual(x, nbgrad.ones_like(x)) if i == k else x for i, x in enumerate(operands)]
        return forward_ad.unpack_dual(f(*own)).tangent


def derivatives(f: Callable, points: tuple, dtype: str) -> dict[str, np.ndarray]:
    """Value and derivatives of a function of one variable, in all ways to compute them."""
    x = nbgrad.tensor(list(points), dtype=dtype, requires_grad=True)
    y = f(x)
    (first,) = grad(y.sum(), x, retain_graph=True)
    (recorded,) = grad(y.sum(), x, create_graph=True)
    second = grad(recorded.sum(), x)[0] if recorded.requires_grad else None

    def slope(t):
        return grad(f(t).sum(), t, create_graph=True)[0]

    mixed = tangent(lambda t: slope(t), [nbgrad.tensor(list(points), dtype=dtype, requires_grad=True)], 0)
    return {
        "value": array(y, x),
        "first": array(first, x),
        "recorded": array(recorded, x),
        "second": array(second, x),
        "tangent": array(tangent(f, [x.detach()], 0), x),
        "forward over reverse": array(mixed, x),
    }


@cache
def unary(name: str, dtype: str) -> dict[str, np.ndarray]:
    """``derivatives`` of an operation at ``POINTS``."""
    return derivatives(CALLS[name], POINTS, dtype)


def alike(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Where numbers are equal but for rounding, or both NaN."""
    with np.errstate(invalid="ignore"):
        near = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= tolerance * np.maximum(np.abs(x), np.abs(y)))
    return near | (x == y) | (np.isnan(x) & np.isnan(y))


def failures(what: str, bad: np.ndarray, points: tuple, *shown: np.ndarray) -> list[str]:
    """A line for every point where something is wrong."""
    return [f"{what} at {points[i]}: " + " and ".join(str(x[i]) for x in shown) for i in np.flatnonzero(bad)]


# ---- functions of one variable ---------------------------------------------------------------------------------------

UNARY = differentiable(1)
# Of these the derivative at NaN is a number: they are linear in pieces, and NaN lies in the piece where they are x, or constant.
PIECES = set(
    """
    angle neg positive conj_physical abs sign rad2deg deg2rad floor ceil round trunc frac relu leaky_relu elu hardtanh hardsigmoid
    hardswish celu selu hardshrink softshrink clone pow_one pow_zero sgn
""".split()
)
REMEDY = "a formula that is exact there, or, if there is no limit, edges= in the row of samples (docs/adding-an-op.md)"


def named(name: str, order: str, points: tuple = POINTS) -> np.ndarray:
    """Where the row of samples says that a derivative is NaN, or not its limit."""
    said = SAMPLES[name].edges.get(order, ((), ""))[0] if name in SAMPLES else ()
    if callable(said):
        return np.array([said(*point) for point in points])
    return np.array([any(point == each or each != each and point != point for each in said) for point in points])


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES_IN_PARTS)
def test_one_derivative_however_it_is_computed(name, dtype):
    """A fused kernel, recorded operations and forward mode agree at special values, to second order."""
    made = unary(name, dtype)
    wrong = []
    for one, other in (("first", "recorded"), ("first", "tangent"), ("second", "forward over reverse")):
        bad = ~alike(made[one], made[other], 1e-5)
        bad = bad & ~named(name, one) if one == "second" else bad
        wrong += failures(f"{one} and {other}", bad, POINTS, made[one], made[other])
    assert not wrong, "\n".join([*wrong, REMEDY])


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES_IN_PARTS)
def test_no_derivative_is_nan_where_the_value_is_a_number(name, dtype):
    """0 * inf and inf / inf come about nowhere but at the points that its row names."""
    made, wrong = unary(name, dtype), []
    for order in ("first", "second"):
        bad = np.isnan(made[order]) & ~np.isnan(made["value"]) & ~named(name, order)
        wrong += failures(order, bad, POINTS, made[order], made["value"])
    assert not wrong, "\n".join([*wrong, REMEDY])


@pytest.mark.parametrize("name", UNARY)
def test_nan_stays_nan(name):
    """The derivatives at NaN are NaN, but for functions that are linear in pieces: those pass g on."""
    made = unary(name, "float64")
    if name not in PIECES and np.isnan(made["value"][-1]):
        assert np.isnan(made["first"][-1]) or named(name, "first")[-1], f"{made['first'][-1]}; {REMEDY}"
        assert np.isnan(made["second"][-1]) or name == "square" or named(name, "second")[-1], f"{made['second'][-1]}; {REMEDY}"


@pytest.mark.part(3, 0)
@pytest.mark.parametrize("name", UNARY)
def test_single_precision_agrees_with_double(name):
    """Value and derivatives in float32 are those in float64, rounded; nothing overflows on the way."""
    narrow, wide, wrong = unary(name, "float32"), unary(name, "float64"), []
    for order in ("value", "first", "second"):
        with np.errstate(over="ignore"):
            want = wide[order].astype(np.float32).astype(np.float64)
        # 1e30 is another angle in float32. What is far below 1 there may be 0: the difference of equals, the root of an overflow.
        angle = GUARDS.get(name, ("",))[0] is angle_is_huge and np.abs(POINTS) == 1e30
        tiny = (np.abs(want) < 1e-29) & (np.abs(narrow[order]) < 1e-29)
        same = alike(narrow[order], want, 1e-4) | angle | tiny | named(name, order)
        wrong += failures(order, ~same, POINTS, narrow[order], want)
    assert not wrong, "\n".join([*wrong, REMEDY])


def limits(name: str) -> list[tuple[str, float, float]]:
    """``(order, point, limit)``: the limits that numbers beside a point suggest, from both sides or towards infinity."""
    found = []
    for point in (0.0, 1.0, -1.0):
        beside = derivatives(CALLS[name], tuple(point + away for away in (-1e-4, 1e-4, -1e-5, 1e-5)), "float64")
        for order in ("value", "first", "second"):
            left, right, near_left, near_right = beside[order]
            if np.isfinite(beside[order]).all() and abs(left - right) < 0.02 * (1 + abs(left)) and abs(near_left - left) < 0.02:
                found.append((order, point, (near_left + near_right) / 2))
    for sign in (1, -1):
        towards = derivatives(CALLS[name], (sign * 1e4, sign * 1e8, sign * 1e12), "float64")
        for order in ("value", "first", "second"):
            first, second, third = towards[order]
            if np.isfinite(towards[order]).all() and abs(first - second) < 0.1 and abs(second - third) < 1e-6:
                found.append((order, sign * inf, third))
    return found


@pytest.mark.parametrize("name", UNARY)
def test_limits_are_attained(name):
    """Where a value or derivative has a finite limit, the point itself has it; -0 as 0."""
    made, wrong = unary(name, "float64"), []
    for order, point, limit in limits(name):
        if named(name, order, (point,)).any():
            continue
        for i in np.flatnonzero(np.asarray(POINTS) == point):
            if not abs(made[order][i] - limit) < 2e-3 * (1 + abs(limit)):
                wrong.append(f"{order} at {POINTS[i]}: {made[order][i]}, limit {limit}")
    assert not wrong, "\n".join([*wrong, REMEDY])


# ---- functions of several variables ----------------------------------------------------------------------------------

BINARY = [name for name in (*differentiable(2), *differentiable(3), *differentiable(4)) if name != "zeta"]


@cache
def binary(name: str, dtype: str) -> dict[str, Any]:
    """Value, first and second derivatives by the first two operands; further ones are 0.5."""
    op: Any = OPS[name]
    x, y = (nbgrad.tensor([pair[k] for pair in PAIRS], dtype=dtype, requires_grad=op.differentiable[k]) for k in (0, 1))
    rest = [0.5] * (sum(d is op.signature.empty for d in op.defaults) - 2)

    def f(x, y):
        return CALLS[name](x, y, *rest)

    out = f(x, y)

    def gradients(y, create_graph=False):
        """By both operands, None where there is none."""
        wanted = [each for each in operands if each.requires_grad]
        if y is None or not y.requires_grad:
            return [None, None]
        found = iter(grad(y.sum(), wanted, retain_graph=True, create_graph=create_graph, allow_unused=True))
        return [next(found) if each.requires_grad else None for each in operands]

    operands = [x, y]
    first, recorded = gradients(out), gradients(out, True)
    second = [gradients(g) for g in recorded]
    return {
        "value": array(out, x),
        "first": [array(g, x) for g in first],
        "recorded": [array(g, x) for g in recorded],
        "tangent": [array(tangent(f, [x.detach(), y.detach()], k) if operands[k].requires_grad else None, x) for k in (0, 1)],
        "second": [[array(h, x) for h in row] for row in second],
    }


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES_IN_PARTS)
def test_one_partial_derivative_however_it_is_computed(name, dtype):
    """As for one variable, at all pairs of special values: ties among them."""
    made, wrong = binary(name, dtype), []
    for k in (0, 1):
        for other in ("recorded", "tangent"):
            bad = ~alike(made["first"][k], made[other][k], 1e-5)
            wrong += failures(f"{other} by operand {k}", bad, PAIRS, made["first"][k], made[other][k])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES_IN_PARTS)
def test_no_partial_derivative_is_nan_at_numbers(name, dtype):
    """At pairs of numbers where the value is one, first and second derivatives are not NaN."""
    made, wrong = binary(name, dtype), []
    usual = np.isfinite(PAIRS).all(1) & ~named(name, "second", PAIRS) & np.isfinite(made["value"])
    for k in (0, 1):
        wrong += failures(f"by {k}", usual & np.isnan(made["first"][k]), PAIRS, made["first"][k], made["value"])
        for j in (0, 1):
            wrong += failures(f"by {k}, {j}", usual & np.isnan(made["second"][k][j]), PAIRS, made["second"][k][j], made["value"])
    assert not wrong, "\n".join([*wrong, REMEDY])


@pytest.mark.parametrize("name", BINARY)
def test_second_derivatives_are_symmetric(name):
    """d/dx d/dy is d/dy d/dx at pairs of numbers."""
    made = binary(name, "float64")
    usual = np.isfinite(PAIRS).all(1) & ~named(name, "mixed", PAIRS) & np.isfinite(made["value"])
    one, other = made["second"][0][1], made["second"][1][0]
    with np.errstate(invalid="ignore"):
        wrong = failures("mixed", usual & ~alike(one, other, 1e-5) & ~(np.abs(one - other) < 1e-9), PAIRS, one, other)
    assert not wrong, "\n".join([*wrong, REMEDY])


# ---- reductions and losses -------------------------------------------------------------------------------------------

VECTORS = ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 2.0, 3.0], [2.0, 1.0, 2.0], [0.5, 1.5, 2.5])
ONE, TWO = [1.0, 2.0, 3.0], [1.0, -1.0, 1.0]


def like(x, numbers):
    """Numbers in the dtype of ``x``."""
    return nbgrad.tensor(numbers, dtype=x.dtype)


def method(name: str, *attributes) -> Callable:
    """The method of that name."""
    return lambda x: getattr(x, name)(*attributes)


def norm_of_order(p: float) -> Callable:
    """The p-norm."""
    return lambda x: linalg.vector_norm(x, p)


def loss(name: str, target: list) -> Callable:
    """The losses of that name, of one target."""
    return lambda x: getattr(F, name)(x, like(x, target), reduction="none")


def class_loss(name: str) -> Callable:
    """The loss of that name, of class 1."""
    return lambda x: getattr(F, name)(x, nbgrad.tensor(1))


REDUCTIONS: dict[str, Callable] = {
    **{
        name: method(name)
        for name in ("sum", "mean", "prod", "amax", "amin", "max", "min", "median", "nanmedian", "var", "std", "nansum", "nanmean")
    },
    **{name: method(name, 0) for name in ("logsumexp", "softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp")},
    **{f"norm of order {p}": norm_of_order(p) for p in (0.5, 1, 2, 3, -1, inf, -inf)},
    "max along a dimension": lambda x: x.max(0).values,
    "mode": lambda x: x.mode(0).values,
    "sort": lambda x: x.sort().values,
    "kthvalue": lambda x: x.kthvalue(2).values,
    "cummax": lambda x: x.cummax(0).values,
    "quantile": lambda x: x.quantile(0.4),
    "normalize": lambda x: F.normalize(x, dim=0),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "cov": nbgrad.cov,
    "cosine_similarity": lambda x: F.cosine_similarity(x, like(x, ONE), 0),
    "dist": lambda x: nbgrad.dist(x, x.detach()),
    "cdist": lambda x: nbgrad.cdist(x[None], x.detach()[None]),
    "renorm": lambda x: x[None].renorm(2, 0, 1.0),
    "norm of complex numbers": lambda x: nbgrad.complex(x, 0 * x).norm(),
    "moduli": lambda x: nbgrad.complex(x, 0 * x).abs(),
}
LOSSES: dict[str, Callable] = {
    **{name: loss(name, ONE) for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss")},
    **{name: loss(name, TWO) for name in ("hinge_embedding_loss", "soft_margin_loss")},
    **{name: class_loss(name) for name in ("cross_entropy", "nll_loss", "multi_margin_loss")},
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.clamp(0, 1), like(x, [0.0, 1.0, 0.5]), reduction="none"),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, like(x, [0.0, 1.0, 0.5])),
    "kl_div by the target": lambda x: F.kl_div(like(x, ONE), x, reduction="none"),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x, like(x, ONE), like(x, TWO), reduction="none"),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, like(x, ONE), like(x, [1.0, 2.0, 0.0]), reduction="none"),
}


@pytest.mark.parametrize("name", [*REDUCTIONS, *LOSSES])
@pytest.mark.parametrize("dtype", DTYPES_IN_PARTS)
def test_reductions_and_losses_have_numbers_for_derivatives(name, dtype):
    """At zeros, ties and equal elements: first and second derivatives are numbers, and agree however they are computed."""
    f = {**REDUCTIONS, **LOSSES}[name]
    wrong = []
    for vector in VECTORS:
        made = derivatives(f, tuple(vector), dtype)
        for order in ("first", "tangent", "second", "forward over reverse"):
            if np.isnan(made[order]).any():
                wrong.append(f"{order} at {vector}: {made[order]}")
        if not alike(made["first"], made["recorded"], 1e-5).all():
            wrong.append(f"recorded at {vector}: {made['first']} and {made['recorded']}")
    assert not wrong, "\n".join(wrong)


SHARED = "those that tie share the gradient, of NaN too"
# (what, function, operand, value, gradient, reason)
CONVENTIONS: tuple[tuple[str, Callable, list, Any, list, str], ...] = (
    ("max", lambda x: x.max(), [1.0, nan, nan], nan, [0, 0.5, 0.5], SHARED),
    ("amin", lambda x: x.amin(0), [1.0, nan, 2.0], nan, [0, 1, 0], SHARED),
    ("aminmax", lambda x: x.aminmax().max, [2.0, 1.0, 2.0], 2.0, [0.5, 0, 0.5], SHARED),
    ("median", lambda x: x.median(), [1.0, 1.0, 2.0], 1.0, [0.5, 0.5, 0], SHARED),
    ("median", lambda x: x.median(), [1.0, nan, nan], nan, [0, 0.5, 0.5], SHARED),
    ("nanmedian", lambda x: x.nanmedian(), [1.0, nan, 1.0], 1.0, [0.5, 0, 0.5], SHARED),
    ("max along a dimension", lambda x: x.max(0).values, [-0.0, 0.0, -1.0], 0.0, [1, 0, 0], "the first of equal ones; -0 equals 0"),
    ("mode", lambda x: x.mode(0).values, [nan, 1.0, 2.0], nan, [1, 0, 0], "every NaN is another value, below all numbers"),
    ("mode", lambda x: x.mode(0).values, [nan, nan, 1.0, 1.0], 1.0, [0, 0, 0, 1], "every NaN is another value"),
    ("norm", lambda x: linalg.vector_norm(x, 3), [0.0, 0.0], 0.0, [0, 0], "the subgradient at 0 is 0"),
    ("norm", lambda x: linalg.vector_norm(x, 3), [1e-200, 0.0], 0.0, [0, 0], "the cube has come out as 0"),
    ("std", lambda x: x.std(), [0.20723548340924475] * 36, 0.0, [0] * 36, "a constant deviates by nothing"),
    ("logaddexp", lambda x: nbgrad.logaddexp(x, like(x, [1e8, 1e8])), [1e8, 1e8], None, [0.5, 0.5], "from the difference"),
    (
        "logaddexp",
        lambda x: nbgrad.logaddexp(x, like(x, [0.0, inf, inf])),
        [inf, 0.0, inf],
        None,
        [1, 0, 0.5],
        "equal infinities share",
    ),
    ("logaddexp2", lambda x: nbgrad.logaddexp2(x, like(x, [0.0, inf, -inf])), [inf, 0.0, -inf], None, [1, 0, 0.5], "as logaddexp"),
    ("maximum", lambda x: nbgrad.maximum(x, like(x, [1.0, nan, 2.0])), [nan, 1.0, 2.0], None, [1, 1, 0.5], "NaN takes it whole"),
    ("minimum", lambda x: nbgrad.minimum(x, like(x, [1.0, nan, 2.0])), [nan, 1.0, 2.0], None, [1, 1, 0.5], "NaN takes it whole"),
    ("atan2", lambda x: nbgrad.atan2(x, like(x, [0.0, -0.0])), [0.0, -0.0], None, [0, 0], "no direction: 0"),
    ("hypot", lambda x: nbgrad.hypot(x, like(x, [0.0, 0.0])), [nan, 0.0], None, [nan, 0], "no direction: 0; NaN stays"),
    ("copysign", lambda x: nbgrad.copysign(x, like(x, [-1.0] * 3)), [0.0, nan, inf], None, [0, nan, -1], "no sign: 0"),
    ("smooth_l1_loss", lambda x: F.smooth_l1_loss(x, 0 * x, reduction="sum"), [nan, 1.0], nan, [nan, 1], "NaN stays"),
    ("huber_loss", lambda x: F.huber_loss(x, like(x, [0.0, 0.0]), reduction="sum"), [nan, 2.0], nan, [nan, 1], "NaN stays"),
    ("kl_div", lambda x: F.kl_div(x, like(x, [0.0, 0.5]), reduction="sum"), [-inf, 0.0], None, [0, -0.5], "0 log(0 / q) is 0"),
    (
        "kl_div by the target",
        lambda x: F.kl_div(like(x, [-1.0] * 3), x, reduction="none"),
        [0.0, -1.0, nan],
        None,
        [0, nan, nan],
        "at 0 the derivative is 0, below it there is none",
    ),
    (
        "multi_margin_loss",
        lambda x: F.multi_margin_loss(x, nbgrad.tensor(0)),
        [2.0, 1.0, 2.0],
        1 / 3,
        [-1 / 3, 0, 1 / 3],
        "a margin that is met exactly costs nothing",
    ),
    (
        "poisson_nll_loss by the target",
        lambda x: F.poisson_nll_loss(like(x, [0.0] * 3), x, full=True, reduction="sum"),
        [0.0, 1.0, 2.0],
        None,
        [0, 0, np.log(2) + 0.25],
        "Stirling's term counts above 1 alone",
    ),
    ("prelu", lambda x: F.prelu(like(x, [[inf, -1.0]]), x), [0.5, 0.5], None, [0, -1], "the weight has no part in what is above 0"),
)


@pytest.mark.parametrize(
    "what, function, operand, value, expected, reason", CONVENTIONS, ids=[f"{row[0]} {row[2][:3]}" for row in CONVENTIONS]
)
def test_convention(what, function, operand, value, expected, reason):
    """What stands where there is no derivative."""
    for create_graph in (False, True):
        x = nbgrad.tensor(operand, dtype=nbgrad.float64, requires_grad=True)
        out = function(x)
        if value is not None:
            assert alike(np.asarray(out.item()), np.asarray(value), 1e-12), f"{out.item()}, expected {value}: {reason}"
        (found,) = grad(out.sum(), x, create_graph=create_graph)
        assert alike(array(found, x), np.asarray(expected, float), 1e-12).all(), f"{found.tolist()}, expected {expected}: {reason}"


def test_shared_gradients_in_batches_and_forward_mode():
    """The median of all elements shares its derivative among ties in vmap too; in forward mode it is the mean of theirs."""
    rows = nbgrad.tensor([[1.0, 1.0, 2.0], [nan, 3.0, nan]], dtype=nbgrad.float64)
    expected = [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    assert nbgrad.vmap(nbgrad.func.grad(lambda x: x.median()))(rows).tolist() == expected
    t = nbgrad.tensor([1.0, 2.0, 5.0], dtype=nbgrad.float64)
    for row, share in zip(rows, expected):
        found = nbgrad.func.jvp(lambda x: x.median(), (row,), (t,))[1].item()
        assert found == sum(a * b for a, b in zip(share, t.tolist()))


# ---- the mechanism ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*UNARY, *BINARY, "zeta"])
def test_branches_not_taken_are_smooth(name):
    """Where a side of a choice is not taken, its operands are numbers at which it and its derivative are finite."""
    op: Any = OPS[name]
    for operand in op.partial_formulas:
        for node in postorder([op.vjp(operand)]):
            for branch in node.args[1:] if node.op == "where" else ():
                if is_affine(branch) or "nan" in str(branch):
                    continue
                values = {s: nbgrad.tensor(SMOOTH_AT, dtype=nbgrad.float64, requires_grad=True) for s in branch.symbols()}
                (made,) = evaluate((branch,), values, apply)
                assert np.isfinite(made.item()), branch
                for g in grad(made, [*values.values()], allow_unused=True):
                    assert g is None or np.isfinite(g.item()), branch


@pytest.mark.parametrize("name, point", [("elu", 100.0), ("selu", 1000.0), ("celu", 89.0), ("silu", -1e4), ("gelu", 300.0)])
def test_third_derivatives_of_activations_far_out(name, point):
    """Every order keeps clear of the branch that is not taken."""
    f = nbgrad.func.grad(nbgrad.func.grad(nbgrad.func.grad(getattr(F, name))))
    assert f(nbgrad.tensor(point)).item() == 0


def test_recorded_gradients_of_half_types_are_rounded_once():
    """Steps of a recorded formula are in single precision, as those of a kernel: nothing overflows that float16 cannot hold."""
    x = nbgrad.tensor([300.0, -300.0, 0.3], dtype=nbgrad.float16, requires_grad=True)
    for approximate in ("none", "tanh"):
        y = F.gelu(x, approximate=approximate).sum()
        (at_once,) = grad(y, x, retain_graph=True)
        (recorded,) = grad(y, x, create_graph=True)
        assert recorded.dtype is nbgrad.float16
        assert recorded.tolist() == at_once.tolist()
        (second,) = grad(recorded.sum(), x)
        assert second[:2].tolist() == [0, 0] and second[2].item() == pytest.approx(0.7285, abs=2e-3)


def test_mixed_derivative_of_a_power_at_exponent_0():
    """d/dx d/dy x**y is 1 / x where y is 0, in either order."""
    x, y = (nbgrad.tensor(v, dtype=nbgrad.float64, requires_grad=True) for v in (4.0, 0.0))
    by_x, by_y = grad(x**y, (x, y), create_graph=True)
    assert grad(by_x, y, retain_graph=True)[0].item() == 0.25
    assert grad(by_y, x)[0].item() == 0.25


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min", "median", "nanmedian"])
@pytest.mark.parametrize("g", [inf, nan])
def test_infinite_cotangents_reach_extrema_alone(name, g):
    """What does not attain an extremum gets 0, whatever the extremum gets."""
    x = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = getattr(x, name)()
    (got,) = grad(y, x, nbgrad.tensor(g))
    attained = x.detach().numpy() == y.item()
    np.testing.assert_array_equal(got.numpy(), np.where(attained, g, 0.0))


@pytest.mark.parametrize(("dtype", "value"), [("float32", 1e5), ("float16", 1e4), ("bfloat16", 1e4)])
def test_shares_of_a_logarithm_of_sums_add_up(dtype, value):
    """The gradient of ``logsumexp`` of great equal numbers: one n-th each, though the result is rounded by more than log(n)."""
    x = nbgrad.full((4, 2), value, dtype=dtype, requires_grad=True)
    for y, share in ((x.logsumexp(0), 0.25), (x.logsumexp((0, 1)), 0.125)):
        np.testing.assert_allclose(grad(y.sum(), x)[0].double().numpy(), share, rtol=1e-6)
    np.testing.assert_allclose(tangent(lambda t: t.logsumexp(0), [x.detach()], 0).double().numpy(), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "shares"), [((inf, 1.0), (1, 0)), ((inf, inf), (0.5, 0.5)), ((-inf, -inf), (0, 0)), ((-inf, 1.0), (0, 1))]
)
def test_shares_of_a_logarithm_of_infinite_sums(values, shares):
    """The limits: equal infinities share alike; nothing has a share in nothing."""
    x = nbgrad.tensor(values, requires_grad=True)
    (g,) = grad(x.logsumexp(0), x, create_graph=True)
    assert g.tolist() == list(shares) and grad(g.sum(), x)[0].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_halves_may_overflow_on_the_way(dtype):
    """The gradient of a product whose partial products a half type does not hold is that in double precision, rounded."""
    values = np.array([300.0] * 4 + [0.001] * 4)
    x = nbgrad.tensor(values.tolist(), dtype=dtype, requires_grad=True)
    exact = x.detach().double().numpy()
    for y in (x.prod(), x.reshape(2, 2, 2).prod((0, 1)).prod(), x.cumprod(0)[-1]):
        np.testing.assert_allclose(grad(y, x)[0].double().numpy(), exact.prod() / exact, rtol=0.02, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_significands_and_exponents_are_numpys(dtype):
    """nextafter, frexp and ldexp have NumPy's bits at zeros, subnormal numbers, the ends and infinities."""
    info = np.finfo(dtype)
    numbers = [0, 1, 2, 3.7, info.max, info.tiny, info.smallest_subnormal, info.tiny / 100, np.inf]
    s = np.array([*numbers, *(-x for x in numbers), np.nan], dtype)
    x, y = (each.ravel().copy() for each in np.meshgrid(s, s))
    with np.errstate(all="ignore"):
        pairs = [
            (nbgrad.nextafter(nbgrad.tensor(x), nbgrad.tensor(y)), np.nextafter(x, y)),
            *zip(nbgrad.frexp(nbgrad.tensor(s)), np.frexp(s)),
            *((nbgrad.ldexp(nbgrad.tensor(s), nbgrad.tensor([n])), np.ldexp(s, n)) for n in (-2000, -300, -149, 1, 128, 2000)),
        ]
    for got, want in pairs:
        np.testing.assert_array_equal(got.numpy(), want)
        np.testing.assert_array_equal(np.signbit(got.numpy())[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


@pytest.mark.parametrize("name, lowest", [("xlogy", 0.0), ("xlog1py", -1.0)])
def test_a_cotangent_of_zero_stays_zero_where_the_logarithm_is_infinite(name, lowest):
    """By the first factor of x log(y), backward and forward: nothing times an infinite logarithm is nothing."""
    function = getattr(nbgrad.special, name)
    x = nbgrad.tensor([2.0, 2.0, 2.0, 0.0], requires_grad=True)
    y = nbgrad.tensor([lowest, lowest - 1, np.inf, np.inf])
    (g,) = nbgrad.grad(function(x, y), x, nbgrad.zeros(4))
    assert g.tolist() == [0.0] * 4
    assert nbgrad.func.jvp(lambda x: function(x, y), (x.detach(),), (nbgrad.zeros(4),))[1].tolist() == [0.0] * 4
    (g,) = nbgrad.grad(function(x, y)[0], x)
    assert g.tolist() == [-np.inf, 0.0, 0.0, 0.0]


def test_a_zero_cotangent_of_xlogy_has_the_derivative_of_any_other():
    """Where the logarithm is finite, the cotangent is linear in what it is made of, zero or not."""
    x, g = nbgrad.tensor([2.0, 0.0], requires_grad=True), nbgrad.zeros(2, requires_grad=True)
    (made,) = nbgrad.grad(nbgrad.xlogy(x, nbgrad.tensor([3.0, 3.0])), x, g, create_graph=True)
    assert np.allclose(nbgrad.grad(made.sum(), g)[0].numpy(), np.log(3.0))


def test_the_cotangent_of_a_divisor_does_not_overflow_on_the_way():
    """g x may be infinite in float32 where g x / y / y is not: both quotients come first, in both modes and of addcdiv, too."""
    x, y, g = nbgrad.tensor([1e30, 0.0]), nbgrad.tensor([1e35, 2.0], requires_grad=True), nbgrad.tensor([1e30, 3.0])
    expected = nbgrad.tensor([-1e-10, 0.0])
    for quotient in (lambda y: x / y, lambda y: nbgrad.addcdiv(nbgrad.zeros(2), x, y)):
        assert nbgrad.allclose(nbgrad.grad(quotient(y), [y], g)[0], expected, rtol=1e-6, atol=0)
        assert nbgrad.allclose(nbgrad.func.jvp(quotient, (y.detach(),), (g,))[1], expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("p", [-2.0, -1.5, -1, 0.5])
def test_norm_of_a_zero_among_others(p):
    """With a negative order the norm is 0 wherever an element is, so the others have no influence; elements of 0 have slope 0."""
    x = nbgrad.tensor([1.5, -0.5, 0.0], dtype=nbgrad.float64, requires_grad=True)
    y = nbgrad.linalg.vector_norm(x, p)
    (g,) = nbgrad.grad(y, x)
    expected = [0.0, 0.0, 0.0] if p < 0 else [*((y / x[:2].abs()) ** 0.5 * x[:2].sign()).tolist(), 0.0]
    np.testing.assert_allclose(g.numpy(), expected, rtol=1e-12)


def test_logcumsumexp_behind_infinity():
    """What is added to an infinite sum has no share in it; what comes before has its own. torch's numbers."""
    x = nbgrad.tensor([2.0, inf, 1.0, inf, 0.5], dtype=nbgrad.float64, requires_grad=True)
    (x.logcumsumexp(0) * nbgrad.arange(1.0, 6.0, dtype=nbgrad.float64)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, np.nan, 0.0, np.nan, 0.0])
