"""What modes and transforms cost where the work itself is little: 24 small layers, in both libraries."""

from __future__ import annotations

import pytest
import torch

from benchmarks.peers import BOTH


def layers(lib):
    """Eight blocks of three layers, of the same weights in both."""
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(*sum(([torch.nn.LayerNorm(32), torch.nn.Linear(32, 32), torch.nn.SiLU()] for _ in range(8)), []))
    if lib is torch:
        return theirs
    ours = lib.nn.Sequential(*sum(([lib.nn.LayerNorm(32), lib.nn.Linear(32, 32), lib.nn.SiLU()] for _ in range(8)), []))
    ours.load_state_dict({name: lib.tensor(x.numpy()) for name, x in theirs.state_dict().items()})
    return ours


def plainly(lib, model, x):
    """No mode."""
    return model(x)


def under_hooks(lib, model, x):
    """Hooks that keep what they are shown."""
    with lib.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept):
        return model(x)


def in_mixed_precision(lib, model, x):
    """Products in bfloat16."""
    with lib.autocast("cpu", dtype=lib.bfloat16):
        return model(x).float()


def in_inference_mode(lib, model, x):
    """Nothing is recorded."""
    with lib.inference_mode():
        return model(x)


def of_other_tensors(lib, model, x):
    """Parameters are arguments."""
    return lib.func.functional_call(model, {name: p.detach() for name, p in model.named_parameters()}, (x,))


def under_module_hooks(lib, model, x):
    """A hook of each layer."""
    handles = [layer.register_forward_hook(lambda module, args, out: None) for layer in model]
    out = model(x)
    for handle in handles:
        handle.remove()
    return out


def in_a_function_mode(lib, model, x):
    """Every function is shown to Python."""

    class Shown(lib.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Shown():
        return model(x)


@pytest.mark.parametrize(
    "mode, budget",
    [
        (plainly, 0.6),
        (under_hooks, 1.2),
        (in_mixed_precision, 1.2),
        (in_inference_mode, 0.8),
        (of_other_tensors, 1.0),
        (under_module_hooks, 0.8),
        (in_a_function_mode, 1.2),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_modes(compare, mode, budget):
    """Forward and backward, but for what records nothing."""

    def program(lib):
        model, x = layers(lib), lib.ones(16, 32) / 2
        x.requires_grad_(mode is of_other_tensors)

        def run():
            out = mode(lib, model, x).sum()
            if out.requires_grad:
                model.zero_grad()
                x.grad = None
                out.backward()
            return out.detach()

        return run

    name = mode.__name__.replace("_", " ")
    compare(f"24 layers of 16 x 32, {name}", {which: program(lib) for which, lib in BOTH.items()}, budget=budget, tolerance=0.05)
