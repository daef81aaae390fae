"""The update rules as scalar formulas: what happens to one element of a parameter.

NOTE [Update rule]: a rule is ``rule(scalar, *updated, *read, **scalars) -> new values of updated``, a tuple.
    1. ``updated`` are the parameter ``p`` and its state, overwritten in place; ``read`` is the gradient ``g``.
    2. ``scalar`` supplies functions (``sqrt``, ``where``, ...). Run on expressions, a rule becomes the source of one
       kernel that passes over memory once; run on tensors or floats, it computes.
    3. ``scalars`` are numbers that change from step to step, keywords of the rule, by which the kernels of a release are
       made. They are arguments of the kernel: a new learning rate compiles nothing. What decides the *form* of the
       update selects another rule instead.
    4. ``weight_decay = 0`` must leave the gradient untouched, also where ``p`` is infinite: hence ``where``, since
       ``0 * inf`` is NaN.
    5. ``sign`` is 1, or -1 to maximise; multiplying by it is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = [
    "Rule",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "along",
    "amsgrad",
    "asgd",
    "nadam",
    "nesterov",
    "radam",
    "rmsprop",
    "rmsprop_centered",
    "rmsprop_centered_momentum",
    "rmsprop_momentum",
    "rprop",
    "running_mean",
    "running_mean_ahead",
    "sgd",
    "sgd_momentum",
]

Rule = Callable[..., tuple]


# ---- what follows from the number of a step, the first is 1 ----------------------------------------------------------

# ``count(scalar, step, *numbers, **options)``: what is kept of the ``numbers`` for the next step, and scalars of the rule. On
# floats it is what the host counts; ``next_of`` makes a rule of it, by which a GPU does.


def nothing(scalar: Any, step: Any) -> tuple:
    """Of steps that do not depend on their number."""
    return ()


def corrections(scalar: Any, step: Any, *, lr: Any, beta1: Any, beta2: Any) -> tuple:
    """``step_size`` and ``root`` of ``adam``."""
    return lr / (1.0 - beta1**step), scalar.sqrt(1.0 - beta2**step)


def adamax_size(scalar: Any, step: Any, *, lr: Any, beta1: Any) -> tuple:
    """``step_size`` of ``adamax``."""
    return (lr / (1.0 - beta1**step),)


def adagrad_rate(scalar: Any, step: Any, *, lr: Any, decay: Any) -> tuple:
    """``lr`` of ``adagrad``."""
    return (lr / (1.0 + (step - 1.0) * decay),)


def nadam_sizes(scalar: Any, step: Any, product: Any, *, lr: Any, beta1: Any, beta2: Any, decay: Any) -> tuple:
    """The product of all momenta; ``now``, ``ahead`` and ``corrected`` of ``nadam``, by Dozat's schedule of momentum."""
    momentum, following = (beta1 * (1.0 - 0.5 * 0.96 ** (number * decay)) for number in (step, step + 1.0))
    product = product * momentum
    return product, lr * (1.0 - momentum) / (1.0 - product), lr * following / (1.0 - product * following), 1.0 - beta2**step


def radam_sizes(scalar: Any, step: Any, *, lr: Any, beta1: Any, beta2: Any) -> tuple:
    """``step_size`` and ``root`` of ``radam``."""
    correction = 1.0 - beta2**step
    most = 2.0 / (1.0 - beta2) - 1.0  # the length of the average, when all has been seen
    length = most - 2.0 * step * beta2**step / correction
    seen = length > 5.0
    rectified = scalar.where(seen, (length - 4.0) * (length - 2.0) * most, 1.0)
    rectified = rectified / scalar.where(seen, (most - 4.0) * (most - 2.0) * length, 1.0)
    return lr / (1.0 - beta1**step) * scalar.sqrt(rectified), scalar.where(seen, scalar.sqrt(correction), 0.0)


