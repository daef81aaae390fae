"""Lowerings of ``ops/fft.py``: pocketfft, by NumPy's functions, in the precision of the operand.

NumPy's public functions give its kernel the number 1 as a factor, which is double precision to it, so that single precision is
converted there and back; its kernels are called themselves, with a factor of the operand's precision. They are no public names: a
NumPy that has them elsewhere is asked by the public functions.
"""

from __future__ import annotations

from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple

import numpy as np

from ..base.dtypes import dtype_of
from ..creation.allocation import empty_of
from ..dispatch.lowerings import lowering, prepared, result_of
from ..tensors.arrays import array_of, tensor_of, values_of

__all__: list[str] = []


def by_public(transform: Callable, norm: str, x: np.ndarray, factor: Any, axes: list[tuple], out: np.ndarray) -> np.ndarray:
    """A kernel by a public function of NumPy's.

    Args:
        transform, norm: the function, and the ``norm`` by which it multiplies by nothing.
    """
    axis = axes[0][0]
    options = {"n": out.shape[axis]} if transform is np.fft.irfft else {}
    return np.multiply(transform(x, axis=axis, norm=norm, **options), factor, out=out, casting="same_kind")


PUBLIC = SimpleNamespace(
    fft=partial(by_public, np.fft.fft, "backward"),
    ifft=partial(by_public, np.fft.ifft, "forward"),
    rfft_n_even=partial(by_public, np.fft.rfft, "backward"),
    rfft_n_odd=partial(by_public, np.fft.rfft, "backward"),
    irfft=partial(by_public, np.fft.irfft, "forward"),
)
kernels: Any = getattr(np.fft, "_pocketfft_umath", PUBLIC)


class Steps(NamedTuple):
    """A transform: its kernels, in their order, and the result.

    Attributes:
        kernels: ``(kernel, factor, axes)`` of each dimension.
        shape, dtype: of the result.
        converted: the dtype that the operand is converted to first; None for its own.
        apart: whether all kernels but the last write to memory of their own: the result has another dtype than they.
    """

    kernels: list[tuple]
    shape: tuple[int, ...]
    dtype: np.dtype
    converted: np.dtype | None = None
    apart: bool = False


COMPLEX: dict[Any, np.dtype] = {np.dtype("float32"): np.dtype("complex64"), np.dtype("float64"): np.dtype("complex128")}
REAL: dict[Any, np.dtype] = {complex_dtype: real for real, complex_dtype in COMPLEX.items()}


def factor_of(norm: str, inverse: bool, count: int, real: np.dtype) -> Any:
    """What a transform of so many points is multiplied by."""
    if norm == "ortho":
        return real.type(1 / np.sqrt(count))
    return real.type(1 / count if inverse == (norm == "backward") else 1)


def along(kernel: Any, factor: Any, dims: tuple[int, ...]) -> list[tuple]:
    """A kernel along dimensions, the last one first; the factor goes with the first of them."""
    one = factor.dtype.type(1)
    return [(kernel, factor if k == 0 else one, [(d,), (), (d,)]) for k, d in enumerate(reversed(dims))]


def c2c_steps(shape: tuple[int, ...], dtype: np.dtype, dim: tuple[int, ...], norm: str, inverse: bool) -> Steps:
    """Complex to complex."""
    factor = factor_of(norm, inverse, prod(shape[d] for d in dim), REAL[dtype])
    return Steps(along(kernels.ifft if inverse else kernels.fft, factor, dim), shape, dtype)


def r2c_steps(shape: tuple[int, ...], dtype: np.dtype, dim: tuple[int, ...], norm: str, onesided: bool) -> Steps:
    """Real to complex."""
    if not onesided:
        return c2c_steps(shape, COMPLEX[dtype], dim, norm, False)._replace(converted=COMPLEX[dtype])
    last, n = dim[-1], shape[dim[-1]]
    factor = factor_of(norm, False, prod(shape[d] for d in dim), dtype)
    half = along(kernels.rfft_n_odd if n % 2 else kernels.rfft_n_even, factor, dim[-1:])
    others = along(kernels.fft, dtype.type(1), dim[:-1])
    return Steps(half + others, (*shape[:last], n // 2 + 1, *shape[last + 1 :]), COMPLEX[dtype])


def c2r_steps(shape: tuple[int, ...], dtype: np.dtype, dim: tuple[int, ...], norm: str, n: int) -> Steps:
    """Complex to real."""
    real, last = REAL[dtype], dim[-1]
    factor = factor_of(norm, True, n * prod(shape[d] for d in dim[:-1]), real)
    whole = along(kernels.irfft, factor, dim[-1:])
    return Steps(along(kernels.ifft, real.type(1), dim[:-1]) + whole, (*shape[:last], n, *shape[last + 1 :]), real, apart=True)


def run_steps(steps: Steps, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The transform of ``x``, in ``out``."""
    x = x if steps.converted is None else x.astype(steps.converted)
    between = np.empty(x.shape, x.dtype) if steps.apart and len(steps.kernels) > 1 else out
    with np.errstate(all="ignore"):
        for k, (kernel, factor, axes) in enumerate(steps.kernels, 1):
            x = kernel(x, factor, axes=axes, out=out if k == len(steps.kernels) else between)
    return out


def transform(name: str, steps_of: Callable) -> None:
    """Register the lowering of a transform."""

    @lowering(name, style="run")
    def run(op, tensors, attributes):
        array = values_of(tensors[0])
        steps = steps_of(array.shape, array.dtype, **attributes)
        return tensor_of(run_steps(steps, array, np.empty(steps.shape, steps.dtype)), tensors[0])

    @result_of(name)
    def result(op, layouts, attributes):
        (x,) = layouts
        steps = steps_of(x.shape, x.descr, **attributes)
        return x.like(dtype_of(steps.dtype), steps.shape)

    @prepared(name)
    def prepare(op, layouts, attributes):
        (x,) = layouts
        steps, layout = steps_of(x.shape, x.descr, **attributes), result(op, layouts, attributes)

        def quick(x, *attributes):
            out = empty_of(layout)
            run_steps(steps, values_of(x), array_of(out))
            return out

        return quick


transform("fft_c2c", c2c_steps)
transform("fft_r2c", r2c_steps)
transform("fft_c2r", c2r_steps)
