"""Libraries of kernels, and launches."""

from __future__ import annotations

import ctypes
from functools import partial

from ..device import Kernel, kernel_of_image
from ..limits import GRID_LIMITS, SHARED_LIMIT, THREAD_LIMIT
from ..memory import HOST
from . import codes
from .entries import Refused, entry, put, put_handle
from .state import State

__all__ = ["Kernels"]

PTX = 1  # CUjitInputType
LOADS_IN_CAPTURES = 12030  # an older driver waits for the device, however lightly the thread takes captures
MOST_PARAMETERS = 4096  # bytes
WORDS = {8: ctypes.c_int64, 4: ctypes.c_uint32, 2: ctypes.c_uint16, 1: ctypes.c_uint8}


class Code:
    """A library that was loaded: one kernel."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel


class Linking:
    """A state of the linker: PTX, and what was made of it."""

    def __init__(self) -> None:
        self.parts, self.cubin = list[bytes](), b""


class Kernels(State):
    """Entry points. A function is the kernel that it is of, for every device."""

    @entry("ppppuppu", unsafe=True)
    def cuLibraryLoadData(self, out, code, *options):
        if self.version < LOADS_IN_CAPTURES:
            self.refuse_in_captures("cuLibraryLoadData")
        kernel = kernel_of_image(ctypes.string_at(code, 32))
        if kernel is None:
            raise Refused(codes.INVALID_IMAGE, "code that is not made for the emulated device")
        put_handle(out, self.handle(Code(kernel)))

    @entry("p", frees=True, unsafe=True)
    def cuLibraryUnload(self, handle):
        self.thing(handle, Code)
        del self.handles[handle]

    @entry("pps")
    def cuLibraryGetKernel(self, out, handle, name):
        kernel = self.thing(handle, Code).kernel
        if kernel.name != name.decode():
            raise Refused(codes.NOT_FOUND, f"the library has {kernel.name}")
        put_handle(out, self.handle(kernel))

    @entry("pp")
    def cuKernelGetFunction(self, out, kernel):
        self.thing(kernel, Kernel)
        put_handle(out, kernel)

    @entry("pipi")
    def cuKernelGetAttribute(self, out, attribute, kernel, device):
        put(ctypes.c_int, out, {0: THREAD_LIMIT, 1: self.thing(kernel, Kernel).shared}.get(attribute, 0))

    @entry("pip")
    def cuFuncGetAttribute(self, out, attribute, function):
        self.cuKernelGetAttribute(out, attribute, function, 0)

    # ---- launches ------------------------------------------------------------------------------------------------------------

    @entry("pppp")
    def cuLaunchKernelEx(self, config, kernel, parameters, extra):
        gx, gy, gz, bx, by, bz, shared = (ctypes.c_uint * 7).from_address(config)
        stream = ctypes.c_uint64.from_address(config + 32).value
        self.cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)

    @entry("puuuuuuuppp")
    def cuLaunchKernel(self, handle, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        """Queue a launch, with the parameters that it has now; its device is the stream's."""
        kernel = self.handles.get(handle)
        if not isinstance(kernel, Kernel):
            raise Refused(codes.INVALID_HANDLE, f"{handle or 0:#x} is no kernel")
        threads, (x, y, z) = bx * by * bz, GRID_LIMITS
        if not (0 < gx <= x and 0 < gy <= y and 0 < gz <= z and 0 < threads <= THREAD_LIMIT):
            raise Refused(codes.INVALID_VALUE, f"{(gx, gy, gz)} blocks of {(bx, by, bz)} threads")
        if threads != bx:
            raise Refused(codes.NOT_SUPPORTED, f"blocks of {(bx, by, bz)} threads; those of one dimension are played")
        if kernel.shared + shared > SHARED_LIMIT or extra or sum(kernel.widths) > MOST_PARAMETERS:
            raise Refused(codes.INVALID_VALUE, f"{kernel.shared + shared} bytes of shared memory, {len(kernel.widths)} parameters")
        queued, count = self.stream(stream), len(kernel.widths)
        if count and not parameters:
            raise Refused(codes.INVALID_VALUE, f"no parameters, expected {count}")
        places = (ctypes.c_uint64 * count).from_address(parameters)
        size = sum(max(width // 8, 1) for width in kernel.widths)
        values, at = (ctypes.c_int64 * max(size, 1))(), 0
        for k, width in enumerate(kernel.widths):
            if width > 8:  # a table
                ctypes.memmove(ctypes.byref(values, 8 * at), places[k], width)
            else:
                values[at] = WORDS[width].from_address(places[k]).value
            at += max(width // 8, 1)
        self.enqueue(queued, partial(self.launch, queued.device, kernel, (gx, gy, gz), threads, values))

    def launch(self, number: int, kernel: Kernel, grid: tuple, threads: int, values: ctypes.Array) -> None:
        """Run a kernel, and see what it touched."""
        device, timeline = self.devices[number], self.timeline
        device.launch_words(kernel, grid, threads, ctypes.addressof(values))
        if device.checked:
            touched = device.touched()
        else:  # all that it was given, perhaps
            found = {each: (each, True, False) for each in map(self.memory.find, values) if each is not None}
            touched = iter(found.values())
        for allocation, writes, changes in touched:
            if allocation.device == HOST:  # as the program sees it: other kernels, and the host, may use it at the same time
                for each in allocation.copies if writes or changes else ():
                    each.follow(each.span)
            elif allocation.history is not None:
                timeline.touch(allocation.history, writes, allocation, changes)

    # ---- the driver's linker -------------------------------------------------------------------------------------------------

    # It takes PTX, and gives what no device loads: who links is seen to take part, and kernels are made elsewhere (device.py).

    @entry("uppp")
    def cuLinkCreate(self, count, options, values, out):
        put_handle(out, self.handle(Linking()))

    @entry("pipnsupp")
    def cuLinkAddData(self, handle, kind, data, size, name, count, options, values):
        text = ctypes.string_at(data, size)
        if kind != PTX or b".version" not in text or b".entry" not in text:
            raise Refused(codes.INVALID_PTX, "PTX with an entry is expected")
        self.thing(handle, Linking).parts.append(text)

    @entry("ppp")
    def cuLinkComplete(self, handle, out, size):
        linking = self.thing(handle, Linking)
        linking.cubin = b"\x7fELF of the emulated linker: " + b"".join(linking.parts)
        put(ctypes.c_char_p, out, linking.cubin)
        put(ctypes.c_size_t, size, len(linking.cubin))

    @entry("p", frees=True)
    def cuLinkDestroy(self, handle):
        self.thing(handle, Linking)
        del self.handles[handle]
