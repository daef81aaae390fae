"""torch.fx.experimental.proxy_tensor: graphs of what a function computes of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.errors import NotSupportedError

__all__ = ["make_fx"]


def make_fx(f: Callable, *args: Any, **kwargs: Any) -> NoReturn:
    """Not there.

    Raises:
        NotSupportedError: always.

    >>> make_fx(abs)
    Traceback (most recent call last):
        ...
    nbgrad.base.errors.NotSupportedError: make_fx: ... Hint: ...
    """
    raise NotSupportedError(
        "make_fx: functions are not traced to torch's own operations. Hint: nbgrad.jit.trace has the graph of what a function "
        "computes, nbgrad.fx.symbolic_trace that of what it calls."
    )
