"""Template + scalar function + dtype -> PTX -> cubin, on any machine, without Numba: the compiler of ``kernels/compiler`` writes
LLVM's text, LLVM's back end for NVIDIA's GPUs, which llvmlite has, makes PTX of it, ``linker.py`` a cubin.

What leaves this file is a ``Kernel``: bytes and a name.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ...base.errors import KernelError
from .. import complex_scalars, prims, scalars
from ..instantiate import instantiate
from ..texts import ready
from .access import Function, prims_dtype
from .quotients import QUOTIENTS
from .templates import BLOCK, Template

if TYPE_CHECKING:
    import llvmlite.binding as llvm

    from ..compiler.functions import Entry

__all__ = [
    "ARCH",
    "Kernel",
    "Recipe",
    "blocks_with",
    "build",
    "instantiate_for",
    "max_registers",
    "most_registers",
    "right_everywhere",
    "scalar_source",
    "text_for",
]

ARCH = "sm_90"  # Hopper. A cubin runs on its own major architecture only: build one for each that is supported.
# The oldest version of PTX that an architecture has, so that older drivers take it; the last of these for newer ones.
PTX_OF = {"sm_80": 80, "sm_86": 80, "sm_89": 80, "sm_90": 80, "sm_100": 86, "sm_103": 88, "sm_120": 87, "sm_121": 88}
REGISTERS = 65536  # of a multiprocessor
UNKNOWN = -1


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel.

    Attributes:
        name: the symbol in the cubin.
        cubin: ELF for one GPU architecture.
        ptx: what it was assembled from; empty if it came from the store.
        registers: of a thread; ``UNKNOWN`` if the linker does not say it.
        spill_bytes: of a thread; anything but 0 is a defect.
        compile_s, link_s: seconds from source to PTX, and from PTX to cubin.
    """

    name: str
    cubin: bytes = field(repr=False)
    ptx: str = field(default="", repr=False)
    registers: int = 0
    spill_bytes: int = 0
    compile_s: float = 0.0
    link_s: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """A kernel yet to be built: the arguments of ``build``, with a name and a key. Calling it builds it.

    Attributes:
        template: the loop.
        scalar: the scalar function, before ``instantiate``.
        dtype: name of the dtype in which ``scalar`` computes.
        source: further names that the template takes (a monoid's functions, index arithmetic).
    """

    template: Template
    scalar: Function
    dtype: str
    source: Mapping = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's name: template, scalar function and dtype."""
        return kernel_name(self.template, self.scalar, self.dtype)

    def __call__(self, arch: str = ARCH) -> Kernel:
        return build(self.template, self.scalar, self.dtype, arch, **self.source)

    def key(self, arch: str = ARCH) -> str:
        """Hash of all that the cubin depends on: the code of every function reached, its constants, the compilers.

        Numba's own ``cache=True`` looks at the file's time stamp and the line only: instances of one template, and
        edited helpers in another file, would get each other's machine code.
        """
        digest = hashlib.sha256(repr((self.name, arch, toolchain(), self.template.state)).encode())
        names = {**scalar_source(self.scalar, self.dtype), **self.source}
        for part in fingerprint(self.template.function, names):
            digest.update(part.encode())
        return digest.hexdigest()


def build(template: Template, scalar: Function, dtype: str, arch: str = ARCH, **source) -> Kernel:
    """Compile ``template`` around ``scalar``.

    Args:
        template: of ``templates`` or ``reductions``.
        scalar: plain function of primitives; its name becomes part of the symbol.
        dtype: name of the dtype in which ``scalar`` computes, as in ``codegen.scalar_function``.
        arch: the GPU's, as in ``sm_90``.
        source: the other names that the template takes.

    Raises:
        KernelError: the compilers are not installed, or refused the source.
    """
    name = kernel_name(template, scalar, dtype)
    start = time.perf_counter()
    ptx = compile_ptx(template, scalar, dtype, arch, source)
    middle = time.perf_counter()
    made = assembled(name, ptx, arch)
    blocks = template.resident or blocks_resident(dtype, scalar.__name__)
    for fewer in range(blocks - 1, fewest(blocks) - 1, -1):  # the lesser evil; which kernels need it differs between architectures
        if made.spill_bytes:
            made = assembled(name, re.sub(r"(?<=\.minnctapersm )\d+", str(fewer), ptx), arch)
    return replace(made, compile_s=middle - start, link_s=time.perf_counter() - middle)


