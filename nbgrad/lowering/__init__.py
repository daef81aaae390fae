"""From an operation on tensors to kernels: what to launch for these layouts, with which parameters. Knows no graph.

``load`` imports every module here, which registers its lowerings (rules.LOWERINGS).
"""


def load() -> None:
    """Register all lowerings."""
    # Order does not matter.
    from . import (  # noqa: F401
        complex,
        compositions,
        copy,
        counts,
        decompositions,
        gamma,
        indexing,
        join,
        linalg,
        losses,
        masks,
        overwriting,
        reduce,
        scan,
        softmax,
        sort,
        statistics,
        subscript,
    )
