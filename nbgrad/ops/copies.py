"""Operations that copy: their cotangents pass through."""
from __future__ import annotations

from .core import general

general("contiguous_copy", lambda x: x, {"x": lambda g: g}, function=False, node="CloneBackward0",
        doc="A row-major copy.")
general("to_dtype", lambda x, dtype: x, {"x": lambda g, x_dtype: g.to_dtype(x_dtype)}, function=False, node="ToCopyBackward0",
        doc="A copy of another dtype.")
general("clone_like", lambda x, layout: x, {"x": lambda g: g}, function=False, node="CloneBackward0",
        doc="A copy in a given layout.")
