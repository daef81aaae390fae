"""What the CUDA tests share: machines that run kernels, by interpretation or on a GPU, through the same calls."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from nbgrad.kernels.cuda import access, build, host, reductions, simt, templates
from nbgrad.kernels.cuda.emulated.device import Device, emulate


class Machine:
    """Kernels applied to NumPy arrays; ``run`` is a subclass's."""

    def elementwise(self, scalar, dtype, inputs, outputs, into=(), lanes=None, unroll=1):
        """``inputs``: pairs (operand, array or number); ``outputs``: arrays; those of ``into`` are inputs already."""
        operands = tuple(operand for operand, _ in inputs)
        names = tuple(data.dtype.name for data in outputs)
        template = templates.elementwise(operands, names, into, lanes, unroll)
        lanes = lanes or templates.vector_lanes([*(o.dtype for o in operands if o.kind == "array"), *names])
        n = outputs[0].size
        pointers = [*outputs[len(into) :], *(data for operand, data in inputs if operand.kind in ("array", "single"))]
        values = [part for operand, data in inputs for part in parts(operand, data)]
        self.run(template, scalar, dtype, templates.elementwise_grid(n, lanes, unroll), *pointers, *values, n)

    def strided(self, scalar, dtype, views, bits=32):
        """A new C-ordered array of scalar(*views); a view's base is what its memory is taken from."""
        shape = np.broadcast_shapes(*(view.shape for view in views))
        result = np.zeros(shape, np.result_type(*views))
        views = [np.broadcast_to(view, shape) for view in views]
        steps = [tuple(s // a.itemsize for s in a.strides) for a in (result, *views)]
        sizes, steps = templates.collapse(shape, steps)
        operands = tuple(templates.array(view.dtype.name) for view in views)
        template = templates.strided(operands, (result.dtype.name,), len(sizes), bits)
        self.run(
            template,
            scalar,
            dtype,
            templates.strided_grid(result.size),
            result,
            *map(memory, views),
            result.size,
            *templates.strided_args(sizes, steps),
            **templates.index_source(bits),
        )
        return result

    def rows(self, of, x, output, *values, lanes=1):
        """The reduction of each row of ``x``, in as many stages as its length asks for."""
        rows, n = x.shape
        scalar, dtype, name, source = of.term, of.dtype, x.dtype.name, of.source()
        blocks, share = reductions.row_plan(n, lanes)
        result = np.zeros(rows, output)
        if blocks == 1:
            template = reductions.reduce_rows(of, (name,), output, "whole", lanes)
            self.run(template, scalar, dtype, (rows, 1), result, x, *values, n, n, share, **source)
            return result
        partials = [np.zeros((rows, blocks), state) for state in of.state]
        template = reductions.reduce_rows(of, (name,), output, "partial", lanes)
        self.run(template, scalar, dtype, (rows, blocks), *partials, x, n, n, share, **source)
        template = reductions.reduce_rows(of, (name,), output, "merge")
        counts = blocks, blocks, reductions.MAX_PARTIALS
        self.run(template, scalar, dtype, (rows, 1), result, *partials, *values, *counts, **source)
        return result

    def short_rows(self, of, x, output, *values):
        """The reduction of each row of ``x`` by a warp."""
        rows, n = x.shape
        result = np.zeros(rows, output)
        template = reductions.reduce_short_rows(of, (x.dtype.name,), output)
        scalar, dtype, grid = of.term, of.dtype, reductions.short_rows_grid(rows)
        self.run(template, scalar, dtype, grid, result, x, *values, rows, n, n, **of.source())
        return result

    def columns(self, of, x, output, *values):
        """The reduction of ``x`` over its second of three dimensions."""
        outers, rows, columns = x.shape
        scalar, dtype, name, source = of.term, of.dtype, x.dtype.name, of.source()
        tiles = -(-columns // 32)
        splits, share = reductions.column_plan(outers, rows, columns)
        result, counts = np.zeros((outers, columns), output), (0, outers, rows, columns, share, rows * columns, columns, 1)
        if splits == 1:
            template = reductions.reduce_columns(of, (name,), output)
            self.run(template, scalar, dtype, (tiles, 1, outers), result, x, *values, *counts, **source)
            return result
        partials = [np.zeros((splits, outers, columns), state) for state in of.state]
        template = reductions.reduce_columns(of, (name,), output, "partial")
        self.run(template, scalar, dtype, (tiles, splits, outers), *partials, x, *counts, **source)
        template = reductions.reduce_columns(of, (name,), output, "merge")
        grid, counts = (-(-outers * columns // 32), 1, 1), (0, 1, splits, outers * columns, splits, 0, outers * columns, 1)
        self.run(template, scalar, dtype, grid, result, *partials, *values, *counts, **source)
        return result


def parts(operand, data):
    """What is passed by value: a number, or the two parts of a complex one."""
    return {"value": (data,), "pair": (data.real, data.imag) if operand.kind == "pair" else ()}.get(operand.kind, ())


def memory(view):
    """The contiguous array that ``view`` starts at the beginning of."""
    while view.base is not None:
        view = view.base
    return view if view.flags.c_contiguous else view.T


class Interpreter(Machine):
    """Launches on the CPU; arrays are their own device memory."""

    def run(self, template, scalar, dtype, grid, *args, **source):
        simt.interpret(template, scalar, dtype, grid, *args, **source)


class Emulated(Machine):
    """Launches on this processor, each access looked at."""

    def __init__(self):
        self.device = Device()

    def run(self, template, scalar, dtype, grid, *args, **source):
        emulate(template, scalar, dtype, grid, *args, device=self.device, **source)


class RealGpu(Machine):
    """Launches on a GPU: copies the arrays there and, since any may have been written, back."""

    def __init__(self):
        self.gpu = host.Gpu()

    def run(self, template, scalar, dtype, grid, *args, **source):
        gpu, count = self.gpu, len(template.pointers)
        function = gpu.load(gpu.build(build.Recipe(template, scalar, dtype, source)))
        buffers = [gpu.upload(array) for array in args[:count]]
        values = [host.argument(v, access.value_dtype(dtype)) for v in args[count : count + template.values]]
        counts = map(int, args[count + template.values :])
        gpu.launch(function, grid, *(int(b.handle) for b in buffers), *values, *counts)
        for array, buffer in zip(args, buffers):
            if array.flags.writeable:
                array[...] = gpu.download(buffer, array.dtype, array.shape)


@pytest.fixture
def machine():
    """The emulated device."""
    return Emulated()


@pytest.fixture
def interpreter():
    """The interpreter."""
    pytest.importorskip("greenlet", reason="the interpreter needs greenlet: pip install 'nbgrad[dev]'")
    return Interpreter()


@pytest.fixture(scope="session")
def gpu():
    """A GPU; for tests marked ``cuda``."""
    return RealGpu()


@pytest.fixture(scope="session")
def compiler():
    """``build.build``; skips where a compiler's package is not installed, and only then."""
    for package in ("cuda-core", "nvidia-nvjitlink"):
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed: pip install 'nbgrad[cuda]'")
    return build.build
