"""Linear algebra under the names that ``torch.linalg`` gives it: batched, differentiable in both modes.

>>> import nbgrad
>>> nbgrad.linalg.det(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor(-2.)
"""

from __future__ import annotations

from typing import Any

from .base.calls import CALLS
from .base.errors import LinAlgError
from .base.function_attributes import place
from .methods.install import function_form
from .ops.core import OPS

_ops: dict[str, Any] = {name.removeprefix("linalg_"): op for name, op in OPS.items() if name.startswith("linalg_")}
__all__ = ["LinAlgError", *_ops]  # noqa: PLE0604

for _name, _op in _ops.items():
    globals()[_name] = function_form(_op, CALLS[_op.name] if _op.spelling else _op.formula, f"linalg.{_name}")
place(__name__, globals())
