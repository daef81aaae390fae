"""Checkpoints: what recomputation costs in time and spares in memory, beside the plain program, in both libraries."""

from __future__ import annotations

import os

import numpy as np
import pytest
from torch.utils.checkpoint import checkpoint as torch_checkpoint

import nbgrad
from benchmarks.peers import BOTH, child

LAYERS, SEGMENTS = 64, 8
CHECKPOINTS = {"nbgrad": nbgrad.checkpoint, "torch": torch_checkpoint}


def layers(x, w, count):
    """``count`` layers of elementwise work: each saves two tensors of the size of ``x``."""
    for _ in range(count):
        x = (x * w).tanh()
    return x


def program(lib, size, walk):
    """Forward and backward of all layers; ``walk(x, w)`` says how they are run."""
    x = lib.tensor(np.linspace(-1, 1, size, dtype=np.float32), requires_grad=True)
    w = lib.tensor(1.5, requires_grad=True)

    def run():
        x.grad = w.grad = None
        walk(x, w).sum().backward()
        return x.grad

    return run


def plain(x, w):
    """Everything that is saved stays."""
    return layers(x, w, LAYERS)


def in_segments(checkpoint):
    """Only the inputs of the segments stay."""

    def walk(x, w):
        for _ in range(SEGMENTS):
            x = checkpoint(layers, x, w, LAYERS // SEGMENTS, use_reentrant=False)
        return x

    return walk


def as_loop(x, w):
    """At most four states stay, whatever the length."""
    return nbgrad.checkpoint_loop(lambda x, k: layers(x, w, 1), x, LAYERS, 4)


@pytest.mark.parametrize("size", [16, 100_000])
def test_cost_of_recomputation(compare, size):
    """Segments computed twice against once; the schedule of four states runs every layer four times on average."""
    candidates = {}
    for name, lib in BOTH.items():
        candidates[name] = program(lib, size, in_segments(CHECKPOINTS[name]))
        candidates[f"{name}, plain"] = program(lib, size, plain)
    candidates["nbgrad, loop of 4 states"] = program(nbgrad, size, as_loop)
    budget = {"nbgrad, plain": 1.5, "torch": 1.0} if size > 1000 else {"torch": 1.0}
    compare(f"{LAYERS} layers of {size:,} in {SEGMENTS} checkpoints, forward and backward", candidates, budget=budget)


# In a child, whose peak is nobody else's: it is reset once everything is imported, compiled and has run.
PEAK = """
import ctypes, gc, importlib, json
from benchmarks import test_checkpoint as program
lib = importlib.import_module(LIBRARY)
lib.set_num_threads(1)
walk = WALK

def pages(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

run = program.program(lib, SIZE, walk)
run()
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
getattr(lib, "release_memory", int)()           # what nbgrad keeps would hide what the step needs
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
before = pages("VmRSS")
run()
print(json.dumps(pages("VmHWM") - before))
"""
WALKS = {
    "nbgrad": ("nbgrad", "program.in_segments(program.CHECKPOINTS['nbgrad'])"),
    "nbgrad, plain": ("nbgrad", "program.plain"),
    "nbgrad, loop of 4 states": ("nbgrad", "program.as_loop"),
    "torch": ("torch", "program.in_segments(program.CHECKPOINTS['torch'])"),
    "torch, plain": ("torch", "program.plain"),
}


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="no peak of resident memory to reset")
def test_peak_of_memory(summarise):
    """Resident memory at its peak over that before the step: of 128 tensors saved, some 8 + 16 stay."""
    size = 262_144
    peaks = {
        name: [float(child(PEAK.replace("LIBRARY", repr(library)).replace("WALK", walk).replace("SIZE", str(size))))]
        for name, (library, walk) in WALKS.items()
    }
    title = f"peak of memory, {LAYERS} layers of {size:,} in {SEGMENTS} checkpoints"
    summarise(title, peaks, {"nbgrad, plain": 0.3, "torch": 1.1}, unit="B")
