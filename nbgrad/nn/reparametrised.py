"""torch's older ways to compute a weight from other parameters, before each call; and ``skip_init``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbgrad

from .. import Parameter, Tensor
from ..base.errors import ArgumentError, RangeError
from . import functional as F
from .module import Module
from .parametrizations import length_times_direction, norm_but, outputs_of, over_largest, rows_along

__all__ = ["remove_spectral_norm", "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm"]


class Recomputed:
    """A hook that sets an attribute of its module before each call. It is a class so that copies of modules copy it."""

    name: str

    def __call__(self, module: Module, args: Any) -> None:
        object.__setattr__(module, self.name, self.compute(module))

    def compute(self, module: Any) -> Tensor:
        """The weight, from other parameters."""
        raise NotImplementedError

    def current(self, module: Any) -> Tensor:
        """The weight of what these parameters are now; nothing else changes."""
        return self.compute(module)


class WeightNorm(Recomputed):
    """Length times direction."""

    def __init__(self, name: str, dim: int | None):
        self.name, self.dim = name, dim

    def compute(self, module: Any) -> Tensor:
        """``v * (g / |v|)``."""
        return length_times_direction(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"), self.dim)


class SpectralNorm(Recomputed):
    """A weight divided by its largest singular value."""

    def __init__(self, name: str, iterations: int, dim: int, eps: float):
        self.name, self.iterations, self.dim, self.eps = name, iterations, dim, eps

    def compute(self, module: Any) -> Tensor:
        """One or a few power iterations, while training; then the quotient."""
        if module.training:
            weight, u, v = self.parts(module)
            matrix = rows_along(weight, self.dim)
            with nbgrad.no_grad():
                for _ in range(self.iterations):
                    v.copy_(F.normalize(matrix.mT @ u, dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix @ v, dim=0, eps=self.eps))
        return self.current(module)

    def current(self, module: Any) -> Tensor:
        """The quotient."""
        weight, u, v = self.parts(module)
        return over_largest(weight, rows_along(weight, self.dim), u, v)

    def parts(self, module: Any) -> tuple[Tensor, Tensor, Tensor]:
        """The undivided weight, and the vectors that the iterations turn towards its first singular ones."""
        return tuple(getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))


def installed(module: Any, hook: Recomputed) -> Any:
    """The module, with the weight computed now and before each call."""
    hook(module, None)
    handles = module.__dict__.setdefault("_recomputed_", {})
    handles[type(hook).__name__, hook.name] = hook, module.register_forward_pre_hook(hook)
    return module


def is_computed(module: Any, name: str, kind: type[Recomputed]) -> bool:
    """Whether a hook of that kind computes the attribute."""
    return (kind.__name__, name) in module.__dict__.get("_recomputed_", ())


def uninstall(module: Any, name: str, kind: type[Recomputed]) -> Recomputed:
    """Take the hook off; which one it was."""
    hook, handle = module.__dict__["_recomputed_"].pop((kind.__name__, name))
    handle.remove()
    return hook


def weight_of(op: str, module: Any, name: str, kind: type[Recomputed]) -> Tensor:
    """The parameter that is to be computed, which is no parameter of the module any more."""
    if is_computed(module, name, kind):
        raise ArgumentError(f"{op}: {name!r} of {type(module).__name__} is computed already.")
    weight = getattr(module, name, None)
    if not isinstance(weight, Parameter):
        raise ArgumentError(f"{op}: {type(module).__name__} has no parameter {name!r}.")
    delattr(module, name)
    return weight


def removed(op: str, module: Any, name: str, kind: type[Recomputed], rest: tuple[str, ...]) -> Any:
    """The module with an ordinary parameter again, of what the weight is now."""
    if not is_computed(module, name, kind):
        raise RangeError(f"{op}: {name!r} of {type(module).__name__} is not computed so.")
    with nbgrad.no_grad():
        weight = uninstall(module, name, kind).current(module)
    for end in rest:
        delattr(module, name + end)
    delattr(module, name)
    module.register_parameter(name, Parameter(weight))
    return module


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight as a length ``weight_g`` times a direction ``weight_v`` before each call.

    Args:
        name: of the parameter. dim: has a length of its own for each of its places; None is one length for all.

    Raises:
        ArgumentError: no such parameter.

    Source: Salimans, Kingma, "Weight Normalization", 2016. ``nn.utils.parametrizations.weight_norm`` is the newer form.

    >>> import nbgrad
    >>> list(weight_norm(nbgrad.nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    weight = weight_of("weight_norm", module, name, WeightNorm)
    with nbgrad.no_grad():
        module.register_parameter(name + "_g", Parameter(norm_but(weight.detach(), dim)))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
    return installed(module, WeightNorm(name, dim))


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again.

    Raises:
        RangeError: it is not computed by ``weight_norm``.

    >>> import nbgrad
    >>> list(remove_weight_norm(weight_norm(nbgrad.nn.Linear(2, 3))).state_dict())
    ['bias', 'weight']
    """
    return removed("remove_weight_norm", module, name, WeightNorm, ("_g", "_v"))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each call.

    Args:
        name: of the parameter. dim: that of outputs: 0, of transposed convolutions 1, unless given.

    Raises:
        ArgumentError: no such parameter. RangeError: no iterations.

    Source: Miyato et al., "Spectral Normalization for Generative Adversarial Networks", 2018. The newer form is
    ``nn.utils.parametrizations.spectral_norm``.

    >>> import nbgrad
    >>> list(spectral_norm(nbgrad.nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if n_power_iterations <= 0:
        raise RangeError(f"spectral_norm: n_power_iterations is {n_power_iterations}, expected a positive number.")
    weight = weight_of("spectral_norm", module, name, SpectralNorm)
    dim = outputs_of(module) if dim is None else dim
    rows, columns = rows_along(weight, dim).shape
    module.register_parameter(name + "_orig", Parameter(weight.detach()))
    for end, size in (("_u", rows), ("_v", columns)):
        module.register_buffer(name + end, F.normalize(weight.detach().new_empty((size,)).normal_(), dim=0, eps=eps))
    return installed(module, SpectralNorm(name, n_power_iterations, dim, eps))


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight an ordinary parameter again.

    Raises:
        RangeError: it is not computed by ``spectral_norm``.

    >>> import nbgrad
    >>> list(remove_spectral_norm(spectral_norm(nbgrad.nn.Linear(2, 3))).state_dict())
    ['bias', 'weight']
    """
    return removed("remove_spectral_norm", module, name, SpectralNorm, ("_orig", "_u", "_v"))


def skip_init(module_cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A module of the class, whose parameters hold anything: here what they hold at first anyway.

    >>> import nbgrad
    >>> skip_init(nbgrad.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    return module_cls(*args, **kwargs)
