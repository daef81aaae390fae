"""In-place ops: what is allowed, what the history becomes, and where gradients go."""

from __future__ import annotations

import pytest

import nbgrad
from tests.helpers import const, leaf

F64 = nbgrad.float64


# ---- leaves ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.zero_(),
        lambda x: x.copy_(const([5.0, 6.0])),
        lambda x: x.__setitem__(0, 9.0),
        lambda x: x[:1].mul_(2),
        lambda x: x.view(2, 1).fill_(1),
        lambda x: x.unsqueeze_(0),
    ],
    ids=["add_", "zero_", "copy_", "setitem", "slice", "view", "unsqueeze_"],
)
def test_leaf_that_requires_grad_cannot_be_written(write):
    """A recorded write to such a leaf, or to a view of it, is refused and leaves the data alone."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError):
        write(x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0


@pytest.mark.parametrize("alias, version", [(lambda x: x.data, 0), (lambda x: x.detach(), 1)], ids=["data", "detach"])
def test_leaf_can_be_written_through_an_alias_without_history(alias, version):
    """``.data`` and ``detach()`` allow a write to a leaf, and only the latter is counted."""
    x = leaf([1.0, 2.0])
    alias(x).add_(1)
    assert x.tolist() == [2.0, 3.0] and x._version == version and x.is_leaf


def test_plain_tensor_written_with_a_tensor_that_requires_grad():
    """A plain tensor becomes part of the graph by such a write."""
    w, c = leaf([2.0, 3.0]), const([5.0, 7.0])
    c.mul_(w)
    assert c.requires_grad and not c.is_leaf
    c.sum().backward()
    assert w.grad.tolist() == [5.0, 7.0]


# ---- identity and history --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write",
    [lambda h: h.add_(1), lambda h: h.mul_(2), lambda h: h.zero_(), lambda h: h.unsqueeze_(0), lambda h: h.exp_()],
    ids=["add_", "mul_", "zero_", "unsqueeze_", "exp_"],
)
def test_inplace_returns_the_object(write):
    """An in-place op returns the very object it changed."""
    h = leaf([1.0, 2.0]) * 1
    assert write(h) is h


def test_augmented_assignment_keeps_the_object():
    """``h += 1`` changes the object rather than rebinding the name."""
    h = alias = leaf([1.0, 2.0]) * 1
    h += 1
    h *= 2
    assert h is alias and h.tolist() == [4.0, 6.0]


def test_inplace_replaces_grad_fn():
    """After the write the tensor stands for the new value, and earlier results for the old."""
    x = leaf([1.0, 2.0])
    h = x * 1
    before = h.grad_fn
    early = h + 0
    h.mul_(10)
    assert h.grad_fn is not before and early.grad_fn.next_functions[0][0] is before


def test_old_and_new_value_have_their_own_gradients():
    """What was computed before the write keeps the old history, what comes after has the new."""
    x = leaf([1.0, 2.0])
    h = x * 3
    early = h + 0
    h.mul_(10)
    (early_slope,) = nbgrad.grad(early.sum(), x, retain_graph=True)
    (late_slope,) = nbgrad.grad(h.sum(), x)
    assert (early_slope.tolist(), late_slope.tolist()) == ([3.0, 3.0], [30.0, 30.0])


def test_chain_of_inplace_ops():
    """A sequence of in-place ops is differentiated like the same sequence out of place."""
    x = leaf([1.0, 2.0])
    h = x * 1
    h.add_(1).mul_(3).sub_(2).div_(2).neg_()
    h.sum().backward()
    assert h.tolist() == [-2.0, -3.5] and x.grad.tolist() == [-1.5, -1.5]


def test_second_derivative_of_inplace_ops():
    """In-place writes do not stand in the way of double backward."""
    x = leaf([1.0, 2.0])
    h = x * 1
    h.pow_(3).mul_(2)
    (g,) = nbgrad.grad(h.sum(), x, create_graph=True)
    (second,) = nbgrad.grad(g.sum(), x)
    assert second.tolist() == [12.0, 24.0]


# ---- where gradients go ----------------------------------------------------------------------------------------------
def test_copy_cuts_the_past():
    """``a.copy_(b)`` passes the gradient to b and zeros to what a was before."""
    x, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a = x * 1
    a.copy_(b)
    (a * 5).sum().backward()
    assert (x.grad.tolist(), b.grad.tolist()) == ([0.0, 0.0], [5.0, 5.0])


def test_copy_of_a_broadcast_source():
    """The gradient of a source that was broadcast is summed down."""
    b = leaf([3.0])
    a = const([1.0, 2.0])
    a.copy_(b)
    a.sum().backward()
    assert a.tolist() == [3.0, 3.0] and b.grad.tolist() == [2.0]


def test_copy_of_another_dtype():
    """The gradient of a source of another dtype comes back in the source's dtype."""
    b = nbgrad.tensor([3.0, 4.0], dtype=nbgrad.float32, requires_grad=True)
    a = const([1.0, 2.0])
    a.copy_(b)
    a.sum().backward()
    assert a.dtype == F64 and b.grad.dtype == nbgrad.float32


