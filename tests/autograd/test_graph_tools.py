"""Tools on the graph: hooks on several tensors, saved tensors on the CPU, writes to saved tensors, handles, hooks as dicts."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import nbgrad
from nbgrad import graph
from tests.functions import Square
from tests.helpers import leaf


def has_values(x, expected):
    """Equal values."""
    np.testing.assert_allclose(x.detach().numpy(), expected, rtol=1e-12)


def present(grads):
    """Which gradients are there."""
    return [g is not None for g in grads]


# ---- hooks on several tensors ----------------------------------------------------------------------------------------


def test_multi_grad_hook_waits_for_the_gradients_of_the_pass():
    """It is called once a pass, with None for tensors that the pass does not reach."""
    a, b, seen = leaf(), leaf(), []
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append(present(grads)))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=[a], retain_graph=True)
    handle.remove()
    c.sum().backward()
    assert seen == [[True, True, True, False], [True, False, True, False]]


def test_multi_grad_hook_gets_the_complete_gradients():
    """They are those that the tensors' own hooks would see."""
    a, seen = leaf(), []
    b = a * 2
    graph.register_multi_grad_hook((b, a), seen.extend)
    (b * b).sum().backward()
    has_values(seen[0], 2 * b.detach().numpy())
    has_values(seen[1], 4 * b.detach().numpy())


def test_multi_grad_hook_under_grad():
    """A gradient that is returned instead of accumulated has arrived, too."""
    a, seen = leaf(), []
    b = a * 2
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append(present(grads)))
    nbgrad.grad(b.sum(), a, retain_graph=True)
    nbgrad.grad(b.sum(), b)
    assert seen == [[True, True], [False, True]]


def test_multi_grad_hook_for_the_first_gradient():
    """With mode "any" the first one that arrives is enough."""
    a, b, seen = leaf(), leaf(), []
    c = a * b
    with graph.register_multi_grad_hook((a, b, c, nbgrad.ones(2)), seen.append, mode="any"):
        c.sum().backward(retain_graph=True)
        c.sum().backward(retain_graph=True)
    c.sum().backward()
    assert len(seen) == 2
    has_values(seen[0], [1.0, 1.0])


def test_multi_grad_hook_of_nested_passes():
    """Each pass counts for itself."""
    a, b, seen = leaf(), leaf(), []

    def hook(grads):
        seen.append(present(grads))
        if len(seen) == 1:
            with nbgrad.enable_grad():
                a.sum().backward()

    graph.register_multi_grad_hook((a, b), hook)
    (a * b).sum().backward()
    assert seen == [[True, True], [True, False]]


def test_multi_grad_hook_after_a_failed_pass():
    """What arrived before the error is forgotten."""
    a, b, seen = leaf(), leaf(), []
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append(present(grads)))
    c = a * 1
    handle = c.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (c.sum() + (b * 2).sum()).backward(retain_graph=True)
    handle.remove()
    (a * b).sum().backward()
    assert seen == [[True, True]]


def test_multi_grad_hook_in_threads():
    """Passes in several threads do not mix."""
    a, b, seen = leaf(), leaf(), []
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append(present(grads)))
    threads = [threading.Thread(target=lambda: (a * b).sum().backward()) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[True, True]] * 6


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: graph.register_multi_grad_hook((leaf(),), print, mode="both"), nbgrad.RangeError),
        (lambda: graph.register_multi_grad_hook((leaf(), nbgrad.ones(2)), print), nbgrad.UsageError),
    ],
)
def test_multi_grad_hook_arguments(make, error):
    """Unknown modes and tensors without gradients are refused."""
    with pytest.raises(error):
        make()


def test_multi_grad_hook_keeps_nothing_alive():
    """The hook belongs to the tensors, not they to it."""
    a = leaf()
    b = a * 2
    node = weakref.ref(b.grad_fn)
    handle = graph.register_multi_grad_hook((a, b), print)
    del b
    gc.collect()
    assert node() is None
    handle.remove()


