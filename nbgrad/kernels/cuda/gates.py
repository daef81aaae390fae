"""What a machine without a GPU can still promise about a kernel: properties of its PTX and its registers.

Each gate returns the reason why a kernel fails, or None. Together they catch what costs a factor on the GPU and
changes no result: a float64 literal in a float32 kernel, scalar loads, spills, a 64-bit division in an index.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Callable, Iterable

from .access import Access, compute_dtype
from .build import UNKNOWN, Kernel, max_registers, most_registers
from .templates import Template

__all__ = [
    "Gate",
    "check",
    "gates_for",
    "property_of",
    "no_float64",
    "no_spills",
    "few_registers",
    "global_access",
    "no_division",
    "no_wide_index",
    "memory_access",
]

Gate = Callable[[Kernel], "str | None"]

DOUBLE = ("float64", "complex128")


def gates_for(template: Template, dtype: str, integers: bool = False, name: str = "") -> tuple[Gate, ...]:
    """The gates of ``template`` in compute dtype ``dtype``.

    Args:
        name: of the scalar function.
        integers: whether the scalar function itself divides or multiplies integers, so that index arithmetic cannot be
            told from its own.
    """
    gates: list[Gate] = [
        no_spills,
        partial(few_registers, most=most_registers(dtype, name, template.resident)),
        global_access,
        partial(memory_access, traffic=template.traffic),
    ]
    if not {dtype, *template.pointers}.intersection(DOUBLE):
        gates.append(no_float64)
    if template.index_bits == 32 and not integers:
        gates.append(no_division)
    if template.name.startswith("strided32") and not integers and compute_dtype(dtype) != "int64":
        gates.append(no_wide_index)
    return tuple(gates)


def check(kernel: Kernel, gates: Iterable[Gate]) -> list[str]:
    """The reasons why ``kernel`` fails ``gates``; empty if it passes."""
    return [f"{kernel.name}: {reason}" for gate in gates if (reason := gate(kernel))]


def no_float64(kernel: Kernel) -> str | None:
    """An unnarrowed constant runs at 1/64 of the speed on many GPUs."""
    return forbid(kernel.ptx, r"^.*\.f64\b.*$", "float64 arithmetic in a kernel without float64 operands")


def no_spills(kernel: Kernel) -> str | None:
    """Values that find no register go to local memory, which is as far away as global memory."""
    if kernel.spill_bytes or ".local" in kernel.ptx:
        return f"{kernel.spill_bytes} bytes spilled or local memory used"
    return None


def few_registers(kernel: Kernel, most: int) -> str | None:
    """More than ``most`` a thread leave too few threads resident to hide the latency of memory."""
    if kernel.registers == UNKNOWN:
        return f"registers that the linker does not tell, expected {most} or less. Hint: pip install nvidia-nvjitlink."
    return f"{kernel.registers} registers, more than {most}" if kernel.registers > most else None


def global_access(kernel: Kernel) -> str | None:
    """A load or store of unknown address space goes through a slower path, and means that inference failed."""
    return forbid(kernel.ptx, r"^\s+(ld|st)\.(?!global|shared|param).*$", "generic load or store")


def no_division(kernel: Kernel) -> str | None:
    """Only the 64-bit fallback of a strided kernel may divide indices."""
    return forbid(kernel.ptx, r"^.*\b(div|rem)\.[us]\d+.*$", "integer division")


def no_wide_index(kernel: Kernel) -> str | None:
    """A strided kernel of 32-bit indices may not multiply 64 by 64 bits."""
    return forbid(kernel.ptx, r"^.*\b(mul\.lo|mad\.lo)\.[us]64.*$", "64-bit multiplication in index arithmetic")


def memory_access(kernel: Kernel, traffic: Counter[Access]) -> str | None:
    """The accesses that the template promises are there, in one instruction each; a compiler may unroll to more."""
    found = Counter(global_accesses(kernel.ptx))
    expected: Counter = Counter()
    for access, count in traffic.items():
        expected[access.direction, access.nbytes] += count
    missing = {key: count for key, count in expected.items() if found[key] < count}
    if missing:
        return f"global accesses {spell(found)}, expected {spell(missing)} or more"
    return None


def global_accesses(ptx: str) -> Iterable[tuple[str, int]]:
    """``("load" or "store", bytes)`` of every access to global memory in ``ptx``."""
    pattern = r"^\s+(?:@\S+\s+)?(ld|st)\.global\S*?(?:\.v(\d))?\.[busf](\d+)\s"
    for direction, vector, bits in re.findall(pattern, ptx, flags=re.M):
        yield {"ld": "load", "st": "store"}[direction], int(vector or 1) * int(bits) // 8


PROPERTIES = {
    no_spills: "nothing spilled, no local memory",
    few_registers: f"at most {max_registers('float32')} registers ({max_registers('complex128')} of complex128), or blocks fewer",
    global_access: "no generic load or store",
    memory_access: "the vector accesses promised",
    no_float64: "no float64 instruction",
    no_division: "no integer division",
    no_wide_index: "indices stay in 32 bits",
}


def property_of(gate: Gate) -> str:
    """What holds of a kernel that passes ``gate``."""
    return PROPERTIES[getattr(gate, "func", gate)]  # some come as partials


def spell(accesses: dict) -> str:
    return ", ".join(f"{n} {direction}s of {nbytes} bytes" for (direction, nbytes), n in sorted(accesses.items()))


def forbid(text: str, pattern: str, reason: str) -> str | None:
    found = re.search(pattern, text, flags=re.M)
    return f"{reason}: {found[0].strip()}" if found else None