@pytest.mark.parametrize("write", [lambda h: h.zero_(), lambda h: h.fill_(7.0)], ids=["zero_", "fill_"])
def test_filling_cuts_the_gradient(write):
    """Zeros reach what was there before the tensor was overwritten."""
    x = leaf([1.0, 2.0])
    h = x * 3
    write(h)
    (h * 5 + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_index_assignment_of_a_tensor():
    """``a[i] = w`` passes the gradient of that place to w and none to the old contents."""
    x, w = leaf([1.0, 2.0, 3.0]), leaf(9.0)
    a = x * 1
    a[1] = w
    (a * const([10.0, 20.0, 30.0])).sum().backward()
    assert (x.grad.tolist(), w.grad.item()) == ([10.0, 0.0, 30.0], 20.0)


def test_slice_assignment_of_a_broadcast_tensor():
    """A scalar assigned to a slice collects the gradients of the whole slice."""
    x, w = leaf([1.0, 2.0, 3.0]), leaf(9.0)
    a = x * 1
    a[:2] = w
    a.sum().backward()
    assert (x.grad.tolist(), w.grad.item()) == ([0.0, 0.0, 1.0], 2.0)


def test_mask_assignment():
    """``a[mask] = w`` is an in-place write recorded for both sides."""
    x, w = leaf([1.0, 2.0, 3.0]), leaf(9.0)
    a = x * 1
    a[nbgrad.tensor([True, False, True])] = w
    a.sum().backward()
    assert a.tolist() == [9.0, 2.0, 9.0]
    assert (x.grad.tolist(), w.grad.item()) == ([0.0, 1.0, 0.0], 2.0)


def test_integer_array_assignment():
    """``a[index] = w`` passes each element's gradient to the element assigned there."""
    x, w = leaf([1.0, 2.0, 3.0]), leaf([8.0, 9.0])
    a = x * 1
    a[nbgrad.tensor([2, 0])] = w
    (a * const([10.0, 20.0, 30.0])).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([0.0, 20.0, 0.0], [30.0, 10.0])


def test_number_assignment_through_a_view_chain():
    """A number assigned through nested views cuts the gradient of exactly those elements."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a = x * 1
    a.t()[0][1] = 7.0
    a.sum().backward()
    assert a.tolist() == [[1.0, 2.0], [7.0, 4.0]] and x.grad.tolist() == [[1.0, 1.0], [0.0, 1.0]]


def test_masked_fill_inplace():
    """``masked_fill_`` cuts the gradient where the mask is set."""
    x = leaf([1.0, 2.0, 3.0])
    h = x * 2
    h.masked_fill_(nbgrad.tensor([False, True, False]), -1.0)
    h.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_inplace_may_not_change_the_shape():
    """A write whose broadcast result would be larger than the tensor is refused."""
    h = leaf([1.0]) * 1
    with pytest.raises(RuntimeError):
        h.add_(const([1.0, 2.0]))


@pytest.mark.parametrize("value", [0.5, 1j])
def test_inplace_may_not_change_the_category(value):
    """A float or complex number cannot be added in place to integers."""
    with pytest.raises(RuntimeError):
        nbgrad.tensor([1, 2]).add_(value)


def test_write_to_overlapping_memory():
    """A tensor in which several elements share a place cannot be written to."""
    with pytest.raises(RuntimeError):
        const([1.0]).expand(3).add_(1)


def test_write_between_partly_overlapping_views():
    """A write whose operand overlaps its target without being it is refused rather than done in some order."""
    t = const([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(RuntimeError):
        t[1:].add_(t[:-1])
    assert t.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.copy_(y),
        lambda x, y: x.mul_(y),
        lambda x, y: x.addcmul_(y, y),
        lambda x, y: x.lerp_(y, 0.5),
        lambda x, y: nbgrad.mul(y.detach(), y[:, :0].detach(), out=x.detach()),
    ],
    ids=["copy_", "mul_", "addcmul_", "lerp_", "out"],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_no_elements_overlap_nothing(write, requires_grad):
    """A view without elements in the midst of its operand's memory is written like any other: nothing happens."""
    base = nbgrad.tensor([1.0, 2.0, 3.0], dtype=F64, requires_grad=requires_grad) * 1
    write(base[:, None][:, 1:], base[:, None])
    assert base.tolist() == [1.0, 2.0, 3.0]


def test_write_with_the_tensor_itself():
    """A tensor may be its own operand: the ranges agree exactly."""
    t = const([1.0, 2.0])
    t.add_(t).mul_(t)
    assert t.tolist() == [4.0, 16.0]


# ---- metadata ops ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write, shape",
    [
        (lambda h: h.t_(), (3, 2)),
        (lambda h: h.transpose_(0, 1), (3, 2)),
        (lambda h: h.unsqueeze_(0), (1, 2, 3)),
        (lambda h: h.unsqueeze_(1).squeeze_(1), (2, 3)),
    ],
    ids=["t_", "transpose_", "unsqueeze_", "squeeze_"],
)
def test_metadata_ops_are_recorded(write, shape):
    """In-place changes of shape are recorded and undone by backward."""
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    h = x * 1
    before = h.grad_fn
    write(h)
    assert tuple(h.shape) == shape and h.grad_fn is not before
    weights = nbgrad.arange(6, dtype=F64)
    (h.reshape(-1) * weights).sum().backward()
    expected = weights.view(3, 2).t() if shape == (3, 2) else weights.view(2, 3)
    assert x.grad.tolist() == expected.tolist()


