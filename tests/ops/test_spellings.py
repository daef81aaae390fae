"""Arguments under NumPy's and torch's names, and results into ``out``."""

from __future__ import annotations

import inspect
from functools import partial

import numpy as np
import pytest

import nbgrad
from nbgrad.nn import functional as F
from tests.samples import SAMPLES
from tests.samples.checking import to_tensor

ARRAY = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])


@pytest.fixture
def x():
    """A matrix."""
    return nbgrad.tensor(ARRAY)


REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "std", "var", "logsumexp", "norm")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("form", ["function", "method"])
def test_axis_and_keepdims_are_dim_and_keepdim(name, form, x):
    """A reduction by NumPy's names is the one by torch's."""
    call = getattr(nbgrad, name) if form == "function" else lambda x, **named: getattr(x, name)(**named)
    if name == "logsumexp" and form == "method":
        call = lambda x, **named: nbgrad.Tensor.logsumexp(x, **named)
    want = call(x, dim=1, keepdim=True)
    assert want.shape == (2, 1)
    np.testing.assert_array_equal(call(x, axis=1, keepdims=True).numpy(), want.numpy())
    np.testing.assert_array_equal(call(x, axis=1).numpy(), want.numpy()[:, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **d: x.max(**d).values,
        lambda x, **d: x.min(**d).indices,
        lambda x, **d: x.cumsum(**d),
        lambda x, **d: x.cumprod(**d),
        lambda x, **d: x.sort(**d).values,
        lambda x, **d: x.topk(1, **d).values,
        lambda x, **d: x.argsort(**d),
        lambda x, **d: x.softmax(**d),
        lambda x, **d: x[None].transpose(0, 1).squeeze(**d),
        lambda x, **d: nbgrad.cat([x, x], **d),
        lambda x, **d: nbgrad.stack([x, x], **d),
        lambda x, **d: nbgrad.unsqueeze(x, **d),
        lambda x, **d: nbgrad.select(x, index=0, **d),
    ],
)
def test_axis_is_dim_elsewhere(call, x):
    """Scans, orders, joins and views take it too."""
    np.testing.assert_array_equal(call(x, axis=0).numpy(), call(x, dim=0).numpy())


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(0, axis=1),
        lambda x: x.sum(dim=0, axis=1),
        lambda x: nbgrad.sum(x, 0, axis=1),
        lambda x: x.var(0, axis=0),
        lambda x: x.cumsum(0, axis=1),
        lambda x: x.max(0, axis=1),
        lambda x: x.sum(0, True, keepdims=True),
        lambda x: x.squeeze(0, axis=0),
    ],
)
def test_one_argument_under_two_names_is_refused(call, x):
    """Neither name wins."""
    with pytest.raises(nbgrad.ArgumentError, match="two names of one argument. Hint"):
        call(x)


def test_positions_do_not_reach_the_other_names(x):
    """``axis`` has no position: a third positional argument of ``sum`` is an error."""
    with pytest.raises(TypeError):
        x.sum(0, True, 1)


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda x, y: nbgrad.sum(input=x, dim=0), ARRAY.sum(0)),
        (lambda x, y: nbgrad.exp(input=x), np.exp(ARRAY)),
        (lambda x, y: nbgrad.exp(x=x), np.exp(ARRAY)),
        (lambda x, y: nbgrad.mul(input=x, other=y), ARRAY * ARRAY),
        (lambda x, y: nbgrad.mm(input=x, mat2=y.t()), ARRAY @ ARRAY.T),
        (lambda x, y: nbgrad.matmul(input=x, other=y.t()), ARRAY @ ARRAY.T),
        (lambda x, y: nbgrad.mv(input=x, vec=y[0]), ARRAY @ ARRAY[0]),
        (lambda x, y: nbgrad.dot(input=x[0], tensor=y[0]), ARRAY[0] @ ARRAY[0]),
        (lambda x, y: nbgrad.permute(input=x, dims=(1, 0)), ARRAY.T),
        (lambda x, y: nbgrad.reshape(input=x, shape=(3, 2)), ARRAY.reshape(3, 2)),
        (lambda x, y: nbgrad.flip(x, dims=(0,)), ARRAY[::-1]),
        (lambda x, y: x.flip(dims=(0, 1)), ARRAY[::-1, ::-1]),
        (lambda x, y: x.repeat(repeats=(2, 1)), np.tile(ARRAY, (2, 1))),
        (lambda x, y: nbgrad.swapaxes(input=x, axis0=0, axis1=1), ARRAY.T),
        (lambda x, y: nbgrad.gather(input=x, dim=1, index=nbgrad.tensor([[0], [2]])), [[1.0], [-6.0]]),
        (lambda x, y: nbgrad.tensor_split(input=x, sections=2)[1], ARRAY[1:]),
        (lambda x, y: nbgrad.sum(input=ARRAY), ARRAY.sum()),
    ],
)
def test_names_of_torch(call, want, x):
    """Functions take operands and sizes by torch's names; arrays, too."""
    np.testing.assert_allclose(call(x, x).numpy(), want)


