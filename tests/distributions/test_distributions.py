"""Distributions against SciPy's, against integrals, and against what their gradients must be."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, special, stats

import nbgrad
from nbgrad import distributions as D
from nbgrad.distributions import constraints, transforms
from nbgrad.distributions.sampling import log_gamma_slope

F64 = nbgrad.float64


def f64(*values) -> list[nbgrad.Tensor]:
    """Parameters."""
    return [nbgrad.tensor(value, dtype=F64) for value in values]


def alike(x, expected, rtol=1e-7, atol=1e-9) -> None:
    """Compare a tensor with numbers."""
    np.testing.assert_allclose(np.asarray(nbgrad.as_tensor(x).detach()), expected, rtol=rtol, atol=atol)


# A distribution, and SciPy's of the same parameters.
TRIANGLE = np.array([[1.2, 0.0], [0.3, 0.8]])
FAMILIES = {
    "Normal": (D.Normal(*f64(1.0, 2.0)), stats.norm(1, 2)),
    "Laplace": (D.Laplace(*f64(1.0, 2.0)), stats.laplace(1, 2)),
    "Cauchy": (D.Cauchy(*f64(1.0, 2.0)), stats.cauchy(1, 2)),
    "Gumbel": (D.Gumbel(*f64(1.0, 2.0)), stats.gumbel_r(1, 2)),
    "Uniform": (D.Uniform(*f64(1.0, 3.0)), stats.uniform(1, 2)),
    "Exponential": (D.Exponential(*f64(2.0)), stats.expon(scale=0.5)),
    "Gamma": (D.Gamma(*f64(1.5, 2.0)), stats.gamma(1.5, scale=0.5)),
    "Gamma below 1": (D.Gamma(*f64(0.3, 2.0)), stats.gamma(0.3, scale=0.5)),
    "Chi2": (D.Chi2(*f64(3.0)), stats.chi2(3)),
    "InverseGamma": (D.InverseGamma(*f64(3.0, 2.0)), stats.invgamma(3, scale=2)),
    "Beta": (D.Beta(*f64(2.0, 0.7)), stats.beta(2, 0.7)),
    "StudentT": (D.StudentT(*f64(5.0, 1.0, 2.0)), stats.t(5, 1, 2)),
    "FisherSnedecor": (D.FisherSnedecor(*f64(3.0, 7.0)), stats.f(3, 7)),
    "VonMises": (D.VonMises(*f64(0.0, 2.0)), stats.vonmises(2)),
    "LogNormal": (D.LogNormal(*f64(0.5, 0.7)), stats.lognorm(0.7, scale=math.exp(0.5))),
    "HalfNormal": (D.HalfNormal(*f64(2.0)), stats.halfnorm(scale=2)),
    "HalfCauchy": (D.HalfCauchy(*f64(2.0)), stats.halfcauchy(scale=2)),
    "Pareto": (D.Pareto(*f64(2.0, 3.0)), stats.pareto(3, scale=2)),
    "GeneralizedPareto": (D.GeneralizedPareto(*f64(1.0, 2.0, 0.2)), stats.genpareto(0.2, 1, 2)),
    "Weibull": (D.Weibull(*f64(2.0, 1.5)), stats.weibull_min(1.5, scale=2)),
    "Bernoulli": (D.Bernoulli(*f64(0.3)), stats.bernoulli(0.3)),
    "Geometric": (D.Geometric(*f64(0.3)), stats.geom(0.3, -1)),
    "Binomial": (D.Binomial(5, *f64(0.3)), stats.binom(5, 0.3)),
    "NegativeBinomial": (D.NegativeBinomial(*f64(3.5, 0.4)), stats.nbinom(3.5, 0.6)),
    "Poisson": (D.Poisson(*f64(3.5)), stats.poisson(3.5)),
    "Poisson of a large rate": (D.Poisson(*f64(350.0)), stats.poisson(350)),
    "Dirichlet": (D.Dirichlet(*f64([0.6, 1.5, 2.0])), stats.dirichlet([0.6, 1.5, 2.0])),
    "Multinomial": (D.Multinomial(5, *f64([0.2, 0.3, 0.5])), stats.multinomial(5, [0.2, 0.3, 0.5])),
    "MultivariateNormal": (
        D.MultivariateNormal(*f64([1.0, 2.0]), scale_tril=nbgrad.tensor(TRIANGLE)),
        stats.multivariate_normal([1, 2], TRIANGLE @ TRIANGLE.T),
    ),
    "LowRankMultivariateNormal": (
        D.LowRankMultivariateNormal(*f64([1.0, 2.0], [[1.0], [0.5]], [1.0, 0.3])),
        stats.multivariate_normal([1, 2], [[2.0, 0.5], [0.5, 0.55]]),
    ),
    "Wishart": (D.Wishart(*f64(4.5), scale_tril=nbgrad.tensor(TRIANGLE)), stats.wishart(4.5, TRIANGLE @ TRIANGLE.T)),
}
OF_VECTORS = ("Dirichlet", "Multinomial", "MultivariateNormal", "LowRankMultivariateNormal", "Wishart")


# Kernels of these are many, or take long to compile.
LONG = ("VonMises", "Poisson of a large rate", "GeneralizedPareto", "FisherSnedecor", "InverseGamma", "NegativeBinomial")


def named(names) -> list:
    """Names of families; some are for long runs alone."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in names]


