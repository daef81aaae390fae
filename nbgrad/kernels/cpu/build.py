"""Kernels for the CPU: a plain Python loop, its scalar functions bound, compiled to one object file.

A ``Program`` says what is computed; ``address`` returns where its machine code is: from this process, from the disk, or
compiled now, by ``kernels/compiler``. What that refuses, Numba compiles, which is imported then. The entry point is like a
function of Numba's, without wrappers: ``i32 kernel(ptr result, ptr error, i64 start, i64 stop, ptr args)``; it cannot raise, so
the first two are never read.
"""

from __future__ import annotations

import operator
import re
import sys
import types as python_types
from functools import cache, partial
from typing import Any, Callable, Iterable, NamedTuple

from ...base import config
from ...base.collector import CollectorPause
from ..compiler.kinds import Refused
from ..instantiate import instantiate
from ..late import note_wanted, wanted_of
from ..prims import POINTER_TYPES, PRIMS, cpu_prims
from ..texts import ready
from .store import content_key, loader

__all__ = ["Program", "address", "fingerprint", "prepare", "POINTERS"]

# ``p_float32(args, i)``: the i-th pointer of a kernel's arguments as a pointer to that type.
POINTERS = tuple(f"p_{name}" for name in POINTER_TYPES)
# Address arithmetic and indirect calls, for the kernels that walk strides: see ``intrinsics``.
WALKING = tuple("at_" + name for name in POINTER_TYPES)
WORDS = ("word", "run_kernel", "stack", "pointer_word", "set_word", "call_c", "quotient")
TILES = tuple(f"{listed}tile_{name}" for listed in ("", "listed_", "outer_") for name in ("float32", "float64"))
TURNS = tuple(f"turn_{size}" for size in (1, 2, 4, 8, 16))
CHANNELS = tuple(
    f"{which}_{name}" for which in ("depthwise", "depthwise_transposed", "depthwise_weight") for name in ("float32", "float64")
)
INTRINSICS = (*POINTERS, *WALKING, *WORDS, *TILES, *CHANNELS, *TURNS, "few", "abreast", "eight_wide", "one_by_one")

COMPILER_VERSION = 4  # of what ``kernels/compiler`` makes of a program: raised with it, so that no older object is taken

# What kernels may call by another name, that of a binding.
OPERATORS = {"+": operator.add, "*": operator.mul, "|": operator.or_, "&": operator.and_}


class Program(NamedTuple):
    """What a kernel computes.

    Attributes:
        name: for the symbol and for people.
        function: ``kernel(start, stop, args)``, a plain function without closure; free names are primitives,
            pointers and ``bindings``.
        dtype: float literals become scalars of it; None leaves them float64.
        bindings: ``(name, plain function, number or text)`` pairs for the kernel's other free names; a text names a type, an
            operator or an intrinsic.
        reassociate: whether sums may be reordered by the compiler (fixed once compiled, so still the same on every run).
        apart: whether memory that is written through a pointer is reached through no other.
        fused: whether, where sums may be reordered, a product may be added to one without being rounded before.
    """

    name: str
    function: Callable
    dtype: str | None
    bindings: tuple[tuple[str, Any], ...] = ()
    reassociate: bool = False
    apart: bool = False
    fused: bool = False


@cache
def fingerprint(function: Callable) -> str:
    """Text that determines what a plain function computes: its code and that of all it calls, and its constants.

    Byte code, not source: a comment or a moved line changes nothing (the key carries Python's version).
    """
    parts, seen, stack = list[str](), set(), [function]
    while stack:
        function = stack.pop()
        if function not in seen:
            seen.add(function)
            own, called = own_fingerprint(function)
            parts += own
            stack += called
    return ";".join(parts)


@cache
def own_fingerprint(function: Callable) -> tuple[list[str], list[Callable]]:
    """What determines what a plain function computes but for those that it calls, and these."""
    parts, called = list[str](), list[Callable]()
    if hasattr(function, "compiled"):
        parts.append(f"{function.__name__} of {function.source}")  # type: ignore[attr-defined]
        names = words_of(function.source)  # type: ignore[attr-defined]
    else:
        code = function.__code__
        parts.append(repr((code.co_name, code.co_code, code.co_consts, code.co_names, code.co_varnames)))
        names = code.co_names
    if getattr(function, "part_of_loop", False):
        parts.append("part_of_loop")
    known = function.__globals__
    for name in names:
        if name in known and name not in PRIMS and name not in INTRINSICS:
            value = known[name]
            if isinstance(value, python_types.FunctionType):
                called.append(value)
            else:
                parts.append(f"{name}={value!r}:{type(value).__name__}")
    return parts, called


WORD = re.compile(r"[A-Za-z_]\w*")


@cache
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, each once."""
    return tuple(dict.fromkeys(WORD.findall(text)))


@cache
def program_key(program: Program) -> str:
    """The content hash that names a program's object."""
    bound = [f"{name}:{fingerprint(value) if callable(value) else repr(value)}" for name, value in program.bindings]
    return content_key(
        "program by Numba" if config.NUMBA else f"program {COMPILER_VERSION}",
        program.name,
        str(program.dtype),
        str(program.reassociate) + " apart" * program.apart + " fused" * program.fused,
        fingerprint(program.function),
        *bound,
        constants_key(program.dtype),
    )


