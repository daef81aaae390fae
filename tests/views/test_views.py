"""Views: bases, writes through views, regenerated histories, and the views that refuse writes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.base import config
from nbgrad.base.calls import CALLS
from tests.helpers import const, leaf

F64 = nbgrad.float64


def grid(*shape):
    """Float64 0, 1, 2, ... of the given shape, in memory of its own."""
    return nbgrad.tensor(np.arange(np.prod(shape)).reshape(shape).tolist(), dtype=F64)


class ViewOf(nbgrad.Function):
    """A Function whose result is a view of its input."""

    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(2)


class TwoViewsOf(nbgrad.Function):
    """A Function whose results are two views of its input."""

    @staticmethod
    def forward(ctx, x):
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx, g, h):
        return nbgrad.cat([g, h])


# ---- what is a view --------------------------------------------------------------------------------------------------
VIEWS = {
    "view": lambda t: t.view(6),
    "reshape": lambda t: t.reshape(3, 2),
    "t": lambda t: t.t(),
    "transpose": lambda t: t.transpose(0, 1),
    "permute": lambda t: t.permute(1, 0),
    "select": lambda t: t[1],
    "slice": lambda t: t[:, ::2],
    "expand": lambda t: t.unsqueeze(0).expand(4, 2, 3),
    "diagonal": lambda t: t.diagonal(),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "squeeze": lambda t: t.squeeze(),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "as_strided": lambda t: t.as_strided((2, 2), (1, 2)),
    "unfold": lambda t: t.unfold(1, 2, 1),
    "flatten": lambda t: t.flatten(),
    "unflatten": lambda t: t.unflatten(1, (3, 1)),
    "view_as": lambda t: t.view_as(t),
    "none_index": lambda t: t[None, ..., 0],
    "movedim": lambda t: t.movedim(0, 1),
    "ravel": lambda t: t.ravel(),
    "mT": lambda t: t.mT,
    "split": lambda t: t.split(1)[1],
    "unbind": lambda t: t.unbind()[0],
    "tensor_split": lambda t: t.tensor_split(2)[1],
}


@pytest.mark.parametrize("f", VIEWS.values(), ids=VIEWS)
def test_view_shares_memory_and_base(f):
    """Each viewing op gives a tensor on its operand's memory whose base is the operand."""
    t = grid(2, 3)
    v = f(t)
    assert v._is_view() and v._base is t
    t.fill_(7.0)
    assert set(np.ravel(v.tolist())) == {7.0}


@pytest.mark.parametrize("f", VIEWS.values(), ids=VIEWS)
def test_gradient_of_a_view_lands_where_it_came_from(f):
    """The gradient of a weighted sum over a view scatters the weights to the places viewed, as one-hot probes show."""
    x = grid(2, 3).requires_grad_()
    v = f(x)
    weights = grid(*v.shape) + 1  # all different, so that a gradient in the wrong place shows
    (v * weights).sum().backward()
    probe = [(f(e.view(2, 3)) * weights).sum().item() for e in nbgrad.eye(6, dtype=F64)]
    assert x.grad.flatten().tolist() == probe


def test_base_is_the_root():
    """The base of a view of a view is the first tensor."""
    t = grid(2, 3)
    assert t.t()[0].view(2, 1)._base is t


def test_fresh_tensor_is_no_view():
    """A tensor with memory of its own has no base."""
    t = grid(2, 3) + 1
    assert not t._is_view() and t._base is None


def test_detached_tensor_is_no_view():
    """``detach`` shares memory and has no base, for a view as well."""
    t = grid(2, 3)
    for d in (t.detach(), t[0].detach()):
        assert not d._is_view() and d._base is None
    t.zero_()
    assert t[0].detach().tolist() == [0.0, 0.0, 0.0]


def test_contiguous_of_contiguous_is_the_object():
    """``contiguous`` copies only when it has to."""
    t = grid(2, 3)
    assert t.contiguous() is t and t.t().contiguous()._base is None


def test_reshape_copies_where_strides_do_not_allow_a_view():
    """``reshape`` of a transposed tensor is a copy with the same elements."""
    t = grid(2, 3)
    r = t.t().reshape(6)
    assert not r._is_view() and r.tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]


