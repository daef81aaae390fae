"""``vmap`` against a loop: every operation, every way to nest it, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections import namedtuple

import numpy as np
import pytest

import nbgrad
from nbgrad.batch.interpreter import RULES, batching_rule
from nbgrad.batch.vmap import vmap
from nbgrad.ops.core import OPS, General
from nbgrad.tensors.batch_levels import BatchingError
from tests.helpers import wave
from tests.samples import SAMPLES
from tests.samples.batches import SIZE, called, loop, plans
from tests.samples.checking import agree, close, results

# Operations whose result is a number or whose shape depends on values.
READS_VALUES = (
    "nonzero",
    "argwhere",
    "allclose",
    "equal",
    "item",
    "unique",
    "bincount",
    "one_hot",
    "histogram",
    "histogramdd",
    "unique_consecutive",
    "nonzero_static",
    "segment_reduce",
    "geqrf",
)
DRAWS = ("dropout", "dropout_mask", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
NO_TENSOR = ("is_conj", "is_neg", "is_complex", "is_floating_point", "tril_indices", "triu_indices")
# Strides and offsets of memory: an element is a view of the batch, and what lies beside it is another element.
MEMORY = ("as_strided", "as_strided_from", "as_strided_copy")
# Its second result is about the whole batch.
FIRST_ONLY = ("valid_mean",)
OTHERS = (*READS_VALUES, *DRAWS, *NO_TENSOR, *MEMORY)
ROWS = sorted(name for name, row in SAMPLES.items() if row.reference is not None and name not in OTHERS)
WRITES = [name for name in ROWS if name.endswith("_") or name == "setitem"]
MASKED = ("getitem", "setitem", "masked_select")


# ---- every operation -------------------------------------------------------------------------------------------------


def refused(name: str, label: str) -> bool:
    """Whether the operation writes a mapped operand into one that is not."""
    return name in WRITES and label in ("the last", "attributes")


@pytest.mark.parametrize("name", ROWS)
def test_operation_is_a_loop_over_the_batch(name):
    """Whatever is mapped, and wherever: the results are those of the single elements, stacked."""
    row, compared = SAMPLES[name], 0
    for call in row.calls:
        function = called(row, call)
        for plan in plans(row, call):
            want = loop(function, plan)
            if want is None or refused(name, plan.label):
                continue
            try:
                got = vmap(function, plan.dims)(*plan.arguments)
            except BatchingError:
                assert name in MASKED, f"{name}{call}, {plan.label}"
                continue
            for k, out in enumerate(got[:1] if name in FIRST_ONLY else got):
                what = f"{name}{call}, {plan.label} mapped: result {k}"
                close(results((out,))[0], np.stack(results(tuple(each[k] for each in want))), 1e-9, what)
                assert out.dtype is want[0][k].dtype, what
                compared += 1
    assert compared


def test_operations_with_a_loop_are_known():
    """Every operation with a lowering of its own has a batching rule: one for it alone, or the one that its declaration names."""
    assert all(callable(batching_rule(op)) for op in OPS.values() if isinstance(op, General))
    assert set(RULES) <= set(OPS)


@pytest.mark.parametrize("name", WRITES)
def test_writing_a_mapped_operand_into_an_unmapped_one_is_refused(name):
    """One tensor cannot become as many as the batch has elements."""
    row = SAMPLES[name]
    for call in row.calls:
        for plan in plans(row, call):
            if plan.label == "the last" and loop(called(row, call), plan) is not None:
                with pytest.raises((nbgrad.InplaceError, BatchingError)):
                    vmap(called(row, call), plan.dims)(*plan.arguments)


# ---- what is mapped, and where results go ----------------------------------------------------------------------------

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize("in_dims, out_dims", [(0, 0), (1, 0), (0, 1), (-1, -1), (-2, 1)])
def test_dimensions_in_and_out(in_dims, out_dims):
    """The batch may lie along any dimension of arguments and results."""
    x = wave(3, 4)
    want = nbgrad.stack([3 * row for row in x.unbind(in_dims)], out_dims)
    agree(vmap(lambda row: 3 * row, in_dims, out_dims)(x), want)


def test_structures_of_arguments_and_results():
    """Dicts, lists, tuples and named tuples keep their types; in_dims and out_dims may end above the leaves."""
    x, y = wave(3, 4), wave(4)
    found = vmap(
        lambda d, pair: {"sum": d["x"] + pair.second, "pair": Pair(d["x"], [d["y"]])},
        in_dims=({"x": 0, "y": None}, Pair(None, 0)),
        out_dims={"sum": 1, "pair": 0},
    )({"x": x, "y": y}, Pair(2, x))
    assert type(found["pair"]) is Pair and type(found["pair"].second) is list
    agree(found["sum"], (2 * x).T)
    agree(found["pair"].second[0], y.expand(3, 4))


def test_keyword_arguments_are_not_mapped():
    """They reach the function as they are."""
    x, y = wave(3, 4), wave(3, 4)
    agree(vmap(lambda row, other: row * other)(x, other=y), nbgrad.stack([row * y for row in x]))


def test_result_that_does_not_depend_on_the_batch():
    """It is repeated, or returned as it is where out_dims says None."""
    x, y = wave(3, 4), wave(2)
    repeated, same, number = vmap(lambda row: (y, y, 7), out_dims=(1, None, None))(x)
    agree(repeated, nbgrad.stack([y] * 3, 1))
    assert same is y and number == 7


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 10])
def test_chunks(chunk_size):
    """Parts of the batch, one after the other, give the whole."""
    x = wave(3, 4)
    first, second = vmap(lambda row: (row * 2, row.sum()), out_dims=(1, 0), chunk_size=chunk_size)(x)
    agree(first, (2 * x).T)
    agree(second, x.sum(1))


def test_nested_maps_over_different_arguments():
    """vmap of vmap over one argument each is an outer product."""
    x, y = wave(3), wave(4)
    agree(vmap(vmap(nbgrad.mul, (None, 0)), (0, None))(x, y), nbgrad.outer(x, y))
    agree(vmap(vmap(nbgrad.mul, (0, None)), (None, 0))(x, y), nbgrad.outer(y, x))


def test_three_levels_of_products():
    """Matrix products whose operands depend on different levels."""
    x, y, z = wave(2, 4, 5), wave(3, 5, 4), wave(6, 4)
    got = vmap(lambda a: vmap(lambda b: vmap(lambda c: (a @ b) @ c)(z))(y))(x)
    agree(got, nbgrad.einsum("aij,bjk,ck->abci", x, y, z))


def test_empty_batch():
    """A batch of no elements has results of the right shapes, also where each element takes a call of its own."""
    x = nbgrad.zeros(0, 2, 3)
    assert tuple(vmap(lambda m: m @ m.t())(x).shape) == (0, 2, 2)
    mask, source = nbgrad.zeros(2, 3, dtype=nbgrad.bool), nbgrad.zeros(6)
    assert tuple(vmap(lambda m: m.masked_scatter(mask, source))(x).shape) == (0, 2, 3)


def test_zero_dimensional_elements_promote_as_they_look():
    """A 0-d element has the weight of a 0-d tensor in type promotion, although its batch has a dimension."""
    x = wave(3)
    assert vmap(lambda number: number * nbgrad.ones(2, dtype=nbgrad.float32))(x).dtype is nbgrad.float32
    assert vmap(lambda number: number * nbgrad.ones((), dtype=nbgrad.float32))(x).dtype is nbgrad.float64


# ---- state -----------------------------------------------------------------------------------------------------------


def test_in_place_on_mapped_arguments_writes_to_the_batch():
    """The element is a view of the caller's tensor."""
    x = wave(3, 4)
    want = x * 2
    vmap(lambda row: row.mul_(2))(x)
    agree(x, want)


