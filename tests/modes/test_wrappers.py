"""Tensor subclasses with ``__torch_dispatch__``: wrappers without elements, and gradients through them, which are wrappers."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad import Tensor
from nbgrad.nn import functional as F
from nbgrad.utils._python_dispatch import is_traceable_wrapper_subclass, return_and_correct_aliasing, transform_subclass
from nbgrad.utils._pytree import tree_map

aten = nbgrad.ops.aten


class Two(Tensor):
    """Two tensors, on both of which each operation is done."""

    @staticmethod
    def __new__(cls, a, b, requires_grad=False):
        return Tensor._make_wrapper_subclass(
            cls, a.shape, dtype=a.dtype, device=a.device, strides=a.stride(), requires_grad=requires_grad
        )

    def __init__(self, a, b, requires_grad=False):
        self.a, self.b = a, b

    def __repr__(self):
        return f"Two({self.a.tolist()}, {self.b.tolist()})"

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["a"], inner["b"])

    __torch_function__ = nbgrad._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def done(side):
            return func(*tree_map(lambda x: getattr(x, side) if isinstance(x, Two) else x, args), **(kwargs or {}))

        sides = [done("a"), done("b")]
        several = isinstance(sides[0], (tuple, list))
        pairs = list(zip(*sides)) if several else [sides]
        made = [cls(a, b) if isinstance(a, Tensor) else a for a, b in pairs]
        return return_and_correct_aliasing(func, args, kwargs, type(sides[0])(made) if several else made[0])


def two(*shape: int, requires_grad: bool = True) -> Two:
    """One of random tensors."""
    generator = nbgrad.Generator().manual_seed(len(shape) + sum(shape))
    return Two(*[nbgrad.randn(shape, generator=generator) for _ in "ab"], requires_grad=requires_grad)


PROGRAMS = {
    "mul": (lambda x, y: x * y, (3,), (3,)),
    "broadcast": (lambda x, y: x * y - y, (3, 4), (4,)),
    "numbers": (lambda x: 1 - x**3 / 2, (3,)),
    "tanh": (lambda x: x.tanh(), (3,)),
    "exp_out": (lambda x: x.exp().sigmoid(), (3,)),
    "matmul": (lambda x, y: x @ y, (3, 4), (4, 2)),
    "linear": (lambda x, w, b: F.linear(x, w, b), (3, 4), (2, 4), (2,)),
    "views": (lambda x: x.t().reshape(-1)[1:].exp(), (3, 4)),
    "select": (lambda x: x[0] * x[1], (3, 4)),
    "chunk": (lambda x: x.chunk(2)[0] * x.chunk(2)[1], (4, 2)),
    "cat": (lambda x, y: nbgrad.cat([x, y]) ** 2, (3, 4), (2, 4)),
    "softmax": (lambda x: nbgrad.softmax(x, -1) ** 2, (3, 4)),
    "sum": (lambda x: x.sum(0).exp(), (3, 4)),
    "var": (lambda x: x.var(0), (4, 2)),
    "max": (lambda x: x.max(1)[0], (4, 2)),
    "sort": (lambda x: x.sort()[0] * nbgrad.arange(2.0), (4, 2)),
    "conv2d": (lambda x, w: F.conv2d(x, w), (1, 2, 5, 5), (3, 2, 3, 3)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (2, 4)),
    "gelu": (lambda x: F.gelu(x), (3, 4)),
    "where": (lambda x: nbgrad.where(x > 0, x * x, x), (3,)),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q, q), (1, 2, 3, 4)),
    "beside a plain tensor": (lambda x: x * nbgrad.full((3,), 2.0), (3,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_wrappers_are_wrappers(name):
    """And those of what they wrap, to the second order."""
    program, *shapes = PROGRAMS[name]
    given = [two(*shape) for shape in shapes]

    def derivatives(xs):
        out = program(*xs)
        first = nbgrad.grad(out.sum(), xs, create_graph=True)
        total = sum((g * g).sum() for g in first)
        second = nbgrad.grad(total, xs, allow_unused=True) if total.requires_grad else ()
        return (out, *first, *second)

    found = derivatives(given)
    assert type(found[0]) is Two and found[0].grad_fn is not None
    for side in "ab":
        expected = derivatives([getattr(x, side).clone().requires_grad_() for x in given])
        for own, plain in zip(found, expected, strict=True):
            assert own is plain is None or type(own) is Two and nbgrad.allclose(getattr(own, side), plain, atol=1e-5)


def test_a_wrapper_is_a_tensor_to_programs():
    """Shape, dtype, device and place in the graph; its elements are its class's."""
    x = two(2, 3)
    assert x.shape == (2, 3) and x.dtype is nbgrad.float32 and x.device.type == "cpu" and x.is_leaf and x.stride() == (3, 1)
    assert repr(x) == str(x) and str(x).startswith("Two([[")
    assert x.detach().a is not x.a and not x.detach().requires_grad and type(x.detach()) is Two
    assert x.sum().item() == x.a.sum().item()
    for read in (lambda: x.tolist(), lambda: x.detach().numpy()):
        with pytest.raises((nbgrad.errors.NotSupportedError, nbgrad.errors.ArrayError)):
            read()
    assert type(nbgrad.ones_like(x)) is Two and type(nbgrad.full_like(x, 2.0)) is Two


