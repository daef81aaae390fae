"""nbgrad: automatic differentiation with the semantics of torch.autograd, in Python and Numba."""
from __future__ import annotations

from importlib import import_module as _import_module

from . import creation as _creation
from ._version import __version__
from .accumulate import enforce_grad_layout_policy
from .autograd import backward, grad
from .engine import (current_autograd_node, current_graph_task_id, is_multithreading_enabled, queue_callback,
                     set_multithreading_enabled)
from .dtypes import *  # noqa: F403
from .grad_mode import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
                        set_grad_enabled)
from .creation import tensor
from . import cache, graph
from .function import Function, FunctionCtx, once_differentiable
from .threads import get_num_threads, set_num_threads
from .errors import *  # noqa: F403
from .install import FUNCTIONS as _functions, declare, install as _install
from .ops.expr import scalar
from .tensor_methods import install as _install_methods
from .lowering import load as _load_lowerings
from . import ops as _ops
from .tensor import Parameter, Tensor

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


from .debug import activate as _activate  # noqa: E402

_activate()
