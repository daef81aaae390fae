"""The names of ``torch._C`` by which tools look into the engine, and subclasses of tensors do their work."""

from __future__ import annotations

from types import SimpleNamespace as _Namespace

from .base.errors import LinAlgError as _LinAlgError
from .base.grad_mode import mode as _mode
from .creation.casting import targets_of as _targets_of
from .forward.tangents import are_tangents_seen as _is_fwd_grad_enabled, set_tangents_seen as _set_fwd_grad_enabled
from .graph.packing import RawSaved as _RawSaved
from .graph.saved_hooks import saved_tensors_hooks_enabled as _enabled
from .graph.task import (
    current_autograd_node as _current_autograd_node,
    current_graph_task_id as _current_graph_task_id,
    current_graph_task_keep_graph as _get_current_graph_task_keep_graph,
    execution_order as _current_graph_task_execution_order,
    is_multithreading_enabled as _is_multithreading_enabled,
    will_execute as _will_engine_execute_node,
)
from .graph.writes import increment_version as _increment_version
from .modes.overrides import disabled as DisableTorchFunctionSubclass, function_on_plain as _disabled_torch_function_impl
from .tensors.storage import default_device as _default_device
from .tensors.tensor import Tensor as _Tensor

__all__ = [
    "DisableTorchFunctionSubclass",
    "_LinAlgError",
    "_TensorMeta",
    "_are_functorch_transforms_active",
    "_autograd",
    "_current_autograd_node",
    "_current_graph_task_execution_order",
    "_current_graph_task_id",
    "_disabled_torch_function_impl",
    "_get_current_graph_task_keep_graph",
    "_get_default_device",
    "_get_tracing_state",
    "_increment_version",
    "_nn",
    "_is_fwd_grad_enabled",
    "_is_multithreading_enabled",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_nvfuser_enabled",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_log_api_usage_once",
    "_set_fwd_grad_enabled",
    "_will_engine_execute_node",
]

_autograd = _Namespace(SavedTensor=_RawSaved, _saved_tensors_hooks_is_enabled=_enabled)
_nn = _Namespace(_parse_to=_targets_of)
_TensorMeta = type(_Tensor)


def _are_functorch_transforms_active() -> bool:
    """Whether a function runs that ``func.grad``, ``vmap`` or another transform was given."""
    return bool(_mode.transforms)


def _get_default_device() -> str:
    """Where new tensors are, as text."""
    return str(_default_device())


def _get_tracing_state() -> None:
    """None: captured programs are not told apart from those that run as they are."""


def _log_api_usage_once(event: str) -> None:
    """Nothing is reported to anybody."""


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Nothing is set, nor by its neighbours: compiled functions are not interpreted. What was set is False."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _jit_set_profiling_executor
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_set_profiling_executor