@pytest.mark.parametrize(
    "call", [lambda x: nbgrad.sum(x, axes=0), lambda x: nbgrad.mm(x, third=x), lambda x: nbgrad.cat([x], dims=0)]
)
def test_names_of_nobody_are_refused(call, x):
    """The error says what was expected."""
    with pytest.raises(nbgrad.ArgumentError, match="unexpected argument .*expected"):
        call(x)


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda x, **o: nbgrad.sum(x, 0, **o), (3,)),
        (lambda x, **o: nbgrad.mean(x, 1, **o), (2,)),
        (lambda x, **o: nbgrad.amax(x, 1, **o), (2,)),
        (lambda x, **o: nbgrad.var(x, 0, **o), (3,)),
        (lambda x, **o: nbgrad.cumsum(x, 1, **o), (2, 3)),
        (lambda x, **o: nbgrad.matmul(x, x.t(), **o), (2, 2)),
        (lambda x, **o: nbgrad.cat([x, x], **o), (4, 3)),
        (lambda x, **o: nbgrad.stack([x, x], **o), (2, 2, 3)),
        (lambda x, **o: nbgrad.outer(x[0], x[1], **o), (3, 3)),
        (lambda x, **o: nbgrad.logsumexp(x, 1, **o), (2,)),
    ],
)
def test_result_goes_into_out(call, shape, x):
    """``out`` is written and returned."""
    out = nbgrad.full(shape, -1.0, dtype=nbgrad.float64)
    version = out._version
    assert call(x, out=out) is out
    assert out._version > version
    np.testing.assert_array_equal(out.numpy(), call(x).numpy())


def test_several_results_go_into_a_tuple(x):
    """``sort`` writes values and indices, and gives both by name."""
    out = nbgrad.empty(2, 3, dtype=nbgrad.float64), nbgrad.empty(2, 3, dtype=nbgrad.int64)
    found = nbgrad.sort(x, out=out)
    assert found.values is out[0] and found.indices is out[1]
    np.testing.assert_array_equal(out[1].numpy(), np.argsort(ARRAY))


@pytest.mark.parametrize(
    "out, error, match",
    [
        (lambda: nbgrad.empty(2, dtype=nbgrad.float64), nbgrad.ShapeError, r"sum: the result has shape \[3\], out has \[2\]. Hint"),
        (
            lambda: nbgrad.empty(3, dtype=nbgrad.int64),
            nbgrad.DTypeError,
            "sum: the result is float64 and cannot be stored in out, int64",
        ),
        (lambda: np.empty(3), nbgrad.ArgumentError, "sum: out must be a Tensor"),
        (
            lambda: nbgrad.empty(3, dtype=nbgrad.float64, requires_grad=True),
            nbgrad.GradError,
            "sum: out= is not differentiable.*Hint",
        ),
    ],
)
def test_out_that_does_not_fit_is_refused(out, error, match, x):
    """It is never resized, converted to another kind of number, or written behind autograd's back."""
    with pytest.raises(error, match=match):
        nbgrad.sum(x, 0, out=out())


def test_operand_that_requires_grad_is_refused_with_out(x):
    """Unless recording is off."""
    x.requires_grad_()
    out = nbgrad.empty(3, dtype=nbgrad.float64)
    with pytest.raises(nbgrad.GradError, match="sum: out="):
        nbgrad.sum(x, 0, out=out)
    with nbgrad.no_grad():
        nbgrad.sum(x, 0, out=out)
    np.testing.assert_array_equal(out.numpy(), ARRAY.sum(0))


