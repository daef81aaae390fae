"""Random numbers: the generator's published vectors, independence of threads and strides, moments, distributions,
rules.
"""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import nbgrad
from nbgrad.kernels.templates.philox import philox, scaled

N = 40_000


@pytest.fixture
def generator():
    """A generator with a fixed seed: what is tested is certain."""
    return nbgrad.Generator().manual_seed(2024)


@pytest.fixture(autouse=True)
def seeded():
    """The default generator starts from the same seed in every test, and is restored."""
    with nbgrad.fork_rng():
        nbgrad.manual_seed(7)
        yield


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    """Pearson's statistic in standard deviations of a chi-square distribution from its mean."""
    freedom = counts.size - 1
    return (((counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom)


# ---- the generator ---------------------------------------------------------------------------------------------------
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
VECTORS = [
    ((0,) * 6, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (PI, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@pytest.mark.parametrize("words, expected", VECTORS, ids=["zeros", "ones", "pi"])
def test_philox_known_answers(words, expected):
    """The scalar function gives the vectors that its authors published (Random123, philox4x32-10)."""
    low, high, key = (words[k] | words[k + 1] << 32 for k in (0, 2, 4))
    assert philox(low, high, key) == expected


@pytest.mark.parametrize("seed, call", [(0, 0), (2**64 - 1, 5), (0x299F31D0A4093822, 3)])
def test_compiled_kernel_draws_what_the_scalar_function_says(seed, call):
    """Uniform float32 and float64 numbers are the upper bits of the words of block after block."""
    generator = nbgrad.Generator().manual_seed(seed)
    for _ in range(call):
        nbgrad.rand(1, generator=generator)
    singles = nbgrad.rand(11, generator=generator).numpy()
    words = [w for block in range(3) for w in philox(block, call, seed)]
    np.testing.assert_array_equal(singles, np.array([(w >> 8) * 2.0**-24 for w in words[:11]], np.float32))
    doubles = nbgrad.rand(5, generator=generator, dtype=nbgrad.float64).numpy()
    words = [w for block in range(3) for w in philox(block, call + 1, seed)]
    expected = [((words[k] >> 5 << 26) | words[k + 1] >> 6) * 2.0**-53 for k in range(0, 10, 2)]
    np.testing.assert_array_equal(doubles, expected)


@pytest.mark.parametrize("n", [1, 2, 7, 10**6, 2**32, 2**32 + 5, 2**40 + 3, 2**63 + 11, 2**64 - 1])
def test_scaled_words_against_big_integers(n):
    """The upper half of a 64 x 64 bit product, from 32-bit pieces, is Python's."""
    for r, s in [(0, 0), (2**32 - 1, 2**32 - 1), (0x12345678, 0x9ABCDEF0), (1, 0), (0, 2**32 - 1)]:
        assert scaled(r, s, n) == ((r << 32 | s) * n) >> 64
    assert scaled(3, 4, 0) == 3 << 32 | 4


@pytest.mark.parametrize("draw", [nbgrad.rand, nbgrad.randn], ids=["rand", "randn"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_numbers_do_not_depend_on_threads(draw, name):
    """One thread and four draw the same bits."""
    before, results = nbgrad.get_num_threads(), []
    try:
        for threads in (1, 4):
            nbgrad.set_num_threads(threads)
            generator = nbgrad.Generator().manual_seed(1)
            results.append(draw(200_003, generator=generator, dtype=getattr(nbgrad, name)).numpy())
    finally:
        nbgrad.set_num_threads(before)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("draw", [nbgrad.rand, nbgrad.randn], ids=["rand", "randn"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_longer_call_begins_with_a_shorter_one(draw, name):
    """The k-th number depends on seed, call and k alone: any length has the same beginning."""
    whole = draw(23, generator=nbgrad.Generator().manual_seed(3), dtype=getattr(nbgrad, name)).tolist()
    for n in range(23):
        assert draw(n, generator=nbgrad.Generator().manual_seed(3), dtype=getattr(nbgrad, name)).tolist() == whole[:n]


def test_numbers_do_not_depend_on_strides():
    """A transposed tensor gets the numbers that a contiguous one of its shape gets."""
    nbgrad.manual_seed(5)
    expected = nbgrad.rand(3, 4).tolist()
    nbgrad.manual_seed(5)
    assert nbgrad.rand_like(nbgrad.ones(4, 3).t()).tolist() == expected
    nbgrad.manual_seed(5)
    x = nbgrad.ones(4, 3).t()
    assert x.uniform_().tolist() == expected and x.stride() == (1, 3)


def test_state_of_a_generator(generator):
    """State, copy, pickle and deep copy continue with the same numbers; another seed does not."""
    nbgrad.rand(3, generator=generator)
    state = generator.get_state()
    copies = [generator.clone_state(), pickle.loads(pickle.dumps(generator)), copy.deepcopy(generator)]
    expected = nbgrad.rand(3, generator=generator).tolist()
    assert all(nbgrad.rand(3, generator=each).tolist() == expected for each in copies)
    assert nbgrad.rand(3, generator=generator.set_state(state)).tolist() == expected
    assert nbgrad.rand(3, generator=generator.manual_seed(1)).tolist() != expected


def test_default_generator_has_state():
    """``fork_rng`` leaves no trace; the state functions are those of the default generator."""
    state = nbgrad.get_rng_state()
    with nbgrad.fork_rng():
        inside = nbgrad.rand(2).tolist()
        nbgrad.manual_seed(99)
    assert nbgrad.initial_seed() == 7 and nbgrad.rand(2).tolist() == inside
    nbgrad.set_rng_state(state)
    assert nbgrad.rand(2).tolist() == inside


def test_seeds():
    """Seeds are 64 bits, negative ones count down; ``seed`` draws a new one."""
    generator = nbgrad.Generator()
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    assert generator.seed() != generator.seed() and generator.initial_seed() >= 0
    for wrong, error in ((2**64, ValueError), (-(2**63) - 1, ValueError), (1.5, TypeError), ("a", TypeError)):
        with pytest.raises(error):
            generator.manual_seed(wrong)
    with pytest.raises(TypeError):
        generator.set_state(nbgrad.zeros(3))


# ---- distributions ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_moments_and_range(generator, name):
    """Mean 1/2 and variance 1/12 within four standard errors, in [0, 1) also where few bits are left."""
    t = nbgrad.rand(N, generator=generator, dtype=getattr(nbgrad, name)).double().numpy()
    assert 0 <= t.min() and t.max() < 1
    bias = {"float16": 2.0**-12, "bfloat16": 2.0**-9}.get(name, 0.0)  # truncated to 11 or 8 bits
    assert abs(t.mean() + bias - 0.5) < 4 * math.sqrt(1 / 12 / N) and abs(t.var() - 1 / 12) < 4 * math.sqrt(1 / 180 / N)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_uniform_chi_square(generator, name):
    """A hundred bins are equally full."""
    counts = np.histogram(nbgrad.rand(N, generator=generator, dtype=getattr(nbgrad, name)).numpy(), 100, (0, 1))[0]
    assert abs(chi_square(counts, np.full(100, N / 100))) < 4


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_normal_moments(generator, name):
    """The first four moments of the normal distribution, within four standard errors."""
    t = nbgrad.randn(N, generator=generator, dtype=getattr(nbgrad, name)).double().numpy()
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((t**power).mean() - moment) < 4 * math.sqrt(variance / N), power


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_normal_chi_square(generator, name):
    """Bins of the normal distribution are as full as its distribution function says."""
    edges = np.linspace(-3, 3, 41)
    cumulative = np.array([0.0, *(0.5 * (1 + math.erf(e / math.sqrt(2))) for e in edges), 1.0])
    values = nbgrad.randn(N, generator=generator, dtype=getattr(nbgrad, name)).numpy()
    counts = np.histogram(values, [-np.inf, *edges, np.inf])[0]
    assert abs(chi_square(counts, N * np.diff(cumulative))) < 4


def test_neighbours_are_uncorrelated(generator):
    """Numbers of one block, of one Box-Muller pair and of successive calls are independent."""
    first, second = (nbgrad.randn(N, generator=generator).numpy() for _ in range(2))
    for x, y in ((first[::2], first[1::2]), (first[:-1], first[1:]), (first[:-4], first[4:]), (first, second)):
        assert abs((x * y).mean()) < 4 / math.sqrt(x.size)
        assert abs((x * x * y * y).mean() - 1) < 4 * math.sqrt(8 / x.size)


@pytest.mark.parametrize(
    "low, high, name", [(0, 10, "int64"), (-3, 4, "int8"), (0, 256, "uint8"), (5, 6, "int32"), (0, 7, "float32")]
)
def test_integers_are_uniform(generator, low, high, name):
    """Every integer of the range comes equally often, and no other."""
    t = nbgrad.randint(low, high, (N,), generator=generator, dtype=getattr(nbgrad, name))
    counts = np.bincount(t.long().numpy() - low, minlength=high - low)
    assert t.dtype is getattr(nbgrad, name) and counts.size == high - low
    assert high - low == 1 or abs(chi_square(counts, np.full(high - low, N / (high - low)))) < 4


@pytest.mark.parametrize("low, high", [(-(2**63), 2**63), (0, 2**63), (-(2**62), 2**62 + 1), (2**62, 2**62 + 2**40)], ids=str)
def test_integers_of_large_ranges(generator, low, high):
    """Ranges beyond 32 bits are filled: the mean is in the middle, the ends are kept."""
    values = nbgrad.randint(low, high, (N,), generator=generator).tolist()
    width = high - low
    assert low <= min(values) and max(values) < high and max(values) - min(values) > 0.99 * width
    assert abs(sum(values) / N - (low + high) / 2) < 4 * width / math.sqrt(12 * N)


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_permutation_has_every_number_once(generator, n):
    """``randperm`` is a permutation."""
    assert sorted(nbgrad.randperm(n, generator=generator).tolist()) == list(range(n))


def test_permutations_are_equally_likely(generator):
    """All orders of three come equally often."""
    orders = [tuple(nbgrad.randperm(3, generator=generator).tolist()) for _ in range(3000)]
    counts = np.array([orders.count(order) for order in set(orders)])
    assert counts.size == 6 and abs(chi_square(counts, np.full(6, 500))) < 4


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_bernoulli_frequency(generator, p, name):
    """The share of ones is the probability, given as a number or as a tensor."""
    x = nbgrad.full((N,), p, dtype=getattr(nbgrad, name))
    p = x[0].item()
    for t in (nbgrad.bernoulli(x, generator=generator), nbgrad.empty_like(x).bernoulli_(p, generator=generator)):
        values = t.double().numpy()
        assert set(values.tolist()) <= {0.0, 1.0} and abs(values.mean() - p) <= 4 * math.sqrt(p * (1 - p) / N)


def test_bernoulli_of_each_probability(generator):
    """Each element has the probability at its own place, also through strides."""
    p = nbgrad.tensor([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]).t()
    assert nbgrad.bernoulli(p, generator=generator).tolist() == p.tolist()


def test_exponential_moments(generator):
    """Mean 1 / rate and variance 1 / rate**2."""
    t = nbgrad.empty(N, dtype=nbgrad.float64).exponential_(2.0, generator=generator).numpy()
    assert t.min() > 0 and abs(t.mean() - 0.5) < 4 * 0.5 / math.sqrt(N)
    assert abs(t.var() - 0.25) < 4 * 0.25 * math.sqrt(8 / N)


# For each draw, functions of its numbers whose mean is known, and that mean.
MEANS = {
    "cauchy": (lambda g: nbgrad.empty(N).cauchy_(2.0, 3.0, generator=g), {"below": (lambda t: t < -1.0, 0.25)}),
    "log normal": (lambda g: nbgrad.empty(N).log_normal_(1.0, 0.5, generator=g), {"log": (nbgrad.log, 1.0)}),
    "geometric": (
        lambda g: nbgrad.empty(N, dtype=nbgrad.int64).geometric_(0.25, generator=g),
        {"mean": (lambda t: t, 4.0), "first": (lambda t: t == 1, 0.25), "second": (lambda t: t == 2, 0.1875)},
    ),
    "poisson": (
        lambda g: nbgrad.poisson(nbgrad.full((N,), 2.5), generator=g),
        {"mean": (lambda t: t, 2.5), "none": (lambda t: t == 0, math.exp(-2.5))},
    ),
    "binomial": (
        lambda g: nbgrad.binomial(nbgrad.full((N,), 4.0), nbgrad.tensor(0.25), generator=g),
        {"mean": (lambda t: t, 1.0), "all": (lambda t: t == 4, 0.25**4)},
    ),
}


@pytest.mark.parametrize("name", MEANS)
def test_means_of_transformed_draws(name, generator):
    """Each has the mean of its distribution, within four standard errors, and the same numbers from the same seed."""
    draw, known = MEANS[name]
    state = generator.get_state()
    t = draw(generator)
    for what, (f, mean) in known.items():
        seen = f(t).double().numpy()
        assert abs(seen.mean() - mean) < 4 * seen.std() / math.sqrt(N), what
    generator.set_state(state)
    assert nbgrad.equal(draw(generator), t)


def test_uniform_between_bounds(generator):
    """``uniform_`` fills [low, high), the upper bound excluded even where rounding would reach it."""
    t = nbgrad.empty(N).uniform_(16777216.0, 16777218.0, generator=generator).numpy()
    assert set(t.tolist()) == {16777216.0} and set(nbgrad.empty(9).uniform_(3, 3).tolist()) == {3.0}
    t = nbgrad.empty(N).uniform_(-2, 6, generator=generator).numpy()
    assert -2 <= t.min() and t.max() < 6 and abs(t.mean() - 2) < 4 * 8 / math.sqrt(12 * N)


@pytest.mark.parametrize(
    "mean, std", [(3.0, 0.5), (nbgrad.tensor([3.0, -1.0]), nbgrad.tensor([[0.5], [2.0]]))], ids=["numbers", "tensors"]
)
def test_normal_with_parameters(generator, mean, std):
    """Mean and deviation are numbers or tensors that broadcast."""
    size = (N,) if isinstance(mean, float) else None
    draws = [nbgrad.normal(mean, std, size, generator=generator).numpy() for _ in range(1 if size else 2000)]
    values = np.stack(draws).reshape(N, -1) if size else np.stack(draws)
    count = values.shape[0]
    std = np.asarray(std)
    assert (np.abs(values.mean(0) - np.asarray(mean)) < 4 * std / math.sqrt(count)).all()
    assert (np.abs(values.std(0) - std) < 4 * std / math.sqrt(2 * count)).all()


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_normal_has_unit_variance(generator, name):
    """Real and imaginary part share the variance and are uncorrelated."""
    z = nbgrad.randn(N, generator=generator, dtype=getattr(nbgrad, name)).numpy()
    assert abs((abs(z) ** 2).mean() - 1) < 4 / math.sqrt(N) and abs((z.real * z.imag).mean()) < 4 * 0.5 / math.sqrt(N)


def test_multinomial_follows_the_weights(generator):
    """With replacement, indices come in proportion to their weights, and never those of weight 0."""
    weights = np.array([[1.0, 0.0, 3.0, 6.0], [0.0, 1.0, 1.0, 0.0]])
    found = nbgrad.multinomial(nbgrad.tensor(weights), N, True, generator=generator).numpy()
    for row, w in zip(found, weights):
        counts = np.bincount(row, minlength=4)
        assert counts[w == 0].sum() == 0
        assert abs(chi_square(counts[w > 0], N * w[w > 0] / w.sum())) < 4


def test_multinomial_without_replacement(generator):
    """Without replacement no index comes twice, and the first follows the weights."""
    weights = nbgrad.tensor([1.0, 2.0, 5.0]).expand(4000, 3)
    found = nbgrad.multinomial(weights, 3, generator=generator).numpy()
    assert (np.sort(found, 1) == [0, 1, 2]).all()
    assert abs(chi_square(np.bincount(found[:, 0]), 4000 * np.array([1, 2, 5]) / 8)) < 4


# ---- dropout ---------------------------------------------------------------------------------------------------------
def test_dropout_scales_and_drops(generator):
    """Elements are dropped with probability p, the others divided by 1 - p, and gradients alike."""
    x = nbgrad.ones(N, requires_grad=True)
    y = nbgrad.dropout(x, 0.25)
    y.backward(nbgrad.ones(N))
    values = y.detach().numpy()
    assert set(values.tolist()) == {0.0, float(np.float32(1 / 0.75))} and x.grad.tolist() == values.tolist()
    assert abs((values == 0).mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / N)


def test_dropout_that_drops_nothing_or_all():
    """Nothing is done unless training; p = 1 drops everything."""
    x = nbgrad.ones(3)
    assert nbgrad.dropout(x, 0.5, False) is x is nbgrad.dropout(x, 0.0) and nbgrad.dropout(x, 1.0).tolist() == [0.0] * 3


# ---- in-place rules, errors ------------------------------------------------------------------------------------------
FILLS = {"uniform_": (), "normal_": (), "bernoulli_": (0.5,), "exponential_": (), "random_": (5,)}
FILLS |= {"cauchy_": (), "geometric_": (0.5,), "log_normal_": ()}


@pytest.mark.parametrize("name", FILLS)
def test_random_fill_is_an_inplace_write(name):
    """The version moves; leaves that require grad, read-only and expanded memory refuse; views are written through."""
    x = nbgrad.zeros(2, 3)
    assert getattr(x.t()[1:], name)(*FILLS[name]).shape == (2, 2) and x._version == 1 and x[:, 0].tolist() == [0.0, 0.0]
    array = np.zeros(3)
    array.flags.writeable = False
    for refused in (nbgrad.zeros(2, requires_grad=True), nbgrad.from_numpy(array), nbgrad.zeros(1).expand(3)):
        before = refused.tolist()
        with pytest.raises(RuntimeError):
            getattr(refused, name)(*FILLS[name])
        assert refused.tolist() == before


def test_random_fill_cuts_the_gradient():
    """What was overwritten has no influence: its gradient is 0."""
    x = nbgrad.ones(3, requires_grad=True)
    h = x * 2
    h.normal_()
    h.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "name, low, high", [("int8", 0, 127), ("uint8", 0, 255), ("bool", 0, 1), ("float16", 0, 2**11), ("int64", 0, 2**63 - 1)]
)
def test_random_without_bounds(name, low, high):
    """``random_()`` covers the non-negative integers that the dtype counts."""
    values = nbgrad.zeros(N, dtype=getattr(nbgrad, name)).random_().double().numpy()
    assert low <= values.min() and values.max() <= high and values.max() > 0.99 * high


ERRORS = {
    "dtype": lambda: nbgrad.rand(2, dtype=nbgrad.int64),
    "fill": lambda: nbgrad.ones(2, dtype=nbgrad.int32).normal_(),
    "empty_range": lambda: nbgrad.randint(3, 3, (2,)),
    "too_wide": lambda: nbgrad.randint(300, (2,), dtype=nbgrad.uint8),
    "bounds": lambda: nbgrad.randint(2.5, (2,)),
    "size": lambda: nbgrad.randint(5, 2),
    "probability": lambda: nbgrad.bernoulli(nbgrad.tensor([2.0])),
    "nan": lambda: nbgrad.bernoulli(nbgrad.tensor([math.nan])),
    "integers": lambda: nbgrad.bernoulli(nbgrad.tensor([1])),
    "std": lambda: nbgrad.normal(0.0, -1.0, (2,)),
    "order": lambda: nbgrad.ones(1).uniform_(1, 0),
    "rate": lambda: nbgrad.ones(1).exponential_(0),
    "scale": lambda: nbgrad.ones(1).cauchy_(0.0, 0.0),
    "spread": lambda: nbgrad.ones(1).log_normal_(0.0, -1.0),
    "tries": lambda: nbgrad.ones(1).geometric_(1.0),
    "truths": lambda: nbgrad.ones(1, dtype=nbgrad.bool).geometric_(0.5),
    "rates": lambda: nbgrad.poisson(nbgrad.tensor([1.0, -1.0])),
    "whole rates": lambda: nbgrad.poisson(nbgrad.tensor([1])),
    "count": lambda: nbgrad.binomial(nbgrad.tensor([-1.0]), nbgrad.tensor([0.5])),
    "p": lambda: nbgrad.dropout(nbgrad.ones(1), 1.5),
    "weights": lambda: nbgrad.multinomial(nbgrad.zeros(2), 1),
    "negative": lambda: nbgrad.multinomial(nbgrad.tensor([1.0, -1.0]), 1),
    "samples": lambda: nbgrad.multinomial(nbgrad.ones(2), 3),
    "permutation": lambda: nbgrad.randperm(-1),
    "narrow": lambda: nbgrad.randperm(300, dtype=nbgrad.int8),
    "generator": lambda: nbgrad.rand(2, generator=3),
    "argument": lambda: nbgrad.ones(1).uniform_(upper=2),
}


@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_errors(call):
    """Parameters that make no distribution are refused by an error of the family."""
    with pytest.raises(nbgrad.NbgradError):
        call()


@pytest.mark.parametrize(
    "f",
    [
        lambda p: nbgrad.bernoulli(p),
        lambda p: nbgrad.zeros(2).bernoulli(p),
        lambda p: nbgrad.normal(p, 1.0),
        lambda p: nbgrad.normal(0.0, p),
        lambda p: nbgrad.normal(p, p * 2),
        lambda p: nbgrad.normal(nbgrad.zeros(3, 1), p),
        lambda p: nbgrad.linalg.vector_norm(p, 0),
        lambda p: nbgrad.norm(p, 0, dim=0),
    ],
    ids=["bernoulli", "bernoulli of", "normal mean", "normal std", "normal both", "normal broadcast", "vector_norm", "norm"],
)
def test_what_depends_on_a_parameter_in_steps_has_a_derivative_of_zero(f):
    """Numbers drawn with a parameter, and the number of elements that are not 0, require grad as it does; their derivative is 0."""
    p = nbgrad.tensor([0.25, 0.75], requires_grad=True)
    nbgrad.manual_seed(3)
    result = f(p)
    assert result.requires_grad and nbgrad.grad(result.sum() + p.sum(), p)[0].tolist() == [1.0, 1.0]
    nbgrad.manual_seed(3)
    assert f(p.detach()).tolist() == result.tolist() and not f(p.detach()).requires_grad
    _, tangent = nbgrad.func.jvp(lambda p: f(p) + p.sum(), (p.detach(),), (nbgrad.ones(2),))
    assert set(tangent.flatten().tolist()) == {2.0}


def test_a_probability_of_another_dtype_changes_no_dtype():
    """The numbers have the dtype of the tensor that they are drawn for."""
    p = nbgrad.tensor([0.25, 0.75], dtype=nbgrad.float64, requires_grad=True)
    result = nbgrad.zeros(2).bernoulli(p)
    assert result.dtype is nbgrad.float32 and nbgrad.grad(result.sum(), p)[0].tolist() == [0.0, 0.0]


def test_multinomial_of_many_rows():
    """Rows that are searched all at once give what each gives alone, and no index without a weight."""
    weights = nbgrad.tensor([[0.0, 2.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 5.0]]).repeat(500, 1)
    found = nbgrad.multinomial(weights, 2, True).reshape(500, 3, 2)
    counts = [[(found[:, row] == k).sum().item() for k in range(5)] for row in range(3)]
    assert counts[1] == [1000, 0, 0, 0, 0] and counts[2] == [0, 0, 0, 0, 1000]
    assert counts[0][0::2] == [0, 0, 0] and 580 < counts[0][1] < 750


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 33])
def test_searched_rows(length):
    """The bisection of all rows is NumPy's search of each."""
    from nbgrad.methods.parameter_draws import searched

    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (50, length)).cumsum(-1).astype(float)
    values = rng.integers(-1, 2 * length + 2, (50, 3)).astype(float)
    expected = [row.searchsorted(wanted, side="right") for row, wanted in zip(rows, values)]
    np.testing.assert_array_equal(searched(rows, values), expected)
