"""Arguments and results of ``autograd.functional``: a tensor or a tuple of tensors, checked, made fresh, given back as they came.

Programs with Jacobians of their own take these functions from torch's module, by the names at the end.
"""

from __future__ import annotations

from typing import Any

from ..base.errors import ArgumentError, GradError, ShapeError
from ..creation.factories import eye
from ..graph.edges import requires_grad
from ..tensors.tensor import Tensor

__all__ = ["Tensors", "as_given", "as_tensors", "finished", "fresh_inputs", "require_dependence", "vectors_like"]

Tensors = tuple[Tensor, ...]


def as_tensors(op: str, what: str, value: Any) -> tuple[bool, Tensors]:
    """Whether a value is a tuple, and its tensors.

    Raises:
        ArgumentError: neither a tensor nor a tuple of tensors.
    """
    values = value if isinstance(value, tuple) else (value,)
    for position, x in enumerate(values):
        if not isinstance(x, Tensor):
            which = f"{what}[{position}]" if isinstance(value, tuple) else what
            raise ArgumentError(f"{op}: {what} must be a Tensor or a tuple of tensors, got {type(x).__name__} as {which}.")
    return isinstance(value, tuple), values


def fresh_inputs(inputs: Tensors, create_graph: bool, need_graph: bool) -> Tensors:
    """The arguments for the function: views of tensors to be differentiated later, else detached aliases."""
    if not create_graph:
        return tuple(x.detach().requires_grad_(need_graph) for x in inputs)
    views = tuple(x.view_as(x) for x in inputs)  # not detached: tangents of an enclosing jvp remain
    return tuple(x if requires_grad(x) or not need_graph else x.requires_grad_() for x in views)


def finished(values: Any, create_graph: bool) -> Any:
    """Results, without history unless it was asked for; also in tuples."""
    if isinstance(values, tuple):
        return tuple(finished(x, create_graph) for x in values)
    return values if create_graph else values.detach()


def as_given(values: tuple, is_tuple: bool) -> Any:
    """A tuple if there was one, else its only member."""
    return values if is_tuple else values[0]


def vectors_like(op: str, v: Any, like: Tensors, is_tuple: bool, what: str, create_graph: bool) -> Tensors | None:
    """The vectors of a product, checked; None where a single number needs none.

    Raises:
        GradError: they are missing, or too few or many. ShapeError: they are of other shapes.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise GradError(f"{op}: v can be left out only where {what} is one tensor of one element.")
        return None
    _, vectors = as_tensors(op, "v", v)
    vectors = fresh_inputs(vectors, create_graph, False)
    if len(vectors) != len(like):
        raise GradError(f"{op}: v has {len(vectors)} tensors, {what} {len(like)}; expected as many.")
    for position, (given, x) in enumerate(zip(vectors, like)):
        if given.shape != x.shape:
            which = f"v[{position}]" if is_tuple else "v"
            raise ShapeError(f"{op}: {which} has shape {list(given.shape)}, {what} {list(x.shape)}.")
    return vectors


def require_dependence(op: str, tensors: Tensors, what: str, strict: bool) -> None:
    """With ``strict``, refuse tensors that depend on no input.

    Raises:
        GradError: one does not require grad.
    """
    for position, x in enumerate(tensors if strict else ()):
        if not requires_grad(x):
            raise GradError(
                f"{op}: {what} {position} does not depend on the inputs, which strict=True refuses. Hint: strict=False gives zeros."
            )


# ---- torch's names -------------------------------------------------------------------------------------------------

_grad_preprocess, _grad_postprocess = fresh_inputs, finished


def _as_tuple(inp: Any, arg_name: str = "inputs", fn_name: str = "functional") -> tuple[bool, Tensors]:
    """``as_tensors``."""
    return as_tensors(fn_name, arg_name, inp)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """``as_given``, of what is a tuple for each of several tuples, too: then ``to_unpack`` tells of both."""
    if not isinstance(to_unpack, tuple):
        return as_given(res, to_unpack)
    outer, inner = to_unpack
    return as_given(tuple([as_given(values, inner) for values in res]), outer)


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """Of several flat tensors the parts of all unit vectors of their space, as rows.

    >>> _construct_standard_basis_for((eye(1)[0], eye(2)[0]), (1, 2))[1]
    tensor([[0., 0.],
            [1., 0.],
            [0., 1.]])
    """
    total, before, found = sum(tensor_numels), 0, []
    for x, count in zip(tensors, tensor_numels):
        found.append(eye(total, dtype=x.dtype, device=x.device).narrow(1, before, count))
        before += count
    return tuple(found)
