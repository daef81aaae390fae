"""Views and copies that rearrange: values against NumPy, gradients against the positions that the operation itself
reports.

Every operation here only moves elements. Applied to ``arange`` it says which element of the operand each element of
the result is; so the gradient of a weighted sum is the weights collected at those positions, and the second derivative
(of that gradient with respect to the weights) is the operation again.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from tests.helpers import arange

F64 = nbgrad.float64
SHAPE = (2, 3, 4)


def tensor(array, **options):
    """A float64 tensor with a copy of an array."""
    return nbgrad.tensor(np.ascontiguousarray(array), dtype=F64, **options)


def windows(a, size, step):
    """Windows of the last dimension."""
    return np.lib.stride_tricks.sliding_window_view(a, size, -1)[..., ::step, :]


VIEWS = {
    "view": (lambda x: x.view(4, 6), lambda a: a.reshape(4, 6)),
    "view_tuple": (lambda x: x.view((6, -1)), lambda a: a.reshape(6, 4)),
    "reshape": (lambda x: x.reshape(-1, 3), lambda a: a.reshape(-1, 3)),
    "reshape_of_strided": (lambda x: x.permute(2, 0, 1).reshape(4, 3, 2, 1), lambda a: a.transpose(2, 0, 1).reshape(4, 3, 2, 1)),
    "permute": (lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "permute_tuple": (lambda x: nbgrad.permute(x, (-1, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "transpose": (lambda x: x.transpose(0, -1), lambda a: a.swapaxes(0, 2)),
    "swapaxes": (lambda x: x.swapaxes(1, 0), lambda a: a.swapaxes(1, 0)),
    "T": (lambda x: x.T, lambda a: a.T),
    "mT": (lambda x: x.mT, lambda a: a.swapaxes(-1, -2)),
    "mH": (lambda x: x.mH, lambda a: a.swapaxes(-1, -2)),
    "t": (lambda x: x[0].t(), lambda a: a[0].T),
    "movedim": (lambda x: x.movedim(0, 2), lambda a: np.moveaxis(a, 0, 2)),
    "moveaxis": (lambda x: nbgrad.moveaxis(x, (0, 1), (1, 2)), lambda a: np.moveaxis(a, (0, 1), (1, 2))),
    "expand": (lambda x: x[:, :1].expand(2, 5, -1), lambda a: np.broadcast_to(a[:, :1], (2, 5, 4))),
    "expand_new": (lambda x: x.expand((3, 1, 2, 3, 4)), lambda a: np.broadcast_to(a, (3, 1, 2, 3, 4))),
    "expand_as": (lambda x: x[:1].expand_as(x), lambda a: np.broadcast_to(a[:1], a.shape)),
    "broadcast_to": (lambda x: x.broadcast_to((2, 2, 3, 4)), lambda a: np.broadcast_to(a, (2, 2, 3, 4))),
    "squeeze": (lambda x: x[:1, :, :1].squeeze(), lambda a: a[:1, :, :1].squeeze()),
    "squeeze_dim": (lambda x: x[:1, :, :1].squeeze(0), lambda a: a[:1, :, :1].squeeze(0)),
    "squeeze_dims": (lambda x: x[:1, :, :1].squeeze((0, -1)), lambda a: a[:1, :, :1].squeeze((0, -1))),
    "squeeze_nothing": (lambda x: x.squeeze(1), lambda a: a),
    "unsqueeze": (lambda x: x.unsqueeze(-2), lambda a: np.expand_dims(a, -2)),
    "flatten": (lambda x: x.flatten(), lambda a: a.reshape(-1)),
    "flatten_some": (lambda x: x.flatten(1, -1), lambda a: a.reshape(2, 12)),
    "ravel": (lambda x: x.ravel(), lambda a: a.ravel()),
    "unflatten": (lambda x: x.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    "view_as": (lambda x: x.flatten().view_as(x), lambda a: a),
    "reshape_as": (lambda x: x.flatten().reshape_as(x), lambda a: a),
    "narrow": (lambda x: x.narrow(2, -3, 2), lambda a: a[:, :, 1:3]),
    "select": (lambda x: x.select(1, -1), lambda a: a[:, -1]),
    "slice": (lambda x: x[:, 1:, ::2], lambda a: a[:, 1:, ::2]),
    "empty_slice": (lambda x: x[:, 3:1], lambda a: a[:, 3:1]),
    "diagonal": (lambda x: x.diagonal(), lambda a: a.diagonal()),
    "diagonal_of_dims": (lambda x: nbgrad.diagonal(x, -1, 1, 2), lambda a: a.diagonal(-1, 1, 2)),
    "unfold": (lambda x: x.unfold(2, 3, 1), lambda a: windows(a, 3, 1)),
    "unfold_step": (lambda x: x.unfold(-1, 2, 2), lambda a: windows(a, 2, 2)),
    "as_strided": (
        lambda x: x.as_strided((3, 2, 2), (1, 1, 2), 1),
        lambda a: np.lib.stride_tricks.as_strided(a.ravel()[1:], (3, 2, 2), (8, 8, 16)),
    ),
    "split": (lambda x: x.split(2, 2)[1], lambda a: a[:, :, 2:]),
    "split_sizes": (lambda x: x.split([1, 3], -1)[1], lambda a: a[:, :, 1:]),
    "chunk": (lambda x: x.chunk(3, 2)[-1], lambda a: a[:, :, 2:]),
    "tensor_split": (lambda x: x.tensor_split(3, 2)[0], lambda a: np.array_split(a, 3, 2)[0]),
    "tensor_split_at": (lambda x: x.tensor_split((1, 3), 2)[1], lambda a: np.array_split(a, (1, 3), 2)[1]),
    "unbind": (lambda x: x.unbind(1)[2], lambda a: a[:, 2]),
    "unsafe_split": (lambda x: x.unsafe_split(2, 2)[0], lambda a: a[:, :, :2]),
    "unsafe_chunk": (lambda x: x.unsafe_chunk(2, 1)[1], lambda a: a[:, 2:]),
    "iteration": (lambda x: list(x)[1], lambda a: a[1]),
}
COPIES = {
    "contiguous": (lambda x: x.T.contiguous(), lambda a: a.T),
    "clone": (lambda x: x.transpose(0, 1).clone(), lambda a: a.swapaxes(0, 1)),
    "reshape_copy": (lambda x: x.T.reshape(-1), lambda a: a.T.reshape(-1)),
    "cat": (lambda x: nbgrad.cat([x, x[:, :1], x.flip(1)], 1), lambda a: np.concatenate([a, a[:, :1], a[:, ::-1]], 1)),
    "cat_strided": (lambda x: nbgrad.cat((x.T, x.T), -1), lambda a: np.concatenate([a.T, a.T], -1)),
    "cat_with_empty": (lambda x: nbgrad.cat([x, x.new_zeros(0), x]), lambda a: np.concatenate([a, a])),
    "cat_many": (lambda x: nbgrad.concatenate([x] * 50), lambda a: np.concatenate([a] * 50)),
    "stack": (lambda x: nbgrad.stack([x, x.flip(0)], -1), lambda a: np.stack([a, a[::-1]], -1)),
    "hstack": (lambda x: nbgrad.hstack([x, x]), lambda a: np.hstack([a, a])),
    "hstack_rows": (lambda x: nbgrad.hstack([x[0, 0], x[1, 1]]), lambda a: np.hstack([a[0, 0], a[1, 1]])),
    "vstack": (lambda x: nbgrad.vstack([x[0, 0], x[1, 1]]), lambda a: np.vstack([a[0, 0], a[1, 1]])),
    "dstack": (lambda x: nbgrad.dstack([x[0], x[1]]), lambda a: np.dstack([a[0], a[1]])),
    "flip": (lambda x: x.flip(0, 2), lambda a: a[::-1, :, ::-1]),
    "fliplr": (lambda x: nbgrad.fliplr(x), lambda a: a[:, ::-1]),
    "flipud": (lambda x: nbgrad.flipud(x), lambda a: a[::-1]),
    "roll": (lambda x: x.roll((1, -2), (0, 2)), lambda a: np.roll(a, (1, -2), (0, 2))),
    "roll_flat": (lambda x: nbgrad.roll(x, 5), lambda a: np.roll(a, 5)),
    "repeat": (lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    "repeat_more": (lambda x: x.T.repeat(2, 1, 1, 2), lambda a: np.tile(a.T, (2, 1, 1, 2))),
    "tile": (lambda x: nbgrad.tile(x, (2,)), lambda a: np.tile(a, 2)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    "repeat_interleave_counts": (lambda x: x.repeat_interleave(nbgrad.tensor([1, 0, 2]), 1), lambda a: np.repeat(a, [1, 0, 2], 1)),
}
ALL = {**VIEWS, **COPIES}


@pytest.mark.parametrize("name", ALL)
def test_values_are_numpys(name):
    """Shape and elements are those of the NumPy expression."""
    f, expected = ALL[name]
    a = arange(*SHAPE)
    out = f(tensor(a))
    np.testing.assert_array_equal(out.numpy(), expected(a))


@pytest.mark.parametrize("name", ALL)
def test_gradient_collects_weights_at_their_positions(name):
    """The gradient of a weighted sum is the weights added up where the result's elements came from."""
    f, _ = ALL[name]
    x = tensor(arange(*SHAPE), requires_grad=True)
    out = f(x)
    weights = np.random.default_rng(0).standard_normal(out.shape)
    (out * tensor(weights)).sum().backward()
    positions = out.detach().numpy().astype(int).ravel()
    expected = np.bincount(positions, weights.ravel(), minlength=x.numel()).reshape(SHAPE)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_second_derivative_is_the_operation_again(name):
    """The gradient is linear in the weights, and its derivative along v is the operation applied to v."""
    f, expected = ALL[name]
    x = tensor(arange(*SHAPE), requires_grad=True)
    out = f(x)
    weights = nbgrad.ones(out.shape, dtype=F64, requires_grad=True)
    (g,) = nbgrad.grad((out * weights).sum(), x, create_graph=True)
    v = np.random.default_rng(1).standard_normal(SHAPE)
    (again,) = nbgrad.grad((g * tensor(v)).sum(), weights, allow_unused=True, materialize_grads=True)
    np.testing.assert_allclose(again.numpy(), expected(v), rtol=1e-14)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    """A write to the operand is seen through the view."""
    f, expected = VIEWS[name]
    x = tensor(arange(*SHAPE))
    out = f(x)
    x.mul_(-1)
    np.testing.assert_array_equal(out.numpy(), expected(-arange(*SHAPE)))


