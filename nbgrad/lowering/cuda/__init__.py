"""Lowerings for CUDA: which kernels an operation launches for given layouts. What the results are is decided in ``lowering``.

    copy, join, complex    moves: copies of all layouts, concatenation, cotangents of views, triangles, overlapping sums
    fill                   memory filled with a number, or with a sequence
    index_walks            how indices lead: keys, what several of them write to one place
    indexing, index_writers, scatter, masks    reads and writes through indices and masks
    sort, counts           orders, searches, counts
    linalg                 products
"""


def load() -> None:
    """Register all lowerings."""
    # Order does not matter.
    from . import complex, copy, join  # noqa: F401
