"""PTX to cubin: by nvJitLink where it is installed, without a GPU; by the linker of the driver otherwise, which is where a GPU is.

A user with a driver needs no package for that; who compiles where no GPU is needs nvJitLink.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...base.errors import KernelError

__all__ = ["link", "linker_name"]


def linkers() -> Any:
    """The module ``cuda.core``.

    Raises:
        KernelError: it is not installed.
    """
    try:
        import cuda.core
    except ImportError as error:
        raise KernelError(f"cuda: cuda-core cannot be imported: {error}. Hint: pip install 'nbgrad[cuda]'.") from error
    return cuda.core


def linker_name() -> str:
    """What makes cubins here: ``"nvJitLink"`` or ``"driver"``.

    Raises:
        KernelError: cuda-core is not installed.
    """
    core = linkers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of cuda.core's: that it is the driver is no reason to warn
        return str(core.Linker.which_backend().value)


def link(ptx: str, arch: str) -> tuple[bytes, str]:
    """``(cubin, log)``. PTX must not be newer than what links it: ``PTX_OF`` of build.py.

    Raises:
        KernelError: the linker refuses the PTX, or there is none; cuda-core is not installed.
    """
    core, name = linkers(), linker_name()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            linker = core.Linker(core.ObjectCode.from_ptx(ptx.encode()), options=core.LinkerOptions(arch=arch, verbose=True))
            cubin = bytes(linker.link("cubin").code)
        return cubin, linker.get_info_log() or ""
    except Exception as error:  # of types of their own: no driver, no such function, what ptxas says
        raise refusal(name, arch, error) from error


def refusal(name: str, arch: str, error: Any) -> KernelError:
    """What a linker says, with the remedy."""
    lines = [line.strip(" \0") for line in str(error).splitlines()]
    reason = next((line for line in lines if "error" in line.lower() and ":" in line), lines[0] if lines else type(error).__name__)
    if name == "driver":
        return KernelError(
            f"cuda: the driver makes no cubin for {arch}: {reason.rstrip('.')}. "
            f"Hint: pip install nvidia-nvjitlink, which needs no driver, or a driver that is not older than the PTX."
        )
    return KernelError(
        f"cuda: nvJitLink makes no cubin for {arch}: {reason.rstrip('.')}. Hint: a newer one, pip install -U nvidia-nvjitlink."
    )
