"""``nbgrad.linalg``: derivatives of what is unique up to signs and phases, batches, errors, and the names."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nbgrad
from nbgrad import linalg

RNG = np.random.default_rng(3)


def matrices(*shape: int, complex: bool = False) -> nbgrad.Tensor:
    """Numbers of no symmetry that require grad."""
    x = RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if complex else 0)
    return nbgrad.tensor(x, requires_grad=True)


def hermitian(x):
    """The Hermitian part: what every perturbation keeps."""
    return (x + x.mH) / 2


def definite(x):
    """A positive definite matrix."""
    return x @ x.mH + nbgrad.eye(x.shape[-1], dtype=x.dtype)


def outer_magnitudes(vectors):
    """What no phase of the columns changes."""
    return (vectors.unsqueeze(-2) * vectors.conj().unsqueeze(-3)).abs()


def projectors(vectors, weights):
    """Sums of the projectors on the columns: unique."""
    return (vectors * weights) @ vectors.mH


WEIGHTS = nbgrad.tensor([1.0, -2.0, 0.5], dtype=nbgrad.float64)
FUNCTIONS = {
    "eigh": lambda x: (lambda w, v: (w, projectors(v, WEIGHTS)))(*linalg.eigh(hermitian(x))),
    "eigh upper": lambda x: linalg.eigh(hermitian(x), "U").eigenvalues,
    "eigvalsh": lambda x: linalg.eigvalsh(hermitian(x)),
    "eig": lambda x: (lambda w, v: (w, (v * WEIGHTS) @ linalg.inv(v)))(*linalg.eig(x)),
    "eigvals": linalg.eigvals,
    "svd": lambda x: (lambda u, s, v: (s, (u * WEIGHTS) @ v))(*linalg.svd(x, full_matrices=False)),
    "svd full": lambda x: (lambda u, s, v: projectors(u[..., :3], WEIGHTS))(*linalg.svd(x)),
    "svdvals": linalg.svdvals,
    "qr": lambda x: tuple(linalg.qr(x)),
    "cholesky": lambda x: linalg.cholesky(definite(x)),
    "cholesky upper": lambda x: linalg.cholesky(definite(x), upper=True),
    "pinv hermitian": lambda x: linalg.pinv(definite(x), hermitian=True),
    "lu": lambda x: tuple(linalg.lu(x)[1:]),
}
SHAPES = dict.fromkeys(FUNCTIONS, ((3, 3), (2, 3, 3))) | {
    "svd": ((3, 3), (4, 3), (3, 5)),
    "svd full": ((3, 3), (4, 3)),
    "svdvals": ((4, 3),),
    "qr": ((3, 3), (4, 3), (3, 4)),
    "lu": ((3, 3), (4, 3), (3, 4)),
}
CASES = [(name, shape, complex) for name in FUNCTIONS for shape in SHAPES[name] for complex in (False, True)]


@pytest.mark.parametrize("name, shape, complex", CASES)
def test_gradients(name, shape, complex):
    """Backward and forward mode agree with finite differences."""
    assert nbgrad.gradcheck(FUNCTIONS[name], matrices(*shape, complex=complex), check_forward_ad=not complex)


@pytest.mark.parametrize("name, shape", [(name, SHAPES[name][0]) for name in FUNCTIONS])
def test_second_order_gradients(name, shape):
    """Double backward agrees with finite differences of the gradient."""
    assert nbgrad.gradgradcheck(FUNCTIONS[name], matrices(*shape))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("eig", "eigvals")])
def test_batching(name):
    """A mapped function is a loop."""
    x = matrices(4, 3, 3).detach()
    mapped = nbgrad.vmap(FUNCTIONS[name])(x)
    for k, out in enumerate(mapped if isinstance(mapped, tuple) else (mapped,)):
        for row, each in zip(x, out):
            want = FUNCTIONS[name](row)
            np.testing.assert_allclose(each.numpy(), (want[k] if isinstance(want, tuple) else want).numpy(), rtol=1e-9, atol=1e-11)


def test_equal_values_have_derivatives_without_vectors():
    """Eigenvalues and singular values of the identity are equal, and so are their derivatives' shares."""
    for function in (linalg.eigvalsh, linalg.svdvals):
        x = nbgrad.eye(3, dtype=nbgrad.float64).requires_grad_()
        function(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-14)


def test_a_loss_that_depends_on_a_phase_is_refused():
    """The phase of a complex eigenvector is LAPACK's choice: its derivative would be anything."""
    for function in (lambda x: linalg.eigh(hermitian(x))[1], lambda x: linalg.eig(x)[1], lambda x: linalg.svd(x)[0]):
        out = function(matrices(3, 3, complex=True))
        with pytest.raises(nbgrad.GradError, match="phase"):
            (out * nbgrad.tensor(RNG.normal(size=(3, 3)) * 1j)).sum().real.backward()


def test_determinant_of_a_singular_matrix():
    """The gradient of the determinant is the matrix of cofactors, which singular matrices have too."""
    x = nbgrad.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=nbgrad.float64, requires_grad=True)
    linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)


