"""Initial value problems of ordinary differential equations, under the names of torchdiffeq.

``odeint`` keeps every step for the backward pass; ``odeint_adjoint`` keeps the solution alone, and solves another equation back.
``odeint_event`` goes on until something happens.

>>> import nbgrad
>>> t = nbgrad.tensor([0.0, 1.0], dtype=nbgrad.float64)
>>> nbgrad.integrate.odeint(lambda t, y: -y, nbgrad.ones(1, dtype=nbgrad.float64), t)[-1]
tensor([0.3679], dtype=nbgrad.float64)
"""

from __future__ import annotations

from .adjoint import odeint_adjoint
from .event_gradients import odeint_event
from .odeint import odeint

__all__ = ["odeint", "odeint_adjoint", "odeint_event"]
