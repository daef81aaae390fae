"""Nodes as tools see them: classes named after operations, and what they keep under torch's names."""

from __future__ import annotations

import copy
import pickle

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.graph.node import Node


def ramp(*shape):
    """Numbers that differ, in (0, 1), requiring grad."""
    size = nbgrad.Size(shape).numel()
    return ((nbgrad.arange(float(size)) + 1) / (size + 1)).reshape(shape).requires_grad_()


def test_the_class_of_a_node_is_named_after_the_operation():
    """One class for all nodes of a name, a subclass of Node; what nobody has looked at stays a Node."""
    x = ramp(2)
    y = x.exp()
    z = (y * 2).sum()
    (product,) = (node for node, _ in z.grad_fn.next_functions)
    assert [type(node).__name__ for node in (z.grad_fn, product)] == ["SumBackward0", "MulBackward0"]
    assert type(y._edge_) is Node and type(y.grad_fn).__name__ == "ExpBackward0"
    assert type(y.grad_fn) is type(x.exp().grad_fn) and isinstance(y.grad_fn, nbgrad.autograd.graph.Node)
    assert type(nbgrad.autograd.graph.get_gradient_edge(x.sin()).node).__name__ == "SinBackward0"
    assert type(z.grad_fn.next_functions[0][0].next_functions[0][0]) is type(y.grad_fn)


def test_looking_at_nodes_changes_no_gradient():
    """Of a graph with branches, several outputs and a leaf used twice, looked at from end to end."""

    def function(x):
        a, b = (x * x).unbind()
        return (a.exp() * b + a.cumsum(0)).sum()

    x = ramp(2, 3)
    y = function(x)
    (expected,) = nbgrad.grad(function(x), x)
    stack = [y.grad_fn]
    while stack:
        stack += [node for node, _ in stack.pop().next_functions if node is not None]
    y.backward()
    assert (x.grad == expected).all()


def test_hooks_see_named_nodes():
    """The node that runs, and those that will."""
    seen = []
    x = ramp(2)
    y = x.sin()
    y.register_hook(lambda g: seen.append(type(nbgrad._C._current_autograd_node()).__name__))
    y.sum().backward()
    assert seen == ["SinBackward0"]


