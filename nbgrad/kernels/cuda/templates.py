"""Elementwise kernel templates: the loops around a scalar function, as plain Python source.

A template is text because Numba has no variadic pointers and unrolls nothing on request; the text goes through
``linecache``, so that tracebacks, pdb and typing errors show it. Its free names are bound by ``instantiate``:

    scalar                    the scalar function: one value for every input, one result (or a tuple) for the outputs
    cuda                      what ``numba.cuda`` has, of the target: see intrinsics.py and simt.py
    load_float32x4, ...       see access.py
    divide, multiply_add      index arithmetic; see ``strided``

NOTE [Kernel parameters]: pointers first (outputs, then inputs), then operands by value in the compute dtype (a real one
in a complex kernel: complex numbers lie in memory), then int64 counts; some have a table of int64 behind these, which they read
as they read an array, and of whose words ``pointer_of`` makes pointers. One launch path serves every kernel.

NOTE [Launch shape]: a block is always ``BLOCK`` threads and owns one tile; there are no grid-stride loops. (A loop with
a stride known only at run time is worse than it looks: LLVM unrolls it and computes the trip count with a 64-bit
division.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Callable, Iterable, NamedTuple, Sequence

from ...base.dtypes import COMPLEX, dtype_of
from ...base.errors import KernelError
from ..texts import late_text, ready
from .access import Access, Function, value_dtype, vector_lanes

__all__ = [
    "BLOCK",
    "Template",
    "Operand",
    "arguments_of",
    "array",
    "single",
    "repeated",
    "across",
    "value",
    "number",
    "pair",
    "elementwise",
    "elementwise_grid",
    "accumulate",
    "strided",
    "strided_args",
    "strided_grid",
    "collapse",
    "index_source",
]

BLOCK = 256  # threads a block; known at compile time, so that strides and bounds fold
WARP = 32
WARPS = BLOCK // WARP
IN_MEMORY = ("array", "single", "repeated", "across")  # operands that pointers are to


@dataclass(frozen=True, eq=False)
class Template:
    """A kernel without its scalar function.

    Attributes:
        name: also the first part of the kernel's symbol.
        function: its source, compiled, with names still unbound.
        pointers: what each pointer parameter points to (names of dtypes).
        values: how many operands are passed by value.
        accesses: what the source calls to touch memory.
        traffic: accesses that a thread is promised to issue; ``gates`` counts them in the PTX.
        index_bits: 32 where indices must stay in 32-bit arithmetic, 64 where they may divide.
        state: dtypes of a reduction's accumulators.
        resident: blocks that a multiprocessor is to hold at least; 0: as many as other kernels of the dtype.
        table: words of its last parameter, a table; 0 where there is none.
    """

    name: str
    function: Function
    pointers: tuple[str, ...]
    values: int = 0
    accesses: frozenset[Access] = frozenset()
    traffic: Counter = field(default_factory=Counter)
    index_bits: int = 32
    state: tuple[str, ...] = ()
    resident: int = 0
    table: int = 0

    @property
    def integers(self) -> int:
        """How many int64 parameters follow."""
        return ready(self.function).__code__.co_argcount - len(self.pointers) - self.values - (self.table > 0)


def arguments_of(template: Template, dtype: str, args: Sequence) -> tuple[list, list, list[int]]:
    """A kernel's arguments by their kinds: memory, numbers of the kernel's dtype, counts.

    Raises:
        KernelError: they do not fit the parameters.
    """
    pointers, values = len(template.pointers), template.values
    if len(args) != pointers + values + template.integers:
        raise KernelError(
            f"{template.name}: {len(args)} arguments, expected {pointers} pointers, {values} values and {template.integers} counts."
        )
    for k, (memory, name) in enumerate(zip(args, template.pointers)):
        found = dtype_of(str(memory.dtype)).name
        if found != name and {found, name} != {"bool", "uint8"}:
            raise KernelError(f"{template.name}: pointer {k} is to {found}, expected {name}.")
    numbers = [dtype_of(value_dtype(dtype)).numpy.type(v) for v in args[pointers : pointers + values]]
    return list(args[:pointers]), numbers, [int(n) for n in args[pointers + values :]]


class Operand(NamedTuple):
    """An input of an elementwise kernel; made by ``array``, ``single``, ``repeated``, ``across``, ``value`` and ``pair``."""

    dtype: str
    kind: str


def array(dtype: str) -> Operand:
    """A tensor with as many elements as the output."""
    return Operand(dtype, "array")


def single(dtype: str) -> Operand:
    """One element in device memory for all outputs: an expanded scalar, read once by every thread."""
    return Operand(dtype, "single")


def repeated(dtype: str) -> Operand:
    """A tensor of a strided kernel with one element for all of a vector: broadcast along the innermost dimension."""
    return Operand(dtype, "repeated")


def across(dtype: str) -> Operand:
    """A tensor of a kernel by tiles whose neighbours in memory are not the result's: ``turned.py``."""
    return Operand(dtype, "across")


