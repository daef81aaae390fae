"""AccumulateGrad: how a leaf stores a gradient, in which memory and layout, and what ``.grad`` accepts."""

from __future__ import annotations

import gc
import threading

import pytest

import nbgrad
from tests.functions import Returns
from tests.helpers import const, leaf


def ones(*shape):
    """Float64 ones."""
    return nbgrad.ones(shape, dtype=nbgrad.float64)


# ---- the node --------------------------------------------------------------------------------------------------------
def test_one_node_per_leaf():
    """All uses of a leaf end in one AccumulateGrad node, whose variable is the leaf."""
    x = leaf(1.0)
    a, b = x * 2, x * 3
    node = a.grad_fn.next_functions[0][0]
    assert node is b.grad_fn.next_functions[0][0]
    assert node.variable is x and node.name().endswith("AccumulateGrad")


def test_undefined_gradient_leaves_grad_none():
    """An undefined gradient does not make a ``.grad`` of zeros."""
    x = leaf(1.0)
    Returns.apply(x, lambda g: None).backward()
    assert x.grad is None


def test_undefined_gradient_leaves_grad_as_it_is():
    """An undefined gradient neither replaces nor clears a present one."""
    x = leaf(1.0)
    x.grad = kept = const(5.0)
    Returns.apply(x, lambda g: None).backward()
    assert x.grad is kept and kept.item() == 5.0


# ---- in place or not -------------------------------------------------------------------------------------------------
def test_accumulation_is_in_place():
    """A second pass adds into the ``.grad`` that is there: same object, and aliases see the sum."""
    x = leaf([1.0, 2.0])
    (x * 2).sum().backward()
    kept, alias = x.grad, x.grad.view(2)
    (x * 3).sum().backward()
    assert x.grad is kept and alias.tolist() == [5.0, 5.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_accumulation_under_create_graph_is_out_of_place():
    """Under ``create_graph`` the sum is a new tensor with a history and the old ``.grad`` keeps its value."""
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    old = x.grad
    (x * x).sum().backward(create_graph=True)
    new, x.grad = x.grad, None
    assert new is not old and new.requires_grad
    assert (old.tolist(), new.detach().tolist()) == ([2.0, 4.0], [4.0, 8.0])


def test_accumulation_bumps_the_version_of_grad():
    """A graph that saved ``.grad`` notices that a later pass has added to it."""
    x, w = leaf(2.0), leaf(1.0)
    (x * 2).backward()
    y = w * x.grad
    (x * 3).backward()
    with pytest.raises(RuntimeError):
        y.backward()


def test_stored_gradient_requires_no_grad():
    """Without ``create_graph`` a stored gradient has no history even if the seed had one."""
    x, seed = leaf(2.0), leaf(1.0)
    (x * 1).backward(seed)
    assert not x.grad.requires_grad and x.grad is not seed


def test_accumulating_into_a_grad_that_requires_grad():
    """A ``.grad`` that requires grad itself is still added to in place by a plain pass."""
    x = leaf([1.0, 2.0])
    x.grad = kept = ones(2).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad is kept and kept.detach().tolist() == [3.0, 3.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_seed_of_a_leaf_root_under_create_graph():
    """A leaf used as root stores a differentiable copy of its seed, not the seed."""
    x, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x.backward(seed, create_graph=True)
    stored, x.grad = x.grad, None
    assert stored is not seed
    assert nbgrad.grad(stored.sum(), seed)[0].tolist() == [1.0, 1.0]


# ---- memory ----------------------------------------------------------------------------------------------------------
def test_unshared_gradient_is_taken_over():
    """A buffer made inside the pass that nobody else holds becomes ``.grad`` without a copy."""
    address = []

    def make(g):
        result = g * 3
        address.append(result.data_ptr())
        return result

    for _ in range(2):  # the compiler leaves cycles, which hold the frames that it was called from
        x = leaf([1.0, 2.0])
        Returns.apply(x, make).sum().backward()
    assert x.grad.data_ptr() == address[1]


def test_gradient_kept_by_someone_is_cloned():
    """A gradient that user code still holds is not aliased by ``.grad``."""
    kept = []

    def make(g):
        kept.append(g * 3)
        return kept[0]

    x = leaf([1.0, 2.0])
    Returns.apply(x, make).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [3.0, 3.0]


def test_gradient_kept_as_numpy_is_cloned():
    """An array that shares the gradient's memory counts as a holder."""
    # A deliberate difference from torch, which takes such a buffer over and changes the array under the user's hands.
    kept = []
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: kept.append(g.numpy()))
    (x * 3).sum().backward()
    x.grad.zero_()
    assert kept[0].tolist() == [3.0, 3.0]


def test_gradient_kept_as_a_view_is_cloned():
    """A view of the gradient that a hook kept does not see later accumulation."""
    kept = []
    x = leaf([1.0, 2.0])
    x.register_hook(lambda g: kept.append(g[:1]))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert kept[0].tolist() == [3.0] and x.grad.tolist() == [6.0, 6.0]


def test_seed_is_not_aliased_by_grad():
    """A leaf used as root does not store the caller's tensor itself."""
    x, seed = leaf([1.0, 2.0]), ones(2)
    x.backward(seed)
    x.grad.zero_()
    assert seed.tolist() == [1.0, 1.0]


def test_two_leaves_due_the_same_gradient():
    """Where one gradient is due at two leaves they end up with memory of their own."""
    a, b = leaf([1.0, 1.0]), leaf([1.0, 1.0])
    (a + b).backward(ones(2))
    a.grad.add_(1)
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0, 2.0], [1.0, 1.0])


