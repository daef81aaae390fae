"""Plans: kernel launches and views, prepared in the form that native code reads.

NOTE [Plan record]: ``Plan.record`` is a bytes object of int64 words: 0 address of the kernel, 1 units of work (-1: as many as
the first output has elements), 2 units that one thread claims at once, 3 number of outputs, 4 number of inputs, 5 flags (1: drop
the interpreter lock and use the pool; 2: late; 4: launches on a GPU, NOTE [Device records] of heaps.py), 6 elements from which
units of -1 imply the first flag, 7 spare, then one code an input (``NUMBER_CODES``; 0 is a tensor), then the kernel's own
parameters. A kernel is called as ``kernel(start, stop, args)`` with ``args`` = pointers to the parameters, the outputs, the inputs.

NOTE [Late records]: a plan may be made before its kernel is found (kernels/late.py). Its record, a ``LateRecord``, has no address
and the flag LATE, which native code meets where it looks for that of the pool: so nothing is asked in addition. The first launch
calls it with the plan, which gets its complete record.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ..base.errors import KernelError
from ..base.open_sizes import OPEN, is_open
from ..kernels.late import Code

if TYPE_CHECKING:
    from ..tensors.layout import Layout

__all__ = [
    "MOST_IN_TABLES",
    "MOST_OPERANDS",
    "NUMBER_CODES",
    "PARALLEL",
    "LATE",
    "ON_DEVICE",
    "DeviceRecord",
    "ElementwisePlan",
    "LateRecord",
    "MovementPlan",
    "OpenRecord",
    "Plan",
    "parameters_at",
    "complete",
    "is_on_device",
    "known",
    "pack_record",
    "taken_apart",
    "word_format",
]

MOST_OPERANDS = 128  # pointers of a launch: to its parameters, results and operands
MOST_IN_TABLES = 512  # the same of a ``TableWriter``
PARALLEL, LATE, ON_DEVICE = 1, 2, 4  # flags of a record
NEVER = 1 << 62  # more elements than there are
# How a Python number is stored for the kernel; integers of every width are read little-endian from an int64.
NUMBER_CODES = {
    "float32": 1,
    "float64": 2,
    "int64": 3,
    "int32": 3,
    "int16": 3,
    "int8": 3,
    "uint8": 3,
    "uint16": 3,
    "uint32": 3,
    "uint64": 3,
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


class LateRecord(bytes):
    """A record that lacks addresses: NOTE [Late records].

    Attributes:
        pack: ``pack()``, the complete record.
        packed: it, once somebody has asked.
        lacks: what stands at its beginning as if it were known: the kernel, the flags, and from when the pool is used.
        holes: whether the parameters, too, lack addresses.
    """

    pack: Callable[[], bytes]
    packed: bytes | None = None
    lacks: tuple[int | Code, int, int]
    holes: bool

    @classmethod
    def by(cls, content: bytes, pack: Callable[[], bytes], lacks: tuple[int | Code, int, int], holes: bool) -> LateRecord:
        """A record of which this much is known."""
        made = cls(content)
        made.pack, made.lacks, made.holes = pack, lacks, holes
        return made

    def complete(self) -> bytes:
        """The record, whose kernel is found now: the same object for all threads that find it at once.

        A plan is given it while another thread's kernel may be reading its parameters there, without the interpreter lock.
        """
        return self.packed or vars(self).setdefault("packed", self.pack())

    def __call__(self, plan: Plan) -> None:
        plan.record = self.complete()

    def __add__(self, more: Any) -> bytes:
        if self.packed is not None:
            return self.packed + more
        return LateRecord.by(bytes(self) + more, lambda: self.complete() + more, self.lacks, self.holes)


class DeviceRecord(bytes):
    """The record of launches on a GPU.

    Attributes:
        refused: ``refused(plan, code)``, called where a launch was not made: raises, or gives the plan another record.
        replaced: the record that the plan had before, which another thread may be reading.
    """

    refused: Callable[[Plan, int], None]
    replaced: bytes

    @classmethod
    def by(cls, content: bytes, refused: Callable[[Plan, int], None]) -> DeviceRecord:
        """A record and what to do where it fails."""
        made = cls(content)
        made.refused = refused
        return made


def is_on_device(record: bytes) -> bool:
    """Whether a record is one of launches on a GPU."""
    return record.lacks[1] == ON_DEVICE if type(record) is LateRecord else type(record) is DeviceRecord


def is_late(address: int | float | Code) -> bool:
    """Whether an address is yet to be found."""
    return type(address) is Code and address.found is None


def complete(record: bytes) -> bytes:
    """A record with the addresses that it may lack."""
    return record.complete() if type(record) is LateRecord else record


def known(record: bytes) -> bytes:
    """A record with the addresses that it lacks, if somebody has found them meanwhile."""
    return record.packed or record if type(record) is LateRecord else record


def taken_apart(plan: Plan) -> tuple[Any, Any, tuple[Any, ...]]:
    """The kernel of a launch, found now, its units of work, and the kernel's own parameters."""
    record = plan.record
    if isinstance(record, OpenRecord):
        kernel, units, parameters = record.given[0], record.given[1], tuple(record.given[6])
    else:
        words = struct.unpack(f"{len(record) // 8}q", complete(record))
        kernel, units, parameters = words[0], words[1], words[8 + words[4] :]
    return kernel, plan.outs[0].layout.numel if units == -1 else units, parameters


