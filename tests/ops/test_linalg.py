"""Products of vectors and matrices: what the table of samples does not say."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS

RNG = np.random.default_rng(0)
DTYPES = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}
SHAPES = [
    ((3, 4), (4, 5)),
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (5, 4, 6)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
    ((1, 3, 4), (7, 4, 5)),
    ((3, 0), (0, 5)),
    ((0, 4), (4, 5)),
    ((5, 1, 4), (4, 3)),
    ((40, 30), (30, 50)),
    ((2, 40, 30), (2, 30, 50)),
    ((90, 70), (70,)),
    ((70,), (70, 90)),
    ((5000,), (5000,)),
]


def normal(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Normal numbers; complex ones in both parts."""
    x = RNG.standard_normal(shape)
    return np.asarray(x + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def within(actual: nbgrad.Tensor, expected: np.ndarray, tolerance: float, length: int = 100) -> None:
    """Equal up to ``tolerance`` times what ``length`` products may add up to."""
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=tolerance, atol=tolerance * max(length, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_product_of_all_ranks(left, right, dtype):
    """``@`` is NumPy's matmul in double precision, for every combination of ranks."""
    a, b = normal(left, dtype), normal(right, dtype)
    wide = "complex128" if dtype.startswith("complex") else "float64"
    out = nbgrad.tensor(a) @ nbgrad.tensor(b)
    expected = np.matmul(a.astype(wide), b.astype(wide))
    assert out.shape == expected.shape
    within(out, expected, DTYPES[dtype])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_integers_wrap_around(dtype):
    """Integer products are exact modulo the width of the dtype."""
    info = np.iinfo(dtype)
    a, b = (RNG.integers(info.min, info.max, shape, dtype, endpoint=True) for shape in ((3, 20), (20, 4)))
    exact = a.astype(object) @ b.astype(object)
    expected = np.array([[int(v) % 2**info.bits for v in row] for row in exact], object)
    expected = np.where(expected > info.max, expected - 2**info.bits, expected).astype(dtype)
    np.testing.assert_array_equal((nbgrad.tensor(a) @ nbgrad.tensor(b)).numpy(), expected)


def test_half_is_rounded_once():
    """A float16 product is the float32 product, rounded."""
    a, b = normal((6, 50), "float16"), normal((50, 7), "float16")
    out = nbgrad.tensor(a) @ nbgrad.tensor(b)
    assert out.dtype is nbgrad.float16
    within(out, a.astype("float64") @ b.astype("float64"), 1e-3, 1)


@pytest.mark.parametrize("turn_left", [False, True])
@pytest.mark.parametrize("turn_right", [False, True])
def test_transposed_operands_are_not_copied(turn_left, turn_right, monkeypatch):
    """A transposed view goes to BLAS as such, whatever its size."""
    monkeypatch.setitem(CALLS, "contiguous_copy", None)
    for m, k, n in ((3, 4, 5), (30, 40, 50)):
        a, b = normal((m, k), "float64"), normal((k, n), "float64")
        x = nbgrad.tensor(np.ascontiguousarray(a.T)).t() if turn_left else nbgrad.tensor(a)
        y = nbgrad.tensor(np.ascontiguousarray(b.T)).t() if turn_right else nbgrad.tensor(b)
        within(x @ y, a @ b, 1e-13)


def test_awkward_strides():
    """Operands whose rows and columns both have gaps give the same product."""
    a, b = normal((8, 12), "float64"), normal((12, 10), "float64")
    x, y = nbgrad.tensor(a), nbgrad.tensor(b)
    within(x[::2, ::3] @ y[::3, 1::2], a[::2, ::3] @ b[::3, 1::2], 1e-13)
    within(x[:1].expand(8, 12) @ y, np.repeat(a[:1], 8, 0) @ b, 1e-13)


@pytest.mark.parametrize("shape", [(300, 300, 300), (2048, 64, 300), (64, 700, 2048), (1, 900, 900), (900, 900, 1)], ids=str)
def test_threads_do_not_change_bits(shape):
    """One thread and two give identical bits: blocks depend on the shape alone."""
    m, k, n = shape
    x, y = nbgrad.tensor(normal((m, k), "float32")), nbgrad.tensor(normal((k, n), "float32"))
    threads = nbgrad.get_num_threads()
    try:
        nbgrad.set_num_threads(1)
        one = (x @ y).numpy().copy()
        nbgrad.set_num_threads(2)
        np.testing.assert_array_equal((x @ y).numpy(), one)
    finally:
        nbgrad.set_num_threads(threads)


def test_old_memory_does_not_leak_into_results():
    """A result in memory that held NaN holds none."""
    for m, k, n in ((1, 40, 1), (7, 9, 30), (30, 1, 30), (40, 40, 1), (33, 70, 17)):
        junk = [nbgrad.full((m, n), float("nan")) for _ in range(8)]
        del junk
        a, b = normal((m, k), "float32"), normal((k, n), "float32")
        within(nbgrad.tensor(a) @ nbgrad.tensor(b), a.astype("float64") @ b, 1e-5)


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_cotangents_are_adjoint(left, right):
    """<g, dx @ y> = <x's cotangent, dx>, and likewise for y: the definition of a cotangent, complex numbers
    included.
    """
    a, b = normal(left, "complex128"), normal(right, "complex128")
    x, y = nbgrad.tensor(a, requires_grad=True), nbgrad.tensor(b, requires_grad=True)
    out = x @ y
    g = normal(out.shape, "complex128")
    grad_x, grad_y = nbgrad.grad(out, (x, y), nbgrad.tensor(g))
    dx, dy = normal(left, "complex128"), normal(right, "complex128")
    np.testing.assert_allclose(np.vdot(g, np.matmul(dx, b)), np.vdot(grad_x.numpy(), dx), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.vdot(g, np.matmul(a, dy)), np.vdot(grad_y.numpy(), dy), rtol=1e-10, atol=1e-10)


def test_backward_of_linear_is_two_products(monkeypatch):
    """The cotangents of input and weight are products of transposed operands: nothing is copied."""
    x, w, b = (nbgrad.tensor(normal(s, "float64"), requires_grad=True) for s in ((5, 4), (3, 4), (3,)))
    out = nbgrad.linear(x, w, b)
    g = normal((5, 3), "float64")
    monkeypatch.setitem(CALLS, "contiguous_copy", None)
    out.backward(nbgrad.tensor(g))
    within(x.grad, g @ w.detach().numpy(), 1e-13)
    within(w.grad, g.T @ x.detach().numpy(), 1e-13)
    within(b.grad, g.sum(0), 1e-13)


def test_a_constant_operand_keeps_nothing():
    """Where the right operand needs no gradient the left one is not saved: it may be overwritten."""
    x, y = nbgrad.tensor(normal((3, 3), "float64"), requires_grad=True), nbgrad.tensor(normal((3, 3), "float64"))
    left = x * 1
    out = left @ y
    left.zero_()
    out.sum().backward()
    within(x.grad, np.ones((3, 3)) @ y.numpy().T, 1e-13)


def test_a_zero_beta_ignores_the_input():
    """With beta=0 not even NaN of the input reaches the result."""
    a, b = normal((2, 3), "float64"), normal((3, 4), "float64")
    within(
        nbgrad.addmm(nbgrad.full((2, 4), float("nan"), dtype=nbgrad.float64), nbgrad.tensor(a), nbgrad.tensor(b), beta=0),
        a @ b,
        1e-13,
    )


SUMS = {
    "addmm": (lambda a, b: a @ b, (2, 4), (2, 3), (3, 4)),
    "addmv": (lambda a, b: a @ b, (3,), (3, 5), (5,)),
    "addr": (lambda a, b: a[:, None] * b, (3, 4), (3,), (4,)),
    "baddbmm": (lambda a, b: a @ b, (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "addbmm": (lambda a, b: (a @ b).sum(0), (3, 5), (2, 3, 4), (2, 4, 5)),
}
ADDENDS = {
    "as it is": lambda x: x,
    "one row": lambda x: x[..., :1, :] if x.ndim > 1 else x,
    "one column": lambda x: x[..., :1],
    "a vector": lambda x: x[(0,) * (x.ndim - 1)],
    "a number": lambda x: x.ravel()[0],
    "transposed": lambda x: x.swapaxes(0, -1).copy(),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "float16"])
@pytest.mark.parametrize("addend", ADDENDS)
@pytest.mark.parametrize("name", SUMS)
def test_products_with_an_addend(name, addend, dtype):
    """What NumPy gives, of addends that broadcast and transposed operands, in the first call of a kind and in later ones."""
    product, *shapes = SUMS[name]
    x, a, b = (normal(shape, dtype) for shape in shapes)
    x = ADDENDS[addend](x)
    given = [nbgrad.tensor(each) for each in (x, a, b)]
    if addend == "transposed":
        x, given[0] = x.swapaxes(0, -1), given[0].transpose(0, -1)
        given[1] = nbgrad.tensor(np.ascontiguousarray(a.swapaxes(0, -1))).transpose(0, -1)
    wide = [each.astype("float64") if dtype == "float16" else each for each in (x, a, b)]
    tolerance = {"float16": 1e-2, "float32": 1e-5}.get(dtype, 1e-12)
    for numbers_given in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}):
        expected = numbers_given.get("beta", 1) * wide[0] + numbers_given.get("alpha", 1) * product(*wide[1:])
        for _ in range(3):
            out = getattr(nbgrad, name)(*given, **numbers_given)
            assert out.dtype is given[0].dtype and out.is_contiguous() and out._version == 0
            within(out, expected, tolerance)


@pytest.mark.parametrize("factors", [(1, 1), (0.5, -2.0), (0, 1), (1 + 2j, 2 - 1j)])
@pytest.mark.parametrize("name", SUMS)
def test_derivatives_of_products_with_an_addend(name, factors):
    """One node has the derivatives of a sum of product and addend: of first and second order, forwards, of a batch."""
    product, *shapes = SUMS[name]
    beta, alpha = factors
    dtype = "complex128" if complex in map(type, factors) else "float64"
    x, a, b = (nbgrad.tensor(normal(shape, dtype), requires_grad=True) for shape in shapes)
    x = x[..., :1].detach().requires_grad_()

    def one(x, a, b):
        return getattr(nbgrad, name)(x, a, b, beta=beta, alpha=alpha)

    def steps(x, a, b):
        left = a.unsqueeze(-1) * b if name == "addr" else (a @ b).sum(0) if name == "addbmm" else a @ b
        return x * beta + left * alpha

    weight = nbgrad.tensor(normal(shapes[0], dtype))
    found = []
    for f in (one, steps):
        first = nbgrad.grad((f(x, a, b) * weight).sum().abs() ** 2, (x, a, b), create_graph=True)
        second = nbgrad.grad(sum((g * g).sum() for g in first).abs(), (x, a, b), allow_unused=True)
        forwards = nbgrad.func.jvp(f, (x, a, b), (x * 2, a * a, b + 1))[1]
        batch = nbgrad.vmap(f, (None, 0, None))(x, nbgrad.stack([a, a * 2]), b)
        found.append([*first, *(nbgrad.zeros_like(y) if g is None else g for g, y in zip(second, (x, a, b))), forwards, batch])
    assert one(x, a, b).grad_fn.name() == f"{name.capitalize()}Backward0"
    for own, expected in zip(*found):
        within(own, expected.detach().numpy(), 1e-11)


@pytest.mark.parametrize("name", SUMS)
def test_an_addend_of_another_dtype_has_its_own_cotangent(name):
    """A complex addend of real factors, a narrower one: every gradient has its operand's dtype and its value in steps."""
    product, *shapes = SUMS[name]
    for dtype in ("complex128", "float32"):
        dtypes = (dtype, "float64", "float64")
        x, a, b = (nbgrad.tensor(normal(shape, own), requires_grad=True) for shape, own in zip(shapes, dtypes))
        weight = nbgrad.tensor(normal(shapes[0], "complex128"))
        left = a.unsqueeze(-1) * b if name == "addr" else (a @ b).sum(0) if name == "addbmm" else a @ b
        outs = getattr(nbgrad, name)(x, a, b, alpha=2), x + left * 2
        found = [nbgrad.grad((out * weight).real.sum(), (x, a, b)) for out in outs]
        for own, expected, leaf in zip(*found, (x, a, b)):
            assert own.dtype is leaf.dtype
            within(own, expected.numpy(), 1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (2, 3)),
        ((3,), (2, 2)),
        ((1, 1), (1, 1)),
        ((2, 1, 2), (3, 2)),
        ((0, 2), (2, 2)),
        ((4, 10), (60, 20)),
        ((3, 400), (30, 1)),
    ],
)
@pytest.mark.parametrize(
    "dtypes",
    [("float64", "float64"), ("complex128", "complex128"), ("complex128", "float64"), ("float16", "float16"), ("int64", "bool")],
)
def test_kronecker_products(shapes, dtypes):
    """NumPy's values of all ranks, large results too, transposed operands; the cotangents are the transposes, in their dtypes."""
    x, y = (normal(shape, dtype) for shape, dtype in zip(shapes, dtypes))
    for turned in (False, True):
        given = [nbgrad.tensor(each.T.copy()).T if turned else nbgrad.tensor(each) for each in (x, y)]
        is_smooth = dtypes[0] != "int64"
        given = [each.requires_grad_() if is_smooth else each for each in given]
        for _ in range(3):
            out = nbgrad.kron(*given)
            within(out, np.kron(x, y), 1e-2 if dtypes[0] == "float16" else 1e-13)
        if is_smooth and dtypes[0] != "float16":
            w = normal(out.shape, dtypes[0])
            a, b = nbgrad.grad(out, given, nbgrad.tensor(w))
            t, u = (normal(shape, dtype) for shape, dtype in zip(shapes, dtypes))
            assert a.dtype is given[0].dtype and b.dtype is given[1].dtype
            for g, along, made in ((a, t, np.kron(t, y)), (b, u, np.kron(x, u))):
                np.testing.assert_allclose(np.vdot(g.numpy(), along).real, np.vdot(w, made).real, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SUMS)