def test_tensors_like_mapped_ones_may_be_written_to():
    """zeros_like and new_zeros of an element hold one tensor for each."""
    x = wave(3, 4)

    def reversed_by_hand(row):
        out, other = nbgrad.zeros_like(row), row.new_zeros(4)
        for k in range(4):
            out[k] = row[3 - k]
            other[k].add_(row[k])
        return out + other

    agree(vmap(reversed_by_hand)(x), x.flip(1) + x)


def test_gradients_through_in_place_writes():
    """Histories are the batch's: a write to a view of an element is recorded as one to a view of the batch."""
    x = wave(3, 4).requires_grad_()

    def program(row):
        y = row * 2
        y[1:3].mul_(row[0])
        y.t_()
        return (y * y).sum()

    (got,) = nbgrad.grad(vmap(program)(x).sum(), x)
    (want,) = nbgrad.grad(sum(program(row) for row in x), x)
    agree(got, want)


def test_metadata_of_an_element():
    """An element shows shape, rank and dtype without the batch; its text shows what it is."""
    seen = []
    vmap(lambda row: (seen.extend((tuple(row.shape), row.ndim, row.dtype, len(row), str(row))), row)[1])(wave(3, 4))
    assert seen[:4] == [(4,), 1, nbgrad.float64, 4] and "levels" in seen[4]


