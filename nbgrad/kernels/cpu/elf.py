"""The symbols of an ELF object, which is refused if any of its numbers points outside of it.

LLVM's loader believes what an object says: a section that ends beyond the file, a relocation beyond its section or one
of an unknown type is read, written or answered with ``abort``. So every bound that it relies on is checked here,
before it sees the bytes. That the object is *honest* machine code is not decided here: see
NOTE [Trust in the store] in ``disk``.
"""

from __future__ import annotations

import platform
import struct
import sys
from typing import NamedTuple

from ...base.errors import CacheError

__all__ = ["ObjectSymbols", "is_elf", "inspect"]

MACHINES = {"x86_64": 62, "aarch64": 183, "ppc64le": 21, "riscv64": 243, "s390x": 22}
# Relocations that LLVM's RuntimeDyld resolves; any other type ends the process. Machines not listed are not checked.
KNOWN_RELOCATIONS = {62: {0, 1, 2, 4, 9, 10, 11, 12, 14, 15, 24, 25, 27, 29, 41, 42}}
# Those that patch eight bytes; the others patch four or less.
WIDE_RELOCATIONS = {62: {1, 24, 25, 27, 29}, 183: {257, 260}}

RELOCATABLE, HEADER_BYTES, SECTION_BYTES, SYMBOL_BYTES = 1, 64, 64, 24
SYMTAB, STRTAB, RELA, NOBITS, REL = 2, 3, 4, 8, 9
LOCAL, STRONG, WEAK = 0, 1, 2
UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
# No kernel comes near these; they bound what LLVM allocates without a byte in the file to show for it.
MOST_SECTIONS, MOST_ZEROED, MOST_ALIGNMENT = 4096, 1 << 20, 1 << 16


class ObjectSymbols(NamedTuple):
    """The global symbols of an object.

    Attributes:
        defined: everything it offers, weak and common symbols included.
        strong: of these, what one engine may define only once.
        undefined: what it needs from elsewhere.
    """

    defined: frozenset[str]
    strong: frozenset[str]
    undefined: frozenset[str]


