"""Operands that broadcast: the operation on them is the operation on what they expand to, with every derivative and batch."""

from __future__ import annotations

import zlib
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np
import pytest

import nbgrad
from nbgrad import linalg
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.base.calls import CALLS
from nbgrad.batch.vmap import vmap
from nbgrad.ops.core import OPS, Elementwise
from tests.samples import SAMPLES
from tests.samples.checking import close
from tests.samples.row import draw

pytestmark = pytest.mark.filterwarnings("ignore:.*is broadcast against:UserWarning")
F = nbgrad.nn.functional
POSITIVE, UNIT = ((0.3, 2.0),), ((0.2, 0.8),)
SIZE = 2


class Entry(NamedTuple):
    """A function of operands that broadcast.

    Attributes:
        function: of tensors.
        shapes: of the operands, all expanded.
        domains: of each operand.
        fixed: how many last dimensions of each operand do not broadcast.
        one_rank: operands must have as many dimensions.
        constants: places of the operands by which there is no derivative.
    """

    function: Callable
    shapes: tuple
    domains: tuple
    fixed: tuple
    one_rank: bool
    constants: tuple = ()

    def varies(self, k: int, x: np.ndarray) -> bool:
        """Whether there is a derivative by the k-th operand."""
        return x.dtype.kind == "f" and k not in self.constants


def entry(function: Callable, *shapes: tuple, domains: Any = POSITIVE, fixed: Any = 0, one_rank: bool = False) -> Entry:
    """An entry whose operands have one domain, and as many dimensions that do not broadcast, unless there are several."""
    count = len(shapes)
    several = isinstance(domains, list)
    return Entry(
        function,
        shapes,
        tuple(domains) if several else (domains,) * count,
        fixed if isinstance(fixed, tuple) else (fixed,) * count,
        one_rank,
    )


def loss(function: Callable, **options: Any) -> Callable:
    """A loss without reduction."""
    return lambda *operands: function(*operands, reduction="none", **options)


def elementwise_entry(op: Elementwise) -> Entry:
    """Operands of two dimensions, from the domains of the operation's samples."""
    row = SAMPLES[op.name]
    made = entry(
        CALLS[op.name],
        *((2, 3),) * len(op.operands),
        domains=[row.domains.get(name, row.domain) if name not in op.boolean else None for name in op.operands],
    )
    return made._replace(constants=tuple(k for k, name in enumerate(op.operands) if name not in op.partial_formulas))


