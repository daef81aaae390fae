"""All parameters of a model at once: their gradients clipped, their values as one vector."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from types import MethodType
from typing import Any

import nbgrad

from .. import Tensor
from ..base.errors import ArgumentError, GradError
from ..dispatch.updates import fused_updates, in_tables
from ..methods.namespaces import module_below

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    "zero_grads",
]


def listed(op: str, parameters: Any) -> list[Any]:
    """One tensor, or the members of an iterable of them, as a list.

    Raises:
        ArgumentError: neither; a module, for example.
    """
    if isinstance(parameters, Tensor):
        return [parameters]
    if not isinstance(parameters, Iterable):
        name = parameters.__name__ + "()" if isinstance(parameters, MethodType) else "parameters()"
        raise ArgumentError(
            f"{op}: expected a tensor or an iterable of tensors, got {type(parameters).__name__}. Hint: call model.{name}."
        )
    return list(parameters)


def number(op: str, name: str, value: Any) -> Any:
    """``value``, if it is a number or a tensor that holds one.

    Raises:
        ArgumentError: it is not.
    """
    if not hasattr(value, "__float__"):
        raise ArgumentError(f"{op}: {name} must be a number, got {value!r}.")
    return value


def order(op: str, norm_type: Any) -> Any:
    """The order of a norm: a number, or its name, as "inf" is in many programs.

    Raises:
        ArgumentError: neither.
    """
    if isinstance(norm_type, str):
        with suppress(ValueError):
            return float(norm_type)
    return number(op, "norm_type", norm_type)


def zero_grads(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Forget the gradients; or, unless ``set_to_none``, cut those that exist off their graph and zero them in place."""
    for parameter in parameters:
        if set_to_none:
            parameter.grad = None
        elif parameter.grad is not None:
            parameter.grad = parameter.grad.detach().zero_()


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients, in place, so that the norm of all of them together is at most ``max_norm``.

    Args:
        parameters: one or many; those without a gradient are left out.
        max_norm: the bound.
        norm_type: p of the p-norm; may be ``math.inf`` or "inf", and 0 or negative: then it is the norm of the tensors' norms,
            as torch has it (of order 0 the number of tensors that are not zero).
        error_if_nonfinite: refuse to scale by a norm that is infinite or NaN.
        foreach: accepted, as by its relatives; the result is the same.

    Returns:
        The norm before scaling, a zero-dim tensor.

    Raises:
        GradError: the norm is not finite and ``error_if_nonfinite`` is set.

    >>> weight = nbgrad.nn.Parameter(nbgrad.zeros(2))
    >>> weight.grad = nbgrad.tensor([3.0, 4.0])
    >>> clip_grad_norm_([weight], 1.0)
    tensor(5.)
    """
    number("clip_grad_norm_", "max_norm", max_norm)
    norm_type = order("clip_grad_norm_", norm_type)
    grads = gradients_of("clip_grad_norm_", parameters)
    with nbgrad.no_grad():
        norm = _total_norm(grads, norm_type)
        if error_if_nonfinite and not norm.isfinite():
            raise GradError(
                f"clip_grad_norm_: the norm of the gradients is {norm.item()}. "
                "Hint: error_if_nonfinite=False scales by it all the same."
            )
        _scale(grads, max_norm, norm)
    return norm


clip_grad_norm = clip_grad_norm_  # torch's older name


def _total_norm(grads: list[Any], p: float) -> Any:
    """The p-norm of all elements of ``grads``; 0 if there are none. Those of other devices come to that of the first."""
    if not grads:
        return nbgrad.tensor(0.0)
    if p <= 0:
        return nbgrad.linalg.vector_norm(nbgrad.stack([nbgrad.linalg.vector_norm(grad, p) for grad in grads]), p)
    together, first = _norms_together(grads, p), grads[0].device
    if together:
        return together[0] if len(together) == 1 else nbgrad.linalg.vector_norm(nbgrad.stack([x.to(first) for x in together]), p)
    total: Any = nbgrad.zeros((), device=first)
    if p == math.inf:
        for grad in grads:
            total = nbgrad.maximum(total.to(grad.dtype), grad.abs().max().to(first))
        return total
    for grad in grads:
        total = total + _power(grad, p).sum().to(first)
    return total.sqrt() if p == 2 else total ** (1 / p)


def _norms_together(grads: list[Any], p: float) -> list[Any]:
    """The norm of all gradients of each device and dtype, in few launches; nothing where one is on the CPU, or of other orders."""
    op = "norm1" if p == 1 else "norm2" if p == 2 else ""
    groups = defaultdict[tuple, list[Any]](list)
    for grad in grads:
        x = nbgrad.view_as_real(grad.resolve_conj()) if grad.is_complex() and p == 2 else grad
        if not op or not in_tables(x) or not x.is_floating_point():
            return []
        if x.numel():
            groups[x.device, x.dtype].append(x if x.layout.dense and not x.layout.neg else x.contiguous())
    if op is None or not groups:
        return []
    from ..lowering.cuda.multi_tensor import folded_together

    return [folded_together(op, members) for members in groups.values()]


def _scale(grads: list[Any], bound: Any, norm: Any) -> None:
    """Scale gradients, in place, by what brings ``norm`` down to ``bound``; never up."""
    # 1e-6 keeps a norm of 0 from dividing; torch adds the same.
    factor = (bound / (norm + 1e-6)).clamp(max=1.0)
    together = defaultdict[tuple, list[Any]](list)
    for grad in grads:
        together[grad.device, grad.dtype].append(grad)
    for (device, dtype), members in together.items():
        here = factor.to(device=device, dtype=dtype)
        if in_tables(members[0]):
            fused_updates(scaled, [((grad,), (here,)) for grad in members], {}, singles=("factor",))
            continue
        for grad in members:
            grad.mul_(here)


def scaled(scalar: Any, g: Any, *, factor: Any) -> tuple:
    """A gradient times a factor: a rule as those of optimizers."""
    return (g * factor,)


def clamped(scalar: Any, g: Any, *, low: Any, high: Any) -> tuple:
    """A gradient within bounds."""
    return (scalar.minimum(scalar.maximum(g, low), high),)


def _power(grad: Any, p: float) -> Any:
    """``|grad|`` to the power ``p``; real, also if ``grad`` is complex."""
    return grad.abs() ** p if p != 2 else grad.abs().square() if grad.is_complex() else grad * grad


def get_total_norm(
    tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The p-norm of the elements of all tensors together, a zero-dim tensor.

    Raises:
        GradError: it is not finite and ``error_if_nonfinite`` is set.

    >>> get_total_norm([nbgrad.tensor([3.0]), nbgrad.tensor([4.0])])
    tensor(5.)
    """
    norm = _total_norm(listed("get_total_norm", tensors), order("get_total_norm", norm_type))
    if error_if_nonfinite and not norm.isfinite():
        raise GradError(f"get_total_norm: the norm is {norm.item()}. Hint: error_if_nonfinite=False returns it all the same.")
    return norm


