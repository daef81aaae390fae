"""The two entry points: ``backward`` and ``grad``, their arguments, and what they leave behind."""

from __future__ import annotations

import math
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest

import nbgrad
from tests.helpers import const, leaf


# ---- the seed of a root ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_root_is_seeded_with_one_of_its_shape(shape):
    """A root of one element, whatever its rank, needs no gradient: the seed is a one of its shape and dtype."""
    x = nbgrad.ones(shape, dtype=nbgrad.float32, requires_grad=True)
    y = x.to(nbgrad.float64) * 3
    seeds = []
    y.register_hook(seeds.append)
    y.backward()
    assert (tuple(seeds[0].shape), seeds[0].dtype, seeds[0].item()) == (shape, nbgrad.float64, 1.0)
    assert x.grad.item() == 3.0


@pytest.mark.parametrize("n", [0, 2])
def test_root_of_other_sizes_needs_a_gradient(n):
    """Only a root of exactly one element has an implicit seed, in both entry points."""
    x = nbgrad.ones(n, requires_grad=True)
    with pytest.raises(RuntimeError):
        (x * 2).backward()
    with pytest.raises(RuntimeError):
        nbgrad.grad(x * 2, x)


def test_complex_root_has_no_implicit_seed():
    """A complex scalar root is refused without a gradient, since one is not the derivative of anything real."""
    z = leaf(1 + 2j, nbgrad.complex128)
    with pytest.raises(RuntimeError):
        (z * z).backward()


def test_complex_root_takes_an_explicit_seed():
    """With an explicit complex seed g a holomorphic root gives g * conj(f'(z))."""
    z = leaf(1 + 2j, nbgrad.complex128)
    (z * z).backward(const(1j, nbgrad.complex128))
    assert z.grad.item() == 1j * (2 * (1 + 2j)).conjugate()


def test_none_in_the_gradient_list_is_the_implicit_seed():
    """None stands for the seed of one, root by root."""
    x = leaf(3.0)
    nbgrad.backward([x * 2, x * 5], [None, const(10.0)])
    assert x.grad.item() == 52.0


def written_in_hook(x):
    """The hook of a result, and a leaf's, write to what they get."""
    y = x + 0
    y.register_hook(lambda g: g.mul_(3))
    handle = x.register_hook(lambda g: g.mul_(3))
    y.backward()
    handle.remove()


def written_by_node_hooks(x):
    """Hooks before and after a node write to what they get."""
    y = x + 0
    y.grad_fn.register_prehook(lambda grads: grads[0].mul_(3) and None)
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0].mul_(3), outputs[0].mul_(3)) and None)
    y.backward()


def written_by_function(x):
    """A Function's backward writes to its cotangent."""

    class Tripled(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g.mul_(3)

    Tripled.apply(x).backward()


def written_when_saved(x):
    """What a recorded pass saved is written to."""
    y = leaf(3.0)
    (g,) = nbgrad.grad(x * y, x, create_graph=True)
    assert g.grad_fn.name() == "MulBackward0"
    for name in ("_saved_self", "_saved_other"):
        if (saved := getattr(g.grad_fn, name)) is not None and saved is not y:
            saved.mul_(3)


WRITERS = [
    written_in_hook,
    written_by_node_hooks,
    written_by_function,
    written_when_saved,
    lambda x: nbgrad.grad(x + 0, x)[0].mul_(3),
    lambda x: nbgrad.grad(x.clone(), [x], create_graph=True)[0].mul_(3),
    lambda x: nbgrad.grad(y := x * 2, [y])[0].mul_(3),
    lambda x: np.multiply(g := nbgrad.grad(x + 0, x)[0].numpy(), 3, out=g),
    lambda x: nbgrad.grad((y := x.expand(4)).sum(), y)[0][0].mul_(3),
    lambda x: nbgrad.func.grad(lambda x: x)(x).mul_(3),
    lambda x: nbgrad.func.grad_and_value(lambda x: x + 0)(x)[0].mul_(3),
    lambda x: nbgrad.func.vmap(nbgrad.func.grad(lambda x: x + 0))(x.detach().expand(3)).mul_(3),
    lambda x: ((x + 0).backward(), x.grad.mul_(3)),
]


@pytest.mark.parametrize("write", WRITERS)
def test_nobody_can_change_the_seed_of_later_passes(write):
    """Whoever writes to a gradient that a pass gave away changes no other pass: the derivative of x and of a sum stays 1."""
    write(leaf(2.0))
    x, xs = leaf(2.0), leaf([2.0, 3.0])
    x.backward()
    xs.sum().backward()
    assert (x.grad.item(), xs.grad.tolist()) == (1.0, [1.0, 1.0])


def test_an_expanded_gradient_stays_expanded():
    """The gradient of a sum that ``grad`` returns shows one element everywhere, as the cotangent does that it is a view of."""
    x = nbgrad.ones(4, requires_grad=True)
    (g,) = nbgrad.grad(x.sum(), x)
    assert (g.stride(), g.tolist()) == ((0,), [1, 1, 1, 1])


@pytest.mark.parametrize("shape", [(3,), (3, 2), (), (1, 2, 3)])
def test_seed_must_have_the_shape_of_the_root(shape):
    """A seed that would merely broadcast to the root's shape (2, 3), or transpose to it, is refused."""
    x = nbgrad.ones((2, 3), requires_grad=True)
    with pytest.raises(RuntimeError):
        (x * 2).backward(nbgrad.ones(shape))


@pytest.mark.parametrize("seed", [1.0, "a", [1.0]])
def test_seed_must_be_a_tensor(seed):
    """A number, a string or a list where a seed tensor is expected is a TypeError."""
    x = leaf(2.0)
    with pytest.raises(TypeError):
        nbgrad.grad([x * 2], [x], [seed])


def test_fewer_seeds_than_roots():
    """Every root needs its entry in the list of seeds."""
    x = leaf(2.0)
    with pytest.raises(RuntimeError):
        nbgrad.backward([x * 2, x * 3], [const(1.0)])


def test_complex_seed_for_a_real_root():
    """A complex seed has no meaning for a real root."""
    x = leaf(2.0)
    with pytest.raises(RuntimeError):
        (x * 2).backward(const(1j, nbgrad.complex128))


def test_real_seed_for_a_complex_root():
    """A real seed for a complex root is refused rather than widened."""
    z = leaf(1j, nbgrad.complex128)
    with pytest.raises(RuntimeError):
        (z * 2).backward(const(1.0))


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.float32])
def test_seed_of_another_floating_dtype_is_cast(dtype):
    """A real seed of another precision enters the graph in the root's dtype."""
    x = leaf([1.0, 2.0])
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.dtype))
    y.backward(nbgrad.ones(2, dtype=dtype))
    assert seen == [nbgrad.float64] and x.grad.dtype == nbgrad.float64


