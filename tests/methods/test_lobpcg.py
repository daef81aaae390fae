"""``lobpcg``: a few eigenvalues, against all of them."""

from __future__ import annotations

import pytest

import nbgrad

F64 = nbgrad.float64


def symmetric(*shape, seed=0, dtype=F64):
    """A positive definite matrix, or a batch of them."""
    nbgrad.manual_seed(seed)
    a = nbgrad.randn(*shape, dtype=dtype)
    return a @ a.mT / shape[-1]


@pytest.mark.parametrize("largest", [True, False, None])
@pytest.mark.parametrize("shape, k", [((60, 60), 2), ((2, 40, 40), 1), ((7, 7), 3), ((1, 1), 1)])
@pytest.mark.parametrize("dtype", [F64, nbgrad.float32])
def test_a_few_are_some_of_all(shape, k, largest, dtype):
    a = symmetric(*shape, dtype=dtype)
    values, vectors = nbgrad.lobpcg(a, k, largest=largest)
    every = nbgrad.linalg.eigvalsh(a)
    expected = every[..., :k] if largest is False else every.flip(-1)[..., :k]
    assert nbgrad.allclose(values, expected, atol=1e-4 if dtype is nbgrad.float32 else 1e-7) and values.dtype is dtype
    assert nbgrad.allclose(vectors.mT @ vectors, nbgrad.eye(k, dtype=dtype), atol=1e-5)
    assert (a @ vectors - vectors * values.unsqueeze(-2)).abs().max() < 5e-3


def test_a_second_matrix_a_preconditioner_and_guesses():
    a, b = symmetric(40, 40), symmetric(40, 40, seed=1) + nbgrad.eye(40, dtype=F64)
    values, vectors = nbgrad.lobpcg(a, 2, B=b, iK=nbgrad.linalg.inv(a + nbgrad.eye(40, dtype=F64)), largest=False)
    assert nbgrad.allclose(a @ vectors, b @ vectors * values, atol=1e-6)
    assert nbgrad.allclose(vectors.mT @ b @ vectors, nbgrad.eye(2, dtype=F64), atol=1e-7)
    again, _ = nbgrad.lobpcg(a, X=vectors, B=b, niter=1, largest=False)
    assert nbgrad.allclose(again, values) and again.shape == (2,)
    assert nbgrad.lobpcg(a, 1, n=3)[0].shape == (1,)


def test_steps_end_where_they_are_to():
    a = symmetric(60, 60)
    exact = nbgrad.linalg.eigvalsh(a)[-1]
    first, second = (nbgrad.lobpcg(a, 1, X=nbgrad.ones(60, 1, dtype=F64), niter=steps)[0] for steps in (1, 4))
    assert first < second < exact
    assert (nbgrad.lobpcg(a, 1, tol=0.5)[0] - exact).abs() > 1e-6 > (nbgrad.lobpcg(a, 1, niter=-1)[0] - exact).abs()


def test_sparse_matrices():
    place = nbgrad.arange(100)
    a = nbgrad.sparse_coo_tensor(nbgrad.stack([place, place]), (place + 1).double(), (100, 100))
    values, vectors = nbgrad.lobpcg(a, 2)
    assert nbgrad.allclose(values, nbgrad.tensor([100.0, 99.0], dtype=F64))
    assert vectors[99, 0].abs() > 0.999


@pytest.mark.parametrize("second", [False, True])
def test_gradients_of_every_order(second):
    """Of eigenvalues and of eigenvectors but for their signs, by both matrices."""
    nbgrad.manual_seed(3)
    a, b = (nbgrad.randn(4, 4, dtype=F64, requires_grad=True) for _ in range(2))
    check = nbgrad.autograd.gradgradcheck if second else nbgrad.autograd.gradcheck

    def pairs(a, b):
        values, vectors = nbgrad.lobpcg(a + a.T, 2, B=b @ b.T + 4 * nbgrad.eye(4, dtype=F64))
        return values, vectors.abs()

    assert check(pairs, (a, b))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda a: nbgrad.lobpcg(a[:, :3]), "square"),
        (lambda a: nbgrad.lobpcg(a, 7), "1 <= k"),
        (lambda a: nbgrad.lobpcg(a, 2, X=a[:, :1]), "1 <= k"),
        (lambda a: nbgrad.lobpcg(a, method="fast"), "'basic' or 'ortho'"),
        (lambda a: nbgrad.lobpcg(a.half()), "float32 or float64"),
        (lambda a: nbgrad.lobpcg(a, tracker=print), "tracker"),
        (lambda a: nbgrad.lobpcg(a.to_sparse().requires_grad_()), "no gradient here"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        call(symmetric(6, 6))
