"""Tensor hooks, retained gradients, and the hooks of nodes before and after they run."""

from __future__ import annotations

import gc

import pytest

import nbgrad
from tests.functions import Stop
from tests.helpers import const, leaf

pytestmark = pytest.mark.usefixtures("device")


def append(log, name):
    """A hook of any kind that appends ``name`` to ``log`` and changes nothing."""
    return lambda *args: log.append(name)


# ---- tensor hooks ----------------------------------------------------------------------------------------------------
def test_hook_sees_the_complete_gradient():
    """A tensor hook is called once, with the sum over all uses."""
    x, seen = leaf(3.0), []
    h = x * x
    h.register_hook(lambda g: seen.append(g.item()))
    (h * 2 + h * 5).backward()
    assert seen == [7.0]


def test_hook_replaces_the_gradient():
    """A returned tensor takes the gradient's place for everything below."""
    x = leaf(3.0)
    h = x * x
    h.register_hook(lambda g: g * 10)
    (h * 2).backward()
    assert x.grad.item() == 120.0


def test_hook_that_returns_none_changes_nothing():
    """A hook without a result only watches."""
    x = leaf(3.0)
    x.register_hook(lambda g: None)
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_hooks_chain_in_order_of_registration():
    """Each hook works on the result of the one before it."""
    x = leaf(3.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert x.grad.item() == 30.0


def test_hook_needs_requires_grad():
    """A tensor that gets no gradient takes no hook."""
    with pytest.raises(RuntimeError):
        const(1.0).register_hook(lambda g: None)


def test_hook_that_returns_a_number():
    """A hook returns a tensor or None."""
    x = leaf(3.0)
    x.register_hook(lambda g: 1.0)
    with pytest.raises(TypeError):
        (x * 2).backward()


@pytest.mark.parametrize("replacement", [lambda g: g[:1], lambda g: g.to(nbgrad.float32)], ids=["shape", "dtype"])
def test_hook_may_not_change_shape_or_dtype(replacement):
    """The replacement must be a gradient of the same tensor."""
    x = leaf([1.0, 2.0])
    x.register_hook(replacement)
    with pytest.raises(RuntimeError):
        (x * 2).sum().backward()


def test_removed_hook():
    """Removing a handle stops its hook, may be repeated, and leaves the others in order."""
    x, log = leaf(3.0), []
    handles = [x.register_hook(append(log, name)) for name in "abc"]
    handles[1].remove()
    handles[1].remove()
    (x * 2).backward()
    assert log == ["a", "c"]


def test_handle_as_context():
    """As a context manager a handle removes its hook on exit."""
    x, log = leaf(3.0), []
    with x.register_hook(append(log, "in")):
        (x * 2).backward()
    (x * 2).backward()
    assert log == ["in"]


def test_hook_may_remove_itself():
    """A hook that removes itself while it runs has run its last time, and the ones after it still run."""
    x, log = leaf(3.0), []

    def once(g):
        log.append("once")
        handle.remove()

    handle = x.register_hook(once)
    x.register_hook(append(log, "always"))
    for _ in range(2):
        (x * 2).backward()
    assert log == ["once", "always", "always"]


def test_leaf_hook_sees_this_pass_only():
    """A hook on a leaf gets the gradient of the pass, not the accumulated sum."""
    x, seen = leaf(3.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    for _ in range(2):
        (x * 2).backward()
    assert seen == [2.0, 2.0] and x.grad.item() == 4.0


@pytest.mark.parametrize("pick", [lambda x, h: x, lambda x, h: h], ids=["leaf", "non_leaf"])
def test_hook_runs_before_grad_captures(pick):
    """What ``grad`` returns is the value after the input's hooks."""
    x = leaf(3.0)
    h = x * 1
    pick(x, h).register_hook(lambda g: g + 100)
    assert nbgrad.grad(h * 2, pick(x, h))[0].item() == 102.0


def test_hook_of_an_unvisited_tensor_is_silent():
    """A hook does not fire in a pass that does not come by its tensor."""
    x, w, log = leaf(3.0), leaf(2.0), []
    h = w * 1
    h.register_hook(append(log, "h"))
    nbgrad.grad(x * h, x)
    assert log == []


def test_hook_on_a_root_is_given_the_seed_itself():
    """The engine hands the caller's own tensor to the hooks of a root."""
    x, seed, seen = leaf(3.0), const(5.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g is seed) or g * 2)
    y.backward(seed)
    assert seen == [True] and seed.item() == 5.0 and x.grad.item() == 20.0


def test_hooks_become_part_of_a_created_graph():
    """Under ``create_graph`` hooks run with grad mode on and are differentiated like any op."""
    x = leaf(3.0)
    h = x * x
    h.register_hook(lambda g: g * x)
    (g,) = nbgrad.grad(h, x, create_graph=True)
    assert g.item() == 18.0 and nbgrad.grad(g, x)[0].item() == 12.0


def test_hooks_run_without_grad_mode_in_a_plain_pass():
    """Without ``create_graph`` nothing that a hook computes is recorded."""
    x, seen = leaf(3.0), []
    x.register_hook(lambda g: seen.append((nbgrad.is_grad_enabled(), (g * x).requires_grad)))
    (x * x).backward()
    assert seen == [(False, False)]


def test_hook_outlives_its_tensor():
    """The graph keeps a hook though the tensor it was registered on has died."""
    x, log = leaf(3.0), []
    h = x * 2
    h.register_hook(append(log, "h"))
    y = h + 1
    del h
    gc.collect()
    y.backward()
    assert log == ["h"]


def test_hook_sees_one_output_of_a_split():
    """A hook on one output of a multi-output node gets the gradient of that output."""
    x, seen = leaf([1.0, 2.0]), []
    a, b = x.split(1)
    a.register_hook(lambda g: seen.append(g.tolist()))
    (a * 2 + b * 3).sum().backward()
    assert seen == [[2.0]]


def test_hooks_of_unused_outputs_see_none():
    """When a multi-output node runs, the hooks of outputs that got no gradient are called with None."""
    x, seen = leaf([1.0, 2.0]), []
    a, b = x.split(1)
    a.register_hook(seen.append)
    b.sum().backward()
    assert seen == [None]


def test_leaf_hook_behind_an_undefined_gradient_sees_none():
    """A leaf that an undefined gradient reaches has its hooks called with None."""
    x, seen = leaf(2.0), []
    x.register_hook(seen.append)
    Stop.apply(x).backward()
    assert seen == [None] and x.grad is None


def test_hook_registered_before_an_inplace_write_keeps_the_old_value():
    """A hook belongs to the value the tensor had at registration; one registered afterwards to the new value."""
    x, seen = leaf(2.0), []
    h = x * 1
    h.register_hook(lambda g: seen.append(("old", g.item())))
    h.mul_(5)
    h.register_hook(lambda g: seen.append(("new", g.item())))
    (h * 7).backward()
    assert seen == [("new", 7.0), ("old", 35.0)]


def test_hook_on_a_base_stays_with_its_old_history():
    """A write through a view gives the base a new history; hooks of the base stay with the old one."""
    x, seen = leaf([1.0, 2.0]), []
    base = x * 1
    base.register_hook(lambda g: seen.append(g.tolist()))
    base[0].mul_(5)
    base.sum().backward()
    assert seen == [[5.0, 1.0]]


def test_hook_on_a_view_stays_with_its_old_history():
    """After the base was written to, the hook of a view does not see gradients of the regenerated view."""
    x, log = leaf([1.0, 2.0]), []
    base = x * 1
    view = base[0]
    view.register_hook(append(log, "view"))
    base.mul_(5)
    (view * 3).backward()
    assert log == [] and x.grad.tolist() == [15.0, 0.0]


# ---- retain_grad -----------------------------------------------------------------------------------------------------
def test_retain_grad_keeps_the_gradient_of_a_non_leaf():
    """``retain_grad`` fills ``.grad`` of an intermediate and is visible as ``retains_grad``."""
    x = leaf(3.0)
    h = x * x
    assert not h.retains_grad
    h.retain_grad()
    (h * 5).backward()
    assert h.retains_grad and h.grad.item() == 5.0


def test_retained_gradient_accumulates():
    """A retained gradient adds up over passes, out of place: a kept one is left alone."""
    h = leaf(3.0) * 1
    h.retain_grad()
    y = h * 5
    y.backward(retain_graph=True)
    first = h.grad
    y.backward()
    assert (first.item(), h.grad.item()) == (5.0, 10.0)


def test_retain_grad_twice_is_once():
    """Asking twice does not double the gradient."""
    h = leaf(3.0) * 1
    h.retain_grad()
    h.retain_grad()
    (h * 5).backward()
    assert h.grad.item() == 5.0


def test_retain_grad_on_a_leaf_does_nothing():
    """A leaf keeps its gradient anyway."""
    x = leaf(3.0)
    x.retain_grad()
    (x * 5).backward()
    assert x.grad.item() == 5.0 and not x.retains_grad


def test_retain_grad_on_a_constant():
    """A tensor that does not require grad has nothing to retain."""
    with pytest.raises(RuntimeError):
        const(1.0).retain_grad()


@pytest.mark.parametrize("hook_first", [True, False])
def test_retained_gradient_is_the_one_after_all_hooks(hook_first):
    """The retained gradient includes every tensor hook, registered before or after ``retain_grad``."""
    h = leaf(3.0) * 1
    if not hook_first:
        h.retain_grad()
    h.register_hook(lambda g: g * 10)
    if hook_first:
        h.retain_grad()
    (h * 2).backward()
    assert h.grad.item() == 20.0


def test_retained_gradient_comes_before_node_prehooks():
    """What a node pre-hook returns goes on below and is not in the retained gradient."""
    x = leaf(3.0)
    h = x * 1
    h.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    h.retain_grad()
    (h * 2).backward()
    assert (h.grad.item(), x.grad.item()) == (2.0, 20.0)


def test_retained_gradient_follows_an_inplace_write():
    """``retain_grad`` is about the tensor: after an in-place write it keeps the gradient of the new value."""
    h = leaf(2.0) * 1
    h.retain_grad()
    h.mul_(5)
    (h * 7).backward()
    assert h.grad.item() == 7.0


@pytest.mark.parametrize("of_a_view", [False, True])
@pytest.mark.parametrize("write", [lambda y, v: None, lambda y, v: y.mul_(3.0), lambda y, v: v.mul_(3.0)])
def test_retained_gradient_of_a_tensor_that_was_moved_in_place(write, of_a_view):
    """It has the shape that the tensor has now, also after writes to it and to a view of it."""
    x = nbgrad.ones(2, 3, requires_grad=True)
    y = (x * 1)[:, :] if of_a_view else x * 1
    y.retain_grad()
    view = y[:, 2:]
    y.transpose_(0, 1)
    write(y, view)
    weights = nbgrad.arange(6.0).reshape(3, 2)
    (y * weights).sum().backward()
    assert y.grad.tolist() == weights.tolist()
    assert x.grad.tolist() == (weights * y.detach()).t().tolist()  # of ones, each multiplied by its derivative


def test_retained_gradient_follows_a_write_through_a_view():
    """The same when the write to the base came through a view."""
    base = leaf([1.0, 2.0]) * 1
    base.retain_grad()
    base[0].mul_(5)
    (base * 7).sum().backward()
    assert base.grad.tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    "write",
    [lambda base: base.mul_(5), lambda base: base[1:].mul_(5), lambda base: base.detach().mul_(5)],
    ids=["base", "another view", "unrecorded"],
)
def test_retained_gradient_of_a_view_follows_its_new_history(write):
    """A view whose history was made again after a write keeps the gradient of its new value, and that alone."""
    base = leaf([1.0, 2.0, 3.0]) * 1
    view = base[:2]
    view.retain_grad()
    early = (view * 3).sum()
    write(base)
    (early + (view * 7).sum()).backward()
    assert view.grad.tolist() == [7.0, 7.0]