def test_seed_that_requires_grad_needs_no_create_graph():
    """A differentiable seed is accepted in a plain pass, and the result carries no history."""
    x, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (g,) = nbgrad.grad(x * 2, x, seed)
    assert g.tolist() == [6.0, 8.0] and not g.requires_grad


def test_seed_is_never_written_to():
    """Neither a sum over paths nor later accumulation into ``.grad`` changes the tensor that the caller passed."""
    x, seed = leaf([1.0, 2.0]), const([1.0, 1.0])
    y = x + 0
    nbgrad.backward([y, y * 2, x], [seed, seed, seed])
    x.backward(seed)
    assert x.grad.tolist() == [5.0, 5.0]
    assert seed.tolist() == [1.0, 1.0]


# ---- roots -----------------------------------------------------------------------------------------------------------
def test_root_without_history():
    """A root that does not require grad cannot be differentiated."""
    c, x = const(1.0), leaf(1.0)
    with pytest.raises(RuntimeError):
        c.backward()
    with pytest.raises(RuntimeError):
        nbgrad.grad(c, x)


@pytest.mark.parametrize("seed", [None, 1.0])
def test_one_root_without_history_among_good_ones(seed):
    """A constant among the roots is refused with and without a seed of its own."""
    x, c = leaf(1.0), const(2.0)
    with pytest.raises(RuntimeError):
        nbgrad.backward([x * 2, c], [None, None if seed is None else const(seed)])


@pytest.mark.parametrize("pack", [lambda y: y, lambda y: [y], lambda y: (y,)])
def test_roots_may_be_a_tensor_a_list_or_a_tuple(pack):
    """Roots may be given bare or in a sequence; the result of ``grad`` is a tuple in each case."""
    x = leaf(2.0)
    result = nbgrad.grad(pack(x * x), pack(x), pack(const(1.0)))
    assert type(result) is tuple and [g.item() for g in result] == [4.0]


def test_several_roots_add_up():
    """The gradients of all roots are summed."""
    x = leaf(3.0)
    nbgrad.backward([x * 2, x * x])
    assert x.grad.item() == 8.0


def test_several_roots_are_one_pass():
    """A node below several roots runs once, on the sum of what they send."""
    x = leaf(3.0)
    h = x * x
    seen = []
    h.register_hook(lambda g: seen.append(g.item()))
    nbgrad.backward([h * 2, h * 5])
    assert seen == [7.0]


def test_root_listed_twice_is_seeded_twice():
    """Listing a root twice doubles its seed."""
    x = leaf(3.0)
    y = x * 2
    assert nbgrad.grad([y, y], x)[0].item() == 4.0


def test_leaf_root_listed_twice():
    """A leaf as its own root accumulates each seed given for it."""
    x = leaf(3.0)
    nbgrad.backward([x, x], [const(1.0), const(10.0)])
    assert x.grad.item() == 11.0


