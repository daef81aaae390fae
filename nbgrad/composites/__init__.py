"""Public functions that are written in operations, some with a quick run of their own.

``load`` imports every module here, and so declares them all.
"""


def load() -> None:
    """Declare all functions."""
    # Order does not matter.
    from . import (  # noqa: F401
        activations,
        counts,
        distances,
        gamma,
        index_writes,
        linalg,
        numbers,
        order_statistics,
        overwriting,
        positions,
        scatter,
        segments,
        shapes,
        statistics,
        subscript,
    )