def test_retained_gradient_of_an_unused_output_stays_none():
    """An undefined gradient is not retained."""
    a, b = leaf([1.0, 2.0]).split(1)
    a.retain_grad()
    b.sum().backward()
    assert a.grad is None


# ---- hooks of nodes --------------------------------------------------------------------------------------------------
def test_node_hook_sees_inputs_and_outputs():
    """A node hook gets the gradients it made and the gradients it was given, absent ones as None."""
    x, seen = leaf(3.0), []
    y = x * const(5.0)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs, grad_outputs)))
    y.backward(const(2.0))
    (made, absent), given = seen[0]
    assert made.item() == 10.0 and absent is None
    assert type(given) is tuple and [g.item() for g in given] == [2.0]


def test_node_hook_replaces_the_gradients_it_made():
    """A returned tuple takes the place of the node's results."""
    x = leaf(3.0)
    y = x * x
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g * 10 for g in grad_inputs))
    y.backward()
    assert x.grad.item() == 60.0


@pytest.mark.parametrize("result, error", [((), RuntimeError), ([], TypeError)])
def test_node_hook_result_is_checked(result, error):
    """A node hook returns None or a tuple of the right length."""
    y = leaf(3.0) * 2
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: result)
    with pytest.raises(error):
        y.backward()