def test_complex_sgn_in_place_has_its_gradient():
    """What stands for ``sgn`` of complex numbers saves its operand: of an in-place call a copy."""
    z = nbgrad.tensor([3 + 4j, 1j, 0j], dtype=nbgrad.complex128, requires_grad=True)
    weights = nbgrad.tensor([1.0, 2j, 1.0], dtype=nbgrad.complex128)
    (expected,) = nbgrad.grad((z.sgn() * weights).real.sum(), z)
    (got,) = nbgrad.grad(((z * 1).sgn_() * weights).real.sum(), z)
    assert got.tolist() == expected.tolist()
    with pytest.raises(nbgrad.InplaceError, match="sgn_: a leaf"):
        z.sgn_()


@pytest.mark.parametrize(
    "name, args",
    [
        ("t_", ()),
        ("transpose_", (0, 1)),
        ("swapaxes_", (0, 1)),
        ("swapdims_", (0, 1)),
        ("unsqueeze_", (0,)),
        ("squeeze_", ()),
        ("as_strided_", ((2, 3), (0, 1))),
    ],
)
def test_in_place_views_of_expanded_tensors(name, args):
    """No element moves, so it does not matter that positions share one: values, strides, version and gradient are the view's."""
    w = leaf([[1.0], [2.0], [3.0]])
    x = (w * 1).expand(3, 2)
    expected = getattr(x, name[:-1])(*args)
    moved = getattr((w * 1).expand(3, 2), name)(*args)
    assert (moved.tolist(), moved.stride(), moved._version) == (expected.tolist(), expected.stride(), 1)
    weights = nbgrad.arange(6.0, dtype=F64).reshape(expected.shape)
    assert nbgrad.grad((moved * weights).sum(), w)[0].tolist() == nbgrad.grad((expected * weights).sum(), w)[0].tolist()


