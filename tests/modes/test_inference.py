"""Inference mode: which tensors it marks, what may be done with them, and that known calls in it are right."""

from __future__ import annotations

import copy
import pickle
import threading
from contextlib import nullcontext

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import InplaceError, NbgradError
from tests.helpers import leaf

F64 = nbgrad.float64


def inferred(make, *args):
    """What ``make`` returns in inference mode."""
    with nbgrad.inference_mode():
        return make(*args)


# ---- the mode --------------------------------------------------------------------------------------------------------
def test_inference_mode_reads_as_no_grad():
    """Inside inference mode grad mode is off, and ``inference_mode(False)`` gives normal mode back."""
    with nbgrad.inference_mode():
        assert nbgrad.is_inference_mode_enabled() and not nbgrad.is_grad_enabled()
        with nbgrad.inference_mode(False):
            assert not nbgrad.is_inference_mode_enabled() and nbgrad.is_grad_enabled()


def test_what_changes_nothing_gives_the_tensor_itself():
    """``+x`` and ``positive`` are the tensor in and out of the mode."""
    x = nbgrad.ones(3, requires_grad=True)
    with nbgrad.inference_mode():
        assert +x is x and x.positive() is x
    assert +x is x


def test_enable_grad_does_not_lift_inference_mode():
    """``enable_grad`` inside changes what is reported and records nothing."""
    x = leaf(2.0)
    with nbgrad.inference_mode(), nbgrad.enable_grad():
        assert nbgrad.is_grad_enabled() and (x * 3).grad_fn is None


def test_which_tensors_are_inference_tensors():
    """New tensors and results are; views of normal tensors are not."""
    x = leaf([1.0, 2.0])
    with nbgrad.inference_mode():
        made, result, view = nbgrad.ones(2), x * 3, x[:1]
    assert [t.is_inference() for t in (made, result, view, x)] == [True, True, False, False]


def test_inference_tensors_have_no_version():
    """Reading the version of an inference tensor is an error."""
    with nbgrad.inference_mode():
        t = nbgrad.ones(2)
        with pytest.raises(RuntimeError):
            t._version


def test_writes_inside_inference_mode():
    """Inside, inference tensors, normal tensors and leaves may all be written to, and normal versions count."""
    x, c = leaf([1.0, 2.0]), nbgrad.ones(2, dtype=F64)
    with nbgrad.inference_mode():
        t = nbgrad.ones(2, dtype=F64)
        for each in (t, c, x):
            each.add_(1)
    assert (t.tolist(), c.tolist(), x.tolist()) == ([2.0, 2.0], [2.0, 2.0], [2.0, 3.0])
    assert c._version == x._version == 1


@pytest.mark.parametrize("pick", [lambda t: t, lambda t: t[:1]], ids=["itself", "view"])
@pytest.mark.parametrize("enabled", [True, False])
def test_writes_to_inference_tensors_outside(pick, enabled):
    """Outside, an inference tensor and its views are read-only, under ``no_grad`` too."""
    with nbgrad.inference_mode():
        t = nbgrad.ones(2)
    with nbgrad.set_grad_enabled(enabled), pytest.raises(RuntimeError):
        pick(t).add_(1)


def test_inference_tensor_in_an_op_that_does_not_save_it():
    """Outside, such a tensor may take part in recorded ops that do not save it."""
    x = leaf([1.0, 2.0])
    with nbgrad.inference_mode():
        t = nbgrad.ones(2, dtype=F64)
    (x + t).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_inference_tensor_cannot_be_saved():
    """An op that would save it for backward refuses to be recorded."""
    with nbgrad.inference_mode():
        t = nbgrad.ones(2, dtype=F64)
    with pytest.raises(RuntimeError):
        leaf([1.0, 2.0]) * t


def test_clone_of_an_inference_tensor():
    """A clone made outside is a normal tensor."""
    with nbgrad.inference_mode():
        t = nbgrad.ones(2, dtype=F64)
    clone = t.clone()
    x = leaf([1.0, 2.0])
    (x * clone).sum().backward()
    assert not clone.is_inference() and x.grad.tolist() == [1.0, 1.0]


