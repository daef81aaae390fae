"""Moves on the emulated device give the CPU's bits, in layouts that are the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.dispatch import device_fills as fill
from nbgrad.dispatch.device_copies import one_step
from nbgrad.kernels.templates.sequence import COUNT, LINE
from tests.cuda.lowered import DTYPES, assert_same, launches, layout, memory_of, on_cpu, on_cuda, run_all, sample

TILE = 32


def names_of(name, *tensors, **attributes):
    """The kernels of a call."""
    (_, steps), _ = launches(name, *tensors, **attributes)
    return [step.recipe.template.name for step in steps.steps]


# ---- copies ------------------------------------------------------------------------------------------------------------

VIEWS = {
    "as it lies": lambda: sample((1023,)),
    "one element": lambda: sample((1,)),
    "none": lambda: sample((0, 3)),
    "0-d": lambda: sample(()),
    "transposed": lambda: sample((40, 33)).t(),
    "a tile": lambda: sample((TILE, TILE)).t(),
    "a tile less one": lambda: sample((TILE - 1, TILE + 1)).t(),
    "permuted": lambda: sample((20, 3, 33)).permute(2, 1, 0),
    "a batch of tiles": lambda: sample((3, 17, 35)).transpose(1, 2),
    "every second": lambda: sample((50, 6))[::2, 1::2],
    "rows with gaps": lambda: sample((12, 16))[:, :8],
    "a row for all": lambda: sample((12,)).expand(5, 12),
    "one for all": lambda: sample((1,)).expand(300),
    "a column for all": lambda: sample((12, 1)).expand(12, 7),
    "channels last": lambda: sample((2, 5, 4, 4)).to(memory_format=nbgrad.channels_last),
    "seven dimensions": lambda: sample((2, 3, 2, 3, 2, 3, 2)).permute(6, 4, 2, 0, 1, 3, 5),
}


@pytest.mark.parametrize("name", VIEWS)
def test_contiguous_copies_of_every_layout(name):
    """Row by row, whatever the strides were."""
    x = VIEWS[name]()
    assert_same(on_cuda("contiguous_copy", x), on_cpu("contiguous_copy", x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_move_bits(dtype):
    """NaNs keep theirs; each size of elements by vectors, by tiles and one by one."""
    x = sample((33, 36), dtype)
    if x.is_floating_point():
        x[3] = float("nan")
    for view in (x, x.t(), x[:, :16], x[::2, ::3]):
        assert_same(on_cuda("contiguous_copy", view), on_cpu("contiguous_copy", view))


def test_which_kernel_copies():
    """Vectors where memory is read in its order, tiles where neighbours differ."""
    x = sample((64, 48))
    assert names_of("contiguous_copy", x) == ["elementwise_int32_to_int32_x4u1"]
    assert names_of("contiguous_copy", x.t()) == ["transpose32_int32_to_int32_2d"]
    assert names_of("contiguous_copy", x[:, :16]) == ["strided32_int32_to_int32_2d_x4"]
    assert names_of("contiguous_copy", x[:, :6]) == ["strided32_int32_to_int32_2d_x2"]
    assert names_of("contiguous_copy", x[:, 0]) == ["strided32_int32_to_int32_1d"]


def test_what_is_large_has_wide_indices():
    """2**31 elements and more are counted in 64 bits, also where only an operand reaches so far."""
    for size, bits in ((2**31 - 256, 32), (2**31, 64)):
        (_, steps), _ = launches("contiguous_copy", FakeTensor((size // 2, 2), (1, size // 2)))
        assert steps.steps[0].recipe.template.index_bits == bits
    (_, steps), _ = launches("contiguous_copy", FakeTensor((3, 5), (2**31, 2)))
    assert steps.steps[0].recipe.template.index_bits == 64


def FakeTensor(shape, strides):
    """A tensor that nobody reads."""
    from nbgrad.tensors.storage import wrap_array
    from nbgrad.tensors.tensor import new_tensor

    return new_tensor(wrap_array(np.empty(0, np.float32)), layout(shape, "float32", strides))


@pytest.mark.parametrize("source", ["bool", "uint8", "int64", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("target", ["bool", "int8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_conversions(source, target):
    """As the CPU's, in the operand's order of memory."""
    x = sample((9, 5), source).t()
    assert_same(on_cuda("to_dtype", x, dtype=getattr(nbgrad, target)), on_cpu("to_dtype", x, dtype=getattr(nbgrad, target)))


def test_transposed_conversions_and_lazy_bits():
    """A tile converts on its way; a conjugate or negative that was put off is made."""
    x = sample((33, 40), "float16")
    assert names_of("contiguous_copy", x.t().conj())[0].startswith("transpose")
    z = sample((17, 20), "complex64")
    for view in (z.conj(), z.t().conj(), z.conj().imag, z.conj().imag.t()):
        assert_same(on_cuda("contiguous_copy", view), on_cpu("contiguous_copy", view))
        assert_same(on_cuda("to_dtype", view, dtype=nbgrad.complex128), on_cpu("to_dtype", view, dtype=nbgrad.complex128))


@pytest.mark.parametrize(
    ("source", "target"), [("float32", "float64"), ("bfloat16", "float64"), ("float64", "float32"), ("int8", "int64")]
)
def test_columns_that_are_stretched_are_converted(source, target):
    """By tiles, which hold elements as they are computed, whether they become wider or narrower."""
    x, to = sample((20, 1), source).expand(20, 17), {"dtype": getattr(nbgrad, target)}
    assert names_of("to_dtype", x, **to)[0].startswith("transpose")
    assert_same(on_cuda("to_dtype", x, **to), on_cpu("to_dtype", x, **to))


def test_clones_in_a_layout():
    """The target's strides, not the operand's."""
    x, like = sample((20, 17)), sample((17, 20)).t().layout
    assert_same(on_cuda("clone_like", x, layout=like), on_cpu("clone_like", x, layout=like))
    assert_same(on_cuda("reshape_copy", x.t(), shape=(10, -1)), on_cpu("reshape_copy", x.t(), shape=(10, -1)))


# ---- results of parts --------------------------------------------------------------------------------------------------

JOINED = {
    "rows": lambda: ([sample((4, 8)), sample((2, 8))], 0),
    "columns": lambda: ([sample((4, 3)), sample((4, 5)), sample((4, 1))], 1),
    "columns in vectors": lambda: ([sample((4, 8)), sample((4, 12))], -1),
    "one": lambda: ([sample((4, 3))], 0),
    "none of elements": lambda: ([sample((4, 0)), sample((4, 0))], 1),
    "one without elements": lambda: ([sample((4, 0)), sample((4, 2)), sample((0,))], 1),
    "transposed": lambda: ([sample((8, 4)).t(), sample((4, 3))], 1),
    "dtypes": lambda: ([sample((3,), "int64"), sample((2,), "float32"), sample((2,), "bool")], 0),
    "many": lambda: ([sample((2, k + 1), seed=k) for k in range(11)], 1),
    "channels last": lambda: ([sample((1, 3, 4, 4)).to(memory_format=nbgrad.channels_last) for _ in range(2)], 1),
    "a conjugate": lambda: ([sample((3,), "complex64").conj(), sample((2,), "complex64")], 0),
}


@pytest.mark.parametrize("name", JOINED)
def test_cat(name):
    """Every operand in its place, converted; in a few launches."""
    members, dim = JOINED[name]()
    assert_same(on_cuda("cat", members, dim=dim), on_cpu("cat", members, dim=dim))


def test_cat_is_few_launches():
    """Up to eight operands of one dtype are one."""
    assert names_of("cat", [sample((4, 8))] * 3, dim=1) == ["join32_4_int32_to_int32_2d_x4"]
    assert len(names_of("cat", [sample((4, 8))] * 17, dim=1)) == 3


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stack(dim):
    """``stack`` along a new dimension gives NumPy's values."""
    members = [sample((3, 4), seed=k) for k in range(3)]
    assert_same(on_cuda("stack", members, dim=dim), on_cpu("stack", members, dim=dim))