def test_node_prehook_replaces_what_the_node_is_given():
    """A pre-hook gets the tuple of incoming gradients and may return another."""
    x, seen = leaf(3.0), []
    y = x * x
    y.grad_fn.register_prehook(lambda grads: seen.append(grads) or (grads[0] * 10,))
    y.backward()
    assert type(seen[0]) is tuple and len(seen[0]) == 1 and x.grad.item() == 60.0


def test_order_around_a_node():
    """Tensor hooks run first, then pre-hooks, then the node, then its hooks, whichever was registered first."""
    h, log = leaf(3.0) * 2, []
    node = h.grad_fn
    node.register_hook(append(log, "post"))
    node.register_prehook(append(log, "pre 1"))
    h.register_hook(append(log, "tensor 1"))
    node.register_prehook(append(log, "pre 2"))
    h.register_hook(append(log, "tensor 2"))
    h.backward()
    assert log == ["tensor 1", "tensor 2", "pre 1", "pre 2", "post"]


def test_order_around_a_leaf():
    """On a leaf: tensor hooks, accumulation, post-accumulate hooks, hooks of the AccumulateGrad node."""
    x, log = leaf(3.0), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_hook(append(log, "post"))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.item())))
    x.register_hook(lambda g: log.append(("tensor", x.grad)))
    y.backward()
    assert log == [("tensor", None), ("accumulated", 2.0), "post"]


