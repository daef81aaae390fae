"""``torch.backends.cuda``: how precise products on a GPU are to be.

>>> import nbgrad
>>> nbgrad.backends.cuda.matmul.allow_tf32
False
"""

from __future__ import annotations

from ..base.compat import get_float32_matmul_precision, set_float32_matmul_precision
from ..base.errors import ArgumentError

__all__ = ["matmul"]


class Products:
    """What is allowed in products of matrices."""

    __slots__ = ()

    @property
    def allow_tf32(self) -> bool:
        """Whether cuBLAS may round operands of float32 to TensorFloat32; the same as ``set_float32_matmul_precision("high")``."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        if type(allowed) is not bool:
            raise ArgumentError(f"backends.cuda.matmul.allow_tf32: expected a bool, got {type(allowed).__name__}.")
        set_float32_matmul_precision("high" if allowed else "highest")


matmul = Products()