def differences_of_det(x, step=1e-4):
    """The second derivatives of the determinant by central differences, one row and column an element."""

    def moved(i, j, p, q):
        y = x.copy().ravel()
        y[i] += p * step
        y[j] += q * step
        return np.linalg.det(y.reshape(x.shape))

    return np.array(
        [
            [sum(p * q * moved(i, j, p, q) for p in (1, -1) for q in (1, -1)) / (4 * step * step) for j in range(x.size)]
            for i in range(x.size)
        ]
    )


@pytest.mark.parametrize("rank", [4, 3, 2, 1])
def test_second_derivative_of_the_determinant_at_any_rank(rank):
    """Whether a matrix has an inverse makes no difference to the derivatives of a polynomial."""
    x = RNG.normal(size=(4, rank)) @ RNG.normal(size=(rank, 4))
    hessian = nbgrad.func.hessian(linalg.det)(nbgrad.tensor(x)).numpy().reshape(16, 16)
    np.testing.assert_allclose(hessian, differences_of_det(x), atol=1e-6)


@pytest.mark.parametrize("complex", [False, True])
def test_third_derivative_of_a_determinant_without_inverse(complex):
    """Finite differences of the second derivative agree with the third at a singular matrix."""
    x = matrices(3, 3, complex=complex).detach()
    x[2] = x[1]

    def slope(x):
        return nbgrad.grad(linalg.det(x).abs() if complex else linalg.det(x), x, create_graph=True)[0]

    if not complex:
        assert nbgrad.gradgradcheck(slope, (x.requires_grad_(),))
    assert nbgrad.gradgradcheck(linalg.det, (x.requires_grad_(),))


ENDLESS = {
    "svd": linalg.svd,
    "svdvals": linalg.svdvals,
    "eigh": linalg.eigh,
    "eigvalsh": linalg.eigvalsh,
    "eig": linalg.eig,
    "eigvals": linalg.eigvals,
    "pinv": linalg.pinv,
    "hermitian pinv": lambda x: linalg.pinv(x, hermitian=True),
    "lstsq": lambda x: linalg.lstsq(x, x),
    "cond": linalg.cond,
    "matrix_norm 2": lambda x: linalg.matrix_norm(x, 2),
    "nuclear norm": lambda x: linalg.matrix_norm(x, "nuc"),
    "matrix_rank": linalg.matrix_rank,
    "svd of main": nbgrad.svd,
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("size", [1, 3, 25])
def test_what_is_not_finite_never_reaches_an_iteration(name, value, size):
    """Infinities and NaN are an error at once, alone and as one of a batch; LAPACK would not come back from some."""
    x = nbgrad.eye(size)
    x[0, 0] = value
    with pytest.raises(nbgrad.LinAlgError, match="infinite elements or NaN"):
        ENDLESS[name](x)
    with pytest.raises(nbgrad.LinAlgError, match=r"matrix \[1\] has infinite"):
        ENDLESS[name](nbgrad.stack([nbgrad.eye(size), x]))


@pytest.mark.parametrize(
    "name, call",
    [
        ("linalg.cond", linalg.cond),
        ("linalg.norm", lambda x: linalg.norm(x, 2)),
        ("linalg.matrix_norm", lambda x: linalg.matrix_norm(x, "nuc")),
        ("nuclear_norm", nbgrad.nuclear_norm),
        ("norm", lambda x: x.norm("nuc")),
        ("norm", lambda x: nbgrad.norm(x, "nuc")),
        ("linalg.matrix_rank", linalg.matrix_rank),
        ("linalg.lstsq", lambda x: linalg.lstsq(x, x)),
        ("svd", lambda x: x.svd()),
        ("pinverse", lambda x: x.pinverse()),
    ],
)
def test_errors_name_what_was_called(name, call):
    """Not the operation that it is made of, which found it: functions and methods."""
    for _ in range(2):
        with pytest.raises(nbgrad.LinAlgError, match=f"^{name}: the matrix has"):
            call(nbgrad.full((3, 3), np.inf))


@pytest.mark.parametrize(
    "name, call",
    [
        ("inverse", lambda x: x.inverse()),
        ("linalg.matrix_power", lambda x: linalg.matrix_power(x, -1)),
        ("matrix_power", lambda x: x.matrix_power(-1)),
        ("linalg.cond", lambda x: linalg.cond(x, 1)),
        ("linalg.tensorsolve", lambda x: linalg.tensorsolve(x, x[0])),
        ("linalg.inv", linalg.inv),
    ],
)
def test_errors_of_singular_matrices_name_what_was_called(name, call):
    """An error of a step inside is told under the name of the function that was called."""
    with pytest.raises(nbgrad.LinAlgError, match=f"^{name}: the input matrix is singular"):
        call(nbgrad.zeros(3, 3))


@pytest.mark.parametrize("upper", [False, True])
def test_only_the_triangle_that_is_read_must_be_finite(upper):
    """``eigh`` does not look at the other one."""
    x = nbgrad.eye(3)
    x[(2, 0) if upper else (0, 2)] = np.nan
    assert linalg.eigvalsh(x, "U" if upper else "L").tolist() == [1, 1, 1]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_gradients_of_determinants_that_are_not_finite(value):
    """The first and second derivatives are NaN: there is no SVD to compute them from."""
    x = nbgrad.diag(nbgrad.tensor([value, 1.0, 2.0])).requires_grad_()
    (g,) = nbgrad.grad(linalg.det(x), x)
    assert g.isnan().all()
    assert nbgrad.func.hessian(linalg.det)(x).isnan().all()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 50, 112, 129])