# ---- where saved tensors are kept ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pin", [False, True])
def test_save_on_cpu_changes_no_gradient(pin):
    """First and second derivatives are those without it."""
    x = leaf()
    with graph.save_on_cpu(pin_memory=pin):
        y = (x**3).exp().sum()
    (g,) = nbgrad.grad(y, x, create_graph=True)
    (gg,) = nbgrad.grad(g.sum(), x)
    v = x.detach().numpy()
    has_values(g, 3 * v**2 * np.exp(v**3))
    has_values(gg, (6 * v + 9 * v**4) * np.exp(v**3))


def test_pinned_memory_is_a_copy():
    """A later write to the tensor does not reach what was saved."""
    x, c = leaf(), nbgrad.ones(2, dtype=nbgrad.float64)
    with graph.save_on_cpu(pin_memory=True):
        y = (x * c).sum()
    c.mul_(9)
    y.backward()
    has_values(x.grad, [1.0, 1.0])


def test_disabling_saved_tensor_hooks_as_a_decorator():
    """The function's calls are inside the block, each of them."""

    @graph.disable_saved_tensors_hooks("not here")
    def call():
        with pytest.raises(nbgrad.GradError, match="not here"), graph.save_on_cpu():
            pass

    call()
    call()
    with graph.save_on_cpu():
        pass


def test_hooks_of_a_context_are_its_attributes():
    """Tools read them."""

    def pack(x):
        return x

    hooks = graph.saved_tensors_hooks(pack, pack)
    assert hooks.pack_hook is pack and hooks.unpack_hook is pack


def test_the_slot_behind_a_saved_tensor():
    """It shows what is kept, and gives the tensor back."""
    x = leaf()
    raw = (x * x).grad_fn._raw_saved_self
    assert raw.data is x and raw.unpack_hook is None and raw.unpack() is x
    raw.register_hooks(lambda t: t.detach().numpy(), nbgrad.from_numpy)
    assert isinstance(raw.data, np.ndarray) and raw.unpack_hook is nbgrad.from_numpy
    has_values(raw.unpack(), x.detach().numpy())


# ---- writes to saved tensors -----------------------------------------------------------------------------------------


def twice(x):
    """``x * x`` and the write that would spoil it."""
    y = x.clone()
    return y, (y * y).sum()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.sin_(),
        lambda y: y.zero_(),
        lambda y: y[0:1].mul_(10),
        lambda y: y.__setitem__(1, 100.0),
        lambda y: y.view(2).add_(1),
        lambda y: y.copy_(nbgrad.ones(2, dtype=nbgrad.float64)),
        lambda y: y.fill_(3.0),
    ],
    ids=["sin_", "zero_", "view", "setitem", "reshaped", "copy_", "fill_"],
)
def test_backward_sees_what_was_saved(write):
    """Whatever is written to the tensor, or to a view of it, after it was saved."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y, z = twice(x)
        write(y)
        z.backward()
    has_values(x.grad, 2 * x.detach().numpy())


def test_every_saved_version_is_kept():
    """A tensor that is saved between writes has several."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors() as copies:
        y = x.clone()
        a = (y**2).sum()
        y.mul_(2)
        b = (y**3).sum()
        y.zero_()
        assert len(copies.cloned) == 2
        (a + b).backward()
    v = x.detach().numpy()
    has_values(x.grad, 2 * v + 3 * (2 * v) ** 2 * 2)


def test_only_what_is_written_to_is_copied():
    """A tensor that nobody changes stays the one that was saved."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors() as copies:
        y, z = twice(x)
        assert len(copies.original) > 0 and len(copies.cloned) == 0
        z.backward()
        assert len(copies.original) == 0
        y.sin_()
        assert len(copies.cloned) == 0


def test_writes_without_recording_are_writes():
    """Under no_grad, to a leaf, or to a constant; arrays made inside the block stay writable."""
    x, c = leaf(), nbgrad.ones(2, dtype=nbgrad.float64)
    with graph.allow_mutation_on_saved_tensors():
        y = (x * c).sum()
        array = c.numpy()
        c.add_(5)
        with nbgrad.no_grad():
            x.mul_(0)
        y.backward()
        array[0] = 7.0
    has_values(x.grad, [1.0, 1.0])
    has_values(c, [7.0, 6.0])


def test_out_is_a_write():
    """``out=`` overwrites its tensor."""
    x, c = leaf(), nbgrad.ones(2, dtype=nbgrad.float64)
    with graph.allow_mutation_on_saved_tensors():
        y = (x * c).sum()
        nbgrad.mul(c, 3.0, out=c)
        y.backward()
    has_values(x.grad, [1.0, 1.0])


def test_functions_save_for_backward():
    """What a Function saved is protected like what an operation saved."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = Square.apply(y).sum()
        y.mul_(100)
        z.backward()
    has_values(x.grad, 2 * x.detach().numpy())


