"""The functions of the Array API standard 2024.12, by its names, on tensors: what libraries find by ``x.__array_namespace__()``.

>>> import nbgrad
>>> xp = nbgrad.ones(2).__array_namespace__()
>>> xp.permute_dims(xp.reshape(xp.arange(6), (2, 3)), (1, 0)).shape
nbgrad.Size([3, 2])
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, inf, nan, pi
from typing import Any

import nbgrad

from .. import complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from ..base.dtypes import bool_ as bool
from . import creation, elements, fft, folds, linalg, shapes
from .creation import *  # noqa: F403
from .dtypes import __array_namespace_info__, astype, can_cast, finfo, iinfo, isdtype, result_type
from .elements import *  # noqa: F403
from .elements import promoting
from .folds import *  # noqa: F403
from .linalg import matmul
from .shapes import *  # noqa: F403

__array_api_version__ = "2024.12"
newaxis = None

# Functions that are the package's own, by the standard's names.
_SAME = """
abs acos acosh asin asinh atan atanh conj cos cosh exp expm1 imag isfinite isinf isnan log log1p log2 log10 logical_not
negative positive real reciprocal signbit sin sinh square sqrt tan tanh
moveaxis tile broadcast_to empty_like full_like ones_like zeros_like from_dlpack
"""
# The same for operands that are promoted: see ``promoting``. torch's ``equal`` compares whole tensors.
_PROMOTING = """
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide floor_divide greater
greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply not_equal pow remainder
subtract where
"""


def _of_package(name: str) -> Callable[..., Any]:
    """The package's function, as a function of this namespace."""
    function: Callable[..., Any] = getattr(nbgrad, name)
    return function


globals().update({name: _of_package(name) for name in _SAME.split()})
globals().update({name: promoting(name) for name in _PROMOTING.split()})
bitwise_invert, equal = nbgrad.bitwise_not, promoting("equal", "eq")

__all__ = [  # noqa: PLE0604
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "bitwise_invert",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "equal",
    "fft",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "linalg",
    "matmul",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    *_SAME.split(),
    *_PROMOTING.split(),
    *creation.__all__,
    *elements.__all__,
    *folds.__all__,
    *shapes.__all__,
]