@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
def test_systems_of_every_number_of_blocks(n, dtype):
    """Triangular systems, those of factors and inverses fulfil their equations, of sizes at and beside the kernels' blocks."""
    eps = np.finfo(dtype.numpy).eps
    a = (RNG.normal(size=(n, n)) + np.eye(n) * n).astype(dtype.numpy)
    for k in (1, 7, 40):
        b = RNG.normal(size=(n, k)).astype(dtype.numpy)
        systems = {
            "solve": (a, linalg.solve(nbgrad.tensor(a), nbgrad.tensor(b))),
            "inv": (a, linalg.inv(nbgrad.tensor(a)) @ nbgrad.tensor(b)),
            "factors": (a, linalg.lu_solve(*linalg.lu_factor(nbgrad.tensor(a)), nbgrad.tensor(b))),
            "adjoint": (a.T, linalg.lu_solve(*linalg.lu_factor(nbgrad.tensor(a)), nbgrad.tensor(b), adjoint=True)),
            "cholesky": (np.tril(a) @ np.tril(a).T, nbgrad.cholesky_solve(nbgrad.tensor(b), nbgrad.tensor(np.tril(a)))),
            "upper factor": (np.triu(a).T @ np.triu(a), nbgrad.cholesky_solve(nbgrad.tensor(b), nbgrad.tensor(a), True)),
        }
        for upper, unit, turned in itertools.product((False, True), repeat=3):
            matrix = nbgrad.tensor(a.T.copy()).t() if turned else nbgrad.tensor(a)
            triangle = (np.triu if upper else np.tril)(a / n if unit else a)
            matrix = matrix / n if unit else matrix
            np.fill_diagonal(triangle, 1 if unit else np.diag(triangle))
            found = linalg.solve_triangular(matrix, nbgrad.tensor(b), upper=upper, unitriangular=unit)
            systems[f"triangle {upper} {unit} {turned}"] = triangle, found
        for name, (matrix, found) in systems.items():
            x = found.numpy().astype(float)
            size = np.abs(matrix).astype(float) @ np.abs(x) + np.abs(b)
            assert (np.abs(matrix.astype(float) @ x - b) <= 8 * n * eps * size.max() + 8 * n * eps * size).all(), name


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("left", [True, False])
def test_gradients_of_systems_solved_by_factors(left, adjoint, complex):
    """lu_solve of a matrix' factors has the gradients of first and second order of the system, whatever rows were exchanged."""
    rows = np.array([[0.1, 2.0, 1.0], [3.0, 0.5, -1.0], [1.0, 4.0, 0.25]])
    a = nbgrad.tensor(np.stack([rows, rows[::-1]]) * (1 + 0.5j if complex else 1.0)).requires_grad_()
    b = matrices(2, 3, 2, complex=complex).detach()
    b = (b if left else b.mT).clone().requires_grad_()
    whole = (lambda a: a.mH) if adjoint else (lambda a: a)
    found = linalg.lu_solve(*linalg.lu_factor(a), b, left=left, adjoint=adjoint)
    for got, want in zip(slopes(found, a, b), slopes(linalg.solve(whole(a), b, left=left), a, b)):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-9)


def slopes(out, *leaves):
    """The gradients of the sum of squares, and of their squares."""
    size = lambda xs: sum((x * x.conj()).real.sum() for x in xs)
    first = nbgrad.grad(size([out]), leaves, create_graph=True)
    return *first, *nbgrad.grad(size(first), leaves)


def test_lu_puts_together_what_it_took_apart():
    """P @ L @ U is the matrix; lu_solve with its factors solves, from either side and for the adjoint."""
    a, b = matrices(2, 3, 3).detach(), matrices(2, 3, 2).detach()
    p, low, up = linalg.lu(a)
    np.testing.assert_allclose((p @ low @ up).numpy(), a.numpy(), atol=1e-13)
    factors, pivots = linalg.lu_factor(a)
    assert pivots.dtype is nbgrad.int32
    np.testing.assert_allclose((a @ linalg.lu_solve(factors, pivots, b)).numpy(), b.numpy(), atol=1e-12)
    np.testing.assert_allclose((a.mH @ linalg.lu_solve(factors, pivots, b, adjoint=True)).numpy(), b.numpy(), atol=1e-12)
    turned = linalg.lu_solve(factors, pivots, b.mT, left=False)
    np.testing.assert_allclose((turned @ a).numpy(), b.mT.numpy(), atol=1e-12)
    for got, want in zip(nbgrad.lu_unpack(factors, pivots), (p, low, up)):
        np.testing.assert_allclose(got.numpy(), want.numpy())


