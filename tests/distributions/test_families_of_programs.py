"""Families and transforms that programs write: derived from those that are there, with torch's helpers for it."""

from __future__ import annotations

import copy
import inspect

import pytest

import nbgrad
from nbgrad import distributions as D
from nbgrad.distributions import transforms, utils


class OfShapes(D.MultivariateNormal):
    """A family that passes by the constructor of the one that it is derived from, and gives shapes alone."""

    def __init__(self, loc, matrix):
        self.loc, self.matrix = loc, matrix
        super(D.MultivariateNormal, self).__init__(matrix.shape[:-2], loc.shape[-1:], validate_args=False)


@pytest.mark.parametrize("family", [D.Normal, D.Bernoulli, D.Categorical, D.MultivariateNormal, D.Gamma, D.Wishart], ids=repr)
def test_what_is_above_a_family_takes_shapes(family):
    """``super(Family, self).__init__`` is that of ``Distribution``."""
    made = family.__new__(family)
    super(family, made).__init__((2, 3), (4,), validate_args=False)
    assert made.batch_shape == (2, 3) and made.event_shape == (4,)


def test_a_family_that_gives_shapes():
    """A subclass with a matrix of its own."""
    d = OfShapes(nbgrad.zeros(2), nbgrad.eye(2).expand(3, 2, 2))
    assert d.batch_shape == (3,) and d.event_shape == (2,)
    with pytest.raises(NotImplementedError, match="OfShapes.expand: the class has an __init__ of its own.*MultivariateNormal"):
        d.expand((5, 3))


def test_signatures_are_those_of_constructors():
    """A class that is derived shows its own arguments, and a family those that it declares."""
    assert list(inspect.signature(OfShapes).parameters) == ["loc", "matrix"]
    assert list(inspect.signature(D.Normal).parameters) == ["loc", "scale", "validate_args"]
    assert D.Normal.__init__.__qualname__ == "Normal.__init__"
    with pytest.raises(nbgrad.ArgumentError, match="Normal: missing a required argument: 'scale', expected loc, scale"):
        D.Normal(0.0)


class Mixin:
    """What a program adds to families."""

    made = 0

    def __init__(self, *args, **options):
        self.made += 1
        super().__init__(*args, **options)


