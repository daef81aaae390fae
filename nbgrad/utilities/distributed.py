"""``nbgrad.distributed``, for programs that ask whether they are one of several processes before they act as such: they are not.

>>> import nbgrad
>>> nbgrad.distributed.is_available(), nbgrad.distributed.is_initialized()
(False, False)
"""

from __future__ import annotations

from typing import Any

from ..base.errors import NotSupportedError

__all__ = [
    "DTensor",
    "DeviceMesh",
    "FSDPModule",
    "FullyShardedDataParallel",
    "Partial",
    "Placement",
    "ProcessGroup",
    "ReduceOp",
    "Replicate",
    "Shard",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "distribute_tensor",
    "fully_shard",
    "gather",
    "gather_object",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
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


class FullyShardedDataParallel(ProcessGroup):
    """Never made."""


class FSDPModule(ProcessGroup):
    """Never made."""


class DTensor(ProcessGroup):
    """Never made: no tensor is spread over processes."""


class Placement:
    """How a ``DTensor`` would be spread: for programs that have one as a default."""


class Shard(Placement):
    """Parts along a dimension, one for each process."""

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate(Placement):
    """The whole in each process."""


class Partial(Placement):
    """Summands, one in each process."""

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op


class ReduceOp:
    """How processes would reduce their tensors: names, for programs that have one as a default."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"
    BAND, BOR, BXOR, PREMUL_SUM = "band", "bor", "bxor", "premul_sum"


# What processes of a group do together is imported by name, and called where there is a group.
destroy_process_group = get_rank = get_world_size = init_device_mesh = init_process_group
get_backend = new_group = barrier = monitored_barrier = init_process_group
all_reduce = all_gather = all_gather_object = all_gather_into_tensor = all_to_all = all_to_all_single = init_process_group
broadcast = broadcast_object_list = reduce = reduce_scatter = reduce_scatter_tensor = init_process_group
fully_shard = distribute_tensor = init_process_group
gather = gather_object = scatter = scatter_object_list = send = recv = isend = irecv = init_process_group
