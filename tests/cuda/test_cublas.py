"""Products by cuBLASLt: on the emulated device by a library that is played, on a GPU by the one that is installed."""

from __future__ import annotations

import ctypes
import gc
import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.base.calls import CALLS
from nbgrad.base.errors import ArgumentError, GraphError, KernelError
from nbgrad.kernels.cuda import cublas, libraries

from .emulation import both_builds, in_a_child, launched, on_gpus, played, two_gpus, without_gpus

if config.EMULATED:
    from nbgrad.kernels.cuda.emulated import cublas as emulated

    PLAYED = emulated.play()


def is_there() -> bool:
    """Whether products go through the library."""
    return cublas.blas() is not None


# Of the largest possible sum of magnitudes: the rounding of float32 sums, or of what they are rounded to.
CLOSE = {"float32": 1e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3, "complex64": 2e-6, "complex128": 2e-14}


@pytest.fixture(autouse=True)
def usual():
    """Products are as precise as they are at first."""
    if nbgrad.cuda.is_available() and not is_there():
        pytest.skip("cuBLASLt is not installed: pip install 'nbgrad[cuda-blas]'")
    yield
    nbgrad.set_float32_matmul_precision("highest")


@without_gpus
@pytest.mark.usefixtures("compiler")
@pytest.mark.early
@both_builds
def test_on_the_emulated_device(native):
    """The tests of this file, in a process of their own, with native code and without."""
    in_a_child(__file__, NBGRAD_NATIVE=native)


def numbers(shape, dtype="float32", seed=0):
    """Numbers around 0 on the GPU, and the same in NumPy, wide."""
    random = np.random.default_rng(seed)
    drawn = random.standard_normal(shape)
    if dtype.startswith("complex"):
        drawn = drawn + 1j * random.standard_normal(shape)
    x = nbgrad.asarray(drawn).to(getattr(nbgrad, dtype))
    return x.cuda(), wide(x)


def wide(x):
    """A tensor in NumPy's widest dtype of its kind."""
    return x.cpu().resolve_conj().to(nbgrad.complex128 if x.dtype.is_complex else nbgrad.float64).numpy(force=True)


def close(found, x, y, bias=0.0):
    """Assert that a result is the product of arrays, to the rounding of its dtype."""
    exact, most = x @ y + bias, np.abs(x) @ np.abs(y) + np.abs(bias)
    assert tuple(found.shape) == exact.shape
    off = np.abs(wide(found) - exact) / np.maximum(most, 1e-30)
    assert not off.size or off.max() <= CLOSE[found.dtype.name], (off.max(), found.dtype)


@on_gpus
@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("turns", [(False, False), (True, False), (False, True), (True, True)])
def test_shapes_and_transposed_operands(dtype, turns):
    """Operands as they lie and transposed ones are multiplied by one launch: none is copied."""
    for m, n, k in [(1, 1, 1), (2, 3, 4), (64, 64, 64), (33, 65, 17), (128, 1, 3), (1, 9, 5), (7, 130, 256)]:
        x, a = numbers((k, m) if turns[0] else (m, k), dtype)
        y, b = numbers((n, k) if turns[1] else (k, n), dtype, 1)
        x, a = (x.t(), a.T) if turns[0] else (x, a)
        y, b = (y.t(), b.T) if turns[1] else (y, b)
        close(x @ y, a, b)
        before = launched()
        found = x @ y
        assert launched() == before + 1
        close(found, a, b)
        close(CALLS["gemm"](x.t(), y.t(), True, True), a, b)


