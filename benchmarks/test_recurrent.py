"""Recurrent layers: all steps of a batch of sequences, forward and back, beside torch."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from benchmarks.peers import both

RNG = np.random.default_rng(0)
STEPS, BATCH, SIZE = 64, 32, 64
INPUT, COTANGENT = (RNG.normal(size=(STEPS, BATCH, SIZE)).astype(np.float32) for _ in range(2))
LENGTHS = sorted(RNG.integers(STEPS // 4, STEPS + 1, BATCH).tolist(), reverse=True)


def layer_of(lib, kind: str):
    """A layer with numbers of no symmetry, the same ones everywhere."""
    layer, rng = getattr(lib.nn, kind)(SIZE, SIZE), np.random.default_rng(1)
    with lib.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(lib.tensor(rng.uniform(-0.125, 0.125, tuple(parameter.shape)).astype(np.float32)))
    return layer


def both_ways(lib, kind: str, packed: bool = False):
    """Outputs of all steps, and the gradients of the weights."""
    layer, x, g = layer_of(lib, kind), lib.tensor(INPUT), lib.tensor(COTANGENT)
    if packed:
        rnn = importlib.import_module(f"{lib.__name__}.nn.utils.rnn")
        x, g = (rnn.pack_padded_sequence(each, lib.tensor(LENGTHS)) for each in (x, g))

    def run():
        for parameter in layer.parameters():
            parameter.grad = None
        out, _ = layer(x)
        if packed:
            out.data.backward(g.data)
        else:
            out.backward(g)
        return [parameter.grad for parameter in layer.parameters()]

    return run


def one_way(lib, kind: str):
    """Outputs of all steps alone."""
    layer, x = layer_of(lib, kind), lib.tensor(INPUT)

    def run():
        with lib.no_grad():
            return layer(x)[0]

    return run


@pytest.mark.parametrize(("kind", "budget"), [("LSTM", 0.5), ("GRU", None), ("RNN", None)])
def test_all_steps(compare, kind, budget):
    """Forward and backward of one layer, 64 steps of 32 sequences, 64 features and units."""
    compare(f"{kind} {STEPS}x{BATCH}x{SIZE}, forward and backward", both(both_ways, kind), budget=budget, tolerance=1e-3)


def test_forward_alone(compare):
    """The same without recording."""
    compare(f"LSTM {STEPS}x{BATCH}x{SIZE}, forward", both(one_way, "LSTM"), tolerance=1e-3)


def test_packed_sequences(compare):
    """Lengths from a quarter of the steps to all."""
    compare(f"LSTM {STEPS}x{BATCH}x{SIZE}, packed, forward and backward", both(both_ways, "LSTM", True), tolerance=1e-3)