def test_a_tensor_may_be_written_to_its_own_places():
    """Dimensions of size 1, more or fewer, move no element: the operand is where it is written to."""
    x, y, z = nbgrad.tensor(3.0), nbgrad.arange(3.0), nbgrad.arange(3.0).view(3, 1)
    x[None] = x
    x.reshape(-1)[...] = x
    y[None] = y
    z.t().add_(z.view(1, 3))
    nbgrad.add(z.t(), 1, out=z.view(1, 3))
    assert x.item() == 3.0 and y.tolist() == [0.0, 1.0, 2.0] and z.tolist() == [[1.0], [3.0], [5.0]]
    square = nbgrad.arange(4.0).view(2, 2)
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        square[:] = square.t()


@pytest.mark.parametrize(
    "name, args",
    [
        ("cumsum", (0,)),
        ("cumprod", (0,)),
        ("tril", ()),
        ("triu", ()),
        ("nan_to_num", ()),
        ("float_power", (2,)),
        ("addmm", None),
        ("renorm", (2, 0, 1.0)),
    ],
)
@pytest.mark.parametrize("of_view", [False, True])
def test_written_results_have_the_gradients_of_the_call(name, args, of_view):
    """The node of the call where the tensor is no view, and the same gradients in any case."""
    x = nbgrad.tensor([[0.1, 0.2], [0.3, 0.4]], dtype=nbgrad.float64, requires_grad=True)
    args = (x.detach(), x.detach()) if args is None else args
    expected = getattr(x * 1, name)(*args)
    base = x * 1
    y = base.t().t() if of_view else base
    before = y * 2
    y = getattr(y, name + "_")(*args)
    assert of_view or type(y.grad_fn).__name__ == type(expected.grad_fn).__name__
    assert y._version == 1 and y.tolist() == expected.tolist()
    (slope,) = nbgrad.grad((expected * expected).sum(), x)
    for result in (y, base):
        assert nbgrad.grad((result * result).sum(), x, retain_graph=True)[0].allclose(slope)
    assert nbgrad.grad(before.sum(), x)[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_hooks_and_retained_gradients_of_written_results():
    """A hook from before sees the gradient of the value before; a retained gradient is that of the value after."""
    x, seen = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    y.cumsum_(0).sum().backward()
    assert seen == [[3.0, 2.0, 1.0]] and y.grad.tolist() == [1.0, 1.0, 1.0] and x.grad.tolist() == [6.0, 4.0, 2.0]


WRITES = {
    "add_": lambda v, y: v.add_(y),
    "mul_ by a number": lambda v, y: v.mul_(2.0),
    "copy_": lambda v, y: v.copy_(y),
    "zero_": lambda v, y: v.zero_(),
    "masked_fill_": lambda v, y: v.masked_fill_(y > 0, -1.0),
    "masked_fill_ by a tensor": lambda v, y: v.masked_fill_(y > 0, const(-1.0)),
    "addcmul_": lambda v, y: v.addcmul_(y, y),
    "of a view": lambda v, y: v.add_(y.expand(2, 2)[0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_quick_writes_through_views_see_what_is_recorded(name):
    """A write that went unrecorded leaves nothing behind by which the next one, of the same kind, would miss a gradient."""
    write, y = WRITES[name], const([1.0, -1.0])

    def written(base, y):
        view = base[1:3]
        write(view, y)
        return view

    plain = [written(base := const([1.0, 2.0, 3.0, 4.0]), y).tolist() for _ in range(3)]
    assert plain[0] == plain[1] == plain[2] == base.tolist()[1:3] and base._version == 1
    x, z = leaf([1.0, 2.0, 3.0, 4.0]), leaf([1.0, -1.0])
    copied, constants = const([1.0, 2.0, 3.0, 4.0]), []
    for given, other in ((x, y), (None, z), (x, z)):
        base = copied.clone() if given is None else x.clone()
        view = written(base, other)
        assert view.tolist() == plain[0]
        expected = given is not None or name in ("add_", "copy_", "addcmul_", "of a view")
        assert base.requires_grad is view.requires_grad is expected
        constants.append(nbgrad.grad(base.sum(), x)[0].tolist() if given is not None else None)
    assert constants[0] == constants[2] and constants[0][0] == constants[0][3] == 1
    late = const([1.0, 2.0, 3.0, 4.0])
    early = late[1:3]
    write(early, y)
    late.mul_(x)  # the base gets a history after the view was made
    write(early, y)
    assert early.requires_grad and late.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        write(x[1:3], y)
    with nbgrad.no_grad():
        write(x[1:3], y)
    assert x._version == 1