# ---- forms of torch --------------------------------------------------------------------------------------------------

MATRIX = [[1.0, 2.0], [3.0, 5.0]]


def matrix(**options):
    """A matrix."""
    return nbgrad.tensor(MATRIX, dtype=nbgrad.float64, **options)


def test_places_in_a_sequence_that_indices_sort():
    """``sorter`` names the elements in order, of each row its own; what is no order is refused."""
    rows = np.array([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
    order, values = np.argsort(rows, -1), np.array([[1.5, 3.5], [8.0, 7.5]])
    found = nbgrad.searchsorted(nbgrad.tensor(rows), nbgrad.tensor(values), right=True, sorter=nbgrad.tensor(order))
    assert found.tolist() == [np.searchsorted(r, v, "right", sorter=o).tolist() for r, v, o in zip(rows, values, order)]
    for sorter, error in (([1, 2], nbgrad.ShapeError), ([1.0, 2.0, 0.0], nbgrad.DTypeError), ([1, 2, 7], IndexError)):
        with pytest.raises(error):
            nbgrad.searchsorted(nbgrad.tensor([3.0, 1.0, 2.0]), 1.5, sorter=nbgrad.tensor(sorter))


@pytest.mark.parametrize(
    "call",
    [
        lambda s: nbgrad.searchsorted(s, 2.0, side="left", right=True),
        lambda s: nbgrad.searchsorted(s, 2.0, side="above"),
        lambda s: nbgrad.searchsorted(nbgrad.tensor(1.0), s),
        lambda s: nbgrad.bucketize(s, s[None]),
    ],
)
def test_sequences_and_sides_that_do_not_fit(call):
    """Errors of the house."""
    with pytest.raises(nbgrad.NbgradError):
        call(nbgrad.tensor([1.0, 2.0, 3.0]))


def test_places_of_numbers_into_out_and_among_nothing():
    """A number for the input; ``out``; rows without values."""
    edges = nbgrad.tensor([0.0, 1.0])
    assert nbgrad.bucketize(0.1, edges).item() == 1 == nbgrad.bucketize(np.float64(0.1), edges).item()
    out = nbgrad.empty(1, dtype=nbgrad.int64)
    assert nbgrad.bucketize(nbgrad.tensor([1.0]), edges, right=True, out=out) is out and out.tolist() == [2]
    assert nbgrad.searchsorted(edges, nbgrad.tensor([1.0]), out=out) is out and out.tolist() == [1]
    assert nbgrad.searchsorted(nbgrad.empty(0, 3), nbgrad.empty(0, 2)).shape == (0, 2)
    assert nbgrad.searchsorted(nbgrad.empty(2, 0), nbgrad.ones(2, 2)).tolist() == [[0, 0], [0, 0]]


def test_size_of_what_is_repeated():
    """``output_size`` is checked; repeats alone repeat their own positions."""
    x, counts = nbgrad.tensor([1, 2]), nbgrad.tensor([2, 1])
    assert nbgrad.repeat_interleave(x, counts, output_size=3).tolist() == [1, 1, 2]
    assert x.repeat_interleave(2, output_size=4).tolist() == [1, 1, 2, 2]
    assert nbgrad.repeat_interleave(nbgrad.tensor([2, 0, 1])).tolist() == [0, 0, 2]
    for wrong in (
        lambda: x.repeat_interleave(counts, output_size=4),
        lambda: x.repeat_interleave(2, output_size=5),
        lambda: nbgrad.repeat_interleave(counts[None]),
        lambda: x.repeat_interleave(2, 1),
    ):
        with pytest.raises(nbgrad.NbgradError):
            wrong()


def test_sum_of_singular_values_as_a_norm():
    """``norm("nuc")``, of two dimensions, with the gradient of the singular values' sum."""
    x = matrix(requires_grad=True)
    expected = np.linalg.norm(MATRIX, "nuc")
    for call in (lambda x: nbgrad.norm(x, p="nuc"), lambda x: x.norm("nuc"), lambda x: x.norm("nuc", (0, 1), keepdim=True)):
        np.testing.assert_allclose(call(x).detach().numpy(), np.full(call(x).shape, expected), rtol=1e-12)
    u, _, v = np.linalg.svd(MATRIX)
    np.testing.assert_allclose(nbgrad.grad(x.norm("nuc"), x)[0].numpy(), u @ v, rtol=1e-10)
    for wrong in (lambda: nbgrad.ones(2, 2, 2).norm("nuc"), lambda: nbgrad.ones(2).norm("nuc"), lambda: x.norm("p")):
        with pytest.raises(nbgrad.NbgradError):
            wrong()


def test_numbers_to_powers():
    """``float_power`` of a number; both may not be numbers."""
    exponent = nbgrad.tensor([1.0, 3.0], requires_grad=True)
    power = nbgrad.float_power(2, exponent)
    assert power.tolist() == [2.0, 8.0] and power.dtype is nbgrad.float64
    np.testing.assert_allclose(nbgrad.grad(power.sum(), exponent)[0].numpy(), np.log(2) * np.array([2.0, 8.0]), rtol=1e-6)
    with pytest.raises(nbgrad.ArgumentError, match="float_power"):
        nbgrad.float_power(2, 3)


@pytest.mark.parametrize(
    "name, sign", [("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"), ("multiply", "*"), ("true_divide", "/")]
)
@pytest.mark.parametrize("x, y", [(3, 4), (3.5, 2), (3, 0.25), (True, 2), (1j, 2), (np.float64(0.5), 2)])
def test_arithmetic_of_two_numbers(name, sign, x, y):
    """A 0-d tensor of the number, in the dtype that a tensor of it has."""
    if name == "sub" and x is True:
        return
    found, expected = getattr(nbgrad, name)(x, y), eval(f"x {sign} y")
    assert found.item() == pytest.approx(expected) and found.shape == ()
    assert (
        found.dtype
        is nbgrad.tensor(
            complex(expected) if isinstance(expected, complex) else float(expected) if isinstance(expected, float) else expected
        ).dtype
    )


def test_factors_of_sums_of_two_numbers():
    """``alpha`` multiplies the second."""
    assert nbgrad.add(3, 4, alpha=2).item() == 11 and nbgrad.sub(3.0, 4, alpha=0.5).item() == 1
    assert nbgrad.add(3, nbgrad.ones(2), alpha=2).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("name", ["maximum", "pow", "fmod", "atan2", "eq", "exp", "bitwise_and", "logaddexp"])
def test_other_functions_of_numbers_alone_are_refused(name):
    """The error says that a tensor was expected."""
    with pytest.raises(nbgrad.ArgumentError, match="expected a Tensor among"):
        getattr(nbgrad, name)(*(3,) * len(inspect.signature(getattr(nbgrad, name)).parameters))


def test_pieces_between_indices_in_a_tensor():
    """``tensor_split`` by a tensor: of 0 dimensions a number of pieces, else the indices."""
    x = nbgrad.arange(6)
    for cuts in ([2, 3], [2], [-2]):
        expected = [piece.tolist() for piece in np.split(np.arange(6), cuts)]
        assert [p.tolist() for p in nbgrad.tensor_split(x, nbgrad.tensor(cuts))] == expected
        assert [p.tolist() for p in x.tensor_split(tensor_indices_or_sections=nbgrad.tensor(cuts))] == expected
    assert [p.tolist() for p in nbgrad.tensor_split(x, nbgrad.tensor(2))] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.split(split_size=1),
        lambda x: x.split(split_size_or_sections=1),
        lambda x: x.hsplit(sections=2),
        lambda x: x.vsplit(indices=[1]),
        lambda x: x.tensor_split(sections=2, dim=1),
        lambda x: nbgrad.split(tensor=x, split_size_or_sections=1),
    ],
)
def test_names_of_pieces(call):
    """Methods take them under torch's names."""
    assert len(call(matrix())) == 2


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda x: x.mm(mat2=x), np.matmul(MATRIX, MATRIX)),
        (lambda x: nbgrad.mm(x, y=x), np.matmul(MATRIX, MATRIX)),
        (lambda x: x.matmul(other=x), np.matmul(MATRIX, MATRIX)),
        (lambda x: x.mv(vec=x[0]), np.matmul(MATRIX, MATRIX[0])),
        (lambda x: x[0].dot(tensor=x[1]), 13.0),
        (lambda x: x[None].bmm(mat2=x[None]), [np.matmul(MATRIX, MATRIX)]),
        (lambda x: x.clamp_min(min=2), np.maximum(MATRIX, 2)),
        (lambda x: x.clamp_max(max=2), np.minimum(MATRIX, 2)),
        (lambda x: x.heaviside(values=x), np.ones((2, 2))),
        (lambda x: x.clone().fill_(value=3), np.full((2, 2), 3.0)),
        (lambda x: nbgrad.fill(x, value=3), np.full((2, 2), 3.0)),
        (lambda x: x.clone().add_(other=x), 2 * np.array(MATRIX)),
        (lambda x: nbgrad.exp_(input=x.clone()), np.exp(MATRIX)),
        (lambda x: nbgrad.as_strided_(input=x.clone(), size=(2,), stride=(1,)), [1.0, 2.0]),
        (lambda x: nbgrad.zeros_like(input=x), np.zeros((2, 2))),
        (lambda x: nbgrad.full_like(input=x, fill_value=2), np.full((2, 2), 2.0)),
        (lambda x: x.view(size=(4,)), np.ravel(MATRIX)),
        (lambda x: x.view(dtype=nbgrad.int64), np.array(MATRIX).view(np.int64)),
        (lambda x: nbgrad.view_copy(x, dtype=nbgrad.int64), np.array(MATRIX).view(np.int64)),
        (lambda x: nbgrad.broadcast_to(input=x, size=(2, 2)), MATRIX),
        (lambda x: nbgrad.linalg.det(input=x), np.linalg.det(MATRIX)),
        (lambda x: nbgrad.cholesky_solve(x, input2=nbgrad.eye(2, dtype=nbgrad.float64)), MATRIX),
    ],
)
def test_operands_by_torchs_names(call, want):
    """Also of methods and in-place functions."""
    np.testing.assert_allclose(call(matrix()).numpy(), want, rtol=1e-12)


