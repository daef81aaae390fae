"""Indices and masks that nodes keep: hooks see them, their versions are checked, and a pass frees them."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad import graph
from tests.functions import Square

F64 = nbgrad.float64
ROWS = [2, 0]


def matrix_leaf():
    """A 3 x 2 float64 leaf: 1 to 6."""
    return nbgrad.tensor(np.arange(1.0, 7).reshape(3, 2), requires_grad=True)


def index_grid():
    """An index of the shape (2, 2) with values 0 to 2."""
    return nbgrad.tensor([[0, 2], [1, 0]])


# Operation: (an index or mask, the call).
KEEPERS = {
    "subscript": (lambda: nbgrad.tensor(ROWS), lambda x, i: x[i]),
    "subscript_behind": (lambda: nbgrad.tensor([1, 0]), lambda x, i: x[:, i]),
    "gather": (index_grid, lambda x, i: x.gather(0, i)),
    "index_select": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.index_select(0, i)),
    "take": (lambda: nbgrad.tensor([5, 0, 5]), lambda x, i: x.take(i)),
    "take_along_dim": (index_grid, lambda x, i: x.take_along_dim(i, 0)),
    "index_add": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.index_add(0, i, 3 * x[:2])),
    "index_copy": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.index_copy(0, i, 3 * x[:2])),
    "index_fill": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.index_fill(0, i, 7.0)),
    "index_put": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.index_put((i,), 3 * x[:2])),
    "index_put_": (lambda: nbgrad.tensor(ROWS), lambda x, i: x.clone().index_put_((i,), 3 * x[:2], True)),
    "scatter": (index_grid, lambda x, i: x.scatter(0, i, 3 * x[:2])),
    "scatter_value": (index_grid, lambda x, i: x.scatter(0, i, 2.0)),
    "scatter_add_": (index_grid, lambda x, i: x.clone().scatter_add_(0, i, 3 * x[:2])),
    "masked_select": (lambda: nbgrad.tensor([[True, False], [True, True], [False, True]]), lambda x, m: x.masked_select(m)),
    "masked_fill": (lambda: nbgrad.tensor([[True, False], [True, True], [False, True]]), lambda x, m: x.masked_fill(m, 0.0)),
    "masked_scatter": (
        lambda: nbgrad.tensor([[True, False], [True, True], [False, True]]),
        lambda x, m: x.masked_scatter(m, 3 * x),
    ),
}
NAMES = sorted(KEEPERS)


def gradient_after(name, change=lambda index: None):
    """The gradient of a sum of squares of the operation's result, after something was done to its index."""
    make, call = KEEPERS[name]
    x, index = matrix_leaf(), make()
    y = (call(x, index) ** 2).sum()
    change(index)
    y.backward()
    return x.grad.tolist()


def packed_by(call, x, index):
    """The tensors that saved-tensor hooks are shown by a call."""
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        call(x, index)
    return seen


# ---- hooks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_hooks_see_the_index(name):
    """The index or mask of a recorded call is shown to ``pack``."""
    make, call = KEEPERS[name]
    index = make()
    assert any(t.dtype is index.dtype and t.tolist() == index.tolist() for t in packed_by(call, matrix_leaf(), index))


@pytest.mark.parametrize("name", NAMES)
def test_what_unpack_returns_is_used(name):
    """Packed as a copy, the index may be overwritten: backward uses what ``unpack`` brings back."""
    make, call = KEEPERS[name]
    x, index = matrix_leaf(), make()
    with graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), nbgrad.from_numpy):
        y = (call(x, index) ** 2).sum()
    index.zero_()
    y.backward()
    assert x.grad.tolist() == gradient_after(name)


@pytest.mark.parametrize("name", NAMES)
def test_written_index_is_an_error(name):
    """An index that changed before the pass is reported as any other saved tensor."""
    with pytest.raises(RuntimeError, match=r"modified in place(.|\n)*version 1, expected 0"):
        gradient_after(name, lambda index: index.zero_())