@pytest.mark.parametrize("name", COPIES)
def test_copies_share_nothing(name):
    """A write to the operand is not seen in the copy."""
    f, expected = COPIES[name]
    x = tensor(arange(*SHAPE))
    out = f(x)
    x.mul_(-1)
    np.testing.assert_array_equal(out.numpy(), expected(arange(*SHAPE)))


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("ViewBackward0", lambda x: x.view(24)),
        ("PermuteBackward0", lambda x: x.T),
        ("TransposeBackward0", lambda x: x.mT),
        ("SelectBackward0", lambda x: x[0]),
        ("SliceBackward0", lambda x: x[:1]),
        ("UnsqueezeBackward0", lambda x: x[None]),
        ("AliasBackward0", lambda x: x[...]),
        ("UnbindBackward0", lambda x: x.unbind()[0]),
        ("SplitBackward0", lambda x: x.chunk(2)[0]),
        ("SplitWithSizesBackward0", lambda x: x.split([1, 1])[0]),
        ("UnsafeViewBackward0", lambda x: x.T.reshape(-1)),
        ("ExpandBackward0", lambda x: x.expand(1, 2, 3, 4)),
        ("CatBackward0", lambda x: nbgrad.cat([x, x])),
        ("StackBackward0", lambda x: nbgrad.stack([x, x])),
        ("RepeatBackward0", lambda x: x.tile(2)),
        ("FlipBackward0", lambda x: x.flip(0)),
    ],
)
def test_node_names(name, f):
    """Nodes have the names that tools for torch's graphs read."""
    assert f(nbgrad.ones(SHAPE, requires_grad=True)).grad_fn.name() == name


