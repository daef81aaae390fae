"""nbgrad: automatic differentiation with the semantics of torch.autograd, in Python and Numba."""
from __future__ import annotations

from importlib import import_module as _import_module

from . import cache, creation as _creation, graph, ops as _ops
from ._version import __version__
from .accumulate import enforce_grad_layout_policy
from .autograd import backward, grad
from .creation import tensor
from .dtypes import *
from .engine import (
    current_autograd_node,
    current_graph_task_id,
    is_multithreading_enabled,
    queue_callback,
    set_multithreading_enabled,
)
from .errors import *
from .function import Function, FunctionCtx, once_differentiable
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .install import FUNCTIONS as _functions, declare, install as _install
from .lowering import load as _load_lowerings
from .ops.expr import scalar
from .tensor import Parameter, Tensor
from .tensor_methods import install as _install_methods
from .threads import get_num_threads, set_num_threads

_load_lowerings()
_install()
_public = _install_methods()
globals().update(_functions)
globals().update(_public)


def __getattr__(name: str):
    """Subpackages, imported when first used, and functions that were declared since."""
    if name in ("nn", "optim"):
        return _import_module(f"{__name__}.{name}")
    try:
        return _functions[name]
    except KeyError:
        raise AttributeError(f"module 'nbgrad' has no attribute {name!r}.") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions, "nn", "optim"})


from .debug import activate as _activate

_activate()
