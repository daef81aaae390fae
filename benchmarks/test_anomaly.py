"""Anomaly mode: what it costs to leave it on, beside the same program without it, in both libraries."""

from __future__ import annotations

import pytest

from benchmarks.peers import BOTH
from benchmarks.test_overhead import chain
from benchmarks.test_training import step_of

REPEATS = 20  # steps inside of one switching of the mode, whose own microseconds are then nothing


def program(lib, make, mode, check_nan=True):
    """``make(lib)`` run with the mode on or off; switched by the call, so that candidates may take turns."""
    run = make(lib)
    switch = getattr(lib, "autograd", lib).set_detect_anomaly

    def repeated():
        with switch(mode, check_nan):
            for _ in range(REPEATS - 1):
                run()
            return run()

    return repeated


PROGRAMS = {"20 mul + sum of 16 elements": chain, "MLP training step with SGD, batch 128": lambda lib: step_of(lib, "SGD")}


@pytest.mark.parametrize("title", PROGRAMS)
def test_cost_of_the_mode(compare, title):
    """With the mode on, against without; torch's own two in the same rounds."""
    candidates = {}
    for name, lib in BOTH.items():
        candidates[name] = program(lib, PROGRAMS[title], True)
        candidates[f"{name}, mode off"] = program(lib, PROGRAMS[title], False)
    candidates["nbgrad, no search for NaN"] = program(BOTH["nbgrad"], PROGRAMS[title], True, False)
    budget = {"nbgrad, mode off": 1.3, "torch": 1.0}
    compare(f"anomaly mode: {title}, {REPEATS} times", candidates, budget=budget, tolerance=None)
