"""Which GPUs there are, which one is the current one, and what they are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import ArgumentError
from ..base.user_stack import warn_user
from ..creation.casting import on_device
from ..kernels.cuda.presence import has_driver
from ..tensors.choices import current
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.heaps import HeapOfCard

__all__ = [
    "DeviceProperties",
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "set_device",
]


def is_available() -> bool:
    """Whether tensors can be on a GPU. Where there is a driver and a package is missing, a warning says which.

    Returns:
        bool.

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
        warn_user(reason)


def is_initialized() -> bool:
    """Whether this process has used a GPU.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     x = nbgrad.ones(1, device="cuda")
    ...     assert nbgrad.cuda.is_initialized()
    """
    from ..tensors.choices import opened

    return bool(opened)


def init() -> None:
    """Begin to use the current GPU. Nobody must call it: the first tensor on a GPU does the same.

    Raises:
        DeviceError: there is none.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.init()
    ...     assert nbgrad.cuda.is_initialized()
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

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.ones(1, device="cuda").device.index == nbgrad.cuda.current_device()
    """
    return index_of("current_device", None)


def set_device(device: Any) -> None:
    """Let ``"cuda"`` mean a GPU from now on, in this thread.

    Args:
        device: its name or number; a negative number changes nothing.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     nbgrad.cuda.set_device(nbgrad.cuda.device_count() - 1)
    ...     assert nbgrad.ones(1, device="cuda").device.index == nbgrad.cuda.device_count() - 1
    ...     nbgrad.cuda.set_device(0)
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
    """The GPU of a tensor is the current one inside; a tensor on the CPU changes nothing.

    Args:
        obj: the tensor.

    Raises:
        ArgumentError: it is none.

    >>> import nbgrad
    >>> x = nbgrad.ones(2)
    >>> with nbgrad.cuda.device_of(x):
    ...     y = nbgrad.zeros(2, device=x.device)
    >>> y.device == x.device
    True
    """

    __slots__ = ()

    def __init__(self, obj: Tensor):
        if not isinstance(obj, Tensor):
            raise ArgumentError(f"device_of: expected a Tensor, got {type(obj).__name__}.")
        super().__init__(obj.layout.device.index)


# ---- what they are -------------------------------------------------------------------------------------------------


class DeviceProperties(NamedTuple):
    """What a GPU is. The names of the attributes are torch's; sizes are in bytes.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.get_device_properties().warp_size == 32
    """

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
    """What a GPU is: its name, memory, multiprocessors and limits.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     told = nbgrad.cuda.get_device_properties(0)
    ...     assert told.total_memory == nbgrad.cuda.mem_get_info(0)[1]
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
    """The name of a GPU, as NVIDIA gives it.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.get_device_name() == nbgrad.cuda.get_device_properties().name
    """
    return str(heap_of("get_device_name", device).card.device.name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a GPU, as two numbers: (9, 0) of an H100.

    Args:
        device: the name or number of a GPU; by default the current one.

    Raises:
        DeviceError: it is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert nbgrad.cuda.get_device_capability() >= (8, 0)
    """
    major, minor = heap_of("get_device_capability", device).card.device.compute_capability
    return int(major), int(minor)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU computes with bfloat16. All GPUs do that kernels are compiled for.

    Args:
        including_emulation: False asks whether the hardware has instructions for it, as GPUs of capability 8.0 have.

    >>> import nbgrad
    >>> nbgrad.cuda.is_bf16_supported() == nbgrad.cuda.is_available()
    True
    """
    return device_count() > 0 and (including_emulation or get_device_capability() >= (8, 0))


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a GPU can read the memory of another one.

    Args:
        device, peer_device: names or numbers of the two; False if they are the same.

    Raises:
        DeviceError: one is not there.

    >>> import nbgrad
    >>> if nbgrad.cuda.is_available():
    ...     assert not nbgrad.cuda.can_device_access_peer(0, 0)
    """
    there = index_of("can_device_access_peer", peer_device)
    here = heap_of("can_device_access_peer", device)
    return there != here.index and bool(here.card.reaches(there))
