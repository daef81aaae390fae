"""``torch.__config__``: what computes, for reports."""

from __future__ import annotations

import platform
from importlib.metadata import version

import numpy

from ._version import __version__
from .backends import cpu
from .methods.threads import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Versions and processor, in lines.

    >>> import nbgrad
    >>> nbgrad.__config__.show().splitlines()[0]
    'nbgrad runs with:'
    """
    lines = [
        f"nbgrad {__version__}",
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, llvmlite {version('llvmlite')}",
        f"{platform.system()} on {platform.machine()}, vectors: {cpu.get_cpu_capability()}",
    ]
    return "\n".join(["nbgrad runs with:", *(f"  - {line}" for line in lines), ""])


def parallel_info() -> str:
    """Threads, in lines.

    >>> import nbgrad
    >>> "get_num_threads" in nbgrad.__config__.parallel_info()
    True
    """
    return f"get_num_threads: {get_num_threads()}\nget_num_interop_threads: {get_num_interop_threads()}\n"
