"""The compiled kernels on the disk: a folder of files, one a kernel: a JSON line, then the ELF object.

NOTE [Trust in the store]: whoever can write a file that we load runs code in our process.
  1. the folder is the user's own and writable by nobody else; otherwise there is no disk cache, and one warning says so
  2. a file is read only if it is a plain file of this user; its hash detects truncation and accidents, not malice
  3. an object's bounds are checked (``elf``) before LLVM sees it, since LLVM aborts or reads beyond it otherwise
  4. whatever fails a check is a miss: the kernel is compiled and the file replaced. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from ...base.errors import CacheError
from ...base.user_stack import warn_user
from . import elf
from .digest import sha256

__all__ = ["Store", "StoreInfo", "default_directory"]

DEFAULT_LIMIT = 512 << 20  # bytes on disk
EVICT_TO = 0.75  # of the limit, so that eviction is rare
USED_RESOLUTION = 3600  # seconds: a hit renews a file's time at most this often (one system call less)
ABANDONED_AFTER = 3600  # seconds: a temporary file of this age belongs to a process that died
MOST_FILE_BYTES, MOST_HEADER_BYTES = 64 << 20, 1 << 16
SUFFIX, TEMPORARY = ".kernel", ".new-"
OPEN_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
KEY = re.compile(r"[A-Za-z0-9_-]{1,200}")


def default_directory() -> str | None:
    """``NBGRAD_CACHE_DIR``, else ``nbgrad`` under ``XDG_CACHE_HOME`` or ``~/.cache``; None where there is no home."""
    chosen = os.environ.get("NBGRAD_CACHE_DIR")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: a relative path is to be ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "nbgrad") if os.path.isabs(base) else None


class StoreInfo(NamedTuple):
    """What a store holds: its folder (None: memory only), the number of kernels and their bytes."""

    directory: str | None
    kernels: int
    bytes: int


class Store:
    """Compiled objects on the disk, for one user: see NOTE [Trust in the store].

    Any number of processes may use one folder: a reader sees an old file, a new file or none. A folder that cannot be
    made, or cannot be written, is no error: kernels are then kept in memory only, and one warning says so where it is a matter of
    permission.

    Args:
        directory: the folder; made with mode 0700 if it is missing. None: no disk.
        limit: bytes; beyond it the kernels unused for longest go.

    Attributes:
        directory: the folder, or None if it is not used.
    """

    def __init__(self, directory: str | None, limit: int = DEFAULT_LIMIT):
        self.directory = private_directory(directory) if directory else None
        self.limit = limit
        self._bytes: int | None = None  # on the disk; counted at the first write, then estimated

    def read(self, key: str) -> tuple[bytes, list[str]] | None:
        """Return ``(object, its symbols)``, or None where there is no sound file for ``key``."""
        data = self._content(key)
        return decode(data) if data is not None else None

    def write(self, key: str, code: bytes, symbols: list[str]) -> None:
        """Keep an object; quietly does nothing where that is impossible, or if it is not ELF and cannot be checked.

        Args:
            key: 1 to 200 letters, digits, ``_`` or ``-``; ``content_key`` makes one.
            code: the object file.
            symbols: the entry points that a reader is to get.
        """
        path = self._path(key)
        if path is None or not elf.is_elf(code):
            return
        data = encode(code, symbols)
        try:
            replace_file(path, data)
            self._account(len(data))
        except PermissionError:
            if self.directory:
                warn_unwritable(self.directory)
            self.directory = None
        except OSError:
            pass  # a full or read-only disk: the kernel stays in memory

    def info(self) -> StoreInfo:
        """Count what is there."""
        files = list(self._files())
        return StoreInfo(self.directory, len(files), sum(size for _, size, _ in files))

    def clear(self) -> int:
        """Remove all kernels and what interrupted writers left; return how many kernels there were."""
        self._bytes = None
        self._sweep(older_than=0.0)
        return sum(remove(path) for path, _, _ in list(self._files()))

    def _path(self, key: str) -> str | None:
        if not KEY.fullmatch(key):
            raise CacheError(f"store: key {key!r}, expected 1 to 200 letters, digits, '_' or '-'.")
        return os.path.join(self.directory, key + SUFFIX) if self.directory else None

    def _content(self, key: str) -> bytes | None:
        path = self._path(key)
        return own_content(path) if path is not None else None

    def _files(self) -> Iterator[tuple[str, int, float]]:
        """Yield path, bytes and time of last use of every kernel."""
        for entry in self._entries(lambda name: name.endswith(SUFFIX)):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process removed it
            yield entry.path, status.st_size, status.st_mtime

    def _entries(self, wanted: Callable[[str], bool]) -> list[os.DirEntry]:
        if self.directory is None:
            return []
        try:
            with os.scandir(self.directory) as entries:
                return [entry for entry in entries if wanted(entry.name)]
        except OSError:
            return []

    def _account(self, written: int) -> None:
        """Note that a file was written, and make room beyond the limit."""
        if self._bytes is None:
            self._bytes = self.info().bytes
        else:
            self._bytes += written
        if self._bytes > self.limit:
            self._evict()

    def _evict(self) -> None:
        self._sweep(older_than=ABANDONED_AFTER)
        files = sorted(self._files(), key=lambda file: file[2])
        left = sum(size for _, size, _ in files)
        for path, size, _ in files:
            if left <= EVICT_TO * self.limit:
                break
            remove(path)
            left -= size
        self._bytes = left

    def _sweep(self, older_than: float) -> None:
        """Remove the temporary files of writers that died."""
        for entry in self._entries(lambda name: name.startswith(TEMPORARY)):
            try:
                abandoned = time.time() - entry.stat(follow_symlinks=False).st_mtime >= older_than
            except OSError:
                continue
            if abandoned:
                remove(entry.path)


def private_directory(directory: str) -> str | None:
    """Make the folder if needed; return it if code may be loaded from it, else None (and warn if it is unsafe)."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        directory = os.path.realpath(directory)
        status = os.stat(directory)
    except PermissionError:
        warn_unwritable(directory)
        return None
    except (OSError, ValueError):
        return None
    if is_own(status):
        return directory
    mode = stat.S_IMODE(status.st_mode)
    warn_user(
        f"cache: folder {directory} has owner {status.st_uid} and mode {mode:04o}, expected owner "
        f"{os.getuid()} and no write permission for others; kernels are kept in memory only. "
        "Hint: chmod go-w it, or name another folder in NBGRAD_CACHE_DIR.",
        RuntimeWarning,
    )
    return None


