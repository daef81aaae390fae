"""Arguments of a wrong kind: every operation says which one, what came and what was expected, in an error that users catch."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.errors import ArgumentError


def x() -> nbgrad.Tensor:
    return nbgrad.arange(12.0).reshape(3, 4)


ATTRIBUTES = [
    (lambda: x().tile("a"), "repeat: repeats must be an int or a tuple of ints"),
    (lambda: x().repeat(1, "a"), "repeat: repeats must be"),
    (lambda: x().repeat(1.5), "repeat: expected ints, or a tuple of ints, got float"),
    (lambda: x().view("a"), "view: .* must be an int or a tuple of ints"),
    (lambda: x().view(None), "view: expected ints"),
    (lambda: x().reshape(3, "a"), "must be an int or a tuple of ints"),
    (lambda: x().reshape(1.5), "reshape: expected ints"),
    (lambda: x().roll("a"), "roll: shifts must be an int or a tuple of ints, got str 'a'"),
    (lambda: x().expand(3, "a"), "must be an int or a tuple of ints"),
    (lambda: x().permute(1.5), "permute: expected ints"),
    (lambda: x().broadcast_to(3), "broadcast_to: shape must be a tuple of ints, got int"),
    (lambda: x().split("a"), "must be an int"),
    (lambda: x().split({}), "must be an int"),
    (lambda: x().chunk("a"), "chunk: chunks must be an int, got str"),
    (lambda: x().tensor_split(1.5), "tensor_split: expected an int or a tuple of ints"),
    (lambda: x().topk("a"), "topk: k must be an int, got str 'a'"),
    (lambda: x().topk(1.5), "topk: k must be an int, got float 1.5"),
    (lambda: x().topk(None), "topk: k must be an int, got NoneType"),
    (lambda: x().kthvalue("a"), "kthvalue: k must be an int"),
    (lambda: x().narrow(0, "a", 1), "narrow: start and length must be ints, got 'a' and 1"),
    (lambda: x().narrow(0, 0, "a"), "narrow: start and length must be ints, got 0 and 'a'"),
    (lambda: x().unfold(1, "a", 1), "unfold: size must be an int"),
    (lambda: x().as_strided((2,), ("a",)), "as_strided: size and stride must be tuples of ints"),
    (lambda: x().as_strided(1, 1), "as_strided: size and stride must be tuples of ints"),
    (lambda: x().diag("a"), "diag.*: (diagonal|offset) must be an int, got str 'a'"),
    (lambda: x().diagonal({}), "diagonal: offset must be an int, got dict"),
    (lambda: x().diagonal(1.5), "diagonal: offset must be an int, got float 1.5"),
    (lambda: x().tril("a"), "tril: diagonal must be an int, got str 'a'"),
    (lambda: x().triu(None), "triu: diagonal must be an int, got NoneType"),
    (lambda: x().tril_(1.5), "tril: diagonal must be an int"),
    (lambda: nbgrad.dropout(x(), "a"), "dropout: p must be a number, got str"),
    (lambda: x().std(0, correction="a"), "std: correction must be a number, got str 'a'"),
    (lambda: x().var(1, "a"), "unbiased must be a bool, got 'a'"),
    (lambda: x().unflatten(0, "a"), "unflatten: sizes must be a tuple of ints, got 'a'"),
    (lambda: x().renorm("a", 0, 1.0), "p must be a number"),
    (lambda: x().norm({}), "norm: p must be a number"),
    (lambda: x().sum({}), "sum: dim must be an int or a tuple of ints, got dict"),
    (lambda: x().softmax(1, "a"), "dtype must be a dtype, got str 'a'"),
    (lambda: x().cumsum({}), "cumsum: dim must be"),
    (lambda: x().rot90("a"), "rot90: k must be an int"),
    (lambda: x().diff("a"), "diff: n must be an int"),
    (lambda: x().histc("a"), "histc: bins must be an int"),
    (lambda: x().nan_to_num("a"), "nan_to_num: nan, posinf and neginf must be numbers, got 'a'"),
    (lambda: x().mvlgamma("a"), "mvlgamma: p must be a number"),
    (lambda: x().polygamma("a"), "polygamma"),
    (lambda: x().logit("a"), "logit"),
    (lambda: x().view_as(3), "view_as: other must be a Tensor, got int"),
    (lambda: x().reshape_as("a"), "reshape_as: other must be a Tensor, got str"),
    (lambda: x().expand_as(None), "expand_as: other must be a Tensor, got NoneType"),
    (lambda: x().type_as("a"), "type_as: other must be a Tensor, got str"),
    (lambda: x().isclose(1.5), "isclose: other must be a Tensor, got float"),
    (lambda: x().allclose("a"), "isclose: other must be a Tensor, got str"),
    (lambda: x().equal(None), "equal: other must be a Tensor, got NoneType"),
    (lambda: x().cross(1.5), "cross: expected a Tensor, got float"),
    (lambda: x().put(1, "a"), "put: index must be a Tensor, got int"),
    (lambda: x().baddbmm(1, "a"), "baddbmm: batch1 must be a Tensor, got int"),
    (lambda: x().outer(1), "outer: expected Tensors, got int"),
    (lambda: x().addmm(1, "a"), "addmm: mat1 must be a Tensor, got int"),
    (lambda: x().movedim(None, 0), "movedim: source must be an int or a tuple of ints, got NoneType"),
    (lambda: x().movedim(0, 1.5), "movedim: destination must be an int or a tuple of ints, got float 1.5"),
    (lambda: x().scatter(0, None, x()), "scatter: index must be a Tensor, got NoneType"),
    (lambda: x().take_along_dim("a"), "take_along_dim: indices must be a Tensor, got str 'a'"),
    (lambda: x().index_put_(None, x()), "index_put: indices must be a tuple or list of Tensors, got NoneType"),
    (lambda: nbgrad.cat(None), "cat: tensors must be a tuple or list of Tensors, got NoneType"),
    (lambda: nbgrad.stack(1.5), "stack: tensors must be a tuple or list of Tensors, got float 1.5"),
    (lambda: nbgrad.hstack([1.5]), r"hstack: tensors must be a tuple or list of Tensors, got list \[1.5\]"),
    (lambda: nbgrad.meshgrid((None,)), "meshgrid: tensors must be a tuple or list of Tensors"),
    (lambda: nbgrad.cartesian_prod("a"), "cartesian_prod: tensors must be a tuple or list of Tensors"),
    (lambda: nbgrad.einsum("ij->", 1.5), "einsum: operands must be a tuple or list of Tensors"),
    (lambda: nbgrad.linspace(0, 1, None), "linspace: steps must be an int, got NoneType"),
    (lambda: nbgrad.tril_indices("a", 1), "tril_indices: row must be an int, got str"),
    (lambda: nbgrad.multinomial(x(), "a"), "multinomial: num_samples must be an int, got str"),
]


@pytest.mark.parametrize("call, message", ATTRIBUTES)
def test_attribute_of_a_wrong_kind_is_named(call, message):
    """The error is a TypeError and a RuntimeError, and says what came."""
    with pytest.raises(ArgumentError, match=message) as raised:
        call()
    assert isinstance(raised.value, TypeError) and isinstance(raised.value, RuntimeError)


METHODS = """amax argmax chunk cumsum diag diagonal diff dot expand expand_as flatten flip gather index_select kthvalue
    logsumexp masked_fill matmul mean median movedim narrow norm outer permute prod quantile repeat reshape roll rot90 scatter
    select softmax sort split squeeze std sum swapaxes take take_along_dim tensor_split tile topk transpose tril unbind unflatten
    unfold unsqueeze var view view_as""".split()
FUNCTIONS_OF_SEVERAL = (
    "arange block_diag cat einsum empty eye full linspace meshgrid ones rand randn randperm stack tensordot zeros".split()
)


@pytest.mark.parametrize("name", [*METHODS, *FUNCTIONS_OF_SEVERAL])
def test_no_error_is_pythons_own(name):
    """Whatever stands in whatever place: an error of the house, or a result; only calls that no signature fits are Python's."""
    for wrong in (None, "a", 1.5, (None,), ["a"], object(), 1j):
        for given in [(wrong,), (0, wrong), (wrong, 0), (wrong, wrong), (0, wrong, x())]:
            try:
                getattr(nbgrad.Tensor, name)(x(), *given) if name in METHODS else getattr(nbgrad, name)(*given)
            except nbgrad.NbgradError:
                pass
            except TypeError as error:
                assert "positional argument" in str(error), (wrong, given)


