"""Decompositions and systems by cuSOLVER: on the emulated device by libraries that are played, on a GPU by those installed."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest

import nbgrad
from nbgrad import linalg
from nbgrad.base import config
from nbgrad.base.errors import GraphError, KernelError, LinAlgError, ShapeError
from nbgrad.kernels.cuda import cublas, cusolver, libraries
from nbgrad.lowering.cuda import spectra

from .emulation import in_a_child, on_gpus, played, slow_too, two_gpus, without_gpus
from .test_stops import LINEAR, mode, names_told  # noqa: F401  (a fixture)

if config.EMULATED:
    from nbgrad.kernels.cuda.emulated import cublas as emulated_blas, cusolver as emulated

    emulated_blas.play()
    PLAYED = emulated.play()
    PLAYED.blas.called = PLAYED.called  # in the order in which both are


def slow(*values):
    """Parameters that are for slow runs."""
    return [pytest.param(each, marks=pytest.mark.slow) for each in values]


DTYPES = ("float64", "complex128", *slow("float32", "complex64"))
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-11, "complex128": 1e-11}


@pytest.fixture(autouse=True)
def on_the_gpu(request):
    """Nothing runs on the host in its place, but where a test says so."""
    if nbgrad.cuda.is_available() and cusolver.solvers() is None:
        pytest.skip("cuSOLVER is not installed: pip install 'nbgrad[cuda-linalg]'")
    before = nbgrad.cuda.host_fallbacks() if nbgrad.cuda.is_available() else None
    yield
    if before is not None and "host_too" not in request.fixturenames:
        assert nbgrad.cuda.host_fallbacks() == before


@pytest.fixture
def host_too():
    """Some of it may run on the host."""


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.early
def test_on_the_emulated_device(request):
    """The tests of this file, in a process of their own."""
    in_a_child(__file__, *slow_too(request))


def matrices(shape, dtype="float64", seed=0):
    """Random matrices on the GPU, and the same in NumPy, wide."""
    random = np.random.default_rng(seed)
    drawn = random.standard_normal(shape)
    if dtype.startswith("complex"):
        drawn = drawn + 1j * random.standard_normal(shape)
    x = nbgrad.asarray(drawn).to(getattr(nbgrad, dtype))
    return x.cuda(), x.numpy().astype(np.result_type(drawn, np.float64))


def positive(shape, dtype="float64", seed=0):
    """The same, Hermitian and positive definite."""
    a = matrices(shape, dtype, seed)[1]
    a = a @ h(a) + np.eye(shape[-1])
    x = nbgrad.asarray(a).to(getattr(nbgrad, dtype))
    return x.cuda(), x.numpy().astype(a.dtype)


def h(a):
    """The conjugate transpose."""
    return np.swapaxes(a, -1, -2).conj()


def wide(x):
    return x.cpu().resolve_conj().numpy(force=True)


def close(found, expected, tolerance=None):
    """Assert that a result is that array, to what its dtype allows."""
    assert found.device.type == "cuda" and tuple(found.shape) == expected.shape
    tolerance = CLOSE[found.dtype.name] if tolerance is None else tolerance
    off = np.abs(wide(found) - expected)
    assert off.max(initial=0) <= tolerance * max(1, np.abs(expected).max(initial=0)), off.max()


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (2, 2, 4, 4), *slow((1, 1), (40, 40), (3, 40, 40))])
def test_square_matrices(dtype, shape):
    """Factors, inverses, determinants and solutions are NumPy's."""
    (p, a), (x, b), (y, c) = positive(shape, dtype), matrices(shape, dtype, 1), matrices((*shape[:-1], 3), dtype, 2)
    x, b = x + 3 * nbgrad.eye(shape[-1], dtype=x.dtype, device="cuda"), b + 3 * np.eye(shape[-1])
    close(linalg.cholesky(p), np.linalg.cholesky(a))
    close(linalg.cholesky(p, upper=True), h(np.linalg.cholesky(a)))
    close(linalg.inv(x), np.linalg.inv(b))
    close(linalg.solve(x, y), np.linalg.solve(b, c))
    close(linalg.det(x), np.asarray(np.linalg.det(b)))
    sign, size = linalg.slogdet(x)
    expected = np.linalg.slogdet(b)
    close(sign, np.asarray(expected[0]))
    close(size, np.asarray(expected[1]))
    close(nbgrad.cholesky_solve(y, linalg.cholesky(p)), np.linalg.solve(a, c))
    close(nbgrad.cholesky_inverse(linalg.cholesky(p)), np.linalg.inv(a))
    w, v = np.linalg.eig(b / 8)
    exponential = v * np.exp(w)[..., None, :] @ np.linalg.inv(v)
    close(linalg.matrix_exp(x / 8), exponential if b.dtype.kind == "c" else exponential.real)


