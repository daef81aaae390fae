"""Runge and Kutta's methods: where slopes are taken, and how they are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import dormand_prince8 as eighth

__all__ = ["ADAMS", "ADAPTIVE", "FIXED", "Tableau", "combined"]


class Tableau(NamedTuple):
    """A method of Runge and Kutta.

    Attributes:
        times: where in the step each slope is taken, as parts of it.
        weights: of the slopes so far, for the state at which each further slope is taken.
        result: of all slopes, for the state behind the step.
        error: of all slopes and the one behind the step, for an estimate of the error; None: the steps are fixed.
        dense: of the same slopes, the coefficients of the powers 1, 2, ... of the part of the step, for states within; None: by
            Hermite's cubic.
        order: of the error, in the step.
        other_error: of a second estimate, which the first is damped by: Hairer's for order 8.
        extra: where further slopes are taken, and their weights; ``dense`` alone mentions them.
    """

    times: Sequence[float]
    weights: Sequence[Sequence[float]]
    result: Sequence[float]
    error: Sequence[float] | None = None
    dense: Sequence[Sequence[float]] | None = None
    order: int = 0
    other_error: Sequence[float] | None = None
    extra: tuple[Sequence[float], Sequence[Sequence[float]]] | None = None


ADAMS = ("explicit_adams", "implicit_adams")
FIXED = {
    "euler": Tableau((0.0,), (), (1.0,)),
    "midpoint": Tableau((0.0, 1 / 2), ((1 / 2,),), (0.0, 1.0)),
    "heun2": Tableau((0.0, 1.0), ((1.0,),), (1 / 2, 1 / 2)),
    "heun3": Tableau((0.0, 1 / 3, 2 / 3), ((1 / 3,), (0.0, 2 / 3)), (1 / 4, 0.0, 3 / 4)),
    # Kutta's rule of 3/8, which torchdiffeq calls by this name.
    "rk4": Tableau((0.0, 1 / 3, 2 / 3, 1.0), ((1 / 3,), (-1 / 3, 1.0), (1.0, -1.0, 1.0)), (1 / 8, 3 / 8, 3 / 8, 1 / 8)),
}

ADAPTIVE = {
    # E. Fehlberg, "Low-order classical Runge-Kutta formulas with stepsize control", 1969.
    "fehlberg2": Tableau(
        (0.0, 1 / 2, 1.0), ((1 / 2,), (1 / 256, 255 / 256)), (1 / 512, 255 / 256, 1 / 512), (-1 / 512, 0.0, 1 / 512, 0.0), None, 2
    ),
    "adaptive_heun": Tableau((0.0, 1.0), ((1.0,),), (1 / 2, 1 / 2), (1 / 2, -1 / 2, 0.0), None, 2),
    # P. Bogacki and L. F. Shampine, "A 3(2) pair of Runge-Kutta formulas", 1989.
    "bosh3": Tableau(
        (0.0, 1 / 2, 3 / 4),
        ((1 / 2,), (0.0, 3 / 4)),
        (2 / 9, 1 / 3, 4 / 9),
        (2 / 9 - 7 / 24, 1 / 3 - 1 / 4, 4 / 9 - 1 / 3, -1 / 8),
        None,
        3,
    ),
    # J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980; within the step: L. F. Shampine, "Some
    # practical Runge-Kutta formulas", 1986.
    "dopri5": Tableau(
        (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0),
        (
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
        (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
        (
            (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            (
                -8048581381 / 2820520608,
                0.0,
                131558114200 / 32700410799,
                -1754552775 / 470086768,
                127303824393 / 49829197408,
                -282668133 / 205662961,
                40617522 / 29380423,
            ),
            (
                8663915743 / 2820520608,
                0.0,
                -68118460800 / 10900136933,
                14199869525 / 1410260304,
                -318862633887 / 49829197408,
                2019193451 / 616988883,
                -110615467 / 29380423,
            ),
            (
                -12715105075 / 11282082432,
                0.0,
                87487479700 / 32700410799,
                -10690763975 / 1880347072,
                701980252875 / 199316789632,
                -1453857185 / 822651844,
                69997945 / 29380423,
            ),
        ),
        5,
    ),
    "dopri8": Tableau(
        eighth.TIMES,
        eighth.WEIGHTS,
        eighth.RESULT,
        eighth.ERROR,
        eighth.DENSE,
        8,
        eighth.OTHER_ERROR,
        (eighth.EXTRA_TIMES, eighth.EXTRA_WEIGHTS),
    ),
}


def combined(slopes: Sequence[Any], weights: Sequence[float]) -> Any:
    """The sum of slopes times weights, without those of weight 0."""
    total = None
    for slope, weight in zip(slopes, weights):
        if weight:
            term = slope if weight == 1 else weight * slope
            total = term if total is None else total + term
    return 0 * slopes[0] if total is None else total