def test_an_addend_must_broadcast_to_the_product(name):
    """A larger one, and factors that do not fit, are refused in every call, by name."""
    _, *shapes = SUMS[name]
    x, a, b = (nbgrad.ones(shape) for shape in shapes)
    for _ in range(2):
        getattr(nbgrad, name)(x, a, b)
        with pytest.raises(nbgrad.ShapeError, match=f"{name}: input"):
            getattr(nbgrad, name)(nbgrad.ones(7, *shapes[0]), a, b)
        with pytest.raises(nbgrad.ArgumentError, match=name):
            getattr(nbgrad, name)(x, a, 2.0)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("iij,jk->ik", [(3, 3, 4), (4, 5)]),
        ("ijk,kl,l->ij", [(2, 3, 4), (4, 5), (5,)]),
        ("ij,jk->k", [(2, 3), (3, 4)]),
        ("i,i->", [(3,), (3,)]),
        ("a...,a...->...", [(2, 3, 4), (2, 1, 4)]),
        ("ii", [(3, 3)]),
        ("iji->j", [(3, 2, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ],
)
def test_einsum(equation, shapes):
    """``einsum`` is NumPy's."""
    arrays = [normal(s, "float64") for s in shapes]
    within(nbgrad.einsum(equation, *map(nbgrad.tensor, arrays)), np.einsum(equation, *arrays), 1e-12)


@pytest.mark.parametrize("lists", [([0, 1], [1, 2], [0, 2]), ([0, 1], [1, 2]), ([..., 30], [30, 3], [3, ...]), ([30, 1], [1, 3])])
def test_einsum_with_numbers(lists):
    """Lists of numbers are letters: those of NumPy's form, and results that are not given are in the order of the numbers."""
    arrays = [normal((2, 3), "float64"), normal((3, 4), "float64")]
    turns = lambda of: [each for pair in zip(map(of, arrays), lists) for each in pair] + list(lists[2:])
    within(nbgrad.einsum(*turns(nbgrad.tensor)), np.einsum(*turns(lambda x: x)), 1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x @ x, nbgrad.ShapeError, r"matmul: .*x has 4 columns, y has 3 rows"),
        (lambda x: x @ x.t().to(nbgrad.float32), nbgrad.DTypeError, "x is float64, y is float32"),
        (lambda x: x @ 2, nbgrad.ArgumentError, "matmul: y must be a Tensor, got int"),
        (lambda x: 2 @ x, nbgrad.ArgumentError, "matmul: x must be a Tensor, got int"),
        (lambda x: x @ x.sum(), nbgrad.ShapeError, "y is 0-d"),
        (lambda x: (x > 0) @ (x > 0).t(), nbgrad.DTypeError, "not defined for bool"),
        (lambda x: x.mm(x[0]), nbgrad.ShapeError, "expected 2-d and 2-d"),
        (lambda x: nbgrad.einsum("ij,jk", x), nbgrad.ArgumentError, "has 2 operands, got 1"),
        (lambda x: nbgrad.einsum(x, [0, 52]), nbgrad.ArgumentError, "52 in .* is no number from 0 to 51"),
        (lambda x: nbgrad.einsum(x, x), nbgrad.ArgumentError, "a list of numbers after each operand; got Tensor"),
        (lambda x: nbgrad.einsum("ijk", x), nbgrad.ShapeError, "names 3 dimensions"),
        (lambda x: nbgrad.einsum("ij->kk", x), nbgrad.ArgumentError, "must name dimensions of the operands"),
    ],
)
def test_errors(call, error, message):
    """What does not go together is named, with what was expected."""
    with pytest.raises(error, match=message):
        call(nbgrad.tensor(normal((3, 4), "float64")))


