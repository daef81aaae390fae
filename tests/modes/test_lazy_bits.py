"""Lazy conjugates and negatives: views that share memory and version, through every door, and their histories."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import nbgrad
from tests.helpers import leaf

C128 = nbgrad.complex128
DATA = np.array([[1 + 2j, -3 + 0.5j, 0.25 - 1j], [2j, 4.0, -1 - 1j]])


def plain(data=DATA):
    """A complex tensor without history, on memory of its own."""
    return nbgrad.tensor(data, dtype=C128)


# ---- what is lazy ----------------------------------------------------------------------------------------------------


def test_conj_shares_memory_and_version():
    """No element moves: the conjugate has the memory, strides and version of the tensor."""
    z = plain()
    c = z.conj()
    assert c.is_conj() and not z.is_conj() and c._storage_ is z._storage_ and c.stride() == z.stride()
    z.mul_(2)
    assert c._version == z._version == 1
    np.testing.assert_array_equal(c.numpy(force=True), 2 * DATA.conj())


def test_twice_is_the_tensor_again():
    """Conjugating and negating undo themselves; both bits together are kept apart."""
    z = plain()
    assert not z.conj().conj().is_conj() and not z._neg_view()._neg_view().is_neg()
    both = z.conj()._neg_view()
    assert both.is_conj() and both.is_neg()
    np.testing.assert_array_equal(both.numpy(force=True), -DATA.conj())


@pytest.mark.parametrize(
    "parts, conj, neg",
    [
        (lambda z: z.conj().imag, False, True),
        (lambda z: z.conj().real, False, False),
        (lambda z: z._neg_view().real, False, True),
        (lambda z: z._neg_view().imag, False, True),
        (lambda z: z._neg_view().conj().imag, False, False),
        (lambda z: nbgrad.view_as_real(z._neg_view()), False, True),
        (lambda z: z.imag, False, False),
    ],
)
def test_bits_of_parts(parts, conj, neg):
    """The imaginary part of a conjugate is a negative; parts have no conjugate bit; the values are those of the numbers."""
    v = parts(plain())
    assert (v.is_conj(), v.is_neg()) == (conj, neg)
    resolved = parts(plain()).resolve_neg()
    assert not resolved.is_neg() and resolved.tolist() == v.tolist()


def test_real_tensors_are_their_own_conjugates():
    """``conj``, ``resolve_conj`` and ``resolve_neg`` of what has no bits return the tensor itself."""
    x, z = nbgrad.ones(2), plain()
    assert x.conj() is x and x.resolve_conj() is x and z.resolve_conj() is z and z.resolve_neg() is z


MOVES = {
    "transpose": lambda c: c.t(),
    "select": lambda c: c[1],
    "slice": lambda c: c[:, 1:],
    "expand": lambda c: c.expand(4, 2, 3),
    "reshape": lambda c: c.reshape(3, 2),
    "unbind": lambda c: c.unbind()[1],
    "diagonal": lambda c: c.diagonal(),
    "as_strided": lambda c: c.as_strided((2, 2), (1, 2)),
    "mH": lambda c: c.mH,
    "detach": lambda c: c.detach(),
    "unsqueeze": lambda c: c.unsqueeze(0),
    "squeeze": lambda c: c[:1].squeeze(0),
    "split": lambda c: c.split(1)[0],
}


@pytest.mark.parametrize("name", MOVES)
def test_views_keep_the_bit(name):
    """A movement of a conjugate is the conjugate of the movement; ``mH`` conjugates again."""
    move = MOVES[name]
    moved = move(plain().conj())
    assert moved.is_conj() is (name != "mH")
    np.testing.assert_array_equal(moved.numpy(force=True), move(plain(DATA.conj())).numpy(force=True))


@pytest.mark.parametrize(
    "make",
    [
        lambda c: c.clone(),
        lambda c: c + 0,
        lambda c: -c,
        lambda c: c.to(nbgrad.complex64),
        lambda c: nbgrad.cat([c, c]),
        lambda c: c.sum(0),
        lambda c: c @ c.t(),
        lambda c: c[[1, 0]],
        lambda c: nbgrad.empty_like(c),
        lambda c: c.new_zeros(2),
        lambda c: c.resolve_conj(),
        lambda c: c.conj_physical(),
        lambda c: c.t().contiguous(),
    ],
)
def test_results_have_no_bits(make):
    """What is computed is computed: only views are lazy."""
    out = make(plain().conj())
    assert not out.is_conj() and not out.is_neg()


def test_what_changes_nothing_stays_lazy():
    """``contiguous`` and ``to`` of the same dtype return the lazy tensor itself."""
    c = plain().conj()
    assert c.contiguous() is c and c.to(C128) is c


# ---- operations read through the bits --------------------------------------------------------------------------------

FUNCTIONS = {
    "add": lambda m, c: c + 1,
    "mul": lambda m, c: c * c,
    "div": lambda m, c: 2 / c,
    "exp": lambda m, c: m.exp(c),
    "abs": lambda m, c: m.abs(c),
    "sum": lambda m, c: c.sum(),
    "mean": lambda m, c: c.mean(0),
    "prod": lambda m, c: c.prod(),
    "cumsum": lambda m, c: c.cumsum(1),
    "matmul": lambda m, c: c @ c.reshape(3, 2),
    "eq": lambda m, c: c == m.conj(c),
    "where": lambda m, c: m.where(c == 4, c, c * 2),
    "stack": lambda m, c: m.stack([c, c]),
    "index": lambda m, c: c[[1, 0]],
    "flip": lambda m, c: m.flip(c, (0,)),
    "imag": lambda m, c: c.imag * 3,
    "outer": lambda m, c: m.outer(c[0], c[1]),
    "tril": lambda m, c: m.tril(c),
    "any": lambda m, c: c.imag.any(),
    "max": lambda m, c: c.imag.max(),
    "cast": lambda m, c: c.imag + 1j,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations_see_the_values(name):
    """Every kind of operation gives what it gives of the computed conjugate: NumPy's result."""
    got = FUNCTIONS[name](nbgrad, plain().conj())
    np.testing.assert_allclose(got.numpy(force=True), FUNCTIONS[name](np, DATA.conj()), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "bfloat16", "float32", "float64", "complex64"])