def test_names_of_graph_functions():
    """The functions of ``nbgrad.graph`` take their arguments by torch's names."""
    x = nbgrad.ones(2, requires_grad=True)
    assert nbgrad.graph.get_gradient_edge(tensor=x * 2).output_nr == 0
    nbgrad.graph.increment_version(tensor=x)
    assert x._version == 1
    with nbgrad.graph.disable_saved_tensors_hooks(error_message="not here"), pytest.raises(RuntimeError, match="not here"):
        nbgrad.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__()
    with nbgrad.autograd.enforce_grad_layout_policy(enable=False):
        row = nbgrad.tensor([[1.0, 3.0]])
        assert nbgrad.nn.functional.layer_norm(input=row, normalized_shape=(2,), eps=0.0).tolist() == [[-1.0, 1.0]]


FACTORIES = [
    (lambda **o: nbgrad.zeros(2, 2, **o), np.zeros((2, 2))),
    (lambda **o: nbgrad.ones((2, 2), **o), np.ones((2, 2))),
    (lambda **o: nbgrad.full((2, 2), 3, **o), np.full((2, 2), 3.0)),
    (lambda **o: nbgrad.eye(2, **o), np.eye(2)),
    (lambda **o: nbgrad.arange(4, **o), np.arange(4.0)),
    (lambda **o: nbgrad.linspace(0, 1, 3, **o), [0.0, 0.5, 1.0]),
    (lambda **o: nbgrad.logspace(0, 1, 2, **o), [1.0, 10.0]),
    (lambda **o: nbgrad.normal(2.0, 0.0, (2,), **o), [2.0, 2.0]),
    (lambda **o: nbgrad.bernoulli(nbgrad.tensor([0.0, 1.0], dtype=nbgrad.float64), **o), [0.0, 1.0]),
]


