"""Plans: kernel launches and views, prepared in the form that native code reads.

NOTE [Plan record]: ``Plan.record`` is a bytes object of int64 words: 0 address of the kernel, 1 units of work (-1: as many as
the first output has elements), 2 units that one thread claims at once, 3 number of outputs, 4 number of inputs, 5 flags (1: drop
the interpreter lock and use the pool), 6 elements from which units of -1 imply that flag, 7 spare, then one code an input
(``NUMBER_CODES``; 0 is a tensor), then the kernel's own parameters. A kernel is called as ``kernel(start, stop, args)`` with
``args`` = pointers to the parameters, the outputs, the inputs.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from ..base.errors import KernelError

if TYPE_CHECKING:
    from ..tensors.layout import Layout

__all__ = ["MOST_OPERANDS", "NUMBER_CODES", "PARALLEL", "ElementwisePlan", "MovementPlan", "Plan", "pack_record"]

MOST_OPERANDS = 128  # pointers of a launch: to its parameters, results and operands
PARALLEL = 1  # flag of a record
# How a Python number is stored for the kernel; integers of every width are read little-endian from an int64.
NUMBER_CODES = {
    "float32": 1,
    "float64": 2,
    "int64": 3,
    "int32": 3,
    "int16": 3,
    "int8": 3,
    "uint8": 3,
    "complex64": 4,
    "complex128": 5,
}


class Plan:
    """One kernel launch, ready: see NOTE [Plan record].

    Attributes:
        record: the words that native code reads.
        outs: for every output the template Tensor of its layout.
        layouts: for every input its Layout; None for a Python number.
    """

    __slots__ = ("record", "outs", "layouts")
    record: bytes
    outs: tuple
    layouts: tuple

    def __init__(self, record: bytes, outs: tuple, layouts: tuple):
        self.record, self.outs, self.layouts = record, outs, layouts


class ElementwisePlan(Plan):
    """A plan with what recording and differentiating it need.

    Attributes:
        op, compute: the operation and its dtype of computation.
        operands: for every operand its Layout; None for a Python number.
        records: per subset of operands that need a gradient (bit k is operand k) the function that makes the node.
        backs: per subset None or ``{layout of the cotangent: plan of the fused backward kernel}``.
        reduced: some operand was broadcast or converted, so its cotangent must be summed or converted back.
        kinds: None, or what the plans of all shapes of its kind share: records of backward kernels.
    """

    __slots__ = ("op", "compute", "operands", "records", "backs", "reduced", "kinds")
    op: Any
    compute: Any
    operands: tuple
    records: Any
    backs: Any
    reduced: bool
    kinds: dict | None

    def is_iterated(self) -> bool:
        """Whether the kernel has parameters: the walk of the iterator."""
        return len(self.record) > 8 * (8 + len(self.layouts))


class MovementPlan(Plan):
    """A plan of a view: nothing is launched.

    Attributes:
        layout: of the operand.
        offset: in bytes from the operand's first element; a tuple for several results.
    """

    __slots__ = ("layout", "offset")
    layout: Layout
    offset: Any


def pack_record(
    address: int, units: int, grain: int, outs: int, codes: tuple[int, ...], flags: int, params: bytes = b"", shared_from: int = 0
) -> bytes:
    """Build ``Plan.record``.

    Raises:
        KernelError: more results and operands than a launch has pointers for.
    """
    if outs + len(codes) >= MOST_OPERANDS:
        raise KernelError(
            f"launch: {outs} results and {len(codes)} operands, expected fewer than {MOST_OPERANDS} together. "
            "Hint: compute it in steps."
        )
    return struct.pack(f"{8 + len(codes)}q", address, units, grain, outs, len(codes), flags, shared_from, 0, *codes) + params