def test_what_changes_nothing_is_the_object_itself():
    """``contiguous`` of a row-major tensor and ``flatten`` of a row are no copies and no views."""
    x = tensor(arange(6))
    assert x.contiguous() is x and x.flatten() is x


@pytest.mark.parametrize(
    "view, shares",
    [
        (lambda x: x, True),
        (lambda x: x[1], True),
        (lambda x: x.t(), False),
        (lambda x: x[:, 0], False),
        (lambda x: x[:, :1], False),
        (lambda x: x[0, 0].expand(4), False),
    ],
    ids=["whole", "row", "transposed", "column", "narrow", "expanded"],
)
def test_ravel_has_neighbours_in_memory(view, shares):
    """One step from element to element, as NumPy's: a copy of what has gaps, though one stride would do."""
    x = nbgrad.arange(6.0).reshape(2, 3)
    out, expected = view(x).ravel(), view(x).numpy().ravel()
    assert out.stride() == (1,) and (out.data_ptr() == view(x).data_ptr()) is shares and out.tolist() == expected.tolist()


def test_operands_of_several_dtypes_are_promoted_by_cat():
    """``cat`` gives the promoted dtype and gradients in the operands' own."""
    x = nbgrad.ones(2, dtype=nbgrad.float32, requires_grad=True)
    y = nbgrad.ones(3, dtype=F64, requires_grad=True)
    out = nbgrad.cat([x, y])
    out.sum().backward()
    assert out.dtype is F64 and x.grad.dtype is nbgrad.float32 and y.grad.shape == (3,)


