"""Datasets, samplers and what becomes of samples: by index, by stream, in batches."""

from __future__ import annotations

from collections import UserDict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import nbgrad
from nbgrad.utils import data
from nbgrad.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)

Point = namedtuple("Point", "x y")


class Squares(Dataset[int]):
    """The squares of the first ten numbers."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return index * index


class Count(IterableDataset):
    """Numbers up to a limit."""

    def __init__(self, limit):
        self.limit = limit

    def __iter__(self):
        return iter(range(self.limit))

    def __len__(self):
        return self.limit


# ---- datasets --------------------------------------------------------------------------------------------------------


def test_tensor_dataset():
    """A sample is the rows of the tensors at an index."""
    x, y = nbgrad.arange(6).reshape(3, 2), nbgrad.arange(3)
    pairs = TensorDataset(x, y)
    assert len(pairs) == 3
    assert [part.tolist() for part in pairs[1]] == [[2, 3], 1]
    assert pairs[0][0]._storage_ is x._storage_  # a view, as of any index
    with pytest.raises(IndexError):
        pairs[3]


def test_datasets_of_datasets():
    """Sums are one after the other, stacks side by side, subsets in their order."""
    both = Squares() + Squares()
    assert isinstance(both, ConcatDataset)
    assert [both[i] for i in (0, 9, 10, 19, -1, -20)] == [0, 81, 0, 81, 81, 0]
    assert StackDataset(Squares(), "abcdefghij")[2] == (4, "c")
    named = StackDataset(n=Squares(), c="abcdefghij")
    assert named[2] == {"n": 4, "c": "c"}
    assert named.__getitems__([1, 3]) == [{"n": 1, "c": "b"}, {"n": 9, "c": "d"}]
    part = Subset(Subset(Squares(), [5, 3, 1]), [2, 0])
    assert (len(part), part[1], part.__getitems__([0, 1])) == (2, 25, [1, 25])
    chain = Count(2) + Count(3)
    assert isinstance(chain, ChainDataset)
    assert (list(chain), len(chain)) == ([0, 1, 0, 1, 2], 5)


def test_random_split():
    """The parts share nothing, are all there is, and are the same for the same seed; what fractions leave goes to the first."""
    parts = random_split(Squares(), [3, 7], generator=nbgrad.Generator().manual_seed(1))
    again = random_split(Squares(), [3, 7], generator=nbgrad.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(i for part in parts for i in part.indices) == list(range(10))
    assert [part.indices for part in parts] == [part.indices for part in again]
    assert [len(part) for part in random_split(range(30), [0.3, 0.3, 0.4])] == [9, 9, 12]
    assert [len(part) for part in random_split(range(11), [0.5, 0.3, 0.2])] == [6, 3, 2]
    with pytest.warns(UserWarning, match="index 1 is 0"):
        random_split(range(3), [0.9, 0.1])


class OnlyItem(Subset):
    """A subset that says only half of what it does."""

    def __getitem__(self, index):
        return -self.dataset[index]


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: TensorDataset(nbgrad.ones(2), nbgrad.ones(3)), AssertionError, r"\[2, 3\] rows"),
        (lambda: TensorDataset(nbgrad.tensor(1.0)), IndexError, ""),
        (lambda: StackDataset(), ValueError, "got none"),
        (lambda: StackDataset("a", b="b"), ValueError, "got both"),
        (lambda: StackDataset("a", "bc"), ValueError, r"lengths \[1, 2\]"),
        (lambda: ConcatDataset([]), AssertionError, "at least one"),
        (lambda: ConcatDataset([Count(1)]), AssertionError, "ChainDataset"),
        (lambda: ConcatDataset([[1]])[-3], ValueError, "-3"),
        (lambda: ConcatDataset([[1]])[3], IndexError, "out of range"),
        (lambda: list(ChainDataset([[1]])), AssertionError, "got list"),
        (lambda: random_split(range(3), [2, 2]), ValueError, r"\[2, 2\]"),
        (lambda: random_split(range(3), [0.5, 0.6]), ValueError, "0.6"),
        (lambda: random_split(range(3), [-0.5, 1.5]), ValueError, "not between 0 and 1"),
        (lambda: random_split(range(3), [4, -1]), ValueError, "-1"),
        (lambda: Dataset()[0], NotImplementedError, "__getitem__"),
        (lambda: len(Dataset()), TypeError, "len"),
        (lambda: IterableDataset(), TypeError, "abstract"),
        (lambda: iter(Sampler()), NotImplementedError, "__iter__"),
        (lambda: OnlyItem("abc", [1]), NotImplementedError, "__getitems__"),
        (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size must be a positive int, got 0"),
        (lambda: BatchSampler(range(3), True, False), ValueError, "True"),
        (lambda: BatchSampler(range(3), 2, 1), ValueError, "drop_last"),
        (lambda: RandomSampler([]), ValueError, "got 0"),
        (lambda: RandomSampler("abc", replacement=1), TypeError, "bool"),
        (lambda: RandomSampler("abc", num_samples=-1), ValueError, "-1"),
        (lambda: WeightedRandomSampler([1.0], 0), ValueError, "num_samples"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "one dimension"),
        (lambda: WeightedRandomSampler([1.0], 1, replacement=2), ValueError, "replacement"),
    ],
)
def test_what_cannot_be(make, error, text):
    """Arguments that do not fit are refused, with the types that programs catch."""
    with pytest.raises(error, match=text or None):
        make()


# ---- samplers --------------------------------------------------------------------------------------------------------


def test_random_sampler():
    """A pass has every index once, or as many draws as were asked for; seeds decide which."""
    nbgrad.manual_seed(3)
    sampler = RandomSampler(range(100))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(100)) and first != second
    nbgrad.manual_seed(3)
    assert list(sampler) == first
    own = nbgrad.Generator().manual_seed(5)
    drawn = list(RandomSampler(range(100), generator=own))
    assert drawn == list(RandomSampler(range(100), generator=nbgrad.Generator().manual_seed(5)))
    several = list(RandomSampler(range(3), num_samples=8))
    assert sorted(several[:3]) == sorted(several[3:6]) == [0, 1, 2] and len(several) == 8
    replaced = list(RandomSampler(range(3), replacement=True, num_samples=2000))
    assert len(replaced) == 2000 and set(replaced) == {0, 1, 2}


def test_samplers_of_subsets_weights_and_batches():
    """Each gives as many indices as its length says."""
    subset = SubsetRandomSampler([7, 5, 9])
    assert sorted(subset) == [5, 7, 9] and len(subset) == 3
    weighted = WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 400, generator=nbgrad.Generator().manual_seed(0))
    drawn = list(weighted)
    assert set(drawn) == {1, 3} and drawn.count(3) > 200 and len(weighted) == len(drawn) == 400
    assert sorted(WeightedRandomSampler([1.0, 2.0], 2, replacement=False)) == [0, 1]
    for size in (1, 2, 3, 5, 6):
        for drop in (False, True):
            batches = BatchSampler(SequentialSampler(range(5)), size, drop)
            assert len(list(batches)) == len(batches)
            assert [i for batch in batches for i in batch] == list(range(5 - 5 % size if drop else 5))


# ---- samples to batches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "batch, dtype, expected",
    [
        ([1, 2], nbgrad.int64, [1, 2]),
        ([True, False], nbgrad.bool, [True, False]),
        ([1.5, 2], nbgrad.float64, [1.5, 2.0]),
        ([1, 2.5], nbgrad.float32, [1.0, 2.5]),
        ((np.float32(1), np.float32(2)), nbgrad.float32, [1.0, 2.0]),
        ([np.float64(1), np.float64(2)], nbgrad.float64, [1.0, 2.0]),
        ([np.int16(1), np.int16(2)], nbgrad.int16, [1, 2]),
        ([np.bool_(True)], nbgrad.bool, [True]),
        ([np.ones(2, np.uint8), np.zeros(2, np.uint8)], nbgrad.uint8, [[1, 1], [0, 0]]),
        ([np.ones(1, np.float16), np.zeros(1, np.float64)], nbgrad.float64, [[1.0], [0.0]]),
        ([nbgrad.ones(2), nbgrad.zeros(2)], nbgrad.float32, [[1.0, 1.0], [0.0, 0.0]]),
        ([nbgrad.tensor(True)], nbgrad.bool, [True]),
    ],
)
def test_collate_numbers(batch, dtype, expected):
    """Numbers, arrays and tensors are stacked, in the dtypes that torch chooses."""
    found = default_collate(batch)
    assert found.dtype is dtype and found.tolist() == expected


def test_collate_containers():
    """Containers are collated member by member; a tuple becomes a list, strings stay."""
    assert default_collate(["a", "b"]) == ["a", "b"]
    pairs = default_collate([(1, "a"), (2, "b")])
    assert pairs[0].tolist() == [1, 2] and pairs[1] == ("a", "b") and type(pairs) is list
    points = default_collate([Point(1, 2), Point(3, 4)])
    assert type(points) is Point and points.y.tolist() == [2, 4]
    table = default_collate([UserDict(a=1), UserDict(a=2)])
    assert type(table) is UserDict and table["a"].tolist() == [1, 2]
    frozen = default_collate([MappingProxyType({"a": 1})])
    assert type(frozen) is MappingProxyType and frozen["a"].tolist() == [1]
    nested = default_collate([{"x": [1, 2]}, {"x": [3, 4]}])
    assert [part.tolist() for part in nested["x"]] == [[1, 3], [2, 4]]
    spans = default_collate([range(2), range(2)])  # a range cannot be made of tensors
    assert [part.tolist() for part in spans] == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    "batch, error, text",
    [
        ([None], TypeError, "NoneType"),
        ([{1}], TypeError, "set"),
        ([1j], TypeError, "complex"),
        ([np.array(["a"])], TypeError, "<U1"),
        ([np.datetime64("2020-01-01")], TypeError, "datetime64"),
        ([1, None], RuntimeError, ""),
        ([1, "a"], TypeError, ""),
        ([(1, 2), (1,)], RuntimeError, r"equal size.*\[1, 2\]"),
        ([nbgrad.ones(2), nbgrad.ones(3)], RuntimeError, r"equal size.*\[2\] and \[3\]"),
        ([np.ones(2), np.ones(3)], RuntimeError, r"equal size"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
        ([], IndexError, ""),
        ([2**63, 1], RuntimeError, ""),
    ],
)
def test_collate_refuses(batch, error, text):
    """Samples that make no batch are refused with torch's types, and the remedy."""
    with pytest.raises(error, match=text or None):
        default_collate(batch)