@pytest.mark.parametrize("function", [linalg.eigvalsh, linalg.svdvals])
def test_values_have_gradients_of_every_order(function):
    """What the forward pass knows of vectors serves the first order alone: a recorded cotangent has its own history."""
    x = nbgrad.tensor(np.diag([3.0, 2.0, 1.0]) + 0.1, requires_grad=True)
    (g,) = nbgrad.grad((function(x) ** 3).sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 3 * np.linalg.matrix_power(x.detach().numpy(), 2), atol=1e-12)
    t = np.arange(9.0).reshape(3, 3) + np.arange(9.0).reshape(3, 3).T
    (slope,) = nbgrad.grad((g * nbgrad.tensor(t)).sum(), x)
    want = 3 * (x.detach().numpy() @ t + t @ x.detach().numpy())
    np.testing.assert_allclose((slope + slope.mT).numpy() / 2, want, atol=1e-9)


@pytest.mark.parametrize(
    "function", [linalg.solve, lambda x, y: linalg.solve_triangular(x, y, upper=True), lambda x, y: nbgrad.cholesky_solve(y, x)]
)
def test_cotangents_of_both_operands_are_those_of_each(function):
    """A node that gives both solves one system; the numbers are those of nodes that give one."""
    x, y, g = (nbgrad.tensor(OPERANDS[name]) for name in ("a", "b", "tall"))

    def gradients(*wanted: bool) -> list:
        """Those of the operands that are wanted."""
        operands = [each.clone().requires_grad_(is_wanted) for each, is_wanted in zip((x, y), wanted)]
        return [each.numpy() for each in nbgrad.grad(function(*operands), [each for each in operands if each.requires_grad], g)]

    for got, want in zip(gradients(True, True), (*gradients(True, False), *gradients(False, True)), strict=True):
        np.testing.assert_array_equal(got, want)


def rows_of(names: str, *tensors: str) -> list:
    """Functions of the same operands."""
    return [(name, tensors) for name in names.split()]


OPERANDS = {
    "a": RNG.normal(size=(2, 5, 5)) + 4 * np.eye(5),
    "b": RNG.normal(size=(2, 5, 3)),
    "tau": RNG.uniform(1, 1.5, (2, 3)),
    "tall": RNG.normal(size=(2, 5, 3)),
    "wide": RNG.normal(size=(2, 3, 5)),
    "low": np.tril(RNG.normal(size=(2, 5, 5))) + 4 * np.eye(5),
}
OPERANDS["s"] = OPERANDS["a"] @ np.swapaxes(OPERANDS["a"], -1, -2)
AT_ONCE = [
    *rows_of("inv inv_ex det slogdet lu lu_factor lu_factor_ex svdvals eigvals qr", "a"),
    *rows_of("solve solve_ex", "a", "b"),
    *rows_of("cholesky cholesky_ex eigvalsh", "s"),
    *rows_of("lu svd svdvals qr pinv", "tall"),
    *rows_of("lu svd svdvals pinv", "wide"),
    *rows_of("householder_product", "tall", "tau"),
    *rows_of("cholesky_inverse", "low"),
    *rows_of("cholesky_solve", "b", "low"),
    *rows_of("lstsq", "tall", "b"),
]
ARRANGED = {
    "by rows": lambda x: x,
    "by columns": lambda x: x.mT.contiguous().mT if x.ndim == 3 else x,
    "with gaps": lambda x: nbgrad.stack([x, x], -1)[..., 0],
    "one": lambda x: x[1],
}


@pytest.mark.parametrize("arranged", ARRANGED)
@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64])
@pytest.mark.parametrize("name, operands", AT_ONCE)
def test_values_do_not_depend_on_who_asks_for_gradients(name, operands, dtype, arranged):
    """With and without a gradient, of any strides: the same values, dtypes and shapes, and of later calls the same bits."""
    function = getattr(linalg, name, None) or getattr(nbgrad, name)
    tensors = [ARRANGED[arranged](nbgrad.tensor(OPERANDS[each]).to(dtype)) for each in operands]
    first, later = (values_of(function(*tensors)) for _ in range(2))
    recorded = values_of(function(*[x.clone().requires_grad_() for x in tensors]))
    for x, again, other in zip(first, later, recorded, strict=True):
        np.testing.assert_array_equal(x, again)
        np.testing.assert_allclose(x, other, rtol=1e-3 if dtype is nbgrad.float32 else 1e-10, atol=1e-5)
        assert x.dtype == other.dtype and x.shape == other.shape


def values_of(out) -> list:
    """The results as arrays."""
    return [x.detach().numpy() for x in (out if isinstance(out, tuple) else (out,))]


@pytest.mark.parametrize(
    "function",
    [
        linalg.solve,
        lambda x, y: linalg.solve_triangular(x, y, upper=True),
        nbgrad.cholesky_solve,
        lambda x, y: linalg.solve(A=x, B=y),
    ],
)
def test_one_tensor_as_both_operands_and_then_two(function):
    """Calls of one kind, of which the first had the same tensor twice."""
    x, y = (nbgrad.tensor(OPERANDS["a"][k]) for k in (0, 1))
    fresh = function(x.clone()[None], y.clone()[None])[0]
    for _ in range(2):
        function(x, x)
    np.testing.assert_array_equal(function(x, y).numpy(), fresh.numpy())