# ---- layout ----------------------------------------------------------------------------------------------------------
def test_expanded_gradient_is_materialised():
    """The stride-0 gradient of a sum is stored with an element of its own at each place."""
    x = ones(2, 3).requires_grad_()
    x.sum().backward()
    x.grad[0, 0] = 7
    assert x.grad.stride() == (3, 1) and x.grad.tolist() == [[7.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


def test_dense_leaf_dictates_the_strides():
    """A transposed dense leaf gets a transposed gradient, whatever the strides of the one that came in."""
    x = ones(2, 3).t().detach().requires_grad_()
    (x * 2).backward(ones(3, 2))
    assert x.stride() == x.grad.stride() == (1, 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dense_leaf_dictates_the_strides_under_create_graph():
    """The layout contract holds for a first store that is recorded as well."""
    x = ones(2, 3).t().detach().requires_grad_()
    x.backward(ones(3, 2), create_graph=True)
    strides, x.grad = x.grad.stride(), None
    assert strides == (1, 3)


@pytest.mark.parametrize("make", [lambda: ones(4, 6)[:, ::2], lambda: ones(1, 3).expand(4, 3)], ids=["strided", "expanded"])
def test_leaf_that_is_not_dense_gets_a_contiguous_gradient(make):
    """A leaf with holes or overlaps has no layout worth copying."""
    x = make().detach().requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.is_contiguous()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_present_grad_keeps_its_strides():
    """In-place accumulation keeps the layout of the ``.grad`` that is there."""
    x = ones(2, 3).requires_grad_()
    x.grad = nbgrad.zeros((3, 2), dtype=nbgrad.float64).t()
    (x * 2).sum().backward()
    assert x.grad.stride() == (1, 2) and x.grad.tolist() == [[2.0] * 3] * 2


# ---- leaves that changed ---------------------------------------------------------------------------------------------
def test_requires_grad_switched_off_after_recording():
    """A leaf that no longer requires grad drops its gradient in silence."""
    x = leaf(2.0)
    y = x * 3
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_leaf_that_got_a_history_after_recording():
    """Accumulating into a former leaf that an in-place op gave a history is an error."""
    x, w = leaf(2.0), leaf(5.0)
    y = x * 3
    x.requires_grad_(False)
    x.mul_(w)
    with pytest.raises(RuntimeError):
        y.backward()


def test_leaf_update_under_no_grad():
    """An in-place update under ``no_grad`` leaves the leaf a leaf that requires grad."""
    w = leaf([1.0, 2.0])
    with nbgrad.no_grad():
        w -= 0.5
    assert w.is_leaf and w.requires_grad and w.tolist() == [0.5, 1.5]


def test_leaf_update_invalidates_graphs_that_saved_it():
    """A graph that saved the old value of a leaf refuses to run after the update."""
    w = leaf([1.0, 2.0])
    y = (w * w).sum()
    with nbgrad.no_grad():
        w -= 0.5
    with pytest.raises(RuntimeError):
        y.backward()


# ---- validation ------------------------------------------------------------------------------------------------------
def test_gradient_of_a_shape_that_does_not_fit():
    """A backward that returns a gradient of an unrelated shape is an error."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError):
        Returns.apply(x, lambda g: ones(3)).sum().backward()


@pytest.mark.parametrize("shape", [(4, 2), (1, 2)])
def test_gradient_of_a_broadcast_shape_is_summed(shape):
    """A gradient of a shape that the input broadcasts to is summed down to the input's."""
    x = leaf([1.0, 2.0])
    Returns.apply(x, lambda g: ones(*shape)).sum().backward()
    assert x.grad.tolist() == [float(shape[0])] * 2


def test_gradient_of_another_precision_is_cast():
    """A gradient of another floating dtype is cast to the input's."""
    x = leaf([1.0, 2.0])
    Returns.apply(x, lambda g: nbgrad.ones(2, dtype=nbgrad.float32)).sum().backward()
    assert x.grad.dtype == nbgrad.float64


def test_real_gradient_for_a_complex_input_is_cast():
    """A real gradient for a complex input becomes complex."""
    z = nbgrad.tensor([1j, 2j], dtype=nbgrad.complex128, requires_grad=True)
    Returns.apply(z, lambda g: ones(2)).backward(nbgrad.ones(2, dtype=nbgrad.complex128))
    assert z.grad.tolist() == [1 + 0j, 1 + 0j]


def test_complex_gradient_for_a_real_input():
    """The imaginary part of a gradient is never dropped for the user."""
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError):
        Returns.apply(x, lambda g: nbgrad.ones(2, dtype=nbgrad.complex128)).sum().backward()


# ---- the attribute ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "value, error",
    [
        (lambda x: 1.0, TypeError),
        (lambda x: ones(3), RuntimeError),
        (lambda x: nbgrad.ones(2, dtype=nbgrad.float32), RuntimeError),
        (lambda x: x, RuntimeError),
    ],
    ids=["number", "shape", "dtype", "itself"],
)
def test_assigning_a_grad_that_does_not_fit(value, error):
    """``.grad`` takes a tensor of the same shape and dtype, other than the tensor itself."""
    x = leaf([1.0, 2.0])
    with pytest.raises(error):
        x.grad = value(x)
    assert x.grad is None


def test_assigned_grad_is_kept_as_it_is():
    """An assigned ``.grad`` is the very object, and the next pass adds to it."""
    x, mine = leaf([1.0, 2.0]), ones(2)
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine and mine.tolist() == [3.0, 3.0]


def test_grad_of_a_constant_may_be_assigned():
    """A tensor that does not require grad can carry a ``.grad`` too."""
    c = const([1.0, 2.0])
    c.grad = ones(2)
    assert c.grad.tolist() == [1.0, 1.0]


def test_deleting_grad():
    """``del x.grad`` is ``x.grad = None``."""
    x = leaf(1.0)
    (x * 2).backward()
    del x.grad
    assert x.grad is None


def test_zeroing_grad_in_place():
    """``x.grad.zero_()`` restarts the sum in the same object."""
    x = leaf(2.0)
    (x * 2).backward()
    kept = x.grad
    kept.zero_()
    (x * 3).backward()
    assert x.grad is kept and kept.item() == 3.0


def test_clearing_grad():
    """``x.grad = None`` restarts the sum in a new tensor and leaves the old one alone."""
    x = leaf(2.0)
    (x * 2).backward()
    old, x.grad = x.grad, None
    (x * 3).backward()
    assert (old.item(), x.grad.item()) == (2.0, 3.0)


# ---- post-accumulate hooks -------------------------------------------------------------------------------------------
def test_post_accumulate_hook_sees_the_updated_leaf():
    """The hook is called once a pass, with the leaf itself, after ``.grad`` was updated."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.item())))
    y = x * 3 + x
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [(True, 4.0), (True, 8.0)]


def test_post_accumulate_hook_may_clear_grad():
    """An optimizer step inside the pass may drop ``.grad``."""
    x = leaf(2.0)

    def step(p):
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert x.grad is None


def test_post_accumulate_hook_can_be_removed():
    """A removed hook is not called again."""
    x, seen = leaf(2.0), []
    handle = x.register_post_accumulate_grad_hook(seen.append)
    handle.remove()
    (x * 3).backward()
    assert seen == []


@pytest.mark.parametrize("make", [lambda: leaf(2.0) * 2, lambda: const(1.0)], ids=["non_leaf", "constant"])
def test_post_accumulate_hook_is_for_leaves(make):
    """Only a leaf that requires grad accumulates, so only it takes the hook."""
    t = make()
    with pytest.raises(RuntimeError):
        t.register_post_accumulate_grad_hook(lambda p: None)


def test_post_accumulate_hook_must_return_none():
    """There is nothing that the hook's result could replace."""
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with pytest.raises(RuntimeError):
        (x * 2).backward()


def test_post_accumulate_hook_may_return_the_leaf():
    """What writes in place returns the leaf, which such a hook may write in one line; later hooks see what it wrote."""
    x, seen = nbgrad.tensor([1.0, 2.0], requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: p.sub_(p.grad))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.tolist()))
    (x * 3).sum().backward()
    assert seen == [[-2.0, -1.0]] and x.grad.tolist() == [3.0, 3.0]


