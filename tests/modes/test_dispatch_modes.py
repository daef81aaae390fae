"""Modes beneath the gradients: which operations they see, under which names, and what becomes of what they return."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
    return_and_correct_aliasing,
)

aten = nbgrad.ops.aten


class Log(TorchDispatchMode):
    """Notes what it sees, and does it."""

    def __init__(self):
        super().__init__()
        self.seen, self.args = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        self.args.append(args)
        return func(*args, **(kwargs or {}))


def seen(function) -> list[str]:
    """What a mode sees of a program."""
    with Log() as log:
        function()
    return log.seen


X = nbgrad.tensor([[1.0, -2.0], [3.0, 0.5]])


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda: X + X, "aten.add.Tensor"),
        (lambda: X * 2, "aten.mul.Tensor"),
        (lambda: X > 0, "aten.gt.Scalar"),
        (lambda: X > X, "aten.gt.Tensor"),
        (lambda: X**1.5, "aten.pow.Tensor_Scalar"),
        (lambda: X.relu(), "aten.relu.default"),
        (lambda: X.sum(), "aten.sum.default"),
        (lambda: X.sum(0), "aten.sum.dim_IntList"),
        (lambda: X.mean(1), "aten.mean.dim"),
        (lambda: X @ X, "aten.mm.default"),
        (lambda: X[None] @ X[None], "aten.bmm.default"),
        (lambda: X @ X[0], "aten.mv.default"),
        (lambda: X.t(), "aten.t.default"),
        (lambda: X.transpose(0, 1), "aten.transpose.int"),
        (lambda: X.view(4), "aten.view.default"),
        (lambda: X.clone(), "aten.clone.default"),
        (lambda: X.detach(), "aten.detach.default"),
        (lambda: X.double(), "aten._to_copy.default"),
        (lambda: X.clone().add_(1), "aten.add_.Tensor"),
        (lambda: X.clone().mul_(X), "aten.mul_.Tensor"),
        (lambda: nbgrad.add(X, X, out=nbgrad.empty(2, 2)), "aten.add.out"),
        (lambda: nbgrad.softmax(X, -1), "aten._softmax.default"),
        (lambda: nbgrad.cat([X, X]), "aten.cat.default"),
        (lambda: nbgrad.where(X > 0, X, X), "aten.where.self"),
        (lambda: nbgrad.nn.functional.linear(X, X, X[0]), "aten.addmm.default"),
        (lambda: nbgrad.nn.functional.max_pool2d(X[None, None], 2), "aten.max_pool2d_with_indices.default"),
        (lambda: nbgrad.zeros(2), "aten.zeros.default"),
        (lambda: nbgrad.randn(2), "aten.randn.default"),
        (lambda: nbgrad.ones_like(X), "aten.ones_like.default"),
    ],
)
def test_names_are_torchs(function, expected):
    """The last operation of each program, which torch 2.13 names in the same way."""
    assert seen(function)[-1] == expected


def test_overloads_are_objects_of_one_kind():
    """They are what a program names, compare by identity, and are called."""
    add = aten.add.Tensor
    with Log() as log:
        X + X
    assert add is aten.add.Tensor and add == aten.add.Tensor and add != aten.add.Scalar and {add: 1}[aten.add.Tensor] == 1
    assert (str(add), add.__name__, add.name(), add._overloadname) == (
        "aten.add.Tensor",
        "add.Tensor",
        "aten::add.Tensor",
        "Tensor",
    )
    assert add.overloadpacket is aten.add and add._schema.name == "aten::add" and aten.mm.default._schema.overload_name == ""
    assert repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>" and repr(aten.mm) == "<OpOverloadPacket(op='aten.mm')>"
    assert log.seen == ["aten.add.Tensor"] and "Tensor" in aten.add.overloads()
    assert add(X, X).tolist() == (X + X).tolist() and aten.mm(X, X).tolist() == (X @ X).tolist()


def test_steps_that_torch_does_not_have_are_not_called_aten():
    """The names of our own steps are of another namespace."""
    assert "nbgrad.median_indices.default" in seen(lambda: X.median())


def test_the_rules_of_a_backward_pass_are_seen():
    """As is the sum of two cotangents; nothing while the mode is off."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh()
    z = (y * y + y).sum()
    log = Log()
    with log:
        z.backward()
    assert {"aten.mul.Tensor", "aten.add.Tensor"} <= set(log.seen)
    expected = nbgrad.func.grad(lambda x: (x.tanh() * x.tanh() + x.tanh()).sum())(x.detach())
    assert nbgrad.allclose(x.grad, expected)
    before = len(log.seen)
    (x * x).sum().backward()
    assert len(log.seen) == before


