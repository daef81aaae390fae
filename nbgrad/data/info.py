"""What a process that loads data knows of itself."""

from __future__ import annotations

from typing import Any

__all__ = ["WorkerInfo", "enter", "get_worker_info"]


class WorkerInfo:
    """A worker: its ``id`` of ``num_workers``, the ``seed`` of its random numbers, its copy of the ``dataset``.

    >>> WorkerInfo(id=1, num_workers=2, seed=7, dataset=[])
    WorkerInfo(id=1, num_workers=2, seed=7, dataset=[])
    """

    __slots__ = ("id", "num_workers", "seed", "dataset")

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


_own: list[WorkerInfo] = []


def enter(info: WorkerInfo) -> None:
    """This process is that worker, for good."""
    _own[:] = [info]


def get_worker_info() -> WorkerInfo | None:
    """The worker of a ``DataLoader`` that this process is; None in the program itself.

    >>> get_worker_info() is None
    True
    """
    return _own[0] if _own else None