@pytest.mark.parametrize("shape, dim", [((4, 3), -1), ((3, 5), -2), ((3, 5), None), ((2, 3, 4), 1), ((3, 2, 4), 0), ((3, 3), 0)])
@pytest.mark.parametrize("turned", [False, True])
def test_vector_products_along_any_dimension(shape, dim, turned):
    """Of any strides; the same bits with a gradient."""
    x, y = RNG.normal(size=shape), RNG.normal(size=shape)
    a, b = nbgrad.tensor(x.T.copy() if turned else x), nbgrad.tensor(y)
    a = a.permute(*range(len(shape))[::-1]) if turned else a
    for _ in range(2):
        out = nbgrad.cross(a, b, dim)
        np.testing.assert_allclose(out.numpy(), np.cross(x, y, axis=shape.index(3) if dim is None else dim))
    np.testing.assert_array_equal(nbgrad.cross(a, b.clone().requires_grad_(), dim).detach().numpy(), out.numpy())


@pytest.mark.parametrize("options", [{}, {"rtol": 0.5}, {"atol": 1, "rtol": 0}, {"rcond": 0.9}, {"rtol": np.array([0.5, 0.9])}])
def test_tolerances_of_a_pseudo_inverse(options):
    """Singular values that are not greater count as 0: whole numbers and arrays are tolerances too."""
    x = OPERANDS["tall"]
    u, s, v = np.linalg.svd(x, full_matrices=False)
    rtol = options.get("rtol", options.get("rcond", 1e-15))
    least = np.maximum(options.get("atol", 0), np.broadcast_to(rtol, 2) * s.max(-1))[:, None]
    want = np.swapaxes(v, -1, -2) @ (np.where(s > least, 1 / s, 0)[..., None] * np.swapaxes(u, -1, -2))
    for _ in range(2):
        np.testing.assert_allclose(linalg.pinv(nbgrad.tensor(x), **options).numpy(), want, atol=1e-12)


def test_where_no_lapack_is_found_numpy_does_the_work(monkeypatch):
    """The same results, of shapes that no other test has met."""
    from nbgrad.lowering.matrices import launches

    monkeypatch.setattr(launches, "find", lambda name: 0)
    launches.addresses.cache_clear()
    try:
        x = RNG.normal(size=(3, 7, 7)) + 4 * np.eye(7)
        a = nbgrad.tensor(x, requires_grad=True)
        np.testing.assert_allclose(linalg.inv(a).detach().numpy(), np.linalg.inv(x))
        np.testing.assert_allclose(linalg.svdvals(a.detach()).numpy(), np.linalg.svd(x, compute_uv=False))
        p, low, up = linalg.lu(a)
        np.testing.assert_allclose((p @ low @ up).detach().numpy(), x)
        (g,) = nbgrad.grad(linalg.slogdet(a).logabsdet.sum(), a)
        np.testing.assert_allclose(g.numpy(), np.swapaxes(np.linalg.inv(x), -1, -2))
    finally:
        launches.addresses.cache_clear()


@pytest.mark.parametrize("call", [linalg.inv, lambda x: linalg.solve(x, x), linalg.cholesky, linalg.lu_factor])
def test_a_singular_matrix_after_regular_ones_is_an_error(call):
    """Whatever calls before have settled."""
    for _ in range(3):
        call(nbgrad.eye(3))
    with pytest.raises(nbgrad.LinAlgError):
        call(nbgrad.zeros(3, 3))


@pytest.mark.parametrize("row", [0, 4, -3])
@pytest.mark.parametrize("call", [nbgrad.lu_unpack, lambda factors, pivots: linalg.lu_solve(factors, pivots, factors)])
def test_pivots_that_name_no_row_are_an_error(call, row):
    """Also where calls of the same layouts went well before."""
    factors, pivots = linalg.lu_factor(2 * nbgrad.eye(3))
    for _ in range(2):
        call(factors, pivots)
    with pytest.raises(nbgrad.RangeError, match=f"a pivot names row {row}, expected one from 1 to 3"):
        call(factors, nbgrad.full_like(pivots, row))


def test_cholesky_ex_says_where_it_failed():
    """The order of the first part that is not positive definite; 0 where all are."""
    x = nbgrad.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]])
    assert linalg.cholesky_ex(x).info.tolist() == [0, 2]
    assert linalg.cholesky_ex(x[1]).info.item() == 2 and linalg.cholesky_ex(x[1]).L.isnan().all()
    with pytest.raises(nbgrad.LinAlgError):
        linalg.cholesky_ex(x, check_errors=True)