def test_view_refuses_incompatible_strides():
    """``view`` never copies."""
    with pytest.raises(RuntimeError):
        grid(2, 3).t().view(6)


# ---- writes and histories --------------------------------------------------------------------------------------------
def test_write_through_a_view_rewrites_the_base():
    """The base's new history mixes changed and unchanged parts."""
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    base[1:].mul_(10)
    assert base.grad_fn.name().endswith("CopySlices")
    base.sum().backward()
    assert base.tolist() == [1.0, 20.0, 30.0] and x.grad.tolist() == [1.0, 10.0, 10.0]


def test_existing_view_follows_a_write_to_its_base():
    """A view made before the write goes through the base's new history when next asked."""
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    view = base[1:]
    before = view.grad_fn
    base.mul_(10)
    assert view.grad_fn is not before
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 10.0]


def test_write_through_one_view_is_seen_by_another():
    """Overlapping views of one base see each other's writes, values and gradients."""
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    left, right = base[:2], base[1:]
    left.mul_(10)
    right.sum().backward()
    assert right.tolist() == [20.0, 3.0] and x.grad.tolist() == [0.0, 10.0, 1.0]


@pytest.mark.parametrize(
    "ask", [lambda base, a, b: base, lambda base, a, b: a, lambda base, a, b: b], ids=["base", "outer", "inner"]
)
def test_write_through_a_view_of_a_view(ask):
    """A write through the innermost view reaches the base and every view in between."""
    x = grid(2, 3).requires_grad_()
    base = x * 1
    outer = base.t()
    inner = outer[1]
    inner.mul_(10)
    expected = nbgrad.ones((2, 3), dtype=F64)
    expected[:, 1] = 10
    t = ask(base, outer, inner)
    t.sum().backward()
    if t is inner:
        expected[:, 0] = expected[:, 2] = 0
    assert x.grad.tolist() == expected.tolist()


def test_two_writes_through_two_views():
    """Writes through several views compose in the order they happened."""
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    left, right = base[:2], base[1:]
    left.mul_(10)
    right.add_(base[0].detach()).mul_(2)
    base.sum().backward()
    assert base.tolist() == [10.0, 60.0, 26.0] and x.grad.tolist() == [10.0, 20.0, 2.0]


def test_write_brings_history_to_a_plain_base():
    """A plain base requires grad, older views included, once a view was written with a tensor that does."""
    w, base = leaf(5.0), const([1.0, 2.0, 3.0])
    older, target = base[:2], base[1:]
    target.mul_(w)
    assert base.requires_grad and older.requires_grad
    (older * 7).sum().backward()
    assert older.tolist() == [1.0, 10.0] and w.grad.item() == 14.0


def test_write_with_a_tensor_through_a_view():
    """The written tensor gets its part of the gradient, the overwritten past zeros."""
    x, w = leaf([1.0, 2.0, 3.0]), leaf([8.0, 9.0])
    base = x * 2
    base[1:].copy_(w)
    (base * const([10.0, 20.0, 30.0])).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([20.0, 0.0, 0.0], [20.0, 30.0])


def test_write_to_the_base_under_no_grad():
    """A write that is not recorded changes values and not gradients, for the base and its views."""
    x = leaf([1.0, 2.0])
    base = x * 3
    view = base[1:]
    with nbgrad.no_grad():
        base.mul_(100)
    (base.sum() + view.sum()).backward()
    assert base.tolist() == [300.0, 600.0] and x.grad.tolist() == [3.0, 6.0]


def test_gradients_add_over_views():
    """A base collects the gradients of all its views, overlapping ones included."""
    x = leaf([1.0, 2.0, 3.0])
    (x[:2] * 2 + x[1:] * 3 + x[1] * 5).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0 + 3.0 + 10.0, 3.0]


def test_second_derivative_through_a_written_view():
    """Double backward through a write on a view is exact."""
    x = leaf([2.0, 3.0])
    base = x * 1
    base[1:].pow_(3)
    base[:1].exp_()
    (g,) = nbgrad.grad(base.sum(), x, create_graph=True)
    (second,) = nbgrad.grad(g.sum(), x)
    np.testing.assert_allclose(second.numpy(), [np.exp(2.0), 18.0], rtol=1e-14)


