"""Floating-point operations, as torch 2.13 counts them; where in modules they are."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.nn import functional as F
from nbgrad.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
from nbgrad.utils.module_tracker import ModuleTracker


def counts(program) -> dict[str, dict[str, int]]:
    """``{module: {operator: count}}`` of a program."""
    with FlopCounterMode(display=False) as counter:
        program()
    return {name: {str(packet): n for packet, n in found.items()} for name, found in counter.get_flop_counts().items()}


def leaf(*shape):
    return nbgrad.ones(shape, requires_grad=True)


def trained(module, x):
    """A forward and a backward."""
    return lambda: module(x).sum().backward()


@pytest.mark.parametrize(
    "program, expected",
    [
        (trained(nn.Linear(3, 4), leaf(5, 3)), {"aten.addmm": 120, "aten.mm": 240}),
        (trained(nn.Linear(3, 4), leaf(2, 5, 3)), {"aten.addmm": 240, "aten.mm": 480}),
        (trained(nn.Linear(3, 4, bias=False), leaf(2, 5, 3)), {"aten.mm": 720}),
        (lambda: (leaf(2, 5, 3) @ nbgrad.ones(2, 3, 7)).sum().backward(), {"aten.bmm": 840}),
        (lambda: nbgrad.einsum("bij,bjk->bik", leaf(2, 5, 3), nbgrad.ones(2, 3, 7)), {"aten.bmm": 420}),
        (lambda: nbgrad.baddbmm(nbgrad.ones(2, 5, 7), leaf(2, 5, 3), nbgrad.ones(2, 3, 7)), {"aten.baddbmm": 420}),
        (
            trained(nn.Conv2d(4, 6, 3, padding=1, stride=2), leaf(2, 4, 9, 9)),
            {"aten.convolution": 21600, "aten.convolution_backward": 43200},
        ),
        (trained(nn.Conv2d(4, 6, 3, groups=2), leaf(2, 4, 9, 9)), {"aten.convolution": 21168, "aten.convolution_backward": 63504}),
        (
            trained(nn.ConvTranspose2d(4, 6, 3, stride=2), leaf(2, 4, 5, 5)),
            {"aten.convolution": 21600, "aten.convolution_backward": 43200},
        ),
        (trained(nn.Conv1d(4, 6, 3), nbgrad.ones(2, 4, 9)), {"aten.convolution": 2016, "aten.convolution_backward": 2016}),
        (
            lambda: F.scaled_dot_product_attention(*[leaf(2, 3, 5, 8)] * 3).sum().backward(),
            {
                "aten._scaled_dot_product_flash_attention_for_cpu": 4800,
                "aten._scaled_dot_product_flash_attention_for_cpu_backward": 12000,
            },
        ),
    ],
)
def test_counts_are_torchs(program, expected):
    """Those of attention are torch's on a GPU."""
    assert counts(program)["Global"] == expected


def test_products_with_vectors_do_not_count():
    """As in torch."""
    assert counts(lambda: leaf(2, 5, 3) @ nbgrad.ones(3)) == {}


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4))

    def forward(self, x):
        return self.b(self.a(x))


def test_counts_by_modules():
    """A backward pass belongs to the modules whose gradients it computes."""
    assert counts(trained(Outer(), leaf(5, 3))) == {
        "Global": {"aten.addmm": 280, "aten.mm": 560},
        "Outer": {"aten.addmm": 280, "aten.mm": 560},
        "Outer.a": {"aten.addmm": 120, "aten.mm": 240},
        "Outer.b": {"aten.addmm": 160, "aten.mm": 320},
        "Outer.b.0": {"aten.addmm": 160, "aten.mm": 320},
    }


def test_the_table(capsys):
    """It is printed when the mode is left; ``depth`` says how much of it."""
    with FlopCounterMode() as counter:
        Outer()(nbgrad.ones(5, 3))
    printed = capsys.readouterr().out
    assert (
        printed.splitlines()[0].split() == ["Module", "FLOP", "%", "Total"] and "Outer.b" in printed and "Outer.b.0" not in printed
    )
    assert "Outer.b.0" in counter.get_table(3) and "Outer.b" not in counter.get_table(1) and "280" in counter.get_table(1)
    with FlopCounterMode(display=False) as counter:
        nbgrad.ones(2)
    assert counter.get_total_flops() == 0 and "Global" in counter.get_table()


def test_formulas_of_programs():
    """For one counter, or for all."""
    aten = nbgrad.ops.aten
    with FlopCounterMode(display=False, custom_mapping={aten.sin: lambda shape, out_shape: 5 * shape[0]}) as counter:
        nbgrad.ones(3).sin()
    assert counter.get_total_flops() == 15

    @register_flop_formula(aten.cos, get_raw=True)
    def of_cos(x, out_val):
        return out_val.numel()

    try:
        assert counts(lambda: nbgrad.ones(3).cos()) == {"Global": {"aten.cos": 3}}
    finally:
        del flop_registry[aten.cos]


def test_module_tracker_forward_and_backward():
    """``parents`` while a hook of each runs; nothing afterwards."""
    model, seen = Outer(), {}
    x = leaf(2, 3)
    with ModuleTracker() as tracker:
        h = model.a(x)
        model.b[0].register_forward_pre_hook(lambda *_: seen.update(forward=set(tracker.parents)))
        y = model(x)
        y.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    assert seen["forward"] >= {"Global", "Outer", "Outer.b", "Outer.b.0"} and h is not None
