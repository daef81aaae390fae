"""A loader in one process: which batches there are, that whole batches are what samples would give, what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.utils import data
from nbgrad.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset
from tests.data.test_datasets import Count, Squares


def lists(loader):
    """The batches as lists."""
    return [batch.tolist() for batch in loader]


def test_batches():
    """Batches follow one another, the last one short or dropped; as many as the length says."""
    assert lists(DataLoader(Squares(), batch_size=4)) == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    for size in (1, 3, 5, 10, 11):
        for drop in (False, True):
            loader = DataLoader(Squares(), batch_size=size, drop_last=drop)
            assert len(lists(loader)) == len(loader) == len(iter(loader))
    assert list(DataLoader(Squares(), batch_size=None)) == [i * i for i in range(10)]


def test_shuffling_is_seeded():
    """A generator decides, else the default one's seed; each pass has an order of its own."""
    nbgrad.manual_seed(1)
    loader = DataLoader(Squares(), batch_size=3, shuffle=True)
    first, second = lists(loader), lists(loader)
    nbgrad.manual_seed(1)
    assert lists(loader) == first != second
    assert sorted(sum(first, [])) == [i * i for i in range(10)]
    own = [lists(DataLoader(Squares(), shuffle=True, generator=nbgrad.Generator().manual_seed(4))) for _ in range(2)]
    assert own[0] == own[1]


def test_samplers_and_batch_samplers():
    """Any iterable of indices, or of lists of them."""
    assert lists(DataLoader(Squares(), batch_size=2, sampler=[3, 1, 2])) == [[9, 1], [4]]
    loader = DataLoader(Squares(), batch_sampler=[[1], [2, 3]])
    assert lists(loader) == [[1], [4, 9]] and len(loader) == 2 and loader.batch_size is None
    table = DataLoader({"a": 1, "b": 2}, batch_size=2, sampler=["b", "a"])
    assert lists(table) == [[2, 1]]


