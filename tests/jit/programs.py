"""Programs to capture: the samples of operations with their gradients, in float64."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any, Iterator

import numpy as np

import nbgrad
from nbgrad import Tensor
from nbgrad.jit import Graph, trace
from tests.samples import SAMPLES
from tests.samples.checking import call_of, to_tensor


def split(x: Any, arrays: list[np.ndarray]) -> Any:
    """Arguments with their floating arrays taken out, which ``fill`` puts back."""
    if isinstance(x, list):
        return [split(y, arrays) for y in x]
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        arrays.append(x)
        return ("array", len(arrays) - 1)
    return to_tensor(x)


def fill(x: Any, tensors: tuple[Tensor, ...]) -> Any:
    """See ``split``."""
    if isinstance(x, list):
        return [fill(y, tensors) for y in x]
    return tensors[x[1]] if isinstance(x, tuple) and x and isinstance(x[0], str) and x[0] == "array" else x


def program(row: Any, call: Any, template: Any):
    """A function of the floating operands of a sample: a number, and its gradients, with ``create_graph`` as they are recorded."""
    called = call_of(row, call)

    def sample(*xs, create_graph=False):
        outs = [x for x in called(fill(template, xs)) if isinstance(x, Tensor) and x.dtype.differentiable]
        outs = [nbgrad.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in outs]
        total = sum((x * 1.3).square().sum() for x in outs)
        return (total, *nbgrad.grad(total, xs, create_graph=create_graph, allow_unused=True, materialize_grads=True))

    return sample


@lru_cache
def sample_graphs(every: int = 1) -> list[tuple[str, Graph, list[Tensor]]]:
    """Every so manieth operation that has a derivative: its name, the graph of its first sample, arguments."""
    rows = [(name, row) for name, row in sorted(SAMPLES.items()) if row.reference is not None and row.differentiable]
    found = [each for name, row in rows[::every] for each in graphs_of(name, row)]
    assert len(found) > 0.95 * len(rows[::every])  # else tests of all of them would be of few
    return found


def graphs_of(name: str, row: Any) -> Iterator[tuple[str, Graph, list[Tensor]]]:
    """The graph of the first sample that has floating operands, if it can be captured."""
    for call in row.calls:
        arrays: list[np.ndarray] = []
        template = [split(x, arrays) for x in row.arrays(call, "float64")]
        if not arrays or "gradient" in row.unlike:
            continue
        nbgrad.manual_seed(1)
        xs = [nbgrad.tensor(x).requires_grad_() for x in arrays]
        try:
            yield name, trace(program(row, call, template), *xs), xs
        except nbgrad.errors.GraphError:
            continue
        return


def digest_of_texts(every: int = 4) -> str:
    """What the texts of graphs of samples are, in few letters."""
    return hashlib.sha256("".join(str(graph) for _, graph, _ in sample_graphs(every)).encode()).hexdigest()
