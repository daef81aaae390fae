"""Schedules, once: what ``tools/schedules.py`` writes down of torch's, and the tests find in nbgrad's.

``m`` is either library; ``o`` an optimizer of two groups, whose learning rates are 0.1 and 0.5.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable

EPOCHS = 16
JUMPS = (0, 3, 1, 7, 7, 2, 12, 5, 14, 4)
METRICS = (0.9, 0.8, 0.85, 0.81, 0.79, 0.83, 0.6, 0.7, 0.61, 0.62, 0.59, 0.4, 0.55, 0.7, 0.9, 0.95, 0.97, 0.96, 0.99, 1.2)


class Quotient:
    """A function that is an object, whose attributes are saved."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def __call__(self, epoch: int) -> float:
        return 1 / (self.shift + epoch)


def s(m: Any) -> Any:
    """The schedulers of a library."""
    return m.optim.lr_scheduler


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda m, o: s(m).LambdaLR(o, Quotient(3.0)),
    "LambdaLR of each": lambda m, o: s(m).LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (epoch + 1)]),
    "MultiplicativeLR": lambda m, o: s(m).MultiplicativeLR(o, lambda epoch: 0.9 + 0.01 * epoch),
    "StepLR": lambda m, o: s(m).StepLR(o, 3, 0.3),
    "MultiStepLR": lambda m, o: s(m).MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "ConstantLR": lambda m, o: s(m).ConstantLR(o),
    "ConstantLR short": lambda m, o: s(m).ConstantLR(o, 0.7, 3),
    "LinearLR": lambda m, o: s(m).LinearLR(o),
    "LinearLR down": lambda m, o: s(m).LinearLR(o, 0.9, 0.1, 7),
    "LinearLR of none": lambda m, o: s(m).LinearLR(o, 0.9, 0.1, 0),
    "ExponentialLR": lambda m, o: s(m).ExponentialLR(o, 0.83),
    "PolynomialLR": lambda m, o: s(m).PolynomialLR(o),
    "PolynomialLR of 1.7": lambda m, o: s(m).PolynomialLR(o, 7, 1.7),
    "CosineAnnealingLR": lambda m, o: s(m).CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingLR to 0": lambda m, o: s(m).CosineAnnealingLR(o, 7),
    "CosineAnnealingWarmRestarts": lambda m, o: s(m).CosineAnnealingWarmRestarts(o, 4),
    "CosineAnnealingWarmRestarts longer": lambda m, o: s(m).CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "CyclicLR": lambda m, o: s(m).CyclicLR(o, 0.01, 0.3, 4),
    "CyclicLR triangular2": lambda m, o: s(m).CyclicLR(
        o, [0.01, 0.02], [0.3, 0.7], 3, 5, mode="triangular2", base_momentum=[0.1, 0.2], max_momentum=0.97
    ),
    "CyclicLR exp_range": lambda m, o: s(m).CyclicLR(o, 0.01, 0.3, 4, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR scale_fn": lambda m, o: s(m).CyclicLR(o, 0.01, 0.3, 4, scale_fn=Quotient(1.0), scale_mode="iterations"),
    "OneCycleLR": lambda m, o: s(m).OneCycleLR(o, 0.3, EPOCHS),
    "OneCycleLR three phases": lambda m, o: s(m).OneCycleLR(
        o, [0.3, 0.7], epochs=4, steps_per_epoch=4, three_phase=True, anneal_strategy="linear", pct_start=0.25
    ),
    "OneCycleLR of the rate alone": lambda m, o: s(m).OneCycleLR(o, [0.3, 0.7], EPOCHS, three_phase=True, cycle_momentum=False),
    "SequentialLR": lambda m, o: s(m).SequentialLR(
        o, [s(m).ConstantLR(o, 0.1, 4), s(m).ExponentialLR(o, 0.9), s(m).CosineAnnealingLR(o, 4)], [4, 9]
    ),
    "SequentialLR of restarts": lambda m, o: s(m).SequentialLR(
        o, [s(m).LinearLR(o, 0.1, 1.0, 4), s(m).CosineAnnealingWarmRestarts(o, 4)], [3]
    ),
    "SequentialLR of others": lambda m, o: s(m).SequentialLR(
        o, [s(m).SequentialLR(o, [s(m).LinearLR(o, 0.1, 1.0, 4), s(m).StepLR(o, 2)], [4]), s(m).PolynomialLR(o, 4)], [9]
    ),
    "SequentialLR of chains": lambda m, o: s(m).SequentialLR(
        o, [s(m).ChainedScheduler([s(m).LinearLR(o, 0.1, 1.0, 4), s(m).StepLR(o, 2)]), s(m).PolynomialLR(o, 4)], [9]
    ),
    "ChainedScheduler": lambda m, o: s(m).ChainedScheduler(
        [s(m).ConstantLR(o, 0.1, 4), s(m).ExponentialLR(o, 0.9), s(m).CosineAnnealingLR(o, 4)], o
    ),
    "SWALR": lambda m, o: m.optim.swa_utils.SWALR(o, 0.02, 5),
    "SWALR linear": lambda m, o: m.optim.swa_utils.SWALR(o, [0.02, 0.9], 6, "linear"),
    "SWALR at once": lambda m, o: m.optim.swa_utils.SWALR(o, 0.02, 0),
    "SWALR chained": lambda m, o: s(m).ChainedScheduler([s(m).ExponentialLR(o, 0.9), m.optim.swa_utils.SWALR(o, 0.02, 5)]),
}
# Those that may jump: torch has no closed form for what is combined, nor for a line without epochs.
FIXED = ("SequentialLR", "ChainedScheduler", "SWALR chained", "LinearLR of none")
JUMPING = [name for name in CASES if not name.startswith(FIXED)]

