"""Pruning: masks of parameters, under torch's keys ``weight_orig`` and ``weight_mask``.

NOTE [Pruned]: the parameter moves to ``<name>_orig``, the mask is a buffer ``<name>_mask``, and ``<name>`` is their product,
computed before each call of the module. A parameter that is pruned again has the product of all masks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, RangeError, ShapeError
from .members import MemberError
from .parametrizations import rows_along
from .reparametrised import Recomputed, installed, is_computed, uninstall

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class Masked(Recomputed):
    """The hook of a pruned parameter."""

    def __init__(self, name: str):
        self.name = name

    def compute(self, module: Any) -> Tensor:
        """The parameter times its mask."""
        return getattr(module, self.name + "_orig") * getattr(module, self.name + "_mask")


def parts_of(module: Any, name: str) -> tuple[Parameter, Tensor | None]:
    """The parameter, and its mask if it is pruned.

    Raises:
        MemberError: there is no such parameter; an AttributeError too.
    """
    again = is_computed(module, name, Masked)
    whole = getattr(module, name + "_orig" if again else name, None)
    if not isinstance(whole, Parameter):
        raise MemberError(f"prune: {type(module).__name__} has no parameter {name!r}.")
    return whole, getattr(module, name + "_mask") if again else None


class BasePruningMethod(ABC):
    """A way to choose what is pruned; a subclass says which by ``compute_mask``.

    >>> import nbgrad
    >>> class Negative(BasePruningMethod):
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> layer = nbgrad.nn.Linear(2, 2)
    >>> Negative.apply(layer, "weight") and bool((layer.weight >= 0).all())
    True
    """

    PRUNING_TYPE = "unstructured"

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask: 1 for what stays, of what ``default_mask`` leaves of ``t``, 0 for the rest."""

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> BasePruningMethod:
        """Prune the parameter ``name`` of ``module``; return what did it.

        Args:
            importance_scores: numbers in the place of the parameter's, by which it is decided what is pruned.

        Raises:
            MemberError: no such parameter. ShapeError: scores, or a mask, of another shape.
        """
        method = cls(*args, **kwargs)
        whole, before = parts_of(module, name)
        scores = whole.detach() if importance_scores is None else importance_scores
        if scores.shape != whole.shape:
            raise ShapeError(f"prune: importance_scores are {list(scores.shape)}, expected {list(whole.shape)}.")
        mask = method.masked(scores.detach(), nbgrad.ones_like(whole).detach() if before is None else before).to(whole.dtype)
        if before is not None:
            setattr(module, name + "_mask", mask)
            Masked(name)(module, None)
        else:
            delattr(module, name)
            module.register_parameter(name + "_orig", whole)
            module.register_buffer(name + "_mask", mask)
            installed(module, Masked(name))
        return method

    def masked(self, scores: Tensor, before: Tensor) -> Tensor:
        """The mask, where ``before`` is the one until now: it decides about what that leaves."""
        if self.PRUNING_TYPE != "unstructured" or before.is_meta or before.all():
            return self.compute_mask(scores, before)
        left = before.reshape((-1,)).nonzero().squeeze(1)
        chosen = scores.reshape((-1,)).index_select(0, left)
        mask = self.compute_mask(chosen, nbgrad.ones_like(chosen))
        return before.reshape((-1,)).index_copy(0, left, mask.to(before.dtype)).reshape(before.shape)

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """``t`` with zeros where the method prunes.

        >>> import nbgrad
        >>> L1Unstructured(1).prune(nbgrad.tensor([1.0, -3.0]))
        tensor([ 0., -3.])
        """
        mask = nbgrad.ones_like(t) if default_mask is None else default_mask
        return t * self.masked(t if importance_scores is None else importance_scores, mask).to(t.dtype)


