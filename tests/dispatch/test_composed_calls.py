"""Operations of several steps: how their arguments are read, and what a second call of the same layouts may take from the first."""

from __future__ import annotations

import numpy as np
import pytest

import nbgrad as nb

RNG = np.random.default_rng(7)
TABLE = RNG.normal(size=(4, 5))


def test_spellings_of_one_call_agree():
    """Positions, names in any order and other libraries' names of the arguments are one call."""
    x, index = nb.tensor(TABLE), nb.tensor([2, 0])
    expected = TABLE[:, [2, 0]]
    for out in (
        nb.index_select(x, 1, index),
        x.index_select(1, index=index),
        x.index_select(index=index, dim=1),
        nb.index_select(input=x, dim=1, index=index),
        nb.index_select(x, index=index, axis=1),
        x.index_select(-1, index),
    ):
        assert np.array_equal(out.numpy(), expected)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, index: x.index_select(1),
        lambda x, index: x.index_select(1, index, 3),
        lambda x, index: x.index_select(1, index, colour=3),
        lambda x, index: x.index_select(1, index, dim=1),
        lambda x, index: x.gather(),
        lambda x, index: x.gather([0], index),
    ],
)
def test_arguments_that_do_not_fit_are_refused(use):
    """Too few, too many, unknown ones, and a dimension that is none: the second time as the first."""
    x, index = nb.tensor(TABLE), nb.tensor([2, 0])
    for _ in range(2):
        with pytest.raises(TypeError):
            use(x, index)


def test_second_call_checks_its_own_index():
    """A plan is kept by layouts; the values of an index are looked at in every call, and a refused write changes nothing."""
    x, good, bad = nb.tensor(TABLE), nb.tensor([0, 3]), nb.tensor([0, 4])
    for read in (lambda i: x[i], lambda i: x[i, i], lambda i: x.index_select(0, i)):
        read(good)
        with pytest.raises(IndexError):
            read(bad)
        read(good)
    y = nb.tensor(TABLE)
    y[good] = 1.0
    with pytest.raises(IndexError):
        y[bad] = 2.0
    expected = TABLE.copy()
    expected[[0, 3]] = 1.0
    assert np.array_equal(y.numpy(), expected)


def test_dimension_that_is_a_tensor_is_read_every_time():
    """A dimension given by a tensor is its value now, not the one that a plan was made for."""
    x, index, dim = nb.tensor(TABLE), nb.tensor([1]), nb.tensor(0)
    assert x.index_select(dim, index).shape == (1, 5)
    dim.fill_(1)
    assert x.index_select(dim, index).shape == (4, 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_points_in_a_transposed_matrix(dtype):
    """Writes at several index tensors find their elements whatever the strides, also where half floats are added in float32."""
    base = np.zeros((3, 4), dtype)
    rows, columns = np.array([0, 2, 2]), np.array([1, 0, 0])
    x = nb.tensor(base).t()
    x.index_put_((nb.tensor(columns), nb.tensor(rows)), nb.ones(3, dtype=x.dtype), accumulate=True)
    np.add.at(base.T, (columns, rows), 1)
    assert np.array_equal(x.numpy(), base.T)


def test_points_of_a_lazily_conjugated_matrix():
    """Index tensors lead through a conjugated transposed matrix as through its values, in reads and in writes."""
    values = TABLE + 1j * RNG.normal(size=TABLE.shape)
    rows, columns = np.array([0, 3]), np.array([4, 1])
    x = nb.tensor(values).mH
    at = (nb.tensor(columns), nb.tensor(rows))
    assert np.array_equal(x[at].resolve_conj().numpy(), values.conj().T[columns, rows])
    x[at] = 2j
    expected = values.conj().T.copy()
    expected[columns, rows] = 2j
    assert np.array_equal(x.resolve_conj().numpy(), expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_stack_of_unlike_layouts(dim):
    """Operands of one shape but of other strides and dtypes stack as NumPy's do, and each gets its own gradient."""
    first, second = RNG.normal(size=(3, 2)), np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x, y = nb.tensor(first, requires_grad=True), nb.tensor(second, requires_grad=True)
    weight = RNG.normal(size=np.stack([first, second.T], dim).shape)
    for _ in range(2):
        x.grad = y.grad = None
        out = nb.stack([x, y.t()], dim)
        assert np.array_equal(out.detach().numpy(), np.stack([first, second.T], dim))
        (out * nb.tensor(weight)).sum().backward()
    assert np.allclose(x.grad.numpy(), np.take(weight, 0, dim))
    assert np.allclose(y.grad.numpy(), np.take(weight, 1, dim).T, atol=1e-6)


def test_gradients_of_equal_calls_are_their_own():
    """Nodes share what is known of a call's layouts, never its index: each backward pass goes where its own index led."""
    x = nb.tensor(TABLE, requires_grad=True)
    outs = [x[nb.tensor(rows)] for rows in ([0, 1], [3, 3], [2, 0])]
    for out, rows in zip(outs, ([0, 1], [3, 3], [2, 0])):
        (grad,) = nb.grad(out.sum(), x)
        expected = np.zeros_like(TABLE)
        np.add.at(expected, rows, 1)
        assert np.array_equal(grad.numpy(), expected)


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: x.t(), lambda x: x[1], lambda x: x[1, 2], lambda x: x[:0], lambda x: x[:, 1]]
)
def test_lists_of_views(make):
    """``tolist`` of views, matrices, single elements and nothing."""
    assert make(nb.tensor(TABLE)).tolist() == make(nb.tensor(TABLE)).numpy().tolist()


