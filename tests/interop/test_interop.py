"""Functions across libraries; torch and JAX are no requirement of the tests, so each is skipped where it is missing."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad


@pytest.mark.slow
def test_functions_of_nbgrad_in_torch_and_back():
    """Values and gradients of both, of arguments and of what the functions capture; memory is shared."""
    torch = pytest.importorskip("torch")
    from nbgrad.interop.torch import from_torch, nbgrad_function, to_torch, torch_function

    w = nbgrad.tensor([2.0, 3.0], requires_grad=True)
    f = torch_function(lambda x, k: ((x * w).sin() * k, x.sum().detach()))
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    y, total = f(x, 3)
    y.sum().backward()
    np.testing.assert_allclose(y.detach(), 3 * np.sin([1.0, -3.0]), rtol=1e-6)
    np.testing.assert_allclose(x.grad, 3 * np.cos([1.0, -3.0]) * [2, 3], rtol=1e-6)
    np.testing.assert_allclose(w.grad.numpy(), 3 * np.cos([1.0, -3.0]) * [0.5, -1], rtol=1e-6)
    assert total.item() == -0.5 and not total.requires_grad

    layer = torch.nn.Linear(2, 1)
    g = nbgrad_function(layer)
    z = nbgrad.tensor([[1.0, 2.0]], requires_grad=True)
    (g(z) * 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * layer.weight.detach().numpy())
    np.testing.assert_allclose(layer.weight.grad, [[2.0, 4.0]])
    shared = from_torch(to_torch(nbgrad.ones(2)))
    assert shared.tolist() == [1.0, 1.0]
    with pytest.raises(nbgrad.ArgumentError, match="fn gave int"):
        torch_function(lambda x: 1)(x)
    with pytest.raises(nbgrad.ArgumentError, match="nbgrad_function: fn gave int"):
        nbgrad_function(lambda x: 1)(z)


@pytest.mark.slow
def test_functions_of_nbgrad_in_jax_and_back():
    """Under jit, grad and vmap; the pull-back of a function of JAX's is a node of nbgrad's graph."""
    jax = pytest.importorskip("jax")
    from nbgrad.interop.jax import jax_function, nbgrad_function

    f = jax_function(lambda x, y: (x.sin() * y).sum())
    x, y = jax.numpy.array([0.5, 1.0]), jax.numpy.array([2.0, 3.0])
    value, (by_x, by_y) = jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(x, y)
    np.testing.assert_allclose(value, np.sum(np.sin(x) * y), rtol=1e-6)
    np.testing.assert_allclose(by_x, np.cos(x) * y, rtol=1e-6)
    np.testing.assert_allclose(by_y, np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(x[:, None], y[:, None]), np.sin(x) * y, rtol=1e-6)

    g = nbgrad_function(lambda x: jax.numpy.cos(x) ** 2)
    z = nbgrad.tensor([0.5, 1.0], requires_grad=True)
    g(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), -np.sin(2 * z.detach().numpy()), rtol=1e-5)
