"""Exponential families, whose entropies follow from their normalizers."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A family of densities ``exp(<natural parameters, statistics> - log normalizer + carrier measure)``.

    A subclass of a program's own that has ``_natural_params``, ``_log_normalizer(*params)`` and ``_mean_carrier_measure`` has an
    entropy: the normalizer's gradient is the mean of the statistics. The families here have formulas for theirs.

    Source: F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", 2010.

    >>> class Waiting(ExponentialFamily):
    ...     arg_constraints, _mean_carrier_measure = {}, 0
    ...     _natural_params = property(lambda d: (-d.rate,))
    ...     def __init__(self, rate):
    ...         self.rate = rate
    ...         super().__init__(rate.shape)
    ...     def _log_normalizer(self, x):
    ...         return -(-x).log()
    >>> Waiting(nbgrad.tensor(2.0)).entropy()
    tensor(0.3069, grad_fn=<SubBackward0>)
    """

    _natural_params: Any

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """The logarithm of what densities are divided by, from the natural parameters."""
        raise self._lacks("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of what the logarithm of a density has beside parameters and statistics."""
        raise self._lacks("entropy")

    def entropy(self) -> Tensor:
        carried = self._mean_carrier_measure
        with nbgrad.enable_grad():
            params = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            means = nbgrad.grad(normalizer.sum(), params, create_graph=True)
        shape = (*self._batch_shape, -1)
        products = [(p * mean).reshape(shape).sum(-1) for p, mean in zip(params, means)]
        return normalizer - carried - sum(products[1:], products[0])