def value(dtype: str) -> Operand:
    """A Python number, passed by value in the compute dtype."""
    if dtype == "bool":
        raise KernelError("value: a truth value cannot be passed by value. Hint: pass it as int64, or as a single.")
    if dtype_of(dtype).category == COMPLEX:
        raise KernelError(f"value: a {dtype} cannot be passed as one value. Hint: pass it as a pair.")
    return Operand(dtype, "value")


def pair(dtype: str) -> Operand:
    """A complex number, passed as two real ones by value."""
    if dtype_of(dtype).category != COMPLEX:
        raise KernelError(f"pair: {dtype} is no complex dtype. Hint: pass it as a value.")
    return Operand(dtype, "pair")


def number(dtype: str) -> Operand:
    """A Python number, passed as kernels of its dtype take one.

    >>> number("bfloat16").kind, number("complex64").kind
    ('value', 'pair')
    """
    return pair(dtype) if dtype_of(dtype).category == COMPLEX else value(dtype)


@dataclass(frozen=True)
class Signature:
    """The operands of one kernel, and the source that their access takes.

    Attributes:
        inputs: in the scalar function's order.
        outputs: dtypes of the results in its order.
        into: the first ``len(into)`` outputs overwrite these inputs and have no pointer of their own.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[str, ...]
    into: tuple[int, ...] = ()

    def __post_init__(self):
        for j, k in enumerate(self.into):
            if self.inputs[k] != array(self.outputs[j]):
                raise KernelError(
                    f"elementwise: output {j} ({self.outputs[j]}) cannot overwrite input {k} "
                    f"{tuple(self.inputs[k])}. Hint: it must be an array of the same dtype."
                )

    @property
    def label(self) -> str:
        marks = {"array": "", "single": "s", "repeated": "r", "across": "t", "value": "v", "pair": "p"}
        inputs = [x.dtype + marks[x.kind] for x in self.inputs]
        return "_".join([*inputs, "to", *self.outputs, *(f"into{k}" for k in self.into)])

    @property
    def targets(self) -> list[str]:
        """Names of the pointers that results are stored through."""
        return [f"x{k}" for k in self.into] + [f"out{j}" for j in range(len(self.into), len(self.outputs))]

    @property
    def pointers(self) -> dict[str, str]:
        """``{name: dtype}`` of the pointer parameters."""
        outputs = {f"out{j}": self.outputs[j] for j in range(len(self.into), len(self.outputs))}
        return outputs | {f"x{k}": x.dtype for k, x in self._inputs(*IN_MEMORY)}

    @property
    def values(self) -> list[str]:
        """Names of the parameters passed by value."""
        names = ((f"x{k}",) if x.kind == "value" else (f"x{k}_re", f"x{k}_im") for k, x in self._inputs("value", "pair"))
        return [name for each in names for name in each]

    def accesses(self, lanes: int) -> frozenset[Access]:
        """Every access that the source may call, vectors and scalars."""
        loads = {Access("load", x.dtype, w) for _, x in self._inputs(*IN_MEMORY) for w in (1, lanes)}
        return frozenset(loads | {Access("store", dtype, w) for dtype in self.outputs for w in (1, lanes)})

    def traffic(self, lanes: int, vectors: int) -> Counter:
        """What a thread that owns ``vectors`` vectors loads and stores."""
        loads = [Access("load", x.dtype, lanes) for _, x in self._inputs("array")]
        return Counter([*loads, *(Access("store", dtype, lanes) for dtype in self.outputs)] * vectors)

    def load_singles(self) -> list[str]:
        """Lines for the inputs that are the same for all elements."""
        pairs = [f"x{k} = complex(x{k}_re, x{k}_im)" for k, _ in self._inputs("pair")]
        return pairs + [f"x{k}_single = {Access('load', x.dtype).name}(x{k}, 0)" for k, x in self._inputs("single")]

    def body(self, lanes: int, places: Sequence[Callable[[str], str]], names: str = "") -> list[str]:
        """Lines that load a vector at every place, then compute, then store; a place maps a pointer to an index.

        Args:
            names: of the variables begin so: those of vectors and those of single elements are other ones.
        """
        loads, rest = self.parts(lanes, places, names)
        return loads + rest

    def parts(self, lanes: int, places: Sequence[Callable[[str], str]], names: str = "") -> tuple[list[str], list[str]]:
        """The lines that load, and those that compute and store; who calls it loads operands ``across``."""
        loads = [
            f"{names}x{k}_{u} = {Access('load', x.dtype, lanes if x.kind == 'array' else 1).name}(x{k}, {place(f'x{k}')})"
            for u, place in enumerate(places)
            for k, x in self._inputs("array", "repeated")
        ]
        results = [
            f"{', '.join(self._results(u, lane, names))} = scalar({', '.join(self._arguments(u, lane, lanes, names))})"
            for u in range(len(places))
            for lane in range(lanes)
        ]
        targets = list(enumerate(zip(self.targets, self.outputs)))
        stores = [
            f"{Access('store', dtype, lanes).name}({target}, {place(target)}, {self._vector(j, u, lanes, names)})"
            for u, place in enumerate(places)
            for j, (target, dtype) in targets
        ]
        return loads, results + stores

    def _inputs(self, *kinds):
        return [(k, x) for k, x in enumerate(self.inputs) if x.kind in kinds]

    def _results(self, u, lane, names):
        return [f"{names}r{u}_{lane}_{j}" for j in range(len(self.outputs))]

    def _vector(self, j, u, lanes, names):
        parts = [f"{names}r{u}_{lane}_{j}" for lane in range(lanes)]
        return parts[0] if lanes == 1 else f"({', '.join(parts)})"

    def _arguments(self, u, lane, lanes, names):
        suffixes = {"array": f"_{u}" + (f"[{lane}]" if lanes > 1 else ""), "single": "_single", "value": "", "pair": ""}
        suffixes["repeated"] = suffixes["across"] = f"_{u}"
        own = ("array", "repeated", "across")
        return [f"{names if x.kind in own else ''}x{k}{suffixes[x.kind]}" for k, x in enumerate(self.inputs)]


@cache
def elementwise(
    inputs: tuple[Operand, ...], outputs: tuple[str, ...], into: tuple[int, ...] = (), lanes: int | None = None, unroll: int = 1
) -> Template:
    """outputs[i] = scalar(inputs[i]) on contiguous data: arithmetic, casts, fills, fused forward and backward kernels.

    Args:
        inputs, outputs, into: see ``Signature``; an output's pointer may also equal that of an input of its dtype.
        lanes: elements of a vector access; by default the widest dtype fills 16 bytes. 1 for misaligned data.
        unroll: vectors that a thread owns; it issues all its loads before the first store.

    Integer parameters: ``n``, the number of elements. Launch ``elementwise_grid`` blocks; only the last tile takes the
    scalar path.
    """
    signature = Signature(inputs, outputs, into)
    lanes = lanes or vector_lanes([*(x.dtype for x in inputs if x.kind == "array"), *outputs])
    name, tile = f"elementwise_{signature.label}_x{lanes}u{unroll}", BLOCK * unroll
    vectors = [(lambda pointer, at=u * BLOCK: f"i + {at}") for u in range(unroll)]
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*signature.pointers, *signature.values, "n"])}):
    tile = cuda.blockIdx.x * {tile}
    {indent(4, signature.load_singles())}
    if (tile + {tile}) * {lanes} <= n:
        i = tile + cuda.threadIdx.x
        {indent(8, signature.body(lanes, vectors))}
    else:
        for j in range(tile * {lanes} + cuda.threadIdx.x, min((tile + {tile}) * {lanes}, n), {BLOCK}):
            {indent(12, signature.body(1, [lambda pointer: "j"], "one_"))}
""",
    )
    return Template(
        name,
        function,
        tuple(signature.pointers.values()),
        len(signature.values),
        signature.accesses(lanes),
        signature.traffic(lanes, unroll),
    )