def test_gradients_accumulate_in_leaves():
    """Hooks see wrappers, too."""
    seen, x = [], two(2)
    y = x * 3
    y.register_hook(lambda g: seen.append(type(g)))
    for _ in "12":
        (y * 2).sum().backward(retain_graph=True)
    assert type(x.grad) is Two and x.grad.a.tolist() == [12, 12] and seen == [Two, Two]


def test_parameters_and_optimizers():
    """A module takes a wrapper for a parameter; steps write to it by operations."""
    linear = nbgrad.nn.Linear(3, 2, bias=False)
    weight = two(2, 3, requires_grad=False)
    linear.weight = nbgrad.nn.Parameter(weight)
    assert isinstance(linear.weight, nbgrad.nn.Parameter) and isinstance(linear.weight, Two) and linear.weight.requires_grad
    before = linear.weight.a.clone()
    linear(nbgrad.ones(4, 3)).sum().backward()
    for Optimizer in (nbgrad.optim.SGD, nbgrad.optim.Adam):
        Optimizer(linear.parameters(), lr=0.1).step()
    assert type(linear.weight.grad) is Two and nbgrad.allclose(linear.weight.a, before - 0.4 - 0.1)


def test_plain_passes_after_wrappers_have_their_kernels():
    """And wrappers after plain passes of the same layouts never meet those."""

    def derivative(x):
        return nbgrad.grad((x.tanh() * 2).sum(), x)[0]

    plain = nbgrad.tensor([0.5, 1.0], requires_grad=True)
    wrapped = Two(plain.detach(), plain.detach(), requires_grad=True)
    expected = derivative(plain)
    for _ in "12":
        assert derivative(wrapped).a.tolist() == derivative(plain).tolist() == expected.tolist()


def test_writes():
    """They are the class's; what would have to be recorded is refused."""
    x, y = two(2, requires_grad=False), two(2)
    before = x.a.clone()
    assert x.add_(1) is x and x.a.tolist() == (before + 1).tolist()
    with nbgrad.no_grad():
        y.mul_(0)
    assert y.a.tolist() == [0, 0]
    with pytest.raises(nbgrad.errors.NotSupportedError, match="is not recorded"):
        (y * 2).add_(1)