def test_second_call_fails_like_the_first():
    """A failure leaves no plan behind."""
    messages = set()
    for _ in range(3):
        with pytest.raises(ArgumentError) as raised:
            x().roll("a")
        messages.add(str(raised.value))
    assert len(messages) == 1


def test_errors_of_the_house_are_not_rewritten():
    """An attribute out of range keeps its own error."""
    with pytest.raises(IndexError, match="dim 7 is out of range"):
        x().unsqueeze(7)
    with pytest.raises(RuntimeError, match="k = 9"):
        x().topk(9)


def test_unusual_kinds_that_work_stay_allowed():
    """Integers of NumPy and tensors are as good as Python's, and are none of what shapes hold."""
    two, four = np.int64(2), nbgrad.tensor(4)
    made = [
        x().repeat(two, two),
        x().tile((two, two)),
        x().repeat_interleave(two, dim=np.int64(1)),
        x().view(3, four),
        nbgrad.cat([x(), x()], np.int64(0)),
        x().expand(two, 3, 4),
        x().unfold(1, two, 1),
        nbgrad.stack([x()] * 2, np.int64(0)),
    ]
    assert [tuple(each.shape) for each in made] == [(6, 8), (6, 8), (3, 8), (3, 4), (6, 4), (2, 3, 4), (3, 3, 2), (2, 3, 4)]
    assert {type(size) for each in made for size in each.layout.shape} == {int}


