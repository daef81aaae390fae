"""``set_``, ``resize_`` and their like: which memory a tensor stands on."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import nbgrad
from nbgrad import forward_ad


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


def test_set_of_a_view_keeps_its_history():
    """As it does of other tensors: gradients go where they went, though the memory is another."""
    x = nbgrad.ones(3, requires_grad=True)
    y = (x * 2)[1:]
    y.retain_grad()
    with nbgrad.no_grad():
        y.set_(nbgrad.tensor([7.0, 8.0]))
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 28.0, 32.0] and y.grad.tolist() == [14.0, 16.0] and not y._is_view()


def test_set_of_a_leaf_that_is_a_view():
    """A part of flat memory that is a parameter keeps its gradient, its hooks and what was computed from it."""
    part, seen = nbgrad.arange(6.0)[2:5].requires_grad_(), []
    (part * 2).sum().backward()
    part.register_hook(lambda g: seen.append(g.tolist()))
    loss = (part * 3).sum()
    with nbgrad.no_grad():
        part.set_(nbgrad.ones(3))
    loss.backward()
    assert part.grad.tolist() == [5.0] * 3 and seen == [[3.0] * 3] and part.is_leaf


@pytest.mark.parametrize("make", [lambda x: x * 1, lambda x: x[:]], ids=["result", "view"])
def test_set_of_a_computed_tensor_to_another_shape(make):
    """Its gradient has the shape that it had: an error, also where the shapes broadcast."""
    y = make(nbgrad.ones(3, requires_grad=True))
    with nbgrad.no_grad(), pytest.raises(nbgrad.ShapeError, match=r"set_: .* \[3\]"):
        y.set_(nbgrad.ones(1))
    assert y.tolist() == [1.0] * 3 and y.requires_grad


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
    assert x.numpy().reshape(-1).tolist() == np.arange(4.0)[: x.numel()].tolist()


def test_resize_beyond_the_memory():
    """The storage grows for all tensors on it, and what was there stays."""
    x = nbgrad.arange(4.0)
    alias = x.detach()
    x.resize_(2, 5)[1, 4] = 7.0
    assert x[0, :4].tolist() == [0.0, 1.0, 2.0, 3.0] and x[1, 4].item() == 7.0
    x[0, 0] = 9.0
    assert alias.tolist() == [9.0, 1.0, 2.0, 3.0]


def test_resize_of_a_part():
    """A view that is resized begins where it began, and stays a view: a recorded write to either shows in the other's history."""
    base, factor = nbgrad.arange(4.0), nbgrad.tensor(3.0, requires_grad=True)
    view = base[1:]
    assert view.resize_(2).tolist() == [1.0, 2.0] and view._base is base
    view.mul_(factor)
    assert nbgrad.grad(base.sum(), factor, retain_graph=True)[0].item() == 3.0 and base.tolist() == [0.0, 3.0, 6.0, 3.0]
    base.mul_(factor)
    assert nbgrad.grad(view.sum(), factor)[0].item() == 2 * 3.0 * 3.0


def test_resize_of_a_part_beyond_its_base():
    """The storage grows; what the base has not got can be written to, though no write there can be recorded."""
    base = nbgrad.arange(4.0)
    view = base[1:]
    view.resize_(6).fill_(7.0)
    assert base.tolist() == [0.0, 7.0, 7.0, 7.0]
    with pytest.raises(nbgrad.InplaceError, match="outside of its base"):
        view.mul_(nbgrad.ones(6, requires_grad=True))
    assert base.tolist() == [0.0, 7.0, 7.0, 7.0] and not base.requires_grad


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: nbgrad.arange(6.0).view(2, 3).t(),
        lambda: nbgrad.arange(6.0).view(3, 2)[:, 1],
        lambda: nbgrad.arange(3.0).view(3, 1).expand(3, 2),
        lambda: nbgrad.ones(2, 3),
    ],
    ids=["transposed", "column", "expanded", "plain"],
)
def test_resize_to_the_same_shape(make):
    """It changes nothing: elements, strides, version and the base of a view stay."""
    x = make()
    before, base = (x.tolist(), x.stride(), x._version), x._base
    assert x.resize_(x.shape) is x and x.resize_as_(nbgrad.zeros(x.shape)) is x
    assert (x.tolist(), x.stride(), x._version) == before and x._base is base


def test_resize_to_the_same_shape_is_no_write():
    """What saved the tensor still has it."""
    w, x = nbgrad.arange(3.0), nbgrad.ones(3, requires_grad=True)
    y = (w * x).sum()
    w.resize_(3)
    y.backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