def asgd_sizes(scalar: Any, step: Any, eta: Any, mu: Any, *, lr: Any, lambd: Any, alpha: Any, t0: Any) -> tuple:
    """``eta`` and ``mu`` of the next step; ``eta``, ``shrink`` and ``mu`` of this one."""
    following = lr / (1.0 + lambd * lr * step) ** alpha
    return following, 1.0 / scalar.maximum(1.0, step - t0), eta, 1.0 - lambd * eta, mu


@cache
def next_of(count: Rule, kept: int) -> Rule:
    """Count a step, with the ``kept`` numbers and what follows: a rule for what a GPU keeps of a parameter's steps."""

    def counted(scalar: Any, step: Any, *known: Any, **options: Any) -> tuple:
        step = step + 1.0
        return (step, *count(scalar, step, *known[:kept], **options))

    counted.__name__ = counted.__qualname__ = f"next_{count.__name__}"
    return counted


# Of this module under their names, by which captured graphs find them.
next_nothing, next_corrections = next_of(nothing, 0), next_of(corrections, 0)
next_adamax_size, next_adagrad_rate = next_of(adamax_size, 0), next_of(adagrad_rate, 0)
next_nadam_sizes, next_radam_sizes, next_asgd_sizes = next_of(nadam_sizes, 1), next_of(radam_sizes, 0), next_of(asgd_sizes, 2)


# ---- rules -----------------------------------------------------------------------------------------------------------


def decayed(scalar: Any, g: Any, p: Any, weight_decay: Any) -> Any:
    """The gradient of the loss plus ``weight_decay / 2 * p**2``."""
    return scalar.where(scalar.ne(weight_decay, 0.0), g + weight_decay * p, g)


def sgd(scalar: Any, p: Any, g: Any, *, lr: Any, weight_decay: Any, sign: Any) -> tuple:
    """Gradient descent."""
    return (p - lr * decayed(scalar, sign * g, p, weight_decay),)


def velocity(buf: Any, g: Any, keep: Any, take: Any) -> Any:
    """The running sum of gradients. The first step has ``keep = 0, take = 1``: it starts from the gradient itself."""
    return keep * buf + take * g


def sgd_momentum(scalar: Any, p: Any, buf: Any, g: Any, *, lr: Any, keep: Any, take: Any, weight_decay: Any, sign: Any) -> tuple:
    """Gradient descent along a running sum of gradients.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013, in the form
    where the learning rate multiplies the sum.
    """
    buf = velocity(buf, decayed(scalar, sign * g, p, weight_decay), keep, take)
    return p - lr * buf, buf


def nesterov(
    scalar: Any, p: Any, buf: Any, g: Any, *, lr: Any, momentum: Any, keep: Any, take: Any, weight_decay: Any, sign: Any
) -> tuple:
    """``sgd_momentum`` with the gradient looked up one step ahead.

    Source: as for ``sgd_momentum``.
    """
    g = decayed(scalar, sign * g, p, weight_decay)
    buf = velocity(buf, g, keep, take)
    return p - lr * (g + momentum * buf), buf


def moments(m: Any, v: Any, g: Any, take1: Any, keep2: Any, take2: Any) -> tuple:
    """Running means of the gradient and of its square; ``keep = beta`` and ``take = 1 - beta`` of the respective mean.

    ``v`` is not written as ``v + take2 * (g * g - v)``: that would turn an infinite ``v`` into NaN.
    """
    return m + take1 * (g - m), keep2 * v + take2 * (g * g)