def test_tensor_as_size_is_read_at_every_call():
    """A plan keeps the number, not the tensor that was it once."""
    size = nbgrad.tensor(6)
    first = nbgrad.zeros(6).view(size).shape
    size.fill_(3)
    assert first == (6,) and nbgrad.zeros(6).view(size, 2).shape == (3, 2)
    with pytest.raises(ValueError, match="6"):
        nbgrad.zeros(6).view(size)


def test_number_of_numpy_fills_like_one_of_python():
    """``full`` has the default dtype for floats of NumPy; ``tensor`` keeps theirs."""
    assert nbgrad.full((2,), np.float64(1.5)).dtype is nbgrad.float32
    assert nbgrad.full((2,), np.int32(1)).dtype is nbgrad.int64
    assert nbgrad.tensor(np.float64(1.5)).dtype is nbgrad.float64


@pytest.mark.parametrize("scaled", [lambda x, y: x.add(y, alpha=3), lambda x, y: x.sub(y, alpha=3), lambda x, y: x.lerp(y, 0.25)])
def test_second_pass_where_only_numbers_are_kept(scaled):
    """Nothing was freed: the gradient of the second pass adds to that of the first."""
    a, b = (nbgrad.ones(2, requires_grad=True) for _ in range(2))
    result = scaled(a, b).sum()
    result.backward()
    once = a.grad.tolist(), b.grad.tolist()
    result.backward()
    assert (a.grad / 2).tolist() == once[0] and (b.grad / 2).tolist() == once[1]


@pytest.mark.parametrize("kept", [lambda x: x * 3, lambda x: x**3, lambda x: x.exp()])
def test_second_pass_where_tensors_are_kept_is_refused(kept):
    """The factor of a product stands for a tensor, also where it is a number."""
    result = kept(nbgrad.ones(2, requires_grad=True)).sum()
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


@pytest.mark.parametrize("given", [(), (None,)])
def test_parameter_without_data_is_empty(given):
    """It has no elements, and requires grad."""
    parameter = nbgrad.nn.Parameter(*given)
    assert parameter.shape == (0,) and parameter.requires_grad and parameter.dtype is nbgrad.get_default_dtype()


FUNCTIONS = [
    (lambda: nbgrad.checkpoint(None, x(), use_reentrant=False), "checkpoint"),
    (lambda: nbgrad.vmap(None), "vmap"),
    (lambda: nbgrad.func.grad(None), "grad"),
    (lambda: nbgrad.func.grad_and_value(3), "grad_and_value"),
    (lambda: nbgrad.func.vjp(None, x()), "vjp"),
    (lambda: nbgrad.func.jvp(None, (x(),), (x(),)), "jvp"),
    (lambda: nbgrad.func.jacrev(None), "jacrev"),
    (lambda: nbgrad.func.jacfwd("a"), "jacfwd"),
    (lambda: nbgrad.func.hessian(None), "hessian"),
    (lambda: nbgrad.func.functionalize(None), "functionalize"),
]