def test_overlapping_windows_sum():
    """``as_strided`` over overlapping windows adds up gradients where they overlap."""
    x = leaf([1.0, 2.0, 3.0, 4.0])
    x.as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_write_through_as_strided_of_a_transposed_base():
    """A write by strides reaches the base's history in the base's own storage geometry."""
    x = grid(2, 3).requires_grad_()
    base = (x * 1).t().contiguous().t() * 1
    assert base.stride() == (1, 2)
    base.as_strided((2,), (3,), 1).mul_(10)
    base.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 10.0], [10.0, 1.0, 1.0]]


# ---- complex views ---------------------------------------------------------------------------------------------------
def test_real_part_is_a_view():
    """A write into ``.real`` changes the complex base and its gradient."""
    z = nbgrad.tensor([1 + 2j], dtype=nbgrad.complex128, requires_grad=True)
    base = z * 1
    base.real.mul_(10)
    base.real.sum().backward()
    assert base.tolist() == [10 + 2j] and z.grad.tolist() == [10 + 0j]


def test_conj_is_a_lazy_view():
    """``conj`` marks a bit; a write through it reaches the base conjugated."""
    z = nbgrad.tensor([1 + 2j], dtype=nbgrad.complex128)
    c = z.conj()
    assert c.is_conj() and c._base is z
    c.add_(1j)
    assert z.tolist() == [1 + 1j]


def test_imag_of_conj_is_a_lazy_negative():
    """``.imag`` of a conjugate marks the negative bit; a write through it reaches the base negated."""
    z = nbgrad.tensor([1 + 2j], dtype=nbgrad.complex128)
    v = z.conj().imag
    assert v.is_neg() and v.tolist() == [-2.0]
    v.fill_(5.0)
    assert z.tolist() == [1 - 5j]


# ---- views that refuse -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "pick",
    [lambda h: h.unbind()[0], lambda h: next(iter(h)), lambda h: h.split(1)[0], lambda h: h.chunk(2)[0]],
    ids=["unbind", "iteration", "split", "chunk"],
)
def test_one_of_several_views_refuses_writes(pick):
    """A view that its node returned among others cannot be written to."""
    view = pick(leaf([[1.0, 2.0], [3.0, 4.0]]) * 1)
    with pytest.raises(RuntimeError):
        view.mul_(2)


@pytest.mark.parametrize(
    "pick",
    [lambda h: h.tensor_split(2)[0], lambda h: h.unsafe_split(1)[0], lambda h: h.unsafe_chunk(2)[0], lambda h: h[0]],
    ids=["tensor_split", "unsafe_split", "unsafe_chunk", "select"],
)
def test_slices_and_unsafe_splits_take_writes(pick):
    """Plain slices, and outputs of the unsafe splits, can be written to."""
    h = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    view = pick(h)
    view.mul_(2)
    assert view.flatten().tolist() == [2.0, 4.0]


def test_splits_of_a_plain_tensor_take_writes():
    """Where no gradient flows any view can be written to."""
    t = const([1.0, 2.0])
    t.split(1)[0].mul_(2)
    assert t.tolist() == [2.0, 2.0]


def test_write_to_the_base_of_several_views():
    """The base may be written to; asking such a view for its history is then an error."""
    base = leaf([1.0, 2.0]) * 1
    view = base.split(1)[0]
    base.mul_(2)
    with pytest.raises(RuntimeError):
        view.grad_fn


def test_view_made_under_no_grad_refuses_recorded_writes():
    """A view whose making was not recorded can only be written to without recording."""
    base = leaf([1.0, 2.0]) * 1
    with nbgrad.no_grad():
        view = base[:1]
        view.add_(1)
    with pytest.raises(RuntimeError):
        view.mul_(2)


def test_view_made_under_no_grad_of_a_plain_tensor():
    """The same where only the other operand of the write requires grad."""
    with nbgrad.no_grad():
        view = const([1.0, 2.0])[:1]
    with pytest.raises(RuntimeError):
        view.mul_(leaf([3.0]))


def test_view_made_under_no_grad_has_no_history():
    """Such a view reports ``requires_grad`` through its base and leads nowhere."""
    x = leaf([1.0, 2.0])
    base = x * 1
    with nbgrad.no_grad():
        view = base[:1]
    assert view.requires_grad and view.grad_fn is None and view.is_leaf
    (view * 3).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("view", [lambda h: ViewOf.apply(h), lambda h: TwoViewsOf.apply(h)[0]], ids=["one", "two"])