def elementwise_grid(n: int, lanes: int, unroll: int = 1) -> tuple[int, ...]:
    """The blocks that cover ``n`` elements; n = 0 is no launch at all."""
    return (ceil_div(n, BLOCK * lanes * unroll),)


def accumulate(grad: str, g: str | None = None, unroll: int = 1) -> Template:
    """grad[i] = scalar(grad[i], g[i]), in place: two pointers in place of three."""
    return elementwise((array(grad), array(g or grad)), (grad,), (0,), unroll=unroll)


@cache
def strided(
    inputs: tuple[Operand, ...], outputs: tuple[str, ...], ndim: int, bits: int = 32, into: tuple[int, ...] = (), lanes: int = 1
) -> Template:
    """outputs[...] = scalar(inputs[...]) with any strides (0 where broadcast), over ``collapse``d dimensions.

    Bind ``**index_source(bits)``: 32 where counts and offsets are below 2**31 (three or four instructions a dimension),
    64 elsewhere (a true division, some 80 instructions a dimension).

    Args:
        inputs: arrays and values; a single is an array whose strides are 0.
        outputs, into: as ``elementwise``'s.
        ndim: dimensions after collapsing, at least 1.
        bits: of the index arithmetic.
        lanes: elements of a vector access, along which the innermost stride is 1; sizes and strides then count vectors, but those
            of ``repeated`` operands, whose innermost stride is 0, count elements.
    """
    signature = Signature(tuple(x._replace(kind="array") if x.kind == "single" else x for x in inputs), outputs, into)
    pointers = list(signature.pointers)
    name = f"strided{bits}_{signature.label}_{ndim}d{f'_x{lanes}' if lanes > 1 else ''}"
    function = compile_template(
        name,
        f"""
def NAME({", ".join([*pointers, *signature.values, "n", *strided_parameters(pointers, ndim)])}):
    i = multiply_add(cuda.blockIdx.x, {BLOCK}, cuda.threadIdx.x)
    {indent(4, signature.load_singles())}
    if i < n:
        {indent(8, unravel(pointers, ndim) + signature.body(lanes, [lambda pointer: f"{pointer}_at"]))}
""",
    )
    accesses, traffic = signature.accesses(lanes), signature.traffic(lanes, 1) if lanes > 1 else Counter[Access]()
    return Template(name, function, tuple(signature.pointers.values()), len(signature.values), accesses, traffic, index_bits=bits)


