"""Public functions that are written in operations, with whatever runs they have of their own.

``load`` imports every module here, which declares them.
"""


def load() -> None:
    """Declare all functions."""
    # Order does not matter.
    from . import decompositions, functions, gamma, overwriting, statistics, subscript  # noqa: F401