def test_mutation_blocks_do_not_nest():
    """The error leaves the outer block's state right, and the next block works."""
    with pytest.raises(nbgrad.GradError, match="nested"), graph.allow_mutation_on_saved_tensors():
        with graph.allow_mutation_on_saved_tensors():
            pass
    test_backward_sees_what_was_saved(lambda y: y.zero_())


@pytest.mark.parametrize("error", [AssertionError, RuntimeError])
def test_backward_after_the_mutation_block(error):
    """What was saved is gone."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        _, z = twice(x)
    with pytest.raises(error, match="outside"):
        z.backward()


def test_after_the_mutation_block_writes_are_checked_again():
    """Nothing that was guarded inside stays guarded, or becomes read-only."""
    x, c = leaf(), nbgrad.ones(2, dtype=nbgrad.float64)
    with graph.allow_mutation_on_saved_tensors():
        (x * c).sum()
        shared = c.data
    shared.add_(1)
    y = (x * c).sum()
    c.add_(1)
    with pytest.raises(nbgrad.VersionError):
        y.backward()


# ---- handles ---------------------------------------------------------------------------------------------------------


def test_a_handle_names_its_hook():
    """``remove`` takes the key of the handle from its dict, and from the extra ones; again, it does nothing."""
    hooks, extra = OrderedDict(), OrderedDict()
    handle = graph.RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = extra[handle.id] = print
    handle.remove()
    handle.remove()
    assert not hooks and not extra


def test_handles_have_numbers_of_their_own():
    """Whatever dict they belong to."""
    hooks = OrderedDict()
    first, second = graph.RemovableHandle(hooks), graph.RemovableHandle(OrderedDict())
    assert second.id == first.id + 1


@pytest.mark.parametrize("again", [copy.copy, lambda handle: pickle.loads(pickle.dumps((handle, handle.hooks_dict_ref())))[0]])
def test_a_handle_that_was_copied_or_pickled(again):
    """It belongs to the copy of its dict that came with it, and later handles get other numbers."""
    hooks = OrderedDict()
    handle = graph.RemovableHandle(hooks)
    hooks[handle.id] = len
    other = again(handle)
    assert other.id == handle.id and graph.RemovableHandle(hooks).id > other.id
    other.remove()


def test_a_pickled_number_is_not_given_away_again():
    """A handle of a session that has ended may have any number."""
    hooks = OrderedDict()
    handle = graph.RemovableHandle.__new__(graph.RemovableHandle)
    handle.__setstate__((None, graph.RemovableHandle(hooks).id + 50))
    handle.remove()
    assert graph.RemovableHandle(hooks).id > handle.id


def test_a_hook_that_another_hook_removes_during_the_pass():
    """The hooks of a tensor are those that it has when its turn comes."""
    y, seen, handles = leaf() * 2, [], []
    handles.append(y.register_hook(lambda g: (seen.append("a"), handles[1].remove())[0]))
    handles.append(y.register_hook(lambda g: seen.append("b")))
    total = y.sum()
    total.backward(retain_graph=True)
    total.backward()
    assert seen == ["a", "b", "a"]


# ---- nodes and hooks as tools see them -------------------------------------------------------------------------------


def test_hooks_of_a_tensor_as_a_dict():
    """None until there is one; of leaves and of results alike."""
    x = leaf()
    y = x * 2
    assert x._backward_hooks is None and y._backward_hooks is None
    for t in (x, y):
        handle = t.register_hook(print)
        assert t._backward_hooks == {handle.id: print}
        handle.remove()
        assert not t._backward_hooks


@pytest.mark.parametrize("of", ["leaf", "result"])
def test_a_dict_of_hooks_can_be_assigned(of):
    """Its hooks are called, by the node it is registered with if it is not the leaf's."""
    x, seen = leaf(), []
    y = x * 2
    t = x if of == "leaf" else y
    t._backward_hooks = OrderedDict({0: seen.append})
    if of == "result":
        y.grad_fn._register_hook_dict(y)
    y.sum().backward()
    assert len(seen) == 1


