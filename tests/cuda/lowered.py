"""Lowerings for GPUs run on the emulated device: the steps that they say, for tensors of the CPU."""

from __future__ import annotations

import inspect

import numpy as np

from nbgrad.dispatch.device_lowerings import found_lowering
from nbgrad.kernels.cuda.emulated.device import Device, run_steps
from nbgrad.ops.core import OPS
from nbgrad.tensors.storage import wrap_array
from nbgrad.tensors.tensor import Tensor, new_tensor


def steps_of(name, *tensors, **attributes):
    """``(layouts of the results, steps)`` of a call."""
    op = OPS[name]
    given = {k: p.default for k, p in op.signature.parameters.items() if k not in op.operands}
    style, lower = found_lowering(op)
    assert style == "plan" and not attributes.keys() - given.keys()
    missing = {k for k, value in given.items() if value is inspect.Parameter.empty} - attributes.keys()
    assert missing <= {"keepdim"}, f"{name} needs {missing}"
    given |= dict.fromkeys(missing, False)
    return lower(op, tuple(x.layout for x in tensors), {**given, **attributes})


def lowered(name, *tensors, seed=0, wrong=None, **attributes):
    """What a call gives: a tensor, or a tuple of them.

    Args:
        seed: of the order of threads; ``wrong``: a list, to which what is wrong is added.
    """
    made = steps_of(name, *tensors, **attributes)
    assert isinstance(made, tuple), f"{name} takes several calls"
    outs, steps = made
    arrays = [np.zeros(layout.numel, layout.descr) for layout in outs]
    found = run_steps(steps, arrays, list(map(memory, tensors)), Device(seed=seed))
    if wrong is not None:
        wrong.append(found)
    results = [new_tensor(wrap_array(array), layout) for array, layout in zip(arrays, outs)]
    return results[0] if len(results) == 1 else tuple(results)


def memory(x: Tensor):
    """What lies in memory from a tensor's first element to its last; of a number itself."""
    if not isinstance(x, Tensor):
        return x
    layout = x.layout
    extent = 1 + sum((size - 1) * step for size, step in zip(layout.shape, layout.strides)) if layout.numel else 0
    return np.ndarray((extent,), layout.descr, x._storage_.array.view(np.uint8), x._offset_ if extent else 0).copy()


def bits(x: Tensor) -> bytes:
    """A tensor's dtype, shape and elements, bit for bit."""
    return repr((x.dtype, x.shape)).encode() + memory(x.contiguous()).tobytes()
