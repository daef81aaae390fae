"""What is measured on a GPU: programs written once for nbgrad and torch, with what they move and what they may cost.

Each function is given a library and sizes, prepares its operands, and returns the call that is timed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import nbgrad

__all__ = ["Row", "numbers_of", "rows"]

M = 1 << 20


@dataclass(frozen=True)
class Row:
    """A measurement.

    Args:
        name: what is done.
        program: ``program(lib)`` prepares, and returns the call.
        nbytes: that the call reads and writes, each once; None: the time itself is what counts.
        flops: that it does.
        clock: whose time: of the device, the host, until all is done, or of a process; or "peak": the most memory, no time.
        share: of the rate of a copy that is to be reached.
        budget: of torch's time that it may take.
        limit: seconds that it may take.
        sizes: those of the operands, for what others do (others.py).
    """

    name: str
    program: Callable[[Any], Callable[[], Any]]
    nbytes: int | None = None
    flops: float | None = None
    clock: str = "device"
    share: float | None = None
    budget: float | None = None
    limit: float | None = None
    sizes: tuple[int, ...] | None = None


def numbers_of(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Normal numbers; those of many elements repeat."""
    found = np.random.default_rng(seed).standard_normal(min(int(np.prod(shape)), 16 * M), np.float32)
    return np.resize(found, shape)


def numbers(lib: Any, *shape: int, dtype: str = "float32", grad: bool = False, seed: int = 0) -> Any:
    """Normal numbers on the GPU."""
    x = lib.tensor(numbers_of(shape, seed)).to("cuda")
    x = x.to(getattr(lib, dtype))
    return x.requires_grad_() if grad else x


# ---- elementwise -------------------------------------------------------------------------------------------------------------


def unary(name: str, n: int, dtype: str = "float32"):
    def program(lib):
        x = numbers(lib, n, dtype=dtype)
        return lambda: getattr(x, name)()

    return program


def binary(n: int, dtype: str = "float32"):
    def program(lib):
        x, y = numbers(lib, n, dtype=dtype), numbers(lib, n, dtype=dtype, seed=1)
        return lambda: x + y

    return program


def rows_and_row(rows: int, columns: int):
    def program(lib):
        x, y = numbers(lib, rows, columns), numbers(lib, columns)
        return lambda: x * y

    return program


def rows_and_column(rows: int, columns: int):
    def program(lib):
        x, y = numbers(lib, rows, columns), numbers(lib, rows, 1)
        return lambda: x * y

    return program


def transposed(n: int):
    def program(lib):
        x, y = numbers(lib, n, n), numbers(lib, n, n)
        return lambda: x + y.T

    return program


def transposed_copy(n: int):
    def program(lib):
        x = numbers(lib, n, n)
        return lambda: x.T.contiguous()

    return program


def accumulated(n: int):
    def program(lib):
        x, y = numbers(lib, n), numbers(lib, n)
        return lambda: x.add_(y)

    return program


def chosen(n: int):
    def program(lib):
        x, y = numbers(lib, n), numbers(lib, n, seed=1)
        mask = x > 0
        return lambda: lib.where(mask, x, y)

    return program


def pulled_back(name: str, n: int):
    def program(lib):
        x, g = numbers(lib, n, grad=True), numbers(lib, n, seed=1)
        y = getattr(x, name)()
        return lambda: gradient(lib, y, x, g)

    return program


def gradient(lib, y, x, g=None):
    """Gradients, the graph kept."""
    of = lib.grad if lib.__name__ == "nbgrad" else lib.autograd.grad
    return of(y, x, g, retain_graph=True)


def product_pulled_back(n: int):
    def program(lib):
        x, y, g = numbers(lib, n, grad=True), numbers(lib, n, grad=True, seed=1), numbers(lib, n, seed=2)
        z = x * y
        return lambda: gradient(lib, z, (x, y), g)

    return program


# ---- reductions, rows --------------------------------------------------------------------------------------------------------


def reduced(name: str, shape: tuple[int, ...], *args: Any, dtype: str = "float32"):
    def program(lib):
        x = numbers(lib, *shape, dtype=dtype)
        return lambda: getattr(x, name)(*args)

    return program


def by_rows(name: str, rows: int, columns: int, *more: Callable[[Any], Any]):
    def program(lib):
        x, function = numbers(lib, rows, columns), getattr(lib.nn.functional, name)
        rest = [each(lib) for each in more]
        return lambda: function(x, *rest)

    return program


