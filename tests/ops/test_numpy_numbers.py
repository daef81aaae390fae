"""NumPy's integers where Python's are expected: as dimensions, sizes, counts and positions, as ``array.argmax()`` gives them."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad

X = nbgrad.arange(24.0).view(2, 3, 4)
INDEX = nbgrad.tensor([[[0], [1], [0]], [[1], [0], [1]]])

CALLS = {
    **{
        name: lambda x, i, name=name: getattr(x, name)(i(1))
        for name in (
            "sum",
            "mean",
            "prod",
            "amax",
            "argmax",
            "all",
            "var",
            "logsumexp",
            "cumsum",
            "softmax",
            "sort",
            "topk",
            "unbind",
            "unsqueeze",
            "split",
            "flip",
        )
    },
    "sum over two": lambda x, i: x.sum((i(0), i(2))),
    "max": lambda x, i: x.max(i(1)),
    "norm": lambda x, i: x.norm(dim=i(1)),
    "gather": lambda x, i: x.gather(i(2), INDEX),
    "index_select": lambda x, i: x.index_select(i(1), nbgrad.tensor([0, 2])),
    "transpose": lambda x, i: x.transpose(i(0), i(2)),
    "permute": lambda x, i: x.permute(i(2), i(0), i(1)),
    "view": lambda x, i: x.view(i(4), i(6)),
    "reshape": lambda x, i: x.reshape((i(8), i(3))),
    "narrow": lambda x, i: x.narrow(i(1), i(1), i(2)),
    "select": lambda x, i: x.select(i(1), i(2)),
    "diagonal": lambda x, i: x.diagonal(i(1), i(1), i(2)),
    "unfold": lambda x, i: x.unfold(i(2), i(2), i(1)),
    "as_strided": lambda x, i: x.as_strided((i(2), i(2)), (i(1), i(3)), i(1)),
    "roll": lambda x, i: x.roll(i(1), i(2)),
    "subscript": lambda x, i: x[i(1), i(0) : i(2)],
    "chunk": lambda x, i: x.chunk(i(2), i(2)),
    "stack": lambda x, i: nbgrad.stack([x, x], i(1)),
}


def tensors_of(result):
    """The tensors of a result."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_numpys_integers_are_pythons(call):
    """The same result whichever comes first, and shapes and strides are ints of Python."""
    fresh = X.clone()
    for got, expected in zip(tensors_of(call(fresh, np.int64)), tensors_of(call(fresh, int)), strict=True):
        assert got.tolist() == expected.tolist() and got.stride() == expected.stride()
        assert {type(n) for n in (*got.shape, *got.stride(), got.storage_offset())} <= {int}
