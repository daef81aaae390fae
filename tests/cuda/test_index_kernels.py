"""Reads and writes through indices on the emulated device: the CPU's results, whatever the order of threads."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import DimError, DTypeError, RangeError, ShapeError
from tests.cuda.lowered import assert_same, launches, on_cpu, on_cuda, sample

BIG = 3000  # indices: more than one block sorts, and several chunks


def index(*shape, size, seed=0, dtype="int64", low=0):
    """Numbers below ``size``, many of them repeated."""
    numbers = np.random.default_rng(seed).integers(low, size, shape)
    return nbgrad.asarray(numbers).to(getattr(nbgrad, dtype))


def check(name, *tensors, seed=0, **attributes):
    """The same on both."""
    assert_same(on_cuda(name, *tensors, seed=seed, **attributes), on_cpu(name, *tensors, **attributes))


# ---- reads -------------------------------------------------------------------------------------------------------------

READS = {
    "gather": lambda: (sample((5, 7)), {"dim": 1, "index": index(5, 4, size=7), "sparse_grad": False}),
    "gather of fewer rows": lambda: (sample((5, 7)), {"dim": 0, "index": index(3, 6, size=5), "sparse_grad": False}),
    "gather of a 0-d": lambda: (sample(()), {"dim": 0, "index": index(size=1), "sparse_grad": False}),
    "gather of none": lambda: (sample((5, 7)), {"dim": 1, "index": index(0, 4, size=7), "sparse_grad": False}),
    "index_select": lambda: (sample((6, 8)), {"dim": 0, "index": index(11, size=6)}),
    "index_select of columns": lambda: (sample((6, 8)), {"dim": 1, "index": index(11, size=8)}),
    "index_select of narrow rows": lambda: (sample((6, 3)), {"dim": 0, "index": index(11, size=6)}),
    "index_select of what is transposed": lambda: (sample((6, 8)).t(), {"dim": 0, "index": index(11, size=8, dtype="int32")}),
    "index_select of a conjugate": lambda: (sample((6, 8), "complex64").conj(), {"dim": 0, "index": index(3, size=6)}),
    "index_select of a 0-d": lambda: (sample(()), {"dim": 0, "index": index(1, size=1)}),
    "take": lambda: (sample((6, 8)), {"index": index(4, 5, size=48, low=-48)}),
    "take of what is transposed": lambda: (sample((6, 8)).t(), {"index": index(4, size=48)}),
    "index": lambda: (sample((6, 8)), {"indices": (index(4, 5, size=6, low=-6),)}),
    "index of two": lambda: (sample((6, 8, 3)), {"indices": (index(4, 1, size=6), index(5, size=8, low=-8))}),
    "index of the last": lambda: (sample((6, 8, 3)), {"indices": (None, None, index(2, 2, size=3))}),
    "index apart": lambda: (sample((6, 8, 3)), {"indices": (index(4, size=6), None, index(4, size=3, dtype="int16"))}),
    "index of strided numbers": lambda: (sample((6, 8)), {"indices": (index(8, size=6)[::2], index(8, size=8)[1::2])}),
}


@pytest.mark.parametrize("name", READS)
def test_reads(name):
    """Every layout of operand and index."""
    x, attributes = READS[name]()
    check(name.split()[0], x, **attributes)


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float64", "complex128"])
def test_reads_of_every_size(dtype):
    """Rows by vectors, and single elements."""
    check("index_select", sample((9, 16), dtype), dim=0, index=index(40, size=9))
    check("gather", sample((9, 16), dtype), dim=0, index=index(7, 16, size=9), sparse_grad=False)


def test_rows_are_read_by_vectors():
    """Sixteen bytes a thread, where rows are multiples of that."""
    for columns, lanes in ((64, 4), (6, 2), (3, 1)):
        (_, steps), _ = launches("index_select", sample((9, columns)), dim=0, index=index(5, size=9))
        assert steps.steps[0].recipe.template.name.endswith(f"x{lanes}")


WRONG = {
    "index_select": (
        {"dim": 0, "index": nbgrad.tensor([1, 6, 2])},
        "index 6 is out of range for dimension 0 of size 6; expected 0 to 5",
    ),
    "gather": (
        {"dim": 1, "index": nbgrad.tensor([[1], [-1]]), "sparse_grad": False},
        "index -1 is out of range for dimension 1 of size 8",
    ),
    "take": ({"index": nbgrad.tensor([-49])}, "index -49 is out of range; expected -48 to 47"),
    "index": ({"indices": (nbgrad.tensor([0, 1]), nbgrad.tensor([0, 8]))}, "index 8 is out of range for dimension 1 of size 8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_index_out_of_range_is_told(name):
    """In the CPU's words, when the program next waits."""
    attributes, text = WRONG[name]
    for call in (on_cuda, on_cpu):
        with pytest.raises(DimError, match=text):
            call(name, sample((6, 8)), **attributes)


