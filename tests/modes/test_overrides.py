"""Subclasses of Tensor, types with ``__nbgrad_function__`` and modes: who decides what a call means."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.modes.overrides import Overrides, disabled
from tests.functions import Square


class Metres(nbgrad.Tensor):
    """A subclass that says nothing about operations."""


class Logged(nbgrad.Tensor):
    """A subclass that notes what is called."""

    calls: list[str] = []

    @classmethod
    def __nbgrad_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__nbgrad_function__(func, types, args, kwargs)


class Diagonal:
    """No tensor: a matrix known by one number."""

    def __init__(self, value, size):
        self.value, self.size = value, size

    def dense(self):
        return nbgrad.eye(self.size) * self.value

    @classmethod
    def __nbgrad_function__(cls, func, types, args=(), kwargs=None):
        if func is nbgrad.mm or func is nbgrad.add:
            return func(*(x.dense() if isinstance(x, Diagonal) else x for x in args), **(kwargs or {}))
        return NotImplemented


@pytest.fixture
def logged():
    """The calls that ``Logged`` has seen since the test began."""
    Logged.calls.clear()
    return Logged.calls


# ---- subclasses ------------------------------------------------------------------------------------------------------
OPERATIONS = {
    "operator": lambda m: m * 2 + 1,
    "reflected": lambda m: 2 - m,
    "reduction": lambda m: m.sum(0),
    "view": lambda m: m[1:],
    "matmul": lambda m: m @ m.T,
    "cat": lambda m: nbgrad.cat([m, m]),
    "function": lambda m: nbgrad.exp(m),
    "clone": lambda m: m.clone(),
    "number in place": lambda m: m.add_(1),
    "setitem": lambda m: (m.__setitem__(0, 5.0), m)[1],
    "detach": lambda m: m.detach(),
    "with a plain tensor": lambda m: nbgrad.ones(2, 2) * m,
    "gather": lambda m: m.gather(0, nbgrad.tensor([[0, 1]])),
    "composite": lambda m: nbgrad.hstack([m, m]),
    "to": lambda m: m.to(nbgrad.float64),
    "softmax": lambda m: m.softmax(0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_subclass_survives(name):
    """The result is of the subclass, and has the values that plain tensors give."""
    operation = OPERATIONS[name]
    m = Metres([[1.0, 2.0], [3.0, 4.0]])
    plain = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    result = operation(m)
    assert type(result) is Metres
    assert np.array_equal(result.numpy(), operation(plain).numpy())


def test_several_results_keep_their_tuple():
    """A named tuple of results stays one; its members are of the subclass."""
    values, indices = result = Metres([[1.0, 5.0], [7.0, 2.0]]).max(0)
    assert hasattr(result, "_fields") and type(values) is type(indices) is Metres
    assert values.tolist() == [7.0, 5.0]


def test_gradients_reach_a_subclass_leaf():
    """``backward`` and ``grad`` through a leaf of a subclass agree with a plain one's; its gradient is a plain tensor."""
    leaf = Metres([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    plain = nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for x in (leaf, plain):
        for _ in range(2):
            ((x @ x).tanh() * x[0]).sum().backward()
    assert leaf.is_leaf and type(leaf.grad) is nbgrad.Tensor
    assert np.array_equal(leaf.grad.numpy(), plain.grad.numpy())
    (g,) = nbgrad.grad((leaf**3).sum(), leaf, create_graph=True)
    assert np.allclose(nbgrad.grad(g.sum(), leaf)[0].numpy(), 6 * leaf.detach().numpy())


def test_in_place_history_of_a_subclass():
    """A write to a view of a subclass's tensor is recorded through its base."""
    leaf = Metres([1.0, 2.0, 3.0]).requires_grad_()
    y = leaf * 1
    y[1:].mul_(y[:2].detach().clone())
    y.sum().backward()
    assert leaf.grad.tolist() == [1.0, 1.0, 2.0] and type(y) is Metres


def test_leaf_of_a_subclass_refuses_recorded_writes():
    """A leaf that requires grad is not written to, of whatever class it is."""
    with pytest.raises(nbgrad.InplaceError, match="leaf"):
        Metres([1.0]).requires_grad_().add_(1)


def test_what_returns_itself():
    """``contiguous`` of a contiguous tensor is the tensor, not another one on its memory."""
    m = Metres([1.0, 2.0])
    assert m.contiguous() is m


def test_as_subclass_shares_memory_and_history():
    """``as_subclass`` is a recorded view."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    m = (x * 2).as_subclass(Metres)
    (m * m).sum().backward()
    assert type(m) is Metres and x.grad.tolist() == [8.0, 16.0]
    plain = nbgrad.zeros(2)
    plain.as_subclass(Metres)[0] = 3.0
    assert plain.tolist() == [3.0, 0.0]


def test_as_subclass_of_what_is_none():
    """Anything but a subclass of Tensor is refused."""
    with pytest.raises(TypeError, match="as_subclass"):
        nbgrad.ones(2).as_subclass(int)


@pytest.mark.parametrize(
    "way", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_copies_are_subclasses_that_survive(way):
    """A copy is of the subclass, and so is what is computed from it."""
    m = way(Metres([1.0, 2.0]))
    assert type(m) is Metres and type(m + 1) is Metres and (m + 1).tolist() == [2.0, 3.0]


def test_subclass_prints_its_name():
    """The text begins with the class's name."""
    assert repr(Metres([1.0, 2.0])) == "Metres([1., 2.])"


def test_parameters_give_plain_tensors():
    """A Parameter, and a subclass of it, is not inherited by results."""

    class Own(nbgrad.Parameter):
        """A parameter."""

    for kind in (nbgrad.Parameter, Own):
        assert type(kind(nbgrad.ones(2)) * 2) is nbgrad.Tensor
        assert type(nbgrad.Tensor._make_subclass(kind, nbgrad.ones(2), True) * 2) is nbgrad.Tensor


def test_methods_of_a_subclass():
    """A subclass may have constructor arguments of its own."""

    class Named(nbgrad.Tensor):
        """With a name."""

        def __new__(cls, data, name):
            self = super().__new__(cls, data)
            self.name = name
            return self

        def __init__(self, data, name):
            pass

    x = Named([1.0], "width")
    assert x.name == "width" and type(x * 2) is Named and not hasattr(x * 2, "name")


# ---- who is asked ----------------------------------------------------------------------------------------------------
def test_every_call_is_asked_once(logged):
    """``__nbgrad_function__`` sees the calls that the user makes, with public functions, and none of the backward pass."""
    x = Logged([1.0, 2.0]).requires_grad_()
    (x * 2 + x.exp()).sum().backward()
    assert logged == ["requires_grad_", "mul", "exp", "add", "sum", "backward"]
    assert np.allclose(x.grad.numpy(), 2 + np.exp([1.0, 2.0]))


def test_function_is_the_public_one(logged):
    """``func`` is what ``nbgrad`` has under that name, so that a table of implementations can be keyed by it."""
    seen = []

    class Keyed(nbgrad.Tensor):
        """Looks functions up."""

        @classmethod
        def __nbgrad_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return {nbgrad.mean: lambda x: "mean of mine"}.get(func, lambda *a, **k: NotImplemented)(*args, **(kwargs or {}))

    assert nbgrad.mean(Keyed([1.0])) == "mean of mine" and seen == [nbgrad.mean]
    with pytest.raises(TypeError, match="sum: not implemented for Keyed"):
        Keyed([1.0]).sum()


def test_a_type_that_is_no_tensor():
    """A class with the method takes part as an operand; what it does not know is an error that names it."""
    x = nbgrad.ones(2, 2)
    assert nbgrad.mm(x, Diagonal(3.0, 2)).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert nbgrad.add(Diagonal(3.0, 2), x).tolist() == (x + Diagonal(3.0, 2)).tolist() == [[4.0, 1.0], [1.0, 4.0]]
    with pytest.raises(TypeError, match="exp: not implemented for Diagonal"):
        nbgrad.exp(Diagonal(1.0, 2))


def test_subclass_is_asked_before_its_base(logged):
    """Of several types the most derived decides."""

    class Deeper(Logged):
        """A subclass of a subclass."""

    assert type(Logged([1.0]) + Deeper([2.0])) is Deeper


def test_unrelated_subclasses():
    """Two subclasses of which neither derives from the other do not mix."""
    with pytest.raises(TypeError, match="not implemented"):
        Metres([1.0]) + Logged([2.0])


@pytest.mark.parametrize("disabled", [nbgrad.overrides.disabled, nbgrad._C.DisableTorchFunctionSubclass])
def test_disabled(disabled):
    """Inside ``disabled()``, by torch's name too, a subclass's tensors are plain operands."""
    with disabled():
        assert type(Metres([1.0]) * 2) is nbgrad.Tensor


def test_a_subclass_of_plain_results():
    """By torch's name for that: results of operations are plain, and what is written to stays of the subclass."""

    class Bare(nbgrad.Tensor):
        """A subclass that does not survive operations."""

        __torch_function__ = nbgrad._C._disabled_torch_function_impl

    x = Bare([1.0, 2.0])
    assert [type(each) for each in (x * 2, x[0], x + x)] == [nbgrad.Tensor] * 3
    assert x.mul_(3) is x and type(x) is Bare and x.tolist() == [3.0, 6.0]


class Bare(nbgrad.Tensor):
    """A subclass whose operations give plain tensors."""

    __torch_function__ = nbgrad._C._disabled_torch_function_impl


class BareParameter(Bare, nbgrad.nn.Parameter):
    """What inherits that says the same."""


class MetresParameter(Metres, nbgrad.nn.Parameter):
    """Parameter stands before Tensor in the order of classes, and says that operations give plain tensors."""


@pytest.mark.parametrize("cls", [Bare, BareParameter, MetresParameter])
@pytest.mark.parametrize("make", ["_make_subclass", "as_subclass"])
def test_subclasses_without_a_mark(cls, make, monkeypatch):
    """Where the first class in order that says anything says plain tensors, no interpreter is asked."""
    data = nbgrad.ones(2)
    x = nbgrad.Tensor._make_subclass(cls, data) if make == "_make_subclass" else data.as_subclass(cls)
    monkeypatch.setattr(Overrides, "run", None)
    assert [type(each) for each in (x * 2, x[0], x.detach(), x.data)] == [nbgrad.Tensor] * 4
    assert type(x) is type(x.mul_(3)) is type(x.requires_grad_()) is cls and data.tolist() == [3.0, 3.0]


def test_calls_of_a_subclass_that_says_nothing_ask_no_interpreter(monkeypatch):
    """Computations and views get the type at once; inside of ``disabled()`` they are plain; a view's base is the tensor itself."""
    monkeypatch.setattr(Overrides, "run", None)
    x = Metres([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    y, view = (x * 2 + nbgrad.ones(2)).sum(0), x[0]
    assert [type(each) for each in (y, view, 2 - x, x @ nbgrad.ones(2), *x.topk(1))] == [Metres] * 6
    with disabled():
        assert type(x * 2) is type(x.t()) is nbgrad.Tensor
    assert view._base is x
    (y.sum() + view.sum()).backward()
    assert x.grad.tolist() == [[3.0, 3.0], [2.0, 2.0]]


@pytest.mark.parametrize(
    "call", [lambda z: z @ z, lambda z: z * 2, lambda z: z.cumsum(0), lambda z: nbgrad.cat([z, z]), nbgrad.fft.fft]
)
def test_lazy_conjugates_of_a_subclass(call):
    """Operations that do not know lazy conjugation get operands without it."""
    z = nbgrad.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 + 0j]])
    assert call(z.as_subclass(Metres).conj()).tolist() == call(z.conj().resolve_conj()).tolist()


@pytest.mark.parametrize(
    "move",
    [
        lambda x: setattr(x, "data", nbgrad.ones(2)),
        lambda x: x.set_(nbgrad.ones(2)),
        lambda x: x.resize_(2),
        lambda x: x.unsqueeze_(0),
    ],
    ids=["data", "set_", "resize_", "unsqueeze_"],
)
def test_other_memory_changes_no_class(move):
    """A tensor of a subclass stays one, and a plain tensor plain, whosever memory it gets; ``data`` of a subclass is of it."""
    x = Metres([1.0, 2.0, 3.0])
    move(x)
    assert type(x) is type(x * 2) is type(x.data) is type(x.data * 2) is Metres
    plain = nbgrad.zeros(2)
    plain.data = x
    assert type(plain * 2) is nbgrad.Tensor and type(nbgrad.zeros(1).set_(x) * 2) is nbgrad.Tensor


def test_function_written_in_others():
    """A user's function can take part by ``has_function`` and ``handle_function``."""

    def area(a, b):
        if nbgrad.overrides.has_function(a, b):
            return nbgrad.overrides.handle_function(area, (a, b), a, b)
        return a * b

    class Shape:
        """Has areas of its own."""

        @classmethod
        def __nbgrad_function__(cls, func, types, args=(), kwargs=None):
            return "area" if func is area else NotImplemented

    assert area(Shape(), 2) == "area" and area(nbgrad.tensor(3.0), 2).item() == 6.0


# ---- modes -----------------------------------------------------------------------------------------------------------
class Doubling(nbgrad.overrides.FunctionMode):
    """Doubles every product."""

    def __nbgrad_function__(self, func, types, args, kwargs):
        result = func(*args, **kwargs)
        return result + result if func is nbgrad.mul else result


def test_mode_sees_plain_calls():
    """A mode decides for all calls of its thread, also of plain tensors; inside its method it is off."""
    x = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    with Doubling():
        y = x * 3
    y.sum().backward()
    assert y.tolist() == [6.0, 12.0] and x.grad.tolist() == [6.0, 6.0] and (x * 3).tolist() == [3.0, 6.0]


def test_modes_nest():
    """The innermost mode is asked first; what it calls goes to the next one."""
    x = nbgrad.tensor([1.0])
    with Doubling(), Doubling():
        assert (x * 1).item() == 4.0


def test_mode_leaves_on_error():
    """A mode is off after an exception inside."""
    with pytest.raises(ZeroDivisionError), Doubling():
        raise ZeroDivisionError
    assert (nbgrad.tensor([1.0]) * 3).item() == 3.0


# ---- names of torch's module -----------------------------------------------------------------------------------------


class Naming(nbgrad.overrides.FunctionMode):
    """A mode that notes what it is shown, and multiplies once more by itself."""

    def __init__(self, name, seen):
        self.name, self.seen = name, seen

    def __nbgrad_function__(self, func, types, args, kwargs):
        self.seen.append((self.name, func.__name__))
        return func(*args, **kwargs) * 1


def test_calls_of_a_mode_are_seen_by_the_modes_around_it_alone():
    """What a mode calls, it does not see; the mode around it sees both calls; hooks that were entered behind it see them, too."""
    seen: list = []
    x = nbgrad.ones(2, requires_grad=True)
    with Naming("outer", seen), Naming("inner", seen):
        x.exp()
        x.exp()
    assert seen == [("inner", "exp"), ("outer", "exp"), ("outer", "mul")] * 2
    packed: list = []
    del seen[:]
    with Naming("outer", seen), nbgrad.graph.saved_tensors_hooks(packed.append, lambda kept: kept):
        x.exp()
    assert seen == [("outer", "exp")] and len(packed) == 1


def test_a_mode_stays_where_its_method_raises():
    """Calls behind an error come to the mode as those before it did, and none when it is left."""
    seen: list = []

    class Refusing(Naming):
        def __nbgrad_function__(self, func, types, args, kwargs):
            seen.append(func.__name__)
            raise ValueError(func.__name__)

    x = nbgrad.ones(2)
    with Refusing("", seen):
        for _ in range(2):
            with pytest.raises(ValueError, match="exp"):
                x.exp()
    assert x.exp().shape == (2,) and seen == ["exp", "exp"]


class Asked:
    """A type that is no tensor, and answers with what it was asked."""

    @classmethod
    def __nbgrad_function__(cls, func, types, args, kwargs):
        return func.__name__, types, args, kwargs


def test_wrapped_functions_ask():
    """A decorated function runs for tensors, and asks about arguments of other types."""

    @nbgrad.overrides.wrap_torch_function(lambda x, scale=1: (x,))
    def scaled(x, scale=1):
        return x * scale

    asked = Asked()
    assert scaled(nbgrad.ones(1), scale=3).item() == 3
    assert scaled(asked, scale=3) == ("scaled", (Asked,), (asked,), {"scale": 3})


def test_questions_about_arguments():
    """Whether to ask, what is like a tensor, and where a function is public."""
    overrides, asked = nbgrad.overrides, Asked()
    assert overrides.has_torch_function((asked, 1)) and not overrides.has_torch_function((nbgrad.ones(1),))
    assert overrides.handle_torch_function(nbgrad.add, (asked,), asked, 1)[1] == (Asked,)
    assert overrides.is_tensor_like(asked) and overrides.is_tensor_like(nbgrad.ones(1)) and not overrides.is_tensor_like(1)
    assert overrides.resolve_name(nbgrad.add) == "nbgrad.add" and overrides.resolve_name(len) is None
    assert overrides.resolve_name(nbgrad.Tensor.add_) == "nbgrad.Tensor.add_"
    assert overrides.is_tensor_method_or_property(nbgrad.Tensor.add_) and not overrides.is_tensor_method_or_property(nbgrad.add)
    functions = overrides.get_overridable_functions()
    assert nbgrad.add in functions[nbgrad] and nbgrad.Tensor.add_ in functions[nbgrad.Tensor]


# ---- passes and hooks ------------------------------------------------------------------------------------------------
def test_passes_and_hooks_are_asked(logged):
    """``backward``, ``grad`` and what registers hooks go to the type of their tensors, as operations do."""
    x = Logged([1.0, 2.0]).requires_grad_()
    y = (x * 2).sum()
    logged.clear()
    y.backward(retain_graph=True)
    nbgrad.backward([y], retain_graph=True)
    nbgrad.grad(y, x, retain_graph=True)
    x.register_hook(lambda g: None)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    y.retain_grad()
    x.requires_grad_(True)
    assert logged == [
        "backward",
        "backward",
        "grad",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "retain_grad",
        "requires_grad_",
    ]


def test_a_type_may_answer_for_grad():
    """What a type returns for ``nbgrad.grad`` is the result."""

    class Answers(nbgrad.Tensor):
        @classmethod
        def __nbgrad_function__(cls, func, types, args=(), kwargs=None):
            if func is nbgrad.grad:
                return "asked", sorted(kwargs)
            return super().__nbgrad_function__(func, types, args, kwargs)

    x = Answers([1.0]).requires_grad_()
    assert nbgrad.grad(x * 2, [x])[0] == "asked"


def test_a_subclass_keeps_its_own_backward():
    """A method that a subclass defines is called, and may ask Tensor's."""

    class Counted(nbgrad.Tensor):
        calls = 0

        def backward(self, *args, **kwargs):
            Counted.calls += 1
            super().backward(*args, **kwargs)

    x = Counted([1.0]).requires_grad_()
    (x * 2).sum().backward()
    assert Counted.calls == 1 and x.grad.tolist() == [2.0]


def test_a_mode_sees_passes():
    """A function mode is asked about ``backward`` and ``grad`` of plain tensors."""
    names = []

    class Names(nbgrad.overrides.FunctionMode):
        def __nbgrad_function__(self, func, types, args, kwargs):
            names.append(func.__name__)
            return func(*args, **kwargs)

    x = nbgrad.ones(2, requires_grad=True)
    y = x.sum()
    with Names():
        y.backward(retain_graph=True)
        nbgrad.grad(y, (t for t in [x]))
    assert names == ["backward", "grad"] and x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.mul_(y),
        lambda x, y: nbgrad.add(x, y, out=x),
        lambda x, y: x.copy_(y),
        lambda x, y: x.__setitem__(nbgrad.tensor([0]), y[:1]),
        lambda x, y: x.index_put_((nbgrad.tensor([0]),), y[:1]),
        lambda x, y: x.masked_fill_((y > 0).as_subclass(Metres), 2.0),
    ],
)
def test_what_is_written_to_keeps_its_type(write):
    """A plain tensor stays one, whatever type what is written to it has; the value of the call has that type, as in torch."""
    x = nbgrad.ones(3)
    write(x, nbgrad.ones(3).as_subclass(Metres))
    assert type(x) is nbgrad.Tensor


