"""Zip files of uncompressed members, as torch writes and maps them: each member begins at a multiple of 64 bytes.

A member is read into an array of its own, or is a part of the mapped file. What the directory of a zip says is compared with the
file before anything of that size is made.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import Any

import numpy as np

from .errors import LoadError

__all__ = ["Archive", "ArchiveWriter", "damaged"]

ALIGNMENT = 64
HEADER = struct.Struct("<4s22xHH")  # of a member: its signature, the lengths of its name and of what follows that
BLOCK = 1 << 25  # bytes that small members share
# From so many bytes on a member's checksum is not compared, which takes as long as to read it; torch compares none.
LARGE = 1 << 18


def damaged(what: str) -> LoadError:
    """The error for a file that is not whole, or was made by nobody's ``save``."""
    return LoadError(f"load: {what}; expected a whole file of nbgrad.save or torch.save. Hint: copy or write it again.")


class Archive:
    """A zip file that is read.

    Args:
        file: open for reading bytes, with ``seek``.
        mapped: the whole file as bytes, if members are to be parts of it.

    Raises:
        LoadError: no zip, or one without a pickle.
    """

    def __init__(self, file: Any, mapped: np.ndarray | None = None) -> None:
        self.file, self.mapped = file, mapped
        self.block = np.empty(0, np.uint8)
        try:
            directory = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            raise damaged(f"the zip has no directory: {error}") from None
        self.members = {info.filename: info for info in directory.infolist()}
        self.length = file.seek(0, 2)
        self.left = self.length  # bytes that members may have together: parts of the file may be no several members'
        roots = [name.removesuffix("data.pkl") for name in self.members if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise damaged("the zip has no member data.pkl, with which an object begins")
        self.root = roots[0]
        if f"{self.root}constants.pkl" in self.members:
            raise LoadError("load: the file holds a program of TorchScript, expected an object. Hint: save its state_dict().")
        self.is_foreign = self.root + "byteorder" in self.members and self.read("byteorder").tobytes() == b"big"

    def read(self, name: str) -> np.ndarray:
        """The bytes of a member.

        Raises:
            LoadError: there is none, or the file does not hold it as its directory says.
        """
        info = self.members.get(self.root + name)
        if info is None:
            raise damaged(f"the zip has no member {name!r}, which its pickle names")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.compress_size != info.file_size:
            raise damaged(f"member {name!r} is compressed or encrypted")
        start, size = self.start(info), info.file_size
        if start + size > self.length or size > self.left:
            raise damaged(f"member {name!r} has {size} bytes, of which the file has {max(min(self.length - start, self.left), 0)}")
        self.left -= size
        if self.mapped is not None:
            return self.mapped[start : start + size]
        self.file.seek(start)
        out = self.room(size)
        whole, at = memoryview(out.data), 0
        while at < size:
            count = fill(self.file, whole[at:])
            if not count:
                raise damaged(f"the file ends inside of member {name!r}")
            at += count
        if size < LARGE and zlib.crc32(whole) != info.CRC:
            raise damaged(f"member {name!r} has another checksum than the directory of the zip says")
        return out

    def room(self, size: int) -> np.ndarray:
        """Memory of so many bytes: a part of a block, since the system gives few large pieces sooner than many small ones.

        A block is freed when none of its parts is used any more.
        """
        taken = -(-size // ALIGNMENT) * ALIGNMENT
        if taken > BLOCK // 2:
            return np.empty(size, np.uint8)
        if taken > len(self.block):
            self.block = np.empty(min(BLOCK, max(taken, self.left + taken)), np.uint8)
        out, self.block = self.block[:size], self.block[taken:]
        return out

    def start(self, info: zipfile.ZipInfo) -> int:
        """Where the bytes of a member begin."""
        self.file.seek(max(info.header_offset, 0))
        header = self.file.read(HEADER.size)
        if info.header_offset < 0 or len(header) < HEADER.size or header[:4] != b"PK\3\4":
            raise damaged(f"where the directory has member {info.filename!r} there is none")
        return info.header_offset + HEADER.size + sum(HEADER.unpack(header)[1:])


def fill(file: Any, part: memoryview) -> int:
    """Read bytes into memory; how many there were."""
    if hasattr(file, "readinto"):
        return file.readinto(part) or 0
    data = file.read(len(part))
    part[: len(data)] = data
    return len(data)


class ArchiveWriter:
    """A zip file that is written to a file which is open for writing bytes."""

    def __init__(self, file: Any, root: str = "archive/") -> None:
        self.zip, self.root = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED), root

    def put(self, name: str, data: Any) -> None:
        """Write a member: bytes, or a contiguous array of them."""
        info, size = zipfile.ZipInfo(self.root + name), len(data)
        info.file_size, is_large = size, size >= zipfile.ZIP64_LIMIT
        file: Any = self.zip.fp
        before = file.tell() + HEADER.size + len(info.filename) + 20 * is_large
        padding = -(before + 4) % ALIGNMENT
        info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        with self.zip.open(info, "w", force_zip64=is_large) as member:
            member.write(data)

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        """Write the directory; of a file that is not whole, nothing, now or later."""
        if kind is not None:
            self.zip.fp = None
        self.zip.close()
