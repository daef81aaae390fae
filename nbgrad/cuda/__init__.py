"""``torch.cuda``: which GPUs there are, which one is current, what their memory is used for; streams, events and graphs.

Importing this loads no driver. Functions that ask whether there is a GPU are quick where there is none.
"""

from __future__ import annotations

from typing import Any

from ..autograd import stream_walk as stream_walk
from ..autograd.graphed import make_graphed_callables
from ..base.errors import OutOfMemoryError
from ..creation.generators import default_generator_on
from ..methods import nvtx as nvtx
from ..methods.namespaces import module_below
from ..methods.typed_constructors import constructor, dtype_called
from ..tensors.cuda_graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from ..tensors.storage import device as device_named
from ..tensors.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
    synchronize,
)
from .debugging import get_sync_debug_mode, host_fallbacks, set_sync_debug_mode
from .devices import (
    DeviceProperties,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
)
from .memory import (
    empty_cache,
    get_per_process_memory_fraction,
    ipc_collect,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

__all__ = [
    "CUDAGraph",
    "DeviceProperties",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_per_process_memory_fraction",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "graph",
    "graph_pool_handle",
    "host_fallbacks",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nvtx",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    """torch's path ``nbgrad.cuda.amp``, names whose values change, and the old constructors ``nbgrad.cuda.FloatTensor``."""
    if name == "_initialized":
        return is_initialized()
    if name == "default_generators":
        return tuple([default_generator_on(device_named("cuda", k)) for k in range(device_count())])
    dtype = dtype_called(name)
    if dtype is None:
        return module_below(__name__, name)
    made = globals()[name] = constructor(name, dtype, "cuda")
    return made
