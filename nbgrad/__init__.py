"""nbgrad: automatic differentiation with the semantics of torch.autograd, in Python and Numba."""
from __future__ import annotations

from . import creation as _creation
from ._version import __version__
from .autograd import backward, grad
from .dtypes import *  # noqa: F403
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .creation import tensor
from .install import FUNCTIONS as _functions, install as _install
from .lowering import copy as _copy
from .ops import copies as _copies, elementwise as _elementwise
from .tensor import Parameter, Tensor

_install()
globals().update(_functions)
