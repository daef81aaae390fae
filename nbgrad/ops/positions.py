"""Operations whose results are indices or counts: of order statistics, of true elements, of members of a set.

None has a derivative; the elements that are then picked by an index have one.
"""

from __future__ import annotations

from .core import general

__all__: list[str] = []


general(
    "median_indices",
    lambda x, dim, ignore_nan: x,
    method=False,
    function=False,
    public="median",
    doc="Index of the lower median along dim; of the first NaN if there is one, unless ignored.",
)
general(
    "mode_indices",
    lambda x, dim: x,
    method=False,
    function=False,
    public="mode",
    doc="Last index of the smallest of the most frequent values along dim; a NaN is like no other one, and below numbers.",
)
general(
    "running_indices",
    lambda x, dim, largest: x,
    method=False,
    function=False,
    public="cummax",
    doc="Index of the last extremum up to each element along dim; NaN wins.",
)
general(
    "insertion_places",
    lambda sequence, x, right: x,
    operands=("sequence", "x"),
    method=False,
    function=False,
    public="searchsorted",
    batched="looped",
    doc="Where to put values into a sorted last dimension.",
)
general(
    "are_members",
    lambda x, tests, invert: x,
    operands=("x", "tests"),
    method=False,
    function=False,
    public="isin",
    batched="looped",
    doc="Whether elements are among others.",
)
general(
    "nonzero_places",
    lambda x: x,
    method=False,
    function=False,
    public="argwhere",
    batched="looped",
    sized_by_values=True,
    doc="The indices of the elements that are not zero: of a batch as many for each of its elements.",
)
general(
    "bin_counts",
    lambda x, bins, min, max: x,
    method=False,
    function=False,
    public="histc",
    batched="looped",
    doc="How many elements lie in each of so many equal intervals.",
)
