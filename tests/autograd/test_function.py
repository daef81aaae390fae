"""Custom Functions: the protocol of forward and backward, and what ``apply`` does with inputs and outputs."""

from __future__ import annotations

import copy
import math
import pickle

import pytest

import nbgrad
from nbgrad.autograd.function import vmap_rule
from nbgrad.base.grad_mode import special
from nbgrad.modes.interpreters import Presence
from tests.functions import Square
from tests.helpers import const, leaf

pytestmark = pytest.mark.usefixtures("device")


def function(forward, backward=None, **methods):
    """A Function class named ``F`` made of plain functions."""
    if backward is not None:
        methods["backward"] = backward
    methods["forward"] = forward
    return type("F", (nbgrad.Function,), {name: staticmethod(f) for name, f in methods.items()})


def identity(ctx, x, *rest):
    """A forward that copies its first argument."""
    return x * 1


def first(ctx, *gradients):
    """A backward that passes the first gradient on."""
    return gradients[0]


class Double(nbgrad.Function):
    """2 x, remembering each ctx it sees."""

    seen: list = []

    @staticmethod
    def forward(ctx, x):
        Double.seen.append(ctx)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Double.seen.append(ctx)
        return g * 2


class Exp(nbgrad.Function):
    """exp(x), with its output saved."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Cube(nbgrad.Function):
    """x^3, whose backward applies another Function."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * Square.apply(x) * g


# ---- apply and ctx ---------------------------------------------------------------------------------------------------
def test_node_is_the_ctx():
    """The ctx of forward, of backward and the result's grad_fn are one object, named after the class."""
    Double.seen.clear()
    x = leaf([1.0])
    y = Double.apply(x)
    node = y.grad_fn
    y.sum().backward()
    assert Double.seen[0] is Double.seen[1] is node and node.name() == "DoubleBackward"
    assert x.grad.tolist() == [2.0]


def test_no_history_where_none_is_needed():
    """Under ``no_grad``, or without an input that requires grad, the result is plain."""
    with nbgrad.no_grad():
        assert Double.apply(leaf([1.0])).grad_fn is None
    assert Double.apply(const([1.0])).grad_fn is None


def test_forward_is_not_recorded():
    """Ops in forward see grad mode off; ``enable_grad`` inside records a private graph."""
    seen = []

    def forward(ctx, x):
        seen.append((x * 2).requires_grad)
        with nbgrad.enable_grad():
            seen.append((x * 2).requires_grad)
        return x * 1

    function(forward, first).apply(leaf([1.0]))
    assert seen == [False, True]


@pytest.mark.parametrize("create_graph", [False, True])
def test_grad_mode_in_backward(create_graph):
    """Grad mode inside backward is ``create_graph``."""
    seen = []
    F = function(identity, lambda ctx, g: seen.append(nbgrad.is_grad_enabled()) or g)
    x = leaf([1.0])
    nbgrad.grad(F.apply(x).sum(), x, create_graph=create_graph)
    assert seen == [create_graph]


def test_attributes_of_ctx():
    """Attributes set in forward are there in backward and on the node."""

    def forward(ctx, x):
        ctx.factor = 5
        return x * 5

    x = leaf([2.0])
    y = function(forward, lambda ctx, g: g * ctx.factor).apply(x)
    y.sum().backward()
    assert y.grad_fn.factor == 5 and x.grad.tolist() == [5.0]


def test_needs_input_grad():
    """``ctx.needs_input_grad`` has a bool for each argument, in forward and in backward."""
    seen = []

    def forward(ctx, x, c, text):
        seen.append(ctx.needs_input_grad)
        return x * c

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function(forward, backward).apply(leaf([2.0]), const([1.0]), "text").sum().backward()
    assert seen == [(True, False, False)] * 2


def test_keyword_arguments_follow_the_order_of_forward():
    """``apply`` binds keywords to forward's parameters, and gradients follow those."""
    F = function(lambda ctx, a, b: a * 2 + b * 3, lambda ctx, g: (g * 2, g * 3))
    x, w = leaf([2.0]), leaf([1.0])
    F.apply(b=w, a=x).sum().backward()
    assert (x.grad.item(), w.grad.item()) == (2.0, 3.0)


def test_setup_context_form():
    """``forward`` without ctx, and ``setup_context`` with a tuple of the inputs and forward's output as returned."""
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append((type(inputs), inputs[1], output.tolist()))
        ctx.n = inputs[1]

    F = function(lambda x, n: x * n, lambda ctx, g: (g * ctx.n, None), setup_context=setup_context)
    x = leaf([2.0])
    F.apply(x, 4).sum().backward()
    assert seen == [(tuple, 4, [8.0])] and x.grad.tolist() == [4.0]


def test_inherited_methods():
    """A subclass overrides what it likes and lends its own name to the node."""

    class Tenfold(Double):
        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf([1.0])
    y = Tenfold.apply(x)
    y.sum().backward()
    assert y.grad_fn.name() == "TenfoldBackward" and x.grad.tolist() == [10.0]


