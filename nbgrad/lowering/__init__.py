"""From an operation on tensors to kernels: what to launch for these layouts, with which parameters. Knows no graph.

``load`` imports every module here, which registers its lowerings (``LOWERINGS`` in dispatch/lowerings.py).
"""


def load() -> None:
    """Register all lowerings."""
    # Order does not matter.
    from . import (  # noqa: F401
        complex,
        copy,
        counts,
        decompositions,
        distances,
        formulas,
        index_writers,
        indexing,
        join,
        linalg,
        losses,
        masks,
        random,
        reduce,
        scan,
        scatter,
        softmax,
        sort,
    )