def test_streams():
    """A stream ends when it ends; its length is an estimate, of which more samples are told."""
    loader = DataLoader(Count(5), batch_size=2)
    assert lists(loader) == [[0, 1], [2, 3], [4]]
    assert len(loader) == 3 and len(DataLoader(Count(5), batch_size=2, drop_last=True)) == 2
    assert lists(DataLoader(Count(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]

    class Modest(Count):
        def __len__(self):
            return 1

    modest = DataLoader(Modest(2), batch_size=None)
    assert list(modest) == [0, 1]  # nobody has asked
    assert len(modest) == 1
    with pytest.warns(UserWarning, match="have 1 samples, has given 2 batches"):
        list(modest)


def test_what_a_dataset_can_be():
    """Arrays, lists, strings, and whatever has indices and a length."""
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    (batch,) = DataLoader(array, batch_size=4)
    assert batch.dtype is nbgrad.float32 and np.array_equal(batch.numpy(), array)
    assert not np.shares_memory(batch.numpy(), array)
    assert lists(DataLoader(np.arange(3.0), batch_size=2)) == [[0.0, 1.0], [2.0]]
    assert next(iter(DataLoader(np.arange(3.0), batch_size=2))).dtype is nbgrad.float64
    assert list(DataLoader("abc", batch_size=2)) == [["a", "b"], ["c"]]
    assert lists(DataLoader([1, 2, 3], batch_size=2)) == [[1, 2], [3]]
    with pytest.raises(TypeError, match="<U1"):
        next(iter(DataLoader(np.array([["a"]]), batch_size=1)))


def test_collate_fn():
    """It gets the list of samples, or the sample where there are no batches."""
    assert list(DataLoader(Squares(), batch_size=5, collate_fn=sum)) == [30, 255]
    assert list(DataLoader(Squares(), batch_size=None, sampler=[3], collate_fn=str)) == ["9"]


class AtOnce(Dataset):
    """A dataset that is asked for lists of indices."""

    def __init__(self):
        self.asked = []

    def __len__(self):
        return 4

    def __getitems__(self, indices):
        self.asked.append(indices)
        return [i + 10 for i in indices]


def test_getitems_is_called_with_the_whole_batch():
    """One call a batch, of the dataset inside subsets and stacks too."""
    for wrap, expected in (
        (lambda x: x, [[10, 11], [12, 13]]),
        (lambda x: Subset(x, [3, 2]), [[13, 12]]),
        (lambda x: data.StackDataset(a=x), [[10, 11], [12, 13]]),
    ):
        dataset = AtOnce()
        found = [batch["a"] if isinstance(batch, dict) else batch for batch in DataLoader(wrap(dataset), batch_size=2)]
        assert [batch.tolist() for batch in found] == expected
        assert len(dataset.asked) == len(expected)


# ---- whole batches ---------------------------------------------------------------------------------------------------


class Slow(TensorDataset):
    """The same dataset, which a loader does not know."""

    def __getitem__(self, index):
        return super().__getitem__(index)


TENSORS = {
    "pairs": lambda: (nbgrad.randn(10, 3), nbgrad.arange(10)),
    "bfloat16": lambda: (nbgrad.randn(10, 2).to(nbgrad.bfloat16),),
    "complex, transposed": lambda: (nbgrad.randn(4, 10, dtype=nbgrad.complex64).t(),),
    "bools of no columns": lambda: (nbgrad.zeros(10, 0, dtype=nbgrad.bool), nbgrad.ones(10, 2, 2) > 0),
    "expanded": lambda: (nbgrad.ones(1, 3).expand(10, 3),),
    "conjugated": lambda: (nbgrad.randn(10, dtype=nbgrad.complex128).conj(),),
}


@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("indices", [[[0, 1, 2]], [[9, 0, 9, 3], [1]], [[-1, 2], [-10]]])
def test_whole_batches_are_what_samples_give(kind, indices):
    """Rows that are taken at once are equal, in value, dtype and strides, to rows that are stacked, and are copies."""
    tensors = TENSORS[kind]()
    for wrap in (lambda x: x, lambda x: Subset(x, list(range(9, -1, -1)))):
        fast = list(DataLoader(wrap(TensorDataset(*tensors)), batch_sampler=indices))
        slow = list(DataLoader(wrap(Slow(*tensors)), batch_sampler=indices))
        for one, other in zip(fast, slow, strict=True):
            assert type(one) is type(other) is list
            for a, b, source in zip(one, other, tensors, strict=True):
                assert a.dtype is b.dtype and nbgrad.equal(a, b) and a.stride() == b.stride()
                assert a._storage_ is not source._storage_


def test_gradients_through_batches():
    """A tensor that requires grad gets the gradient of the rows that were taken."""
    found = []
    for kind in (TensorDataset, Slow):
        x = nbgrad.arange(4.0).requires_grad_()
        for (batch,) in DataLoader(kind(x), batch_sampler=[[1, 1, 3]]):
            assert batch.requires_grad
            (batch**2).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [0.0, 4.0, 0.0, 6.0]


def test_datasets_that_say_otherwise_are_asked():
    """A subclass's own samples, another collate_fn, and a changed map are not passed by."""

    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * x for x in super().__getitem__(index))

    class Listed(TensorDataset):
        def __getitems__(self, indices):
            return [(nbgrad.tensor(7),)] * len(indices)

    class Negated(Subset):
        def __getitem__(self, index):
            return -self.dataset[self.indices[index]][0]

        def __getitems__(self, indices):
            return [self[i] for i in indices]

    x = nbgrad.arange(3)
    assert next(iter(DataLoader(Doubled(x), batch_size=3)))[0].tolist() == [0, 2, 4]
    assert next(iter(DataLoader(Listed(x), batch_size=3)))[0].tolist() == [7, 7, 7]
    assert next(iter(DataLoader(Negated(TensorDataset(x), [2]), batch_size=3))).tolist() == [-2]
    assert next(iter(DataLoader(TensorDataset(x), batch_size=3, collate_fn=len))) == 3
    functions = data.default_collate_fn_map
    before = functions[nbgrad.Tensor]
    functions[nbgrad.Tensor] = lambda batch, *, collate_fn_map: "mine"
    try:
        assert next(iter(DataLoader(TensorDataset(x), batch_size=3))) == ["mine"]
    finally:
        functions[nbgrad.Tensor] = before


def test_indices_out_of_range():
    """An index that is not there is an IndexError, whether rows are taken at once or one by one."""
    for dataset in (TensorDataset(nbgrad.ones(3)), Slow(nbgrad.ones(3)), np.ones(3), [1, 2, 3], Subset([1, 2, 3, 4], [0, 1, 2])):
        for index in (3, -4):
            with pytest.raises(IndexError):
                list(DataLoader(dataset, batch_size=2, sampler=[0, index]))
    with pytest.raises(IndexError):
        list(DataLoader(Subset(TensorDataset(nbgrad.ones(3)), [5]), batch_size=1))


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"batch_size": 0}, ValueError, "batch_size must be a positive int, got 0"),
        ({"batch_size": 1.5}, ValueError, "1.5"),
        ({"drop_last": 3}, ValueError, "drop_last"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "sampler and shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueError, "batch_sampler"),
        ({"batch_sampler": [[0]], "shuffle": True}, ValueError, "batch_sampler"),
        ({"batch_size": None, "drop_last": True}, ValueError, "drop_last"),
        ({"num_workers": -1}, ValueError, "at least 0"),
        ({"num_workers": 1.5}, TypeError, "int"),
        ({"timeout": -1}, ValueError, "at least 0"),
        ({"timeout": 1}, ValueError, "num_workers > 0"),
        ({"prefetch_factor": 2}, ValueError, "num_workers > 0"),
        ({"prefetch_factor": 0, "num_workers": 1}, ValueError, "at least 1"),
        ({"persistent_workers": True}, ValueError, "num_workers > 0"),
        ({"multiprocessing_context": "fork"}, ValueError, "num_workers > 0"),
        ({"multiprocessing_context": "spoon", "num_workers": 1}, ValueError, "spoon"),
        ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "int"),
        ({"collate_fn": 3}, TypeError, "function"),
    ],
)
def test_options_that_cannot_be(options, error, text):
    """Options that are wrong, or exclude each other, are refused when the loader is made."""
    with pytest.raises(error, match=text):
        DataLoader(Squares(), **options)


