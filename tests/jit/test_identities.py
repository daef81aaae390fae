"""Compiled functions know which object an argument is, where they compare objects."""

import os
import tempfile

import pytest

import nbgrad

pytestmark = pytest.mark.filterwarnings("ignore:compile.*(was captured|runs as it is)")


class Keeper:
    """An object that keeps a tensor."""

    kept = None


def beside(fn, make, calls):
    """What a function gives, and what it gives compiled, of states and arguments that ``make`` has made anew."""
    found = []
    for transform in (lambda f: f, nbgrad.compile):
        context, arguments = make()
        f = transform(fn(context))
        found.append([nbgrad.as_tensor(f(arguments[k])).tolist() for k in calls])
    return found


@pytest.mark.parametrize(
    "fn",
    [
        lambda w: lambda x: x * 2 if x is w else x * 3,
        lambda w: lambda x: x * 2 if x is not w else (x * 3).exp(),
        lambda w: lambda x: x * 2 if any(x is p for p in [w]) else x * 3,
        lambda w: lambda x: x * 2 if id(x) == id(w) else x * 3,
        lambda w: lambda x: x * {w: 2, None: 3}.get(x, 5),
        lambda w: lambda x: x.add_(1) + w if x is w else x * w,
        lambda w: lambda x: x * (2 if x is w else 3) + w,
    ],
)
def test_an_argument_that_is_a_variable_of_the_function(fn):
    """``x is w`` is true in those calls where it is."""
    for calls in ([0, 1, 0, 1, 1], [1, 0, 2, 0]):
        expected, found = beside(fn, lambda: ((w := nbgrad.ones(2)), [w, nbgrad.ones(2), nbgrad.ones(2)]), calls)
        assert found == expected


def test_gradients_flow_through_an_argument_that_is_a_variable():
    """Results of both programs have the histories that the function gives."""
    w = nbgrad.tensor([1.0, 2.0], requires_grad=True)
    f = nbgrad.compile(lambda x: (x * w).sum() if x is w else (2 * x * w).sum())
    u = nbgrad.tensor([3.0, 4.0], requires_grad=True)
    for _ in range(3):
        assert nbgrad.grad(f(w), w)[0].tolist() == [2.0, 4.0]
        assert nbgrad.grad(f(u), u)[0].tolist() == [2.0, 4.0]
    assert len(f.variants) == 2


def test_a_tensor_among_a_dicts_keys():
    """An argument by which a dict is looked up is the key itself."""

    def make():
        keys = [nbgrad.ones(1), nbgrad.ones(1)]
        return {key: float(k + 2) for k, key in enumerate(keys)}, [*keys, nbgrad.ones(1)]

    expected, found = beside(lambda held: lambda x: x * held.get(x, 7.0), make, [0, 1, 2, 0, 1, 2])
    assert found == expected


def test_what_a_name_holds_is_compared_with_an_argument():
    """A function that asks whether an argument is what it has kept is answered as it would be."""

    def fn(keeper):
        def f(x):
            new, keeper.kept = keeper.kept is not x, x
            return x * (2 if new else 3)

        return f

    def make():
        keeper = Keeper()
        keeper.kept = nbgrad.ones(2)
        return keeper, [nbgrad.ones(2), nbgrad.ones(2)]

    expected, found = beside(fn, make, [0, 0, 1, 1, 0, 0])
    assert found == expected


def test_none_and_texts_are_no_tensors():
    """Comparisons with constants leave the way of native calls as it is."""
    w = nbgrad.ones(2)

    @nbgrad.compile
    def f(x, y=None):
        return x * w if y is None and "a" in {"a"} else x

    x = nbgrad.ones(2)
    f(x)
    assert f.variants[0].identities == ()


def test_a_file_holds_no_program_for_a_variable():
    """A program for an argument that is a variable of the function cannot be saved."""
    w = nbgrad.ones(2)
    f = nbgrad.compile(lambda x: x * 2 if x is w else x * 3)
    f(w)
    with pytest.raises(nbgrad.errors.GraphError, match="a variable of the function, too"):
        nbgrad.jit.save(f, os.path.join(tempfile.mkdtemp(), "f.nbgrad"))


@pytest.mark.parametrize("inside", [True, False])
def test_state_in_a_dict_by_parameter(inside):
    """A dict whose keys are parameters holds an optimizer's state, for several batch sizes."""
    results = []
    for transform in (lambda f: f, nbgrad.compile):
        ps = [nbgrad.ones(2, requires_grad=True), nbgrad.full((2,), 2.0, requires_grad=True)]
        square = {} if inside else {p: nbgrad.zeros(2) for p in ps}

        def step(x, ps=ps, square=square):
            gs = nbgrad.grad(sum((p * x.sum()) ** 2 for p in ps).sum(), ps)
            with nbgrad.no_grad():
                for p, g in zip(ps, gs):
                    square[p] = 0.5 * square[p] + 0.5 * g**2 if p in square else g**2
                    p.sub_(0.125 * g / square[p].sqrt())

        compiled = transform(step)
        for k in range(8):
            compiled(nbgrad.ones(2 + k % 2))
        results.append([p.tolist() for p in (*ps, *square.values())])
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: a * 2 if a is b else b * 3,
        lambda a, b: a * 2 if len({a, b}) == 1 else b * 3,
        lambda a, b: {a: a, b: b * 3}[a],
        lambda a, b: a * 2 if id(a) == id(b) else b * 3,
    ],
)
def test_arguments_that_are_one_tensor(fn, tmp_path):
    """Two arguments in one call, one tensor in the next: what a function asks of them is asked in every call."""
    x, y = nbgrad.ones(2), nbgrad.full((2,), 5.0)
    compiled = nbgrad.compile(fn, fullgraph=True)
    for f in (compiled, nbgrad.jit.load(saved(compiled, [(x, y), (x, x)], tmp_path / "f"))):
        for a, b in ((x, y), (x, y), (x, x), (y, y), (x, y), (y, x)):
            assert f(a, b).tolist() == fn(a, b).tolist()
    assert len(compiled.variants) == 2


def saved(compiled, calls, path):
    """The file of a function behind some calls."""
    for args in calls:
        compiled(*args)
    nbgrad.jit.save(compiled, path)
    return path
