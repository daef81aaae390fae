"""Names that programs set on tensors and on the ctx of Functions: kept as they were set, and no business of the engine's."""

from __future__ import annotations

import copy
import keyword
import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad import Function, grad, graph, nn
from nbgrad.autograd.function_context import BackwardCFunction
from nbgrad.graph import AccumulateGrad
from nbgrad.graph.node import Node
from nbgrad.tensors.tensor import Meta


class Marked(nbgrad.Tensor):
    """A subclass, whose calls are interpreted."""


class Weight(nn.Parameter):
    """A subclass whose calls are not."""


def slots_of(kind):
    """Every slot of a class and of those above it."""
    return {slot for cls in kind.__mro__ for slot in vars(cls).get("__slots__", ()) if not slot.startswith("__")}


def is_ours(name):
    """Whether a name is in the namespace that is kept for nbgrad."""
    return name.startswith("_") and name.endswith("_") and not name.startswith("__")


OURS = sorted(slots_of(nbgrad.Tensor) | slots_of(BackwardCFunction) | slots_of(AccumulateGrad))
TORCH_CTX = {"needs_input_grad", "to_save", "saved_for_forward", "dirty_tensors", "non_differentiable", "materialize_grads"}
# Every slot without its underscores, what internals of earlier versions were called, and what programs like to call things.
USED = [
    "meta",
    "edges",
    "outputs",
    "plan",
    "offset",
    "storage",
    "edge",
    "needs_grad",
    "rule",
    "seq",
    "s0",
    "s1",
    "s2",
    "v0",
    "attrs",
    "freed",
    "input_layouts",
    "value",
    "levels",
    "pair",
    "seen",
    "recorded",
    "label",
    "tag",
    "step",
    "mask",
    "scale",
    "shape_in",
    "node",
    "graph",
    "history",
    "parents",
    "children",
    "op",
    "index",
    "count",
    "place",
    "run",
    "variable",
]
NAMES = sorted({name.strip("_") for name in OURS if is_ours(name)} | {*USED} | set(Meta.__slots__) - {"__weakref__", "grad"})
METHODS_OF_CTX = sorted(
    name
    for name in dir(BackwardCFunction)
    if not name.startswith("__")
    and not is_ours(name)
    and not isinstance(getattr(BackwardCFunction, name, None), property)
    and name not in TORCH_CTX
)
METHODS = sorted(name for name, method in vars(nbgrad.Tensor).items() if not name.startswith("_") and callable(method))


def test_every_slot_is_in_the_namespace_that_is_kept_for_it():
    """A slot by another name could be reached by a program that means something else; ``layout`` can only be read."""
    assert {name for name in OURS if not is_ours(name)} == TORCH_CTX | {"layout"}
    assert not any(is_ours(name) or keyword.iskeyword(name) for name in NAMES)


# ---- ctx -------------------------------------------------------------------------------------------------------------
def scaled(name, value, when):
    """A Function that multiplies by 10, and sets ``ctx.name`` in its forward, after it, or in its backward."""

    class Scale(Function):
        @staticmethod
        def forward(x):
            return x * 10

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            if when == "forward":
                setattr(ctx, name, value)

        @staticmethod
        def backward(ctx, g):
            if when == "backward":
                setattr(ctx, name, value)
            assert getattr(ctx, name) is value
            (x,) = ctx.saved_tensors
            return g * 10 + 0 * x

        @staticmethod
        def jvp(ctx, t):
            return t * 10

    return Scale


@pytest.mark.parametrize("when", ["forward", "backward"])
@pytest.mark.parametrize("name", sorted({*NAMES, *METHODS_OF_CTX} - {"save_for_backward"}))
def test_attributes_of_ctx_are_the_programs(name, when):
    """Whatever a program calls an attribute of ctx, it reads back the object that it set, and the gradient is right."""
    for value in (nbgrad.full((2,), 7.0), "text", 3, None, [1], lambda *args: 1 / 0):
        x = nbgrad.ones(2, requires_grad=True)
        y = scaled(name, value, when).apply(x)
        y.retain_grad()
        y.grad_fn.metadata["kept"] = 1
        y.sum().backward(retain_graph=True)
        assert x.grad.tolist() == [10.0, 10.0] and getattr(y.grad_fn, name) is value
        (g,) = grad(y.sum(), x, create_graph=True)
        assert g.tolist() == [10.0, 10.0] and grad(g.sum(), x)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", sorted({*NAMES, *METHODS_OF_CTX} - {"save_for_backward"}))
