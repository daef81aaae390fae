"""A user's program as mypy sees it by the stubs: types of results, and what does not exist.

Nobody runs it: mypy looks at it with the package. ``assert_type`` is an error where a type is another one, and so is an ``ignore``
where there is nothing to ignore (``warn_unused_ignores``).
"""

from __future__ import annotations

from typing import assert_type

import nbgrad
from nbgrad import Tensor, nn
from nbgrad.base.size import Size
from nbgrad.nn import functional as F
from nbgrad.ops.extrema import Extremum


def program() -> None:
    """Operations, methods, results of several, layers, a gradient; a method, an attribute and an argument that do not exist."""
    x = nbgrad.randn(4, 3, requires_grad=True)
    y: Tensor = (2 * x.tanh() + 1).sum(dim=0).relu_() @ nbgrad.ones(3)
    values, indices = nbgrad.sort(x, dim=-1)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)
    assert_type(y, Tensor)
    assert_type(nbgrad.topk(x, 2).values, Tensor)
    assert_type(x.shape, Size)
    assert_type(x.grad, Tensor | None)
    assert_type(nbgrad.linalg.svd(x).S, Tensor)
    assert_type(x.float(), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(0), Extremum)
    assert_type(x.max(0).indices, Tensor)
    assert_type(x.max(x), Tensor)
    assert_type(nn.Parameter(x).zero_(), nn.Parameter)
    assert_type(F.relu_(x), Tensor)
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    loss = F.mse_loss(model(x), nbgrad.zeros(4, 2))
    loss.backward()
    assert_type(nbgrad.grad(loss, [x]), tuple[Tensor, ...])
    assert_type(nbgrad.float32.itemsize, int)
    x.tahn()  # type: ignore[attr-defined]
    nbgrad.sum(x, dims=0)  # type: ignore[call-arg]