def by_rows_pulled_back(name: str, rows: int, columns: int, *more: Callable[[Any], Any]):
    def program(lib):
        x, g, function = numbers(lib, rows, columns, grad=True), numbers(lib, rows, columns), getattr(lib.nn.functional, name)
        rest = [each(lib) for each in more]
        leaves = [x, *(each for each in rest if hasattr(each, "requires_grad") and each.requires_grad)]
        return lambda: gradient(lib, function(x, *rest), leaves, g)

    return program


def cross_entropy(rows: int, columns: int, backward: bool):
    def program(lib):
        x = numbers(lib, rows, columns, grad=backward)
        target = lib.tensor(np.random.default_rng(0).integers(0, columns, rows)).to("cuda")
        loss = lib.nn.functional.cross_entropy
        if not backward:
            return lambda: loss(x, target)
        return lambda: gradient(lib, loss(x, target), x)

    return program


# ---- indices, orders, draws --------------------------------------------------------------------------------------------------


def gathered(table: int, width: int, count: int, backward: bool):
    def program(lib):
        x = numbers(lib, table, width, grad=backward)
        index = lib.tensor(np.random.default_rng(0).integers(0, table, count)).to("cuda")
        if not backward:
            return lambda: x[index]
        g, y = numbers(lib, count, width), x[index]
        return lambda: gradient(lib, y, x, g)

    return program


def ordered(name: str, n: int, *args: Any):
    def program(lib):
        x = numbers(lib, n)
        return lambda: getattr(x, name)(*args)

    return program


def drawn(n: int, name: str):
    def program(lib):
        return lambda: getattr(lib, name)(n, device="cuda")

    return program


def dropout(n: int):
    def program(lib):
        x = numbers(lib, n)
        return lambda: lib.nn.functional.dropout(x, 0.5)

    return program


# ---- pools -------------------------------------------------------------------------------------------------------------------


def pooled(name: str, shape: tuple[int, ...], backward: bool):
    """Windows of 3 x 3, every second one."""

    def program(lib):
        x, pool = numbers(lib, *shape, grad=backward), getattr(lib.nn.functional, name)
        if not backward:
            return lambda: pool(x, 3, 2, 1)
        y = pool(x, 3, 2, 1)
        g = numbers(lib, *y.shape)
        return lambda: gradient(lib, y, x, g)

    return program


# ---- products ----------------------------------------------------------------------------------------------------------------


def product(n: int, dtype: str, precision: str = "highest", batch: int = 0):
    def program(lib):
        shape = (batch, n, n) if batch else (n, n)
        x, y = numbers(lib, *shape, dtype=dtype), numbers(lib, *shape, dtype=dtype, seed=1)

        def call():
            lib.set_float32_matmul_precision(precision)
            return x @ y

        return call

    return program


def linear(rows: int, n: int, dtype: str = "float32"):
    def program(lib):
        x, w, b = numbers(lib, rows, n, dtype=dtype), numbers(lib, n, n, dtype=dtype), numbers(lib, n, dtype=dtype)
        return lambda: lib.nn.functional.linear(x, w, b)

    return program


# ---- what the host takes -----------------------------------------------------------------------------------------------------


def small_product(recorded: bool):
    def program(lib):
        x, y = numbers(lib, 16, grad=recorded), numbers(lib, 16)
        return lambda: x * y

    return program


def first_product(lib):
    """A process that imports the library, whose modules are compiled, and reads a product from the GPU."""
    program = f"import {lib.__name__} as lib; x = lib.ones(16, device='cuda'); assert (x * x).sum().item() == 16"
    # An installed package has compiled modules; those of a checkout are kept by the first process, unless the shell forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def allocated(lib):
    empty = lib.empty
    return lambda: empty(16, device="cuda")


def chain(captured: bool, graphs: bool = True):
    """20 products of 16 elements, their sum, backward.

    Args:
        graphs: whether peers capture, too.
    """

    def program(lib):
        x, w = numbers(lib, 16, grad=True), numbers(lib, 16, grad=True)

        def call():
            y = x
            for _ in range(20):
                y = y * w
            y.sum().backward()
            x.grad = w.grad = None

        return replayed(lib, call) if captured and (graphs or lib is nbgrad) else call

    return program


