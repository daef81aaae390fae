"""From an operation on tensors to kernels: what to launch for these layouts, with which parameters. Knows no graph.

``load`` imports every module here, which registers its lowerings (rules.LOWERINGS).
"""


def load() -> None:
    """Register all lowerings."""
    # One line a module; order does not matter.
    from . import complex  # noqa: F401
    from . import copy  # noqa: F401
    from . import indexing, join, subscript  # noqa: F401
    from . import linalg, losses  # noqa: F401
    from . import reduce, scan, softmax, sort  # noqa: F401
