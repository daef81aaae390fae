"""``torch.backends.cuda``: how precise products on a GPU are to be, and what programs choose among torch's ways of attention.

>>> import nbgrad
>>> nbgrad.backends.cuda.matmul.allow_tf32
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.compat import get_float32_matmul_precision, set_float32_matmul_precision
from ..base.errors import ArgumentError, RangeError

__all__ = [
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]


class Products:
    """What is allowed in products of matrices.

    Attributes:
        allow_fp16_reduced_precision_reduction, allow_bf16_reduced_precision_reduction: remembered; sums of products of half types
            are float32's.
    """

    __slots__ = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        """Whether cuBLAS may round operands of float32 to TensorFloat32; the same as ``set_float32_matmul_precision("high")``."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        if type(allowed) is not bool:
            raise ArgumentError(f"backends.cuda.matmul.allow_tf32: expected a bool, got {type(allowed).__name__}.")
        set_float32_matmul_precision("high" if allowed else "highest")


class PlanCache:
    """Plans of cuFFT, which takes no part: there are none."""

    size, max_size = 0, 0

    def clear(self) -> None:
        """Nothing to forget."""

    def __getitem__(self, device: Any) -> PlanCache:
        return self


matmul = Products()
cufft_plan_cache = PlanCache()
ways = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}  # of attention, in torch; here there is one


def is_built() -> bool:
    """True: kernels for GPUs are made when they are needed."""
    return True


def enable_flash_sdp(enabled: bool) -> None:
    """Remember whether torch might take that way of attention.

    >>> enable_flash_sdp(True)
    """
    ways["flash"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was last given.

    >>> flash_sdp_enabled()
    True
    """
    return ways["flash"]


def enable_math_sdp(enabled: bool) -> None:
    """Remember whether torch might take that way of attention.

    >>> enable_math_sdp(True)
    """
    ways["math"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was last given.

    >>> math_sdp_enabled()
    True
    """
    return ways["math"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remember whether torch might take that way of attention.

    >>> enable_mem_efficient_sdp(True)
    """
    ways["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was last given.

    >>> mem_efficient_sdp_enabled()
    True
    """
    return ways["mem_efficient"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remember whether torch might take that way of attention.

    >>> enable_cudnn_sdp(True)
    """
    ways["cudnn"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was last given.

    >>> cudnn_sdp_enabled()
    True
    """
    return ways["cudnn"]


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Set all four until the end of the block.

    >>> import nbgrad
    >>> with nbgrad.backends.cuda.sdp_kernel(enable_math=False):
    ...     nbgrad.backends.cuda.math_sdp_enabled()
    False
    """
    before = dict(ways)
    ways.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        ways.update(before)


def preferred_linalg_library(backend: str | None = None) -> str:
    """Which library decomposes matrices on a GPU: cuSOLVER, if it is installed, whatever is asked for.

    Raises:
        RangeError: another word than "default", "cusolver" and "magma".

    >>> preferred_linalg_library()
    'cusolver'
    """
    if backend not in (None, "default", "cusolver", "magma"):
        raise RangeError(f"preferred_linalg_library: got {backend!r}, expected 'default', 'cusolver' or 'magma'.")
    return "cusolver"


def preferred_blas_library(backend: str | None = None) -> str:
    """Which library multiplies matrices on a GPU: cuBLAS, if it is installed, whatever is asked for.

    Raises:
        RangeError: another word than "default", "cublas" and "cublaslt".

    >>> preferred_blas_library()
    'cublaslt'
    """
    if backend not in (None, "default", "cublas", "cublaslt"):
        raise RangeError(f"preferred_blas_library: got {backend!r}, expected 'default', 'cublas' or 'cublaslt'.")
    return "cublaslt"