def test_requires_grad_of_an_inference_tensor():
    """An inference tensor cannot be made to require grad outside; inside it may be made so and records nothing."""
    with nbgrad.inference_mode():
        t, u = nbgrad.ones(2), nbgrad.ones(2, requires_grad=True)
        assert u.requires_grad and (u * 2).grad_fn is None
    with pytest.raises(RuntimeError):
        t.requires_grad_()


def test_view_made_in_inference_mode_refuses_recorded_writes():
    """A view that inference mode made of a recorded tensor cannot be written to in normal mode."""
    h = leaf([1.0, 2.0]) * 1
    with nbgrad.inference_mode():
        view = h[:1]
    with pytest.raises(RuntimeError):
        view.add_(1)


def test_copy_from_an_inference_tensor():
    """Copying one into a recorded tensor saves nothing and is allowed."""
    h = leaf([1.0, 2.0]) * 1
    with nbgrad.inference_mode():
        t = nbgrad.full((2,), 5.0, dtype=F64)
    h.copy_(t)
    assert h.tolist() == [5.0, 5.0]


def test_arguments():
    """The mode takes a bool or a function."""
    assert nbgrad.inference_mode(mode=False).mode is False
    with pytest.raises(TypeError):
        nbgrad.inference_mode(1)


def test_nested_modes_come_back_one_by_one():
    """Each end restores what its beginning found, also where normal mode lies between."""
    seen = []

    def note():
        seen.append((nbgrad.is_inference_mode_enabled(), nbgrad.is_grad_enabled(), nbgrad.ones(1).is_inference()))

    with nbgrad.inference_mode():
        with nbgrad.inference_mode(False):
            with nbgrad.inference_mode():
                note()
            note()
        note()
    note()
    assert seen == [(True, False, True), (False, True, False), (True, False, True), (False, True, False)]


def test_set_grad_enabled_inside_ends_with_the_mode():
    """What is asked for inside does not outlive the mode."""
    with nbgrad.no_grad():
        with nbgrad.inference_mode():
            nbgrad.set_grad_enabled(True)
            assert nbgrad.is_grad_enabled()
        assert not nbgrad.is_grad_enabled()


def test_threads_have_their_own_mode():
    """While one thread is in the mode another one makes and records ordinary tensors."""
    inside, done, box = threading.Event(), threading.Event(), []

    def infer():
        with nbgrad.inference_mode():
            inside.set()
            done.wait(10)
            box.append((nbgrad.ones(2) * 2).is_inference())

    thread = threading.Thread(target=infer)
    thread.start()
    inside.wait(10)
    x = leaf([1.0, 2.0])
    y = x * x
    done.set()
    thread.join()
    assert box == [True] and not y.is_inference() and y.requires_grad


# ---- what is marked --------------------------------------------------------------------------------------------------
C = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=F64)
FRESH = {
    "ones": lambda: nbgrad.ones(2),
    "tensor": lambda: nbgrad.tensor([1.0]),
    "rand": lambda: nbgrad.rand(2),
    "arange": lambda: nbgrad.arange(3),
    "zeros_like": lambda: nbgrad.zeros_like(C),
    "from_numpy": lambda: nbgrad.from_numpy(np.ones(2)),
    "parameter": lambda: nbgrad.Parameter(nbgrad.ones(2)),
    "clone": lambda: C.clone(),
    "converted": lambda: C.to(nbgrad.float32),
    "sum": lambda: C.sum(),
    "matmul": lambda: C @ C,
    "cat": lambda: nbgrad.cat([C, C]),
    "index": lambda: C[nbgrad.tensor([0])],
    "nonzero": lambda: C.nonzero(),
    "multinomial": lambda: nbgrad.multinomial(C, 1),
    "comparison": lambda: C > 1,
    "sorted": lambda: C.sort()[1],
    "deepcopy": lambda: copy.deepcopy(C),
    "contiguous": lambda: C.t().contiguous(),
}
SHARING = {
    "slice": lambda x: x[:1],
    "transpose": lambda x: x.t(),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "split": lambda x: x.split(1)[0],
    "expand": lambda x: x.expand(3, 2, 2),
    "same dtype": lambda x: x.to(F64),
    "contiguous": lambda x: x.contiguous(),
    "in place": lambda x: x.add_(0),
    "out": lambda x: nbgrad.mul(x, 1.0, out=x),
}