def test_gradient_inside_of_the_mapped_function():
    """nbgrad.grad of an element with respect to an element is that of the single element."""

    def slope(row):
        z = row.detach()
        z.requires_grad = True
        return nbgrad.grad((z**3).sum(), z)[0]

    x = wave(3, 4)
    agree(vmap(slope)(x), 3 * x**2)


def test_gradient_of_a_shared_leaf_inside_of_the_mapped_function_is_refused():
    """It would be summed over the batch in silence."""
    w = wave(4).requires_grad_()
    with pytest.raises(RuntimeError, match="func.grad"):
        vmap(lambda row: nbgrad.grad((row * w).sum(), w)[0])(wave(3, 4))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.item(),
        lambda x: bool(x > 0),
        float,
        int,
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        lambda x: x.nonzero(),
        lambda x: x.reshape(1)[x.reshape(1) > 0],
        lambda x: x.reshape(1).masked_select(x.reshape(1) > 0),
        lambda x: x.backward(),
        lambda x: nbgrad.add(x, x, out=nbgrad.zeros(())),
        copy.deepcopy,
        copy.copy,
        pickle.dumps,
        lambda x: nbgrad.tensor([x]),
        lambda x: [1, 2, 3][x],
        lambda x: 1 in x,
    ],
)
def test_what_needs_one_value_is_refused(read):
    """Reading an element as a number, and results whose shape depends on values, are errors of torch's type."""
    with pytest.raises(RuntimeError):
        vmap(read)(wave(3))


def test_strides_are_those_of_an_element():
    """as_strided sees one element in the memory of the batch, and offsets count from where it begins."""
    x = wave(3, 2, 4)
    agree(vmap(lambda m: m.as_strided((2, 2), (4, 2)))(x), x[:, :, ::2])
    agree(vmap(lambda m: m.as_strided((2,), (4,), 1))(x), x[:, :, 1])
    agree(vmap(lambda m: m.as_strided((2,), (2,)), in_dims=2)(x.contiguous()), x.as_strided((4, 2), (1, 2)))


def test_escaped_tensors_are_refused():
    """An element kept beyond its function cannot be used."""
    kept = []
    vmap(lambda row: (kept.append(row), row)[1])(wave(3, 4))
    with pytest.raises(RuntimeError, match="outside"):
        kept[0] + 1


def test_levels_are_closed_when_the_function_fails():
    """An error leaves no batch open."""
    from nbgrad.tensors.batch_levels import open_levels, state

    with pytest.raises(ZeroDivisionError):
        vmap(lambda row: 1 / 0)(wave(3))
    assert not open_levels and not state.levels


# ---- random numbers --------------------------------------------------------------------------------------------------