def test_resize_into_a_memory_format():
    """The elements that memory has in a row are then in that order; ``preserve_format`` is another tensor's alone."""
    last, wanted = nbgrad.channels_last, (16, 1, 8, 2)
    assert nbgrad.arange(16.0).resize_(1, 2, 2, 4, memory_format=last).stride() == wanted
    assert nbgrad.arange(16.0).view(1, 2, 2, 4).resize_(1, 2, 2, 4, memory_format=last).stride() == wanted
    like = nbgrad.zeros(1, 2, 2, 4).contiguous(memory_format=last)
    assert nbgrad.arange(16.0).resize_as_(like, memory_format=nbgrad.preserve_format).stride() == wanted
    assert nbgrad.arange(4.0).resize_(2, 2, memory_format=nbgrad.contiguous_format).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(nbgrad.ArgumentError, match="resize_: preserve_format"):
        nbgrad.arange(4.0).resize_(2, 2, memory_format=nbgrad.preserve_format)


@pytest.mark.parametrize(
    "change",
    [lambda x: x.resize_(4), lambda x: x.resize_as_(nbgrad.zeros(2)), lambda x: x.set_(nbgrad.ones(2)), lambda x: x.unsqueeze_(0)],
    ids=["resize_", "resize_as_", "set_", "unsqueeze_"],
)
def test_inference_tensors_stay_what_they_are(change):
    """With other memory or another shape too, so that saving one for backward is still refused."""
    with nbgrad.inference_mode():
        x = change(nbgrad.zeros(3))
    assert x.is_inference()
    with pytest.raises(nbgrad.GradError, match="inference tensor cannot be saved"):
        nbgrad.ones(x.shape, requires_grad=True) * x


def test_resize_in_inference_mode_of_what_requires_grad():
    """Nothing is recorded there: the leaf gets another shape and goes on requiring grad."""
    x = nbgrad.zeros(3, requires_grad=True)
    with nbgrad.inference_mode():
        x.resize_(5)
    assert x.shape == (5,) and x.requires_grad and not x.is_inference()


def test_set_to_a_part_of_memory():
    """Offset, size and strides count in elements of a tensor or of a storage; strides are row by row where they are not given."""
    source = nbgrad.arange(6.0)
    for memory in (source, source.untyped_storage()):
        x = nbgrad.zeros(2).set_(memory, 1, (2, 2), (2, 1))
        assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]] and x.storage_offset() == 1
        assert nbgrad.zeros(1).set_(memory, storage_offset=2, size=(2, 2)).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert nbgrad.zeros(1).set_(source.untyped_storage()).tolist() == source.tolist()
    with pytest.raises(nbgrad.ShapeError, match="^set_: "):
        nbgrad.zeros(1).set_(source, 4, (4,), (1,))
    with pytest.raises(nbgrad.ArgumentError, match="go with a size"):
        nbgrad.zeros(1).set_(source, 1)


def test_memory_counts_as_the_size_of_a_storage():
    """As tools that sum up a model's memory ask, ``sys.getsizeof`` of a storage grows with it."""
    few, many = (sys.getsizeof(nbgrad.zeros(count).untyped_storage()) for count in (10, 1000))
    assert many - few == 4 * 990 and few > 40


def test_new_of_a_size():
    """A Size stands for sizes, other sequences for data."""
    x = nbgrad.zeros(2, 3)
    assert x.new(x.shape).shape == (2, 3) and x.new(x.size()).dtype is x.dtype and x.new(x.sum().shape).shape == ()
    assert x.new((1, 2)).tolist() == [1.0, 2.0] and x.new(2, 1).shape == (2, 1)


@pytest.mark.parametrize("dim", range(4))
def test_cat_keeps_channels_last(dim):
    """What lies with its channels last is joined so, values and gradients as row by row; with another operand row by row."""
    rows = nbgrad.arange(120.0).reshape(2, 3, 4, 5)
    last = rows.to(memory_format=nbgrad.channels_last).requires_grad_()
    out = nbgrad.cat([last, last.double()], dim)
    assert out.is_contiguous(memory_format=nbgrad.channels_last) and out.tolist() == nbgrad.cat([rows, rows], dim).tolist()
    weight = nbgrad.arange(float(out.numel())).reshape(out.shape)
    first, second = weight.chunk(2, dim)
    assert nbgrad.grad((out * weight).sum(), last)[0].tolist() == (first + second).tolist()
    assert nbgrad.cat([last, rows], dim).is_contiguous() and nbgrad.cat([rows, last], dim).is_contiguous()


