"""Adam for tables of which a step uses a few rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..dispatch.updates import Row, fused_updates
from ..tensors.tensor import is_sparse
from . import rules
from .adam import LIMITS, means, rates
from .optimizer import options_in
from .ruled import Ruled, update_at_places

__all__ = ["SparseAdam"]


class SparseAdam(Ruled):
    """Adam that leaves rows without a gradient alone: neither they nor their moments move.

    Gradients are sparse, as those of ``nn.Embedding(sparse=True)``; in a dense one, a row has no gradient where it is all zeros.

    Args:
        params: parameters or groups, as for every ``Optimizer``; real ones.
        lr, betas, maximize: as for ``Adam``.
        eps: added to the divisor, before the correction of the mean square.

    Raises:
        RangeError: an option out of range. DTypeError: a complex parameter.

    Source: torch's SparseAdam; the formula is Adam's, on the rows that have a gradient.

    >>> import nbgrad
    >>> x = nbgrad.ones(2, 1, requires_grad=True)
    >>> optimizer = nbgrad.optim.SparseAdam([x], lr=0.5)
    >>> x[1].square().sum().backward()
    >>> _ = optimizer.step()
    >>> x.detach()
    tensor([[1.0000],
            [0.5000]])
    """

    takes_complex, takes_sparse = False, True
    count, follows = staticmethod(rules.corrections), ("step_size", "root")
    limits = {
        "lr": (lambda lr: lr > 0, "a positive number"),
        "eps": (lambda eps: eps > 0, "a positive number"),
        "betas[]": LIMITS["betas[]"],
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, options_in(locals()))

    def kept(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def counting(self, group: dict[str, Any]) -> dict[str, Any]:
        return rates(group)

    def constants(self, group: dict[str, Any]) -> dict[str, Any]:
        return means({**group, "weight_decay": 0.0}, False)

    def scalars(self, group: dict[str, Any], step: Any, *numbers: float) -> dict[str, Any]:
        found = super().scalars(group, step)
        return {**found, "eps": group["eps"] / found["root"]}

    def apply(self, group: dict[str, Any], rows: list[Row], numbers: Callable[[Callable], dict[str, Any]]) -> None:
        """Update the rows that have a gradient, and put them back."""
        scalars = numbers(self.scalars)
        for written, (g,) in rows:
            if is_sparse(g):
                update_at_places(rules.adam, (written, (g,)), scalars)
                continue
            used = g.reshape(g.shape[0] if g.dim() else 1, -1).ne(0).any(1).nonzero().reshape(-1)
            tables = [x if x.dim() else x.reshape(1) for x in (*written, g)]
            *parts, gradient = [x.index_select(0, used) for x in tables]
            fused_updates(rules.adam, [(parts, [gradient])], scalars)
            for table, part in zip(tables, parts):
                table.index_copy_(0, used, part)
