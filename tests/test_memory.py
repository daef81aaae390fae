"""``set_``, ``resize_`` and their like: which memory a tensor stands on."""
from __future__ import annotations

import numpy as np
import pytest

import nbgrad


def test_set_shares_memory_and_not_the_version():
    """After ``a.set_(b)`` a write to one is seen in the other; each counts its own writes."""
    a, b = nbgrad.ones(3), nbgrad.zeros(2)
    assert a.set_(b) is a and a.shape == (2,) and a._version == 1 and b._version == 0
    a.add_(1)
    assert b.tolist() == [1.0, 1.0] and a._version == 2 and b._version == 0


def test_set_to_a_strided_part():
    """Shape, strides and place are those of the source."""
    source = nbgrad.arange(6.0).view(2, 3)
    x = nbgrad.empty(0).set_(source.t()[1:])
    assert x.shape == (2, 2) and x.tolist() == [[1.0, 4.0], [2.0, 5.0]] and x.data_ptr() == source[:, 1:].data_ptr()
    assert nbgrad.ones(3).set_().shape == (0,)


def test_set_notices_saved_tensors():
    """A tensor that was saved before ``set_`` is known to have changed."""
    w, x = nbgrad.ones(2), nbgrad.ones(2, requires_grad=True)
    y = (w * x).sum()
    w.set_(nbgrad.zeros(2))
    with pytest.raises(nbgrad.VersionError):
        y.backward()


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1], ids=["leaf", "result"])
def test_set_is_refused_where_it_would_be_recorded(make):
    """A tensor that requires grad keeps its memory, unless recording is off."""
    x = make(nbgrad.ones(2, requires_grad=True))
    with pytest.raises(nbgrad.InplaceError, match="set_"):
        x.set_(nbgrad.zeros(2))
    with nbgrad.no_grad():
        assert x.set_(nbgrad.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("source, error", [(nbgrad.zeros(2, dtype=nbgrad.float64), RuntimeError), (np.zeros(2), TypeError)])
def test_set_to_something_else(source, error):
    """Another dtype, or no tensor, is refused."""
    with pytest.raises(error, match="set_"):
        nbgrad.ones(2).set_(source)


@pytest.mark.parametrize("size", [(2,), (2, 2), (0,), ()])
def test_resize_within_the_memory(size):
    """Elements keep their places; fewer of them are shown."""
    x = nbgrad.arange(4.0)
    assert x.resize_(size) is x and x.shape == size
    assert x.numpy().reshape(-1).tolist() == np.arange(4.0)[:x.numel()].tolist()


def test_resize_beyond_the_memory():
    """The storage grows for all tensors on it, and what was there stays."""
    x = nbgrad.arange(4.0)
    alias = x.detach()
    x.resize_(2, 5)[1, 4] = 7.0
    assert x[0, :4].tolist() == [0.0, 1.0, 2.0, 3.0] and x[1, 4].item() == 7.0
    x[0, 0] = 9.0
    assert alias.tolist() == [9.0, 1.0, 2.0, 3.0]


def test_resize_of_a_part():
    """A view that is resized begins where it began, and is no view of its base to autograd any more."""
    base = nbgrad.arange(4.0)
    view = base[1:]
    view.resize_(2)
    assert view.tolist() == [1.0, 2.0] and not view._is_view()


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x * 1], ids=["leaf", "result"])
def test_resize_of_what_requires_grad(make):
    """Elements that come or go have no gradient: RuntimeError."""
    with pytest.raises(RuntimeError, match="resize_: the tensor requires grad"):
        make(nbgrad.ones(2, requires_grad=True)).resize_(1)


def test_resize_of_shared_memory():
    """An array's memory does not grow."""
    x = nbgrad.from_numpy(np.arange(3.0))
    assert x.resize_(2).tolist() == [0.0, 1.0]
    with pytest.raises(nbgrad.InplaceError, match="shares 24 with a NumPy array"):
        x.resize_(4)


def test_resize_counts_as_a_write():
    """A tensor that was saved before is known to have changed."""
    w, x = nbgrad.ones(2), nbgrad.ones(2, requires_grad=True)
    y = (w * x).sum()
    w.resize_(1)
    with pytest.raises(nbgrad.VersionError):
        y.backward()


def test_resize_as():
    """The shape of another tensor."""
    assert nbgrad.arange(6.0).resize_as_(nbgrad.ones(2, 3)).shape == (2, 3)
