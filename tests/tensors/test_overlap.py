"""What is said about shared memory, beside the addresses of all elements."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.tensors.overlap import apart, overlapping, overlaps_itself, unchanged
from nbgrad.tensors.tensor import native

DTYPES = ("float32", "int32", "int16", "float64")


def memory(rng: np.random.Generator) -> list[nbgrad.Tensor]:
    """Tensors of all dtypes on one array of 256 bytes: nbgrad's own, or one that several arrays show."""
    if rng.random() < 0.5:
        return [nbgrad.zeros(64, dtype=nbgrad.int32).view(getattr(nbgrad, name)) for name in DTYPES[:1]] * 2
    array = np.zeros(256, np.uint8)
    start = int(rng.integers(0, 2)) * 64
    return [nbgrad.asarray(part.view("float32")) for part in (array, array[start:])]


def drawn(rng: np.random.Generator, x: nbgrad.Tensor, shape: tuple[int, ...]) -> nbgrad.Tensor | None:
    """A tensor of a shape, 1 where it broadcasts, in the memory of ``x``: seen as any dtype, with any strides from any place."""
    x = x.view(getattr(nbgrad, str(rng.choice(DTYPES))))
    shape = tuple(int(rng.choice([n, n, n, 1])) for n in shape)
    strides = tuple(int(s) for s in rng.choice([1, 2, 3, 4, 6, 8], len(shape)))
    room = x.numel() - 1 - sum((n - 1) * s for n, s in zip(shape, strides) if n)
    return None if room < 0 else x.as_strided(shape, strides, int(rng.choice([0, 1, 2, room // 2, room])) if room > 2 else 0)


def addresses(x: nbgrad.Tensor, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The bytes of every element: ``[*shape, itemsize]``."""
    size = x.element_size()
    first = np.full(x.shape, x.data_ptr(), np.int64)
    for dim, (n, stride) in enumerate(zip(x.shape, x.stride())):
        first += (np.arange(n) * stride * size).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    if shape is not None:
        first = np.broadcast_to(first, shape)
    return first[..., None] + np.arange(size)


def truly_overlap(x, y) -> bool:
    """Whether a byte belongs to both."""
    return bool(np.isin(addresses(x).ravel(), addresses(y).ravel()).any())


def truly_apart(x, y) -> bool:
    """Whether no byte of ``y`` is written with ``x`` at another position than where it is read."""
    written, read = addresses(x), addresses(y, x.shape)
    written, read = written.reshape(-1, written.shape[-1]), read.reshape(-1, read.shape[-1])
    return all(not np.isin(row, np.delete(written, k, 0)).any() for k, row in enumerate(read))


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_safe_on_random_layouts(seed):
    """What does not overlap shares no byte, what is apart is read where it is written, and native code says no more."""
    rng, seen = np.random.default_rng(seed), 0
    while seen < 20:
        shape = tuple(int(n) for n in rng.integers(0, 4, rng.integers(0, 4)))
        one, other = memory(rng)
        x, y = drawn(rng, one, shape), drawn(rng, other, shape)
        if x is None or y is None or x.shape != shape or len(np.unique(addresses(x))) < x.numel() * x.element_size():
            continue  # what is written to has a place for each element
        seen += 1
        assert overlapping(x, y) >= truly_overlap(x, y)
        assert overlapping(x, y) == overlapping(y, x)
        if x.layout.dense and y.layout.dense:
            assert overlapping(x, y) == truly_overlap(x, y)
            assert apart(x, y) == truly_apart(x, y) or x.numel() == 1
        assert native.apart(x, y) <= apart(x, y) <= truly_apart(x, y)


def test_layouts_that_overlap_themselves():
    """Of random sizes and strides those that give two positions one element are found."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        shape, strides = (tuple(int(n) for n in rng.integers(low, 5, 3)) for low in (1, 0))
        places = sum(np.indices(shape)[d] * strides[d] for d in range(3))
        if len(np.unique(places)) < places.size:
            assert overlaps_itself(shape, strides)
    assert not overlaps_itself((4, 3), (3, 1)) and not overlaps_itself((3, 4), (1, 3)) and not overlaps_itself((2, 1), (5, 0))


def test_memory_seen_through_numpy_is_the_same_memory():
    """An array's part that comes back as a tensor lies in the memory of the tensor that the array was made from."""
    x = nbgrad.arange(8.0)
    y = nbgrad.asarray(x.numpy()[2:])
    assert overlapping(x, y) and not apart(x[:6], y) and apart(x[2:], y)
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        x[:6].add_(y)
    assert not overlapping(x, nbgrad.arange(8.0))


def test_elements_of_another_size_are_at_other_places():
    """The same strides from the same start, of two bytes beside four."""
    x = nbgrad.arange(1, 5, dtype=nbgrad.int32)
    y = x.view(nbgrad.int16)[:4]
    assert not apart(x, y) and not apart(y, x)
    with pytest.raises(nbgrad.InplaceError, match="overlaps"):
        x.add_(y)


def test_interleaved_memory_is_copied():
    """What lies between is read before the write; what is dense, or lies apart, is read where it is."""
    x = nbgrad.arange(8.0)
    y = x[1::2]
    assert unchanged("add_", x[::2], y) is not y and unchanged("add_", x[:2], x[4:]).data_ptr() == x[4:].data_ptr()
    assert unchanged("add_", x, 3) == 3 and unchanged("add_", x, x) is x
    with pytest.raises(nbgrad.InplaceError, match="^scatter_: an operand overlaps"):
        unchanged("scatter_", x, x, at_its_place=False)
