"""Conversions to other dtypes and devices. A tensor that needs no change is returned itself; gradients pass through."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.calls import CALLS
from ..base.dtypes import UNSIGNED, DType, bool_, complex64, dtype_of, get_default_dtype
from ..base.errors import ArgumentError
from ..base.user_stack import warn_user
from ..tensors.memory_format import MemoryFormat, contiguous_format, order_of, preserve_format, strides_of
from ..tensors.storage import CPU, Device, default_device, device as device_of
from ..tensors.tensor import Tensor

__all__ = ["convert", "install_casts", "moved", "on_device"]


def on_device(op: str, spec) -> Device:
    """The device that an argument names, which must be one that tensors can be on; for None that of new tensors.

    Args:
        spec: a Device, its name, or a GPU's number; a GPU without a number is the current one.

    Raises:
        DeviceError: no such name, or a GPU that is not there. ArgumentError: no name.
    """
    if spec is None:
        return default_device()
    return device_of(spec).present(op)


def moved(x: Tensor, device: Device, non_blocking: bool = False, copy: bool = False) -> Tensor:
    """A tensor on a device; itself where it is there, unless ``copy``. Recorded."""
    if x.layout.device is device:
        return CALLS["clone"](x) if copy else x
    return CALLS["to_device"](x, device, non_blocking)


def convert(x: Tensor, dtype: DType, copy: bool = False) -> Tensor:
    """``x`` in another dtype; ``x`` itself where nothing changes, unless ``copy``. Recorded."""
    if dtype is x.layout.dtype:
        return CALLS["clone"](x) if copy else x
    if x.layout.dtype.is_complex and dtype.category < complex64.category and dtype is not bool_:
        warn_user("to: a complex tensor becomes real and loses its imaginary part. Hint: x.real.")
    return CALLS["to_dtype"](x, dtype)


def is_dtype(value) -> bool:
    """Whether an argument of ``to`` names a dtype."""
    return isinstance(value, (DType, np.dtype)) or (isinstance(value, type) and value is not Tensor)


def to(
    x: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Device | str | None = None,
    other: Tensor | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device, dtype)`` or ``to(other)``.

    Args:
        copy: copy even where nothing changes; otherwise ``x`` itself is returned then.
        non_blocking: a copy between pinned memory and a GPU need not be done when this returns.
        memory_format: the order in which the elements are to lie in memory.

    Raises:
        ArgumentError: other arguments. DeviceError, NotSupportedError: a device that is not there.

    >>> import nbgrad
    >>> nbgrad.ones(2).to(nbgrad.int32)
    tensor([1, 1], dtype=nbgrad.int32)
    """
    given = list(args)
    if given and isinstance(given[0], Tensor):
        other = given.pop(0)
    else:
        if given and (isinstance(given[0], (str, Device)) or type(given[0]) is int or given[0] is None):
            device = given.pop(0)
        if given and is_dtype(given[0]):
            dtype = given.pop(0)
    flags = given[:2]  # non_blocking, copy
    if len(given) > 2 or any(not isinstance(flag, bool) for flag in flags):
        raise ArgumentError(f"to: expected a dtype, a device or a Tensor, got {given[0]!r}.")
    copy = flags[1] if len(flags) > 1 else copy
    if other is not None:
        dtype, device = other.layout.dtype, other.layout.device
    target = x.layout.device if device is None else on_device("to", device)
    away, non_blocking = target is not x.layout.device, flags[0] if flags else non_blocking
    converted = convert(x, x.layout.dtype if dtype is None else dtype_of(dtype), copy and not away)
    if away:
        converted = moved(converted, target, non_blocking)
    return arranged(converted, memory_format)


def targets_of(
    *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, memory_format: MemoryFormat | None = None
) -> tuple[Device | None, DType | None, bool, MemoryFormat | None]:
    """What ``to`` of a module is told: a device, a dtype, whether its copies need not be waited for, an order in memory.

    Args:
        args: a device, a dtype, or a tensor whose they are; then a dtype, and ``non_blocking``.

    >>> targets_of("cpu", nbgrad.float64)
    (device(type='cpu'), nbgrad.float64, False, None)
    """
    for given in args:
        if isinstance(given, DType):
            dtype = given
        elif isinstance(given, Tensor):
            dtype, device = given.dtype, given.device
        elif isinstance(given, bool):
            non_blocking = given
        elif given is not None:
            device = given
    return None if device is None else device_of(device), dtype, non_blocking, memory_format


