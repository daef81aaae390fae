"""``autocast``: regions of mixed precision; what programs ask and set of them; Functions that take part in them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import bfloat16, float16
from ..base.decorating import decorate
from ..base.dtypes import DType
from ..base.errors import ArgumentError, DeviceError
from ..base.user_stack import warn_user
from ..cuda import is_available
from ..methods.pytree import tree_map_only
from ..modes.autocast import Region, casting, is_eligible

__all__ = [
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

HALVES = (bfloat16, float16)
PRESENT: dict[str, Callable[[], bool]] = {"cpu": lambda: True, "cuda": is_available}  # whether there is such a device


def is_autocast_available(device_type: str) -> bool:
    """Whether there are regions of that device: of ``"cpu"`` and ``"cuda"``.

    >>> from nbgrad.amp import is_autocast_available
    >>> is_autocast_available("cpu"), is_autocast_available("mps")
    (True, False)
    """
    return device_type in casting.region.enabled


def require_text(name: str, device_type: Any) -> None:
    """Refuse what names no device.

    Raises:
        ArgumentError: no string.
    """
    if not isinstance(device_type, str):
        raise ArgumentError(f"{name}: device_type must be a string, got {type(device_type).__name__}.")


def require_device(name: str, device_type: str) -> None:
    """Refuse devices that have no regions.

    Raises:
        DeviceError: another name than ``"cpu"`` and ``"cuda"``.
    """
    if not is_autocast_available(device_type):
        raise DeviceError(f"{name}: device_type is {device_type!r}, expected 'cpu' or 'cuda'.")


class autocast:  # torch's name
    """A region in which operations choose the precision that they run in. A context manager and a decorator.

    Products, convolutions and attention run in the half type; what would lose too much in it runs in float32; all others run in the
    dtypes of their operands. Weights stay as they are: they are converted once in a region, and have gradients in float32.
    Backward passes belong outside of the region, and run in the dtypes of the forward pass.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``: tensors of other devices are left alone.
        dtype: the half type, bfloat16 or float16; None: bfloat16 on the CPU, float16 on CUDA, or as set.
        enabled: False: calls run as they are, also within another region.
        cache_enabled: whether conversions of weights are kept in the region; None: as set.

    Raises:
        ArgumentError: ``device_type`` is no name. DeviceError: it is another one.

    Warns:
        ``dtype`` is no half type, or there is no GPU: nothing is converted.

    Source: torch's ``autocast``, with its lists of operations (ops/precision.py).

    >>> import nbgrad
    >>> layer = nbgrad.nn.Linear(3, 2)
    >>> with nbgrad.autocast("cpu", dtype=nbgrad.bfloat16):
    ...     y = layer(nbgrad.ones(1, 3))
    ...     loss = nbgrad.nn.functional.mse_loss(y, nbgrad.zeros(1, 2))
    >>> y.dtype, loss.dtype
    (nbgrad.bfloat16, nbgrad.float32)
    >>> loss.backward()
    >>> layer.weight.grad.dtype
    nbgrad.float32
    """

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None):
        name = type(self).__name__
        require_text(name, device_type)
        require_device(name, device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and not PRESENT[device_type]():
            warn_user(f"{name}: there is no GPU, nothing is converted. Hint: device_type='cpu'.")
            enabled = False
        elif enabled and self.fast_dtype not in HALVES:
            warn_user(f"{name}: dtype is {self.fast_dtype}, expected bfloat16 or float16; nothing is converted.")
            enabled = False
        self._enabled = enabled
        self._before: list[Any] = []  # of each entry, since one object may be entered again

    def __enter__(self) -> autocast:
        region = casting.region.with_device(self.device, self.fast_dtype, self._enabled, self._cache_enabled)
        casting.depth += 1
        self._before.append(casting.enter(region))
        return self

    def __exit__(self, *error: object) -> None:
        casting.enter(self._before.pop())
        autocast_decrement_nesting()
        if not casting.depth:
            clear_autocast_cache()

    def clone(self) -> autocast:
        """A fresh region of the same meaning."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _before=[])
        return made

    def __call__(self, function: Callable) -> Callable:
        return decorate(self.clone, function)


