"""CUDA's driver, played: the entry points that cuda.core and our launches call, over the emulated devices.

    codes.py        numbers of the driver
    entries.py      how entry points are declared
    state.py        what they share: handles, contexts, faults, how work gets onto a stream
    devices.py      versions, devices, contexts, peers
    streams.py      streams and events
    allocations.py  memory of devices, pools, pinned memory
    copies.py       copies, and memory that is set
    kernels.py      libraries, launches
    graph.py        graphs: nodes, and the order in which a launch queues them
    captures.py     how streams are captured
    owned.py        what callers let graphs keep
    installed.py    the driver as a library of this process

NOTE [What the driver says]: an entry point gives 0 or an error number of CUDA's. Whatever a kernel must not do is told by the next
call that waits, as ``LAUNCH_FAILED``; its text is that of the fault, and, as with a real fault, no later call of the device
succeeds. What is missing here says ``NOT_SUPPORTED`` by name.

Source of names, numbers and order of parameters: CUDA Driver API reference.
"""

from __future__ import annotations

from functools import cache

from .captures import Captures
from .copies import Copies
from .entries import ENTRIES, KINDS
from .installed import Installed
from .kernels import Kernels
from .owned import Owned
from .streams import Streams

__all__ = ["ENTRIES", "KINDS", "Driver", "Installed", "install"]


class Driver(Streams, Copies, Kernels, Captures, Owned):
    """All entry points, and the state that they share: see ``State``."""


@cache
def install() -> Installed:
    """Have this process's ``libcuda.so.1`` be the emulated one, from now on."""
    return Installed(Driver())