def test_cholesky_of_nan_is_an_error():
    """A factor with NaN is none: the error and ``info`` name the leading part that has none."""
    x = nbgrad.diag(nbgrad.tensor([1.0, np.nan, 2.0]))
    both = nbgrad.stack([nbgrad.eye(3), x])
    with pytest.raises(nbgrad.LinAlgError, match="part of order 2"):
        linalg.cholesky(x)
    with pytest.raises(
        nbgrad.LinAlgError, match=r"the input is not positive-definite: the leading part of order 2 of matrix \[1\] is not"
    ):
        linalg.cholesky(both)
    low, info = linalg.cholesky_ex(both)
    assert info.tolist() == [0, 2] and low[0].isfinite().all() and low[1].isnan().any()


def test_info_says_which_matrix_is_singular():
    """``inv_ex``, ``solve_ex``, ``lu_factor_ex``: the first row without a pivot, and NaN for the singular ones alone."""
    x = nbgrad.stack([nbgrad.eye(2), nbgrad.tensor([[1.0, 2.0], [2.0, 4.0]]), nbgrad.zeros(2, 2)])
    want = [0, 2, 1]
    inverse, info = linalg.inv_ex(x)
    assert info.tolist() == want and info.dtype is nbgrad.int32
    assert inverse.isnan().all(-1).all(-1).tolist() == [False, True, True] and inverse[0].tolist() == [[1, 0], [0, 1]]
    for b in (nbgrad.ones(2), nbgrad.ones(3, 2), nbgrad.ones(2, 1), nbgrad.ones(4, 3, 2, 1)):
        result, info = linalg.solve_ex(x, b)
        assert info.tolist() == want and result.isnan().any(-1).sum() in (2, 4, 16)
    assert linalg.lu_factor_ex(x).info.tolist() == want
    assert linalg.lu_factor_ex(nbgrad.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])).info.item() == 2
    assert linalg.inv_ex(nbgrad.eye(2)).info.item() == linalg.lu_factor_ex(nbgrad.ones(0, 0)).info.item() == 0


@pytest.mark.parametrize("name", ["inv_ex", "solve_ex", "lu_factor_ex", "lu_factor", "cholesky_ex"])
def test_singular_matrices_are_an_error_where_that_is_asked_for(name):
    """With ``check_errors``, and of ``lu_factor``, which has no info; also of one element of a mapped batch."""
    options = {} if name == "lu_factor" else {"check_errors": True}
    more = (nbgrad.ones(2),) if name == "solve_ex" else ()
    singular = nbgrad.stack([nbgrad.eye(2), nbgrad.zeros(2, 2)])

    def call(x):
        return getattr(linalg, name)(x, *more, **options)

    for function in (call, nbgrad.vmap(call)):
        with pytest.raises(nbgrad.LinAlgError, match=r"matrix \[1\] is"):
            function(singular)


def test_gradient_beside_a_singular_matrix():
    """The inverses that exist have their derivatives."""
    x = nbgrad.stack([2 * nbgrad.eye(2), nbgrad.zeros(2, 2)]).requires_grad_()
    (g,) = nbgrad.grad(linalg.inv_ex(x).inverse[0].sum(), x)
    assert g.tolist() == [[[-0.25, -0.25], [-0.25, -0.25]], [[0, 0], [0, 0]]]


@pytest.mark.parametrize("complex", [False, True])
def test_gradient_of_eigh_is_hermitian(complex):
    """As all that a Hermitian matrix can move along: an update by it leaves the matrix Hermitian."""
    x = hermitian(matrices(4, 4, complex=complex)).detach().requires_grad_()
    w, v = linalg.eigh(x)
    (g,) = nbgrad.grad((v.abs() ** 2 * nbgrad.arange(16.0).reshape(4, 4)).sum() + (w * w).sum(), x)
    np.testing.assert_allclose(g.numpy(), g.mH.resolve_conj().numpy(), atol=1e-12)


def test_least_squares_of_other_drivers():
    """Residuals and singular values come with the drivers that know them."""
    a, b = matrices(4, 2).detach(), matrices(4, 1).detach()
    solution, residuals, rank, values = linalg.lstsq(a, b, driver="gelsd")
    np.testing.assert_allclose(residuals.numpy(), ((a @ solution - b) ** 2).sum(0).numpy())
    assert rank.item() == 2 and values.shape == (2,)
    assert linalg.lstsq(a, b).residuals.shape == (0,)


@pytest.mark.parametrize("shape", [(2, 4, 2), (2, 2, 4)])
def test_least_squares_of_full_rank(shape):
    """By QR: of several solutions the shortest; residuals of more equations than unknowns, and no rank."""
    a, b = matrices(*shape, complex=True).detach(), matrices(2, shape[-2], 3, complex=True).detach()
    solution, residuals, rank, values = linalg.lstsq(a, b, driver="gels")
    expected = np.linalg.pinv(a.numpy()) @ b.numpy()
    np.testing.assert_allclose(solution.numpy(), expected, atol=1e-12)
    if shape[-2] > shape[-1]:
        np.testing.assert_allclose(residuals.numpy(), (np.abs(a.numpy() @ expected - b.numpy()) ** 2).sum(-2), atol=1e-12)
    else:
        assert residuals.shape == (0,)
    assert rank.shape == values.shape == (0,)
    found, wanted = (
        nbgrad.grad(function(x).abs().sum(), x)[0].numpy()
        for x in [a.clone().requires_grad_()]
        for function in (lambda x: linalg.lstsq(x, b, driver="gels").solution, lambda x: linalg.pinv(x) @ b)
    )
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_complete_qr_has_values_and_refuses_derivatives():
    """The columns that complete Q are no function of the matrix."""
    x = matrices(4, 2)
    q, r = linalg.qr(x, "complete")
    np.testing.assert_allclose((q @ r).detach().numpy(), x.detach().numpy(), atol=1e-13)
    with pytest.raises(nbgrad.NotSupportedError, match="complete"):
        q.sum().backward()


