"""``torch.cuda``: which GPUs there are, which one is current, what their memory is used for; streams and events.

Importing this loads no driver. Functions that ask whether there is a GPU are quick where there is none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd import stream_walk as stream_walk
from ..autograd.graphed import make_graphed_callables
from ..base.errors import ArgumentError, OutOfMemoryError, RangeError
from ..creation.casting import on_device
from ..creation.generators import Generator, default_generator_on
from ..kernels.cuda.presence import has_driver
from ..methods import nvtx as nvtx
from ..methods.namespaces import module_below
from ..methods.typed_constructors import constructor, dtype_called
from ..tensors.choices import current
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
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.heaps import HeapOfCard

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


# ---- which GPUs there are ------------------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether tensors can be on a GPU. Where there is a driver and a package is missing, a warning says which.

    >>> import nbgrad
    >>> device = "cuda" if nbgrad.cuda.is_available() else "cpu"
    >>> nbgrad.ones(2, device=device).tolist()
    [1.0, 1.0]
    """
    return device_count() > 0


def device_count() -> int:
    """How many GPUs tensors can be on.

    >>> import nbgrad
    >>> nbgrad.cuda.is_available() == (nbgrad.cuda.device_count() > 0)
    True
    """
    if not has_driver():
        return 0
    from ..kernels.cuda.driver import count

    found: int = count()
    if not found:
        warn_of_what_is_missing()
    return found


@cache
def warn_of_what_is_missing() -> None:
    """Say once why the GPU of a machine that has a driver cannot be used."""
    from ..kernels.cuda.host import missing

    if (reason := missing()) is not None:
        warnings.warn(reason, UserWarning, stacklevel=4)


def is_initialized() -> bool:
    """Whether the process uses a GPU."""
    from ..tensors.choices import opened

    return bool(opened)


def init() -> None:
    """Begin to use the current GPU, which its first tensor does by itself.

    Raises:
        DeviceError: there is none.
    """
    heap_of("init", None)


def heap_of(op: str, named: Any) -> HeapOfCard:
    """The memory of the GPU that an argument names, which is used from now on; None: the current one.

    Raises:
        DeviceError: it is not there, or no GPU. ArgumentError: no name of a device.
    """
    from ..tensors.heaps import heap_on

    return heap_on(index_of(op, named))


def index_of(op: str, named: Any) -> int:
    """The number of the GPU that an argument names; None: the current one. Errors as of ``heap_of``."""
    found = on_device(op, "cuda" if named is None else named)
    if found.index is None:
        raise ArgumentError(f"{op}: expected a GPU, as 'cuda:0' or its number, got {found}.")
    return found.index


# ---- the current GPU -----------------------------------------------------------------------------------------------


def current_device() -> int:
    """The number of the GPU that ``"cuda"`` means in this thread.

    Raises:
        DeviceError: there is none.
    """
    return index_of("current_device", None)


def set_device(device: Any) -> None:
    """Let ``"cuda"`` mean a GPU, for this thread; a negative number changes nothing.

    Raises:
        DeviceError: it is not there.
    """
    if not (type(device) is int and device < 0):
        current.index = index_of("set_device", device)


