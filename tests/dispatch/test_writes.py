"""Every in-place form does the same before and after it writes: what is refused, what is counted, where histories end."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.autograd import forward_ad
from nbgrad.base.calls import CALLS
from nbgrad.dispatch.inplace_views import inplace_views
from nbgrad.ops.core import OPS, Elementwise
from tests.samples import SAMPLES
from tests.samples.checking import attributes_of, close, tensors, to_tensor

VIEWS = (*inplace_views(), "as_strided")  # no element moves
# All forms of the table that write elements: of elementwise operations, where an index leads, of results.
NAMES = [
    name
    for name, row in SAMPLES.items()
    if name + "_" in CALLS and name not in VIEWS and row.reference is not None and row.calls[0].operands
]
INTEGERS = [name for name in NAMES if getattr(OPS[name], "policy", "") == "integer"]
FLOATING = [name for name in NAMES if name not in INTEGERS]
REFUSING = ("heaviside", "floor_divide", "igamma", "igammac")  # gradients: all, or those by the first operand
RECORDED = [name for name in FLOATING if name not in REFUSING]
LIST = (
    "add",
    "eq",
    "logical_not",
    "fill",
    "zero",
    "copy",
    "cumsum",
    "addmm",
    "nan_to_num",
    "scatter_src",
    "index_write",
    "masked_scatter",
)


def of_table(name: str, requires_grad: bool = False):
    """What is written to, and ``write(x)``."""
    row, call = SAMPLES[name], SAMPLES[name].calls[0]
    x, *others = tensors(row, call, "int64" if name in INTEGERS else "float64", requires_grad)
    return x.detach(), lambda x: CALLS[name + "_"](x, *others, **attributes_of(call)), [y for y in others if is_leaf(y)]


def is_leaf(y) -> bool:
    """Whether gradients are asked for it."""
    return isinstance(y, nbgrad.Tensor) and y.requires_grad


def refused(x, write, match: str) -> None:
    """The write raises InplaceError and leaves elements and version alone."""
    before, version = x.detach().clone().tolist(), x._storage_.version
    with pytest.raises(nbgrad.InplaceError, match=match):
        write(x)
    assert x.tolist() == before and x._storage_.version == version


def test_all_kinds_of_writes_are_here():
    """The names of the table are those of elementwise operations, of index writers, and of results."""
    assert set(LIST) <= set(NAMES) and len(NAMES) > 110


@pytest.mark.parametrize("name", NAMES)
def test_a_write_counts_and_returns_its_tensor(name):
    """One write is one version, and the method returns the tensor."""
    x, write, _ = of_table(name)
    assert write(x) is x and x._version == 1


@pytest.mark.parametrize("name", FLOATING)
def test_leaves_and_their_views_are_refused(name):
    """A leaf that requires grad, or a view of one, is written to under ``no_grad()`` alone."""
    x, write, _ = of_table(name)
    refused(x.requires_grad_(), write, "a leaf that requires grad")
    refused(x.view(x.shape), write, "a view of a leaf")
    with nbgrad.no_grad():
        write(x)
    assert x._version == 1 and x.is_leaf


@pytest.mark.parametrize("name", FLOATING)
def test_views_without_a_way_back_are_refused(name):
    """One of several views, and a view made under ``no_grad()``, of what has a history."""
    x, write, _ = of_table(name)
    base = nbgrad.stack([x, x]).requires_grad_() * 1
    refused(base.unbind()[0], write, "one operation returned several")
    with nbgrad.no_grad():
        view = base[0]
    refused(view, write, "made under no_grad")


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_cannot_be_written_to_is_refused(name):
    """Elements that share a place, a read-only array, an inference tensor outside of the mode."""
    x, write, _ = of_table(name)
    if x.ndim:
        refused(x[:1].expand(x.shape) if x.shape[0] > 1 else x.expand(2, *x.shape), write, "share one memory location")
    array = x.numpy().copy()
    array.flags.writeable = False
    refused(nbgrad.asarray(array), write, "read-only memory")
    with nbgrad.inference_mode():
        marked = x.clone()
    refused(marked, write, "an inference tensor")


@pytest.mark.parametrize("name", RECORDED)
def test_the_old_history_ends_at_a_write(name):
    """Gradients through ``x.op_()`` are those through ``op(x)``; 0 where there is no derivative. So they are through a view."""
    x, write, others = of_table(name, requires_grad=True)
    row, call, source = SAMPLES[name], SAMPLES[name].calls[0], x.clone().requires_grad_()
    written = source * 1
    write(written)
    base = nbgrad.stack([source, source])
    write(base[1])
    assert written.requires_grad and base.requires_grad and base._version == 1
    weights = nbgrad.tensor(np.random.default_rng(0).normal(size=x.shape), dtype=x.dtype)
    result = CALLS[name](source, *restored(tensors(row, call)[1:], others), **attributes_of(call))
    inputs = [source, *others]
    if result.requires_grad and result.dtype is x.dtype:
        want = nbgrad.grad(result, inputs, weights, allow_unused=True)
    else:
        want = (None,) * len(inputs)
    got = nbgrad.grad(written, inputs, weights, allow_unused=True)
    through = nbgrad.grad(base[1], inputs, weights, allow_unused=True)
    for k, (a, b, c) in enumerate(zip(want, got, through)):
        a = np.zeros(inputs[k].shape) if a is None else a.numpy()
        for g in (b, c):
            close(np.zeros(a.shape) if g is None else g.numpy(), a, 1e-13, f"{name}_: gradient {k}")


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_written_brings_a_history_along(name):
    """A plain tensor, or the base of a plain view, becomes part of the graph; what the rule saved is the old value."""
    x, write, others = of_table(name, requires_grad=True)
    if not others:
        return
    row, call = SAMPLES[name], SAMPLES[name].calls[0]
    result = CALLS[name](x.clone(), *restored(tensors(row, call)[1:], others), **attributes_of(call))
    written, base = x.clone(), nbgrad.stack([x, x])
    write(written)
    write(base[1])
    if not result.requires_grad or result.dtype is not x.dtype:
        return
    assert written.requires_grad and base.requires_grad
    weights = nbgrad.tensor(np.random.default_rng(0).normal(size=x.shape), dtype=x.dtype)
    want = nbgrad.grad(result, others, weights, allow_unused=True)
    for got in (nbgrad.grad(y, others, weights, allow_unused=True) for y in (written, base[1])):
        for k, (a, g) in enumerate(zip(want, got)):
            assert a is g is None or close(g.numpy(), a.numpy(), 1e-13, f"{name}_: gradient {k}") is None


def restored(operands: list, leaves: list) -> list:
    """The operands, with the leaves in the places of those that require grad."""
    rest = iter(leaves)
    return [next(rest) if isinstance(y, nbgrad.Tensor) and y.dtype.is_floating_point else y for y in operands]


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_saved_survives_the_write_under_hooks(name):
    """Hooks that copy what is saved change no gradient of a write."""
    x, write, others = of_table(name, requires_grad=True)
    slopes = []
    for hooked in (False, True):
        source = x.clone().requires_grad_()
        written = source * 1
        if hooked:
            with nbgrad.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
                write(written)
        else:
            write(written)
        slopes.append(nbgrad.grad(written.sum(), [source, *others], allow_unused=True))
    for a, b in zip(*slopes):
        assert a is b is None or (a.tolist() == b.tolist() or a.allclose(b, equal_nan=True))


@pytest.mark.parametrize("name", [n for n in FLOATING if isinstance(OPS[n], Elementwise) and len(OPS[n].operands) > 1])
def test_dense_operands_at_other_places_are_refused(name):
    """An operand that lies in the memory that is written, at an offset; interleaved it is read as it was."""
    row = SAMPLES[name]
    others = row.arrays(row.calls[0])[1:]
    if not any(isinstance(y, np.ndarray) and y.dtype == np.float64 and y.shape == (2, 3) for y in others):
        return
    call = CALLS[name + "_"]

    def given(y):
        return [y if isinstance(z, np.ndarray) and z.dtype == np.float64 and z.shape == (2, 3) else to_tensor(z) for z in others]

    memory = nbgrad.tensor(np.abs(others[-1] if others[-1].size == 6 else np.ones(6)).repeat(2).astype("float64") + 0.5)
    x, y = memory[:6].view(2, 3), memory[3:9].view(2, 3)
    if OPS[name].operands[-1] != "value":
        refused(x, lambda x: call(x, *given(y)), "overlaps the memory that is written")
    lattice = memory.view(4, 3)
    x, y = lattice[::2], lattice[1::2]
    want = call(x.clone(), *given(y.clone()))
    assert call(x, *given(y)).allclose(want, equal_nan=True)


@pytest.mark.parametrize("name", RECORDED)
def test_tangents_are_written_along(name):
    """The tangent of what was written is that of the operation's result; 0 where there is none."""
    row, call = SAMPLES[name], SAMPLES[name].calls[0]
    x, *others = tensors(row, call)
    rng = np.random.default_rng(0)

    def dual(y):
        if not isinstance(y, nbgrad.Tensor) or not y.dtype.is_floating_point:
            return y
        return forward_ad.make_dual(y.clone(), nbgrad.tensor(rng.normal(size=y.shape), dtype=y.dtype))

    with forward_ad.dual_level():
        x, others = dual(x), [dual(y) for y in others]
        result = CALLS[name](x, *others, **attributes_of(call))
        values, tangent = forward_ad.unpack_dual(result)
        assert CALLS[name + "_"](x, *others, **attributes_of(call)) is x
        written, moved = forward_ad.unpack_dual(x)
    close(written.numpy(), values.numpy().astype(written.numpy().dtype), 1e-14, f"{name}_: values")
    want = np.zeros(x.shape) if tangent is None else tangent.numpy()
    close(np.zeros(x.shape) if moved is None else moved.numpy(), want, 1e-13, f"{name}_: tangent")


