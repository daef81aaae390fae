"""Flags of the entry points count as Python counts them: NumPy's truths and integers too."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad import functional

FUNCTIONS = {"product": lambda x: (x * x).sum(), "kept result": lambda x: x.exp().sum(), "matmul": lambda x: x @ x}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("flag", [1, np.True_, [0]], ids=repr)
def test_create_graph(f, flag):
    """Anything true records the pass, wherever it is asked for."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    (gradient,) = nbgrad.grad(f(x), x, create_graph=flag)
    (expected,) = nbgrad.grad(f(x), x, create_graph=True)
    assert nbgrad.grad(gradient.sum(), x)[0].tolist() == nbgrad.grad(expected.sum(), x)[0].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(x).backward(create_graph=flag)
    assert x.grad.requires_grad and nbgrad.is_grad_enabled() is True
    x.grad = None
    assert functional.jacobian(f, x, create_graph=flag).requires_grad


@pytest.mark.parametrize("flag", [0, np.False_, None, []], ids=repr)
def test_no_graph(flag):
    """Anything false does not, and frees what was saved."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    assert not nbgrad.grad(y, x, create_graph=flag)[0].requires_grad
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("flag", [1, np.True_], ids=repr)
def test_retain_graph(flag):
    """Anything true keeps what was saved."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=flag)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