@pytest.mark.parametrize("dim", [0, 1, 2, -2])
def test_sort_along_any_dimension(dim):
    """The order stands in the dimension that was sorted, the last or another one."""
    values = RNG.normal(size=(2, 3, 4))
    found, order = nb.tensor(values).sort(dim)
    assert np.array_equal(found.numpy(), np.sort(values, dim)) and np.array_equal(order.numpy(), np.argsort(values, dim))


# ---- prepared runs, settled spellings, constants: the second call of a kind is another way ---------------------------

READS = {
    "gather": lambda x, i: x.gather(0, i),
    "index_select": lambda x, i: x.index_select(0, i),
    "take": lambda x, i: x.take(i),
    "subscript": lambda x, i: x[i],
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "scatter_add": lambda x, i: x.scatter_add(0, i, x[:2]),
    "scatter": lambda x, i: x.scatter(0, i, x[:2]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "put": lambda x, i: x.put(i, x[:2]),
    "put, adding": lambda x, i: x.put(i, x[:2], True),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i, x[:2], "amax"),
    "scatter_reduce, of what is sent": lambda x, i: x.scatter_reduce(0, i, x[:2], "amin", include_self=False),
    "index_reduce": lambda x, i: x[:, None].index_reduce(0, i, x[:2, None], "amin"),
    "index_put": lambda x, i: x.index_put((i,), x[:2]),
}


@pytest.mark.parametrize("name", READS)
def test_an_index_out_of_range_is_an_error_in_every_call(name):
    """A call that follows one that went well looks at its index too, and the call after that is right again."""
    call, x = READS[name], nb.tensor([1.0, 2.0, 3.0])
    good, bad = nb.tensor([2, 0]), nb.tensor([2, 5])
    first = call(x, good).tolist()
    call(x, good)
    with pytest.raises(nb.DimError):
        call(x, bad)
    assert call(x, good).tolist() == first


@pytest.mark.parametrize("name", READS)
def test_a_repeated_call_has_the_gradient_of_the_first(name):
    """Recorded by what was prepared, or by the way before: the same gradients, of second order too."""
    call, i = READS[name], nb.tensor([2, 0])
    found = []
    for _ in range(3):
        x = nb.tensor([1.0, 2.0, 3.0], requires_grad=True)
        (g,) = nb.grad((call(x, i) ** 3).sum(), x, create_graph=True)
        found.append((g.tolist(), nb.grad(g.sum(), x)[0].tolist()))
    assert found[0] == found[1] == found[2]