EMPTY = [
    ((5, 5, 0), (0, 3)),
    ((5, 5, 0), (0,)),
    ((5, 0, 3), (3, 2)),
    ((0, 5, 3), (3, 2)),
    ((5, 2, 3), (3, 0)),
    ((0,), (0,)),
    ((2, 0), (0, 3)),
    ((2, 0), (0,)),
    ((0,), (0, 3)),
    ((0,), (5, 0, 3)),
    ((5, 3, 0), (5, 0, 2)),
    ((1, 3, 0), (5, 0, 2)),
    ((3, 0), (5, 0, 2)),
]


@pytest.mark.parametrize("left, right", EMPTY, ids=str)
def test_products_over_nothing(left, right):
    """Sums of no products are 0; so are their gradients, of every order, in the operands' shapes."""
    x, y = nbgrad.ones(left, requires_grad=True), nbgrad.ones(right, requires_grad=True)
    out = nbgrad.matmul(x, y)
    assert out.shape == np.matmul(np.ones(left), np.ones(right)).shape and not out.any()
    gradients = nbgrad.grad(out.sum(), (x, y), create_graph=True)
    again = nbgrad.grad(sum((g * g).sum() for g in gradients) + (x * x).sum() + (y * y).sum(), (x, y))
    assert [g.shape for g in gradients] == [g.shape for g in again] == [left, right]


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (0, 3), (3, 0), (2, 3, 0)], ids=str)
def test_functions_of_empty_matrices(shape):
    """Norms, ranks and condition numbers of nothing are 0."""
    x, batch = nbgrad.ones(shape), shape[:-2]
    numbers = [nbgrad.linalg.matrix_norm(x, p) for p in ("fro", "nuc", 1, 2, np.inf) if p in ("fro", "nuc", 2) or 3 not in shape]
    for each in (*numbers, nbgrad.linalg.matrix_rank(x), nbgrad.linalg.cond(x)):
        assert each.shape == batch and not each.any()