@pytest.mark.parametrize("name", FRESH)
def test_new_tensors_are_inference_tensors(name):
    """Whatever has memory of its own."""
    assert inferred(FRESH[name]).is_inference()


@pytest.mark.parametrize("name", SHARING)
def test_what_shares_memory_is_what_its_owner_is(name):
    """Views and written tensors: normal of normal ones, marked of marked ones, in the first call and in later ones."""
    marked = inferred(C.clone)
    for _ in range(2):
        assert not inferred(SHARING[name], C).is_inference()
        assert inferred(SHARING[name], marked).is_inference()


@pytest.mark.parametrize("name", ["slice", "transpose", "detach", "data", "split", "expand", "same dtype", "contiguous"])
def test_views_outside_are_inference_tensors_too(name):
    """They share the memory, but they are not differentiable views."""
    view = SHARING[name](inferred(C.clone))
    assert view.is_inference() and view._base is None and not view.requires_grad


def test_results_outside_are_ordinary():
    """Outside, operations read inference tensors and make normal ones, under ``no_grad`` too."""
    t = inferred(C.clone)
    for result in (t * 2, t.sum(), t @ t, nbgrad.cat([t, C])):
        assert not result.is_inference() and result._version == 0
    with nbgrad.no_grad():
        assert not (t * C).is_inference()


def test_copies_are_ordinary():
    """A deep copy and a pickle of an inference tensor have memory of their own outside of the mode."""
    t = inferred(C.clone)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert not other.is_inference() and other.add_(1).tolist() == (C + 1).tolist()


# ---- values of known calls -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: x * w,
        lambda x, w: x * 2.5,
        lambda x, w: x.exp(),
        lambda x, w: x.sum(),
        lambda x, w: x.sum(dim=1, keepdim=True),
        lambda x, w: x @ w,
        lambda x, w: x.t(),
        lambda x, w: x[1:],
        lambda x, w: x.t() * w,
        lambda x, w: nbgrad.where(x > 2, x, w),
        lambda x, w: x.max(dim=0)[0],
        lambda x, w: x[0] + w,
        lambda x, w: x.clamp(0, 2),
    ],
    ids=["mul", "number", "exp", "sum", "sum_dim", "matmul", "t", "slice", "strided", "where", "max", "broadcast", "clamp"],
)
@pytest.mark.parametrize("marked", [False, True])
def test_repeated_calls_have_the_values_of_no_grad(call, marked):
    """The second and third call of its layouts take the short way and give what the first one gave."""
    x, w = C.clone(), C.t().contiguous()
    with nbgrad.no_grad():
        expected = call(x, w).tolist()
    with nbgrad.inference_mode():
        if marked:
            x, w = x.clone(), w.clone()
        assert [call(x, w).tolist() for _ in range(3)] == [expected] * 3


def test_numbers_of_known_calls_are_read_anew():
    """A plan for a number serves every number of its type."""
    with nbgrad.inference_mode():
        assert [(C * k).sum().item() for k in (1.0, 2.0, 3.0)] == [10.0, 20.0, 30.0]


def test_repeated_writes():
    """In-place calls inside write the same values every time, and count for normal tensors."""
    plain, w = C.clone(), C.clone()
    with nbgrad.inference_mode():
        marked = plain.clone()
        for _ in range(3):
            assert plain.add_(w) is plain and marked.add_(w) is marked
            marked *= 1.0
    assert plain.tolist() == marked.tolist() == (C * 4).tolist() and plain._version == 3


def test_writes_of_nothing_count():
    """An ordinary tensor without elements has been written to, each time."""
    x = nbgrad.zeros(0)
    with nbgrad.inference_mode():
        for _ in range(3):
            x.add_(1.0)
    assert x._version == 3


