"""Classes that say what functions mean on them by ``__torch_function__``, as those of a program whose import line alone changed."""

from __future__ import annotations

import nbgrad
from nbgrad.base.overriding import overrides_functions
from nbgrad.overrides import FunctionMode, TorchFunctionMode


def test_subclass():
    """A subclass is asked about calls, writes and methods, does the usual by ``super()``, and so does a class below it."""
    seen = []

    class Seeing(nbgrad.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, func.__name__))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Below(Seeing):
        pass

    x = Seeing([1.0, 2.0])
    y = nbgrad.sin(x * 2).add_(1)
    assert type(y) is Seeing and [name for _, name in seen] == ["mul", "sin", "add_"]
    seen.clear()
    assert type(Below([1.0]) + x[:1]) is Below and ("Below", "add") in seen


def test_class_of_parameters():
    """It is asked like any subclass, however it is made; ``super()`` computes plain tensors."""
    seen = []

    class Seeing(nbgrad.nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Below(Seeing):
        pass

    for kind in (Seeing, Below):
        module = nbgrad.nn.Module()
        module.weight = kind(nbgrad.tensor([1.0, 2.0]))
        seen.clear()
        y = nbgrad.exp(module.weight * 2)
        assert seen == ["mul"] and type(y) is nbgrad.Tensor and [*module.parameters()] == [module.weight]
        y.sum().backward()
        assert type(module.weight.grad) is nbgrad.Tensor and module.weight.grad.allclose(2 * y) and module.weight.is_leaf


def test_type_that_is_no_tensor():
    """A type of its own is asked, and what functions return for it is what it says."""

    class Scaled:
        def __init__(self, values, scale):
            self.values, self.scale = values, scale

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            plain = [x.values * x.scale if isinstance(x, cls) else x for x in args]
            return func.__name__, func(*plain, **(kwargs or {}))

    scaled = Scaled(nbgrad.ones(2), 3.0)
    assert overrides_functions(Scaled) and nbgrad.overrides.is_tensor_like(scaled)
    assert nbgrad.add(scaled, 1)[1].tolist() == [4.0, 4.0] and nbgrad.sum(scaled)[0] == "sum"
    assert nbgrad.cat([nbgrad.ones(1), nbgrad.ones(1)]).tolist() == [1.0, 1.0]
    assert nbgrad.matmul(nbgrad.ones(2), scaled)[1].item() == 6.0


def test_mode():
    """A mode under torch's name sees all calls of its block."""

    class Counting(TorchFunctionMode):
        def __init__(self):
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Counting() as mode:
        y = (nbgrad.ones(2) + 1).exp()
    assert TorchFunctionMode is FunctionMode and mode.names == ["add", "exp"] and y.shape == (2,)


def test_functions_of_others():
    """A function that asks again, as torch's own do of our tensors, gets NotImplemented, and not itself for ever."""

    def foreign(x):
        return nbgrad.Tensor.__torch_function__(foreign, (nbgrad.Tensor,), (x,))

    assert foreign(nbgrad.ones(1)) is NotImplemented
