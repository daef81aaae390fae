"""Every operation beside torch, at 16 elements and at a million: the call alone, and the call and its backward pass."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks import harness
from benchmarks.operations import PROGRAMS, SIZES, Program, unmeasured
from benchmarks.peers import BOTH, grad_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch's: of deprecated functions, of losses

PLACES = ("", "nn.functional.", "linalg.", "special.")
SETTINGS = {
    "small": harness.Settings(rounds=9, fewest_rounds=5, block=1e-3, limit=0.06),
    "large": harness.Settings(rounds=7, fewest_rounds=3, block=1e-3, limit=0.15),
}


def place_of(name: str) -> str:
    """Where both libraries have a function: an expression in ``lib``."""
    for place in PLACES:
        path = (place + name).split(".")
        if all(reached(lib, path) for lib in BOTH.values()):
            return f"lib.{place}{name}"
    raise LookupError(f"{name}: in none of torch's places, expected a line in benchmarks/operations.py.")


def reached(lib, path):
    """Whether a path of names leads somewhere."""
    for name in path:
        lib = getattr(lib, name, None)
    return lib is not None


def tensors_in(out):
    """The tensors among results."""
    if isinstance(out, (tuple, list)):
        return [x for each in out for x in tensors_in(each)]
    return [out] if hasattr(out, "requires_grad") else []


def program(lib, of: Program, path: str, size: str, recorded: bool):
    """What to time; None where no gradient flows.

    Gradients are asked for by ``grad``: that of a view is a view of the cotangent that was given. ``backward`` would copy it, since
    a caller who keeps the cotangent must not see it change; torch's ``.grad`` is that memory.
    """
    call, leaves = of.call(lib, path, size, recorded)
    if not recorded:
        return call
    out = call()
    outs, grad = [x for x in tensors_in(out) if x.requires_grad], grad_of(lib)
    if not (leaves and outs):
        return None
    seeds = [lib.ones_like(x).detach() for x in outs]
    if not isinstance(out, (tuple, list)):
        return lambda: grad(call(), leaves, seeds[0], allow_unused=True)
    return lambda: grad([x for x in tensors_in(call()) if x.requires_grad], leaves, seeds, allow_unused=True)


@pytest.mark.parametrize("recorded", [False, True], ids=["call", "step"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_operation(keep, name, size, recorded):
    """One operation at one size."""
    of = PROGRAMS[name]
    make = partial(program, of=of, path=place_of(name) if "{path}" in of.expression else "", size=size, recorded=recorded)
    candidates = {key: make(lib) for key, lib in BOTH.items()}
    missing = [key for key, candidate in candidates.items() if candidate is None]
    if missing:
        if len(missing) == 1 and missing[0] == "nbgrad":
            raise AssertionError(f"{name}: torch has a gradient, nbgrad none.")
        pytest.skip(f"no gradient in {missing}")
    row = f"{name} | {size} | {'step' if recorded else 'call'}"
    keep(harness.compare(row, candidates, tolerance=None, settings=SETTINGS[size]))


def test_no_operation_is_missing():
    """Every operation that users call has a line."""
    assert not unmeasured()
