"""Random programs of views, leaves, writes and grad modes: compiled, they return and leave behind what they do uncompiled."""

from __future__ import annotations

import linecache
import random
import warnings
from typing import Any

import pytest

import nbgrad
from nbgrad.errors import NbgradError, VersionError

VALUES = ["a + b", "a * b", "a.tanh()", "a * s", "a.sum() + b", "a.clone()", "a * w", "complex_of(a, b)", "a.abs()"]
VIEWS = [
    *("a[1:]", "a[:1]", "a.view(-1)", "a.view(a.shape)", "a.squeeze()", "a.expand(2, *a.shape)", "a.view_as(a)", "a.contiguous()"),
    *("a.detach()", "a.data", "a.detach()[1:]", "a.detach().requires_grad_()", "a.unbind(0)[0] if a.ndim else a"),
    *("a.real", "a.conj()", "a.imag if a.is_complex() else a", "nbgrad.view_as_real(a.resolve_conj()) if a.is_complex() else a"),
]
WRITES = [
    *("a.mul_(2)", "a.add_(b) if a.shape == b.shape and a.dtype == b.dtype else a", "a.detach().mul_(2)", "a.mul_(w.sum())"),
    *("a.requires_grad_() if a.is_leaf else a", "a.requires_grad_(False) if a.is_leaf else a", "a.unsqueeze_(0)"),
    *("a[:1].mul_(3) if a.ndim else a", "a.detach_()"),
]
MODES = ["no_grad", "enable_grad"]


def complex_of(a, b):
    """A complex tensor of two real ones, or of a complex one."""
    return a * 1j if a.is_complex() or b.is_complex() else nbgrad.complex(a, b)


def program(rng: random.Random) -> str:
    """The text of a program."""
    count, writes = rng.randint(2, 7), rng.random() < 0.5
    lines = ["def f(x, y, s):", "    v = [x, y]"]
    for k in range(count):
        indent = "    "
        if rng.random() < 0.2:
            lines.append(f"    with nbgrad.{rng.choice(MODES)}():")
            indent = 8 * " "
        lines.append(f"{indent}a, b = v[{rng.randrange(k + 2)}], v[{rng.randrange(k + 2)}]")
        kind = rng.random()
        if writes and kind < 0.3:
            lines += [f"{indent}{rng.choice(WRITES)}", f"{indent}v.append(a)"]
        else:
            lines.append(f"{indent}v.append({rng.choice(VALUES if kind < 0.6 else VIEWS)})")
    results = [f"v[{rng.randrange(count + 2)}]" for _ in range(rng.randint(1, 4))]
    return "\n".join([*lines, f"    return {', '.join(results)},"])


def told(f: Any, call: int, w: Any, flags: list[bool], shape: tuple) -> list[Any]:
    """What a call returns and leaves, and what a pass through its results does; errors by their class."""
    nbgrad.manual_seed(call)
    w.grad = None
    leaf, y = nbgrad.randn(*shape).requires_grad_(flags[0]), nbgrad.randn(*shape).requires_grad_(flags[1])
    x = leaf * 1 if flags[2] else leaf
    try:
        with nbgrad.set_grad_enabled(not flags[3]):
            results = f(x, y, 0.5 + call)
        everything = [*results, leaf, y, x]
        found: list[Any] = [[t is other for other in everything] for t in results]
        found += [[t._storage_.array is other._storage_.array for other in everything] for t in results]
        for t in everything:
            found.append((t.dtype, t.shape, t.is_conj(), t.requires_grad, t.is_leaf, t.detach().resolve_conj().tolist()))
        live = [t for t in everything if t.requires_grad]
        if live:
            sum(((k + 2) * t.abs().double()).sum() for k, t in enumerate(live)).backward()
        found += [None if t.grad is None else t.grad.abs().mul(1000).round().tolist() for t in [*everything, w] if t.is_leaf]
    except NbgradError as error:
        return [type(error)]
    return found


@pytest.mark.parametrize("part", range(8))
def test_random_programs_return_what_they_return_uncompiled(part):
    """Results are the same tensors, leaves, and of the same memory; gradients are the same.

    A program that raises an error uncompiled may go on compiled, and one whose results are written to may have saved others.
    """
    captured = 0
    for seed in range(40 * part, 40 * part + 40):
        rng = random.Random(seed)
        text, name = program(rng), f"<program {seed}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        w = nbgrad.full((1,), 1.5, requires_grad=rng.random() < 0.5)
        names: dict[str, Any] = {"nbgrad": nbgrad, "w": w, "complex_of": complex_of}
        exec(compile(text, name, "exec"), names)
        flags, shape = [rng.random() < 0.4 for _ in range(3)] + [rng.random() < 0.15], rng.choice([(3,), (2, 3), (2, 2)])
        made = nbgrad.compile(names["f"])
        for call in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want, got = told(names["f"], call, w, flags, shape), told(made, call, w, flags, shape)
            if isinstance(want[0], type) or got == [VersionError]:
                break
            assert got == want, f"seed {seed}, call {call}, {flags}, {shape}\n{text}"
        captured += bool(made.variants)
    assert captured > 20
