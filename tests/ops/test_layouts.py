"""Where operands lie in memory changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, Elementwise
from tests.parts import alternating
from tests.samples import SAMPLES
from tests.samples.checking import close, gradients, results, run, tensors, to_tensor, weights_of
from tests.samples.row import Case

ROWS = sorted(name for name, row in SAMPLES.items() if row.reference is not None and "layout" not in row.unlike)
ELEMENTWISE = [name for name in ROWS if isinstance(OPS[name], Elementwise)]
BROADCASTING = [name for name in ELEMENTWISE if len(OPS[name].operands) > 1 and OPS[name].policy != "first"]


def transposed(x: np.ndarray) -> nbgrad.Tensor:
    """``x`` with its elements in the opposite order of dimensions in memory."""
    return nbgrad.from_numpy(np.ascontiguousarray(x.T).T)


def every_second(x: np.ndarray) -> nbgrad.Tensor:
    """``x`` as every second element of a larger array, from its second element on."""
    holder = np.full(tuple(2 * n + 1 for n in x.shape), 7, x.dtype)
    part = holder[tuple(slice(1, None, 2) for _ in x.shape)]
    part[...] = x
    return nbgrad.from_numpy(part)


LAYOUTS = {"transposed": transposed, "strided": every_second}


def placed(x, place):
    """An operand in another layout; anything but arrays as it is."""
    if isinstance(x, list):
        return [placed(each, place) for each in x]
    return (place(x) if x.ndim else to_tensor(x)) if isinstance(x, np.ndarray) else x


def dtype_for(name: str) -> str:
    """float64, or int64 for operations of integers."""
    return "int64" if getattr(OPS[name], "policy", "") == "integer" else "float64"


@pytest.mark.parametrize("layout", alternating(*LAYOUTS))
@pytest.mark.parametrize("name", ROWS)
def test_values_and_gradients_in_another_layout(name, layout):
    """Transposed and strided operands give the results and gradients of contiguous ones."""
    row = SAMPLES[name]
    tolerance = 0.0 if name in ELEMENTWISE else 1e-14
    for call in row.calls:
        arrays = row.arrays(call, dtype_for(name))
        plain = [to_tensor(x, True) for x in arrays]
        moved = [require(x) for x in placed(arrays, LAYOUTS[layout])]
        wanted = results(run(row, plain, call))
        for got, want in zip(results(run(row, moved, call)), wanted):
            close(got, want, tolerance, f"{name}{call} of {layout} operands")
        if row.differentiable and "gradient" not in row.unlike:
            weights = weights_of(wanted)
            for got, want in zip(gradients(row, moved, call, weights), gradients(row, plain, call, weights)):
                close(got.numpy(), want.numpy(), 1e-14, f"{name}{call}: gradient of {layout} operands")


def require(x):
    """Make floating tensors require grad, also in sequences."""
    if isinstance(x, list):
        return [require(each) for each in x]
    return x.requires_grad_() if isinstance(x, nbgrad.Tensor) and x.dtype.differentiable else x


@pytest.mark.parametrize("name", BROADCASTING)
def test_broadcasting_is_expanding(name):
    """Broadcast operands give what copies of the common shape give; their gradients are those copies' sums."""
    row, op = SAMPLES[name], OPS[name]
    shapes = ((2, 1, 3), (4, 1), (3,), (), (2, 1, 1))
    call = Case(tuple(shapes[k] for k in range(len(op.operands))), {})
    arrays = row.arrays(call, dtype_for(name))
    small = [to_tensor(x, not number) for x, number in zip(arrays, op.fixed)]
    full = [to_tensor(np.array(np.broadcast_to(x, (2, 4, 3))), not number) for x, number in zip(arrays, op.fixed)]
    expanded = [x.detach().expand(2, 4, 3) for x in small]
    (wanted,) = results(run(row, full, call))
    for operands in (small, expanded):
        (got,) = results(run(row, operands, call))
        close(got, wanted, 0.0, f"{name}{call}")
    if row.differentiable:
        weights = weights_of([wanted])
        leaves = [x for x in small if x.requires_grad]
        for x, got, want in zip(leaves, gradients(row, small, call, weights), gradients(row, full, call, weights)):
            axes = tuple(range(3 - x.ndim)) + tuple(3 - x.ndim + d for d, n in enumerate(x.shape) if n == 1)
            summed = want.numpy().sum(axes).reshape(x.shape)
            close(got.numpy(), summed, 1e-13, f"{name}{call}: gradient of a broadcast operand")


@pytest.mark.part(4, 0)
@pytest.mark.parametrize("name", BROADCASTING)
def test_a_python_number_is_a_zero_dimensional_operand(name):
    """Each operand in turn as a Python number: the same values, dtype and gradients as with a 0-d tensor of it."""
    row, op = SAMPLES[name], OPS[name]
    call = Case(tuple((2, 3) for _ in op.operands), {})
    arrays = row.arrays(call, dtype_for(name))
    for k in range(len(op.operands)):
        value = arrays[k].flat[0].item()
        number = [value if i == k else to_tensor(x, not op.fixed[i]) for i, x in enumerate(arrays)]
        zero_dim = [to_tensor(np.array(value)) if i == k else x for i, x in enumerate(number)]
        got, want = CALLS[name](*number), CALLS[name](*zero_dim)
        assert got.dtype is want.dtype
        assert got.requires_grad is want.requires_grad
        close(got.detach().numpy(), want.detach().numpy(), 0.0, f"{name}: operand {k} a number")
        if want.requires_grad and not op.refuses_gradient:
            weights = weights_of([want.detach().numpy()])
            for g, w in zip(gradients(row, number, call, weights), gradients(row, zero_dim, call, weights)):
                close(g.numpy(), w.numpy(), 0.0, f"{name}: gradient beside operand {k}, a number")


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if not OPS[name].predicate])
def test_the_result_keeps_the_memory_order(name):
    """The result of a transposed operand is laid out like it, as torch's, unless the declaration says that it is row-major."""
    row = SAMPLES[name]
    call = Case(tuple((2, 3) if isinstance(x, tuple) else x for x in row.calls[0].operands), {})
    out = run(row, [placed(x, transposed) for x in row.arrays(call, dtype_for(name))], call)[0]
    assert out.stride() == ((3, 1) if OPS[name].row_major else (1, 2))
    assert tensors(row, call, dtype_for(name))[0].stride() == (3, 1)


