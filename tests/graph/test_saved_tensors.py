"""Version counters, and which in-place changes the tensors saved by each op allow."""

from __future__ import annotations

import contextlib
import threading
import weakref

import numpy as np
import pytest

import nbgrad
from tests.helpers import const, leaf, same

F64 = nbgrad.float64


# ---- the counter -----------------------------------------------------------------------------------------------------
def test_version_starts_at_zero():
    """A new tensor is at version 0."""
    assert const([1.0, 2.0])._version == 0


def set_item(t):
    """Write one element."""
    t[0] = 1.0


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.add_(1),
        lambda t: t.mul_(2),
        lambda t: t.copy_(const([5.0, 6.0])),
        lambda t: t.fill_(3),
        lambda t: t.zero_(),
        set_item,
        lambda t: nbgrad.add(t, 1, out=t),
        lambda t: t.sin_(),
        lambda t: t.clamp_(0, 1),
    ],
    ids=["add_", "mul_", "copy_", "fill_", "zero_", "setitem", "out", "sin_", "clamp_"],
)
def test_writes_bump_the_version(write):
    """Every in-place op, indexed assignment and ``out=`` raises the version."""
    t = const([1.0, 2.0])
    write(t)
    assert t._version >= 1


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t + 1,
        lambda t: t[0],
        lambda t: t.view(2, 1),
        lambda t: t.sum(),
        lambda t: t.tolist(),
        lambda t: t.clone().zero_(),
        lambda t: t.numpy(),
        lambda t: repr(t),
    ],
    ids=["add", "index", "view", "sum", "tolist", "clone", "numpy", "repr"],
)
def test_reads_do_not_bump_the_version(read):
    """Neither reading nor an out-of-place op changes the version."""
    t = const([1.0, 2.0])
    read(t)
    assert t._version == 0


@pytest.mark.parametrize(
    "alias",
    [lambda t: t[0], lambda t: t.view(2, 1), lambda t: t.detach(), lambda t: t[1:].detach()],
    ids=["select", "view", "detach", "detached_slice"],
)
def test_aliases_share_one_counter(alias):
    """A base, its views and their detached forms count together, in both directions."""
    t = const([1.0, 2.0])
    other = alias(t)
    other.add_(1)
    t.add_(1)
    assert t._version == other._version == 2


def test_data_does_not_share_the_counter():
    """A change through ``.data`` shares memory and goes unnoticed."""
    t = const([1.0, 2.0])
    t.data.add_(1)
    assert t.tolist() == [2.0, 3.0] and t._version == 0


def test_version_cannot_be_assigned():
    """The counter is read-only."""
    t = const(1.0)
    with pytest.raises(AttributeError):
        t._version = 3


# ---- the check -------------------------------------------------------------------------------------------------------
def test_change_is_reported_by_backward():
    """Changing a saved tensor is no error in itself; the pass that needs it raises."""
    h = leaf([1.0, 2.0]) * 1
    y = h.sin().sum()
    h.add_(1)
    with pytest.raises(RuntimeError):
        y.backward()


def test_error_names_the_versions():
    """The message tells at which version the tensor is and which was expected."""
    h = leaf([1.0, 2.0]) * 1
    y = h.sin().sum()
    h.add_(1).add_(1)
    with pytest.raises(RuntimeError, match=r"version 2(.|\n)*expected(.|\n)* 0"):
        y.backward()


@pytest.mark.parametrize(
    "write",
    [lambda h: h.detach().add_(1), lambda h: h[:1].add_(1), lambda h: h.view(2, 1).zero_(), lambda h: h[1].fill_(7)],
    ids=["detach", "slice", "view", "select"],
)
def test_change_through_an_alias_counts(write):
    """A write through a view or a detached alias is a write to the saved tensor."""
    h = leaf([1.0, 2.0]) * 1
    y = h.sin().sum()
    write(h)
    with pytest.raises(RuntimeError):
        y.backward()