@pytest.mark.parametrize("name", named(FAMILIES))
def test_families_are_scipys(name):
    """Density, moments, entropy, distribution function and its inverse, of one event and of many."""
    d, known = FAMILIES[name]
    discrete = hasattr(known, "pmf")
    density = known.logpmf if discrete else known.logpdf
    if name in OF_VECTORS:
        x = np.moveaxis(known.rvs(6, random_state=1), 0, -1 if name in ("Dirichlet", "Wishart") else 0)
        events = nbgrad.tensor(np.moveaxis(x, -1, 0).copy() if name in ("Dirichlet", "Wishart") else x.copy(), dtype=F64)
        alike(d.log_prob(events), density(x))
        alike(d.mean, known.mean() if callable(known.mean) else known.mean)
        if hasattr(known, "var"):
            alike(d.variance, known.var())
        alike(d.entropy(), known.entropy())
        return
    x = known.rvs(8, random_state=1).astype(np.float64)
    alike(d.log_prob(nbgrad.tensor(x)), density(x))
    assert d.expand((2, 8)).log_prob(nbgrad.tensor(x)).shape == (2, 8)
    with np.errstate(all="ignore"):
        expected = {"mean": known.mean(), "variance": known.var(), "entropy": known.entropy()}
    if name == "VonMises":  # SciPy's are those of a line, and the entropy has no form here
        expected = {"variance": 1 - special.iv(1, 2) / special.iv(0, 2)}
    for what, value in expected.items():
        try:
            found = getattr(d, what)
            alike(found() if callable(found) else found, value if np.isfinite(value) else found, rtol=1e-6)
        except NotImplementedError:
            assert (discrete or name == "FisherSnedecor") and what == "entropy"
    for what, of, values in (("cdf", known.cdf, x), ("icdf", known.ppf, np.array([0.1, 0.5, 0.9]))):
        try:
            found = getattr(d, what)(nbgrad.tensor(values))
        except NotImplementedError:
            continue
        alike(found, of(values))


@pytest.mark.parametrize("name", named(name for name in FAMILIES if name not in OF_VECTORS))
def test_samples_are_distributed_like_that(name):
    """Kolmogorov and Smirnov's distance of 4,000 samples, or of counts; they lie in the support."""
    d, known = FAMILIES[name]
    nbgrad.manual_seed(0)
    x = d.sample((4000,))
    assert x.shape == (4000,) and x.dtype is F64 and bool(d.support.check(x).all())
    values = np.sort(np.asarray(x))
    if hasattr(known, "pmf"):
        counts = np.unique(values)
        distance = max(abs((values <= k).mean() - known.cdf(k)) for k in counts)
    else:
        distance = stats.kstest(values, known.cdf).statistic
    assert distance < 1.63 / math.sqrt(4000)  # the level of 1 %, of a seed that was not chosen


def test_samples_of_vectors():
    """Means and covariances of 4,000 samples, within five standard errors."""
    nbgrad.manual_seed(0)
    for name in OF_VECTORS:
        d = FAMILIES[name][0]
        x = d.sample((4000,))
        assert x.shape == (4000, *d.event_shape) and bool(d.support.check(x).all())
        error = np.asarray((x.mean(0) - d.mean).abs() / (d.variance / 4000).sqrt())
        assert error.max() < 5, (name, error)
    for name in ("MultivariateNormal", "LowRankMultivariateNormal"):
        d = FAMILIES[name][0]
        alike(np.cov(np.asarray(d.sample((20000,))).T), np.asarray(d.covariance_matrix), rtol=0.1, atol=0.05)
    factors = D.LKJCholesky(3, nbgrad.tensor(1.5, dtype=F64)).sample((2000,))
    assert bool(constraints.corr_cholesky.check(factors).all())
    correlations = np.asarray(factors @ factors.mT)[:, 2, 0]
    assert abs(correlations.var() - 1 / (2 * (1.5 + 0.5) + 1)) < 0.02  # (r + 1) / 2 is Beta(c + 1/2, c + 1/2)