# Of an operation the name of its node, and what it shows: values, or shapes of tensors.
SHOWN = [
    (lambda a, b: a + b, "AddBackward0", {"alpha": 1}),
    (lambda a, b: nbgrad.add(a, b, alpha=2), "AddBackward0", {"alpha": 2}),
    (lambda a, b: 2 - a, "RsubBackward1", {"alpha": 1}),
    (lambda a, b: a * b, "MulBackward0", {"self": (2, 3), "other": (2, 3)}),
    (lambda a, b: a * 2, "MulBackward0", {"self": None, "other": ()}),
    (lambda a, b: a**b, "PowBackward1", {"self": (2, 3), "exponent": (2, 3), "result": (2, 3)}),
    (lambda a, b: a**3, "PowBackward0", {"self": (2, 3), "exponent": 3}),
    (lambda a, b: a**0.5, "PowBackward0", {"exponent": 0.5}),
    (lambda a, b: 2**a, "PowBackward2", {"exponent": (2, 3), "result": (2, 3)}),
    (lambda a, b: nbgrad.remainder(a, b), "RemainderBackward1", {"other": (2, 3)}),
    (lambda a, b: a.log1p(), "Log1PBackward0", {"self": (2, 3)}),
    (lambda a, b: a.clamp(min=0.5), "ClampBackward1", {"self": (2, 3), "min": 0.5, "max": None}),
    (lambda a, b: a.sum(1), "SumBackward1", {"dim": (1,), "keepdim": False, "self_sym_sizes": (2, 3)}),
    (lambda a, b: a.mean((0, 1), keepdim=True), "MeanBackward1", {"dim": (0, 1), "keepdim": True}),
    (lambda a, b: a.prod(), "ProdBackward0", {"self": (2, 3)}),
    (lambda a, b: a.amax(1), "AmaxBackward0", {"dim": (1,), "keepdim": False, "self": (2, 3), "result": (2,)}),
    (lambda a, b: a.norm(2, 1), "LinalgVectorNormBackward0", {"dim": (1,), "ord": 2}),
    (lambda a, b: a[:, 1:], "SliceBackward0", {"dim": 1, "start": 1, "step": 1}),
    (lambda a, b: a.split(2, 1)[0], "SplitBackward0", {"split_size": 2, "dim": 1}),
    (lambda a, b: a.roll(1, 0), "RollBackward0", {"shifts": (1,), "dims": (0,)}),
    (lambda a, b: nn.functional.gelu(a, approximate="tanh"), "GeluBackward0", {"self": (2, 3), "approximate": "tanh"}),
    (lambda a, b: nn.functional.elu(a), "EluBackward0", {"alpha": 1.0, "scale": 1, "input_scale": 1}),
    (lambda a, b: a @ ramp(3), "MvBackward0", {"self": (2, 3)}),
    (lambda a, b: nbgrad.mv(a, ramp(3)), "MvBackward0", {"self": (2, 3), "vec": (3,)}),
    (lambda a, b: nbgrad.dot(a[0], b[0]), "DotBackward0", {"self": (3,), "tensor": (3,)}),
    (lambda a, b: nn.functional.linear(a, b, ramp(2)), "AddmmBackward0", {"mat1": (2, 3), "alpha": 1, "beta": 1}),
    (lambda a, b: nbgrad.addmm(ramp(2, 2), a, ramp(3, 2), beta=0.5), "AddmmBackward0", {"mat1": (2, 3), "alpha": 1, "beta": 0.5}),
    (lambda a, b: nbgrad.addmv(ramp(2), a, ramp(3)), "AddmvBackward0", {"mat": (2, 3), "vec": (3,), "alpha": 1, "beta": 1}),
    (lambda a, b: nbgrad.addr(a, ramp(2), ramp(3), alpha=2), "AddrBackward0", {"vec1": (2,), "vec2": (3,), "alpha": 2}),
    (lambda a, b: nbgrad.baddbmm(a[None], ramp(1, 2, 4), ramp(1, 4, 3)), "BaddbmmBackward0", {"batch1": (1, 2, 4)}),
    (lambda a, b: nbgrad.addbmm(a, ramp(5, 2, 4), ramp(5, 4, 3)), "AddbmmBackward0", {"batch2": (5, 4, 3)}),
    (lambda a, b: nbgrad.trace(a), "TraceBackward0", {}),
    (lambda a, b: nbgrad.block_diag(a, b), "BlockDiagBackward0", {}),
    (lambda a, b: nn.functional.pad(a, (1, 2)), "ConstantPadNdBackward0", {"pad": (1, 2)}),
]


@pytest.mark.parametrize("function, name, shown", SHOWN, ids=[f"{k}-{name}" for k, (_, name, _) in enumerate(SHOWN)])
def test_what_nodes_show(function, name, shown):
    """Under torch's names, which ``dir`` lists where they are values that are kept."""
    node = function(ramp(2, 3), ramp(2, 3)).grad_fn
    assert node.name() == name == type(node).__name__
    for attribute, expected in shown.items():
        value = getattr(node, f"_saved_{attribute}")
        assert (tuple(value.shape) if isinstance(value, nbgrad.Tensor) else value) == expected, attribute
        assert f"_saved_{attribute}" in dir(node) or expected is None or "_sym_" in attribute
    assert all(hasattr(node, listed) for listed in dir(node) if listed.startswith(("_saved_", "_raw_saved_")))


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda take: take.__name__)
def test_nodes_are_not_copied(take):
    """A graph belongs to its program: a TypeError, as of other things that cannot be pickled."""
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        take(ramp(2).exp().grad_fn)


def test_hooks_that_stay_behind():
    """Pickling a leaf with hooks says so, unless they are marked."""
    from nbgrad.utils.hooks import unserializable_hook

    def hook(g):
        return g

    x = ramp(2)
    handle = x.register_hook(hook)
    with pytest.warns(UserWarning, match="'hook' stays behind"):
        again = pickle.loads(pickle.dumps(x))
    assert again.requires_grad and not again._backward_hooks
    handle.remove()
    x.register_hook(unserializable_hook(hook))
    pickle.dumps(x)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.amax(), "AmaxBackward0"),
        (lambda x: x.max(1).values, "MaxBackward0"),
        (lambda x: x.min(0, keepdim=True).values, "MinBackward0"),
        (lambda x: x.sort().values, "SortBackward0"),
        (lambda x: x.topk(2).values, "TopkBackward0"),
        (lambda x: x.median(), "MedianBackward0"),
        (lambda x: x.median(1).values, "MedianBackward1"),
        (lambda x: x.nanmedian(), "NanmedianBackward0"),
        (lambda x: x.mode().values, "ModeBackward0"),
        (lambda x: x.kthvalue(2).values, "KthvalueBackward0"),
        (lambda x: x.gather(1, nbgrad.tensor([[0]])), "GatherBackward0"),
    ],
)
def test_orders_and_extrema_have_names_of_their_own(call, name):
    """All of them pick elements by index; the node says whose they are, and is one."""
    node = call(nbgrad.rand(3, 4, requires_grad=True)).grad_fn
    assert node.name() == name == type(node).__name__