def test_results_of_a_handler_are_recorded_as_the_operations():
    """Other elements than the operation's: the derivative is the operation's still, of what was saved."""

    class Rounding(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out.round() if func is aten.exp.default else out

    x = nbgrad.tensor([1.0], requires_grad=True)
    with Rounding():
        y = x.exp()
    y.sum().backward()
    assert y.tolist() == [3] and x.grad.tolist() == [3] and type(y.grad_fn).__name__ == "ExpBackward0"


def test_recording_is_off_in_a_handler_and_tensors_there_have_no_history():
    """What it computes for itself leaves no node."""
    found = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            found.append((nbgrad.is_grad_enabled(), out.requires_grad))
            return out

    x = nbgrad.ones(2, requires_grad=True)
    with Look():
        y = x * 3
    assert found == [(False, False)] and y.requires_grad and nbgrad.is_grad_enabled()


def test_operands_that_a_handler_returns_are_other_tensors_then():
    """Neither is made a result of the operation itself."""

    class First(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    x = nbgrad.ones(2, requires_grad=True)
    with First():
        y = x * 3
    assert y is not x and x.is_leaf and nbgrad.grad(y.sum(), x)[0].tolist() == [3, 3]


def test_what_is_no_tensor_cannot_be_recorded():
    """It is refused where gradients flow, and returned elsewhere."""

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return str(func)

    x = nbgrad.ones(2, requires_grad=True)
    with Names():
        assert x.detach() == "aten.detach.default"
        with nbgrad.no_grad():
            assert x * 2 == "aten.mul.Tensor"
        with pytest.raises(nbgrad.errors.GradError, match="mul: __torch_dispatch__ returned str, expected a Tensor"):
            x * 2
    assert not _get_current_dispatch_mode_stack() and (x * 2).tolist() == [2, 2]


def test_modes_nest_and_are_off_in_their_own_handlers():
    """The innermost is asked first; what it calls goes to the one outside of it."""
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((self.name, _get_current_dispatch_mode()))
            return func(*args, **(kwargs or {}))

    outer, inner = Named("outer"), Named("inner")
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        X * 2
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            X * 2
        with _disable_current_modes():
            X * 2
    assert order == [("inner", outer), ("outer", None), ("outer", None)]


def test_errors_leave_no_mode_behind():
    """A handler that raises, and one that returns NotImplemented."""

    class Raises(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    class Refuses(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(KeyError, match="mine"), Raises():
        X * 2
    with pytest.raises(TypeError, match="Multiple dispatch failed"), Refuses():
        X * 2
    with pytest.raises(nbgrad.errors.UsageError), _pop_mode_temporarily():
        pass
    assert nbgrad.is_grad_enabled() and _get_current_dispatch_mode() is None and (X * 2).shape == (2, 2)


def test_writes_and_views_keep_their_histories():
    """As without the mode."""

    def program():
        x = nbgrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        y.mul_(3)
        y[1:].add_(x[:2])
        y.t_() if y.ndim == 2 else None
        return nbgrad.grad((y * y).sum(), x)[0].tolist()

    expected = program()
    with Log():
        assert program() == expected
    leaf = nbgrad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError), Log():
        leaf.add_(1)


def test_other_modes_beside_it():
    """Mixed precision, batches and tangents are worked out before; inference mode marks what comes back."""
    with Log() as log, nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
        assert (X @ X).dtype is nbgrad.bfloat16
    assert log.seen == ["aten._to_copy.default", "aten.mm.default"] or log.seen.count("aten._to_copy.default") == 2
    with Log() as log:
        assert nbgrad.vmap(lambda row: row * 2)(X).tolist() == (X * 2).tolist()
        assert nbgrad.func.jvp(nbgrad.sin, (X,), (X,))[1].tolist() == (X.cos() * X).tolist()
    assert {"aten.mul.Tensor", "aten.sin.default"} <= set(log.seen)
    with nbgrad.inference_mode(), Log():
        assert (X * 2).is_inference()


def test_steps_of_optimizers_are_operations():
    """With the same result as without the mode."""

    def stepped(Optimizer):
        x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
        optimizer = Optimizer([x], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
        return x.detach()

    for Optimizer in (nbgrad.optim.SGD, nbgrad.optim.Adam):
        expected = stepped(Optimizer)
        with Log() as log:
            found = stepped(Optimizer)
        assert nbgrad.allclose(found, expected) and "aten.copy_.default" in log.seen


def test_factories_with_other_arguments():
    """A handler may ask for another tensor than was made."""

    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func is aten.zeros.default:
                kwargs["dtype"] = nbgrad.float64
            return func(*args, **kwargs)

    with Doubles():
        made = nbgrad.zeros(2, requires_grad=True)
    assert made.dtype is nbgrad.float64 and made.requires_grad and made.is_leaf


def test_operands_come_in_the_order_of_torchs_arguments():
    """The addend of a product first; members of sequences in a list."""
    with Log() as log:
        nbgrad.nn.functional.linear(X, X, X[0])
        nbgrad.cat((X, X))
    addmm, cat = log.args[log.seen.index("aten.addmm.default")], log.args[log.seen.index("aten.cat.default")]
    assert addmm[0].shape == (2,) and addmm[1] is X and addmm[2] is X and type(cat[0]) is list


def test_return_and_correct_aliasing():
    """Writes give what was written to, others the result."""
    x, y = nbgrad.ones(2), nbgrad.zeros(2)
    assert return_and_correct_aliasing(aten.add_.Tensor, (x, 1), {}, y) is x
    assert return_and_correct_aliasing(aten.add.Tensor, (x, 1), {}, y) is y
    assert return_and_correct_aliasing(aten.add.out, (x, 1), {"out": x}, y) is x


def test_checkpoints_under_a_mode():
    """What is computed again is seen again; kept results are not."""
    x = nbgrad.ones(2, 2, requires_grad=True)

    def keep():
        return nbgrad.create_selective_checkpoint_contexts(["matmul"])

    with Log() as log:
        nbgrad.checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=keep).sum().backward()
    assert log.seen.count("aten.exp.default") == 2 and x.grad is not None
