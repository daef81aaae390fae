"""nbgrad: automatic differentiation with the semantics of torch.autograd, in Python and Numba."""
from __future__ import annotations

from importlib import import_module as _import_module

from .collector import CollectorPause as _CollectorPause

_pause = _CollectorPause()

from . import (
    _C,
    cache,
    creation as _creation,
    grad_mode as _grad_mode,
    graph,
    graph_tools as _graph_tools,
    lazy_bits as _lazy_bits,
    ops as _ops,
)
from ._version import __version__
from .accumulate import enforce_grad_layout_policy
from .anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled, set_detect_anomaly
from .autograd import Variable, backward, grad, variable
from .batch import functions as _batched_functions
from .checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    GraphExecGroup,
    SelectiveCheckpointContext,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from .creation import tensor
from .dtypes import *
from .errors import *
from .function import Function, FunctionCtx, InplaceFunction, NestedIOFunction, once_differentiable
from .grad_mode import (
    _force_original_view_tracking,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
)
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .graph_task import (
    current_autograd_node,
    current_graph_task_id,
    is_multithreading_enabled,
    queue_callback,
    set_multithreading_enabled,
)
from .graph_tools import _unsafe_preserve_version_counter
from .inference import is_inference
from .install import FUNCTIONS as _functions, declare, install as _install
from .lowering import load as _load_lowerings
from .memory import release_memory
from .namespaces import install_namespaces as _install_namespaces
from .ops.expr import scalar
from .profiler import profile, record_function
from .questions import public_names as _public_names
from .recomputing.revolve import checkpoint_loop
from .tensor import Parameter, Tensor
from .tensor_forms import install_forms as _install_forms
from .tensor_methods import install as _install_methods
from .threads import get_num_threads, set_num_threads
from .vmap import vmap

# torch's users find all switches in one module.
vars(_grad_mode).update(set_multithreading_enabled=set_multithreading_enabled,
                        enforce_grad_layout_policy=enforce_grad_layout_policy)
_load_lowerings()
_install()
_public = _install_methods()
globals().update(_functions)
globals().update(_public)
globals().update(_public_names())
globals().update(_install_forms())
utils = _install_namespaces()


_lazy = ("nn", "optim", "forward_ad", "func", "functional", "testing", "cuda", "linalg", "special")


def __getattr__(name: str):
    """Subpackages, imported when first used, and functions that were declared since."""
    if name in _lazy:
        return _import_module(f"{__name__}.{name}")
    try:
        return _functions[name]
    except KeyError:
        raise AttributeError(f"module 'nbgrad' has no attribute {name!r}.") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions, *_lazy})


from .debug import activate as _activate

_activate()
_pause.end()