def test_change_through_data_is_unnoticed():
    """A write through ``.data`` is the user's own risk: backward runs on the changed value."""
    h = leaf([0.0, 0.0]) * 1
    y = (h * h).sum()
    h.data.add_(3)
    (g,) = nbgrad.grad(y, h)
    assert g.tolist() == [6.0, 6.0]


def test_disjoint_view_counts():
    """The counter is per storage: a write beside the saved view invalidates it too."""
    h = leaf([1.0, 2.0]) * 1
    y = h[0].sin()
    h[1].add_(1)
    with pytest.raises(RuntimeError):
        y.backward()


def test_changes_before_saving_do_not_count():
    """Only changes after the save matter."""
    x = leaf([1.0, 2.0])
    h = x * 1
    h.mul_(2)
    (h * h).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_changes_that_cancel_still_count():
    """The check goes by the counter, not by the value."""
    h = leaf([1.0, 2.0]) * 1
    y = h.sin().sum()
    h.add_(1).sub_(1)
    with pytest.raises(RuntimeError):
        y.backward()


def test_write_that_changes_no_value_counts():
    """Adding zero is a write."""
    h = leaf([1.0, 2.0]) * 1
    y = h.sin().sum()
    h.add_(0)
    with pytest.raises(RuntimeError):
        y.backward()


def test_saved_constant_is_checked():
    """A constant factor that was saved is guarded like any other."""
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    y = (x * c).sum()
    c.add_(1)
    with pytest.raises(RuntimeError):
        y.backward()