def test_collate_with_functions_of_ones_own():
    """The map is public: what is put in it is collated by it."""
    found = data.collate([Point(1, 2), Point(3, 4)], collate_fn_map={Point: lambda batch, *, collate_fn_map: len(batch)})
    assert found == 2


def test_convert():
    """Of a single sample only what is NumPy's changes."""
    sample = {"x": np.arange(2), "n": 1, "t": (np.float32(2), "s"), "o": np.array(["a"]), "p": Point(np.array(1), 2)}
    found = default_convert(sample)
    assert found["x"].tolist() == [0, 1] and found["n"] == 1 and found["o"] is sample["o"]
    assert found["t"][0].dtype is nbgrad.float32 and found["t"][1] == "s" and type(found["t"]) is list
    assert type(found["p"]) is Point and found["p"].x.item() == 1
    x = nbgrad.ones(1)
    assert default_convert(x) is x and default_convert("abc") == "abc"


@pytest.mark.parametrize(
    ("count", "processes", "drop_last", "expected"),
    [
        (5, 2, False, [[0, 2, 4], [1, 3, 0]]),
        (5, 2, True, [[0, 2], [1, 3]]),
        (2, 5, False, [[0], [1], [0], [1], [0]]),
        (0, 2, False, [[], []]),
    ],
)
def test_parts_of_several_processes(count, processes, drop_last, expected):
    """Each takes every so many-th index; what is left over is dropped, or the first ones are repeated."""
    parts = [DistributedSampler(range(count), processes, rank, shuffle=False, drop_last=drop_last) for rank in range(processes)]
    assert [list(part) for part in parts] == expected and [len(part) for part in parts] == list(map(len, expected))


def test_all_processes_draw_the_same_order():
    """By seed and epoch: their parts are of one order, another one in another epoch, whatever else is drawn."""
    parts = [DistributedSampler(range(8), 2, rank, seed=3) for rank in range(2)]
    first = [list(part) for part in parts]
    assert sorted(first[0] + first[1]) == list(range(8)) and [list(part) for part in parts] == first
    for part in parts:
        part.set_epoch(1)
    second = [list(part) for part in parts]
    assert sorted(second[0] + second[1]) == list(range(8)) and second != first
    assert sorted(DistributedSampler(range(3))) == [0, 1, 2]
    with pytest.raises(ValueError, match="rank is 2, expected 0 to 1"):
        DistributedSampler(range(3), 2, 2)
