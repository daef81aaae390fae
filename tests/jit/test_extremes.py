"""Compiled functions of many arguments and results, of tensors of no, one and few elements of every dtype; threads and forks."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import nbgrad
from nbgrad.jit import compile

DTYPES = "bool uint8 int8 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
SHAPES = [(), (0,), (3, 0), (4,), (2, 3)]
FUNCTIONS = {
    "several steps": lambda x: x * x + x,
    "sum": lambda x: (x * x).sum(),
    "comparison": lambda x: x == x,
    "aliases": lambda x: (x, x, x.view(-1)),
    "sine": lambda x: (x + x).sin(),
}


def test_a_hundred_results():
    """Each is its own, with its gradient."""
    x = nbgrad.ones(3, requires_grad=True)
    compiled = compile(lambda x: tuple([x * k for k in range(100)]), fullgraph=True)
    for _ in range(2):
        made = compiled(x)
        assert [each.tolist() for each in made] == [[k] * 3 for k in range(100)]
        assert nbgrad.grad(made[7].sum() + made[99].sum(), x)[0].tolist() == [106.0] * 3


def test_two_hundred_arguments():
    """As one argument each, and in a list; with all of their gradients."""
    given = [nbgrad.full((3,), float(k), requires_grad=True) for k in range(200)]
    for fn, args in [(lambda *xs: sum(xs[1:], xs[0]), given), (lambda xs: sum(xs[1:], xs[0]), [given])]:
        compiled = compile(fn, fullgraph=True)
        for _ in range(2):
            out = compiled(*args)
            assert out.tolist() == [19900.0] * 3
            assert [g.tolist() for g in nbgrad.grad(out.sum(), given)] == [[1.0] * 3] * 200


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_size(dtype, name):
    """Results and gradients have the bits, dtypes and shapes of eager's."""
    fn, kind = FUNCTIONS[name], getattr(nbgrad, dtype)
    for shape in SHAPES:
        compiled = compile(fn, fullgraph=True)
        x = (nbgrad.linspace(0, 3, 6)[: int(np.prod(shape))].reshape(shape)).to(kind)
        x.requires_grad_(kind.differentiable)
        for _ in range(2):
            made, wanted = ([*out] if isinstance(out, tuple) else [out] for out in (compiled(x), fn(x)))
            for y, z in zip(made, wanted, strict=True):
                assert (y.dtype, y.shape, y.requires_grad) == (z.dtype, z.shape, z.requires_grad) and bits(y) == bits(z)
                if y.requires_grad:
                    grads = [nbgrad.grad(out, x, nbgrad.ones_like(out))[0] for out in (y, z)]
                    assert grads[0].dtype is grads[1].dtype and bits(grads[0]) == bits(grads[1])


def bits(x):
    return x.detach().resolve_conj().numpy().tobytes()


def test_others_go_on_while_a_thread_captures():
    """Eager calls of other threads are no part of a capture, and wait for none."""
    inside, done, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait(10)
        y = nbgrad.ones(2, requires_grad=True)
        (y * 3).sum().backward()
        seen.append(y.grad.tolist())
        done.set()

    def fn(x):
        inside.set()
        assert done.wait(10)
        return x * 2

    thread = threading.Thread(target=other)
    thread.start()
    compiled = compile(fn, fullgraph=True)
    assert compiled(nbgrad.ones(2)).tolist() == [2.0, 2.0]
    thread.join()
    assert seen == [[3.0, 3.0]] and [node.name for node in compiled.variants[0].graph.nodes] == ["mul"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.forks
def test_a_forked_process_goes_on():
    """With what was captured before, and with captures of its own."""
    compiled = compile(lambda x: (x * 2).exp().sum(), fullgraph=True)
    x = nbgrad.ones(3, requires_grad=True)
    wanted = compiled(x).item()
    child = os.fork()
    if not child:
        code = 1
        try:
            good = compiled(x).item() == wanted and compiled(nbgrad.zeros(4)).item() == 4.0
            code = 0 if good and nbgrad.grad(compiled(x), x)[0].shape == (3,) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert compiled(x).item() == wanted