def test_post_accumulate_hook_does_not_fire_under_grad():
    """``grad`` accumulates nothing."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(seen.append)
    nbgrad.grad(x * 2, x)
    assert seen == []


def test_post_accumulate_hook_fires_for_an_undefined_gradient():
    """The hook marks that the leaf's turn is over, a gradient or none."""
    x, seen = leaf(2.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad))
    Returns.apply(x, lambda g: None).backward()
    assert seen == [None]


def test_leaf_hooks_survive_between_graphs():
    """A hook stays with its leaf while no graph is alive."""
    x, seen = leaf(2.0), []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2).backward()
    gc.collect()
    (x * 3).backward()
    assert seen == [2.0, 3.0]


# ---- the dtype of gradients ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16, nbgrad.float64])
def test_grad_dtype_is_what_hooks_and_grad_see(dtype):
    """A leaf's gradient is cast before its hooks run, accumulated so, and returned so by ``grad``."""
    x, seen = nbgrad.tensor([1.0, 2.0], requires_grad=True), []
    x.grad_dtype = dtype
    x.register_hook(lambda g: seen.append(g.dtype))
    for _ in range(2):
        (x * x).sum().backward()
    assert x.grad.dtype is dtype and seen == [dtype, dtype] and x.grad.tolist() == [4.0, 8.0]
    assert nbgrad.grad((x * x).sum(), x)[0].dtype is dtype


