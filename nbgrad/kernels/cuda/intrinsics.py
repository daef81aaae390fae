"""What the names in a template mean to a GPU: registers of thread and block, barrier, shuffles, shared memory, index arithmetic.

Barriers and shuffles are marked convergent: no pass may move them into a branch or out of one.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any, Iterable

from llvmlite import ir

from ..compiler import kinds
from ..compiler.arithmetic import Builder, Value, convert, ir_of, kind_of
from ..compiler.expressions import Namespace, Primitive
from ..compiler.kinds import CPointer, Float, Kind
from ..prims import declare
from .access import Access, compute_dtype
from .memory import change_of, load_of, note_first, store_of

__all__ = ["GLOBAL", "SHARED", "greatest", "index_arithmetic", "low_word", "pointer_to", "popcount", "ptx_names"]

I16, I32, I64 = map(ir.IntType, (16, 32, 64))
GLOBAL, SHARED = 1, 3  # LLVM's numbers of a GPU's memories
WHOLE_WARP = -1
LAST_LANE = 31


def ptx_names(dtype: str, accesses: Iterable[Access], state: tuple[str, ...] = ()) -> dict[str, Any]:
    """All names of a template that computes in ``dtype`` which are no primitives of numbers."""
    compute = compute_dtype(dtype)
    return {
        "cuda": machine(),
        "note_error": Primitive(note_first),
        "pointer_of": Primitive(pointer_to(GLOBAL)),
        "greatest": Primitive(greatest),
        "near_reciprocal": Primitive(partial(nearly, "rcp")),
        "near_reciprocal_root": Primitive(partial(nearly, "rsqrt")),
        **index_arithmetic(multiply_high),
        "product_of_words": Primitive(multiply_wide),
        "float_of_word": Primitive(float_of_word),
        **{a.name: access(a, a.compute(compute)) for a in accesses},
        **{f"STATE{s}": getattr(kinds, name) for s, name in enumerate(state)},
    }


def pointer_to(space: int) -> Any:
    """``pointer_of(word)``: the address that a word of a table is, of memory in that space; accesses cast it."""

    def pointer_of(b: Builder, word: Value) -> Value:
        kind = kinds.CPointer(kinds.uint8, space)
        return Value(kind, b.inttoptr(word.ir, kind.llvm))

    return pointer_of


def access(access: Access, compute: str) -> Primitive:
    """A load or store."""
    if access.direction == "load":
        return load_of(access, compute, hold)
    return (store_of if access.direction == "store" else change_of)(access, compute, narrow_bfloat16)


def machine() -> Namespace:
    """``cuda``: the part of ``numba.cuda`` that kernels may use."""
    numbers = count()

    def dimensions(register: str) -> Namespace:
        return Namespace(**{axis: special_register(f"llvm.nvvm.read.ptx.sreg.{register}.{axis}") for axis in "xyz"})

    def array(b: Builder, size: int, kind: Kind) -> Value:
        """Memory that a block shares."""
        whole = ir.ArrayType(kind.llvm, int(size))
        made = ir.GlobalVariable(b.module, whole, f"shared{next(numbers)}", addrspace=SHARED)
        made.linkage, made.initializer, made.align = "internal", ir.Constant(whole, ir.Undefined), 8
        zero = ir.Constant(I32, 0)
        return Value(CPointer(kind, SHARED), b.gep(made, [zero, zero]))

    return Namespace(
        threadIdx=dimensions("tid"),
        blockIdx=dimensions("ctaid"),
        blockDim=dimensions("ntid"),
        gridDim=dimensions("nctaid"),
        syncthreads=Primitive(barrier),
        syncwarp=Primitive(warp_barrier),
        shfl_down_sync=Primitive(shuffle_down),
        shfl_xor_sync=Primitive(shuffle_xor),
        shfl_up_sync=Primitive(shuffle_up),
        match_bits=Primitive(match_bits),
        ballot=Primitive(ballot),
        popcount=Primitive(popcount),
        shared=Namespace(array=Primitive(array)),
    )


def special_register(name: str) -> Primitive:
    """A number of the thread or its block, as int64."""

    def read(b: Builder) -> Value:
        found = b.call(declare(b.module, ir.FunctionType(I32, []), name), [])
        return Value(kinds.int64, b.zext(found, I64))

    return Primitive(read, read=True)


def convergent(b: Builder, kind: Any, name: str, operands: list[Any]) -> Any:
    """A call that all threads of a warp or block make together."""
    function = declare(b.module, ir.FunctionType(kind, [each.type for each in operands]), name)
    function.attributes.add("convergent")
    return b.call(function, operands, attrs=("convergent",))


def barrier(b: Builder) -> None:
    """Wait for all threads of the block."""
    convergent(b, ir.VoidType(), "llvm.nvvm.barrier.cta.sync.aligned.all", [ir.Constant(I32, 0)])


def warp_barrier(b: Builder) -> None:
    """Wait for all threads of the warp, all of which must come here; in emulation for those of the block."""
    convergent(b, ir.VoidType(), "llvm.nvvm.bar.warp.sync", [ir.Constant(I32, WHOLE_WARP)])


def shuffle_down(b: Builder, mask: int, value: Any, distance: int) -> Value:
    """The value of the thread ``distance`` lanes on in the warp; its own where there is none."""
    return shuffled(b, "down", value, distance, LAST_LANE)


def shuffle_xor(b: Builder, mask: int, value: Any, bits: int) -> Value:
    """The value of the thread of the warp whose number differs in these bits."""
    return shuffled(b, "bfly", value, bits, LAST_LANE)


def shuffle_up(b: Builder, mask: int, value: Any, distance: int) -> Value:
    """The value of the thread ``distance`` lanes before in the warp; its own where there is none."""
    return shuffled(b, "up", value, distance, 0)


def shuffled(b: Builder, how: str, value: Any, distance: int, last: int) -> Value:
    """The value of another thread of the warp, none of which is beyond the lane ``last``."""
    kind = kind_of(value)
    width = kind.bitwidth  # type: ignore[attr-defined]
    bits, lanes = b.bitcast(ir_of(value, kind), ir.IntType(width)), ir.Constant(I32, int(distance))

    def moved(word: Any) -> Any:
        operands = [ir.Constant(I32, WHOLE_WARP), word, lanes, ir.Constant(I32, last)]
        return convergent(b, I32, f"llvm.nvvm.shfl.sync.{how}.i32", operands)

    if width == 32:
        found = moved(bits)
    else:
        half = ir.Constant(I64, 32)
        low, high = moved(b.trunc(bits, I32)), moved(b.trunc(b.lshr(bits, half), I32))
        found = b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), half))
    return Value(kind, b.bitcast(found, kind.llvm) if isinstance(kind, Float) else found)


def greatest(b: Builder, x: Any, y: Any) -> Value:
    """The greater of two floats; NaN wins. One instruction."""
    kind = kind_of(x)
    operands = [ir_of(convert(b, each, kind), kind) for each in (x, y)]
    name = "llvm.maximum.f32" if kind is kinds.float32 else "llvm.maximum.f64"
    return Value(kind, b.call(declare(b.module, ir.FunctionType(kind.llvm, [kind.llvm] * 2), name), operands))


def nearly(function: str, b: Builder, x: Any) -> Value:
    """1 / x of a normal float32, or of its root, but for the last bit."""
    kind = ir.FunctionType(ir.FloatType(), [ir.FloatType()])
    return Value(kinds.float32, b.call(declare(b.module, kind, f"llvm.nvvm.{function}.approx.ftz.f"), [ir_of(x, kinds.float32)]))


def votes_for(b: Builder, own: Any) -> Any:
    """A bit for each lane of the warp."""
    return convergent(b, I32, "llvm.nvvm.vote.ballot.sync", [ir.Constant(I32, WHOLE_WARP), own])


def ballot(b: Builder, truth: Any) -> Value:
    """The lanes of the warp for which something is true: a bit for each."""
    return Value(kinds.int64, b.zext(votes_for(b, ir_of(convert(b, truth, kinds.boolean), kinds.boolean)), I64))


def match_bits(b: Builder, value: Any, bits: int) -> Value:
    """The lanes of the warp that have the same integer of so few bits that a ballot for each takes less time: a bit for each."""
    word, found = low_word(b, value), ir.Constant(I32, WHOLE_WARP)
    for k in range(bits):
        own = b.trunc(b.lshr(word, ir.Constant(I32, k)), ir.IntType(1))
        found = b.and_(found, b.xor(votes_for(b, own), b.select(own, ir.Constant(I32, 0), ir.Constant(I32, -1))))
    return Value(kinds.int64, b.zext(found, I64))


def popcount(b: Builder, lanes: Any) -> Value:
    """How many bits are set in 32 of them."""
    found = b.call(declare(b.module, ir.FunctionType(I32, [I32]), "llvm.ctpop.i32"), [low_word(b, lanes)])
    return Value(kinds.int64, b.zext(found, I64))


def hold(b: Builder, words: Any) -> Any:
    """The words of a vector behind no instruction at all."""
    count = words.type.count
    places = [ir.Constant(I32, k) for k in range(count)]
    single = [b.extract_element(words, place) for place in places]
    operands, results = ",".join(map(str, range(count))), ",".join(["=r"] * count)
    kind = ir.FunctionType(ir.LiteralStructType([I32] * count), [I32] * count)
    same = b.call(ir.InlineAsm(kind, "", f"{results},{operands}"), single)
    for k, place in enumerate(places):
        words = b.insert_element(words, b.extract_value(same, k), place)
    return words


def narrow_bfloat16(b: Builder, real: Any) -> Any:
    """One instruction from sm_80 on, without a side effect: the optimiser may move it."""
    return b.call(ir.InlineAsm(ir.FunctionType(I16, [ir.FloatType()]), "cvt.rn.bf16.f32 $0, $1;", "=h,f"), [real])


# ---- index arithmetic --------------------------------------------------------------------------------------------------
# Integers are computed in 64 bits, and LLVM does not always find its way back. What must stay in 32 bits is spelled in
# instructions of 32 bits.


def index_arithmetic(high_word: Any) -> dict[str, Primitive]:
    """``where_index``, ``divide_by_magic``, and of 32 bits ``multiply_add_i32`` and ``byte_of_word``; ``moved``.

    Args:
        high_word: ``high_word(builder, x, y)``, the upper 32 bits of a product.
    """

    def where_index(b: Builder, c: Any, i: Any, j: Any) -> Value:
        """``where`` for indices, which are int64 in a kernel of any dtype."""
        chosen = [ir_of(convert(b, each, kinds.int64), kinds.int64) for each in (i, j)]
        return Value(kinds.int64, b.select(ir_of(convert(b, c, kinds.boolean), kinds.boolean), *chosen))

    def divide_by_magic(b: Builder, i: Any, magic: Any, shift: Any) -> Value:
        """The high word of i * magic, shifted, in place of a division."""
        i, magic, shift = (low_word(b, each) for each in (i, magic, shift))
        return Value(kinds.int32, b.lshr(high_word(b, i, magic), shift))

    def multiply_add_i32(b: Builder, x: Any, y: Any, z: Any) -> Value:
        """x * y + z in 32 bits."""
        x, y, z = (low_word(b, each) for each in (x, y, z))
        return Value(kinds.int32, b.add(b.mul(x, y), z))

    def byte_of_word(b: Builder, x: Any, shift: Any) -> Value:
        """Eight of the lower 32 bits."""
        return Value(kinds.int32, b.and_(b.lshr(low_word(b, x), low_word(b, shift)), ir.Constant(I32, 255)))

    def moved(b: Builder, pointer: Value, i: Any) -> Value:
        """The pointer to what is ``i`` elements on."""
        return Value(pointer.kind, b.gep(pointer.ir, [ir_of(convert(b, i, kinds.int64), kinds.int64)]))

    made = where_index, divide_by_magic, multiply_add_i32, byte_of_word, moved
    return {each.__name__: Primitive(each) for each in made}


def multiply_high(b: Builder, x: Any, y: Any) -> Any:
    """mul.hi.u32."""
    return b.call(declare(b.module, ir.FunctionType(I32, [I32, I32]), "llvm.nvvm.mulhi.ui"), [x, y])


def multiply_wide(b: Builder, x: Any, y: Any) -> Value:
    """mul.wide.u32, which LLVM does not find where 64 bits are known to be of words."""
    code = ir.InlineAsm(ir.FunctionType(I64, [I32, I32]), "mul.wide.u32 $0, $1, $2;", "=l,r,r")
    return Value(kinds.int64, b.call(code, [low_word(b, x), low_word(b, y)]))


def float_of_word(b: Builder, x: Any) -> Value:
    """32 bits as a float32: of 64 the conversion takes sixteen times as long."""
    return Value(kinds.float32, b.uitofp(low_word(b, x), ir.FloatType()))


def low_word(b: Builder, value: Any) -> Any:
    """An integer's lower 32 bits."""
    found = ir_of(convert(b, value, kinds.int64 if not isinstance(value, Value) else value.kind))
    return found if found.type == I32 else b.trunc(found, I32)
