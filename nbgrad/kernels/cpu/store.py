"""Compiled kernels: found in this process, on the disk, or compiled now, under one name each.

``Loader`` maps objects into the process and says where their symbols are; ``disk`` keeps them between processes. Only
llvmlite's binding is needed for that: a warm process never imports Numba.

NOTE [Locks and fork]: a child that is forked while another thread compiles would inherit locks that nobody releases.
``fork`` therefore first takes the compile lock, Numba's (if it was imported) and llvmlite's, in the order in which a
compilation takes them, and waits for imports under way (``base/locks.py``); the child renews all three.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ..._version import __version__
from ...base.errors import CacheError
from ...base.locks import allow_imports, no_imports
from . import elf
from .digest import sha256
from .disk import Store, StoreInfo, default_directory
from .emit import Emitter, emit_all, full_width, host_machine

__all__ = [
    "ABI_VERSION",
    "Store",
    "StoreInfo",
    "Loader",
    "loader",
    "compile_lock",
    "content_key",
    "platform_key",
    "default_directory",
]

ABI_VERSION = 4  # of the kernels' signature and the files' format; part of every key
IMPORTS_MAY_TAKE = 10.0  # seconds; a fork waits no longer, for the import may wait for what the forking thread holds
# NUMBA_ variables that do not change machine code; any other one is part of every key.
IRRELEVANT_OPTIONS = {
    "NUMBA_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_THREADING_LAYER",
    "NUMBA_COLOR_SCHEME",
    "NUMBA_WARNINGS",
    "NUMBA_DEVELOPER_MODE",
    "NUMBA_FULL_TRACEBACKS",
}


# ---------------------------------------------------------------------------------------------------------- the key


@cache
def platform_key() -> str:
    """Everything outside a kernel's text that its machine code depends on, as one line of text.

    Versions of the ABI, nbgrad, Numba (not imported), llvmlite and Python; the target; Numba's options.
    """
    options = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith("NUMBA_") and name not in IRRELEVANT_OPTIONS
    ]
    return "|".join(
        [
            f"abi {ABI_VERSION}",
            f"nbgrad {__version__}",
            f"numba {numba_version()}",
            f"llvmlite {llvmlite.__version__}",
            str(sys.implementation.cache_tag),
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            llvm.get_host_cpu_features().flatten(),
            full_width(),
            *options,
        ]
    )


def numba_version() -> str:
    """Numba's version without importing it or ``importlib.metadata``: from its version file."""
    from importlib.util import find_spec

    spec = find_spec("numba")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        try:
            with open(os.path.join(folder, "_version.py"), encoding="utf-8") as file:
                found = re.search(r'"version":\s*"([^"]+)"', file.read())
        except OSError:
            continue
        if found:
            return found.group(1)
    return numba_metadata_version()


def numba_metadata_version() -> str:
    """The slower way, for a Numba that keeps its version elsewhere."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("numba")
    except PackageNotFoundError:
        return "none"


def content_key(*parts: str | bytes) -> str:
    """Name an object by what it is made of: sha256, in hex, of the platform and of ``parts``.

    Parts are hashed with their lengths, so that ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = sha256()
    for part in (platform_key(), *parts):
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


# -------------------------------------------------------------------------------------------------------- the locks


class CompileLock:
    """The re-entrant lock around compiling and loading, held across ``fork``: see NOTE [Locks and fork]."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held: list[Any] = []  # the locks of other packages that a fork in progress has taken

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        """Wait until no thread compiles or imports, and keep it so."""
        end = time.monotonic() + IMPORTS_MAY_TAKE
        self._take()
        # Compiling imports, and imports compile: whoever waits for one holds neither.
        while not no_imports() and time.monotonic() < end:
            self._release()
            time.sleep(0.001)
            self._take()

    def _take(self) -> None:
        self._lock.acquire()
        self._held = foreign_locks()
        for owner in self._held:
            owner._lock.acquire()

    def _release(self) -> None:
        for owner in reversed(self._held):
            owner._lock.release()
        self._held = []
        self._lock.release()

    def after_fork_in_parent(self) -> None:
        """Let imports and compilations go on."""
        allow_imports()
        self._release()

    def after_fork_in_child(self) -> None:
        """Forget the parent's threads: fresh locks, since one may have had waiters."""
        allow_imports()
        for owner in self._held:
            owner._lock = threading.RLock()
        self._held = []
        self._lock = threading.RLock()