def test_extremum_along_a_dimension_shows_its_index():
    """Under torch's name, beside the dimension."""
    node = nbgrad.tensor([[1.0, 3.0, 2.0]], requires_grad=True).max(1).values.grad_fn
    assert node._saved_indices.tolist() == [[1]] and node._saved_dim == 1 and node._saved_keepdim is False


def test_nodes_of_the_engine_have_its_names():
    """What is no operation's is named as torch's engine names it; classes and texts have short names."""
    x = nbgrad.ones(2, requires_grad=True)
    base = x * 1
    base[0].mul_(2)
    copied = (x * 1).copy_(x)

    class Twice(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @nbgrad.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    (final,) = nbgrad.grad(Twice.apply(x), x, nbgrad.ones(2, requires_grad=True), create_graph=True)
    for node, name in (
        (final.grad_fn, "Error"),
        (base.grad_fn, "CopySlices"),
        (copied.grad_fn, "CopyBackwards"),
        (nbgrad.graph.get_gradient_edge(x).node, "AccumulateGrad"),
    ):
        assert node.name() == f"torch::autograd::{name}" and type(node).__name__ == name and repr(node).startswith(f"<{name} ")


@pytest.mark.parametrize(
    "f",
    [lambda bias, x, w: nbgrad.addmm(bias, x, w), lambda bias, x, w: nbgrad.nn.functional.linear(x, w.t(), bias)],
    ids=["addmm", "linear"],
)
@pytest.mark.parametrize("missing", [None, 0, 1, 2])
def test_a_product_with_an_addend_has_its_edges_in_the_order_of_addmm(f, missing):
    """The bias comes first: in ``next_functions``, in the gradients that hooks see, and in the order in which leaves get theirs."""
    leaves, order, seen = [nbgrad.ones(shape, requires_grad=True) for shape in ((4,), (2, 3), (3, 4))], [], []
    for k, leaf in enumerate(leaves):
        if k == missing:
            leaf.requires_grad_(False)
        else:
            leaf.register_hook(lambda g, k=k: order.append(k))
    y = f(*leaves)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: seen.append([g is not None and g.numel() for g in grad_inputs]))
    y.sum().backward()
    there = [k != missing for k in range(3)]
    assert [node is not None for node, _ in y.grad_fn.next_functions] == there
    assert seen == [[n if here else False for n, here in zip((4, 6, 12), there)]] and order == [k for k in range(3) if there[k]]


@pytest.mark.parametrize(
    "f, name, value",
    [
        (lambda x: x.logit(), "eps", None),
        (lambda x: x.div(x, rounding_mode="floor"), "rounding_mode", "floor"),
        (lambda x: x.div(2, rounding_mode="trunc"), "rounding_mode", "trunc"),
        (lambda x: nbgrad.nn.functional.binary_cross_entropy(x, x.detach(), reduction="none"), "weight", None),
        (lambda x: nbgrad.nn.functional.binary_cross_entropy_with_logits(x, x.detach(), reduction="none"), "pos_weight", None),
        (lambda x: nbgrad.nn.functional.nll_loss(x.view(1, 2), nbgrad.tensor([1])), "weight", None),
    ],
)
def test_arguments_that_were_not_given_are_shown(f, name, value):
    """Nodes of the case without an argument show it as torch does."""
    node = f(nbgrad.tensor([0.25, 0.5], requires_grad=True)).grad_fn
    assert getattr(node, f"_saved_{name}") == value and f"_saved_{name}" in dir(node)


