"""Errors inside of graphs: the traceback shows the statement, and says where the program had it."""

from __future__ import annotations

import traceback

import pytest

import nbgrad
from nbgrad.errors import LinAlgError
from nbgrad.jit import trace


def factor(x):
    y = x @ x
    return nbgrad.linalg.cholesky(y + 1)


LINE = f"captured at {__file__}:{factor.__code__.co_firstlineno + 2}"
BAD = nbgrad.full((3, 3), float("nan"))


def shown(call, *args) -> str:
    """The traceback of a call that fails."""
    with pytest.raises(LinAlgError) as caught:
        call(*args)
    return "".join(traceback.format_exception(caught.value))


def test_an_error_of_a_graph_shows_the_statement():
    """And the line of the program, and what the operation says."""
    text = shown(trace(factor, nbgrad.eye(3)), BAD)
    assert "in factor\n    v2: float32[3, 3] = cholesky_factor(v1, strict=True)\n" in text
    assert LINE in text and "linalg.cholesky: the input is not positive-definite" in text


def test_an_error_of_a_compiled_function_shows_the_statement():
    """Of the program that ran, in the first call for other values and in the quick one."""
    compiled = nbgrad.compile(factor, fullgraph=True)
    for _ in range(2):
        compiled(nbgrad.eye(3))
    text = shown(compiled, BAD)
    assert "cholesky_factor(v2, strict=True)\n" in text or "cholesky_factor(v1, strict=True)\n" in text
    assert LINE in text


def test_an_error_in_a_block_shows_the_statement_that_runs_it():
    """That of the outer graph, since blocks have no text of their own."""
    graph = trace(lambda x: nbgrad.cond(x.sum() > 0, factor, factor, x), nbgrad.eye(3))
    text = shown(graph, nbgrad.ones(3, 3) * BAD)
    assert "cond(" in text


def test_the_error_is_the_same_object_with_its_cause():
    """Whoever catches it sees what eager mode raises."""
    with pytest.raises(LinAlgError) as eager:
        factor(BAD)
    with pytest.raises(LinAlgError) as caught:
        trace(factor, nbgrad.eye(3))(BAD)
    assert str(caught.value) == str(eager.value)
    assert caught.value.__cause__ is eager.value.__cause__ is None and caught.value.__suppress_context__


def test_a_compiled_function_runs_on_behind_an_error():
    """Nothing of it is kept."""
    compiled = nbgrad.compile(factor, fullgraph=True)
    compiled(nbgrad.eye(3))
    shown(compiled, BAD)
    assert compiled(nbgrad.eye(3)).allclose(factor(nbgrad.eye(3)))