def test_exception_in_forward():
    """An exception in forward leaves ``apply`` as it is and restores grad mode."""

    def forward(ctx, x):
        raise LookupError

    with pytest.raises(LookupError):
        function(forward, first).apply(leaf([1.0]))
    assert nbgrad.is_grad_enabled()


def test_missing_forward():
    """A Function without forward cannot be applied."""
    with pytest.raises(NotImplementedError):
        type("F", (nbgrad.Function,), {}).apply(leaf([1.0]))


def test_missing_backward():
    """A missing backward is an error only once backward comes there."""
    y = function(identity).apply(leaf([1.0]))
    with pytest.raises(NotImplementedError):
        y.sum().backward()


def test_vjp_is_another_name_for_backward():
    """``vjp`` alone serves as backward."""
    x = leaf([1.0])
    function(identity, vjp=lambda ctx, g: g * 7).apply(x).sum().backward()
    assert x.grad.tolist() == [7.0]


def test_vjp_and_backward_together():
    """Defining both names is ambiguous."""
    y = function(identity, first, vjp=first).apply(leaf([1.0]))
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_instances_are_discouraged():
    """Making an instance warns, and calling one is an error."""
    with pytest.warns(DeprecationWarning):
        instance = Double()
    with pytest.raises(RuntimeError):
        instance(const([1.0]))