def test_accumulate_node_takes_hooks():
    """AccumulateGrad has pre- and post-hooks too; the latter see no grad inputs."""
    x, seen = leaf(3.0), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: (grads[0] * 10,))
    node.register_hook(lambda grad_inputs, grad_outputs: seen.append((grad_inputs, grad_outputs[0].item())))
    y.backward()
    assert x.grad.item() == 20.0 and seen == [((), 20.0)]


def test_captured_node_does_not_run():
    """When ``grad`` asks for what a node produced, only the tensor hooks run, not the node or its hooks."""
    h, log = leaf(3.0) * 2, []
    h.grad_fn.register_prehook(append(log, "pre"))
    h.grad_fn.register_hook(append(log, "post"))
    h.register_hook(append(log, "tensor"))
    nbgrad.grad(h * 5, h)
    assert log == ["tensor"]


def test_capture_comes_before_the_prehooks():
    """When the node must run for another input, its pre-hooks run after the capture."""
    x = leaf(3.0)
    h = x * 2
    h.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))
    gx, gh = nbgrad.grad(h * 5, [x, h])
    assert (gx.item(), gh.item()) == (100.0, 5.0)


def test_hooks_of_accumulate_grad_do_not_change_what_grad_returns():
    """Under ``grad`` the AccumulateGrad node does not run, so its hooks are silent."""
    x, log = leaf(3.0), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda grads: log.append("pre") or (grads[0] * 10,))
    node.register_hook(append(log, "post"))
    assert nbgrad.grad(y, x)[0].item() == 2.0 and log == []