def test_saved_in_one_thread_walked_in_another():
    """A graph recorded in one thread can be walked in another."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert x.grad.tolist() == [2.0, 4.0]


# ---- what each op saves ----------------------------------------------------------------------------------------------
SAVES_NOTHING = {
    "add": lambda h: h + 1,
    "sub": lambda h: h - 1,
    "neg": lambda h: -h,
    "sum": lambda h: h.sum(),
    "mean": lambda h: h.mean(),
    "clone": lambda h: h.clone(),
    "times_number": lambda h: h * 2.0,
    "over_number": lambda h: h / 2.0,
    "expand": lambda h: h.expand(3, 2).clone(),
    "add_tensor": lambda h: h + h,
    "cat": lambda h: nbgrad.cat([h, h]),
    "stack": lambda h: nbgrad.stack([h, h]),
}
SAVES_OPERAND = {
    "sin": lambda h: h.sin(),
    "cos": lambda h: h.cos(),
    "log": lambda h: h.log(),
    "pow": lambda h: h**3,
    "abs": lambda h: h.abs(),
    "square": lambda h: h * h,
    "over": lambda h: 1.0 / h * h,
    "atan": lambda h: h.atan(),
    "gelu": lambda h: nbgrad.nn.functional.gelu(h),
}
SAVES_RESULT = {
    "exp": lambda h: h.exp(),
    "tanh": lambda h: h.tanh(),
    "sigmoid": lambda h: h.sigmoid(),
    "sqrt": lambda h: h.sqrt(),
    "reciprocal": lambda h: h.reciprocal(),
    "softmax": lambda h: h.softmax(0),
    "log_softmax": lambda h: h.log_softmax(0),
    "relu": lambda h: h.relu(),
}


def pair():
    """A leaf and a recorded copy of it, both positive."""
    x = leaf([0.5, 0.75])
    return x, x * 1


@pytest.mark.parametrize("f", SAVES_NOTHING.values(), ids=SAVES_NOTHING)
def test_ops_that_save_nothing(f):
    """Ops whose derivative needs no values allow the operand to be changed afterwards."""
    x, h = pair()
    y = f(h)
    h.add_(1)
    y.sum().backward()
    assert np.all(np.isfinite(x.grad.numpy()))


@pytest.mark.parametrize("f", SAVES_OPERAND.values(), ids=SAVES_OPERAND)
def test_ops_that_save_their_operand(f):
    """Ops whose derivative reads the operand refuse to run once it has changed."""
    _, h = pair()
    y = f(h)
    h.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


@pytest.mark.parametrize("name", ["sin", "cos", "log", "pow", "abs"])
def test_ops_that_save_their_operand_allow_changing_the_result(name):
    """The result of an op that saved its operand is free to be changed."""
    x, h = pair()
    (slope,) = nbgrad.grad(SAVES_OPERAND[name](h).sum(), h, retain_graph=True)
    y = SAVES_OPERAND[name](h)
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == slope.tolist()


@pytest.mark.parametrize("f", SAVES_RESULT.values(), ids=SAVES_RESULT)
def test_ops_that_save_their_result(f):
    """Ops whose derivative reads the result refuse to run once that has changed."""
    _, h = pair()
    y = f(h)
    y.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


@pytest.mark.parametrize("f", SAVES_RESULT.values(), ids=SAVES_RESULT)
def test_ops_that_save_their_result_allow_changing_the_operand(f):
    """The operand of an op that saved its result is free to be changed."""
    x, h = pair()
    (slope,) = nbgrad.grad(f(h)[0], h, retain_graph=True)
    y = f(h)
    h.add_(1)
    y[0].backward()
    assert x.grad.tolist() == slope.tolist()


def test_change_behind_a_copy_of_a_saved_result():
    """Once another op stands between, writing to its result does not touch what exp saved."""
    x, h = pair()
    y = h.exp() + 1
    y.add_(1)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.5, 0.75]), rtol=1e-14)


@pytest.mark.parametrize("op", [nbgrad.mul, nbgrad.matmul], ids=["mul", "matmul"])
def test_product_with_a_constant_does_not_save_the_variable(op):
    """Beside a constant the factor that requires grad is not needed, and may be changed."""
    x, c = leaf([1.0, 2.0]), const([3.0, 4.0])
    h = x * 1
    y = op(h, c)
    h.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("op", [nbgrad.mul, nbgrad.matmul], ids=["mul", "matmul"])
def test_product_with_a_constant_saves_the_constant(op):
    """The constant factor is the derivative, and may not be changed."""
    h, c = leaf([1.0, 2.0]) * 1, const([3.0, 4.0])
    y = op(h, c)
    c.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_condition_of_where_is_guarded():
    """``where`` saves its condition."""
    h, condition = leaf([1.0, 2.0]) * 1, nbgrad.tensor([True, False])
    y = nbgrad.where(condition, h, h * 2).sum()
    condition.logical_not_()
    with pytest.raises(RuntimeError):
        y.backward()


@pytest.mark.parametrize("op", [lambda h, i: h.index_select(0, i), lambda h, i: h.gather(0, i)], ids=["index_select", "gather"])
def test_index_is_guarded(op):
    """Gathering ops save their index."""
    h, index = leaf([1.0, 2.0]) * 1, nbgrad.tensor([0, 1])
    y = op(h, index).sum()
    index.zero_()
    with pytest.raises(RuntimeError):
        y.backward()


# ---- in-place ops that save ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write, slope",
    [
        (lambda h: h.sin_(), lambda v: np.cos(v)),
        (lambda h: h.pow_(2), lambda v: 2 * v),
        (lambda h: h.exp_(), lambda v: np.exp(v)),
        (lambda h: h.tanh_(), lambda v: 1 - np.tanh(v) ** 2),
        (lambda h: h.log_(), lambda v: 1 / v),
        (lambda h: h.sqrt_(), lambda v: 0.5 / np.sqrt(v)),
        (lambda h: h.relu_(), lambda v: (v > 0) * 1.0),
        (lambda h: h.sigmoid_(), lambda v: np.exp(-v) / (1 + np.exp(-v)) ** 2),
    ],
    ids=["sin_", "pow_", "exp_", "tanh_", "log_", "sqrt_", "relu_", "sigmoid_"],
)
def test_inplace_op_keeps_what_its_derivative_needs(write, slope):
    """An in-place op that overwrites the operand its derivative reads keeps the old value itself."""
    x, h = pair()
    write(h)
    h.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(np.array([0.5, 0.75])), rtol=1e-14)


def test_inplace_op_aliased_with_its_operand():
    """``h.mul_(h)`` overwrites the operand it saved, and backward says so."""
    _, h = pair()
    h.mul_(h)
    with pytest.raises(RuntimeError):
        h.sum().backward()


def test_inplace_op_aliased_with_its_operand_that_saves_nothing():
    """``h.add_(h)`` needs no values and doubles the gradient."""
    x, h = pair()
    h.add_(h)
    h.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_write_to_the_result_of_an_inplace_exp():
    """An in-place op that saves its result is guarded against the next write."""
    _, h = pair()
    h.exp_().add_(1)
    with pytest.raises(RuntimeError):
        h.sum().backward()


# ---- .data, detach_, flags -------------------------------------------------------------------------------------------
def test_assigning_data_swaps_the_contents():
    """``x.data = t`` changes value and shape of the same leaf, and not its version."""
    x = leaf([1.0, 2.0])
    x.data = const([[5.0], [6.0], [7.0]])
    assert x.tolist() == [[5.0], [6.0], [7.0]]
    assert x.is_leaf and x.requires_grad and x._version == 0 and type(x._version) is int


def assign(x, value):
    """``x.data = value``."""
    x.data = value


@pytest.mark.parametrize(
    "stay",
    [
        lambda x: assign(x, x.data),
        lambda x: assign(x, x.detach()),
        lambda x: assign(x, x.data.contiguous()),
        lambda x: assign(x, x.data.double()),
        lambda x: assign(x, x.data.view(1, 2)),
        lambda x: x.set_(x),
        lambda x: x.set_(x.untyped_storage(), 0, (2,)),
    ],
    ids=["data", "detach", "contiguous", "double", "view", "set", "storage"],
)
@pytest.mark.parametrize(
    "alias",
    [lambda x: x, lambda x: x.view(2), lambda x: x.t(), lambda x: x.detach()],
    ids=["itself", "view", "transpose", "detached"],
)
def test_memory_that_is_assigned_to_its_own_tensor_stays_watched(stay, alias):
    """A write after ``x.data = x.data`` (as ``module.to(...)`` does) is one to every view that was saved before."""
    x, w = const([1.0, 2.0]), leaf([3.0, 4.0])
    y = (alias(x) * w).sum()
    stay(x)
    x.add_(1)
    with pytest.raises(nbgrad.VersionError):
        y.backward()


def test_modules_that_are_moved_to_where_they_are_stay_watched():
    """The weight's transpose that a product saved is found changed after ``module.cpu()`` and a step."""
    layer, x = nbgrad.nn.Linear(2, 1, bias=False, dtype=F64), leaf([[3.0, 4.0]])
    y = (x @ layer.weight.t()).sum()
    layer.cpu()
    with nbgrad.no_grad():
        layer.weight.add_(1)
    with pytest.raises(nbgrad.VersionError):
        y.backward()


