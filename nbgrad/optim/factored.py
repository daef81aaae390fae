"""Adafactor: of a matrix it keeps sums of rows and of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import Tensor, finfo, zeros
from ..base.errors import ArgumentError
from ..dispatch.updates import Row, fused_updates
from ..linalg import vector_norm
from . import rules
from .optimizer import options_in, require, require_numbers, together
from .ruled import Ruled, at_least_0

__all__ = ["Adafactor"]


class Adafactor(Ruled):
    """The gradient over the root of a running mean of its square, of which a matrix keeps the means of rows and columns alone.

    A step is as long, in proportion to the parameter, as the learning rate says; at most ``1 / sqrt(number of the step)``.

    Args:
        params: parameters or groups, as for every ``Optimizer``; real ones. Of more than two dimensions, the last two are matrices.
        lr: the greatest length of a step, relative to the root mean square of the parameter.
        beta2_decay: ``step ** beta2_decay`` of the running means is the step's own.
        eps: the least root of a mean square, None: the dtype's epsilon; the least length of a parameter that steps follow.
        d: the greatest root mean square of a gradient that has been divided; what is longer is shortened.
        weight_decay: the parameter is multiplied by ``1 - lr * weight_decay`` at each step.
        foreach: as for ``Adam``.
        maximize: ascend.

    Raises:
        RangeError: an option out of range. DTypeError: a complex parameter.

    Source: Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018; options as in torch.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, 3, requires_grad=True)
    >>> optimizer = nbgrad.optim.Adafactor([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> _ = optimizer.step()
    >>> x.tolist()
    [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    >>> [tuple(optimizer.state[x][name].shape) for name in ("row_var", "col_var")]
    [(2, 1), (1, 3)]
    """

    takes_complex = False
    varying = ("lr", "beta2_decay", "weight_decay", "maximize")
    limits = {
        "lr": at_least_0,
        "beta2_decay": (lambda power: power <= 0, "a number that is not positive"),
        "d": (lambda d: d >= 1, "a number from 1 on"),
        "weight_decay": at_least_0,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def check(self, group: dict[str, Any]) -> None:
        """Options are numbers in their ranges."""
        super().check(group)
        eps = group["eps"]
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise ArgumentError(f"{self._name}: eps is {eps!r}, expected two numbers, or None and a number.")
        given = {f"eps[{index}]": value for index, value in enumerate(eps) if index or value is not None}
        require_numbers(self._name, given)
        for name, value in given.items():
            require(value >= 0, self._name, name, value, "a number that is not negative")

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        """Of vectors; ``shapes_of`` has what is kept of a parameter."""
        return {"variance": 0.0}

    def is_ready(self, p: Tensor, group: dict[str, Any]) -> bool:
        return self.state.get(p, {}).keys() >= shapes_of(p).keys()

    def prepared(self, p: Tensor, group: dict[str, Any], kept: dict[str, float]) -> dict[str, Any]:
        state = self.state[p]
        state.setdefault("step", 0)
        for name, shape in shapes_of(p).items():
            if name not in state:
                state[name] = zeros(shape, dtype=p.dtype, device=p.device)
        return state

    def row(self, p: Tensor, state: dict[str, Any], take: Callable[[dict[str, Any]], tuple]) -> Row:
        """The parameter and what is kept of it; the gradient."""
        return [p, *[state[name] for name in shapes_of(p)]], [p.grad]  # type: ignore[list-item]

    def scalars_of_means(self, group: dict[str, Any], step: Any) -> dict[str, Any]:
        """How much of the running means is a step's own."""
        return {"take": step ** group["beta2_decay"]}

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        lr = min(group["lr"], step**-0.5)
        return {"lr": -lr if group["maximize"] else lr, "shrink": 1.0 - group["lr"] * group["weight_decay"]}

    def apply(self, group: dict[str, Any], rows: list[Row], numbers: Callable[[Callable], dict[str, Any]]) -> None:
        """Bring the means up to date, then move along the gradients over their roots."""
        way = together(group)
        means = [([mean], [new]) for (p, *kept), (g,) in rows for mean, new in zip(kept, mean_squares(g))]
        fused_updates(rules.running_mean, means, numbers(self.scalars_of_means), way)
        moves = [([p], [self.direction(p, g, kept, group)]) for (p, *kept), (g,) in rows]
        fused_updates(rules.along, moves, numbers(self.scalars), way)

    @staticmethod
    def direction(p: Tensor, g: Tensor, kept: list[Tensor], group: dict[str, Any]) -> Tensor:
        """Where a parameter goes, in its own length."""
        least, shortest = group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        if len(kept) == 2:
            rows, columns = kept
            estimate = rows * (columns / rows.mean(-2, keepdim=True).clamp(min=least))
        else:
            (estimate,) = kept
        direction = estimate.clamp(min=least * least).rsqrt() * g
        return direction * (root_mean_square(p).clamp(min=shortest) / (root_mean_square(direction) / group["d"]).clamp(min=1.0))


def shapes_of(p: Tensor) -> dict[str, tuple[int, ...]]:
    """What is kept of a parameter, and in which shapes."""
    shape = tuple(p.shape)
    if len(shape) < 2:
        return {"variance": shape}
    return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}


def mean_squares(g: Tensor) -> tuple[Tensor, ...]:
    """Of rows and of columns; of a vector, the squares."""
    if g.dim() < 2:
        return (g * g,)
    return tuple(vector_norm(g, dim=dim, keepdim=True).square() / g.shape[dim] for dim in (-1, -2))


def root_mean_square(x: Tensor) -> Tensor:
    """Of all elements."""
    return vector_norm(x) / max(1, x.numel()) ** 0.5