class device:
    """A GPU is the current one inside; None and negative numbers change nothing.

    Args:
        device: its name or number.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     with nbgrad.cuda.device(nbgrad.cuda.device_count() - 1):
    ...         x = nbgrad.ones(2, device="cuda")
    ...     assert x.device.index == nbgrad.cuda.device_count() - 1
    """

    __slots__ = ("idx", "prev_idx")

    def __init__(self, device: Any):
        unchanged = device is None or (type(device) is int and device < 0)
        self.idx = -1 if unchanged else index_of("device", device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current.index
        if self.idx >= 0:
            current.index = self.idx

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            current.index = self.prev_idx


class device_of(device):
    """The GPU of a tensor is the current one inside; a tensor on the CPU changes nothing."""

    __slots__ = ()

    def __init__(self, obj: Tensor):
        if not isinstance(obj, Tensor):
            raise ArgumentError(f"device_of: expected a Tensor, got {type(obj).__name__}.")
        super().__init__(obj.layout.device.index)


# ---- what they are -------------------------------------------------------------------------------------------------


class DeviceProperties(NamedTuple):
    """What a GPU is; the names are torch's, sizes are in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    uuid: str
    warp_size: int
    is_integrated: bool
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU, by default the current one, is.

    Raises:
        DeviceError: it is not there.
    """
    card = heap_of("get_device_properties", device).card
    told, (major, minor) = card.device.properties, card.device.compute_capability
    return DeviceProperties(
        name=str(card.device.name),
        major=major,
        minor=minor,
        total_memory=card.room()[1],
        multi_processor_count=told.multiprocessor_count,
        uuid=str(card.device.uuid),
        warp_size=told.warp_size,
        is_integrated=bool(told.integrated),
        max_threads_per_multi_processor=told.max_threads_per_multiprocessor,
        regs_per_multiprocessor=told.max_registers_per_multiprocessor,
        shared_memory_per_block=told.max_shared_memory_per_block,
        shared_memory_per_block_optin=told.max_shared_memory_per_block_optin,
        shared_memory_per_multiprocessor=told.max_shared_memory_per_multiprocessor,
        L2_cache_size=told.l2_cache_size,
        pci_bus_id=told.pci_bus_id,
        pci_device_id=told.pci_device_id,
        pci_domain_id=told.pci_domain_id,
    )


def get_device_name(device: Any = None) -> str:
    """The name of a GPU, by default the current one."""
    return str(heap_of("get_device_name", device).card.device.name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as (9, 0)."""
    major, minor = heap_of("get_device_capability", device).card.device.compute_capability
    return int(major), int(minor)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes with bfloat16: all do that kernels are compiled for."""
    return device_count() > 0 and (including_emulation or get_device_capability() >= (8, 0))


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a GPU can read another one's memory.

    Raises:
        DeviceError: one is not there.
    """
    there = index_of("can_device_access_peer", peer_device)
    here = heap_of("can_device_access_peer", device)
    return there != here.index and bool(here.card.reaches(there))


# ---- memory --------------------------------------------------------------------------------------------------------


def counted(op: str, device: Any) -> dict[str, int]:
    """The counters of a GPU's memory; all 0 of one that is not in use, and where there is none."""
    from ..tensors.choices import opened

    if not device_count():
        return {}
    index = index_of(op, device)
    for heap in opened:
        if heap.index == index:
            from ..tensors.memory_stats import memory_stats as stats_of

            return stats_of(heap)
    return {}


def memory_stats(device: Any = None) -> dict[str, int]:
    """The counters of a GPU's memory, by torch's names; empty of a GPU that is not in use, and where there is none.

    ``allocated_bytes`` are those that tensors have asked for, ``active_bytes`` those of the blocks in which they lie,
    ``reserved_bytes`` all that the driver has given.

    Raises:
        DeviceError: it is not there.
    """
    return counted("memory_stats", device)


def memory_allocated(device: Any = None) -> int:
    """Bytes of the tensors on a GPU, by default the current one.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     before, x = nbgrad.cuda.memory_allocated(), nbgrad.ones(1024, device="cuda")
    ...     assert nbgrad.cuda.memory_allocated() - before == 4096
    """
    return counted("memory_allocated", device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors had at once, since the beginning or ``reset_peak_memory_stats``."""
    return counted("max_memory_allocated", device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the driver has given for tensors, those among them that are kept for new ones."""
    return counted("memory_reserved", device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the driver had given at once."""
    return counted("max_memory_reserved", device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the greatest numbers begin again with those of now."""
    from ..tensors.memory_stats import reset_peaks

    reset_peaks(heap_of("reset_peak_memory_stats", device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # torch's older names


def ipc_collect() -> None:
    """Nothing: other processes keep no memory of this one's GPU."""


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters as a table to be printed."""
    from ..tensors.memory_stats import memory_summary as summary_of

    return summary_of(heap_of("memory_summary", device), abbreviated)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of a GPU that are free, as the driver says, and all that it has."""
    free, total = heap_of("mem_get_info", device).card.room()
    return int(free), int(total)


def empty_cache() -> None:
    """Give memory that no tensor has back to the driver, of all GPUs; pinned memory, too."""
    from ..tensors.choices import opened

    for heap in tuple(opened):
        heap.release()
    if opened:
        from ..tensors.pinned import release

        release()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Bound what the process may have of a GPU's memory.

    Args:
        fraction: of all that the GPU has, 0 to 1. Tensors that are there stay, also beyond it.

    Raises:
        RangeError: another number. DeviceError: the GPU is not there.
    """
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)):
        raise ArgumentError(f"set_per_process_memory_fraction: fraction must be a number, got {type(fraction).__name__}.")
    if not 0 <= fraction <= 1:
        raise RangeError(f"set_per_process_memory_fraction: fraction is {fraction}, expected a number from 0 to 1.")
    heap = heap_of("set_per_process_memory_fraction", device)
    heap.limit = None if fraction == 1 else int(heap.card.room()[1] * fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The bound that ``set_per_process_memory_fraction`` has set, as a part of the GPU's memory."""
    heap = heap_of("get_per_process_memory_fraction", device)
    return 1.0 if heap.limit is None else heap.limit / heap.card.room()[1]


def host_fallbacks() -> dict[str, int]:
    """How often each operation ran on the CPU because it has no kernel for a GPU.

    >>> import nbgrad
    >>> x = nbgrad.ones(2).sum()
    >>> nbgrad.cuda.host_fallbacks().get("sum", 0)
    0
    """
    from ..dispatch.device_lowerings import fallbacks

    return dict(fallbacks)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """What happens where the program waits for a GPU: ``item``, ``nonzero``, copies that are not between pinned memory and a GPU,
    operations without a kernel for it.

    Args:
        debug_mode: ``"default"`` or 0: nothing; ``"warn"`` or 1: a warning that names the call; ``"error"`` or 2: a DeviceError in
            its place, before anything is done.

    ``synchronize``, waits for events, and waits for memory that is short are none of these stops. The mode is the process's.

    Raises:
        RangeError: another mode. ArgumentError: neither a number nor a name.

    >>> import nbgrad
    >>> nbgrad.cuda.set_sync_debug_mode("error")
    >>> if nbgrad.cuda.is_available():
    ...     try:
    ...         nbgrad.ones(1, device="cuda").item()
    ...     except nbgrad.DeviceError:
    ...         pass
    >>> nbgrad.cuda.set_sync_debug_mode("default")
    """
    from ..tensors.stops import set_mode

    set_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The number of the mode that ``set_sync_debug_mode`` has set.

    >>> import nbgrad
    >>> nbgrad.cuda.get_sync_debug_mode()
    0
    """
    from ..tensors.stops import get_mode

    return get_mode()


# ---- random numbers --------------------------------------------------------------------------------------------


def generator(op: str, device: Any) -> Generator:
    """The default generator of a GPU; None: of the current one."""
    return default_generator_on(device_named("cuda", index_of(op, device)))


def manual_seed(seed: int) -> None:
    """Start the current GPU's default generator again from ``seed``. Without a GPU nothing is done."""
    if device_count():
        generator("manual_seed", None).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Start the default generators of all GPUs again from ``seed``."""
    for k in range(device_count()):
        generator("manual_seed_all", k).manual_seed(seed)


def seed() -> None:
    """Start the current GPU's default generator again from a seed that the operating system draws."""
    if device_count():
        generator("seed", None).seed()


def seed_all() -> None:
    """Start the default generators of all GPUs again from one seed that the operating system draws."""
    for k in range(device_count()):
        manual_seed_all(generator("seed_all", k).seed())
        return


def initial_seed() -> int:
    """The seed of the current GPU's default generator."""
    return generator("initial_seed", None).initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's default generator, for ``set_rng_state``; a tensor on the CPU."""
    return generator("get_rng_state", device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of the default generators of all GPUs."""
    return [get_rng_state(k) for k in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Return a GPU's default generator to a state that ``get_rng_state`` gave."""
    generator("set_rng_state", device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Return the default generators of all GPUs to states that ``get_rng_state_all`` gave."""
    for k, state in enumerate(new_states):
        set_rng_state(state, k)


def __getattr__(name: str) -> Any:
    """torch's path ``nbgrad.cuda.amp``, and the old constructors ``nbgrad.cuda.FloatTensor``."""
    dtype = dtype_called(name)
    if dtype is None:
        return module_below(__name__, name)
    made = globals()[name] = constructor(name, dtype, "cuda")
    return made