X, ROWS, M = (2, 3), (2, 2, 3), (2, 3, 3)
TABLE: dict[str, Entry] = {
    **{
        name: elementwise_entry(op)
        for name, op in OPS.items()
        if isinstance(op, Elementwise)
        and len(op.operands) > 1
        and op.partial_formulas
        and not op.refuses_gradient
        and not name.endswith("_")
        and name not in ("copy", "fill")
    },
    "complex": entry(nbgrad.complex, X, X),
    "polar": entry(nbgrad.polar, X, X),
    "ldexp": entry(nbgrad.ldexp, X, X),
    "float_power": entry(nbgrad.float_power, X, X),
    "addcmul": entry(nbgrad.addcmul, X, X, X),
    "addcdiv": entry(nbgrad.addcdiv, X, X, X),
    "max of two": entry(nbgrad.max, X, X),
    "min of two": entry(nbgrad.min, X, X),
    "clamp": entry(nbgrad.clamp, X, X, X),
    "where": entry(lambda x, y: nbgrad.where(x > 1, x, y), X, X),
    "dist": entry(nbgrad.dist, X, X),
    "pairwise_distance": entry(nbgrad.pairwise_distance, X, X),
    "cosine_similarity": entry(F.cosine_similarity, X, X),
    "cosine_similarity of rows": entry(lambda x, y: F.cosine_similarity(x, y, -2), ROWS, ROWS),
    "cdist": entry(nbgrad.cdist, (2, 4, 3), (2, 2, 3), fixed=2),
    "cross": entry(lambda x, y: nbgrad.cross(x, y, -1), X, X, fixed=1),
    "linalg.cross": entry(linalg.cross, X, X),
    "vecdot": entry(linalg.vecdot, X, X),
    "matmul": entry(nbgrad.matmul, (2, 4, 3), (2, 3, 2), fixed=2),
    "addmm": entry(lambda b, x, y: nbgrad.addmm(b, x, y, beta=0.5), (2, 4), (2, 3), (3, 4), fixed=(0, 2, 2)),
    "addmm of a bias": entry(nbgrad.addmm, (2, 4), (2, 3), (3, 4), fixed=(0, 2, 2)),
    "addmv": entry(nbgrad.addmv, (2,), (2, 3), (3,), fixed=(0, 2, 1)),
    "addr": entry(nbgrad.addr, (2, 3), (2,), (3,), fixed=(0, 1, 1)),
    "baddbmm": entry(nbgrad.baddbmm, (2, 4, 2), (2, 4, 3), (2, 3, 2), fixed=(0, 3, 3)),
    "addbmm": entry(nbgrad.addbmm, (4, 2), (2, 4, 3), (2, 3, 2), fixed=(0, 3, 3)),
    "solve": entry(lambda a, b: linalg.solve(a @ a.mT + nbgrad.eye(3, dtype=a.dtype), b), M, (2, 3, 2), fixed=2),
    "solve_triangular": entry(lambda a, b: linalg.solve_triangular(a, b, upper=False), M, (2, 3, 2), fixed=2),
    "cholesky_solve": entry(lambda b, a: nbgrad.cholesky_solve(b, a), (2, 3, 2), M, fixed=2),
    "lu_solve": entry(lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), M, (2, 3, 2), fixed=2),
    "solve from the right": entry(
        lambda a, b: linalg.solve(a @ a.mT + nbgrad.eye(3, dtype=a.dtype), b, left=False), M, (2, 2, 3), fixed=2, one_rank=True
    ),
    "lstsq": entry(lambda a, b: linalg.lstsq(a, b).solution, (2, 4, 3), (2, 4, 2), fixed=2, one_rank=True),
    "igamma": entry(lambda a, x: nbgrad.igamma(a.detach(), x), X, X),
    "igammac": entry(lambda a, x: nbgrad.igammac(a.detach(), x), X, X),
    "nextafter": entry(lambda x, y: nbgrad.nextafter(x, y).detach() + x * y, X, X),
    "masked_select": entry(lambda x: x.masked_select(nbgrad.tensor([[True, False, True], [False, True, True]])), X),
    "masked_scatter": entry(
        lambda x, y: x.masked_scatter(nbgrad.tensor([[True, False, True], [False, True, True]]), y), X, X, fixed=(0, 2)
    ),
    "index_put": entry(lambda x, y: x.index_put((nbgrad.tensor([0, 1]),), y), X, X, fixed=(2, 0)),
    "take_along_dim": entry(
        lambda x: nbgrad.take_along_dim(x, nbgrad.tensor([[0, -1, 1], [1, 0, -2]]), -1), X, one_rank=True, fixed=1
    ),
    "trapezoid": entry(nbgrad.trapezoid, X, X, fixed=1),
    "cumulative_trapezoid": entry(nbgrad.cumulative_trapezoid, X, X, fixed=1),
    "einsum": entry(lambda x, y: nbgrad.einsum("...i,...i->...", x, y), X, X, fixed=1),
    "prelu": entry(F.prelu, X, (3,), domains=[((-2.0, -0.3), (0.3, 2.0)), POSITIVE], fixed=(2, 0)),
    "mse_loss": entry(loss(F.mse_loss), X, X),
    "l1_loss": entry(loss(F.l1_loss), X, X),
    "smooth_l1_loss": entry(loss(F.smooth_l1_loss), X, X),
    "huber_loss": entry(loss(F.huber_loss), X, X),
    "binary_cross_entropy": entry(loss(F.binary_cross_entropy), X, X, X, domains=UNIT, fixed=(2, 2, 0)),
    "binary_cross_entropy_with_logits": entry(loss(F.binary_cross_entropy_with_logits), X, X, X, domains=UNIT, fixed=(2, 2, 0)),
    "pos_weight": entry(
        lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), X, X, X, domains=UNIT, fixed=(2, 2, 0)
    ),
    "kl_div": entry(loss(F.kl_div), X, X, domains=UNIT),
    "poisson_nll_loss": entry(loss(F.poisson_nll_loss), X, X),
    "gaussian_nll_loss": entry(loss(F.gaussian_nll_loss), X, X, X, fixed=(2, 2, 1), one_rank=True),
    "hinge_embedding_loss": entry(
        lambda x: F.hinge_embedding_loss(x, nbgrad.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), reduction="none"), X
    ),
    "soft_margin_loss": entry(loss(F.soft_margin_loss), X, X),
    "margin_ranking_loss": entry(loss(F.margin_ranking_loss), X, X, X, one_rank=True),
    "multilabel_soft_margin_loss": entry(loss(F.multilabel_soft_margin_loss), X, X, domains=UNIT),
    "triplet_margin_loss": entry(loss(F.triplet_margin_loss), X, X, X, fixed=1, one_rank=True),
    "cosine_embedding_loss": entry(
        lambda x, y: F.cosine_embedding_loss(x, y, nbgrad.tensor([1.0, -1.0]), reduction="none"), X, X, one_rank=True
    ),
}