CHOICES = {
    "sort": lambda x: x.sort(0),
    "sort, descending": lambda x: x.sort(1, True),
    "msort": lambda x: x.msort(),
    "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: x.kthvalue(2, 0, True),
    "median": lambda x: x.median(),
    "median, of columns": lambda x: x.median(0),
    "nanmedian": lambda x: x.nanmedian(1, True),
    "mode": lambda x: x.mode(1),
    "max": lambda x: x.max(),
    "max, of rows": lambda x: x.max(1),
    "min, of columns": lambda x: x.min(0, True),
    "cummax": lambda x: x.cummax(0),
    "cummin": lambda x: x.cummin(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "two indices": lambda x: x[nb.tensor([0, 1, 0]), nb.tensor([2, -1, 2])],
    "nll_loss": lambda x: nb.nn.functional.nll_loss(x, nb.tensor([2, 0])),
    "cross_entropy": lambda x: nb.nn.functional.cross_entropy(x, nb.tensor([2, 0]), reduction="sum"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_repeated_choice_is_the_first_one(name):
    """Found and recorded in one launch, or by the way before: the same elements, indices, nodes and gradients of both orders."""
    call, found = CHOICES[name], []
    for k in range(4):
        x = nb.tensor([[3.0, 1.0, 3.0], [2.0, 1.0, 3.0]], requires_grad=k > 0)
        out = call(x)
        values, *indices = out if isinstance(out, tuple) else (out,)
        if k:
            (g,) = nb.grad((values**3).sum(), x, create_graph=True)
            found.append((g.tolist(), nb.grad(g.sum(), x)[0].tolist(), type(out), values.grad_fn.name()))
        found.append((values.tolist(), [index.tolist() for index in indices]))
    assert all(each == found[k % 2 if k else 0] for k, each in enumerate(found) if k % 2 == 0)
    assert found[1] == found[3] == found[5]


@pytest.mark.parametrize("name", ["max", "min", "median", "mode", "kthvalue"])
def test_a_choice_keeps_its_index_as_it_was(name):
    """The index that is returned is the node's: a write to it is seen by the backward pass."""
    for _ in range(3):
        x = nb.rand(3, 4, requires_grad=True)
        values, index = getattr(x, name)(*((1,) if name == "kthvalue" else ()), 1)
        index += 0
        with pytest.raises(nb.VersionError):
            values.sum().backward()


@pytest.mark.parametrize("call", [lambda n: nb.zeros(n), lambda n: nb.ones((n,)), lambda n: nb.ones(2).new_zeros(n)])
@pytest.mark.parametrize("size", [True, 1.0])
def test_what_equals_a_size_is_none(call, size):
    """True and 1.0 equal 1, of which the table knows a tensor, and are refused all the same."""
    call(1), call(1)
    with pytest.raises(nb.ArgumentError):
        call(size)


def test_constants_are_tensors_of_their_own():
    """What a caller writes into a tensor of zeros is not in the next one."""
    for make in (lambda: nb.zeros(3), lambda: nb.arange(3), lambda: nb.full((2,), 7.0), lambda: nb.eye(2)):
        make()
        x = make()
        expected = make().tolist()
        x += 5
        assert make().tolist() == expected


def test_a_number_to_fill_with_keeps_its_kind_and_sign():
    """1, 1.0 and True give three dtypes; -0.0 is not 0.0."""
    for _ in range(2):
        assert [nb.full((2,), value).dtype for value in (1, 1.0, True)] == [nb.int64, nb.float32, nb.bool]
        assert np.signbit(nb.full((2,), -0.0).numpy()).all() and not np.signbit(nb.full((2,), 0.0).numpy()).any()


def test_the_default_dtype_decides_what_a_repeated_call_makes():
    """A table of tensors of the default dtype is not asked after that was changed."""
    nb.zeros(2), nb.zeros(2)
    nb.set_default_dtype(nb.float64)
    try:
        assert nb.zeros(2).dtype is nb.linspace(0, 1, 3).dtype is nb.tensor(1.5).dtype is nb.float64
    finally:
        nb.set_default_dtype(nb.float32)


@pytest.mark.parametrize("call", [lambda x, k: x.flatten(k), lambda x, k: x.movedim(k, 0), lambda x, k: x.chunk(2, k)])
def test_a_spelling_is_settled_for_a_layout(call):
    """The second call of a layout gives what the first did; another layout and another argument give their own."""
    for shape in ((2, 4, 6), (4, 2, 6)):
        x = nb.arange(48).reshape(shape)
        for k in (1, 2):
            twice = [[part.tolist() for part in (y if isinstance(y, tuple) else (y,))] for y in (call(x, k), call(x, k))]
            assert twice[0] == twice[1]


CHAINS = {
    "diag": (lambda x: nb.diag(x[0]), lambda a: np.diag(a[0])),
    "diagonal": (nb.diag, np.diag),
    "diagflat": (nb.diagflat, np.diagflat),
    "rot90": (nb.rot90, np.rot90),
    "narrow_copy": (lambda x: x.narrow_copy(1, 1, 2), lambda a: a[:, 1:3]),
    "trace": (nb.trace, np.trace),
    "flatten": (nb.flatten, np.ravel),
    "transpose_copy": (lambda x: nb.transpose_copy(x, 0, 1), np.transpose),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_steps_is_settled(name):
    """The call that takes its steps from a table gives values and both derivatives like the first, and NumPy's values."""
    call, reference = CHAINS[name]
    values = np.arange(9.0).reshape(3, 3) - 4
    found = []
    for _ in range(3):
        x = nb.tensor(values, requires_grad=True)
        out = call(x)
        (g,) = nb.grad((out**3).sum(), x, create_graph=True)
        found.append((out.tolist(), g.tolist(), nb.grad(g.sum(), x)[0].tolist()))
    assert found[0] == found[1] == found[2]
    assert np.array_equal(found[0][0], reference(values))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nb.split_copy(x, 2),
        lambda x: nb.unbind_copy(x),
        lambda x: (x.narrow_copy(0, 0, 2),),
        lambda x: (nb.diag(x),),
        lambda x: (nb.expand_copy(x, (2, 4, 4)),),
    ],
)
def test_settled_copies_share_no_memory(call):
    """What a caller writes into a copy is not in the operand, in every call."""
    x = nb.arange(16).reshape(4, 4)
    for _ in range(3):
        for part in call(x):
            part += 100
    assert x.tolist() == np.arange(16).reshape(4, 4).tolist()


@pytest.mark.parametrize("call", [lambda x, k: x.narrow(k, 0, 1), lambda x, k: nb.chunk(x, 2, k), lambda x, k: x.flatten(0, k)])
def test_what_equals_an_argument_of_a_spelling_is_another_one(call):
    """What 1 has left in the table is no answer for 1.0: an error, as in the first call."""
    x = nb.ones(4, 4)
    call(x, 1), call(x, 1)
    with pytest.raises((nb.ArgumentError, TypeError)):
        call(x, 1.0)


STEPS = {
    "einsum": (lambda lib, x, y: lib.einsum("ij,jk->ki", x, y), lambda x, y: (x @ y).T),
    "einsum of a trace": (lambda lib, x, y: lib.einsum("ii,jj->", x, y), lambda x, y: np.trace(x) * np.trace(y)),
    "tensordot": (lambda lib, x, y: lib.tensordot(x, y, ((0, 1), (1, 0))), lambda x, y: (x * y.T).sum()),
    "tensordot of one": (lambda lib, x, y: lib.tensordot(x, y, 1), np.matmul),
    "kron": (lambda lib, x, y: lib.kron(x, y), np.kron),
    "inner": (lambda lib, x, y: lib.inner(x, y), np.inner),
    "meshgrid": (
        lambda lib, x, y: lib.stack(lib.meshgrid(x[0], y[:, 0])),
        lambda x, y: np.stack(np.meshgrid(x[0], y[:, 0], indexing="ij")),
    ),
    "multi_dot": (lambda lib, x, y: lib.linalg.multi_dot([x, y, x]), lambda x, y: x @ y @ x),
    "chain_matmul": (lambda lib, x, y: lib.chain_matmul(x, y, x), lambda x, y: x @ y @ x),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_are_repeated_are_those_of_the_formula(name, turned):
    """Calls of one kind give NumPy's values and the first call's derivatives of both orders, in batches too."""
    call, reference = STEPS[name]
    found = {0: [], 1: [], 2: []}
    for seed in (0, 1, 2, 0):
        rng = np.random.default_rng(seed)
        x, y = (nb.tensor(rng.normal(size=(3, 3)), requires_grad=True) for _ in range(2))
        left = x.t() if turned else x
        out = call(nb, left, y)
        assert np.allclose(out.detach().numpy(), reference(left.detach().numpy(), y.detach().numpy()))
        g = nb.grad((out**3).sum(), (x, y), create_graph=True)
        second = nb.grad(sum((each * each).sum() for each in g), (x, y), allow_unused=True)
        found[seed].append(np.concatenate([np.ravel(each.detach().numpy()) for each in (*g, *second) if each is not None]))
        batch = nb.vmap(lambda x, y: call(nb, x, y))(nb.stack([x, y]), nb.stack([y, x]))
        assert np.allclose(batch[1].detach().numpy(), reference(y.detach().numpy(), x.detach().numpy()))
    assert np.allclose(*found[0])


def test_arguments_that_are_equal_and_of_another_type_are_other_steps():
    """A number of dimensions that is no int is refused, also where the equal int has been called before."""
    x = nb.ones(2, 2)
    for _ in range(4):
        assert nb.tensordot(x, x, 1).tolist() == [[2, 2], [2, 2]]
        with pytest.raises((nb.ArgumentError, TypeError)):
            nb.tensordot(x, x, 1.0)


@pytest.mark.parametrize(
    "shape, stride, offset", [((2, 4), (1, 2), None), ((3, 2), (1, 1), 2), ((2,), (4,), 1), ((2, 2), (0, 3), None)]
)
def test_strided_views_of_one_layout_at_other_places(shape, stride, offset):
    """Tensors of one layout at other places of memory: each shows its own elements and has their gradients."""
    memory = np.arange(40.0)
    for start in (0, 16, 20, 16):
        base = nb.tensor(memory, requires_grad=True)
        x = (base * 1)[start : start + 16].view(4, 4)
        out = x.as_strided(shape, stride, offset)
        first = start if offset is None else offset
        places = first + sum(
            np.arange(n)[(slice(None),) + (None,) * (len(shape) - d - 1)] * t for d, (n, t) in enumerate(zip(shape, stride))
        )
        assert np.array_equal(out.detach().numpy(), memory[places])
        if offset is None:
            weights = np.random.default_rng(0).normal(size=shape)
            expected = np.zeros(40)
            np.add.at(expected, places, weights)
            assert np.allclose(nb.grad(out, base, nb.tensor(weights))[0].numpy(), expected)
    with pytest.raises(nb.ShapeError):
        nb.zeros(4, 4)[3].as_strided((5,), (1,))


PIECES = {
    "split": lambda x: x.split(2),
    "split_with_sizes": lambda x: x.split_with_sizes((1, 3)),
    "unbind": lambda x: x.unbind(1),
    "unsafe_split": lambda x: nb.unsafe_split(x, 2),
    "unsafe_chunk": lambda x: nb.unsafe_chunk(x, 2),
    "unsafe_split_with_sizes": lambda x: nb.unsafe_split_with_sizes(x, (1, 3)),
}


@pytest.mark.parametrize("of", ["a base", "a view"])
@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_views_of_their_operand(name, of):
    """They show writes to it, have its gradients, and the unsafe ones alone count writes for themselves."""
    base = nb.arange(16.0).requires_grad_()
    x = (base * 1).view(4, 4)
    x = x if of == "a view" else x.clone()
    for _ in range(2):
        pieces = PIECES[name](x)
        (g,) = nb.grad(
            [piece.sum() for piece in pieces], base, [nb.tensor(float(k)) for k in range(len(pieces))], retain_graph=True
        )
        numbers = [np.full(p.shape, float(k)) for k, p in enumerate(pieces)]
        assert g.tolist() == (np.stack(numbers, 1) if name == "unbind" else np.concatenate(numbers)).ravel().tolist()
    plain = nb.arange(16.0).reshape(4, 4).clone()
    pieces = PIECES[name](plain)
    pieces[0].zero_()
    assert plain.numpy()[0, 0] == 0 and plain._version == (0 if name.startswith("unsafe") else 1)


@pytest.mark.parametrize("dim", [True, 1.0])
@pytest.mark.parametrize("name", ["sum", "amax"])
def test_what_equals_a_dimension_is_none(name, dim):
    """Of a layout that is reduced in several steps True and 1.0 are refused too, in every call."""
    x = nb.ones(8, 8)[::2, ::2]
    getattr(x, name)(1), getattr(x, name)(1)
    with pytest.raises(nb.ArgumentError):
        getattr(x, name)(dim)


GAPS = {
    "a diagonal": lambda x: x.diagonal(),
    "every second column": lambda x: x[:, ::2],
    "a column": lambda x: x[:, 1],
    "columns of a transpose": lambda x: x.T[::2],
}


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "argmin", "var", "any", "count_nonzero"])
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_reductions_of_elements_with_gaps(name, gaps, dtype):
    """What is read where it lies is what a contiguous copy gives, along every dimension."""
    x = GAPS[gaps](nb.tensor((TABLE * 9).astype(dtype)))
    if name in ("mean", "var"):
        x = x.double() if dtype is np.int32 else x
    for dim in range(x.ndim):
        reduced, expected = (getattr(each, name)(dim=dim).numpy() for each in (x, x.contiguous()))
        assert np.allclose(reduced, expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda x, w: x.sum(0).expand(4, 5) @ w,
        lambda x, w: x @ w[:, :1].expand(5, 4),
        lambda x, w: x[:, ::2] @ w[::2, ::2],
        lambda x, w: x[0, 0].expand(4, 5) @ w[0, 0].expand(5, 4),
        lambda x, w: x[0, ::2] @ w[::2],
        lambda x, w: x[::2, ::2].T @ x[::2],
    ],
)
def test_products_of_what_is_copied_first(make):
    """Operands that are no rows or columns of BLAS, one or both of them, give the product and its gradient of contiguous ones."""
    x, w = nb.tensor(TABLE, requires_grad=True), nb.tensor(TABLE.T.copy(), requires_grad=True)
    for _ in range(2):
        assert nb.autograd.gradcheck(make, (x, w))


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda x: nb.inner(x, x * 2), lambda a: np.inner(a, a * 2)),
        (lambda x: nb.inner(x, x[0]), lambda a: np.inner(a, a[0])),
        (lambda x: nb.kron(x, x[:2]), lambda a: np.kron(a, a[:2])),
        (lambda x: nb.kron(x[0], x.T), lambda a: np.kron(a[0], a.T)),
        (lambda x: nb.trace(x[:, 1:]), lambda a: np.trace(a[:, 1:])),
        (lambda x: nb.nn.functional.pad(x, (0, 2, 1, 0)), lambda a: np.pad(a, ((1, 0), (0, 2)))),
        (lambda x: nb.block_diag(x, x[0]), lambda a: np.block([[a, np.zeros((4, 5))], [np.zeros((1, 5)), a[:1]]])),
        (lambda x: x.T.repeat_interleave(2, 1), lambda a: np.repeat(a.T, 2, 1)),
    ],
)
def test_compositions_of_few_steps(call, expected):
    """Values are NumPy's, and the formulas' derivatives are those of differences, of second order too."""
    x = nb.tensor(TABLE, requires_grad=True)
    assert np.allclose(call(x.detach()).numpy(), expected(TABLE))
    assert nb.autograd.gradcheck(call, (x,), check_forward_ad=True, check_batched_grad=True)
    assert nb.autograd.gradgradcheck(call, (x,))


