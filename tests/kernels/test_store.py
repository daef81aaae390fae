"""The store of compiled kernels: sound files are loaded, everything else is compiled again, nothing crashes."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import random
import stat
import struct
import subprocess
import sys
import threading
import time

import llvmlite.binding as llvm
import pytest

from nbgrad import cache
from nbgrad.base.errors import CacheError, KernelError
from nbgrad.kernels.cpu import disk, elf, store
from nbgrad.kernels.cpu.store import Loader, Store, content_key
from tests.helpers import fork

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ELF objects and POSIX modes")

MACHINE = store.host_machine()
# Machine code that a test has called stays mapped as long as the process.
KEPT: list[Loader] = []


def emit(text: str) -> bytes:
    """The object file of LLVM IR text."""
    return MACHINE.emit_object(llvm.parse_assembly(text))


def adder(amount: int, name: str = "f") -> str:
    """LLVM IR of ``name(x) = x + amount``."""
    return f"define i64 @{name}(i64 %x) {{\n  %y = add i64 %x, {amount}\n  ret i64 %y\n}}\n"


def caller_of(name: str) -> str:
    """LLVM IR of ``f(x) = name(x)``, ``name`` being defined elsewhere."""
    return f"declare i64 @{name}(i64)\ndefine i64 @f(i64 %x) {{\n  %y = call i64 @{name}(i64 %x)\n  ret i64 %y\n}}\n"


def call(address: int, x: int) -> int:
    """Call an ``i64(i64)`` function."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(x)


def make_loader(directory) -> Loader:
    """A loader that no test's end unmaps."""
    KEPT.append(Loader(Store(str(directory) if directory else None)))
    return KEPT[-1]


def never() -> tuple[bytes, list[str]]:
    """A compiler that must not be called."""
    raise AssertionError("compiled although a sound object was there")


@pytest.fixture
def folder(tmp_path):
    """A folder for a store, not made yet."""
    return tmp_path / "kernels"


@pytest.fixture(scope="module")
def code() -> bytes:
    """An object that calls libm and has data of its own, so that it has relocations and an undefined symbol."""
    return emit("""
        @table = internal global [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0]
        @zeros = internal global [9 x i64] zeroinitializer
        declare double @tanh(double)
        define i64 @f(i64 %i) {
          %at = getelementptr double, ptr @table, i64 %i
          %x = load double, ptr %at
          %y = call double @tanh(double %x)
          %zero = load i64, ptr @zeros
          %z = fptosi double %y to i64
          %w = add i64 %z, %zero
          ret i64 %w
        }""")


# ---- the files -------------------------------------------------------------------------------------------------------


def test_read_returns_what_was_written(folder, code):
    """An object and its symbols come back from the disk as they were."""
    Store(str(folder)).write("key", code, ["f"])
    assert Store(str(folder)).read("key") == (code, ["f"])


def test_missing_key_is_a_miss(folder):
    """A key that was never written is None, not an error."""
    assert Store(str(folder)).read("absent") is None


def test_header_is_json_that_people_can_read(folder, code):
    """The first line names the symbols, the hash and what the object needs."""
    Store(str(folder)).write("key", code, ["f"])
    header = json.loads((folder / "key.kernel").read_bytes().split(b"\n", 1)[0])
    assert header["symbols"] == ["f"] and header["undefined"] == ["tanh"] and len(header["sha256"]) == 64