@pytest.mark.parametrize("name", linalg.__all__)
def test_every_name_is_documented(name):
    """Whatever torch.linalg has under a name is explained here."""
    assert getattr(linalg, name).__doc__


def test_out_and_methods():
    """Functions take ``out=``; torch's methods are there."""
    x = nbgrad.tensor([[2.0, 0.0], [0.0, 4.0]])
    out = nbgrad.zeros(2, 2)
    assert linalg.inv(x, out=out) is out and out.tolist() == [[0.5, 0.0], [0.0, 0.25]]
    assert x.det().item() == 8.0 and x.inverse().tolist() == out.tolist()
    assert x.matrix_power(2).tolist() == [[4.0, 0.0], [0.0, 16.0]]


def test_tolerances_of_a_rank_for_each_matrix():
    """Tensors broadcast with the batch."""
    x = nbgrad.stack([nbgrad.eye(2), 0.1 * nbgrad.eye(2)])
    assert linalg.matrix_rank(x, atol=nbgrad.tensor([0.5, 0.5])).tolist() == [2, 0]
    assert linalg.matrix_rank(x, rtol=nbgrad.tensor([0.5, 2.0], dtype=nbgrad.float64)).tolist() == [2, 0]
    assert linalg.matrix_rank(x[0], atol=nbgrad.tensor([0.5, 2.0, 3.0])).tolist() == [2, 0, 0]
    assert nbgrad.vmap(lambda x, t: linalg.matrix_rank(x, atol=t))(x, nbgrad.tensor([2.0, 0.05])).tolist() == [0, 2]


def test_powers_and_norms_that_need_no_lapack():
    """They take half types, and powers integers; the others say which dtypes they take."""
    assert linalg.matrix_power(nbgrad.tensor([[1, 1], [0, 1]]), 5).tolist() == [[1, 5], [0, 1]]
    half = nbgrad.eye(2, dtype=nbgrad.float16)
    assert linalg.matrix_power(half, 3).dtype is nbgrad.float16
    assert [linalg.matrix_norm(half, p).item() for p in (1, -1, np.inf, -np.inf)] == [1, 1, 1, 1]
    assert linalg.norm(half, "fro").dtype is nbgrad.float16
    for call in (
        lambda: linalg.matrix_norm(half, 2),
        lambda: linalg.matrix_power(half, -1),
        lambda: linalg.matrix_norm(half.to(nbgrad.int64)),
    ):
        with pytest.raises(nbgrad.DTypeError, match="single or double precision"):
            call()
    with pytest.raises(nbgrad.ShapeError, match="linalg.matrix_norm: expected a matrix"):
        linalg.matrix_norm(nbgrad.ones(3))


# ---- low rank ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7, 5), (2, 4, 6)], ids=str)
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
def test_low_rank_is_found(shape, complex):
    """A matrix of rank 2, less a given one, comes back from two random directions; the factors are orthonormal."""
    left, right = matrices(*shape[:-1], 2, complex=complex).detach(), matrices(*shape[:-2], 2, shape[-1], complex=complex).detach()
    shift = matrices(*shape, complex=complex).detach()
    U, S, V = nbgrad.svd_lowrank(left @ right + shift, 2, M=shift)
    assert nbgrad.allclose((U * S.unsqueeze(-2)) @ V.mH, left @ right)
    assert nbgrad.allclose(U.mH @ U, nbgrad.eye(2, dtype=U.dtype)) and nbgrad.allclose(V.mH @ V, nbgrad.eye(2, dtype=V.dtype))


def test_principal_components():
    """The variances along components are those of the covariance matrix; without centring, those about 0."""
    rows = matrices(40, 3).detach() * nbgrad.tensor([3.0, 2.0, 1.0]) + 5.0
    for center, about in ((True, rows.mean(0)), (False, 0.0)):
        _, S, _ = nbgrad.pca_lowrank(rows, center=center)
        assert nbgrad.allclose(S**2, linalg.eigvalsh((rows - about).T @ (rows - about)).flip(0))


@pytest.mark.parametrize(
    "call", [lambda A: nbgrad.svd_lowrank(A, 4), lambda A: nbgrad.svd_lowrank(A, 1, -1), lambda A: nbgrad.pca_lowrank(A[0])]
)
def test_low_rank_refuses(call):
    """More directions than there are, a negative number of turns, no matrix."""
    with pytest.raises((nbgrad.RangeError, nbgrad.ShapeError), match="lowrank: "):
        call(nbgrad.ones(4, 3))