def test_attributes_of_ctx_in_every_mode(name):
    """Forward mode, anomaly mode, saved-tensor hooks and errors of the engine look past the program's names."""
    x, value = nbgrad.ones(2, requires_grad=True), ["mine"]
    scale = scaled(name, value, "forward")
    hooks = graph.saved_tensors_hooks(lambda t: t.numpy(force=True), nbgrad.asarray)
    with pytest.warns(UserWarning), nbgrad.detect_anomaly(), hooks:
        y = scale.apply(x)
        assert grad(y.sum(), x)[0].tolist() == [10.0, 10.0]
    with pytest.raises(nbgrad.GradError, match="ScaleBackward|Scale"):
        grad(y.sum(), x)
    with nbgrad.forward_ad.dual_level():
        y = scale.apply(nbgrad.forward_ad.make_dual(nbgrad.ones(2), nbgrad.ones(2)))
        assert nbgrad.forward_ad.unpack_dual(y).tangent.tolist() == [10.0, 10.0]


@pytest.mark.parametrize(
    "name", sorted({*NAMES, *METHODS_OF_CTX, "seen", "saved_batched", "element", "mapped", "sizes"} - {"save_for_backward"})
)
def test_attributes_of_ctx_under_vmap(name):
    """The ctx that a generated rule of ``vmap`` shows has no names of its own either."""
    scale, value = scaled(name, "mine", "forward"), nbgrad.ones(3, 2, requires_grad=True)
    scale.generate_vmap_rule = True
    y = nbgrad.vmap(scale.apply)(value)
    assert grad(y.sum(), value)[0].tolist() == [[10.0, 10.0]] * 3


@pytest.mark.parametrize("name", ["to_save", "dirty_tensors", "non_differentiable"])
@pytest.mark.parametrize("value", ["text", 3, nbgrad.ones(2)], ids=["text", "number", "tensor"])
def test_what_torch_lets_a_program_set_is_checked(name, value):
    """These attributes may be set as in torch; what is no tuple of tensors is refused with the name."""

    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, value)
            return x * 2

    with pytest.raises(nbgrad.GradError, match=name):
        Wrong.apply(nbgrad.ones(2, requires_grad=True))


def test_needs_input_grad_may_be_overwritten():
    """The engine goes by what it found itself."""

    class Overwrites(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.needs_input_grad = None
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g * 2, g * 3

    x, y = nbgrad.ones(2, requires_grad=True), nbgrad.ones(2)
    assert grad(Overwrites.apply(x, y).sum(), x)[0].tolist() == [2.0, 2.0]


def test_the_program_of_a_graph_network():
    """``ctx.edges`` as a tensor, ``ctx.outputs`` as a factor: names that programs use every day."""

    class Gather(Function):
        @staticmethod
        def forward(ctx, x, edges):
            ctx.edges, ctx.outputs, ctx.meta = edges, x * 10, {"n": x.shape[0]}
            return x[edges[0]] * x[edges[1]]

        @staticmethod
        def backward(ctx, g):
            out = nbgrad.zeros(ctx.meta["n"])
            for side, other in ((0, 1), (1, 0)):
                out = out.index_add(0, ctx.edges[side], g * ctx.outputs[ctx.edges[other]] / 10)
            return out, None

    x = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    edges = nbgrad.tensor([[0, 0, 1], [1, 2, 2]])
    assert grad(Gather.apply(x, edges).sum(), x)[0].tolist() == [5.0, 4.0, 3.0]


# ---- tensors ---------------------------------------------------------------------------------------------------------
def made(kind):
    """A leaf of each kind of tensor, with values 1, 2, 3."""
    x = nbgrad.tensor([1.0, 2.0, 3.0])
    if kind == "leaf":
        return x.requires_grad_()
    if kind == "marked":
        return x.as_subclass(Marked).requires_grad_()
    return {"parameter": nn.Parameter, "weight": Weight}[kind](x)


@pytest.mark.parametrize("kind", ["leaf", "parameter", "marked", "weight"])
@pytest.mark.parametrize("name", NAMES)
def test_attributes_of_tensors_are_the_programs(kind, name):
    """Values, gradients, views, writes, copies and optimizers do not see them; they read back as they were set."""
    for value in ("disk", 4, {"lr": 1}, None, nbgrad.ones(1)):
        x = made(kind)
        setattr(x, name, value)
        y = x * 2
        setattr(y, name, value)
        z = y[1:].exp().log()
        z.sum().backward()
        np.testing.assert_allclose(x.grad.tolist(), [0.0, 2.0, 2.0], rtol=1e-6)
        assert (x * 1).tolist() == [1.0, 2.0, 3.0] and getattr(x, name) is value and getattr(y, name) is value
        with nbgrad.no_grad():
            x.mul_(2)
        assert x.tolist() == [2.0, 4.0, 6.0] and x.detach().numpy().tolist() == [2.0, 4.0, 6.0]
        assert nbgrad.func.grad(lambda w: (w * w).sum())(x).tolist() == [4.0, 8.0, 12.0]
        assert nbgrad.vmap(lambda w: w * 3)(x).tolist() == [6.0, 12.0, 18.0]
    x = made(kind)
    setattr(x, name, [1])
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))) if kind != "marked" else (copy.deepcopy(x),):
        assert getattr(twin, name) == [1] and twin.tolist() == [1.0, 2.0, 3.0] and twin.requires_grad