@pytest.mark.parametrize("make, want", FACTORIES)
def test_factories_into_out(make, want):
    """The result has the dtype of ``out``, and its memory."""
    out = nbgrad.full(np.shape(want), -1.0, dtype=nbgrad.float64)
    assert make(out=out) is out
    np.testing.assert_array_equal(out.numpy(), want)
    with pytest.raises(RuntimeError):
        make(out=nbgrad.empty(7, dtype=nbgrad.float64))


def test_random_numbers_into_out():
    """The numbers are those without ``out``."""
    for make in (
        lambda **o: nbgrad.rand(3, **o),
        lambda **o: nbgrad.randn(3, **o),
        lambda **o: nbgrad.randint(5, (3,), **o),
        lambda **o: nbgrad.randperm(3, **o),
        lambda **o: nbgrad.multinomial(nbgrad.ones(4), 3, **o),
    ):
        nbgrad.manual_seed(0)
        expected = make()
        nbgrad.manual_seed(0)
        out = nbgrad.zeros_like(expected)
        assert make(out=out) is out and out.tolist() == expected.tolist()
    assert nbgrad.randint(high=1, size=(2,)).tolist() == [0, 0] == nbgrad.randint_like(nbgrad.ones(2), high=1).tolist()
    with pytest.raises(nbgrad.DTypeError, match="dtype"):
        nbgrad.zeros(2, dtype=nbgrad.int64, out=nbgrad.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **o: nbgrad.polar(x, x, **o),
        lambda x, **o: F.gelu(x, **o),
        lambda x, **o: F.linear(x, x, **o),
        lambda x, **o: F.hardshrink(x, **o),
        lambda x, **o: F.softshrink(x, **o),
        lambda x, **o: F.normalize(x, **o),
        lambda x, **o: nbgrad.lu_unpack(*nbgrad.linalg.lu_factor(x), **o),
        lambda x, **o: nbgrad.std_mean(x, **o),
        lambda x, **o: nbgrad.histogram(x, 3, **o),
        lambda x, **o: nbgrad.chain_matmul(x, x, **o),
    ],
)
def test_more_results_into_out(call):
    """One tensor, or one for each result."""
    expected = call(matrix())
    several = isinstance(expected, tuple)
    out = tuple(nbgrad.empty_like(x) for x in expected) if several else nbgrad.empty_like(expected)
    found = call(matrix(), out=out)
    for a, b, c in zip(found, expected, out) if several else [(found, expected, out)]:
        assert a is c and a.tolist() == b.tolist()


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda x: nbgrad.nn.functional.hardtanh(x), [-1, 0, 1]),
        (lambda x: nbgrad.nn.functional.hardtanh(x, -1.5, 1.5), [-1, 0, 1]),
        (lambda x: nbgrad.nn.functional.relu6(x), [0, 0, 6]),
        (lambda x: nbgrad.nn.functional.relu6(x, True), [0, 0, 6]),
        (lambda x: nbgrad.nn.functional.threshold(x, 1.5, 5.5), [5, 5, 7]),
    ],
)
def test_activations_of_integers(call, want):
    """They stay integers, and settings are truncated; bools are refused."""
    out = call(nbgrad.tensor([-2, 0, 7]))
    assert out.tolist() == want and out.dtype is nbgrad.int64
    with pytest.raises(nbgrad.DTypeError):
        call(nbgrad.tensor([True]))