def warn_unwritable(directory: str) -> None:
    """Say that nothing can be kept in a folder."""
    warn_user(
        f"cache: no permission to write to folder {directory}; kernels are kept in memory only. "
        "Hint: name another folder in NBGRAD_CACHE_DIR.",
        RuntimeWarning,
    )


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's and nobody else can write it. Windows has no such modes."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def own_content(path: str) -> bytes | None:
    """The content of a file that code may be loaded from; None for anything else."""
    try:
        # Not through a link, and not waiting for the other end of a pipe.
        handle = os.open(path, OPEN_FLAGS)
    except OSError:
        return None
    try:
        return read_own_file(handle, path)
    except OSError:
        return None
    finally:
        os.close(handle)


def read_own_file(handle: int, path: str) -> bytes | None:
    """The content of a plain file of this user's, whose time of use is renewed; None for anything else."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or not is_own(status) or status.st_size > MOST_FILE_BYTES:
        return None
    if time.time() - status.st_mtime > USED_RESOLUTION:
        mark_used(path)
    return os.read(handle, status.st_size)  # a short read fails the hash


def encode(code: bytes, symbols: list[str]) -> bytes:
    """A file's content: the header line, which people can read too, and the object."""
    header = {"symbols": list(symbols), "sha256": sha256(code).hexdigest(), "undefined": sorted(elf.inspect(code).undefined)}
    return json.dumps(header).encode() + b"\n" + code


def decode(data: bytes) -> tuple[bytes, list[str]] | None:
    """The object and its symbols, or None for a file that is not what ``encode`` made."""
    end = data.find(b"\n", 0, MOST_HEADER_BYTES)
    code = data[end + 1 :]
    try:
        header = json.loads(data[: max(end, 0)])
        symbols, digest = header["symbols"], header["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    named = isinstance(symbols, list) and symbols and all(isinstance(symbol, str) for symbol in symbols)
    return (code, symbols) if named and digest == sha256(code).hexdigest() else None


def replace_file(path: str, *parts: bytes, mode: int = 0o600, lasting: bool = False) -> None:
    """Write atomically: see ``replacing``."""
    with replacing(path, mode, lasting) as file:
        file.writelines(parts)


@contextlib.contextmanager
def replacing(path: str, mode: int = 0o600, lasting: bool = False, prefix: str = TEMPORARY) -> Iterator[BinaryIO]:
    """A file to write that takes the name afterwards: a reader sees the old file, the new one or none.

    Args:
        mode: of the file. lasting: whether it is on the disk before the name is. prefix: of its name until then.
    """
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=prefix)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if mode != 0o600:  # which mkstemp gives it
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def remove(path: str) -> bool:
    """Remove a file; whether it was there for us to remove."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def mark_used(path: str) -> None:
    """Renew a file's time, by which eviction goes (access times are not kept on many systems)."""
    try:
        os.utime(path)
    except OSError:
        pass  # a read-only folder
