"""What the caller lets graphs keep: user objects, each with a function that is called when nobody keeps it."""

from __future__ import annotations

import ctypes

from . import codes
from .entries import Refused, entry, put_handle
from .graph import Graph, Kept
from .state import State

__all__ = ["Owned"]


class Owned(State):
    """Entry points."""

    @entry("pppuu")
    def cuUserObjectCreate(self, out, data, destroy, count, flags):
        put_handle(out, self.handle(Kept(data, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(destroy), count)))

    @entry("pu")
    def cuUserObjectRetain(self, handle, count):
        self.thing(handle, Kept).count += count

    @entry("pu", frees=True)
    def cuUserObjectRelease(self, handle, count):
        self.thing(handle, Kept).release(count)

    @entry("ppuu")
    def cuGraphRetainUserObject(self, graph, handle, count, flags):
        kept, owner = self.thing(handle, Kept), self.thing(graph, Graph)
        if not flags & 1:  # 1: the caller gives its own references away
            kept.count += count
        owner.kept[kept] = owner.kept.get(kept, 0) + count

    @entry("ppu")
    def cuGraphReleaseUserObject(self, graph, handle, count):
        kept, owner = self.thing(handle, Kept), self.thing(graph, Graph)
        if owner.kept.get(kept, 0) < count:
            raise Refused(codes.INVALID_VALUE, "the graph does not keep so many references")
        owner.kept[kept] -= count
        kept.release(count)