def test_grad_dtype_is_the_leafs_own_unless_set():
    """Only leaves have one, and None stands for any."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    assert x.grad_dtype is nbgrad.float32
    x.grad_dtype = None
    assert x.grad_dtype is None
    x.grad = nbgrad.ones(2, dtype=nbgrad.int32)
    with pytest.raises(nbgrad.GradError, match="leaves"):
        assert (x * 2).grad_dtype


@pytest.mark.parametrize("value", ["float32", 3])
def test_grad_dtype_must_be_a_dtype(value):
    """``grad_dtype`` is a dtype or None; all else is refused."""
    with pytest.raises(nbgrad.GradError, match="grad_dtype"):
        leaf(1.0).grad_dtype = value


def test_grad_dtype_and_an_assigned_gradient():
    """What is assigned must have it, and it cannot change under a gradient."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    x.grad_dtype = nbgrad.float64
    with pytest.raises(nbgrad.DTypeError, match="grad_dtype"):
        x.grad = nbgrad.ones(2)
    x.grad = nbgrad.ones(2, dtype=nbgrad.float64)
    with pytest.raises(nbgrad.GradError, match="None first"):
        x.grad_dtype = nbgrad.float32
    x.grad = None
    x.grad_dtype = nbgrad.float32
    x.grad = nbgrad.ones(2)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_leaf_whose_data_were_exchanged_for_another_shape(keep):
    """A graph made before gives the gradient of the shape that it was recorded with."""
    x = leaf([1.0, 2.0])
    y = (x * 2).sum()
    x.data = nbgrad.ones(3, dtype=nbgrad.float64)
    y.backward(create_graph=keep)
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_post_accumulate_hook_that_returns_a_number():
    """It is of the wrong type; a tensor has the right one, and is refused all the same."""
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda p: 1)
    with pytest.raises(TypeError):
        (x * 2).backward()


# ---- the layout policy -----------------------------------------------------------------------------------------------


