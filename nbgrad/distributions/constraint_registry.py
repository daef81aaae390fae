"""Transforms from reals to what satisfies a constraint: ``biject_to(constraint)``, ``transform_to(constraint)``.

>>> import nbgrad
>>> from nbgrad.distributions import constraints, transform_to
>>> transform_to(constraints.positive)(nbgrad.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import NotSupportedError
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Which transform leads to a constraint."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        """Let ``factory(constraint)`` make the transform for a constraint, or for all of its kind; without one, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        self._registry[key_of(constraint)] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        try:
            factory = self._registry[key_of(constraint)]
        except KeyError:
            raise NotSupportedError(f"constraint_registry: no transform leads to {constraint}. Hint: register one.") from None
        return factory(constraint)


def key_of(constraint: Any) -> Any:
    """Regions of a kind differ in their bounds alone."""
    if isinstance(constraint, constraints.Region):
        return constraint.told
    return constraint if isinstance(constraint, type) else type(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def both(*of: Any) -> Callable:
    """A decorator: for bijections and for other transforms."""

    def enter(factory: Callable) -> Callable:
        for constraint in of:
            biject_to.register(constraint, factory)
            transform_to.register(constraint, factory)
        return factory

    return enter


both(constraints.real)(lambda constraint: transforms.identity_transform)
both(constraints.positive, constraints.nonnegative)(lambda constraint: transforms.ExpTransform())
both(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
both(constraints.lower_cholesky)(lambda constraint: transforms.LowerCholeskyTransform())
both(constraints.positive_definite, constraints.positive_semidefinite)(lambda constraint: transforms.PositiveDefiniteTransform())


@both(constraints.greater_than(0), constraints.greater_than_eq(0))
def above(constraint: Any) -> transforms.Transform:
    """exp, moved."""
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@both(constraints.less_than(0))
def below(constraint: Any) -> transforms.Transform:
    """-exp, moved."""
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


both(constraints.unit_interval)(lambda constraint: transforms.SigmoidTransform())


@both(constraints.interval(0, 1), constraints.half_open_interval(0, 1))
def between(constraint: Any) -> transforms.Transform:
    """A sigmoid, moved and scaled."""
    low, high = constraint.lower_bound, constraint.upper_bound
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def of_independent(registry: ConstraintRegistry) -> None:
    """Of all dimensions alike."""
    registry.register(
        constraints.independent,
        lambda constraint: transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        ),
    )


of_independent(biject_to)
of_independent(transform_to)
