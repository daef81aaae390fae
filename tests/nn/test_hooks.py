"""Hooks of modules: forward and backward, what they see, replace, and leave alone."""

from __future__ import annotations

import copy

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from tests.helpers import float32_leaf


class Both(nn.Module):
    """Product and sum of two arguments."""

    def forward(self, a, b, factor=1):
        return a * b * factor, a + b


def test_order_of_all_hooks():
    """Pre-hook, forward, forward hook; then, going back, the pre-hook of the outputs and the hook of the inputs."""
    module, seen = nn.Tanh(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append("backward"))
    module.register_forward_hook(lambda m, args, out: seen.append("after"))
    module.register_full_backward_pre_hook(lambda m, go: seen.append("before backward"))
    module.register_forward_pre_hook(lambda m, args: seen.append("before"))
    module(float32_leaf([1.0])).backward()
    assert seen == ["before", "after", "before backward", "backward"]


def test_forward_hooks_replace_arguments_and_result():
    """A pre-hook's tuple, or single value, becomes the arguments; a hook's value becomes the result."""
    module = nn.Identity()
    module.register_forward_pre_hook(lambda m, args: args[0] * 2)
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    module.register_forward_hook(lambda m, args, out: out * 10)
    assert module(nbgrad.ones(1)).tolist() == [30.0]


def test_prepend():
    """A hook that is prepended is called before those that are there."""
    module = nn.Identity()
    module.register_forward_hook(lambda m, args, out: out * 10)
    module.register_forward_hook(lambda m, args, out: out + 1, prepend=True)
    assert module(nbgrad.ones(1)).tolist() == [20.0]


def test_keyword_arguments():
    """With ``with_kwargs`` hooks see keyword arguments, and may replace them."""
    module, seen = Both(), []
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    product, _ = module(nbgrad.ones(1), nbgrad.ones(1), factor=2)
    assert product.tolist() == [3.0] and seen == [{"factor": 3}]
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="args, kwargs"):
        module(nbgrad.ones(1), nbgrad.ones(1), factor=2)


def test_a_hook_that_is_always_called():
    """It is called once, also when ``forward`` raises; the error goes on."""
    module, seen = nn.Linear(2, 1), []
    module.register_forward_hook(lambda m, args, out: seen.append(out is None), always_call=True)
    with pytest.raises(RuntimeError):
        module(nbgrad.ones(3))
    module(nbgrad.ones(2))
    assert seen == [True, False]


def test_gradients_of_inputs_and_outputs():
    """d(3ab)/da = 3b: the hook sees it at the place of ``a``, and the gradients of both outputs."""
    module, seen = Both(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append(([g and g.tolist() for g in gi], [g.tolist() for g in go])))
    a, b = float32_leaf([2.0]), float32_leaf([5.0])
    product, total = module(a, b)
    (product * 3 + total).sum().backward()
    assert seen == [([[16.0], [7.0]], [[3.0], [1.0]])]
    assert a.grad.tolist() == [16.0] and b.grad.tolist() == [7.0]


def test_arguments_that_are_no_tensors():
    """Their places hold None."""
    module, seen = Both(), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append([g and g.tolist() for g in gi]))
    module(float32_leaf([2.0]), 5)[0].backward()
    assert seen == [[[5.0], None]]


def test_backward_hooks_replace_gradients():
    """A tuple that the pre-hook returns goes into the module, one that the hook returns goes on from it."""
    module, x = nn.Identity(), float32_leaf([1.0])
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + go[0],))
    module(x * 1).backward(nbgrad.tensor([2.0]))
    assert x.grad.tolist() == [12.0]


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_a_wrong_number_of_gradients(kind):
    """Hooks return as many gradients as they were given."""
    module = nn.Identity()
    getattr(module, kind)(lambda m, *grads: (None, None))
    with pytest.raises(RuntimeError, match="expected as many"):
        module(float32_leaf([1.0])).backward()


def test_inputs_without_gradients():
    """Where only parameters require grad, the hook is called before them, with None, and a warning says so."""
    module, seen = nn.Linear(2, 1), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, m.weight.grad, go[0].tolist())))
    y = module(nbgrad.ones(2))
    with pytest.warns(UserWarning, match="no input requires grad"):
        y.backward(nbgrad.tensor([3.0]))
    assert seen == [((None,), None, [3.0])] and module.weight.grad.tolist() == [[3.0, 3.0]]


def test_removed_hooks_leave_nothing():
    """After ``remove`` the module's results and gradients are what they were, and nothing of the hooks is in the graph."""
    module, seen = nn.Tanh(), []
    handles = [
        module.register_full_backward_hook(lambda m, gi, go: seen.append(0)),
        module.register_forward_hook(lambda m, args, out: seen.append(1)),
    ]
    for handle in handles:
        handle.remove()
    y = module(float32_leaf([1.0]))
    y.backward()
    assert not seen and y.grad_fn.name() == "TanhBackward0"


def test_no_graph_no_backward_hooks():
    """Under ``no_grad`` a module with backward hooks computes as any other."""
    module = nn.Tanh()
    module.register_full_backward_hook(lambda m, gi, go: None)
    with nbgrad.no_grad():
        assert not module(float32_leaf([1.0])).requires_grad


def test_a_result_that_is_no_tensor():
    """Backward hooks of a module that returns a dict are never called, and a warning says so."""

    class Named(nn.Module):
        def forward(self, x):
            return {"x": x}

    module = Named()
    module.register_full_backward_hook(lambda m, gi, go: None)
    with pytest.warns(UserWarning, match="dict"):
        module(float32_leaf([1.0]))