def test_tensordot_of_a_size_of_one():
    """It goes with any other size, which is summed; gradients are those of the sum."""
    x, y = nbgrad.ones(1, 2, requires_grad=True), nbgrad.arange(6.0).reshape(3, 2).requires_grad_()
    out = nbgrad.tensordot(x, y, ((0,), (0,)))
    assert out.tolist() == np.tensordot(np.ones((3, 2)), y.detach().numpy(), ((0,), (0,))).tolist()
    assert [g.tolist() for g in nbgrad.grad(out.sum(), (x, y))] == [[[15, 15]], [[2, 2]] * 3]
    small = nbgrad.tensordot(nbgrad.ones(1, 2, dtype=nbgrad.int8), nbgrad.ones(3, 2, dtype=nbgrad.int8), ((0,), (0,)))
    assert small.dtype is nbgrad.int8 and small.tolist() == [[3, 3], [3, 3]]


def test_the_zeroth_power_depends_on_the_matrix():
    """The identity, with derivatives of 0, also where the matrix is infinite."""
    x = nbgrad.full((2, 2), np.inf).requires_grad_()
    out = nbgrad.linalg.matrix_power(x, 0)
    assert out.tolist() == [[1, 0], [0, 1]] and nbgrad.grad(out.sum(), x)[0].tolist() == [[0, 0], [0, 0]]


