"""What is left of ``torch.jit``'s language: programs that name it run."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import jit, nn
from nbgrad.errors import UsageError


def test_a_program_in_that_language_runs():
    """Functions and modules are compiled, what only speaks to the compiler gives its argument back."""

    @jit.script
    def scaled(x, factor: float = 2.0):
        return x * factor

    class Net(jit.ScriptModule):
        __constants__ = ["count"]
        count: jit.Final[int]

        def __init__(self):
            super().__init__()
            self.count = jit.Attribute(3, int)
            self.layer = nn.Linear(2, 2, bias=False)

        @jit.script_method
        def forward(self, x):
            y = jit.annotate(list[nbgrad.Tensor], [])
            for _ in range(self.count):
                y.append(jit.wait(jit.fork(self.layer, x)))
            return y[0] if jit.is_scripting() or jit.isinstance(y, tuple) else self.unseen(y[-1])

        @jit.ignore
        def unseen(self, x):
            return x

        @jit.ignore(drop=True)
        def dropped(self, x):
            return x

    x, net = nbgrad.ones(1, 2), Net()
    scripted = jit.script(net)
    assert scaled(x).tolist() == [[2.0, 2.0]] and scripted(x).tolist() == net(x).tolist() and scripted.dropped(x) is x
    assert jit.script(Net) is Net and jit.unused(scaled) is scaled and isinstance(scripted, Net)


def test_freezing():
    """For inference alone."""
    net = nn.Linear(1, 1)
    with pytest.raises(UsageError, match="module.eval"):
        jit.freeze(net)
    assert jit.optimize_for_inference(jit.freeze(net.eval())) is net


def test_errors_of_scripts():
    """``jit.Error`` is caught where a compiled function fails."""
    with pytest.raises(jit.Error):
        jit.script(lambda x: x @ x)(nbgrad.ones(2, 3))
