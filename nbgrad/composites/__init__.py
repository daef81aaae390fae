"""Public functions that are written in operations, with whatever runs they have of their own.

``load`` imports every module here, which declares them.
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
        shapes,
        statistics,
        subscript,
    )