def test_data_elsewhere_in_the_same_memory_leaves_views_behind():
    """A view shows what it showed after its base was moved along the memory, and a recorded write to it is refused."""
    memory = const([1.0, 2.0, 3.0, 4.0])
    x = memory.data
    x.data = memory.data[:2]
    v = x[:1]
    x.data = memory.data[2:]
    assert v.tolist() == [1.0] and x.tolist() == [3.0, 4.0]
    with pytest.raises(nbgrad.InplaceError, match="other memory"):
        v.mul_(leaf([2.0]))


@pytest.mark.parametrize(
    "value, error", [(lambda: nbgrad.tensor([1, 2]), RuntimeError), (lambda: 1.0, TypeError)], ids=["integers", "number"]
)
def test_assigning_incompatible_data(value, error):
    """A tensor that requires grad does not take integer contents, nor anything but a tensor."""
    x = leaf([1.0, 2.0])
    with pytest.raises(error):
        x.data = value()


def test_detach_inplace_makes_a_leaf():
    """``detach_`` turns a non-leaf into a leaf without history."""
    h = leaf([1.0, 2.0]) * 2
    assert h.detach_() is h and h.is_leaf and not h.requires_grad and h.grad_fn is None


def test_detach_inplace_of_a_view():
    """A view's history is its base's, and cannot be cut off in place."""
    with pytest.raises(RuntimeError):
        (leaf([1.0, 2.0]) * 2)[0].detach_()