@pytest.mark.parametrize("call, name", FUNCTIONS)
def test_what_is_no_function_is_refused(call, name):
    """By name, before anything runs."""
    with pytest.raises(TypeError, match=f"^{name}: expected a function, got "):
        call()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"lr": "a"}, "lr must be a number, got 'a'"),
        ({"weight_decay": None}, "weight_decay must be a number, got None"),
        ({"betas": 3}, "betas is 3, expected two numbers"),
        ({"betas": (0.9,)}, "expected two numbers"),
        ({"betas": (0.9, "a")}, r"betas\[1\] must be a number"),
        ({"eps": "a"}, "eps must be a number"),
    ],
)
def test_options_of_adam_are_numbers(options, message):
    """Refused when the optimizer is made."""
    with pytest.raises(ArgumentError, match=message):
        nbgrad.optim.Adam([nbgrad.nn.Parameter(nbgrad.ones(2))], **options)


@pytest.mark.parametrize("option", ["lr", "momentum", "dampening", "weight_decay"])
def test_options_of_sgd_are_numbers(option):
    """Refused when the optimizer is made."""
    with pytest.raises(ArgumentError, match=f"SGD: {option} must be a number, got 'a'"):
        nbgrad.optim.SGD([nbgrad.nn.Parameter(nbgrad.ones(2))], **{option: "a"})


def test_modules_take_their_argument_by_name():
    """``input``, and ``input1``, ``input2`` of losses of pairs."""
    linear, value = nbgrad.nn.Linear(4, 2), x()
    assert nbgrad.equal(linear(input=value), linear(value))
    for module in (
        nbgrad.nn.ReLU(),
        nbgrad.nn.Softmax(1),
        nbgrad.nn.Identity(),
        nbgrad.nn.LayerNorm(4),
        nbgrad.nn.Dropout(0.0),
        nbgrad.nn.Flatten(),
        nbgrad.nn.Sequential(linear, nbgrad.nn.Tanh()),
    ):
        assert nbgrad.equal(module(input=value), module(value))
    assert nbgrad.nn.MSELoss()(input=value, target=value).item() == 0
    ones = nbgrad.ones(3)
    assert nbgrad.nn.MarginRankingLoss()(input1=ones, input2=ones, target=ones).item() == 0


# Calls with an integer in question.
WHOLE = {
    "diagonal": lambda x, one: x.diagonal(one),
    "diagonal dim": lambda x, one: x.diagonal(0, one, 0),
    "diag": lambda x, one: x.diag(one),
    "unsqueeze": lambda x, one: x.unsqueeze(one),
    "squeeze": lambda x, one: x[:, :1].squeeze(one),
    "transpose": lambda x, one: x.transpose(one, 0),
    "swapaxes": lambda x, one: x.swapaxes(0, one),
    "select": lambda x, one: x.select(one, 0),
    "select index": lambda x, one: x.select(0, one),
    "narrow": lambda x, one: x.narrow(0, one, 1),
    "unfold": lambda x, one: x.unfold(one, 2, 1),
    "unfold step": lambda x, one: x.unfold(1, 2, one),
    "as_strided": lambda x, one: x.as_strided((one,), (1,)),
    "permute": lambda x, one: x.permute((one, 0)),
    "view": lambda x, one: x.view(one, 12),
    "reshape": lambda x, one: x.reshape((one, 12)),
    "expand": lambda x, one: x.expand(one, 3, 4),
    "split": lambda x, one: x.split(one),
    "split dim": lambda x, one: x.split(1, one),
    "split sizes": lambda x, one: x.split([one, 3], 1),
    "unbind": lambda x, one: x.unbind(one),
    "chunk": lambda x, one: x.chunk(2, one),
    "sum": lambda x, one: x.sum(one),
    "sum dims": lambda x, one: x.sum((0, one)),
    "mean": lambda x, one: x.mean([0, one]),
    "amax": lambda x, one: x.amax((0, one)),
    "softmax": lambda x, one: x.softmax(one),
    "cumsum": lambda x, one: x.cumsum(one),
    "tril": lambda x, one: x.tril(one),
    "triu_": lambda x, one: x.clone().triu_(one),
    "roll": lambda x, one: x.roll(one, 1),
    "roll dim": lambda x, one: x.roll(1, one),
    "roll dims": lambda x, one: x.roll((1,), (one,)),
    "flip": lambda x, one: x.flip((one,)),
    "repeat": lambda x, one: x.repeat(one, 2),
    "tile": lambda x, one: x.tile((one, 2)),
    "topk": lambda x, one: x.topk(one),
    "sort": lambda x, one: x.sort(one),
    "cat": lambda x, one: nbgrad.cat((x, x), one),
    "stack": lambda x, one: nbgrad.stack((x, x), one),
    "pad": lambda x, one: nbgrad.nn.functional.pad(x, (one, 0)),
    "cross_entropy": lambda x, one: nbgrad.nn.functional.cross_entropy(x, nbgrad.tensor([0, 1, 2]), ignore_index=one),
}


