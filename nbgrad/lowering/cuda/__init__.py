"""From general operations on tensors of a GPU to its kernels. What the results are is decided in ``lowering``.

copy, join, complex    moves: copies of all layouts, concatenation, cotangents of views, triangles, overlapping sums
fill                   memory filled with a number, or with a sequence
reduce                 folds of every monoid, variances
"""

from __future__ import annotations

from . import (
    complex as _complex,
    copy as _copy,
    counts as _counts,
    index_writers as _index_writers,
    indexing as _indexing,
    join as _join,
    linalg as _linalg,
    masks as _masks,
    reduce as _reduce,
    scatter as _scatter,
    sort as _sort,
)

__all__: list[str] = []
_modules = (_complex, _copy, _counts, _index_writers, _indexing, _join, _linalg, _masks, _reduce, _scatter, _sort)
