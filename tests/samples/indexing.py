"""Samples of indexing, gathering and scattering."""

from __future__ import annotations

import numpy as np

from nbgrad import RangeError

from .row import REAL, case, fails, row

I = np.array([2, 0, 2])  # one comes twice
DISTINCT = np.array([2, 0])
GRID = np.array([[0, 1, 1, 0], [1, 0, 1, 1]])  # along dimension 0 of (3, 4)
APART = np.array([[0, 1, 2, 0], [1, 0, 1, 2]])  # no element twice
MASK = np.array([[True, False, True], [False, True, True]])


def changed(x, write):
    """A copy to which ``write`` was applied; of the wider dtype of all."""
    out = x.copy()
    write(out)
    return out


def along(x, dim, index):
    """The tuple of index arrays that ``take_along_axis`` uses."""
    where = list(np.indices(index.shape))
    where[dim] = index
    return tuple(where)


def slices(dim, index):
    """The index of the slices of a dimension."""
    return (slice(None),) * dim + (index,)


def np_index(indices):
    """torch's index tensors with None for whole dimensions, as a NumPy index."""
    return tuple(slice(None) if i is None else i for i in indices)


def gather(x, dim, index):
    """Elements of x along a dimension."""
    return x[along(x, dim, index)]


def scatter(x, dim, index, src):
    """x with elements written along a dimension."""
    return changed(x, lambda out: out.__setitem__(along(x, dim, index), src))


def scatter_add(x, dim, index, src):
    """x with elements added along a dimension."""
    return changed(x, lambda out: np.add.at(out, along(x, dim, index), src))


def index_add(x, dim, index, source, alpha=1):
    """x with slices added."""
    return changed(x, lambda out: np.add.at(out, slices(dim, index), alpha * source))


def index_copy(x, dim, index, source):
    """x with slices written."""
    return changed(x, lambda out: out.__setitem__(slices(dim, index), source))


def put(x, indices, values, accumulate=False):
    """x with values written or added at indices."""

    def write(out):
        np.add.at(out, np_index(indices), values) if accumulate else out.__setitem__(np_index(indices), values)

    return changed(x, write)


def zeros_and(shape, function, *arguments):
    """``function`` of zeros of a shape."""
    return function(np.zeros(shape), *arguments)


def masked_scatter(x, mask, source):
    """x with consecutive elements of source where the mask is true."""
    return changed(x, lambda out: out.__setitem__(mask, source.ravel()[: mask.sum()]))


# ---- by index tensors ------------------------------------------------------------------------------------------------

INDICES = (I, np.array([1, 3, 1]))
row(
    "index",
    lambda x, indices: x[np_index(indices)],
    REAL,
    case((3, 4), indices=INDICES),
    case((3, 4), indices=(None, I)),
    case((3, 4), indices=(I,)),
)
row(
    "index_backward",
    lambda g, indices, shape: zeros_and(shape, put, indices, g, True),
    REAL,
    case((3,), indices=INDICES, shape=(3, 4)),
)
row(
    "index_write",
    lambda x, values, indices, accumulate=False: put(x, indices, values, accumulate),
    REAL,
    case((3, 4), (2, 4), indices=(DISTINCT,)),
    case((3, 4), (3,), indices=INDICES, accumulate=True),
    case((3, 4), (4,), indices=(DISTINCT,)),
)
row("index_zeroed", lambda x, indices: put(x, indices, 0.0), REAL, case((3, 4), indices=(I,)))
for _name in ("index_put", "index_put_"):
    row(_name, put, REAL, case((3, 4), [DISTINCT, DISTINCT], (2,)), case((3, 4), [I, I], (3,), True))
row(
    "getitem",
    lambda x, key: x[key],
    REAL,
    case((3, 4), 1),
    case((3, 4), key=(slice(None), -1)),
    case((3, 4), I),
    case((2, 3), MASK),
    case((3, 4), key=(slice(0, 3, 2), None)),
)
row(
    "setitem",
    lambda x, key, value: changed(x, lambda out: out.__setitem__(key, value)),
    REAL,
    case((3, 4), 1, (4,)),
    case((3, 4), DISTINCT, (2, 4)),
    case((2, 3), MASK, ()),
)

# ---- along one dimension ---------------------------------------------------------------------------------------------

