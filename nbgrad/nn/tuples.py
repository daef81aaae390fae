"""``nbgrad.nn.modules.utils`` and ``nbgrad.nn.common_types``, as torch's: sizes in modules of users' own, and names in states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    """A function that makes a tuple of ``n`` equal numbers of one; what can be iterated over becomes a tuple as it is."""

    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1))


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    """The members from the last to the first, each ``n`` times: paddings of ``pad`` from those of a convolution."""
    return tuple(x for x in reversed(t) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a state that begin with it, in place: "module." of ``DataParallel``.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'bias': 2, 'weight': 1}
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name[len(prefix) :]] = state_dict.pop(name)
    metadata = getattr(state_dict, "_metadata", None)
    for name in [name for name in metadata or {} if name == prefix.rstrip(".") or name.startswith(prefix)]:
        if name:
            metadata[name[len(prefix) :]] = metadata.pop(name)


# Of ``torch.nn.common_types``: what annotations name.
_size_any_t = int | tuple[int, ...]
_size_1_t, _size_2_t, _size_3_t = int | tuple[int], int | tuple[int, int], int | tuple[int, int, int]
_size_2_opt_t, _size_3_opt_t = _size_2_t | tuple[int | None, int | None], _size_3_t | tuple[int | None, int | None, int | None]
_size_any_opt_t = int | tuple[int | None, ...]
_ratio_any_t, _ratio_2_t = float | tuple[float, ...], float | tuple[float, float]