BATCHED = [name for name in NAMES if name not in ("masked_scatter", "index_zeroed")]


@pytest.mark.parametrize("name", BATCHED)
def test_each_element_of_a_batch_is_written(name):
    """In ``vmap`` a batched tensor is written element by element."""
    x, write, _ = of_table(name)
    xs = nbgrad.stack([x, x])
    out = nbgrad.func.vmap(lambda x: write(x.clone()))(xs)
    want = write(x.clone())
    for element in out:
        close(element.numpy(), want.numpy(), 1e-14, f"{name}_")


INDEXED = {
    "index_add_": lambda x, i, y: x.index_add_(0, i, y),
    "index_copy_": lambda x, i, y: x.index_copy_(0, i, y),
    "index_fill_": lambda x, i, y: x.index_fill_(0, i, float(y.detach()[0])),
    "scatter_": lambda x, i, y: x.scatter_(0, i, y),
    "scatter_add_": lambda x, i, y: x.scatter_add_(0, i, y),
    "scatter_ of a number": lambda x, i, y: x.scatter_(0, i, float(y.detach()[0])),
    "index_put_": lambda x, i, y: x.index_put_((i,), y),
    "index_put_ accumulates": lambda x, i, y: x.index_put_((i,), y, accumulate=True),
    "x[i] = y": lambda x, i, y: x.__setitem__(i, y),
    "x[i] = number": lambda x, i, y: x.__setitem__(i, float(y.detach()[0])),
}


