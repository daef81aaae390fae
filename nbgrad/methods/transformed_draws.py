"""In-place draws that are functions of uniform, exponential or normal numbers.

Numbers are drawn and transformed in float64, and rounded once to the tensor's dtype: the tails of these distributions are where
float32 would be coarse.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..base.calls import CALLS
from ..base.dtypes import BOOL, float64, require_real_floating
from ..base.errors import DTypeError, RangeError
from ..base.grad_mode import mode
from ..creation.generators import Generator
from ..graph.edges import requires_grad as has_grad
from ..lowering.random import draw
from ..tensors.layout import layout_of
from ..tensors.tensor import Tensor
from ..views import check_inplace

__all__ = ["METHODS", "cauchy_", "geometric_", "log_normal_"]


def fill_by(op: str, x: Tensor, distribution: str, generator: Generator | None, a: float, b: float, f: Callable) -> Tensor:
    """Write ``f`` of random numbers into ``x``. What ``x`` was before has no influence, so its gradient is 0.

    Raises:
        InplaceError: ``x`` cannot be written to.
    """
    check_inplace(op, x, mode.enabled and has_grad(x))
    numbers = draw(distribution, layout_of(float64, x.layout.shape, None, x.layout.device), generator, a, b)
    return CALLS["copy_"](x, f(numbers))


def cauchy_(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """In place: numbers of the Cauchy distribution around ``median``, half of them within ``sigma`` of it.

    Raises:
        DTypeError: ``x`` is not floating. RangeError: ``sigma <= 0``.

    >>> import nbgrad
    >>> nbgrad.empty(1000).cauchy_(5.0, 1e-3).median().round()
    tensor(5.)
    """
    require_real_floating("cauchy_", x.layout.dtype)
    if not sigma > 0:
        raise RangeError(f"cauchy_: sigma must be > 0, got {sigma}.")
    # The quantile function, tan, of an angle from -pi / 2 to pi / 2.
    return fill_by("cauchy_", x, "uniform", generator, -math.pi / 2, math.pi / 2, lambda u: u.tan() * sigma + median)


def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """In place: numbers whose logarithm is normal, with that mean and standard deviation.

    Raises:
        DTypeError: ``x`` is not floating. RangeError: ``std <= 0``.

    >>> import nbgrad
    >>> nbgrad.empty(1000).log_normal_(0.0, 1e-3).median().round()
    tensor(1.)
    """
    require_real_floating("log_normal_", x.layout.dtype)
    if not std > 0:
        raise RangeError(f"log_normal_: std must be > 0, got {std}.")
    return fill_by("log_normal_", x, "normal", generator, mean, std, CALLS["exp"])


def geometric_(x: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """In place: how many tries of success probability ``p`` the first success takes: 1, 2, 3, ...

    Raises:
        DTypeError: ``x`` is bool or complex. RangeError: ``p`` is not between 0 and 1.

    >>> import nbgrad
    >>> nbgrad.empty(4, dtype=nbgrad.int64).geometric_(0.5).min() >= 1
    tensor(True)
    """
    dtype = x.layout.dtype
    if dtype.category == BOOL or dtype.is_complex:
        raise DTypeError(f"geometric_: expected a floating or integer tensor, got {dtype}.")
    if not 0 < p < 1:
        raise RangeError(f"geometric_: p must be between 0 and 1, got {p}.")
    # An exponential number of this rate is beyond k with probability (1 - p) ** k.
    return fill_by("geometric_", x, "exponential", generator, -math.log1p(-p), 0.0, CALLS["ceil"])


METHODS: dict[str, Callable] = {f.__name__: f for f in (cauchy_, geometric_, log_normal_)}
