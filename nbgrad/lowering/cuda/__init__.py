"""From general operations on tensors of a GPU to its kernels. What the results are is decided in ``lowering``.

copy, join, complex    moves: copies of all layouts, concatenation, cotangents of views, triangles, overlapping sums
fill                   memory filled with a number, or with a sequence
"""

from __future__ import annotations

from . import (
    complex as _complex,
    copy as _copy,
    index_writers as _index_writers,
    indexing as _indexing,
    join as _join,
    masks as _masks,
    scatter as _scatter,
)

__all__: list[str] = []
_modules = (_complex, _copy, _index_writers, _indexing, _join, _masks, _scatter)
