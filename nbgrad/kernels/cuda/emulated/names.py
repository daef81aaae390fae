"""What the names in a template mean to this processor: words of a machine, calls of its scheduler, accesses that are looked at."""

from __future__ import annotations

from typing import Any, Callable, Iterable

from llvmlite import ir

from ....base.errors import KernelError
from ...compiler import kinds
from ...compiler.arithmetic import Builder, Value, convert, ir_of, kind_of
from ...compiler.expressions import Namespace, Primitive
from ...compiler.kinds import Float, Kind, Pointer
from ...prims import declare
from ..access import Access, compute_dtype
from ..intrinsics import float_of_word, greatest, index_arithmetic, low_word, pointer_to, popcount
from ..memory import change_of, load_of, note_first, store_of
from ..templates import WARP
from .limits import SHARED_LIMIT
from .words import BARRIER, BLOCK, CHECK, GRID, MATCHES, SHARED, SHUFFLE, THREAD, THREADS

__all__ = ["Needs", "emulated_names"]

I16, I32, I64 = map(ir.IntType, (16, 32, 64))
READS, WRITES, CHANGES = 0, 1, 2
HOW = {"load": READS, "store": WRITES}


class Needs:
    """What a kernel needs of a block.

    Attributes:
        used: bytes of shared memory.
        meets: whether its threads wait for each other.
    """

    def __init__(self) -> None:
        self.used, self.meets = 0, False

    def take(self, nbytes: int) -> int:
        """Where an array begins.

        Raises:
            KernelError: there is not so much.
        """
        first = -(-self.used // 8) * 8
        self.used = first + nbytes
        if self.used > SHARED_LIMIT:
            raise KernelError(
                f"cuda: {self.used} bytes of shared memory in a block, expected {SHARED_LIMIT} or less. Hint: take less."
            )
        return first


def emulated_names(dtype: str, accesses: Iterable[Access], state: tuple[str, ...], needs: Needs, checked: bool) -> dict[str, Any]:
    """All names of a template that computes in ``dtype`` which are no primitives of numbers.

    Args:
        needs: is told what the kernel needs; ``checked``: whether each access is looked at.
    """
    compute = compute_dtype(dtype)
    return {
        "cuda": machine(needs, checked),
        "note_error": Primitive(noted(checked)),
        "pointer_of": Primitive(pointer_to(0)),
        "greatest": Primitive(greatest),
        "near_reciprocal": Primitive(near_reciprocal),
        "near_reciprocal_root": Primitive(near_reciprocal_root),
        **index_arithmetic(high_word),
        "product_of_words": Primitive(multiply_wide),
        "float_of_word": Primitive(float_of_word),
        **{a.name: access(a, a.compute(compute), checked) for a in accesses},
        **{f"STATE{s}": getattr(kinds, name) for s, name in enumerate(state)},
    }


def access(access: Access, compute: str, checked: bool) -> Primitive:
    """A load or store behind a look at it."""
    how = HOW.get(access.direction, CHANGES)
    of = store_of if how == WRITES else change_of
    made = load_of(access, compute) if how == READS else of(access, compute, narrow_bfloat16)
    if not checked:
        return made

    def looked_at(b: Builder, pointer: Value, index: Any, *elements: Any) -> Any:
        place = b.add(
            b.ptrtoint(pointer.ir, I64), b.mul(ir_of(convert(b, index, kinds.int64), kinds.int64), ir.Constant(I64, access.nbytes))
        )
        allowed = b.inttoptr(look(b, place, access.nbytes, how), pointer.ir.type)
        return made.emit(b, Value(pointer.kind, allowed), 0, *elements)

    return Primitive(looked_at)


def look(b: Builder, place: Any, nbytes: int, how: int) -> Any:
    """The address to use in the place of one that a thread is about to touch."""
    return call(b, CHECK, [machine_of(b), place, ir.Constant(I64, nbytes), ir.Constant(I64, how)])


def noted(checked: bool) -> Callable:
    """``note_error``, which looks at where it writes."""

    def note(b: Builder, errors: Value, number: Any, element: Any) -> None:
        place = b.ptrtoint(errors.ir, I64)
        for k in (0, 1) if checked else ():
            place = b.sub(look(b, b.add(place, ir.Constant(I64, 8 * k)), 8, CHANGES), ir.Constant(I64, 8 * k))
        note_first(b, Value(errors.kind, b.inttoptr(place, errors.ir.type)), number, element)

    return note


class SharedPointer(Pointer):
    """The address of elements in shared memory, each access to which is looked at."""

    def reached(self, b: Builder, address: Any, writes: bool) -> Any:
        """The address to use in the place of one."""
        width = self.dtype.bitwidth // 8  # type: ignore[attr-defined]
        return b.inttoptr(look(b, b.ptrtoint(address, I64), width, WRITES if writes else READS), address.type)


def machine(needs: Needs, checked: bool) -> Namespace:
    """``cuda``: the part of ``numba.cuda`` that kernels may use."""

    def array(b: Builder, size: int, kind: Kind) -> Value:
        """Memory that a block shares."""
        first = needs.take(int(size) * kind.bitwidth // 8)  # type: ignore[attr-defined]
        place = b.add(word(b, SHARED), ir.Constant(I64, first))
        made = SharedPointer(kind) if checked else kinds.CPointer(kind)
        return Value(made, b.inttoptr(place, kind.llvm.as_pointer()))

    def meeting(emit: Callable) -> Callable:
        """What threads do together."""

        def noted(*operands: Any) -> Any:
            needs.meets = True
            return emit(*operands)

        return noted

    def number(place: int) -> Primitive:
        return Primitive(lambda b: Value(kinds.int64, word(b, place)), read=True)

    def three(first: int) -> Namespace:
        return Namespace(**{axis: number(first + k) for k, axis in enumerate("xyz")})

    return Namespace(
        threadIdx=Namespace(x=number(THREAD)),
        blockDim=Namespace(x=number(THREADS)),
        blockIdx=three(BLOCK),
        gridDim=three(GRID),
        syncthreads=Primitive(meeting(barrier)),
        syncwarp=Primitive(meeting(barrier)),
        shfl_down_sync=Primitive(meeting(shuffle_down)),
        shfl_xor_sync=Primitive(meeting(shuffle_xor)),
        shfl_up_sync=Primitive(meeting(shuffle_up)),
        match_bits=Primitive(meeting(match_bits)),
        ballot=Primitive(meeting(ballot)),
        popcount=Primitive(popcount),
        shared=Namespace(array=Primitive(array)),
    )


def machine_of(b: Builder) -> Any:
    """The address of the machine that a thread runs on: the first operand of its function."""
    return b.function.args[0]


def word(b: Builder, place: int) -> Any:
    """A word of the machine."""
    return b.load(b.gep(b.inttoptr(machine_of(b), I64.as_pointer()), [ir.Constant(I64, place)]))


def call(b: Builder, place: int, operands: list[Any]) -> Any:
    """A call of the function at the address that a word of the machine is."""
    kind = ir.FunctionType(I64, [I64] * len(operands))
    return b.call(b.inttoptr(word(b, place), kind.as_pointer()), operands)


def barrier(b: Builder) -> None:
    """Wait for all threads of the block."""
    call(b, BARRIER, [machine_of(b)])


def shuffle_xor(b: Builder, mask: int, value: Any, bits: int) -> Value:
    """The value of the thread of the warp whose number differs in these bits."""
    return shuffled(b, value, WARP + int(bits))


def shuffle_down(b: Builder, mask: int, value: Any, distance: int) -> Value:
    """The value of the thread ``distance`` lanes on in the warp; its own where there is none."""
    return shuffled(b, value, int(distance))


def shuffle_up(b: Builder, mask: int, value: Any, distance: int) -> Value:
    """The value of the thread ``distance`` lanes before in the warp; its own where there is none."""
    return shuffled(b, value, MATCHES - int(distance))


def shuffled(b: Builder, value: Any, distance: int) -> Value:
    """What the scheduler gives for a value: NOTE [Distances] of ``words.py``."""
    kind = kind_of(value)
    bits = b.bitcast(ir_of(value, kind), ir.IntType(kind.bitwidth))  # type: ignore[attr-defined]
    wide = bits if bits.type == I64 else b.zext(bits, I64)
    found = call(b, SHUFFLE, [machine_of(b), wide, ir.Constant(I64, distance)])
    found = found if bits.type == I64 else b.trunc(found, bits.type)
    return Value(kind, b.bitcast(found, kind.llvm) if isinstance(kind, Float) else found)


def near_reciprocal(b: Builder, x: Any) -> Value:
    """1 / x."""
    return Value(kinds.float32, b.fdiv(ir.Constant(ir.FloatType(), 1.0), ir_of(x, kinds.float32)))


def near_reciprocal_root(b: Builder, x: Any) -> Value:
    """1 / sqrt(x)."""
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
    return near_reciprocal(b, Value(kinds.float32, b.call(declare(b.module, kind, "llvm.sqrt.f32"), [ir_of(x, kinds.float32)])))


def match_bits(b: Builder, value: Any, bits: int) -> Value:
    """The lanes of the warp that have the same integer of so few bits: a bit for each."""
    word = b.zext(low_word(b, value), I64)
    return Value(kinds.int64, call(b, SHUFFLE, [machine_of(b), word, ir.Constant(I64, MATCHES)]))


def ballot(b: Builder, truth: Any) -> Value:
    """The lanes of the warp for which something is true: a bit for each."""
    own = ir_of(convert(b, truth, kinds.boolean), kinds.boolean)
    same = call(b, SHUFFLE, [machine_of(b), b.zext(own, I64), ir.Constant(I64, MATCHES)])
    return Value(kinds.int64, b.select(own, same, b.xor(same, ir.Constant(I64, 0xFFFFFFFF))))


def high_word(b: Builder, x: Any, y: Any) -> Any:
    """The upper 32 bits of a product."""
    return b.trunc(b.lshr(b.mul(b.zext(x, I64), b.zext(y, I64)), ir.Constant(I64, 32)), I32)


def multiply_wide(b: Builder, x: Any, y: Any) -> Value:
    """64 bits of a product of 32 each."""
    return Value(kinds.int64, b.mul(b.zext(low_word(b, x), I64), b.zext(low_word(b, y), I64)))


def narrow_bfloat16(b: Builder, real: Any) -> Any:
    """The nearest bfloat16, to even between two; of NaN the one that GPUs make."""
    bits = b.bitcast(real, I32)
    odd = b.and_(b.lshr(bits, ir.Constant(I32, 16)), ir.Constant(I32, 1))
    rounded = b.lshr(b.add(bits, b.add(odd, ir.Constant(I32, 0x7FFF))), ir.Constant(I32, 16))
    return b.trunc(b.select(b.fcmp_unordered("uno", real, real), ir.Constant(I32, 0x7FFF), rounded), I16)
