"""The compiler of kernels: their syntax trees become LLVM's instructions, and nothing is imported for it but llvmlite.

Kernels are written in the part of Python that Numba knows, and Numba can compile all of them (``cpu/frontend.py``); so it does for
CUDA. This compiler knows what kernels really contain (numbers, pointers, tuples, loops, branches, calls that are inlined), gives
the same instructions, and takes a fraction of the time, without Numba's half a second of imports. What it does not know is
``Refused``, and Numba's work.

The modules, from below: ``kinds``, the static types under the names of Numba's; ``arithmetic``, operators and conversions as Numba
has them; ``expressions`` and ``statements``; ``functions``, kernels and the functions they call.
"""

from .kinds import Refused

__all__ = ["Refused"]
