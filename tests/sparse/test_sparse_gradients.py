"""Sparse gradients of leaves: how they come about, how they are added up, who takes them. Expected numbers are torch 2.13's."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad import nn

ROWS = nbgrad.tensor([[1, 2], [0, 1]])


def table(**options):
    """A look-up table of four rows."""
    return nn.Embedding(4, 2, sparse=True, _weight=nbgrad.arange(8.0).reshape(4, 2), **options)


def test_rows_that_are_looked_up_have_a_sparse_gradient():
    """In the order of the look-up, a row that comes twice twice, the padding row not at all; hooks see it; ``grad`` returns it."""
    rows, seen = table(padding_idx=0), []
    rows.weight.register_hook(lambda g: seen.append(g.is_sparse))
    rows.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad._nnz()))
    rows(ROWS).sum().backward()
    g = rows.weight.grad
    assert g.is_sparse and not g.is_coalesced() and seen == [True, 3] and nbgrad.is_tensor(g)
    assert g._indices().tolist() == [[1, 2, 1]] and g._values().tolist() == [[1.0, 1.0]] * 3
    assert g.to_dense().tolist() == [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]
    assert str(g) == (
        "tensor(indices=tensor([[1, 2, 1]]),\n       values=tensor([[1., 1.],\n                      [1., 1.],\n"
        "                      [1., 1.]]),\n       size=(4, 2), nnz=3, layout=nbgrad.sparse_coo)"
    )
    (found,) = nbgrad.grad(rows(ROWS).sum(), rows.weight)
    assert found.is_sparse and nbgrad.equal(found.to_dense(), g.to_dense())
    bags = nn.EmbeddingBag(4, 2, sparse=True, mode="mean", padding_idx=0)
    bags(ROWS).sum().backward()
    assert bags.weight.grad.to_dense().tolist() == [[0.0, 0.0], [1.5, 1.5], [0.5, 0.5], [0.0, 0.0]]


def test_accumulation_keeps_a_sparse_gradient_until_a_dense_one_comes():
    """Sparse to sparse in place, dense to sparse out of place, sparse to dense in place; in one pass and over several."""
    rows = table()
    dense = rows(ROWS).sum() * 0 + rows.weight.sum()
    rows(ROWS).sum().backward()
    first = rows.weight.grad
    (rows(ROWS) * 2).sum().backward()
    assert rows.weight.grad is first and first.to_dense()[:, 0].tolist() == [3.0, 6.0, 3.0, 0.0]
    dense.backward()  # both kinds at once
    total = rows.weight.grad
    assert total is not first and not total.is_sparse and total[:, 0].tolist() == [4.0, 7.0, 4.0, 1.0]
    rows(ROWS).sum().backward()
    assert rows.weight.grad is total and total[:, 0].tolist() == [5.0, 9.0, 5.0, 1.0]
    rows.zero_grad()
    rows(nbgrad.tensor([3])).sum().backward()
    assert nn.utils.clip_grad_norm_(rows.parameters(), 1.0).item() == pytest.approx(2**0.5)
    assert rows.weight.grad.to_dense()[3].tolist() == pytest.approx([0.5**0.5] * 2)
    rows.weight.grad = nbgrad.zeros_like(rows.weight.grad)
    assert rows.weight.grad.is_sparse and rows.weight.grad._nnz() == 0


def test_transforms_batches_and_anomaly_mode():
    """Gradients are dense inside of transforms and of batched cotangents, with the same numbers; no NaN is found where none is."""
    rows, weight = nbgrad.tensor([1, 2, 1]), nbgrad.arange(8.0).reshape(4, 2)

    def total(w, sparse=True):
        return nn.functional.embedding(rows, w, padding_idx=2, sparse=sparse).square()

    expected = nbgrad.func.jacrev(lambda w: total(w, False).sum(0))(weight)
    assert nbgrad.equal(nbgrad.func.jacrev(lambda w: total(w).sum(0))(weight), expected)
    assert nbgrad.equal(nbgrad.func.grad(lambda w: total(w).sum())(weight), expected.sum(0))
    leaf = weight.clone().requires_grad_()
    (found,) = nbgrad.grad(total(leaf).sum(0), leaf, nbgrad.eye(2), is_grads_batched=True)
    assert nbgrad.equal(found, expected)
    with pytest.warns(UserWarning, match="anomaly"), nbgrad.autograd.detect_anomaly():
        total(leaf).sum().backward()
    assert leaf.grad.is_sparse and nbgrad.equal(leaf.grad.to_dense(), expected.sum(0))


def test_a_sparse_gradient_that_is_recorded_can_be_differentiated():
    """The second derivative of a sum of cubes of rows."""
    rows = table()
    (g,) = nbgrad.grad((rows(nbgrad.tensor([1, 3])) ** 3).sum(), rows.weight, create_graph=True)
    g.coalesce().values().sum().backward()
    expected = 6 * rows.weight.detach()
    assert nbgrad.equal(rows.weight.grad.to_dense()[[1, 3]], expected[[1, 3]])


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("SGD", {"lr": 0.01}, [0.7549, 1.6549, 2.0490, 3.3942]),
        ("SGD", {"lr": 0.01, "momentum": 0.9}, [0.1974, 1.0974, 0.8563, 2.7589]),
        ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}, [-0.0035, 0.8965, 0.3779, 2.4814]),
        ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}, [0.4995, 1.3995, 2.2873, 3.1770]),
        ("SparseAdam", {"lr": 0.1}, [0.0218, 0.9218, 1.8147, 2.7097]),
    ],
)
def test_optimizers_that_take_sparse_gradients(kind, options, expected):
    """Four steps on sums of squares of bags: torch's weights."""
    bags = nn.EmbeddingBag(10, 3, sparse=True, mode="sum", _weight=nbgrad.arange(30.0).reshape(10, 3) / 10)
    optimizer = getattr(nbgrad.optim, kind)(bags.parameters(), **options)
    for _ in range(4):
        optimizer.zero_grad()
        bags(nbgrad.tensor([1, 2, 3, 3, 4]), nbgrad.tensor([0, 3])).square().sum().backward()
        optimizer.step()
    found = bags.weight.sum(1)
    assert np.allclose(found[[1, 2, 3, 4]].tolist(), expected, atol=2e-4), found.tolist()
    assert found[0].item() == pytest.approx(0.3) and found[5].item() == pytest.approx(4.8)  # rows that no bag has