def test_leaf_as_root():
    """The derivative of a leaf by itself is the seed."""
    x = leaf(3.0)
    x.backward(const(7.0))
    assert x.grad.item() == 7.0
    assert nbgrad.grad(x, x)[0].item() == 1.0


def test_root_as_input():
    """``grad(y, y, g)`` is ``g``, though no node lies between."""
    y = leaf(3.0) * 2
    assert nbgrad.grad(y, y, const(7.0))[0].item() == 7.0


def test_no_roots_is_no_work():
    """An empty list of roots is legal and leaves every gradient alone."""
    x = leaf(1.0)
    nbgrad.backward([])
    assert x.grad is None


def test_edge_as_root_after_the_tensor_died():
    """The gradient edge of a tensor stands in for it as a root once the tensor itself is gone."""
    x = leaf(3.0)
    y = x * x
    edge = nbgrad.graph.get_gradient_edge(y)
    del y
    assert nbgrad.grad(edge, x, const(1.0))[0].item() == 6.0


def test_edge_of_one_element_root_is_seeded():
    """An edge knows the shape of its gradient, so a one-element edge needs no seed."""
    x = leaf(3.0)
    nbgrad.backward(nbgrad.graph.get_gradient_edge(x * x))
    assert x.grad.item() == 6.0


# ---- inputs ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [lambda y: y.backward(inputs=[]), lambda y: nbgrad.grad(y, [])])
def test_empty_inputs_are_refused(call):
    """Asking for the gradients of no inputs is an error, not a pass over everything."""
    x = leaf(3.0)
    with pytest.raises(RuntimeError):
        call(x * 2)
    assert x.grad is None


def test_unused_input_is_refused():
    """An input that the roots do not depend on is an error by default."""
    x, w = leaf(1.0), leaf(1.0)
    with pytest.raises(RuntimeError):
        nbgrad.grad(x * 2, [x, w])


def test_unused_input_allowed():
    """With ``allow_unused`` the place of an unused input is None."""
    x, w = leaf(1.0), leaf(1.0)
    g, none = nbgrad.grad(x * 2, [x, w], allow_unused=True)
    assert g.item() == 2.0 and none is None


def test_input_without_requires_grad():
    """An input that does not require grad is an error that ``allow_unused`` does not excuse."""
    x, c = leaf(1.0), const(1.0)
    with pytest.raises(RuntimeError):
        nbgrad.grad(x * c, c, allow_unused=True)


def test_input_that_is_no_tensor():
    """An input must be a tensor or a gradient edge."""
    x = leaf(1.0)
    with pytest.raises(RuntimeError):
        nbgrad.grad(x * 2, [1.0])


def test_fresh_view_is_an_unused_input():
    """A view taken after the fact shares memory with a used tensor and is still not part of its graph."""
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    with pytest.raises(RuntimeError):
        nbgrad.grad(y, x.view(2))


def test_materialized_zeros_for_unused_inputs():
    """``materialize_grads`` puts zeros of the input's shape and dtype where None would stand."""
    x, w = leaf(1.0), nbgrad.ones((2, 3), dtype=nbgrad.float32, requires_grad=True)
    zeros = nbgrad.grad(x * 2, [x, w], materialize_grads=True)[1]
    assert zeros.tolist() == [[0.0] * 3] * 2 and zeros.dtype == nbgrad.float32


@pytest.mark.parametrize("create_graph", [False, True])
def test_materialized_zeros_require_grad_as_the_results_do(create_graph):
    """Zeros made for an unused input require grad exactly when the pass creates a graph."""
    x, w = leaf(1.0), leaf(1.0)
    zeros = nbgrad.grad(x * x, [x, w], materialize_grads=True, create_graph=create_graph)[1]
    assert zeros.requires_grad is create_graph and zeros.is_leaf


def test_materialize_contradicts_allow_unused_false():
    """``materialize_grads=True`` with an explicit ``allow_unused=False`` cannot be met."""
    x = leaf(1.0)
    with pytest.raises(ValueError):
        nbgrad.grad(x * 2, x, allow_unused=False, materialize_grads=True)


def test_materialize_cannot_invent_zeros_for_an_unused_edge():
    """No tensor is at hand whose shape the zeros of an unused edge could take."""
    x, w = leaf(1.0), leaf(1.0)
    edge = nbgrad.graph.get_gradient_edge(w * 2)
    with pytest.raises(RuntimeError):
        nbgrad.grad(x * 2, edge, materialize_grads=True)


def test_input_listed_twice():
    """Each position of a repeated input gets the full gradient."""
    x = leaf(3.0)
    assert [g.item() for g in nbgrad.grad(x * x, [x, x])] == [6.0, 6.0]


def test_results_follow_the_order_of_inputs():
    """Results stand in the order of the inputs, whatever order the graph is walked in."""
    x, y, z = leaf(2.0), leaf(3.0), leaf(5.0)
    out = (x * y) * z
    assert [g.item() for g in nbgrad.grad(out, [z, x, y])] == [6.0, 15.0, 10.0]


