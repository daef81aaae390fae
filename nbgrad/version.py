"""``torch.version``: which version this is.

>>> import nbgrad
>>> nbgrad.version.__version__ == nbgrad.__version__
True
"""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

cuda: str | None = None  # nothing was built with CUDA; nbgrad.cuda.is_available() says whether there is a GPU
hip = xpu = None
debug = False
git_version = ""