EMPTY = (
    linalg.inv,
    linalg.det,
    linalg.cholesky,
    linalg.eigvalsh,
    linalg.svdvals,
    lambda x: linalg.qr(x)[1],
    lambda x: linalg.solve(x, x),
)


@on_gpus
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)])
def test_of_nothing(shape):
    """An empty batch, and matrices without elements, have the CPU's results, for which the host does no work of the GPU's."""
    x = nbgrad.zeros(shape, dtype=nbgrad.float64)
    for call in EMPTY:
        close(call(x.cuda()), call(x).numpy())


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_as_they_lie(dtype):
    """Transposed ones, conjugates, every second row, a broadcast batch."""
    (x, a), (y, b) = matrices((6, 12), dtype), matrices((6, 4), dtype, 1)
    square, s = x[:, ::2], a[:, ::2]
    close(linalg.solve(square.mH, y), np.linalg.solve(h(s), b))
    close(linalg.inv(square.t()), np.linalg.inv(s.T))
    close(linalg.det(square.conj()), np.asarray(np.linalg.det(s.conj())))
    close(linalg.solve(square, y[:, 0]), np.linalg.solve(s, b[:, 0]))
    (many, c) = matrices((3, 6, 4), dtype, 2)
    close(linalg.solve(square, many), np.linalg.solve(np.broadcast_to(s, (3, 6, 6)), c))


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems(dtype, upper, unit, left):
    """Of either triangle, with ones on the diagonal, from both sides; the other triangle is not read."""
    (x, a), (y, b) = matrices((2, 5, 5), dtype), matrices((2, 5, 5) if left else (2, 3, 5), dtype, 1)
    x, a = x + 4 * nbgrad.eye(5, dtype=x.dtype, device="cuda"), a + 4 * np.eye(5)
    t = np.triu(a) if upper else np.tril(a)
    if unit:
        t = t - t * np.eye(5) + np.eye(5)
    expected = np.linalg.solve(t, b) if left else b @ np.linalg.inv(t)
    close(linalg.solve_triangular(x, y, upper=upper, unitriangular=unit, left=left), expected)


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 6, 3), *slow((5, 5), (1, 3), (2, 40, 20))])
def test_decompositions_give_the_matrix_back(dtype, shape):
    """QR and SVD, of tall and of wide matrices; their factors are what they should be, and solve least squares."""
    x, a = matrices(shape, dtype)
    k = min(shape[-2:])
    q, r = linalg.qr(x)
    close(q @ r, a)
    close(q.mH @ q, np.broadcast_to(np.eye(k), (*shape[:-2], k, k)).astype(a.dtype))
    q, r = linalg.qr(x, mode="complete")
    close(q @ r, a)
    close(q @ q.mH, np.broadcast_to(np.eye(shape[-2]), (*shape[:-1], shape[-2])).astype(a.dtype))
    for full in (False, True):
        u, s, v = linalg.svd(x, full_matrices=full)
        close(u[..., :k] @ (s.unsqueeze(-1) * v[..., :k, :]), a)
        for each in (u.mH @ u, v @ v.mH):
            close(each, np.broadcast_to(np.eye(each.shape[-1]), tuple(each.shape)).astype(a.dtype))
    close(linalg.svdvals(x), np.linalg.svd(a, compute_uv=False))
    close(linalg.pinv(x), np.linalg.pinv(a))
    y, b = matrices((*shape[:-1], 2), dtype, 1)
    close(linalg.lstsq(x, y).solution, np.linalg.pinv(a) @ b)


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 4), (2, 4, 7), (2, 3, 3), *slow((5, 5), (2, 40, 40))])
def test_elimination(dtype, shape):
    """P, L and U give the matrix back, and solve systems with it and its adjoint."""
    x, a = matrices(shape, dtype)
    p, low, up = linalg.lu(x)
    close(p @ low @ up, a)
    if shape[-1] == shape[-2]:
        factors, pivots = linalg.lu_factor(x)
        y, b = matrices((*shape[:-1], 2), dtype, 1)
        close(linalg.lu_solve(factors, pivots, y), np.linalg.solve(a, b))
        close(linalg.lu_solve(factors, pivots, y, adjoint=True), np.linalg.solve(h(a), b))


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("side", ["L", "U"])
def test_eigenvalues_of_hermitian_matrices(dtype, side):
    """In rising order, with vectors of length 1; one triangle is read."""
    x, a = positive((3, 6, 6), dtype)
    seen = x.tril() if side == "L" else x.triu()
    w, v = linalg.eigh(seen, UPLO=side)
    expected = np.linalg.eigvalsh(a)
    close(w, expected)
    close(linalg.eigvalsh(seen, UPLO=side), expected)
    close(x @ v, wide(v) * expected[:, None, :], 1e-3 if dtype in ("float32", "complex64") else 1e-10)
    close(v.mH @ v, np.broadcast_to(np.eye(6), (3, 6, 6)).astype(a.dtype))


