"""Cross-entropy of scores that are linear in the input, in one step."""

from __future__ import annotations

from .. import Tensor, cross_entropy, linear
from ..base.errors import NotSupportedError, ShapeError

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        input: ``(samples, features)``, or ``(features,)`` of one.
        linear_weight: ``(classes, features)``; ``(classes, d1, ..., features)`` for scores of ``(samples, classes, d1, ...)``.
        target, weight, reduction, label_smoothing: as of ``cross_entropy``.
        linear_bias: ``(classes, d1, ...)``.
        ignore_index: None: -100.
        options: None; torch's say how to save memory.

    Returns:
        The loss, as ``cross_entropy`` has it.

    Raises:
        ShapeError: input and weight do not go together. NotSupportedError: ``options``.

    >>> import nbgrad
    >>> linear_cross_entropy(nbgrad.ones(2, 3), nbgrad.zeros(4, 3), nbgrad.tensor([0, 1]))
    tensor(1.3863)
    """
    if options is not None:
        raise NotSupportedError("linear_cross_entropy: options say how torch saves memory. Hint: options=None.")
    if linear_weight.ndim < 2 or input.ndim not in (1, 2) or input.ndim == 1 and linear_weight.ndim > 2:
        raise ShapeError(
            f"linear_cross_entropy: input is {list(input.shape)}, linear_weight {list(linear_weight.shape)}; "
            "expected (samples, features) and (classes, ..., features)."
        )
    shape, features = tuple(linear_weight.shape[:-1]), linear_weight.shape[-1]
    scores = linear(input, linear_weight.reshape((-1, features)), None if linear_bias is None else linear_bias.reshape((-1,)))
    scores = scores.reshape((*input.shape[:-1], *shape))
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing)