@pytest.mark.parametrize("dtype", [nbgrad.float16, nbgrad.bfloat16])
def test_norms_and_exponentials_of_half_types(dtype):
    """Computed in single precision and rounded once."""
    x, wide = matrix().to(dtype), matrix().to(nbgrad.float32)
    for call in (
        lambda x: nbgrad.linalg.matrix_norm(x),
        lambda x: nbgrad.linalg.matrix_norm(x, 1),
        lambda x: nbgrad.linalg.norm(x, -1),
        lambda x: nbgrad.linalg.matrix_exp(x / 8),
    ):
        assert call(x).tolist() == call(wide).to(dtype).tolist() and call(x).dtype is dtype


def test_smaller_forms():
    """Ranks by tolerances of their own, spacings that are None, shifts of all elements, padding by what was cut away."""
    x = matrix()
    pair = nbgrad.stack([x, x * 1e-3])
    assert nbgrad.linalg.matrix_rank(pair, atol=nbgrad.tensor([0.1, 0.01])).tolist() == [2, 0]
    assert nbgrad.linalg.matrix_rank(pair, rtol=nbgrad.tensor([0.1, 0.9])).tolist() == [1, 1]
    assert nbgrad.gradient(nbgrad.tensor([1.0, 4.0, 9.0]), spacing=None, dim=None)[0].tolist() == [3.0, 4.0, 5.0]
    assert nbgrad.roll(x, (1,), ()).tolist() == np.roll(MATRIX, 1).tolist() == nbgrad.roll(x, 1, ()).tolist()
    with pytest.raises(nbgrad.ShapeError, match="roll: 2 shifts"):
        nbgrad.roll(x, (1, 2))
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        assert nbgrad.cdist(x, x, 2.0, mode).tolist() == nbgrad.cdist(x, x).tolist()
    with pytest.raises(ValueError, match="compute_mode"):
        nbgrad.cdist(x, x, compute_mode="quickly")
    assert nbgrad.nn.functional.pad(nbgrad.tensor([[[1.0, 2.0, 3.0]]]), (-3, 2), mode="replicate").tolist() == [[[3.0, 3.0]]]
    assert nbgrad.logsumexp(nbgrad.empty(0, 2, dtype=nbgrad.complex64), 0).tolist() == [complex(-np.inf, 0)] * 2
    assert nbgrad.histogram(x)[0].shape == (100,)
    assert nbgrad.pinverse(nbgrad.tensor([[1.0, 0.0], [0.0, 1e-9]])).tolist()[1][1] == pytest.approx(1e9)
    assert nbgrad.from_dlpack(ext_tensor=np.ones(2), copy=True).tolist() == [1.0, 1.0]
    assert nbgrad.tril_indices(2, 2, dtype=nbgrad.int32, layout=None).dtype is nbgrad.int32