def test_input_and_its_ancestor():
    """When both a tensor and something it was computed from are asked for, both derivatives are total."""
    x = leaf(3.0)
    h = x * x
    y = h * h + x
    gx, gh = nbgrad.grad(y, [x, h])
    assert (gx.item(), gh.item()) == (4 * 27.0 + 1, 18.0)


def test_grad_stops_at_a_non_leaf_and_leaves_the_rest_unvisited():
    """What lies below the inputs is neither run nor freed, so it can be walked later."""
    x = leaf(3.0)
    h = x * x
    y = h * h
    assert nbgrad.grad(y, h)[0].item() == 18.0
    h.backward()
    assert x.grad.item() == 6.0


def test_grad_frees_only_the_path_to_its_inputs():
    """The saved tensors of a branch that does not lead to an input survive the pass."""
    x, w = leaf(2.0), leaf(3.0)
    a, b = x * x, w * w
    y = a + b
    nbgrad.grad(y, x)
    assert nbgrad.grad(y, w)[0].item() == 6.0
    with pytest.raises(RuntimeError):
        nbgrad.grad(y, x)


def test_edge_as_input():
    """The gradient by an edge is the gradient by its tensor."""
    x = leaf(3.0)
    h = x * x
    y = h * h
    edge = nbgrad.graph.get_gradient_edge(h)
    assert nbgrad.grad(y, edge)[0].item() == 18.0


def test_edge_outlives_an_inplace_change():
    """An edge taken before an in-place write names the old value, the tensor the new one."""
    x = leaf(3.0)
    h = x * 2
    edge = nbgrad.graph.get_gradient_edge(h)
    h.mul_(5)
    assert [g.item() for g in nbgrad.grad(h * 7, [h, edge])] == [7.0, 35.0]


def test_inputs_as_a_dict():
    """A dict of inputs gives a dict of gradients under the same keys in the same order."""
    x, w = leaf(2.0), leaf(3.0)
    result = nbgrad.grad(x * w, {"w": w, "x": x})
    assert [(key, g.item()) for key, g in result.items()] == [("w", 2.0), ("x", 3.0)]


# ---- backward(inputs=) -----------------------------------------------------------------------------------------------
def test_backward_inputs_limits_accumulation():
    """``backward(inputs=)`` accumulates into the tensors listed and into no other leaf."""
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[x])
    assert x.grad.item() == 3.0 and w.grad is None


def test_backward_inputs_takes_a_single_tensor():
    """A single tensor stands for a list of one."""
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=w)
    assert w.grad.item() == 2.0 and x.grad is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_backward_inputs_fills_grad_of_a_non_leaf():
    """A non-leaf among ``inputs`` receives and accumulates ``.grad`` as a leaf would."""
    x = leaf(3.0)
    h = x * x
    y = h * 5
    y.backward(inputs=[h], retain_graph=True)
    y.backward(inputs=[h])
    assert h.grad.item() == 10.0 and x.grad is None


def test_backward_inputs_takes_the_edge_of_a_leaf():
    """The edge of a leaf accumulates into the leaf's ``.grad``."""
    x, w = leaf(2.0), leaf(3.0)
    (x * w).backward(inputs=[nbgrad.graph.get_gradient_edge(x)])
    assert x.grad.item() == 3.0 and w.grad is None


def test_backward_inputs_refuses_constants():
    """A tensor that does not require grad cannot accumulate."""
    x, c = leaf(2.0), const(3.0)
    with pytest.raises(RuntimeError):
        (x * c).backward(inputs=[x, c])


def test_backward_inputs_tolerates_unreachable_leaves():
    """A leaf that the root does not depend on simply keeps ``.grad`` None."""
    x, w = leaf(2.0), leaf(3.0)
    (x * 2).backward(inputs=[x, w])
    assert x.grad.item() == 2.0 and w.grad is None


# ---- what a pass leaves ----------------------------------------------------------------------------------------------
def test_backward_accumulates():
    """Each ``backward`` adds to ``.grad`` of every leaf it reaches."""
    x, w = leaf(3.0), leaf(2.0)
    (x * w).backward()
    (x * w).backward()
    assert (x.grad.item(), w.grad.item()) == (4.0, 6.0)


def test_grad_touches_no_grad_attribute():
    """``grad`` returns gradients and stores none, not even those of its inputs."""
    x, w = leaf(3.0), leaf(2.0)
    nbgrad.grad(x * w, x)
    assert x.grad is None and w.grad is None


def test_grad_of_a_non_leaf_is_not_kept():
    """``.grad`` of an intermediate stays None, and reading it warns."""
    x = leaf(3.0)
    h = x * 2
    (h * h).backward()
    with pytest.warns(UserWarning):
        assert h.grad is None


def test_second_pass_over_freed_tensors():
    """A pass without ``retain_graph`` frees what its nodes saved, and the next one says so."""
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