@pytest.mark.parametrize("name", INDEXED)
def test_known_writes_by_an_index_look_at_every_call(name):
    """The second call of a kind does what the first does, and refuses what that would: memory, indices, leaves, overlap."""
    write = INDEXED[name]
    index, values = nbgrad.tensor([2, 0]), nbgrad.tensor([5.0, 7.0])
    results = []
    for _ in range(3):
        x = nbgrad.arange(4.0)
        write(x, index, values)
        assert x._version == 1
        results.append(x.tolist())
    assert results[0] == results[1] == results[2] != [0.0, 1.0, 2.0, 3.0]
    x = nbgrad.arange(4.0)
    with pytest.raises(IndexError):
        write(x, nbgrad.tensor([2, 4]), values)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and x._version == 0
    write(x, index, values * 2 - 3)
    assert x.tolist() != results[0]
    array = np.arange(4, dtype="float32")
    array.flags.writeable = False
    refused(nbgrad.asarray(array), lambda x: write(x, index, values), "read-only")
    refused(nbgrad.arange(4.0).requires_grad_(), lambda x: write(x, index, values), "a leaf that requires grad")
    if "number" not in name and name != "index_fill_":
        refused(nbgrad.arange(4.0), lambda x: write(x, index, x[1:3]), "overlaps")
        w = nbgrad.tensor([5.0, 7.0], requires_grad=True)
        x = nbgrad.arange(4.0)
        write(x, index, w)
        assert x.tolist() == results[0] and nbgrad.grad(x.sum(), w)[0].tolist() == [1.0, 1.0]
    written = nbgrad.zeros(4, requires_grad=True) * 1
    write(written, index, values)
    assert written.grad_fn is not None and written._version == 1