def foreign_locks() -> list[Any]:
    """The owners of the re-entrant locks (attribute ``_lock``) that a compilation takes: Numba's, then llvmlite's.

    Both are private attributes, so each is taken only if it is there. llvmlite's own ``with`` would also call back into
    Numba's event log; its inner lock is enough.
    """
    numba_module = sys.modules.get("numba.core.compiler_lock")
    owners = (getattr(numba_module, "global_compiler_lock", None), getattr(llvm.ffi.lib, "_lock", None))
    return [owner for owner in owners if hasattr(getattr(owner, "_lock", None), "acquire")]


compile_lock = CompileLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=compile_lock.before_fork,
        after_in_parent=compile_lock.after_fork_in_parent,
        after_in_child=compile_lock.after_fork_in_child,
    )


# ------------------------------------------------------------------------------------------------------- the loader


Made = tuple[bytes | str, list[str]]


class Loader:
    """Maps objects into this process, each once. Cold and warm take the same road: the stored bytes are loaded.

    Attributes:
        store: where objects are kept between processes.
        hits, misses: how often the disk had a sound object, and had not.
        compiled: how many were compiled.
    """

    def __init__(self, store: Store):
        self.store = store
        self.hits = self.misses = self.compiled = 0
        self._addresses: dict[str, dict[str, int]] = {}
        self._offered: dict[str, tuple[bytes, list[str]]] = {}
        self._engines: list[Engine] = []
        self._emitter: Emitter | None = None

    @property
    def emitter(self) -> Emitter:
        """LLVM's compiler for this processor, for who holds the compile lock."""
        with compile_lock:
            if self._emitter is None:
                self._emitter = Emitter()
            return self._emitter

    def load(self, key: str, compile: Callable[[], Made]) -> dict[str, int]:
        """Return ``{symbol: address}`` of the object ``key``; the same dict every time.

        Args:
            key: the object's name, from ``content_key``.
            compile: makes ``(object file or LLVM IR text, entry points)``; called only if neither this process nor the disk has
                it, and by one thread at a time.

        Raises:
            CacheError: the object needs a symbol that this process does not have, or lacks one of its entry points.
        """
        found = self._addresses.get(key)
        if found is None:
            with compile_lock:
                found = self._addresses.get(key)
                if found is None:
                    found = self._addresses[key] = self._stored(key) or self._compiled(key, *compile())
        return found

    def load_all(self, wanted: dict[str, Callable[[], Made]]) -> None:
        """As ``load`` of each, but texts become machine code side by side, while the next one is written.

        Raises:
            KernelError, CacheError: as ``load``.
        """
        with compile_lock:
            missing, symbols, codes = list[str](), dict[str, list[str]](), dict[str, bytes]()
            for key in wanted:
                if key not in self._addresses:
                    found = self._stored(key)
                    if found is None:
                        missing.append(key)
                    else:
                        self._addresses[key] = found

            def texts() -> Iterator[tuple[str, str]]:
                for key in missing:
                    made, symbols[key] = wanted[key]()
                    if isinstance(made, str):
                        yield key, made
                    else:
                        codes[key] = made

            if missing:
                codes.update(emit_all(texts(), len(missing)))
            for key in missing:
                self._addresses[key] = self._compiled(key, codes[key], symbols[key])

    def keys(self) -> list[str]:
        """The names of the objects that this process has."""
        return list(self._addresses)

    def offer(self, objects: dict[str, tuple[bytes, list[str]]]) -> None:
        """Take objects, with their entry points, from here and not from the disk: see NOTE [Trust in the store] of disk.py.

        Args:
            objects: by their names, as ``load`` asks for them.
        """
        with compile_lock:
            self._offered.update(objects)

    def module(self, text: str, names: list[str], opt: int = 3) -> dict[str, int]:
        """Return ``{name: address}`` for functions and variables of LLVM IR text, kept in the store like kernels.

        Raises:
            KernelError: LLVM refuses the text.
            CacheError: as ``load``.
        """
        key = content_key("module", text, str(opt), *names)
        return self.load(key, lambda: (self.emit(text, opt), list(names)))

    def _stored(self, key: str) -> dict[str, int] | None:
        entry = self._offered.pop(key, None) or self.store.read(key)
        try:
            found = self._map(*entry) if entry and elf.is_elf(entry[0]) else None
        except CacheError:  # malformed, or made where another library was loaded: compile it here
            found = None
        self.hits += found is not None
        self.misses += found is None
        return found

    def _compiled(self, key: str, made: bytes | str, symbols: list[str]) -> dict[str, int]:
        code = self.emit(made) if isinstance(made, str) else made
        self.compiled += 1
        found = self._map(code, symbols)
        self.store.write(key, code, symbols)
        return found

    def emit(self, text: str, opt: int = 3, optimise: Callable[[Any, Any], None] | None = None) -> bytes:
        """Object code of LLVM IR text: ``Emitter.emit``."""
        return self.emitter.emit(text, opt, optimise)

    def _map(self, code: bytes, symbols: list[str]) -> dict[str, int]:
        """Load an object; checks all that LLVM would end the process for, or resolve to address 0."""
        known = describe(code, symbols)
        missing = [symbol for symbol in symbols if symbol not in known.defined]
        if missing:
            raise CacheError(
                f"load: the object lacks {', '.join(missing)}; it defines {', '.join(sorted(known.defined)) or 'nothing'}."
            )
        require(known.undefined)
        engine = self._engine_without(known.strong | known.undefined)
        return engine.add(code, symbols, known.strong)

    def _engine_without(self, names: frozenset[str]) -> Engine:
        """An engine where none of ``names`` is defined. Nearly always the first: a kernel's name has its key.

        An engine must not meet a definition twice, and it prefers its own to the process's: an object that calls
        ``tanh`` would get a kernel of that name instead of libm's function.
        """
        for engine in self._engines:
            if engine.names.isdisjoint(names):
                return engine
        self._engines.append(Engine())
        return self._engines[-1]