def test_folder_and_files_are_private(folder, code):
    """The folder is made 0700 and files 0600."""
    Store(str(folder)).write("key", code, ["f"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key.kernel").stat().st_mode) == 0o600


@pytest.mark.parametrize("key", ["", "../up", "a/b", "a.b", "x" * 201, "new\nline"])
def test_key_cannot_leave_the_folder(folder, key):
    """A key is a plain name, so that no key reaches another folder."""
    with pytest.raises(CacheError, match="key"):
        Store(str(folder)).read(key)


DAMAGE = {
    "empty": lambda data: b"",
    "no newline": lambda data: data.replace(b"\n", b" "),
    "header only": lambda data: data[: data.index(b"\n") + 1],
    "truncated": lambda data: data[:-7],
    "extended": lambda data: data + b"x",
    "flipped bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "not JSON": lambda data: b"}{" + data,
    "JSON of another kind": lambda data: b"[1, 2]" + data[data.index(b"\n") :],
    "nested without end": lambda data: b"[" * 60_000 + data[data.index(b"\n") :],
    "symbols missing": lambda data: data.replace(b'"symbols"', b'"simbols"', 1),
    "symbols of another kind": lambda data: data.replace(b'["f"]', b"[17]", 1),
    "no symbols": lambda data: data.replace(b'["f"]', b"[]", 1),
    "unknown symbol": lambda data: data.replace(b'["f"]', b'["g"]', 1),
    "not UTF-8": lambda data: b"\xff\xfe" + data,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_is_compiled_again_and_replaced(folder, code, damage):
    """Whatever is wrong with a file, the kernel works and the file is sound afterwards."""
    Store(str(folder)).write("key", code, ["f"])
    path = folder / "key.kernel"
    path.write_bytes(damage(path.read_bytes()))
    loader = make_loader(folder)
    address = loader.load("key", lambda: (emit(adder(5)), ["f"]))["f"]
    assert call(address, 1) == 6 and (loader.hits, loader.misses, loader.compiled) == (0, 1, 1)
    assert call(make_loader(folder).load("key", never)["f"], 2) == 7


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_only_plain_files_are_read(folder, code, kind):
    """A folder, a symbolic link and a named pipe under a kernel's name are misses; the pipe does not block."""
    kept = Store(str(folder))
    kept.write("other", code, ["f"])
    path = folder / "key.kernel"
    makers = {"folder": path.mkdir, "link": lambda: path.symlink_to(folder / "other.kernel"), "pipe": lambda: os.mkfifo(path)}
    makers[kind]()
    assert kept.read("key") is None


def test_file_that_others_may_write_is_not_read(folder, code):
    """A file's mode is checked as well as the folder's."""
    kept = Store(str(folder))
    kept.write("key", code, ["f"])
    (folder / "key.kernel").chmod(0o666)
    assert kept.read("key") is None


# ---- the folder ------------------------------------------------------------------------------------------------------


def test_folder_that_others_may_write_is_not_used(folder, code):
    """Loading from a folder that anybody can write would run anybody's code: one warning, and memory only."""
    Store(str(folder)).write("key", code, ["f"])
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="mode 0777.*Hint: chmod"):
        kept = Store(str(folder))
    kept.write("new", code, ["f"])
    assert kept.read("key") is None and kept.info().directory is None and not (folder / "new.kernel").exists()


def test_folder_of_another_user_is_not_used(folder, monkeypatch):
    """The folder must belong to the user who runs the process."""
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match="owner"):
        assert Store(str(folder)).directory is None


@pytest.mark.parametrize("directory", [None, "/dev/null/below", "nul\0byte"])
def test_kernels_work_without_a_folder(directory):
    """No folder, or one that cannot be made, means memory only."""
    loader = make_loader(directory)
    key = content_key("without a folder", str(directory))
    first = loader.load(key, lambda: (emit(adder(3)), ["f"]))
    assert call(first["f"], 4) == 7 and loader.load(key, never) is first
    assert loader.store.info() == (None, 0, 0)


def test_a_folder_without_permission_is_named_once(folder, code, monkeypatch):
    """From then on kernels are kept in memory only."""

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "no permission")

    kept = Store(str(folder))
    monkeypatch.setattr(disk.tempfile, "mkstemp", refuse)
    with pytest.warns(RuntimeWarning, match="no permission to write to folder .*in memory only. Hint: name another folder"):
        kept.write("key", code, ["f"])
    kept.write("key", code, ["f"])
    assert kept.directory is None
    monkeypatch.setattr(disk.os, "makedirs", refuse)
    with pytest.warns(RuntimeWarning, match="no permission"):
        assert Store(str(folder)).directory is None


def test_full_disk_is_no_error(folder, monkeypatch):
    """A folder that cannot be written leaves kernels in memory."""

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "no space")

    loader = make_loader(folder)
    monkeypatch.setattr(disk.tempfile, "mkstemp", full)
    assert call(loader.load("key", lambda: (emit(adder(1)), ["f"]))["f"], 1) == 2
    assert loader.store.info().kernels == 0


def test_failed_write_leaves_nothing_behind(folder, code, monkeypatch):
    """The temporary file goes when the rename fails."""
    kept = Store(str(folder))
    monkeypatch.setattr(disk.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(errno.EIO, "i/o")))
    kept.write("key", code, ["f"])
    assert list(folder.iterdir()) == []


