"""Forward mode: levels, dual tensors, tangents through views and in-place writes, and together with reverse mode."""

from __future__ import annotations

import copy
import gc
import math
import threading
import weakref

import numpy as np
import pytest

import nbgrad
from nbgrad import forward_ad as fwd
from nbgrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from nbgrad.forward.tangents import pop_level, push_level


def dual(primal, tangent, **options) -> nbgrad.Tensor:
    """A dual tensor of these numbers."""
    return make_dual(nbgrad.tensor(primal, **options), nbgrad.tensor(tangent))


def tangent_of(x: nbgrad.Tensor) -> list | float | None:
    """The tangent as numbers, or None."""
    tangent = unpack_dual(x).tangent
    return None if tangent is None else tangent.detach().resolve_conj().tolist()


# ---- levels and dual tensors -----------------------------------------------------------------------------------------


def test_a_dual_tensor_is_a_view_with_a_tangent():
    """``make_dual`` shares the primal's memory and keeps the tangent object; ``unpack_dual`` gives both back."""
    x, t = nbgrad.tensor([1.0, 2.0]), nbgrad.tensor([3.0, 4.0])
    with dual_level():
        d = make_dual(x, t)
        primal, tangent = unpack_dual(d)
        assert d is not x and d.data_ptr() == x.data_ptr() == primal.data_ptr()
        assert tangent is t
        assert unpack_dual(x).tangent is None and unpack_dual(primal).tangent is None


def test_a_tangent_of_another_layout_is_copied():
    """The tangent gets sizes, strides, offset and storage size of the primal; the caller's tensor stays apart."""
    base = nbgrad.arange(12.0).reshape(3, 4)
    primal, t = base[1:].t(), nbgrad.ones(4, 2)
    with dual_level():
        tangent = unpack_dual(make_dual(primal, t)).tangent
        assert tangent is not t and tangent.stride() == primal.stride() == (1, 4)
        assert tangent.storage_offset() == primal.storage_offset() == 4
        assert tangent._storage_.array.size == 12
        tangent.zero_()
    assert t.sum() == 8


def test_levels_do_not_nest():
    """There is one public level, number 0, entered and left once; wrong ones are refused and change nothing."""
    with pytest.raises(nbgrad.GradError, match="none"):
        fwd.exit_dual_level()
    assert fwd.enter_dual_level() == 0
    with pytest.raises(nbgrad.GradError, match="open already"):
        fwd.enter_dual_level()
    with pytest.raises(nbgrad.GradError, match="level 5"):
        fwd.exit_dual_level(level=5)
    fwd.exit_dual_level(level=0)
    with pytest.raises(nbgrad.GradError, match="no level is open"):
        make_dual(nbgrad.ones(2), nbgrad.ones(2))


def test_a_level_is_left_when_the_block_fails():
    """An exception ends the level."""
    with pytest.raises(KeyError), dual_level():
        raise KeyError
    with dual_level() as level:
        assert level == 0


def test_a_level_decorates_functions():
    """Each call of a decorated function has a level of its own."""

    @dual_level()
    def slope(x):
        return unpack_dual(make_dual(x, nbgrad.ones_like(x)) ** 2).tangent

    assert slope(nbgrad.tensor(3.0)).item() == slope(nbgrad.tensor(3.0)).item() == 6.0


def test_tangents_die_with_the_level():
    """At the end of a level no tensor has a tangent, also in the next level, and the tangents' memory is free."""
    with dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        y = (d * d).exp()
        dead = weakref.ref(unpack_dual(y).tangent)
    gc.collect()
    assert dead() is None and unpack_dual(y).tangent is None
    with dual_level():
        assert tangent_of(d) is None and tangent_of(y) is None


def test_a_level_belongs_to_the_process():
    """Another thread sees the tangents, and cannot enter a level of its own."""
    seen: list = []

    def other(d):
        seen.append(tangent_of(d * 2))
        with pytest.raises(nbgrad.GradError, match="open already"):
            fwd.enter_dual_level()
        seen.append("refused")

    with dual_level():
        thread = threading.Thread(target=other, args=(dual([1.0], [3.0]),))
        thread.start()
        thread.join()
    assert seen == [[6.0], "refused"]