@pytest.mark.parametrize("name", NAMES)
def test_attributes_of_batched_and_dual_tensors_are_the_programs(name):
    """Inside of ``vmap`` and of a dual level too."""

    def inside(w):
        setattr(w, name, "mine")
        assert getattr(w, name) == "mine"
        return (w * w).sum()

    x = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert nbgrad.vmap(inside)(x).tolist() == [5.0, 25.0]
    assert nbgrad.vmap(nbgrad.func.grad(inside))(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert nbgrad.func.jvp(inside, (x,), (nbgrad.ones(2, 2),))[1].tolist() == 20.0


@pytest.mark.parametrize("name", sorted({*NAMES} - {"backward"}))
def test_names_of_classes_are_the_programs(name):
    """A subclass may define them."""
    kind = type("Grid", (nbgrad.Tensor,), {name: "mine"})
    x = nbgrad.tensor([1.0, 2.0]).as_subclass(kind).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and getattr(x, name) == "mine"


def first_and_second(x):
    """Derivatives of a function of many operations."""
    y = nbgrad.sum(nbgrad.log_softmax(x * x, 0) * nbgrad.var(x) + nbgrad.tanh(x) / x)
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(nbgrad.sum(g), x)
    return g, h


def test_methods_may_be_hidden_by_attributes():
    """``x.mean = 0.5``: operations, and derivatives of first and second order, go on, whichever method it is."""
    wrong, expected = [], first_and_second(nbgrad.tensor([1.0, 2.0, 4.0], requires_grad=True))
    for name in METHODS:
        x = nbgrad.tensor([1.0, 2.0, 4.0], requires_grad=True)
        vars(x)[name] = 0.5
        if not all(map(nbgrad.equal, first_and_second(x), expected)):
            wrong.append(name)
    assert not wrong


def test_layout_can_only_be_read():
    """torch has the name too, and refuses a value for it."""
    x = nbgrad.ones(2)
    for y in (x, nn.Parameter(x), x.as_subclass(Marked)):
        with pytest.raises(AttributeError):
            y.layout = {}
        with pytest.raises(AttributeError):
            del y.layout
        assert (y + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["edges", "outputs", "plan", "s0", "meta", "name_of_mine"])
def test_nodes_of_operations_take_no_attributes(name):
    """As in torch: AttributeError, and the graph is unharmed."""
    x = nbgrad.ones(2, requires_grad=True)
    y = x * 2
    for node in (y.grad_fn, y.grad_fn.next_functions[0][0]):
        with pytest.raises(AttributeError):
            setattr(node, name, "mine")
    assert grad(y.sum(), x)[0].tolist() == [2.0, 2.0]
    assert isinstance(y.grad_fn, Node)


# ---- classes of users ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["kinds", "hooks", "_kinds", "_hooks", "names", "step", "state", "children_", "mask", "cache"])
def test_attributes_of_modules_are_the_programs(name):
    """A Module keeps its parameters and its hooks whatever else it is given."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            setattr(self, name, [])
            self.layer = nn.Linear(2, 1)
            setattr(self, name, {"mine": 1})

        def forward(self, x):
            return self.layer(x)

    net, calls = Net(), []
    net.register_forward_hook(lambda *args: calls.append(1))
    net(nbgrad.ones(3, 2)).sum().backward()
    assert getattr(net, name) == {"mine": 1} and calls == [1]
    assert [p for p, _ in net.named_parameters()] == ["layer.weight", "layer.bias"] == list(net.state_dict())
    assert net.layer.weight.grad.tolist() == [[3.0, 3.0]]


@pytest.mark.parametrize("name", ["_mark", "mark", "_rule", "_op", "rule", "op", "plan", "node"])
def test_class_attributes_are_the_programs(name):
    """Subclasses of Tensor and of Function may define them."""
    kind = type("Grid", (nbgrad.Tensor,), {name: None})
    x = nbgrad.tensor([1.0, 2.0]).as_subclass(kind)
    assert type(x * 2) is kind and (x * 2).tolist() == [2.0, 4.0]

    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3

    setattr(Scale, name, "mine")
    x = nbgrad.ones(2, requires_grad=True)
    assert grad(Scale.apply(x).sum(), x)[0].tolist() == [3.0, 3.0]
    again = type("Again", (Function,), {name: "mine", "forward": Scale.__dict__["forward"], "backward": Scale.__dict__["backward"]})
    assert grad(again.apply(x).sum(), x)[0].tolist() == [3.0, 3.0]
