"""Functions without side effects, what stands behind tensors inside of transforms, and calls of modules by names."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.func import debug_unwrap, functional_call, functionalize, grad, jvp, linearize, vmap
from tests.helpers import wave


def twice_in_place(x):
    """Adds 1 and doubles, by two writes."""
    return x.add_(1).mul_(2).sum()


# ---- functionalize ---------------------------------------------------------------------------------------------------


def test_an_argument_gets_one_write():
    """What the function writes in two steps reaches the argument in one, with the same value."""
    x = wave(3)
    before, version = x.numpy().copy(), x._version
    got = functionalize(twice_in_place)(x)
    assert x._version == version + 1
    assert np.allclose(x.numpy(), 2 * (before + 1)) and np.allclose(got.item(), 2 * (before + 1).sum())


def test_arguments_that_are_not_changed_come_back_themselves():
    """They are not written to, and a result that is an argument is that argument."""
    x, y = wave(3), wave(3)
    got = functionalize(lambda x, named: {"x": x, "product": x * named["y"]})(x, named={"y": y})
    assert got["x"] is x and x._version == y._version == 0
    assert np.allclose(got["product"].numpy(), x.numpy() * y.numpy())


def test_gradients_flow_through_the_copies():
    """grad of a functionalized function, the other way round, and in a batch: d/dx of x * x."""

    def square(x):
        return x.clone().mul_(x).sum()

    x = wave(2, 3)
    for slope in (grad(functionalize(square)), functionalize(grad(square)), vmap(grad(functionalize(square)))):
        assert np.allclose(slope(x).numpy(), 2 * x.numpy())


def test_a_written_argument_has_the_history_of_the_write():
    """A non-leaf argument that was changed leads back to its history."""
    leaf = wave(3).requires_grad_()
    x = leaf * 1
    functionalize(twice_in_place)(x)
    (by,) = nbgrad.grad(x.sum(), leaf)
    assert by.tolist() == [2.0, 2.0, 2.0]


def test_results_without_shared_memory():
    """``mutations_and_views``: results are written to independently of one another."""
    first, second = functionalize(lambda x: (x * 2, (x * 2).view(-1)), remove="mutations_and_views")(wave(2, 2))
    assert not second._is_view()
    one = functionalize(lambda x: (lambda y: (y, y.view(-1)))(x * 2), remove="mutations_and_views")(wave(2, 2))
    one[1].zero_()
    assert np.allclose(one[0].numpy(), first.numpy())


def test_other_words_are_refused():
    """``remove`` is looked at when the function is made."""
    with pytest.raises(RuntimeError, match="mutations_and_views"):
        functionalize(twice_in_place, remove="views")


# ---- debug_unwrap ----------------------------------------------------------------------------------------------------


def seen_in(transform, x, **options):
    """What ``debug_unwrap`` shows of the argument of a transformed function."""
    seen = []

    def look(x):
        seen.append(debug_unwrap(x, **options))
        return (x * 2).sum()

    transform(look)(x)
    return seen[0]


def test_the_batch_behind_an_element():
    """The whole batch, of all levels or of the innermost alone."""
    x = wave(3, 2)
    assert np.array_equal(seen_in(vmap, x).numpy(), x.numpy())
    assert seen_in(lambda f: vmap(vmap(f)), x).shape == (3, 2)
    assert seen_in(lambda f: vmap(vmap(f)), x, recurse=False).shape == (2,)


@pytest.mark.parametrize(
    "transform", [grad, lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: vmap(grad(f)), lambda f: grad(lambda x: f(x * 1))]
)
def test_neither_history_nor_tangents_of_transforms(transform):
    """What is shown is a constant of the same values."""
    x = wave(3, 2)
    shown = seen_in(transform, x)
    assert not shown.requires_grad and np.array_equal(shown.numpy(), x.numpy())


def test_ordinary_tensors_are_shown_as_they_are():
    """A tensor that no transform made is itself, whether it requires grad or not."""
    x, y = wave(3), wave(3).requires_grad_()
    assert debug_unwrap(x) is x and debug_unwrap(y) is y
    with pytest.raises(TypeError, match="Tensor"):
        debug_unwrap(3)


# ---- modules and linear maps -----------------------------------------------------------------------------------------


class Tied(nbgrad.nn.Module):
    """Two layers of one weight."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nbgrad.nn.Linear(2, 2, bias=False), nbgrad.nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        """One after the other."""
        return self.second(self.first(x))


def test_strict_names_count_tied_ones():
    """One name of a tied weight is enough, also where all names must be given; without ties it is not."""
    module, weight, x = Tied(), nbgrad.eye(2) * 3, nbgrad.ones(1, 2)
    assert functional_call(module, {"first.weight": weight}, x, strict=True).tolist() == [[9.0, 9.0]]
    with pytest.raises(RuntimeError, match="missing"):
        functional_call(module, {"first.weight": weight}, x, strict=True, tie_weights=False)


def test_batch_normalisations_without_statistics():
    """After the replacement a batch is normalised by itself in either mode, and a map over batches can run."""
    net = nbgrad.nn.Sequential(nbgrad.nn.BatchNorm1d(3), nbgrad.nn.Sequential(nbgrad.nn.BatchNorm1d(3, affine=False)))
    assert nbgrad.func.replace_all_batch_norm_modules_(net) is net and not list(net.buffers())
    x = wave(2, 5, 3).to(nbgrad.float32)
    array = x.numpy().astype(np.float64)
    want = (array - array.mean(1, keepdims=True)) / np.sqrt(array.var(1, keepdims=True) + 1e-5)
    for module in (net.train(), net.eval()):
        assert np.allclose(module(x[0]).detach().numpy(), want[0], atol=1e-3)
        assert np.allclose(vmap(module)(x).detach().numpy(), want, atol=1e-3)


def test_tangents_of_a_linear_map_have_its_dtype():
    """``linearize`` refuses to convert."""
    _, push_forward = linearize(nbgrad.sin, wave(3))
    with pytest.raises(RuntimeError, match="float32"):
        push_forward(nbgrad.ones(3, dtype=nbgrad.float32))