def test_hooks_of_a_checkpointed_module():
    """The backward hook of a module that is computed again fires once."""
    module, seen, x = nn.Tanh(), [], float32_leaf([0.5])
    module.register_full_backward_hook(lambda m, gi, go: seen.append(gi[0].tolist()))
    nbgrad.checkpoint(module, x, use_reentrant=False).backward()
    assert seen == [x.grad.tolist()]


def test_copies_keep_hooks():
    """A deep copy of a module has the hooks, and its own dict of them."""
    module, seen = nn.Identity(), []
    handle = module.register_forward_hook(lambda m, args, out: seen.append(m))
    other = copy.deepcopy(module)
    handle.remove()
    module(nbgrad.ones(1))
    other(nbgrad.ones(1))
    assert seen == [other]


def test_what_cannot_be_called():
    """A hook is callable."""
    with pytest.raises(TypeError, match="callable"):
        nn.Identity().register_forward_hook(3)


@pytest.mark.parametrize("factor", [1, 3])
def test_second_derivatives_through_a_module_with_hooks(factor):
    """What the hook makes of the first derivative is differentiated; it is not called with what comes back behind the module."""
    module, seen = nn.Tanh(), []
    module.register_full_backward_hook(lambda m, gi, go: (seen.append(gi[0]), (gi[0] * factor,))[1])
    x = nbgrad.tensor([1.0, 2.0], dtype=nbgrad.float64, requires_grad=True)
    (g,) = nbgrad.grad(module(x).sum(), x, create_graph=True)
    (h,) = nbgrad.grad(g.sum(), x)
    value = nbgrad.tanh(x.detach())
    assert g.allclose(factor * (1 - value * value)) and h.allclose(-2 * factor * value * (1 - value * value)) and len(seen) == 1


@pytest.mark.filterwarnings("ignore:Module. backward hooks are called for a Tensor")
def test_results_in_a_list_have_gradients():
    """The hooks are not called, as the warning said; gradients flow past them."""

    class Pair(nn.Module):
        def forward(self, x):
            return [x * 2, x]

    module, x = Pair(), float32_leaf([1.0])
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    module(x)[0].backward()
    assert x.grad.tolist() == [2.0]


def test_hooks_of_all_modules_come_before_a_modules_own():
    """Forwards and backwards, in modules with hooks and without; removed, they leave nothing."""
    model, seen = nn.Sequential(nn.Tanh(), nn.Identity()), []
    model[0].register_forward_hook(lambda m, args, out: seen.append("own"))
    with (
        register_module_forward_pre_hook(lambda m, args: seen.append(f"before {type(m).__name__}")),
        register_module_forward_hook(lambda m, args, kwargs, out: seen.append("after"), with_kwargs=True),
        register_module_full_backward_pre_hook(lambda m, go: seen.append("back")),
        register_module_full_backward_hook(lambda m, gi, go: seen.append(f"back through {type(m).__name__}")),
    ):
        y = model(float32_leaf([1.0]))
        forwards = [*seen]
        seen.clear()
        y.backward()
    assert forwards == ["before Sequential", "before Tanh", "after", "own", "before Identity", "after", "after"]
    assert seen == ["back", "back", "back through Identity", "back", "back through Tanh", "back through Sequential"]
    seen.clear()
    model(float32_leaf([1.0])).backward()
    assert seen == ["own"]


def test_hooks_of_all_modules_in_compiled_functions():
    """A compiled function follows those that come and go after it was captured."""
    layer, x = nn.Linear(2, 1), nbgrad.ones(1, 2)
    compiled = nbgrad.compile(lambda x: layer(x))
    before = compiled(x).item()
    with register_module_forward_hook(lambda m, args, out: out * 0 + 5):
        assert compiled(x).item() == 5.0
    assert compiled(x).item() == before


def test_hooks_of_what_modules_register():
    """They are told the name, and what they return becomes the attribute; assigned or registered, at first or anew."""
    seen = []

    def note(module, name, value):
        seen.append(name)

    with (
        register_module_parameter_registration_hook(lambda m, name, value: nn.Parameter(value.detach() * 0)),
        register_module_buffer_registration_hook(note),
        register_module_module_registration_hook(note),
    ):
        layer = nn.BatchNorm1d(1)
        model = nn.Sequential(layer)
        model.other = nn.Tanh()
        layer.running_mean = nbgrad.ones(1)
    nn.BatchNorm1d(1)
    assert layer.weight.tolist() == [0.0] and layer.running_mean.tolist() == [1.0]
    assert seen == ["running_mean", "running_var", "num_batches_tracked", "0", "other", "running_mean"]


def test_tables_of_hooks():
    """Under torch's names: they can be looked at, cleared and set anew."""
    layer = nn.Identity()
    layer.register_forward_hook(lambda m, args, out: out * 10)
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    assert len(layer._forward_hooks) == len(layer._forward_pre_hooks) == 1 and not layer._backward_hooks
    layer._forward_hooks.clear()
    layer._forward_pre_hooks = {}
    assert layer(nbgrad.ones(1)).tolist() == [1.0]
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(seen=1))
    (hook,) = layer._state_dict_hooks.values()
    hook(layer, state := {}, "", {})
    assert state == {"seen": 1} and not layer._state_dict_pre_hooks and not layer._load_state_dict_post_hooks
    layer._state_dict_hooks.clear()
    assert not layer.state_dict()