def adam(
    scalar: Any,
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    step_size: Any,
    shrink: Any,
    take1: Any,
    keep2: Any,
    take2: Any,
    root: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """Adam, and AdamW: they differ in ``shrink`` and ``weight_decay`` alone.

    Args of interest:
        step_size: the learning rate divided by the correction of ``m``.
        root: square root of the correction of ``v``.
        shrink: ``1 - lr * weight_decay`` for AdamW, 1 for Adam.

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015; Loshchilov, Hutter, "Decoupled weight decay
    regularization", 2019.
    """
    m, v = moments(m, v, decayed(scalar, sign * g, p, weight_decay), take1, keep2, take2)
    return shrink * p - step_size * m / (scalar.sqrt(v) / root + eps), m, v


def amsgrad(
    scalar: Any,
    p: Any,
    m: Any,
    v: Any,
    top: Any,
    g: Any,
    *,
    step_size: Any,
    shrink: Any,
    take1: Any,
    keep2: Any,
    take2: Any,
    root: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """``adam`` divided by the root of the largest ``v`` so far.

    Source: Reddi, Kale, Kumar, "On the convergence of Adam and beyond", 2018.
    """
    m, v = moments(m, v, decayed(scalar, sign * g, p, weight_decay), take1, keep2, take2)
    top = scalar.maximum(top, v)
    return shrink * p - step_size * m / (scalar.sqrt(top) / root + eps), m, v, top


def adadelta(
    scalar: Any, p: Any, square: Any, change: Any, g: Any, *, lr: Any, keep: Any, take: Any, eps: Any, weight_decay: Any, sign: Any
) -> tuple:
    """Steps in the units of the parameter: the gradient times the root of mean squared steps over that of mean squared gradients.

    Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.
    """
    g = decayed(scalar, sign * g, p, weight_decay)
    square = keep * square + take * (g * g)
    delta = scalar.sqrt(change + eps) / scalar.sqrt(square + eps) * g
    return p - lr * delta, square, keep * change + take * (delta * delta)


def adagrad(scalar: Any, p: Any, total: Any, g: Any, *, lr: Any, eps: Any, weight_decay: Any, sign: Any) -> tuple:
    """The gradient over the root of the sum of all its squares.

    Source: Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
    """
    g = decayed(scalar, sign * g, p, weight_decay)
    total = total + g * g
    return p - lr * (g / (scalar.sqrt(total) + eps)), total


def adamax(
    scalar: Any, p: Any, m: Any, top: Any, g: Any, *, step_size: Any, take1: Any, beta2: Any, eps: Any, weight_decay: Any, sign: Any
) -> tuple:
    """``adam`` with the greatest gradient, of which the past fades, in place of the root of a mean square.

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015, section 7.
    """
    g = decayed(scalar, sign * g, p, weight_decay)
    m, top = m + take1 * (g - m), scalar.maximum(beta2 * top, scalar.abs(g) + eps)
    return p - step_size * (m / top), m, top


def nadam(
    scalar: Any,
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    now: Any,
    ahead: Any,
    shrink: Any,
    take1: Any,
    keep2: Any,
    take2: Any,
    corrected: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """``adam`` with the gradient looked up one step ahead.

    Args of interest:
        now, ahead: step sizes of the gradient and of its mean. corrected: the correction of ``v``.

    Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.
    """
    g = decayed(scalar, sign * g, p, weight_decay)
    m, v = moments(m, v, g, take1, keep2, take2)
    root = scalar.sqrt(v / corrected) + eps
    return shrink * p - now * (g / root) - ahead * (m / root), m, v


def radam(
    scalar: Any,
    p: Any,
    m: Any,
    v: Any,
    g: Any,
    *,
    step_size: Any,
    root: Any,
    shrink: Any,
    take1: Any,
    keep2: Any,
    take2: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """``adam`` that divides by the root of ``v`` only when enough gradients have been seen for that to vary little.

    Args of interest:
        root: of the correction of ``v``; 0 while nothing is divided.

    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020.
    """
    m, v = moments(m, v, decayed(scalar, sign * g, p, weight_decay), take1, keep2, take2)
    return shrink * p - step_size * (m * scalar.where(scalar.ne(root, 0.0), root / (scalar.sqrt(v) + eps), 1.0)), m, v


def normed(scalar: Any, p: Any, square: Any, mean: Any, g: Any, keep: Any, take: Any, eps: Any, weight_decay: Any) -> tuple:
    """The gradient over the root of a running mean of its square, less its squared mean where that is kept; and both means."""
    g = decayed(scalar, g, p, weight_decay)
    square = keep * square + take * (g * g)
    if mean is None:
        return g / (scalar.sqrt(square) + eps), square, None
    mean = mean + take * (g - mean)
    return g / (scalar.sqrt(square - mean * mean) + eps), square, mean


def rmsprop(
    scalar: Any, p: Any, square: Any, g: Any, *, lr: Any, keep: Any, take: Any, eps: Any, weight_decay: Any, sign: Any
) -> tuple:
    """The gradient over the root of a running mean of its square.

    Source: Tieleman, Hinton, "Neural networks for machine learning", lecture 6e, 2012, with ``eps`` outside of the root.
    """
    step, square, _ = normed(scalar, p, square, None, sign * g, keep, take, eps, weight_decay)
    return p - lr * step, square


def rmsprop_momentum(
    scalar: Any,
    p: Any,
    square: Any,
    buf: Any,
    g: Any,
    *,
    lr: Any,
    momentum: Any,
    keep: Any,
    take: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """``rmsprop`` along a running sum of its steps."""
    step, square, _ = normed(scalar, p, square, None, sign * g, keep, take, eps, weight_decay)
    buf = momentum * buf + step
    return p - lr * buf, square, buf


def rmsprop_centered(
    scalar: Any, p: Any, square: Any, mean: Any, g: Any, *, lr: Any, keep: Any, take: Any, eps: Any, weight_decay: Any, sign: Any
) -> tuple:
    """``rmsprop`` with the variance in place of the mean square.

    Source: Graves, "Generating sequences with recurrent neural networks", 2013.
    """
    step, square, mean = normed(scalar, p, square, mean, sign * g, keep, take, eps, weight_decay)
    return p - lr * step, square, mean


def rmsprop_centered_momentum(
    scalar: Any,
    p: Any,
    square: Any,
    buf: Any,
    mean: Any,
    g: Any,
    *,
    lr: Any,
    momentum: Any,
    keep: Any,
    take: Any,
    eps: Any,
    weight_decay: Any,
    sign: Any,
) -> tuple:
    """``rmsprop_centered`` along a running sum of its steps."""
    step, square, mean = normed(scalar, p, square, mean, sign * g, keep, take, eps, weight_decay)
    buf = momentum * buf + step
    return p - lr * buf, square, buf, mean


def rprop(
    scalar: Any, p: Any, before: Any, size: Any, g: Any, *, shorter: Any, longer: Any, least: Any, most: Any, direction: Any
) -> tuple:
    """Steps against the gradient's sign, of sizes that grow while it stays and shrink where it turns; no step where it has turned.

    Source: Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    """
    g = direction * g
    turn = g * before
    factor = scalar.where(turn > 0.0, longer, scalar.where(turn < 0.0, shorter, scalar.where(scalar.ne(turn, 0.0), turn, 1.0)))
    size = scalar.minimum(scalar.maximum(size * factor, least), most)
    g = scalar.where(turn < 0.0, 0.0, g)
    return p - scalar.sign(g) * size, g, size


def asgd(scalar: Any, p: Any, mean: Any, g: Any, *, eta: Any, shrink: Any, mu: Any, weight_decay: Any, sign: Any) -> tuple:
    """Gradient descent with steps that fade, and the mean of where it was.

    Source: Polyak, Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
    """
    p = shrink * p - eta * decayed(scalar, sign * g, p, weight_decay)
    return p, scalar.where(scalar.ne(mu, 1.0), mean + mu * (p - mean), p)


def running_mean(scalar: Any, mean: Any, x: Any, *, take: Any) -> tuple:
    """A mean of which the past fades."""
    return (mean + take * (x - mean),)


def running_mean_ahead(scalar: Any, mean: Any, ahead: Any, g: Any, *, take: Any) -> tuple:
    """``running_mean``, and where a second step with the same gradient would take it."""
    (mean,) = running_mean(scalar, mean, g, take=take)
    return mean, mean + take * (g - mean)


def along(scalar: Any, p: Any, direction: Any, *, lr: Any, shrink: Any) -> tuple:
    """A step of a shrinking parameter along a direction that whole matrices decide, as those of Adafactor and Muon do."""
    return (shrink * p - lr * direction,)