DRAWN = {
    "rand": lambda x: nbgrad.rand(40),
    "rand_like": lambda x: nbgrad.rand_like(x),
    "randint": lambda x: nbgrad.randint(0, 1000, (40,)),
    "randperm": lambda x: nbgrad.randperm(40),
    "complex": lambda x: nbgrad.randn(40, dtype=nbgrad.complex64).real,
    "dropout": lambda x: nbgrad.dropout(nbgrad.ones(40)),
    "dropout of an element": lambda x: nbgrad.dropout(x * 0 + 1),
    "normal_": lambda x: x.clone().normal_(),
    "bernoulli": lambda x: nbgrad.bernoulli(nbgrad.full((40,), 0.5)),
    "alpha_dropout": lambda x: nbgrad.alpha_dropout(x * 0 + 1, training=True),
    "feature_dropout": lambda x: nbgrad.feature_dropout(nbgrad.ones(1, 40, 2))[0, :, 0],
    "feature_alpha_dropout": lambda x: nbgrad.feature_alpha_dropout((x * 0 + 1).expand(2, 40), 0.5, True)[0],
    "normal": lambda x: nbgrad.normal(nbgrad.zeros(40), nbgrad.ones(40)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_randomness(name):
    """Different numbers for every element, the same for all, or an error, as the caller says."""
    x = wave(3, 40)
    different = vmap(DRAWN[name], randomness="different")(x)
    same = vmap(DRAWN[name], randomness="same")(x)
    assert tuple(different.shape) == tuple(same.shape) == (3, 40)
    assert not bool((different[0] == different[1]).all()) and bool((same[0] == same[1]).all())
    with pytest.raises(RuntimeError, match="random"):
        vmap(DRAWN[name])(x)


def test_different_numbers_in_nested_maps():
    """Each level decides for itself."""
    draw = vmap(vmap(lambda a: a + nbgrad.rand(()), randomness="same"), randomness="different")
    found = draw(nbgrad.zeros(3, 4))
    assert bool((found == found[:, :1]).all()) and not bool((found[0] == found[1]).any())


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "in_dims, arguments",
    [(0, ()), (None, (1,)), ([0], (1,)), ((None,), (1,)), ((0, 0), (1,)), (2, (1,)), (-3, (1,)), (((0,),), (1,)), ("a", (1,))],
)
def test_in_dims_that_do_not_fit(in_dims, arguments):
    """They are ValueErrors, as torch's."""
    with pytest.raises(ValueError, match="vmap"):
        vmap(lambda *args: args[0], in_dims)(*(wave(3, 4) for _ in arguments))


def test_arguments_that_cannot_be_mapped():
    """Numbers, 0-d tensors, and batches of different sizes."""
    with pytest.raises(ValueError, match="only tensors"):
        vmap(lambda x, y: x)(wave(3), 2.0)
    with pytest.raises(ValueError, match="out of range"):
        vmap(lambda x: x)(wave())
    with pytest.raises(ValueError, match="sizes"):
        vmap(lambda x, y: x)(wave(3), wave(4))


@pytest.mark.parametrize("out_dims, result", [(0, 3), (0, None), (None, "row"), ("x", "row"), ((0, 0, 0), "row"), ((0, 0), "row")])
def test_results_that_cannot_be_shown(out_dims, result):
    """No tensors, no place for the batch, or places of another structure."""
    with pytest.raises(ValueError, match="vmap"):
        vmap(lambda row: row if result == "row" else result, out_dims=out_dims)(wave(3, 4))


def test_other_words_and_sizes_are_refused():
    """Randomness has three words; chunks have at least one element; a result has no dimension 2."""
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: x, randomness="some")
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(lambda x: x, chunk_size=0)
    with pytest.raises(IndexError):
        vmap(lambda x: x, out_dims=2)(wave(3, 4))


# ---- batched cotangents ----------------------------------------------------------------------------------------------


def test_batched_cotangents_of_several_outputs_and_inputs():
    """The first axis of the cotangents is the first axis of the gradients, as in a loop."""
    x, y, unused = wave(3).requires_grad_(), wave(4).requires_grad_(), wave(2).requires_grad_()
    outs = (nbgrad.outer(x, y).sin(), (x * x).sum() * y)
    cotangents = (wave(5, 3, 4), wave(5, 4))
    got = nbgrad.grad(outs, (x, y, unused), cotangents, is_grads_batched=True, retain_graph=True, allow_unused=True)
    rows = [nbgrad.grad(outs, (x, y), [g[k] for g in cotangents], retain_graph=True) for k in range(5)]
    for found, want in zip(got, zip(*rows)):
        agree(found, nbgrad.stack(want))
    assert got[2] is None


def test_batched_cotangents_that_do_not_fit():
    """None at all, another shape, batches of different sizes."""
    x = wave(3).requires_grad_()
    for cotangents, error in [
        (None, RuntimeError),
        (nbgrad.ones(3), RuntimeError),
        (nbgrad.ones(2, 4), RuntimeError),
        ((nbgrad.ones(2, 3), nbgrad.ones(3, 3)), ValueError),
    ]:
        with pytest.raises(error):
            nbgrad.grad((x * x, x), x, cotangents, is_grads_batched=True)


def test_batched_gradients_can_be_differentiated():
    """With create_graph the whole Jacobian has a history."""
    x = wave(3).requires_grad_()
    (jacobian,) = nbgrad.grad(x**3, x, nbgrad.eye(3, dtype=nbgrad.float64), is_grads_batched=True, create_graph=True)
    agree(nbgrad.grad(jacobian.sum(), x)[0], 6 * x)