@pytest.mark.parametrize("name", NAMES)
def test_write_is_forgiven_inside_of_the_block(name):
    """``allow_mutation_on_saved_tensors`` keeps a copy of the index that a write would have destroyed."""
    with graph.allow_mutation_on_saved_tensors():
        allowed = gradient_after(name, lambda index: index.zero_())
    assert allowed == gradient_after(name)


@pytest.mark.parametrize("name", NAMES)
def test_save_on_cpu_keeps_indices(name):
    """With pinned copies the index is the node's own."""
    with graph.save_on_cpu(pin_memory=True):
        kept = gradient_after(name, lambda index: index.zero_())
    assert kept == gradient_after(name)


def test_nothing_is_packed_without_a_gradient():
    """A call that records nothing keeps no index."""
    assert packed_by(lambda x, i: x.detach()[i], matrix_leaf(), nbgrad.tensor(ROWS)) == []


def test_several_indices_are_packed_in_order():
    """``x[i, j]`` shows both, from left to right."""
    i, j = nbgrad.tensor([0, 1]), nbgrad.tensor([1, 0])
    seen = packed_by(lambda x, i: x[i, j], matrix_leaf(), i)
    assert seen[0] is i and seen[1] is j


def test_operands_are_packed_by_their_names():
    """Of a product the second factor is shown first, as the names self and other sort; a result comes last."""
    x, y = matrix_leaf(), matrix_leaf()
    seen = packed_by(lambda x, y: x * y, x, y)
    assert seen[0] is y and seen[1] is x
    out = []
    assert packed_by(lambda x, y: out.append(x**y), x, y)[2].tolist() == out[0].tolist()


def test_index_of_another_shape_is_refused():
    """``unpack`` must bring back an index of the shape that was saved."""
    x = matrix_leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t[:1] if not t.is_floating_point() else t):
        y = x.gather(0, index_grid()).sum()
    with pytest.raises(nbgrad.ShapeError, match="expected \\[2, 2\\]"):
        y.backward()


def test_index_beyond_what_was_saved_is_refused():
    """Positions outside of those that were saved might lie outside of the tensor."""
    x = matrix_leaf()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t + 100):
        y = x[nbgrad.tensor(ROWS)].sum()
    with pytest.raises(nbgrad.DimError, match="100 to 102 where 0 to 2"):
        y.backward()


def test_hooks_on_a_kept_index():
    """``_raw_saved_index`` takes hooks once, which protects the index from writes."""
    x, index, seen = matrix_leaf(), index_grid(), []
    y = x.gather(0, index)
    y.grad_fn._raw_saved_index.register_hooks(lambda t: seen.append("pack") or t.clone(), lambda t: seen.append("unpack") or t)
    with pytest.raises(RuntimeError, match="hooks already"):
        y.grad_fn._raw_saved_index.register_hooks(lambda t: t, lambda t: t)
    index.zero_()
    y.sum().backward()
    assert seen == ["pack", "unpack"] and x.grad.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


def test_raw_indices_of_a_subscript_are_a_tuple():
    """``x[i, j]`` shows its indices as a tuple, saved and raw; None stands for a whole dimension."""
    i = nbgrad.tensor([1, 0])
    node = matrix_leaf()[:, i].grad_fn
    assert node._saved_indices[0] is None and node._saved_indices[1] is i
    nothing, raw = node._raw_saved_indices
    assert raw.unpack() is i and raw.data is i and raw.unpack_hook is None
    assert nothing.unpack() is None and nothing.data is None and type(nothing).__mro__[1] is type(raw).__mro__[1]
    with pytest.raises(nbgrad.GradError, match="holds None"):
        nothing.register_hooks(lambda t: t, lambda t: t)


