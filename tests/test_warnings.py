"""Warnings point at the line of the program, from wherever nbgrad gives them."""

import warnings

import pytest

import nbgrad
from nbgrad import nn, optim
from nbgrad.nn import functional

X = nbgrad.ones(3, 4)
COLUMN = nbgrad.ones(3, 1)
PIXELS = nbgrad.ones(2, 3, 4)
MASK = nbgrad.ones(3, dtype=nbgrad.uint8)


def scheduler():
    return optim.lr_scheduler.StepLR(optim.SGD([nn.Parameter(nbgrad.ones(1))], lr=1.0), 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: functional.mse_loss(X, COLUMN),
        lambda: nn.MSELoss()(X, COLUMN),
        lambda: functional.mse_loss(X, X, size_average=True),
        lambda: nn.CrossEntropyLoss(size_average=False),
        lambda: functional.softmax(X),
        lambda: nn.Softmax()(X),
        lambda: nn.Sequential(nn.Identity(), nn.LogSoftmax())(X),
        lambda: functional.dropout2d(PIXELS),
        lambda: nn.Dropout2d()(PIXELS),
        lambda: X[MASK],
        lambda: X.clone().__setitem__(MASK, 0.0),
        lambda: X.new_tensor(COLUMN),
        lambda: nbgrad.ones(1).copy_(nbgrad.ones(1, dtype=nbgrad.complex64)),
        lambda: (nbgrad.ones(1, requires_grad=True) ** 2).backward(create_graph=True),
        lambda: scheduler().step(),
        lambda: scheduler().get_lr(),
        lambda: nbgrad.Variable(X, volatile=True),
        lambda: nbgrad.utils.checkpoint.checkpoint(nbgrad.exp, X, use_reentrant=True),
    ],
)
def test_a_warning_is_at_the_line_that_called(call):
    """However many functions of nbgrad lie between: a line of nbgrad would be shown once for all places of a program."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    assert seen
    assert {(each.filename, each.lineno) for each in seen} == {(__file__, call.__code__.co_firstlineno)}
