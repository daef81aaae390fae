"""What a compiled function does to its arguments themselves, and what it may be given and return."""

import warnings

import pytest

import nbgrad
from nbgrad import nn
from nbgrad.base.errors import GraphError
from nbgrad.testing import assert_close


def changes_a_dict(d):
    d["out"] = d["x"] * 2
    return d["out"]


def exchanges_a_member(d):
    d["x"] = d["x"] * 2
    return d["x"].sum()


def appends_to_a_list(d):
    d["more"].append(d["x"])
    return d["x"]


def pops(d):
    return d.pop("x") * 2


@pytest.mark.parametrize("fn", [changes_a_dict, exchanges_a_member, appends_to_a_list, pops])
def test_containers_that_are_changed(fn):
    """Are the caller's: such functions run as they are."""
    compiled = nbgrad.compile(fn)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for k in range(3):
            want, got = ({"x": nbgrad.ones(2) * k, "more": []} for _ in range(2))
            assert_close(compiled(got), fn(want))
            assert repr(got) == repr(want)
    assert ["it changes a list or a dict that it is given" in str(each.message) for each in said] == [True]
    with pytest.raises(GraphError, match="it changes a list or a dict that it is given: a graph cannot hold it. Hint: return"):
        nbgrad.compile(fn, fullgraph=True)({"x": nbgrad.ones(2), "more": []})


def test_attributes_of_tensors():
    """That are set, or read, are those of the caller's tensors."""

    def tags(x):
        x.tag = "seen"
        return x * 2

    for fn, has in ((tags, False), (lambda x: x * x.scale, True)):
        compiled = nbgrad.compile(fn)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(3):
                x = nbgrad.ones(2)
                if has:
                    x.scale = k
                got = compiled(x)
                assert_close(got, x * k if has else x * 2)
                assert has or x.tag == "seen"
        assert len(said) == 1
        assert "attribute" in str(said[0].message)


def test_grad_modes_that_are_left_behind():
    """In every call."""

    def fn(x, on):
        nbgrad.set_grad_enabled(on)
        return x * 2

    compiled = nbgrad.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for on in (True, False, True, False, False, True):
                compiled(nbgrad.ones(2), on)
                assert nbgrad.is_grad_enabled() == on
        finally:
            nbgrad.set_grad_enabled(True)

    @nbgrad.compile(fullgraph=True)
    def within(x):
        nbgrad.set_grad_enabled(False)
        y = x * 2
        nbgrad.set_grad_enabled(True)
        return y

    assert not within(nbgrad.ones(2, requires_grad=True)).requires_grad
    assert nbgrad.is_grad_enabled()


def test_modules_as_arguments():
    """What they hold is part of the program, with its gradients."""
    nbgrad.manual_seed(0)
    modules = [nn.Linear(2, 2), nn.Linear(2, 2)]
    compiled = nbgrad.compile(lambda module, x: module(x).tanh().sum(), fullgraph=True)
    for module in (*modules, *modules):
        x = nbgrad.randn(3, 2)
        want = module(x).tanh().sum()
        got = compiled(module, x)
        assert_close(got, want)
        assert_close(nbgrad.grad(got, module.weight), nbgrad.grad(want, module.weight))
    assert len(compiled.variants) == 2


@pytest.mark.parametrize("leaf", [nbgrad.ones(()), 0.5, 3], ids=["tensor", "float", "int"])
def test_nested_arguments_are_no_plain_ones(leaf):
    """A program of a list of one leaf is none of the leaf itself, in either order."""

    def count(x, *each):
        return x * (len(each[0]) if isinstance(each[0], (list, dict, tuple)) else 5)

    for nested in ([leaf], {"x": leaf}, (leaf,), [{"x": (leaf,)}]):
        for first, second in ((leaf, nested), (nested, leaf)):
            compiled, x = nbgrad.compile(count), nbgrad.ones(2)
            for each in (first, second, first, second):
                assert compiled(x, each)[0].item() == count(x, each)[0].item()


@pytest.mark.parametrize("fn", [lambda x, y: x is y, lambda x, y: (lambda made: (made, [made], made is made))([x[0]])])
def test_what_is_in_several_places_is_one(fn):
    """A list that is given, or returned, twice is one list, as it is eagerly: the function runs as it is."""
    given = [nbgrad.ones(2)]
    compiled = nbgrad.compile(fn)
    with pytest.warns(UserWarning, match="a list is in several places"):
        got = compiled(given, given)
    assert got is True or got[0] is got[1][0]
    with pytest.raises(nbgrad.errors.ArgumentError, match="a list is in several places"):
        nbgrad.compile(fn, fullgraph=True)(given, given)


def test_shapes_dtypes_and_devices_are_returned():
    """As they are."""
    compiled = nbgrad.compile(lambda x: (x.shape, {"dtype": x.dtype}, [x.device, x.size(0)], x * 2), fullgraph=True)
    for shape in ((2, 3), (2, 3), (4,)):
        x = nbgrad.ones(shape)
        found = compiled(x)
        assert found[:3] == (x.shape, {"dtype": x.dtype}, [x.device, shape[0]])
        assert type(found[0]) is type(x.shape)
    with pytest.raises(nbgrad.base.errors.ArgumentError, match=r"the result\[0\] is of type Linear"):
        nbgrad.compile(lambda x: (nn.Linear(2, 2), x), fullgraph=True)(nbgrad.ones(2))