@pytest.mark.parametrize("marked", [False, True])
def test_writes_of_what_they_overlap_are_refused_every_time(marked):
    """The short way sees which memory an operand lies in, not only its layout."""
    x, y = nbgrad.arange(6.0), nbgrad.ones(4)
    with nbgrad.inference_mode():
        if marked:
            x = x.clone()
        for _ in range(2):
            x[:4].add_(y)
            with pytest.raises(InplaceError):
                x[:4].add_(x[1:5])
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0, 4.0, 5.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(dim=1.0),
        lambda x: x.sum(dim=1, keepdim=1),
        lambda x: x.transpose(0, True),
        lambda x: x + nbgrad.ones(3),
        lambda x: x.add_(nbgrad.ones(2, 2, 2)),
        lambda x: x.view(3),
        lambda x: x @ nbgrad.ones(3),
    ],
    ids=["dim", "keepdim", "transpose", "broadcast", "write", "view", "matmul"],
)
def test_refusals_are_those_outside(call):
    """What is refused outside of the mode is refused in it, also where a call of equal arguments is known."""
    with pytest.raises(NbgradError) as outside:
        call(nbgrad.ones(2, 2))
    with nbgrad.inference_mode():
        x = nbgrad.ones(2, 2)
        assert x.sum(dim=1, keepdim=True).shape == (2, 1) and x.transpose(0, 1).shape == (2, 2)
        for _ in range(2):
            with pytest.raises(type(outside.value)):
                call(x)


def test_default_dtype_of_known_calls():
    """A plan in which the default dtype is contained is forgotten when another one is set."""
    before = nbgrad.get_default_dtype()
    with nbgrad.inference_mode():
        x = nbgrad.tensor([4, 9])
        assert x.sqrt().dtype is before
        try:
            nbgrad.set_default_dtype(F64)
            assert x.sqrt().dtype is F64 and (x * 0.5).dtype is F64
        finally:
            nbgrad.set_default_dtype(before)


def test_known_calls_while_another_thread_is_in_the_mode():
    """A call that is known in both has marked results in the thread that is in the mode, and a history in the other."""
    inside, done = threading.Event(), threading.Event()
    x, w = leaf([[1.0, 2.0], [3.0, 4.0]]), nbgrad.ones(2, 2)
    calls = (lambda: x * w, lambda: x.exp(), lambda: x.sum(dim=0), lambda: x.t(), lambda: w.mul_(1.0))

    def infer():
        with nbgrad.inference_mode():
            made.extend(call() for _ in range(2) for call in calls[:3])
            inside.set()
            done.wait(10)

    made: list = []
    thread = threading.Thread(target=infer)
    thread.start()
    assert inside.wait(10)
    try:
        results = [call() for _ in range(2) for call in calls]
    finally:
        done.set()
        thread.join()
    assert all(y.is_inference() for y in made) and not any(y.is_inference() for y in results)
    assert [y.requires_grad for y in results] == [True, True, True, True, False] * 2


def test_written_views_stay_ordinary_views():
    """A write inside does not change how a view came about, whoever else shares its memory."""
    base = leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    view = base[0]
    with nbgrad.inference_mode():
        for _ in range(2):
            view.add_(base[1])
    view.mul_(2)
    assert base.tolist() == [[14.0, 20.0], [3.0, 4.0]] and base.grad_fn.name() == "torch::autograd::CopySlices"


def test_integer_division_by_zero_is_seen_every_time():
    """The short way does not skip the look at the divisor."""
    with nbgrad.inference_mode():
        x = nbgrad.tensor([4, 6])
        assert (x // 2).tolist() == [2, 3]
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                x // nbgrad.tensor([1, 0])


def test_another_mode_at_the_same_time():
    """Saved-tensor hooks that are active in the mode see nothing, and results are marked all the same."""
    seen = []
    x = leaf([1.0, 2.0])
    with nbgrad.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t), nbgrad.inference_mode():
        results = [x * x for _ in range(2)]
    assert not seen and all(r.is_inference() for r in results)


# ---- what autograd refuses -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.zero_(),
        lambda t: t.copy_(C),
        lambda t: t.__setitem__(0, 1.0),
        lambda t: t.t_(),
        lambda t: t.mul_(C),
        lambda t: nbgrad.add(C, C, out=t),
        lambda t: t.masked_fill_(C > 1, 0.0),
        lambda t: t.index_fill_(0, nbgrad.tensor([0]), 1.0),
        lambda t: t.detach().add_(1),
        lambda t: t.data.view(-1).add_(1),
    ],
    ids=["zero_", "copy_", "setitem", "t_", "mul_", "out", "masked_fill_", "index_fill_", "detach", "view of data"],
)
def test_every_kind_of_write_is_refused_outside(write):
    """And the memory stays as it was."""
    t = inferred(C.clone)
    with pytest.raises(RuntimeError, match="inference"):
        write(t)
    assert t.tolist() == C.tolist()


