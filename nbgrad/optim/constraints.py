"""Constraints of SciPy's minimisers, as functions of parameters, with derivatives by nbgrad."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter as Argument, signature
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError
from .ruled import in_a_row

__all__ = ["constraints_of"]

REQUIRED = (Argument.POSITIONAL_ONLY, Argument.POSITIONAL_OR_KEYWORD)


def constraints_of(problem: Any, given: Any, optimize: Any, second: bool) -> Any:
    """SciPy's constraints of all elements in a row.

    Args:
        problem: whose parameters they are about.
        given: a constraint, or several.
        optimize: SciPy's module.
        second: whether the method takes second derivatives.

    Raises:
        ArgumentError: something that is no constraint.
    """
    several = list(given) if isinstance(given, (tuple, list)) else [given]
    return [constraint_of(problem, each, optimize, second) for each in several]


def constraint_of(problem: Any, given: Any, optimize: Any, second: bool) -> Any:
    """One of them; what is SciPy's own, a function of a vector, is left as it is."""
    if isinstance(given, optimize.LinearConstraint):
        return given
    if isinstance(given, dict) and callable(given.get("fun")):
        if not is_of_parameters(given["fun"]):
            return given
        own = Constraint(problem, given["fun"])
        return {**given, "fun": own.values, "jac": own.jacobian}
    if not isinstance(given, optimize.NonlinearConstraint):
        raise ArgumentError(
            f"scipy_minimize: constraints: a {type(given).__name__} came, expected SciPy's LinearConstraint or "
            'NonlinearConstraint, or a dict with "type" and "fun".'
        )
    if not is_of_parameters(given.fun):
        return given
    own = Constraint(problem, given.fun)
    more = {"hess": own.hessian} if second else {}
    ends = [np.asarray(end.tolist() if isinstance(end, Tensor) else end, dtype=float).ravel() for end in (given.lb, given.ub)]
    low, high = (end if end.size > 1 else float(end[0]) for end in ends)
    return optimize.NonlinearConstraint(own.values, low, high, jac=own.jacobian, keep_feasible=given.keep_feasible, **more)


def is_of_parameters(fun: Callable) -> bool:
    """Whether a function is called without arguments, as the loss is; SciPy's own get a vector."""
    try:
        arguments = signature(fun).parameters.values()
    except (TypeError, ValueError):
        return False
    return not any(each.kind in REQUIRED and each.default is Argument.empty for each in arguments)


class Constraint:
    """A function of parameters that is kept within limits.

    Attributes:
        gradient: by all parameters, of its values with ``weights``, with its history; computed after the ``at``-th move.
    """

    def __init__(self, problem: Any, fun: Callable[[], Any]) -> None:
        self.problem, self.fun = problem, fun
        self.at, self.weights = -1, np.empty(0)
        self.gradient: Any = None

    def evaluated(self, vector: np.ndarray) -> Tensor:
        """All its values there in a row.

        Raises:
            ArgumentError: they are no tensors.
        """
        self.problem.move(vector)
        found = self.fun()
        parts = list(found) if isinstance(found, (tuple, list)) else [found]
        for part in parts:
            if not isinstance(part, Tensor):
                raise ArgumentError(f"scipy_minimize: a constraint returned a {type(part).__name__}, expected a tensor.")
        return nbgrad.cat([in_a_row(part) for part in parts])

    def values(self, vector: np.ndarray) -> np.ndarray:
        """They, as SciPy takes them."""
        with nbgrad.no_grad():
            return self.problem.flat([self.evaluated(vector)])

    def jacobian(self, vector: np.ndarray) -> np.ndarray:
        """A row for each of them."""
        with nbgrad.enable_grad():
            found = self.evaluated(vector)
            rows = [self.problem.flat(self.problem.derivatives(value, retain_graph=True)) for value in found.unbind()]
        return np.stack(rows) if rows else np.empty((0, vector.size))

    def hessian(self, vector: np.ndarray, weights: np.ndarray) -> Any:
        """The sum of their Hessians times weights, by its products."""
        from scipy.sparse.linalg import LinearOperator

        vector, weights = vector.copy(), weights.copy()
        product = lambda direction: self.product(vector, weights, np.asarray(direction).reshape(-1))
        return LinearOperator((vector.size, vector.size), matvec=product, dtype=float)

    def product(self, vector: np.ndarray, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """That sum times a direction: the derivative of the weighted gradient's product with it."""
        with nbgrad.enable_grad():
            self.problem.move(vector)
            if self.at != self.problem.moves or not np.array_equal(self.weights, weights):
                found = self.evaluated(vector)
                total = (found * nbgrad.tensor(weights, dtype=found.dtype, device=found.device)).sum()
                self.gradient = self.problem.gradient_of(total)
                self.at, self.weights = self.problem.moves, weights
            return self.problem.along(self.gradient, direction)
