"""SciPy's minimisers of several variables, with gradients and products with the Hessian by nbgrad."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, NotSupportedError, RangeError, ShapeError, require_callable
from ..nn.utils import listed
from .constraints import constraints_of
from .ruled import in_a_row, out_of_a_row

__all__ = ["scipy_minimize"]

# SciPy's methods by what they are given; the others are given the loss alone.
WITH_PRODUCT = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
WITH_GRADIENT = WITH_PRODUCT | WITH_HESSIAN | {"cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"}


def scipy_minimize(
    fn: Callable[[], Tensor],
    params: Tensor | Iterable[Tensor],
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = None,
    tol: float | None = None,
    callback: Callable | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Minimise a function of parameters by one of SciPy's methods, and leave the parameters where that ends.

    The method gets gradients, and products with the Hessian or the Hessian itself if it takes them, all by backward passes. SciPy's
    numbers are float64; loss and derivatives are computed in the parameters' dtype, on their device.

    Args:
        fn: ``fn()``, the loss, a real tensor of one element, as computed from ``params``; it is not to call ``backward``.
        params: leaves that require grad, or one; complex ones count as pairs of real numbers.
        method: of ``scipy.optimize.minimize``, as ``"L-BFGS-B"``, ``"Newton-CG"``, ``"Nelder-Mead"``; None: SciPy's choice.
        bounds: a pair of the least and the greatest value, numbers or tensors that broadcast, None for no bound; or one such pair,
            or None, for each parameter; or SciPy's ``Bounds`` of all elements in a row.
        constraints: one or several, for ``"trust-constr"``, ``"SLSQP"`` and ``"COBYLA"``: SciPy's ``NonlinearConstraint(fun, least,
            greatest)`` or dicts ``{"type": "eq", "fun": fun}`` (``"ineq"``: 0 or more), where ``fun()`` gives a tensor, or several,
            computed from ``params``; Jacobians and Hessians are backward passes. A ``LinearConstraint``, and one whose ``fun``
            takes an argument, is SciPy's own, of all elements in a row.
        tol, callback, options: as of ``scipy.optimize.minimize``.

    Returns:
        SciPy's ``OptimizeResult``: ``fun``, ``success``, ``message``, ``nit``, and ``x``, all parameters in a row.

    Raises:
        NotSupportedError: SciPy is not installed. ArgumentError: ``fn`` is no function or gives no tensor; a parameter is none that
            requires grad; a constraint is none. ShapeError: the loss has several elements; bounds do not broadcast.
            RangeError: a least value above the greatest.
        What ``fn`` raises; the parameters are where they were then.

    Source: ``scipy.optimize.minimize``.

    >>> import nbgrad
    >>> x = nbgrad.tensor([3.0, -2.0], requires_grad=True)
    >>> result = nbgrad.optim.scipy_minimize(lambda: ((x - 1) ** 2).sum(), x, "Newton-CG")
    >>> result.success, x.detach()
    (True, tensor([1., 1.]))

    >>> ball = {"type": "ineq", "fun": lambda: 1 - x.square().sum()}
    >>> nbgrad.optim.scipy_minimize(lambda: ((x - 1) ** 2).sum(), x, constraints=ball).success, x.detach()
    (True, tensor([0.7071, 0.7071]))
    """
    optimize = scipys()
    require_callable("scipy_minimize", fn)
    problem = Problem(fn, [params] if isinstance(params, Tensor) else listed("scipy_minimize", params))
    name = method.lower() if isinstance(method, str) else "bfgs" if method is None else ""
    limits = {} if constraints is None else {"constraints": constraints_of(problem, constraints, optimize, name == "trust-constr")}
    given: dict[str, Any] = {"jac": True} if name in WITH_GRADIENT or not isinstance(method, str) else {}
    if name in WITH_PRODUCT:
        given["hessp"] = problem.product
    elif name in WITH_HESSIAN:
        given["hess"] = problem.hessian
    start = problem.vector()
    try:
        result = optimize.minimize(
            problem.loss_and_gradient if given else problem.loss,
            start,
            method=method,
            bounds=None if bounds is None else problem.bounds(bounds, optimize.Bounds),
            tol=tol,
            callback=callback,
            options=options,
            **given,
            **limits,
        )
    except BaseException:
        problem.move(start)
        raise
    problem.move(result.x)
    return result


def scipys() -> Any:
    """SciPy's module.

    Raises:
        NotSupportedError: it is not installed.
    """
    try:
        from scipy import optimize
    except ImportError as error:
        raise NotSupportedError("scipy_minimize: SciPy is not installed. Hint: pip install scipy.") from error
    return optimize


