"""Files of compiled functions: two lines that say what this is, a table in JSON, and bytes, each known by its digest.

NOTE [Trust in files]: the table is text; the graphs in it are parsed and checked, and nothing else in it can run. Objects are
machine code: those of a file are used only if it is this user's own, and nobody else may write it, as of the folder of kernels
(kernels/cpu/disk.py); otherwise everything is compiled from the text. Digests tell truncation and accidents, not malice.
"""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

from ..._version import __version__
from ...base.errors import GraphError, require_path
from ...kernels.cpu.digest import hexdigest
from ...kernels.cpu.disk import is_own, replace_file

__all__ = ["File", "read_file", "write_file"]

MAGIC, FORMAT = b"nbgrad compiled function, format ", 2
LONGEST_LINE = 200


class File:
    """A file that was read.

    Attributes:
        path: of it.
        table: what it says.
        own: whether its objects may be used: NOTE [Trust in files].
    """

    def __init__(self, path: str, table: dict[str, Any], data: bytes, own: bool):
        self.path, self.table, self.data, self.own = path, table, data, own

    def bytes_of(self, digest: str, what: str) -> bytes:
        """Bytes by their digest.

        Raises:
            GraphError: they are damaged.
        """
        found = self.find(digest)
        if found is None:
            refuse(self.path, f"is damaged: {what} has not the digest {digest[:16]}", "save it again")
        return found

    def find(self, digest: str) -> bytes | None:
        """Bytes by their digest; None where they are missing or damaged."""
        start, size = self.table["bytes"].get(digest, (0, -1))
        found = self.data[start : start + size] if size >= 0 else None
        return found if found is not None and hexdigest(found) == digest else None


def refuse(path: str, what: str, hint: str) -> NoReturn:
    """What is wrong with a file.

    Raises:
        GraphError: always.
    """
    raise GraphError(f"load: {path!r} {what}. Hint: {hint}.")


def write_file(path: Any, table: dict[str, Any], parts: dict[str, bytes]) -> None:
    """Write a file, atomically.

    Args:
        parts: bytes by digest.
    """
    places, at = {}, 0
    for digest, data in parts.items():
        places[digest] = at, len(data)
        at += len(data)
    text = json.dumps({**table, "nbgrad": __version__, "bytes": places}, indent=1).encode()
    head = MAGIC + b"%d\n" % FORMAT + f"{hexdigest(text)} {len(text)} {at}\n".encode()
    try:
        replace_file(os.fspath(path), head, text, *parts.values(), mode=0o644, lasting=True)
    except OSError as error:  # of a file beside it, which nobody knows
        if error.filename is None:
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def read_file(path: Any) -> File:
    """Read a file, and see that all of it is there.

    Raises:
        ArgumentError: no path. GraphError: another file, or a damaged one. OSError: none.
    """
    path = require_path("load", path)
    with open(path, "rb") as file:
        own = is_own(os.fstat(file.fileno()))
        first, second = file.readline(LONGEST_LINE), file.readline(LONGEST_LINE)
        if not first.startswith(MAGIC):
            refuse(path, f"is no file that nbgrad.jit.save wrote: it begins with {first[:20]!r}", "save the function first")
        if first != MAGIC + b"%d\n" % FORMAT:
            known = first[len(MAGIC) :].strip().decode(errors="replace")
            refuse(path, f"has format {known}, expected {FORMAT}", "load it with the version of nbgrad that saved it")
        try:
            digest, *sizes = second.decode().split()
            table_size, rest = map(int, sizes)
        except ValueError:
            refuse(path, "is damaged: its second line is not a digest and two sizes", "save it again")
        data = file.read()
    if len(data) != table_size + rest:
        what = f"has {len(data):,} bytes behind its second line, expected {table_size + rest:,}"
        refuse(path, f"is damaged: it {what}", "copy it again, or save it again")
    text = data[:table_size]
    if hexdigest(text) != digest:
        refuse(path, f"is damaged: its table has not the digest {digest[:16]}", "save it again")
    return File(path, json.loads(text), data[table_size:], own)