def strides_of_a_transposed_leafs_gradient():
    """The strides of ``.grad`` of a transposed leaf whose gradient came in row by row."""
    x = ones(2, 3).t().detach().requires_grad_()
    Returns.apply(x, lambda g: ones(3, 2) * 2).backward(ones(3, 2))
    return x.grad.stride()


def test_layout_policy_of_a_block():
    """Where the policy is off a gradient nobody holds stays as it came; afterwards leaves dictate the layout again."""
    with nbgrad.enforce_grad_layout_policy(False):
        assert strides_of_a_transposed_leafs_gradient() == (2, 1)
        with nbgrad.enforce_grad_layout_policy(True):
            assert strides_of_a_transposed_leafs_gradient() == (1, 3)
        assert strides_of_a_transposed_leafs_gradient() == (2, 1)
    assert strides_of_a_transposed_leafs_gradient() == (1, 3)


def test_layout_policy_acts_at_the_call():
    """Called as a function it holds until the next call."""
    nbgrad.enforce_grad_layout_policy(False)
    try:
        assert strides_of_a_transposed_leafs_gradient() == (2, 1)
    finally:
        nbgrad.enforce_grad_layout_policy(True)
    assert strides_of_a_transposed_leafs_gradient() == (1, 3)


def test_layout_policy_belongs_to_a_thread():
    """Another thread's leaves keep the contract."""
    seen = []
    with nbgrad.enforce_grad_layout_policy(False):
        thread = threading.Thread(target=lambda: seen.append(strides_of_a_transposed_leafs_gradient()))
        thread.start()
        thread.join()
    assert seen == [(1, 3)]


# ---- who holds a gradient --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "register",
    [
        lambda node, kept: node.variable.register_hook(kept.append),
        lambda node, kept: node.register_prehook(lambda grads: kept.append(grads[0])),
        lambda node, kept: node.register_hook(lambda made, grads: kept.append(grads[0])),
    ],
    ids=["tensor hook", "pre-hook", "post hook"],
)
def test_gradient_that_a_hook_kept_does_not_change(register):
    """A hook of any kind may keep what it is given: later passes add to another tensor."""
    x, kept = leaf([1.0, 2.0]), []
    y = x * 3
    handle = register(y.grad_fn.next_functions[0][0], kept)
    y.sum().backward()
    handle.remove()
    (x * 5).sum().backward()
    assert kept[0].tolist() == [3.0, 3.0] and x.grad.tolist() == [8.0, 8.0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_seed_of_a_leaf_root_under_create_graph_has_memory_of_its_own():
    """A write to the stored gradient does not reach the caller's seed."""
    x, seed = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    x.backward(seed, create_graph=True)
    stored, x.grad = x.grad, None
    assert stored.data_ptr() != seed.data_ptr() and stored.detach().tolist() == [3.0, 4.0]


def test_gradients_of_a_complex_leaf_add_as_complex_numbers():
    """Real and imaginary part of a loss fill both parts of one gradient."""
    z = nbgrad.tensor([1 + 1j], dtype=nbgrad.complex128, requires_grad=True)
    z.real.sum().backward()
    z.imag.sum().backward()
    assert z.grad.dtype is nbgrad.complex128 and z.grad.tolist() == [1 + 1j]


def test_node_of_a_leaf_called_by_hand():
    """The AccumulateGrad node adds what it is given to ``.grad``, returns nothing, and takes None for no gradient."""
    x = leaf([1.0, 2.0])
    node = nbgrad.graph.get_gradient_edge(x).node
    assert node(None) == () and x.grad is None
    assert [node(ones(2)), node(const([5.0, 7.0]))] == [(), ()]
    assert x.grad.tolist() == [6.0, 8.0]


def test_post_accumulate_hook_may_run_a_pass_into_the_same_leaf():
    """The leaf is free again when its hook runs: a pass inside of the hook adds to what the outer one stored."""
    x, seen = leaf(2.0), []

    def again(p):
        seen.append(p.grad.item())
        if len(seen) == 1:
            with nbgrad.enable_grad():
                (p * 10).backward()

    x.register_post_accumulate_grad_hook(again)
    thread = threading.Thread(target=(x * 3).backward, daemon=True)  # a lock that is held would wait for ever
    thread.start()
    thread.join(20)
    assert not thread.is_alive() and seen == [3.0, 13.0] and x.grad.item() == 13.0