def test_choices():
    """One of several: numbers and vectors, by weights or logarithms; relaxed ones have a density that integrates to 1."""
    weights = nbgrad.tensor([[1.0, 3.0, 0.0], [2.0, 1.0, 1.0]], dtype=F64)
    for d in (D.Categorical(weights), D.Categorical(logits=weights.log() + 5)):
        alike(d.probs, [[0.25, 0.75, 0], [0.5, 0.25, 0.25]])
        alike(d.log_prob(nbgrad.tensor([1, 0])), np.log([0.75, 0.5]))
        alike(d.entropy(), [stats.entropy([1, 3]), stats.entropy([2, 1, 1])])
        assert d.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]] and d.mode.tolist() == [1, 0]
        assert d.sample((5,)).shape == (5, 2) and not (d.sample((200,))[:, 0] == 2).any()
    one_hot = D.OneHotCategorical(weights)
    assert one_hot.sample((4,)).sum(-1).tolist() == [[1, 1]] * 4 and one_hot.enumerate_support().shape == (3, 2, 3)
    alike(one_hot.log_prob(nbgrad.eye(3, dtype=F64)[1]), np.log([0.75, 0.25]))
    logits = nbgrad.zeros(3, dtype=F64, requires_grad=True)
    through = D.OneHotCategoricalStraightThrough(logits=logits).rsample()
    through[0].backward()
    alike(logits.grad, [2 / 9, -1 / 9, -1 / 9])
    relaxed = D.RelaxedBernoulli(*f64(0.7, 0.3))
    alike(integrate.quad(lambda x: relaxed.log_prob(nbgrad.tensor(x, dtype=F64)).exp().item(), 0, 1, points=[0.1, 0.9])[0], 1, 1e-4)
    simplex = D.RelaxedOneHotCategorical(nbgrad.tensor(0.7, dtype=F64), probs=weights[1])
    assert simplex.rsample((3,)).sum(-1).sub(1).abs().max() < 1e-12 and simplex.support is constraints.simplex
    assert D.Bernoulli(logits=nbgrad.zeros(2)).sample((3,)).shape == (3, 2)


PAIRS = [
    *((name, name) for name in ("Normal", "Laplace", "Cauchy", "Gumbel", "Exponential", "Gamma", "Beta", "InverseGamma", "Pareto")),
    *(("Normal", q) for q in ("Laplace", "Gumbel")),
    *(("Exponential", q) for q in ("Normal", "Gamma", "Gumbel")),
    *(("Gamma", q) for q in ("Normal", "Exponential", "Gumbel")),
    *(("Beta", q) for q in ("Exponential", "Gamma")),
    *(("Uniform", q) for q in ("Gamma", "Gumbel", "Pareto")),
    ("Laplace", "Normal"),
    ("LogNormal", "LogNormal"),
]


@pytest.mark.parametrize("p, q", PAIRS)
def test_divergences_are_integrals(p, q):
    """The integral of p(x) log(p(x) / q(x)), by SciPy's densities."""
    (first, known), (other, of_q) = FAMILIES[p], FAMILIES[q]
    if p == q:  # a distribution with parameters of its own
        values = [0.8 * nbgrad.as_tensor(getattr(first, name)) for name in first.parameters]
        other = type(first)(*values)
        log_q = lambda x: other.log_prob(nbgrad.tensor(x, dtype=F64)).item()
    elif q == "Pareto":
        other = D.Pareto(*f64(0.5, 3.0))
        log_q = stats.pareto(3, scale=0.5).logpdf
    else:
        log_q = of_q.logpdf
    tail = 1e-4 if p == "Cauchy" else 1e-9
    low, high = known.ppf(tail), known.ppf(1 - tail)
    middle = [*known.ppf([0.01, 0.25, 0.5, 0.75, 0.99])]
    pieces = zip([low, *middle], [*middle, high])
    expected = sum(integrate.quad(lambda x: known.pdf(x) * (known.logpdf(x) - log_q(x)), *piece)[0] for piece in pieces)
    alike(D.kl_divergence(first, other), expected, rtol=5e-3 if p == "Cauchy" else 1e-4)