@pytest.mark.parametrize("count", [1, 2])
def test_repeated_elements_are_a_copy(count):
    """A write to the result of repeat_interleave leaves the operand as it is, where nothing is repeated too."""
    x = nb.tensor(TABLE)
    x.repeat_interleave(count, 0).zero_()
    assert np.array_equal(x.numpy(), TABLE)


def test_zeros_keep_their_sign():
    """-0.0 and 0.0 equal 0, and fill with what they are."""
    x = nb.ones(2)
    made = [x.new_full((2,), value).tolist() for value in (0, -0.0, 0.0, 0, -0.0)]
    assert list(map(str, made)) == ["[0.0, 0.0]", "[-0.0, -0.0]", "[0.0, 0.0]", "[0.0, 0.0]", "[-0.0, -0.0]"]
    assert nb.full_like(x, False, dtype=nb.bool_).tolist() == [False, False] and nb.full((2,), 0).dtype is nb.int64


def test_keepdim_is_a_bool_in_every_call():
    """1 equals True, and finds nothing that a call with True has left, where reductions take several steps either."""
    x = nb.tensor(TABLE.astype(np.float16)).T
    assert x.sum(0, True).shape == (1, 4) and x.sum(0, True).shape == (1, 4)
    with pytest.raises(TypeError, match="keepdim must be a bool"):
        x.sum(0, 1)


