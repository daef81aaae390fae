"""``nbgrad.distributed``, for programs that ask whether they are one of several processes before they act as such: they are not.

>>> import nbgrad
>>> nbgrad.distributed.is_available(), nbgrad.distributed.is_initialized()
(False, False)
"""

from __future__ import annotations

from typing import Any

from ..base.errors import NotSupportedError

__all__ = [
    "DeviceMesh",
    "ProcessGroup",
    "destroy_process_group",
    "get_rank",
    "get_world_size",
    "init_device_mesh",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
]


def is_available() -> bool:
    """False: processes do not work together here.

    >>> is_available()
    False
    """
    return False


is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = is_torchelastic_launched = is_available


def init_process_group(*args: Any, **kwargs: Any) -> None:
    """Not there.

    Raises:
        NotSupportedError: always.

    >>> init_process_group("gloo")
    Traceback (most recent call last):
        ...
    nbgrad.base.errors.NotSupportedError: distributed: there are no process groups. Hint: ...
    """
    raise NotSupportedError(
        "distributed: there are no process groups. Hint: ask distributed.is_available(); nbgrad.multiprocessing shares tensors."
    )


class ProcessGroup:
    """Never made: a class for programs that ask, or that name it in annotations.

    Raises:
        NotSupportedError: always.
    """

    __init__ = init_process_group


class DeviceMesh(ProcessGroup):
    """Never made."""


destroy_process_group = get_rank = get_world_size = init_device_mesh = init_process_group
