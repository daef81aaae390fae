"""Linear algebra under the names that ``torch.linalg`` gives it: batched, differentiable in both modes.

>>> import nbgrad
>>> nbgrad.linalg.det(nbgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
tensor(-2.)
"""
from __future__ import annotations

from .errors import LinAlgError
from .install import function_form
from .lowering.decompositions import FUNCTIONS_OF_LINALG
from .ops.core import OPS

__all__ = ["LinAlgError", *FUNCTIONS_OF_LINALG]      # noqa: PLE0604

globals().update({name: function_form(OPS[f"linalg_{name}"], function) for name, function in FUNCTIONS_OF_LINALG.items()})
