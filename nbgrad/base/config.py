"""Settings from the environment, read once at import.

``NBGRAD_NATIVE=0``   run native functions as Python (2: as machine code that checks every slot and promised class; 3: as machine
                      code whose statements tests can make fail)
``NBGRAD_DEBUG=1..4`` print operations (1), plans (2), kernel source (3), assembly (4) to stderr
``NBGRAD_CHECK=1``    check every call: bounds of operands, NaN in results; compiled calls against their functions; graphs
``NBGRAD_NUMBA=1``    have Numba compile all kernels of the CPU, and not only those that the compiler of kernels does not know
``NBGRAD_CUDA=emulated`` GPUs are played by this processor: two of them, for tests
``NBGRAD_CACHE_DIR``  folder of compiled kernels
``NBGRAD_NUM_THREADS`` threads of the kernel pool
``NBGRAD_KEPT_MEMORY`` bytes of freed large blocks that are kept for later (128 MB; 0 keeps none)
"""

from __future__ import annotations

import os

__all__ = ["NATIVE", "DEBUG", "CHECK", "NUMBA", "EMULATED", "KEPT_MEMORY"]


def _integer(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    try:
        return int(text) if text else default
    except ValueError:
        raise ValueError(f"{name}={text!r}: expected an integer.") from None


def _choice(name: str, *choices: str) -> str:
    text = os.environ.get(name, "").strip()
    if text and text not in choices:
        raise ValueError(f"{name}={text!r}: expected {' or '.join(choices)}, or nothing.")
    return text


NATIVE = _integer("NBGRAD_NATIVE", 1)
DEBUG = _integer("NBGRAD_DEBUG", 0)
CHECK = _integer("NBGRAD_CHECK", 0) != 0
NUMBA = _integer("NBGRAD_NUMBA", 0) != 0
EMULATED = _choice("NBGRAD_CUDA", "emulated") == "emulated"
KEPT_MEMORY = _integer("NBGRAD_KEPT_MEMORY", 1 << 27)
