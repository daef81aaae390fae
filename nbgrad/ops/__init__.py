"""What operations exist: importing this package fills the table ``core.OPS``."""

# Order does not matter.
from . import (  # noqa: F401
    attention,
    bessel,
    channels,
    complex,
    convolution,
    copies,
    decompositions,
    einsum,
    elementwise,
    fft,
    indexing,
    linalg,
    losses,
    movement,
    places,
    pooling,
    random,
    recurrent,
    reduce,
    scatter,
    special,
    spectra,
    standardise,
    variants,
)