SINGULAR = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [1.0, 0.0, 1.0]])  # whose elimination rounds nothing
INDEFINITE = np.stack([np.eye(3), np.diag([1.0, -2.0, 3.0])])


@on_gpus
@pytest.mark.parametrize(
    "call, x",
    [
        (linalg.inv, SINGULAR),
        (lambda x: linalg.solve(x, x), SINGULAR),
        (linalg.cholesky, INDEFINITE),
        (linalg.cholesky, INDEFINITE[1]),
        (linalg.cholesky, np.full((2, 2), np.nan)),
        (linalg.eigh, np.array([[1.0, np.nan], [np.nan, 2.0]])),
        (linalg.svdvals, np.array([[1.0, np.inf, 2.0]])),
        (lambda x: linalg.inv_ex(x, check_errors=True), SINGULAR),
        (lambda x: linalg.cholesky_ex(x, check_errors=True), INDEFINITE),
    ],
)
def test_matrices_without_are_refused_as_on_the_cpu(call, x):
    """With the same error, whose text names the matrix; what comes next works."""
    with pytest.raises(LinAlgError) as expected:
        call(nbgrad.asarray(x))
    with pytest.raises(LinAlgError) as found:
        call(nbgrad.asarray(x).cuda())
    assert str(found.value) == str(expected.value)
    close(linalg.inv(nbgrad.eye(2, dtype=nbgrad.float64, device="cuda")), np.eye(2))


@on_gpus
def test_what_gives_a_number_or_nan_in_the_place_of_an_error():
    """Determinants of singular matrices are 0; ``_ex`` functions say which part has no factor, as on the CPU."""
    x, p = nbgrad.asarray(SINGULAR).cuda(), nbgrad.asarray(INDEFINITE).cuda()
    assert linalg.det(x).item() == 0.0
    sign, size = linalg.slogdet(x)
    assert (sign.item(), size.item()) == (0.0, -np.inf)
    for there, here in ((linalg.cholesky_ex(p), linalg.cholesky_ex(p.cpu())), (linalg.inv_ex(x), linalg.inv_ex(x.cpu()))):
        np.testing.assert_array_equal(wide(there[0]), here[0].numpy())
        np.testing.assert_array_equal(wide(there[1]), here[1].numpy())
        assert there[1].dtype is here[1].dtype
    with pytest.raises(ShapeError, match="expected square matrices, got 2 by 3"):
        linalg.inv(nbgrad.ones(2, 3, device="cuda"))


