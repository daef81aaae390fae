"""Sparse matrices and tensors under the names that ``torch.sparse`` gives them: coordinates (COO) and compressed rows (CSR).

A ``SparseTensor`` is made of two tensors, places and values, and is none itself: operations that know it compute with it, others
refuse it. What is computed is made of operations on the values, so gradients of every order reach them, in both modes, on every
device.

>>> import nbgrad
>>> a = nbgrad.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
>>> a @ nbgrad.ones(3)
tensor([3., 9.])
"""

from __future__ import annotations

from .functions import addmm, log_softmax, mm, softmax, spdiags, spmm, sum
from .making import sparse_coo_tensor, sparse_csr_tensor, to_sparse, to_sparse_csr
from .tensors import SparseLayout, SparseTensor, sparse_coo, sparse_csr

__all__ = [
    "SparseLayout",
    "SparseTensor",
    "addmm",
    "log_softmax",
    "mm",
    "softmax",
    "sparse_coo",
    "sparse_coo_tensor",
    "sparse_csr",
    "sparse_csr_tensor",
    "spdiags",
    "spmm",
    "sum",
    "to_sparse",
    "to_sparse_csr",
]