@pytest.mark.parametrize("flag", [True, False])
def test_requires_grad_of_a_non_leaf_cannot_be_assigned(flag):
    """Only leaves have a ``requires_grad`` to assign."""
    h = leaf(1.0) * 2
    with pytest.raises(RuntimeError):
        h.requires_grad = flag


def test_requires_grad_method_on_a_non_leaf():
    """On a non-leaf ``requires_grad_()`` is a no-op for True and an error for False."""
    h = leaf(1.0) * 2
    assert h.requires_grad_() is h and not h.is_leaf
    with pytest.raises(RuntimeError):
        h.requires_grad_(False)


@pytest.mark.parametrize(
    "call", [lambda x, out: nbgrad.add(x, 1, out=out), lambda x, out: nbgrad.add(out.detach(), 1, out=x)], ids=["operand", "result"]
)
def test_out_is_not_differentiable(call):
    """``out=`` with an operand or a result that requires grad is refused."""
    with pytest.raises(RuntimeError):
        call(leaf([1.0, 2.0]), const([0.0, 0.0]))


def test_out_under_no_grad():
    """Where nothing is recorded ``out=`` takes operands that require grad."""
    x, out = leaf([1.0, 2.0]), const([0.0, 0.0])
    with nbgrad.no_grad():
        nbgrad.add(x, 1, out=out)
    assert out.tolist() == [2.0, 3.0]


# ---- more of what is saved -------------------------------------------------------------------------------------------
def test_matrix_product_saves_what_the_other_side_needs():
    """Of two matrices beside a constant only the constant is saved: it may not change, the other one may."""
    x, c = leaf([[1.0, 2.0], [3.0, 4.0]]), const([[5.0, 6.0], [7.0, 8.0]])
    h = x * 1
    y = h @ c
    h.add_(1)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [[11.0, 15.0], [11.0, 15.0]]
    c.add_(1)
    with pytest.raises(RuntimeError):
        y.sum().backward()