def unravel(pointers: Sequence[str], ndim: int) -> list[str]:
    """Lines that turn the flat index ``i`` into the offset ``{pointer}_at`` of every pointer."""

    def step(d):
        return [f"{p}_at = multiply_add(r, {p}_stride{d}, {p}_at)" for p in pointers]

    lines = [f"{p}_at = 0" for p in pointers]
    for d in reversed(range(1, ndim)):  # innermost dimension first; what is left over is the outermost index
        lines += [f"q = divide(i, size{d}, magic{d}, shift{d})", f"r = multiply_add(q, -size{d}, i)", *step(d), "i = q"]
    return lines + ["r = i", *step(0)]


def strided_parameters(pointers: Sequence[str], ndim: int) -> list[str]:
    """Names of the counts after ``n``: a divisor for every dimension but the first, then each pointer's strides."""
    divisors = [f"{part}{d}" for d in range(1, ndim) for part in ("size", "magic", "shift")]
    return divisors + [f"{p}_stride{d}" for p in pointers for d in range(ndim)]


def strided_args(shape: Sequence[int], strides: Iterable[Sequence[int]]) -> list[int]:
    """The values of ``strided_parameters``, in elements; ``strides`` in the order of the kernel's pointers.

    Source: for 0 <= i < 2**31 and d > 1, i // d == i * ceil(2**p / d) >> p with p = 31 + ceil(log2 d)
    (Granlund and Montgomery, 1994).
    """
    divisors = []
    for d in shape[1:]:
        if d < 2:  # in front of all others, where nothing is left to divide, or there is no element
            divisors += [1, 0, 0]
            continue
        p = 31 + (d - 1).bit_length()
        divisors += [d, ceil_div(1 << p, d), p - 32]  # the high word of the product has the first 32 of the p shifts
    return divisors + [s for operand in strides for s in operand]


def strided_grid(n: int) -> tuple[int, ...]:
    """Blocks for ``n`` elements, one a thread."""
    return (ceil_div(n, BLOCK),)


def collapse(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Drop dimensions of size 1 and merge neighbours that every operand walks as one (outer = inner * size).

    >>> collapse((2, 3, 4), [(12, 4, 1), (0, 4, 1)])
    ((2, 12), [(12, 1), (0, 1)])
    """
    dims = [(size, s) for size, s in zip(shape, zip(*strides)) if size != 1] or [(1, (0,) * len(strides))]
    merged = [dims[0]]
    for size, inner in dims[1:]:
        outer_size, outer = merged[-1]
        if all(o == i * size for o, i in zip(outer, inner)):
            merged[-1] = (outer_size * size, inner)
        else:
            merged.append((size, inner))
    sizes, steps = zip(*merged)
    return sizes, list(zip(*steps))


def index_source(bits: int) -> dict[str, Function]:
    """``divide`` and ``multiply_add`` of a strided kernel's index arithmetic."""
    if bits == 32:
        return {"divide": _divide_32, "multiply_add": _multiply_add_32}
    return {"divide": _divide_64, "multiply_add": _multiply_add_64}


# ruff: noqa: F821  (divide_by_magic and multiply_add_i32 are bound by instantiate)
def _divide_32(i, size, magic, shift):
    return divide_by_magic(i, magic, shift)


def _divide_64(i, size, magic, shift):
    return i // size


def _multiply_add_32(x, y, z):
    return multiply_add_i32(x, y, z)


def _multiply_add_64(x, y, z):
    return x * y + z


def indent(spaces: int, lines: Iterable[str]) -> str:
    return ("\n" + " " * spaces).join(lines)


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def compile_template(name: str, source: str) -> Function:
    """The function that ``source`` defines as NAME; it is compiled when a kernel is made of it."""
    return late_text(source.replace("NAME", name).lstrip(), f"template {name}", {}, name)[0]
