"""SHA-256 from Python's own module: ``hashlib`` loads OpenSSL, to hash some kilobytes (benchmarks/test_startup.py)."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ["hexdigest", "sha256"]


def own_sha256() -> Any:
    """The built-in function, where this interpreter has one; else hashlib's."""
    try:
        return import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except (ImportError, AttributeError):
        return import_module("hashlib").sha256


sha256 = own_sha256()
MUCH = 1 << 20  # bytes; OpenSSL takes a quarter of the time for each, but must be imported


def hexdigest(data: bytes) -> str:
    """SHA-256 of bytes, in hexadecimal digits."""
    digest: str = (sha256 if len(data) < MUCH else import_module("hashlib").sha256)(data).hexdigest()
    return digest
