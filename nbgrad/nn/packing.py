"""Sequences of several lengths in one tensor: padded, or packed step by step. ``nbgrad.nn.utils.rnn``.

NOTE [Packed]: ``data`` has the first element of every sequence, then the second of those that have one, and so on; the longest
sequence comes first in each of these. ``batch_sizes`` says how many there are in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, RangeError, ShapeError

__all__ = [
    "PackedSequence",
    "Plan",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "plan_of",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of several lengths, packed step by step: what ``pack_padded_sequence`` makes, and recurrent layers take and give.

    Attributes:
        data: the elements, ``(sum of lengths, *)``: NOTE [Packed].
        batch_sizes: int64, on the CPU: how many sequences have each step.
        sorted_indices: which sequence is the longest, the second, ...; None where they came in that order.
        unsorted_indices: the inverse: where each sequence is.

    >>> from nbgrad.nn.utils.rnn import pack_sequence
    >>> pack_sequence([nbgrad.tensor([1, 2, 3]), nbgrad.tensor([4])]).data.tolist()
    [1, 4, 2, 3]
    """

    __slots__ = ()

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data.to(...)``, with the indices on the same device; itself where nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if x is None else x.to(data.device) for x in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a GPU."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self) -> PackedSequence:
        """``to("cpu")``."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """``to(float64)``."""
        return self.to(nbgrad.float64)

    def float(self) -> PackedSequence:
        """``to(float32)``."""
        return self.to(nbgrad.float32)

    def half(self) -> PackedSequence:
        """``to(float16)``."""
        return self.to(nbgrad.float16)

    def long(self) -> PackedSequence:
        """``to(int64)``."""
        return self.to(nbgrad.int64)

    def int(self) -> PackedSequence:
        """``to(int32)``."""
        return self.to(nbgrad.int32)

    def short(self) -> PackedSequence:
        """``to(int16)``."""
        return self.to(nbgrad.int16)

    def char(self) -> PackedSequence:
        """``to(int8)``."""
        return self.to(nbgrad.int8)

    def byte(self) -> PackedSequence:
        """``to(uint8)``."""
        return self.to(nbgrad.uint8)

    def pin_memory(self) -> PackedSequence:
        """With all tensors in pinned memory."""
        indices = [None if x is None else x.pin_memory() for x in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(self.data.pin_memory(), self.batch_sizes.pin_memory(), *indices)

    def is_pinned(self) -> bool:
        """Whether ``data`` is in pinned memory."""
        return bool(self.data.is_pinned())

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one.

    >>> invert_permutation(nbgrad.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    return None if permutation is None else permutation.argsort()


class Plan(NamedTuple):
    """Where elements of packed sequences are among padded ones.

    Attributes:
        lengths: of the sequences, the longest first.
        rows: of each step and sequence, flat, its row in the packed data; 0 where it has ended.
        places: of each packed row where that is among the former.
    """

    lengths: Tensor
    rows: Tensor
    places: Tensor


def steps_of(batch_sizes: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """How many sequences each step has, and of each step and sequence whether it has that one."""
    counts = np.array(batch_sizes.tolist(), np.int64)
    return counts, np.arange(int(counts[0])) < counts[:, None]


def plan_of(batch_sizes: Tensor, device: Any) -> Plan:
    """The plan of packed sequences; its tensors are on a device."""
    counts, active = steps_of(batch_sizes)
    rows = np.where(active, (np.cumsum(counts) - counts)[:, None] + np.arange(active.shape[1]), 0)
    found = active.sum(0), rows.reshape(-1), np.flatnonzero(active)
    return Plan(*(nbgrad.tensor(each.astype(np.int64), device=device) for each in found))


def lengths_from(op: str, lengths: Any, count: int) -> list[int]:
    """The lengths as numbers.

    Raises:
        ShapeError: not one for each of ``count`` sequences. RangeError: one is less than 1.
    """
    found = lengths.tolist() if isinstance(lengths, Tensor) else list(map(int, lengths))
    if not isinstance(found, list) or len(found) != count:
        got = len(found) if isinstance(found, list) else "a number"
        raise ShapeError(f"{op}: lengths are {got}, expected one for each of {count} sequences.")
    if any(length < 1 for length in found):
        raise RangeError(f"{op}: a length is {min(found)}, expected at least 1. Hint: leave empty sequences out.")
    return found


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: ``(steps, batch, *)``, or ``(batch, steps, *)`` with ``batch_first``.
        lengths: of the sequences: a tensor or a list.
        enforce_sorted: refuse lengths that do not fall; else sequences are sorted here, and ``pad_packed_sequence`` puts them back.

    Raises:
        ShapeError: not one length for each sequence. RangeError: a length that is less than 1, greater than the steps, or greater
            than the one before it.

    >>> packed = pack_padded_sequence(nbgrad.tensor([[1, 4], [2, 0], [3, 0]]), [3, 1])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 2, 3], [2, 1, 1])
    """
    op = "pack_padded_sequence"
    if input.ndim < 2:
        raise ShapeError(f"{op}: input is {list(input.shape)}, expected at least 2 dimensions, steps and batch.")
    steps, batch = (input.shape[1], input.shape[0]) if batch_first else (input.shape[0], input.shape[1])
    found = lengths_from(op, lengths, batch)
    if max(found, default=0) > steps:
        raise RangeError(f"{op}: a length is {max(found)}, expected at most the steps of input, {steps}.")
    if not found:
        raise ShapeError(f"{op}: input {list(input.shape)} has no sequences.")
    order = None
    if not enforce_sorted:
        order = sorted(range(batch), key=lambda k: -found[k])
        found = [found[k] for k in order]
    elif any(x < y for x, y in zip(found, found[1:])):
        raise RangeError(f"{op}: lengths {found} do not fall. Hint: enforce_sorted=False sorts the sequences.")
    sorted_indices = None if order is None else nbgrad.tensor(order, device=input.device)
    active = np.array(found) > np.arange(found[0])[:, None]
    steps_at, sequences_at = np.nonzero(active)
    own = sequences_at if order is None else np.array(order)[sequences_at]
    flat = own * steps + steps_at if batch_first else steps_at * batch + own
    rows = nbgrad.tensor(flat.astype(np.int64), device=input.device)
    data = input.reshape((steps * batch, *input.shape[2:])).index_select(0, rows)
    return PackedSequence(data, nbgrad.tensor(active.sum(1, dtype=np.int64)), sorted_indices)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Packed sequences, padded; in the order in which they were before they were packed.

    Args:
        padding_value: what stands behind the end of a sequence.
        total_length: how many steps the result has; as many as the longest sequence unless given.

    Returns:
        ``(steps, batch, *)``, or ``(batch, steps, *)`` with ``batch_first``; and the lengths, int64, on the CPU.

    Raises:
        RangeError: ``total_length`` is less than the longest sequence.

    >>> packed = pack_sequence([nbgrad.tensor([1, 2, 3]), nbgrad.tensor([4])])
    >>> padded, lengths = pad_packed_sequence(packed, batch_first=True)
    >>> padded.tolist(), lengths.tolist()
    ([[1, 2, 3], [4, 0, 0]], [3, 1])
    """
    data, batch_sizes, _, unsorted_indices = sequence
    plan, longest = plan_of(batch_sizes, data.device), batch_sizes.shape[0]
    steps = longest if total_length is None else total_length
    if steps < longest:
        raise RangeError(f"pad_packed_sequence: total_length is {total_length}, expected at least the longest sequence, {longest}.")
    batch = plan.lengths.shape[0]
    blank = nbgrad.full((steps * batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    out = blank.index_copy(0, plan.places, data).reshape((steps, batch, *data.shape[1:]))
    lengths = nbgrad.tensor(steps_of(batch_sizes)[1].sum(0), dtype=nbgrad.int64, device="cpu")
    if batch_first:
        out = out.transpose(0, 1)
    if unsorted_indices is not None:
        out, lengths = out.index_select(1 - batch_first, unsorted_indices), lengths.index_select(0, unsorted_indices.cpu())
    return out, lengths


def pad_sequence(
    sequences: Sequence[Tensor] | Tensor, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of several lengths in one tensor.

    Args:
        sequences: of shapes ``(length, *)``.
        padding_value: what stands beside shorter sequences.
        padding_side: where: ``"right"`` or ``"left"``.

    Returns:
        ``(longest, batch, *)``, or ``(batch, longest, *)`` with ``batch_first``.

    Raises:
        ArgumentError: no tensors, or another side. ShapeError: their other dimensions differ.

    >>> pad_sequence([nbgrad.tensor([1, 2]), nbgrad.tensor([3])], batch_first=True).tolist()
    [[1, 2], [3, 0]]
    """
    found = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not found or not all(isinstance(each, Tensor) and each.ndim for each in found):
        raise ArgumentError("pad_sequence: expected one or more tensors of at least one dimension.")
    if padding_side not in ("left", "right"):
        raise ArgumentError(f"pad_sequence: padding_side is {padding_side!r}, expected 'left' or 'right'.")
    first, further = found[0], found[0].shape[1:]
    for each in found:
        if each.shape[1:] != further:
            raise ShapeError(f"pad_sequence: shapes {list(first.shape)} and {list(each.shape)} differ behind the first dimension.")
    lengths = np.array([each.shape[0] for each in found])
    if (lengths == lengths[0]).all():
        return nbgrad.stack(found, 0 if batch_first else 1)
    blank = nbgrad.full((1, *further), padding_value, dtype=first.dtype, device=first.device)
    places = places_of_padded(lengths, padding_side == "left")
    index = nbgrad.tensor(places if batch_first else places.T, device=first.device)
    return nbgrad.cat([*found, blank]).index_select(0, index.reshape(-1)).reshape(*index.shape, *further)


