"""What LLVM is told of loops. It writes one several times: with several trips at a time, with fewer, and trip by trip.

NOTE [Loops of few trips]: that takes time, and pays where there are many trips. Kernels say where there are not:
``for i in few(n)``, vectors but one at a time, and ``for i in one_by_one(n)``, which is for what runs rarely. ``eight_wide(n)``
is ``few`` in lanes of eight, where LLVM would take four since some of the numbers, not most, are of double precision.
``abreast(n)`` takes four vectors at a time, where LLVM would take one: of functions that are long chains of instructions, each of
which waits for the one before. All are ``range`` to whoever else reads them. What is around another loop is never written several
times. See benchmarks/test_graph_costs.py.

NOTE [Series]: a loop of a fixed number of trips that touches no memory is a part of one element's computation, as the terms of
``zeta``. LLVM makes vectors of innermost loops alone, so such a loop is written out where vectors are wanted, or the loop over
elements around it would run one element at a time. See benchmarks/test_operations.py.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = ["LOOPS", "MOST_TERMS", "OUTER", "SERIES", "Told", "hinted"]

Told = tuple[tuple[str, Any], ...]

# By what a loop goes over: names that LLVM has for what it is told, and values.
FEW: Told = (("llvm.loop.interleave.count", ir.Constant(ir.IntType(32), 1)), ("llvm.loop.unroll.disable", None))
LOOPS: dict[str, Told] = {
    "range": (),
    "few": FEW,
    "abreast": (("llvm.loop.interleave.count", ir.Constant(ir.IntType(32), 4)), ("llvm.loop.unroll.disable", None)),
    "eight_wide": (("llvm.loop.vectorize.width", ir.Constant(ir.IntType(32), 8)), *FEW),
    "one_by_one": (("llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)), ("llvm.loop.unroll.disable", None)),
}
OUTER: Told = (("llvm.loop.unroll.runtime.disable", None),)
SERIES: Told = (("llvm.loop.unroll.full", None),)
MOST_TERMS = 64  # of a series that is written out; the longest is a continued fraction of igamma


class LoopName(ir.values.MDValue):
    """What stands for a loop: a node that names itself, and is no other loop's."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def descr(self, buf: list[str]) -> None:
        """The text."""
        told = ", ".join(each.get_reference() for each in self.operands)
        buf += (f"distinct !{{ {self.get_reference()}, {told} }}", "\n")


def hinted(branch: Any, told: Told) -> None:
    """Tell LLVM of the loop that a branch goes around."""
    if told:
        module = branch.module
        facts = [module.add_metadata([name] if value is None else [name, value]) for name, value in told]
        branch.set_metadata("llvm.loop", LoopName(module, facts, name=str(len(module.metadata))))
