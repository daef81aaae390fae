"""Invertible functions of tensors, with the logarithm of how they change volumes: what they share, and how they are joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import NotSupportedError, RangeError, ShapeError
from . import constraints
from .constraints import Constraint

__all__ = [
    "ComposeTransform",
    "Fixed",
    "IndependentTransform",
    "ReshapeTransform",
    "Transform",
    "at_least",
    "identity_transform",
    "summed",
]


def at_least(owner: Any, shape: Any, dims: int) -> Any:
    """The shape of an argument or of a value, which has so many dimensions or more.

    Raises:
        ShapeError: it has fewer.
    """
    if len(shape) < dims:
        raise ShapeError(
            f"{type(owner).__name__}: got a shape of {len(shape)} dimensions, {list(shape)}, expected at least {dims}."
        )
    return nbgrad.Size(shape)


def summed(x: Tensor, dims: int) -> Tensor:
    """The sum over the last dimensions."""
    return x.sum(tuple(range(-dims, 0))) if dims else x


class Transform:
    """An invertible function. A subclass has ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    Args:
        cache_size: 1 keeps the last argument and result, so that the inverse of a result is its argument.

    Attributes:
        domain, codomain: constraints.
        bijective: whether every value has one argument. sign: of the derivative, where it has one.

    Raises:
        RangeError: another ``cache_size``.

    >>> import nbgrad
    >>> class Doubled(Transform):
    ...     def _call(self, x):
    ...         return 2 * x
    ...     def _inverse(self, y):
    ...         return y / 2
    >>> Doubled().inv(nbgrad.tensor([2.0, 6.0]))
    tensor([1., 3.])
    """

    bijective: bool = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise RangeError(f"{type(self).__name__}: cache_size is {cache_size}, expected 0 or 1.")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Any = None

    @property
    def event_dim(self) -> int:
        """How many dimensions an argument has that stand apart."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ShapeError(
            f"{type(self).__name__}: arguments and values have events of different dimensions. Hint: domain.event_dim."
        )

    @property
    def sign(self) -> Any:
        """The sign of the derivative, of monotone functions of numbers.

        Raises:
            NotSupportedError: it is none.
        """
        raise NotSupportedError(f"{type(self).__name__}.sign: it is no monotone function of numbers.")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with another cache."""
        if self._cache_size == cache_size:
            return self
        import copy

        new = copy.copy(self)
        new._cache_size, new._cached_x_y, new._inv = cache_size, (None, None), None
        return new

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        self._cached_x_y = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        self._cached_x_y = (x, y) if self._cache_size else (None, None)
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotSupportedError(f"{type(self).__name__}: _call is not defined. Hint: define it in the subclass.")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotSupportedError(f"{type(self).__name__}: it has no inverse.")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute determinant of the Jacobian, from argument and value."""
        raise NotSupportedError(f"{type(self).__name__}: it has no Jacobian determinant.")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of values, from that of arguments.

        Raises:
            ShapeError: arguments have more dimensions.
        """
        return at_least(self, shape, self.domain.event_dim)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of arguments, from that of values.

        Raises:
            ShapeError: values have more dimensions.
        """
        return at_least(self, shape, self.codomain.event_dim)

    def _compared(self) -> tuple:
        """What makes two transforms of a class equal: here, that they are one object."""
        return (id(self),)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(alike(x, y) for x, y in zip(self._compared(), other._compared(), strict=True))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def alike(x: Any, y: Any) -> bool:
    """Whether two parameters are equal."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return bool((nbgrad.as_tensor(x) == nbgrad.as_tensor(y)).all())
    return bool(x == y)


class Fixed(Transform):
    """Transforms without parameters: all of a class are equal."""

    def _compared(self) -> tuple:
        return ()


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain = property(lambda t: t._inv.codomain)
    codomain = property(lambda t: t._inv.domain)
    bijective = property(lambda t: t._inv.bijective)
    sign = property(lambda t: t._inv.sign)

    def _compared(self) -> tuple:
        return (self._inv,)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other.

    Attributes:
        parts: these transforms.

    >>> from nbgrad.distributions import AffineTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()]).inv(nbgrad.ones(1))
    tensor([0.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    domain = property(lambda t: far_end([(part.codomain, part.domain) for part in reversed(t.parts)]))
    codomain = property(lambda t: far_end([(part.domain, part.codomain) for part in t.parts]))
    bijective = property(lambda t: all(part.bijective for part in t.parts))
    sign = property(lambda t: math.prod(part.sign for part in t.parts))

    def _compared(self) -> tuple:
        return (self.parts,)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:  # which have the cache
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return nbgrad.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims, found = self.domain.event_dim, []
        for part, before, after in zip(self.parts, values, values[1:]):
            found.append(summed(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        total = found[0]
        for term in found[1:]:
            total = total + term
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def far_end(steps: Sequence[tuple[Constraint, Constraint]]) -> Constraint:
    """Where steps lead, of which each has a constraint before it and one after it: with the dimensions that any of them needs."""
    if not steps:
        return constraints.real
    dims = steps[0][0].event_dim
    for before, after in steps:
        dims = max(dims + after.event_dim - before.event_dim, after.event_dim)
    return constraints.widened(steps[-1][1], dims)


identity_transform: Transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions belong to the event, too.

    >>> from nbgrad.distributions import ExpTransform
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(nbgrad.ones(3), nbgrad.ones(3))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    domain = property(lambda t: constraints.independent(t.base_transform.domain, t.reinterpreted_batch_ndims))
    codomain = property(lambda t: constraints.independent(t.base_transform.codomain, t.reinterpreted_batch_ndims))
    bijective = property(lambda t: t.base_transform.bijective)
    sign = property(lambda t: t.base_transform.sign)

    def _compared(self) -> tuple:
        return self.base_transform, self.reinterpreted_batch_ndims

    def _call(self, x: Tensor) -> Tensor:
        at_least(self, x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        at_least(self, y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(super().forward_shape(shape))

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(super().inverse_shape(shape))

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of another shape.

    >>> ReshapeTransform((4,), (2, 2))(nbgrad.zeros(3, 4)).shape
    nbgrad.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = nbgrad.Size(in_shape), nbgrad.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ShapeError(
                f"ReshapeTransform: {list(self.in_shape)} and {list(self.out_shape)} have different numbers of elements."
            )

    def _compared(self) -> tuple:
        return self.in_shape, self.out_shape

    domain = property(lambda t: constraints.independent(constraints.real, len(t.in_shape)))
    codomain = property(lambda t: constraints.independent(constraints.real, len(t.out_shape)))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return nbgrad.zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype, device=x.device)

    def forward_shape(self, shape: Any) -> Any:
        return self.exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.exchanged(shape, self.out_shape, self.in_shape)

    def exchanged(self, shape: Any, old: Any, new: Any) -> Any:
        """A shape that ends in ``old``, with ``new`` in its place.

        Raises:
            ShapeError: it ends otherwise.
        """
        at_least(self, shape, len(old))
        place = len(shape) - len(old)
        if tuple(shape[place:]) != tuple(old):
            raise ShapeError(f"ReshapeTransform: events of shape {list(shape[place:])}, expected {list(old)}.")
        return nbgrad.Size((*shape[:place], *new))
