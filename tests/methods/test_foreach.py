"""``_foreach_*``: an operation for every place of lists of tensors."""

from __future__ import annotations

import pytest

import nbgrad
from nbgrad.methods.foreach import FORMS, names

OPERANDS = {"norm": (3.0,), "lerp": (0.25,)}


def lists(count):
    """So many lists of two tensors between 0 and 1, of two shapes."""
    return [[nbgrad.tensor([0.5, 0.25]) / (k + 1), nbgrad.tensor([[0.125], [0.75]]) / (k + 1)] for k in range(count)]


def test_every_form_is_the_operation_place_by_place():
    """Lists of tensors, in place and not; in place the list itself is returned."""
    for name in names():
        check_form(name)


def check_form(name):
    """One of them, against single calls."""
    form = name.removeprefix("_foreach_")
    kinds = [kind for kind in FORMS.get(form, FORMS.get(form.removesuffix("_"))) if kind[0] in "*?"]
    numbers = OPERANDS.get(form.removesuffix("_"))
    first, *others = lists(1 + len(kinds) - len(numbers or ()))
    method = getattr(nbgrad.Tensor, form, None) or getattr(nbgrad.Tensor, form.removesuffix("_"))
    wanted = [method(x.clone(), *row, *(numbers or ())) for x, *row in zip(first, *others)]
    found = getattr(nbgrad, name)(first, *others, *(numbers or ()))
    assert (found is first) == form.endswith("_")
    for got, want in zip(found, wanted, strict=True):
        nbgrad.testing.assert_close(got, want, rtol=0, atol=0, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("other, seconds", [(2.0, (2.0, 2.0)), ([2.0, 3.0], (2.0, 3.0)), (nbgrad.tensor(2.0), (2.0, 2.0))])
@pytest.mark.parametrize("name", ["add", "mul", "pow", "minimum", "clamp_min"])
def test_numbers_for_all_places_or_for_each(name, other, seconds):
    """A number, a list of numbers, a tensor of one number."""
    (first,) = lists(1)
    wanted = [getattr(nbgrad, name)(x, nbgrad.tensor(y)) for x, y in zip(first, seconds)]
    nbgrad.testing.assert_close(getattr(nbgrad, f"_foreach_{name}")(first, other), tuple(wanted))


def test_options():
    """alpha, value for all places and for each, the order of a norm, powers of one number."""
    a, b, c = lists(3)
    nbgrad.testing.assert_close(nbgrad._foreach_sub(a, b, alpha=3), tuple(x - 3 * y for x, y in zip(a, b)))
    want = tuple(x + v * y / z for x, y, z, v in zip(a, b, c, (2, 3)))
    nbgrad.testing.assert_close(nbgrad._foreach_addcdiv(a, b, c, [2.0, 3.0]), want)
    nbgrad.testing.assert_close(nbgrad._foreach_addcdiv(a, b, c, value=nbgrad.tensor([2.0, 3.0])), want)
    nbgrad.testing.assert_close(nbgrad._foreach_norm(a), tuple(x.norm() for x in a))
    nbgrad.testing.assert_close(nbgrad._foreach_pow(2.0, a), tuple(2.0**x for x in a))


def test_gradients_pass():
    """Results have the histories of the single calls."""
    a = [x.requires_grad_() for x in lists(1)[0]]
    sum(x.sum() for x in nbgrad._foreach_mul(a, a)).backward()
    nbgrad.testing.assert_close([x.grad for x in a], [2 * x for x in a], check_stride=False)


OPERANDS_BY_NAME = [
    (lambda a, b: nbgrad._foreach_lerp(a, b, weight=0.5), [2.0, 2.5]),
    (lambda a, b: nbgrad._foreach_lerp(a, tensors1=b, weight=0.5), [2.0, 2.5]),
    (lambda a, b: nbgrad._foreach_add(a, other=b, alpha=2), [7.0, 10.0]),
    (lambda a, b: nbgrad._foreach_mul(a, scalars=[2.0, 3.0]), [2.0, 0.0]),
    (lambda a, b: nbgrad._foreach_pow(b, exponent=2), [9.0, 25.0]),
    (lambda a, b: nbgrad._foreach_addcmul(a, tensor1=b, tensor2=b, value=2), [19.0, 50.0]),
    (lambda a, b: nbgrad._foreach_norm(b, ord=1), [3.0, 5.0]),
    (lambda a, b: nbgrad._foreach_copy_(a, src=b), [3.0, 5.0]),
]


@pytest.mark.parametrize("call, expected", OPERANDS_BY_NAME)
def test_operands_by_torchs_names(call, expected):
    """Operands behind the first list may be given by name."""
    results = call([nbgrad.ones(1), nbgrad.zeros(1)], [nbgrad.full((1,), 3.0), nbgrad.full((1,), 5.0)])
    assert [x.item() for x in results] == expected


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda a: nbgrad._foreach_add([], []), "an empty one"),
        (lambda a: nbgrad._foreach_add(a, a[:1]), "has 1 tensors, expected 2"),
        (lambda a: nbgrad._foreach_add(a[0], 1), "expected a list of tensors, got Tensor"),
        (lambda a: nbgrad._foreach_add([1.0], [2.0]), "is float, expected a Tensor"),
        (lambda a: nbgrad._foreach_sub(a, [1.0]), "has 1 numbers, expected 2"),
        (lambda a: nbgrad._foreach_sub(a), "got 1 arguments, expected 2"),
        (lambda a: nbgrad._foreach_sub(a, a, beta=1), "got beta, expected alpha"),
        (lambda a: nbgrad._foreach_nothing(a), "_foreach_nothing"),
        (lambda a: nbgrad._foreach_add_(a, [a[0], nbgrad.ones(2, 2)]), r"expected one that broadcasts to \[2, 1\]"),
    ],
)
def test_what_is_refused_changes_nothing(call, says):
    """The errors name the function and the list; no tensor is written to."""
    (a,) = lists(1)
    with pytest.raises((nbgrad.NbgradError, AttributeError), match=says):
        call(a)
    nbgrad.testing.assert_close(a, lists(1)[0])
