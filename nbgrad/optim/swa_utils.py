"""Averages of a model's weights over training, and the learning rates that go with them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import RangeError, RootError, ShapeError, require_callable
from ..nn.module import Module
from ..nn.normal_layers import _BatchNorm
from .lr_scheduler.base import LRScheduler, spread
from .optimizer import Optimizer, require

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

# What one average is: of an averaged tensor, the model's, and how many models are in the average.
Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[list[Tensor], list[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average as an ``avg_fn``: ``decay`` of what there is remains at each step.

    Raises:
        RangeError: ``decay`` is not from 0 to 1.

    >>> import nbgrad
    >>> get_ema_avg_fn(0.75)(nbgrad.ones(2), nbgrad.zeros(2), 1)
    tensor([0.7500, 0.7500])
    """
    require(0 <= decay <= 1, "get_ema_avg_fn", "decay", decay, "a number from 0 to 1")

    @nbgrad.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """The mean of all models as an ``avg_fn``.

    >>> import nbgrad
    >>> get_swa_avg_fn()(nbgrad.ones(2), nbgrad.zeros(2), 3)
    tensor([0.7500, 0.7500])
    """

    @nbgrad.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """As ``get_ema_avg_fn``, of lists of tensors, in place: a ``multi_avg_fn``.

    >>> import nbgrad
    >>> mean = nbgrad.ones(2)
    >>> get_ema_multi_avg_fn(0.75)([mean], [nbgrad.zeros(2)], 1)
    >>> mean
    tensor([0.7500, 0.7500])
    """
    require(0 <= decay <= 1, "get_ema_multi_avg_fn", "decay", decay, "a number from 0 to 1")
    return towards(get_ema_avg_fn(decay), lambda num_averaged: 1 - decay)


def get_swa_multi_avg_fn() -> Averages:
    """As ``get_swa_avg_fn``, of lists of tensors, in place: a ``multi_avg_fn``.

    >>> import nbgrad
    >>> mean = nbgrad.ones(2)
    >>> get_swa_multi_avg_fn()([mean], [nbgrad.zeros(2)], 3)
    >>> mean
    tensor([0.7500, 0.7500])
    """
    # Of a count on a GPU, without a wait, and in float64: an integer's quotient would be of the default dtype.
    return towards(get_swa_avg_fn(), lambda n: 1 / ((n.double() if isinstance(n, Tensor) else n) + 1))