@on_gpus
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_batches(dtype):
    """Batches, a matrix for all of a batch, broadcast ones, permuted heads."""
    shapes = [
        ((3, 5, 7), (3, 7, 6)),
        ((2, 3, 5, 7), (7, 6)),
        ((5, 7), (3, 7, 6)),
        ((2, 1, 5, 7), (3, 7, 6)),
        ((4, 1, 7), (4, 7, 2)),
    ]
    for one, other in shapes:
        (x, a), (y, b) = numbers(one, dtype), numbers(other, dtype, 1)
        close(x @ y, a, b)
        close(x @ y.transpose(-1, -2).contiguous().transpose(-1, -2), a, b)
    (q, a), (k, b) = numbers((2, 9, 3, 8), dtype), numbers((2, 9, 3, 8), dtype, 1)
    close(q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1), a.transpose(0, 2, 1, 3), b.transpose(0, 2, 3, 1))


@on_gpus
def test_what_has_gaps_is_copied():
    """Every second row needs no copy, every second column does, and so do an expanded column and an expanded row."""
    (x, a), (y, b) = numbers((40, 34)), numbers((17, 60), seed=1)
    close(x[::2, :17] @ y, a[::2, :17], b)
    close(x[:, ::2] @ y, a[:, ::2], b)
    close(x[:, :1].expand(40, 17) @ y[:, ::3], np.broadcast_to(a[:, :1], (40, 17)), b[:, ::3])
    close(x[:1, :17].expand(5, 17) @ y, np.broadcast_to(a[:1, :17], (5, 17)), b)


@on_gpus
def test_conjugates():
    """A transposed one is the library's own operation, another one is copied."""
    (x, a), (y, b) = numbers((5, 7), "complex64"), numbers((7, 6), "complex64", 1)
    close(x.conj() @ y, a.conj(), b)
    close(x.mH.conj().t().conj() @ y.conj(), a.conj(), b.conj())
    close(y.mH @ x.mH, b.conj().T, a.conj().T)


@on_gpus
@pytest.mark.parametrize("dtype", CLOSE)
def test_bias(dtype):
    """A linear layer adds a number for each column, one for all, or one with steps between."""
    weight, w = numbers((6, 7), dtype, 1)
    bias, c = numbers((12,), dtype, 2)
    for shape in ((9, 7), (2, 3, 7), (7,)):
        x, a = numbers(shape, dtype)
        for given, added in ((bias[:6], c[:6]), (bias[::2], c[::2]), (bias[:1], c[:1])):
            found = CALLS["gemm_bias"](x, weight, given, True)
            close(found, a, w.T, added)
    x, a = numbers((9, 7), dtype)
    close(nbgrad.addmm(bias[:6], x, weight.t()), a, w.T, c[:6])


@on_gpus
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "complex128"])
def test_memory_that_is_not_aligned(dtype):
    """Operands that begin at any element, with a plan that was made for aligned ones, and the bias too."""
    (x, a), (y, b), (bias, c) = numbers((200,), dtype), numbers((200,), dtype, 1), numbers((20,), dtype, 2)
    for first, second, third in [(0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 3, 0), (0, 0, 1), (5, 7, 9)]:
        u, v = x[first : first + 60].view(6, 10), y[second : second + 80].view(10, 8)
        close(u @ v, a[first : first + 60].reshape(6, 10), b[second : second + 80].reshape(10, 8))
        found = CALLS["gemm_bias"](u, v, bias[third : third + 8], False)
        close(found, a[first : first + 60].reshape(6, 10), b[second : second + 80].reshape(10, 8), c[third : third + 8])


@on_gpus
def test_a_bias_that_is_not_aligned():
    """With operands that are, and a plan for a bias that was."""
    (x, a), (y, b), (bias, c) = numbers((6, 12)), numbers((12, 8), seed=1), numbers((20,), seed=2)
    for first in (0, 3, 8):
        close(CALLS["gemm_bias"](x, y, bias[first : first + 8], False), a, b, c[first : first + 8])


