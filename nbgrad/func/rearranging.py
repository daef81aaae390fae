"""``rearrange``: an order of dimensions, and which of them are one, said by names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from ..base.calls import CALLS
from ..base.errors import ArgumentError, RangeError, ShapeError
from ..tensors.tensor import Tensor

__all__ = ["rearrange"]

REST = "..."
# A name, or one of ``...``, ``(``, ``)``, ``1``; what else there is, is refused.
TOKEN = re.compile(r"\s*(\.\.\.|[()]|1(?!\w)|[^\W\d]\w*|\S)")


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor whose dimensions are put in another order, joined or split, as a pattern of names says.

    Each side of the pattern names dimensions; those in parentheses are one, whose last name varies fastest. ``...`` names the
    dimensions that have no name, ``1`` or ``()`` one of size 1.

    Args:
        tensor: a tensor; tensors of one shape in a sequence are stacked, and the first name is theirs.
        pattern: ``"b c (h p) w -> b (h w) (p c)"``.
        axes_lengths: sizes, of which one in each pair of parentheses may be left out.

    Returns:
        A view where strides can say it, else a copy.

    Raises:
        ArgumentError: the pattern is not of this form, or a name is missing on a side, twice, or unknown.
        ShapeError: the tensor has other dimensions than the pattern names.
        RangeError: a size is below 1.

    Source: Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like Notation", 2022.

    >>> import nbgrad
    >>> rows = nbgrad.arange(6)
    >>> nbgrad.func.rearrange(rows, "(a b) -> b a", a=2)
    tensor([[0, 3],
            [1, 4],
            [2, 5]])
    """
    x: Tensor = tensor if isinstance(tensor, Tensor) else CALLS["stack"](list(tensor), 0)
    left, right = sides_of(pattern)
    given, wanted = [name for group in left for name in group], [name for group in right for name in group]
    require_names(pattern, given, wanted, axes_lengths)
    sizes = sizes_of(pattern, left, tuple(x.shape), axes_lengths)
    apart = x.reshape([size for name in given for size in sizes[name]])
    starts, at = {}, 0
    for name in given:
        starts[name] = range(at, at + len(sizes[name]))
        at += len(sizes[name])
    ordered = apart.permute([d for name in wanted for d in starts[name]])
    together: list[int] = []
    for group in right:
        parts = [size for name in group for size in sizes[name]]
        together += parts if group == [REST] and not group.joined else [math.prod(parts)]
    return ordered.reshape(together)


class Group(list):
    """Names of one dimension; ``joined`` where they stood in parentheses."""

    joined = False


def sides_of(pattern: str) -> tuple[list[Group], list[Group]]:
    """The dimensions on each side of a pattern."""
    parts = pattern.split("->") if isinstance(pattern, str) else []
    if len(parts) != 2:
        raise ArgumentError(f"rearrange: pattern is {pattern!r}, expected names on two sides of one '->'.")
    left, right = (groups_of(pattern, part) for part in parts)
    if any(REST in group and group.joined for group in left):
        raise ArgumentError(f"rearrange: {pattern!r} has '...' in parentheses on the left, where nothing says how many they are.")
    return left, right


def groups_of(pattern: str, side: str) -> list[Group]:
    """The dimensions of one side."""
    groups: list[Group] = []
    inside = False
    for token in TOKEN.findall(side):
        if token == "(":
            if inside:
                raise ArgumentError(f"rearrange: {pattern!r} has parentheses in parentheses.")
            inside = True
            groups.append(Group())
            groups[-1].joined = True
        elif token == ")":
            if not inside:
                raise ArgumentError(f"rearrange: {pattern!r} has a ')' too many.")
            inside = False
        elif token == "1":
            if not inside:
                groups.append(Group())
        elif token != REST and not token.isidentifier():
            raise ArgumentError(f"rearrange: {pattern!r} has {token!r}, expected names, '...', '1' and parentheses.")
        elif inside:
            groups[-1].append(token)
        else:
            groups.append(Group([token]))
    if inside:
        raise ArgumentError(f"rearrange: {pattern!r} has a '(' that is not closed.")
    return groups


def require_names(pattern: str, given: list[str], wanted: list[str], lengths: dict[str, Any]) -> None:
    """Refuse names that are twice on a side, on one side alone, or sizes of no name."""
    for names in (given, wanted):
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError(f"rearrange: {pattern!r} has {name!r} twice on one side.")
    alone = sorted(set(given) ^ set(wanted))
    if alone:
        raise ArgumentError(f"rearrange: {pattern!r} has {', '.join(alone)} on one side only. Hint: a dimension of size 1 is '1'.")
    unknown = sorted(set(lengths) - set(given))
    if unknown:
        raise ArgumentError(f"rearrange: {', '.join(unknown)} of axes_lengths is not in {pattern!r}.")


def sizes_of(pattern: str, left: list[Group], shape: tuple[int, ...], lengths: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Every name's size; of ``...`` those of all its dimensions."""
    rest = [REST] in left
    if len(shape) != len(left) and not (rest and len(shape) >= len(left) - 1):
        raise ShapeError(f"rearrange: {pattern!r} names {len(left)} dimensions, the tensor is {list(shape)}.")
    sizes: dict[str, tuple[int, ...]] = {}
    at = 0
    for group in left:
        if group == [REST]:
            count = len(shape) - len(left) + 1
            sizes[REST] = shape[at : at + count]
            at += count
            continue
        split(pattern, group, shape[at], lengths, sizes)
        at += 1
    return sizes


def split(pattern: str, group: Group, size: int, lengths: dict[str, int], sizes: dict[str, tuple[int, ...]]) -> None:
    """Sizes of the names that are one dimension: at most one follows from the others."""
    open_names = [name for name in group if name not in lengths]
    known = 1
    for name in group:
        if name in lengths:
            length = lengths[name]
            if not isinstance(length, int) or length < 1:
                raise RangeError(f"rearrange: {name} is {length!r}, expected an int from 1.")
            sizes[name] = (length,)
            known *= length
    if len(open_names) > 1:
        raise ArgumentError(
            f"rearrange: {pattern!r} needs sizes of all but one of {', '.join(open_names)}. Hint: {open_names[0]}=2."
        )
    if open_names and size % known == 0:
        sizes[open_names[0]] = (size // known,)
    elif open_names or size != known:
        raise ShapeError(f"rearrange: {pattern!r}: a dimension of size {size} is not {' * '.join(group) or '1'} with {lengths}.")
