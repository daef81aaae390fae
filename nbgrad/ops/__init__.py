"""What operations exist: importing this package fills the table ``core.OPS``."""

# Order does not matter.
from . import (  # noqa: F401
    attention,
    complex,
    copies,
    decompositions,
    einsum,
    elementwise,
    indexing,
    linalg,
    losses,
    movement,
    places,
    random,
    recurrent,
    reduce,
    scatter,
    special,
    standardise,
    variants,
)