def test_raw_saved_tensors_are_of_one_type():
    """Slots, attributes and what a Function saved show themselves alike; nobody else makes such an object."""
    kind, x = nbgrad._C._autograd.SavedTensor, matrix_leaf()
    raws = [
        x.sin().grad_fn._raw_saved_self,
        x.gather(0, index_grid()).grad_fn._raw_saved_index,
        Square.apply(x).grad_fn._raw_saved_tensors[0],
    ]
    assert all(isinstance(raw, kind) for raw in raws)
    assert raws[0].unpack() is x and raws[2].unpack() is x and raws[2].data is x and raws[2].unpack_hook is None
    with pytest.raises(RuntimeError, match="cannot be made"):
        kind()


# ---- passes ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_a_second_pass_needs_retain_graph(name):
    """What a node keeps is freed by a pass, indices too."""
    make, call = KEEPERS[name]
    y = call(matrix_leaf(), make()).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_freed_indices_cannot_be_read():
    """Introspection of a freed node says that the pass freed it."""
    y = matrix_leaf().gather(0, index_grid())
    node = y.grad_fn
    raw = node._raw_saved_index
    y.sum().backward()
    for read in (lambda: node._saved_index, raw.unpack, lambda: raw.register_hooks(lambda t: t, lambda t: t)):
        with pytest.raises(RuntimeError, match="second time"):
            read()


def test_a_pass_lets_go_of_the_index():
    """The memory of an index is released by the pass, though the graph lives."""
    index = index_grid()
    y = matrix_leaf().gather(0, index)
    reference = weakref.ref(index)
    del index
    assert reference() is not None
    y.sum().backward()
    assert reference() is None


def test_hooks_and_double_backward():
    """A pass that is recorded unpacks indices once, its own pass those that it saved itself."""
    x, index = matrix_leaf(), nbgrad.tensor(ROWS)
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        (g,) = nbgrad.grad((x[index] ** 3).sum(), x, create_graph=True)
        index.zero_()
        (h,) = nbgrad.grad(g.sum(), x)
    assert np.allclose(h.numpy(), [[6.0, 12.0], [0.0, 0.0], [30.0, 36.0]])


def test_checkpoint_recomputes_an_index():
    """An index that a checkpointed function computes is not kept, but computed again."""
    x, calls = matrix_leaf(), []

    def function(x):
        calls.append(1)
        return x[x.argsort(0)[:, 0]].exp()

    nbgrad.checkpoint(function, x, use_reentrant=False).sum().backward()
    assert len(calls) == 2 and np.allclose(x.grad.numpy(), np.exp(x.detach().numpy()))


# ---- memory that changes hands inside of the block -------------------------------------------------------------------
def test_writes_through_data_are_seen_inside_of_the_block():
    """``.data`` shares the memory: what is saved of it is copied before such a write, too."""
    x = nbgrad.tensor([1.0, 2.0], dtype=F64, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        y = (x * x).sum()
        x.data.mul_(10)
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0] and x.tolist() == [10.0, 20.0]


@pytest.mark.parametrize(
    "leave", [lambda c: c.set_(nbgrad.tensor([7.0, 8.0], dtype=F64)), lambda c: c.resize_(4).zero_()], ids=["set_", "resize_"]
)
def test_a_tensor_may_leave_its_memory_inside_of_the_block(leave):
    """What backward needs of a tensor that gets other memory is kept as it was."""
    x, c = nbgrad.ones(2, dtype=F64, requires_grad=True), nbgrad.tensor([3.0, 4.0], dtype=F64)
    with graph.allow_mutation_on_saved_tensors() as copies:
        y = (x * c).sum()
        leave(c)
        assert len(copies.cloned) == 1
        y.backward()
    assert x.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("data", [[1.0, 2.0], [[1.0], [2.0]], 3.0])
def test_memory_of_a_new_tensor_may_grow(data):
    """``tensor`` copies what it is given: its memory is nobody else's, and ``resize_`` may exchange it."""
    x = nbgrad.tensor(data)
    assert x.resize_(20).shape == (20,)


