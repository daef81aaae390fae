"""Numbers of distributions that are no simple function of uniform or normal ones.

NOTE [Proposals]: a rejection sampler draws until a proposal is accepted, which differs from element to element. Here every element
has ``PROPOSALS`` of them from the start, and the first that is accepted is taken: operations on tensors without a loop, so that
samples are the same on any device, and can be drawn in ``compile`` and ``vmap``. That none is accepted has a probability below
1e-15; then the first is taken, and where it is computed as part of the test (gamma) the sample is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import nbgrad

from .. import Tensor
from ..autograd.function import Function
from ..base.calls import CALLS
from ..base.errors import DTypeError
from .constraints import nonnegative, unit_interval
from .distribution import require

__all__ = ["binomial", "binomial_sample", "log_gamma_sample", "log_gamma_samples", "poisson", "poisson_sample", "von_mises_sample"]

PROPOSALS = 12


def first_accepted(proposals: Tensor, accepted: Tensor) -> Tensor:
    """Of the last dimension the first element that is accepted: NOTE [Proposals]."""
    place = accepted.to(nbgrad.uint8).argmax(-1, keepdim=True)
    return proposals.gather(-1, place).squeeze(-1)


def log_gamma_sample(concentration: Tensor, generator: Any = None) -> Tensor:
    """The logarithm of an event of the Gamma distribution of rate 1, for each concentration.

    The logarithm, since events of small concentrations are smaller than the smallest float. As a function of the concentration it
    is what keeps the probability of smaller events: its derivative is that of the inverse of the distribution function.

    Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000, where the concentration is at
    least 1; below, an event of concentration + 1 by a power of a uniform number.
    """
    with nbgrad.no_grad():
        a = concentration.detach()
        wide = a.to(nbgrad.float64)
        shape, options = tuple(a.shape), {"dtype": nbgrad.float64, "device": a.device, "generator": generator}
        normal, uniform = (draw((*shape, PROPOSALS), **options) for draw in (nbgrad.randn, nbgrad.rand))
        proposals = CALLS["gamma_proposal"](normal, uniform, wide.unsqueeze(-1))
        found = first_accepted(proposals, proposals == proposals)
        found = CALLS["gamma_event"](found, nbgrad.rand(shape, **options), wide).to(a.dtype)
    return LogGamma.apply(concentration, found)


def log_gamma_samples(*concentrations: Tensor) -> tuple[Tensor, ...]:
    """``log_gamma_sample`` of each of some concentrations of one shape, by one call."""
    return log_gamma_sample(nbgrad.stack(concentrations)).unbind(0)


class LogGamma(Function):
    """The sample as a function of the concentration."""

    generate_vmap_rule = True

    @staticmethod
    def forward(concentration: Tensor, sample: Tensor) -> Tensor:
        return sample.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * log_gamma_slope(*ctx.saved_tensors), None

    @staticmethod
    def jvp(ctx: Any, t: Tensor, _: Any) -> Tensor:
        return t * log_gamma_slope(*ctx.saved_tensors)


TERMS = 16
# Nodes and weights of the double exponential rule for integrals from 0 on.
STEPS = [-3.0 + 7.2 * k / 59 for k in range(60)]
NODES = [math.exp(u - math.exp(-u)) for u in STEPS]
WEIGHTS = [(1 + math.exp(-u)) * v * 7.2 / 59 for u, v in zip(STEPS, NODES)]


def log_gamma_slope(concentration: Tensor, log_x: Tensor) -> Tensor:
    """The derivative of log x by the concentration a at a fixed value of the distribution function P(a, x): -dP/da / (x dP/dx).

    For x < 1 by the series of P, whose terms have an alike sign there. From 1 on, dP/da is the integral of (log t - digamma(a))
    times the density, from 0 to x, or where x > a from x on. With t = x e**s that is, over the density at x, an integral of a
    function that decays in s, for which the double exponential rule has a relative error of about 1e-8.
    """
    a, lx = concentration.to(nbgrad.float64), log_x.to(nbgrad.float64)
    small = lx < 0
    x = nbgrad.where(small, lx, 0.0).exp()
    ratio, digamma = 1 / a, nbgrad.digamma(a + 1)
    series = nbgrad.zeros_like(a)
    for k in range(1, TERMS):
        series = series - ratio * (lx - digamma)
        ratio = ratio * x / (a + k)
        digamma = digamma + 1 / (a + k)
    x = nbgrad.where(small, 1.0, lx.exp()).unsqueeze(-1)
    lx, wide = nbgrad.where(small, 0.0, lx).unsqueeze(-1), a.unsqueeze(-1)
    sign = nbgrad.where(x > wide, 1.0, -1.0).to(nbgrad.float64)
    width = (1 / ((wide - x).abs() + wide.sqrt())).detach()
    nodes, weights = (nbgrad.tensor(numbers, dtype=nbgrad.float64, device=a.device) for numbers in (NODES, WEIGHTS))
    s = sign * width * nodes
    parts = (lx - nbgrad.digamma(wide) + s) * (wide * s - x * nbgrad.expm1(s)).exp() * weights
    return nbgrad.where(small, series, (sign * width * parts).sum(-1)).to(concentration.dtype)


def von_mises_sample(concentration: Tensor) -> Tensor:
    """Angles around 0.

    Source: D. J. Best and N. I. Fisher, "Efficient simulation of the von Mises distribution", 1979; about two of three proposals
    are accepted, so there are 32 of them.
    """
    k = concentration.to(nbgrad.float64).unsqueeze(-1)
    root = 1 + (1 + 4 * k.square()).sqrt()
    rho = (root - (2 * root).sqrt()) / (2 * k)
    r = nbgrad.where(k < 1e-5, 1 / k.clamp(min=1e-30), (1 + rho.square()) / (2 * rho))
    first, second, third = nbgrad.rand((3, *concentration.shape, 32), dtype=nbgrad.float64, device=k.device)
    z = nbgrad.cos(math.pi * first)
    f = (1 + r * z) / (r + z)
    c = k * (r - f)
    accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
    return first_accepted((third - 0.5).sign() * f.clamp(-1, 1).acos(), accepted).to(concentration.dtype)


REACH = 8


def poisson_sample(rate: Tensor, generator: Any = None) -> Tensor:
    """Counts of the Poisson distribution: near the normal one's quantile, the smallest that reaches a uniform number.

    The distribution function is computed once, where the search begins; from there on each count's probability follows from that
    of the one before.
    """
    wide = rate.to(nbgrad.float64)
    uniform = nbgrad.rand(tuple(rate.shape), dtype=nbgrad.float64, device=rate.device, generator=generator)
    uniform = uniform.clamp(1e-16, 1 - 1e-16)
    root, z = wide.sqrt(), nbgrad.special.ndtri(uniform)
    least = ((wide + root * z + (z.square() - 1) / 6 - 0.5).floor() - REACH).clamp(min=0)
    below = nbgrad.special.gammaincc(least + 1, wide)
    density = (nbgrad.xlogy(least, wide) - wide - nbgrad.lgamma(least + 1)).exp()
    steps = nbgrad.arange(1, 2 * REACH + 1, dtype=nbgrad.float64, device=rate.device)
    counts = least + steps.reshape(-1, *(1,) * rate.dim())  # in front, so that rows of memory are as long as the rates
    reached = below + density * (wide / counts).cumprod(0).cumsum(0)
    return (least + (below < uniform) + (reached < uniform).sum(0)).to(rate.dtype)


def binomial_sample(count: Tensor, probs: Tensor, generator: Any = None) -> Tensor:
    """Counts of successes: the sum of as many events as the largest count, in blocks that take little memory."""
    count, probs = nbgrad.broadcast_tensors(count, probs)
    most = int(count.max()) if count.numel() else 0
    found = nbgrad.zeros_like(probs)
    block = max(1, (1 << 22) // max(probs.numel(), 1))
    for start in range(0, most, block):
        tries = nbgrad.arange(start, min(start + block, most), device=probs.device)
        uniform = nbgrad.rand((*probs.shape, len(tries)), dtype=probs.dtype, device=probs.device, generator=generator)
        hits = (uniform < probs.unsqueeze(-1)) & (tries < count.unsqueeze(-1))
        found = found + hits.sum(-1)
    return found


# ---- functions of the package --------------------------------------------------------------------------------------


def _standard_gamma(concentration: Tensor, generator: Any = None) -> Tensor:
    """For each concentration an event of the Gamma distribution of rate 1, as a differentiable function of it."""
    require_floating_rates("_standard_gamma", "concentration", concentration)
    return log_gamma_sample(concentration, generator).exp()


def _sample_dirichlet(concentration: Tensor, generator: Any = None) -> Tensor:
    """For each row of concentrations a point of the simplex, as a differentiable function of them."""
    require_floating_rates("_sample_dirichlet", "concentration", concentration)
    return log_gamma_sample(concentration, generator).softmax(-1)


def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """For each rate a count of the Poisson distribution, in the shape and dtype of ``input``.

    Counts do not depend on rates in a way that has a derivative: the result does not require grad.

    Args:
        input: rates, floating, >= 0.
        generator: what the numbers are drawn by; the device's own by default.

    Raises:
        DTypeError: ``input`` is not floating. RangeError: a rate is negative or NaN.

    >>> import nbgrad
    >>> nbgrad.poisson(nbgrad.zeros(2))
    tensor([0., 0.])
    """
    require_floating_rates("poisson", "input", input)
    require("poisson", "input", input, nonnegative, "")
    with nbgrad.no_grad():
        return poisson_sample(input.detach(), generator)


def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """How many of ``count`` tries with the success probability ``prob`` succeed, in their common shape and the dtype of ``prob``.

    Args:
        count: numbers of tries, >= 0.
        prob: probabilities, floating.
        generator: what the numbers are drawn by; the device's own by default.

    Raises:
        DTypeError: ``prob`` is not floating. RangeError: a count is negative, or a number is no probability.

    >>> import nbgrad
    >>> nbgrad.binomial(nbgrad.tensor([3.0, 5.0]), nbgrad.tensor([0.0, 1.0]))
    tensor([0., 5.])
    """
    require_floating_rates("binomial", "prob", prob)
    require("binomial", "count", count, nonnegative, "")
    require("binomial", "prob", prob, unit_interval, "")
    with nbgrad.no_grad():
        return binomial_sample(count.detach(), prob.detach(), generator)


def require_floating_rates(op: str, argument: str, x: Tensor) -> None:
    """Refuse parameters that are not floating."""
    if not x.dtype.is_floating_point:
        raise DTypeError(f"{op}: {argument} must be floating, got {x.dtype}.")
