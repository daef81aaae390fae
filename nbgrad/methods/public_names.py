"""The names of the package that are neither operations nor factories."""

from __future__ import annotations

import math
from typing import Any

from ..base.dtypes import DType
from ..base.size import Size
from ..tensors import memory_format
from ..tensors.storage import Device
from ..tensors.untyped import UntypedStorage
from . import files, lobpcg, low_rank, plain_functions, settings, tensor_info
from .typed_constructors import CONSTRUCTOR_NAMES, constructor
from .typed_storage import TypedStorage

__all__ = ["public_names"]


def public_names() -> dict[str, Any]:
    """What the package's namespace gets: functions, constants, constructors, types."""
    names: dict[str, Any] = {
        name: getattr(module, name)
        for module in (tensor_info, plain_functions, settings, files, low_rank, lobpcg)
        for name in module.__all__
    }
    names |= {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "newaxis": None}
    names |= {"UntypedStorage": UntypedStorage, "TypedStorage": TypedStorage, "layout": type(memory_format.strided)}
    names |= {"Size": Size, "device": Device, "dtype": DType, "memory_format": memory_format.MemoryFormat}
    names |= {
        name: getattr(memory_format, name)
        for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "strided")
    }
    return names | {name: constructor(name, dtype) for dtype, name in CONSTRUCTOR_NAMES.items()}
