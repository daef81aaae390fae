"""What the CUDA tests share: machines that run kernels, by interpretation or on a GPU, through the same calls."""

from __future__ import annotations

import ctypes
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest

from nbgrad.cubins.operations import named
from nbgrad.kernels.cuda import access, build, host, reductions, simt, templates
from nbgrad.kernels.cuda.emulated.device import Device, emulate, image_of, kernel_of
from nbgrad.kernels.cuda.emulated.driver import ENTRIES, Driver, codes
from nbgrad.kernels.cuda.emulated.driver.installed import Installed, entry_point


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


class Failed(Exception):
    """A call that gave an error number."""

    def __init__(self, number: int, reason: str):
        super().__init__(f"{codes.NAMES[number]}: {reason}")
        self.number = number


class Calls:
    """Entry points of an emulated driver by address, as native code calls them; no library stands in between.

    Args:
        signature: how: by ``ctypes.CFUNCTYPE`` without the interpreter's lock, by ``PYFUNCTYPE`` with it.
    """

    def __init__(self, driver: Driver, signature=ctypes.CFUNCTYPE):
        self.installed = Installed.__new__(Installed)
        self.driver = self.installed.driver = driver
        self.signature, self.functions = signature, {}

    def __getattr__(self, name):
        if name not in self.functions:
            found = ENTRIES[name]
            called = ctypes.CFUNCTYPE(ctypes.c_int, *found.kinds)(entry_point(self.installed, name, found))
            address = ctypes.cast(called, ctypes.c_void_p).value
            self.functions[name] = called, self.signature(ctypes.c_int, *found.kinds)(address)
        function = self.functions[name][1]

        def call(*operands):
            if number := function(*operands):
                raise Failed(number, self.driver.reason)

        return call

    def made(self, name, *operands, kind=ctypes.c_uint64):
        """What a call writes to its first operand."""
        cell = kind(0)
        getattr(self, name)(ctypes.addressof(cell), *operands)
        return cell.value

    def refuses(self, number, call, *operands):
        """The call gives this error number."""
        with pytest.raises(Failed) as caught:
            call(*operands)
        assert caught.value.number == number, caught.value

    def use(self, device=0):
        """Make a device's context current in this thread."""
        self.cuCtxSetCurrent(self.made("cuDevicePrimaryCtxRetain", device))
        return self

    def stream(self, flags=codes.NON_BLOCKING):
        return self.made("cuStreamCreateWithPriority", flags, 0)

    def pool(self, device=0):
        return self.made("cuDeviceGetDefaultMemPool", device)

    def empty(self, nbytes, stream, device=0):
        return self.made("cuMemAllocFromPoolAsync", nbytes, self.pool(device), stream)

    def upload(self, array, stream, device=0):
        """Memory with a copy of an array."""
        memory = self.empty(array.nbytes, stream, device)
        self.cuMemcpyHtoDAsync(memory, array.ctypes.data, array.nbytes, stream)
        return memory

    def download(self, memory, stream, n=16, dtype=np.float32):
        """What memory holds behind what the stream has to do."""
        array = np.empty(n, dtype)
        self.cuMemcpyDtoHAsync(array.ctypes.data, memory, array.nbytes, stream)
        return array

    def pinned(self, n=16, dtype=np.float32):
        """Pinned memory, as an array."""
        address = self.made("cuMemHostAlloc", n * np.dtype(dtype).itemsize, 0)
        return np.frombuffer((ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(address), dtype)

    def kernel(self):
        """out = x * y."""
        operation = named("mul", "float32")
        made = kernel_of(templates.elementwise(operation.inputs, operation.outputs), operation.scalar, "float32", {})
        library = self.made("cuLibraryLoadData", image_of(made), None, None, 0, None, None, 0)
        return self.made("cuLibraryGetKernel", library, made.name.encode())

    def multiply(self, kernel, out, x, y, stream, n=16, grid=1):
        """Launch the product; the parameters may go when the call has returned."""
        values = (ctypes.c_int64 * 4)(out, x, y, n)
        places = (ctypes.c_uint64 * 4)(*(ctypes.addressof(values) + 8 * k for k in range(4)))
        self.cuLaunchKernel(kernel, grid, 1, 1, 256, 1, 1, 0, stream, ctypes.addressof(places), None)


@pytest.fixture
def calls():
    """A driver of its own, with its first device in use."""
    return Calls(Driver()).use()


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
            pytest.skip(f"{package} is not installed: pip install 'nbgrad[cuda,dev]'")
    return build.build