def test_hooks_see_batched_cotangents():
    """A tensor hook runs once for the whole batch, on tensors of the gradient's shape."""
    x = wave(3).requires_grad_()
    y, seen = x * 2, []
    y.register_hook(lambda g: (seen.append(tuple(g.shape)), g * 10)[1])
    (got,) = nbgrad.grad(y * x.detach(), x, nbgrad.eye(3, dtype=nbgrad.float64), is_grads_batched=True)
    agree(got, nbgrad.eye(3, dtype=nbgrad.float64) * (20 * x.detach()))
    assert seen == [(3,)]


def test_backward_of_a_function_with_batched_cotangents():
    """A Function's backward sees one cotangent, and tensors made like it may be written to."""

    class Reversed(nbgrad.Function):
        @staticmethod
        def forward(ctx, x):
            return x.flip(0)

        @staticmethod
        def backward(ctx, g):
            out = nbgrad.zeros_like(g)
            for k in range(len(g)):
                out[k] = g[len(g) - 1 - k]
            return out

    x = wave(3).requires_grad_()
    (got,) = nbgrad.grad(Reversed.apply(x), x, nbgrad.eye(3, dtype=nbgrad.float64), is_grads_batched=True)
    agree(got, nbgrad.eye(3, dtype=nbgrad.float64).flip(1))


# ---- custom Functions ------------------------------------------------------------------------------------------------