# ---- distances -------------------------------------------------------------------------------------------------------


def far_apart(scale: float, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Points of that scale, more than one block of them, one in both."""
    rng = np.random.default_rng(5)
    x, y = ((rng.normal(size=(rows, 7)) * scale).astype(dtype) for rows in (9, 13))
    y[3] = x[2]
    return x, y


@pytest.mark.parametrize(
    "dtype, scale", [("float32", scale) for scale in (1.0, 1e-30, 1e25)] + [("float64", scale) for scale in (1.0, 1e-200, 1e200)]
)
def test_distances_of_any_size(dtype, scale):
    """Where squares leave the range of the dtype too; 0 of a point to itself."""
    x, y = far_apart(scale, dtype)
    unit = (x[:, None].astype("f8") - y[None].astype("f8")) / scale
    out = nbgrad.cdist(nbgrad.tensor(x), nbgrad.tensor(y)).numpy()
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(out / np.array(scale, "f8"), np.sqrt((unit**2).sum(-1)), rtol=tolerance)
    assert out[2, 3] == 0


def test_distances_of_close_points_have_all_digits():
    """They are differences, not sums of products."""
    x = nbgrad.full((30, 4), 1000.0)
    y = x + nbgrad.arange(30.0)[:, None] / 1024
    np.testing.assert_allclose(nbgrad.cdist(x, y)[0].numpy(), 2 * np.arange(30.0) / 1024, rtol=1e-6)


@pytest.mark.parametrize("value, want", [(np.inf, np.inf), (np.nan, np.nan)])
def test_distances_to_what_is_not_finite(value, want):
    """Infinite, or NaN; the other distances stay."""
    x = np.zeros((3, 5))
    x[1, 2] = value
    out = nbgrad.cdist(nbgrad.tensor(x), nbgrad.ones(2, 5, dtype=nbgrad.float64)).numpy()
    np.testing.assert_array_equal(out[1], [want, want])
    np.testing.assert_allclose(out[[0, 2]], np.sqrt(5.0))


@pytest.mark.parametrize("turned", [False, True])
def test_cotangents_of_distances(turned):
    """Each is the sum over the other points of unit vectors; 0 for a point to itself."""
    x, y = far_apart(1.0, "float64")
    a, b = (nbgrad.tensor(each, requires_grad=True) for each in (x, y))
    g = np.random.default_rng(0).normal(size=(9, 13))
    out = nbgrad.cdist(a.mT.contiguous().mT if turned else a, b)
    g_a, g_b = nbgrad.grad(out, (a, b), nbgrad.tensor(g.T.copy()).mT if turned else nbgrad.tensor(g))
    differences = x[:, None] - y[None]
    lengths = np.sqrt((differences**2).sum(-1))
    units = g[..., None] * differences / np.where(lengths == 0, 1, lengths)[..., None]
    np.testing.assert_allclose(g_a.numpy(), units.sum(1), atol=1e-12)
    np.testing.assert_allclose(g_b.numpy(), -units.sum(0), atol=1e-12)


@pytest.mark.parametrize("shapes", [((2, 1, 3, 4), (5, 2, 4)), ((0, 4), (2, 4)), ((3, 0), (2, 0)), ((2, 3, 4), (2, 0, 4))])
def test_batches_of_distances_and_distances_of_nothing(shapes):
    """Batches broadcast; without points there are no distances, without coordinates they are 0."""
    x, y = (np.random.default_rng(k).normal(size=shape) for k, shape in enumerate(shapes))
    want = np.sqrt(((x[..., :, None, :] - y[..., None, :, :]) ** 2).sum(-1))
    a = nbgrad.tensor(x, requires_grad=True)
    out = nbgrad.cdist(a, nbgrad.tensor(y))
    np.testing.assert_allclose(out.detach().numpy(), want)
    out.sum().backward()
    assert a.grad.shape == x.shape