def test_overlapping_operand_of_as_strided_shares_its_gradient():
    """An expanded operand gets the gradient of a memory location divided among the positions that show it."""
    x = tensor([[1.0], [2.0]], requires_grad=True)
    wide = x.expand(2, 4)
    wide.retain_grad()
    wide.as_strided((2,), (1,), 0).sum().backward()
    np.testing.assert_allclose(wide.grad.numpy(), np.full((2, 4), 0.25), rtol=1e-15)


@pytest.mark.parametrize("n", [1, 7, 4096, 100_000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool", "complex128"])
def test_triangles_of_every_element_size(n, dtype):
    """``tril`` and ``triu`` copy bits, whatever the element's size; long rows take another path through the pool."""
    a = (np.arange(2 * n) % 5).reshape(2, n).astype(dtype)
    for k in (-1, 0, n // 2):
        np.testing.assert_array_equal(nbgrad.tril(nbgrad.tensor(a), k).numpy(), np.tril(a, k))
        np.testing.assert_array_equal(nbgrad.triu(nbgrad.tensor(a), k).numpy(), np.triu(a, k))


@pytest.mark.parametrize("k", [-3, -1, 0, 2, 9])
def test_triangle_gradients(k):
    """The gradient of a triangle is the triangle of the cotangent, for batches and strided operands."""
    w = np.random.default_rng(2).standard_normal((2, 4, 3))
    x = tensor(arange(2, 3, 4), requires_grad=True)
    (nbgrad.tril(x.mT, k) * tensor(w)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.tril(w, k).swapaxes(1, 2))


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x.squeeze_(), (3,)),
        (lambda x: x.unsqueeze_(1), (1, 1, 3)),
        (lambda x: x.t_(), (3, 1)),
        (lambda x: x.transpose_(0, 1), (3, 1)),
        (lambda x: x.swapaxes_(0, 1), (3, 1)),
    ],
)
def test_in_place_layout_changes(f, shape):
    """The tensor itself gets the shape, keeps its memory, and gradients still reach what it was computed from."""
    x = tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = x * 2
    address = y.data_ptr()
    assert f(y) is y and y.shape == shape and y.data_ptr() == address
    y.mul_(3).sum().backward()
    assert x.grad.tolist() == [[6.0, 6.0, 6.0]]


def test_in_place_layout_change_of_a_leaf_is_refused():
    """A leaf that requires grad cannot change its layout in place while recording."""
    with pytest.raises(RuntimeError):
        nbgrad.ones(2, 3, requires_grad=True).t_()