@pytest.mark.parametrize("shape, strides", [((2, 1, 3, 3), (9, 1, 3, 1)), ((2, 3, 1, 1), (3, 1, 3, 3))], ids=str)
def test_strides_of_one_element_tell_channels_last(shape, strides):
    """``to`` gives such dimensions the strides of the format, and the tensor itself where it has them; ``contiguous`` asks for
    the order of the elements alone."""
    x = nbgrad.ones(*shape)
    last = x.to(memory_format=nbgrad.channels_last)
    assert last.stride() == strides == x.double().cpu(memory_format=nbgrad.channels_last).stride()
    assert last.to(memory_format=nbgrad.channels_last) is last and x.contiguous(memory_format=nbgrad.channels_last) is x


def test_cat_keeps_channels_last_of_volumes():
    """The same for five dimensions."""
    x = nbgrad.arange(48.0).reshape(2, 3, 2, 2, 2).to(memory_format=nbgrad.channels_last_3d)
    assert nbgrad.cat([x, x], 1).is_contiguous(memory_format=nbgrad.channels_last_3d)
    assert nbgrad.cat([x, x], 1).tolist() == nbgrad.cat([x.contiguous(), x.contiguous()], 1).tolist()


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.resize_(2),
        lambda x: x.resize_(5),
        lambda x: x.set_(nbgrad.ones(3)),
        lambda x: setattr(x, "data", nbgrad.ones(5)),
        lambda x: setattr(x, "data", nbgrad.ones(3, dtype=nbgrad.int64)),
    ],
    ids=["resize_", "grown", "set_", "data of another shape", "data of integers"],
)
@pytest.mark.parametrize("part", [False, True], ids=["dual", "view of what became dual"])
def test_a_dual_tensor_is_not_moved_away_from_its_tangent(move, part):
    """The tangent would be lost, or read where there is none: an error, after which both are as they were."""
    with forward_ad.dual_level():
        base = nbgrad.zeros(4)
        x = base[1:]
        (base if part else x).add_(forward_ad.make_dual(nbgrad.ones(1), nbgrad.tensor([2.0])))
        with pytest.raises(nbgrad.GradError, match="has a tangent"):
            move(x)
        assert x.tolist() == [1.0] * 3 and forward_ad.unpack_dual(x).tangent.tolist() == [2.0] * 3


def test_data_of_a_dual_tensor_may_lie_and_be_otherwise():
    """The tangent is taken along: to the strides of the new memory, which views rely on, and to its dtype."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(nbgrad.ones(3), nbgrad.tensor([1.0, 2.0, 3.0]))
        x.data = nbgrad.arange(6.0, dtype=nbgrad.float64).view(3, 2)[:, 1]
        tangent = forward_ad.unpack_dual(x).tangent
        assert tangent.dtype is nbgrad.float64 and tangent.stride() == (2,) and tangent.tolist() == [1.0, 2.0, 3.0]
        assert forward_ad.unpack_dual(x.as_strided((2,), (2,), 3)).tangent.tolist() == [2.0, 3.0]


def test_typed_storage():
    """``storage`` is the memory as numbers, shared with the tensor and its views; it is old, and says so."""
    x = nbgrad.arange(6.0)
    with pytest.warns(UserWarning, match="typed storages are old"):
        numbers = x[2:].storage()
    assert len(numbers) == numbers.size() == 6 and numbers.tolist() == list(numbers) == x.tolist()
    assert numbers.data_ptr() == x.data_ptr() and numbers.nbytes() == 24 and numbers.element_size() == 4
    numbers[2] = 9.0
    assert x[2].item() == numbers[2] == 9.0 and numbers.untyped() == x.untyped_storage()
    with pytest.warns(UserWarning):
        assert numbers == x.storage() and not nbgrad.zeros(0).storage() and x.storage() != nbgrad.zeros(6).storage()
    assert nbgrad.TypedStorage([1, 2]).tolist() == [1.0, 2.0] and len(nbgrad.TypedStorage(3, dtype=nbgrad.int64)) == 3
    assert numbers.fill_(1.0) is numbers and x.sum().item() == 6.0
    assert repr(numbers) == "<TypedStorage of 6 numbers of nbgrad.float32 on cpu>" and isinstance(numbers, nbgrad.TypedStorage)


def test_a_number_of_each_tensor():
    """``_cdata`` tells tensors apart, a view from its base too."""
    x = nbgrad.ones(2)
    assert x._cdata == x._cdata != x[:]._cdata


def test_type_of_the_default_dtype():
    """``x.type(Tensor)`` converts to the default dtype."""
    x = nbgrad.tensor([1, 2])
    assert x.type(nbgrad.Tensor).dtype is x.type("nbgrad.Tensor").dtype is nbgrad.float32
