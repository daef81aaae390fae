"""Which carries of a loop are kept for reverse mode, and which are computed again on the way back.

NOTE [Kept carries]: ``"all"`` keeps the history of a loop. Otherwise the carries at some ``stops`` are kept; on the way back a
stretch is walked again from the last of them. ``Every(k)`` then holds the stretch, k carries at most; ``Binomial(slots)`` stores
again, so that never more than ``slots`` carries are held, and runs as few trips again as can be: NOTE [Revolve] of
recomputing/revolve.py.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple, Sequence

from ...base.errors import ArgumentError, RangeError
from ...recomputing.revolve import stops as revolve_stops
from ...tensors.layout import Layout

__all__ = ["ALL", "Binomial", "Every", "Policy", "checked_policy", "literal_of", "policy_from", "policy_of"]

MOST_HISTORY = 1 << 28  # bytes of history that "auto" keeps


class Every(NamedTuple):
    """Every k-th carry."""

    k: int

    def stops(self, first: int, trips: int, slots: int | None) -> Sequence[int]:
        """Where carries are kept on the first way; on the way back, with ``slots``, all."""
        return range(first + (self.k if slots is None else 1), first + trips, self.k if slots is None else 1)


class Binomial(NamedTuple):
    """Never more than so many carries, the first one counted, beside that of the last trip, with which the way back begins."""

    slots: int

    def stops(self, first: int, trips: int, slots: int | None) -> Sequence[int]:
        """Where carries are kept on the way through so many trips, with the slots that are left."""
        if slots is not None or trips < 2:
            return revolve_stops(first, trips, slots or self.slots)
        return sorted({*revolve_stops(first, trips, self.slots), trips - 1})


Policy = Every | Binomial | None
ALL: Policy = None
WORDS = ("auto", "all", "sqrt", "binomial")


def checked_policy(op: str, checkpoint: Any) -> None:
    """Refuse what is no way to keep carries.

    Raises:
        ArgumentError: of another kind. RangeError: a number less than 1.
    """
    kind, number = checkpoint if isinstance(checkpoint, tuple) and len(checkpoint) == 2 else ("binomial", checkpoint)
    if isinstance(checkpoint, str) and checkpoint in WORDS:
        return
    if kind != "binomial" or isinstance(number, bool) or not isinstance(number, int):
        raise ArgumentError(
            f"{op}: checkpoint is {checkpoint!r}, expected one of {', '.join(map(repr, WORDS))}, a number k for every k-th carry, "
            "or ('binomial', slots)."
        )
    if number < 1:
        raise RangeError(f"{op}: checkpoint is {checkpoint!r}, expected a number of at least 1.")


def policy_of(checkpoint: Any, trips: int, layouts: Sequence[Layout]) -> Policy:
    """The policy that ``checkpoint`` means for a loop of so many trips and carries of these layouts."""
    if checkpoint == "auto":
        size = trips * sum(layout.numel * layout.dtype.itemsize for layout in layouts)
        checkpoint = "all" if size <= MOST_HISTORY else "sqrt"
    if checkpoint == "all":
        return ALL
    if checkpoint == "sqrt":
        return Every(isqrt(max(trips - 1, 0)) + 1)
    if checkpoint == "binomial":
        return Binomial(max(trips, 1).bit_length() + 1)
    return policy_from(checkpoint)


def policy_from(literal: Any) -> Policy:
    """The policy that ``literal_of`` has written."""
    return ALL if literal is None else Binomial(literal[1]) if isinstance(literal, tuple) else Every(literal)


def literal_of(policy: Policy) -> Any:
    """A policy as attributes of nodes have it."""
    return ("binomial", policy.slots) if isinstance(policy, Binomial) else policy.k if isinstance(policy, Every) else None