@on_gpus
def test_nothing_to_multiply():
    """No rows, no columns, nothing to add up."""
    for m, n, k in [(0, 3, 4), (3, 0, 4), (3, 4, 0)]:
        found = nbgrad.ones(m, k, device="cuda") @ nbgrad.ones(k, n, device="cuda")
        assert found.shape == (m, n) and not found.cpu().numpy().any()
    bias = nbgrad.arange(4.0, device="cuda")
    assert (
        CALLS["gemm_bias"](nbgrad.ones(2, 0, device="cuda"), nbgrad.ones(0, 4, device="cuda"), bias, False).tolist()
        == [[0, 1, 2, 3]] * 2
    )


@on_gpus
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_runs_repeat(dtype):
    """The same bits again, also of long sums, in which the library adds up parts."""
    for m, n, k in [(64, 64, 64), (16, 24, 4096), (130, 70, 513)]:
        (x, _), (y, _) = numbers((m, k), dtype), numbers((k, n), dtype, 1)
        first = wide(x @ y)
        for _ in range(3):
            np.testing.assert_array_equal(wide(x @ y), first)


@on_gpus
def test_gradients_of_a_linear_layer():
    """Both are products with transposed operands; values are the CPU's."""
    layer = nbgrad.nn.Linear(7, 5)
    x = nbgrad.asarray(np.random.default_rng(0).standard_normal((9, 7))).to(nbgrad.float32).requires_grad_()
    layer(x).square().sum().backward()
    want = [x.grad, layer.weight.grad, layer.bias.grad]
    there = nbgrad.nn.Linear(7, 5).cuda()
    there.load_state_dict(layer.state_dict())
    y = x.detach().cuda().requires_grad_()
    there(y).square().sum().backward()
    for found, expected in zip([y.grad, there.weight.grad, there.bias.grad], want):
        np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=2e-5, atol=2e-5)


@on_gpus
def test_streams():
    """Each stream has its products in its order, with a workspace of its own."""
    (x, a), (y, b) = numbers((32, 48)), numbers((48, 16), seed=1)
    streams = [nbgrad.cuda.Stream() for _ in range(2)]
    found = []
    for stream in streams:
        stream.wait_stream(nbgrad.cuda.current_stream())
        with nbgrad.cuda.stream(stream):
            found.append(x @ y)
            if config.EMULATED:
                assert PLAYED.made[-1]["stream"] == stream.cuda_stream
    nbgrad.cuda.synchronize()
    for each in found:
        close(each, a, b)


@on_gpus
def test_captures():
    """A product that was done before can be captured, another one cannot."""
    (x, a), (y, b), (bias, c) = numbers((12, 10)), numbers((10, 8), seed=1), numbers((8,), seed=2)
    CALLS["gemm_bias"](x, y, bias, False)
    g = nbgrad.cuda.CUDAGraph()
    with nbgrad.cuda.graph(g):
        found = CALLS["gemm_bias"](x, y, bias, False)
    x.mul_(2.0)
    g.replay()
    close(found, 2 * a, b, c)
    (x, _), (y, _) = numbers((11, 10)), numbers((10, 9), seed=1)
    with pytest.raises(GraphError, match="is prepared by cuBLAS, for the first time"):
        with nbgrad.cuda.graph(nbgrad.cuda.CUDAGraph()):
            x @ y
    nbgrad.cuda.synchronize()


@on_gpus
def test_tf32_is_asked_for():
    """Products of float32 are precise until the program says that they need not be, and again when it says so."""
    (x, a), (y, b) = numbers((64, 96)), numbers((96, 48), seed=1)
    first = x @ y
    close(first, a, b)
    nbgrad.backends.cuda.matmul.allow_tf32 = True
    assert nbgrad.get_float32_matmul_precision() == "high"
    most = np.abs(a) @ np.abs(b)
    off = (np.abs(wide(x @ y) - a @ b) / most).max()
    assert off <= 2e-3
    if config.EMULATED:
        assert PLAYED.made[-1]["compute"] == 77
    else:
        assert off > CLOSE["float32"]
    (u, c), (v, d) = numbers((8, 8), "float64"), numbers((8, 8), "float64", 1)
    close(u @ v, c, d)
    nbgrad.set_float32_matmul_precision("highest")
    assert not nbgrad.backends.cuda.matmul.allow_tf32
    np.testing.assert_array_equal(wide(x @ y), wide(first))