def test_view_made_by_a_function_refuses_writes(view):
    """The history of a view that user code made cannot be rebuilt, so it cannot be written to."""
    v = view(leaf([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError):
        v.mul_(2)


def test_view_made_a_leaf_of_its_own():
    """``requires_grad_()`` on a view of a plain tensor leaves the base plain, and the view refuses writes."""
    base = const([1.0, 2.0])
    view = base[:1].requires_grad_()
    assert view.is_leaf and not base.requires_grad
    with pytest.raises(RuntimeError):
        view.mul_(2)


def test_write_to_the_base_of_such_a_leaf():
    """The plain base can be written to, and a graph that saved the view notices."""
    base = const([1.0, 2.0])
    view = base[:1].requires_grad_()
    y = (view * view).sum()
    base.mul_(3)
    with pytest.raises(RuntimeError):
        y.backward()


@pytest.mark.parametrize("shape", [(2,), (2, 2), (1,), (), (8,)], ids=str)
@pytest.mark.parametrize(
    "make",
    [lambda x: x * 1, lambda x: x.exp(), lambda x: x.clone(), lambda x: x[:], lambda x: (x * 1)[:2].mul_(2)._base],
    ids=["mul", "exp", "clone", "view", "written"],
)
def test_data_of_another_shape_in_a_computed_tensor(shape, make):
    """The gradient of a computed tensor has the shape it was computed with, so it cannot be given another one."""
    x = leaf([1.0, 2.0, 3.0, 4.0])
    y = make(x)
    with pytest.raises(nbgrad.ShapeError, match="data"):
        y.data = nbgrad.ones(shape, dtype=y.dtype)
    assert nbgrad.grad(y.sum(), x)[0].shape == (4,)


@pytest.mark.parametrize(
    "write",
    [
        lambda base, w: base.mul_(w),
        lambda base, w: base[2:].mul_(w[2:]),
        lambda base, w: base.copy_(w),
        lambda base, w: base.__setitem__(1, w[1]),
        lambda base, w: base.view(2, 2)[0].mul_(w[:2]),
        lambda base, w: base.index_add_(0, nbgrad.tensor([1]), w[:1]),
    ],
    ids=["base", "sibling", "copy", "setitem", "rows", "index_add"],
)
def test_recorded_write_to_the_base_of_such_a_leaf(write):
    """What is written has a history that the leaf cannot have, so the write is refused where it shows in the leaf."""
    base, w = const([1.0, 2.0, 3.0, 4.0]), leaf([5.0, 6.0, 7.0, 8.0])
    view = base[1:3].requires_grad_()
    with pytest.raises(nbgrad.InplaceError, match="leaf that requires grad"):
        write(base, w)
    assert view.is_leaf and base.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("of", [0, 1], ids=["base", "leaf"])
def test_recorded_write_to_what_was_detached_from_such_a_leaf(of):
    """As with any leaf: what was detached gets the history, and the leaf the values; its own earlier saved values are refused."""
    base, w = const([1.0, 2.0, 3.0, 4.0]), leaf([5.0])
    view = base[1:3].requires_grad_()
    square = view * view
    cut = (base, view)[of].detach()
    cut.mul_(w)
    assert nbgrad.grad(cut.sum(), w)[0].item() == (10.0, 5.0)[of] and view.is_leaf and view.tolist() == [10.0, 15.0]
    with pytest.raises(nbgrad.VersionError):
        square.sum().backward()


def test_recorded_write_beside_such_a_leaf():
    """Elements that the leaf does not have are written to, and all of them where it requires no grad any more."""
    base, w = const([1.0, 2.0, 3.0, 4.0]), leaf([5.0, 6.0])
    view = base[1:3].requires_grad_()
    base[::3].mul_(w)
    assert nbgrad.grad(base.sum(), w)[0].tolist() == [1.0, 4.0]

    base = const([1.0, 2.0, 3.0, 4.0])
    view = base[1:3].requires_grad_().requires_grad_(False)
    base[1:3].mul_(w)
    assert nbgrad.grad(view.sum(), w)[0].tolist() == [2.0, 3.0]


def test_view_made_before_the_base_required_grad():
    """A view older than ``base.requires_grad_()`` refuses writes and passes no gradient to the base."""
    base = const([1.0, 2.0])
    view = base[:1]
    base.requires_grad_()
    (view * 3).sum().backward()
    assert view.requires_grad and base.grad is None
    with pytest.raises(RuntimeError):
        view.mul_(2)


def test_view_saved_and_then_changed_through_the_base():
    """A saved view is guarded against writes to its base."""
    base = leaf([1.0, 2.0]) * 1
    y = base[:1].sin()
    base[1:].zero_()
    with pytest.raises(RuntimeError):
        y.backward()


def test_view_of_other_dtype_does_not_require_grad():
    """Memory read as integers is not differentiable."""
    v = leaf([1.0]).view(nbgrad.int64)
    assert not v.requires_grad and v.tolist() == [0x3FF0000000000000]


# ---- unrecorded writes -----------------------------------------------------------------------------------------------
def test_view_gets_a_new_node_after_an_unrecorded_write_to_its_base():
    """The base keeps its history; the view's is made again, since the version moved, and means the same."""
    x = leaf([1.0, 2.0])
    base = x * 3
    view = base[:1]
    of_view, of_base = view.grad_fn, base.grad_fn
    with nbgrad.no_grad():
        base.mul_(100)
    assert base.grad_fn is of_base and view.grad_fn is not of_view
    view.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0]


def test_write_through_a_detached_alias_is_not_recorded():
    """Values change, the base's history does not, and gradients ignore the write."""
    x = leaf([1.0, 2.0])
    base = x * 3
    node = base.grad_fn
    base.detach().mul_(10)
    base[:1].detach().mul_(10)
    base.sum().backward()
    assert base.grad_fn is node and base.tolist() == [300.0, 60.0] and x.grad.tolist() == [3.0, 3.0]


def test_gradient_of_a_view_older_than_its_bases_requires_grad_goes_nowhere():
    """Such a view is a leaf without history: neither it nor the base receives what is computed from it."""
    base = const([1.0, 2.0])
    view = base[:1]
    base.requires_grad_()
    (view * 3).sum().backward()
    assert view.grad_fn is None and view.grad is None and base.grad is None


@pytest.mark.parametrize("stride", [2, 3])
def test_write_through_a_view_of_a_strided_base(stride):
    """A base that leaves gaps in memory, as a detached slice does: the gradient of a write through its view is right, and backward
    stays within its memory (a thousand passes would meet what lies behind it)."""
    x = nbgrad.tensor([2.0, 3.0], dtype=nbgrad.float64, requires_grad=True)
    for _ in range(1000):
        base = nbgrad.ones(4 * stride, dtype=nbgrad.float64)[::stride].detach()
        base[1:3].mul_(x)
        (g,) = nbgrad.grad((base * nbgrad.arange(4.0)).sum(), x)
        assert g.tolist() == [1.0, 2.0]


def test_copy_into_a_layout_with_gaps():
    """A copy with the strides of a slice has memory as far as they reach."""
    layout = nbgrad.ones(3, 4)[:, ::3].layout
    copy = CALLS["clone_like"](nbgrad.arange(6.0).view(3, 2), layout)
    assert copy.stride() == layout.strides and copy.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert copy._storage_.array.size >= 1 + 2 * 4 + 3


def test_write_through_a_view_of_an_expanded_base():
    """One write that shows in several elements of the base is refused where it would be recorded, and done under ``no_grad``."""
    x = nbgrad.tensor(2.0, requires_grad=True)
    base = nbgrad.ones(3).expand(2, 3).detach()
    with pytest.raises(nbgrad.InplaceError, match="share memory locations"):
        base.diagonal().add_(x)
    with nbgrad.no_grad():
        base.diagonal().add_(x)
    assert base.tolist() == [[3.0, 3.0, 1.0]] * 2


# ---- as_strided beyond its operand -----------------------------------------------------------------------------------
# ``as_strided`` goes wherever the storage goes. (operand in memory 0, 1, ..., size, stride, offset in the storage)
BEYOND = {
    "behind": (lambda m: m[:4], (4,), (3,), 0),
    "before": (lambda m: m[3:6], (2, 2), (1, 2), 0),
    "both": (lambda m: m[3:5], (3,), (4,), 1),
    "not at all": (lambda m: m[:2], (2,), (1,), 6),
    "into gaps": (lambda m: m[:9:3], (5,), (1,), 0),
    "overlapping": (lambda m: m[2:5], (3, 3), (1, 1), 1),
    "of an expanded one": (lambda m: m[1:4, None].expand(3, 2), (3,), (2,), 0),
    "empty": (lambda m: m[:2], (0,), (1,), 5),
}


def strided_matrix(part, size, stride, offset):
    """``as_strided`` of a part of 12 elements as a matrix over the part's elements; those that share memory share alike."""
    own = part(nbgrad.arange(12.0, dtype=F64)).flatten().numpy()
    reached = np.array([offset + sum(k * s for k, s in zip(index, stride)) for index in np.ndindex(*size)], float).reshape(-1)
    hit = (reached[:, None] == own[None, :]).astype(float)
    return hit / np.maximum(hit.sum(1, keepdims=True), 1)


@pytest.mark.parametrize("case", BEYOND.values(), ids=BEYOND)
def test_as_strided_beyond_the_operand_has_its_own_elements_derivative(case):
    """First and second derivatives are those of a matrix that has zeros for what is not the operand's."""
    part, size, stride, offset = case
    matrix = strided_matrix(*case)
    x = part(nbgrad.arange(12.0, dtype=F64)).detach().requires_grad_()
    c = grid(*size).reshape(size).add_(1).requires_grad_()
    (first,) = nbgrad.grad(x.as_strided(size, stride, offset), x, c, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy().ravel(), matrix.T @ c.detach().numpy().ravel(), rtol=1e-15)
    v = grid(*x.shape).add_(2)
    (second,) = nbgrad.grad(first, c, v)
    np.testing.assert_allclose(second.numpy().ravel(), matrix @ v.numpy().ravel(), rtol=1e-15)


@pytest.mark.parametrize("case", [BEYOND["behind"], BEYOND["before"], BEYOND["into gaps"]], ids=["behind", "before", "into gaps"])
@pytest.mark.parametrize(
    "write", [lambda y, g: y.copy_(g), lambda y, g: y.mul_(g), lambda y, g: y.__setitem__(..., g)], ids=["copy_", "mul_", "setitem"]
)
def test_recorded_write_beyond_the_base_is_refused(case, write):
    """No history leads to elements that the base does not have: an error before anything is written; under ``no_grad`` a write."""
    part, size, stride, offset = case
    memory = nbgrad.arange(12.0, dtype=F64)
    view, factor = part(memory).detach().as_strided(size, stride, offset), leaf(np.ones(size).tolist())
    with pytest.raises(nbgrad.InplaceError, match="outside of"):
        write(view, factor)
    assert memory.tolist() == list(range(12))
    with nbgrad.no_grad():
        write(view, factor)


def test_recorded_write_of_as_strided_inside_of_the_base():
    """A base with gaps takes writes to its own elements, with their gradients."""
    w, x = leaf([1.0, 2.0]), nbgrad.arange(12.0, dtype=F64)[::3].detach()
    x.as_strided((2,), (6,), 0).mul_(w)
    assert x.tolist() == [0.0, 3.0, 12.0, 9.0]
    assert nbgrad.grad(x.sum(), w)[0].tolist() == [0.0, 6.0]


@pytest.mark.parametrize("offset", [0, 3, 6])
def test_as_strided_of_a_batch_stays_in_its_element(offset):
    """Under ``vmap``, hence ``jacfwd``, memory of other elements, or of none, is refused."""
    x = nbgrad.arange(40.0, dtype=F64)[3:6]
    with pytest.raises(nbgrad.NbgradError, match="as_strided"):
        nbgrad.func.jacfwd(lambda x: x.as_strided((2, 2), (1, 2), offset))(x)
    with pytest.raises(nbgrad.NbgradError, match="as_strided: vmap"):
        nbgrad.func.vmap(lambda row: row.as_strided((2,), (3,), 2))(nbgrad.arange(8.0).view(2, 4))


def test_as_strided_of_a_transposed_operand_in_jacfwd():
    """Tangents of a batch lie in another order than the operand: an error, not the elements of the wrong places."""
    x = nbgrad.arange(6.0, dtype=F64).view(2, 3).t()
    with pytest.raises(nbgrad.NbgradError, match="as_strided"):
        nbgrad.func.jacfwd(lambda x: x.as_strided((2,), (1,), 0))(x)
    jacobian = nbgrad.func.jacfwd(lambda x: x.as_strided((2,), (2,), 1))(x.contiguous())
    assert jacobian.sum(0).flatten().tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]


