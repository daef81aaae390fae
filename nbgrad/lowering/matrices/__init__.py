"""Lowerings of ``ops/matrices``: LAPACK over batches, by kernels that call it or by NumPy's functions.

``operations.py`` says for each operation which routine does its work (``routines.py``, launched by ``launches.py``), and which
function of NumPy's arrays where there is no launch, or where it has something to report.
"""

# Order does not matter.
from . import exchanges, indefinite, operations, spectra  # noqa: F401
