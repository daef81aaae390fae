"""``torch.utils.cpp_extension``, for programs that try to build a part of theirs and go on without it.

>>> from nbgrad.utils.cpp_extension import load
>>> load("fast", ["fast.cpp"])
Traceback (most recent call last):
    ...
nbgrad.base.errors.LibraryError: cpp_extension: nothing is built from C++. Hint: nbgrad.declare, or nbgrad.library.custom_op.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..base.errors import LibraryError

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]

CUDA_HOME = None


def load(*args: Any, **kwargs: Any) -> NoReturn:
    """Not there.

    Raises:
        LibraryError: always.
    """
    raise LibraryError("cpp_extension: nothing is built from C++. Hint: nbgrad.declare, or nbgrad.library.custom_op.")


load_inline = CppExtension = CUDAExtension = load


class BuildExtension:
    """Never made.

    Raises:
        LibraryError: always.
    """

    __init__ = load