def test_other_divergences():
    """Choices and counts by sums, vectors by formulas, joined distributions; where p has events that q lacks it is infinite."""
    p, q = D.Categorical(*f64([0.2, 0.8])), D.Categorical(*f64([0.5, 0.5]))
    alike(D.kl_divergence(p, q), stats.entropy([0.2, 0.8], [0.5, 0.5]))
    alike(D.kl_divergence(D.Bernoulli(*f64(0.8)), D.Bernoulli(*f64(0.5))), stats.entropy([0.2, 0.8], [0.5, 0.5]))
    counts = np.arange(200)
    for first, other, known, of_q in (
        (D.Poisson(*f64(3.0)), D.Poisson(*f64(4.0)), stats.poisson(3), stats.poisson(4)),
        (D.Geometric(*f64(0.3)), D.Geometric(*f64(0.5)), stats.geom(0.3, -1), stats.geom(0.5, -1)),
    ):
        parts = special.xlogy(known.pmf(counts), known.pmf(counts)) - known.pmf(counts) * of_q.logpmf(counts)
        alike(D.kl_divergence(first, other), parts.sum())
    a, b = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.5, -0.2], [-0.2, 0.7]])
    expected = 0.5 * (np.trace(np.linalg.solve(b, a)) + np.ones(2) @ np.linalg.solve(b, np.ones(2)) - 2)
    expected += 0.5 * np.log(np.linalg.det(b) / np.linalg.det(a))
    zero, one = f64([0.0, 0.0], [1.0, 1.0])
    alike(D.kl_divergence(D.MultivariateNormal(zero, nbgrad.tensor(a)), D.MultivariateNormal(one, nbgrad.tensor(b))), expected)
    inverse = D.MultivariateNormal(one, precision_matrix=nbgrad.tensor(np.linalg.inv(b)))
    alike(D.kl_divergence(D.MultivariateNormal(zero, nbgrad.tensor(a)), inverse), expected)
    several = D.Wishart(*f64([5.0, 3.5]), nbgrad.tensor(np.stack([a, b])))
    alike(D.kl_divergence(several, D.Wishart(*f64(3.5), nbgrad.tensor(b))), [2.0884526807312933, 0.0], atol=1e-12)
    joined = D.Independent(D.Normal(zero, one), 1), D.Independent(D.Normal(one, one), 1)
    alike(D.kl_divergence(*joined), 1.0)
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Exponential(1.0)).item() == math.inf
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Beta(1.0, 1.0)).item() == math.inf
    never = D.kl_divergence(D.Poisson(*f64([1.0, 2.0])), D.Bernoulli(*f64(0.5)))
    assert never.tolist() == [math.inf] * 2 and never.dtype is F64
    halves = [D.HalfNormal(*f64(2.0)), D.HalfNormal(*f64(3.0))]
    alike(D.kl_divergence(*halves), math.log(3 / 2) + 4 / 18 - 0.5)
    alike(D.kl_divergence(D.Uniform(*f64(0.2, 0.6)), D.Beta(*f64(1.0, 1.0))), math.log(2.5))
    with pytest.raises(nbgrad.NotSupportedError, match="no formula for Normal and Poisson. Hint: register_kl"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))


@pytest.mark.parametrize("rate", [0.0, 1e-8, 0.3, 3.0, 9.5, 40.0, 1e6])
def test_counts_are_quantiles(rate):
    """A count of the Poisson distribution is the quantile of the uniform number that it is drawn by."""
    nbgrad.manual_seed(1)
    found = nbgrad.poisson(nbgrad.full((500,), rate, dtype=F64))
    nbgrad.manual_seed(1)
    uniform = nbgrad.rand(500, dtype=F64).numpy()
    np.testing.assert_array_equal(found.numpy(), stats.poisson(rate).ppf(uniform) if rate else np.zeros(500))


def test_gradients_of_gamma_samples():
    """The derivative by the concentration is that of the inverse distribution function, from tail to tail."""
    a, p = (grid.ravel() for grid in np.meshgrid([0.01, 0.1, 0.5, 1, 3, 10, 100, 1000], [0.01, 0.3, 0.7, 0.999]))
    x = special.gammaincinv(a, p)
    kept = x > 1e-200
    a, p, x, h = a[kept], p[kept], x[kept], a[kept] * 1e-5
    expected = (np.log(special.gammaincinv(a + h, p)) - np.log(special.gammaincinv(a - h, p))) / (2 * h)
    slope = log_gamma_slope(nbgrad.tensor(a), nbgrad.tensor(np.log(x)))
    alike(slope, expected, rtol=1e-7)