def test_wrong_operands_are_refused_at_once():
    """As on the CPU, before anything runs."""
    with pytest.raises(DTypeError, match="index must be int64 or int32, got float32"):
        on_cuda("index_select", sample((3,)), dim=0, index=sample((2,)))
    with pytest.raises(ShapeError, match="the index|index has"):
        on_cuda("gather", sample((3, 4)), dim=0, index=index(2, size=3), sparse_grad=False)


# ---- cotangents of reads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("count", [1, 31, 32, 33, 700])
def test_cotangents_add_up(dtype, count):
    """Positions with one place, in chunks of any size, by elements and by vectors: whole numbers without rounding."""
    g, wide = sample((count, 3), dtype, high=3, low=-2), sample((count, 8), dtype, high=3, low=-2)
    check("index_select_backward", g.t(), shape=(3, 5), dim=1, index=index(count, size=5, seed=1))
    check("index_select_backward", wide, shape=(5, 8), dim=0, index=index(count, size=5))


def test_rows_are_added_by_vectors():
    """As many elements a thread as have accumulators of 16 bytes, where rows are multiples of that; zeros are not read again."""
    for dtype, columns, lanes in (("float32", 8, 4), ("float32", 6, 2), ("float32", 3, 1), ("float16", 8, 4), ("float64", 8, 2)):
        (_, steps), _ = launches(
            "index_select_backward", sample((40, columns), dtype), shape=(9, columns), dim=0, index=index(40, size=9)
        )
        assert [step.recipe.template.name.split("_")[-1] for step in steps.steps[-2:]] == [f"x{lanes}"] * 2


def test_cotangents_of_all_reads():
    """Of elements, of points, of one row."""
    check("gather_backward", sample((7, 6)), shape=(4, 6), dim=0, index=index(7, 6, size=4))
    check("gather_backward", sample((7, 6)).t(), shape=(6, 9), dim=1, index=index(6, 7, size=9))
    check("index_backward", sample((9, 3)), indices=(index(9, size=4), index(9, size=5, low=-5)), shape=(4, 5, 3))
    check("index_backward", sample((9, 5)), indices=(index(9, size=4), None, index(9, size=3)), shape=(4, 5, 3))
    check("take_backward", sample((40,)), shape=(3, 4), index=index(40, size=12))
    check("gather_backward", sample((0, 6)), shape=(4, 6), dim=0, index=index(0, 6, size=4))
    check("index_backward", sample((2, 9, 3)), indices=(None, index(9, size=4).expand(9)), shape=(2, 4, 3))


def test_an_expanded_index_adds_up_too():
    """Positions that differ along a dimension that the index does not know have one place."""
    wide = index(1, 5, size=2).expand(7, 5)
    check("gather_backward", sample((7, 5)), shape=(2, 5), dim=0, index=wide)


@pytest.mark.parametrize("seed", range(2))
def test_many_positions(seed):
    """More than a block sorts: radix passes, and runs over many chunks."""
    check("index_select_backward", sample((BIG, 2)), seed=seed, shape=(70000, 2), dim=0, index=index(BIG, size=70000))
    check("index_select_backward", sample((BIG, 2)), seed=seed, shape=(3, 2), dim=0, index=index(BIG, size=3))


def test_a_sum_is_rounded_once():
    """Ones behind a number that swallows each of them alone."""
    g = nbgrad.tensor([2.0**24] + [1.0] * 999)
    found = on_cuda("index_select_backward", g, shape=(2,), dim=0, index=nbgrad.zeros(1000, dtype=nbgrad.int64))
    assert found.tolist() == [float(np.float32(2.0**24 + 999)), 0]


@pytest.mark.parametrize("back", [False, True])
def test_rows_are_exchanged_step_by_step(back):
    """As pivots say, and back, in batches that broadcast; a pivot that names no row is told, and exchanges nothing."""
    for rows, pivots in (((4, 3), (4,)), ((2, 1, 5, 3), (3, 4)), ((4, 3), (2, 3))):
        check("exchange_rows", sample(rows), pivots=index(*pivots, size=rows[-2]), back=back)
    check("exchange_rows", sample((3, 4)).t(), pivots=index(8, size=4)[::2], back=back)
    for call in (on_cuda, on_cpu):
        with pytest.raises(RangeError, match="a pivot names row 6, expected one from 1 to 3"):
            call("exchange_rows", sample((3, 2)), pivots=nbgrad.tensor([0, 5, 2]), back=back)


