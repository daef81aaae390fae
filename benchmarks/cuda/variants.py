"""``python -m benchmarks.cuda.variants``: how many vectors a thread of an elementwise kernel should own.

Kernels take one (``unroll`` of kernels/cuda/templates.py): on an H200 two and four were 1 to 4 % slower. A table of bandwidths, in
GB/s, of one, two and four, by operation and dtype; each byte is counted once.
"""

from __future__ import annotations

import argparse
import ctypes
import sys

import nbgrad
from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda.build import Recipe
from nbgrad.kernels.cuda.driver import bindings, card, check
from nbgrad.kernels.cuda.templates import BLOCK, elementwise, elementwise_grid
from nbgrad.kernels.cuda.vectors import lanes_for

__all__ = ["main", "seconds"]

CASES = (("mul", "float32"), ("mul", "bfloat16"), ("exp", "float32"), ("tanh", "float32"), ("tanh", "bfloat16"), ("mul", "float64"))
UNROLLS = (1, 2, 4)


def seconds(name: str, dtype: str, unroll: int, n: int, repeats: int) -> tuple[float, int]:
    """The GPU's time for a call, and the bytes that it moves."""
    operation = named(name, dtype)
    lanes = lanes_for(operation.scalar, dtype, [dtype] * len(operation.inputs), operation.outputs)
    template = elementwise(operation.inputs, operation.outputs, operation.into, lanes, unroll)
    kernel = card(0).kernel(Recipe(template, operation.scalar, dtype))
    tensors = [nbgrad.full((n,), 0.5, dtype=getattr(nbgrad, dtype), device="cuda") for _ in range(1 + len(operation.inputs))]
    values = [ctypes.c_uint64(x.data_ptr()) for x in tensors] + [ctypes.c_int64(n)]
    places = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    driver, stream = bindings(), nbgrad.cuda.current_stream().cuda_stream
    (grid,) = elementwise_grid(n, lanes, unroll)

    def launch() -> None:
        check(name, driver.cuLaunchKernel(kernel, grid, 1, 1, BLOCK, 1, 1, 0, stream, ctypes.addressof(places), 0))

    launch()
    first, last = (nbgrad.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(repeats):
        launch()
    last.record()
    nbgrad.cuda.synchronize()
    return max(first.elapsed_time(last), 1e-6) / 1e3 / repeats, sum(x.untyped_storage().nbytes() for x in tensors)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda.variants")
    parser.add_argument("--elements", type=int, default=1 << 26)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args(arguments)
    if not nbgrad.cuda.is_available():
        print("benchmarks.cuda.variants: there is no GPU.", file=sys.stderr)
        return 2
    print(f"{nbgrad.cuda.get_device_name()}, {asked.elements} elements, the best of {asked.rounds} rounds, GB/s")
    print(f"{'':18}" + "".join(f"{f'unroll {each}':>12}" for each in UNROLLS))
    for name, dtype in CASES:
        best = dict.fromkeys(UNROLLS, 0.0)
        for _ in range(asked.rounds):
            for unroll in UNROLLS:
                taken, nbytes = seconds(name, dtype, unroll, asked.elements, 10)
                best[unroll] = max(best[unroll], nbytes / taken / 1e9)
        print(f"{name + ' ' + dtype:18}" + "".join(f"{best[each]:12.0f}" for each in UNROLLS), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