GRADIENTS = {
    "cholesky": lambda x: linalg.cholesky(x @ x.mH + 3 * nbgrad.eye(4, dtype=x.dtype, device=x.device)).abs().sum(),
    "inverse": lambda x: linalg.inv(x).abs().square().sum(),
    "solve": lambda x: linalg.solve(x, x[..., :2] * 2 + 1).abs().sum(),
    "determinant": lambda x: linalg.det(x).abs().sum(),
    "slogdet": lambda x: linalg.slogdet(x)[1].sum(),
    "eigenvalues": lambda x: linalg.eigvalsh(x + x.mH).square().sum(),
    "projector": lambda x: (lambda v: (v[..., :1] @ v[..., :1].mH).abs().square().sum())(linalg.eigh(x + x.mH)[1]),
    "cofactors": lambda x: nbgrad.grad(linalg.det(x).abs().sum(), x, create_graph=True)[0].abs().square().sum(),
    "of singular matrices": lambda x: linalg.det(nbgrad.cat([x[..., :1, :], x[..., :-1, :]], -2)).real.sum(),
    "any eigenvalues": lambda x: linalg.eigvals(x).abs().square().sum(),
    "elimination": lambda x: linalg.lu_solve(*linalg.lu_factor(x), x[..., :2]).abs().sum(),
    "singular values": lambda x: linalg.svdvals(x).square().sum(),
    "qr": lambda x: linalg.qr(x)[1].abs().sum(),
    "triangular": lambda x: linalg.solve_triangular(x, x * 2, upper=True).abs().sum(),
}


# Whose derivatives may be found to depend on phases, or are of decompositions themselves.
READ = ("projector", "any eigenvalues", "cofactors")


@contextmanager
def waits_refused():
    """What would make the program wait for the GPU is an error."""
    before = nbgrad.cuda.get_sync_debug_mode()
    nbgrad.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        nbgrad.cuda.set_sync_debug_mode(before)


@on_gpus
@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("dtype", ["complex128", *slow("float64")])
def test_gradients(name, dtype):
    """They are made of the same operations, and are the CPU's; nothing is read for them, but where errors may be found."""
    x = matrices((2, 4, 4), dtype, 3)[0].cpu() + 2 * nbgrad.eye(4).to(getattr(nbgrad, dtype))
    here, there = x.clone().requires_grad_(), x.cuda().requires_grad_()
    for leaf in (here, there):
        loss = GRADIENTS[name](leaf)
        with waits_refused() if leaf is there and name not in READ else nullcontext():
            loss.backward()
    close(there.grad, here.grad.resolve_conj().numpy(), 1e-8)


@on_gpus
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_eigenvalues(dtype):
    """Complex ones, with vectors of length 1, of real matrices in pairs; and elimination in the order of the rows."""
    x, a = matrices((2, 5, 5), dtype)
    w, v = linalg.eig(x)
    expected = np.linalg.eigvals(a)
    for values in (w, linalg.eigvals(x)):
        close(nbgrad.asarray(np.sort_complex(np.round(wide(values), 3))).cuda(), np.sort_complex(np.round(expected, 3)), 2e-3)
    close(x.to(w.dtype) @ v, wide(v) * wide(w)[:, None, :], 1e-4 if CLOSE[dtype] > 1e-6 else None)
    close(v.abs().square().sum(-2), np.ones((2, 5)), 1e-5)
    dominant = x + 8 * nbgrad.eye(5, dtype=x.dtype, device="cuda")
    _, low, up = linalg.lu(dominant, pivot=False)
    close(low @ up, a + 8 * np.eye(5))


WORK = {
    "cholesky": (lambda x: linalg.cholesky(x @ x.mH), "potrfBatched", "potrf"),
    "triangular": (lambda x: linalg.solve_triangular(x, x, upper=True), "trsmBatched", "trsm"),
    "inverse": (linalg.inv, "matinvBatched", "getrf getrs"),
    "solve": (lambda x: linalg.solve(x, x), "getrfBatched getrsBatched", "getrf getrs"),
    "determinant": (linalg.det, "getrfBatched", "getrf"),
    "factors": (linalg.lu_factor, "getrfBatched", "getrf"),
    "qr": (linalg.qr, "geqrfBatched trsmBatched", "geqrf orgqr"),
    "hermitian": (linalg.eigh, "syevBatched", "syevd"),
    "hermitian, complex64": (lambda x: linalg.eigh(x.to(nbgrad.complex64)), "syevBatched", "syevd"),
    "singular": (linalg.svd, "gesvdjBatched", "gesvd"),
    "eigenvalues": (linalg.eigvals, "geev geev", "geev"),
    "larger inverses": (lambda x: linalg.inv(large(x)), "getrfBatched getrsBatched", "getrf getrs"),
    "larger singular values": (lambda x: linalg.svdvals(large(x)), "gesvd gesvd", "gesvd"),
}


def large(x):
    """A matrix of order 33 with that in its corner."""
    one = nbgrad.eye(33, dtype=x.dtype, device=x.device).repeat(*x.shape[:-2], 1, 1)
    one[..., :3, :3] = x
    return one