# ---- a base that was cut off -----------------------------------------------------------------------------------------
CUTS = {"detach_": lambda base: base.detach_(), "requires_grad_": lambda base: base.requires_grad_(False)}
AGAIN = {
    "view": lambda v: v.view(2),
    "unsqueeze": lambda v: v.unsqueeze(0),
    "index": lambda v: v[0],
    "split": lambda v: v.split(1)[0],
    "alias": lambda v: v.view_as(v),
    "reshape": lambda v: v.reshape(2, 1),
    "product": lambda v: v * 1,
}


@pytest.mark.parametrize("f", AGAIN.values(), ids=AGAIN)
@pytest.mark.parametrize("cut", CUTS)
def test_views_keep_their_history_when_their_base_loses_it(cut, f):
    """What is made of a view after its base was cut off still leads to where the view came from."""
    x = leaf([1.0, 2.0])
    base = x * 2 if cut == "detach_" else x
    view = base.reshape(-1)
    CUTS[cut](base)
    again = f(view)
    assert view.requires_grad and again.requires_grad and not base.requires_grad
    (g,) = nbgrad.grad(again.sum(), x if cut == "detach_" else view)
    expected = 2.0 if cut == "detach_" else 1.0
    assert set(g.tolist()) <= {0.0, expected} and expected in g.tolist()


