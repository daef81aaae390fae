"""Versions, errors, devices, contexts, and who may touch whose memory."""

from __future__ import annotations

import ctypes

from . import codes
from .entries import Refused, entry, put, put_handle
from .state import State

__all__ = ["Devices"]


class Devices(State):
    """Entry points. The context of device k is the handle k + 1."""

    # ---- errors, versions ------------------------------------------------------------------------------------------------

    @entry("u", harmless=True)
    def cuInit(self, flags):
        if not self.devices:
            raise Refused(codes.NO_DEVICE)

    @entry("p", harmless=True)
    def cuDriverGetVersion(self, version):
        put(ctypes.c_int, version, self.version)

    @entry("ip", harmless=True)
    def cuGetErrorName(self, error, out):
        put_handle(out, self.text(codes.NAMES.get(error, f"CUDA_ERROR_{error}")))

    @entry("ip", harmless=True)
    def cuGetErrorString(self, error, out):
        """With the reason, if a call was refused with this number last: a real driver tells none."""
        told = codes.NAMES.get(error, f"error {error}")
        if error == codes.LAUNCH_FAILED and self.fault:
            told = self.fault
        elif error and error == self.refused:
            told = f"{told}: {self.reason}"
        self.told = ctypes.create_string_buffer(told.encode())
        put_handle(out, ctypes.addressof(self.told))

    # ---- devices -----------------------------------------------------------------------------------------------------------

    @entry("p", harmless=True)
    def cuDeviceGetCount(self, out):
        put(ctypes.c_int, out, len(self.devices))

    @entry("pi", harmless=True)
    def cuDeviceGet(self, out, number):
        self.device(number)
        put(ctypes.c_int, out, number)

    @entry("pii", harmless=True)
    def cuDeviceGetName(self, out, size, device):
        self.device(device)
        ctypes.memmove(out, b"nbgrad emulated device\0"[:size], min(size, 23))

    @entry("pi", harmless=True)
    def cuDeviceGetUuid(self, out, device):
        self.device(device)
        ctypes.memmove(out, b"nbgrad-emulated" + bytes([device]), 16)

    @entry("pi", harmless=True)
    def cuDeviceTotalMem(self, out, device):
        self.device(device)
        put(ctypes.c_size_t, out, codes.MEMORY)

    @entry("pii", harmless=True)
    def cuDeviceGetAttribute(self, out, attribute, device):
        self.device(device)
        put(ctypes.c_int, out, codes.ATTRIBUTES.get(attribute, 0))

    # ---- contexts ------------------------------------------------------------------------------------------------------------

    def device_of(self, context: int | None) -> int:
        """The device of a context."""
        if not context or context > len(self.devices):
            raise Refused(codes.INVALID_CONTEXT, f"{context or 0:#x} is no context")
        return context - 1

    @entry("pi", harmless=True)
    def cuDevicePrimaryCtxRetain(self, out, device):
        self.device(device)
        put_handle(out, device + 1)

    @entry("i", harmless=True)
    def cuDevicePrimaryCtxRelease(self, device):
        self.device(device)

    @entry("ipp", harmless=True)
    def cuDevicePrimaryCtxGetState(self, device, flags, active):
        put(ctypes.c_uint, flags, 0)
        put(ctypes.c_int, active, 1)

    @entry("p", harmless=True)
    def cuCtxSetCurrent(self, context):
        self.thread.contexts[-1:] = [self.device_of(context)] if context else []

    @entry("p", harmless=True)
    def cuCtxPushCurrent(self, context):
        self.thread.contexts.append(self.device_of(context))

    @entry("p", harmless=True)
    def cuCtxPopCurrent(self, out):
        put_handle(out, self.current() + 1)
        self.thread.contexts.pop()

    @entry("p", harmless=True)
    def cuCtxGetCurrent(self, out):
        put_handle(out, self.thread.contexts[-1] + 1 if self.thread.contexts else 0)

    @entry("p", harmless=True)
    def cuCtxGetDevice(self, out):
        put(ctypes.c_int, out, self.current())

    @entry("pp", harmless=True)
    def cuCtxGetDevice_v2(self, out, context):
        put(ctypes.c_int, out, self.device_of(context) if context else self.current())

    @entry("")
    def cuCtxSynchronize(self):
        device = self.current()
        for capture in self.captures:
            for stream in capture.tips:
                if stream.device == device:
                    self.refuse_captured(stream, "a wait for the device of")
        self.wait(self.timeline.finish_device, device)
        self.settle_pools()

    @entry("pp", harmless=True)
    def cuCtxGetStreamPriorityRange(self, least, greatest):
        put(ctypes.c_int, least, 0)
        put(ctypes.c_int, greatest, -5)

    # ---- memory of other devices ---------------------------------------------------------------------------------------------
    # What ``cuMemAlloc`` gives follows the contexts' access; what pools give, that of the pool.

    @entry("pii", harmless=True)
    def cuDeviceCanAccessPeer(self, out, device, peer):
        self.device(device), self.device(peer)
        put(ctypes.c_int, out, int(device != peer))

    @entry("piii", harmless=True)
    def cuDeviceGetP2PAttribute(self, out, attribute, device, peer):
        if self.device(device) is self.device(peer):
            raise Refused(codes.INVALID_DEVICE, "a device is no peer of its own")
        put(ctypes.c_int, out, int(attribute in (2, 3)))  # access, and atomic operations

    @entry("pu")
    def cuCtxEnablePeerAccess(self, context, flags):
        pair = self.current(), self.device_of(context)
        if pair[0] == pair[1]:
            raise Refused(codes.INVALID_DEVICE, "a device is no peer of its own")
        if pair in self.peers:
            raise Refused(codes.PEER_ENABLED)
        self.peers.add(pair)
        self.share()

    @entry("p")
    def cuCtxDisablePeerAccess(self, context):
        pair = self.current(), self.device_of(context)
        if pair not in self.peers:
            raise Refused(codes.PEER_NOT_ENABLED)
        self.peers.remove(pair)
        self.share()

    def access_of(self, device: int) -> int:
        """A bit for each device that may touch what is allocated on one, outside of pools."""
        return 1 << device | sum(1 << each for each, peer in self.peers if peer == device)

    def share(self) -> None:
        """Let allocations know who may touch them now."""
        for each in self.memory.entries:
            if each is not None and each.owner == "context":
                self.memory.allow(each, self.access_of(each.device))