@pytest.mark.parametrize("option", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_streams_have_no_order(option):
    """A stream has its own."""
    with pytest.raises(ValueError, match=f"expected no {next(iter(option))}"):
        DataLoader(Count(3), **option)
    assert lists(DataLoader(Count(2), shuffle=False)) == [[0], [1]]


def test_attributes():
    """Ported programs read them; what batches depend on cannot be set any more."""
    loader = DataLoader(Squares(), batch_size=3)
    assert (loader.batch_size, loader.num_workers, loader.drop_last, loader.pin_memory) == (3, 0, False, False)
    assert (loader.prefetch_factor, loader.timeout, loader.persistent_workers) == (None, 0, False)
    assert isinstance(loader.sampler, data.SequentialSampler) and isinstance(loader.batch_sampler, data.BatchSampler)
    for name in ("batch_size", "sampler", "dataset"):
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, None)
    assert lists(pickle.loads(pickle.dumps(loader))) == lists(loader)
    with pytest.raises(NotImplementedError, match="pickle the loader"):
        pickle.dumps(iter(loader))


@pytest.mark.skipif(nbgrad.cuda.is_available(), reason="there is a GPU")
def test_pinning_without_a_gpu():
    """It is ignored, and said."""
    with pytest.warns(UserWarning, match="no GPU"):
        assert lists(DataLoader(Squares(), batch_size=10, pin_memory=True)) == [[i * i for i in range(10)]]


def test_length_of_what_has_none():
    """The length is asked of who has none: a TypeError, as of len()."""

    class Endless(IterableDataset):
        def __iter__(self):
            while True:
                yield 1

    with pytest.raises(TypeError, match="len"):
        len(DataLoader(Endless()))
    assert next(iter(DataLoader(Endless(), batch_size=2))).tolist() == [1, 1]


def test_nothing_is_imported_before_it_is_used():
    """The package does not load datasets, and loading in one process loads nothing of multiprocessing."""
    script = (
        "import sys, nbgrad; from nbgrad.utils import data; assert 'nbgrad.data' not in sys.modules; "
        "list(data.DataLoader(data.TensorDataset(nbgrad.ones(3)))); "
        "print([name for name in sys.modules if name.startswith('multiprocessing') or name == 'nbgrad.data.workers'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_passes_through_a_loader_of_a_program():
    """An iterator asks what it is given under torch's names, so that programs give it loaders of their own."""
    from nbgrad.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind, _SingleProcessDataLoaderIter

    class Mine:
        dataset, collate_fn, drop_last, generator, pin_memory = [[1, 2], [3]], staticmethod(list), False, None, False
        _index_sampler, _auto_collation, _dataset_kind = iter(int, 1), False, _DatasetKind.Iterable
        _IterableDataset_len_called = None

    assert list(_SingleProcessDataLoaderIter(Mine())) == [[1, 2], [3]]
    loader = DataLoader(Squares(), batch_size=3)
    assert isinstance(iter(loader), _BaseDataLoaderIter) and loader._auto_collation
    assert (loader._dataset_kind, DataLoader(Count(2))._dataset_kind) == (_DatasetKind.Map, _DatasetKind.Iterable)