@on_gpus
@played
@pytest.mark.parametrize("name", WORK)
def test_batches_by_one_call(name):
    """Where the libraries have a function of many matrices that can be trusted with them; of one it is the function of one."""
    call, many, one = WORK[name]
    for count, names in ((2, many), (1, one)):
        x, _ = matrices((count, 3, 3))
        PLAYED.called.clear()
        call(x)
        assert sorted(PLAYED.called) == sorted(names.split())


@on_gpus
@played
def test_batches_that_a_call_does_not_take(monkeypatch):
    """More matrices than the library takes are divided; those that rotations do not decompose are decomposed one by one."""
    x, a = matrices((5, 3, 3))
    monkeypatch.setattr(spectra, "SIDE_BY_SIDE", 2)
    PLAYED.called.clear()
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(a))
    assert PLAYED.called == ["syevBatched"] * 3
    monkeypatch.setattr(PLAYED, "unfinished", 4)
    PLAYED.called.clear()
    close(linalg.svdvals(x), np.linalg.svd(a, compute_uv=False))
    assert PLAYED.called == ["gesvdjBatched"] * 3 + ["gesvd"] * 5


UNSTOPPED = {
    "determinants": lambda x: (linalg.det(x), linalg.slogdet(x)),
    "reports": lambda x: (linalg.inv_ex(x), linalg.solve_ex(x, x), linalg.cholesky_ex(x), linalg.lu_factor_ex(x)),
    "factors": lambda x: linalg.lu_solve(*linalg.lu_factor_ex(x)[:2], x),
    "qr": lambda x: (linalg.qr(x), linalg.qr(x[0]), linalg.lstsq(x[..., :2], x)),
}


@on_gpus
@pytest.mark.parametrize("name", UNSTOPPED)
def test_what_does_not_wait(name):
    """Determinants, functions that report, QR, and least squares by it: nothing is read, whatever the matrices are."""
    x = matrices((2, 3, 3))[0]
    with waits_refused():
        UNSTOPPED[name](x)


@on_gpus
def test_a_stream_of_its_own():
    """Work is on the current stream, and in order with what is before and behind."""
    x, a = positive((30, 30))
    stream = nbgrad.cuda.Stream()
    stream.wait_stream(nbgrad.cuda.current_stream())
    with nbgrad.cuda.stream(stream):
        found = linalg.cholesky(x * 2.0) + 1.0
    nbgrad.cuda.current_stream().wait_stream(stream)
    close(found, np.linalg.cholesky(2 * a) + 1)


@two_gpus
def test_two_gpus():
    """Each has handles of its own."""
    x, a = positive((4, 4))
    np.testing.assert_allclose(linalg.cholesky(x.to("cuda:1")).cpu().numpy(), np.linalg.cholesky(a))


@on_gpus
def test_captures_are_refused():
    """What is found wrong with a matrix is read on the host."""
    x, _ = positive((4, 4))
    linalg.cholesky(x)
    with pytest.raises(GraphError, match="a value is read on the host"):
        with nbgrad.cuda.graph(nbgrad.cuda.CUDAGraph()):
            linalg.cholesky(x)
    nbgrad.cuda.synchronize()


@on_gpus
@played
def test_an_error_of_the_library_is_raised(monkeypatch):
    """A status that is no success becomes an error with the names of function and status."""
    x, _ = positive((4, 4))
    monkeypatch.setattr(PLAYED, "failing", 7)
    with pytest.raises(KernelError, match="cusolver: cusolverDnXpotrf is refused: INTERNAL_ERROR"):
        linalg.cholesky(x)