def type_(x: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, as ``"nbgrad.FloatTensor"``, ``"nbgrad.cuda.FloatTensor"``; or the tensor converted.

    Args:
        dtype: a dtype; or an old constructor as ``nbgrad.cuda.FloatTensor``, or its name, which say the device, too. ``Tensor`` is
            that of the default dtype.

    Raises:
        ArgumentError: there is no such type.
    """
    own = x.layout.device.type.removeprefix("cpu")
    if dtype is None:
        return ".".join(part for part in ("nbgrad", own, f"{TYPE_NAMES[x.layout.dtype]}Tensor") if part)
    kind: DType | None
    place = getattr(dtype, "place", None)  # of an old constructor; "" is the CPU's
    if dtype is Tensor or dtype in ("nbgrad.Tensor", "torch.Tensor"):
        kind, place = get_default_dtype(), ""
    elif isinstance(place, str):
        kind = dtype.dtype
    elif isinstance(dtype, str) and dtype.endswith("Tensor"):
        *path, name = dtype.split(".")
        named = DTYPES_OF_NAMES.get(name.removesuffix("Tensor"))
        if named is None:
            raise ArgumentError(f"type: {dtype!r} is no type of tensor; expected one like 'nbgrad.FloatTensor'.")
        kind, place = named, path[1] if len(path) > 1 else ""
    else:
        return convert(x, dtype_of(dtype))
    return convert(x, kind) if place == own else to(x, place or CPU, kind, non_blocking=non_blocking)


# dtype, torch's name of its tensors, and the method that converts to it.
TORCH_TYPES = (
    ("float32", "Float", "float"),
    ("float64", "Double", "double"),
    ("float16", "Half", "half"),
    ("bfloat16", "BFloat16", "bfloat16"),
    ("int64", "Long", "long"),
    ("int32", "Int", "int"),
    ("int16", "Short", "short"),
    ("int8", "Char", "char"),
    ("uint8", "Byte", "byte"),
    ("bool", "Bool", "bool"),
    ("complex64", "ComplexFloat", "cfloat"),
    ("complex128", "ComplexDouble", "cdouble"),
)
TYPE_NAMES = {dtype_of(name): kind for name, kind, _ in TORCH_TYPES} | {x: x.name.replace("uint", "UInt") for x in UNSIGNED}
DTYPES_OF_NAMES = {kind: dtype for dtype, kind in TYPE_NAMES.items()}
METHODS = {method: dtype_of(name) for name, _, method in TORCH_TYPES}


def arranged(x: Tensor, memory_format: MemoryFormat | None) -> Tensor:
    """The tensor with its elements in the order of a memory format; itself if they are. For channels last the strides of
    dimensions of one element count too, so that whoever reads the format from the strides finds it."""
    if memory_format is None or memory_format is preserve_format:
        return x
    if memory_format is contiguous_format:
        return x.contiguous()
    order = order_of("to", memory_format, x.layout.ndim)
    exact = order is not None and x.layout.strides == strides_of(x.layout.shape, order)
    return x if exact else x.clone(memory_format=memory_format)


def caster(name: str, dtype: DType):
    """The method that converts to one dtype."""

    def cast(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
        return arranged(convert(self, dtype), memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dtype.name}; itself if it is."
    return cast


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype, and on the device, of ``other``.

    Raises:
        ArgumentError: other is no tensor.
    """
    if not isinstance(other, Tensor):
        raise ArgumentError(f"type_as: other must be a Tensor, got {type(other).__name__}.")
    return moved(convert(x, other.layout.dtype), other.layout.device)


def cpu(x: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor on the CPU; itself if it is there."""
    return arranged(moved(x, CPU), memory_format)


def cuda(x: Tensor, device=None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU.

    Raises:
        DeviceError: it is not there.
    """
    return moved(x, on_device("cuda", "cuda" if device is None else device), non_blocking)


def install_casts() -> None:
    """Hang the conversions on Tensor."""
    for name, dtype in METHODS.items():
        setattr(Tensor, name, caster(name, dtype))
    for name, method in {"to": to, "type": type_, "type_as": type_as, "cpu": cpu, "cuda": cuda}.items():
        setattr(Tensor, name, method)


# The names by which dtypes are known besides their own; those of Python's types are torch's.
DTYPE_NAMES = {name: dtype for name, dtype in METHODS.items() if name not in ("char", "byte")}
