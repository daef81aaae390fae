"""NVIDIA's libraries that are called by the addresses of their functions: where they are, and those functions.

NOTE [No wrappers]: ``nvmath.bindings`` would give the same functions as Python calls. What is called natively needs their addresses
anyway, and a dozen of functions needs no package of 26 MB; ``cuda.pathfinder``, which cuda-bindings brings along, finds a library
wherever pip, conda or the system have put it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ...base import config
from ...base.errors import KernelError
from ...base.user_stack import warn_user

__all__ = ["KINDS", "PLAYED", "Library", "found_library"]

# Parameters and results of C functions, a letter for each.
KINDS = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "n": ctypes.c_size_t,
    "q": ctypes.c_int64,
    "s": ctypes.c_char_p,
    "c": ctypes.c_ubyte,
    "h": ctypes.c_ushort,
    "b": ctypes.c_byte,
}

Status = str | Mapping[int, str]
# Where GPUs are played: libraries that are, by name (emulated/cublas.py).
PLAYED: dict[str, Library] = {}


class Library:
    """A library's functions.

    Args:
        name: as ``cuda.pathfinder`` and errors say it; ``path``: where it is.
        addresses: of its functions.
        kinds: by function, its parameters; another result than a status stands behind ``>``.
        status: the function that gives the name of a status, or these names.
        kept: what lives as long as the functions do.
    """

    def __init__(self, name: str, path: str, addresses: Mapping[str, int], kinds: Mapping[str, str], status: Status, kept: object):
        self.name, self.path, self.addresses, self.status, self.kept = name, path, addresses, status, kept
        self.functions = {each: prototype(kinds[each])(address) for each, address in addresses.items()}

    def call(self, function: str, *operands: Any) -> None:
        """Call a function that gives a status.

        Raises:
            KernelError: it is not 0.
        """
        code = self.functions[function](*operands)
        if code:
            raise self.error_of(code, function)

    def error_of(self, code: int, function: str = "") -> KernelError:
        """The error that a status means."""
        if isinstance(self.status, str):
            text = self.functions[self.status](code)
            word = text.decode() if text else f"status {code}"
        else:
            word = self.status.get(code, f"status {code}")
        return KernelError(
            f"{self.name}: {function + ' is refused' if function else 'a call is refused'}: {word}. "
            "Hint: NBGRAD_CHECK=1 waits after every call and names the one."
        )


def prototype(kinds: str) -> Any:
    """The type of a C function."""
    taken, _, given = kinds.partition(">")
    return ctypes.CFUNCTYPE(KINDS[given or "i"], *(KINDS[kind] for kind in taken))


def found_library(
    name: str,
    kinds: Mapping[str, str],
    status: Status,
    version: Callable[[Library], int],
    oldest: int,
    extra: str,
    later: Collection[str] = (),
) -> Library | None:
    """A library of this machine, loaded; None where there is none, or one that is too old, which a warning says.

    Args:
        kinds, status: as of ``Library``; ``version``: gives its version, ``oldest``: the least one.
        extra: which of nbgrad's extras installs it; ``later``: functions that it may lack.
    """
    library = PLAYED.get(name) if config.EMULATED else loaded(name, kinds, status)
    if library is None:
        return None
    found = version(library) if library.functions.keys() | set(later) >= kinds.keys() else 0  # one that it lacks came later
    if found >= oldest:
        return library
    warn_user(
        f"cuda: {name} is there, {library.path}, and too old to be used: version {found}, expected {oldest} or later. "
        f"Hint: pip install 'nbgrad[{extra}]'."
    )
    return None


def loaded(name: str, kinds: Mapping[str, str], status: Status) -> Library | None:
    """A library of this machine, with those of its functions that it has."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib(name).abs_path
    except (ImportError, RuntimeError):  # pathfinder's own errors are of the latter kind
        return None
    if path is None:
        return None
    code = ctypes.CDLL(path)
    addresses = {each: ctypes.cast(getattr(code, each), ctypes.c_void_p).value or 0 for each in kinds if hasattr(code, each)}
    return Library(name, path, addresses, kinds, status, code)
