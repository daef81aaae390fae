"""Lowerings for CUDA run on the emulated device, beside the same call on the CPU."""

from __future__ import annotations

import inspect
import math

import numpy as np

import nbgrad
from nbgrad.dispatch.lowerings import FOLD
from nbgrad.graph.saved import tensors_in
from nbgrad.kernels.cuda.emulated.device import Device, run_steps
from nbgrad.kernels.cuda.faults import fault_error
from nbgrad.lowering import cuda as _registers  # noqa: F401
from nbgrad.lowering.cuda.registry import CUDA_LOWERINGS, layouts_in
from nbgrad.ops.core import OPS
from nbgrad.tensors.layout import layout_of
from nbgrad.tensors.storage import CPU, wrap_array
from nbgrad.tensors.tensor import Tensor, new_tensor


def memory_of(x: Tensor) -> np.ndarray:
    """What lies in a tensor's memory from its first element on, as far as its strides reach."""
    layout = x.layout
    if not layout.numel:
        return np.empty(0, layout.descr)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides))
    first = x._offset_ // layout.dtype.itemsize
    return np.ascontiguousarray(x._storage_.array.view(layout.descr)[first : first + reach])


def launches(name, *tensors, **attributes):
    """``(results' layouts, Steps)`` of a call, and its operands; attributes have the defaults that they are declared with."""
    op = OPS[name]
    function, names = CUDA_LOWERINGS.get(name) or CUDA_LOWERINGS[FOLD]
    declared = {key: p.default for key, p in op.signature.parameters.items() if key not in op.operands}
    defaults = {key: value for key, value in declared.items() if value is not inspect.Parameter.empty}
    given = {**defaults, **attributes}
    attributes = {key: given[key] for key in (*declared, *given) if key in given}  # in the declaration's order
    if "keepdim" in declared:
        attributes.setdefault("keepdim", False)
    layouts = tuple(map(layouts_in, tensors))
    told = {key: layouts_in(value) if key in names else value for key, value in attributes.items()}
    return function(op, layouts, told), list(tensors_in((*tensors, *(attributes[name] for name in names))))


def run_all(outs, steps, operands, seed=0, before=None):
    """The results of steps on the emulated device; ``before``: what lies in the first result's memory."""
    arrays = [np.full(layout.numel, 7, layout.descr) for layout in outs]
    if before is not None:
        steps, arrays[0] = steps, before
    errors = run_steps(steps, arrays, [memory_of(x) if isinstance(x, Tensor) else x for x in operands], Device(seed=seed))
    if errors[0]:
        raise fault_error(*errors)
    return tuple(new_tensor(wrap_array(array), layout) for array, layout in zip(arrays, outs))


def on_cuda(name, *tensors, seed=0, **attributes):
    """The result of a call; a tuple of several. What runs in several steps must be composed of other calls by the test."""
    (outs, steps), operands = launches(name, *tensors, **attributes)
    found = run_all(outs, steps, operands, seed)
    return found[0] if len(found) == 1 else found


def on_cpu(name, *tensors, **attributes):
    """The same on the CPU."""
    return nbgrad.base.calls.CALLS[name](*tensors, *attributes.values())


def bits(x: Tensor) -> np.ndarray:
    """A tensor's elements as integers."""
    x = x.contiguous() if not x.layout.contiguous else x
    return memory_of(x).view(f"u{min(x.layout.dtype.itemsize, 8)}")


def assert_same(found: Tensor, expected: Tensor) -> None:
    """The same dtype, shape, strides and bits."""
    assert found.layout is expected.layout, (found.layout, expected.layout)
    np.testing.assert_array_equal(bits(found), bits(expected))


DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def sample(shape, dtype="float32", seed=0, low=-50, high=50) -> Tensor:
    """Whole numbers as a contiguous tensor, some zeros of either sign and NaN among floats if ``high`` is None."""
    random, count = np.random.default_rng(seed), math.prod(shape)
    numbers = random.integers(0 if dtype in ("bool", "uint8") else low, 2 if dtype == "bool" else high, count).astype(np.float64)
    if dtype.startswith("complex"):
        numbers = numbers + 1j * random.integers(low, high, count)
    return nbgrad.asarray(numbers).reshape(shape).to(getattr(nbgrad, dtype))


def layout(shape, dtype="float32", strides=None):
    """A layout."""
    return layout_of(getattr(nbgrad, dtype), tuple(shape), strides, CPU)