def test_conversions_see_the_values(dtype):
    """Conversions of lazy negatives and conjugates negate first, halves included."""
    v, kind = plain().conj().imag, getattr(nbgrad, dtype)
    assert v.to(kind).tolist() == v.resolve_neg().to(kind).tolist()
    half = nbgrad.tensor([1.5, -2.0], dtype=nbgrad.float16)._neg_view()
    assert (half + 0).tolist() == [-1.5, 2.0] and half.float().tolist() == [-1.5, 2.0]


def test_operands_of_other_dtypes_and_shapes_go_with_a_conjugate():
    """A conjugate is converted and broadcast like any operand."""
    c = plain().to(nbgrad.complex64).conj()
    got = c[0] * nbgrad.ones(2, 3, dtype=nbgrad.float64)
    assert got.dtype is C128
    np.testing.assert_array_equal(got.numpy(), np.broadcast_to(DATA[0].conj(), (2, 3)))


# ---- writes ----------------------------------------------------------------------------------------------------------

WRITES = {
    "add_": lambda c: c.add_(1j),
    "mul_": lambda c: c.mul_(2 - 1j),
    "copy_": lambda c: c.copy_(c.clone() * 1j),
    "fill_": lambda c: c.fill_(3 + 4j),
    "zero_": lambda c: c.zero_(),
    "setitem": lambda c: c.__setitem__((0, slice(1, 3)), 5j),
    "index": lambda c: c.__setitem__([1, 0], c.clone()),
    "mask": lambda c: c.__setitem__(c.abs() > 2, 1j),
    "masked_fill_": lambda c: c.masked_fill_(c.abs() > 2, 1j),
    "imag": lambda c: c.imag.add_(1.0),
    "real": lambda c: c.real.mul_(2.0),
    "index_add_": lambda c: c.index_add_(0, nbgrad.tensor([1]), c[:1].clone()),
    "row": lambda c: c[1].sub_(1j),
    "exp_": lambda c: c.exp_(),
    "aliased": lambda c: c.mul_(c.conj()),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_through_a_conjugate_store_the_conjugate(name):
    """The memory holds the conjugate of what was written: the tensor reads as if it had been a computed one."""
    lazy, computed = plain(), plain(DATA.conj())
    WRITES[name](lazy.conj())
    WRITES[name](computed)
    np.testing.assert_allclose(lazy.numpy(), computed.numpy().conj(), rtol=1e-15)


@pytest.mark.parametrize("name", [name for name in WRITES if name != "aliased"])
def test_writes_through_a_conjugate_are_recorded(name):
    """Gradients of the written base are those of the same write to a computed conjugate."""
    grads = []
    for lazily in (True, False):
        z = leaf(DATA, C128)
        base = z * 1 if lazily else z.conj_physical()
        WRITES[name](base.conj() if lazily else base)
        weights = plain(DATA[::-1].copy() + 1)
        out = base.conj() if lazily else base
        grads.append(nbgrad.grad((out * weights).real.sum() + (out.abs() ** 2).sum(), z)[0].numpy())
    np.testing.assert_allclose(*grads, rtol=1e-12, atol=1e-15)


def test_a_write_to_the_base_reaches_its_conjugate():
    """The conjugate of a written base has the new history: its gradient goes through the write."""
    z = leaf(DATA, C128)
    base = z * 1
    c = base.conj()
    base.mul_(2j)
    (g,) = nbgrad.grad(c.real.sum() + 3 * c.imag.sum(), z)
    np.testing.assert_allclose(g.numpy(), np.full((2, 3), np.conj(2j) * np.conj(1 + 3j)))


def test_out_into_a_lazy_tensor():
    """``out=`` writes through the bit and keeps it."""
    out = nbgrad.zeros(2, 3, dtype=C128).conj()
    nbgrad.add(plain(), 1j, out=out)
    assert out.is_conj()
    np.testing.assert_array_equal(out.numpy(force=True), DATA + 1j)


def test_writing_parts_of_a_recorded_tensor():
    """``y.real.mul_(2)`` doubles the real parts' gradients and leaves the imaginary parts' alone."""
    z = leaf(DATA, C128)
    y = z * 1
    y.real.mul_(2)
    (y.abs() ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 8 * DATA.real + 2j * DATA.imag)


@pytest.mark.parametrize("part", [lambda y: y.real, lambda y: y.imag, lambda y: y.conj(), lambda y: y.conj().imag[:, 1:]])
def test_parts_of_a_base_that_was_transposed_in_place(part):
    """After ``y.t_()`` a part that was taken before lies where it lay, and its gradient with it."""
    z = leaf(DATA, C128)
    y = z * 1
    v = part(y)
    y.t_()
    weights = nbgrad.tensor(np.arange(v.numel()).reshape(v.shape) + 1.0)
    value = (v * weights).sum()
    (g,) = nbgrad.grad(value.real if value.is_complex() else value, z)
    other = leaf(DATA, C128)
    value = (part(other * 1) * weights).sum()
    (want,) = nbgrad.grad(value.real if value.is_complex() else value, other)
    np.testing.assert_array_equal(g.numpy(), want.numpy())


# ---- histories -------------------------------------------------------------------------------------------------------


def test_nodes_are_named_as_torchs():
    """ConjBackward0 and NegViewBackward0, views of their operand."""
    z = leaf(DATA, C128)
    assert z.conj().grad_fn.name() == "ConjBackward0" and z._neg_view().grad_fn.name() == "NegViewBackward0"
    assert z.conj()._base is z and z.conj().imag._base is z


def test_gradients_are_computed_numbers():
    """No gradient that a user gets is lazy: it can be handed to NumPy."""
    z = leaf(DATA, C128)
    for out in (z.conj(), z.conj().imag, z._neg_view().real, z.mH, z.conj().t() @ z.conj()):
        (g,) = nbgrad.grad(out.sum() if not out.is_complex() else out.real.sum(), z)
        assert not g.is_conj() and not g.is_neg() and g.numpy().shape == (2, 3)


def test_a_lazy_leaf():
    """A lazy tensor may be a leaf: its gradient is a row-major one of its values."""
    c = plain().conj().requires_grad_()
    (c * c).real.sum().backward()
    assert c.is_conj() and not c.grad.is_conj()
    np.testing.assert_allclose(c.grad.numpy(), np.conj(2 * DATA.conj()))


def test_saved_conjugates_are_checked_for_writes():
    """A conjugate saved for backward shares its base's version: a later write is noticed."""
    z = leaf(DATA, C128)
    base = z * 1
    out = base.conj() * plain().requires_grad_()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="version"):
        out.real.sum().backward()