# ---- what programs ask and set -----------------------------------------------------------------------------------------


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread is in a region of that device.

    >>> import nbgrad
    >>> with nbgrad.autocast("cpu"):
    ...     nbgrad.is_autocast_enabled("cpu")
    True
    """
    require_device("is_autocast_enabled", device_type)
    return casting.region.enabled[device_type]


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Begin or end a region of this thread, without a context; of CUDA where only a bool is given.

    >>> import nbgrad
    >>> nbgrad.set_autocast_enabled("cpu", True)
    >>> nbgrad.set_autocast_enabled("cpu", False)
    """
    device, on = ("cuda", bool(device_type)) if enabled is None else (str(device_type), enabled)
    require_device("set_autocast_enabled", device)
    region = casting.region
    casting.enter(region.with_device(device, region.dtypes[device], on, region.caching))


def get_autocast_dtype(device_type: str) -> DType:
    """The half type of regions that name none; inside of one, its own.

    >>> import nbgrad
    >>> nbgrad.get_autocast_dtype("cpu")
    nbgrad.bfloat16
    """
    require_device("get_autocast_dtype", device_type)
    return casting.region.dtypes[device_type]


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Say in which half type regions of a device are that name none.

    >>> import nbgrad
    >>> nbgrad.set_autocast_dtype("cpu", nbgrad.bfloat16)
    """
    require_device("set_autocast_dtype", device_type)
    region = casting.region
    casting.enter(region.with_device(device_type, dtype, region.enabled[device_type], region.caching))


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``.

    >>> is_autocast_cpu_enabled()
    False
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``.

    >>> set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """``get_autocast_dtype("cpu")``.

    >>> get_autocast_cpu_dtype()
    nbgrad.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cpu", dtype)``.

    >>> set_autocast_cpu_dtype(nbgrad.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """``get_autocast_dtype("cuda")``.

    >>> get_autocast_gpu_dtype()
    nbgrad.float16
    """
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """``set_autocast_dtype("cuda", dtype)``.

    >>> set_autocast_gpu_dtype(nbgrad.float16)
    """
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether regions keep conversions of weights where they do not say.

    >>> is_autocast_cache_enabled()
    True
    """
    return casting.region.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether regions keep conversions of weights.

    >>> set_autocast_cache_enabled(True)
    """
    region = casting.region
    casting.enter(Region(region.dtypes, region.enabled, enabled, region.task))


def clear_autocast_cache() -> None:
    """Forget the conversions that the regions of this thread have kept.

    >>> clear_autocast_cache()
    """
    casting.cache.clear()


def autocast_increment_nesting() -> int:
    """Count a region that a program enters by ``set_autocast_enabled``; returns how many are entered.

    >>> autocast_increment_nesting(), autocast_decrement_nesting()
    (1, 0)
    """
    casting.depth += 1
    return casting.depth


def autocast_decrement_nesting() -> int:
    """Count the end of one; returns how many are left.

    >>> autocast_increment_nesting(), autocast_decrement_nesting()
    (1, 0)
    """
    casting.depth -= 1
    return casting.depth


# ---- Functions ---------------------------------------------------------------------------------------------------------


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: DType | None = None) -> Callable:
    """Decorator of the ``forward(ctx, ...)`` of a custom Function, for regions of that device.

    Args:
        fwd: the method.
        cast_inputs: in a region, floating inputs but float64 are converted to that dtype, and nothing else is; None: operations
            inside choose their precision.

    >>> import nbgrad
    >>> from nbgrad.amp import custom_bwd, custom_fwd
    >>> class Product(nbgrad.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=nbgrad.float32)
    ...     def forward(ctx, x, y):
    ...         ctx.save_for_backward(x, y)
    ...         return x @ y
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         x, y = ctx.saved_tensors
    ...         return g @ y.T, x.T @ g
    >>> with nbgrad.autocast("cpu"):
    ...     Product.apply(nbgrad.ones(2, 2), nbgrad.ones(2, 2)).dtype
    nbgrad.float32
    """
    require_text("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx, on = args[0], is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = tree_map_only(lambda x: is_eligible(x, device_type), lambda x: x.to(cast_inputs), (args, kwargs))
            return fwd(*args, **kwargs)

    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator of the ``backward(ctx, ...)`` of a custom Function whose ``forward`` has ``custom_fwd``: it runs in its region.

    Args:
        bwd: the method; without it, a decorator.
        device_type: "cpu" or "cuda": whose region.

    Raises:
        ArgumentError: ``device_type`` is no string.

    >>> class Double(nbgrad.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = nbgrad.ones(2, requires_grad=True)
    >>> with autocast("cpu"):
    ...     y = Double.apply(x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    require_text("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return backward