def test_functions_are_asked_call_by_call():
    """Modes and types see what a custom Function calls, and not the Function, as in torch."""
    names = []

    class Names(nbgrad.overrides.FunctionMode):
        def __nbgrad_function__(self, func, types, args, kwargs):
            names.append(func.__name__)
            return func(*args, **kwargs)

    x = nbgrad.ones(2).as_subclass(Metres).requires_grad_()
    with Names():
        y = Square.apply(x)
    assert names == ["mul"] and type(y) is Metres and nbgrad.grad(y.sum(), x)[0].tolist() == [2, 2]


class Operator:
    """No tensor, but of a type that says what functions mean on it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("squeeze", lambda e, x: (e, 0)),
        ("transpose", lambda e, x: (e, 0, 1)),
        ("logdet", lambda e, x: (e,)),
        ("isclose", lambda e, x: (e, x)),
        ("sum", lambda e, x: (e,)),
        ("matmul", lambda e, x: (x, e)),
        ("cat", lambda e, x: ([x, e],)),
        ("cholesky_solve", lambda e, x: (x, e)),
        ("linalg.solve", lambda e, x: (e, x)),
        ("linalg.solve", lambda e, x: (x, e)),
        ("linalg.svd", lambda e, x: (e,)),
        ("linalg.cholesky", lambda e, x: (e,)),
        ("nn.functional.linear", lambda e, x: (x, e)),
    ],
)
def test_objects_that_are_no_tensors_are_asked(name, arguments):
    """Functions of every kind, in ``linalg`` too, ask a type that is no tensor's, as the function that was called."""
    function = functools.reduce(getattr, name.split("."), nbgrad)
    given = arguments(Operator(), nbgrad.eye(2))
    func, types, args, kwargs = function(*given)
    assert func is function and types == (Operator,) and args == given and not kwargs


def test_other_objects_are_refused_as_before():
    """What is no tensor, and no such type, is an error."""
    with pytest.raises(nbgrad.ArgumentError, match="squeeze: x must be a Tensor, got object"):
        nbgrad.squeeze(object(), 0)


def test_modules_alone_let_no_pass_ask_types():
    """Classes of nbgrad's own that override functions count where a program uses them: asking takes a third of a small pass."""
    program = (
        "import nbgrad, nbgrad.nn, nbgrad.optim, nbgrad.distributions, nbgrad.sparse, nbgrad.amp\n"
        "from nbgrad.base.grad_mode import special, unusual\n"
        "nbgrad.nn.Sequential(nbgrad.nn.Conv2d(1, 1, 3), nbgrad.nn.LSTM(2, 2)); nbgrad.sparse_coo_tensor([[0]], [1.0], (2,))\n"
        "assert not special and not unusual, (special, unusual)\n"
        "nbgrad.nn.LazyLinear(2)\n"
        "assert unusual\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