def places_of_padded(lengths: np.ndarray, left: bool) -> np.ndarray:
    """Where each step of each padded sequence lies among all sequences one behind the other; behind these is what pads."""
    steps = np.arange(lengths.max()) - (lengths.max() - lengths[:, None] if left else 0)
    begins = np.cumsum(lengths) - lengths
    return np.where((steps >= 0) & (steps < lengths[:, None]), begins[:, None] + steps, lengths.sum())


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences without what is behind their ends: views, of shapes ``(length, *)``.

    >>> [each.tolist() for each in unpad_sequence(nbgrad.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)]
    [[1, 2], [3]]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    found = lengths_from("unpad_sequence", lengths, rows.shape[0])
    return [row.narrow(0, 0, length) for row, length in zip(rows.unbind(0), found)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of shapes ``(length, *)``; see ``pack_padded_sequence``.

    >>> pack_sequence([nbgrad.tensor([1]), nbgrad.tensor([2, 3])], enforce_sorted=False).data.tolist()
    [2, 1, 3]
    """
    return pack_padded_sequence(pad_sequence(sequences), [each.shape[0] for each in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, of shapes ``(length, *)``, in the order in which they were before they were packed.

    >>> [each.tolist() for each in unpack_sequence(pack_sequence([nbgrad.tensor([1, 2]), nbgrad.tensor([3])]))]
    [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