def test_sinc_of_complex_numbers_near_zero():
    """Its derivatives of both orders at 0 and near it are those of the real function."""
    for value in (0.0, 1e-4, 0.3):
        x = nbgrad.tensor(value, dtype=nbgrad.float64, requires_grad=True)
        z = nbgrad.tensor(complex(value), requires_grad=True, dtype=nbgrad.complex128)
        (due,) = nbgrad.grad(x.sinc(), x, create_graph=True)
        (found,) = nbgrad.grad(z.sinc().real, z, create_graph=True)
        assert found.real.item() == pytest.approx(due.item(), rel=1e-7, abs=1e-12)
        (second,) = nbgrad.grad(found.real, z)
        assert second.real.item() == pytest.approx(nbgrad.grad(due, x)[0].item(), rel=1e-7)


def test_factors_of_reversed_differences_do_not_decide_dtypes():
    """``alpha`` belongs to the difference: integers times a fraction do not become float32 beside half types."""
    out = nbgrad.rsub(nbgrad.tensor([3]), nbgrad.tensor([1.0], dtype=nbgrad.bfloat16), alpha=0.5)
    assert out.dtype is nbgrad.bfloat16 and out.tolist() == [-0.5]


@pytest.mark.parametrize(
    "dtype, x, exponent",
    [("float64", 1.0, 200), ("float64", 2.0**100, -1070), ("float32", 2.0**-20, 140), ("float16", 0.5, 16), ("bfloat16", 3.0, -5)],
)
def test_ldexp_by_integers_is_of_the_inputs_dtype(dtype, x, exponent):
    """The result is NumPy's where the power of 2 alone is out of range, and so is the gradient."""
    leaf = nbgrad.tensor([x], dtype=getattr(nbgrad, dtype), requires_grad=True)
    out = nbgrad.ldexp(leaf, nbgrad.tensor([exponent]))
    assert out.dtype is leaf.dtype and out.item() == np.ldexp(x, exponent)
    assert nbgrad.grad(out.sum(), leaf)[0].dtype is leaf.dtype


AXES = [
    (name, row.calls[0])
    for name, row in SAMPLES.items()
    if row.through is None and row.op.function and row.op.method and "dim" in row.op.signature.parameters and not row.op.variadic
]