@on_gpus
def test_integers_are_ours():
    """The library has no products of integers that wrap around."""
    x = nbgrad.arange(12, device="cuda").view(3, 4)
    count = len(cublas.ready)
    assert (x @ x.t()).tolist() == (x.cpu() @ x.cpu().t()).tolist()
    assert len(cublas.ready) == count


@on_gpus
def test_a_product_that_nobody_calls_any_more_is_dropped():
    """Its descriptions go with its plan."""
    gc.collect()
    count = len(cublas.ready)
    (x, _), (y, _) = numbers((21, 22)), numbers((22, 23), seed=1)
    CALLS["mm"](x, y)
    assert len(cublas.ready) > count
    CALLS["mm"].plans.pop((x.layout, y.layout))
    gc.collect()
    assert len(cublas.ready) == count


# ---- what the played library shows -----------------------------------------------------------------------------------------------


@on_gpus
@played
def test_a_bias_goes_along_with_the_product():
    """Nothing is launched for it where the library adds it; it is where the library is told it is."""
    (x, a), (y, b), (bias, c) = numbers((9, 7)), numbers((7, 6), seed=1), numbers((12,), seed=2)
    for part in (slice(0, 6), slice(4, 10)):
        close(CALLS["gemm_bias"](x, y, bias[part], False), a, b, c[part])
        assert PLAYED.made[-1]["bias"]
    z, _ = numbers((9, 7), "complex64")
    w, _ = numbers((7, 6), "complex64")
    d, _ = numbers((6,), "complex64")
    CALLS["gemm_bias"](z, w, d, False)
    assert not PLAYED.made[-1]["bias"]


@on_gpus
@played
def test_what_the_library_lacks(monkeypatch):
    """Without an algorithm with a bias the result holds it before; without any our kernels multiply."""
    monkeypatch.setattr(PLAYED, "lacks", lambda facts: facts["bias"])
    (x, a), (y, b), (bias, c) = numbers((10, 7)), numbers((7, 9), seed=1), numbers((9,), seed=2)
    close(CALLS["gemm_bias"](x, y, bias, False), a, b, c)
    assert not PLAYED.made[-1]["bias"]
    count = len(PLAYED.made)
    monkeypatch.setattr(PLAYED, "lacks", lambda facts: True)
    (x, a), (y, b) = numbers((10, 8)), numbers((8, 9), seed=1)
    close(CALLS["gemm_bias"](x, y, bias, False), a, b, c)
    close(x @ y, a, b)
    assert len(PLAYED.made) == count


@on_gpus
@played
def test_an_error_of_the_library_is_raised(monkeypatch):
    """With its name; what comes next works."""
    (x, a), (y, b) = numbers((3, 7)), numbers((7, 5), seed=1)
    x @ y
    monkeypatch.setattr(PLAYED, "failing", 13)
    with pytest.raises(KernelError, match="cublasLt: a call is refused: CUBLAS_STATUS_EXECUTION_FAILED"):
        x @ y
    monkeypatch.setattr(PLAYED, "failing", 0)
    close(x @ y, a, b)


@on_gpus
@played
def test_a_library_that_is_too_old_is_named_and_not_used():
    """Once; products are ours then."""
    old = emulated.PlayedBlas(version=110900)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(libraries.PLAYED, "cublasLt", old.library)
        cublas.blas.cache_clear()
        with pytest.warns(UserWarning, match="cublasLt is there, played, and too old to be used: version 110900, expected 120000"):
            assert cublas.blas() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cublas.blas() is None
            (x, a), (y, b) = numbers((4, 11)), numbers((11, 3), seed=1)
            close(x @ y, a, b)
        assert not old.made
        patch.delitem(libraries.PLAYED, "cublasLt")
        cublas.blas.cache_clear()
        assert cublas.blas() is None
    cublas.blas.cache_clear()
    assert cublas.blas() is not None