def test_samples_are_differentiable():
    """Gradients of means over samples are those of the mean; forward mode and a second derivative agree with differences."""
    c = nbgrad.tensor([0.5, 3.0], dtype=F64, requires_grad=True)
    one = nbgrad.ones(2, dtype=F64)
    families = [lambda c: D.Normal(c, c), lambda c: D.Gamma(c, one), lambda c: D.Beta(c, one), lambda c: D.Dirichlet(c)]
    for make in [*families, lambda c: D.Exponential(c), lambda c: D.Laplace(c, c), lambda c: D.Weibull(c, one + 1)]:
        nbgrad.manual_seed(0)
        weights = nbgrad.tensor([1.0, 2.0], dtype=F64)
        (found,) = nbgrad.grad((make(c).rsample((20000,)).mean(0) * weights).sum(), c)
        (expected,) = nbgrad.grad((make(c).mean * weights).sum(), c)
        alike(found, np.asarray(expected), rtol=0.05, atol=0.02)

    def sample(c):
        nbgrad.manual_seed(1)
        return D.Gamma(c, one).rsample().log().sum()

    value, slope = nbgrad.func.jvp(sample, (c.detach(),), (one,))
    (by_backward,) = nbgrad.grad(sample(c), c, create_graph=True)
    alike(slope, by_backward.sum().item())
    (second,) = nbgrad.grad(by_backward.sum(), c)
    h = 1e-4
    slopes = [nbgrad.func.grad(sample)(c.detach() + sign * h) for sign in (1, -1)]
    # The sample moves with the concentration: its part of the second derivative is the slope's by the sample.
    assert bool(second.isfinite().all()) and bool((slopes[0] - slopes[1]).isfinite().all())


def test_compiled_and_mapped():
    """A graph holds distributions, with draws; a batch that is hidden gives each element its own."""
    c, v = nbgrad.tensor([0.5, 3.0], dtype=F64, requires_grad=True), nbgrad.tensor([1.0, 2.0], dtype=F64)

    def loss(c, v):
        prior = D.Independent(D.Normal(c, c.exp()), 1)
        return prior.log_prob(v) + D.Gamma(c, c).rsample().sum() + D.kl_divergence(prior, prior).sum()

    results = []
    for function in (loss, nbgrad.compile(loss)):
        nbgrad.manual_seed(3)
        found = function(c, v)
        results.append([found.item(), *nbgrad.grad(found, c)[0].tolist()])
    alike(results[1], results[0])
    alike(nbgrad.vmap(lambda c, v: D.Normal(c, c).log_prob(v))(c, v), np.asarray(D.Normal(c, c).log_prob(v).detach()))
    drawn = nbgrad.vmap(lambda c: D.Gamma(c, c).rsample((3,)), randomness="different")(c)
    assert drawn.shape == (2, 3) and len(set(drawn.flatten().tolist())) == 6
    assert nbgrad.vmap(lambda c: D.Categorical(logits=c).sample(), randomness="different")(nbgrad.zeros(4, 3)).shape == (4,)


@pytest.mark.parametrize("dtype", [pytest.param(nbgrad.bfloat16, marks=pytest.mark.slow), nbgrad.float32])
def test_dtypes_and_empty_batches(dtype):
    """Samples and densities have the parameters' dtype; a batch of nothing is one."""
    c = nbgrad.tensor([0.5, 2.0], dtype=dtype)
    for d in (D.Normal(c, c), D.Gamma(c, 1.0), D.Bernoulli(c / 4), D.Dirichlet(c), D.Poisson(c)):
        x = d.sample((3,))
        assert x.dtype is d.log_prob(x).dtype is dtype and bool(x.isfinite().all())
    none = nbgrad.zeros(0, dtype=dtype)
    for d in (D.Normal(none, none), D.Gamma(none, none), D.Bernoulli(none), D.Uniform(none, none)):
        assert d.sample((2,)).shape == (2, 0) and d.log_prob(none).shape == (0,)
    assert D.Categorical(nbgrad.ones(0, 3)).sample((2,)).shape == (2, 0)


TRANSFORMS = [
    (transforms.ExpTransform(), [0.5]),
    (transforms.SigmoidTransform(), [0.5]),
    (transforms.TanhTransform(), [0.5]),
    (transforms.SoftplusTransform(), [0.5]),
    (transforms.AffineTransform(1.0, -2.0), [0.5]),
    (transforms.PowerTransform(nbgrad.tensor(3.0, dtype=F64)), [0.5]),
    (transforms.StickBreakingTransform(), [0.5, -1.0, 0.3]),
    (transforms.CorrCholeskyTransform(), [0.5, -0.3, 0.2]),
    (transforms.ComposeTransform([transforms.AffineTransform(0.0, 2.0), transforms.ExpTransform()]), [0.5]),
    (transforms.ReshapeTransform((2,), (2, 1)), [0.5, 1.5]),
    (transforms.StackTransform([transforms.ExpTransform(), transforms.TanhTransform()], -1), [0.5, 0.3]),
]


