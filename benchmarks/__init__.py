"""Benchmarks of nbgrad beside torch, JAX, HIPS autograd, NumPy and hand-written Numba.

One thread each, unless a benchmark is about threads: OpenBLAS and XLA read these variables when they are first
imported, so they are set before anything in this package imports either.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NPROC", "1")  # the size of XLA's CPU thread pool
os.environ.setdefault("JAX_PLATFORMS", "cpu")