@two_gpus
def test_two_gpus():
    """Each has its own handle of the library, and its own products."""
    (x, a), (y, b) = numbers((5, 6)), numbers((6, 7), seed=1)
    close(x.to("cuda:1") @ y.to("cuda:1"), a, b)
    close(x @ y, a, b)
    nbgrad.cuda.synchronize(1)


def words(*values, kind=ctypes.c_uint64):
    """Values in memory, one after the other."""
    return ctypes.addressof(cells := (kind * len(values))(*values)), cells


@on_gpus
@played
def test_the_played_library_is_strict():
    """What the documentation does not allow is refused: numbers, sizes of attributes, leading dimensions, shapes."""
    library = PLAYED.library
    call = library.functions
    out, cell = words(0)
    assert call["cublasLtMatmulDescCreate"](out, 68, 1) == 7  # alpha of float64 for float32
    assert call["cublasLtMatrixLayoutCreate"](out, 0, 8, 4, 7) == 7  # columns that overlap
    assert call["cublasLtMatrixLayoutCreate"](out, 3, 8, 4, 8) == 7  # integers
    assert call["cublasLtMatmulDescCreate"](out, 68, 0) == 0
    product, (value, _) = cell[0], words(1)
    assert call["cublasLtMatmulDescSetAttribute"](product, 3, value, 8) == 7  # of four bytes
    assert call["cublasLtMatmulDescSetAttribute"](product, 30, value, 4) == 7
    assert call["cublasLtMatrixLayoutSetAttribute"](product, 5, value, 4) == 7  # no layout
    assert call["cublasLtMatmulDescDestroy"](product) == 0
    assert call["cublasLtMatmulDescDestroy"](product) == 7
    with pytest.raises(KernelError, match="cublasLtMatmulDescDestroy is refused: CUBLAS_STATUS_INVALID_VALUE"):
        library.call("cublasLtMatmulDescDestroy", product)


@on_gpus
@played
@pytest.mark.parametrize("fault", ["lead", "apart", "place", "turn"])
def test_planted_faults_are_found(fault, monkeypatch):
    """A product that is described wrongly reads what is not there, or nobody has written, or is refused."""
    usual = cublas.Ready.layout

    def wrong(self, library, stored):
        changes = {"lead": {"lead": stored.lead + 1}, "apart": {"apart": stored.apart + 1}, "turn": {"rows": stored.columns}}
        return usual(self, library, stored._replace(**changes.get(fault, {})))

    monkeypatch.setattr(cublas.Ready, "layout", wrong)
    if fault == "place":
        monkeypatch.setattr(cublas, "constants", lambda scale: (None, *[usual_constants[0]] * 2))
    (x, a), (y, b) = numbers((2, 13, len(fault) + 20)), numbers((2, len(fault) + 20, 9), seed=1)
    with pytest.raises((KernelError, AssertionError)):
        close(x @ y, a, b)
        nbgrad.cuda.synchronize()
    from nbgrad.kernels.cuda.emulated.driver import install

    install().driver.recover()


usual_constants = cublas.constants("float32")[1:]


def test_the_switches_are_torchs():
    """One says what the other reads; anything but a bool is refused."""
    assert nbgrad.backends.cuda.matmul.allow_tf32 is False
    nbgrad.set_float32_matmul_precision("medium")
    assert nbgrad.backends.cuda.matmul.allow_tf32 is True
    nbgrad.backends.cuda.matmul.allow_tf32 = False
    assert nbgrad.get_float32_matmul_precision() == "highest"
    with pytest.raises(ArgumentError, match="allow_tf32: expected a bool, got int"):
        nbgrad.backends.cuda.matmul.allow_tf32 = 1