@cache
def constants_key(dtype: str | None) -> str:
    """The content hash of the dtype's constants, which scalar functions reach by name."""
    from .. import scalars

    constants = scalars.BY_DTYPE.get(REAL_OF.get(dtype, dtype), {})
    return content_key(*(f"{k}={fingerprint(v) if callable(v) else repr(v)}" for k, v in sorted(constants.items())))


_addresses: dict[Program, int] = {}


def address(program: Program) -> int:
    """The entry point of ``program``, compiled if no earlier process did."""
    found = _addresses.get(program)
    if found is None:
        note_wanted(program)
        if config.DEBUG >= 3:
            compile_program(program)  # for what it shows: the object itself may come from the disk
        symbols = loader().load(program_key(program), lambda: compile_program(program))
        found = _addresses[program] = next(iter(symbols.values()))
    return found


def prepare(finders: Iterable[Callable[[], Any]]) -> None:
    """Have machine code for functions that find addresses: what must be compiled is compiled side by side."""
    if config.DEBUG < 3:
        wanted = {program_key(program): program for program in wanted_of(finders)}
        with CollectorPause():
            loader().load_all({key: partial(compile_program, program) for key, program in wanted.items()})


_copies: dict[str | None, dict] = {}
SHARED = ("nbgrad.kernels.scalars", "nbgrad.kernels.complex_scalars")
REAL_OF: dict[str | None, str] = {"complex64": "float32", "complex128": "float64"}


def compile_program(program: Program) -> tuple[bytes | str, list[str]]:
    """Return ``(LLVM's text, [symbol])``; an object file where only Numba can compile it, which is imported then."""
    symbol = f"{program.name}_{program_key(program)[:12]}"
    try:
        text = text_of(program, symbol)
    except Refused as refused:
        if config.DEBUG >= 3:
            print(f"nbgrad: {program.name} {program.dtype} is compiled by Numba: {refused}", file=sys.stderr)
        code, symbol, library = compile_by_numba(program, symbol)
        show(program, library.get_asm_str)
        return code, [symbol]
    show(program, lambda: text)
    return text, [symbol]


def names_of(program: Program, target: dict[str, Any], types: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a program's free names mean: things of the compiler, and source; see ``instantiate``."""
    from .. import scalars

    target = {**target, **{name: getattr(types, name) for name in POINTER_TYPES}}
    target.update((name, target[value]) for name, value in program.bindings if isinstance(value, str))
    real = REAL_OF.get(program.dtype, program.dtype)
    return target, {**scalars.BY_DTYPE.get(real, {}), **{name: ready(value) for name, value in program.bindings}}


def text_of(program: Program, symbol: str) -> str:
    """LLVM's text of a program.

    Raises:
        Refused: only Numba knows what it contains.
    """
    if config.NUMBA:
        raise Refused("NBGRAD_NUMBA is set")
    from ..compiler import functions, kinds
    from ..compiler.expressions import Scope
    from .intrinsics import intrinsics

    real = REAL_OF.get(program.dtype, program.dtype)
    prims, of_constants = functions.rules(real or "float64")
    target, source = names_of(program, {**prims, **intrinsics(functions.Rule, kinds), **OPERATORS}, kinds)
    scope = Scope(target, source, real, of_constants, str(loader().emitter.machine.target_data), vectors=True)
    return functions.kernel_text(ready(program.function), symbol, scope, program.reassociate, program.apart, fused=program.fused)


def compile_by_numba(program: Program, symbol: str) -> tuple[bytes, str, Any]:
    """The object file, the name that Numba gives to the entry point, and Numba's library."""
    from numba.core import types
    from numba.extending import intrinsic

    from .frontend import compile_kernel, inlined
    from .intrinsics import intrinsics

    dtype = REAL_OF.get(program.dtype, program.dtype)
    target, source = names_of(program, {**cpu_prims(dtype or "float64"), **intrinsics(intrinsic, types), **OPERATORS}, types)
    # Scalar functions are compiled once for all kernels of a dtype. Helpers of a template are not shared: they may name this
    # program's bindings.
    shared = _copies.setdefault(program.dtype, {})
    copies = dict(shared)
    kernel = instantiate(ready(program.function), target, source, dtype, inlined, copies)
    shared.update((f, copy) for f, copy in copies.items() if (f.__module__ or "").startswith(SHARED))
    kernel.__name__ = kernel.__qualname__ = symbol
    fastmath = {"reassoc", "nsz", *("contract",) * program.fused} if program.reassociate else False
    signature = types.void(types.int64, types.int64, types.CPointer(types.voidptr))
    library, entry = compile_kernel(kernel, signature, fastmath, program.reassociate)
    return library.emit(), entry, library


def show(program: Program, assembly: Callable[[], str]) -> None:
    """Print what was compiled: the source with ``NBGRAD_DEBUG=3``, the assembly or LLVM's text with 4."""
    if config.DEBUG >= 3:
        for name, value in (("kernel", program.function), *program.bindings):
            text = getattr(value, "source", None)
            print(f"nbgrad: {program.name} {program.dtype} {name}\n{text or value}", file=sys.stderr)
    if config.DEBUG >= 4:
        print(assembly(), file=sys.stderr)