row("gather", gather, REAL, case((3, 4), 0, GRID), case((4, 3), 1, GRID.T))
row(
    "gather_backward",
    lambda g, shape, dim, index: zeros_and(shape, scatter_add, dim, index, g),
    REAL,
    case((2, 4), shape=(3, 4), dim=0, index=GRID),
)
row("scatter_src", lambda x, src, dim, index: scatter(x, dim, index, src), REAL, case((3, 4), (2, 4), 0, APART))
row("scatter_value", scatter, REAL, case((3, 4), 0, GRID, 1.5))
row("scatter_add_src", lambda x, src, dim, index: scatter_add(x, dim, index, src), REAL, case((3, 4), (2, 4), 0, GRID))
for _name in ("scatter", "scatter_"):
    row(_name, scatter, REAL, case((3, 4), 0, APART, (2, 4)))
for _name in ("scatter_add", "scatter_add_"):
    row(_name, scatter_add, REAL, case((3, 4), 0, GRID, (2, 4)))
row("index_select", lambda x, dim, index: np.take(x, index, dim), REAL, case((3, 4), 0, I), case((2, 3), 1, I))
row(
    "index_select_backward",
    lambda g, shape, dim, index: zeros_and(shape, index_add, dim, index, g),
    REAL,
    case((3, 4), shape=(3, 4), dim=0, index=I),
)
row("index_add_source", lambda x, source, dim, index: index_add(x, dim, index, source), REAL, case((3, 4), (3, 4), 0, I))
for _name in ("index_add", "index_add_"):
    row(_name, index_add, REAL, case((3, 4), 0, I, (3, 4)), case((2, 3), 1, I, (2, 3), alpha=2))
row("index_copy_source", lambda x, source, dim, index: index_copy(x, dim, index, source), REAL, case((3, 4), (2, 4), 0, DISTINCT))
for _name in ("index_copy", "index_copy_"):
    row(_name, index_copy, REAL, case((3, 4), 0, DISTINCT, (2, 4)))
row("index_fill_value", index_copy, REAL, case((3, 4), 0, I, 1.5))
row("index_fill_tensor", lambda x, value, dim, index: index_copy(x, dim, index, value), REAL, case((3, 4), (), 0, I))
for _name in ("index_fill", "index_fill_"):
    row(_name, index_copy, REAL, case((3, 4), 0, I, 1.5), case((3, 4), 0, I, ()))
row("take", lambda x, index: x.ravel()[index], REAL, case((3, 4), np.array([[0, 7], [11, 7]])))
row(
    "take_backward",
    lambda g, shape, index: put(np.zeros(12), (index,), g, True).reshape(shape),
    REAL,
    case((3,), shape=(3, 4), index=np.array([7, 0, 7])),
)
row(
    "put_source",
    lambda x, source, index, accumulate: put(x.ravel(), (index,), source, accumulate).reshape(x.shape),
    REAL,
    *(case((3, 4), (3,), index=np.array([7, 0, -1]), accumulate=add) for add in (False, True)),
)
row("take_along_dim", lambda x, indices, dim: gather(x, dim, indices), REAL, case((3, 4), GRID, 0))
row("repeat_interleave", np.repeat, REAL, case((2, 3), 2), case((2, 3), 2, 1))

# ---- masks -----------------------------------------------------------------------------------------------------------

row("masked_fill", lambda x, mask, value: np.where(mask, value, x), REAL, case((2, 3), (2, 3), ()), case((2, 3), (3,), 1.5))
row("masked_select", lambda x, mask: x[mask], REAL, case((2, 3), MASK))
row("masked_select_backward", lambda g, shape, mask: put(np.zeros(shape), (mask,), g), REAL, case((4,), shape=(2, 3), mask=MASK))
for _name in ("masked_scatter", "masked_scatter_"):
    row(_name, masked_scatter, REAL, case((2, 3), MASK, (6,)))
row("masked_scatter_backward", lambda g, mask, shape: np.concatenate([g[mask], np.zeros(2)]), REAL, case((2, 3), MASK, shape=(6,)))
row("where_or_positions", np.where, REAL, case(MASK, (2, 3), (3,)), case(MASK, (), (2, 3)))
row("nonzero", lambda x: np.argwhere(x), REAL, case((2, 3)), case(MASK), unlike={"gradient": "positions have none"})
row(
    "nonzero_static",
    lambda x, size, fill_value=-1: np.concatenate([np.argwhere(x), np.full((size, x.ndim), fill_value)])[:size],
    REAL,
    case((2, 3), size=4),
    case(MASK, size=20, fill_value=7),
    case(MASK, size=0),
    unlike={"gradient": "positions have none"},
    errors=[fails(RangeError, "size is -1", (2, 3), size=-1)],
)
row("nonzero_places", np.argwhere, REAL, case((2, 3)), unlike={"gradient": "positions have none"})
row("argwhere", np.argwhere, REAL, case((2, 3)), unlike={"gradient": "positions have none"})