def describe(code: bytes, symbols: list[str]) -> elf.ObjectSymbols:
    """An object's symbols. Other formats (macOS) are never read from the disk: there the compiler is believed."""
    if elf.is_elf(code) or sys.platform == "linux":
        return elf.inspect(code)
    return elf.ObjectSymbols(frozenset(symbols), frozenset(symbols), frozenset())


class Engine:
    """LLVM's loader of objects, and the names that it holds. It owns its target machine."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._mcjit = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine())

    def add(self, code: bytes, symbols: list[str], strong: frozenset[str]) -> dict[str, int]:
        """Map an object that was checked and return the addresses of ``symbols``."""
        try:
            self._mcjit.add_object_file(llvm.ObjectFileRef.from_data(code))
        except (RuntimeError, ValueError) as error:
            raise CacheError(f"load: LLVM refuses the object of {len(code)} bytes: {error}.") from None
        self.names |= strong
        return {symbol: self._mcjit.get_global_value_address(symbol) for symbol in symbols}


# The linker makes this one; it is not looked up.
LINKER_SYMBOLS = {"_GLOBAL_OFFSET_TABLE_"}
_resolved: set[str] = set(LINKER_SYMBOLS)


def require(names: frozenset[str]) -> None:
    """Refuse unless LLVM will find every name: it would load an unknown one as address 0."""
    unknown = sorted(name for name in names if name not in _resolved and not resolve(name))
    if unknown:
        raise CacheError(
            f"load: undefined symbols {', '.join(unknown)} are in no library of this process. Hint: a "
            "kernel may call only libc, libm and what llvmlite.binding.add_symbol has registered."
        )
    _resolved.update(names)


def resolve(name: str) -> bool:
    """Make ``name`` known to LLVM; whether this process has it."""
    if llvm.address_of_symbol(name):
        return True
    for library in system_libraries():
        try:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
        llvm.add_symbol(name, address)
        return True
    return False


@cache
def system_libraries() -> list[ctypes.CDLL]:
    """The process itself and the C mathematics library, which a static interpreter may not have brought along."""
    libraries = []
    for name in (None, "libm.so.6"):
        try:
            libraries.append(ctypes.CDLL(name))
        except (OSError, TypeError):
            continue
    return libraries


_loader: Loader | None = None


def loader() -> Loader:
    """The process's loader, on the store in ``default_directory()``; made at the first call."""
    global _loader
    if _loader is None:
        with compile_lock:
            if _loader is None:
                _loader = Loader(Store(default_directory()))
    return _loader