def test_what_a_class_does_not_handle():
    """NotImplemented is an error that names it, as is a class without the method."""

    class Silent(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = Tensor._make_wrapper_subclass(Silent, (2,))
    with pytest.raises(TypeError, match=r"aten.mul.Tensor: Multiple dispatch failed.*Silent"):
        x * 2
    with pytest.raises(nbgrad.errors.ArgumentError, match="expected a subclass of Tensor with a __torch_dispatch__"):
        Tensor._make_wrapper_subclass(Tensor, (2,))

    class Super(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    with pytest.raises(nbgrad.errors.NotSupportedError, match="has no elements"):
        Tensor._make_wrapper_subclass(Super, (2,)) * 2
    own = Tensor._make_subclass(Super, nbgrad.ones(2))
    assert (own * 2).tolist() == [2, 2]


def test_a_class_that_logs():
    """The classic: one wrapped tensor, plain gradients under the names that torch gives them."""
    log = []

    class Logging(Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=elem.requires_grad)
            made.elem = elem.detach() if elem.requires_grad else elem
            return made

        __torch_function__ = nbgrad._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            unwrap = lambda x: x.elem if isinstance(x, cls) else x
            log.append(str(func))
            out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, Tensor) else x, out)

    x = Logging(nbgrad.tensor([3.0], requires_grad=True))
    y = x * x
    g = nbgrad.grad(y, x, Logging(nbgrad.tensor([1.0])))[0]
    assert log == ["aten.mul.Tensor", "aten.mul.Tensor", "aten.mul.Tensor", "aten.add.Tensor"]
    assert g.elem.tolist() == [6.0]


def test_flattening():
    """Of classes that say what they wrap."""
    x = two(2)
    assert is_traceable_wrapper_subclass(x) and not is_traceable_wrapper_subclass(nbgrad.ones(2))
    assert transform_subclass(x, lambda name, part: part * 0).b.tolist() == [0, 0]


def test_saved_tensor_hooks_see_wrappers():
    """What nodes save of them is packed as ever."""
    x, packed = two(2), []
    with nbgrad.graph.saved_tensors_hooks(lambda t: packed.append(type(t)) or t, lambda t: t):
        y = x * x
    g = nbgrad.grad(y.sum(), x)[0]
    assert packed and set(packed) == {Two} and nbgrad.allclose(g.a, 2 * x.a)


def test_modules_convert_wrappers():
    """``double`` and ``to`` put other parameters in their places; ``data`` and clipping know them."""
    linear = nbgrad.nn.Linear(3, 2, bias=False)
    linear.weight = nbgrad.nn.Parameter(two(2, 3, requires_grad=False))
    assert type(linear.weight.data) is Two
    linear.double()
    assert isinstance(linear.weight, (Two, nbgrad.nn.Parameter)) and linear.weight.a.dtype is nbgrad.float64
    x = two(2)
    x.grad = Two(nbgrad.tensor([3.0, 4.0]), nbgrad.tensor([0.0, 2.0]))
    assert nbgrad.allclose(nbgrad.nn.utils.clip_grad_norm_([x], 1.0).a, nbgrad.tensor(5.0))
    assert nbgrad.allclose(x.grad.b, nbgrad.tensor([0.0, 1.0]), atol=1e-5)


def test_a_quantised_weight_in_a_layer():
    """A class whose operations give plain tensors: gradients go to the other operands."""

    class Quantised(Tensor):
        @staticmethod
        def __new__(cls, values, scale):
            return Tensor._make_wrapper_subclass(cls, values.shape, dtype=scale.dtype)

        def __init__(self, values, scale):
            self.values_, self.scale = values, scale

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.detach.default:
                return cls(args[0].values_, args[0].scale)
            whole = lambda x: x.values_.to(x.scale.dtype) * x.scale if isinstance(x, cls) else x
            return func(*tree_map(whole, args), **(kwargs or {}))

    linear = nbgrad.nn.Linear(3, 2)
    values = nbgrad.tensor([[1, 2, 3], [4, 5, 6]], dtype=nbgrad.int8)
    linear.weight = nbgrad.nn.Parameter(Quantised(values, nbgrad.tensor(0.5)), requires_grad=False)
    x = nbgrad.ones(4, 3, requires_grad=True)
    out = linear(x)
    out.sum().backward()
    assert type(out) is Tensor and x.grad[0].tolist() == [2.5, 3.5, 4.5] and linear.bias.grad.tolist() == [4, 4]


@pytest.mark.parametrize("made", [nbgrad.ones(3).expand(2, 3), nbgrad.ones(4)[2:], nbgrad.ones(2, 0), nbgrad.ones(())])
def test_shapes_and_strides_of_wrappers(made):
    """They are what the class says."""
    x = Two(made, made)
    assert (x.shape, x.stride(), x.is_contiguous()) == (made.shape, made.stride(), made.is_contiguous())
    assert (x * 2).a.tolist() == (made * 2).tolist()
