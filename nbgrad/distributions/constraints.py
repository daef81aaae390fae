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
from ..base.errors import NotSupportedError, RangeError, ShapeError

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
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

    >>> class Short(Constraint):
    ...     def check(self, value):
    ...         return value.abs() < 1
    >>> Short().check(nbgrad.tensor([0.5, 2.0]))
    tensor([ True, False])
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
        return f"{type(self).__name__.lstrip('_')}()"


class _Bounded(Constraint):
    """A region of numbers between bounds, which are attributes and are told."""

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__.lstrip('_')}({given})"


class _Dependent(Constraint):
    """What is known only of a distribution that has been made."""

    def __init__(self, *, is_discrete: Any = False, event_dim: Any = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        raise RangeError("constraints.dependent: it is known of a distribution alone. Hint: ask that for its support.")


class dependent_property(property, _Dependent):
    """A property of a class that depends on its parameters: as an attribute of the class it is a dependent constraint."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = False, event_dim: Any = 0) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> dependent_property:
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint is known of a distribution alone.

    >>> is_dependent(dependent), is_dependent(greater_than(0))
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """A constraint whose last ``reinterpreted_batch_ndims`` dimensions belong to the event, too.

    Raises:
        ShapeError: ``check`` gets a value of fewer dimensions.

    >>> _IndependentConstraint(greater_than(0), 1).check(nbgrad.tensor([[1.0, 2.0], [0.0, 1.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ShapeError(f"{self}: the value has shape {list(value.shape)}, expected at least {self.event_dim} dimensions.")
        return over_last(found, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


def widened(constraint: Constraint, event_dim: int) -> Constraint:
    """A constraint of events of so many dimensions, or of its own if they are more."""
    more = event_dim - constraint.event_dim
    return _IndependentConstraint(constraint, more) if more > 0 else constraint


def over_last(valid: Tensor, dims: int) -> Tensor:
    """Whether all of the last dimensions are valid."""
    return valid.all(tuple(range(-dims, 0))) if dims else valid


class _Cat(Constraint):
    """Constraints of parts of the given lengths, one after the other along a dimension.

    >>> _Cat([greater_than(0), less_than(0)], lengths=[1, 2]).check(nbgrad.tensor([2.0, -1.0, 1.0]))
    tensor([ True,  True, False])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq, self.dim, self.lengths = list(cseq), dim, [1] * len(cseq) if lengths is None else list(lengths)
        self.is_discrete = any(part.is_discrete for part in cseq)
        self.event_dim = max(part.event_dim for part in cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return nbgrad.cat([part.check(v) for part, v in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(Constraint):
    """Constraints of the slices along a dimension.

    Raises:
        ShapeError: ``check`` gets a value that has another number of slices.

    >>> _Stack([greater_than(0), less_than(0)]).check(nbgrad.tensor([2.0, 1.0]))
    tensor([ True, False])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.is_discrete = any(part.is_discrete for part in cseq)
        self.event_dim = max(part.event_dim for part in cseq) + (dim < 0)

    def check(self, value: Tensor) -> Tensor:
        if value.shape[self.dim] != len(self.cseq):
            raise ShapeError(
                f"constraints.stack: the value has shape {list(value.shape)}, expected {len(self.cseq)} slices along "
                f"dimension {self.dim}, one for each constraint."
            )
        return nbgrad.stack([part.check(v) for part, v in zip(self.cseq, value.unbind(self.dim))], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The support of the components of a mixture, which stand in a dimension of their own.

    >>> MixtureSameFamilyConstraint(greater_than(nbgrad.tensor([0.0, 1.0]))).check(nbgrad.tensor([2.0, 0.5]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        place = value.dim() - self.event_dim
        return self.base_constraint.check(value.unsqueeze(place)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint})"


# Numbers


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # all but NaN


class _From(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_From):
    """Reals above a bound.

    >>> _GreaterThan(0).check(nbgrad.tensor([0.0, 0.5]))
    tensor([False,  True])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_From):
    """Reals from a bound on.

    >>> _GreaterThanEq(0).check(nbgrad.tensor([0.0, -0.5]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Reals below a bound.

    >>> _LessThan(0).check(nbgrad.tensor([0.0, -0.5]))
    tensor([False,  True])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Reals of a closed interval.

    >>> _Interval(0, 1).check(nbgrad.tensor([0.0, 1.5]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Reals from a bound on, below another one.

    >>> _HalfOpenInterval(0, 1).check(nbgrad.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


def is_whole(value: Tensor) -> Tensor:
    """Whether values are whole numbers."""
    return value % 1 == 0


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _IntegerInterval(_Between):
    """Whole numbers of a closed interval.

    >>> _IntegerInterval(0, 2).check(nbgrad.tensor([2.0, 0.5]))
    tensor([ True, False])
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return is_whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_From):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return is_whole(value) & (value >= self.lower_bound)


# Vectors


class _Multinomial(Constraint):
    """Counts in the last dimension, with a sum of at most ``upper_bound``.

    >>> _Multinomial(3).check(nbgrad.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


# Matrices


class _Matrices(Constraint):
    event_dim = 2


class _Square(_Matrices):
    def check(self, value: Tensor) -> Tensor:
        return nbgrad.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        is_square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return is_square
        return nbgrad.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _OfEigenvalues(_Symmetric):
    """Symmetric matrices of whose eigenvalues something is demanded."""

    def accepts(self, eigenvalues: Tensor) -> Tensor:
        """Which eigenvalues may be."""
        raise NotImplementedError

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return symmetric
        symmetric = symmetric & value.isfinite().all(-1).all(-1)
        looked_at = value.masked_fill(~symmetric[..., None, None], 0.0)  # infinities and NaN have no eigenvalues
        return symmetric & self.accepts(nbgrad.linalg.eigvalsh(looked_at)).all(-1)


class _PositiveDefinite(_OfEigenvalues):
    def accepts(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues > 0


class _PositiveSemidefinite(_OfEigenvalues):
    def accepts(self, eigenvalues: Tensor) -> Tensor:
        return eigenvalues >= 0


class _LowerTriangular(_Matrices):
    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        tolerance = nbgrad.finfo(value.dtype).eps * value.size(-1) * 10
        return super().check(value) & ((value.square().sum(-1) - 1).abs() < tolerance).all(-1)


# The names of programs: classes, so that ``isinstance`` and ``biject_to.register`` know all constraints of a kind.
cat = _Cat
stack = _Stack
independent = _IndependentConstraint
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
multinomial = _Multinomial

dependent = _Dependent()
boolean: Constraint = _Boolean()
nonnegative_integer: Constraint = _IntegerGreaterThan(0)
positive_integer: Constraint = _IntegerGreaterThan(1)
real: Constraint = _Real()
real_vector: Constraint = independent(real, 1)
positive: Constraint = greater_than(0.0)
nonnegative: Constraint = greater_than_eq(0.0)
unit_interval: Constraint = interval(0.0, 1.0)
simplex: Constraint = _Simplex()
one_hot: Constraint = _OneHot()
square: Constraint = _Square()
symmetric: Constraint = _Symmetric()
lower_triangular: Constraint = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
positive_definite: Constraint = _PositiveDefinite()
positive_semidefinite: Constraint = _PositiveSemidefinite()