def test_hook_registered_during_the_pass():
    """A hook that one node's hook registers on a node yet to run takes effect in the same pass."""
    x = leaf(3.0)
    h = x * 2
    y = h * 5
    y.grad_fn.register_prehook(lambda grads: h.register_hook(lambda g: g * 10) and None)
    y.backward()
    assert x.grad.item() == 100.0


@pytest.mark.parametrize(
    "result, error",
    [(lambda g: (g,), RuntimeError), (lambda g: [], TypeError), (lambda g: (), None)],
    ids=["a gradient", "a list", "nothing"],
)
def test_hook_of_an_accumulate_node_has_nothing_to_replace(result, error):
    """The node makes no gradients, so an empty tuple is all that its hook may return."""
    x = leaf(3.0)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda grad_inputs, grad_outputs: result(grad_outputs[0]))
    if error is None:
        y.backward()
    else:
        with pytest.raises(error):
            y.backward()
    assert x.grad.item() == 2.0


# ---- the grad mode of a pass -----------------------------------------------------------------------------------------
def set_mode(enabled):
    """A hook of any kind that sets the grad mode, and changes nothing else."""

    def hook(*args):
        nbgrad.set_grad_enabled(enabled)

    return hook


def by_tensor_hook(y, enabled):
    """A result whose hook sets the grad mode."""
    z = y * 1.0
    z.register_hook(set_mode(enabled))
    return z


def by_prehook(y, enabled):
    """A result whose node's hook sets it before the node runs."""
    z = y * 1.0
    z.grad_fn.register_prehook(set_mode(enabled))
    return z


def by_post_hook(y, enabled):
    """A result whose node's hook sets it after the node has run."""
    z = y * 1.0
    z.grad_fn.register_hook(set_mode(enabled))
    return z


def by_function(y, enabled):
    """A result of a Function whose backward sets it."""

    class Identity(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            nbgrad.set_grad_enabled(enabled)
            return g * 1.0

    return Identity.apply(y)


def by_unpack_hook(y, enabled):
    """A result of what is saved behind a hook that sets it."""
    one = leaf(1.0)
    with nbgrad.graph.saved_tensors_hooks(lambda t: t, lambda t: (set_mode(enabled)(), t)[1]):
        return y * one


def by_hook_of_the_node_itself(y, enabled):
    """The result itself, with a hook that sets it."""
    y.register_hook(set_mode(enabled))
    return y


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize(
    "through", [by_tensor_hook, by_prehook, by_post_hook, by_function, by_unpack_hook, by_hook_of_the_node_itself]
)
def test_the_grad_mode_of_user_code_ends_with_it(through, enabled):
    """The nodes behind a hook or a custom backward are recorded if the pass is, whatever mode that has left; and so is its own."""
    x, seen = leaf(2.0), []
    z = through(x**3, enabled)
    x.register_hook(lambda g: seen.append(nbgrad.is_grad_enabled()))
    (g,) = nbgrad.grad(z, x, create_graph=not enabled)
    assert (g.requires_grad, seen, nbgrad.is_grad_enabled()) == (not enabled, [not enabled], True)


@pytest.mark.parametrize("enabled", [False, True])
def test_the_grad_mode_of_a_leafs_hooks_does_not_reach_accumulation(enabled):
    """Whether ``.grad`` is added to in place is the pass's choice: a recorded one leaves the old gradient as it was."""
    x = leaf(2.0)
    x.grad = old = const(1.0)
    x.register_hook(set_mode(enabled))
    x.register_post_accumulate_grad_hook(set_mode(enabled))
    if enabled:
        (x * 7).backward()
    else:
        with pytest.warns(UserWarning, match="cycle"):
            (x * 7).backward(create_graph=True)
    assert (x.grad.item(), old.item(), nbgrad.is_grad_enabled()) == (8.0, 8.0 if enabled else 1.0, True)