@pytest.mark.parametrize(
    "make, error, match",
    [
        (lambda: make_dual(nbgrad.ones(2), nbgrad.ones(3)), nbgrad.ShapeError, "shape"),
        (lambda: make_dual(nbgrad.ones(2), nbgrad.ones(1)), nbgrad.ShapeError, "shape"),
        (lambda: make_dual(dual([1.0], [1.0]), nbgrad.ones(1)), nbgrad.GradError, "primal has a tangent"),
        (lambda: make_dual(nbgrad.ones(1), dual([1.0], [1.0])), nbgrad.GradError, "tangent has a tangent"),
        (lambda: make_dual(nbgrad.tensor([1]), nbgrad.ones(1)), ValueError, "floating or complex primal"),
        (lambda: make_dual(nbgrad.ones(1), nbgrad.tensor([1])), ValueError, "floating or complex tangent"),
        (lambda: make_dual(1.0, nbgrad.ones(1)), nbgrad.ArgumentError, "Tensor"),
        (lambda: unpack_dual(1.0), nbgrad.ArgumentError, "Tensor"),
        (lambda: make_dual(nbgrad.ones(2), nbgrad.ones(2), level=3), nbgrad.GradError, "level 3"),
        (lambda: nbgrad.mul(dual([1.0], [1.0]), 2.0, out=nbgrad.zeros(1)), NotImplementedError, "out="),
        (lambda: nbgrad.mul(nbgrad.ones(1), 2.0, out=dual([1.0], [1.0])), NotImplementedError, "out="),
        (lambda: dual([1.0], [1.0]) // 2, NotImplementedError, "no derivative"),
    ],
)
def test_what_is_refused(make, error, match):
    """What has no meaning is an error that says what was expected."""
    with dual_level(), pytest.raises(error, match=match):
        make()


def test_tangents_can_be_switched_off():
    """Where they are off nothing is dual; ``no_grad`` does not switch them off, inference mode does."""
    with dual_level():
        d = dual([2.0], [3.0])
        with fwd._set_fwd_grad_enabled(False):
            assert not fwd._is_fwd_grad_enabled() and unpack_dual(d).tangent is None
            y = d * 2
        assert tangent_of(y) is None and tangent_of(d) == [3.0]
        with nbgrad.no_grad():
            assert tangent_of(d * 2) == [6.0]
        with nbgrad.inference_mode():
            z = d * 2
            assert unpack_dual(d).tangent is None
        assert tangent_of(z) is None


# ---- what operations make of tangents --------------------------------------------------------------------------------


def test_plain_operands_have_tangent_zero():
    """Dual and plain operands mix."""
    with dual_level():
        d, x = dual([1.0, 2.0], [3.0, 4.0]), nbgrad.tensor([5.0, 6.0])
        assert tangent_of(d * x + x) == [15.0, 24.0]
        assert tangent_of(nbgrad.stack([d, x])) == [[3.0, 4.0], [0.0, 0.0]]
        assert tangent_of(x @ d) == 39.0


@pytest.mark.parametrize(
    "function",
    [
        lambda d: d > 1,
        lambda d: d.argmax(),
        lambda d: d.long(),
        lambda d: d.detach(),
        lambda d: d.data,
        nbgrad.zeros_like,
        copy.deepcopy,
    ],
)
def test_what_has_no_tangent(function):
    """Results that are not differentiable, and what leaves the differentiated program."""
    with dual_level():
        assert tangent_of(function(dual([1.0, 2.0], [3.0, 4.0]))) is None


def test_a_constant_function_has_tangent_zero():
    """Rounding is differentiable, with derivative 0."""
    with dual_level():
        assert tangent_of(dual([1.2, 2.7], [3.0, 4.0]).floor()) == [0.0, 0.0]


def test_results_do_not_share_memory_with_operands_tangents():
    """Where the tangent of a result equals that of an operand it is still another tensor."""
    with dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        for y in (d + 1, d.clone(), d.double().float(), nbgrad.where(d > 0, d, 0.0), d - nbgrad.ones(2)):
            unpack_dual(y).tangent.zero_()
        assert tangent_of(d) == [3.0, 4.0]


def test_tangents_have_the_dtype_of_the_result():
    """Promotion and conversion hold for tangents."""
    with dual_level():
        d = dual([2.0], [1.0])
        for y in (d * nbgrad.ones(1, dtype=nbgrad.float64), d.double(), d.half(), d.sum(dtype=nbgrad.float64)):
            assert unpack_dual(y).tangent.dtype is y.dtype


@pytest.mark.parametrize("dtype, stored", [(nbgrad.int64, 2), (nbgrad.uint8, 2), (nbgrad.bool, True)])
@pytest.mark.parametrize(
    "write",
    [lambda x: x.fill_(2.7), lambda x: x.masked_fill_(x == 0, 2.7), lambda x: x.fill_diagonal_(2.7)],
    ids=["fill_", "masked_fill_", "fill_diagonal_"],
)
def test_integers_take_numbers_inside_of_a_level(write, dtype, stored):
    """A number with a fraction becomes an integer where it is stored, as outside of levels."""
    with dual_level():
        assert write(nbgrad.zeros(1, 1, dtype=dtype)).item() is stored


def test_complex_functions_are_real_linear_maps():
    """conj, real, imag and abs have the tangents conj(t), real(t), imag(t) and re(conj(z) t) / |z|."""
    with dual_level():
        z = dual([3 + 4j], [1 + 2j])
        assert tangent_of(z.conj()) == [1 - 2j]
        assert tangent_of(z.real) == [1.0] and tangent_of(z.imag) == [2.0]
        assert tangent_of(z.abs()) == pytest.approx([(3 * 1 + 4 * 2) / 5])
        assert tangent_of(z * z) == [2 * (3 + 4j) * (1 + 2j)]


def test_random_numbers_written_over_a_dual_have_tangent_zero():
    """What the tensor was before has no influence on them."""
    with dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        d.normal_()
        assert tangent_of(d) == [0.0, 0.0]


def test_dual_tensors_print_their_tangent():
    """The text of a dual tensor says what it is."""
    with dual_level():
        assert repr(dual([1.0, 2.0], [3.0, 4.0])) == "tensor([1., 2.], tangent=tensor([3., 4.]))"


# ---- views and in-place writes ---------------------------------------------------------------------------------------


def test_a_view_of_a_dual_has_the_same_view_of_the_tangent():
    """Shared memory on both sides, of the same strides."""
    with dual_level():
        d = dual([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
        unpack_dual(d[1]).tangent.zero_()
        assert tangent_of(d) == [[5.0, 6.0], [0.0, 0.0]]
        assert unpack_dual(d.t()).tangent.stride() == d.t().stride()


def test_case_1_no_view():
    """A write with a dual operand makes a plain tensor dual."""
    with dual_level():
        x = nbgrad.zeros(2)
        x.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        assert tangent_of(x) == [5.0, 6.0]


def test_case_2_from_view_to_base():
    """A write through a view of a dual tensor changes the tangent of the base."""
    with dual_level():
        d = dual([[0.0, 0.0], [0.0, 0.0]], [[7.0, 7.0], [7.0, 7.0]])
        d[0].copy_(dual([1.0, 1.0], [5.0, 5.0]))
        assert tangent_of(d) == [[5.0, 5.0], [7.0, 7.0]]


def test_case_3_from_base_to_view():
    """A write to a dual base changes the tangents of its views."""
    with dual_level():
        d = dual([[0.0, 0.0], [0.0, 0.0]], [[7.0, 7.0], [7.0, 7.0]])
        view = d[0]
        d.copy_(dual([[1.0, 1.0], [1.0, 1.0]], [[5.0, 5.0], [5.0, 5.0]]))
        assert tangent_of(view) == [5.0, 5.0]


def test_case_4_from_view_to_plain_base():
    """A write with a dual operand through a view makes its plain base dual, with zeros elsewhere."""
    with dual_level():
        x = nbgrad.zeros(2, 2)
        view = x[0]
        view.copy_(dual([1.0, 1.0], [5.0, 5.0]))
        assert tangent_of(view) == [5.0, 5.0] and tangent_of(x) == [[5.0, 5.0], [0.0, 0.0]]


def test_case_4_where_the_base_is_complex():
    """A write to the real parts makes the complex base dual."""
    with dual_level():
        z = nbgrad.zeros(2, dtype=nbgrad.complex64)
        z.real.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        assert tangent_of(z) == [5.0, 6.0] and tangent_of(z.imag) == [0.0, 0.0]


def test_case_5_from_plain_base_to_view():
    """A write with a dual operand to a plain base makes views of it dual that were made before."""
    with dual_level():
        x = nbgrad.zeros(2, 2)
        view = x[0]
        x.copy_(dual([[1.0, 1.0], [1.0, 1.0]], [[5.0, 6.0], [7.0, 8.0]]))
        assert tangent_of(view) == [5.0, 6.0]


def test_case_6_from_view_to_view():
    """Both together: a write through one view is seen through another."""
    with dual_level():
        x = nbgrad.zeros(2, 2)
        row, column = x[0], x[:, 0]
        row.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        assert tangent_of(column) == [5.0, 0.0]


@pytest.mark.parametrize(
    "write, want",
    [
        (lambda d: d.mul_(2), [[6.0, 8.0], [10.0, 12.0]]),
        (lambda d: d.mul_(d), [[6.0, 16.0], [30.0, 48.0]]),
        (lambda d: d.exp_(), [[3 * math.e, 4 * math.e**2], [5 * math.e**3, 6 * math.e**4]]),
        (lambda d: d.zero_(), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda d: d.copy_(nbgrad.ones(2, 2)), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda d: d[0].fill_(1), [[0.0, 0.0], [5.0, 6.0]]),
        (lambda d: d.__setitem__((0, 1), d[1, 1]), [[3.0, 6.0], [5.0, 6.0]]),
        (lambda d: d.__setitem__(d > 2, 0.0), [[3.0, 4.0], [0.0, 0.0]]),
        (lambda d: d.index_add_(0, nbgrad.tensor([0, 0]), d.clone()), [[11.0, 14.0], [5.0, 6.0]]),
        (lambda d: d.scatter_(1, nbgrad.tensor([[1]]), 9.0), [[3.0, 0.0], [5.0, 6.0]]),
        (lambda d: d[:, 1].mul_(2), [[3.0, 8.0], [5.0, 12.0]]),
        (lambda d: d.t().mul_(d.t()), [[6.0, 16.0], [30.0, 48.0]]),
        (lambda d: d.diagonal().exp_(), [[3 * math.e, 4.0], [5.0, 6 * math.e**4]]),
        (lambda d: d.t_(), [[3.0, 5.0], [4.0, 6.0]]),
        (lambda d: d.unsqueeze_(0), [[[3.0, 4.0], [5.0, 6.0]]]),
    ],
)
def test_in_place_operations_keep_the_tangent_object(write, want):
    """The tangent is changed in place, to what a write of this kind makes of it."""
    with dual_level():
        d = dual([[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [5.0, 6.0]])
        tangent = unpack_dual(d).tangent
        write(d)
        assert unpack_dual(d).tangent is tangent
        assert np.allclose(tangent.numpy(), want)


def test_the_primal_given_to_make_dual_does_not_become_dual():
    """Writes to the dual tensor change the primal's memory and no tangent of it; likewise for ``unpack_dual``."""
    x = nbgrad.zeros(2)
    with dual_level():
        d = make_dual(x, nbgrad.ones(2))
        d.add_(1)
        assert x.tolist() == [1.0, 1.0] and tangent_of(x) is None
        primal = unpack_dual(d).primal
        primal.copy_(dual([8.0, 8.0], [9.0, 9.0]))
        assert tangent_of(primal) == [9.0, 9.0] and tangent_of(d) == [1.0, 1.0]


def test_a_detached_alias_is_apart():
    """A write to what was detached makes it dual, not the tensor that it came from."""
    with dual_level():
        x = nbgrad.zeros(2)
        alias = x.detach()
        alias.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        assert tangent_of(alias) == [5.0, 6.0] and tangent_of(x) is None


def test_as_strided_reads_the_tangent_in_the_same_place():
    """Also where the primal is a slice and the view reaches outside of it."""
    base = nbgrad.arange(6.0)
    with dual_level():
        d = make_dual(base[1:5], nbgrad.tensor([10.0, 20.0, 30.0, 40.0]))
        assert tangent_of(d.as_strided((2,), (2,), 1)) == [10.0, 30.0]
        assert tangent_of(d.as_strided((3,), (1,), 0)) == [0.0, 10.0, 20.0]


# ---- with reverse mode -----------------------------------------------------------------------------------------------


def test_forward_over_reverse():
    """The gradient of a dual result is dual: its tangent is the product of the Hessian with the direction."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    with dual_level():
        d = make_dual(x, nbgrad.tensor([1.0, 0.0]))
        (g,) = nbgrad.grad((d**3).sum(), x)
        assert g.tolist() == [3.0, 12.0] and tangent_of(g) == [6.0, 0.0] and not g.requires_grad


def test_backward_accumulates_tangents():
    """``.grad`` of a leaf gets the tangents of what is added to it."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    x.grad = nbgrad.ones(2)
    with dual_level():
        (make_dual(x, nbgrad.ones(2)) ** 3).sum().backward()
        assert x.grad.tolist() == [4.0, 13.0] and tangent_of(x.grad) == [6.0, 12.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda d: d.exp(),
        lambda d: (d * 1).exp_(),
        lambda d: written(d * 1),
        lambda d: d.softmax(0),
        lambda d: nbgrad.cat([d, d]).tanh(),
        lambda d: d[1:].exp() * d[0],
        lambda d: saved_behind_hooks(d),
        lambda d: OwnExp.apply(d),
        *[
            lambda d, f=f: nbgrad.checkpoint(f, d, use_reentrant=False)
            for f in (
                lambda x: x.exp(),
                lambda x: x.softmax(0) * 2,
                lambda x: x.log_softmax(0),
                lambda x: x.cumprod(0),
                lambda x: x.prod(0),
                lambda x: x.logsumexp(0),
                lambda x: x.norm(),
                lambda x: x.var(0),
            )
        ],
    ],
)
def test_saved_values_keep_their_tangents(function):
    """Whatever a node saved, and however, has its tangent when the pass reads it: three ways to H t agree."""
    x, t = nbgrad.tensor([0.3, -0.7], dtype=nbgrad.float64, requires_grad=True), nbgrad.tensor([1.0, 2.0], dtype=nbgrad.float64)
    (g,) = nbgrad.grad((function(x * 1) ** 2).sum(), x, create_graph=True)
    (want,) = nbgrad.grad(g, x, t)
    with dual_level():
        d = make_dual(x, t)
        y = (function(d) ** 2).sum()
        (over,) = nbgrad.grad(y, x, retain_graph=True)
        (under,) = nbgrad.grad(unpack_dual(y).tangent, x)
        assert np.allclose(unpack_dual(over).tangent.numpy(), want.numpy(), rtol=1e-12)
        assert np.allclose(under.numpy(), want.numpy(), rtol=1e-12)


class OwnExp(nbgrad.Function):
    """A Function that saves its result."""

    @staticmethod
    def forward(ctx, x):
        """e**x."""
        out = x.exp()
        ctx.save_for_backward(out)
        ctx.save_for_forward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        """g e**x."""
        return g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        """t e**x."""
        return t * ctx.saved_tensors[0]


def written(y: nbgrad.Tensor) -> nbgrad.Tensor:
    """A write through a view, whose node saves the result."""
    y[0].exp_()
    return y


def saved_behind_hooks(d: nbgrad.Tensor) -> nbgrad.Tensor:
    """An operation whose saved values go through arrays."""
    with nbgrad.graph.saved_tensors_hooks(lambda x: x.detach().numpy().copy(), nbgrad.from_numpy):
        return d.exp() * d


def test_a_dual_cotangent_flows_back():
    """Backward is linear: the tangent of the gradient is the gradient of the tangent."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    with dual_level():
        (g,) = nbgrad.grad(x.exp() * 3, x, dual([1.0, 1.0], [2.0, 4.0]))
        assert tangent_of(g) == pytest.approx([6 * math.e, 12 * math.e**2])


def test_tangents_are_differentiable():
    """By the primal and by the direction; a direction that requires grad does not make the primal result require it."""
    x, t = (nbgrad.tensor(v, dtype=nbgrad.float64, requires_grad=True) for v in (2.0, 1.0))
    with dual_level():
        slope = unpack_dual(make_dual(x, t) ** 3).tangent
        assert [g.item() for g in nbgrad.grad(slope, [x, t])] == [12.0, 12.0]
        y = make_dual(x.detach(), t) ** 2
        assert not y.requires_grad and unpack_dual(y).tangent.requires_grad
        with nbgrad.no_grad():
            assert not unpack_dual(make_dual(x, t) ** 3).tangent.requires_grad


def test_a_plain_tangent_of_plain_operands_requires_no_grad():
    """Also where it is found by a double pass."""
    with dual_level():
        d = dual([[1.0, 2.0]], [[3.0, 4.0]])
        for y in (nbgrad.cross_entropy(d, nbgrad.tensor([1])), d.norm(), d.prod(), d.logsumexp(1)):
            assert not unpack_dual(y).tangent.requires_grad


@pytest.mark.parametrize(
    "function",
    [
        lambda d: d.norm(),
        lambda d: d.norm(1),
        lambda d: d.norm(3),
        lambda d: d.norm(math.inf),
        lambda d: d.std(),
        lambda d: d.prod(),
        lambda d: d.abs().sum(),
    ],
)
def test_tangents_where_a_derivative_is_chosen(function):
    """At a kink or a pole the tangent is 0, as the gradient is, and never NaN."""
    with dual_level():
        assert tangent_of(function(dual([0.0, 0.0], [1.0, 1.0]))) == 0.0


def test_anomaly_mode_does_not_mind_how_tangents_are_found():
    """The deviation of infinities has a tangent, NaN as it may be: no backward pass of the user's computed it."""
    with pytest.warns(UserWarning, match="anomaly"), nbgrad.detect_anomaly(), dual_level():
        assert math.isnan(tangent_of(dual([math.inf, math.inf], [1.0, 1.0]).std()))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumprod", "logcumsumexp", "prod", "cummax"])
def test_saved_tensor_hooks_see_nothing_of_how_a_tangent_is_made(name):
    """What is differentiated for the tangent's sake, where nothing requires grad, is not saved for anybody."""
    seen = []
    with dual_level(), nbgrad.graph.saved_tensors_hooks(seen.append, lambda x: x):
        out = getattr(dual([0.3, -0.7], [1.0, 2.0]), name)(0)
    assert not seen, out


def test_hooks_see_dual_gradients():
    """A tensor hook gets the gradient with its tangent, and may return another dual."""
    x, seen = nbgrad.tensor([1.0, 2.0], requires_grad=True), []
    with dual_level():
        d = make_dual(x, nbgrad.ones(2))
        d.register_hook(lambda g: seen.append(tangent_of(g)) or g * 2)
        (g,) = nbgrad.grad((d**2).sum(), x)
        assert seen == [[2.0, 2.0]] and tangent_of(g) == [4.0, 4.0]


def test_leaves_are_not_affected():
    """A leaf can be made dual in every level; it stays a leaf without gradient."""
    x = nbgrad.tensor([1.0], requires_grad=True)
    for size in (1.0, 2.0):
        with dual_level():
            d = make_dual(x, nbgrad.tensor([size]))
            assert d.requires_grad and not d.is_leaf and tangent_of(d * d) == [2 * size]
    assert x.is_leaf and x.grad is None


# ---- levels inside of levels -----------------------------------------------------------------------------------------


def slope_of(function):
    """The derivative of a function of one number, by a level of its own."""

    def slope(x):
        level = push_level()
        try:
            y = function(make_dual(x, nbgrad.ones_like(x), level=level))
            return unpack_dual(y, level=level).tangent
        finally:
            pop_level(level)

    return slope


def inner_writes(x):
    """A function with views and writes: x**2 exp(sin x**2)."""
    memory = nbgrad.zeros(2, dtype=nbgrad.float64)
    memory[0] = x * x
    memory[1].copy_(x).sin_()
    memory[1:].mul_(memory[1:]).exp_()
    return memory.prod()


@pytest.mark.parametrize(
    "function, third",
    [
        (lambda x: x.sin(), lambda x: -np.cos(x)),
        (lambda x: x**5, lambda x: 60 * x**2),
        (lambda x: x.exp() * x, lambda x: (x + 3) * np.exp(x)),
        (lambda x: nbgrad.stack([x, x * x, x**3]).prod(), lambda x: 120 * x**3),
    ],
)
def test_nested_levels_give_higher_derivatives(function, third):
    """The tangent of a tangent of a tangent is the third derivative."""
    x = nbgrad.tensor(0.7, dtype=nbgrad.float64)
    assert slope_of(slope_of(slope_of(function)))(x).item() == pytest.approx(third(0.7), rel=1e-12)


def test_nested_levels_with_writes():
    """Views and in-place operations carry the tangents of all levels: against differences of the inner slope."""
    x, h = nbgrad.tensor(0.7, dtype=nbgrad.float64), 1e-5
    first = slope_of(inner_writes)
    want = (first(x + h).item() - first(x - h).item()) / (2 * h)
    assert slope_of(first)(x).item() == pytest.approx(want, rel=1e-8)
    exact = 2 * 0.7 * math.exp(math.sin(0.7) ** 2) * (1 + 0.7 * math.sin(0.7) * math.cos(0.7))
    assert first(x).item() == pytest.approx(exact, rel=1e-12)


def test_levels_are_not_confused():
    """In ``d/dx (x d/dy (x y))`` the inner derivative does not see the outer direction as its own."""
    x = nbgrad.tensor(0.7, dtype=nbgrad.float64)
    assert slope_of(lambda x: x * slope_of(lambda y: x + y)(x))(x).item() == 1.0
    assert slope_of(lambda x: x * slope_of(lambda y: x * y)(x))(x).item() == pytest.approx(1.4)


def test_reverse_over_two_levels():
    """The gradient of a second tangent is the third derivative."""
    x = nbgrad.tensor(0.7, dtype=nbgrad.float64, requires_grad=True)
    (g,) = nbgrad.grad(slope_of(slope_of(lambda x: x.sin() * x.exp()))(x), x)
    assert g.item() == pytest.approx(2 * math.exp(0.7) * (math.cos(0.7) - math.sin(0.7)), rel=1e-12)


def test_a_closed_level_is_unknown():
    """A level that is not open cannot be closed, nor given a tangent."""
    level = push_level()
    pop_level(level)
    with pytest.raises(nbgrad.GradError, match="not open"):
        pop_level(level)


# ---- custom functions ------------------------------------------------------------------------------------------------


def function_of(forward, jvp):
    """A Function of one tensor."""
    return type("Made", (nbgrad.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}).apply


def double_in_place(ctx, x):
    """A forward that writes to its argument."""
    ctx.mark_dirty(x)
    return x.mul_(2)


def not_differentiable(ctx, x):
    """A forward whose result has no derivative."""
    y = x * 2
    ctx.mark_non_differentiable(y)
    return y


def test_a_function_takes_part_by_its_jvp():
    """``jvp`` gets a tangent for every argument, zeros for plain ones; ``forward`` sees no tangents."""
    seen = []

    class Product(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, y):
            seen.append(unpack_dual(x).tangent)
            ctx.save_for_forward(x, y)
            return x * y, x + y

        @staticmethod
        def jvp(ctx, tx, ty):
            x, y = ctx.saved_tensors
            seen.append(ty.tolist())
            return tx * y + ty * x, tx + ty

    with dual_level():
        product, total = Product.apply(dual([2.0], [1.0]), nbgrad.tensor([5.0]))
        assert tangent_of(product) == [5.0] and tangent_of(total) == [1.0]
    assert seen == [None, [0.0]]


def test_a_function_in_place_and_as_a_view():
    """A dirty argument's tangent is changed in place; a view's tangent is the same view of the argument's."""
    with dual_level():
        d = dual([1.0, 2.0], [3.0, 4.0])
        tangent = unpack_dual(d).tangent
        assert function_of(double_in_place, lambda ctx, t: t.mul_(2))(d) is d and unpack_dual(d).tangent is tangent
        view = function_of(lambda ctx, x: x.view(2, 1), lambda ctx, t: t.view(2, 1))(d)
        assert tangent_of(view) == [[6.0], [8.0]] and unpack_dual(view).tangent.data_ptr() == tangent.data_ptr()


def returned(ctx, x):
    """A forward that returns its argument as it is."""
    return x


@pytest.mark.parametrize(
    "forward, jvp",
    [
        (lambda ctx, x: x * 2, lambda ctx, t: (t * 2, t)),
        (lambda ctx, x: x * 2, lambda ctx, t: nbgrad.ones(3)),
        (lambda ctx, x: x * 2, lambda ctx, t: 3.0),
        (double_in_place, lambda ctx, t: t * 2),
        (double_in_place, lambda ctx, t: t),
        (double_in_place, lambda ctx, t: None),
        (double_in_place, lambda ctx, t: t.mul_(2).view(2)),
        (lambda ctx, x: x.view(2, 1), lambda ctx, t: t.view(2, 1).clone()),
        (returned, lambda ctx, t: t),
        (lambda ctx, x: x.view(2, 1), lambda ctx, t: None),
        (lambda ctx, x: x, lambda ctx, t: None),
        (not_differentiable, lambda ctx, t: t * 2),
    ],
)
def test_a_wrong_jvp_is_an_error(forward, jvp):
    """Another number of tangents, of another shape, no tensors, or tangents that do not share what the results share, or that do
    not change with the argument that forward changes; of views of dual tensors too.
    """
    for view in (False, True):
        with dual_level(), pytest.raises(nbgrad.GradError):
            x = dual([0.0, 1.0, 2.0, 0.0], [0.0, 3.0, 4.0, 0.0])[1:3] if view else dual([1.0, 2.0], [3.0, 4.0])
            function_of(forward, jvp)(x.clone() if forward is returned else x)  # a view as it is may keep its tangent


@pytest.mark.parametrize("write", [lambda t: t.mul_(2), lambda t: (t[:].mul_(2), t)[1], lambda t: (t.detach().mul_(2), t)[1]])
def test_jvp_may_write_to_the_tangent_by_any_alias(write):
    """Of a view of a dual tensor: the base's tangent shows the write, as the base shows that of forward."""
    with dual_level():
        whole = dual([0.0, 1.0, 2.0], [0.0, 3.0, 4.0])
        part = whole[1:]
        assert function_of(double_in_place, lambda ctx, t: write(t))(part) is part
        assert (tangent_of(part), tangent_of(whole), whole.tolist()) == ([6.0, 8.0], [0.0, 6.0, 8.0], [0.0, 2.0, 4.0])


def test_a_view_returned_as_it_is_may_keep_its_tangent():
    """The argument is a view, and so is its tangent: that itself will do as the tangent of the result."""
    with dual_level():
        y = function_of(returned, lambda ctx, t: t)(dual([0.0, 1.0, 2.0], [0.0, 3.0, 4.0])[1:])
        assert tangent_of(y) == [3.0, 4.0]


def test_a_function_without_jvp():
    """It is fine for plain arguments, an error for dual ones."""
    apply = type("Made", (nbgrad.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)}).apply
    with dual_level():
        assert apply(nbgrad.ones(2)).tolist() == [2.0, 2.0]
        with pytest.raises(NotImplementedError, match="jvp"):
            apply(dual([1.0], [1.0]))


def test_a_function_under_nested_levels():
    """``jvp`` is run once a level and its operations carry the tangents of outer ones."""

    class Cube(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return x**3

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 3 * x * x * t

    x = nbgrad.tensor(2.0, dtype=nbgrad.float64)
    assert slope_of(slope_of(Cube.apply))(x).item() == 12.0


def test_tangents_that_a_function_is_given_without_zeros():
    """After ``set_materialize_grads(False)`` plain tensors have None for a tangent, as what is no tensor always has."""
    seen = []

    class Scaled(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            ctx.set_materialize_grads(y is None or n > 2)
            return x * n

        @staticmethod
        def jvp(ctx, tx, ty, tn):
            seen.append((ty if ty is None else ty.tolist(), tn))
            return tx * 3

    with dual_level():
        for n in (2, 3):
            Scaled.apply(dual([1.0], [1.0]), nbgrad.ones(1), n)
    assert seen == [(None, None), ([0.0], None)]


# ---- the layout of tangents ------------------------------------------------------------------------------------------


def test_unpack_dual_of_a_plain_tensor():
    """A named pair of the tensor itself and None, inside of a level and outside."""
    x = nbgrad.ones(2)
    outside = unpack_dual(x)
    assert outside.primal is x and outside.tangent is None and outside._fields == ("primal", "tangent")
    with dual_level():
        assert unpack_dual(x).tangent is None


@pytest.mark.parametrize(
    "primal, tangent",
    [
        (lambda: nbgrad.ones(3).as_strided((1, 3), (7, 1)), lambda: nbgrad.zeros(1, 3)),
        (lambda: nbgrad.ones(0, 3), lambda: nbgrad.zeros(3, 0).t()),
    ],
    ids=["a dimension of one", "no elements"],
)
def test_strides_that_reach_no_element_do_not_matter(primal, tangent):
    """Where the same indices reach the same places of memory the tangent is kept as it is."""
    t = tangent()
    with dual_level():
        assert unpack_dual(make_dual(primal(), t)).tangent is t


def test_a_lazy_conjugate_has_a_tangent_with_the_bit():
    """The tangent of a lazily conjugated primal is stored conjugated too, and reads as what was given."""
    with dual_level():
        tangent = unpack_dual(make_dual(nbgrad.tensor([1 + 2j]).conj(), nbgrad.tensor([3 + 4j]))).tangent
        assert tangent.is_conj() and tangent.tolist() == [3 + 4j]


def test_case_4_tangents_share_memory():
    """After a write through a view the view's tangent is that view of the base's: a later write to one shows in the other."""
    with dual_level():
        x = nbgrad.zeros(2, 2)
        view = x.t()[1]
        view.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        view.mul_(2)
        assert tangent_of(x) == [[0.0, 10.0], [0.0, 12.0]]
        unpack_dual(x).tangent.zero_()
        assert tangent_of(view) == [0.0, 0.0]


def test_case_4_view_of_the_whole_base():
    """The written view covers all of its base: there is nothing to fill with zeros."""
    with dual_level():
        x = nbgrad.zeros(2, 2)
        x.view(4).copy_(dual([1.0] * 4, [5.0, 6.0, 7.0, 8.0]))
        assert tangent_of(x) == [[5.0, 6.0], [7.0, 8.0]]


def test_case_4_through_the_parts_of_a_complex_base():
    """A dual written into the imaginary part gives the base an imaginary tangent."""
    with dual_level():
        z = nbgrad.zeros(2, dtype=nbgrad.complex64)
        z.imag.copy_(dual([1.0, 1.0], [5.0, 6.0]))
        assert tangent_of(z) == [5j, 6j]


def test_case_5_parts_and_conjugates():
    """Parts and lazy conjugates of a plain base, taken before a dual was written to it, have theirs of its tangent."""
    with dual_level():
        z = nbgrad.zeros(2, dtype=nbgrad.complex64)
        imag, conj = z.imag, z.conj()
        z.copy_(dual([1 + 1j, 2 + 2j], [5 + 1j, 6 + 2j]))
        assert tangent_of(imag) == [1.0, 2.0] and tangent_of(conj) == [5 - 1j, 6 - 2j]


def test_a_view_made_before_and_one_made_after_agree():
    """The tangent of a view does not depend on whether it was taken before or after the base became dual."""
    with dual_level():
        x = nbgrad.zeros(4)
        before = x[1:3]
        x.add_(dual([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]))
        after = x[1:3]
        before.mul_(2)
        assert tangent_of(before) == tangent_of(after) == [12.0, 14.0] and tangent_of(x) == [5.0, 12.0, 14.0, 8.0]


@pytest.mark.parametrize(
    "primal, tangent",
    [
        (lambda: nbgrad.ones(2, 3).t(), lambda: nbgrad.arange(6.0).reshape(3, 2)),
        (lambda: nbgrad.ones(2, 2), lambda: nbgrad.ones(1).expand(2, 2)),
    ],
    ids=["transposed", "expanded tangent"],
)
def test_strides_alone_make_another_layout(primal, tangent):
    """Sizes, offset and memory agree and the strides do not: the tangent is copied into the primal's."""
    x, t = primal(), tangent()
    with dual_level():
        held = unpack_dual(make_dual(x, t)).tangent
        assert held is not t and held.stride() == x.stride() and held.tolist() == t.tolist()


def test_no_grad_views_carry_tangents():
    """What no_grad leaves out of the graph it does not leave out of forward mode: cases 3 and 4 hold inside of it."""
    with dual_level(), nbgrad.no_grad():
        x = nbgrad.zeros(2, 2)
        view = x[0]
        x.copy_(dual([[1.0, 1.0], [1.0, 1.0]], [[5.0, 6.0], [7.0, 8.0]]))
        view.mul_(2)
        assert tangent_of(view) == [10.0, 12.0] and tangent_of(x) == [[10.0, 12.0], [7.0, 8.0]]