@pytest.mark.parametrize(
    "split",
    [lambda y: y.unsafe_split(1), lambda y: y.unsafe_chunk(3), lambda y: y.unsafe_split_with_sizes((1, 1, 1))],
    ids=["unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes"],
)
def test_a_write_to_a_part_of_an_unsafe_split_leaves_the_others_valid(split):
    """Each part counts its own writes, on the memory of the whole."""
    x = leaf([1.0, 1.0, 1.0])
    y = x + x
    a, b, c = split(y)
    a.mul_(b)
    assert (a._version, b._version, c._version) == (1, 0, 0) and y.tolist() == [4.0, 2.0, 2.0]
    assert nbgrad.grad(a.sum(), x)[0].tolist() == [4.0, 4.0, 0.0]


def test_a_view_older_than_a_recorded_write_that_was_cut_off_is_refused():
    """Its base was written to, and ``detach_`` forgot how: an error; a write that is not recorded leaves the view its history."""
    x = leaf([1.0, 2.0])
    base = x * 2
    view = base.view(2)
    base.mul_(x)
    base.detach_()
    with pytest.raises(nbgrad.InplaceError, match="detach_"):
        view * 1
    base = x * 2
    view, asked = base.view(2), base.view(2)
    with nbgrad.no_grad():
        base.mul_(3)
    base.detach_()
    base.add_(1)
    assert nbgrad.grad((view * 1).sum(), x)[0].tolist() == [2.0, 2.0]
    base = x * 2
    asked = base.view(2)
    base.mul_(x)
    assert asked.grad_fn is not None
    base.detach_()
    assert nbgrad.grad(asked.sum(), x)[0].tolist() == [4.0, 8.0]


