"""nbgrad: automatic differentiation with the semantics of torch.autograd, in Python and Numba."""

from __future__ import annotations

from importlib import import_module as _import_module

from .base.collector import CollectorPause as _CollectorPause

_pause = _CollectorPause()

from . import _C, cache, graph, ops as _ops
from ._version import __version__
from .accumulate import enforce_grad_layout_policy
from .anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled, set_detect_anomaly
from .autograd import batched_functions as _batched_functions, graph_tools as _graph_tools
from .autograd.entry import backward, grad
from .autograd.function import Function, FunctionCtx, InplaceFunction, NestedIOFunction, once_differentiable
from .autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from .autograd.old_names import Variable, variable
from .base.compat import _assert, _force_original_view_tracking, is_view_replay_enabled
from .base.dtypes import *
from .base.errors import *
from .base.function_attributes import place as _place
from .base.grad_mode import is_grad_enabled, is_inference_mode_enabled
from .base.mode_contexts import _unsafe_preserve_version_counter, enable_grad, inference_mode, no_grad, set_grad_enabled
from .batch.vmap import vmap
from .composites import load as _load_composites
from .creation import factories as _creation
from .creation.from_data import tensor
from .graph.task import (
    current_autograd_node,
    current_graph_task_id,
    is_multithreading_enabled,
    queue_callback,
    set_multithreading_enabled,
)
from .lowering import load as _load_lowerings
from .methods.autograd_methods import install as _install_methods
from .methods.declare import declare
from .methods.functions import FUNCTIONS as _functions
from .methods.install import install as _install
from .methods.memory import release_memory
from .methods.namespaces import PLACES as _places, install_namespaces as _install_namespaces
from .methods.operation_namespaces import install_operation_namespaces as _install_operation_namespaces
from .methods.public_names import public_names as _public_names
from .methods.threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads
from .methods.torch_members import install_forms as _install_forms
from .modes import lazy_bits as _lazy_bits
from .modes.inference import is_inference
from .ops.expr import scalar
from .profiling.profiler import profile, record_function
from .recomputing.checkpoint import (
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
from .recomputing.revolve import checkpoint_loop
from .tensors.tensor import Parameter, Tensor

_load_lowerings()
_load_composites()
_install()
_public = _install_methods()
globals().update(_functions)
globals().update(_public)
globals().update(_public_names())
globals().update(_install_forms())
_place(__name__, globals())
globals().update(_install_namespaces())
_install_operation_namespaces()


# Modules that are imported when they are first asked for; of public paths of one name the places stand in namespaces.py.
_lazy = {
    **{name: name for name in ("nn", "optim", "func", "jit", "testing", "cuda", "linalg", "special", "backends", "distributions")},
    **{name: name for name in ("amp", "array_api", "cpu", "fft", "fx", "integrate", "interop", "multiprocessing", "safetensors")},
    **{name: name for name in ("quasirandom", "signal", "sparse", "version", "__config__")},
    **{path: place for path, place in _places.items() if place and "." not in path},
}


_AUTOCAST = """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled
set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
set_autocast_gpu_dtype""".split()
_CONDITIONS = (
    "_check",
    *(f"_check_{name}" for name in "index is_size not_implemented tensor_all tensor_all_with type value with".split()),
)
_SYMBOLS = (
    "PyTorchFileReader",
    "SymBool",
    "SymFloat",
    "SymInt",
    *(f"sym_{name}" for name in "float int ite max min not sqrt sum".split()),
)
_NATIVE = """affine_grid_generator alpha_dropout_ batch_norm constant_pad_nd conv_tbc cosine_embedding_loss ctc_loss dropout_
embedding embedding_renorm_ feature_alpha_dropout_ feature_dropout_ frobenius_norm grid_sampler grid_sampler_2d
grid_sampler_3d group_norm gru gru_cell hinge_embedding_loss instance_norm layer_norm lstm lstm_cell
margin_ranking_loss max_pool1d_with_indices native_batch_norm native_channel_shuffle native_dropout native_group_norm
native_layer_norm norm_except_dim poisson_nll_loss rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_
triplet_margin_loss""".split()
_LAYOUTS = "coo", "csr", "csc", "bsr", "bsc"
# Functions of modules that are names of the package too, and are imported when they are first asked for.
_late = {
    **dict.fromkeys(("compile", "associative_scan", "cond", "map", "scan", "while_loop"), "jit"),
    **dict.fromkeys(("bilinear", "channel_shuffle", "pdist", "rms_norm"), "nn.functional"),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle"), "nn.functional"),
    **dict.fromkeys(("_sample_dirichlet", "_standard_gamma", "binomial", "poisson"), "distributions.sampling"),
    **dict.fromkeys(_AUTOCAST, "amp.autocast_mode"),
    **dict.fromkeys(_NATIVE, "nn.native_functions"),
    "summary": "nn.summary",
    **dict.fromkeys(("dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm"), "sparse"),
    **dict.fromkeys([f"sparse_{name}" for name in _LAYOUTS], "sparse"),
    **dict.fromkeys([f"sparse_{name}_tensor" for name in (*_LAYOUTS, "compressed")], "sparse"),
    **dict.fromkeys(_CONDITIONS, "base.conditions"),
    **dict.fromkeys(("Event", "Stream"), "cuda"),
    **dict.fromkeys(("ScriptFunction", "ScriptModule"), "utilities.scripting"),
    **dict.fromkeys(_SYMBOLS, "utilities.symbols"),
    **dict.fromkeys(("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"), "sparse.coordinates"),
    "GradScaler": "amp.grad_scaler",
    "Future": "utilities.futures",
    **dict.fromkeys([f"{name}_window" for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")], "signal.periodic"),
}


def __getattr__(name: str):
    """Subpackages, imported when first used, and functions that were declared since."""
    if name in _lazy:
        return _import_module(f"{__name__}.{_lazy[name]}")
    if name in _late:
        return getattr(_import_module(f"{__name__}.{_late[name]}"), name)
    if name.startswith("_foreach_"):
        return getattr(_import_module(f"{__name__}.methods.foreach"), name)
    try:
        return _functions[name]
    except KeyError:
        raise AttributeError(f"module 'nbgrad' has no attribute {name!r}.") from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions, *_lazy, *_late})


from .debug import activate as _activate

_activate()
_pause.end()