PLATEAUS: dict[str, dict[str, Any]] = {
    "min rel": {"threshold": 0.05},
    "min abs": {"threshold": 0.1, "threshold_mode": "abs", "cooldown": 3},
    "max rel": {"mode": "max", "threshold": 0.05, "min_lr": [0.001, 0.2]},
    "max abs": {"mode": "max", "threshold": 0.1, "threshold_mode": "abs", "eps": 0.04},
}


def optimizer(m: Any, kind: str = "SGD", number: Callable[[float], Any] = float) -> Any:
    """An optimizer of two groups; ``number`` makes learning rates."""
    groups = [{"params": [m.ones(1, requires_grad=True)]}, {"params": [m.ones(1, requires_grad=True)], "lr": number(0.5)}]
    return m.optim.SGD(groups, lr=number(0.1), momentum=0.9) if kind == "SGD" else m.optim.Adam(groups, lr=number(0.1))


def options(o: Any) -> list[float]:
    """The learning rate of every group, and what momentum it has, if that was changed."""
    momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in o.param_groups]
    return [float(group["lr"]) for group in o.param_groups] + ([] if momenta == [0.9, 0.9] else momenta)


def run(o: Any, scheduler: Any, steps: Any) -> list[list[float]]:
    """What an optimizer's options are before each of ``steps``, the arguments of the scheduler's."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for arguments in steps:
            found.append(options(o))
            o.step()
            scheduler.step(*arguments)
    return found


def recorded(m: Any, name: str, **how: Any) -> dict[str, list[list[float]]]:
    """A case epoch after epoch, and with jumps, where it may."""
    made = []
    for steps in ([()] * EPOCHS, *([[(epoch,) for epoch in JUMPS]] if name in JUMPING else [])):
        o = optimizer(m, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scheduler = CASES[name](m, o)
        made.append(run(o, scheduler, steps))
    return dict(zip(("steps", "jumps"), made))


def watched(m: Any, name: str, **how: Any) -> list[list[float]]:
    """A plateau's learning rates."""
    o = optimizer(m, **how)
    return run(o, s(m).ReduceLROnPlateau(o, factor=0.5, patience=2, **PLATEAUS[name]), [(metric,) for metric in METRICS])