def test_least_recently_used_kernels_are_evicted(folder, code):
    """Beyond the limit the oldest go, down to three quarters; one that was just read stays."""
    size = len(disk.encode(code, ["f"]))
    kept = Store(str(folder), limit=8 * size)
    for i in range(8):
        kept.write(f"k{i}", code, ["f"])
        os.utime(folder / f"k{i}.kernel", (1000 + i, 1000 + i))
    assert kept.read("k0") is not None  # renews its time
    kept.write("k8", code, ["f"])
    assert {path.name for path in folder.iterdir()} == {f"k{i}.kernel" for i in (0, 4, 5, 6, 7, 8)}


def test_abandoned_temporary_files_are_removed(folder, code):
    """What a killed writer left goes at the next eviction; a fresh one may have a writer and stays."""
    kept = Store(str(folder), limit=1)
    (folder / ".new-old").write_bytes(b"x")
    (folder / ".new-young").write_bytes(b"x")
    os.utime(folder / ".new-old", (1000, 1000))
    kept.write("key", code, ["f"])
    assert {path.name for path in folder.iterdir()} == {".new-young"}


def test_clear_removes_kernels_only(folder, code):
    """Other files in the folder are not ours to remove."""
    kept = Store(str(folder))
    kept.write("a", code, ["f"])
    kept.write("b", code, ["f"])
    (folder / "notes.txt").write_text("mine")
    assert kept.info().kernels == 2 and kept.clear() == 2
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NBGRAD_CACHE_DIR": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/nbgrad"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}, "/home/u/.cache/nbgrad"),
        ({"HOME": "/home/u"}, "/home/u/.cache/nbgrad"),
    ],
)
def test_default_directory(monkeypatch, variables, expected):
    """NBGRAD_CACHE_DIR, else the XDG cache folder, else ~/.cache."""
    for name in ("NBGRAD_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert store.default_directory() == expected


# ---- objects ---------------------------------------------------------------------------------------------------------


def section_header(code: bytes, wanted: int) -> int:
    """Offset in the file of the first section header of ELF type ``wanted`` with a size."""
    (start,) = struct.unpack_from("=Q", code, 40)
    (count,) = struct.unpack_from("=H", code, 60)
    headers = [start + 64 * i for i in range(count)]
    return next(
        at for at in headers if struct.unpack_from("=I", code, at + 4)[0] == wanted and struct.unpack_from("=Q", code, at + 32)[0]
    )


def put(code: bytes, layout: str, at: int, value: int) -> bytes:
    """``code`` with one number replaced."""
    patched = bytearray(code)
    struct.pack_into(layout, patched, at, value)
    return bytes(patched)


def content(code: bytes, wanted: int) -> int:
    """Offset in the file of the content of the first section of that type."""
    return struct.unpack_from("=Q", code, section_header(code, wanted) + 24)[0]


SYMTAB, STRTAB, RELA, NOBITS, PROGBITS = 2, 3, 4, 8, 1
HOSTILE = {
    "no sections": lambda c: put(c, "=H", 60, 0),
    "too many sections": lambda c: put(c, "=H", 60, 60_000),
    "sections beyond the file": lambda c: put(c, "=Q", 40, 1 << 40),
    "sections at the end of numbers": lambda c: put(c, "=Q", 40, (1 << 64) - 64),
    "another entry size": lambda c: put(c, "=H", 58, 63),
    "names in no section": lambda c: put(c, "=H", 62, 999),
    "an executable": lambda c: put(c, "=H", 16, 2),
    "another machine": lambda c: put(c, "=H", 18, 8),
    "32 bits": lambda c: put(c, "=B", 4, 1),
    "another byte order": lambda c: put(c, "=B", 5, 3 - c[5]),
    "content beyond the file": lambda c: put(c, "=Q", section_header(c, PROGBITS) + 24, len(c)),
    "content of all numbers": lambda c: put(c, "=Q", section_header(c, PROGBITS) + 32, (1 << 64) - 1),
    "zeroes without end": lambda c: put(c, "=Q", section_header(c, NOBITS) + 32, 1 << 60),
    "alignment of a gigabyte": lambda c: put(c, "=Q", section_header(c, PROGBITS) + 48, 1 << 30),
    "odd alignment": lambda c: put(c, "=Q", section_header(c, PROGBITS) + 48, 3),
    "symbols without their names": lambda c: put(c, "=I", section_header(c, SYMTAB) + 40, 0),
    "symbols linked to nothing": lambda c: put(c, "=I", section_header(c, SYMTAB) + 40, 4000),
    "half a symbol": lambda c: put(c, "=Q", section_header(c, SYMTAB) + 32, 25),
    "no symbol table": lambda c: put(c, "=I", section_header(c, SYMTAB) + 4, PROGBITS),
    "a name outside": lambda c: put(c, "=I", content(c, SYMTAB) + 24, 1 << 31),
    "a symbol of no section": lambda c: put(c, "=H", content(c, SYMTAB) + 24 * 2 + 6, 500),
    "a symbol beyond its section": lambda c: put(c, "=Q", content(c, SYMTAB) + 24 * 2 + 8, 1 << 50),
    "a relocation beyond its section": lambda c: put(c, "=Q", content(c, RELA), 1 << 50),
    "a relocation at the last byte": lambda c: put(c, "=Q", content(c, RELA), (1 << 64) - 1),
    "a relocation of an unknown type": lambda c: put(c, "=I", content(c, RELA) + 8, 250),
    "a relocation of no symbol": lambda c: put(c, "=I", content(c, RELA) + 12, 1 << 20),
    "relocations of no section": lambda c: put(c, "=I", section_header(c, RELA) + 44, 4000),
    "half a relocation": lambda c: put(c, "=Q", section_header(c, RELA) + 32, 23),
    "cut in the middle": lambda c: c[: len(c) // 2],
    "a header and nothing": lambda c: c[:64],
    "not ELF": lambda c: b"\0" * len(c),
    "nothing": lambda c: b"",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_object_never_reaches_llvm(folder, code, hostile):
    """An object with a good hash and numbers that point outside of it is compiled again; LLVM would abort on it."""
    kept = Store(str(folder))
    header = {"symbols": ["f"], "sha256": hashlib.sha256(hostile(code)).hexdigest(), "undefined": []}
    (folder / "key.kernel").write_bytes(json.dumps(header).encode() + b"\n" + hostile(code))
    assert kept.read("key") is not None, "the hash is right: only the object itself is wrong"
    with pytest.raises(CacheError, match="elf"):
        elf.inspect(hostile(code))
    loader = make_loader(folder)
    assert call(loader.load("key", lambda: (emit(adder(9)), ["f"]))["f"], 1) == 10 and loader.compiled == 1


def test_random_damage_is_refused_or_understood(code):
    """With up to four random bytes changed, ``inspect`` returns or raises CacheError, and nothing else."""
    dice = random.Random(7)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(code)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            elf.inspect(bytes(damaged))
        except CacheError:
            refused += 1
    assert refused > 300, "the damage is meant to hit headers too"


def test_inspect_lists_symbols(code):
    """What an object defines and needs is read from its symbol table."""
    symbols = elf.inspect(code)
    assert (symbols.defined, symbols.strong, symbols.undefined) == ({"f"}, {"f"}, {"tanh"})


# ---- loading ---------------------------------------------------------------------------------------------------------


def test_module_computes(folder):
    """LLVM IR text becomes functions and variables at addresses."""
    names = make_loader(folder).module(adder(40) + "@seven = global i64 7\n", ["f", "seven"])
    assert call(names["f"], 2) == 42 and ctypes.c_int64.from_address(names["seven"]).value == 7


def test_second_process_loads_what_the_first_compiled(folder):
    """A fresh loader finds the object on the disk and compiles nothing."""
    first, second = make_loader(folder), make_loader(folder)
    assert call(first.module(adder(1), ["f"])["f"], 1) == call(second.module(adder(1), ["f"])["f"], 1) == 2
    assert (first.hits, first.compiled, second.hits, second.compiled) == (0, 1, 1, 0)


def test_same_key_is_the_same_dict(folder):
    """An object is mapped once a process; the second call is a table lookup."""
    loader = make_loader(folder)
    first = loader.load("key", lambda: (emit(adder(1)), ["f"]))
    assert loader.load("key", never) is first


def test_two_modules_may_use_one_name(folder):
    """Names are local to an object: neither module's function takes the other's place."""
    loader = make_loader(folder)
    found = [loader.module(adder(amount), ["f"])["f"] for amount in (10, 20, 30)]
    assert [call(address, 1) for address in found] == [11, 21, 31]


def test_kernel_does_not_take_the_place_of_libm(folder, code):
    """A kernel that is called tanh stays apart from an object that calls libm's tanh."""
    loader = make_loader(folder)
    loader.module("define double @tanh(double %x) {\n  ret double 9.0\n}\n", ["tanh"])
    assert call(loader.load("key", lambda: (code, ["f"]))["f"], 3) == 0


def test_libm_is_found(folder, code):
    """A function of the C library resolves: tanh(4.0) rounds down to 0, table[3] to tanh's argument."""
    assert call(make_loader(folder).load("key", lambda: (code, ["f"]))["f"], 3) == 0


def test_unknown_symbol_is_refused_by_name(folder):
    """LLVM would load it as address 0; it is named instead, and nothing is stored."""
    loader = make_loader(folder)
    with pytest.raises(CacheError, match="undefined symbols nbgrad_nowhere"):
        loader.module(caller_of("nbgrad_nowhere"), ["f"])
    assert loader.store.info().kernels == 0


def test_stored_object_that_needs_an_absent_library_is_compiled_again(folder):
    """An object may come from a process that had a library which this one has not loaded."""
    Store(str(folder)).write("key", emit(caller_of("nbgrad_other")), ["f"])
    assert call(make_loader(folder).load("key", lambda: (emit(adder(2)), ["f"]))["f"], 2) == 4


def test_missing_entry_point_is_refused(folder):
    """The error names the entry point that is not there and those that are."""
    with pytest.raises(CacheError, match="lacks g; it defines f"):
        make_loader(folder).load("key", lambda: (emit(adder(2)), ["g"]))


def test_ir_that_does_not_parse_is_a_kernel_error(folder):
    """LLVM's own message comes with it."""
    with pytest.raises(KernelError, match="expected"):
        make_loader(folder).module("define nonsense", ["f"])


def test_error_of_the_compiler_is_the_callers(folder):
    """A compiler that raises leaves the loader usable and the key free."""
    loader = make_loader(folder)
    with pytest.raises(ZeroDivisionError):
        loader.load("key", lambda: 1 // 0)
    assert call(loader.load("key", lambda: (emit(adder(2)), ["f"]))["f"], 2) == 4


def test_threads_that_want_one_kernel_compile_it_once(folder):
    """Eight threads at once: one compilation, one address."""
    loader, calls, found = make_loader(folder), [], []

    def compile():
        calls.append(1)
        time.sleep(0.05)
        return emit(adder(2)), ["f"]

    threads = [threading.Thread(target=lambda: found.append(loader.load("key", compile)["f"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found) == 8 and len(set(found)) == 1


def test_compiling_may_need_another_kernel(folder):
    """The lock is re-entrant: a compiler may load what it builds on."""
    loader = make_loader(folder)

    def outer():
        inner = loader.load("inner", lambda: (emit(adder(1)), ["f"]))["f"]
        return emit(adder(call(inner, 99), "g")), ["g"]

    assert call(loader.load("outer", outer)["g"], 0) == 100


# ---- processes -------------------------------------------------------------------------------------------------------

WRITER = """
import ctypes, sys
from nbgrad.kernels.cpu.store import Loader, Store
loader = Loader(Store(sys.argv[1]))
for i in range(30):
    text = f"define i64 @f(i64 %x) {{ %y = add i64 %x, {i} ret i64 %y }}"
    address = loader.module(text, ["f"])["f"]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 1 + i
print(loader.hits, loader.compiled, "numba" in sys.modules)
"""


def start_writer(folder) -> subprocess.Popen:
    """A process that loads thirty modules through the folder."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def test_processes_share_a_folder(folder):
    """Three processes at once compute the right thing, and leave thirty kernels and no temporary file."""
    writers = [start_writer(folder) for _ in range(3)]
    outputs = [writer.communicate(timeout=60)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], outputs
    assert sorted(path.suffix for path in folder.iterdir()) == [".kernel"] * 30


def test_warm_process_does_not_import_numba(folder):
    """After a cold process, a warm one has thirty hits, compiles nothing and never imports Numba."""
    outputs = [start_writer(folder).communicate(timeout=60)[0].split() for _ in range(2)]
    assert outputs == [["0", "30", "False"], ["30", "0", "False"]]


@pytest.mark.forks
def test_fork_while_another_thread_compiles(folder):
    """The child inherits no held lock, neither ours nor llvmlite's: it compiles and loads at once."""
    loader, stop = make_loader(folder), threading.Event()

    def compile_on_and_on():
        i = 0
        while not stop.is_set():
            i += 1
            loader.module(adder(i, "busy"), ["busy"])

    thread = threading.Thread(target=compile_on_and_on)
    thread.start()
    try:
        results = [fork(lambda: call(loader.module(adder(7), ["f"])["f"], 1) == 8) for _ in range(10)]
    finally:
        stop.set()
        thread.join()
    assert results == [0] * 10


@pytest.mark.forks
def test_fork_while_another_thread_is_inside_llvm(folder):
    """The child does not inherit llvmlite's lock from a thread that never asked for ours, such as a user's Numba."""
    loader, stop = make_loader(folder), threading.Event()

    def parse_on_and_on():
        while not stop.is_set():
            llvm.parse_assembly(adder(1))

    thread = threading.Thread(target=parse_on_and_on)
    thread.start()
    try:
        results = [fork(lambda: call(loader.module(adder(7), ["f"])["f"], 1) == 8) for _ in range(10)]
    finally:
        stop.set()
        thread.join()
    assert results == [0] * 10


@pytest.mark.forks
def test_fork_while_compiling_in_the_same_thread(folder):
    """A compiler may fork (a linker, say): the locks are the thread's own, and both sides go on."""
    loader, results = make_loader(folder), []

    def compile():
        results.append(fork(lambda: call(loader.module(adder(3), ["f"])["f"], 1) == 4))
        return emit(adder(2, "g")), ["g"]

    assert call(loader.load("key", compile)["g"], 1) == 3 and results == [0]


# ---- the key ---------------------------------------------------------------------------------------------------------


def test_content_key_separates_its_parts():
    """Moving a letter from one part to the next is another key; bytes and text of one content are the same."""
    assert content_key("ab", "c") != content_key("a", "bc") != content_key("abc")
    assert content_key("ab") == content_key(b"ab") and len(content_key("ab")) == 64


def test_key_depends_on_numba_options(monkeypatch):
    """An option that changes machine code changes the key; the number of threads does not."""

    def fresh() -> str:
        store.platform_key.cache_clear()
        return store.platform_key()

    try:
        before = fresh()
        monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
        assert fresh() == before
        monkeypatch.setenv("NUMBA_OPT", "1")
        assert fresh() != before
    finally:
        store.platform_key.cache_clear()


@pytest.mark.parametrize("is_wide", [True, False])
def test_vectors_are_as_wide_as_the_processor_has_them(monkeypatch, is_wide):
    """Only processors with 512-bit vectors are told not to halve them; objects made with either choice have other keys."""
    features = store.llvm.get_host_cpu_features()
    features["avx512f"] = is_wide
    monkeypatch.setattr(store.llvm, "get_host_cpu_features", lambda: features)
    kept = store.platform_key, store.full_width
    try:
        for function in kept:
            function.cache_clear()
        assert ("-prefer-256-bit" in store.full_width()) is is_wide
        assert ("-prefer-256-bit" in store.platform_key()) is is_wide
    finally:
        for function in kept:
            function.cache_clear()


def test_numba_version_is_right():
    """The version that is read from a file is the one that the installed package reports."""
    from importlib.metadata import version

    assert store.numba_version() == version("numba") == store.numba_metadata_version()


# ---- nbgrad.cache ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own_loader(folder, monkeypatch):
    """The process's loader, replaced by one on an empty folder."""
    loader = make_loader(folder)
    monkeypatch.setattr(store, "_loader", loader)
    return loader


def test_cache_info_counts(own_loader, folder):
    """Folder, kernels and this process's hits, misses and compilations."""
    own_loader.module(adder(1), ["f"])
    found = cache.info()
    assert found.directory == str(folder) and found.kernels == 1 and found.bytes > 100
    assert (found.hits, found.misses, found.compiled) == (0, 1, 1)


def test_cache_clear_leaves_loaded_kernels_usable(own_loader):
    """The files go, the machine code in this process stays."""
    address = own_loader.module(adder(1), ["f"])["f"]
    assert cache.clear() == 1 and cache.info().kernels == 0 and call(address, 1) == 2


def test_cache_warm_calls_the_hooks(own_loader, monkeypatch):
    """Each hook gets the names; the number of compilations is returned, 0 the second time."""
    asked = []

    def warmer(ops):
        asked.append(ops)
        own_loader.module(adder(1), ["f"])

    monkeypatch.setattr(cache, "WARMERS", [warmer])
    assert cache.warm(["mul"]) == 1 and cache.warm() == 0 and asked == [["mul"], None]