def test_double_backward_through_conjugates():
    """z conj(z) has the gradient 2z, and that has the gradient 2."""
    z = leaf(DATA, C128)
    (g,) = nbgrad.grad((z * z.conj()).real.sum(), z, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 2 * DATA)
    np.testing.assert_allclose(nbgrad.grad(g.real.sum(), z)[0].numpy(), np.full((2, 3), 2 + 0j))


# ---- doors -----------------------------------------------------------------------------------------------------------


def test_arrays_are_refused():
    """An array, DLPack and other readings of the memory cannot say that it is conjugated."""
    c = plain().conj()
    for door in (
        lambda: c.numpy(),
        lambda: c.imag.numpy(),
        lambda: np.asarray(c),
        lambda: nbgrad.view_as_real(c),
        lambda: c.view(nbgrad.float64),
        lambda: c.imag.view(nbgrad.int64),
    ):
        with pytest.raises(RuntimeError, match="resolve_"):
            door()
    with pytest.raises(BufferError, match="resolve_"):
        c.__dlpack__()


def test_numbers_and_texts_are_the_values():
    """``tolist``, ``item``, ``complex`` and the text show the conjugate."""
    c = nbgrad.tensor([1 + 2j]).conj()
    assert c.tolist() == [1 - 2j] and c.item() == 1 - 2j and complex(c) == 1 - 2j
    assert repr(c) == "tensor([1.-2.j])" and repr(c.imag) == "tensor([-2.])"
    assert (1 - 2j) in c