def gradients_of(op: str, parameters: Tensor | Iterable[Tensor]) -> list[Any]:
    """The gradients that are there."""
    return [tensor.grad for tensor in listed(op, parameters) if tensor.grad is not None]


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients, in place, by what brings ``total_norm`` down to ``max_norm``; never up."""
    with nbgrad.no_grad():
        bound = number("clip_grads_with_norm_", "max_norm", max_norm)
        _scale(gradients_of("clip_grads_with_norm_", parameters), bound, total_norm)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Move every element of the gradients into ``[-clip_value, clip_value]``, in place.

    >>> weight = nbgrad.nn.Parameter(nbgrad.zeros(2))
    >>> weight.grad = nbgrad.tensor([3.0, -0.5])
    >>> clip_grad_value_([weight], 1.0)
    >>> weight.grad
    tensor([ 1.0000, -0.5000])
    """
    with nbgrad.no_grad():
        number("clip_grad_value_", "clip_value", clip_value)
        several = list[Any]()
        for grad in gradients_of("clip_grad_value_", parameters):
            if in_tables(grad):
                several.append(((grad,), ()))
            else:
                grad.clamp_(-clip_value, clip_value)
        fused_updates(clamped, several, {"low": -float(clip_value), "high": float(clip_value)})


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters in one vector, through which gradients flow.

    >>> parameters_to_vector([nbgrad.ones(2), nbgrad.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    return nbgrad.cat([parameter.reshape((-1,)) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters the elements of a vector: each becomes a view of it, as torch's.

    Raises:
        ArgumentError: no tensor.
    """
    if not isinstance(vec, Tensor):
        raise ArgumentError(f"vector_to_parameters: expected a Tensor, got {type(vec).__name__}.")
    start = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = vec.narrow(0, start, size).view_as(parameter).data
        start += size


# Names of modules that import this one: they are asked for late.
REPARAMETRISED = ("remove_spectral_norm", "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm")
FORMATS = ("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format")
FUSION = ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights")


def __getattr__(name: str) -> Any:
    """Functions of modules that import this one; torch's paths: ``nbgrad.nn.utils.rnn``."""
    for module, names in (("reparametrised", REPARAMETRISED), ("weight_formats", FORMATS), ("fusion", FUSION)):
        if name in names:
            return getattr(import_module(f"nbgrad.nn.{module}"), name)
    return module_below(__name__, name)