@pytest.mark.parametrize(
    "part",
    [
        lambda base, view: setattr(base, "data", grid(5)),
        lambda base, view: setattr(view, "data", grid(2)),
        lambda base, view: base.set_(grid(5)),
        lambda base, view: base.resize_(2),
    ],
    ids=["base.data", "view.data", "base.set_", "base.resize_"],
)
def test_a_recorded_write_to_a_view_that_has_left_its_base_is_refused(part):
    """The base's history would tell of a write that its memory has not seen: an error, and nothing is written."""
    base = grid(4)
    view = base[2:]
    part(base, view)
    before = view.tolist(), base.tolist()
    with pytest.raises(nbgrad.InplaceError, match="memory"):
        view.mul_(leaf([2.0, 2.0]))
    assert (view.tolist(), base.tolist()) == before
    view.mul_(2)


def test_a_view_is_where_it_was_though_its_base_moved_to_the_same_strides():
    """Equal strides do not say that the base is as it was: its shape may be another."""
    x = leaf([1.0, 2.0, 3.0])
    base = (x * 1).unsqueeze_(1)
    view = base.transpose(1, 0)
    base.transpose_(0, 1)
    assert view.tolist() == [[1.0, 2.0, 3.0]] and base.stride() == (1, 1)
    assert nbgrad.grad((view * const([[1.0, 10.0, 100.0]])).sum(), x)[0].tolist() == [1.0, 10.0, 100.0]


