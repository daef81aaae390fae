"""Batching rules of convolutions: a batch is further images where the weight is shared, else further groups."""

from __future__ import annotations

import math
from typing import Any

from ..base.calls import CALLS
from ..modes.batched import Batched
from ..modes.interpreters import Call
from ..tensors.tensor import Tensor
from .interpreter import batch_kind
from .tensors import Batch

__all__: list[str] = []


def as_images(x: Tensor, batch: Batch) -> Tensor:
    """The batch in the dimension of the images."""
    whole = batch.full(x)
    shape = whole.layout.shape[batch.depth :]
    return CALLS["reshape"](whole, (math.prod(batch.sizes) * shape[0], *shape[1:]))


def as_groups(x: Tensor, batch: Batch) -> Tensor:
    """The batch in the dimension of the channels, outermost there."""
    whole = batch.full(x)
    count, images, channels, *rest = math.prod(batch.sizes), *whole.layout.shape[batch.depth :]
    whole = CALLS["reshape"](whole, (count, images, channels, *rest))
    return CALLS["reshape"](CALLS["transpose"](whole, 0, 1), (images, count * channels, *rest))


def from_images(out: Tensor, batch: Batch) -> Any:
    """The opposite of ``as_images``."""
    images, *rest = out.layout.shape
    return batch.wrap(CALLS["reshape"](out, (*batch.sizes, images // max(math.prod(batch.sizes), 1), *rest)))


def from_groups(out: Tensor, batch: Batch) -> Any:
    """The opposite of ``as_groups``."""
    count, (images, channels, *rest) = math.prod(batch.sizes), out.layout.shape
    each = channels // max(count, 1)
    out = CALLS["transpose"](CALLS["reshape"](out, (images, count, each, *rest)), 0, 1)
    return batch.wrap(CALLS["reshape"](out, (*batch.sizes, images, each, *rest)))


@batch_kind("convolution")
def convolution(call: Call, batch: Batch) -> Any:
    """One convolution of more images, or of more groups."""
    first, second, *bias = call.operands
    if call.op.name == "conv_weight":
        return weights(first, second, call.attributes, batch)
    if type(second) is not Batched and not any(type(each) is Batched for each in bias):
        return from_images(CALLS[call.op.name](as_images(first, batch), second, *bias, **call.attributes), batch)
    if bias:
        out = CALLS["conv"](first, second, **call.attributes)
        return CALLS["add"](out, CALLS["view_shape"](bias[0], (*bias[0].layout.shape, *(1,) * (out.layout.ndim - 2))))
    if 0 in batch.sizes:
        return empty(call, batch)
    groups = call.attributes["groups"] * math.prod(batch.sizes)
    out = CALLS["conv"](as_groups(first, batch), as_images(second, batch), **{**call.attributes, "groups": groups})
    return from_groups(out, batch)


def weights(x: Tensor, y: Tensor, attributes: dict, batch: Batch) -> Any:
    """The weights of every element of a batch."""
    if 0 in batch.sizes:
        shape = (y.layout.shape[1], x.layout.shape[1] // attributes["groups"], *attributes["kernel"])
        return batch.wrap(CALLS["new_full"](x.layout.like(shape=(*batch.sizes, *shape)), 0))
    groups = attributes["groups"] * math.prod(batch.sizes)
    out = CALLS["conv_weight"](as_groups(x, batch), as_groups(y, batch), **{**attributes, "groups": groups})
    return from_images(out, batch)


def empty(call: Call, batch: Batch) -> Any:
    """The result for a batch of no elements."""
    operands = [CALLS["new_full"](x.layout.like(), 0) for x in call.operands]
    shape = CALLS["conv"](*operands, **call.attributes).layout.shape
    return batch.wrap(CALLS["new_full"](operands[0].layout.like(shape=(*batch.sizes, *shape)), 0))
