"""Linear algebra under the names that ``torch.linalg`` gives it: batched, differentiable in both modes.

>>> import nbgrad
>>> nbgrad.linalg.det(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor(-2.)
"""
from __future__ import annotations

from typing import Any

from .base.calls import CALLS
from .base.errors import LinAlgError
from .composites.linalg import FUNCTIONS_OF_LINALG
from .methods.install import function_form
from .ops.core import OPS

__all__ = ["LinAlgError", *FUNCTIONS_OF_LINALG]      # noqa: PLE0604

for _name, _function in FUNCTIONS_OF_LINALG.items():
    _op: Any = OPS[f"linalg_{_name}"]
    globals()[_name] = function_form(_op, CALLS[_op.name] if _op.spelling else _function, f"linalg.{_name}")