@pytest.mark.parametrize(
    "base, arguments",
    [
        (D.Normal, (0.0, 1.0)),
        (D.LogNormal, (0.0, 1.0)),
        (D.Independent, (D.Normal(nbgrad.zeros(2), 1.0), 1)),
        (D.MixtureSameFamily, (D.Categorical(nbgrad.ones(2)), D.Normal(nbgrad.zeros(2), 1.0))),
        (D.RelaxedBernoulli, (nbgrad.tensor(1.0), nbgrad.tensor(0.5))),
        (D.TransformedDistribution, (D.Normal(0.0, 1.0), [])),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_expanded_distributions_keep_their_class(base, arguments):
    """``expand`` gives an object of the subclass; with a constructor of its own a class must say itself how, or give the object."""
    plain = type("Plain", (base,), {})(*arguments)
    assert type(plain.expand((3,))) is type(plain) and plain.expand((3,)).batch_shape == (3,)
    mixed = type("Mixed", (Mixin, base), {})(*arguments)
    assert mixed.made == 1
    with pytest.raises(NotImplementedError, match="Mixed.expand: the class has an __init__ of its own"):
        mixed.expand((3,))
    given = object.__new__(type(mixed))
    assert mixed.expand((3,), given) is given and given.batch_shape == (3,) and given.event_shape == mixed.event_shape
    value = nbgrad.full(given.batch_shape + given.event_shape, 0.5)
    assert given.log_prob(value).tolist() == [plain.log_prob(value[0]).item()] * 3


class Scaled(transforms.Transform):
    """A transform of a program's own."""

    domain = codomain = D.constraints.real
    bijective = True

    def __init__(self, factor):
        super().__init__()
        self.factor = factor


def test_transforms_are_equal_where_they_are_the_same_function():
    """Those without parameters by their class, others by their parameters; of a program's own, each equals itself alone."""
    exp, tanh = transforms.ExpTransform(), transforms.TanhTransform()
    assert exp == transforms.ExpTransform() != tanh
    assert transforms.CorrCholeskyTransform() == transforms.CorrCholeskyTransform()
    assert transforms.CatTransform([exp, tanh]) == transforms.CatTransform([exp, tanh]) != transforms.CatTransform([tanh, exp])
    assert transforms.CatTransform([exp, tanh], lengths=[1, 2]) != transforms.CatTransform([exp, tanh], lengths=[2, 1])
    assert transforms.StackTransform([exp], 0) != transforms.StackTransform([exp], 1)
    assert transforms.ReshapeTransform((4,), (2, 2)) != transforms.ReshapeTransform((4,), (4, 1))
    by_normal, by_other = (transforms.CumulativeDistributionTransform(D.Normal(loc, 1.0)) for loc in (0.0, 1.0))
    assert by_normal == by_normal != by_other
    assert Scaled(2.0) != Scaled(3.0)
    mine = Scaled(2.0)
    assert mine == mine and mine.inv == mine.inv


def test_divergences_of_other_transforms_are_refused():
    """Two transformed distributions have a divergence only where the transforms are equal."""
    p, q = (D.TransformedDistribution(D.Normal(0.0, 1.0), [Scaled(factor)]) for factor in (2.0, 3.0))
    with pytest.raises(NotImplementedError):
        D.kl_divergence(p, q)
    assert D.kl_divergence(p, copy.copy(p)).item() == 0


def test_parts_of_transforms():
    """What transforms are made of has torch's names."""
    exp, tanh = transforms.ExpTransform(cache_size=1), transforms.TanhTransform()
    assert transforms.ComposeTransform([exp, tanh]).parts == [exp, tanh]
    joined = transforms.CatTransform([exp, tanh], lengths=(2, 3))
    assert joined.lengths == [2, 3] and joined.length == 5
    assert isinstance(exp.inv, transforms._InverseTransform)
    x = nbgrad.zeros(2)
    y = exp(x)
    assert exp._cached_x_y[0] is x and exp._cached_x_y[1] is y


def test_divergences_of_mixins():
    """``register_kl`` takes any class, as a mixin that is no distribution, and nothing else."""
    with pytest.raises(nbgrad.ArgumentError, match="register_kl: expected types of distributions, got 3"):
        D.register_kl(3, D.Normal)
    mixed = type("MixedNormal", (D.Normal, Mixin), {})
    D.register_kl(Mixin, Mixin)(lambda p, q: 7.0)
    assert D.kl_divergence(mixed(0.0, 1.0), mixed(0.0, 1.0)) == 0.0  # Normal's formula is nearer


@pytest.mark.parametrize("count, diag, rows", [(3, 0, [[1, 0], [2, 3]]), (1, -1, [[0, 0], [1, 0]]), (4, 1, [[1, 2], [3, 4]])])
def test_lower_triangles_as_vectors(count, diag, rows):
    """Vectors fill matrices row by row, up to a diagonal, and come out of them."""
    vec = nbgrad.arange(1.0, count + 1, requires_grad=True)
    mat = utils.vec_to_tril_matrix(vec, diag)
    assert mat.tolist() == rows
    found = utils.tril_matrix_to_vec(mat, diag)
    assert found.tolist() == vec.tolist()
    found.sum().backward()
    assert vec.grad.tolist() == [1.0] * count
    assert utils.vec_to_tril_matrix(vec.expand(2, count), diag).tolist() == [rows, rows]


def test_vectors_that_are_no_lower_triangle():
    """The number of elements, and the diagonal, must fit."""
    with pytest.raises(ValueError, match="vec_to_tril_matrix: got 4 elements, which fill no square matrix up to diagonal 0"):
        utils.vec_to_tril_matrix(nbgrad.ones(4))
    with pytest.raises(ValueError, match="tril_matrix_to_vec: diag is 2, expected from -2 to 1"):
        utils.tril_matrix_to_vec(nbgrad.eye(2), 2)


def test_names_that_families_are_written_with():
    """Helpers under torch's private names."""
    from nbgrad.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, _precision_to_scale_tril

    factor = nbgrad.tensor([[2.0, 0.0], [1.0, 1.0]])
    assert _batch_mv(factor, nbgrad.ones(3, 2)).tolist() == [[2.0, 2.0]] * 3
    assert _batch_mahalanobis(factor, nbgrad.tensor([2.0, 2.0])).item() == 2.0
    assert nbgrad.allclose(_precision_to_scale_tril((factor @ factor.mT).inverse()), factor, atol=1e-5)
    assert utils._sum_rightmost(nbgrad.ones(2, 3), 1).tolist() == [3.0, 3.0]
    assert utils._standard_normal((2, 3), nbgrad.float64, "cpu").dtype is nbgrad.float64
    a = nbgrad.tensor([0.5, 5.0], requires_grad=True)
    nbgrad._standard_gamma(a).sum().backward()
    assert (a.grad > 0).all()
    with pytest.raises(nbgrad.DTypeError, match="_standard_gamma: concentration must be floating"):
        nbgrad._standard_gamma(nbgrad.tensor([2]))
