"""One pass of a loader through its dataset; in the program's own process."""

from __future__ import annotations

from typing import Any

from ..base.user_stack import warn_user
from .collate import pinned
from .fetch import _DatasetKind, fetch_of
from .samplers import drawn_seed

__all__ = ["LoaderIterator", "SerialIterator"]


def pins(loader: Any) -> bool:
    """Whether batches are to be pinned; a warning where there is no GPU for it."""
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warn_user(f"DataLoader: pin_memory_device={loader.pin_memory_device!r} is ignored: any GPU reaches it.")
    from ..cuda import is_available

    if not is_available():
        warn_user("DataLoader: pin_memory=True is ignored, because there is no GPU.")
        return False
    return True


class LoaderIterator:
    """One pass through a loader's dataset."""

    def __init__(self, loader: Any):
        self._pins = pins(loader)
        self._loader_or_sampler = loader._index_sampler if hasattr(loader._index_sampler, "__len__") else loader
        self.restart(loader)

    def restart(self, loader: Any) -> None:
        """Begin again, with an order and a seed of its own."""
        self._samples = iter(loader._index_sampler)
        self._seed = drawn_seed(loader.generator)
        self._given, self._said_length = 0, loader._IterableDataset_len_called

    def __iter__(self) -> LoaderIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader_or_sampler)

    def __next__(self) -> Any:
        batch = self.following()
        if self._said_length is not None:
            self._count()
        return pinned(batch) if self._pins else batch

    def following(self) -> Any:
        """The next batch."""
        raise NotImplementedError

    def _count(self) -> None:
        """Warn once a stream is longer than its ``__len__`` said."""
        self._given += 1
        if self._said_length is not None and self._given > self._said_length:
            warn_user(
                f"DataLoader: an IterableDataset, said to have {self._said_length} samples, has given {self._given} batches. "
                "With workers each goes through all of its copy, unless get_worker_info() tells it its part."
            )

    def __reduce__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled. Hint: pickle the loader.")


class SerialIterator(LoaderIterator):
    """A pass in the program's own process."""

    def __init__(self, loader: Any):
        super().__init__(loader)
        is_stream = loader._dataset_kind == _DatasetKind.Iterable
        self._fetch = fetch_of(loader.dataset, is_stream, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def __next__(self) -> Any:
        batch = self._fetch(next(self._samples))
        if self._said_length is not None:
            self._count()
        return pinned(batch) if self._pins else batch