# ---- what backward returns -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "forward, arguments, result",
    [(lambda ctx, a, b: a * b, 2, lambda g: g), (lambda ctx, a: a * 1, 1, lambda g: (g, g))],
    ids=["too_few", "too_many"],
)
def test_number_of_gradients(forward, arguments, result):
    """Backward returns one gradient for each argument."""
    y = function(forward, lambda ctx, g: result(g)).apply(*[leaf([2.0]) for _ in range(arguments)])
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_surplus_gradients_may_be_none():
    """More results than arguments are fine where the surplus is None."""
    x = leaf([2.0])
    function(identity, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_gradient_that_is_no_tensor():
    """A number is no gradient."""
    y = function(identity, lambda ctx, g: 1.0).apply(leaf([2.0]))
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_gradient_for_an_argument_that_is_no_tensor():
    """A number among the arguments cannot have a gradient."""
    y = function(identity, lambda ctx, g: (g, g)).apply(leaf([2.0]), 2)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_gradient_for_a_constant_is_ignored():
    """A gradient for a tensor that does not require grad goes nowhere."""
    x, c = leaf([2.0]), const([1.0])
    function(identity, lambda ctx, g: (g, g)).apply(x, c).sum().backward()
    assert x.grad.tolist() == [1.0] and c.grad is None


def test_backward_may_return_the_incoming_gradient_twice():
    """One gradient object for several inputs does not alias their ``.grad``."""
    a, b = leaf([1.0]), leaf([2.0])
    function(lambda ctx, a, b: a + b, lambda ctx, g: (g, g)).apply(a, b).backward(const([1.0]))
    a.grad.add_(5)
    assert b.grad.tolist() == [1.0]


def test_incoming_gradient_has_the_shape_of_the_output():
    """Backward is given the output's shape exactly, also where the gradient is expanded."""
    seen = []
    F = function(identity, lambda ctx, g: seen.append(tuple(g.shape)) or g)
    F.apply(leaf([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert seen == [(2, 2)]


# ---- saving ----------------------------------------------------------------------------------------------------------
def test_saved_tensors_come_back_in_order():
    """``save_for_backward`` takes tensors and None, the last call counts, and inputs come back as themselves."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_backward(None, x)
        return x * 1

    x = leaf([2.0])
    function(forward, lambda ctx, g: seen.extend(ctx.saved_tensors) or g).apply(x).sum().backward()
    assert seen[0] is None and seen[1] is x


@pytest.mark.parametrize("bad", [3, "text", [1.0]])
def test_saving_what_is_no_tensor(bad):
    """Other values belong on ctx as attributes."""
    with pytest.raises(TypeError):
        function(lambda ctx, x: ctx.save_for_backward(bad) or x * 1, first).apply(leaf([2.0]))


def test_saved_input_is_guarded():
    """A saved input that changed in place is an error when it is read."""
    h = leaf([2.0]) * 1
    y = Square.apply(h)
    h.mul_(2)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_saved_tensors_after_they_were_freed():
    """Reading ``saved_tensors`` in a second pass over a freed node is an error."""
    y = Square.apply(leaf([2.0])).sum()
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


def test_function_that_reads_no_saved_tensors_can_be_walked_again():
    """A Function whose backward needs nothing saved does not mind a second pass."""
    x = leaf([2.0])
    y = Double.apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0]


def test_double_backward_through_a_saved_output():
    """A saved output comes back with its history, so the second derivative of exp is exp."""
    x = leaf([0.5])
    (g,) = nbgrad.grad(Exp.apply(x).sum(), x, create_graph=True)
    (second,) = nbgrad.grad(g.sum(), x)
    assert second.item() == pytest.approx(math.exp(0.5), rel=1e-15)


def test_higher_orders_through_nested_functions():
    """A backward written in differentiable ops, other Functions among them, is differentiable to any order."""
    x = leaf([2.0])
    orders = [Cube.apply(x)]
    for _ in range(3):
        orders.append(nbgrad.grad(orders[-1].sum(), x, create_graph=True)[0])
    assert [t.item() for t in orders] == [8.0, 12.0, 12.0, 6.0]


def test_saved_intermediate_is_a_constant():
    """What is neither input nor output has no history in double backward."""

    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    x, seed = leaf([2.0]), leaf([1.0])
    y = function(forward, lambda ctx, g: 3 * ctx.saved_tensors[0] * g).apply(x)
    (g,) = nbgrad.grad(y, x, seed, create_graph=True)
    assert g.item() == 12.0
    with pytest.raises(RuntimeError):
        nbgrad.grad(g.sum(), x)


def test_once_differentiable_refuses_a_second_derivative():
    """A backward marked so runs unrecorded, and its result cannot be differentiated through."""
    x, seed = leaf([2.0]), leaf([1.0])
    F = function(lambda ctx, x: x * x, nbgrad.once_differentiable(lambda ctx, g: g * 4))
    (g,) = nbgrad.grad(F.apply(x), x, seed, create_graph=True)
    assert g.item() == 4.0 and g.requires_grad
    with pytest.raises(RuntimeError):
        nbgrad.grad(g, seed)


def test_once_differentiable_of_a_constant_seed():
    """Where no incoming gradient requires grad the result simply does not either."""
    x = leaf([2.0])
    F = function(lambda ctx, x: x * x, nbgrad.once_differentiable(lambda ctx, g: g * 4))
    (g,) = nbgrad.grad(F.apply(x), x, const([1.0]), create_graph=True)
    assert not g.requires_grad


# ---- outputs ---------------------------------------------------------------------------------------------------------
def test_several_outputs_share_one_node():
    """The outputs of one ``apply`` are numbered on one node, whose backward runs once for all."""
    calls = []
    F = function(lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: calls.append(1) or g * 2 + h * 3)
    x = leaf([1.0])
    a, b = F.apply(x)
    (a + b * 10).sum().backward()
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    assert calls == [1] and x.grad.tolist() == [32.0]


def test_outputs_that_are_no_tensors_pass_through():
    """Numbers, strings and None come out as they are, and backward gets None for them."""
    seen = []
    F = function(lambda ctx, x: (x * 1, 5, "text", None), lambda ctx, *gs: seen.append(gs[1:]) or gs[0])
    y, *others = F.apply(leaf([2.0]))
    y.sum().backward()
    assert others == [5, "text", None] and seen == [(None, None, None)]


def test_tensors_inside_lists_are_not_seen():
    """Only a tensor or a tuple of outputs is looked into, and only tensors among the arguments are inputs."""
    x = leaf([2.0])
    listed = function(lambda ctx, x: [x * 1], first).apply(x)
    assert type(listed) is list and not listed[0].requires_grad
    assert not function(lambda ctx, xs: xs[0] * 1, first).apply([x]).requires_grad


@pytest.mark.parametrize("flag", [True, False])
def test_materialized_gradients(flag):
    """An output that got no gradient is given zeros, or None where ``set_materialize_grads(False)`` was asked for."""
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(flag)
        return x * 1, x * 2

    F = function(forward, lambda ctx, g, h: seen.append(None if g is None else g.tolist()) or h * 2)
    F.apply(leaf([2.0, 3.0]))[1].sum().backward()
    assert seen == [[0.0, 0.0] if flag else None]


def test_backward_runs_on_undefined_gradients():
    """Where every incoming gradient is undefined backward still runs, on zeros."""
    seen = []
    watch = function(identity, lambda ctx, g: seen.append(g.tolist()) or g)
    stop = function(identity, lambda ctx, g: None)
    stop.apply(watch.apply(leaf([2.0]))).sum().backward()
    assert seen == [[0.0]]


def test_mark_non_differentiable():
    """An output so marked does not require grad; backward gets zeros in its place."""
    seen = []

    def forward(ctx, x):
        y, constant = x * 1, x * 2
        ctx.mark_non_differentiable(constant)
        return y, constant

    y, constant = function(forward, lambda ctx, g, h: seen.append(h.tolist()) or g).apply(leaf([2.0]))
    y.sum().backward()
    assert y.requires_grad and not constant.requires_grad and seen == [[0.0]]


def test_integer_outputs_are_not_differentiable():
    """An integer output does not require grad by itself."""
    assert not function(lambda ctx, x: x.to(nbgrad.int64), first).apply(leaf([2.0])).requires_grad


def test_output_from_outside():
    """An output that forward took from elsewhere gets the Function as its history."""
    outside = const([1.0])
    x = leaf([1.0])
    y = function(lambda ctx, x: outside, lambda ctx, g: g * 4).apply(x)
    y.sum().backward()
    assert y.requires_grad and x.grad.tolist() == [4.0]


def test_input_returned_as_it_is():
    """An input returned unchanged comes out as a new tensor on the same memory, and the input keeps its own history."""
    F = function(lambda ctx, x: x, lambda ctx, g: g * 3)
    x = leaf([2.0])
    y = F.apply(x)
    y.sum().backward()
    assert y is not x and y.data_ptr() == x.data_ptr() and x.grad_fn is None and x.grad.tolist() == [3.0]


def test_input_returned_as_it_is_refuses_writes():
    """Such an output is a view whose making the engine cannot replay."""
    y = function(lambda ctx, x: x, first).apply(leaf([2.0]) * 1)
    with pytest.raises(RuntimeError):
        y.mul_(2)


def test_write_to_a_result():
    """A result of ``apply`` is an ordinary non-leaf, and writes to it are recorded after the Function."""
    x = leaf([1.0])
    y = Double.apply(x)
    y.mul_(5)
    y.sum().backward()
    assert x.grad.tolist() == [10.0]


def test_same_output_twice():
    """A tensor returned in two places is one object, whose gradient arrives in the last place."""
    seen = []

    def forward(ctx, x):
        y = x * 2
        return y, y

    a, b = function(forward, lambda ctx, g, h: seen.append((g.item(), h.item())) or g + h).apply(leaf([2.0]))
    (a + 10 * b).sum().backward()
    assert a is b and seen == [(0.0, 11.0)]


def test_two_views_of_one_base_as_inputs():
    """Gradients for two views of one tensor add up in it."""
    x = leaf([1.0, 2.0, 3.0])
    F = function(lambda ctx, a, b: a * b, lambda ctx, g: (g * 10, g * 100))
    F.apply(x[:2], x[1:]).sum().backward()
    assert x.grad.tolist() == [10.0, 110.0, 100.0]


# ---- dirty inputs ----------------------------------------------------------------------------------------------------
def double_inplace(ctx, x, *rest):
    """A forward that doubles its input in place and says so."""
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def test_dirty_input_is_returned_itself():
    """A declared change gives the caller's object back with the Function as history and a higher version."""
    x = leaf([2.0])
    h = x * 1
    y = function(double_inplace, lambda ctx, g: g * 2).apply(h)
    y.sum().backward()
    assert y is h and h._version >= 1 and h.grad_fn.name() == "FBackward" and x.grad.tolist() == [2.0]


def test_dirty_leaf():
    """A leaf that requires grad cannot be changed in place by a Function either."""
    with pytest.raises(RuntimeError):
        function(double_inplace, first).apply(leaf([2.0]))


def test_dirty_input_that_is_not_returned():
    """A changed input must be among the outputs."""

    def forward(ctx, x):
        return double_inplace(ctx, x) * 1

    with pytest.raises(RuntimeError):
        function(forward, first).apply(leaf([2.0]) * 1)


def test_dirty_view():
    """A changed input that is a view rewrites the history of its base."""
    x = leaf([2.0, 3.0])
    base = x * 1
    function(double_inplace, lambda ctx, g: g * 2).apply(base[:1])
    base.sum().backward()
    assert base.tolist() == [4.0, 3.0] and x.grad.tolist() == [2.0, 1.0]


def test_dirty_view_beside_another_output():
    """The history of a base cannot be rewritten by a node with several outputs."""
    F = function(lambda ctx, x: (double_inplace(ctx, x), x * 1), lambda ctx, g, h: g)
    with pytest.raises(RuntimeError):
        F.apply((leaf([2.0, 3.0]) * 1)[:1])


def test_dirty_plain_input():
    """A plain input changed with the help of one that requires grad becomes part of the graph."""
    w, c = leaf([3.0]), const([2.0])
    F = function(lambda ctx, c, w: double_inplace(ctx, c), lambda ctx, g: (None, g * 7))
    y = F.apply(c, w)
    y.sum().backward()
    assert y is c and c.requires_grad and w.grad.tolist() == [7.0]


def test_declared_writes_count():
    """Each declared write raises the version, whether or not ``forward`` wrote."""

    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    h = leaf([2.0]) * 1
    assert function(forward, first).apply(h)._version == 1


def test_dirty_leaf_without_recording():
    """Under ``no_grad`` a leaf may be changed; what comes back is a detached alias."""
    x = leaf([2.0])
    with nbgrad.no_grad():
        y = function(double_inplace, first).apply(x)
    assert y is not x and not y.requires_grad and x.tolist() == y.tolist() == [4.0] and x.requires_grad


def test_tensor_marked_dirty_that_is_no_input():
    """A warning, and the result is recorded like any other."""

    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    x = leaf([1.0])
    with pytest.warns(UserWarning, match="no input"):
        y = function(forward, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_dirty_and_not_differentiable():
    """A changed input without a gradient comes back as a detached alias."""

    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return double_inplace(ctx, x)

    h = leaf([1.0]) * 1
    y = function(forward, first).apply(h)
    assert y is not h and not y.requires_grad and y.tolist() == h.tolist() == [2.0]


@pytest.mark.parametrize("mark", ["mark_dirty", "mark_non_differentiable"])
def test_marks_take_tensors(mark):
    """Anything else is refused."""

    def forward(ctx, x):
        getattr(ctx, mark)((x,))
        return x * 1

    with pytest.raises(RuntimeError, match=mark):
        function(forward, first).apply(leaf([1.0]))


# ---- views among the results -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "forward",
    [lambda ctx, x: x.view(2), lambda ctx, x: (x * 2)[:2], lambda ctx, x: (x[:1], x[1:])],
    ids=["of an input", "of a temporary", "several"],
)
def test_views_among_the_results_refuse_writes(forward):
    """Whatever they are views of: the engine cannot replay them."""
    y = function(forward, lambda ctx, *g: None).apply(leaf([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError):
        (y[0] if isinstance(y, tuple) else y).add_(1)


def test_view_of_a_constant():
    """A view of an argument without a gradient becomes part of the graph through the other argument; the argument does not."""
    c, w = const([1.0, 2.0]), leaf([3.0, 4.0])
    y = function(lambda ctx, x, w: x.view(2), lambda ctx, g: (None, g * 5)).apply(c, w)
    y.sum().backward()
    assert y._base is c and not c.requires_grad and w.grad.tolist() == [5.0, 5.0]


def test_view_whose_base_was_written_to():
    """Its history cannot be made anew."""
    h = leaf([1.0, 2.0]) * 1
    y = function(lambda ctx, x: x.view(2), first).apply(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.grad_fn


@pytest.mark.parametrize(
    "forward",
    [lambda ctx, x, w: x, lambda ctx, x, w: x[:2], lambda ctx, x, w: (x[:1], x[1:]), lambda ctx, x, w: const([1.0, 2.0, 3.0])[:2]],
    ids=["an argument itself", "of an argument", "several", "of a temporary"],
)
@pytest.mark.parametrize("mode", [nbgrad.enable_grad, nbgrad.no_grad])
@pytest.mark.parametrize("through", ["base", "view", "view of it"])
def test_write_to_the_memory_of_a_view_of_a_constant(forward, mode, through):
    """The view has a history though its base has none: a recorded write through it is refused, any other ends its history."""
    x, w = const([1.0, 2.0]), leaf([3.0, 4.0])
    y = function(forward, lambda ctx, *g: (None, None)).apply(x, w)
    y = y[0] if isinstance(y, tuple) else y
    written = {"base": y._base, "view": y, "view of it": y.view(-1)}[through]
    with mode():
        if mode is nbgrad.enable_grad and through != "base":
            with pytest.raises(nbgrad.InplaceError, match="custom Function"):
                written.mul_(2)
            assert y.grad_fn is not None and not x.requires_grad and y._base.tolist()[:2] == [1.0, 2.0]
            return
        written.mul_(2)
    with pytest.raises(nbgrad.InplaceError, match="custom Function"):
        y.sum()
    assert y.detach().tolist() == [2.0, 4.0][: y.shape[0]]


def marked_slice(ctx, x):
    """A view without a gradient."""
    y = x[:]
    ctx.mark_non_differentiable(y)
    return y


OWNERS = {
    "leaf": lambda: leaf([1.0, 2.0]),
    "result": lambda: leaf([1.0, 2.0]) * 1,
    "view": lambda: (leaf([0.0, 1.0, 2.0]) * 1)[1:],
    "constant": lambda: const([1.0, 2.0]),
}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize(
    "apply, context",
    [
        (function(lambda ctx, x: x[:], first).apply, nbgrad.no_grad),
        (function(lambda ctx, x: x[:], first).apply, nbgrad.inference_mode),
        (function(marked_slice, first).apply, nbgrad.no_grad),
        (function(marked_slice, first).apply, nbgrad.enable_grad),
    ],
    ids=["no_grad", "inference_mode", "marked, no_grad", "marked"],
)
def test_a_view_of_an_argument_stays_one_without_history(apply, context, owner):
    """It is to autograd what the same slice is without a Function where nothing is recorded, and a write to it is seen as one."""
    x, z = OWNERS[owner](), OWNERS[owner]()
    with context():
        y = apply(x)
    with nbgrad.no_grad() if context is nbgrad.enable_grad else context():
        plain = z[:]
    for made, own in ((y, x), (plain, z)):
        assert made._is_view() and made._base is (own if own._base is None else own._base)
    assert (y.requires_grad, y.grad_fn, y.is_inference()) == (plain.requires_grad, None, False)
    if x.requires_grad:
        for made in (y, plain):
            with pytest.raises(RuntimeError):
                made.mul_(5)
    else:
        y.mul_(5)
        assert x.tolist() == [5.0, 10.0]


def test_input_returned_without_recording():
    """A leaf returned as it is comes back detached under ``no_grad``; a constant comes back as a view."""
    F, x, c = function(lambda ctx, x: x, first), leaf([1.0]), const([1.0])
    with nbgrad.no_grad():
        y = F.apply(x)
    z = F.apply(c)
    assert y is not x and not y.requires_grad and x.requires_grad
    assert z is not c and z._base is c and z.is_leaf


# ---- the context -----------------------------------------------------------------------------------------------------
def test_node_class():
    """Every Function class has a class of nodes of its own."""
    y = Double.apply(leaf([1.0]))
    assert type(y.grad_fn) is Double._backward_cls and type(y.grad_fn).__name__ == "DoubleBackward"
    assert isinstance(y.grad_fn, nbgrad.FunctionCtx) and isinstance(y.grad_fn, nbgrad.graph.Node)
    assert y.grad_fn._forward_cls is Double


def test_node_lists_the_tensors_among_the_arguments():
    """``next_functions`` and the hooks of a node leave out arguments that are no tensors."""
    seen = []
    y = function(lambda ctx, x, n, c: x * n, lambda ctx, g: (g, None, None)).apply(leaf([1.0]), 3, const([1.0]))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    y.sum().backward()
    names = [node and node.name() for node, _ in y.grad_fn.next_functions]
    assert names == ["torch::autograd::AccumulateGrad", None] and seen == [(2, 1)]


def test_hooks_and_metadata_in_forward():
    """The ctx is the node already: hooks and metadata that ``forward`` puts on it are there in the pass."""
    seen = []

    def forward(ctx, x):
        ctx.metadata["name"] = "double"
        ctx.register_hook(lambda inputs, outputs: seen.append(ctx.metadata["name"]))
        return x * 2

    function(forward, lambda ctx, g: g * 2).apply(leaf([1.0])).sum().backward()
    assert seen == ["double"]


def test_saved_tensors_by_the_old_name():
    """``saved_variables`` warns and gives the same."""
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx, g):
        with pytest.warns(DeprecationWarning):
            seen.append(ctx.saved_variables[0] is ctx.saved_tensors[0])
        return g

    function(forward, backward).apply(leaf([1.0])).sum().backward()
    assert seen == [True]


def test_hooks_on_one_saved_tensor():
    """``_raw_saved_tensors`` takes hooks for each, also for results, and once only."""
    x = leaf([0.0, 1.0])
    y = Exp.apply(x)
    (raw,) = y.grad_fn._raw_saved_tensors
    raw.register_hooks(lambda t: (t * 3).tolist(), lambda values: const(values))
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([3.0, 3.0 * math.e])
    with pytest.raises(RuntimeError):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_none_has_no_hooks():
    """A saved None cannot be packed."""

    def forward(ctx, x):
        ctx.save_for_backward(None)
        return x * 1

    (raw,) = function(forward, first).apply(leaf([1.0])).grad_fn._raw_saved_tensors
    with pytest.raises(RuntimeError, match="None"):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_saved_tensors_freed_by_hand():
    """``maybe_clear_saved_tensors`` frees in ``backward`` already, unless the pass keeps its graph."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx, g):
        ctx.maybe_clear_saved_tensors()
        return ctx.saved_tensors[0] * g

    y = function(forward, backward).apply(leaf([1.0])).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_nodes_cannot_be_copied_or_pickled():
    """They belong to their graph."""
    node = Double.apply(leaf([1.0])).grad_fn
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="DoubleBackward"):
            attempt(node)


def test_node_called_by_hand():
    """``apply`` of a node runs the Function's backward."""
    assert Double.apply(leaf([1.0])).grad_fn.apply(const([3.0])).tolist() == [6.0]


def test_what_cannot_be_saved_is_not_looked_at_without_need():
    """``save_for_backward`` of a number is an error only where something is recorded."""

    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 1

    F = function(forward, first)
    assert F.apply(const([1.0])).tolist() == [1.0]
    with pytest.raises(TypeError):
        F.apply(leaf([1.0]))


def test_set_materialize_grads_takes_a_bool():
    """Anything else is refused."""
    with pytest.raises(TypeError):
        function(lambda ctx, x: ctx.set_materialize_grads(0), first).apply(leaf([1.0]))


def test_zeros_for_integer_results():
    """A result that has no gradient gets zeros of its own dtype."""
    seen = []
    x = leaf([1.0, 3.0])
    y, k = function(lambda ctx, x: (x * 1, x.argmax()), lambda ctx, g, h: seen.append(h) or g).apply(x)
    y.sum().backward()
    assert not k.requires_grad and seen[0].dtype is nbgrad.int64 and seen[0].item() == 0


# ---- other forms -----------------------------------------------------------------------------------------------------
def test_defaults_reach_setup_context():
    """``setup_context`` is shown arguments that the caller left out."""
    seen = []
    F = function(lambda x, k=2: x * k, lambda ctx, g: (g, None), setup_context=lambda ctx, inputs, output: seen.append(inputs[1]))
    F.apply(leaf([1.0]))
    F.apply(leaf([1.0]), k=7)
    assert seen == [2, 7]


@pytest.mark.parametrize("forward", [lambda ctx, x, *, k=2: x * k, lambda ctx, x, **others: x])
def test_arguments_by_name_only(forward):
    """They would have no place among the gradients."""
    with pytest.raises(TypeError, match="k"):
        function(forward, first).apply(leaf([1.0]), k=3)


def test_base_class_cannot_be_applied():
    """Function itself has no forward."""
    with pytest.raises(NotImplementedError):
        nbgrad.Function.apply(leaf([1.0]))


@pytest.mark.parametrize("name", ["backward", "vjp", "jvp", "vmap", "setup_context"])
def test_missing_methods(name):
    """Each says that it is missing."""
    with pytest.raises(NotImplementedError):
        getattr(nbgrad.Function, name)(None, (), None)


def test_retired_forms():
    """InplaceFunction knows what it was told; NestedIOFunction cannot be applied."""
    with pytest.warns(DeprecationWarning):
        assert nbgrad.InplaceFunction(True).inplace and not nbgrad.InplaceFunction().inplace
    with pytest.raises(AttributeError):
        type("N", (nbgrad.NestedIOFunction,), {}).apply(leaf([1.0]))


def test_generated_batch_rule_or_own():
    """The rule for ``vmap`` is one of two, and of a Function whose forward takes no ctx."""

    def setup_context(ctx, inputs, output):
        """Nothing to save."""

    def rule(info, in_dims, x):
        return x, 0

    own = function(lambda x: x, first, setup_context=setup_context, vmap=rule)
    generated = function(lambda x: x, first, setup_context=setup_context)
    generated.generate_vmap_rule = True
    assert vmap_rule(own) is rule and vmap_rule(generated) is None
    own.generate_vmap_rule = True
    for wrong in (own, function(lambda x: x, first, setup_context=setup_context), function(identity, first)):
        with pytest.raises(RuntimeError):
            vmap_rule(wrong)


def test_special_modes_see_a_call_by_the_name_of_its_class():
    """To what watches calls, a Function is an operation like others."""
    seen = []

    class Watch(Presence):
        """Notes the operations."""

        def seen(self, op, operands, out):
            seen.append(op.name)

    watch, x = Watch(), leaf([1.0])
    special.append(watch)
    try:
        Double.apply(x)
    finally:
        special.remove(watch)
    assert seen == ["mul", "Double"]


# ---- what nobody checks ----------------------------------------------------------------------------------------------
def test_undefined_gradients_without_zeros():
    """Where nothing came in and zeros are not wanted, backward still runs, on None."""
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1

    stop = function(identity, lambda ctx, g: None)
    stop.apply(function(forward, lambda ctx, g: seen.append(g) or g).apply(leaf([2.0]))).sum().backward()
    assert seen == [None]


def test_saved_output_comes_back_on_its_node():
    """What backward reads of a saved output has the Function's node as its history."""
    seen = []

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    y = function(forward, lambda ctx, g: seen.append(ctx.saved_tensors[0].grad_fn is ctx) or g).apply(leaf([0.0]))
    y.sum().backward()
    assert seen == [True]


def test_tensors_kept_as_attributes_are_not_guarded():
    """An attribute of ctx is neither compared by version nor freed: a later write is what backward sees, pass after pass."""

    def forward(ctx, x):
        ctx.x = x
        return x * 1

    x = leaf([2.0])
    h = x * 1
    y = function(forward, lambda ctx, g: g * ctx.x.detach()).apply(h).sum()
    h.detach().mul_(5)
    y.backward()
    assert x.grad.tolist() == [10.0] and y.grad_fn.next_functions[0][0].x is h


def test_undeclared_write():
    """A change that forward keeps to itself leaves the input's history alone; only the version tells."""
    h = leaf([1.0]) * 1
    node = h.grad_fn
    function(lambda ctx, x: x.mul_(2) * 1, first).apply(h)
    assert h.grad_fn is node and h._version == 1 and h.tolist() == [2.0]


def test_tensors_inside_dicts_are_not_seen():
    """A dict of outputs comes back as it is, without history."""
    made = function(lambda ctx, x: {"y": x * 1}, first).apply(leaf([2.0]))
    assert type(made) is dict and not made["y"].requires_grad


def test_what_setup_context_returns_is_ignored():
    """Only what it does to ctx counts."""
    F = function(lambda x: x * 2, lambda ctx, g: g * 2, setup_context=lambda ctx, inputs, output: "nothing")
    x = leaf([1.0])
    y = F.apply(x)
    y.sum().backward()
    assert y.tolist() == x.grad.tolist() == [2.0]


def test_boolean_outputs_are_not_differentiable():
    """A comparison among the outputs does not require grad; the other output does."""
    y, mask = function(lambda ctx, x: (x * 1, x > 0), lambda ctx, g, h: g).apply(leaf([2.0]))
    assert y.requires_grad and not mask.requires_grad and mask.tolist() == [True]


@pytest.mark.parametrize("name", ["forward_extended", "backward_extended"])
def test_retired_protocol_has_to_be_overridden(name):
    """NestedIOFunction is a Function whose own methods do nothing."""
    assert issubclass(nbgrad.NestedIOFunction, nbgrad.Function)
    with pytest.raises(NotImplementedError):
        getattr(nbgrad.NestedIOFunction, name)(None, 1)


def test_a_list_of_tensors_cannot_be_saved():
    """``save_for_backward`` takes tensors one by one."""
    with pytest.raises(TypeError):
        function(lambda ctx, x: ctx.save_for_backward([x]) or x * 1, first).apply(leaf([2.0]))


def test_once_differentiable_runs_without_recording():
    """A backward marked so sees grad mode off although the pass creates a graph."""
    seen, x = [], leaf([2.0])
    F = function(identity, nbgrad.once_differentiable(lambda ctx, g: seen.append(nbgrad.is_grad_enabled()) or g))
    nbgrad.grad(F.apply(x).sum(), x, create_graph=True)
    assert seen == [False]


# ---- flags of a class ------------------------------------------------------------------------------------------------
def flagged(forward, backward, **flags):
    """A Function class with class attributes."""
    made = function(forward, backward)
    for name, value in flags.items():
        setattr(made, name, value)
    return made


def test_saved_tensors_that_are_freed_at_the_first_access():
    """With ``clear_saved_tensors_on_access`` one access works and frees what was saved; the next is an error that says so."""
    F, held = flagged(Square.forward, Square.backward, clear_saved_tensors_on_access=True), []

    def freeing(ctx, g):
        (x,) = ctx.saved_tensors
        held.append(ctx._raw_saved_tensors)
        return 2 * x * g

    x = leaf([1.0, 2.0])
    assert nbgrad.grad(F.apply(x).sum(), x)[0].tolist() == [2.0, 4.0]
    looking = flagged(Square.forward, freeing, clear_saved_tensors_on_access=True)
    assert nbgrad.grad(looking.apply(x).sum(), x)[0].tolist() == [2.0, 4.0]
    assert held == [()]
    twice = flagged(
        Square.forward, lambda ctx, g: (ctx.saved_tensors, Square.backward(ctx, g))[1], clear_saved_tensors_on_access=True
    )
    with pytest.raises(RuntimeError, match="accessed before"):
        nbgrad.grad(twice.apply(x).sum(), x)
    y = F.apply(x)
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="accessed before"):
        y.sum().backward()


@pytest.mark.parametrize("flag", [False, True])
def test_cotangents_in_one_list(flag):
    """With ``boxed_grads_call`` backward gets them in a list, which it may empty; by hand and by generated rules for vmap too."""
    seen = []

    def backward(ctx, *grads):
        if flag:
            (boxed,) = grads
            grads = tuple(boxed)
            boxed.clear()
        seen.append(len(grads))
        return 2 * grads[0]

    F = flagged(lambda ctx, x: (x * 2, x * 3), backward, boxed_grads_call=flag)
    x = leaf([1.0, 2.0])
    first, second = F.apply(x)
    assert nbgrad.grad(first.sum(), x)[0].tolist() == [2.0, 2.0]
    G = type(
        "G",
        (nbgrad.Function,),
        {
            "forward": staticmethod(lambda x: x * 2),
            "setup_context": staticmethod(lambda *args: None),
            "backward": staticmethod(backward),
            "generate_vmap_rule": True,
            "boxed_grads_call": flag,
        },
    )
    batch = nbgrad.vmap(nbgrad.func.grad(lambda x: G.apply(x).sum()))(nbgrad.ones(3, 2))
    assert batch.tolist() == [[2.0, 2.0]] * 3
    assert G.apply(x).grad_fn.apply(const([1.0, 3.0])).tolist() == [2.0, 6.0]
    assert seen == [2, 1, 1]


@pytest.mark.parametrize("value", [1, None, "yes"])
@pytest.mark.parametrize("name", ["clear_saved_tensors_on_access", "boxed_grads_call"])
def test_flags_must_be_bools(name, value):
    """The first call says so, whether it is recorded or not."""
    for x in (leaf([1.0]), const([1.0])):
        with pytest.raises(TypeError, match=f"{name} must be a bool"):
            flagged(identity, first, **{name: value}).apply(x)