@pytest.mark.parametrize("size", [0, 5, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
@pytest.mark.parametrize("invert", [False, True])
def test_members_of_few_and_of_many(size, dtype, invert):
    """Few pairs are compared one by one, many are sorted: both say what NumPy says, of NaN too."""
    x, tests = (RNG.integers(0, 9, (3, 7)).astype(dtype), RNG.integers(0, 6, size).astype(dtype))
    if dtype is np.float32 and size:
        x[0, 0] = tests[0] = np.nan
    found = nb.isin(nb.tensor(x), nb.tensor(tests), invert=invert)
    assert found.dtype is nb.bool_ and np.array_equal(found.numpy(), np.isin(x, tests, invert=invert))


@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[0].expand(30, x.shape[1]), lambda x: x[0, 0]]
)
def test_filled_tensors_lie_as_copies_do(make):
    """The result of fill has the memory order of a copy, a history where one is due, and leaves the operand alone."""
    x = nb.tensor(TABLE)
    for given in (x, nb.tensor(np.tile(TABLE, (50, 100)))):
        before, filled, copy = given.clone(), nb.fill(make(given), 3), make(given).clone()
        assert filled.stride() == copy.stride() and (filled == 3).all() and (given == before).all()
    x.requires_grad_()
    out = nb.fill(make(x), nb.tensor(2.0, dtype=nb.float64, requires_grad=True))
    assert (nb.autograd.grad(out.sum(), x)[0] == 0).all()
    value = nb.tensor(2.0, dtype=nb.float64, requires_grad=True)
    assert nb.autograd.grad(nb.fill(make(x.detach()), value).sum(), value)[0] == make(x).numel()