class Section(NamedTuple):
    """A section header, as ELF lays it out."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def is_elf(code: bytes) -> bool:
    """Whether ``code`` claims to be ELF; macOS and Windows have formats of their own."""
    return code[:4] == b"\x7fELF"


def inspect(code: bytes) -> ObjectSymbols:
    """Check every bound of a relocatable ELF object for this machine and list its global symbols.

    Raises:
        CacheError: the object is truncated, malformed or for another machine.

    Source: the System V ABI, chapters 4 and 5, and what LLVM's RuntimeDyldELF reads.
    """
    try:
        machine, sections = read_sections(code)
        for section in sections:
            check_section(section, sections, len(code))
        table = single([s for s in sections if s.type == SYMTAB], "symbol tables")
        symbols = read_symbols(code, table, sections)
        for section in sections:
            if section.type in (RELA, REL):
                check_relocations(code, section, sections, machine, table.size // SYMBOL_BYTES)
    except (struct.error, UnicodeDecodeError) as error:
        raise CacheError(f"elf: malformed object of {len(code)} bytes: {error}.") from None
    return symbols


def expect(sound: bool, what: str) -> None:
    """Refuse the object unless ``sound``."""
    if not sound:
        raise CacheError(
            f"elf: malformed object: {what}. Hint: the kernel is compiled again; nbgrad.cache.clear() removes all stored ones."
        )


def single(items: list, what: str) -> Section:
    """The only one of ``items``."""
    expect(len(items) == 1, f"{len(items)} {what}, expected 1")
    return items[0]


def read_sections(code: bytes) -> tuple[int, list[Section]]:
    """Return ``(machine, section headers)``, the headers themselves being inside the file."""
    expect(len(code) >= HEADER_BYTES and is_elf(code), "no ELF header")
    order = 1 if sys.byteorder == "little" else 2
    expect(code[4:7] == bytes((2, order, 1)), "not 64 bits of this machine's byte order")
    kind, machine = struct.unpack_from("=HH", code, 16)
    expect(kind == RELOCATABLE, f"type {kind}, expected a relocatable object")
    expect(machine == MACHINES.get(platform.machine(), machine), f"machine {machine} is not {platform.machine()}")
    (start,) = struct.unpack_from("=Q", code, 40)
    entry, count, names = struct.unpack_from("=HHH", code, 58)
    expect(entry == SECTION_BYTES and 0 < count <= MOST_SECTIONS and names < count, f"{count} section headers")
    expect(start + count * SECTION_BYTES <= len(code), "section headers end beyond the file")
    headers = memoryview(code)[start : start + count * SECTION_BYTES]
    return machine, [Section(*fields) for fields in struct.iter_unpack("=IIQQQQIIQQ", headers)]


def check_section(section: Section, sections: list[Section], length: int) -> None:
    """Refuse a section that leaves the file, or asks for memory without bound."""
    if section.type == NOBITS:
        expect(section.size <= MOST_ZEROED, f"{section.size} zeroed bytes")
    else:
        expect(section.offset + section.size <= length, "a section ends beyond the file")
    check_alignment(section.alignment)
    expect(section.link < len(sections), "a section is linked to one that is not there")


def check_alignment(alignment: int) -> None:
    """Refuse what is no power of two, or a huge one."""
    expect(alignment & (alignment - 1) == 0 and alignment <= MOST_ALIGNMENT if alignment else True, f"alignment {alignment}")


def read_symbols(code: bytes, table: Section, sections: list[Section]) -> ObjectSymbols:
    """List the global symbols, each inside its section and with a name inside its string table."""
    expect(table.entry_size == SYMBOL_BYTES and table.size % SYMBOL_BYTES == 0, "symbols of another size")
    strings = sections[table.link]
    expect(strings.type == STRTAB and strings.size > 0, "symbols without names")
    names = code[strings.offset : strings.offset + strings.size]
    expect(names[-1] == 0, "the names do not end")
    defined, strong, undefined = set(), set(), set()
    entries = memoryview(code)[table.offset : table.offset + table.size]
    for name_at, info, _, home, value, size in struct.iter_unpack("=IBBHQQ", entries):
        expect(name_at < len(names), "a name outside its table")
        check_home(home, value, size, sections)
        if info >> 4 == LOCAL:
            continue
        name = names[name_at : names.index(0, name_at)].decode("ascii")
        if home == UNDEFINED:
            undefined.add(name)
            continue
        defined.add(name)
        if info >> 4 != WEAK and home != COMMON:
            strong.add(name)
    return ObjectSymbols(frozenset(defined), frozenset(strong), frozenset(undefined))


def check_home(home: int, value: int, size: int, sections: list[Section]) -> None:
    """Refuse a symbol outside the section that it names; a common one has a size and, as value, an alignment."""
    if home == COMMON:
        expect(size <= MOST_ZEROED, f"a common symbol of {size} bytes")
        check_alignment(value)
    elif home not in (UNDEFINED, ABSOLUTE):
        expect(home < len(sections), "a symbol in a section that is not there")
        expect(value + size <= sections[home].size, "a symbol ends beyond its section")


def check_relocations(code: bytes, section: Section, sections: list[Section], machine: int, symbols: int) -> None:
    """Refuse a relocation that patches outside its section, names no symbol or is of a type LLVM aborts on."""
    layout, size = ("=QQq", 24) if section.type == RELA else ("=QQ", 16)
    expect(section.entry_size == size and section.size % size == 0, "relocations of another size")
    expect(section.info < len(sections), "relocations of a section that is not there")
    target, known = sections[section.info], KNOWN_RELOCATIONS.get(machine)
    room = 0 if target.type == NOBITS else target.size
    wide = WIDE_RELOCATIONS.get(machine, ())
    for offset, info, *_ in struct.iter_unpack(layout, memoryview(code)[section.offset : section.offset + section.size]):
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        expect(known is None or kind in known, f"relocation type {kind}")
        expect(symbol < symbols, "a relocation of a symbol that is not there")
        expect(offset + (8 if kind in wide else 4) <= room, "a relocation beyond its section")