def variants(shape: tuple, fixed: int, one_rank: bool) -> list[tuple]:
    """The shapes that expand to ``shape``, with one dimension of size 1 or without the first."""
    free = len(shape) - fixed
    return [*(shape[:d] + (1,) + shape[d + 1 :] for d in range(free)), *([shape[1:]] if free and not one_rank else [])]


def combinations(each: Entry) -> Iterator[tuple]:
    """Shapes of operands of which one, or each in another way, is smaller than what it expands to."""
    smaller = [variants(shape, fixed, each.one_rank) for shape, fixed in zip(each.shapes, each.fixed)]
    for k, options in enumerate(smaller):
        for shape in options:
            yield (*each.shapes[:k], shape, *each.shapes[k + 1 :])
    mixed = tuple(options[k % len(options)] if options else shape for k, (options, shape) in enumerate(zip(smaller, each.shapes)))
    if sum(len(options) > 2 - each.one_rank for options in smaller) > 1:  # two dimensions, so that together they are no smaller
        yield mixed


def operands_of(name: str, shapes: tuple, *lead: int) -> list[np.ndarray]:
    """Numbers of the domains."""
    rng = np.random.default_rng(zlib.crc32(f"{name}{shapes}".encode()))
    return [
        draw(rng, (*lead, *shape), domain or POSITIVE, "float64" if domain is not None else "bool")
        for shape, domain in zip(shapes, TABLE[name].domains)
    ]


def expanding(each: Entry) -> Callable:
    """The function of operands that are expanded one by one: what broadcasting means."""
    return lambda *operands: each.function(*(x.expand(*shape) for x, shape in zip(operands, each.shapes)))


CASES = [(name, shapes) for name, each in TABLE.items() for shapes in combinations(each)]


def weighted(out: nbgrad.Tensor) -> nbgrad.Tensor:
    """A number that depends on every element in another way."""
    parts = nbgrad.view_as_real(out) if out.is_complex() else out
    weights = nbgrad.tensor(np.cos(np.arange(parts.numel())).reshape(parts.shape))
    return (parts * weights).sum()