def parameters_at(record: bytes, at: int) -> bytes | Callable[[], bytes]:
    """A record's parameters, which begin there; a function that gives them if they lack addresses."""
    return (lambda: complete(record)[at:]) if type(record) is LateRecord and record.holes else bytes(record[at:])


class OpenRecord:
    """A record of sizes that are open: what is to be packed, as ``pack_record`` was given it. There are no bytes to be read."""

    __slots__ = ("given",)

    def __init__(self, *given: Any):
        self.given = given


def word_format(words: Sequence[Any]) -> str:
    """How ``struct`` packs words of eight bytes."""
    return "".join(["d" if type(x) is float else "q" for x in words]) if float in map(type, words) else f"{len(words)}q"


def pack_record(
    address: int | Code,
    units: int,
    grain: int,
    outs: int,
    codes: tuple[int, ...],
    flags: int,
    params: bytes | Sequence[int | float | Code] = b"",
    shared_from: int = 0,
    most: int = MOST_OPERANDS,
) -> bytes:
    """Build ``Plan.record``.

    Args:
        address: of the kernel; where it is a ``Code`` that nobody has found yet, the record is late.
        params: the kernel's own, as words; a float is one of double precision. As bytes where they depend on no size.
        most: results and operands together are fewer.

    Raises:
        KernelError: more results and operands than a launch has pointers for.
    """
    if outs + len(codes) >= most:
        raise KernelError(
            f"launch: {outs} results and {len(codes)} operands, expected fewer than {most} together. Hint: compute it in steps."
        )
    words: Sequence[int | float | Code] = () if isinstance(params, bytes) else params
    if OPEN and any(map(is_open, (units, grain, flags, shared_from, *words))):
        words = words or struct.unpack(f"{len(params) // 8}q", params)  # type: ignore[arg-type]
        return OpenRecord(address, units, grain, outs, codes, flags, words, shared_from)  # type: ignore[return-value]
    tail = params if isinstance(params, bytes) else b""
    pack = struct.Struct(f"{8 + len(codes)}q{word_format(words)}").pack
    given = units, grain, outs, len(codes)
    if not (is_late(address) or words and any(map(is_late, words))):
        return pack(address, *given, flags, shared_from, 0, *codes, *words) + tail
    known = [0 if type(x) is Code else x for x in words]
    return LateRecord.by(
        pack(0, *given, LATE, NEVER, 0, *codes, *known) + tail,
        lambda: pack(address, *given, flags, shared_from, 0, *codes, *words) + tail,
        (address, flags, shared_from),
        known != [*words],
    )
