"""Which modules, classes and functions are the program's, and which are libraries'."""

from __future__ import annotations

import builtins
import os
import site
import sys
from pathlib import Path
from types import CodeType, ModuleType

from .members import is_made

__all__ = ["CONSTANT", "MACHINERY", "is_programs", "is_programs_class", "is_users", "module_of"]

# Modules of Python whose objects never change, if perhaps they keep what they have computed of themselves.
CONSTANT = frozenset({"pathlib", "fractions", "uuid", "ipaddress", "decimal", "re", "datetime", "zoneinfo"})
# Modules of Python whose objects lead to all of a process: of these only plain attributes are looked at, and each other.
MACHINERY = frozenset(
    {"logging", "importlib", "concurrent", "asyncio", "subprocess", "socket", "http", "urllib", "unittest", "inspect"}
)
LIBRARIES = tuple(dict.fromkeys(str(Path(path).resolve()) for path in (os.path.dirname(os.__file__), *site.getsitepackages())))
OWN = str(Path(__file__).parents[2])


def is_programs(module: ModuleType | None) -> bool:
    """Whether a module is the program's, and no library's."""
    held = getattr(module, "__dict__", {})  # a module may say itself what it has not
    path = held.get("__file__")
    if path is None:  # of a notebook, of an interactive session, or made by hand
        return module is not None and held.get("__spec__") is None and str(held.get("__name__")).partition(".")[0] != "nbgrad"
    return not path.startswith((OWN, *LIBRARIES)) and "site-packages" not in path


def is_programs_class(kind: type) -> bool:
    """Whether a class is the program's, and no library's. One whose module is not known was made from a text, and is."""
    name = kind.__module__
    if not isinstance(name, str):  # of some that C has made
        return False
    module = sys.modules.get(name)
    if module is not None and module is not builtins:
        return is_programs(module)
    made = is_made(kind) and not hasattr(builtins, kind.__name__)
    return bool(made) and name.partition(".")[0] not in (*sys.stdlib_module_names - {"builtins"}, "nbgrad")


def module_of(kind: type) -> str:
    """The module, or the package, of a class that is Python's or nbgrad's; "" of others."""
    module = str(kind.__module__).partition(".")[0]
    return module if (module in sys.stdlib_module_names or module == "nbgrad") and not is_programs_class(kind) else ""


def is_users(code: CodeType) -> bool:
    """Whether a function was written by the program, and not by a library."""
    path = code.co_filename
    return not path.startswith((OWN, *LIBRARIES)) and "site-packages" not in path
