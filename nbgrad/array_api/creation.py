"""The standard's functions that make tensors."""

from __future__ import annotations

from typing import Any

import nbgrad

from .. import Tensor

__all__ = ["arange", "asarray", "empty", "eye", "full", "linspace", "meshgrid", "ones", "zeros"]


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Numbers, sequences, arrays or a tensor as a tensor; ``copy``: True always, False never, None where it must be.

    >>> from nbgrad import array_api as xp
    >>> xp.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    return nbgrad.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Numbers at even distances; no numbers where the step leads away.

    >>> arange(3), arange(3, 0)
    (tensor([0, 1, 2]), tensor([], dtype=nbgrad.int64))
    """
    first, last = (0, start) if stop is None else (start, stop)
    if (last - first) * step <= 0:
        whole = all(isinstance(x, int) for x in (first, last, step))
        return nbgrad.empty(0, dtype=dtype or (nbgrad.int64 if whole else None), device=device)
    return nbgrad.arange(first, last, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor without particular values.

    >>> from nbgrad import array_api as xp
    >>> xp.empty((2, 3)).shape
    nbgrad.Size([2, 3])
    """
    return nbgrad.empty(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros.

    >>> from nbgrad import array_api as xp
    >>> xp.zeros(2)
    tensor([0., 0.])
    """
    return nbgrad.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones.

    >>> from nbgrad import array_api as xp
    >>> xp.ones((2,), dtype=xp.int64)
    tensor([1, 1])
    """
    return nbgrad.ones(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of one number.

    >>> from nbgrad import array_api as xp
    >>> xp.full(2, 3.0)
    tensor([3., 3.])
    """
    return nbgrad.full((shape,) if isinstance(shape, int) else tuple(shape), fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on the k-th diagonal.

    >>> eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    columns = n_rows if n_cols is None else n_cols
    rows = nbgrad.arange(n_rows, device=device).unsqueeze(1)
    within = max(-n_rows, min(k, columns))  # a diagonal further away is none either, and may fit no integer
    there = nbgrad.arange(columns, device=device) - rows == within
    return there.to(nbgrad.get_default_dtype() if dtype is None else dtype)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Tensor:
    """Numbers at even distances between two; without the last one unless ``endpoint``.

    >>> linspace(0.0, 1.0, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    return nbgrad.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)[:num]


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, of vectors along its axes.

    >>> from nbgrad import array_api as xp
    >>> xp.meshgrid(xp.arange(2), xp.arange(3))[0].shape
    nbgrad.Size([3, 2])
    """
    return list(nbgrad.meshgrid(*arrays, indexing=indexing))