@pytest.mark.parametrize("name, call", AXES, ids=[name for name, _ in AXES])
def test_dim_is_called_axis_too(name, call):
    """By function and method of every operation that has a dim, whatever makes its calls; and one of the two names is enough."""
    row = SAMPLES[name]
    first, *rest = [to_tensor(x) for x in row.arrays(call, "int64" if "float64" in row.unlike else "float64")]
    names = list(row.op.signature.parameters)
    given = {**dict(zip(names[1:], rest)), **call.attributes}
    default = row.op.signature.parameters["dim"].default
    dim = given.pop("dim", default)
    dim = -1 if dim is None or dim is row.op.signature.empty else dim
    for function in (partial(getattr(nbgrad, name), first), getattr(first, name)):
        got, expected = (
            made if isinstance(made, tuple) else (made,) for made in (function(**given, axis=dim), function(**given, dim=dim))
        )
        for each, own in zip(got, expected, strict=True):
            np.testing.assert_array_equal(each.numpy(), own.numpy())
        if dim != default:
            with pytest.raises(TypeError, match="axis|dim"):
                function(**given, dim=dim, axis=dim)


# Calls with factors in front of what they multiply, of matrices of ones, twos and threes and a vector of ones, and torch's answers.
FACTORS_FIRST = {
    "add": (lambda x, y, z, v: (x.add(2, y), nbgrad.add(x, 2, y), x.clone().add_(nbgrad.tensor(2.0), y)), 5.0),
    "add, out": (lambda x, y, z, v: (nbgrad.add(x, 2, y, out=nbgrad.empty(2, 2)),), 5.0),
    "sub": (lambda x, y, z, v: (x.sub(2, y), nbgrad.subtract(x, 2, y), x.clone().sub_(2, y)), -3.0),
    "addcmul": (lambda x, y, z, v: (x.addcmul(2, y, z), nbgrad.addcmul(x, 2, y, z), x.clone().addcmul_(2, y, z)), 13.0),
    "addcdiv": (lambda x, y, z, v: (x.addcdiv(3, y, z), nbgrad.addcdiv(x, 3, y, z), x.clone().addcdiv_(3, y, z)), 3.0),
    "addmm": (lambda x, y, z, v: (x.addmm(2, 3, y, z), nbgrad.addmm(2, x, 3, y, z), x.clone().addmm_(2, 3, y, z)), 38.0),
    "addmm, beta": (lambda x, y, z, v: (x.addmm(2, y, z), nbgrad.addmm(2, x, y, z), x.clone().addmm_(2, y, z)), 14.0),
    "addmv": (lambda x, y, z, v: (v.addmv(2, 3, y, v), nbgrad.addmv(2, v, 3, y, v)), 14.0),
    "addr": (lambda x, y, z, v: (x.addr(2, v, v), nbgrad.addr(2, x, v, v)), 3.0),
    "addbmm": (lambda x, y, z, v: (x.addbmm(2, 3, y[None], z[None]), nbgrad.addbmm(2, x, 3, y[None], z[None])), 38.0),
    "baddbmm": (lambda x, y, z, v: (x[None].baddbmm(2, y[None], z[None]), nbgrad.baddbmm(2, x[None], y[None], z[None])), 14.0),
}


@pytest.mark.parametrize("name", FACTORS_FIRST)
def test_factors_in_front_of_what_they_multiply(name):
    """The signatures of torch's oldest programs are taken by functions, methods and in-place methods, with a warning."""
    call, expected = FACTORS_FIRST[name]
    with pytest.warns(UserWarning, match="deprecated. Hint: .*= behind the tensors"):
        results = call(*(nbgrad.full((2, 2), float(n)) for n in (1, 2, 3)), nbgrad.ones(2))
    assert [set(result.flatten().tolist()) for result in results] == [{expected}] * len(results)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nbgrad.add(x, x, 2),
        lambda x: x.add(2, 3, x),
        lambda x: x.add(2, x, alpha=3),
        lambda x: x.addcmul(x, x, 2),
        lambda x: nbgrad.addmm(x, x, x, 2),
        lambda x: nbgrad.addmm(2, x, x, x, alpha=3),
        lambda x: nbgrad.addmm(2, x, 3, 4, x, x),
    ],
)
def test_factors_elsewhere_are_refused(call):
    """What torch never took, and a factor that is given twice, is an error."""
    with pytest.raises(nbgrad.ArgumentError, match="positional arguments"):
        call(nbgrad.ones(2, 2))