def assembled(name: str, ptx: str, arch: str) -> Kernel:
    """The kernel of some PTX."""
    from .linker import link

    cubin, log = link(ptx, arch)
    told = re.search(r"[Uu]sed (\d+) registers", log)
    registers = int(told[1]) if told else UNKNOWN
    return Kernel(name, cubin, ptx, registers, sum(map(int, re.findall(r"(\d+) bytes (?:spill|lmem)", log))))


# Scalar functions that need more registers than four resident blocks leave them: by dtype, how many blocks do. Threads of scores
# and moments hold their elements beside accumulators.
NEEDS_MORE = {
    "weighted_logits_difference_jvp_x_y_p": {"float64": 3},
    "element_of_scores": {"float64": 3},
    "element_of_moments": {"float32": 3, "float64": 2},
}


def blocks_resident(dtype: str, name: str = "") -> int:
    """Blocks of a kernel that a multiprocessor can hold, at least: 1024 threads, which leaves each 64 registers.

    A complex128 takes four registers: kernels that compute with those get twice as many (``pow_backward_x_y`` would spill).

    Args:
        name: of the scalar function.
    """
    return NEEDS_MORE.get(name, {}).get(dtype, 2 if dtype == "complex128" else 4)


def max_registers(dtype: str, name: str = "", resident: int = 0) -> int:
    """Registers of a thread, at most, in a kernel that computes in ``dtype``; ``resident``: as its template says."""
    return REGISTERS // ((resident or blocks_resident(dtype, name)) * BLOCK)


