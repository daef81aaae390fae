"""Sparse matrices and tensors under the names that ``torch.sparse`` gives them: coordinates (COO), compressed rows and columns
(CSR, CSC), and those of blocks (BSR, BSC).

A ``SparseTensor`` is made of tensors, places and values: operations that know it compute with these, others refuse it. What is
computed is made of operations on the values, so gradients of every order reach them, in both modes, on every device.

>>> import nbgrad
>>> a = nbgrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
>>> a @ nbgrad.ones(3)
tensor([3., 9.])
"""

from __future__ import annotations

from .conversions import dense, to_sparse, to_sparse_bsc, to_sparse_bsr, to_sparse_coo, to_sparse_csc, to_sparse_csr
from .folds import log_softmax, softmax, sum
from .layouts import SparseLayout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .making import (
    as_sparse_gradcheck,
    check_sparse_tensor_invariants,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from .products import addmm, dsmm, hsmm, hspmm, mm, saddmm, sampled_addmm, smm, spdiags, spmm, sspaddmm
from .shapes import sparse_mask
from .tensors import SparseTensor

__all__ = [
    "SparseLayout",
    "SparseTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "dense",
    "dsmm",
    "hsmm",
    "hspmm",
    "log_softmax",
    "mm",
    "saddmm",
    "sampled_addmm",
    "smm",
    "softmax",
    "sparse_bsc",
    "sparse_bsc_tensor",
    "sparse_bsr",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo",
    "sparse_coo_tensor",
    "sparse_csc",
    "sparse_csc_tensor",
    "sparse_csr",
    "sparse_csr_tensor",
    "sparse_mask",
    "spdiags",
    "spmm",
    "sspaddmm",
    "sum",
    "to_sparse",
    "to_sparse_bsc",
    "to_sparse_bsr",
    "to_sparse_coo",
    "to_sparse_csc",
    "to_sparse_csr",
]


def __getattr__(name: str):
    """The old constructors, ``FloatTensor`` and its like."""
    from .legacy import constructor

    found = constructor(name)
    if found is None:
        raise AttributeError(f"module 'nbgrad.sparse' has no attribute {name!r}.")
    return found