def operand_gradients(each: Entry, function: Callable, arrays: list) -> list:
    """By the operands that have a derivative."""
    leaves = [nbgrad.tensor(x, requires_grad=each.varies(k, x)) for k, x in enumerate(arrays)]
    wanted = [x for x in leaves if x.requires_grad]
    return [*nbgrad.grad(weighted(function(*leaves)), wanted, materialize_grads=True)]


@pytest.mark.part(3, 0)
@pytest.mark.parametrize("name, shapes", CASES, ids=str)
def test_values_and_gradients(name, shapes):
    """Value and gradients are those of expanded operands; each gradient has the shape of its operand."""
    each, arrays = TABLE[name], operands_of(name, shapes)
    wide = expanding(each)
    got, want = (function(*map(nbgrad.tensor, arrays)).resolve_conj().numpy() for function in (each.function, wide))
    close(got, want, 1e-12, "value")
    for k, (g, want) in enumerate(zip(operand_gradients(each, each.function, arrays), operand_gradients(each, wide, arrays))):
        close(g.numpy(), want.numpy(), 1e-10, f"gradient {k}")
        assert g.shape == want.shape


@pytest.mark.parametrize("name", TABLE)
def test_second_derivatives(name):
    """The gradients of the gradients are those of expanded operands, in the operands' shapes."""
    each = TABLE[name]
    for shapes in combinations(each):
        arrays, found = operands_of(name, shapes), []
        for function in (each.function, expanding(each)):
            leaves = [nbgrad.tensor(x, requires_grad=each.varies(k, x)) for k, x in enumerate(arrays)]
            wanted = [x for x in leaves if x.requires_grad]
            first = nbgrad.grad(weighted(function(*leaves)), wanted, create_graph=True, materialize_grads=True)
            found.append(nbgrad.grad(sum((weighted(g) for g in first), start=weighted(wanted[0])), wanted, materialize_grads=True))
        for k, (g, want) in enumerate(zip(*found)):
            close(g.numpy(), want.numpy(), 1e-8, f"{shapes}: second derivative by operand {k}")


@pytest.mark.part(3, 1)
@pytest.mark.parametrize("name, shapes", CASES, ids=str)
def test_tangents(name, shapes):
    """Forward mode of one operand at a time, and of all: the tangent of expanded operands."""
    each, arrays = TABLE[name], operands_of(name, shapes)
    places = [k for k, x in enumerate(arrays) if each.varies(k, x)]
    for chosen in (*([k] for k in places), places):
        found = []
        for function in (each.function, expanding(each)):
            with dual_level():
                duals = [
                    make_dual(nbgrad.tensor(x), nbgrad.tensor(np.cos(x + k))) if k in chosen else nbgrad.tensor(x)
                    for k, x in enumerate(arrays)
                ]
                found.append(unpack_dual(function(*duals)).tangent)
        if found[1] is not None:
            close(found[0].resolve_conj().numpy(), found[1].resolve_conj().numpy(), 1e-10, f"tangent of {chosen}")


@pytest.mark.part(3, 2)
@pytest.mark.parametrize("name, shapes", CASES, ids=str)
def test_batches(name, shapes):
    """Mapped over all operands, or over one of them: a loop over the batch."""
    each = TABLE[name]
    batches, single = operands_of(name, shapes, SIZE), operands_of(name, shapes)
    for chosen in (range(len(shapes)), *([k] for k in range(len(shapes)))):
        tensors = [nbgrad.tensor(b if k in chosen else x) for k, (b, x) in enumerate(zip(batches, single))]
        dims = tuple(0 if k in chosen else None for k in range(len(shapes)))
        got = vmap(each.function, dims)(*tensors)
        want = nbgrad.stack([each.function(*(x[i] if d == 0 else x for x, d in zip(tensors, dims))) for i in range(SIZE)])
        close(got.resolve_conj().numpy(), want.resolve_conj().numpy(), 1e-10, f"mapped over {list(chosen)}")
