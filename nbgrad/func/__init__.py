"""Transforms of functions: gradients, products with Jacobians, Jacobians, Hessians. They compose, with ``vmap`` too.

>>> import nbgrad
>>> nbgrad.func.grad(nbgrad.func.grad(nbgrad.sin))(nbgrad.tensor(0.0))
tensor(-0.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.late_names import late_names

if TYPE_CHECKING:
    from ..batch.vmap import vmap
    from .forward import jvp, linearize
    from .jacobians import hessian, jacfwd, jacrev
    from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
    from .purity import debug_unwrap, functionalize
    from .rearranging import rearrange
    from .reverse import grad, grad_and_value, value_and_grad, vjp

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]

__getattr__, __dir__ = late_names(
    __name__,
    {
        "..batch.vmap": ("vmap",),
        ".forward": ("jvp", "linearize"),
        ".jacobians": ("hessian", "jacfwd", "jacrev"),
        ".modules": ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"),
        ".purity": ("debug_unwrap", "functionalize"),
        ".rearranging": ("rearrange",),
        ".reverse": ("grad", "grad_and_value", "value_and_grad", "vjp"),
    },
)