def test_a_node_is_called_with_gradients():
    """One for each operand; None where none is wanted."""
    x, c = leaf(), nbgrad.tensor([3.0, 4.0], dtype=nbgrad.float64)
    one = nbgrad.ones(2, dtype=nbgrad.float64)
    g, none = (x * c).grad_fn(one)
    has_values(g, [3.0, 4.0])
    assert none is None and (x * c).grad_fn(None) == (None, None)
    has_values(x.exp().grad_fn(one), np.exp(x.detach().numpy()))
    with pytest.raises(nbgrad.ArgumentError, match="expected 1"):
        (x * c).grad_fn(one, one)


def test_what_a_node_says_of_itself():
    """Whether it wants gradients, what it saved by torch's names, and of what kind its gradients are."""
    x = leaf()
    node = (x * x).grad_fn
    assert node.requires_grad and graph.get_gradient_edge(x).node.requires_grad
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(dir(node))
    (meta,) = node._input_metadata
    assert (meta.shape, meta.dtype, str(meta.device)) == ((2,), nbgrad.float64, "cpu")
    assert not meta.is_nested_tensor and not meta.is_cpp_nested_tensor


@pytest.mark.parametrize("value", [3, [3]])
def test_increment_version_takes_tensors(value):
    """Nothing else has a version."""
    with pytest.raises(nbgrad.GradError, match="increment_version"):
        graph.increment_version(value)


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        (lambda gs: gs[0], nbgrad.ArgumentError),
        (lambda gs: [gs[0]], nbgrad.ArgumentError),
        (lambda gs: 1.0, nbgrad.ArgumentError),
        (lambda gs: (gs[0], gs[0]), nbgrad.GradError),
        (lambda gs: (nbgrad.ones(3, dtype=nbgrad.float64),), nbgrad.GradError),
        (lambda gs: (gs[0].to(nbgrad.float32),), nbgrad.GradError),
        (lambda gs: (1.0,), nbgrad.ArgumentError),
    ],
)
@pytest.mark.parametrize("node", [lambda x, y: y.grad_fn, lambda x, y: graph.get_gradient_edge(x).node], ids=["node", "leaf"])
def test_what_a_prehook_may_return(node, hook, error):
    """A tuple of gradients of the same sizes and dtypes."""
    x = leaf()
    y = x * 1
    held = node(x, y)
    held.register_prehook(hook)
    with pytest.raises(error):
        y.sum().backward()


def test_a_hook_cannot_replace_an_undefined_gradient():
    """There is none whose size and dtype it could have."""
    x = leaf()
    a, b = x.unbind(0)
    b.register_hook(lambda g: nbgrad.ones((), dtype=nbgrad.float64))
    with pytest.raises(nbgrad.GradError, match="undefined"):
        a.backward()


def test_versions_that_are_preserved():
    """A graph that saved the tensor is differentiated with what was written."""
    x, c = leaf(), nbgrad.ones(2, dtype=nbgrad.float64)
    y = (x * c).sum()
    with nbgrad._unsafe_preserve_version_counter((c,)):
        c.mul_(3)
    y.backward()
    assert c._version == 0
    has_values(x.grad, [3.0, 3.0])


def test_whether_saved_tensor_hooks_are_enabled():
    """They are, but inside of the block that disables them."""
    enabled = nbgrad._C._autograd._saved_tensors_hooks_is_enabled
    with graph.disable_saved_tensors_hooks("no"):
        assert not enabled()
    assert enabled() and isinstance((leaf() ** 2).grad_fn._raw_saved_self, nbgrad._C._autograd.SavedTensor)


# ---- more of multi-grad hooks and of writes to saved tensors ---------------------------------------------------------


