"""``_foreach_add_(params, grads, alpha=-lr)`` and the like, as optimizers and averages of weights spell them: an operation for
every place of lists of tensors.

Every function is a row of ``FORMS``: the operation of that name, called place by place, with what it takes besides lists. nbgrad's
own optimizers update many tensors in one launch (``dispatch/updates.py``); these are for programs that bring their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.errors import ArgumentError, ShapeError
from ..tensors.layout import broadcast_shapes
from ..tensors.tensor import Tensor

__all__ = ["FORMS", "foreach", "names"]

# name: the operands after the first list, "*" a list of tensors alone, "?" also a number, a list of numbers or one tensor, with the
# names that torch has for them, which are several where its signatures are; then the options, each a number or one for every place.
OTHER = "?other scalar scalars tensor"
FORMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
        sigmoid sign sin sinh sqrt tan tanh trunc zero_ clone max""".split(),
        (),
    ),
    **dict.fromkeys(("add", "sub"), (OTHER, "alpha")),
    **dict.fromkeys(("mul", "div", "maximum", "minimum", "clamp_max", "clamp_min"), (OTHER,)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("*tensor1", "*tensor2", "value")),
    "pow": ("?exponent",),
    "lerp": ("*tensors1", "?weight weights scalars"),
    "copy_": ("*src",),
    "norm": ("?ord", "dtype"),
}
OUT_OF_PLACE_ONLY = ("clone", "max", "norm")


def names() -> Iterator[str]:
    """``_foreach_exp``, ``_foreach_exp_``, ..."""
    for name in FORMS:
        yield f"_foreach_{name}"
        if not name.endswith("_") and name not in OUT_OF_PLACE_ONLY:
            yield f"_foreach_{name}_"


def __getattr__(name: str) -> Callable:
    if name not in names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
    function = globals()[name] = foreach(name.removeprefix("_foreach_"))
    return function


def foreach(form: str) -> Callable:
    """The function of one form: ``"add"``, ``"add_"``.

    Its lists have one length, at least 1. What it returns is a tuple of the results; in place, the first list.

    Raises (the function):
        ArgumentError: a list is none, is empty, holds something else than tensors, or is of another length.
        ShapeError: in place, an operand does not broadcast to the tensor that is written to. Nothing has been written then.

    >>> import nbgrad
    >>> weights = [nbgrad.ones(2), nbgrad.zeros(1)]
    >>> nbgrad._foreach_mul(weights, [2.0, 3.0])
    (tensor([2., 2.]), tensor([0.]))
    >>> nbgrad._foreach_add_(weights, weights, alpha=0.5)
    [tensor([1.5000, 1.5000]), tensor([0.])]
    """
    in_place, name = form.endswith("_"), form.removesuffix("_")
    taken = FORMS[form if form in FORMS else name]
    kinds, options = [each for each in taken if each[0] in "*?"], [each for each in taken if each[0] not in "*?"]

    def function(self: Sequence[Tensor], *operands: Any, **given: Any) -> Any:
        who = f"_foreach_{form}"
        if form == "pow" and not isinstance(self, (list, tuple)) and operands:  # powers of one number
            return tuple(CALLS["pow"](self, x) for x in tensors_in(who, "exponent", operands[0]))
        tensors = tensors_in(who, "self", self)
        operands = (*operands, *operands_by_name(kinds[len(operands) :], given))
        if name == "norm" and not operands:
            operands = (2,)
        if unknown := set(given) - set(options):
            raise ArgumentError(f"{who}: got {', '.join(sorted(unknown))}, expected {', '.join(options) or 'no option'}.")
        extra = operands[len(kinds) :]
        if len(operands) < len(kinds) or len(extra) > len(options):
            raise ArgumentError(f"{who}: got {1 + len(operands)} arguments, expected {1 + len(kinds)}.")
        columns = [column(who, k, kind[0], value, tensors) for k, (kind, value) in enumerate(zip(kinds, operands))]
        given = {**dict(zip(options, extra)), **given}
        choices = [(key, of_places(who, key, value, len(tensors))) for key, value in given.items()]
        if in_place:
            require_fitting(who, tensors, columns)
        results = tuple(
            called(name, in_place, x, [each[k] for each in columns], {key: values[k] for key, values in choices})
            for k, x in enumerate(tensors)
        )
        return self if in_place else results

    function.__name__ = function.__qualname__ = f"_foreach_{form}"
    function.__doc__ = f"``{form}`` for every place of lists of tensors; see ``foreach``."
    return function


def operands_by_name(kinds: list[str], given: dict[str, Any]) -> Iterator[Any]:
    """The operands that are not given by position, taken out of what is given by name; as many as there are one after the other."""
    for kind in kinds:
        name = next((name for name in kind[1:].split() if name in given), None)
        if name is None:
            return
        yield given.pop(name)


def called(name: str, in_place: bool, x: Tensor, operands: list, options: dict) -> Any:
    """One place."""
    if name in ("maximum", "minimum") and not isinstance(operands[0], Tensor):  # which take no numbers
        name = "clamp_min" if name == "maximum" else "clamp_max"
    writes = getattr(x, name + "_", None) if in_place else None
    if writes is not None:
        return writes(*operands, **options)
    made = getattr(x, name)(*operands, **options)
    return x.copy_(made) if in_place else made


def tensors_in(who: str, what: str, given: Any) -> list[Tensor]:
    """The tensors of a list.

    Raises:
        ArgumentError: it is none, or empty, or holds something else.
    """
    if not isinstance(given, (list, tuple)) or not given:
        got = "an empty one" if isinstance(given, (list, tuple)) else type(given).__name__
        raise ArgumentError(f"{who}: {what}: expected a list of tensors, got {got}.")
    for k, x in enumerate(given):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{who}: {what}[{k}] is {type(x).__name__}, expected a Tensor.")
    return list(given)


def column(who: str, position: int, kind: str, value: Any, tensors: list[Tensor]) -> list:
    """An operand, place by place."""
    if kind == "?" and not (isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value)):
        return of_places(who, f"operand {position + 1}", value, len(tensors))
    found = tensors_in(who, f"operand {position + 1}", value)
    if len(found) != len(tensors):
        raise ArgumentError(f"{who}: operand {position + 1} has {len(found)} tensors, expected {len(tensors)}, as self has.")
    return found


def of_places(who: str, what: str, value: Any, count: int) -> list:
    """A number, a tensor or whatever else is one for all places; a list or a vector of numbers has one for each.

    Raises:
        ArgumentError: there are more, or fewer.
    """
    if isinstance(value, Tensor) and value.ndim == 1 and what == "value":
        value = value.tolist()
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * count
    if len(value) != count:
        raise ArgumentError(f"{who}: {what} has {len(value)} numbers, expected {count}, one for each tensor.")
    return list(value)


def require_fitting(who: str, tensors: list[Tensor], columns: list[list]) -> None:
    """Before anything is written: every operand broadcasts to what is written to.

    Raises:
        ShapeError: one does not.
    """
    for k, x in enumerate(tensors):
        for values in columns:
            other = values[k]
            if isinstance(other, Tensor) and broadcast_shapes(who, [x.layout.shape, other.layout.shape]) != x.layout.shape:
                got, expected = list(other.shape), list(x.shape)
                raise ShapeError(f"{who}: place {k}: an operand has shape {got}, expected one that broadcasts to {expected}.")