def in_modes(f):
    """The call as it is, of an operand that needs a gradient, of a view, in inference mode, of a dual tensor, in a batch."""
    yield lambda one: f(x(), one)
    yield lambda one: f(x().requires_grad_(), one)
    yield lambda one: f(nbgrad.arange(24.0).reshape(2, 3, 4)[1], one)

    def inference(one):
        with nbgrad.inference_mode():
            return f(x(), one)

    yield inference

    def dual(one):
        with nbgrad.forward_ad.dual_level():
            return f(nbgrad.forward_ad.make_dual(x(), x()), one)

    yield dual
    yield lambda one: nbgrad.vmap(lambda row: f(row, one))(nbgrad.arange(24.0).reshape(2, 3, 4))


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("odd", [1.0, True], ids=repr)
def test_what_equals_an_integer_is_none(name, odd):
    """A float or a truth value is refused whether or not the integer that it equals was asked for before, in every mode; and leaves
    nothing behind for the integer."""
    for call in in_modes(WHOLE[name]):
        shapes = []
        for one in (odd, 1, 1, 1, odd, np.int64(1), nbgrad.tensor(1), nbgrad.tensor(1)):
            if one is odd:
                with pytest.raises(TypeError):
                    call(one)
            else:
                made = call(one)
                shapes.append(str([each.shape for each in made] if isinstance(made, (tuple, list)) else made.shape))
        assert len(set(shapes)) == 1


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "argmax", "logsumexp", "any", "all", "prod"])
@pytest.mark.parametrize("odd", [1, 1.0], ids=repr)
def test_what_equals_true_is_no_flag(name, odd):
    """``keepdim`` is a bool also after it was one."""
    for _ in range(2):
        with pytest.raises(TypeError, match="keepdim must be a bool"):
            getattr(x(), name)(0, odd)
        assert getattr(x(), name)(0, True).shape == (1, 4)


