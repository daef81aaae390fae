"""How sparse tensors are stored: ``sparse_coo``, ``sparse_csr``, ``sparse_csc``, ``sparse_bsr``, ``sparse_bsc``.

NOTE [Sparse layouts]: a sparse tensor is a Tensor whose layout is marked by one of these, so that no plan is ever made for it, and
interpreters are asked about each call of it: types that override functions are (modes/overrides.py), and a sparse layout is such a
type. Its strides are 0, as torch's are, over a single element of read-only memory that stands for no element of the tensor: NaN.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

import nbgrad

from ..base.errors import NotSupportedError
from ..modes.traced import unseen
from ..tensors.layout import Layout, layout_of, marked_layout, sparse_marks
from ..tensors.storage import Storage

__all__ = ["HANDLERS", "SparseLayout", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr"]

# What functions of dense tensors mean where an operand is sparse, by the function's name.
HANDLERS: dict[str, Callable] = {}


class SparseLayout(type):
    """How a sparse tensor is stored. ``x.layout`` equals the one of ``x``.

    Attributes:
        compressed: the dimension whose numbers are kept as where each begins; None of coordinates.
        blocked: whether values are blocks.
        names: of what it keeps beside values.

    >>> import nbgrad
    >>> nbgrad.eye(2).to_sparse_csr().layout == nbgrad.sparse_csr
    True
    """

    compressed: int | None
    blocked: bool
    names: tuple[str, ...]

    def __eq__(cls, other: object) -> bool:
        return cls is other or isinstance(other, Layout) and other.special is cls

    __hash__ = type.__hash__

    def __repr__(cls) -> str:
        return f"nbgrad.{cls.__name__}"

    def __reduce_ex__(cls, protocol: Any) -> str:
        return cls.__name__


class SparseFunctions:
    """What operations mean on tensors of a sparse layout."""

    compressed: int | None = None
    blocked = False
    names = ("indices",)

    @classmethod
    def __nbgrad_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """The handler of an operation's name.

        Raises:
            NotSupportedError: there is none.
        """
        name = getattr(func, "__name__", str(func))
        if name not in HANDLERS:
            raise NotSupportedError(f"{name}: not defined for sparse tensors. Hint: x.to_dense(), or nbgrad.sparse has what is.")
        return HANDLERS[name](*args, **kwargs or {})


DESCRIPTIONS = {
    "sparse_coo": "by coordinates",
    "sparse_csr": "row by row",
    "sparse_csc": "column by column",
    "sparse_bsr": "in blocks, row by row",
    "sparse_bsc": "in blocks, column by column",
}


def sparse_layout(name: str, compressed: int | None, blocked: bool) -> SparseLayout:
    """A layout of that name."""
    names = ("indices",) if compressed is None else (("crow_indices", "col_indices"), ("ccol_indices", "row_indices"))[compressed]
    doc = f"How a sparse tensor is stored: {DESCRIPTIONS[name]}."
    members = {"compressed": compressed, "blocked": blocked, "names": names, "__module__": __name__, "__doc__": doc}
    return SparseLayout(name, (SparseFunctions,), members)


sparse_coo = sparse_layout("sparse_coo", None, False)
sparse_csr, sparse_csc = sparse_layout("sparse_csr", 0, False), sparse_layout("sparse_csc", 1, False)
sparse_bsr, sparse_bsc = sparse_layout("sparse_bsr", 0, True), sparse_layout("sparse_bsc", 1, True)
sparse_marks.update((sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc))


def layout_of_sparse(kind: SparseLayout, dtype: Any, shape: tuple[int, ...], device: Any) -> Layout:
    """The layout of a sparse tensor."""
    return marked_layout(layout_of(dtype, shape, (0,) * len(shape), device), kind)


@cache
def no_elements(dtype: Any, device: Any) -> Storage:
    """The memory of sparse tensors, which cannot be written to: NOTE [Sparse layouts]."""
    with unseen():
        storage = nbgrad.full((1,), nbgrad.nan if dtype.differentiable else 0, dtype=dtype, device=device)._storage_
    storage.writable = False
    return storage