@pytest.mark.parametrize("take", [lambda base: base[:], lambda base: base[1:]], ids=["all", "inside"])
def test_a_base_that_leaves_elements_of_its_views_behind(take):
    """``as_strided_`` of the base to a part: views inside of it have their gradient, others are refused where they are used."""
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    view = take(base)
    base.as_strided_((2,), (1,), 1)
    if view.numel() == 2:
        assert nbgrad.grad((view * const([10.0, 100.0])).sum(), x)[0].tolist() == [0.0, 10.0, 100.0]
    else:
        with pytest.raises(nbgrad.InplaceError, match="no longer has"):
            view * 1


def test_rows_of_many_lengths():
    """Layouts of rows that are copied from others of their dtype are what the first ones of it are, and so are views of them."""
    x = nbgrad.arange(40.0)
    for n in range(40):
        row = x[:n]
        assert (row.tolist(), row.numel(), row.shape, row.stride()) == ([*map(float, range(n))], n, (n,), (1,))
        assert row.is_contiguous() and row.layout.dense and not row.layout.expanded and row.layout is nbgrad.empty(n).layout
        assert (row[n // 2 :] * 2).sum().item() == sum(range(n // 2, n)) * 2


WAYS_TO_SEE_COTANGENTS = {
    "nobody": lambda y, seen: None,
    "a hook that keeps it": lambda y, seen: y.register_hook(seen.append),
    "a hook that keeps a part of it": lambda y, seen: y.register_hook(lambda g: seen.append(g[:])),
    "a hook that keeps its memory": lambda y, seen: y.register_hook(lambda g: seen.append(g.numpy())),
    "retain_grad": lambda y, seen: (y.retain_grad(), seen.append(y)),
}


@pytest.mark.parametrize("later", [True, False], ids=["behind an operation", "at once"])
@pytest.mark.parametrize("way", WAYS_TO_SEE_COTANGENTS)
def test_cotangents_that_somebody_sees_are_not_written_over(way, later):
    """A pass through writes to views uses the memory of cotangents again: not of the one that it begins with, nor of one kept."""
    x, w, seen = leaf([1.0, 2.0, 3.0, 4.0]), leaf([5.0, 6.0]), []
    y = x * 1
    y[:2].mul_(w)
    y[1:3].add_(w)
    y[3:].fill_(2.0)
    WAYS_TO_SEE_COTANGENTS[way](y, seen)
    g = const([1.0, 10.0, 100.0, 1000.0])
    (y + 0 if later else y).backward(g)
    assert x.grad.tolist() == [5.0, 60.0, 100.0, 0.0] and w.grad.tolist() == [11.0, 120.0]
    for each in (g, *[kept.grad if kept is y else kept for kept in seen]):
        assert each.tolist() == [1.0, 10.0, 100.0, 1000.0]


def test_a_pass_through_writes_copies_no_cotangent(monkeypatch):
    """The first of several writes has a cotangent of its own to write over; what is recorded is not written over."""
    copies, clone_like = [], CALLS["clone_like"]
    monkeypatch.setitem(CALLS, "clone_like", lambda g, layout: (copies.append(layout), clone_like(g, layout))[1])
    x = leaf([1.0, 2.0, 3.0])
    counts = config.NATIVE and sys.version_info < (3, 14)  # elsewhere it is not found out that nobody sees one
    for recorded, expected in ((False, 0 if counts else 2), (True, 2)):
        del copies[:]
        y = x * 1
        y[:2].mul_(3.0)
        y[1:].mul_(5.0)
        (found,) = nbgrad.grad((y * y).sum(), x, create_graph=recorded)
        assert found.tolist() == [18.0, 900.0, 150.0] and len(copies) == expected