def test_what_a_multi_grad_hook_returns_is_ignored():
    """It watches; gradients stay what they are."""
    a, calls = leaf(), []
    b = a * 2
    graph.register_multi_grad_hook((a, b), lambda grads: calls.append(1) or [g * 100 for g in grads])
    b.sum().backward()
    assert calls == [1] and a.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "write", [lambda y, v: y.mul_(10), lambda y, v: v.mul_(10), lambda y, v: y[:1].add_(5)], ids=["base", "itself", "other view"]
)
def test_a_saved_view_is_protected_from_writes_through_any_alias(write):
    """A view was saved; its base, the view or another view is written to."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        v = y[:1]
        z = (v**2).sum()
        write(y, v)
        z.backward()
    has_values(x.grad, [2.0, 0.0])


def test_second_derivatives_after_a_write():
    """What was saved keeps its history: x^3 has the second derivative 6 x although its operand was overwritten."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**3).sum()
        y.sin_()
        (g,) = nbgrad.grad(z, x, create_graph=True)
        (second,) = nbgrad.grad(g.sum(), x)
    has_values(second, 6 * x.detach().numpy())


def test_the_state_of_a_mutation_block_is_empty_after_it():
    """What the block hands out shows the copies, and gives them up at its end."""
    with graph.allow_mutation_on_saved_tensors() as copies:
        y, z = twice(leaf())
        y.sin_()
        assert len(copies.cloned) > 0
    assert len(copies.cloned) == len(copies.original) == 0 and z.requires_grad


def test_multi_grad_hook_behind_an_unused_output():
    """An output that got no gradient has had its turn when its node runs: None is what it is given."""
    a, seen = leaf(), []
    used, unused = a.split(1)
    graph.register_multi_grad_hook((unused, used), lambda grads: seen.append(present(grads)))
    (used * 2).sum().backward()
    assert seen == [[False, True]]


def test_a_pair_of_hooks_can_be_entered_again():
    """One context serves many blocks, and is off between them."""
    seen = []
    hooks = graph.saved_tensors_hooks(lambda t: seen.append(1) or t.detach(), lambda t: t)
    with hooks:
        leaf().sin()
    leaf().sin()
    with hooks:
        leaf().sin()
    assert len(seen) == 2


def test_save_on_cpu_is_a_pair_of_hooks():
    """What it packs is where the tensor was and the tensor; on the CPU nothing is copied."""
    hooks, t = graph.save_on_cpu(), nbgrad.ones(2)
    assert isinstance(hooks, graph.saved_tensors_hooks)
    assert hooks.unpack_hook(hooks.pack_hook(t)) is t


@pytest.mark.parametrize(
    "write, slope",
    [
        (lambda h: h.mul_(h), lambda v: 2 * v),
        (lambda h: h.div_(h), lambda v: 0 * v),
        (lambda h: h.mul_(h.detach()), lambda v: v),
        (lambda h: h.pow_(h), lambda v: v**v * (np.log(v) + 1)),
        (lambda h: h.addcmul_(h, h), lambda v: 1 + 2 * v),
        (lambda h: h[:].mul_(h[:]), lambda v: 2 * v),
    ],
    ids=["mul_", "div_", "detached", "pow_", "addcmul_", "view"],
)
def test_a_write_whose_operand_is_the_tensor_itself(write, slope):
    """What such a write saves of the memory that it overwrites is the old value."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        h = x * 1
        write(h)
        h.sum().backward()
    has_values(x.grad, slope(x.detach().numpy()))


def test_second_derivative_of_a_square_in_place():
    """The kept old value has the tensor's place in the graph: (x^3)^2 has the second derivative 30 x^4."""
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        h = x**3
        h.mul_(h)
        (g,) = nbgrad.grad(h.sum(), x, create_graph=True)
        (second,) = nbgrad.grad(g.sum(), x)
    has_values(second, 30 * x.detach().numpy() ** 4)


def test_what_several_nodes_saved_is_copied_once():
    """A tensor that is changed inside of ``allow_mutation_on_saved_tensors`` has one copy, however many nodes saved it."""
    x = leaf([2.0, 3.0])
    with graph.allow_mutation_on_saved_tensors() as copies:
        y = x * 1
        z = (y * y).sum() + y.exp().sum() * 0 + (y * y).sum()
        y.mul_(5)
        assert len({id(copy) for copy in copies.cloned.values()}) == 1 < len(copies.cloned)
        z.backward()
    assert x.grad.tolist() == [8.0, 12.0]