def test_graph_convolution_learns_the_same_by_either_layout(tmp_path):
    """Two layers over a sparse adjacency that is a buffer: losses are those of the dense one, after saving and loading too."""
    rng = np.random.default_rng(0)
    dense = nbgrad.tensor(np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0), dtype=nbgrad.float32)
    x, y = nbgrad.tensor(rng.standard_normal((6, 5)), dtype=nbgrad.float32), nbgrad.tensor([0, 1, 2, 0, 1, 2])

    def losses(adjacency):
        nbgrad.manual_seed(0)
        first, second, holder = nn.Linear(5, 4), nn.Linear(4, 3), nn.Module()
        holder.register_buffer("adjacency", adjacency)
        nbgrad.save(holder.state_dict(), tmp_path / "graph.pt")
        holder.load_state_dict(nbgrad.load(tmp_path / "graph.pt"))
        optimizer = nbgrad.optim.Adam([*first.parameters(), *second.parameters()], lr=0.1)
        found = []
        for _ in range(3):
            optimizer.zero_grad()
            hidden = nbgrad.relu(holder.adjacency @ first(x))
            loss = nn.functional.cross_entropy(holder.adjacency @ second(hidden), y)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    expected = losses(dense)
    assert np.allclose(losses(dense.to_sparse()), expected, rtol=1e-5)
    assert np.allclose(losses(dense.to_sparse_csr()), expected, rtol=1e-5)


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize(
    ("reduce", "expected", "by_sparse", "by_dense"),
    [
        ("mean", [[5.5, 5.0], [0.0, 0.0], [-2.0, -3.0]], [-0.5, 5.5, 3.5, 5.5], [[0.5, 0.5], [-1.5, -1.5], [1.5, 1.5]]),
        ("amax", [[10.0, 12.0], [0.0, 0.0], [5.0, 6.0]], [0.0, 11.0, 0.0, 11.0], [[0.0, 0.0], [0.0, 0.0], [3.0, 3.0]]),
        ("min", [[1.0, -2.0], [0.0, 0.0], [-9.0, -12.0]], [-1.0, 0.0, 7.0, 0.0], [[1.0, 1.0], [-3.0, -3.0], [0.0, 0.0]]),
    ],
)
def test_products_whose_terms_are_reduced(layout, reduce, expected, by_sparse, by_dense):
    """Terms are those of stored values; a row without any is 0; both operands have gradients."""
    dense = nbgrad.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, -3.0, 1.0]])
    a, y = getattr(dense, layout)().requires_grad_(), nbgrad.tensor([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    out = nbgrad.sparse.mm(a, y, reduce)
    out.sum().backward()
    assert out.tolist() == expected and y.grad.tolist() == by_dense
    assert a.grad.to_dense()[dense != 0].tolist() == by_sparse


def test_products_that_are_not_reduced():
    """Other reductions, and other operands, are refused."""
    a, y = nbgrad.eye(2).to_sparse(), nbgrad.ones(2, 2)
    for operands, reduce in (((a, y), "prod"), ((y, a), "amax"), ((a, a), "mean")):
        with pytest.raises(nbgrad.NotSupportedError, match=f"reduce is '{reduce}'"):
            nbgrad.sparse.mm(*operands, reduce)
    twice = nbgrad.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    assert nbgrad.sparse.mm(twice, y, "mean").tolist() == [[3.0, 3.0], [0.0, 0.0]]  # of one place, values are added up before
