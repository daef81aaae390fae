"""Texts of tensors: the options, alignment, what is said after the values. Expected texts are torch's."""

from __future__ import annotations

import pytest

import nbgrad

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def default_options():
    """Each test starts from the defaults and leaves them."""
    nbgrad.set_printoptions(profile="default")
    yield
    nbgrad.set_printoptions(profile="default")


VALUES = {
    "signs": ([[1.0, -2.5], [1000.0, 3.0]], "tensor([[   1.0000,   -2.5000],\n        [1000.0000,    3.0000]])"),
    "just_fixed": ([1.0, 999.5], "tensor([  1.0000, 999.5000])"),
    "just_small": ([1.2e-4, 2e-4], "tensor([0.0001, 0.0002])"),
    "too_small": ([9.9e-5, 2e-5], "tensor([9.9000e-05, 2.0000e-05])"),
    "zeros_do_not_count": ([0.0, 1e-6], "tensor([0.0000e+00, 1.0000e-06])"),
    "infinities_do_not_count": ([INF, -INF, 1.25], "tensor([   inf,   -inf, 1.2500])"),
    "whole_with_nan": ([1.0, -20.0, NAN], "tensor([  1., -20.,  nan])"),
    "complex_parts": ([1.5 + 1j, -1 - 20j], "tensor([ 1.5000+1.j, -1.0000-20.j])"),
    "complex_nan": ([complex(NAN, 1), 2 + 0j], "tensor([nan+1.j, 2.+0.j])"),
}


@pytest.mark.parametrize("data, expected", VALUES.values(), ids=VALUES)
def test_values(data, expected):
    """One format for all elements, from the magnitudes of the finite nonzero ones."""
    assert repr(nbgrad.tensor(data)) == expected


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"precision": 2}, "tensor([0.33, 1.00])"),
        ({"precision": 0}, "tensor([0, 1])"),
        ({"sci_mode": True}, "tensor([3.3333e-01, 1.0000e+00])"),
        ({"profile": "short"}, "tensor([0.33, 1.00])"),
        ({"linewidth": 20}, "tensor([0.3333,\n        1.0000])"),
    ],
    ids=str,
)
def test_options(options, expected):
    """Precision, notation and line width follow the options."""
    nbgrad.set_printoptions(**options)
    assert repr(nbgrad.tensor([1 / 3, 1.0])) == expected


def test_scientific_notation_can_be_forbidden():
    """``sci_mode=False`` prints every digit."""
    nbgrad.set_printoptions(sci_mode=False)
    assert repr(nbgrad.tensor([1e-6, 1e6])) == "tensor([      0.0000, 1000000.0000])"


def test_summary_follows_threshold_and_edges():
    """Above ``threshold`` elements ``edgeitems`` are shown at each end of each dimension."""
    nbgrad.set_printoptions(threshold=5, edgeitems=1)
    assert repr(nbgrad.arange(6)) == "tensor([0,  ..., 5])"
    assert repr(nbgrad.arange(12).reshape(4, 3)) == "tensor([[ 0,  ...,  2],\n        ...,\n        [ 9,  ..., 11]])"
    assert repr(nbgrad.arange(5)) == "tensor([0, 1, 2, 3, 4])"


def test_summary_formats_what_it_shows():
    """Elements that are left out do not influence the format."""
    t = nbgrad.ones(2000)
    t[1000] = 1e9
    assert repr(t) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_printoptions_are_restored():
    """The context restores what it found, also after an error."""
    before = nbgrad.get_printoptions()
    with pytest.raises(KeyError), nbgrad.printoptions(precision=1):
        assert repr(nbgrad.tensor(0.25)) == "tensor(0.2)"
        raise KeyError
    assert nbgrad.get_printoptions() == before


def test_unknown_profile():
    """A profile is one of three."""
    with pytest.raises(ValueError, match="short"):
        nbgrad.set_printoptions(profile="tiny")


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: nbgrad.zeros(2, 0), "tensor([], size=(2, 0))"),
        (lambda: nbgrad.zeros(0, dtype=nbgrad.bool), "tensor([], dtype=nbgrad.bool)"),
        (lambda: nbgrad.zeros(0, 3, dtype=nbgrad.int64), "tensor([], size=(0, 3), dtype=nbgrad.int64)"),
        (lambda: nbgrad.zeros(0, 2, requires_grad=True), "tensor([], size=(0, 2), requires_grad=True)"),
    ],
    ids=["matrix", "bool", "int64", "grad"],
)
def test_nothing_has_a_size(make, expected):
    """A tensor without elements says its size and dtype."""
    assert repr(make()) == expected


def test_default_dtype_is_implied():
    """What is implied depends on the default dtype."""
    nbgrad.set_default_dtype(nbgrad.float64)
    try:
        assert repr(nbgrad.tensor(1.0)) == "tensor(1.)"
        assert repr(nbgrad.tensor(1j)) == "tensor(0.+1.j)"
        assert repr(nbgrad.tensor(1.0, dtype=nbgrad.float32)) == "tensor(1., dtype=nbgrad.float32)"
    finally:
        nbgrad.set_default_dtype(nbgrad.float32)


def test_long_suffixes_go_to_a_new_line():
    """What does not fit the line is written under the values."""
    t = nbgrad.tensor([1.5] * 8, dtype=nbgrad.float64, requires_grad=True)
    assert (
        repr(t) == "tensor([1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000],\n"
        "       dtype=nbgrad.float64, requires_grad=True)"
    )


def test_grad_fn_of_a_view():
    """A view says the operation that made it."""
    assert repr(nbgrad.ones(2, 2, requires_grad=True).t()[0]).endswith("grad_fn=<SelectBackward0>)")


@pytest.mark.parametrize("view", [lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[0]], ids=["transposed", "strided", "row"])
def test_views_print_their_own_elements(view):
    """Strides and offsets are followed."""
    v = view(nbgrad.arange(12.0).view(3, 4))
    assert repr(v) == repr(nbgrad.tensor(v.tolist()))


def test_format_takes_a_number_only():
    """A tensor of several elements has no format but the empty one."""
    assert f"{nbgrad.tensor(1.5)}" == "1.5" and f"{nbgrad.ones(1)}" == "tensor([1.])"
    with pytest.raises(TypeError):
        f"{nbgrad.ones(1):.2f}"