@pytest.mark.parametrize("transform, x", TRANSFORMS, ids=lambda value: type(value).__name__)
def test_transforms(transform, x):
    """The inverse leads back, the codomain has the values, and the Jacobian's determinant is what the transform says."""
    x = nbgrad.tensor(x, dtype=F64)
    y = transform(x)
    alike(transform.inv(y), np.asarray(x))
    assert bool(transform.codomain.check(y).all()) and transform.inv.inv is transform
    assert tuple(transform.forward_shape(x.shape)) == tuple(y.shape) and tuple(transform.inverse_shape(y.shape)) == tuple(x.shape)
    jacobian = np.asarray(nbgrad.func.jacrev(transform)(x)).reshape(-1, x.numel())
    if isinstance(transform, transforms.CorrCholeskyTransform):
        jacobian = jacobian[[3, 6, 7]]  # what is below the diagonal
    elif isinstance(transform, transforms.StickBreakingTransform):
        jacobian = jacobian[:-1]
    total = transform.log_abs_det_jacobian(x, y).sum()
    alike(total, np.linalg.slogdet(jacobian)[1])
    alike(transform.inv.log_abs_det_jacobian(y, x).sum(), -total.item())


@pytest.mark.parametrize(
    "constraint",
    [
        constraints.positive,
        constraints.unit_interval,
        constraints.interval(-1.0, 2.0),
        constraints.greater_than(1.0),
        constraints.less_than(1.0),
        constraints.simplex,
        constraints.lower_cholesky,
        constraints.positive_definite,
        constraints.real_vector,
    ],
)
def test_transforms_to_constraints(constraint):
    """``biject_to`` and ``transform_to`` lead from reals to the region."""
    x = nbgrad.tensor([[0.3, -1.0], [2.0, 0.4]], dtype=F64)
    for registry in (D.biject_to, D.transform_to):
        assert bool(constraint.check(registry(constraint)(x)).all())
    with pytest.raises(nbgrad.NotSupportedError, match="no transform leads to Boolean"):
        D.biject_to(constraints.boolean)


def test_constraints_are_classes():
    """Constraints print as torch's, are found by their class, and matrices that are none of a kind are told apart, not refused."""
    assert repr(constraints.positive) == "GreaterThan(lower_bound=0.0)" and repr(constraints.simplex) == "Simplex()"
    assert isinstance(constraints.positive, constraints.greater_than) and not isinstance(constraints.real, constraints.interval)
    assert repr(D.Uniform(0.0, 2.0).arg_constraints["low"]) == "LessThan(upper_bound=2.0)"
    matrices = nbgrad.tensor(
        [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.5, 1.0]], [[math.nan, 0.0], [0.0, 1.0]]]
    )
    assert not constraints.positive_definite.check(nbgrad.full((2, 2), math.inf))
    assert constraints.positive_definite.check(matrices).tolist() == [True, False, False, False]
    assert not constraints.positive_definite.check(nbgrad.ones(2, 3)) and constraints.symmetric.check(matrices).tolist()[1]
    parts = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
    alike(D.biject_to(parts)(nbgrad.zeros(3)), [1, 0, 0])
    alike(
        D.transform_to(constraints.stack([constraints.simplex, constraints.real_vector]))(nbgrad.zeros(2, 2)), [[0.5, 0.5], [0, 0]]
    )