def fewest(blocks: int) -> int:
    """Blocks that are resident, at least, of a kernel that would spill if as many were as it asks for."""
    return max(1, blocks // 2)


def most_registers(dtype: str, name: str = "", resident: int = 0) -> int:
    """``max_registers`` of a kernel that would spill; a thread never has more than 255."""
    return min(255, REGISTERS // (fewest(resident or blocks_resident(dtype, name)) * BLOCK))


def blocks_with(registers: int) -> int:
    """Blocks that a multiprocessor can hold, up to four, if each thread is to have so many registers.

    >>> blocks_with(64), blocks_with(65), blocks_with(129)
    (4, 3, 1)
    """
    return next((blocks for blocks in (4, 3, 2) if registers <= REGISTERS // (blocks * BLOCK)), 1)


def kernel_name(template: Template, scalar: Function, dtype: str) -> str:
    return f"{template.name}_{scalar.__name__}_{dtype}"


def scalar_source(scalar: Function, dtype: str) -> dict:
    """The names that depend on the dtype, and ``scalar`` itself."""
    prims_of = prims_dtype(dtype)
    return {**scalars.BY_DTYPE.get(prims_of, {}), **QUOTIENTS.get(prims_of, {}), "scalar": right_everywhere(scalar)}


@functools.cache
def right_everywhere(function: Function) -> Function:
    """``function`` with calls of guarded scalar functions replaced by their precise versions.

    A thread that needs the slow path branches by itself; no loop over elements asks the guard first (NOTE [Guards] of
    ``scalars``). Precise versions call the fast ones where those are right: scalar functions themselves stay as they are.
    """
    if function in _PRECISE:
        return _PRECISE[function]
    if (function.__module__ or "").startswith(_SCALAR_MODULES):
        return function
    called = {name: function.__globals__[name] for name in ready(function).__code__.co_names if name in function.__globals__}
    replaced = {
        name: right_everywhere(value) for name, value in called.items() if isinstance(value, FunctionType) and value is not function
    }
    if all(value is called[name] for name, value in replaced.items()):
        return function
    scope = {**function.__globals__, **replaced}
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


_PRECISE = {
    **{scalars.FUNCTIONS[name]: precise for name, (_, precise) in scalars.GUARDS.items()},
    **{complex_scalars.COMPLEX_FUNCTIONS[name]: precise for name, (_, precise) in complex_scalars.COMPLEX_GUARDS.items()},
}
_SCALAR_MODULES = (scalars.__name__, complex_scalars.__name__)


def instantiate_for(
    names: dict[str, Any],
    template: Template,
    scalar: Function,
    dtype: str,
    source: Mapping,
    wrap: Function = lambda function: function,
) -> Function:
    """The template's function with every name bound: to a target by ``names``, to this kernel by the rest."""
    return instantiate(template.function, names, {**scalar_source(scalar, dtype), **source}, narrowed_to(dtype), wrap)


def narrowed_to(dtype: str) -> str | None:
    """What float constants become in a kernel that computes in ``dtype``: real in a complex kernel, None for integers."""
    real = prims_dtype(dtype)
    return real if real in scalars.BY_DTYPE else None


def compile_ptx(template: Template, scalar: Function, dtype: str, arch: str, source: Mapping) -> str:
    """The PTX of a kernel."""
    import llvmlite.binding as llvm

    text = kernel_text(template, scalar, dtype, source)
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise KernelError(f"cuda: LLVM refuses the text of {template.name}: {str(error).strip()}.") from None
    machine = target_machine(arch)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = False  # an elementwise kernel loops over its tail alone, and in all others registers would grow
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def kernel_text(template: Template, scalar: Function, dtype: str, source: Mapping) -> str:
    """LLVM's text of a kernel for NVIDIA's GPUs."""
    from .entry import PtxEntry, ptx_layout
    from .intrinsics import ptx_names

    names = ptx_names(dtype, template.accesses, template.state)
    return text_for(
        names,
        PtxEntry(template, dtype, BLOCK, template.resident or blocks_resident(dtype, scalar.__name__)),
        ptx_layout(),
        template,
        scalar,
        dtype,
        source,
    )


def text_for(
    names: dict[str, Any], entry: Entry, layout: str, template: Template, scalar: Function, dtype: str, source: Mapping
) -> str:
    """LLVM's text of a kernel.

    Args:
        names: what the template's names mean to a target; ``entry``: how it calls kernels; ``layout``: of its data.

    Raises:
        KernelError: the kernel contains what the compiler does not know.
    """
    from ..compiler import functions
    from ..compiler.expressions import Scope
    from ..compiler.kinds import Refused

    rules, of_constants = functions.rules(prims_dtype(dtype))
    scope = Scope({**rules, **names}, {**scalar_source(scalar, dtype), **source}, narrowed_to(dtype), of_constants, layout)
    try:
        return functions.kernel_text(ready(template.function), kernel_name(template, scalar, dtype), scope, entry=entry)
    except Refused as refused:
        raise KernelError(f"cuda: {template.name} of {scalar.__name__} contains {refused}, which no kernel may contain.") from None


def target_machine(arch: str) -> llvm.TargetMachine:
    """LLVM's back end for an architecture.

    Raises:
        KernelError: it is none of NVIDIA's, or older than what kernels need.
    """
    import llvmlite.binding as llvm

    from .entry import TRIPLE

    number = arch.removeprefix("sm_")
    if not arch.startswith("sm_") or not number.isdigit() or int(number) < 80:
        raise KernelError(f"cuda: the architecture {arch!r}, expected sm_80 or later. Hint: nvidia-smi --query-gpu=compute_cap.")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    ptx = PTX_OF.get(arch, max(PTX_OF.values()))
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, features=f"+ptx{ptx}", opt=3)


def fingerprint(function: Function, names: Mapping, seen: set | None = None) -> Iterator[str]:
    """Text that tells apart what ``function`` computes: its code, and what its global names reach, ``names`` first."""
    seen = {function} if seen is None else seen
    code, scope = ready(function).__code__, {**function.__globals__, **names}
    yield repr((code.co_code.hex(), [c for c in code.co_consts if not isinstance(c, CodeType)], code.co_names))
    for name in sorted(set(code.co_names) & set(scope) - set(prims.PRIMS)):  # their file is part of the toolchain
        value = scope[name]
        if isinstance(value, (bool, int, float, complex, str, tuple)):
            yield repr((name, type(value).__name__, value))
        elif isinstance(value, FunctionType) and value not in seen:
            seen.add(value)
            yield name
            yield from fingerprint(value, names, seen)


@functools.cache
def toolchain() -> tuple[str, ...]:
    """What stands between a source and its cubin: our code generators, and the compilers' versions."""
    folder = Path(__file__).parent
    own = (
        "intrinsics.py",
        "memory.py",
        "entry.py",
        "build.py",
        "linker.py",
        "access.py",
        "gates.py",
    )  # what is stored has passed these gates
    files = [*(folder / name for name in own), *sorted((folder.parent / "compiler").glob("*.py")), Path(prims.__file__)]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return (*digests, *map(installed_version, ("llvmlite", "nvidia-nvjitlink")))


def installed_version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # part of a system-wide CUDA toolkit
        return f"{package} of the system"
