"""From general operations on tensors of a GPU to its kernels. What the results are is decided in ``lowering``.

copy, join, complex    moves: copies of all layouts, concatenation, cotangents of views, triangles, overlapping sums
reduce                 folds of every monoid, variances
scan                   scans, elements picked from a dimension and put into it
softmax, losses        rows and columns that are folded, then mapped
linalg, blas_products  products of matrices, by kernels of ours or by cuBLASLt
exchanges              rows in the order that pivots give
solvers, elimination,
determinants           systems, inverses and determinants, by cuSOLVER and cuBLAS where they are
reflections, spectra   QR, eigenvalues and singular values, by the same
pooling                windows that are folded, and their cotangents
standardise            rows with mean 0 and variance 1, their weights and biases, and all cotangents
"""

from __future__ import annotations

from . import (
    complex as _complex,
    copy as _copy,
    counts as _counts,
    determinants as _determinants,
    elimination as _elimination,
    exchanges as _exchanges,
    index_writers as _index_writers,
    indexing as _indexing,
    join as _join,
    linalg as _linalg,
    losses as _losses,
    masks as _masks,
    pooling as _pooling,
    reduce as _reduce,
    reflections as _reflections,
    scan as _scan,
    scatter as _scatter,
    softmax as _softmax,
    solvers as _solvers,
    sort as _sort,
    spectra as _spectra,
    standardise as _standardise,
)

__all__: list[str] = []
_modules = (
    _complex,
    _copy,
    _counts,
    _determinants,
    _elimination,
    _exchanges,
    _index_writers,
    _indexing,
    _join,
    _linalg,
    _losses,
    _masks,
    _pooling,
    _reduce,
    _reflections,
    _scan,
    _scatter,
    _softmax,
    _solvers,
    _sort,
    _spectra,
    _standardise,
)