def test_joined_distributions():
    """Mixtures, transformed distributions and independent ones: densities, moments, shapes, expansion."""
    weights, means = f64([0.25, 0.75], [-1.0, 2.0])
    mixture = D.MixtureSameFamily(D.Categorical(weights), D.Normal(means, nbgrad.ones(2, dtype=F64)))
    x = nbgrad.tensor([0.0, 1.0], dtype=F64)
    alike(mixture.log_prob(x).exp(), 0.25 * stats.norm(-1).pdf(x) + 0.75 * stats.norm(2).pdf(x))
    alike(mixture.cdf(x), 0.25 * stats.norm(-1).cdf(x) + 0.75 * stats.norm(2).cdf(x))
    alike(mixture.mean, 1.25)
    alike(mixture.variance, 1 + 0.25 * 2.25**2 + 0.75 * 0.75**2)
    nbgrad.manual_seed(0)
    assert mixture.sample((3,)).shape == (3,) and abs(mixture.sample((4000,)).mean().item() - 1.25) < 0.15
    assert mixture.expand((5,)).sample().shape == (5,) and mixture.expand((5,))._validate_args
    shared = D.MixtureSameFamily(D.Categorical(weights), D.Normal(nbgrad.stack([means, means + 9]), 1.0))
    assert shared.sample((3,)).shape == (3, 2) and shared.batch_shape == (2,)
    cached = transforms.ComposeTransform([transforms.TanhTransform(), transforms.ExpTransform()]).with_cache(1)
    assert cached.inv(cached(x)) is x
    flow = [transforms.TanhTransform(cache_size=1), transforms.AffineTransform(1.0, 2.0)]
    squashed = D.TransformedDistribution(D.Normal(*f64([0.0, 1.0], [1.0, 1.0])), flow)
    y = squashed.rsample((3,))
    z = np.arctanh((np.asarray(y) - 1) / 2)
    alike(squashed.log_prob(y), stats.norm([0, 1]).logpdf(z) - np.log(2 * (1 - np.tanh(z) ** 2)), rtol=1e-5)
    alike(squashed.cdf(squashed.icdf(nbgrad.tensor(0.3, dtype=F64))), [0.3, 0.3])
    sticks = D.TransformedDistribution(D.Normal(*f64([0.0, 0.0], [1.0, 1.0])), transforms.StickBreakingTransform())
    assert sticks.event_shape == (3,) and sticks.batch_shape == () and sticks.log_prob(sticks.sample((4,))).shape == (4,)
    assert D.Independent(squashed, 1).log_prob(y).shape == (3,)
    normal = D.MultivariateNormal(*f64([0.0, 0.0]), nbgrad.eye(2, dtype=F64)).expand((3,))
    assert (
        normal.batch_shape == (3,)
        and normal.sample((2,)).shape == (2, 3, 2)
        and repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    )


REFUSED = [
    (
        lambda: D.Normal(0.0, -1.0),
        "RangeError",
        r"Normal: the parameter scale, of shape \[\], is -1.0, expected values in GreaterThan\(lower_bound=0.0\)",
    ),
    (lambda: D.Normal(0.0, nbgrad.tensor([1.0, math.nan])), "RangeError", r"is nan at \[1\]"),
    (lambda: D.Bernoulli(0.5, 0.5), "RangeError", "expected one of probs and logits, got both or none"),
    (lambda: D.Normal(0.0), "ArgumentError", "missing a required argument: 'scale'"),
    (lambda: D.Normal("a", 1.0), "RangeError", "loc is a str, expected a number or a tensor"),
    (lambda: D.Normal(nbgrad.zeros(2), nbgrad.ones(3)), "ShapeError", r"do not broadcast: loc \[2\], scale \[3\]"),
    (lambda: D.Exponential(1.0).log_prob(nbgrad.tensor(-1.0)), "RangeError", "expected values in GreaterThanEq"),
    (lambda: D.Normal(nbgrad.zeros(2), 1.0).log_prob(nbgrad.zeros(3)), "ShapeError", "does not broadcast"),
    (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "RangeError", "expected a tensor"),
    (lambda: D.Normal(None, 1.0), "RangeError", "loc is a NoneType, expected a number or a tensor"),
    (lambda: D.Categorical(nbgrad.zeros(2)), "RangeError", r"the sum of probs, of shape \[1\], is 0.0 at \[0\]"),
    (lambda: D.Categorical(logits=nbgrad.tensor([math.inf, 0.0])), "RangeError", "logsumexp of logits"),
    (lambda: D.Geometric(0.0), "RangeError", "Geometric: the parameter probs, of shape"),
    (lambda: D.HalfNormal(1.0).cdf(nbgrad.tensor(-1.0)), "RangeError", "HalfNormal: the value"),
    (
        lambda: D.MixtureSameFamily(D.Categorical(nbgrad.ones(2, 5)), D.Normal(nbgrad.zeros(3, 5), 1.0)),
        "ShapeError",
        r"weights of batch shape \[2\], and components of batch shape \[3, 5\]",
    ),
    (lambda: D.StickBreakingTransform().forward_shape(()), "ShapeError", "expected at least 1"),
    (lambda: D.ReshapeTransform((3,), (3, 1)).forward_shape((2,)), "ShapeError", r"events of shape \[2\], expected \[3\]"),
    (lambda: constraints.real_vector.check(nbgrad.tensor(0.5)), "ShapeError", "expected at least 1 dimensions"),
    (lambda: constraints.stack([constraints.real]).check(nbgrad.zeros(2)), "ShapeError", "expected 1 slices"),
    (lambda: D.biject_to.register(3, abs), "ArgumentError", "expected a Constraint"),
    (lambda: D.Poisson(1.0).rsample(), "NotSupportedError", "Hint: sample"),
    (lambda: D.Poisson(1.0).entropy(), "NotSupportedError", "no closed form"),
    (lambda: D.Uniform(2.0, 1.0), "RangeError", "high - low"),
    (lambda: D.MultivariateNormal(nbgrad.zeros(2)), "RangeError", "expected one of scale_tril"),
    (lambda: D.MultivariateNormal(nbgrad.zeros(2), nbgrad.eye(3)), "ShapeError", r"loc has 2 elements, the matrix shape \[3, 3\]"),
    (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "ShapeError", "has 0 to give"),
    (lambda: D.Pareto("a", 1.0), "RangeError", "Pareto: scale is a str, expected a number or a tensor"),
    (lambda: D.Multinomial(2.5, nbgrad.ones(2)), "NotSupportedError", "total_count is a float, expected an int"),
    (lambda: D.ExpTransform(2), "RangeError", "ExpTransform: cache_size is 2, expected 0 or 1"),
    (lambda: D.LKJCholesky(1), "RangeError", "dim is 1, expected an int of at least 2"),
    (lambda: D.LogitRelaxedBernoulli(), "ArgumentError", "argument: 'temperature', expected temperature, probs, logits"),
    (lambda: D.Pareto(1.0, 2.0).expand((3,)).log_prob(nbgrad.tensor(0.5)), "RangeError", r"is 0.5 at \[0\], expected values in"),
    (lambda: D.Uniform(nbgrad.zeros(3), 1.0).log_prob(nbgrad.tensor(2.0)), "RangeError", r"of shape \[\], is 2.0 at \[0\]"),
    (lambda: D.Categorical(nbgrad.tensor(1.0)), "ShapeError", "at least 1 dimensions"),
]