def towards(exact: Average, part: Callable[[Any], Any]) -> Averages:
    """Averages in place: each tensor goes ``part(num_averaged)`` of the way to the model's; integers as ``exact`` says."""

    @nbgrad.no_grad()
    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        weight = part(num_averaged)
        for mean, x in zip(averaged, current, strict=True):
            if mean.is_floating_point() or mean.is_complex():
                mean.lerp_(x, weight.to(mean.dtype) if isinstance(weight, Tensor) else weight)
            else:
                mean.copy_(exact(mean, x, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, and which is called as the model is.

    Args:
        model: what is copied.
        device: where the copy lies; None: where the model does.
        avg_fn: ``avg_fn(averaged, current, n_averaged)`` returns the new average of a tensor; None: the mean.
        multi_avg_fn: ``multi_avg_fn(averaged, current, n_averaged)`` changes lists of tensors of one device and dtype, in place.
        use_buffers: average buffers, too; otherwise they are copied from the model at every update.

    Attributes:
        module: the copy. n_averaged: how many models are in the average, a buffer.

    Raises:
        RootError: both ``avg_fn`` and ``multi_avg_fn``; an AssertionError too.

    Source: Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018.

    >>> import nbgrad
    >>> model = nbgrad.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model)
    >>> for weight in (1.0, 2.0, 6.0):
    ...     _ = nbgrad.nn.init.constant_(model.weight, weight)
    ...     averaged.update_parameters(model)
    >>> averaged(nbgrad.ones(1)).item()
    3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise RootError("AveragedModel: avg_fn and multi_avg_fn are both given, expected one of them.")
        for function in (avg_fn, multi_avg_fn):
            if function is not None:
                require_callable("AveragedModel", function)
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device=device)
        self.register_buffer("n_averaged", nbgrad.tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """As the model's."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take ``model`` into the average; the first one is copied.

        Raises:
            ShapeError: its tensors do not fit.
        """
        pairs = list(self._pairs(model, self.use_buffers))
        copies = [] if self.use_buffers else list(fitting(self.module.buffers(), model.buffers()))
        with nbgrad.no_grad():
            if bool(self.n_averaged == 0):
                for mean, x in pairs:
                    mean.copy_(x)
            elif self.avg_fn is not None:
                for mean, x in pairs:
                    mean.copy_(self.avg_fn(mean, x, self.n_averaged.to(mean.device)))
            else:
                self._average_together(pairs)
            for mean, x in copies:
                mean.copy_(x)
            self.n_averaged.add_(1)

    def _pairs(self, model: Module, buffers: bool) -> Iterator[tuple[Tensor, Tensor]]:
        """What is averaged, beside what the model has, on one device."""
        of_means, of_model = (chain(m.parameters(), m.buffers()) if buffers else m.parameters() for m in (self.module, model))
        return fitting(of_means, of_model)

    def _average_together(self, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """The lists of each device and dtype at once."""
        lists: dict[Any, tuple[list[Tensor], list[Tensor]]] = defaultdict(lambda: ([], []))
        for mean, x in pairs:
            means, xs = lists[mean.device, mean.dtype]
            means.append(mean)
            xs.append(x)
        for (device, _), (means, xs) in lists.items():
            n_averaged = self.n_averaged.to(device)
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(means, xs, n_averaged)
                continue
            for mean, x in zip(means, xs):
                mean.copy_(get_swa_avg_fn()(mean, x, n_averaged))


def fitting(means: Iterable[Tensor], model: Iterable[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of an averaged tensor and the model's, on the former's device, neither with a graph.

    Raises:
        ShapeError: they differ in number or shape.
    """
    means, xs = list(means), list(model)
    shapes, given = [list(mean.shape) for mean in means], [list(x.shape) for x in xs]
    if shapes != given:
        raise ShapeError(f"update_parameters: the model has tensors of shapes {given}, expected {shapes}, those of the copy.")
    for mean, x in zip(means, xs):
        yield mean.detach(), x.detach().to(mean.device)


@nbgrad.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Give the batch norms of a model the mean and variance of its own activations, by one pass over data.

    Args:
        loader: batches, each a tensor, or a sequence that begins with one.
        model: called in training mode; its mode and momenta are as before afterwards, also if it raises.
        device: where batches are moved before; None: nowhere.

    >>> import nbgrad
    >>> model = nbgrad.nn.BatchNorm1d(1)
    >>> update_bn([nbgrad.tensor([[1.0], [3.0]]), nbgrad.tensor([[5.0], [7.0]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [norm.momentum for norm in norms], model.training
    try:
        model.train()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(was_training)


# The part of the way to ``swa_lr`` after a part of the epochs.
WAYS: dict[str, Callable[[float], float]] = {"cos": lambda t: (1 - math.cos(math.pi * t)) / 2, "linear": lambda t: t}


class SWALR(LRScheduler):
    """Goes from the learning rate that there is to ``swa_lr``, and stays there.

    Args:
        swa_lr: one for all groups, or one for each.
        anneal_epochs: in so many epochs.
        anneal_strategy: "cos" or "linear".

    Raises:
        RangeError: another strategy, negative epochs, another number of ``swa_lr`` than of groups.

    >>> import nbgrad
    >>> optimizer = nbgrad.optim.SGD([nbgrad.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = spread(self._name, self._required(optimizer), "swa_lr", swa_lr)
        require(anneal_strategy in WAYS, self._name, "anneal_strategy", anneal_strategy, "'cos' or 'linear'")
        valid = isinstance(anneal_epochs, int) and anneal_epochs >= 0
        require(valid, self._name, "anneal_epochs", anneal_epochs, "an integer that is not negative")
        for group, lr in zip(optimizer.param_groups, rates):
            group["swa_lr"] = lr
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """The part of the way that lies behind after ``step`` steps."""
        return WAYS[self._anneal_strategy](max(0, min(1, step / max(1, self.anneal_epochs))))

    def _rates(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)

        def start(lr: Any, end: Any) -> Any:
            """Where the way began that has led to ``lr``."""
            return end if before == 1 else (lr - before * end) / (1 - before)

        groups = self.optimizer.param_groups
        return [group["swa_lr"] * now + start(group["lr"], group["swa_lr"]) * (1 - now) for group in groups]

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from what ``state_dict`` returned.

        Raises:
            As every scheduler's. RangeError: a strategy that there is not.
        """
        strategy = self._checked(state_dict).get("_anneal_strategy", "cos")
        if strategy not in WAYS:
            raise RangeError(f"{self._name}: load_state_dict: _anneal_strategy is {strategy!r}, expected 'cos' or 'linear'.")
        super().load_state_dict(state_dict)