# ---- lines of writes -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write",
    [lambda h: graph.increment_version(h), lambda h: h.t_(), lambda h: h.unsqueeze_(0), lambda h: h.detach().resize_(2)],
    ids=["increment_version", "t_", "unsqueeze_", "resize_"],
)
def test_anomaly_mode_names_the_line_of_every_write(write):
    """Writes that move no element are remembered as others are."""
    x = nbgrad.ones(2, 2, requires_grad=True)
    with nbgrad.set_detect_anomaly(True):
        h = x * 2
        y = h.exp()
        z = (h * h).sum() + y.sum()
        write(h)
        with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="written to at .*test_kept_attributes"):
            z.backward()


# ---- gradients that look at a value through its pieces ---------------------------------------------------------------
PIECES = {
    "relu": nbgrad.relu,
    "leaky_relu": nbgrad.nn.functional.leaky_relu,
    "hardtanh": nbgrad.nn.functional.hardtanh,
    "relu6": nbgrad.nn.functional.relu6,
    "hardsigmoid": nbgrad.nn.functional.hardsigmoid,
    "hardshrink": nbgrad.nn.functional.hardshrink,
    "softshrink": nbgrad.nn.functional.softshrink,
    "threshold": lambda x: nbgrad.nn.functional.threshold(x, 0.1, 7.0),
    "abs": nbgrad.abs,
    "relu_": lambda x: x.clone().relu_(),
}


@pytest.mark.parametrize("name", sorted(PIECES))
def test_second_derivatives_of_pieces_are_zero(name):
    """The recorded gradient of an operation that is linear in pieces requires grad, and its derivative is 0."""
    x = nbgrad.tensor([-2.0, -0.25, 0.25, 2.0], dtype=F64, requires_grad=True)
    (g,) = nbgrad.grad(PIECES[name](x).sum(), x, create_graph=True)
    assert g.requires_grad
    (h,) = nbgrad.grad(g.sum(), x)
    assert h.tolist() == [0.0] * 4


@pytest.mark.parametrize("name", sorted(PIECES))
def test_second_derivatives_of_pieces_by_the_cotangent(name):
    """By its cotangent the recorded gradient has the derivative of the operation."""
    x = nbgrad.tensor([-2.0, -0.25, 0.25, 2.0], dtype=F64, requires_grad=True)
    c = nbgrad.tensor([1.0, 2.0, 3.0, 4.0], dtype=F64, requires_grad=True)
    (plain,) = nbgrad.grad(PIECES[name](x).sum(), x)
    (g,) = nbgrad.grad(PIECES[name](x), x, c, create_graph=True)
    assert np.allclose(g.detach().numpy(), plain.numpy() * c.detach().numpy())
    assert nbgrad.grad(g.sum(), c)[0].tolist() == plain.tolist()


def test_an_infinite_cotangent_stays_out_of_the_flat_piece():
    """Recorded or not, nothing infinite passes where relu is flat."""
    x = nbgrad.tensor([1.0, -1.0], requires_grad=True)
    infinite = nbgrad.full((2,), float("inf"))
    for create_graph in (False, True):
        (g,) = nbgrad.grad(x.relu(), x, infinite, create_graph=create_graph)
        assert g.tolist() == [float("inf"), 0.0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("relu", 1.0), ("leaky_relu", 0.01), ("hardtanh", 1.0), ("hardshrink", 1.0), ("softshrink", 1.0), ("hardsigmoid", 0.0)],
)
def test_nan_takes_a_piece(name, expected):
    """The derivative at NaN is the one of the piece into which the comparisons put it, recorded or not: most let NaN through."""
    x = nbgrad.tensor([float("nan")], dtype=F64, requires_grad=True)
    for create_graph in (False, True):
        assert nbgrad.grad(PIECES[name](x).sum(), x, create_graph=create_graph)[0].item() == expected


def test_hessian_through_relu():
    """Second derivatives of a square of relu: 2 where it is positive."""
    found = nbgrad.func.hessian(lambda x: (x.relu() ** 2).sum())(nbgrad.tensor([1.0, -2.0]))
    assert found.tolist() == [[2.0, 0.0], [0.0, 0.0]]
