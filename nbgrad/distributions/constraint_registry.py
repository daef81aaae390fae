"""Transforms from reals to what satisfies a constraint: ``biject_to(constraint)``, ``transform_to(constraint)``.

>>> import nbgrad
>>> from nbgrad.distributions import constraints, transform_to
>>> transform_to(constraints.positive)(nbgrad.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import ArgumentError, NotSupportedError
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Which transform leads to a constraint.

    >>> from nbgrad.distributions import constraints
    >>> biject_to(constraints.unit_interval)(nbgrad.tensor(0.0))
    tensor(0.5000)
    """

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        """Let ``factory(constraint)`` make the transforms for all constraints of a kind; without one, a decorator.

        Raises:
            ArgumentError: no constraint, and no class of them.
        """
        if not issubclass(key_of(constraint), constraints.Constraint):
            raise ArgumentError(f"constraint_registry: expected a Constraint, or a class of them, got {constraint!r}.")
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


def key_of(constraint: Any) -> type:
    """The class: constraints of one differ in their bounds alone."""
    return constraint if isinstance(constraint, type) else type(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def register(*of: Any) -> Callable:
    """A decorator: for bijections and for other transforms."""

    def enter(factory: Callable) -> Callable:
        for constraint in of:
            biject_to.register(constraint, factory)
            transform_to.register(constraint, factory)
        return factory

    return enter


register(constraints.real)(lambda constraint: transforms.identity_transform)
register(constraints.corr_cholesky)(lambda constraint: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
register(constraints.lower_cholesky)(lambda constraint: transforms.LowerCholeskyTransform())
register(constraints.positive_definite, constraints.positive_semidefinite)(
    lambda constraint: transforms.PositiveDefiniteTransform()
)


@register(constraints.greater_than, constraints.greater_than_eq)
def exp_above(constraint: Any) -> transforms.Transform:
    """exp, moved."""
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@register(constraints.less_than)
def exp_below(constraint: Any) -> transforms.Transform:
    """-exp, moved."""
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@register(constraints.interval, constraints.half_open_interval)
def between(constraint: Any) -> transforms.Transform:
    """A sigmoid, moved and scaled unless it leads there itself."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def of_parts(registry: ConstraintRegistry) -> None:
    """Of constraints that are made of others: of all dimensions alike, and along one dimension."""
    registry.register(
        constraints.independent,
        lambda constraint: transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        ),
    )
    registry.register(
        constraints.cat,
        lambda constraint: transforms.CatTransform(
            [registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths
        ),
    )
    registry.register(
        constraints.stack,
        lambda constraint: transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim),
    )


of_parts(biject_to)
of_parts(transform_to)
