"""Operations that draw random numbers; what they draw depends on the default generator, see random.py."""
from __future__ import annotations

from ..errors import ArgumentError, RangeError
from .attributes import constant_number
from .core import composite, general

__all__: list[str] = []

general("dropout_mask", lambda x, keep: x, {}, function=False,
        doc="A tensor like x: 1 / keep with probability keep, else 0.")


def dropout(x, p, training, inplace):
    """Nothing is drawn, and ``x`` itself returned, where nothing would be dropped."""
    p = constant_number("dropout", "p", p)
    try:
        possible = 0 <= p <= 1
    except TypeError:
        raise ArgumentError(f"dropout: p must be a number, got {type(p).__name__}.") from None
    if not possible:
        raise RangeError(f"dropout: p must be from 0 to 1, got {p}.")
    if not (training and p):
        return x
    mask = x.dropout_mask(1 - p)
    return x.mul_(mask) if inplace else x * mask


composite("dropout", lambda input, p=0.5, training=True, inplace=False: dropout(input, p, training, inplace), method=False,
          doc="x with each element zeroed with probability p and the others divided by 1 - p; "
              "x itself unless training. inplace=True overwrites x.")