def test_copies_of_lazy_tensors():
    """Pickles and deep copies have the values of the original and memory of their own."""
    z = plain()
    c = z.conj()
    copies = pickle.loads(pickle.dumps(c)), copy.deepcopy(c)
    z.zero_()
    for each in copies:
        np.testing.assert_array_equal(each.numpy(force=True), DATA.conj())


def test_negatives_of_unsigned_numbers_are_refused():
    """bool and uint8 have no negative numbers."""
    for dtype in (nbgrad.bool_, nbgrad.uint8):
        with pytest.raises(RuntimeError, match="_neg_view"):
            nbgrad.ones(1, dtype=dtype)._neg_view()


def test_a_lazy_operand_leaves_other_plans_alone():
    """Plans are kept by layout: after a lazy call, calls on plain operands of that shape are right, and the other way round."""
    z = plain(np.full(7, 1 + 1j))
    for _ in range(3):
        assert (z.conj() * 2).tolist() == [2 - 2j] * 7 and (z * 2).tolist() == [2 + 2j] * 7
    for n in (5, 9):
        assert (plain(np.full(n, 1 + 1j)).conj() * 2).tolist() == [2 - 2j] * n


def test_view_of_another_dtype_follows_a_base_that_is_moved():
    """``view_as_complex`` of a base that is then transposed in place still shows the same memory: reads, writes, gradients."""
    x = nbgrad.arange(8.0, dtype=nbgrad.float64).reshape(4, 2).requires_grad_()
    base = x * 1
    view = nbgrad.view_as_complex(base)
    base.t_()
    assert view.requires_grad and view.grad_fn is not None
    view.mul_(2)
    base.mul_(3)
    assert base.tolist() == (6 * np.arange(8.0).reshape(4, 2).T).tolist()
    expected = 2 * 36 * x.detach().numpy() + 6 * np.array([1.0, 0.0])  # of the squares of the base, and of the real parts
    np.testing.assert_allclose(nbgrad.grad((base * base).sum() + view.real.sum(), x)[0].numpy(), expected, rtol=1e-14)


def test_conjugate_follows_a_base_that_is_moved():
    """A lazy conjugate of a base that is then transposed in place takes writes, with their gradients."""
    x = nbgrad.tensor([[1 + 2j, 3j], [4 - 1j, 5.0], [2j, 1.0]], dtype=nbgrad.complex128, requires_grad=True)
    base = x * 1
    view = base.conj()
    base.t_()
    view.mul_(2j)
    np.testing.assert_allclose(base.detach().numpy(), -2j * x.detach().numpy().T, rtol=1e-15)
    (g,) = nbgrad.grad((base * 1j).real.sum(), x)
    np.testing.assert_allclose(g.numpy(), np.full((3, 2), 2.0 + 0j), atol=1e-15)
