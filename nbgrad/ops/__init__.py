"""What operations exist: importing this package fills the table ``core.OPS``."""

# Order does not matter.
from . import (  # noqa: F401
    complex,
    convolution,
    copies,
    decompositions,
    einsum,
    elementwise,
    indexing,
    linalg,
    losses,
    movement,
    places,
    pooling,
    random,
    reduce,
    scatter,
    special,
    standardise,
    variants,
)
