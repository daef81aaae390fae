"""Functions of functions: gradients, products with Jacobians, Jacobians, Hessians; they compose, also with ``vmap``."""
from __future__ import annotations

from ..vmap import vmap
from .forward import jvp, linearize
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, stack_module_state
from .reverse import grad, grad_and_value, value_and_grad, vjp

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "stack_module_state", "value_and_grad", "vjp", "vmap"]