class Product(nbgrad.Function):
    """x * y * k and x + y, with everything that a rule can be generated from."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, k):
        return x * y * k, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.k = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y * ctx.k + h, g * x * ctx.k + h, None

    @staticmethod
    def jvp(ctx, t, s, _):
        x, y = ctx.saved_tensors
        return (t * y + x * s) * ctx.k, t + s


class Scaled(Product):
    """The same with a rule of its own, which says what it was told."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, y, k):
        x, y = (t if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        Scaled.told = info.batch_size, info.randomness, in_dims
        y = y if in_dims[1] is not None else y.expand(info.batch_size, *y.shape)
        return Scaled.apply(x, y, k), (0, 0)


@pytest.mark.parametrize("function", [Product, Scaled])
def test_function_under_vmap(function):
    """Values, gradients in and around vmap, tangents: as of the formula."""
    x, y = wave(3, 4), wave(4)

    def by_formula(a, b):
        return a * b * 2.0, a + b

    def by_function(a, b):
        return function.apply(a, b, 2.0)

    def number(pair):
        return (pair[0] * pair[0]).sum() + pair[1].sum()

    for got, want in zip(vmap(by_function, (0, None))(x, y), by_formula(x, y)):
        agree(got, want)
    each = nbgrad.func.grad(lambda a, b: number(by_function(a, b)), (0, 1))
    want = nbgrad.func.grad(lambda a, b: number(by_formula(a, b)), (0, 1))
    for got, expected in zip(vmap(each, (0, None))(x, y), vmap(want, (0, None))(x, y)):
        agree(got, expected)
    outer = nbgrad.func.grad(lambda a, b: number(vmap(by_function, (0, None))(a, b)), (0, 1))(x, y)
    for got, expected in zip(outer, nbgrad.func.grad(lambda a, b: number(by_formula(a, b.expand(3, 4))), (0, 1))(x, y)):
        agree(got, expected)
    _, (tangent, _) = nbgrad.func.jvp(vmap(by_function, (0, None)), (x, y), (x, y))
    agree(tangent, 4 * x * y)
    agree(vmap(vmap(by_function, (0, 0)), (0, None))(x, y)[0], 2 * x * y)


def test_function_is_told_of_the_batch():
    """Its own rule gets the size of the batch, the randomness and where the batch lies."""
    vmap(lambda a: Scaled.apply(a, wave(4), 1.0), randomness="same")(wave(3, 4))
    assert Scaled.told == (3, "same", (0, None, None))


def test_function_without_a_rule_is_refused():
    """No rule, two rules, a forward that takes ctx, and rules that return something else."""

    class None_(Product):
        generate_vmap_rule = False

    class Both(Scaled):
        generate_vmap_rule = True

    class Wrong(Scaled):
        @staticmethod
        def vmap(info, in_dims, x, y, k):
            return x

    class Misplaced(Scaled):
        @staticmethod
        def vmap(info, in_dims, x, y, k):
            return x, (0, 0)

    class OldStyle(nbgrad.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x, y, k):
            return x

    for function in (None_, Both, Wrong, Misplaced, OldStyle):
        with pytest.raises(RuntimeError, match=function.__name__):
            vmap(lambda a, function=function: function.apply(a, a, 1.0))(wave(SIZE))


def test_bounds_of_lines_may_be_mapped():
    """``linspace`` and ``logspace`` between numbers that differ over the batch, in any dtype."""
    ends = nbgrad.tensor([-2.0, 3.5])
    for make in (nbgrad.linspace, nbgrad.logspace):
        for steps in (1, 2, 5):
            for bounds in (lambda s: (s, 1), lambda s: (0, s)):
                got = vmap(lambda s, make=make, bounds=bounds, steps=steps: make(*bounds(s), steps))(ends)
                agree(got, nbgrad.stack([make(*bounds(s), steps) for s in ends.tolist()]), 1e-6)
    half = vmap(lambda s, e: nbgrad.linspace(s, e, 3, dtype=nbgrad.float16))(ends, ends + 1)
    assert half.dtype is nbgrad.float16 and half.tolist() == [[-2, -1.5, -1], [3.5, 4, 4.5]]
    assert vmap(lambda s: nbgrad.linspace(s, 1j, 2))(ends.to(nbgrad.complex64)).tolist() == [[-2, 1j], [3.5, 1j]]


READS_ONE_NUMBER = {
    "full": lambda s: nbgrad.full((2,), s),
    "full of a bool": lambda s: nbgrad.full((2,), s > 1),
    "full_like": lambda s: nbgrad.full_like(nbgrad.ones(2), s),
    "new_full": lambda s: nbgrad.ones(2).new_full((2,), s),
    "scalar_tensor": lambda s: nbgrad.scalar_tensor(s),
    "arange": lambda s: nbgrad.arange(s),
    "arange to": lambda s: nbgrad.arange(0, s),
    "arange by": lambda s: nbgrad.arange(0, 3, s),
    "item": lambda s: s.item(),
    "float": lambda s: float(s),
    "set_": lambda s: nbgrad.zeros(1).set_(s),
    "data": lambda s: setattr(nbgrad.zeros(1), "data", s),
    "tensor": lambda s: nbgrad.tensor([1.0, s]),
    "eye": lambda s: nbgrad.eye(s.to(nbgrad.int64)),
    "steps": lambda s: nbgrad.linspace(0, 1, s.to(nbgrad.int64)),
    "narrow": lambda s: nbgrad.ones(5).narrow(0, s.to(nbgrad.int64), 1),
    "numpy": lambda s: s.numpy(),
    "tolist": lambda s: s.tolist(),
    "roll": lambda s: nbgrad.ones(5).roll(s.to(nbgrad.int64)),
    "norm": lambda s: nbgrad.ones(5).norm(s),
    "correction": lambda s: nbgrad.ones(5).var(correction=s),
    "nan_to_num": lambda s: nbgrad.ones(5).nan_to_num(s),
    "histc": lambda s: nbgrad.ones(5).histc(3, 0, s),
    "pinv": lambda s: nbgrad.linalg.pinv(nbgrad.eye(2), rtol=s),
}


@pytest.mark.parametrize("name", READS_ONE_NUMBER)
def test_one_number_for_a_whole_batch_is_refused(name):
    """What would read a Python number out of a mapped tensor would read the first element's for all: an error."""
    with pytest.raises(nbgrad.NbgradError):
        vmap(READS_ONE_NUMBER[name])(nbgrad.tensor([1.0, 2.0]))


@pytest.mark.parametrize("dims", [(), (0,), (0, -1), (1, 0)])
def test_dimensions_that_are_turned_over_are_those_named(dims):
    """None of them is none; a rotation by no dimension is refused as outside."""
    x = wave(2, 3, 4)
    agree(vmap(lambda x: x.flip(dims))(x), nbgrad.stack([each.flip(dims) for each in x]))
    shifts = tuple(range(1, len(dims) + 1))
    if dims:
        agree(vmap(lambda x: x.roll(shifts, dims))(x), nbgrad.stack([each.roll(shifts, dims) for each in x]))


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
def test_levels_of_quantiles_may_be_mapped(name, dims):
    """One level or several for each element of the batch; levels outside of [0, 1] are refused as outside."""
    x, q = wave(2, 5), nbgrad.tensor([[0.25, 0.5], [0.75, 0.9]], dtype=nbgrad.float64)
    function = getattr(nbgrad, name)
    for level in (q, q[:, 0]):
        got = vmap(lambda x, q: function(x, q, -1), dims)(x if dims[0] == 0 else x[0], level if dims[1] == 0 else level[0])
        agree(got, nbgrad.stack([function(x[i if dims[0] == 0 else 0], level[i if dims[1] == 0 else 0], -1) for i in range(2)]))
    with pytest.raises(nbgrad.RangeError, match="from 0 to 1"):
        vmap(lambda q: function(x, q))(q + 0.5)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_over_a_batch(driver):
    """Whichever driver: residuals and singular values, where the driver has them, for each element."""
    a, b = wave(2, 4, 3) + nbgrad.eye(4, 3, dtype=nbgrad.float64), wave(2, 4, 2)
    got = vmap(lambda a, b: tuple(nbgrad.linalg.lstsq(a, b, driver=driver)))(a, b)
    for k, each in enumerate(got):
        agree(each, nbgrad.stack([nbgrad.linalg.lstsq(a[i], b[i], driver=driver)[k] for i in range(2)]))


ROWS = [[1.0, 5.0, 3.0, 0.5], [2.0, 4.0, 4.5, 8.0]]
SOLVED = [[[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], [[2.0, 1.0], [0.0, 1.0], [1.0, 3.0]]]


@pytest.mark.parametrize(
    "function, operands",
    [
        (lambda x, q: nbgrad.quantile(x, q), (ROWS, [0.1, 0.7])),
        (lambda x, q: nbgrad.quantile(x, q, 0, keepdim=True), (ROWS, [[0.1, 0.4], [0.7, 1.0]])),
        (lambda x, q: nbgrad.nanquantile(x, q), ([[1.0, float("nan"), 3.0], [2.0, 4.0, 4.5]], [0.25, 0.5])),
        (lambda x: nbgrad.histc(x, 3, 0, 6), (ROWS,)),
        (lambda x: nbgrad.histc(x, 4), (ROWS,)),
        (nbgrad.argwhere, ([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]],)),
        (
            lambda a, b: nbgrad.linalg.lstsq(a, b, driver="gelsd").residuals,
            (SOLVED, [[[1.0], [2.0], [4.0]], [[1.0], [0.0], [4.0]]]),
        ),
        (lambda a: nbgrad.linalg.lstsq(a, nbgrad.ones(3, 1)).solution, (SOLVED,)),
    ],
)
def test_what_looks_at_numbers_is_mapped(function, operands):
    """Quantiles at mapped levels, counts, positions and least squares are those of each element of the batch."""
    operands = [nbgrad.tensor(x) for x in operands]
    found = vmap(function)(*operands)
    for k in range(2):
        np.testing.assert_allclose(found[k].numpy(), function(*(x[k] for x in operands)).numpy(), rtol=1e-5)


def test_positions_of_different_numbers_have_no_batch():
    """As many elements of each must be found."""
    with pytest.raises(nbgrad.NbgradError):
        vmap(nbgrad.argwhere)(nbgrad.tensor([[1.0, 1.0], [0.0, 1.0]]))


WIDER = ["add_", "sub_", "mul_", "pow_", "clamp_min_", "remainder_", "eq_", "logical_and_", "copysign_"]
OF_BOTH = [nbgrad.bool, nbgrad.uint8, nbgrad.int8, nbgrad.int64, nbgrad.float16, nbgrad.float32, nbgrad.float64]


@pytest.mark.parametrize("name", WIDER)
def test_writes_by_wider_numbers_reach_the_batch(name):
    """Of a batch of 0-d tensors each is written to as it is alone, or refused as it is alone."""
    for own in OF_BOTH:
        for other in OF_BOTH:
            y = nbgrad.tensor(2).to(other)

            def write(x, y=y):
                x = x.clone()
                getattr(x, name)(y)
                return x

            xs = nbgrad.tensor([0, 1, 3]).to(own)
            try:
                want = nbgrad.stack([write(x) for x in xs])
            except nbgrad.NbgradError as error:
                with pytest.raises(type(error)):
                    nbgrad.vmap(write)(xs)
            else:
                got = nbgrad.vmap(write)(xs)
                assert got.dtype is want.dtype and str(got) == str(want), (own, other)