@pytest.mark.parametrize("shape, dim", [((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((5,), -1), ((), 0), ((0, 2), 1), ((2, 0), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_running_logarithms_of_sums(shape, dim, dtype):
    """Of great, small and infinite numbers, in every call; what comes after a NaN is NaN."""
    x = RNG.normal(size=shape) * 300
    flat = x.reshape(-1)
    if x.size > 2:
        flat[:3] = -np.inf, np.nan, np.inf
    x = x.astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp.accumulate(x.astype(np.float64), axis=dim) if shape else x
    for _ in range(3):
        found = nb.tensor(x).logcumsumexp(dim)
        assert np.allclose(found.numpy(), expected, rtol=1e-6 if dtype is np.float32 else 1e-14, equal_nan=True)


@pytest.mark.parametrize("shape, dim", [((3, 4), 2), ((3, 4), 0), ((2, 3, 4), 1), ((70,), 0), ((70,), 1), ((2, 1, 3), 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int8, bool])
def test_copies_of_what_was_expanded(shape, dim, dtype):
    """Along one dimension, in the middle, before and behind all others, of a transpose too."""
    x = (RNG.normal(size=shape) * 9).astype(dtype)
    for count in (2, 3, 40):
        wide = (*shape[:dim], count, *shape[dim:])
        t, expected = nb.tensor(x).unsqueeze(dim).expand(wide), np.broadcast_to(np.expand_dims(x, dim), wide)
        assert np.array_equal(t.contiguous().numpy(), expected)
        assert np.array_equal(t.transpose(0, -1).contiguous().numpy(), expected.swapaxes(0, -1))


def test_targets_that_are_no_class_are_refused_in_every_call():
    """A loss that has been prepared for its layouts looks at the classes too."""
    x, good, bad = nb.tensor(TABLE[:, :3].copy()), nb.tensor([0, 2, 1, 0]), nb.tensor([0, 3, 1, 0])
    for function in (nb.nn.functional.nll_loss, nb.nn.functional.cross_entropy):
        for _ in range(2):
            function(x, good)
            with pytest.raises(nb.DimError, match="expected 0 to 2"):
                function(x, bad)
