"""``torch.backends``: what programs say about the libraries that compute, and ask whether they are there.

Only ``cuda.matmul.allow_tf32`` changes anything: kernels are nbgrad's own, and their results the same in every run.

>>> import nbgrad
>>> nbgrad.backends.cudnn.benchmark = False
>>> nbgrad.backends.cudnn.deterministic, nbgrad.backends.mps.is_available()
(False, False)
>>> with nbgrad.backends.cudnn.flags(benchmark=True):
...     nbgrad.backends.cudnn.benchmark
True
"""

from __future__ import annotations

from typing import Any

from . import cuda
from .flags import Switches

__all__ = ["cpu", "cuda", "cudnn", "flags_frozen", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized"]


def never(*args: Any, **kwargs: Any) -> bool:
    """False: the library takes no part."""
    return False


def no_version() -> None:
    """None: the library takes no part."""
    return None


def vector_capability() -> str:
    """The widest vectors that kernels use: "AVX512", "AVX2" or "DEFAULT"."""
    from ..kernels.cpu.emit import widest_vectors

    return widest_vectors()


def flags_frozen() -> bool:
    """False: switches can be set."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Set the switch of NNPACK; returns what it was."""
    before = nnpack.enabled
    nnpack.enabled = _enabled
    return (before,)


ABSENT = {"is_available": never}
cudnn = Switches(
    "cudnn",
    "cuDNN, which takes no part.",
    {"enabled": True, "benchmark": False, "benchmark_limit": 10, "deterministic": False, "allow_tf32": True},
    {**ABSENT, "is_acceptable": never, "version": no_version},
)
mps = Switches("mps", "Apple's GPUs, which are not there.", {}, {**ABSENT, "is_built": never})
mkl = Switches("mkl", "MKL, which takes no part.", {}, ABSENT)
mkldnn = Switches("mkldnn", "oneDNN, which takes no part.", {"enabled": True, "deterministic": False, "allow_tf32": True}, ABSENT)
openmp = Switches("openmp", "OpenMP, which takes no part: threads are nbgrad's own.", {}, ABSENT)
nnpack = Switches("nnpack", "NNPACK, which takes no part.", {"enabled": True}, {**ABSENT, "set_flags": set_flags})
opt_einsum = Switches("opt_einsum", "opt_einsum, which takes no part.", {"enabled": True, "strategy": "auto"}, ABSENT)
quantized = Switches(
    "quantized", "Engines of quantised operations: there are none.", {"engine": "none", "supported_engines": []}, {}
)
cpu = Switches("cpu", "What the processor can do.", {}, {"get_cpu_capability": vector_capability})


mha: Switches = Switches(
    "mha",
    "Attention layers, which have one way: the switch is remembered.",
    {"fastpath_enabled": True},
    {
        "get_fastpath_enabled": lambda: mha.fastpath_enabled,
        "set_fastpath_enabled": lambda value: setattr(mha, "fastpath_enabled", value),
    },
)