@pytest.mark.parametrize(
    "view",
    [lambda h: h.t(), lambda h: h[0], lambda h: h.view(4), lambda h: h[:, 1:], lambda h: h.expand(3, 2, 2)],
    ids=["t", "select", "view", "slice", "expand"],
)
def test_views_save_nothing(view):
    """A view reads no values backward, so what it views may change afterwards."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = x * 1
    y = view(h) + 0
    h.add_(1)
    y.sum().backward()
    assert x.grad.sum().item() == y.numel()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: x * w,
        lambda x, w: x @ w,
        lambda x, w: nbgrad.nn.functional.linear(x, w),
        lambda x, w: nbgrad.einsum("ij,jk->ik", x, w),
        lambda x, w: nbgrad.kron(x, w),
    ],
    ids=["mul", "matmul", "linear", "einsum", "kron"],
)
@pytest.mark.parametrize(
    "exchange", [lambda w: assign(w, const([[5.0, 6.0], [7.0, 9.0]])), lambda w: assign(w, w.data * 1)], ids=["others", "copy"]
)
def test_data_exchanged_after_they_were_saved_are_noticed(f, exchange):
    """``w.data = t`` between forward and backward: the values that the derivative needs are gone, which is an error."""
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0], [3.0, 5.0]])
    y = f(x, w).sum()
    exchange(w)
    with pytest.raises(nbgrad.VersionError):
        nbgrad.grad(y, x)


@pytest.mark.parametrize("alias", [lambda w: w[:], lambda w: w.t(), lambda w: w.detach()], ids=["slice", "t", "detach"])
@pytest.mark.parametrize("turns", [1, 2])
def test_memory_that_comes_back_is_watched_again(alias, turns):
    """``w.data`` put aside, exchanged and put back: the graph runs; after a write to ``w`` it refuses what a view of it saved."""
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0], [3.0, 5.0]])
    with nbgrad.enable_grad():
        y = (x * alias(w)).sum()
    own = w.data
    for _ in range(turns):
        w.data = nbgrad.zeros_like(own)
        w.data = own
    assert nbgrad.grad(y, x, retain_graph=True)[0].tolist() == alias(w).tolist()
    with nbgrad.no_grad():
        w.add_(1)
    with pytest.raises(nbgrad.VersionError):
        nbgrad.grad(y, x)


def test_data_exchanged_where_they_were_not_saved():
    """``w.data = t`` between forward and backward of what did not save ``w`` changes nothing; what comes later is of ``t``."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x.exp() + w).sum()
    w.data = const([5.0, 6.0])
    assert nbgrad.grad(y, w)[0].tolist() == [1.0, 1.0]
    assert nbgrad.grad((x * w).sum(), x)[0].tolist() == [5.0, 6.0]


def test_saved_tensors_of_a_freed_node_that_saved_none():
    """After a pass that freed the graph a Function's saved tensors cannot be read, even if there were none."""

    class Looks(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors == ()
            return g * 2

    y = Looks.apply(leaf([1.0])).sum()
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


# ---- contexts of hooks -----------------------------------------------------------------------------------------------


def noting(log, name):
    """A pack hook that notes its name."""
    return lambda t: (log.append(name), t)[1]


def test_leaving_hooks_ends_the_innermost_entry():
    """Whatever is equal to it further out stays active, and what is between them stays innermost."""
    log = []
    outer, inner = noting(log, "outer"), noting(log, "inner")
    with nbgrad.graph.saved_tensors_hooks(outer, same):
        with nbgrad.graph.saved_tensors_hooks(inner, same):
            with nbgrad.graph.saved_tensors_hooks(outer, same):
                pass
            leaf([1.0]).exp()
        leaf([1.0]).exp()
    leaf([1.0]).exp()
    assert log == ["inner", "outer"]


def test_a_context_of_hooks_may_be_entered_twice():
    """Each exit ends one entry; one more is an error of the house."""
    log = []
    context = nbgrad.graph.saved_tensors_hooks(noting(log, "hook"), same)
    with context:
        with context:
            pass
        leaf([1.0]).exp()
    assert log == ["hook"]
    with pytest.raises(nbgrad.GradError, match="saved_tensors_hooks: the context is not active"):
        context.__exit__(None, None, None)


def test_hooks_that_a_pass_enters_end_with_it():
    """A context that an unpack hook enters and never leaves is gone after the pass, and free; those around the pass stay."""
    log, contexts = [], []

    def unpack(t):
        """Enter a context of hooks and forget it."""
        context = nbgrad.graph.saved_tensors_hooks(noting(log, "forgotten"), same)
        contexts.append(weakref.ref(context))
        context.__enter__()
        return t

    with nbgrad.graph.saved_tensors_hooks(same, unpack):
        y = leaf([1.0]).exp()
    with nbgrad.graph.saved_tensors_hooks(noting(log, "around"), same):
        y.backward()
        leaf([1.0]).exp()
    assert contexts[0]() is None and log == ["around"]


def test_names_of_subclasses_of_the_hooks_are_their_own():
    """A subclass may call its attributes as it likes."""

    class Counting(nbgrad.graph.saved_tensors_hooks):
        """Hooks with a state."""

        def __init__(self):
            super().__init__(self.keep, same)
            self.pair = self.seen = self.recorded = self.context = 0

        def keep(self, t):
            """Count."""
            self.seen += 1
            return t

    x = leaf([2.0])
    with Counting() as entered, nbgrad.enable_grad():
        y = x * x
    y.backward()
    assert entered is None and x.grad.tolist() == [4.0]


BACK = {
    "itself": (same, same),
    "an alias": (lambda t: t.detach(), same),
    "a copy": (lambda t: t.detach().numpy().copy(), nbgrad.asarray),
}


@pytest.mark.parametrize("hooks", [*BACK.values(), None], ids=[*BACK, "save_on_cpu"])
def test_a_leaf_comes_back_as_its_equal(hooks):
    """Behind any hooks a saved leaf is a leaf: without ``grad_fn``, an input of passes like the leaf, protected from writes."""
    x = leaf([1.0, 3.0])
    with nbgrad.graph.save_on_cpu() if hooks is None else nbgrad.graph.saved_tensors_hooks(*hooks):
        y = x * x
    back = y.grad_fn._saved_self
    assert back.is_leaf and back.grad_fn is None and back.requires_grad
    for given in (x, back):
        assert nbgrad.grad((back * back).sum(), given)[0].tolist() == [2.0, 6.0]
    (back * 3).sum().backward(inputs=[back])
    assert x.grad.tolist() == [3.0, 3.0]
    for write in (lambda: back.mul_(2), lambda: back[0].mul_(2)):
        with pytest.raises(nbgrad.InplaceError, match="leaf that requires grad"):
            write()
    back.retain_grad()
    handle = back.register_hook(lambda g: g * 10)
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 60.0]
    handle.remove()