def replayed(lib: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """The replay of a graph of what a call does."""
    stream = lib.cuda.Stream()
    stream.wait_stream(lib.cuda.current_stream())
    with lib.cuda.stream(stream):
        for _ in range(3):
            call()
    lib.cuda.current_stream().wait_stream(stream)
    made = lib.cuda.CUDAGraph()
    with lib.cuda.graph(made):
        call()

    def again():
        made.replay()

    again.keeps = call  # what the graph reads
    return again


def wave(n: int, dtype: str = "float32"):
    """A function of elements, compiled."""

    def program(lib):
        x = numbers(lib, n, dtype=dtype)
        compiled = lib.compile(lambda x: (x * 2 + 1).tanh() * (-x * x).exp())
        return lambda: compiled(x)

    return program


def recurrence(steps: int, batch: int, width: int):
    """A recurrent layer, forward and backward: a loop of a graph, and of Python where there is none."""

    def program(lib):
        w, xs = numbers(lib, width, width, grad=True), numbers(lib, steps, batch, width)

        def forward(c, x):
            c = (c @ w + x).tanh()
            return c, c

        def unrolled(c):
            found = []
            for x in xs:
                c, y = forward(c, x)
                found.append(y)
            return lib.stack(found)

        def call():
            c = lib.zeros(batch, width, device="cuda")
            ys = lib.scan(forward, c, xs)[1] if lib is nbgrad else unrolled(c)
            return gradient(lib, ys.sum(), w)

        return call

    return program


def step(model: Callable[[Any], Any], *shape: int, classes: int = 10, captured: bool = False, compiled: bool = False):
    """A step of training by SGD.

    Args:
        compiled: whether the step is one compiled function; not that of a peer, which has no backward pass within one.
    """

    def program(lib):
        lib.manual_seed(0)
        net = model(lib).to("cuda")
        optimizer = lib.optim.SGD(net.parameters(), lr=1e-3)
        x = numbers(lib, *shape)
        target = lib.tensor(np.random.default_rng(0).integers(0, classes, shape[:-1]).reshape(-1)).to("cuda")

        def call():
            optimizer.zero_grad()
            lib.nn.functional.cross_entropy(net(x).reshape(-1, classes), target).backward()
            optimizer.step()

        made = nbgrad.compile(call) if compiled and lib is nbgrad else call
        return replayed(lib, made) if captured else made

    return program


def perceptron(lib):
    nn = lib.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def transformer(width: int):
    """Two layers of attention and feed-forward, written in operations that both libraries have."""
    return lambda lib: lib.nn.Sequential(layer(lib.nn, width), layer(lib.nn, width), lib.nn.Linear(width, 10))


def layer(nn: Any, width: int) -> Any:
    """One of them, with 8 heads."""

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.taken, self.given = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            heads = self.taken(self.first(x)).reshape(batch, length, 3, 8, width // 8)
            q, k, v = (heads[:, :, i].transpose(1, 2) for i in range(3))
            weights = (q @ k.transpose(-1, -2) * (width // 8) ** -0.5).softmax(-1)
            x = x + self.given((weights @ v).transpose(1, 2).reshape(batch, length, width))
            return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))

    return Layer()


def adam(count: int, n: int):
    def program(lib):
        parameters = [lib.nn.Parameter(numbers(lib, n, seed=k)) for k in range(count)]
        options = {} if lib.__name__ == "nbgrad" else {"fused": True}
        optimizer = lib.optim.Adam(parameters, lr=1e-3, **options)
        for each in parameters:
            each.grad = numbers(lib, n, seed=7)
        return optimizer.step

    return program


def to_device(n: int):
    def program(lib):
        x = lib.ones(n).pin_memory()
        return lambda: x.to("cuda", non_blocking=True)

    return program


def to_host(n: int):
    def program(lib):
        x, y = numbers(lib, n), lib.empty(n).pin_memory()
        return lambda: y.copy_(x, non_blocking=True)

    return program


def ones_of(n: int):
    return lambda lib: lib.ones(n, device="cuda", requires_grad=True)


def rows(tiny: bool = False) -> tuple[Row, ...]:
    """All measurements; ``tiny``: of sizes that show that the programs run, and nothing else."""

    def at(size: int, least: int) -> int:
        return least if tiny else size

    n, side, wide, tall = at(64 * M, 4096), at(8192, 64), at(1024, 32), at(65536, 16)  # 256 MB: several times what caches hold
    nbytes = 4 * n
    images = (at(64, 1), at(64, 2), at(112, 8), at(112, 8))
    pixels = 4 * int(np.prod(images))
    return (
        Row("copy", unary("clone", n), 2 * nbytes, share=0.98),
        Row("add", binary(n), 3 * nbytes, share=0.90, budget=1.0, sizes=(n,)),
        Row("add bfloat16", binary(n, "bfloat16"), 3 * n * 2, share=0.88, budget=1.0),
        Row("exp", unary("exp", n), 2 * nbytes, share=0.90, budget=1.0, sizes=(n,)),
        Row("tanh", unary("tanh", n), 2 * nbytes, share=0.90, budget=1.0, sizes=(n,)),
        Row("tanh bfloat16", unary("tanh", n, "bfloat16"), 2 * n * 2, share=0.88, budget=1.0),
        Row("rows * row", rows_and_row(side, side), 2 * nbytes, share=0.85, budget=1.0),
        Row("rows * column", rows_and_column(side, side), 2 * nbytes, share=0.85, budget=1.0),
        Row("add transposed", transposed(side), 3 * nbytes, share=0.80, budget=1.0),
        Row("copy of a transposed matrix", transposed_copy(side), 2 * nbytes, share=0.80, budget=1.0),
        Row("add in place", accumulated(n), 3 * nbytes, share=0.90, budget=1.0),
        Row("where", chosen(n), 3 * nbytes + n, share=0.90, budget=1.0),
        Row("tanh, backward", pulled_back("tanh", n), 3 * nbytes, share=0.90, budget=1.0),
        Row("mul, both cotangents", product_pulled_back(n), 5 * nbytes, share=0.90, budget=0.75),
        Row("sum", reduced("sum", (n,)), nbytes, share=0.90, budget=1.0, sizes=(n,)),
        Row("sum bfloat16", reduced("sum", (n,), dtype="bfloat16"), 2 * n, share=0.88, budget=1.0),
        Row("sum of rows", reduced("sum", (side, side), 1), nbytes, share=0.90, budget=1.0, sizes=(side, side)),
        Row("sum of columns", reduced("sum", (side, side), 0), nbytes, share=0.90, budget=1.0, sizes=(side, side)),
        Row("sum of short rows", reduced("sum", (n // 32, 32), 1), nbytes + nbytes // 32, share=0.80, budget=1.0),
        Row("max", reduced("max", (n,)), nbytes, share=0.90, budget=1.0),
        Row("var of rows", reduced("var", (side, side), 1), nbytes, share=0.90, budget=1.0),
        Row("argmax of rows", reduced("argmax", (side, side), 1), nbytes, share=0.90, budget=1.0),
        Row(
            "softmax 65536x1024",
            by_rows("softmax", tall, wide, lambda lib: -1),
            2 * nbytes,
            share=0.85,
            budget=1.0,
            sizes=(tall, wide),
        ),
        Row(
            "softmax 65536x1024, forward and backward",
            by_rows_pulled_back("softmax", tall, wide, lambda lib: -1),
            5 * nbytes,
            budget=1.0,
        ),
        Row(
            "softmax 2048x32768",
            by_rows("softmax", at(2048, 2), at(32768, 9000), lambda lib: -1),
            3 * nbytes,
            share=0.85,
            budget=1.0,
        ),
        Row(
            "layer norm 65536x1024",
            by_rows("layer_norm", tall, wide, lambda lib: (wide,), ones_of(wide), ones_of(wide)),
            2 * nbytes,
            share=0.85,
            budget=1.0,
        ),
        Row(
            "layer norm 65536x1024, forward and backward",
            by_rows_pulled_back("layer_norm", tall, wide, lambda lib: (wide,), ones_of(wide), ones_of(wide)),
            5 * nbytes,
            budget=1.0,
        ),
        Row("cross entropy 65536x1024", cross_entropy(tall, wide, False), nbytes, share=0.85, budget=1.0),
        Row("cross entropy 65536x1024, forward and backward", cross_entropy(tall, wide, True), 3 * nbytes, budget=1.0),
        Row(
            "rows by index",
            gathered(at(100_000, 50), at(512, 8), at(131_072, 64), False),
            2 * 131_072 * 2048,
            share=0.80,
            budget=1.0,
        ),
        Row("rows by index, backward", gathered(at(100_000, 50), at(512, 8), at(131_072, 64), True), budget=1.2),
        Row("cumsum", ordered("cumsum", n, 0), 2 * nbytes, budget=1.2, sizes=(n,)),
        Row("cumsum of rows", reduced("cumsum", (side, side), 1), 2 * nbytes, budget=1.2),
        Row("nonzero", ordered("nonzero", n), budget=1.2),
        Row("sort of 16M", ordered("sort", at(16 * M, 4096)), budget=1.5, sizes=(at(16 * M, 4096),)),
        Row("topk 100 of 16M", ordered("topk", at(16 * M, 4096), 100), budget=1.5),
        Row("rand", drawn(n, "rand"), nbytes, share=0.80),
        Row("randn", drawn(n, "randn"), nbytes, share=0.80),
        Row("dropout", dropout(n), 2 * nbytes, budget=1.0),
        Row("max pool of planes", pooled("max_pool2d", images, False), pixels + pixels // 4, budget=1.0),
        Row("max pool of planes, backward", pooled("max_pool2d", images, True), pixels + pixels // 4, budget=1.0),
        Row("average pool of planes", pooled("avg_pool2d", images, False), pixels + pixels // 4, budget=1.0),
        Row("average pool of planes, backward", pooled("avg_pool2d", images, True), pixels + pixels // 4, budget=1.0),
        Row("tanh(2x + 1) exp(-x²), compiled", wave(n), 2 * nbytes, share=0.85, sizes=(n,)),
        Row("tanh(2x + 1) exp(-x²), compiled, bfloat16", wave(n, "bfloat16"), 2 * n * 2, share=0.85),
        Row(
            "product 4096 float32",
            product(at(4096, 32), "float32"),
            flops=2 * 4096.0**3,
            budget=1.02,
            sizes=(at(4096, 32), at(4096, 32)),
        ),
        Row("product 4096 TF32", product(at(4096, 32), "float32", "high"), flops=2 * 4096.0**3, budget=1.02),
        Row("product 8192 bfloat16", product(at(8192, 32), "bfloat16"), flops=2 * 8192.0**3, budget=1.02),
        Row("product 8192 float16", product(at(8192, 32), "float16"), flops=2 * 8192.0**3, budget=1.02),
        Row("product 4096 float64", product(at(4096, 32), "float64"), flops=2 * 4096.0**3, budget=1.02),
        Row("64 products 512 float32", product(at(512, 32), "float32", batch=at(64, 3)), flops=64 * 2 * 512.0**3, budget=1.02),
        Row("linear 8192x1024x1024 float32", linear(at(8192, 16), wide), flops=2 * 8192 * 1024.0**2, budget=1.02),
        Row("mul of 16, host", small_product(False), clock="host", budget=0.6, limit=3e-6),
        Row("mul of 16 with its node, host", small_product(True), clock="host", budget=0.6, limit=3e-6),
        Row("allocation and free, host", allocated, clock="host", budget=0.5),
        Row("20 mul + sum, forward and backward", chain(False), clock="whole", budget=0.6),
        Row("20 mul + sum, forward and backward, captured", chain(True), clock="whole"),
        Row("20 mul + sum, forward and backward, captured; torch eager", chain(True, False), clock="whole", budget=0.25),
        Row("MLP step 64-128-128-10, batch 128, SGD", step(perceptron, at(128, 2), 64), clock="whole", budget=0.6),
        Row(
            "MLP step 64-128-128-10, batch 128, SGD, captured",
            step(perceptron, at(128, 2), 64, captured=True),
            clock="whole",
            budget=1.0,
        ),
        Row(
            "MLP step 64-128-128-10, batch 128, SGD, compiled; torch eager",
            step(perceptron, at(128, 2), 64, compiled=True),
            clock="whole",
            budget=0.6,
        ),
        Row(
            "MLP step 64-128-128-10, batch 128, SGD, compiled and captured; torch captured",
            step(perceptron, at(128, 2), 64, compiled=True, captured=True),
            clock="whole",
            budget=1.0,
        ),
        Row(
            "scan of 100 steps 64x128, forward and backward; torch eager",
            recurrence(at(100, 3), at(64, 2), at(128, 4)),
            clock="whole",
            budget=1.0,
        ),
        Row(
            "transformer step, 2 layers of 256, batch 16x128",
            step(transformer(at(256, 16)), at(16, 1), at(128, 4), at(256, 16)),
            clock="whole",
            budget=1.0,
        ),
        Row(
            "transformer step, 2 layers of 256, batch 16x128, captured",
            step(transformer(at(256, 16)), at(16, 1), at(128, 4), at(256, 16), captured=True),
            clock="whole",
            budget=1.0,
        ),
        Row(
            "transformer step, 2 layers of 256, batch 16x128: memory",
            step(transformer(at(256, 16)), at(16, 1), at(128, 4), at(256, 16)),
            clock="peak",
            budget=1.05,
        ),
        Row("Adam of 200 tensors of 65536", adam(at(200, 5), at(65536, 64)), clock="whole", budget=1.0),
        Row("to the device, pinned", to_device(n), nbytes, budget=1.05),
        Row("to the host, pinned", to_host(n), nbytes, budget=1.05),
        Row("import and first product, a process", first_product, clock="process", budget=0.3),
    )
