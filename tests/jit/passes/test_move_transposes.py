"""Products read transposes where they lie, and give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.jit.passes.eliminate_dead import eliminate_dead
from nbgrad.jit.passes.move_transposes import move_transposes
from nbgrad.kernels.cpu import blas
from nbgrad.lowering import linalg
from nbgrad.nn.functional import linear
from tests.jit.passes.before_after import passed

needs_packing = pytest.mark.skipif(not blas.packs_operands(), reason="this BLAS has kernels of its own for small matrices")


def moved(graph):
    """Transposes moved, and copies dropped that nobody reads any more."""
    move_transposes(graph)
    eliminate_dead(graph)


def drawn(*shape, dtype=np.float64):
    """A tensor of normal numbers."""
    return nbgrad.tensor(np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype))


@needs_packing
@pytest.mark.parametrize(
    ("fn", "left"),
    [
        (lambda x, y: x.t().contiguous() @ y, ["t", "matmul"]),
        (lambda x, y: y.t().contiguous().mm(x), ["t", "mm"]),
        (lambda x, y: linear(x.t().contiguous(), y.t().contiguous(), y[0]), ["t", "t", "select", "gemm_bias"]),
        (lambda x, y: nbgrad.stack((x, x)).mT.contiguous() @ nbgrad.stack((y, y)), ["stack", "transpose", "stack", "matmul"]),
    ],
)
def test_a_product_reads_a_transpose_and_no_copy_of_it(fn, left):
    """On either side, with an addend, in batches."""
    assert passed(moved, fn, drawn(9, 5), drawn(9, 7)) == left


@needs_packing
@pytest.mark.parametrize(
    ("fn", "x", "y"),
    [
        (lambda x, y: x.t().contiguous() @ y[:, 0], drawn(9, 5), drawn(9, 7)),
        (lambda x, y: x.t().contiguous() @ y[:, :1], drawn(9, 5), drawn(9, 7)),
        (lambda x, y: x[:, ::2].contiguous() @ y, drawn(9, 5), drawn(3, 7)),
        (lambda x, y: x.mT.contiguous() @ y, drawn(4, 9, 5), drawn(9, 7)),
        (lambda x, y: x.t().contiguous() @ y, nbgrad.ones(9, 5).half(), nbgrad.ones(9, 7).half()),
    ],
)
def test_a_copy_stays_where_sums_would_have_another_order_or_that_is_not_known(fn, x, y):
    """Products with a vector, elements with gaps, batches that fold into one product, half types."""
    assert "contiguous_copy" in passed(moved, fn, x, y)


@needs_packing
def test_a_copy_that_is_read_elsewhere_stays():
    """The product does not wait for it."""
    assert passed(moved, lambda x, y: ((z := x.t().contiguous()) @ y, z), drawn(9, 5), drawn(9, 7)).count("contiguous_copy") == 1


def test_nothing_moves_where_the_library_has_kernels_for_every_order(monkeypatch):
    """They add up in orders of their own."""
    monkeypatch.setattr(linalg, "packs_operands", lambda: False)
    assert "contiguous_copy" in passed(moved, lambda x, y: x.t().contiguous() @ y, drawn(9, 5), drawn(9, 7))


@needs_packing
@pytest.mark.parametrize("seed", range(8))
def test_products_of_all_sizes_have_the_same_bits(seed):
    """Small and large ones, by rows or by columns on both sides."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(rng.choice([2, 3, 4, 7, 8, 9, 16, 17, 33, 64, 130, 300])) for _ in range(3))
    dtype = [np.float32, np.float64][seed % 2]
    programs = [
        (lambda x, y: x.t().contiguous() @ y, (k, m), (k, n)),
        (lambda x, y: x @ y.t().contiguous(), (m, k), (n, k)),
        (lambda x, y: x.t().contiguous() @ y.t().contiguous(), (k, m), (n, k)),
    ]
    for fn, *shapes in programs:
        assert "contiguous_copy" not in passed(moved, fn, *(drawn(*shape, dtype=dtype) for shape in shapes))