@pytest.mark.parametrize(
    "f, name",
    [
        (lambda x: x.mm(x), "mat2"),
        (lambda x: x @ x, "mat2"),
        (lambda x: x[None].bmm(x[None]), "mat2"),
        (lambda x: x.mv(x[0]), "vec"),
        (lambda x: x[0].dot(x[1]), "tensor"),
        (lambda x: x.pow(x), "exponent"),
        (lambda x: x.mul(x), "other"),
    ],
)
def test_the_second_operand_is_saved_under_its_name_in_torch(f, name):
    """Products and powers have names of their own for what others call ``other``; it is listed once."""
    node = f(nbgrad.ones(2, 2, requires_grad=True)).grad_fn
    names = [each for each in dir(node) if each.startswith("_saved_")]
    assert isinstance(getattr(node, f"_saved_{name}"), nbgrad.Tensor)
    assert sorted(names) == sorted({"_saved_self", f"_saved_{name}", *(["_saved_result"] if name == "exponent" else [])})


@pytest.mark.parametrize("f", ["sum", "mean", "nansum", "amax", "amin", "var", "std", "logsumexp", "norm"])
def test_dimensions_that_may_be_several_are_shown_as_a_tuple(f):
    """Also where a call named one."""
    x = nbgrad.ones(2, 3, requires_grad=True)
    assert getattr(x, f)(dim=1).grad_fn._saved_dim == (1,)


@pytest.mark.parametrize("name", ["data", "requires_grad", "_backward_hooks"])
def test_what_can_be_set_and_not_deleted(name):
    """``del`` of it is an error of the house, which says what to do."""
    with pytest.raises(RuntimeError, match=f"{name} of a tensor cannot be deleted. Hint: "):
        delattr(nbgrad.ones(2, requires_grad=True), name)


# Functions of several results, which are one node: how many results have gradients, and its name.
JOINT = [
    (lambda x: nbgrad.var_mean(x, 0), 2, "VarMeanBackward0"),
    (lambda x: nbgrad.var_mean(x.to(nbgrad.complex64)), 2, "VarMeanBackward0"),
    (lambda x: nbgrad.std_mean(x), 2, "StdMeanBackward0"),
    (lambda x: nbgrad.aminmax(x), 2, "AminmaxBackward0"),
    (lambda x: nbgrad.aminmax(x, dim=1, keepdim=True), 2, "AminmaxBackward0"),
    (lambda x: nbgrad.linalg.slogdet(x), 2, "LinalgSlogdetBackward0"),
    (lambda x: x.slogdet(), 2, "LinalgSlogdetBackward0"),
    (lambda x: nbgrad.linalg.lu(A=x), 2, "LinalgLuBackward0"),
    (lambda x: nbgrad.linalg.lu_factor(x), 1, "LinalgLuFactorExBackward0"),
    (lambda x: nbgrad.lu_unpack(*nbgrad.linalg.lu_factor(x)), 2, "LuUnpackBackward0"),
]


def regular():
    """A matrix (3, 3) with different eigenvalues, requiring grad."""
    return nbgrad.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 1.0]], requires_grad=True)


@pytest.mark.parametrize(("f", "count", "name"), JOINT)
def test_several_results_are_one_node(f, count, name):
    """It is named after the function, its outputs are numbered, and its one edge leads to where the operand's gradient goes."""
    x = regular()
    for operand in (x, x.mT, x * 1):
        outs = [out for out in f(operand) if out.requires_grad]
        assert [type(out.grad_fn).__name__ for out in outs] == [name] * count
        assert len({id(out.grad_fn) for out in outs}) == 1 and [out.output_nr for out in outs] == list(range(count))
        if outs[0].grad_fn.next_functions[0][0].name() not in ("LinalgLuFactorExBackward0", "ToCopyBackward0"):
            below = nbgrad.autograd.graph.get_gradient_edge(operand)
            assert outs[0].grad_fn.next_functions == ((below.node, below.output_nr),)


@pytest.mark.parametrize(("f", "count", "name"), [row for row in JOINT if "Slogdet" not in row[2]])
def test_a_node_of_several_results_runs_on_those_that_have_cotangents(f, count, name):
    """Its hooks see None for the others and one cotangent of the operand, and the shares of all add up."""
    x, seen = regular(), []
    outs = [out for out in f(x) if out.requires_grad]
    outs[0].grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), [g is not None for g in outputs])))
    losses = [out.abs().sum() for out in outs]
    shares = [nbgrad.grad(loss, x, retain_graph=True)[0] for loss in losses]
    (whole,) = nbgrad.grad(losses, x)
    assert seen == [*((1, [k == nr for k in range(count)]) for nr in range(count)), (1, [True] * count)]
    assert whole.allclose(sum(shares), rtol=1e-4, atol=1e-5)
    with pytest.raises(nbgrad.GradError, match=f"{name}: backward through the graph a second time"):
        outs[0].abs().sum().backward()