# ---- values beside their vectors -----------------------------------------------------------------------------------------


VALUES = {
    "eigh": lambda x: linalg.eigh(x).eigenvalues,
    "eig": lambda x: linalg.eig(x).eigenvalues.real,
    "svd": lambda x: linalg.svd(x).S,
    "svd of reduced bases": lambda x: linalg.svd(x, full_matrices=False).S,
}


@pytest.mark.parametrize("name", VALUES)
def test_equal_values_have_gradients_beside_their_vectors(name):
    """The sum of all values of the unit matrix has the slope 1 in the direction of it: in passes that are recorded, in forward
    mode and in transforms too."""
    values, unit = VALUES[name], nbgrad.eye(3, dtype=nbgrad.float64)
    x = unit.clone().requires_grad_()
    for create_graph in (False, True):
        (g,) = nbgrad.grad(values(x).sum(), x, create_graph=create_graph)
        assert nbgrad.allclose(g, unit)
    assert nbgrad.allclose(nbgrad.func.jacfwd(lambda x: values(x).sum())(unit), unit)
    two = nbgrad.stack([unit, 2 * unit])
    assert nbgrad.allclose(nbgrad.vmap(nbgrad.func.grad(lambda x: values(x).sum()))(two), unit.expand(2, 3, 3))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)], ids=str)
def test_singular_values_beside_complete_bases(shape):
    """They have the gradient that they have alone, of tall and of wide matrices."""
    x = matrices(*shape)
    beside, alone = (nbgrad.grad(s.pow(3).sum(), x)[0] for s in (linalg.svd(x).S, linalg.svdvals(x)))
    assert nbgrad.allclose(beside, alone)


def test_phases_are_not_asked_for_in_a_batch_of_cotangents():
    """A batch of cotangents of complex eigenvectors gives what they give one by one."""
    x = matrices(2, 2, complex=True)
    y = linalg.eigh(x + x.mH).eigenvectors.abs().sum()
    (both,) = nbgrad.grad(y, x, nbgrad.tensor([1.0, 2.0], dtype=y.dtype), is_grads_batched=True, retain_graph=True)
    (one,) = nbgrad.grad(y, x)
    assert nbgrad.allclose(both, nbgrad.stack([one, 2 * one]))


def test_pinv_of_no_matrices():
    """Tolerances come one a matrix: none for none."""
    assert nbgrad.linalg.pinv(nbgrad.ones(0, 2, 1, 3), rtol=nbgrad.ones(0, 2)).shape == (0, 2, 3, 1)


# ---- L D L^T of indefinite matrices ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [nbgrad.float64, nbgrad.complex128])
def test_systems_of_indefinite_matrices(dtype, hermitian):
    """Symmetric or Hermitian ones, with pivots of two rows, in batches that broadcast; differentiable by the right side."""
    x = nbgrad.tensor(np.random.default_rng(0).normal(size=(2, 4, 4)) * (1 - np.eye(4))).to(dtype)
    x = x + 1j * x.tril() @ x if dtype.is_complex else x
    x = x + (x.mH if hermitian else x.mT)
    x = x - x.diagonal(0, -2, -1).diag_embed()  # so that no single row is a pivot at first
    factors, pivots = linalg.ldl_factor(x, hermitian=hermitian)
    assert (pivots < 0).any() and not factors.triu(1).any()
    right = nbgrad.tensor(np.random.default_rng(1).normal(size=(4, 3))).to(dtype).requires_grad_()
    assert (x @ linalg.ldl_solve(factors, pivots, right, hermitian=hermitian)).allclose(right.expand(2, 4, 3))
    solved = lambda right: linalg.ldl_solve(factors, pivots, right, hermitian=hermitian)
    assert nbgrad.autograd.gradcheck(solved, (right,), check_forward_ad=True)


def test_factors_of_singular_and_of_no_rows():
    """The first step without a pivot, or an error; factors have no derivative, and of wrong pivots nothing is computed."""
    assert linalg.ldl_factor_ex(nbgrad.zeros(3, 3)).info.item() == 1
    assert linalg.ldl_factor_ex(nbgrad.zeros(2, 0, 0)).info.tolist() == [0, 0]
    with pytest.raises(nbgrad.LinAlgError, match="^linalg.ldl_factor: the matrix is singular: row 1 has no pivot"):
        linalg.ldl_factor(nbgrad.zeros(3, 3))
    factors, pivots = linalg.ldl_factor(nbgrad.eye(3).requires_grad_())
    with pytest.raises(nbgrad.NotSupportedError, match="no derivative by the matrix"):
        factors.sum().backward()
    for wrong in ([1, 2, 4], [0, 2, 3], [1, 2, -3], [-1, -1, -3]):
        with pytest.raises(nbgrad.ShapeError, match="expected rows from 1 to 3"):
            linalg.ldl_solve(factors.detach(), nbgrad.tensor(wrong), nbgrad.ones(3, 1))