class HookedBackward(nbgrad.Function):
    """x * 2, whose backward gives its own node a hook."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.register_hook(tenfold)
        return g * 2


class SinAndCos(nbgrad.Function):
    """Two results of one node, which saves its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * x.cos() - h * x.sin()


def tenfold(grad_inputs, grad_outputs):
    """A post hook."""
    return tuple(None if g is None else 10 * g for g in grad_inputs)


@pytest.mark.parametrize(
    "f, gradient",
    [
        (nbgrad.exp, [1.0, 1.0]),
        (lambda x: x * x, [0.0, 0.0]),
        (lambda x: x.cos().cumprod(0), [0.0, 0.0]),
        (lambda x: sum(SinAndCos.apply(x)), [1.0, 1.0]),
        (lambda x: x.exp().prod(), [1.0, 1.0]),
    ],
    ids=["exp", "product", "cumprod", "several", "reduction"],
)
@pytest.mark.parametrize("hooked", [False, True], ids=["bare", "with a tensor hook"])
def test_post_hooks_that_an_unpack_hook_registers_run(f, gradient, hooked):
    """A node that gets a hook while it unpacks what it saved runs it in this pass."""
    calls = []

    def unpack(t):
        """Hang a hook on the node that runs."""
        node = nbgrad._C._current_autograd_node()
        node.register_hook(lambda grad_inputs, grad_outputs: calls.append((node, grad_outputs)))
        return t

    x = leaf([0.0, 0.0])
    with nbgrad.graph.saved_tensors_hooks(same, unpack):
        y = f(x)
        if hooked:
            y.register_hook(lambda g: None)
    (g,) = nbgrad.grad(y.sum(), x)
    np.testing.assert_allclose(g.numpy(), gradient, atol=1e-15)
    assert calls and all(grads for _, grads in calls)