def test_failed_second_pass_accumulates_nothing():
    """The refused second pass leaves ``.grad`` as the first one made it."""
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()
    assert x.grad.item() == 6.0


@pytest.mark.parametrize(
    "f",
    [lambda x: x + x, lambda x: x.sum(), lambda x: x.mean(), lambda x: -x, lambda x: x.t(), lambda x: x[0], lambda x: x - 1.0],
    ids=["add", "sum", "mean", "neg", "t", "select", "sub_number"],
)
def test_second_pass_where_nothing_was_saved(f):
    """A graph whose nodes saved no tensor can be walked again without ``retain_graph``."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = f(x)
    seed = nbgrad.ones_like(y)
    y.backward(seed)
    once = x.grad.clone()
    y.backward(seed)
    assert x.grad.tolist() == (2 * once).tolist()


def test_retain_graph_allows_repetition():
    """With ``retain_graph`` a pass can be repeated, and the last one may free."""
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 18.0


def test_create_graph_implies_retain_graph():
    """``retain_graph`` left at None follows ``create_graph``."""
    x = leaf(3.0)
    y = x * x
    nbgrad.grad(y, x, create_graph=True)
    assert nbgrad.grad(y, x)[0].item() == 6.0


def test_create_graph_with_retain_graph_false_frees():
    """An explicit ``retain_graph=False`` frees the first graph though a second one was recorded."""
    x = leaf(3.0)
    y = x * x
    nbgrad.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError):
        nbgrad.grad(y, x)


def test_create_graph_results_have_history():
    """Under ``create_graph`` the results can be differentiated again."""
    x = leaf(3.0)
    (g,) = nbgrad.grad(x * x * x, x, create_graph=True)
    assert g.grad_fn is not None
    assert nbgrad.grad(g, x)[0].item() == 18.0


def test_plain_results_have_no_history():
    """Without ``create_graph`` the results are plain tensors."""
    x = leaf(3.0)
    (g,) = nbgrad.grad(x * x * x, x)
    assert g.grad_fn is None and not g.requires_grad


def test_create_graph_records_inside_no_grad():
    """``create_graph`` alone decides whether the pass records, whatever the caller's grad mode."""
    x = leaf(3.0)
    y = x * x * x
    with nbgrad.no_grad():
        (g,) = nbgrad.grad(y, x, create_graph=True)
    assert nbgrad.grad(g, x)[0].item() == 18.0


def test_seed_takes_part_in_the_created_graph():
    """Under ``create_graph`` the result is differentiable by the seed: it is linear in it, with slope J."""
    x = leaf([1.0, 2.0])
    v = leaf([0.0, 0.0])
    (jtv,) = nbgrad.grad(x * x, x, v, create_graph=True)
    (jt,) = nbgrad.grad(jtv, v, const([5.0, 7.0]))
    assert jt.tolist() == [10.0, 28.0]


def test_backward_method_signature():
    """``Tensor.backward`` takes gradient, retain_graph, create_graph and inputs, in that order."""
    x, w = leaf([1.0, 2.0]), leaf([1.0, 1.0])
    y = x * w
    y.backward(const([1.0, 10.0]), True, False, [x])
    y.backward(gradient=const([1.0, 10.0]), retain_graph=None, create_graph=False, inputs=[x])
    assert x.grad.tolist() == [2.0, 20.0] and w.grad is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_backward_create_graph_gives_grad_a_history():
    """``backward(create_graph=True)`` leaves a ``.grad`` that can be differentiated."""
    x = leaf(3.0)
    (x * x * x).backward(create_graph=True)
    (second,) = nbgrad.grad(x.grad, x)
    x.grad = None
    assert second.item() == 18.0


def test_tensor_used_on_several_paths():
    """A tensor used several times gets the sum over its uses."""
    x = leaf(3.0)
    (x * x + 4 * x + x.exp() * 0).backward()
    assert x.grad.item() == 10.0


def test_unused_output_of_a_split_counts_as_zero():
    """The part of a multi-output op that did not reach the root contributes zeros."""
    x = leaf([1.0, 2.0, 3.0])
    x.split(1)[1].sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