@pytest.mark.parametrize(
    ("f", "x", "second"),
    [
        (lambda x: nbgrad.std_mean(x, 0)[0], [1.0, 2.0, 4.0], None),
        (lambda x: nbgrad.aminmax(x).max, [1.0, 2.0, 4.0], None),
        (lambda x: nbgrad.var_mean(x)[0], [1.0, 2.0, 4.0], "unused"),
    ],
)
def test_a_result_that_its_node_kept_leads_back_to_it(f, x, second):
    """A gradient that was computed from a result depends on the result, as it does where that is an operation of its own."""
    x = nbgrad.tensor(x, requires_grad=True)
    y = f(x)
    (g,) = nbgrad.grad(y, x, create_graph=True)
    if not g.requires_grad:
        return
    (by_result,) = nbgrad.grad(g[0] * 3, y, allow_unused=True, retain_graph=True)
    assert (by_result is None) == (second == "unused")
    (g.sum() + y).backward()  # one pass through both: the node runs once, with all that arrives


def test_a_joint_node_keeps_versions_and_shows_what_its_steps_keep():
    """The operand that was written to is refused; saved values are found under torch's names."""
    x = regular()
    y = x * 1
    node = nbgrad.var_mean(y, 0)[0].grad_fn
    assert node._saved_self is y and node._saved_keepdim is False
    y.mul_(2)
    with pytest.raises(nbgrad.GradError, match="modified in place"):
        node(nbgrad.ones(3), None)
    assert (node(None, nbgrad.ones(3)) == 1 / 3).all()  # the mean needs no operand


@pytest.mark.parametrize(("f", "count", "name"), JOINT)
def test_joint_nodes_under_hooks_modes_and_maps(f, count, name):
    """Saved-tensor hooks, anomaly mode, forward mode and vmap give the gradients of plain calls."""

    def loss(x):
        return sum(
            out.abs().sum() * (k + 1)
            for k, out in enumerate(out for out in f(x) if out.dtype.is_floating_point or out.dtype.is_complex)
        )

    x = regular()
    (expected,) = nbgrad.grad(loss(x), x)
    with nbgrad.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        packed = loss(x)
    with pytest.warns(UserWarning, match="anomaly mode"), nbgrad.autograd.detect_anomaly():
        found = [nbgrad.grad(packed, x)[0], nbgrad.grad(loss(x), x)[0]]
    tangent = nbgrad.ones(3, 3)
    _, slope = nbgrad.func.jvp(loss, (x.detach(),), (tangent,))
    found.append(nbgrad.func.vmap(nbgrad.func.grad(loss))(x.detach().expand(2, 3, 3))[1])
    assert all(g.allclose(expected, rtol=1e-4, atol=1e-5) for g in found)
    assert slope.allclose((expected * tangent).sum(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [2.0, 4.0]], [[0.0]], [[[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [0.5, 3.0]]]])
def test_the_sign_of_a_singular_determinant_has_no_gradient(rows):
    """The gradient of the sign is undefined, and nothing is inverted for it; the logarithm of 0 has none, which is NaN."""
    x = nbgrad.tensor(rows, requires_grad=True)
    sign, size = nbgrad.linalg.slogdet(x)
    sign.sum().backward(retain_graph=True)
    assert x.grad is None and sign.requires_grad
    size.sum().backward()
    singular = nbgrad.linalg.det(x.detach()) == 0
    assert singular.any() and x.grad.isnan().all((-2, -1)).equal(singular)


def test_the_logarithm_of_a_determinant_beside_its_sign():
    """The transposed inverse, whatever arrives for the sign of a real matrix; that of a complex one turns."""
    x = regular()
    sign, size = nbgrad.linalg.slogdet(x)
    (g,) = nbgrad.grad(sign * 3 + size, x)
    assert g.allclose(x.detach().inverse().mT, rtol=1e-4, atol=1e-6)
    z = (x.detach() * (1 + 0.5j)).requires_grad_()
    (turned,) = nbgrad.grad(nbgrad.linalg.slogdet(z).sign.real, z)
    assert (turned.abs() > 1e-3).any()
