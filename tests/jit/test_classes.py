"""Arguments of compiled functions that are tensors of a class of their own."""

from __future__ import annotations

import nbgrad
from nbgrad import nn
from nbgrad.testing import assert_close


class Scaled(nn.Parameter):
    """A class of a program's, which overrides nothing."""

    def doubled(self):
        """A method of its own."""
        return self * 2


def test_a_parameter_is_one_inside():
    """The function sees the argument's class, and is another program for another class."""

    @nbgrad.compile(fullgraph=True)
    def f(w):
        return (w * 2).sum() if isinstance(w, nn.Parameter) else w.sum(), type(w).__name__

    w, x = nn.Parameter(nbgrad.ones(3)), nbgrad.ones(3, requires_grad=True)
    for _ in range(3):
        assert (f(w)[0].item(), f(w)[1]) == (6.0, "Parameter")
        assert (f(x)[0].item(), f(x)[1]) == (3.0, "Tensor")
    assert len(f.variants) == 2
    f(w)[0].backward()
    assert_close(w.grad, nbgrad.full((3,), 2.0))


def test_the_native_call_compares_classes():
    """A plain tensor behind a parameter of the same layout, in functions whose only call is native."""
    f = nbgrad.compile(lambda w: w * (2.0 if isinstance(w, nn.Parameter) else 3.0), fullgraph=True)
    w, x = nn.Parameter(nbgrad.ones(3), requires_grad=False), nbgrad.ones(3)
    assert [f(each)[0].item() for each in (w, x, w, w, x, x)] == [2, 3, 2, 2, 3, 3]


def test_methods_of_a_class():
    """A class of a program's has its methods inside, too; results are plain."""
    f = nbgrad.compile(lambda w: (w.doubled(), w), fullgraph=True)
    w = Scaled(nbgrad.ones(2))
    for _ in range(2):
        doubled, same = f(w)
        assert doubled.tolist() == [2, 2] and type(doubled) is nbgrad.Tensor and same is w


def test_steps_on_parameters_among_the_arguments():
    """Writes, gradients and versions of an argument that is a parameter."""

    def step(w, x):
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with nbgrad.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
        return loss.detach()

    ends = []
    for fn in (step, nbgrad.compile(step, fullgraph=True)):
        w = nn.Parameter(nbgrad.tensor([1.0, 2.0]))
        losses = [fn(w, nbgrad.tensor([0.5, 0.25])).item() for _ in range(3)]
        ends.append((losses, w.tolist(), w._version, type(w), w.grad))
    assert ends[0] == ends[1]
