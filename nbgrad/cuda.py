"""``torch.cuda`` as far as programs ask it which device to choose: tensors cannot be on a GPU in this version."""

from __future__ import annotations

from .autograd import stream_walk as stream_walk
from .creation.casting import on_device
from .tensors.streams import (
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

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]


def is_available() -> bool:
    """Whether tensors can be on a GPU: not in this version.

    >>> import nbgrad
    >>> "cuda" if nbgrad.cuda.is_available() else "cpu"
    'cpu'
    """
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: never."""
    return False


def device_count() -> int:
    """How many GPUs tensors can be on."""
    return 0


def current_device() -> int:
    """The GPU that is in use.

    Raises:
        NotSupportedError: there is none.
    """
    on_device("current_device", "cuda")
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the GPU in use: nothing, as there is none. The CPU's is seeded by ``nbgrad.manual_seed``."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs: nothing, as there is none."""


def empty_cache() -> None:
    """Give unused memory of a GPU back: nothing, as there is none."""