# ---- kinds of arguments ----------------------------------------------------------------------------------------------
def test_backward_takes_the_cotangents_under_their_old_name():
    """``grad_variables`` works, with a warning; both names at once do not."""
    x = leaf([1.0, 2.0])
    with pytest.warns(FutureWarning, match="grad_variables"):
        nbgrad.backward(x * 2, grad_variables=const([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 20.0]
    with pytest.warns(FutureWarning), pytest.raises(nbgrad.GradError, match="both"):
        nbgrad.backward(x * 2, const([1.0, 1.0]), grad_variables=const([1.0, 1.0]))


def test_a_dict_of_inputs():
    """``grad`` returns a dict with its keys; ``backward`` takes its values."""
    inputs = {"a": leaf(2.0), "b": leaf(3.0)}
    y = inputs["a"] * inputs["b"]
    grads = nbgrad.grad(y, inputs, retain_graph=True)
    assert {name: g.item() for name, g in grads.items()} == {"a": 3.0, "b": 2.0}
    y.backward(inputs=inputs)
    assert inputs["a"].grad.item() == 3.0


@pytest.mark.parametrize("call", [lambda y, inputs: nbgrad.grad(y, inputs), lambda y, inputs: nbgrad.backward(y, inputs=inputs)])
@pytest.mark.parametrize("mapping", [OrderedDict, MappingProxyType])
def test_other_mappings_of_inputs(call, mapping):
    """Only a dict comes back as it went in."""
    x = leaf(2.0)
    with pytest.raises(nbgrad.ArgumentError, match="dict"):
        call(x * 1, mapping({"x": x}))


def test_roots_and_inputs_may_be_generators():
    """Anything that can be iterated over."""
    x = leaf(2.0)
    nbgrad.backward((t for t in (x * 2, x * 3)), inputs=(t for t in (x,)))
    assert x.grad.item() == 5.0
    assert nbgrad.grad(x * 2, {x})[0].item() == 2.0


@pytest.mark.parametrize(
    ("outputs", "inputs", "error"),
    [
        (3, "x", TypeError),
        (None, "x", TypeError),
        ([3], "x", AssertionError),
        ([3], "x", TypeError),
        ([None], "x", AssertionError),
        ("y", 3, TypeError),
        ("y", None, TypeError),
        ([], "x", RuntimeError),
        ("y", [None], RuntimeError),
        ("y", [3], RuntimeError),
    ],
)
def test_outputs_and_inputs_of_wrong_types(outputs, inputs, error):
    """They are refused with torch's errors."""
    x = leaf(2.0)
    named = {"x": x, "y": x * 2}
    with pytest.raises(error):
        nbgrad.grad(
            named.get(outputs, outputs) if isinstance(outputs, str) else outputs,
            named.get(inputs, inputs) if isinstance(inputs, str) else inputs,
        )


@pytest.mark.parametrize("node", [None, 3])
def test_an_edge_must_hold_a_node(node):
    """Anybody can put an edge together."""
    x = leaf(2.0)
    with pytest.raises(nbgrad.GradError, match="node of the graph"):
        nbgrad.grad(x * 2, nbgrad.graph.GradientEdge(node, 0))


def test_an_edge_of_an_output_that_is_not_there():
    """The node has one result."""
    x = leaf([1.0, 2.0])
    with pytest.raises(nbgrad.GradError, match="output 3"):
        nbgrad.backward(nbgrad.graph.GradientEdge((x * 2).grad_fn, 3), const([1.0, 1.0]))


def test_backward_into_a_result():
    """It keeps its gradient from now on, its node runs, and nothing behind it."""
    x, seen = leaf([1.0, 2.0]), []
    y = x * 2
    z = (y * 3).sum()
    y.grad_fn.register_prehook(lambda gs: seen.append("y"))
    x.register_hook(lambda g: seen.append("x"))
    z.backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [3.0, 3.0] and y.retains_grad and x.grad is None and seen == ["y"]
    z.backward(inputs=[y, x])
    assert y.grad.tolist() == [6.0, 6.0] and x.grad.tolist() == [6.0, 6.0]


def test_backward_into_edges():
    """The edge of a leaf is as good as the leaf; the edge of a result keeps nothing."""
    x = leaf([1.0, 2.0])
    y = x * 2
    z = (y * 3).sum()
    z.backward(inputs=[nbgrad.graph.get_gradient_edge(y)], retain_graph=True)
    assert x.grad is None and not y.retains_grad
    z.backward(inputs=[nbgrad.graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [6.0, 6.0]


# ---- names of old programs -------------------------------------------------------------------------------------------
def test_variable_is_a_tensor():
    """``Variable(x)`` shares the memory and version of ``x``, is a leaf, and every tensor is a Variable."""
    x = leaf([1.0, 2.0]) * 2
    v = nbgrad.Variable(x, requires_grad=True)
    assert v.is_leaf and v.requires_grad and v.data_ptr() == x.data_ptr() and isinstance(x, nbgrad.Variable)
    with nbgrad.no_grad():
        v.add_(1)
    assert x._version == v._version == 1 and x.tolist() == [3.0, 5.0]
    assert not nbgrad.Variable(x).requires_grad and nbgrad.Variable().shape == (0,)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nbgrad.Variable([1.0]), TypeError),
        (lambda: nbgrad.Variable(3), TypeError),
        (lambda: nbgrad.Variable(nbgrad.tensor([1]), requires_grad=True), RuntimeError),
        (lambda: nbgrad.variable([1.0]), RuntimeError),
    ],
)
def test_what_no_variable_can_be_made_of(make, error):
    """It takes tensors, and gradients need real numbers."""
    with pytest.raises(error):
        make()


def test_the_engine_behind_variable():
    """Old programs call its methods."""
    x, engine = leaf([1.0, 2.0]), nbgrad.Variable._execution_engine
    y, one = (x * 2).sum(), const(1.0)
    assert engine.run_backward((y,), (one,), True, False, (x,), allow_unreachable=True)[0].tolist() == [2.0, 2.0]
    engine.run_backward((y,), (one,), True, False, (), allow_unreachable=True, accumulate_grad=True)
    assert x.grad.tolist() == [2.0, 2.0]
    valid = []
    x.register_hook(lambda g: valid.append(engine.is_checkpoint_valid()))
    y.backward(retain_graph=True)
    nbgrad.grad(y, x)
    assert valid == [True, False] and engine.is_checkpoint_valid()


def test_the_package_is_found_through_its_module():
    """``nbgrad.autograd.Function`` and its like, for programs that spell it so."""
    assert nbgrad.autograd.Function is nbgrad.Function and nbgrad.autograd.graph is nbgrad.graph
    with pytest.raises(AttributeError):
        nbgrad.autograd.no_such_name


# ---- surplus, numbers, warnings --------------------------------------------------------------------------------------
def test_surplus_seeds_are_ignored():
    """Roots and seeds are paired from the front; what is left of the seeds has no root."""
    x = leaf(2.0)
    assert nbgrad.grad([x * 3], [x], [const(10.0), const(7.0)])[0].item() == 30.0


@pytest.mark.parametrize("seed", [1.0, [1.0], "a"])
def test_seed_of_backward_must_be_a_tensor(seed):
    """``backward`` refuses what ``grad`` refuses."""
    x = leaf([2.0])
    with pytest.raises(TypeError):
        (x * 2).backward(seed)
    assert x.grad is None


def test_none_is_no_seed_for_several_elements():
    """None in the list asks for the implicit seed, which a root of two elements has not."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError):
        nbgrad.backward([x * 2], [None])


def test_second_pass_over_a_product_with_a_number():
    """A number factor is among what a node saves, so the pass that frees it is the last one."""
    y = leaf(3.0) * 2.0
    y.backward()
    with pytest.raises(RuntimeError):
        y.backward()


def test_materialize_with_a_used_edge():
    """An edge that the root depends on needs no zeros, and gets its gradient."""
    x = leaf(3.0)
    assert nbgrad.grad(x * x, [nbgrad.graph.get_gradient_edge(x)], materialize_grads=True)[0].item() == 6.0


def test_only_inputs_is_a_thing_of_the_past():
    """``only_inputs=False`` warns and changes nothing: other leaves still get no ``.grad``."""
    x, w = leaf(3.0), leaf(2.0)
    with pytest.warns(FutureWarning, match="only_inputs"):
        (g,) = nbgrad.grad(x * w, x, only_inputs=False)
    assert g.item() == 2.0 and w.grad is None


def test_backward_with_create_graph_warns_of_the_cycle():
    """The leaf and its differentiable ``.grad`` keep each other alive, and the user is told so."""
    x = leaf(3.0)
    with pytest.warns(UserWarning, match="create_graph"):
        (x * x).backward(create_graph=True)
    x.grad = None


def test_node_of_a_shared_tensor_runs_once():
    """However many uses a tensor has, its node is called once, with their sum."""
    x, calls = leaf(3.0), []
    h = x * x
    h.grad_fn.register_hook(lambda made, given: calls.append(given[0].item()))
    (h + 2 * h + h * h.detach()).backward()
    assert calls == [1.0 + 2.0 + 9.0]


def test_variable_is_found_behind_the_function_of_that_name():
    """``autograd.variable`` is a function that refuses, and where old programs look for ``Variable``."""
    assert nbgrad.autograd.variable.Variable is nbgrad.Variable


# ---- only what was asked for -----------------------------------------------------------------------------------------
def by_grad(y, x):
    """The gradient by one input, by ``grad``."""
    return nbgrad.grad(y, x)[0]


def by_inputs(y, x):
    """The same, by ``backward`` into one input."""
    y.backward(inputs=x)
    return x.grad


ASKS = pytest.mark.parametrize("ask", [by_grad, by_inputs])


@ASKS
def test_a_nan_in_what_nobody_asked_for_is_no_error(ask):
    """The derivative of (-1)**2 by the exponent is NaN; anomaly mode does not mind where the base's alone is asked for."""
    x, e = leaf([-1.0]), leaf([2.0])
    with pytest.warns(UserWarning), nbgrad.detect_anomaly():
        assert ask((x**e).sum(), x).tolist() == [-2.0]
        with pytest.raises(nbgrad.GradError, match="nan"):
            nbgrad.grad((x**e).sum(), (x, e))


@ASKS
def test_a_derivative_that_nobody_asked_for_may_be_missing(ask):
    """igamma has none by its first operand; by the second exp((a - 1) log z - z - lgamma(a))."""
    a, z = leaf(1.5), leaf(0.7)
    assert ask(nbgrad.igamma(a, z), z).item() == pytest.approx(math.exp(0.5 * math.log(0.7) - 0.7 - math.lgamma(1.5)), rel=1e-12)
    with pytest.raises(nbgrad.NotSupportedError):
        nbgrad.grad(nbgrad.igamma(a, z), (a, z))


@ASKS
@pytest.mark.parametrize("op", [nbgrad.mul, nbgrad.matmul])
def test_what_the_wanted_cotangent_does_not_need_may_have_changed(op, ask):
    """The cotangent of y needs x alone: a write to y since then concerns only the one of x."""
    x, y = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[5.0, 6.0], [7.0, 8.0]])
    out, again = op(x, y).sum(), op(x, y).sum()
    with nbgrad.no_grad():
        y.zero_()
    wanted = [[1.0, 2.0], [3.0, 4.0]] if op is nbgrad.mul else [[4.0, 4.0], [6.0, 6.0]]
    assert ask(out, y).tolist() == wanted
    with pytest.raises(nbgrad.VersionError):
        nbgrad.grad(again, x)