@on_gpus
@played
@pytest.mark.usefixtures("host_too")
def test_without_the_library_the_host_does_it():
    """With a warning; one that is too old is named, and not used."""
    x, a = positive((4, 4))
    old = emulated.PlayedSolver(11000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(libraries.PLAYED, "cusolver", old.library)
        cusolver.solvers.cache_clear()
        with pytest.warns(UserWarning, match="cusolver is there, played, and too old to be used: version 11000, expected 11400"):
            assert cusolver.solvers() is None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = nbgrad.cuda.host_fallbacks().get("cholesky_factor", 0)
            close(linalg.cholesky(x), np.linalg.cholesky(a))
        assert nbgrad.cuda.host_fallbacks()["cholesky_factor"] == before + 1
        assert not old.called
    cusolver.solvers.cache_clear()
    assert cusolver.solvers() is not None


@on_gpus
@played
@pytest.mark.usefixtures("host_too")
def test_an_older_library_lacks_functions(monkeypatch):
    """Hermitian matrices of a batch are then decomposed one by one, and others on the host."""
    old = emulated.PlayedSolver(11400)
    for name in cusolver.LATER:
        del old.library.functions[name]
    monkeypatch.setitem(libraries.PLAYED, "cusolver", old.library)
    cusolver.solvers.cache_clear()
    cusolver.handles_of.cache_clear()
    x, a = positive((2, 3, 3))
    close(linalg.eigvalsh(x), np.linalg.eigvalsh(a))
    assert old.called == ["syevd", "syevd"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(linalg.eigvals(x).real.sort().values, np.linalg.eigvalsh(a))
    assert nbgrad.cuda.host_fallbacks()["eigenvalues"]
    monkeypatch.undo()
    cusolver.solvers.cache_clear()
    cusolver.handles_of.cache_clear()


@on_gpus
@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.usefixtures("host_too")
def test_stops_have_the_names_of_what_was_called(name, mode):  # noqa: F811
    """Whoever computes: here it is the library."""
    assert names_told(mode, LINEAR[name], nbgrad.arange(4.0, device="cuda")) == {name}


# The C types of parameters that are no addresses, by their letter.
C_TYPES = {"int": "i", "cusolver_int_t": "i", "int64_t": "q", "size_t": "n", "signed char": "b"}


def letter_of(parameter):
    """That of a parameter as a header declares it."""
    kind = " ".join(parameter.replace("const ", "").split()[:-1])
    if "*" in parameter or "[" in parameter or kind.endswith(("Handle_t", "Params_t", "Info_t", "Stream_t")):
        return "p"
    return C_TYPES.get(kind, "i")  # what is left are enumerations


@pytest.mark.parametrize("name", ["cusolver", "cublas"])
def test_functions_have_their_real_parameters(name):
    """As many as the library's header declares, of the kinds that it declares."""
    pathfinder = pytest.importorskip("cuda.pathfinder")
    folder = pathfinder.find_nvidia_header_directory(name)
    if folder is None:
        pytest.skip(f"the headers of {name} are not installed")
    text, checked = (Path(folder) / {"cusolver": "cusolverDn.h", "cublas": "cublas_api.h"}[name]).read_text(), 0
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for function, kinds in {"cusolver": cusolver.FUNCTIONS, "cublas": cusolver.BLAS_FUNCTIONS}[name].items():
        found = re.search(rf"\b{function}\s*\(([^)]*)\)", text)
        if found is not None:
            checked += 1
            assert kinds.partition(">")[0] == "".join(map(letter_of, found[1].split(","))), function
    assert checked > 20


@on_gpus
@played
def test_the_played_libraries_are_strict():
    """Leading dimensions, dtypes and workspaces that the documentation does not allow are refused."""
    call, handles = PLAYED.library.functions, cusolver.handles_of(0)
    first = handles.solver, handles.parameters
    cells = (nbgrad.zeros(64, dtype=nbgrad.float64, device="cuda"), nbgrad.zeros(1024, dtype=nbgrad.float64, device="cuda"))
    a, work = (each._storage_.array.address for each in cells)
    assert call["cusolverDnXpotrf"](*first, 1, 4, 1, a, 4, 1, work, 4096, work, 64, work) == 0
    assert call["cusolverDnXpotrf"](*first, 1, 4, 1, a, 3, 1, work, 4096, work, 64, work) == 3
    assert call["cusolverDnXpotrf"](*first, 1, 4, 1, a, 4, 0, work, 4096, work, 64, work) == 3
    assert call["cusolverDnXpotrf"](*first, 1, 4, 1, a, 4, 1, work, 16, work, 64, work) == 3
    assert call["cusolverDnXpotrf"](handles.solver, 5, 1, 4, 1, a, 4, 1, work, 4096, work, 64, work) == 3
    one = cublas.constants("float64")[2]
    triangles = PLAYED.blas.library.functions["cublasDtrsm_v2_64"]
    assert triangles(handles.blas, 1, 1, 0, 0, 2, 3, one, a, 2, a, 2) == 7
    nbgrad.cuda.synchronize()
