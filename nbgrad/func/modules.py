"""Modules as functions of their parameters, and many modules as one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Sequence

from ..base.calls import CALLS
from ..base.errors import ArgumentError, GradError, RangeError
from ..tensors.tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    Args:
        module: an nn.Module; it is as before afterwards.
        parameter_and_buffer_dicts: ``{dotted name: tensor}``, or a sequence of such dicts with different names.
        args: a tuple of positional arguments, or the only one.
        kwargs: named arguments.
        tie_weights: what one name is given, the other names of the same tensor get too.
        strict: refuse names that are missing or unknown.

    Returns:
        What the module returns.

    Raises:
        ArgumentError: no module. RangeError: no dicts, a name given twice, tied names given different tensors.
        GradError: see ``strict``.

    >>> import nbgrad
    >>> layer = nbgrad.nn.Linear(2, 1, bias=False)
    >>> nbgrad.func.functional_call(layer, {"weight": nbgrad.ones(1, 2)}, nbgrad.tensor([3.0, 4.0])).detach()
    tensor([7.])
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, joined_dicts(parameter_and_buffer_dicts), tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module: Any, given: dict[str, Tensor], tie_weights: bool = False, strict: bool = False) -> Iterator[None]:
    """A region in which a module has other tensors in the place of its parameters and buffers: see ``functional_call``.

    >>> import nbgrad
    >>> layer = nbgrad.nn.Linear(2, 1, bias=False)
    >>> with replaced(layer, {"weight": nbgrad.ones(1, 2)}):
    ...     layer(nbgrad.tensor([3.0, 4.0]))
    tensor([7.])
    """
    if not hasattr(module, "named_modules"):
        raise ArgumentError(f"functional_call: expected a Module, got {type(module).__name__}.")
    state = list(state_of(module))
    places = {name: place for name, *place in state}
    changes = with_ties(state, given) if tie_weights else given
    if strict and set(places) != set(changes):
        raise GradError(
            f"functional_call: missing {sorted(set(places) - set(changes))}, unexpected {sorted(set(changes) - set(places))}."
        )
    replaced_names = [name for name in changes if name in places]
    try:
        for name in replaced_names:
            owner, attribute, _ = places[name]
            put(owner, attribute, changes[name])
        yield
    finally:
        for name in replaced_names:
            put(*places[name])


_reparametrize_module = replaced  # torch's name of it


def put(owner: Any, attribute: str, value: Any) -> None:
    """Set a registered attribute, whatever it is."""
    object.__setattr__(owner, attribute, value)


def state_of(module: Any) -> Iterator[tuple[str, Any, str, Tensor]]:
    """Name, owner, attribute and value of all parameters and buffers, under every name."""
    for path, owner in module.named_modules(remove_duplicate=False):
        for pairs in (owner.named_parameters(recurse=False, remove_duplicate=False), owner.named_buffers(recurse=False)):
            for attribute, value in pairs:
                yield f"{path}.{attribute}" if path else attribute, owner, attribute, value


def joined_dicts(dicts: Any) -> dict[str, Tensor]:
    """One dict of several.

    Raises:
        RangeError: no dicts, or a name in two of them.
    """
    many = [dicts] if isinstance(dicts, Mapping) else list(dicts) if isinstance(dicts, (list, tuple)) else None
    if many is None or not all(isinstance(each, Mapping) for each in many):
        raise RangeError("functional_call: expected a dict of parameters and buffers, or a list or tuple of dicts.")
    joined: dict[str, Tensor] = {}
    for each in many:
        twice = sorted(joined.keys() & each.keys())
        if twice:
            raise RangeError(f"functional_call: {twice} are given in more than one dict.")
        joined.update(each)
    return joined


def with_ties(state: list[tuple[str, Any, str, Tensor]], given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors, also under the other names of those that they replace.

    Args:
        state: all that ``state_of`` gives.

    Raises:
        RangeError: two names of one tensor are given different ones.
    """
    names_of: dict[int, list[str]] = {}
    for name, _, _, value in state:
        names_of.setdefault(id(value), []).append(name)
    changes = dict(given)
    for names in names_of.values():
        values = [given[name] for name in names if name in given]
        if any(value is not values[0] for value in values):
            raise RangeError(
                f"functional_call: {names} are one tensor in the module and are given different ones. Hint: tie_weights=False."
            )
        if values:
            changes.update(dict.fromkeys(names, values[0]))
    return changes


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of several modules of one kind, stacked: for ``vmap`` of ``functional_call``.

    Returns:
        ``(parameters, buffers)``: by name the modules' tensors along a new first dimension; parameters are leaves that require
        grad as the modules' do.

    Raises:
        GradError: no modules, of different classes, or some of them in training and others not.

    >>> import nbgrad
    >>> layers = [nbgrad.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = nbgrad.func.stack_module_state(layers)
    >>> tuple(parameters["weight"].shape)
    (4, 3, 2)
    """
    models = list(models)
    if not models:
        raise GradError("stack_module_state: expected at least one module, got none.")
    if any(type(model) is not type(models[0]) for model in models):
        raise GradError("stack_module_state: the modules are of different classes.")
    if any(model.training is not models[0].training for model in models):
        raise GradError("stack_module_state: some modules are in training and others are not. Hint: call train() or eval() on all.")
    return (
        stacked([dict(model.named_parameters()) for model in models]),
        stacked([dict(model.named_buffers()) for model in models]),
    )


def stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors of several dicts of the same names, along a new first dimension, as leaves."""
    made = {}
    for name, first in states[0].items():
        tensor = CALLS["stack"](tuple(each[name].detach() for each in states))
        made[name] = tensor.requires_grad_(first.requires_grad) if first.dtype.differentiable else tensor
    return made


STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make the batch normalisations of a module forget their running statistics, which ``vmap`` cannot write. Returns it.

    They then normalise by the batch that they are given, also after ``eval()``.

    >>> import nbgrad
    >>> net = nbgrad.func.replace_all_batch_norm_modules_(nbgrad.nn.Sequential(nbgrad.nn.BatchNorm1d(2)))
    >>> dict(net.named_buffers())
    {}
    """
    for each in root.modules():
        if getattr(each, "track_running_stats", False) and all(hasattr(each, name) for name in STATISTICS):
            each.track_running_stats = False
            for name in STATISTICS:
                setattr(each, name, None)
    return root
