"""Memory, launches, streams, events and graphs on a GPU, through cuda.core alone. Importing this needs no GPU.

Tests run single kernels by this; tensors on a GPU have ``driver.py``. What keeps either from working is said here.

Nothing may be built on the way of a launch: a kernel and its ``LaunchConfig`` are looked up, arguments are plain ints (cuda.core
passes an int as 64 bits, which suits pointers and counts alike), and memory comes from the driver's stream-ordered pool, never
cudaMalloc.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...base import config
from ...base.dtypes import dtype_of
from ...base.errors import DeviceError, KernelError
from ...base.locks import cached_once
from .access import compute_dtype
from .build import Kernel, Recipe
from .presence import LIBRARY, has_driver
from .templates import BLOCK

__all__ = ["Gpu", "missing", "is_available"]

INSTALL = "Hint: pip install 'nbgrad[cuda]'."


def missing() -> str | None:
    """What keeps CUDA from being used here, with the remedy; None if nothing does.

    The answer is sought once a process: driver and packages do not come and go.
    """
    return _missing(0)


def is_available() -> bool:
    """Whether there is a GPU that kernels can run on."""
    return missing() is None


@cached_once
def _missing(ordinal: int) -> str | None:
    if not has_driver():
        return (
            f"cuda: no usable GPU {ordinal}: there is no driver, {LIBRARY} cannot be loaded. "
            "Hint: install NVIDIA's driver, or use device='cpu'; NBGRAD_CUDA=emulated plays a GPU, slowly."
        )
    try:
        core = import_core()
        check_driver()
        core.Device(ordinal).set_current()
    except DeviceError as error:
        return str(error)
    except Exception as error:  # the driver bindings raise their own types: no libcuda, no device, too old a driver
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        return f"cuda: no usable GPU {ordinal}: {reason}. Hint: see what nvidia-smi says, or use device='cpu'."
    return None


def import_core() -> Any:
    """The module ``cuda.core``.

    Raises:
        DeviceError: it is not installed, or at odds with the installed cuda-bindings.
    """
    if config.EMULATED:
        from .emulated.driver import install

        install()
    try:
        import cuda.core
    except ImportError as error:
        raise DeviceError(f"cuda: cuda-core cannot be imported: {error}. {INSTALL}") from error
    if config.EMULATED:
        cuda.core.Device.sync = no_runtime
    return cuda.core


def no_runtime(device: Any) -> None:
    """``Device.sync`` of cuda.core where a GPU is played: it asks CUDA's runtime library, which asks a real driver.

    Raises:
        DeviceError: always.
    """
    raise DeviceError(
        "cuda: Device.sync calls CUDA's runtime library, which is not played. Hint: the sync of a stream or an event, or "
        "cuCtxSynchronize of cuda.bindings.driver."
    )


def check_driver() -> None:
    """See that the driver is not older than the bindings, whose functions it would lack.

    Raises:
        DeviceError: it is; the message says which bindings fit.
    """
    import cuda.bindings
    from cuda.bindings import driver

    needed = int(cuda.bindings.__version__.partition(".")[0])
    error, version = driver.cuDriverGetVersion()
    if not error and version // 1000 < needed:
        has = f"{version // 1000}.{version % 1000 // 10}"
        raise DeviceError(
            f"cuda: the driver is one of CUDA {has}, expected {needed} or later. Hint: a newer driver, or "
            f"pip install 'cuda-bindings=={version // 1000}.*'."
        )


class Gpu:
    """One device, one stream, one memory pool.

    Args:
        ordinal: which GPU.

    Raises:
        DeviceError: no GPU can be used; the message says which part is missing.
    """

    __slots__ = ("core", "device", "stream", "pool", "_configs", "_functions")

    def __init__(self, ordinal: int = 0):
        if reason := _missing(ordinal):
            raise DeviceError(reason)
        self.core = import_core()
        self.device = self.core.Device(ordinal)
        self.device.set_current()  # per thread: autograd's worker threads each need this call
        self.stream = self.device.create_stream()  # never the legacy default stream: it cannot be captured
        self.pool = self.core.DeviceMemoryResource(self.device)
        self._configs: dict = {}
        self._functions: dict = {}

    @property
    def arch(self) -> str:
        """The device's architecture, as in ``sm_90``."""
        return "sm_{}{}".format(*self.device.compute_capability)

    def empty(self, nbytes: int):
        """A buffer from the pool, in stream order: free it (``close``) at once after the last launch that uses it.

        A buffer used on a second stream must not be freed before an event makes its own stream wait for that one.
        """
        return self.pool.allocate(nbytes, stream=self.stream)

    def upload(self, array: np.ndarray):
        """A buffer with a copy of ``array``, in C order."""
        array = np.ascontiguousarray(array)
        buffer = self.empty(array.nbytes)
        buffer.copy_from(self._host(array), stream=self.stream)
        self.stream.sync()  # pageable memory, and the array may go away
        return buffer

    def download(self, buffer, dtype, shape) -> np.ndarray:
        """A NumPy array with a copy of ``buffer``."""
        array = np.empty(shape, dtype)
        buffer.copy_to(self._host(array), stream=self.stream)
        self.stream.sync()
        return array

    def build(self, recipe: Recipe) -> Kernel:
        """A kernel for this device."""
        if not config.EMULATED:
            return recipe(self.arch)
        from .emulated.device import image_of, kernel_of

        return Kernel(recipe.name, image_of(kernel_of(recipe.template, recipe.scalar, recipe.dtype, recipe.source)))

    def load(self, kernel: Kernel):
        """The callable of a cubin; loaded once, and kept with its module for as long as this object lives."""
        found = self._functions.get(kernel.cubin)
        if found is None:
            module = self.core.ObjectCode.from_cubin(kernel.cubin)
            found = self._functions[kernel.cubin] = module, module.get_kernel(kernel.name)
        return found[1]

    def launch(self, function, grid: tuple[int, ...], *args, on=None) -> None:
        """Queue ``function`` on the stream, or on the graph being captured, ``on``.

        Args:
            function: of ``load``.
            grid: blocks, in up to three dimensions.
            args: addresses and counts as ints, values as ``argument`` makes them. An address keeps no buffer alive.
        """
        config = self._configs.get(grid)
        if config is None:
            config = self._configs[grid] = self.core.LaunchConfig(grid=grid, block=BLOCK)
        self.core.launch(self.stream if on is None else on, config, function, *args)

    def capture(self, record: Callable):
        """``record(graph)`` runs once and queues nothing; the result's ``launch(stream)`` replays it in one call.

        Addresses and counts are frozen: replay needs the same buffers, refilled in place.
        """
        builder = self.stream.create_graph_builder()
        builder.begin_building()
        record(builder)
        return builder.end_building().complete()

    def _host(self, array):
        return self.core.Buffer.from_handle(array.ctypes.data, array.nbytes)


def argument(number, dtype: str):
    """A Python number as a kernel that computes in ``dtype`` takes it by value."""
    if compute_dtype(dtype) != dtype or dtype.startswith("complex"):
        raise KernelError(
            f"launch: a value of dtype {dtype}, expected a compute dtype: float32, float64 or int64. "
            f"Hint: a complex number is passed as an operand in memory."
        )
    return dtype_of(dtype).numpy.type(number)