@ASKS
@pytest.mark.parametrize("op", [nbgrad.mul, nbgrad.dot, nbgrad.pow, nbgrad.maximum])
def test_hooks_of_nodes_see_none_for_what_nobody_asked_for(op, ask):
    """Beside the cotangent that leads to an input; a custom Function's node too, whose backward computes both."""

    class Product(nbgrad.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    for make in (op, Product.apply):
        seen = []
        x, y = leaf([1.0, 2.0]), leaf([3.0, 5.0])
        out = make(x, y)
        out.grad_fn.register_hook(lambda inputs, outputs: seen.append(tuple(g is not None for g in inputs)))  # noqa: B023
        ask(out.sum(), y)
        assert seen == [(False, True)]


OPERATIONS = {
    "mul": lambda x, y, z: x * y * z,
    "div": lambda x, y, z: x / y - z,
    "addmm": nbgrad.addmm,
    "addcmul": lambda x, y, z: nbgrad.addcmul(x, y, z, value=2.0),
    "lerp": nbgrad.lerp,
    "where": lambda x, y, z: nbgrad.where(x > 0, x * y, z),
    "cat": lambda x, y, z: nbgrad.cat([x, y * z, x]),
    "stack": lambda x, y, z: nbgrad.stack([x, y, z]).prod(0),
    "broadcast": lambda x, y, z: x[0] * y + z[:, :1],
    "in place": lambda x, y, z: (x * 1).mul_(y).add_(z),
    "in place, view": lambda x, y, z: written_view(x, y, z),
    "solve": lambda x, y, z: nbgrad.linalg.solve(x, y @ z),
    "hypot": lambda x, y, z: nbgrad.hypot(x, y) * z,
    "half": lambda x, y, z: (x.half() * y.half()).double() * z,
    "scatter_add": lambda x, y, z: x.scatter_add(0, nbgrad.tensor([[0, 1], [1, 0]]), y) * z,
}


def written_view(x, y, z):
    """A row of a product written to."""
    out = x * z
    out[0].mul_(y[1])
    return out


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_one_input_gets_what_it_gets_beside_others(name, create_graph):
    """Each alone: the same gradient, bit for bit, as all at once; recorded, the same second derivatives by all."""
    inputs = [leaf([[1.0, 2.0], [3.0, 5.0]]), leaf([[2.0, 0.5], [4.0, 3.0]]), leaf([[0.3, 1.5], [0.7, 2.5]])]
    out = OPERATIONS[name](*inputs)
    seed = nbgrad.cos(nbgrad.arange(out.numel(), dtype=nbgrad.float64)).reshape(out.shape).requires_grad_(create_graph)
    together = nbgrad.grad(out, inputs, seed, retain_graph=True, create_graph=create_graph)
    for k, x in enumerate(inputs):
        (alone,) = nbgrad.grad(out, x, seed, retain_graph=True, create_graph=create_graph)
        assert alone.tolist() == together[k].tolist()
        if create_graph and alone.requires_grad:
            second, wanted = (
                nbgrad.grad((g * g).sum(), [*inputs, seed], retain_graph=True, materialize_grads=True) for g in (alone, together[k])
            )
            for found, expected in zip(second, wanted):
                assert found.tolist() == expected.tolist()


def test_a_product_of_matrices_is_not_computed_in_vain():
    """Of ``x @ w`` only ``w`` is wanted: one product in the pass, where both take two."""
    x, w = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
    counts = []
    for inputs in (w, (x, w)):
        y = (x @ w).sum()
        with nbgrad.profiler.profile() as record:
            nbgrad.grad(y, inputs)
        counts.append(sum(event.count for event in record.key_averages() if event.key in ("aten::mm", "aten::matmul")))
    assert counts == [1, 2]