# ---- writes ------------------------------------------------------------------------------------------------------------

WRITES = {
    "index_write": lambda: (
        (sample((6, 8)), sample((5, 8), seed=1)),
        {"indices": (index(5, size=6, low=-6),), "accumulate": False},
    ),
    "index_write of two": lambda: (
        (sample((6, 8)), sample((4, 5), seed=1)),
        {"indices": (index(4, 1, size=6), index(5, size=8)), "accumulate": False},
    ),
    "index_write that adds": lambda: (
        (sample((6, 8)), sample((40,), seed=1)),
        {"indices": (index(40, size=6), index(40, size=8)), "accumulate": True},
    ),
    "index_write of one number": lambda: (
        (sample((6, 8)), sample((), seed=1)),
        {"indices": (index(4, size=6),), "accumulate": False},
    ),
    "index_write of none": lambda: ((sample((6, 8)), sample((0, 8))), {"indices": (index(0, size=6),), "accumulate": True}),
    "index_zeroed": lambda: ((sample((6, 8)),), {"indices": (None, index(4, size=8))}),
    "scatter_src": lambda: ((sample((6, 8)), sample((6, 9), seed=1)), {"dim": 1, "index": index(5, 9, size=8)}),
    "scatter_src into what is transposed": lambda: (
        (sample((8, 6)).t(), sample((9, 6), seed=1).t()),
        {"dim": 1, "index": index(6, 9, size=8)},
    ),
    "scatter_value": lambda: ((sample((6, 8)),), {"dim": 0, "index": index(9, 8, size=6), "value": -0.0}),
    "scatter_add_src": lambda: ((sample((6, 8)), sample((20, 8), seed=1)), {"dim": 0, "index": index(20, 8, size=6)}),
    "index_add_source": lambda: ((sample((6, 8)), sample((20, 8), seed=1)), {"dim": 0, "index": index(20, size=6)}),
    "index_add_source of columns": lambda: ((sample((6, 8)), sample((6, 9), seed=1)), {"dim": 1, "index": index(9, size=8)}),
    "index_copy_source": lambda: ((sample((6, 8)), sample((9, 8), seed=1)), {"dim": 0, "index": index(9, size=6)}),
    "index_fill_value": lambda: ((sample((6, 8)),), {"dim": 1, "index": index(3, size=8, low=-8), "value": 3}),
    "index_fill_tensor": lambda: ((sample((6, 8)), sample((), "int64")), {"dim": 1, "index": index(3, size=8, low=-8)}),
    "put_source": lambda: ((sample((6, 8)).t(), sample((9,), seed=1)), {"index": index(9, size=48, low=-48), "accumulate": False}),
    "put_source that adds": lambda: ((sample((6, 8)), sample((9,), seed=1)), {"index": index(9, size=8), "accumulate": True}),
    "scatter_extremum": lambda: (
        (sample((6, 8)), sample((20, 8), seed=1)),
        {"dim": 0, "index": index(20, 8, size=6), "largest": True, "include_self": True},
    ),
    "scatter_extremum without its own": lambda: (
        (sample((6, 8)), sample((20, 8), seed=1)),
        {"dim": 0, "index": index(20, size=5), "largest": False, "include_self": False},
    ),
    "scatter_product": lambda: (
        (sample((6, 8), high=3, low=-2), sample((20, 8), seed=1, high=3, low=-2)),
        {"dim": 0, "index": index(20, 8, size=6), "include_self": True},
    ),
    "scatter_product without its own": lambda: (
        (sample((6, 8), "int32"), sample((9, 8), "int32", seed=1)),
        {"dim": 0, "index": index(9, 8, size=5), "include_self": False},
    ),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("seed", range(2))
def test_writes(name, seed):
    """Of several elements for one place the last one stays, or all add up; whatever the order of threads."""
    tensors, attributes = WRITES[name]()
    check(name.split()[0], *tensors, seed=seed, **attributes)


def lying_apart(value):
    """The same indices, of which one place in two is another's."""
    if isinstance(value, tuple):
        return tuple(map(lying_apart, value))
    return nbgrad.stack([value, value * 0 - 9], -1)[..., 0] if isinstance(value, nbgrad.Tensor) and value.ndim else value


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_indices_that_lie_apart(name):
    """Nobody reads what lies between them."""
    tensors, attributes = (READS | WRITES)[name]()
    tensors = tensors if isinstance(tensors, tuple) else (tensors,)
    check(name.split()[0], *tensors, **{key: lying_apart(value) for key, value in attributes.items()})


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float64", "complex64"])
def test_writes_of_every_dtype(dtype):
    """Rows by vectors, sums in the dtype's own arithmetic."""
    x, source, rows = sample((9, 16), dtype, high=9), sample((40, 16), dtype, seed=1, high=3, low=-2), index(40, size=9)
    check("index_copy_source", x, source, dim=0, index=rows)
    check("index_add_source", x, source, dim=0, index=rows)
    check("index_fill_value", x, dim=0, index=rows, value=1)
    if not dtype.startswith("complex"):
        check("scatter_extremum", x, source, dim=0, index=index(40, 16, size=9), largest=True, include_self=True)


def test_nan_is_the_greatest_and_the_smallest():
    """As on the CPU: it is taken where it comes, and stays."""
    x, source = nbgrad.tensor([1.0, 2.0, float("nan")]), nbgrad.tensor([float("nan"), 5.0, 7.0, -9.0])
    for largest in (False, True):
        check("scatter_extremum", x, source, dim=0, index=nbgrad.tensor([0, 0, 2, 1]), largest=largest, include_self=True)


@pytest.mark.parametrize("name", ["slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter"])
def test_writes_into_parts(name):
    """A copy, and elements in a part of it."""
    attributes = {
        "slice_scatter": {"dim": 1, "start": 1, "end": 8, "step": 3},
        "select_scatter": {"dim": 0, "index": -1},
        "diagonal_scatter": {"offset": 1, "dim1": 0, "dim2": 1},
        "as_strided_scatter": {"size": (2, 3), "stride": (7, 2), "storage_offset": 1},
    }[name]
    x = sample((6, 8))
    src = getattr(x, name.removesuffix("_scatter"))(*attributes.values()).contiguous() + 100
    check(name, x, src, **attributes)
    check(name, x, src.to(nbgrad.float64).to(nbgrad.float32).t().contiguous().t() if src.ndim == 2 else src, **attributes)


def in_place(name, x, *others, **attributes):
    """The in-place form on the emulated device: the errors, and what lies in memory then."""
    from nbgrad.graph.saved import tensors_in
    from nbgrad.kernels.cuda.emulated.device import Device, run_steps
    from nbgrad.kernels.cuda.steps import Place, Step, Steps, Workspace
    from nbgrad.lowering.cuda import index_writers
    from nbgrad.lowering.cuda.registry import CUDA_LOWERINGS, layouts_in
    from nbgrad.ops.core import OPS
    from tests.cuda.lowered import memory_of

    run, names = CUDA_LOWERINGS[name]
    told = {key: layouts_in(value) if key in names else value for key, value in attributes.items()}
    space = Workspace()
    write = run.args[0](OPS[name], x.layout, tuple(y.layout for y in others), told, 1)
    steps = index_writers.written(x.layout, write, True, space)
    swapped = lambda place: Place("operand", 0, place.offset) if place.kind == "out" else place
    steps = [Step(s.recipe, s.grid, tuple(map(swapped, s.pointers)), s.values, s.counts, None) for s in steps]
    memory = memory_of(x).copy()
    result = np.empty_like(memory)
    from nbgrad.dispatch.device_copies import copy_step

    steps.append(copy_step(x.layout.like(shape=memory.shape), x.layout.like(shape=memory.shape)))
    operands = [memory, *map(memory_of, tensors_in((*others, *(attributes[k] for k in names))))]
    errors = run_steps(Steps(tuple(steps), space.size), [result], operands, Device())
    return errors, result


@pytest.mark.parametrize("bad", [0, 700])
@pytest.mark.parametrize("name", ["index_copy_source", "index_add_source", "scatter_src", "index_fill_value"])
def test_a_wrong_index_leaves_a_tensor_as_it_was(name, bad):
    """In place nothing is written; a right index afterwards is followed."""
    x, count = sample((6, 4)), 701
    places = index(count, size=6)
    wrong = places.clone()
    wrong[bad] = 6
    if name == "scatter_src":
        places, wrong = places.unsqueeze(1).expand(count, 4), wrong.unsqueeze(1).expand(count, 4)
    others = () if name == "index_fill_value" else (sample((count, 4), seed=1),)
    attributes = {"dim": 0, "index": wrong, **({"value": 9} if name == "index_fill_value" else {})}
    errors, left = in_place(name, x, *others, **attributes)
    assert errors[0] > 0 and errors[1] == 6
    np.testing.assert_array_equal(left, x.reshape(-1).numpy())
    attributes["index"] = places
    errors, left = in_place(name, x, *others, **attributes)
    assert errors == (0, 0)
    np.testing.assert_array_equal(left, on_cpu(name, x, *others, **attributes).reshape(-1).numpy())
