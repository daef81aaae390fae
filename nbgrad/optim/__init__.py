"""Optimizers. Each updates a parameter and its state in one fused kernel, made from the formula in ``rules``.

>>> import nbgrad
>>> from nbgrad import optim
>>> x = nbgrad.tensor([4.0], requires_grad=True)
>>> descent = optim.SGD([x], lr=0.25)
>>> (x * x).sum().backward()
>>> descent.step()
>>> x.detach()
tensor([2.])
"""

from __future__ import annotations

from types import ModuleType

from ..methods.namespaces import module_below
from . import lr_scheduler, swa_utils
from .adam import Adam, AdamW
from .averaged import ASGD, Rprop
from .factored import Adafactor
from .lbfgs import LBFGS
from .minimize import scipy_minimize
from .moments import Adamax, NAdam, RAdam
from .optimizer import Optimizer
from .orthogonal import Muon
from .sgd import SGD
from .sparse_adam import SparseAdam
from .squares import Adadelta, Adagrad, RMSprop

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "scipy_minimize",
    "swa_utils",
]


def __getattr__(name: str) -> ModuleType:
    """torch's paths: ``nbgrad.optim.adamw``."""
    return module_below(__name__, name)