class Identity(BasePruningMethod):
    """Nothing is pruned: names and keys are those of a pruned parameter.

    >>> import nbgrad
    >>> Identity().prune(nbgrad.tensor([1.0, -3.0]))
    tensor([ 1., -3.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """What it was."""
        return default_mask


class CustomFromMask(BasePruningMethod):
    """A given mask.

    >>> import nbgrad
    >>> CustomFromMask(nbgrad.tensor([0, 1])).prune(nbgrad.tensor([1.0, -3.0]))
    tensor([ 0., -3.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Both masks."""
        if self.mask.shape != default_mask.shape:
            raise ShapeError(f"prune: mask is {list(self.mask.shape)}, expected {list(default_mask.shape)}.")
        return default_mask * self.mask.to(default_mask.dtype)


class _Amount(BasePruningMethod):
    """A number, or a part, of elements or channels."""

    def __init__(self, amount: float):
        whole = isinstance(amount, int) and not isinstance(amount, bool)
        if amount < 0 or not whole and amount > 1:
            raise RangeError(f"prune: amount is {amount}, expected a part, from 0.0 to 1.0, or a number of elements.")
        self.amount = amount

    def count(self, total: int) -> int:
        """How many of so many are pruned."""
        if isinstance(self.amount, int):
            if self.amount > total:
                raise RangeError(f"prune: amount is {self.amount}, expected at most {total} elements.")
            return self.amount
        return round(self.amount * total)


class RandomUnstructured(_Amount):
    """Elements that are drawn.

    >>> import nbgrad
    >>> RandomUnstructured(0.5).prune(nbgrad.ones(4)).sum()
    tensor(2.)
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The draws with the greatest numbers go."""
        drawn = nbgrad.rand(t.numel(), device=t.device).topk(self.count(t.numel())).indices
        return default_mask.reshape((-1,)).index_fill(0, drawn, 0).reshape(t.shape)


class L1Unstructured(_Amount):
    """The elements nearest to zero.

    >>> import nbgrad
    >>> L1Unstructured(1).prune(nbgrad.tensor([2.0, 1.0, -3.0]))
    tensor([ 2.,  0., -3.])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The smallest go."""
        least = t.abs().reshape((-1,)).topk(self.count(t.numel()), largest=False).indices
        return default_mask.reshape((-1,)).index_fill(0, least, 0).reshape(t.shape)


class RandomStructured(_Amount):
    """Places of a dimension that are drawn.

    >>> import nbgrad
    >>> RandomStructured(1, dim=0).prune(nbgrad.ones(2, 3)).sum()
    tensor(3.)
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        super().__init__(amount)
        self.dim = dim

    def scores(self, t: Tensor) -> Tensor:
        """One number for each place of the dimension."""
        return nbgrad.rand(t.shape[self.dim], device=t.device)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The places with the least numbers go."""
        least = self.scores(t).topk(self.count(t.shape[self.dim]), largest=False).indices
        return default_mask.index_fill(self.dim, least, 0)


class LnStructured(RandomStructured):
    """Places of a dimension whose elements have the smallest n-norms.

    >>> import nbgrad
    >>> LnStructured(1, n=2, dim=0).prune(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[0., 0.],
            [3., 4.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1):
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        """The norms."""
        return rows_along(t, self.dim).norm(self.n, 1) if t.ndim > 1 else t.abs()


def identity(module: Any, name: str) -> Any:
    """Give a parameter the names of a pruned one, and a mask of ones; return the module.

    >>> import nbgrad
    >>> list(identity(nbgrad.nn.Linear(2, 2), "weight").state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune so many elements, or so large a part of them, drawn at random; return the module.

    >>> import nbgrad
    >>> int((random_unstructured(nbgrad.nn.Linear(4, 4), "weight", 0.25).weight == 0).sum())
    4
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune so many elements, or so large a part of them, those nearest to zero; return the module.

    >>> import nbgrad
    >>> int((l1_unstructured(nbgrad.nn.Linear(4, 4), "weight", 3).weight == 0).sum())
    3
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune so many places of a dimension, or so large a part, drawn at random; return the module.

    >>> import nbgrad
    >>> int((random_structured(nbgrad.nn.Linear(4, 4), "weight", 1, 0).weight == 0).all(1).sum())
    1
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> Any:
    """Prune so many places of a dimension, or so large a part, those of the smallest n-norms; return the module.

    >>> import nbgrad
    >>> int((ln_structured(nbgrad.nn.Linear(4, 4), "weight", 2, 2, 1).weight == 0).all(0).sum())
    2
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune by a mask, 0 where an element goes; return the module.

    >>> import nbgrad
    >>> custom_from_mask(nbgrad.nn.Linear(2, 1), "weight", nbgrad.tensor([[0, 1]])).weight[0, 0].item() == 0
    True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: dict | None = None, **kwargs: Any
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: ``(module, name)`` of each.
        pruning_method: a class of this module, unstructured; ``kwargs`` are its arguments.
        importance_scores: ``{(module, name): numbers}`` by which it is decided, in the place of the parameters'.

    Raises:
        MemberError: no such parameter. ArgumentError: a method that is not unstructured.

    >>> import nbgrad
    >>> layers = nbgrad.nn.Linear(2, 3), nbgrad.nn.Linear(3, 2)
    >>> global_unstructured([(each, "weight") for each in layers], L1Unstructured, amount=4)
    >>> sum(int((each.weight == 0).sum()) for each in layers)
    4
    """
    places = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentError(
            f"global_unstructured: {pruning_method.__name__} is {method.PRUNING_TYPE}, expected an unstructured one."
        )
    scores, masks, shapes = [], [], []
    for module, name in places:
        whole, mask = parts_of(module, name)
        scores.append((importance_scores or {}).get((module, name), whole.detach()).reshape((-1,)))
        masks.append((nbgrad.ones_like(whole).detach() if mask is None else mask).reshape((-1,)))
        shapes.append(whole.shape)
    joint = method.masked(nbgrad.cat(scores), nbgrad.cat(masks))
    for (module, name), part, shape in zip(places, joint.split([each.numel() for each in scores]), shapes):
        custom_from_mask(module, name, part.reshape(shape))


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter an ordinary one, with its zeros; return the module.

    Raises:
        RangeError: it is not pruned.

    >>> import nbgrad
    >>> list(remove(identity(nbgrad.nn.Linear(2, 2), "weight"), "weight").state_dict())
    ['bias', 'weight']
    """
    if not is_computed(module, name, Masked):
        raise RangeError(f"prune: {name!r} of {type(module).__name__} is not pruned.")
    uninstall(module, name, Masked)
    whole = getattr(module, name + "_orig")
    with nbgrad.no_grad():
        whole.copy_(Masked(name).compute(module))
    for end in ("_orig", "_mask", ""):
        delattr(module, name + end)
    module.register_parameter(name, whole)
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one below it, is pruned.

    >>> import nbgrad
    >>> is_pruned(nbgrad.nn.Linear(2, 2))
    False
    """
    return any(kind == Masked.__name__ for each in module.modules() for kind, _ in each.__dict__.get("_recomputed_", ()))