def test_known_writes_by_a_mask_look_at_every_call():
    """Other masks of the same layout take other elements; too few values are refused, and a recorded write has its gradients."""
    values = nbgrad.tensor([5.0, 7.0, 9.0])
    for mask, want in (
        ([1, 0, 1, 0], [5.0, 1.0, 7.0, 3.0]),
        ([0, 0, 0, 1], [0.0, 1.0, 2.0, 5.0]),
        ([0, 1, 1, 1], [0.0, 5.0, 7.0, 9.0]),
    ):
        x = nbgrad.arange(4.0)
        assert x.masked_scatter_(nbgrad.tensor(mask) > 0, values) is x
        assert x.tolist() == want and x._version == 1
    with pytest.raises(nbgrad.ShapeError, match="the mask selects 4 elements"):
        x.masked_scatter_(nbgrad.ones(4) > 0, values)
    assert x.tolist() == want and x._version == 1
    gaps = nbgrad.zeros(4, 2)[:, 1]
    for _ in range(2):
        assert gaps.masked_scatter_(nbgrad.tensor([0, 1, 1, 0]) > 0, values).tolist() == [0.0, 5.0, 7.0, 0.0]
    w = values.clone().requires_grad_()
    y = x.clone().masked_scatter_(nbgrad.tensor([0, 1, 1, 0]) > 0, w)
    assert nbgrad.grad(y.sum(), w)[0].tolist() == [1.0, 1.0, 0.0]


def test_numbers_written_by_an_index_are_those_of_the_call():
    """A kind that is known writes every number, and refuses what the dtype does not hold."""
    x, index = nbgrad.zeros(3), nbgrad.tensor([1])
    for number in (2.0, -0.0, 3.5, float("inf")):
        x.index_fill_(0, index, number)
        assert str(x[1].item()) == str(number)
    small = nbgrad.zeros(3, dtype=nbgrad.uint8)
    for _ in range(2):
        assert small.index_fill_(0, index, 7).tolist() == [0, 7, 0]
        with pytest.raises(nbgrad.RangeError, match="^index_fill: 300"):
            small.index_fill_(0, index, 300)


EMPTY = nbgrad.tensor([], dtype=nbgrad.int64)
NOTHING = {
    "index_fill_": lambda x: x.index_fill_(0, EMPTY, 2.0),
    "index_add_": lambda x: x.index_add_(0, EMPTY, nbgrad.zeros(0)),
    "index_copy_": lambda x: x.index_copy_(0, EMPTY, nbgrad.zeros(0)),
    "scatter_": lambda x: x.scatter_(0, EMPTY, nbgrad.zeros(0)),
    "scatter_add_": lambda x: x.scatter_add_(0, EMPTY, nbgrad.zeros(0)),
    "masked_scatter_": lambda x: x.masked_scatter_(x > 5, nbgrad.zeros(4)),
    "index_put_": lambda x: x.index_put_((EMPTY,), nbgrad.zeros(0)),
    "x[indices] = y": lambda x: x.__setitem__(EMPTY, nbgrad.zeros(0)),
    "x[mask] = y": lambda x: x.__setitem__(x > 5, nbgrad.zeros(0)),
    "put_": lambda x: x.put_(EMPTY, nbgrad.zeros(0)),
    "zero_ of nothing": lambda x: x[:0].zero_(),
}


@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_write_of_no_element_counts(name, requires_grad):
    """The version moves, and elements stay."""
    x = nbgrad.zeros(4, requires_grad=requires_grad) * 1
    NOTHING[name](x)
    assert x._version == 1 and x.tolist() == [0.0] * 4


def test_one_row_of_the_place_is_written_to_all_of_it():
    """``x[...] = x[0]`` broadcasts what is in the place itself, as a slice of several rows may not."""
    x = nbgrad.arange(6.0).view(3, 2)
    x[:] = x[1]
    assert x.tolist() == [[2.0, 3.0]] * 3
    source = nbgrad.arange(6.0, requires_grad=True)
    y = source.view(3, 2) * 1
    y[:] = y[2]
    assert nbgrad.grad(y.sum(), source)[0].tolist() == [0.0, 0.0, 0.0, 0.0, 3.0, 3.0]
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        x[1:] = x[:-1]


@pytest.mark.parametrize(
    "name", ["cumsum_", "nextafter_", "igamma_", "put_", "scatter_reduce_", "index_reduce_", "addr_", "addmm_"]
)
def test_results_are_computed_before_they_are_written(name):
    """Operands of what writes a result may lie in that memory as they like."""
    memory = nbgrad.arange(1.0, 33.0).view(8, 4) / 32
    x, y, index = memory[:4], memory[2:6], nbgrad.tensor([3, 2, 1, 0])
    args = {
        "cumsum_": lambda y: (0,),
        "put_": lambda y: (nbgrad.arange(16).view(4, 4), y),
        "scatter_reduce_": lambda y: (0, index.view(4, 1).expand(4, 4), y, "sum"),
        "index_reduce_": lambda y: (0, index, y, "amax"),
        "addr_": lambda y: (y[0], y[1]),
        "addmm_": lambda y: (y, y),
    }.get(name, lambda y: (y,))
    want = getattr(x.clone(), name)(*args(y.clone()))
    assert getattr(x, name)(*args(y)).tolist() == want.tolist()