class Problem:
    """A function of parameters, as one of all their elements in a row.

    Attributes:
        moves: how often the parameters were moved; the last time to ``place``, by writes that made them ``versions``.
        at: after which move ``gradient`` was computed, with its history.
    """

    def __init__(self, fn: Callable[[], Tensor], params: Sequence[Any]) -> None:
        if not params:
            raise RangeError("scipy_minimize: params is empty, expected tensors.")
        for position, p in enumerate(params):
            if not isinstance(p, Tensor) or not p.is_leaf or not p.requires_grad:
                raise ArgumentError(f"scipy_minimize: params[{position}] is {described(p)}, expected a leaf that requires grad.")
        self.fn, self.params = fn, list(params)
        self.at, self.moves = -1, 0
        self.place: np.ndarray | None = None
        self.versions: list[int] = []
        self.gradient: Any = None

    # ---- between parameters and vectors ----------------------------------------------------------------------------------

    def vector(self) -> np.ndarray:
        """All elements of the parameters in a row."""
        return self.flat([p.detach() for p in self.params])

    def move(self, vector: np.ndarray) -> None:
        """Put the parameters there, unless they are: a history of where they were is of no use then."""
        if self.place is not None and np.array_equal(self.place, vector) and self.versions == [p._version for p in self.params]:
            return
        with nbgrad.no_grad():
            for p, part in zip(self.params, out_of_a_row(nbgrad.tensor(vector, device="cpu"), self.params)):
                p.copy_(part)
        self.moves, self.place, self.versions = self.moves + 1, vector.copy(), [p._version for p in self.params]

    @staticmethod
    def flat(tensors: Iterable[Tensor]) -> np.ndarray:
        """All elements in a row, as SciPy takes them."""
        return np.concatenate([in_a_row(x.detach()).cpu().to(nbgrad.float64).numpy() for x in tensors])

    # ---- what SciPy asks for -----------------------------------------------------------------------------------------------

    def evaluated(self, vector: np.ndarray) -> Tensor:
        """The loss there."""
        self.move(vector)
        loss = self.fn()
        if not isinstance(loss, Tensor):
            raise ArgumentError(f"scipy_minimize: fn returned {described(loss)}, expected a tensor.")
        if loss.numel() != 1:
            raise ShapeError(f"scipy_minimize: fn returned a tensor of shape {tuple(loss.shape)}, expected one element.")
        return loss.reshape(())

    def loss(self, vector: np.ndarray) -> float:
        """The loss, for methods that take nothing else."""
        with nbgrad.no_grad():
            return self.evaluated(vector).item()

    def loss_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss, and its gradient."""
        with nbgrad.enable_grad():
            loss = self.evaluated(vector)
            return loss.item(), self.flat(self.derivatives(loss))

    def derivatives(self, of: Tensor, along: Tensor | None = None, **options: Any) -> list[Tensor]:
        """Derivatives by all parameters; zeros by those that ``of`` does not depend on."""
        if not of.requires_grad:
            return [nbgrad.zeros_like(p) for p in self.params]
        return [*nbgrad.grad(of, self.params, along, allow_unused=True, materialize_grads=True, **options)]

    def gradient_of(self, of: Tensor) -> Tensor:
        """The gradient with its history, by all parameters in a row."""
        return nbgrad.cat([in_a_row(g) for g in self.derivatives(of, create_graph=True)])

    def differentiated(self, vector: np.ndarray) -> Tensor:
        """The gradient there, with its history."""
        self.move(vector)
        if self.at != self.moves:
            self.gradient, self.at = self.gradient_of(self.evaluated(vector)), self.moves
        return self.gradient

    def along(self, gradient: Tensor, direction: np.ndarray) -> np.ndarray:
        """The derivative of a gradient's product with a direction."""
        along = nbgrad.tensor(direction, dtype=gradient.dtype, device=gradient.device)
        return self.flat(self.derivatives(gradient, along, retain_graph=True))

    def product(self, vector: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The Hessian there times a direction: the derivative of the gradient's product with it."""
        with nbgrad.enable_grad():
            return self.along(self.differentiated(vector), direction)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """The Hessian there, a row after the other."""
        return np.stack([self.product(vector, row) for row in np.eye(vector.size)])

    def bounds(self, given: Any, kind: type) -> Any:
        """SciPy's bounds of all elements."""
        if isinstance(given, kind):
            return given
        try:
            pairs = [given] * len(self.params) if is_pair(given) else list(given)
        except TypeError:
            pairs = []
        if len(pairs) != len(self.params) or not all(pair is None or is_pair(pair) for pair in pairs):
            raise ArgumentError(
                f"scipy_minimize: bounds is {given!r}, expected a pair of the least and the greatest value, or one for each of "
                f"{len(self.params)} parameters."
            )
        ends = [
            np.concatenate([self.end(p, (None, None) if pair is None else pair, side) for p, pair in zip(self.params, pairs)])
            for side in (0, 1)
        ]
        if np.any(ends[0] > ends[1]):
            raise RangeError("scipy_minimize: bounds: a least value is above the greatest one.")
        return kind(*ends)

    @staticmethod
    def end(p: Tensor, pair: Sequence[Any], side: int) -> np.ndarray:
        """The least (0) or greatest (1) values of all elements of a parameter."""
        value = pair[side]
        value = (-np.inf, np.inf)[side] if value is None else value.tolist() if isinstance(value, Tensor) else value
        shape = (*p.shape, 2) if p.is_complex() else tuple(p.shape)
        try:
            return np.broadcast_to(np.asarray(value, dtype=float), shape).ravel()
        except (TypeError, ValueError):
            raise ShapeError(f"scipy_minimize: bounds: {value!r} does not broadcast to a parameter of shape {shape}.") from None


def is_pair(given: Any) -> bool:
    """Whether bounds are two values, and not one pair for each parameter."""
    return isinstance(given, (tuple, list)) and len(given) == 2 and not any(isinstance(end, (tuple, list)) for end in given)


def described(x: Any) -> str:
    """What came, in words."""
    if not isinstance(x, Tensor):
        return f"a {type(x).__name__}"
    return "a tensor that does not require grad" if not x.requires_grad else "the result of an operation"
