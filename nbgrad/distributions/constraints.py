"""Where values may lie: supports of distributions, and what their parameters must be.

``check(value)`` gives truth values, one for each event: ``value.shape`` without its last ``event_dim`` dimensions.

>>> import nbgrad
>>> from nbgrad.distributions import constraints
>>> constraints.positive.check(nbgrad.tensor([1.0, 0.0])), constraints.simplex.check(nbgrad.tensor([0.5, 0.5]))
(tensor([ True, False]), tensor(True))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.dtypes import bool_
from ..base.errors import NotSupportedError

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region. Programs may derive their own, with ``check``.

    Attributes:
        is_discrete: whether its values are whole numbers.
        event_dim: how many dimensions an event has.
    """

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of ``value`` lies in the region.

        Raises:
            NotSupportedError: the class does not say.
        """
        raise NotSupportedError(f"{type(self).__name__}: check is not defined. Hint: define it in the subclass.")

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_")


class Region(Constraint):
    """A region that a predicate describes; what it depends on are its attributes."""

    def __init__(self, told: str, test: Callable[..., Tensor], discrete: bool = False, event_dim: int = 0, **bounds: Any) -> None:
        self.told, self.test, self.is_discrete, self.event_dim, self.bounds = told, test, discrete, event_dim, bounds
        self.__dict__.update(bounds)

    def check(self, value: Tensor) -> Tensor:
        return self.test(value, **self.bounds)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={bound}" for name, bound in self.bounds.items())
        return f"{self.told}({given})" if given else self.told


class _Dependent(Constraint):
    """What is known only of a distribution that has been made."""

    def __init__(self, *, is_discrete: Any = False, event_dim: Any = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        raise NotSupportedError("constraints.dependent: it is known of a distribution alone. Hint: ask that for its support.")


class dependent_property(property, _Dependent):
    """A property of a class that depends on its parameters: as an attribute of the class it is a dependent constraint."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = False, event_dim: Any = 0) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> dependent_property:
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is known of a distribution alone."""
    return isinstance(constraint, _Dependent)


class _Independent(Constraint):
    """A constraint whose last ``reinterpreted_batch_ndims`` dimensions belong to the event, too."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found = self.base_constraint.check(value)
        return over_last(found, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"independent({self.base_constraint}, {self.reinterpreted_batch_ndims})"


def widened(constraint: Constraint, event_dim: int) -> Constraint:
    """A constraint of events of so many dimensions, or of its own if they are more."""
    more = event_dim - constraint.event_dim
    return _Independent(constraint, more) if more > 0 else constraint


def over_last(valid: Tensor, dims: int) -> Tensor:
    """Whether all of the last dimensions are valid."""
    return valid.all(tuple(range(-dims, 0))) if dims else valid


class _Joined(Constraint):
    """Constraints of the parts of a tensor, along a dimension."""

    def __init__(self, parts: Sequence[Constraint], dim: int, split: Callable[[Tensor], Sequence[Tensor]], join: Callable) -> None:
        self.parts, self.dim, self.split, self.join = list(parts), dim, split, join
        self.is_discrete = any(part.is_discrete for part in parts)
        self.event_dim = max(part.event_dim for part in parts)

    def check(self, value: Tensor) -> Tensor:
        return self.join([part.check(v) for part, v in zip(self.parts, self.split(value), strict=True)], self.dim)


def cat(cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> Constraint:
    """Constraints of parts of the given lengths, one after the other along a dimension."""
    sizes = [1] * len(cseq) if lengths is None else [*lengths]
    return _Joined(cseq, dim, lambda value: value.split(sizes, dim), nbgrad.cat)


def stack(cseq: Sequence[Constraint], dim: int = 0) -> Constraint:
    """Constraints of the slices along a dimension."""
    return _Joined(cseq, dim, lambda value: value.unbind(dim), nbgrad.stack)


class MixtureSameFamilyConstraint(Constraint):
    """The support of the components of a mixture, which stand in a dimension of their own."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        place = value.dim() - self.event_dim
        return self.base_constraint.check(value.unsqueeze(place)).all(-1)


def is_whole(value: Tensor) -> Tensor:
    """Whether values are whole numbers."""
    return value % 1 == 0


def is_symmetric(value: Tensor) -> Tensor:
    """Whether matrices are symmetric."""
    return is_square(value) & nbgrad.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


def is_square(value: Tensor) -> Tensor:
    """Whether matrices are square."""
    return nbgrad.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)


def is_lower(value: Tensor) -> Tensor:
    """Whether matrices are lower triangular."""
    return (value.tril() == value).all(-2).all(-1)


def is_cholesky(value: Tensor) -> Tensor:
    """Whether matrices are lower triangular with a positive diagonal."""
    return is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def has_rows_of_length_one(value: Tensor) -> Tensor:
    """Whether the rows of Cholesky factors have length one."""
    tolerance = nbgrad.finfo(value.dtype).eps * value.size(-1) * 10
    return is_cholesky(value) & ((value.square().sum(-1) - 1).abs() < tolerance).all(-1)


def is_definite(value: Tensor) -> Tensor:
    """Whether matrices are symmetric, with positive eigenvalues."""
    return is_symmetric(value) & (nbgrad.linalg.eigvalsh(value) > 0).all(-1)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Reals of a closed interval."""
    return Region(
        "interval",
        lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x <= upper_bound),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Reals from a bound on, below another one."""
    return Region(
        "half_open_interval",
        lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x < upper_bound),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers of a closed interval."""
    return Region(
        "integer_interval",
        lambda x, lower_bound, upper_bound: is_whole(x) & (lower_bound <= x) & (x <= upper_bound),
        discrete=True,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def greater_than(lower_bound: Any) -> Constraint:
    """Reals above a bound."""
    return Region("greater_than", lambda x, lower_bound: lower_bound < x, lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """Reals from a bound on."""
    return Region("greater_than_eq", lambda x, lower_bound: lower_bound <= x, lower_bound=lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Reals below a bound."""
    return Region("less_than", lambda x, upper_bound: x < upper_bound, upper_bound=upper_bound)


def multinomial(upper_bound: Any) -> Constraint:
    """Counts in the last dimension, with a sum of at most ``upper_bound``."""
    return Region(
        "multinomial",
        lambda x, upper_bound: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
        discrete=True,
        event_dim=1,
        upper_bound=upper_bound,
    )


dependent = _Dependent()
independent = _Independent
boolean: Constraint = Region("boolean", lambda x: (x == 0) | (x == 1), discrete=True)
nonnegative_integer: Constraint = Region("nonnegative_integer", lambda x: is_whole(x) & (x >= 0), discrete=True)
positive_integer: Constraint = Region("positive_integer", lambda x: is_whole(x) & (x >= 1), discrete=True)
real: Constraint = Region("real", lambda x: x == x)
real_vector: Constraint = independent(real, 1)
positive: Constraint = Region("positive", lambda x: x > 0)
nonnegative: Constraint = Region("nonnegative", lambda x: x >= 0)
unit_interval: Constraint = Region("unit_interval", lambda x: (x >= 0) & (x <= 1))
simplex: Constraint = Region("simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)
one_hot: Constraint = Region("one_hot", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), discrete=True, event_dim=1)
square: Constraint = Region("square", is_square, event_dim=2)
symmetric: Constraint = Region("symmetric", is_symmetric, event_dim=2)
lower_triangular: Constraint = Region("lower_triangular", is_lower, event_dim=2)
lower_cholesky: Constraint = Region("lower_cholesky", is_cholesky, event_dim=2)
corr_cholesky: Constraint = Region("corr_cholesky", has_rows_of_length_one, event_dim=2)
positive_definite: Constraint = Region("positive_definite", is_definite, event_dim=2)
positive_semidefinite: Constraint = Region(
    "positive_semidefinite", lambda x: is_symmetric(x) & (nbgrad.linalg.eigvalsh(x) >= 0).all(-1), event_dim=2
)