def test_blocks():
    """Matrices along a diagonal, zeros elsewhere."""
    members = [sample((2, 3)), sample((1, 0)), sample((3, 1)), sample(())]
    assert_same(on_cuda("blocks", members), on_cpu("blocks", members))


COTANGENTS = {
    "slice_backward": {"shape": (10, 6), "dim": 0, "start": 1, "end": 9, "step": 2},
    "select_backward": {"shape": (4, 10, 6), "dim": 0, "index": 2},
    "diagonal_backward": {"shape": (10, 6, 12), "offset": 1, "dim1": 0, "dim2": 1},
}


@pytest.mark.parametrize("dtype", ["float32", "complex128", "bool"])
@pytest.mark.parametrize("name", COTANGENTS)
def test_cotangents_of_views(name, dtype):
    """Zeros around what the view showed."""
    attributes = COTANGENTS[name]
    whole = sample(attributes["shape"], dtype)
    part = getattr(whole, name.removesuffix("_backward"))(*list(attributes.values())[1:])
    for g in (part.contiguous(), part):
        assert_same(on_cuda(name, g, **attributes), on_cpu(name, g, **attributes))


@pytest.mark.parametrize("pad", [(1, 2), (0, 3, 2, 0), (-1, 2, -2, -1), (0, 0), (-4, 0)])
def test_zero_pad(pad):
    """Zeros in front and behind, and elements taken away."""
    for x in (sample((5, 4)), sample((4, 5)).t()):
        assert_same(on_cuda("zero_pad", x, pad=pad), on_cpu("zero_pad", x, pad=pad))


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1), ()])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_flip(dims, dtype):
    """Strides that lead backwards."""
    for x in (sample((5, 40), dtype), sample((40, 33), dtype).t(), sample((0, 3), dtype)):
        assert_same(on_cuda("flip_dims", x, dims=dims), on_cpu("flip_dims", x, dims=dims))