def test_post_hooks_that_a_backward_registers_change_this_pass():
    """What the hook returns replaces the gradients of the run that registered it, of builtin nodes and of Functions."""

    def unpack(t):
        """Hang a hook on the node that runs."""
        nbgrad._C._current_autograd_node().register_hook(tenfold)
        return t

    x = leaf([0.0, 0.0])
    with nbgrad.graph.saved_tensors_hooks(same, unpack):
        y = x.exp()
    assert nbgrad.grad(y.sum(), x)[0].tolist() == [10.0, 10.0]
    assert nbgrad.grad(HookedBackward.apply(x).sum(), x)[0].tolist() == [20.0, 20.0]
    assert nbgrad.grad(HookedBackward.apply(x * 1).sum(), x)[0].tolist() == [20.0, 20.0]


@pytest.mark.parametrize(("hooks", "name"), [((3, lambda x: x), "pack_hook"), ((lambda x: x, None), "unpack_hook")])
def test_hooks_that_cannot_be_called(hooks, name):
    """They are refused when they are given, not in the operation that would call them."""
    with pytest.raises(TypeError, match=f"^saved_tensors_hooks: {name}: expected a function, got "):
        nbgrad.graph.saved_tensors_hooks(*hooks)


def test_an_interrupt_on_entering_leaves_no_hooks(monkeypatch):
    """Ctrl-C between the steps of entering: hooks that nobody would remove are not there."""

    class Interrupted(list):
        def append(self, entry):
            super().append(entry)
            raise KeyboardInterrupt

    packed = []
    for patch in (
        lambda m: m.setattr("nbgrad.graph.saved_hooks.special", Interrupted()),
        lambda m: m.setattr("nbgrad.graph.saved_hooks._hook_stack.entered", Interrupted()),
    ):
        with monkeypatch.context() as m, pytest.raises(KeyboardInterrupt):
            patch(m)
            with nbgrad.graph.saved_tensors_hooks(packed.append, lambda x: x):
                raise AssertionError("entered")
        nbgrad.ones(1, requires_grad=True).exp()
    assert not packed and not nbgrad.grad_mode.special


@pytest.mark.parametrize(
    "view, dtype",
    [
        (lambda y: y.t(), F64),
        (lambda y: y[1], F64),
        (lambda y: y[:, ::2], F64),
        (lambda y: y.diagonal(), F64),
        (lambda y: y[None].transpose(0, 1), F64),
        (lambda y: y.real, nbgrad.complex128),
        (lambda y: y.imag[1], nbgrad.complex128),
        (lambda y: nbgrad.view_as_real(y).transpose(0, 2), nbgrad.complex128),
    ],
    ids=["transposed", "row", "columns", "diagonal", "unsqueezed", "real", "imaginary", "parts"],
)
@pytest.mark.parametrize("write", ["exp_", "tanh_"])
@pytest.mark.parametrize("gaps", [False, True])
def test_results_of_writes_to_views_come_back_from_hooks(view, dtype, write, gaps):
    """Recorded passes find what hooks kept of a view, wherever they put it: derivatives are those without hooks."""

    def derivatives(hooks):
        """The gradient, and that of its square."""
        x = nbgrad.linspace(-1, 1, 12, dtype=F64).reshape(3, 4)[:, :: 2 if gaps else 1].detach().requires_grad_()
        y = x.to(nbgrad.complex128) * (1 + 0.5j) if dtype.is_complex else x * 1
        with hooks:
            getattr(view(y), write)()
        (g,) = nbgrad.grad((y * y.conj()).real.sum(), x, create_graph=True)
        return g.detach().numpy(), nbgrad.grad((g**2).sum(), x)[0].numpy()

    arrays = nbgrad.graph.saved_tensors_hooks(lambda t: t.detach().resolve_conj().resolve_neg().numpy().copy(), nbgrad.from_numpy)
    for got, want in zip(derivatives(arrays), derivatives(contextlib.nullcontext())):
        np.testing.assert_allclose(got, want, rtol=1e-12)