NUMBERS = {
    "softmax": lambda x, one: x.softmax(one),
    "log_softmax": lambda x, one: x.log_softmax(one),
    "cumsum": lambda x, one: x.cumsum(one),
    "cumprod": lambda x, one: x.cumprod(one),
    "logcumsumexp": lambda x, one: x.logcumsumexp(one),
    "std": lambda x, one: x.std(0, correction=one),
    "var": lambda x, one: x.var(0, correction=one),
    "roll": lambda x, one: x.roll(one, 0),
    "topk": lambda x, one: x.topk(one)[0],
    "norm": lambda x, one: x.norm(one, 0),
    "tensordot": lambda x, one: nbgrad.tensordot(x, x, one),
    "max": lambda x, one: x.max(dim=one)[0],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_tensor_in_the_place_of_a_number_is_that_number_to_derivatives(name):
    """Both orders of derivatives, and those in a batch, are the number's."""
    x = nbgrad.tensor([[0.5, 2.0, 1.0], [3.0, 1.5, 0.25], [1.0, 4.0, 2.0]])

    def derivatives(one):
        f = lambda x: (NUMBERS[name](x, one()) ** 2).sum()
        first = nbgrad.func.grad(f)
        return (
            first(x),
            nbgrad.func.grad(lambda x: (first(x) ** 2).sum())(x),
            nbgrad.vmap(first)(nbgrad.stack([x, 2 * x])),
            nbgrad.func.jvp(f, (x,), (x,))[1],
        )

    for got, expected in zip(derivatives(lambda: nbgrad.tensor(1)), derivatives(lambda: 1)):
        assert np.array_equal(got.numpy(), expected.numpy(), equal_nan=True)


def test_a_tensor_is_no_dimension_unless_it_is_one_whole_number():
    """Several elements, floats and truth values name no dimension, and the error names the argument."""
    for wrong in (nbgrad.tensor([0, 1]), nbgrad.tensor(1.0), nbgrad.tensor(True)):
        for call in (x().sum, x().softmax, x().cumsum, x().unsqueeze, x().sort, x().flip):
            with pytest.raises(TypeError, match="dims? must be an int"):
                call(wrong)


@pytest.mark.parametrize("name, pairwise", [("max", "maximum"), ("min", "minimum")])
def test_extrema_tell_a_dimension_from_another_operand(name, pairwise):
    """A tensor by position alone is the other operand; with keepdim, or by the name dim, it is a dimension."""
    zero, y = nbgrad.tensor(0), nbgrad.tensor([[1.0, 5.0, -3.0], [4.0, -2.0, 6.0]])
    function, method, pairs = getattr(nbgrad, name), getattr(y, name), getattr(nbgrad, pairwise)
    for made in (function(y, zero), method(zero), method(other=zero), function(y, zero, out=nbgrad.empty(2, 3))):
        assert made.tolist() == pairs(y, zero).tolist()
    expected = method(0)
    for made in (
        method(dim=zero),
        method(axis=zero),
        function(y, zero, False),
        function(y, zero, keepdim=False),
        function(y, dim=zero),
    ):
        assert made.values.tolist() == expected.values.tolist() and made.indices.tolist() == expected.indices.tolist()
    assert method(zero, keepdim=True).values.shape == function(y, zero, True).values.shape == (1, 3)
    for wrong in (lambda: method(y, True), lambda: method(y, keepdim=False), lambda: method(dim=y), lambda: method(0, other=y)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError, match="twice"):
        method(0, dim=0)


def test_tensor_as_number_is_read_at_every_call():
    """A plan keeps the number, not the tensor that was it once."""
    y, functional = x()[0], nbgrad.nn.functional
    calls = [
        lambda one: y.var(0, correction=one),
        lambda one: y.std(correction=one),
        lambda one: functional.layer_norm(y, (4,), eps=one),
        lambda one: nbgrad.addmm(nbgrad.ones(2, 2), nbgrad.ones(2, 2), nbgrad.ones(2, 2), beta=one),
        lambda one: y.norm(one),
    ]
    for call in calls:
        number = nbgrad.tensor(1.0)
        for value in (1.0, 2.0, 1.0):
            number.fill_(value)
            assert call(number).tolist() == call(value).tolist()


def test_several_elements_are_no_number():
    """The error names the argument."""
    two, functional = nbgrad.tensor([1.0, 2.0]), nbgrad.nn.functional
    for call in (
        lambda: functional.layer_norm(x(), (4,), eps=two),
        lambda: functional.group_norm(x(), 2, eps=two),
        lambda: x().var(correction=two),
        lambda: nbgrad.addmm(nbgrad.ones(2, 2), nbgrad.ones(2, 2), nbgrad.ones(2, 2), alpha=two),
    ):
        with pytest.raises(TypeError, match="(eps|correction|alpha) must be a number, got Tensor of 2 elements"):
            call()


def test_no_error_of_python_for_what_is_no_count():
    """A step that is no number, and a tensor without a dimension to unflatten."""
    for step in (float("nan"), 1j):
        with pytest.raises(RuntimeError, match="arange: step"):
            nbgrad.arange(0, 3, step)
    for dim in (0, -1):
        with pytest.raises(IndexError, match="unflatten: x has no dimensions"):
            nbgrad.tensor(1.0).unflatten(dim, (1, -1))


@pytest.mark.parametrize("dtype", [nbgrad.float32, nbgrad.float64, nbgrad.int64, nbgrad.complex64])
def test_one_truth_value_chooses_everywhere(dtype):
    """True and False stand for a mask of one element, whatever the dtype; other numbers are refused."""
    x, y = nbgrad.tensor([1, 2, 3]).to(dtype), nbgrad.tensor([4, 5, 6]).to(dtype)
    for truth in (True, False, np.bool_(True), np.bool_(False)):
        assert nbgrad.equal(nbgrad.where(truth, x, y), x if truth else y)
        assert nbgrad.equal(x.masked_fill(truth, 7), nbgrad.full_like(x, 7) if truth else x)
    for wrong in (1.5, 2j, np.float64(1.0)):
        with pytest.raises(nbgrad.DTypeError, match="where: condition must be a bool tensor, or True or False"):
            nbgrad.where(wrong, x, y)
