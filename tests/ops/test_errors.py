"""What an operation refuses: the type, the message, and that nothing was touched."""

from __future__ import annotations

import operator
import re

import numpy as np
import pytest

import nbgrad
from nbgrad.base.calls import CALLS
from nbgrad.ops.core import OPS, Composite, Elementwise
from tests.samples import SAMPLES
from tests.samples.checking import flatten, run, tensors
from tests.samples.row import Case

ELEMENTWISE = sorted(name for name, row in SAMPLES.items() if row.reference is not None and isinstance(OPS[name], Elementwise))
BROADCASTING = [name for name in ELEMENTWISE if len(OPS[name].operands) > 1]
TENSOR_FIRST = sorted(
    name
    for name, row in SAMPLES.items()
    if row.reference is not None and name not in ELEMENTWISE and not isinstance(OPS[name], Composite) and "type" not in row.unlike
)
FAILURES = [(name, failure) for name, row in sorted(SAMPLES.items()) for failure in row.errors]


def usual(name: str) -> tuple[Case, list]:
    """The first case, and its operands."""
    row = SAMPLES[name]
    dtype = "int64" if getattr(row.op, "policy", "") == "integer" else "float64"
    return row.calls[0], tensors(row, row.calls[0], dtype)


def refused(name: str, operands: list, error: type, match: str, call: Case | None = None) -> None:
    """The call raises ``error`` with ``match`` in its message, and leaves operands as they were."""
    held = [x for x in flatten(operands) if isinstance(x, nbgrad.Tensor)]
    before = [(x.numpy().copy(), x._version) for x in held]
    with pytest.raises(error, match=match):
        run(SAMPLES[name], operands, call or Case((), {}))
    for x, (array, version) in zip(held, before):
        np.testing.assert_array_equal(x.numpy(), array)
        assert x._version == version


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_foreign_operands(name):
    """A list is no operand: a TypeError that names operation, argument and remedy."""
    call, operands = usual(name)
    for k, argument in enumerate(OPS[name].operands[: len(operands)]):
        foreign = [[1.0, 2.0] if i == k else x for i, x in enumerate(operands)]
        expected = rf"^{OPS[name].public}: {argument} must be a Tensor or a number, got list\. Hint: "
        refused(name, foreign, nbgrad.ArgumentError, expected)


@pytest.mark.parametrize("name", TENSOR_FIRST)
def test_a_tensor_is_required(name):
    """What is not elementwise takes no numbers: a TypeError that names the operation."""
    call, operands = usual(name)
    refused(name, ["no tensor", *operands[1:]], nbgrad.ArgumentError, f"^{OPS[name].public}: ", call)


@pytest.mark.parametrize("name", BROADCASTING)
def test_shapes_that_do_not_broadcast(name):
    """Sizes 3 and 4 do not go together: a ShapeError that names the operation and both."""
    row = SAMPLES[name]
    dtype = "int64" if OPS[name].policy == "integer" else "float64"
    shapes = ((2, 3), (4,), (2, 3), (2, 3), (2, 3))
    operands = tensors(row, Case(shapes[: len(OPS[name].operands)], {}), dtype)
    refused(name, operands, nbgrad.ShapeError, rf"^{OPS[name].public}: .*3.*4")


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if None not in OPS[name].signature.parameters])
def test_missing_and_superfluous_operands(name):
    """Too few or too many operands are a TypeError."""
    call, operands = usual(name)
    with pytest.raises(TypeError):
        CALLS[name]()
    with pytest.raises(TypeError):
        CALLS[name](*operands, *operands, *operands, *operands)


@pytest.mark.parametrize("name, failure", FAILURES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(FAILURES)])
def test_stated_failures(name, failure):
    """The calls that the row says must fail do, with the error and the words that it states."""
    operands = tensors(SAMPLES[name], failure.case, failure.dtype)
    refused(name, operands, failure.error, failure.match, failure.case)


@pytest.mark.parametrize("divide", ["div_floor", "div_trunc", "floor_divide", "remainder", "fmod"])
def test_integer_division_by_zero(divide):
    """Of integers it is an error, of floats it is infinity or NaN; no machine trap either way."""
    x = nbgrad.tensor([1, 2])
    with pytest.raises(ZeroDivisionError, match=re.escape(OPS[divide].public)):
        CALLS[divide](x, nbgrad.tensor([1, 0]))
    with pytest.raises(ZeroDivisionError, match=re.escape(OPS[divide].public)):
        CALLS[divide](x, 0)
    assert not nbgrad.isfinite(CALLS[divide](x, 0.0)).numpy().any()


@pytest.mark.parametrize("divisor", [0, nbgrad.tensor(0), nbgrad.tensor([0])], ids=["number", "0-d", "1-d"])
def test_nothing_is_divided_by_zero(divisor):
    """Of integers without elements there is nothing to refuse, whatever the divisor; nor of an empty divisor."""
    empty = nbgrad.zeros(3, 0, dtype=nbgrad.int64)
    divided = empty % divisor, empty // divisor, empty.fmod(divisor), empty.clone().remainder_(divisor)
    assert {tuple(x.shape) for x in divided} == {(3, 0)}
    assert (nbgrad.tensor([[5]]) % empty).shape == (3, 0)


class Quantity:
    """A type with operators of its own, as those of units are, and no quotient."""

    def answer(self, other):
        return "quantity", type(other)

    __radd__ = __rmul__ = __rpow__ = __rmod__ = __rmatmul__ = __gt__ = answer

    def __rtruediv__(self, other):
        return NotImplemented


@pytest.mark.parametrize("symbol", ["add", "mul", "pow", "mod", "matmul", "lt", "iadd", "imul"])
def test_operators_of_other_types_are_asked(symbol):
    """What a tensor knows no answer to is asked of the other operand, as Python asks it."""
    x = nbgrad.ones(2)
    assert getattr(operator, symbol)(x, Quantity()) == ("quantity", nbgrad.Tensor)


def test_whole_numbers_repeat_sequences():
    """As Python's do; other tensors, and other operators, are refused."""
    n = nbgrad.tensor(2)
    assert "ab" * n == n * "ab" == "abab" and [1] * n == [1, 1] and n * (1, 2) == (1, 2, 1, 2) and n * b"a" == b"aa"
    for call in (lambda: [1] * nbgrad.tensor(2.0), lambda: [1] * nbgrad.tensor([2]), lambda: n + [1]):
        with pytest.raises(nbgrad.ArgumentError, match="got list"):
            call()


@pytest.mark.parametrize("symbol", ["truediv", "sub", "matmul", "lt"])
def test_operands_without_an_answer_are_refused(symbol):
    """Where the other type has no answer either, the error is that of the operation."""
    other = Quantity() if symbol == "truediv" else object()
    with pytest.raises(nbgrad.ArgumentError, match=f"y must be a Tensor.*, got {type(other).__name__}"):
        getattr(operator, symbol)(nbgrad.ones(2), other)