def odd_bytes(n: int) -> nbgrad.Tensor:
    """``n`` int32 in the midst of bytes whose number no int32 divides."""
    numbers = np.random.default_rng(1).integers(-9, 9, n).astype(np.int32).view(np.uint8)
    return nbgrad.tensor(np.concatenate([[7] * 4, numbers, [7] * 3]).astype(np.uint8))[4:-3].view(nbgrad.int32)


SEEN = {
    "int32 of float32": lambda n: nbgrad.tensor(np.cos(np.arange(n)), dtype=nbgrad.float32).view(nbgrad.int32),
    "parts of complex128": lambda n: nbgrad.view_as_real(nbgrad.tensor(np.exp(1j * np.arange(n // 2)))).flatten(),
    "bytes of float64": lambda n: nbgrad.tensor(np.sin(np.arange(n // 8 + 1))).view(nbgrad.uint8),
    "int32 of bytes": odd_bytes,
    "bool of bytes": lambda n: nbgrad.tensor(np.arange(n) % 3 == 1).view(nbgrad.uint8).view(nbgrad.bool),
}


READ = {
    "sort": lambda x: x.sort()[0],
    "argsort": lambda x: x.argsort(stable=True),
    "topk": lambda x: x.topk(3)[0],
    "kthvalue": lambda x: x.kthvalue(4)[0],
    "median": lambda x: x.median(),
    "mode": lambda x: x.mode()[0],
    "unique": lambda x: x.unique(),
    "count_nonzero": lambda x: x.count_nonzero(),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "cummax": lambda x: x.cummax(0)[0],
    "argmax": lambda x: x.argmax(),
    "isin": lambda x: nbgrad.isin(x, x[:1]),
    "flip": lambda x: x.flip(0),
    "add": lambda x: x + x,
    "sort a copy": lambda x: x.expand(2, -1).reshape(-1).sort()[0],
}


@pytest.mark.parametrize("n", [10, 6000])
@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("name", READ)
def test_memory_that_was_made_for_another_dtype(name, seen, n):
    """What an operation makes of memory that is seen as another dtype is what it makes of a copy in that dtype."""
    x, f = SEEN[seen](n), READ[name]
    assert f(x).tolist() == f(nbgrad.tensor(x.tolist(), dtype=x.dtype)).tolist()


def laid(shape: tuple, order: tuple) -> nbgrad.Tensor:
    """Ones whose dimensions lie in memory in this order, from the outermost."""
    return nbgrad.ones([shape[d] for d in order]).permute([order.index(d) for d in range(len(shape))])


@pytest.mark.parametrize(
    "operands, strides",
    [
        ([((3, 2), (1, 0)), ((2, 1, 1), (0, 1, 2))], (6, 1, 3)),  # what the second one adds lies outside
        ([((3, 2), (1, 0)), ((2, 3, 2), (0, 1, 2))], (6, 1, 3)),  # the first one that tells decides
        ([((2, 3, 2), (0, 1, 2)), ((3, 2), (1, 0))], (6, 2, 1)),
        ([((1, 2), (0, 1)), ((3, 2), (1, 0))], (1, 3)),
        ([((3, 1), (0, 1)), ((1, 2), (0, 1))], (2, 1)),
        ([((2, 1, 4), (2, 1, 0)), ((3, 1), (0, 1))], (1, 2, 6)),
    ],
    ids=str,
)
@pytest.mark.parametrize("f", [nbgrad.add, nbgrad.lt, lambda x, y: nbgrad.where(x > 0, x, y)], ids=["add", "less", "where"])
def test_the_result_of_operands_that_broadcast_has_their_memory_order(f, operands, strides):
    """Of two dimensions that lies inner along which the first operand that moves along both takes the smaller step, as in torch."""
    assert f(*[laid(*operand) for operand in operands]).stride() == strides


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_short_rows_are_read_and_written_where_they_lie(width, order, dtype):
    """Rows of few elements with gaps between them, in more than one block: read, written, and computed with, as NumPy does."""
    values = (np.random.default_rng(0).normal(size=(3, 211, 12)) * 50).astype(dtype)
    part = (slice(None), slice(None, None, 2), slice(1, 1 + width))
    x, expected = nbgrad.tensor(values)[part].permute(order), values[part].transpose(order)
    assert np.array_equal(x.contiguous().numpy(), expected)
    assert np.array_equal((x + x).numpy(), expected + expected)
    into, target = nbgrad.zeros(values.shape, dtype=x.dtype), np.zeros_like(values)
    into[part].permute(order).copy_(nbgrad.tensor(np.ascontiguousarray(expected)))
    target[part].transpose(order)[...] = expected
    assert np.array_equal(into.numpy(), target)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)], ids=str)
def test_flips_keep_the_order_in_memory(order):
    """As torch's do; what is expanded has none."""
    x = laid((2, 3, 4), order)
    assert x.flip(0, 2).stride() == x.stride() and x.fliplr().stride() == x.stride()
    assert x[:1].expand(2, 3, 4).flip(1).is_contiguous()