@pytest.mark.parametrize(
    "use",
    [
        lambda x, t, k: x * t,
        lambda x, t, k: x @ t,
        lambda x, t, k: x[k],
        lambda x, t, k: x.index_select(0, k),
        lambda x, t, k: (x * 1).mul_(t),
        lambda x, t, k: x.gather(0, k[None]),
    ],
    ids=["mul", "matmul", "index", "index_select", "mul_", "gather"],
)
def test_inference_tensors_cannot_be_saved(use):
    """Neither operands nor indices; what was made of them outside can be saved."""
    t, k = inferred(C.clone), inferred(nbgrad.tensor, [0, 1])
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    use(x, t.clone(), k.clone()).sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match="saved"):
        use(x, t, k)


def test_refused_write_changes_nothing():
    """Where an in-place call would have to save an inference tensor neither values nor history change."""
    t, h = inferred(C.clone), leaf([[1.0, 2.0], [3.0, 4.0]]) * 1
    node = h.grad_fn
    with pytest.raises(RuntimeError):
        h.mul_(t)
    assert h.tolist() == C.tolist() and h.grad_fn is node and h._version == 0


def test_leaf_of_the_mode_that_requires_grad():
    """Outside it takes part in recorded calls with other tensors, and its gradient arrives in it."""
    t = inferred(lambda: nbgrad.ones(2, dtype=F64, requires_grad=True))
    x = leaf([1.0, 2.0])
    (t + x).sum().backward()
    assert t.grad.tolist() == [1.0, 1.0] and not (t * t).requires_grad


def test_function_cannot_save_an_inference_tensor():
    """``save_for_backward`` obeys the rule too; a Function that saves none may take one."""

    class Add(nbgrad.Function):
        """x + y, saving what it is told to."""

        @staticmethod
        def forward(ctx, x, y, keeps):
            if keeps:
                ctx.save_for_backward(y)
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    x, t = leaf([1.0, 2.0]), inferred(lambda: nbgrad.ones(2, dtype=F64))
    Add.apply(x, t, False).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="saved"):
        Add.apply(x, t, True)


def test_function_inside():
    """A Function records nothing in the mode, and its new results are marked."""

    class Twice(nbgrad.Function):
        """2 x, and x itself."""

        @staticmethod
        def forward(ctx, x):
            return x * 2, x

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h

    x = leaf([1.0, 2.0])
    made, same = inferred(Twice.apply, x)
    assert made.is_inference() and not same.is_inference() and not same.requires_grad and same is not x


def test_backward_inside_of_the_mode():
    """A graph recorded outside can be walked inside; gradients that it makes there are inference tensors."""
    x = leaf([1.0, 2.0])
    y = (x * x * x).sum()
    with nbgrad.inference_mode():
        (grad,) = nbgrad.grad(y, x, create_graph=True)
    assert grad.tolist() == [3.0, 12.0] and not grad.requires_grad


def test_view_of_a_leaf_made_inside():
    """It requires grad as its base does, without history, until the base is written to."""
    x = leaf([1.0, 2.0])
    view = inferred(lambda: x[:1])
    assert view.requires_grad and view.is_leaf and view._base is x
    with nbgrad.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="inference mode"):
        view.grad_fn
    assert "Invalid" in repr(view)


def test_a_parameter_is_no_inference_tensor():
    """Outside of the mode an inference tensor cannot begin to require grad, as a Parameter either."""
    with nbgrad.inference_mode():
        x = nbgrad.ones(2)
        assert nbgrad.Parameter(x).requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        nbgrad.Parameter(x)
    assert not nbgrad.Parameter(x, requires_grad=False).requires_grad