@pytest.mark.parametrize("shifts, dims", [(2, 0), (-1, 1), ((1, 2), (0, 1)), (5, 0), ((1, 1), (0, 0))])
def test_roll(shifts, dims):
    """Cut along every dimension, the parts put together again."""
    x = sample((5, 6))
    assert_same(on_cuda("roll", x, shifts=shifts, dims=dims), on_cpu("roll", x, shifts=shifts, dims=dims))


def test_repeat():
    """Also along new dimensions, and no times at all."""
    for repeats in ((2, 3), (2, 1, 2), (1, 0)):
        assert_same(
            on_cuda("repeat_sizes", sample((2, 3)), repeats=repeats), on_cpu("repeat_sizes", sample((2, 3)), repeats=repeats)
        )


@pytest.mark.parametrize("diagonal", [0, 1, -2, 9, -9])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name, diagonal):
    """Of matrices in any layout."""
    for x in (sample((5, 7)), sample((2, 4, 3)).transpose(1, 2), sample((3, 1), "bool"), sample((3, 3), "complex64").conj()):
        assert_same(on_cuda(name, x, diagonal=diagonal), on_cpu(name, x, diagonal=diagonal))


def test_complex_of_parts():
    """Parts that broadcast."""
    for real, imag in ((sample((3, 4)), sample((4,))), (sample((3,), "float64"), sample((3,), "float64"))):
        assert_same(on_cuda("complex", real, imag), on_cpu("complex", real, imag))


# ---- overlapping sums --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex64"])
@pytest.mark.parametrize("size, step", [(3, 1), (2, 2), (2, 3), (4, 2)])
def test_cotangents_of_unfold(size, step, dtype):
    """Windows that overlap add up: whole numbers without rounding."""
    shape = (3, 11, 2)
    g = sample(nbgrad.zeros(shape).unfold(1, size, step).shape, dtype, high=9)
    attributes = {"shape": shape, "dimension": 1, "size": size, "step": step}
    assert_same(on_cuda("unfold_backward", g, **attributes), on_cpu("unfold_backward", g, **attributes))


@pytest.mark.parametrize(
    "size, stride, offset", [((3, 4), (1, 1), 2), ((4, 5), (0, 1), 0), ((2, 2, 2), (3, 2, 1), 1), ((0,), (1,), 0)]
)
def test_cotangents_of_as_strided(size, stride, offset):
    """Elements that are shown several times get as many shares."""
    g, whole = sample(size, high=9), layout((3, 8))
    attributes = {"layout": whole, "size": size, "stride": stride, "offset": offset}
    assert_same(on_cuda("as_strided_backward", g, **attributes), on_cpu("as_strided_backward", g, **attributes))


def test_an_overlapping_sum_is_rounded_once():
    """Small terms behind a large one are not lost."""
    g = nbgrad.tensor([2.0**24] + [1.0] * 63)
    attributes = {"layout": layout((1,)), "size": (64,), "stride": (0,), "offset": 0}
    assert on_cuda("as_strided_backward", g, **attributes).item() == 2.0**24 + 64  # 63 is a tie


# ---- fills -------------------------------------------------------------------------------------------------------------


def filled(steps, made):
    """The result of steps without operands."""
    return run_all((made,), steps, [])[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_fills(dtype):
    """One number, in every dtype and at sizes around a vector and a block."""
    for count in (0, 1, 17, 1025):
        made = layout((count,), dtype)
        assert_same(filled(one_step(fill.constant_step(made, 3)), made), nbgrad.full((count,), 3, dtype=made.dtype))
    if dtype.startswith("complex"):
        assert_same(filled(one_step(fill.constant_step(made, 3 - 2j)), made), nbgrad.full((1025,), 3 - 2j, dtype=made.dtype))


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "int16"])
def test_eye(dtype):
    """More rows than columns, and fewer."""
    for rows, columns in ((5, 3), (3, 20), (1, 1), (0, 4)):
        made = layout((rows, columns), dtype)
        assert_same(filled(fill.eye_steps(made), made), nbgrad.eye(rows, columns, dtype=made.dtype))


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "bfloat16", "float64"])
def test_arange(dtype):
    """Each element has the rounding of one product and one sum."""
    for count in (1, 5, 1025):
        made = layout((count,), dtype)
        whole = dtype.startswith("int")
        numbers = (3, 7) if whole else (0.3, 0.7)
        steps = fill.sequence_steps(COUNT, "int64" if whole else "float64", made, *numbers)
        expected = numbers[0] + np.arange(count, dtype=np.int64 if whole else np.float64) * numbers[1]
        assert_same(filled(steps, made), nbgrad.asarray(expected).to(made.dtype))


def test_linspace():
    """The ends as they are."""
    made, count, low, high = layout((1001,)), 1001, -0.3, 1.7
    steps = fill.sequence_steps(LINE, "float64", made, low, high, (high - low) / (count - 1), count / 2, count - 1.0)
    assert_same(filled(steps, made), nbgrad.linspace(low, high, count))


def test_moves_read_memory_that_is_there():
    """The test's own reading of memory: as far as strides reach, and no farther."""
    assert len(memory_of(sample((4, 6))[1:3, ::2])) == 6 + 4 + 1
