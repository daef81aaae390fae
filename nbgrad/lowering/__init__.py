"""From an operation on tensors to kernels: what to launch for these layouts, with which parameters. Knows no graph.

``load`` imports every module here, which registers its lowerings (``LOWERINGS`` in dispatch/lowerings.py).
"""


def load() -> None:
    """Register all lowerings."""
    # Order does not matter.
    from . import complex, copy, counts, indexing, join, linalg, losses, masks, reduce, scan, softmax, sort  # noqa: F401