# ---- operations of several steps -------------------------------------------------------------------------------------
GRID = nbgrad.tensor([[1, 2, 0], [3, 0, 5]], dtype=nbgrad.int32)
REALS = nbgrad.arange(24, dtype=F64).reshape(2, 3, 4) / 7
STEPWISE = {
    "all": lambda: GRID.all(),
    "any of columns": lambda: GRID[:, ::2].any(),
    "max": lambda: GRID[:, ::2].max(),
    "sum of bytes": lambda: GRID.to(nbgrad.uint8).t().sum(0),
    "prod": lambda: REALS[:1].expand(2, 3, 4).prod(),
    "sum of a diagonal": lambda: REALS.permute(2, 0, 1).sum((0, 2)),
    "indices": lambda: REALS[GRID[0, ::2], GRID[0, :2].long()],
    "var": lambda: REALS.var((0, 2)),
    "argmax of halves": lambda: REALS.half().argmax(1),
    "median": lambda: REALS.median(1).values,
    "scatter": lambda: REALS.scatter_reduce(0, GRID[None].repeat(1, 1, 1).long() * 0, REALS[:1, :2, :3], "amax"),
    "copy": lambda: REALS.mT.clone().copy_(REALS[:1, 0, :3].expand(2, 4, 3)),
    "cumsum in place": lambda: REALS.clone().mT.cumsum_(0),
    "matmul": lambda: REALS.mT @ REALS,
    "det": lambda: (REALS[:, :2, :2]).det(),
    "logsumexp": lambda: GRID.t().logsumexp(0),
}


@pytest.mark.parametrize("name", STEPWISE)
def test_operations_of_several_steps_give_inference_tensors(name):
    """What comes between the steps of an operation is plain: the result is that of an ordinary call, in repeated calls too."""
    want = STEPWISE[name]()
    for _ in range(2):
        out = inferred(STEPWISE[name])
        assert out.is_inference() and not out._is_view()
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-12)


def test_steps_in_inference_mode_see_no_tangents():
    """Nothing is differentiated in inference mode, by forward mode neither, inside of operations of several steps too."""
    with nbgrad.forward_ad.dual_level():
        x = nbgrad.forward_ad.make_dual(REALS.permute(2, 0, 1), nbgrad.ones(4, 2, 3, dtype=F64))
        assert nbgrad.forward_ad.unpack_dual(inferred(x.sum, (0, 2))).tangent is None


def test_inference_mode_is_on_again_after_a_failed_step():
    """An operation that refuses its operands leaves the mode as it was."""
    with nbgrad.inference_mode():
        with pytest.raises(nbgrad.DimError):
            REALS[nbgrad.tensor([7]), nbgrad.tensor([0], dtype=nbgrad.int32)]
        assert nbgrad.is_inference_mode_enabled() and nbgrad.ones(2).is_inference()


def test_data_of_an_inference_tensor_may_be_written_to_anywhere():
    """Through ``.data``, which nobody watches, in the mode and outside of it; the tensor itself may not."""
    with nbgrad.inference_mode():
        v = nbgrad.ones(3)
        v.data.mul_(2)
    v.data.mul_(2)
    v[1:].data.add_(1)
    assert v.tolist() == [4.0, 5.0, 5.0] and v.is_inference() and v.data.is_inference()
    with pytest.raises(RuntimeError, match="inference"):
        v.mul_(2)
    with pytest.raises(RuntimeError, match="saved for backward"):
        nbgrad.ones(3, requires_grad=True) * v.data


@pytest.mark.parametrize("other", ["hooks", "profile", "tangents", "none"])
def test_a_view_that_is_looked_at_inside_keeps_its_history(other):
    """Its node is made anew after the write, outside of the mode whatever other modes are active."""

    def identity(x):
        return x

    modes = {
        "hooks": lambda: nbgrad.graph.saved_tensors_hooks(identity, identity),
        "profile": nbgrad.autograd.profiler.profile,
        "tangents": nbgrad.forward_ad.dual_level,
        "none": nullcontext,
    }
    x = nbgrad.ones(2, requires_grad=True)
    y = x * 1
    view = y[:1]
    with modes[other](), nbgrad.inference_mode():
        view.zero_()
        inside = view.grad_fn
        assert nbgrad.is_inference_mode_enabled()
    assert inside is not None and view.grad_fn is inside