@pytest.mark.parametrize("call, kind, said", REFUSED)
def test_bad_input(call, kind, said):
    """What came and what was expected; ``validate_args=False`` does not look at values."""
    with pytest.raises(getattr(nbgrad, kind), match=said):
        call()
    assert D.Normal(0.0, -1.0, validate_args=False).log_prob(nbgrad.tensor(0.0)).isnan()


class Waiting(D.ExponentialFamily):
    """A gamma distribution by its normalizer."""

    arg_constraints: dict = {}
    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.a - 1, -d.rate))

    def __init__(self, a, rate):
        self.a, self.rate = a, rate
        super().__init__(a.shape)

    def _log_normalizer(self, x, y):
        return nbgrad.lgamma(x + 1) + (x + 1) * (-y.reciprocal()).log()


def test_entropies_follow_from_normalizers():
    """An exponential family of a program's own has the entropy of the family that has a formula; families are instances."""
    a, rate = f64([1.5, 2.0], [1.0, 3.0])
    alike(Waiting(a, rate).entropy(), D.Gamma(a, rate).entropy())
    assert isinstance(D.Normal(0.0, 1.0), D.ExponentialFamily) and not isinstance(D.Cauchy(0.0, 1.0), D.ExponentialFamily)


class Half(D.Distribution):
    """A distribution of a program's own."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.positive

    def __init__(self, scale):
        self.scale = scale
        super().__init__(scale.shape)

    def rsample(self, sample_shape=()):
        return nbgrad.rand(self._extended_shape(sample_shape)) * self.scale


def test_distributions_of_a_program():
    """A class of one's own has checks, samples and shapes; families may be derived from, and say what they are made of."""
    d = Half(nbgrad.tensor([1.0, 2.0]))
    assert d.sample((3,)).shape == (3, 2) and d.batch_shape == (2,) and "Half(scale: " in repr(d)
    with pytest.raises(nbgrad.RangeError, match="Half: the parameter scale"):
        Half(nbgrad.tensor([-1.0]))

    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    assert Shifted(nbgrad.tensor(2.0)).log_prob(nbgrad.tensor(2.0)).item() == pytest.approx(-0.9189385)
    assert str(inspect.signature(D.Normal)) == "(loc, scale, validate_args=None)"
    assert str(inspect.signature(D.Multinomial)) == "(total_count=1, probs=None, logits=None, validate_args=None)"
    assert str(inspect.signature(D.ContinuousBernoulli)) == "(probs=None, logits=None, lims=(0.499, 0.501), validate_args=None)"


def test_an_import_loads_no_distributions():
    """They are imported when they are first asked for."""
    code = "import sys, nbgrad; assert 'nbgrad.distributions' not in sys.modules; nbgrad.distributions.Normal"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
