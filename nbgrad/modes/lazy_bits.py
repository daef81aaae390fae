"""Lazy conjugation and negation in operations that do not know them: NOTE [Lazy bits] in ops/complex.py."""

from __future__ import annotations

from typing import Any, Callable

from ..base.calls import CALLS
from ..ops.core import General
from ..tensors.layout import Layout
from ..tensors.tensor import Tensor
from .interpreters import Call, register

__all__ = ["Bits", "resolved"]


def is_lazy(layout: Layout) -> bool:
    """Whether the memory is read conjugated or negated."""
    return layout.conj or layout.neg


def resolved(x: Tensor) -> Tensor:
    """The tensor itself, or a recorded copy without lazy bits."""
    return CALLS["clone"](x) if is_lazy(x.layout) else x


class Bits:
    """The interpreter of rank "bits": gives operations with a lowering of their own operands without lazy bits."""

    def concerns(self, call: Call) -> bool:
        """Elementwise operations, views and copies read and write such memory by themselves."""
        return isinstance(call.op, General) and not call.op.resolves and any(is_lazy(x.layout) for x in call.tensors())

    def run(self, call: Call, below: Callable[[Call], Any]) -> Any:
        """Resolve the operands; the one that is written to stays: what writes knows the bits of its target."""
        operands = call.map(resolved)
        return below(call.with_operands((call.operands[0], *operands[1:]) if call.form == "_" else operands))


register("bits", Bits())