@pytest.mark.parametrize(
    ("error", "f"),
    [
        (RuntimeError, lambda x: x.view(5)),
        (RuntimeError, lambda x: x.view(-1, -1)),
        (RuntimeError, lambda x: x.T.view(24)),
        (RuntimeError, lambda x: x.reshape(7, -1)),
        (IndexError, lambda x: x.transpose(0, 3)),
        (RuntimeError, lambda x: x.permute(0, 1)),
        (RuntimeError, lambda x: x.permute(0, 0, 1)),
        (RuntimeError, lambda x: x.expand(2, 3, 5)),
        (RuntimeError, lambda x: x.expand(4)),
        (IndexError, lambda x: x.select(0, 2)),
        (IndexError, lambda x: x.select(0, -3)),
        (ValueError, lambda x: x[::-1]),
        (RuntimeError, lambda x: x.narrow(0, 1, 2)),
        (RuntimeError, lambda x: x.split([1, 2])),
        (RuntimeError, lambda x: x.unflatten(2, (3, -1))),
        (RuntimeError, lambda x: x.diagonal(0, 1, 1)),
        (RuntimeError, lambda x: x.unfold(0, 3, 1)),
        (RuntimeError, lambda x: x.t()),
        (RuntimeError, lambda x: x.as_strided((25,), (1,))),
        (RuntimeError, lambda x: x.as_strided((2,), (1,), 23)),
        (RuntimeError, lambda x: nbgrad.cat([x, x[0]])),
        (RuntimeError, lambda x: nbgrad.cat([])),
        (TypeError, lambda x: nbgrad.cat([x, 1])),
        (RuntimeError, lambda x: nbgrad.stack([x, x[:1]])),
        (RuntimeError, lambda x: x.flip(0, 0)),
        (RuntimeError, lambda x: x.repeat(2)),
        (RuntimeError, lambda x: x.chunk(0)),
        (IndexError, lambda x: x.squeeze(3)),
        (IndexError, lambda x: x.unsqueeze(4)),
    ],
)
def test_impossible_requests_are_errors(error, f):
    """What has no answer raises, as the builtin that users of torch and NumPy catch."""
    with pytest.raises(error) as caught:
        f(tensor(arange(*SHAPE)))
    assert isinstance(caught.value, nbgrad.base.errors.NbgradError)


def test_plans_of_views_are_bounded():
    """Slices of ever new lengths do not pile up plans."""
    from nbgrad.base.bounded import MOST_PLANS
    from nbgrad.base.calls import CALLS

    x = nbgrad.zeros(MOST_PLANS + 100)
    for n in range(MOST_PLANS + 100):
        x[:n]
    assert len(CALLS["slice"].plans) <= MOST_PLANS


def diagonal_blocks(arrays):
    """Matrices along a diagonal."""
    arrays = [np.atleast_2d(x) for x in arrays]
    out = np.zeros((sum(x.shape[0] for x in arrays), sum(x.shape[1] for x in arrays)), np.result_type(*arrays))
    row = column = 0
    for x in arrays:
        out[row : row + x.shape[0], column : column + x.shape[1]] = x
        row, column = row + x.shape[0], column + x.shape[1]
    return out


@pytest.mark.parametrize("shapes", [[(2, 3)], [(), (2,), (2, 2)], [(0, 2), (2, 1)], [(1, 0)], [(2, 1)] * 50])
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "int64"), ("complex128", "float64")])
def test_blocks_along_a_diagonal(shapes, dtypes):
    """Numbers, vectors, empty matrices and many of them, of several dtypes and strides, with their gradients, in every call."""
    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.normal(size=shape) * 9).astype(dtypes[k % 2]) for k, shape in enumerate(shapes)]
    for turned in (False, True):
        given = [nbgrad.tensor(x.T.copy()).t() if turned and x.ndim == 2 else nbgrad.tensor(x) for x in arrays]
        given = [x.requires_grad_() if x.dtype.is_floating_point or x.is_complex() else x for x in given]
        for _ in range(2):
            out = nbgrad.block_diag(*given)
            assert np.array_equal(out.detach().numpy(), diagonal_blocks(arrays).reshape(out.shape))
            leaves = [x for x in given if x.requires_grad]
            for x, g in zip(leaves, nbgrad.grad((out * out.conj()).real.sum(), leaves)):
                assert g.dtype is x.dtype and np.allclose(g.numpy(), 2 * x.detach().numpy())


