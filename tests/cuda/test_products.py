"""Matrix products on the emulated device: integers to the bit, numbers to the rounding of their sums."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import DTypeError, ShapeError
from nbgrad.lowering.cuda import linalg
from tests.cuda.lowered import launches, on_cpu, on_cuda, sample

REALS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int8", "uint8"]


def numbers(shape, dtype="float32", seed=0):
    """Small whole numbers, so that no sum is rounded."""
    return sample(shape, dtype, seed, -3, 4)


def check(name, *tensors, **attributes):
    """The same on both; sums of small whole numbers have no rounding."""
    found, expected = on_cuda(name, *tensors, **attributes), on_cpu(name, *tensors, **attributes)
    assert found.layout is expected.layout
    np.testing.assert_array_equal(
        *(x.to(nbgrad.float32).numpy() if x.dtype is nbgrad.bfloat16 else x.numpy() for x in (found, expected))
    )


@pytest.mark.parametrize("dtype", [*REALS, *INTEGERS, "complex64", "complex128"])
def test_every_dtype(dtype):
    """More than a tile each way, and depths that are no multiple of a tile's."""
    check("mm", numbers((65, 17), dtype), numbers((17, 66), dtype, 1))


SIZES = [(1, 1, 1), (64, 64, 16), (63, 65, 15), (3, 2, 0), (2, 130, 33), (0, 3, 4)]


@pytest.mark.parametrize("m, n, k", SIZES)
@pytest.mark.parametrize("turns", [(False, False), (True, False), (False, True), (True, True)])
def test_sizes_and_transposed_operands(m, n, k, turns):
    """One tile, one less and more; operands that lie by columns are no copies."""
    x, y = numbers((k, m) if turns[0] else (m, k)), numbers((n, k) if turns[1] else (k, n), seed=1)
    check("mm", x.t() if turns[0] else x, y.t() if turns[1] else y)
    check("gemm", x, y, transpose_x=turns[0], transpose_y=turns[1])
    (_, steps), _ = launches("mm", x.t() if turns[0] else x, y.t() if turns[1] else y)
    assert len(steps.steps) <= 1


def test_operands_with_gaps():
    """Every second row and column, an expanded one."""
    x, y = numbers((40, 34)), numbers((17, 60), seed=1)
    check("mm", x[::2, ::2], y[:, ::3])
    check("mm", x[:, :1].expand(40, 17), y)


BATCHES = {
    "bmm": ((3, 5, 7), (3, 7, 6)),
    "matmul of a stack and a matrix": ((2, 3, 5, 7), (7, 6)),
    "matmul of a matrix and a stack": ((5, 7), (3, 7, 6)),
    "matmul that broadcasts": ((2, 1, 5, 7), (3, 7, 6)),
    "matmul of a stack and a vector": ((2, 3, 5, 70), (70,)),
    "matmul of a vector and a stack": ((70,), (3, 70, 6)),
    "matmul of vectors": ((70,), (70,)),
    "mv": ((9, 300), (300,)),
    "dot": ((1000,), (1000,)),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_batches_and_vectors(name, dtype):
    """All ranks."""
    x, y = BATCHES[name]
    check(name.split()[0], numbers(x, dtype), numbers(y, dtype, 1))


def test_turned_batches():
    """Strides of a batch that are no multiples of each other's."""
    x, y = numbers((5, 4, 7)).permute(1, 0, 2), numbers((4, 6, 7), seed=1).transpose(1, 2)
    check("bmm", x, y)
    check("matmul", numbers((70, 3, 5)).permute(1, 2, 0), numbers((70,), seed=1))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
def test_a_long_sum_is_split_among_blocks(dtype):
    """Parts are added up, in their order."""
    x, y = numbers((3, 700), dtype), numbers((700, 5), dtype, 1)
    (_, steps), _ = launches("mm", x, y)
    assert [step.grid[1:] for step in steps.steps][0] == (5,) and len(steps.steps) == 2
    check("mm", x, y)
    check("gemm_bias", x, y, numbers((5,), dtype, 2), transpose_y=False)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_bias(dtype):
    """A number for each column, or one for all; operands of linear are (rows, features) and (out, features)."""
    for shape in ((9, 7), (2, 3, 7), (7,)):
        x, y = numbers(shape, dtype), numbers((5, 7), dtype, 1)
        check("gemm_bias", x, y, numbers((5,), dtype, 2), transpose_y=True)
    check("gemm_bias", numbers((9, 7), dtype), numbers((5, 7), dtype, 1), numbers((1,), dtype, 2), transpose_y=True)


def test_conjugates_are_not_copied():
    """Their sign is that of the loaded element."""
    x, y = numbers((5, 7), "complex64"), numbers((7, 6), "complex64", 1)
    for operands in ((x.conj(), y), (x, y.conj()), (x.conj(), y.conj())):
        (_, steps), _ = launches("mm", *operands)
        assert len(steps.steps) == 1
        expected = np.asarray(operands[0].resolve_conj().numpy()) @ np.asarray(operands[1].resolve_conj().numpy())
        np.testing.assert_array_equal(on_cuda("mm", *operands).numpy(), expected)


def test_sums_are_accurate():
    """Half types add up in float32; a long row times a vector carries its errors."""
    random = np.random.default_rng(0)
    x, y = (nbgrad.asarray(random.standard_normal(shape)) for shape in ((33, 257), (257, 34)))
    for dtype, most in (("float32", 2e-6), ("float64", 1e-14), ("float16", 1e-3), ("bfloat16", 8e-3)):
        a, b = x.to(getattr(nbgrad, dtype)), y.to(getattr(nbgrad, dtype))
        exact = a.to(nbgrad.float64).numpy() @ b.to(nbgrad.float64).numpy()
        found = on_cuda("mm", a, b).to(nbgrad.float64).numpy()
        assert np.abs(found - exact).max() <= most * np.abs(exact).max()
    ones = nbgrad.ones(1000)
    big = ones.clone()
    big[0] = 2.0**24
    assert on_cuda("dot", big, ones).item() == float(np.float32(2.0**24 + 999))


def test_wrong_operands_are_refused_as_on_the_cpu():
    """Before anything runs."""
    with pytest.raises(ShapeError, match="x has 3 columns, y has 4 rows"):
        on_cuda("mm", numbers((2, 3)), numbers((4, 2)))
    with pytest.raises(DTypeError, match="not defined for bool"):
        on_cuda("mm", sample((2, 3), "bool"), sample((3, 2), "bool"))
    with pytest.raises(ShapeError, match="bias has shape"):
        on_cuda("gemm_bias", numbers((2, 3)), numbers((4, 3)), numbers((3,)), transpose_y=True)


def test_small_products_fill_a_gpu_by_splitting():
    """Where there are tiles enough, there is one launch."""
    (_, steps), _ = launches("mm", numbers((8, 4)), numbers((4, 8)))
    assert len(steps.steps) == 1
    assert linalg.BLOCKS > 132


@pytest.mark.slow
def test_wide_tiles():
    """Of 128 x 64, which large products have."""
    m = n = 1040
    (_, steps), _ = launches("mm", numbers((m, 3)), numbers((3, n)))
    assert "_8x4_" in steps.steps[0].recipe.template.name
    check("mm", numbers((m, 3)), numbers((3, n), seed=1))