@pytest.mark.parametrize("width", [(1, 2), (0, 0), (-1, 2), (1, -2, 0, -1), (-2, -2), (0, 0, 3, 0)])
@pytest.mark.parametrize("value", [0, 0.0, None, -0.0, 1.5])
def test_padding_with_a_number(width, value):
    """Elements added and taken away, of a strided operand, with the gradient; zeros have a sign."""
    x = nbgrad.tensor(np.arange(1.0, 13).reshape(4, 3), requires_grad=True)
    pairs = [(width[k], width[k + 1]) for k in range(0, len(width), 2)][::-1]
    pairs = [(0, 0)] * (2 - len(pairs)) + pairs
    array = x.detach().numpy().T
    kept = array[tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(array.shape, pairs))]
    added = [(max(a, 0), max(b, 0)) for a, b in pairs]
    expected = np.pad(kept, added, constant_values=0 if value is None else value)
    for _ in range(2):
        out = nbgrad.nn.functional.pad(x.t(), width, value=value)
        assert np.array_equal(out.detach().numpy(), expected)
        assert np.array_equal(np.signbit(out.detach().numpy()), np.signbit(expected))
        (g,) = nbgrad.grad((out**2).sum(), x)
        assert np.array_equal(g.numpy().T != 0, np.isin(array, kept))
    with pytest.raises(nbgrad.ShapeError):
        nbgrad.nn.functional.pad(x, (-2, -2), value=value)


@pytest.mark.parametrize("count", [3, 40, 1030])
@pytest.mark.parametrize("join", [nbgrad.cat, nbgrad.stack])
def test_many_joined_operands_keep_their_digits(count, join):
    """An integer beside float32, far from the float64 that decides the dtype, is exact: the first call and later ones."""
    exact = 2**40 + 1
    xs = [nbgrad.tensor([exact]), *[nbgrad.ones(1)] * (count - 2), nbgrad.ones(1, dtype=nbgrad.float64)]
    for _ in range(3):
        out = join(xs, 0)
        assert out.dtype is nbgrad.float64 and out.reshape(-1)[0].item() == exact


@pytest.mark.parametrize("count", [22, 23, 45, 1025])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtypes", [["float32"], ["int64", "float32"], ["float64", "float32", "bool"]])
def test_joins_of_many(count, dim, dtypes):
    """More operands than one launch takes, some strided: the first call and later ones, values, dtype, version, gradient."""
    rng = np.random.default_rng(0)
    arrays = [(rng.normal(size=(2, 3)) * 3).astype(dtypes[k % len(dtypes)]) for k in range(count)]
    xs = [nbgrad.tensor(a) if k % 3 else nbgrad.tensor(a.T.copy()).t() for k, a in enumerate(arrays)]
    xs = [x.requires_grad_() if x.dtype.is_floating_point else x for x in xs]
    for join, oracle in ((nbgrad.stack, np.stack), (nbgrad.cat, np.concatenate)):
        expected = oracle(arrays, dim)
        for _ in range(3):
            out = join(xs, dim)
            assert out.dtype is join(xs[:6], dim).dtype and out._version == 0
            assert np.array_equal(out.detach().numpy(), expected.astype(out.detach().numpy().dtype))
        last = max(k for k, x in enumerate(xs) if x.requires_grad)
        weights = nbgrad.arange(float(expected.size), dtype=out.dtype).reshape(expected.shape)
        (g,) = nbgrad.grad((out * weights).sum(), xs[last])
        size = (2, 3, 3)[dim]
        own = weights.select(dim, last) if join is nbgrad.stack else weights.narrow(dim, last * size, size)
        assert nbgrad.equal(g, own.to(g.dtype))


def test_sizes_and_dimensions_by_name():
    """What methods take one by one may be given by name, too."""
    x = nbgrad.arange(6.0).reshape(shape=(2, 3))
    assert x.permute(dims=(1, 0)).shape == x.reshape(shape=[3, 2]).shape == (3, 2)
    assert x.expand(size=(2, -1, -1)).shape == (2, 2, 3) and x.sum_to_size(size=(1, 3)).tolist() == [[3.0, 5.0, 7.0]]


def test_a_number_is_its_own_transpose():
    """As a matrix of one element is; conjugated by ``mH`` and ``adjoint``."""
    z = nbgrad.tensor(1 + 2j)
    assert z.mT.item() == 1 + 2j and z.mH.item() == z.adjoint().item() == 1 - 2j
    with pytest.raises(nbgrad.ShapeError):
        z.reshape(1).mT


def test_blocks_on_a_diagonal_have_the_common_dtype():
    """A tensor without dimensions counts less than others of its kind, as in arithmetic."""
    half = nbgrad.eye(2, dtype=nbgrad.float16)
    assert nbgrad.block_diag(nbgrad.tensor(1.0), half).dtype is nbgrad.float16
    assert nbgrad.block_diag(half, nbgrad.tensor([1, 2])).dtype is nbgrad.float16
